"""What a page of a probe or a study shows, as numbers and words: matrices, curves, fields, points, strips of seeds.

They are part of the saved result; `output/figure_layout.py` draws them and knows nothing else of where they come from.
"""

from dataclasses import dataclass
from typing import Literal

Cells = tuple[tuple[float | None, ...], ...]


@dataclass(frozen=True)
class Matrix:
    """A number for each row and column; None where nothing was measured. Colours go from `low` to `high`."""

    title: str
    sentence: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: Cells
    low: float = 0.0
    high: float = 1.0
    form: Literal["matrix"] = "matrix"


@dataclass(frozen=True)
class Curve:
    """A line over the places of `Curves`, with its interval where there is one; a control is drawn dashed."""

    name: str
    values: tuple[float | None, ...]
    low: tuple[float | None, ...] = ()
    high: tuple[float | None, ...] = ()
    control: bool = False


@dataclass(frozen=True)
class Curves:
    """Lines over the same places: layers by name, or steps of training by number."""

    title: str
    sentence: str
    across: str
    up: str
    places: tuple[str, ...]
    curves: tuple[Curve, ...]
    form: Literal["curves"] = "curves"


@dataclass(frozen=True)
class Field:
    """A number at every point of a grid over two inputs, row 0 at the top; with some points marked by class."""

    title: str
    sentence: str
    across: str
    up: str
    x: tuple[float, float]
    y: tuple[float, float]
    cells: Cells
    points: tuple[tuple[float, float, int], ...] = ()
    form: Literal["field"] = "field"


@dataclass(frozen=True)
class PointGroup:
    """Pairs of numbers of one group, drawn in one colour; the names, if there are any, are told when pointed at."""

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    titles: tuple[str, ...] = ()


@dataclass(frozen=True)
class Scatter:
    """Points over two axes, with the line on which both numbers are equal where that means something."""

    title: str
    sentence: str
    across: str
    up: str
    groups: tuple[PointGroup, ...]
    diagonal: bool = False
    form: Literal["scatter"] = "scatter"


@dataclass(frozen=True)
class Strip:
    """One condition: a number for each seed, none left out but those that are not known (None)."""

    name: str
    values: tuple[float | None, ...]
    group: str = ""


@dataclass(frozen=True)
class Strips:
    """Every seed of several conditions as a point, with the mean; `goal` is a threshold that is drawn as a line."""

    title: str
    sentence: str
    up: str
    strips: tuple[Strip, ...]
    goal: float | None = None
    form: Literal["strips"] = "strips"


Figure = Matrix | Curves | Field | Scatter | Strips
