"""Intervals whose unit of evidence is the combination.

The draws are studentised: each is measured in its own standard error, which keeps the promise for skewed scores, where
the quantiles of the draws themselves cover too little. For scores with heavy tails on both sides Student's formula is
the safer one. Each end is the further of the two: some hundredths wider, and what is promised is kept
(`benchmarks/coverage.py`).

Scores near their bound have draws without any spread. There a share gets Wilson's interval for as many independent
answers as the combinations are worth, and where there is no error at all, for one answer a combination.

A difference of shares lies between -1 and 1. Where the draws of one of two shares have no spread, the shares' own
intervals are put together instead (Newcombe 1998, method 10): studentised draws would reach far beyond what there is.
An interval that still holds every possible difference says nothing, and is none.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from recombine.numerics.distributions import beta_quantile, student_quantile
from recombine.numerics.groups import Ints, Numbers
from recombine.numerics.resampling import FEWEST, IntervalSettings, Resampled, Statistic, mean, resampled

Interval = tuple[float, float]
_DEGENERATE = 0.002
"""The share of draws without spread from which on the others are not trusted: 4 of 2,000, a tenth of one tail."""
_NO_SPREAD = 1e-12
"""Standard errors below this share of the value are rounding."""


def interval(
    statistic: Statistic,
    settings: IntervalSettings,
    name: str,
    *,
    share: bool = False,
    least: float = -math.inf,
    drawn: Resampled | None = None,
) -> Interval | None:
    """An interval for one score; None with too few combinations, or where nothing varies and nothing bounds it.

    A `share` lies between 0 and 1; any other score at `least` or above. `drawn` are draws made already.

    >>> rows = np.full(40, 10.0)
    >>> right = np.tile([10.0, 8.0, 6.0, 9.0], 10)
    >>> [round(end, 2) for end in interval(mean(rows, right), IntervalSettings(), "unseen", share=True)]
    [0.78, 0.87]
    """
    return resampled_interval(drawn or _drawn(statistic, settings, name), settings, share=share, least=least)


def resampled_interval(
    drawn: Resampled, settings: IntervalSettings, *, share: bool = False, least: float = -math.inf
) -> Interval | None:
    """The same for any estimate whose draws and their standard errors are known."""
    if drawn.combinations < FEWEST or not math.isfinite(drawn.value):
        return None
    if drawn.error <= _NO_SPREAD * abs(drawn.value):
        return _wilson_of(drawn.value, drawn.combinations, None, settings) if share else None
    if share and _degenerate(drawn):
        return _wilson_of(drawn.value, drawn.combinations, drawn.error, settings)
    usable = drawn.errors > 1e-9 * drawn.error
    shape = (drawn.value, drawn.error, drawn.combinations - 1)
    low, high = _studentised(*shape, (drawn.values[usable], drawn.errors[usable]), settings)
    return (max(low, 0.0), min(high, 1.0)) if share else (max(low, least), high)


def gap_interval(
    one: Statistic,
    other: Statistic,
    settings: IntervalSettings,
    name: str,
    *,
    share: bool = False,
    drawn: tuple[Resampled, Resampled] | None = None,
) -> Interval | None:
    """An interval for the difference of two scores over different combinations, each resampled on its own.

    Of two shares it lies between -1 and 1, and is None where it would hold all of that.

    >>> rows, right = np.full(5, 10.0), np.array([10.0, 0, 10, 0, 10])
    >>> seen, unseen = mean(np.full(9, 10.0), np.full(9, 10.0)), mean(rows, right)
    >>> [round(end, 2) for end in gap_interval(seen, unseen, IntervalSettings(), "gap", share=True)]
    [-0.1, 0.87]
    """
    if min(one.combinations, other.combinations) < FEWEST:
        return None
    value, error = one.of_all - other.of_all, math.hypot(one.error, other.error)
    if not math.isfinite(value) or error <= _NO_SPREAD * max(abs(one.of_all), abs(other.of_all)):
        return None
    first, second = drawn or (
        resampled([one], settings, f"{name} 1")[0],
        resampled([other], settings, f"{name} 2")[0],
    )
    if share and (_degenerate(first) or _degenerate(second)):
        return _square_and_add(first, second, settings)
    errors = np.hypot(first.errors, second.errors)
    usable = errors > 1e-9 * error
    freedom = error**4 / sum(part.error**4 / (part.combinations - 1) for part in (one, other))  # Satterthwaite's
    apart = ((first.values - second.values)[usable], errors[usable])
    found = _studentised(value, error, freedom, apart, settings)
    return _told(found) if share else found


def difference_interval(
    statistic: Statistic, settings: IntervalSettings, name: str, *, share: bool = False
) -> Interval | None:
    """An interval for the mean difference of two scores of the same rows.

    Of two shares it is a share itself, stretched from 0 to 1 over -1 to 1; where the two hardly ever differ, what is
    gained and what is lost each get an interval, and these are put together.

    >>> from recombine.numerics.resampling import difference
    >>> apart = difference(np.full(5, 10.0), np.array([0.0, 0, 10, 10, 10]), np.full(5, 10.0))
    >>> [round(end, 2) for end in difference_interval(apart, IntervalSettings(), "x", share=True)]
    [-0.29, 0.87]
    """
    if not share:
        return interval(statistic, settings, name)
    if statistic.combinations < FEWEST or not math.isfinite(statistic.of_all):
        return None
    rows, apart = statistic.parts.T
    if statistic.error > _NO_SPREAD:
        halved = resampled([mean(rows, (rows + apart) / 2)], settings, name)[0]
        if not _degenerate(halved):
            found = resampled_interval(halved, settings, share=True)
            return None if found is None else _stretched(found)
    gained, lost = (mean(rows, np.maximum(sign * apart, 0.0)) for sign in (1, -1))
    return _square_and_add(_drawn(gained, settings, f"{name} +"), _drawn(lost, settings, f"{name} -"), settings)


def lowest_difference_interval(
    picked: Statistic, others: Sequence[Statistic], settings: IntervalSettings, name: str, *, share: bool = False
) -> Interval | None:
    """The same for a difference that was picked because it is the lowest of several, as that to the best rule is.

    Its upper end is that of K intervals that hold at once, where K counts it and those `others` that could have been
    the lowest instead: whose Student's interval does not lie above its own. The lower end needs no such care.

    >>> from recombine.numerics.resampling import difference
    >>> rng = np.random.default_rng(0)
    >>> rows, own, *rules = np.full(30, 10.0), *rng.binomial(10, 0.5, (4, 30)).astype(float)
    >>> lifts = sorted((difference(rows, rule, own) for rule in rules), key=lambda lift: lift.of_all)
    >>> for others in ([], lifts[1:]):
    ...     ends = lowest_difference_interval(lifts[0], others, IntervalSettings(), "lift", share=True)
    ...     print([round(end, 2) for end in ends])
    [-0.13, 0.06]
    [-0.13, 0.08]
    """
    found = difference_interval(picked, settings, name, share=share)
    if found is None:
        return None
    t = float(student_quantile(1 - settings.tail, picked.combinations - 1))
    highest = picked.of_all + t * picked.error
    rivals = 1 + sum(not other.of_all - t * other.error > highest for other in others)
    wider = difference_interval(picked, settings.of_many(rivals), name, share=share) if rivals > 1 else found
    return found[0], 1.0 if wider is None else max(found[1], wider[1])


def resampled_difference_interval(drawn: Resampled, settings: IntervalSettings) -> Interval | None:
    """The same for any difference of two shares whose draws and their standard errors are known.

    Where the difference is the same everywhere it is as sure as one answer a combination makes it.
    """
    halved = Resampled(
        (1 + drawn.value) / 2, drawn.error / 2, drawn.combinations, (1 + drawn.values) / 2, drawn.errors / 2
    )
    found = resampled_interval(halved, settings, share=True)
    return None if found is None else _stretched(found)


def prediction_interval(
    draws: Numbers, settings: IntervalSettings, *, least: float = -math.inf, most: float = math.inf
) -> tuple[Numbers, Numbers]:
    """Where the next draw lies, from some draws (draws, …) like it: the further of two at each end.

    Student's allows for the mean and the spread being estimated, mean ± t s √(1 + 1/n), and is exact for a normal. The
    draws' own quantiles stand at (n + 1) p, where the next draw falls below with probability p whatever its
    distribution; of few draws these are the smallest and the largest.

    >>> low, high = prediction_interval(np.arange(20.0), IntervalSettings())
    >>> float(low.round(1)), float(high.round(1))
    (-3.2, 22.2)
    """
    count = len(draws)
    reach = student_quantile(1 - settings.tail, count - 1) * draws.std(axis=0, ddof=1) * math.sqrt(1 + 1 / count)
    own = np.quantile(draws, [settings.tail, 1 - settings.tail], axis=0, method="weibull")
    low, high = np.minimum(own[0], draws.mean(axis=0) - reach), np.maximum(own[1], draws.mean(axis=0) + reach)
    return np.maximum(low, least), np.minimum(high, most)


def widened(
    ends: tuple[float, float, float],
    reach: float,
    *,
    moved: float = 0.0,
    least: float = -math.inf,
    most: float = math.inf,
) -> tuple[float, float, float]:
    """(low, value, high) moved, with one more thing that is not known: its reach adds up in variance with each side's.

    >>> [round(end, 2) for end in widened((0.5, 0.8, 1.0), 0.4, moved=-0.1, least=0.0, most=1.0)]
    [0.2, 0.7, 1.0]
    """
    low, value, high = ends
    middle = min(max(value + moved, least), most)
    low, high = middle - math.hypot(value - low, reach), middle + math.hypot(high - value, reach)
    return max(low, least), middle, min(high, most)


def reflected_interval(found: float, draws: Numbers, settings: IntervalSettings) -> Interval:
    """For a share whose draws have no standard error of their own: the quantiles, and these mirrored at what was found.

    Each end is the further of the two. A share near none or all is pulled inwards by chance, and draws are pulled once
    more. NaN draws take no part.

    >>> reflected_interval(0.9, np.linspace(0.6, 1.0, 41), IntervalSettings())
    (0.61, 1.0)
    """
    low, high = np.nanquantile(draws, [settings.tail, 1 - settings.tail])
    low, high = min(low, 2 * found - high), max(high, 2 * found - low)
    return round(max(float(low), 0.0), 6), round(min(float(high), 1.0), 6)


def student_interval(
    value: Numbers, error: Numbers, count: Ints, settings: IntervalSettings, *, share: bool
) -> tuple[Numbers, Numbers]:
    """Intervals of many scores at once by formula, each of its own number of combinations; NaN where there is none.

    Student's, or Wilson's for a share: drawing would give nearly the same, and there can be 10^5 of them.
    """
    enough = (count >= FEWEST) & np.isfinite(error) & np.isfinite(value)
    freedom = np.where(enough, count - 1, FEWEST)
    if share:
        spread = np.where(enough & (error > _NO_SPREAD), error, np.nan)
        with np.errstate(invalid="ignore"):
            worth = np.where(np.isnan(spread), count, value * (1 - value) / spread**2)
        low, high = wilson(np.where(enough, value, 0.5), worth, freedom, settings)
    else:
        enough &= error > 0
        low, high = student_ends(value, error, freedom, settings)
    return np.where(enough, low, np.nan), np.where(enough, high, np.nan)


def student_mean_interval(
    values: Sequence[float] | Numbers, *, confidence: float = 0.95, least: float = -math.inf, most: float = math.inf
) -> Interval | None:
    """Student's interval for the mean of independent values, of a few seeds for example; None below two of them.

    Where the measure has bounds (a share, a correlation) the ends are cut off there. The mean cannot lie beyond them,
    so what is cut off covers nothing, and the interval keeps its promise. Student's on the logit would stay within by
    itself, but is an interval for another mean, and has nothing to say of a seed that scores 0 or 1.

    >>> [round(end, 3) for end in student_mean_interval([0.5, 0.7, 0.95], least=0.0, most=1.0)]
    [0.157, 1.0]
    """
    known = np.asarray(values, dtype=float)
    if len(known) < 2:
        return None
    middle, error = float(known.mean()), float(known.std(ddof=1)) / math.sqrt(len(known))
    bounds = (min(least, middle), max(most, middle))  # rounding may carry the mean itself beyond them
    return _one_student_interval(middle, error, len(known) - 1, confidence=confidence, bounds=bounds)


def welch_interval(one: Sequence[float], other: Sequence[float], *, confidence: float = 0.95) -> Interval | None:
    """The mean of some values less that of others, which are not paired and may vary more; None below two of a side.

    >>> [round(end, 3) for end in welch_interval([3.0, 3.1, 3.2], [1.0, 1.1, 1.2])]
    [1.773, 2.227]
    """
    sides = [np.asarray(side, dtype=float) for side in (one, other)]
    if min(map(len, sides)) < 2:
        return None
    apart = float(sides[0].mean() - sides[1].mean())
    spread = [float(side.var(ddof=1)) / len(side) for side in sides]
    total = sum(spread)
    if not total:
        return apart, apart
    # Satterthwaite's, from shares of the total: squares of very small variances would vanish.
    shares = sum((part / total) ** 2 / (len(side) - 1) for part, side in zip(spread, sides, strict=True))
    return _one_student_interval(apart, math.sqrt(total), 1 / shares, confidence=confidence)


def jackknife_interval(
    value: float, without: Sequence[Numbers], *, least: float = -math.inf, most: float = math.inf
) -> Interval | None:
    """The 95 % interval of any estimate, from what it is `without` each of some blocks; None where there are none.

    Several lists are of several things that were drawn, each with blocks of its own: their variances add up, and the
    shortest list has the degrees of freedom.

    >>> numbers = np.arange(9.0)
    >>> [round(end, 2) for end in jackknife_interval(4.0, [(36 - numbers) / 8])]  # as Student's of the nine numbers
    [1.89, 6.11]
    """
    if not without:
        return None
    variance = sum((len(part) - 1) * float(np.var(part)) for part in without)
    return _one_student_interval(value, math.sqrt(variance), min(map(len, without)) - 1, bounds=(least, most))


def wilson_interval(share: float, trials: float, *, freedom: float = math.inf) -> Interval:
    """Wilson's 95 % interval for one share of independent trials; with `freedom` by Student's quantile for few.

    >>> [round(end, 3) for end in wilson_interval(0.0, 200)]
    [0.0, 0.019]
    """
    low, high = wilson(np.array(share), np.array(float(trials)), np.array(freedom), IntervalSettings())
    return float(low), float(high)


def exact_share_interval(hits: int, trials: int, *, confidence: float = 0.95) -> Interval:
    """Clopper and Pearson's interval for a share of independent trials: it never covers less than it promises.

    >>> [round(end, 3) for end in exact_share_interval(140, 400)]
    [0.303, 0.399]
    """
    tail = (1 - confidence) / 2
    low = float(beta_quantile(tail, np.array(hits), np.array(trials - hits + 1))) if hits else 0.0
    high = float(beta_quantile(1 - tail, np.array(hits + 1), np.array(trials - hits))) if hits < trials else 1.0
    return low, high


def lowest_share_intervals(hits: Numbers, trials: Numbers, settings: IntervalSettings) -> tuple[Numbers, Numbers]:
    """An interval of each of several shares that holds even if the share was picked for being low.

    The lowest of many is low by luck too, so its upper end is that of a share at 1 / K of the usual tail, and holds
    for all K at once. K counts those that could have been picked instead: a share that surely lies above the upper end
    of the picked one could not. The lower end needs no such care: to be picked makes a share look lower, not higher.
    Ends are Jeffreys', which hold where shares are near 1 and Wilson's do not (of 40 groups at 97 %: 97 % to 84 %).

    >>> low, high = lowest_share_intervals(np.array([45.0, 40, 46, 44]), np.full(4, 50.0), IntervalSettings())
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([0.795, 0.674, 0.821, 0.769], [0.972, 0.912, 0.981, 0.961])
    """
    # few are distinct, however many there are; as complex numbers they are sorted in one go
    distinct, place, times = np.unique(hits + 1j * trials, return_inverse=True, return_counts=True)
    low, high = _lowest_ends(partial(_jeffreys, distinct.real, distinct.imag), times, settings.tail)
    return low[place], high[place]


def lowest_mean_intervals(
    value: Numbers, error: Numbers, freedom: Numbers, settings: IntervalSettings
) -> tuple[Numbers, Numbers]:
    """The same of means with their standard errors, by Student's quantile; NaN where an error is.

    >>> low, high = lowest_mean_intervals(np.array([1.0, 1, 9]), np.full(3, 0.5), np.full(3, 20), IntervalSettings())
    >>> low.round(2).tolist(), high.round(2).tolist()
    ([-0.04, -0.04, 7.96], [2.21, 2.21, 10.31])
    """

    def quantile(share: float | Numbers) -> Numbers:
        return value + student_quantile(share, freedom) * error

    return _lowest_ends(quantile, np.ones(len(value), dtype=np.int64), settings.tail)


def _lowest_ends(quantile: Callable[[float | Numbers], Numbers], times: Ints, tail: float) -> tuple[Numbers, Numbers]:
    """The ends of each, of which there are so many `times`, if it was picked for being low."""
    of = int(times.sum())
    lowest, highest = quantile(tail / of), quantile(1 - tail / of)
    order = np.argsort(lowest)
    rivals = np.cumsum(times[order])[np.searchsorted(lowest[order], highest, side="right") - 1]
    return quantile(tail), quantile(1 - tail / rivals)


def _jeffreys(hits: Numbers, trials: Numbers, share: float | Numbers) -> Numbers:
    """A quantile of what half a hit and half a miss more tell of a share; 0 and 1 where no other could be told."""
    found = beta_quantile(share, hits + 0.5, trials - hits + 0.5)
    below = np.asarray(share) < 0.5
    return np.where((hits <= 0) & below, 0.0, np.where((hits >= trials) & ~below, 1.0, found))


def student_ends(
    value: Numbers | float,
    error: Numbers | float,
    freedom: Numbers | float,
    settings: IntervalSettings,
    *,
    least: float = -math.inf,
    most: float = math.inf,
) -> tuple[Numbers, Numbers]:
    """value ± t · error with Student's quantile t, cut at what the value cannot leave.

    >>> [round(float(end), 2) for end in student_ends(0.9, 0.1, 4, IntervalSettings(), least=0.0, most=1.0)]
    [0.62, 1.0]
    """
    reach = student_quantile(1 - settings.tail, freedom) * error
    return np.maximum(value - reach, least), np.minimum(value + reach, most)


def _one_student_interval(
    value: float,
    error: float,
    freedom: float,
    *,
    confidence: float = 0.95,
    bounds: Interval = (-math.inf, math.inf),
) -> Interval:
    """`student_ends` of one value."""
    low, high = student_ends(
        value, error, freedom, IntervalSettings(confidence=confidence), least=bounds[0], most=bounds[1]
    )
    return float(low), float(high)


def wilson(share: Numbers, worth: Numbers, freedom: Numbers, settings: IntervalSettings) -> tuple[Numbers, Numbers]:
    """Wilson's interval for shares of `worth` independent answers, with Student's quantile for few combinations.

    >>> low, high = wilson(np.array([1.0]), np.array([40.0]), np.array([39.0]), IntervalSettings())
    >>> low.round(3).tolist(), high.round(9).tolist()
    ([0.907], [1.0])
    """
    t = student_quantile(1 - settings.tail, freedom)
    worth = np.maximum(worth, 1.0)
    middle = (share + t**2 / (2 * worth)) / (1 + t**2 / worth)
    reach = t / (1 + t**2 / worth) * np.sqrt(share * (1 - share) / worth + t**2 / (4 * worth**2))
    low, high = np.maximum(middle - reach, 0.0), np.minimum(middle + reach, 1.0)
    return np.minimum(low, share), np.maximum(high, share)  # at 0 and 1 an end is the share itself, but for rounding


def _wilson_of(value: float, combinations: int, error: float | None, settings: IntervalSettings) -> Interval:
    """For as many independent answers as would have this standard error: p (1 - p) / n = error². One each if none."""
    worth = float(combinations) if error is None else value * (1 - value) / error**2
    low, high = wilson(np.array(value), np.array(worth), np.array(combinations - 1), settings)
    return float(low), float(high)


def _drawn(statistic: Statistic, settings: IntervalSettings, name: str) -> Resampled:
    """Draws of a statistic, where there is anything to draw."""
    varies = statistic.combinations >= FEWEST and statistic.error > _NO_SPREAD * abs(statistic.of_all)
    return resampled([statistic], settings, name)[0] if varies else Resampled.undrawn(statistic)


def _degenerate(drawn: Resampled) -> bool:
    """Whether too many draws have no spread for the others to be trusted."""
    return bool((drawn.errors <= max(1e-9 * drawn.error, _NO_SPREAD)).mean() > _DEGENERATE)


def newcombe(one: tuple[float, float, float], other: tuple[float, float, float]) -> Interval:
    """The interval of a difference from the (low, value, high) of its two parts (Newcombe 1998, method 10).

    Errors of the two are independent, so on each side the squares of the distances from value to end add up. It never
    leaves what the ends of the two allow: of two shares it stays between -1 and 1.

    >>> [round(end, 2) for end in newcombe((0.5, 0.7, 0.9), (0.6, 0.66, 0.72))]
    [-0.17, 0.25]
    """
    apart = one[1] - other[1]
    return apart - math.hypot(one[1] - one[0], other[2] - other[1]), apart + math.hypot(
        one[2] - one[1], other[1] - other[0]
    )


def _square_and_add(one: Resampled, other: Resampled, settings: IntervalSettings) -> Interval | None:
    """The interval of a difference from those of its two shares."""
    first, second = (resampled_interval(part, settings, share=True) for part in (one, other))
    if first is None or second is None:
        return None
    return _told(newcombe((first[0], one.value, first[1]), (second[0], other.value, second[1])))


def _stretched(halved: Interval) -> Interval | None:
    """A share's interval, stretched from 0 to 1 over -1 to 1."""
    return _told((2 * halved[0] - 1, 2 * halved[1] - 1))


def _told(found: Interval) -> Interval | None:
    """An interval of a difference of shares within what is possible; None where it rules nothing out."""
    low, high = max(found[0], -1.0), min(found[1], 1.0)
    return (low, high) if low > -1 or high < 1 else None


def _studentised(
    value: float, error: float, freedom: float, drawn: tuple[Numbers, Numbers], settings: IntervalSettings
) -> Interval:
    """The bootstrap-t interval, nowhere narrower than Student's."""
    scaled = (drawn[0] - value) / drawn[1]
    least = float(student_quantile(1 - settings.tail, freedom))
    low, high = -least, least
    usable = scaled[np.isfinite(scaled)]
    if len(usable):
        low, high = np.quantile(usable, [settings.tail, 1 - settings.tail])
    return float(value - max(high, least) * error), float(value - min(low, -least) * error)
