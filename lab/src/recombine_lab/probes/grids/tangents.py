"""Steps between neighbouring values: do those of different factors point in different directions, and how large are
the areas that they span?

Of Liang et al. (ICML 2025), as their code has it: central differences inside, one-sided ones at the border, unit
spacing. A table of unrelated vectors scores .996 on a grid of 28 x 28, so that orthogonality alone says nothing.
Only factors whose values have an order have steps.
"""

from dataclasses import dataclass

import numpy as np

from recombine_lab.probes.grids.cells import Cells, Numbers
from recombine_lab.probes.grids.design import Flags, Ints

_FLAT = 1e-6
"""Below this share of its largest possible value an area is rounding."""

_ROUNDINGS = 64
"""How many roundings a metric's entry may hold: a few dot products, each a sum over features."""


@dataclass(frozen=True, eq=False)
class Steps:
    """The metric tensor (s, A, A) of the combinations `rows` (s,) that have a step along each of the A factors."""

    metric: Numbers
    rows: Ints

    def __len__(self) -> int:
        return len(self.rows)


def steps(cells: Cells) -> Steps | None:
    """The metric tensor wherever neighbours are there; None with fewer than two factors that have an order."""
    axes = [axis for axis, has_order in enumerate(cells.ordered) if has_order]
    if len(axes) < 2:
        return None
    ends = [_ends(cells, axis) for axis in axes]
    rows = np.flatnonzero(np.logical_and.reduce([upper != lower for upper, lower, _ in ends]))
    metric = np.empty((len(rows), len(axes), len(axes)))
    for a, (upper_a, lower_a, step_a) in enumerate(ends):
        for b, (upper_b, lower_b, step_b) in enumerate(ends):
            pa, ma, pb, mb = (places[rows] for places in (upper_a, lower_a, upper_b, lower_b))
            g = cells.gram
            metric[:, a, b] = (g[pa, pb] - g[pa, mb] - g[ma, pb] + g[ma, mb]) / (step_a[rows] * step_b[rows])
    return Steps(metric, rows)


def _ends(cells: Cells, axis: int) -> tuple[Ints, Ints, Ints]:
    """The combinations between which each one's step lies, itself where there is no further one; and how far apart."""
    size, own = cells.sizes[axis], np.arange(len(cells))
    found = []
    for move in (1, -1):
        moved = cells.codes.copy()
        moved[:, axis] += move
        inside = (moved[:, axis] >= 0) & (moved[:, axis] < size)
        place = cells.place[tuple(np.where(inside[:, None], moved, cells.codes).T)]
        found.append(np.where(place >= 0, place, own))
    upper, lower = found
    return upper, lower, (upper != own).astype(np.int64) + (lower != own)


def orthogonality(metric: Numbers) -> float | None:
    """1 - 2 sum_{a<b} mean|g_ab| / ((A - 1) sum_a mean g_aa), from 0 to 1; for two factors 2 F - 1. Ours.

    >>> orthogonality(np.array([[[1.0, 0.0], [0.0, 1.0]]])), orthogonality(np.array([[[1.0, 1.0], [1.0, 1.0]]]))
    (1.0, 0.0)
    """
    count = metric.shape[-1]
    own = float(np.einsum("saa->s", metric).mean()) if len(metric) else 0.0
    if not own > 0:
        return None
    upper = np.triu_indices(count, 1)
    mixed = float(np.abs(metric[:, upper[0], upper[1]]).mean(axis=0).sum())
    return float(1 - 2 * mixed / ((count - 1) * own))


def published_factorization(metric: Numbers) -> float | None:
    """F = 1 - mean|g_xy| / (mean(|g_xx| + |g_yy|) + 1e-9) of two factors, from .5 to 1, as the paper's code has it."""
    if metric.shape[-1] != 2 or not len(metric) or not np.abs(metric).max() > 0:
        return None
    own = np.abs(metric[:, 0, 0]) + np.abs(metric[:, 1, 1])
    return float(1 - np.abs(metric[:, 0, 1]).mean() / (own.mean() + 1e-9))


def log_volumes(metric: Numbers) -> Numbers:
    """(s,) log10(sqrt|det g| + 1e-12); NaN where the steps are along one line, or there are none."""
    square = np.abs(np.linalg.det(metric))
    lengths = np.diagonal(metric, axis1=1, axis2=2).clip(min=0)  # squared, of the steps
    possible = np.prod(lengths, axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        # The metric comes from dot products, each rounded as the largest of them is: off by eps · largest along the
        # shortest step, the square of an area is off by that times the other lengths.
        rounding = _ROUNDINGS * np.finfo(float).eps * np.nanmax(lengths, initial=0.0) * possible / lengths.min(axis=1)
        real = (square > _FLAT**2 * possible) & (square > rounding)
        return np.where(real, np.log10(np.sqrt(square) + 1e-12), np.nan)


def warp(volumes: Numbers, seen: Flags) -> float | None:
    """The mean log volume of the unseen combinations less that of the seen; None where half of either are flat.

    >>> warp(np.array([0.0, 0.0, 1.0]), np.array([True, True, False]))
    1.0
    """
    sides = [volumes[~seen], volumes[seen]]
    if any(not len(side) or np.isnan(side).mean() > 0.5 for side in sides):
        return None
    unseen, shown = (float(np.nanmean(side)) for side in sides)
    return float(unseen - shown)
