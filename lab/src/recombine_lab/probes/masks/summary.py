"""From judged masks to numbers: accuracies, selectivities, labels, beside those of every control."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from recombine.algebra.groups import Numbers
from recombine_lab.probes.masks.judging import Judged
from recombine_lab.probes.masks.outcomes import (
    Estimate,
    contrast,
    difference,
    label,
    mean_estimate,
    selectivity,
    share_estimate,
)
from recombine_lab.probes.probe import MEASURED

MUST_BEAT = ("re-initialised", "random")
"""Controls without which, and unless they are beaten, nothing is called modular."""


@dataclass(frozen=True, eq=False)
class Rights:
    """What is right on every test, (masks, rows) each, with a component's part alone and without it."""

    component: str
    kept: Mapping[str, Numbers]
    left: Mapping[str, Numbers]

    @classmethod
    def of(cls, component: str, judged: Sequence[Judged]) -> "Rights":
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

    def selectivity(self, who: str, component: str) -> Estimate:
        """How much more is left of the others than of the component itself, without its part."""
        rights = self.who[who][component]
        return selectivity(rights.target(rights.left), rights.other(rights.left), self.chance(component))

    def selectivity_of_all(self, who: str) -> Estimate:
        """The mean over components."""
        return mean_estimate([self.selectivity(who, name) for name in self.components])

    def kept(self, component: str, who: str = MEASURED) -> Estimate:
        """What the part does alone, on Target."""
        rights = self.who[who][component]
        return share_estimate(rights.target(rights.kept))

    def left(self, component: str, who: str = MEASURED) -> tuple[Estimate, Estimate]:
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

    @property
    def components(self) -> list[str]:
        """By name, in order."""
        return self.carved.components

    def suffices(self, component: str) -> bool:
        """Whether some part does a component alone; nothing can be said of one that no part does.

        What is left without all that another component uses is such a part too.
        """
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
        if self.carved.kept(component).value < self.carved.sufficient:
            return "not sufficient"
        return "unclear" if carved == "modular" else carved

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


def quality(judged: Judged, component: str, chances: tuple[float, float]) -> tuple[float, float, float, float, float]:
    """Of one mask: alone on Target and on Other; left of Target, left of Other, and the latter minus the former."""
    rights = Rights.of(component, [judged])
    kept, target = float(rights.target(rights.kept).mean()), float(rights.target(rights.left).mean())
    beside, other = float(rights.other(rights.kept).mean()), float(rights.other(rights.left).mean())
    return kept, beside, target, other, -contrast(target, other, chance=chances[0], other_chance=chances[1])


def finite_mean(numbers: Sequence[float]) -> float | None:
    """The mean of what is known."""
    known = [one for one in numbers if math.isfinite(one)]
    return float(np.mean(known)) if known else None
