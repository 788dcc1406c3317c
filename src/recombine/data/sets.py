"""The values of a factor whose value is a set: drugs given together, genes perturbed together, tags.

A set is one value with one code, like any other: counting, look-ups and splits ask nothing further. Beside the codes
stands what each value is made of, as ragged rows of elements. Sets that were read have the codes from 0 on, the smaller
ones first. There are far more than were read (Σ C(n, k)), so they are never listed: one that is asked for gets the next
code (`Sets.codes_of`), in a table that only grows and takes part neither in equality nor in `len`. Codes at or above
`len` are therefore sets that were never seen; groups and look-ups know none of them.

Two sets are the same if their hashes are, and their elements then are compared: nothing hangs on chance.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, combinations, pairwise
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from recombine.base.errors import SpaceError
from recombine.base.words import BETWEEN, text
from recombine.numerics.groups import ANY, Codes, Ints
from recombine.numerics.rows import IncidenceRows, ends

NOTHING = frozenset(["", "ctrl", "control", "non-targeting"])
"""What a table writes where nothing was given, in small letters: beside elements it vanishes."""
_MOST_LISTED = 5 * 10**7  # entries of sets that are written out


class Sets(Sequence[tuple[Any, ...]]):
    """Distinct sets of some elements, and a code for any other one.

    >>> sets = Sets(("a", "b", "c"), IncidenceRows.listed([[], [0], [0, 2]], width=3), largest=2)
    >>> sets[2], sets.label(0), sets.could, len(sets)
    (('a', 'c'), 'control', 7, 3)
    >>> sets.code(("c", "a")), sets.code("c + b"), sets.label(3), sets.code("d"), len(sets)
    (2, 3, 'b + c', -1, 3)
    """

    exclusive = False

    def __init__(
        self,
        elements: Sequence[Any],
        members: IncidenceRows,
        *,
        smallest: int = 0,
        largest: int,
        separator: str | None = None,
    ) -> None:
        self.elements = tuple(elements)
        self.members = members
        self.smallest, self.largest = smallest, largest
        self.separator = separator
        self._asked = _AskedSets(len(members), len(elements))

    def __len__(self) -> int:
        return len(self.members)

    @overload
    def __getitem__(self, code: int) -> tuple[Any, ...]: ...
    @overload
    def __getitem__(self, code: slice) -> list[tuple[Any, ...]]: ...
    def __getitem__(self, code: int | slice) -> Any:
        """The elements of a set, in their order."""
        if isinstance(code, slice):
            return [self[one] for one in range(len(self))[code]]
        return tuple(self.elements[place] for place in self.rows([code]).columns.tolist())

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        flat, starts = self.members.columns.tolist(), self.members.starts.tolist()
        for start, stop in pairwise(starts):
            yield tuple(self.elements[place] for place in flat[start:stop])

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Sets)
            and (self.elements, self.smallest, self.largest) == (other.elements, other.smallest, other.largest)
            and np.array_equal(self.members.starts, other.members.starts)
            and np.array_equal(self.members.columns, other.members.columns)
        )

    def __hash__(self) -> int:
        return hash((self.elements, len(self)))

    def __repr__(self) -> str:
        return f"Sets({len(self):,} of {len(self.elements):,} elements)"

    @property
    def effects(self) -> int:
        """One for each element."""
        return len(self.elements)

    @property
    def parts(self) -> int:
        """The elements of the largest set that was read."""
        return self.largest

    @property
    def could(self) -> int:
        """How many sets of these sizes there are."""
        return self.ways(len(self.elements))

    def ways(self, elements: int) -> int:
        """How many sets of these sizes so many elements make."""
        return sum(math.comb(elements, size) for size in self.sizes)

    @property
    def sizes(self) -> range:
        """How large a set may be."""
        return range(self.smallest, self.largest + 1)

    def of_size(self, size: int) -> "Sets":
        """The same with one size alone."""
        return Sets(self.elements, self.members, smallest=size, largest=size, separator=self.separator)

    def label(self, code: int) -> str:
        """A set as people read it."""
        return text(self.element_names(code))

    def element_names(self, code: int) -> list[str]:
        """The elements of a set as people read them, in their order."""
        return [self._element_labels[place] for place in self.rows([code]).columns.tolist()]

    @cached_property
    def _element_labels(self) -> tuple[str, ...]:
        return tuple(map(text, self.elements))

    @property
    def element_labels(self) -> tuple[str, ...]:
        """The elements as people read them."""
        return self._element_labels

    @cached_property
    def _element_codes(self) -> dict[str, int]:
        return {label: place for place, label in enumerate(self._element_labels)}

    def code(self, value: Any) -> int:
        """The code of a set, given as its elements in any order or as text; -1 if it holds an unknown element."""
        return int(self.codes([value])[0])

    def codes(self, values: Sequence[Any]) -> Codes:
        """The codes of several."""
        places = [{self._element_codes.get(text(one), ANY) for one in self.parts_of(value)} for value in values]
        known = [ANY not in several for several in places]
        rows = [sorted(several) if own else [] for several, own in zip(places, known, strict=True)]
        return np.where(known, self.codes_of(IncidenceRows.listed(rows, len(self.elements))), ANY).astype(np.int32)

    def parts_of(self, value: Any) -> list[Any]:
        """The elements that a value names, without what stands for nothing."""
        if isinstance(value, str):
            between = BETWEEN if self.separator is None or BETWEEN in value else self.separator
            value = [value] if value in self._element_codes else value.split(between)
        listed = list(value) if isinstance(value, Iterable) else [value]
        return [one for one in listed if one is not None and not is_nothing(one)]

    def rows(self, codes: Any) -> IncidenceRows:
        """The elements of each set; none for the code -1."""
        codes = np.asarray(codes, dtype=np.int64)
        every = self._asked.after(self.members) if (codes >= len(self)).any() else self.members
        if (codes >= 0).all():
            return every.take(codes)
        found = every.take(np.maximum(codes, 0))
        lengths = np.where(codes >= 0, found.lengths, 0)
        return IncidenceRows(ends(lengths), found.columns[(codes >= 0)[found.owners]], every.width)

    def codes_of(self, rows: IncidenceRows) -> Codes:
        """The codes of sets whose elements are sorted; those never met before get the next ones."""
        known = self._index.find(rows)
        new = np.flatnonzero(known < 0)
        if len(new):
            known[new] = self._asked.codes_of(rows.take(new), self._index.hashes(rows.take(new)))
        return known.astype(np.int32)

    @cached_property
    def _index(self) -> "_SetIndex":
        return _SetIndex.of(self.members)

    def every(self, among: Ints) -> Codes:
        """All sets of these sizes of some elements; for few enough."""
        found = [_all_of_size(among, size) for size in self.sizes if size <= len(among)]
        return np.concatenate([self.codes_of(IncidenceRows.equal(one, len(self.elements))) for one in found])

    def draw(self, number: int, among: Ints, rng: np.random.Generator) -> Codes:
        """So many sets of some elements: equally many of each size, since nearly all sets are of the largest."""
        sizes = [size for size in self.sizes if size <= len(among)]
        parts = [self._draw_size(size, -(-number // len(sizes)), among, rng) for size in sizes]
        drawn = np.concatenate(parts)
        return drawn[rng.permutation(len(drawn))[:number]]

    def exchanged(self, codes: Codes, new: Ints) -> Codes:
        """Sets with each element exchanged for a new one; -1 for one that was not read.

        >>> sets = Sets(("a", "b", "c"), IncidenceRows.listed([[0], [0, 1], [1, 2]], width=3), largest=2)
        >>> sets.exchanged(np.array([0, 1]), np.array([2, 1, 0])).tolist()
        [-1, 2]
        """
        rows = self.rows(codes)
        moved, _ = sorted_sets(rows.owners, new[rows.columns], len(rows), max(rows.width, 1))
        return self._index.find(moved).astype(np.int32)

    def _draw_size(self, size: int, number: int, among: Ints, rng: np.random.Generator) -> Codes:
        if size == 0:
            return np.repeat(self.codes_of(IncidenceRows.listed([[]], len(self.elements))), number)
        found: list[Ints] = []
        while sum(map(len, found)) < number:  # what holds an element twice is drawn again
            drawn = np.sort(rng.choice(among, size=(2 * number, size)), axis=1)
            found.append(drawn[(np.diff(drawn, axis=1) > 0).all(axis=1)])
            if size * size > len(among):  # nearly all would be drawn again
                found = [np.sort(rng.permuted(np.tile(among, (number, 1)), axis=1)[:, :size], axis=1)]
        return self.codes_of(IncidenceRows.equal(np.concatenate(found)[:number].astype(np.int64), len(self.elements)))

    def changes(self, codes: Any, control: int) -> tuple[Ints, Codes]:
        """Each element that the control does not hold is one change; those that both hold stay beside it.

        >>> sets = Sets(("a", "b", "ctl"), IncidenceRows.listed([[], [2], [0, 1], [0, 2]], width=3), largest=2)
        >>> owners, alone = sets.changes(np.array([0, 2]), 0)
        >>> owners.tolist(), [sets.label(code) for code in alone.tolist()]
        ([1, 1], ['a', 'b'])
        >>> [sets.label(code) for code in sets.changes(np.array([2, 3]), 1)[1].tolist()]
        ['a', 'b', 'a + ctl']
        """
        rows, held = self.rows(codes), np.zeros(len(self.elements), dtype=bool)
        held[self.rows([control]).columns] = True
        new = ~held[rows.columns]
        owners, added = rows.owners[new], rows.columns[new]
        shared = IncidenceRows(
            ends(np.bincount(rows.owners[~new], minlength=len(rows))), rows.columns[~new], rows.width
        )
        beside, changes = shared.take(owners), np.arange(len(owners))
        parts = np.concatenate([beside.columns, added])
        singles, _ = sorted_sets(np.concatenate([beside.owners, changes]), parts, len(owners), len(self.elements))
        return owners, self.codes_of(singles)


def is_nothing(element: Any) -> bool:
    """Whether an element stands for nothing.

    >>> is_nothing("ctrl"), is_nothing("Non-targeting"), is_nothing("AHR")
    (True, True, False)
    """
    return isinstance(element, str) and element.strip().lower() in NOTHING


def _all_of_size(among: Ints, size: int) -> Ints:
    number = math.comb(len(among), size)
    if number * max(size, 1) > _MOST_LISTED:
        raise SpaceError(
            f"{number:,} sets of {size} elements",
            why="they are too many to be listed",
            instead="ask for some of them",
        )
    flat = np.fromiter(chain.from_iterable(combinations(among.tolist(), size)), dtype=np.int64, count=number * size)
    return flat.reshape(number, size)


@dataclass(frozen=True, eq=False)
class _SetIndex:
    """Where a set stands among some: by hash, and then by its elements."""

    members: IncidenceRows
    keys: npt.NDArray[np.uint64]  # a random number for each element
    sorted: npt.NDArray[np.uint64]
    order: Ints

    @classmethod
    def of(cls, members: IncidenceRows, *, seed: int = 0) -> "_SetIndex":
        """Number some distinct sets; two that happen to have one hash are told apart by other random numbers."""
        keys = _element_keys(members.width, seed)
        hashes = _hashes(members, keys)
        order = np.argsort(hashes, kind="stable")
        if (hashes[order][1:] == hashes[order][:-1]).any():  # pragma: no cover - once in 10^7 tables of 10^6 sets
            return cls.of(members, seed=seed + 1)
        return cls(members, keys, hashes[order], order)

    def hashes(self, rows: IncidenceRows) -> npt.NDArray[np.uint64]:
        """The sum of the random numbers of each set's elements."""
        return _hashes(rows, self.keys)

    def find(self, rows: IncidenceRows) -> Ints:
        """The place of each set, -1 where it is none of these."""
        if not len(self.sorted):
            return np.full(len(rows), -1, dtype=np.int64)
        hashes = self.hashes(rows)
        place = np.minimum(np.searchsorted(self.sorted, hashes), len(self.sorted) - 1)
        found = np.where(self.sorted[place] == hashes, self.order[place], -1)
        asked = np.flatnonzero(found >= 0)
        found[asked[~_same(rows.take(asked), self.members.take(found[asked]))]] = -1
        return found


@dataclass(eq=False)
class _AskedSets:
    """Sets that were asked for beside those that were read; it only grows."""

    first: int
    width: int
    codes: dict[int, int] = field(default_factory=dict)
    lengths: list[Ints] = field(default_factory=list)
    columns: list[Ints] = field(default_factory=list)
    every: IncidenceRows | None = None

    def codes_of(self, rows: IncidenceRows, hashes: npt.NDArray[np.uint64]) -> Ints:
        """Codes of sets that were not read. Two sets of one hash would be taken for one: 64 bits, of some 10^5."""
        found = np.empty(len(rows), dtype=np.int64)
        new: list[int] = []
        for place, key in enumerate(hashes.tolist()):
            code = self.codes.get(key)
            if code is None:
                code = self.codes[key] = self.first + len(self.codes)
                new.append(place)
            found[place] = code
        if new:
            taken = rows.take(np.array(new))
            self.lengths.append(taken.lengths)
            self.columns.append(taken.columns)
            self.every = None
        return found

    def after(self, members: IncidenceRows) -> IncidenceRows:
        """Those that were read, and these after them."""
        if self.every is None:
            lengths = np.concatenate([members.lengths, *self.lengths])
            self.every = IncidenceRows(ends(lengths), np.concatenate([members.columns, *self.columns]), self.width)
        return self.every


def _element_keys(elements: int, seed: int) -> npt.NDArray[np.uint64]:
    return np.random.default_rng([seed, 20_190_802]).integers(0, 2**64, size=elements, dtype=np.uint64)


def _hashes(rows: IncidenceRows, keys: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Sums modulo 2^64 of the elements' keys, and of the size: differences of running sums, which wrap around too."""
    running = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(keys[rows.columns], dtype=np.uint64)])
    return np.asarray(running[rows.starts[1:]] - running[rows.starts[:-1]])


def _same(one: IncidenceRows, other: IncidenceRows) -> npt.NDArray[np.bool_]:
    """Which rows hold the same columns in the same order."""
    same = one.lengths == other.lengths
    alike = np.flatnonzero(same)
    left, right = one.take(alike), other.take(alike)
    differ = np.bincount(left.owners[left.columns != right.columns], minlength=len(alike))
    same[alike[differ > 0]] = False
    return np.asarray(same)


def sorted_sets(owners: Ints, parts: Ints, number: int, elements: int) -> tuple[IncidenceRows, Ints]:
    """Each of so many sets with its elements sorted and named once, and which of them named one twice.

    >>> rows, twice = sorted_sets(np.array([0, 0, 2, 2]), np.array([1, 0, 1, 1]), 3, 2)
    >>> rows.columns.tolist(), rows.lengths.tolist(), twice.tolist()
    ([0, 1, 1], [2, 0, 1], [2])
    """
    order = np.argsort(owners * np.int64(elements) + parts, kind="stable")
    owners, parts = owners[order], parts[order]
    again = np.zeros(len(parts), dtype=bool)
    again[1:] = (owners[1:] == owners[:-1]) & (parts[1:] == parts[:-1])
    lengths = np.bincount(owners[~again], minlength=number)
    return IncidenceRows(ends(lengths), parts[~again].astype(np.int64), elements), np.unique(owners[again])


def distinct_sets(rows: IncidenceRows) -> tuple[IncidenceRows, Codes]:
    """The distinct sets among some, the smaller ones first, and where each stands among them.

    >>> distinct, codes = distinct_sets(IncidenceRows.listed([[0, 1], [1], [0, 1]], width=2))
    >>> distinct.columns.tolist(), codes.tolist()
    ([1, 0, 1], [1, 0, 1])
    """
    largest = int(rows.lengths.max(initial=0))
    if len(rows) * largest > _MOST_LISTED * 4:
        raise SpaceError(
            f"{len(rows):,} sets of up to {largest:,} elements",
            why="they are too large to be sorted",
            instead="leave rare elements out first",
        )
    order = np.arange(len(rows))
    for place in range(largest - 1, -1, -1):  # by the last element first: each pass keeps the order of those before
        there = rows.lengths[order] > place
        column = np.full(len(rows), -1, dtype=np.int64)
        column[there] = rows.columns[rows.starts[:-1][order[there]] + place]
        order = order[np.argsort(column, kind="stable")]
    order = order[np.argsort(rows.lengths[order], kind="stable")]
    lined = rows.take(order)
    new = np.ones(len(rows), dtype=bool)
    if len(rows) > 1:
        before = np.arange(len(rows) - 1)
        new[1:] = ~_same(lined.take(before), lined.take(before + 1))
    codes = np.empty(len(rows), dtype=np.int32)
    codes[order] = np.cumsum(new) - 1
    return lined.take(np.flatnonzero(new)), codes
