"""The map of a pair of factors: every cell of their grid with its rung, count and leverage.

With more than two factors each pair is judged on its own projection. Rows and columns stand by island, then by count.
"""

from dataclasses import dataclass
from itertools import combinations
from math import sqrt

import numpy as np
import numpy.typing as npt

from recombine.algebra.groups import Ints, Numbers
from recombine.auditing.determinacy import NO_ISLAND, Determinacy, determinacy
from recombine.auditing.ladder import rungs_with_thin
from recombine.auditing.leverage import Leverage
from recombine.tables.support import Support

STATES = ("undetermined", "determined", "seen", "novel", "impossible", "thin")
MOST_MAPS = 45  # all pairs of ten factors
_MOST_CELLS = 1_200_000  # of all maps together: a few megabytes of page
_LONGEST_SIDE = 1000  # values: a browser's canvas at a pixel each is still legible


@dataclass(frozen=True, eq=False)
class PairMap:
    """A grid of two factors. `rows` and `columns` are positions of values, in the order in which they are drawn."""

    factors: tuple[str, str]
    rows: Ints
    columns: Ints
    row_islands: Ints
    column_islands: Ints
    state: npt.NDArray[np.uint8]
    count: Numbers
    leverage: npt.NDArray[np.float32]


def pair_maps(support: Support) -> tuple[PairMap, ...]:
    """A map for each pair of factors, the least covered first; of very many factors only that many pairs."""
    pairs = sorted(combinations(range(len(support.space.factors)), 2), key=lambda pair: _share(support, pair))
    pairs = pairs[:MOST_MAPS]
    cells = _MOST_CELLS // len(pairs)
    return tuple(_pair_map(support.project(pair), cells) for pair in pairs)


def _share(support: Support, pair: tuple[int, int]) -> float:
    return support.groups(pair).size / max(support.space.restricted(pair).size, 1)


def _pair_map(pair: Support, cells: int) -> PairMap:
    found = determinacy(pair)
    rows, columns = _axes(pair, found, cells)
    grid = np.stack(np.meshgrid(rows, columns, indexing="ij"), axis=-1).reshape(-1, 2).astype(np.int32)
    whole = pair.groups((0, 1)).lookup(grid)
    leverage = Leverage(pair, found)
    rung = rungs_with_thin(pair, found, grid)
    state = np.zeros(len(grid), dtype=np.uint8)
    for number, name in enumerate(STATES):
        state[rung == name] = number
    return PairMap(
        factors=(pair.space.names[0], pair.space.names[1]),
        rows=rows,
        columns=columns,
        row_islands=found.islands[0][rows],
        column_islands=found.islands[1][columns],
        state=state,
        count=np.where(whole >= 0, pair.counts[np.maximum(whole, 0)], 0.0),
        leverage=leverage.of(grid).astype(np.float32) if leverage.inverts else np.full(len(grid), np.nan, np.float32),
    )


def _axes(pair: Support, found: Determinacy, cells: int) -> tuple[Ints, Ints]:
    """Both axes in order, cut to the commonest values where the grid would be too large to draw."""
    height, width = pair.space.sizes
    shrink = min(1.0, sqrt(cells / (height * width)))
    lengths = [min(max(int(size * shrink), min(size, 20)), _LONGEST_SIDE) for size in (height, width)]
    rank = _island_rank(pair, found)
    return _axis(pair, found, 0, rank, lengths[0]), _axis(pair, found, 1, rank, lengths[1])


def _axis(pair: Support, found: Determinacy, k: int, rank: Ints, length: int) -> Ints:
    counts = pair.value_counts[k]
    island = np.where(found.islands[k] == NO_ISLAND, len(rank), rank[found.islands[k]])
    commonest = np.argsort(-counts, kind="stable")[:length]
    return commonest[np.lexsort((-counts[commonest], island[commonest]))]


def _island_rank(pair: Support, found: Determinacy) -> Ints:
    """Islands by their number of combinations, the largest first."""
    sizes = np.bincount(found.islands[0][pair.codes[:, 0]], minlength=found.island_count)
    rank = np.empty(found.island_count, dtype=np.int64)
    rank[np.argsort(-sizes, kind="stable")] = np.arange(found.island_count)
    return rank
