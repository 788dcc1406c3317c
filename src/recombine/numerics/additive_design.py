"""The additive rule: every value of every factor has one number, and a combination's answer is the sum of its values'.

Here is all the dense linear algebra of that rule, and *here leverage is computed*, for factors that are one-hot. What
is not (a factor whose value is a set) is a `Design` too (`effects`), with its own fit in `incidence_fit`.

    AdditiveDesign   the one-hot design A of some combinations      determinacy, plans, splits, the sparse solver
    Elimination      A'WA with its largest factor eliminated        the two below, and
    `verbs.predict.kernel.solver.TwoFactors` DenseLeverage    a (A'A)+ a' of any combinations
    `verbs.audit.leverage`, for whoever holds a Support AdditiveFit      a weighted fit, and the fit without each one
    `verbs.evaluate.deviations`, `additive_fit` LeverageUpdates  leverages while rows are added                 the goal
    "leverage" of a plan, and its replay

Where the matrix is too large to be inverted `sparse_solver` computes leverages, one combination at a time.

Leverage. With answers y = A u + noise of variance 1, least squares gives u = (A'A)+ A'y, so the answer worked out for a
combination with row a has the variance a (A'A)+ A'A (A'A)+ a' = a (A'A)+ a'. That is its leverage: the noise of one
seen answer is amplified by so much. For two factors A'A is, but for signs, the Laplacian of the graph of seen pairs,
and the leverage is the effective resistance between the two values.

Elimination. Ordered as (largest factor, all others), A'WA = [[D, T'], [T, G]] with D diagonal: no combination holds two
values of one factor. So D is eliminated exactly, which leaves the Schur complement G - T D⁻¹ T', as large as the other
factors together. With S = T D⁻¹ and a combination's row split into its value v of the largest factor and the indicator
b of its other values, (a u) = u_v + b'u and a (A'WA)+ a' = 1 / D_v + y' schur+ y, where y = b - S_v.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from recombine.numerics.groups import Codes, Flags, Ints, Numbers, totals
from recombine.numerics.rows import IncidenceRows
from recombine.numerics.value_graph import components

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Sizes = tuple[int, ...]

LARGEST_FIT = 2_000
"""Values of all factors but the largest, beyond which an `AdditiveFit` is not solved."""
ALONE = 1e-7
"""1 - leverage below this: without the combination its answer is open, and rounding is all that is left."""

_TINY = 1e-300  # instead of 0 as a divisor, where what is divided is 0 too
_RANK_TOLERANCE = 1e-9  # weights differ by many orders of magnitude; eigenvalues below this share of the largest are 0
_NOTHING_LEFT = 1e-14  # of all weight: eigenvalues below are what elimination leaves of an exact zero
_FEW_VALUES = 300  # whose eigenvectors take some hundredths of a second, all at once
_OPEN = 1e-6  # the squared length of a row outside the span of the others: rounding stays far below, true ones above


def offsets(sizes: Sizes) -> Ints:
    """Where each factor's values start among the values of all factors, and how many there are."""
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


@dataclass(frozen=True, eq=False)
class AdditiveDesign:
    """The one-hot design of some combinations: row e has ones at `columns[e]`, one for each factor.

    >>> design = AdditiveDesign(np.array([[0, 0], [0, 1], [1, 0]]), sizes=(2, 2))
    >>> design.columns.tolist(), design.gram().tolist()[0]
    ([[0, 2], [0, 3], [1, 2]], [2.0, 0.0, 1.0, 1.0])
    """

    codes: Codes
    sizes: Sizes

    @cached_property
    def offsets(self) -> Ints:
        """Where each factor's columns start, and how many there are."""
        return offsets(self.sizes)

    @property
    def width(self) -> int:
        """The number of columns: the values of all factors together."""
        return int(self.offsets[-1])

    @cached_property
    def columns(self) -> Ints:
        """Where the ones of each row stand: (combinations, factors)."""
        return self.at(self.codes)

    def at(self, codes: Codes) -> Ints:
        """The same for any other combinations."""
        return codes.astype(np.int64) + self.offsets[:-1]

    def rows(self, codes: Codes) -> IncidenceRows:
        """The rows of any combinations."""
        return IncidenceRows.equal(self.at(codes), self.width)

    @property
    def apart(self) -> Ints:
        """The largest factor's columns: no two of them stand in one row."""
        largest = int(np.argmax(self.sizes))
        return np.arange(*self.offsets[largest : largest + 2])

    def gram(self) -> Numbers:
        """A'A, dense: how many combinations hold each value, and each pair of values."""
        return _gram(self.codes, self.sizes, None)

    def sparse_gram(self) -> "csr_array":
        """A'A, sparse."""
        from scipy.sparse import coo_array, csr_array, diags_array  # noqa: PLC0415 - loaded where it is needed

        shape, ones = (self.width, self.width), np.ones(len(self.columns))
        beside = csr_array(shape)
        for k, one in enumerate(self.columns.T):
            for other in self.columns.T[:k]:
                beside = beside + coo_array((ones, (one, other)), shape=shape).tocsr()
        found = (beside + beside.T + diags_array(totals(self.columns.ravel(), None, self.width))).tocsr()
        if found.nnz < 2**31:  # half of what has to be read in each product
            found.indices, found.indptr = found.indices.astype(np.int32), found.indptr.astype(np.int32)
        return found


def _together(codes: Codes, sizes: Sizes, one: int, other: int, weights: Numbers | None) -> Numbers:
    """The weight of the combinations that hold each pair of values of two factors."""
    both = codes[:, one].astype(np.int64) * sizes[other] + codes[:, other]
    return totals(both, weights, sizes[one] * sizes[other]).reshape(sizes[one], sizes[other])


def _gram(codes: Codes, sizes: Sizes, weights: Numbers | None) -> Numbers:
    """A'WA, factor by factor."""
    start = offsets(sizes)
    found = np.zeros((start[-1], start[-1]))
    for k, size in enumerate(sizes):
        mine = slice(start[k], start[k + 1])
        found[mine, mine] = np.diag(totals(codes[:, k], weights, size))
        for other in range(k):
            theirs = slice(start[other], start[other + 1])
            found[mine, theirs] = _together(codes, sizes, k, other, weights)
            found[theirs, mine] = found[mine, theirs].T
    return found


@dataclass(frozen=True, eq=False)
class _Blocks:
    """The blocks of A'WA, one factor set apart. Legend: v values of that factor, r of all others."""

    degree: Numbers  # (v,) D
    together: Numbers  # (r, v) T
    inner: Numbers  # (r, r) G

    @classmethod
    def of(cls, codes: Codes, sizes: Sizes, apart: int, weights: Numbers | None) -> "_Blocks":
        kept = [k for k in range(len(sizes)) if k != apart]
        return cls(
            degree=totals(codes[:, apart], weights, sizes[apart]),
            together=np.concatenate([_together(codes, sizes, apart, k, weights) for k in kept], axis=1).T,
            inner=_gram(codes[:, kept], tuple(sizes[k] for k in kept), weights),
        )


@dataclass(frozen=True, eq=False)
class Elimination:
    """A'WA with its largest factor eliminated. Legend: v values of the eliminated factor, r of all others.

    `ridge` adds a number to the diagonal, one for each factor.
    """

    sizes: Sizes
    eliminated: int
    kept: tuple[int, ...]
    starts: Ints  # where each kept factor starts among r, and how many there are
    degree: Numbers  # (v,) D: the weight of each eliminated value
    together: Numbers  # (r, v) T: the weight of the combinations that hold both
    share: Numbers  # (r, v) S = T D⁻¹: of that weight, the share that holds each other value
    schur: Numbers  # (r, r) what is left after elimination

    @classmethod
    def of(
        cls, codes: Codes, sizes: Sizes, weights: Numbers | None = None, ridge: tuple[float, ...] | None = None
    ) -> "Elimination":
        """Eliminate the largest factor, of equally large ones the first."""
        apart = int(np.argmax(sizes))
        kept = tuple(k for k in range(len(sizes)) if k != apart)
        starts = offsets(tuple(sizes[k] for k in kept))
        blocks = _Blocks.of(codes, sizes, apart, weights)
        degree, inner = blocks.degree, blocks.inner
        if ridge is not None:
            degree = degree + ridge[apart]
            inner[np.diag_indices(len(inner))] += np.repeat([ridge[k] for k in kept], np.diff(starts))
        share = blocks.together / np.maximum(degree, _TINY)
        halved = blocks.together / np.sqrt(
            np.maximum(degree, _TINY)
        )  # T D⁻¹ T' as a square: symmetric to the last digit
        return cls(sizes, apart, kept, starts, degree, blocks.together, share, inner - halved @ halved.T)

    def parts(self, codes: Codes) -> tuple[Ints, Ints]:
        """Of any combinations the value of the eliminated factor (c,), and the places of the others among r."""
        return codes[:, self.eliminated].astype(np.int64), codes[:, self.kept].astype(np.int64) + self.starts[:-1]

    def quadratic(self, matrix: Numbers, own: Numbers) -> "QuadraticForm":
        """y' matrix y + own_v as a function of combinations, y as above; `matrix` is (r, r) and symmetric."""
        pulled = matrix @ self.share
        return QuadraticForm(self, matrix, pulled, own + np.einsum("rv,rv->v", self.share, pulled))

    def linear(self, table: Numbers, codes: Codes) -> Numbers:
        """y' table[:, v] for any combinations, y as above."""
        first, others = self.parts(codes)
        total = -np.einsum("rv,rv->v", self.share, table)[first]
        for a in others.T:
            total += table[a, first]
        return np.asarray(total)


@dataclass(frozen=True, eq=False)
class QuadraticForm:
    """y' matrix y + own_v, multiplied out so that any combination's is a few look-ups. Legend as in `Elimination`."""

    elimination: Elimination
    matrix: Numbers  # (r, r)
    pulled: Numbers  # (r, v) matrix S
    level: Numbers  # (v,) own + S' matrix S

    def at(self, codes: Codes) -> Numbers:
        """Its value at each combination."""
        first, others = self.elimination.parts(codes)
        total = self.level[first]
        for a in others.T:
            total -= 2 * self.pulled[a, first]
            for b in others.T:
                total += self.matrix[a, b]
        return np.asarray(total)


@dataclass(frozen=True, eq=False)
class Inverse:
    """An inverse of a symmetric matrix on its range, and by how much it may magnify rounding."""

    matrix: Numbers
    condition: float


def inverse_on_range(gram: Numbers, islands: Ints, factor: Ints, shifts: Numbers, *, rank: int | None) -> Inverse:
    """An inverse on what is determined; any choice on the open directions gives the same leverages there.

    `islands` holds the island of each value, -1 for a value that was never seen, and `factor` its factor. Where `rank`
    is None the only open directions shift whole factors within an island, and adding their outer product `shifts`
    (factor by factor) to each island's block closes them: the matrix can be inverted as it is. Otherwise there are
    more, and the smallest eigenvalues are dropped, all but `rank` of them: the number is known exactly, so no
    tolerance has to tell a small eigenvalue from a zero.
    """
    seen = np.flatnonzero(islands >= 0)
    small = gram[np.ix_(seen, seen)]
    if rank is not None:
        solved = _by_eigenvalues(small, rank)
    else:
        home, of = islands[seen], factor[seen]
        # as large as a typical entry, so that closing the open directions costs no digits of the others
        scale = np.trace(small) / len(small) ** 2 + 1e-3
        solved = _closed(small + (home[:, None] == home[None]) * shifts[np.ix_(of, of)] * scale)
    inverse = np.zeros_like(gram)
    inverse[np.ix_(seen, seen)] = solved.matrix
    return Inverse(inverse, solved.condition)


def _closed(matrix: Numbers) -> Inverse:
    inverse = np.asarray(np.linalg.inv(matrix), dtype=np.float64)
    return Inverse(inverse, float(np.abs(matrix).sum(axis=0).max() * np.abs(inverse).sum(axis=0).max()))


def _by_eigenvalues(matrix: Numbers, rank: int) -> Inverse:
    """From three factors on, answers can depend on one another in ways that double from value to value: such a table
    has leverages of 4^30 and eigenvalues below any rounding, which the condition tells.
    """
    values, vectors = np.linalg.eigh(matrix)
    kept, held = values[len(values) - rank :], vectors[:, len(values) - rank :]
    condition = float(values[-1] / kept[0]) if rank and kept[0] > 0 else float(rank and np.inf)
    return Inverse(np.asarray((held / np.where(kept > 0, kept, np.inf)) @ held.T), condition)


@dataclass(frozen=True, eq=False)
class DenseLeverage:
    """The leverage of any determined combinations, after one elimination and one inverse."""

    condition: float  # by how much rounding may have been magnified
    _form: QuadraticForm

    @classmethod
    def of(cls, codes: Codes, sizes: Sizes, islands: tuple[Ints, ...], *, deficit: int) -> "DenseLeverage":
        """From the seen combinations, each factor's islands, and the number of open directions that are not shifts."""
        made = Elimination.of(codes, sizes)
        homes = np.concatenate([islands[k] for k in made.kept])
        factor = np.repeat(np.arange(len(made.kept)), np.diff(made.starts))
        count = 1 + max(int(island.max()) for island in islands)
        rank = int((homes >= 0).sum()) - len(made.kept) * count - deficit
        # once the largest factor is eliminated, moving all values of another within an island moves nothing else
        shifts = np.eye(len(made.kept))
        inverse = inverse_on_range(made.schur, homes, factor, shifts, rank=rank if deficit else None)
        return cls(inverse.condition, made.quadratic(inverse.matrix, 1 / np.maximum(made.degree, _TINY)))

    def at(self, codes: Codes) -> Numbers:
        """1 / D_v + y' schur+ y: see the top of this file."""
        return np.maximum(self._form.at(codes), 0.0)


@dataclass(eq=False)
class LeverageUpdates:
    """Leverages of some determined combinations, kept up to date while rows are added.

    A row z makes A'A into A'A + z'z. By Sherman and Morrison its inverse B becomes B - Bz'zB / (1 + h), h = zBz' being
    the leverage of z, so the leverage of x falls by (xBz')² / (1 + h): no new inverse is needed.
    Legend: v values and elements of all factors, m combinations.
    """

    rows: IncidenceRows  # (m, v) what each combination adds up
    inverse: Numbers  # (v, v)
    leverage: Numbers  # (m,)

    @classmethod
    def of(cls, rows: IncidenceRows, inverse: Numbers) -> "LeverageUpdates":
        """Start from an inverse of A'A on its range."""
        return cls(rows, inverse, rows.quadratic(inverse))

    @cached_property
    def _held(self) -> "csr_array":
        return self.rows.sparse()

    def between(self, line: int) -> Numbers:
        """For every combination, how much its answer shares with that of one of them: xBz'."""
        return np.asarray(self._held @ self._pull(line))

    def after(self, line: int) -> Numbers:
        """Every leverage once that one is collected."""
        return np.asarray(self.leverage - self.between(line) ** 2 / (1 + self.leverage[line]))

    def add(self, line: int) -> None:
        """Collect it."""
        pull = self._pull(line)
        self.leverage, scale = self.after(line), 1 + self.leverage[line]
        self.inverse -= np.outer(pull, pull / scale)

    def _pull(self, line: int) -> Numbers:
        return np.asarray(self.inverse[:, self.rows.take(np.array([line])).columns].sum(axis=1))


def _apart(matrix: Numbers) -> list[Ints]:
    """The rows of a symmetric matrix that hang together: eigenvectors of the whole are those of its blocks, and to find
    them takes the cube of the largest block. Of few rows it is not asked.
    """
    if len(matrix) <= _FEW_VALUES:
        return [np.arange(len(matrix))]
    label = components(np.argwhere(matrix), len(matrix))
    order = np.argsort(label, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(label[order])) + 1)


@dataclass(frozen=True, eq=False)
class LeaveOneOutFit:
    """For each combination the fit of the others: its value, its variance, and the combination's own leverage.

    Value and variance are NaN where the others do not tell it. `rank` is the degrees of freedom that the fit uses.
    """

    value: Numbers
    variance: Numbers
    leverage: Numbers
    rank: int


@dataclass(frozen=True, eq=False)
class AdditiveFit:
    """A weighted least-squares fit by main effects, and for every combination the fit without it.

    Our own, because a regression library wants the one-hot design written out, and refits for each combination left
    out. Legend: c combinations, v values of the eliminated factor, r all others.

    >>> codes = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=np.int32)
    >>> fit = AdditiveFit.of(codes, (2, 2), weights=np.ones(4))
    >>> fit.left_out(np.array([0.0, 1.0, 2.0, 9.0]), noise=np.ones(4)).value.round(6).tolist()
    [-6.0, 7.0, 8.0, 3.0]
    """

    codes: Codes
    weights: Numbers  # (c,)
    elimination: Elimination
    inverse: Numbers  # (r, r) pseudo-inverse of what is left after elimination
    open_: Numbers  # (r, r) projector on what the combinations leave open
    rank: int

    @classmethod
    def of(cls, codes: Codes, sizes: Sizes, *, weights: Numbers) -> "AdditiveFit":
        """Prepare the fit."""
        made = Elimination.of(codes, sizes, weights)
        inverse, open_ = np.zeros_like(made.schur), np.zeros_like(made.schur)
        blocks = [(block, *np.linalg.eigh(made.schur[np.ix_(block, block)])) for block in _apart(made.schur)]
        largest = max(float(values.max(initial=0.0)) for _, values, _ in blocks)
        least = max(_RANK_TOLERANCE * largest, _NOTHING_LEFT * float(weights.sum()), _TINY)
        rank = int((made.degree > 0).sum())
        for block, values, vectors in blocks:
            kept, left = vectors[:, values > least], vectors[:, values <= least]
            inverse[np.ix_(block, block)] = (kept / values[values > least]) @ kept.T
            open_[np.ix_(block, block)] = left @ left.T
            rank += kept.shape[1]
        return cls(codes, weights, made, inverse, open_, rank)

    @staticmethod
    def too_large(sizes: Sizes) -> bool:
        """Whether the reduced system would be too large to solve."""
        return sum(sizes) - max(sizes) > LARGEST_FIT

    def left_out(self, score: Numbers, noise: Numbers) -> LeaveOneOutFit:
        """Each combination's score as the others tell it, where each score has a variance of its own (`noise`).

        With the fit f, the own leverage h (weight times a (A'WA)+ a') and the score s, the fit without it is
        s - (s - f) / (1 - h): it is what s would have to be for the fit to agree with it. Its variance is that of the
        fit less the share of its own noise, h² noise, over (1 - h)². A combination of weight 0 takes no part in the
        fit, and is told by all those that do.
        """
        fitted, leverage = self.fitted(score), self.own_leverage
        rest = np.where(self.alone, np.nan, 1 - leverage)
        value = score - (score - fitted) / rest
        spread = self._sandwich(noise) - leverage**2 * noise
        return LeaveOneOutFit(value, np.maximum(spread, 0.0) / rest**2, leverage, self.rank)

    @cached_property
    def alone(self) -> Flags:
        """Combinations whose value the others do not tell."""
        return np.asarray((1 - self.own_leverage < ALONE) | self.untold())

    @cached_property
    def own_leverage(self) -> Numbers:
        """How much each combination pulls the fit towards itself: 0 not at all, 1 it is fitted by itself alone."""
        return np.clip(self.weights * self._quadratic(self.inverse, 1 / self._degree), 0, 1)

    def fitted(self, score: Numbers) -> Numbers:
        """The fit itself."""
        return self.pulled_by(self.weights * score)

    def pulled_by(self, pulled: Numbers) -> Numbers:
        """A (A'WA)+ A' `pulled`, which is the fit where `pulled` is weights times scores.

        It is symmetric: the mean v'f of the fit f moves with each score by its weight times A (A'WA)+ A' v.
        """
        share = self.elimination.share
        places, others = self._parts
        first = totals(places, pulled, len(self._degree))
        right = sum(totals(column, pulled, len(share)) for column in others.T) - share @ first
        effects = self.inverse @ right
        level = first / self._degree - share.T @ effects
        return np.asarray(level[places] + effects[others].sum(axis=1))

    @cached_property
    def _parts(self) -> tuple[Ints, Ints]:
        return self.elimination.parts(self.codes)

    @property
    def _degree(self) -> Numbers:
        return np.maximum(self.elimination.degree, _TINY)

    def _quadratic(self, matrix: Numbers, own: Numbers) -> Numbers:
        return self.elimination.quadratic(matrix, own).at(self.codes)

    def untold(self) -> npt.NDArray[np.bool_]:
        """Combinations outside the fit that those within it do not determine."""
        degree = self.elimination.degree
        outside = self._quadratic(self.open_, np.zeros(len(degree))) > _OPEN
        return np.asarray(outside | (degree[self._parts[0]] <= 0))

    def _sandwich(self, noise: Numbers) -> Numbers:
        """The variance of the fit at each combination, when score c has the variance noise c.

        The fit at a is a (A'WA)+ A'W score, so its variance is a (A'WA)+ M (A'WA)+ a' with M = A'W²NA. In the
        eliminated coordinates, where an eliminated value stands for its mean and the others for y, M has a diagonal
        block (the eliminated values'), a mixed block `cross` and an inner block `middle`.
        """
        made = self.elimination
        pulled = _Blocks.of(self.codes, made.sizes, made.eliminated, self.weights**2 * noise)
        own, mixed, share = pulled.degree, pulled.together, made.share
        cross = mixed - share * own  # (r, v): Σ w² noise · y over an eliminated value's combinations
        middle = pulled.inner - share @ mixed.T - mixed @ share.T + (share * own) @ share.T
        outer = self.inverse @ middle @ self.inverse
        total = self._quadratic(outer, own / np.maximum(made.degree**2, _TINY))
        return total + 2 * made.linear(self.inverse @ cross / self._degree, self.codes)
