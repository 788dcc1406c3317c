"""Intervals whose unit of evidence is the combination.

Rows of one combination share its luck, so they are resampled together: a combination is drawn with all its rows.
Drawing the rows again within it would count their noise twice, because the combinations' own scores already carry it
(Davison and Hinkley 1997, section 3.8). The draws are studentised: each is measured in its own standard error, which
keeps the promise for skewed scores, where the quantiles of the draws themselves cover too little. For scores with
heavy tails on both sides Student's formula is the safer one. Each end is the further of the two: some hundredths
wider, and what is promised is kept (`benchmarks/coverage.py`).

Scores near their bound have draws without any spread. There a share gets Wilson's interval for as many independent
answers as the combinations are worth, and where there is no error at all, for one answer a combination.

A difference of shares lies between -1 and 1. Where the draws of one of two shares have no spread, the shares' own
intervals are put together instead (Newcombe 1998, method 10): studentised draws would reach far beyond what there is.
An interval that still holds every possible difference says nothing, and is none.

Our own, because the resampling of libraries draws rows, or loops over draws.
"""

import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from recombine.algebra.groups import Numbers
from recombine.evaluation.distributions import student_quantile
from recombine.evaluation.statistic import Statistic, mean

FEWEST = 5
"""With fewer combinations nothing can be said about the next one."""
_CHUNK = 2 * 10**6
_DEGENERATE = 0.002

Interval = tuple[float, float]


@dataclass(frozen=True)
class Sure:
    """How sure an interval is to be, and from how many draws."""

    draws: int = 2_000
    confidence: float = 0.95
    seed: int = 0

    def generator(self, name: str) -> np.random.Generator:
        """Random numbers of their own for each thing that is resampled, so that one more changes no other."""
        return np.random.default_rng([self.seed, zlib.crc32(name.encode())])

    @property
    def tail(self) -> float:
        """The share left out on each side."""
        return (1 - self.confidence) / 2


@dataclass(frozen=True, eq=False)
class Resampled:
    """A statistic over draws of its combinations: its values, and their standard errors."""

    statistic: Statistic
    values: Numbers
    errors: Numbers

    @cached_property
    def value(self) -> float:
        """The statistic itself."""
        return self.statistic.of_all

    @cached_property
    def error(self) -> float:
        """Its standard error."""
        return self.statistic.error


def resampled(statistics: Sequence[Statistic], sure: Sure, name: str) -> tuple[Resampled, ...]:
    """Draw combinations again and again, each with all its rows; several statistics of the same ones at once."""
    count = statistics[0].combinations
    rng = sure.generator(name)
    columns = np.concatenate([_columns(one) for one in statistics], axis=1)
    sums = np.empty((sure.draws, columns.shape[1]))
    step = max(1, _CHUNK // count)
    for start in range(0, sure.draws, step):
        size = min(step, sure.draws - start)
        sums[start : start + size] = _times_drawn(rng, size, count) @ columns
    ends = np.cumsum([_columns(one).shape[1] for one in statistics])
    return tuple(_drawn(one, part) for one, part in zip(statistics, np.split(sums, ends[:-1], axis=1), strict=True))


def _columns(statistic: Statistic) -> Numbers:
    """What is summed for a statistic: its parts, and their products for its standard error."""
    first, second = np.triu_indices(statistic.parts.shape[1])
    return np.concatenate([statistic.parts, statistic.parts[:, first] * statistic.parts[:, second]], axis=1)


def _drawn(statistic: Statistic, sums: Numbers) -> Resampled:
    count, width = statistic.parts.shape
    first, second = np.triu_indices(width)
    slope = statistic.slope(sums[:, :width])
    weight = np.where(first == second, 1.0, 2.0)
    with np.errstate(invalid="ignore"):
        spread = np.sum(weight * slope[:, first] * slope[:, second] * sums[:, width:], axis=1)
        errors = np.sqrt(np.maximum(spread, 0.0) * count / max(count - 1, 1))
    return Resampled(statistic, statistic.value(sums[:, :width]), errors)


def _times_drawn(rng: np.random.Generator, draws: int, count: int) -> Numbers:
    """How often each of `count` things is drawn in `count` draws with replacement, for several draws."""
    drawn = rng.integers(0, count, size=(draws, count), dtype=np.int64)
    drawn += np.arange(draws)[:, None] * count
    return np.bincount(drawn.ravel(), minlength=draws * count).reshape(draws, count).astype(np.float64)


def interval(
    statistic: Statistic,
    sure: Sure,
    name: str,
    *,
    share: bool = False,
    least: float = -math.inf,
    drawn: Resampled | None = None,
) -> Interval | None:
    """An interval for one score; None with too few combinations, or where nothing varies and nothing bounds it.

    A `share` lies between 0 and 1; any other score at `least` or above. `drawn` are draws made already.

    >>> from recombine.evaluation.statistic import mean
    >>> rows = np.full(40, 10.0)
    >>> right = np.tile([10.0, 8.0, 6.0, 9.0], 10)
    >>> [round(end, 2) for end in interval(mean(rows, right), Sure(), "unseen", share=True)]
    [0.78, 0.87]
    """
    if statistic.combinations < FEWEST or not math.isfinite(statistic.of_all):
        return None
    if statistic.error <= 1e-12 * abs(statistic.of_all):
        return _wilson_of(statistic, float(statistic.combinations), sure) if share else None
    found = drawn or resampled([statistic], sure, name)[0]
    usable = found.errors > 1e-9 * found.error
    if share and _degenerate(found):
        worth = statistic.of_all * (1 - statistic.of_all) / statistic.error**2
        return _wilson_of(statistic, worth, sure)
    shape = (found.value, found.error, statistic.combinations - 1)
    low, high = _studentised(*shape, (found.values[usable], found.errors[usable]), sure)
    return (max(low, 0.0), min(high, 1.0)) if share else (max(low, least), high)


def gap_interval(
    one: Statistic,
    other: Statistic,
    sure: Sure,
    name: str,
    *,
    share: bool = False,
    drawn: tuple[Resampled, Resampled] | None = None,
) -> Interval | None:
    """An interval for the difference of two scores over different combinations, each resampled on its own.

    Of two shares it lies between -1 and 1, and is None where it would hold all of that.

    >>> from recombine.evaluation.statistic import mean
    >>> rows, right = np.full(5, 10.0), np.array([10.0, 0, 10, 0, 10])
    >>> seen, unseen = mean(np.full(9, 10.0), np.full(9, 10.0)), mean(rows, right)
    >>> [round(end, 2) for end in gap_interval(seen, unseen, Sure(), "gap", share=True)]
    [-0.1, 0.87]
    """
    if min(one.combinations, other.combinations) < FEWEST:
        return None
    value, error = one.of_all - other.of_all, math.hypot(one.error, other.error)
    if not math.isfinite(value) or error <= 1e-12 * max(abs(one.of_all), abs(other.of_all)):
        return None
    first, second = drawn or (resampled([one], sure, f"{name} 1")[0], resampled([other], sure, f"{name} 2")[0])
    if share and (_degenerate(first) or _degenerate(second)):
        return _square_and_add((one, first), (other, second), sure)
    errors = np.hypot(first.errors, second.errors)
    usable = errors > 1e-9 * error
    freedom = error**4 / sum(part.error**4 / (part.combinations - 1) for part in (one, other))  # Satterthwaite's
    apart = ((first.values - second.values)[usable], errors[usable])
    found = _studentised(value, error, freedom, apart, sure)
    return _told(found) if share else found


def difference_interval(statistic: Statistic, sure: Sure, name: str, *, share: bool = False) -> Interval | None:
    """An interval for the mean difference of two scores of the same rows.

    Of two shares it is a share itself, stretched from 0 to 1 over -1 to 1.

    >>> from recombine.evaluation.statistic import difference
    >>> apart = difference(np.full(5, 10.0), np.array([0.0, 0, 10, 10, 10]), np.full(5, 10.0))
    >>> [round(end, 2) for end in difference_interval(apart, sure=Sure(), name="x", share=True)]
    [-0.31, 0.82]
    """
    if not share or statistic.combinations < FEWEST or statistic.error <= 1e-12:
        return interval(statistic, sure, name)
    rows, apart = statistic.parts.T
    halved = interval(mean(rows, (rows + apart) / 2), sure, name, share=True)
    return None if halved is None else _told((2 * halved[0] - 1, 2 * halved[1] - 1))


def _degenerate(drawn: Resampled) -> bool:
    """Whether too many draws have no spread for the others to be trusted."""
    return bool((drawn.errors <= max(1e-9 * drawn.error, 1e-12)).mean() > _DEGENERATE)


def _square_and_add(
    one: tuple[Statistic, Resampled], other: tuple[Statistic, Resampled], sure: Sure
) -> Interval | None:
    """The interval of a difference from those of its two shares."""
    first, second = (interval(part, sure, "", share=True, drawn=drawn) for part, drawn in (one, other))
    if first is None or second is None:
        return None
    a, b = one[0].of_all, other[0].of_all
    low = a - b - math.hypot(a - first[0], second[1] - b)
    return _told((low, a - b + math.hypot(first[1] - a, b - second[0])))


def _told(found: Interval) -> Interval | None:
    """An interval of a difference of shares within what is possible; None where it rules nothing out."""
    low, high = max(found[0], -1.0), min(found[1], 1.0)
    return (low, high) if low > -1 or high < 1 else None


def _studentised(value: float, error: float, freedom: float, drawn: tuple[Numbers, Numbers], sure: Sure) -> Interval:
    """The bootstrap-t interval, nowhere narrower than Student's."""
    scaled = (drawn[0] - value) / drawn[1]
    low, high = np.quantile(scaled[np.isfinite(scaled)], [sure.tail, 1 - sure.tail])
    least = float(student_quantile(1 - sure.tail, freedom))
    return float(value - max(high, least) * error), float(value - min(low, -least) * error)


def _wilson_of(statistic: Statistic, worth: float, sure: Sure) -> Interval:
    low, high = wilson(np.array(statistic.of_all), np.array(worth), np.array(statistic.combinations - 1), sure)
    return float(low), float(high)


def wilson(share: Numbers, worth: Numbers, freedom: Numbers, sure: Sure) -> tuple[Numbers, Numbers]:
    """Wilson's interval for shares of `worth` independent answers, with Student's quantile for few combinations.

    >>> low, high = wilson(np.array([1.0]), np.array([40.0]), np.array([39.0]), Sure())
    >>> low.round(3).tolist(), high.round(9).tolist()
    ([0.907], [1.0])
    """
    t = student_quantile(1 - sure.tail, freedom)
    worth = np.maximum(worth, 1.0)
    middle = (share + t**2 / (2 * worth)) / (1 + t**2 / worth)
    reach = t / (1 + t**2 / worth) * np.sqrt(share * (1 - share) / worth + t**2 / (4 * worth**2))
    return np.maximum(middle - reach, 0.0), np.minimum(middle + reach, 1.0)
