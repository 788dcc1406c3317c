"""Leverage: the known answers, and equality with the dense formula on random tables."""

import numpy as np
import pytest
from hypothesis import given, settings

from recombine.auditing import leverage as module
from recombine.auditing.determinacy import determinacy
from recombine.auditing.leverage import Leverage
from tests.auditing.test_determinacy import DIGIT_PAIRS
from tests.tables import brute_leverage, digits, every, support_of, supports


def leverages(support) -> dict[str, float]:
    cells = every(support.space.sizes)
    found = Leverage(support, determinacy(support)).of(cells)
    return {"".join(map(str, cell)): value for cell, value in zip(cells.tolist(), found, strict=True)}


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        ("000 011 111", {"100": 3}),
        ("000 100 010 001", {"110": 3, "101": 3, "011": 3, "111": 7}),
        ("000 011 101 110", {"001": 1, "010": 1, "100": 1, "111": 1}),
        ("00 01 10", {"11": 3}),
        ("00 01 10 11", {"00": 0.75, "01": 0.75, "10": 0.75, "11": 0.75}),
        ("00 01 11 12 22 23", {"02": 3, "10": 3, "13": 3, "21": 3, "03": 5, "20": 5}),
    ],
)
def test_known_answers(seen: str, expected: dict[str, float]) -> None:
    found = leverages(digits(seen))
    for cell, value in expected.items():
        assert found[cell] == pytest.approx(value, abs=1e-9)


def test_digit_pairs_follow_the_cycle_formula() -> None:
    found = leverages(support_of(DIGIT_PAIRS))
    for y in range(10):
        for d in range(2, 10):
            assert found[f"{y}{(y + d) % 10}"] == pytest.approx((2 * d - 1) * (21 - 2 * d) / 20, abs=1e-9)


@settings(max_examples=200, deadline=None)
@given(supports())
def test_equals_the_dense_formula(support) -> None:
    found = Leverage(support, determinacy(support)).of(every(support.space.sizes))
    np.testing.assert_allclose(found, brute_leverage(support), atol=1e-7, rtol=1e-7)


@settings(max_examples=60, deadline=None)
@given(supports())
def test_conjugate_gradients_agree_with_the_inverse(support) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_LARGEST_INVERSE", 0)
        patch.setattr(module, "_LARGEST_EIGENPROBLEM", 0)
        found = Leverage(support, determinacy(support)).of(every(support.space.sizes))
    np.testing.assert_allclose(found, brute_leverage(support), atol=1e-6, rtol=1e-6)
