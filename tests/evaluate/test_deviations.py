"""Is it the combination or a hard part: the leave-one-out fit, false alarms, and what is found."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recombine.numerics.additive_design import AdditiveFit
from recombine.numerics.hypothesis_tests import false_discovery
from recombine.verbs.evaluate.deviations import deviations
from recombine.verbs.evaluate.outcomes import Score
from tests.evaluate import twins
from tests.properties import examples
from tests.twins import every

ACCURACY, MSE, OWN = Score("accuracy", "higher"), Score("mse", "lower"), Score("mine", "higher")


@examples(60)
@given(st.integers(0, 10**6))
def test_leaving_one_out_is_a_formula(seed):
    rng = np.random.default_rng(seed)
    sizes = tuple(rng.integers(2, 5, size=rng.integers(2, 4)))
    codes = np.unique(np.stack([rng.integers(0, size, 12) for size in sizes], axis=1), axis=0).astype(np.int32)
    weights, noise = rng.uniform(0.5, 5, len(codes)), rng.uniform(0.1, 2, len(codes))
    score = rng.normal(size=len(codes))
    found = AdditiveFit.of(codes, sizes, weights=weights).left_out(score, noise)
    value, variance = twins.left_out(codes, sizes, weights, score, noise)
    assert found.value == pytest.approx(value, abs=1e-6, nan_ok=True)
    assert found.variance == pytest.approx(variance, rel=1e-5, abs=1e-6, nan_ok=True)


def test_a_combination_outside_the_fit_is_told_by_the_others():
    codes = every((3, 3))
    score = codes.sum(axis=1).astype(float)
    score[4] = 99.0
    weights = np.ones(9)
    weights[4] = 0.0
    found = AdditiveFit.of(codes, (3, 3), weights=weights).left_out(score, np.ones(9))
    assert found.value[4] == pytest.approx(2.0)
    lonely = AdditiveFit.of(codes[[0, 4]], (3, 3), weights=np.array([1.0, 0.0]))
    assert np.isnan(lonely.left_out(score[[0, 4]], np.ones(2)).value[1])


def test_false_discovery_is_benjamini_and_hochbergs():
    p = np.random.default_rng(0).random(50) ** 3
    order = np.argsort(p)
    plain = [min(p[order[j]] * 50 / (j + 1) for j in range(k, 50)) for k in range(50)]
    assert false_discovery(p)[order] == pytest.approx(np.minimum(plain, 1.0))
    assert np.isnan(false_discovery(np.array([np.nan]))).all()


def simulated(kind, seed, *, planted=0, rows=(20, 60), sizes=(8, 10)):
    """Additive difficulty, with some combinations much harder than their parts."""
    rng = np.random.default_rng(seed)
    codes = every(sizes)
    count = rng.integers(rows[0], rows[1] + 1, len(codes))
    hard = rng.random(sizes[0])[codes[:, 0]] + rng.random(sizes[1])[codes[:, 1]]
    bad = np.isin(np.arange(len(codes)), rng.permutation(len(codes))[:planted])
    if kind == "accuracy":
        right = rng.binomial(count, np.clip(0.95 - 0.25 * hard - 0.4 * bad, 0.02, 0.98))
        return twins.outcomes(codes, count, right, score=ACCURACY), bad
    ids = np.repeat(np.arange(len(codes)), count)
    draw = rng.normal(size=len(ids))
    level = (0.3 + hard)[ids] * (1 + (4 if kind == "mse" else 1) * bad[ids])
    scores = level * draw**2 if kind == "mse" else 2 * level + draw
    sums = [np.bincount(ids, weights=power) for power in (scores, scores**2)]
    return twins.outcomes(codes, count, *sums, score=MSE if kind == "mse" else OWN), bad


@pytest.mark.parametrize("kind", ["accuracy", "mse", "own"])
@pytest.mark.parametrize("rows", [(2, 6), (20, 60)])
def test_purely_additive_difficulty_raises_no_false_alarm(kind, rows):
    alarms, small = [], []
    for seed in range(40):
        found = deviations(simulated(kind, seed, rows=rows)[0])
        alarms.append(found.found > 0)
        small.append(np.nanmean(found.p < 0.05))
    assert np.mean(alarms) <= 0.15  # 0.05 promised; 40 tables
    assert np.mean(small) < 0.07


@pytest.mark.parametrize(("kind", "power"), [("accuracy", 0.7), ("mse", 0.6), ("own", 0.9)])
def test_planted_combinations_are_found_and_their_neighbours_are_not(kind, power):
    found, false = [], []
    for seed in range(25):
        outcomes, bad = simulated(kind, seed, planted=4, sizes=(10, 12))
        named = deviations(outcomes).q <= 0.05
        found.append(named[bad].mean())
        false.append((named & ~bad).sum() / max(named.sum(), 1))
    assert np.mean(found) >= power
    assert np.mean(false) <= 0.15


def test_perfect_nothing_deviates():
    codes = every((4, 5))
    found = deviations(twins.outcomes(codes, np.full(20, 30.0), np.full(20, 30.0)))
    assert found.found == 0
    assert found.testable == 20
    assert "None of 20 combinations" in found.sentence


def test_empty_no_degrees_of_freedom_is_said():
    found = deviations(twins.outcomes([[0, 0], [0, 1], [1, 0]], [9, 9, 9], [9, 8, 7]))
    assert np.isnan(found.p).all()
    assert "cannot be told" in found.sentence


def test_one_row_each_is_said():
    codes = every((4, 4))
    score = np.random.default_rng(0).normal(size=16)
    found = deviations(twins.outcomes(codes, np.ones(16), score, score**2, score=OWN))
    assert "each has one row" in found.sentence


def test_adversarial_a_hundred_thousand_combinations_take_seconds():
    rng = np.random.default_rng(0)
    sizes = (1_000, 400, 50)
    codes = np.unique(np.stack([rng.integers(0, size, 10**5) for size in sizes], axis=1), axis=0)
    rows = rng.integers(1, 30, len(codes))
    found = deviations(twins.outcomes(codes, rows, rng.binomial(rows, 0.8), sizes=sizes))
    assert found.testable > 99_000
    assert found.found == 0


def test_too_many_values_are_not_solved_and_it_is_said():
    codes = np.array([[v, v] for v in range(3_000)])
    found = deviations(twins.outcomes(codes, np.full(3_000, 5.0), np.full(3_000, 4.0)))
    assert "was not tested" in found.sentence
