"""Answers that are vectors: the expression of 5,000 genes, an embedding, several scores of one example.

Of each combination the mean vector is kept, all of them as one matrix of float32, and what tells its noise: how many
rows it has, how far they lie about their mean, and the means of two halves of the rows, which are two measurements of
the same thing (*replicates*). Rows of a combination go to its two halves in turn, so that the halves are as large as
each other and a drift in the order of the rows is in both.

Float32 holds seven digits, which is more than the noise of any measurement leaves; but a mean that is large beside the
differences would use them up. So the matrix is kept about one number for each output (`shift`), the mean of the first
rows that were read, and running means are moved by small steps, in float64.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from recombine.base.decoding import revive
from recombine.base.records import Record
from recombine.numerics.groups import Ints, Numbers

if TYPE_CHECKING:
    from scipy import sparse

Matrix = npt.NDArray[np.float32]

_LINES = 256  # lines of the matrix that are worked on in float64 at a time


@dataclass(frozen=True, eq=False)
class VectorAnswers:
    """The mean vector of each combination. Legend: c combinations, m outputs.

    >>> codes, rows = np.array([0, 0, 1]), np.array([[1.0, 2.0], [3.0, 2.0], [5.0, 0.0]])
    >>> found = answers_of("y", ("a", "b"), codes, rows, combinations=2)
    >>> found.of(np.array([0, 1])).round(6).tolist(), found.within.tolist()
    ([[2.0, 2.0], [5.0, -0.0]], [2.0, nan])
    """

    name: str
    outputs: tuple[str, ...]  # (m,) their names
    count: Numbers  # (c,) rows that hold a whole vector
    shift: Numbers  # (m,) what `means` are told about
    means: Matrix  # (c, m) less `shift`; NaN for a combination without any row
    apart: Matrix  # (c, m) the mean of the second half of the rows less that of the first; NaN with fewer than two
    scatter: Numbers  # (c,) squares about the combination's own mean, added up over outputs
    output_scatter: Numbers  # (m,) the same for each output, added up over combinations
    rows_left_out: int = 0  # rows that hold a combination but no whole vector

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, VectorAnswers)
            and (self.name, self.outputs) == (other.name, other.outputs)
            and np.array_equal(self.count, other.count)
            and np.allclose(self.shift, other.shift, rtol=1e-9)
            and np.allclose(self.means, other.means, rtol=1e-5, atol=1e-6, equal_nan=True)
        )

    __hash__ = None  # type: ignore[assignment]

    def __len__(self) -> int:
        return len(self.count)

    @property
    def width(self) -> int:
        """How many outputs there are."""
        return len(self.outputs)

    def of(self, rows: Ints) -> Numbers:
        """(r, m) The means of some combinations, in float64 and in their own units."""
        return np.asarray(self.means[rows] + self.shift)

    def halves(self, rows: Ints) -> tuple[Numbers, Numbers]:
        """(r, m) twice: the means of the two halves of the rows of some combinations, less `shift` as in `means`."""
        mean, apart = self.means[rows].astype(np.float64), self.apart[rows].astype(np.float64)
        second = (self.count[rows] // 2 / np.maximum(self.count[rows], 1))[:, None]  # its share of the rows
        return mean - second * apart, mean + (1 - second) * apart

    @cached_property
    def within(self) -> Numbers:
        """(c,) The variance of one row about its combination's mean, added up over outputs; NaN with fewer than two."""
        return np.where(self.count > 1, self.scatter / np.maximum(self.count - 1, 1), np.nan)

    def subset(self, rows: Ints) -> "VectorAnswers":
        """The same for some of the combinations; itself where it is all of them."""
        if len(rows) == len(self) and np.array_equal(rows, np.arange(len(self))):
            return self
        return VectorAnswers(
            self.name,
            self.outputs,
            self.count[rows],
            self.shift,
            self.means[rows],
            self.apart[rows],
            self.scatter[rows],
            self.output_scatter,  # of all: it is pooled, and no part of it belongs to one combination
            self.rows_left_out,
        )

    def describe(self) -> dict[str, Any]:
        """The small facts, as JSON holds them."""
        return {"name": self.name, "outputs": self.width, "rows_left_out": self.rows_left_out}

    def tables(self) -> dict[str, pa.Table]:
        """The matrix as Parquet holds it, a line for each combination, and what is known of each output."""
        lines = {"count": self.count, "scatter": self.scatter} | {
            name: pa.FixedSizeListArray.from_arrays(pa.array(np.ascontiguousarray(matrix).ravel()), self.width)
            for name, matrix in (("mean", self.means), ("apart", self.apart))
        }
        outputs = {"output": list(self.outputs), "shift": self.shift, "scatter": self.output_scatter}
        return {"vectors": pa.table(lines), "outputs": pa.table(outputs)}


@dataclass(frozen=True)
class _DescribedVectors:
    """What stands in a record of vectors, beside their matrix."""

    name: str
    outputs: int
    rows_left_out: int


def load_vectors(record: Record) -> VectorAnswers | None:
    """The vectors of a record, if its answers are such."""
    described = revive(_DescribedVectors | None, record.data.get("vector_target"), at="vector_target")
    if described is None:
        return None
    lines, outputs = record.tables["vectors"], record.tables["outputs"]
    means, apart = (
        lines[name].combine_chunks().flatten().to_numpy(zero_copy_only=False).reshape(len(lines), described.outputs)
        for name in ("mean", "apart")
    )
    return VectorAnswers(
        described.name,
        tuple(outputs["output"].to_pylist()),
        lines["count"].to_numpy(),
        outputs["shift"].to_numpy(),
        means,
        apart,
        lines["scatter"].to_numpy(),
        outputs["scatter"].to_numpy(),
        described.rows_left_out,
    )


@dataclass(eq=False)
class RunningMeans:
    """Means of the two halves of each combination's rows, batch by batch. Legend as above, b rows of a batch.

    By the update of Chan, Golub and LeVeque (1983): a batch of n' rows with mean m' moves a mean of n rows by
    (m' - m) n' / (n + n'), and adds (m' - m)² n n' / (n + n') to the squares about it.
    """

    count: Ints  # (2, c)
    means: tuple[Matrix, Matrix]  # (c, m) of each half
    shift: Numbers | None
    scatter: Numbers  # (c,) within halves
    output_scatter: Numbers  # (m,)
    rows_left_out: int = 0

    @classmethod
    def empty(cls, combinations: int, width: int) -> "RunningMeans":
        """Before the first batch."""
        first, second = (np.zeros((combinations, width), dtype=np.float32) for _ in range(2))
        nothing = np.zeros((2, combinations), dtype=np.int64)
        return cls(nothing, (first, second), None, np.zeros(combinations), np.zeros(width))

    def add(self, combination: Ints, rows: "Numbers | sparse.csr_array") -> None:
        """Rows (b, m) of one batch, with the number of the combination of each, -1 for none.

        Rows of a sparse matrix stay sparse: zeros are most of them, and cost nothing.
        """
        there = combination >= 0
        whole = there & _is_whole(rows)
        self.rows_left_out += int((there & ~whole).sum())
        if not whole.any():
            return
        if not whole.all():
            combination, rows = combination[whole], rows[whole]
        if self.shift is None:  # what most rows of a sparse matrix hold is 0 already
            self.shift = (
                rows.mean(axis=0, dtype=np.float64) if isinstance(rows, np.ndarray) else np.zeros(rows.shape[1])
            )
        which, group = np.unique(self._halves(combination), return_inverse=True)
        self._merge(which, group_sums(group, len(which), rows, self.shift))

    def _halves(self, combination: Ints) -> Ints:
        """(b,) Of each row twice its combination, and one more where it goes to the second half."""
        order = np.argsort(combination, kind="stable")
        sorted_ = combination[order]
        starts = np.flatnonzero(np.diff(sorted_, prepend=-1))
        # the place of a row among those of its combination in this batch, then among all that were read
        place = np.arange(len(order)) - np.repeat(starts, np.diff(starts, append=len(order)))
        found = np.empty(len(order), dtype=np.int64)
        found[order] = 2 * sorted_ + (place + self.count.sum(axis=0)[sorted_]) % 2
        return found

    def add_by_column(self, combination: Ints, blocks: "Iterable[tuple[slice, sparse.csc_array]]") -> None:
        """All rows at once, some columns after the others, as a matrix that is stored by column has them."""
        from scipy import sparse  # noqa: PLC0415 - as below

        there, kept = combination >= 0, self.count.size
        group = np.full(len(combination), kept)  # rows without a combination have a group that is thrown away
        group[there] = self._halves(combination[there])
        count = np.bincount(group, minlength=kept + 1)[:kept]
        self.shift = np.zeros(len(self.output_scatter))
        for columns, part in blocks:
            # a line for each output, a column for each group; rows of one group are added up as it is filled
            values = sparse.csr_array(
                (part.data.astype(np.float64), group[part.indices], part.indptr), shape=(part.shape[1], kept + 1)
            )
            mean = values.toarray()[:, :kept] / np.maximum(count, 1)
            np.square(values.data, out=values.data)
            about = np.maximum(values.toarray()[:, :kept] - count * np.square(mean), 0)
            self.output_scatter[columns] += about.sum(axis=1)
            self.scatter += about.sum(axis=0).reshape(-1, 2).sum(axis=1)
            for half in range(2):
                self.means[half][:, columns] = mean[:, half::2].T
        self.count += count.reshape(-1, 2).T

    def _merge(self, which: Ints, new: "_GroupSums") -> None:
        """Move the means by those of a batch, of which group g is the half `which[g] % 2` of `which[g] // 2`."""
        self.output_scatter += new.by_output
        for half in range(2):
            chosen = which % 2 == half
            mine, count, mean = which[chosen] // 2, new.count[chosen], new.mean[chosen]
            old = self.count[half, mine]
            moved = mean - self.means[half][mine]
            self.means[half][mine] += (moved * (count / (old + count))[:, None]).astype(np.float32)
            weight, squares = old * count / (old + count), np.square(moved, out=moved)
            self.scatter[mine] += new.about[chosen] + weight * squares.sum(axis=1)
            self.output_scatter += weight @ squares
            self.count[half, mine] += count

    def finished(self, name: str, outputs: tuple[str, ...]) -> VectorAnswers:
        """The answers; the two matrices are used up, so that no third one is needed."""
        first, second = self.means
        one, other = self.count.astype(np.float64)
        total = one + other
        scatter, by_output = self.scatter.copy(), self.output_scatter.copy()
        for start in range(0, len(total), _LINES):
            part = slice(start, start + _LINES)
            left, right = first[part].astype(np.float64), second[part].astype(np.float64)
            apart = np.where((other[part] > 0)[:, None], right - left, 0.0)
            share = (other[part] / np.maximum(total[part], 1))[:, None]
            weight = one[part] * share[:, 0]
            scatter[part] += weight * np.square(apart).sum(axis=1)
            by_output += weight @ np.square(apart)
            first[part] = np.where((total[part] > 0)[:, None], left + share * apart, np.nan)
            second[part] = np.where((other[part] > 0)[:, None], apart, np.nan)
        shift = np.zeros(first.shape[1]) if self.shift is None else self.shift
        return VectorAnswers(name, outputs, total, shift, first, second, scatter, by_output, self.rows_left_out)


@dataclass(frozen=True, eq=False)
class _GroupSums:
    """Rows of a batch by group. Legend: g groups."""

    count: Ints  # (g,)
    mean: Numbers  # (g, m) less the shift
    about: Numbers  # (g,) squares about the group's mean, added up over outputs
    by_output: Numbers  # (m,) the same, added up over groups


def group_sums(group: Ints, groups: int, rows: "Numbers | sparse.csr_array", shift: Numbers) -> _GroupSums:
    """Means and squares of rows (b, m) by their group (b,).

    Squares about a mean are Σx² − n·mean², in float64 and about the shift: what is lost is a millionth where a mean is
    10⁵ times as large as the spread, and one pass over the rows is enough.

    >>> from scipy import sparse
    >>> rows = np.array([[0.0, 1.0], [2.0, 0.0], [4.0, 0.0]])
    >>> dense = group_sums(np.array([0, 1, 1]), 2, rows, np.zeros(2))
    >>> dense.mean.tolist(), dense.about.tolist(), dense.by_output.tolist()
    ([[0.0, 1.0], [3.0, 0.0]], [0.0, 2.0], [2.0, 0.0])
    >>> thin = group_sums(np.array([0, 1, 1]), 2, sparse.csr_array(rows), np.zeros(2))
    >>> np.array_equal(thin.mean, dense.mean) and np.array_equal(thin.by_output, dense.by_output)
    True
    """
    from scipy import sparse  # noqa: PLC0415 - loaded where vectors are read

    count = np.bincount(group, minlength=groups)
    order, starts = np.argsort(group, kind="stable"), np.concatenate([[0], np.cumsum(count)])
    if not isinstance(rows, np.ndarray):
        rows = rows[order]
        data = rows.data.astype(np.float64)
        # rows of a group become one row in which an output may stand several times, which are added up as it is filled
        sums = sparse.csr_array((data, rows.indices, rows.indptr[starts]), shape=(groups, rows.shape[1])).toarray()
        np.square(data, out=data)
        by_output = np.bincount(rows.indices, weights=data, minlength=rows.shape[1]).astype(np.float64)
        squares = np.diff(np.concatenate([[0.0], np.cumsum(data)])[rows.indptr[starts]])
    else:
        rows = rows - shift
        members = sparse.csr_array((np.ones(len(order)), order, starts), shape=(groups, len(order)))
        sums = members @ rows
        squares = members @ np.einsum("ij,ij->i", rows, rows)
        by_output = np.einsum("ij,ij->j", rows, rows)
    mean = np.divide(sums, count[:, None], out=sums)
    squares -= count * np.einsum("ij,ij->i", mean, mean)
    by_output -= count @ np.square(mean)
    if not isinstance(rows, np.ndarray):
        mean -= shift
    return _GroupSums(count, mean, np.maximum(squares, 0), np.maximum(by_output, 0))


def _is_whole(rows: "Numbers | sparse.csr_array") -> npt.NDArray[np.bool_]:
    """(b,) Whether all outputs of a row are numbers."""
    if isinstance(rows, np.ndarray):
        return np.asarray(np.isfinite(rows).all(axis=1))
    found = np.ones(rows.shape[0], dtype=bool)
    odd = np.flatnonzero(~np.isfinite(rows.data))
    found[np.searchsorted(rows.indptr, odd, side="right") - 1] = False
    return found


def answers_of(
    name: str, outputs: tuple[str, ...], combination: Ints, rows: Numbers, *, combinations: int
) -> VectorAnswers:
    """The answers of rows (n, m) that lie in memory, with the number of the combination of each.

    >>> answers_of("y", ("a",), np.array([0, 0, 0]), np.array([[1.0], [2.0], [6.0]]), combinations=1).apart.tolist()
    [[-1.5]]
    """
    running = RunningMeans.empty(combinations, rows.shape[1])
    running.add(combination, np.asarray(rows, dtype=np.float64))
    return running.finished(name, outputs)
