"""Hold out combinations so that compounds differ and atoms do not: maximum compound divergence.

After Keysers et al., "Measuring Compositional Generalization" (2020). The measure is in `divergence`, the search in
`divergence_search`.

The search behind `CompoundDivergence`: sides with different compounds and similar atoms.

Our own, because there is none to use: the authors published splits and the measure, not the program that made them, and
a solver for mixed-integer programs cannot hold x^0.1.

The coefficient is concave in what the two sides hold, so a conjunction that is rare on one side pays more the rarer it
gets, and the best splits part conjunctions wholly. That suits exchange: the search starts at random and moves
combinations between two sides at a time, in batches that shrink. For all candidates of a round it works out exactly
what each one's move alone would change, takes the best with a little noise, and keeps the batch if the split improved
(at first also if it got worse by a trifle). The limit on atoms is a price that grows steeply around it; only splits
within the limit are kept as results. Candidates are drawn where there are many, and sums are updated only where a batch
touched them (`Ledger`), so a round in 10^5 combinations costs little more than one in 10^4.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np
import numpy.typing as npt

from recombine.base import limits
from recombine.base.checks import check_number, check_whole, is_number, is_whole
from recombine.base.errors import SettingError
from recombine.base.words import count, measure
from recombine.data.support import Support
from recombine.numerics.groups import Ints, Numbers, number, totals
from recombine.verbs.split.checker import Promise
from recombine.verbs.split.compound_divergence import (
    ATOMS_ALPHA,
    COMPOUNDS_ALPHA,
    Compounds,
    checked_orders,
    overlap,
    parts,
)
from recombine.verbs.split.splitter import Assignment, Splitter

Sides = npt.NDArray[np.int8]
LEFT_OUT, TRAIN, TEST = 0, 1, 2


@dataclass(frozen=True, eq=False)
class Move:
    """Some combinations that leave one side for another."""

    rows: Ints
    now: int
    to: int

    @property
    def back(self) -> "Move":
        """The move that undoes it."""
        return Move(self.rows, self.to, self.now)


class Ledger:
    """What the two sides hold of one kind of parts, and their coefficient, kept up to date under moves."""

    def __init__(self, kind: Compounds, rows: Numbers, sides: Sides, alpha: float) -> None:
        self.place, self.alpha = kind.place, alpha
        self.weight = _exactly_addable(kind.weight * rows[:, None])
        self.even = bool((self.weight == self.weight[0, 0]).all())
        self.each = self.weight.sum(axis=1)
        self.held = np.stack([self._count(np.flatnonzero(sides == side), kind.size) for side in range(3)])
        self.whole = self.held.sum(axis=1)
        self.shared = float(overlap(self.held[TRAIN], self.held[TEST], alpha).sum())

    @property
    def divergence(self) -> float:
        """1 - the coefficient."""
        return 1.0 - float(self._coefficient(self.shared, self.whole[TRAIN], self.whole[TEST]))

    def change(self, rows: Ints, now: int, to: int) -> Numbers:
        """How much the divergence grows if each of these combinations alone changes sides."""
        place = self.place[rows]
        if self.even and self.held.shape[1] < place.size:
            every = self._change(np.arange(self.held.shape[1]), self.weight[0, 0], now, to)
            shared = every[place].sum(axis=1)
        else:
            shared = self._change(place, self.weight[rows], now, to).sum(axis=1)
        train, test = (self.whole[side] + _sign(side, now, to) * self.each[rows] for side in (TRAIN, TEST))
        return 1.0 - self.divergence - self._coefficient(self.shared + shared, train, test)

    def move(self, moves: Sequence[Move]) -> None:
        """Carry moves out."""
        places = np.concatenate([self.place[move.rows].ravel() for move in moves])
        touched, ids = number(places, self.held.shape[1])
        before = overlap(self.held[TRAIN, touched], self.held[TEST, touched], self.alpha).sum()
        start = 0
        for move in moves:
            weight = self.weight[move.rows].ravel()
            moved = totals(ids[start : start + len(weight)], weight, len(touched))
            start += len(weight)
            self.held[move.now, touched] -= moved
            self.held[move.to, touched] += moved
            self.whole[move.now] -= moved.sum()
            self.whole[move.to] += moved.sum()
        after = overlap(self.held[TRAIN, touched], self.held[TEST, touched], self.alpha).sum()
        self.shared += float(after - before)

    def _count(self, rows: Ints, size: int) -> Numbers:
        return totals(self.place[rows].ravel(), self.weight[rows].ravel(), size)

    def _change(self, place: Ints, weight: Numbers, now: int, to: int) -> Numbers:
        held = self.held[TRAIN, place], self.held[TEST, place]
        train, test = (
            np.maximum(each + _sign(side, now, to) * weight, 0.0)
            for each, side in zip(held, (TRAIN, TEST), strict=True)
        )
        return overlap(train, test, self.alpha) - overlap(*held, self.alpha)

    def _coefficient(self, shared: Numbers | float, train: Numbers | float, test: Numbers | float) -> Numbers:
        """A side without any weight is no success: it counts as one that agrees."""
        bound = np.maximum(train, 0.0) ** self.alpha * np.maximum(test, 0.0) ** (1.0 - self.alpha)
        return np.where(bound > 0, shared / np.where(bound > 0, bound, 1.0), 1.0)


def _sign(side: int, now: int, to: int) -> int:
    return (side == to) - (side == now)


def _exactly_addable(weight: Numbers) -> Numbers:
    """Rounded to whole multiples of a power of two so small that all sums are exact: what leaves a side leaves nothing.

    Without it a part that is gone would stay as 10^-17, whose tenth root is 0.02.
    """
    quantum = 2.0 ** (np.ceil(np.log2(max(weight.sum(), 1e-300))) - 50)
    return np.asarray(np.round(weight / quantum) * quantum)


_CANDIDATES = 8_192  # how many combinations of a side a round looks at
_ENTRIES = 200_000  # and how many of their parts
_PRICE = 5.0  # of atom divergence above the limit, in compound divergence: it buys one to three times itself
_ROUNDING = 1e-12  # a divergence is 1 - a sum of powers: differences below this are the order of adding


@dataclass(frozen=True, eq=False)
class DivergenceGoal:
    """What is searched for: the parts of each combination, its rows, how many rows a side has, and the limit."""

    atoms: Compounds
    compounds: Compounds
    rows: Numbers
    train_rows: float
    test_rows: float
    leave_out: bool
    atom_limit: float

    @property
    def slack(self) -> float:
        """How many rows a side may miss its size by: whole combinations do not fit every size."""
        even = self.rows.min() == self.rows.max()
        return float(np.median(self.rows)) / 2 + (0.0 if even else 0.01 * min(self.train_rows, self.test_rows))


@dataclass(frozen=True, eq=False)
class BestSides:
    """The best sides of one try; `kept` says whether they are within the limit on atoms and the sizes."""

    sides: Sides
    compounds: float
    atoms: float
    missed_rows: float
    kept: bool

    def better_than(self, other: "BestSides | None", goal: DivergenceGoal) -> bool:
        """Within the limits before outside of them; then the higher compound divergence, or the lesser breach."""
        if other is None or self.kept != other.kept:
            return other is None or self.kept
        return self.compounds > other.compounds if self.kept else _breach(self, goal) < _breach(other, goal)


def search(
    goal: DivergenceGoal, rng: np.random.Generator, *, rounds: int, progress: Callable[[float], None] | None = None
) -> BestSides:
    """One try: from random sides to the best that so many rounds lead to."""
    state = _State(goal, _random_sides(goal, rng))
    best = state.found()
    boldness = 1.0
    for done in range(rounds):
        heat = 1.0 - done / rounds
        state.width = max(goal.atom_limit, 0.005) * (0.01 + 0.3 * heat**2)
        over = heat < 0.5 and state.atoms.divergence > goal.atom_limit
        state.price = max(_PRICE, state.price * (1.05 if over else 0.95))
        before = state.worth()
        undo = state.exchange(_batch(state, rng, heat=heat, boldness=boldness))
        kept = state.worth() >= before - 0.001 * heat**3 * rng.random()
        boldness = min(1.0, boldness * 1.15) if kept else max(0.01, boldness * 0.8)
        if not kept:
            state.exchange(undo)
        elif state.may_better(best):
            now = state.found()
            best = now if now.better_than(best, goal) else best
        if progress and done % 16 == 0:
            progress(done / rounds)
        if limits.current().time_is_up:
            limits.current().stop(done + 1, rounds, "rounds of the search")
            break
    return best


class _State:
    """Sides under way, with everything that a round asks of them."""

    def __init__(self, wanted: DivergenceGoal, sides: Sides) -> None:
        self.wanted, self.sides = wanted, sides
        self.atoms = Ledger(wanted.atoms, wanted.rows, sides, ATOMS_ALPHA)
        self.compounds = Ledger(wanted.compounds, wanted.rows, sides, COMPOUNDS_ALPHA)
        self.keeping = np.bincount(wanted.atoms.place[sides == TRAIN].ravel(), minlength=wanted.atoms.size)
        self.rows = totals(sides.astype(np.int64), wanted.rows, 3)
        self.width, self.price = 1.0, _PRICE

    def worth(self) -> float:
        """Compound divergence, less the price of what is over a limit."""
        over = (self.atoms.divergence - self.wanted.atom_limit) / self.width
        softly = self.width * float(np.logaddexp(0.0, over))
        return self.compounds.divergence - self.price * (softly + self.missed() / self.wanted.test_rows)

    def missed(self) -> float:
        """By how many rows the sides miss their sizes, beyond what whole combinations ask for."""
        short = abs(self.rows[TRAIN] - self.wanted.train_rows), abs(self.rows[TEST] - self.wanted.test_rows)
        return float(max(0.0, max(short) - self.wanted.slack))

    def gain(self, rows: Ints, now: int, to: int) -> Numbers:
        """What each combination's move alone would add to the worth."""
        over = (self.atoms.divergence - self.wanted.atom_limit) / self.width
        price = self.price / (1.0 + float(np.exp(-np.clip(over, -500, 500))))
        return self.compounds.change(rows, now, to) - price * self.atoms.change(rows, now, to)

    def exchange(self, moves: Sequence[Move]) -> list[Move]:
        """Carry moves out, and tell how to undo them."""
        self.atoms.move(moves)
        self.compounds.move(moves)
        for move in moves:
            self.sides[move.rows] = move.to
            rows = self.wanted.rows[move.rows].sum()
            self.rows[[move.now, move.to]] += (-rows, rows)
            if TRAIN in (move.now, move.to):
                values = np.bincount(self.wanted.atoms.place[move.rows].ravel(), minlength=self.wanted.atoms.size)
                self.keeping += values if move.to == TRAIN else -values
        return [move.back for move in moves]

    def may_better(self, best: BestSides) -> bool:
        """Whether it is worth a copy: most rounds are not."""
        return not best.kept or self.compounds.divergence > best.compounds

    def found(self) -> BestSides:
        """The sides as they are now."""
        atoms, missed = self.atoms.divergence, self.missed()
        kept = atoms <= max(self.wanted.atom_limit - _ROUNDING, _ROUNDING) and missed == 0
        return BestSides(self.sides.copy(), self.compounds.divergence, atoms, missed, kept)


def _batch(state: _State, rng: np.random.Generator, *, heat: float, boldness: float) -> list[Move]:
    """Which combinations change places between two sides: the same number of rows in both directions."""
    wanted = state.wanted
    pairs = [(TRAIN, TEST), (TRAIN, LEFT_OUT), (TEST, LEFT_OUT)] if wanted.leave_out else [(TRAIN, TEST)]
    one, other = pairs[rng.integers(len(pairs))]
    budget = max(1.0, 0.5 * boldness * heat**2 * min(state.rows[one], state.rows[other]))
    leaving = _best(state, rng, one, other, budget)
    # A side that is too large gives more than it takes, so sizes that drift come back.
    target = {TRAIN: wanted.train_rows, TEST: wanted.test_rows}[one]
    owed = wanted.rows[leaving].sum() - (state.rows[one] - target)
    coming = _best(state, rng, other, one, owed) if owed > 0 else leaving[:0]
    return [Move(leaving, one, other), Move(coming, other, one)]


def _best(state: _State, rng: np.random.Generator, now: int, to: int, budget: float) -> Ints:
    """The combinations whose move adds most for each of their rows, as many as the budget of rows holds."""
    wanted = state.wanted
    there = np.flatnonzero(state.sides == now)
    most = min(max(_ENTRIES // wanted.compounds.place.shape[1], 256), _CANDIDATES)
    drawn = there if len(there) <= most else there[rng.choice(len(there), most, replace=False, shuffle=False)]
    if now == TRAIN:
        drawn = drawn[(state.keeping[wanted.atoms.place[drawn]] > 1).all(axis=1)]
    fitting: Ints = drawn[wanted.rows[drawn] <= max(budget, wanted.rows[there].min(initial=np.inf))]
    if not len(fitting):
        return fitting
    gain = state.gain(fitting, now, to) / wanted.rows[fitting]
    # Little noise is best in large tables; among few candidates it must be larger, or the same one is tried for ever.
    gain += rng.gumbel(size=len(gain)) * (0.02 + len(gain) ** -0.5) * (gain.std() or 1.0)
    order = np.argsort(-gain, kind="stable")
    reach = np.cumsum(wanted.rows[fitting[order]])
    chosen = fitting[order[: max(1, int(np.searchsorted(reach, budget, side="right")))]]
    return _keep_values(state, chosen) if now == TRAIN else chosen


def _keep_values(state: _State, leaving: Ints) -> Ints:
    """Those that may leave training together: none of a value that would be left without any."""
    place = state.wanted.atoms.place[leaving]
    left = state.keeping - np.bincount(place.ravel(), minlength=len(state.keeping))
    return leaving[(left[place] > 0).all(axis=1)]


def _random_sides(goal: DivergenceGoal, rng: np.random.Generator) -> Sides:
    """Random sides of the sizes asked for, in which training holds every value."""
    order = rng.permutation(len(goal.rows))
    keepers = _value_keepers(goal.atoms, order)
    sides = np.full(len(order), LEFT_OUT if goal.leave_out else TRAIN, dtype=np.int8)
    sides[keepers] = TRAIN
    free = order[~np.isin(order, keepers)]
    test = _fill_rows(goal.rows[free], goal.test_rows)
    sides[free[test]] = TEST
    if goal.leave_out:
        rest = free[~test]
        sides[rest[_fill_rows(goal.rows[rest], goal.train_rows - goal.rows[keepers].sum())]] = TRAIN
    return sides


def _value_keepers(atoms: Compounds, order: Ints) -> Ints:
    """Combinations that hold every value between them, taken from the front of an order; few, not the fewest."""
    covered = np.zeros(atoms.size, dtype=bool)
    chosen: list[Ints] = []
    for column in range(atoms.place.shape[1]):
        places, first = np.unique(atoms.place[order, column], return_index=True)
        more = order[first[~covered[places]]]
        covered[atoms.place[more]] = True
        chosen.append(more)
    return np.unique(np.concatenate(chosen))


def _fill_rows(rows: Numbers, budget: float) -> npt.NDArray[np.bool_]:
    """Take from the front what a budget of rows holds, and then whatever still fits into what is left of it."""
    taken = np.cumsum(rows) <= budget
    left = budget - rows[taken].sum()
    late = np.flatnonzero(~taken & (rows <= left))
    taken[late[np.cumsum(rows[late]) <= left]] = True
    return taken


def _breach(sides: BestSides, goal: DivergenceGoal) -> float:
    return max(sides.atoms - goal.atom_limit, 0.0) + sides.missed_rows / goal.test_rows


Size = int | float
Progress = Callable[[float], None]


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class CompoundDivergence(Splitter):
    """Hold out the combinations whose **conjunctions** training holds least, while all values stay as common there.

    `test_size` is the test side's share of the **rows**, or a whole number of them; training keeps the rest, unless
    `train_size` says otherwise. Rows on neither side must be allowed by `leave_out=True`; with them left out the two
    sides can be further apart.
    Combinations stay whole, so where they have many rows, a size is met as nearly as they allow.

    `orders` says which conjunctions count, pairs by default; `weighted` counts each by how far no larger one explains
    it. The split with the highest compound divergence found at an atom divergence of at most `atom_limit` is given;
    what the two are is defined in `compound_divergence`. It is the best of `tries` searches of `rounds` rounds: more of
    either cost time and may find better ones. Every value keeps a combination in training.

    >>> table = {"colour": ["red", "red", "blue", "blue"], "shape": ["disc", "bar", "disc", "bar"]}
    >>> splitter = CompoundDivergence(factors=["colour", "shape"], test_size=0.5, rounds=20)
    >>> [sorted([train.tolist(), test.tolist()]) for train, test in splitter.split(table)]
    [[[0, 3], [1, 2]]]
    """

    test_size: Size = 0.2
    train_size: Size | None = None
    leave_out: bool = False
    orders: Sequence[int] = (2,)
    weighted: bool = False
    atom_limit: float = 0.02
    n_splits: int = 1
    random_state: int = 0
    tries: int = 3
    rounds: int = 1000

    def check_settings(self) -> None:
        """Sizes that do not contradict each other, orders that the factors have, a limit that can be kept."""
        object.__setattr__(self, "orders", checked_orders(self.orders, len(self.factors)))
        for name in ("test_size", "train_size"):
            _check_size(name, getattr(self, name))
        self._check_sizes_agree()
        check_number(
            "atom_limit",
            self.atom_limit,
            least=0,
            most=1,
            why="an atom divergence lies between 0, the same values equally often, and 1",
            instead="write atom_limit=0.02, as the authors of the measure did",
        )
        check_whole("tries", self.tries, least=1)
        check_whole("rounds", self.rounds, least=1)

    @property
    def promise(self) -> Promise:
        """Every value stays in training."""
        return Promise(values=True)

    def assign(self, support: Support, fold: int) -> Assignment:
        """The best sides that were found."""
        return self.seek(support, fold)

    def seek(self, support: Support, fold: int = 0, *, progress: Progress | None = None) -> Assignment:
        """The same, telling how far it is: `progress` is called with the share that is done."""
        wanted = self._wanted(support)
        best: BestSides | None = None
        for place in limits.within_time(range(self.tries), "tries of the search"):
            rng = self.rng(fold, f"try {place}")
            tell = _part_of(progress, place, self.tries)
            found = search(wanted, rng, rounds=self.rounds, progress=tell)
            best = found if found.better_than(best, wanted) else best
        if best is None or not best.kept:
            raise self._unreached(support, wanted, best)
        return Assignment.of(best.sides == TEST, left_out=best.sides == LEFT_OUT)

    def _wanted(self, support: Support) -> DivergenceGoal:
        total = support.total
        test = _rows("test_size", self.test_size, support)
        train = total - test if self.train_size is None else _rows("train_size", self.train_size, support)
        self._check_room(train, test, total)
        atoms, compounds = parts(support, (1,)), parts(support, tuple(self.orders), weighted=self.weighted)
        wanted = DivergenceGoal(atoms, compounds, support.counts, train, test, self.leave_out, float(self.atom_limit))
        if total - train - test > wanted.slack and not self.leave_out:
            raise SettingError(
                f"{count(train)} training and {count(test)} test rows leave {count(total - train - test)} on no side",
                why="rows are not dropped unless that was asked for",
                instead="write leave_out=True, or leave train_size away",
            )
        return wanted

    def _check_sizes_agree(self) -> None:
        if self.leave_out and self.train_size is None:
            raise SettingError(
                "leave_out=True without train_size",
                why="it is not said how many rows training keeps, so none can be left out",
                instead="write train_size=0.4, or the number of rows",
            )

    def _check_room(self, train: float, test: float, total: float) -> None:
        if min(train, test) > 0 and train + test <= total + 0.5:
            return
        raise SettingError(
            f"{count(train)} training and {count(test)} test rows",
            why=f"the table has {count(total)}, and neither side may be empty",
            instead="write smaller sizes, as numbers of rows or as shares: train_size=0.4, test_size=0.05",
        )

    def _unreached(self, support: Support, goal: DivergenceGoal, best: BestSides | None) -> SettingError:
        factor, needed = _least_rows(support)
        if needed > goal.train_rows + goal.slack:
            return SettingError(
                f"{count(goal.train_rows)} training rows do not hold every value",
                why=f"the values of {factor!r} alone take {count(needed)} rows, as combinations stay whole",
                instead=f"let training keep {count(ceil(needed))} rows or more",
            )
        if best is None or best.missed_rows > 0:
            return SettingError(
                f"no split of {count(goal.train_rows)} training and {count(goal.test_rows)} test rows was found",
                why=f"combinations stay whole, and they have up to {count(float(support.counts.max()))} rows; "
                "every value stays in training",
                instead="ask for other sizes, or for more tries",
            )
        return SettingError(
            f"atom_limit={self.atom_limit:g} was not reached",
            why=f"the lowest atom divergence found is {measure(best.atoms)}, at a compound divergence of "
            f"{measure(best.compounds)}",
            instead=f"write atom_limit={ceil(best.atoms * 1000) / 1000:g}, or try a larger test side; in Python, more "
            "tries and rounds search longer",
        )


def _check_size(name: str, value: Any) -> None:
    if value is None:
        return
    if not is_number(value) or not value > 0 or (value >= 1 and not is_whole(value)):
        raise SettingError(
            f"{name}={value!r}",
            why="it is a whole number of rows or a share of them, and neither side may be empty",
            instead=f"write {name}=0.2, or {name}=1000",
        )


def _rows(name: str, size: Size, support: Support) -> float:
    """A size in rows: a whole number is one already, a share is taken of all, whole where rows are."""
    if isinstance(size, float):
        taken = size * support.total
        return float(round(taken)) if np.array_equal(support.counts, np.round(support.counts)) else taken
    if size > support.total:
        raise SettingError(
            f"{name}={size!r}",
            why=f"the table has {count(support.total)} rows",
            instead=f"write a smaller number, or a share: {name}=0.2",
        )
    return float(size)


def _least_rows(support: Support) -> tuple[str, float]:
    """The factor whose values take most rows at least, if each is held by its smallest combination, and how many."""
    least = []
    for k, name in enumerate(support.space.names):
        smallest = np.full(support.groups([k]).size, np.inf)
        np.minimum.at(smallest, support.groups([k]).ids, support.counts)
        least.append((float(smallest.sum()), name))
    needed, name = max(least)
    return name, needed


def _part_of(progress: Progress | None, place: int, parts_in_all: int) -> Progress | None:
    return None if progress is None else lambda share: progress((place + share) / parts_in_all)
