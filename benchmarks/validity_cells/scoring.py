"""How well forecasts came true: rank correlation, mean error, coverage, what each grade came to.

Scores below -1 count as -1, forecast or measured: one R² of -30 would decide every mean.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from recombine.numerics.rank_correlation import spearman

LEAST = -1.0
GRADES = ("sound", "plausible", "weak", "failing", "untested")


@dataclass(frozen=True)
class Told:
    """A cell, what was measured, what was said."""

    cell: str
    group: str
    sealed: bool
    measured: float
    value: float | None
    low: float | None = None
    high: float | None = None
    grade: str | None = None
    seconds: float = 0.0

    @property
    def miss(self) -> float:
        """Forecast less measured."""
        assert self.value is not None
        return max(self.value, LEAST) - max(self.measured, LEAST)

    @property
    def held(self) -> bool | None:
        """Whether the interval holds what was measured; None without an interval."""
        if self.low is None or self.high is None:
            return None
        low, measured, high = (max(value, LEAST) for value in (self.low, self.measured, self.high))
        return low - 1e-9 <= measured <= high + 1e-9


def summary(told: Sequence[Told]) -> dict[str, Any]:
    """The figures of one forecaster over some cells; None where there is nothing to count."""
    said = [one for one in told if one.value is not None]
    held = [one.held for one in said if one.held is not None]
    ends = [one for one in said if one.low is not None and one.high is not None]
    return {
        "cells": len(told),
        "abstained": len(told) - len(said),
        "rank": ranks([one.value for one in said], [one.measured for one in said]),
        "error": float(np.mean([abs(one.miss) for one in said])) if said else None,
        "bias": float(np.mean([one.miss for one in said])) if said else None,
        "covered": float(np.mean(held)) if held else None,
        "width": float(np.mean([max(one.high, LEAST) - max(one.low, LEAST) for one in ends])) if ends else None,
        "seconds": float(np.median([one.seconds for one in told])) if told else None,
    }


def ranks(one: Sequence[float], other: Sequence[float]) -> float | None:
    """Spearman's rank correlation of scores that are cut off below; None below three, or where one side is constant."""
    if len(one) < 3:
        return None
    a, b = (np.maximum(np.array(values, dtype=float), LEAST) for values in (one, other))
    return None if np.ptp(a) == 0 or np.ptp(b) == 0 else spearman(a, b).value


def by_grade(told: Sequence[Told]) -> dict[str, dict[str, float]]:
    """What the cells of each grade came to: how many, their mean and their worst measured score."""
    found = {}
    for grade in GRADES:
        own = [max(one.measured, LEAST) for one in told if one.grade == grade]
        if own:
            found[grade] = {"cells": len(own), "mean": float(np.mean(own)), "worst": min(own), "best": max(own)}
    return found
