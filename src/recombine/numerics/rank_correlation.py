"""Spearman's rank correlation with an interval for the next combinations, and the ranks that it is made of.

The interval is symmetric in Fisher's z = artanh(r), where the sampling distribution of r hardly depends on r. Each end
is the further of two: Student's, with a standard error found from how r moves when one pair weighs more (its influence,
which no assumption about the pairs enters), and Bonett and Wright's (2000) formula, sqrt((1 + r²/2) / (n - 3)). The
first is right where the spread of one number depends on the other, the second where few distinct values leave the first
too little to see. Quantiles of resampled correlations, which are pulled towards 0, cover too little
(`benchmarks/coverage.py`).
"""

import math
from dataclasses import dataclass

import numpy as np

from recombine.numerics.distributions import normal_quantile, student_quantile
from recombine.numerics.groups import Ints, Numbers
from recombine.numerics.resampling import FEWEST, influence_error


@dataclass(frozen=True)
class Rank:
    """A Spearman rank correlation with its interval; None where it means nothing."""

    value: float | None
    low: float | None
    high: float | None
    combinations: int


def spearman(x: Numbers, y: Numbers, *, confidence: float = 0.95) -> Rank:
    """The rank correlation of pairs, ties at their middle rank, with an interval over pairs.

    >>> spearman(np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.0, 3.0, 2.0, 4.0])).value
    0.8
    >>> spearman(np.arange(20.0), np.arange(20.0)).low > 0.9
    True
    """
    from scipy.stats import spearmanr  # noqa: PLC0415 - scipy.stats takes half a second to import

    size = len(x)
    if size < 2 or not (np.ptp(x) and np.ptp(y)):
        return Rank(None, None, None, size)
    value = round(float(spearmanr(x, y).statistic), 12)
    if size < FEWEST:
        return Rank(value, None, None, size)
    low, high = _interval(value, influence_error(influence(x, y)), size, confidence)
    return Rank(value, low, high, size)


def _interval(value: float, error: float, size: int, confidence: float) -> tuple[float, float]:
    # A perfect correlation has no z: it is taken as if two neighbours had changed places, the nearest that is possible.
    most = 1 - 12 / (size**3 - size)
    inside = min(max(value, -most), most)
    z, tail = math.atanh(inside), (1 - confidence) / 2
    by_influence = float(student_quantile(1 - tail, size - 1)) * error / (1 - inside**2)  # dz/dr = 1 / (1 - r²)
    by_formula = normal_quantile(1 - tail) * math.sqrt((1 + inside**2 / 2) / (size - 3))
    reach = max(by_influence, by_formula)
    return min(math.tanh(z - reach), value), max(math.tanh(z + reach), value)


def influence(x: Numbers, y: Numbers) -> Numbers:
    """How the rank correlation moves with the weight of each pair, if weights add up to one.

    Let a and b be the shares of pairs below each x and each y (ties count half), less 1/2. Then r = ab / √(aa bb), with
    ab the mean of a·b and so on. More weight on pair k adds a_k b_k to ab, and raises a of every pair above it, which
    adds the mean of b over those pairs; the same for aa and bb.
    """
    first, second = (np.unique(values, return_inverse=True)[1].astype(np.int64) for values in (x, y))
    a, b = _below(first) - 0.5, _below(second) - 0.5
    aa, bb, ab = float(np.mean(a * a)), float(np.mean(b * b)), float(np.mean(a * b))
    moved_ab = a * b + _above(first, b) - np.mean(b * (a + 0.5)) + _above(second, a) - np.mean(a * (b + 0.5))
    moved_aa = a * a + 2 * (_above(first, a) - np.mean(a * (a + 0.5)))
    moved_bb = b * b + 2 * (_above(second, b) - np.mean(b * (b + 0.5)))
    return np.asarray((moved_ab - ab / 2 * (moved_aa / aa + moved_bb / bb)) / math.sqrt(aa * bb))


def _below(ids: Ints) -> Numbers:
    """The share of pairs below each one, ties half."""
    equal = np.bincount(ids) / len(ids)
    return np.asarray((np.cumsum(equal) - equal / 2)[ids])


def _above(ids: Ints, numbers: Numbers) -> Numbers:
    """The sum of a number over the pairs above each one, ties half, over the number of pairs."""
    sums = np.bincount(ids, weights=numbers) / len(ids)
    return np.asarray((sums.sum() - np.cumsum(sums) + sums / 2)[ids])
