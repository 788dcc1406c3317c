"""What a kind of factor has to say for itself, so that the additive rule, its null space and its leverages know it.

A combination keeps one code for each factor, whatever the kind: groups, look-ups and counts never ask further. What
differs is what a value *adds up*: an ordinary value has an effect of its own, a set has those of its elements. That is
a row of ones (`rows`), and all of linear algebra stands on it. `Single` is the ordinary kind; sets are in `data.sets`;
a tree of values, or numbers with neighbours, would be a third file with these methods.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from recombine.numerics.groups import Codes, Ints, Numbers
from recombine.numerics.rows import IncidenceRows

if TYPE_CHECKING:
    from scipy.sparse import csr_array


_AT_A_TIME = 1 << 20  # pairs of combinations that are compared at a time


class Kind(Protocol):
    """One factor of a design."""

    @property
    def effects(self) -> int:
        """How many numbers the additive rule learns for it."""

    @property
    def could(self) -> int:
        """How many values it could take, exactly, seen or not: never listed."""

    @property
    def parts(self) -> int:
        """How many effects a value that was read has at most: so many two values can share."""

    @property
    def exclusive(self) -> bool:
        """Whether a value has exactly one effect, so that the factor holds the level of the answers."""

    def ways(self, effects: int) -> int:
        """How many values so many of its effects make."""

    def rows(self, codes: Any) -> IncidenceRows:
        """The effects that each value adds up; none for the code -1."""

    def every(self, among: Ints) -> Codes:
        """All values that some of the effects make; for few enough."""

    def draw(self, number: int, among: Ints, rng: np.random.Generator) -> Codes:
        """So many of them, drawn at random."""

    def changes(self, codes: Any, control: int) -> tuple[Ints, Codes]:
        """What tells each value from a control, change by change: whose it is, and the value with it alone."""

    def exchanged(self, codes: Codes, new: Ints) -> Codes:
        """Values with each effect exchanged for a new one; -1 for what was not read."""


@dataclass(frozen=True)
class Single:
    """An ordinary factor: each value has one effect.

    >>> Single(3).rows(np.array([2, 0, -1])).lengths.tolist()
    [1, 1, 0]
    """

    size: int
    exclusive: bool = True
    parts: int = 1

    @property
    def effects(self) -> int:
        """One for each value."""
        return self.size

    @property
    def could(self) -> int:
        """Its values."""
        return self.size

    def rows(self, codes: Any) -> IncidenceRows:
        """The value itself."""
        known = np.asarray(codes) >= 0
        if known.all():
            return IncidenceRows.equal(np.asarray(codes, dtype=np.int64)[:, None], self.size)
        starts = np.concatenate([[0], np.cumsum(known)]).astype(np.int64)
        return IncidenceRows(starts, np.asarray(codes, dtype=np.int64)[known], self.size)

    def ways(self, effects: int) -> int:
        """One for each."""
        return effects

    def every(self, among: Ints) -> Codes:
        """These values."""
        return among.astype(np.int32)

    def draw(self, number: int, among: Ints, rng: np.random.Generator) -> Codes:
        """Some of these values."""
        return rng.choice(among, size=number).astype(np.int32)

    def changes(self, codes: Any, control: int) -> tuple[Ints, Codes]:
        """Another value is one change.

        >>> [part.tolist() for part in Single(3).changes(np.array([2, 0]), 0)]
        [[0], [2]]
        """
        owners = np.flatnonzero(np.asarray(codes) != control)
        return owners, np.asarray(codes)[owners]

    def exchanged(self, codes: Codes, new: Ints) -> Codes:
        """The new values."""
        return new[codes].astype(np.int32)


@dataclass(frozen=True, eq=False)
class Effects:
    """The effects of several factors side by side; and a constant after them, where no factor holds the level.

    >>> Effects((Single(2), Single(3))).rows(np.array([[1, 2]])).columns.tolist()
    [1, 4]
    """

    kinds: Sequence[Kind]

    @cached_property
    def constant(self) -> bool:
        """Whether a number is learnt that every combination adds: the answer of the empty set."""
        return not any(kind.exclusive for kind in self.kinds)

    @cached_property
    def offsets(self) -> Ints:
        """Where each factor's effects start, where the constant does, and how many there are."""
        return np.cumsum([0, *(kind.effects for kind in self.kinds), int(self.constant)]).astype(np.int64)

    @property
    def width(self) -> int:
        """How many numbers the rule learns."""
        return int(self.offsets[-1])

    def rows(self, codes: Codes) -> IncidenceRows:
        """What each combination adds up."""
        found = self.kinds[0].rows(codes[:, 0])
        for k, kind in enumerate(self.kinds[1:], 1):
            found = found.beside(kind.rows(codes[:, k]))
        if not self.constant:
            return found
        return found.beside(IncidenceRows.equal(np.zeros((len(codes), 1), dtype=np.int64), 1))

    def distances(self, asked: Codes, seen: Codes) -> Iterator[tuple[slice, Numbers]]:
        """By how many values and elements each combination differs from each seen one, some of those asked at a time.

        >>> [found.tolist() for _, found in Effects((Single(2), Single(3))).distances(np.array([[1, 2]]), np.eye(2))]
        [[[1.0, 2.0]]]
        """
        # a value that differs is one less and one more, an element is one of them
        weight = np.concatenate([np.full(kind.effects, 0.5 if kind.exclusive else 1.0) for kind in self.kinds])
        left, right = self._incidence(asked), self._incidence(seen.astype(np.int32))
        mine, theirs = left @ weight, right @ weight
        for part, shared in _products(left.multiply(weight[None]).tocsr(), right):
            yield part, mine[part, None] + theirs[None] - 2 * shared

    def shared(self, asked: Codes, seen: Codes) -> Iterator[tuple[slice, Numbers]]:
        """How many values and elements each combination has in common with each seen one, some at a time.

        >>> [found.tolist() for _, found in Effects((Single(2), Single(3))).shared(np.array([[1, 2]]), np.eye(2))]
        [[[1.0, 0.0]]]
        """
        return _products(self._incidence(asked), self._incidence(seen.astype(np.int32)))

    def sizes(self, codes: Codes) -> Ints:
        """(n,) Of how many values and elements each combination is; of as many as can be shared where one is unknown.

        >>> Effects((Single(2), Single(3))).sizes(np.array([[1, -1]])).tolist()
        [2]
        """
        own = [
            np.where(codes[:, k] < 0, kind.parts, kind.rows(codes[:, k]).lengths) for k, kind in enumerate(self.kinds)
        ]
        return np.asarray(np.sum(own, axis=0), dtype=np.int64)

    def elements(self, codes: Codes) -> IncidenceRows | None:
        """The elements of each combination's sets; None where no factor's values are sets."""
        found: IncidenceRows | None = None
        for k, kind in enumerate(self.kinds):
            if not kind.exclusive:
                found = kind.rows(codes[:, k]) if found is None else found.beside(kind.rows(codes[:, k]))
        return found

    def _incidence(self, codes: Codes) -> "csr_array":
        """The design of some combinations without the constant, which all of them share."""
        return self.rows(codes).sparse()[:, : self.width - int(self.constant)]

    @cached_property
    def apart(self) -> Ints:
        """Columns no two of which stand in one row: the largest ordinary factor's, or the constant."""
        ordinary = [k for k, kind in enumerate(self.kinds) if kind.exclusive] or [len(self.kinds)]
        largest = max(ordinary, key=lambda k: self.offsets[k + 1] - self.offsets[k])
        return np.arange(self.offsets[largest], self.offsets[largest + 1])


def _products(left: "csr_array", right: "csr_array") -> Iterator[tuple[slice, Numbers]]:
    """Each row of one matrix times each of another, some rows at a time, so that the table of pairs stays small."""
    across = right.T.tocsr()
    step = max(1, _AT_A_TIME // max(right.shape[0], 1))
    for start in range(0, left.shape[0], step):
        part = slice(start, start + step)
        yield part, (left[part] @ across).toarray()


class Design(Protocol):
    """The design of some seen combinations, as solvers ask of it: `AdditiveDesign`, or the incidence of sets."""

    @property
    def width(self) -> int:
        """How many columns it has."""

    @property
    def apart(self) -> Ints:
        """Columns no two of which stand in one row: they are eliminated exactly."""

    def rows(self, codes: Codes) -> IncidenceRows:
        """The rows of any combinations."""

    def sparse_gram(self) -> "csr_array":
        """A'A of the seen ones."""


@dataclass(frozen=True, eq=False)
class IncidenceDesign:
    """The design of combinations some of whose factors are sets."""

    codes: Codes
    effects: Effects

    @property
    def width(self) -> int:
        """How many columns it has."""
        return self.effects.width

    @property
    def apart(self) -> Ints:
        """Columns no two of which stand in one row."""
        return self.effects.apart

    def rows(self, codes: Codes) -> IncidenceRows:
        """The rows of any combinations."""
        return self.effects.rows(codes)

    @cached_property
    def seen(self) -> IncidenceRows:
        """Those of the seen ones."""
        return self.rows(self.codes)

    def sparse_gram(self) -> "csr_array":
        """A'A of the seen ones."""
        return self.seen.sparse_gram()
