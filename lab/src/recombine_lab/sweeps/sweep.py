"""A sweep: the runs of a grid that are not in the store yet, trained by several workers and written into it.

`dry_run` tells what a sweep would do, without doing it.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

from rich.console import Console

from recombine.base.checks import check_number
from recombine.base.errors import OutputError, RecordError, SettingError, SourceError
from recombine.base.progress import Progress
from recombine.base.redaction import redacted
from recombine.base.words import amount
from recombine_lab.base.source_versions import MAIN
from recombine_lab.runs.run import Configuration
from recombine_lab.runs.run_list import damaged_runs
from recombine_lab.runs.store import Store
from recombine_lab.sweeps.grid import SweepPlan, read_plan, store_place
from recombine_lab.sweeps.progress import Board, groups
from recombine_lab.sweeps.queue import MOST, Outcome, QueuedPack, Report, RunQueue, WorkerPool, packs
from recombine_lab.sweeps.ray_pool import RayPool, processors
from recombine_lab.sweeps.worker import InProcessPool, outcome_of
from recombine_lab.training.loop import terminating_as_interrupt
from recombine_lab.training.pack import signature
from recombine_lab.training.progress_bar import progress_bar

_LOOKED_AT = 50  # runs that an estimate of time is made from


@dataclass(frozen=True, kw_only=True)
class SweepResult:
    """What a sweep came to. `skipped` runs were in the store before, whole; `left` ones were not reached.

    `damaged` says which runs were in the store before but not whole, and in what way; they count among those trained.
    """

    store: str
    keys: tuple[str, ...]
    finished: int
    skipped: int
    diverged: int
    failed: int
    left: int
    seconds: float
    failures: Mapping[str, str]
    damaged: Mapping[str, str] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        """Whether every run is in the store."""
        return not self.failed and not self.left


class InterruptedSweep(KeyboardInterrupt):
    """Ctrl-C, and what was done until then."""

    def __init__(self, result: SweepResult) -> None:
        super().__init__()
        self.result = result


class StoppedSweepError(OutputError):
    """A sweep that could not go on, and what was done until then."""

    def __init__(self, error: OutputError, result: SweepResult) -> None:
        super().__init__(error.what, why=error.why, instead=error.instead)
        self.result = result


def sweep(
    plan: str | Path | Mapping[str, Any] | SweepPlan,
    *,
    store: str | Path | None = None,
    address: str | None = None,
    workers: int | None = None,
    retries: int = 2,
    pack: int = MOST,
    num_gpus: float = 0,
    progress: Progress | None = progress_bar,
) -> SweepResult:
    """Train every run of a grid that the store does not hold yet.

    `plan` is a sweep's file, or what would stand in it. Without an `address` the work is done by Ray on this machine,
    with `workers` processes (one for each processor, if nothing is said); `workers=0` trains in this process, without
    Ray. `num_gpus` is what Ray sets aside for each pack, for example 0.25, so that four share a GPU; without it Ray
    shows none to a worker, and device="auto" means the processor. Interrupt it at any time: the same call goes on from
    where it was. `progress` is told a text and the share of runs that have ended; by default a table is drawn, or a
    line now and then where output is piped, and None is silent.
    """
    _check(workers=workers, retries=retries, address=address)
    check_number("num_gpus", num_gpus, least=0, instead="write for example num_gpus=0.25, a share of a GPU, or 1")
    read = read_plan(plan)
    if workers != 0:
        _check_shared(read)
    opened = Store.open(store_place(read, store))
    with _Driver(read, opened, retries=retries, progress=progress) as driver:
        if driver.todo:
            # SIGTERM is caught after the start: Ray has a word of its own for it, which it says when it starts.
            pool = start_pool(opened.address, address=address, workers=workers, num_gpus=num_gpus)
            driver.work(pool, most=pack)
        return driver.result()


def start_pool(place: str, *, address: str | None, workers: int | None, num_gpus: float = 0) -> WorkerPool:
    """Whoever does the work; Ray is loaded only where it is asked for."""
    if workers == 0:
        return InProcessPool(place)
    return RayPool(place, address=address, workers=workers, num_gpus=num_gpus)


def _check(*, workers: int | None, retries: int, address: str | None) -> None:
    if workers is not None and workers < 0:
        raise SettingError(f"{workers} workers", why="there cannot be fewer than none", instead="0 uses this process")
    if retries < 0:
        raise SettingError(f"{retries} retries", why="there cannot be fewer than none", instead="0 tries each run once")
    if workers == 0 and address is not None:
        raise SettingError(
            f"no workers at the cluster {address!r}",
            why="--workers 0 means this process alone, without Ray",
            instead="leave out one of --workers and --address",
        )


def _check_shared(plan: SweepPlan) -> None:
    """Refuse what only this process knows, where others are to do the work."""
    for place in dict.fromkeys(place for run in plan.runs for place in run.own_places()):
        if place.startswith(f"{MAIN}:"):
            raise SettingError(
                f"{place!r} is of the script that is running",
                why="the workers of a sweep are other processes, and import by its name what they train",
                instead=f"move it to a module of its own, and write its.module:{place.partition(':')[2]}; "
                "or train in this process, with workers=0",
            )


class _Driver:
    """One sweep at work."""

    def __init__(self, plan: SweepPlan, store: Store, *, retries: int, progress: Progress | None) -> None:
        self._began = time.monotonic()
        self._plan, self._store = plan, store
        self._queue = RunQueue(retries)
        # The bar that is the default has a table of its own here.
        drawn = progress is progress_bar
        told = None if drawn else progress
        self._board = Board(plan.runs, Console(stderr=True, highlight=False), shown=drawn, progress=told)
        self._ended: dict[str, Outcome] = {}
        self._hosts: set[str] = set()
        present = store.keys() & {run.key for run in plan.runs}
        self._damaged = damaged_runs(store, present)
        self._in_the_way = set(self._damaged)
        whole = present - self._in_the_way
        self._skipped = [run.key for run in plan.runs if run.key in whole]
        self.todo = [run for run in plan.runs if run.key not in whole]
        self._noted = {failure.key for failure in store.failures()} if self.todo else set()
        self._board.add_finished(self._skipped)

    def __enter__(self) -> "_Driver":
        self._board.__enter__()
        return self

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        self._board.__exit__(kind, error, trace)
        if isinstance(error, KeyboardInterrupt):
            self._look_again()
            raise InterruptedSweep(self.result()) from error
        if isinstance(error, OutputError):
            self._look_again()
            raise StoppedSweepError(error, self.result()) from error

    def work(self, pool: WorkerPool, *, most: int) -> None:
        """Until nothing is left."""
        with terminating_as_interrupt(), ExitStack() as stack:
            stack.callback(pool.stop)
            self._board.workers = pool.size()
            self._queue.add(packs(self.todo, alike=signature, workers=pool.size(), most=most))
            while self._queue.open:
                self._hand_out(pool)
                self._board.refresh()
                for number, report in pool.ended().items():
                    self._hear(number, report)

    def _hand_out(self, pool: WorkerPool) -> None:
        for _ in range(min(pool.free(), len(self._queue.waiting))):
            number, pack = self._queue.take()
            self._make_way(run.key for run in pack)
            pool.start(number, pack)
            self._board.add_running(run.key for run in pack)

    def _make_way(self, keys: Iterable[str]) -> None:
        """Remove damaged runs at the last moment, and only if no other sweep has put them there again meanwhile."""
        chosen = self._in_the_way.intersection(keys)
        for key in damaged_runs(self._store, chosen) if chosen else ():
            self._store.remove(key)
        self._in_the_way -= chosen

    def _hear(self, number: int, report: Report) -> None:
        runs = self._queue.running[number].pack
        self._board.add_running((run.key for run in runs), by=-1)
        if report.fault is None:
            self._check_there(runs, report)
            self._end(report.outcomes, report.seconds)
        else:
            self._board.say(f"  {self._trouble(runs, report)}")
        given_up = self._queue.settle(number, report)
        if given_up is not None:
            self._give_up(given_up, report)

    def _trouble(self, runs: Sequence[Configuration], report: Report) -> str:
        """Failures by run: runs that a lost worker had finished before are none of it."""
        lost = report.fault in ("worker", "node")
        unfinished = [run for run in runs if not (lost and self._store.has(run.key))]
        if unfinished:
            return f"trouble with {_describe_runs(unfinished)}: {report.reason}"
        return f"{report.reason}; {'its run was' if len(runs) == 1 else 'its runs were'} finished before"

    def _check_there(self, runs: Sequence[Configuration], report: Report) -> None:
        """Once for each machine: what it says it wrote must be where we look for it."""
        if report.host in self._hosts:
            return
        self._hosts.add(report.host)
        if not all(self._store.has(run.key) for run in runs):
            raise SourceError(
                f"{report.host} says that its runs are finished, but they are not in '{self._store.place}'",
                why="on that machine this is another place",
                instead="keep the store on a disk that all machines share, or in an object store, for example s3://…",
            )

    def _end(self, outcomes: Sequence[Outcome], seconds: float) -> None:
        self._ended |= {outcome.key: outcome for outcome in outcomes}
        self._board.ended(outcomes, seconds)
        for outcome in outcomes:
            if outcome.key in self._noted and outcome.status != "failed":
                self._store.drop_failures(outcome.key)

    def _give_up(self, job: QueuedPack, report: Report) -> None:
        (run,) = job.pack
        self._store.put_failure(run, report.reason, attempt=job.tries)
        failed = Outcome(key=run.key, status="failed", score=None, part=None, reason=report.reason)
        self._end([failed], report.seconds)

    def _look_again(self) -> None:
        """Workers that were stopped may have finished runs of which they had no time to tell."""
        unheard = {run.key for run in self.todo} - self._ended.keys() - self._in_the_way
        for key in self._store.keys() & unheard:
            self._ended[key] = outcome_of(self._store.get(key))

    def result(self) -> SweepResult:
        """What it came to so far."""
        count = {
            status: sum(outcome.status == status for outcome in self._ended.values())
            for status in ("finished", "diverged", "failed")
        }
        failures = {key: outcome.reason or "" for key, outcome in self._ended.items() if outcome.status == "failed"}
        return SweepResult(
            store=self._store.place,
            keys=tuple(run.key for run in self._plan.runs),
            skipped=len(self._skipped),
            left=len(self._plan) - len(self._skipped) - len(self._ended),
            seconds=time.monotonic() - self._began,
            failures=failures,
            damaged=self._damaged,
            **count,
        )


def _describe_runs(runs: Sequence[Configuration]) -> str:
    first = f"{runs[0].key[:8]} ({runs[0].model.get('name')}, seed {runs[0].seed})"
    return first if len(runs) == 1 else f"{first} and {amount(len(runs) - 1, 'other')} of its pack"


@dataclass(frozen=True, kw_only=True)
class DryRun:
    """The size of a sweep. `damaged` runs of the store would be trained again; `seconds` is an estimate from `measured`
    finished runs, where there are any.
    """

    runs: int
    groups: int
    finished: int
    damaged: int
    packs: int
    workers: int
    seconds: float | None
    measured: int
    store: str


def dry_run(
    plan: str | Path | Mapping[str, Any] | SweepPlan,
    *,
    store: str | Path | None = None,
    workers: int | None = None,
    pack: int = MOST,
) -> DryRun:
    """What a sweep would do; a store that is not there yet holds nothing, and is not made."""
    read = read_plan(plan)
    place = store_place(read, store)
    there = _open_existing(place)
    present = there.keys() & {run.key for run in read.runs} if there is not None else set()
    broken = damaged_runs(there, present) if there is not None else {}
    present -= set(broken)
    todo = [run for run in read.runs if run.key not in present]
    processes = max(1, processors() if workers is None else workers)
    times = _times(there, todo, [run for run in read.runs if run.key in present]) if there is not None else []
    return DryRun(
        runs=len(read),
        groups=len(groups(read.runs)),
        finished=len(read) - len(todo),
        damaged=len(broken),
        packs=len(packs(todo, alike=signature, workers=processes, most=pack)) if todo else 0,
        workers=processes,
        seconds=len(todo) * fmean(times) / processes if times and todo else None,
        measured=len(times),
        store=redacted(place),
    )


def _open_existing(place: str) -> Store | None:
    try:
        return Store.open(place, create=False)
    except RecordError as error:
        if error.what.startswith("no run store"):
            return None
        raise


def _times(store: Store, todo: Sequence[Configuration], finished: Sequence[Configuration]) -> list[float]:
    """How long finished runs of the same model on the same task took, some of them, evenly chosen."""
    wanted = {_kind(run) for run in todo}
    alike = [run for run in finished if _kind(run) in wanted]
    chosen = alike[:: max(1, len(alike) // _LOOKED_AT)]
    found = []
    for run in chosen:
        try:
            found.append(store.get(run.key).seconds)
        except RecordError:  # a damaged run tells nothing of time, and is told of elsewhere
            continue
    return found


def _kind(run: Configuration) -> tuple[str, str, int]:
    return str(run.task["name"]), str(run.model["name"]), int(run.recipe.get("steps", 0))
