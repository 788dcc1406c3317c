"""Labels that several columns write, numbered alike: the truth's, the answers', the training's.

A label is the same however a table types it: 1, 1.0, "1" and, beside whole numbers, true are one class, as a model's
answers often come back from another library with another type.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from recombine.algebra.groups import Ints
from recombine.errors import ColumnError
from recombine.tables.space import Value, text

_MOST_CLASSES = 10_000
MISSING = -1


@dataclass(frozen=True)
class Matched:
    """The classes of all columns together, and each column's labels as places among them, -1 where missing."""

    classes: tuple[Value, ...]
    places: tuple[Ints, ...]


def matched(labels: Sequence[pa.ChunkedArray], names: Sequence[str]) -> Matched:
    """Number the labels of several columns alike; the first column's way of writing a class is kept.

    >>> found = matched([pa.chunked_array([[1, 0]]), pa.chunked_array([["0", None]])], ["truth", "said"])
    >>> found.classes, [place.tolist() for place in found.places]
    ((0, 1), [[1, 0], [0, -1]])
    """
    encoded = [pc.dictionary_encode(column).combine_chunks() for column in labels]
    several = [column.dictionary.to_pylist() for column in encoded]
    whole = any(isinstance(value, int) and not isinstance(value, bool) for values in several for value in values)
    kept: dict[str, Any] = {}
    for name, values in zip(names, several, strict=True):
        _check_few(name, len(values))
        for value in values:
            kept.setdefault(written(value, whole=whole), value)
    keys = sorted(kept, key=lambda key: (str(type(kept[key])), kept[key]))
    place = {key: position for position, key in enumerate(keys)}
    places = tuple(
        _places(column, [place[written(value, whole=whole)] for value in values])
        for column, values in zip(encoded, several, strict=True)
    )
    return Matched(tuple(kept[key] for key in keys), places)


def written(value: Any, *, whole: bool = False) -> str:
    """A label as text, the same for 1 and 1.0; and for true, where another column holds whole numbers.

    >>> written(1.0), written(True), written(True, whole=True), written("cat")
    ('1', 'true', '1', 'cat')
    """
    if isinstance(value, bool) and whole:
        return str(int(value))
    return text(int(value)) if isinstance(value, float) and value.is_integer() else text(value)


def _places(column: Any, places: list[int]) -> Ints:
    recode = np.array([*places, MISSING], dtype=np.int64)
    return np.asarray(recode[pc.fill_null(column.indices, len(places)).to_numpy(zero_copy_only=False)])


def _check_few(name: str, found: int) -> None:
    if found > _MOST_CLASSES:
        raise ColumnError(
            f"{name!r} has {found:,} different labels",
            why=f"that is an identifier or a number rather than a label; at most {_MOST_CLASSES:,} are compared",
            instead="choose another column, or say target_kind='number' (--target-kind number) if it is one",
        )
