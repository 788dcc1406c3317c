"""Counts that stay on disk: for tables with more distinct combinations than fit in memory.

The engine groups the table once, into a DuckDB file in a temporary folder. Values become codes by a join, so a line is
a few bytes however long the values are. What is asked of the counts later is asked there, or of a stream of their
lines; in memory are a few numbers for each *value*, never one for each combination.

The folder goes away with the `with` block, whatever ends it.
"""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from recombine.base.argument_kinds import explain_kinds
from recombine.base.errors import SettingError, TableError
from recombine.base.progress import Progress, of_step
from recombine.base.records import Provenance
from recombine.data import columns
from recombine.data.columns import Bins, FactorKey
from recombine.data.engine import arrow_batches, explained, limit_memory, run_statement, sniffing_again, stream
from recombine.data.engine_errors import first_line
from recombine.data.group_counts import Aggregate, Asking, asked_of, factor_keys
from recombine.data.sources import opened
from recombine.data.space import rows_of, text
from recombine.data.support_assembly import refuse_no_rows, refuse_none_whole
from recombine.data.table_query import TableQuery, Where, declared_bins, filtered
from recombine.numerics.groups import Codes, Ints, Numbers

_BATCH = 500_000  # lines at a time: with all that is worked out of them, some 50 MB
_MOST_VALUES = 10**8  # of a factor: some numbers are kept for each of them


@dataclass(frozen=True, eq=False)
class StoredCounts:
    """A table's distinct combinations on disk: a line for each, of codes c0, c1 … and `rows`, and further sums.

    `value_counts` says how many rows hold each value; values are numbered in the order in which a `Support` has them.
    """

    connection: Any
    keys: tuple[FactorKey, ...]
    value_counts: tuple[Numbers, ...]
    combinations: int
    rows: int
    left_out: Mapping[str, int]
    source: Provenance
    context: Any = None

    def __repr__(self) -> str:
        return f"StoredCounts({self.combinations:,} combinations of {', '.join(self.names)}; {self.rows:,} rows)"

    @property
    def names(self) -> tuple[str, ...]:
        """The factors."""
        return tuple(key.name for key in self.keys)

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many values each factor has."""
        return tuple(map(len, self.value_counts))

    @property
    def total(self) -> float:
        """The rows that hold a whole combination."""
        return float(self.value_counts[0].sum())

    def batches(self, factors: Sequence[int] | None = None) -> Iterator[tuple[Codes, Numbers]]:
        """The lines, some millions at a time: codes and rows. Of some of the factors: their distinct conjunctions."""
        asked = range(len(self.keys)) if factors is None else factors
        codes = ", ".join(f"c{k}" for k in asked)
        grouped = "rows" if len(asked) == len(self.keys) else "sum(rows)::BIGINT AS rows"
        by = "" if len(asked) == len(self.keys) else f" GROUP BY {codes}"
        question = f"SELECT {codes}, {grouped} FROM counts{by}"  # noqa: S608 - names of our own
        with self.connection.cursor() as cursor:  # held: DuckDB 1.4 ends a stream whose cursor is gone
            try:
                for batch in arrow_batches(cursor.sql(question), _BATCH):
                    yield (
                        np.stack([batch.column(place).to_numpy() for place in range(len(asked))], axis=1),
                        batch.column("rows").to_numpy().astype(np.float64),
                    )
            except (OSError, duckdb.Error) as error:
                raise TableError(
                    f"the {self.combinations:,} combinations on disk cannot be read",
                    why=first_line(error),
                    instead="allow this process more memory (ulimit -v), or keep a part of the values by `where`",
                ) from error

    def count_conjunctions(self, factors: Sequence[int]) -> int:
        """How many distinct conjunctions of some of the factors were seen."""
        if len(factors) == len(self.keys):
            return self.combinations
        distinct = f"SELECT DISTINCT {', '.join(f'c{k}' for k in factors)} FROM counts"  # noqa: S608
        return int(self.ask(f"SELECT count(*) FROM ({distinct})")[0][0])  # noqa: S608

    def commonest(self) -> list[int]:
        """The codes of the combination with most rows, the first of several."""
        codes = ", ".join(f"c{k}" for k in range(len(self.keys)))
        return list(self.ask(f"SELECT {codes} FROM counts ORDER BY rows DESC, {codes} LIMIT 1")[0])  # noqa: S608

    def labels(self, k: int, codes: Sequence[int] | Ints) -> list[str]:
        """The values of some codes of a factor, as text."""
        wanted = ", ".join(map(str, {int(code) for code in codes})) or "-1"
        found = self.ask(f"SELECT code, value FROM values_{k} WHERE code IN ({wanted})")  # noqa: S608
        names = dict(zip((code for code, _ in found), self.keys[k].values([raw for _, raw in found]), strict=True))
        return [text(names[int(code)]) for code in codes]

    def encode(self, combinations: Any) -> Codes:
        """Codes of combinations, given as tuples, mappings or a table; -1 for a value that was not seen."""
        rows = rows_of(combinations)
        codes = np.full((len(rows), len(self.keys)), -1, dtype=np.int32)
        for k, name in enumerate(self.names):
            asked = sorted({text(row[name] if isinstance(row, Mapping) else row[k]) for row in rows})
            self.connection.register("asked_values", pa.table({"word": asked}))
            found = self.ask(
                f"SELECT word, code FROM asked_values JOIN values_{k} ON word = {_word(self.keys[k])}"  # noqa: S608
            )
            known = dict(found)
            codes[:, k] = [known.get(text(row[name] if isinstance(row, Mapping) else row[k]), -1) for row in rows]
        return codes

    def count_rows(self, codes: Codes) -> Ints:
        """How many rows hold each combination; 0 for one that was not seen."""
        columns = {f"c{k}": codes[:, k] for k in range(len(self.keys))}
        self.connection.register("asked", pa.table({"place": np.arange(len(codes)), **columns}))
        joined = f"SELECT place, rows FROM asked JOIN counts USING ({', '.join(columns)})"  # noqa: S608
        found = np.array(self.ask(joined), dtype=np.int64).reshape(-1, 2)
        rows = np.zeros(len(codes), dtype=np.int64)
        rows[found[:, 0]] = found[:, 1]
        return rows

    def ask(self, question: str) -> list[Any]:
        """The answer to a question in SQL, of the table `counts`."""
        return list(self.connection.execute(question).fetchall())


def _word(key: FactorKey) -> str:
    """A stored value as `text` writes it."""
    return f"strftime(value, '{key.format}')" if key.format is not None else "value::VARCHAR"


@contextmanager
@explain_kinds
def store_counts(
    source: Any,
    *,
    factors: Sequence[str],
    where: Where | None = None,
    bins: Mapping[str, Bins] | None = None,
    table: str | None = None,
    command: str | None = None,
    asking: Asking | None = None,
    needs: Sequence[str] = (),
    progress: Progress | None = None,
) -> Iterator[StoredCounts]:
    """Count a table's combinations onto disk, for as long as the `with` block lasts; `source` is as in `read`.

    `asking` names further sums over the rows of each combination, of the columns `needs`, as for `count_table`.

    >>> table = {"a": ["x", "x", "y"], "b": ["p", "q", "p"]}
    >>> with store_counts(table, factors=["a", "b"]) as counts:
    ...     counts, counts.sizes, counts.count_rows(counts.encode([("x", "q"), ("y", "q")])).tolist()
    (StoredCounts(3 combinations of a, b; 3 rows), (2, 2), [1, 0])
    """
    question = TableQuery(factors=tuple(factors), where=where, bins=declared_bins(bins), table=table)
    with tempfile.TemporaryDirectory(prefix="recombine-counts-") as folder:
        file = Path(folder) / "counts.duckdb"
        found = sniffing_again(lambda all_: _group(source, question, (asking, needs), file, progress, sniff_all=all_))
        with duckdb.connect(file, config={"temp_directory": folder}) as connection:
            limit_memory(connection)
            connection.execute("SET preserve_insertion_order = false")
            yield _encoded(connection, found, question, command, progress)


@dataclass(frozen=True)
class _Grouped:
    """What was counted into the file, beside the lines themselves."""

    keys: tuple[FactorKey, ...]
    name: str
    sums: tuple[str, ...]
    context: Any


def _group(
    source: Any,
    question: TableQuery,
    further: tuple[Asking | None, Sequence[str]],
    file: Path,
    progress: Progress | None,
    *,
    sniff_all: bool,
) -> _Grouped:
    """The GROUP BY, from the engine that holds the table into a file: by DuckDB itself, or as a stream of lines."""
    asking, needs = further
    wanted = None if question.where is not None else list(dict.fromkeys([*question.columns, *needs]))
    file.unlink(missing_ok=True)
    with opened(source, table=question.table, columns=wanted, sniff_all=sniff_all) as found, explained(found):
        rows = filtered(found.table, question.where, found.backend)
        columns.require(rows, question.columns, role="a factor")
        columns.require(rows, needs, role="asked for")
        keys = factor_keys(rows, question, found.backend)
        _refuse_declared(keys)
        asked = Aggregate() if asking is None else asking(rows, found.backend)
        lines = rows.group_by(**asked_of(keys)).aggregate(rows=rows.count(), **asked.sums)
        told = of_step(progress, "counting combinations onto disk")
        if found.backend.name == "duckdb":
            connection = found.backend.con
            limit_memory(connection)
            connection.execute(f"ATTACH '{file}' AS stored")
            try:
                run_statement(connection, f"CREATE TABLE stored.lines AS {found.backend.compile(lines)}", told)
            finally:
                connection.execute("DETACH stored")
        else:
            with duckdb.connect(file) as connection:
                limit_memory(connection)
                connection.register("arriving", stream(found.backend, lines))
                run_statement(connection, "CREATE TABLE lines AS SELECT * FROM arriving", told)
        return _Grouped(keys, found.name, tuple(asked.sums), asked.context)


def _refuse_declared(keys: Sequence[FactorKey]) -> None:
    for key in keys:
        if key.declares:
            raise SettingError(
                f"the bins of {key.name!r} with counts on disk",
                why="there only values that occur are known, and bins declare some that may not",
                instead="write the bin into a column of its own first",
            )


def _encoded(
    connection: Any, found: _Grouped, question: TableQuery, command: str | None, progress: Progress | None
) -> StoredCounts:
    """Number the values of each factor in their order, and write every line by its codes."""
    keys = found.keys
    told = of_step(progress, "numbering the values")
    places = range(len(keys))
    missing = ", ".join(f"coalesce(sum(rows) FILTER (f{k} IS NULL), 0)" for k in places)
    whole = " AND ".join(f"f{k} IS NOT NULL" for k in places)
    rows, kept, *absent = map(
        int,
        connection.execute(
            f"SELECT coalesce(sum(rows), 0), coalesce(sum(rows) FILTER ({whole}), 0), {missing} FROM lines"  # noqa: S608
        ).fetchone(),
    )
    refuse_no_rows(np.array([rows]), found.name, question)
    left_out = {key.name: many for key, many in zip(keys, absent, strict=True) if many}
    if not kept:
        refuse_none_whole(left_out, rows)
    for k in places:
        run_statement(
            connection,
            f"CREATE TABLE values_{k} AS SELECT value, (row_number() OVER (ORDER BY value) - 1)::INTEGER AS code, rows "  # noqa: S608
            f"FROM (SELECT f{k} AS value, sum(rows)::BIGINT AS rows FROM lines WHERE {whole} GROUP BY f{k})",
            told,
        )
    codes = ", ".join(f"v{k}.code AS c{k}" for k in places)
    sums = ", ".join(f"lines.{name}::BIGINT AS {name}" for name in ("rows", *found.sums))
    joins = " ".join(f"JOIN values_{k} AS v{k} ON f{k} = v{k}.value" for k in places)
    run_statement(
        connection,
        f"CREATE TABLE counts AS SELECT {codes}, {sums} FROM lines {joins}",  # noqa: S608
        told,
    )
    connection.execute("DROP TABLE lines")
    [(combinations,)] = connection.execute("SELECT count(*) FROM counts").fetchall()
    return StoredCounts(
        connection,
        keys,
        tuple(_value_counts(connection, k, key.name) for k, key in enumerate(keys)),
        int(combinations),
        rows,
        left_out | ({"(any)": rows - kept} if left_out else {}),
        Provenance(source=found.name, settings=question.settings(), command=command),
        found.context,
    )


def _value_counts(connection: Any, k: int, name: str) -> Numbers:
    found = connection.execute(f"SELECT rows FROM values_{k} ORDER BY code").fetchnumpy()["rows"]  # noqa: S608
    if not 2 <= len(found) <= _MOST_VALUES:
        raise SettingError(
            f"the factor {name!r} has {len(found):,} value{'' if len(found) == 1 else 's'}",
            why="a factor takes part in combinations if it has two values or more, and some numbers are kept for each",
            instead="leave it out, or choose a coarser column",
        )
    return np.asarray(found, dtype=np.float64)
