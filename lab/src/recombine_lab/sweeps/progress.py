"""What a sweep shows while it runs: a table on a terminal, a line now and then where its output is piped.

It has a line for each group of runs that differ in their seed alone, named by what sets the group apart.
"""

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from rich.console import Console
from rich.console import Group as Stack
from rich.live import Live
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from recombine.base.progress import Progress
from recombine.base.words import measure, span
from recombine_lab.runs.run import Configuration
from recombine_lab.sweeps.queue import Outcome

_LINES = 20
"""Where output is piped, about so many lines tell of a whole sweep."""
_COLUMNS = ("done", "running", "diverged", "failed", "latest", "left")
_SELDOM = ("running", "diverged", "failed")
"""Columns that are shown once there is something in them."""
PARTS = ("task", "split", "model", "recipe")


@dataclass(frozen=True)
class SweepGroup:
    """The keys of a group's runs, and its name in each of the four columns."""

    keys: tuple[str, ...]
    task: str
    split: str
    model: str
    recipe: str

    @property
    def title(self) -> str:
        """In one line."""
        return " · ".join(filter(None, (self.task, self.split, self.model, self.recipe)))


@dataclass
class GroupProgress:
    """How far one group is."""

    group: SweepGroup
    done: int = 0
    diverged: int = 0
    failed: int = 0
    running: int = 0
    latest: str = ""
    seconds: float = 0.0
    timed: int = 0

    @property
    def left(self) -> int:
        """Runs that have not ended."""
        return len(self.group.keys) - self.done - self.diverged - self.failed

    def estimate(self, otherwise: float | None, workers: int) -> float | None:
        """Seconds that the rest may take, from what its runs took so far, else from what all took."""
        each = self.seconds / self.timed if self.timed else otherwise
        return None if each is None else self.left * each / max(workers, 1)


@dataclass
class Board:
    """The state of all groups, and how it is shown."""

    runs: Sequence[Configuration]
    console: Console
    shown: bool = True
    workers: int = 1
    progress: Progress | None = None
    tallies: list[GroupProgress] = field(init=False)
    _of: dict[str, GroupProgress] = field(init=False)
    _live: Live | None = None
    _told: int = 0
    _began: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self.tallies = [GroupProgress(group) for group in groups(self.runs)]
        self._of = {key: tally for tally in self.tallies for key in tally.group.keys}

    def __enter__(self) -> Self:
        if self.shown and self.console.is_terminal:
            self._live = Live(console=self.console, transient=True, auto_refresh=False)
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def add_finished(self, keys: Iterable[str]) -> None:
        """Runs that were finished before."""
        for key in keys:
            self._of[key].done += 1

    def add_running(self, keys: Iterable[str], by: int = 1) -> None:
        """Runs that are being trained; −1 for those that no longer are."""
        for key in keys:
            self._of[key].running += by

    def ended(self, outcomes: Sequence[Outcome], seconds: float) -> None:
        """Runs that ended, well or not, and how long a worker was busy with them."""
        for outcome in outcomes:
            tally = self._of[outcome.key]
            if outcome.status == "finished":
                tally.done += 1
            elif outcome.status == "diverged":
                tally.diverged += 1
            else:
                tally.failed += 1
            if outcome.score is not None:
                tally.latest = f"{outcome.part} {measure(outcome.score)}"
            tally.seconds += seconds / len(outcomes)
            tally.timed += 1
        self._tell()

    def say(self, line: str) -> None:
        """A line that stays."""
        if self.shown:
            self.console.print(line, markup=False, soft_wrap=True)

    def refresh(self) -> None:
        """Draw the table anew, on a terminal."""
        if self._live is not None:
            self._live.update(self.table(), refresh=True)

    def _tell(self) -> None:
        """Where output is piped: a line whenever another twentieth is done."""
        over, ended = len(self.runs), sum(len(tally.group.keys) - tally.left for tally in self.tallies)
        if self.progress is not None:
            self.progress(f"training {over:,} runs", ended / over)
        if self._live is None and (ended * _LINES) // over > self._told:
            self._told = (ended * _LINES) // over
            self.say(f"  {ended:,} of {over:,} runs{self._remark()}")

    def _remark(self) -> str:
        parts = [
            f"{number:,} {word}"
            for word in ("diverged", "failed")
            if (number := sum(getattr(tally, word) for tally in self.tallies))
        ]
        each = self._each()
        seconds = sum(tally.estimate(each, self.workers) or 0.0 for tally in self.tallies)
        if seconds:
            parts.append(f"about {span(seconds)} left")
        return f" ({', '.join(parts)})" if parts else ""

    def _each(self) -> float | None:
        """Seconds that a run of any group took so far."""
        timed = sum(tally.timed for tally in self.tallies)
        return sum(tally.seconds for tally in self.tallies) / timed if timed else None

    def table(self) -> Stack:
        """A line for each group; where they do not all fit, those at work come first, then those to come."""
        table = Table(box=None, padding=(0, 1), pad_edge=False)
        varying = [part for part in PARTS if self._varies(part)] or ["task"]
        for part in varying:
            table.add_column(part, min_width=len(part))
        words = [word for word in _COLUMNS if word not in _SELDOM or any(getattr(one, word) for one in self.tallies)]
        for word in words:
            table.add_column(word, justify="right", no_wrap=True)
        order, room = self.tallies, max(3, self.console.height - 5)
        if len(order) > room:
            order = sorted(order, key=lambda tally: (not tally.running, not tally.left))[:room]
        for tally in order:
            names = [Text(getattr(tally.group, part), no_wrap=True, overflow="ellipsis") for part in varying]
            cells = dict(zip(_COLUMNS, self._cells(tally), strict=True))
            table.add_row(*names, *(cells[word] for word in words))
        return Stack(table, Text(self._footing(len(self.tallies) - len(order))))

    def _varies(self, part: str) -> bool:
        return len({getattr(tally.group, part) for tally in self.tallies}) > 1

    def _cells(self, tally: GroupProgress) -> list[str]:
        seconds = tally.estimate(self._each(), self.workers) if tally.left else None
        return [
            f"{tally.done}/{len(tally.group.keys)}",
            str(tally.running or ""),
            f"[yellow]{tally.diverged}[/]" if tally.diverged else "",
            f"[red]{tally.failed}[/]" if tally.failed else "",
            escape(tally.latest),
            "" if seconds is None else span(seconds),
        ]

    def _footing(self, hidden: int) -> str:
        ended = sum(len(tally.group.keys) - tally.left for tally in self.tallies)
        more = f"… {hidden} more groups; " if hidden else ""
        took = span(time.monotonic() - self._began)
        return f"{more}{ended:,} of {len(self.runs):,} runs in {took}{self._remark()}; Ctrl-C stops, nothing is lost"


def groups(runs: Sequence[Configuration]) -> list[SweepGroup]:
    """The groups in the order of their first run.

    >>> parts = {"task": {"name": "toy"}, "split": {"name": "own"}, "code": ""}
    >>> grid = [{"model": {"name": "mlp", "width": width}, "recipe": {"steps": 9}} for width in (8, 16)]
    >>> found = groups([Configuration(**parts, **point, seed=seed) for point in grid for seed in (0, 1)])
    >>> [(group.title, len(group.keys)) for group in found]
    [('toy · own · mlp width 8', 2), ('toy · own · mlp width 16', 2)]
    """
    names = {part: _names([getattr(run, part) for run in runs]) for part in PARTS}
    keys: dict[tuple[str, ...], list[str]] = {}
    for run in runs:
        keys.setdefault(tuple(names[part][_text(getattr(run, part))] for part in PARTS), []).append(run.key)
    return [SweepGroup(tuple(those), *named) for named, those in keys.items()]


def _names(specs: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """A name for each spec: its own, and the settings in which those of the same name differ."""
    kinds: dict[str, list[Mapping[str, Any]]] = {}
    for spec in {_text(spec): spec for spec in specs}.values():
        kinds.setdefault(str(spec.get("name", "")), []).append(spec)
    named = {}
    for kind, alike in kinds.items():
        names = dict.fromkeys(name for spec in alike for name in spec if name != "name")
        differing = [name for name in names if len({_text(spec.get(name)) for spec in alike}) > 1]
        for spec in alike:
            settings = [f"{name} {_short(spec[name])}" for name in differing if name in spec]
            named[_text(spec)] = " ".join(filter(None, [kind, ", ".join(settings)]))
    return named


def _short(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
