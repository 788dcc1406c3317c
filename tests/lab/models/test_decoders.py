"""The decoders of the bumps: against plain twins, at their published size and at others."""

import math

import pytest
import torch
from torch import nn

from recombine_lab.models.decoders import CNNDecoder, PixelTransformer, SpatialBroadcast, sinusoids
from recombine_lab.models.model import count_parameters
from recombine_lab.tasks.task import Shapes
from tests.lab.models.cases import inputs


def bumps(side: int, *, width: int | None = None) -> Shapes:
    return Shapes(inputs=(2 * side,), outputs=(1, side, width or side), kind="values", slots=2)


@pytest.mark.parametrize("depth", [1, 4])
def test_the_convolutional_decoder_draws_28_pixels_without_resizing(depth: int) -> None:
    network = CNNDecoder(depth=depth, channels=6).build(bumps(28))
    assert not any(isinstance(layer, nn.Upsample) for layer in network)
    last = (depth - 1) * (9 * 6 + 1) * 6 + 9 * 6 + 1
    assert count_parameters(network) == (56 * 49 + 1) * 6 + 2 * (16 * 6 + 1) * 6 + last
    assert network(inputs(bumps(28))).shape == (5, 1, 28, 28)


@pytest.mark.parametrize(("side", "width"), [(24, 24), (32, 32), (40, 40), (9, 31)])
def test_other_sizes(side: int, width: int) -> None:
    shapes = bumps(side, width=width)
    for model in (CNNDecoder(depth=2, channels=3), SpatialBroadcast(width=8), PixelTransformer(width=8, heads=2)):
        assert model.build(shapes)(inputs(shapes)).shape == (5, 1, side, width)


@pytest.mark.parametrize(("depth", "width"), [(1, 12), (2, 10), (4, 5)])
def test_the_broadcast_decoder_pixel_by_pixel(depth: int, width: int) -> None:
    """Against the plain form: the code is copied to a pixel, its position added, and the MLP applied."""
    shapes = Shapes(inputs=(9,), outputs=(2, 5, 7), kind="values")
    network = SpatialBroadcast(width=width, depth=depth).start(shapes, seed=0)
    batch = inputs(shapes)
    images = network(batch)
    linear = [network.first, *(layer for layer in network.rest if isinstance(layer, nn.Linear))]
    bends = [layer for layer in network.rest if isinstance(layer, nn.PReLU)]
    assert len(linear) == depth + 1
    for row in range(5):
        for column in range(7):
            values = network.code(batch) + position(row, column, width)
            for k, layer in enumerate(linear):
                values = layer(values)
                values = bends[k](values) if k < depth else values
            torch.testing.assert_close(images[:, :, row, column], values)


def position(row: int, column: int, length: int) -> torch.Tensor:
    quarter = math.ceil(length / 4)
    rates = [10_000 ** (-k / quarter) for k in range(quarter)]
    return torch.tensor(
        [wave(place * rate) for place in (row, column) for wave in (math.sin, math.cos) for rate in rates]
    )[:length]


def test_positions_tell_every_pixel_apart() -> None:
    places = sinusoids(28, 28, 256)
    apart = torch.cdist(places, places) + torch.eye(28 * 28) * 100
    assert apart.min() > 0.5
    torch.testing.assert_close(places[3 * 28 + 5], position(3, 5, 256), atol=1e-4, rtol=0)


def test_the_published_count_of_the_broadcast_decoder() -> None:
    for depth in (2, 4):
        expected = 57 * 256 + depth * 257 * 256 + 257 + depth
        assert count_parameters(SpatialBroadcast(depth=depth).build(bumps(28))) == expected


def test_the_pixel_transformer_against_the_same_sums_by_hand() -> None:
    """One layer, pixel by pixel: attention over all pixels, then the MLP, each added to what was there."""
    shapes = Shapes(inputs=(6,), outputs=(2, 3, 4), kind="values")
    network = PixelTransformer(width=8, heads=2, depth=1, inner=5).start(shapes, seed=0).double().eval()
    batch = inputs(shapes).double()
    layer, norm = network.layers[0], nn.functional.layer_norm
    tokens = torch.stack([network.code(batch) + position(row, column, 8) for row in range(3) for column in range(4)], 1)
    before = norm(tokens, (8,), layer.norm1.weight, layer.norm1.bias)
    asks, keys, gives = (before @ layer.self_attn.in_proj_weight.T + layer.self_attn.in_proj_bias).split(8, dim=-1)
    heads = []
    for part in (slice(0, 4), slice(4, 8)):
        shares = (asks[..., part] @ keys[..., part].mT / 2.0).softmax(dim=-1)
        heads.append(shares @ gives[..., part])
    tokens = tokens + layer.self_attn.out_proj(torch.cat(heads, -1))
    inner = layer.linear1(norm(tokens, (8,), layer.norm2.weight, layer.norm2.bias)).relu()
    pixels = network.head(tokens + layer.linear2(inner))
    torch.testing.assert_close(network(batch), pixels.mT.reshape(-1, 2, 3, 4), atol=1e-5, rtol=1e-5)
