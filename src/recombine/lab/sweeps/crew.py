"""Who does the work: an interface to workers, and what is heard from them.

Workers write runs into the store themselves. What comes back is only which runs are there, how they ended, and what
one number of each was; so a driver's memory and traffic do not grow with what the runs hold.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from recombine.lab.sweeps.packs import Pack

Trouble = Literal["mistake", "program", "worker", "node", "store"]
"""Whose fault it was: what was asked for (no use to try again), the run's own code, the process it ran in, the machine,
or the place that it was to be written to."""


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
    trouble: Trouble | None = None
    reason: str = ""
    host: str = ""
    seconds: float = 0.0

    def to_text(self) -> str:
        """As it is sent."""
        return json.dumps(asdict(self))

    @classmethod
    def from_text(cls, text: str) -> "Report":
        """As it is received.

        >>> Report.from_text(Report(trouble="node", reason="gone").to_text()).reason
        'gone'
        """
        content: dict[str, Any] = json.loads(text)
        outcomes = tuple(Outcome(**outcome) for outcome in content.pop("outcomes"))
        return cls(outcomes=outcomes, **content)


class Crew(ABC):
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
