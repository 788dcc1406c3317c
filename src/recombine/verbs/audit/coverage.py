"""How much of what could occur did occur: value by value, and for conjunctions of one, two and three factors.

Thin combinations: seen, but by a handful of rows where others have hundreds.

Determinacy and leverage count a combination once, however many rows it has. A model that learns from rows hardly sees a
thin one, and a score of it has an interval as wide as its rows are few. A seen combination is *thin* if it has

- fewer than a tenth of the rows that it would have if the factors were independent of each other, where these are ten
  rows at least: something keeps its values apart; or
- fewer than five rows, where a seen combination has fifty on average: too few for a score of its own.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb, exp, lgamma, log2, prod

import numpy as np
import numpy.typing as npt

from recombine.data.sets import Sets
from recombine.data.support import Support
from recombine.numerics.groups import Codes, Ints, Numbers
from recombine.verbs.audit.dependence import entropy

_MOST_WORK = 5 * 10**8  # sets of factors times combinations: some ten seconds of counting groups
_MOST_PAIRS = 10**7  # of values that are looked at one by one, and combinations that are sorted into them
_MOST_UNCOVERED = 1000  # pairs that are named
_MOST_LISTED = 5  # rarest and commonest values that are named


@dataclass(frozen=True)
class ValueCount:
    """A value and how often it was seen."""

    value: str
    count: float


@dataclass(frozen=True)
class FactorCoverage:
    """One factor: how many of its values, or of the elements of its sets, were seen, how evenly, and which are rare.

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
    factor = support.space.factors[k]
    return describe_factor(
        factor.name,
        support.effect_counts[k],
        lambda places: [factor.effect_labels[v] for v in places],
        declared=factor.declared,
        missing_rows=support.left_out.get(factor.name, 0),
    )


def describe_factor(
    name: str, counts: Numbers, labels: Callable[[Ints], Sequence[str]], *, declared: bool, missing_rows: int
) -> FactorCoverage:
    """The coverage of a factor, from how often each of its values was counted and what some of them are called."""
    order = np.argsort(-counts, kind="stable")
    seen = order[counts[order] > 0]
    commonest, rarest = (
        tuple(ValueCount(label, float(counts[v])) for label, v in zip(labels(some), some, strict=True))
        for some in (seen[:_MOST_LISTED], seen[::-1][:_MOST_LISTED])
    )
    return FactorCoverage(
        name=name,
        values=len(counts),
        seen=len(seen),
        declared=declared,
        effective=exp(entropy(counts)),
        missing_rows=missing_rows,
        rarest=rarest,
        commonest=commonest,
        never_seen=tuple(labels(np.flatnonzero(counts == 0)[:100])),
    )


def order_coverage(support: Support) -> tuple[OrderCoverage, ...]:
    """The share of possible conjunctions seen, for one, two and three factors; orders that would take too long are
    left out. Of sets it is their elements that meet, with each other and with values, one and two at a time.
    """
    if support.space.set_factors:
        return _element_coverage(support)
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


def _element_coverage(support: Support) -> tuple[OrderCoverage, ...]:
    space = support.space
    kinds = [factor.kind for factor in space.factors]
    effects = sum(kind.effects for kind in kinds)
    rows = space.effects.rows(support.codes)
    seen = int((rows.counts()[:effects] > 0).sum())
    found = [OrderCoverage(1, seen, effects, seen / effects)]
    if int(np.square(rows.lengths).sum()) <= _MOST_WORK:
        met = rows.sparse_gram().nnz - int((rows.counts() > 0).sum())  # both ways, without each with itself
        pairs = met // 2 - (seen if space.effects.constant else 0)  # and without the constant
        possible = sum(comb(f.sets.effects, 2) for f in space.factors if f.sets is not None and f.sets.largest > 1)
        possible += sum(a.effects * b.effects for a, b in combinations(kinds, 2))
        found.append(OrderCoverage(2, pairs, possible, pairs / possible if possible else 1.0))
    return tuple(found)


@dataclass(frozen=True)
class UncoveredPair:
    """Two values that no row holds together, and how many rows would if the factors were independent.

    `counts` are the rows of each. Pointwise mutual information is log₂ of rows together by rows expected, so of a pair
    without a row it lies below what one row would make it: `pmi_below`, None where nothing is expected.
    """

    factors: tuple[str, str]
    values: tuple[str, str]
    expected: float
    counts: tuple[float, float] = (0.0, 0.0)
    pmi_below: float | None = None

    def __str__(self) -> str:
        return " with ".join(f"{name}={value}" for name, value in zip(self.factors, self.values, strict=True))


def uncovered_pairs(support: Support) -> tuple[UncoveredPair, ...]:
    """The possible pairs of values that no row holds, first those that one would expect most often.

    A thousand at most, of pairs of factors whose grids are small enough to look at; `order_coverage` counts them all.

    >>> import recombine
    >>> corner = recombine.read({"a": ["x", "x", "y"], "b": ["p", "q", "p"]}, factors=["a", "b"])
    >>> list(map(str, uncovered_pairs(corner)))
    ['a=y with b=q']
    """
    if support.space.set_factors:
        return _uncovered_elements(support)
    space, left = support.space, _MOST_PAIRS
    found: list[UncoveredPair] = []
    for a, b in combinations(range(len(space.factors)), 2):
        size = space.sizes[a] * space.sizes[b] + len(support)
        if size > left:
            continue
        left -= size
        met = np.zeros((space.sizes[a], space.sizes[b]), dtype=bool)
        met[support.codes[:, a], support.codes[:, b]] = True
        apart = np.argwhere(~met).astype(np.int32)
        if space.impossible:
            apart = apart[~space.restricted((a, b)).is_impossible(apart)]
        counts = support.value_counts[a][apart[:, 0]], support.value_counts[b][apart[:, 1]]
        expected = counts[0] * counts[1] / support.total
        first = np.argsort(-expected, kind="stable")[:_MOST_UNCOVERED]
        found += [
            _uncovered(
                (space.names[a], space.names[b]),
                (space.factors[a].labels[apart[place, 0]], space.factors[b].labels[apart[place, 1]]),
                (counts[0][place], counts[1][place]),
                support.total,
            )
            for place in first
        ]
    return tuple(sorted(found, key=lambda one: -one.expected)[:_MOST_UNCOVERED])


def _uncovered(
    factors: tuple[str, str], values: tuple[str, str], counts: tuple[float, float], total: float
) -> UncoveredPair:
    expected = float(counts[0] * counts[1] / total)
    below = -log2(expected) if expected > 0 else None
    return UncoveredPair(factors, values, expected, (float(counts[0]), float(counts[1])), below)


def _uncovered_elements(support: Support) -> tuple[UncoveredPair, ...]:
    """The same for elements of sets: with each other, and with values of other factors."""
    space = support.space
    width = space.effects.width - int(space.effects.constant)
    if width * width > _MOST_PAIRS:
        return ()
    met = space.effects.rows(support.codes).gram()[:width, :width] > 0
    factor = np.repeat(np.arange(len(space.factors)), [one.kind.effects for one in space.factors])
    paired = np.array([one.sets is not None and one.sets.largest > 1 for one in space.factors])
    may = (factor[:, None] != factor[None]) | paired[factor][:, None]
    apart = np.argwhere(np.triu(~met & may, 1))
    counts = np.concatenate(support.effect_counts)
    expected = counts[apart[:, 0]] * counts[apart[:, 1]] / support.total
    first = np.argsort(-expected, kind="stable")[:_MOST_UNCOVERED]
    labels = [label for one in space.factors for label in one.effect_labels]
    return tuple(
        _uncovered(
            (space.names[factor[u]], space.names[factor[v]]),
            (labels[u], labels[v]),
            (counts[u], counts[v]),
            support.total,
        )
        for u, v in apart[first].tolist()
    )


_SHARE = 0.1  # of the rows that independence expects
_FEWEST_EXPECTED = 10  # rows: of fewer, chance alone leaves a tenth often enough
_FEWEST_ROWS = 5  # below this, one row more or less moves a score by a fifth and more
_MANY = 50  # rows of an average combination, beside which a handful is thin
_MOST_SHOWN = 200  # thin combinations that a record lists; `counts.thin` counts all of them


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
        sets = support.space.factors[k].sets
        often = counts[codes[:, k]] / support.total if sets is None else _set_shares(support, k, sets, codes[:, k])
        share *= often
    return share * support.total


def _set_shares(support: Support, k: int, sets: Sets, codes: Codes) -> Numbers:
    """The share of the rows that hold each set; of an unseen one, if elements were drawn one after the other, each as
    often as it occurs, for as many as rows hold so many.
    """
    counts = support.value_counts[k]
    seen = codes < len(counts)
    rows = sets.rows(codes)
    elements = support.effect_counts[k]
    with np.errstate(divide="ignore"):
        logs = rows.sums(np.log(elements / max(float(elements.sum()), 1e-300)))
    of_size = np.bincount(sets.rows(support.codes[:, k]).lengths, support.counts, minlength=sets.largest + 1)
    orders = np.array([lgamma(length + 1) for length in rows.lengths.tolist()])
    drawn = of_size[np.minimum(rows.lengths, sets.largest)] * np.exp(logs + orders)
    return np.asarray(np.where(seen, counts[np.where(seen, codes, 0)], drawn) / support.total)


def thin(support: Support) -> npt.NDArray[np.bool_]:
    """Which of the seen combinations are thin.

    >>> import recombine
    >>> birds = {"bird": ["land"] * 190 + ["water"] * 60, "place": ["land"] * 180 + ["water"] * 10 + ["land"] * 4 +
    ...     ["water"] * 56}
    >>> birds = recombine.read(birds, factors=["bird", "place"])
    >>> [birds.combination(int(place)) for place in np.flatnonzero(thin(birds))]
    [{'bird': 'water', 'place': 'land'}]
    """
    return is_thin(support.counts, expected_rows(support, support.codes), mean=float(support.counts.mean()))


def is_thin(counts: Numbers, expected: Numbers, *, mean: float) -> npt.NDArray[np.bool_]:
    """Which combinations are thin: from their rows, those that independence expects, and those of an average one."""
    apart = (counts < _SHARE * expected) & (expected >= _FEWEST_EXPECTED)
    handful = (counts < _FEWEST_ROWS) & bool(mean >= _MANY)
    return np.asarray(apart | handful)


def thinnest(support: Support, which: npt.NDArray[np.bool_]) -> tuple[ThinCombination, ...]:
    """The thin ones by name, first those that fall most short of what independence expects."""
    places: Ints = np.flatnonzero(which)
    expected = expected_rows(support, support.codes[places])
    counts = support.counts[places]
    return tuple(
        ThinCombination(support.space.label_row(support.codes[places[i]]), float(counts[i]), float(expected[i]))
        for i in by_shortfall(counts, expected)
    )


def by_shortfall(counts: Numbers, expected: Numbers) -> Ints:
    """The places of those that fall most short of what independence expects; of equals the first."""
    return np.argsort(counts / np.maximum(expected, 1e-300), kind="stable")[:_MOST_SHOWN]
