"""What a notebook shows of a result: the sentence, the grade, and one picture that needs no script.

The picture is an SVG inside an image element, so that notebooks that strip scripts and styles still show it: a map or a
grid of combinations, scores with their intervals, what a plan buys, or the sides of a split.
"""

import base64
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
import numpy.typing as npt

from recombine.base import plugins
from recombine.base.grades import MEANING, MEANINGS, Grade
from recombine.base.records import Record
from recombine.output import map_packing, page_frame, plan_pictures, score_pictures
from recombine.output.combination_cube import VERDICTS
from recombine.output.diff_page import change_bars
from recombine.output.figure_layout import drawn, plot_image, sized_image
from recombine.output.first_screen import FirstScreen
from recombine.output.headline import shorten, value, whole
from recombine.output.pictures import Bars, ShadedTable
from recombine.output.rehearsal_page import round_bars
from recombine.output.split_pages import side_bars
from recombine.output.vector_page import reach_bars

_FONT = "font-family='system-ui,sans-serif' font-size='11'"
_MOST_CELLS = 60
"""Rows and columns of a grid that are still legible in a notebook's column."""
_STATE_COLOURS = {
    "seen": "#3f73aa",
    "thin": "#9cc0e4",
    "determined": "#f6d9a6",
    "undetermined": "url(#open)",
    "novel": "#ffffff",
}
_VERDICT_COLOURS = {
    "seen": "#3f73aa",
    "fine": "#cde6e0",
    "leak": "#f2bd5b",
    "shortcut": "#e07b4f",
    "can't": "#b48ac4",
    "unsure": "#f4efc0",
    "not determined": "url(#open)",
    "novel": "#ffffff",
}
_IMPOSSIBLE = "#b9bdc3"


@dataclass(frozen=True)
class Picture:
    """The inside of an SVG, its size, and what it shows in words."""

    body: str
    width: float
    height: float
    words: str

    def html(self) -> str:
        """As an image that stands by itself."""
        size = f"width='{self.width:.0f}' height='{self.height:.0f}'"
        svg = f"<svg xmlns='http://www.w3.org/2000/svg' {size} {_FONT}><rect {size} fill='#fff'/>{self.body}</svg>"
        data = base64.b64encode(svg.encode()).decode("ascii")
        return f'<img alt="{escape(self.words)}" src="data:image/svg+xml;base64,{data}">'


def view(record: Record, *, verdict: str, grade: Grade, first: FirstScreen) -> str:
    """The sentence, the grade and the picture of a record, as HTML.

    >>> from recombine.base.records import Provenance
    >>> record, first = Record("run", {}, {}, Provenance(source="addition")), FirstScreen("Done.", "", "")
    >>> view(record, verdict="Done.", grade="untested", first=first)
    '<div><p><b>Done.</b></p><p>Graded <b>untested</b>: not enough evidence to say.</p></div>'
    """
    added = None if record.kind in _PICTURES else plugins.load("recombine.pages", record.kind)
    draw = _PICTURES.get(record.kind) if added is None else added.picture
    picture = None if draw is None else draw(record)
    drawn = f"<p>{picture.html()}</p><p><small>{escape(picture.words)}</small></p>" if picture else ""
    means = MEANINGS.get(record.kind, MEANING) if added is None else added.meaning
    rest = verdict[len(first.sentence) :].strip()
    told = f"<p><b>{escape(first.sentence)}</b>{f' {escape(rest)}' if rest else ''}</p>"
    told += f"<p>Next: {escape(first.next_step)}</p>" if first.next_step else ""
    told += f"<p>Graded <b>{grade}</b>: {escape(first.because or means[grade])}.</p>"
    return f"<div>{told}{drawn}</div>"


def _map(record: Record) -> Picture | None:
    maps = record.data.get("maps") or []
    if not maps:
        return None
    first, cells = maps[0], map_packing.cells_of_maps(maps, record.tables.get("maps"))[0]
    shape = (len(first["row_values"]), len(first["column_values"]))
    if 0 in shape:
        return None
    return _grid(
        cells.state.reshape(shape),
        (first["row_values"], first["column_values"]),
        tuple(map(value, first["factors"])),
        map_packing.STATES,
        _STATE_COLOURS,
        (first["rows_total"], first["columns_total"]),
    )


def _forecast(record: Record) -> Picture | None:
    """The grid of the first two factors, the others at their commonest value."""
    drawn = (record.data.get("grid") or {}).get("factors") or []
    cells = record.tables.get("cells")
    shape = tuple(len(one["values"]) for one in drawn)
    if len(shape) < 2 or cells is None or not cells.num_rows:
        return None
    verdicts = cells["verdict"].to_numpy().astype(np.uint8).reshape(shape)
    plane = verdicts[(slice(None), slice(None), *(0 for _ in shape[2:]))]
    picture = _grid(
        plane,
        (drawn[0]["values"], drawn[1]["values"]),
        tuple(value(one["name"]) for one in drawn[:2]),
        VERDICTS,
        _VERDICT_COLOURS,
        (drawn[0]["total"], drawn[1]["total"]),
    )
    fixed = ", ".join(f"{value(one['name'])} = {shorten(value(one['values'][0]), 30)}" for one in drawn[2:])
    return (
        picture if not fixed else Picture(picture.body, picture.width, picture.height, f"{picture.words} At {fixed}.")
    )


def _grid(
    codes: npt.NDArray[np.uint8],
    values: tuple[Sequence[Any], Sequence[Any]],
    names: tuple[str, ...],
    words: Sequence[str],
    colours: Mapping[str, str],
    of: tuple[int, int],
) -> Picture:
    """The first cells of a map, each in the colour of its word."""
    shown = codes[:_MOST_CELLS, :_MOST_CELLS]
    rows, columns = shown.shape
    side = float(np.clip(560 / columns, 7, 22))
    fills = [colours.get(word, _IMPOSSIBLE) for word in words]
    used = [code for code in range(len(words)) if (shown == code).any()]
    picture = {
        "rows": [[fills[code] for code in row] for row in shown.tolist()],
        "side": side,
        "down": values[0][:rows],
        "across": values[1][:columns],
        "legend": [(words[code], fills[code]) for code in used],
    }
    cut = "" if of == shown.shape else f" The first {rows} × {columns} of {whole(of[0])} × {whole(of[1])}."
    said = f"{names[0]} (down) × {names[1]} (across): {', '.join(words[code] for code in used)}.{cut}"
    return Picture(_svg("map", picture), max(140 + side * columns, 560), 100 + side * rows, said)


def _svg(form: str, picture: Any) -> str:
    return page_frame.part("notebook.svg.j2", form=form, picture=picture)


def _scores(record: Record) -> Picture | None:
    """The score of each side with its interval."""
    found = score_pictures.sides(record.data)
    if found is None:
        return None
    said = f"{found.score}, of which {found.better} is better."
    return Picture(_svg("dots", found), 900, 20 + 26 * len(found.dots), said)


def _bought(record: Record) -> Picture | None:
    """What the budget of a plan buys."""
    plot = plan_pictures.curve(record.data)
    return None if plot is None else Picture(*plot_image(plot, "Benefit against budget"), plot.sentence)


def _sides(record: Record) -> Picture | None:
    """The rows of each side as bars."""
    return _bars(side_bars(record.data["sides"]))


def _changes(record: Record) -> Picture | None:
    """What a diff counted, before and now."""
    return _bars(change_bars(record.data))


def _rounds(record: Record) -> Picture | None:
    """The score of each round of a rehearsal as bars."""
    return _bars(round_bars(record.data))


def _reached(record: Record) -> Picture | None:
    """How much of what can be reached was reached, score by score."""
    return _bars(reach_bars(record.data))


def first_figure(record: Record) -> Picture | None:
    """The first of a record's figures: curves where it has some, else a matrix."""
    figures = record.data["figures"]
    lines = next((one for one in figures if one["form"] == "curves"), None)
    if lines is not None:
        return Picture(*sized_image(lines), lines["sentence"])
    grid = next((drawn(one).picture for one in figures if one["form"] == "matrix"), None)
    if not isinstance(grid, ShadedTable):
        return None
    return Picture(_svg("shaded", grid), 180 + 74 * len(grid.columns), 30 + 26 * len(grid.rows), grid.sentence)


def first_image(record: Record) -> Picture | None:
    """The first of a record's figures as an image, whatever it is, but for a matrix."""
    figure = next((one for one in record.data["figures"] if one["form"] != "matrix"), None)
    return None if figure is None else Picture(*sized_image(figure), figure["sentence"])


def _bars(bars: Bars) -> Picture | None:
    if not bars.bars:
        return None
    return Picture(_svg("bars", bars), 690, 16 + 24 * len(bars.bars), bars.sentence)


_PICTURES: Mapping[str, Callable[[Record], Picture | None]] = {
    "audit": _map,
    "diff": _changes,
    "evaluation": _scores,
    "lint": _sides,
    "plan": _bought,
    "prediction": _forecast,
    "rehearsal": _rounds,
    "split": _sides,
    "vector_evaluation": _reached,
}
