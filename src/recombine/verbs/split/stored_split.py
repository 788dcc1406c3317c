"""Hold out combinations of a table that has more of them than fit in memory: the side is told by a hash.

A combination is held out where a hash of its values and the seed is below the share. So each row tells its own side,
nothing is counted by combination, and the table is written in one stream. What must stay in training is looked up
beside it: a value all of whose combinations fell below keeps the one with the highest hash. That takes a line for each
*value*, which DuckDB spills where there are many.

It promises what `HoldOutCombinations` does with `guarantee="values"`, by another draw: the two hold out other ones.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from recombine.base.checks import check_number
from recombine.base.errors import OutputError, SettingError
from recombine.base.files import place_of, recover, staged
from recombine.base.progress import Progress, of_step
from recombine.base.words import amount, count, percent
from recombine.data.columns import Bins
from recombine.data.engine import explained, limit_memory, run_statement, sniffing_again
from recombine.data.group_counts import asked_of, factor_keys
from recombine.data.sources import opened
from recombine.data.table_query import TableQuery, Where
from recombine.verbs.split import destinations
from recombine.verbs.split.row_writer import open_locally, rows_to_write
from recombine.verbs.split.split_result import KEY, SIDES, SplitSide

_STEPS = 2**64  # of DuckDB's hash


@dataclass(frozen=True)
class StoredSplit:
    """A split that was written without listing its combinations; how many there are on a side is an estimate (2 %).

    `kept` counts the combinations that stayed in training because they alone held a value there.

    >>> import tempfile, recombine
    >>> table = {"a": [0, 0, 1, 1, 2, 2], "b": ["x", "y", "x", "y", "x", "y"]}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = recombine.split_stored(table, factors=["a", "b"], out=f"{folder}/held.parquet", test_size=0.9)
    >>> sum(side.rows for side in made.sides), made.kept > 0
    (6, True)
    """

    verdict: str
    column: str
    file: str
    sides: tuple[SplitSide, ...]
    kept: int


def split_stored(  # noqa: PLR0913 - the options of `split`
    source: Any,
    *,
    factors: Sequence[str],
    out: str | Path,
    test_size: float = 0.2,
    column: str = "split",
    seed: int = 0,
    where: Where | None = None,
    bins: Mapping[str, Bins] | None = None,
    table: str | None = None,
    force: bool = False,
    progress: Progress | None = None,
) -> StoredSplit:
    """Write the table with a column that tells the side: any number of combinations, in memory for some of its values.

    `test_size` is the share of combinations that are drawn; those that keep a value in training are fewer. A row that
    misses a factor gets no side. The options are those of `recombine.split`; no rows are kept apart as *seen*.
    """
    check_number(
        "test_size",
        test_size,
        above=0,
        below=1,
        why="it is a share of the combinations, and both sides need some",
        instead="write a number between 0 and 1, such as test_size=0.2",
    )
    path, query = (
        place_of(Path(out).expanduser()),
        TableQuery(factors=tuple(factors), where=where, bins=dict(bins or {})),
    )
    if not destinations.ending(path) or destinations.ending(path) == ".json":
        raise SettingError(
            f"out='{path}'",
            why="a split that is not listed is written as one table",
            instead="write a name that ends in .parquet or .csv",
        )
    options, note = destinations.options_for(path, column), destinations.place_beside(path)
    recover(path)

    def check() -> None:
        destinations.check_free(path, source, note, force=force)

    def write_table(sniff_all: bool) -> StoredSplit:
        with staged(path, force=force, check=check) as new:
            place = new / path.name
            with open_locally(source, query, table, place, sniff_all=sniff_all) as found, explained(found):
                kept = _write(found, query, place, (column, options), (test_size, seed), progress)
            sides = _checked(place, query, column, progress)
        return StoredSplit(_verdict(sides, kept), column, path.name, sides, kept)

    return sniffing_again(write_table)


def _write(
    found: Any,
    query: TableQuery,
    place: Path,
    written: tuple[str, str],
    drawn: tuple[float, int],
    progress: Progress | None,
) -> int:
    """Draw, look for values that training would lose, and write; answers with how many combinations were kept."""
    (column, options), (test_size, seed) = written, drawn
    connection = found.backend.con
    limit_memory(connection)
    rows = rows_to_write(found, query, place, [column])
    keys = factor_keys(rows.table, query, found.backend, stand_ins=rows.understood)
    added = {f"{KEY}{name}": asked for name, asked in asked_of(keys).items()}
    names, threshold = list(added), int(test_size * _STEPS)
    keyed = f"({found.backend.compile(rows.table.mutate(**added))})"
    draw, whole = f"hash({seed}, {', '.join(names)})", " AND ".join(f"{name} IS NOT NULL" for name in names)
    lost = " UNION ".join(
        f"SELECT max({draw}) AS draw FROM {keyed} WHERE {whole} GROUP BY {name} HAVING max({draw}) < {threshold}"  # noqa: S608
        for name in names
    )
    kept = run_statement(
        connection, f"CREATE OR REPLACE TEMP TABLE kept AS {lost}", of_step(progress, "looking at each value")
    )
    unwritten = ", ".join([*names, *rows.understood.values()])
    test = f"{draw} < {threshold} AND kept.draw IS NULL"
    side = f"CASE WHEN NOT ({whole}) THEN NULL WHEN {test} THEN 'test' ELSE 'train' END"
    quoted, target = '"' + column.replace('"', '""') + '"', str(place).replace("'", "''")
    joined = f"{keyed} AS source LEFT JOIN kept ON kept.draw = {draw}"
    connection.execute("SET preserve_insertion_order = true")
    connection.execute("SET disabled_optimizers = 'join_order,build_side_probe_side'")
    query_ = f"COPY (SELECT source.* EXCLUDE ({unwritten}), {side} AS {quoted} FROM {joined}) TO '{target}' ({options})"  # noqa: S608
    try:
        run_statement(connection, query_, of_step(progress, "writing rows"))
    except (duckdb.OutOfMemoryException, duckdb.IOException) as error:
        raise OutputError(
            f"cannot write '{place.name}'", why=str(error).splitlines()[0], instead="name a place with more room"
        ) from error
    return kept


def _checked(place: Path, query: TableQuery, column: str, progress: Progress | None) -> tuple[SplitSide, ...]:
    """What was written, read again by a question that knows nothing of the draw; a broken promise is an error."""
    with opened(str(place)) as made:
        connection = made.backend.con
        limit_memory(connection)
        plain = TableQuery(factors=query.factors, bins=query.bins)
        asked = asked_of(factor_keys(made.table, plain, made.backend))
        keyed = f"({made.backend.compile(made.table.select(**asked, side=made.table[column]))})"
        for name, factor in zip(asked, query.factors, strict=True):
            values = f"SELECT bool_or(side = 'train') AS trained FROM {keyed} WHERE side IS NOT NULL GROUP BY {name}"  # noqa: S608
            [(lost,)] = connection.execute(f"SELECT count(*) FROM ({values}) WHERE NOT trained").fetchall()  # noqa: S608
            if lost:
                raise SettingError(
                    f"{amount(lost, 'value')} of {factor!r} would be missing in training",
                    why="every value should stay there",
                    instead="hold out a smaller share",
                )
        if progress is not None:
            progress("checking what was written", None)
        counted = connection.execute(
            f"SELECT side, count(*), approx_count_distinct(hash({', '.join(asked)})) FROM {keyed} "  # noqa: S608
            "WHERE side IS NOT NULL GROUP BY side ORDER BY side DESC"
        ).fetchall()
        sides = {side: SplitSide(side, rows, combinations) for side, rows, combinations in counted}
        if set(sides) != set(SIDES):
            raise SettingError(
                "nothing would be held out" if "train" in sides else "nothing would stay in training",
                why="every combination is needed to keep a value in training",
                instead="hold out another share, or name factors whose values meet more often",
            )
        return tuple(sides[side] for side in SIDES)


def _verdict(sides: Sequence[SplitSide], kept: int) -> str:
    train, test = sides
    stay = f" {amount(kept, 'combination')} stayed in training for a value that no other holds there." if kept else ""
    return (
        f"About {amount(test.combinations, 'combination')} with {amount(test.rows, 'row')} "
        f"({percent(test.rows / (test.rows + train.rows))}) are held out, about {count(train.combinations)} stay in "
        f"training. Kept and checked: values.{stay}"
    )
