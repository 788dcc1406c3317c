"""Two factors, solved at once: the larger side is diagonal, so it is eliminated, and the smaller side is dense.

With two factors the lower conjunctions are the values themselves. The table of which values were seen together is all
that couples the two sides, and what is left after eliminating one side is a matrix as large as the other.
"""

import numpy as np

from recombine.algebra.groups import Numbers, totals
from recombine.tables.support import Support
from recombine.theory.solver import Penalty

_LARGEST_TABLE = 5 * 10**7


def eliminable(support: Support) -> bool:
    """Whether the smaller factor is so small, for so many combinations, that its matrix costs less than iterations."""
    smaller, larger = sorted(support.space.sizes)
    return smaller**3 <= 10_000 * len(support) and smaller * larger <= _LARGEST_TABLE


class Elimination:
    """The equations of two factors, prepared for any answers. Legend: v larger factor's values, u smaller one's.

    Where the constant has a weight it joins the smaller side as one value more, to which every combination belongs.
    """

    def __init__(self, support: Support, weights: tuple[float, ...], penalty: Penalty) -> None:
        sizes = support.space.sizes
        large, small = (0, 1) if sizes[0] >= sizes[1] else (1, 0)
        self._penalty = penalty
        self._constant = weights[0]
        self._weights = (weights[1 << large], weights[1 << small])
        self._size = (sizes[large], sizes[small])
        self._place = (support.codes[:, large].astype(np.int64), support.codes[:, small].astype(np.int64))
        together = self._place[0] * sizes[small] + self._place[1]
        table = totals(together, penalty.firmness, sizes[0] * sizes[1]).reshape(self._size)
        stiffness = [penalty.typical / max(weight, 1e-300) for weight in self._weights]
        self._own = table.sum(axis=1) + stiffness[0]  # (v,)
        self._table = np.column_stack([table, table.sum(axis=1)]) if self._constant else table  # (v, u)
        scaled = self._table / np.sqrt(self._own)[:, None]
        self._inner = self._border(stiffness[1]) - scaled.T @ scaled  # (u, u)

    def _border(self, stiffness: float) -> Numbers:
        """The smaller side's own block: diagonal for its values, and a border for the constant."""
        sums = self._table.sum(axis=0)
        inner = np.diag(sums + stiffness)
        if self._constant:
            inner[-1, :-1] = inner[:-1, -1] = sums[:-1]
            inner[-1, -1] = sums[-1] + self._penalty.typical / self._constant
        return inner

    def solve(self, answers: Numbers) -> tuple[Numbers, float]:
        """Dual weights for each column of answers, and the relative residual that they leave."""
        sides = [self._sides(self._penalty.weighed(column)) for column in answers.T]
        by_large = np.stack([side[0] for side in sides], axis=1)
        by_small = np.stack([side[1] for side in sides], axis=1)
        held = np.linalg.solve(self._inner, by_small - self._table.T @ (by_large / self._own[:, None]))
        freed = (by_large - self._table @ held) / self._own[:, None]
        found, left = [], 0.0
        for column, one, other in zip(answers.T, freed.T, held.T, strict=True):
            explained = self._spread(one, other)
            dual = self._penalty.weighed(column - explained) / self._penalty.typical
            left += float(np.sum((self._expressed(dual) - explained) ** 2))
            found.append(dual)
        size = float(np.sum(answers**2))
        return np.stack(found, axis=1), float(np.sqrt(left / size)) if size else 0.0

    def _sides(self, values: Numbers) -> tuple[Numbers, Numbers]:
        large, small = (totals(place, values, size) for place, size in zip(self._place, self._size, strict=True))
        return large, np.append(small, values.sum()) if self._constant else small

    def _spread(self, large: Numbers, small: Numbers) -> Numbers:
        total = large[self._place[0]]
        total += small[self._place[1]]
        if self._constant:
            total += small[-1]
        return total

    def _expressed(self, dual: Numbers) -> Numbers:
        """What the lower conjunctions make of dual weights."""
        large, small = self._sides(dual)
        if self._constant:
            small = np.append(self._weights[1] * small[:-1], self._constant * small[-1])
        else:
            small = self._weights[1] * small
        return self._spread(self._weights[0] * large, small)
