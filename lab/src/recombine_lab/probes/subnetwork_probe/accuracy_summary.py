"""What a mask's accuracies say: labels, contrasts, overlaps, and intervals over mask seeds and examples.

Target is the test of the mask's own component, Other the tests of the other components. The thresholds are those by
which the published searches were sorted, at their chance of one in four; at another chance they stand at the same share
of the way from chance to 1.

From judged masks to numbers: accuracies, selectivities, labels, beside those of every control.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
import torch
from torch import Tensor

from recombine.numerics.groups import Numbers
from recombine.numerics.intervals import student_mean_interval, wilson_interval
from recombine_lab.probes.probe import MEASURED
from recombine_lab.probes.subnetwork_probe.ablation import MaskJudgement
from recombine_lab.probes.subnetwork_probe.mask_learning import Mask
from recombine_lab.probes.subnetwork_probe.masked_network import ParameterLayout

OUTCOMES = ("modular", "redundant", "collapse", "anti-modular", "not sufficient", "unclear")
SUFFICIENT = 0.9
_CHANCE = 0.25
_LOST, _INTACT, _FINE, _GAP = 0.35, 0.9, 0.8, 0.2
"""At a chance of .25: both below, both above, the better one above, and how far the two are apart."""


@dataclass(frozen=True)
class MaskEstimate:
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


def overlap(masks: Sequence[Mask], layouts: Sequence[ParameterLayout]) -> float:
    """What all of some masks keep, as a share of what any of them keeps, in weights; NaN where none keeps any."""
    both = either = 0.0
    for layout in layouts:
        stack: Tensor = torch.stack([mask[layout.name] for mask in masks])
        worth = layout.size / layout.groups
        both += worth * float(stack.all(0).sum())
        either += worth * float(stack.any(0).sum())
    return both / either if either else float("nan")


def pairwise_overlap(masks: Sequence[Mask], layouts: Sequence[ParameterLayout]) -> float:
    """The mean overlap of two of the masks; NaN with fewer than two."""
    found = [overlap(pair, layouts) for pair in combinations(masks, 2)]
    return float(np.mean(found)) if found else float("nan")


def share_estimate(right: Numbers) -> MaskEstimate:
    """(masks, rows) -> the share that is right, with what both other masks and other examples would change."""
    value = float(right.mean())
    low, high = wilson_interval(value, right.shape[1])
    half = _half(right.mean(axis=1))
    return MaskEstimate(
        value,
        max(0.0, value - math.hypot(value - low, half)),
        min(1.0, value + math.hypot(high - value, half)),
        len(right),
    )


def selectivity(target: Numbers, other: Numbers, chances: tuple[float, float]) -> MaskEstimate:
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
    return MaskEstimate(value, max(-1.0, low), min(1.0, high), len(each))


def difference(one: MaskEstimate, other: MaskEstimate) -> MaskEstimate:
    """Of two numbers that were measured apart, with the interval put together from theirs."""
    value = one.value - other.value
    low = value - math.hypot(one.value - one.low, other.high - other.value)
    high = value + math.hypot(one.high - one.value, other.value - other.low)
    return MaskEstimate(value, low, high, min(one.n, other.n))


def mean_estimate(several: Sequence[MaskEstimate]) -> MaskEstimate:
    """The mean of numbers that were measured apart."""
    value = float(np.mean([one.value for one in several]))
    low = math.sqrt(sum((one.value - one.low) ** 2 for one in several)) / len(several)
    high = math.sqrt(sum((one.high - one.value) ** 2 for one in several)) / len(several)
    return MaskEstimate(value, value - low, value + high, min(one.n for one in several))


def _half(each: Numbers) -> float:
    """Half of Student's interval of a mean over masks; 0 for one mask, of which nothing can be said."""
    low, high = student_mean_interval(each) or (0.0, 0.0)
    return (high - low) / 2


MUST_BEAT = ("re-initialised", "random")
"""Controls without which, and unless they are beaten, nothing is called modular."""


@dataclass(frozen=True, eq=False)
class Rights:
    """What is right on every test, (masks, rows) each, with a component's part alone and without it."""

    component: str
    kept: Mapping[str, Numbers]
    left: Mapping[str, Numbers]

    @classmethod
    def of(cls, component: str, judged: Sequence[MaskJudgement]) -> "Rights":
        """The masks of a component, one below the other."""
        tests = judged[0].kept
        kept = {name: np.stack([one.kept[name] for one in judged]).astype(float) for name in tests}
        left = {name: np.stack([one.left[name] for one in judged]).astype(float) for name in tests}
        return cls(component, kept, left)

    def target(self, part: Mapping[str, Numbers]) -> Numbers:
        """Of the own test."""
        return part[self.component]

    def other(self, part: Mapping[str, Numbers]) -> Numbers:
        """Of the tests of the other components, all rows of which count alike."""
        return np.concatenate([rows for name, rows in part.items() if name != self.component], axis=1)


@dataclass(frozen=True, eq=False)
class Summary:
    """Everybody's masks in numbers."""

    who: Mapping[str, Mapping[str, Rights]]
    chances: Mapping[str, float]
    rows: Mapping[str, int]
    sufficient: float

    @property
    def components(self) -> list[str]:
        """By name, in order."""
        return list(self.who[MEASURED])

    def chance(self, component: str) -> tuple[float, float]:
        """The accuracy of one answer for all on Target, and on Other."""
        others = [name for name in self.chances if name != component]
        total = sum(self.rows[name] for name in others)
        return self.chances[component], sum(self.chances[name] * self.rows[name] for name in others) / total

    def selectivity(self, who: str, component: str) -> MaskEstimate:
        """How much more is left of the others than of the component itself, without its part."""
        rights = self.who[who][component]
        return selectivity(rights.target(rights.left), rights.other(rights.left), self.chance(component))

    def selectivity_of_all(self, who: str) -> MaskEstimate:
        """The mean over components."""
        return mean_estimate([self.selectivity(who, name) for name in self.components])

    def kept(self, component: str, who: str = MEASURED) -> MaskEstimate:
        """What the part does alone, on Target."""
        rights = self.who[who][component]
        return share_estimate(rights.target(rights.kept))

    def left(self, component: str, who: str = MEASURED) -> tuple[MaskEstimate, MaskEstimate]:
        """What is left without the part, of Target and of Other."""
        rights = self.who[who][component]
        return share_estimate(rights.target(rights.left)), share_estimate(rights.other(rights.left))

    def not_beaten(self, component: str) -> list[str]:
        """The controls that a component's selectivity does not exceed for certain, or that were not run."""
        mine = self.selectivity(MEASURED, component)
        return [
            who
            for who in MUST_BEAT
            if who not in self.who or difference(mine, self.selectivity(who, component)).low <= 0
        ]

    def removed(self, component: str) -> str:
        """The label by what is left without the part, whatever the part does alone."""
        target, other = (one.value for one in self.left(component))
        return label_of(1.0, target, other, self.chance(component), self.sufficient)


@dataclass(frozen=True, eq=False)
class PartSummaries:
    """What three kinds of parts say together.

    `carved` are the learned masks: enough for a component, and as sparse as that can be. `used` is all that a component
    uses, `core` the most of it. That a sparse mask can be taken out without harm to the others is no sign of separate
    parts, since a shared layer hardly misses it; and that its own component survives is no sign against them.
    """

    carved: Summary
    used: Summary
    core: Summary
    own: Mapping[str, float] | None = None
    """Where components disturb each other: for each, the share of its own held-out examples that a part does alone."""

    @property
    def components(self) -> list[str]:
        """By name, in order."""
        return self.carved.components

    def suffices(self, component: str) -> bool:
        """Whether some part does a component alone; nothing can be said of one that no part does.

        What is left without all that another component uses is such a part too. Where components disturb each other
        this is asked of examples in which the others are left to chance: on the tests they agree, and the whole network
        would suffice for each.
        """
        if self.own is not None:
            return self.own[component] >= self.carved.sufficient
        others = [self.used.who[MEASURED][name] for name in self.components if name != component]
        rest = min(float(one.left[component].mean()) for one in others)
        return max(self.carved.kept(component).value, self.used.kept(component).value, rest) >= self.carved.sufficient

    def label(self, component: str) -> str:
        """The label of a component; modular only where all that it uses is its own and the controls are beaten."""
        if not self.suffices(component):
            return "not sufficient"
        carved, used, core = (one.removed(component) for one in (self.carved, self.used, self.core))
        if used == "modular":
            harmless = carved not in ("collapse", "anti-modular")
            return "modular" if harmless and not self.used.not_beaten(component) else "unclear"
        if used == core == "collapse" and carved != "anti-modular":
            return "collapse"
        sparse = carved
        if self.carved.kept(component).value < self.carved.sufficient:
            if self.own is None:
                return "not sufficient"
            sparse = used  # nothing sparser does the component
        return "unclear" if sparse == "modular" else sparse

    @cached_property
    def labels(self) -> dict[str, str]:
        """The label of every component."""
        return {name: self.label(name) for name in self.components}

    @cached_property
    def outcome(self) -> str:
        """The label that all components share; a part that does not suffice settles it, and else it is unclear."""
        found = set(self.labels.values())
        if "not sufficient" in found:
            return "not sufficient"
        return found.pop() if len(found) == 1 else "unclear"

    @property
    def deciding(self) -> Summary:
        """The parts that the outcome rests on: all that components use, or the learned masks."""
        by_use = all(self.used.removed(name) == self.outcome for name in self.components)
        return self.used if by_use else self.carved


def label_of(kept: float, target: float, other: float, chances: tuple[float, float], sufficient: float) -> str:
    """The label at the chance of the test at hand: the higher one of two that differ."""
    return label(kept, target, other, chance=max(chances), sufficient=sufficient)


def quality(
    judged: MaskJudgement, component: str, chances: tuple[float, float]
) -> tuple[float, float, float, float, float]:
    """Of one mask: alone on Target and on Other; left of Target, left of Other, and the latter minus the former."""
    rights = Rights.of(component, [judged])
    kept, target = float(rights.target(rights.kept).mean()), float(rights.target(rights.left).mean())
    beside, other = float(rights.other(rights.kept).mean()), float(rights.other(rights.left).mean())
    return kept, beside, target, other, -contrast(target, other, chance=chances[0], other_chance=chances[1])


def finite_mean(numbers: Sequence[float]) -> float | None:
    """The mean of what is known."""
    known = [one for one in numbers if math.isfinite(one)]
    return float(np.mean(known)) if known else None
