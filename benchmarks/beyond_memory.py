"""More distinct combinations than fit in memory: audit and split to their end under a limit, and the same numbers.

    python benchmarks/beyond_memory.py                       # 10^6 against memory, then 3 x 10^7 under 6 GiB
    python benchmarks/beyond_memory.py --pairs 300000000     # an hour on two busy cores, and 25 GB of disk
    python benchmarks/beyond_memory.py --smoke

Every pair of 10^7 x 10^7 values (fewer for fewer pairs, so that each value has some thirty partners) has a row, one in
ten has two. The commands run as a user's do, in a process of their own whose addresses are limited by `ulimit -v`; the
peak is what the system counted as resident.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import duckdb

from measure import options, table, write

_LIMIT_KIB = 6 * 2**20
_PARTNERS = 30
_SAME = ("counts", "rank", "island_count", "coverage", "factors", "islands", "thin", "dependence")


def make(path: Path, pairs: int) -> None:
    """A Parquet file of so many distinct pairs, in no order that would help a GROUP BY."""
    values = max(pairs // _PARTNERS, 10)
    with duckdb.connect() as connection:
        connection.execute("SET memory_limit = '1GB'; SET preserve_insertion_order = false")
        connection.execute(
            "COPY (SELECT a, (hash(a) % $values + j * 7919) % $values AS b FROM (SELECT (i * 6700417) % $values AS a, "
            "(i // $values) % $partners AS j FROM (SELECT range AS i FROM range($rows)))) TO $path (FORMAT parquet)",
            {"values": values, "partners": _PARTNERS, "rows": pairs * 11 // 10, "path": str(path)},
        )


def limited(words: list[str], kib: int = _LIMIT_KIB) -> dict[str, Any]:
    """A command under a limit of addresses: how it ended, how long it took, and its peak."""
    began = time.monotonic()
    process = subprocess.Popen(
        ["bash", "-c", f'ulimit -v {kib}; exec "$@"', "bash", sys.executable, "-m", "recombine", *words],
        stdout=subprocess.DEVNULL,
    )
    _, status, used = os.wait4(process.pid, 0)
    return {
        "code": os.waitstatus_to_exitcode(status),
        "seconds": time.monotonic() - began,
        "cpu": used.ru_utime + used.ru_stime,
        "peak_gib": used.ru_maxrss / 2**20,
    }


def equal_numbers(path: Path) -> dict[str, bool]:
    """Each number of an audit on disk beside the one in memory."""
    import recombine  # noqa: PLC0415 - what is measured above loads it for itself
    from recombine.base.records import plain  # noqa: PLC0415

    bins = dict.fromkeys("ab", "values")
    memory = recombine.audit(path, factors=["a", "b"], bins=bins)
    with recombine.store_counts(path, factors=["a", "b"], bins=bins) as counts:
        stored = recombine.audit_stored(counts)
    return {name: _alike(plain(getattr(stored, name)), plain(getattr(memory, name))) for name in _SAME}


def _alike(one: Any, other: Any) -> bool:
    """Equal, but for the last digits of sums that were added in another order."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_alike(one[name], other[name]) for name in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(_alike, one, other))
    return abs(one - other) <= 1e-9 * abs(other) if isinstance(one, float) else one == other


def main() -> None:
    """Compare at a million, then run at the size that was asked for."""
    parser = options(__doc__)
    parser.add_argument("--pairs", type=int, default=30_000_000)
    parser.add_argument("--compared", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path, default=None, help="where there is room: 25 GB for 3 x 10^8")
    given = parser.parse_args()
    pairs, compared = (30_000, 3_000) if given.smoke else (given.pairs, given.compared)
    with tempfile.TemporaryDirectory(dir=given.folder, prefix="beyond-memory-") as folder:
        os.environ["TMPDIR"] = folder
        tempfile.tempdir = None
        found: dict[str, Any] = {}
        if compared:
            small = Path(folder) / "compared.parquet"
            make(small, compared)
            found["equal"] = equal_numbers(small)
            print(json.dumps(found["equal"]))
            assert all(found["equal"].values())
        if pairs:
            large = Path(folder) / "large.parquet"
            make(large, pairs)
            found["runs"] = _commands(large, Path(folder), pairs, smoke=given.smoke)
    write("beyond_memory", given, found)


def _commands(path: Path, folder: Path, pairs: int, *, smoke: bool) -> dict[str, Any]:
    read = [str(path), "--factors", "a,b", "--bins", "a=values", "--bins", "b=values"]
    # the smallest table fits in any memory: there the limit is only there to be kept
    audit = ["audit", *read, "--json", "--out", str(folder / "audit")]
    split = ["split", *read, "--out", str(folder / "held.parquet")]
    runs = {}
    for name, words in (("audit", audit), ("split", split)):
        runs[name] = limited(words)
        left = [one.name for one in folder.iterdir() if one.name.startswith("recombine-")]
        assert not left, f"left behind: {left}"
        print(name, json.dumps(runs[name]), flush=True)
        assert runs[name]["code"] == 0, name
    if not smoke:
        record = json.loads((folder / "audit" / "record.json").read_text())
        told = {name: record.get(name, record.get("data", {}).get(name)) for name in ("verdict", "counts")}
        print(json.dumps(told))
        runs["told"] = told
    rows = [
        [name, f"{pairs:,}", f"{one['seconds']:.0f}", f"{one['cpu']:.0f}", f"{one['peak_gib']:.2f}"]
        for name, one in runs.items()
        if "seconds" in one
    ]
    table(["command", "distinct pairs", "seconds", "processor seconds", "peak GiB"], rows)
    return runs


if __name__ == "__main__":
    main()
