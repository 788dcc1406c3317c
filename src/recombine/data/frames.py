"""A table in memory, of any library, as Arrow with its rows in their order."""

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from recombine.base.errors import ColumnError, SourceError
from recombine.data.engine_errors import first_line

_SPLIT = "split"
"""The column in which a dictionary of Hugging Face datasets tells a row's split."""
_KNOWN = {pa.float16(): pa.float32(), pa.string_view(): pa.large_string(), pa.null(): pa.string()}
"""What DuckDB does not know, or (text as Polars hands it over) cannot filter before 2.0, and what it gets instead.
A column without any value is text, as it is in a CSV."""


def as_arrow(frame: Any, *, columns: Sequence[str] | None = None) -> pa.Table:
    """A frame of any library as Arrow, through the interface that they share.

    >>> as_arrow({"a": [1, 2], "b": ["x", "y"]}, columns=["b"]).column_names
    ['b']
    """
    try:
        table = _converted(frame, columns)
        for place, field in enumerate(table.schema):
            if field.type in _KNOWN:
                table = table.set_column(place, field.name, table.column(place).cast(_KNOWN[field.type]))
        return table
    except (pa.ArrowException, TypeError, ValueError, KeyError) as error:
        raise ColumnError(
            f"cannot read this {type(frame).__name__} as a table",
            why=first_line(error),
            instead="give columns of one length, each of one type, for example with astype(str)",
        ) from error


def library_of(frame: Any) -> str:
    """The package that a frame comes from."""
    return type(frame).__module__.partition(".")[0]


def _converted(frame: Any, columns: Sequence[str] | None) -> pa.Table:
    """Only the columns that are needed: one that Arrow cannot hold does no harm where nobody asks for it."""
    if library_of(frame) == "datasets":
        return _arrow_of_hugging_face(frame, columns)
    if library_of(frame) == "pandas" and hasattr(frame, "columns"):
        return _arrow_of_pandas(frame, columns)
    if isinstance(frame, dict):
        return pa.table({name: frame[name] for name in _needed(frame, columns)})
    if hasattr(frame, "collect_schema") and hasattr(frame, "collect"):  # a lazy Polars frame
        return pa.table(frame.select(_needed(frame.collect_schema().names(), columns)).collect())
    if hasattr(frame, "__arrow_c_stream__"):
        table = pa.table(frame)
        return table.select(_needed(table.column_names, columns))
    raise SourceError(
        f"cannot read {type(frame).__name__} as a table",
        why="it is not a path, URI, frame, Arrow table, Hugging Face dataset, Ibis table or dict of columns",
        instead="give one of those",
    )


def _needed(names: Iterable[str], columns: Sequence[str] | None) -> list[str]:
    """The columns to keep: all of them where one is not there, so that the nearest name can be suggested."""
    there = list(names)
    return there if columns is None or not set(columns) <= set(there) else list(dict.fromkeys(columns))


def _arrow_of_hugging_face(dataset: Any, columns: Sequence[str] | None) -> pa.Table:
    """What a dataset's own row selection leaves of it."""
    if isinstance(dataset, dict):
        return _arrow_of_splits(dataset, columns)
    if not hasattr(dataset, "__len__"):
        raise SourceError(
            f"cannot count a {type(dataset).__name__}",
            why="it is a stream, of which the rows can be seen only one after the other",
            instead="load it with streaming=False, or give the path of its files, such as 'hf://datasets/…/*.parquet'",
        )
    return pa.table(dataset.select_columns(_needed(dataset.column_names, columns)).with_format("arrow")[:])


def _arrow_of_splits(datasets: dict[str, Any], columns: Sequence[str] | None) -> pa.Table:
    """All splits as one table with a column `split`, for those who ask for it; others would count them together."""
    kind, keys = type(datasets).__name__, ", ".join(map(repr, datasets))
    if not datasets or (columns is not None and _SPLIT not in columns):
        raise SourceError(
            f"this is a {kind}, not one table",
            why=f"it holds the splits {keys}, and counting them together would hide which is which",
            instead=f"give one of them: dataset[{next(iter(datasets), 'train')!r}]; recombine.lint takes all of them",
        )
    if any(_SPLIT in one.column_names for one in datasets.values()):
        raise ColumnError(
            f"the column {_SPLIT!r} stands in a {kind} of the splits {keys}",
            why="the name of the split goes into a column of that name",
            instead=f"rename it first: dataset.rename_column({_SPLIT!r}, 'old_split')",
        )
    asked = None if columns is None else [name for name in columns if name != _SPLIT]
    tables = []
    for name, one in datasets.items():
        table = _arrow_of_hugging_face(one, asked)
        tables.append(table.append_column(_SPLIT, pa.array([str(name)] * len(table), pa.string())))
    return pa.concat_tables(tables, promote_options="permissive")


def _arrow_of_pandas(frame: Any, columns: Sequence[str] | None) -> pa.Table:
    twice = [name for name in frame.columns[frame.columns.duplicated()] if columns is None or name in columns]
    if twice:
        raise ColumnError(
            f"the column {str(twice[0])!r} stands twice in this DataFrame",
            why="its name does not tell which of them is meant",
            instead="rename one, or keep the first of each: df.loc[:, ~df.columns.duplicated()]",
        )
    table = pa.Table.from_pandas(frame[_needed(frame.columns, columns)], preserve_index=False)
    for place, field in enumerate(table.schema):
        if field.type == pa.float64() and _whole_with_gaps(table[field.name]):
            table = table.set_column(place, field.name, table[field.name].cast(pa.int64()))
    return table


def _whole_with_gaps(column: pa.ChunkedArray) -> bool:
    """Whether these were whole numbers before pandas, which turns them into floats where one is missing."""
    if not 0 < column.null_count < len(column):
        return False
    small = pc.all(pc.less(pc.abs(column), 2.0**53)).as_py()
    return bool(small and pc.all(pc.equal(pc.floor(column), column)).as_py())
