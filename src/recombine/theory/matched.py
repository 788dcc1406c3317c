"""What a learner answers whose weights depend on the number of factors alone, from its dual weights themselves.

With eight factors there are 255 sets, with twenty a million: their coefficients are never written out. An answer is a
sum over the seen combinations of their dual weights times the similarity, which depends on how many factors match;
what conjunctions of one order add is the same sum with that order's share of the similarity.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from recombine.algebra.groups import Codes, Ints, Numbers
from recombine.tables.support import Support
from recombine.theory.dense import chunks
from recombine.theory.salience import members
from recombine.theory.similarity import Similarity, columns_of, match_counts
from recombine.theory.squared import Duals

FEWEST_FACTORS = 6
"""With fewer, the groups of every set are the shorter way."""
_CACHED = 1 << 18  # pairs of combinations that are compared at a time


@dataclass(frozen=True, eq=False)
class Matched:
    """Dual weights of the seen combinations. Legend: n combinations, m questions, K factors."""

    support: Support
    orders: tuple[float, ...]  # (K + 1,) the weight of one conjunction of each order; a free constant weighs 0 here
    duals: Duals

    @property
    def questions(self) -> int:
        """How many scores a combination gets."""
        return int(self.duals.weights.shape[1])

    @property
    def residual(self) -> float:
        """What is left of the equations."""
        return self.duals.residual

    @cached_property
    def constant(self) -> Numbers:
        """(m,) What every answer has in common."""
        return np.asarray(self.orders[0] * self.duals.weights.sum(axis=0) + self.duals.intercept)

    def scores(self, codes: Codes) -> Numbers:
        """The answers on any combinations: (rows, m)."""
        return self.duals.intercept + self._summed(Similarity.by_order(self.orders), codes)

    def by_order(self, codes: Codes) -> list[Numbers]:
        """What all conjunctions of 1, 2, … K factors add: (rows, m) each; with the constant they are the score."""
        count = len(self.orders)
        shares = [[self.orders[r] * math.comb(matching, r) for matching in range(count)] for r in range(1, count)]
        by_matches = self._by_matches(codes)
        return [np.tensordot(share, by_matches, axes=1) for share in shares]

    def _by_matches(self, codes: Codes) -> Numbers:
        """(K + 1, rows, m) The dual weights of the seen combinations that agree on 0, 1, … K factors, added up."""
        size, seen = len(self.orders), len(self.support)
        found = np.empty((size, len(codes), self.questions))
        left, right = columns_of(codes), columns_of(np.where(self.support.codes < 0, -2, self.support.codes))
        step = max(1, _CACHED // max(seen, 1))
        for start in range(0, len(codes), step):
            matches = match_counts([column[start : start + step] for column in left], right)
            rows = len(matches)
            places = (matches + size * np.arange(rows)[:, None]).ravel()
            for question, weights in enumerate(self.duals.weights.T):
                sums = np.bincount(places, weights=np.tile(weights, rows), minlength=rows * size)
                found[:, start : start + rows, question] = sums.reshape(rows, size).T
        return found

    def _summed(self, similarity: Similarity, codes: Codes) -> Numbers:
        found = np.empty((len(codes), self.questions))
        for part in chunks(len(codes), len(self.support)):
            found[part] = similarity.between(codes[part], self.support.codes) @ self.duals.weights
        return found

    @property
    def coefficients(self) -> Sequence[int]:
        """The sets of factors that are looked at one by one: single values and pairs."""
        return masks_of(len(self.orders) - 1)

    def contribution(self, mask: int, codes: Codes) -> Numbers:
        """What the conjunction of one set contributes to each combination: (rows, m); NaN where it was never seen."""
        groups = self.support.groups(members(mask))
        weight = self.orders[mask.bit_count()]
        sums = weight * np.stack([groups.total(column) for column in self.duals.weights.T], axis=1)
        place = groups.lookup(codes)
        return np.where(place[:, None] >= 0, sums[place], np.nan)

    def place(self, mask: int, codes: Codes) -> Ints:
        """The group of each combination, -1 where the conjunction was never seen."""
        return self.support.groups(members(mask)).lookup(codes)


def masks_of(factors: int) -> list[int]:
    """Single factors and pairs of them, as bit masks.

    >>> masks_of(3)
    [1, 2, 4, 3, 5, 6]
    """
    singles = [1 << k for k in range(factors)]
    return [*singles, *(one | other for k, one in enumerate(singles) for other in singles[k + 1 :])]
