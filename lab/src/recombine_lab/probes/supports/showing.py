"""What a page and a table show of the measures: the controls beside each, entry by entry, and every hole."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from recombine.figures import Matrix
from recombine_lab.probes.probe import MEASURED
from recombine_lab.probes.supports.measuring import EVERY, Hole, hole_in
from recombine_lab.probes.supports.points import Points, Slot
from recombine_lab.probes.supports.wording import DIAGONAL, EVEN, Found, largest_allowed

SHOWN = (
    "coverage",
    "hole",
    "hole asked about",
    "largest piece",
    "partner diversity",
    "slice variation",
    "slice variation, worst direction",
    "full rank, sum",
    "full rank, stack",
    "open directions that change the whole",
    "recovery, seen values",
    "recovery, elsewhere",
    "recovery up to scale and shift, elsewhere",
)
"""The measures between 0 and 1, which a page shows as a matrix."""
HOLES = pa.schema(
    [
        ("slot", pa.string()),
        ("entry", pa.string()),
        ("from", pa.float64()),
        ("to", pa.float64()),
        ("share", pa.float64()),
        ("levels", pa.int64()),
        ("unseen_levels", pa.int64()),
        ("asked_about", pa.bool_()),
    ]
)


def holes_of(points: Points) -> list[dict[str, Any]]:
    """The longest empty stretch of each entry, and the longest asked about where that is another; levels never seen."""
    found = []
    for slot in points.slots:
        for column in slot.columns:
            longest, asked = (hole_in(points, column, asked=only) for only in (False, True))
            found.append(_hole_row(points, slot, column, longest, asked_about=longest == asked))
            if longest != asked and asked.share > 0:
                found.append(_hole_row(points, slot, column, asked, asked_about=True))
    return found


def _hole_row(points: Points, slot: Slot, column: int, hole: Hole, *, asked_about: bool) -> dict[str, Any]:
    levels = int(points.levels[column])
    return {
        "slot": slot.name,
        "entry": points.names[column],
        "from": None if levels else hole.begins,
        "to": None if levels else hole.ends,
        "share": hole.share,
        "levels": levels,
        "unseen_levels": hole.unseen_levels,
        "asked_about": asked_about or bool(levels),
    }


def hole_words(holes: Sequence[dict[str, Any]]) -> dict[str, str]:
    """The largest hole of each slot that is asked about, in words."""
    said = {}
    for one in sorted(holes, key=lambda one: one["share"]):
        if one["asked_about"]:
            said[one["slot"]] = _called(one)
    return said


def unasked_words(holes: Sequence[dict[str, Any]], found: Found) -> list[str]:
    """Holes that would count if anything were asked about them."""
    return [
        f"Nothing is said of {_called(one)}, which was never seen and is not asked about."
        for one in holes
        if not one["asked_about"] and one["share"] > largest_allowed(found, f"{one['slot']}: {one['entry']}")
    ]


def _called(hole: dict[str, Any]) -> str:
    if hole["levels"]:
        return f"{hole['unseen_levels']} of {hole['levels']} levels of {hole['entry']}"
    return f"{hole['entry']} between {hole['from']:.3g} and {hole['to']:.3g}"


_RECOVERED = (
    "recovery, anchor",
    "recovery, seen values",
    "recovery, elsewhere",
    "recovery up to scale and shift, elsewhere",
)


def numbers_of(found: Found) -> dict[str, float | None]:
    """The worst slot of each measure, which the sentence speaks of."""
    highest = ("hole", "hole asked about", "open directions that change the whole", "condition")
    names = [name for name in (*SHOWN, "smallest singular value", "condition") if "recovery" not in name]
    slots = {name: found.worst(name, highest=name in highest).value for name in names}
    # Those that decide come first: a page's head and a terminal show no more than a few.
    numbers = {name: slots.pop(name) for name in ("slice variation", "hole", "coverage")}
    for name in ("left open", "left open, with an anchor"):
        numbers[name] = found.get(name, EVERY).value
    numbers |= slots
    recovered = {name: found.worst(name).value for name in _RECOVERED}
    return numbers | {name: value for name, value in recovered.items() if value is not None}


def figures_of(found: Found, points: Points) -> tuple[Matrix, ...]:
    """The measures between 0 and 1 beside their controls, and each entry by itself."""
    who = (MEASURED, EVEN, DIAGONAL)
    rows = [(slot, name) for slot in found.slots for name in SHOWN if found.get(name, slot).value is not None]
    beside = Matrix(
        "The seen points beside two controls",
        "Each row is a measure of a slot. A hole and open directions are bad where they are large, all others"
        " where they are small. What is alike in all three columns tells nothing.",
        tuple(f"{slot}: {name}" for slot, name in rows),
        who,
        tuple(tuple(found.get(name, slot, one).value for one in who) for slot, name in rows),
    )
    entries = [f"{slot.name}: {points.names[column]}" for slot in points.slots for column in slot.columns]
    each = Matrix(
        "Entry by entry",
        "The longest stretch of an entry without any seen value, and the share of its spread that it keeps while the"
        " other slots stand nearly still.",
        tuple(entries),
        ("hole", "slice variation"),
        tuple(tuple(found.get(name, entry).value for name in ("hole", "slice variation")) for entry in entries),
    )
    return beside, each
