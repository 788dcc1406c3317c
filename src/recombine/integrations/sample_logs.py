"""Samples that a harness has logged, as a table: a row for each sample, with whatever it is told by as columns.

A log may be damaged, or name its fields as nobody expects. Whatever is wrong with a sample is told with its place in
the log, and no column takes the place of another.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from json import JSONDecodeError
from typing import Any

import pyarrow as pa

from recombine.base.decoding import MalformedError
from recombine.base.errors import ColumnError, SourceError, TableError

Row = Mapping[str, Any]
_PLAIN = (str, bool, int, float)
_DEEPEST = 50
_MOST_COLUMNS = 2_000
"""Far above what documents have; names that differ in every sample would make a table of samples × samples."""


@contextmanager
def reading_sample(where: str, *, instead: str) -> Iterator[None]:
    """Read one sample of a log: what it should not hold is told with its place."""
    try:
        yield
    except (ValueError, RecursionError) as error:
        raise SourceError(f"{where} cannot be read", why=_reason(error), instead=instead) from error


def _reason(error: Exception) -> str:
    if isinstance(error, JSONDecodeError):  # which counts lines from where it began
        return f"it is no JSON: {error.msg}, at its character {error.pos + 1:,}"
    return "it is nested too deeply" if isinstance(error, RecursionError) else str(error).partition(";")[0]


def sample_table(rows: Sequence[Row], *, source: str) -> pa.Table:
    """Rows of plain values as a table; a column that holds several kinds of them is text.

    >>> sample_table([{"id": 1, "topic": "art"}, {"id": "b"}], source="a log").to_pylist()
    [{'id': '1', 'topic': 'art'}, {'id': 'b', 'topic': None}]
    """
    if not rows:
        raise TableError(f"'{source}' holds no samples", why="there is nothing to evaluate", instead="give another log")
    names = list(dict.fromkeys(name for row in rows for name in row))
    if len(names) > _MOST_COLUMNS:
        raise TableError(
            f"the samples of '{source}' have {len(names):,} different fields",
            why=f"each would be a column, and more than {_MOST_COLUMNS:,} are values rather than names",
            instead=f"leave those fields out of the log, such as {names[-1]!r:.80}",
        )
    return pa.table({name: _column([row.get(name) for row in rows]) for name in names})


def _column(values: list[Any]) -> pa.Array:
    try:
        return pa.array(values)
    except (pa.ArrowException, OverflowError):  # several kinds, or whole numbers beyond 64 bits
        return pa.array([None if value is None else str(value) for value in values])


def plain_fields(given: Mapping[str, Any], *, prefix: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    """The fields of a sample that can be factors: texts, numbers, true and false; of nested ones with their path.

    >>> dict(plain_fields({"topic": "art", "tags": ["a", "b"], "user": {"age": 9}}))
    {'topic': 'art', 'user.age': 9}
    """
    if depth > _DEEPEST:
        raise MalformedError(f"{prefix[:60]}… is nested too deeply")
    for name, value in given.items():
        if isinstance(value, Mapping):
            yield from plain_fields(value, prefix=f"{prefix}{name}.", depth=depth + 1)
        elif value is None or isinstance(value, _PLAIN):
            yield f"{prefix}{name}", value


def beside(row: Row, further: Iterable[tuple[str, Any]], *, where: str, what: str, instead: str) -> dict[str, Any]:
    """The columns of a sample with further ones, which its log calls as it likes; none may take another's place."""
    found = dict(row)
    for name, value in further:
        if name in found:
            raise ColumnError(
                f"{where} has a {what} {name!r:.80}",
                why=f"{'its sample has a column' if name in row else f'another {what} comes to a column'} of that name",
                instead=instead if name in row else f"rename one of the two {what}s in the log",
            )
        found[name] = value
    return found
