"""What a page and a table show of the measures: the controls beside each, entry by entry, and every hole."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from recombine.probes.figures import Matrix
from recombine.probes.probe import MEASURED
from recombine.probes.supports import neighbours as near
from recombine.probes.supports.measuring import EVERY
from recombine.probes.supports.points import Points
from recombine.probes.supports.wording import DIAGONAL, EVEN, Found

SHOWN = (
    "coverage",
    "hole",
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
    ]
)


def holes_of(points: Points) -> list[dict[str, Any]]:
    """The longest empty stretch of each entry; for a list of levels how many were never seen."""
    found = []
    for slot in points.slots:
        for column in slot.columns:
            values, low, span = points.seen[:, column], points.low[column], points.span[column]
            begins, ends = near.largest_hole(values, low, low + span)
            levels = int(points.levels[column])
            unseen = levels - len(np.unique(values)) if levels else 0
            share = unseen / levels if levels else (ends - begins) / span
            found.append(
                {
                    "slot": slot.name,
                    "entry": points.names[column],
                    "from": None if levels else begins,
                    "to": None if levels else ends,
                    "share": float(share),
                    "levels": levels,
                    "unseen_levels": unseen,
                }
            )
    return found


def hole_words(holes: Sequence[dict[str, Any]]) -> dict[str, str]:
    """The largest hole of each slot in words."""
    said = {}
    for slot in {one["slot"] for one in holes}:
        worst = max((one for one in holes if one["slot"] == slot), key=lambda one: one["share"])
        if worst["levels"]:
            said[slot] = f"{worst['unseen_levels']} of {worst['levels']} levels of {worst['entry']}"
        else:
            said[slot] = f"{worst['entry']} between {worst['from']:.3g} and {worst['to']:.3g}"
    return said


_RECOVERED = (
    "recovery, anchor",
    "recovery, seen values",
    "recovery, elsewhere",
    "recovery up to scale and shift, elsewhere",
)


def numbers_of(found: Found) -> dict[str, float | None]:
    """The worst slot of each measure, which the sentence speaks of."""
    highest = ("hole", "open directions that change the whole", "condition")
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
