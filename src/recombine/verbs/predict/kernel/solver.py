"""The squared loss, solved by group sums: preconditioned conjugate gradients over the seen conjunctions.

The dual problem is (Phi W Phi' + diag(penalty)) a = y, with the weight of the full set and the ridge in the penalty.
We solve its primal twin, H theta = Phi' V y with H = Phi' V Phi + W^-1 and V = 1 / penalty, and read
a = V (y - Phi theta).

Plain conjugate gradients stall on skewed tables: the column of a group is the sum of the columns of its children in any
larger set, so raising one and lowering the others changes next to nothing. The preconditioner is a symmetric
Gauss-Seidel sweep that moves along just these directions: for each group t of a set T it changes the coefficient of t
and, by one number for every larger set U, the coefficients of all its children in U. That small problem has a
closed form, the groups of one T do not touch one another, and so a step is one pass over the combinations.

No library solves this: sparse least-squares solvers see a matrix with 2^K n entries and stall as plain ones do.

The design stands first: the seen combinations as groups of groups, one layer for each set of factors that has a weight.
With Phi the indicator of every seen conjunction (one column each), a product with Phi is a gather and a product with
its transpose is a group sum: O(n) a layer, never an n x n matrix. A layer's groups nest in those of every smaller
set, so a small set's sums are taken from a larger one's where that is shorter than the combinations.

Two factors are solved at once: the larger side is diagonal, so it is eliminated, and the smaller side is dense. The
lower conjunctions are the values themselves, so the equations are those of an additive rule with a penalty on each
value's number (`numerics.additive_design.Elimination`). What is left after eliminating the larger factor is a matrix as
large as the other.

For small tables, where a matrix is the shortest way, the kernel is written out.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from recombine.data.support import Support
from recombine.numerics.additive_design import Elimination
from recombine.numerics.groups import Codes, Ints, Numbers, totals
from recombine.verbs.predict.kernel.dense_kernel import Similarity
from recombine.verbs.predict.kernel.order_weights import Weights
from recombine.verbs.predict.kernel.salience import members

TOLERANCE = 1e-10
_MOST_ITERATIONS = 1_000
_REFINEMENTS = 3  # passes over what rounding has left; the third gains little, since each must halve the residual
_MOST_COLUMNS, _FEWEST_COLUMNS = 16, 4  # solved together; fewer than four are quicker one by one
_MOST_NUMBERS = 1 << 22  # in one array of columns that are solved together: 32 MB
_TINY = float(np.finfo(np.float64).tiny)
_LARGEST_TABLE = 5 * 10**7  # values of one factor beside those of the other: 400 MB


@dataclass(frozen=True, eq=False)
class GroupIndex:
    """The group of each member, members being combinations or smaller groups; sums over the groups, of many columns."""

    ids: Ints
    size: int

    @cached_property
    def _incidence(self) -> Any:
        """A row for each group, with a one for each of its members."""
        from scipy.sparse import csc_array  # noqa: PLC0415 - SciPy is loaded where it is needed

        members_ = len(self.ids)
        start = np.arange(members_ + 1, dtype=np.int32)
        entries = (np.ones(members_), self.ids.astype(np.int32), start)
        return csc_array(entries, shape=(self.size, members_))

    def sums(self, values: Numbers) -> Numbers:
        """The sum over each group. A product with a sparse matrix reads each member once for all columns."""
        if values.ndim == 1:
            return totals(self.ids, values, self.size)
        if values.shape[1] == 1:
            return totals(self.ids, values[:, 0], self.size)[:, None]
        return np.asarray(self._incidence @ values)

    def spread(self, numbers: Numbers) -> Numbers:
        """For each member, its group's numbers."""
        return numbers.take(self.ids, axis=0, mode="clip")  # they are in range; asking costs as much as taking


@dataclass(frozen=True, eq=False)
class ConjunctionLayer(GroupIndex):
    """The seen conjunctions of one set of factors, and the weight of each."""

    mask: int
    weight: float


Coefficients = list[Numbers]
"""One array a layer, one number a group, or one line of as many numbers as there are columns."""


@dataclass(frozen=True, eq=False)
class ConjunctionDesign:
    """All layers of one table of seen combinations, the smallest sets first.

    `above` are for each layer the next larger sets: those between which and it no other layer stands. `homes` is for
    each layer the first of the largest sets that it lies in.
    """

    rows: int
    layers: tuple[ConjunctionLayer, ...]
    above: tuple[tuple[int, ...], ...]
    homes: tuple[int, ...]
    links: dict[tuple[int, int], GroupIndex] = field(repr=False)  # (larger, smaller) -> group of the smaller, by group

    @classmethod
    def of(cls, support: Support, weights: Sequence[float]) -> "ConjunctionDesign":
        """The layers of every set with a weight, but for the full set, which is the identity."""
        full = len(weights) - 1
        masks = sorted((m for m in range(full) if 0 < weights[m] < np.inf), key=lambda m: (m.bit_count(), m))
        layers = tuple(_layer(support, mask, weights[mask]) for mask in masks)
        above = tuple(map(tuple, _next_larger(masks)))
        tops = [place for place, larger in enumerate(above) if not larger]
        homes = tuple(next(top for top in tops if masks[top] & mask == mask) for mask in masks)
        pairs = {(large, small) for small, larger in enumerate(above) for large in larger}
        pairs |= {(home, place) for place, home in enumerate(homes) if home != place}
        members_of = [_representatives(support, layer) for layer in layers]
        links = {
            (large, small): GroupIndex(layers[small].ids[members_of[large]], layers[small].size)
            for large, small in pairs
        }
        return cls(len(support), layers, above, homes, links)

    @cached_property
    def via(self) -> tuple[int | None, ...]:
        """For each layer, the larger one through which its sums are shorter than over all combinations."""
        return tuple(self._shortcut(place) for place in range(len(self.layers)))

    def _shortcut(self, place: int) -> int | None:
        best = min(self.above[place], key=lambda large: self.layers[large].size, default=None)
        return best if best is not None and 2 * self.layers[best].size < self.rows else None

    def sums(self, values: Numbers) -> Coefficients:
        """Phi' values: the sum over every group of every layer."""
        found: Coefficients = [np.empty(0)] * len(self.layers)
        for place in reversed(range(len(self.layers))):
            via = self.via[place]
            found[place] = self.layers[place].sums(values) if via is None else self.links[via, place].sums(found[via])
        return found

    def spread(self, coefficients: Coefficients) -> Numbers:
        """Phi coefficients: for each combination, the sum over the groups that it belongs to."""
        total = np.zeros((self.rows, *coefficients[0].shape[1:]) if coefficients else self.rows)
        collected = [part.copy() for part in coefficients]
        for place, layer in enumerate(self.layers):
            via = self.via[place]
            if via is None:
                total += layer.spread(collected[place])
            else:
                collected[via] += self.links[via, place].spread(collected[place])
        return total


def _next_larger(masks: Sequence[int]) -> Iterator[list[int]]:
    """For each set of factors, those that contain it and no other of its supersets; only these are linked.

    Twelve factors have 3^12 pairs of nested sets, and a tenth of that many neighbours. Linking sets with all their
    supersets was measured to take more iterations, not fewer.
    """
    for mask in masks:
        found: list[int] = []
        for place, larger in enumerate(masks):  # smaller sets come first
            if mask & larger == mask != larger and not any(masks[one] & larger == masks[one] for one in found):
                found.append(place)
        yield found


def _layer(support: Support, mask: int, weight: float) -> ConjunctionLayer:
    if not mask:
        return ConjunctionLayer(np.zeros(len(support), dtype=np.int64), 1, 0, weight)
    groups = support.groups(members(mask))
    return ConjunctionLayer(groups.ids, groups.size, mask, weight)


def _representatives(support: Support, layer: ConjunctionLayer) -> Ints:
    return support.groups(members(layer.mask)).representatives if layer.mask else np.zeros(1, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Penalty:
    """What a combination's answer may keep for itself: the full set's weight, and the ridge over its examples.

    Held as one typical number and, where combinations differ, its `precision`: how much more than that each counts.
    """

    typical: float
    precision: Numbers | None = None

    @classmethod
    def of(cls, full: float, ridge: float, counts: Numbers) -> "Penalty":
        """Penalty full + ridge / count for each combination."""
        if ridge == 0 or counts.min() == counts.max():
            return cls(full + ridge / float(counts[0]))
        each = full + ridge / counts
        typical = float(1 / np.mean(1 / each))
        return cls(typical, typical / each)

    def weighed(self, values: Numbers) -> Numbers:
        """Numbers multiplied by the precision of their combinations."""
        if self.precision is None:
            return values
        return self.precision * values if values.ndim == 1 else self.precision[:, None] * values


@dataclass(frozen=True, eq=False)
class DualSolution:
    """Dual weights, one a combination and column; the relative residual that is left, and the iterations it took."""

    dual: Numbers
    residual: float
    iterations: int


def solve(
    design: ConjunctionDesign, penalty: Penalty, target: Numbers, *, tolerance: float = TOLERANCE
) -> DualSolution:
    """Solve one column to a dual residual of `tolerance` times the target's norm."""
    found = System(design, penalty).solve(target[:, None], tolerance=tolerance)
    return DualSolution(found.dual[:, 0], found.residual, found.iterations)


class System:
    """H and its preconditioner, in units of the typical penalty: H = Phi' F Phi + typical / W, F the precision.

    Columns of answers are solved together, some at a time: what it takes to find a member's group is then paid once for
    all of them, which for small tables is nearly everything. Each has steps of its own, and stands still when it is
    there.
    """

    def __init__(self, design: ConjunctionDesign, penalty: Penalty) -> None:
        self.design = design
        self.penalty = penalty
        self.flat = _Flat(design)
        self.stiffness = [penalty.typical / layer.weight for layer in design.layers]
        sizes = [layer.size for layer in design.layers]
        self.diagonal = np.repeat(self.stiffness, sizes)[:, None]

    @cached_property
    def sweep(self) -> "_Sweep":
        """The preconditioner, prepared once."""
        return _Sweep(self)

    def solve(self, target: Numbers, *, tolerance: float) -> DualSolution:
        """(n, m) Dual weights of each column of the target."""
        together = min(_MOST_COLUMNS, _MOST_NUMBERS // self.design.rows)
        columns = target.shape[1]
        parts = columns if min(together, columns) < _FEWEST_COLUMNS else math.ceil(columns / together)
        solved = [self._refined(np.ascontiguousarray(part), tolerance) for part in np.array_split(target, parts, 1)]
        return DualSolution(
            np.concatenate([one.dual for one in solved], axis=1),
            max(one.residual for one in solved),
            max(one.iterations for one in solved),
        )

    def _refined(self, target: Numbers, tolerance: float) -> DualSolution:
        """Descend, and again for what rounding has left: with a small penalty one pass may leave some."""
        norm = _norms(target)
        goal = tolerance * norm
        dual, missing, iterations, left = np.zeros_like(target), target, 0, norm
        for _ in range(_REFINEMENTS):
            if (left <= goal).all():
                break
            explained, used = _descend(self, missing, goal=goal)
            iterations += used
            dual += np.where(left > goal, self.penalty.weighed(missing - explained) / self.penalty.typical, 0.0)
            missing = target - self.kernel(dual)
            left, before = _norms(missing), left
            if not (left <= 0.5 * before)[left > goal].any():
                break
        return DualSolution(
            dual, float(np.divide(left, norm, out=np.zeros_like(norm), where=norm > 0).max()), iterations
        )

    def kernel(self, dual: Numbers) -> Numbers:
        """(Phi W Phi' + penalty) dual."""
        own = dual if self.penalty.precision is None else dual / self.penalty.precision[:, None]
        if not self.design.layers:
            return self.penalty.typical * own
        parts = self.design.sums(dual)
        lower = self.design.spread([layer.weight * part for layer, part in zip(self.design.layers, parts, strict=True)])
        return lower + self.penalty.typical * own

    def dual_residual(self, residual: Numbers) -> Numbers:
        """How far the dual equations are from holding, from the residual of the primal ones: |Phi W residual|."""
        return _norms(self.design.spread(self.flat.split(residual / self.diagonal)))


def _descend(system: System, target: Numbers, *, goal: Numbers) -> tuple[Numbers, int]:
    """Conjugate gradients until the dual residuals are below `goal`: Phi theta, and the iterations.

    Phi theta is gathered from the sweeps, which give it beside theta. Computing it from theta at the end would lose
    digits: theta holds large numbers of opposite sign, and the dual weights would carry their rounding, magnified.
    """
    design, flat, penalty = system.design, system.flat, system.penalty
    explained = np.zeros_like(target)
    if not design.layers:
        return explained, 0
    residual = flat.join(design.sums(penalty.weighed(target)))
    left = system.dual_residual(residual)
    if (left <= goal).all():
        return explained, 0
    direction, image = system.sweep(residual)
    slope = _inner(residual, direction)
    moving = left > goal
    iterations, next_look = 0, 4
    while iterations < _MOST_ITERATIONS:
        iterations += 1
        turned = flat.join(design.sums(penalty.weighed(image)))
        turned += system.diagonal * direction
        step = np.divide(slope, _inner(direction, turned), out=np.zeros_like(slope), where=moving)
        explained += step * image
        residual -= step * turned
        if iterations >= next_look:
            left = system.dual_residual(residual)
            moving &= left > goal
            if not moving.any():
                break
            # an iteration gains less than one digit
            next_look = iterations + max(1, int(np.log10((left / np.maximum(goal, _TINY))[moving].max())))
        scaled, scaled_image = system.sweep(residual)
        slope, before = _inner(residual, scaled), slope
        moving &= (slope > 0) & (slope < np.inf)  # else rounding has eaten what is left: refine from here
        if not moving.any():
            break
        turn = np.divide(slope, before, out=np.zeros_like(slope), where=moving)
        direction *= turn
        direction += scaled
        image *= turn
        image += scaled_image
    return explained, iterations


def _inner(one: Numbers, other: Numbers) -> Numbers:
    """The inner product of each column, on one thread: BLAS would wake others for a millisecond of work."""
    if one.shape[1] == 1:
        return np.array([np.einsum("i,i->", one[:, 0], other[:, 0])])
    return np.asarray(np.einsum("ij,ij->j", one, other))


def _norms(columns: Numbers) -> Numbers:
    return np.sqrt(_inner(columns, columns))


class _Sweep:
    """One symmetric sweep over all layers, each step exact for a group together with its children.

    Layers are swept in blocks: a largest set and all sets inside it that had no turn yet. Within a block everything
    happens on the groups of that largest set, and only between blocks on the combinations, which are more.
    """

    def __init__(self, system: System) -> None:
        self._system = system
        design, penalty = system.design, system.penalty
        ones = np.ones((design.rows, 1))
        self._sizes = design.sums(penalty.weighed(ones))
        self._steps = [self._step(place) for place in range(len(design.layers))]
        *others, last = _blocks(design)
        there_and_back = (last[0], (*last[1], *last[1][-2::-1]))
        self._runs = [*others, there_and_back, *((top, inside[::-1]) for top, inside in reversed(others))]

    def _step(self, place: int) -> "_SolverStep":
        """The closed form's constants: 1/d for the layer and its larger ones, and 1 / (1 + size * sum of 1/d)."""
        design, stiffness = self._system.design, self._system.stiffness
        size = design.layers[place].size
        softness = [np.full((size, 1), 1 / stiffness[place])]
        for large in design.above[place]:
            children = totals(design.links[large, place].ids, None, size)[:, None]
            softness.append(1 / (stiffness[large] * children))
        damping = 1 / (1 + self._sizes[place] * np.sum(softness, axis=0))
        shares = [stiffness[u] * soft for u, soft in zip((place, *design.above[place]), softness, strict=True)]
        return _SolverStep(place, tuple(softness), tuple(shares), damping)

    def __call__(self, residual: Numbers) -> tuple[Numbers, Numbers]:
        """The preconditioned residual, and Phi times it."""
        system = self._system
        design = system.design
        moved = residual.copy()
        open_ = system.flat.split(moved)  # what is still to be moved away
        image = np.zeros((design.rows, residual.shape[1]))
        for turn, (top, inside) in enumerate(self._runs):
            layer = design.layers[top]
            held = layer.sums(system.penalty.weighed(image)) if turn else np.zeros((layer.size, residual.shape[1]))
            added = np.zeros_like(held)
            for place in inside:
                link = None if place == top else design.links[top, place]
                together = self._move(self._steps[place], open_, held if link is None else link.sums(held))
                together = together if link is None else link.spread(together)
                added += together
                held += self._sizes[top] * together
            image += layer.spread(added)
        np.subtract(residual, moved, out=moved)
        moved /= system.diagonal
        return moved, image

    def _move(self, step: "_SolverStep", open_: Coefficients, held: Numbers) -> Numbers:
        """Solve for one layer's groups and their children; by how much each group's combinations have moved."""
        design, place = self._system.design, step.place
        links = [design.links[large, place] for large in design.above[place]]
        wanted = [open_[place] - held]
        wanted += [link.sums(open_[u]) - held for u, link in zip(design.above[place], links, strict=True)]
        together = wanted[0] * step.softness[0]
        for one, soft in zip(wanted[1:], step.softness[1:], strict=True):
            together += one * soft
        together *= step.damping
        pressed = self._sizes[place] * together
        open_[place] -= (wanted[0] - pressed) * step.shares[0]
        for u, link, one, share in zip(design.above[place], links, wanted[1:], step.shares[1:], strict=True):
            open_[u] -= link.spread((one - pressed) * share)
        return together


def _blocks(design: ConjunctionDesign) -> list[tuple[int, tuple[int, ...]]]:
    """Each largest set with the sets inside it that no earlier block has."""
    return [
        (top, tuple(place for place, home in enumerate(design.homes) if home == top))
        for top in dict.fromkeys(design.homes)
    ]


@dataclass(frozen=True, eq=False)
class _SolverStep:
    place: int
    softness: tuple[Numbers, ...]
    shares: tuple[Numbers, ...]
    damping: Numbers


class _Flat:
    """All coefficients in one array, for the vector algebra, and layer by layer, for everything else."""

    def __init__(self, design: ConjunctionDesign) -> None:
        ends = np.cumsum([0, *(layer.size for layer in design.layers)]).tolist()
        self._parts = [slice(start, end) for start, end in pairwise(ends)]

    def join(self, parts: Coefficients) -> Numbers:
        return np.concatenate(parts)

    def split(self, array: Numbers) -> Coefficients:
        return [array[part] for part in self._parts]


def eliminable(support: Support) -> bool:
    """Whether the smaller factor is so small, for so many combinations, that its matrix costs less than iterations."""
    smaller, larger = sorted(support.space.sizes)
    return smaller**3 <= 10_000 * len(support) and smaller * larger <= _LARGEST_TABLE


class TwoFactors:
    """The equations of two factors, prepared for any answers. Legend: v larger factor's values, u smaller one's.

    Where the constant has a weight it is a third factor, with one value that every combination holds; it joins u.
    """

    def __init__(self, support: Support, weights: tuple[float, ...], penalty: Penalty) -> None:
        self._penalty = penalty
        codes, sizes, each = support.codes, support.space.sizes, [weights[1], weights[2]]
        if weights[0]:
            codes, sizes = np.column_stack([codes, np.zeros(len(codes), dtype=codes.dtype)]), (*sizes, 1)
            each.append(weights[0])
        ridge = tuple(penalty.typical / max(weight, 1e-300) for weight in each)
        self._made = Elimination.of(codes, sizes, penalty.precision, ridge)
        self._large, self._small = self._made.parts(codes)
        self._large_weight = each[self._made.eliminated]
        self._small_weights = np.repeat([each[k] for k in self._made.kept], np.diff(self._made.starts))

    def solve(self, answers: Numbers) -> tuple[Numbers, float]:
        """Dual weights for each column of answers, and the relative residual that they leave."""
        made = self._made
        sides = [self._sums(self._penalty.weighed(column)) for column in answers.T]
        by_large = np.stack([side[0] for side in sides], axis=1)
        by_small = np.stack([side[1] for side in sides], axis=1)
        held = np.linalg.solve(made.schur, by_small - made.together @ (by_large / made.degree[:, None]))
        freed = (by_large - made.together.T @ held) / made.degree[:, None]
        found, left = [], 0.0
        for column, one, other in zip(answers.T, freed.T, held.T, strict=True):
            explained = self._spread(one, other)
            dual = self._penalty.weighed(column - explained) / self._penalty.typical
            left += float(np.sum((self._expressed(dual) - explained) ** 2))
            found.append(dual)
        size = float(np.sum(answers**2))
        return np.stack(found, axis=1), float(np.sqrt(left / size)) if size else 0.0

    def _sums(self, values: Numbers) -> tuple[Numbers, Numbers]:
        """A number of each combination, summed by value: (v,) and (u,)."""
        small = totals(self._small[:, 0], values, int(self._made.starts[1]))
        if self._small.shape[1] > 1:  # in pairs, not one after another: a sum over all loses the most digits
            small = np.append(small, values.sum())
        return totals(self._large, values, len(self._made.degree)), small

    def _spread(self, large: Numbers, small: Numbers) -> Numbers:
        """The numbers of each combination's values, added up."""
        total = large[self._large]
        for column in self._small.T:
            total += small[column]
        return total

    def _expressed(self, dual: Numbers) -> Numbers:
        """What the lower conjunctions make of dual weights."""
        large, small = self._sums(dual)
        return self._spread(self._large_weight * large, self._small_weights * small)


def kernel(one: Codes, other: Codes, weights: Weights) -> Numbers:
    """k(z, z') for every pair of rows: the weight of all sets on which the two agree.

    >>> codes = np.array([[0, 0], [0, 1]])
    >>> kernel(codes, codes, (0.0, 0.3, 0.3, 0.4)).tolist()
    [[1.0, 0.3], [0.3, 1.0]]
    """
    return Similarity.of(weights).between(one, other)
