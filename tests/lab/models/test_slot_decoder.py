"""Doubling against its plain form, and the decoder's counts and sizes."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn import functional

from recombine.base.errors import SettingError
from recombine_lab.models.decoders import Doubling, SlotDecoder, spreading
from recombine_lab.models.model import count_parameters
from recombine_lab.tasks.task import Shapes


def plainly(doubling: Doubling, images: Tensor) -> Tensor:
    """Upsampled, padded on the right and below, convolved; channels first."""
    large = functional.interpolate(images, scale_factor=2, mode="bilinear", align_corners=False)
    return functional.conv2d(functional.pad(large, (0, 1, 0, 1)), doubling.weight, doubling.bias)


@given(
    n=st.integers(1, 3),
    side=st.integers(1, 9),
    entering=st.integers(1, 5),
    leaving=st.integers(1, 5),
    first=st.booleans(),
    seed=st.integers(0, 2**31),
)
def test_doubling_equals_its_plain_form(n: int, side: int, entering: int, leaving: int, first: bool, seed: int) -> None:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        doubling = Doubling(entering, leaving, side=side, channels_first=first).double()
        images = torch.randn(n, entering, side, side, dtype=torch.float64, requires_grad=True)
    fast = doubling(images.permute(0, 2, 3, 1))
    fast = fast if first else fast.permute(0, 3, 1, 2)
    plain = plainly(doubling, images)
    torch.testing.assert_close(fast, plain)
    weights = torch.arange(plain.numel(), dtype=torch.float64).reshape(plain.shape).cos()
    wanted = [images, doubling.weight, doubling.bias]
    for ours, theirs in zip(
        torch.autograd.grad(fast, wanted, weights), torch.autograd.grad(plain, wanted, weights), strict=True
    ):
        torch.testing.assert_close(ours, theirs)


def test_a_line_of_two_pixels_by_hand() -> None:
    # doubled: a, (3a + b)/4, (a + 3b)/4, b; the second tap sees the next pixel, and zero beyond the end
    expected = [[1, 0.75, 0, 0.25], [0.75, 0.25, 0.25, 0.75], [0.25, 0, 0.75, 1], [0, 0, 1, 0]]
    assert spreading(2).tolist() == expected


def document_1(code: int, hidden: int, channels: int, out: int, doublings: int) -> int:
    """The count by the layers as published."""
    linear = [(code, hidden), (hidden, hidden), (hidden, hidden), (hidden, channels * 16)]
    convolutions = [(channels, channels)] * (doublings - 1) + [(channels, out)]
    return sum((a + 1) * b for a, b in linear) + sum((4 * a + 1) * b for a, b in convolutions)


@pytest.mark.parametrize(("size", "doublings"), [(8, 1), (16, 2), (32, 3), (64, 4), (128, 5)])
@pytest.mark.parametrize("out", [1, 3, 4])
def test_counts(size: int, doublings: int, out: int) -> None:
    network = SlotDecoder().build(Shapes(inputs=(5,), outputs=(out, size, size), kind="values"))
    assert count_parameters(network) == document_1(5, 256, 32, out, doublings)
    assert network(torch.zeros(2, 5)).shape == (2, out, size, size)


def test_it_is_the_published_decoder_layer_by_layer() -> None:
    network = SlotDecoder(hidden=9, channels=4).start(Shapes(inputs=(5,), outputs=(3, 16, 16), kind="values"), seed=0)
    codes = torch.randn(6, 5, generator=torch.Generator().manual_seed(1))
    images = codes
    for layer in [part for part in network.code if isinstance(part, nn.Linear)]:
        images = functional.linear(
            functional.elu(images) if layer.in_features == 9 else images, layer.weight, layer.bias
        )
    images = images.reshape(6, 4, 4, 4)
    for doubling in [*network.doublings, network.picture]:
        images = plainly(doubling, functional.elu(images))
    torch.testing.assert_close(network(codes), images)


@pytest.mark.parametrize("image", [(3, 28, 28), (3, 4, 4), (3, 32, 16), (3, 48, 48), (3, 1, 1)])
def test_sizes_that_do_not_double_from_four(image: tuple[int, int, int]) -> None:
    with pytest.raises(SettingError, match="a side of 8, 16, 32, 64") as caught:
        SlotDecoder().build(Shapes(inputs=(5,), outputs=image, kind="values"))
    assert "decoder='broadcast'" in str(caught.value)
