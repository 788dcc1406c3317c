"""A number is not given where its interval says nothing: one unseen block, or too little that was held out."""

from typing import Any

import numpy as np
import pytest

import recombine
from recombine.base.grades import Expected
from recombine.numerics.predictive_intervals import expected_score, unless_open


def one_block(seed: int, *, values: int = 7, missing: int = 1) -> dict[str, list[Any]]:
    """Effects that add up with a little noise; one pair of a and b, or several, was never seen."""
    rng = np.random.default_rng(seed)
    effects = [rng.normal(size=size) for size in (values, 2, 2)]
    cells = [cell for cell in np.ndindex(values, 2, 2) if cell[0] >= missing or cell[1] != 0]
    y = [sum(effects[k][value] for k, value in enumerate(cell)) + 0.03 * rng.normal() for cell in cells]
    return {name: [cell[k] for cell in cells] for k, name in enumerate("abc")} | {"y": y}


@pytest.mark.parametrize("verb", [recombine.audit, recombine.predict])
def test_one_unseen_block_has_no_score(verb: Any) -> None:
    found = verb(one_block(0), factors=["a", "b", "c"], target="y", target_kind="number")
    assert found.grade == "untested"
    assert found.expected.value is None
    assert "Not enough evidence: what was held out fits any score from" in found.verdict
    assert "since the 2 unseen combinations stand and fall together" in found.verdict


def test_several_unseen_blocks_have_one() -> None:
    table = one_block(1, values=16, missing=5)
    found = recombine.audit(table, factors=["a", "b", "c"], target="y", target_kind="number")
    assert found.expected is not None
    assert found.expected.low is not None
    assert found.expected.low > 0.5


@pytest.mark.parametrize(
    ("score", "low", "high", "pieces", "given"),  # of 40 unseen combinations
    [
        ("R²", -3.1, 0.9, 40, False),
        ("R²", -2.9, 0.9, 40, True),
        ("R²", -3.1, 0.7, 40, True),  # it says that it is not sound
        ("R²", -0.1, 0.9, 2, False),
        ("R²", 0.1, 0.9, 2, True),
        ("accuracy", 0.04, 0.96, 40, False),
        ("accuracy", 0.06, 1.0, 40, True),
    ],
)
def test_what_an_interval_must_rule_out(score: str, low: float, high: float, pieces: int, given: bool) -> None:
    found = unless_open(Expected(score, 0.5, low, high, tested=20, of=40), pieces)
    assert found.abstains != given
    assert (found.reason is None) == given


def test_the_score_of_many_unseen_ones_is_given() -> None:
    rng = np.random.default_rng(0)
    own, mean = rng.chisquare(1, 60) * 0.1, rng.chisquare(1, 60)
    assert not expected_score(own, {"mean": mean}, score="R²", unseen=30).abstains
