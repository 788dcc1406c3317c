"""How similar two combinations are to a learner: the weight of all sets of factors on which they agree.

Where a set's weight depends on its size alone, as in every network of `networks`, only the number of matching factors
counts: K + 1 numbers stand for 2^K sets, and 20 factors cost no more than 20 comparisons. Otherwise it is looked up by
which factors match.

Matches are counted a few rows at a time, in small whole numbers that stay close to the processor: for 5,000
combinations of 8 factors that takes half as long as the product of their one-hot codes.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from recombine.algebra.groups import Codes, Numbers
from recombine.theory.by_size import Weights, WeightsBySize
from recombine.theory.salience import zeta

_CACHED = 1 << 18  # pairs of combinations that are compared at a time
_ALIKE = 1e-9  # of the largest weight: weights of one order that differ by less are the same


@dataclass(frozen=True, eq=False)
class Similarity:
    """k(z, z') by the number of factors that match (`by_count`), or by the set of them, as a bit mask.

    >>> alike = Similarity.of((0.0, 0.3, 0.3, 0.4))
    >>> alike.by_count, alike.between(np.array([[0, 0]]), np.array([[0, 0], [0, 1], [1, 1]])).round(9).tolist()
    (True, [[1.0, 0.3, 0.0]])
    """

    table: Numbers  # (K + 1,) or (2^K,)
    factors: int
    by_count: bool

    @classmethod
    def of(cls, weights: Weights) -> "Similarity":
        """From a weight for each set of factors, by bit mask; the constant's must be finite."""
        orders = order_weights(weights)
        if orders is not None:
            return cls.by_order(orders)
        factors = len(weights).bit_length() - 1
        return cls(zeta(np.asarray(weights, dtype=np.float64)), factors, by_count=False)

    @classmethod
    def by_order(cls, orders: Sequence[float]) -> "Similarity":
        """From the weight of one conjunction of each order, the constant first.

        >>> Similarity.by_order([1, 2, 3]).table.tolist()
        [1.0, 3.0, 8.0]
        """
        counts = range(len(orders))
        table = [math.fsum(math.comb(m, r) * orders[r] for r in range(m + 1)) for m in counts]
        return cls(np.array(table), len(orders) - 1, by_count=True)

    def between(self, one: Codes, other: Codes) -> Numbers:
        """For every pair of rows; a value of -1 agrees with none."""
        found = np.empty((len(one), len(other)))
        self.fill(found, one, other)
        return found

    def fill(self, found: Numbers, one: Codes, other: Codes) -> None:
        """The same into an array that is there already."""
        step = max(1, _CACHED // max(len(other), 1))
        counted = self._counted if self.by_count else self._masked
        left, right = columns_of(one), columns_of(np.where(other < 0, -2, other))  # -1 must not agree with -1
        for start in range(0, len(one), step):
            part = slice(start, start + step)
            np.take(self.table, counted([column[part] for column in left], right), out=found[part], mode="clip")

    def _counted(self, left: Sequence[Codes], right: Sequence[Codes]) -> npt.NDArray[np.uint8]:
        return match_counts(left, right)

    def _masked(self, left: Sequence[Codes], right: Sequence[Codes]) -> npt.NDArray[np.int64]:
        found = np.zeros((len(left[0]), len(right[0])), dtype=np.int64)
        for k, (one, other) in enumerate(zip(left, right, strict=True)):
            found |= (one[:, None] == other[None]).astype(np.int64) << k
        return found


def match_counts(left: Sequence[Codes], right: Sequence[Codes]) -> npt.NDArray[np.uint8]:
    """On how many factors each pair of rows agrees; both are given factor by factor."""
    found = np.zeros((len(left[0]), len(right[0])), dtype=np.uint8)
    for one, other in zip(left, right, strict=True):
        found += (one[:, None] == other[None]).view(np.uint8)
    return found


def columns_of(codes: Codes) -> list[Codes]:
    """Each factor's values in one piece, in the smallest numbers that hold them: comparing reads half as much."""
    small = np.int16 if not codes.size or codes.max() <= np.iinfo(np.int16).max else np.int32
    return [np.ascontiguousarray(column.astype(small)) for column in codes.T]


def order_weights(weights: Weights) -> tuple[float, ...] | None:
    """One weight for each order, the constant first, if sets of one size all weigh the same; else None."""
    if isinstance(weights, WeightsBySize):
        return weights.orders
    factors = len(weights).bit_length() - 1
    sizes = np.array([mask.bit_count() for mask in range(len(weights))])
    given = np.asarray(weights, dtype=np.float64)
    first = given[(1 << np.arange(factors + 1)) - 1]
    if np.abs(given - first[sizes]).max(initial=0.0, where=sizes > 0) > _ALIKE * np.abs(given[1:]).max(initial=0.0):
        return None
    return tuple(first.tolist())
