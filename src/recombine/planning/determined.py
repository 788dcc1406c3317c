"""The goal "determined": the fewest combinations after which every possible one is fixed under an additive rule.

The rows of combinations form a matroid, so every minimal plan has the same size (what the possible rows span, less what
the seen ones span), and taking candidates in the order of their price gives the cheapest. Where the space can be listed
all candidates are looked at; where it cannot, the base combination with one value changed, and random completions where
that is not collectable. What was planned is proved at the end by the audit's own arithmetic.
"""

import numpy as np

from recombine.algebra.groups import Codes, Ints, Numbers
from recombine.auditing.determinacy import determinacy
from recombine.errors import SpaceError
from recombine.planning import wording
from recombine.planning.choice import Blocked, Choice, Measure, Needed, affordable
from recombine.planning.collectable import Collectable, merged
from recombine.planning.joining import joining
from recombine.planning.loose import Loose
from recombine.planning.path import Path, along
from recombine.planning.selection import Selection, select
from recombine.tables.engine import Steps

_MOST_TRIED = 16
_FEW_FORMS = 3 * 10**7


def determined(
    collectable: Collectable, *, budget: float | None, seed: int, tell: Steps, pool: Codes | None = None
) -> Choice:
    """Choose what to collect so that everything can be worked out; from a pool alone, where one is given."""
    tell("working out what is open", None)
    loose = Loose.of(collectable.support, seed=seed)
    tell("choosing combinations", None)
    selection = select(loose, collectable, pool)
    ordered = _ordered(loose, collectable, selection)
    codes = ordered.codes(loose)
    prices = collectable.price(codes)
    whole = Path(loose, ordered)
    target = float(collectable.space.size)
    everything = whole.count(len(codes))
    missing = None if everything is None else round(target - everything)
    kept = affordable(prices, budget)
    path = whole if len(kept) == len(codes) else Path(loose, ordered.cut(kept))
    tell("counting what each line buys", None)
    after, words = along(path, tell)
    if pool is None:
        _prove(collectable, codes, whole)
    measure = (
        Measure("combinations determined", float(whole.count(0) or 0), "higher", target)
        if everything is not None
        else Measure("independent facts known", float(loose.today.rank), "higher", float(loose.today.rank + len(codes)))
    )
    return Choice(
        codes=path.codes,
        prices=prices[kept],
        after=after,
        words=words,
        measure=measure,
        needed=_needed(selection, prices, missing),
        reached=not missing and len(kept) == len(codes),
        blocked=_blocked(loose, collectable, whole, missing) if missing and pool is None else None,
        notes=_notes(selection, after, loose),
    )


def _ordered(loose: Loose, collectable: Collectable, selection: Selection) -> Selection:
    """The lines that join most first, those of one island together; exactly where there are few of them."""
    direct = selection.direct[_largest_first(loose, selection.direct)]
    others = selection.others[joining(loose, selection.others, collectable.price(selection.others))]
    ordered = Selection(direct, others, selection.cheapest, selection.listed)
    if not (collectable.listable and len(ordered.codes(loose)) <= _MOST_TRIED):
        return ordered
    if len(ordered.others) and len(ordered.direct):
        return ordered
    path = Path(loose, ordered)
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


def _largest_first(loose: Loose, direct: Ints) -> Ints:
    """An order of loose values: by how many values hang on each, with those of one island side by side."""
    if not len(direct):
        return direct
    nodes = loose.nodes[direct]
    if int(loose.offsets[-1]) * len(direct) <= _FEW_FORMS:
        weight = (loose.forms(direct) != 0).sum(axis=0)
    else:
        weight = np.concatenate(loose.support.value_counts)[nodes]
    island = np.concatenate(loose.today.islands)[nodes]
    alone = island < 0
    island = np.where(alone, loose.today.island_count + np.arange(len(nodes)), island)
    largest = np.zeros(int(island.max()) + 1)
    np.maximum.at(largest, island, weight)
    return np.lexsort((-weight, island, -largest[island]))


def _prove(collectable: Collectable, codes: Codes, path: Path) -> None:
    """The audit's own arithmetic on what the table would be: it must find the rank that was planned."""
    if not len(codes):
        return
    found = determinacy(merged(collectable.support, codes), seed=path.loose.seed)
    if found.rank != path.loose.today.rank + len(codes):  # pragma: no cover - would be a mistake of ours
        raise ArithmeticError(f"a plan of {len(codes)} lines raises the rank by {found.rank - path.loose.today.rank}")


def _needed(selection: Selection, prices: Numbers, missing: int | None) -> Needed:
    cost = float(prices.sum())
    if missing:
        said = "The goal cannot be reached in full; this is what it takes to come as close as was found."
        return Needed(len(prices), cost, selection.listed and selection.cheapest, said)
    said = "No smaller set of combinations reaches the goal" + (
        ", and none is cheaper." if selection.cheapest else "; a cheaper one of the same size may exist."
    )
    return Needed(len(prices), cost, selection.cheapest, said)


def _notes(selection: Selection, after: Numbers, loose: Loose) -> tuple[str, ...]:
    if not len(loose.nodes):
        return ()
    how = (
        "Every possible combination was a candidate."
        if selection.listed
        else "The space is too large to list: candidates are the best connected combination with one value changed"
        + (", and random completions." if len(selection.others) else ".")
    )
    some = f"What the {len(after):,} lines buy was counted at some of them only." if np.isnan(after).any() else ""
    return tuple(filter(None, (how, some)))


def _blocked(loose: Loose, collectable: Collectable, path: Path, missing: int) -> Blocked:
    """The values that nothing collectable ties to the rest, and why."""
    found = path.determinacy(list(range(len(path.codes))))
    apart = wording.outside(loose, found)
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
    return wording.blocked(collectable, missing, apart, hopeless, examples)
