"""Columns given by name, before a table is made of them, or in a Parquet file."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from recombine.base.errors import SourceError, TableError
from recombine.base.files import place_of
from recombine.data.locations import suggest_file


def check_even(columns: Mapping[Any, Any], called: str) -> None:
    """Columns belong together row by row; what has no length is left to whoever reads it.

    >>> check_even({"a": [1, 2], "b": [3, 4]}, "points")
    """
    rows = {name: len(values) for name, values in columns.items() if hasattr(values, "__len__")}
    if len(set(rows.values())) < 2:
        return
    (first, many), *others = rows.items()
    other, few = next((name, count) for name, count in others if count != many)
    raise TableError(
        f"{called} with columns of {many:,} and {few:,} rows",
        why=f"'{first}' and '{other}' belong together row by row",
        instead="give every column a value for each row",
    )


def read_parquet(path: str | Path) -> pa.Table:
    """A Parquet file, or words on why it cannot be read."""
    place = place_of(path)
    if not os.path.exists(place):  # noqa: PTH110 - a path that no file can have raises in `Path.exists`
        raise SourceError(f"no file '{path}'", why="there is no such file", instead=suggest_file(place, (".parquet",)))
    try:
        return pq.read_table(place)
    except (OSError, pa.ArrowInvalid) as error:
        raise SourceError(
            f"'{path}' cannot be read as Parquet",
            why=str(error).splitlines()[0],
            instead="give a Parquet file with a column for each factor or entry, and a list column for each layer",
        ) from error
