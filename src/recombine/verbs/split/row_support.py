"""A table in memory as a support, and the combination that each of its rows holds.

X is a frame, a dataset, a dict of columns, a list of rows or an array, each with names for its columns. The support is
counted by `recombine.read`, so a frame is read here exactly as a file is elsewhere; a second question asks the same
engine for the value of every row, in the rows' order.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from recombine.base.checks import check_choice
from recombine.base.errors import ColumnError, SettingError, SourceError, TableError, nearest
from recombine.data.columns import Bins
from recombine.data.frames import as_arrow
from recombine.data.read import read
from recombine.data.row_codes import row_codes
from recombine.data.set_columns import SetColumns, SetSource, set_columns
from recombine.data.support import LabelTarget, Support
from recombine.numerics.groups import Ints, Numbers

Names = Sequence[str | int]
Missing = Literal["refuse", "leave out", "value"]

_COLUMN_WORDS = ("column_names", "collect_schema", "columns")


"""What becomes of rows that miss a factor: an error, no side, or a side by missing as a value of its own."""
KeptMissing = Literal["refuse", "value"]
"""The same where the caller tells the side of every row, so that none can be left out."""


@dataclass(frozen=True, eq=False)
class RowSupport:
    """The support of a table; for each row the number of its combination in the support, and of its class.

    A row that misses a factor and was left out has the combination -1.
    """

    support: Support
    combination: Ints
    label: Ints | None = None

    def __len__(self) -> int:
        return len(self.combination)

    def on(self, side: npt.NDArray[np.bool_]) -> Ints:
        """The positions of the rows whose combination is on a side."""
        return np.flatnonzero(np.append(side, False)[self.combination])


def rows_of_table(
    X: Any,  # noqa: N803 - scikit-learn's name
    *,
    factors: Names,
    y: Any = None,
    table: Any = None,
    bins: Mapping[str, Bins] | None = None,
    sets: Mapping[str, SetSource] | None = None,
    stratify: str | int | None = None,
    missing: Missing = "refuse",
) -> RowSupport:
    """Read the factors of X, or of the table that is bound to it, and number each row's combination.

    >>> frame = {"colour": ["red", "blue", "red"], "shape": ["disc", "disc", "bar"]}
    >>> rows_of_table(frame, factors=["colour", "shape"]).combination.tolist()
    [2, 0, 1]
    """
    frame = columns_by_name(X if table is None else table)
    _check_length(X, table)
    read_from = set_columns(sets)
    names = [factor if factor in read_from else column_name(frame, factor, role="a factor") for factor in factors]
    held = [column for name in names for column in (read_from[name].columns if name in read_from else (name,))]
    for column in held:
        column_name(frame, column, role="a factor")
    target = _target(frame, stratify, y)
    if target in held:
        raise SettingError(
            f"{target!r} is both a factor and the strata",
            why="whole combinations are held out, so the values of a factor cannot be shared out like classes",
            instead="leave stratify out, or give the classes under another name",
        )
    arrow = _arrow(frame, list(dict.fromkeys(held)), target, y)
    _check_rows(arrow, [name for name in names if name not in read_from], missing)
    support = read(
        arrow,
        factors=names,
        target=target,
        target_kind=None if target is None else "label",
        bins=bins,
        sets=sets,
        missing="value" if missing == "value" else "leave out",
    )
    if missing == "refuse" and support.missing_rows:
        raise _missing(next(iter(support.left_out)), support.missing_rows, len(arrow))
    return _number_rows(arrow, support, bins or {}, read_from)


def rows_with_sides(
    source: Any,
    *,
    factors: Names | None,
    missing: KeptMissing,
    y: Any = None,
    stratify: str | int | None = None,
    bins: Mapping[str, Bins] | None = None,
) -> RowSupport:
    """The rows of a table, where the caller tells the side of each: its factors are named, and no row is left out."""
    if factors is None:
        raise SettingError(
            "no factors were given",
            why="the combinations of a table are told by its factors; a support knows its own",
            instead="name its columns: factors=['colour', 'shape']",
        )
    why = "every row's side was told, so a row that misses a factor is refused, or missing counts as a value"
    check_choice("missing", missing, get_args(KeptMissing), why=why, instead="write 'refuse' or 'value'")
    return rows_of_table(source, factors=factors, y=y, stratify=stratify, bins=bins, missing=missing)


def side_positions(side: Any, size: int, name: str) -> Ints:
    """Which of so many rows, or combinations, stand on a side: from positions, or from a mask of booleans."""
    given = np.asarray(side)
    if given.dtype == bool:
        if given.shape != (size,):
            raise SettingError(
                f"{name} has {given.size:,} booleans",
                why=f"there are {size:,} of what it chooses from",
                instead="give one boolean for each, or positions",
            )
        return np.flatnonzero(given)
    if given.ndim != 1 or (len(given) and given.dtype.kind not in "iu"):
        raise SettingError(
            f"{name} holds {given.dtype.name} entries" + (f" of shape {given.shape}" if given.ndim != 1 else ""),
            why="a side lists positions, which are whole numbers",
            instead="give positions from 0 on, or booleans",
        )
    stray = given[(given < 0) | (given >= size)]
    if len(stray):
        raise SettingError(
            f"{name} holds the position {int(stray[0]):,}",
            why=f"positions go from 0 to {size - 1:,}",
            instead="give positions from 0 on, not labels of an index",
        )
    return given.astype(np.int64)


def _target(frame: Any, stratify: str | int | None, y: Any) -> str | None:
    """The column of the classes: one of the table, else y under its own name."""
    if stratify is None:
        return None
    if stratify == "y" and "y" not in known_columns(frame):
        if y is None:
            raise SettingError(
                "stratify='y'",
                why="no y was given, and the table has no column of that name",
                instead="call split(X, y), or name a column of the table",
            )
        return "y"
    return column_name(frame, stratify, role="stratify")


def _arrow(frame: Any, names: list[str], target: str | None, y: Any) -> pa.Table:
    bound = target is not None and target in known_columns(frame)
    wanted = [*names, target] if bound and target is not None else names
    arrow = as_arrow(frame, columns=wanted).select(wanted)
    if target is not None and not bound:
        classes = as_arrow({"y": np.asarray(y).tolist()})["y"]
        if len(classes) != len(arrow):
            raise SettingError(
                f"y has {len(classes):,} entries, and the table {len(arrow):,} rows",
                why="each row has one class",
                instead="give X and y of one length",
            )
        arrow = arrow.append_column("y", classes)
    arrow = _plain_text(arrow)
    if target is not None and pa.types.is_floating(arrow[target].type):
        arrow = arrow.set_column(arrow.schema.get_field_index(target), target, _whole_classes(arrow[target], target))
    return arrow


def _whole_classes(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    """Classes that were stored as floats; measurements have no classes."""
    if not pc.all(pc.equal(pc.floor(column), column)).as_py():
        raise ColumnError(
            f"the strata {name!r} hold numbers with fractions",
            why="shares are kept for classes, and nearly every row would be a class of its own",
            instead="name a column of classes, or cut the numbers into classes first",
        )
    return column.cast(pa.int64())


def _plain_text(arrow: pa.Table) -> pa.Table:
    """Categories of pandas and Polars as the text that they stand for."""
    for place, field in enumerate(arrow.schema):
        if pa.types.is_dictionary(field.type):
            arrow = arrow.set_column(place, field.name, arrow[field.name].cast(field.type.value_type))
    return arrow


def _check_length(X: Any, table: Any) -> None:  # noqa: N803
    if table is None or X is None:
        return
    given, bound = row_count(X), row_count(table)
    if given != bound:
        raise SettingError(
            f"X has {given:,} rows, and the bound table {bound:,}",
            why="row i of the table tells the factors of row i of X",
            instead="bind a table with the same rows in the same order; inside another split, give the factors in X",
        )


def _check_rows(arrow: pa.Table, names: list[str], missing: Missing) -> None:
    if not len(arrow):
        raise no_rows()
    why = "a row that misses a factor is refused, or left out, or missing counts as a value"
    check_choice("missing", missing, get_args(Missing), why=why, instead="write 'refuse', 'leave out' or 'value'")
    for name in names if missing == "refuse" else ():
        absent = pc.sum(pc.is_null(arrow[name], nan_is_null=True)).as_py()
        if absent:
            raise _missing(name, absent, len(arrow))


def _missing(name: str, absent: int, rows: int) -> TableError:
    return TableError(
        f"{name!r} is missing in {absent:,} of {rows:,} rows",
        why="such a row holds no combination, so it belongs to no side",
        instead="leave them out: missing='leave out'; or let missing be a value of its own: missing='value'",
    )


def _number_rows(
    arrow: pa.Table, support: Support, bins: Mapping[str, Bins], sets: Mapping[str, SetColumns]
) -> RowSupport:
    """The combination of each row, and its class."""
    found = row_codes(arrow, support, bins=bins, sets=sets)
    labels = isinstance(support.target, LabelTarget) and found.answers is not None
    return RowSupport(support, found.combination, _places(found.answers) if labels else None)


def _places(answers: Numbers | None) -> Ints:
    """The class of each row, -1 where it is missing."""
    return np.asarray(np.nan_to_num(np.asarray(answers), nan=-1.0), dtype=np.int64)


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


def column_name(frame: Any, column: str | int, *, role: str) -> str:
    """A column's name from its name or position, or an error that suggests one."""
    known = known_columns(frame)
    if isinstance(column, int | np.integer) and not isinstance(column, bool):
        if -len(known) <= column < len(known):
            return known[column]
        raise ColumnError(
            f"no column at position {column} (given as {role})",
            why=f"the table has {len(known)} columns",
            instead=f"count from 0 to {len(known) - 1}, or bind the table that holds it: table=frame",
        )
    if column not in known:
        raise ColumnError(
            f"no column {column!r} (given as {role})",
            why="the table has no such column",
            instead=f"{nearest(str(column), known)} Or bind the table that holds it: table=frame",
        )
    return column


def no_rows() -> TableError:
    """A table without rows."""
    return TableError("the table holds no rows", why="there is nothing to split", instead="give a table with rows")
