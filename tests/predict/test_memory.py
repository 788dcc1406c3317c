"""What a prediction would take is told before it is taken."""

import numpy as np
import pytest

import recombine
from recombine.base import limits
from recombine.base.errors import TableError
from recombine.verbs.predict.answers import answers
from recombine.verbs.predict.kernel.salience_fit import resolve
from recombine.verbs.predict.kernel.variance import _ByDraws, _ByKernel, _ByTriangle
from recombine.verbs.predict.learner import learn


def random_support(factors: int, values: int, rows: int) -> recombine.Support:
    rng = np.random.default_rng(0)
    names = [f"f{place}" for place in range(factors)]
    table = {name: rng.integers(0, values, rows) for name in names} | {"y": rng.normal(size=rows)}
    return recombine.read(table, factors=names, target="y")


def test_more_than_the_machine_holds_is_refused_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    support = random_support(12, 5, 7_000)
    monkeypatch.setattr(limits, "memory_here", lambda: 1e9)
    with pytest.raises(TableError) as caught:
        recombine.predict(support)
    assert "4,096 sets of 12 factors with 7,000 combinations" in caught.value.what
    assert "GB of memory, and may take 0.5 GB here" in caught.value.why
    monkeypatch.setattr(limits, "memory_here", lambda: 1e4)
    with pytest.raises(TableError, match="fewer combinations"):
        recombine.predict(random_support(3, 4, 40))


def test_sets_that_differ_within_an_order_need_their_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights of 4,095 sets, each its own, over more combinations than a matrix is written out for."""
    support = random_support(12, 5, 7_000)
    monkeypatch.setattr(limits, "memory_here", lambda: 16e9)
    uneven = recombine.Salience(12, tuple(np.random.default_rng(0).random(4096)))
    with pytest.raises(TableError) as caught:
        recombine.predict(support, salience=uneven)
    assert caught.value.instead == "name at most 11 factors: those that matter most"


def test_small_predictions_are_not_refused() -> None:
    assert limits.memory_here() > 2**28
    assert recombine.predict(random_support(3, 4, 40)).counts["seen"] > 0


def test_many_factors_go_by_the_number_of_matches() -> None:
    """64 draws of 4,095 sets took 16 GB at 5,000 combinations; a matrix of the combinations takes 0.2."""
    support = random_support(12, 5, 300)
    learner = learn(support, answers(support), resolve("relu:3", support), loss="squared", ridge=0.0)
    assert isinstance(learner.uncertainty._way, _ByTriangle)
    few = random_support(5, 5, 8_000)
    learner = learn(few, answers(few), resolve("relu:3", few), loss="squared", ridge=0.0)
    assert isinstance(learner.uncertainty._way, _ByDraws)


@pytest.mark.parametrize("weights", ["relu:3", "order:0,1,0.5,0.1,0"])
def test_a_triangle_and_a_pseudo_inverse_say_the_same(weights: str) -> None:
    support = random_support(4, 3, 60)
    learner = learn(support, answers(support), resolve(weights, support), loss="squared", ridge=0.1)
    found = _ByKernel(learner.uncertainty)
    other = _ByKernel(learner.uncertainty)
    assert found._firm
    other._firm, other._root = False, np.linalg.inv(found._root @ found._root.T)
    codes = np.asfortranarray(np.random.default_rng(1).integers(0, 3, (50, 4)).astype(np.int32))
    np.testing.assert_allclose(found.of(codes)[0], other.of(codes)[0], rtol=1e-9, atol=1e-12)
