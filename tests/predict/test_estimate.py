"""Estimated weights: the textbook's likelihood, the top where SciPy finds it, and known weights found again."""

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.optimize import minimize

import recombine
from recombine.base.errors import SettingError, TableError
from recombine.data.space import Factor, Space
from recombine.data.support import NumberTarget, Support
from recombine.verbs.predict.kernel.likelihood import Climb, Dual, LikelihoodData, Primal, _log, fit, inverse
from recombine.verbs.predict.kernel.salience_fit import (
    WeightComponent,
    by_set,
    components_of,
    estimate,
    groups_of,
    masks_of,
    pieces_of,
)
from tests.properties import examples
from tests.twins import every, supports

TWO = (0.0, 1.0, 0.5, 0.3)
THREE = (0.0, 0.6, 0.4, 0.2, 0.4, 0.15, 0.15, 0.3)


def support_with(
    codes: np.ndarray, means: np.ndarray, *, counts: np.ndarray | None = None, scatter: float = 0.0
) -> Support:
    """A table of numbers: each combination's mean, its examples, and the sum of squares within all of them."""
    counts = np.ones(len(codes)) if counts is None else counts.astype(float)
    within = scatter * np.maximum(counts - 1, 0) / max(float(np.maximum(counts - 1, 0).sum()), 1.0)
    target = NumberTarget("y", counts, means * counts, means**2 * counts + within)
    sizes = codes.max(axis=0) + 1
    space = Space(tuple(Factor(f"f{k}", tuple(range(size)), declared=True) for k, size in enumerate(sizes)))
    return Support(space, np.asfortranarray(codes.astype(np.int32)), counts, target, rows=int(counts.sum()))


def agree_on(one: np.ndarray, other: np.ndarray, mask: int) -> np.ndarray:
    """The kernel of one set of factors, written out."""
    chosen = [k for k in range(one.shape[1]) if mask >> k & 1]
    return (one[:, None, chosen] == other[None][:, :, chosen]).all(axis=2).astype(float)


def kernel(one: np.ndarray, other: np.ndarray, weights: Sequence[float]) -> np.ndarray:
    return sum(weights[mask] * agree_on(one, other, mask) for mask in range(1, len(weights)))


def simulated(
    sizes: Sequence[int], seen: int, weights: Sequence[float], seed: int, *, noise: float = 0.0, most: int = 1
):
    """A table drawn from the model; the whole grid, its truth, and which of it was seen."""
    rng = np.random.default_rng(seed)
    cells = every(sizes)
    truth = np.full(len(cells), 5.0)
    for mask in range(1, len(weights)):
        chosen = [k for k in range(len(sizes)) if mask >> k & 1]
        ids = np.unique(cells[:, chosen], axis=0, return_inverse=True)[1].ravel()
        truth += rng.normal(size=ids.max() + 1)[ids] * math.sqrt(weights[mask])
    rows = np.sort(rng.permutation(len(cells))[:seen])
    counts = rng.integers(1, most + 1, seen)
    means = truth[rows] + rng.normal(size=seen) * np.sqrt(noise / counts)
    freedom = int((counts - 1).sum())
    scatter = noise * rng.chisquare(freedom) if freedom else 0.0
    return support_with(cells[rows], means, counts=counts, scatter=scatter), cells, truth, rows


def textbook(codes, values, spread, kernels, weights, noise) -> float:
    """The likelihood of the answers' contrasts: of what is left of them when their mean is taken away."""
    n = len(codes)
    contrasts = np.linalg.svd(np.eye(n) - 1 / n)[0][:, : n - 1]
    covariance = sum(w * k for w, k in zip(weights, kernels, strict=True)) + noise * np.diag(spread)
    small = contrasts.T @ covariance @ contrasts
    left = contrasts.T @ values
    logarithm = np.linalg.slogdet(small)[1] + math.log(n)
    return -(values.shape[1] * logarithm + float((left * np.linalg.solve(small, left)).sum())) / 2


@st.composite
def problems(draw):
    """Random small tables with random answers, counts, components and weights."""
    width = draw(st.integers(1, 3))
    sizes = draw(st.tuples(*[st.integers(2, 4)] * width))
    cells = every(sizes)
    keep = (
        draw(st.lists(st.sampled_from(range(len(cells))), min_size=3, max_size=20, unique=True))
        if len(cells) > 3
        else [0, 1]
    )
    codes = cells[np.sort(keep)]
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    assume(len(codes) >= 3)
    data = LikelihoodData(
        codes, sizes, rng.normal(size=(len(codes), draw(st.integers(1, 3)))), 1 / rng.integers(1, 4, len(codes))
    )
    masks = range(1, 2**width - 1)
    shared = draw(st.booleans())
    components = [WeightComponent((mask,)) for mask in masks]
    if shared and width > 2:
        components = [WeightComponent((1, 2, 4)), WeightComponent((3, 5, 6))]
    weights = rng.uniform(0.05, 2, len(components) + 1)
    if draw(st.booleans()) and components:
        weights[0] = 0.0
    return data, tuple(components), weights, draw(st.sampled_from([0.0, 0.7]))


def both(data, components) -> list:
    groups = by_set(data.codes, data.sizes, masks_of(components))
    return [kind(data, components, groups) for kind in (Dual, Primal)]


def kernels_of(data, components) -> list[np.ndarray]:
    sums = [sum(agree_on(data.codes, data.codes, mask) for mask in one.masks) for one in components]
    return [*sums, np.eye(len(data.codes))]


@examples(80)
@given(problems())
def test_the_likelihood_is_the_textbook_s_and_its_slope_the_finite_difference(problem) -> None:
    data, components, weights, noise = problem
    kernels = kernels_of(data, components)

    def at(w: np.ndarray) -> float:
        return textbook(data.codes, data.values, data.spread, kernels, w, noise)

    steps = 1e-5 * np.eye(len(weights))
    slope = [(at(weights + step) - at(weights - step)) / 2e-5 for step in steps]
    for piece in both(data, components):
        found = piece.likelihood(weights, noise)
        assert found.value == pytest.approx(at(weights), rel=1e-9, abs=1e-9)
        np.testing.assert_allclose(found.slope, slope, rtol=1e-4, atol=1e-4)


@examples(50)
@given(problems())
def test_information_overlaps_and_moments_are_what_they_are_called(problem) -> None:
    data, components, weights, noise = problem
    kernels = kernels_of(data, components)
    n = len(data.codes)
    centre = np.eye(n) - 1 / n
    covariance = sum(w * k for w, k in zip(weights, kernels, strict=True)) + noise * np.diag(data.spread)
    solved = np.linalg.inv(covariance)
    projector = solved - np.outer(solved.sum(0), solved.sum(0)) / solved.sum()
    projected = projector @ data.values
    information = [[(projected * (a @ projector @ b @ projected)).sum() / 2 for b in kernels] for a in kernels]
    overlap = [[np.trace(centre @ a @ centre @ b) for b in kernels] for a in kernels]
    moments = [
        np.mean(np.einsum("nm,nk,km->m", centre @ data.values, a, centre @ data.values))
        - noise * np.trace(centre @ a @ centre @ np.diag(data.spread))
        for a in kernels
    ]
    for piece in both(data, components):
        np.testing.assert_allclose(piece.likelihood(weights, noise).information, information, rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(piece.overlap, overlap, rtol=1e-9, atol=1e-8)
        np.testing.assert_allclose(piece.moments(noise), moments, rtol=1e-9, atol=1e-8)


def test_the_inverse_by_halves() -> None:
    rng = np.random.default_rng(0)
    factor = rng.normal(size=(500, 600))
    matrix = factor @ factor.T / 600 + 0.01 * np.eye(500)
    found, logarithm = inverse(matrix)
    np.testing.assert_allclose(found, np.linalg.inv(matrix), rtol=1e-8, atol=1e-8)
    assert logarithm == pytest.approx(np.linalg.slogdet(matrix)[1])


@examples(25)
@given(st.integers(0, 10**6), st.sampled_from([((6, 5), TWO, 20), ((4, 3, 4), THREE, 34)]), st.sampled_from([0.0, 0.4]))
def test_the_top_is_where_scipy_finds_it(seed: int, model, noise: float) -> None:
    sizes, weights, seen = model
    support, *_ = simulated(sizes, seen, weights, seed, noise=noise, most=3)
    target = support.target
    means = (target.total / target.count)[:, None]
    found = estimate(support)
    masks = range(1, len(weights))
    kernels = [agree_on(support.codes, support.codes, mask) for mask in masks]
    floor = 1e-5 * means.var(ddof=1)

    def minus(w: np.ndarray) -> float:
        return -textbook(support.codes, means, 1 / target.count, kernels, w, found.noise)

    bounds = [(0, None)] * (len(kernels) - 1) + [(floor, None)]
    starts = [np.full(len(kernels), means.var() / 3), np.maximum(found.weights[1:], 0.01)]
    best = min(minimize(minus, start, bounds=bounds, method="L-BFGS-B").fun for start in starts)
    here = np.array(found.weights[1:])
    assert -minus(here) >= -best - 1e-5
    # nothing is to be had by moving along any axis: the slope is 0, or leads below zero
    step = 1e-5 * means.var()
    for place, weight in enumerate(here):
        ahead, behind = here.copy(), here.copy()
        ahead[place] += step
        behind[place] = max(weight - step, 0.0)
        slope = (minus(behind) - minus(ahead)) / (ahead[place] - behind[place]) * means.var()
        assert slope < 0.01 if weight <= 2 * floor else abs(slope) < 0.01


def coverage(cells: np.ndarray, truth: np.ndarray, rows: np.ndarray, support: Support, fitted) -> float:
    """How many unseen combinations lie in their 95 % interval, by the dense formulas of universal kriging."""
    target = support.target
    unseen = np.setdiff1d(np.arange(len(cells)), rows)
    covariance = kernel(cells[rows], cells[rows], fitted.weights) + np.diag(fitted.noise / target.count)
    across = kernel(cells[unseen], cells[rows], fitted.weights)
    inverse = np.linalg.inv(covariance)
    ones = inverse.sum(axis=1)
    answers = target.total / target.count
    constant = ones @ answers / ones.sum()
    mean = constant + across @ inverse @ (answers - constant)
    spread = sum(fitted.weights[1:]) - np.einsum("un,nk,uk->u", across, inverse, across, optimize=True)
    spread += (1 - across @ ones) ** 2 / ones.sum()
    return float((np.abs(truth[unseen] - mean) <= 1.96 * np.sqrt(spread)).mean())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sizes", "seen", "weights", "noise"), [((30, 30), 360, TWO, 0.5), ((12, 12, 12), 518, THREE, 0.0)]
)
def test_known_weights_are_found_again(sizes, seen, weights, noise) -> None:
    found, covered = [], []
    for seed in range(20):
        support, cells, truth, rows = simulated(sizes, seen, weights, seed, noise=noise, most=3 if noise else 1)
        fitted = estimate(support)
        found.append(fitted.weights[1:])
        covered.append(coverage(cells, truth, rows, support, fitted))
    estimates = np.array(found)
    error = estimates.std(axis=0, ddof=1) / math.sqrt(len(found))
    assert (np.abs(estimates.mean(axis=0) - weights[1:]) < 3 * error).all()
    assert 0.90 <= np.mean(covered) <= 0.97


def test_a_change_of_units_changes_the_weights_by_its_square() -> None:
    support, *_ = simulated((8, 7), 40, TWO, 3, noise=0.2, most=3)
    codes, target = support.codes, support.target
    larger = NumberTarget(
        "y", target.count, 10 * target.total + 7 * target.count,
        100 * target.squares + 140 * target.total + 49 * target.count,
    )  # fmt: skip
    one, other = estimate(support), estimate(Support(support.space, codes, support.counts, larger))
    np.testing.assert_allclose(other.weights[1:], 100 * np.array(one.weights[1:]), rtol=1e-4, atol=1e-6)
    assert other.noise == pytest.approx(100 * one.noise)


def test_noise_is_what_varies_within_combinations() -> None:
    support, *_ = simulated((20, 20), 300, TWO, 5, noise=2.0, most=4)
    fitted = estimate(support)
    assert fitted.noise == pytest.approx(2.0, rel=0.2)
    assert fitted.full == pytest.approx(0.3, abs=0.4)
    assert "noise" not in fitted.note


def test_without_repeats_the_whole_combination_holds_the_noise() -> None:
    support, *_ = simulated((25, 25), 400, (0.0, 1.0, 0.5, 2.3), 5)
    fitted = estimate(support)
    assert fitted.noise == 0
    assert fitted.full == pytest.approx(2.3, rel=0.3)
    assert "no combination has two examples" in fitted.note


def test_counts_are_weights() -> None:
    """Noisy answers of one example count for less than those of many: the fit knows which are which."""
    rng = np.random.default_rng(0)
    cells = every((15, 15))
    truth = rng.normal(size=15)[cells[:, 0]]
    counts = np.where(np.arange(len(cells)) % 2, 1, 400)
    means = truth + rng.normal(size=len(cells)) * np.sqrt(4.0 / counts)
    support = support_with(cells, means, counts=counts, scatter=4.0 * float((counts - 1).sum()))
    fitted = estimate(support)
    assert fitted.noise == pytest.approx(4.0)
    assert fitted.full < 0.05
    assert fitted.weights[1] == pytest.approx(truth[::15].var(ddof=1), rel=0.1)


def test_answers_that_add_up_leave_nothing_for_memory() -> None:
    cells = every((5, 6))
    support = support_with(cells, 2.0 * cells[:, 0] - cells[:, 1])
    fitted = estimate(support)
    variance = (2.0 * cells[:, 0] - cells[:, 1]).var(ddof=1)
    assert fitted.full == pytest.approx(1e-5 * variance)
    assert fitted.weights[1] == pytest.approx(4 * 2.5, rel=1e-3)
    assert fitted.weights[2] == pytest.approx(3.5, rel=1e-3)
    assert "nothing is left for the whole combination" in fitted.note


def test_means_that_differ_less_than_their_noise_still_give_a_salience() -> None:
    cells = every((4, 4))
    means = np.where(np.arange(16) % 3, 0.1, -0.1)
    support = support_with(cells, means, counts=np.full(16, 2), scatter=1000.0)
    fitted = estimate(support)
    assert max(fitted.weights[1:]) > 0
    assert fitted.full + fitted.noise > 0


def test_two_classes_and_more() -> None:
    rng = np.random.default_rng(0)
    cells = every((12, 9))
    score = rng.normal(size=12)[cells[:, 0]]
    table = {"a": cells[:, 0].tolist(), "b": cells[:, 1].tolist()}
    two = np.where(score > 0, "high", "low").tolist()
    three = np.digitize(score, [-0.5, 0.5]).astype(str).tolist()
    for labels in (two, three):
        fitted = estimate(recombine.read(table | {"kind": labels}, factors=["a", "b"], target="kind"))
        assert fitted.weights[1] > 0.3
        assert fitted.weights[2] < 1e-3
        assert fitted.name == "fit"
        assert fitted.weights[0] == math.inf


def test_several_questions_are_summed() -> None:
    """One answer asked twice is the same as once; a class that never varies does not count."""
    support, *_ = simulated((8, 7), 40, TWO, 3)
    codes = support.codes
    values = (support.target.total / support.target.count)[:, None]
    fits = []
    for answers in (values, np.tile(values, 3)):
        data = LikelihoodData(codes, support.space.sizes, answers, np.ones(len(codes)))
        groups, _ = groups_of(data.codes, data.sizes)
        components, _ = components_of(groups, support.space.names)
        pieces, _ = pieces_of(data, components, groups, seed=0, most=1000)
        fits.append(fit(pieces, 0.0).weights)
    np.testing.assert_allclose(fits[1], fits[0], rtol=1e-4, atol=1e-6)


def test_a_factor_that_names_each_combination_is_part_of_the_whole() -> None:
    support, *_ = simulated((8, 7), 40, TWO, 3)
    codes = np.column_stack([support.codes, np.arange(40)])
    means = support.target.total / support.target.count
    fitted = estimate(support_with(codes, means))
    alone = estimate(support)
    assert [fitted.weights[mask] for mask in (4, 5, 6)] == [0, 0, 0]
    np.testing.assert_allclose([fitted.weights[mask] for mask in (1, 2, 7)], alone.weights[1:], rtol=1e-3, atol=1e-5)
    assert "no two combinations agree on it" in fitted.note


def test_a_factor_with_one_value_has_no_weight() -> None:
    support, *_ = simulated((8, 7), 40, TWO, 3)
    codes = np.column_stack([support.codes, np.zeros(40, int)])
    fitted = estimate(support_with(codes, support.target.total / support.target.count))
    assert fitted.weights[4] == 0
    assert "f2: all combinations agree on it" in fitted.note
    assert "f0 × f2" in fitted.note  # the same groups as f0 alone


def test_of_two_factors_that_say_the_same_the_first_is_kept() -> None:
    support, *_ = simulated((8, 7), 40, TWO, 3)
    codes = np.column_stack([support.codes[:, 0], support.codes])
    fitted = estimate(support_with(codes, support.target.total / support.target.count))
    alone = estimate(support)
    assert fitted.weights[1] == pytest.approx(alone.weights[1], rel=1e-3)
    assert fitted.weights[2] == fitted.weights[3] == 0
    assert "cannot be told from the others" in fitted.note


def test_five_factors_share_a_weight_within_an_order() -> None:
    sizes = (4, 4, 4, 4, 4)
    weights = [[0, 0.5, 0.1, 0, 0, 0.2][mask.bit_count()] for mask in range(32)]
    support, *_ = simulated(sizes, 700, weights, 0)
    fitted = estimate(support)
    assert fitted.exchangeable
    assert "share one weight" in fitted.note
    np.testing.assert_allclose(fitted.order_weights[1:], [0.5, 0.1, 0, 0, 0.2], atol=0.12)


def test_many_factors_stop_at_an_order_with_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    codes = np.unique(rng.integers(0, 2, (300, 12)), axis=0)
    means = codes[:, 0] + codes[:, 1] + 0.3 * rng.normal(size=len(codes))
    assert "more than" not in estimate(support_with(codes, means)).note
    monkeypatch.setattr("recombine.verbs.predict.kernel.salience_fit._MOST_CELLS", 100 * len(codes))
    fitted = estimate(support_with(codes, means))
    assert "conjunctions of more than 2 factors are part of the whole combination's weight" in fitted.note
    assert fitted.order_weights[1] > 0
    assert fitted.order_weights[3] == 0


def test_a_large_table_is_read_in_parts_and_the_note_says_so() -> None:
    support, *_ = simulated((16, 16, 16), 1_500, THREE, 0)
    whole, parts = estimate(support), estimate(support, most=400)
    assert "estimated from" not in whole.note
    assert "of 1,500 combinations" in parts.note
    assert parts == estimate(support, most=400)
    assert parts.weights != estimate(support, most=400, seed=1).weights
    np.testing.assert_allclose(parts.weights[1:], whole.weights[1:], atol=0.35)


def test_few_values_of_a_large_table_need_no_parts() -> None:
    support, *_ = simulated((60, 60), 3_000, TWO, 0)
    fitted = estimate(support)
    assert "estimated from" not in fitted.note
    np.testing.assert_allclose(fitted.weights[1:], TWO[1:], rtol=0.5)


def test_the_first_step_may_be_the_slow_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without Newton's steps, expectation-maximisation climbs to the same top."""
    support, *_ = simulated((10, 10), 70, TWO, 3)
    fast = estimate(support)
    monkeypatch.setattr("recombine.verbs.predict.kernel.likelihood._HALVINGS", 0)
    monkeypatch.setattr("recombine.verbs.predict.kernel.likelihood._ROUNDS", 3_000)
    slow = estimate(support)
    np.testing.assert_allclose(slow.weights[1:], fast.weights[1:], rtol=1e-2)


def test_a_climb_that_is_cut_short_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    support, *_ = simulated((10, 10), 70, TWO, 3)
    assert "settled" not in estimate(support).note
    monkeypatch.setattr("recombine.verbs.predict.kernel.likelihood._ROUNDS", 1)
    assert "had not quite settled" in estimate(support).note


def test_weights_without_an_inverse_are_worse_than_any_other() -> None:
    support, *_ = simulated((5, 5), 20, TWO, 0)
    data = LikelihoodData(support.codes, support.space.sizes, support.target.total[:, None], np.ones(20))
    groups, _ = groups_of(data.codes, data.sizes)
    components, _ = components_of(groups, support.space.names)
    for piece in both(data, tuple(components)):
        climb = Climb([piece], 0.0)
        assert climb.at(np.array([1.0, 1.0, 1e-14])).value == -math.inf
        assert climb.at(np.array([1.0, 1.0, 0.1])).value > -math.inf
    with pytest.raises(np.linalg.LinAlgError):
        _log(-1.0)


def test_one_factor_alone_has_the_whole_weight() -> None:
    fitted = estimate(support_with(np.arange(6)[:, None], np.array([1.0, 2, 4, 4, 2, 5])))
    assert fitted.weights == (math.inf, pytest.approx(np.var([1, 2, 4, 4, 2, 5], ddof=1), rel=1e-4))


@pytest.mark.parametrize(
    ("means", "said"),
    [([1.0, 2.0], "2 combinations have a 'y'"), ([3.3, 3.3, 3.3, 3.3], "every combination has the same 'y'")],
)
def test_too_little_to_learn_from(means: list[float], said: str) -> None:
    with pytest.raises(TableError, match=said):
        estimate(support_with(every((2, 2))[: len(means)], np.array(means)))


@examples(150)
@given(supports(), st.integers(0, 10**6), st.sampled_from(["normal", "sign", "additive", "huge"]))
def test_any_table_gives_weights_that_can_be_worked_with(support: Support, seed: int, kind: str) -> None:
    rng = np.random.default_rng(seed)
    means = {
        "normal": rng.normal(size=len(support)),
        "sign": np.sign(rng.normal(size=len(support))),
        "additive": support.codes.sum(axis=1).astype(float),
        "huge": 1e9 * (1 + rng.normal(size=len(support))),
    }[kind]
    assume(len(support) >= 3)
    assume(np.ptp(means) > 0)
    scatter = rng.uniform(0, 2, len(support)) * (support.counts > 1)
    squares = means**2 * support.counts + scatter
    target = NumberTarget("y", support.counts, means * support.counts, squares)
    fitted = estimate(Support(support.space, support.codes, support.counts, target))
    assert fitted.weights[0] == math.inf
    assert min(fitted.weights) >= 0
    assert fitted.full > 0
    assert math.isfinite(sum(fitted.weights[1:]))
    assert sum(fitted.weights[1:]) < 100 * means.var(ddof=1)
    assert "not quite settled" not in fitted.note


def test_too_many_factors() -> None:
    codes = np.random.default_rng(0).integers(0, 2, (20, 13))
    with pytest.raises(SettingError, match="13 factors"):
        estimate(support_with(codes, np.arange(20.0)))


def test_a_bound_that_allows_nothing() -> None:
    support, *_ = simulated((5, 5), 20, TWO, 0)
    with pytest.raises(SettingError, match="at most 2 combinations"):
        estimate(support, most=2)
