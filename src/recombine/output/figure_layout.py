"""The figures of a probe or a study (`output/figures.py`) as places and colours, which a template draws as SVG."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import fmean

from recombine.output import page_frame
from recombine.output.headline import decimal, shorten
from recombine.output.page_frame import Data
from recombine.output.pictures import (
    BOTTOM,
    HEIGHT,
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    Axes,
    LegendKey,
    Mark,
    Path,
    Plot,
    Shade,
    ShadedTable,
    Tick,
    around,
    beside,
    round_numbers,
)

_MOST_TICKS = 8
_KINDS = 6
"""Lines and points that are told apart by colour; more of them share one."""
_OPENING = re.compile(r"<svg[^>]*>")
_BESIDE = 110
"""Room beside a file's plot for the names at the ends of its lines."""
_MARGIN, _KEY, _SCALE = 6, 20, 1.5
"""Of a file: the room around the plot, the height of a line of its legend, and how much larger than the plot it is."""
_MOST_POINTS = 3_000
"""Of a scatter; evenly chosen beyond that, and the sentence says so."""
_ROW, _ABOVE, _BELOW, _SPAN = 24, 10, 44, 274
"""Of strips: the height of one, room above and below, and the length of the axis."""
_LETTER, _LONGEST = 6.3, 56
"""The width of a letter of a name, and the letters of the longest that is not cut."""
_COLOURS = 9
"""Groups of points that are told apart by colour."""


@dataclass(frozen=True)
class Drawing:
    """A figure as the template draws it; `squares` are the cells of a field: x, y, width, height and share."""

    form: str
    title: str
    sentence: str
    picture: "Plot | ShadedTable | StripPlot"
    keys: Sequence[LegendKey] = ()
    squares: Sequence[tuple[float, ...]] = ()


@dataclass(frozen=True)
class StripLine:
    """One condition: its name, where it stands, its points, and its mean."""

    name: str
    full: str
    y: float
    marks: Sequence[Mark]
    mean: float | None


@dataclass(frozen=True)
class StripPlot:
    """Conditions below each other, every seed a point."""

    up: str
    width: float
    height: float
    names: float
    lines: Sequence[StripLine]
    ticks: Sequence[Tick]
    goal: float | None


def _matrix(figure: Data) -> Drawing:
    span = (figure["high"] - figure["low"]) or 1.0
    rows = [
        (
            name,
            [
                None
                if cell is None
                else Shade(min(max((cell - figure["low"]) / span, 0.0), 1.0), decimal(cell), f"{name}, {column}")
                for column, cell in zip(figure["columns"], cells, strict=True)
            ],
        )
        for name, cells in zip(figure["rows"], figure["cells"], strict=True)
    ]
    return _drawing(figure, ShadedTable(figure["columns"], rows, figure["sentence"], absent="–"))


def _drawing(figure: Data, picture: Plot | ShadedTable | StripPlot, keys: Sequence[LegendKey] = ()) -> Drawing:
    """A figure with its title and its sentence; one key needs no legend."""
    return Drawing(figure["form"], figure["title"], figure["sentence"], picture, keys if len(keys) > 1 else ())


def _curves(figure: Data) -> Drawing:
    known = [
        end
        for curve in figure["curves"]
        for ends in (curve["values"], curve["low"], curve["high"])
        for end in ends
        if end is not None
    ]
    places = figure["places"]
    axes = Axes((-0.2, max(1.0, 1.3 * (len(places) - 1))), around(known or [0.0, 1.0]))
    paths, bands, marks, ends = [], [], [], []
    for number, curve in enumerate(figure["curves"]):
        points = [(float(x), y) for x, y in enumerate(curve["values"]) if y is not None]
        kind = "random" if curve["control"] else f"line-{number % _KINDS}"
        bands += _bands(axes, curve)
        paths += [axes.path(points, kind)] if len(points) > 1 else []
        marks += [axes.mark(x, y, "step", f"{curve['name']}, {places[int(x)]}: {decimal(y)}") for x, y in points]
        ends += [(axes.up(points[-1][1]), shorten(curve["name"], 22))] if points else []
    labels = beside(ends, round(axes.across(float(len(places) - 1)) + 8, 2))
    plot = axes.plot(figure["across"], figure["up"], paths=paths, bands=bands, marks=marks, labels=labels)
    every = max(1, -(-len(places) // _MOST_TICKS))
    named = [Tick(axes.across(float(x)), shorten(name, 12)) for x, name in enumerate(places) if x % every == 0]
    return _drawing(figure, replace(plot, x_ticks=named))


def _bands(axes: Axes, curve: Data) -> list[Path]:
    known = [
        (float(x), low, high)
        for x, (low, high) in enumerate(zip(curve["low"], curve["high"], strict=True))
        if low is not None and high is not None
    ]
    if len(known) < 2:
        return []
    across, low, high = zip(*known, strict=True)
    return [axes.band(across, low, high, "band")]


def _field(figure: Data) -> Drawing:
    axes = Axes(tuple(figure["x"]), tuple(figure["y"]))
    cells = figure["cells"]
    numbers = [cell for row in cells for cell in row if cell is not None]
    low, high = min(numbers, default=0.0), max(numbers, default=1.0)
    across = [LEFT + k * (WIDTH - LEFT - RIGHT) / len(cells[0]) for k in range(len(cells[0]) + 1)]
    down = [TOP + k * (HEIGHT - TOP - BOTTOM) / len(cells) for k in range(len(cells) + 1)]
    squares = [
        (
            round(left, 2),
            round(top, 2),
            round(right - left + 0.3, 2),
            round(bottom - top + 0.3, 2),
            round((cell - low) / ((high - low) or 1.0), 3),
        )
        for (top, bottom), row in zip(pairwise(down), cells, strict=True)
        for left, right, cell in _merged(row, across)
    ]
    kinds = ("beyond", "fine")
    marks = [
        axes.mark(x, y, kinds[group % len(kinds)], f"class {group}")
        for x, y, group in figure["points"]
        if axes.holds(x, y)
    ]
    return replace(_drawing(figure, axes.plot(figure["across"], figure["up"], marks=marks)), squares=squares)


def _merged(row: Sequence[float | None], across: Sequence[float]) -> list[tuple[float, float, float]]:
    """Cells of a row from left to right, neighbours of one number as one.

    >>> _merged([1.0, 1.0, None, 0.0], [0, 10, 20, 30, 40])
    [(0, 20, 1.0), (30, 40, 0.0)]
    """
    found: list[tuple[float, float, float]] = []
    for cell, (left, right) in zip(row, pairwise(across), strict=True):
        if cell is None:
            continue
        if found and found[-1][1] == left and found[-1][2] == cell:
            found[-1] = (found[-1][0], right, cell)
        else:
            found.append((left, right, cell))
    return found


def _scatter(figure: Data) -> Drawing:
    groups = figure["groups"]
    across = [x for group in groups for x in group["x"]]
    up = [y for group in groups for y in group["y"]]
    both = around([*across, *up]) if figure["diagonal"] else None
    axes = Axes(both or around(across or [0.0, 1.0]), both or around(up or [0.0, 1.0]))
    every = max(1, -(-len(across) // _MOST_POINTS))
    kinds = [f"dot-{number % _COLOURS}" for number in range(len(groups))]
    marks = [
        axes.mark(x, y, kind, f"{title}: {decimal(x)}, {decimal(y)}")
        for kind, group in zip(kinds, groups, strict=True)
        for x, y, title in _points(group)[::every]
    ]
    equal = axes.line(1.0, 0.0, "diagonal") if figure["diagonal"] else None
    thinned = f" One point of {every} is drawn." if every > 1 else ""
    plot = axes.plot(figure["across"], figure["up"], paths=[equal], marks=marks)
    keys = [LegendKey(kind, group["name"]) for kind, group in zip(kinds, groups, strict=True)]
    return _drawing({**figure, "sentence": figure["sentence"] + thinned}, plot, keys)


def _points(group: Data) -> list[tuple[float, float, str]]:
    titles = group["titles"] or [group["name"]] * len(group["x"])
    return list(zip(group["x"], group["y"], titles, strict=True))


def _strips(figure: Data) -> Drawing:
    goal = figure["goal"]
    known = [value for strip in figure["strips"] for value in strip["values"] if value is not None]
    within = around([*known, *([] if goal is None else [goal])] or [0.0, 1.0])
    groups = list(dict.fromkeys(strip["group"] for strip in figure["strips"]))
    longest = max((len(_named(strip)) for strip in figure["strips"]), default=0)
    names = round(12 + _LETTER * min(longest, _LONGEST))

    def across(value: float) -> float:
        return round(names + (value - within[0]) / (within[1] - within[0]) * _SPAN, 2)

    lines = [
        _strip_line(strip, _ABOVE + _ROW * (place + 0.5), f"dot-{groups.index(strip['group']) % _COLOURS}", across)
        for place, strip in enumerate(figure["strips"])
    ]
    plot = StripPlot(
        figure["up"],
        names + _SPAN + RIGHT,
        _ABOVE + _ROW * len(lines) + _BELOW,
        names,
        lines,
        [Tick(across(number), decimal(number)) for number in round_numbers(*within)],
        None if goal is None else across(goal),
    )
    return _drawing(figure, plot, [LegendKey(f"dot-{number % _COLOURS}", name) for number, name in enumerate(groups)])


def _named(strip: Data) -> str:
    """A condition's name, and how many of its seeds have no number."""
    lost = sum(value is None for value in strip["values"])
    return str(strip["name"]) + (f" ({lost} not known)" if lost else "")


def _strip_line(strip: Data, y: float, kind: str, across: Callable[[float], float]) -> StripLine:
    known = [value for value in strip["values"] if value is not None]
    name = _named(strip)
    marks = [Mark(across(value), y, kind, f"{strip['name']}: {decimal(value)}") for value in known]
    return StripLine(shorten(name, _LONGEST), name, y, marks, across(fmean(known)) if known else None)


_FORMS: Mapping[str, Callable[[Data], Drawing]] = {
    "matrix": _matrix,
    "curves": _curves,
    "field": _field,
    "scatter": _scatter,
    "strips": _strips,
}


def drawn(figure: Data) -> Drawing:
    """A figure as what the template draws."""
    return _FORMS[figure["form"]](figure)


def image(figure: Data) -> str:
    """A figure as an SVG file that stands by itself, on white.

    >>> line = {"name": "a", "values": [0.0, 1.0], "low": [], "high": [], "control": False}
    >>> plain = {"form": "curves", "title": "T", "sentence": "S", "across": "x", "up": "y", "places": ["1", "2"]}
    >>> image(plain | {"curves": [line]}).startswith("<svg xmlns=")
    True
    """
    return sized_image(figure)[0]


def sized_image(figure: Data) -> tuple[str, float, float]:
    """The same, with its width and its height in pixels."""
    made = drawn(figure)
    wider = _BESIDE if made.form == "curves" else 0
    size = (made.picture.width, made.picture.height) if isinstance(made.picture, StripPlot) else (WIDTH, HEIGHT)
    return _stand_alone(made, size, wider)


def plot_image(plot: Plot, title: str) -> tuple[str, float, float]:
    """A plot of a page as such a file, with its size."""
    return _stand_alone(Drawing("plot", title, plot.sentence, plot), (WIDTH, HEIGHT), 0)


def _stand_alone(made: Drawing, size: tuple[float, float], wider: float) -> tuple[str, float, float]:
    inner = page_frame.part("figure.svg.j2", figure=made)
    bare = _OPENING.sub('<g class="plot">', inner, count=1).replace("</svg>", "</g>")
    width, height = size
    across = width + wider + 2 * _MARGIN
    down = height + _KEY * len(made.keys) + 2 * _MARGIN + 2
    size = (_SCALE * across, _SCALE * down)
    told = {"across": across, "down": down, "size": size, "below": height, "keys": made.keys}
    return page_frame.part("image.svg.j2", inner=bare, **told), *size
