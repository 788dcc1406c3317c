"""Every way to solve equals one dense solve; the hard margin equals a support vector machine; sums stay sums."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.optimize import nnls
from sklearn.kernel_ridge import KernelRidge
from sklearn.svm import SVC

import recombine
from recombine import Salience
from recombine.base.errors import SettingError, TableError
from recombine.data.support import Support
from recombine.verbs.predict.answers import answers
from recombine.verbs.predict.kernel import solver
from recombine.verbs.predict.kernel import squared_loss as module
from recombine.verbs.predict.kernel.hard_margin import margin
from recombine.verbs.predict.kernel.solver import ConjunctionDesign, Penalty, kernel
from recombine.verbs.predict.kernel.squared_loss import ConjunctionFit, Duals, squared
from recombine.verbs.predict.learner import learn
from tests.properties import examples
from tests.twins import brute_kernel, brute_scores, every, labels, numbers, support_of, supports


@dataclass(frozen=True)
class Problem:
    """A random table with random weights, counts and answers."""

    support: Support
    weights: tuple[float, ...]
    ridge: float
    values: np.ndarray

    @property
    def own(self) -> np.ndarray:
        """What each combination's diagonal gets beside the kernel."""
        return self.ridge / self.support.counts

    @property
    def penalty(self) -> Penalty:
        return Penalty.of(self.weights[-1], self.ridge, self.support.counts)

    @property
    def cells(self) -> np.ndarray:
        return np.asfortranarray(every(self.support.space.sizes))

    def scores(self, duals: Duals) -> np.ndarray:
        """The whole space, answered from dual weights."""
        return ConjunctionFit.of(self.support, self.weights, duals).scores(self.cells)

    @property
    def expected(self) -> np.ndarray:
        return brute_scores(self.support.codes, self.values, self.cells, self.weights, self.own)


@st.composite
def problems(
    draw, *, factors: int = 5, constants=(0.0, 0.7, math.inf), fulls=(0.01, 0.5), questions: int = 3
) -> Problem:
    support = draw(supports(most_factors=factors, most_values=4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    width = len(support.space.sizes)
    weights = rng.uniform(0.05, 1.5, 2**width)
    if draw(st.booleans()):  # some sets weigh nothing
        weights[rng.random(2**width) < 0.4] = 0
    if draw(st.booleans()):  # no set of more than this many factors does
        most = draw(st.integers(0, width - 1))
        weights[[mask.bit_count() > most for mask in range(2**width)]] = 0
    weights[0] = draw(st.sampled_from(constants))
    weights[-1] = draw(st.sampled_from(fulls))
    ridge = draw(st.sampled_from([0.0, 0.3]))
    return Problem(
        support, tuple(weights.tolist()), ridge, rng.normal(size=(len(support), draw(st.integers(1, questions))))
    )


def agree(found: np.ndarray, expected: np.ndarray, *, to: float = 1e-8) -> None:
    np.testing.assert_allclose(found, expected, atol=to * max(1.0, float(np.abs(expected).max(initial=0))), rtol=0)


# The squared loss, every way


@examples(40)
@given(problems())
def test_the_kernel_is_the_sum_over_sets(problem: Problem) -> None:
    weights = (0.7, *problem.weights[1:])
    agree(
        kernel(problem.cells, problem.support.codes, weights),
        brute_kernel(problem.cells, problem.support.codes, weights),
    )


def test_a_value_that_is_not_one_agrees_with_nothing() -> None:
    codes = np.array([[0, -1], [0, 1]], dtype=np.int32)
    for weights in ((0.0, 1.0, 1.0, 1.0), (0.0, 1.0, 2.0, 3.0)):  # by the number of matches, and by which match
        assert kernel(codes, codes, weights).tolist() == [[1.0, 1.0], [1.0, sum(weights)]]


@examples(60)
@given(problems())
def test_the_matrix(problem: Problem) -> None:
    agree(problem.scores(squared(problem.support, problem.weights, problem.penalty, problem.values)), problem.expected)


@examples(40)
@given(problems(constants=(0.0, 0.7), factors=4, questions=1))
def test_the_iteration(problem: Problem) -> None:
    """Small tables are solved by a matrix, so the iteration is called by its name."""
    design = ConjunctionDesign.of(problem.support, problem.weights)
    found = solver.solve(design, problem.penalty, problem.values[:, 0])
    assert found.residual <= 1e-9
    duals = Duals(found.dual[:, None], np.zeros(1), 0.0, 0)
    agree(problem.scores(duals), problem.expected, to=1e-7)


@pytest.mark.parametrize("columns", [3, 4, 37])
def test_columns_that_are_solved_together_come_out_as_one_by_one(columns: int) -> None:
    """Among them one of nothing and one that a single step solves: both stand still while the others move."""
    rng = np.random.default_rng(columns)
    support = zipf(rng, rows=600, values=15, factors=3)
    design = ConjunctionDesign.of(support, (0.3, 0.27, 0.27, 0.06, 0.27, 0.06, 0.06, 0.01))
    penalty = Penalty.of(0.01, 0.02, np.asarray(rng.integers(1, 4, len(support)), dtype=np.float64))
    values = rng.normal(size=(len(support), columns))
    values[:, 0], values[:, 1] = 0.0, 1.0
    together = solver.System(design, penalty).solve(values, tolerance=1e-9)
    assert together.residual <= 1e-9
    assert not together.dual[:, 0].any()
    for found, column in zip(together.dual.T, values.T, strict=True):
        agree(found, solver.solve(design, penalty, column, tolerance=1e-9).dual, to=1e-6)


@examples(50)
@given(problems(constants=(0.0, 0.7)))
def test_sums_over_groups_and_back(problem: Problem) -> None:
    """Phi' and Phi, which take short ways through larger groups, against the indicators written out."""
    design = ConjunctionDesign.of(problem.support, problem.weights)
    values = problem.values[:, 0]
    indicators = [np.eye(layer.size)[layer.ids] for layer in design.layers]
    for found, indicator in zip(design.sums(values), indicators, strict=True):
        agree(found, indicator.T @ values)
    rng = np.random.default_rng(len(values))
    coefficients = [rng.normal(size=layer.size) for layer in design.layers]
    expected = sum((i @ c for i, c in zip(indicators, coefficients, strict=True)), np.zeros(len(values)))
    agree(design.spread(coefficients), expected)


@pytest.mark.parametrize("constant", [0.0, 0.4, math.inf])
@pytest.mark.parametrize("ridge", [0.0, 0.5])
def test_five_factors_by_iteration(constant: float, ridge: float) -> None:
    rng = np.random.default_rng(5)
    support = support_of(rng.integers(0, 3, (80, 5)), sizes=(3,) * 5)
    weights = (constant, *rng.uniform(0.02, 0.5, 30), 0.1)
    problem = Problem(support, weights, ridge, rng.normal(size=(len(support), 2)))
    assert 1 < support.counts.max() < 5
    with as_if_large():
        found = squared(support, weights, problem.penalty, problem.values)
    assert found.iterations > 1
    agree(problem.scores(found), problem.expected, to=1e-7)


@contextmanager
def as_if_large(*, eliminate: bool = False) -> Iterator[None]:
    """Small tables solved as if they were large."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "SMALL", 0)
        patch.setattr(module, "eliminable", lambda support: eliminate)
        yield


@examples(25)
@given(problems(factors=3))
def test_large_tables_with_every_constant(problem: Problem) -> None:
    with as_if_large():
        found = squared(problem.support, problem.weights, problem.penalty, problem.values)
    agree(problem.scores(found), problem.expected, to=1e-7)


@examples(60)
@given(problems(factors=2))
def test_two_factors_by_elimination(problem: Problem) -> None:
    with as_if_large(eliminate=True):
        found = squared(problem.support, problem.weights, problem.penalty, problem.values)
    agree(problem.scores(found), problem.expected)
    assert found.residual < 1e-9


def test_a_table_of_450_pairs_keeps_its_seen_answers() -> None:
    """Without a ridge, what was seen is answered as it was seen."""
    cells = every((30, 30))[::2]
    support = numbers(cells, np.sin(np.arange(len(cells))), sizes=(30, 30))
    assert len(support) == 450
    rows = recombine.predict(support, salience="order:0.5,0.3,0.4", combinations=cells[:10].tolist()).table
    assert rows["prediction"].to_pylist() == pytest.approx(np.sin(np.arange(10.0)), abs=1e-7)


def test_the_ways_are_taken_as_they_are_meant(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the tests above could compare the matrix with itself."""
    taken = []
    for name in ("_by_matrix", "_by_elimination", "_by_iteration", "_limit"):
        way = getattr(module, name)
        monkeypatch.setattr(module, name, lambda *given, _way=way, _name=name: (taken.append(_name), _way(*given))[1])
    rng = np.random.default_rng(0)
    for sizes, full, expected in [
        ((10, 10), 0.4, "_by_matrix"),
        ((20, 20), 0.4, "_by_elimination"),
        ((8, 8, 8), 0.4, "_by_iteration"),
        ((20, 20), 0.0, "_limit"),
    ]:
        cells = every(sizes)
        weights = (0.0, *[0.3] * (2 ** len(sizes) - 2), full)
        squared(support_of(cells), weights, Penalty(full), rng.normal(size=(len(cells), 1)))
        assert taken[0] == expected
        taken.clear()


@examples(25)
@given(problems(fulls=(0.0,), factors=3, questions=1))
def test_without_any_penalty_the_limit_is_meant(problem: Problem) -> None:
    """The answers of an ever smaller penalty: least squares of least norm, where not all answers can be expressed."""
    assume(any(problem.weights[1:-1]))
    bounded = (0.0, *problem.weights[1:]) if math.isinf(problem.weights[0]) else problem.weights
    nothing = Penalty(0.0)
    matrix = brute_kernel(problem.support.codes, problem.support.codes, bounded)
    inverse = np.linalg.pinv(matrix, rcond=1e-11, hermitian=True)
    duals, intercept = inverse @ problem.values, 0.0
    if math.isinf(problem.weights[0]):
        intercept = duals.sum(axis=0) / inverse.sum()
        duals = inverse @ (problem.values - intercept)
    expected = brute_kernel(problem.cells, problem.support.codes, bounded) @ duals + intercept
    agree(problem.scores(squared(problem.support, problem.weights, nothing, problem.values)), expected, to=1e-7)
    with as_if_large():
        agree(problem.scores(squared(problem.support, problem.weights, nothing, problem.values)), expected, to=1e-7)


def test_the_limit_is_the_limit() -> None:
    """Against a dense solve with a very small penalty, which is another way than the pseudo-inverse above."""
    rng = np.random.default_rng(3)
    cells = every((6, 5, 4))
    seen = cells[rng.permutation(len(cells))[:60]]
    values = rng.normal(size=(60, 2))
    weights = (0.2, *[0.5] * 6, 0.0)
    nearly = brute_scores(seen, values, cells, weights, 1e-9)
    order = np.lexsort(seen.T[::-1])
    support = support_of(seen, sizes=(6, 5, 4))
    found = squared(support, weights, Penalty(0.0), values[order])
    agree(ConjunctionFit.of(support, weights, found).scores(cells), nearly, to=1e-6)


@pytest.mark.parametrize(
    "orders",
    [(0.1, 0.3, 0.05), tuple(0.5**order for order in range(13))],
    ids=["orders up to 2", "all orders"],
)
def test_twelve_factors(orders: tuple[float, ...]) -> None:
    rng = np.random.default_rng(12)
    support = support_of(rng.integers(0, 3, (30, 12)), sizes=(3,) * 12)
    salience = Salience.by_order(orders, factors=12)
    ridge = 0.2
    values = rng.normal(size=(len(support), 1))
    asked = np.asfortranarray(rng.integers(0, 3, (20, 12)).astype(np.int32))
    expected = brute_scores(support.codes, values, asked, salience.weights, ridge / support.counts)
    penalty = Penalty.of(salience.full, ridge, support.counts)
    found = ConjunctionFit.of(support, salience.weights, squared(support, salience.weights, penalty, values))
    agree(found.scores(asked), expected)
    if len(orders) <= 3:  # with all orders there are 4,094 layers: seconds a sweep
        solved = solver.solve(ConjunctionDesign.of(support, salience.weights), penalty, values[:, 0])
        found = ConjunctionFit.of(support, salience.weights, Duals(solved.dual[:, None], np.zeros(1), 0.0, 0))
        agree(found.scores(asked), expected, to=1e-7)


def test_one_layer_alone_and_none_at_all() -> None:
    support = support_of([[0, 0], [0, 1], [1, 1]], sizes=(2, 2))
    values = np.array([[1.0], [2.0], [4.0]])
    for weights in [(0.0, 0.0, 0.0, 0.5), (0.0, 1.0, 0.0, 0.5), (2.0, 0.0, 0.0, 0.5)]:
        design = ConjunctionDesign.of(support, weights)
        found = solver.solve(design, Penalty(0.5), values[:, 0]).dual
        expected = np.linalg.solve(brute_kernel(support.codes, support.codes, weights), values)[:, 0]
        agree(found, expected)


def test_nothing_to_answer_is_answered_by_nothing() -> None:
    support = support_of(every((3, 3)))
    found = solver.solve(ConjunctionDesign.of(support, (0.1, 1.0, 1.0, 0.5)), Penalty(0.5), np.zeros(9))
    assert not found.dual.any()
    assert found.iterations == 0


def test_negative_weights_are_solved_while_they_are_a_kernel_and_small() -> None:
    rng = np.random.default_rng(0)
    cells = every((20, 20))
    values = rng.normal(size=(400, 1))
    weights = (-0.01, 0.3, 0.3, 0.4)
    support = support_of(cells)
    found = ConjunctionFit.of(support, weights, squared(support, weights, Penalty(0.4), values)).scores(cells)
    agree(found, values)
    many = support_of(every((80, 80)))
    with pytest.raises(SettingError, match="negative weights with 6,400 combinations"):
        squared(many, weights, Penalty(0.4), rng.normal(size=(6400, 1)))


def test_a_problem_that_loses_its_digits_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solver, "_MOST_ITERATIONS", 1)
    monkeypatch.setattr(solver, "_REFINEMENTS", 1)
    rng = np.random.default_rng(0)
    support = support_of(rng.integers(0, 8, (200, 3)))
    values = rng.normal(size=(len(support), 1))
    with as_if_large(), pytest.raises(TableError, match="was not solved: a relative residual of"):
        squared(support, (0.0, *[1.0] * 6, 1e-6), Penalty(1e-6), values)


def zipf(rng: np.random.Generator, *, rows: int, values: int, factors: int) -> Support:
    """Distinct combinations of values of which the k-th is drawn in proportion to 1/k."""
    chance = 1 / np.arange(1, values + 1)
    drawn = np.unique(rng.choice(values, size=(4 * rows, factors), p=chance / chance.sum()), axis=0)
    return support_of(drawn[rng.permutation(len(drawn))[:rows]], sizes=(values,) * factors)


@pytest.mark.parametrize("constant", [0.0, 0.5])
def test_skewed_tables_reach_their_tolerance(constant: float) -> None:
    """Zipf margins with next to nothing on the full set: plain conjugate gradients stall here at a residual of 1e-2."""
    rng = np.random.default_rng(1)
    support = zipf(rng, rows=20_000, values=120, factors=3)
    assert len(support) == 20_000
    weights = (constant, 0.271, 0.271, 0.056, 0.271, 0.056, 0.056, 1e-3)
    values = rng.normal(size=len(support))
    found = solver.solve(ConjunctionDesign.of(support, weights), Penalty(1e-3), values, tolerance=1e-8)
    assert found.residual <= 1e-8
    assert found.iterations < 400
    # the residual by another way than the solver's own: sums over groups, written out with NumPy alone
    image = 1e-3 * found.dual + constant * found.dual.sum()
    for mask in range(1, 7):
        chosen = [k for k in range(3) if mask >> k & 1]
        ids = np.ravel_multi_index(tuple(support.codes[:, chosen].T), (120,) * len(chosen))
        image += weights[mask] * np.bincount(ids, weights=found.dual)[ids]
    assert np.linalg.norm(image - values) <= 2e-8 * np.linalg.norm(values)


@examples(60)
@given(problems(constants=(0.0, 0.7)))
def test_it_is_kernel_ridge_regression(problem: Problem) -> None:
    """scikit-learn's, with the same kernel; a combination's examples are its sample weight."""
    ridge = problem.ridge or 1e-12
    train = brute_kernel(problem.support.codes, problem.support.codes, problem.weights)
    peer = KernelRidge(alpha=ridge, kernel="precomputed")
    peer.fit(train, problem.values, sample_weight=problem.support.counts)
    expected = peer.predict(brute_kernel(problem.cells, problem.support.codes, problem.weights))
    found = problem.scores(squared(problem.support, problem.weights, problem.penalty, problem.values))
    agree(found, expected.reshape(found.shape), to=1e-7)


# The hard margin


@st.composite
def classifications(draw, *, constants=(0.0, 0.5)) -> Problem:
    problem = draw(problems(factors=4, constants=constants, fulls=(0.05, 0.5), questions=1))
    signs = np.where(problem.values > 0, 1.0, -1.0)
    return Problem(problem.support, problem.weights, 0.0, signs)


@examples(60)
@given(classifications())
def test_the_hard_margin_is_that_of_non_negative_least_squares(problem: Problem) -> None:
    """No intercept: min a'Qa/2 - sum a over a >= 0, with Q = L L' that is |L'a - L^-1 1|^2 / 2."""
    sign = problem.values[:, 0]
    train = brute_kernel(problem.support.codes, problem.support.codes, problem.weights)
    root = np.linalg.cholesky(train * np.outer(sign, sign))
    weight = nnls(root.T, np.linalg.solve(root, np.ones(len(sign))), maxiter=10_000)[0]
    expected = brute_kernel(problem.cells, problem.support.codes, problem.weights) @ (weight * sign)
    found = problem.scores(margin(problem.support, problem.weights, problem.penalty, problem.values))
    agree(found[:, 0], expected, to=1e-6)


@examples(60)
@given(classifications(constants=(math.inf,)))
def test_the_hard_margin_with_a_free_intercept_is_a_support_vector_machine(problem: Problem) -> None:
    sign = problem.values[:, 0]
    assume(len(set(sign)) == 2)
    bounded = (0.0, *problem.weights[1:])
    peer = SVC(C=1e10, kernel="precomputed", tol=1e-9)
    peer.fit(brute_kernel(problem.support.codes, problem.support.codes, bounded), sign)
    expected = peer.decision_function(brute_kernel(problem.cells, problem.support.codes, bounded))
    found = problem.scores(margin(problem.support, problem.weights, problem.penalty, problem.values))
    agree(found[:, 0], expected, to=1e-4)


@examples(50)
@given(classifications())
def test_every_seen_combination_keeps_its_margin(problem: Problem) -> None:
    duals = margin(problem.support, problem.weights, problem.penalty, problem.values)
    kept = ConjunctionFit.of(problem.support, problem.weights, duals).scores(problem.support.codes) * problem.values
    pushing = duals.weights * problem.values
    assert kept.min() >= 1 - 1e-7
    assert pushing.min() >= -1e-7
    assert np.abs(pushing * (kept - 1)).max() <= 1e-6  # who is pushed sits on the margin


def test_a_ridge_softens_the_margin_as_a_larger_full_weight_would() -> None:
    """The squared-hinge machine: its ridge stands on the diagonal, where the full set's weight stands too."""
    rng = np.random.default_rng(5)
    cells = every((4, 4, 2))
    seen = np.sort(rng.permutation(32)[:20])
    support = labels(cells[seen], rng.integers(0, 2, 20), sizes=(4, 4, 2))
    soft = learn(support, answers(support), Salience.by_order([0, 0.2, 0.1, 0.1]), loss="margin", ridge=0.3)
    hard = learn(support, answers(support), Salience.by_order([0, 0.2, 0.1, 0.4]), loss="margin", ridge=0.0)
    fresh = np.asfortranarray(np.delete(cells, seen, axis=0))
    agree(soft.fitted.scores(fresh), hard.fitted.scores(fresh))


# Conjunction-wise additivity


LOSSES = ("squared", "margin")


def learnt(problem: Problem, loss: str):
    """A learner over the problem's first answers: their signs, so that either loss can take them."""
    places = (problem.values[:, 0] > 0).astype(int)
    places[:2] = (0, 1)
    own = labels(problem.support.codes, places, sizes=problem.support.space.sizes)
    return learn(own, answers(own), Salience(len(own.space.sizes), problem.weights), loss=loss, ridge=problem.ridge)


@examples(60)
@given(problems(), st.sampled_from(LOSSES))
def test_an_answer_is_a_sum_over_seen_conjunctions(problem: Problem, loss: str) -> None:
    """f(z) = sum over U of w_U A_U(z_U), A_U(u) the sum of the dual weights of the seen combinations with z_U = u.

    So (1) the constant and the contributions add up to the answer, and (2) a conjunction that was never seen
    contributes an empty sum: it is told as NaN, whatever it weighs. What an unseen conjunction's SET weighs does matter
    in general: it makes seen combinations that agree on it more alike, and so changes their dual weights.
    """
    assume(len(problem.support) >= 2)
    fitted = learnt(problem, loss).fitted
    cells = problem.cells
    total = np.tile(fitted.constant, (len(cells), 1))
    for mask in range(1, len(problem.weights)):
        chosen = [k for k in range(cells.shape[1]) if mask >> k & 1]
        seen = (cells[:, None, chosen] == problem.support.codes[None][:, :, chosen]).all(axis=2).any(axis=1)
        part = fitted.contribution(mask, cells)
        assert np.isnan(part[:, 0]).tolist() == (~seen).tolist()
        total += np.nan_to_num(part)
    agree(total, fitted.scores(cells), to=1e-10)


@examples(60)
@given(problems(fulls=(0.5,), factors=4), st.sampled_from(LOSSES), st.floats(0.05, 0.95), st.data())
def test_a_set_on_which_no_two_agree_is_memory(problem: Problem, loss: str, share: float, data: st.DataObject) -> None:
    """If no two seen combinations agree on U, then [agree on U] is the identity among them, as for the full set.

    So weight can go from the full set to U without any change to the dual weights, and a combination z whose
    conjunction of U was not seen has k(z, seen) unchanged as well: its answer stays. (One whose conjunction of U was
    seen gets w_U times a dual weight more: that is what the second half checks.)
    """
    assume(len(problem.support) >= 2)
    width = len(problem.support.space.sizes)
    single = [
        mask
        for mask in range(1, 2**width - 1)
        if problem.support.groups([k for k in range(width) if mask >> k & 1]).size == len(problem.support)
    ]
    assume(single)
    mask = data.draw(st.sampled_from(single))
    weights = list(problem.weights)
    weights[mask] += share * weights[-1]
    weights[-1] *= 1 - share
    moved = Problem(problem.support, tuple(weights), problem.ridge, problem.values)
    before, after = learnt(problem, loss), learnt(moved, loss)
    cells = problem.cells
    place = before.fitted.place(mask, cells)
    fresh = (place < 0) & (before.seen(cells) < 0)
    agree(after.fitted.scores(cells[fresh]), before.fitted.scores(cells[fresh]), to=1e-7)
    touched = (place >= 0) & (before.seen(cells) < 0)
    groups = problem.support.groups([k for k in range(width) if mask >> k & 1])
    gained = share * problem.weights[-1] * before._duals.weights[groups.representatives[place[touched]]]
    agree(after.fitted.scores(cells[touched]) - before.fitted.scores(cells[touched]), gained, to=1e-7)


@examples(60)
@given(problems(factors=2), st.sampled_from(LOSSES))
def test_unseen_rectangles_are_additive(problem: Problem, loss: str) -> None:
    """Two factors: f(a,c) + f(b,d) = f(a,d) + f(b,c) wherever all four are unseen; why equivalence is out of reach."""
    assume(len(problem.support) >= 2)
    learner = learnt(problem, loss)
    scores = learner.fitted.scores(problem.cells)[:, 0].reshape(problem.support.space.sizes)
    fresh = (learner.seen(problem.cells) < 0).reshape(scores.shape)
    gap = scores[:, None, :, None] + scores[None, :, None, :] - scores[:, None, None, :] - scores[None, :, :, None]
    whole = fresh[:, None, :, None] & fresh[None, :, None, :] & fresh[:, None, None, :] & fresh[None, :, :, None]
    assert np.abs(gap[whole]).max(initial=0) <= 1e-9 * max(1, np.abs(scores).max())


# What must not matter


@examples(40)
@given(problems(factors=3, constants=(0.0, 0.7)), st.integers(0, 999))
def test_the_order_of_the_rows_does_not_matter_to_the_iteration(problem: Problem, seed: int) -> None:
    """Groups that stand together are summed in another way than those that do not."""
    order = np.random.default_rng(seed).permutation(len(problem.support))
    values = problem.values[:, 0]
    found = []
    for rows in (np.arange(len(order)), order):
        design = ConjunctionDesign.of(problem.support.subset(rows), problem.weights)
        found.append(solver.solve(design, Penalty(0.5), values[rows]).dual)
    agree(found[1], found[0][order], to=1e-7)


@examples(40)
@given(problems(), st.sampled_from(LOSSES), st.integers(0, 999))
def test_names_of_values_and_the_order_of_factors_do_not_matter(problem: Problem, loss: str, seed: int) -> None:
    """Values renamed within each factor, and the factors in another order, with their weights."""
    assume(len(problem.support) >= 2)
    rng = np.random.default_rng(seed)
    sizes = problem.support.space.sizes
    width = len(sizes)
    renamed = [rng.permutation(size) for size in sizes]
    factors = rng.permutation(width)

    def changed(codes: np.ndarray) -> np.ndarray:
        return np.stack([renamed[k][codes[:, k]] for k in factors], axis=1).astype(np.int32)

    weights = [0.0] * 2**width
    for mask in range(2**width):
        weights[sum(1 << place for place, k in enumerate(factors) if mask >> k & 1)] = problem.weights[mask]
    there = Problem(
        support_of(changed(problem.support.codes), sizes=[sizes[k] for k in factors]),
        tuple(weights),
        problem.ridge,
        problem.values,
    )
    places = (problem.values[:, 0] > 0).astype(int)
    places[:2] = (0, 1)
    found = []
    for codes, over, cells in (
        (problem.support.codes, problem, problem.cells),
        (changed(problem.support.codes), there, changed(problem.cells)),
    ):
        own = labels(codes, places, sizes=over.support.space.sizes)
        learner = learn(own, answers(own), Salience(width, over.weights), loss=loss, ridge=0.1)
        found.append(learner.fitted.scores(np.asfortranarray(cells)))
    agree(found[1], found[0], to=1e-7)


def test_rows_of_a_table_in_any_order_give_the_same_prediction() -> None:
    rows = [
        ("wool", "coat", 5.0),
        ("wool", "hat", 3.0),
        ("silk", "hat", 1.5),
        ("silk", "scarf", 1.0),
        ("wool", "hat", 4.0),
    ]
    tables = []
    for order in (rows, rows[::-1], [rows[k] for k in (2, 0, 4, 1, 3)]):
        columns = dict(zip(("material", "garment", "price"), map(list, zip(*order, strict=True)), strict=True))
        support = recombine.read(columns, factors=["material", "garment"], target="price")
        tables.append(recombine.predict(support, fit=recombine.FitSettings(ridge=0.1)).table)
    assert tables[0].equals(tables[1])
    assert tables[0].equals(tables[2])


def chained(length: int) -> tuple[Support, np.ndarray]:
    """One long chain of values, and the effects that its answers are sums of."""
    codes = np.array([(i, i) for i in range(length)] + [(i, i + 1) for i in range(length - 1)])
    effects = np.cumsum(np.random.default_rng(0).normal(size=(2, length)), axis=1)
    return numbers(codes, effects[0, codes[:, 0]] + effects[1, codes[:, 1]]), effects


@pytest.mark.slow
def test_the_limit_along_a_chain() -> None:
    support, effects = chained(400)
    asked = np.array([(0, 399), (399, 0), (5, 200)], dtype=np.int32)
    weights = (0.0, 1.0, 1.0, 0.0)
    duals = squared(support, weights, Penalty(0.0), support.target.mean[:, None])
    scores = ConjunctionFit.of(support, weights, duals).scores(asked)[:, 0]
    np.testing.assert_allclose(scores, effects[0, asked[:, 0]] + effects[1, asked[:, 1]], rtol=1e-4)


@pytest.mark.slow
def test_a_limit_that_is_not_reached_is_no_answer() -> None:
    """It was fitted 15 away from the answers that it was fitted to, silently."""
    support, _ = chained(2_000)
    with pytest.raises(TableError, match="the prediction was not solved"):
        squared(support, (0.0, 1.0, 1.0, 0.0), Penalty(0.0), support.target.mean[:, None])
