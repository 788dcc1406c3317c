"""A score of many combinations as a smooth function of their sums.

The share of right answers is a sum over a sum; so are the mean squared error, the mean over combinations and R². Each
is a function of a few sums over combinations that does not change when all combinations are taken twice. That is all
that the intervals need: the value, and how it moves with each sum.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from recombine.algebra.groups import Numbers
from recombine.evaluation.outcomes import Mask, Outcomes
from recombine.tables.support import NumberTarget

_Function = Callable[[Numbers], Numbers]


@dataclass(frozen=True, eq=False)
class Statistic:
    """A score of some combinations. Legend: c combinations, s sums, … any shape.

    `parts` (c, s) holds what each combination adds to the sums; `value` (…, s) -> (…) and `slope` (…, s) -> (…, s)
    are the function of the sums and its derivative.

    >>> half = mean(np.array([2.0, 2.0]), np.array([2.0, 0.0]))
    >>> float(half.of_all), half.combinations
    (0.5, 2)
    """

    parts: Numbers
    value: _Function
    slope: _Function

    @property
    def combinations(self) -> int:
        """How many combinations it is a score of."""
        return len(self.parts)

    @property
    def of_all(self) -> float:
        """The score of all combinations together; NaN where there are none."""
        return float(self.value(self.parts.sum(axis=0))) if len(self.parts) else float("nan")

    @property
    def error(self) -> float:
        """Its standard error when combinations are the unit of evidence; NaN with fewer than two."""
        count = len(self.parts)
        if count < 2:
            return float("nan")
        moved = self.parts @ self.slope(self.parts.sum(axis=0))
        return float(np.sqrt(np.sum(moved**2) * count / (count - 1)))


def mean(rows: Numbers, total: Numbers) -> Statistic:
    """The mean over rows."""
    return Statistic(np.stack([rows, total], axis=1), _ratio, _ratio_slope)


def macro(rows: Numbers, total: Numbers) -> Statistic:
    """The mean over combinations, each counted once."""
    return Statistic(np.stack([np.ones(len(rows)), total / rows], axis=1), _ratio, _ratio_slope)


def r2(rows: Numbers, error: Numbers, total: Numbers, squares: Numbers) -> Statistic:
    """One less the squared error over the spread of the truth, of which `total` and `squares` are the sums."""
    return Statistic(np.stack([rows, error, total, squares], axis=1), _r2, _r2_slope)


def difference(rows: Numbers, own: Numbers, other: Numbers) -> Statistic:
    """The mean over rows of the other model's score less this one's."""
    return mean(rows, other - own)


def r2_difference(rows: Numbers, own: Numbers, other: Numbers, total: Numbers, squares: Numbers) -> Statistic:
    """The other model's R² less this one's: what their squared errors differ by, over the spread of the truth."""
    found = r2(rows, other - own, total, squares)
    return Statistic(found.parts, lambda sums: _r2(sums) - 1, found.slope)


def score_of(outcomes: Outcomes, chosen: Mask) -> Statistic:
    """The score of some of the tested combinations, each row counted once."""
    rows, total = outcomes.rows[chosen], outcomes.total[chosen]
    if outcomes.score.name != "r2":
        return mean(rows, total)
    return r2(rows, total, *(part[chosen] for part in truth_of(outcomes)))


def truth_of(outcomes: Outcomes) -> Numbers:
    """The sums of the truth and of its square by combination, about one number near them."""
    truth = outcomes.tested.target
    assert isinstance(truth, NumberTarget)  # noqa: S101 - r2 is refused for anything else
    return np.stack([truth.total, truth.squares])


def macro_of(outcomes: Outcomes, chosen: Mask) -> Statistic | None:
    """The same with each combination counted once; R² of a single combination means nothing."""
    if outcomes.score.name == "r2":
        return None
    return macro(outcomes.rows[chosen], outcomes.total[chosen])


def _ratio(sums: Numbers) -> Numbers:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(sums[..., 1] / sums[..., 0])


def _ratio_slope(sums: Numbers) -> Numbers:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.stack([-sums[..., 1] / sums[..., 0] ** 2, 1 / sums[..., 0]], axis=-1)


def _r2(sums: Numbers) -> Numbers:
    rows, error, total, squares = np.moveaxis(sums, -1, 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        spread = squares - total**2 / rows
        return np.where(spread > 0, 1 - error / spread, np.nan)


def _r2_slope(sums: Numbers) -> Numbers:
    rows, error, total, squares = np.moveaxis(sums, -1, 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        spread = squares - total**2 / rows
        pull = error / spread**2
        return np.stack([pull * (total / rows) ** 2, -1 / spread, -2 * pull * total / rows, pull], axis=-1)
