"""Dependence and redundancy: perfect, empty and adversarial cases, and the papers' figures."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import recombine
from recombine.verbs.audit.dependence import dependence, redundancy
from tests.audit.test_determinacy import DIGIT_PAIRS
from tests.properties import examples
from tests.twins import support_of


def read(**columns):
    target = "y" if "y" in columns else None
    return recombine.read(columns, factors=[name for name in columns if name != "y"], target=target)


def test_a_factor_that_copies_another_is_fully_dependent() -> None:
    (pair,) = dependence(read(a=list("xyz") * 200, b=list("pqr") * 200))
    assert pair.cramers_v == pytest.approx(1, abs=1e-9)
    assert pair.nmi == pytest.approx(1)
    assert pair.spread == pytest.approx((0, 0), abs=1e-12)


def test_independent_factors_are_not() -> None:
    (pair,) = dependence(support_of([(a, b) for a in range(4) for b in range(5)] * 10))
    assert pair.cramers_v == 0
    assert pair.nmi == pytest.approx(0, abs=1e-12)
    assert pair.spread == pytest.approx((1, 1))


def test_chance_alone_does_not_look_like_dependence() -> None:
    """Adversarial: many values and few rows make the plain V large."""
    rng = np.random.default_rng(0)
    (pair,) = dependence(support_of(rng.integers(0, 40, (400, 2)), sizes=(40, 40)))
    assert pair.cramers_v < 0.15


def test_cramers_v_equals_the_textbook_on_a_small_table() -> None:
    rows = [(0, 0)] * 30 + [(0, 1)] * 10 + [(1, 0)] * 15 + [(1, 1)] * 45
    counts = np.array([[30, 10], [15, 45]])
    expected = counts.sum(1, keepdims=True) * counts.sum(0) / counts.sum()
    phi = ((counts - expected) ** 2 / expected).sum() / 100
    corrected = max(phi - 1 / 99, 0) / (2 - 1 / 99 - 1)
    assert dependence(support_of(rows))[0].cramers_v == pytest.approx(np.sqrt(corrected))


def digit_pairs(pairs):
    return read(left=[str(a) for a, _ in pairs], right=[str(b) for _, b in pairs], y=[a for a, _ in pairs])


def test_the_second_digit_tells_2_321928_bits_of_the_label() -> None:
    found = redundancy(digit_pairs(DIGIT_PAIRS))
    parts = {part.factors: part for part in found.parts}
    assert parts[("right",)].bits == pytest.approx(2.321928, abs=1e-6)
    assert found.entropy_bits == pytest.approx(3.321928, abs=1e-6)
    assert parts[("right",)].score == pytest.approx(0.5)
    assert parts[("left",)].score == 1
    assert found.baseline == pytest.approx(0.1)


def test_in_setting_b_the_second_digit_tells_nothing() -> None:
    found = redundancy(digit_pairs([(a, b) for a in range(10) for b in range(10)]))
    part = next(part for part in found.parts if part.factors == ("right",))
    assert part.bits == pytest.approx(0, abs=1e-12)
    assert part.score == pytest.approx(0.1)


def test_the_toy_of_three_corners() -> None:
    found = redundancy(read(one=["0", "0", "1"], two=["0", "1", "0"], y=["0", "0", "1"]))
    parts = {part.factors: part for part in found.parts}
    assert found.entropy_bits == pytest.approx(0.918296, abs=1e-6)
    assert parts[("two",)].bits == pytest.approx(0.251629, abs=1e-6)
    assert parts[("two",)].score == pytest.approx(2 / 3)


def test_an_identifier_scores_perfectly_by_memory_but_not_with_the_row_left_out() -> None:
    rng = np.random.default_rng(1)
    names = [f"id{k}" for k in range(300)]
    found = redundancy(read(name=names, colour=list(rng.choice(["r", "g"], 300)), y=list(rng.choice(["a", "b"], 300))))
    part = next(part for part in found.parts if part.factors == ("name",))
    assert part.score == 1
    assert part.score_left_out < 0.65


@examples(50)
@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.sampled_from("xy"), st.sampled_from("ABC")),
        min_size=4,
        max_size=40,
    )
)
def test_left_out_accuracy_equals_brute_force(rows) -> None:
    columns = dict(zip(("f", "g", "y"), map(list, zip(*rows, strict=True)), strict=True))
    if any(len(set(column)) < 2 for column in columns.values()):
        return
    found = redundancy(read(**columns))
    labels = sorted(set(columns["y"]))
    commonest = max(labels, key=lambda c: (columns["y"].count(c), -labels.index(c)))
    part = next(part for part in found.parts if part.factors == ("f",))
    won = 0.0
    for i, (f, _, y) in enumerate(rows):
        others = [label for j, (g, _, label) in enumerate(rows) if g == f and j != i]
        mine, rival = others.count(y), max((others.count(c) for c in labels if c != y), default=0)
        won += float(y == commonest) if not others else 1.0 if mine > rival else 0.5 if mine == rival > 0 else 0.0
    assert part.score_left_out == pytest.approx(won / len(rows))


@examples(50)
@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("xy"), st.floats(-5, 5)), min_size=5, max_size=40))
def test_r_squared_equals_brute_force(rows) -> None:
    columns = dict(zip(("f", "g", "y"), map(list, zip(*rows, strict=True)), strict=True))
    y = np.array(columns["y"])
    if any(len(set(columns[name])) < 2 for name in ("f", "g")) or y.std() < 1e-3:
        return
    found = redundancy(read(**columns))
    part = next(part for part in found.parts if part.factors == ("f",))
    inside = left_out = 0.0
    for i, (f, _, value) in enumerate(rows):
        group = [v for g, _, v in rows if g == f]
        others = [v for j, (g, _, v) in enumerate(rows) if g == f and j != i] or list(np.delete(y, i))
        inside += (value - np.mean(group)) ** 2
        left_out += (value - np.mean(others)) ** 2
    total = ((y - y.mean()) ** 2).sum()
    assert part.told == pytest.approx(1 - inside / total, abs=1e-6)
    assert part.score_left_out == pytest.approx(1 - left_out / total, abs=1e-6)
