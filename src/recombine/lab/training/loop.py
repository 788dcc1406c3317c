"""The training loop: the same for one run and for several that are trained as one.

Ctrl-C waits for the end of a step: an update that is half done is no state to go on from. On a terminal a bar shows how
far the training is.
"""

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from time import monotonic
from types import FrameType

import torch
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from recombine.lab.runs.run import MODEL_FILE
from recombine.lab.training.checkpoints import RunStore, Unfinished, Way, save_unfinished, weights_of
from recombine.lab.training.examples import Feed
from recombine.lab.training.learner import Learner
from recombine.lab.training.member import Member
from recombine.lab.training.questions import Evaluated, training_loss
from recombine.lab.training.recipe import evaluation_steps

_SHARE = 0.02  # of the time may go into saving unfinished runs
_LEAST_SECONDS = 15.0  # between two saves: shorter runs start again as quickly
_EVERY = 0.1  # seconds between two drawings of the bar


@dataclass(frozen=True)
class StepEvent:
    """What a callback is told: after how many of the steps, each run's loss, and the evaluations made just now.

    Runs that are trained as one are told of together, in their order; `evaluations` is empty at most steps.
    """

    step: int
    steps: int
    losses: tuple[float, ...]
    evaluations: tuple[tuple[Evaluated, ...], ...] = ()


Callback = Callable[[StepEvent], None]


@dataclass(frozen=True, kw_only=True)
class TrainingContext:
    """What a training is done in: where runs are kept, who is told, and how often unfinished ones are saved.

    `checkpoint_every` counts steps; None saves when so much time has passed that saving takes at most a fiftieth of it.
    """

    store: RunStore | None = None
    callbacks: Sequence[Callback] = ()
    checkpoint_every: int | None = None
    advance: Callable[[int], None] = field(default=lambda _: None)


class _Cadence:
    """When to save."""

    def __init__(self, every: int | None) -> None:
        self._every, self._wait, self._last = every, _LEAST_SECONDS, monotonic()

    def is_due(self, step: int) -> bool:
        if self._every is not None:
            return step % self._every == 0
        return monotonic() - self._last >= self._wait

    def saved(self, began: float) -> None:
        self._last = monotonic()
        self._wait = max(_LEAST_SECONDS, (self._last - began) / _SHARE)


class Loop:
    """Members, their learner and their batches, from one step to the last."""

    def __init__(
        self, members: Sequence[Member], learner: Learner, feed: Feed, *, way: Way, context: TrainingContext
    ) -> None:
        self._members, self._learner, self._feed, self._way, self._context = members, learner, feed, way, context
        self._steps = members[0].job.recipe.steps
        self._marks = frozenset(evaluation_steps(self._steps, members[0].job.recipe.evaluations))
        self._batch = members[0].examples.batch
        self._active = list(range(len(members)))
        self._clock = monotonic()

    def run(self, start: int) -> None:
        """Every step that is left, unless all runs end before; each member then has its result.

        With a store, Ctrl-C waits for the end of the step, and the runs in work are saved before it goes on.
        """
        cadence = _Cadence(self._context.checkpoint_every)
        with (
            torch.random.fork_rng(devices=[]),
            deferred_interrupt(wanted=self._context.store is not None) as interrupted,
        ):
            if start == 0 and 0 in self._marks:
                self._tell(0, [], self._evaluate(0, []))
            self._context.advance(start * len(self._members))
            for step in range(start + 1, self._steps + 1):
                losses, found = self._step(step)
                if cadence.is_due(step):
                    began = monotonic()
                    self._save(step)
                    cadence.saved(began)
                try:
                    self._tell(step, losses, found)
                    if interrupted():
                        raise KeyboardInterrupt
                except KeyboardInterrupt:
                    self._save(step)
                    raise
                if not self._active:
                    return

    def _step(self, step: int) -> tuple[list[float], tuple[tuple[Evaluated, ...], ...]]:
        losses = self._learner.step(self._feed.at(step - 1), step - 1)
        if not math.isfinite(sum(losses)):
            self._end_diverged(losses, step)
        found = self._evaluate(step, losses) if step in self._marks else ()
        if step == self._steps:
            self._end(self._active, step)
        return losses, found

    def _tell(self, step: int, losses: list[float], found: tuple[tuple[Evaluated, ...], ...]) -> None:
        self._context.advance(len(self._members) if step else 0)
        if self._context.callbacks:
            event = StepEvent(step, self._steps, tuple(losses), found)
            for callback in self._context.callbacks:
                callback(event)

    def _evaluate(self, step: int, losses: list[float]) -> tuple[tuple[Evaluated, ...], ...]:
        found: list[tuple[Evaluated, ...]] = [()] * len(self._members)
        for run in self._active:
            member = self._members[run]
            if losses:
                member.evaluations.append(training_loss(step, self._batch, losses[run]))
            found[run] = member.evaluate(self._learner.module(run), step)
        waited = [run for run in self._active if self._members[run].has_waited()] if step < self._steps else []
        self._end(waited, step, reason="stopped early: nothing better on what is seen")
        return tuple(found)

    def _end_diverged(self, losses: list[float], step: int) -> None:
        lost = [run for run in self._active if not math.isfinite(losses[run])]
        for run in lost:
            self._finish(run, "diverged", f"the loss was {losses[run]} at step {step}", step)
        self._active = [run for run in self._active if run not in lost]

    def _end(self, runs: Sequence[int], step: int, reason: str | None = None) -> None:
        for run in list(runs):
            self._finish(run, "finished", reason, step)
        self._active = [run for run in self._active if self._members[run].result is None]

    def _finish(self, run: int, status: str, reason: str | None, step: int) -> None:
        self._count_time()
        member = self._members[run]
        store = self._context.store
        files = {MODEL_FILE: weights_of(self._learner.state(run))} if member.job.recipe.keep_model else {}
        result = member.finish(status, reason, steps=step, together=len(self._members))  # type: ignore[arg-type]
        if files:
            read = partial(bytes, files[MODEL_FILE]) if store is None else partial(store.file, member.key, MODEL_FILE)
            result = member.result = replace(result, weights=read)
        if store is not None:
            store.put(result, files=files)
            store.drop_state(member.key)

    def _save(self, step: int) -> None:
        """Keep the runs that are still in work, where there is a store."""
        store = self._context.store
        if store is None:
            return
        self._count_time()
        for run in self._active:
            member = self._members[run]
            state = Unfinished(
                step=step,
                way=self._way,
                seconds=member.seconds,
                tensors=self._learner.state(run),
                evaluations=tuple(member.evaluations),
            )
            save_unfinished(store, member.key, state)

    def _count_time(self) -> None:
        """Each run that is still in work is charged its share of the time since the last count."""
        now = monotonic()
        share = (now - self._clock) / max(len(self._active), 1)
        for run in self._active:
            self._members[run].seconds += share
        self._clock = now


@contextmanager
def deferred_interrupt(*, wanted: bool) -> Iterator[Callable[[], bool]]:
    """Within, a first Ctrl-C is only noted, for whoever asks; a second one does not wait.

    One that nobody acted on is handed on at the end, to whoever handled Ctrl-C before. Nothing is held back outside the
    main thread, or where Ctrl-C is ignored.

    >>> with deferred_interrupt(wanted=True) as interrupted:
    ...     interrupted()
    False
    """
    before = signal.getsignal(signal.SIGINT)
    if not wanted or not callable(before) or threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    noted = False

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal noted
        if noted:
            before(number, frame)
        noted = True

    signal.signal(signal.SIGINT, note)
    try:
        yield lambda: noted
    finally:
        signal.signal(signal.SIGINT, before)
    if noted:
        before(signal.SIGINT, None)


@contextmanager
def progress_bar(text: str, total: int, *, shown: bool) -> Iterator[Callable[[int], None]]:
    """Something to tell each time that steps are done; silent unless shown, and where there is no terminal.

    >>> with progress_bar("training", 10, shown=False) as advance:
    ...     advance(10)
    """
    console = Console(stderr=True)
    if not shown or not console.is_terminal:
        yield lambda _: None
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(bar_width=30))
    timing = (TimeElapsedColumn(), TextColumn("left about"), TimeRemainingColumn())
    with Progress(*columns, *timing, console=console, transient=True) as progress:
        task = progress.add_task(text, total=total)
        done, told = 0, 0.0

        def advance(steps: int) -> None:
            nonlocal done, told
            done += steps
            # A step can be shorter than the drawing of a bar.
            if time.monotonic() - told >= _EVERY:
                progress.update(task, completed=done)
                told = time.monotonic()

        yield advance
