"""What every goal hands back: the chosen combinations in order, and what is known after each; and how it is laid out.

A `Choice` becomes a plan as a table with a line for each combination, and as the curve of benefit against cost.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from recombine.base.grades import Grade
from recombine.data.support import Support
from recombine.numerics.groups import Codes, Ints, Numbers

MOST_POINTS = 200  # of a curve: as many as a picture can tell apart
NOTHING_LEFT = "nothing unseen is left"
# What is equal on paper differs in the last digits, and differently with every number of threads: a plan must not.
_ROUNDING = 1e-9
COLUMNS = ("cost", "spent", "gain", "after", "benefit", "buys")


def first_best(worth: Numbers, then: Numbers | None = None) -> int:
    """The first of those that are worth most, but for rounding; of equal ones the one with most of something else.

    >>> first_best(np.array([1.0, 2.0, 2.0 + 1e-12])), first_best(np.array([2.0, 2.0]), np.array([0.1, 0.3]))
    (1, 1)
    """
    most = float(worth.max())
    equal = worth >= most - _ROUNDING * abs(most)
    return int(np.argmax(equal)) if then is None else int(np.argmax(np.where(equal, then, -np.inf)))


@dataclass(frozen=True)
class PlanMeasure:
    """What is counted along the plan: its name, today's figure, which way is better, and what would be all of it."""

    name: str
    today: float | None
    better: str
    full: float | None = None


@dataclass(frozen=True)
class PlanNeed:
    """What the goal takes in full: combinations and their cost, and whether these figures are the least possible."""

    combinations: int | None
    cost: float | None
    exact: bool
    said: str


@dataclass(frozen=True)
class BlockedValues:
    """What no plan can reach: how many, the values that stand in the way by factor, some examples, a sentence."""

    count: int
    what: str
    values: Mapping[str, tuple[str, ...]]
    examples: tuple[Mapping[str, str], ...]
    said: str


@dataclass(frozen=True)
class RuleTest:
    """What an audit of the same table says of adding up: its grade, whether to rely on it, whether another rule is
    better.

    >>> RuleTest("weak", refuted=True, other=False).aside
    ' (the audit says: do not rely on it)'
    """

    grade: Grade
    refuted: bool
    other: bool

    @property
    def aside(self) -> str:
        """Behind the *if* of a plan."""
        if self.refuted:
            return " (the audit says: do not rely on it)"
        if self.other:
            return " (the audit found a better rule)"
        return " (untested)" if self.grade == "untested" else " (held-out combinations say so)"

    @property
    def limit(self) -> Grade:
        """The best grade of a plan that rests on it."""
        return "weak" if self.refuted or self.other else "plausible"


@dataclass(frozen=True, eq=False)
class Choice:
    """The chosen combinations in order, within the budget. Legend: n lines."""

    codes: Codes  # (n, factors)
    prices: Numbers  # (n,)
    after: Numbers  # (n,) the measure after each line; NaN where it was not taken
    words: tuple[str, ...]  # (n,) what each buys
    measure: PlanMeasure
    needed: PlanNeed
    reached: bool
    blocked: BlockedValues | None = None
    notes: tuple[str, ...] = ()
    extra: Mapping[str, Numbers] = field(default_factory=dict)  # more columns for the table, (n,) each
    refused: str | None = None  # in words, that there is nothing worth its price
    share: float | None = None  # what a gate can be held against, where it is not the measure over its full figure
    wells: tuple[str, ...] = ()  # the combinations by name, where the sentence is to name them


def affordable(prices: Numbers, budget: float | None) -> Ints:
    """Which lines a budget pays for, taken in order; what is too dear is passed over.

    >>> affordable(np.array([2.0, 5.0, 1.0]), 3.5).tolist()
    [0, 2]
    """
    if budget is None or prices.sum() <= budget:
        return np.arange(len(prices))
    taken, left = [], budget * (1 + 1e-12)
    cheapest = float(prices.min())
    for place, price in enumerate(prices.tolist()):
        if left < cheapest:
            break
        if price <= left:
            taken.append(place)
            left -= price
    return np.array(taken, dtype=np.int64)


def points(lines: int, most: int = MOST_POINTS) -> list[int]:
    """After how many lines something is measured: after each of them, or after some that are spread evenly.

    >>> points(3), points(1000, most=5)
    ([1, 2, 3], [1, 251, 500, 750, 1000])
    """
    if lines <= most:
        return list(range(1, lines + 1))
    return sorted({round(1 + step * (lines - 1) / (most - 1)) for step in range(most)})


@dataclass(frozen=True)
class PlanLine:
    """One combination to collect. `gain` is what it adds to the measure, `benefit` what all lines up to it add.

    A figure is None where it was not taken: a long plan is measured at some of its lines only, and leverage has no
    bound before everything is determined.
    """

    combination: Mapping[str, str]
    cost: float
    spent: float
    gain: float | None
    after: float | None
    benefit: float | None
    buys: str


@dataclass(frozen=True)
class Point:
    """The measure after so many lines, for so much spent; the first point is today."""

    lines: int
    spent: float
    value: float | None


def curve(choice: Choice, spent: Numbers) -> tuple[Point, ...]:
    """The measure against what is spent, at 200 lines at most; the first point is today."""
    known = np.flatnonzero(np.isfinite(choice.after))
    shown = known[[place - 1 for place in points(len(known), MOST_POINTS)]]
    rest = [Point(int(line) + 1, float(spent[line]), float(choice.after[line])) for line in shown]
    if len(spent) and (not rest or rest[-1].lines < len(spent)):
        rest.append(Point(len(spent), float(spent[-1]), None))
    return (Point(0, 0.0, choice.measure.today), *rest)


def table(support: Support, choice: Choice, spent: Numbers) -> pa.Table:
    """A row for each line: the combination, what it costs, what it buys."""
    names = support.space.names
    sign = 1.0 if choice.measure.better == "higher" else -1.0
    today = math.nan if choice.measure.today is None else choice.measure.today
    before = np.concatenate([[today], choice.after])[:-1]
    numbers = {
        "cost": choice.prices,
        "spent": spent,
        "gain": sign * (choice.after - before),
        "after": choice.after,
        "benefit": sign * (choice.after - today),
    }
    columns = list(support.space.labels(choice.codes).values())
    columns += [pa.array(np.asarray(numbers[name], dtype=np.float64), from_pandas=True) for name in numbers]
    columns += [pa.array(choice.words, pa.string())]
    columns += [pa.array(np.asarray(extra, dtype=np.float64), from_pandas=True) for extra in choice.extra.values()]
    own = [_free(name, names) for name in (*COLUMNS, *choice.extra)]
    return pa.Table.from_arrays(columns, names=[*names, *own])


def _free(name: str, taken: tuple[str, ...]) -> str:
    """A column's name that is not a factor's."""
    return name if name not in taken else _free(f"{name} of the plan", taken)
