"""What is determined, once each value has its island and its signature: any combination, and how many in all.

A combination is determined iff its values lie in one island and their signatures sum to zero. Counting the whole space
takes no listing: values of a factor with the same signature are interchangeable, so it is enough to count, for each
island, the sums of signatures that vanish.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from recombine.base.errors import TableError
from recombine.data.support import Support
from recombine.numerics.groups import Codes, Ints

Grouped = tuple[Ints, Ints]
"""Signatures, or sums of them, and how many choices give each."""
NO_ISLAND = -1
"""The island of a value that was never seen."""

_MOST_SUMS = 2 * 10**9  # some minutes of counting
_MOST_HELD = 4 * 10**6  # of them in memory at once: half a gigabyte on the way
_CHUNK = 1 << 21  # sums looked up at a time
_INT64_MAX = np.iinfo(np.int64).max
_MOST_PARTED = 12  # lists for which every way to part them in two is tried


@dataclass(frozen=True, eq=False)
class Determinacy:
    """For each factor, the island and the signature of each of its values.

    `islands[k][v]` is -1 for a value that was never seen. `signatures[k]` has a column for each random null vector,
    and is all zeros where islands tell the whole story. `rank` is the rank of the seen combinations' one-hot design.
    """

    islands: tuple[Ints, ...]
    signatures: tuple[Ints, ...]
    moduli: Ints
    rank: int
    deficit: int

    @property
    def island_count(self) -> int:
        """How many islands there are."""
        return 1 + max(int(island.max()) for island in self.islands)

    @cached_property
    def blocks(self) -> tuple[Ints, ...]:
        """For each factor, values whose difference is fixed share a number: island and signature together."""
        return tuple(_block_numbers(i, s) for i, s in zip(self.islands, self.signatures, strict=False))

    def home(self, codes: Codes) -> Ints:
        """The island of each seen combination."""
        return np.asarray(self.islands[0][codes[:, 0]])

    def novel(self, codes: Codes) -> npt.NDArray[np.bool_]:
        """Which of these combinations hold a value that was never seen."""
        return np.asarray(np.logical_or.reduce([one == NO_ISLAND for one in _island_of(self.islands, codes)]))

    def one_island(self, codes: Codes) -> npt.NDArray[np.bool_]:
        """Which of these combinations lie wholly within one island."""
        first, *others = _island_of(self.islands, codes)
        return np.asarray(np.logical_and.reduce([first != NO_ISLAND, *(first == other for other in others)]))

    def determined(self, codes: Codes) -> npt.NDArray[np.bool_]:
        """Which of these combinations, seen ones included, are fixed by the seen ones."""
        inside = self.one_island(codes)
        if not self.deficit:  # islands are the whole story
            return inside
        total = sum(s[np.maximum(codes[:, k], 0)] for k, s in enumerate(self.signatures))
        return np.asarray(inside & ~np.mod(total, self.moduli).any(axis=1))

    @property
    def of_seen_values(self) -> int:
        """How many combinations hold no value that was never seen."""
        return math.prod(int((island >= 0).sum()) for island in self.islands)

    @property
    def exact(self) -> bool:
        """Whether `count` is one, and no estimate."""
        return True

    def count(self) -> int:
        """How many combinations of seen values are determined, the seen ones included."""
        sizes = np.array([np.bincount(i[i >= 0], minlength=self.island_count) for i in self.islands])
        if not self.deficit:
            return _products(sizes)
        loose = np.flatnonzero((self._block_counts > 1).any(axis=0))
        members = [_split(island, self.island_count) if len(loose) else [] for island in self.islands]
        return _products(np.delete(sizes, loose, axis=1)) + sum(
            _vanishing([s[m[island]] for s, m in zip(self.signatures, members, strict=True)], self.moduli)
            for island in loose
        )

    @property
    def _block_counts(self) -> Ints:
        """How many blocks each factor has in each island; with one of each, all of an island is determined."""
        found = []
        for island, block in zip(self.islands, self.blocks, strict=True):
            home = np.zeros(int(block.max()) + 1, dtype=np.int64)
            home[block[island >= 0]] = island[island >= 0]
            present = np.bincount(block[island >= 0], minlength=len(home)) > 0
            found.append(np.bincount(home[present], minlength=self.island_count))
        return np.array(found)

    def count_impossible(self, support: Support) -> tuple[int, int]:
        """Of the impossible combinations: how many would be determined, and how many hold a value never seen."""
        spoken, cells = support.space.impossible_cells
        if not spoken:
            return 0, 0
        rest = [k for k in range(len(self.islands)) if k not in spoken]
        seen_rest = math.prod(int((self.islands[k] >= 0).sum()) for k in rest)
        all_rest = math.prod(len(self.islands[k]) for k in rest)
        stray = np.stack([self.islands[k][cells[:, c]] == NO_ISLAND for c, k in enumerate(spoken)]).any(axis=0)
        novel = int(stray.sum()) * all_rest + int((~stray).sum()) * (all_rest - seen_rest)
        return self._impossible_determined(spoken, cells[~stray], rest), novel

    def _impossible_determined(self, spoken: tuple[int, ...], cells: Codes, rest: list[int]) -> int:
        """Cell by cell where the cells are whole combinations; else island by island, with the rest left to choose."""
        homes = np.stack([self.islands[k][cells[:, c]] for c, k in enumerate(spoken)], axis=1)
        inside = (homes == homes[:, :1]).all(axis=1)
        fixed = np.mod(sum(self.signatures[k][cells[:, c]] for c, k in enumerate(spoken)), self.moduli)
        if not rest:
            return int((inside & ~fixed.any(axis=1)).sum())
        total = 0
        for island in np.unique(homes[inside, 0]):
            open_ = [self.signatures[k][self.islands[k] == island] for k in rest]
            total += _vanishing([fixed[inside & (homes[:, 0] == island)], *open_], self.moduli)
        return total


def _island_of(islands: tuple[Ints, ...], codes: Codes) -> list[Ints]:
    """For each factor the island of each combination's value; a code of -1 stands for a value outside the space."""
    return [np.append(island, NO_ISLAND)[codes[:, k]] for k, island in enumerate(islands)]


def _block_numbers(island: Ints, signature: Ints) -> Ints:
    if not signature.shape[1]:
        return island
    if not signature.any():  # a table of rows takes NumPy seconds to sort where numbers take none
        blocks = np.unique(island, return_inverse=True)[1]
    else:
        blocks = np.unique(np.column_stack([island, signature]), axis=0, return_inverse=True)[1]
    return np.where(island == NO_ISLAND, NO_ISLAND, blocks)


def _products(sizes: Ints) -> int:
    """Each column's product, summed, whatever its size."""
    if math.prod(map(int, sizes.sum(axis=1))) < _INT64_MAX:
        return int(sizes.prod(axis=0).sum())
    columns, times = np.unique(sizes, axis=1, return_counts=True)  # small islands are many and alike
    return sum(math.prod(map(int, column)) * int(many) for column, many in zip(columns.T, times, strict=True))


def _split(labels: Ints, count: int) -> list[Ints]:
    """The positions that carry each label from 0 on."""
    order = np.argsort(labels, kind="stable")
    return np.split(order, np.searchsorted(labels[order], np.arange(count + 1)))[1:-1]


def _vanishing(signatures: list[Ints], moduli: Ints) -> int:
    """How many choices of one signature from each list sum to zero."""
    return count_vanishing([grouped_rows(signature) for signature in signatures], moduli)


def count_vanishing(grouped: list[Grouped], moduli: Ints) -> int:
    """How many choices of one of each list sum to zero, each with its multiplicity: meet in the middle, in chunks."""
    if _sum_count(grouped[1:]) == 1:  # what is left to choose is one list
        values, counts = _all_sums(grouped, moduli)
        return sum(map(int, counts[~np.mod(values, moduli).any(axis=1)]))
    smaller, larger = _halves(grouped)
    total = 0
    for held in _chunks(smaller, _MOST_HELD):
        wanted = _WantedSums.of(_all_sums(held, moduli), moduli)
        total += sum(wanted.matches(_all_sums(part, moduli)) for part in _chunks(larger, _CHUNK))
    return total


def grouped_rows(signature: Ints) -> Grouped:
    """The distinct signatures, and how many values have each."""
    values, counts = np.unique(signature, axis=0, return_counts=True)
    return values, counts


def _halves(grouped: list[Grouped]) -> tuple[list[Grouped], list[Grouped]]:
    """Two halves with as few sums as can be, the one with fewer first."""
    choices = []
    for mask in _masks(grouped):
        halves = [[g for k, g in enumerate(grouped) if (mask >> k & 1) == side] for side in (0, 1)]
        choices.append(sorted(halves, key=_sum_count))
    smaller, larger = min(choices, key=lambda halves: _sum_count(halves[0]) + _sum_count(halves[1]))
    passes = -(-_sum_count(smaller) // _MOST_HELD)
    if _sum_count(larger) * passes > _MOST_SUMS or max(map(_wide, (smaller, larger))) > _MOST_HELD:
        raise TableError(
            f"counting what is determined would take {_sum_count(smaller) + _sum_count(larger):,} sums",
            why="the table hangs together so loosely that hardly two values are interchangeable",
            instead="audit fewer factors at a time, or leave out values that occur only once or twice",
        )
    return smaller, larger


def _masks(grouped: list[Grouped]) -> Iterator[int]:
    """Every way to part the lists in two; with many lists only one, the longest dealt out first."""
    if len(grouped) <= _MOST_PARTED:
        yield from range(1, 2 ** (len(grouped) - 1))
        return
    mask, sums = 0, [1, 1]
    for place in sorted(range(len(grouped)), key=lambda k: -len(grouped[k][1])):
        side = int(sums[1] <= sums[0])
        mask |= side << place
        sums[side] *= len(grouped[place][1])
    yield mask


def _sum_count(grouped: list[Grouped]) -> int:
    return math.prod(len(counts) for _, counts in grouped)


def _wide(grouped: list[Grouped]) -> int:
    """How many sums the smallest chunk has: one of the longest list with all of the others."""
    return _sum_count(sorted(grouped, key=lambda group: -len(group[1]))[1:])


def _chunks(grouped: list[Grouped], size: int) -> Iterator[list[Grouped]]:
    """The same choices in parts that fit in memory, of about so many sums, cut along the longest list."""
    first, *others = sorted(grouped, key=lambda group: -len(group[1]))
    step = max(1, size // _sum_count(others))
    for start in range(0, len(first[1]), step):
        part = slice(start, start + step)
        yield [(first[0][part], first[1][part]), *others]


def _all_sums(grouped: list[Grouped], moduli: Ints) -> Grouped:
    values, counts = grouped[0]
    for more, times in grouped[1:]:
        values = np.mod(values[:, None] + more[None], moduli).reshape(-1, len(moduli))
        counts = np.multiply.outer(counts, times).ravel()
    return values, counts


@dataclass(frozen=True)
class _WantedSums:
    """The sums that the other half must cancel, sorted for look-up."""

    keys: Ints
    checks: Ints
    counts: Ints
    moduli: Ints

    @classmethod
    def of(cls, sums: Grouped, moduli: Ints) -> "_WantedSums":
        key, check = _packed(np.mod(-sums[0], moduli), moduli)
        order = np.lexsort((check, key))
        key, check = key[order], check[order]
        starts = np.flatnonzero(np.diff(key, prepend=-1) | np.diff(check, prepend=-1))
        return cls(key[starts], check[starts], np.add.reduceat(sums[1][order], starts), moduli)

    def matches(self, sums: Grouped) -> int:
        """How many of these sums are wanted, by multiplicity."""
        key, check = _packed(sums[0], self.moduli)
        place = np.minimum(np.searchsorted(self.keys, key), len(self.keys) - 1)
        hit = np.flatnonzero((self.keys[place] == key) & (self.checks[place] == check))
        return sum(int(a) * int(b) for a, b in zip(sums[1][hit], self.counts[place[hit]], strict=True))


def _packed(values: Ints, moduli: Ints) -> tuple[Ints, Ints]:
    """The residues modulo the first prime in one 64-bit number, those modulo the second in another."""
    half = values.shape[1] // 2
    first, second = (np.zeros(len(values), dtype=np.int64) for _ in range(2))
    for column in range(half):
        first = first * int(moduli[0]) + values[:, column]
        second = second * int(moduli[-1]) + values[:, half + column]
    return first, second
