"""Which row is which combination: the values of each factor, the combinations that occur, and which of them were seen.

Letters: n rows, c combinations that occur, K factors.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from recombine.base.checks import check_listed
from recombine.base.errors import ColumnError, SettingError, TableError
from recombine_lab.probes.columns import check_even, read_parquet

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Values = npt.NDArray[np.float32]
MOST_FACTORS = 6
"""Every set of factors is looked at, and there are 2**K."""


@dataclass(frozen=True, eq=False)
class GridDesign:
    """The combinations of some rows.

    `cells` (c, K) are the codes of the combinations that occur, in order; `cell_of` (n,) the combination of each row,
    -1 where a factor is left out. `alone` (p, 3) lists the rows that show one factor alone: row, factor, value.

    >>> made = designed({"x": [0, 0, 1, 1], "y": ["a", "b", "a", "b"]})
    >>> made.sizes, made.ordered, made.cells.tolist()
    ((2, 2), (True, False), [[0, 0], [0, 1], [1, 0], [1, 1]])
    """

    names: tuple[str, ...]
    values: tuple[tuple[Any, ...], ...]
    ordered: tuple[bool, ...]
    cells: Ints
    cell_of: Ints
    alone: Ints
    seen: Flags | None

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many values each factor has."""
        return tuple(len(one) for one in self.values)

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return len(self.cell_of)

    @cached_property
    def counts(self) -> Ints:
        """(c,) Rows of each combination."""
        return np.bincount(self.cell_of[self.cell_of >= 0], minlength=len(self.cells)).astype(np.int64)

    @property
    def missing(self) -> int:
        """Combinations of the grid that have no row."""
        return int(np.prod(self.sizes)) - len(self.cells)

    def averaged(self, features: npt.NDArray[Any]) -> Values:
        """(n, d) as (c, d): the mean over the rows of each combination."""
        sums = np.zeros((len(self.cells), features.shape[1]), dtype=np.float64)
        kept = self.cell_of >= 0
        if len(self.cells) == kept.sum():  # one row each: nothing to add up
            sums[self.cell_of[kept]] = features[kept]
        else:
            np.add.at(sums, self.cell_of[kept], features[kept])
        return (sums / self.counts[:, None]).astype(np.float32)


def designed(
    table: Any,
    *,
    factors: Sequence[str] | None = None,
    ordered: Sequence[str] | None = None,
    seen: Any = None,
) -> GridDesign:
    """A table of factor values as a design; a missing value is a factor that is left out.

    `seen` is a truth value for each row, or the name of a column of them; a combination is seen if one of its rows is.
    """
    columns = columns_of(table)
    names = _names(columns, factors, seen)
    numbered = [_numbered(name, columns[name]) for name in names]
    codes = np.stack([code for code, _ in numbered], axis=1)
    whole = (codes >= 0).all(axis=1)
    if not whole.any():
        raise TableError(
            "no row has a value of every factor",
            why="a grid is made of combinations",
            instead="give rows with all factors; those with one factor alone serve the partial-input test",
        )
    cells, found = np.unique(codes[whole], axis=0, return_inverse=True)
    cell_of = np.full(len(codes), -1, dtype=np.int64)
    cell_of[whole] = found.reshape(-1)
    return GridDesign(
        names=names,
        values=tuple(values for _, values in numbered),
        ordered=_ordered(names, [values for _, values in numbered], ordered),
        cells=cells.astype(np.int64),
        cell_of=cell_of,
        alone=_alone(codes),
        seen=None if seen is None else _seen(seen, columns, cell_of, len(cells)),
    )


def columns_of(table: Any) -> dict[str, Any]:
    """The columns of a table by name: of a mapping, an Arrow table, a data frame, or a Parquet file."""
    if isinstance(table, str | Path):
        table = read_parquet(table)
    if isinstance(table, pa.Table):
        return {name: table[name] for name in table.column_names}
    if hasattr(table, "columns") and not isinstance(table, Mapping):
        return {str(name): np.asarray(table[name]) for name in table.columns}
    if not isinstance(table, Mapping) or not table:
        raise SettingError(
            f"table={type(table).__name__}",
            why="it says the factors' values of every row",
            instead="write table={'x': […], 'y': […]}, an Arrow table, a data frame, or the name of a Parquet file",
        )
    check_even(table, "a table")
    return {str(name): column for name, column in table.items()}


def is_list(column: Any) -> bool:
    """Whether a column of Arrow holds a list of numbers in each row."""
    kinds = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    return isinstance(column, pa.ChunkedArray) and any(kind(column.type) for kind in kinds)


def numbers_of(column: Any, name: str) -> npt.NDArray[np.float32]:
    """(n, d) A column of numbers, or of lists of numbers that are equally long."""
    if not isinstance(column, pa.ChunkedArray):
        return np.asarray(column, dtype=np.float32).reshape(len(column), -1)
    if not is_list(column):
        return np.asarray(column.to_numpy(), dtype=np.float32).reshape(-1, 1)
    flat = column.combine_chunks().flatten().to_numpy(zero_copy_only=False)
    if len(column) == 0 or len(flat) % len(column) or column.null_count:
        raise ColumnError(
            f"the lists of the column {name!r} are not equally long",
            why="a layer gives as many numbers for every row",
            instead="pad them, or keep one position of each",
        )
    return np.asarray(flat, dtype=np.float32).reshape(len(column), -1)


def _names(columns: Mapping[str, Any], factors: Sequence[str] | None, seen: Any) -> tuple[str, ...]:
    taken = seen if isinstance(seen, str) else None
    known = [name for name, column in columns.items() if not is_list(column) and name != taken]
    names = tuple(known if factors is None else ([factors] if isinstance(factors, str) else factors))
    for name in names:
        check_listed(name, known, f"no factor {name!r}", why=f"the columns are {', '.join(columns)}", error=ColumnError)
    if not 2 <= len(names) <= MOST_FACTORS:
        raise SettingError(
            f"{len(names)} factors",
            why=f"a combination has two factors or more, and every set of at most {MOST_FACTORS} is looked at",
            instead=f"write factors=[…] with two to {MOST_FACTORS} of {', '.join(known)}",
        )
    return names


def _numbered(name: str, column: Any) -> tuple[Ints, tuple[Any, ...]]:
    """A factor's column as codes from 0, -1 where it is missing, and the values in order."""
    plain = column.to_pylist() if hasattr(column, "to_pylist") else np.asarray(column, dtype=object).tolist()
    # NaN is the one value that is not itself
    given = [None if one is None or one != one else one for one in plain]  # noqa: PLR0124
    try:
        values = sorted({one for one in given if one is not None})
    except TypeError as error:
        raise ColumnError(
            f"the factor {name!r} mixes kinds of values",
            why="they cannot be put in order",
            instead="give numbers only, or texts only",
        ) from error
    if len(values) < 2:
        raise TableError(
            f"the factor {name!r} has {len(values)} value" + "s" * (len(values) != 1),
            why="a factor that never changes is in no combination",
            instead="leave it out of `factors`, or give rows with other values",
        )
    place = {value: code for code, value in enumerate(values)}
    return np.array([-1 if one is None else place[one] for one in given], dtype=np.int64), tuple(values)


def _ordered(names: Sequence[str], values: Sequence[Sequence[Any]], given: Sequence[str] | None) -> tuple[bool, ...]:
    """Numbers have an order, words have none, unless it is said which factors have."""
    if given is None:
        return tuple(all(isinstance(one, int | float) and not isinstance(one, bool) for one in v) for v in values)
    for name in given:
        check_listed(name, names, f"ordered={name!r}", why="it is no factor")
    return tuple(name in given for name in names)


def _alone(codes: Ints) -> Ints:
    """The rows with one factor alone: row, factor, value."""
    rows = np.flatnonzero((codes >= 0).sum(axis=1) == 1)
    factor = (codes[rows] >= 0).argmax(axis=1)
    return np.stack([rows, factor, codes[rows, factor]], axis=1).astype(np.int64).reshape(-1, 3)


def _seen(seen: Any, columns: Mapping[str, Any], cell_of: Ints, cells: int) -> Flags:
    if isinstance(seen, str):
        check_listed(seen, list(columns), f"no column {seen!r}", why="seen= names one", error=ColumnError)
        column = columns[seen]
        seen = column.to_pylist() if hasattr(column, "to_pylist") else column
    rows = np.asarray(seen)
    if rows.shape != cell_of.shape or rows.dtype.kind not in "bui":
        raise SettingError(
            f"seen of shape {rows.shape} and type {rows.dtype}",
            why=f"it says of each of {len(cell_of):,} rows whether its combination was in training",
            instead="give a true or false for each row, or the name of a column of them",
        )
    found = np.zeros(cells, dtype=bool)
    found[cell_of[(cell_of >= 0) & rows.astype(bool)]] = True
    return found
