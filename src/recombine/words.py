"""How amounts are written for people, the same in every sentence, table and page."""

import json
import math
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import PurePath
from typing import Any


def percent(share: float) -> str:
    """A share, never rounded to none or to all of it when it is neither.

    >>> [percent(share) for share in (0.0, 0.004, 0.43, 0.999, 1.0)]
    ['0 %', 'under 1 %', '43 %', 'over 99 %', '100 %']
    """
    if 0 < share < 0.01:
        return "under 1 %"
    if 0.99 < share < 1:
        return "over 99 %"
    return f"{100 * share:.0f} %"


_EXACT = 2.0**53
"""Up to here a sum of weights is a whole number to its last digit."""


def count(number: float) -> str:
    """A count, exact however large it is; a sum of weights keeps its fraction.

    >>> count(1234567), count(24.0), count(2.5), count(1e300)
    ('1,234,567', '24', '2.5', '1e+300')
    """
    if isinstance(number, float) and (not number.is_integer() or abs(number) > _EXACT):
        return f"{number:,.6g}"
    return f"{int(number):,}"


def amount(number: int, noun: str) -> str:
    """A number of things in words.

    >>> amount(1, "test combination"), amount(1200, "row")
    ('1 test combination', '1,200 rows')
    """
    return f"{count(number)} {noun if number == 1 else noun + 's'}"


def measure(number: float) -> str:
    """A measurement, to three digits.

    >>> measure(1.0547), measure(0.00123), measure(-0.0001)
    ('1.05', '0.00123', '-0.0001')
    """
    return f"{number + 0.0:.3g}"


def listing(items: Sequence[str]) -> str:
    """Several things in a sentence.

    >>> listing(["a", "b", "c"]), listing([])
    ('a, b and c', 'none')
    """
    if not items:
        return "none"
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"


def json_text(content: Any) -> str:
    """Plain data as JSON that every reader takes: a number that is not known, or not finite, is null.

    >>> json_text({"share": float("nan"), "bound": float("inf")}).split()
    ['{', '"share":', 'null,', '"bound":', 'null', '}']
    """
    return json.dumps(known_numbers(content), indent=2, ensure_ascii=False, allow_nan=False)


def plain_setting(value: Any) -> Any:
    """A setting as JSON would hold it.

    >>> plain_setting({"sizes": (1, 2), "file": PurePath("a/b"), "since": date(2021, 5, 1)})
    {'sizes': [1, 2], 'file': 'a/b', 'since': '2021-05-01'}
    """
    if isinstance(value, Mapping):
        return {str(key): plain_setting(item) for key, item in value.items()}
    if isinstance(value, tuple | list | frozenset | set):
        return [plain_setting(item) for item in (sorted(value) if isinstance(value, frozenset | set) else value)]
    if hasattr(value, "tolist"):  # a number or an array of NumPy's
        return value.tolist()
    return str(value) if isinstance(value, PurePath | date) else value


def known_numbers(content: Any) -> Any:
    """Plain data in which a number that is not known, or not finite, is None."""
    if isinstance(content, Mapping):
        return {name: known_numbers(value) for name, value in content.items()}
    if isinstance(content, list | tuple):
        return [known_numbers(value) for value in content]
    return None if isinstance(content, float) and not math.isfinite(content) else content


def span(seconds: float) -> str:
    """A length of time for people.

    >>> span(0.4), span(59), span(150), span(9000), span(400000)
    ('1 s', '59 s', '2.5 min', '2.5 h', '4.6 days')
    """
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    for unit, size in (("min", 60), ("h", 3600)):
        if seconds < 90 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds / 86400:.1f} days"
