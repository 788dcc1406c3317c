"""The measures of a model's answers that need the truth: superposition beyond the truth's own, and the error beside
the trivial one. Each control answers too: a table of the seen examples, a readout of random features, the random
network.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from recombine_lab.probes.grids.cells import Cells, Numbers
from recombine_lab.probes.grids.design import Flags
from recombine_lab.probes.grids.intervals import jackknife, left_out
from recombine_lab.probes.grids.kernel_measures import Found
from recombine_lab.probes.grids.outputs import Outputs, about, errors_by_cell, output_coverage, superposed

SUPERPOSITION, EXCESS = "superposition", "superposition beyond the truth"
GAP, SEEN_ERROR = "error on unseen / trivial", "error on seen / trivial"
PARTIAL = "partial input"
STRIPES = ("stripes on own axis", "stripes on other axes", "stripes on no axis")
COVERAGE = ("outputs unlit", "unseen energy on unlit outputs", "unseen energy in the span of seen")


@dataclass(frozen=True, eq=False)
class Question:
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
class Tally:
    """Of how many unseen combinations the error is beyond the trivial one, beyond half of it, or below half of it."""

    unseen: int
    worse: int
    wrong: int
    right: int


def tallied(answers: Outputs, question: Question) -> Tally:
    """Each unseen combination by itself; one that is at rest and answered so is on neither side."""
    errors, trivial = (one[~question.seen] for one in (errors_by_cell(answers, question.truth), question.trivial))
    sides = (errors > trivial, errors > trivial / 2, errors < trivial / 2)
    return Tally(len(errors), *(int(side.sum()) for side in sides))


def answer_measures(
    answers: Outputs, question: Question, own_truth: Numbers, *, sure: bool = False
) -> dict[str, Found]:
    """Superposition, its excess over the truth's, and errors relative to the trivial answer."""
    codes, seen = question.cells.codes, question.seen
    blocks, of_seen = (left_out(codes, among) if sure else [] for among in (~seen, seen))
    found = question.superposition_of(answers)
    errors, trivial = errors_by_cell(answers, question.truth), question.trivial
    return {
        SUPERPOSITION: _estimated(lambda rows: _mean(found[rows]), blocks, len(found)),
        EXCESS: _estimated(lambda rows: _mean((found - own_truth)[rows]), blocks, len(found)),
        GAP: _estimated(lambda rows: _ratio(errors, trivial, rows & ~seen), blocks, len(found), least=0),
        SEEN_ERROR: _estimated(lambda rows: _ratio(errors, trivial, rows & seen), of_seen, len(found), least=0),
    }


def coverage_measures(question: Question) -> dict[str, Found]:
    """Output coverage, for which no model is needed."""
    if not float(question.trivial[~question.seen].sum()) > 0:
        return {name: Found(None) for name in COVERAGE}
    found = output_coverage(question.truth, question.seen, rest=question.rest)
    return dict(zip(COVERAGE, map(Found, (found.unlit, found.dark, found.spanned)), strict=True))


def _estimated(
    estimate: Callable[[Flags], float | None], blocks: list[list[Flags]], count: int, *, least: float = -np.inf
) -> Found:
    value = estimate(np.ones(count, dtype=bool))
    return Found(value, *jackknife(estimate, value, blocks, least=least)) if blocks else Found(value)


def _mean(values: Numbers) -> float | None:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else None


def _ratio(errors: Numbers, trivial: Numbers, rows: Flags) -> float | None:
    whole = float(trivial[rows].sum())
    return float(errors[rows].sum()) / whole if whole > 0 else None


def readout(kernel: Numbers, question: Question, *, ridge: float = 1e-3) -> Numbers:
    """(c, d) What a model of fixed features answers, fitted to the seen examples: ridge regression from rest."""
    seen = question.seen
    wanted = question.truth[seen] - question.rest
    inner = kernel[np.ix_(seen, seen)]
    inner = inner + ridge * float(np.trace(inner)) / len(inner) * np.eye(len(inner))
    return np.asarray(kernel[:, seen] @ np.linalg.solve(inner, wanted) + question.rest)


def from_memory(question: Question) -> Numbers:
    """(c, d) What a table of the seen examples answers: the truth where it was seen, else nothing."""
    return np.where(question.seen[:, None], question.truth, question.rest)
