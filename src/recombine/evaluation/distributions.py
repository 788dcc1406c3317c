"""Tails and quantiles of a few distributions, for whole arrays at once.

Our own, because the core does without SciPy (143 MB installed): the tests hold each against SciPy's.
"""

import math
from statistics import NormalDist
from typing import Any

import numpy as np

from recombine.algebra.groups import Numbers

_erfc = np.frompyfunc(math.erfc, 1, 1)
_lgamma = np.frompyfunc(math.lgamma, 1, 1)
_STEPS = 60


def normal_quantile(share: float) -> float:
    """The number below which a standard normal lies with this probability.

    >>> round(normal_quantile(0.975), 4)
    1.96
    """
    return NormalDist().inv_cdf(share)


def normal_tail(z: Numbers) -> Numbers:
    """The probability that a standard normal exceeds z.

    >>> normal_tail(np.array([0.0, 1.959964])).round(3).tolist()
    [0.5, 0.025]
    """
    return np.asarray(_erfc(np.asarray(z) / math.sqrt(2)), dtype=np.float64) / 2


def student_quantile(share: float, freedom: Any) -> Numbers:
    """Student's quantile by the expansion of Cornish and Fisher, good to 0.2 % from four degrees of freedom on.

    >>> student_quantile(0.975, np.array([4, 39])).round(2).tolist()
    [2.78, 2.02]
    """
    z = normal_quantile(share)
    v = np.asarray(freedom, dtype=np.float64)
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    fourth = (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160
    return np.asarray(z + first / v + second / v**2 + third / v**3 + fourth / v**4)


def beta_below(x: Numbers, a: Numbers, b: Numbers) -> Numbers:
    """The probability that a beta lies below x: the regularised incomplete beta, by Lentz's continued fraction.

    >>> beta_below(np.array([0.5]), np.array([2.0]), np.array([2.0])).round(6).tolist()
    [0.5]
    """
    x, a, b = (np.asarray(part, dtype=np.float64) for part in np.broadcast_arrays(x, a, b))
    flip = x > (a + 1) / (a + b + 2)
    p, q, y = np.where(flip, b, a), np.where(flip, a, b), np.where(flip, 1 - x, x)
    y = np.clip(y, 1e-300, 1 - 1e-16)
    front = np.exp(_log_gamma(p + q) - _log_gamma(p) - _log_gamma(q) + p * np.log(y) + q * np.log1p(-y)) / p
    tail = np.clip(front * _fraction(y, p, q), 0.0, 1.0)
    found = np.where(flip, 1 - tail, tail)
    return np.where(x <= 0, 0.0, np.where(x >= 1, 1.0, found))


def beta_quantile(share: float, a: Numbers, b: Numbers) -> Numbers:
    """The number below which a beta lies with this probability, by halving.

    >>> beta_quantile(0.5, np.array([3.0]), np.array([3.0])).round(6).tolist()
    [0.5]
    """
    a, b = (np.asarray(part, dtype=np.float64) for part in np.broadcast_arrays(a, b))
    low, high = np.zeros(a.shape), np.ones(a.shape)
    for _ in range(40):
        middle = (low + high) / 2
        below = beta_below(middle, a, b) < share
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return (low + high) / 2


def beta_binomial_tails(hits: Numbers, trials: Numbers, a: Numbers, b: Numbers) -> tuple[Numbers, Numbers]:
    """The probabilities of at most, and of at least, this many hits where the chance of a hit is itself a beta.

    One step for each possible number of hits, all combinations at once.

    >>> at_most, at_least = beta_binomial_tails(*(np.array([x]) for x in (1.0, 2.0, 1.0, 1.0)))
    >>> at_most.round(6).tolist(), at_least.round(6).tolist()
    ([0.666667], [0.666667])
    """
    log = _log_gamma(trials + b) + _log_gamma(a + b) - _log_gamma(b) - _log_gamma(trials + a + b)
    at_most, exactly = np.zeros(len(hits)), np.zeros(len(hits))
    for k in range(int(hits.max(initial=0)) + 1):
        here = np.exp(log)
        at_most += np.where(k <= hits, here, 0.0)
        exactly = np.where(k == hits, here, exactly)
        with np.errstate(invalid="ignore", divide="ignore"):
            step = np.log(trials - k) + np.log(a + k) - math.log(k + 1) - np.log(b + trials - k - 1)
        log = np.where(k < trials, log + step, -np.inf)
    at_most = np.minimum(at_most, 1.0)
    return at_most, np.clip(1 - at_most + exactly, 0.0, 1.0)


def _log_gamma(x: Numbers) -> Numbers:
    return np.asarray(_lgamma(x), dtype=np.float64)


def _fraction(x: Numbers, a: Numbers, b: Numbers) -> Numbers:
    """Lentz's evaluation of the continued fraction of the incomplete beta."""
    tiny = 1e-300
    c = np.ones_like(x)
    d = 1 / _away(1 - (a + b) * x / (a + 1), tiny)
    value = d
    for m in range(1, _STEPS * 5):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        d, c = 1 / _away(1 + even * d, tiny), _away(1 + even / c, tiny)
        value = value * d * c
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        d, c = 1 / _away(1 + odd * d, tiny), _away(1 + odd / c, tiny)
        change = d * c
        value = value * change
        if np.abs(change - 1).max(initial=0.0) < 1e-12:
            break
    return value


def _away(x: Numbers, tiny: float) -> Numbers:
    return np.where(np.abs(x) < tiny, tiny, x)
