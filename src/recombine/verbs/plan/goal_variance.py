"""The goal "variance": what a kernel-like learner would be surest of, for each unit of cost.

Seen as a Gaussian process, collecting z tells ½ log(1 + var(z) / noise) about the answers. Taking the largest gain,
again and again, is within 1 - 1/e of the best set of that size, because the gain is monotone and submodular; with
prices, the better of that and the best single combination is within half of that. Where the learner allows for no
noise, the weight of the full combination plays its part: it is what no other combination can tell.

Lazy evaluation would save nothing here. One column of covariances for each line (one solve) brings the variance of
every combination up to date at once, and the curve of the mean variance needs all of them anyway.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from recombine.base.errors import SettingError
from recombine.base.progress import Progress
from recombine.base.words import measure, percent
from recombine.data.support import Support
from recombine.numerics.groups import Codes, Numbers
from recombine.verbs.plan.choice import NOTHING_LEFT, Choice, PlanMeasure, PlanNeed, first_best
from recombine.verbs.plan.collectable import Collectable
from recombine.verbs.predict.kernel.salience import Salience
from recombine.verbs.predict.kernel.solver import Penalty, kernel
from recombine.verbs.predict.kernel.squared_loss import ConjunctionFit, Duals, squared
from recombine.verbs.predict.kernel.variance import Uncertainty

LISTED = 30_000  # candidates, each of whose variances is brought up to date after each line
DEFAULT_BUDGET = 50.0  # there is no end to reach for, so without a budget it is a list that can be read
_NOTICED = 0.01  # what lowers the mean variance by less than this share is not sold
_DENSE = 1_500  # seen combinations up to which the kernel is inverted once, instead of a solve for each line


@dataclass(frozen=True, eq=False)
class Posterior:
    """What a learner knows after a support was seen. Legend: n seen combinations."""

    support: Support
    salience: Salience
    ridge: float
    seed: int

    def __post_init__(self) -> None:
        if self.salience.full + self.noise <= 0:
            raise SettingError(
                "a salience without noise and without weight on the full combination",
                why="every example would be believed to the last digit, so each would tell infinitely much",
                instead="allow for noise: ridge=0.1 (--ridge 0.1), or give the full combination some weight",
            )

    @property
    def noise(self) -> float:
        """The variance of one example around its combination's answer."""
        return self.salience.noise + self.ridge

    @cached_property
    def uncertainty(self) -> Uncertainty:
        """The theory's variances."""
        noise = self.noise / self.support.counts
        return Uncertainty(self.support, self.salience.weights, self._penalty, noise, seed=self.seed)

    def gain(self, variance: Numbers) -> Numbers:
        """What an example of a combination with this variance would tell."""
        if self.noise > 0:
            return np.asarray(0.5 * np.log1p(variance / self.noise))
        full = self.salience.full
        return np.asarray(0.5 * np.log1p(np.maximum(variance - full, 0.0) / full))

    def covariance(self, codes: Codes, one: Codes) -> Numbers:
        """The covariance of unseen answers with that of one other combination, given what was seen."""
        bounded = tuple(self.uncertainty.bounded)
        prior = kernel(codes, one[None], (*bounded[:-1], 0.0))[:, 0]
        seen = kernel(self.support.codes, one[None], (*bounded[:-1], 0.0))
        found = ConjunctionFit.of(self.support, tuple(self.salience.weights), self._solve(seen)).scores(codes)[:, 0]
        if np.isinf(self.salience.weights[0]):
            fitted, total = self._ones
            found = found - (1 - fitted.scores(codes)[:, 0]) / total
        return np.asarray(prior - found)

    @cached_property
    def _penalty(self) -> Penalty:
        return Penalty.of(self.salience.full, self.noise, self.support.counts)

    def _solve(self, answers: Numbers) -> Duals:
        weights = tuple(self.salience.weights)
        if len(self.support) > _DENSE:
            return squared(self.support, weights, self._penalty, answers)
        solved = self._inverse @ answers
        if not np.isinf(weights[0]):
            return Duals(solved, np.zeros(1), 0.0, 0)
        ones = self._inverse.sum(axis=1)
        intercept = solved.sum(axis=0) / ones.sum()
        return Duals(solved - ones[:, None] * intercept, intercept, 0.0, 0)

    @cached_property
    def _inverse(self) -> Numbers:
        codes, bounded = self.support.codes, self.uncertainty.bounded
        return np.asarray(np.linalg.inv(kernel(codes, codes, bounded) + np.diag(self.uncertainty.noise)))

    @cached_property
    def _ones(self) -> tuple[ConjunctionFit, float]:
        bounded = tuple(self.uncertainty.bounded)
        duals = squared(self.support, bounded, self._penalty, np.ones((len(self.support), 1)))
        return ConjunctionFit.of(self.support, bounded, duals), float(duals.weights.sum())


@dataclass(frozen=True)
class _VarianceLine:
    place: int
    told: float
    before: float  # the mean today of what is unseen after the line: to be held beside `mean`
    mean: float
    worst: float


def plan_variance(
    collectable: Collectable,
    posterior: Posterior,
    *,
    budget: float | None,
    seed: int,
    tell: Progress,
    pool: Codes | None = None,
) -> Choice:
    """Choose what tells most about the answers for its price."""
    tell("working out variances", None)
    asked, sampled = (pool, False) if pool is not None else collectable.unseen(listed=LISTED, drawn=LISTED, seed=seed)
    prices = collectable.price(asked)
    variance, error = posterior.uncertainty.of(asked)
    limit = DEFAULT_BUDGET if budget is None else budget
    plausible = None if pool is not None else collectable.plausible(asked)
    lines = _greedy(posterior, asked, prices, variance, limit, tell, plausible)
    usable = prices <= limit
    gain = np.where(usable, posterior.gain(variance), -np.inf)
    if usable.any() and gain.max() > sum(line.told for line in lines) + 1e-9:
        # one dear combination may tell more than all the cheap ones that greed took before it could be paid
        single = np.arange(len(asked)) == first_best(gain)
        lines = _greedy(posterior, asked, np.where(single, prices, np.inf), variance, limit, tell)
    refused = None if pool is not None else _not_worth(lines, variance)
    found = _choice(posterior, [] if refused else lines, asked, prices, variance, error, sampled=sampled)
    return replace(found, refused=refused)


def _not_worth(lines: list[_VarianceLine], variance: Numbers) -> str | None:
    """In words, that the lines would change next to nothing.

    They change something if what is left varies less than it did, or, as they take what varies most, less than all did.
    """
    if not lines or not np.isfinite(lines[-1].mean):
        return None
    if lines[-1].mean < (1 - _NOTICED) * max(lines[-1].before, float(variance.mean())):
        return None
    many = len(lines)
    return (
        f"Nothing worth collecting within this budget: {many:,} combination{'s' * (many != 1)} would leave the mean "
        f"variance of what a network or kernel says of the {len(variance):,} unseen ones at {measure(variance.mean())}."
    )


def _greedy(
    posterior: Posterior,
    candidates: Codes,
    prices: Numbers,
    variance: Numbers,
    left: float,
    tell: Progress,
    plausible: Numbers | None = None,
) -> list[_VarianceLine]:
    today, variance = variance, variance.copy()
    open_ = np.ones(len(candidates), dtype=bool)
    columns: list[tuple[Numbers, float]] = []
    lines: list[_VarianceLine] = []
    budget = max(left, 1e-9)
    while True:
        usable = open_ & (prices <= left * (1 + 1e-12))
        if not usable.any():
            return lines
        gain = posterior.gain(variance)
        best = first_best(np.where(usable, gain / np.maximum(prices, 1e-9), -np.inf), plausible)
        column = posterior.covariance(candidates, candidates[best])
        for other, scale in columns:
            column = column - other * (other[best] / scale)
        scale = float(variance[best]) + posterior.noise
        columns.append((column, scale))
        open_[best] = False
        left -= float(prices[best])
        variance = np.where(open_, np.maximum(variance - column**2 / scale, 0.0), variance)
        rest = variance[open_]
        mean, worst = (float(rest.mean()), float(rest.max())) if len(rest) else (np.nan, np.nan)
        before = float(today[open_].mean()) if len(rest) else np.nan
        lines.append(_VarianceLine(best, float(gain[best]), before, mean, worst))
        tell("choosing what tells most", 1 - left / budget)


def _choice(
    posterior: Posterior,
    lines: list[_VarianceLine],
    candidates: Codes,
    prices: Numbers,
    variance: Numbers,
    error: Numbers,
    *,
    sampled: bool,
) -> Choice:
    places = [line.place for line in lines]
    notes = ["Each line tells most for its price; no set of that size tells more than 1.6 times as much."]
    if posterior.noise == 0:
        notes.append("The learner allows for no noise, so the weight of the full combination plays its part.")
    if sampled:
        notes.append(
            f"The space is too large to list: candidates are {len(candidates):,} unseen combinations drawn at random."
        )
    if error.any():
        share = percent(float((error / np.maximum(variance, 1e-300)).mean()))
        notes.append(f"Variances of today are estimated by random draws, with a standard error of about {share}.")
    today = float(variance.mean()) if len(candidates) else None
    left = lines[-1].mean if lines else np.nan if today is None else today
    return Choice(
        codes=candidates[places],
        prices=prices[places],
        after=np.array([line.mean for line in lines]),
        words=tuple(
            f"information {measure(line.told)}; mean variance {measure(line.mean)}, worst {measure(line.worst)}"
            if np.isfinite(line.mean)
            else NOTHING_LEFT
            for line in lines
        ),
        measure=PlanMeasure("mean variance of the unseen", today, "lower"),
        needed=PlanNeed(
            0 if not len(candidates) else None,
            0.0 if not len(candidates) else None,
            False,
            "There is no end to reach: every line lowers the variance a little more.",
        ),
        reached=len(lines) == len(candidates),
        notes=tuple(notes),
        extra={
            "information": np.array([line.told for line in lines]),
            "worst_variance": np.array([line.worst for line in lines]),
        },
        # of the variance before anything was seen, the share that is gone on average over what is unseen then
        share=1 - left / posterior.uncertainty.prior if np.isfinite(left) else None,
    )
