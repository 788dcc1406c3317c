"""Numbers by seed, read off what was measured: how fast a run learns, how far it falls, what its answers hang on."""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

from recombine_studies.redundancy.measures import ANSWERS, CURVES, INFLUENCE
from recombine_studies.rows import Rows
from recombine_studies.study import Evidence

BySeed = Mapping[int, float]


def curves(evidence: Evidence, grid: str, setting: str) -> dict[int, Rows]:
    """The curve of each seed, in order of the steps."""
    rows = evidence.of(CURVES).where(grid=grid, setting=setting)
    return {seed: Rows(sorted(own, key=lambda row: row["step"])) for seed, own in rows.by("seed").items()}


def speeds(evidence: Evidence, grid: str, setting: str) -> BySeed:
    """How fast each seed learns: its training accuracy, averaged over the steps on a logarithmic scale."""
    return {
        seed: average_over_log(own.column("step"), own.column("train"))
        for seed, own in curves(evidence, grid, setting).items()
    }


def average_over_log(steps: Sequence[int], scores: Sequence[float | None]) -> float:
    """The mean height of a curve over log(step), from the first step to the last; what is before any step is left out.

    >>> average_over_log([0, 1, 10, 100], [0.9, 0.0, 0.5, 1.0])
    0.5
    """
    known = [
        (math.log(step), math.nan if score is None else score)
        for step, score in zip(steps, scores, strict=True)
        if step
    ]
    if len(known) < 2:
        return math.nan
    area = sum((right[0] - left[0]) * (left[1] + right[1]) / 2 for left, right in pairwise(known))
    return area / (known[-1][0] - known[0][0])


def lasts(evidence: Evidence, grid: str, setting: str, part: str) -> BySeed:
    """The last score of each seed on `train`, `test` or `replaced`."""
    found = {seed: own[-1].get(part) for seed, own in curves(evidence, grid, setting).items()}
    return {seed: math.nan if value is None else float(value) for seed, value in found.items()}


def at_step(evidence: Evidence, grid: str, setting: str, part: str, step: int) -> BySeed:
    """The score of each seed at one evaluation."""
    found = {seed: own.where(step=step) for seed, own in curves(evidence, grid, setting).items()}
    return {seed: own.number(part) for seed, own in found.items() if len(own)}


def gaps(evidence: Evidence, grid: str, setting: str, part: str = "test") -> BySeed:
    """How far the test is below training at the end, for each seed."""
    return less(lasts(evidence, grid, setting, "train"), lasts(evidence, grid, setting, part))


def less(one: BySeed, other: BySeed) -> BySeed:
    """The difference seed by seed, of seeds that both have.

    >>> less({0: 0.5, 1: 0.75}, {1: 0.25})
    {1: 0.5}
    """
    return {seed: value - other[seed] for seed, value in one.items() if seed in other}


def influences(evidence: Evidence, grid: str, setting: str, name: str, step: int) -> BySeed:
    """One measure of each seed's network at one step; before any step all settings have the same network."""
    rows = evidence.of(INFLUENCE).where(grid=grid, setting=setting if step else "A", step=step)
    return {row["seed"]: float(row[name]) for row in rows if row[name] is not None}


def steps_of(evidence: Evidence, grid: str) -> list[int]:
    """The steps at which networks were asked what they hang on, without the beginning."""
    rows = evidence.of(INFLUENCE)
    return sorted({row["step"] for row in rows if row["grid"] == grid and row["step"]})


def syntax_gaps(evidence: Evidence, setting: str) -> BySeed:
    """Of SCAN: how much more often the syntax is right on commands as in training than on the test."""
    rows = evidence.of(ANSWERS).where(setting=setting)
    seen, unseen = ({row["seed"]: row["syntax"] for row in rows.where(part=part)} for part in ("seen", "unseen"))
    return less(seen, unseen)


def numbers(found: BySeed) -> list[float]:
    """The numbers alone, in order of the seeds."""
    return [found[seed] for seed in sorted(found)]
