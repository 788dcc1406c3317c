"""The fully connected network: how its weights are drawn, and what it computes."""

from math import sqrt

import numpy as np
import pytest
import torch
from torch import nn

from recombine.base.errors import SettingError
from recombine_lab.models.mlp import MLP
from recombine_lab.models.model import count_parameters
from recombine_lab.models.vision import CNN, ResNet
from recombine_lab.tasks.task import Shapes
from tests.lab.models.cases import DIGITS, inputs

WIDE = Shapes(inputs=(400,), outputs=(300,), kind="values")


def layers(model: MLP, shapes: Shapes = WIDE) -> list[nn.Linear]:
    return [layer for layer in model.start(shapes, seed=0) if isinstance(layer, nn.Linear)]


@pytest.mark.parametrize("scale", [1e-6, 0.1, 1.0])
def test_the_published_initialisation(scale: float) -> None:
    for layer in layers(MLP(hidden=(500,), scale=scale)):
        weight, bias, root = layer.weight / scale, layer.bias / scale, sqrt(layer.in_features)
        assert weight.std().item() == pytest.approx(sqrt(2) / root, rel=0.02)
        assert weight.mean().abs().item() < 0.02 / root
        # normal, not uniform: a share of .0455 lies beyond two sd
        assert (weight.abs() > 2 * sqrt(2) / root).double().mean().item() == pytest.approx(0.0455, abs=0.004)
        # uniform up to the limit, which a normal would pass
        assert 0.97 < bias.abs().max().item() * root <= 1.000001
        assert bias.std().item() * root == pytest.approx(1 / sqrt(3), rel=0.1)


def test_the_texts_initialisation_has_the_width_in_the_place_of_the_first_fan_in() -> None:
    first, last = layers(MLP(hidden=(500,), initialisation="width"))
    for layer, units in ((first, 500), (last, 500)):
        assert layer.weight.std().item() == pytest.approx(sqrt(2 / units), rel=0.02)
        assert 0.97 < layer.bias.abs().max().item() * sqrt(units) <= 1.000001
    square = Shapes(inputs=(500,), outputs=(300,), kind="values")
    for one, other in zip(
        layers(MLP(hidden=(500,)), square), layers(MLP(hidden=(500,), initialisation="width"), square), strict=True
    ):
        assert torch.equal(one.weight, other.weight)
        assert torch.equal(one.bias, other.bias)


@pytest.mark.parametrize("name", ["normal", "torch", "he", "glorot", "width"])
def test_the_scale_multiplies_every_layer(name: str) -> None:
    ones, tenths = (layers(MLP(hidden=(50, 30), initialisation=name, scale=scale)) for scale in (1.0, 0.1))
    for one, tenth in zip(ones, tenths, strict=True):
        torch.testing.assert_close(tenth.weight, 0.1 * one.weight)
        torch.testing.assert_close(tenth.bias, 0.1 * one.bias)
        assert one.weight.std() > 0


def test_the_other_initialisations() -> None:
    for layer in layers(MLP(hidden=(500,), initialisation="he")):
        assert layer.weight.std().item() == pytest.approx(sqrt(2 / layer.in_features), rel=0.02)
        assert not layer.bias.any()
    for layer in layers(MLP(hidden=(500,), initialisation="glorot")):
        limit = sqrt(6 / (layer.in_features + layer.out_features))
        assert 0.999 * limit < layer.weight.abs().max().item() <= limit
        assert not layer.bias.any()
    for layer in layers(MLP(hidden=(500,), initialisation="torch")):
        limit = 1 / sqrt(layer.in_features)
        assert 0.999 * limit < layer.weight.abs().max().item() <= limit
        assert layer.bias.any()


def test_the_toys_network() -> None:
    network = MLP(hidden=(8, 8, 8), initialisation="he").build(Shapes(inputs=(2,), outputs=(2,), kind="classes"))
    assert count_parameters(network) == 3 * 8 + 2 * 9 * 8 + 9 * 2
    assert count_parameters(MLP(hidden=(8,), bias=False).build(WIDE)) == 400 * 8 + 8 * 300


@pytest.mark.parametrize(
    ("activation", "twin"),
    [
        ("relu", lambda x: np.maximum(x, 0)),
        ("leaky_relu", lambda x: np.where(x > 0, x, 0.1 * x)),
        ("elu", lambda x: np.where(x > 0, x, np.exp(x) - 1)),
        ("tanh", np.tanh),
        ("identity", lambda x: x),
    ],
)
def test_against_numpy(activation: str, twin: object) -> None:
    network = MLP(hidden=(20, 9), activation=activation).start(DIGITS, seed=0)
    batch = inputs(DIGITS) - 0.5
    values = batch.double().numpy().reshape(5, -1)
    linear = [layer for layer in network if isinstance(layer, nn.Linear)]
    for k, layer in enumerate(linear):
        values = values @ layer.weight.detach().double().numpy().T + layer.bias.detach().double().numpy()
        values = twin(values) if k < len(linear) - 1 else values
    np.testing.assert_allclose(network(batch).detach().numpy(), values, atol=1e-5)


def test_rows_of_numbers_become_tuples_and_a_number_is_refused() -> None:
    assert MLP(hidden=[8, 8]) == MLP(hidden=np.array([8, 8])) == MLP(hidden=(8, 8))
    assert hash(MLP(hidden=[8, 8])) == hash(MLP(hidden=(8, 8)))
    assert CNN(channels=[4], pool=[], dense=[2]).dense == (2,)
    assert ResNet(blocks=[1], channels=[8]).blocks == (1,)
    with pytest.raises(SettingError, match=r"write hidden=\(64,\)"):
        MLP(hidden=64)
    for wrong in ("64", (6.5,), (True,)):
        with pytest.raises(SettingError, match="hidden is a row of whole numbers"):
            MLP(hidden=wrong)


def test_no_hidden_layer_is_a_linear_model() -> None:
    network = MLP(hidden=()).start(WIDE, seed=0)
    assert count_parameters(network) == 401 * 300


def test_any_shape_of_answer() -> None:
    image = Shapes(inputs=(56,), outputs=(1, 7, 5), kind="values")
    assert MLP(hidden=(3,)).build(image)(torch.zeros(2, 56)).shape == (2, 1, 7, 5)
