"""Hold out by where values stand: the inside of a box, a corner, all but a band or all but some planes.

A donut's unseen combinations lie among the seen, a corner's beyond them; along the diagonal a value is seen only with
its like; with planes, only one factor differs from a reference. Numbers stand where they are, bins at their middle,
other values in their order (`ValueScale`).
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from recombine.base.checks import check_number
from recombine.base.errors import SettingError, nearest
from recombine.data.space import Factor, text
from recombine.data.support import Support
from recombine.numerics.groups import Numbers
from recombine.verbs.split.conjunction_holdout import combination, factor_name
from recombine.verbs.split.splitter import Assignment, Splitter

_BIN = re.compile(r"\[(\S+), (\S+)[\])]")
_END = re.compile(r"([<>]) (\S+)")


@dataclass(frozen=True, eq=False)
class ValueScale:
    """The places of a factor's values, in the order of the values.

    >>> ValueScale.of(Factor("x", ("[0, 10)", "[10, 20]"))).places.tolist()
    [5.0, 15.0]
    """

    factor: Factor
    places: Numbers
    numeric: bool

    @classmethod
    def of(cls, factor: Factor) -> "ValueScale":
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


def _within(support: Support, factors: Sequence[str | int], limits: Any) -> npt.NDArray[np.bool_]:
    """Which combinations lie between the limits in every factor that has some: a lower one and perhaps an upper one."""
    each = limits if isinstance(limits, Mapping) else dict.fromkeys(factors, limits)
    inside = np.ones(len(support), dtype=bool)
    for factor, (low, *high) in each.items():
        k = support.space.position(factor_name(support, factors, factor))
        scale = ValueScale.of(support.space.factors[k])
        within = scale.places >= scale.at(low)
        for limit in high:
            within &= scale.places <= scale.at(limit)
        inside &= within[support.codes[:, k]]
    return inside


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class Donut(Splitter):
    """Hold out the combinations of which every factor lies within the hole, both limits included.

    `hole` is one pair of limits for all factors, or a mapping from a factor to its own; a factor that the mapping does
    not name is free. Limits are numbers, or values of the factor; a bin lies where its middle lies.

    >>> grid = {"x": [0, 0, 0, 1, 1, 1, 2, 2, 2], "y": [0, 1, 2, 0, 1, 2, 0, 1, 2]}
    >>> [test.tolist() for _, test in Donut(["x", "y"], hole=(1, 1)).split(grid)]
    [[4]]
    """

    hole: tuple[Any, Any] | Mapping[str | int, tuple[Any, Any]]
    guarantee: Literal["values", "none"] = "values"

    def check_settings(self) -> None:
        """A pair of limits for each factor."""
        pairs = list(self.hole.values()) if isinstance(self.hole, Mapping) else [self.hole]
        if not pairs or not all(isinstance(pair, list | tuple) and len(pair) == 2 for pair in pairs):
            raise SettingError(
                f"hole={self.hole!r}",
                why="a hole has a lower and an upper limit",
                instead="write hole=(6, 22), or hole={'x': (6, 22), 'y': (3, 9)}",
            )

    def assign(self, support: Support, fold: int) -> Assignment:  # noqa: ARG002 - there is one
        """Inside in every factor that has limits."""
        return Assignment.of(_within(support, self.factors, self.hole))


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class Corner(Splitter):
    """Hold out the combinations of which every factor is at `at` or above.

    `at` is one limit for all factors, or a mapping from a factor to its own; a factor that the mapping does not name
    is free. A limit is a number, or a value of the factor; a bin lies where its middle lies.

    >>> grid = {"x": [0, 0, 1, 1], "y": [0, 1, 0, 1]}
    >>> [test.tolist() for _, test in Corner(["x", "y"], at=1).split(grid)]
    [[3]]
    """

    at: Any
    guarantee: Literal["values", "none"] = "values"

    def assign(self, support: Support, fold: int) -> Assignment:  # noqa: ARG002 - there is one
        """Above in every factor that has a limit."""
        one = not isinstance(self.at, Mapping)
        return Assignment.of(
            _within(support, self.factors, (self.at,) if one else {name: (limit,) for name, limit in self.at.items()})
        )


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class Diagonal(Splitter):
    """Training keeps the combinations near the diagonal, everything else is held out.

    Each value's position among the values of its factor is scaled to [0, 1]; near means that the largest and the
    smallest position of a combination differ by `width` at most. (A band of perpendicular half-width d is
    `width = d * sqrt(2)`.)

    >>> grid = {"x": [0, 0, 1, 1], "y": [0, 1, 0, 1]}
    >>> [train.tolist() for train, _ in Diagonal(["x", "y"], width=0.2).split(grid)]
    [[0, 3]]
    """

    width: float
    guarantee: Literal["values", "none"] = "values"

    def check_settings(self) -> None:
        """A width that keeps something and leaves something."""
        check_number(
            "width",
            self.width,
            least=0,
            below=1,
            why="positions are scaled to [0, 1], and a band as wide as that holds everything",
            instead="write a number from 0 to below 1, such as width=0.1",
        )

    def assign(self, support: Support, fold: int) -> Assignment:  # noqa: ARG002 - there is one
        """Far from the diagonal."""
        place = support.codes / (np.array(support.space.sizes) - 1)
        spread = place.max(axis=1) - place.min(axis=1)
        return Assignment.of(spread > self.width + 1e-9)


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class OrthogonalPlanes(Splitter):
    """Training keeps the combinations that differ from a reference in one factor at most; the rest is held out.

    `through` is one reference or a list of them: each a mapping, or a tuple of one value for each factor.

    >>> grid = {"x": [0, 0, 0, 1, 1, 1], "y": [0, 1, 2, 0, 1, 2]}
    >>> [test.tolist() for _, test in OrthogonalPlanes(["x", "y"], through=(0, 0)).split(grid)]
    [[4, 5]]
    """

    through: Mapping[Any, Any] | Sequence[Any]
    guarantee: Literal["values", "none"] = "values"

    def check_settings(self) -> None:
        """At least one reference."""
        if not self._references():
            raise SettingError(
                f"through={self.through!r}",
                why="training would keep nothing",
                instead="give a whole combination: through={'x': 0, 'y': 0}, or a list of them",
            )

    def _references(self) -> list[Any]:
        if isinstance(self.through, list):
            several = all(isinstance(one, Mapping | list | tuple) for one in self.through)
            return list(self.through) if several else [tuple(self.through)]
        return [self.through] if self.through is not None and self.through != () else []

    def assign(self, support: Support, fold: int) -> Assignment:  # noqa: ARG002 - there is one
        """Different from every reference in two factors or more."""
        kept = np.zeros(len(support), dtype=bool)
        for given in self._references():
            reference = combination(support, self.factors, given)
            codes = support.space.encode([reference])
            kept |= (support.codes != codes).sum(axis=1) <= 1
        return Assignment.of(~kept)
