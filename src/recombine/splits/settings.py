"""What all splitters check of their settings, beside the plain checks of `recombine.checks`."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from recombine.errors import SettingError


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
