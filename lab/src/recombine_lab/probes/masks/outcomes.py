"""What a mask's accuracies say: labels, contrasts, overlaps, and intervals over mask seeds and examples.

Target is the test of the mask's own component, Other the tests of the other components. The thresholds are those by
which the published searches were sorted, at their chance of one in four; at another chance they stand at the same share
of the way from chance to 1.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import torch
from torch import Tensor

from recombine.algebra.groups import Numbers
from recombine.statistics.distributions import normal_quantile, student_quantile
from recombine_lab.probes.masks.learning import Mask
from recombine_lab.probes.masks.network import Layout

OUTCOMES = ("modular", "redundant", "collapse", "anti-modular", "not sufficient", "unclear")
SUFFICIENT = 0.9
_CHANCE = 0.25
_LOST, _INTACT, _FINE, _GAP = 0.35, 0.9, 0.8, 0.2
"""At a chance of .25: both below, both above, the better one above, and how far the two are apart."""
_TAIL = 0.975


@dataclass(frozen=True)
class Estimate:
    """A number with its interval, over `n` masks."""

    value: float
    low: float
    high: float
    n: int


def label(kept: float, target: float, other: float, *, chance: float = _CHANCE, sufficient: float = SUFFICIENT) -> str:
    """The outcome of one mask: what it does alone on Target, and what is left on Target and Other without it.

    >>> [label(0.95, *left) for left in [(0.3, 0.9), (0.95, 0.95), (0.3, 0.3), (0.9, 0.3), (0.6, 0.7)]]
    ['modular', 'redundant', 'collapse', 'anti-modular', 'unclear']
    >>> label(0.89, 0.3, 0.9)
    'not sufficient'
    """
    if not kept >= sufficient:
        return "not sufficient"
    lost, intact, fine = (_moved(threshold, chance) for threshold in (_LOST, _INTACT, _FINE))
    gap = _GAP * (1 - chance) / (1 - _CHANCE)
    if target < lost and other < lost:
        return "collapse"
    if target > intact and other > intact:
        return "redundant"
    if other > fine and other - target > gap:
        return "modular"
    if target > fine and target - other > gap:
        return "anti-modular"
    return "unclear"


def _moved(threshold: float, chance: float) -> float:
    """A threshold at the same share of the way from chance to 1."""
    return chance + (threshold - _CHANCE) / (1 - _CHANCE) * (1 - chance)


def contrast(target: float, other: float, *, chance: float = _CHANCE, other_chance: float | None = None) -> float:
    """Target minus Other, each at least chance; of a network without a part, negative is modular.

    >>> round(contrast(0.20, 0.60), 2), round(contrast(0.97, 0.24), 2)
    (-0.35, 0.72)
    """
    return max(target, chance) - max(other, chance if other_chance is None else other_chance)


def overlap(masks: Sequence[Mask], layouts: Sequence[Layout]) -> float:
    """What all of some masks keep, as a share of what any of them keeps, in weights; NaN where none keeps any."""
    both = either = 0.0
    for layout in layouts:
        stack: Tensor = torch.stack([mask[layout.name] for mask in masks])
        worth = layout.size / layout.groups
        both += worth * float(stack.all(0).sum())
        either += worth * float(stack.any(0).sum())
    return both / either if either else float("nan")


def pairwise_overlap(masks: Sequence[Mask], layouts: Sequence[Layout]) -> float:
    """The mean overlap of two of the masks; NaN with fewer than two."""
    found = [overlap(pair, layouts) for pair in combinations(masks, 2)]
    return float(np.mean(found)) if found else float("nan")


def wilson(share: float, rows: int) -> tuple[float, float]:
    """Wilson's interval of a share of some examples, 95 %.

    >>> [round(end, 3) for end in wilson(0.0, 200)]
    [0.0, 0.019]
    """
    z = normal_quantile(_TAIL)
    middle = (share + z**2 / (2 * rows)) / (1 + z**2 / rows)
    half = z / (1 + z**2 / rows) * math.sqrt(share * (1 - share) / rows + z**2 / (4 * rows**2))
    return max(0.0, min(share, middle - half)), min(1.0, max(share, middle + half))


def share_estimate(right: Numbers) -> Estimate:
    """(masks, rows) -> the share that is right, with what both other masks and other examples would change."""
    value = float(right.mean())
    low, high = wilson(value, right.shape[1])
    half = _half(right.mean(axis=1))
    return Estimate(
        value,
        max(0.0, value - math.hypot(value - low, half)),
        min(1.0, value + math.hypot(high - value, half)),
        len(right),
    )


def selectivity(target: Numbers, other: Numbers, chances: tuple[float, float]) -> Estimate:
    """How much more is left of Other than of Target, (masks, rows) each: minus the published contrast.

    The interval adds the squares of what other masks (Student) and other examples (Wilson, Newcombe) would change.
    """
    each = np.array(
        [
            -contrast(t, o, chance=chances[0], other_chance=chances[1])
            for t, o in zip(target.mean(1), other.mean(1), strict=True)
        ]
    )
    value, half = float(each.mean()), _half(each)
    mine, theirs = share_estimate(target.mean(0, keepdims=True)), share_estimate(other.mean(0, keepdims=True))
    low = value - math.sqrt(half**2 + (theirs.value - theirs.low) ** 2 + (mine.high - mine.value) ** 2)
    high = value + math.sqrt(half**2 + (theirs.high - theirs.value) ** 2 + (mine.value - mine.low) ** 2)
    return Estimate(value, max(-1.0, low), min(1.0, high), len(each))


def difference(one: Estimate, other: Estimate) -> Estimate:
    """Of two numbers that were measured apart, with the interval put together from theirs."""
    value = one.value - other.value
    low = value - math.hypot(one.value - one.low, other.high - other.value)
    high = value + math.hypot(one.high - one.value, other.value - other.low)
    return Estimate(value, low, high, min(one.n, other.n))


def mean_estimate(several: Sequence[Estimate]) -> Estimate:
    """The mean of numbers that were measured apart."""
    value = float(np.mean([one.value for one in several]))
    low = math.sqrt(sum((one.value - one.low) ** 2 for one in several)) / len(several)
    high = math.sqrt(sum((one.high - one.value) ** 2 for one in several)) / len(several)
    return Estimate(value, value - low, value + high, min(one.n for one in several))


def _half(each: Numbers) -> float:
    """Half of Student's interval of a mean over masks; 0 for one mask, of which nothing can be said."""
    if len(each) < 2:
        return 0.0
    return float(student_quantile(_TAIL, len(each) - 1)) * float(each.std(ddof=1)) / math.sqrt(len(each))
