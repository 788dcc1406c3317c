"""Which conjunctions of t values are covered: one flag for each, in row-major order for each set of t factors."""

import math
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from recombine.algebra.groups import Codes, Ints
from recombine.errors import SettingError
from recombine.tables.space import Space

MOST_CONJUNCTIONS = 10**7
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Conjunctions:
    """All conjunctions of t factors of a space, numbered from 0 through all sets of t factors.

    >>> space = Space.of({"a": [0, 1], "b": [0, 1], "c": [0, 1, 2]})
    >>> pairs = Conjunctions.of(space, 2)
    >>> pairs.total, pairs.numbers(np.array([[1, 0, 2]])).tolist()
    (16, [[2, 9, 12]])
    """

    sizes: tuple[int, ...]
    sets: tuple[tuple[int, ...], ...]
    starts: Ints

    @classmethod
    def of(cls, space: Space, order: int) -> "Conjunctions":
        """Number the conjunctions of an order; too many of them are refused."""
        sizes = space.sizes
        word = {2: "pairs", 3: "triples"}[order]
        if order > len(sizes):
            raise SettingError(
                f"goal={word!r} with {len(sizes)} factors",
                why=f"a {word.removesuffix('s')} has one value of each of {order} factors",
                instead="write goal='pairs'",
            )
        total = _elementary(sizes, order)
        if total > MOST_CONJUNCTIONS:
            raise SettingError(
                f"there are {total:,} {word} of values to cover",
                why=f"each is kept in mind, {MOST_CONJUNCTIONS:,} at most, and a plan would have as many lines as the "
                "two largest factors have pairs",
                instead="plan for fewer factors, group rare values, or take goal='determined', which needs far fewer",
            )
        sets = tuple(combinations(range(len(sizes)), order))
        lengths = [math.prod(sizes[k] for k in chosen) for chosen in sets]
        return cls(sizes, sets, np.concatenate([[0], np.cumsum(lengths)]))

    @property
    def total(self) -> int:
        """How many there are."""
        return int(self.starts[-1])

    def numbers(self, codes: Codes) -> Ints:
        """The numbers of the conjunctions that each combination holds: (combinations, sets)."""
        found = np.empty((len(codes), len(self.sets)), dtype=np.int64)
        for place, chosen in enumerate(self.sets):
            key = np.zeros(len(codes), dtype=np.int64)
            for k in chosen:
                key = key * self.sizes[k] + codes[:, k]
            found[:, place] = key + self.starts[place]
        return found

    def covered(self, codes: Codes) -> Flags:
        """Which conjunctions some combinations hold."""
        flags = np.zeros(self.total, dtype=bool)
        for start in range(0, len(codes), 1 << 16):
            flags[self.numbers(codes[start : start + (1 << 16)]).ravel()] = True
        return flags

    def values(self, number: int) -> dict[int, int]:
        """One conjunction: the value of each of its factors."""
        place = int(np.searchsorted(self.starts, number, side="right")) - 1
        chosen = self.sets[place]
        codes = np.unravel_index(number - int(self.starts[place]), [self.sizes[k] for k in chosen])
        return dict(zip(chosen, map(int, codes), strict=True))


def _elementary(sizes: tuple[int, ...], order: int) -> int:
    """The sum over all sets of `order` factors of the product of their sizes, without listing the sets."""
    sums = [1] + [0] * order
    for size in sizes:
        for place in range(order, 0, -1):
            sums[place] += sums[place - 1] * size
    return sums[order]
