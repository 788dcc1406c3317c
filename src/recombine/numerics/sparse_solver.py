"""The normal equations A'A y = a of the seen combinations' design, where A'A is too large to be inverted.

Conjugate gradients first: where values are well connected, a few dozen steps do. Where they hang together in chains,
bands, grids or trees, that takes as many steps as the longest of them has links. So for what is left unsolved, values
that meet few others are eliminated, many at a time: no two of a round meet, so a round is one sparse product (what
minimum-degree orderings do one value after another), and such tables shrink to a small core, which is factorised.
Rounds end where they would fill the matrix; a core that is still large is well connected, and conjugate gradients
solve it.

What conjugate gradients cost is the memory that they read. So the columns of one go descend together, so that
a line of the cache holds one value of sixteen of them, in single precision; what is left is taken in double, and
solved again.

Whatever the way, the true residual r = a - A'A y decides, in double: a solution is handed out if |r| is a small share
of |a|, and is otherwise *not known* (NaN). The leverage is then read as 2 a'y - y'A'A y, which is never above the true
one and misses it by r'(A'A)+ r only, so a share of 10^-5 is enough (`_OF_LEVERAGE`): for two factors the smallest
eigenvalue of A'A is above 1 / (values x longest distance), and with 10^5 values at distances up to 20 the error is
below 10^-3 at worst, the last of the three digits that are shown; by what the tests find it is below 10^-7. Stopping
earlier would not do: two halves of n values that hang on one link leave 2 / sqrt(n) of the residual until it is found.

SciPy's `splu` would factorise as well, but cannot be told to stop where its factors would fill the memory.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from recombine.numerics.effects import Design
from recombine.numerics.groups import Codes, Flags, Ints, Numbers
from recombine.numerics.rows import IncidenceRows

if TYPE_CHECKING:
    from scipy.sparse import csr_array


TOLERANCE = 1e-6
"""The true residual that a solution may leave, as a share of the right-hand side's norm."""

_OF_LEVERAGE = 1e-5  # the same where only the leverage is read, whose error is quadratic in it
_GOAL = 0.3  # of the tolerance: conjugate gradients' own residual drifts away from the true one
_FIRST_ITERATIONS = 150
_MOST_WORK = 2 * 10**10  # products of two numbers in conjugate gradients: about half a minute
_LARGEST_CORE = 1_500
_FILL = 2  # eliminating may make the matrix this many times as large
_SMALL = 4 * 10**6  # entries that are always affordable
_COPIED = 10  # so many copies of the matrix may be made while eliminating
_NOTHING = 1e-11  # a pivot below this share of its diagonal is rounding: an open direction
_SHIFT = 1e-12  # closes the open directions of the core; refining takes its effect out again
_REFINEMENTS = 8
_COLUMNS = 16  # combinations that are solved in one go, and share the work that one go may take


def solved(gram: "csr_array", right: Numbers) -> tuple[Numbers, Flags]:
    """A solution of gram y = right for each column, by elimination, and which columns pass the residual test.

    >>> from scipy.sparse import csr_array
    >>> found, passed = solved(csr_array([[2.0, 1.0], [1.0, 1.0]]), np.array([[3.0], [2.0]]))
    >>> found.round(6).ravel().tolist(), passed.tolist()
    ([1.0, 1.0], [True])
    """
    tried = _refined(gram, _SparseElimination.of(gram), right, TOLERANCE)
    return tried.found, tried.passed


@dataclass(frozen=True, eq=False)
class SparseLeverage:
    """Leverages of combinations of a large table, each solved and tested."""

    seen: Design

    def at(self, codes: Codes) -> Numbers:
        """The leverage of each combination, which must be determined; NaN where the residual test is not passed."""
        return self.at_rows(self.seen.rows(codes))

    def at_rows(self, rows: IncidenceRows) -> Numbers:
        """The same of combinations that are given as rows of the design."""
        places = np.arange(len(rows))
        parts = [self._some(rows.take(places[start : start + _COLUMNS])) for start in range(0, len(rows), _COLUMNS)]
        return np.concatenate([np.zeros(0), *parts])

    def effects(self, right: Numbers) -> tuple[Numbers, Flags]:
        """What A'A must be multiplied with to give each column, which must be A' times some answers, and whether it was
        solved: the effects of all values that fit those answers best.
        """
        tried = self._tried(right, TOLERANCE)
        return tried.found, tried.passed

    def _some(self, rows: IncidenceRows) -> Numbers:
        right = np.zeros((self._gram.shape[0], len(rows)))
        right[rows.columns, rows.owners] = 1.0
        tried = self._tried(right, _OF_LEVERAGE)
        return np.where(tried.passed, _inner(right, tried.found) + _inner(tried.residual, tried.found), np.nan)

    def _tried(self, right: Numbers, tolerance: float) -> "_SparseAttempt":
        tried = _refined(self._gram, self._largest_eliminated, right, tolerance)
        open_ = np.flatnonzero(~tried.passed)
        if len(open_):
            tried = tried.with_columns(open_, _refined(self._gram, self._eliminated, right[:, open_], tolerance))
        return tried

    @cached_property
    def _gram(self) -> "csr_array":
        return self.seen.sparse_gram()

    @cached_property
    def _largest_eliminated(self) -> "_SparseElimination":
        return _SparseElimination.implicit(self._gram, self.seen.apart)

    @cached_property
    def _eliminated(self) -> "_SparseElimination":
        return _SparseElimination.of(self._gram)


@dataclass(frozen=True, eq=False)
class _SparseAttempt:
    """Right-hand sides, what was found for them, and the true residual that it leaves. A column each."""

    right: Numbers
    found: Numbers
    residual: Numbers
    tolerance: float

    @cached_property
    def passed(self) -> Flags:
        """Which columns are solved."""
        return np.asarray(_norms(self.residual) <= self.tolerance * _norms(self.right))

    def with_columns(self, places: Ints, other: "_SparseAttempt") -> "_SparseAttempt":
        """The same with some columns replaced."""
        found, residual = self.found.copy(), self.residual.copy()
        found[:, places], residual[:, places] = other.found, other.residual
        return _SparseAttempt(self.right, found, residual, self.tolerance)


def _refined(gram: "csr_array", elimination: "_SparseElimination", right: Numbers, tolerance: float) -> _SparseAttempt:
    """Solve, and again for what is left, while that helps some column that does not pass yet."""
    goal = _GOAL * tolerance * _norms(right)
    tried = _SparseAttempt(right, np.zeros((1, right.shape[1])), right, tolerance)
    for _ in range(elimination.refinements):
        found = elimination.solve(tried.residual, goal)
        found += tried.found
        left = gram @ found  # written over: fresh memory costs as much as the product
        before, tried = tried, _SparseAttempt(right, found, np.subtract(right, left, out=left), tolerance)
        helped = _norms(tried.residual) < 0.5 * _norms(before.residual)
        if not (helped & ~tried.passed).any():
            break
    return tried


@dataclass(frozen=True, eq=False)
class _EliminationRound:
    """Some values that do not meet, written in those that are left. Legend: e eliminated, r left."""

    gone: Ints
    left: Ints
    pull: "csr_array"  # (r, e)
    inverse: Numbers  # (e,) one over each pivot; zero for an open direction


@dataclass(frozen=True, eq=False)
class _Rest:
    """What one round leaves, not written out: as a product, and its diagonal. In single precision."""

    inner: "csr_array"  # (r, r)
    beside: "csr_array"  # (r, e)
    above: "csr_array"  # (e, r)
    inverse: Numbers  # (e,)

    def diagonal(self) -> Numbers:
        return np.asarray(self.inner.diagonal() - self.beside.multiply(self.beside) @ self.inverse)

    def __matmul__(self, columns: Numbers) -> Numbers:
        across = self.above @ columns
        across *= self.inverse[:, None]
        found = self.inner @ columns
        found -= self.beside @ across
        return np.asarray(found)


@dataclass(frozen=True, eq=False)
class _SparseElimination:
    """What was eliminated, round by round, and the core that is left."""

    rounds: tuple[_EliminationRound, ...]
    core: Any  # a csr_array, or the _Rest of one round
    iterations: int
    refinements: int

    @classmethod
    def implicit(cls, gram: "csr_array", gone: Ints) -> "_SparseElimination":
        """One round that is not written out: half of the work of each iteration, and half of the iterations."""
        left = _others(gram, gone)
        inverse = _reciprocal(gram.diagonal()[gone])
        lower = gram[left]
        beside = lower[:, gone]
        single = beside.astype(np.float32)
        rest = _Rest(lower[:, left].astype(np.float32), single, single.T.tocsr(), inverse.astype(np.float32))
        one = _EliminationRound(gone, left, beside.multiply(inverse[None]).tocsr(), inverse)
        return cls((one,), rest, _FIRST_ITERATIONS, 2)

    @classmethod
    def of(cls, gram: "csr_array") -> "_SparseElimination":
        """Eliminate as long as the matrix stays affordable."""
        most, copied = max(_FILL * gram.nnz, _SMALL), 0
        diagonal = gram.diagonal()
        rng = np.random.default_rng(0)  # breaks ties among values that meet equally many
        rounds: list[_EliminationRound] = []
        while gram.shape[0] > _LARGEST_CORE and copied <= _COPIED * most:
            gone = _meeting_few(gram, most, rng)
            if not len(gone):
                break
            one, gram = _eliminated(gram, gone, diagonal)
            diagonal = diagonal[one.left]
            copied += gram.nnz
            rounds.append(one)
        return cls(tuple(rounds), gram, _MOST_WORK // max(gram.nnz * _COLUMNS, 1), _REFINEMENTS)

    def solve(self, right: Numbers, goal: Numbers) -> Numbers:
        """Down to the core, through it, and back; where the core is iterated, to a residual of `goal` there."""
        parts = []
        for one in self.rounds:
            parts.append(right[one.gone])
            right = right[one.left] - one.pull @ parts[-1]
        found = self._through_core(right, goal)
        for one, part in zip(reversed(self.rounds), reversed(parts), strict=True):
            wider = np.empty((len(one.gone) + len(one.left), right.shape[1]))
            wider[one.left] = found
            wider[one.gone] = one.inverse[:, None] * part - one.pull.T @ found
            found = wider
        return found

    def _through_core(self, right: Numbers, goal: Numbers) -> Numbers:
        if isinstance(self.core, _Rest) or self.core.shape[0] > _LARGEST_CORE:
            return _descended(self.core, right, goal, self.iterations)
        return self._factorised(right) if self.core.shape[0] else right

    @cached_property
    def _factorised(self) -> Callable[[Numbers], Numbers]:
        from scipy.linalg import cho_factor, cho_solve  # noqa: PLC0415 - SciPy is loaded where it is needed

        dense = self.core.toarray()
        # equal diagonals first: a pivot of 10^-5 beside one of 10^5 would drown in a common shift
        scale = _reciprocal(np.sqrt(np.maximum(dense.diagonal(), 0.0)))[:, None]
        dense *= scale * scale.T
        dense[np.diag_indices(len(dense))] = 1 + _SHIFT * len(dense)
        factor = cho_factor(dense)
        return lambda right: np.asarray(scale * cho_solve(factor, scale * right))


def _eliminated(gram: "csr_array", gone: Ints, diagonal: Numbers) -> tuple[_EliminationRound, "csr_array"]:
    left = _others(gram, gone)
    pivots = gram.diagonal()[gone]
    inverse = _reciprocal(np.where(pivots > _NOTHING * diagonal[gone], pivots, 0.0))
    lower = gram[left]
    beside = lower[:, gone]
    pull = beside.multiply(inverse[None]).tocsr()
    return _EliminationRound(gone, left, pull, inverse), (lower[:, left] - pull @ beside.T).tocsr()


def _others(gram: "csr_array", gone: Ints) -> Ints:
    left = np.ones(gram.shape[0], dtype=bool)
    left[gone] = False
    return np.flatnonzero(left)


def _meeting_few(gram: "csr_array", most: int, rng: np.random.Generator) -> Ints:
    """Values that meet fewest others, no two of which meet, as many as go without the matrix growing beyond `most`."""
    meets = np.diff(gram.indptr)
    rank = np.argsort(np.lexsort((rng.random(len(meets)), meets)))
    row = np.repeat(np.arange(len(meets)), meets)
    lowest = np.full(len(meets), len(meets))  # the lowest rank among the others that a value meets
    held = np.flatnonzero(meets)
    ranks = np.where(gram.indices == row, len(meets), rank[gram.indices])
    lowest[held] = np.minimum.reduceat(ranks, gram.indptr[held])
    chosen = np.flatnonzero((rank < lowest) & (meets <= np.median(meets)))
    chosen = chosen[np.argsort(meets[chosen], kind="stable")]
    others = np.maximum(meets[chosen].astype(np.float64) - 1, 0.0)
    size = gram.nnz + np.cumsum(others**2 - 2 * others - 1)  # at most: what meets already is counted again
    return np.sort(chosen[np.maximum.accumulate(size) <= most])


def _descended(gram: "csr_array | _Rest", right: Numbers, goal: Numbers, iterations: int) -> Numbers:
    """Conjugate gradients for all columns at once, scaled by the diagonal, in the precision of the matrix, each column
    down to a residual of `goal`.
    """
    precision: Any = np.float32 if isinstance(gram, _Rest) else np.float64
    scale = _reciprocal(np.maximum(gram.diagonal(), 0.0))[:, None].astype(precision)
    residual: Numbers = right.astype(precision)
    found = np.zeros_like(residual)
    direction = scale * residual
    left = _inner(residual, direction)
    for _ in range(iterations):
        if (_norms(residual) <= goal).all():
            break
        image: Numbers = gram @ direction
        step = _ratio(left, _inner(direction, image))
        residual -= np.multiply(step, image, out=image)
        found += np.multiply(step, direction, out=image)
        before, scaled = left, np.multiply(scale, residual, out=image)
        left = _inner(residual, scaled)
        direction *= _ratio(left, before)
        direction += scaled
    return found.astype(np.float64, copy=False)


def _ratio(above: Numbers, below: Numbers) -> Numbers:
    """Zero where nothing is left, or rounding has turned a square negative: such a column rests."""
    return np.divide(above, below, out=np.zeros_like(above), where=below > 0)


def _reciprocal(numbers: Numbers) -> Numbers:
    """One over each number; zero where it is not above zero, which leaves an open direction alone."""
    return np.divide(1.0, numbers, out=np.zeros_like(numbers), where=numbers > 0)


def _inner(one: Numbers, other: Numbers) -> Numbers:
    """The inner product of each column."""
    return np.asarray(np.einsum("ij,ij->j", one, other))


def _norms(columns: Numbers) -> Numbers:
    return np.sqrt(_inner(columns, columns))
