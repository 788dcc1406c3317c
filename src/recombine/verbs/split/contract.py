"""A contract on a split: these conjunctions wholly absent, every smaller part present, class shares kept.

Where it cannot be kept, one family of demands after another is made elastic, and those that help are told.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from recombine.base.checks import check_number, check_whole
from recombine.base.errors import SettingError
from recombine.base.words import count, listing, measure
from recombine.data.space import Value, text
from recombine.data.support import LabelTarget, Support
from recombine.verbs.split.checker import Promise
from recombine.verbs.split.conjunction_holdout import checked_mappings, conjunction
from recombine.verbs.split.contract_demands import Demands, Family, solve_demands
from recombine.verbs.split.invariants import Facts, conjunction_text, holding, thinnest_part
from recombine.verbs.split.splitter import Assignment, Splitter
from recombine.verbs.split.strata import classes_of

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
            absent, proven = solve_demands(demands)
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


def undecided(demands: Demands) -> SettingError:
    """The solver ran out of time."""
    return SettingError(
        f"no split was found within {demands.seconds:g} seconds",
        why="the solver could neither find one nor prove that there is none",
        instead="give it more time with `seconds`, name the conjunctions in `absent`, or loosen the demands",
    )


def refusal(demands: Demands) -> SettingError:
    """The demands that stand in the way, each with what would have to be written instead."""
    families: list[Family] = ["least", "share", "number", "absent"]
    if demands.class_tolerance is not None:
        families.insert(1, "classes")
    reasons, remedies, certain = [], [], True
    for family in families:
        if (family == "number" and demands.number is None) or (family == "absent" and not demands.named.any()):
            continue
        absent, proven = solve_demands(demands, elastic=family)
        certain &= proven
        if absent is not None and absent.any():
            reason, remedy = _FAMILIES[family][1](demands, absent)
            reasons.append(reason)
            remedies.append(remedy)
    if not reasons:
        several = "no single demand stands in the way: at least two of them contradict each other and the table"
        reasons = [several if certain else "which demand stands in the way was not found in time"]
        names = listing([_FAMILIES[family][0] for family in families])
        remedies = [f"loosen {'more than one' if certain else 'one or more'} of {names}"]
    return SettingError("the contract cannot be kept", why="; ".join(reasons), instead="; or ".join(remedies))


def _facts(demands: Demands, absent: Mask) -> Facts:
    return Facts.of_combinations(demands.support, test=demands.held_out(absent))


def _least(demands: Demands, absent: Mask) -> tuple[str, str]:
    part, rows = thinnest_part(_facts(demands, absent), demands.order)
    said = f"{conjunction_text(part)} would keep {count(rows)} rows in training, and least={demands.least}"
    if rows < 1:
        return said, "hold out other conjunctions, or collect rows that hold it"
    return said, f"write least={math.floor(rows)}"


def _classes(demands: Demands, absent: Mask) -> tuple[str, str]:
    target = demands.support.target
    assert isinstance(target, LabelTarget)  # noqa: S101 - for the type checker
    facts = _facts(demands, absent)
    off = facts.class_distance().max(axis=0)
    label = int(np.argmax(off))
    tolerance = math.ceil(1000 * float(off[label])) / 1000
    said = f"the share of {text(target.classes[label])} would be off by {measure(float(off[label]))}"
    return f"{said}, and class_tolerance={demands.class_tolerance:g}", f"write class_tolerance={tolerance:g}"


def _share(demands: Demands, absent: Mask) -> tuple[str, str]:
    counts = demands.support.counts
    reached = float(counts[demands.held_out(absent)].sum() / counts.sum())
    low, high = demands.share
    if reached < low:
        return f"{measure(reached)} of the rows can be held out, less than asked", (
            f"write test_size=({math.floor(1000 * reached) / 1000:g}, {high:g})"
        )
    return f"{measure(reached)} of the rows must be held out, more than asked", (
        f"write test_size=({low:g}, {math.ceil(1000 * reached) / 1000:g})"
    )


def _number(demands: Demands, absent: Mask) -> tuple[str, str]:
    reached = int(absent.sum())
    amount = f"{count(reached)} conjunction{'' if reached == 1 else 's'}"
    return f"{amount} could be absent, and number={demands.number}", f"write number={reached}"


def _absent(demands: Demands, absent: Mask) -> tuple[str, str]:
    dropped = [conjunction_text(one) for one in demands.described(demands.named & ~absent)]
    return f"{listing(dropped)} cannot be absent", f"take {listing(dropped)} off `absent`"


_FAMILIES = {
    "least": ("`least`", _least),
    "classes": ("`class_tolerance`", _classes),
    "share": ("`test_size`", _share),
    "number": ("`number`", _number),
    "absent": ("`absent`", _absent),
}
"""For each family of demands, how a user calls it, and what is said of it where it stands in the way."""
