"""Samples that a harness has logged, as a table: a row for each sample, with whatever it is told by as columns.

A log may be damaged, or name its fields as nobody expects. Whatever is wrong with a sample is told with its place in
the log, and no column takes the place of another.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from json import JSONDecodeError
from typing import Any

import pyarrow as pa

from recombine.base.decoding import MalformedError, shown, sound
from recombine.base.errors import ColumnError, SourceError, TableError

_PLAIN = (str, bool, int, float)
_DEEPEST = 50
_MOST_COLUMNS = 2_000
"""Far above what documents have; names that differ in every sample would make a table of samples × samples."""

_GRADES = {"c": 1.0, "p": 0.5, "i": 0.0, "n": 0.0, "yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
"""Correct, partially, incorrect, no answer, and what inspect_ai reads like them."""
SCORE = {"role": "score"}
"""What a column of scores carries with it, so that a proposal can name it."""
_CALLED = {dict: "a mapping", list: "a list", str: "a text", int: "a whole number"}

Columns = Sequence[tuple[str, Any]]


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


def sample_table(samples: Iterable[Sample], *, source: str, instead: str) -> pa.Table:
    """Samples as a table; a column that holds several kinds of values is text.

    >>> one = Sample("the first", [("id", 1)], [("match", 1.0)], [("id", "x"), ("tools", ["a", "b"])], "metadata.")
    >>> sample_table([one], source="a log", instead="").to_pylist()
    [{'id': 1, 'match': 1.0, 'metadata.id': 'x', 'tools': ['a', 'b']}]
    """
    columns: dict[str, list[Any]] = {}
    fields: dict[str, list[Any]] = {}
    prefixes: dict[str, str] = {}
    scores: set[str] = set()
    rows = 0
    for sample in samples:
        prefixes |= {name: sample.prefix for name, _ in sample.fields if name not in fields}
        scores |= {name for name, value in sample.scores if isinstance(value, float | int)}
        with reading_sample(sample.where, instead=instead):
            _append(columns, rows, (*sample.own, *sample.scores), sample.where)
            _append(fields, rows, sample.fields, sample.where)
        rows += 1
        if len(columns) + len(fields) > _MOST_COLUMNS:
            raise TableError(
                f"the samples of '{source}' have {len(columns) + len(fields):,} different fields",
                why=f"each would be a column, and more than {_MOST_COLUMNS:,} are values rather than names",
                instead=f"leave those fields out of the log, such as {[*columns, *fields][-1]!r:.80}",
            )
    if not rows:
        raise TableError(f"'{source}' holds no samples", why="there is nothing to evaluate", instead="give another log")
    named = {f"{prefixes[name]}{name}" if name in columns else name: values for name, values in fields.items()}
    both = columns.keys() & named.keys()
    if both or len(named) < len(fields):
        raise _twice(f"'{source}'", min(both, default=max(named)))
    table = pa.table({name: _column(values, rows) for name, values in (columns | named).items()})
    return table.cast(pa.schema([one.with_metadata(SCORE) if one.name in scores else one for one in table.schema]))


def _append(columns: dict[str, list[Any]], row: int, told: Columns, where: str) -> None:
    """Put what is told into the columns; where a column has nothing for a row before, it is None."""
    for name, value in told:
        column = columns.setdefault(sound(name, "a name"), [])
        if len(column) > row:
            raise _twice(where, name)
        column += [None] * (row - len(column))
        column.append(sound(value, name))


def _twice(where: str, name: str) -> ColumnError:
    return ColumnError(
        f"{where} has {name!r:.80} twice",
        why="two of its fields or scores come to a column of that name",
        instead="rename one of the two in the log",
    )


def _column(values: list[Any], rows: int) -> pa.Array:
    """Values of one kind; beside lists, a single value is a list of one."""
    values = values + [None] * (rows - len(values))
    if any(isinstance(value, list) for value in values):
        values = [value if isinstance(value, list) or value is None else [value] for value in values]
        found = _array(values, lambda list_: [None if one is None else str(one) for one in list_])
        return found.cast(pa.list_(pa.string())) if found.type == pa.list_(pa.null()) else found
    found = _array(values, str)
    return found.cast(pa.string()) if found.type == pa.null() else found


def _array(values: list[Any], as_text: Callable[[Any], Any]) -> pa.Array:
    try:
        return pa.array(values)
    except (pa.ArrowException, OverflowError):  # several kinds, or whole numbers beyond 64 bits
        return pa.array([None if value is None else as_text(value) for value in values])


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
        elif not isinstance(value, list) or all(one is None or isinstance(one, _PLAIN) for one in value):
            yield f"{prefix}{name}", value


def part_of(content: Mapping[str, Any], name: str, kind: Any, *otherwise: Any) -> Any:
    """A part of a sample that should be of a kind; where it is missing, what it is `otherwise`.

    >>> part_of({"id": "a"}, "id", int | str), part_of({}, "scores", dict, None)
    ('a', None)
    """
    if content.get(name) is None and otherwise:
        return otherwise[0]
    if name not in content:
        raise MalformedError(f"the sample has no {name!r}")
    found = content[name]
    if not isinstance(found, kind):
        raise MalformedError(f"{name} is {shown(found)}, where {_CALLED.get(kind, 'a text or a number')} should be")
    return found


def score_columns(scores: Mapping[str, Any], own: Columns) -> Iterator[tuple[str, Any]]:
    """Each score under its scorer's name, its values where it has several, and the answer that it was given for."""
    for scorer, score in scores.items():
        name = f"score.{scorer}" if scorer in dict(own) else scorer
        value = score.get("value") if isinstance(score, Mapping) else score
        if isinstance(value, Mapping):
            yield from ((f"{name}.{part}", _number(one, scorer)) for part, one in value.items())
        elif isinstance(value, list):
            yield from plain_fields({name: value})
        else:
            yield name, _number(value, scorer)
        if isinstance(score, Mapping) and "answer" in score:
            yield f"answer.{scorer}", score["answer"] and str(score["answer"])


def _number(value: Any, scorer: str) -> float | None:
    if value is None:
        return None
    try:
        grade = _GRADES.get(value.lower()) if isinstance(value, str) else None
        return float(value) if grade is None else grade
    except (TypeError, ValueError, OverflowError) as error:
        raise MalformedError(f"the score {shown(value)} of {scorer!r} is no number") from error
