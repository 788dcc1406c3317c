"""k-fold over combinations: every combination is held out exactly once."""

import heapq
from dataclasses import dataclass
from typing import Literal

import numpy as np

from recombine.algebra.groups import Ints, Numbers
from recombine.errors import SettingError
from recombine.splits.checker import Promise
from recombine.splits.cover import occur, values_seen_once
from recombine.splits.settings import check_choice, check_whole
from recombine.splits.splitter import Assignment, Splitter
from recombine.splits.spreading import spread_values
from recombine.splits.strata import classes_of, main_class
from recombine.tables.support import Support
from recombine.words import count, listing

_ONE_BY_ONE = 20_000


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class CombinationKFold(Splitter):
    """Every combination is in exactly one test fold, with all its rows; the folds hold about as many rows each.

    `guarantee="values"`: no fold takes a value wholly out of training. `strata` names the column of the classes (or
    is `"y"`), of which every fold then gets its share as closely as combinations allow.

    >>> table = {"colour": ["red", "red", "blue", "blue"], "shape": ["disc", "bar", "disc", "bar"]}
    >>> [len(test) for _, test in CombinationKFold(["colour", "shape"], n_splits=2).split(table)]
    [2, 2]
    """

    n_splits: int = 5
    seed: int = 0
    guarantee: Literal["values", "none"] = "none"
    strata: str | int | None = None

    def check_settings(self) -> None:
        """Two folds or more."""
        check_whole("n_splits", self.n_splits, least=2)
        check_choice("guarantee", self.guarantee, ("values", "none"))

    @property
    def promise(self) -> Promise:
        """The values, where they are guaranteed."""
        return Promise.of(self.guarantee)

    def assign(self, support: Support, fold: int) -> Assignment:
        """The combinations of one fold; all folds are dealt at once, the same whichever is asked for."""
        return Assignment.of(self.fold_of_each(support) == fold)

    def fold_of_each(self, support: Support) -> Ints:
        """The fold in which each combination is held out."""
        if len(support) < self.n_splits:
            raise SettingError(
                f"n_splits={self.n_splits}",
                why=f"there are {count(len(support))} combinations, and a fold needs one at least",
                instead=f"write n_splits={len(support)} or less",
            )
        order = self.rng(0, "order").permutation(len(support))
        label = np.zeros(len(support), dtype=np.int64)
        if self.strata is not None:
            label = main_class(support, classes_of(support, self.strata))
        dealt = _dealt(support.counts, label, order, self.n_splits)
        return self._with_values(support, dealt) if self.guarantee == "values" else dealt

    def _with_values(self, support: Support, dealt: Ints) -> Ints:
        alone = values_seen_once(support)
        if alone:
            raise SettingError(
                "guarantee='values'",
                why=f"{listing(alone)} {occur(alone)} in one combination only, and the fold that holds it out takes it "
                "away",
                instead="write guarantee='none', or leave those values out first",
            )
        spread = spread_values(support, dealt, self.n_splits, self.rng(0, "repair"))
        if spread.folds is not None:
            return spread.folds
        raise SettingError(
            f"guarantee='values' with n_splits={self.n_splits}",
            why=f"{'there is no way' if spread.proven else 'no way was found'} to spread the combinations of every "
            f"value over two folds; {spread.culprit} stands in the way",
            instead=f"write n_splits={self.n_splits + 1} or more, or guarantee='none'",
        )


def _dealt(counts: Numbers, label: Ints, order: Ints, folds: int) -> Ints:
    """Class by class, the largest first, each to the fold that has least of the class, then least of all."""
    dealt = np.empty(len(counts), dtype=np.int64)
    largest = order[np.lexsort((-counts[order], label[order]))]
    loads = [0.0] * folds
    for same in np.split(largest, np.flatnonzero(np.diff(label[largest])) + 1):
        one_by_one, rest = same[:_ONE_BY_ONE], same[_ONE_BY_ONE:]
        heap = [(0.0, load, fold) for fold, load in enumerate(loads)]
        heapq.heapify(heap)
        for place, rows in zip(one_by_one.tolist(), counts[one_by_one].tolist(), strict=True):
            within, load, fold = heap[0]
            dealt[place] = fold
            heapq.heapreplace(heap, (within + max(rows, 1e-9), load + max(rows, 1e-9), fold))
        for _, load, fold in heap:
            loads[fold] = load
        dealt[rest] = _filled(counts[rest], loads)
        loads = [load + float(counts[rest][dealt[rest] == fold].sum()) for fold, load in enumerate(loads)]
    return dealt


def _filled(counts: Numbers, loads: list[float]) -> Ints:
    """Many small ones at once: the folds are filled one after the other up to an equal load."""
    level = (sum(loads) + float(counts.sum())) / len(loads)
    room = np.cumsum(np.maximum(level - np.array(loads), 0))
    middle = np.cumsum(counts) - counts / 2
    scaled = room * (float(counts.sum()) / max(float(room[-1]), 1e-300))
    return np.minimum(np.searchsorted(scaled, middle, side="right"), len(loads) - 1)
