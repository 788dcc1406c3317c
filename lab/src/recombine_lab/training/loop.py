"""The training loop: the same for one run and for several that are trained as one.

Ctrl-C waits for the end of a step: an update that is half done is no state to go on from.
"""

import math
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from time import monotonic
from types import FrameType

import torch
from torch import nn

from recombine_lab.runs.run import MODEL_FILE
from recombine_lab.training.batches import Feed
from recombine_lab.training.checkpoints import RunStore, Unfinished, Way, save_unfinished, weights_of
from recombine_lab.training.learners import RunTrainer
from recombine_lab.training.member import Member
from recombine_lab.training.questions import Evaluated, training_loss
from recombine_lab.training.recipe import evaluation_steps

_SHARE = 0.02  # of the time may go into saving unfinished runs
_LEAST_SECONDS = 15.0  # between two saves: shorter runs start again as quickly


@dataclass(frozen=True)
class StepEvent:
    """What a callback is told: after how many of the steps, each run's loss, and the evaluations made just now.

    Runs that are trained as one are told of together, in their order; `evaluations` is empty at most steps. `module(k)`
    is the network of run k as it stands, good until the callback returns.
    """

    step: int
    steps: int
    losses: tuple[float, ...]
    evaluations: tuple[tuple[Evaluated, ...], ...] = ()
    module: Callable[[int], nn.Module] = field(default=lambda _: nn.Identity(), repr=False, compare=False)


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
        self, members: Sequence[Member], learner: RunTrainer, feed: Feed, *, way: Way, context: TrainingContext
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
            event = StepEvent(step, self._steps, tuple(losses), found, self._learner.module)
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
            result = member.result = replace(result, weights=read, start=member.starter())
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
def terminating_as_interrupt() -> Iterator[None]:
    """Within, SIGTERM does what Ctrl-C does: Slurm and Kubernetes send it some time before they kill.

    Also where Ctrl-C itself is ignored, as a shell has it for what runs in the background. Nothing is changed outside
    the main thread.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(_: int, frame: FrameType | None) -> None:
        interrupt = signal.getsignal(signal.SIGINT)
        if not callable(interrupt):
            raise KeyboardInterrupt
        interrupt(signal.SIGINT, frame)

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def deferred_interrupt(*, wanted: bool) -> Iterator[Callable[[], bool]]:
    """Within, a first Ctrl-C is only noted, for whoever asks; a second one does not wait. So is SIGTERM, if it is one.

    One that nobody acted on is handed on at the end, to whoever handled it before. Nothing is held back outside the
    main thread, or where the signal is ignored.

    >>> with deferred_interrupt(wanted=True) as interrupted:
    ...     interrupted()
    False
    """
    numbers = (signal.SIGINT, signal.SIGTERM) if wanted else ()
    before = {number: handler for number in numbers if callable(handler := signal.getsignal(number))}
    if not before or threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    noted: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        if noted:
            before[signal.Signals(number)](number, frame)
        noted.append(number)

    for number in before:
        signal.signal(number, note)
    try:
        yield lambda: bool(noted)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if noted:
        before[signal.Signals(noted[0])](noted[0], None)
