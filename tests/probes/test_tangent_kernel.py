"""A module's own tangent kernel: beside explicit gradients, beside the linear kernel, beside that of a wide network."""

import math
from itertools import pairwise

import numpy as np
import pytest
import torch
from torch import nn

from recombine.base.errors import SettingError, TableError
from recombine.verbs.predict.examples.forecast import forecast
from recombine.verbs.predict.examples.input_kernels import tangent
from recombine_lab.probes import tangent_kernel as room
from recombine_lab.probes.tangent_kernel import gradients, own_tangent, parameters, sketch_error


class Wide(nn.Module):
    """A ReLU network whose weights are all about 1 and whose layers divide by their width (NTK parameterisation)."""

    def __init__(self, inputs: int, width: int, depth: int) -> None:
        super().__init__()
        widths = [inputs, *[width] * depth, 1]
        pairs = pairwise(widths)
        self.layers = nn.ParameterList([nn.Parameter(torch.randn(after, before)) for before, after in pairs])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for place, layer in enumerate(self.layers):
            x = (math.sqrt(2) * torch.relu(x) if place else x) @ layer.T / math.sqrt(layer.shape[1])
        return x


def small(outputs: int = 3) -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 7), nn.Tanh(), nn.Dropout(0.5), nn.Linear(7, outputs)).double()


def by_hand(module: nn.Module, rows: np.ndarray) -> np.ndarray:
    """The gradients one output and one row at a time, by plain backward passes."""
    module.eval()
    found = []
    for row in torch.as_tensor(rows):
        outputs = module(row[None]).reshape(-1)
        each = [torch.autograd.grad(one, list(module.parameters()), retain_graph=True) for one in outputs]
        found.append([torch.cat([part.reshape(-1) for part in parts]).numpy() for parts in each])
    return np.array(found)


def test_it_is_the_product_of_explicit_gradients():
    module, rng = small(), np.random.default_rng(0)
    x, z = rng.normal(size=(6, 4)), rng.normal(size=(5, 4))
    mine, others = by_hand(module, x), by_hand(module, z)
    np.testing.assert_allclose(gradients(module, x), mine, atol=1e-12)
    kernel = own_tangent(module)
    np.testing.assert_allclose(kernel.between(x, z), np.einsum("iop,jop->ij", mine, others) / 3, atol=1e-12)
    np.testing.assert_allclose(kernel.own(x), np.diag(kernel.between(x, x)), atol=1e-12)
    one = own_tangent(module, output=1).between(x, z)
    np.testing.assert_allclose(one, mine[:, 1] @ others[:, 1].T, atol=1e-12)


def test_in_chunks_it_is_the_same(monkeypatch):
    module, x = small(), np.random.default_rng(0).normal(size=(9, 4))
    whole = gradients(module, x)
    monkeypatch.setattr(room, "_MOST_AT_ONCE", 400)  # two rows
    np.testing.assert_allclose(gradients(module, x), whole, atol=1e-14)


def test_a_linear_module_has_the_linear_kernel():
    x, z = np.random.default_rng(0).normal(size=(2, 5, 4))
    found = own_tangent(nn.Linear(4, 2, bias=False).double()).between(x, z)
    np.testing.assert_allclose(found, x @ z.T, atol=1e-12)


@pytest.mark.parametrize("depth", [1, 2])
def test_a_very_wide_network_has_the_tangent_kernel_of_the_theory(depth):
    torch.manual_seed(0)
    x = np.random.default_rng(0).normal(size=(4, 5))
    found = own_tangent(Wide(5, 800, depth), width=10**7).between(x, x)
    wanted = tangent(depth).between(x, x)
    assert np.abs(found - wanted).max() < 0.12 * np.diag(wanted).max()


def test_a_sketch_is_right_in_the_mean_and_off_by_what_is_stated():
    module, x = small(), np.random.default_rng(0).normal(size=(4, 4))
    exact, width = own_tangent(module).between(x, x), 20
    every = np.array([own_tangent(module, width=width, seed=seed).between(x, x) for seed in range(300)])
    lengths = np.sqrt(np.outer(np.diag(exact), np.diag(exact)))
    assert np.abs((every.mean(axis=0) - exact) / lengths).max() < 4 * sketch_error(width) / math.sqrt(300)
    assert ((every - exact).std(axis=0) / lengths).max() < 1.1 * sketch_error(width)


def test_a_large_module_is_sketched():
    module = nn.Linear(room.EXACT, 1, bias=False)
    x = np.random.default_rng(0).normal(size=(2, room.EXACT))
    assert gradients(module, x).shape == (2, 1, room.EXACT)
    wider = nn.Linear(room.EXACT, 2, bias=False)
    assert gradients(wider, x).shape == (2, 2, room.WIDTH)
    exact = x @ x.T
    off = np.abs(own_tangent(wider).between(x, x) - exact) / np.sqrt(np.outer(np.diag(exact), np.diag(exact)))
    assert off.max() < 4 * sketch_error(room.WIDTH)


def test_pictures_are_given_their_shape():
    torch.manual_seed(0)
    module = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8, 2)).double()
    x = np.random.default_rng(0).normal(size=(3, 16))
    wanted = by_hand(module, x.reshape(3, 1, 4, 4))
    np.testing.assert_allclose(gradients(module, x, shape=(1, 4, 4)), wanted, atol=1e-12)
    with pytest.raises(SettingError, match="a row of the inputs holds 16 numbers, and such an example 25"):
        gradients(module, x, shape=(1, 5, 5))


def test_it_is_a_snapshot_and_leaves_the_module_as_it_was():
    module = small()
    module[3].weight.requires_grad_(False)
    module[2].train()
    module[0].eval()
    x = np.random.default_rng(0).normal(size=(3, 4))
    kernel = own_tangent(module)
    before = kernel.between(x, x.copy())
    assert [part.training for part in module] == [False, True, True, True]
    assert gradients(module, x).shape == (3, 3, parameters(module)) == (3, 3, 4 * 7 + 7 + 3)
    with torch.no_grad():
        module[0].weight.mul_(3)
    np.testing.assert_array_equal(kernel.between(x, x.copy()), before)


def test_a_forecast_takes_it():
    rng = np.random.default_rng(0)
    codes = np.array([(a, b) for a in range(4) for b in range(4)] * 4)
    x = np.eye(4)[codes].reshape(len(codes), 8) + 0.05 * rng.normal(size=(len(codes), 8))
    unseen = codes.sum(axis=1) % 3 == 0
    kernel = own_tangent(nn.Sequential(nn.Linear(8, 30), nn.ReLU(), nn.Linear(30, 4)))
    rest = (x[unseen], codes[unseen], codes[unseen, 0])
    found = forecast(x[~unseen], codes[~unseen, 0], codes[~unseen], *rest, kernel=kernel)
    assert found.members == ("own tangent margin",)
    assert found.expected.value == 1.0


def test_what_cannot_be_done_is_said(monkeypatch):
    with pytest.raises(SettingError, match="without parameters that are trained"):
        own_tangent(nn.ReLU())
    with pytest.raises(SettingError, match="width=0"):
        own_tangent(small(), width=0)
    monkeypatch.setattr(room, "_MOST_HELD", 100)
    with pytest.raises(TableError, match="or write width=8"):
        gradients(small(), np.ones((4, 4)))
