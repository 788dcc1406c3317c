"""The squared loss by the shortest exact way: a small matrix, one factor eliminated, or the iterative solver.

Every way gives dual weights a with (kernel + penalty) a = answers, for several answers at once. A free intercept
(the constant's weight is infinite) is generalised least squares: solve for the answers and for ones, and combine.

`ConjunctionFit` is what comes out: what a learner answers on any combination, and what each conjunction contributes.
Its answer is a sum over the conjunctions of the combination that were seen: the constant, each value, each pair, and so
on up to the combination itself. A conjunction that was never seen contributes nothing.

What a learner answers whose weights depend on the number of factors alone, from its dual weights themselves.

With eight factors there are 255 sets, with twenty a million: their coefficients are never written out. An answer is a
sum over the seen combinations of their dual weights times the similarity, which depends on how many factors match;
what conjunctions of one order add is the same sum with that order's share of the similarity.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from recombine.base.errors import SettingError, TableError
from recombine.data.support import Support
from recombine.numerics.effects import Effects
from recombine.numerics.groups import Codes, Ints, Numbers
from recombine.verbs.predict.kernel import solver
from recombine.verbs.predict.kernel.dense_kernel import Similarity, chunks
from recombine.verbs.predict.kernel.salience import members
from recombine.verbs.predict.kernel.solver import ConjunctionDesign, Penalty, TwoFactors, eliminable, kernel

Weights = tuple[float, ...]
"""The weight of every set of factors, by bit mask: the constant first, the full set last."""

SMALL = 300
"""Up to this many combinations a matrix is quicker than group sums, and exact to the last digits."""
LARGEST_MATRIX = 6_000
MANY_SETS = 60
"""With more sets of factors than this (six factors and more) a matrix stays the quicker way for longer."""
_LIMITS = (1e-6, 1e-9)  # penalties, as shares of all weights, from which the limit of none is approached
_LIMIT_STEPS = 6
_ENOUGH = 1e-6  # of the answers: what the steps that are left would still add
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
    found = solver.System(ConjunctionDesign.of(support, weights), penalty).solve(answers, tolerance=tolerance)
    return Duals(found.dual, np.zeros(answers.shape[1]), found.residual, found.iterations)


def _limit(support: Support, weights: Weights, answers: Numbers, tolerance: float) -> Duals:
    """No penalty at all is the limit of a small one: solve with it, and again for what it left, until little is left.

    Each round shrinks what the penalty held back by penalty / (penalty + eigenvalue) in every direction. Where that is
    slow, as along a chain of values, the penalty is lowered; where it does not end even so, the residual says it.
    """
    design = ConjunctionDesign.of(support, weights)
    whole = solver.System(design, Penalty(1.0))
    total, missing = np.zeros_like(answers), answers
    norm = max(float(np.linalg.norm(answers)), 1e-300)
    left, step = np.inf, np.inf
    for limit in _LIMITS:
        penalty = Penalty(limit * sum(weights[1:]))
        for _ in range(_LIMIT_STEPS):
            total = total + _penalised(support, weights, penalty, missing, tolerance).weights
            before, missing = missing, answers - (whole.kernel(total) - total)
            last, step = step, float(np.linalg.norm(missing - before)) / norm
            if step <= max(tolerance, _ROUNDING):
                return Duals(total, np.zeros(answers.shape[1]), step, 0)
            # steps shrink like a geometric series: what all the rest of them would still add
            left = step / max(1 - step / last, 1e-3)
        if left <= _ENOUGH:
            break
    return Duals(total, np.zeros(answers.shape[1]), left, 0)


@dataclass(frozen=True, eq=False)
class ConjunctionFit:
    """Coefficients of every seen conjunction. Legend: m questions, g groups of a set."""

    support: Support  # the combinations that it was fitted to
    weights: Weights
    constant: Numbers  # (m,)
    coefficients: dict[int, Numbers]  # by mask, the full set included: (g, m)
    residual: float
    iterations: int

    @classmethod
    def of(cls, support: Support, weights: Weights, duals: Duals) -> "ConjunctionFit":
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


FEWEST_FACTORS = 6
"""With fewer, the groups of every set are the shorter way."""


@dataclass(frozen=True, eq=False)
class DualWeights:
    """Dual weights of the seen combinations. Legend: n combinations, m questions, K factors."""

    support: Support
    orders: tuple[float, ...]  # (K + 1,) the weight of one conjunction of each order; a free constant weighs 0 here
    duals: Duals

    @property
    def questions(self) -> int:
        """How many scores a combination gets."""
        return int(self.duals.weights.shape[1])

    @property
    def residual(self) -> float:
        """What is left of the equations."""
        return self.duals.residual

    @cached_property
    def constant(self) -> Numbers:
        """(m,) What every answer has in common."""
        return np.asarray(self.orders[0] * self.duals.weights.sum(axis=0) + self.duals.intercept)

    @cached_property
    def _lower(self) -> Similarity:
        """All but what is memorised of a combination itself."""
        return Similarity.by_order((*self.orders[:-1], 0.0), parts_of(self.support))

    def scores(self, codes: Codes) -> Numbers:
        """The answers on any combinations: (rows, m)."""
        found = self.duals.intercept + self.memorised(codes)
        for part in chunks(len(codes), len(self.support)):
            found[part] += self._lower.between(codes[part], self.support.codes) @ self.duals.weights
        return found

    def memorised(self, codes: Codes) -> Numbers:
        """(rows, m) What was memorised of each combination itself; nothing of an unseen one."""
        place = self.support.groups(range(codes.shape[1])).lookup(codes)
        return np.where(place[:, None] >= 0, self.orders[-1] * self.duals.weights[place], 0.0)

    def by_order(self, codes: Codes) -> list[Numbers]:
        """What all conjunctions of 1, 2, … K factors add: (rows, m) each; with the constant they are the score."""
        count = len(self.orders)
        shares = [[self.orders[r] * math.comb(matching, r) for matching in range(count)] for r in range(1, count - 1)]
        by_matches = self._by_matches(codes)
        return [*(np.tensordot(share, by_matches, axes=1) for share in shares), self.memorised(codes)]

    def _by_matches(self, codes: Codes) -> Numbers:
        """(K + 1, rows, m) The dual weights of the seen combinations that agree on 0, 1, … K factors, added up."""
        size = len(self.orders)
        found = np.empty((size, len(codes), self.questions))
        for part, matches in self._lower.matches(codes, self.support.codes):
            rows = len(matches)
            places = (matches + size * np.arange(rows)[:, None]).ravel()
            for question, weights in enumerate(self.duals.weights.T):
                sums = np.bincount(places, weights=np.tile(weights, rows), minlength=rows * size)
                found[:, part, question] = sums.reshape(rows, size).T
        return found

    @property
    def coefficients(self) -> Sequence[int]:
        """The sets of factors that are looked at one by one: single values and pairs."""
        return masks_of(len(self.orders) - 1)

    def of_parts(self, combination: Codes) -> list[tuple[Numbers, tuple[int, ...]]]:
        """What each value and element of one combination and each pair of them adds to its scores (m,), and which
        effects they are; what was never seen adds nothing and is left out.
        """
        effects = self.support.space.effects
        held = effects.rows(combination[None]).columns
        held = held[held < effects.width - int(effects.constant)]
        seen = effects.rows(self.support.codes).sparse()[:, held].toarray()  # (n, parts)
        pairs = [(a, b) for a in range(len(held)) for b in range(a)] if len(self.orders) > 3 else []
        found = []
        for chosen in [*((a,) for a in range(len(held))), *pairs]:
            together = seen[:, chosen].all(axis=1)
            if together.any():
                added = self.orders[len(chosen)] * self.duals.weights[together].sum(axis=0)
                found.append((added, tuple(held[list(chosen)].tolist())))
        return found

    def contribution(self, mask: int, codes: Codes) -> Numbers:
        """What the conjunction of one set contributes to each combination: (rows, m); NaN where it was never seen."""
        groups = self.support.groups(members(mask))
        weight = self.orders[mask.bit_count()]
        sums = weight * np.stack([groups.total(column) for column in self.duals.weights.T], axis=1)
        place = groups.lookup(codes)
        return np.where(place[:, None] >= 0, sums[place], np.nan)

    def place(self, mask: int, codes: Codes) -> Ints:
        """The group of each combination, -1 where the conjunction was never seen."""
        return self.support.groups(members(mask)).lookup(codes)


def parts_of(support: Support) -> Effects | None:
    """What matches between two combinations, where a factor's value is a set; None where it is values."""
    return support.space.effects if support.space.set_factors else None


def masks_of(factors: int) -> list[int]:
    """Single factors and pairs of them, as bit masks.

    >>> masks_of(3)
    [1, 2, 4, 3, 5, 6]
    """
    singles = [1 << k for k in range(factors)]
    return [*singles, *(one | other for k, one in enumerate(singles) for other in singles[k + 1 :])]
