"""Hold out combinations by chance: a share of them, all of them in folds, or once, as scikit-learn's function does."""

import heapq
import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from recombine.base.checks import check_share, check_whole
from recombine.base.errors import SettingError
from recombine.base.words import count, listing
from recombine.data.support import Support
from recombine.numerics.groups import Ints, Numbers
from recombine.verbs.split.coverage_constraints import (
    Kept,
    kept_to_determine,
    last_of_each_value,
    occur,
    smallest_cover,
    spread_values,
    values_seen_once,
)
from recombine.verbs.split.row_support import Names, row_count
from recombine.verbs.split.splitter import Assignment, Splitter
from recombine.verbs.split.strata import balance_classes, classes_of, main_class, order_by_chance

Guarantee = Literal["values", "determined", "none"]

_SHARE_OF = "it is a share of the seen combinations, and neither side may be empty"
_DEMANDS = {
    "values": "every value is to keep a combination in training",
    "determined": "training is to determine every held-out combination",
    "none": "neither side may be empty",
}

_ONE_BY_ONE = 20_000  # combinations of a class that are dealt one by one; the small rest is poured in at once


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class HoldOutCombinations(Splitter):
    """Hold out a share of the seen **combinations**, with all their rows; each split is drawn on its own.

    The share counts combinations, not rows: where some have many rows, the share of rows differs.

    `guarantee="values"`: every value, and every element of a set, keeps a combination in training. `"determined"`:
    training determines every held-out combination under an additive rule. `"none"`: nothing. `stratify` names the
    column of the classes (or is `"y"`), whose shares among the held-out rows then follow the whole table's as closely
    as combinations allow.

    >>> table = {"colour": ["red", "red", "blue", "blue"], "shape": ["disc", "bar", "disc", "bar"]}
    >>> splitter = HoldOutCombinations(factors=["colour", "shape"], test_size=0.25, n_splits=1)
    >>> [(len(train), len(test)) for train, test in splitter.split(table)]
    [(3, 1)]
    """

    guarantees: ClassVar = tuple(_DEMANDS)
    takes_sets: ClassVar = True
    test_size: float = 0.2
    n_splits: int = 5
    random_state: int = 0
    guarantee: Guarantee = "values"
    stratify: str | int | None = None

    def check_settings(self) -> None:
        """A share between 0 and 1."""
        check_share("test_size", self.test_size, why=_SHARE_OF)

    def assign(self, support: Support, fold: int) -> Assignment:
        """A random order, what training must keep, and the first of the rest."""
        wanted = max(1, round(self.test_size * len(support)))
        order = order_by_chance(support, self.stratify, self.rng(fold, "order"))
        kept = self._kept(support, order, wanted)
        free = order[~kept.mask[order]]
        if len(free) < wanted or wanted == len(support):
            raise self._unreachable(support, wanted, kept)
        rng = self.rng(fold, "exchange")
        test = np.zeros(len(support), dtype=bool)
        test[balance_classes(support, free[:wanted], free[wanted:], stratify=self.stratify, rng=rng)] = True
        return Assignment.of(test)

    def _kept(self, support: Support, order: Ints, wanted: int) -> Kept:
        if self.guarantee == "none":
            return Kept.of(np.zeros(len(support), dtype=bool), proven=True)
        if self.guarantee == "determined":
            return kept_to_determine(support, order, wanted)
        kept = last_of_each_value(support, order)
        enough = len(support) - int(kept.sum()) >= wanted
        return Kept.of(kept, proven=False) if enough else smallest_cover(support, order)

    def _unreachable(self, support: Support, wanted: int, kept: Kept) -> SettingError:
        alone = values_seen_once(support)
        most = min(kept.most, len(support) - 1)
        culprits = (
            f" ({listing(alone)} {occur(alone)} in one combination only)" if alone and self.guarantee != "none" else ""
        )
        limit = "at most" if kept.proven else "in the time given only"
        share = math.floor(10_000 * most / len(support)) / 10_000
        weaker = "" if self.guarantee == "none" else ", or ask for a weaker guarantee"
        return SettingError(
            f"test_size={self.test_size:g} would hold out {count(wanted)} of {count(len(support))} combinations",
            why=f"{_DEMANDS[self.guarantee]}, so {limit} {count(most)} can be held out{culprits}",
            instead=(f"write test_size={share:g}" if share else "collect more combinations") + weaker,
        )


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class CombinationKFold(Splitter):
    """Every combination is in exactly one test fold, with all its rows; the folds hold about as many rows each.

    `guarantee="values"`: no fold takes a value wholly out of training. `stratify` names the column of the classes (or
    is `"y"`), of which every fold then gets its share as closely as combinations allow.

    >>> table = {"colour": ["red", "red", "blue", "blue"], "shape": ["disc", "bar", "disc", "bar"]}
    >>> [len(test) for _, test in CombinationKFold(["colour", "shape"], n_splits=2).split(table)]
    [2, 2]
    """

    takes_sets: ClassVar = True
    n_splits: int = 5
    random_state: int = 0
    guarantee: Literal["values", "none"] = "none"
    stratify: str | int | None = None

    def check_settings(self) -> None:
        """Two folds or more."""
        check_whole("n_splits", self.n_splits, least=2)

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
        if self.stratify is not None:
            label = main_class(support, classes_of(support, self.stratify))
        dealt = _deal_folds(support.counts, label, order, self.n_splits)
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


def _deal_folds(counts: Numbers, label: Ints, order: Ints, folds: int) -> Ints:
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
        dealt[rest] = _fill_folds(counts[rest], loads)
        loads = [load + float(counts[rest][dealt[rest] == fold].sum()) for fold, load in enumerate(loads)]
    return dealt


def _fill_folds(counts: Numbers, loads: list[float]) -> Ints:
    """Many small ones at once: the folds are filled one after the other up to an equal load."""
    level = (sum(loads) + float(counts.sum())) / len(loads)
    room = np.cumsum(np.maximum(level - np.array(loads), 0))
    middle = np.cumsum(counts) - counts / 2
    scaled = room * (float(counts.sum()) / max(float(room[-1]), 1e-300))
    return np.minimum(np.searchsorted(scaled, middle, side="right"), len(loads) - 1)


def train_test_split(
    *arrays: Any,
    factors: Names,
    test_size: float = 0.2,
    random_state: int = 0,
    guarantee: Guarantee = "values",
    stratify: str | int | None = None,
    table: Any = None,
) -> list[Any]:
    """Split tables and arrays of one length: training and test of the first, of the second and so on.

    The factors are columns of the first, or of `table`. `test_size` is the share of **combinations** that are held
    out. What goes in comes out: frames as frames, arrays as arrays, lists as lists, datasets as datasets. With
    `stratify="y"` the second one gives the classes.

    >>> table = {"colour": ["red", "red", "blue", "blue"], "shape": ["disc", "bar", "disc", "bar"]}
    >>> train, test, y_train, y_test = train_test_split(table, [1, 2, 3, 4], factors=["colour", "shape"])
    >>> len(y_train), len(y_test)
    (3, 1)
    """
    _check_arrays(arrays)
    splitter = HoldOutCombinations(
        factors,
        table=table,
        test_size=test_size,
        n_splits=1,
        random_state=random_state,
        guarantee=guarantee,
        stratify=stratify,
    )
    train, test = next(splitter.split(arrays[0], arrays[1] if len(arrays) > 1 else None))
    return [take_rows(array, side) for array in arrays for side in (train, test)]


def take_rows(array: Any, rows: Ints) -> Any:
    """Some rows of a table or array, as the same kind of thing.

    >>> import numpy as np
    >>> take_rows([10, 20, 30], np.array([0, 2])), take_rows({"a": [1, 2]}, np.array([1]))
    ([10, 30], {'a': [2]})
    """
    if isinstance(array, dict):
        return {name: take_rows(column, rows) for name, column in array.items()}
    if hasattr(array, "iloc"):  # pandas
        return array.iloc[rows]
    if hasattr(array, "select_columns") or not hasattr(array, "__getitem__"):  # Hugging Face
        return array.select(rows)
    if hasattr(array, "column_names") or type(array).__module__.startswith("pyarrow"):
        return array.take(rows)
    if isinstance(array, list | tuple):
        return type(array)(array[row] for row in rows.tolist())
    return array[rows]  # NumPy, SciPy's sparse rows, torch, Polars


def _check_arrays(arrays: tuple[Any, ...]) -> None:
    if not arrays:
        raise SettingError(
            "nothing was given", why="there is nothing to split", instead="give a table: train_test_split(X, y, …)"
        )
    lengths = [row_count(array) for array in arrays]
    if len(set(lengths)) > 1:
        raise SettingError(
            f"the arrays have {', '.join(f'{length:,}' for length in lengths)} rows",
            why="row i of each belongs to one example",
            instead="give arrays of one length",
        )
