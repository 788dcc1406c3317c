"""Samples that a harness has logged, as a table: a row for each sample, with whatever it is told by as columns."""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from recombine.errors import ColumnError, TableError

Row = Mapping[str, Any]
_PLAIN = (str, bool, int, float)


def sample_table(rows: Sequence[Row], *, source: str) -> pa.Table:
    """Rows of plain values as a table; a column that holds several kinds of them is text.

    >>> sample_table([{"id": 1, "topic": "art"}, {"id": "b"}], source="a log").to_pylist()
    [{'id': '1', 'topic': 'art'}, {'id': 'b', 'topic': None}]
    """
    if not rows:
        raise TableError(f"'{source}' holds no samples", why="there is nothing to evaluate", instead="give another log")
    names = list(dict.fromkeys(name for row in rows for name in row))
    return pa.table({name: _column([row.get(name) for row in rows]) for name in names})


def _column(values: list[Any]) -> pa.Array:
    try:
        return pa.array(values)
    except pa.ArrowException:
        return pa.array([None if value is None else str(value) for value in values])


def plain_fields(given: Mapping[str, Any], *, prefix: str = "") -> dict[str, Any]:
    """The fields of a sample that can be factors: texts, numbers, true and false; of nested ones with their path.

    >>> plain_fields({"topic": "art", "tags": ["a", "b"], "user": {"age": 9}})
    {'topic': 'art', 'user.age': 9}
    """
    found: dict[str, Any] = {}
    for name, value in given.items():
        if isinstance(value, Mapping):
            found |= plain_fields(value, prefix=f"{prefix}{name}.")
        elif value is None or isinstance(value, _PLAIN):
            found[f"{prefix}{name}"] = value
    return found


def beside(own: Row, fields: Row, *, source: str) -> dict[str, Any]:
    """A sample's own fields, which its log calls as it likes, beside the columns that every sample has."""
    taken = own.keys() & fields.keys()
    if taken:
        raise ColumnError(
            f"'{source}' has a field {sorted(taken)[0]!r}",
            why="every sample has a column of that name already",
            instead="give a prefix for its own fields: prefix='doc.'",
        )
    return {**own, **fields}
