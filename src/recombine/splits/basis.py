"""What training must keep so that it determines everything that is held out: a basis of the seen combinations.

A held-out combination is determined iff its one-hot row lies in the span of training's rows, so training must keep the
rank of the whole, and any basis will do. The greedy one is taken from the end of a random order: it is the basis whose
combinations stand latest, so what is held out stands early, as chance would have it.

Our own, because no library finds a basis of 10^5 sparse rows exactly: for two factors it is a spanning forest (values
are nodes, combinations edges). For more, combinations are taken out in batches, and those that the rest no longer
determines are put back; where that falls short, values that occur once are peeled off with their combination, and the
rest is eliminated modulo a prime.
"""

import numpy as np
import numpy.typing as npt

from recombine.algebra.graphs import spanning_forest
from recombine.algebra.groups import Ints, number
from recombine.algebra.modular import PRIMES, Echelon
from recombine.auditing.determinacy import determinacy
from recombine.splits.cover import Kept
from recombine.tables.support import Support

Mask = npt.NDArray[np.bool_]

_MOST_ELIMINATED = 2500
_BATCH = 256
_VECTORS = 3
_ROUNDS = 40


def kept_to_determine(support: Support, order: Ints, wanted: int) -> Kept:
    """Combinations that training keeps, late ones of `order`, so that it determines all others.

    It leaves `wanted` others where that is possible; how many are possible is known from the rank.

    >>> import recombine
    >>> square = recombine.read({"a": [0, 0, 1, 1], "b": [0, 1, 0, 1]}, factors=["a", "b"])
    >>> kept_to_determine(square, np.array([2, 0, 1, 3]), wanted=1).mask.tolist()
    [True, True, False, True]
    """
    rows = _variables(support)
    latest = order[::-1]
    if rows.shape[1] == 2:
        forest = np.zeros(len(rows), dtype=bool)
        forest[latest[spanning_forest(rows[latest], int(rows.max()) + 1)]] = True
        return Kept.of(forest, proven=True)
    most = len(support) - determinacy(support).rank
    if most < wanted:
        return Kept(np.ones(len(support), dtype=bool), most, proven=True)
    kept, core = _peeled(rows)
    tried = _by_batches(support, order[core[order]], wanted)
    if int((~tried).sum()) >= wanted or len(np.unique(rows[core])) > _MOST_ELIMINATED:
        return Kept.of(tried, proven=False)
    kept[_eliminated(rows, latest[core[latest]])] = True
    return Kept.of(kept, proven=True)


def _variables(support: Support) -> Ints:
    """Each combination as the numbers of its values, counted through all factors."""
    offsets = np.concatenate([[0], np.cumsum(support.space.sizes)[:-1]])
    plain = support.codes.astype(np.int64) + offsets
    return number(plain.ravel(), int(sum(support.space.sizes)))[1].reshape(plain.shape)


def _peeled(rows: Ints) -> tuple[Mask, Mask]:
    """Combinations that hold a value which no other holds, again and again: every basis has them."""
    active = np.ones(len(rows), dtype=bool)
    nodes = int(rows.max()) + 1
    while True:
        degree = np.bincount(rows[active].ravel(), minlength=nodes)
        alone = active & (degree[rows] == 1).any(axis=1)
        if not alone.any():
            return ~active, active
        active &= ~alone


def _eliminated(rows: Ints, latest: Ints) -> Ints:
    """The greedy basis in the order given: only rows that a random null vector contradicts are looked at."""
    if not len(latest):
        return latest
    nodes, local = number(rows[latest].ravel(), int(rows.max()) + 1)
    local = local.reshape(len(latest), -1)
    echelon = Echelon(len(nodes), PRIMES[0])
    rng = np.random.default_rng(0)  # decides only how exactness is reached, never what is found
    found: list[Ints] = []
    while True:
        drawn = echelon.sample(_VECTORS, rng)
        outside = np.flatnonzero(np.mod(drawn[local].sum(axis=1), PRIMES[0]).any(axis=1))[:_BATCH]
        if not len(outside):
            basis: Ints = latest[np.concatenate([*found, outside])]
            return basis
        batch = np.zeros((len(outside), len(nodes)))
        batch[np.arange(len(outside))[:, None], local[outside]] = 1
        found.append(outside[echelon.take(batch)])


def _by_batches(support: Support, candidates: Ints, wanted: int) -> Mask:
    """Take out as many as are still wanted, and put back those that the rest does not determine."""
    kept = np.ones(len(support), dtype=bool)
    waiting, returned = candidates, candidates[:0]
    size = wanted
    for _ in range(_ROUNDS):
        # training is never emptied, not even for a look
        missing = min(wanted - int((~kept).sum()), int(kept.sum()) - 1)
        if missing <= 0 or not len(waiting) + len(returned):
            break
        if not len(waiting):  # all had their chance: once more, in smaller batches
            waiting, returned, size = returned, returned[:0], max(1, size // 4)
        batch, waiting = waiting[: min(missing, size)], waiting[min(missing, size) :]
        kept[batch] = False
        found = determinacy(support.subset(np.flatnonzero(kept))).determined(support.codes[batch])
        kept[batch[~found]] = True
        returned = np.concatenate([returned, batch[~found]])
    return kept
