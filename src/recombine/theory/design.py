"""The seen combinations as groups of groups: one layer for each set of factors that has a weight.

With Phi the indicator of every seen conjunction (one column each), a product with Phi is a gather and a product with
its transpose is a group sum: O(n) a layer, never an n x n matrix. A layer's groups nest in those of every smaller
set, so a small set's sums are taken from a larger one's where that is shorter than the combinations.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from recombine.algebra.groups import Ints, Numbers, totals
from recombine.tables.support import Support
from recombine.theory.salience import members


@dataclass(frozen=True, eq=False)
class Layer:
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
class Design:
    """All layers of one table of seen combinations, the smallest sets first."""

    rows: int
    layers: tuple[Layer, ...]
    links: dict[tuple[int, int], Ints] = field(repr=False)  # (larger, smaller) -> group of the smaller, by group

    @classmethod
    def of(cls, support: Support, weights: Sequence[float]) -> "Design":
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


def _linked(layers: tuple[Layer, ...], small: int, large: int) -> bool:
    return len(layers) <= _MOST_LAYERS or layers[large].mask.bit_count() - layers[small].mask.bit_count() == 1


def _layer(support: Support, mask: int, weight: float) -> Layer:
    if not mask:
        return Layer(0, weight, np.zeros(len(support), dtype=np.int64), 1)
    groups = support.groups(members(mask))
    return Layer(mask, weight, groups.ids, groups.size)


def _representatives(support: Support, layer: Layer) -> Ints:
    return support.groups(members(layer.mask)).representatives if layer.mask else np.zeros(1, dtype=np.int64)
