"""A forecast from examples on a page: each combination with its score, as a list, and as a map of two factors."""

import pyarrow as pa

from recombine.base.records import Record
from recombine.output.headline import decimal, percent, shorten, value
from recombine.output.page_lists import PageList, table_list
from recombine.output.pictures import Shade, ShadedTable

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


def listed(record: Record) -> list[PageList]:
    """Every combination with its forecast, the worst first."""
    found = _table(record)
    if found is None:
        return []
    table, names, share = found
    own = table.column_names[len(names) + 1]
    ordered = table.sort_by([(own, "ascending" if share else "descending")])
    titles = ["rows asked", "right" if share else "error", "low", "high", "one answer for all"]
    said = "the share of its rows that come out right" if share else "its root mean squared error"
    how = "with its 95 % interval" if share else "with the best and the worst machine's"
    return [
        table_list(
            ordered.rename_columns([*names, *titles]),
            title=f"The {_whom(record)} combinations, from the examples",
            file="by_combination.csv",
            said=f", the worst first: {said}, {how}. This is for these machines; how far trained networks were from "
            "them is in the interval on top.",
            shares=range(len(names) + 1, len(names) + _OWN) if share else (),
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
