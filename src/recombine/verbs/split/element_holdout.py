"""Hold out elements of sets, and what they stand in: the `simulation` split of GEARS, from its definition.

A share of the elements is drawn as *seen*. Training keeps the sets of one seen element, and a share of the larger sets
whose elements all are; everything else is held out, by a name that says how many of its elements were drawn as seen.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from recombine.base.checks import check_share
from recombine.base.errors import SettingError
from recombine.data.support import Support
from recombine.numerics.groups import Ints
from recombine.verbs.split.splitter import Assignment, Splitter

_NEITHER_EMPTY = "with none or all of them one side would be empty"


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class HoldOutElements(Splitter):
    """Draw elements of a set factor as seen, and hold out the sets of others: GEARS' split called `simulation`.

    `seen_elements` of the elements are drawn as seen (GEARS' `train_gene_set_size`). Training keeps the empty set, the
    sets of one seen element, and `trained_sets` of the larger sets whose elements all were drawn
    (`combo_seen2_train_frac`). Held-out sets have a rung: `unseen_single`, and of two elements `combo_seen0`, `1` or
    `2`, by how many were drawn; of three `combo3_seen0` and so on. *Seen* means drawn, not measured: an element that
    was drawn, but never stands alone, may be in no training set at all; the split counts them.

    Other factors beside the set take no part: a set is held out with all of them.

    >>> table = {"given": ["ctrl", "A", "B", "C", "D", "A+B", "A+C", "B+C", "A+D", "C+D"]}
    >>> splitter = HoldOutElements(sets={"genes": "given:+"}, random_state=1)
    >>> sorted(filter(None, splitter.assignment(splitter.rows(table).support).rungs))
    ['combo_seen1', 'combo_seen1', 'combo_seen2', 'unseen_single']
    """

    takes_sets: ClassVar = True
    seen_elements: float = 0.75
    trained_sets: float = 0.75
    n_splits: int = 1
    random_state: int = 0
    guarantee: Literal["values", "none"] = "none"

    def check_settings(self) -> None:
        """Shares between 0 and 1, and one set factor."""
        check_share("seen_elements", self.seen_elements, why=_NEITHER_EMPTY)
        check_share("trained_sets", self.trained_sets, why=_NEITHER_EMPTY)
        if len(self.sets or {}) != 1:
            raise SettingError(
                f"HoldOutElements with {len(self.sets or {})} sets",
                why="it draws the elements of one factor whose value is a set",
                instead="name one: sets={'genes': 'condition:+'} (--set genes=condition:+)",
            )

    def assign(self, support: Support, fold: int) -> Assignment:
        """Everything but the sets of one drawn element, and a share of those whose elements all were drawn."""
        (k,) = support.space.set_factors
        held, place = np.unique(support.codes[:, k], return_inverse=True)
        rows = support.space.factors[k].kind.rows(held)
        drawn = self._drawn(rows.counts() > 0, fold)
        inside = rows.sums(drawn.astype(np.int64))
        trained = (inside == rows.lengths) & (rows.lengths <= 1)
        known = np.flatnonzero((inside == rows.lengths) & (rows.lengths > 1))
        kept = int(len(known) * self.trained_sets)
        trained[self.rng(fold, "sets").choice(known, size=kept, replace=False)] = True
        rungs = ["" if own else _rung(*of) for own, *of in zip(trained, inside, rows.lengths, strict=True)]
        return Assignment(
            ~trained[place], np.zeros(len(support), dtype=bool), rungs=tuple(rungs[one] for one in place.tolist())
        )

    def _drawn(self, there: npt.NDArray[np.bool_], fold: int) -> npt.NDArray[np.bool_]:
        """The elements that count as seen, of all that occur."""
        occurring: Ints = np.flatnonzero(there)
        drawn = np.zeros(len(there), dtype=bool)
        number = int(len(occurring) * self.seen_elements)
        drawn[self.rng(fold, "elements").choice(occurring, size=number, replace=False)] = True
        return drawn


def _rung(seen: int, size: int) -> str:
    """What GEARS calls a held-out set.

    >>> _rung(0, 1), _rung(1, 2), _rung(2, 3)
    ('unseen_single', 'combo_seen1', 'combo3_seen2')
    """
    if size == 1:
        return "unseen_single"
    return f"combo_seen{seen}" if size == 2 else f"combo{size}_seen{seen}"
