"""The order in which a plan is short to walk through, where it costs something to change a factor between two lines.

A plan lists first what buys most. Somebody who records it pays for what is changed from one combination to the next:
ten minutes for another table, ten seconds for the lamp. The shortest walk is a travelling salesman's path, with the
distance of two combinations the sum over the factors in which they differ. It starts anywhere, at no cost.

Nearest neighbours from several starts and the order by the dearest factor are improved by turning parts of the walk
around (2-opt) and by moving short parts (or-opt) until nothing helps. On 200 random plans of up to 7 combinations this
found the shortest walk each time (`tests/plan/test_shot_list.py`); longer walks are short, not proved to be shortest.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from recombine.base.errors import SettingError, nearest
from recombine.base.words import count
from recombine.data.space import Space
from recombine.numerics.groups import Codes, Ints, Numbers
from recombine.verbs.plan.choice import Choice
from recombine.verbs.plan.collectable import Collectable, Costs
from recombine.verbs.plan.plan_settings import CHANGE, SHOT

_MOST = 500  # lines whose walk is improved; longer ones are sorted by the dearest factor
_STARTS = 24
_FEW_STARTS = (100, 4)  # beyond so many lines, so many starts
_MOVED = 3  # lines that are moved together
_HELPS = 1e-9
_SET_UPS = 3  # tried as the one around which lines lie; each is a plan more


def change_costs(given: Any, space: Space) -> Numbers | None:
    """What a change of each factor costs, checked; None where nothing was said. A factor that is not named is free."""
    if given is None or (isinstance(given, Mapping) and not given):
        return None
    if not isinstance(given, Mapping):
        raise SettingError(
            f"change_over={given!r:.80}",
            why="it says what a change of a factor's value costs, by factor",
            instead="write change_over={'table': 600, 'lamp': 10} (--change-over table=600,lamp=10)",
        )
    taken = [name for name in (SHOT, CHANGE) if name in space.names]
    if taken:
        raise SettingError(
            f"change_over with a factor {taken[0]!r}",
            why="the plan has a column of that name then",
            instead="rename the factor",
        )
    for name, cost in given.items():
        if name not in space.names:
            raise SettingError(
                f"change_over names {name!r}",
                why="it is not among the factors",
                instead=nearest(str(name), space.names),
            )
        if isinstance(cost, bool) or not isinstance(cost, int | float) or not 0 <= cost < 1e15:
            raise SettingError(
                f"change_over={{{name!r}: {cost!r}}}",
                why="a change costs a number from 0 on, in units of cost",
                instead="write --change-over table=600,lamp=10",
            )
    return np.array([float(given.get(name, 0)) for name in space.names])


def walk_cost(codes: Codes, costs: Numbers) -> Numbers:
    """What is paid before each line of a walk; nothing before the first.

    >>> walk_cost(np.array([[0, 0], [0, 1], [1, 0]]), np.array([600.0, 10.0])).tolist()
    [0.0, 10.0, 610.0]
    """
    changed = (np.diff(codes, axis=0) != 0) @ costs
    return np.concatenate([np.zeros(min(len(codes), 1)), changed])


def order_shots(codes: Codes, costs: Numbers) -> Ints:
    """The places of combinations in a short walk.

    >>> order_shots(np.array([[0, 0], [1, 1], [0, 1], [1, 0]]), np.array([600.0, 10.0])).tolist()
    [0, 2, 1, 3]
    """
    dearest = np.argsort(costs, kind="stable")  # `lexsort` takes its first key last
    by_factor: Ints = np.lexsort(codes[:, dearest].T)
    if not 2 < len(codes) <= _MOST:
        return by_factor
    apart = np.zeros((len(codes) + 1, len(codes) + 1))  # the last is nowhere: a walk from and to it is free
    for column, cost in zip(codes.T, costs, strict=True):
        apart[:-1, :-1] += cost * (column[:, None] != column)
    starts = _STARTS if len(codes) <= _FEW_STARTS[0] else _FEW_STARTS[1]
    first = np.unique(np.linspace(0, len(codes) - 1, min(starts, len(codes))).astype(int))
    walks = [by_factor, *(_nearest_neighbours(apart, int(start)) for start in first)]
    improved = [_improve(np.append(walk, len(codes)), apart) for walk in walks]
    lengths = [_length(walk, apart) for walk in improved]
    best = improved[int(np.argmin(np.round(lengths, 6)))]
    away = int(np.flatnonzero(best == len(codes))[0])
    return np.roll(best, -away - 1)[:-1]  # the walk begins after nowhere


def _length(cycle: Ints, apart: Numbers) -> float:
    return float(apart[cycle, np.roll(cycle, -1)].sum())


def _nearest_neighbours(apart: Numbers, start: int) -> Ints:
    left = np.ones(len(apart) - 1, dtype=bool)
    walk, left[start] = [start], False
    while left.any():
        here = np.where(left, apart[walk[-1], :-1], np.inf)
        walk.append(int(here.argmin()))
        left[walk[-1]] = False
    return np.array(walk)


def _improve(cycle: Ints, apart: Numbers) -> Ints:
    """Turn parts around, and move short ones, until neither makes the cycle shorter."""
    while True:
        shorter = _turned(cycle, apart)
        shorter = _moved(cycle, apart) if shorter is None else shorter
        if shorter is None:
            return cycle
        cycle = shorter


def _turned(cycle: Ints, apart: Numbers) -> Ints | None:
    """The cycle with the one part turned around that helps most (2-opt)."""
    after = np.roll(cycle, -1)
    step = apart[cycle, after]
    # turning around what lies between the edges i and j replaces both: by i to j, and by what came after either
    gain = step[:, None] + step - apart[np.ix_(cycle, cycle)] - apart[np.ix_(after, after)]
    gain = np.triu(gain, 2)
    i, j = np.unravel_index(int(gain.argmax()), gain.shape)
    if gain[i, j] <= _HELPS:
        return None
    return np.concatenate([cycle[: i + 1], cycle[i + 1 : j + 1][::-1], cycle[j + 1 :]])


def _moved(cycle: Ints, apart: Numbers) -> Ints | None:
    """The cycle with the first short part moved to where it is nearer (or-opt), either way round."""
    for size in range(1, min(_MOVED, len(cycle) - 2) + 1):
        for place in range(len(cycle)):
            turned = np.roll(cycle, -place)
            part, rest = turned[:size], turned[size:]
            closed = apart[rest[-1], part[0]] + apart[part[-1], rest[0]] - apart[rest[-1], rest[0]]
            before, after = rest[:-1], rest[1:]
            step = apart[before, after]
            for piece in (part, part[::-1]):
                gain = closed - (apart[before, piece[0]] + apart[piece[-1], after] - step)
                best = int(gain.argmax())
                if gain[best] > _HELPS:
                    return np.concatenate([rest[: best + 1], piece, rest[best + 1 :]])
    return None


@dataclass(frozen=True, eq=False)
class _FromSetUp(Costs):
    """Prices with what it costs to change from one set-up: the cheapest lines are then those around it."""

    set_up: Codes = field(default_factory=lambda: np.zeros(0, dtype=np.int32))
    changes: Numbers = field(default_factory=lambda: np.zeros(0))

    @property
    def uniform(self) -> bool:
        """No: else no price is asked for."""
        return False

    def to_collect(self, codes: Codes) -> Numbers:
        """What each combination costs from the set-up on."""
        return np.asarray(super().to_collect(codes) + (codes != self.set_up) @ self.changes)


def choose_within(
    choose: Callable[[Collectable, float | None], Choice],
    collectable: Collectable,
    budget: float | None,
    costs: Numbers,
) -> Choice:
    """A choice whose lines and changes together stay within the budget.

    Where not all lines of the goal's own choice fit, others may buy more: those that lie around one set-up are near to
    each other, so more of them do. The first few of the lines that fit are tried as that set-up, and what buys most is
    kept; of what buys the same, the choice with more lines.
    """
    own = _fitting(partial(choose, collectable), budget, costs, collectable)
    if budget is None or own.reached or not len(own.codes):
        return own
    found = [own]
    for set_up in own.codes[:_SET_UPS]:
        near = replace(collectable, costs=_FromSetUp(**vars(collectable.costs), set_up=set_up, changes=costs))
        choice = _fitting(partial(choose, near), budget, costs, collectable)
        found.append(replace(choice, prices=collectable.price(choice.codes), needed=own.needed))
    return max(found, key=_bought)


def _bought(choice: Choice) -> tuple[float, int]:
    """What a choice's lines buy, more being better, and how many they are."""
    told = choice.after[np.isfinite(choice.after)]
    if not len(told):
        return -np.inf, len(choice.codes)
    return float(np.round(told[-1], 9)) * (1 if choice.measure.better == "higher" else -1), len(choice.codes)


def _fitting(
    choose: Callable[[float | None], Choice], budget: float | None, costs: Numbers, collectable: Collectable
) -> Choice:
    """A choice that fits: fewer lines are chosen until they do."""
    choice = choose(budget)

    def paid(lines: int) -> float:
        codes = choice.codes[:lines]
        walked = walk_cost(codes[order_shots(codes, costs)], costs).sum()
        return float(collectable.price(codes).sum() + walked)

    while budget is not None and len(choice.codes) and paid(len(choice.codes)) > budget * (1 + 1e-12):
        low, high = 0, len(choice.codes) - 1  # more lines take a longer walk, so halving finds how many fit
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if paid(middle) <= budget else (low, middle - 1)
        fewer = choose(float(choice.prices[:low].sum()))
        if len(fewer.codes) >= len(choice.codes):  # what costs nothing to collect is cut off by hand
            return _cut(choice, low)
        choice = fewer
    return choice


def _cut(choice: Choice, lines: int) -> Choice:
    extra = {name: column[:lines] for name, column in choice.extra.items()}
    part = {name: getattr(choice, name)[:lines] for name in ("codes", "prices", "after", "words")}
    return replace(choice, **part, extra=extra, reached=False)


def with_shots(choice: Choice, costs: Numbers) -> Choice:
    """The choice with each line's place in the walk, what the change before it costs, and a word on both orders."""
    if not len(choice.codes):
        return choice
    order = order_shots(choice.codes, costs)
    places, changes = np.empty(len(order)), np.empty(len(order))
    places[order], changes[order] = np.arange(1, len(order) + 1), walk_cost(choice.codes[order], costs)
    listed = float(walk_cost(choice.codes, costs).sum())
    said = (
        f"Walked through in the order of '{SHOT}', changes cost {count(float(changes.sum()))}; in the order of the "
        f"list, {count(listed)}."
    )
    return replace(choice, extra={**choice.extra, SHOT: places, CHANGE: changes}, notes=(*choice.notes, said))
