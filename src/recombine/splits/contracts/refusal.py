"""Why a contract cannot be kept: one family of demands after another is made elastic, and those that help are told."""

import math

import numpy as np
import numpy.typing as npt

from recombine.errors import SettingError
from recombine.splits.contracts.demands import Demands
from recombine.splits.contracts.demands_program import Family, solved
from recombine.splits.facts import Facts, conjunction_text, thinnest_part
from recombine.tables.space import text
from recombine.tables.support import LabelTarget
from recombine.words import count, listing, measure

Mask = npt.NDArray[np.bool_]


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
        absent, proven = solved(demands, elastic=family)
        certain &= proven
        if absent is not None and absent.any():
            reason, remedy = _TELL[family](demands, absent)
            reasons.append(reason)
            remedies.append(remedy)
    if not reasons:
        several = "no single demand stands in the way: at least two of them contradict each other and the table"
        reasons = [several if certain else "which demand stands in the way was not found in time"]
        remedies = [
            f"loosen {'more than one' if certain else 'one or more'} of {listing([_NAMES[f] for f in families])}"
        ]
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


_TELL = {"least": _least, "classes": _classes, "share": _share, "number": _number, "absent": _absent}
_NAMES = {
    "least": "`least`",
    "classes": "`class_tolerance`",
    "share": "`test_size`",
    "number": "`number`",
    "absent": "`absent`",
}
