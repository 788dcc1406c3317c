"""Mutual information between an input factor and an output, in bits: counted, corrected for its bias, beside chance.

Counted frequencies tell too much: with n rows and K cells by (cells - rows - columns + 1) / (2 n) nats (Miller and
Madow). What the same count gives for shuffled values of the factor stands beside it. A factor that goes along with the
target in these rows tells something of any good answer, whether or not the model looks at it; so for each factor there
is also what it tells once the target factor is known, and there the values are shuffled within the target's groups.
"""

import math
from dataclasses import dataclass

import numpy as np

from recombine.probes.influences.answering import Floats
from recombine.probes.influences.examples import Ints
from recombine.seeds import derived

NULLS = 100
BINS = 8


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
    shape = int(x.max()) + 1, int(y.max()) + 1
    joint = np.bincount(x * shape[1] + y, minlength=shape[0] * shape[1]).reshape(shape).astype(np.float64)
    counted = _entropy(joint.sum(1)) + _entropy(joint.sum(0)) - _entropy(joint)
    cells, rows, columns = (int((part > 0).sum()) for part in (joint, joint.sum(1), joint.sum(0)))
    bias = (cells - rows - columns + 1) / (2 * len(x) * math.log(2))
    return max(counted, 0.0), counted - bias


def _entropy(counts: Floats) -> float:
    shares = counts[counts > 0] / counts.sum()
    return float(-(shares * np.log2(shares)).sum())


def bits(factor: Ints, output: Ints, *, given: Ints | None = None, seed: int = 0) -> Bits:
    """What a factor tells of an output, or still tells once another factor is `given`.

    >>> x = np.arange(400) % 2
    >>> found = bits(x, x)
    >>> round(found.value, 2), found.null_high < 0.05
    (1.0, True)
    """
    group = np.zeros(len(factor), dtype=np.int64) if given is None else given
    own = _within(factor, output, group)
    rng = np.random.default_rng(derived(seed, "information"))
    null = [_within(_shuffled(factor, group, rng), output, group)[1] for _ in range(NULLS)]
    return Bits(own[1], own[0], float(np.mean(null)), float(np.quantile(null, 0.95)))


def _within(x: Ints, y: Ints, group: Ints) -> tuple[float, float]:
    """The mean over groups, by their rows."""
    found = [(counted_bits(x[rows], y[rows]), len(rows)) for rows in _rows(group)]
    return tuple(sum(one[k] * n for one, n in found) / len(x) for k in (0, 1))  # type: ignore[return-value]


def _rows(group: Ints) -> list[Ints]:
    order = np.argsort(group, kind="stable")
    return [rows for rows in np.split(order, np.flatnonzero(np.diff(group[order])) + 1) if len(rows)]


def _shuffled(x: Ints, group: Ints, rng: np.random.Generator) -> Ints:
    found = x.copy()
    for rows in _rows(group):
        found[rows] = x[rng.permutation(rows)]
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
