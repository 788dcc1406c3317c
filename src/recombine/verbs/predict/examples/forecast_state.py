"""One forecast from examples under way: the rows that were drawn, what kernels make of them, and the machines.

Arrays as they are given, held against one another: rows with their inputs, answers and combinations.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from recombine.base.errors import SettingError, TableError
from recombine.base.seeds import derived
from recombine.base.words import percent
from recombine.data.centred_sums import LARGEST
from recombine.numerics.groups import Codes, Ints, Numbers
from recombine.numerics.predictive_intervals import Score
from recombine.numerics.resampling import IntervalSettings
from recombine.verbs.predict.examples import example_rows
from recombine.verbs.predict.examples.forecast_members import ForecastMember, KernelRows, Loss, made, score
from recombine.verbs.predict.examples.input_kernels import (
    Kernel,
    Scaling,
    fetched,
    gigabytes,
    linear,
    matrices,
    most_rows,
    placed,
    refuse_too_large,
)
from recombine.verbs.predict.examples.kernel_machines import RIDGES, CodedAnswers, Kind, Machine, fitted


@dataclass(frozen=True, eq=False)
class InputExamples:
    """Rows with their inputs, answers and combinations."""

    inputs: Numbers
    answers: CodedAnswers
    codes: Codes

    def __len__(self) -> int:
        return len(self.inputs)

    def __getitem__(self, rows: Any) -> "InputExamples":
        return InputExamples(self.inputs[rows], self.answers[rows], self.codes[rows])


def read(
    x: Any, y: Any, codes: Any, x_unseen: Any, codes_unseen: Any, truth: Any, kind: Kind | None
) -> tuple[InputExamples, InputExamples | None, CodedAnswers | None]:
    """The arrays, checked to be in step with one another."""
    inputs = checked_inputs(x)
    refuse_constant(inputs)
    own_codes = codes_of(codes, None)
    targets = np.asarray(y)
    _in_step(len(inputs), len(targets), "y")
    _in_step(len(inputs), len(own_codes), "codes")
    answers, known = answered(targets, None if truth is None else np.asarray(truth), kind)
    train = InputExamples(inputs, answers, own_codes)
    if x_unseen is None or known is None:
        return train, None, known
    others = checked_inputs(x_unseen, width=inputs.shape[1])
    other_codes = codes_of(codes_unseen, own_codes.shape[1])
    _in_step(len(others), len(known), "truth_unseen")
    _in_step(len(others), len(other_codes), "codes_unseen")
    return train, InputExamples(others, known, other_codes), known


def answered(y: Any, truth: Any | None, kind: Kind | None) -> tuple[CodedAnswers, CodedAnswers | None]:
    """Targets and truths with one numbering of their classes; whole numbers and text are labels unless told."""
    number = kind == "number" or (kind is None and (y.ndim > 1 or y.dtype.kind == "f"))
    if number:
        own = _numbers(y, "y")
        share = bool(((own == 0) | (own == 1)).all())
        others = None if truth is None else CodedAnswers("number", _numbers(truth, "truth_unseen"), share=share)
        return CodedAnswers("number", own, share=share), others
    classes, places = np.unique(y if truth is None else np.concatenate([y, truth]), return_inverse=True)
    values = places.astype(np.float64)[:, None]
    own_labels = CodedAnswers("label", values[: len(y)], len(classes))
    if not own_labels.varies:
        raise TableError(
            "every training row has the same answer",
            why="with one class only, every learner answers that class everywhere",
            instead="choose a target with at least two classes, or read more rows",
        )
    return own_labels, None if truth is None else CodedAnswers("label", values[len(y) :], len(classes))


def _numbers(values: Any, name: str) -> Numbers:
    found = np.asarray(values, dtype=np.float64).reshape(len(values), -1)
    if not (np.abs(found) <= LARGEST).all():
        raise TableError(
            f"{name} holds numbers that are missing or infinite, or some beyond {LARGEST}",
            why="an error of such a row is not a number",
            instead="leave those rows out, with their inputs",
        )
    return found


def codes_of(codes: Any, factors: int | None) -> Codes:
    """The place of a value for each row and factor."""
    found = np.asarray(codes)
    if found.ndim != 2 or (factors is not None and found.shape[1] != factors):
        raise SettingError(
            f"codes of shape {found.shape}",
            why="each row has the place of a value for each factor" + (f", {factors} of them" if factors else ""),
            instead="give whole numbers of shape (rows, factors)",
        )
    return found.astype(np.int32)


def _in_step(inputs: int, others: int, name: str) -> None:
    if inputs != others:
        raise SettingError(
            f"{inputs:,} rows of inputs and {others:,} of {name}",
            why="row i of one belongs to row i of the other",
            instead="give them in the same order, one for each row",
        )


def checked_inputs(given: Any, *, width: int | None = None) -> Numbers:
    """Inputs as rows of numbers, none of them missing."""
    found = np.asarray(given, dtype=np.float64)
    found = found.reshape(len(found), -1) if found.ndim else found.reshape(0, 0)
    if not len(found) or not found.shape[1]:
        raise TableError(
            f"inputs of shape {np.shape(given)}",
            why="there is nothing to compare",
            instead="give an array with a row of numbers for each example",
        )
    if width is not None and found.shape[1] != width:
        raise SettingError(
            f"{found.shape[1]:,} inputs for the rows of unseen combinations",
            why=f"the other rows have {width:,}",
            instead="make both by the same features",
        )
    bad = ~(np.abs(found) <= LARGEST).all(axis=1)
    if bad.any():
        raise TableError(
            f"the inputs of {bad.sum():,} of {len(found):,} rows hold NaN or infinite numbers, or some beyond "
            f"{LARGEST}",
            why=f"such a row is like no other; the first is number {int(bad.argmax()) + 1:,} of those that were drawn",
            instead="leave those rows out, or fill the gaps first",
        )
    return found


def refuse_constant(inputs: Numbers) -> None:
    """Refuse inputs that are the same in every row."""
    if not np.ptp(inputs, axis=0).any():
        raise TableError(
            f"the inputs are the same in all {len(inputs):,} rows",
            why="from them no row can be told from another",
            instead="check the column or file: an embedding of the wrong layer, or of an empty text, looks like this",
        )


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

    def __init__(self, train: InputExamples, settings: Settings) -> None:
        self.settings, self.of_rows, self.notes = settings, len(train), list[str]()
        self.steps, self._solved, self._began = 0, 0, time.monotonic()
        combination, _ = example_rows.numbered(train.codes)
        chosen = every = example_rows.drawn(combination, settings.most, seed=settings.seed)
        self.through = len(chosen) > most_rows(kernels=len(settings.kernels))
        if self.through:
            chosen = every[example_rows.drawn(combination[every], LANDMARKS, seed=settings.seed)]
        fitted, held, self.alone = _parts(combination[chosen], settings.seed)
        self.train, self.first = train[chosen][np.concatenate([fitted, held])], len(fitted)
        self.combination, _ = example_rows.numbered(self.train.codes)
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
    def held(self) -> InputExamples:
        """The rows that are held out at first."""
        return self.train[self.first :]

    @property
    def asked_members(self) -> int:
        """How many machines are asked."""
        return len(self.settings.kernels) * (1 if self.through else len(self.settings.losses))

    def rows(self, kernels: tuple[Kernel, ...]) -> list[KernelRows]:
        """The training rows as each kernel sees them."""
        refuse_too_large(len(self.train), kernels=len(kernels))
        found = self._matrices(kernels, self.train.inputs)
        return [
            KernelRows(one, matrix, self.train.answers, self.first, self.alone)
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

    def made(self, rows: KernelRows, losses: Sequence[Loss], *, whole: bool = True) -> list[ForecastMember]:
        """The machines of one kernel."""
        if self.through and whole:
            member = self._through_landmarks(rows)
            self.solved(member.name)
            return [member]
        found = list[ForecastMember]()
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

    def _through_landmarks(self, rows: KernelRows) -> ForecastMember:
        """A machine that all rows were fitted to, but for those held out; beside it the one of half the landmarks."""
        landmarks, own = (self.scaling(part.inputs, rows.kernel) for part in (self.train[: self.first], self.every))
        ridge = RIDGES[0]
        found = fitted(rows.kernel, landmarks, own, self.every.answers, ridge=ridge)
        self.notes.append(f"{rows.kernel.name}: {percent(found.kept)} of the kernel's trace is kept.")
        missing = np.zeros((len(self.train) - self.first, found.machine.weights.shape[1]))
        machine = replace(found.machine, weights=np.concatenate([found.machine.weights, missing]))
        raw = found.machine.raw(fetched(rows.matrix[self.first :, : self.first]))
        marks = rows.held.marks(raw)
        return ForecastMember(f"{rows.kernel.name} landmarks", "squared", ridge, found.half, machine, raw, marks)

    def believed(self, members: Sequence[ForecastMember]) -> list[int]:
        """All members; where a seen score is known, those alone that have it: the stopped ones, or the others."""
        every = list(range(len(members)))
        if self.settings.seen_score is None:
            return every
        usual = [place for place in every if members[place].loss != "stopped"]
        seen = self.seen([members[place] for place in usual])
        apart = abs((1.0 if seen is None else float(np.mean(seen))) - self.settings.seen_score)
        return usual if apart <= _ALIKE else [place for place in every if place not in usual]

    def seen(self, members: Sequence[ForecastMember]) -> tuple[float, ...] | None:
        """Each member's score on held-out rows of seen combinations; None where no combination can spare one."""
        if self.alone:
            return None
        held = self.held.answers
        constant = marks_of_constant(constant_of(self.train.answers), held)
        return tuple(score(held.kind, member.marks, constant) for member in members)

    def probe(self, asked: InputExamples) -> float:
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


def constant_of(answers: CodedAnswers, truth: CodedAnswers | None = None) -> Numbers:
    """The scores of one answer for all: the mean, or the commonest class.

    Of unseen combinations whose `truth` is known it is the class that most of them have, if that is another: a learner
    that has found it out is no better than predicting the majority class.
    """
    if answers.kind == "number":
        return np.asarray(answers.values.mean(axis=0))
    commonest = int(np.bincount(answers.labels, minlength=answers.classes).argmax())
    if truth is not None:
        theirs = np.bincount(truth.labels, minlength=answers.classes)
        commonest = commonest if theirs[commonest] == theirs.max() else int(theirs.argmax())
    return np.asarray(np.arange(answers.classes) == commonest, dtype=np.float64)


def marks_of_constant(constant: Numbers, answers: CodedAnswers) -> Numbers:
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
    fitted, held = example_rows.held_out(combination, seed=seed)
    order = np.random.default_rng(derived(seed, "order")).permutation(len(combination))
    if len(held) >= FEWEST_HELD:
        return order[np.isin(order, fitted)], held, False  # in no order, so that half of them are half of everything
    cut = max(1, round(example_rows.HELD_OUT * len(order)))
    return order[cut:], order[:cut], True
