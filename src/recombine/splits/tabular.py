"""What X can be: a frame, a dataset, a dict of columns, a list of rows or an array, each with names for its columns."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from recombine.errors import ColumnError, SourceError, TableError, nearest
from recombine.tables.sources import as_arrow

_COLUMN_WORDS = ("column_names", "collect_schema", "columns")


def row_count(X: Any) -> int:  # noqa: N803
    """How many rows X has, whatever it is.

    >>> row_count([1, 2, 3]), row_count({"a": [1, 2]}), row_count(np.zeros((4, 2)))
    (3, 2, 4)
    """
    if isinstance(X, dict):
        return len(next(iter(X.values()), ()))
    shape = getattr(X, "shape", None)
    if shape or hasattr(X, "__len__"):
        return int(shape[0]) if shape else len(X)
    raise SourceError(
        f"a {type(X).__name__} has no rows that could be counted",
        why="positions of rows belong to a table in memory",
        instead="load it first: frame.collect() for a lazy Polars frame, streaming=False for a dataset",
    )


def columns_by_name(frame: Any) -> Any:
    """A table whose columns have names: arrays and lists of rows get them, other tables have them."""
    if isinstance(frame, np.ndarray):
        return _columns_of_array(frame)
    if isinstance(frame, list | tuple):
        return _columns_of_rows(list(frame))
    if hasattr(frame, "iloc") and hasattr(frame, "columns"):  # pandas, whose columns may have numbers for names
        return frame.set_axis([str(name) for name in frame.columns], axis=1)
    if isinstance(frame, str | Path):
        raise SourceError(
            f"the table is given as the path {str(frame)!r}",
            why="positions of rows belong to a table in memory",
            instead="read it first, or split the file as it lies: recombine split FILE --factors …",
        )
    if frame is None:
        raise SourceError(
            "there is no table to split",
            why="X is None, and the factors are read from it",
            instead="give X, or bind the table that holds the factors: table=frame",
        )
    if not isinstance(frame, dict) and not any(hasattr(frame, word) for word in _COLUMN_WORDS):
        return as_arrow(frame)  # what is no table is refused there
    return frame


def _columns_of_array(array: np.ndarray[Any, Any]) -> dict[str, Any]:
    if array.ndim != 2:
        raise SourceError(
            f"X is an array of {array.ndim} dimension{'' if array.ndim == 1 else 's'}",
            why="the factors are columns, which need two",
            instead="give an array of rows and columns, or bind the table that holds the factors: table=frame",
        )
    return {f"x{place}": _plain(column) for place, column in enumerate(array.T)}


def _plain(column: np.ndarray[Any, Any]) -> Any:
    """An array has one type for all its columns: whole numbers among floats are whole, objects what they are."""
    if column.dtype.kind == "f" and np.isfinite(column).all() and np.array_equal(column, np.round(column)):
        return column.astype(np.int64)
    return column.tolist() if column.dtype.kind in "OUS" else column


def _columns_of_rows(rows: list[Any]) -> Any:
    if not rows:
        raise no_rows()
    if isinstance(rows[0], Mapping):
        return {str(name): [row.get(name) for row in rows] for name in rows[0]}
    try:
        return _columns_of_array(np.array(rows, dtype=object))
    except SourceError as error:
        raise SourceError(
            "X is a list without columns",
            why="the factors are columns",
            instead="give a frame, a list of dicts or of rows, or bind the table that holds the factors: table=frame",
        ) from error


def known_columns(frame: Any) -> list[str]:
    """The columns' names; Arrow calls its columns themselves `columns`, so it is asked first."""
    if isinstance(frame, dict):
        return list(frame)
    if hasattr(frame, "column_names"):
        return list(frame.column_names)
    if hasattr(frame, "collect_schema"):
        return list(frame.collect_schema().names())
    return list(getattr(frame, "columns", []))


def column_name(frame: Any, asked: str | int, *, role: str) -> str:
    """A column's name from its name or position, or an error that suggests one."""
    known = known_columns(frame)
    if isinstance(asked, int | np.integer) and not isinstance(asked, bool):
        if -len(known) <= asked < len(known):
            return known[asked]
        raise ColumnError(
            f"no column at position {asked} (given as {role})",
            why=f"the table has {len(known)} columns",
            instead=f"count from 0 to {len(known) - 1}, or bind the table that holds it: table=frame",
        )
    if asked not in known:
        raise ColumnError(
            f"no column {asked!r} (given as {role})",
            why="the table has no such column",
            instead=f"{nearest(str(asked), known)} Or bind the table that holds it: table=frame",
        )
    return asked


def no_rows() -> TableError:
    """A table without rows."""
    return TableError("the table holds no rows", why="there is nothing to split", instead="give a table with rows")
