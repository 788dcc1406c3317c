"""The one primitive: for a set of factors, the group that each combination belongs to.

Coverage counts groups, dependence compares them, a neighbour shares a group of all factors but one. A group's
key is built one factor at a time — (group of the first k factors, value of the next) — so a key never exceeds
combinations × values, however many factors there are, and int64 cannot overflow unnoticed.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

Codes = npt.NDArray[np.int32]
Ints = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

ANY = -1
"""In a pattern, a factor that may have any value."""

ROUNDING = 1e-9
"""Scores that differ by less, of 1 or of the highest, are equal on paper."""

_INT64_MAX = np.iinfo(np.int64).max


@dataclass(frozen=True, eq=False)
class Groups:
    """Which group each combination belongs to, for one set of factors.

    Group numbers follow the order of the values, so they do not depend on the order of the combinations.

    >>> codes = np.array([[0, 1], [0, 2], [1, 1]], dtype=np.int32)
    >>> groups = group(codes, sizes=(2, 3), factors=(0,))
    >>> groups.ids.tolist(), groups.size
    ([0, 0, 1], 2)
    """

    factors: tuple[int, ...]
    ids: Ints
    keys: Ints
    parent: "Groups | None"
    radix: int

    @property
    def size(self) -> int:
        """How many groups there are: the conjunctions of these factors that were seen."""
        return len(self.keys)

    @cached_property
    def combinations(self) -> Ints:
        """How many seen combinations each group holds."""
        return np.bincount(self.ids, minlength=self.size)

    @cached_property
    def representatives(self) -> Ints:
        """One combination of each group, from which the group's values can be read."""
        first = np.zeros(self.size, dtype=np.int64)
        first[self.ids[::-1]] = np.arange(len(self.ids) - 1, -1, -1)
        return first

    def total(self, weights: npt.NDArray[Any]) -> Numbers:
        """The sum of a number over each group."""
        return totals(self.ids, weights, self.size)

    def lookup(self, codes: Codes) -> Ints:
        """The group of any combinations, seen or not; -1 where the conjunction was never seen.

        A code at or above the number of values is none of them, as a set is that is only asked for.

        >>> group(np.array([[0, 1], [1, 1]]), sizes=(2, 2), factors=(0, 1)).lookup(np.array([[0, 3], [0, 1]])).tolist()
        [-1, 0]
        """
        column = codes[:, self.factors[-1]].astype(np.int64, copy=False)  # no -1 fits into a column of unsigned ones
        stray = (column < 0) | (column >= self.radix)
        if self.parent is None:
            keys, bound = np.where(stray, -1, column), self.radix
        else:
            before, bound = self.parent.lookup(codes), self.parent.size * self.radix
            keys = before * self.radix + column
            keys[(before < 0) | stray] = -1
        if not self.size or _few(codes, bound):
            places = np.full(bound + 1, -1, dtype=np.int64)  # its last one is for the key -1
            places[self.keys] = np.arange(self.size)
            return places[keys]
        place = np.minimum(np.searchsorted(self.keys, keys), self.size - 1)
        return np.where(self.keys[place] == keys, place, -1)


def totals(groups: npt.NDArray[Any], values: npt.NDArray[Any] | None, size: int) -> Numbers:
    """The sum of a number over each group, or the number of its members where no number is given.

    >>> totals(np.array([0, 2, 2]), np.array([1.0, 2.0, 3.0]), 3).tolist()
    [1.0, 0.0, 5.0]
    """
    return np.bincount(groups, weights=values, minlength=size).astype(np.float64, copy=False)


def group(
    codes: Codes | Ints, *, sizes: tuple[int, ...], factors: tuple[int, ...], parent: Groups | None = None
) -> Groups:
    """Number the groups of some factors; `parent` holds the groups of all of them but the last, if known."""
    if len(factors) > 1 and parent is None:
        parent = group(codes, sizes=sizes, factors=factors[:-1])
    last = factors[-1]
    radix = sizes[last]
    column = codes[:, last]
    if parent is None:
        keys, ids = number(column, radix)
        return Groups(factors, ids, keys, None, radix)
    if parent.size * radix > _INT64_MAX:  # pragma: no cover - needs 10^18 groups
        raise OverflowError(f"{parent.size} groups x {radix} values do not fit in 64 bits")
    keys, ids = number(parent.ids * radix + column, parent.size * radix)
    return Groups(factors, ids, keys, parent, radix)


def number(raw: npt.NDArray[Any], bound: int) -> tuple[Ints, Ints]:
    """The sorted distinct keys, all of them below `bound`, and the position of each raw key among them.

    >>> keys, ids = number(np.array([7, 3, 7]), bound=10)
    >>> keys.tolist(), ids.tolist()
    ([3, 7], [1, 0, 1])
    """
    if not _few(raw, bound):
        keys, ids = np.unique(raw.astype(np.int64), return_inverse=True)
        return keys, ids.astype(np.int64, copy=False)
    present = _present(raw, bound)
    position = np.cumsum(present, dtype=np.int64) - 1
    return np.flatnonzero(present), position[raw]


def distinct(raw: npt.NDArray[Any], bound: int) -> Ints:
    """The sorted distinct keys, all of them below `bound`.

    >>> distinct(np.array([7, 3, 7]), bound=10).tolist()
    [3, 7]
    """
    return np.flatnonzero(_present(raw, bound)) if _few(raw, bound) else np.unique(raw.astype(np.int64))


def _few(raw: npt.NDArray[Any], bound: int) -> bool:
    """Whether a table of all possible keys is cheaper than sorting."""
    return bound <= 8 * len(raw) + 1024


def _present(raw: npt.NDArray[Any], bound: int) -> Flags:
    present = np.zeros(bound, dtype=bool)
    present[raw] = True
    return present


@dataclass(frozen=True, eq=False)
class Patterns:
    """Values for some of the factors, ANY for the others, a line each: which of them a combination holds.

    There is no loop over the patterns. Those that name the same factors are numbered once as groups, and looked up;
    there are far fewer sets of factors than patterns.

    >>> patterns = Patterns.of(np.array([[0, ANY], [0, 1]], dtype=np.int32), sizes=(2, 2))
    >>> patterns.last(np.array([[0, 0], [0, 1], [1, 1]])).tolist()
    [0, 1, -1]
    """

    _layers: tuple[tuple[Groups, Ints], ...]  # the groups of one set of factors, and the last line of each
    _any: int  # the last line that names no factor at all

    @classmethod
    def of(cls, lines: Codes, sizes: tuple[int, ...]) -> "Patterns":
        """Number the patterns, set of factors by set of factors."""
        named = lines != ANY
        sets, which = np.unique(named, axis=0, return_inverse=True) if len(lines) else (named, np.zeros(0))
        layers, everywhere = [], -1
        for place, chosen in enumerate(sets):
            mine = np.flatnonzero(which == place)
            factors = tuple(np.flatnonzero(chosen).tolist())
            if not factors:
                everywhere = int(mine[-1])
                continue
            groups = group(lines[mine], sizes=sizes, factors=factors)
            last = np.zeros(groups.size, dtype=np.int64)
            np.maximum.at(last, groups.ids, mine)
            layers.append((groups, last))
        return cls(tuple(layers), everywhere)

    def last(self, codes: Codes) -> Ints:
        """The last pattern that each combination holds; -1 where it holds none."""
        found = np.full(len(codes), self._any, dtype=np.int64)
        for groups, last in self._layers:
            place = groups.lookup(codes)
            found = np.maximum(found, np.where(place >= 0, last[place], -1))
        return found


def highest(scores: Numbers) -> Ints:
    """The column that is highest in each line, the first of those that are equal but for rounding.

    Scores that are equal on paper differ in the last digits, and differently on every processor: an answer must not.

    >>> highest(np.array([[0.5, 0.5 + 1e-12], [0.2, 0.8]])).tolist()
    [0, 1]
    """
    return np.asarray(_equal_to_highest(scores).argmax(axis=1))


def commonest(shares: Numbers) -> Numbers:
    """(n, classes) The commonest class of each line of shares, as 1; classes that are equally common share it.

    >>> commonest(np.array([[0.7, 0.2, 0.1], [0.4, 0.4, 0.2]])).tolist()
    [[1.0, 0.0, 0.0], [0.5, 0.5, 0.0]]
    """
    best = _equal_to_highest(shares)
    return np.asarray(best / best.sum(axis=1, keepdims=True))


def _equal_to_highest(scores: Numbers) -> Flags:
    most = scores.max(axis=1, keepdims=True)
    return np.asarray(scores >= most - ROUNDING * np.maximum(np.abs(most), 1.0))


def pooled_variance(scatter: Numbers, counts: Numbers) -> float | None:
    """The variance of one row within its group; None where no group has two.

    `scatter` is each group's sum of squares about its own mean, which takes one degree of freedom of its rows.
    """
    freedom = float(np.maximum(counts - 1, 0).sum())
    return float(scatter.sum()) / freedom if freedom >= 1 else None


def match_counts(left: Sequence[Codes], right: Sequence[Codes]) -> npt.NDArray[np.uint8] | npt.NDArray[np.uint16]:
    """On how many factors each pair of rows agrees; both are given factor by factor (`columns_of`).

    In the smallest numbers that hold the count, since the table of pairs is what has to be read.
    """
    counts = np.uint8 if len(left) < 256 else np.uint16
    found = np.zeros((len(left[0]), len(right[0])), dtype=counts)
    for one, other in zip(left, right, strict=True):
        found += (one[:, None] == other[None]).view(np.uint8)
    return found


def columns_of(codes: Codes) -> list[Codes]:
    """Each factor's values in one piece, in the smallest numbers that hold them: comparing reads half as much."""
    small = np.int16 if not codes.size or codes.max() <= np.iinfo(np.int16).max else np.int32
    return [np.ascontiguousarray(column.astype(small)) for column in codes.T]


def stretches(ends: Ints, most: int) -> Iterator[tuple[int, int]]:
    """From which line up to which other there are at most so many entries, one line at least; all lines in turn.

    >>> list(stretches(np.array([0, 2, 3, 9, 10]), 4))
    [(0, 2), (2, 3), (3, 4)]
    """
    low = 0
    while low < len(ends) - 1:
        high = max(int(np.searchsorted(ends, ends[low] + most, side="right")) - 1, low + 1)
        yield low, high
        low = high
