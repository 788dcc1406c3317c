"""Mutual information between an input factor and an output, in bits: counted, corrected for its bias, beside chance.

Counted frequencies tell too much: with n rows and K cells by (cells - rows - columns + 1) / (2 n) nats (Miller and
Madow). What the same count gives for shuffled values of the factor stands beside it. A factor that goes along with the
target in these rows tells something of any good answer, whether or not the model looks at it; so for each factor there
is also what it tells once the target factor is known, and there the values are shuffled within the target's groups.
"""

import math
from dataclasses import dataclass

import numpy as np

from recombine.seeds import derived
from recombine_lab.probes.influences.answering import Floats
from recombine_lab.probes.influences.examples import Ints

NULLS = 100
BINS = 8
_MOST_CELLS = 2**22  # counted at once


@dataclass(frozen=True)
class Bits:
    """Mutual information: corrected, as counted, and the mean and 95 % end of the same with shuffled values."""

    value: float
    counted: float
    null: float
    null_high: float


def counted_bits(x: Ints, y: Ints) -> tuple[float, float]:
    """Mutual information in bits, as counted and with Miller and Madow's correction.

    >>> counted_bits(np.array([0, 0, 1, 1]), np.array([0, 0, 1, 1]))[0]
    1.0
    """
    counted, corrected = _within(x[None], y, np.zeros(len(x), dtype=np.int64))
    return max(float(counted[0]), 0.0), float(corrected[0])


def bits(factor: Ints, output: Ints, *, given: Ints | None = None, seed: int = 0) -> Bits:
    """What a factor tells of an output, or still tells once another factor is `given`.

    >>> x = np.arange(400) % 2
    >>> found = bits(x, x)
    >>> round(found.value, 2), found.null_high < 0.05
    (1.0, True)
    """
    group = np.zeros(len(factor), dtype=np.int64) if given is None else given
    counted, corrected = _within(factor[None], output, group)
    null = _within(_shuffled(factor, group, derived(seed, "information")), output, group)[1]
    value = max(float(counted[0]), 0.0)
    return Bits(float(corrected[0]), value, float(null.mean()), float(np.quantile(null, 0.95)))


def _within(x: Ints, y: Ints, group: Ints) -> tuple[Floats, Floats]:
    """(d,) For d versions of a factor (d, n), the mean over groups by their rows: as counted, and corrected."""
    shape = int(group.max()) + 1, int(x.max()) + 1, int(y.max()) + 1
    cells = int(np.prod(shape))
    place = group * shape[1] * shape[2] + y
    at_once = max(1, _MOST_CELLS // cells)
    found = [_counted(x[start : start + at_once] * shape[2] + place, shape) for start in range(0, len(x), at_once)]
    return np.concatenate([one for one, _ in found]), np.concatenate([two for _, two in found])


def _counted(place: Ints, shape: tuple[int, int, int]) -> tuple[Floats, Floats]:
    """The same from the cell (d, n) that each row falls into."""
    draws, rows = place.shape
    cells = int(np.prod(shape))
    flat = (place + np.arange(draws)[:, None] * cells).ravel()
    joint = np.bincount(flat, minlength=draws * cells).reshape(draws, *shape).astype(np.float64)
    by_x, by_y, by_group = joint.sum(3), joint.sum(2), joint.sum((2, 3))
    # H(x) + H(y) - H(xy) in each group, times its rows: the sums of n log n of the counts
    nats = _n_log_n(joint, 3) - _n_log_n(by_x, 2) - _n_log_n(by_y, 2) + _n_log_n(by_group, 1)
    there = [(part > 0).sum(axis=tuple(range(1, part.ndim))) for part in (joint, by_x, by_y, by_group)]
    counted = nats / (rows * math.log(2))
    return counted, counted - (there[0] - there[1] - there[2] + there[3]) / (2 * rows * math.log(2))


def _n_log_n(counts: Floats, axes: int) -> Floats:
    logs = np.log(np.where(counts > 0, counts, 1.0))
    return np.asarray((counts * logs).sum(axis=tuple(range(1, axes + 1))))


def _shuffled(x: Ints, group: Ints, seed: int) -> Ints:
    """(draws, n) The factor with its values shuffled within groups."""
    draws = max(1, min(NULLS, _MOST_CELLS // len(x)))
    own = np.argsort(group, kind="stable")
    order = np.argsort(group + np.random.default_rng(seed).random((draws, len(x))), axis=1)
    found = np.empty((draws, len(x)), dtype=np.int64)
    found[:, own] = x[order]
    return found


def binned(values: Floats) -> Ints:
    """Numbers as codes: each its own where they are few, else bins of equal count.

    >>> binned(np.array([0.5, 0.1, 0.5])).tolist()
    [1, 0, 1]
    """
    distinct, codes = np.unique(values, return_inverse=True)
    if len(distinct) <= BINS:
        return codes.reshape(-1).astype(np.int64)
    edges = np.quantile(values, np.linspace(0, 1, BINS + 1)[1:-1])
    return np.searchsorted(np.unique(edges), values, side="right").astype(np.int64)
