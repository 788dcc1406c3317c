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
from recombine.base.grades import MEANING, OF_DIFFS, Grade
from recombine.base.records import Record
from recombine.output import map_packing, plan_pictures, score_pictures
from recombine.output.audit_pictures import Bars
from recombine.output.combination_cube import VERDICTS
from recombine.output.diff_page import change_bars
from recombine.output.figure_layout import curves, matrix, sized_image
from recombine.output.figures import HEIGHT, WIDTH, Plot
from recombine.output.headline import shorten, value, whole
from recombine.output.rehearsal_page import round_bars
from recombine.output.split_pages import side_bars

_INK, _QUIET, _LINE, _ACCENT = "#1b1d20", "#5c6168", "#e2e4e7", "#1d5c99"
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
_HATCH = (
    "<defs><pattern id='open' width='4' height='4' patternUnits='userSpaceOnUse' patternTransform='rotate(45)'>"
    "<rect width='4' height='4' fill='#fff'/><rect width='1' height='4' fill='#6f757d'/></pattern></defs>"
)


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


def view(record: Record, *, verdict: str, grade: Grade) -> str:
    """The sentence, the grade and the picture of a record, as HTML.

    >>> from recombine.base.records import Provenance
    >>> view(Record("run", {}, {}, Provenance(source="addition")), verdict="Done.", grade="untested")
    '<div><p><b>Done.</b></p><p>Graded <b>untested</b>: not enough evidence to say.</p></div>'
    """
    added = None if record.kind in _PICTURES else plugins.load("recombine.pages", record.kind)
    draw = _PICTURES.get(record.kind) if added is None else added.picture
    picture = None if draw is None else draw(record)
    drawn = f"<p>{picture.html()}</p><p><small>{escape(picture.words)}</small></p>" if picture else ""
    means = {"diff": OF_DIFFS}.get(record.kind, MEANING) if added is None else added.meaning
    told = f"<p><b>{escape(verdict)}</b></p><p>Graded <b>{grade}</b>: {means[grade]}.</p>"
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
    rows, columns = (min(_MOST_CELLS, size) for size in codes.shape)
    side = float(np.clip(560 / columns, 7, 22))
    left, top = 128.0, 66.0
    cells = "".join(
        f"<rect x='{left + side * c:.1f}' y='{top + side * r:.1f}' width='{side:.1f}' height='{side:.1f}' "
        f"fill='{colours.get(words[codes[r, c]], _IMPOSSIBLE)}' stroke='#fff' stroke-width='.6'/>"
        for r in range(rows)
        for c in range(columns)
    )
    used = [word for code, word in enumerate(words) if (codes[:rows, :columns] == code).any()]
    height = top + side * rows + 34
    labels = _labels(values, (rows, columns), side, (left, top)) if side >= 11 else ""
    body = _HATCH + cells + labels + _legend(used, colours, top + side * rows + 22)
    cut = "" if of == (rows, columns) else f" The first {rows} × {columns} of {whole(of[0])} × {whole(of[1])}."
    words_ = f"{names[0]} (down) × {names[1]} (across): {', '.join(used)}.{cut}"
    return Picture(body, max(left + side * columns + 12, 560), height, words_)


def _labels(
    values: tuple[Sequence[Any], Sequence[Any]], shown: tuple[int, int], side: float, corner: tuple[float, float]
) -> str:
    left, top = corner
    down = (
        _text(left - 6, top + side * (r + 0.5) + 4, shorten(value(values[0][r]), 20), "end") for r in range(shown[0])
    )
    across = (
        f"<text transform='translate({left + side * (c + 0.5) + 4:.1f} {top - 6:.1f}) rotate(-50)' fill='{_QUIET}'>"
        f"{escape(shorten(value(values[1][c]), 16))}</text>"
        for c in range(shown[1])
    )
    return "".join((*down, *across))


def _legend(words: Sequence[str], colours: Mapping[str, str], y: float) -> str:
    parts, x = [], 8.0
    for word in words:
        fill = colours.get(word, _IMPOSSIBLE)
        parts.append(f"<rect x='{x}' y='{y - 9}' width='11' height='11' fill='{fill}' stroke='{_QUIET}'/>")
        parts.append(_text(x + 16, y, word))
        x += 30 + 6.4 * len(word)
    return "".join(parts)


def _scores(record: Record) -> Picture | None:
    """The score of each side with its interval."""
    found = score_pictures.sides(record.data)
    if found is None:
        return None
    left, width, step = 150.0, 300.0, 26
    lines = []
    for place, dot in enumerate(found.dots):
        y = 20 + step * place
        lines.append(_text(left - 10, y + 4, dot.name, "end"))
        lines.append(f"<line x1='{left}' x2='{left + width}' y1='{y}' y2='{y}' stroke='{_LINE}'/>")
        if dot.low is not None and dot.high is not None:
            ends = f"x1='{left + width * dot.low / 100:.1f}' x2='{left + width * dot.high / 100:.1f}'"
            lines.append(f"<line {ends} y1='{y}' y2='{y}' stroke='{_ACCENT}' stroke-width='5' stroke-opacity='.35'/>")
        if dot.at is not None:
            lines.append(f"<circle cx='{left + width * dot.at / 100:.1f}' cy='{y}' r='4.5' fill='{_ACCENT}'/>")
        lines.append(_text(left + width + 14, y + 4, shorten(f"{dot.text}: {dot.note}" if dot.note else dot.text, 70)))
    return Picture(
        "".join(lines), 900, 20 + step * len(found.dots), f"{found.score}, of which {found.better} is better."
    )


def _bought(record: Record) -> Picture | None:
    plot = plan_pictures.curve(record.data)
    return None if plot is None else Picture(_plot(plot), WIDTH, HEIGHT, plot.sentence)


def _plot(plot: Plot) -> str:
    ticks = [_text(tick.at, 299, tick.text, "middle") for tick in plot.x_ticks]
    for tick in plot.y_ticks:
        ticks.append(f"<line x1='58' x2='466' y1='{tick.at}' y2='{tick.at}' stroke='{_LINE}'/>")
        ticks.append(_text(51, tick.at + 4, tick.text, "end"))
    dashes, solid = {"goal": f"stroke='{_QUIET}' stroke-dasharray='4 3'"}, f"stroke='{_ACCENT}' stroke-width='1.8'"
    lines = [f"<polyline points='{path.points}' fill='none' {dashes.get(path.kind, solid)}/>" for path in plot.paths]
    dots = [f"<circle cx='{mark.x}' cy='{mark.y}' r='2.6' fill='{_ACCENT}'/>" for mark in plot.marks]
    words = [_text(label.x, label.y, label.text, label.side) for label in plot.labels]
    named = [_text(262, 323, plot.across, "middle"), _text(58, 11, plot.up)]
    return "".join((*ticks, *lines, *dots, *words, *named))


def _sides(record: Record) -> Picture | None:
    """The rows of each side as bars."""
    return _bars(side_bars(record.data["sides"]))


def _changes(record: Record) -> Picture | None:
    """What a diff counted, before and now."""
    return _bars(change_bars(record.data))


def _rounds(record: Record) -> Picture | None:
    """The score of each round of a rehearsal as bars."""
    return _bars(round_bars(record.data))


def first_figure(record: Record) -> Picture | None:
    """The first of a record's figures: curves where it has some, else a matrix."""
    figures = record.data["figures"]
    lines = next((curves(one) for one in figures if one["form"] == "curves"), None)
    if lines is not None:
        return Picture(_plot(lines.plot), WIDTH, HEIGHT, lines.sentence)
    grid = next((matrix(one) for one in figures if one["form"] == "matrix"), None)
    if grid is None:
        return None
    cells = [_text(200 + 74 * k, 14, shorten(name, 11), "middle") for k, name in enumerate(grid.columns)]
    for y, (name, shades) in enumerate(grid.rows):
        cells.append(_text(156, 38 + 26 * y, shorten(name, 24), "end"))
        for x, shade in enumerate(shades):
            share, words = (0.0, "–") if shade is None else (shade.share or 0.0, shade.text)
            box = f"x='{164 + 74 * x}' y='{22 + 26 * y}' width='72' height='24'"
            cells.append(f"<rect {box} fill='{_ACCENT}' fill-opacity='{0.08 + 0.5 * share:.3f}'/>")
            cells.append(_text(200 + 74 * x, 38 + 26 * y, words, "middle"))
    return Picture("".join(cells), 180 + 74 * len(grid.columns), 30 + 26 * len(grid.rows), grid.sentence)


def first_image(record: Record) -> Picture | None:
    """The first of a record's figures as an image, whatever it is, but for a matrix."""
    figure = next((one for one in record.data["figures"] if one["form"] != "matrix"), None)
    if figure is None:
        return None
    return Picture(*sized_image(figure), figure["sentence"])


def _bars(bars: Bars) -> Picture | None:
    if not bars.bars:
        return None
    lines = "".join(
        _text(100, 24 + 24 * place, bar.label, "end")
        + f"<rect x='110' y='{14 + 24 * place}' width='{2.4 * bar.fill:.1f}' height='13' fill='{_ACCENT}'/>"
        + _text(118 + 2.4 * bar.fill, 24 + 24 * place, bar.text)
        for place, bar in enumerate(bars.bars)
    )
    return Picture(lines, 640, 16 + 24 * len(bars.bars), bars.sentence)


def _text(x: float, y: float, words: str, side: str = "start") -> str:
    return f"<text x='{x:.1f}' y='{y:.1f}' text-anchor='{side}' fill='{_INK}'>{escape(words)}</text>"


_PICTURES: Mapping[str, Callable[[Record], Picture | None]] = {
    "audit": _map,
    "diff": _changes,
    "evaluation": _scores,
    "lint": _sides,
    "plan": _bought,
    "prediction": _forecast,
    "rehearsal": _rounds,
    "split": _sides,
}
