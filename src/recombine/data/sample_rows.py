"""Samples that a harness has logged, as a table: a row for each sample, with whatever it is told by as columns.

A log may be damaged, or name its fields as nobody expects. Whatever is wrong with a sample is told with its place in
the log, and no column takes the place of another.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from json import JSONDecodeError
from typing import Any

import pyarrow as pa

from recombine.base.decoding import MalformedError, revive, shown
from recombine.base.errors import ColumnError, SourceError, TableError

_PLAIN = (str, bool, int, float)
_DEEPEST = 50
_MOST_COLUMNS = 2_000
"""Far above what documents have; names that differ in every sample would make a table of samples × samples."""

_GRADES = {"c": 1.0, "p": 0.5, "i": 0.0, "n": 0.0, "yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
"""Correct, partially, incorrect, no answer, and what inspect_ai reads like them."""
SCORE = {"role": "score"}
"""What a column of scores carries with it, so that a proposal can name it."""

Columns = tuple[tuple[str, Any], ...]


@dataclass(frozen=True)
class Sample:
    """What a log says of one sample, each part as columns."""

    where: str
    """Its place in the log, for a message."""
    own: Columns
    """What every sample of its harness has: the model, an id, the target."""
    scores: Columns
    fields: Columns
    """What its author wrote beside the question: metadata, the fields of a document."""
    prefix: str
    """What stands before a field whose name another column has."""

    def row(self, taken: Collection[str]) -> dict[str, Any]:
        """Its columns; `taken` are names that a harness or a scorer uses in any of the samples."""
        renamed = ((f"{self.prefix}{name}" if name in taken else name, value) for name, value in self.fields)
        row: dict[str, Any] = {}
        for name, value in (*self.own, *self.scores, *renamed):
            if name in row:
                raise ColumnError(
                    f"{self.where} has {name!r:.80} twice",
                    why="two of its fields or scores come to a column of that name",
                    instead="rename one of the two in the log",
                )
            row[name] = value
        return dict(revive(dict[str, Any], row, at="the sample"))


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


def sample_table(samples: Sequence[Sample], *, source: str, instead: str) -> pa.Table:
    """Samples as a table; a column that holds several kinds of values is text.

    >>> one = Sample("the first", (("id", 1),), (("match", 1.0),), (("id", "x"), ("tools", ["a", "b"])), "metadata.")
    >>> sample_table([one], source="a log", instead="").to_pylist()
    [{'id': 1, 'match': 1.0, 'metadata.id': 'x', 'tools': ['a', 'b']}]
    """
    if not samples:
        raise TableError(f"'{source}' holds no samples", why="there is nothing to evaluate", instead="give another log")
    taken = {name for sample in samples for name, _ in (*sample.own, *sample.scores)}
    rows = []
    for sample in samples:
        with reading_sample(sample.where, instead=instead):
            rows.append(sample.row(taken))
    names = list(dict.fromkeys(name for row in rows for name in row))
    if len(names) > _MOST_COLUMNS:
        raise TableError(
            f"the samples of '{source}' have {len(names):,} different fields",
            why=f"each would be a column, and more than {_MOST_COLUMNS:,} are values rather than names",
            instead=f"leave those fields out of the log, such as {names[-1]!r:.80}",
        )
    table = pa.table({name: _column([row.get(name) for row in rows]) for name in names})
    scores = {name for sample in samples for name, value in sample.scores if isinstance(value, float | int)}
    return table.cast(pa.schema([one.with_metadata(SCORE) if one.name in scores else one for one in table.schema]))


def _column(values: list[Any]) -> pa.Array:
    """Values of one kind; beside lists, a single value is a list of one."""
    if any(isinstance(value, list) for value in values):
        lists = [value if isinstance(value, list) or value is None else [value] for value in values]
        found = _array(lists, [value and [None if one is None else str(one) for one in value] for value in lists])
        return found.cast(pa.list_(pa.string())) if found.type == pa.list_(pa.null()) else found
    found = _array(values, [None if value is None else str(value) for value in values])
    return found.cast(pa.string()) if found.type == pa.null() else found


def _array(values: list[Any], as_text: list[Any]) -> pa.Array:
    try:
        return pa.array(values)
    except (pa.ArrowException, OverflowError):  # several kinds, or whole numbers beyond 64 bits
        return pa.array(as_text)


def plain_fields(given: Mapping[str, Any], *, prefix: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    """The fields of a sample that can be factors: texts, numbers, true and false, and lists of them, which are sets.

    Nested ones are called by their path; lists of objects, such as messages, are none.

    >>> dict(plain_fields({"topic": "art", "tags": ["a", "b"], "user": {"age": 9}, "turns": [{"role": "user"}]}))
    {'topic': 'art', 'tags': ['a', 'b'], 'user.age': 9}
    """
    if depth > _DEEPEST:
        raise MalformedError(f"{prefix[:60]}… is nested too deeply")
    for name, value in given.items():
        if isinstance(value, Mapping):
            yield from plain_fields(value, prefix=f"{prefix}{name}.", depth=depth + 1)
        elif is_plain(value):
            yield f"{prefix}{name}", value


def is_plain(value: Any) -> bool:
    """Whether something is a value, or a list of values."""
    if isinstance(value, list):
        return all(one is None or isinstance(one, _PLAIN) for one in value)
    return value is None or isinstance(value, _PLAIN)


def as_text(value: Any) -> str | None:
    """A value as text, unless it is missing."""
    return None if value is None else str(value)


def known_fields(kind: Any, content: Mapping[str, Any]) -> Any:
    """The fields of a class that a sample has, each of the type that it should be."""
    names = [one.name for one in fields(kind)]
    return revive(kind, {name: content[name] for name in names if name in content}, at="the sample")


def score_columns(scores: Mapping[str, Any], own: Sequence[str]) -> Iterator[tuple[str, Any]]:
    """Each score under its scorer's name, its values where it has several, and the answer that it was given for."""
    for scorer, score in scores.items():
        name = f"score.{scorer}" if scorer in own else scorer
        value = score.get("value") if isinstance(score, Mapping) else score
        if isinstance(value, Mapping):
            yield from ((f"{name}.{part}", _number(one, scorer)) for part, one in value.items())
        elif not isinstance(value, list):
            yield name, _number(value, scorer)
        elif is_plain(value):
            yield name, value
        if isinstance(score, Mapping) and "answer" in score:
            yield f"answer.{scorer}", as_text(score["answer"])


def _number(value: Any, scorer: str) -> float | None:
    if value is None:
        return None
    try:
        grade = _GRADES.get(value.lower()) if isinstance(value, str) else None
        return float(value) if grade is None else grade
    except (TypeError, ValueError, OverflowError) as error:
        raise MalformedError(f"the score {shown(value)} of {scorer!r} is no number") from error
