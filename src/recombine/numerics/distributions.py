"""Tails and quantiles of the distributions that the rooms above use, for whole arrays at once, by SciPy.

`scipy.special` and not `scipy.stats`: the same numbers, a tenth of the time to import. And loaded by the first number
that is asked for: an audit without a target asks for none.
"""

from functools import cache
from typing import Any

import numpy as np

from recombine.numerics.groups import Numbers


@cache
def _special() -> Any:
    from scipy import special  # noqa: PLC0415 - SciPy is loaded where it is needed

    return special


def normal_quantile(share: float) -> float:
    """The number below which a standard normal lies with this probability.

    >>> round(normal_quantile(0.975), 4)
    1.96
    """
    return float(_special().ndtri(share))


def normal_tail(z: Numbers) -> Numbers:
    """The probability that a standard normal exceeds z.

    >>> normal_tail(np.array([0.0, 1.959964])).round(3).tolist()
    [0.5, 0.025]
    """
    return np.asarray(_special().ndtr(-np.asarray(z)))


def student_quantile(share: float | Numbers, freedom: Any) -> Numbers:
    """Student's quantile for these degrees of freedom.

    >>> student_quantile(0.975, np.array([4, 39])).round(2).tolist()
    [2.78, 2.02]
    """
    return np.asarray(_special().stdtrit(np.asarray(freedom, dtype=np.float64), share))


def chi_squared_quantile(share: float, freedom: float) -> float:
    """The number below which a chi-squared lies with this probability.

    >>> round(chi_squared_quantile(0.95, 1), 2)
    3.84
    """
    return float(_special().chdtri(freedom, 1 - share))


def beta_below(x: Numbers, a: Numbers, b: Numbers) -> Numbers:
    """The probability that a beta lies below x.

    >>> beta_below(np.array([0.5]), np.array([2.0]), np.array([2.0])).round(6).tolist()
    [0.5]
    """
    return np.asarray(_special().betainc(a, b, np.clip(x, 0.0, 1.0)))


def beta_quantile(share: float | Numbers, a: Numbers, b: Numbers) -> Numbers:
    """The number below which a beta lies with this probability.

    >>> beta_quantile(0.5, np.array([3.0]), np.array([3.0])).round(6).tolist()
    [0.5]
    """
    return np.asarray(_special().betaincinv(a, b, share))


def beta_binomial_tails(hits: Numbers, trials: Numbers, a: Numbers, b: Numbers) -> tuple[Numbers, Numbers]:
    """The probabilities of at most, and of at least, this many hits where the chance of a hit is itself a beta.

    One step for each possible number of hits, all combinations at once: `scipy.stats.betabinom` adds up the
    probabilities of one combination at a time.

    >>> at_most, at_least = beta_binomial_tails(*(np.array([x]) for x in (1.0, 2.0, 1.0, 1.0)))
    >>> at_most.round(6).tolist(), at_least.round(6).tolist()
    ([0.666667], [0.666667])
    """
    log = _special().betaln(a, b + trials) - _special().betaln(a, b)  # of no hit at all
    at_most, exactly = np.zeros(len(hits)), np.zeros(len(hits))
    for k in range(int(hits.max(initial=0)) + 1):
        here = np.exp(log)
        at_most += np.where(k <= hits, here, 0.0)
        exactly = np.where(k == hits, here, exactly)
        # P(k + 1) / P(k) = (n - k) (a + k) / ((k + 1) (b + n - k - 1))
        with np.errstate(invalid="ignore", divide="ignore"):
            step = np.log(trials - k) + np.log(a + k) - np.log(k + 1) - np.log(b + trials - k - 1)
        log = np.where(k < trials, log + step, -np.inf)
    at_most = np.minimum(at_most, 1.0)
    return at_most, np.clip(1 - at_most + exactly, 0.0, 1.0)
