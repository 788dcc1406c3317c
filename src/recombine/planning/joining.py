"""What a combination ties together: islands of values become one, and their combinations comparable."""

import numpy as np

from recombine.algebra.groups import Codes, Ints, Numbers
from recombine.planning.open_directions import OpenDirections

_MOST_STEPS = 2_000  # lines whose order is looked for: the first ones matter
_MOST_WORK = 2 * 10**8  # values looked at on the way: some seconds


def order_by_joining(directions: OpenDirections, codes: Codes, prices: Numbers) -> Ints:
    """An order of candidates: those that join most first, then those that join nothing, as they came.

    A line ties the islands of its values together. Within an island of n_k values of each factor k about Π n_k
    combinations are comparable, so a line gains that product for the joined island less those of its parts. The largest
    gain for its price comes first. It is an order, not a proof: inside islands it is blind.
    """
    island, sizes = islands_of(directions)
    ends = island[codes.astype(np.int64) + directions.offsets[:-1]]
    alive = np.flatnonzero((ends != ends[:, :1]).any(axis=1))
    order: list[int] = []
    steps = min(_MOST_STEPS, _MOST_WORK // max(codes.size, 1))
    while len(alive) and len(order) < steps:
        gain, merged = joining_gains(ends[alive], sizes)
        best = int(np.argmax(gain / np.maximum(prices[alive], 1e-9)))
        chosen = alive[best]
        order.append(int(chosen))
        parts = np.unique(ends[chosen])
        sizes[parts[0]] = merged[best]
        ends[np.isin(ends, parts)] = parts[0]
        alive = alive[(ends[alive] != ends[alive][:, :1]).any(axis=1)]
    rest = np.setdiff1d(np.arange(len(codes)), order)
    return np.concatenate([np.array(order, dtype=np.int64), rest])


def islands_of(directions: OpenDirections) -> tuple[Ints, Numbers]:
    """The island of each value, one of its own for a value never seen, and how many values of each factor it holds."""
    island = np.concatenate(directions.today.islands)
    never = island < 0
    island = island.copy()
    island[never] = directions.today.island_count + np.arange(int(never.sum()))
    width = len(directions.base)
    sizes = np.zeros((int(island.max()) + 1, width))
    factor = np.repeat(np.arange(width), np.diff(directions.offsets))
    np.add.at(sizes, (island, factor), 1.0)
    return island, sizes


def joining_gains(ends: Ints, sizes: Numbers) -> tuple[Numbers, Numbers]:
    """What each candidate makes comparable, and the sizes of the island that it makes."""
    merged = np.zeros((len(ends), sizes.shape[1]))
    parts = np.zeros(len(ends))
    for k in range(ends.shape[1]):
        new = (ends[:, :k] != ends[:, k : k + 1]).all(axis=1)
        mine = sizes[ends[:, k]] * new[:, None]
        merged += mine
        parts += mine.prod(axis=1)
    # of equal gains the one that reaches more values, too little to outweigh one combination
    return merged.prod(axis=1) - parts + 1e-6 * merged.sum(axis=1), merged
