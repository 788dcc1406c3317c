"""Networks of parts: published counts, every composition, matched widths."""

import pytest
import torch

from recombine.base.errors import SettingError
from recombine_lab.models.compositional import Compositional, Monolithic, parameters
from recombine_lab.models.model import count_parameters
from recombine_lab.tasks.compositions import COMPOSITIONS, compose
from recombine_lab.tasks.task import Shapes
from tests.lab.models.cases import SPRITES, SUMS, inputs


def sprites(size: int, *, channels: int = 3, slots: int = 2) -> Shapes:
    return Shapes(inputs=(5 * slots,), outputs=(channels, size, size), kind="values", slots=slots)


def test_published_counts() -> None:
    shapes = sprites(64)
    assert count_parameters(Compositional().build(shapes)) == 554_950
    assert count_parameters(Compositional(shared=True).build(shapes)) == 277_475
    assert count_parameters(Monolithic().build(shapes)) == 587_779
    assert count_parameters(Compositional(composition="alpha", shared=True).build(shapes)) == 277_604


@pytest.mark.parametrize("size", [16, 32, 64])
@pytest.mark.parametrize("model", [Compositional(), Monolithic(), Compositional(shared=True)])
def test_counted_without_being_built(size: int, model: Compositional | Monolithic) -> None:
    assert parameters(model, sprites(size)) == count_parameters(model.build(sprites(size)))


@pytest.mark.parametrize("name", COMPOSITIONS)
@pytest.mark.parametrize("slots", [2, 4])
def test_the_whole_is_composed_of_the_parts(name: str, slots: int) -> None:
    shapes = sprites(16, channels=3 * slots if name == "concatenation" else 3, slots=slots)
    network = Compositional(composition=name, hidden=8, channels=4).start(shapes, seed=0)
    batch = inputs(shapes)
    parts = [decoder(batch[:, 5 * k : 5 * k + 5]) for k, decoder in enumerate(network.decoders)]
    assert parts[0].shape == (5, 4 if name == "alpha" else 3, 16, 16)
    torch.testing.assert_close(network(batch), compose(name, torch.stack(parts, 1)))


def test_a_slot_moves_only_its_own_part() -> None:
    network = Compositional(hidden=8, channels=4).start(SPRITES, seed=0)
    batch = inputs(SPRITES)
    moved = batch + torch.tensor([0.0] * 5 + [1.0] * 5)
    before, after = network.components(batch), network.components(moved)
    assert torch.equal(before[:, 0], after[:, 0])
    assert not torch.allclose(before[:, 1], after[:, 1])


def test_a_shared_decoder_draws_all_slots_alike() -> None:
    network = Compositional(shared=True, hidden=8, channels=4).start(SPRITES, seed=0)
    batch = inputs(SPRITES)
    swapped = network.components(batch.reshape(-1, 2, 5).flip(1).reshape(-1, 10))
    torch.testing.assert_close(swapped, network.components(batch).flip(1))


def test_an_alpha_network_without_opacity_cannot_learn() -> None:
    """A weakness of the published network, kept: a clamped opacity passes no gradient."""
    network = Compositional(composition="alpha", shared=True, hidden=8, channels=4).start(SPRITES, seed=0)
    for bias, learns in ((1.0, True), (-100.0, False)):
        with torch.no_grad():
            network.decoders[0].picture.bias[3] = bias
        network.zero_grad()
        (network(inputs(SPRITES)) - 1).square().sum().backward()
        assert any(parameter.grad.any() for parameter in network.parameters()) == learns


def test_numbers_and_scores_are_composed_too() -> None:
    network = Compositional(decoder="mlp", composition="add", hidden=4).start(SUMS, seed=0)
    batch = inputs(SUMS)
    parts = [decoder(batch[:, 9 * k : 9 * k + 9]) for k, decoder in enumerate(network.decoders)]
    torch.testing.assert_close(network(batch), parts[0] + parts[1])
    scores = Shapes(inputs=(2, 6, 6), outputs=(10,), kind="classes", slots=2)
    assert Compositional(decoder="mlp", composition="add", hidden=4).build(scores)(inputs(scores)).shape == (5, 10)


@pytest.mark.parametrize("size", [8, 16, 32, 64])
@pytest.mark.parametrize(("decoder", "channels"), [("slot", 64), ("slot", 32), ("broadcast", 64), ("mlp", 64)])
def test_matched_to_one_percent(size: int, decoder: str, channels: int) -> None:
    shapes = sprites(size)
    wanted = count_parameters(Compositional(decoder=decoder).build(shapes))
    matched = count_parameters(Monolithic(decoder=decoder, channels=channels, match=True).build(shapes))
    assert abs(matched / wanted - 1) <= 0.01


def test_the_matched_width_is_the_nearest_of_all() -> None:
    shapes, small = sprites(16), Compositional(hidden=60, channels=8)
    wanted = parameters(small, shapes)
    widths = {width: abs(parameters(Monolithic(hidden=width, channels=8), shapes) - wanted) for width in range(80, 120)}
    found = Monolithic(channels=8).matching(small, shapes)
    assert widths[found.hidden] == min(widths.values())
    assert not found.match


def test_a_matched_network_is_the_one_of_that_width() -> None:
    shapes = sprites(16)
    width = Monolithic().matching(Compositional(), shapes).hidden
    asked, named = Monolithic(match=True).start(shapes, seed=5), Monolithic(hidden=width).start(shapes, seed=5)
    batch = inputs(shapes)
    assert torch.equal(asked(batch), named(batch))


def test_what_cannot_be_matched() -> None:
    with pytest.raises(SettingError, match="cannot be matched to the 277") as caught:
        Monolithic(channels=256).matching(Compositional(shared=True), sprites(64))
    assert "write other channels than 256" in str(caught.value)
    with pytest.raises(SettingError, match="needs a task with slots") as caught:
        Monolithic(match=True).build(sprites(16, slots=1))
    assert "instead of match" in str(caught.value)


def test_a_task_without_slots() -> None:
    with pytest.raises(SettingError, match="but the task has slots=1") as caught:
        Compositional().build(sprites(16, slots=1))
    assert "use monolithic or mlp" in str(caught.value)
    side_by_side = Shapes(inputs=(1, 28, 56), outputs=(10,), kind="classes", slots=2)
    with pytest.raises(SettingError, match="two equal parts or more"):
        Compositional(decoder="mlp", composition="add").build(side_by_side)
    assert Monolithic(hidden=8, channels=4).build(sprites(16, slots=1))(torch.zeros(2, 5)).shape == (2, 3, 16, 16)


@pytest.mark.parametrize(
    ("name", "channels", "needed"), [("alpha", 1, "3 channels"), ("alpha", 6, "3 channels"), ("concatenation", 3, "2")]
)
def test_a_composition_that_cannot_give_these_channels(name: str, channels: int, needed: str) -> None:
    with pytest.raises(SettingError, match=f"needs {needed}.*to draw") as caught:
        Compositional(composition=name).build(sprites(16, channels=channels))
    assert "the task's own composition" in str(caught.value)
