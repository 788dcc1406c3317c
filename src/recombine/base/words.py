"""How amounts are written for people, the same in every sentence, table and page."""

import json
import math
from collections.abc import Collection, Mapping, Sequence
from datetime import date
from pathlib import PurePath
from typing import Any

NOT_KNOWN = "not known"
NOTHING_TO_LEARN, OWN_ANSWERS = "Nothing to learn was found", "has its own fixed"
"""By which a verdict says that no rule was found: because rows are all noise, because each combination is its own."""


def percent(share: float) -> str:
    """A share without decimals, unless it lies below 1 or above 99 %: none and all are said of none and all alone.

    >>> [percent(share) for share in (0.0, 0.0004, 0.43, 0.9996, 1.0)]
    ['0 %', '0.04 %', '43 %', '99.96 %', '100 %']
    """
    return NOT_KNOWN if math.isnan(share) else f"{_of_hundred(share)} %"


def percent_range(low: float, high: float) -> str:
    """The ends of an interval of shares; one number where both ends are one.

    >>> percent_range(0.741, 0.868), percent_range(0.741, 0.744), percent_range(0.0004, 1.0), percent_range(1.0, 1.0)
    ('74 to 87 %', '74.1 to 74.4 %', '0.04 to 100 %', '100 %')
    >>> percent_range(0.8, 1 - 1e-9), percent_range(1e-9, 0.2)
    ('80 to nearly 100 %', 'nearly 0 to 20 %')
    """
    if math.isnan(low) or math.isnan(high):
        return NOT_KNOWN
    if low == high:
        return percent(low)
    ends = _of_hundred(low), _of_hundred(high)
    if ends[0] == ends[1]:
        ends = f"{100 * low:.1f}", f"{100 * high:.1f}"
    ends = _NEARLY.get(ends[0], ends[0]), _NEARLY.get(ends[1], ends[1])
    return f"{ends[0]} to {ends[1]} %" if ends[0] != ends[1] else f"{ends[0]} %"


def below_zero(low: float) -> str:
    """What it means that an interval of R² begins below 0, as a sentence after it; nothing where it does not.

    >>> below_zero(0.88), below_zero(-110.0)
    ('', ' Below 0 is worse than always answering the mean.')
    """
    return "" if low >= 0 else f" Below 0 is {WORSE_THAN_MEAN}."


WORSE_THAN_MEAN = "worse than always answering the mean"
"""What an R² below 0 is."""

_NEARLY = {"under 0.01": "nearly 0", "over 99.99": "nearly 100"}
"""An end of an interval is an estimate: two decimals of it say nothing."""


def points(difference: float) -> str:
    """A difference of two shares, which is counted in points, not in percent.

    >>> points(0.11), points(0.008), points(-0.01), points(0.0)
    ('11 points', '0.8 points', '-1 point', '0 points')
    """
    written = NOT_KNOWN if math.isnan(difference) else _of_hundred(difference)
    return f"{written} {'point' if written in ('1', '-1') else 'points'}"


def points_range(low: float, high: float) -> str:
    """The ends of an interval of a difference of two shares.

    >>> points_range(-0.021, 0.11), points_range(0.008, 0.03)
    ('-2 to 11 points', '0.8 to 3 points')
    """
    return percent_range(low, high).replace(" %", " points")


def interval_words(value: float, low: float | None, high: float | None, *, share: bool = True) -> str:
    """A number and the interval around it; the number alone where there is no interval.

    >>> interval_words(0.81, 0.74, 0.87), interval_words(0.81, None, None), interval_words(0.712, 0.6, 0.8, share=False)
    ('81 % (74 to 87 %)', '81 %', '0.712 (0.6 to 0.8)')
    """
    said = percent(value) if share else measure(value)
    if low is None or high is None:
        return said
    return f"{said} ({percent_range(low, high) if share else f'{measure(low)} to {measure(high)}'})"


def _of_hundred(share: float) -> str:
    """A share of a hundred in digits: as many decimals as tell it from none and from all."""
    sign, size = ("-" if share < 0 else ""), 100 * abs(share)
    off = min(size, 100 - size)
    if not 0 < off < 1:
        return f"{sign}{size:,.0f}" if size < _MANY else f"{sign}{size:.0e}"
    if off < 0.005:
        return f"under {sign}0.01" if size < 1 else f"over {sign}99.99"
    return sign + f"{size:.{1 if off >= 0.095 else 2}f}".removesuffix(".0")


EMPTY = "control"
"""How the empty set is written."""
BETWEEN = " + "
"""What stands between the elements of a set where people read it."""


def text(value: Any) -> str:
    """How a value is written for people, in every table, page and message; a set by its elements.

    >>> text(True), text("red"), text(3), text(["A", "B"]), text(())
    ('true', 'red', '3', 'A + B', 'control')
    """
    if isinstance(value, list | tuple):
        return BETWEEN.join(map(text, value)) or EMPTY
    return str(value).lower() if isinstance(value, bool) else str(value)


def target_words(name: str, classes: Sequence[Any] | None, *, share: bool = False) -> str:
    """A target and what it was taken for: a label with these classes, or a number or `share` where there are none.

    Whole numbers can be either, so it says how to have the other.

    >>> target_words("price", None), target_words("label", ["warm", "light"]), target_words("ok", None, share=True)
    ('price, a number', 'label, a label with 2 values', 'ok, a share of rows')
    >>> target_words("rating", [1, 2, 3, 4, 5]), target_words("ok", [0, 1])
    ('rating, a label with 5 values; or --target-kind number', 'ok, a label with 2 values; its share: --target-kind \
number')
    """
    if classes is None:
        return f"{name}, a share of rows" if share else f"{name}, a number"
    said = f"{name}, a label with {amount(len(classes), 'value')}"
    if not all(isinstance(value, int) and not isinstance(value, bool) for value in classes):
        return said
    if set(classes) <= {0, 1}:
        return f"{said}; its share: --target-kind number"
    return f"{said}; or --target-kind number" if len(classes) > 2 else said


def named(combination: Mapping[str, Any], *, usual: Mapping[str, Any] | None = None) -> str:
    """A combination with its factors' names, or by what tells it from the `usual` one.

    >>> named({"material": "suede", "garment": "boots"})
    'material=suede, garment=boots'
    >>> named({"material": "suede", "size": 4, "lined": True}, usual={"material": "suede", "size": 3, "lined": True})
    'size=4, otherwise as usual'
    """
    if usual is None:
        return ", ".join(f"{name}={text(value)}" for name, value in combination.items())
    apart = {name: value for name, value in combination.items() if name not in usual or usual[name] != value}
    if not apart:
        return "as usual"
    return named(apart) + (", otherwise as usual" if len(apart) < len(combination) else "")


_MANY = 10**6
"""Hundredths from which on the digits of an R² far below 0 say nothing."""
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


def free_name(name: str, taken: Collection[str]) -> str:
    """A name for a column of ours beside columns of a user's.

    >>> free_name("rows", {"colour", "rows"})
    'rows_'
    """
    while name in taken:
        name += "_"
    return name


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
