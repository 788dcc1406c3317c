"""The one GROUP BY: by the factors, and by whatever else is asked, pushed to the engine that holds the table.

`read`, `lint`, `split` and `evaluate` all count here. Each says with an `Aggregate` what it asks of a combination
beside its rows: the target's class or sums, the side of a split, how a prediction fared. `support_assembly` makes a
support of the lines; several tables can be asked, and their lines meet in one space (`stacked`).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import ibis
import pyarrow as pa

from recombine.base.errors import BeyondMemory, ColumnError
from recombine.data import columns
from recombine.data.columns import FactorKey
from recombine.data.engine import OpenTable, Progress, explained, process_limit, run, sniffing_again, unreadable
from recombine.data.locations import suffix_of
from recombine.data.set_columns import set_key
from recombine.data.sources import opened
from recombine.data.table_query import TableQuery, filtered

MOST_COMBINATIONS = 5 * 10**7
"""That are worked with in memory, some hundreds of bytes for each; fewer where the system limits this process."""
_BYTES_EACH = 400
_TOLERANCE = 1.1  # of the estimate that spares counting what cannot fit


@dataclass(frozen=True)
class Aggregate:
    """What is asked beside the combinations: further keys, and sums over the rows that share all keys."""

    by: Mapping[str, Any] = field(default_factory=dict)
    sums: Mapping[str, Any] = field(default_factory=dict)
    context: Any = None
    """How the question was understood, handed back with the answer."""


Asking = Callable[[Any, Any], Aggregate]
"""From a table and its engine to what is asked of it: some of it (bins, a pilot) takes a small question first."""


@dataclass(frozen=True)
class JoinedTable:
    """Columns of another table, joined row by row where its column `id` equals this table's `own_id`.

    No column of it may have the name of one of this table's.
    """

    rows: pa.Table
    id: str
    own_id: str


@dataclass(frozen=True)
class EngineCounts:
    """What the engine counted: a line for each combination (columns f0, f1 …) and each further key, with `rows`."""

    lines: pa.Table
    keys: tuple[FactorKey, ...]
    source: str
    context: Any = None


def count_table(
    source: Any,
    question: TableQuery,
    asking: Asking,
    *,
    needs: Sequence[str] = (),
    joined: Sequence[JoinedTable] = (),
    progress: Progress | None = None,
) -> EngineCounts:
    """Open a table, and count it by its combinations and by whatever `asking(table, backend)` adds.

    >>> question = TableQuery(factors=("a", "b"))
    >>> table = {"a": [0, 0, 1], "b": [0, 0, 1], "y": [1.0, 2.0, 4.0]}
    >>> found = count_table(table, question, lambda table, _: Aggregate(sums={"total": table.y.sum()}), needs=["y"])
    >>> sorted(zip(*(found.lines[name].to_pylist() for name in ("f0", "f1", "rows", "total"))))
    [(0, 0, 2, 3.0), (1, 1, 1, 4.0)]
    """
    wanted = None if question.where is not None else list(dict.fromkeys([*question.columns, *needs]))

    def count(sniff_all: bool) -> EngineCounts:
        with (
            opened(source, table=question.table, columns=wanted, sniff_all=sniff_all) as open_table,
            explained(open_table),
        ):
            table = filtered(open_table.table, question.where, open_table.backend)
            columns.require(table, question.columns, role="a factor")
            for other in joined:
                table = _joined(table, other)
            return count_groups(replace(open_table, table=table), question, asking, progress=progress)

    return sniffing_again(count)


def count_groups(
    open_table: OpenTable,
    question: TableQuery,
    asking: Asking,
    *,
    stand_ins: Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> EngineCounts:
    """Count an open table: the GROUP BY itself. Its `where` was applied, or is none of its business.

    `stand_ins` names, for some of the factors, the column that is asked in their place.
    """
    table, backend = open_table.table, open_table.backend
    keys = factor_keys(table, question, backend, stand_ins=stand_ins)
    asked = asking(table, backend)
    by = asked_of(keys) | dict(asked.by)
    sums = {"rows": table.count(), **asked.sums}
    most = _most_combinations()
    _refuse_surely_more(open_table, asked_of(keys), most)
    lines = run(backend, table.group_by(**by).aggregate(**sums).limit(most + 1), progress)
    if len(lines) > most:
        raise _beyond_memory(open_table.name, most, further=bool(asked.by))
    return EngineCounts(folded(lines, keys), keys, open_table.name, asked.context)


def asked_of(keys: Sequence[FactorKey]) -> dict[str, Any]:
    """What is asked of an engine for each factor, as f0, f1 …; for a set that stands in several columns f0_0, f0_1 …"""
    return {name: one for place, key in enumerate(keys) for name, one in key.asked(f"f{place}").items()}


def folded(lines: pa.Table, keys: Sequence[FactorKey]) -> pa.Table:
    """An engine's answer with one column for each factor."""
    for place, key in enumerate(keys):
        lines = key.folded(lines, f"f{place}")
    return lines


def factor_keys(
    table: Any, question: TableQuery, backend: Any, *, stand_ins: Mapping[str, str] | None = None
) -> tuple[FactorKey, ...]:
    """How each factor is asked of the engine: as it is, or in its bins."""
    asked = {name: (stand_ins or {}).get(name, name) for name in question.factors}
    columns.require(
        table, tuple(column for name, column in asked.items() if name not in question.sets), role="a factor"
    )
    return tuple(
        set_key(table, name, question.sets[name], stand_ins=stand_ins)
        if name in question.sets
        else replace(
            columns.key(table, column, bins=question.bins.get(name), declared=name in question.domain, backend=backend),
            name=name,
        )
        for name, column in asked.items()
    )


def _most_combinations() -> int:
    allowed = process_limit()
    return MOST_COMBINATIONS if allowed is None else min(MOST_COMBINATIONS, allowed // _BYTES_EACH)


def _refuse_surely_more(open_table: OpenTable, asked: Mapping[str, Any], most: int) -> None:
    """Refuse before the GROUP BY what is certain not to fit, by an estimate that takes one pass and no memory.

    Only Parquet says at once how many rows it has; a table with few rows has few combinations, and is not asked.
    """
    table, backend = open_table.table, open_table.backend
    if backend.name != "duckdb" or suffix_of(open_table.name) not in (".parquet", ".pq"):
        return
    if backend.to_pyarrow(table.count()).as_py() <= _TOLERANCE * most:
        return
    codes = backend.compile(table.select(**asked))
    estimate = f"SELECT approx_count_distinct(hash({', '.join(asked)})) FROM ({codes})"  # noqa: S608 - Ibis wrote it
    if backend.con.execute(estimate).fetchone()[0] > _TOLERANCE * most:
        raise _beyond_memory(open_table.name, most, further=False)


def _beyond_memory(name: str, most: int, *, further: bool) -> BeyondMemory:
    return BeyondMemory(
        f"'{name}' has more than {most:,} distinct combinations{' and answers' if further else ''}",
        why=f"each is kept in memory here, in some {_BYTES_EACH} bytes",
        instead="leave out a factor that is an identifier, bin a number, or keep a part of the values by `where`, such "
        "as hash(user) % 100 = 0; recombine.store_counts counts any number on disk",
    )


def _joined(table: Any, other: JoinedTable) -> Any:
    """A table with the other's columns beside its own, missing where the other has no such row."""
    columns.require(table, [other.own_id], role="the id")
    rows = ibis.memtable(other.rows)
    mine, theirs = table[other.own_id], rows[other.id]
    if mine.type() != theirs.type():
        mine, theirs = mine.cast("string"), theirs.cast("string")
    return table.left_join(rows, mine == theirs).drop(other.id)


def columns_of(source: Any, names: Sequence[str], *, role: str) -> pa.Table:
    """Some columns of a table, row by row, for a join."""
    with opened(source, columns=list(names)) as open_table:
        columns.require(open_table.table, names, role=role)
        try:
            return open_table.backend.to_pyarrow(open_table.table.select(*dict.fromkeys(names)))
        except Exception as error:
            raise unreadable(open_table.name, error, engine=open_table.backend.name) from error


def stacked(counts: Sequence[EngineCounts], marks: Sequence[Any]) -> pa.Table:
    """Lines of several tables under one another, `side` telling them apart; what only one was asked is missing.

    A factor that one table writes as a number and another as text is compared as text.
    """
    tables = [
        one.lines.append_column("side", pa.array([mark] * len(one.lines), pa.string()))
        if mark is not None
        else one.lines
        for one, mark in zip(counts, marks, strict=True)
    ]
    names = list(dict.fromkeys(name for table in tables for name in table.column_names))
    for name in names:
        kinds = {table.schema.field(name).type for table in tables if name in table.column_names}
        if len(kinds) > 1:
            common = _common(name, kinds)
            tables = [_cast(table, name, common) for table in tables]
    return pa.concat_tables(tables, promote_options="default")


def _common(name: str, kinds: set[Any]) -> Any:
    if all(pa.types.is_integer(kind) for kind in kinds):
        return pa.int64()
    numeric = all(
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind) for kind in kinds
    )
    if numeric:
        return pa.float64()
    if any(pa.types.is_nested(kind) for kind in kinds):
        raise ColumnError(
            f"the column {name!r} is of other types in the two tables",
            why="one of them holds lists or structs",
            instead="give both tables the same columns",
        )
    return pa.string()


def _cast(table: pa.Table, name: str, kind: Any) -> pa.Table:
    if name not in table.column_names:
        return table
    place = table.column_names.index(name)
    return table.set_column(place, name, table[name].cast(kind, safe=False))
