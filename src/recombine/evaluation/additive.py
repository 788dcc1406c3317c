"""What each combination's score would be if difficulty were additive over the factors, told by the others alone.

A weighted least-squares fit of the scores by main effects, and for every combination the fit without it: its value,
the variance of that value, and how much of it rests on the combination itself. One factor is eliminated exactly, as in
`auditing.leverage`; what is left is solved once. Leaving one out is then a formula, not another fit.

Our own, because a regression library wants the one-hot design written out, and refits for each combination left out.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from recombine.algebra.groups import Codes, Ints, Numbers, totals

LARGEST = 2_000
"""Values of all factors but the largest, beyond which the reduced system is not solved."""
_ALONE = 1e-7


@dataclass(frozen=True, eq=False)
class LeftOut:
    """For each combination the fit of the others: its value, its variance, and the combination's own leverage.

    Value and variance are NaN where the others do not tell it. `rank` is the degrees of freedom that the fit uses.
    """

    value: Numbers
    variance: Numbers
    leverage: Numbers
    rank: int


@dataclass(frozen=True, eq=False)
class Additive:
    """A main-effects fit with weights. Legend: c combinations, v values of the eliminated factor, r all others.

    >>> codes = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=np.int32)
    >>> fit = Additive.of(codes, (2, 2), weights=np.ones(4))
    >>> fit.left_out(np.array([0.0, 1.0, 2.0, 9.0]), noise=np.ones(4)).value.round(6).tolist()
    [-6.0, 7.0, 8.0, 3.0]
    """

    first: Ints  # (c,) value of the eliminated factor
    others: Ints  # (c, k - 1) places of the other values among r
    weights: Numbers  # (c,)
    degree: Numbers  # (v,) weight of each eliminated value
    share: Numbers  # (r, v) share of an eliminated value's weight that holds each other value
    inverse: Numbers  # (r, r) pseudo-inverse of what is left after elimination
    open_: Numbers  # (r, r) projector on what the combinations leave open
    rank: int

    @classmethod
    def of(cls, codes: Codes, sizes: tuple[int, ...], *, weights: Numbers) -> "Additive":
        """Prepare the fit."""
        eliminated = int(np.argmax(sizes))
        kept = [k for k in range(len(sizes)) if k != eliminated]
        starts = np.concatenate([[0], np.cumsum([sizes[k] for k in kept])]).astype(np.int64)
        first, others = codes[:, eliminated].astype(np.int64), codes[:, kept].astype(np.int64) + starts[:-1]
        width, values = int(starts[-1]), sizes[eliminated]
        together, inner = np.zeros((width, values)), np.zeros((width, width))
        for a in others.T:
            together += totals(a * values + first, weights, width * values).reshape(width, values)
            for b in others.T:
                inner += totals(a * width + b, weights, width * width).reshape(width, width)
        degree = totals(first, weights, values)
        share = together / np.maximum(degree, 1e-300)
        inverse, open_, rank = _pseudo_inverse(inner - share @ together.T)
        return cls(first, others, weights, degree, share, inverse, open_, rank + int((degree > 0).sum()))

    @staticmethod
    def too_large(sizes: tuple[int, ...]) -> bool:
        """Whether the reduced system would be too large to solve."""
        return sum(sizes) - max(sizes) > LARGEST

    def left_out(self, score: Numbers, noise: Numbers) -> LeftOut:
        """Each combination's score as the others tell it, where each score has a variance of its own (`noise`).

        A combination of weight 0 takes no part in the fit, and is told by all those that do.
        """
        fitted = self.fitted(score)
        leverage = np.clip(self.weights * self._quadratic(self.inverse, 1 / self._degree), 0, 1)
        alone = (1 - leverage < _ALONE) | self._untold()
        rest = np.where(alone, np.nan, 1 - leverage)
        value = score - (score - fitted) / rest
        spread = self._sandwich(noise) - leverage**2 * noise
        return LeftOut(value, np.maximum(spread, 0.0) / rest**2, leverage, self.rank)

    @property
    def _degree(self) -> Numbers:
        return np.maximum(self.degree, 1e-300)

    def _rows(self) -> int:
        return len(self.inverse)

    def _untold(self) -> npt.NDArray[np.bool_]:
        """Combinations outside the fit that those within it do not determine."""
        nothing = np.zeros(len(self.degree))
        return np.asarray((self._quadratic(self.open_, nothing) > 1e-6) | (self.degree[self.first] <= 0))

    def fitted(self, score: Numbers) -> Numbers:
        """The fit itself."""
        pulled = self.weights * score
        first = totals(self.first, pulled, len(self.degree))
        right = sum(totals(column, pulled, self._rows()) for column in self.others.T) - self.share @ first
        effects = self.inverse @ right
        level = first / self._degree - self.share.T @ effects
        return np.asarray(level[self.first] + effects[self.others].sum(axis=1))

    def _quadratic(self, inverse: Numbers, own: Numbers) -> Numbers:
        """y' inverse y for every combination, y its other values less the shares of its eliminated one; plus `own`."""
        pulled = inverse @ self.share
        total = own[self.first] + np.einsum("rv,rv->v", self.share, pulled)[self.first]
        for a in self.others.T:
            total = total - 2 * pulled[a, self.first]
            for b in self.others.T:
                total = total + inverse[a, b]
        return np.asarray(total)

    def _sandwich(self, noise: Numbers) -> Numbers:
        """The variance of the fit at each combination, when score c has the variance noise c.

        The fit is B'(weights · score), so its variance is a quadratic form in the middle matrix A' W² N A. In the
        eliminated coordinates that matrix has a diagonal block, a mixed block and an inner block.
        """
        pull = self.weights**2 * noise
        width, values = self._rows(), len(self.degree)
        mixed, inner = np.zeros((width, values)), np.zeros((width, width))
        for a in self.others.T:
            mixed += totals(a * values + self.first, pull, width * values).reshape(width, values)
            for b in self.others.T:
                inner += totals(a * width + b, pull, width * width).reshape(width, width)
        own = totals(self.first, pull, values)
        # in terms of y = (other values) - share[:, first], and of the eliminated value's own mean
        cross = mixed - self.share * own  # (r, v): Σ pull · y over an eliminated value's combinations
        middle = inner - self.share @ mixed.T - mixed @ self.share.T + (self.share * own) @ self.share.T
        outer = self.inverse @ middle @ self.inverse
        total = self._quadratic(outer, own / np.maximum(self.degree**2, 1e-300))
        return total + 2 * self._linear(self.inverse @ cross / self._degree)

    def _linear(self, table: Numbers) -> Numbers:
        """y' table[:, first] for every combination, y as above."""
        total = -np.einsum("rv,rv->v", self.share, table)[self.first]
        for a in self.others.T:
            total = total + table[a, self.first]
        return np.asarray(total)


def _pseudo_inverse(matrix: Numbers) -> tuple[Numbers, Numbers, int]:
    """The pseudo-inverse, the projector on the null space, and the rank."""
    values, vectors = np.linalg.eigh(matrix)
    solid = values > 1e-9 * max(float(values.max(initial=0.0)), 1e-300)
    kept, open_ = vectors[:, solid], vectors[:, ~solid]
    return (kept / values[solid]) @ kept.T, open_ @ open_.T, int(solid.sum())
