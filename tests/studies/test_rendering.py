"""The study of forced rendering: each claim on planted rows that it must hold for and on others, and its formulas."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from recombine_lab.sweeps.grid import read_plan
from recombine_lab.tasks.bumps import Bumps
from recombine_studies.claims import Finding, judged
from recombine_studies.rendering import STUDY
from recombine_studies.rendering.claims import separation
from recombine_studies.rendering.grids import grids
from recombine_studies.rendering.measures import (
    UNSEEN,
    blank_error,
    design_of,
    exponent,
    samples_needed,
    stripes_in,
)
from recombine_studies.rows import Rows
from recombine_studies.study import Bench, Evidence

Row = dict[str, Any]
SEEDS = (0, 1, 2)
BLANK = 0.02
_SPREAD = (0.99, 1.0, 1.01)


def run(grid: str, seed: int, *, unseen: float, seen: float = 0.01, **settings: Any) -> Row:
    """A run whose errors are shares of a blank image's."""
    made = {"task": "bumps", "task.code": "bump", "task.size": 12, "split": "donut", "split.hole": [2, 9], **settings}
    status = {"grid": grid, "seed": seed, "key": f"{grid} {seed} {settings}", "status": "finished"}
    return {**status, **made, "unseen.error": unseen * BLANK, "seen.error": seen * BLANK}


def layer(grid: str, seed: int, code: str, measure: str, value: float, *, where: str, who: str = "measured") -> Row:
    place = {"0": 0, "2": 1, "answer": 2}[where]
    key = f"{grid} {code} {seed}"
    told = {"measure": measure, "who": who, "value": value, "where": where, "place": place}
    return {"key": key, "grid": grid, "seed": seed, "code": code, **told}


def evidence(
    runs: Sequence[Row] = (), geometry: Sequence[Row] = (), outside: Mapping[str, float] | None = None
) -> Evidence:
    """Planted rows with the designs that they ask for; `outside` by the text of a split's limits."""
    designs = {design_of(row): row for row in runs}
    measured = [
        {
            "design": design,
            "key": row["key"],
            "blank": BLANK,
            "shown": row.get("_shown", 50),
            "outside": _outside(row, outside),
        }
        for design, row in designs.items()
    ]
    bench = Bench("nowhere", {"target": 0.5, "repeats": 3})
    return Evidence(bench, Rows(runs), {"designs": Rows(measured), "geometry": Rows(geometry)})


def _outside(row: Row, outside: Mapping[str, float] | None) -> float:
    return (outside or {}).get(str(row["split.hole"]), 0.5)


def finding(name: str, given: Evidence) -> Finding:
    (claim,) = [claim for claim in STUDY.claims if claim.name == name]
    return judged(claim, given)


def plain(unseen: float, seen: float = 0.01) -> list[Row]:
    return [
        run(grid, seed, unseen=unseen * spread, seen=seen * spread, **{"task.code": code, "model.depth": 2})
        for grid in ("mlp", "cnn")
        for code in ("onehot", "bump", "ramp")
        for seed, spread in zip(SEEDS, _SPREAD, strict=True)
    ]


def single(grid: str) -> Callable[[float], Evidence]:
    return lambda value: evidence([run(grid, seed, unseen=value * s) for seed, s in zip(SEEDS, _SPREAD, strict=True)])


@pytest.mark.parametrize(
    ("name", "made", "holding", "failing"),
    [
        ("plain decoders fail", lambda value: evidence(plain(value)), 0.9, 0.5),
        ("depth is no cure", lambda value: evidence(plain(value)), 0.9, 0.5),
        ("what was seen is learned", lambda value: evidence(plain(0.9, seen=value)), 0.05, 0.3),
        ("regularised filters compose", single("regularised filters"), 0.02, 0.2),
        ("filters without penalties fail", single("filters without penalties"), 3.0, 0.5),
        ("a pixel transformer fails", single("pixel transformer"), 0.9, 0.1),
        ("spatial broadcast composes", single("spatial broadcast"), 0.1, 0.9),
    ],
)
def test_claims_about_errors(name: str, made: Callable[[float], Evidence], holding: float, failing: float) -> None:
    assert finding(name, made(holding)).outcome == "holds"
    assert finding(name, made(failing)).outcome == "does not hold"


def test_one_code_that_does_not_fail_makes_the_claim_mixed() -> None:
    rows = [*plain(0.9)[:-3], *(run("cnn", seed, unseen=0.2, **{"task.code": "ramp"}) for seed in SEEDS)]
    found = finding("plain decoders fail", evidence(rows))
    assert found.outcome == "mixed"
    assert [one.name for one in found.comparisons if one.state == "fails"] == ["CNN decoder, scalar"]


def test_every_depth_is_asked_by_itself() -> None:
    deeper = [
        run(f"{grid}, other depths", seed, unseen=unseen, **{"model.depth": 6})
        for grid, unseen in (("mlp", 0.9), ("cnn", 0.2))
        for seed in SEEDS
    ]
    found = finding("depth is no cure", evidence([*plain(0.9), *deeper]))
    states = {one.name: one.state for one in found.comparisons}
    assert states == {
        "MLP, depth 2": "passes",
        "MLP, depth 6": "passes",
        "CNN decoder, depth 2": "passes",
        "CNN decoder, depth 6": "fails",
    }


def test_a_diverged_seed_leaves_two_which_decide_nothing() -> None:
    rows = [run("regularised filters", seed, unseen=0.01) for seed in SEEDS]
    rows[0] |= {"status": "diverged", "unseen.error": None}
    assert finding("regularised filters compose", evidence(rows)).outcome == "not enough evidence"


def answers(grids_: Sequence[str], value: float) -> list[Row]:
    return [
        layer(grid, seed, "bump", "superposition beyond the truth", value * spread, where="answer")
        for grid in grids_
        for seed, spread in zip(SEEDS, _SPREAD, strict=True)
    ]


@pytest.mark.parametrize(
    ("name", "who", "holding", "failing"),
    [
        ("superposition of training data", ("mlp", "cnn", "filters without penalties"), 0.3, 0.02),
        ("superposition tells who fails", ("regularised filters", "spatial broadcast"), 0.02, 0.3),
    ],
)
def test_claims_about_superposition(name: str, who: Sequence[str], holding: float, failing: float) -> None:
    assert finding(name, evidence(geometry=answers(who, holding))).outcome == "holds"
    assert finding(name, evidence(geometry=answers(who, failing))).outcome == "does not hold"


def test_superposition_is_that_of_the_answer() -> None:
    inner = [{**row, "where": "2"} for row in answers(["mlp"], 0.5)]
    assert finding("superposition of training data", evidence(geometry=inner)).outcome == "not enough evidence"


def mixed(own: float, untrained: float = 0.95, other: float = 0.95) -> Evidence:
    rows = []
    for grid, last in (("mlp", own), ("regularised filters", other)):
        for seed, spread in zip(SEEDS, _SPREAD, strict=True):
            rows += [
                layer(grid, seed, "bump", "orthogonality", 0.99, where="0"),
                layer(grid, seed, "bump", "orthogonality", last * spread, where="2"),
                layer(grid, seed, "bump", "orthogonality", untrained, where="2", who="random network"),
                layer(grid, seed, "bump", "orthogonality", 0.1, where="answer"),
            ]
    return evidence(geometry=rows)


@pytest.mark.parametrize("name", ["mixed again by later layers", "mixing is learned", "mixing tells who fails"])
def test_claims_about_mixing(name: str) -> None:
    """It is the last hidden layer that counts: the first and the answer of the planted ones say something else."""
    assert finding(name, mixed(own=0.7)).outcome == "holds"
    assert finding(name, mixed(own=0.98, untrained=0.9, other=0.8)).outcome == "does not hold"


def test_mixing_as_deep_as_that_of_random_layers_is_not_learned() -> None:
    assert finding("mixed again by later layers", mixed(own=0.7, untrained=0.6)).outcome == "holds"
    assert finding("mixing is learned", mixed(own=0.7, untrained=0.6)).outcome == "does not hold"


def striped(*, alone: float, both: float, without: float) -> Evidence:
    rows = []
    for grid in ("mlp", "cnn"):
        for seed, spread in zip(SEEDS, _SPREAD, strict=True):
            rows.append(run(grid, seed, unseen=without * spread))
            for share, error in ((0.5, both), (1.0, alone)):
                split = {"split": "stripes", "split.share": share, "split.base": "donut"}
                rows.append(run(f"{grid} stripes", seed, unseen=error * spread, **split))
    return evidence(rows)


def test_stripes_help_only_together_with_bumps() -> None:
    good, bad = striped(alone=2.0, both=0.2, without=1.1), striped(alone=0.3, both=1.3, without=1.0)
    for name in ("stripes together with bumps help", "stripes alone do not"):
        assert finding(name, good).outcome == "holds"
        assert finding(name, bad).outcome == "does not hold"


def test_stripes_that_help_too_little() -> None:
    found = finding("stripes together with bumps help", striped(alone=2.0, both=0.8, without=1.1))
    assert found.outcome == "mixed"
    assert {one.name for one in found.comparisons if one.state == "fails"} == {
        "MLP: left with both",
        "CNN decoder: left with both",
    }


def holes(errors: Sequence[float]) -> Evidence:
    """Splits of which more and more lies outside, with their errors."""
    rows = [
        run(f"{grid} coverage", 0, unseen=error, **{"split.hole": [k, k]})
        for grid in ("mlp", "cnn")
        for k, error in enumerate(errors)
    ]
    return evidence(rows, outside={str([k, k]): k / 20 for k in range(len(errors))})


def test_coverage_predicts_or_does_not() -> None:
    rising = [0.1 + 0.1 * k for k in range(12)]
    assert finding("output coverage predicts who fails", holes(rising)).outcome == "holds"
    assert finding("output coverage predicts who fails", holes(rising[::-1])).outcome == "does not hold"


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 2)), min_size=1, max_size=8))
def test_separation_counts_pairs(pairs: list[tuple[float, float]]) -> None:
    rows = Rows({"outside": outside, UNSEEN: error} for outside, error in pairs)
    bad = [outside for outside, error in pairs if error >= 0.7]
    good = [outside for outside, error in pairs if error < 0.7]
    won = sum(1.0 if b > g else 0.5 if b == g else 0.0 for b in bad for g in good)
    found = separation(rows)
    assert found is None if not bad or not good else found == pytest.approx(won / (len(bad) * len(good)))


def scaling(without: float, with_stripes: float) -> Evidence:
    """Runs whose error is target · needed / shown, so that the samples needed are N to a known power."""
    rows = []
    for seed in SEEDS:
        for size in (8, 12, 16):
            for stripes, power in ((False, without), (True, with_stripes)):
                needed = (1 + 0.01 * seed) * size**power
                for kept in (0.2, 0.4, 5.0):
                    shown = round(kept * 1000 * needed)
                    split = {"split.test_size": kept, "split.random_state": seed, "split.hole": None}
                    split |= {"split": "stripes", "split.share": 0.5} if stripes else {"split": "hold_out_combinations"}
                    error = 0.5 * 1000 * needed / shown
                    rows.append(
                        run(
                            f"scaling, seed {seed}", seed, unseen=error, **split, **{"task.size": size, "_shown": shown}
                        )
                    )
    return evidence(rows)


def test_samples_needed_by_a_known_power() -> None:
    found = finding("samples needed", scaling(3.0, 1.0))
    assert found.outcome == "holds"
    assert [round(one.value or 0.0, 2) for one in found.comparisons] == [3.0, 1.0, 2.0]
    assert finding("samples needed", scaling(1.0, 3.0)).outcome == "does not hold"


@given(st.floats(0.5, 3), st.floats(0.1, 10))
def test_an_exponent_is_the_slope_between_logarithms(power: float, factor: float) -> None:
    sizes = [8.0, 11.0, 16.0, 24.0]
    assert exponent(sizes, [factor * size**power for size in sizes]) == pytest.approx(power)
    assert exponent(sizes[:2], [1.0, 2.0]) is None


@given(st.floats(0.6, 3), st.floats(0.01, 0.4), st.integers(2, 50), st.integers(2, 40))
def test_samples_needed_lie_where_the_line_meets_the_target(above: float, below: float, first: int, times: int) -> None:
    needed = samples_needed([first, first * times], [above, below], 0.5)
    assert needed is not None
    assert first <= needed <= first * times
    along = math.log(needed / first) / math.log(times)
    assert math.log(above) + along * (math.log(below) - math.log(above)) == pytest.approx(math.log(0.5))


def test_samples_beyond_what_was_tried_are_not_known() -> None:
    assert samples_needed([10, 20], [0.9, 0.8], 0.5) is None
    assert samples_needed([10, 20], [0.3, 0.2], 0.5) is None


def test_a_blank_image_by_formula_and_by_hand() -> None:
    task = Bumps(size=28, inverted=False)
    places = torch.tensor([[x, y] for x in range(6, 23) for y in range(6, 23)])
    assert blank_error(task.images(places), 0.0) == pytest.approx(math.pi / 28**2, rel=1e-3)
    u, v = np.meshgrid(np.arange(28), np.arange(28))
    drawn = [np.exp(-((u - x) ** 2 + (v - y) ** 2) / 2) ** 2 for x, y in places.tolist()]
    assert blank_error(task.images(places), 0.0) == pytest.approx(np.mean(drawn), rel=1e-5)
    assert blank_error(1 - task.images(places), 1.0) == pytest.approx(np.mean(drawn), rel=1e-5)


def test_a_design_is_the_same_for_every_code_and_seed() -> None:
    one, other = run("mlp", 0, unseen=1.0, **{"task.code": "ramp"}), run("cnn", 1, unseen=0.5)
    assert design_of(one) == design_of(other)
    assert design_of(one) != design_of({**one, "split.hole": [3, 4]})
    assert (stripes_in(one), stripes_in({"split": "stripes", "split.share": 0.5})) == (0.0, 0.5)


def test_nothing_is_decided_without_evidence() -> None:
    assert {judged(claim, evidence()).outcome for claim in STUDY.claims} == {"not enough evidence"}


@pytest.mark.slow
def test_the_small_preset_asks_for_every_network_with_three_seeds_or_more() -> None:
    plans = {name: read_plan(grid) for name, grid in grids(STUDY.presets["small"]).items()}
    for name in ("mlp", "cnn", "regularised filters", "filters without penalties"):
        assert {run.seed for run in plans[name].runs} >= set(SEEDS)
    assert {run.task["code"] for run in plans["mlp"].runs} == {"onehot", "bump", "ramp"}
