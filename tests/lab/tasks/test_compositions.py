"""Composition functions: their formulas, their Jacobians against autograd, and the facts that are known of them."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from recombine.base.errors import SettingError
from recombine_lab.tasks.compositions import COMPOSITIONS, compose, composed_channels, jacobian

NAMES = sorted(COMPOSITIONS)


def images(*, slots: int = 2, channels: int = 3, n: int = 2, side: int = 2, seed: int = 0) -> Tensor:
    rng = torch.Generator().manual_seed(seed)
    return torch.rand(n, slots, channels, side, side, generator=rng, dtype=torch.float64)


def channels_of(name: str) -> int:
    return COMPOSITIONS[name].channels or 3


def pixel(front: list[float], back: list[float]) -> Tensor:
    return torch.tensor([front, back], dtype=torch.float64)[None, :, :, None, None]


def block(name: str, components: Tensor, slot: int) -> np.ndarray:
    return jacobian(name, components, slot)[0, 0, 0].numpy()


# -- the formulas, pixel by pixel ------------------------------------------------------------------------------------


def sigmoid(x: float) -> float:
    return 1 / (1 + np.exp(-x))


def twin(name: str, slots: np.ndarray) -> np.ndarray:
    """One pixel of each slot (K, C), composed by plain arithmetic."""
    if name == "add":
        return slots.sum(0)
    if name == "product":
        return slots.prod(0)
    if name == "concatenation":
        return np.concatenate(list(slots))
    if name == "alpha":
        whole = np.zeros(3)
        for one in slots[::-1]:
            whole = one[3] * one[:3] + (1 - one[3]) * whole
        return whole
    whole = slots[-1]
    for one in slots[-2::-1]:
        s = one.sum()
        gate = sigmoid(s) if name == "soft_occlusion" else float(s > 0.5)
        whole = one * gate + whole * (1 - gate)
    return whole


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("slots", [1, 2, 4])
def test_every_pixel_is_as_the_formula_says(name: str, slots: int) -> None:
    given_images = images(slots=slots, channels=channels_of(name), seed=3) * 0.4
    made = compose(name, given_images)
    for n, row, column in np.ndindex(2, 2, 2):
        expected = twin(name, given_images[n, :, :, row, column].numpy())
        np.testing.assert_allclose(made[n, :, row, column].numpy(), expected, rtol=1e-12)


def test_soft_occlusion_is_the_papers_blend() -> None:
    a, b = images().unbind(1)
    s = a.sum(1, keepdim=True)
    expected = a * torch.sigmoid(s) + b * torch.sigmoid(-s)
    torch.testing.assert_close(compose("soft_occlusion", images()), expected)


@pytest.mark.parametrize(("s", "front", "back"), [(0, 0.5, 0.5), (1, 0.731, 0.269), (2, 0.881, 0.119)])
def test_soft_occlusion_weights(s: float, front: float, back: float) -> None:
    colour = [s, 0.0, 0.0]
    assert compose("soft_occlusion", pixel(colour, [0, 0, 0]))[0, 0].item() == pytest.approx(front * s, abs=1e-3)
    assert block("soft_occlusion", pixel(colour, [0, 1, 0]), 1)[1, 1] == pytest.approx(back, abs=1e-3)


# -- the Jacobians ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("slots", [1, 2, 3])
def test_blocks_are_what_autograd_finds(name: str, slots: int) -> None:
    given_images = images(slots=slots, channels=channels_of(name), seed=5)
    whole = torch.func.jacrev(lambda components: compose(name, components))(given_images)
    for slot in range(slots):
        blocks = jacobian(name, given_images, slot)
        for n, row, column in np.ndindex(2, 2, 2):
            found = whole[n, :, row, column, n, slot, :, row, column]
            torch.testing.assert_close(blocks[n, row, column], found, rtol=1e-10, atol=1e-12)
    own = torch.zeros_like(whole, dtype=torch.bool)
    for n, row, column in np.ndindex(2, 2, 2):
        own[n, :, row, column, n, :, :, row, column] = True
    assert not whole[~own].any(), "a pixel depends on another pixel"


def test_a_clamped_alpha_moves_nothing() -> None:
    over = torch.tensor([0.2, 0.4, 0.6, 1.5], dtype=torch.float64)
    components = torch.stack([over, over])[None, :, :, None, None]
    found = torch.func.jacrev(lambda given_images: compose("alpha", given_images))(components)[
        0, :, 0, 0, 0, 0, :, 0, 0
    ]
    np.testing.assert_allclose(block("alpha", components, 0), found.numpy())
    assert not block("alpha", components, 0)[:, 3].any()


@given(st.lists(st.floats(0, 1), min_size=6, max_size=6))
def test_determinant_of_the_front(colours: list[float]) -> None:
    s, t = sum(colours[:3]), sum(colours[3:])
    g = sigmoid(s)
    found = np.linalg.det(block("soft_occlusion", pixel(colours[:3], colours[3:]), 0))
    assert found == pytest.approx(g**3 * (1 + (1 - g) * (s - t)), abs=1e-12)


@pytest.mark.parametrize(
    ("back", "det", "smallest"),
    [((1, 0.3, 0), 0.04375, 0.146), ((1, 0.2, 0), 0.05, 0.165), ((1, 0.8, 0), 0.0125, 0.042), ((1, 1, 0), 0, 0)],
)
def test_empty_front_pixels_by_what_is_behind(back: tuple[float, ...], det: float, smallest: float) -> None:
    found = block("soft_occlusion", pixel([0, 0, 0], list(back)), 0)
    assert np.linalg.det(found) == pytest.approx(det, abs=1e-12)
    assert np.linalg.svd(found, compute_uv=False)[-1] == pytest.approx(smallest, abs=1e-3)


@pytest.mark.parametrize(("alpha", "single", "stacked"), [(0.0, 1, 1), (0.5, 3, 4), (1.0, 3, 4)])
def test_alpha_has_too_few_ranks_in_a_sum_and_enough_in_a_stack(alpha: float, single: int, stacked: int) -> None:
    rng = np.random.default_rng(0)
    blocks = []
    for _ in range(5):
        partner = [*rng.random(3), 1.0]
        blocks.append(block("alpha", pixel([0.3, 0.6, 0.9, alpha], partner), 0))
    assert {np.linalg.matrix_rank(one) for one in blocks} == {single}
    assert np.linalg.matrix_rank(sum(blocks)) == single
    assert np.linalg.matrix_rank(np.concatenate(blocks)) == stacked


def test_blocks_of_the_simple_ones() -> None:
    two = images(n=1, side=1)
    eye = np.eye(3)
    np.testing.assert_array_equal(block("add", two, 1), eye)
    np.testing.assert_array_equal(block("concatenation", two, 1), np.concatenate([0 * eye, eye]))
    np.testing.assert_array_equal(block("product", two, 0), np.diag(two[0, 1, :, 0, 0].numpy()))
    covered, open_ = pixel([1, 0, 0], [0, 1, 0]), pixel([0, 0, 0], [0, 1, 0])
    np.testing.assert_array_equal(block("hard_occlusion", covered, 0), eye)
    np.testing.assert_array_equal(block("hard_occlusion", covered, 1), 0 * eye)
    np.testing.assert_array_equal(block("hard_occlusion", open_, 1), eye)


# -- as models use them ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_can_be_mapped(name: str) -> None:
    many = torch.stack([images(channels=channels_of(name), seed=seed) for seed in range(3)])
    mapped = torch.func.vmap(lambda one: compose(name, one))(many)
    torch.testing.assert_close(mapped, torch.stack([compose(name, one) for one in many]))


@pytest.mark.parametrize("name", NAMES)
def test_counts_its_channels(name: str) -> None:
    made = compose(name, images(slots=4, channels=channels_of(name)))
    assert composed_channels(name, slots=4, channels=channels_of(name)) == made.shape[1]


def test_an_unknown_name_is_told_the_nearest() -> None:
    with pytest.raises(SettingError, match="did you mean 'soft_occlusion'"):
        compose("soft_oclusion", images())


def test_alpha_needs_four_channels() -> None:
    with pytest.raises(SettingError, match=r"components of 3 channels\n.*'alpha' takes 4\n.*\(n, slots, 4"):
        compose("alpha", images())


def test_a_slot_that_is_not_there() -> None:
    with pytest.raises(SettingError, match=r"slot=2\n.*have 2 slots\n.*from 0, in front, to 1"):
        jacobian("add", images(), 2)
