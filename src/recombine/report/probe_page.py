"""A probe as one HTML page: the outcome, matrices, curves from layer to layer, fields, and every measure as a list.

What is drawn is in the record (`probes/figures.py`); this file turns it into places and colours.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pyarrow as pa

from recombine.grades import OF_PROBES
from recombine.records import Record
from recombine.report import frame
from recombine.report.frame import Data, shown_of
from recombine.report.pictures import Shade
from recombine.report.plots import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, Axes, Mark, Plot, Tick, around, beside
from recombine.report.wording import decimal, shorten

_DOWNLOADED = 5_000
_MOST_TICKS = 8
_KINDS = 6
"""Lines that are told apart by colour; more of them share one."""
_NARROW = 5
"""Columns from which their names stand upright."""
_ABOUT = {
    "support": "Every measure speaks of the components' outputs, by the Jacobian of the composition with respect to"
    " them.",
    "geometry": "Each measure stands beside the same measure of things that cannot compose: a table of unrelated"
    " vectors, random features, the same features with shuffled factors, the network before training.",
    "influence": "What an answer hangs on: inputs are swapped, permuted and followed by derivatives.",
    "subnetworks": "Masks are searched on one component alone and judged by what is lost when they are taken out."
    " The same search, with the same budget, is run on controls in which nothing can be found.",
}


@dataclass(frozen=True)
class Grid:
    """A matrix of shaded cells."""

    title: str
    sentence: str
    columns: Sequence[str]
    rows: Sequence[tuple[str, Sequence[Shade | None]]]
    upright: bool
    form: str = "matrix"


@dataclass(frozen=True)
class Lines:
    """Curves with their axes."""

    title: str
    sentence: str
    plot: Plot
    form: str = "curves"


@dataclass(frozen=True)
class Square:
    """One cell of a field."""

    x: float
    y: float
    width: float
    height: float
    share: float


@dataclass(frozen=True)
class Area:
    """A field of cells under axes."""

    title: str
    sentence: str
    squares: Sequence[Square]
    plot: Plot
    form: str = "field"


@frame.page_of("probe", called="a probe", command="probe")
def probe_page(record: Record) -> str:
    """The complete page of a probe's record.

    >>> from recombine.records import Provenance
    >>> data = {"verdict": "Nothing was found.", "grade": "untested", "rows": 3, "probe": "geometry"}
    >>> data |= {"outcome": "unclear", "figures": [], "reasons": [], "numbers": {}}
    >>> "Nothing was found." in probe_page(Record("probe", data, {}, Provenance(source="network")))
    True
    """
    data = record.data
    return frame.render(
        "probe.html.j2",
        record,
        styles=["page.css", "plots.css"],
        scripts=["page.js", "save.js", "ready.js"],
        why=OF_PROBES,
        payload={},
        lists=[_list(name, table) for name, table in record.tables.items() if len(table)],
        figures=[_DRAWN[figure["form"]](figure) for figure in data["figures"]],
        about=_ABOUT.get(data["probe"], ""),
    )


def matrix(figure: Data) -> Grid:
    """A matrix as shaded cells."""
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
    return Grid(figure["title"], figure["sentence"], figure["columns"], rows, len(figure["columns"]) > _NARROW)


def curves(figure: Data) -> Lines:
    """Curves over named or numbered places."""
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
        marks += [
            Mark(axes.across(x), axes.up(y), "step", f"{curve['name']}, {places[int(x)]}: {decimal(y)}")
            for x, y in points
        ]
        ends += [(axes.up(points[-1][1]), shorten(curve["name"], 22))] if points else []
    labels = beside(ends, round(axes.across(float(len(places) - 1)) + 8, 2))
    plot = Plot(
        figure["across"], figure["up"], _ticks(axes, places), axes.y_ticks(), paths, marks, labels, "", bands=bands
    )
    return Lines(figure["title"], figure["sentence"], plot)


def _bands(axes: Axes, curve: Data) -> list[Any]:
    known = [
        (float(x), low, high)
        for x, (low, high) in enumerate(zip(curve["low"], curve["high"], strict=True))
        if low is not None and high is not None
    ]
    if len(known) < 2:
        return []
    return [axes.band([x for x, _, _ in known], [low for _, low, _ in known], [high for _, _, high in known], "band")]


def _ticks(axes: Axes, places: Sequence[str]) -> list[Tick]:
    every = max(1, -(-len(places) // _MOST_TICKS))
    return [Tick(axes.across(float(x)), shorten(name, 12)) for x, name in enumerate(places) if x % every == 0]


def _field(figure: Data) -> Area:
    axes = Axes(tuple(figure["x"]), tuple(figure["y"]))
    cells = figure["cells"]
    numbers = [cell for row in cells for cell in row if cell is not None]
    low, high = min(numbers, default=0.0), max(numbers, default=1.0)
    across = [LEFT + k * (WIDTH - LEFT - RIGHT) / len(cells[0]) for k in range(len(cells[0]) + 1)]
    down = [TOP + k * (HEIGHT - TOP - BOTTOM) / len(cells) for k in range(len(cells) + 1)]
    squares = [
        Square(
            round(left, 2),
            round(top, 2),
            round(right - left + 0.3, 2),
            round(bottom - top + 0.3, 2),
            round((cell - low) / ((high - low) or 1.0), 3),
        )
        for (top, bottom), row in zip(pairwise(down), cells, strict=True)
        for (left, right), cell in zip(pairwise(across), row, strict=True)
        if cell is not None
    ]
    kinds = ("beyond", "fine")
    marks = [
        Mark(axes.across(x), axes.up(y), kinds[group % len(kinds)], f"class {group}")
        for x, y, group in figure["points"]
        if axes.holds(x, y)
    ]
    plot = Plot(figure["across"], figure["up"], axes.x_ticks(), axes.y_ticks(), [], marks, [], "")
    return Area(figure["title"], figure["sentence"], squares, plot)


_DRAWN = {"matrix": matrix, "curves": curves, "field": _field}


def _list(name: str, table: pa.Table) -> dict[str, Any]:
    """A table of the result, as many lines as a page holds."""
    shown = frame.listed(max(1, table.num_columns))
    rows = [list(row.values()) for row in table.slice(0, _DOWNLOADED).to_pylist()]
    numbers = (pa.types.is_integer, pa.types.is_floating)
    numeric = [k for k, field in enumerate(table.schema) if any(is_one(field.type) for is_one in numbers)]
    listed = {
        "title": name.replace("_", " ").capitalize(),
        "file": f"{name}.csv",
        "lead": f"{shown_of(min(shown, len(rows)), table.num_rows)} shown.",
        "columns": table.column_names,
        "numeric": numeric,
        "plain": [k for k in range(table.num_columns) if k not in numeric],
        "rows": rows[:shown],
        "download": {"columns": table.column_names, "rows": frame.within(rows)},
    }
    return frame.bounded(listed)
