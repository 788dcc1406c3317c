"""Weights of 2^K sets of factors that depend on a set's size alone: K + 1 numbers stand for all of them.

With sixteen factors there are 65,536 sets and with twenty a million. Every network of `networks` gives sets of one size
the same weight, so its weights are never written out. Whatever has to look at each set is refused in words.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NoReturn, overload

from recombine.base.errors import SettingError

MOST_FACTORS = 12
"""Factors up to which each set may have a weight of its own."""
MOST_BY_SIZE = 20
"""Factors up to which sets of one size may share theirs."""


@dataclass(frozen=True)
class WeightsBySize(Sequence[float]):
    """Reads like the tuple of 2^K weights by bit mask, as long as nobody goes through all of them.

    >>> weights = WeightsBySize((0.0, 0.5, *[0.1] * 15))
    >>> len(weights), weights[0b1], weights[0b101], weights[-1]
    (65536, 0.5, 0.1, 0.1)
    """

    orders: tuple[float, ...]  # the constant, then the weight of one conjunction of 1, 2, … K factors

    @property
    def factors(self) -> int:
        """K."""
        return len(self.orders) - 1

    def __len__(self) -> int:
        return 1 << self.factors

    @overload
    def __getitem__(self, mask: int) -> float: ...
    @overload
    def __getitem__(self, mask: slice) -> "tuple[float, ...]": ...
    def __getitem__(self, mask: int | slice) -> "float | tuple[float, ...]":
        if isinstance(mask, slice):
            self._refuse()
        place = range(len(self))[mask]
        return self.orders[place.bit_count()]

    def __iter__(self) -> Iterator[float]:
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise SettingError(
            f"every set of {self.factors} factors one by one",
            why=f"there are 2**{self.factors} = {len(self):,} of them; above {MOST_FACTORS} factors only what depends "
            "on the number of matching factors is worked out",
            instead=f"choose the {MOST_FACTORS} factors or fewer that matter most",
        )


Weights = tuple[float, ...] | WeightsBySize
"""The weight of every set of factors, by bit mask: the constant first, the full set last."""


def with_ends(weights: Weights, *, constant: float | None = None, full: float | None = None) -> Weights:
    """The same weights with another constant, or another weight of the full set.

    >>> with_ends((1.0, 2.0, 3.0, 4.0), full=0.0)
    (1.0, 2.0, 3.0, 0.0)
    """
    given = weights.orders if isinstance(weights, WeightsBySize) else weights
    first = given[0] if constant is None else constant
    last = given[-1] if full is None else full
    changed = (first, *given[1:-1], last)
    return replace(weights, orders=changed) if isinstance(weights, WeightsBySize) else changed


def distinct(weights: Weights) -> tuple[float, ...]:
    """Each weight that occurs, at least once: enough for the least, the largest, and whether all are finite."""
    return weights.orders if isinstance(weights, WeightsBySize) else weights


def total(weights: Weights) -> float:
    """The sum over all sets but the constant.

    >>> total(WeightsBySize((9.0, 1.0, 0.0, 5.0)))
    8.0
    """
    if isinstance(weights, WeightsBySize):
        return math.fsum(math.comb(weights.factors, r) * w for r, w in enumerate(weights.orders) if r)
    return math.fsum(weights[1:])


def total_with(weights: Weights, factor: int) -> float:
    """The sum over the sets that hold one factor.

    >>> total_with((9.0, 1.0, 2.0, 4.0), 0), total_with(WeightsBySize((9.0, 1.0, 0.0, 5.0)), 0)
    (5.0, 6.0)
    """
    if isinstance(weights, WeightsBySize):
        others = weights.factors - 1
        return math.fsum(math.comb(others, r - 1) * w for r, w in enumerate(weights.orders) if r)
    return sum(weight for mask, weight in enumerate(weights) if mask >> factor & 1)
