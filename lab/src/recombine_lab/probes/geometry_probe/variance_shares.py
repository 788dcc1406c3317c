"""What combinations owe to single factors, to pairs of them, …: shares of variance, and salience.

Both follow from the sums of dot products over pairs of combinations that agree on a set of factors. A set is a bit mask
as in `verbs/predict/kernel/salience.py`.
"""

import math

import numpy as np

from recombine.verbs.predict.kernel.salience import Salience, moebius
from recombine_lab.probes.geometry_probe.cells import Cells, Numbers

_ROUNDING = 1e-9
_IDLE = 1e-10
"""Of the variance: less is what single precision leaves of a factor that a layer never sees."""


def variance_by_set(cells: Cells) -> Numbers:
    """(2**K,) The variance that each set of factors adds beyond its subsets, over all outputs; place 0 is the mean's.

    The analysis of variance of a whole grid: the energy of the means over everything outside a set is the sum of the
    parts of its subsets.
    """
    sizes = np.array(cells.sizes, dtype=np.float64)
    within = np.array([_product(sizes, mask) for mask in range(2 ** len(sizes))])
    outside = within[-1] / within
    return moebius(cells.agreeing / (within * outside**2))


def _product(sizes: Numbers, mask: int) -> float:
    return float(np.prod([size for k, size in enumerate(sizes) if mask >> k & 1]))


def order_shares(cells: Cells) -> tuple[float, ...] | None:
    """The share of the variance of each order: single factors, pairs, …; None where nothing varies.

    The first is the additivity, all others together the interaction. A correct picture of a bump has an additivity of
    .22: products are not additive.

    >>> one_hot = np.eye(4)  # a table of unrelated vectors
    >>> codes = np.indices((2, 2)).reshape(2, -1).T
    >>> [round(share, 3) for share in order_shares(Cells(one_hot, codes, (2, 2)))]
    [0.667, 0.333]
    """
    parts = variance_by_set(cells)
    whole = float(parts[1:].sum())
    if not whole > 1e-12 * abs(float(np.trace(cells.gram))) / len(cells):
        return None
    orders = np.zeros(len(cells.sizes) + 1)
    for mask, part in enumerate(parts):
        orders[mask.bit_count()] += part
    return tuple(float(part) / whole for part in orders[1:])


def idle_factors(cells: Cells) -> tuple[int, ...]:
    """The factors that a layer does not vary with, alone or together with others.

    >>> codes = np.indices((2, 2)).reshape(2, -1).T
    >>> first = np.eye(2)[codes[:, 0]]
    >>> idle_factors(Cells(first @ first.T, codes, (2, 2)))
    (1,)
    """
    parts = variance_by_set(cells)
    whole = float(parts[1:].sum())
    factors = range(len(cells.sizes))
    return tuple(k for k in factors if not sum(p for m, p in enumerate(parts) if m >> k & 1) > _IDLE * whole)


def additivity(cells: Cells) -> float | None:
    """The share of the variance in the effects of single factors."""
    found = order_shares(cells)
    return None if found is None else found[0]


def salience_of(cells: Cells) -> Salience | None:
    """How much each set of factors weighs in a layer, in the form that `recombine.predict(salience=…)` takes.

    The mean dot product of pairs that agree on exactly a set, taken apart by subsets; None where nothing weighs
    anything. It equals `Salience.measured` of the same vectors.

    >>> one_hot = np.array([[1, 0, 1, 0], [1, 0, 0, 1], [0, 1, 1, 0], [0, 1, 0, 1]])
    >>> codes = np.indices((2, 2)).reshape(2, -1).T
    >>> salience_of(Cells(one_hot @ one_hot.T * 1.0, codes, (2, 2))).saliences
    (0.5, 0.0)
    """
    sums, own = cells.agreeing, float(np.trace(cells.gram))
    # from "agree on at least" to "agree on exactly": the same taking apart, on the complements of the sets
    exact = moebius((sums - own)[::-1])[::-1]
    sizes = np.array(cells.sizes, dtype=np.float64)
    pairs = np.array([_product(sizes, mask) * _other_pairs(sizes, mask) for mask in range(len(sums))])
    exact[-1] = own
    weights = moebius(exact / pairs)
    weights[np.abs(weights) <= _ROUNDING * np.abs(exact / pairs).max()] = 0.0
    if not max(weights[1:]) > 0:
        return None
    note = "the similarity of a combination to itself is that of its mean vector"
    return Salience(len(sizes), tuple(weights.tolist()), name="layer", note=note)


def _other_pairs(sizes: Numbers, mask: int) -> float:
    return float(np.prod([size * (size - 1) for k, size in enumerate(sizes) if not mask >> k & 1]))


def effective_rank(cells: Cells) -> tuple[float, float] | None:
    """exp of the entropy of the covariance's spectrum, and how many directions hold 99 % of the variance."""
    spectrum = np.linalg.eigvalsh(cells.centred.gram)[::-1].clip(min=0)
    whole = float(spectrum.sum())
    if not whole > 1e-12 * abs(float(np.trace(cells.gram))):
        return None
    shares = spectrum / whole
    held = shares[shares > 1e-15]
    entropy = -float((held * np.log(held)).sum())
    return math.exp(entropy), float(np.searchsorted(np.cumsum(shares), 0.99) + 1)
