"""What a sweep costs beside the training that it is made of: 1,000 trivial runs, against bare Ray tasks.

Each run trains a very small network for a few steps, so that what is left is mostly overhead. All subjects use one Ray
instance with the same worker processes, which have loaded everything before the clock starts. Bare tasks train one run
each, hold nothing back and keep no order; in the first version they write nothing, in the second they write each run
into a store as a sweep does. Sweeps plan, look into the store, hand out packs and write. Runs are trained one by one
everywhere (`together: never`), but for the last subject, which trains same-shaped ones as one. Subjects take turns.
Goal: at most 1.5 times the bare tasks.
"""
# ruff: noqa: PLC0415 - Ray is started by the benchmark alone

import json
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import measure

GOAL = 1.5
WORKERS = 2
RECIPE = {"steps": 2, "samples": 20, "test_samples": 20, "batch": 10, "evaluations": 2}


def grid(runs: int, together: str) -> dict[str, Any]:
    """So many runs that differ in their seed."""
    return {
        "tasks": "addition",
        "splits": "hold_out_combinations",
        "models": {"name": "mlp", "hidden": [4]},
        "recipes": RECIPE | {"together": together},
        "seeds": runs,
    }


def one(sent: str, place: str | None) -> str:
    """A bare task: one run, and its key."""
    from recombine_lab.runs.run import Configuration
    from recombine_lab.runs.store import Store
    from recombine_lab.training.pack import train

    store = Store.open(place) if place is not None else None
    (run,) = train([Configuration(**json.loads(sent))], store=store)
    return run.key


def bare(ray: Any, runs: int, place: str | None) -> float:
    """Seconds that bare tasks take."""
    from recombine_lab.sweeps.grid import read_plan

    task = ray.remote(num_cpus=1)(one)
    sent = [json.dumps(run.plain()) for run in read_plan(grid(runs, "never")).runs]
    began = time.perf_counter()
    keys = ray.get([task.remote(text, place) for text in sent])
    seconds = time.perf_counter() - began
    assert len(set(keys)) == runs
    return seconds


def swept(runs: int, place: str, together: str) -> float:
    """Seconds that a sweep takes, its planning included."""
    from recombine_lab.sweeps.sweep import sweep

    began = time.perf_counter()
    result = sweep(grid(runs, together), store=place, progress=None)
    seconds = time.perf_counter() - began
    assert (result.finished, result.complete) == (runs, True)
    return seconds


def skipped(runs: int, place: str) -> float:
    """Seconds that a sweep takes of which everything is there already."""
    from recombine_lab.sweeps.sweep import sweep

    began = time.perf_counter()
    assert sweep(grid(runs, "never"), store=place, progress=None).skipped == runs
    return time.perf_counter() - began


def rounds(ray: Any, runs: int, folder: Path, times: int) -> dict[str, list[float]]:
    """Every subject once a round."""
    found: dict[str, list[float]] = {}
    for turn in range(times):
        place = {name: str(folder / f"{name}-{turn}") for name in ("bare", "sweep", "packed")}
        measured = {
            "bare tasks, nothing written": bare(ray, runs, None),
            "bare tasks, runs written": bare(ray, runs, place["bare"]),
            "sweep": swept(runs, place["sweep"], "never"),
            "sweep, nothing left to do": skipped(runs, place["sweep"]),
            "sweep, trained together": swept(runs, place["packed"], "always"),
        }
        for name, seconds in measured.items():
            found.setdefault(name, []).append(seconds)
    return found


def bytes_for_each(place: Path, runs: int) -> tuple[float, float]:
    """What a run takes in the store: its files' own sizes, and blocks on the disk."""
    files = [path.stat() for path in place.rglob("*") if path.is_file()]
    return sum(file.st_size for file in files) / runs, 512 * sum(file.st_blocks for file in files) / runs


def main() -> None:
    """Run it."""
    given = measure.options(__doc__).parse_args()
    runs, times = (40, 1) if given.smoke else (1000, 3)
    import ray

    from recombine_lab.sweeps.ray_pool import RayPool

    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        # The sweep's own Ray: the same guard, the same settings; sweeps find it there and leave it.
        pool = RayPool(scratch, workers=WORKERS)
        try:
            rounds(ray, 2 * WORKERS, folder / "warm", 1)  # every worker has loaded torch and recombine
            found = rounds(ray, runs, folder, times)
            sizes = bytes_for_each(folder / "sweep-0", runs)
        finally:
            pool.stop()
    medians = {name: statistics.median(seconds) for name, seconds in found.items()}
    silent, written = medians["bare tasks, nothing written"], medians["bare tasks, runs written"]
    measure.table(
        ["subject", "seconds", "ms a run", "times bare", "times bare that writes"],
        [[name, each, 1000 * each / runs, each / silent, each / written] for name, each in medians.items()],
    )
    print(f"{runs:,} runs, {WORKERS} workers; a sweep over bare tasks (goal: at most {GOAL}):")
    print(f"{medians['sweep'] / silent:.2f} if those write nothing, {medians['sweep'] / written:.2f} if they write too")
    print(f"store: {sizes[0]:,.0f} bytes a run, {sizes[1]:,.0f} on the disk")
    measure.write("sweep", given, {"runs": runs, "seconds": found, "bytes": sizes})


if __name__ == "__main__":
    main()
