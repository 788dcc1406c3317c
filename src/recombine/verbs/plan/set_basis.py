"""The goal "determined" where factors are sets: the fewest wells after which everything follows, if effects add up.

What a combination adds up is a row of ones: its elements, its ordinary values, and the level. Rows form a matroid
whatever their length, so every minimal plan has the same size, and taking candidates in the order of their price gives
the cheapest (`numerics.greedy_basis`). Candidates are compared by what the seen combinations leave open: their sums
under a basis of the null space, which is far narrower than the rows.

Where the space can be listed, every set that can be collected is a candidate, the smaller ones first among those of one
price. Where it cannot, a base and everything that differs from it by one element or one value: that spans the space, so
a plan from it is of the smallest size, and as cheap as any where all cost the same.
"""

import numpy as np

from recombine.base.errors import SpaceError
from recombine.base.progress import Progress
from recombine.base.words import count, listing
from recombine.data.sets import Sets
from recombine.data.support import Support
from recombine.numerics.greedy_basis import greedy_basis
from recombine.numerics.groups import Codes, Ints, Numbers
from recombine.numerics.modular_arithmetic import PRIMES
from recombine.numerics.null_space import null_vectors
from recombine.numerics.rows import IncidenceRows
from recombine.verbs.audit.determined_space import Determinacy
from recombine.verbs.audit.set_determinacy import SetDeterminacy, set_determinacy
from recombine.verbs.plan.choice import MOST_POINTS, BlockedValues, Choice, PlanMeasure, PlanNeed, affordable, points
from recombine.verbs.plan.collectable import Collectable, add_combinations
from recombine.verbs.plan.verdict import more_determined

_LISTED = 10**5  # combinations of a space up to which each is a candidate; each set gets a code
_MOST_FORMS = 3 * 10**7  # numbers of a basis of what is open: 240 MB
_COUNTED = 2 * 10**4  # entries of all rows that are solved to count what lines buy: some seconds
_TRIED = 6  # lines whose best order is found by counting after each choice
_NAMED = 3  # elements that a sentence names
_EXAMPLES = 10  # combinations that are shown of those that stay undetermined


def plan_set_basis(collectable: Collectable, *, budget: float | None, seed: int, tell: Progress) -> Choice:
    """Choose the sets to measure so that everything can be worked out.

    >>> import recombine
    >>> plan = recombine.plan({"given": ["ctrl", "A+B", "C"]}, sets={"drugs": "given:+"})
    >>> plan.verdict
    'Measure A: after it all 4 undetermined combinations follow, if the factors add up.'
    """
    tell("working out what is open", None)
    support = collectable.support
    today = set_determinacy(support, seed=seed)
    tell("choosing combinations", None)
    pool, listed = _candidates(collectable)
    price = collectable.price(pool)
    smallest = support.space.effects.rows(pool).lengths
    order = np.lexsort((smallest, price))[: int(np.isfinite(price).sum())]
    pool = pool[order]
    chosen = pool[greedy_basis(support.space.effects.rows(pool), _open_forms(support, today, seed))]
    tell("counting what each line buys", None)
    chosen = _best_first(support, collectable, chosen, seed)
    prices = collectable.price(chosen)
    kept = affordable(prices, budget)
    whole = _after(support, chosen, seed)
    missing = round(support.space.size - _count(whole, support)) if whole.exact else 0
    after, words = _counts_along(support, today, chosen[kept], seed)
    cheapest = listed or collectable.costs.uniform
    return Choice(
        codes=chosen[kept],
        prices=prices[kept],
        after=after,
        words=words,
        measure=PlanMeasure(
            "combinations determined", float(_count(today, support)), "higher", float(support.space.size)
        ),
        needed=_needed(prices, missing=missing, cheapest=cheapest),
        reached=not missing and len(kept) == len(chosen),
        blocked=_blocked(collectable, whole, missing) if missing else None,
        notes=_notes(today, whole, after, listed=listed),
        wells=tuple(", ".join(support.space.label_row(row).values()) for row in chosen[kept]),
    )


def _candidates(collectable: Collectable) -> tuple[Codes, bool]:
    """What may be measured, and whether that is every unseen combination."""
    if collectable.space.product <= _LISTED:
        return collectable.possible_unseen, True
    codes = _neighbours(collectable.support)
    return codes[~collectable.seen(codes)], False


def _neighbours(support: Support) -> Codes:
    """A base, and all that differs from it by one value, or by one element: exchanged, or added."""
    factors = support.space.factors
    changes = [
        np.arange(len(factor.values)) if factor.sets is None else _set_changes(factor.sets, support.effect_counts[k])
        for k, factor in enumerate(factors)
    ]
    base = [np.argmax(support.value_counts[k]) if f.sets is None else changes[k][0] for k, f in enumerate(factors)]
    rows = np.tile(np.array(base, dtype=np.int32), (1 + sum(map(len, changes)), 1))
    start = 1
    for k, mine in enumerate(changes):
        rows[start : start + len(mine), k] = mine
        start += len(mine)
    return np.unique(rows, axis=0)


def _set_changes(sets: Sets, counts: Numbers) -> Ints:
    """The codes of a smallest set of frequent elements, and of those that differ from it by one element."""
    frequent = np.argsort(-counts, kind="stable")
    base = np.sort(frequent[: sets.smallest])
    others = np.setdiff1d(np.arange(len(sets.elements)), base)
    found = [base[None]] if len(base) else []
    tables = [np.tile(base, (len(others), 1)) for _ in base]
    for place, table in enumerate(tables):
        table[:, place] = others
    found += tables
    rows = [IncidenceRows.equal(np.sort(table, axis=1), len(sets.elements)) for table in found]
    if not len(base):
        rows.append(IncidenceRows.listed([[]], len(sets.elements)))
    if sets.largest > sets.smallest:
        larger = np.concatenate([np.tile(base, (len(others), 1)), others[:, None]], axis=1)
        rows.append(IncidenceRows.equal(np.sort(larger, axis=1), len(sets.elements)))
    return np.concatenate([sets.codes_of(one) for one in rows]).astype(np.int64)


def _open_forms(support: Support, today: SetDeterminacy, seed: int) -> Numbers:
    """(w, d) A basis of what the seen combinations leave open, elements and values that were never seen included."""
    rows = support.space.effects.rows(support.codes)
    dimension = today.deficit + int((rows.counts() == 0).sum())
    if rows.width * dimension > _MOST_FORMS:
        raise SpaceError(
            f"{dimension:,} independent facts about {rows.width:,} elements and values are open",
            why=f"a basis of them has {rows.width * dimension:,} numbers, {_MOST_FORMS:,} at most are held",
            instead="declare fewer elements, or plan for a part of them first",
        )
    drawn = null_vectors(rows, prime=PRIMES[0], seed=seed, one_hot=False, vectors=max(dimension, 1))
    return drawn.values.astype(np.float64)


def _after(support: Support, codes: Codes, seed: int) -> SetDeterminacy:
    """What is determined once these combinations were measured too, by the arithmetic of the audit."""
    return set_determinacy(add_combinations(support, codes) if len(codes) else support, seed=seed)


def _count(solved: Determinacy, support: Support) -> int:
    return solved.count() - solved.count_impossible(support)[0]


def _best_first(support: Support, collectable: Collectable, codes: Codes, seed: int) -> Codes:
    """The lines that buy most for their price first, where they are few; else the cheap and small ones first."""
    rows = support.space.effects.rows(support.codes)
    if not 1 < len(codes) <= _TRIED or len(rows.columns) * len(codes) ** 2 > _COUNTED:
        return codes
    prices = np.maximum(collectable.price(codes), 1e-9)
    left, order = list(range(len(codes))), list[int]()
    while left:
        gains = [_count(_after(support, codes[[*order, line]], seed), support) / prices[line] for line in left]
        order.append(left.pop(int(np.argmax(gains))))
    return codes[order]


def _counts_along(support: Support, today: SetDeterminacy, codes: Codes, seed: int) -> tuple[Numbers, tuple[str, ...]]:
    """What is determined after each line, at some lines only where counting is dear."""
    total = len(codes)
    after = np.full(total, np.nan)
    words = ["counted together with the lines up to the next figure"] * total
    entries = len(support.space.effects.rows(support.codes).columns)
    shown = points(total, int(np.clip(_COUNTED / entries, 2, MOST_POINTS)))
    last, then = _count(today, support), 0
    for line in shown:
        now = _count(_after(support, codes[:line], seed), support)
        subject = "" if then == line - 1 else "with the lines before it, "
        after[line - 1] = now
        words[line - 1] = subject + (more_determined(now - last) if now > last else "a step that later lines complete")
        last, then = now, line
    return after, tuple(words)


def _needed(prices: Numbers, *, missing: int, cheapest: bool) -> PlanNeed:
    cost = float(prices.sum())
    if missing:
        said = "The goal cannot be reached in full; this is what it takes to come as close as was found."
        return PlanNeed(len(prices), cost, cheapest, said)
    said = "No smaller set of combinations reaches the goal" + (
        ", and none is cheaper." if cheapest else "; a cheaper one of the same size may exist."
    )
    return PlanNeed(len(prices), cost, cheapest, said)


def _notes(today: SetDeterminacy, whole: SetDeterminacy, after: Numbers, *, listed: bool) -> tuple[str, ...]:
    if not len(after):
        return ()
    how = (
        "Every set that can be collected was a candidate."
        if listed
        else "The space is too large to list: candidates differ from one set by one element, or by one other value."
    )
    some = f"What the {len(after):,} lines buy was counted at some of them only." if np.isnan(after).any() else ""
    drawn = "" if today.exact and whole.exact else "What is determined was estimated from sets drawn by size."
    return tuple(filter(None, (how, some, drawn)))


def _blocked(collectable: Collectable, found: SetDeterminacy, missing: int) -> BlockedValues:
    """The elements and values that nothing collectable ties to the rest."""
    space = collectable.space
    examples: Codes = np.zeros((0, len(space.factors)), dtype=np.int32)
    if space.product <= _LISTED:
        examples = collectable.possible_unseen
        examples = examples[~found.determined(examples)]
    held = space.effects.rows(examples).counts() if len(examples) else np.zeros(space.effects.width, dtype=np.int64)
    values: dict[str, tuple[str, ...]] = {}
    for factor, mine in zip(space.factors, np.split(held, space.effects.offsets[1:-1]), strict=False):
        most = [place for place in np.argsort(-mine, kind="stable")[:_NAMED] if mine[place]]
        values |= {factor.name: tuple(factor.effect_labels[place] for place in most)} if most else {}
    named = listing([f"{name}={one}" for name, several in values.items() for one in several][:_NAMED])
    tail = f", such as those with {named}" if named else ""
    said = (
        f"{count(missing)} combination{'s stay' if missing != 1 else ' stays'} undetermined{tail}: nothing that can be "
        "collected ties them to the rest."
    )
    shown = tuple(space.label_row(row) for row in examples[:_EXAMPLES])
    return BlockedValues(missing, "combinations", values, shown, said)
