"""What a shortcut is worth: how many more rows are right where one factor points to the truth than where it does not.

A factor's value points to the class that it had most often in training; where that is not known, to the class that it
is answered with most often. Only factors that the answers follow by more than chance are asked (`shortcut_test`). Rows
of each true class are compared with rows of the same class: a class that is harder than others is no shortcut.
"""

from dataclasses import dataclass

import numpy as np

from recombine.data.support import LabelTarget
from recombine.numerics.groups import Ints, totals
from recombine.verbs.evaluate.outcomes import Outcomes
from recombine.verbs.evaluate.shortcut_test import followed
from recombine.verbs.evaluate.swap_test import SwapTest

_FEWEST_ROWS = 10  # against the factor: fewer show nothing


@dataclass(frozen=True)
class Shortcut:
    """A factor that the answers follow: the share that is right where it points to the truth, and where elsewhere.

    `along` is over the same true classes as `against`. `rows` is how many it points elsewhere in.
    """

    factor: str
    along: float
    against: float
    rows: int

    @property
    def worth(self) -> float:
        """What is lost where the factor points elsewhere."""
        return self.along - self.against


def shortcut_worth(outcomes: Outcomes, swap: SwapTest | None) -> Shortcut | None:
    """The followed factor that is worth most; None where no factor is followed.

    >>> import recombine
    >>> kind = [n % 2 for n in range(400)]
    >>> place = [one if n % 20 > 1 else 1 - one for n, one in enumerate(kind)]
    >>> table = {"place": place, "light": [n // 20 % 5 for n in range(400)], "kind": kind, "said": place}
    >>> found = recombine.evaluate(table, factors=["place", "light"], target="kind", prediction="said")
    >>> found.shortcut
    Shortcut(factor='place', along=1.0, against=0.0, rows=40)
    """
    if swap is None:
        return None
    chances = followed(tuple(one.by_chance for one in swap.factors))
    found = [_worth(outcomes, k) for k, yes in enumerate(chances) if yes]
    return max((one for one in found if one is not None), key=lambda one: one.worth, default=None)


def _worth(outcomes: Outcomes, factor: int) -> Shortcut | None:
    value = outcomes.tested.codes[outcomes.combination, factor].astype(np.int64)
    points = _points_to(outcomes, factor, value)[value]
    right = outcomes.count * (outcomes.said == outcomes.truth)
    # by whether the factor points elsewhere, and by true class
    place, classes = (points != outcomes.truth) * len(outcomes.classes) + outcomes.truth, len(outcomes.classes)
    rows, good = (totals(place, counted, 2 * classes).reshape(2, -1) for counted in (outcomes.count, right))
    both = (rows > 0).all(axis=0)
    against = float(rows[1, both].sum())
    if against < _FEWEST_ROWS:
        return None
    along = float((good[0] / np.maximum(rows[0], 1))[both] @ rows[1, both]) / against
    return Shortcut(outcomes.tested.space.names[factor], along, float(good[1, both].sum()) / against, int(against))


def _points_to(outcomes: Outcomes, factor: int, value: Ints) -> Ints:
    """The class that each value of a factor points to."""
    size, classes = outcomes.tested.space.sizes[factor], len(outcomes.classes)
    label, count = outcomes.said, outcomes.count
    target = None if outcomes.training is None else outcomes.training.target
    if outcomes.training is not None and isinstance(target, LabelTarget):
        value = outcomes.training.codes[target.combination, factor].astype(np.int64)
        label, count = target.label, target.count
    return np.asarray(totals(value * classes + label, count, size * classes).reshape(size, classes).argmax(axis=1))
