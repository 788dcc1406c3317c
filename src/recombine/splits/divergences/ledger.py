"""What the sides of a split hold, kept up to date while combinations change sides.

Counting anew after each exchange would cost the whole table; here only the parts that an exchange touches are counted.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from recombine.algebra.groups import Ints, Numbers, number, totals
from recombine.splits.divergences.measure import Parts, overlap

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
