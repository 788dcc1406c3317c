"""Two factors, solved at once: the larger side is diagonal, so it is eliminated, and the smaller side is dense.

With two factors the lower conjunctions are the values themselves, so the equations are those of an additive rule with
a penalty on each value's number (`algebra.additive.Elimination`). What is left after eliminating the larger factor is a
matrix as large as the other.
"""

import numpy as np

from recombine.algebra.additive import Elimination
from recombine.algebra.groups import Numbers, totals
from recombine.tables.support import Support
from recombine.theory.solver import Penalty

_LARGEST_TABLE = 5 * 10**7


def eliminable(support: Support) -> bool:
    """Whether the smaller factor is so small, for so many combinations, that its matrix costs less than iterations."""
    smaller, larger = sorted(support.space.sizes)
    return smaller**3 <= 10_000 * len(support) and smaller * larger <= _LARGEST_TABLE


class TwoFactors:
    """The equations of two factors, prepared for any answers. Legend: v larger factor's values, u smaller one's.

    Where the constant has a weight it is a third factor, with one value that every combination holds; it joins u.
    """

    def __init__(self, support: Support, weights: tuple[float, ...], penalty: Penalty) -> None:
        self._penalty = penalty
        codes, sizes, each = support.codes, support.space.sizes, [weights[1], weights[2]]
        if weights[0]:
            codes, sizes = np.column_stack([codes, np.zeros(len(codes), dtype=codes.dtype)]), (*sizes, 1)
            each.append(weights[0])
        ridge = tuple(penalty.typical / max(weight, 1e-300) for weight in each)
        self._made = Elimination.of(codes, sizes, penalty.firmness, ridge)
        self._large, self._small = self._made.parts(codes)
        self._large_weight = each[self._made.eliminated]
        self._small_weights = np.repeat([each[k] for k in self._made.kept], np.diff(self._made.starts))

    def solve(self, answers: Numbers) -> tuple[Numbers, float]:
        """Dual weights for each column of answers, and the relative residual that they leave."""
        made = self._made
        sides = [self._sums(self._penalty.weighed(column)) for column in answers.T]
        by_large = np.stack([side[0] for side in sides], axis=1)
        by_small = np.stack([side[1] for side in sides], axis=1)
        held = np.linalg.solve(made.schur, by_small - made.together @ (by_large / made.degree[:, None]))
        freed = (by_large - made.together.T @ held) / made.degree[:, None]
        found, left = [], 0.0
        for column, one, other in zip(answers.T, freed.T, held.T, strict=True):
            explained = self._spread(one, other)
            dual = self._penalty.weighed(column - explained) / self._penalty.typical
            left += float(np.sum((self._expressed(dual) - explained) ** 2))
            found.append(dual)
        size = float(np.sum(answers**2))
        return np.stack(found, axis=1), float(np.sqrt(left / size)) if size else 0.0

    def _sums(self, values: Numbers) -> tuple[Numbers, Numbers]:
        """A number of each combination, summed by value: (v,) and (u,)."""
        small = totals(self._small[:, 0], values, int(self._made.starts[1]))
        if self._small.shape[1] > 1:  # in pairs, not one after another: a sum over all loses the most digits
            small = np.append(small, values.sum())
        return totals(self._large, values, len(self._made.degree)), small

    def _spread(self, large: Numbers, small: Numbers) -> Numbers:
        """The numbers of each combination's values, added up."""
        total = large[self._large]
        for column in self._small.T:
            total += small[column]
        return total

    def _expressed(self, dual: Numbers) -> Numbers:
        """What the lower conjunctions make of dual weights."""
        large, small = self._sums(dual)
        return self._spread(self._large_weight * large, self._small_weights * small)
