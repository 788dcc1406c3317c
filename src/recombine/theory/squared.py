"""The squared loss by the shortest exact way: a small matrix, one factor eliminated, or the iterative solver.

Every way gives dual weights a with (kernel + penalty) a = answers, for several answers at once. A free intercept
(the constant's weight is infinite) is generalised least squares: solve for the answers and for ones, and combine.

`Fitted` is what comes out: what a learner answers on any combination, and what each conjunction contributes. Its answer
is a sum over the conjunctions of the combination that were seen: the constant, each value, each pair, and so on up to
the combination itself. A conjunction that was never seen contributes nothing.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from recombine.algebra.groups import Codes, Ints, Numbers
from recombine.errors import SettingError, TableError
from recombine.tables.support import Support
from recombine.theory import solver
from recombine.theory.salience import members
from recombine.theory.solver import Design, Penalty, TwoFactors, eliminable, kernel

Weights = tuple[float, ...]
"""The weight of every set of factors, by bit mask: the constant first, the full set last."""

SMALL = 300
"""Up to this many combinations a matrix is quicker than group sums, and exact to the last digits."""
LARGEST_MATRIX = 6_000
MANY_SETS = 60
"""With more sets of factors than this (six factors and more) a matrix stays the quicker way for longer."""
_LIMITS = (1e-6, 1e-9)
_LIMIT_STEPS = 6
_ENOUGH = 1e-6
_ROUNDING = 1e-8  # of the answers: smaller steps towards the limit are rounding, over a small penalty
_CHUNK = 1 << 18


@dataclass(frozen=True, eq=False)
class Duals:
    """Dual weights (n, m), the free intercept of each question (zero if there is none), and how well they solve."""

    weights: Numbers
    intercept: Numbers
    residual: float
    iterations: int


def squared(
    support: Support, weights: Weights, penalty: Penalty, answers: Numbers, *, tolerance: float = solver.TOLERANCE
) -> Duals:
    """Dual weights for each column of answers."""
    if not math.isinf(weights[0]):
        return _checked(_solve(support, weights, penalty, answers, tolerance), tolerance)
    # A free intercept takes any constant: answers far from 0 are solved for around their mean, where their digits are.
    middle = answers.mean(axis=0)
    bordered = np.column_stack([answers - middle, np.ones(len(answers))])
    both = _checked(_solve(support, (0.0, *weights[1:]), penalty, bordered, tolerance), tolerance)
    solved, ones = both.weights[:, :-1], both.weights[:, -1]
    if not ones.any():  # nothing but the intercept: the mean
        return Duals(solved, middle, both.residual, both.iterations)
    intercept = solved.sum(axis=0) / ones.sum()
    return Duals(solved - ones[:, None] * intercept, middle + intercept, both.residual, both.iterations)


def _checked(found: Duals, tolerance: float) -> Duals:
    """No answer is better than a wrong one, whichever way it was found."""
    if found.residual <= max(1e-5, 1e3 * tolerance):
        return found
    raise TableError(
        f"the prediction was not solved: a relative residual of {found.residual:.0e} is left",
        why="the weights of the conjunctions are so unequal that the arithmetic loses its digits",
        instead="give the full combination more weight, or add a ridge: --ridge 0.01",
    )


def _solve(support: Support, weights: Weights, penalty: Penalty, answers: Numbers, tolerance: float) -> Duals:
    negative = min(weights[:-1]) < 0
    many_sets = sum(1 for weight in weights[:-1] if weight) > MANY_SETS
    if len(support) <= (LARGEST_MATRIX if negative or many_sets else SMALL):
        return _by_matrix(support, weights, penalty, answers)
    if negative:
        raise SettingError(
            f"negative weights with {len(support):,} combinations",
            why=f"the solver for more than {LARGEST_MATRIX:,} of them needs weights of zero or more",
            instead="set the negative ones to zero: salience.clipped()",
        )
    if penalty.typical == 0:
        return _limit(support, weights, answers, tolerance)
    return _penalised(support, weights, penalty, answers, tolerance)


def _penalised(support: Support, weights: Weights, penalty: Penalty, answers: Numbers, tolerance: float) -> Duals:
    if len(weights) == 4 and eliminable(support):
        return _by_elimination(support, weights, penalty, answers)
    return _by_iteration(support, weights, penalty, answers, tolerance)


def _by_matrix(support: Support, weights: Weights, penalty: Penalty, answers: Numbers) -> Duals:
    lower = (*weights[:-1], 0.0)
    matrix = kernel(support.codes, support.codes, lower)
    if penalty.typical == 0:  # the limit of ever smaller penalties: the answers that the conjunctions can express
        inverse = np.asarray(np.linalg.pinv(matrix, rcond=1e-11, hermitian=True), dtype=np.float64)
        return Duals(inverse @ answers, np.zeros(answers.shape[1]), 0.0, 0)
    own = penalty.typical if penalty.precision is None else penalty.typical / penalty.precision
    matrix[np.diag_indices(len(matrix))] += own
    solved = np.asarray(np.linalg.solve(matrix, answers), dtype=np.float64)
    residual = np.linalg.norm(matrix @ solved - answers) / max(float(np.linalg.norm(answers)), 1e-300)
    return Duals(solved, np.zeros(answers.shape[1]), float(residual), 0)


def _by_elimination(support: Support, weights: Weights, penalty: Penalty, answers: Numbers) -> Duals:
    solved, residual = TwoFactors(support, weights, penalty).solve(answers)
    return Duals(solved, np.zeros(answers.shape[1]), residual, 1)


def _by_iteration(support: Support, weights: Weights, penalty: Penalty, answers: Numbers, tolerance: float) -> Duals:
    system = solver.System(Design.of(support, weights), penalty)
    found = [system.solve(column, tolerance=tolerance) for column in answers.T]
    return Duals(
        np.stack([one.dual for one in found], axis=1),
        np.zeros(answers.shape[1]),
        max(one.residual for one in found),
        sum(one.iterations for one in found),
    )


def _limit(support: Support, weights: Weights, answers: Numbers, tolerance: float) -> Duals:
    """No penalty at all is the limit of a small one: solve with it, and again for what it left, until little is left.

    Each round shrinks what the penalty held back by penalty / (penalty + eigenvalue) in every direction. Where that is
    slow, as along a chain of values, the penalty is lowered; where it does not end even so, the residual says it.
    """
    design = Design.of(support, weights)
    whole = solver.System(design, Penalty(1.0))
    total, missing = np.zeros_like(answers), answers
    norm = max(float(np.linalg.norm(answers)), 1e-300)
    left, step = np.inf, np.inf
    for limit in _LIMITS:
        penalty = Penalty(limit * sum(weights[1:]))
        for _ in range(_LIMIT_STEPS):
            total = total + _penalised(support, weights, penalty, missing, tolerance).weights
            before, missing = missing, answers - np.stack([whole.kernel(one) - one for one in total.T], axis=1)
            last, step = step, float(np.linalg.norm(missing - before)) / norm
            if step <= max(tolerance, _ROUNDING):
                return Duals(total, np.zeros(answers.shape[1]), step, 0)
            # steps shrink like a geometric series: what all the rest of them would still add
            left = step / max(1 - step / last, 1e-3)
        if left <= _ENOUGH:
            break
    return Duals(total, np.zeros(answers.shape[1]), left, 0)


@dataclass(frozen=True, eq=False)
class Fitted:
    """Coefficients of every seen conjunction. Legend: m questions, g groups of a set."""

    support: Support  # the combinations that it was fitted to
    weights: Weights
    constant: Numbers  # (m,)
    coefficients: dict[int, Numbers]  # by mask, the full set included: (g, m)
    residual: float
    iterations: int

    @classmethod
    def of(cls, support: Support, weights: Weights, duals: Duals) -> "Fitted":
        """From dual weights: a conjunction's coefficient is its weight times the sum of the duals of its group."""
        full = len(weights) - 1
        given = weights[0] * duals.weights.sum(axis=0) if np.isfinite(weights[0]) else duals.intercept
        coefficients = {
            mask: _sums(support, mask, weights[mask] * duals.weights) for mask in range(1, full) if weights[mask]
        }
        coefficients[full] = weights[full] * duals.weights
        return cls(support, weights, given, coefficients, duals.residual, duals.iterations)

    @property
    def questions(self) -> int:
        """How many scores a combination gets."""
        return len(self.constant)

    def scores(self, codes: Codes) -> Numbers:
        """The answers on any combinations: (rows, m)."""
        found = np.empty((len(codes), self.questions))
        for part in _chunks(len(codes)):
            found[part] = self.constant
            for mask, coefficient in self.coefficients.items():
                place = self.place(mask, codes[part])
                found[part] += np.where(place[:, None] >= 0, coefficient[place], 0.0)
        return found

    def contribution(self, mask: int, codes: Codes) -> Numbers:
        """What the conjunction of one set contributes to each combination: (rows, m); NaN where it was never seen."""
        place = self.place(mask, codes)
        coefficient = self.coefficients.get(mask)
        if coefficient is None:
            return np.where(place[:, None] >= 0, np.zeros(self.questions), np.nan)
        return np.where(place[:, None] >= 0, coefficient[place], np.nan)

    def place(self, mask: int, codes: Codes) -> Ints:
        """The group of each combination, -1 where the conjunction was never seen."""
        return self.support.groups(members(mask)).lookup(codes)


def _sums(support: Support, mask: int, values: Numbers) -> Numbers:
    groups = support.groups(members(mask))
    return np.stack([groups.total(column) for column in values.T], axis=1)


def _chunks(rows: int) -> Iterator[slice]:
    for start in range(0, rows, _CHUNK):
        yield slice(start, start + _CHUNK)
