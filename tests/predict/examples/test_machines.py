"""Kernel machines beside scikit-learn's, and gradient flow beside small steps."""

import numpy as np
import pytest

from recombine.numerics.groups import Numbers
from recombine.verbs.predict.examples import kernel_machines
from recombine.verbs.predict.examples.input_kernels import linear, tangent
from recombine.verbs.predict.examples.kernel_machines import CodedAnswers, Flow

sklearn_svm = pytest.importorskip("sklearn.svm")


def examples(classes, rows=60, seed=0):
    rng = np.random.default_rng(seed)
    labels = np.arange(rows) % classes
    x = rng.normal(size=(rows, 5)) + 1.5 * np.eye(max(classes, 5))[labels][:, :5]
    return x, labels


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_margin_is_scikit_learns(classes):
    x, labels = examples(classes)
    other, _ = examples(classes, rows=40, seed=1)
    kernel, between = tangent(2).between(x, x), tangent(2).between(other, x)
    machine = kernel_machines.margin(
        kernel, CodedAnswers("label", labels[:, None].astype(float), classes), penalty=10.0
    )
    theirs = sklearn_svm.SVC(kernel="precomputed", C=10.0, decision_function_shape="ovo").fit(kernel, labels)
    raw = theirs.decision_function(between).reshape(len(other), -1)
    np.testing.assert_allclose(machine.raw(between), -raw if classes == 2 else raw, atol=1e-8)
    agreed = machine.answer(between).argmax(axis=1) == theirs.predict(between)
    assert agreed.mean() >= 0.95  # where pairs tie scikit-learn takes the first class, we the clearer one


def test_a_class_without_rows_is_never_said():
    x, labels = examples(3)
    kernel = tangent(1).between(x, x)
    answers = CodedAnswers("label", np.where(labels == 2, 3, labels)[:, None].astype(float), 5)
    for machine in (kernel_machines.margin(kernel, answers), kernel_machines.squared(kernel, answers, ridge=1e-3)):
        assert set(machine.answer(kernel).argmax(axis=1).tolist()) <= {0, 1, 3}


def test_squared_is_kernel_ridge_with_a_free_constant():
    ridge = pytest.importorskip("sklearn.kernel_ridge")
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(30, 4)), rng.normal(size=(30, 2)) + 7
    kernel = tangent(1).between(x, x)
    machine = kernel_machines.squared(kernel, CodedAnswers("number", y), ridge=0.01)
    theirs = ridge.KernelRidge(alpha=0.01 * np.diag(kernel).mean(), kernel="precomputed").fit(
        kernel, y - y.mean(axis=0)
    )
    np.testing.assert_allclose(machine.answer(kernel), theirs.predict(kernel) + y.mean(axis=0), atol=1e-9)


def test_squared_on_torch_is_the_same():
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(20, 4)), rng.normal(size=(20, 1))
    kernel, answers = tangent(1).between(x, x), CodedAnswers("number", y)
    mine = kernel_machines.squared(kernel, answers, ridge=0.1)
    np.testing.assert_allclose(
        kernel_machines.squared(torch.as_tensor(kernel), answers, ridge=0.1).weights, mine.weights
    )
    moved = Flow.of(torch.as_tensor(kernel), answers).at(3.0)
    np.testing.assert_allclose(moved.weights, Flow.of(kernel, answers).at(3.0).weights, atol=1e-9)


def test_flow_is_many_small_steps():
    """A twin: gradient descent on the dual weights, 20,000 small steps."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(12, 3)), rng.normal(size=(12, 1))
    kernel = tangent(1).between(x, x)
    target, weights = y - y.mean(), np.zeros((12, 1))
    step = 5.0 / 20_000
    for _ in range(20_000):
        weights += step / 12 * (target - kernel @ weights)
    found = Flow.of(kernel, CodedAnswers("number", y)).at(5.0)
    np.testing.assert_allclose(kernel @ found.weights, kernel @ weights, atol=1e-4)


def test_flow_begins_at_the_mean_and_ends_at_the_answers():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(12, 3)), rng.normal(size=(12, 1))
    kernel = tangent(2).between(x, x)
    flow = Flow.of(kernel, CodedAnswers("number", y))
    np.testing.assert_allclose(flow.at(0.0).answer(kernel), y.mean())
    np.testing.assert_allclose(flow.at(1e12).answer(kernel), y, atol=1e-6)


def test_stopped_has_the_score_that_was_asked_for():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(80, 3))
    y = x[:, :1]
    kernel = linear().between(x, x)
    base = float(np.square(y - y.mean()).sum())

    def judge(scores: Numbers) -> float:
        return 1 - float(np.square(scores - y).sum()) / base

    machine, reached = kernel_machines.stopped(Flow.of(kernel, CodedAnswers("number", y)), kernel, judge, 0.6)
    assert reached
    assert 0.6 <= judge(machine.answer(kernel)) < 0.85
    _, reached = kernel_machines.stopped(Flow.of(kernel, CodedAnswers("number", y)), kernel, judge, 1.5)
    assert not reached
