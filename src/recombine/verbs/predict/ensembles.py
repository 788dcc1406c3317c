"""Several learners as one forecast: nobody knows which network will be trained.

Each learner is asked about the unseen combinations whose truth is known; the forecast is the mean of their scores. Its
interval adds up, in variance, three things that are not known:

- which learner it will be: the spread between the members;
- how far such forecasts were from trained networks before: the track record (`track_record.miss`);
- the combinations whose truth is not known, if these are only some of the unseen: the sampling of a mean from a finite
  number, s² (1/n - 1/N). Where all of them are known there is nothing to be sampled.

Accuracy is cut to 0 and 1. R² is one less a quotient q of squared errors, which is never below 0: q is taken as
log-normal with this mean and variance, so R² can't pass 1. Half of the deviation is the least mean that q is given: who
forecasts exactness is not exactly right. The low end is not told below -1, unless it would then be nearer to the
forecast than the high end is: twice the error of the mean is no use to anybody, however much worse it may be.

Where examples of one combination may look different, and nothing is known of that, a model may read them as badly as to
gain nothing from them: the interval then reaches to what one answer for all gets, and the track record beyond it.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from recombine.base.errors import SettingError
from recombine.base.grades import Expected
from recombine.numerics.distributions import normal_quantile
from recombine.numerics.groups import Numbers
from recombine.numerics.intervals import Interval, widened
from recombine.numerics.predictive_intervals import Score
from recombine.numerics.resampling import IntervalSettings
from recombine.verbs.predict import track_record

LEAST_TOLD = -1.0
"""The low end of an R²: below, nobody would tell one from another."""
_OF_ONE = 0.25
"""The variance between combinations where one alone is known: the largest that a share can have."""


@dataclass(frozen=True, eq=False)
class Ensemble:
    """What each member gets on each unseen combination whose truth is known. Legend: m members, c combinations.

    >>> both = Ensemble(("relu:1", "relu:2"), np.array([[1.0, 0.0], [1.0, 1.0]]), np.zeros(2), "accuracy")
    >>> both.by_member.tolist(), both.value, both.baseline
    ([0.5, 1.0], 0.75, 0.0)
    """

    names: tuple[str, ...]
    scores: Numbers  # (m, c) the share of right answers, or the squared error
    base: Numbers  # (c,) the same for one answer for all; for R² the squared error of the mean
    score: Score
    constant: str | None = None  # what that answer is called, where it is not the majority of the seen, or their mean

    def __post_init__(self) -> None:
        if not self.names or self.scores.shape != (len(self.names), len(self.base)):
            raise SettingError(
                f"an ensemble of {len(self.names)} members with scores of shape {self.scores.shape}",
                why=f"it takes a line for each member, and of {len(self.base)} combinations a number each",
                instead="give scores of shape (members, combinations), and base of shape (combinations,)",
            )

    @property
    def by_member(self) -> Numbers:
        """(m,) The score of each member on all combinations together."""
        return np.array([_score(own, self.base, self.score) for own in self.scores])

    @property
    def value(self) -> float:
        """The mean of the members' scores."""
        return float(self.by_member.mean())

    @property
    def baseline(self) -> float:
        """What one answer for all gets."""
        return _score(self.base, self.base, self.score)


def expected_of(
    ensemble: Ensemble,
    *,
    basis: str,
    settings: IntervalSettings | None = None,
    of: int | None = None,
    blind: bool = False,
    record: str | None = None,
) -> Expected:
    """The forecast of the members together, on `of` unseen combinations (all that are scored, unless there are more).

    `blind` says that nothing is known of how examples of one combination differ; `record` whose misses are allowed for,
    where it is not the `basis` itself.

    >>> agreed = Ensemble(("relu:1", "relu:2"), np.ones((2, 20)), np.tile([1.0, 0.0], 10), "accuracy")
    >>> sure = expected_of(agreed, basis="combinations")
    >>> sure.value, sure.low < 0.9, sure.high, sure.baseline
    (1.0, True, 1.0, 0.5)
    >>> expected_of(agreed, basis="combinations", blind=True).low < 0.4
    True
    """
    known, all_of_them = len(ensemble.base), max(of or 0, len(ensemble.base))
    why = _unsaid(ensemble)
    if why:
        return Expected(ensemble.score, tested=known, of=all_of_them, reason=why)
    sure = settings or IntervalSettings()
    value, base = ensemble.value, ensemble.baseline
    past = record or basis
    low, high = _interval(ensemble, value, past, all_of_them, sure)
    if blind:
        least, most = _interval(ensemble, base, past, known, sure, alone=True)
        low, high = min(low, least), max(high, most)
    return Expected(
        ensemble.score,
        value,
        low,
        high,
        baseline=base,
        baseline_name=ensemble.constant or ("majority" if ensemble.score == "accuracy" else "mean"),
        lift=(low - base, value - base, high - base),
        tested=known,
        of=all_of_them,
        basis=basis,
    )


def _unsaid(ensemble: Ensemble) -> str | None:
    """Why nothing can be forecast, if nothing can."""
    if not len(ensemble.base):
        return "no unseen combination has a known true answer"
    return None if ensemble.score == "accuracy" or ensemble.base.sum() > 0 else "the target never varies"


def _score(own: Numbers, base: Numbers, score: Score) -> float:
    return float(own.mean()) if score == "accuracy" else 1 - float(own.sum() / base.sum())


def _interval(
    ensemble: Ensemble, value: float, record: str, of: int, settings: IntervalSettings, *, alone: bool = False
) -> Interval:
    """Around a score; `alone` is one answer for all, which has no members."""
    past = track_record.miss(record, ensemble.score)
    if ensemble.score == "R²":
        past *= max(1.0, 1 - value)  # where errors are larger than the mean's, so is what a forecast misses
    variance = past**2 if alone else past**2 + _spread(ensemble) + _sampling(ensemble, of)
    reach = normal_quantile(1 - settings.tail)
    if ensemble.score == "accuracy":
        return max(0.0, value - reach * math.sqrt(variance)), min(1.0, value + reach * math.sqrt(variance))
    low, high = _below_one(value, math.sqrt(variance), reach)
    return max(low, min(LEAST_TOLD, 2 * value - high)), high


def _spread(ensemble: Ensemble) -> float:
    """The variance between members; of one alone nothing is known."""
    return float(ensemble.by_member.var(ddof=1)) if len(ensemble.names) > 1 else 0.0


def _sampling(ensemble: Ensemble, of: int) -> float:
    """The variance of the score on all unseen combinations around that of the known ones."""
    known, own = len(ensemble.base), ensemble.scores.mean(axis=0)
    if of <= known:
        return 0.0
    if known < 2:
        return _OF_ONE * (1 - 1 / of)
    if ensemble.score == "R²":  # a quotient of sums: what each combination moves it by
        own = (own - own.sum() / ensemble.base.sum() * ensemble.base) / ensemble.base.mean()
    return float(own.var(ddof=1)) * (1 / known - 1 / of)


def _below_one(value: float, sd: float, reach: float) -> Interval:
    """R² with 1 - R² log-normal, of this mean and deviation."""
    if sd <= 0:
        return value, value
    missed = max(1 - value, sd / 2)
    sigma = math.sqrt(math.log1p((sd / missed) ** 2))
    middle = math.log(missed) - sigma**2 / 2
    low, high = 1 - math.exp(middle + reach * sigma), 1 - math.exp(middle - reach * sigma)
    return min(low, value), max(high, value)


def moved(expected: Expected, by: float, reach: float) -> Expected:
    """The same forecast moved, and its interval with it and wider: half a width that is not known, added in variance.
    What it gains over simple rules alike.

    >>> found = moved(Expected("accuracy", 0.8, 0.6, 0.9, 0.5, "majority", (0.1, 0.3, 0.4)), -0.1, 0.0)
    >>> [round(end, 2) for end in (found.low, found.value, found.high, *found.lift)]
    [0.5, 0.7, 0.8, 0.0, 0.2, 0.3]
    """
    if expected.value is None or expected.low is None or expected.high is None:
        return expected
    least = 0.0 if expected.score == "accuracy" else -math.inf
    ends = (expected.low, expected.value, expected.high)
    low, value, high = widened(ends, reach, moved=by, least=least, most=1.0)
    lift, over = (
        None if one is None else widened(one, reach, moved=by, most=1.0)
        for one in (expected.lift, expected.over_constant)
    )
    return replace(expected, value=value, low=low, high=high, lift=lift, over_constant=over)


def less_sure(expected: Expected, sd: float) -> Expected:
    """The same forecast with one more thing that is not known, added in variance.

    >>> found = Expected("R²", 0.5, 0.3, 0.7, baseline=0.0, lift=(0.3, 0.5, 0.7))
    >>> wide = less_sure(found, 0.1)
    >>> round(wide.low, 2), wide.value, round(wide.high, 2)
    (0.22, 0.5, 0.78)
    """
    if expected.value is None or expected.low is None or expected.high is None:
        return expected
    reach = float(normal_quantile(0.975)) * sd
    least = 0.0 if expected.score == "accuracy" else min(LEAST_TOLD, expected.low)
    low, _, high = widened((expected.low, expected.value, expected.high), reach, least=least, most=1.0)
    lift = expected.lift
    if lift is not None and expected.baseline is not None:
        lift = (min(lift[0], low - expected.baseline), lift[1], max(lift[2], high - expected.baseline))
    return replace(expected, low=low, high=high, lift=lift)
