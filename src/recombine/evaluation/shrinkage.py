"""Each combination's score, pulled towards its side's mean as far as its few rows deserve.

A combination with three rows is not the worst because of luck: how much the combinations of a side truly differ is
estimated from all of them, and what remains of one combination's own evidence decides how far it may stand apart.
Shares of right answers follow a beta-binomial, other scores a normal model; both are estimated by moments, which need
no iteration at 10^5 combinations.
"""

from dataclasses import dataclass

import numpy as np

from recombine.algebra.groups import Numbers
from recombine.evaluation.outcomes import UNKNOWN, Mask, Outcomes
from recombine.statistics.distributions import beta_quantile, student_quantile
from recombine.statistics.resampling import FEWEST, IntervalSettings

_WEAK = 2.0  # prior rows where too few combinations tell how much they differ
_PRIOR_FREEDOM = 4.0
_JEFFREYS = 0.5  # right and wrong rows that are added at least, so that a row or two never look certain


@dataclass(frozen=True, eq=False)
class Shrunk:
    """For each tested combination the shrunk score and its interval; NaN where nothing tells its noise."""

    score: Numbers
    low: Numbers
    high: Numbers


def shrunk(outcomes: Outcomes, settings: IntervalSettings) -> Shrunk:
    """Pull every combination towards the mean of its side: seen, unseen or novel.

    >>> from recombine.evaluation.outcomes import Score
    >>> from recombine.tables.space import Space
    >>> from recombine.tables.support import Support
    >>> space = Space.of({"a": list("abcdef"), "b": [0, 1]})
    >>> codes = np.asfortranarray([[v, 0] for v in range(6)], dtype=np.int32)
    >>> rows, right = np.array([3.0, 90, 90, 90, 90, 90]), np.array([1.0, 81, 85, 76, 84, 45])
    >>> none, zero = np.zeros(0, int), np.zeros(0)
    >>> found = Outcomes(Support(space, codes, rows), None, "score", (), none, none, none, zero, right, right, None,
    ...     Score("accuracy", "higher"))
    >>> pulled = shrunk(found, IntervalSettings())  # one of three right is not yet worse than a half of ninety
    >>> pulled.score.round(2).tolist()
    [0.59, 0.9, 0.94, 0.84, 0.93, 0.51]
    """
    score, low, high = (np.full(len(outcomes), np.nan) for _ in range(3))
    for chosen in _sides(outcomes):
        one = _shares(outcomes, chosen, settings) if outcomes.score.is_share else _numbers(outcomes, chosen, settings)
        score[chosen], low[chosen], high[chosen] = one
    return Shrunk(score, low, high)


def _sides(outcomes: Outcomes) -> list[Mask]:
    known = [outcomes.seen, outcomes.unseen, outcomes.novel, outcomes.rung == UNKNOWN]
    return [mask for mask in known if mask.any()]


def _shares(outcomes: Outcomes, chosen: Mask, settings: IntervalSettings) -> tuple[Numbers, Numbers, Numbers]:
    """The beta-binomial: so many rows of the side's mean are added to each combination's own.

    Where all rows of a combination agree, in every combination, the moments say that a row tells all about its
    combination. Half a right and half a wrong row are added even then, as Jeffreys would.
    """
    rows, right = outcomes.rows[chosen], outcomes.total[chosen]
    middle = (right.sum() + 0.5) / (rows.sum() + 1)
    strength = _strength(rows, right / rows)
    pairs, place = np.unique(np.stack([rows, right]), axis=1, return_inverse=True)  # few, however many combinations
    a = max(middle * strength, _JEFFREYS) + pairs[1]
    b = max((1 - middle) * strength, _JEFFREYS) + pairs[0] - pairs[1]
    low, high = (beta_quantile(tail, a, b) for tail in (settings.tail, 1 - settings.tail))
    place = place.ravel()
    return (a / (a + b))[place], low[place], high[place]


def _strength(rows: Numbers, shares: Numbers) -> float:
    """How many rows the side's mean is worth, from how much the combinations differ beyond the luck of their rows."""
    total = rows.sum()
    middle = float((rows * shares).sum() / total)
    luck = middle * (1 - middle)
    if len(rows) < FEWEST or not luck:
        return _WEAK if len(rows) < FEWEST else float(total)
    apart = float((rows * (shares - middle) ** 2).sum())
    free = float((1 - rows / total).sum())
    more = float((rows * (1 - rows / total)).sum()) - free
    alike = (apart - luck * free) / (luck * more) if more > 0 else 0.0
    alike = min(max(alike, 1 / (total + 1)), 0.999)  # of rows of one combination, beyond those of different ones
    return float(1 / alike - 1)


def _numbers(outcomes: Outcomes, chosen: Mask, settings: IntervalSettings) -> tuple[Numbers, Numbers, Numbers]:
    """The normal model, with each combination's noise itself pulled towards the pooled one."""
    rows, score = outcomes.rows[chosen], outcomes.mean[chosen]
    free = rows - 1
    own = np.nan_to_num(outcomes.spread[chosen]) * free
    if not outcomes.have_luck(chosen):
        nothing = np.full(len(rows), np.nan)
        return score, nothing, nothing
    pooled = own.sum() / free.sum()
    noise = (own + _PRIOR_FREEDOM * pooled) / (free + _PRIOR_FREEDOM) / rows
    noise = np.maximum(noise, 1e-300)
    between = _between(score, noise)
    precision = 1 / (between + noise)
    middle = float((precision * score).sum() / precision.sum())
    pull = noise * precision
    spread = np.sqrt(between * pull + pull**2 / precision.sum())
    found = score + pull * (middle - score)
    reach = student_quantile(1 - settings.tail, free + _PRIOR_FREEDOM) * spread
    low = found - reach
    return found, np.maximum(low, 0.0) if outcomes.score.never_negative else low, found + reach


def _between(score: Numbers, noise: Numbers) -> float:
    """The variance between combinations beyond their noise (DerSimonian and Laird)."""
    unit = float(noise.max())  # squares of variances of very small scores would vanish
    weight = unit / noise
    middle = (weight * score).sum() / weight.sum()
    apart = (weight * (score - middle) ** 2).sum() / unit - (len(score) - 1)
    scale = (weight.sum() - (weight**2).sum() / weight.sum()) / unit
    return float(max(apart / scale, 0.0)) if scale > 0 else 0.0
