"""The goals "pairs" and "triples": every conjunction of two or three values seen together at least once.

A covering array on top of what exists. Small ones are built twice, by covertable (with the seen combinations given to
it, and what cannot be collected as its constraints) and by our own greedy rows, and the cheaper one is taken; large
ones by greedy rows alone. Whoever built it, what it covers is counted here: all that can be covered, and nothing
less.
"""

from itertools import chain

import numpy as np

from recombine.algebra.groups import Codes, Numbers
from recombine.planning.choice import Blocked, Choice, Measure, Needed, affordable
from recombine.planning.collectable import Collectable
from recombine.planning.coverage import Conjunctions, Flags
from recombine.planning.rows import Builder, most_first, needed_rows
from recombine.tables.engine import Steps
from recombine.words import count

ORDERS = {"pairs": 2, "triples": 3}
_FOR_COVERTABLE = 4_000
_SEEN_FOR_COVERTABLE = 500
_STARTS = 3
_EXAMPLES = 10


def covering(collectable: Collectable, goal: str, *, budget: float | None, seed: int, tell: Steps) -> Choice:
    """Choose combinations that together hold every possible pair, or triple, of values."""
    order = ORDERS[goal]
    conjunctions = Conjunctions.of(collectable.space, order)
    seen = conjunctions.covered(collectable.support.codes)
    impossible, infeasible = _out_of_reach(collectable, conjunctions)
    open_ = ~seen & ~infeasible
    rows = _cheapest(collectable, conjunctions, open_, seed, tell)
    _check(conjunctions, rows, open_)
    prices = collectable.price(rows)
    ranked = most_first(rows, prices, conjunctions, open_)
    rows, prices = rows[ranked], prices[ranked]
    needed = Needed(len(rows), float(prices.sum()), _is_least(collectable, conjunctions, rows), _SAID)
    if collectable.space.product == conjunctions.total:
        needed = Needed(len(rows), float(prices.sum()), True, "Each of them is the only one that holds its values.")
    kept = affordable(prices, budget)
    rows, prices = rows[kept], prices[kept]
    gained = _gains(conjunctions, rows, open_)
    blocked = ~seen & infeasible & ~impossible
    return Choice(
        codes=rows,
        prices=prices,
        after=int((seen & ~impossible).sum()) + np.cumsum(gained).astype(np.float64),
        words=tuple(f"{count(int(gain))} new {goal if gain != 1 else goal.removesuffix('s')}" for gain in gained),
        measure=Measure(f"{goal} covered", float(seen.sum()), "higher", float((~impossible | seen).sum())),
        needed=needed,
        reached=len(kept) == len(ranked) and not blocked.any(),
        blocked=_blocked(collectable, conjunctions, blocked, goal) if blocked.any() else None,
        notes=_notes(impossible & ~seen, goal),
    )


_SAID = "Fewer may do: no quick way is known to find the smallest covering array."


def _out_of_reach(collectable: Collectable, conjunctions: Conjunctions) -> tuple[Flags, Flags]:
    """Conjunctions that cannot occur at all, and those that nothing collectable holds, the former included."""
    infeasible = _infeasible(collectable, conjunctions)
    if not len(collectable.costs.forbidding):
        return infeasible, infeasible
    free = Collectable(collectable.support, type(collectable.costs).of(None, collectable.space))
    return _infeasible(free, conjunctions), infeasible


def _infeasible(collectable: Collectable, conjunctions: Conjunctions) -> Flags:
    return np.concatenate([collectable.forbidden.infeasible(chosen) for chosen in conjunctions.sets])


def _cheapest(collectable: Collectable, conjunctions: Conjunctions, open_: Flags, seed: int, tell: Steps) -> Codes:
    width = len(conjunctions.sizes)
    if not open_.any():
        return np.zeros((0, width), dtype=np.int32)
    if width == len(conjunctions.sets[0]):  # the conjunctions are the combinations
        every = np.unravel_index(np.flatnonzero(open_), conjunctions.sizes)
        return np.stack(every, axis=1).astype(np.int32)
    small = conjunctions.total <= _FOR_COVERTABLE
    offers = []
    for start in range(_STARTS if small else 1):
        built = list(Builder(collectable, conjunctions, open_, seed + start).rows(tell))
        offers.append(np.stack(built))
    if small and len(collectable.support) <= _SEEN_FOR_COVERTABLE:
        tell("covering with covertable", None)
        offers.append(_by_covertable(collectable, conjunctions))
    complete = [
        needed_rows(rows, collectable.price(rows), conjunctions, open_)
        for rows in offers
        if _complete(conjunctions, rows, open_)
    ]
    return min(complete, key=lambda rows: (float(collectable.price(rows).sum()), len(rows)))


def _by_covertable(collectable: Collectable, conjunctions: Conjunctions) -> Codes:
    """What covertable adds to the seen combinations; values go by their positions, factors by their places."""
    from covertable import make  # type: ignore[import-untyped]  # noqa: PLC0415 - loaded only where it is used

    seen = [dict(enumerate(row)) for row in collectable.support.codes.tolist()]
    spoken = collectable.forbidden.spoken
    barred = set(map(tuple, collectable.forbidden.cells[:, list(spoken)].tolist()))
    rules = [
        {
            "operator": "fn",
            "requires": list(spoken),
            "evaluate": lambda row: tuple(row[k] for k in spoken) not in barred,
        }
    ]
    made = make(
        {k: list(range(size)) for k, size in enumerate(conjunctions.sizes)},
        strength=len(conjunctions.sets[0]),
        presets=seen,
        constraints=rules if barred else None,
    )
    rows = np.array([[row[k] for k in range(len(conjunctions.sizes))] for row in made], dtype=np.int32)
    rows = rows.reshape(-1, len(conjunctions.sizes))
    return rows[~collectable.seen(rows) & np.isfinite(collectable.price(rows))]


def _complete(conjunctions: Conjunctions, rows: Codes, open_: Flags) -> bool:
    return not (open_ & ~conjunctions.covered(rows)).any()


def _check(conjunctions: Conjunctions, rows: Codes, open_: Flags) -> None:
    """What is left open must be what cannot be covered, counted anew."""
    if not _complete(conjunctions, rows, open_):  # pragma: no cover - would be a mistake of ours
        raise ArithmeticError("a covering plan leaves open what it could have covered")


def _is_least(collectable: Collectable, conjunctions: Conjunctions, rows: Codes) -> bool:
    """Whether no plan can be smaller: each row is the most that one can cover, or pairs of two factors need as many."""
    if not collectable.costs.uniform:
        return False
    seen = conjunctions.covered(collectable.support.codes)
    open_ = ~seen & ~_infeasible(collectable, conjunctions)
    per_set = np.add.reduceat(open_, conjunctions.starts[:-1]) if len(rows) else np.zeros(1)
    return len(rows) == int(per_set.max())


def _gains(conjunctions: Conjunctions, rows: Codes, open_: Flags) -> Numbers:
    """How many conjunctions each row covers that were open before it."""
    numbers = conjunctions.numbers(rows)
    if not len(rows):
        return np.zeros(0)
    first = np.full(conjunctions.total, len(rows), dtype=np.int64)
    np.minimum.at(first, numbers.ravel(), np.repeat(np.arange(len(rows)), numbers.shape[1]))
    mine = (first[numbers] == np.arange(len(rows))[:, None]) & open_[numbers]
    return np.asarray(mine.sum(axis=1), dtype=np.float64)


def _notes(impossible: Flags, goal: str) -> tuple[str, ...]:
    number = int(impossible.sum())
    if not number:
        return ()
    return (f"{count(number)} {goal} of values cannot occur, as declared, and need not be covered.",)


def _blocked(collectable: Collectable, conjunctions: Conjunctions, open_: Flags, goal: str) -> Blocked:
    space = collectable.space
    numbers = np.flatnonzero(open_)
    shown = [conjunctions.values(int(number)) for number in numbers[:1000]]
    examples = tuple({space.factors[k].name: space.factors[k].labels[v] for k, v in one.items()} for one in shown)
    held: dict[str, dict[str, None]] = {}
    for name, label in chain.from_iterable(one.items() for one in examples):
        held.setdefault(name, {})[label] = None
    values = {name: tuple(labels)[:20] for name, labels in held.items()}
    first = " and ".join(repr(label) for label in examples[0].values())
    plural = goal if len(numbers) != 1 else goal.removesuffix("s")
    said = (
        f"{count(len(numbers))} {plural} of values cannot be covered, such as {first}: "
        "nothing that holds them can be collected."
    )
    return Blocked(len(numbers), goal, values, examples[:_EXAMPLES], said)
