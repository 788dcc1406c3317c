"""A diff as one HTML page: what changed, a picture of it, every change, and the settings of both side by side."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from recombine.base.records import Record
from recombine.base.words import free_name, points, points_range
from recombine.output import page_frame
from recombine.output.headline import decimal, percent, shorten, value, whole
from recombine.output.page_frame import Data
from recombine.output.page_lists import PageList, table_list
from recombine.output.pictures import Bar, Bars

_MOST_BARS = 6
_MOST_CELLS = 40
_SIGNS = {"worse": "−", "better": "+", "other": "·"}
_CELL = 22
_LEFT, _TOP = 150, 96


@dataclass(frozen=True)
class ChangedCell:
    """One changed combination of two factors on the map."""

    x: int
    y: int
    way: str
    sign: str
    title: str


@dataclass(frozen=True)
class Map:
    """The values that take part in a change, and the changed combinations of them."""

    rows: Sequence[tuple[int, str]]
    columns: Sequence[tuple[int, str]]
    cells: Sequence[ChangedCell]
    width: int
    height: int
    sentence: str


@page_frame.page_of("diff", called="a diff", command="diff OLD NEW")
def diff_page(record: Record) -> str:
    """The complete page of a diff's record.

    >>> from recombine.base.records import Provenance
    >>> one = {"name": "old", "created": "2026-01-01", "verdict": "Fine.", "grade": "sound"}
    >>> data = {"verdict": "Nothing changed.", "grade": "sound", "reasons": [], "of": "audit", "old": one, "new": one}
    >>> data |= {"factors": ["a", "b"], "counted": [], "told": [], "scores": [], "settings": [], "counts": {}}
    >>> "Nothing changed." in diff_page(Record("diff", data, {}, Provenance(source="old → new")))
    True
    """
    data, table = record.data, record.tables.get("changes")
    return page_frame.render(
        "diff.html.j2",
        record,
        styles=["page.css", "plots.css", "diff.css"],
        scripts=["ready.js"],
        payload={},
        lists=_lists(table),
        changed=0 if table is None else table.num_rows,
        counts=change_bars(data),
        map=_map(table, data["factors"]),
        scores=[_score(one) for one in data["scores"]],
        sides=(data["old"], data["new"]),
        told=[one for one in data["told"] if one["old"] != one["new"]],
    )


def change_bars(data: Data) -> Bars:
    """What was counted, before and now: what changed, or the first few counts where nothing did."""
    moved = [one for one in data["counted"] if one["old"] != one["new"]]
    shown = (moved or data["counted"])[:_MOST_BARS]
    bars = []
    for one in shown:
        most = max(one["old"], one["new"], 1)
        for when, number in (("before", one["old"]), ("now", one["new"])):
            bars.append(Bar(f"{one['name']}, {when}", 100 * number / most, whole(number)))
    said = "Counted before and now; each pair of bars has a scale of its own."
    return Bars(bars, said if moved else f"{said} None of them changed.")


def _score(one: Data) -> tuple[str, ...]:
    share, apart, low, high = (one[name] for name in ("share", "difference", "low", "high"))
    written = percent if share else decimal
    around = "no interval"
    if low is not None and high is not None:
        around = points_range(low, high) if share else f"{decimal(low)} to {decimal(high)}"
    by = "–" if apart is None else points(apart) if share else decimal(apart)
    where = f"{value(one['score'])} on {whole(one['combinations'])} {value(one['name'])} combinations"
    return where, written(one["old"]), written(one["new"]), by, around, str(one["outcome"])


def _map(table: pa.Table | None, factors: Sequence[str]) -> Map | None:
    """Changed combinations of two factors, on the values that take part; unchanged cells stay empty."""
    if table is None or len(factors) != 2 or not table.num_rows:
        return None
    names = [free_name(name, set(factors)) for name in ("what", "old", "new", "way")]
    lines = list(zip(*(table[name].to_pylist() for name in (*factors, *names)), strict=True))
    down, across = (list(dict.fromkeys(line[k] for line in lines))[:_MOST_CELLS] for k in (0, 1))
    places = {v: k for k, v in enumerate(sorted(down))}, {v: k for k, v in enumerate(sorted(across))}
    found: dict[tuple[int, int], ChangedCell] = {}
    for row, column, what, old, new, way in lines:
        if row in places[0] and column in places[1]:
            at = places[0][row], places[1][column]
            title = f"{value(row)}, {value(column)}: {value(what)}, {_word(old)} → {_word(new)}"
            mine = ChangedCell(
                _LEFT + _CELL * at[1], _TOP + _CELL * at[0], way, _SIGNS.get(way, "·"), shorten(title, 300)
            )
            found.setdefault(at, mine)  # the worst comes first
    drawn = f"{len(down)} × {len(across)}"
    return Map(
        rows=[(_TOP + _CELL * k + 15, shorten(value(v), 20)) for v, k in places[0].items()],
        columns=[(_LEFT + _CELL * k + 15, shorten(value(v), 16)) for v, k in places[1].items()],
        cells=list(found.values()),
        width=_LEFT + _CELL * len(across) + 90,
        height=_TOP + _CELL * len(down) + 8,
        sentence=f"{value(factors[0])} (down) × {value(factors[1])} (across), {drawn} values that take part in a "
        "change: − worse, + better, · neither. Empty cells did not change.",
    )


def _word(raw: Any) -> str:
    return "–" if raw is None else value(raw)


def _lists(table: pa.Table | None) -> list[PageList]:
    """Every change, the worst first."""
    if table is None or not table.num_rows:
        return []
    titled = table.rename_columns([_TITLES.get(name, name) for name in table.column_names])
    return [
        table_list(
            titled,
            title="Changes, for the worse first, the most surprising first",
            file="changes.csv",
            said=". p is how likely such a change is by chance if rows are drawn one by one, q the same for as many as "
            "were looked at.",
        )
    ]


_TITLES = {
    "what": "change",
    "old": "before",
    "new": "now",
    "way": "for the",
    "old_rows": "rows before",
    "new_rows": "rows now",
}
