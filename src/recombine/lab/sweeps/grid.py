"""Variants of an entry: `{each: [...]}` in place of a value stands for one variant with each of them."""

import math
from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

from recombine.errors import SettingError

EACH = "each"


def variants(entry: Any) -> Iterator[Any]:
    """Every variant of an entry, those of its last `each` changing fastest.

    >>> list(variants({"name": "mlp", "width": {"each": [8, 16]}, "depth": 2}))
    [{'name': 'mlp', 'width': 8, 'depth': 2}, {'name': 'mlp', 'width': 16, 'depth': 2}]
    >>> list(variants({"sizes": [8, 16]}))
    [{'sizes': [8, 16]}]
    """
    if isinstance(entry, Mapping):
        yield from _of_mapping(entry)
    elif isinstance(entry, list | tuple):
        yield from (list(items) for items in product(*(list(variants(item)) for item in entry)))
    else:
        yield entry


def how_many(entry: Any) -> int:
    """How many variants an entry has, without making them.

    >>> how_many({"width": {"each": [8, 16]}, "sizes": [{"each": [1, 2, 3]}, 4]})
    6
    """
    if isinstance(entry, Mapping):
        each = EACH in entry
        return sum(map(how_many, _values(entry))) if each else math.prod(map(how_many, entry.values()))
    return math.prod(map(how_many, entry)) if isinstance(entry, list | tuple) else 1


def _of_mapping(entry: Mapping[str, Any]) -> Iterator[Any]:
    if EACH in entry:
        for value in _values(entry):
            yield from variants(value)
        return
    for items in product(*(list(variants(item)) for item in entry.values())):
        yield dict(zip(entry, items, strict=True))


def _values(entry: Mapping[str, Any]) -> list[Any] | tuple[Any, ...]:
    values = entry[EACH]
    if len(entry) > 1:
        others = [str(name) for name in entry if name != EACH]
        raise SettingError(
            f"{EACH!r} beside {', '.join(map(repr, others))}",
            why=f"{{{EACH}: […]}} stands in the place of one value, and has nothing beside it",
            instead=f"write it at the setting that varies, for example lr: {{{EACH}: [0.001, 0.01]}}",
        )
    if not isinstance(values, list | tuple) or not values:
        raise SettingError(
            f"{{{EACH}: {values!r}}}",
            why="it names no values to choose from",
            instead=f"write a list with at least one value, for example {{{EACH}: [0.001, 0.01]}}",
        )
    return values
