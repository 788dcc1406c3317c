"""What a column must be to serve as a factor or a target, and how numbers and dates become values.

The decisions, in one place:

| column | as a factor |
|---|---|
| text, boolean | its values, as they are |
| whole number | its values, if there are at most 100; more need bins |
| other number, date, time | needs bins |
| list, struct, binary | refused |

Bins are edges (`[0, 18, 65]`), a number of equally wide ones (`5`), equally full ones (`"quantiles:4"`),
every distinct value (`"values"`), or for dates `"year"`, `"month"`, `"day"`, `"weekday"`, `"hour"`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import ibis

from recombine.base.errors import ColumnError, SettingError, nearest
from recombine.data.space import Value

Bins = Sequence[float] | int | str

MOST_WHOLE_NUMBERS = 100  # digits, ages and classes are below it; identifiers and prices are not
MOST_FRACTIONS = 20  # doses, learning rates and sizes are below it; measurements and prices are not
_FIRST_ROWS = 10_000  # of a column of fractions: most have too many values there already, and are not counted at all
_EXACT = 2**53  # from here on a float cannot tell a whole number from the next, so an identifier would be several
MOST_BINS = 500
"""Each edge is a comparison in the question to the engine: 500 take some seconds and 100 MB, 10,000 took 1.6 GB."""
MOST_EQUAL_BINS = 10_000
"""Equally wide bins are computed, so only their names take room; beyond this a factor is a number again."""
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_DATE_PARTS = ("year", "month", "day", "weekday", "hour")


@dataclass(frozen=True)
class FactorKey:
    """How one factor is asked of the engine, and how the answers are named."""

    name: str
    expression: Any
    names: tuple[str, ...] | None = None
    declares: tuple[str, ...] = ()
    most: int | None = None
    format: str | None = None

    @property
    def is_plain(self) -> bool:
        """Whether the engine's answers are the values."""
        return self.names is None and self.format is None and not self.declares

    def asked(self, name: str) -> dict[str, Any]:
        """What to group by, under which name."""
        return {name: self.expression}

    def folded(self, lines: Any, _name: str) -> Any:
        """The engine's lines with one column for the factor: here they have it already."""
        return lines

    def values(self, raw: Sequence[Any]) -> list[Any]:
        """The engine's answers as values for people."""
        if self.names is not None:
            return [None if item is None else self.names[int(item)] for item in raw]
        if self.format is not None:
            return [None if item is None else item.strftime(self.format) for item in raw]
        return list(raw)


def require(table: Any, names: Sequence[str], *, role: str) -> None:
    """Every named column is there, else the nearest one is suggested."""
    for name in names:
        if name not in table.columns:
            raise ColumnError(
                f"no column {name!r} (given as {role})",
                why="the table has no such column",
                instead=nearest(name, table.columns),
            )


def key(table: Any, name: str, *, bins: Bins | None, declared: bool, backend: Any) -> FactorKey:
    """How to ask the engine for a factor."""
    column = without_nan(table[name], backend)
    kind = column.type()
    if bins is not None:
        return _binned(table, column, name, bins, backend)
    if kind.is_string() or kind.is_boolean() or kind.is_uuid():
        return FactorKey(name, column.cast("string") if kind.is_uuid() else column)
    if is_whole(kind):
        return FactorKey(name, as_value(column), most=None if declared else MOST_WHOLE_NUMBERS)
    if declared and (kind.is_numeric() or kind.is_date()):
        return FactorKey(name, as_value(column))
    if kind.is_numeric() and _few_fractions(table, as_value(column), backend):
        return FactorKey(name, as_value(column), most=MOST_FRACTIONS)
    raise (needs_bins(name, str(kind)) if kind.is_numeric() or kind.is_temporal() else _unusable(name, str(kind)))


def _few_fractions(table: Any, column: Any, backend: Any) -> bool:
    """Whether the first rows hold so few fractions that each can be a value; all rows are asked when they are counted.

    A continuous column is so refused before the engine has grouped every row by it.
    """
    first = backend.to_pyarrow(table.select(value=column).limit(_FIRST_ROWS).distinct())["value"].to_pylist()
    known = [value for value in first if value is not None]
    return len(known) <= MOST_FRACTIONS and all(abs(value) < _EXACT for value in known)


def is_plain(kind: Any) -> bool:
    """Whether a column's items can be values at all, as lists, structs and bytes cannot."""
    return any((kind.is_string(), kind.is_boolean(), kind.is_numeric(), kind.is_temporal(), kind.is_uuid()))


def is_whole(kind: Any) -> bool:
    """Whether a column holds whole numbers, which Snowflake and DuckDB's JSON call decimals of scale 0."""
    return bool(kind.is_integer() or (kind.is_decimal() and kind.scale == 0))


def as_value(column: Any) -> Any:
    """A column as it is, but decimals as the plain numbers that they are elsewhere, and times of day as text."""
    if column.type().is_time():
        return column.cast("string")
    if not column.type().is_decimal():
        return column
    return column.cast("int64" if is_whole(column.type()) else "float64")


def without_nan(column: Any, backend: Any) -> Any:
    """What is not a number is missing, whether the table says NULL or NaN."""
    if not column.type().is_floating() or not backend.has_operation(ibis.expr.operations.IsNan):
        return column
    return column.isnan().ifelse(ibis.null(column.type()), column)


def needs_bins(name: str, what: str) -> ColumnError:
    """A factor that holds too many numbers or dates to be values."""
    temporal = any(word in what for word in ("date", "time"))
    example = f'{name}="month"' if temporal else f"{name}=[0, 10, 20]"
    flag = f"--bins {name}=month" if temporal else f"--bins {name}=0,10,20"
    more = (
        " (or year, day, weekday, hour)"
        if temporal
        else " (edges), 5 (equally wide), quantiles:4, or values (each number on its own)"
    )
    return ColumnError(
        f"the factor {name!r} holds {what}",
        why="nearly every row would be a value of its own",
        instead=f"say how to bin it: bins=dict({example}), on the command line {flag}{more}",
    )


def _unusable(name: str, what: str) -> ColumnError:
    return ColumnError(
        f"the factor {name!r} is of type {what}",
        why="a factor's value is text, a boolean, a whole number or a bin",
        instead="choose another column, or turn it into text first",
    )


def _binned(table: Any, column: Any, name: str, bins: Bins, backend: Any) -> FactorKey:
    kind = column.type()
    if not is_plain(kind):
        raise _unusable(name, str(kind))
    if bins == "values":
        return FactorKey(name, as_value(column))
    if kind.is_date() or kind.is_timestamp():
        return _date_part(column, name, bins)
    if not kind.is_numeric():
        raise SettingError(
            f"bins were given for {name!r}",
            why=f"it is of type {kind}, and only numbers and dates can be binned",
            instead="leave its bins out",
        )
    _check_number(name, bins)
    edges = _edges(table, column, name, bins, backend)
    shown = _numbers(edges)
    inner = [f"[{low}, {high})" for low, high in pairwise(shown)]
    inner[-1] = inner[-1].replace(")", "]")
    names = (f"< {shown[0]}", *inner, f"> {shown[-1]}")
    if isinstance(bins, int):
        bucket = _equally_wide(column.cast("float64"), edges[0], edges[-1], bins)
    else:
        bucket = column.bucket(edges, include_under=True, include_over=True, close_extreme=True)
    return FactorKey(name, bucket, names=names, declares=tuple(inner))


def _check_number(name: str, bins: Bins) -> None:
    """Edges are compared one after the other, for every row; equally wide bins are computed, and only named."""
    counted = isinstance(bins, int)
    most = MOST_EQUAL_BINS if counted else MOST_BINS
    number = _how_many(bins)
    if number > most:
        raise SettingError(
            f"{number:,} bins for {name!r}",
            why=f"{'bins' if counted else 'edges or quantiles'} are limited to {most:,}; more would take gigabytes and "
            "minutes, and nearly every row would be a value of its own",
            instead=f"write fewer, for example bins=dict({name}=20) (--bins {name}=20), or each number on its own: "
            f"bins=dict({name}='values')",
        )


def _how_many(bins: Bins) -> int:
    if isinstance(bins, int):
        return bins
    if isinstance(bins, str):
        digits = bins.partition(":")[2]
        return min(int(digits[:20]), 10**18) if digits.isdecimal() else 0
    return len(bins) - 1 if hasattr(bins, "__len__") else 0


def _equally_wide(column: Any, low: float, high: float, bins: int) -> Any:
    """The place of a number from `low` to `high` among equally wide bins, from 1 on.

    Division tells the bin but for rounding, which moves it by one at most, since edges differ by at least a rounding
    step. So the two edges beside it are computed just as `_edges` does, and the number is compared with those: the
    same bins as by comparing it with every edge, in one step instead of thousands.
    """
    inner = ((column - low) / (high - low) * bins).floor().cast("float64")
    above = (column >= _edge(low, high, inner + 1, bins)).ifelse(1, 0)
    below = (column < _edge(low, high, inner, bins)).ifelse(1, 0)
    place = inner.cast("int64") + above - below + 1
    return (place > bins).ifelse(bins, place)  # the highest number belongs to the last bin


def _edge(low: Any, high: Any, step: Any, bins: int) -> Any:
    """One of the edges of equally wide bins, in the same steps for Python's numbers and an engine's."""
    return low + (high - low) * step / bins


def _edges(table: Any, column: Any, name: str, bins: Bins, backend: Any) -> list[float]:
    if isinstance(bins, int) and not isinstance(bins, bool):
        low, high = _ask(table, backend, [column.min(), column.max()])
        edges = [_edge(low, high, step, bins) for step in range(bins)] + [high] if bins > 0 and low is not None else []
    elif isinstance(bins, str):
        edges = _quantiles(table, column, name, bins, backend)
    else:
        edges = _listed(bins)
    rising = all(low < high for low, high in pairwise(edges))
    if len(edges) < 2 or not rising or not all(map(math.isfinite, edges)):
        raise SettingError(
            f"bins={bins!r} for {name!r}",
            why="that makes no bins: edges must rise, and there must be at least two of them",
            instead=f"for example bins=dict({name}=[0, 10, 20]), bins=dict({name}=5) "
            f"or bins=dict({name}='quantiles:4')",
        )
    return edges


def _listed(bins: Any) -> list[float]:
    try:
        return [float(edge) for edge in bins]
    except (TypeError, ValueError):  # not a list, or not of numbers
        return []


def _quantiles(table: Any, column: Any, name: str, bins: str, backend: Any) -> list[float]:
    word, _, number = bins.partition(":")
    if word != "quantiles" or not number.isdecimal() or int(number) < 2:
        raise SettingError(
            f"bins={bins!r} for {name!r}",
            why="that is not a way to bin a number",
            instead="give edges, a number of bins, 'quantiles:4' or 'values'",
        )
    steps = int(number)
    found = _ask(table, backend, [column.quantile(step / steps) for step in range(steps + 1)])
    return sorted({edge for edge in found if edge is not None})


def _ask(table: Any, backend: Any, scalars: Sequence[Any]) -> list[Any]:
    """A few numbers of a column, in one question."""
    named = [scalar.name(f"answer{place}") for place, scalar in enumerate(scalars)]
    answers = backend.to_pyarrow(table.aggregate(named)).to_pylist()[0].values()
    return [None if answer is None else float(answer) for answer in answers]


def _numbers(edges: Sequence[float]) -> list[str]:
    """The edges as short as they can be told apart: no two bins may have one name.

    >>> _numbers([0.0, 0.5, 2000000.0]), _numbers([1.0, 1.00000005])
    (['0', '0.5', '2000000'], ['1', '1.00000005'])
    """
    for digits in range(6, 18):
        shown = [str(int(edge)) if edge.is_integer() and abs(edge) < 1e15 else f"{edge:.{digits}g}" for edge in edges]
        if len(set(shown)) == len(shown):
            break
    return shown


def _date_part(column: Any, name: str, bins: Bins) -> FactorKey:
    if bins == "year":
        return FactorKey(name, column.year())
    if bins == "month":
        return FactorKey(name, column.truncate("M"), format="%Y-%m")
    if bins == "day":
        return FactorKey(name, column.truncate("D"), format="%Y-%m-%d")
    if bins == "weekday":
        return FactorKey(name, column.day_of_week.index(), names=_WEEKDAYS, declares=_WEEKDAYS)
    if bins == "hour" and column.type().is_timestamp():
        return FactorKey(name, column.hour())
    raise SettingError(
        f"bins={bins!r} for {name!r}",
        why="it holds dates",
        instead=f"write one of {', '.join(map(repr, _DATE_PARTS))}",
    )


def ordered(values: set[Any]) -> list[Value]:
    """Values in an order that does not depend on the engine: numbers by size, text by its characters."""
    return sorted(values, key=lambda value: (str(type(value)), value))
