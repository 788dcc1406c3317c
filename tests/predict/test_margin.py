"""The hard margin without anything to memorise in, and what any sum can reach: beside linear and quadratic programs."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

import recombine
from recombine.base.errors import TableError
from recombine.verbs.predict import diagnosis as realisable
from recombine.verbs.predict.diagnosis import SeenParts, best_margin, shortfall
from recombine.verbs.predict.kernel import hard_margin as margins
from recombine.verbs.predict.kernel.hard_margin import margin
from recombine.verbs.predict.kernel.solver import Penalty, kernel
from tests.properties import examples
from tests.twins import labels, one_hot, support_of


def separates(design: np.ndarray, signs: np.ndarray) -> bool:
    """Whether some weights give every row its sign, by a linear program over the written-out design."""
    wanted = -signs[:, None] * design
    found = linprog(np.zeros(design.shape[1]), A_ub=wanted, b_ub=-np.ones(len(signs)), bounds=(None, None))
    return found.status == 0


@st.composite
def signed_tables(draw) -> tuple[np.ndarray, np.ndarray, tuple[int, ...]]:
    """Combinations with a sign each: most follow a random sum, some tables have one that does not."""
    sizes = tuple(draw(st.lists(st.integers(2, 4), min_size=2, max_size=3)))
    cells = np.array(list(itertools.product(*map(range, sizes))))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kept = cells[np.sort(rng.permutation(len(cells))[: draw(st.integers(2, len(cells)))])]
    sums = one_hot(kept, sizes) @ rng.normal(size=sum(sizes))
    signs = np.where(sums >= np.median(sums), 1.0, -1.0)
    if draw(st.booleans()):
        signs[rng.integers(len(signs))] *= -1
    return kept, signs, sizes


def additive(factors: int) -> tuple[float, ...]:
    """Weight 1 on every factor alone and on nothing else: nothing can be memorised."""
    return tuple(float(mask.bit_count() == 1) for mask in range(2**factors))


@pytest.mark.slow
@examples(150)
@given(signed_tables())
def test_a_margin_is_found_exactly_where_a_linear_program_separates(table) -> None:
    codes, signs, sizes = table
    design = one_hot(codes, sizes)
    support = labels(codes, (signs > 0).astype(int), sizes=sizes)
    if not separates(design, signs):
        with pytest.raises(TableError, match="no sum over the weighted conjunctions gives every seen combination"):
            margin(support, additive(len(sizes)), Penalty(0.0), signs[:, None])
        return
    dual = margin(support, additive(len(sizes)), Penalty(0.0), signs[:, None]).weights[:, 0]
    scores = design @ (design.T @ dual)
    assert (signs * scores).min() >= 1 - 1e-5
    # the conditions under which no rule has a smaller norm: weights push outwards, and only those on the margin
    pushes = signs * dual
    assert pushes.min() >= -1e-7 * max(1.0, pushes.max())
    assert pushes.sum() == pytest.approx(dual @ scores, rel=1e-6, abs=1e-6)


def test_the_exclusive_or_has_no_margin() -> None:
    square = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    support = labels(square, [0, 1, 1, 0])
    with pytest.raises(TableError, match="nothing can be memorised"):
        recombine.predict(support, salience="order:0,1,0", fit=recombine.FitSettings(loss="margin"))


def test_a_table_that_one_factor_tells_is_separated() -> None:
    cells = np.array(list(itertools.product(range(4), range(3))))
    support = labels(cells[:-2], cells[:-2, 0] // 2)
    found = recombine.predict(support, salience="order:0,1,0", fit=recombine.FitSettings(loss="margin"))
    unseen = [row for row in found.table.to_pylist() if row["f0"] in (3, "3") and row["f1"] in (1, 2, "1", "2")]
    assert [row["prediction"] for row in unseen] == ["yes", "yes"]


def chain(length: int) -> np.ndarray:
    return np.array([(i, i) for i in range(length)] + [(i, i + 1) for i in range(length - 1)])


def test_a_sum_over_a_long_chain_is_within_reach() -> None:
    """Four hundred steps of an iteration do not walk along it: the best rule was said to miss by 0.04."""
    support = support_of(chain(1_500))
    asked = np.asfortranarray(chain(1_500), dtype=np.int32)
    effects = np.cumsum(np.random.default_rng(0).normal(size=(2, 1_500)), axis=1)
    truth = effects[0, asked[:, 0]] + effects[1, asked[:, 1]]
    parts = SeenParts.of(support, additive(2), asked)
    assert shortfall(parts, truth).max() < 1e-5
    assert best_margin(parts, np.sign(truth)).min() > 0


@examples(60)
@given(signed_tables())
def test_the_best_margin_by_programs_and_by_iterations_agree_on_what_can_be_reached(table) -> None:
    codes, signs, sizes = table
    parts = SeenParts.of(support_of(codes, sizes=sizes), additive(len(sizes)), np.asfortranarray(codes, dtype=np.int32))
    reachable = separates(one_hot(codes, sizes), signs)
    assert (best_margin(parts, signs).min() > 1e-6) == reachable
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(realisable, "_ROUNDS", 0)
        assert (best_margin(parts, signs).min() > 1e-6) == reachable


def test_what_is_not_known_is_not_out_of_reach(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_ITERATIONS", "_ROUNDS", "_MOST_PRODUCTS", "_MOST_PROGRAMMED"):
        monkeypatch.setattr(realisable, name, 0)
    parts = SeenParts.of(support_of(chain(4)), additive(2), np.asfortranarray(chain(4), dtype=np.int32))
    assert np.isnan(shortfall(parts, np.arange(7.0))).all()
    assert np.isnan(best_margin(parts, np.ones(7))).all()


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("full", [0.0, 0.3])
def test_coordinate_ascent_finds_the_same_margin(seed: int, full: float) -> None:
    """The last resort, where exchanges go round in circles and least squares do not end."""
    rng = np.random.default_rng(seed)
    cells = np.array([(a, b) for a in range(5) for b in range(4)], dtype=np.int32)[rng.random(20) < 0.7]
    signs = np.where(rng.normal(size=5)[cells[:, 0]] + rng.normal(size=4)[cells[:, 1]] > 0, 1.0, -1.0)
    table = {"a": cells[:, 0].tolist(), "b": cells[:, 1].tolist()}
    support = recombine.read(table, factors=["a", "b"], domain={"a": list(range(5)), "b": list(range(4))})
    weights, penalty = (0.0, 0.5, 0.5, full), Penalty(full)
    found = margins._ascended(support, weights, penalty, signs)
    wanted = margins._one(support, weights, penalty, signs)
    assert found is not None
    scores = kernel(support.codes, support.codes, (*weights[:-1], 0.0))
    assert found.spare.min() >= -1e-6
    np.testing.assert_allclose(scores @ found.dual, scores @ wanted.dual, atol=1e-3)
