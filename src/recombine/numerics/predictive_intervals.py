"""What to expect of combinations that were never seen, from others that were held out.

The interval is for the score that the unseen combinations will have, so it holds two kinds of chance: which
combinations happened to be tested (1/n of them), and which happen to be unseen (1/m of those). Their variances add up,
which is the same as having tested fewer: 1/n + 1/m instead of 1/n.

Accuracy is drawn: the chance of a right answer from what was tested (a beta with Jeffreys' half success and half
failure), then the unseen answers from that chance. R² is one less a quotient of squared errors, so its logarithm is
what is nearly normal: log(own / mean) ± t s √(1/n + 1/m), and R² can't pass 1. Squared errors have heavy tails, so s is
known less well than n would say: t has the degrees of freedom that their kurtosis leaves. A table in which every held-
out answer was exact promises no exactness: an unseen one may be the first exception, as wrong as the mean is, and the
low end is nowhere above the share without exception that can be promised.

Errors come in groups: a value whose effect is badly known spoils all its combinations, and so does a pair of values
that does not add up. With the `codes` of the tested combinations the interval is widened by what their groups show.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np

from recombine.base.grades import FEWEST_TESTED, SOUND_FROM, Expected
from recombine.base.words import WORSE_THAN_MEAN, percent
from recombine.numerics.distributions import student_quantile
from recombine.numerics.groups import Codes, Ints, Numbers
from recombine.numerics.intervals import Interval, lowest_difference_interval
from recombine.numerics.resampling import EvidencePieces, IntervalSettings, Statistic, difference
from recombine.numerics.rows import IncidenceRows
from recombine.numerics.simple_rules import CONSTANTS, MEAN

Score = Literal["accuracy", "R²"]
_DRAWS = 20_000
"""Enough for the 500th on each side to hardly move."""
_NO_SPREAD = 1e-12
_MOST_LOG = 30.0
"""An R² below minus 10^13 is as good as any other."""
_TWICE_AS_WRONG = -3.0  # an R²: the squared errors are four times those of the mean
_NEARLY_ALL = 0.95
_FEWEST_GROUPS = 3
_MOST_PAIRED = 20
"""190 pairs of factors; beyond, only single ones are looked at."""


def expected_score(  # noqa: PLR0913 - each says one thing of what was held out
    own: Numbers,
    baselines: Mapping[str, Numbers],
    *,
    score: Score,
    unseen: int,
    codes: Codes | None = None,
    elements: IncidenceRows | None = None,
    weights: Numbers | None = None,
    pieces: EvidencePieces | None = None,
    basis: str = "combinations",
    settings: IntervalSettings | None = None,
) -> Expected:
    """The score to expect on `unseen` combinations, from what a rule did on held-out ones.

    For accuracy `own` and the baselines hold the share of right answers of each held-out combination; for R² the
    squared error, and one of the baselines is the mean. The best baseline is the one to beat. A constant answer is that
    of all seen combinations: the commonest class of those that are left is less often that of the one held out, which
    would make a coin look better than guessing. `weights` say how much each held-out combination counts where some are
    more like the unseen ones than others; the interval is then that of fewer, (Σw)² / Σw². Those of one of the
    `pieces` stand or fall together, so it is a piece that counts. `elements` are those of the sets that each holds.

    >>> right = np.array([1.0] * 45 + [0.0] * 5)
    >>> found = expected_score(right, {"majority": np.tile([1.0, 0.0], 25)}, score="accuracy", unseen=25)
    >>> found.value, round(found.low, 2), round(found.high, 2), found.baseline, found.lift[0] > 0
    (0.9, 0.72, 1.0, 0.5, True)
    """
    sure, count = settings or IntervalSettings(), len(own)
    own, unit = np.asarray(own, dtype=np.float64), _unit(own, baselines, score)
    if pieces is not None:
        own, unit, baselines, codes, weights = _by_piece(pieces.of, own, unit, baselines, codes, weights)
        elements = None if elements is None else elements.take(np.unique(pieces.of, return_index=True)[1])
    why = _unsaid(own, unit, unseen)
    if why:
        return Expected(score, tested=count, of=unseen, reason=why)
    tested = _TestedShare(
        unseen if pieces is None else pieces.unseen,
        codes,
        sure,
        None if weights is None else np.asarray(weights) / np.mean(weights),
        elements,
    )
    low, high = (_accuracy if score == "accuracy" else _r2)(own, unit, tested)
    if tested.weights is not None:  # sums are all that is needed of what follows
        own, unit = own * tested.weights, unit * tested.weights
        baselines = {one: np.asarray(base) * tested.weights for one, base in baselines.items()}
    name = max(baselines, key=lambda one: _score(np.asarray(baselines[one]), unit, score))
    apart = {one: _apart(own, other, unit, score) for one, other in baselines.items()}
    others = {name: [lift for one, lift in apart.items() if one != name]}  # the best was picked, a constant was not
    lifts = {one: _lift(apart[one], others.get(one, []), score, sure) for one in {name, *CONSTANTS} & baselines.keys()}
    constant = next((one for one in CONSTANTS if one in lifts and one != name), None)
    found = Expected(
        score,
        _score(own, unit, score),
        low,
        high,
        baseline=_score(np.asarray(baselines[name]), unit, score),
        baseline_name=name,
        lift=lifts[name],
        over_constant=lifts.get(constant) if constant else None,
        tested=count,
        of=unseen,
        basis=basis,
    )
    return unless_open(found, tested.unseen)


def unless_open(found: Expected, pieces: int) -> Expected:
    """The same, or none where its interval says nothing: a number that stands beside it would say too much.

    Of an R² such an interval holds errors twice as large as those of always answering the mean, and a score that would
    be sound; of an accuracy nearly everything. Where the unseen ones are one or two blocks (`pieces`), the score is
    hardly more than one draw: there an R² says nothing if its interval holds what the mean gets.

    >>> unless_open(Expected("R²", 0.997, -1538.0, 0.9999, 0.0, tested=26, of=2), 1).reason
    'what was held out fits any score from worse than always answering the mean to 99.99 %, since the 2 unseen \
combinations stand and fall together'
    """
    if found.low is None or found.high is None:
        return found
    few = pieces < min(_FEWEST_GROUPS, found.of)
    worst, best = 1 - _NEARLY_ALL, _NEARLY_ALL
    if found.score == "R²":
        worst, best = 0.0 if few else _TWICE_AS_WRONG, SOUND_FROM
    if found.low > worst or found.high < best:
        return found
    lowest = WORSE_THAN_MEAN if found.low < 0 else percent(found.low)
    why = f"what was held out fits any score from {lowest} to {percent(found.high)}"
    if few:
        together = "together" if pieces == 1 else "in two blocks"
        why += f", since the {found.of:,} unseen combinations stand and fall {together}"
    return Expected(found.score, tested=found.tested, of=found.of, basis=found.basis, reason=why)


def _by_piece(
    pieces: Ints,
    own: Numbers,
    unit: Numbers,
    baselines: Mapping[str, Numbers],
    codes: Codes | None,
    weights: Numbers | None,
) -> tuple[Numbers, Numbers, dict[str, Numbers], Codes | None, Numbers]:
    """The mean over each piece, the codes that all of it share, and how much all of it counts."""
    _, first, ids = np.unique(pieces, return_index=True, return_inverse=True)
    each = np.ones(len(own)) if weights is None else np.asarray(weights)
    total = np.bincount(ids, each).astype(np.float64)

    def averaged(values: Numbers) -> Numbers:
        return np.asarray(np.bincount(ids, each * np.asarray(values, dtype=np.float64)) / total)

    means = {name: averaged(values) for name, values in baselines.items()}
    return averaged(own), averaged(unit), means, None if codes is None else _shared_codes(codes, first, ids), total


def _shared_codes(codes: Codes, first: Ints, ids: Ints) -> Codes:
    """The codes of each piece; of a factor whose values differ within a piece, one that no other piece has."""
    found = codes[first].astype(np.int64)
    for k, column in enumerate(codes.T):
        differs = np.bincount(ids, column != found[ids, k]) > 0
        found[differs, k] = int(codes.max(initial=0)) + 1 + np.flatnonzero(differs)
    return np.asarray(found, dtype=codes.dtype)


@dataclass(frozen=True, eq=False)
class _TestedShare:
    """How many combinations are unseen, which were tested (if known), how sure the interval is to be, and how much
    each of the tested ones counts, 1 on average; None where all count alike.
    """

    unseen: int
    codes: Codes | None
    settings: IntervalSettings
    weights: Numbers | None = None
    elements: IncidenceRows | None = None

    def number(self, own: Numbers) -> float:
        """How many were tested, or would say as much if all counted alike."""
        if self.weights is None:
            return float(len(own))
        return float(self.weights.sum() ** 2 / np.square(self.weights).sum())

    def mean(self, own: Numbers) -> float:
        """The mean of what was tested."""
        return float(np.average(own, weights=self.weights))

    def variance(self, own: Numbers) -> float:
        """The variance of one of the tested."""
        if self.weights is None:
            return float(own.var(ddof=1))
        count = self.number(own)
        around = float(np.average(np.square(own - self.mean(own)), weights=self.weights))
        return around * count / (count - 1) if count > 1 else around

    def freedom(self, moved: Numbers) -> float:
        """As many normal ones would tell their variance as well: the heavier the tails, the fewer.

        A variance from n of them has itself the relative variance (κ - 1) / n, where κ is their kurtosis; from so many
        degrees of freedom it has 2 / f.
        """
        apart = np.square(moved - self.mean(moved))
        kurtosis = self.mean(np.square(apart)) / self.mean(apart) ** 2 if apart.any() else 3.0
        return min(self.number(moved) - 1, 2 * self.number(moved) / max(kurtosis - 1, 2.0))

    def grouped(self, moved: Numbers) -> float:
        """How much more a mean of these varies than if errors did not come in groups: the design effect.

        Over clusters it is the sum of squared cluster sums over the sum of squares. The largest of the groupings is
        taken, and of its excess over 1 half: of many noisy estimates the largest is too large.
        """
        apart = (moved - self.mean(moved)) * (1.0 if self.weights is None else self.weights)
        found = [
            1.0 if self.codes is None else design_effect(apart, self.codes),
            1.0 if self.elements is None else shared_effect(apart, self.elements),
        ]
        return (1 + max(found)) / 2


def shared_effect(apart: Numbers, elements: IncidenceRows) -> float:
    """The same where groups overlap: how much more a sum varies if those with an element in common vary together.

    Over disjoint groups the sum of squared group sums is that over all pairs of one group, so here it is that over all
    pairs that share an element.

    >>> pairs = IncidenceRows.listed([[0, 1], [0, 2], [3, 4], [3, 5]], width=6)
    >>> shared_effect(np.array([1.0, 1, -1, -1]), pairs), shared_effect(np.array([1.0, -1, 1, -1]), pairs)
    (2.0, 1.0)
    """
    total = float(np.square(apart).sum())
    if total <= 0:
        return 1.0
    held = elements.sparse()
    alike = (held @ held.T).tocsr()
    alike.data[:] = 1.0
    alike.setdiag(1.0)  # the empty set has no element, and itself in common
    return max(1.0, float(apart @ (alike @ apart)) / total)


def design_effect(apart: Numbers, codes: Codes) -> float:
    """How much more a sum of these varies if those with a value in common vary together: the largest of all groupings.

    `apart` is how far each combination is from the mean of all.

    >>> codes = np.array([[0, 0], [0, 1], [1, 0], [1, 1], [2, 0], [2, 1]], dtype=np.int32)
    >>> design_effect(np.array([1.0, 1, -1, -1, 0, 0]), codes), design_effect(np.array([1.0, -1, 1, -1, 1, -1]), codes)
    (2.0, 1.0)
    """
    total = float(np.square(apart).sum())
    if total <= 0:
        return 1.0
    return max([1.0, *(float(np.square(np.bincount(group, apart)).sum()) / total for group in _groupings(codes))])


def _groupings(codes: Codes) -> Iterator[Ints]:
    """The values of each factor, and of each pair of factors where there are more than two."""
    factors = codes.shape[1]
    orders = (1, 2) if 2 < factors <= _MOST_PAIRED else (1,)
    for chosen in (sets for order in orders for sets in combinations(range(factors), order)):
        key = codes[:, chosen[0]].astype(np.int64)
        for k in chosen[1:]:
            key = key * (int(codes[:, k].max(initial=0)) + 1) + codes[:, k]
        _, group = np.unique(key, return_inverse=True)
        if _FEWEST_GROUPS <= group.max(initial=0) + 1 < len(group):
            yield group


def _unit(own: Numbers, baselines: Mapping[str, Numbers], score: Score) -> Numbers:
    """What each combination counts: 1 answer, or the squared error that the mean makes of it."""
    return np.ones(len(own)) if score == "accuracy" else np.asarray(baselines[MEAN], dtype=np.float64)


def _unsaid(own: Numbers, unit: Numbers, unseen: int) -> str | None:
    """Why nothing can be expected, if nothing can."""
    if not unseen:
        return "no unseen combination is like those that could be held out"
    if len(own) < FEWEST_TESTED:
        return f"only {len(own)} of the seen combinations can be held out; it takes {FEWEST_TESTED}"
    return None if unit.sum() > 0 else "the target never varies"


def _score(own: Numbers, unit: Numbers, score: Score) -> float:
    share = float(own.sum() / unit.sum())
    return share if score == "accuracy" else 1 - share


def _apart(own: Numbers, other: Numbers, unit: Numbers, score: Score) -> Statistic:
    """How far the rule is above another one."""
    other = np.asarray(other, dtype=np.float64)
    return difference(unit, other, own) if score == "accuracy" else difference(unit, unit - other, unit - own)


def _lift(
    apart: Statistic, others: Sequence[Statistic], score: Score, settings: IntervalSettings
) -> tuple[float, float, float]:
    """The same with an interval; over a rule that was picked as the best of it and others, it knows that."""
    share = score == "accuracy"
    return _around(apart.of_all, lowest_difference_interval(apart, others, settings, "lift", share=share), share=share)


def _around(value: float, found: Interval | None, *, share: bool) -> tuple[float, float, float]:
    """Where no interval could be had: a share could be anything; a difference that never varies is what it is."""
    low, high = found or ((-1.0, 1.0) if share else (value, value))
    return low, value, high


def _accuracy(own: Numbers, _: Numbers, tested: _TestedShare) -> Interval:
    value, spread, number = tested.mean(own), tested.variance(own), tested.number(own)
    # as many right-or-wrong answers a combination as would make shares vary like these; one where nothing varies
    each = max(value * (1 - value) / spread, 1.0) if spread > _NO_SPREAD else 1.0
    each /= tested.grouped(own)
    answers, right = each * number, each * number * value
    rng, asked = tested.settings.generator("unseen accuracy"), max(1, round(each * tested.unseen))
    chance = rng.beta(right + 0.5, answers - right + 0.5, size=_DRAWS)
    low, high = np.quantile(rng.binomial(asked, chance) / asked, [tested.settings.tail, 1 - tested.settings.tail])
    return float(min(low, value)), float(max(high, value))


def _r2(own: Numbers, unit: Numbers, tested: _TestedShare) -> Interval:
    mean, usual, number = tested.mean(own), tested.mean(unit), tested.number(own)
    kept, _ = _accuracy((own < usual).astype(np.float64), unit, tested)
    if mean <= _NO_SPREAD * usual:
        return kept, 1.0
    moved = own / mean - unit / usual
    middle = math.log(mean / usual)
    variance = tested.variance(moved) * tested.grouped(moved) * (1 / number + 1 / tested.unseen)
    freedom = max(2.0, min(tested.freedom(moved), tested.unseen - 1))  # few squared errors are skewed on either side
    reach = float(student_quantile(1 - tested.settings.tail, freedom)) * math.sqrt(variance)
    return min(1 - math.exp(middle + min(reach, _MOST_LOG)), kept), 1 - math.exp(middle - reach)
