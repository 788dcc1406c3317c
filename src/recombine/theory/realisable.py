"""Whether any rule over the seen conjunctions could give the true answers on unseen combinations.

Whatever the weights, the learner's answers on unseen combinations are sums over conjunctions that were seen. If the
true answers are not such a sum (for classes: if no such sum has the right signs), the learner can't, however long it
trains. We look for the best sum directly: least squares for numbers; for classes least squares on those that are not
yet on the right side with a margin of one, again and again (Newton's method for the squared hinge).
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from recombine.factors.groups import Codes, Ints, Numbers, totals
from recombine.factors.support import Support
from recombine.theory.salience import members
from recombine.theory.squared import Weights

_ITERATIONS = 400
_ROUNDS = 60
_TOLERANCE = 1e-10

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class SeenParts:
    """For some combinations, their conjunctions that were seen in training: the columns that a rule can use."""

    rows: int
    places: tuple[Ints, ...]  # one array a set; the last group of each stands for "never seen"
    sizes: tuple[int, ...]
    constant: bool = False  # whether one of the columns is the constant

    @classmethod
    def of(cls, support: Support, weights: Weights, codes: Codes) -> "SeenParts":
        """Lower conjunctions alone: an unseen combination's own was never seen."""
        masks = [mask for mask in range(1, len(weights) - 1) if weights[mask]]
        groups = [support.groups(members(mask)) for mask in masks]
        places = [np.zeros(len(codes), dtype=np.int64)] if weights[0] else []
        sizes = [1] if weights[0] else []
        for one in groups:
            found = one.lookup(codes)
            places.append(np.where(found < 0, one.size, found))
            sizes.append(one.size)
        return cls(len(codes), tuple(places), tuple(sizes), constant=bool(weights[0]))

    def spread(self, coefficients: list[Numbers]) -> Numbers:
        """The rule's answer on each combination."""
        total = np.zeros(self.rows)
        for place, coefficient in zip(self.places, coefficients, strict=True):
            total += np.append(coefficient, 0.0)[place]
        return total

    def sums(self, values: Numbers) -> list[Numbers]:
        """The sum over each conjunction's combinations."""
        return [totals(place, values, size + 1)[:-1] for place, size in zip(self.places, self.sizes, strict=True)]

    def closest(self, target: Numbers, among: Flags | None = None) -> Numbers:
        """The rule's answers that come closest to the target, in squares, among some of the combinations.

        Conjugate gradients on the normal equations; started from zero, it finds the smallest such rule.
        """
        chosen = np.ones(self.rows) if among is None else among.astype(np.float64)
        fit = np.zeros(self.rows)
        left = chosen * target
        gradient = self.sums(left)
        direction, slope = gradient, _square(gradient)
        goal = _TOLERANCE**2 * max(slope, 1e-300)
        for _ in range(_ITERATIONS):
            if slope <= goal:
                break
            image = self.spread(direction)
            step = slope / float((chosen * image) @ image)
            fit += step * image
            left -= step * chosen * image
            gradient = self.sums(left)
            slope, before = _square(gradient), slope
            direction = [g + slope / before * d for g, d in zip(gradient, direction, strict=True)]
        return fit


def _square(parts: list[Numbers]) -> float:
    return float(sum(part @ part for part in parts))


def shortfall(parts: SeenParts, target: Numbers) -> Numbers:
    """How far the best rule stays from each of the true numbers."""
    middle = (
        float(target.mean()) if parts.constant else 0.0
    )  # far from 0 the search would stop at the constant's digits
    return np.asarray(np.abs(target - middle - parts.closest(target - middle)))


def best_margin(parts: SeenParts, signs: Numbers) -> Numbers:
    """The signed margin of each combination under the rule that comes closest to giving all of them one or more."""
    fit = np.zeros(parts.rows)
    for _ in range(_ROUNDS):
        short = signs * fit < 1 - 1e-9
        if not short.any():
            break
        better = parts.closest(signs, short)
        moved = _best_between(fit, better, signs)
        if np.abs(moved - fit).max() <= 1e-9:
            break
        fit = moved
    return signs * fit


def _best_between(old: Numbers, new: Numbers, signs: Numbers) -> Numbers:
    """The point between two rules with the least squared shortfall: a convex function of one number."""
    low, high = 0.0, 1.0
    if _slope(old, new, signs, 1.0) <= 0:
        return new
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (low, middle) if _slope(old, new, signs, middle) > 0 else (middle, high)
    return old + low * (new - old)


def _slope(old: Numbers, new: Numbers, signs: Numbers, share: float) -> float:
    short = np.maximum(1 - signs * (old + share * (new - old)), 0.0)
    return -float(short @ (signs * (new - old)))
