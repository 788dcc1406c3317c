"""Filters in image space: the published count, and every number against NumPy."""

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from recombine.base.errors import SettingError
from recombine_lab.models.decoders import Filters, LowRankFilters
from recombine_lab.models.model import count_parameters
from recombine_lab.tasks.task import Shapes


def bumps(side: int) -> Shapes:
    return Shapes(inputs=(2 * side,), outputs=(1, side, side), kind="values", slots=2)


def numpy(tensor: Tensor) -> np.ndarray:
    return tensor.detach().double().numpy()


def test_published_counts() -> None:
    network = LowRankFilters().build(bumps(32))
    assert count_parameters(network.x) + count_parameters(network.y) == 133_120
    assert count_parameters(network) == 133_120 + 2 * (9 * 2 + 1) * 2 + (9 * 2 + 1) + 3


def test_how_it_starts() -> None:
    filters = LowRankFilters().start(bumps(32), seed=0).x
    assert filters.strengths.var().item() == pytest.approx(1 / 32, rel=0.15)
    for vectors in (filters.left, filters.right):
        torch.testing.assert_close(vectors.norm(dim=-1), torch.ones(32, 32))


def filter_of(filters: Filters, value: int) -> np.ndarray:
    """The sum of the components, each an outer product of unit vectors."""
    strengths, left, right = map(numpy, (filters.strengths, filters.left, filters.right))
    return sum(
        strength * np.outer(a / np.linalg.norm(a), b / np.linalg.norm(b))
        for strength, a, b in zip(strengths[value], left[value], right[value], strict=True)
    )


def test_a_code_takes_its_values_filters() -> None:
    network = LowRankFilters().start(bumps(6), seed=0)
    with torch.no_grad():  # vectors that are no longer unit vectors: they are normalised on the way
        network.x.left.mul_(3.0)
    codes = torch.zeros(3, 12)
    codes[0, 2] = codes[0, 6 + 5] = codes[1, 4] = codes[1, 6] = 1.0
    codes[2, [1, 3]] = torch.tensor([0.25, 0.75])  # no y at all: half of the way to a stripe's null code
    images = numpy(network.x(codes[:, :6]))
    np.testing.assert_allclose(images[0], filter_of(network.x, 2), atol=1e-6)
    np.testing.assert_allclose(images[2], 0.25 * filter_of(network.x, 1) + 0.75 * filter_of(network.x, 3), atol=1e-6)
    channels = torch.stack([network.x(codes[:, :6]), network.y(codes[:, 6:])], 1)
    assert not channels[2, 1].any()
    torch.testing.assert_close(network(codes), network.merge(channels))


def test_the_merging_layers() -> None:
    merge = LowRankFilters().build(bumps(6)).merge
    assert [type(layer) for layer in merge] == [nn.PReLU, nn.Conv2d] * 3
    assert [(layer.in_channels, layer.out_channels) for layer in merge[1::2]] == [(2, 2), (2, 2), (2, 1)]


def twin(filters: Filters) -> tuple[float, float]:
    """Entropy and variance by loops."""
    entropy = variance = 0.0
    for row in numpy(filters.strengths):
        shares = np.clip(row**2 / (row**2).sum(), 1e-8, None)
        entropy -= float((shares * np.log(shares)).sum())
    for vectors in (filters.left, filters.right):
        variance += sum(float(np.var(vector)) for value in numpy(vectors) for vector in value)
    return entropy, variance


@pytest.mark.parametrize("side", [4, 8, 32])
@pytest.mark.parametrize("averaged", [False, True])
def test_the_penalty_against_numpy(side: int, averaged: bool) -> None:
    network = LowRankFilters(averaged=averaged).start(bumps(side), seed=1)
    with torch.no_grad():
        network.y.right.mul_(0.5)
        network.x.strengths[0] = torch.eye(side)[0]  # one component alone: shares of zero are clipped
    (entropy_x, variance_x), (entropy_y, variance_y) = twin(network.x), twin(network.y)
    expected = 0.1 * (entropy_x + entropy_y) + 0.01 * (variance_x + variance_y)
    assert network.penalty().item() == pytest.approx(expected / (side if averaged else 1), rel=1e-5)


def test_known_penalties() -> None:
    """Even shares: log N for each value. One component: nearly 0. Constant vectors: no variance."""
    network = LowRankFilters(variance=1.0, entropy=1.0).build(bumps(8))
    with torch.no_grad():
        for filters in (network.x, network.y):
            filters.strengths.fill_(0.3)
            filters.left.fill_(1.0)
            filters.right.copy_(torch.tensor([1.0, -1.0] * 4).expand(8, 8, 8))
    entropy, variance = 2 * 8 * np.log(8), 2 * 8 * 8 * 1.0
    assert network.penalty().item() == pytest.approx(entropy + variance, rel=1e-5)
    with torch.no_grad():
        for filters in (network.x, network.y):
            filters.strengths.copy_(torch.eye(8))
            filters.right.fill_(-2.0)
    assert network.penalty().item() == pytest.approx(0.0, abs=1e-4)


def test_an_averaged_penalty_carries_over_to_other_sizes() -> None:
    """With even shares and unit vectors the sums grow as N; the averages stay near one another."""
    sums, averages = (
        [LowRankFilters(entropy=0, variance=1, averaged=averaged).start(bumps(side), seed=0).penalty().item()
         for side in (8, 32)]
        for averaged in (False, True)
    )  # fmt: skip
    assert sums[1] / sums[0] > 4
    assert averages[1] == pytest.approx(averages[0], rel=0.2)


def test_no_penalty_and_its_gradient() -> None:
    assert LowRankFilters(entropy=0, variance=0).start(bumps(6), seed=0).penalty().item() == 0
    network = LowRankFilters().start(bumps(6), seed=0)
    network.penalty().backward()
    reached = {name for name, parameter in network.named_parameters() if parameter.grad is not None}
    assert reached == {f"{factor}.{part}" for factor in "xy" for part in ("strengths", "left", "right")}


@pytest.mark.parametrize(
    ("length", "image"), [(16, (3, 8, 8)), (2, (1, 8, 8)), (8, (1, 8, 8)), (16, (1, 8, 9)), (24, (1, 8, 8))]
)
def test_other_codes_and_images(length: int, image: tuple[int, int, int]) -> None:
    with pytest.raises(SettingError, match=r"two codes of N numbers") as caught:
        LowRankFilters().build(Shapes(inputs=(length,), outputs=image, kind="values"))
    assert "code='onehot'" in str(caught.value)
