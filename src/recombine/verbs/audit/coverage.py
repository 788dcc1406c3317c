"""How much of what could occur did occur: value by value, and for conjunctions of one, two and three factors.

Thin combinations: seen, but by a handful of rows where others have hundreds.

Determinacy and leverage count a combination once, however many rows it has. A model that learns from rows hardly sees a
thin one, and a score of it has an interval as wide as its rows are few. A seen combination is *thin* if it has

- fewer than a tenth of the rows that it would have if the factors were independent of each other, where these are ten
  rows at least: something keeps its values apart; or
- fewer than five rows, where a seen combination has fifty on average: too few for a score of its own.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from math import comb, exp, prod

import numpy as np
import numpy.typing as npt

from recombine.data.support import Support
from recombine.numerics.groups import Codes, Ints, Numbers
from recombine.verbs.audit.dependence import entropy

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


_SHARE = 0.1  # of the rows that independence expects
_FEWEST_EXPECTED = 10  # rows: of fewer, chance alone leaves a tenth often enough
_FEWEST_ROWS = 5  # below this, one row more or less moves a score by a fifth and more
_MANY = 50  # rows of an average combination, beside which a handful is thin
_SHOWN = 200  # thin combinations that a record lists; `counts.thin` counts all of them


@dataclass(frozen=True)
class ThinCombination:
    """One of them; `expected` is how many rows it would have if the factors were independent."""

    combination: Mapping[str, str]
    count: float
    expected: float


def expected_rows(support: Support, codes: Codes) -> Numbers:
    """How many rows each combination would have if the factors were independent of each other."""
    share = np.ones(len(codes))
    for k, counts in enumerate(support.value_counts):
        share *= counts[codes[:, k]] / support.total
    return share * support.total


def thin(support: Support) -> npt.NDArray[np.bool_]:
    """Which of the seen combinations are thin.

    >>> import recombine
    >>> birds = {"bird": ["land"] * 190 + ["water"] * 60, "place": ["land"] * 180 + ["water"] * 10 + ["land"] * 4 +
    ...     ["water"] * 56}
    >>> birds = recombine.read(birds, factors=["bird", "place"])
    >>> [birds.combination(int(place)) for place in np.flatnonzero(thin(birds))]
    [{'bird': 'water', 'place': 'land'}]
    """
    expected = expected_rows(support, support.codes)
    apart = (support.counts < _SHARE * expected) & (expected >= _FEWEST_EXPECTED)
    handful = (support.counts < _FEWEST_ROWS) & bool(support.counts.mean() >= _MANY)
    return np.asarray(apart | handful)


def thinnest(support: Support, which: npt.NDArray[np.bool_]) -> tuple[ThinCombination, ...]:
    """The thin ones by name, first those that fall most short of what independence expects."""
    places: Ints = np.flatnonzero(which)
    expected = expected_rows(support, support.codes[places])
    counts = support.counts[places]
    order = np.argsort(counts / np.maximum(expected, 1e-300), kind="stable")[:_SHOWN]
    return tuple(
        ThinCombination(support.space.label_row(support.codes[places[i]]), float(counts[i]), float(expected[i]))
        for i in order
    )
