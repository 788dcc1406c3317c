"""Columns given by name, before a table is made of them."""

from collections.abc import Mapping
from typing import Any

from recombine.base.errors import TableError


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
