"""The hard margin where the kernel fits into one matrix: who sits on the margin, and what each is told by the others.

The same exchange as in `hard_margin`, with solves of blocks of the matrix. To hold out a combination that is not on the
margin changes nothing: its answer stands. One that is on it is taken out of the block; with C the inverse of the block
and a the dual weights, those of the others become a - C_i a_i / C_ii, and what they answer is y_i - a_i / C_ii
(Vapnik and Chapelle's span rule, 2000). That is exact as long as nobody else moves on or off the margin, which is
checked; where somebody does, the exchange goes on from there.
"""

from dataclasses import dataclass

import numpy as np

from recombine.data.support import Support
from recombine.numerics.groups import Flags, Ints, Numbers
from recombine.verbs.predict.kernel.solver import Penalty, kernel
from recombine.verbs.predict.kernel.squared_loss import Duals, Weights

LARGEST = 1_500
"""Combinations that one matrix is written out for; a block of it is solved in a tenth of a second."""
MOST_CHECKED = 60_000
"""Questions times the square of the combinations up to which those who would move are let move (a second or two).

Beyond, everybody is taken to stay: of 28 tables 98 % of the answers were the same, and scores within 6 points.
"""
_MOST_STEPS = 500
_PATIENCE = 3
_SLACK = 1e-9
_SHORT = 1e-6


@dataclass(frozen=True, eq=False)
class MarginMatrix:
    """The kernel of n combinations with its penalty on the diagonal; `free` says that a constant costs nothing."""

    matrix: Numbers  # (n, n)
    free: bool

    @classmethod
    def of(cls, support: Support, weights: Weights, penalty: Penalty) -> "MarginMatrix | None":
        """None where it would be too large, or where nothing is added to the diagonal: then it may have no inverse."""
        if len(support) > LARGEST or not penalty.typical > 0:
            return None
        free = bool(np.isinf(weights[0]))
        matrix = kernel(support.codes, support.codes, (0.0 if free else weights[0], *weights[1:-1], 0.0))
        own = penalty.typical if penalty.precision is None else penalty.typical / penalty.precision
        matrix[np.diag_indices(len(matrix))] += own
        return cls(matrix, free)

    def solve(self, signs: Numbers) -> Duals | None:
        """Dual weights for each column of signs; None where the exchange does not end."""
        found = [self._exchanged(column, np.ones(len(column), dtype=bool)) for column in signs.T]
        solved = [one for one in found if one is not None]
        if len(solved) < len(found):
            return None
        weights = np.stack([one.dual for one in solved], axis=1)
        return Duals(weights, np.array([one.intercept for one in solved]), 0.0, 0)

    def left_out(self, signs: Numbers) -> Numbers | None:
        """(n, m) What the others would answer of each combination; None where no margin is found."""
        checked = signs.shape[1] * len(signs) ** 2 <= MOST_CHECKED
        columns = [self._left_out(column, checked=checked) for column in signs.T]
        found = [one for one in columns if one is not None]
        return np.stack(found, axis=1) if len(found) == len(columns) else None

    def _left_out(self, signs: Numbers, *, checked: bool) -> Numbers | None:
        whole = self._exchanged(signs, np.ones(len(signs), dtype=bool))
        if whole is None:
            return None
        on = np.flatnonzero(whole.on_margin)
        said = signs * (1 + whole.spare)
        inverse = self._inverse(on)
        diagonal = np.diag(inverse)[: len(on)]
        said[on] = signs[on] - whole.dual[on] / diagonal
        if checked:
            for place in range(len(on)):
                said[on[place]] = self._checked(signs, whole, on, inverse, place, said[on[place]])
        return said

    def _checked(
        self, signs: Numbers, whole: "_OnMargin", on: Ints, inverse: Numbers, place: int, said: float
    ) -> float:
        """What the others answer of the one in this place, if they stay where they are; else after the exchange."""
        out = int(on[place])
        solution = np.append(whole.dual[on], whole.intercept) if self.free else whole.dual[on]
        moved = solution - inverse[:, place] * (solution[place] / inverse[place, place])
        dual, intercept = moved[: len(on)], float(moved[-1]) if self.free else 0.0
        scores = self.matrix[:, on] @ dual + intercept
        spare = signs * scores - 1
        stays = whole.on_margin.copy()
        stays[out] = False
        wrong = np.zeros(len(signs), dtype=bool)
        wrong[on] = dual * signs[on] < -_SLACK * np.abs(dual).max(initial=0.0)
        wrong |= ~stays & (spare < -_SLACK)
        wrong[out] = False
        if not wrong.any():
            return said
        keep = np.delete(np.arange(len(signs)), out)
        rest = MarginMatrix(self.matrix[np.ix_(keep, keep)], self.free)._exchanged(signs[keep], (stays ^ wrong)[keep])
        if rest is None:
            return said
        return float(self.matrix[out, keep] @ rest.dual + rest.intercept)

    def _inverse(self, on: Ints) -> Numbers:
        return np.asarray(np.linalg.inv(self._block(on)))

    def _block(self, on: Ints) -> Numbers:
        block = self.matrix[np.ix_(on, on)]
        if not self.free:
            return block
        edge = np.ones((len(on), 1))
        return np.block([[block, edge], [edge.T, np.zeros((1, 1))]])

    def _exchanged(self, signs: Numbers, on_margin: Flags) -> "_OnMargin | None":
        """Block principal pivoting, as in `margin`; None where it does not end."""
        fewest, patience = len(signs) + 1, _PATIENCE
        for _ in range(_MOST_STEPS):
            if not on_margin.any():
                return None
            found = self._candidate(signs, on_margin)
            wrong = found.wrong(signs)
            count = int(wrong.sum())
            if not count:
                return found if found.spare.min() >= -_SHORT else None
            fewest, patience = (count, _PATIENCE) if count < fewest else (fewest, patience - 1)
            if patience < 0:
                wrong[: np.flatnonzero(wrong)[-1]] = False
            on_margin = on_margin ^ wrong
        return None

    def _candidate(self, signs: Numbers, on_margin: Flags) -> "_OnMargin":
        on = np.flatnonzero(on_margin)
        right = np.append(signs[on], 0.0) if self.free else signs[on]
        found = np.linalg.solve(self._block(on), right)
        dual = np.zeros(len(signs))
        dual[on] = found[: len(on)]
        intercept = float(found[-1]) if self.free else 0.0
        return _OnMargin(on_margin, dual, intercept, signs * (self.matrix[:, on] @ found[: len(on)] + intercept) - 1)


@dataclass(frozen=True, eq=False)
class _OnMargin:
    """A guess at who sits on the margin, solved: dual weights, the constant, everybody's signed margin less one."""

    on_margin: Flags
    dual: Numbers
    intercept: float
    spare: Numbers

    def wrong(self, signs: Numbers) -> Flags:
        """On the margin though pushed back, or off it though short of it."""
        pushed = self.dual * signs < -_SLACK * np.abs(self.dual).max()
        return np.where(self.on_margin, pushed, self.spare < -_SLACK)
