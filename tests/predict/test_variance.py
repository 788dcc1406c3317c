"""How sure a learner can be: three ways, each held against the dense formula."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import recombine
from recombine import Salience
from recombine.data.support import Support
from recombine.verbs.predict.kernel import variance as module
from recombine.verbs.predict.kernel.solver import Penalty
from recombine.verbs.predict.kernel.variance import Uncertainty, _ByDraws, _ByInverse, _ByKernel
from tests.properties import examples
from tests.twins import brute_kernel, every, numbers, support_of, supports

WAYS = {"inverse": (10**9, 10**9), "kernel": (-1, 10**9), "draws": (-1, -1)}
KINDS = {"inverse": _ByInverse, "kernel": _ByKernel, "draws": _ByDraws}


def brute_variance(seen: np.ndarray, asked: np.ndarray, weights: Any, noise: np.ndarray) -> np.ndarray:
    """k(z, z) - k(z, seen) (k(seen, seen) + noise)^-1 k(seen, z); a free intercept adds (1 - 1'C^-1 k)^2 / 1'C^-1 1."""
    bounded = (0.0, *weights[1:]) if math.isinf(weights[0]) else weights
    matrix = brute_kernel(seen, seen, bounded) + np.diag(noise)
    between = brute_kernel(asked, seen, bounded)
    solved = np.linalg.solve(matrix, between.T)
    found = sum(bounded) - (between.T * solved).sum(axis=0)
    if math.isinf(weights[0]):
        found = found + (1 - solved.sum(axis=0)) ** 2 / np.linalg.solve(matrix, np.ones(len(seen))).sum()
    return found


def uncertainty(support: Support, weights: Any, ridge: float, **more: Any) -> Uncertainty:
    penalty = Penalty.of(weights[-1], ridge, support.counts)
    return Uncertainty(support, tuple(weights), penalty, ridge / support.counts, **more)


def by(way: str, asked: Uncertainty, codes: np.ndarray, *, draws: int = 64) -> tuple[np.ndarray, np.ndarray]:
    """The variances by one of the three ways, whatever would be the cheapest."""
    inverse, kernel = WAYS[way]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_LARGEST_INVERSE", inverse)
        patch.setattr(module, "_LARGEST_KERNEL", kernel)
        patch.setattr(module, "_DRAW_TOLERANCE", 1e-9)
        patch.setattr(module, "_DRAWS", ((math.inf, draws),))
        assert isinstance(asked._way, KINDS[way])
        return asked.of(np.asfortranarray(codes))


@st.composite
def cases(draw: Any, *, factors: int = 3) -> tuple[Support, tuple[float, ...], float]:
    support = draw(supports(most_factors=factors, most_values=4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    weights = rng.uniform(0.1, 1.5, 2 ** len(support.space.sizes))
    if draw(st.booleans()):
        weights[rng.random(len(weights)) < 0.3] = 0
    weights[0] = draw(st.sampled_from([0.0, 0.7, math.inf]))
    weights[-1] = draw(st.sampled_from([0.05, 0.6]))
    return support, tuple(weights.tolist()), draw(st.sampled_from([0.0, 0.4]))


@examples(60)
@given(cases(), st.sampled_from(["inverse", "kernel"]))
def test_the_exact_ways_are_the_dense_formula(case: Any, way: str) -> None:
    """Seen and unseen, counts and ridge, sets without weight, values never seen, and a free intercept."""
    support, weights, ridge = case
    cells = every(support.space.sizes)
    found, error = by(way, uncertainty(support, weights, ridge), cells)
    expected = brute_variance(support.codes, cells, weights, ridge / support.counts)
    np.testing.assert_allclose(found, expected, atol=1e-8, rtol=1e-8)
    assert not error.any()


@examples(10)
@given(cases())
def test_draws_lie_within_their_error_bars(case: Any) -> None:
    """Four of them, for 95 % of the combinations: sd sqrt(2 / draws) is that of a mean of squares."""
    support, weights, ridge = case
    cells = every(support.space.sizes)
    found, error = by("draws", uncertainty(support, weights, ridge), cells)
    expected = brute_variance(support.codes, cells, weights, ridge / support.counts)
    off = np.abs(found - expected) > 4 * error + 1e-8
    assert off.mean() <= 0.05


@pytest.mark.parametrize("constant", [0.0, 0.5, math.inf])
@pytest.mark.parametrize("ridge", [0.0, 0.3])
def test_many_draws_come_close(constant: float, ridge: float) -> None:
    """With sixteen times the draws the error bars are a quarter, and the mean error over all cells smaller still."""
    rng = np.random.default_rng(2)
    support = support_of(rng.integers(0, 4, (50, 3)), sizes=(5, 4, 4))  # one value never seen
    weights = (constant, 0.5, 0.4, 0.2, 0.3, 0.2, 0.1, 0.15)
    cells = every((5, 4, 4))
    expected = brute_variance(support.codes, cells, weights, ridge / support.counts)
    found, error = by("draws", uncertainty(support, weights, ridge), cells, draws=1024)
    assert (np.abs(found - expected) > 4 * error + 1e-8).mean() <= 0.05
    assert abs((found - expected).mean()) <= 0.03 * expected.mean()
    assert (error[expected > 1e-8] < 0.05 * expected[expected > 1e-8]).all()


def test_draws_are_the_same_for_the_same_seed() -> None:
    support = support_of(every((4, 4, 3))[::3], sizes=(4, 4, 3))
    weights = (0.1, 0.5, 0.4, 0.2, 0.3, 0.2, 0.1, 0.15)
    cells = every((4, 4, 3))
    first, again, other = (by("draws", uncertainty(support, weights, 0.0, seed=seed), cells)[0] for seed in (1, 1, 2))
    assert (first == again).all()
    assert (first != other).any()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("constant", [0.0, 0.5, math.inf])
def test_what_was_seen_without_noise_is_certain(way: str, constant: float) -> None:
    rng = np.random.default_rng(4)
    support = support_of(rng.integers(0, 4, (30, 3)), sizes=(4, 4, 4))
    weights = (constant, 0.5, 0.4, 0.2, 0.3, 0.2, 0.1, 0.15)
    found, error = by(way, uncertainty(support, weights, 0.0), support.codes)
    np.testing.assert_allclose(found, 0, atol=1e-9)
    np.testing.assert_allclose(error, 0, atol=1e-9)


def test_what_was_never_seen_at_all_keeps_the_whole_prior() -> None:
    """A combination of values all of which are new: everything but the constant is as open as before."""
    support = support_of([[0, 0], [0, 1], [1, 0]], sizes=(3, 3))
    weights = (0.0, 0.5, 0.3, 0.2)
    for way in ("inverse", "kernel"):
        assert by(way, uncertainty(support, weights, 0.0), np.array([[2, 2]]))[0] == pytest.approx([1.0])


def test_the_cheapest_way_is_chosen() -> None:
    few = support_of(every((20, 20)))
    assert isinstance(uncertainty(few, (0.1, 0.3, 0.3, 0.4), 0.0)._way, _ByInverse)
    rng = np.random.default_rng(0)
    wide = support_of(rng.integers(0, 60, (1500, 3)), sizes=(60, 60, 60))
    many = support_of(rng.integers(0, 60, (2500, 3)), sizes=(60, 60, 60))
    weights = (0.1, *[0.3] * 6, 0.4)
    assert isinstance(uncertainty(wide, weights, 0.0)._way, _ByKernel)
    assert isinstance(uncertainty(many, weights, 0.0)._way, _ByDraws)


def test_more_examples_make_surer() -> None:
    """With noise, a combination seen often is known better, and so are its neighbours."""
    codes = every((3, 3))[:8]
    seldom, often = (
        uncertainty(numbers(codes, np.arange(8.0), sizes=(3, 3), counts=np.full(8, count)), (0.1, 1, 1, 0.2), 0.5)
        for count in (1, 10)
    )
    cells = every((3, 3))
    assert (by("inverse", often, cells)[0] < by("inverse", seldom, cells)[0]).all()


@pytest.mark.slow
def test_without_memory_and_noise_variances_of_large_tables_are_numbers() -> None:
    rng = np.random.default_rng(0)
    cells = every((60, 60))
    seen = cells[rng.permutation(len(cells))[:2100]]
    support = numbers(seen, seen.sum(axis=1), sizes=(60, 60))
    with np.errstate(all="ignore"):
        found = recombine.predict(support, salience="order:0,1,0", combinations=cells[:20].tolist())
    assert np.isfinite(found.table["variance"].to_numpy()).all()


def test_intervals_of_a_prediction_are_in_the_targets_units() -> None:
    """Ten times the answers, ten times the intervals; the kernel's own variance stays."""
    cells = every((4, 4))[:12]
    values = np.sin(np.arange(12.0))
    once, tenfold = (
        recombine.predict(numbers(cells, factor * values, sizes=(4, 4)), salience="relu:1").table for factor in (1, 10)
    )
    width = [table["high"].to_numpy() - table["low"].to_numpy() for table in (once, tenfold)]
    np.testing.assert_allclose(width[1], 10 * width[0], atol=1e-6)
    assert once["variance"].equals(tenfold["variance"])


def test_the_scale_is_the_most_likely_one() -> None:
    """Of all multiples of the kernel, the one under which the answers are likeliest: y'K^-1 y / n."""
    rng = np.random.default_rng(0)
    cells = every((4, 4))[:12]
    values = rng.normal(size=12)
    salience = Salience.by_order([0.3, 0.5, 0.4])
    found = recombine.predict(numbers(cells, values, sizes=(4, 4)), salience=salience)
    matrix = brute_kernel(cells, cells, salience.weights)

    def likelihood(scale: float) -> float:
        return -12 * math.log(scale) - values @ np.linalg.solve(matrix, values) / scale

    assert likelihood(found.scale) > max(likelihood(0.99 * found.scale), likelihood(1.01 * found.scale))
