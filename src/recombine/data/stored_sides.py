"""How combinations stand on the sides of a split, where they are too many for memory: DuckDB groups and spills.

One GROUP BY by the factors, in which each side is a sum; what is asked of it is asked there, and numbers come back.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from recombine.base.errors import SettingError
from recombine.base.progress import Progress, of_step
from recombine.data import columns
from recombine.data.columns import Bins
from recombine.data.engine import explained, limit_memory, run_statement
from recombine.data.group_counts import asked_of, factor_keys
from recombine.data.sources import opened
from recombine.data.space import text
from recombine.data.split_sides import SplitColumn, sides_of
from recombine.data.table_query import TableQuery, Where, filtered

APART = "seen"
"""The side of rows of training combinations that are kept apart, to be compared with unseen ones."""


@dataclass(frozen=True)
class RungSums:
    """Tested combinations of one rung (*seen*, *unseen*, *novel*) and sums over them: rows n, right answers r."""

    combinations: int
    rows: int
    right: float
    right_squared: float
    right_rows: float
    rows_squared: float


@dataclass(frozen=True)
class StoredSides:
    """A split by its sides; `leaked` are test combinations that training holds, `lost` test values that it lacks."""

    name: str
    words: Mapping[str, tuple[str, ...]]
    rows: Mapping[str, int]
    combinations: Mapping[str, int]
    rows_in_all: int
    combinations_in_all: int
    leaked: int
    leaked_rows: int
    lost: Mapping[str, int]
    rungs: Mapping[str, RungSums]


def count_stored_sides(
    source: Any,
    *,
    factors: Sequence[str],
    split: SplitColumn,
    answers: tuple[str, str] | None = None,
    where: Where | None = None,
    bins: Mapping[str, Bins] | None = None,
    table: str | None = None,
    progress: Progress | None = None,
) -> StoredSides:
    """Count the sides of a split; `answers` are the columns of the true answer and of the one that was given."""
    query = TableQuery(factors=tuple(factors), where=where, bins=dict(bins or {}), table=table)
    needed = [*query.columns, split.name, *(answers or ())]
    with opened(source, table=table, columns=None if where is not None else needed) as found, explained(found):
        if found.backend.name != "duckdb":
            raise SettingError(
                f"'{found.name}' with counts on disk",
                why=f"its rows are in {found.backend.name}, and sides are counted on disk by DuckDB alone",
                instead="write the table out as Parquet, and give that file",
            )
        rows = filtered(found.table, where, found.backend)
        columns.require(rows, needed, role="asked for")
        asked = asked_of(factor_keys(rows, query, found.backend))
        right = (rows[answers[0]] == rows[answers[1]]).ifelse(1, 0) if answers else rows.count() * 0
        chosen = rows.select(**asked, word=rows[split.name].cast("string"), **({"fair": right} if answers else {}))
        connection = found.backend.con
        limit_memory(connection)
        words = _words(connection, found.backend.compile(chosen), split)
        return _ask(connection, found, chosen, list(asked), (words, query.factors, bool(answers)), progress)


def _words(connection: Any, rows: str, split: SplitColumn) -> dict[str, str]:
    known = [word for (word,) in connection.execute(f"SELECT DISTINCT word FROM ({rows})").fetchall() if word]  # noqa: S608
    option = f"split=SplitColumn({split.name!r}, train=[{{!r}}])"
    found = {text(word): str(side) for word, side in sides_of(split.name, known, **split.words, option=option).items()}
    return found | {word: APART for word in known if word == APART and word not in found}


def _ask(
    connection: Any,
    found: Any,
    chosen: Any,
    keys: list[str],
    told: tuple[dict[str, str], tuple[str, ...], bool],
    progress: Progress | None,
) -> StoredSides:
    words, factors, scored = told
    sides = {side: [word for word, meant in words.items() if meant == side] for side in ("train", "validation", "test")}
    sides[APART] = [word for word, meant in words.items() if meant == APART]
    of = {side: f"word IN ({', '.join(map(_quoted, said)) or 'NULL'})" for side, said in sides.items()}
    sums = ", ".join(f"count(*) FILTER ({condition}) AS {side}" for side, condition in of.items())
    judged = f"{of['test']} OR {of[APART]}"
    right = f"coalesce(sum(fair) FILTER ({judged}), 0)" if scored else "0"
    whole, by = " AND ".join(f"{key} IS NOT NULL" for key in keys), ", ".join(keys)
    run_statement(
        connection,
        f"CREATE OR REPLACE TEMP TABLE by_side AS SELECT {by}, count(*) AS rows, {sums}, "  # noqa: S608
        f"count(*) FILTER ({judged}) AS n, {right} AS r FROM ({found.backend.compile(chosen)}) "
        f"WHERE {whole} GROUP BY {by}",
        of_step(progress, "counting the sides on disk"),
    )
    names = list(sides)
    each = ", ".join(f"sum({side})::BIGINT, count(*) FILTER ({side} > 0)" for side in names)
    first = connection.execute(
        f"SELECT sum(rows)::BIGINT, count(*), count(*) FILTER (test > 0 AND train > 0), "  # noqa: S608
        f"coalesce(sum(test) FILTER (train > 0), 0)::BIGINT, {each} FROM by_side"
    ).fetchone()
    for place, key in enumerate(keys):
        connection.execute(
            f"CREATE OR REPLACE TEMP TABLE trained{place} AS SELECT DISTINCT {key} FROM by_side WHERE train > 0"  # noqa: S608
        )
    lost = {
        factor: connection.execute(
            f"SELECT count(DISTINCT {key}) FROM by_side ANTI JOIN trained{place} USING ({key}) WHERE test > 0"  # noqa: S608
        ).fetchone()[0]
        for place, (factor, key) in enumerate(zip(factors, keys, strict=True))
    }
    joins = " ".join(f"LEFT JOIN trained{k} AS t{k} ON t{k}.{key} = by_side.{key}" for k, key in enumerate(keys))
    novel = " OR ".join(f"t{k}.{key} IS NULL" for k, key in enumerate(keys))
    sums = "count(*), sum(n)::BIGINT, sum(r)::DOUBLE, sum(r * r)::DOUBLE, sum(r * n)::DOUBLE, sum(n * n)::DOUBLE"
    rungs = connection.execute(
        f"SELECT CASE WHEN train > 0 THEN 'seen' WHEN {novel} THEN 'novel' ELSE 'unseen' END AS rung, {sums} "  # noqa: S608
        f"FROM by_side {joins} WHERE n > 0 GROUP BY rung"
    ).fetchall()
    return StoredSides(
        name=found.name,
        words={side: tuple(said) for side, said in sides.items()},
        rows=dict(zip(names, map(_count, first[4::2]), strict=True)),
        combinations=dict(zip(names, map(_count, first[5::2]), strict=True)),
        rows_in_all=_count(first[0]),
        combinations_in_all=_count(first[1]),
        leaked=_count(first[2]),
        leaked_rows=_count(first[3]),
        lost=lost,
        rungs={rung: RungSums(*numbers) for rung, *numbers in rungs},
    )


def _count(number: int | None) -> int:
    return int(number or 0)


def _quoted(word: str) -> str:
    return "'" + word.replace("'", "''") + "'"
