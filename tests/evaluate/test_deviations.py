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

ACCURACY, MSE, OWN = Score("accuracy", "higher"), Score("mse", "lower"), Score("mine", "lower")


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
    assert "Of 20 combinations, none does worse" in found.sentence


def test_empty_no_degrees_of_freedom_is_said():
    found = deviations(twins.outcomes([[0, 0], [0, 1], [1, 0]], [9, 9, 9], [9, 8, 7]))
    assert np.isnan(found.p).all()
    assert "cannot be told" in found.sentence


def test_one_row_each_is_said():
    codes = every((4, 4))
    score = np.random.default_rng(0).normal(size=16)
    found = deviations(twins.outcomes(codes, np.ones(16), score, score**2, score=OWN))
    assert "has one row" in found.sentence


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


def grouped(seed, sizes, rows, *, drop=0.0, differ=0.0, order=2):
    """Shares that add up, with one group of `order` values worse by `drop`, and combinations that `differ`."""
    rng = np.random.default_rng(seed)
    codes = every(sizes)
    count = np.maximum(rng.multinomial(rows, rng.dirichlet(np.full(len(codes), 30.0))), 2)
    hard = sum(rng.uniform(0, 0.06, size)[codes[:, k]] for k, size in enumerate(sizes))
    held, at = rng.permutation(len(sizes))[:order], codes[rng.integers(len(codes))]
    bad = (codes[:, held] == at[held]).all(axis=1) & (drop > 0)
    right = np.clip(0.95 - hard - drop * bad + differ * rng.normal(size=len(codes)), 0.02, 0.99)
    group = {f"f{k}": str(at[k]) for k in sorted(held)}
    return twins.outcomes(codes, count, rng.binomial(count, right), sizes=sizes), group


def test_a_pair_is_told_by_all_that_lies_outside_of_it():
    outcomes, group = grouped(0, (2, 3, 4), 2_000, drop=0.4)
    found = next(one for one in deviations(outcomes).groups if one.group == group)
    codes, sizes = outcomes.tested.codes, outcomes.tested.space.sizes
    inside = np.all([codes[:, int(name[1:])] == int(value) for name, value in group.items()], axis=0)
    design = np.concatenate([np.eye(size)[codes[:, k]] for k, size in enumerate(sizes)], axis=1)
    half = np.sqrt(outcomes.rows * ~inside)
    effects = np.linalg.lstsq(design * half[:, None], outcomes.mean * half, rcond=None)[0]
    expected = outcomes.rows[inside] @ (design @ effects)[inside] / outcomes.rows[inside].sum()
    assert found.expected == pytest.approx(expected, abs=0.01)  # but for the weights of combinations that differ
    assert found.score == pytest.approx(outcomes.total[inside].sum() / outcomes.rows[inside].sum())
    assert found.combinations == inside.sum()


@pytest.mark.parametrize(("sizes", "order"), [((2, 3, 5), 2), ((2, 3, 5), 3), ((5, 6), 2), ((2, 4), 2)])
def test_a_group_20_points_below_its_parts_is_found(sizes, order):
    worlds = [grouped(seed, sizes, 4_000, drop=0.2, order=order) for seed in range(6)]
    assert sum(any(one.group == group for one in deviations(found).groups) for found, group in worlds) >= 5


@pytest.mark.parametrize("differ", [0.0, 0.04])
def test_where_combinations_differ_none_is_named(differ):
    named = [bool(deviations(grouped(seed, (2, 3, 5), 4_000, differ=differ)[0]).groups) for seed in range(6)]
    assert sum(named) <= 1


def test_what_could_have_been_found_is_said_and_needs_more_rows_to_be_little():
    few, many = (deviations(grouped(3, (4, 5), rows)[0]).sentence for rows in (400, 40_000))
    drops = [int(one.partition("A drop of ")[2].split()[0].split(".")[0]) for one in (few, many)]
    assert drops[0] > 25
    assert drops[1] < 8
    assert "would have been found 80 % of the time" in few


def test_a_value_is_set_beside_the_rest():
    codes = every((3, 4))
    rows = np.full(12, 200.0)
    found = deviations(twins.outcomes(codes, rows, rows * np.where(codes[:, 0] == 1, 0.7, 0.9)))
    assert [one.group for one in found.values] == [{"f0": "1"}]
    assert found.values[0].deviation == pytest.approx(-0.2)
    assert found.groups == ()
