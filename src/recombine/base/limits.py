"""What work may take, said once around all of it: seconds, and bytes of memory.

The few loops that can stop early go through `within_time`: the first round is done in any case, later ones while there
is time, and what was left out is said in the verdict (`partial`). What would be wrong if it were cut, as a count of
half the rows is, ends in an error (`refuse_if_late`). Whoever is about to allocate asks `current().memory`.

The limits are a context variable: they are set around a whole command, and asked by a few functions far below; some
forty between them do not care. Without limits nothing is asked of a clock, and the same seed gives the same result.
"""

import math
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from recombine.base.checks import check_number
from recombine.base.errors import RecombineError
from recombine.base.words import span

_Round = TypeVar("_Round")


@dataclass(frozen=True)
class Limits:
    """Seconds from the start, and bytes; None where there is no limit. `stopped` says what was left out so far."""

    seconds: float | None = None
    memory: int | None = None
    ends: float = math.inf
    stopped: list[str] = field(default_factory=list)

    @property
    def time_is_up(self) -> bool:
        """Whether the seconds are over."""
        return self.seconds is not None and time.monotonic() >= self.ends

    def stop(self, done: int, of: int, what: str) -> None:
        """Keep in mind how far a loop came."""
        self.stopped.append(f"Stopped after {span(self.seconds or 0.0)}: {done:,} of {of:,} {what}.")


_NONE = Limits()
_CURRENT: ContextVar[Limits] = ContextVar("limits", default=_NONE)


def current() -> Limits:
    """The limits that hold here."""
    return _CURRENT.get()


def memory_here() -> float:
    """The machine's memory in bytes, or what a container or these limits leave of it; without end where nobody says."""
    found = current().memory or math.inf
    with suppress(AttributeError, OSError, ValueError):  # Windows does not say it in this way
        found = min(found, float(os.sysconf("SC_PAGE_SIZE")) * float(os.sysconf("SC_PHYS_PAGES")))
    with suppress(OSError, ValueError):  # no such limit, or none set ("max")
        found = min(found, float(Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii")))
    return found


@contextmanager
def limited(*, seconds: float | None = None, memory: int | None = None) -> Iterator[Limits]:
    """Everything inside may take so many seconds, and so many bytes of memory.

    Back-tests, rehearsals and searches then end with the rounds that are done, and the verdict says how many; a table
    that is not counted by then, or would not fit, ends in an error that says so. A round that has begun is finished.

    >>> import recombine
    >>> table = {"a": [0, 0, 1], "b": [0, 1, 0]}
    >>> with recombine.limited(seconds=60, memory=2 * 10**9):
    ...     recombine.audit(table, factors=["a", "b"]).counts.seen
    3
    """
    if seconds is not None:
        check_number("seconds", seconds, above=0, instead="write seconds=60 (--time-limit 60)")
    if memory is not None:
        check_number("memory", memory, above=0, instead="write memory=2 * 10**9 (--memory-limit 2GB)")
    ends = math.inf if seconds is None else time.monotonic() + seconds
    before = _CURRENT.set(Limits(seconds, memory, ends))
    try:
        yield current()
    finally:
        _CURRENT.reset(before)


def within_time(rounds: Sequence[_Round], what: str) -> Iterator[_Round]:
    """One after another, the first in any case, until the time is up; how many there were is then said.

    >>> with limited(seconds=1e-9):
    ...     list(within_time("abc", "letters")), partial()
    (['a'], ' Stopped after 1 s: 1 of 3 letters.')
    """
    for done, one in enumerate(rounds):
        if done and current().time_is_up:
            current().stop(done, len(rounds), what)
            return
        yield one


def partial() -> str:
    """What a verdict ends with where something was left out; said once."""
    stopped = current().stopped
    said = "".join(f" {sentence}" for sentence in dict.fromkeys(stopped))
    stopped.clear()
    return said


def refuse_if_late(doing: str) -> None:
    """End what has no partial answer, once the time is up."""
    if current().time_is_up:
        limit = span(current().seconds or 0.0)
        raise RecombineError(
            f"the time limit of {limit} was over while {doing}",
            why="a part of it would look like the whole, and say something else",
            instead="allow more (--time-limit), or ask about fewer rows or columns: --where, --factors",
        )
