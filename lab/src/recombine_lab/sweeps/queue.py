"""What is still to be done, and what to do about trouble.

A pack whose program fails is taken apart, so that one bad run does not take the others with it; a single run is tried
again, and given up after `retries` further attempts, or at once where what it asks for cannot be. A lost process or
machine is not the runs' fault: the pack goes back to the queue as it is, and goes on from the state that it left in the
store. But a run can also be what kills its process (by its memory, say), so that this has an end too. A store that
cannot be written to, or a machine with other code, stops the whole sweep.
"""

from collections import deque
from dataclasses import dataclass, field, replace

from recombine.errors import OutputError
from recombine_lab.sweeps.pool import Pack, Report

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
            self._unwritten(job, report)
            return None
        if report.fault == "node":
            return self._again(replace(job, lost_nodes=job.lost_nodes + 1), job.lost_nodes < _MOST_LOST_NODES)
        if report.fault == "worker":
            return self._lost(job)
        return self._failed(job, hopeless=report.fault == "mistake")

    def _unwritten(self, job: QueuedPack, report: Report) -> None:
        later = replace(job, unwritten=job.unwritten + 1)
        self.waiting.appendleft(later)
        if later.unwritten > self.retries:
            raise OutputError(
                "the sweep was stopped: its runs cannot be written",
                why=report.reason,
                instead="mend that, then give the same command again: what is finished is kept",
            )

    def _lost(self, job: QueuedPack) -> QueuedPack | None:
        later = replace(job, lost_workers=job.lost_workers + 1)
        return self._again(later, later.lost_workers <= (1 if len(job.pack) > 1 else self.retries))

    def _failed(self, job: QueuedPack, *, hopeless: bool) -> QueuedPack | None:
        later = replace(job, failures=job.failures + 1)
        return self._again(later, len(job.pack) == 1 and later.failures <= self.retries and not hopeless)

    def _again(self, job: QueuedPack, worth_it: bool) -> QueuedPack | None:
        """Back to the queue: as it is where that is worth it, else taken apart, else given up."""
        if worth_it:
            self.waiting.append(job)
        elif len(job.pack) > 1:
            self.add(job.pack.apart())
        else:
            return job
        return None
