"""Splitting 10^8 rows of Parquet out of core: `recombine.split` against a bare copy by the engine.

The table is that of `rows.py`: three text factors with 500, 40 and 100 values, mildly skewed, nearly all of their two
million combinations seen. Measured, each in a fresh process, with time and peak memory:

- bare: the one DuckDB `COPY` that any tool must do, the same table to one Parquet file of the same compression;
- recombine: the combinations counted, a fifth of them held out with every value kept in training, every row written
  with its side, in its order, and the manifest beside it.

Afterwards the written table is held to its manifest: rows by side, and the digest of the assignment.

Goals: below 4 GiB; the ratio to the bare copy is told, not promised.
"""
# ruff: noqa: PLC0415 - a process imports only what it measures

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import measure
from rows import FACTORS, write_rows

ROWS = 10**8
GOAL_GIB = 4
ROOM = 60  # bytes of disk for each row: the table twice, and what an engine spills


def bare(glob: str, folder: str) -> Callable[[], int]:
    """The engine alone, in the order of the rows, as we write them."""
    import duckdb

    connection = duckdb.connect(config={"temp_directory": f"{folder}/spill"})
    connection.execute("SELECT 1")
    copy = f"COPY (SELECT * FROM read_parquet('{glob}')) TO '{folder}/bare.parquet' (FORMAT parquet, COMPRESSION zstd)"

    def work() -> int:
        return int(connection.execute(copy).fetchall()[0][0])

    return work


def recombine(glob: str, folder: str) -> Callable[[], int]:
    """Ours."""
    import recombine as library

    splitter = library.HoldOutCombinations(list(FACTORS), test_size=0.2, guarantee="values")
    library.read({"a": ["x", "y"], "b": ["x", "y"]}, factors=["a", "b"])

    def work() -> int:
        made = library.split(glob, by=splitter, out=f"{folder}/split.parquet", force=True)
        return sum(side.rows for side in made.sides)

    return work


def check(folder: str) -> dict[str, int]:
    """Hold the written table to its manifest: counted by the engine, not by us."""
    import duckdb

    from recombine.verbs.split import manifest

    written = manifest.read(f"{folder}/split.split.json")
    counts = f"SELECT split, count(*) FROM '{folder}/split.parquet' GROUP BY split"
    found = dict(duckdb.sql(counts).fetchall())
    promised = {side.name: side.rows for side in written.sides}
    assert found == promised, f"the table holds {found}, the manifest says {promised}"
    assert not manifest.difference(written), manifest.difference(written)
    names = ", ".join(FACTORS)
    sides = f"SELECT {names} FROM '{folder}/split.parquet' GROUP BY {names} HAVING min(split) != max(split)"
    twice = f"SELECT count(*) FROM ({sides})"
    assert duckdb.sql(twice).fetchall() == [(0,)], "a combination is on both sides"
    return found


def main() -> None:
    """Run it."""
    parser = measure.options(__doc__)
    parser.add_argument("--data", type=Path, help="keep the table here (default: a temporary folder)")
    parser.add_argument("--rows", type=int, help="how many rows (default: 10^8, 10^6 with --smoke)")
    given = parser.parse_args()
    rows = given.rows or (10**6 if given.smoke else ROWS)
    with tempfile.TemporaryDirectory(prefix="recombine-split-") as temporary:
        free = shutil.disk_usage(temporary).free
        if free < ROOM * rows:
            raise SystemExit(f"{free / 2**30:.0f} GiB are free in {temporary}, {ROOM * rows / 2**30:.0f} are needed")
        glob = write_rows(given.data or Path(temporary), rows)
        subjects = {subject.__name__: (subject, glob, temporary) for subject in (bare, recombine)}
        found = measure.take_turns(subjects, rounds=1)
        sides = check(temporary)
    assert {one.answer for one in found.values()} == {rows}, "rows were lost"
    print(f"\n{rows:,} rows; " + ", ".join(f"{name} {number:,}" for name, number in sorted(sides.items())))
    header = ["", "seconds", "times bare", "CPU seconds", "times bare", "peak GiB"]
    plain = found["bare"]
    lines = [[n, m.median, m.median / plain.median, m.cpu, m.cpu / plain.cpu, m.peak_gib] for n, m in found.items()]
    measure.table(header, lines)
    ours = found["recombine"]
    print(f"\npeak {ours.peak_gib:.2f} GiB (goal: below {GOAL_GIB})")
    ratios = {"ratio": ours.median / plain.median, "cpu_ratio": ours.cpu / plain.cpu, "peak_gib": ours.peak_gib}
    measure.write("split", given, {name: m.plain() for name, m in found.items()} | ratios | {"sides": sides})


if __name__ == "__main__":
    main()
