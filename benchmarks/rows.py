"""Reading 10^8 rows of Parquet: `recombine.read` against the bare engine, and against pandas.

Three text factors with 500, 40 and 100 values, mildly skewed. Measured, each in a fresh process, with time
and peak memory:

- bare: the one DuckDB `GROUP BY` that any tool must do, its answer fetched to Arrow;
- recombine: `recombine.read` of the same files;
- pandas: `read_parquet` and `groupby(...).size()`, on a tenth of the rows only, because it holds all rows in
  memory. All three are measured at that size too.

Libraries are loaded beforehand (a first question about two rows): `startup.py` measures what that costs.

Goals: recombine takes at most 1.2 times the bare engine's time, and stays below 4 GiB.
"""
# ruff: noqa: PLC0415 - a process imports only what it measures

import tempfile
from collections.abc import Callable
from pathlib import Path

import measure

FACTORS = {"material": 500, "garment": 40, "colour": 100}
ROWS = 10**8
FILES = 8
GOAL_RATIO = 1.2
GOAL_GIB = 4


def write_rows(folder: Path, rows: int) -> str:
    """Write the table once, as several Parquet files; answer with the glob that reads them."""
    import duckdb

    target = folder / f"rows-{rows}"
    if not target.exists():
        unfinished = folder / f"rows-{rows}.unfinished"
        unfinished.mkdir(parents=True, exist_ok=True)
        # hash() instead of random(): the same table every time, whatever the number of threads
        chance = [f"power(hash({len(FACTORS)} * row + {place}) / {2.0**64}, 2)" for place in range(len(FACTORS))]
        values = ", ".join(
            f"format('{name} {{:04d}}', floor({size} * {chance[place]})::INT) AS {name}"
            for place, (name, size) in enumerate(FACTORS.items())
        )
        each = -(-rows // FILES)
        for number in range(FILES):
            start, end = number * each, min((number + 1) * each, rows)
            table = f"SELECT {values} FROM range({start}, {end}) AS made(row)"
            duckdb.sql(f"COPY ({table}) TO '{unfinished}/{number}.parquet'")
        unfinished.rename(target)
    return str(target / "*.parquet")


def bare(glob: str) -> Callable[[], tuple[int, int]]:
    """The engine alone."""
    import duckdb

    names = ", ".join(FACTORS)
    connection = duckdb.connect()

    def ask(query: str) -> tuple[int, int]:
        counted = connection.sql(query).to_arrow_table()
        return counted.num_rows, int(counted["n"].to_numpy().sum())

    ask("SELECT 1 AS n")
    return lambda: ask(f"SELECT {names}, count(*) AS n FROM read_parquet('{glob}') GROUP BY {names}")


def recombine(glob: str) -> Callable[[], tuple[int, int]]:
    """Ours."""
    from recombine import read

    read({"a": ["x", "y"], "b": ["x", "y"]}, factors=["a", "b"])

    def work() -> tuple[int, int]:
        support = read(glob, factors=list(FACTORS))
        return len(support), int(support.total)

    return work


def pandas(glob: str) -> Callable[[], tuple[int, int]]:
    """What many would write."""
    from pandas import read_parquet

    def work() -> tuple[int, int]:
        counted = read_parquet(str(Path(glob).parent), columns=list(FACTORS)).groupby(list(FACTORS)).size()
        return len(counted), int(counted.sum())

    return work


def compare(glob: str, subjects: list[measure.Prepare], *, rounds: int) -> dict[str, measure.Measured]:
    """Time the subjects on one table, check that they agree, and print."""
    found = measure.take_turns({subject.__name__: (subject, glob) for subject in subjects}, rounds=rounds)
    answers = {tuple(one.answer) for one in found.values()}
    assert len(answers) == 1, f"the subjects disagree: {answers}"
    combinations, rows = answers.pop()
    print(f"\n{rows:,} rows, {combinations:,} combinations, median of {rounds}")
    measure.table(
        ["", "seconds", "times bare", "CPU seconds", "times bare", "peak GiB"],
        [
            [name, m.median, m.median / found["bare"].median, m.cpu, m.cpu / found["bare"].cpu, m.peak_gib]
            for name, m in found.items()
        ],
    )
    return found


def main() -> None:
    """Run it."""
    parser = measure.options(__doc__)
    parser.add_argument("--data", type=Path, help="keep the tables here (default: a temporary folder)")
    given = parser.parse_args()
    rows, rounds = (10**6, 1) if given.smoke else (ROWS, 5)
    with tempfile.TemporaryDirectory(prefix="recombine-rows-") as temporary:
        folder = given.data or Path(temporary)
        whole = compare(write_rows(folder, rows), [bare, recombine], rounds=rounds)
        tenth = compare(write_rows(folder, rows // 10), [bare, recombine, pandas], rounds=rounds)
    ours, theirs = whole["recombine"], whole["bare"]
    ratio, cpu_ratio, peak = ours.median / theirs.median, ours.cpu / theirs.cpu, ours.peak_gib
    print(f"\nread / bare {ratio:.2f}, in CPU time {cpu_ratio:.2f} (goal: at most {GOAL_RATIO})")
    print(f"peak {peak:.2f} GiB (goal: below {GOAL_GIB})")
    sizes = {rows: whole, rows // 10: tenth}
    figures = {size: {name: m.plain() for name, m in found.items()} for size, found in sizes.items()}
    measure.write("rows", given, figures | {"ratio": ratio, "cpu_ratio": cpu_ratio, "peak_gib": peak})


if __name__ == "__main__":
    main()
