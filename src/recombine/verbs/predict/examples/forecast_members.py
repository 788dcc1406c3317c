"""The machines that are asked together: each kernel with each loss, and how each is set on held-out seen rows.

Nobody knows what network will be trained, so networks of several depths are asked. For a label with the largest margin,
for a number with next to no ridge (*fitted*): of the trained networks that were looked at, most were nearer to these
than to machines with the best ridge (*squared*). If a seen score is known or assumed, machines that are stopped where
they have that score are asked as well.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from recombine.numerics.groups import Numbers
from recombine.verbs.predict.examples import kernel_machines
from recombine.verbs.predict.examples.input_kernels import Kernel, fetched
from recombine.verbs.predict.examples.kernel_machines import MOST_PAIRED, CodedAnswers, Flow, Machine, Ridge

Loss = Literal["margin", "squared", "fitted", "stopped"]
_CHOSEN_ON = 1_000
"""Rows that a ridge is chosen on."""


def losses_of(answers: CodedAnswers, seen_score: float | None) -> tuple[Loss, ...]:
    """Which losses are asked: what a network tends to that is trained until it has learnt what it was shown."""
    few = answers.kind == "label" and answers.classes <= MOST_PAIRED
    found: tuple[Loss, ...] = ("margin",) if few else ("fitted",)
    return found if seen_score is None else (*found, "stopped")


@dataclass(frozen=True, eq=False)
class KernelRows:
    """Training rows as a kernel sees them: their matrix and their answers. The last of them are held out at first."""

    kernel: Kernel
    matrix: Any  # (n, n), where it was made
    answers: CodedAnswers
    first: int  # rows that are fitted while the others are held out
    alone: bool = False  # whether every row is a combination of its own, so that nothing is known of noise

    def part(self, rows: Any, columns: Any) -> Any:
        """Some rows of the matrix, by some of its columns."""
        return self.matrix[rows][:, columns]

    @property
    def held(self) -> CodedAnswers:
        """The answers of the rows that are held out."""
        return self.answers[self.first :]


@dataclass(frozen=True, eq=False)
class ForecastMember:
    """One machine: fitted without the held-out rows (`first`), and with them (`whole`).

    `raw` and `marks` are of the held-out rows. One that was stopped stays as it was.
    """

    name: str
    loss: Loss
    ridge: float
    first: Machine
    whole: Machine | None
    raw: Numbers
    marks: Numbers
    reached: bool = True  # whether it ever had the seen score that was asked for

    def fit(self, matrix: Any, answers: CodedAnswers) -> Machine:
        """The same machine on other rows."""
        if self.loss == "margin":
            return kernel_machines.margin(matrix, answers)
        return kernel_machines.squared(matrix, answers, ridge=self.ridge)

    def answer(self, between: Numbers) -> Numbers:
        """Scores of other rows, by the kernel between them and all training rows."""
        if self.whole is None:
            return self.first.answer(between[:, : len(self.first.weights)])
        return self.whole.answer(between)


def made(
    rows: KernelRows, losses: Sequence[Loss], *, seen_score: float | None = None, whole: bool = True
) -> list[ForecastMember]:
    """Every loss with this kernel; `whole` asks for the machines that are fitted to all rows as well."""
    between = fetched(rows.matrix[rows.first :, : rows.first])
    found = []
    for loss in losses:
        if loss == "margin":
            found.append(_margin(rows, between, whole=whole))
        elif loss in ("squared", "fitted"):
            found.append(_squared(rows, between, loss))
        else:
            found.append(_stopped(rows, between, seen_score))
    return found


def _margin(rows: KernelRows, between: Numbers, *, whole: bool) -> ForecastMember:
    first = kernel_machines.margin(rows.matrix[: rows.first, : rows.first], rows.answers[: rows.first])
    all_rows = kernel_machines.margin(rows.matrix, rows.answers) if whole else None
    raw = first.raw(between)
    marks = rows.held.marks(first.scores(raw))
    return ForecastMember(f"{rows.kernel.name} margin", "margin", 0.0, first, all_rows, raw, marks)


def _squared(rows: KernelRows, between: Numbers, loss: Loss) -> ForecastMember:
    """Ridge regression; *fitted* is the one with next to no ridge: a network that is trained for long tends to it."""
    ridge = _chosen(rows, between) if loss == "squared" else kernel_machines.RIDGES[0]
    factored = Ridge.of(rows.matrix, ridge)
    first = factored.fit(rows.answers[: rows.first])
    raw = first.raw(between)
    name, whole = f"{rows.kernel.name} {loss}", factored.fit(rows.answers)
    return ForecastMember(name, loss, ridge, first, whole, raw, rows.held.marks(raw))


def _chosen(rows: KernelRows, between: Numbers) -> float:
    """The ridge with the least error on held-out rows, from as many others as take no time.

    What ridge is best hardly depends on how many rows there are: it is the noise of one row, beside the kernel. Where
    every row is a combination of its own none is seen, and a network fits what it is shown: there is next to no ridge.
    """
    if rows.alone:
        return kernel_machines.RIDGES[0]
    few = np.linspace(0, rows.first - 1, min(rows.first, _CHOSEN_ON)).astype(np.int64)
    small, answers = rows.part(few, few), rows.answers[few]
    errors = []
    for ridge in kernel_machines.RIDGES:
        raw = kernel_machines.squared(small, answers, ridge=ridge).raw(between[:, few])
        errors.append(float(np.square(raw - rows.held.coded).sum()))
    return kernel_machines.RIDGES[int(np.argmin(errors))]


def _stopped(rows: KernelRows, between: Numbers, seen_score: float | None) -> ForecastMember:
    """Judged on held-out rows. Where every row is a combination of its own, its seen score is that on what it fits."""
    fitted = len(rows.answers) if rows.alone else rows.first
    answers, matrix = rows.answers[:fitted], rows.matrix[:fitted, :fitted]
    judged, own = (answers, fetched(matrix)) if rows.alone else (rows.held, between)
    constant = judged.marks(np.tile(answers.coded.mean(axis=0), (len(judged), 1)))

    def judge(scores: Numbers) -> float:
        return score(judged.kind, judged.marks(scores), constant)

    wanted = np.inf if seen_score is None else seen_score
    machine, reached = kernel_machines.stopped(Flow.of(matrix, answers), own, judge, wanted)
    raw = machine.raw(own[rows.first :] if rows.alone else between)
    marks = rows.held.marks(machine.scores(raw))
    return ForecastMember(f"{rows.kernel.name} stopped", "stopped", 0.0, machine, None, raw, marks, reached)


def score(kind: str, marks: Numbers, constant: Numbers) -> float:
    """The share of right rows; of numbers one less the squared error over that of the constant answer."""
    if not len(marks):
        return float("nan")
    if kind == "label":
        return float(marks.mean())
    return 1 - float(marks.sum()) / float(constant.sum()) if constant.sum() > 0 else float("nan")
