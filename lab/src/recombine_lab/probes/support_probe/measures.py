"""Every measure of one set of seen points: what was given, and each control by the same function.

Letters: m values asked about, TRIES neighbours of each, P sites, O and C of a block.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from recombine.base.seeds import derived
from recombine_lab.probes.probe import MEASURED, Measure
from recombine_lab.probes.support_probe import connectivity
from recombine_lab.probes.support_probe import neighbours as near
from recombine_lab.probes.support_probe.component_outputs import DENSE, Components, Composed, outputs_per_slot
from recombine_lab.probes.support_probe.openness import (
    MOST_OUTPUTS,
    MOST_ROWS,
    Situated,
    anchor_at,
    left_open,
    sketched,
)
from recombine_lab.probes.support_probe.points import Slot, SupportPoints
from recombine_lab.probes.support_probe.ranks import TOLERANCE, Ranks, changed, products, ranks, spectrum

Numbers = npt.NDArray[np.float64]
EVERY = "all slots"
SLICED = 192
"""Values asked about at which slices are looked at."""
RANKED = 64
"""Values asked about at which Jacobians are taken."""
SKETCHED = 2
"""The same, where Jacobians are too large to be written down."""
SITES = 48
OPEN_SITES = 4
OPEN_ASKED = 128
ANCHORS = 6
"""Seen points that are tried as an anchor; the best of them counts."""
_DRAWS = 200
GROWN = 1200
"""Seen points that the growth of an error is worked out from."""
MOST_UNKNOWNS = 600
"""Cells of all slots times their outputs at one site."""


@dataclass(frozen=True, eq=False)
class SupportQuery:
    """What is asked of every set of seen points: the composition, true or learned components, bandwidths, chance.

    `steps` has for each slot how far apart values of one piece may be: as a whole, and in each entry.
    """

    composed: Composed
    components: Components
    bandwidths: tuple[float, ...]
    steps: tuple[tuple[float, ...], ...]
    sample: Tensor
    seed: int
    reach: float


def measures_of(points: SupportPoints, asked: SupportQuery, who: str = MEASURED) -> list[Measure]:
    """Every measure, slot by slot, then of all slots together: parts, growth of errors, what is left open."""
    linked = links_of(points, asked)
    found = _of_parts(points, linked)
    for place, slot in enumerate(points.slots):
        found.append(Measure(slot.name, "pieces", 1.0 + int(linked.pieces[place].max())))
        found += _of_values(points, slot, asked, place)
        found += _of_jacobians(points, slot, asked, place)
    found += _growth(points, asked, linked)
    found += _left_open(points, asked, anchored=who == MEASURED)
    return [Measure(one.where, one.name, one.value, who, one.low, one.high, one.n) for one in found]


def measure(where: str, name: str, values: Numbers, of: Callable[[Numbers], Numbers], seed: int) -> Measure:
    """A statistic of numbers, one for each value asked about, with an interval over these values.

    `of` takes several draws at once, (draws, values, …).
    """
    n = len(values)
    if not n:
        return Measure(where, name, None, n=0)
    rng = np.random.default_rng(derived(seed, where, name))
    low, high = np.quantile(of(values[rng.integers(0, n, (_DRAWS, n))]), [0.025, 0.975])
    return Measure(where, name, float(of(values[None])[0]), low=float(low), high=float(high), n=n)


def mean(values: Numbers) -> Numbers:
    """The mean of each draw."""
    return np.asarray(values.mean(1))


def _median(values: Numbers) -> Numbers:
    return np.asarray(np.median(values, axis=1))


# -- values: coverage, holes, neighbours, slices ---------------------------------------------------------------------


def _of_values(points: SupportPoints, slot: Slot, asked: SupportQuery, place: int) -> list[Measure]:
    seed, bandwidth = derived(asked.seed, "values", place), asked.bandwidths[place]
    seen, query = points.scaled(points.seen, slot.columns), points.scaled(points.query, slot.columns)
    covered = near.nearest_distance(query, seen, own=points.own) <= bandwidth + 1e-12
    found = [
        Measure(slot.name, "bandwidth", bandwidth),
        Measure(slot.name, "distinct values", float(len(near.distinct(seen)))),
        measure(slot.name, "coverage", covered.astype(np.float64), mean, seed),
        *_holes(points, slot),
    ]
    return found + _of_slices(points, slot, bandwidth, seed)


def _holes(points: SupportPoints, slot: Slot) -> list[Measure]:
    """The longest empty stretch of each entry and the longest that is asked about; and the longest of all entries."""
    found = []
    for name, asked in (("hole", False), ("hole asked about", True)):
        each = [
            Measure(f"{slot.name}: {points.names[column]}", name, hole_in(points, column, asked=asked).share)
            for column in slot.columns
        ]
        found += [Measure(slot.name, name, max(one.value or 0.0 for one in each)), *each]
    return found


@dataclass(frozen=True)
class EmptyStretch:
    """An empty stretch of an entry as a share of its range; of a list of levels, the share never seen."""

    begins: float
    ends: float
    share: float
    unseen_levels: int = 0


def hole_in(points: SupportPoints, column: int, *, asked: bool) -> EmptyStretch:
    """The longest hole of an entry, or the longest of those that points asked about lie in."""
    values, low, span = points.seen[:, column], float(points.low[column]), float(points.span[column])
    begins, ends = near.largest_hole(values, low, low + span, points.query[:, column] if asked else None)
    levels = int(points.levels[column])
    if levels:
        # Levels are those seen or asked about, so that one never seen is always asked about.
        unseen = levels - len(np.unique(values))
        return EmptyStretch(begins, ends, unseen / levels, unseen)
    return EmptyStretch(begins, ends, (ends - begins) / span)


def _of_slices(points: SupportPoints, slot: Slot, bandwidth: float, seed: int) -> list[Measure]:
    rng = np.random.default_rng(derived(seed, "neighbours"))
    rest = points.rest(slot)
    seen, partners = points.scaled(points.seen, slot.columns), points.scaled(points.seen, rest)
    values = points.scaled(points.query, slot.columns)
    query = values[:SLICED]
    around = near.neighbours_of(query, seen, bandwidth, rng)
    covariance = np.atleast_2d(np.cov(values, rowvar=False))
    free = near.slice_variation(seen, partners, around.rows, covariance)
    found = [measure(slot.name, "neighbours", around.size, _median, seed)]
    names = ("slice variation", "slice variation, worst direction")
    if free is None:
        return found + [Measure(slot.name, name, None, n=0) for name in names]
    found += [
        measure(slot.name, name, one[around.near], _median, seed)
        for name, one in zip(names, (free.usual, free.worst), strict=True)
    ]
    return found + [
        measure(f"{slot.name}: {points.names[column]}", names[0], free.entries[around.near, k], _median, seed)
        for k, column in enumerate(slot.columns)
    ]


# -- Jacobians: ranks, singular values, gauge ------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class NeighbourSets:
    """Neighbour sets of some values: their outputs (s, TRIES, K, …), which have the value itself in its slot."""

    outputs: Tensor
    near: npt.NDArray[np.bool_]


def sets_of(
    points: SupportPoints, slot: Slot, rows: Numbers, asked: SupportQuery, place: int, seed: int
) -> NeighbourSets:
    """The value of each row in its slot, beside the partners that its nearest seen points have."""
    rng = np.random.default_rng(derived(seed, "sets"))
    seen, values = points.scaled(points.seen, slot.columns), points.scaled(rows, slot.columns)
    around = near.neighbours_of(values, seen, asked.bandwidths[place], rng)
    mixed = points.seen[around.rows]
    columns = list(slot.columns)
    mixed[:, :, columns] = rows[:, None, columns]
    outputs = asked.components.at(mixed.reshape(-1, mixed.shape[-1]))
    return NeighbourSets(outputs.reshape(*around.rows.shape, *outputs.shape[1:]), around.near)


def written_out(asked: SupportQuery) -> bool:
    """Whether Jacobians are small enough to be written down."""
    return asked.composed.name is not None or outputs_per_slot(asked.sample) <= DENSE


def ranks_of(sets: NeighbourSets, asked: SupportQuery, place: int) -> Ranks:
    """The ranks over neighbour sets."""
    blocks = asked.composed.blocks(sets.outputs.flatten(0, 1), place)
    return ranks(blocks.reshape(*sets.outputs.shape[:2], *blocks.shape[1:]))


def _of_jacobians(points: SupportPoints, slot: Slot, asked: SupportQuery, place: int) -> list[Measure]:
    seed = derived(asked.seed, "jacobians", place)
    if not written_out(asked):
        return _of_products(points, slot, asked, place)
    rows = points.query[:RANKED]
    sets = sets_of(points, slot, rows, asked, place, seed)
    found = ranks_of(sets, asked, place)
    at_query = asked.composed.blocks(asked.components.at(rows), place)
    # Both sides at the same value: only the partners differ.
    moved = changed(found.free, at_query, found.scale)
    kept = sets.near
    shares = {
        "full rank, sum": found.sum == found.full,
        "full rank, stack": found.stack == found.full,
        "open directions that change the whole": moved,
    }
    return [
        measure(slot.name, name, one.to(torch.float64).mean(1).numpy()[kept], mean, seed)
        for name, one in shares.items()
    ]


def _of_products(points: SupportPoints, slot: Slot, asked: SupportQuery, place: int) -> list[Measure]:
    """The same by products with vectors; the share of full rank becomes the share of directions that are fixed."""
    seed = derived(asked.seed, "jacobians", place)
    sets = sets_of(points, slot, points.query[:SKETCHED], asked, place, seed)
    rows: dict[str, list[float]] = {name: [] for name in ("full rank, sum", "full rank, stack")}
    size = outputs_per_slot(asked.sample)
    for outputs in sets.outputs[torch.from_numpy(sets.near)]:
        summed, stacked = products(asked.composed.compose, outputs, place)
        whole = spectrum(stacked, size, tolerance=TOLERANCE, seed=seed)
        rows["full rank, stack"].append(whole.share)
        less = spectrum(summed, size, tolerance=TOLERANCE, seed=seed, scale=whole.largest)
        rows["full rank, sum"].append(less.share)
    return [measure(slot.name, name, np.array(values), mean, seed) for name, values in rows.items()]


# -- parts that hang together, and how far an error can grow ---------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Links:
    """The piece of each seen point in each slot (K, n), the part of each (n,), and of each value asked about (K, m)."""

    pieces: Sequence[connectivity.Ints]
    parts: connectivity.Ints
    asked: Sequence[connectivity.Ints]

    @property
    def across(self) -> npt.NDArray[np.bool_]:
        """(m,) Which points asked about put values of different parts together."""
        asked = np.stack(self.asked)
        return np.asarray(asked.min(axis=0) < asked.max(axis=0))


def links_of(points: SupportPoints, asked: SupportQuery) -> Links:
    """Which seen points hang together; all do where nothing can go from one slot to another."""
    seen, query = ([points.scaled(rows, slot.columns) for slot in points.slots] for rows in (points.seen, points.query))
    pieces = [connectivity.pieces(own, steps) for own, steps in zip(seen, asked.steps, strict=True)]
    parts = connectivity.parts(pieces)
    if trades_nothing(asked):
        parts = np.zeros_like(parts)
    nearest = [connectivity.of_nearest(one, own, parts) for one, own in zip(query, seen, strict=True)]
    return Links(pieces, parts, nearest)


def trades_nothing(asked: SupportQuery) -> bool:
    """Whether no change of one slot's component can be made up for in another, so that no part needs another: the rank
    of all slots' derivatives side by side is the sum of their ranks."""
    if not written_out(asked):
        return False
    blocks = [asked.composed.blocks(asked.sample, slot).to(torch.float64) for slot in range(asked.sample.shape[1])]
    each = torch.stack([torch.linalg.matrix_rank(block, rtol=TOLERANCE) for block in blocks])
    return bool((torch.linalg.matrix_rank(torch.cat(blocks, -1), rtol=TOLERANCE) == each.sum(0)).all())


def _of_parts(points: SupportPoints, linked: Links) -> list[Measure]:
    across = linked.across.astype(np.float64)
    return [
        Measure(EVERY, "parts", 1.0 + int(linked.parts.max())),
        measure(EVERY, "combinations across parts", across, mean, len(points.seen)),
    ]


def _growth(points: SupportPoints, asked: SupportQuery, linked: Links) -> list[Measure]:
    """The worst site; outside of parts, nothing bounds an error."""
    names = ("error growth", "connectivity", "unfixed")
    if not written_out(asked):
        return [Measure(EVERY, name, None, n=0) for name in names]
    rng = np.random.default_rng(derived(asked.seed, "growth"))
    fewer = asked.composed.looked_at(OPEN_SITES, asked.sample, np.random.default_rng(derived(asked.seed, "sites")))
    chosen, inside = rng.permutation(len(points.seen))[:GROWN], np.flatnonzero(~linked.across)[:GROWN]
    if not len(inside):
        return [Measure(EVERY, name, None, n=0) for name in names]
    rows = points.seen[chosen], points.query[inside]
    blocks = [[fewer.blocks(asked.components.at(one), k) for k in range(len(points.slots))] for one in rows]
    most = min(
        connectivity.CELLS, max(4, len(chosen) // 4), max(2, MOST_UNKNOWNS // sum(b.shape[3] for b in blocks[0]))
    )
    cells = []
    for slot, pieces in zip(points.slots, linked.pieces, strict=True):
        seen, query = (points.scaled(one, slot.columns) for one in rows)
        cell = connectivity.cells_of(seen, pieces[chosen], most)
        cells.append((cell, connectivity.of_nearest(query, seen, cell)))
    by_site = [[[block[:, site] for block in side] for side in blocks] for site in range(blocks[0][0].shape[1])]
    found = [connectivity.growth(seen, query, cells) for seen, query in by_site]
    worst = max(one.factor for one in found), min(one.connectivity for one in found), max(one.unfixed for one in found)
    return [Measure(EVERY, name, value) for name, value in zip(names, worst, strict=True)]


# -- what is left open -----------------------------------------------------------------------------------------------


def _left_open(points: SupportPoints, asked: SupportQuery, *, anchored: bool) -> list[Measure]:
    """What is left open; and what would be, if the components were known at one seen point (the paper's anchor)."""
    names = ("left open", "left open, with an anchor")[: 1 + anchored]
    if not written_out(asked):
        return [Measure(EVERY, name, None, n=0) for name in names]
    rng = np.random.default_rng(derived(asked.seed, "open"))
    fewer = asked.composed.looked_at(OPEN_SITES, asked.sample, np.random.default_rng(derived(asked.seed, "sites")))
    chosen = points.seen[rng.permutation(len(points.seen))[: MOST_ROWS // MOST_OUTPUTS]]
    seen, query = (_situated(points, rows, asked, fewer) for rows in (chosen, points.query[:OPEN_ASKED]))
    anchors = [anchor_at(seen, row) for row in range(min(ANCHORS, len(chosen)))] if anchored else []
    left, before = left_open(seen, query, asked.reach, anchors)
    best = left[1:].sum(1).argmin() + 1 if anchored else 0
    return [
        measure(EVERY, name, torch.stack([one, before], 1).numpy(), _share_left, asked.seed)
        for name, one in zip(names, (left[0], left[best]), strict=False)
    ]


def _share_left(some: Numbers) -> Numbers:
    return np.asarray(some[..., 0].sum(1) / np.maximum(some[..., 1].sum(1), 1e-30))


def _situated(points: SupportPoints, rows: Numbers, asked: SupportQuery, fewer: Composed) -> Situated:
    outputs = asked.components.at(rows)
    blocks = [fewer.blocks(outputs, place) for place in range(len(points.slots))]
    # The same mixtures for seen points and those asked about.
    rng = np.random.default_rng(derived(asked.seed, "mixtures"))
    values = [torch.as_tensor(points.scaled(rows, slot.columns)) for slot in points.slots]
    return Situated(sketched(blocks, rng), values)
