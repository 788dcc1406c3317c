"""Which values were seen: coverage, holes, neighbour sets, and how freely a slot varies beside the others.

Letters: n seen points, m values asked about, w entries of a slot's value, d entries of all other slots.
All values are in shares of their entries' ranges (`Points.scaled`), distances in the maximum norm.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.spatial import cKDTree

Numbers = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
WANTED = 0.95
"""The share of values that a bandwidth covers when as many are drawn evenly."""
TRIES = 4
"""Seen points near a value whose surroundings are looked at; the freest of them counts."""
LEAST_LOCAL = 96
"""Seen points that the spread at one of them is estimated from."""
INSIDE = 0.1
"""A value is asked about a hole if it lies further from seen ones than this share of it: at the rim chance decides."""


def distinct(values: Numbers) -> Numbers:
    """Each value once."""
    return np.asarray(np.unique(values, axis=0))


def even_bandwidth(count: int, asked: Numbers, even: Numbers) -> float:
    """The distance within which `count` values drawn evenly have one beside 95 % of those asked about.

    What cannot be resolved with so many values is no hole: a bandwidth below this calls every support full of them.

    >>> even = np.linspace(0, 1, 101)[:, None]
    >>> round(even_bandwidth(101, np.linspace(0, 1, 1001)[:, None], even), 3)
    0.005
    """
    distances, _ = cKDTree(even[:count]).query(asked, p=np.inf)
    return float(np.quantile(distances, WANTED))


def nearest_distance(asked: Numbers, seen: Numbers, *, own: bool) -> Numbers:
    """(m,) How far each value asked about is from a seen one; from *another* one, where it is itself seen (`own`).

    >>> nearest_distance(np.array([[0.0], [0.4]]), np.array([[0.0], [1.0]]), own=False).tolist()
    [0.0, 0.4]
    """
    values, counts = np.unique(seen, axis=0, return_counts=True)
    k = min(2, len(values)) if own else 1
    distances, rows = cKDTree(values).query(asked, k=k, p=np.inf)
    if not own or k == 1:
        return np.asarray(distances).reshape(len(asked))
    once = counts[rows[:, 0]] == 1
    return np.asarray(np.where(once & (distances[:, 0] == 0), distances[:, 1], distances[:, 0]))


def largest_hole(values: Numbers, low: float, high: float, asked: Numbers | None = None) -> tuple[float, float]:
    """The longest stretch from `low` to `high` without any value: where it begins and ends.

    With values `asked` about, the longest of those stretches in which one of them lies; of no length where none does.

    >>> seen = np.array([0.0, 0.05, 0.45, 1.0, 0.7])
    >>> largest_hole(seen, 0.0, 1.0), largest_hole(seen, 0.0, 1.0, np.array([0.6])), largest_hole(seen, 0.0, 1.0, seen)
    ((0.05, 0.45), (0.45, 0.7), (0.0, 0.0))
    """
    each = np.unique(values)
    ends = np.concatenate([[low], each, [high]])
    lengths = np.diff(ends)
    if asked is not None:
        lengths = np.where(_entered(each, lengths, asked), lengths, 0.0)
    place = int(np.argmax(lengths))
    return float(ends[place]), float(ends[place] + lengths[place])


def _entered(each: Numbers, lengths: Numbers, asked: Numbers) -> npt.NDArray[np.bool_]:
    """Which stretches between sorted values have one asked about well inside; the ends of the range are not seen."""
    place = np.searchsorted(each, asked)
    around = np.concatenate([[-np.inf], each, [np.inf]])
    depth = np.minimum(asked - around[place], around[place + 1] - asked)
    inside = place[depth > INSIDE * lengths[place]]
    return np.asarray(np.isin(np.arange(len(lengths)), inside))


@dataclass(frozen=True, eq=False)
class Neighbours:
    """Seen points near each value asked about: the nearest `rows` (m, TRIES), whether a `near` one is within the
    bandwidth, and how many are (`size`)."""

    rows: Ints
    near: npt.NDArray[np.bool_]
    size: Numbers


def neighbours_of(asked: Numbers, seen: Numbers, bandwidth: float, rng: np.random.Generator) -> Neighbours:
    """Neighbour sets of the values asked about."""
    # Ties are broken by chance, not by the order of the rows.
    order = rng.permutation(len(seen))
    tree = cKDTree(seen[order])
    distances, rows = tree.query(asked, k=min(TRIES, len(seen)), p=np.inf)
    distances, rows = (np.asarray(one).reshape(len(asked), -1) for one in (distances, rows))
    size = tree.query_ball_point(asked, bandwidth, p=np.inf, return_length=True)
    return Neighbours(order[rows].astype(np.int64), distances[:, 0] <= bandwidth, np.asarray(size, dtype=np.float64))


@dataclass(frozen=True, eq=False)
class SliceVariation:
    """How freely a slot's value varies while the others stand nearly still, as a share of its spread (0 to about 1).

    `usual` (m,) is the root of the mean over entries, the paper's proxy sd(z_k given the rest) / sd(z_k); `worst` (m,)
    that of the most tied direction; `entries` (m, w) each entry by itself.
    """

    usual: Numbers
    worst: Numbers
    entries: Numbers


def slice_variation(own: Numbers, rest: Numbers, rows: Ints, spread: Numbers) -> SliceVariation | None:
    """At each value asked about: the freest of the seen points near it, `rows` (m, TRIES).

    The spread of `own` (n, w) given `rest` (n, d) at a seen point is that of what remains of a linear fit over the
    points whose rest is nearest; with finite data it is an upper end, since a tie that bends within that
    neighbourhood looks like freedom. `spread` (w, w) is the covariance that it is a share of. None with too few points.
    """
    n, d = rest.shape
    local = max(LEAST_LOCAL, 4 * (d + 1))
    if n < max(2 * (d + 2), 24):
        return None
    asked, place = np.unique(rows, return_inverse=True)
    _, near = cKDTree(rest).query(rest[asked], k=min(local, n), p=np.inf)
    whitened, own_scale = _whitener(spread), np.sqrt(np.maximum(np.diag(spread), 1e-30))
    left = _left_over(own[near], rest[near])
    worst = np.linalg.eigvalsh(whitened @ left @ whitened)[:, 0].clip(min=0)
    entries = np.sqrt(np.diagonal(left, axis1=1, axis2=2).clip(min=0)) / own_scale
    place = place.reshape(rows.shape)
    best = np.take_along_axis(place, worst[place].argmax(1)[:, None], 1)[:, 0]
    free = np.minimum(entries[best], 1.0)
    return SliceVariation(np.sqrt((free**2).mean(1)), np.sqrt(worst[best].clip(max=1.0)), free)


def _left_over(own: Numbers, rest: Numbers) -> Numbers:
    """(u, w, w) The covariance of own (u, l, w) that is left of a linear fit on rest (u, l, d)."""
    own, rest = own - own.mean(1, keepdims=True), rest - rest.mean(1, keepdims=True)
    square = np.swapaxes(rest, 1, 2) @ rest
    values, vectors = np.linalg.eigh(square)
    kept = values > 1e-10 * np.maximum(values[:, -1:], 1e-12)
    kept &= values > 1e-12
    inverse = np.where(kept, 1 / np.where(kept, values, 1.0), 0.0)
    slope = (vectors * inverse[:, None]) @ np.swapaxes(vectors, 1, 2) @ (np.swapaxes(rest, 1, 2) @ own)
    left = own - rest @ slope
    freedom = np.maximum(own.shape[1] - 1 - kept.sum(1), 1)
    return np.asarray(np.swapaxes(left, 1, 2) @ left / freedom[:, None, None])


def _whitener(spread: Numbers) -> Numbers:
    """The inverse root of a covariance; entries that do not vary are left as they are."""
    values, vectors = np.linalg.eigh(spread)
    kept = values > 1e-10 * max(float(values[-1]), 1e-30)
    scale = np.where(kept, 1 / np.sqrt(np.where(kept, values, 1.0)), 1e6)
    return np.asarray((vectors * scale) @ vectors.T)
