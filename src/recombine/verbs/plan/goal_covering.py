"""The goals "pairs" and "triples": every conjunction of two or three values seen together at least once.

A covering array on top of what exists. Small ones are built twice, by covertable (with the seen combinations given to
it, and what cannot be collected as its constraints) and by our own greedy rows, and the cheaper one is taken; large
ones by greedy rows alone. Whoever built it, what it covers is counted here: all that can be covered, and nothing
less.

A greedy row starts from a conjunction that is still open and takes, factor after factor, the value that covers most. A
value is taken only if the row can still be completed, which is a count of forbidden cells, or a search where these are
too many (see `collectable`), so no step is ever taken back. Our own, because the libraries start from an empty table,
know no prices, and walk pair by pair.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from recombine.base.errors import SettingError
from recombine.base.progress import Progress
from recombine.base.words import count
from recombine.data.space import Space
from recombine.numerics.groups import Codes, Flags, Ints, Numbers
from recombine.verbs.plan.choice import BlockedValues, Choice, PlanMeasure, PlanNeed, affordable, first_best
from recombine.verbs.plan.collectable import Collectable, ForbiddenCells

ORDERS = {"pairs": 2, "triples": 3}
MOST_CONJUNCTIONS = 10**7  # a flag each, and as many candidates to start a row from
_FOR_COVERTABLE = 4_000  # conjunctions up to which covertable is asked as well: its loops are Python's
_SEEN_FOR_COVERTABLE = 500  # combinations given to it to build on
_STARTS = 3  # greedy arrays that are built, of which the cheapest is taken
_EXAMPLES = 10  # conjunctions that are shown of those that cannot be covered
_TRIED = 12  # rows that are built for each one that is taken
_SLICES = 12_000  # looked at for one row, all tries together
_FEW_ROWS = 2_000  # up to so many are put into the order of their gain, which takes their square


@dataclass(frozen=True, eq=False)
class Conjunctions:
    """All conjunctions of t factors of a space, numbered from 0 through all sets of t factors.

    >>> space = Space.of({"a": [0, 1], "b": [0, 1], "c": [0, 1, 2]})
    >>> pairs = Conjunctions.of(space, 2)
    >>> pairs.total, pairs.numbers(np.array([[1, 0, 2]])).tolist()
    (16, [[2, 9, 12]])
    """

    sizes: tuple[int, ...]
    sets: tuple[tuple[int, ...], ...]
    starts: Ints

    @classmethod
    def of(cls, space: Space, order: int) -> "Conjunctions":
        """Number the conjunctions of an order; too many of them are refused."""
        sizes = space.sizes
        word = {2: "pairs", 3: "triples"}[order]
        if order > len(sizes):
            raise SettingError(
                f"goal={word!r} with {len(sizes)} factors",
                why=f"a {word.removesuffix('s')} has one value of each of {order} factors",
                instead="write goal='pairs'",
            )
        total = _elementary(sizes, order)
        if total > MOST_CONJUNCTIONS:
            raise SettingError(
                f"there are {total:,} {word} of values to cover",
                why=f"each is kept in mind, {MOST_CONJUNCTIONS:,} at most, and a plan would have as many lines as the "
                "two largest factors have pairs",
                instead="plan for fewer factors, group rare values, or take goal='determined', which needs far fewer",
            )
        sets = tuple(combinations(range(len(sizes)), order))
        lengths = [math.prod(sizes[k] for k in chosen) for chosen in sets]
        return cls(sizes, sets, np.concatenate([[0], np.cumsum(lengths)]))

    @property
    def total(self) -> int:
        """How many there are."""
        return int(self.starts[-1])

    def numbers(self, codes: Codes) -> Ints:
        """The numbers of the conjunctions that each combination holds: (combinations, sets)."""
        found = np.empty((len(codes), len(self.sets)), dtype=np.int64)
        for place, chosen in enumerate(self.sets):
            key = np.zeros(len(codes), dtype=np.int64)
            for k in chosen:
                key = key * self.sizes[k] + codes[:, k]
            found[:, place] = key + self.starts[place]
        return found

    def covered(self, codes: Codes) -> Flags:
        """Which conjunctions some combinations hold."""
        flags = np.zeros(self.total, dtype=bool)
        for start in range(0, len(codes), 1 << 16):
            flags[self.numbers(codes[start : start + (1 << 16)]).ravel()] = True
        return flags

    def values(self, number: int) -> dict[int, int]:
        """One conjunction: the value of each of its factors."""
        place = int(np.searchsorted(self.starts, number, side="right")) - 1
        chosen = self.sets[place]
        codes = np.unravel_index(number - int(self.starts[place]), [self.sizes[k] for k in chosen])
        return dict(zip(chosen, map(int, codes), strict=True))


def _elementary(sizes: tuple[int, ...], order: int) -> int:
    """The sum over all sets of `order` factors of the product of their sizes, without listing the sets."""
    sums = [1] + [0] * order
    for size in sizes:
        for place in range(order, 0, -1):
            sums[place] += sums[place - 1] * size
    return sums[order]


def plan_covering(collectable: Collectable, goal: str, *, budget: float | None, seed: int, tell: Progress) -> Choice:
    """Choose combinations that together hold every possible pair, or triple, of values."""
    order = ORDERS[goal]
    conjunctions = Conjunctions.of(collectable.space, order)
    seen = conjunctions.covered(collectable.support.codes)
    impossible, infeasible = _out_of_reach(collectable, conjunctions)
    open_ = ~seen & ~infeasible
    rows = _cheapest(collectable, conjunctions, open_, seed, tell)
    _check(conjunctions, rows, open_)
    prices = collectable.price(rows)
    ranked = order_by_gain(rows, prices, conjunctions, open_, collectable.plausible(rows))
    rows, prices = rows[ranked], prices[ranked]
    needed = PlanNeed(len(rows), float(prices.sum()), _is_least(collectable, conjunctions, rows), _SAID)
    if collectable.space.product == conjunctions.total:
        needed = PlanNeed(len(rows), float(prices.sum()), True, "Each of them is the only one that holds its values.")
    kept = affordable(prices, budget)
    rows, prices = rows[kept], prices[kept]
    gained = _gains(conjunctions, rows, open_)
    blocked = ~seen & infeasible & ~impossible
    return Choice(
        codes=rows,
        prices=prices,
        after=int((seen & ~impossible).sum()) + np.cumsum(gained).astype(np.float64),
        words=tuple(f"{count(int(gain))} new {goal if gain != 1 else goal.removesuffix('s')}" for gain in gained),
        measure=PlanMeasure(f"{goal} covered", float(seen.sum()), "higher", float((~impossible | seen).sum())),
        needed=needed,
        reached=len(kept) == len(ranked) and not blocked.any(),
        blocked=_blocked(collectable, conjunctions, blocked, goal) if blocked.any() else None,
        notes=_notes(impossible & ~seen, goal),
    )


_SAID = "Fewer may do: no quick way is known to find the smallest covering array."


def _out_of_reach(collectable: Collectable, conjunctions: Conjunctions) -> tuple[Flags, Flags]:
    """Conjunctions that cannot occur at all, and those that nothing collectable holds, the former included."""
    infeasible = _infeasible(collectable, conjunctions)
    if not len(collectable.costs.uncollectable):
        return infeasible, infeasible
    free = Collectable(collectable.support, type(collectable.costs).of(None, collectable.space))
    return _infeasible(free, conjunctions), infeasible


def _infeasible(collectable: Collectable, conjunctions: Conjunctions) -> Flags:
    return np.concatenate([collectable.forbidden.infeasible(chosen) for chosen in conjunctions.sets])


def _cheapest(collectable: Collectable, conjunctions: Conjunctions, open_: Flags, seed: int, tell: Progress) -> Codes:
    width = len(conjunctions.sizes)
    if not open_.any():
        return np.zeros((0, width), dtype=np.int32)
    if width == len(conjunctions.sets[0]):  # the conjunctions are the combinations
        every = np.unravel_index(np.flatnonzero(open_), conjunctions.sizes)
        return np.stack(every, axis=1).astype(np.int32)
    small = conjunctions.total <= _FOR_COVERTABLE
    offers = []
    for start in range(_STARTS if small else 1):
        built = list(RowBuilder(collectable, conjunctions, open_, seed + start).rows(tell))
        offers.append(np.stack(built))
    forbidden = collectable.forbidden
    if small and len(collectable.support) <= _SEEN_FOR_COVERTABLE and isinstance(forbidden, ForbiddenCells):
        tell("covering with covertable", None)
        offers.append(_by_covertable(collectable, conjunctions, forbidden))
    complete = [
        without_redundant(rows, collectable.price(rows), conjunctions, open_)
        for rows in offers
        if _complete(conjunctions, rows, open_)
    ]
    return min(complete, key=lambda rows: (float(collectable.price(rows).sum()), len(rows)))


def _by_covertable(collectable: Collectable, conjunctions: Conjunctions, forbidden: ForbiddenCells) -> Codes:
    """What covertable adds to the seen combinations; values go by their positions, factors by their places."""
    from covertable import make  # type: ignore[import-untyped]  # noqa: PLC0415 - loaded only where it is used

    seen = [dict(enumerate(row)) for row in collectable.support.codes.tolist()]
    spoken, barred = forbidden.spoken, set(map(tuple, forbidden.cells[:, list(forbidden.spoken)].tolist()))
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
    return (f"{count(number)} {goal} of values cannot occur (declared so, or suspected), and need not be covered.",)


def _blocked(collectable: Collectable, conjunctions: Conjunctions, open_: Flags, goal: str) -> BlockedValues:
    space = collectable.space
    numbers = np.flatnonzero(open_)
    shown = [conjunctions.values(int(number)) for number in numbers[:1000]]
    examples = tuple({space.factors[k].name: space.factors[k].labels[v] for k, v in one.items()} for one in shown)
    held: dict[str, dict[str, None]] = {}
    for name, label in chain.from_iterable(one.items() for one in examples):
        held.setdefault(name, {})[label] = None
    values = {name: tuple(labels)[:20] for name, labels in held.items()}
    first = ", ".join(f"{name}={label}" for name, label in examples[0].items())
    plural = goal if len(numbers) != 1 else goal.removesuffix("s")
    said = (
        f"{count(len(numbers))} {plural} of values cannot be covered, such as {first}: "
        "nothing that holds them can be collected."
    )
    return BlockedValues(len(numbers), goal, values, examples[:_EXAMPLES], said)


class RowBuilder:
    """Builds rows that cover what is open."""

    def __init__(self, collectable: Collectable, conjunctions: Conjunctions, open_: Flags, seed: int) -> None:
        self._collectable, self._all = collectable, conjunctions
        self._open = open_.copy()
        self._rng = np.random.default_rng(seed)
        self._sizes = conjunctions.sizes
        self._place = {chosen: place for place, chosen in enumerate(conjunctions.sets)}
        self._order = len(conjunctions.sets[0])
        self._forbidden = collectable.forbidden

    def rows(self, tell: Progress) -> Iterator[npt.NDArray[np.int32]]:
        """Rows until nothing that can be covered is open."""
        total = max(int(self._open.sum()), 1)
        last = 0
        numbers = np.flatnonzero(self._open)
        while len(numbers):
            tried = np.stack([self._row(int(numbers[i])) for i in self._starts(numbers)])
            gain = self._open[self._all.numbers(tried)].sum(axis=1)
            price = np.maximum(self._collectable.price(tried), 1e-9)
            best = tried[int(np.argmax(gain / price))]
            self._open[self._all.numbers(best[None]).ravel()] = False
            yield best
            last += 1
            if last % 16 == 0 or len(numbers) < 4096:
                numbers = numbers[self._open[numbers]]
            else:
                numbers = numbers[np.argmax(self._open[numbers]) :] if self._open[numbers].any() else numbers[:0]
            tell("covering", 1 - len(numbers) / total)

    def _starts(self, numbers: Ints) -> Ints:
        """Several open conjunctions to start from: more tries while rows are few."""
        tries = int(np.clip(_SLICES // len(self._all.sets), 1, _TRIED)) if len(numbers) <= 50_000 else 1
        found = self._rng.integers(0, len(numbers), size=tries)
        found[0] = 0  # the first one, so that every round closes at least one
        return np.where(self._open[numbers[found]], found, 0)

    def _row(self, number: int) -> npt.NDArray[np.int32]:
        row = np.full(len(self._sizes), -1, dtype=np.int32)
        barred: Any = self._forbidden.start()
        for k, value in self._all.values(number).items():
            row[k] = value
            barred = self._forbidden.after(barred, k, value)
        left = [k for k in range(len(row)) if row[k] < 0]
        self._rng.shuffle(left)
        for k in left:
            gain = self._gain(row, k) + self._rng.random(self._sizes[k]) * 0.5
            if k == left[-1] and not self._collectable.costs.uniform:
                gain = (gain + 1) / self._prices(row, k)
            gain[self._forbidden.dead(barred, row, k)] = -1.0
            row[k] = int(np.argmax(gain))
            barred = self._forbidden.after(barred, k, int(row[k]))
        return row

    def _gain(self, row: npt.NDArray[np.int32], k: int) -> Numbers:
        """How many open conjunctions each value of a factor would close, given the values chosen so far."""
        fixed = np.flatnonzero(row >= 0).tolist()
        total = np.zeros(self._sizes[k])
        for others in combinations(fixed, self._order - 1):
            chosen = tuple(sorted((*others, k)))
            place = self._place[chosen]
            shape = [self._sizes[j] for j in chosen]
            start = int(self._all.starts[place])
            flags = self._open[start : start + int(np.prod(shape))].reshape(shape)
            total += flags[tuple(slice(None) if j == k else int(row[j]) for j in chosen)]
        return total

    def _prices(self, row: npt.NDArray[np.int32], k: int) -> Numbers:
        """What the row would cost with each value of its last factor."""
        rows = np.repeat(row[None], self._sizes[k], axis=0)
        rows[:, k] = np.arange(self._sizes[k])
        return np.maximum(self._collectable.price(rows), 1e-9)


def without_redundant(rows: Codes, prices: Numbers, conjunctions: Conjunctions, open_: Flags) -> Codes:
    """The same rows without those that cover nothing that the others leave open; the dearest are dropped first."""
    numbers = conjunctions.numbers(rows)
    times = np.bincount(numbers.ravel(), minlength=conjunctions.total)
    kept = np.ones(len(rows), dtype=bool)
    for place in np.lexsort((-np.arange(len(rows)), -prices)).tolist():
        mine = numbers[place][open_[numbers[place]]]
        if (times[mine] > 1).all():
            kept[place] = False
            times[numbers[place]] -= 1
    return rows[kept]


def order_by_gain(
    rows: Codes, prices: Numbers, conjunctions: Conjunctions, open_: Flags, plausible: Numbers | None = None
) -> Ints:
    """An order in which each row covers most of what is still open for its price, of equal ones the most plausible.

    Long lists keep their order, unless each row covers one alone.
    """
    likely = np.zeros(len(rows)) if plausible is None else plausible
    if len(rows) > _FEW_ROWS:
        return np.lexsort((-likely, prices)) if len(conjunctions.sets) == 1 else np.arange(len(rows))
    numbers = conjunctions.numbers(rows)
    still = open_.copy()
    left = np.ones(len(rows), dtype=bool)
    order = []
    for _ in range(len(rows)):
        gain = np.where(left, still[numbers].sum(axis=1) / np.maximum(prices, 1e-9), -1.0)
        chosen = first_best(gain, likely)
        left[chosen] = False
        still[numbers[chosen]] = False
        order.append(chosen)
    return np.array(order, dtype=np.int64)
