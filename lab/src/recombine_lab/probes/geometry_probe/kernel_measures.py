"""Every measure of a layer that follows from the dot products of its combinations, with its interval.

Kernel separability: is the similarity of two combinations a product of the similarities of their values?

**Our metric.** The paper names a "generalized factorization metric" and defines it nowhere that we could find. Ours:
the dot products, rearranged as pairs of values of one factor by pairs of values of the others, and the share of their
energy in the first singular value. It is 1 for a product (a correct picture of a bump; also a table of unrelated
vectors) and 1/2 for a sum of two equal parts measured from its mean. With more than two factors it is the mean over the
factors, each against all others.

Linear probes: can each factor be read off a layer, for combinations that the probe was not fitted on?

Ridge regression in closed form, on dot products. The probe of an ordered factor gives its place (R²), that of another
its value (the share of right answers above chance); both are 1 where it can be read off and 0 at chance. Random
features pass it, a table of unrelated vectors does not.

Steps between neighbouring values: do those of different factors point in different directions, and how large are
the areas that they span?

Of Liang et al. (ICML 2025), as their code has it: central differences inside, one-sided ones at the border, unit
spacing. A table of unrelated vectors scores .996 on a grid of 28 x 28, so that orthogonality alone says nothing.
Only factors whose values have an order have steps.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.sparse.linalg import svds

from recombine.base.seeds import derived
from recombine_lab.probes.geometry_probe.cells import Cells, Numbers
from recombine_lab.probes.geometry_probe.design import Flags, Ints
from recombine_lab.probes.geometry_probe.intervals import Ends, jackknife, left_out
from recombine_lab.probes.geometry_probe.variance_shares import effective_rank, order_shares, salience_of

_DENSE = 64


def separability(cells: Cells) -> float | None:
    """The energy share of the first singular value, between 0 and 1; None where all vectors are zero.

    >>> one_hot = np.array([[1, 0, 1, 0], [1, 0, 0, 1], [0, 1, 1, 0], [0, 1, 0, 1]])
    >>> codes = np.indices((2, 2)).reshape(2, -1).T
    >>> round(separability(Cells(one_hot @ one_hot.T * 1.0, codes, (2, 2))), 6)  # (sqrt 2 + 1)² / 6
    0.971405
    """
    energy = float(np.square(cells.gram).sum())
    scale = float(np.abs(cells.gram).max())
    if not energy > 0 or not scale > 1e-300:
        return None
    count = len(cells.sizes)
    table = cells.gram.reshape(cells.sizes * 2)
    # of two factors each says the same: the matrix of the one is the other's, turned
    chosen = range(1 if count == 2 else count)
    return float(np.mean([_first(_rearranged(table, factor, count)) / energy for factor in chosen]))


def centred_separability(cells: Cells) -> float | None:
    """The same of the vectors measured from their mean: a large constant makes anything look like a product."""
    spread = float(np.trace(cells.centred.gram))
    if not spread > 1e-12 * abs(float(np.trace(cells.gram))):
        return None
    return separability(cells.centred)


def _rearranged(table: Numbers, factor: int, count: int) -> Numbers:
    front = np.moveaxis(table, (factor, count + factor), (0, 1))
    return np.ascontiguousarray(front.reshape(front.shape[0] * front.shape[1], -1))


def _first(matrix: Numbers) -> float:
    """The square of the largest singular value."""
    if min(matrix.shape) <= _DENSE:
        return float(np.linalg.svd(matrix, compute_uv=False)[0] ** 2)
    # a start that no symmetry of a grid is orthogonal to, and the same each time
    start = np.random.default_rng(0).standard_normal(min(matrix.shape))
    return float(svds(matrix, k=1, v0=start, tol=1e-5, return_singular_vectors=False)[0] ** 2)


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


FOLDS = 5


@dataclass(frozen=True, eq=False)
class Read:
    """(c, K) Errors of the probes and of always giving the mean (or the commonest); NaN where a probe was not asked."""

    errors: Numbers
    trivial: Numbers

    def score(self, factor: int, rows: Flags | None = None) -> float | None:
        """1 less the share of the errors that is left."""
        asked = ~np.isnan(self.errors[:, factor])
        asked &= asked if rows is None else rows
        trivial = float(self.trivial[asked, factor].sum())
        return 1 - float(self.errors[asked, factor].sum()) / trivial if trivial > 0 else None

    def mean(self, rows: Flags | None = None) -> float | None:
        """The mean score over the factors."""
        found = [self.score(factor, rows) for factor in range(self.errors.shape[1])]
        known = [one for one in found if one is not None]
        return float(np.mean(known)) if len(known) == len(found) else None


def probes(cells: Cells, *, seed: int, folds: int = FOLDS) -> tuple[Read, Read | None]:
    """Every combination asked once by a probe fitted on other folds; and the unseen ones, by one fitted on the seen.

    One inverse serves them all: with A = (K + ridge)^-1, the errors on combinations S that were not fitted are
    (A_SS)^-1 (A y)_S. The second is None where there are no seen or no unseen combinations.
    """
    order = np.random.default_rng(seed).permutation(len(cells))
    parts = [np.sort(order[fold::folds]) for fold in range(folds)]
    unseen = None if cells.seen is None or cells.seen.all() or not cells.seen.any() else np.flatnonzero(~cells.seen)
    inverse = cells.inverse
    targets, places = _targets(cells)
    middle = targets.mean(axis=0)
    turned = inverse @ (targets - middle)

    def read(asked: list[Ints]) -> Read:
        left = np.full(targets.shape, np.nan)
        for rows in asked:
            left[rows] = np.linalg.solve(inverse[np.ix_(rows, rows)], turned[rows])
        return _scored(cells, left, targets, middle, places)

    return read(parts), None if unseen is None else read([unseen])


def _scored(cells: Cells, left: Numbers, targets: Numbers, middle: Numbers, places: list[Ints]) -> Read:
    errors = np.full((len(cells), len(cells.sizes)), np.nan)
    trivial = np.ones_like(errors)
    answers = targets - left
    asked = ~np.isnan(left[:, 0])
    for factor, columns in enumerate(places):
        own = cells.codes[:, factor]
        if cells.ordered and cells.ordered[factor]:
            errors[:, factor] = np.square(left[:, columns[0]])
            trivial[:, factor] = np.square(middle[columns[0]] - own)
        else:
            wrong = np.nan_to_num(answers[:, columns]).argmax(axis=1) != own
            errors[:, factor] = np.where(asked, wrong, np.nan)
            trivial[:, factor] = 1 - 1 / len(columns)
    return Read(errors, trivial)


def _targets(cells: Cells) -> tuple[Numbers, list[Ints]]:
    """(c, t) The place of ordered values, a column for each value of other factors; and which columns are whose."""
    columns, places, start = [], [], 0
    for factor, size in enumerate(cells.sizes):
        codes = cells.codes[:, factor]
        is_ordered = bool(cells.ordered) and cells.ordered[factor]
        part = codes[:, None].astype(np.float64) if is_ordered else (codes[:, None] == np.arange(size)) * 1.0
        columns.append(part)
        places.append(np.arange(start, start + part.shape[1]))
        start += part.shape[1]
    return np.concatenate(columns, axis=1), places


ORTHOGONALITY, PUBLISHED, WARP = "orthogonality", "F as published", "volume warp"
ADDITIVITY, SEPARABILITY, CENTRED = "additivity", "separability", "separability, centred"
PROBE, PROBE_UNSEEN = "linear probe", "linear probe, unseen"
RANK, RANK_99 = "effective rank", "directions of 99 %"


Estimate = Callable[[Flags], float | None]
"""A measure of some of the combinations."""


@dataclass(frozen=True)
class MeasuredInterval:
    """A measure, its interval, and what it can be at all: of a share neither end is below 0 or above 1."""

    value: float | None
    low: float | None = None
    high: float | None = None
    least: float = -np.inf
    most: float = np.inf


def interaction(order: int) -> str:
    """The name of the share of variance of an order."""
    return f"interaction of {order}"


def salience_name(order: int) -> str:
    """The name of the salience of an order."""
    return f"salience of {order}"


def kernel_measures(
    every: Cells, whole: Cells | None, *, names: Sequence[str], seed: int, ranks: bool = True, sure: bool = False
) -> dict[str, MeasuredInterval]:
    """The measures by name: steps between neighbours of `every` combination, the others of a grid without holes.

    With `sure` they have intervals; `ranks` can be left out where they are known already.
    """
    found = _of_steps(every, sure=sure)
    if whole is None:
        return found
    found |= _of_shares(whole, sure=sure)
    found |= _of_probes(whole, names=names, seed=seed, sure=sure)
    if ranks:
        both = effective_rank(whole)
        found |= (
            {RANK: MeasuredInterval(both[0]), RANK_99: MeasuredInterval(both[1])}
            if both
            else {RANK: MeasuredInterval(None), RANK_99: MeasuredInterval(None)}
        )
    return found


def _of_steps(every: Cells, *, sure: bool) -> dict[str, MeasuredInterval]:
    taken = steps(every)
    if taken is None:
        return {}
    blocks = left_out(every.codes[taken.rows]) if sure else []
    found = {
        ORTHOGONALITY: _sure(orthogonality(taken.metric), lambda rows: orthogonality(taken.metric[rows]), blocks, 0, 1)
    }
    if taken.metric.shape[-1] == 2:
        found[PUBLISHED] = _sure(
            published_factorization(taken.metric),
            lambda rows: published_factorization(taken.metric[rows]),
            blocks,
            0.5,
            1,
        )
    if every.seen is not None:
        seen, volumes = every.seen[taken.rows], log_volumes(taken.metric)
        found[WARP] = _sure(warp(volumes, seen), lambda rows: warp(volumes[rows], seen[rows]), blocks)
    return found


def _of_shares(whole: Cells, *, sure: bool) -> dict[str, MeasuredInterval]:
    blocks = left_out(whole.codes) if sure else []
    without = {id(mask): _shares(whole.part(mask)) for masks in blocks for mask in masks}
    values = _shares(whole) | {SEPARABILITY: separability(whole)}
    limits = dict.fromkeys(values, (0.0, 1.0))
    limits |= {salience_name(order + 1): (-np.inf, np.inf) for order in range(len(whole.sizes))}

    def other(name: str) -> Estimate:
        return lambda mask: without[id(mask)].get(name)

    return {name: _sure(value, other(name), blocks, *limits[name]) for name, value in values.items()}


def _shares(cells: Cells) -> dict[str, float | None]:
    """What is measured again and again, without each block: shares of variance, centred separability, salience."""
    shares, salience = order_shares(cells), salience_of(cells)
    orders = range(1, len(cells.sizes) + 1)
    found: dict[str, float | None] = {
        ADDITIVITY if order == 1 else interaction(order): None if shares is None else shares[order - 1]
        for order in orders
    }
    found[CENTRED] = centred_separability(cells)
    return found | {
        salience_name(order): None if salience is None else salience.saliences[order - 1] for order in orders
    }


def _of_probes(whole: Cells, *, names: Sequence[str], seed: int, sure: bool) -> dict[str, MeasuredInterval]:
    blocks = left_out(whole.codes) if sure else []
    read, unseen = probes(whole, seed=derived(seed, "folds"))
    found = {PROBE: _sure(read.mean(), read.mean, blocks, most=1)}
    for factor, name in enumerate(names):
        found[f"{PROBE} of {name}"] = _sure(read.score(factor), partial(read.score, factor), blocks, most=1)
    if unseen is not None:
        found[PROBE_UNSEEN] = _sure(unseen.mean(), unseen.mean, blocks, most=1)
    return found


def _sure(
    value: float | None,
    without: Estimate,
    blocks: list[list[Flags]],
    least: float = -np.inf,
    most: float = np.inf,
) -> MeasuredInterval:
    ends: Ends = jackknife(without, value, blocks, least=least, most=most) if blocks else (None, None)
    return MeasuredInterval(value, *ends, least, most)
