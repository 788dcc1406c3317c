"""The networks that Hugging Face transformers brings: built without a network, without a word, at small sizes."""

import logging
import socket
import warnings

import pytest
import torch
from torch import nn

from recombine.base.errors import SettingError
from recombine_lab.models.catalogue import MODELS
from recombine_lab.models.model import Model, count_parameters
from recombine_lab.models.vision import ResNet, ViT
from recombine_lab.tasks.task import Shapes

CIFAR = Shapes(inputs=(3, 32, 32), outputs=(10,), kind="classes")


def residual(channels: list[int], blocks: list[int], *, taken: int, given: int) -> int:
    """The count by hand: a stem, two convolutions a block, a shortcut where the width changes, a head."""
    total, before = 9 * taken * channels[0] + 2 * channels[0], channels[0]
    for width, depth in zip(channels, blocks, strict=True):
        total += 9 * before * width + 2 * width + (2 * depth - 1) * (9 * width * width + 2 * width)
        total += 0 if width == before else before * width + 2 * width
        before = width
    return total + (before + 1) * given


def transformer(
    *, width: int, depth: int, inner: int, patches: int, patch: int, taken: int, given: int, attended: int | None = None
) -> int:
    """The count by hand: patches, class token, positions, layers, a last norm, a head."""
    attended = width if attended is None else attended
    layer = 3 * (width + 1) * attended + (attended + 1) * width
    layer += (width + 1) * inner + (inner + 1) * width + 4 * width
    return (patch**2 * taken + 1) * width + (patches + 2) * width + depth * layer + 2 * width + (width + 1) * given


@pytest.mark.parametrize("norm", ["batch", "instance"])
def test_the_residual_networks_count(norm: str) -> None:
    network = ResNet(norm=norm).build(CIFAR)
    assert count_parameters(network) == residual([16, 32, 64, 128], [2, 2, 2, 2], taken=3, given=10)
    kinds = {type(module) for module in network.modules()}
    assert (nn.BatchNorm2d in kinds) == (norm == "batch")
    assert (nn.InstanceNorm2d in kinds) == (norm == "instance")


def test_the_residual_network_keeps_small_images_large() -> None:
    body = ResNet().build(CIFAR).eval().body
    sides = [state.shape[-1] for state in body(torch.zeros(1, 3, 32, 32), output_hidden_states=True).hidden_states]
    assert sides == [32, 32, 16, 8, 4]


def test_the_transformers_count() -> None:
    expected = transformer(width=256, depth=4, inner=1024, patches=16, patch=8, taken=3, given=10)
    assert count_parameters(ViT().build(CIFAR)) == expected


def test_the_transformer_of_the_kernel_theory_has_six_heads_whose_size_does_not_follow_from_the_width() -> None:
    model = ViT.preset("kernel_theory")
    assert (model.heads, model.width, model.inner, model.depth) == (6, 256, 256, 4)
    network = model.start(CIFAR, seed=0)
    expected = transformer(width=256, depth=4, inner=256, patches=16, patch=8, taken=3, given=10, attended=6 * 64)
    assert count_parameters(network) == expected
    assert network(torch.zeros(2, 3, 32, 32)).shape == (2, 10)
    with pytest.raises(SettingError, match="no preset 'kernel'"):
        ViT.preset("kernel")


def test_six_heads_of_equal_parts_are_still_refused() -> None:
    with pytest.raises(SettingError, match="equal part of the width"):
        ViT(heads=6)


def test_heads_of_their_own_size_that_share_the_width_are_the_heads_that_share_it() -> None:
    shared = ViT(width=16, heads=2, depth=1, inner=8)
    own = ViT(width=16, heads=2, depth=1, inner=8, head=8)
    images = torch.rand(3, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    answers = [model.start(CIFAR, seed=1).eval()(images) for model in (shared, own)]
    assert torch.equal(*answers)


def test_runs_of_earlier_versions_are_found_by_the_settings_that_they_had() -> None:
    assert "head" not in MODELS.spec(ViT())
    assert MODELS.spec(ViT(head=5))["head"] == 5


def test_dropout_only_while_training() -> None:
    network = ViT(width=16, heads=2, depth=1, inner=16, dropout=0.5).start(CIFAR, seed=0)
    images = torch.rand(2, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        assert not torch.equal(network.train()(images), network(images))
        assert torch.equal(network.eval()(images), network(images))


@pytest.mark.parametrize("model", [ResNet(blocks=(1,), channels=(4,)), ViT(width=8, heads=2, depth=1, inner=8)])
def test_nothing_is_fetched_and_nothing_is_said(
    model: Model, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise AssertionError("a connection was tried")

    monkeypatch.setattr(socket.socket, "connect", refused)
    with warnings.catch_warnings(), caplog.at_level(logging.WARNING):
        warnings.simplefilter("error")
        network = model.build(CIFAR)
        network(torch.zeros(2, 3, 32, 32)).sum().backward()
        assert network.eval()(torch.zeros(2, 3, 32, 32)).shape == (2, 10)
    said = capfd.readouterr()
    assert (said.out, said.err, caplog.text) == ("", "", "")


def test_images_that_are_too_small_or_do_not_divide() -> None:
    with pytest.raises(SettingError, match="at least 9 x 9 pixels") as caught:
        ResNet().build(Shapes(inputs=(3, 8, 32), outputs=(2,), kind="classes"))
    assert "fewer stages" in str(caught.value)
    with pytest.raises(SettingError, match="multiples of its patch, 8 pixels") as caught:
        ViT(patch=8).build(Shapes(inputs=(1, 28, 56), outputs=(2,), kind="classes"))
    assert "patch=7" in str(caught.value)
    smallest = Shapes(inputs=(3, 9, 9), outputs=(2,), kind="classes")
    for norm in ("batch", "instance"):
        assert ResNet(norm=norm).build(smallest).train()(torch.rand(2, 3, 9, 9)).isfinite().all()
