"""Whole verbs beside the bare engine: audit, plan, split, lint, predict, evaluate and diff, from 10^3 to 10^8 rows.

The table has two text factors, a side, a label and a prediction. Its combinations are few (10^2) or as many as its rows
(up to 10^7), and have 0.3 values of each factor a combination, 10 at least and 10^6 at most: the hard case, of values
that meet three others each. Each subject runs in a fresh process whose libraries are loaded; seconds, processor seconds
and peak memory are of the verb alone, from the file to the result. Beside it the engine does the same counting:

- audit, plan: `GROUP BY` the factors; predict, evaluate: and the label, and the prediction;
- lint of a random fold: the factors and the fold, and all columns, to see which rows stand on both sides;
- split: `COPY` of the whole table, in its order, with the same compression;
- diff of two audits: the counts of both tables, joined.

Where the time goes: a second thread looks a hundred times a second at which file of recombine the verb is in.
Ratios are of processor seconds, which other people's load hardly moves. `--rows 1e8` is for a quiet machine;
what takes more than `--limit` seconds of processor time is stopped, and said.
"""
# ruff: noqa: PLC0415 - a process imports only what it measures

import os
import resource
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread, get_ident
from typing import Any

import numpy as np

import measure
from recombine.base.errors import RecombineError

FACTORS = ["material", "garment"]
FEW = 100
MOST_COMBINATIONS = 10**7
MOST_VALUES = 10**6
FULL = (10**3, 10**5, 10**6, 10**7)
SMOKE = (10**3,)
GOALS = {"audit": (1.5, 1.0), "lint": (2.0, 0.0), "split": (1.3, 0.0), "evaluate": (2.0, 0.0)}
"""At most so many times the bare engine's processor seconds, and so many seconds more."""


@dataclass(frozen=True)
class Table:
    """One of the tables: where it lies, how it was made, and a folder for what is written."""

    file: str
    rows: int
    combinations: int
    folder: str

    @property
    def values(self) -> int:
        """How many values each factor has at most."""
        return min(max(10, self.combinations * 3 // 10), MOST_VALUES)


def write_table(folder: Path, rows: int, combinations: int) -> Table:
    """Write it once; `hash` instead of random numbers gives the same table every time."""
    import duckdb

    made = Table(str(folder / f"{rows}-{combinations}.parquet"), rows, combinations, str(folder))
    if not Path(made.file).exists():
        number = f"(row % {combinations})"
        columns = (
            f"'material ' || hash(2 * {number}) % {made.values} AS material, "
            f"'garment ' || hash(2 * {number} + 1) % {made.values} AS garment, "
            f"CASE WHEN hash(3 * {number}) % 5 = 0 THEN 'test' ELSE 'train' END AS side, "
            f"(hash({number}, 1) + hash(row) % 2) % 3 AS label, (hash({number}, 1) + hash(row, 2) % 2) % 3 AS said, "
            f"CASE WHEN hash(row, 3) % 5 = 0 THEN 'test' ELSE 'train' END AS fold, "
            f"(hash(row, 4) % {10**9})::INT AS price"
        )
        duckdb.sql(f"COPY (SELECT {columns} FROM range({rows}) AS made(row)) TO '{made.file}'")
    return made


# What is done


def audit(table: Table) -> Any:
    """The data alone."""
    import recombine

    return recombine.audit(table.file, factors=FACTORS)


def plan(table: Table) -> Any:
    """What to collect next."""
    import recombine

    return recombine.plan(table.file, factors=FACTORS)


def split(table: Table) -> Any:
    """A fifth of the combinations held out, and every row written."""
    import recombine

    by = recombine.HoldOutCombinations(FACTORS, test_size=0.2, guarantee="values")
    return recombine.split(table.file, by=by, out=f"{table.folder}/split.parquet", force=True)


def lint(table: Table) -> Any:
    """Is the split honest?"""
    import recombine

    return recombine.lint(table.file, factors=FACTORS, split="fold", expect="rows")


def predict(table: Table) -> Any:
    """A forecast for what was not seen."""
    import recombine

    return recombine.predict(table.file, factors=FACTORS, target="label")


def evaluate(table: Table) -> Any:
    """How answers fared."""
    import recombine

    return recombine.evaluate(table.file, factors=FACTORS, target="label", prediction="said", split="side")


VERBS: dict[str, Callable[[Table], Any]] = {one.__name__: one for one in (audit, plan, split, lint, predict, evaluate)}
KEYS = {
    "audit": "material, garment",
    "plan": "material, garment",
    "lint": "material, garment, fold",
    "predict": "material, garment, label",
    "evaluate": "material, garment, side, label, said",
}


def ours(verb: str, table: Table, limit: int) -> Callable[[], dict[str, float]]:
    """A whole verb; its answer is where the time went."""
    import scipy.sparse.csgraph
    import scipy.sparse.linalg  # noqa: F401 - loaded beforehand

    import recombine

    tiny = recombine.audit({"a": ["x", "x", "y"] * 4, "b": ["x", "y", "y"] * 4}, factors=["a", "b"])
    if verb == "diff":
        recombine.diff(tiny, tiny)
        some = "hash(material) % 2 = 0 OR hash(garment) % 2 = 0"
        old, new = (recombine.audit(table.file, factors=FACTORS, where=where) for where in (None, some))
    _stop_after(limit)

    def work() -> dict[str, float]:
        with where_time_goes() as spent:
            if verb == "diff":
                recombine.diff(old, new)
            else:
                VERBS[verb](table)
        return dict(sorted(spent.items(), key=lambda one: -one[1])[:4])

    return work


def bare(verb: str, table: Table, limit: int) -> Callable[[], dict[str, float]]:
    """The engine alone."""
    import duckdb

    connection = duckdb.connect(config={"temp_directory": f"{table.folder}/spill"})
    connection.sql("SELECT 1 AS n").to_arrow_table()
    read = f"read_parquet('{table.file}')"
    if verb == "split":
        query = f"COPY (SELECT * FROM {read}) TO '{table.folder}/bare.parquet' (FORMAT parquet, COMPRESSION zstd)"
    elif verb == "diff":
        counted = f"(SELECT material, garment, count(*) AS n FROM {read} GROUP BY ALL)"
        query = f"SELECT * FROM {counted} AS old FULL JOIN {counted} AS new USING (material, garment)"
    else:
        query = f"SELECT {KEYS[verb]}, count(*) AS n FROM {read} GROUP BY {KEYS[verb]}"
    columns = "material, garment, side, label, said, price"
    rows = f"SELECT bool_or(fold = 'train') AS a, bool_or(fold = 'test') AS b FROM {read} GROUP BY {columns}"
    twins = f"SELECT sum(a::INT), sum(b::INT), sum((a AND b)::INT) FROM ({rows})"
    _stop_after(limit)

    def work() -> dict[str, float]:
        if verb == "split":
            connection.execute(query)
        else:
            connection.sql(query).to_arrow_table()
        if verb == "lint":
            connection.sql(twins).fetchall()
        return {}

    return work


def check_split(table: Table) -> None:
    """Hold the written table to its manifest: counted by the engine, not by us."""
    import duckdb

    from recombine.verbs.split import manifest

    written = manifest.read(f"{table.folder}/split.split.json")
    out = f"'{table.folder}/split.parquet'"
    found = dict(duckdb.sql(f"SELECT split, count(*) FROM {out} GROUP BY split").fetchall())
    promised = {side.name: side.rows for side in written.sides}
    assert found == promised, f"the table holds {found}, the manifest says {promised}"
    assert sum(found.values()) == table.rows, "rows were lost"
    kept = f"{out} WHERE split IN ('train', 'test')"
    both = f"SELECT material FROM {kept} GROUP BY material, garment HAVING min(split) != max(split)"
    assert not duckdb.sql(both).fetchall(), "a combination is on both sides"


def _stop_after(seconds: int) -> None:
    used = resource.getrusage(resource.RUSAGE_SELF)
    limit = int(used.ru_utime + used.ru_stime) + seconds
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))


# Where the time goes


@contextmanager
def where_time_goes() -> Iterator[dict[str, float]]:
    """The share of the seconds that the calling thread spends in each file of recombine, all that it calls included.

    The innermost file of ours counts. A look that comes late, because NumPy held the lock, counts for as long.
    """
    spent: dict[str, float] = defaultdict(float)
    ended, working = Event(), get_ident()

    def watch() -> None:
        before = time.perf_counter()
        while not ended.wait(0.01):
            frame, now = sys._current_frames().get(working), time.perf_counter()
            while frame is not None and "/recombine/" not in frame.f_code.co_filename:
                frame = frame.f_back
            if frame is not None:
                spent[Path(frame.f_code.co_filename).stem] += now - before
            before = now

    watcher = Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield spent
    finally:
        ended.set()
        watcher.join()
        whole = sum(spent.values())
        for name in spent:
            spent[name] /= whole


# The table of figures


def measured(verb: str, table: Table, *, rounds: int, limit: int) -> dict[str, Any]:
    """One line: ours beside the bare engine's."""
    line: dict[str, Any] = {"verb": verb, "rows": table.rows, "combinations": table.combinations}
    try:
        found = measure.take_turns(
            {"ours": (ours, verb, table, limit), "bare": (bare, verb, table, limit)}, rounds=rounds
        )
    except BrokenProcessPool:
        return line | {"stopped": f"more than {limit} s of processor time, or of the memory"}
    except RecombineError as error:  # a refusal is an answer
        return line | {"stopped": str(error).splitlines()[0]}
    if verb == "split":
        check_split(table)
    mine, theirs = found["ours"], found["bare"]
    times, more = GOALS.get(verb, (None, 0.0))
    return line | {
        "seconds": mine.median,
        "bare_seconds": theirs.median,
        "cpu": mine.cpu,
        "bare_cpu": theirs.cpu,
        "ratio": mine.cpu / theirs.cpu,
        "peak_gib": mine.peak_gib,
        "bare_peak_gib": theirs.peak_gib,
        "goal_cpu": None if times is None else times * theirs.cpu + more,
        "where": mine.answer,
    }


def show(lines: list[dict[str, Any]]) -> None:
    """Print the figures."""
    rows = []
    for line in lines:
        start = [line["verb"], line["rows"], line["combinations"]]
        if "stopped" in line:
            rows.append([*start, *["-"] * 7, line["stopped"]])
            continue
        goal = "-" if line["goal_cpu"] is None else float(line["goal_cpu"])
        where = ", ".join(f"{name} {share:.0%}" for name, share in list(line["where"].items())[:3])
        names = ("seconds", "cpu", "bare_cpu", "ratio")
        rows.append([*start, *(line[name] for name in names), goal, line["peak_gib"], line["bare_peak_gib"], where])
    header = ["verb", "rows", "combinations", "seconds", "CPU", "bare CPU", "ratio", "goal CPU", "peak GiB", "bare GiB"]
    measure.table([*header, "where the time goes"], rows)


def exponents(lines: list[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """How processor seconds grow: with rows at few combinations, and with both where every row is a combination.

    Over the largest two sizes of each, since a first second is the same whatever the size.
    """
    found: dict[str, dict[str, float]] = {}
    for verb in dict.fromkeys(line["verb"] for line in lines):
        mine = [line for line in lines if line["verb"] == verb and "cpu" in line]
        for name, some in (
            ("rows", [line for line in mine if line["combinations"] == FEW]),
            ("combinations", [line for line in mine if line["combinations"] == line["rows"]]),
        ):
            last = sorted(some, key=lambda line: int(line["rows"]))[-2:]
            if len(last) == 2:
                rise = np.log(last[1]["cpu"] / last[0]["cpu"]) / np.log(last[1]["rows"] / last[0]["rows"])
                found.setdefault(verb, {})[name] = round(float(rise), 2)
    return found


def main() -> None:
    """Run it."""
    parser = measure.options(__doc__)
    parser.add_argument("--data", type=Path, help="keep the tables here (default: a temporary folder)")
    parser.add_argument("--rows", help="sizes, such as 1e6,1e8 (default: 10^3, 10^5, 10^6, 10^7)")
    parser.add_argument("--verbs", default=",".join([*VERBS, "diff"]), help="some of the verbs, by commas")
    parser.add_argument("--combinations", choices=["few", "many", "both"], default="both", help="which tables")
    parser.add_argument("--limit", type=int, default=300, help="processor seconds after which a verb is stopped")
    parser.add_argument("--rounds", type=int, default=1, help="how often each is measured")
    given = parser.parse_args()
    sizes = [int(float(size)) for size in given.rows.split(",")] if given.rows else list(SMOKE if given.smoke else FULL)
    lines = []
    with tempfile.TemporaryDirectory(prefix="recombine-whole-") as temporary:
        folder = given.data or Path(temporary)
        for rows in sizes:
            both = {"few": FEW} if given.smoke else {"few": FEW, "many": min(rows, MOST_COMBINATIONS)}
            for kind, combinations in both.items():
                if given.combinations in (kind, "both"):
                    table = write_table(folder, rows, combinations)
                    for verb in given.verbs.split(","):
                        lines.append(measured(verb, table, rounds=given.rounds, limit=given.limit))
                        show(lines[-1:])
                        found = {"lines": lines, "exponents": exponents(lines)}
                        measure.write("whole_verbs", given, found)  # a run that is stopped keeps what it has
    print(f"\nprocessor seconds, {os.cpu_count()} cores, median of {given.rounds}")
    show(lines)
    steep = exponents(lines)
    for verb, slopes in steep.items():
        told = ", ".join(f"{slope:.2f} with the {name}" for name, slope in slopes.items())
        print(f"{verb} grows as the power {told}")


if __name__ == "__main__":
    main()
