"""What a verb would ask of an engine, before it is asked: the statement, what it reads, and what comes back.

Nothing is scanned but what asking takes anyway: the columns' types, and the first rows where a type alone does not
tell how a column is read. Bytes are told where the table's own metadata has them, which is Parquet's.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import ibis

from recombine.data import columns
from recombine.data.engine import OpenTable, explained
from recombine.data.group_counts import asked_of, factor_keys
from recombine.data.locations import suffix_of
from recombine.data.read import aggregate_of
from recombine.data.sources import opened
from recombine.data.table_query import TableQuery, filtered

_BYTES_A_NUMBER = 8


@dataclass(frozen=True)
class QueryPreview:
    """The one GROUP BY as the engine would get it. None where the engine does not tell without looking.

    `lines` is the engine's own estimate of how many come back, `answer_bytes` what they take at eight bytes a column.
    """

    engine: str
    sql: str
    rows: int | None
    scanned_bytes: int | None
    lines: int | None
    answer_bytes: int | None


def dry_run(source: Any, question: TableQuery, *, by: Sequence[str] = ()) -> QueryPreview:
    """The question that reading a table asks, and what is known of its cost; `by` are columns counted beside factors.

    >>> table = {"a": ["x", "x", "y"], "b": ["p", "q", "p"]}
    >>> print(dry_run(table, TableQuery(factors=("a", "b"))).sql.splitlines()[-3].strip())
    GROUP BY
    """
    wanted = None if question.where is not None else list(question.columns) + list(by)
    wanted = wanted if wanted is None or question.target is None else [*wanted, question.target]
    with opened(source, table=question.table, columns=wanted) as found, explained(found):
        table = filtered(found.table, question.where, found.backend)
        columns.require(table, [*question.columns, *by], role="to count by")
        asked = aggregate_of(table, question, found.backend)
        keys = asked_of(factor_keys(table, question, found.backend)) | {name: table[name] for name in by}
        counted = table.group_by(**keys, **asked.by).aggregate(rows=table.count(), **asked.sums)
        sql = str(ibis.to_sql(counted, dialect=found.backend.name))
        if found.backend.name == "duckdb" and suffix_of(found.name):  # a file, which has a name of Ibis's own there
            sql = sql.replace(f'"{found.table.get_name()}"', "'" + found.name.replace("'", "''") + "'")
        rows, scanned = _parquet_facts(found, wanted)
        lines = _estimated_lines(found.backend, counted)
        width = len(counted.columns) * _BYTES_A_NUMBER
        return QueryPreview(found.backend.name, sql, rows, scanned, lines, None if lines is None else lines * width)


def _parquet_facts(found: OpenTable, wanted: Sequence[str] | None) -> tuple[int | None, int | None]:
    """How many rows a Parquet table has, and how many bytes the columns that are asked for take in it."""
    if found.backend.name != "duckdb" or suffix_of(found.name) not in (".parquet", ".pq"):
        return None, None
    held = list(found.table.columns) if wanted is None else list(dict.fromkeys(wanted))
    ask = found.backend.con.execute
    [(rows,)] = ask("SELECT sum(num_rows)::BIGINT FROM parquet_file_metadata(?)", [found.name]).fetchall()
    [(scanned,)] = ask(
        "SELECT sum(total_compressed_size)::BIGINT FROM parquet_metadata(?) "
        "WHERE list_contains(?, split_part(path_in_schema, ', ', 1))",
        [found.name, held],
    ).fetchall()
    return rows, scanned


def _estimated_lines(backend: Any, counted: Any) -> int | None:
    """How many lines DuckDB's planner expects; other engines are not asked."""
    if backend.name != "duckdb":
        return None
    [(_, told)] = backend.con.execute(f"EXPLAIN (FORMAT json) {backend.compile(counted)}").fetchall()
    steps = json.loads(told)
    while steps:
        step = steps.pop(0)
        if "GROUP_BY" in step.get("name", ""):
            return int(step["extra_info"]["Estimated Cardinality"])
        steps += step.get("children", [])
    return None
