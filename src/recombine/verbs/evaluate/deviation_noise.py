"""How far scores differ by luck: of rows within a combination, and of combinations beyond their rows.

Shares are tested by the tails of a beta-binomial, so that few rows make no false alarm; losses, which cannot be
negative and are skewed, by the ratio of two gammas (Fisher's F); other scores by the normal's.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from recombine.numerics.additive_design import ALONE
from recombine.numerics.distributions import beta_below, beta_binomial_tails, normal_quantile, normal_tail
from recombine.numerics.groups import Numbers
from recombine.verbs.evaluate.outcomes import Outcomes

_MOST_TRIALS = 400  # beyond so many rows the normal is as good as the beta-binomial
_USUAL_ROWS = 10  # what the usual noise counts for beside a combination's own
_MOST_TAKEN = 0.8  # of the combinations: with more of them out, what is left says nothing about all

Tails = tuple[Numbers, Numbers]
"""The chance of a score as low, and of one as high."""


@dataclass(frozen=True, eq=False)
class Noise:
    """The variance of one row's score, given its mean.

    Of a share it follows from the mean. A loss varies in proportion to its mean, so what is told by a combination's
    own rows is the ratio: where the combination is harder than its parts, its noise must not hide that.
    """

    kind: Literal["share", "loss", "other"]
    least: float
    own: Numbers  # the variance, or of a loss its ratio to the squared mean

    @classmethod
    def of(cls, outcomes: Outcomes) -> "Noise | None":
        """The noise of these scores; None where no row differs from another of its combination."""
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
        """The variance of a row of each combination where the mean is this."""
        if self.kind == "other":
            return self.own
        if self.kind == "loss":
            return np.asarray(self.own * np.maximum(mean, self.least) ** 2)
        inside = np.clip(mean, self.least, 1 - self.least)
        return np.asarray(inside * (1 - inside))

    def scale(self, mean: Numbers) -> Numbers:
        """What combinations differ in proportion to: losses to their level, other scores to nothing."""
        return np.maximum(mean, self.least) ** 2 if self.kind == "loss" else np.ones_like(mean)

    def tails(self, rows: Numbers, score: Numbers, value: Numbers, own: Numbers, spread: Numbers) -> Tails:
        """How likely scores over so many rows are as low, or as high, where `value` was expected.

        `own` is the variance by the rows' luck, `spread` all the rest: how well the others tell it, and how far
        combinations differ beyond their rows. NaN where nothing was expected.
        """
        found, known = np.full((2, len(rows)), np.nan), np.isfinite(value)
        rows, score, value, own, spread = (part[known] for part in (rows, score, value, own, spread))
        if self.kind == "share":
            found[:, known] = _share_tails(rows, score, value, own, spread)
        elif self.kind == "loss":
            found[:, known] = _loss_tails(score, value, own, spread, self.least)
        else:
            with np.errstate(invalid="ignore", divide="ignore"):
                z = np.nan_to_num((score - value) / np.sqrt(own + spread))
            found[:, known] = normal_tail(-z), normal_tail(z)
        return found[0], found[1]


def _pool(spread: Numbers, usual: float, free: Numbers) -> Numbers:
    return np.asarray((spread * free + usual * _USUAL_ROWS) / (free + _USUAL_ROWS))


def _share_tails(rows: Numbers, score: Numbers, value: Numbers, own: Numbers, spread: Numbers) -> Tails:
    """The tails of a beta-binomial, whose beta is how well the others tell the share."""
    # what the others tell may lie beyond 0 and 1: a beta needs a mean within, by half of its standard error
    edge = np.clip(np.sqrt(spread) / 2, 1e-3, 0.5)
    middle = np.clip(value, edge, 1 - edge)
    z = (score - middle) / np.sqrt(own + spread)
    low, high = normal_tail(-z), normal_tail(z)
    few = np.flatnonzero(rows <= _MOST_TRIALS)
    strength = middle * (1 - middle) / np.maximum(spread, 1e-12) - 1
    strength = np.clip(strength[few], 0.05, 1e7)  # from a beta that leaves all open to one that is a point
    a, b = middle[few] * strength, (1 - middle[few]) * strength
    low[few], high[few] = beta_binomial_tails(np.round(score[few] * rows[few]), rows[few], a, b)
    return low, high


def _loss_tails(score: Numbers, value: Numbers, own: Numbers, spread: Numbers, least: float) -> Tails:
    """A ratio of two gammas, the combination's own mean loss and what the others tell of it: Fisher's F."""
    level = np.maximum(value, np.maximum(np.sqrt(spread) / 2, least))
    mine = np.clip(2 * np.maximum(value, least) ** 2 / np.maximum(own, 1e-300), 1e-3, 1e7)
    others = np.clip(2 * level**2 / np.maximum(spread, 1e-300), 1e-3, 1e7)
    below = beta_below(mine * score / (mine * score + others * level), mine / 2, others / 2)
    return below, 1 - below


def beyond_rows(residual: Numbers, leverage: Numbers, luck: Numbers, scale: Numbers, *, taken: float = 0.0) -> float:
    """How far combinations differ beyond the luck of their rows: a variance, in units of `scale`; 0 if they do not.

    It is what the squares of standardised residuals have beyond 1 on average (DerSimonian and Laird); beyond less,
    where a share of all was `taken` out that deviates most: what is left is then a normal without its tails.

    >>> rng = np.random.default_rng(0)
    >>> found = np.sort(np.abs(rng.normal(scale=np.sqrt(0.05), size=4000)))
    >>> luck, none, one = np.full(4000, 0.01), np.zeros(4000), np.ones(4000)
    >>> round(beyond_rows(found, none, luck, one), 2)
    0.04
    >>> round(beyond_rows(found[:3600], none[:3600], luck[:3600], one[:3600], taken=0.1), 2)
    0.04
    """
    known = leverage < 1 - ALONE
    square, luck, scale = residual[known] ** 2 / (1 - leverage[known]), luck[known], scale[known]
    share, usual = min(taken, _MOST_TAKEN), 1.0
    if share > 0:  # the mean square of a standard normal without this share in its tails
        end = normal_quantile(1 - share / 2)
        usual -= 2 * end * float(np.exp(-(end**2) / 2) / np.sqrt(2 * np.pi)) / (1 - share)
    return max(float((square / luck).sum()) / usual - len(square), 0.0) / float((scale / luck).sum())
