"""Which unseen combinations are fixed by the seen ones, where some factors are sets: by the incidence of elements.

What a combination adds up is the effects of all its elements and ordinary values, and a constant where no ordinary
factor holds the level. It is determined iff that row sums to zero under every vector that no seen row contradicts
(`numerics.null_space`, exactly as for ordinary factors). What differs:

- *Islands bound nothing.* Two triangles of pairs that share no element fix every effect in both, and so every pair
  across them. Islands are for words: these elements were only ever given with those.
- *A set has many signatures.* How many sets of each sum there are follows from how many elements share a signature: the
  sums of all multisets of these classes, each as often as its elements can be chosen. Where those are too many, sets of
  each size are drawn instead, and the count is an estimate (`exact` says so).
- *One size alone.* Where all sets are equally large and no ordinary factor stands beside them, the level cannot be told
  from the mean effect: sets of that size may all be fixed, and none of any other size is.
"""

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from recombine.base.errors import TableError
from recombine.data.sets import Sets
from recombine.data.support import Support
from recombine.numerics.effects import Effects
from recombine.numerics.groups import Codes, Ints, number
from recombine.numerics.modular_arithmetic import PRIMES
from recombine.numerics.null_space import TooSparse, null_vectors
from recombine.numerics.rows import IncidenceRows
from recombine.verbs.audit.determined_space import NO_ISLAND, Determinacy, Grouped, count_vanishing, grouped_rows

_MOST_SUMS = 4 * 10**6  # of classes of one set factor
_DRAWN = 20_000  # sets of each size, where they are not counted: shares have a standard error of 0.35 % at most


@dataclass(frozen=True, eq=False)
class SetDeterminacy(Determinacy):
    """The same as `Determinacy`, by effects: `islands[k]` and `signatures[k]` are those of a set's elements.

    Where a constant is learnt, its signature stands after those of the factors.
    """

    effects: Effects = field(default_factory=lambda: Effects(()))

    @cached_property
    def _signature(self) -> Ints:
        """(w, vectors) Of all effects."""
        return np.concatenate(self.signatures)

    @cached_property
    def _never(self) -> Ints:
        """(w,) Effects that no seen combination holds."""
        unseen = np.concatenate(self.islands) == NO_ISLAND
        return np.concatenate([unseen, np.zeros(int(self.effects.constant), dtype=bool)]).astype(np.int64)

    def novel(self, codes: Codes) -> npt.NDArray[np.bool_]:
        """Which of these combinations hold a value or an element that was never seen."""
        return np.asarray((codes < 0).any(axis=1) | (self.effects.rows(codes).sums(self._never) > 0))

    def one_island(self, codes: Codes) -> npt.NDArray[np.bool_]:
        """Which of these combinations lie wholly within one island."""
        rows = self.effects.rows(codes)
        island = np.concatenate([*self.islands, np.full(int(self.effects.constant), -2)])[rows.columns]
        held = island != -2  # the constant is everywhere
        low, high = np.full(len(rows), np.iinfo(np.int64).max), np.full(len(rows), -1)
        np.minimum.at(low, rows.owners[held], island[held])
        np.maximum.at(high, rows.owners[held], island[held])
        return np.asarray(~self.novel(codes) & ((low == high) | (high < 0)))

    def home(self, codes: Codes) -> Ints:
        """The island of each seen combination, that of its first value or element; -1 where it has none."""
        rows = self.effects.rows(codes)
        island = np.concatenate([*self.islands, np.full(int(self.effects.constant), NO_ISLAND)])
        return np.asarray(island[rows.columns[rows.starts[:-1]]])

    def determined(self, codes: Codes) -> npt.NDArray[np.bool_]:
        """Which of these combinations, seen ones included, are fixed by the seen ones."""
        total = self.effects.rows(codes).sums(self._signature)
        return np.asarray(~self.novel(codes) & ~np.mod(total, self.moduli).any(axis=1))

    @cached_property
    def _seen(self) -> list[Ints]:
        """Of each factor the effects that were seen."""
        return [np.flatnonzero(island >= 0) for island in self.islands]

    @property
    def of_seen_values(self) -> int:
        """How many combinations hold no value or element that was never seen."""
        return math.prod(kind.ways(len(seen)) for kind, seen in zip(self.effects.kinds, self._seen, strict=True))

    @cached_property
    def _counted(self) -> tuple[int, bool]:
        """How many are determined, and whether that was counted."""
        if not self._signature.any():
            return self.of_seen_values, True
        try:
            return count_vanishing(self._sums(), self.moduli), True
        except (TableError, _TooManySums):
            return self._estimated(), False

    def count(self) -> int:
        """How many combinations of seen values are determined, the seen ones included."""
        return self._counted[0]

    @property
    def exact(self) -> bool:
        """Whether `count` is one, and no estimate."""
        return self._counted[1]

    def count_of_size(self, size: int) -> int:
        """How many sets of one size are determined, where the one factor is a set."""
        only = [kind.of_size(size) for kind in self.effects.kinds if isinstance(kind, Sets)]
        return replace(self, effects=Effects(only)).count()

    def count_impossible(self, support: Support) -> tuple[int, int]:
        """Of the impossible combinations: how many would be determined, and how many hold a value never seen.

        What is impossible speaks of ordinary factors alone; each such cell stands for all sets beside it.
        """
        spoken, cells = support.space.impossible_cells
        if not spoken:
            return 0, 0
        rest = [k for k in range(len(self.islands)) if k not in spoken]
        kinds = self.effects.kinds
        seen_rest = math.prod(kinds[k].ways(len(self._seen[k])) for k in rest)
        all_rest = math.prod(kinds[k].could for k in rest)
        stray = np.stack([self.islands[k][cells[:, c]] == NO_ISLAND for c, k in enumerate(spoken)]).any(axis=0)
        novel = int(stray.sum()) * all_rest + int((~stray).sum()) * (all_rest - seen_rest)
        fixed = np.mod(sum(self.signatures[k][cells[~stray, c]] for c, k in enumerate(spoken)), self.moduli)
        try:
            lists = [grouped_rows(fixed), *(self._factor_sums(k) for k in rest)]
            return count_vanishing(sorted(lists, key=lambda one: -len(one[1])), self.moduli), novel
        except (TableError, _TooManySums):  # as large a part of them as of all
            return round(self._counted[0] * len(fixed) * seen_rest / max(self.of_seen_values, 1)), novel

    def _sums(self) -> list[Grouped]:
        """What each factor's values may add: a list of signatures for each, the longest first."""
        lists = [self._factor_sums(k) for k in range(len(self.effects.kinds))]
        if self.effects.constant:
            lists.append((self.signatures[-1], np.ones(1, dtype=np.int64)))
        return sorted(lists, key=lambda one: -len(one[1]))

    def _factor_sums(self, k: int) -> Grouped:
        """What the values of one factor may add."""
        whole: Any = object if self.of_seen_values >= 2**62 else np.int64  # Python's own numbers have no bound
        kind = self.effects.kinds[k]
        values, counts = grouped_rows(self.signatures[k][self._seen[k]])
        if isinstance(kind, Sets):
            values, counts = _set_sums(values, counts, kind.sizes, self.moduli)
        return values, counts.astype(whole)

    def _estimated(self) -> int:
        """From sets drawn by size: nearly all sets are of the largest, so a size is a stratum of its own."""
        rng = np.random.default_rng(0)
        total = 0.0
        sizes = [kind.sizes if isinstance(kind, Sets) else range(1) for kind in self.effects.kinds]
        for chosen in np.ndindex(*(len(one) for one in sizes)):
            ways, columns = 1, list[Ints]()
            for kind, seen, place, several in zip(self.effects.kinds, self._seen, chosen, sizes, strict=True):
                if isinstance(kind, Sets):
                    only = kind.of_size(several[place])
                    ways *= only.ways(len(seen))
                    columns.append(_signature_of(only, seen, self.signatures[len(columns)], rng))
                else:
                    ways *= len(seen)
                    columns.append(self.signatures[len(columns)][rng.choice(seen, _DRAWN)])
            if ways:
                summed = sum(columns) + (self.signatures[-1] if self.effects.constant else 0)
                total += ways * float((~np.mod(summed, self.moduli).any(axis=1)).mean())
        return round(total)


class _TooManySums(Exception):  # noqa: N818 - a signal, not a mistake of the user
    """The classes make more sums than are held in memory."""


def _signature_of(sets: Sets, among: Ints, signature: Ints, rng: np.random.Generator) -> Ints:
    """(drawn, vectors) The sums of sets of one size that were drawn."""
    if sets.smallest > len(among):
        return np.zeros((_DRAWN, signature.shape[1]), dtype=np.int64)
    codes = sets.draw(_DRAWN, among, rng)
    return np.asarray(sets.rows(codes).sums(signature))


def _set_sums(values: Ints, counts: Ints, sizes: range, moduli: Ints) -> Grouped:
    """The sums that sets of some sizes have, each with how many sets have it; equal sums may stand more than once.

    Each multiset of classes is met once: its classes in order, each with how many of its elements are taken.

    >>> values, counts = np.array([[0], [3]]), np.array([2, 1])
    >>> sums, many = _set_sums(values, counts, range(0, 3), np.array([5]))
    >>> sorted(zip(sums.ravel().tolist(), many.tolist()))
    [(0, 1), (0, 1), (0, 2), (3, 1), (3, 2)]
    """
    largest = min(sizes.stop - 1, int(counts.sum()))
    if math.comb(len(values) + largest, largest) > _MOST_SUMS:
        raise _TooManySums
    whole: Any = object if math.comb(int(counts.sum()), min(largest, int(counts.sum()) // 2)) >= 2**62 else np.int64
    last, size = np.full(1, -1), np.zeros(1, dtype=np.int64)
    total, many = np.zeros((1, values.shape[1]), dtype=np.int64), np.ones(1, dtype=whole)
    found = [(size, total, many)]
    while len(last) and largest:
        parts = []
        for taken in range(1, largest + 1):
            chosen = np.array([math.comb(int(count), taken) for count in counts], dtype=whole)
            state, new = _pairs(last, np.flatnonzero(size + taken <= largest), len(values))
            able = counts[new] >= taken
            state, new = state[able], new[able]
            summed = np.mod(total[state] + taken * values[new], moduli)
            parts.append((new, size[state] + taken, summed, many[state] * chosen[new]))
        last, size, total, many = (np.concatenate(column) for column in zip(*parts, strict=True))
        found.append((size, total, many))
    size, total, many = (np.concatenate(column) for column in zip(*found, strict=True))
    kept = size >= sizes.start
    return total[kept], many[kept]


def _pairs(last: Ints, states: Ints, classes: int) -> tuple[Ints, Ints]:
    """Every one of some states with each class after its last one."""
    lengths = classes - 1 - last[states]
    state = np.repeat(states, lengths)
    starts = np.repeat(last[states] + 1 - (np.cumsum(lengths) - lengths), lengths)
    return state, starts + np.arange(len(state))


def set_determinacy(support: Support, *, seed: int = 0) -> SetDeterminacy:
    """What the seen combinations of sets and ordinary values fix.

    >>> import recombine
    >>> pairs = {"pair": ["a+b", "b+c", "a+c"]}  # a triangle, and nothing that tells the level
    >>> found = set_determinacy(recombine.read(pairs, sets={"genes": "pair:+"}))
    >>> found.rank, found.count(), found.deficit
    (3, 3, 1)
    """
    effects = support.space.effects
    rows = effects.rows(support.codes)
    nodes, local = number(rows.columns, rows.width)
    held = IncidenceRows(rows.starts, local, len(nodes))
    signatures, dimension = _null_signatures(held, seed)
    every = np.zeros((rows.width, signatures.shape[1]), dtype=np.int64)
    every[nodes] = signatures
    cuts = effects.offsets[1:-1]
    return SetDeterminacy(
        islands=_islands(rows, effects),
        signatures=tuple(np.split(every, cuts)),
        moduli=np.repeat(np.array(PRIMES[:2]), signatures.shape[1] // 2),
        rank=len(nodes) - dimension,
        deficit=dimension,
        effects=effects,
    )


def _null_signatures(rows: IncidenceRows, seed: int) -> tuple[Ints, int]:
    """Null vectors modulo two primes; zeros where one prime leaves nothing open, which is a proof."""
    try:
        first = null_vectors(rows, prime=PRIMES[0], seed=seed, one_hot=False)
        if not first.dimension:
            return np.zeros((rows.width, 2), dtype=np.int64), 0
        second = null_vectors(rows, prime=PRIMES[1], seed=seed + 1, one_hot=False)
    except TooSparse as error:
        raise TableError(
            f"the {len(rows):,} combinations of {rows.width:,} elements and values hang together too loosely to be "
            "solved exactly",
            why="what they leave open has too many dimensions for this machine's memory",
            instead="leave out elements that hardly occur",
        ) from error
    if first.dimension != second.dimension:  # pragma: no cover - one prime in four million divides a determinant
        return _null_signatures(rows, seed + 2)
    return np.concatenate([first.values, second.values], axis=1), first.dimension


def _islands(rows: IncidenceRows, effects: Effects) -> tuple[Ints, ...]:
    """The island of each effect, -1 for one that was never seen: effects that a chain of seen rows links."""
    width = rows.width - int(effects.constant)
    kept = rows.columns < width
    lengths = np.bincount(rows.owners[kept], minlength=len(rows))
    without = IncidenceRows(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64), rows.columns[kept], width)
    labels = without.components()
    seen = without.counts() > 0
    found = np.full(width, NO_ISLAND, dtype=np.int64)
    found[seen] = number(labels[seen], width)[1]
    return tuple(np.split(found, effects.offsets[1 : len(effects.kinds)]))
