"""What is known of the measures on paper: tables of unrelated vectors, codes, the true bump, kernels on the donut."""

import numpy as np
import pytest

from recombine_lab.probes.geometry_probe.answers import AnswerTargets, from_memory, output_coverage, readout, superposed
from recombine_lab.probes.geometry_probe.kernel_measures import (
    centred_separability,
    log_volumes,
    orthogonality,
    probes,
    published_factorization,
    separability,
    steps,
    warp,
)
from recombine_lab.probes.geometry_probe.stripes import stripe_shares
from recombine_lab.probes.geometry_probe.variance_shares import additivity, effective_rank, order_shares, salience_of
from tests.probes.grids.worlds import bumps, cells_of, codes_of, corner, donut, one_hot, profiles, stripes_of

N = 28


def metric(features, n=N):
    return steps(cells_of(features, (n, n))).metric


@pytest.mark.parametrize(("n", "published"), [(3, 0.851852), (4, 0.9), (5, 0.927273), (10, 0.975), (28, 0.995798)])
def test_orthogonality_of_a_lookup_table(n, published):
    """A table that remembers scores nearly as high as a perfect code: the measure says nothing by itself."""
    found = metric(np.eye(n * n), n)
    assert published_factorization(found) == pytest.approx(published, abs=1e-6)
    assert published_factorization(found) == pytest.approx(1 - 4 / (n * (n + 6)), abs=1e-8)
    assert orthogonality(found) == pytest.approx(1 - 8 / (n * (n + 6)))


@pytest.mark.parametrize(
    ("features", "off"),
    [
        (one_hot(N, N), 1e-9),
        (np.concatenate([profiles(N)[codes_of(N, N)[:, 0]], profiles(N)[codes_of(N, N)[:, 1]]], axis=1), 1e-9),
        (bumps(N), 1e-4),  # bumps that are cut off at the border lose a little
        (stripes_of(N)[codes_of(N, N)[:, 0]] + stripes_of(N)[N + codes_of(N, N)[:, 1]], 0.05),
    ],
    ids=["one-hot", "bump code", "true image", "sum of stripes"],
)
def test_orthogonality_of_what_keeps_factors_apart(features, off):
    assert published_factorization(metric(features)) == pytest.approx(1, abs=off)


def test_orthogonality_of_one_line():
    """h = x + y: every step points the same way, and areas are nothing but rounding."""
    line = codes_of(N, N).sum(axis=1, keepdims=True)
    found = metric(line)
    assert published_factorization(found) == pytest.approx(0.5)
    assert orthogonality(found) == pytest.approx(0)
    assert np.isnan(log_volumes(found)).all()
    assert warp(log_volumes(found), donut()) is None


def test_random_vectors_and_random_layers_pass_for_orthogonal():
    rng = np.random.default_rng(0)
    assert published_factorization(metric(rng.standard_normal((N * N, N * N)))) > 0.94
    layer = np.maximum(one_hot(N, N) @ rng.standard_normal((2 * N, 256)), 0)
    assert 0.94 < published_factorization(metric(layer)) < 0.995


@pytest.mark.parametrize("n", [3, 10, 28])
def test_additivity_of_a_lookup_table(n):
    assert additivity(cells_of(np.eye(n * n), (n, n))) == pytest.approx(2 / (n + 1))


def test_additivity_of_codes_and_of_the_true_bump():
    assert additivity(cells_of(one_hot(N, N), (N, N))) == pytest.approx(1)
    assert additivity(cells_of(bumps(N), (N, N))) == pytest.approx(0.219, abs=5e-4)


@pytest.mark.parametrize("n", [4, 28])
def test_separability_of_a_concatenated_code(n):
    assert separability(cells_of(one_hot(n, n), (n, n))) == pytest.approx((np.sqrt(n) + 1) ** 2 / (2 * (n + 1)))
    assert centred_separability(cells_of(one_hot(n, n), (n, n))) == pytest.approx(0.5)
    if n == 28:
        assert separability(cells_of(one_hot(n, n), (n, n))) == pytest.approx(0.682466, abs=1e-6)


def test_separability_fooled_by_a_lookup_table_and_by_random_features():
    assert separability(cells_of(np.eye(N * N), (N, N))) == pytest.approx(1)
    layer = np.maximum(one_hot(N, N) @ np.random.default_rng(0).standard_normal((2 * N, 784)), 0)
    random = cells_of(layer, (N, N))
    assert separability(random) > 0.98
    assert centred_separability(random) < 0.6
    assert separability(cells_of(bumps(N), (N, N))) == pytest.approx(1)


def test_salience_of_codes_and_tables():
    assert salience_of(cells_of(one_hot(5, 5), (5, 5))).saliences == pytest.approx((0.5, 0))
    assert salience_of(cells_of(np.eye(25), (5, 5))).saliences == pytest.approx((0, 1))


def test_salience_of_a_random_relu_layer_is_the_kernels():
    """S(1;2) = .426422 for a wide layer of ReLU."""
    wide = np.maximum(one_hot(6, 6) @ np.random.default_rng(0).standard_normal((12, 40_000)), 0)
    assert salience_of(cells_of(wide, (6, 6))).saliences[0] == pytest.approx(0.426422, abs=0.005)


def test_ranks():
    assert effective_rank(cells_of(one_hot(5, 5), (5, 5))) == pytest.approx((8, 8))
    assert effective_rank(cells_of(np.eye(25), (5, 5)))[0] == pytest.approx(24)
    assert effective_rank(cells_of(np.ones((25, 3)), (5, 5))) is None


def test_probes_fail_on_a_lookup_table_and_pass_on_a_code():
    table, _ = probes(cells_of(np.eye(64), (8, 8)), seed=0)
    assert table.mean() < 0.05
    code, unseen = probes(cells_of(one_hot(8, 8), (8, 8), seen=corner(8, 4)), seed=0)
    assert code.mean() > 0.99
    assert unseen.mean() > 0.99


@pytest.mark.parametrize(
    ("n", "sigma", "seen", "unlit", "dark", "spanned", "with_stripes"),
    [
        (28, 1.0, donut(), 0.154, 0.419, 0.265, 0.559),
        (28, 1.0, donut(28, 10, 18), 0.011, 0.111, 0.470, 0.838),
        (32, 1.5, corner(32, 12), 0.250, 0.634, 0.261, 0.609),
        (28, 1.0, corner(28, 14), 0.154, 0.612, 0.170, 0.541),
    ],
    ids=["donut", "small donut", "corner 32", "corner 28"],
)
def test_output_coverage(n, sigma, seen, unlit, dark, spanned, with_stripes):
    found = output_coverage(bumps(n, sigma), seen)
    assert (found.unlit, found.dark, found.spanned) == pytest.approx((unlit, dark, spanned), abs=6e-4)
    inverted = output_coverage(1 - bumps(n, sigma), seen, rest=1.0)
    assert (inverted.unlit, inverted.dark, inverted.spanned) == pytest.approx((unlit, dark, spanned), abs=6e-4)
    striped = np.concatenate([bumps(n, sigma), stripes_of(n, sigma)])
    more = output_coverage(striped, np.concatenate([seen, np.ones(2 * n, dtype=bool)]))
    assert more.unlit == 0
    assert more.spanned == pytest.approx(with_stripes, abs=6e-4)


@pytest.mark.parametrize(
    ("seen", "counts"),
    [(donut(), (495, 289)), (donut(28, 10, 18), (703, 81)), (corner(32, 12), (624, 400)), (corner(28, 14), (588, 196))],
)
def test_counts(seen, counts):
    assert (int(seen.sum()), int((~seen).sum())) == counts


def asked_of_bumps(seen=None):
    grid = cells_of(np.zeros((N * N, 1)), (N, N), seen=donut() if seen is None else seen)
    return AnswerTargets(bumps(N), np.zeros(()), grid)


def errors(answers, question):
    squared = np.square(answers - question.truth).mean(axis=1)
    return squared[~question.seen].mean(), squared[question.seen].mean()


@pytest.mark.parametrize(
    ("kernel", "unseen", "on_seen"),
    [("product", 0.812, 0), ("additive", 1.470, 0.00255), ("or", 1.616, 0), ("and", 1.000, 0)],
)
def test_kernel_ridge_on_the_donut(kernel, unseen, on_seen):
    codes, question = codes_of(N, N), asked_of_bumps()
    near = np.exp(-((codes[:, None] - codes[None]) ** 2) / 2)
    same = codes[:, None] == codes[None]
    of = {
        "product": near.prod(axis=2),
        "additive": near.sum(axis=2),
        "or": same.any(axis=2) * 1.0,
        "and": same.all(axis=2) * 1.0,
    }
    found = errors(readout(of[kernel], question), question)
    blank = np.square(bumps(N)[~question.seen]).mean()
    assert found[0] / blank == pytest.approx(unseen, abs=6e-4)
    assert found[1] == pytest.approx(on_seen, abs=1e-5)


def test_a_blank_answer_and_the_linear_model_on_the_donut():
    question = asked_of_bumps()
    assert question.trivial[~question.seen].mean() == pytest.approx(0.004008, abs=1e-6)
    linear = readout(one_hot(N, N) @ one_hot(N, N).T, question, ridge=1e-9)
    unseen, seen = errors(linear, question)
    assert unseen == pytest.approx(0.00589, abs=1e-5)
    assert unseen / question.trivial[~question.seen].mean() == pytest.approx(1.47, abs=0.005)
    assert seen == pytest.approx(0.00255, abs=1e-5)
    assert errors(from_memory(question), question)[0] == pytest.approx(0.004008, abs=1e-6)


def test_superposition_on_the_donut():
    """The truth itself is partly a sum of seen neighbours; the linear model's answers nearly wholly are."""
    question = asked_of_bumps()
    truth = question.superposition_of(question.truth)
    assert np.nanmean(truth) == pytest.approx(0.2625, abs=1e-4)
    linear = question.superposition_of(readout(one_hot(N, N) @ one_hot(N, N).T, question, ridge=1e-9))
    assert np.nanmean(linear) == pytest.approx(0.92, abs=0.005)
    assert np.isnan(question.superposition_of(from_memory(question))).all()


def test_superposition_of_sums_of_training_examples_is_all_of_them():
    """An adversary that answers unseen places with the sum of two seen answers."""
    seen = corner(6, 3)
    features = np.random.default_rng(0).standard_normal((6, 6, 40))
    for x in range(3, 6):
        for y in range(3, 6):
            features[x, y] = features[x, 0] + features[0, y]
    found = superposed(cells_of(features, (6, 6), seen=seen))
    assert found[~seen] == pytest.approx(1)
    unrelated = superposed(cells_of(np.eye(36), (6, 6), seen=seen))
    assert unrelated[~seen] == pytest.approx(0)


def test_x_is_the_column_and_y_is_the_row():
    """A bump's picture, read with the axes exchanged, has its stripes on the wrong axis."""
    codes = codes_of(N, N)
    own, other, rest = stripe_shares(bumps(N), codes, (N, N), {0: -1, 1: -2})
    assert own > 0.97
    swapped = stripe_shares(bumps(N), codes, (N, N), {0: -2, 1: -1})
    assert swapped == pytest.approx((other, own, rest))
    assert bumps(N)[codes.tolist().index([3, 1])].argmax() == 1 * N + 3


def test_the_lookup_table_is_flagged_by_additivity_and_by_probes_and_not_by_orthogonality():
    table, code = cells_of(np.eye(N * N), (N, N)), cells_of(one_hot(N, N), (N, N))
    assert additivity(table) < 0.1 < additivity(code)
    assert orthogonality(steps(table).metric) > 0.99
    assert order_shares(table)[1] > 0.9
