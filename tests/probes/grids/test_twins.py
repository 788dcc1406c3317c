"""Every formula beside the plain loop that it stands for."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from recombine.verbs.predict.kernel.salience import Salience
from recombine_lab.probes.geometry_probe.answers import partial_input, superposed
from recombine_lab.probes.geometry_probe.cells import Cells, complete_part, gram_of, thinned
from recombine_lab.probes.geometry_probe.controls import matched_memory
from recombine_lab.probes.geometry_probe.intervals import jackknife, left_out, predicted
from recombine_lab.probes.geometry_probe.kernel_measures import (
    centred_separability,
    log_volumes,
    orthogonality,
    probes,
    separability,
    steps,
)
from recombine_lab.probes.geometry_probe.stripes import stripe_shares
from recombine_lab.probes.geometry_probe.variance_shares import (
    additivity,
    effective_rank,
    order_shares,
    salience_of,
    variance_by_set,
)
from tests.probes.grids.worlds import cells_of, codes_of
from tests.properties import examples

grids = st.tuples(
    st.lists(st.integers(2, 5), min_size=2, max_size=3).map(tuple), st.integers(1, 7), st.integers(0, 10**6)
)


def drawn(case):
    sizes, width, seed = case
    rng = np.random.default_rng(seed)
    return sizes, rng.standard_normal((*sizes, width)) + rng.standard_normal(width)


@given(grids)
@example(case=((3, 3), 1, 748))  # a short step beside long ones: its area is the rounding of the long ones
@examples(40)
def test_metric_tensor_is_that_of_numpys_gradient(case):
    sizes, features = drawn(case)
    slopes = np.stack(np.gradient(features, axis=tuple(range(len(sizes)))))
    expected = np.einsum("a...d,b...d->...ab", slopes, slopes).reshape(-1, len(sizes), len(sizes))
    found = steps(cells_of(features, sizes)).metric
    assert np.allclose(found, expected)
    volumes = log_volumes(found)
    flat = np.isnan(volumes)
    expected_volumes = np.log10(np.sqrt(np.abs(np.linalg.det(expected))) + 1e-12)
    assert np.allclose(volumes[~flat], expected_volumes[~flat], atol=1e-6)
    if features.shape[-1] < len(sizes):
        assert flat.all(), "fewer directions than factors span no area"


@given(grids)
@examples(40)
def test_rescaled_orthogonality_by_loops(case):
    sizes, features = drawn(case)
    found = steps(cells_of(features, sizes)).metric
    count = len(sizes)
    mixed = sum(np.mean([abs(one[a, b]) for one in found]) for a in range(count) for b in range(a + 1, count))
    own = sum(np.mean([one[a, a] for one in found]) for a in range(count))
    assert orthogonality(found) == pytest.approx(1 - 2 * mixed / ((count - 1) * own))
    assert -1e-12 <= orthogonality(found) <= 1 + 1e-12


@given(grids)
@examples(40)
def test_variance_by_order_is_that_of_averaged_effects(case):
    sizes, features = drawn(case)
    count = len(sizes)
    effects, parts = {}, np.zeros(2**count)
    for mask in sorted(range(2**count), key=int.bit_count):
        outside = tuple(k for k in range(count) if not mask >> k & 1)
        effect = features.mean(axis=outside, keepdims=True)
        for smaller in range(mask):
            if smaller & mask == smaller:
                effect = effect - effects[smaller]
        effects[mask] = effect
        parts[mask] = np.square(np.broadcast_to(effect, features.shape)).sum(axis=-1).mean()
    grid = cells_of(features, sizes)
    assert np.allclose(variance_by_set(grid), parts, atol=1e-9)
    whole = np.square(features - features.mean(axis=tuple(range(count)))).sum(axis=-1).mean()
    assert sum(order_shares(grid)) == pytest.approx(1)
    single = sum(parts[1 << k] for k in range(count))
    assert additivity(grid) == pytest.approx(single / whole, abs=1e-9)


@given(grids)
@examples(30)
def test_separability_is_that_of_a_full_singular_value_decomposition(case):
    sizes, features = drawn(case)
    flat = features.reshape(-1, features.shape[-1])
    for measure, vectors in ((separability, flat), (centred_separability, flat - flat.mean(axis=0))):
        gram = (vectors @ vectors.T).reshape(sizes * 2)
        found = []
        for k, size in enumerate(sizes):
            moved = np.moveaxis(gram, (k, len(sizes) + k), (0, 1)).reshape(size * size, -1)
            values = np.linalg.svd(moved, compute_uv=False)
            found.append(values[0] ** 2 / np.square(values).sum())
        assert measure(cells_of(features, sizes)) == pytest.approx(np.mean(found))


def test_separability_of_a_large_grid_by_a_full_decomposition():
    features = np.random.default_rng(3).standard_normal((12, 11, 5))
    gram = gram_of(features.reshape(-1, 5)).reshape(12, 11, 12, 11)
    values = np.linalg.svd(gram.transpose(0, 2, 1, 3).reshape(144, 121), compute_uv=False)
    assert separability(cells_of(features, (12, 11))) == pytest.approx(values[0] ** 2 / np.square(values).sum())


@given(grids)
@examples(40)
def test_salience_is_that_of_theory(case):
    sizes, features = drawn(case)
    expected = Salience.measured(features.reshape(-1, features.shape[-1]), codes_of(*sizes))
    found = salience_of(cells_of(features, sizes))
    assert found.weights == pytest.approx(expected.weights, abs=1e-6)


@given(grids)
@examples(30)
def test_effective_rank_by_singular_values(case):
    sizes, features = drawn(case)
    flat = features.reshape(-1, features.shape[-1])
    squares = np.square(np.linalg.svd(flat - flat.mean(axis=0), compute_uv=False))
    shares = squares[squares > 0] / squares.sum()
    found = effective_rank(cells_of(features, sizes))
    assert found[0] == pytest.approx(np.exp(-(shares * np.log(shares)).sum()), rel=1e-5)
    assert found[1] == int((np.cumsum(shares) < 0.99 - 1e-12).sum() + 1)


@pytest.mark.parametrize("ordered", [True, False])
def test_probes_are_ridge_regressions_fitted_without_what_they_are_asked(ordered):
    rng = np.random.default_rng(1)
    sizes, features = (4, 5), rng.standard_normal((20, 3))
    seen = rng.random(20) < 0.6
    grid = cells_of(features, sizes, ordered=ordered, seen=seen)
    read, unseen = probes(grid, seed=7)
    centred = features - features.mean(axis=0)
    size = np.square(centred).sum(axis=1).mean()
    inputs = np.concatenate([centred, np.full((20, 1), np.sqrt(10 * size))], axis=1)
    order = np.random.default_rng(7).permutation(20)
    for factor in range(2):
        own = grid.codes[:, factor]
        targets = own[:, None] * 1.0 if ordered else np.eye(sizes[factor])[own]
        middle = targets.mean(axis=0)

        def answered(asked, targets=targets, middle=middle):
            fitted = np.setdiff1d(np.arange(20), asked)
            x = inputs[fitted]
            inner = x.T @ x + 1e-3 * size * np.eye(4)
            return inputs[asked] @ np.linalg.solve(inner, x.T @ (targets[fitted] - middle)) + middle

        for found, parts in ((read, [np.sort(order[k::5]) for k in range(5)]), (unseen, [np.flatnonzero(~seen)])):
            for asked in parts:
                answer = answered(asked)
                wrong = np.square(answer[:, 0] - own[asked]) if ordered else answer.argmax(axis=1) != own[asked]
                assert np.allclose(found.errors[asked, factor], wrong, atol=1e-6)
    assert np.isnan(unseen.errors[seen]).all()


@given(grids)
@examples(30)
def test_superposition_by_least_squares(case):
    sizes, features = drawn(case)
    flat, codes = features.reshape(-1, features.shape[-1]), codes_of(*sizes)
    seen = np.random.default_rng(case[2]).random(len(flat)) < 0.6
    found = superposed(cells_of(features, sizes, seen=seen))
    assert np.isnan(found[seen]).all()
    for row in np.flatnonzero(~seen):
        near = seen & ((codes != codes[row]).sum(axis=1) == 1)
        if not near.any():
            assert np.isnan(found[row])
            continue
        _, values, directions = np.linalg.svd(flat[near], full_matrices=False)
        held = directions[values > 1e-3 * values[0]]
        expected = np.square(held @ flat[row]).sum() / np.square(flat[row]).sum()
        assert found[row] == pytest.approx(expected, abs=1e-6)


def test_stripes_by_loops():
    rng = np.random.default_rng(0)
    features, codes = rng.standard_normal((12, 2 * 3 * 4)), codes_of(3, 4)
    energy = np.zeros(3)
    for factor, own, other in ((0, 2, 1), (1, 1, 2)):
        means = np.stack([features[codes[:, factor] == t].mean(axis=0) for t in range(codes[:, factor].max() + 1)])
        for picture in (means - means.mean(axis=0)).reshape(-1, 2, 3, 4):
            for channel in picture:
                left = channel - channel.mean()
                along = {1: left.mean(axis=1, keepdims=True), 2: left.mean(axis=0, keepdims=True)}
                energy += [
                    np.square(np.broadcast_to(along[own], left.shape)).sum(),
                    np.square(np.broadcast_to(along[other], left.shape)).sum(),
                    np.square(left - along[1] - along[2]).sum(),
                ]
    assert stripe_shares(features, codes, (2, 3, 4), {0: -1, 1: -2}) == pytest.approx(energy / energy.sum())


def test_partial_input_is_a_correlation():
    rng = np.random.default_rng(0)
    answers, alone = rng.standard_normal((12, 3)), rng.standard_normal((12, 3))
    rows = np.arange(12) % 2 == 0
    first, second = ((one - one.mean(axis=0))[rows].ravel() for one in (answers, alone))
    assert partial_input(answers, alone).correlation(rows) == pytest.approx(
        first @ second / np.linalg.norm(first) / np.linalg.norm(second)
    )
    assert partial_input(np.ones((12, 3)), alone).correlation(rows) is None


def test_a_matched_memory_is_as_additive_as_the_layer():
    rng = np.random.default_rng(0)
    layer = cells_of(
        rng.standard_normal((7, 1, 30)) + rng.standard_normal((1, 5, 30)) + rng.standard_normal((7, 5, 30)), (7, 5)
    )
    assert additivity(matched_memory(layer)) == pytest.approx(additivity(layer))


@given(st.integers(3, 30), st.integers(0, 10**6))
@examples(20)
def test_leaving_out_covers_every_value_once(size, seed):
    codes = codes_of(size, 2)
    values, none = left_out(codes)
    assert none == []
    assert np.array_equal(sum((~mask).astype(int) for mask in values), np.ones(2 * size))
    among = np.random.default_rng(seed).random(2 * size) < 0.5
    for masks in left_out(codes, among):
        assert all(((~mask) & among).any() for mask in masks)


def test_intervals_of_controls_hold_one_more_seed():
    """Where one more draw falls: 95 of 100 times inside."""
    rng = np.random.default_rng(0)
    inside = 0
    for _ in range(2_000):
        *draws, more = rng.standard_normal(6)
        _, (low, high) = predicted(draws)
        inside += low <= more <= high
    assert 0.935 <= inside / 2_000 <= 0.965


def test_the_jackknife_of_a_mean_is_students_interval():
    numbers = np.random.default_rng(0).standard_normal(10)
    low, high = jackknife(lambda rows: numbers[rows].mean(), numbers.mean(), [[np.arange(10) != k for k in range(10)]])
    reach = 2.262157 * numbers.std(ddof=1) / np.sqrt(10)
    assert (low, high) == pytest.approx((numbers.mean() - reach, numbers.mean() + reach), abs=1e-5)


@given(st.integers(2, 7), st.integers(2, 7), st.integers(0, 10**6))
@examples(50)
def test_what_is_left_of_a_grid_with_holes_has_none(rows, columns, seed):
    there = np.random.default_rng(seed).random((rows, columns)) < 0.8
    kept = complete_part(np.where(there, 0, -1))
    assert there[np.ix_(*kept)].all()
    if there.all():
        assert [len(values) for values in kept] == [rows, columns]


def test_a_large_grid_is_thinned_to_its_ends():
    kept = thinned([np.arange(200), np.arange(100)], most=900)
    assert len(kept[0]) * len(kept[1]) <= 900
    assert [values[0] for values in kept] == [0, 0]
    assert [values[-1] for values in kept] == [199, 99]


def test_steps_over_holes_use_what_is_there():
    """At a hole's side the step is one-sided; with no neighbour along a factor there is none."""
    features = np.random.default_rng(0).standard_normal((3, 3, 4))
    codes = codes_of(3, 3)
    there = np.array([True, True, True, True, False, True, True, True, True])
    flat = features.reshape(9, 4)[there]
    found = steps(Cells(gram_of(flat), codes[there], (3, 3), (True, True)))
    # the middle of the top row: left and right neighbours are there, below it is the hole
    assert found.rows.tolist() == [0, 2, 5, 7]
    whole = steps(cells_of(features, (3, 3)))
    assert np.allclose(found.metric[0], whole.metric[0])
