"""From held-out combinations to unseen ones: regression on difficulty, and an interval that widens where it guesses.

1. Smoothing. Each held-out combination counts as often as unseen ones are near it (`matching.weights_of`); its score is
   the mean over the rounds in which it was held out. The interval is that of `numerics.predictive_intervals`, for as
   many combinations as the weights are worth.
2. Regression. Where the weighted ones are still easier or harder than the unseen, by a gap g (in units), the score
   moves by g · b, with the slope b of the score on difficulty among the held-out ones. A slope is 0 give or take
   `_SLOPE` a unit unless they show another: Bayesian ridge regression, V = (X'X / s² + 1 / _SLOPE²)⁻¹, b = V X'y / s².
   The interval is widened by g'Vg. Along what the held-out ones never vary in, nothing narrows `_SLOPE`: the further
   the unseen ones lie out there, the less is said. Several learners that are asked as one widen it by their spread.
3. Abstaining. Where g'Vg alone leaves the score open by `_OPEN` or more, where fewer than half of the unseen ones have
   a held-out one near them, or where the weights rest on fewer than five combinations, no number is given.

R² is one less a share of squared errors. Where true answers of the unseen are known, that share is of their own spread.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from recombine.base.grades import FEWEST_TESTED, Expected
from recombine.numerics.distributions import normal_quantile
from recombine.numerics.groups import Codes, Ints, Numbers
from recombine.numerics.predictive_intervals import Score, expected_score
from recombine.numerics.resampling import EvidencePieces, IntervalSettings
from recombine.verbs.predict import ensembles
from recombine.verbs.rehearse.difficulty import Difficulty
from recombine.verbs.rehearse.holdout_matching import gaps, overlap, weights_of

_SLOPE = 0.15
"""How much a unit of difficulty may change a score, where nobody has seen it change (a standard deviation)."""
_LEAST_NOISE = 0.1
"""A learner that is right everywhere shows no noise; its next answers may still miss by this (a standard deviation)."""
_MOST_LOSS = 3.0
"""Of the mean's squared error: a single larger miss says nothing more about the slope."""
OPEN = 0.15
"""The standard error of the extrapolation from which on nothing is said: the interval would span 60 points and more."""
ENOUGH_OVERLAP = 0.5


@dataclass(frozen=True, eq=False)
class Trial:
    """What was held out in all rounds, and how the learner and the simple rules did. Legend: r trials."""

    places: Ints  # (r,) which seen combination
    round: Ints  # (r,) in which round
    own: Numbers  # (r,) share of right answers, or squared error: the mean over the members
    members: Numbers  # (m, r) the same for each of several learners that are asked as one
    simple: Mapping[str, Numbers]  # (r,) the same for simple rules; the first is the constant answer
    difficulty: Difficulty  # (r, f)
    codes: Codes  # (r, k)


@dataclass(frozen=True, eq=False)
class RehearsalForecast:
    """What follows for the unseen combinations, and how."""

    expected: Expected
    naive: Expected  # what all held-out combinations together say, each counted alike
    weights: Numbers  # (r,) how much each trial counts
    effective: float  # as many combinations as the weights are worth
    gaps: Mapping[str, float]  # by how many units the unseen ones lie above the weighted held-out ones
    overlap: float  # share of the unseen ones with a held-out one near them
    moved: float  # what the regression added to the score
    widened: float  # its standard error
    simple: Mapping[str, float]  # the score of each simple rule, weighted alike


def forecast(
    trial: Trial,
    unseen_difficulty: Difficulty,
    *,
    score: Score,
    unseen: int,
    spread: float | None = None,
    miss: float = 0.0,
    settings: IntervalSettings,
    pieces: EvidencePieces | None = None,
) -> RehearsalForecast:
    """The score to expect on `unseen` combinations of this difficulty.

    `spread` is the mean squared error of the constant answer on them, where their true answers are known; `miss` the
    standard deviation by which a learner that stands for another is off. `pieces` say which seen combinations are one
    piece of evidence, and how many such pieces the unseen ones are.
    """
    held, goal = trial.difficulty.scaled, unseen_difficulty.scaled
    weights = weights_of(held, goal)
    apart = gaps(held, weights, goal)
    merged = _merge_rounds(trial, weights, pieces)
    raw = merged.expected(score, unseen, settings)
    naive = _merge_rounds(trial, np.full(len(weights), 1 / len(weights)), pieces).expected(score, unseen, settings)
    near = overlap(held, goal)
    moved, widened = _regression(trial, weights, apart, score)
    unknown = math.hypot(widened, _disagreement(trial, weights, score), miss)
    expected = ensembles.moved(raw, moved, float(normal_quantile(1 - settings.tail)) * unknown)
    if spread is not None and score == "R²":
        expected = _of_spread(expected, merged.usual / spread)
    why = _unlike(merged, raw, near, widened)
    if why:
        expected = Expected(score, tested=len(merged.own), of=unseen, basis="rehearsal", reason=why)
    return RehearsalForecast(
        expected=expected,
        naive=naive,
        weights=weights,
        effective=merged.effective,
        gaps=dict(zip(unseen_difficulty.names, apart.tolist(), strict=True)),
        overlap=near,
        moved=moved,
        widened=widened,
        simple={name: merged.score_of(losses, score) for name, losses in merged.simple.items()},
    )


@dataclass(frozen=True, eq=False)
class _CombinationScores:
    """The same a combination, whatever the rounds in which it was held out. Legend: c combinations."""

    own: Numbers
    simple: Mapping[str, Numbers]
    weights: Numbers
    codes: Codes
    pieces: EvidencePieces | None

    @property
    def effective(self) -> float:
        weights = self.weights if self.pieces is None else np.bincount(self.pieces.of, self.weights)
        return float(weights.sum() ** 2 / np.square(weights).sum())

    @property
    def usual(self) -> float:
        """The weighted squared error of the constant answer."""
        return float(np.average(next(iter(self.simple.values())), weights=self.weights))

    def score_of(self, losses: Numbers, score: Score) -> float:
        found = float(np.average(losses, weights=self.weights))
        return found if score == "accuracy" else 1 - found / self.usual if self.usual > 0 else math.nan

    def expected(self, score: Score, unseen: int, settings: IntervalSettings) -> Expected:
        """Beside the constant answer; beside a simple rule where that is better, beyond chance and by what counts."""
        name, *others = self.simple
        constant = self._beside([name], score, unseen, settings)
        if constant.abstains:
            return constant
        better = [one for one in others if self.score_of(self.simple[one], score) > (constant.value or 0.0)]
        found = self._beside([name, *better], score, unseen, settings) if better else constant
        return found if found.loses else constant

    def _beside(self, names: list[str], score: Score, unseen: int, settings: IntervalSettings) -> Expected:
        return expected_score(
            self.own,
            {name: self.simple[name] for name in names},
            score=score,
            unseen=unseen,
            codes=self.codes,
            weights=self.weights,
            pieces=self.pieces,
            basis="rehearsal",
            settings=settings,
        )


def _merge_rounds(trial: Trial, weights: Numbers, pieces: EvidencePieces | None) -> _CombinationScores:
    """Of each combination the weighted mean over its rounds. Combinations that count for nothing are left out."""
    _, first, place = np.unique(trial.places, return_index=True, return_inverse=True)
    total = np.bincount(place, weights).astype(np.float64)
    counts = np.flatnonzero(total > 1e-9 * total.max())  # below, kernel smoothing has left but its own tail

    def mean(losses: Numbers) -> Numbers:
        return np.asarray(np.bincount(place, weights * losses)[counts] / total[counts])

    rounds = trial.round[first][counts]
    return _CombinationScores(
        own=mean(trial.own),
        simple={name: mean(losses) for name, losses in trial.simple.items()},
        weights=total[counts],
        codes=np.column_stack([trial.codes[first][counts], rounds]),
        pieces=None if pieces is None else replace(pieces, of=pieces.of[trial.places[first][counts]]),
    )


def _disagreement(trial: Trial, weights: Numbers, score: Score) -> float:
    """The standard deviation between the scores of several learners that are asked as one."""
    if len(trial.members) < 2:
        return 0.0
    found = trial.members @ weights / weights.sum()
    usual = float(np.average(next(iter(trial.simple.values())), weights=weights))
    if score == "R²":
        found = found / usual if usual > 0 else np.zeros(len(found))
    return float(found.std(ddof=1))


def _regression(trial: Trial, weights: Numbers, apart: Numbers, score: Score) -> tuple[float, float]:
    """What the gaps that smoothing has left move the score by, and the standard error of that."""
    losses = trial.own
    if score == "R²":
        usual = float(np.average(next(iter(trial.simple.values())), weights=weights))
        losses = -np.minimum(trial.own / usual, _MOST_LOSS) if usual > 0 else np.zeros(len(trial.own))
    slope, spread = ridge(trial.difficulty.scaled, losses, weights)
    return float(apart @ slope), float(np.sqrt(apart @ spread @ apart))


def ridge(points: Numbers, values: Numbers, weights: Numbers) -> tuple[Numbers, Numbers]:
    """The slope of the values on the points, and its covariance, where a slope is 0 give or take `_SLOPE`.

    >>> slope, spread = ridge(np.array([[0.0], [1.0]]), np.array([0.0, 0.0]), np.array([0.5, 0.5]))
    >>> slope.tolist(), round(float(spread[0, 0] ** 0.5), 2)
    ([0.0], 0.1)
    """
    share = weights / weights.sum()
    count = 1 / np.square(share).sum()  # as many as the weights are worth
    around = points - share @ points
    moved = values - share @ values
    noise = max(float(share @ np.square(moved)), _LEAST_NOISE**2)
    precision = count * (around * share[:, None]).T @ around / noise + np.eye(points.shape[1]) / _SLOPE**2
    spread = np.linalg.inv(precision)
    return spread @ (count * (around * share[:, None]).T @ moved / noise), spread


def _of_spread(expected: Expected, times: float) -> Expected:
    """R² for another spread of the truth: the squared errors are as they were, their share is not."""
    if expected.abstains or expected.value is None or expected.low is None or expected.high is None:
        return expected
    value, low, high = (1 - (1 - one) * times for one in (expected.value, expected.low, expected.high))
    lift, over = (
        None if one is None else (one[0] * times, one[1] * times, one[2] * times)
        for one in (expected.lift, expected.over_constant)
    )
    base = None if expected.baseline is None else 1 - (1 - expected.baseline) * times
    return replace(expected, value=value, low=low, high=high, lift=lift, over_constant=over, baseline=base)


def _unlike(merged: _CombinationScores, raw: Expected, near: float, widened: float) -> str | None:
    """Why nothing is said, if nothing is."""
    if raw.abstains:
        return raw.reason
    if near < ENOUGH_OVERLAP:
        return "held_out and unseen combinations are not alike"
    if merged.effective < FEWEST_TESTED:
        return "too few of the held-out combinations are like the unseen ones"
    return "held_out and unseen combinations are not alike" if widened >= OPEN else None
