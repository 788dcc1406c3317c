"""Hold out a share of the seen combinations, by chance."""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from recombine.algebra.groups import Ints
from recombine.errors import SettingError
from recombine.splits.basis import kept_to_determine
from recombine.splits.checker import Promise
from recombine.splits.cover import Kept, last_of_each_value, occur, smallest_cover, values_seen_once
from recombine.splits.settings import check_choice, check_share
from recombine.splits.splitter import Assignment, Splitter
from recombine.splits.strata import balanced, order_by_chance
from recombine.tables.support import Support
from recombine.words import count, listing

Guarantee = Literal["values", "determined", "none"]

_DEMANDS = {
    "values": "every value is to keep a combination in training",
    "determined": "training is to determine every held-out combination",
    "none": "neither side may be empty",
}


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class HoldOutCombinations(Splitter):
    """Hold out a share of the seen **combinations**, with all their rows; each split is drawn on its own.

    The share counts combinations, not rows: where some have many rows, the share of rows differs.

    `guarantee="values"`: every value keeps a combination in training. `"determined"`: training determines every
    held-out combination under an additive rule. `"none"`: nothing. `strata` names the column of the classes (or is
    `"y"`), whose shares among the held-out rows then follow the whole table's as closely as combinations allow.

    >>> table = {"colour": ["red", "red", "blue", "blue"], "shape": ["disc", "bar", "disc", "bar"]}
    >>> splitter = HoldOutCombinations(factors=["colour", "shape"], share=0.25, n_splits=1)
    >>> [(len(train), len(test)) for train, test in splitter.split(table)]
    [(3, 1)]
    """

    share: float = 0.2
    n_splits: int = 5
    seed: int = 0
    guarantee: Guarantee = "values"
    strata: str | int | None = None

    def check_settings(self) -> None:
        """A share between 0 and 1, and a guarantee that exists."""
        check_share("share", self.share)
        check_choice("guarantee", self.guarantee, tuple(_DEMANDS))

    @property
    def promise(self) -> Promise:
        """The guarantee; what is determined has its values in training too."""
        return Promise.of(self.guarantee)

    def assign(self, support: Support, fold: int) -> Assignment:
        """A random order, what training must keep, and the first of the rest."""
        wanted = max(1, round(self.share * len(support)))
        order = order_by_chance(support, self.strata, self.rng(fold, "order"))
        kept = self._kept(support, order, wanted)
        free = order[~kept.mask[order]]
        if len(free) < wanted or wanted == len(support):
            raise self._unreachable(support, wanted, kept)
        rng = self.rng(fold, "exchange")
        test = np.zeros(len(support), dtype=bool)
        test[balanced(support, free[:wanted], free[wanted:], strata=self.strata, rng=rng)] = True
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
            f"share={self.share:g} would hold out {count(wanted)} of {count(len(support))} combinations",
            why=f"{_DEMANDS[self.guarantee]}, so {limit} {count(most)} can be held out{culprits}",
            instead=(f"write share={share:g}" if share else "collect more combinations") + weaker,
        )
