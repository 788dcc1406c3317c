"""Runs side by side: every seed shown, with the median and the range, and no mean that could hide a collapsed one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from recombine.errors import SettingError, nearest
from recombine.lab.runs import listing
from recombine.lab.runs.listing import Line


@dataclass(frozen=True)
class Spread:
    """One measurement over the runs of a group: what each gave, in their order, and None where it gave nothing.

    >>> Spread((0.9, None, 0.1, 0.8)).median, Spread((0.9, None, 0.1)).missing, Spread((None,)).low
    (0.8, 1, None)
    """

    values: tuple[float | None, ...]

    @property
    def known(self) -> list[float]:
        """What was measured."""
        return [value for value in self.values if value is not None]

    @property
    def missing(self) -> int:
        """How many runs gave nothing: diverged, failed or untested."""
        return len(self.values) - len(self.known)

    @property
    def median(self) -> float | None:
        """The middle one of those that there are."""
        return median(self.known) if self.known else None

    @property
    def low(self) -> float | None:
        """The least."""
        return min(self.known, default=None)

    @property
    def high(self) -> float | None:
        """The most."""
        return max(self.known, default=None)


@dataclass(frozen=True)
class Group:
    """Runs that agree in what makes the group, in order of their seeds; what they do not have is left out."""

    settings: Mapping[str, Any]
    lines: tuple[Line, ...]

    def spread(self, metric: str) -> Spread:
        """One measurement over all of them; a damaged run's numbers are not believed."""
        return Spread(tuple(None if line.status == "damaged" else line.metrics.get(metric) for line in self.lines))


@dataclass(frozen=True)
class Comparison:
    """Groups of runs, what tells them apart, and what varies within them besides the seed."""

    groups: tuple[Group, ...]
    metrics: tuple[str, ...]
    mixed: Mapping[str, tuple[Any, ...]]


def compare(
    found: Sequence[Line], *, by: Sequence[str] | None = None, metrics: Sequence[str] | None = None
) -> Comparison:
    """Runs in groups: by the settings named, or by everything that differs but the seed."""
    listing.check_names(found, by or ())
    told = [line.chosen(by) for line in found] if by is not None else apart(found)
    groups: dict[str, tuple[dict[str, Any], list[Line]]] = {}
    for line, settings in zip(found, told, strict=True):
        groups.setdefault(repr(settings), (settings, []))[1].append(line)
    made = tuple(_group(settings, lines) for settings, lines in groups.values())
    return Comparison(made, _measured(found, metrics), _mixed(made, by) if by is not None else {})


def apart(found: Sequence[Line]) -> list[dict[str, Any]]:
    """For each line what sets it apart but the seed: settings, and the code where there are several versions of it."""
    codes = len({line.code for line in found if line.code is not None}) > 1
    return [
        told | ({"code": line.code} if codes else {}) for line, told in zip(found, listing.apart(found), strict=True)
    ]


def _group(settings: Mapping[str, Any], lines: Sequence[Line]) -> Group:
    ordered = sorted(lines, key=lambda line: (line.seed if line.seed is not None else -1, line.key))
    return Group(settings, tuple(ordered))


def _measured(found: Sequence[Line], asked: Sequence[str] | None) -> tuple[str, ...]:
    known = listing.metrics(found)
    for name in asked or ():
        if name not in known:
            raise SettingError(
                f"no measurement {name!r}",
                why="none of these runs has one of that name",
                instead=nearest(name, known) if known else "none of them has any: they failed or are damaged",
            )
    return tuple(asked or listing.scores(found) or known)


def _mixed(groups: Sequence[Group], names: Sequence[str]) -> dict[str, tuple[Any, ...]]:
    """What differs between runs of one group, though a group should differ in its seeds alone."""
    found: dict[str, dict[str, Any]] = {}
    for group in groups:
        for told in apart(group.lines):
            for name, value in told.items():
                if name not in names:
                    found.setdefault(name, {})[repr(value)] = value
    return {name: tuple(values.values()) for name, values in found.items()}
