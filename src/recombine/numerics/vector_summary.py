"""Scores of predicted vectors in a few numbers: each with its interval and the range that it can move in."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from recombine.numerics.groups import Numbers
from recombine.numerics.intervals import interval
from recombine.numerics.resampling import IntervalSettings, mean
from recombine.numerics.vector_scores import ReplicateCeiling, VectorParts, known_mean, reached

R2, RMS, DISCRIMINATION = "R²", "root mean square", "discrimination"
DIRECTIONS = {
    "cosine_control": "cosine from control",
    "pearson_control": "Pearson from control",
    "cosine_mean": "cosine from mean",
    "pearson_mean": "Pearson from mean",
}
"""Scores of directions: the field of `VectorParts`, and what it is called."""


@dataclass(frozen=True)
class VectorScore:
    """A score with its interval, what the mean of the training combinations gets, and what could be reached at most.

    `reached` is where the score lies between the two: 0 is no better than the mean, 1 as good as the noise of the
    measured vectors allows.
    """

    name: str
    value: float | None
    low: float | None
    high: float | None
    negative: float | None
    positive: float | None
    reached: float | None


@dataclass(frozen=True)
class VectorRule:
    """A simple rule and its scores on the combinations of which it says something."""

    name: str
    told: int
    r2: float | None
    rms: float | None
    cosine_control: float | None
    pearson_control: float | None
    cosine_mean: float | None
    pearson_mean: float | None
    discrimination: float | None


@dataclass(frozen=True)
class OutputScores:
    """R² output by output: quartiles, the share above 0, and the same of what could be reached."""

    outputs: int
    lower: float | None
    median: float | None
    upper: float | None
    above_mean: float | None
    reachable_median: float | None


def summarised(
    parts: VectorParts, constant: VectorParts, ceiling: ReplicateCeiling, settings: IntervalSettings
) -> tuple[VectorScore, ...]:
    """The scores of one prediction, beside those of the mean (`constant`); what is not defined is left out."""
    width = len(parts.output_error)
    found = [
        _score(R2, parts.r2, _turned(parts.spread, parts.error, settings, lambda x: 1 - x), constant.r2, ceiling.r2),
        _score(
            RMS,
            parts.rms,
            _turned(np.full(len(parts.error), float(width)), parts.error, settings, lambda x: math.sqrt(max(x, 0.0))),
            constant.rms,
            ceiling.rms,
        ),
    ]
    for field, name in DIRECTIONS.items():
        values: Numbers = getattr(parts, field)
        low = known_mean(getattr(constant, field))
        # the mean has no difference from itself, and so no direction: it is right by nothing
        low = 0.0 if field.endswith("_mean") else low
        found.append(_mean_score(name, values, low, getattr(ceiling, field), settings))
    ranks = parts.discrimination
    chance = known_mean(constant.discrimination)
    found.append(_mean_score(DISCRIMINATION, ranks, chance, ceiling.discrimination, settings, share=True))
    return tuple(one for one in found if one.value is not None)


def rule_of(name: str, parts: VectorParts, told: int) -> VectorRule:
    """The scores of a simple rule; None for what is not defined."""
    directions = {field: _known(known_mean(getattr(parts, field))) for field in DIRECTIONS}
    ranks = _known(known_mean(parts.discrimination))
    return VectorRule(name, told, _known(parts.r2), _known(parts.rms), discrimination=ranks, **directions)


def output_scores(parts: VectorParts, ceiling: ReplicateCeiling) -> OutputScores:
    """R² output by output in a few numbers."""
    known = parts.by_output[np.isfinite(parts.by_output)]
    most = ceiling.by_output[np.isfinite(ceiling.by_output)]
    if not len(known):
        return OutputScores(len(parts.by_output), None, None, None, None, None)
    lower, middle, upper = (float(one) for one in np.quantile(known, [0.25, 0.5, 0.75]))
    reachable = float(np.median(most)) if len(most) else None
    return OutputScores(len(parts.by_output), lower, middle, upper, float((known > 0).mean()), reachable)


def _score(
    name: str, value: float, around: tuple[float, float] | None, negative: float, positive: float
) -> VectorScore:
    low, high = around or (None, None)
    share = reached(value, negative, positive)
    return VectorScore(name, _known(value), low, high, _known(negative), _known(positive), share)


def _mean_score(
    name: str, values: Numbers, negative: float, positive: float, settings: IntervalSettings, *, share: bool = False
) -> VectorScore:
    known = values[np.isfinite(values)]
    around = interval(mean(np.ones(len(known)), known), settings, name, share=share) if len(known) else None
    return _score(name, known_mean(values), around, negative, positive)


def _turned(
    below: Numbers, above: Numbers, settings: IntervalSettings, turn: Callable[[float], float]
) -> tuple[float, float] | None:
    """An interval for a function of Σ above / Σ below, from one for the quotient; combinations are drawn."""
    found = interval(mean(below, above), settings, "vectors", least=0.0)
    if found is None:
        return None
    ends = sorted(turn(end) for end in found)
    return ends[0], ends[1]


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None
