"""What a combination never saw: the smallest sets of factors whose values did not occur together.

A combination that was never seen may still have seen every pair of its values; or a whole pair may be missing, with all
the combinations that hold it. These are not alike. What is known about a pair that was never seen must come from
elsewhere, and all combinations that miss the same pair stand or fall together. So the missing conjunction says two
things: what a seen combination has to lose to stand for an unseen one (every combination that shares the conjunction,
its *block*), and what counts as one piece of evidence (the block, however many combinations it has).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import comb

import numpy as np

from recombine.data.support import Support
from recombine.numerics.groups import Codes, Flags, Ints, Numbers

FactorSet = tuple[int, ...]
_MOST_SETS = 300
"""Sets of factors that are looked at: all sets of nine factors but the largest, all pairs of twenty."""

_IN_BLOCKS = 0.2
"""Of the unseen combinations: where so many miss one conjunction, they come in blocks."""


@dataclass(frozen=True, eq=False)
class MissingOfSize:
    """Combinations that saw every smaller conjunction of their values, and which sets of factors of this size not."""

    rows: Ints  # (r,) which combinations
    missing: Mapping[FactorSet, Flags]  # (r,) each


@dataclass(frozen=True, eq=False)
class MissingConjunctions:
    """For each of some combinations the sets of factors, all of one size, whose values it never saw together.

    A combination that saw every smaller conjunction misses nothing but itself: the set of all factors. A seen one
    misses nothing at all, and stands nowhere.
    """

    count: int
    sizes: tuple[MissingOfSize, ...]

    def of(self, place: int) -> tuple[FactorSet, ...]:
        """The sets that one of the combinations misses."""
        return tuple(
            factors for one in self.sizes for factors, gone in one.missing.items() if gone[one.rows == place].any()
        )

    @cached_property
    def _each(self) -> Numbers:
        """(n,) Of how many parts each combination is: one for every set that it misses."""
        often = np.zeros(self.count)
        for one in self.sizes:
            often[one.rows] = sum(one.missing.values())
        return often

    def misses(self, factors: FactorSet) -> Ints:
        """Which combinations miss this set, perhaps among others of its size."""
        return np.concatenate([one.rows[one.missing[factors]] for one in self.sizes if factors in one.missing])

    def parts(self, factors: FactorSet) -> Numbers:
        """(r,) How much of each combination that misses this set counts here: shared among all sets that it misses, so
        that none of several has to be chosen to stand for it.
        """
        return np.asarray(1 / self._each[self.misses(factors)])

    def shares(self) -> dict[FactorSet, float]:
        """The share of all combinations that misses each set, the largest first."""
        found = {factors: float(self.parts(factors).sum()) for one in self.sizes for factors in one.missing}
        return {one: parts / self.count for one, parts in sorted(found.items(), key=lambda item: -item[1]) if parts}


def missing_conjunctions(known: Support, codes: Codes) -> MissingConjunctions:
    """What each combination never saw, given the known ones.

    >>> import recombine
    >>> rows = [("red", "disc", "big"), ("red", "bar", "small"), ("blue", "disc", "small"), ("blue", "disc", "big")]
    >>> table = {name: [row[k] for row in rows] for k, name in enumerate(("colour", "shape", "size"))}
    >>> seen = recombine.read(table, factors=["colour", "shape", "size"])
    >>> asked = [("blue", "bar", "big"), ("red", "disc", "small"), ("red", "disc", "big")]
    >>> found = missing_conjunctions(seen, seen.space.encode(asked))
    >>> [found.of(place) for place in range(3)]
    [((0, 1), (1, 2)), ((0, 1, 2),), ()]
    """
    left, found = np.arange(len(codes)), []
    for sets in _sets_by_size(codes.shape[1]):
        asked = codes[left]
        missing = {one: known.groups(one).lookup(asked) < 0 for one in sets}
        some = np.logical_or.reduce(list(missing.values()))
        found.append(MissingOfSize(left[some], {one: gone[some] for one, gone in missing.items()}))
        left = left[~some]
    return MissingConjunctions(len(codes), tuple(found))


def missing_block(known: Support, unseen: Codes) -> FactorSet | None:
    """The factors whose values most of these unseen combinations never saw together, where they come in blocks; None
    where they miss nothing but themselves, or something else each.

    >>> import recombine
    >>> grid = [(a, b, c) for a in range(3) for b in range(3) for c in range(4) if (a, b) != (2, 2)]
    >>> table = {name: [row[k] for row in grid] for k, name in enumerate("abc")}
    >>> seen = recombine.read(table, factors=["a", "b", "c"])
    >>> missing_block(seen, np.array([[2, 2, c] for c in range(4)], dtype=np.int32))
    (0, 1)
    """
    # a pair that was never seen is the whole combination; a set that was never seen may meet several other values
    if unseen.shape[1] <= (1 if known.space.set_factors else 2) or not len(unseen):
        return None
    missing = missing_conjunctions(known, unseen)
    # of those that are equally common the one that makes the fewest, largest blocks
    often, *_, factors = min(_by_size_of_blocks(known, unseen, missing.misses(one), one) for one in missing.shares())
    return factors if len(factors) < unseen.shape[1] and -often >= _IN_BLOCKS * len(unseen) else None


def _by_size_of_blocks(
    known: Support, unseen: Codes, mine: Ints, factors: FactorSet
) -> tuple[int, int, list[str], FactorSet]:
    """What a set is chosen by. Names come last: they stay what they are where the order of the factors changes."""
    blocks = len(np.unique(unseen[mine][:, factors], axis=0))
    return -len(mine), blocks, sorted(known.space.names[one] for one in factors), factors


def _sets_by_size(factors: int) -> list[list[FactorSet]]:
    """Sets of one factor, of two, …, as long as there are not too many; then the set of all."""
    sizes, looked_at = [], 0
    for size in range(1, factors):
        looked_at += comb(factors, size)
        if looked_at > _MOST_SETS:
            break
        sizes.append(list(combinations(range(factors), size)))
    return [*sizes, [tuple(range(factors))]]
