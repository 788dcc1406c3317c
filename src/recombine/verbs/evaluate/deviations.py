"""Is it the combination, or a hard part? Each tested combination against what its parts, tested in others, would give.

If difficulty were additive (a hard camera costs so many points, a rare object so many), a combination's score could be
told from the others. What deviates from that by more than the luck of its rows is about the combination itself. As
many are tested at once, the share of false alarms among those named is controlled (Benjamini and Hochberg 1995). Where
hardly more combinations were tested than the parts have numbers, all deviate alike and none can be named: five more are
needed.

Shares are tested by the tails of a beta-binomial, so that few rows make no false alarm; losses, which cannot be
negative and are skewed, by the ratio of two gammas (Fisher's F); other scores by the normal's.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from recombine.base.words import count, measure
from recombine.numerics.additive_design import LARGEST_FIT, AdditiveFit, LeaveOneOutFit
from recombine.numerics.distributions import beta_below, beta_binomial_tails, normal_tail
from recombine.numerics.groups import Numbers
from recombine.numerics.hypothesis_tests import false_discovery
from recombine.numerics.resampling import FEWEST
from recombine.verbs.evaluate.outcomes import Mask, Outcomes

RATE = 0.05
_MOST_TRIALS = 400  # beyond so many rows the normal is as good as the beta-binomial
_ROUNDS = 12  # of taking out and testing again: it settles in two or three, unless two alarms take turns
_USUAL_ROWS = 10  # what the usual noise counts for beside a combination's own


@dataclass(frozen=True, eq=False)
class Deviations:
    """For each tested combination: what the others tell, the deviation, its standard error, p-value and q-value.

    NaN where the others do not tell it. `sentence` says what was found, or why nothing could be.
    """

    expected: Numbers
    deviation: Numbers
    error: Numbers
    p: Numbers
    q: Numbers
    rank: int
    testable: int
    found: int
    sentence: str


def deviations(outcomes: Outcomes) -> Deviations:
    """Compare every tested combination with the additive prediction from the other ones."""
    sizes = outcomes.tested.space.sizes
    if AdditiveFit.too_large(sizes):
        return _nothing(
            outcomes,
            f"Whether single combinations deviate was not tested: beside its largest factor the table has "
            f"{count(sum(sizes) - max(sizes))} values, and {LARGEST_FIT:,} are the most that are solved.",
        )
    fit = _fit(outcomes, outcomes.rows)
    if len(outcomes) - fit.rank < FEWEST:
        return _nothing(
            outcomes,
            f"Whether single combinations deviate from their parts cannot be told: {count(len(outcomes))} were "
            f"tested, and the parts alone take {count(fit.rank)} of them to be known; {FEWEST} more are needed.",
            rank=fit.rank,
        )
    noise = _Noise.of(outcomes)
    if noise is None:
        return _nothing(
            outcomes,
            "Whether single combinations deviate cannot be told: each has one row, or rows that do not differ, so luck "
            "and difference look alike.",
            rank=fit.rank,
        )
    return _search(outcomes, fit, noise)


def _search(outcomes: Outcomes, fit: AdditiveFit, noise: "_Noise") -> Deviations:
    """Test, take what deviates out of the fit, and test again: one that deviates must not make its neighbours do so."""
    outside = np.zeros(len(outcomes), dtype=bool)
    found = _test_all(outcomes, _reweigh(outcomes, fit, noise, outside), noise)
    for _ in range(_ROUNDS):
        worst = _strongest(outcomes, found, outside)
        if np.array_equal(worst, outside):
            break
        again = _test_all(outcomes, _reweigh(outcomes, _fit(outcomes, outcomes.rows * ~worst), noise, worst), noise)
        if (worst & ~np.isfinite(again.p)).any():  # nothing else would tell these: they stay in the fit
            break
        found, outside = again, worst
    return found


def _fit(outcomes: Outcomes, weights: Numbers) -> AdditiveFit:
    return AdditiveFit.of(outcomes.tested.codes, outcomes.tested.space.sizes, weights=weights)


def _reweigh(outcomes: Outcomes, fit: AdditiveFit, noise: "_Noise", outside: Mask) -> AdditiveFit:
    """The same fit with weights that allow for combinations being apart: many rows of one do not outvote the others.

    Where they are no further apart than their rows' luck, weights are the rows.
    """
    fitted, rows = fit.fitted(outcomes.mean), outcomes.rows
    luck = float((noise.at(fitted) * rows).sum() / rows.sum()) / rows
    inside = ~outside
    free = int(inside.sum()) - fit.rank
    if free <= 0:
        return fit
    excess = float(((outcomes.mean - fitted) ** 2 / luck)[inside].sum()) - free
    if excess <= 0:
        return fit
    between = excess / float((1 / luck)[inside].sum()) * int(inside.sum()) / free
    return _fit(outcomes, inside * rows / (1 + between / luck))


def _strongest(outcomes: Outcomes, found: Deviations, outside: Mask) -> Mask:
    """What is taken out next: of what deviates, in each value the strongest alone; and what is out and still does."""
    alarm = found.q <= RATE
    strength = np.where(alarm, -np.log(np.maximum(found.p, 1e-300)) + np.abs(found.deviation / found.error), -np.inf)
    chosen = alarm.copy()
    for column, size in zip(outcomes.tested.codes.T, outcomes.tested.space.sizes, strict=True):
        most = np.full(size, -np.inf)
        fresh = alarm & ~outside
        np.maximum.at(most, column[fresh], strength[fresh])
        chosen &= outside | (strength >= most[column])
    return np.asarray(chosen)


def _test_all(outcomes: Outcomes, fit: AdditiveFit, noise: "_Noise") -> Deviations:
    left = fit.left_out(outcomes.mean, noise.at(fit.fitted(outcomes.mean)) / outcomes.rows)
    p = _p_values(outcomes, left, noise)
    q = false_discovery(p)
    error = np.sqrt(noise.at(left.value) / outcomes.rows + left.variance)
    told = np.clip(left.value, 0.0, 1.0) if outcomes.score.is_share else left.value  # a sum of parts may leave 0 to 1
    found, testable = int((q <= RATE).sum()), int(np.isfinite(p).sum())
    return Deviations(
        expected=told,
        deviation=outcomes.mean - told,
        error=error,
        p=p,
        q=q,
        rank=left.rank,
        testable=testable,
        found=found,
        sentence=_sentence(testable, (q <= RATE) * (outcomes.mean - told), outcomes, error),
    )


@dataclass(frozen=True, eq=False)
class _Noise:
    """The variance of one row's score, given its mean.

    Of a share it follows from the mean. A loss varies in proportion to its mean, so what is told by a combination's
    own rows is the ratio: where the combination is harder than its parts, its noise must not hide that.
    """

    kind: Literal["share", "loss", "other"]
    least: float
    own: Numbers  # the variance, or of a loss its ratio to the squared mean

    @classmethod
    def of(cls, outcomes: Outcomes) -> "_Noise | None":
        if outcomes.score.is_share:
            return cls("share", 0.02, outcomes.rows)  # nearer to 0 or 1 a share would seem to have no luck at all
        if not outcomes.have_luck():
            return None
        free = outcomes.rows - 1
        own = np.nan_to_num(outcomes.spread)
        if not (outcomes.score.never_negative or outcomes.score.name == "r2"):
            return cls("other", 0.0, _pool(own, float((own * free).sum() / free.sum()), free))
        level = np.maximum(outcomes.mean**2 - own / outcomes.rows, 1e-300)  # the square of a mean is too large
        usual = float((own * free).sum() / (level * free).sum())
        with np.errstate(over="ignore"):  # a level of next to nothing: the ratio is cut right away
            ratio = np.minimum(own / level, 100 * usual)  # one next to no loss must not make all others look quiet
        ratio = _pool(ratio, usual, free)
        return cls("loss", 0.05 * float(outcomes.total.sum() / outcomes.rows.sum()), np.maximum(ratio, usual))

    def at(self, mean: Numbers) -> Numbers:
        """The variance where the mean is this."""
        if self.kind == "other":
            return self.own
        if self.kind == "loss":
            return np.asarray(self.own * np.maximum(mean, self.least) ** 2)
        inside = np.clip(mean, self.least, 1 - self.least)
        return np.asarray(inside * (1 - inside))


def _pool(spread: Numbers, usual: float, free: Numbers) -> Numbers:
    return np.asarray((spread * free + usual * _USUAL_ROWS) / (free + _USUAL_ROWS))


def _p_values(outcomes: Outcomes, left: LeaveOneOutFit, noise: _Noise) -> Numbers:
    """Two-sided p-values; NaN where the others do not tell the combination."""
    known = np.isfinite(left.value)
    rows, score, value, spread = (part[known] for part in (outcomes.rows, outcomes.mean, left.value, left.variance))
    own = noise.at(left.value)[known] / rows
    p = np.full(len(outcomes), np.nan)
    if noise.kind == "share":
        p[known] = _share_p(rows, score, value, own, spread)
    elif noise.kind == "loss":
        p[known] = _loss_p(score, value, own, spread, noise.least)
    else:
        with np.errstate(invalid="ignore", divide="ignore"):
            z = np.abs(score - value) / np.sqrt(own + spread)
        p[known] = 2 * normal_tail(np.nan_to_num(z))
    return np.asarray(np.minimum(p, 1.0))


def _share_p(rows: Numbers, score: Numbers, value: Numbers, own: Numbers, spread: Numbers) -> Numbers:
    """The tails of a beta-binomial, whose beta is how well the others tell the share."""
    # what the others tell may lie beyond 0 and 1: a beta needs a mean within, by half of its standard error
    edge = np.clip(np.sqrt(spread) / 2, 1e-3, 0.5)
    middle = np.clip(value, edge, 1 - edge)
    p = 2 * normal_tail(np.abs(score - middle) / np.sqrt(own + spread))
    few = np.flatnonzero(rows <= _MOST_TRIALS)
    strength = middle * (1 - middle) / np.maximum(spread, 1e-12) - 1
    strength = np.clip(strength[few], 0.05, 1e7)  # from a beta that leaves all open to one that is a point
    a, b = middle[few] * strength, (1 - middle[few]) * strength
    at_most, at_least = beta_binomial_tails(np.round(score[few] * rows[few]), rows[few], a, b)
    p[few] = 2 * np.minimum(at_most, at_least)
    return p


def _loss_p(score: Numbers, value: Numbers, own: Numbers, spread: Numbers, least: float) -> Numbers:
    """A ratio of two gammas, the combination's own mean loss and what the others tell of it: Fisher's F."""
    level = np.maximum(value, np.maximum(np.sqrt(spread) / 2, least))
    mine = np.clip(2 * np.maximum(value, least) ** 2 / np.maximum(own, 1e-300), 1e-3, 1e7)
    others = np.clip(2 * level**2 / np.maximum(spread, 1e-300), 1e-3, 1e7)
    below = beta_below(mine * score / (mine * score + others * level), mine / 2, others / 2)
    return np.asarray(2 * np.minimum(below, 1 - below))


def _sentence(testable: int, apart: Numbers, outcomes: Outcomes, error: Numbers) -> str:
    """What was found; `apart` is the deviation of those that are named, and 0 elsewhere."""
    rest = f" ({count(len(outcomes) - testable)} more rest on themselves alone)" if testable < len(outcomes) else ""
    better, worse = int((apart > 0).sum()), int((apart < 0).sum())
    if outcomes.score.rows_better == "lower":
        better, worse = worse, better
    if better or worse:
        return (
            f"{count(worse)} of {count(testable)} combinations{rest} do worse than their parts give elsewhere, and "
            f"{count(better)} better; about {100 * RATE:.0f} % of those named may be luck."
        )
    if not testable:
        return "Whether single combinations deviate cannot be told: each rests on itself alone."
    typical = float(np.nanmedian(error))
    written = f"{100 * typical:.0f} points" if outcomes.score.is_share else measure(typical)
    return (
        f"None of {count(testable)} combinations{rest} deviates from what its parts give elsewhere by more than luck "
        f"explains. A single deviation has a standard error of {written} here, so only large ones would show."
    )


def _nothing(outcomes: Outcomes, sentence: str, *, rank: int = 0) -> Deviations:
    empty = np.full(len(outcomes), np.nan)
    return Deviations(empty, empty, empty, empty, empty, rank, 0, 0, sentence)
