"""Verdicts on planted worlds: the quick sibling of `benchmarks/calibration.py`."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
from calibration import VERBS, told_by
from worlds import FAMILIES, NOISE

SEEDS = range(700, 704)


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("family", NOISE)
def test_noise_and_constants_are_never_graded_well(family: str, verb: str) -> None:
    told = [told_by(verb, FAMILIES[family](seed)) for seed in SEEDS]
    assert "sound" not in {one.grade for one in told if one.hopeless}


@pytest.mark.slow
@pytest.mark.parametrize("verb", VERBS)
def test_what_is_promised_happens(verb: str) -> None:
    """Of some 35 promises 95 % are kept: fewer than four in five would be a lie."""
    told = [told_by(verb, make(seed)) for make in FAMILIES.values() for seed in SEEDS[:2]]
    promised = [one for one in told if one.tested]
    assert len(promised) >= 20
    assert np.mean([one.kept for one in promised]) >= 0.8
    sound = [one.happened for one in told if one.grade == "sound"]
    failing = [one.happened for one in told if one.grade == "failing"]
    assert all(score >= 0.6 for score in sound)
    assert all(score < 0.8 for score in failing)


@pytest.mark.parametrize("verb", ["audit", pytest.param("predict", marks=pytest.mark.slow)])
def test_a_rule_that_holds_is_told_so(verb: str) -> None:
    """A verdict that never says yes is worth as little as one that always does."""
    grades = [told_by(verb, FAMILIES["wide numbers"](seed)).grade for seed in SEEDS]
    assert "sound" in grades
