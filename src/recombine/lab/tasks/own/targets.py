"""The target column of a user's table: classes, or numbers."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from recombine.errors import ColumnError
from recombine.lab.tasks.own.rows import Ints, refuse_gaps, require_columns

TargetForm = Literal["auto", "classes", "values"]
_MOST_CLASSES = 100


@dataclass(frozen=True, eq=False)
class Targets:
    """The target of each row: a number, or the place of its class among `classes`."""

    numbers: npt.NDArray[np.float64]
    classes: tuple[Any, ...] | None

    @classmethod
    def of(cls, table: pa.Table, name: str, form: TargetForm) -> "Targets":
        """Read a column, as `recombine.read` does: text, booleans and few whole numbers are classes.

        >>> Targets.of(pa.table({"y": ["b", "a", "b"]}), "y", "auto").numbers
        array([1., 0., 1.])
        """
        require_columns(table, (name,), role="the target")
        refuse_gaps(table, name)
        column = table[name]
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if form == "values" or (form == "auto" and _are_numbers(column)):
            return cls(_numbers(column, name), None)
        classes = pc.unique(column).sort()
        places = pc.index_in(column, value_set=classes)
        return cls(np.asarray(places.to_numpy(), dtype=np.float64), tuple(classes.to_pylist()))

    def by_combination(self, combination: Ints, size: int) -> npt.NDArray[Any]:
        """The mean of the rows of each of `size` combinations, or their commonest class (of equals the first)."""
        if self.classes is None:
            totals = np.bincount(combination, self.numbers, minlength=size)
            return np.asarray(totals / np.bincount(combination, minlength=size))
        votes = np.zeros((size, len(self.classes)), dtype=np.int64)
        np.add.at(votes, (combination, self.numbers.astype(np.int64)), 1)
        return np.asarray(votes.argmax(axis=1))


def _are_numbers(column: pa.ChunkedArray) -> bool:
    whole = pa.types.is_integer(column.type)
    return bool(pa.types.is_floating(column.type) or (whole and len(pc.unique(column)) > _MOST_CLASSES))


def _numbers(column: pa.ChunkedArray, name: str) -> npt.NDArray[np.float64]:
    if not (pa.types.is_floating(column.type) or pa.types.is_integer(column.type) or pa.types.is_boolean(column.type)):
        raise ColumnError(
            f"the target {name!r} is of type {column.type}",
            why="form='values' asks for numbers",
            instead="write form='classes', or name a column of numbers",
        )
    return np.asarray(column.to_numpy(), dtype=np.float64)
