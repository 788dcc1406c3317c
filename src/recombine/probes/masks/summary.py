"""From judged masks to numbers: accuracies, selectivities, labels, beside those of every control."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from recombine.algebra.groups import Numbers
from recombine.probes.masks.judging import Judged
from recombine.probes.masks.outcomes import (
    Estimate,
    contrast,
    difference,
    label,
    mean_estimate,
    selectivity,
    share_estimate,
)
from recombine.probes.probe import MEASURED

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

    def raw_label(self, component: str, who: str = MEASURED) -> str:
        """The label of a component's masks by their accuracies alone."""
        target, other = self.left(component, who)
        kept = self.kept(component, who).value
        return label_of(kept, target.value, other.value, self.chance(component), self.sufficient)

    def label(self, component: str) -> str:
        """The label of a component's masks; modular only where the controls are beaten."""
        found = self.raw_label(component)
        return "unclear" if found == "modular" and self.not_beaten(component) else found

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
