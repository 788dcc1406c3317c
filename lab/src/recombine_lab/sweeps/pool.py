"""Who does the work: packs of runs that are trained together, an interface to those who train them, and what they say.

A pack holds same-shaped runs, divided so that every worker has something to do. Workers write runs into the store
themselves. What comes back is only which runs are there, how they ended, and what one number of each was; so a driver's
memory and traffic do not grow with what the runs hold.
"""

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any, Literal

from recombine.errors import SettingError
from recombine_lab.runs.run import Configuration

MOST = 32
FaultKind = Literal["mistake", "program", "worker", "node", "store"]
"""Whose fault it was: what was asked for (no use to try again), the run's own code, the process it ran in, the machine,
or the place that it was to be written to."""


@dataclass(frozen=True)
class Pack:
    """Runs that one worker trains as one."""

    runs: tuple[Configuration, ...]

    def __len__(self) -> int:
        return len(self.runs)

    def apart(self) -> list["Pack"]:
        """Each of its runs by itself."""
        return [Pack((run,)) for run in self.runs]


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
    found = [Pack(tuple(part)) for shape in shapes.values() for part in _evenly(shape, largest)]
    while len(found) < min(workers, len(runs)):
        place = max(range(len(found)), key=lambda place: len(found[place]))
        found[place : place + 1] = _halves(found[place])
    return found


def _halves(pack: Pack) -> list[Pack]:
    middle = len(pack) // 2
    return [Pack(pack.runs[:middle]), Pack(pack.runs[middle:])]


def _evenly(runs: list[Configuration], largest: int) -> Iterable[list[Configuration]]:
    parts = math.ceil(len(runs) / largest)
    edges = [part * len(runs) // parts for part in range(parts + 1)]
    return (runs[start:end] for start, end in pairwise(edges))


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

    def to_text(self) -> str:
        """As it is sent."""
        return json.dumps(asdict(self))

    @classmethod
    def from_text(cls, text: str) -> "Report":
        """As it is received.

        >>> Report.from_text(Report(fault="node", reason="gone").to_text()).reason
        'gone'
        """
        content: dict[str, Any] = json.loads(text)
        outcomes = tuple(Outcome(**outcome) for outcome in content.pop("outcomes"))
        return cls(outcomes=outcomes, **content)


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
