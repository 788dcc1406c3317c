"""The measures of a model's answers that need the truth: superposition beyond the truth's own, and the error beside
the trivial one. Each control answers too: a table of the seen examples, a readout of random features, the random
network.

What a model answers on unseen combinations: training examples laid over each other, or something new?

All of it is measured from `rest`, what an output is with nothing on it: of dark bumps on white, everything would else
look like everything. `output_coverage` needs no model and comes before training.

Letters: c combinations, u unseen ones, d outputs.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from recombine.base.errors import SettingError, TableError
from recombine_lab.base.output_coverage import LEAST_SINGULAR, OutputCoverage, coverage
from recombine_lab.probes.geometry_probe.cells import Cells, Numbers, gram_of
from recombine_lab.probes.geometry_probe.design import Flags
from recombine_lab.probes.geometry_probe.intervals import jackknife, left_out
from recombine_lab.probes.geometry_probe.kernel_measures import MeasuredInterval

LIT = 1e-2
"""An output is lit if some training example moves it by more than this share of the largest move of any output."""

Outputs = npt.NDArray[np.floating]


def resting(outputs: Outputs, seen: Flags | None, rest: float | npt.ArrayLike | None) -> Numbers:
    """(d,) or () What an output is with nothing on it: as given, else each output's median over the seen."""
    if rest is None:
        return np.median(outputs if seen is None or not seen.any() else outputs[seen], axis=0).astype(np.float64)
    given = np.asarray(rest, dtype=np.float64)
    if given.ndim and given.size != outputs.shape[1]:
        raise SettingError(
            f"rest of shape {given.shape}",
            why=f"there are {outputs.shape[1]:,} outputs",
            instead="write a number, such as rest=0.0, or one for each output",
        )
    return given.reshape(-1) if given.ndim else given


def output_coverage(
    targets: npt.ArrayLike, seen: npt.ArrayLike, *, rest: float | npt.ArrayLike = 0.0
) -> OutputCoverage:
    """What the seen targets (n, …) leave unlit of the unseen ones. No model is needed: ask before training.

    >>> output_coverage([[1.0, 0.0], [0.5, 0.5]], [True, False])
    OutputCoverage(unlit=0.5, dark=0.5, spanned=0.5)
    """
    given, shown = np.asarray(targets, dtype=np.float64), np.asarray(seen)
    if given.ndim < 2 or shown.shape != given.shape[:1] or shown.dtype != bool or not np.isfinite(given).all():
        raise SettingError(
            f"targets of shape {given.shape} with seen of shape {shown.shape} and type {shown.dtype}",
            why="each row has outputs, which are finite numbers, and was seen or was not",
            instead="give targets as (rows, outputs) and seen as a true or false for each row",
        )
    flat = given.reshape(len(given), -1)
    moved = flat - resting(flat, shown, rest)
    seen_part, unseen_part = moved[shown], moved[~shown]
    if not len(seen_part) or not np.square(unseen_part).sum() > 0:
        raise TableError(
            f"output coverage of {len(unseen_part):,} unseen by {len(seen_part):,} seen rows",
            why="there must be seen rows, and unseen ones that differ from `rest`",
            instead="give both; `rest` is the value of an output with nothing on it",
        )
    return coverage(seen_part, unseen_part, lit=LIT * float(np.abs(moved).max()))


def superposed(cells: Cells) -> Numbers:
    """(c,) For each unseen combination the R² of its vector on the span of its seen neighbours'; NaN elsewhere.

    A neighbour differs in one factor only; with two factors it is whoever shares a value. NaN too without neighbours,
    and for a vector that is at rest.
    """
    found = np.full(len(cells), np.nan)
    if cells.seen is None:
        return found
    own = np.diagonal(cells.gram)
    tall = own > 1e-12 * max(float(own.max(initial=0.0)), 1e-300)
    asked = np.flatnonzero(~cells.seen & tall)
    for start in range(0, len(asked), 512):
        rows = asked[start : start + 512]
        found[rows] = _explained(cells, rows)
    return found


def _explained(cells: Cells, rows: npt.NDArray[np.int64]) -> Numbers:
    assert cells.seen is not None  # noqa: S101 - asked of unseen combinations only
    near = ((cells.codes[rows][:, None] != cells.codes[None]).sum(axis=2) == 1) & cells.seen[None]
    most = int(near.sum(axis=1).max(initial=0))
    if not most:
        return np.full(len(rows), np.nan)
    order = np.argsort(~near, axis=1, kind="stable")[:, :most]
    there = np.take_along_axis(near, order, axis=1)
    inner = cells.gram[order[:, :, None], order[:, None, :]] * (there[:, :, None] & there[:, None, :])
    across = cells.gram[rows[:, None], order] * there
    squares, directions = np.linalg.eigh(inner)
    kept = squares > LEAST_SINGULAR**2 * squares[:, -1:].clip(min=1e-300)
    along = np.einsum("um,umk->uk", across, directions)
    explained = np.where(kept, np.square(along) / np.where(kept, squares, 1.0), 0.0).sum(axis=1)
    own = np.diagonal(cells.gram)[rows]
    return np.where(there.any(axis=1), explained / own, np.nan)


def errors_by_cell(answers: Outputs, truth: Outputs) -> Numbers:
    """(c,) The mean squared error of each combination."""
    return np.asarray(np.square(answers.astype(np.float64) - truth).mean(axis=1))


@dataclass(frozen=True, eq=False)
class Products:
    """(c,) The dot product of two vectors of each combination, and their squares: all that a correlation is made of."""

    both: Numbers
    first: Numbers
    second: Numbers

    def correlation(self, rows: Flags) -> float | None:
        """Over some of the combinations; None where one side does not vary."""
        length = float(np.sqrt(self.first[rows].sum() * self.second[rows].sum()))
        return float(self.both[rows].sum()) / length if length > 0 else None


def partial_input(answers: Outputs, alone: Outputs) -> Products:
    """The answers (c, d) beside the sum of the answers to each factor alone (c, d), for their correlation.

    Each output is measured from its mean over all combinations, so that constants play no part.

    >>> x, y = np.array([[0.0], [0.0], [1.0], [1.0]]), np.array([[0.0], [3.0], [0.0], [3.0]])
    >>> round(partial_input(x + y, x + y - 7).correlation(np.ones(4, dtype=bool)), 9)
    1.0
    """
    first, second = (one.astype(np.float64) - one.mean(axis=0, dtype=np.float64) for one in (answers, alone))
    pairs = ((first, second), (first, first), (second, second))
    return Products(*(np.einsum("cd,cd->c", one, other) for one, other in pairs))


def about(outputs: Outputs, rest: Numbers) -> Numbers:
    """(c, c) Dot products of outputs measured from rest."""
    return gram_of(outputs.astype(np.float64) - rest)


SUPERPOSITION, EXCESS = "superposition", "superposition beyond the truth"
GAP, SEEN_ERROR = "error on unseen / trivial", "error on seen / trivial"
PARTIAL = "partial input"
STRIPES = ("stripes on own axis", "stripes on other axes", "stripes on no axis")
COVERAGE = ("outputs unlit", "unseen energy on unlit outputs", "unseen energy in the span of seen")


@dataclass(frozen=True, eq=False)
class AnswerTargets:
    """What answers are held against: the truth (c, d) of the combinations, what is at rest, and who was seen."""

    truth: npt.NDArray[np.floating]
    rest: Numbers
    cells: Cells

    @property
    def seen(self) -> Flags:
        """(c,) Who was seen."""
        assert self.cells.seen is not None  # noqa: S101 - a question is asked only where some were seen
        return self.cells.seen

    @property
    def trivial(self) -> Numbers:
        """(c,) The error of an answer at rest."""
        return errors_by_cell(np.broadcast_to(self.rest, self.truth.shape), self.truth)

    def superposition_of(self, answers: Outputs) -> Numbers:
        """(c,) R² on seen neighbours, of each unseen combination."""
        return superposed(replace(self.cells, gram=about(answers, self.rest)))


@dataclass(frozen=True)
class ErrorTally:
    """Of how many unseen combinations the error is beyond the trivial one, beyond half of it, or below half of it."""

    unseen: int
    worse: int
    wrong: int
    right: int


def tallied(answers: Outputs, question: AnswerTargets) -> ErrorTally:
    """Each unseen combination by itself; one that is at rest and answered so is on neither side."""
    errors, trivial = (one[~question.seen] for one in (errors_by_cell(answers, question.truth), question.trivial))
    sides = (errors > trivial, errors > trivial / 2, errors < trivial / 2)
    return ErrorTally(len(errors), *(int(side.sum()) for side in sides))


def answer_measures(
    answers: Outputs, question: AnswerTargets, own_truth: Numbers, *, sure: bool = False
) -> dict[str, MeasuredInterval]:
    """Superposition, its excess over the truth's, and errors relative to the trivial answer."""
    codes, seen = question.cells.codes, question.seen
    blocks, of_seen = (left_out(codes, among) if sure else [] for among in (~seen, seen))
    found = question.superposition_of(answers)
    errors, trivial = errors_by_cell(answers, question.truth), question.trivial
    return {
        SUPERPOSITION: _estimated(lambda rows: _mean(found[rows]), blocks, len(found), 0, 1),
        EXCESS: _estimated(lambda rows: _mean((found - own_truth)[rows]), blocks, len(found), -1, 1),
        GAP: _estimated(lambda rows: _ratio(errors, trivial, rows & ~seen), blocks, len(found)),
        SEEN_ERROR: _estimated(lambda rows: _ratio(errors, trivial, rows & seen), of_seen, len(found)),
    }


def coverage_measures(question: AnswerTargets) -> dict[str, MeasuredInterval]:
    """Output coverage, for which no model is needed."""
    if not float(question.trivial[~question.seen].sum()) > 0:
        return {name: MeasuredInterval(None) for name in COVERAGE}
    found = output_coverage(question.truth, question.seen, rest=question.rest)
    return dict(zip(COVERAGE, map(MeasuredInterval, (found.unlit, found.dark, found.spanned)), strict=True))


def _estimated(
    estimate: Callable[[Flags], float | None],
    blocks: list[list[Flags]],
    count: int,
    least: float = 0.0,
    most: float = np.inf,
) -> MeasuredInterval:
    value = estimate(np.ones(count, dtype=bool))
    return MeasuredInterval(value, *jackknife(estimate, value, blocks, least=least, most=most), least, most)


def _mean(values: Numbers) -> float | None:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else None


def _ratio(errors: Numbers, trivial: Numbers, rows: Flags) -> float | None:
    whole = float(trivial[rows].sum())
    return float(errors[rows].sum()) / whole if whole > 0 else None


def readout(kernel: Numbers, question: AnswerTargets, *, ridge: float = 1e-3) -> Numbers:
    """(c, d) What a model of fixed features answers, fitted to the seen examples: ridge regression from rest."""
    seen = question.seen
    wanted = question.truth[seen] - question.rest
    inner = kernel[np.ix_(seen, seen)]
    inner = inner + ridge * float(np.trace(inner)) / len(inner) * np.eye(len(inner))
    return np.asarray(kernel[:, seen] @ np.linalg.solve(inner, wanted) + question.rest)


def from_memory(question: AnswerTargets) -> Numbers:
    """(c, d) What a table of the seen examples answers: the truth where it was seen, else nothing."""
    return np.where(question.seen[:, None], question.truth, question.rest)
