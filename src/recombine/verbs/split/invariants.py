"""What a split promises, the facts of it, and the invariants: each a short function from the two to one line."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
import numpy.typing as npt

from recombine.base.checks import check_choice
from recombine.base.words import amount, count, listing, measure
from recombine.data.space import Value, text
from recombine.data.support import LabelTarget, Support, Target
from recombine.numerics.groups import Ints, Numbers, totals
from recombine.verbs.audit.determinacy import determinacy

Mask = npt.NDArray[np.bool_]
NAMED = 3
"""How many culprits a sentence names."""
_NOT_ASKED = "not promised, not looked at"


@dataclass(frozen=True, kw_only=True)
class Promise:
    """What a split is held to, beside that neither side is empty and nothing stands on both.

    >>> Promise(values=True).determined
    False
    """

    covering: bool = True
    combinations: bool = True
    values: bool = False
    determined: bool = False
    absent: tuple[Mapping[str, Value], ...] = ()
    least: int | None = None
    order: int = 2
    class_tolerance: float | None = None

    @classmethod
    def of(cls, guarantee: "Promise | str | None") -> "Promise":
        """A promise by the name of a guarantee: what is determined has its values in training too."""
        if isinstance(guarantee, Promise):
            return guarantee
        named = "none" if guarantee is None else guarantee
        check_choice("promise", named, ("values", "determined", "none"))
        return cls(values=named != "none", determined=named == "determined")


@dataclass(frozen=True)
class Invariant:
    """One line of a check; `holds` is None where it was not promised."""

    name: str
    holds: bool | None
    sentence: str


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
        return few([combination_text(self.support, place) for place in chosen[:NAMED]], len(chosen))


def class_lines(target: Target | None) -> tuple[Ints, Ints, Numbers] | None:
    """For each combination and class that occur together: combination, class, how often."""
    return (target.combination, target.label, target.count) if isinstance(target, LabelTarget) else None


def combination_text(support: Support, place: int) -> str:
    """One combination as people read it."""
    return conjunction_text(support.space.label_row(support.codes[int(place)]))


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


def _is(number: int) -> str:
    return "is" if number == 1 else "are"


def sides(facts: Facts, promise: Promise) -> Invariant:  # noqa: ARG001 - always promised
    """Neither side is empty."""
    empty = [name for name, side in (("training", facts.train), ("the held-out side", facts.test)) if not len(side)]
    said = f"{facts.amount(len(facts.train))} in training, {count(len(facts.test))} held out"
    return Invariant("sides", not empty, f"{listing(empty)} holds nothing" if empty else said)


def disjoint(facts: Facts, promise: Promise) -> Invariant:  # noqa: ARG001 - always promised
    """Nothing stands on both sides, or twice on one."""
    times = [np.bincount(side, minlength=len(facts.combination)) for side in (facts.train, facts.test)]
    both = np.flatnonzero((times[0] > 0) & (times[1] > 0))
    twice = np.flatnonzero((times[0] > 1) | (times[1] > 1))
    if len(both):
        where = facts.named(both) if facts.noun == "combination" else few(list(map(str, both[:NAMED])), len(both))
        return Invariant("disjoint", False, f"{facts.amount(len(both))} {_is(len(both))} on both sides, at {where}")
    if len(twice):
        return Invariant("disjoint", False, f"{facts.noun} {int(twice[0])} stands twice on one side")
    return Invariant("disjoint", True, f"no {facts.noun} is on both sides")


def covering(facts: Facts, promise: Promise) -> Invariant:
    """Everything stands on a side; what is left out is named."""
    used = np.zeros(len(facts.combination), dtype=bool)
    used[facts.train] = used[facts.test] = True
    absent = np.flatnonzero(~used)
    if not len(absent):
        return Invariant("covering", True if promise.covering else None, f"every {facts.noun} is on a side")
    parts = np.unique(facts.combination[absent])
    said = f"{facts.amount(len(absent))} {_is(len(absent))} on neither side, of {facts.named(parts)}"
    return Invariant("covering", False if promise.covering else None, said)


def held_out_combinations(facts: Facts, promise: Promise) -> Invariant:
    """No held-out combination is in training."""
    leaked = np.flatnonzero(facts.train_combinations & facts.test_combinations)
    said = "no held-out combination is in training"
    if len(leaked):
        amount = facts.amount(len(leaked), "held-out combination")
        said = f"{amount} {_is(len(leaked))} in training: {facts.named(leaked)}"
    return Invariant("combinations", not len(leaked) if promise.combinations else None, said)


def values(facts: Facts, promise: Promise) -> Invariant:
    """Every value that the table holds, and every element of its sets, is still in training."""
    lost = []
    trained = np.flatnonzero(facts.train_combinations)
    for factor, rows in zip(facts.support.space.factors, facts.support.value_rows, strict=True):
        gone = (rows.counts() > 0) & (rows.take(trained).counts() == 0)
        lost += [f"{factor.name}={factor.effect_labels[value]}" for value in np.flatnonzero(gone).tolist()]
    noun = "element" if facts.support.space.set_factors else "value"
    said = f"{facts.amount(len(lost), noun)} {_is(len(lost))} not in training: {few(lost[:NAMED], len(lost))}"
    return Invariant("values", not lost if promise.values else None, said if lost else f"every {noun} is in training")


def determined(facts: Facts, promise: Promise) -> Invariant:
    """Every held-out combination is determined by training, exactly."""
    if not promise.determined:
        return Invariant("determined", None, _NOT_ASKED)
    asked = np.flatnonzero(facts.test_combinations)
    known = np.flatnonzero(facts.train_combinations)
    if not len(known):
        return Invariant("determined", False, "training holds nothing that could determine anything")
    found = determinacy(facts.support.subset(known)).determined(facts.support.codes[asked])
    loose = asked[~found]
    if not len(loose):
        return Invariant("determined", True, "every held-out combination is determined by training")
    amount = facts.amount(len(loose), "held-out combination")
    return Invariant(
        "determined", False, f"{amount} {_is(len(loose))} not determined by training: {facts.named(loose)}"
    )


def absent(facts: Facts, promise: Promise) -> Invariant:
    """The conjunctions that were to be absent from training are."""
    if not promise.absent:
        return Invariant("absent", None, _NOT_ASKED)
    for conjunction in promise.absent:
        found = holding(facts.support, conjunction) & facts.train_combinations
        if found.any():
            place = int(np.flatnonzero(found)[0])
            said = f"{conjunction_text(conjunction)} is in training, in {combination_text(facts.support, place)}"
            return Invariant("absent", False, said)
    return Invariant("absent", True, f"{facts.amount(len(promise.absent), 'conjunction')} wholly absent from training")


def parts(facts: Facts, promise: Promise) -> Invariant:
    """Every part of a held-out combination below the promised order has enough rows in training."""
    if promise.least is None:
        return Invariant("parts", None, _NOT_ASKED)
    if promise.order < 2 or not len(facts.test):
        return Invariant("parts", True, "there is no smaller part to keep")
    part, rows = thinnest_part(facts, promise.order)
    if rows < promise.least:
        said = f"{conjunction_text(part)} has {count(rows)} rows in training, {promise.least} were promised"
        return Invariant("parts", False, said)
    return Invariant("parts", True, f"every smaller part has at least {promise.least} rows in training")


def strata(facts: Facts, promise: Promise) -> Invariant:
    """The class shares of either side are within a tolerance of the whole table's."""
    target = facts.support.target
    if not isinstance(target, LabelTarget):
        holds = None if promise.class_tolerance is None else False
        return Invariant("strata", holds, "the table has no classes" if holds is False else _NOT_ASKED)
    off = facts.class_distance()
    side, label = (int(place) for place in np.unravel_index(np.argmax(off), off.shape))
    furthest = f"{text(target.classes[label])} is off by {measure(float(off[side, label]))}"
    said = f"class shares: {furthest} {('in training', 'among the held out')[side]}"
    holds = None if promise.class_tolerance is None else bool(off.max() <= promise.class_tolerance + 1e-9)
    return Invariant("strata", holds, said)


INVARIANTS: tuple[Callable[[Facts, Promise], Invariant], ...] = (
    sides,
    disjoint,
    covering,
    held_out_combinations,
    values,
    determined,
    absent,
    parts,
    strata,
)

REMEDIES = {
    "sides": "choose what is held out so that something is left on both sides",
    "disjoint": "put each on one side",
    "covering": "put the rest on a side, or take the promise back: covering=False",
    "combinations": "move all rows of a combination to one side",
    "values": "hold out less, keep a combination of each value in training, or ask for guarantee='none'",
    "determined": "hold out less, or ask for guarantee='values'",
    "absent": "move every row that holds the conjunction out of training",
    "parts": "hold out less, or ask for fewer rows with `least`",
    "strata": "hold out other combinations, or allow more with `class_tolerance`",
}
