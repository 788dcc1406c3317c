"""A forecast from examples on a page: each combination with its score, as a list, and as a map of two factors."""

from typing import Any

import pyarrow as pa

from recombine.base.records import Record
from recombine.output import page_frame
from recombine.output.headline import decimal, percent, shorten, value
from recombine.output.page_frame import shown_of
from recombine.output.pictures import Shade, ShadedTable

_DOWNLOADED = 5_000
_LARGEST = 40  # values of a factor that a map still shows legibly
_OWN = 5  # columns beside the factors


def _table(record: Record) -> tuple[pa.Table, list[str], bool] | None:
    """The combinations, the names of the factors, and whether the score is a share."""
    table = record.tables.get("by_combination")
    if table is None or not table.num_rows or not record.data.get("examples"):
        return None
    names = table.column_names[:-_OWN]
    return table, names, table.column_names[len(names) + 1].startswith("right")


def _whom(record: Record) -> str:
    return "held-out" if record.data["examples"]["way"] == "held out" else "unseen"


def listed(record: Record) -> list[dict[str, Any]]:
    """Every combination with its forecast, the worst first."""
    found = _table(record)
    if found is None:
        return []
    table, names, share = found
    own = table.column_names[len(names) + 1]
    ordered = table.sort_by([(own, "ascending" if share else "descending")]).slice(0, _DOWNLOADED)
    rows = [list(row) for row in zip(*(column.to_pylist() for column in ordered.columns), strict=True)]
    shown = page_frame.listed(table.num_columns)
    first = len(names)
    said = "the share of its rows that come out right" if share else "its root mean squared error"
    how = "with its 95 % interval" if share else "with the best and the worst machine's"
    titles = ["rows asked", "right" if share else "error", "low", "high", "one answer for all"]
    return [
        page_frame.bounded(
            {
                "title": f"The {_whom(record)} combinations, from the examples",
                "file": "by_combination.csv",
                "lead": f"{shown_of(min(shown, len(rows)), table.num_rows)} shown, the worst first: {said}, {how}. "
                "This is for these machines; how far trained networks were from them is in the interval on top.",
                "columns": [*names, *titles],
                "numeric": list(range(first, first + _OWN)),
                "shares": list(range(first + 1, first + _OWN)) if share else [],
                "rows": rows[:shown],
                "download": {"columns": [*names, *titles], "rows": page_frame.within(rows)},
            }
        )
    ]


def heat_map(record: Record) -> ShadedTable | None:
    """The same as a map, where there are two factors of few values."""
    found = _table(record)
    if found is None or len(found[1]) != 2:
        return None
    table, names, share = found
    down, across, _, own, low, high, _ = (column.to_pylist() for column in table.columns)
    rows, columns = (sorted(set(one), key=str) for one in (down, across))
    if max(len(rows), len(columns)) > _LARGEST:
        return None
    written, most = percent if share else decimal, max(own) or 1.0
    cells = {
        (one, other): Shade(
            score if share else score / most,
            f"{100 * score:.0f}" if share else decimal(score),
            f"{value(names[0])}={value(one)}, {value(names[1])}={value(other)}: "
            f"{written(score)}, {written(least)} to {written(best)}",
        )
        for one, other, score, least, best in zip(down, across, own, low, high, strict=True)
    }
    told = "the rows that come out right, in percent" if share else "the root mean squared error"
    return ShadedTable(
        [shorten(value(other), 16) for other in columns],
        [(shorten(value(one), 24), [cells.get((one, other)) for other in columns]) for one in rows],
        f"Of each {_whom(record)} combination {told}.",
        corner=f"{shorten(value(names[0]))} ↓ \u00a0 {shorten(value(names[1]))} →",
    )
