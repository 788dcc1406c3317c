"""Kernels of wide networks on inputs, beside loops, beside a real network, and beside the kernels over combinations."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recombine.base.errors import SettingError
from recombine.verbs.predict.examples.input_kernels import Scaling, kernels_of, last_layer, linear, matrices, tangent
from recombine.verbs.predict.kernel import network_kernels
from tests.properties import examples


def twin(x, z, depth, bias=0.0):
    """S and T of two inputs, number by number, as they stand in the module's docstring."""
    d = len(x)
    own, other = sum(a * a for a in x) / d + bias, sum(b * b for b in z) / d + bias
    s = t = sum(a * b for a, b in zip(x, z, strict=True)) / d + bias
    for _ in range(depth):
        size = math.sqrt(own * other)
        c = max(-1.0, min(1.0, s / size))
        angle = math.acos(c)
        s = size * (math.sin(angle) + (math.pi - angle) * c) / math.pi
        t = t * (math.pi - angle) / math.pi + s
    return s, t


@examples(30)
@given(st.integers(0, 10**6), st.integers(1, 4), st.sampled_from([0.0, 0.1, 1.0]))
def test_kernels_are_their_twins(seed, depth, bias):
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=(4, 3)), rng.normal(size=(5, 3))
    s = [[twin(a, b, depth, bias)[0] for b in z] for a in x]
    t = [[twin(a, b, depth, bias)[1] for b in z] for a in x]
    np.testing.assert_allclose(last_layer(depth, bias=bias).between(x, z), s, atol=1e-12)
    np.testing.assert_allclose(tangent(depth, bias=bias).between(x, z), t, atol=1e-12)


@pytest.mark.parametrize("kernel", [tangent(1), tangent(3), last_layer(2), linear()], ids=lambda kernel: kernel.name)
def test_the_diagonal_is_each_row_with_itself(kernel):
    x = np.random.default_rng(0).normal(size=(6, 4))
    np.testing.assert_allclose(np.diag(kernel.between(x, x)), kernel.own(x), rtol=1e-6)


def test_a_very_wide_random_network_has_this_kernel():
    """One hidden layer of 400,000 units: its products of features and of gradients come within a percent or so."""
    rng = np.random.default_rng(0)
    x, width = rng.normal(size=(5, 6)), 400_000
    first = rng.normal(size=(6, width)) * math.sqrt(1 / 6)
    last = rng.normal(size=width)
    before = x @ first
    features = np.maximum(before, 0) * math.sqrt(2 / width)
    np.testing.assert_allclose(features @ features.T, last_layer(1).between(x, x), atol=0.02)
    # gradients: of the last layer the features, of the first layer x times what passes through each unit
    through = (before > 0) * last * math.sqrt(2 / width)
    gradients = (through @ through.T) * (x @ x.T) / 6
    np.testing.assert_allclose(features @ features.T + gradients, tangent(1).between(x, x), atol=0.03)


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_on_one_hot_factors_they_are_the_kernels_over_combinations(depth):
    codes = np.array([[0, 0, 0], [0, 0, 1], [0, 1, 1], [1, 1, 1]])
    x = np.concatenate([np.eye(2)[codes[:, k]] for k in range(3)], axis=1)
    ours, theirs = tangent(depth).between(x, x)[0], network_kernels.kappa("ntk", depth, 3)[::-1]
    np.testing.assert_allclose(ours / ours[0], theirs / theirs[0], atol=1e-7)
    ours, theirs = last_layer(depth).between(x, x)[0], network_kernels.kappa("relu", depth, 3)[::-1]
    np.testing.assert_allclose(ours / ours[0], theirs / theirs[0], atol=1e-7)


def test_a_row_of_zeros_is_like_nothing():
    x = np.array([[0.0, 0.0], [1.0, 2.0]])
    assert np.isfinite(tangent(3).between(x, x)).all()
    assert abs(tangent(3).between(x, x)[0]).max() < 1e-6


def test_scaling_is_by_the_training_rows():
    x = np.array([[0.0, 10.0], [2.0, 14.0]])
    assert np.isclose(np.square(Scaling.of(x)(x)).mean(), 1)
    assert Scaling.of(x)(x, replace(linear(), scaled=False)) is x


def test_torch_gives_the_same():
    torch = pytest.importorskip("torch")
    x, z = np.random.default_rng(0).normal(size=(2, 5, 4))
    for kernel in (tangent(2), last_layer(2), linear()):
        found = kernel.between(torch.as_tensor(x), torch.as_tensor(z)).numpy()
        np.testing.assert_allclose(found, kernel.between(x, z), atol=1e-12)


def test_several_kernels_share_their_layers():
    x, z = np.random.default_rng(0).normal(size=(2, 5, 4))
    several = [last_layer(3, bias=0.1), tangent(1), linear(), last_layer(1), tangent(2, bias=0.1)]
    for kernel, matrix in zip(several, matrices(several, x, z), strict=True):
        np.testing.assert_allclose(matrix, kernel.between(x, z))


def test_kernels_by_name():
    assert [one.name for one in kernels_of(None)] == ["relu:1", "relu:2", "relu:3"]
    assert [one.name for one in kernels_of("ntk:4")] == ["ntk:4"]
    assert kernels_of(linear())[0].name == "linear"
    with pytest.raises(SettingError, match="did you mean 'relu'"):
        kernels_of("relo:2")
    with pytest.raises(SettingError, match="number of hidden layers"):
        kernels_of("relu:x")
