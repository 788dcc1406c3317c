"""Which grade an audit earns on planted worlds, and that its sentence says no more than the grade does."""

import numpy as np
import pytest

import recombine
from recombine.base.grades import Expected, earned
from recombine.base.words import percent_range


def additive(seed: int, *, spread: tuple[float, float], noise: float) -> dict[str, list[str] | list[float]]:
    """A table of six in ten of 7 x 8 combinations, whose two factors differ in how far their effects spread."""
    rng = np.random.default_rng(seed)
    effects = rng.normal(0, spread[0], 7)[:, None] + rng.normal(0, spread[1], 8)
    answers = effects + rng.normal(0, noise, (7, 8))
    a, b = np.nonzero(rng.random((7, 8)) < 0.6)
    return {"a": [f"a{v}" for v in a], "b": [f"b{v}" for v in b], "y": answers[a, b].tolist()}


@pytest.mark.parametrize("seed", range(10))
def test_one_factor_that_tells_nearly_all_is_named_and_nothing_fails(seed: int) -> None:
    """`a` alone explains 98 %, all of them 97 %: what adding up loses is the noise of effects that do nothing."""
    audit = recombine.audit(additive(seed, spread=(3, 0.1), noise=0.3), factors=["a", "b"], target="y")
    assert audit.grade != "failing"
    assert audit.expected is not None
    if audit.expected.lift[0] <= 0:
        assert audit.expected.baseline_name == "a alone"
        assert "(the other factor adds nothing beyond chance)" in audit.verdict


def test_a_rule_that_is_worse_than_one_factor_alone_by_what_counts_fails_and_nothing_follows_from_it() -> None:
    """Forty values of a factor that does nothing, each seen two or three times."""
    rng = np.random.default_rng(1)
    a, b = np.nonzero(rng.random((6, 40)) < 0.5)
    effects = np.linspace(-1.5, 1.5, 6)
    y = effects[a] + rng.normal(0, 1, len(a))
    table = {"a": a.astype(str).tolist(), "b": b.astype(str).tolist(), "y": y.tolist()}
    audit = recombine.audit(table, factors=["a", "b"], target="y")
    assert audit.expected is not None
    assert audit.expected.baseline_name == "a alone"
    assert audit.expected.lift[1] < -0.05
    assert audit.grade == "failing"
    assert "do not rely on" in audit.verdict
    assert "if the rule holds" not in audit.verdict


@pytest.mark.parametrize(
    ("lift", "over_constant", "grade"),
    [
        ((-0.03, -0.02, -0.01), (0.5, 0.6, 0.7), "sound"),  # beyond chance, and too little to count
        ((-0.12, -0.07, -0.01), (0.5, 0.6, 0.7), "failing"),
        ((-0.12, -0.07, 0.01), (0.5, 0.6, 0.7), "sound"),  # within chance
        ((-0.03, -0.02, -0.01), (-0.02, -0.01, 0.1), "failing"),  # not even better than one answer for all
        ((-0.03, -0.02, -0.01), None, "failing"),
    ],
)
def test_a_loss_counts_if_it_is_beyond_chance_and_five_points(lift, over_constant, grade: str) -> None:
    found = Expected("accuracy", 0.9, 0.85, 0.94, 0.9 - lift[1], "rule", lift, over_constant, tested=200, of=40)
    assert earned(found) == grade


@pytest.mark.parametrize(
    ("low", "high", "grade"),
    [
        (-110.0, 0.9997, "untested"),  # worse than the mean, or sound: it says nothing
        (-0.1, 0.75, "weak"),
        (-0.4, 0.45, "failing"),
        (0.1, 0.9, "plausible"),
        (0.85, 0.99, "sound"),
    ],
)
def test_an_r2_that_may_be_worse_than_the_mean_promises_nothing(low: float, high: float, grade: str) -> None:
    found = Expected("R²", (0.3 + high) / 2, low, high, 0.0, "mean", (0.2, 0.5, 0.7), tested=20, of=5)
    assert earned(found) == grade
    assert found.is_open() == (grade == "untested")


def test_an_interval_that_begins_below_0_is_printed_as_it_is() -> None:
    """The high end alone would promise what nobody knows."""
    audit = recombine.audit(additive(2, spread=(0.4, 0.4), noise=0.7), factors=["a", "b"], target="y")
    expected = audit.expected
    assert expected is not None
    assert expected.low < 0
    assert percent_range(expected.low, expected.high) in audit.verdict
    assert "worse than always answering the mean" in audit.verdict
    assert audit.grade in ("failing", "weak", "untested")
    assert "if the rule holds" not in audit.verdict
