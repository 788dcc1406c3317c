"""Sprites: shapes of the right size in the right place, derivatives, the paper's ranges, and every composition."""

import colorsys
import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from recombine import CombinationKFold, Corner, HoldOutCombinations
from recombine.base.errors import SettingError
from recombine_lab.tasks import sprites as renderer_module
from recombine_lab.tasks.catalogue import TASKS
from recombine_lab.tasks.compositions import COMPOSITIONS, compose
from recombine_lab.tasks.exposure import HeldOut
from recombine_lab.tasks.sprites import SHAPES, Outlines, Renderer, Sprites, colours
from recombine_lab.tasks.task import Batch
from tests.properties import examples

NAMES = sorted(COMPOSITIONS)


def sprite(shape: int, *, x: float = 0.5, y: float = 0.5, scale: float = 0.22, hue: float = 0.3) -> Tensor:
    return torch.tensor([x, y, shape, scale, hue], dtype=torch.float64)


def sprites(n: int, slots: int, *, seed: int = 0, dtype: torch.dtype = torch.float64) -> Tensor:
    task = Sprites(slots=slots)
    rng = torch.Generator().manual_seed(seed)
    return task.values(torch.rand(n, 5 * slots, generator=rng)).to(dtype)


def drawn(task: Sprites, points: Tensor) -> Batch:
    return task.render(points, seed=0, part="train")


# -- shapes ----------------------------------------------------------------------------------------------------------


def corners(shape: int) -> np.ndarray:
    """The polygon of area 1 around 0: a triangle with its tip up, a square, a circle of very many sides."""
    sides, turn = {0: (3, math.pi / 2), 1: (4, math.pi / 4), 2: (1500, 0.0)}[shape]
    radius = math.sqrt(2 / (sides * math.sin(2 * math.pi / sides)))
    angles = turn + 2 * math.pi * np.arange(sides) / sides
    return radius * np.stack([np.cos(angles), np.sin(angles)], axis=1)


def distance_to_outline(points: np.ndarray, polygon: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How far each point is from the nearest side, and whether that nearest place is not a corner."""
    start, along = polygon, np.roll(polygon, -1, axis=0) - polygon
    t = ((points[:, None] - start) * along).sum(-1) / (along**2).sum(-1)
    nearest = start + np.clip(t, 0, 1)[..., None] * along
    away = np.linalg.norm(points[:, None] - nearest, axis=-1)
    best = away.argmin(1)
    rows = np.arange(len(points))
    return away[rows, best], (t[rows, best] > 0) & (t[rows, best] < 1)


@pytest.mark.parametrize("shape", [0, 1, 2])
def test_depths_are_signed_distances(shape: int) -> None:
    x, y, scale, size = 0.43, 0.61, 0.2, 40
    found = Outlines.of(sprite(shape, x=x, y=y, scale=scale), size=size).depths().numpy()
    centres = (np.arange(size) + 0.5) / size
    points = np.stack(np.meshgrid(centres, 1 - centres), axis=-1).reshape(-1, 2)
    away, beside_a_side = distance_to_outline(points, np.array([x, y]) + scale * corners(shape))
    exact = (found.ravel() > 0) | beside_a_side | (shape == 2)
    np.testing.assert_allclose(np.abs(found.ravel())[exact], away[exact], atol=1e-6)
    assert (np.abs(found.ravel()) <= away + 1e-6).all(), "no depth is beyond the distance"
    assert exact.mean() > 0.3


@pytest.mark.parametrize("shape", [0, 1, 2])
@pytest.mark.parametrize("scale", [0.09, 0.22])
def test_area_and_centroid(shape: int, scale: float) -> None:
    size = 256
    mask = Renderer(size=size, sharpness=4.0).masks(sprite(shape, x=0.4, y=0.7, scale=scale))
    centres = (torch.arange(size, dtype=torch.float64) + 0.5) / size
    area = mask.sum() / size**2
    assert area.item() == pytest.approx(scale**2, rel=0.01)
    assert (mask.sum(0) @ centres / mask.sum()).item() == pytest.approx(0.4, abs=1e-3)
    assert (mask.sum(1) @ (1 - centres) / mask.sum()).item() == pytest.approx(0.7, abs=1e-3)


def test_x_goes_right_and_y_goes_up() -> None:
    mask = Renderer(size=32).masks(sprite(2, x=0.9, y=0.8, scale=0.1))
    row, column = divmod(int(mask.argmax()), 32)
    assert (row, column) == (6, 28)


def test_a_triangle_stands_on_its_side() -> None:
    widths = (Renderer(size=64).masks(sprite(0, scale=0.5)) > 0.5).sum(1)
    widths = widths[widths > 0]
    assert (widths.diff() >= 0).all(), "it widens from the tip at the top down to the side"
    assert widths[0] <= 2


@given(st.floats(0, 1))
def test_hues_are_those_of_colorsys(hue: float) -> None:
    found = colours(torch.tensor(hue, dtype=torch.float64)).numpy()
    np.testing.assert_allclose(found, colorsys.hsv_to_rgb(hue, 1.0, 1.0), atol=1e-9)


# -- derivatives -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in NAMES if name != "hard_occlusion"])
def test_differentiable_in_position_scale_and_hue(name: str) -> None:
    channels = COMPOSITIONS[name].channels or 3
    drawing = Renderer(size=6, composition=name, channels=channels, sharpness=2.0)
    values = sprites(1, 3, seed=2)
    values[..., 2] = torch.tensor([0, 1, 2])
    values[..., 3] += 0.2
    x, y, shape, scale, hue = (part.clone() for part in values.unbind(-1))

    def picture(*parts: Tensor) -> Tensor:
        return drawing.pictures(torch.stack([parts[0], parts[1], shape, parts[2], parts[3]], dim=-1))

    asked = [part.requires_grad_() for part in (x, y, scale, hue)]
    assert torch.autograd.gradcheck(picture, asked)
    slopes = torch.autograd.grad(picture(*asked).sum(), asked)
    assert all((slope != 0).any() for slope in slopes) or name == "product"


def test_finite_at_the_centre_of_a_circle() -> None:
    middle = sprite(2, x=0.5, y=0.5).requires_grad_()
    Renderer(size=3).masks(middle).sum().backward()
    assert torch.isfinite(middle.grad).all()


def test_maps_over_examples() -> None:
    drawing = Renderer(size=8)
    values = sprites(4, 2)
    mapped = torch.func.vmap(lambda one: drawing.pictures(one[None])[0])(values)
    torch.testing.assert_close(mapped, drawing.pictures(values))
    assert torch.func.jacrev(drawing.pictures)(values[:1]).shape == (1, 3, 8, 8, 1, 2, 5)


# -- pictures --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("slots", [1, 2, 4])
def test_the_short_way_draws_what_the_composition_says(name: str, slots: int) -> None:
    drawing = Renderer(size=16, composition=name, channels=COMPOSITIONS[name].channels or 3)
    values = sprites(20, slots, seed=slots)
    torch.testing.assert_close(drawing.pictures(values), compose(name, drawing.components(values)))


def test_chunks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    values = sprites(11, 2, dtype=torch.float32)
    whole = Renderer(size=16).pictures(values)
    monkeypatch.setattr(renderer_module, "_AT_ONCE", 2 * 16 * 16 * 3)
    torch.testing.assert_close(Renderer(size=16).pictures(values), whole)
    torch.testing.assert_close(Renderer(size=16).pictures(values.clone().requires_grad_()).detach(), whole)


def test_no_more_than_a_few_examples_are_worked_on_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    largest = 0
    sigmoid = torch.sigmoid

    def watched(given_tensor: Tensor) -> Tensor:
        nonlocal largest
        largest = max(largest, given_tensor.numel())
        return sigmoid(given_tensor)

    monkeypatch.setattr(torch, "sigmoid", watched)
    Renderer(size=64).pictures(sprites(200, 2, dtype=torch.float32))
    assert 0 < largest <= renderer_module._AT_ONCE


def test_the_background_is_black_and_the_front_in_front() -> None:
    front, back = sprite(1, hue=0.0), sprite(2, hue=1 / 3)
    image = Renderer(size=64, composition="hard_occlusion").pictures(torch.stack([front, back])[None])[0]
    assert image[:, 0, 0].tolist() == pytest.approx([0, 0, 0], abs=1e-6)
    assert image[:, 32, 32].tolist() == pytest.approx([1, 0, 0], abs=1e-3)


# -- the task --------------------------------------------------------------------------------------------------------


def test_corners_of_the_cube_are_the_papers_ranges() -> None:
    task = Sprites()
    low, high = task.values(torch.stack([torch.zeros(10), torch.ones(10)]))
    np.testing.assert_allclose(low[0], [0.1, 0.2, 0, 0.09, 0.05], rtol=1e-6)
    np.testing.assert_allclose(high[1], [0.9, 0.8, 2, 0.22, 0.95], rtol=1e-6)
    assert [latent.name for latent in task.ranges][:5] == ["x0", "y0", "shape0", "scale0", "hue0"]


def test_a_quarter_are_triangles_and_half_are_squares() -> None:
    points = torch.rand(40_000, 10, generator=torch.Generator().manual_seed(0))
    shapes = Sprites().values(points)[:, 0, 2]
    torch.testing.assert_close(shapes, torch.round(2 * points[:, 2]))
    shares = [(shapes == level).double().mean().item() for level in range(3)]
    assert shares == pytest.approx([0.25, 0.5, 0.25], abs=0.01)


def test_the_audit_sees_the_shape_that_is_drawn() -> None:
    task = Sprites()
    points = torch.rand(500, 10, generator=torch.Generator().manual_seed(1))
    codes = task.combinations(points)
    np.testing.assert_array_equal(codes[:, [2, 7]], task.values(points)[..., 2].numpy())
    assert task.space.factors[2].values == SHAPES


@examples(30)
@given(st.integers(0, 10**6), st.integers(1, 7))
def test_points_lie_in_the_bins_of_their_combination(seed: int, bins: int) -> None:
    task = Sprites(bins=bins)
    sizes = [latent.size for latent in task.ranges]
    codes = np.random.default_rng(seed).integers(0, sizes, size=(200, 10))
    np.testing.assert_array_equal(task.combinations(task.latents(codes, seed=seed)), codes)


def test_the_last_number_below_one_stays_in_its_bin(monkeypatch: pytest.MonkeyPatch) -> None:
    task = Sprites(bins=7)
    codes = np.tile(np.arange(3), (10, 1)).T
    almost = 1 - 2.0**-24
    monkeypatch.setattr(torch, "rand", lambda shape, generator: torch.full(shape, almost))
    np.testing.assert_array_equal(task.combinations(task.latents(codes, seed=0)), codes)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("slots", [2, 4])
def test_shapes_are_what_is_drawn(name: str, slots: int) -> None:
    task = Sprites(slots=slots, size=8, composition=name)
    batch = task.tensors(np.zeros((3, 5 * slots), dtype=np.int64), seed=0)
    assert (3, *task.shapes.inputs) == batch.inputs.shape
    assert (3, *task.shapes.outputs) == batch.targets.shape
    assert task.shapes.slots == slots
    assert batch.targets.dtype == batch.inputs.dtype == torch.float32


def test_inputs_are_the_values_slot_by_slot() -> None:
    task = Sprites(size=8)
    points = torch.rand(5, 10)
    torch.testing.assert_close(drawn(task, points).inputs.reshape(5, 2, 5), task.values(points))


def test_the_same_seed_draws_the_same() -> None:
    task, codes = Sprites(size=8), np.ones((4, 10), dtype=np.int64)
    one, same, other = (task.tensors(codes, seed=seed).targets for seed in (0, 0, 1))
    assert torch.equal(one, same)
    assert not torch.equal(one, other)


def test_soft_occlusion_of_the_paper_at_known_pixels() -> None:
    task = Sprites()
    red_front = [0.5, 0.5, 0.5, 1.0, -0.05 / 0.9]  # hue 0
    green_behind = [0.0, 0.5, 0.5, 1.0, (1 / 3 - 0.05) / 0.9]
    image = drawn(task, torch.tensor([red_front + green_behind])).targets[0]
    assert image[:, 32, 32].tolist() == pytest.approx([torch.sigmoid(torch.tensor(1.0)).item(), 0, 0], abs=1e-3)
    assert image[:, 32, 6].tolist() == pytest.approx([0, 0.5, 0], abs=1e-3)


@pytest.mark.parametrize(
    "splitter",
    [
        HoldOutCombinations(["x0", "x1"], test_size=0.2),
        CombinationKFold(["x0", "shape0"], n_splits=3),
        Corner(["hue0", "hue1"], at=0.65),
    ],
)
def test_works_with_splitters(splitter: object) -> None:
    task = Sprites(size=8, bins=2)
    parts = HeldOut(splitter).parts(task, seed=0)
    seen, unseen = (
        {tuple(code) for code in parts.tests[side].codes[:, [0, 2, 4, 5, 9]]} for side in ("seen", "unseen")
    )
    assert seen
    assert unseen
    drawn_codes = task.combinations(parts.train.draw(100, seed=1))
    assert {tuple(code) for code in drawn_codes[:, [0, 2, 4, 5, 9]]} <= seen


def test_by_name() -> None:
    task = TASKS.build({"name": "sprites", "slots": 4, "size": 16, "composition": "alpha"})
    assert task == Sprites(slots=4, size=16, composition="alpha")
    assert TASKS.build(TASKS.spec(task)) == task


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"composition": "aplha"}, r"no composition 'aplha'\n.*\n.*did you mean 'alpha'"),
        ({"composition": "alpha", "channels": 3}, r"channels=3 with composition='alpha'\n.*4 channels\n.*channels=4"),
        ({"slots": 0}, r"slots=0\n.*at least 1\n.*slots=3"),
        ({"size": 1}, r"size=1\n.*at least 2"),
        ({"sharpness": 0.0}, r"sharpness=0.0\n.*positive slope\n.*sharpness=4.0"),
    ],
)
def test_settings_that_mean_nothing(wrong: dict[str, object], words: str) -> None:
    with pytest.raises(SettingError, match=words):
        TASKS.build({"name": "sprites"} | wrong)


def test_too_many_bins_to_list_say_so() -> None:
    with pytest.raises(SettingError, match="sample them"):
        Sprites(slots=4).every()
