"""What every benchmark needs: time and memory of work in a fresh process, medians, a table, a file.

Timings on a shared machine are noisy, so subjects take turns: one round measures each of them once, and a
subject's time is its median over the rounds. Compare times within one run only.
"""

import argparse
import contextlib
import json
import multiprocessing
import os
import resource
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).with_name("results")

Prepare = Callable[..., Callable[[], Any]]
"""Gets everything ready (imports, connections, input) and returns the work that is measured."""


@dataclass(frozen=True)
class Run:
    """Some work, done once."""

    seconds: float
    cpu: float
    peak_bytes: int
    answer: Any


@dataclass(frozen=True)
class Measured:
    """One subject's rounds: every time, the highest peak memory, and the answer of the last round."""

    runs: tuple[Run, ...]

    @property
    def answer(self) -> Any:
        """What the work gave."""
        return self.runs[-1].answer

    @property
    def median(self) -> float:
        """The median time in seconds."""
        return statistics.median(run.seconds for run in self.runs)

    @property
    def cpu(self) -> float:
        """The median processor time in seconds, all threads together: other people's load hardly moves it."""
        return statistics.median(run.cpu for run in self.runs)

    @property
    def peak_gib(self) -> float:
        """The highest peak memory of the process, the libraries that it loads included."""
        return max(run.peak_bytes for run in self.runs) / 2**30

    def plain(self) -> dict[str, Any]:
        """As JSON can hold it."""
        medians = {"seconds": self.median, "cpu": self.cpu, "peak_gib": self.peak_gib}
        return medians | {"answer": self.answer, "all_seconds": [run.seconds for run in self.runs]}


def take_turns(subjects: dict[str, tuple[Any, ...]], *, rounds: int) -> dict[str, Measured]:
    """Measure each subject, given as (prepare, *arguments), once a round, each time in a fresh process."""
    runs: dict[str, list[Run]] = {name: [] for name in subjects}
    for _ in range(rounds):
        for name, (prepare, *arguments) in subjects.items():
            runs[name].append(in_child(prepare, *arguments))
    return {name: Measured(tuple(done)) for name, done in runs.items()}


def in_child(prepare: Prepare, *arguments: Any) -> Run:
    """Do some work in a fresh process."""
    with ProcessPoolExecutor(max_workers=1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(_child, prepare, arguments).result()


def _child(prepare: Prepare, arguments: tuple[Any, ...]) -> Run:
    work = prepare(*arguments)
    _forget_peak()
    started, started_cpu = time.perf_counter(), time.process_time()
    answer = work()
    return Run(time.perf_counter() - started, time.process_time() - started_cpu, _peak_bytes(), answer)


def _forget_peak() -> None:
    """Count the peak from here on, where the system can: the making of the input is no part of the work."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def _peak_bytes() -> int:
    """The most memory that this process held at once.

    VmHWM rather than `ru_maxrss` where there is one: the latter starts from what the parent held.
    """
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    line = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024


def table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Print a table: text to the left, numbers to the right."""
    lines = [list(header), *([_cell(item) for item in row] for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    for line in lines:
        numbers = [cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True)]
        print("  ".join([line[0].ljust(widths[0]), *numbers]))


def _cell(item: Any) -> str:
    if isinstance(item, float):
        return f"{item:,.0f}" if abs(item) >= 100 else f"{item:.3g}"
    return f"{item:,}" if isinstance(item, int) else str(item)


def options(description: str | None) -> argparse.ArgumentParser:
    """The options that every benchmark has."""
    as_written = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=description, formatter_class=as_written)
    parser.add_argument("--smoke", action="store_true", help="a small version that takes a few seconds")
    parser.add_argument("--out", type=Path, help="write the figures as JSON (default: results/<name>.json)")
    return parser


def write(name: str, given: argparse.Namespace, figures: Any) -> None:
    """Save the figures beside the benchmarks, or where --out says."""
    out = given.out or RESULTS / f"{name}{'-smoke' if given.smoke else ''}.json"
    out.parent.mkdir(parents=True, exist_ok=True)
    about = {"date": time.strftime("%Y-%m-%d"), "cores": os.cpu_count(), "smoke": given.smoke}
    found = about | {"figures": figures}
    out.write_text(json.dumps(found, indent=1, default=str) + "\n")
