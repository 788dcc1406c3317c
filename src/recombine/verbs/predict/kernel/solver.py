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
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

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
_LARGEST_TABLE = 5 * 10**7  # values of one factor beside those of the other: 400 MB


@dataclass(frozen=True, eq=False)
class ConjunctionLayer:
    """The seen conjunctions of one set of factors, and the weight of each."""

    mask: int
    weight: float
    ids: Ints
    size: int

    @cached_property
    def starts(self) -> Ints | None:
        """Where each group begins, if the combinations stand in the order of the groups; None if they do not."""
        steps = np.diff(self.ids)
        return np.concatenate([[0], np.flatnonzero(steps) + 1]) if (steps >= 0).all() else None

    def sums(self, values: Numbers) -> Numbers:
        """The sum over each group. Groups that stand together are summed without looking at their numbers."""
        if self.starts is not None:
            return np.asarray(np.add.reduceat(values, self.starts))
        return totals(self.ids, values, self.size)


Coefficients = list[Numbers]
"""One array a layer, one number a group."""


@dataclass(frozen=True, eq=False)
class ConjunctionDesign:
    """All layers of one table of seen combinations, the smallest sets first."""

    rows: int
    layers: tuple[ConjunctionLayer, ...]
    links: dict[tuple[int, int], Ints] = field(repr=False)  # (larger, smaller) -> group of the smaller, by group

    @classmethod
    def of(cls, support: Support, weights: Sequence[float]) -> "ConjunctionDesign":
        """The layers of every set with a weight, but for the full set, which is the identity."""
        full = len(weights) - 1
        masks = sorted((m for m in range(full) if 0 < weights[m] < np.inf), key=lambda m: (m.bit_count(), m))
        layers = tuple(_layer(support, mask, weights[mask]) for mask in masks)
        representatives = [_representatives(support, layer) for layer in layers]
        links = {
            (large, small): layers[small].ids[representatives[large]]
            for large in range(len(layers))
            for small in range(large)
            if layers[small].mask & layers[large].mask == layers[small].mask and _linked(layers, small, large)
        }
        return cls(len(support), layers, links)

    @cached_property
    def above(self) -> tuple[tuple[int, ...], ...]:
        """For each layer, the layers of larger sets that it is linked with."""
        found: list[list[int]] = [[] for _ in self.layers]
        for large, small in self.links:
            found[small].append(large)
        return tuple(map(tuple, found))

    @cached_property
    def via(self) -> tuple[int | None, ...]:
        """For each layer, the larger one through which its sums are shorter than over all combinations."""
        return tuple(self._shortcut(place) for place in range(len(self.layers)))

    def _shortcut(self, place: int) -> int | None:
        best = min(self.above[place], key=lambda large: self.layers[large].size, default=None)
        return best if best is not None and 2 * self.layers[best].size < self.rows else None

    def down(self, large: int, small: int, values: Numbers) -> Numbers:
        """Sums over the groups of a larger set, by the group of a smaller one that they lie in."""
        return totals(self.links[large, small], values, self.layers[small].size)

    def sums(self, values: Numbers) -> Coefficients:
        """Phi' values: the sum over every group of every layer."""
        found: Coefficients = [np.empty(0)] * len(self.layers)
        for place in reversed(range(len(self.layers))):
            via = self.via[place]
            found[place] = self.layers[place].sums(values) if via is None else self.down(via, place, found[via])
        return found

    def spread(self, coefficients: Coefficients) -> Numbers:
        """Phi coefficients: for each combination, the sum over the groups that it belongs to."""
        total = np.zeros(self.rows)
        collected = [part.copy() for part in coefficients]
        for place, layer in enumerate(self.layers):
            via = self.via[place]
            if via is None:
                total += collected[place][layer.ids]
            else:
                collected[via] += collected[place][self.links[via, place]]
        return total


_MOST_LAYERS = 30
"""Beyond this many layers only neighbours are linked, sets that differ by one factor: 3^K links would not pay."""


def _linked(layers: tuple[ConjunctionLayer, ...], small: int, large: int) -> bool:
    return len(layers) <= _MOST_LAYERS or layers[large].mask.bit_count() - layers[small].mask.bit_count() == 1


def _layer(support: Support, mask: int, weight: float) -> ConjunctionLayer:
    if not mask:
        return ConjunctionLayer(0, weight, np.zeros(len(support), dtype=np.int64), 1)
    groups = support.groups(members(mask))
    return ConjunctionLayer(mask, weight, groups.ids, groups.size)


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
        return values if self.precision is None else self.precision * values


@dataclass(frozen=True, eq=False)
class DualSolution:
    """Dual weights, one a combination; the relative residual that is left, and the iterations that it took."""

    dual: Numbers
    residual: float
    iterations: int


def solve(
    design: ConjunctionDesign, penalty: Penalty, target: Numbers, *, tolerance: float = TOLERANCE
) -> DualSolution:
    """Solve to a dual residual of `tolerance` times the target's norm."""
    return System(design, penalty).solve(target, tolerance=tolerance)


class System:
    """H and its preconditioner, in units of the typical penalty: H = Phi' F Phi + typical / W, F the precision."""

    def __init__(self, design: ConjunctionDesign, penalty: Penalty) -> None:
        self.design = design
        self.penalty = penalty
        self.flat = _Flat(design)
        self.stiffness = [penalty.typical / layer.weight for layer in design.layers]
        sizes = [layer.size for layer in design.layers]
        self.diagonal = np.repeat(self.stiffness, sizes)

    @cached_property
    def sweep(self) -> "_Sweep":
        """The preconditioner, prepared once."""
        return _Sweep(self)

    def solve(self, target: Numbers, *, tolerance: float) -> DualSolution:
        """Descend, and again for what rounding has left: with a small penalty one pass may leave some."""
        norm = _norm(target)
        dual, missing, iterations, left = np.zeros(self.design.rows), target, 0, norm
        for _ in range(_REFINEMENTS if norm else 0):
            explained, used = _descend(self, missing, goal=tolerance * norm)
            iterations += used
            dual += self.penalty.weighed(missing - explained) / self.penalty.typical
            missing = target - self.kernel(dual)
            left, before = _norm(missing), left
            if left <= tolerance * norm or left > 0.5 * before:
                break
        return DualSolution(dual, left / norm if norm else 0.0, iterations)

    def kernel(self, dual: Numbers) -> Numbers:
        """(Phi W Phi' + penalty) dual."""
        parts = self.design.sums(dual)
        lower = self.design.spread([layer.weight * part for layer, part in zip(self.design.layers, parts, strict=True)])
        own = dual if self.penalty.precision is None else dual / self.penalty.precision
        return lower + self.penalty.typical * own

    def dual_residual(self, residual: Numbers) -> float:
        """How far the dual equations are from holding, from the residual of the primal ones: |Phi W residual|."""
        return _norm(self.design.spread(self.flat.split(residual / self.diagonal)))


def _descend(system: System, target: Numbers, *, goal: float) -> tuple[Numbers, int]:
    """Conjugate gradients until the dual residual is below `goal`: Phi theta, and the iterations.

    Phi theta is gathered from the sweeps, which give it beside theta. Computing it from theta at the end would lose
    digits: theta holds large numbers of opposite sign, and the dual weights would carry their rounding, magnified.
    """
    design, flat, penalty = system.design, system.flat, system.penalty
    residual = flat.join(design.sums(penalty.weighed(target)))
    explained = np.zeros(design.rows)
    if not residual.size or system.dual_residual(residual) <= goal:
        return explained, 0
    direction, image = system.sweep(residual)
    slope = _inner(residual, direction)
    iterations, next_look = 0, 4
    while iterations < _MOST_ITERATIONS:
        iterations += 1
        turned = flat.join(design.sums(penalty.weighed(image))) + system.diagonal * direction
        step = slope / _inner(direction, turned)
        explained += step * image
        residual -= step * turned
        if iterations >= next_look:
            left = system.dual_residual(residual)
            if left <= goal:
                break
            next_look = iterations + max(1, int(np.log10(left / goal)))  # an iteration gains less than one digit
        scaled, scaled_image = system.sweep(residual)
        slope, before = _inner(residual, scaled), slope
        if not 0 < slope < np.inf:  # rounding has eaten what is left: refine from here
            break
        direction *= slope / before
        direction += scaled
        image *= slope / before
        image += scaled_image
    return explained, iterations


def _inner(one: Numbers, other: Numbers) -> float:
    """The inner product, on one thread: BLAS would wake others for a millisecond of work, which costs more than it."""
    return float(np.einsum("i,i->", one, other))


def _norm(vector: Numbers) -> float:
    return math.sqrt(_inner(vector, vector))


class _Sweep:
    """One symmetric sweep over all layers, each step exact for a group together with its children.

    Layers are swept in blocks: a largest set and all sets inside it that had no turn yet. Within a block everything
    happens on the groups of that largest set, and only between blocks on the combinations, which are more.
    """

    def __init__(self, system: System) -> None:
        self._system = system
        design, penalty = system.design, system.penalty
        ones = np.ones(design.rows) if penalty.precision is None else penalty.precision
        self._sizes = design.sums(ones)
        self._steps = [self._step(place) for place in range(len(design.layers))]
        *others, last = _blocks(design)
        there_and_back = (last[0], (*last[1], *last[1][-2::-1]))
        self._runs = [*others, there_and_back, *((top, inside[::-1]) for top, inside in reversed(others))]

    def _step(self, place: int) -> "_SolverStep":
        """The closed form's constants: 1/d for the layer and its larger ones, and 1 / (1 + size * sum of 1/d)."""
        design, stiffness = self._system.design, self._system.stiffness
        size = design.layers[place].size
        softness = [np.full(size, 1 / stiffness[place])]
        for large in design.above[place]:
            children = totals(design.links[large, place], None, size)
            softness.append(1 / (stiffness[large] * children))
        damping = 1 / (1 + self._sizes[place] * np.sum(softness, axis=0))
        return _SolverStep(place, (place, *design.above[place]), tuple(softness), damping)

    def __call__(self, residual: Numbers) -> tuple[Numbers, Numbers]:
        """The preconditioned residual, and Phi times it."""
        system = self._system
        design = system.design
        open_ = [part.copy() for part in system.flat.split(residual)]
        image = np.zeros(design.rows)
        for turn, (top, inside) in enumerate(self._runs):
            layer = design.layers[top]
            held = layer.sums(system.penalty.weighed(image)) if turn else np.zeros(layer.size)
            added = np.zeros(layer.size)
            for place in inside:
                together = self._move(self._steps[place], open_, self._held(top, place, held))
                together = together if place == top else together[design.links[top, place]]
                added += together
                held += self._sizes[top] * together
            image += added[layer.ids]
        moved = (residual - system.flat.join(open_)) / system.diagonal  # what is not open any more was moved away
        return moved, image

    def _held(self, top: int, place: int, held: Numbers) -> Numbers:
        return held if place == top else self._system.design.down(top, place, held)

    def _move(self, step: "_SolverStep", open_: Coefficients, held: Numbers) -> Numbers:
        """Solve for one layer's groups and their children; by how much each group's combinations have moved."""
        design, stiffness = self._system.design, self._system.stiffness
        place = step.place
        wanted = [(open_[u] if u == place else design.down(u, place, open_[u])) - held for u in step.touched]
        together = wanted[0] * step.softness[0]
        for one, soft in zip(wanted[1:], step.softness[1:], strict=True):
            together += one * soft
        together *= step.damping
        pressed = self._sizes[place] * together
        for u, one, soft in zip(step.touched, wanted, step.softness, strict=True):
            change = (one - pressed) * (stiffness[u] * soft)
            open_[u] -= change if u == place else change[design.links[u, place]]
        return together


def _blocks(design: ConjunctionDesign) -> list[tuple[int, tuple[int, ...]]]:
    """Each largest set with the sets inside it that no earlier block has; a set linked with none stands alone."""
    places = range(len(design.layers))
    tops = [place for place in places if not design.above[place]]
    homes = {place: next((top for top in tops if top in (place, *design.above[place])), place) for place in places}
    return [(top, tuple(p for p in places if homes[p] == top)) for top in dict.fromkeys(homes[p] for p in places)]


@dataclass(frozen=True, eq=False)
class _SolverStep:
    place: int
    touched: tuple[int, ...]
    softness: tuple[Numbers, ...]
    damping: Numbers


class _Flat:
    """All coefficients in one row, for the vector algebra, and layer by layer, for everything else."""

    def __init__(self, design: ConjunctionDesign) -> None:
        sizes = [layer.size for layer in design.layers]
        self._total = sum(sizes)
        self._ends = np.cumsum(sizes)[:-1]

    def zeros(self) -> Numbers:
        return np.zeros(self._total)

    def join(self, parts: Coefficients) -> Numbers:
        return np.concatenate(parts) if parts else self.zeros()

    def split(self, row: Numbers) -> Coefficients:
        return np.split(row, self._ends) if self._total else []


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
