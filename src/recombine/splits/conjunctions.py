"""Hold out every combination that holds one of some conjunctions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

import numpy as np

from recombine.checks import check_choice, check_whole
from recombine.errors import SettingError
from recombine.splits.checker import Promise
from recombine.splits.facts import conjunction_text, holding
from recombine.splits.patterns import checked_mappings, combination, conjunction
from recombine.splits.splitter import Assignment, Splitter
from recombine.tables.space import Value
from recombine.tables.support import Support
from recombine.words import count


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class HoldOutConjunctions(Splitter):
    """Hold out all rows that hold any of some conjunctions, but for whole combinations in `keep`.

    `conjunctions` lists them, or is a number: as many are then drawn at random, each of `order` factors, and `n_splits`
    draws are made. A conjunction of one factor holds out a value; `guarantee="none"` allows that.

    >>> table = {"colour": ["red", "red", "blue", "blue"], "shape": ["disc", "bar", "disc", "bar"]}
    >>> splitter = HoldOutConjunctions(["colour", "shape"], conjunctions=[{"colour": "red", "shape": "bar"}])
    >>> [test.tolist() for _, test in splitter.split(table)]
    [[1]]
    """

    conjunctions: Sequence[Mapping[Any, Any]] | int
    keep: Sequence[Any] = ()
    order: int = 2
    n_splits: int = 1
    random_state: int = 0
    guarantee: Literal["values", "none"] = "values"

    def check_settings(self) -> None:
        """Conjunctions that are one, and an order only where they are drawn."""
        check_choice("guarantee", self.guarantee, ("values", "none"))
        if isinstance(self.conjunctions, int):
            check_whole("conjunctions", self.conjunctions, least=1)
            check_whole("order", self.order, least=1)
            if self.order > len(self.factors):
                raise SettingError(
                    f"order={self.order}",
                    why=f"there are {len(self.factors)} factors",
                    instead=f"write order={len(self.factors)} or less",
                )
        else:
            given = checked_mappings("conjunctions", self.conjunctions)
            object.__setattr__(self, "conjunctions", given)
            self._check_drawn_settings(given)
        object.__setattr__(self, "keep", tuple(self.keep))

    def _check_drawn_settings(self, given: tuple[dict[Any, Any], ...]) -> None:
        if not given or self.n_splits != 1:
            raise SettingError(
                f"n_splits={self.n_splits}" if given else "conjunctions=[]",
                why="listed conjunctions make one split" if given else "nothing would be held out",
                instead="leave n_splits out" if given else "list one conjunction at least, or give a number to draw",
            )

    @property
    def promise(self) -> Promise:
        """The values, where they are guaranteed; a drawn conjunction is checked to be absent."""
        return Promise.of(self.guarantee)

    def assign(self, support: Support, fold: int) -> Assignment:
        """Everything that holds one of them, but for what is kept."""
        chosen = self._drawn(support, fold) if isinstance(self.conjunctions, int) else self._listed(support)
        test = np.zeros(len(support), dtype=bool)
        for one in chosen:
            test |= holding(support, one)
        for given in self.keep:
            test &= ~self._kept(support, given)
        return Assignment.of(test, absent=() if self.keep else chosen)

    def _listed(self, support: Support) -> list[dict[str, Value]]:
        assert not isinstance(self.conjunctions, int)  # noqa: S101 - for the type checker
        listed = [conjunction(support, self.factors, given) for given in self.conjunctions]
        for one in listed:
            if not holding(support, one).any():
                raise SettingError(
                    f"no row holds {conjunction_text(one)}",
                    why="its values were never seen together, so there is nothing to hold out",
                    instead="leave it out; `recombine predict` says what to expect of it",
                )
        return listed

    def _kept(self, support: Support, given: Any) -> Any:
        found = combination(support, self.factors, given)
        kept = holding(support, found)
        if not kept.any():
            raise SettingError(
                f"no row holds {conjunction_text(found)}, which `keep` names",
                why="a combination that is kept in training must have been seen",
                instead="correct it, or leave it out",
            )
        return kept

    def _drawn(self, support: Support, fold: int) -> list[dict[str, Value]]:
        """Seen conjunctions by chance, all equally likely."""
        assert isinstance(self.conjunctions, int)  # noqa: S101 - for the type checker
        pools = [support.groups(chosen) for chosen in combinations(range(len(support.space.names)), self.order)]
        ends = np.cumsum([pool.size for pool in pools])
        if self.conjunctions > ends[-1]:
            raise SettingError(
                f"conjunctions={self.conjunctions}",
                why=f"only {count(int(ends[-1]))} conjunctions of {self.order} factors were seen",
                instead=f"draw {count(int(ends[-1]))} at most",
            )
        drawn = []
        for place in np.sort(self.rng(fold).choice(int(ends[-1]), size=self.conjunctions, replace=False)):
            pool = pools[int(np.searchsorted(ends, place, side="right"))]
            first = pool.representatives[place - (ends[pools.index(pool)] - pool.size)]
            whole = support.combination(int(first))
            drawn.append({support.space.names[k]: whole[support.space.names[k]] for k in pool.factors})
        return drawn
