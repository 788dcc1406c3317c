"""One forecast from examples under way: the rows that were drawn, what kernels make of them, and the machines."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from recombine.algebra.groups import Ints, Numbers
from recombine.seeds import derived
from recombine.statistics.predictive import Score
from recombine.statistics.resampling import IntervalSettings
from recombine.theory.examples import sampling
from recombine.theory.examples.arrays import fetched, gigabytes, most_rows, placed, refuse_too_large
from recombine.theory.examples.checking import Examples
from recombine.theory.examples.kernels import Kernel, Scaling, linear, matrices
from recombine.theory.examples.landmarks import fitted
from recombine.theory.examples.machines import RIDGES, Answered, Machine
from recombine.theory.examples.members import Loss, Member, Rows, made, score
from recombine.words import percent

FEWEST_HELD = 5
LANDMARKS = 2_500
"""Rows that stand for all where there are too many, a fifth of them held out."""
_ALIKE = 0.03
"""Seen scores that differ by no more are the same, by chance."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Who is asked, about how many rows, and what is known besides."""

    kernels: tuple[Kernel, ...]
    losses: tuple[Loss, ...]
    seen_score: float | None
    most: int  # rows
    of: int | None  # unseen combinations
    seed: int
    device: str | None
    time_limit: float | None = None  # seconds
    progress: Callable[[float], None] = lambda _: None

    @property
    def intervals(self) -> IntervalSettings:
        """How sure intervals are to be."""
        return IntervalSettings(seed=self.seed)


class OutOfTime(Exception):  # noqa: N818 - what is left out for it is said in a sentence, and nothing has failed
    """Solving took longer than it may; says how far it came."""


class Work:
    """The training rows in an order in which the last are held out at first, and each kernel in turn."""

    def __init__(self, train: Examples, settings: Settings) -> None:
        self.settings, self.of_rows, self.notes = settings, len(train), list[str]()
        self.steps, self._solved, self._began = 0, 0, time.monotonic()
        combination, _ = sampling.numbered(train.codes)
        chosen = every = sampling.drawn(combination, settings.most, seed=settings.seed)
        self.through = len(chosen) > most_rows(kernels=len(settings.kernels))
        if self.through:
            chosen = every[sampling.drawn(combination[every], LANDMARKS, seed=settings.seed)]
        fitted, held, self.alone = _parts(combination[chosen], settings.seed)
        self.train, self.first = train[chosen][np.concatenate([fitted, held])], len(fitted)
        self.combination, _ = sampling.numbered(self.train.codes)
        self.scaling = Scaling.of(self.train.inputs)
        self.every = train[np.setdiff1d(every, chosen[held])] if self.through else self.train
        self.fitted_rows = len(every)
        if len(every) < self.of_rows:
            self.notes.append(
                f"{len(every):,} of the {self.of_rows:,} rows were fitted, as many of each combination as there were."
            )
        if self.through:
            size = gigabytes(len(every), kernels=len(settings.kernels))
            self.notes.append(
                f"Kernels of {len(every):,} rows would take {size:,.0f} GB, so {self.first:,} of them stand for all "
                "(Nyström), and squared error for the margin."
            )
        if self.alone:
            self.notes.append("No combination has a second row, so noise within combinations cannot be told apart.")

    @property
    def score(self) -> Score:
        """The score's name."""
        return self.train.answers.score

    @property
    def held(self) -> Examples:
        """The rows that are held out at first."""
        return self.train[self.first :]

    @property
    def asked_members(self) -> int:
        """How many machines are asked."""
        return len(self.settings.kernels) * (1 if self.through else len(self.settings.losses))

    def rows(self, kernels: tuple[Kernel, ...]) -> list[Rows]:
        """The training rows as each kernel sees them."""
        refuse_too_large(len(self.train), kernels=len(kernels))
        found = self._matrices(kernels, self.train.inputs)
        return [
            Rows(one, matrix, self.train.answers, self.first, self.alone)
            for one, matrix in zip(kernels, found, strict=True)
        ]

    def between(self, kernels: tuple[Kernel, ...], inputs: Numbers) -> list[Numbers]:
        """Each kernel between some rows and the training rows."""
        return [fetched(matrix) for matrix in self._matrices(kernels, inputs)]

    def _matrices(self, kernels: tuple[Kernel, ...], inputs: Numbers) -> list[Any]:
        """The kernels between some rows and the training rows, those together that want them alike."""
        found: dict[int, Any] = {}
        for alike in sorted({one.scaled for one in kernels}):
            places = [place for place, one in enumerate(kernels) if one.scaled == alike]
            wanted = [kernels[place] for place in places]
            rows, own = (
                placed(self.scaling(part, wanted[0]), self.settings.device) for part in (inputs, self.train.inputs)
            )
            found |= dict(zip(places, matrices(wanted, rows, own), strict=True))
        return [found[place] for place in range(len(kernels))]

    def made(self, rows: Rows, losses: Sequence[Loss], *, whole: bool = True) -> list[Member]:
        """The machines of one kernel."""
        if self.through and whole:
            member = self._through_landmarks(rows)
            self.solved(member.name)
            return [member]
        found = list[Member]()
        for loss in losses:
            found += made(rows, (loss,), seen_score=self.settings.seen_score, whole=whole)
            self.solved(found[-1].name, found[-1].first, *([found[-1].whole] if found[-1].whole else []))
        missed = [member.name for member in found if not member.reached]
        self.notes.extend(
            f"{name} never has a seen score of {self.settings.seen_score}, and is stopped at its best."
            for name in missed
        )
        return found

    def solved(self, name: str, *machines: Machine) -> None:
        """One of `steps` is done: say how far it is, note a solver that was stopped, and end where time is over."""
        note = f"{name} was stopped short of the largest margin: these inputs hardly tell rows of its classes apart."
        if note not in self.notes and not all(machine.finished for machine in machines):
            self.notes.append(note)
        self._solved += 1
        self.settings.progress(min(self._solved / max(self.steps, 1), 1.0))
        limit = self.settings.time_limit
        if limit is not None and self._solved < self.steps and time.monotonic() - self._began > limit:
            raise OutOfTime(f"{self._solved} of {self.steps} steps were solved")

    def _through_landmarks(self, rows: Rows) -> Member:
        """A machine that all rows were fitted to, but for those held out; beside it the one of half the landmarks."""
        landmarks, own = (self.scaling(part.inputs, rows.kernel) for part in (self.train[: self.first], self.every))
        ridge = RIDGES[0]
        found = fitted(rows.kernel, landmarks, own, self.every.answers, ridge=ridge)
        self.notes.append(f"{rows.kernel.name}: {percent(found.kept)} of the kernel's trace is kept.")
        missing = np.zeros((len(self.train) - self.first, found.machine.weights.shape[1]))
        machine = replace(found.machine, weights=np.concatenate([found.machine.weights, missing]))
        raw = found.machine.raw(fetched(rows.matrix[self.first :, : self.first]))
        marks = rows.held.marks(raw)
        return Member(f"{rows.kernel.name} landmarks", "squared", ridge, found.half, machine, raw, marks)

    def believed(self, members: Sequence[Member]) -> list[int]:
        """All members; where a seen score is known, those alone that have it: the stopped ones, or the others."""
        every = list(range(len(members)))
        if self.settings.seen_score is None:
            return every
        usual = [place for place in every if members[place].loss != "stopped"]
        seen = self.seen([members[place] for place in usual])
        apart = abs((1.0 if seen is None else float(np.mean(seen))) - self.settings.seen_score)
        return usual if apart <= _ALIKE else [place for place in every if place not in usual]

    def seen(self, members: Sequence[Member]) -> tuple[float, ...] | None:
        """Each member's score on held-out rows of seen combinations; None where no combination can spare one."""
        if self.alone:
            return None
        held = self.held.answers
        constant = marks_of_constant(constant_of(self.train.answers), held)
        return tuple(score(held.kind, member.marks, constant) for member in members)

    def probe(self, asked: Examples) -> float:
        """What a linear rule on the inputs gets."""
        rule = (linear(),)
        (member,) = made(self.rows(rule)[0], ("squared",))
        marks = asked.answers.marks(member.answer(self.between(rule, asked.inputs)[0]))
        return score(asked.answers.kind, marks, marks_of_constant(constant_of(self.train.answers), asked.answers))

    def spared(self, parts: Sequence[Ints]) -> Any:
        """Which rows, when their part is held out, leave all values of their combination in the others."""
        found = np.zeros(len(self.train), dtype=bool)
        codes = self.train.codes
        for part in parts:
            rest = np.setdiff1d(np.arange(len(self.train)), part)
            known = [np.isin(codes[part, k], codes[rest, k]) for k in range(codes.shape[1])]
            found[part] = np.logical_and.reduce(known)
        return found


def constant_of(answers: Answered, truth: Answered | None = None) -> Numbers:
    """The scores of one answer for all: the mean, or the commonest class.

    Of unseen combinations whose `truth` is known it is the class that most of them have, if that is another: a learner
    that has found it out is no better than who always says so.
    """
    if answers.kind == "number":
        return np.asarray(answers.values.mean(axis=0))
    commonest = int(np.bincount(answers.labels, minlength=answers.classes).argmax())
    if truth is not None:
        theirs = np.bincount(truth.labels, minlength=answers.classes)
        commonest = commonest if theirs[commonest] == theirs.max() else int(theirs.argmax())
    return np.asarray(np.arange(answers.classes) == commonest, dtype=np.float64)


def marks_of_constant(constant: Numbers, answers: Answered) -> Numbers:
    """How one answer for all fares on each row."""
    return answers.marks(np.tile(constant, (len(answers), 1)))


def by_combination(marks: Numbers, place: Ints) -> Numbers:
    """The mean over the rows of each combination, of one line of marks or several."""
    counts = np.bincount(place)
    several = np.atleast_2d(marks)
    found = np.array([np.bincount(place, one) / counts for one in several])
    return found if marks.ndim > 1 else found[0]


def _parts(combination: Ints, seed: int) -> tuple[Ints, Ints, bool]:
    """Rows to fit first, rows held out, and whether those are combinations of their own."""
    fitted, held = sampling.held_out(combination, seed=seed)
    order = np.random.default_rng(derived(seed, "order")).permutation(len(combination))
    if len(held) >= FEWEST_HELD:
        return order[np.isin(order, fitted)], held, False  # in no order, so that half of them are half of everything
    cut = max(1, round(sampling.HELD_OUT * len(order)))
    return order[cut:], order[:cut], True
