"""Settings that mean nothing are refused when they are given, in the same words by every splitter."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from recombine.errors import SettingError, nearest


def plain(value: Any) -> Any:
    """A NumPy number or text as Python's own, which can be written down and read again.

    >>> plain(np.int64(3)), plain("red")
    (3, 'red')
    """
    return value.item() if isinstance(value, np.generic) else value


def checked_factors(given: Any) -> tuple[str | int, ...]:
    """The factors' names or positions, at least two and each once.

    >>> checked_factors(["colour", "shape"])
    ('colour', 'shape')
    """
    several = isinstance(given, Iterable) and not isinstance(given, str | bytes | Mapping)
    factors = tuple(plain(factor) for factor in given) if several else (given,)
    strange = [factor for factor in factors if not isinstance(factor, str | int) or isinstance(factor, bool)]
    if strange or len(factors) < 2:
        raise SettingError(
            f"factors={given!r}",
            why="a combination needs at least two factors, each a column's name or its position",
            instead="name two or more columns: factors=['colour', 'shape']",
        )
    twice = [factor for factor in factors if factors.count(factor) > 1]
    if twice:
        raise SettingError(
            f"the factor {twice[0]!r} is named twice", why="a factor is named once", instead="remove one"
        )
    return factors


def check_bins(value: Any) -> None:
    """Bins are told factor by factor."""
    if value is not None and not isinstance(value, Mapping):
        raise SettingError(
            f"bins={value!r}",
            why="each factor has bins of its own",
            instead="name the factor: bins={'price': 5}",
        )


def check_share(name: str, value: Any) -> None:
    """A share lies between nothing and everything."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1:
        raise SettingError(
            f"{name}={value!r}",
            why="it is a share of the seen combinations, and neither side may be empty",
            instead=f"write a number between 0 and 1, such as {name}=0.2",
        )


def check_whole(name: str, value: Any, *, least: int) -> None:
    """A whole number that is large enough."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise SettingError(
            f"{name}={value!r}",
            why=f"it is a whole number, {least} or more",
            instead=f"write {name}={max(least, 5)}",
        )


def check_seed(value: Any) -> None:
    """A seed is a whole number from 0 on, so that the same split can be made again."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise SettingError(
            f"seed={value!r}",
            why="the same seed must give the same split, so it is a whole number from 0 on",
            instead="write seed=0",
        )


def check_choice(name: str, value: Any, choices: Sequence[str]) -> None:
    """One of a few words."""
    if value not in choices:
        raise SettingError(
            f"{name}={value!r}",
            why="that is not one of the choices",
            instead=nearest(str(value), choices),
        )
