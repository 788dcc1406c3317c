"""What the seen combinations leave open under an additive rule, and how rows that are added close it again.

The open directions are written in coordinates that are *open values*: a value v of factor k, against the value that one
seen combination, the base, has there. Collecting the base with v in place of its own value closes that coordinate and
no other, so without obstacles the plan can be read off. Any other row closes a mixture of them, which is solved for
exactly, modulo a prime. Our own: a matroid basis over rows of a space that cannot be listed is in no library.

What a combination ties together: islands of values become one, and their combinations comparable.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from recombine.base.errors import TableError
from recombine.data.support import Support
from recombine.numerics.additive_design import AdditiveDesign, offsets
from recombine.numerics.groups import Codes, Ints, Numbers
from recombine.numerics.modular_arithmetic import PRIMES, Echelon, product
from recombine.numerics.null_space import NullSpace, TooSparse, null_space
from recombine.numerics.value_graph import components
from recombine.verbs.audit.determinacy import determinacy
from recombine.verbs.audit.determined_space import NO_ISLAND, Determinacy

VECTORS = 4  # random null vectors modulo one prime: as many as an audit takes modulo its two
_BATCH = 64  # candidates that are eliminated at a time
_MOST_FORM_ENTRIES = 3 * 10**8  # of the table of linear forms: 2.4 GB


@dataclass(frozen=True, eq=False)
class OpenDirections:
    """The open directions of a support. Legend: d open values, v values of all factors together."""

    support: Support
    today: Determinacy
    base: Codes  # (factors,) the seen combination that the others are compared with
    null: NullSpace
    seed: int

    @classmethod
    def of(cls, support: Support, *, seed: int) -> "OpenDirections":
        """Find the open directions, from the best connected combination of the largest island."""
        today = determinacy(support, seed=seed)
        anchor = _best_connected(support, today)
        design = AdditiveDesign(support.codes, support.space.sizes)
        rows, nodes = design.columns, design.width
        for prime in PRIMES:
            try:
                null = null_space(rows, nodes, anchor=anchor, prime=prime, seed=seed)
            except TooSparse as error:
                raise TableError(
                    f"the {len(rows):,} combinations over {nodes:,} values hang together too loosely to be planned for",
                    why="what they leave open has too many dimensions for this machine's memory",
                    instead="plan for fewer factors at a time, group rare values, or leave out those that hardly occur",
                ) from error
            if len(null.coordinates) == nodes - today.rank:  # nearly always: the prime divides no determinant
                break
        return cls(support, today, support.codes[anchor].copy(), null, seed)

    @cached_property
    def offsets(self) -> Ints:
        """Where each factor's values start among all."""
        return offsets(self.support.space.sizes)

    @property
    def open_values(self) -> Ints:
        """The values that are open, a coordinate each: (d,)."""
        return self.null.coordinates[len(self.base) - 1 :]

    @cached_property
    def factor(self) -> Ints:
        """The factor of each open value."""
        return np.asarray(np.searchsorted(self.offsets, self.open_values, side="right") - 1)

    @cached_property
    def one_change(self) -> Codes:
        """For each open value the base with that value in it: collecting it closes that coordinate alone."""
        rows = np.repeat(self.base[None], len(self.open_values), axis=0).astype(np.int32)
        rows[np.arange(len(rows)), self.factor] = self.open_values - self.offsets[self.factor]
        return rows

    def null_vectors(self, coordinates: Ints) -> Ints:
        """Null vectors with the given numbers at the open values, against the base: (v, vectors).

        A shift of whole factors that adds up to zero changes no combination, so each vector gets a random one.
        """
        rng = np.random.default_rng(self.seed)
        width, vectors = len(self.base), coordinates.shape[1]
        shift = rng.integers(0, self.null.prime, size=(width, vectors))
        shift[-1] = -shift[:-1].sum(axis=0)
        everywhere = np.concatenate([shift[:-1], coordinates + shift[self.factor]])
        return self.null.at(np.mod(everywhere, self.null.prime))

    def forms(self, chosen: Ints) -> Numbers:
        """Every value as a linear form in some of the open ones, all others being closed: (v, chosen)."""
        if int(self.offsets[-1]) * len(chosen) > _MOST_FORM_ENTRIES:
            raise TooSparse
        given = np.zeros((len(self.null.coordinates), len(chosen)), dtype=np.int64)
        given[len(self.base) - 1 + chosen, np.arange(len(chosen))] = 1
        return self.null.at(given).astype(np.float64)

    def images(self, codes: Codes, forms: Numbers) -> Numbers:
        """What each combination would close, in the coordinates of the forms."""
        rows = codes.astype(np.int64) + self.offsets[:-1]
        total = forms[rows[:, 0]]
        for column in rows.T[1:]:
            total = total + forms[column]
        return np.asarray(np.mod(total, self.null.prime))

    def independent(self, codes: Codes, forms: Numbers) -> tuple[Ints, Echelon]:
        """Of candidates in the order of their price, those that close something that the ones before leave open.

        Taking every such candidate is the cheapest way to close all that can be closed: rows form a matroid.
        """
        rng = np.random.default_rng(self.seed)
        prime = self.null.prime
        echelon = Echelon(forms.shape[1], prime)
        taken: list[int] = []
        alive = np.arange(len(codes))
        while len(alive) and echelon.free.any():
            values = product(forms, echelon.sample(2, rng), prime)
            alive = alive[self.images(codes[alive], values).any(axis=1)]  # what is closed once stays closed
            batch, alive = alive[:_BATCH], alive[_BATCH:]
            taken += batch[echelon.take(self.images(codes[batch], forms))].tolist()
        return np.array(taken, dtype=np.int64), echelon

    def determinacy(self, lines: Codes, coordinates: Ints) -> Determinacy:
        """What is determined with some lines added; `given` are random null vectors that they leave open, at the open
        values.
        """
        flat = len(self.base) == 2  # islands are all there is: every signature would be the same
        values = np.zeros((int(self.offsets[-1]), VECTORS), dtype=np.int64) if flat else self.null_vectors(coordinates)
        prime = self.null.prime
        labels = self._labels(lines)
        seen = labels != NO_ISLAND
        rank = self.today.rank + len(lines)
        floor = (len(self.base) - 1) * (int(labels.max()) + 1)
        cuts = self.offsets[1:-1]
        return Determinacy(
            islands=tuple(np.split(labels, cuts)),
            signatures=tuple(np.split(values, cuts)),
            moduli=np.full(VECTORS, prime),
            rank=rank,
            deficit=int(seen.sum()) - rank - floor,
        )

    def _labels(self, lines: Codes) -> Ints:
        """The island of each value once the lines are added: they link islands, and values never seen."""
        before = np.concatenate(self.today.islands)
        never = before == NO_ISLAND
        start = before.copy()
        start[never] = self.today.island_count + np.arange(int(never.sum()))
        links = start[lines.astype(np.int64) + self.offsets[:-1]]
        joined = components(links, int(start.max()) + 1)[start]
        touched = np.zeros(len(before), dtype=bool)
        touched[(lines.astype(np.int64) + self.offsets[:-1]).ravel()] = True
        alone = never & ~touched
        return np.where(alone, NO_ISLAND, _renumber(joined, ~alone))


def _renumber(labels: Ints, kept: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Ints:
    """Labels numbered from 0 without gaps, among those that are kept."""
    used = np.zeros(int(labels.max()) + 1, dtype=bool)
    used[labels[kept]] = True
    return (np.cumsum(used) - 1)[labels]


def _best_connected(support: Support, solved: Determinacy) -> int:
    """The combination of the largest island whose values occur in most others; of equal ones the most frequent."""
    home = solved.islands[0][support.codes[:, 0]]
    inside = np.flatnonzero(home == np.bincount(home).argmax())
    links = np.zeros(len(inside))
    for k, size in enumerate(support.space.sizes):
        links += np.bincount(support.codes[:, k], minlength=size)[support.codes[inside, k]]
    return int(inside[np.lexsort((-support.counts[inside], -links))[0]])


_MOST_STEPS = 2_000  # lines whose order is looked for: the first ones matter
_MOST_WORK = 2 * 10**8  # values looked at on the way: some seconds


def order_by_joining(directions: OpenDirections, codes: Codes, prices: Numbers) -> Ints:
    """An order of candidates: those that join most first, then those that join nothing, as they came.

    A line ties the islands of its values together. Within an island of n_k values of each factor k about Π n_k
    combinations are comparable, so a line gains that product for the joined island less those of its parts. The largest
    gain for its price comes first. It is an order, not a proof: inside islands it is blind.
    """
    island, sizes = islands_of(directions)
    ends = island[codes.astype(np.int64) + directions.offsets[:-1]]
    alive = np.flatnonzero((ends != ends[:, :1]).any(axis=1))
    order: list[int] = []
    steps = min(_MOST_STEPS, _MOST_WORK // max(codes.size, 1))
    while len(alive) and len(order) < steps:
        gain, merged = joining_gains(ends[alive], sizes)
        best = int(np.argmax(gain / np.maximum(prices[alive], 1e-9)))
        chosen = alive[best]
        order.append(int(chosen))
        parts = np.unique(ends[chosen])
        sizes[parts[0]] = merged[best]
        ends[np.isin(ends, parts)] = parts[0]
        alive = alive[(ends[alive] != ends[alive][:, :1]).any(axis=1)]
    rest = np.setdiff1d(np.arange(len(codes)), order)
    return np.concatenate([np.array(order, dtype=np.int64), rest])


def islands_of(directions: OpenDirections) -> tuple[Ints, Numbers]:
    """The island of each value, one of its own for a value never seen, and how many values of each factor it holds."""
    island = np.concatenate(directions.today.islands)
    never = island < 0
    island = island.copy()
    island[never] = directions.today.island_count + np.arange(int(never.sum()))
    width = len(directions.base)
    sizes = np.zeros((int(island.max()) + 1, width))
    factor = np.repeat(np.arange(width), np.diff(directions.offsets))
    np.add.at(sizes, (island, factor), 1.0)
    return island, sizes


def joining_gains(ends: Ints, sizes: Numbers) -> tuple[Numbers, Numbers]:
    """What each candidate makes comparable, and the sizes of the island that it makes."""
    merged = np.zeros((len(ends), sizes.shape[1]))
    parts = np.zeros(len(ends))
    for k in range(ends.shape[1]):
        new = (ends[:, :k] != ends[:, k : k + 1]).all(axis=1)
        mine = sizes[ends[:, k]] * new[:, None]
        merged += mine
        parts += mine.prod(axis=1)
    # of equal gains the one that reaches more values, too little to outweigh one combination
    return merged.prod(axis=1) - parts + 1e-6 * merged.sum(axis=1), merged
