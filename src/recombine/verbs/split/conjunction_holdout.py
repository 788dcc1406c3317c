"""Conjunctions as users write them, in the values of a support; and the splitter that holds them out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar, Literal

import numpy as np

from recombine.base.checks import check_listed, check_whole
from recombine.base.errors import SettingError, nearest
from recombine.base.words import count
from recombine.data.space import Value, text
from recombine.data.support import Support
from recombine.verbs.split.invariants import conjunction_text, holding
from recombine.verbs.split.splitter import Assignment, Splitter


def factor_name(support: Support, factors: Sequence[str | int], factor: Any) -> str:
    """A factor's name in the support, from the name or the position that a splitter's user gave."""
    if isinstance(factor, int) and factor in factors:
        return support.space.names[list(factors).index(factor)]
    check_listed(factor, support.space.names, f"no factor {factor!r}", why="it is not among the splitter's factors")
    return str(factor)


def conjunction(support: Support, factors: Sequence[str | int], written: Mapping[Any, Any]) -> dict[str, Value]:
    """A conjunction in the support's own names and values.

    >>> import recombine
    >>> support = recombine.read({"a": ["x", "y"], "n": [1, 2]}, factors=["a", "n"])
    >>> conjunction(support, ["a", "n"], {"n": "2"})
    {'n': 2}
    """
    found = {}
    for asked, value in written.items():
        name = factor_name(support, factors, asked)
        factor = support.space.factors[support.space.position(name)]
        code = factor.code(value)
        if code < 0:
            raise SettingError(
                f"the conjunction {dict(written)!r} speaks of {name} = {text(value)!r}",
                why=f"{name!r} has no such value",
                instead=nearest(text(value), factor.labels),
            )
        found[name] = factor.values[code]
    return found


def combination(support: Support, factors: Sequence[str | int], written: Any) -> dict[str, Value]:
    """A whole combination, written as a mapping or as one value for each factor in the splitter's order."""
    if not isinstance(written, Mapping):
        values = list(written) if isinstance(written, list | tuple) else [written]
        if len(values) != len(factors):
            raise _not_whole(written, support)
        written = dict(zip(factors, values, strict=True))
    found = conjunction(support, factors, written)
    if len(found) < len(support.space.names):
        raise _not_whole(written, support)
    return found


def _not_whole(written: Any, support: Support) -> SettingError:
    return SettingError(
        f"{written!r} is not a whole combination",
        why="a combination has one value for every factor",
        instead=f"give a value for each of {', '.join(map(repr, support.space.names))}",
    )


def checked_mappings(name: str, written: Any, *, least: int = 1) -> tuple[dict[Any, Any], ...]:
    """A list of conjunctions, each naming enough factors."""
    listed = (written,) if isinstance(written, Mapping) else written
    if not isinstance(listed, list | tuple) or not all(
        isinstance(one, Mapping) and len(one) >= least for one in listed
    ):
        raise SettingError(
            f"{name}={written!r}",
            why=f"it lists conjunctions, each with {least} factors or more and their values",
            instead=f"write {name}=[{{'colour': 'red', 'shape': 'square'}}]",
        )
    return tuple(dict(one) for one in listed)


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class HoldOutConjunctions(Splitter):
    """Hold out all rows that hold any of some conjunctions, but for whole combinations in `keep`.

    A value of a factor of sets is a whole set: `{"genes": "A + B"}`.

    `conjunctions` lists them, or is a number: as many are then drawn at random, each of `order` factors, and `n_splits`
    draws are made. A conjunction of one factor holds out a value; `guarantee="none"` allows that.

    >>> table = {"colour": ["red", "red", "blue", "blue"], "shape": ["disc", "bar", "disc", "bar"]}
    >>> splitter = HoldOutConjunctions(["colour", "shape"], conjunctions=[{"colour": "red", "shape": "bar"}])
    >>> [test.tolist() for _, test in splitter.split(table)]
    [[1]]
    """

    takes_sets: ClassVar = True
    conjunctions: Sequence[Mapping[Any, Any]] | int
    keep: Sequence[Any] = ()
    order: int = 2
    n_splits: int = 1
    random_state: int = 0
    guarantee: Literal["values", "none"] = "values"

    def check_settings(self) -> None:
        """Conjunctions that are one, and an order only where they are drawn."""
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
            if not given or self.n_splits != 1:
                raise SettingError(
                    f"n_splits={self.n_splits}" if given else "conjunctions=[]",
                    why="listed conjunctions make one split" if given else "nothing would be held out",
                    instead="leave n_splits out"
                    if given
                    else "list one conjunction at least, or give a number to draw",
                )
        object.__setattr__(self, "keep", tuple(self.keep))

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
