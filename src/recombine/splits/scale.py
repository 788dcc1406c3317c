"""Where the values of an ordered factor stand: numbers where they are, bins at their middle, others by their order."""

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from recombine.algebra.groups import Numbers
from recombine.errors import SettingError, nearest
from recombine.tables.space import Factor, text

_BIN = re.compile(r"\[(\S+), (\S+)[\])]")
_END = re.compile(r"([<>]) (\S+)")


@dataclass(frozen=True, eq=False)
class Scale:
    """The places of a factor's values, in the order of the values.

    >>> Scale.of(Factor("x", ("[0, 10)", "[10, 20]"))).places.tolist()
    [5.0, 15.0]
    """

    factor: Factor
    places: Numbers
    numeric: bool

    @classmethod
    def of(cls, factor: Factor) -> "Scale":
        """The scale that a factor's values make."""
        places = [_place(value) for value in factor.values]
        if all(place is not None for place in places):
            return cls(factor, np.array(places, dtype=np.float64), numeric=True)
        return cls(factor, np.arange(len(places), dtype=np.float64), numeric=False)

    def at(self, limit: Any) -> float:
        """Where a limit stands: a number on a scale of numbers, else one of the values."""
        code = self.factor.code(limit)
        if code >= 0:
            return float(self.places[code])
        if self.numeric and isinstance(limit, int | float) and not isinstance(limit, bool):
            return float(limit)
        raise SettingError(
            f"the limit {text(limit)!r} for {self.factor.name!r}",
            why="it is neither a number on the factor's scale nor one of its values",
            instead=nearest(text(limit), self.factor.labels),
        )


def _place(value: Any) -> float | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value)
    inner, end = _BIN.fullmatch(str(value)), _END.fullmatch(str(value))
    try:
        if inner:
            return (float(inner[1]) + float(inner[2])) / 2
        return float("-inf" if end[1] == "<" else "inf") if end else None
    except ValueError:
        return None
