"""Supports over continuous latents: their definitions, and the figures that are known of them."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from recombine.base.errors import SettingError
from recombine_lab.tasks.bumps import Bumps
from recombine_lab.tasks.conjunction_tasks import Toy
from recombine_lab.tasks.continuous_supports import GAP, Band, DiagonalBand, Orthogonal, Random, Uniform
from recombine_lab.tasks.exposure import SPLITS, Exposure, Parts
from recombine_lab.tasks.sprites import Sprites
from recombine_lab.tasks.task import Batch, ContinuousTask, Range, Shapes
from tests.properties import examples

MANY = 30_000
EVERY = [
    Random(),
    *(Orthogonal(variant=variant) for variant in ("plain", "plus", "star", "normal", "gap")),
    DiagonalBand(delta=0.05),
    DiagonalBand(delta=0.2),
]


@dataclass(frozen=True)
class Pairs(ContinuousTask):
    """Three slots of two entries: the supports know no more of a task than its slots."""

    @property
    def ranges(self) -> tuple[Range, ...]:
        return tuple(Range(f"{name}{slot}") for slot in range(3) for name in ("place", "scale"))

    @property
    def shapes(self) -> Shapes:
        return Shapes(inputs=(6,), outputs=(1,), kind="values", slots=3)

    def render(self, latents: Tensor, *, seed: int, part: str) -> Batch:
        return Batch(latents, latents.sum(1, keepdim=True))

    def truth(self, combinations: np.ndarray) -> None:
        return None


def parts_of(support: Exposure, task: ContinuousTask | None = None) -> Parts:
    return support.parts(task or Sprites(), seed=0)


def drawn(support: Exposure, n: int = MANY, *, slots: int = 2, seed: int = 1) -> np.ndarray:
    """Training points by slot and entry."""
    return parts_of(support, Sprites(slots=slots)).train.draw(n, seed=seed).reshape(n, slots, 5).numpy()


def still_at(place: float) -> np.ndarray:
    return np.array([place, place, place, 0.0, place], dtype=np.float32)


def plane_of(points: np.ndarray, free: int, other: float) -> np.ndarray:
    """Which points have every slot but the free one standing still, at this place."""
    stand = [slot for slot in range(points.shape[1]) if slot != free]
    return (points[:, stand] == still_at(other)).all((1, 2))


# -- what holds for every one of them --------------------------------------------------------------------------------


@pytest.mark.parametrize("support", EVERY, ids=repr)
@pytest.mark.parametrize("slots", [2, 3, 4])
def test_points_of_the_cube_that_depend_on_the_seed_alone(support: Exposure, slots: int) -> None:
    parts = parts_of(support, Sprites(slots=slots))
    for source in (parts.train, *parts.tests.values()):
        points = source.draw(500, seed=3)
        assert points.shape == (500, 5 * slots)
        assert points.dtype == torch.float32
        assert ((points >= 0) & (points <= 1)).all()
        assert torch.equal(points, source.draw(500, seed=3))
        assert not torch.equal(points, source.draw(500, seed=4))
        assert source.draw(0, seed=3).shape == (0, 5 * slots)
        assert source.every() is None


@pytest.mark.parametrize("support", EVERY, ids=repr)
def test_which_sets_are_asked(support: Exposure) -> None:
    asked = set(parts_of(support).tests)
    has_volume = isinstance(support, DiagonalBand) or support == Orthogonal(variant="gap")
    assert asked == {"seen", "all"} | ({"unseen"} if has_volume else set())


@pytest.mark.parametrize("support", EVERY, ids=repr)
def test_leaves_the_global_generator_alone(support: Exposure) -> None:
    before = torch.get_rng_state()
    parts_of(support).train.draw(10, seed=0)
    assert torch.equal(before, torch.get_rng_state())


def test_all_is_uniform() -> None:
    points = parts_of(Orthogonal()).tests["all"].draw(MANY, seed=0)
    assert points.mean(0).numpy() == pytest.approx(np.full(10, 0.5), abs=0.01)
    assert points.var(0).numpy() == pytest.approx(np.full(10, 1 / 12), abs=0.003)


def test_by_name() -> None:
    assert SPLITS.build({"name": "orthogonal", "variant": "star"}) == Orthogonal(variant="star")
    assert SPLITS.build({"name": "diagonal_band", "delta": 0.2}) == DiagonalBand(delta=0.2)
    assert SPLITS.build("random") == Random()
    assert SPLITS.spec(DiagonalBand()) == {"name": "diagonal_band", "delta": 0.1}


# -- planes ----------------------------------------------------------------------------------------------------------

PLANES = {
    "plain": [(0, 1.0), (1, 0.0), (1, 0.5)],
    "plus": [(0, 1.0), (0, 0.7), (1, 0.0), (1, 0.3)],
    "star": [(0, 1.0), (1, 0.0)],
    "normal": [(0, 1.0), (1, 0.0), (1, 0.5)],
    "gap": [(0, 1.0), (1, 0.0), (1, 0.5)],
}


@pytest.mark.parametrize("variant", PLANES)
def test_planes_and_their_shares(variant: str) -> None:
    points = drawn(Orthogonal(variant=variant))
    on = np.stack([plane_of(points, free, other) for free, other in PLANES[variant]])
    assert (on.sum(0) == 1).all(), "every point lies on one of the planes"
    assert on.mean(1) == pytest.approx(np.full(len(on), 1 / len(on)), abs=0.01)


def test_one_third_to_two_thirds() -> None:
    points = drawn(Orthogonal())
    assert plane_of(points, 0, 1.0).mean() == pytest.approx(1 / 3, abs=0.01)


@pytest.mark.parametrize("variant", ["plain", "plus", "star"])
def test_what_is_free_is_uniform(variant: str) -> None:
    points = drawn(Orthogonal(variant=variant))
    free = points[plane_of(points, 1, 0.0), 1]
    assert free.mean(0) == pytest.approx(np.full(5, 0.5), abs=0.02)
    assert free.var(0) == pytest.approx(np.full(5, 1 / 12), abs=0.005)


def test_normal_is_cut_to_the_cube() -> None:
    points = drawn(Orthogonal(variant="normal"))
    free = points[plane_of(points, 0, 1.0), 0].ravel()
    proposed = np.random.default_rng(0).normal(0.5, 1, 400_000)
    kept = proposed[(proposed >= 0) & (proposed <= 1)]
    asked = np.linspace(0.05, 0.95, 19)
    np.testing.assert_allclose(np.quantile(free, asked), np.quantile(kept, asked), atol=0.01)
    assert 0.079 < free.var() < 0.0825, "narrower than uniform, 1/12"


def test_the_gap_is_empty_and_asked_about() -> None:
    low, high = GAP
    parts = parts_of(Orthogonal(variant="gap"))
    first = drawn(Orthogonal(variant="gap"))[:, 0, 0]
    assert not ((first > low) & (first < high)).any()
    free = drawn(Orthogonal(variant="gap"))
    free = free[plane_of(free, 0, 1.0), 0, 0]
    assert (free < low).mean() == pytest.approx(0.05 / 0.6, abs=0.01)
    asked = parts.tests["unseen"].draw(1000, seed=0)
    assert ((asked[:, 0] >= low) & (asked[:, 0] <= high)).all()
    assert asked[:, 1:].mean().item() == pytest.approx(0.5, abs=0.02)
    x = Sprites().values(asked)[:, 0, 0]
    assert (x.min() >= 0.14) & (x.max() <= 0.46)
    assert (high - low) == pytest.approx(0.4)


def test_planes_of_more_slots() -> None:
    points = drawn(Orthogonal(), slots=3)
    free = [(points[:, slot] != points[0, slot]).any() for slot in range(3)]
    assert all(free), "every slot varies"
    stand = np.stack([(points[:, slot] == still_at(place)).all(1) for slot in range(3) for place in (0.0, 0.5, 1.0)])
    assert (stand.sum(0) == 2).all(), "all but one slot stand still"
    assert plane_of(points, 0, 1.0).mean() == pytest.approx(1 / 5, abs=0.01)


def test_planes_of_another_task() -> None:
    points = parts_of(Orthogonal(variant="star"), Pairs()).train.draw(1000, seed=0).reshape(1000, 3, 2)
    still = (points == torch.tensor([1.0, 0.0])).all(2) | (points == torch.tensor([0.0, 0.0])).all(2)
    assert (still.sum(1) == 2).all()


# -- bands -----------------------------------------------------------------------------------------------------------

FIGURES = [(0.05, 0.990, 0.14, 4.7e-5, 0.965), (0.1, 0.957, 0.29, 1.3e-3, 0.930), (0.2, 0.823, 0.57, 2.7e-2, 0.859)]


@pytest.mark.parametrize(("delta", "correlation", "spread", "volume", "accepted"), FIGURES)
def test_figures_of_the_diagonal(
    delta: float, correlation: float, spread: float, volume: float, accepted: float
) -> None:
    points = drawn(DiagonalBand(delta=delta))
    first, second = points[:, 0].ravel(), points[:, 1].ravel()
    found = np.corrcoef(first, second)[0, 1]
    assert found == pytest.approx(correlation, abs=2e-3)
    assert np.sqrt(1 - found**2) == pytest.approx(spread, abs=0.01)
    away = np.abs(first - second)
    assert away.max() <= np.sqrt(2) * delta + 1e-6
    assert away.max() > np.sqrt(2) * delta * 0.99
    inside = (1 - (1 - np.sqrt(2) * delta) ** 2) ** 5
    assert inside == pytest.approx(volume, rel=0.04)
    band = Band(2, 5, delta)
    proposals = band.proposed(100_000, torch.Generator().manual_seed(0))
    assert band.right(proposals).double().mean().item() == pytest.approx(accepted, abs=3e-3)


@pytest.mark.parametrize(("delta", "whole"), [(0.05, 0.84), (0.1, 0.69), (0.2, 0.47)])
def test_share_of_accepted_five_entry_draws(delta: float, whole: float) -> None:
    band = Band(2, 5, delta)
    right = band.right(band.proposed(100_000, torch.Generator().manual_seed(1))).reshape(-1, 5).all(1)
    assert right.double().mean().item() == pytest.approx(whole, abs=0.012)


@pytest.mark.parametrize("slots", [2, 3])
def test_a_band_is_filled_evenly(slots: int) -> None:
    """Against the plain way: uniform points of the cube, of which only those within the band are kept."""
    found = drawn(DiagonalBand(delta=0.2), 20_000, slots=slots)[:, :, 0].astype(np.float64)
    cube = np.random.default_rng(0).random((400_000, slots))
    kept = cube[np.linalg.norm(cube - cube.mean(1, keepdims=True), axis=1) <= 0.2]
    asked = np.linspace(0.05, 0.95, 19)
    for measure in (lambda z: z[:, 0], lambda z: z.std(1), lambda z: z[:, 0] - z[:, 1]):
        np.testing.assert_allclose(np.quantile(measure(found), asked), np.quantile(measure(kept), asked), atol=0.02)


def test_unseen_is_outside_of_the_band_and_nothing_else_is_left_out() -> None:
    delta = 0.4  # a wide band, so that rejecting it shows
    asked = parts_of(DiagonalBand(delta=delta)).tests["unseen"].draw(MANY, seed=0).reshape(-1, 2, 5)
    outside = ((asked[:, 0] - asked[:, 1]).abs() > np.sqrt(2) * delta).any(1)
    assert outside.all()
    cube = Uniform(10).draw(MANY, seed=5).reshape(-1, 2, 5)
    cube = cube[((cube[:, 0] - cube[:, 1]).abs() > np.sqrt(2) * delta).any(1)]
    apart, expected = ((points[:, 0] - points[:, 1]).abs().mean().item() for points in (asked, cube))
    assert apart == pytest.approx(expected, abs=0.005)


def test_the_diagonal_itself() -> None:
    points = drawn(DiagonalBand(delta=0.0), 500)
    np.testing.assert_allclose(points[:, 0], points[:, 1], atol=1e-7)
    assert points[:, 0].std(0) == pytest.approx(np.full(5, 12**-0.5), abs=0.02), "every value is seen"


@examples(25)
@given(st.floats(0.001, 0.5), st.integers(2, 4), st.integers(0, 1000))
def test_no_point_is_further_away_than_it_may_be(delta: float, slots: int, seed: int) -> None:
    points = drawn(DiagonalBand(delta=delta), 200, slots=slots, seed=seed)
    away = np.linalg.norm(points - points.mean(1, keepdims=True), axis=1)
    assert away.max() <= delta + 1e-5


# -- words -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("support", [Random(), Orthogonal(), DiagonalBand()], ids=repr)
def test_a_task_of_whole_numbers(support: Exposure) -> None:
    with pytest.raises(SettingError, match=r"for Bumps\n.*whole numbers.*\n.*give a splitter"):
        support.parts(Bumps(), seed=0)


@pytest.mark.parametrize("support", [Orthogonal(), DiagonalBand()], ids=repr)
@pytest.mark.parametrize("task", [Toy(), Sprites(slots=1)], ids=repr)
def test_a_task_of_one_slot(support: Exposure, task: ContinuousTask) -> None:
    with pytest.raises(SettingError, match=r"1 slot and .*\n.*two or more.*\n.*Random\(\)"):
        support.parts(task, seed=0)
    assert Random().parts(task, seed=0).train.draw(3, seed=0).shape == (3, len(task.ranges))


def test_a_band_that_holds_everything() -> None:
    with pytest.raises(SettingError, match=r"delta=0.8\n.*0.707 from the diagonal: all would be seen\n.*Random\(\)"):
        parts_of(DiagonalBand(delta=0.8))


def test_settings_that_mean_nothing() -> None:
    with pytest.raises(SettingError, match=r"delta=-0.1\n.*largest distance"):
        DiagonalBand(delta=-0.1)
    with pytest.raises(SettingError, match=r"variant='cross'\n.*no such variant.*\n.*'plain', 'plus'"):
        Orthogonal(variant="cross")  # type: ignore[arg-type]
    with pytest.raises(SettingError, match="cannot be made of"):
        SPLITS.build({"name": "orthogonal", "variant": "cross"})
