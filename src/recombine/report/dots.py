"""Scores beside each other on one axis: a dot each, its interval as a bar, and in words what the dot cannot say."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from recombine.report.plots import Bounds, Tick, around, round_numbers

Spoken = Callable[[float | None], str]


@dataclass(frozen=True)
class Dot:
    """One score: its place and interval in percent of the axis; without a place it was not measured.

    `beside` is a second score on the same axis, drawn as a hollow diamond.
    """

    name: str
    at: float | None
    low: float | None
    high: float | None
    text: str
    note: str = ""
    own: bool = False
    beside: float | None = None
    title: str = ""


@dataclass(frozen=True)
class Dots:
    """Scores beside each other on one axis."""

    dots: Sequence[Dot]
    ticks: Sequence[Tick]
    score: str
    better: str
    zero: float | None = None


def bounds(known: Sequence[float]) -> Bounds:
    """Bounds that hold all scores, and zero where it is not far from them.

    >>> bounds([0.2, 0.9]), bounds([0.8, 0.9])[0] > 0.7
    ((0.0, 0.9450000000000001), True)
    """
    low, high = around([*known, 0.0] if min(known, default=0) < 0.5 * max(known, default=1) else known, 0.05)
    return (max(low, 0.0) if min(known, default=0) >= 0 else low), high


def widened(within: Bounds, least: float = 0.1) -> Bounds:
    """Bounds of shares: between none and all of it, and never so narrow that a hair's breadth looks wide.

    >>> widened((0.0, 0.0)), widened((0.97, 1.04)), widened((0.2, 0.9))
    ((0.0, 0.1), (0.9, 1.0), (0.2, 0.9))
    """
    low, high = (min(1.0, max(0.0, end)) for end in within)
    room = max(0.0, least - (high - low)) / 2
    low = min(1.0 - least, max(0.0, low - room))
    return low, min(1.0, max(low + least, high + room))


def place(number: float | None, within: Bounds) -> float | None:
    """Where a number stands between two, in percent.

    >>> place(0.5, (0.0, 1.0)), place(None, (0.0, 1.0))
    (50.0, None)
    """
    return None if number is None else 100 * (number - within[0]) / (within[1] - within[0])


def ticks(within: Bounds, spoken: Spoken, most: int = 6) -> list[Tick]:
    """Round numbers along the axis, as they are spoken.

    >>> [tick.text for tick in ticks((0.0, 1.0), str)]
    ['0.0', '0.2', '0.4', '0.6', '0.8', '1.0']
    """
    return [Tick(place(number, within) or 0.0, spoken(number)) for number in round_numbers(*within, most)]
