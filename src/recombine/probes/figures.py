"""What a probe's page shows, as numbers and words: matrices, curves from layer to layer, fields over two inputs.

They are part of the saved result; `report/probe_page.py` draws them and knows nothing else of a probe.
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


Figure = Matrix | Curves | Field
