"""Planted worlds, in which what happens on unseen combinations is known: the interval holds it nine times in ten."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import recombine
from recombine.verbs.rehearse.learners import learner_of
from recombine.verbs.rehearse.round_examples import RehearsalExamples

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import worlds

SKIPPED = ("constant target", "a value that never varies")  # refused in words before anything is held out
QUICK = ("additive numbers", "interacting labels", "coin labels", "shortcut", "confounded hold-out", "pure noise")


def measured(world, support, learner) -> float:
    """What the learner does on the unseen combinations themselves, by their rows."""
    values = {factor.name: list(factor.values) for factor in support.space.factors}
    asked = {"factors": world.factors, "target": "answer", "domain": values, "target_kind": world.kind}
    test = recombine.read(world.table("unseen"), **asked)
    said = learner_of(learner).answer(RehearsalExamples(support), RehearsalExamples(test), seed=0)
    if world.kind == "label":
        place = {value: number for number, value in enumerate(support.target.classes)}
        label = np.array([place.get(value, -1) for value in test.target.classes])[test.target.label]
        test = replace(test, target=replace(test.target, label=label))
        return float(RehearsalExamples(test).by_combination(said).mean())
    mean = np.full(len(test), RehearsalExamples(support).own.values.mean())
    errors, usual = (RehearsalExamples(test).by_combination(one) for one in (said, mean))
    return float(1 - errors.mean() / usual.mean())


def forecasts(families, seeds, learners):
    """(how many worlds, those that a number was given for: inside its interval?)"""
    tried, inside = 0, []
    for family in families:
        for seed in seeds:
            world = worlds.FAMILIES[family](seed)
            support = recombine.read(world.table(), factors=world.factors, target="answer")
            for learner in learners:
                tried += 1
                expected = recombine.rehearse(support, learner, seed=seed).expected
                if not expected.abstains:
                    truth = measured(world, support, learner)
                    inside.append(expected.low - 1e-9 <= truth <= expected.high + 1e-9)
    return tried, inside


@pytest.mark.slow
def test_intervals_hold_what_happens() -> None:
    tried, inside = forecasts(QUICK, range(3), ["nearest"])
    assert len(inside) >= 0.5 * tried
    assert np.mean(inside) >= 0.9


@pytest.mark.slow
@pytest.mark.timeout(900)  # minutes where the machine is busy
def test_intervals_hold_what_happens_in_many_worlds() -> None:
    families = [name for name in worlds.FAMILIES if name not in SKIPPED]
    tried, inside = forecasts(families, range(6), ["additive", "nearest"])
    assert len(inside) >= 0.7 * tried
    assert np.mean(inside) >= 0.9
