"""Scores of vectors against loops by hand, against cell-eval's definitions, and their ranges in planted worlds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recombine.numerics.vector_scores import compare, discrimination, known_mean, reached, replicate_ceiling


def drawn(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    count, width = int(rng.integers(2, 12)), int(rng.integers(2, 9))
    truth = rng.normal(size=(count, width)) + rng.choice([0.0, 50.0])
    predicted = truth + rng.choice([0.1, 3.0]) * rng.normal(size=truth.shape)
    return truth, predicted, rng.normal(size=width), truth[:1] + rng.normal(size=truth.shape) / 3


@given(st.integers(0, 10**6))
def test_scores_are_those_of_loops_by_hand(seed: int) -> None:
    truth, predicted, mean, control = drawn(seed)
    found = compare(truth, predicted, mean=mean, control=control)
    missed = sum(
        (y - p) ** 2 for row, said in zip(truth, predicted, strict=True) for y, p in zip(row, said, strict=True)
    )
    spread = sum((y - m) ** 2 for row in truth for y, m in zip(row, mean, strict=True))
    assert found.r2 == pytest.approx(1 - missed / spread, rel=1e-9)
    assert found.rms == pytest.approx((missed / truth.size) ** 0.5, rel=1e-9)
    for k, (row, said) in enumerate(zip(truth, predicted, strict=True)):
        for reference, cosine, pearson in (
            (mean, found.cosine_mean[k], found.pearson_mean[k]),
            (control[k], found.cosine_control[k], found.pearson_control[k]),
        ):
            y, p = row - reference, said - reference
            assert cosine == pytest.approx(float(y @ p) / (np.linalg.norm(y) * np.linalg.norm(p)), abs=1e-9)
            assert pearson == pytest.approx(np.corrcoef(y, p)[0, 1], abs=1e-9)
        distances = [float(np.linalg.norm(said - other)) for other in truth]
        nearer = sum(one < distances[k] for one in distances)
        assert found.discrimination[k] == pytest.approx(1 - nearer / len(truth), abs=1e-9)
    for output in range(truth.shape[1]):
        own = np.square(truth[:, output] - mean[output]).sum()
        lost = np.square(truth[:, output] - predicted[:, output]).sum()
        assert found.by_output[output] == pytest.approx(1 - lost / own, rel=1e-9)


def test_perfect_constant_and_adversarial_predictions() -> None:
    rng = np.random.default_rng(0)
    truth = rng.normal(size=(40, 20))
    mean = truth.mean(axis=0)
    perfect = compare(truth, truth, mean=mean)
    assert (perfect.r2, perfect.rms, known_mean(perfect.cosine_mean)) == pytest.approx((1, 0, 1))
    assert perfect.discrimination.min() == 1
    constant = compare(truth, np.tile(mean, (40, 1)), mean=mean)
    assert constant.r2 == pytest.approx(0)
    assert np.isnan(constant.cosine_mean).all(), "a vector without length has no direction"
    assert constant.discrimination.mean() == pytest.approx(41 / 80), "one answer for all is ranked like chance"
    assert compare(truth, 2 * mean - truth, mean=mean).cosine_mean == pytest.approx(-1)


def test_ties_count_half_and_large_means_keep_their_digits() -> None:
    assert discrimination(np.array([[0.0], [0.0]]), np.array([[1.0], [0.0]])).tolist() == [0.75, 0.75]
    rng = np.random.default_rng(1)
    truth = rng.normal(size=(30, 5))
    said = truth + rng.normal(size=truth.shape)
    np.testing.assert_array_equal(discrimination(truth, said), discrimination(truth + 1e7, said + 1e7))


def noisy(seed: int, *, rows: int, width: int = 400, noise: float = 3.0) -> tuple[np.ndarray, ...]:
    """True vectors, and the means of two halves of their rows."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=(60, width))
    first, second = (truth + noise * rng.normal(size=truth.shape) / np.sqrt(n) for n in (-(-rows // 2), rows // 2))
    return truth, first, second


@pytest.mark.parametrize("rows", [4, 5, 20])
def test_who_knows_the_truth_reaches_the_high_end_of_every_range(rows: int) -> None:
    truth, first, second = noisy(rows, rows=rows)
    later = rows // 2 / rows
    measured = first + later * (second - first)
    mean, control = np.zeros(truth.shape[1]), np.full(truth.shape[1], 0.3)
    ceiling = replicate_ceiling(first, second, np.full(60, float(rows)), mean=mean, control=control)
    found = compare(measured, truth, mean=mean, control=control)
    assert ceiling.combinations == 60
    assert found.r2 == pytest.approx(ceiling.r2, abs=0.02)
    assert found.rms == pytest.approx(ceiling.rms, rel=0.02)
    for name in ("cosine_control", "pearson_control", "cosine_mean", "pearson_mean"):
        assert known_mean(getattr(found, name)) == pytest.approx(getattr(ceiling, name), abs=0.02), name
    assert found.discrimination.mean() >= ceiling.discrimination - 1e-9
    assert np.median(found.by_output - ceiling.by_output) == pytest.approx(0, abs=0.05)
    assert reached(found.r2, 0.0, ceiling.r2) == pytest.approx(1, abs=0.05)


@given(st.integers(0, 10**6))
def test_the_ceiling_is_the_correction_of_spearman_and_brown(seed: int) -> None:
    """For halves of equal size 1 - |a - b|²/4|y|² is 2k / (1 + k), of all combinations and of each."""
    rng = np.random.default_rng(seed)
    first, second = rng.normal(size=(2, 6, 5)) + rng.normal(size=(6, 5))
    mean = rng.normal(size=5)
    found = replicate_ceiling(first, second, np.full(6, 8.0), mean=mean)
    a, b = first - mean, second - mean
    agree = 2 * (a * b).sum() / (np.square(a).sum() + np.square(b).sum())
    assert found.r2 == pytest.approx(2 * agree / (1 + agree), rel=1e-9)
    each = 2 * (a * b).sum(axis=1) / (np.square(a) + np.square(b)).sum(axis=1)
    root = np.sqrt(np.clip(2 * each / (1 + each), 0, 1))
    assert found.cosine_mean == pytest.approx(root.mean(), abs=1e-9)


def test_combinations_of_one_row_have_no_replicates() -> None:
    first = np.ones((3, 2))
    found = replicate_ceiling(first, np.full((3, 2), np.nan), np.ones(3), mean=np.zeros(2))
    assert found.combinations == 0
    assert np.isnan([found.r2, found.rms, found.cosine_mean, found.discrimination]).all()
