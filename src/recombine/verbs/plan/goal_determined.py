"""The goal "determined": the fewest combinations after which every possible one is fixed under an additive rule.

The rows of combinations form a matroid, so every minimal plan has the same size (what the possible rows span, less what
the seen ones span), and taking candidates in the order of their price gives the cheapest. Where the space can be listed
all candidates are looked at; where it cannot, the base combination with one value changed, and random completions where
that is not collectable. What was planned is proved at the end by the arithmetic of the audit.

Three steps: *select* which combinations close what is open, *order* them so that the first ones buy most, and *count*
what is determined after each of them, exactly and without listing the space.
"""

from dataclasses import dataclass, replace

import numpy as np

from recombine.base.errors import SpaceError, TableError
from recombine.base.progress import Progress
from recombine.numerics.groups import ANY, Codes, Ints, Numbers
from recombine.numerics.modular_arithmetic import Echelon
from recombine.numerics.null_space import TooSparse
from recombine.numerics.value_graph import spanning_forest
from recombine.verbs.audit.determinacy import determinacy
from recombine.verbs.audit.determined_space import Determinacy
from recombine.verbs.plan import verdict
from recombine.verbs.plan.choice import MOST_POINTS, BlockedValues, Choice, PlanMeasure, PlanNeed, affordable, points
from recombine.verbs.plan.collectable import Collectable, add_combinations
from recombine.verbs.plan.open_directions import VECTORS, OpenDirections, order_by_joining
from recombine.verbs.plan.value_spread import affordable as spread_affordable
from recombine.verbs.plan.value_spread import spread_basis

_COMPLETIONS = 64  # random ones tried for each open value
_MOST_COMPLETIONS = 4 * 10**5  # and for all of them together
_MOST_SUMS = 10**7  # some ten seconds of counting, and at most that for one figure
_MOST_LOOKED_AT = 2 * 10**7  # values, over all figures together: some ten seconds again
_MOST_TRIED = 16  # lines whose best order is found by counting after each choice
_FEW_FORMS = 3 * 10**7  # entries of a matrix that is affordable only to find an order


@dataclass(frozen=True, eq=False)
class Selection:
    """The combinations that close what is open: first those that change one value of the base, then any others."""

    direct: Ints  # open values, each closed by its own changed row
    others: Codes
    cheapest: bool  # no other set of combinations is cheaper
    listed: bool  # every possible combination was looked at
    spread: bool = False  # over the values, so that a network carries over most of each

    def codes(self, directions: OpenDirections) -> Codes:
        """All of them, in order."""
        return np.concatenate([directions.one_change[self.direct], self.others])

    def cut(self, kept: Ints) -> "Selection":
        """Some of the lines, or all of them in another order; those that change one value of the base stay first."""
        first = kept[kept < len(self.direct)]
        others = kept[kept >= len(self.direct)] - len(self.direct)
        return replace(self, direct=self.direct[first], others=self.others[others])


def select(
    directions: OpenDirections, collectable: Collectable, pool: Codes | None = None, *, spread: bool = False
) -> Selection:
    """The cheapest combinations that close everything that can be closed; spread over the values, if it can be had."""
    nothing = directions.base[None][:0].astype(np.int32)
    every = np.arange(len(directions.open_values))
    if not len(every):
        return Selection(every, nothing, cheapest=True, listed=True)
    listed = pool is not None or collectable.listable
    if spread and pool is None and listed and _can_spread(directions, collectable):
        unseen = collectable.possible_unseen
        others = spread_basis(directions, unseen, collectable.price(unseen), collectable.plausible(unseen))
        return Selection(every[:0], others, cheapest=True, listed=True, spread=True)
    fine = np.isfinite(collectable.price(directions.one_change)) & (pool is None)
    direct = every[fine] if collectable.costs.uniform else every[:0]
    rest = every[~np.isin(every, direct)]
    if not len(rest):
        return Selection(direct, nothing, cheapest=True, listed=listed)
    replayed = pool is not None
    if pool is None:
        pool = collectable.possible_unseen if listed else _draw_candidates(directions, collectable, rest)
    pool = _by_price(pool, directions, collectable)
    if replayed:  # all of one price: among those, let the ones that join most come first
        pool = pool[order_by_joining(directions, pool, np.ones(len(pool)))]
    try:
        others = pool[_closing_rows(directions, pool, direct, rest)]
    except TooSparse:  # too many open directions for one matrix: what one change offers, at whatever price
        return Selection(every[fine], nothing, cheapest=False, listed=False)
    return Selection(direct, others, cheapest=listed or collectable.costs.uniform, listed=listed)


def _can_spread(directions: OpenDirections, collectable: Collectable) -> bool:
    size = int(directions.offsets[-1]) * len(directions.open_values)
    return spread_affordable(directions, len(collectable.possible_unseen)) and size <= _FEW_FORMS


def _closing_rows(directions: OpenDirections, pool: Codes, direct: Ints, rest: Ints) -> Ints:
    """Which of the candidates, in their order, close something that is still open."""
    if len(directions.base) == 2:  # islands are all there is, so a spanning tree needs no algebra
        linked = np.concatenate([directions.support.codes, directions.one_change[direct]])
        edges = np.concatenate([linked, pool]) + directions.offsets[:-1]
        taken = spanning_forest(edges, int(directions.offsets[-1])) - len(linked)
        return taken[taken >= 0]
    return directions.independent(pool, directions.forms(rest))[0]


def _by_price(pool: Codes, directions: OpenDirections, collectable: Collectable) -> Codes:
    """What can be collected, the cheapest first; of equal price, what has most values of the base."""
    price = collectable.price(pool)
    pool, price = pool[np.isfinite(price)], price[np.isfinite(price)]
    strange = (pool != directions.base).sum(axis=1)
    return pool[np.lexsort((strange, price))]


def _draw_candidates(directions: OpenDirections, collectable: Collectable, rest: Ints) -> Codes:
    """Candidates in a space that cannot be listed: for each open value the base with it, and random completions."""
    rng = np.random.default_rng(directions.seed)
    each = max(4, min(_COMPLETIONS, _MOST_COMPLETIONS // len(rest)))
    seen = directions.support.codes[rng.integers(0, len(directions.support), size=len(rest) * each)]
    sizes = np.array(collectable.space.sizes)
    anything = rng.integers(0, sizes, size=(len(rest) * each, len(sizes)))
    values = (directions.open_values - directions.offsets[directions.factor])[rest]
    priced = collectable.costs.patterns  # a line of the costs may be the only one that can be had
    drawn = [directions.one_change[rest], np.where(priced == ANY, directions.base, priced).astype(np.int32)]
    for rows in (seen.copy(), anything):
        rows[np.arange(len(rows)), np.repeat(directions.factor[rest], each)] = np.repeat(values, each)
        drawn.append(rows.astype(np.int32))
    found = np.unique(np.concatenate(drawn), axis=0)
    return found[~collectable.seen(found)]


class Trajectory:
    """The lines in order, and what is determined after any number of them.

    A line that changes one value of the base closes that open value and no other, so random null vectors after some
    such lines are random numbers with zeros there. Any other line is a constraint on the rest, eliminated modulo a
    prime. From there on it is the audit's way of counting.
    """

    def __init__(self, directions: OpenDirections, selection: Selection) -> None:
        self.directions, self.selection = directions, selection
        self.codes = selection.codes(directions)
        self._rest = np.flatnonzero(~np.isin(np.arange(len(directions.open_values)), selection.direct))
        self._flat = len(directions.base) == 2
        self._images = np.zeros((0, 0))
        if len(selection.others) and not self._flat:
            self._images = directions.images(selection.others, directions.forms(self._rest))

    def determinacy(self, lines: list[int]) -> Determinacy:
        """What is determined with some of the lines; those that change one value of the base come first in the path."""
        directions, width = self.directions, len(self.selection.direct)
        vectors = np.zeros((len(directions.open_values), VECTORS), dtype=np.int64)
        if not self._flat:
            rng = np.random.default_rng(directions.seed + 1)
            vectors = rng.integers(0, directions.null.prime, size=vectors.shape)
            vectors[self.selection.direct[[line for line in lines if line < width]]] = 0
            chosen = [line - width for line in lines if line >= width]
            if chosen:
                echelon = Echelon(len(self._rest), directions.null.prime)
                echelon.add(self._images[chosen])
                vectors[self._rest] = echelon.sample(VECTORS, rng).astype(np.int64)
        return directions.determinacy(self.codes[lines], vectors)

    def counted(self, solved: Determinacy) -> int:
        """How many possible combinations are determined."""
        return solved.count() - solved.count_impossible(self.directions.support)[0]

    def count_of(self, lines: list[int]) -> int:
        """The same with these lines."""
        return self.counted(self.determinacy(lines))

    def count(self, lines: int) -> int | None:
        """The same after the first lines; nothing where it cannot be counted."""
        try:
            return self.count_of(list(range(lines)))
        except TableError:
            return None


def counts_along(path: Trajectory, tell: Progress) -> tuple[Numbers, tuple[str, ...]]:
    """What is determined after each line, at some lines only where counting is dear, and what each line joins."""
    total = len(path.codes)
    after = np.full(total, np.nan)
    words = ["counted together with the lines up to the next figure"] * total
    before, last, then = path.determinacy([]), path.count(0), 0
    if last is None:
        return path.directions.today.rank + np.arange(1.0, total + 1), ("one more independent fact",) * total
    affordable = min(_MOST_SUMS / max(_sums(before), 1), _MOST_LOOKED_AT / _values(before))
    shown = points(total, int(np.clip(affordable, 2, MOST_POINTS)))
    for place, line in enumerate(shown):
        tell("counting what each line buys", place / len(shown))
        found = path.determinacy(list(range(line)))
        if _sums(found) > _MOST_SUMS and line < total:
            continue
        now = path.counted(found)
        after[line - 1] = now
        words[line - 1] = verdict.joining_text(path.directions, before, found, now - last, then == line - 1)
        before, last, then = found, now, line
    return after, tuple(words)


def _values(solved: Determinacy) -> int:
    return sum(map(len, solved.islands))


def _sums(solved: Determinacy) -> float:
    """About how many sums of signatures counting takes: in each island, the choices from half of its factors."""
    if not solved.deficit:
        return 0.0
    blocks = []
    for island, block in zip(solved.islands, solved.blocks, strict=True):
        first = np.unique(block[island >= 0], return_index=True)[1]
        blocks.append(np.bincount(island[island >= 0][first], minlength=solved.island_count))
    several = np.sort(np.array(blocks, dtype=np.float64), axis=0)
    half = several[:-1].prod(axis=0) if len(blocks) <= 3 else np.sqrt(several.prod(axis=0))
    return float(half.sum())


def plan_determined(
    collectable: Collectable,
    *,
    budget: float | None,
    seed: int,
    tell: Progress,
    pool: Codes | None = None,
    spread: bool = True,
) -> Choice:
    """Choose what to collect so that everything can be worked out; from a pool alone, where one is given.

    Of the smallest plans the one that is `spread` over the values serves networks and kernels; without it, lines share
    as many values as they can, which serves an exactly additive fit to noisy answers.
    """
    tell("working out what is open", None)
    directions = OpenDirections.of(collectable.support, seed=seed)
    tell("choosing combinations", None)
    selection = select(directions, collectable, pool, spread=spread)
    ordered = _order_lines(directions, collectable, selection)
    codes = ordered.codes(directions)
    prices = collectable.price(codes)
    whole = Trajectory(directions, ordered)
    target = float(collectable.space.size)
    everything = whole.count(len(codes))
    missing = None if everything is None else round(target - everything)
    kept = affordable(prices, budget)
    path = whole if len(kept) == len(codes) else Trajectory(directions, ordered.cut(kept))
    tell("counting what each line buys", None)
    after, words = counts_along(path, tell)
    if pool is None:
        _prove(collectable, codes, whole)
    measure = (
        PlanMeasure("combinations determined", float(whole.count(0) or 0), "higher", target)
        if everything is not None
        else PlanMeasure(
            "independent facts known", float(directions.today.rank), "higher", float(directions.today.rank + len(codes))
        )
    )
    return Choice(
        codes=path.codes,
        prices=prices[kept],
        after=after,
        words=words,
        measure=measure,
        needed=_needed(selection, prices, missing),
        reached=not missing and len(kept) == len(codes),
        blocked=_blocked(directions, collectable, whole, missing) if missing and pool is None else None,
        notes=_notes(selection, after, directions),
    )


def _order_lines(directions: OpenDirections, collectable: Collectable, selection: Selection) -> Selection:
    """The lines that join most first, those of one island together; exactly where there are few of them."""
    direct = selection.direct[_largest_first(directions, selection.direct)]
    others = selection.others[order_by_joining(directions, selection.others, collectable.price(selection.others))]
    ordered = replace(selection, direct=direct, others=others)
    if not (collectable.listable and len(ordered.codes(directions)) <= _MOST_TRIED):
        return ordered
    if len(ordered.others) and len(ordered.direct):
        return ordered
    path = Trajectory(directions, ordered)
    prices = np.maximum(collectable.price(path.codes), 1e-9)
    order: list[int] = []
    left = list(range(len(path.codes)))
    today = path.count_of(order)
    while left:
        gains = [(path.count_of([*order, line]) - today) / prices[line] for line in left]
        chosen = left.pop(int(np.argmax(gains)))
        order.append(chosen)
        today = path.count_of(order)
    return ordered.cut(np.array(order, dtype=np.int64))


def _largest_first(directions: OpenDirections, direct: Ints) -> Ints:
    """An order of open values: by how many values hang on each, with those of one island side by side."""
    if not len(direct):
        return direct
    nodes = directions.open_values[direct]
    if int(directions.offsets[-1]) * len(direct) <= _FEW_FORMS:
        weight = (directions.forms(direct) != 0).sum(axis=0)
    else:
        weight = np.concatenate(directions.support.value_counts)[nodes]
    island = np.concatenate(directions.today.islands)[nodes]
    alone = island < 0
    island = np.where(alone, directions.today.island_count + np.arange(len(nodes)), island)
    largest = np.zeros(int(island.max()) + 1)
    np.maximum.at(largest, island, weight)
    return np.lexsort((-weight, island, -largest[island]))


def _prove(collectable: Collectable, codes: Codes, path: Trajectory) -> None:
    """The audit's own arithmetic on what the table would be: it must find the rank that was planned."""
    if not len(codes):
        return
    found = determinacy(add_combinations(collectable.support, codes), seed=path.directions.seed)
    if found.rank != path.directions.today.rank + len(codes):  # pragma: no cover - would be a mistake of ours
        raise ArithmeticError(
            f"a plan of {len(codes)} lines raises the rank by {found.rank - path.directions.today.rank}"
        )


def _needed(selection: Selection, prices: Numbers, missing: int | None) -> PlanNeed:
    cost = float(prices.sum())
    if missing:
        said = "The goal cannot be reached in full; this is what it takes to come as close as was found."
        return PlanNeed(len(prices), cost, selection.listed and selection.cheapest, said)
    said = "No smaller set of combinations reaches the goal" + (
        ", and none is cheaper." if selection.cheapest else "; a cheaper one of the same size may exist."
    )
    return PlanNeed(len(prices), cost, selection.cheapest, said)


def _notes(selection: Selection, after: Numbers, directions: OpenDirections) -> tuple[str, ...]:
    if not len(directions.open_values):
        return ()
    how = (
        "Every combination that can be collected was a candidate."
        if selection.listed
        else "The space is too large to list: candidates are the best connected combination with one value changed"
        + (", and random completions." if len(selection.others) else ".")
    )
    if selection.spread:
        how += " Of plans of this size and price it is one that spreads over the values."
    some = f"What the {len(after):,} lines buy was counted at some of them only." if np.isnan(after).any() else ""
    return tuple(filter(None, (how, some)))


def _blocked(directions: OpenDirections, collectable: Collectable, path: Trajectory, missing: int) -> BlockedValues:
    """The values that nothing collectable ties to the rest, and why."""
    found = path.determinacy(list(range(len(path.codes))))
    apart = verdict.values_apart(directions, found)
    names = collectable.space.names
    try:
        hopeless = dict(enumerate(collectable.forbidden.infeasible((k,)) for k in range(len(names))))
    except SpaceError:  # too much to write out: the values are named without saying that all of theirs is barred
        hopeless = {}
    examples: Codes = np.zeros((0, len(names)), dtype=np.int32)
    if collectable.listable:
        codes = collectable.possible_unseen
        examples = codes[~found.determined(codes)]
        held = [np.isin(np.arange(size), examples[:, k]) for k, size in enumerate(collectable.space.sizes)]
        apart = [mine & there for mine, there in zip(apart, held, strict=True)]
    return verdict.blocked(collectable, missing, apart, hopeless, examples)
