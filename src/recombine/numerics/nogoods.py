"""Conjunctions that cannot occur, searched rather than written out: how many combinations are left, and whether any is.

A search over values with what is known from before (the counting of models, as it is called where constraints are
solved): the factor that most conjunctions speak of is set to each of its values, conjunctions that no longer apply are
dropped, and factors that no conjunction ties together are counted apart. Values that no conjunction names are one case.
Our own, in a few lines, since counts must be exact for spaces of 10^20 combinations; where cells can be written out,
`Space` does that, which is faster.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from recombine.numerics.groups import ANY, Codes, Flags

Literal = tuple[int, int]
"""A factor and its value."""
Conjunctions = frozenset[frozenset[Literal]]
_IMPOSSIBLE: frozenset[Literal] = frozenset()


@dataclass(frozen=True, eq=False)
class Nogoods:
    """Conjunctions, none of which a combination may hold.

    >>> nogoods = Nogoods.of([[0, 0, ANY], [0, 1, ANY], [ANY, 0, 1]], sizes=(2, 2, 2))
    >>> nogoods.count(), nogoods.allows({0: 0}), nogoods.allows({0: 1})
    (3, False, True)
    """

    sizes: tuple[int, ...]
    conjunctions: Conjunctions
    _counts: dict[Conjunctions, int] = field(default_factory=dict, repr=False)
    _some: dict[Conjunctions, bool] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, lines: Codes | Iterable[Sequence[int]], sizes: tuple[int, ...]) -> "Nogoods":
        """From lines of values, ANY for a factor that a conjunction does not speak of."""
        rows = ((int(code) for code in line) for line in lines)
        return cls(sizes, frozenset(frozenset((k, code) for k, code in enumerate(row) if code != ANY) for row in rows))

    def count(self) -> int:
        """How many combinations hold none of them."""
        return self._count(self.conjunctions) * _product(self.sizes, without=_spoken(self.conjunctions))

    def allows(self, values: Mapping[int, int]) -> bool:
        """Whether a combination with these values can hold none of them."""
        return self.some(self.given(self.conjunctions, values))

    def given(self, conjunctions: Conjunctions, values: Mapping[int, int]) -> Conjunctions:
        """What is left to be avoided once some factors have their values."""
        for factor, value in values.items():
            conjunctions = _given(conjunctions, factor, value)
        return conjunctions

    def infeasible(self, factors: Sequence[int]) -> Flags:
        """For every conjunction of some factors, in row-major order, whether nothing holds it."""
        sizes = [self.sizes[k] for k in factors]
        rows = np.stack(np.unravel_index(np.arange(math.prod(sizes)), sizes), axis=1).tolist()
        return np.array([not self.allows(dict(zip(factors, row, strict=True))) for row in rows], dtype=bool)

    def some(self, conjunctions: Conjunctions) -> bool:
        """Whether any combination avoids these."""
        if conjunctions not in self._some:
            self._some[conjunctions] = self._search(conjunctions)
        return self._some[conjunctions]

    def _search(self, conjunctions: Conjunctions) -> bool:
        if not conjunctions or _IMPOSSIBLE in conjunctions:
            return not conjunctions
        return any(self.some(rest) for rest, _ in self._cases(conjunctions))

    def _count(self, conjunctions: Conjunctions) -> int:
        """How many ways there are to set the factors that these speak of."""
        if not conjunctions or _IMPOSSIBLE in conjunctions:
            return int(not conjunctions)
        if conjunctions not in self._counts:
            parts = _apart(conjunctions)
            single = len(parts) == 1
            self._counts[conjunctions] = (
                self._by_cases(conjunctions) if single else math.prod(self._count(part) for part in parts)
            )
        return self._counts[conjunctions]

    def _by_cases(self, conjunctions: Conjunctions) -> int:
        spoken = _spoken(conjunctions)
        total = 0
        for rest, times in self._cases(conjunctions):
            free = spoken - _spoken(rest) - {_busiest(conjunctions)}
            total += times * self._count(rest) * math.prod(self.sizes[k] for k in free)
        return total

    def _cases(self, conjunctions: Conjunctions) -> Iterator[tuple[Conjunctions, int]]:
        """The values of one factor, those that no conjunction names as one: what is left, and for how many values."""
        factor = _busiest(conjunctions)
        named = sorted({value for one in conjunctions for k, value in one if k == factor})
        if len(named) < self.sizes[factor]:
            yield _given(conjunctions, factor, ANY), self.sizes[factor] - len(named)
        for value in named:
            yield _given(conjunctions, factor, value), 1


def _given(conjunctions: Conjunctions, factor: int, value: int) -> Conjunctions:
    """The conjunctions that still apply, without that factor."""
    kept = []
    for one in conjunctions:
        theirs = next((code for k, code in one if k == factor), None)
        if theirs is None:
            kept.append(one)
        elif theirs == value:
            kept.append(one - {(factor, value)})
    return frozenset(kept)


def _busiest(conjunctions: Conjunctions) -> int:
    held = Counter(k for one in conjunctions for k, _ in one)
    return min(held, key=lambda k: (-held[k], k))


def _spoken(conjunctions: Conjunctions) -> frozenset[int]:
    return frozenset(k for one in conjunctions for k, _ in one)


def _product(sizes: Sequence[int], *, without: frozenset[int]) -> int:
    return math.prod(size for k, size in enumerate(sizes) if k not in without)


def _apart(conjunctions: Conjunctions) -> list[Conjunctions]:
    """The conjunctions in groups that share no factor."""
    groups: list[tuple[set[int], list[frozenset[Literal]]]] = []
    for one in conjunctions:
        factors, members = {k for k, _ in one}, [one]
        apart = []
        for others, theirs in groups:
            if others & factors:
                factors |= others
                members += theirs
            else:
                apart.append((others, theirs))
        groups = [*apart, (factors, members)]
    return [frozenset(members) for _, members in groups]
