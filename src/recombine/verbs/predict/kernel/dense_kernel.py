"""How similar two combinations are to a learner: the weight of all sets of factors on which they agree.

Where a set's weight depends on its size alone, as in every network of `networks`, only the number of matching factors
counts: K + 1 numbers stand for 2^K sets, and 20 factors cost no more than 20 comparisons. Otherwise it is looked up by
which factors match.

Where a factor's value is a set, what matches are its elements: two sets of three that share two match in two. The
weight of all conjunctions that two combinations share is then Σ_k w_k C(m, k), with m the values and elements that they
have in common: the inner product of their conjunctions, each counted by its weight (`Similarity.effects`). On top of
these a combination has a conjunction of its own, the full one, which is shared with no other: a pair may be a part of a
triple, but what was memorised of the pair is not (`DualWeights.memorised`). Where all sets are of the largest size, it
is the last term of the sum.

Matches are counted a few rows at a time, in small whole numbers that stay close to the processor: for 5,000
combinations of 8 factors that takes half as long as the product of their one-hot codes.

The kernel of the seen combinations written out, and its Cholesky factor, from which everything else comes.

One matrix of n × n numbers (1.8 GB for 15,000 combinations): the kernel is written into it, and its Cholesky factor
takes the kernel's place. With K = L L',

    K^-1 y = L'^-1 (L^-1 y),   k' K^-1 k = |L^-1 k|²,   (K^-1)_ii = |column i of L^-1|²

The last needs the inverse of L, as much work again as L itself. But column i of it begins in row i: the last t columns
are the inverse of the last t × t block alone. So where only some combinations are held out, those are put last.

The learner that memorises nothing has the same kernel with less on its diagonal, K - d. From
(K - d)^-1 = K^-1 (1 - d K^-1)^-1, and as the eigenvalues of 1 - d K^-1 lie between a thousandth and 1, most near 1,
conjugate gradients find it from the same factor in some ten steps; a second factor would take as long as the first.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from recombine.numerics.effects import Effects
from recombine.numerics.groups import Codes, Ints, Numbers, columns_of, match_counts
from recombine.verbs.predict.kernel.order_weights import Weights, WeightsBySize
from recombine.verbs.predict.kernel.salience import zeta

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
    effects: Effects | None = None  # what matches where values have parts; else values that are equal
    orders: tuple[float, ...] = ()  # where matches are counted, the weight of one conjunction of each order

    @classmethod
    def of(cls, weights: Weights, effects: Effects | None = None) -> "Similarity":
        """From a weight for each set of factors, by bit mask; the constant's must be finite."""
        orders = order_weights(weights)
        if orders is not None:
            return cls.by_order(orders, effects)
        factors = len(weights).bit_length() - 1
        return cls(zeta(np.asarray(weights, dtype=np.float64)), factors, by_count=False)

    @classmethod
    def by_order(cls, orders: Sequence[float], effects: Effects | None = None) -> "Similarity":
        """From the weight of one conjunction of each order, the constant first.

        >>> Similarity.by_order([1, 2, 3]).table.tolist()
        [1.0, 3.0, 8.0]
        """
        return cls(_by_matches(orders, len(orders)), len(orders) - 1, True, effects, tuple(orders))

    def own(self, codes: Codes) -> Numbers:
        """(n,) The similarity of each combination to itself: that of all factors matching, or of all its elements.

        A set that is larger than any that was read has more conjunctions, of the same orders.
        """
        if self.effects is None:
            return np.full(len(codes), float(self.table[-1]))
        sizes = self.effects.sizes(codes)
        return _by_matches(self.orders, max(int(sizes.max(initial=0)) + 1, len(self.table)))[sizes]

    def between(self, one: Codes, other: Codes) -> Numbers:
        """For every pair of rows; a value of -1 agrees with none."""
        found = np.empty((len(one), len(other)))
        self.fill(found, one, other)
        return found

    def fill(self, found: Numbers, one: Codes, other: Codes) -> None:
        """The same into an array that is there already."""
        for part, counted in self.matches(one, other):
            np.take(self.table, counted, out=found[part], mode="clip")

    def matches(self, one: Codes, other: Codes) -> Iterator[tuple[slice, npt.NDArray[Any]]]:
        """In how much each pair of rows agrees, some rows at a time: a count, or the factors as a bit mask."""
        if self.effects is not None:
            yield from ((part, counted.astype(np.int16)) for part, counted in self.effects.shared(one, other))
            return
        step = max(1, _CACHED // max(len(other), 1))
        counted = match_counts if self.by_count else self._masked
        left, right = columns_of(one), columns_of(np.where(other < 0, -2, other))  # -1 must not agree with -1
        for start in range(0, len(one), step):
            part = slice(start, start + step)
            yield part, counted([column[part] for column in left], right)

    def _masked(self, left: Sequence[Codes], right: Sequence[Codes]) -> npt.NDArray[np.int64]:
        found = np.zeros((len(left[0]), len(right[0])), dtype=np.int64)
        for k, (one, other) in enumerate(zip(left, right, strict=True)):
            found |= (one[:, None] == other[None]).astype(np.int64) << k
        return found


def _by_matches(orders: Sequence[float], number: int) -> Numbers:
    """(number,) What 0, 1, … matches weigh: all conjunctions of so many."""
    return np.array([math.fsum(math.comb(m, r) * w for r, w in enumerate(orders) if r <= m) for m in range(number)])


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


LARGEST = 15_000
"""Combinations for which a matrix of 1.8 GB is written out."""
_LEAST_EIGENVALUE = 1e-10  # of the largest possible: above it a triangle keeps six digits
_CHUNK_NUMBERS = 10**7
_STEPS = 100
_SETTLED = 1e-10  # of the right side


@dataclass(frozen=True, eq=False)
class DenseKernel:
    """Kernel and penalty of n combinations, factored.

    >>> alike = Similarity.by_order([0.0, 0.3, 0.0])
    >>> made = DenseKernel.of(np.array([[0, 0], [0, 1]], dtype=np.int32), alike, np.array([0.4, 0.4]))
    >>> made.solve(np.array([[1.0], [0.0]])).round(3).ravel().tolist()  # the inverse of [[1, 0.3], [0.3, 1]]
    [1.099, -0.33]
    """

    codes: Codes  # in the order of the factor
    order: Ints  # (n,) the combination in each of its rows
    tested: Ints  # (t,) those that stand last, in ascending order
    similarity: Similarity
    root: Numbers  # (n, n) the Cholesky factor, lower

    @classmethod
    def of(cls, codes: Codes, similarity: Similarity, own: Numbers, tested: Ints | None = None) -> "DenseKernel | None":
        """From combinations, their similarity and what is added to the diagonal; None where digits would be lost.

        `tested` are the combinations whose place on the diagonal of the inverse will be asked for; all, if not given.
        """
        from scipy.linalg.lapack import dpotrf  # noqa: PLC0415 - SciPy is loaded where it is needed

        every = np.arange(len(codes))
        last = every if tested is None else np.sort(tested)
        order = np.concatenate([np.setdiff1d(every, last, assume_unique=True), last])
        matrix = _matrix(codes[order], similarity, own[order])
        if matrix is None:
            return None
        matrix, failed = dpotrf(matrix, lower=1, clean=1, overwrite_a=1)
        return None if failed else cls(codes[order], order, last, similarity, matrix)

    def solve(self, values: Numbers) -> Numbers:
        """Dual weights of each column of values."""
        found = np.empty(values.shape)
        found[self.order] = self._solved(values[self.order])
        return found

    def _solved(self, values: Numbers) -> Numbers:
        """The same in the order of the factor."""
        from scipy.linalg.blas import dtrsm  # noqa: PLC0415 - SciPy is loaded where it is needed

        half = dtrsm(1.0, self.root, values, lower=1)
        return np.asarray(dtrsm(1.0, self.root, half, lower=1, trans_a=1, overwrite_b=1))

    def solve_with_less(self, values: Numbers, less: float) -> Numbers | None:
        """Dual weights with so much less on the diagonal; None where the search for them does not settle."""
        right = values[self.order]
        x, rest = np.zeros_like(right), right.copy()
        direction, size = rest.copy(), np.square(rest).sum(axis=0)
        enough = _SETTLED**2 * size
        for _ in range(_STEPS):
            if (size <= enough).all():
                found = np.empty_like(right)
                found[self.order] = self._solved(x)
                return found
            image = direction - less * self._solved(direction)
            steepness = (direction * image).sum(axis=0)
            step = np.divide(size, steepness, out=np.zeros_like(size), where=(steepness > 0) & (size > enough))
            x += step * direction
            rest -= step * image
            before, size = size, np.square(rest).sum(axis=0)
            direction = rest + np.divide(size, before, out=np.zeros_like(size), where=before > 0) * direction
        return None

    @cached_property
    def inverse_diagonal(self) -> Numbers:
        """(t,) The inverse's diagonal for the tested ones: one over the variance of each given all others."""
        from scipy.linalg.lapack import dtrtri  # noqa: PLC0415 - SciPy is loaded where it is needed

        first = len(self.order) - len(self.tested)
        triangle, _ = dtrtri(self.root[first:, first:], lower=1)
        return np.asarray(np.einsum("ij,ij->j", triangle, triangle))

    def explained(self, codes: Codes) -> Numbers:
        """For any combinations, how much of their variance the seen ones take away."""
        from scipy.linalg.blas import dtrsm  # noqa: PLC0415 - SciPy is loaded where it is needed

        found = np.empty(len(codes))
        for part in chunks(len(codes), len(self.codes)):
            between = np.asfortranarray(self.similarity.between(codes[part], self.codes).T)
            half = dtrsm(1.0, self.root, between, lower=1, overwrite_b=1)
            found[part] = np.einsum("ij,ij->j", half, half)
        return found


def _matrix(codes: Codes, similarity: Similarity, own: Numbers) -> Numbers | None:
    """Kernel and penalty, in Fortran's order, so that LAPACK works in place."""
    n = len(codes)
    most = n * float(np.abs(similarity.table).max()) + float(own.max())
    if not own.min() > _LEAST_EIGENVALUE * most:
        return None
    matrix = np.empty((n, n), order="F")
    similarity.fill(matrix.T, codes, codes)  # it is symmetric
    matrix[np.diag_indices(n)] += own
    return matrix


def chunks(rows: int, width: int) -> Iterator[slice]:
    """Parts of so many rows that a part of `width` columns stays small."""
    step = max(1, _CHUNK_NUMBERS // max(width, 1))
    for start in range(0, rows, step):
        yield slice(start, start + step)
