"""How much any rule over the combinations could explain: what they differ by, less the noise of few rows.

The classical analysis of variance of one factor, the combination, with what an audit needs beside it: combinations
count alike however many rows they have, and labels are shares of several classes at once. So both sums of squares are
mixtures of chi-squares, each taken for one chi-square of as many degrees of freedom as has its variance (Satterthwaite,
Biometrics Bulletin 2, 1946). SciPy has the test with equal weights only, and no interval of the share.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from recombine.numerics.groups import Numbers

_CHANCE = 0.01
"""Of all tables of noise so many may be taken for something else."""
_SAYS_NOTHING = 0.8
"""Noise is only spoken of where the interval rules out that so much could be explained."""
_MOSTLY = 0.5


@dataclass(frozen=True)
class NoiseCeiling:
    """The share of what combinations differ by that is no noise, its 95 % interval, and how often noise alone would
    make them differ so much.
    """

    value: float
    low: float
    high: float
    p: float

    @property
    def kind(self) -> Literal["noise", "fixed"] | None:
        """Whether combinations differ by no more than their rows do, or mostly by answers of their own; None where
        it is open.

        >>> NoiseCeiling(0.0, 0.0, 0.3, 0.6).kind, NoiseCeiling(0.9, 0.8, 1.0, 0.0).kind
        ('noise', 'fixed')
        """
        if self.p >= _CHANCE and self.high < _SAYS_NOTHING:
            return "noise"
        return "fixed" if self.p < _CHANCE and self.low > _MOSTLY else None


def noise_ceiling(
    values: Numbers, counts: Numbers, within: float | None, *, dimensions: tuple[float, float] | None = None
) -> NoiseCeiling | None:
    """From the mean answer of each combination (a number, or the share of each class), its rows, and the variance of
    one row about that mean, added up over classes. None without one, or where nothing differs.

    Of vectors `dimensions` says how many independent outputs the answers, and their noise, are worth.

    >>> means = np.array([[0.0], [1.0], [0.0], [1.0], [1.0]])
    >>> found = noise_ceiling(means, np.full(5, 10.0), 0.2)
    >>> f"{found.value:.2f} ({found.low:.2f} to {found.high:.2f})", found.kind
    ('0.93 (0.79 to 0.99)', 'fixed')
    """
    combinations = len(values)
    differ = float(np.square(values - values.mean(axis=0)).sum()) / max(combinations - 1, 1)
    if within is None or differ <= 0:
        return None
    if within <= 0:
        return NoiseCeiling(1.0, 1.0, 1.0, 0.0)
    from scipy.special import fdtrc, fdtri  # noqa: PLC0415 - SciPy is loaded where it is needed

    noise = within / counts
    between, inner = dimensions or (_freedom_of_classes(values, counts),) * 2
    inside = inner * float((counts - 1).sum())
    ratio = differ / float(noise.mean())
    by_noise = float(fdtrc(inner * _freedom(noise), inside, ratio))
    own = between * _freedom(noise + max(differ - float(noise.mean()), 0.0))
    few, many = (float(fdtri(own, inside, share)) for share in (0.025, 0.975))
    value, low, high = (float(np.clip(1 - one / ratio, 0.0, 1.0)) for one in (1.0, many, few))
    return NoiseCeiling(value, low, high, by_noise)


def _freedom(variances: Numbers) -> float:
    """Of the spread of means, each with its variance."""
    return float(variances.sum() ** 2 / np.square(variances).sum() - 1)


def _freedom_of_classes(values: Numbers, counts: Numbers) -> float:
    """As many independent numbers as one row's label is worth: 1 for two classes, less than c - 1 for c uneven ones."""
    if values.shape[1] == 1:
        return 1.0
    share = counts @ values / counts.sum()
    spread = share.sum() - np.square(share).sum()  # the trace of diag(p) - pp', and of its square below
    squares = np.square(share * (1 - share)).sum() + np.square(share).sum() ** 2 - (share**4).sum()
    return float(spread**2 / squares) if squares > 0 else 1.0
