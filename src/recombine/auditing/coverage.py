"""How much of what could occur did occur: value by value, and for conjunctions of one, two and three factors."""

from dataclasses import dataclass
from itertools import combinations
from math import comb, exp, prod

import numpy as np

from recombine.auditing.dependence import entropy
from recombine.tables.support import Support

_MOST_WORK = 5 * 10**8  # sets of factors times combinations: some ten seconds of counting groups
_LISTED = 5  # rarest and commonest values that are named


@dataclass(frozen=True)
class ValueCount:
    """A value and how often it was seen."""

    value: str
    count: float


@dataclass(frozen=True)
class FactorCoverage:
    """One factor: how many of its values were seen, how evenly, and which are rare.

    `effective` is the number of equally frequent values that would be as varied (the exponential of the entropy).
    """

    name: str
    values: int
    seen: int
    declared: bool
    effective: float
    missing_rows: int
    rarest: tuple[ValueCount, ...]
    commonest: tuple[ValueCount, ...]
    never_seen: tuple[str, ...]


@dataclass(frozen=True)
class OrderCoverage:
    """Of all conjunctions of this many factors that could occur, how many did."""

    order: int
    seen: int
    possible: int
    share: float


def factor_coverage(support: Support) -> tuple[FactorCoverage, ...]:
    """The coverage of every factor."""
    return tuple(_factor(support, k) for k in range(len(support.space.factors)))


def _factor(support: Support, k: int) -> FactorCoverage:
    factor, counts = support.space.factors[k], support.value_counts[k]
    order = np.argsort(-counts, kind="stable")
    seen = [int(v) for v in order if counts[v] > 0]
    listed = [ValueCount(factor.labels[v], float(counts[v])) for v in seen]
    never = tuple(factor.labels[v] for v in np.flatnonzero(counts == 0))
    return FactorCoverage(
        name=factor.name,
        values=len(factor.values),
        seen=len(seen),
        declared=factor.declared,
        effective=exp(entropy(counts)),
        missing_rows=support.left_out.get(factor.name, 0),
        rarest=tuple(reversed(listed[-_LISTED:])),
        commonest=tuple(listed[:_LISTED]),
        never_seen=never[:100],
    )


def order_coverage(support: Support) -> tuple[OrderCoverage, ...]:
    """The share of possible conjunctions seen, for one, two and three factors; orders that would take too long are
    left out.
    """
    width = len(support.space.factors)
    orders = [t for t in (1, 2, 3) if t <= width and comb(width, t) * len(support) <= _MOST_WORK]
    return tuple(_order(support, order) for order in orders)


def _order(support: Support, order: int) -> OrderCoverage:
    space = support.space
    seen = possible = 0
    for chosen in combinations(range(len(space.factors)), order):
        seen += support.groups(chosen).size
        possible += space.restricted(chosen).size if space.impossible else prod(space.sizes[k] for k in chosen)
    return OrderCoverage(order, seen, possible, seen / possible if possible else 1.0)
