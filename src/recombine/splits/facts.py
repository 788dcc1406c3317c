"""A split as its invariants see it: which units stand on which side, and what they hold."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
import numpy.typing as npt

from recombine.algebra.groups import Ints, Numbers, totals
from recombine.tables.space import Value, text
from recombine.tables.support import LabelTarget, Support, Target
from recombine.words import amount, count, listing

Mask = npt.NDArray[np.bool_]

NAMED = 3
"""How many culprits a sentence names."""


@dataclass(frozen=True, eq=False)
class Facts:
    """A split of units, which are rows of a table or combinations of a support.

    `combination` gives each unit's combination, `counts` how many rows it stands for, `lines` the classes within it.
    """

    support: Support
    train: Ints
    test: Ints
    combination: Ints
    counts: Numbers
    lines: tuple[Ints, Ints, Numbers] | None
    noun: str

    @classmethod
    def of_combinations(cls, support: Support, *, test: Mask) -> "Facts":
        """A support of which some combinations are held out, and all others in training."""
        places = np.arange(len(support))
        return cls(
            support, places[~test], places[test], places, support.counts, class_lines(support.target), "combination"
        )

    @cached_property
    def train_combinations(self) -> Mask:
        """The combinations of which training holds something."""
        return self._holding(self.train)

    @cached_property
    def test_combinations(self) -> Mask:
        """The combinations of which the other side holds something."""
        return self._holding(self.test)

    @cached_property
    def train_rows(self) -> Numbers:
        """How many rows of each combination training holds."""
        return totals(self.combination[self.train], self.counts[self.train], len(self.support))

    def class_distance(self) -> Numbers:
        """How far each class's share is from the whole table's, in training and among the held out."""
        whole = self._shares(np.arange(len(self.combination)))
        off = np.stack([np.abs(self._shares(side) - whole) for side in (self.train, self.test)])
        return np.where(np.isnan(off), np.inf, off)  # a side without classes follows nothing

    def _shares(self, units: Ints) -> Numbers:
        """The share of each class among some units; not a number where there are none."""
        if self.lines is None or not isinstance(self.support.target, LabelTarget):
            return np.zeros(0)
        unit, label, amount = self.lines
        inside = np.zeros(len(self.combination), dtype=bool)
        inside[units] = True
        chosen = inside[unit]
        found = totals(label[chosen], amount[chosen], len(self.support.target.classes))
        return found / found.sum() if found.sum() else np.full(len(found), np.nan)

    def _holding(self, units: Ints) -> Mask:
        found = np.zeros(len(self.support), dtype=bool)
        found[self.combination[units]] = True
        return found

    def amount(self, number: int, noun: str = "") -> str:
        """A number of units or other things, in words."""
        return amount(number, noun or self.noun)

    def named(self, chosen: Ints) -> str:
        """The first few of some combinations, in the user's own values."""
        return few([written(self.support, place) for place in chosen[:NAMED]], len(chosen))


def class_lines(target: Target | None) -> tuple[Ints, Ints, Numbers] | None:
    """For each combination and class that occur together: combination, class, how often."""
    return (target.combination, target.label, target.count) if isinstance(target, LabelTarget) else None


def written(support: Support, place: int) -> str:
    """One combination as people read it."""
    return conjunction_text(support.combination(int(place)))


def conjunction_text(values: Mapping[str, Value]) -> str:
    """A combination or conjunction as people read it.

    >>> conjunction_text({"colour": "red", "lit": True})
    '(colour=red, lit=true)'
    """
    return "(" + ", ".join(f"{name}={text(value)}" for name, value in values.items()) + ")"


def few(shown: Sequence[str], total: int) -> str:
    """The first few of some things, and how many more there are."""
    return listing(shown) if len(shown) == total else f"{', '.join(shown)} and {count(total - len(shown))} more"


def holding(support: Support, conjunction: Mapping[str, Value]) -> Mask:
    """Which combinations of a support hold a conjunction."""
    found = np.ones(len(support), dtype=bool)
    for name, value in conjunction.items():
        k = support.space.position(name)
        found &= support.codes[:, k] == support.space.factors[k].code(value)
    return found


def thinnest_part(facts: Facts, order: int) -> tuple[dict[str, Value], float]:
    """Of all parts of held-out combinations with fewer factors than `order`, the one with fewest rows in training."""
    names = facts.support.space.names
    asked = np.flatnonzero(facts.test_combinations)
    found: list[tuple[float, int, tuple[int, ...]]] = []
    for smaller in range(1, min(order, len(names) + 1)):
        for chosen in combinations(range(len(names)), smaller):
            groups = facts.support.groups(chosen)
            rows = groups.total(facts.train_rows)[groups.ids[asked]]
            least = int(np.argmin(rows))
            found.append((float(rows[least]), int(asked[least]), chosen))
    rows_left, place, chosen = min(found)
    whole = facts.support.combination(place)
    return {names[k]: whole[names[k]] for k in chosen}, rows_left
