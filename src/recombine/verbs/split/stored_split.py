"""Hold out combinations of a table that has more of them than fit in memory: the side is told by a hash.

A combination is held out where a hash of its values and the seed is below the share. So each row tells its own side,
nothing is counted by combination, and the table is written in one stream, its rows in any order. What must stay in
training is looked up beside it: a value all of whose combinations fell below keeps the one with the highest hash. That
takes a line for each *value*, which DuckDB spills where there are many.

It promises what `HoldOutCombinations` does with `guarantee="values"`, by another draw: the two hold out other ones.
"""

from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from recombine.base.decoding import FileName
from recombine.base.errors import BeyondMemory, SettingError
from recombine.base.progress import Progress, of_step
from recombine.base.records import Provenance
from recombine.base.words import amount, count, percent
from recombine.data.engine import OpenTable, in_any_order, limit_memory, run_statement
from recombine.data.group_counts import asked_of, factor_keys
from recombine.data.sources import opened
from recombine.data.table_query import TableQuery
from recombine.verbs.split import destinations
from recombine.verbs.split.invariants import Invariant
from recombine.verbs.split.random_holdout import HoldOutCombinations
from recombine.verbs.split.row_writer import OutgoingRows
from recombine.verbs.split.split_result import KEY, SIDE_COLUMN, SIDES, Split, SplitSide
from recombine.verbs.split.splitter import Splitter

_STEPS = 2**64  # of DuckDB's hash


@dataclass(frozen=True)
class HashedHoldout:
    """What is drawn without a list of combinations, and the file that it is written to."""

    test_size: float
    seed: int
    column: str
    file: Path
    copy_options: str
    progress: Progress | None


def hashed_share(
    splitter: Splitter, query: TableQuery, seen_share: float, file: Path, error: BeyondMemory
) -> tuple[float, int]:
    """The share to hold out and the seed of its draw; what takes a list of the combinations is refused."""
    plain = splitter if isinstance(splitter, HoldOutCombinations) else None
    asked = {
        f"by={type(splitter).__name__}": plain is None,
        f"guarantee={getattr(splitter, 'guarantee', None)!r}": plain is not None and plain.guarantee != "values",
        f"stratify={query.target!r}": query.target is not None,
        "sets": bool(query.sets),
        f"missing={query.missing!r}": query.missing != "leave out",
        f"seen_share={seen_share}": bool(seen_share),
        f"out='{file.name}'": destinations.ending(file) in ("", ".json"),
    }
    refused = [name for name, given in asked.items() if given]
    if plain is None or refused:
        raise SettingError(
            f"{', '.join(refused)} with combinations that are not listed",
            why=f"{error.what}, so they are held out by a hash of their values, and written as one table",
            instead="leave it out, or take a part of the values by `where`, such as hash(user) % 100 = 0",
        ) from error
    return plain.test_size, plain.random_state


def split_by_hash(
    open_table: OpenTable, rows: OutgoingRows, query: TableQuery, asked: HashedHoldout, source: Provenance, why: str
) -> Split:
    """Draw, look for values that training would lose, write, and read again; `why` nothing is listed is told."""
    connection = open_table.backend.con
    in_any_order(open_table.backend)
    keys = factor_keys(rows.table, query, open_table.backend, stand_ins=rows.understood)
    added = {f"{KEY}{name}": key for name, key in asked_of(keys).items()}
    names, threshold = list(added), int(asked.test_size * _STEPS)
    keyed = f"({open_table.backend.compile(rows.table.mutate(**added))})"
    draw, whole = f"hash({asked.seed}, {', '.join(names)})", " AND ".join(f"{name} IS NOT NULL" for name in names)
    lost = " UNION ".join(
        f"SELECT max({draw}) AS draw FROM {keyed} WHERE {whole} GROUP BY {name} HAVING max({draw}) < {threshold}"  # noqa: S608
        for name in names
    )
    told = of_step(asked.progress, "looking at each value")
    kept = run_statement(connection, f"CREATE OR REPLACE TEMP TABLE kept AS {lost}", told)
    test = f"{draw} < {threshold} AND {draw} NOT IN (SELECT draw FROM kept)"  # noqa: S608
    side = f"CASE WHEN NOT ({whole}) THEN NULL WHEN {test} THEN '{SIDES[1]}' ELSE '{SIDES[0]}' END"
    quoted, place = '"' + asked.column.replace('"', '""') + '"', str(asked.file).replace("'", "''")
    chosen = f"SELECT * EXCLUDE ({', '.join([*names, *rows.understood.values()])}), {side} AS {quoted} FROM {keyed}"  # noqa: S608
    told = of_step(asked.progress, "writing rows")
    written = run_statement(connection, f"COPY ({chosen}) TO '{place}' ({asked.copy_options})", told)
    sides = _checked(query, asked)
    stay = f" {amount(kept, 'combination')} stayed in training for a value that no other holds there." if kept else ""
    train, held = sides
    missing = written - train.rows - held.rows
    return Split(
        verdict=f"About {amount(held.combinations, 'combination')} with {amount(held.rows, 'row')} "
        f"({percent(held.rows / (held.rows + train.rows))}) are held out, about {count(train.combinations)} stay in "
        f"training. Kept and checked: values.{stay}",
        grade="sound",
        reasons=(
            f"{why}: they are not listed. A hash of its values tells the side of each, how many there are of a side is "
            "an estimate (2 %), rows come in any order, and none are kept apart as 'seen'.",
            *((f"{amount(missing, 'row')} miss a factor and got no side.",) if missing else ()),
        ),
        splitter=f"HoldOutCombinations(factors={list(query.factors)}, test_size={asked.test_size}) by a hash",
        factors=query.factors,
        column=asked.column,
        file=FileName(asked.file.name),
        sides=sides,
        invariants=(Invariant("values", True, "every value is in training"),),
        rows=written,
        combinations=train.combinations + held.combinations,
        digest="",
        assignment=pa.table({name: pa.array([], pa.string()) for name in (*query.factors, SIDE_COLUMN)}),
        provenance=source,
    )


def _checked(query: TableQuery, asked: HashedHoldout) -> tuple[SplitSide, ...]:
    """What was written, read again by a question that knows nothing of the draw; a broken promise is an error."""
    with opened(str(asked.file)) as made:
        connection = made.backend.con
        limit_memory(connection)
        plain = TableQuery(factors=query.factors, bins=query.bins)
        keys = asked_of(factor_keys(made.table, plain, made.backend))
        keyed = f"({made.backend.compile(made.table.select(**keys, side=made.table[asked.column]))})"
        for name, factor in zip(keys, query.factors, strict=True):
            values = f"SELECT bool_or(side = 'train') AS trained FROM {keyed} WHERE side IS NOT NULL GROUP BY {name}"  # noqa: S608
            [(lost,)] = connection.execute(f"SELECT count(*) FROM ({values}) WHERE NOT trained").fetchall()  # noqa: S608
            if lost:
                raise SettingError(
                    f"{amount(lost, 'value')} of {factor!r} would be missing in training",
                    why="every value should stay there",
                    instead="hold out a smaller share",
                )
        if asked.progress is not None:
            asked.progress("checking what was written", None)
        counted = connection.execute(
            f"SELECT side, count(*), approx_count_distinct(hash({', '.join(keys)})) FROM {keyed} "  # noqa: S608
            "WHERE side IS NOT NULL GROUP BY side"
        ).fetchall()
        sides = {side: SplitSide(side, rows, combinations) for side, rows, combinations in counted}
        if set(sides) != set(SIDES):
            raise SettingError(
                "nothing would be held out" if "train" in sides else "nothing would stay in training",
                why="every combination is needed to keep a value in training",
                instead="hold out another share, or name factors whose values meet more often",
            )
        return tuple(sides[side] for side in SIDES)
