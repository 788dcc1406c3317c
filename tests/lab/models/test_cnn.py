"""The convolutional network: published counts, presets, and images that are too small."""

import pytest
import torch
from torch import nn

from recombine.base.errors import SettingError
from recombine_lab.models.model import count_parameters
from recombine_lab.models.vision import CNN
from recombine_lab.tasks.task import Shapes

PAIRS = Shapes(inputs=(1, 28, 56), outputs=(10,), kind="classes")


def test_published_counts() -> None:
    assert count_parameters(CNN().build(PAIRS)) == 1_145_930
    assert count_parameters(CNN(padded=True).build(PAIRS)) == 1_625_162
    assert count_parameters(CNN(dense=(64, 64)).build(PAIRS)) == 1_145_930 + 4_160


def test_the_order_of_layers() -> None:
    kinds = [type(layer) for layer in CNN().build(PAIRS)]
    assert kinds == [
        nn.Conv2d, nn.ReLU, nn.MaxPool2d, nn.Conv2d, nn.ReLU, nn.Flatten, nn.Linear, nn.ReLU, nn.Sequential,
    ]  # fmt: skip


def test_the_preset_of_the_kernel_theory() -> None:
    shapes = Shapes(inputs=(2, 28, 28), outputs=(1,), kind="values")
    network = CNN.preset("kernel_theory").build(shapes)
    convolutions = sum((25 * a + 1) * b + 2 * b for a, b in [(2, 32), (32, 32), (32, 64), (64, 64)])
    left = (28 - 4 * 4) // 2
    dense = sum((a + 1) * b for a, b in [(64 * left**2, 512), (512, 1024), (1024, 1)])
    assert count_parameters(network) == convolutions + dense
    assert [type(layer) for layer in network[:3]] == [nn.Conv2d, nn.ReLU, nn.BatchNorm2d]
    assert network(torch.zeros(3, *shapes.inputs)).shape == (3, 1)
    assert CNN.preset("digit_pairs") == CNN()


def test_an_unknown_preset() -> None:
    with pytest.raises(SettingError, match="did you mean 'kernel_theory'"):
        CNN.preset("kernel-theory")


@pytest.mark.parametrize("side", range(6, 13))
def test_the_size_that_is_left(side: int) -> None:
    """Whatever is said to be left is what the convolutions leave."""
    model = CNN(channels=(2, 3, 4), pool=(1, 3), dense=(5,))
    shapes = Shapes(inputs=(1, side, side + 3), outputs=(2,), kind="classes")
    left = [((side - 2) // 2 - 4) // 2 for side in shapes.inputs[1:]]
    if min(left) < 1:
        with pytest.raises(SettingError, match="leave no pixel") as caught:
            model.build(shapes)
        assert "padded=True" in str(caught.value)
    else:
        assert model.build(shapes)(torch.zeros(2, *shapes.inputs)).shape == (2, 2)
    assert CNN(channels=(2,), pool=(1,), padded=True).build(shapes)(torch.zeros(2, *shapes.inputs)).shape == (2, 2)
