"""Scores of many combinations, and what they would be if other combinations had been drawn.

The unit of evidence is the combination: rows of one combination share its luck, so a combination is drawn with all its
rows. Drawing the rows again within it would count their noise twice, because the combinations' own scores already carry
it (Davison and Hinkley 1997, section 3.8).

The share of right answers is a sum over a sum; so are the mean squared error, the mean over combinations and R². Each
is a function of a few sums over combinations that does not change when all combinations are taken twice. That is all
that the intervals need: the value, and how it moves with each sum.

Our own, because `scipy.stats.bootstrap` loops over draws and knows no standard error of each.
"""

import math
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from recombine.numerics.groups import Ints, Numbers, number
from recombine.numerics.hypothesis_tests import bonferroni

FEWEST = 5
"""With fewer combinations nothing can be said about the next one."""
_ROUNDING = 1e-12
"""Of the larger score: two that differ by less are the same."""
_CHUNK = 2 * 10**6
_MOST_DRAWN = 5_000
"""Combinations that are drawn one by one."""
_MOST_KINDS = 1_000
"""Kinds of combinations that are drawn by their number."""

_Function = Callable[[Numbers], Numbers]


@dataclass(frozen=True)
class IntervalSettings:
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

    def of_many(self, count: int) -> "IntervalSettings":
        """How sure each of so many intervals is to be for all of them to hold at once (Bonferroni)."""
        return replace(self, confidence=1 - bonferroni(1 - self.confidence, count))


@dataclass(frozen=True, eq=False)
class EvidencePieces:
    """Which tested combinations are one piece of evidence, and how many such pieces the unseen ones are."""

    of: Ints
    unseen: int


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
        """How many combinations, or pieces of several, it is a score of."""
        return len(self.parts)

    def by_piece(self, pieces: Ints) -> "Statistic":
        """The same score, of which combinations that are one piece of evidence are drawn together.

        >>> alike = mean(np.ones(4), np.array([1.0, 1.0, 0.0, 0.0])).by_piece(np.array([0, 0, 1, 1]))
        >>> alike.of_all, alike.combinations
        (0.5, 2)
        """
        distinct, ids = np.unique(pieces, return_inverse=True)
        if len(distinct) == len(pieces):  # each is a piece of its own
            return self
        sums = [np.bincount(ids, part) for part in self.parts.T]
        return Statistic(np.stack(sums, axis=1), self.value, self.slope)

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
        with np.errstate(invalid="ignore"):
            moved = self.parts @ self.slope(self.parts.sum(axis=0))
        return influence_error(count * moved)


@dataclass(frozen=True, eq=False)
class Resampled:
    """An estimate from some combinations with its standard error, and both again for each draw of combinations."""

    value: float
    error: float
    combinations: int
    values: Numbers
    errors: Numbers

    @classmethod
    def undrawn(cls, statistic: Statistic) -> "Resampled":
        """A statistic that needs no draws, because nothing varies."""
        none = np.zeros(0)
        return cls(statistic.of_all, statistic.error, statistic.combinations, none, none)


def mean(rows: Numbers, total: Numbers) -> Statistic:
    """The mean over rows."""
    return Statistic(np.stack([rows, total], axis=1), _ratio, _ratio_slope)


def macro(rows: Numbers, total: Numbers) -> Statistic:
    """The mean over combinations, each counted once."""
    return mean(np.ones(len(rows)), total / rows)


def r2(rows: Numbers, error: Numbers, total: Numbers, squares: Numbers) -> Statistic:
    """One less the squared error over the spread of the truth, of which `total` and `squares` are the sums."""
    return Statistic(np.stack([rows, error, total, squares], axis=1), _r2, _r2_slope)


def difference(rows: Numbers, own: Numbers, other: Numbers) -> Statistic:
    """The mean over rows of the other model's score less this one's; what is nothing but rounding is no difference."""
    apart, size = other - own, max(np.abs(part).max(initial=0.0) for part in (own, other))
    return mean(rows, np.where(np.abs(apart) <= _ROUNDING * size, 0.0, apart))


def r2_difference(rows: Numbers, own: Numbers, other: Numbers, total: Numbers, squares: Numbers) -> Statistic:
    """The other model's R² less this one's: what their squared errors differ by, over the spread of the truth."""
    found = r2(rows, other - own, total, squares)
    return Statistic(found.parts, lambda sums: _r2(sums) - 1, found.slope)


def explained_difference(own: Numbers, usual: Numbers, other: Numbers, other_usual: Numbers) -> Statistic:
    """What is explained now less what was: 1 - Σ other / Σ other_usual, less 1 - Σ own / Σ usual.

    Each is one less a squared error over what a constant answer has, which may be another one now.
    """
    return Statistic(np.stack([own, usual, other, other_usual], axis=1), _explained, _explained_slope)


def root_difference(own: Numbers, other: Numbers) -> Statistic:
    """The other model's root mean squared error less this one's, from the squared error of each combination."""
    return Statistic(np.stack([np.ones(len(own)), own, other], axis=1), _roots, _roots_slope)


def influence_error(influence: Numbers, times: Numbers | None = None) -> float:
    """The standard error of an estimate that moves by `influence` with the share of each combination.

    To first order the estimate is itself plus the mean of the influences, which is 0, so its variance is theirs over
    their number (the infinitesimal jackknife, with the usual n - 1). `times` is how often each combination counts.
    """
    squares = np.square(influence) if times is None else times * np.square(influence)
    return math.sqrt(float(np.mean(squares)) / (len(influence) - 1))


def times_drawn(rng: np.random.Generator, draws: int, count: int) -> Numbers:
    """How often each of `count` things is drawn in `count` draws with replacement, for several draws."""
    drawn = rng.integers(0, count, size=(draws, count), dtype=np.int64)
    drawn += np.arange(draws)[:, None] * count
    return np.bincount(drawn.ravel(), minlength=draws * count).reshape(draws, count).astype(np.float64)


def resampled(statistics: Sequence[Statistic], settings: IntervalSettings, name: str) -> tuple[Resampled, ...]:
    """Draw combinations again and again, each with all its rows; several statistics of the same ones at once."""
    rng = settings.generator(name)
    drawn, alike = _few_to_draw(statistics, rng)
    columns = np.concatenate([_columns(one) for one in drawn], axis=1)
    sums = np.empty((settings.draws, columns.shape[1]))
    count = len(columns)
    step = max(1, _CHUNK // count)
    for start in range(0, settings.draws, step):
        size = min(step, settings.draws - start)
        if alike is None:
            sums[start : start + size] = times_drawn(rng, size, count) @ columns
        else:
            sums[start : start + size] = rng.multinomial(alike.sum(), alike / alike.sum(), size) @ columns
    ends = np.cumsum([_columns(one).shape[1] for one in drawn])
    return tuple(_drawn(one, part) for one, part in zip(statistics, np.split(sums, ends[:-1], axis=1), strict=True))


def _few_to_draw(statistics: Sequence[Statistic], rng: np.random.Generator) -> tuple[Sequence[Statistic], Ints | None]:
    """What to draw from, and how many combinations each line of it stands for; None where each is one thing to draw.

    Combinations that add the same are told apart by nothing, so how often each such kind is drawn is multinomial:
    exactly what drawing them one by one gives. Of many that are all different, random lots of equal size are drawn
    whole: their sums have the same variance, but for some hundredths, and the same skewness, which is all that a draw
    that is measured in its own error still shows of so many (`interval`); the error that is told is that of the single
    ones.
    """
    count = statistics[0].combinations
    if count <= _MOST_DRAWN:
        return statistics, None
    ids, size = np.zeros(count, dtype=np.int64), 1
    for column in np.concatenate([one.parts for one in statistics], axis=1).T:
        values, place = np.unique(column, return_inverse=True)
        keys, ids = number(ids * len(values) + place, size * len(values))
        size = len(keys)
        if size > _MOST_KINDS:
            lots = rng.permutation(count) % _MOST_DRAWN
            return [one.by_piece(lots) for one in statistics], None
    alike, first = np.bincount(ids), np.empty(size, dtype=np.int64)
    first[ids] = np.arange(count)
    return [replace(one, parts=one.parts[first]) for one in statistics], alike


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
    values = statistic.value(sums[:, :width])
    return Resampled(statistic.of_all, statistic.error, statistic.combinations, values, errors)


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


def _explained(sums: Numbers) -> Numbers:
    own, usual, other, other_usual = np.moveaxis(sums, -1, 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(own / usual - other / other_usual)


def _explained_slope(sums: Numbers) -> Numbers:
    own, usual, other, other_usual = np.moveaxis(sums, -1, 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.stack([1 / usual, -own / usual**2, -1 / other_usual, other / other_usual**2], axis=-1)


def _roots(sums: Numbers) -> Numbers:
    count, own, other = np.moveaxis(sums, -1, 0)
    return np.asarray(np.sqrt(other / count) - np.sqrt(own / count))


def _roots_slope(sums: Numbers) -> Numbers:
    """d √(s/n) / ds = 1 / (2 √(s n)), d √(s/n) / dn = -√(s/n) / (2 n); 0 where there is no error at all."""
    count, own, other = np.moveaxis(sums, -1, 0)
    by_own, by_other = (np.where(s > 0, 0.5 / np.sqrt(np.where(s > 0, s, 1.0) * count), 0.0) for s in (own, other))
    return np.stack([-_roots(sums) / (2 * count), -by_own, by_other], axis=-1)
