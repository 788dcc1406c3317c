"""The search behind `CompoundDivergence`: sides with different compounds and similar atoms.

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

import numpy as np
import numpy.typing as npt

from recombine.algebra.groups import Ints, Numbers, number, totals
from recombine.splits.divergences.measure import ATOMS_ALPHA, COMPOUNDS_ALPHA, Parts, overlap

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

    def __init__(self, kind: Parts, rows: Numbers, sides: Sides, alpha: float) -> None:
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
class Wanted:
    """What is searched for: the parts of each combination, its rows, how many rows a side has, and the limit."""

    atoms: Parts
    compounds: Parts
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
class Found:
    """The best sides of one try; `kept` says whether they are within the limit on atoms and the sizes."""

    sides: Sides
    compounds: float
    atoms: float
    missed_rows: float
    kept: bool

    def better_than(self, other: "Found | None", wanted: Wanted) -> bool:
        """Within the limits before outside of them; then the higher compound divergence, or the lesser breach."""
        if other is None or self.kept != other.kept:
            return other is None or self.kept
        return self.compounds > other.compounds if self.kept else _breach(self, wanted) < _breach(other, wanted)


def search(
    wanted: Wanted, rng: np.random.Generator, *, rounds: int, progress: Callable[[float], None] | None = None
) -> Found:
    """One try: from random sides to the best that so many rounds lead to."""
    state = _State(wanted, _random_sides(wanted, rng))
    best = state.found()
    boldness = 1.0
    for done in range(rounds):
        heat = 1.0 - done / rounds
        state.width = max(wanted.atom_limit, 0.005) * (0.01 + 0.3 * heat**2)
        over = heat < 0.5 and state.atoms.divergence > wanted.atom_limit
        state.price = max(_PRICE, state.price * (1.05 if over else 0.95))
        before = state.worth()
        undo = state.exchange(_batch(state, rng, heat=heat, boldness=boldness))
        kept = state.worth() >= before - 0.001 * heat**3 * rng.random()
        boldness = min(1.0, boldness * 1.15) if kept else max(0.01, boldness * 0.8)
        if not kept:
            state.exchange(undo)
        elif state.may_better(best):
            now = state.found()
            best = now if now.better_than(best, wanted) else best
        if progress and done % 16 == 0:
            progress(done / rounds)
    return best


class _State:
    """Sides under way, with everything that a round asks of them."""

    def __init__(self, wanted: Wanted, sides: Sides) -> None:
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

    def may_better(self, best: Found) -> bool:
        """Whether it is worth a copy: most rounds are not."""
        return not best.kept or self.compounds.divergence > best.compounds

    def found(self) -> Found:
        """The sides as they are now."""
        atoms, missed = self.atoms.divergence, self.missed()
        kept = atoms <= max(self.wanted.atom_limit - _ROUNDING, _ROUNDING) and missed == 0
        return Found(self.sides.copy(), self.compounds.divergence, atoms, missed, kept)


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
    return _keeping_values(state, chosen) if now == TRAIN else chosen


def _keeping_values(state: _State, leaving: Ints) -> Ints:
    """Those that may leave training together: none of a value that would be left without any."""
    place = state.wanted.atoms.place[leaving]
    left = state.keeping - np.bincount(place.ravel(), minlength=len(state.keeping))
    return leaving[(left[place] > 0).all(axis=1)]


def _random_sides(wanted: Wanted, rng: np.random.Generator) -> Sides:
    """Random sides of the sizes asked for, in which training holds every value."""
    order = rng.permutation(len(wanted.rows))
    keepers = _value_keepers(wanted.atoms, order)
    sides = np.full(len(order), LEFT_OUT if wanted.leave_out else TRAIN, dtype=np.int8)
    sides[keepers] = TRAIN
    free = order[~np.isin(order, keepers)]
    test = _filled(wanted.rows[free], wanted.test_rows)
    sides[free[test]] = TEST
    if wanted.leave_out:
        rest = free[~test]
        sides[rest[_filled(wanted.rows[rest], wanted.train_rows - wanted.rows[keepers].sum())]] = TRAIN
    return sides


def _value_keepers(atoms: Parts, order: Ints) -> Ints:
    """Combinations that hold every value between them, taken from the front of an order; few, not the fewest."""
    covered = np.zeros(atoms.size, dtype=bool)
    chosen: list[Ints] = []
    for column in range(atoms.place.shape[1]):
        places, first = np.unique(atoms.place[order, column], return_index=True)
        more = order[first[~covered[places]]]
        covered[atoms.place[more]] = True
        chosen.append(more)
    return np.unique(np.concatenate(chosen))


def _filled(rows: Numbers, budget: float) -> npt.NDArray[np.bool_]:
    """Take from the front what a budget of rows holds, and then whatever still fits into what is left of it."""
    taken = np.cumsum(rows) <= budget
    left = budget - rows[taken].sum()
    late = np.flatnonzero(~taken & (rows <= left))
    taken[late[np.cumsum(rows[late]) <= left]] = True
    return taken


def _breach(found: Found, wanted: Wanted) -> float:
    return max(found.atoms - wanted.atom_limit, 0.0) + found.missed_rows / wanted.test_rows
