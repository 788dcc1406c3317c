"""What can be collected: the possible combinations that were not seen and have a price."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from recombine.algebra.groups import ANY, Codes, Ints, Numbers, group
from recombine.auditing.unseen import unseen_combinations
from recombine.errors import SpaceError
from recombine.planning.costs import Costs
from recombine.planning.plausibility import Plausibility
from recombine.tables.space import Space
from recombine.tables.support import Support

MOST_LISTED = 2 * 10**5  # combinations of a space up to which each is a candidate
_MOST_CELLS = 2 * 10**6  # what cannot be collected, written out


@dataclass(frozen=True, eq=False)
class Collectable:
    """A support, what may be added to it, and for how much."""

    support: Support
    costs: Costs
    ranked: bool = True  # of what is worth the same, the more plausible comes first

    def plausible(self, codes: Codes) -> Numbers:
        """How plausible each combination is, told by the company that its values keep; 0 for all if not asked for."""
        return self._plausibility.of(codes) if self.ranked else np.zeros(len(codes))

    @cached_property
    def _plausibility(self) -> Plausibility:
        return Plausibility(self.support)

    @property
    def tells_plausible(self) -> bool:
        """Whether plausibility is asked for and can be told."""
        return self.ranked and self._plausibility.affordable

    @property
    def space(self) -> Space:
        """What could occur."""
        return self.support.space

    @property
    def listable(self) -> bool:
        """Whether the space is small enough to look at every combination."""
        return self.space.product <= MOST_LISTED

    def price(self, codes: Codes) -> Numbers:
        """What each combination costs; infinity where it is impossible or cannot be collected."""
        return np.where(self.space.is_impossible(codes), math.inf, self.costs.to_collect(codes))

    def seen(self, codes: Codes) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Which of these combinations were seen."""
        return np.asarray(self.support.groups(range(codes.shape[1])).lookup(codes) >= 0)

    @cached_property
    def possible_unseen(self) -> Codes:
        """Every possible combination that was not seen; only for spaces that can be listed."""
        return self.unseen(listed=self.space.product, drawn=0, seed=0)[0]

    def unseen(self, *, listed: int, drawn: int, seed: int) -> tuple[Codes, bool]:
        """The possible combinations that were not seen, and whether they are only a sample of them."""
        values = [np.arange(size) for size in self.space.sizes]
        return unseen_combinations(self.support, values, listed=listed, drawn=drawn, seed=seed)

    @cached_property
    def forbidden(self) -> "Forbidden":
        """What cannot be added, written out over the factors that it depends on."""
        return Forbidden.of(self)


@dataclass(frozen=True, eq=False)
class Forbidden:
    """The combinations that cannot be added, as cells over a few factors, each once.

    Whether values for some factors can be completed is then a count: they cannot iff as many cells agree with them as
    there are ways to fill in the rest.
    """

    sizes: tuple[int, ...]
    spoken: tuple[int, ...]
    cells: Codes  # (cells, all factors); ANY where a factor is not spoken of

    @classmethod
    def of(cls, collectable: Collectable) -> "Forbidden":
        """Write out the impossible conjunctions and those without a price."""
        sizes = collectable.space.sizes
        priced = collectable.costs.patterns
        lines = [np.array(row, dtype=np.int32) for row in collectable.space.impossible]
        lines += list(collectable.costs.uncollectable)
        if not lines:
            return cls(sizes, (), np.zeros((0, len(sizes)), dtype=np.int32))
        named = (np.array(lines) != ANY).any(axis=0)
        if len(collectable.costs.uncollectable):  # a more specific price may make an exception
            named |= (priced != ANY).any(axis=0)
        named[0] |= bool((np.array(lines) == ANY).all(axis=1).any())  # "nothing at all" is spread over one factor
        spoken = tuple(np.flatnonzero(named).tolist())
        total = sum(math.prod(sizes[k] for k in spoken if row[k] == ANY) for row in lines)
        if total > _MOST_CELLS:
            raise SpaceError(
                f"what cannot be collected stands for {total:,} cells",
                why=f"it is written out over {len(spoken)} factors, {_MOST_CELLS:,} cells at most",
                instead="declare it over fewer factors, or plan for fewer factors at a time",
            )
        cells = np.unique(np.concatenate(list(_expanded(lines, spoken, sizes))), axis=0)
        dense = np.where(cells == ANY, 0, cells)  # whether it may be collected does not depend on the others
        return cls(sizes, spoken, cells[np.isinf(collectable.price(dense))])

    def completions(self, factors: set[int]) -> int:
        """In how many ways the spoken factors outside these can be filled in."""
        return math.prod(self.sizes[k] for k in self.spoken if k not in factors)

    def infeasible(self, factors: tuple[int, ...]) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """For every conjunction of some factors, in row-major order, whether nothing that holds it can be added."""
        total = math.prod(self.sizes[k] for k in factors)
        inside = tuple(k for k in factors if k in self.spoken)
        if not self.spoken or not len(self.cells):
            return np.zeros(total, dtype=bool)
        if not inside:
            return np.full(total, len(self.cells) == self.completions(set()))
        groups = group(self.cells, sizes=self.sizes, factors=inside)
        every = np.stack(np.unravel_index(np.arange(total), [self.sizes[k] for k in factors]), axis=1)
        wide = np.zeros((total, len(self.sizes)), dtype=np.int32)
        wide[:, list(factors)] = every
        place = groups.lookup(wide)
        held = np.where(place >= 0, groups.combinations[place], 0)
        return np.asarray(held == self.completions(set(inside)))


def _expanded(lines: list[Codes], spoken: tuple[int, ...], sizes: tuple[int, ...]) -> Iterator[Codes]:
    for row in lines:
        choices = [np.arange(sizes[k]) if row[k] == ANY else row[k : k + 1] for k in spoken]
        grid = np.stack(np.meshgrid(*choices, indexing="ij"), axis=-1).reshape(-1, len(spoken))
        cells = np.full((len(grid), len(sizes)), ANY, dtype=np.int32)
        cells[:, list(spoken)] = grid
        yield cells


def merged(support: Support, codes: Codes) -> Support:
    """The support as it would be with these combinations added, each seen once."""
    both = np.concatenate([support.codes, codes]).astype(np.int32)
    counts = np.concatenate([support.counts, np.ones(len(codes))])
    order: Ints = np.lexsort(both.T[::-1])
    return Support(support.space, np.asfortranarray(both[order]), counts[order], rows=support.rows)
