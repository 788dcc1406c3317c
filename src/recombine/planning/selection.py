"""Which combinations close what is open, at the lowest price."""

from dataclasses import dataclass

import numpy as np

from recombine.algebra.graphs import spanning_forest
from recombine.algebra.groups import Codes, Ints
from recombine.algebra.nullspace import TooSparse
from recombine.planning.collectable import Collectable
from recombine.planning.joining import joining
from recombine.planning.loose import Loose
from recombine.tables.space import ANY

_COMPLETIONS = 64
_MOST_COMPLETIONS = 4 * 10**5


@dataclass(frozen=True, eq=False)
class Selection:
    """The combinations that close what is open: first those that change one value of the base, then any others."""

    direct: Ints  # loose coordinates, each closed by its own row of the star
    others: Codes
    cheapest: bool  # no other set of combinations is cheaper
    listed: bool  # every possible combination was looked at

    def codes(self, loose: Loose) -> Codes:
        """All of them, in order."""
        return np.concatenate([loose.star[self.direct], self.others])

    def cut(self, kept: Ints) -> "Selection":
        """Some of the lines, or all of them in another order; those that change one value of the base stay first."""
        first = kept[kept < len(self.direct)]
        others = kept[kept >= len(self.direct)] - len(self.direct)
        return Selection(self.direct[first], self.others[others], self.cheapest, self.listed)


def select(loose: Loose, collectable: Collectable, pool: Codes | None = None) -> Selection:
    """The cheapest combinations that close everything that can be closed."""
    nothing = loose.base[None][:0].astype(np.int32)
    every = np.arange(len(loose.nodes))
    if not len(every):
        return Selection(every, nothing, cheapest=True, listed=True)
    listed = pool is not None or collectable.listable
    fine = np.isfinite(collectable.price(loose.star)) & (pool is None)
    direct = every[fine] if collectable.costs.uniform else every[:0]
    rest = every[~np.isin(every, direct)]
    if not len(rest):
        return Selection(direct, nothing, cheapest=True, listed=listed)
    replayed = pool is not None
    if pool is None:
        pool = collectable.possible_unseen if listed else _drawn(loose, collectable, rest)
    pool = _by_price(pool, loose, collectable)
    if replayed:  # all of one price: among those, let the ones that join most come first
        pool = pool[joining(loose, pool, np.ones(len(pool)))]
    try:
        others = pool[_closing(loose, pool, direct, rest)]
    except TooSparse:  # too many open directions for one matrix: what the star offers, at whatever price
        return Selection(every[fine], nothing, cheapest=False, listed=False)
    return Selection(direct, others, cheapest=listed or collectable.costs.uniform, listed=listed)


def _closing(loose: Loose, pool: Codes, direct: Ints, rest: Ints) -> Ints:
    """Which of the candidates, in their order, close something that is still open."""
    if len(loose.base) == 2:  # islands are all there is, so a spanning tree needs no algebra
        linked = np.concatenate([loose.support.codes, loose.star[direct]])
        edges = np.concatenate([linked, pool]) + loose.offsets[:-1]
        taken = spanning_forest(edges, int(loose.offsets[-1])) - len(linked)
        return taken[taken >= 0]
    return loose.independent(pool, loose.forms(rest))[0]


def _by_price(pool: Codes, loose: Loose, collectable: Collectable) -> Codes:
    """What can be collected, the cheapest first; of equal price, what has most values of the base."""
    price = collectable.price(pool)
    pool, price = pool[np.isfinite(price)], price[np.isfinite(price)]
    strange = (pool != loose.base).sum(axis=1)
    return pool[np.lexsort((strange, price))]


def _drawn(loose: Loose, collectable: Collectable, rest: Ints) -> Codes:
    """Candidates in a space that cannot be listed: for each open value its star row, and random completions."""
    rng = np.random.default_rng(loose.seed)
    each = max(4, min(_COMPLETIONS, _MOST_COMPLETIONS // len(rest)))
    seen = loose.support.codes[rng.integers(0, len(loose.support), size=len(rest) * each)]
    sizes = np.array(collectable.space.sizes)
    anything = rng.integers(0, sizes, size=(len(rest) * each, len(sizes)))
    values = (loose.nodes - loose.offsets[loose.factor])[rest]
    priced = collectable.costs.patterns  # a line of the costs may be the only one that can be had
    drawn = [loose.star[rest], np.where(priced == ANY, loose.base, priced).astype(np.int32)]
    for rows in (seen.copy(), anything):
        rows[np.arange(len(rows)), np.repeat(loose.factor[rest], each)] = np.repeat(values, each)
        drawn.append(rows.astype(np.int32))
    found = np.unique(np.concatenate(drawn), axis=0)
    return found[~collectable.seen(found)]
