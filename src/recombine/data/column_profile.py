"""What a table's columns are like, asked of its engine: a few cheap numbers of each, and a thousand rows to look at.

Three questions, however many rows there are: how many there are, how many each column misses and about how many values
it has, in one pass; then the first rows, for examples; then, for columns with few values, how many exactly, and which
of them tells another. The rows stay where they are.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from typing import Any, Literal

from ibis.expr import operations

from recombine.base.errors import TableError
from recombine.data.columns import is_plain, is_whole, without_nan
from recombine.data.engine import OpenTable, Progress, explained, run, sniffing_again
from recombine.data.sources import opened
from recombine.data.table_query import Where, filtered

MOST_COLUMNS = 1_000
"""Of a wider table the first ones are looked at: an engine's question has an end."""
FEW_VALUES = 2_000
"""Up to here the values of a column are counted exactly; in a small table, however many there are."""
_SMALL_TABLE = 200_000
_HEAD = 1_000
_LONGEST = 60  # letters of a value that are fetched
_EXAMPLES = 12
_PAIRS_OF_ROWS = 2 * 10**7
"""Rows times pairs of columns that are compared: some seconds. A pair that is not compared is not spoken of."""
_MOST_PAIRS = 24
_MOST_COUNTED = 40
"""Columns whose values are counted exactly: each costs an engine as much as thousands of rows do."""
_BETWEEN = "\x1f"


Kind = Literal["text", "boolean", "whole number", "number", "date", "nested"]
"""What a column's items are; nested where they cannot be values: lists, structs, bytes, spans of time."""


@dataclass(frozen=True)
class ColumnProfile:
    """What a column is like: its type, how many values it has, how many rows miss it, some of its values."""

    name: str
    type: str
    kind: Kind
    present: int
    missing: int
    values: int | None
    """How many; None where items cannot be values."""
    exact: bool = False
    examples: tuple[str, ...] = ()


@dataclass(frozen=True)
class Looks:
    """What the columns of a table are like, and which of them tells which other."""

    source: str
    rows: int
    columns: tuple[ColumnProfile, ...]
    tells: frozenset[tuple[str, str]]
    """Pairs (a, b) such that all rows with one value of a have one value of b."""
    not_looked_at: int


def look(source: Any, *, table: str | None, where: Where | None, progress: Progress | None) -> Looks:
    """Look at a table's columns."""

    def ask(sniff_all: bool) -> Looks:
        with opened(source, table=table, sniff_all=sniff_all) as open_table, explained(open_table):
            rows = filtered(open_table.table, where, open_table.backend)
            return _looks(replace(open_table, table=rows), progress)

    return sniffing_again(ask)


def _looks(open_table: OpenTable, progress: Progress | None) -> Looks:
    table, backend = open_table.table, open_table.backend
    names = table.columns[:MOST_COLUMNS]
    rows, columns = _counted(table, names, backend, progress)
    if not rows:
        raise TableError(
            f"'{open_table.name}' holds no rows",
            why="nothing can be said of columns without values, or `where` leaves none",
            instead="give a table with rows",
        )
    head = _head(table, [one for one in columns if one.values], backend)
    columns = tuple(_with_examples(one, head) for one in columns)
    columns, tells = _exactly(table, columns, head, rows, backend, progress)
    return Looks(open_table.name, rows, columns, tells, len(table.columns) - len(names))


def _counted(
    table: Any, names: Sequence[str], backend: Any, progress: Progress | None
) -> tuple[int, tuple[ColumnProfile, ...]]:
    """How many rows there are, and of each column: how many are there, about how many values, its ends."""
    about = backend.has_operation(operations.ApproxCountDistinct)
    asked = {"rows": table.count()}
    for place, name in enumerate(names):
        column = without_nan(table[name], backend)
        asked |= {f"{what}{place}": number for what, number in _numbers(column, about).items()}
    told = run(backend, table.aggregate(**asked), progress).to_pylist()[0]
    found = []
    for place, name in enumerate(names):
        own = {what: told.get(f"{what}{place}") for what in ("present", "values", "several", "low", "high")}
        found.append(_look(name, table[name].type(), own, rows=int(told["rows"]), exact=not about))
    return int(told["rows"]), tuple(found)


def _numbers(column: Any, about: bool) -> dict[str, Any]:
    """What is asked of a column. Whether its ends differ is compared there: an estimate may see one of two values."""
    kind, asked = _kind(column.type()), {"present": column.count()}
    if kind == "nested":
        return asked
    asked["values"] = column.approx_nunique() if about else column.nunique()
    if kind == "boolean":  # of which some engines know no lowest
        column = column.ifelse(1, 0)
    elif kind == "text":
        column = column.cast("string")
        asked |= {"low": column.min().substr(0, _LONGEST), "high": column.max().substr(0, _LONGEST)}
    return asked | {"several": column.min() != column.max()}


def _look(name: str, type_: Any, told: dict[str, Any], *, rows: int, exact: bool) -> ColumnProfile:
    kind, present = _kind(type_), int(told["present"])
    values = None if kind == "nested" else _at_least(int(told["values"]), present, several=bool(told["several"]))
    ends = tuple(end for end in (told["low"], told["high"]) if end is not None)
    return ColumnProfile(name, str(type_).lower(), kind, present, rows - present, values, exact, ends)


def _at_least(estimate: int, present: int, *, several: bool) -> int:
    """An estimate, held to what is known: it may miss by some, and of two values see one."""
    return min(present, max(estimate, 2 if several else 1))


def _kind(type_: Any) -> Kind:
    if not is_plain(type_):
        return "nested"
    if type_.is_boolean():
        return "boolean"
    if type_.is_temporal():
        return "date" if type_.is_date() or type_.is_timestamp() else "nested"
    if is_whole(type_):
        return "whole number"
    return "number" if type_.is_numeric() else "text"


def _head(table: Any, columns: Iterable[ColumnProfile], backend: Any) -> dict[str, list[str | None]]:
    """Some rows, as short text."""
    asked = {}
    for place, one in enumerate(columns):
        text = without_nan(table[one.name], backend).cast("string")
        asked[f"c{place}"] = text.substr(0, _LONGEST) if one.kind == "text" else text
    if not asked:
        return {}
    rows = backend.to_pyarrow(table.select(**asked).limit(_HEAD))
    return {one.name: rows[f"c{place}"].to_pylist() for place, one in enumerate(columns)}


def _with_examples(one: ColumnProfile, head: dict[str, list[str | None]]) -> ColumnProfile:
    """The ends come first: of a sorted table the first rows may all be alike."""
    seen = dict.fromkeys(value for value in head.get(one.name, ()) if value is not None)
    return replace(one, examples=tuple(dict.fromkeys([*one.examples, *sorted(seen)]))[:_EXAMPLES])


def _exactly(
    table: Any,
    columns: tuple[ColumnProfile, ...],
    head: dict[str, list[str | None]],
    rows: int,
    backend: Any,
    progress: Progress | None,
) -> tuple[tuple[ColumnProfile, ...], frozenset[tuple[str, str]]]:
    """The numbers of values of columns that have few, to the last one, and which of these columns tell another."""
    few = [one for one in columns if one.values and one.values <= 1.2 * FEW_VALUES]
    many = [one for one in columns if one.values and one not in few and rows <= _SMALL_TABLE]
    pairs = _supposed(few[:_MOST_COUNTED], head)[: max(2, min(_MOST_PAIRS, _PAIRS_OF_ROWS // rows))]
    counted = [*few, *many][:_MOST_COUNTED]
    asked = {f"v{place}": without_nan(table[one.name], backend).nunique() for place, one in enumerate(counted)}
    for place, (first, second) in enumerate(pairs):
        one, other = (without_nan(table[name], backend).cast("string") for name in (first, second))
        asked[f"o{place}"] = one.nunique(where=other.notnull())
        asked[f"p{place}"] = (one + _BETWEEN + other).nunique()
    if not asked:
        return columns, frozenset()
    told = run(backend, table.aggregate(**asked), progress).to_pylist()[0]
    values = {one.name: int(told[f"v{place}"]) for place, one in enumerate(counted)}
    tells = frozenset(pair for place, pair in enumerate(pairs) if told[f"o{place}"] == told[f"p{place}"] > 0)
    found = (
        replace(one, values=values.get(one.name, one.values), exact=one.exact or one.name in values) for one in columns
    )
    return tuple(found), tells


def _supposed(few: Sequence[ColumnProfile], head: dict[str, list[str | None]]) -> list[tuple[str, str]]:
    """Pairs of columns of which the one tells the other in the rows that were looked at; the firmest first."""
    several = [one.name for one in few if one.values and one.values > 1]
    found = []
    for first, second in permutations(several, 2):
        met: dict[str, set[str]] = {}
        for one, other in zip(head[first], head[second], strict=True):
            if one is not None and other is not None:
                met.setdefault(one, set()).add(other)
        if met and all(len(others) == 1 for others in met.values()):
            told = len(set().union(*met.values()))
            found.append((told == 1, len(met) - told, first, second))  # one value alone shows nothing yet
    return [(first, second) for *_, first, second in sorted(found, key=lambda pair: pair[:2])]
