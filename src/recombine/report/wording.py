"""How numbers and values are written on a page: the same everywhere, and short enough to stand in a table."""

import math
import re
from typing import Any

from recombine import words

SHORT = 40
LONG = 300
NO_BREAK = "\u00a0"
# Control signs, and those that turn the direction of the text around them: they would disturb the page.
UNSEEN = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\u202a-\u202e\u2066-\u2069]")


def whole(number: float | None) -> str:
    """A count, exact however large it is; a sum of weights keeps its fraction.

    >>> whole(1234567), whole(24.0), whole(2.5), whole(None)
    ('1,234,567', '24', '2.5', '–')
    """
    return "–" if number is None else words.count(number)


def decimal(number: float | None) -> str:
    """A measurement, to three digits.

    >>> decimal(3.4), decimal(0.04567), decimal(12345.6), decimal(None)
    ('3.4', '0.0457', '12,346', '–')
    """
    if number is None or not math.isfinite(number):
        return "–"
    return f"{number:,.0f}" if abs(number) >= 1000 else f"{number:.3g}"


def percent(share: float | None) -> str:
    """A share in percent, with decimals where it would else look like none or all.

    >>> [percent(share).replace(NO_BREAK, " ") for share in (0.0, 0.004, 0.43, 0.999, 1.0)]
    ['0 %', '0.4 %', '43 %', '99.9 %', '100 %']
    """
    if share is None or not math.isfinite(share):
        return "–"
    return words.percent(share).replace(" %", f"{NO_BREAK}%")


def share(part: int, total: int) -> float:
    """A part of a total between 0 and 1, safe for integers that no float can hold.

    >>> share(1, 4), share(0, 0)
    (0.25, 0.0)
    """
    return part / total if total else 0.0


def value(raw: Any) -> str:
    """A factor's value as text on one line; what has no letters gets a name.

    >>> value("  red\\nshoe "), value(""), value(None), value(7)
    ('red shoe', '(empty)', '(missing)', '7')
    """
    if raw is None:
        return "(missing)"
    return " ".join(UNSEEN.sub("\ufffd", str(raw)).split()) or "(empty)"


def shorten(text: str, most: int = SHORT) -> str:
    """The beginning of a text, with an ellipsis where something was cut off.

    >>> shorten("Synthetic leather", 10)
    'Synthetic…'
    """
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def enumerate_words(words: list[str]) -> str:
    """Words as one would say them.

    >>> enumerate_words(["a", "b", "c"])
    'a, b and c'
    """
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]
