"""Rows that cover conjunctions, built one value at a time: a greedy covering array on top of what exists.

Each row starts from a conjunction that is still open and takes, factor after factor, the value that covers most. A
value is taken only if the row can still be completed, which is a count of forbidden cells (see
`collectable.Forbidden`), so no step is ever taken back. Our own, because the libraries start from an empty table,
know no prices, and walk pair by pair.
"""

from collections.abc import Iterator
from itertools import combinations

import numpy as np
import numpy.typing as npt

from recombine.algebra.groups import Codes, Ints, Numbers
from recombine.planning.collectable import Collectable
from recombine.planning.coverage import Conjunctions, Flags
from recombine.tables.engine import Steps

_TRIED = 12
_SLICES = 12_000  # looked at for one row, all tries together
_FEW_ROWS = 2_000


class Builder:
    """Builds rows that cover what is open."""

    def __init__(self, collectable: Collectable, conjunctions: Conjunctions, open_: Flags, seed: int) -> None:
        self._collectable, self._all = collectable, conjunctions
        self._open = open_.copy()
        self._rng = np.random.default_rng(seed)
        self._sizes = conjunctions.sizes
        self._place = {chosen: place for place, chosen in enumerate(conjunctions.sets)}
        self._order = len(conjunctions.sets[0])
        self._forbidden = collectable.forbidden

    def rows(self, tell: Steps) -> Iterator[npt.NDArray[np.int32]]:
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
        cells = self._forbidden.cells
        for k, value in self._all.values(number).items():
            row[k] = value
            cells = self._compatible(cells, k, value)
        left = [k for k in range(len(row)) if row[k] < 0]
        self._rng.shuffle(left)
        for k in left:
            gain = self._gain(row, k) + self._rng.random(self._sizes[k]) * 0.5
            if k == left[-1] and not self._collectable.costs.uniform:
                gain = (gain + 1) / self._prices(row, k)
            gain[self._dead(cells, row, k)] = -1.0
            row[k] = int(np.argmax(gain))
            cells = self._compatible(cells, k, int(row[k]))
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

    def _compatible(self, cells: Codes, k: int, value: int) -> Codes:
        return cells[cells[:, k] == value] if k in self._forbidden.spoken else cells

    def _dead(self, cells: Codes, row: npt.NDArray[np.int32], k: int) -> Flags:
        """Values with which the row could no longer be completed."""
        if k not in self._forbidden.spoken or not len(cells):
            return np.zeros(self._sizes[k], dtype=bool)
        decided = {j for j in range(len(row)) if row[j] >= 0} | {k}
        held = np.bincount(cells[:, k], minlength=self._sizes[k])
        return np.asarray(held == self._forbidden.completions(decided))


def needed_rows(rows: Codes, prices: Numbers, conjunctions: Conjunctions, open_: Flags) -> Codes:
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


def most_first(rows: Codes, prices: Numbers, conjunctions: Conjunctions, open_: Flags) -> Ints:
    """An order in which each row covers most of what is still open for its price; long lists keep their order."""
    if len(rows) > _FEW_ROWS:
        return np.arange(len(rows))
    numbers = conjunctions.numbers(rows)
    still = open_.copy()
    left = np.ones(len(rows), dtype=bool)
    order = []
    for _ in range(len(rows)):
        gain = np.where(left, still[numbers].sum(axis=1) / np.maximum(prices, 1e-9), -1.0)
        chosen = int(np.argmax(gain))
        left[chosen] = False
        still[numbers[chosen]] = False
        order.append(chosen)
    return np.array(order, dtype=np.int64)
