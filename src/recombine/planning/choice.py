"""What every goal hands back: the chosen combinations in order, and what is known after each of them."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from recombine.algebra.groups import Codes, Ints, Numbers

MOST_POINTS = 200
NOTHING_LEFT = "nothing unseen is left"
# What is equal on paper differs in the last digits, and differently with every number of threads: a plan must not.
_ROUNDING = 1e-9


def first_best(worth: Numbers) -> int:
    """The first of those that are worth most, but for rounding.

    >>> first_best(np.array([1.0, 2.0, 2.0 + 1e-12]))
    1
    """
    most = float(worth.max())
    return int(np.argmax(worth >= most - _ROUNDING * abs(most)))


@dataclass(frozen=True)
class Measure:
    """What is counted along the plan: its name, today's figure, which way is better, and what would be all of it."""

    name: str
    today: float | None
    better: str
    full: float | None = None


@dataclass(frozen=True)
class Needed:
    """What the goal takes in full: combinations and their cost, and whether these figures are the least possible."""

    combinations: int | None
    cost: float | None
    exact: bool
    said: str


@dataclass(frozen=True)
class Blocked:
    """What no plan can reach: how many, the values that stand in the way by factor, some examples, a sentence."""

    count: int
    what: str
    values: Mapping[str, tuple[str, ...]]
    examples: tuple[Mapping[str, str], ...]
    said: str


@dataclass(frozen=True, eq=False)
class Choice:
    """The chosen combinations in order, within the budget. Legend: n lines."""

    codes: Codes  # (n, factors)
    prices: Numbers  # (n,)
    after: Numbers  # (n,) the measure after each line; NaN where it was not taken
    words: tuple[str, ...]  # (n,) what each buys
    measure: Measure
    needed: Needed
    reached: bool
    blocked: Blocked | None = None
    notes: tuple[str, ...] = ()
    extra: Mapping[str, Numbers] = field(default_factory=dict)  # more columns for the table, (n,) each
    share: float | None = None  # what a gate can be held against, where it is not the measure over its full figure


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


def per_cost(gain: Numbers, prices: Numbers) -> Numbers:
    """Gain for one unit of cost; what costs nothing comes first among what gains anything."""
    return np.asarray(gain / np.maximum(prices, 1e-9))


def points(lines: int, most: int = MOST_POINTS) -> list[int]:
    """After how many lines something is measured: after each of them, or after some that are spread evenly.

    >>> points(3), points(1000, most=5)
    ([1, 2, 3], [1, 251, 500, 750, 1000])
    """
    if lines <= most:
        return list(range(1, lines + 1))
    return sorted({round(1 + step * (lines - 1) / (most - 1)) for step in range(most)})


def total_cost(prices: Numbers) -> float | None:
    """What several combinations cost together; nothing where one cannot be collected."""
    total = float(prices.sum())
    return None if math.isinf(total) else total
