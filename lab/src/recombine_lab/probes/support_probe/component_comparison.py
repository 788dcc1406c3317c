"""Learned components against true ones: at the anchor, at seen values, and at the values asked about."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from recombine.base.errors import SettingError
from recombine.base.seeds import derived
from recombine_lab.probes.probe import Measure
from recombine_lab.probes.support_probe.component_outputs import Components, Composed
from recombine_lab.probes.support_probe.measures import (
    RANKED,
    SupportQuery,
    mean,
    measure,
    ranks_of,
    sets_of,
    written_out,
)
from recombine_lab.probes.support_probe.points import Numbers, Slot, SupportPoints
from recombine_lab.probes.support_probe.recovery import LEFT_OUT, Mismatch, aligned, mismatch, rescaled


def recovery_measures(
    points: SupportPoints, asked: SupportQuery, learned: Components, truth: Components
) -> list[Measure]:
    """How well each learned component matches the true one: at the anchor, at seen values, and elsewhere."""
    rng = np.random.default_rng(derived(asked.seed, "recovery"))
    seen, elsewhere = points.seen[rng.permutation(len(points.seen))[: 4 * RANKED]], points.query[: 4 * RANKED]
    pairs = {}
    for name, rows in (("seen", seen), ("elsewhere", elsewhere)):
        pairs[name] = tuple(asked.composed.at_sites(one.at(rows)) for one in (learned, truth))
    _check_alike(*pairs["seen"])
    moved = aligned(asked.composed.name, *pairs["seen"])
    matched = {name: (moved.of(one), other) for name, (one, other) in pairs.items()}
    found: list[Measure] = []
    at_seen = []
    for place, slot in enumerate(points.slots):
        free = [_free(points, slot, rows, asked, place) for rows in (seen, elsewhere)]
        here = mismatch(asked.composed.name, *matched["seen"], place, free[0])
        there = mismatch(asked.composed.name, *matched["elsewhere"], place, free[1])
        at_seen.append(here)
        found += [
            _recovered(slot.name, "recovery, seen values", here, asked.seed),
            _recovered(slot.name, "recovery, elsewhere", there, asked.seed),
            _recovered(
                slot.name,
                "recovery up to scale and shift, elsewhere",
                rescaled(asked.composed.name, matched["seen"], matched["elsewhere"], place),
                asked.seed,
            ),
        ]
    anchor = int(torch.stack([one.wrong / max(one.usual, 1e-30) for one in at_seen]).amax(0).argmin())
    found += [
        Measure(slot.name, "recovery, anchor", one.recovered(torch.tensor([anchor])))
        for slot, one in zip(points.slots, at_seen, strict=True)
    ]
    return found


def _free(points: SupportPoints, slot: Slot, rows: Numbers, asked: SupportQuery, place: int) -> Tensor | None:
    """What no seen point fixes at each row, (n, P, C, C)."""
    if not written_out(asked):
        return None
    return ranks_of(sets_of(points, slot, rows, asked, place, asked.seed), asked, place).free


def _recovered(where: str, name: str, found: Mismatch, seed: int) -> Measure:
    if found.usual <= 0:
        return Measure(where, name, None, n=0)
    wrong = found.wrong.numpy() / found.usual
    return measure(where, name, wrong, lambda some: 1 - mean(some), seed)


def _check_alike(learned: Tensor, true: Tensor) -> None:
    if learned.shape != true.shape:
        raise SettingError(
            f"learned components of shape {tuple(learned.shape[2:])}, true ones of {tuple(true.shape[2:])}",
            why="they are compared number by number",
            instead="give both in the same shape, channels first",
        )


def recovery_words(found: Sequence[Measure], composed: Composed) -> str:
    """How near the learned components are to the true ones, in the worst slot."""
    said = LEFT_OUT.get(composed.name or "", "")
    parts = []
    for name, where in _WHERE.items():
        known = [one for one in found if one.name == name and one.value is not None]
        worst = min(known, key=lambda one: one.value or 0.0, default=None)
        if worst is not None:
            parts.append(f"{worst.value:.2f} {where} ({worst.where})")
    compared = f" {said}" if said else ""
    return f"Learned components against the true ones{compared} (1 is the same, 0 as its mean): {', '.join(parts)}."


_WHERE = {
    "recovery, anchor": "at the best seen point",
    "recovery, seen values": "at seen values",
    "recovery, elsewhere": "at the values asked about",
    "recovery up to scale and shift, elsewhere": "there, up to a scale and a shift that seen points choose",
}
