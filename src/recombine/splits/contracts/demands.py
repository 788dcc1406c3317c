"""What a contract demands of a table, and whether a choice of conjunctions meets it."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
import numpy.typing as npt

from recombine.algebra.groups import Groups, Ints
from recombine.splits.facts import Facts, thinnest_part
from recombine.tables.space import Value
from recombine.tables.support import Support

Mask = npt.NDArray[np.bool_]

_DRAWS = 64
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Demands:
    """The demands of a contract on one support; `named` marks the conjunctions that the user listed."""

    support: Support
    order: int
    named: Mask
    number: int | None
    least: int
    share: tuple[float, float]
    class_tolerance: float | None
    seconds: float
    seed: int

    @staticmethod
    def pools(support: Support, order: int) -> list[Groups]:
        """The seen conjunctions of each set of so many factors."""
        return [support.groups(chosen) for chosen in combinations(range(len(support.space.sizes)), order)]

    @cached_property
    def held_by(self) -> Ints:
        """The numbers of the conjunctions that each combination holds, one column for each set of factors."""
        pools = self.pools(self.support, self.order)
        starts = np.cumsum([0, *(pool.size for pool in pools[:-1])])
        return np.stack([pool.ids + start for pool, start in zip(pools, starts, strict=True)], axis=1)

    @cached_property
    def parts(self) -> list[Groups]:
        """The seen conjunctions of fewer factors than the absent ones have."""
        return [pool for smaller in range(1, self.order) for pool in self.pools(self.support, smaller)]

    @property
    def candidates(self) -> Mask:
        """The conjunctions that may be chosen: all of them, or the named ones where no number is wanted."""
        return self.named if self.number is None else np.ones(len(self.named), dtype=bool)

    def held_out(self, absent: Mask) -> Mask:
        """The combinations that hold an absent conjunction."""
        return np.asarray(absent[self.held_by].any(axis=1))

    def described(self, absent: Mask) -> list[dict[str, Value]]:
        """Conjunctions in the user's own values."""
        pools = self.pools(self.support, self.order)
        starts = np.cumsum([0, *(pool.size for pool in pools)])
        found = []
        for pool, start in zip(pools, starts[:-1], strict=True):
            for group in np.flatnonzero(absent[start : start + pool.size]):
                whole = list(self.support.combination(int(pool.representatives[group])).items())
                found.append(dict(whole[k] for k in pool.factors))
        return found

    def drawn(self) -> Mask | None:
        """A random choice that meets every demand, if a few draws find one: where demands are mild, most do."""
        return next((absent for absent in self._draws() if self._met_by(absent)), None)

    def _draws(self) -> Iterator[Mask]:
        rng = np.random.default_rng([self.seed, 1])
        free = np.flatnonzero(~self.named)
        more = 0 if self.number is None else self.number - int(self.named.sum())
        for _ in range(_DRAWS if more else 1):
            absent = self.named.copy()
            absent[rng.choice(free, size=more, replace=False)] = True
            yield absent

    def _met_by(self, absent: Mask) -> bool:
        test = self.held_out(absent)
        low, high = self.share
        counts = self.support.counts
        if test.all() or not low - _ROUNDING <= counts[test].sum() / counts.sum() <= high + _ROUNDING:
            return False
        facts = Facts.of_combinations(self.support, test=test)
        if self.class_tolerance is not None and facts.class_distance().max() > self.class_tolerance + _ROUNDING:
            return False
        return self.order < 2 or thinnest_part(facts, self.order)[1] >= self.least
