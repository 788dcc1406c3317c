"""Many tests at once: how many of the alarms may be false.

The same thing counted in an old table and in a new one: how likely is what differs, by chance alone?

Each number is the chance of a difference as large in either direction if the rows of both tables were drawn from one
source, one by one. Rows that come in clusters make a difference look surer than it is; rows that both tables share make
it look less sure. NaN where nothing can be told.
"""

import numpy as np

from recombine.numerics.groups import Numbers


def false_discovery(p: Numbers) -> Numbers:
    """Benjamini and Hochberg's q-values; NaN stays NaN and takes no part.

    >>> false_discovery(np.array([0.01, 0.04, np.nan, 0.03])).round(3).tolist()
    [0.03, 0.04, nan, 0.04]
    """
    from scipy.stats import false_discovery_control  # noqa: PLC0415 - scipy.stats takes half a second to import

    q = np.full(len(p), np.nan)
    known = np.isfinite(p)
    if known.any():
        q[known] = false_discovery_control(np.minimum(p[known], 1.0), method="bh")
    return q


def bonferroni(error: float, comparisons: int) -> float:
    """The error that each of several comparisons may have, so that all together have at most this one.

    >>> bonferroni(0.05, 5)
    0.01
    """
    return error / comparisons


def absent_by_chance(count: Numbers, here: float, there: float) -> Numbers:
    """That so many rows all fall to one of two tables, which has `here` of the rows and the other one `there`.

    Twice the chance of one direction, (here / all) to the power of the count: a little too large, never too small.

    >>> absent_by_chance(np.array([1.0, 6.0]), 100, 100).tolist()
    [1.0, 0.03125]
    """
    return np.asarray(np.minimum(2 * (here / (here + there)) ** np.asarray(count), 1.0))


def shares_differ(hits: Numbers, of: Numbers, other_hits: Numbers, other_of: Numbers) -> Numbers:
    """Fisher's exact test of two shares, for many pairs at once; twice the smaller of its tails.

    It holds how many hits there are in all for given, so a hit may be chosen by looking at both tables together.

    >>> shares_differ(*(np.array([x]) for x in (8.0, 8.0, 0.0, 8.0))).round(6).tolist()
    [0.000155]
    """
    from scipy.stats import hypergeom  # noqa: PLC0415 - scipy.stats takes half a second to import

    total, all_hits = of + other_of, hits + other_hits
    known = (of > 0) & (other_of > 0)
    at_most, at_least = hypergeom.cdf(hits, total, all_hits, of), hypergeom.sf(hits - 1, total, all_hits, of)
    return np.where(known, np.minimum(2 * np.minimum(at_most, at_least), 1.0), np.nan)


def means_differ(
    apart: Numbers, variance: Numbers, count: Numbers, other_variance: Numbers, other_count: Numbers
) -> Numbers:
    """Welch's test of two means that are so far `apart`; NaN with a single row, or where no row differs from another.

    >>> two, one = np.array([2.0]), np.array([1.0])
    >>> means_differ(two, one, 8 * one, one, 8 * one).round(4).tolist()
    [0.0013]
    """
    from scipy import special  # noqa: PLC0415 - as above

    with np.errstate(invalid="ignore", divide="ignore"):
        own, other = variance / count, other_variance / other_count
        freedom = (own + other) ** 2 / (own**2 / (count - 1) + other**2 / (other_count - 1))
        tail = special.stdtr(freedom, -np.abs(apart) / np.sqrt(own + other))
    known = (count > 1) & (other_count > 1) & (own + other > 0)
    return np.where(known, np.minimum(2 * tail, 1.0), np.nan)
