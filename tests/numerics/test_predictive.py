"""What is expected of unseen combinations happens as often as promised, and noise earns nothing."""

import numpy as np
import pytest

from recombine.base.grades import Expected, earned
from recombine.numerics.intervals import lowest_difference_interval
from recombine.numerics.predictive_intervals import expected_score
from recombine.numerics.resampling import IntervalSettings, difference

FEW = IntervalSettings(draws=200)
WORLDS = 300


def covered(world, *, tested: int, unseen: int) -> float:
    """How often the score of the unseen ones lies within what was promised, where something was."""
    inside, silent = 0, 0
    for seed in range(WORLDS):
        own, baselines, score = world(np.random.default_rng(seed), tested + unseen)
        said = expected_score(
            own[:tested], {n: b[:tested] for n, b in baselines.items()}, score=score, unseen=unseen, settings=FEW
        )
        if score == "accuracy":
            happened = own[tested:].mean()
        else:
            happened = 1 - own[tested:].sum() / baselines["mean"][tested:].sum()
        if said.low is None:  # so heavy a tail that any score would do
            silent += 1
        else:
            inside += said.low - 1e-9 <= happened <= said.high + 1e-9
    assert silent <= WORLDS / 4  # 19 % where a model that is as bad as the mean meets ten unseen ones
    return inside / (WORLDS - silent)


def right_with(chance: float):
    return lambda rng, n: ((rng.random(n) < chance) * 1.0, {"majority": (rng.random(n) < 0.5) * 1.0}, "accuracy")


def error_of(size: float):
    return lambda rng, n: (
        np.square(size * rng.standard_normal(n)),
        {"mean": np.square(rng.standard_normal(n))},
        "R²",
    )


@pytest.mark.slow
@pytest.mark.parametrize(("tested", "unseen"), [(20, 20), (50, 10), (200, 400)])
@pytest.mark.parametrize("world", [right_with(0.5), right_with(0.85), error_of(0.3), error_of(1.0)])
def test_the_promised_interval_holds_the_score_of_the_unseen(world, tested: int, unseen: int) -> None:
    # 300 worlds: a share of .95 is found to within .025, and few unseen answers make coarse steps
    assert 0.90 <= covered(world, tested=tested, unseen=unseen) <= 0.995


def test_a_coin_is_never_better_than_guessing() -> None:
    grades = []
    for seed in range(100):
        own, baselines, score = right_with(0.5)(np.random.default_rng(seed), 200)
        grades.append(earned(expected_score(own, baselines, score=score, unseen=50, settings=FEW)))
    assert "sound" not in grades
    assert grades.count("plausible") <= 5  # beyond chance one time in forty


@pytest.mark.parametrize(
    ("tested", "unseen", "why"),
    [(4, 10, "only 4"), (10, 0, "no unseen combination is like"), (0, 10, "only 0")],
)
def test_it_abstains_with_a_reason(tested: int, unseen: int, why: str) -> None:
    said = expected_score(np.ones(tested), {"majority": np.zeros(tested)}, score="accuracy", unseen=unseen)
    assert said.value is None
    assert said.reason.startswith(why)
    assert earned(said) == "untested"


def test_a_target_that_never_varies_earns_nothing() -> None:
    said = expected_score(np.zeros(20), {"mean": np.zeros(20)}, score="R²", unseen=5)
    assert (said.value, said.reason, earned(said)) == (None, "the target never varies", "untested")


def test_exact_answers_promise_no_exactness() -> None:
    said = expected_score(np.zeros(40), {"mean": np.ones(40)}, score="R²", unseen=10, settings=FEW)
    assert (said.value, said.high) == (1.0, 1.0)
    assert 0.8 < said.low < 1


def test_a_tie_with_the_best_rule_costs_nothing_and_one_answer_for_all_must_be_beaten() -> None:
    own = np.ones(50)
    said = expected_score(own, {"majority": own * 0, "nearest seen": own}, score="accuracy", unseen=10)
    assert (said.baseline_name, said.baseline, said.lift[1], said.over_constant[1]) == ("nearest seen", 1.0, 0.0, 1.0)
    assert earned(said) == "sound"
    assert earned(expected_score(own, {"majority": own}, score="accuracy", unseen=10)) == "weak"
    assert said.beats_constant
    assert not expected_score(own, {"majority": own}, score="accuracy", unseen=10).beats_constant
    assert not Expected("accuracy").beats_constant


def test_losing_to_a_simple_rule_is_failing() -> None:
    own = np.tile([1.0, 1.0, 1.0, 1.0, 0.0], 20)
    said = expected_score(own, {"majority": own * 0, "additive": own * 0 + 1}, score="accuracy", unseen=10)
    assert earned(said) == "failing"


@pytest.mark.parametrize(
    ("low", "value", "high", "lift", "grade"),
    [
        (0.85, 0.9, 0.95, (0.1, 0.2, 0.3), "sound"),
        (0.75, 0.9, 0.95, (0.1, 0.2, 0.3), "plausible"),
        (0.85, 0.9, 0.95, (-0.1, 0.0, 0.1), "weak"),
        (0.85, 0.9, 0.95, (-0.3, -0.2, -0.1), "failing"),
        (0.2, 0.3, 0.45, (0.1, 0.2, 0.3), "failing"),
        (0.85, 0.9, 0.95, None, "untested"),
    ],
)
def test_grades_are_earned(low: float, value: float, high: float, lift, grade: str) -> None:
    assert earned(Expected("accuracy", value, low, high, 0.7, "majority", lift, tested=50, of=20)) == grade


def test_errors_that_come_in_groups_widen_the_interval() -> None:
    codes = np.stack(np.unravel_index(np.arange(100), (10, 10)), axis=1)
    by_value, by_chance = (codes[:, 0] < 7) * 1.0, np.random.default_rng(0).permutation((codes[:, 0] < 7) * 1.0)
    widths = []
    for right in (by_value, by_chance):
        said = expected_score(right, {"majority": right * 0}, score="accuracy", unseen=50, codes=codes)
        widths.append(said.high - said.low)
    assert widths[0] > 1.5 * widths[1]


def test_the_lift_over_the_best_of_equal_rules_knows_that_it_was_picked() -> None:
    """A rule is right in a quarter of the rows, the one scored in eight tenths: all rules are truly equally good."""
    rng, settings, held, beforehand = np.random.default_rng(0), IntervalSettings(draws=300), [], []
    for _ in range(150):
        own, *rules = rng.binomial(6, 0.8, 40) / 6, *rng.binomial(6, 0.25, (6, 40)) / 6
        lifts = sorted((difference(np.ones(40), rule, own) for rule in rules), key=lambda lift: lift.of_all)
        alone = lowest_difference_interval(lifts[0], [], settings, "lift", share=True)
        known = lowest_difference_interval(lifts[0], lifts[1:], settings, "lift", share=True)
        assert known[0] == alone[0]
        held.append(known[0] <= 0.55 <= known[1])
        beforehand.append(alone[0] <= 0.55 <= alone[1])
    assert np.mean(held) >= 0.93
    assert np.mean(beforehand) < 0.92


def test_a_rule_that_could_not_have_been_the_best_does_not_widen_the_lift() -> None:
    own, good = np.tile([1.0, 1.0, 1.0, 0.5], 15), np.tile([0.9, 0.7, 0.8, 0.6], 15)
    alone, beside = (
        expected_score(own, {"good": good} | more, score="accuracy", unseen=40).lift
        for more in ({}, {"poor": np.tile([0.1, 0.2, 0.1, 0.0], 15)})
    )
    assert alone == beside
