"""The hard margin in one matrix, and what each combination is told by the others: against solving it anew."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import recombine
from recombine.verbs.predict.answers import answers
from recombine.verbs.predict.kernel import margin_matrix
from recombine.verbs.predict.kernel.margin_matrix import MarginMatrix
from recombine.verbs.predict.kernel.salience import Salience
from recombine.verbs.predict.kernel.solver import Penalty
from recombine.verbs.predict.learner import learn
from tests.properties import examples


def drawn(seed, sizes=(5, 6), classes=2, share=0.7):
    rng = np.random.default_rng(seed)
    codes = np.argwhere(rng.random(sizes) < share)
    labels = [f"c{label}" for label in rng.integers(0, classes, len(codes))]
    table = {f"f{k}": [f"v{code}" for code in codes[:, k]] for k in range(len(sizes))} | {"y": labels}
    return recombine.read(table, factors=[f"f{k}" for k in range(len(sizes))], target="y")


def made(support, salience):
    own = answers(support)
    return MarginMatrix.of(support, salience.weights, Penalty.of(salience.full, 0.0, own.counts)), own


@examples(25)
@given(st.integers(0, 10**6), st.sampled_from([2, 3]), st.sampled_from(["relu:1", "relu:3", "free"]))
def test_each_is_told_what_the_others_say_when_solved_anew(seed, classes, name):
    support = drawn(seed, classes=classes)
    salience = Salience(2, (np.inf, 1.0, 1.0, 0.6)) if name == "free" else Salience.parse(name, names=["a", "b"])
    matrix, own = made(support, salience)
    said = matrix.left_out(own.values)
    rows = np.arange(len(support))
    for out in rows[:6]:
        rest = support.subset(np.delete(rows, out))
        theirs = answers(rest, one_class=True)
        if len(np.unique(theirs.labels)) < len(own.classes):
            continue
        again = learn(rest, theirs, salience, loss="margin", ridge=0.0)
        assert np.allclose(again.fitted.scores(support.codes[out : out + 1])[0], said[out], atol=1e-6)


def test_whoever_is_not_on_the_margin_is_told_the_same_with_or_without_them():
    support = drawn(3, share=0.9)
    matrix, own = made(support, Salience.parse("relu:2", names=["a", "b"]))
    duals = matrix.solve(own.values)
    off = np.flatnonzero(np.abs(duals.weights[:, 0]) < 1e-12)
    said = matrix.left_out(own.values)[:, 0]
    assert np.allclose(said[off], (matrix.matrix @ duals.weights)[off, 0])


def test_where_it_would_take_long_the_span_rule_has_nearly_the_same_score(monkeypatch):
    support = drawn(4, sizes=(9, 9), share=0.8)
    matrix, own = made(support, Salience.parse("relu:2", names=["a", "b"]))
    exact = own.decide(matrix.left_out(own.values))
    monkeypatch.setattr(margin_matrix, "MOST_CHECKED", 0)
    quick = own.decide(matrix.left_out(own.values))
    assert np.mean(exact == quick) > 0.9


def test_no_penalty_and_too_many_are_left_to_others(monkeypatch):
    support = drawn(5)
    assert MarginMatrix.of(support, (0.0, 1.0, 1.0, 0.0), Penalty(0.0)) is None
    monkeypatch.setattr(margin_matrix, "LARGEST", 3)
    assert MarginMatrix.of(support, (0.0, 1.0, 1.0, 1.0), Penalty(1.0)) is None


def test_a_back_test_of_the_margin_holds_out_one_at_a_time():
    support = drawn(6)
    found = recombine.backtest(support, salience="relu:2", fit=recombine.FitSettings(loss="margin"))
    assert found.folds == found.tested == len(support)
    assert found.methods[0].score == pytest.approx(
        np.mean(
            [
                answers(support).decide(
                    made(support, Salience.parse("relu:2", names=["a", "b"]))[0].left_out(answers(support).values)
                )
                == answers(support).labels
            ]
        )
    )
