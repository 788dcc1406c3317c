"""Combinations of two results in one numbering, so that sets of them can be compared without writing out the space.

Values are the same if they are equal or written alike: a table that was read from another kind of file may hold the
text 3 where the number 3 stood. Factors are told by their names, whatever their order. Of a factor whose value is a set
the elements are matched, and sets are the same if their elements are: also those that neither result has seen.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from recombine.data.sets import Sets, distinct_sets, sorted_sets
from recombine.data.space import MISSING, Factor, Space, text
from recombine.numerics.groups import Codes, Ints, group


@dataclass(frozen=True, eq=False)
class ValueNumbering:
    """How one of the two results numbers the values. Legend: k factors in the order of the merged space.

    `order[k]` is the factor's place in the result's own space, `merged[k]` the merged number of each of its own values,
    or of each element of its sets, and `own[k]` its own number of each merged one, -1 where it has none.
    """

    order: tuple[int, ...]
    merged: tuple[Ints, ...]
    own: tuple[Ints, ...]
    own_space: Space
    space: Space

    def merge(self, codes: Codes) -> Codes:
        """Its own combinations in the merged numbering."""
        columns = [
            renumbered(codes[:, place], numbers, self.own_space.factors[place], factor)
            for place, numbers, factor in zip(self.order, self.merged, self.space.factors, strict=True)
        ]
        return np.stack(columns, axis=1).astype(np.int32)

    def unmerge(self, codes: Codes) -> Codes:
        """Merged combinations in its own numbering, -1 for a value that it does not have."""
        found = np.empty_like(codes)
        for k, (place, numbers) in enumerate(zip(self.order, self.own, strict=True)):
            found[:, place] = renumbered(codes[:, k], numbers, self.space.factors[k], self.own_space.factors[place])
        return np.asfortranarray(found)


def renumbered(codes: Codes, numbers: Ints, before: Factor, after: Factor) -> Codes:
    """The codes of one factor's values in another numbering, by the `numbers` of its values or elements."""
    if before.sets is None or after.sets is None:
        return np.asarray(numbers[codes])
    rows = before.sets.rows(codes)
    parts = numbers[rows.columns]
    lost = np.bincount(rows.owners[parts < 0], minlength=len(rows)) > 0
    moved, _ = sorted_sets(rows.owners[parts >= 0], parts[parts >= 0], len(rows), after.kind.effects)
    return np.where(lost | (np.asarray(codes) < 0), -1, after.sets.codes_of(moved))


@dataclass(frozen=True, eq=False)
class MergedSpace:
    """One space that holds the values of two."""

    space: Space
    old: ValueNumbering
    new: ValueNumbering

    @classmethod
    def of(cls, old: Space, new: Space) -> "MergedSpace":
        """The values of the old space, and behind them those that only the new one has.

        >>> both = MergedSpace.of(Space.of({"a": [1, 2], "b": ["x"]}), Space.of({"b": ["y"], "a": ["2"]}))
        >>> [factor.values for factor in both.space.factors], both.new.merge(np.array([[0, 0]])).tolist()
        ([(1, 2), ('x', 'y')], [[1, 1]])
        """
        places = tuple(new.position(name) for name in old.names)
        factors, old_numbers, new_numbers = [], [], []
        for factor, place in zip(old.factors, places, strict=True):
            ours, theirs = _single(factor), _single(new.factors[place])
            numbers = np.array([ours.code(value) for value in theirs.values], dtype=np.int64).reshape(-1)
            fresh = numbers < 0
            numbers[fresh] = len(ours.values) + np.arange(int(fresh.sum()))
            more = tuple(value for value, is_new in zip(theirs.values, fresh, strict=True) if is_new)
            every = (*ours.values, *more)
            factors.append(_merged_factor(factor, new.factors[place], every, numbers))
            old_numbers.append(np.arange(len(ours.values)))
            new_numbers.append(numbers)
        space, sides = Space(tuple(factors)), []
        for order, merged, own_space in ((tuple(range(len(places))), old_numbers, old), (places, new_numbers, new)):
            own = [_places(numbers, factor.kind.effects) for numbers, factor in zip(merged, factors, strict=True)]
            sides.append(ValueNumbering(order, tuple(merged), tuple(own), own_space, space))
        return cls(space, *sides)

    def pair(self, old: Codes, new: Codes) -> "PairedCombinations":
        """Combinations of both results, each in its own numbering, one beside the other."""
        return pair_combinations(self.space, self.old.merge(old), self.new.merge(new))


def _single(factor: Factor) -> Factor:
    """A factor of what is matched: its values, or the elements of its sets."""
    return factor if factor.sets is None else Factor(factor.name, factor.sets.elements)


def _merged_factor(old: Factor, new: Factor, values: tuple[Any, ...], numbers: Ints) -> Factor:
    """One factor with the values of two, or the sets of both over the elements of both."""
    if old.sets is None or new.sets is None:
        return Factor(old.name, values)
    rows, theirs = old.sets.members, new.sets.members
    owner = np.concatenate([rows.owners, len(rows) + theirs.owners])
    parts = np.concatenate([rows.columns, numbers[theirs.columns]])
    every, _ = sorted_sets(owner, parts, len(rows) + len(theirs), len(values))
    return Factor(
        old.name,
        Sets(
            values,
            distinct_sets(every)[0],
            smallest=min(old.sets.smallest, new.sets.smallest),
            largest=max(old.sets.largest, new.sets.largest),
            separator=old.sets.separator,
        ),
    )


def _places(numbers: Ints, size: int) -> Ints:
    """Where each of so many numbers stands in a list of distinct ones; -1 where it does not."""
    places = np.full(size, -1, dtype=np.int64)
    places[numbers] = np.arange(len(numbers))
    return places


@dataclass(frozen=True, eq=False)
class PairedCombinations:
    """The distinct combinations of two lists, with the place of each in both; -1 where it stands in one alone."""

    codes: Codes
    old: Ints
    new: Ints

    @property
    def both(self) -> "PairedCombinations":
        """Those that stand in both lists."""
        chosen = (self.old >= 0) & (self.new >= 0)
        return PairedCombinations(self.codes[chosen], self.old[chosen], self.new[chosen])


def pair_combinations(space: Space, old: Codes, new: Codes) -> PairedCombinations:
    """Pair two lists of distinct combinations.

    >>> space = Space.of({"a": [0, 1], "b": [0, 1]})
    >>> found = pair_combinations(space, np.array([[0, 0], [0, 1]]), np.array([[0, 1], [1, 1]]))
    >>> found.codes.tolist(), found.old.tolist(), found.new.tolist()
    ([[0, 0], [0, 1], [1, 1]], [0, 1, -1], [-1, 0, 1])
    """
    stacked = np.concatenate([old, new])
    groups = group(stacked, sizes=space.sizes, factors=tuple(range(len(space.sizes))))
    places = [_places(ids, groups.size) for ids in (groups.ids[: len(old)], groups.ids[len(old) :])]
    return PairedCombinations(stacked[groups.representatives], *places)


def pair_tables(old: pa.Table, new: pa.Table, names: tuple[str, ...]) -> tuple[Space, PairedCombinations]:
    """Pair the combinations of two tables that have the factors as columns."""
    (old_space, old_codes), (new_space, new_codes) = (encode_table(table, names) for table in (old, new))
    both = MergedSpace.of(old_space, new_space)
    return both.space, both.pair(old_codes, new_codes)


def encode_table(table: pa.Table, names: tuple[str, ...]) -> tuple[Space, Codes]:
    """The combinations of a table that has the factors as columns, each once: the last line of it counts.

    >>> space, codes = encode_table(pa.table({"a": ["x", "y"], "b": [1, 1]}), ("a", "b"))
    >>> space.sizes, codes.tolist()
    ((2, 1), [[0, 0], [1, 0]])
    """
    factors, columns = [], []
    for name in names:
        encoded = pc.dictionary_encode(table[name].combine_chunks(), null_encoding="encode")
        words = [text(MISSING if value is None else value) for value in encoded.dictionary.to_pylist()]
        factors.append(Factor(name, tuple(words)))
        columns.append(encoded.indices.to_numpy(zero_copy_only=False))
    codes = np.stack(columns, axis=1).astype(np.int32) if table.num_rows else np.zeros((0, len(names)), dtype=np.int32)
    return Space(tuple(factors)), codes
