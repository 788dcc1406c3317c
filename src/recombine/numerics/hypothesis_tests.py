"""Many tests at once: how many of the alarms may be false.

The same thing counted in an old table and in a new one: how likely is what differs, by chance alone?

Each number is the chance of a difference as large in either direction if the rows of both tables were drawn from one
source, one by one. Rows that come in clusters make a difference look surer than it is; rows that both tables share make
it look less sure. NaN where nothing can be told.
"""

import numpy as np

from recombine.numerics.groups import Numbers

_ERROR = 0.05  # of single losses, in either direction: half of these are losses
_ONE_SIDED = 1.645  # standard deviations, in the one direction that is a loss
_TOO_ALIKE = 0.005  # of two draws agree as well as this


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


def losses_by_redraw(old: Numbers, new: Numbers) -> bool:
    """Whether the cells that one table has lost are no more than another draw of rows from one source would lose.

    `old` and `new` are the rows of each cell that either table has. Three things must hold, and they fail in at most
    one of twenty pairs of draws. The rows look drawn anew at all: where nothing but losses differs, or the counts of
    both agree better than those of two draws do (the lowest 0.5 % of chi-square), the same rows were asked for and some
    were taken out, and that is no luck. No single loss is too large for luck. And given the rows that fell to one table
    alone, no more of these cells are the old table's than their sizes let one expect.

    >>> losses_by_redraw(np.array([30.0, 12, 1, 0]), np.array([25.0, 17, 0, 1]))
    True
    >>> losses_by_redraw(np.array([5.0, 5, 5, 5]), np.array([5.0, 5, 5, 0]))  # the others did not move at all
    False
    """
    from scipy.special import gammainc  # noqa: PLC0415 - as above

    here, there = float(old.sum()), float(new.sum())
    lost, gained = (old > 0) & (new == 0), (old == 0) & (new > 0)
    if not (here and there and lost.any() and (old != new)[~lost].any()):
        return False
    apart = float(((old * there - new * here) ** 2 / (old + new)).sum()) / (here * there)
    if gammainc((len(old) - 1) / 2, apart / 2) < _TOO_ALIKE:
        return False
    alone = lost | gained
    p = np.where(lost, absent_by_chance(old, here, there), absent_by_chance(new, there, here))
    q = false_discovery(np.where(alone, p, 1.0))
    odds = (there / here) ** (old + new)[alone]  # that all rows of such a cell fell to the new table, to the old one
    luck = 1 / (1 + odds)
    spread = float(np.sqrt((luck * (1 - luck)).sum()))
    return bool((q[lost] > _ERROR).all() and lost.sum() - luck.sum() <= _ONE_SIDED * spread + 0.5)


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
