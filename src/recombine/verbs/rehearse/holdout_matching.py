"""How alike held-out and unseen combinations are, and how much each held-out one counts so that they are more so.

Both are points, their difficulty in units (`difficulty`). Three numbers say how alike two clouds are: the distance
between them (the maximum mean discrepancy of a Gaussian kernel, 0 where they are one), the share of the unseen
ones that have a held-out one near them (`overlap`), and for each number of the difficulty the gap between the means
(`gaps`).

Weights follow by kernel smoothing: every unseen combination asks the held-out ones near it, the nearest most, and a
held-out one counts as often as it is asked. What smoothing cannot mend is left as a gap, and is for the regression.
"""

import numpy as np

from recombine.numerics.groups import Numbers

REACH = 2.0
"""Within so many units, over all numbers together, a combination is like another."""
_WIDTH = 1.0  # of the kernel, in units
_CHUNK = 4_000_000  # pairs that are held at a time


def squared_distances(one: Numbers, other: Numbers) -> Numbers:
    """(a, b) Between every two points.

    >>> squared_distances(np.array([[0.0, 0.0]]), np.array([[3.0, 4.0], [0.0, 0.0]])).tolist()
    [[25.0, 0.0]]
    """
    apart = np.square(one).sum(axis=1)[:, None] + np.square(other).sum(axis=1) - 2 * one @ other.T
    return np.asarray(np.maximum(apart, 0.0))


def weights_of(held: Numbers, unseen: Numbers) -> Numbers:
    """(h,) How much each held-out point counts, in all 1: what the unseen ones look to, the nearest most.

    >>> weights_of(np.array([[0.0], [9.0]]), np.array([[0.1], [0.2]])).round(3).tolist()
    [1.0, 0.0]
    """
    total = np.zeros(len(held))
    step = max(1, _CHUNK // len(held))
    for start in range(0, len(unseen), step):
        apart = squared_distances(unseen[start : start + step], held) / (2 * _WIDTH**2)
        near = np.exp(apart.min(axis=1, keepdims=True) - apart)
        total += (near / near.sum(axis=1, keepdims=True)).sum(axis=0)
    return np.asarray(total / len(unseen))


def overlap(held: Numbers, unseen: Numbers, reach: float = REACH) -> float:
    """The share of the unseen points that have a held-out one within reach."""
    step = max(1, _CHUNK // len(held))
    parts = [squared_distances(unseen[start : start + step], held).min(axis=1) for start in range(0, len(unseen), step)]
    return float((np.concatenate(parts) <= reach**2 + 1e-9).mean())


def distance(held: Numbers, unseen: Numbers) -> float:
    """The maximum mean discrepancy: 0 for equal clouds, at most √2 for clouds that are far apart and narrow.

    >>> cloud = np.array([[0.0], [1.0]])
    >>> distance(cloud, cloud), round(distance(cloud, cloud + 100), 3)
    (0.0, 1.267)
    """
    return float(np.sqrt(max(_likeness(held, held) + _likeness(unseen, unseen) - 2 * _likeness(held, unseen), 0.0)))


def _likeness(one: Numbers, other: Numbers) -> float:
    return float(np.exp(-squared_distances(one, other) / (2 * _WIDTH**2)).mean())


def gaps(held: Numbers, weights: Numbers, unseen: Numbers) -> Numbers:
    """(f,) By how many units the unseen points lie above the weighted held-out ones, on average."""
    return np.asarray(unseen.mean(axis=0) - weights @ held)
