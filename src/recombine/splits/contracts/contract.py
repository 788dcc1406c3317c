"""A contract on a split: these conjunctions wholly absent, every smaller part present, class shares kept."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from recombine.checks import check_number, check_whole
from recombine.errors import SettingError
from recombine.splits.checker import Promise
from recombine.splits.contracts.demands import Demands
from recombine.splits.contracts.demands_program import solved
from recombine.splits.contracts.refusal import refusal, undecided
from recombine.splits.facts import conjunction_text, holding
from recombine.splits.patterns import checked_mappings, conjunction
from recombine.splits.splitter import Assignment, Splitter
from recombine.splits.strata import classes_of
from recombine.tables.space import Value
from recombine.tables.support import Support
from recombine.words import count

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class Contract(Splitter):
    """Hold out conjunctions so that every demand is kept, or refuse with the demand that stands in the way.

    `absent` lists conjunctions of `order` factors of which no row may stay in training; `number` says how many are to
    be absent in all, the others being chosen. Every row that holds one is held out, and no other. Every smaller part
    of a held-out combination keeps `least` rows in training. `test_size` bounds the held-out share of the **rows**.
    With `stratify` (a column, or `"y"`), the class shares of either side are within `class_tolerance` of the whole
    table's.

    Where a few random draws do not meet the demands, they are solved as a mixed-integer program with HiGHS, within
    `seconds`; a refusal is a proof that there is no such split.

    >>> table = {"colour": ["red", "red", "blue", "blue"] * 5, "shape": ["disc", "bar", "disc", "bar"] * 5}
    >>> splitter = Contract(["colour", "shape"], number=1, test_size=(0.2, 0.3))
    >>> [len(test) for _, test in splitter.split(table)]
    [5]
    """

    order: int = 2
    absent: Sequence[Mapping[Any, Any]] = ()
    number: int | None = None
    least: int = 5
    test_size: tuple[float, float] = (0.1, 0.3)
    stratify: str | int | None = None
    class_tolerance: float = 0.05
    random_state: int = 0
    seconds: float = 60.0

    def check_settings(self) -> None:
        """Demands that mean something on their own."""
        check_whole("order", self.order, least=1)
        check_whole("least", self.least, least=1)
        self._check_shares()
        object.__setattr__(self, "absent", checked_mappings("absent", self.absent, least=self.order))
        wrong = [one for one in self.absent if len(one) != self.order]
        if self.order > len(self.factors) or wrong:
            raise SettingError(
                f"absent={wrong[0]!r}" if wrong else f"order={self.order}",
                why=f"order={self.order}" if wrong else f"there are {len(self.factors)} factors",
                instead=f"write order={len(wrong[0])}" if wrong else f"write order={len(self.factors)} or less",
            )
        self._check_number()

    def _check_number(self) -> None:
        if self.number is None and not self.absent:
            raise SettingError(
                "neither `absent` nor `number` was given",
                why="a contract says which conjunctions are to be absent, or how many",
                instead="write absent=[{'colour': 'red', 'shape': 'square'}], or number=3",
            )
        if self.number is not None:
            check_whole("number", self.number, least=max(1, len(self.absent)))

    def _check_shares(self) -> None:
        shares = self.test_size if isinstance(self.test_size, list | tuple) and len(self.test_size) == 2 else (0, 0)
        if not 0 < shares[0] <= shares[1] < 1:
            raise SettingError(
                f"test_size={self.test_size!r}",
                why="it is the least and the most of the rows to be held out, and neither side may be empty",
                instead="write two numbers between 0 and 1: test_size=(0.1, 0.3)",
            )
        object.__setattr__(self, "test_size", (float(shares[0]), float(shares[1])))
        check_number("class_tolerance", self.class_tolerance, least=0, instead="write class_tolerance=0.05")
        check_number("seconds", self.seconds, above=0, instead="write seconds=10")

    @property
    def promise(self) -> Promise:
        """All that is demanded; the conjunctions come with the assignment."""
        return Promise(
            values=self.order > 1,
            least=self.least,
            order=self.order,
            class_tolerance=None if self.stratify is None else self.class_tolerance,
        )

    def assign(self, support: Support, fold: int) -> Assignment:  # noqa: ARG002 - there is one
        """Conjunctions that were drawn or solved for, and every combination that holds one."""
        listed = [conjunction(support, self.factors, given) for given in self.absent]
        demands = self._demands(support, listed)
        absent, proven = demands.drawn(), True
        if absent is None:
            absent, proven = solved(demands)
        if absent is None:
            raise refusal(demands) if proven else undecided(demands)
        return Assignment.of(demands.held_out(absent), absent=demands.described(absent))

    def _demands(self, support: Support, listed: list[dict[str, Value]]) -> Demands:
        if self.stratify is not None:
            classes_of(support, self.stratify)
        pools = Demands.pools(support, self.order)
        total = sum(pool.size for pool in pools)
        if self.number is not None and self.number > total:
            raise SettingError(
                f"number={self.number}",
                why=f"only {count(total)} conjunctions of {self.order} factors were seen",
                instead=f"write number={total} or less",
            )
        named = np.zeros(total, dtype=bool)
        starts = np.cumsum([0, *(pool.size for pool in pools)])
        for one in listed:
            factors = tuple(sorted(support.space.position(name) for name in one))
            place = next(place for place, pool in enumerate(pools) if pool.factors == factors)
            named[starts[place] + _group(support, one, pools[place].ids)] = True
        return Demands(
            support,
            order=self.order,
            named=named,
            number=self.number,
            least=self.least,
            share=self.test_size,
            class_tolerance=None if self.stratify is None else self.class_tolerance,
            seconds=self.seconds,
            seed=self.random_state,
        )


def _group(support: Support, one: dict[str, Value], ids: npt.NDArray[np.int64]) -> int:
    places = np.flatnonzero(holding(support, one))
    if not len(places):
        raise SettingError(
            f"no row holds {conjunction_text(one)}",
            why="it is absent already, so there is nothing to hold out",
            instead="leave it out",
        )
    return int(ids[places[0]])
