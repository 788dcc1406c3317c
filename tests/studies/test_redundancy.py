"""The study of redundant inputs: each claim on planted rows, where it must hold and where it must not; its formulas."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from recombine.output.figures import Field
from recombine_studies.claims import Finding, judged
from recombine_studies.redundancy import STUDY
from recombine_studies.redundancy.figures import figures, mosaic, remarks
from recombine_studies.redundancy.grids import DIGITS, PRESETS, SCAN, TOY, grids
from recombine_studies.redundancy.measures import (
    ANSWERS,
    BOUNDARIES,
    CURVES,
    INFLUENCE,
    average_over_log,
    digit_pull,
    digit_rows,
    hints,
    leaning,
    pattern,
    slope_against,
    suggested_share,
    toy_rows,
)
from recombine_studies.rows import Rows
from recombine_studies.study import Bench, Evidence

SETTINGS = {TOY: ("A", "B"), DIGITS: ("A", "B", "B-noise"), SCAN: ("A", "B-all", "B-jump")}
SEEDS = range(6)
CLAIMS = {claim.name: claim for claim in STUDY.claims}


def curve(
    grid: str, setting: str, seed: int, *, speed: float, gap: float, replaced: float | None
) -> list[dict[str, Any]]:
    """Accuracy rises to 1 (a fast one early), and the test stays below it by the gap."""
    own = {"grid": grid, "setting": setting, "seed": seed, "key": f"{grid}{setting}{seed}"}
    jitter = 0.001 * seed
    trains = {0: 0.1, 1: 0.2, 4: 0.4 + speed + jitter, 16: 1.0}
    return [
        {**own, "step": step, "train": train, "test": train - gap - jitter, "replaced": replaced and train - replaced}
        for step, train in trains.items()
    ]


def planted(
    *,
    speed: float = 0.2,
    gap: float = 0.3,
    test: float = 0.01,
    pull: float = 0.5,
    swap: float = 0.2,
    growth: float = 0.1,
    syntax: float = 0.4,
) -> Evidence:
    """All that the study measures, with A ahead of the others by the numbers given."""
    curves = [
        row
        for grid, settings in SETTINGS.items()
        for setting in settings
        for seed in SEEDS
        for row in curve(
            grid,
            setting,
            seed,
            speed=speed if setting == "A" else 0.0,
            gap=gap if setting == "A" else test,
            replaced=0.02 if setting == "B-jump" else None,
        )
    ]
    influence = [
        {"grid": grid, "setting": setting, "step": step, "seed": seed}
        | _hung(seed, step, swap=swap, pull=pull, growth=growth, lead=setting == "A")
        for grid in (TOY, DIGITS)
        for setting, step in (("A", 0), ("A", 1), ("B", 1), ("A", 16), ("B", 16))
        for seed in SEEDS
    ]
    answers = [
        {"setting": setting, "seed": seed, "part": part, "syntax": 0.9 - lost + 0.01 * seed * (part == "seen")}
        for setting in SETTINGS[SCAN]
        for seed in SEEDS
        for part, lost in (("seen", 0.0), ("unseen", syntax if setting == "A" else 0.0))
    ]
    fields = [
        {"setting": setting, "seed": 0, "step": step, "cells": [0.0, 1.0] * 2}
        for setting in ("A", "B")
        for step in (0, 1, 16)
    ]
    measured = {CURVES: curves, INFLUENCE: influence, ANSWERS: answers, BOUNDARIES: fields}
    return Evidence(Bench("nowhere", PRESETS["small"]), Rows([]), {name: Rows(rows) for name, rows in measured.items()})


def _hung(seed: int, step: int, *, swap: float, pull: float, growth: float, lead: bool) -> dict[str, float]:
    jitter = 0.01 * seed
    grown = (growth if step > 1 else 0.0) + jitter
    return {
        "swap": (swap if lead else 0.0) + grown,
        "bits": 0.1 + grown,
        "floor": 0.01,
        "slope": 1.0,
        "pull": (pull if lead and step else 0.0) + (jitter if step else 0.0),
        "suggested": 0.2,
    }


def found(name: str, **settings: Any) -> Finding:
    return judged(CLAIMS[name], planted(**settings))


@pytest.mark.parametrize(
    ("name", "holds", "fails"),
    [
        ("digits train faster", {}, {"speed": -0.2}),
        ("digits gap", {}, {"gap": 0.0}),
        ("digits against noise", {}, {"gap": 0.0, "speed": -0.2}),
        ("SCAN trains faster", {}, {"speed": -0.2}),
        ("SCAN gap", {}, {"gap": 0.0}),
        ("SCAN with the published test", {}, {"test": 0.9}),
        ("SCAN syntax", {}, {"syntax": -0.4}),
        ("toy trains faster", {}, {"speed": -0.2}),
        ("toy gap", {}, {"gap": 0.0, "test": 0.2}),
        ("toy seeds", {}, {"gap": 0.0}),
        ("toy boundary stays", {"gap": 0.95, "speed": 0.0}, {"gap": 0.3}),
        ("the first step", {}, {"pull": -0.5}),
        ("answers hang on the second input", {}, {"swap": -0.2}),
        ("influence grows", {}, {"growth": -0.2}),
    ],
)
def test_a_claim_holds_where_it_was_planted_and_not_where_the_opposite_was(
    name: str, holds: dict[str, Any], fails: dict[str, Any]
) -> None:
    if name == "toy boundary stays":
        evidence = planted()
        still = [{**row, "test": 0.3 + 0.001 * row["seed"]} for row in evidence.of(CURVES)]
        evidence = Evidence(evidence.bench, evidence.runs, {**evidence.measured, CURVES: Rows(still)})
        assert judged(CLAIMS[name], evidence).outcome == "holds"
    elif name == "toy seeds":
        many = _many_seeds(0.3)
        assert judged(CLAIMS[name], many).outcome == "holds"
    else:
        assert found(name, **holds).outcome == "holds"
    assert found(name, **fails).outcome == "does not hold"


def _many_seeds(gap: float) -> Evidence:
    """A share of 0 needs many seeds before its interval ends below a twentieth."""
    rows = [row for seed in range(200) for row in curve(TOY, "A", seed % 7 + 7 * seed, speed=0, gap=gap, replaced=None)]
    return Evidence(Bench("nowhere", {}), Rows([]), {CURVES: Rows(rows)})


def test_information_must_be_above_nothing_at_every_step() -> None:
    assert found("information of the second label").outcome == "holds"
    evidence = planted()
    none = [{**row, "bits": (-1) ** row["seed"] * 0.01} for row in evidence.of(INFLUENCE)]
    without = Evidence(evidence.bench, evidence.runs, {**evidence.measured, INFLUENCE: Rows(none)})
    assert judged(CLAIMS["information of the second label"], without).outcome == "not enough evidence"
    less = [{**row, "bits": -0.01 - 0.001 * row["seed"]} for row in evidence.of(INFLUENCE)]
    below = Evidence(evidence.bench, evidence.runs, {**evidence.measured, INFLUENCE: Rows(less)})
    assert judged(CLAIMS["information of the second label"], below).outcome == "does not hold"


def test_without_evidence_nothing_is_decided() -> None:
    nothing = Evidence(Bench("nowhere", PRESETS["small"]), Rows([]))
    assert {judged(claim, nothing).outcome for claim in STUDY.claims} == {"not enough evidence"}


def test_two_seeds_decide_nothing() -> None:
    evidence = planted()
    few = {name: Rows(row for row in rows if row["seed"] < 2) for name, rows in evidence.measured.items()}
    outcomes = {judged(claim, Evidence(evidence.bench, evidence.runs, few)).outcome for claim in STUDY.claims}
    assert outcomes == {"not enough evidence"}


def test_figures_and_remarks_are_made_of_the_evidence() -> None:
    drawn = figures(planted())
    assert len(drawn) == 6
    assert len({figure.title for figure in drawn}) == 6
    (by_step,) = (figure for figure in drawn if figure.title.startswith("Figure 5"))
    assert isinstance(by_step, Field)
    assert len(by_step.cells) == 2 * 2 + 1
    assert {len(row) for row in by_step.cells} == {3 * 2 + 2}
    one, other = (remarks(planted(gap=gap)) for gap in (0.3, 0.4))
    assert one != other


def test_a_missing_panel_is_left_empty() -> None:
    panel = ((1.0, 0.0), (0.0, 1.0))
    assert list(mosaic([[panel, None], [None, panel]])) == [
        (1.0, 0.0, None, None, None),
        (0.0, 1.0, None, None, None),
        (None,) * 5,
        (None, None, None, 1.0, 0.0),
        (None, None, None, 0.0, 1.0),
    ]


@given(st.lists(st.floats(0, 1), min_size=2, max_size=8))
def test_the_average_over_log_steps_is_that_of_a_fine_grid(scores: list[float]) -> None:
    steps = [2**place for place in range(len(scores))]
    fine = np.linspace(0, len(scores) - 1, 70 * (len(scores) - 1) + 1)
    heights = np.interp(fine, np.arange(len(scores)), scores)
    assert average_over_log(steps, scores) == pytest.approx(float(np.trapezoid(heights, fine) / fine[-1]), abs=1e-9)
    assert average_over_log([0, *steps], [0.5, *scores]) == pytest.approx(average_over_log(steps, scores))


def test_a_curve_that_broke_off_has_no_average() -> None:
    assert math.isnan(average_over_log([1, 2, 4], [0.5, None, 0.5]))
    assert math.isnan(average_over_log([0, 1], [0.5, 0.5]))


def test_what_the_second_digit_suggests_is_what_a_shows() -> None:
    codes = np.array([(first, second) for first in range(10) for second in range(10)])
    hinted, unseen = hints(codes)
    for (first, second), row, is_unseen in zip(codes, hinted, unseen, strict=True):
        shown = {label for label in range(10) if (second - label) % 10 in (0, 1)}
        assert set(np.flatnonzero(row)) == shown
        assert is_unseen == (first not in shown)
    assert unseen.sum() == 80


def test_the_pull_of_a_network_that_follows_the_second_digit() -> None:
    codes = np.array([(first, second) for first in range(10) for second in range(10)])
    own, other = (torch.from_numpy(np.eye(10)[codes[:, place]]) for place in (0, 1))
    assert digit_pull(own, codes) == 0.0
    assert suggested_share(own, codes) == 0.0
    assert digit_pull(other, codes) == pytest.approx(0.5)
    assert suggested_share(other, codes) == 1.0
    constant = torch.from_numpy(np.tile(np.arange(10.0), (100, 1)))
    assert digit_pull(constant, codes) == pytest.approx(0.0), "a class that is liked everywhere is not a pull"


class _Rule(nn.Module):
    """Class 1 where weights · inputs is above 0."""

    def __init__(self, first: float, second: float) -> None:
        super().__init__()
        self.weights = nn.Parameter(torch.tensor([first, second]))

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        score = inputs @ self.weights
        return torch.stack([-score, score], dim=1)


def test_leaning_knows_a_network_that_looks_and_one_that_does_not() -> None:
    asked = toy_rows(400, 50)
    blind, looking = (leaning(_Rule(*weights), asked) for weights in ((1.0, 0.0), (0.0, -1.0)))
    assert blind["swap"] == blind["slope"] == blind["pull"] == 0.0
    assert blind["bits"] == pytest.approx(0.0, abs=0.02)
    assert looking["swap"] == 1.0
    assert looking["bits"] == pytest.approx(1.0, abs=0.02)
    assert looking["pull"] == pytest.approx(2.0)
    assert blind["suggested"] is None


def test_the_pull_of_the_first_step_of_a_logistic_model_is_the_known_one() -> None:
    """From zero, with the whole population: the second weight moves by a third of the first, the other way."""
    rng = np.random.default_rng(0)
    codes = np.repeat([(0, 0), (0, 1), (1, 0)], 40_000, axis=0)
    inputs = torch.from_numpy(codes - rng.random(codes.shape)).float()
    rule = nn.Linear(2, 2)
    nn.init.zeros_(rule.weight)
    nn.init.zeros_(rule.bias)
    nn.functional.cross_entropy(rule(inputs), torch.from_numpy(codes[:, 0])).backward()
    with torch.no_grad():
        rule.weight -= rule.weight.grad
    # of the difference of two scores: each moves by half of what a single logistic score would
    assert slope_against(rule, inputs[:5]) == pytest.approx(2 * (1 / 12), abs=0.005)


def test_pictures_of_digits_have_the_second_one_on_the_right() -> None:
    asked = digit_rows("synthetic", 100, 10)
    mask = asked.where.masks["second"]
    assert mask[..., 28:].all()
    assert not mask[..., :28].any()
    assert sorted(np.bincount(asked.second)) == [10] * 10


def test_syntax_is_what_is_left_without_action_words() -> None:
    assert pattern("I_TURN_LEFT I_JUMP I_TURN_LEFT I_WALK") == "I_TURN_LEFT ACT I_TURN_LEFT ACT"
    assert pattern("I_JUMP I_JUMP") != pattern("I_JUMP")


def test_published_settings_are_those_of_the_appendices() -> None:
    small, paper = (grids(PRESETS[name]) for name in ("small", "paper"))
    for plan in (small, paper):
        scan, digits, toy = (plan[name]["recipes"] for name in (SCAN, DIGITS, TOY))
        assert (scan["steps"], scan["batch"], scan["lr"], scan["decay"], scan["decay_every"]) == (
            2000,
            256,
            0.01,
            0.96,
            100,
        )
        assert (digits["steps"], digits["batch"], digits["lr"], digits["loss"]) == (200, 64, 0.001, "hinge")
        assert (toy["steps"], toy["batch"], toy["lr"], toy["optimiser"]) == (1024, 10, 0.1, "sgd")
