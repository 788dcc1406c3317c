"""Rows of a design that hold ones alone, and need not be equally long: what a combination adds up.

An ordinary factor gives a row one column. A factor whose value is a set gives it one column for each element, none for
the empty set, so rows are ragged: `columns[starts[i]:starts[i + 1]]` are those of row i. Everything that the additive
rule asks of a design is a sum along its rows or back along its columns.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from recombine.numerics.groups import Ints, Numbers
from recombine.numerics.value_graph import components

if TYPE_CHECKING:
    from scipy.sparse import csr_array


_AT_A_TIME = 2**16  # rows


@dataclass(frozen=True, eq=False)
class IncidenceRows:
    """Where the ones of each row stand, of so many columns (`width`).

    >>> rows = IncidenceRows.listed([[0, 2], [], [0, 1, 2]], width=3)
    >>> rows.lengths.tolist(), rows.sums(np.array([1, 10, 100])).tolist(), rows.back(np.array([1.0, 2, 3])).tolist()
    ([2, 0, 3], [101, 0, 111], [4.0, 3.0, 4.0])
    >>> rows.gram().tolist()
    [[2.0, 1.0, 2.0], [1.0, 1.0, 1.0], [2.0, 1.0, 2.0]]
    """

    starts: Ints  # (n + 1,)
    columns: Ints  # (entries,)
    width: int

    @classmethod
    def equal(cls, table: Ints, width: int) -> "IncidenceRows":
        """Rows that are all equally long: a line of the table each."""
        return cls(np.arange(len(table) + 1) * table.shape[1], table.ravel(), width)

    @classmethod
    def listed(cls, rows: list[list[int]], width: int) -> "IncidenceRows":
        """Rows written out."""
        flat = np.fromiter(chain.from_iterable(rows), dtype=np.int64)
        return cls(ends(np.fromiter(map(len, rows), dtype=np.int64)), flat, width)

    def __len__(self) -> int:
        return len(self.starts) - 1

    @cached_property
    def lengths(self) -> Ints:
        """How many ones each row has."""
        return np.diff(self.starts)

    @cached_property
    def table(self) -> Ints | None:
        """A line for each row, where all are equally long: sums over its columns need no index arithmetic."""
        if not len(self) or (self.lengths != self.lengths[0]).any():
            return None
        return self.columns.reshape(len(self), -1)

    @cached_property
    def owners(self) -> Ints:
        """The row of each entry."""
        return np.repeat(np.arange(len(self)), self.lengths)

    def take(self, places: Ints) -> "IncidenceRows":
        """Some of the rows."""
        if self.table is not None:
            return IncidenceRows.equal(self.table[places], self.width)
        lengths = self.lengths[places]
        return IncidenceRows(ends(lengths), self.columns[ranges(self.starts[:-1][places], lengths)], self.width)

    def beside(self, other: "IncidenceRows") -> "IncidenceRows":
        """The same rows, each followed by that of another design, whose columns stand after these.

        >>> one, other = IncidenceRows.listed([[0], [1]], width=2), IncidenceRows.listed([[0, 1], []], width=2)
        >>> both = one.beside(other)
        >>> both.columns.tolist(), both.lengths.tolist(), both.width
        ([0, 2, 3, 1], [3, 1], 4)
        """
        lengths = self.lengths + other.lengths
        starts = ends(lengths)
        columns = np.empty(int(starts[-1]), dtype=np.int64)
        columns[ranges(starts[:-1], self.lengths)] = self.columns
        columns[ranges(starts[:-1] + self.lengths, other.lengths)] = other.columns + self.width
        return IncidenceRows(starts, columns, self.width + other.width)

    def sums(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The sum of a number for each column, or several, over the columns of each row: exact for whole numbers."""
        return np.asarray(self.sparse(values.dtype) @ values)

    def quadratic(self, matrix: Numbers) -> Numbers:
        """a M a' of each row a: the sum of a matrix over all pairs of its columns.

        >>> IncidenceRows.listed([[0, 2], [], [1]], width=3).quadratic(np.arange(9.0).reshape(3, 3)).tolist()
        [16.0, 0.0, 4.0]
        """
        found = np.zeros(len(self))
        for some in np.array_split(np.arange(len(self)), max(1, len(self) // _AT_A_TIME)):
            part = self.take(some)
            often = part.lengths[part.owners]
            left, right = np.repeat(part.columns, often), part.columns[ranges(part.starts[part.owners], often)]
            owner = np.repeat(part.owners, often)
            found[some] = np.bincount(owner, weights=matrix[left, right], minlength=len(part))
        return found

    def back(self, values: npt.NDArray[Any]) -> Numbers:
        """The sum of a number for each row, or several, over the rows that hold each column."""
        return np.asarray(self.sparse(np.float64).T @ values)

    def counts(self) -> Ints:
        """How many rows hold each column."""
        return np.bincount(self.columns, minlength=self.width)

    def sparse(self, kind: Any = np.float64) -> "csr_array":
        """The design itself."""
        from scipy.sparse import csr_array  # noqa: PLC0415 - SciPy is loaded where it is needed

        small = np.int32 if len(self.columns) < 2**31 else np.int64
        ones = np.ones(len(self.columns), dtype=kind)
        parts = (ones, self.columns.astype(small), self.starts.astype(small))
        return csr_array(parts, shape=(len(self), self.width))

    def dense(self) -> Numbers:
        """The design itself, every entry written out."""
        found = np.zeros((len(self), self.width))
        found[self.owners, self.columns] = 1.0
        return found

    def sparse_gram(self) -> "csr_array":
        """A'A: how many rows hold each column, and each pair of columns."""
        design = self.sparse()
        return (design.T.tocsr() @ design).tocsr()

    def gram(self, weights: Numbers | None = None) -> Numbers:
        """A'WA, dense."""
        design = self.sparse()
        heavy = design if weights is None else design.multiply(weights[:, None]).tocsr()
        return np.asarray((design.T.tocsr() @ heavy).toarray())

    def components(self) -> Ints:
        """A label for each column: columns that a chain of rows links have the same."""
        if self.table is not None:
            return components(self.table, self.width)
        held = np.flatnonzero(self.lengths > 1)
        lengths = self.lengths[held] - 1
        first = np.repeat(self.columns[self.starts[held]], lengths)
        others = self.columns[ranges(self.starts[held] + 1, lengths)]
        return components(np.stack([first, others], axis=1), self.width)

    def holding(self) -> tuple[Ints, Ints]:
        """For each column the rows that hold it: where they start, and which."""
        order = np.argsort(self.columns, kind="stable")
        return ends(self.counts()), self.owners[order]


def ends(lengths: Ints) -> Ints:
    """Where each of several pieces starts that stand one after the other, and where the last one ends."""
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def ranges(starts: Ints, lengths: Ints) -> Ints:
    """The concatenation of several ranges.

    >>> ranges(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    offsets = np.repeat(starts - ends(lengths)[:-1], lengths)
    return np.asarray(offsets + np.arange(len(offsets)))
