"""The combinations that could occur: the product of the factors' values, less those declared impossible.

The space is never materialised: it can hold 10^12 combinations.
"""

import math
from collections.abc import Iterable, Mapping, Sequence, Sized
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date, datetime
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa

from recombine.base import words
from recombine.base.checks import check_listed
from recombine.base.errors import SettingError, SpaceError, nearest
from recombine.data.constraints import ruled_out
from recombine.data.sets import Sets
from recombine.numerics.effects import Effects, Kind, Single
from recombine.numerics.groups import ANY, Codes, Patterns, group
from recombine.numerics.nogoods import Nogoods

Value = str | bool | int | float | date | datetime
Impossible = Mapping[str, Value] | str
"""What cannot occur: a conjunction, or a rule that every combination keeps (`constraints`)."""

text = words.text
"""How a value is written for people, in every table, page and message."""
MISSING = "(missing)"
"""How a missing value is named where it counts as a value."""
_MOST_IMPOSSIBLE = 10**7  # cells that are written out and sorted: 10^7 take a few hundred megabytes
_LEAST_SHARED = 3  # values: two yes-or-no columns share theirs without meaning the same
_MOST_COMPARED = 10**5  # values of a factor
_MOST_SUSPECTED = 45  # pairs of factors that are compared
_MOST_LISTED = 10**8  # values of combinations that are written out: four bytes each, and twice as many meanwhile


@dataclass(frozen=True)
class Factor:
    """A named property of an example, and the values that it can take.

    Where a value is a set of elements, `values` are `Sets`: ordinary values that have parts beside them.

    >>> Factor("colour", ("red", "blue")).code("blue")
    1
    """

    name: str
    values: Sequence[Any]
    declared: bool = False

    @property
    def sets(self) -> Sets | None:
        """Its values, if they are sets."""
        return self.values if isinstance(self.values, Sets) else None

    @cached_property
    def kind(self) -> Kind:
        """What its values add up, and how many it could have."""
        return Single(len(self.values)) if self.sets is None else self.sets

    @property
    def effect_labels(self) -> Sequence[str]:
        """What an additive rule learns a number for, as people read it: the values, or the elements of sets."""
        return self.labels if self.sets is None else self.sets.element_labels

    def code(self, value: Any) -> int:
        """The position of a value, matched exactly or by how it is written; -1 if it is not one."""
        if self.sets is not None:
            return self.sets.code(value)
        value = MISSING if value is None else value
        return self._codes.get(value, self._codes_by_text.get(str(value), ANY)) if _hashable(value) else ANY

    def codes(self, values: Sequence[Any]) -> Codes:
        """The positions of several values."""
        if self.sets is not None:
            return self.sets.codes(values)
        return np.array([self.code(value) for value in values], dtype=np.int32)

    @cached_property
    def _codes(self) -> dict[Any, int]:
        # True == 1 in Python: booleans and whole numbers stay apart, as a factor holds only one of the two.
        return {value: position for position, value in enumerate(self.values)}

    @cached_property
    def _codes_by_text(self) -> dict[str, int]:
        return {text(value): position for position, value in enumerate(self.values)}

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The values as people read them."""
        if self.sets is not None:
            return tuple(self.sets.label(code) for code in range(len(self.sets)))
        if set(map(type, self.values)) == {str}:
            return tuple(self.values)
        return tuple(text(value) for value in self.values)

    def label(self, code: int) -> str:
        """One value as people read it: of sets also one that was never seen."""
        return self.labels[code] if self.sets is None else self.sets.label(code)

    def column(self, codes: Codes) -> pa.Array:
        """Values as a table has them; sets as lists."""
        missing = codes < 0
        if self.sets is None:
            return arrow_column(self.values).take(pa.array(codes, mask=missing))
        rows = self.sets.rows(codes)
        parts = arrow_column(self.sets.elements).take(pa.array(rows.columns))
        return pa.ListArray.from_arrays(pa.array(rows.starts, pa.int32()), parts, mask=pa.array(missing))

    def text_column(self, codes: Codes, *, lists: bool = False) -> pa.Array:
        """Values as people read them; of sets the `lists` of their elements, if these are asked for."""
        if self.sets is None:
            return pa.array(self.labels, pa.string()).take(pa.array(codes))
        if lists:
            rows = self.sets.rows(codes)
            parts = pa.array(self.sets.element_labels, pa.string()).take(pa.array(rows.columns))
            return pa.ListArray.from_arrays(pa.array(rows.starts, pa.int32()), parts)
        return pa.array([self.sets.label(code) for code in codes.tolist()], pa.string())


def rows_of(combinations: Any) -> list[Any]:
    """Combinations as rows, from an Arrow table, a frame, or any sequence of tuples or mappings."""
    if hasattr(combinations, "to_pylist"):
        found: list[Any] = combinations.to_pylist()
        return found
    if hasattr(combinations, "to_dict") and hasattr(combinations, "iloc"):
        return list(combinations.to_dict("records"))
    return list(combinations)


def _hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


@dataclass(frozen=True)
class Space:
    """Factors with their values, and the conjunctions that cannot occur.

    `impossible` holds one row for each forbidden conjunction: a value's position per factor, or -1 for any.

    >>> values = {"colour": ["red", "blue"], "shape": ["circle", "square"]}
    >>> space = Space.of(values, impossible=[{"colour": "red"}])
    >>> space.size
    2
    """

    factors: tuple[Factor, ...]
    impossible: tuple[tuple[int, ...], ...] = field(default=(), repr=False)

    @classmethod
    def of(cls, values: Mapping[str, Sequence[Value]], *, impossible: Iterable[Impossible] = ()) -> "Space":
        """A space declared by hand."""
        factors = tuple(Factor(name, tuple(listed), declared=True) for name, listed in values.items())
        return cls(factors).forbidding(impossible)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The factors' names, in order."""
        return tuple(factor.name for factor in self.factors)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """How many values each factor has; of sets how many were read, below which their codes run."""
        return tuple(len(factor.values) for factor in self.factors)

    @cached_property
    def could(self) -> tuple[int, ...]:
        """How many values each factor could take: of sets all that there are of their elements and sizes."""
        return tuple(factor.kind.could for factor in self.factors)

    @cached_property
    def set_factors(self) -> tuple[int, ...]:
        """The factors whose values are sets."""
        return tuple(k for k, factor in enumerate(self.factors) if factor.sets is not None)

    @cached_property
    def effects(self) -> Effects:
        """What the values of all factors add up."""
        return Effects([factor.kind for factor in self.factors])

    @cached_property
    def parts(self) -> int:
        """How many values and elements two combinations can share: one of each ordinary factor, a set's elements."""
        return sum(factor.kind.parts for factor in self.factors)

    @property
    def effect_unit(self) -> str:
        """What an additive rule learns an effect of."""
        sets = len(self.set_factors)
        return "value" if not sets else "element" if sets == len(self.factors) else "value and element"

    @property
    def product(self) -> int:
        """Every combination of values, impossible ones included."""
        return math.prod(self.could)

    @property
    def size(self) -> int:
        """How many combinations could occur."""
        return self.product - self.impossible_count

    def position(self, name: str) -> int:
        """Where a factor stands, by its name."""
        check_listed(name, self.names, f"no factor {name!r}", why="it is not among the factors that were read")
        return self.names.index(name)

    def forbidding(self, impossible: Iterable[Impossible]) -> "Space":
        """The same space without the combinations that hold any of these conjunctions, or break any of these rules."""
        listed = list(impossible)
        values = {factor.name: factor.values for factor in self.factors}
        conjunctions = [one for one in listed if not isinstance(one, str)]
        conjunctions += ruled_out([one for one in listed if isinstance(one, str)], values)
        return Space(self.factors, tuple(sorted({self._pattern(conjunction) for conjunction in conjunctions})))

    def alike(self) -> tuple[tuple[str, str], ...]:
        """Pairs of factors that have most of their values in common, as the two drugs of a pair have.

        >>> first, second = Factor("p1", ("a", "b", "c")), Factor("p2", ("a", "b", "c", "d"))
        >>> Space((first, second, Factor("line", ("K562", "RPE1")))).alike()
        (('p1', 'p2'),)
        """
        short = [one for one in self.factors if one.sets is None and len(one.values) <= _MOST_COMPARED]
        values = {factor.name: set(factor.labels) for factor in short}
        return tuple(
            (one, other)
            for one, other in list(combinations(values, 2))[:_MOST_SUSPECTED]
            if len(values[one] & values[other]) >= max(_LEAST_SHARED, len(values[one] | values[other]) / 2)
        )

    def restricted(self, factors: Sequence[int]) -> "Space":
        """Some of the factors alone, without what cannot occur whatever the others are.

        That is what an impossible conjunction says of these factors alone, and what several rule out together: red
        discs, where small red discs are impossible and large ones are too.
        """
        kept = tuple(
            tuple(row[k] for k in factors)
            for row in self.impossible
            if all(code == ANY or k in factors for k, code in enumerate(row))
        )
        alone = Space(tuple(self.factors[k] for k in factors), kept)
        jointly = self._jointly_impossible(tuple(factors)) if len(kept) < len(self.impossible) else ()
        return Space(alone.factors, (*kept, *(row for row in jointly if not alone._forbids(row))))

    def _jointly_impossible(self, factors: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
        """Conjunctions of these factors with which every way to fill in the others is impossible.

        The impossible cells are distinct, so that is a count: as many cells agree with such a conjunction as there are
        ways to fill in the other factors that are spoken of.
        """
        if not self._can_be_written_out:
            flags = self.nogoods.infeasible(factors)
            found = np.unravel_index(np.flatnonzero(flags), [self.sizes[k] for k in factors])
            return tuple(map(tuple, np.stack(found, axis=1).tolist()))
        spoken, cells = self.impossible_cells
        inside = tuple(place for place, k in enumerate(spoken) if k in factors)
        rest = math.prod(self.sizes[k] for k in spoken if k not in factors)
        if len(cells) < rest:
            return ()
        if not inside:  # nothing is possible, and so none of the values of these factors
            return tuple((value, *[ANY] * (len(factors) - 1)) for value in range(self.sizes[factors[0]]))
        groups = group(cells, sizes=tuple(self.sizes[k] for k in spoken), factors=inside)
        full = cells[groups.representatives[groups.combinations == rest]]
        rows = np.full((len(full), len(factors)), ANY, dtype=np.int32)
        for place in inside:
            rows[:, factors.index(spoken[place])] = full[:, place]
        return tuple(map(tuple, rows.tolist()))

    def _forbids(self, row: tuple[int, ...]) -> bool:
        """Whether one of the impossible conjunctions alone rules this one out."""
        return any(all(code in (ANY, own) for code, own in zip(line, row, strict=True)) for line in self.impossible)

    def encode(self, combinations: Iterable[Mapping[str, Any] | Sequence[Any]]) -> Codes:
        """Any combinations as positions of values, -1 for a value that the space does not have."""
        rows = [self._row(combination) for combination in combinations]
        columns = [factor.codes([row[k] for row in rows]) for k, factor in enumerate(self.factors)]
        return np.stack(columns, axis=1).astype(np.int32).reshape(len(rows), len(self.factors))

    def columns(self, codes: Codes) -> dict[str, pa.Array]:
        """Combinations as a table has them: a column for each factor, in the user's own values."""
        return {factor.name: factor.column(codes[:, k]) for k, factor in enumerate(self.factors)}

    def labels(self, codes: Codes, *, lists: bool = False) -> dict[str, pa.Array]:
        """Combinations as people read them: a column of text for each factor, or of `lists` where it is a set."""
        return {factor.name: factor.text_column(codes[:, k], lists=lists) for k, factor in enumerate(self.factors)}

    def label_row(self, row: Codes) -> dict[str, str]:
        """One combination as people read it."""
        return {factor.name: factor.label(int(code)) for factor, code in zip(self.factors, row, strict=True)}

    def every(self) -> Codes:
        """Every combination that could occur, the last factor fastest; for spaces that are small enough to list."""
        if self.product * len(self.factors) > _MOST_LISTED:
            raise SpaceError(
                f"a space of {self.product:,} combinations of {len(self.factors)} factors",
                why=f"to list it would take {self.product * len(self.factors) * 12 / 2**30:,.0f} GiB of memory",
                instead="ask for some of its combinations, or leave factors out",
            )
        kinds = [factor.kind for factor in self.factors]
        grids = np.meshgrid(*(kind.every(np.arange(kind.effects)) for kind in kinds), indexing="ij")
        codes: Codes = np.asfortranarray(np.stack([grid.ravel() for grid in grids], axis=1))
        possible: Codes = codes[~self.is_impossible(codes)]
        return possible

    @cached_property
    def impossible_cells(self) -> tuple[tuple[int, ...], Codes]:
        """The impossible conjunctions written out over the factors that they speak of, each once."""
        patterns = np.array(self.impossible, dtype=np.int32).reshape(len(self.impossible), len(self.factors))
        spoken = tuple(np.flatnonzero((patterns != ANY).any(axis=0)).tolist())
        if not spoken:
            return (), np.zeros((0, 0), dtype=np.int32)
        if not self._can_be_written_out:
            raise SpaceError(
                f"the impossible conjunctions stand for {self._cells:,} cells",
                why=f"they are written out over {len(spoken)} factors, {_MOST_IMPOSSIBLE:,} at most",
                instead="declare fewer, or declare them over the same few factors",
            )
        cells = np.concatenate([self._expand(row, spoken) for row in self.impossible])
        return spoken, np.unique(cells, axis=0)

    @cached_property
    def _cells(self) -> int:
        """As how many cells the impossible conjunctions would be written out, over the factors that they speak of."""
        named = (np.array(self.impossible, dtype=np.int32).reshape(-1, len(self.factors)) != ANY).any(axis=0)
        return sum(self._expansion(row, tuple(np.flatnonzero(named).tolist())) for row in self.impossible)

    @property
    def _can_be_written_out(self) -> bool:
        return self._cells <= _MOST_IMPOSSIBLE

    @cached_property
    def nogoods(self) -> Nogoods:
        """The impossible conjunctions to be searched, where they are too many cells to be written out."""
        return Nogoods.of(self.impossible, self.sizes)

    @cached_property
    def impossible_count(self) -> int:
        """How many combinations are impossible."""
        if not self._can_be_written_out:
            return self.product - Nogoods.of(self.impossible, self.could).count()
        spoken, cells = self.impossible_cells
        return len(cells) * math.prod(self.could[k] for k in range(len(self.could)) if k not in spoken) if spoken else 0

    def is_impossible(self, codes: Codes) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Which of these combinations are impossible."""
        return np.asarray(self._impossible_patterns.last(codes) >= 0)

    @cached_property
    def _impossible_patterns(self) -> Patterns:
        lines = np.array(self.impossible, dtype=np.int32).reshape(-1, len(self.factors))
        return Patterns.of(lines, self.sizes)

    def _row(self, combination: Mapping[str, Any] | Sequence[Any]) -> Sequence[Any]:
        """One value for every factor, in their order."""
        if isinstance(combination, str) or not isinstance(combination, Sized):
            raise SettingError(
                f"the combination {combination!r} is one {'text' if isinstance(combination, str) else 'value'}",
                why="a combination has one value for every factor",
                instead="give a list of them, each a tuple or a mapping: [('wool', 'coat')]",
            )
        if isinstance(combination, Mapping):
            missing = [name for name in self.names if name not in combination]
            if missing:
                raise SettingError(
                    f"the combination {dict(combination)!r} has no {missing[0]!r}",
                    why="a combination has one value for every factor",
                    instead=f"give a value for each of {', '.join(map(repr, self.names))}",
                )
            combination = [combination[name] for name in self.names]
        if len(combination) != len(self.factors):
            raise SettingError(
                f"the combination {tuple(combination)!r} has {len(combination)} values",
                why=f"there are {len(self.factors)} factors: {', '.join(self.names)}",
                instead="give one value for each, in that order, or a mapping from factor to value",
            )
        return combination

    def _pattern(self, conjunction: Mapping[str, Value]) -> tuple[int, ...]:
        row = [ANY] * len(self.factors)
        for name, value in conjunction.items():
            position = self.position(name)
            if position in self.set_factors:
                raise SpaceError(
                    f"the impossible conjunction {dict(conjunction)!r} speaks of {name!r}",
                    why="its values are sets, and what cannot stand in one set is not declared yet",
                    instead="leave such rows out, or declare conjunctions of the other factors",
                )
            row[position] = self.factors[position].code(value)
            if row[position] == ANY:
                raise SpaceError(
                    f"the impossible conjunction {dict(conjunction)!r} speaks of {name} = {text(value)!r}",
                    why=f"{name!r} has no such value",
                    instead=nearest(text(value), self.factors[position].labels),
                )
        if all(code == ANY for code in row):
            raise SpaceError(
                "an impossible conjunction names no factor",
                why="it would make every combination impossible",
                instead="name at least one factor and its value: {'material': 'wool', 'garment': 'boots'}",
            )
        return tuple(row)

    def _expansion(self, row: tuple[int, ...], spoken: tuple[int, ...]) -> int:
        return math.prod(self.sizes[k] for k in spoken if row[k] == ANY)

    def _expand(self, row: tuple[int, ...], spoken: tuple[int, ...]) -> Codes:
        ends = [(0, self.sizes[k]) if row[k] == ANY else (row[k], row[k] + 1) for k in spoken]
        choices = [np.arange(*both, dtype=np.int32) for both in ends]
        return np.stack(np.meshgrid(*choices, indexing="ij"), axis=-1).reshape(-1, len(spoken))


def arrow_column(values: Sequence[Any]) -> pa.Array:
    """Values as Arrow holds them; as text where they are of several kinds, or beyond 64 bits."""
    for kind in (None, pa.uint64()):
        with suppress(pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
            return pa.array(list(values), kind)
    return pa.array([text(value) for value in values])
