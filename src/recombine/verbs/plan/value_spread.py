"""Of all the smallest plans, the one that spreads its lines over the values: a stair rather than an L.

Everything can be worked out from a row and a column of a grid (an L), and from a stair along its diagonal. With noise
in the answers and an exactly additive fit the L is better: its leverages are smaller. But a network or a kernel carries
over p w / (p w + rest) of the effect of a value that was seen in p combinations (`verbs.predict.effect_transfer`): that
bends downwards, so spreading the combinations evenly carries over more than giving one value all of them.
`benchmarks/shapes.py` has the figures of both.

Rows form a matroid, so that candidates of one price may be taken in any order: here, again and again, one that joins
most, of these one whose values were seen in fewest combinations so far, and of these the most plausible.
"""

import numpy as np

from recombine.numerics.groups import Codes, Ints, Numbers
from recombine.numerics.modular_arithmetic import Echelon, product
from recombine.verbs.plan.open_directions import OpenDirections, islands_of, joining_gains

_MOST_WORK = 10**8  # candidates looked at over all lines: some seconds


def affordable(directions: OpenDirections, candidates: int) -> bool:
    """Whether so many candidates can be looked at again for each line."""
    return candidates * len(directions.open_values) * len(directions.base) <= _MOST_WORK


def spread_basis(directions: OpenDirections, pool: Codes, prices: Numbers, plausible: Numbers) -> Codes:
    """The combinations of the pool that close what it can close: cheapest first, of these what joins most first."""
    columns = pool.astype(np.int64) + directions.offsets[:-1]
    islands = _Islands(directions, columns)
    algebra = _Algebra(directions, pool) if len(directions.base) > 2 else None
    seen = directions.support.codes.astype(np.int64) + directions.offsets[:-1]
    used = np.bincount(seen.ravel(), minlength=int(directions.offsets[-1]))
    alive = np.flatnonzero(np.isfinite(prices))
    taken: list[int] = []
    while True:
        alive = islands.alive(alive) if algebra is None else algebra.alive(alive)
        if not len(alive):
            return pool[taken]
        often = used[columns[alive]]
        gain = islands.gains(alive)
        worth = np.lexsort((-plausible[alive], often.sum(axis=1), often.max(axis=1), -gain, prices[alive]))
        chosen = int(alive[worth[0]])
        islands.take(chosen)
        if algebra is not None:
            algebra.take(chosen)
        used[columns[chosen]] += 1
        taken.append(chosen)


class _Islands:
    """Which values hang together so far. With two factors that is all there is to know."""

    def __init__(self, directions: OpenDirections, columns: Ints) -> None:
        island, self._sizes = islands_of(directions)
        self._ends = island[columns]

    def alive(self, candidates: Ints) -> Ints:
        """Those that still join something."""
        ends = self._ends[candidates]
        return np.asarray(candidates[(ends != ends[:, :1]).any(axis=1)])

    def gains(self, candidates: Ints) -> Numbers:
        """How many combinations each would make comparable."""
        gain, merged = joining_gains(self._ends[candidates], self._sizes)
        return np.asarray(np.round(gain - 1e-6 * merged.sum(axis=1)))

    def take(self, chosen: int) -> None:
        """Join the islands of a candidate."""
        parts = np.unique(self._ends[chosen])
        self._sizes[parts[0]] = self._sizes[parts].sum(axis=0)
        self._ends[np.isin(self._ends, parts)] = parts[0]


class _Algebra:
    """Any number of factors: what a candidate closes, exactly, modulo a prime."""

    def __init__(self, directions: OpenDirections, pool: Codes) -> None:
        self._directions, self._pool = directions, pool
        self._forms = directions.forms(np.arange(len(directions.open_values)))
        self._echelon = Echelon(self._forms.shape[1], directions.null.prime)
        self._rng = np.random.default_rng(directions.seed)

    def alive(self, candidates: Ints) -> Ints:
        """Those that still close something: a random open direction tells, with an error of one in 10^13."""
        if not self._echelon.free.any():
            return candidates[:0]
        values = product(self._forms, self._echelon.sample(2, self._rng), self._directions.null.prime)
        return candidates[self._directions.images(self._pool[candidates], values).any(axis=1)]

    def take(self, chosen: int) -> None:
        """Add a candidate."""
        self._echelon.add(self._directions.images(self._pool[chosen : chosen + 1], self._forms))
