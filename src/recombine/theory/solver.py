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
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from recombine.algebra.groups import Numbers, totals
from recombine.theory.design import Coefficients, Design

TOLERANCE = 1e-10
_MOST_ITERATIONS = 1_000
_REFINEMENTS = 3


@dataclass(frozen=True, eq=False)
class Penalty:
    """What a combination's answer may keep for itself: the full set's weight, and the ridge over its examples.

    Held as one typical number and, where combinations differ, how much firmer than that each of them counts.
    """

    typical: float
    firmness: Numbers | None = None

    @classmethod
    def of(cls, full: float, ridge: float, counts: Numbers) -> "Penalty":
        """Penalty full + ridge / count for each combination."""
        if ridge == 0 or counts.min() == counts.max():
            return cls(full + ridge / float(counts[0]))
        each = full + ridge / counts
        typical = float(1 / np.mean(1 / each))
        return cls(typical, typical / each)

    def weighed(self, values: Numbers) -> Numbers:
        """Numbers multiplied by the firmness of their combinations."""
        return values if self.firmness is None else self.firmness * values


@dataclass(frozen=True, eq=False)
class Solution:
    """Dual weights, one a combination; the relative residual that is left, and the iterations that it took."""

    dual: Numbers
    residual: float
    iterations: int


def solve(design: Design, penalty: Penalty, target: Numbers, *, tolerance: float = TOLERANCE) -> Solution:
    """Solve to a dual residual of `tolerance` times the target's norm."""
    return System(design, penalty).solve(target, tolerance=tolerance)


class System:
    """H and its preconditioner, in units of the typical penalty: H = Phi' F Phi + typical / W, F the firmness."""

    def __init__(self, design: Design, penalty: Penalty) -> None:
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

    def solve(self, target: Numbers, *, tolerance: float) -> Solution:
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
        return Solution(dual, left / norm if norm else 0.0, iterations)

    def kernel(self, dual: Numbers) -> Numbers:
        """(Phi W Phi' + penalty) dual."""
        parts = self.design.sums(dual)
        lower = self.design.spread([layer.weight * part for layer, part in zip(self.design.layers, parts, strict=True)])
        own = dual if self.penalty.firmness is None else dual / self.penalty.firmness
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
        ones = np.ones(design.rows) if penalty.firmness is None else penalty.firmness
        self._sizes = design.sums(ones)
        self._steps = [self._step(place) for place in range(len(design.layers))]
        *others, last = _blocks(design)
        there_and_back = (last[0], (*last[1], *last[1][-2::-1]))
        self._runs = [*others, there_and_back, *((top, inside[::-1]) for top, inside in reversed(others))]

    def _step(self, place: int) -> "_Step":
        """The closed form's constants: 1/d for the layer and its larger ones, and 1 / (1 + size * sum of 1/d)."""
        design, stiffness = self._system.design, self._system.stiffness
        size = design.layers[place].size
        softness = [np.full(size, 1 / stiffness[place])]
        for large in design.above[place]:
            children = totals(design.links[large, place], None, size)
            softness.append(1 / (stiffness[large] * children))
        damping = 1 / (1 + self._sizes[place] * np.sum(softness, axis=0))
        return _Step(place, (place, *design.above[place]), tuple(softness), damping)

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

    def _move(self, step: "_Step", open_: Coefficients, held: Numbers) -> Numbers:
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


def _blocks(design: Design) -> list[tuple[int, tuple[int, ...]]]:
    """Each largest set with the sets inside it that no earlier block has; a set linked with none stands alone."""
    places = range(len(design.layers))
    tops = [place for place in places if not design.above[place]]
    homes = {place: next((top for top in tops if top in (place, *design.above[place])), place) for place in places}
    return [(top, tuple(p for p in places if homes[p] == top)) for top in dict.fromkeys(homes[p] for p in places)]


@dataclass(frozen=True, eq=False)
class _Step:
    place: int
    touched: tuple[int, ...]
    softness: tuple[Numbers, ...]
    damping: Numbers


class _Flat:
    """All coefficients in one row, for the vector algebra, and layer by layer, for everything else."""

    def __init__(self, design: Design) -> None:
        sizes = [layer.size for layer in design.layers]
        self._total = sum(sizes)
        self._ends = np.cumsum(sizes)[:-1]

    def zeros(self) -> Numbers:
        return np.zeros(self._total)

    def join(self, parts: Coefficients) -> Numbers:
        return np.concatenate(parts) if parts else self.zeros()

    def split(self, row: Numbers) -> Coefficients:
        return np.split(row, self._ends) if self._total else []
