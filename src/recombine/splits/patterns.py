"""Conjunctions and combinations as users write them, in the values of a support."""

from collections.abc import Mapping, Sequence
from typing import Any

from recombine.errors import SettingError, nearest
from recombine.tables.space import Value, text
from recombine.tables.support import Support


def factor_name(support: Support, factors: Sequence[str | int], asked: Any) -> str:
    """A factor's name in the support, from the name or the position that a splitter's user gave."""
    if isinstance(asked, int) and asked in factors:
        return support.space.names[list(factors).index(asked)]
    if asked not in support.space.names:
        raise SettingError(
            f"no factor {asked!r}",
            why="it is not among the splitter's factors",
            instead=nearest(str(asked), support.space.names),
        )
    return str(asked)


def conjunction(support: Support, factors: Sequence[str | int], given: Mapping[Any, Any]) -> dict[str, Value]:
    """A conjunction in the support's own names and values.

    >>> import recombine
    >>> support = recombine.read({"a": ["x", "y"], "n": [1, 2]}, factors=["a", "n"])
    >>> conjunction(support, ["a", "n"], {"n": "2"})
    {'n': 2}
    """
    found = {}
    for asked, value in given.items():
        name = factor_name(support, factors, asked)
        factor = support.space.factors[support.space.position(name)]
        code = factor.code(value)
        if code < 0:
            raise SettingError(
                f"the conjunction {dict(given)!r} speaks of {name} = {text(value)!r}",
                why=f"{name!r} has no such value",
                instead=nearest(text(value), factor.labels),
            )
        found[name] = factor.values[code]
    return found


def combination(support: Support, factors: Sequence[str | int], given: Any) -> dict[str, Value]:
    """A whole combination, written as a mapping or as one value for each factor in the splitter's order."""
    if not isinstance(given, Mapping):
        values = list(given) if isinstance(given, list | tuple) else [given]
        if len(values) != len(factors):
            raise _not_whole(given, support)
        given = dict(zip(factors, values, strict=True))
    found = conjunction(support, factors, given)
    if len(found) < len(support.space.names):
        raise _not_whole(given, support)
    return found


def _not_whole(given: Any, support: Support) -> SettingError:
    return SettingError(
        f"{given!r} is not a whole combination",
        why="a combination has one value for every factor",
        instead=f"give a value for each of {', '.join(map(repr, support.space.names))}",
    )


def checked_mappings(name: str, given: Any, *, least: int = 1) -> tuple[dict[Any, Any], ...]:
    """A list of conjunctions, each naming enough factors."""
    listed = (given,) if isinstance(given, Mapping) else given
    if not isinstance(listed, list | tuple) or not all(
        isinstance(one, Mapping) and len(one) >= least for one in listed
    ):
        raise SettingError(
            f"{name}={given!r}",
            why=f"it lists conjunctions, each with {least} factors or more and their values",
            instead=f"write {name}=[{{'colour': 'red', 'shape': 'square'}}]",
        )
    return tuple(dict(one) for one in listed)
