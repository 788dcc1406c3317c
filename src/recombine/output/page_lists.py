"""The lists of a page: sortable, cut to what a page can hold, and as whole as a download can be."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

import pyarrow as pa

from recombine.base.words import text
from recombine.output.headline import shorten, whole

_LISTED = 200
_DOWNLOADED = 5_000
_CELL_LIMIT = 32_767  # what a cell of a spreadsheet can hold

Data = Mapping[str, Any]
Rows = Sequence[Sequence[Any]]


@dataclass(frozen=True)
class PageList:
    """A list with its heading; columns that are no value of a factor are numbers, shares or plain words, by place.

    `cells` are the rows' places on the page's map. `download` are the columns and rows of the file, where it holds
    more than what is shown.
    """

    title: str
    file: str
    lead: str
    columns: Sequence[str]
    rows: Rows
    numeric: Sequence[int] = ()
    plain: Sequence[int] = ()
    shares: Sequence[int] = ()
    cells: Sequence[int | None] = ()
    download: tuple[Sequence[str], Rows] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", [[_set_text(cell) for cell in row] for row in self.rows])

    def payload(self) -> dict[str, Any]:
        """The file for the page's script: whole values, each written once."""
        columns, listed = self.download or (self.columns, self.rows)
        rows = [[_full(cell) for cell in row] for row in listed]
        pool = {word: place for place, word in enumerate(dict.fromkeys(cell for row in rows for cell in row))}
        return {
            "file": self.file,
            "columns": [str(name) for name in columns],
            "pool": list(pool),
            "rows": [[pool[cell] for cell in row] for row in rows],
        }


def table_list(
    table: pa.Table,
    *,
    title: str,
    file: str,
    said: str = ".",
    total: int | None = None,
    plain: bool = False,
    shares: Sequence[int] = (),
) -> PageList:
    """A table of a result, as many lines as a page holds; `said` goes on after how many are shown.

    `plain` tables hold no values of factors, so that their texts are written out.
    """
    columns = table.column_names
    rows = list(zip(*(column.to_pylist() for column in table.slice(0, _DOWNLOADED).columns), strict=True))
    shown = rows[: listed(max(1, len(columns)))]
    numbers = (pa.types.is_integer, pa.types.is_floating)
    numeric = [k for k, field in enumerate(table.schema) if any(is_one(field.type) for is_one in numbers)]
    return bounded(
        PageList(
            title,
            file,
            f"{shown_of(len(shown), table.num_rows if total is None else total)} shown{said}",
            columns,
            shown,
            numeric,
            plain=[k for k in range(len(columns)) if k not in numeric] if plain else (),
            shares=shares,
            download=(columns, within(rows)),
        )
    )


def combination_list(
    found: Sequence[Data],
    measures: Mapping[str, str],
    *,
    title: str,
    file: str,
    lead: Callable[[int], str],
    worded: Sequence[str] = (),
    shares: Sequence[str] = (),
    cells: Sequence[int | None] = (),
) -> list[PageList]:
    """Combinations with some measures of each, by their key and what the column is called; no list where none is.

    `lead` is told how many are shown; measures that are `worded` are no numbers, and those in `shares` are.
    """
    if not found:
        return []
    names = names_of(found)
    most = listed(len(names) + len(measures))
    rows = [
        [*(one["combination"].get(name) for name in names), *(one.get(key) for key in measures)] for one in found[:most]
    ]
    places = {key: len(names) + place for place, key in enumerate(measures)}
    shown = PageList(
        title,
        file,
        lead(len(rows)),
        [*names, *measures.values()],
        rows,
        numeric=[place for key, place in places.items() if key not in worded],
        plain=[place for key, place in places.items() if key in worded],
        shares=[place for key, place in places.items() if key in shares],
        cells=cells,
    )
    return [bounded(shown)]


def names_of(found: Sequence[Data]) -> list[str]:
    """The factors that listed combinations name, in the order in which they come.

    >>> names_of([{"combination": {"material": "wool", "garment": "hat"}}])
    ['material', 'garment']
    """
    return list(dict.fromkeys(name for one in found for name in one["combination"]))


def shown_of(shown: int, total: int) -> str:
    """How much of a list is shown.

    >>> shown_of(3, 3), shown_of(200, 1234)
    ('3', '200 of 1,234')
    """
    return whole(shown) if shown >= total else f"{whole(shown)} of {whole(total)}"


def listed(columns: int) -> int:
    """How many lines of a list are shown: fewer where many columns make each of them long.

    >>> listed(6), listed(400)
    (200, 20)
    """
    return max(20, min(_LISTED, 4_000 // columns))


def within(rows: Rows, most: int = 300_000) -> list[Sequence[Any]]:
    """The first rows, as many as so many characters hold and one at least: long texts must not swell a page.

    >>> within([["ab", 1], ["cd", 2], ["ef", 3]], most=6)
    [['ab', 1], ['cd', 2]]
    """
    sizes = accumulate(sum(len(_full(cell)) for cell in row) for row in rows)
    return [row for place, (row, size) in enumerate(zip(rows, sizes, strict=True)) if size <= most or place == 0]


def bounded(one: PageList) -> PageList:
    """A list whose download is cut where its texts are very long, and says so.

    >>> bounded(PageList("Two", "two.csv", "Two.", ["a"], [["x"], ["y"]])).lead
    'Two.'
    """
    kept = within(one.rows)
    if len(kept) == len(one.rows):
        return one
    said = f"{one.lead} Its texts are very long: the download holds the first {len(kept)}."
    return replace(one, lead=said, download=(one.columns, kept))


def _full(raw: Any) -> str:
    return "" if raw is None else shorten(str(_set_text(raw)), _CELL_LIMIT)


def _set_text(cell: Any) -> Any:
    """A set as people read it; anything else as it is."""
    return text(cell) if isinstance(cell, list) else cell
