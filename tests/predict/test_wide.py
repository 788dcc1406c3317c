"""Many factors: by the number of matches, the same answers as by the groups of every set, and far quicker."""

from itertools import product

import numpy as np
import pytest

import recombine
from recombine.verbs.predict import learner as learning
from recombine.verbs.predict import predict, prediction
from recombine.verbs.predict.answers import answers
from recombine.verbs.predict.holdout_record import one_at_a_time
from recombine.verbs.predict.kernel.dense_kernel import DenseKernel, Similarity
from recombine.verbs.predict.kernel.salience import Salience
from recombine.verbs.predict.kernel.salience_fit import resolve
from recombine.verbs.predict.kernel.squared_loss import DualWeights
from recombine.verbs.predict.kernel.variance import _ByTriangle
from recombine.verbs.predict.learner import FittedLearner, learn


def wide_support(factors: int, rows: int, *, label: int = 0, seed: int = 0) -> recombine.Support:
    rng = np.random.default_rng(seed)
    names = [f"f{k}" for k in range(factors)]
    table = {name: rng.integers(0, 3, rows).tolist() for name in names}
    answer = [f"c{one}" for one in rng.integers(0, label, rows)] if label else rng.normal(size=rows).tolist()
    return recombine.read(table | {"y": answer}, factors=names, target="y")


def both_ways(
    support: recombine.Support, salience: Salience | str, monkeypatch, ridge: float
) -> tuple[FittedLearner, FittedLearner]:
    own, weights = answers(support), resolve(salience, support)
    quick = learn(support, own, weights, loss="squared", ridge=ridge)
    assert isinstance(quick.fitted, DualWeights)
    with monkeypatch.context() as patched:
        patched.setattr(learning, "FEWEST_FACTORS", 99)
        slow = learn(support, own, weights, loss="squared", ridge=ridge)
        assert slow.orders is None
    return quick, slow


@pytest.mark.parametrize("label", [0, 2, 3])
@pytest.mark.parametrize("kind", ["relu:3", "ntk:1", "free constant", "by order"])
def test_by_matches_it_is_the_same_learner(label: int, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    support = wide_support(6, 80, label=label, seed=label)
    by_order = Salience.by_order([0.3, 0.5, 0.2, 0.0, 0.1, 0.0, 0.4])
    free = Salience(6, (np.inf, *by_order.weights[1:]))
    salience = {"free constant": free, "by order": by_order}.get(kind, kind)
    quick, slow = both_ways(support, salience, monkeypatch, 0.1 if label else 0.0)
    rng = np.random.default_rng(1)
    codes = np.asfortranarray(np.concatenate([support.codes[:20], rng.integers(-1, 3, (60, 6))]).astype(np.int32))
    np.testing.assert_allclose(quick.fitted.scores(codes), slow.fitted.scores(codes), atol=1e-8)
    np.testing.assert_allclose(
        quick.unleaked.scores(codes), slow.unleaked.scores(codes), atol=3e-2 if not label else 1e-8
    )
    assert isinstance(quick.uncertainty._way, _ByTriangle)
    np.testing.assert_allclose(quick.uncertainty.of(codes)[0], slow.uncertainty.of(codes)[0], atol=1e-8)
    assert quick.scale == pytest.approx(slow.scale)
    np.testing.assert_allclose(quick.fitted.constant, slow.fitted.constant, atol=1e-8)
    for mask in (1, 5, 63):
        np.testing.assert_allclose(
            quick.fitted.contribution(mask, codes), slow.fitted.contribution(mask, codes), atol=1e-8
        )
    assert isinstance(quick.fitted, DualWeights)
    orders = quick.fitted.by_order(codes)
    for order in (1, 3):
        masks = [mask for mask in range(1, 64) if mask.bit_count() == order]
        parts = [np.nan_to_num(slow.fitted.contribution(mask, codes)) for mask in masks]
        np.testing.assert_allclose(orders[order - 1], np.sum(parts, axis=0), atol=1e-8)
    np.testing.assert_allclose(quick.fitted.constant + sum(orders), quick.fitted.scores(codes), atol=1e-9)


@pytest.mark.parametrize("by_count", [True, False])
def test_similarities_by_brute_force(by_count: bool) -> None:
    rng = np.random.default_rng(0)
    weights = Salience.by_order([0.5, 1, 2, 3]).weights if by_count else tuple(rng.random(8))
    one, other = rng.integers(-1, 3, (30, 3)).astype(np.int32), rng.integers(-1, 3, (40, 3)).astype(np.int32)
    found = Similarity.of(weights)
    assert found.by_count is by_count
    for a, b in product(range(30), range(40)):
        match = [k for k in range(3) if one[a, k] == other[b, k] >= 0]
        wanted = sum(w for mask, w in enumerate(weights) if all(k in match for k in range(3) if mask >> k & 1))
        assert found.between(one, other)[a, b] == pytest.approx(wanted)


def test_the_triangle_is_the_inverse() -> None:
    support = wide_support(4, 60)
    similarity, own = Similarity.by_order([0.2, 0.3, 0.1, 0.1, 0.0]), np.linspace(0.1, 1, len(support))
    made = DenseKernel.of(support.codes, similarity, own)
    assert made is not None
    inverse = np.linalg.inv(similarity.between(support.codes, support.codes) + np.diag(own))
    np.testing.assert_allclose(made.inverse_diagonal, np.diag(inverse), rtol=1e-9)
    np.testing.assert_allclose(made.solve(np.eye(len(support))), inverse, atol=1e-9)
    between = similarity.between(support.codes[:7], support.codes)
    np.testing.assert_allclose(made.explained(support.codes[:7]), np.diag(between @ inverse @ between.T), rtol=1e-9)
    assert DenseKernel.of(support.codes, similarity, np.zeros(len(support))) is None  # digits would be lost


@pytest.mark.parametrize("label", [0, 3])
@pytest.mark.parametrize("constant", [0.3, np.inf])
def test_some_left_out_are_as_if_all_were(label: int, constant: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sample of the combinations is held out from the same factor, at its end: each answer is that of all."""
    support = wide_support(6, 90, label=label)
    weights = Salience(6, (constant, *Salience.by_order([0, 0.5, 0.2, 0.0, 0.1, 0.0, 0.4]).weights[1:]))
    every = one_at_a_time(learn(support, answers(support), weights, loss="squared", ridge=0.1))
    monkeypatch.setattr(learning, "LARGEST_CLOSED_FORM", 50)
    monkeypatch.setattr(learning, "MOST_HELD_OUT", 20)
    some = one_at_a_time(learn(support, answers(support), weights, loss="squared", ridge=0.1))
    assert every is not None
    assert some is not None
    assert (len(every), len(some)) == (len(support), 20)
    place = support.groups(range(6)).lookup(some.codes)
    for name, said in some.said.items():
        np.testing.assert_allclose(said, every.said[name][place], atol=1e-9)
    np.testing.assert_allclose(some.sd, every.sd[place], rtol=1e-8)
    np.testing.assert_allclose(some.doubt, every.doubt[place], rtol=1e-8)
    np.testing.assert_array_equal(some.rungs, every.rungs[place])
    np.testing.assert_array_equal(some.labels, every.labels[place])


@pytest.mark.parametrize("less", [0.05, 0.0999])
def test_less_on_the_diagonal_by_the_same_factor(less: float) -> None:
    support = wide_support(6, 200)
    similarity, own = Similarity.by_order([0.2, 0.3, 0.1, 0.1, 0.0, 0.0, 0.0]), np.full(len(support), 0.1)
    made = DenseKernel.of(support.codes, similarity, own, tested=np.array([3, 1, 7]))
    assert made is not None
    values = np.random.default_rng(0).normal(size=(len(support), 2))
    matrix = similarity.between(support.codes, support.codes) + np.diag(own - less)
    found = made.solve_with_less(values, less)
    assert found is not None
    np.testing.assert_allclose(found, np.linalg.solve(matrix, values), rtol=1e-6, atol=1e-6 * np.abs(found).max())


def test_what_does_not_settle_is_not_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    support = wide_support(6, 100)
    made = DenseKernel.of(support.codes, Similarity.by_order([0.2, 0.3, *[0.0] * 5]), np.full(len(support), 0.1))
    assert made is not None
    monkeypatch.setattr("recombine.verbs.predict.kernel.dense_kernel._STEPS", 1)
    assert made.solve_with_less(np.random.default_rng(0).normal(size=(len(support), 1)), 0.0999) is None


def test_combinations_without_an_answer_are_not_held_out() -> None:
    rng = np.random.default_rng(0)
    names = [f"f{k}" for k in range(3)]
    table = {name: rng.integers(0, 4, 50).tolist() for name in names}
    table["y"] = [None if row < 10 else float(row % 7) for row in range(50)]
    support = recombine.read(table, factors=names, target="y")
    own = answers(support)
    tried = one_at_a_time(learn(support, own, resolve("relu:3", support), loss="squared", ridge=0.0))
    assert tried is not None
    np.testing.assert_array_equal(tried.codes, support.codes[own.rows])


@pytest.mark.slow
def test_a_wide_prediction_lists_a_sample_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    support = wide_support(8, 300)
    monkeypatch.setattr(predict, "_MOST_WORK", 10**6)
    monkeypatch.setattr(prediction, "_FEWEST_DRAWN", 50)
    monkeypatch.setattr(prediction, "_WORK", 100 * len(support) ** 2)
    found = recombine.predict(support)
    assert found.sampled
    assert found.table.num_rows == 100
    assert "from pairs" in found.table.column_names
    assert found.grade in ("weak", "failing")  # random numbers
    row = found.table.to_pylist()[0]
    told = sum(value for name, value in row.items() if name.startswith("from "))
    assert told == pytest.approx(row["prediction"], abs=1e-8)
