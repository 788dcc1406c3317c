"""Sums of a number and of its squares that keep their digits: taken about a number near its mean.

A sum of squares about 0 loses twice the digits of mean / spread: at 10^8 all of them. The first rows tell a number near
the mean (`pilots`), for the price of a question about a thousand of them; it is subtracted inside the one GROUP BY
(`about`). Rows that come first may mislead (a sorted table, a ramp-up), so the sums themselves are looked at, and asked
for once more about their own mean where digits were lost after all (`settled`).

An ordinary column, whose mean is no more than a hundred times its spread, is summed about 0 as it is.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, TypeVar

import ibis
import numpy as np

from recombine.data import columns
from recombine.numerics.groups import Numbers

Answered = TypeVar("Answered")
Centres = Mapping[str, float]
"""By name, the number that a column's sums are taken about."""
Sums = tuple[Numbers, Numbers, Numbers, float]
"""Counts, totals and squares of a column, and what they were taken about."""

_LOOKED_AT = 1_000  # rows: enough for quartiles
_ORDINARY = 100.0  # spreads: a mean so near costs four of the sixteen digits
_TOLERATED = 1_000.0
"""A mean this many spreads away costs six of the sixteen digits: ten are left."""
_WHOLE = 2.0**52
"""From here on a float64 cannot tell every whole number from the next."""

_SMALLEST = 1e-75
LARGEST = 1e75
"""Between the two, squares of the squares keep their digits too."""


def pilots(table: Any, numbers: Mapping[str, Any], backend: Any) -> Centres:
    """For each of some numbers of a table, one near its first values, or 0 where that is as good: one question."""
    if not numbers:
        return {}
    known = {name: about(column, 0.0, backend) for name, column in numbers.items()}
    first = table.select(**known).limit(_LOOKED_AT)
    asked = {f"{name}_{place}": first[name].quantile(place / 4) for name in known for place in range(5)}
    told = backend.to_pyarrow(first.aggregate(**asked)).to_pylist()[0]
    return {name: near([told[f"{name}_{place}"] for place in range(5)]) for name in known}


def near(quartiles: Sequence[Any]) -> float:
    """The middle of a sample, on a grid as coarse as its spread; 0 where the spread is not small beside it.

    Of the least, the quartiles and the largest number: a few strays do not move these. Samples of one column mostly
    tell the same number, because of the grid; and taking it off a float64 is exact.

    >>> near([0, 1e8 + 1, 1e8 + 2, 1e8 + 5, 1e8 + 9]), near([1, 2, 3, 4, 5]), near([7] * 5), near([None] * 5)
    (100000002.0, 0.0, 7.0, 0.0)
    """
    # Numbers beyond the range are summed about 0, as they are: about their own mean they would look small.
    if any(number is None or not abs(number) <= LARGEST for number in quartiles):
        return 0.0
    least, low, middle, high, most = map(float, quartiles)
    spread = (high - low) / 2 or most / 2 - least / 2
    if abs(middle) <= _ORDINARY * spread:
        return 0.0
    grid = math.ldexp(1.0, math.frexp(spread)[1] - 1)
    return round(middle / grid) * grid if spread and abs(middle / grid) < _WHOLE else middle


def about(column: Any, centre: float, backend: Any) -> Any:
    """A column less a number, as float64: exact for whole numbers and decimals that a float64 cannot hold."""
    kind = column.type()
    if abs(centre) >= _WHOLE and (kind.is_integer() or kind.is_decimal()):
        scale = kind.scale if kind.is_decimal() else 0
        exact = column.cast(ibis.dtype(f"decimal(38, {scale})"))
        return (exact - ibis.literal(Decimal(centre), type=ibis.dtype(f"decimal(38, {scale})"))).cast("float64")
    number = columns.without_nan(column.cast("float64"), backend)
    return number - centre if centre else number


def difference(one: Any, other: Any, backend: Any) -> Any:
    """One column less another, as float64: exact where both are whole numbers or decimals, of any size."""
    kinds = (one.type(), other.type())
    if not all(kind.is_integer() or kind.is_decimal() for kind in kinds):
        return about(one, 0.0, backend) - about(other, 0.0, backend)
    scale = max(kind.scale if kind.is_decimal() else 0 for kind in kinds)
    exact = ibis.dtype(f"decimal(38, {scale})")
    return (one.cast(exact) - other.cast(exact)).cast("float64")


def settled(ask: Callable[[Centres], Answered], sums: Callable[[Answered], Mapping[str, Sums]]) -> Answered:
    """Ask; and ask once more, about the means that were found, where a pilot turned out to be far away."""
    found = ask({})
    far = {name: centre for name, given in sums(found).items() if (centre := better(*given)) is not None}
    return ask(far) if far else found


def better(count: Numbers, total: Numbers, squares: Numbers, centre: float) -> float | None:
    """What the sums should have been taken about; None where too few digits were lost to matter.

    >>> better(np.array([2.0]), np.array([2e9 + 2]), np.array([2e18]), 0.0)
    1000000001.0
    >>> better(np.array([1.0]), np.array([1e200]), np.array([1.0]), 0.0) is None
    True
    """
    with np.errstate(over="ignore", invalid="ignore"):  # what is too large is refused where the sums are used
        known, whole, square = (float(np.nansum(part)) for part in (count, total, squares))
    if not known > 0 or not math.isfinite(whole) or not math.isfinite(square):
        return None
    off = whole / known
    if abs(off) > LARGEST:
        return None
    variance = max(square / known - off**2, 0.0)
    return centre + off if abs(off) > _TOLERATED * math.sqrt(variance) else None


def out_of_range(count: Numbers, total: Numbers, squares: Numbers) -> str | None:
    """Why numbers with these sums cannot be computed with, if so: their squares overflow, or vanish.

    Within the range, everything scales: numbers in another unit give the same answers in that unit.

    >>> one = np.ones(1)
    >>> out_of_range(one, 1e-200 * one, 0 * one), out_of_range(one, one, one)
    ('so small that their squares vanish', None)
    """
    held = count > 0
    if not (np.isfinite(total).all() and np.isfinite(squares).all()):
        return "infinite, or so large that their squares are"
    if (squares[held] / count[held]).max(initial=0.0) > LARGEST**2:
        return "infinite, or so large that their squares are"
    if 0 < np.abs(total[held] / count[held]).max(initial=0.0) < _SMALLEST:
        return "so small that their squares vanish"
    return None
