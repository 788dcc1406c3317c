"""What every picture is made of: bars, dots on an axis, shaded tables, and plots with two axes.

A picture is positions, kinds and words. The templates draw it (`parts.html.j2`) and `plots.css` gives each kind its
colour, so a picture needs no script, prints well, and looks alike on every page. A plot is in the units of one view
box: it scales with its column.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from recombine.output.headline import decimal, percent, share, whole

Bounds = tuple[float, float]
Spoken = Callable[[float | None], str]
_NARROW = 5
"""Columns of a table from which their names stand upright."""


@dataclass(frozen=True)
class Bar:
    """One horizontal bar: what it is of, how much of the whole it fills, and what is written beside it."""

    label: str
    fill: float
    text: str
    note: str = ""


@dataclass(frozen=True)
class Bars:
    """A picture made of bars, with the sentence under it."""

    bars: Sequence[Bar]
    sentence: str


@dataclass(frozen=True)
class BarPiece:
    """One stretch of a stacked bar, in percent of it."""

    state: str
    count: str
    share: str
    start: float
    width: float


def stacked(counts: Mapping[str, int], total: int) -> list[BarPiece]:
    """Counts as stretches of one bar.

    >>> [piece.width for piece in stacked({"seen": 1, "unseen": 3}, 4)]
    [25.0, 75.0]
    """
    pieces, start = [], 0.0
    for state, number in counts.items():
        width = 100 * share(number, total)
        pieces.append(BarPiece(state, whole(number), percent(width / 100), start, width))
        start += width
    return pieces


@dataclass(frozen=True)
class Shade:
    """One cell of a shaded table: how dark it is (0 to 1), what stands in it, and what pointing at it tells."""

    share: float | None
    text: str
    title: str


@dataclass(frozen=True)
class ShadedTable:
    """A cell for each row and column; None where there is nothing, which is drawn as `absent`."""

    columns: Sequence[str]
    rows: Sequence[tuple[str, Sequence[Shade | None]]]
    sentence: str
    corner: str = ""
    absent: str = ""

    @property
    def upright(self) -> bool:
        """Whether there are so many columns that their names stand upright."""
        return len(self.columns) > _NARROW


@dataclass(frozen=True)
class LegendKey:
    """A colour and what it stands for."""

    kind: str
    text: str


WIDTH, HEIGHT = 480, 330
LEFT, RIGHT, TOP, BOTTOM = 58, 14, 14, 48


@dataclass(frozen=True)
class Mark:
    """One point: where, of which kind (its colour and its shape), and what it says when pointed at."""

    x: float
    y: float
    kind: str
    title: str
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Path:
    """A line through points, and how it is drawn."""

    points: str
    kind: str


@dataclass(frozen=True)
class Label:
    """A text beside a place of the plot."""

    x: float
    y: float
    text: str
    side: str = "start"


@dataclass(frozen=True)
class Tick:
    """A labelled place on an axis."""

    at: float
    text: str


@dataclass(frozen=True)
class Plot:
    """A picture with two axes, and the sentence under it."""

    across: str
    up: str
    x_ticks: Sequence[Tick]
    y_ticks: Sequence[Tick]
    paths: Sequence[Path]
    marks: Sequence[Mark]
    labels: Sequence[Label]
    sentence: str
    bands: Sequence[Path] = ()


@dataclass(frozen=True)
class Axes:
    """From numbers to places in the view box."""

    x: Bounds
    y: Bounds
    logarithmic: bool = False

    def across(self, number: float) -> float:
        """The place of a number on the horizontal axis."""
        bend: Callable[[float], float] = math.log if self.logarithmic else float
        low, high = bend(self.x[0]), bend(self.x[1])
        return round(LEFT + (bend(number) - low) / (high - low) * (WIDTH - LEFT - RIGHT), 2)

    def up(self, number: float) -> float:
        """The place of a number on the vertical axis."""
        return round(HEIGHT - BOTTOM - (number - self.y[0]) / (self.y[1] - self.y[0]) * (HEIGHT - TOP - BOTTOM), 2)

    def path(self, points: Sequence[tuple[float, float]], kind: str) -> Path:
        """A line through points given as numbers."""
        return Path(" ".join(f"{self.across(x)},{self.up(y)}" for x, y in points), kind)

    def band(self, across: Sequence[float], low: Sequence[float], high: Sequence[float], kind: str) -> Path:
        """The area between two lines over the same places, as the outline that is filled."""
        return self.path([*zip(across, low, strict=True), *reversed(list(zip(across, high, strict=True)))], kind)

    def line(self, slope: float, offset: float, kind: str) -> Path | None:
        """The part of a straight line that lies inside, or None if none does."""
        ends = sorted({*self.x, *((y - offset) / slope for y in self.y if slope)})
        inside = [x for x in ends if self.holds(x, slope * x + offset)]
        return self.path([(x, slope * x + offset) for x in (inside[0], inside[-1])], kind) if len(inside) > 1 else None

    def level(self, y: float, kind: str) -> Path:
        """A line at one height, from end to end."""
        return self.path([(self.x[0], y), (self.x[1], y)], kind)

    def mark(
        self, x: float, y: float, kind: str, title: str, *, low: float | None = None, high: float | None = None
    ) -> Mark:
        """A point given as numbers, with its interval where there is one."""
        ends = (None if end is None else self.up(end) for end in (low, high))
        return Mark(self.across(x), self.up(y), kind, title, *ends)

    def plot(
        self,
        across: str,
        up: str,
        *,
        paths: Sequence[Path | None] = (),
        bands: Sequence[Path] = (),
        marks: Sequence[Mark] = (),
        labels: Sequence[Label] = (),
        sentence: str = "",
        x_spoken: Callable[[float], str] = decimal,
        y_spoken: Callable[[float], str] = decimal,
    ) -> Plot:
        """A plot on these axes; a path that does not lie inside is left out."""
        drawn = [path for path in paths if path is not None]
        return Plot(across, up, self.x_ticks(x_spoken), self.y_ticks(y_spoken), drawn, marks, labels, sentence, bands)

    def holds(self, x: float, y: float) -> bool:
        """Whether a point lies inside, its edge included."""
        slack = 1e-9 * max(1.0, self.x[1] - self.x[0], self.y[1] - self.y[0])
        return self.x[0] - slack <= x <= self.x[1] + slack and self.y[0] - slack <= y <= self.y[1] + slack

    def x_ticks(self, spoken: Callable[[float], str] = decimal) -> list[Tick]:
        """Round numbers along the horizontal axis."""
        numbers = powers(*self.x) if self.logarithmic else round_numbers(*self.x)
        return [Tick(self.across(number), spoken(number)) for number in numbers]

    def y_ticks(self, spoken: Callable[[float], str] = decimal) -> list[Tick]:
        """Round numbers along the vertical axis."""
        return [Tick(self.up(number), spoken(number)) for number in round_numbers(*self.y)]


def beside(ends: Sequence[tuple[float, str]], x: float) -> list[Label]:
    """A name at the end of each line, at its height, kept apart where lines end close to each other.

    >>> [label.y for label in beside([(20.0, "seen"), (22.0, "unseen")], 400.0)]
    [24.0, 38.0]
    """
    labels: list[Label] = []
    for y, name in sorted(ends):
        lowest = labels[-1].y + 14 if labels else -math.inf
        labels.append(Label(x, round(max(y + 4, lowest), 2), name))
    return labels


def around(numbers: Sequence[float], room: float = 0.06) -> Bounds:
    """Bounds that hold all numbers with a little room, also when there is only one.

    >>> around([0.0, 10.0], 0.1)
    (-1.0, 11.0)
    """
    low, high = (min(numbers), max(numbers)) if numbers else (0.0, 1.0)
    span = (high - low) or abs(high) or 1.0
    return low - room * span, high + room * span


def round_numbers(low: float, high: float, most: int = 6) -> list[float]:
    """At most so many round numbers between two.

    >>> round_numbers(0.03, 0.97)
    [0.2, 0.4, 0.6, 0.8]
    """
    rough = (high - low) / max(1, most - 1)
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(unit * times for times in (1, 2, 5, 10) if unit * times >= rough * 0.999)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [float(f"{place * step:.10g}") for place in range(first, last + 1)]


def powers(low: float, high: float) -> list[float]:
    """Round numbers between two on a logarithmic axis.

    >>> powers(0.9, 60.0)
    [1.0, 2.0, 5.0, 10.0, 20.0, 50.0]
    """
    tens = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    times = (1, 2, 5) if high < 1000 * low else (1,)
    return [number for ten in tens for step in times if low <= (number := float(f"{step * 10.0**ten:.10g}")) <= high]


@dataclass(frozen=True)
class Dot:
    """One score and its interval, as numbers or in percent of an axis; without a place it was not measured.

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


def dots_on(
    within: Bounds, dots: Sequence[Dot], spoken: Spoken, *, score: str, better: str, most: int = 6, zero: bool = False
) -> Dots:
    """Scores, given as numbers, on one axis; `zero` marks where that is."""

    def placed(dot: Dot) -> Dot:
        at, low, high, beside = (place(number, within) for number in (dot.at, dot.low, dot.high, dot.beside))
        return replace(dot, at=at, low=low, high=high, beside=beside)

    marks = ticks(within, spoken, most)
    return Dots([*map(placed, dots)], marks, score, better, zero=place(0.0, within) if zero else None)


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
