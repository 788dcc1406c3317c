"""Orders and exchanges that keep the held-out side's class shares near the whole table's.

Our own: scikit-learn stratifies rows, and here a combination moves as a whole, with all the classes in it.
"""

import numpy as np
import numpy.typing as npt

from recombine.base.errors import SettingError
from recombine.data.support import LabelTarget, Support
from recombine.numerics.groups import Ints, Numbers, totals

Mask = npt.NDArray[np.bool_]

_MOST_CLASSES = 200  # an exchange compares all class shares of all its candidates
_ROUNDS = 300  # of exchanges, each of which is kept only if the shares get nearer
_TRIED = 48  # combinations of either side that a round compares, all pairs of them
_CLOSE = 1e-4  # chasing more would only drive every split to the number of rows that divides most neatly


def classes_of(support: Support, stratify: str | int) -> LabelTarget:
    """The classes that a support was read with."""
    if not isinstance(support.target, LabelTarget):
        raise SettingError(
            f"stratify={stratify!r}",
            why="the support was read without its classes",
            instead=f"read it with target={stratify!r}, target_kind='label'",
        )
    return support.target


def main_class(support: Support, target: LabelTarget) -> Ints:
    """The class that most rows of each combination have; one past the last class where none is known."""
    found = np.full(len(support), len(target.classes), dtype=np.int64)
    rising = np.argsort(target.count, kind="stable")
    found[target.combination[rising]] = target.label[rising]  # of several the most frequent stays
    return found


def order_by_chance(support: Support, stratify: str | int | None, rng: np.random.Generator) -> Ints:
    """A random order; with strata one of which every beginning has about the class shares of the whole."""
    order = rng.permutation(len(support))
    if stratify is None:
        return order
    label = main_class(support, classes_of(support, stratify))[order]
    counts = support.counts[order]
    by_class = np.argsort(label, kind="stable")
    inner = np.cumsum(counts[by_class])
    starts = np.flatnonzero(np.diff(label[by_class], prepend=-1))
    before = np.repeat(inner[starts] - counts[by_class][starts], np.diff(starts, append=len(order)))
    total = totals(label, counts, int(label.max()) + 1)[label[by_class]]
    place = np.empty(len(order))
    place[by_class] = (inner - before - counts[by_class] / 2) / np.maximum(total, 1e-300)
    return order[np.argsort(place, kind="stable")]


def balance_classes(
    support: Support, test: Ints, spare: Ints, *, stratify: str | int | None, rng: np.random.Generator
) -> Ints:
    """The same number of held-out combinations with better class shares: some exchanged against spare ones."""
    if stratify is None or not len(spare) or not len(test):
        return test
    target = classes_of(support, stratify)
    if len(target.classes) > _MOST_CLASSES:
        return test
    table = _ClassTable(support, target)
    test, spare = test.copy(), spare.copy()
    held = table.rows(test).sum(axis=0)
    for _ in range(_ROUNDS):
        if table.off(held) <= _CLOSE:
            break
        out, into = (rng.integers(0, len(side), size=min(_TRIED, len(side))) for side in (test, spare))
        tried = held - table.rows(test[out])[:, None] + table.rows(spare[into])[None]
        off = table.off(tried)
        a, b = (int(place) for place in np.unravel_index(np.argmin(off), off.shape))
        if off[a, b] < table.off(held) - 1e-12:
            held = tried[a, b]
            test[out[a]], spare[into[b]] = spare[into[b]], test[out[a]]
    return test


class _ClassTable:
    """Rows of each class in some combinations, written out only for those that are asked for."""

    def __init__(self, support: Support, target: LabelTarget) -> None:
        self._target = target
        self._starts = np.searchsorted(target.combination, np.arange(len(support) + 1))
        whole = totals(target.label, target.count, len(target.classes))
        self._shares = whole / max(float(whole.sum()), 1e-300)

    def rows(self, chosen: Ints) -> Numbers:
        """One line for each chosen combination, one column for each class."""
        lengths = self._starts[chosen + 1] - self._starts[chosen]
        line = np.repeat(np.arange(len(chosen)), lengths)
        first = np.repeat(self._starts[chosen] - np.cumsum(lengths) + lengths, lengths)
        place = first + np.arange(len(line))
        table = np.zeros((len(chosen), len(self._shares)))
        np.add.at(table, (line, self._target.label[place]), self._target.count[place])
        return table

    def off(self, held: Numbers) -> Numbers:
        """How far the class shares of a side are from the whole table's, at worst."""
        total = np.maximum(held.sum(axis=-1, keepdims=True), 1e-300)
        return np.asarray(np.abs(held / total - self._shares).max(axis=-1))
