"""What is still to be done, and what to do about trouble.

A pack whose program fails is taken apart, so that one bad run does not take the others with it; a single run is tried
again, and given up after `retries` further attempts, or at once where what it asks for cannot be. A lost process or
machine is not the runs' fault: the pack goes back to the queue as it is, and goes on from the state that it left in the
store. But a run can also be what kills its process (by its memory, say), so that this has an end too. A store that
cannot be written to, or a machine with other code, stops the whole sweep.

Who does the work: packs of runs that are trained together, an interface to those who train them, and what they say.

A pack holds same-shaped runs, divided so that every worker has something to do. Workers write runs into the store
themselves. What comes back is only which runs are there, how they ended, and what one number of each was; so a driver's
memory and traffic do not grow with what the runs hold.
"""

import math
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Literal

from recombine.base.errors import OutputError, SettingError
from recombine_lab.runs.run import Configuration

MOST = 32
FaultKind = Literal["mistake", "program", "worker", "node", "store"]
"""Whose fault it was: what was asked for (no use to try again), the run's own code, the process it ran in, the machine,
or the place that it was to be written to."""


Pack = tuple[Configuration, ...]
"""Runs that one worker trains as one."""


def packs(
    runs: Sequence[Configuration], *, alike: Callable[[Configuration], str], workers: int, most: int = MOST
) -> list[Pack]:
    """Runs of one shape together, in the order of their first one.

    A pack holds at most `most` runs and no more than a worker's fair share of all of them, and there are no fewer packs
    than workers, if there are enough runs.

    >>> parts = {"task": {}, "split": {}, "recipe": {}, "code": ""}
    >>> runs = [Configuration(**parts, model={"name": name}, seed=seed) for name in "ab" for seed in range(5)]
    >>> [len(pack) for pack in packs(runs, alike=lambda run: run.model["name"], workers=3)]
    [2, 3, 2, 3]
    """
    if most < 1:
        raise SettingError(f"packs of {most} runs", why="a pack holds at least one run", instead="write 1 or more")
    largest = min(most, math.ceil(len(runs) / max(workers, 1)))
    shapes: dict[str, list[Configuration]] = {}
    for run in runs:
        shapes.setdefault(alike(run), []).append(run)
    divided: list[Pack] = []
    for shape in shapes.values():
        parts = math.ceil(len(shape) / largest)
        edges = [part * len(shape) // parts for part in range(parts + 1)]
        divided += [tuple(shape[start:end]) for start, end in pairwise(edges)]
    while len(divided) < min(workers, len(runs)):  # halve the largest, so that nobody is idle
        place = max(range(len(divided)), key=lambda place: len(divided[place]))
        pack, middle = divided[place], len(divided[place]) // 2
        divided[place : place + 1] = [pack[:middle], pack[middle:]]
    return divided


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How one run ended, as a worker tells it."""

    key: str
    status: str
    score: float | None
    part: str | None
    reason: str | None


@dataclass(frozen=True, kw_only=True)
class Report:
    """What became of a pack: the runs that ended, or what went wrong."""

    outcomes: tuple[Outcome, ...] = ()
    fault: FaultKind | None = None
    reason: str = ""
    host: str = ""
    seconds: float = 0.0


class WorkerPool(ABC):
    """Workers that train packs."""

    @abstractmethod
    def free(self) -> int:
        """How many more packs can be handed out now."""

    @abstractmethod
    def size(self) -> int:
        """How many packs are trained at once."""

    @abstractmethod
    def start(self, number: int, pack: Pack) -> None:
        """Hand out a pack, known by a number from here on."""

    @abstractmethod
    def ended(self) -> Mapping[int, Report]:
        """What was heard since the last time; comes back after a moment even if that is nothing."""

    @abstractmethod
    def stop(self) -> None:
        """Let go of everything, at once."""


_MOST_LOST_NODES = 20
"""Clouds take machines back at any time, so losing one says nothing of a run; a run whose machine was lost more than
twenty times is taken for the cause."""


@dataclass(frozen=True)
class QueuedPack:
    """A pack and its past."""

    pack: Pack
    failures: int = 0
    lost_workers: int = 0
    lost_nodes: int = 0
    unwritten: int = 0

    @property
    def tries(self) -> int:
        """How often it was tried in vain."""
        return self.failures + self.lost_workers + self.lost_nodes


@dataclass
class RunQueue:
    """The queue of a sweep."""

    retries: int
    waiting: deque[QueuedPack] = field(default_factory=deque)
    running: dict[int, QueuedPack] = field(default_factory=dict)
    _handed_out: int = 0

    def add(self, packs: list[Pack]) -> None:
        """More to do."""
        self.waiting.extend(map(QueuedPack, packs))

    @property
    def open(self) -> bool:
        """Whether anything is left."""
        return bool(self.waiting or self.running)

    def take(self) -> tuple[int, Pack]:
        """The next pack, and the number that it is known by."""
        self._handed_out += 1
        self.running[self._handed_out] = self.waiting.popleft()
        return self._handed_out, self.running[self._handed_out].pack

    def settle(self, number: int, report: Report) -> QueuedPack | None:
        """Take a report down; the job comes back where it is given up for good."""
        job = self.running.pop(number)
        if report.fault is None:
            return None
        if report.fault == "store":
            self._retry_unwritten(job, report)
            return None
        if report.fault == "node":
            return self._requeue(replace(job, lost_nodes=job.lost_nodes + 1), job.lost_nodes < _MOST_LOST_NODES)
        if report.fault == "worker":
            return self._retry_lost(job)
        return self._retry_failed(job, hopeless=report.fault == "mistake")

    def _retry_unwritten(self, job: QueuedPack, report: Report) -> None:
        later = replace(job, unwritten=job.unwritten + 1)
        self.waiting.appendleft(later)
        if later.unwritten > self.retries:
            raise OutputError(
                "the sweep was stopped: its runs cannot be written",
                why=report.reason,
                instead="mend that, then give the same command again: what is finished is kept",
            )

    def _retry_lost(self, job: QueuedPack) -> QueuedPack | None:
        later = replace(job, lost_workers=job.lost_workers + 1)
        return self._requeue(later, later.lost_workers <= (1 if len(job.pack) > 1 else self.retries))

    def _retry_failed(self, job: QueuedPack, *, hopeless: bool) -> QueuedPack | None:
        later = replace(job, failures=job.failures + 1)
        return self._requeue(later, len(job.pack) == 1 and later.failures <= self.retries and not hopeless)

    def _requeue(self, job: QueuedPack, worth_it: bool) -> QueuedPack | None:
        """Back to the queue: as it is where that is worth it, else taken apart, else given up."""
        if worth_it:
            self.waiting.append(job)
        elif len(job.pack) > 1:
            self.add([(run,) for run in job.pack])
        else:
            return job
        return None
