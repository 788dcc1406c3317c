"""A GROUP BY with more keys and sums than a support needs, pushed to the engine as `read` does.

`read` answers one question: which combinations are there, and what is their target. Whoever asks more of each
combination (how a prediction fared, on which side of a split it stands) says so with an `Ask`; several tables can be
asked, and their lines meet in one space.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import ibis
import pyarrow as pa

from recombine.errors import ColumnError, TableError
from recombine.tables import columns
from recombine.tables.assembly import MOST_COMBINATIONS
from recombine.tables.columns import Key
from recombine.tables.conditions import filtered
from recombine.tables.engine import Progress, explained, run, sniffing_again
from recombine.tables.question import Question
from recombine.tables.sources import opened, unreadable


@dataclass(frozen=True)
class Ask:
    """What is asked beside the combinations: further keys, and sums over the rows that share all keys."""

    by: Mapping[str, Any] = field(default_factory=dict)
    sums: Mapping[str, Any] = field(default_factory=dict)
    meant: Any = None
    """How the question was understood, handed back with the answer."""


@dataclass(frozen=True)
class Beside:
    """Columns of another table, joined row by row where its column `id` equals this table's `own_id`.

    No column of it may have the name of one of this table's.
    """

    rows: pa.Table
    id: str
    own_id: str


@dataclass(frozen=True)
class Tally:
    """What the engine counted: a line for each combination (columns f0, f1 …) and each further key, with `rows`."""

    lines: pa.Table
    keys: tuple[Key, ...]
    source: str
    meant: Any


def tally(
    source: Any,
    question: Question,
    ask: Callable[[Any, Any], Ask],
    *,
    needs: Sequence[str] = (),
    beside: Sequence[Beside] = (),
    progress: Progress | None = None,
) -> Tally:
    """Count a table by its combinations and by whatever `ask(table, backend)` adds.

    >>> question = Question(factors=("a", "b"))
    >>> table = {"a": [0, 0, 1], "b": [0, 0, 1], "y": [1.0, 2.0, 4.0]}
    >>> found = tally(table, question, lambda table, _: Ask(sums={"total": table.y.sum()}), needs=["y"])
    >>> sorted(zip(*(found.lines[name].to_pylist() for name in ("f0", "f1", "rows", "total"))))
    [(0, 0, 2, 3.0), (1, 1, 1, 4.0)]
    """
    given = (source, question, ask, needs, beside, progress)
    return sniffing_again(lambda sniff_all: _tallied(*given, sniff_all=sniff_all))


def _tallied(
    source: Any,
    question: Question,
    ask: Callable[[Any, Any], Ask],
    needs: Sequence[str],
    beside: Sequence[Beside],
    progress: Progress | None,
    *,
    sniff_all: bool,
) -> Tally:
    wanted = None if question.where is not None else list(dict.fromkeys([*question.factors, *needs]))
    with opened(source, table=question.table, columns=wanted, sniff_all=sniff_all) as lent, explained(lent):
        table = filtered(lent.table, question.where, lent.backend)
        columns.require(table, question.factors, role="a factor")
        for other in beside:
            table = _joined(table, other)
        keys = tuple(
            columns.key(
                table, name, bins=question.bins.get(name), declared=name in question.domain, backend=lent.backend
            )
            for name in question.factors
        )
        asked = ask(table, lent.backend)
        by = {f"f{place}": key.expression for place, key in enumerate(keys)} | dict(asked.by)
        sums = {"rows": table.count(), **asked.sums}
        lines = run(lent.backend, table.group_by(**by).aggregate(**sums).limit(MOST_COMBINATIONS + 1), progress)
    _check_size(lines, lent.name)
    return Tally(lines, keys, lent.name, asked.meant)


def _check_size(lines: pa.Table, name: str) -> None:
    if len(lines) > MOST_COMBINATIONS:
        raise TableError(
            f"'{name}' has more than {MOST_COMBINATIONS:,} distinct combinations and answers",
            why="a factor is probably an identifier, or a number without bins",
            instead="leave that factor out, or bin it",
        )


def _joined(table: Any, beside: Beside) -> Any:
    """A table with the other's columns beside its own, missing where the other has no such row."""
    columns.require(table, [beside.own_id], role="the id")
    other = ibis.memtable(beside.rows)
    mine, theirs = table[beside.own_id], other[beside.id]
    if mine.type() != theirs.type():
        mine, theirs = mine.cast("string"), theirs.cast("string")
    return table.left_join(other, mine == theirs).drop(beside.id)


def columns_of(source: Any, names: Sequence[str], *, role: str) -> pa.Table:
    """Some columns of a table, row by row, for a join."""
    with opened(source, columns=list(names)) as lent:
        columns.require(lent.table, names, role=role)
        try:
            return lent.backend.to_pyarrow(lent.table.select(*dict.fromkeys(names)))
        except Exception as error:
            raise unreadable(lent.name, error, engine=lent.backend.name) from error


def together(tallies: Sequence[Tally], marks: Sequence[Any]) -> pa.Table:
    """Lines of several tables under one another, `side` telling them apart; what only one was asked is missing.

    A factor that one table writes as a number and another as text is compared as text.
    """
    tables = [
        one.lines.append_column("side", pa.array([mark] * len(one.lines), pa.string()))
        if mark is not None
        else one.lines
        for one, mark in zip(tallies, marks, strict=True)
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
