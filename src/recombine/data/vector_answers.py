"""Answers that are vectors: the expression of 5,000 genes, an embedding, several scores of one example.

Of each combination the mean vector is kept, all of them as one matrix of float32, and what tells its noise: how many
rows it has, how far they lie about their mean, and the means of two halves of the rows, which are two measurements of
the same thing (*replicates*). Rows of a combination go to its two halves in turn, so that the halves are as large as
each other and a drift in the order of the rows is in both.

Float32 holds seven digits, which is more than the noise of any measurement leaves; but a mean that is large beside the
differences would use them up. So the matrix is kept about one number for each output (`shift`), the mean of the first
rows that were read, and sums are in float64.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from recombine.base.decoding import revive
from recombine.base.errors import ColumnError
from recombine.base.records import Record
from recombine.numerics.groups import Ints, Numbers, stretches

if TYPE_CHECKING:
    from scipy import sparse

Matrix = npt.NDArray[np.float32]

_LINES = 256  # combinations that are worked on at a time
_CACHED = 128 * 1024  # numbers of rows that are worked on at a time: a megabyte in float64
_CACHED_SPARSE = 512 * 1024  # entries of a sparse matrix, and sums, that are worked on at a time
_NARROW = 64  # outputs below which rows are added up number by number


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
    """Sums over the two halves of each combination's rows, batch by batch. Legend as above, b rows of a batch.

    In float64 and about `shift`, the mean of the first rows: what Σx² − n·mean² loses is then a millionth where a mean
    lies 10⁵ times as far from the shift as its rows from it, and every number is looked at once.
    """

    count: Ints  # (2, c)
    sums: Numbers  # (2 c, m) less the shift; of combination k the lines 2 k and 2 k + 1 are those of its halves
    shift: Numbers | None
    squares: Numbers  # (c,) added up over outputs
    output_squares: Numbers  # (m,)
    rows_left_out: int = 0

    @classmethod
    def empty(cls, combinations: int, width: int) -> "RunningMeans":
        """Before the first batch."""
        nothing = np.zeros((2, combinations), dtype=np.int64)
        return cls(nothing, np.zeros((2 * combinations, width)), None, np.zeros(combinations), np.zeros(width))

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
        if self.shift is None:  # most numbers of a sparse matrix are 0 already
            plain = isinstance(rows, np.ndarray)
            self.shift = rows.mean(axis=0, dtype=np.float64) if plain else np.zeros(rows.shape[1])
        half = self._halves(combination)
        if isinstance(rows, np.ndarray) or self.shift.any():
            self._add_plain(half, rows if isinstance(rows, np.ndarray) else rows.toarray(), self.shift)
        else:
            self._add_sparse(half, rows)
        self.count += np.bincount(half, minlength=self.count.size).reshape(-1, 2).T

    def _halves(self, combination: Ints) -> Ints:
        """(b,) The line of `sums` that each row belongs to: rows of a combination go to its halves in turn."""
        order = np.argsort(combination, kind="stable")
        sorted_ = combination[order]
        starts = np.flatnonzero(np.diff(sorted_, prepend=-1))
        # the place of a row among those of its combination in this batch, then among all that were read
        place = np.arange(len(order)) - np.repeat(starts, np.diff(starts, append=len(order)))
        found = np.empty(len(order), dtype=np.int64)
        found[order] = 2 * sorted_ + (place + self.count.sum(axis=0)[sorted_]) % 2
        return found

    def _add_plain(self, half: Ints, rows: Numbers, shift: Numbers) -> None:
        """Some rows at a time, so that what is worked on stays in the processor's cache."""
        width, every = rows.shape[1], self.sums.reshape(-1)
        step = max(_CACHED // width, 1)
        for start in range(0, len(rows), step):
            part, lines = rows[start : start + step] - shift, half[start : start + step]
            self.output_squares += np.einsum("ij,ij->j", part, part)
            self.squares += np.bincount(lines // 2, np.einsum("ij,ij->i", part, part), minlength=len(self.squares))
            if width < _NARROW:
                np.add.at(every, lines[:, None] * width + np.arange(width), part)
            else:  # a line is added to a line faster than number by number
                for line, row in zip(lines.tolist(), part, strict=True):
                    self.sums[line] += row

    def _add_sparse(self, half: Ints, rows: "sparse.csr_array") -> None:
        order = np.argsort(half, kind="stable")
        lines, first = np.unique(half[order], return_index=True)
        starts = np.append(first, len(order))
        before = np.concatenate([[0], np.cumsum(np.diff(rows.indptr)[order], dtype=np.int64)])[starts]
        for low, high in stretches(before + np.arange(len(starts)) * rows.shape[1], _CACHED_SPARSE):
            part = rows[order[starts[low] : starts[high]]]
            data, ends = part.data.astype(np.float64), before[low : high + 1] - before[low]
            # rows of one line become one row, in which an output may stand several times: they are added up as it is
            # filled
            merged = type(rows)((data, part.indices, ends), shape=(high - low, rows.shape[1]))
            self.sums[lines[low:high]] += merged.toarray()
            np.square(data, out=data)  # which is that of `merged`, too
            self.output_squares += merged.T @ np.ones(high - low)
            self.squares += np.bincount(
                lines[low:high] // 2, merged @ np.ones(rows.shape[1]), minlength=len(self.squares)
            )

    def add_by_column(self, combination: Ints, blocks: "Iterable[tuple[slice, sparse.csc_array]]") -> None:
        """All rows at once, some columns after the others, as a matrix that is stored by column has them."""
        there, lines = combination >= 0, len(self.sums)
        half = np.full(len(combination), lines)  # of rows that belong nowhere: a line more, which is dropped
        half[there] = self._halves(combination[there])
        self.shift = np.zeros(self.sums.shape[1])
        for columns, part in blocks:
            if not np.isfinite(part.data).all():
                raise ColumnError(
                    "a matrix that is stored by column holds numbers that are missing",
                    why="rows that miss an output are left out, and here they are only known at the end",
                    instead="store it by row (tocsr), or fill the gaps",
                )
            for low, high in stretches(part.indptr + np.arange(len(part.indptr)) * lines, _CACHED_SPARSE):
                inside = slice(part.indptr[low], part.indptr[high])
                data, width = part.data[inside].astype(np.float64), high - low
                key = half[part.indices[inside]]
                key += np.repeat(np.arange(width) * (lines + 1), np.diff(part.indptr[low : high + 1]))
                added, squares = (
                    np.bincount(key, one, minlength=width * (lines + 1)).reshape(width, -1)[:, :lines]
                    for one in (data, np.square(data))
                )
                here = slice(columns.start + low, columns.start + high)
                self.sums[:, here] += added.T
                self.output_squares[here] += squares.sum(axis=1)
                self.squares += squares.sum(axis=0).reshape(-1, 2).sum(axis=1)
        self.count += np.bincount(half[there], minlength=self.count.size).reshape(-1, 2).T

    def finished(self, name: str, outputs: tuple[str, ...]) -> VectorAnswers:
        """The answers."""
        one, other = self.count.astype(np.float64)
        total, (lines, width) = one + other, (len(one), self.sums.shape[1])
        means, apart = (np.empty((lines, width), dtype=np.float32) for _ in range(2))
        scatter, by_output = self.squares.copy(), self.output_squares.copy()
        for start in range(0, lines, _LINES):
            part = slice(start, start + _LINES)
            first, second = self.sums[2 * start : 2 * (start + _LINES)].reshape(-1, 2, width).swapaxes(0, 1)
            mean = (first + second) / np.maximum(total[part], 1)[:, None]
            squares = np.square(mean)
            scatter[part] -= total[part] * squares.sum(axis=1)
            by_output -= total[part] @ squares
            between = second / np.maximum(other[part], 1)[:, None] - first / np.maximum(one[part], 1)[:, None]
            means[part] = np.where((total[part] > 0)[:, None], mean, np.nan)
            apart[part] = np.where((other[part] > 0)[:, None], between, np.nan)
        shift = np.zeros(width) if self.shift is None else self.shift
        scatter, by_output = np.maximum(scatter, 0), np.maximum(by_output, 0)
        return VectorAnswers(name, outputs, total, shift, means, apart, scatter, by_output, self.rows_left_out)


def _is_whole(rows: "Numbers | sparse.csr_array") -> npt.NDArray[np.bool_]:
    """(b,) Whether all outputs of a row are numbers."""
    numbers = rows.ravel() if isinstance(rows, np.ndarray) else rows.data
    with np.errstate(all="ignore"):
        whole = np.isfinite(np.dot(numbers, numbers))  # seldom false, and sooner known than of each of them
    if whole:
        return np.ones(rows.shape[0], dtype=bool)
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
