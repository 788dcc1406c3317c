"""Relational scenes: what a scene is said to show is found again in its outlines, and in its pixels."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import ndimage

import recombine
from recombine.base.errors import SettingError
from recombine.verbs.split.random_holdout import HoldOutCombinations
from recombine_lab.tasks.catalogue import TASKS
from recombine_lab.tasks.exposure import HeldOut
from recombine_studies.tasks.odd_one_out import BROKEN
from recombine_studies.tasks.outlines import lines
from recombine_studies.tasks.relations import MOST, Proportions, Relations, Rule, Scenes
from tests.properties import examples

RULES: tuple[Rule, ...] = ("inside_contact", "inside_number", "contact_number")
Polygon = npt.NDArray[np.float64]


# --- the twin: polygons two by two, by other formulas ----------------------------------------------------------------


def winds_around(polygon: Polygon, points: Polygon) -> npt.NDArray[np.bool_]:
    """Whether the outline turns once around each point: the angles under which its edges are seen add up to ±2π."""
    spokes = polygon - points[:, None]
    after = np.roll(spokes, -1, axis=1)
    turned = np.arctan2(spokes[..., 0] * after[..., 1] - spokes[..., 1] * after[..., 0], (spokes * after).sum(axis=2))
    return np.asarray(np.abs(turned.sum(axis=1)) > np.pi)


def cross(one: Polygon, other: Polygon) -> bool:
    """Whether any edge of one cuts any edge of the other."""
    a, b = one[:, None], np.roll(one, -1, axis=0)[:, None]
    c, d = other[None], np.roll(other, -1, axis=0)[None]

    def side(p: Polygon, q: Polygon, r: Polygon) -> npt.NDArray[np.float64]:
        return np.sign(
            (q[..., 0] - p[..., 0]) * (r[..., 1] - p[..., 1]) - (q[..., 1] - p[..., 1]) * (r[..., 0] - p[..., 0])
        )

    return bool(((side(a, b, c) != side(a, b, d)) & (side(c, d, a) != side(c, d, b))).any())


def between_boxes(one: Polygon, other: Polygon) -> float:
    """How far apart two polygons are at least, by their boxes; 0 where these overlap."""
    return float(np.maximum(one.min(axis=0) - other.max(axis=0), other.min(axis=0) - one.max(axis=0)).max().clip(0))


def lies_in(one: Polygon, other: Polygon) -> bool:
    return between_boxes(one, other) == 0 and not cross(one, other) and bool(winds_around(other, one).all())


def lies_beside(one: Polygon, other: Polygon) -> bool:
    if between_boxes(one, other) > 0:
        return True
    return not cross(one, other) and not winds_around(other, one).any() and not winds_around(one, other).any()


def distance(one: Polygon, other: Polygon) -> float:
    """The smallest distance of any vertex of either from any edge of the other."""

    def nearest(points: Polygon, polygon: Polygon) -> float:
        edges = np.roll(polygon, -1, axis=0) - polygon
        from_start = points[:, None] - polygon
        share = np.clip((from_start * edges).sum(axis=2) / (edges**2).sum(axis=1), 0, 1)
        return float(np.linalg.norm(from_start - share[..., None] * edges, axis=2).min())

    return min(nearest(one, other), nearest(other, one))


def touches(one: Polygon, other: Polygon, sizes: Proportions) -> bool:
    """Whether they touch; nothing may lie between touching and being apart."""
    found = between_boxes(one, other)
    found = found if found > sizes.apart else distance(one, other)
    assert 0 < found <= sizes.touch or found >= sizes.apart - 1e-6, found
    return found <= sizes.touch


@dataclass(frozen=True)
class Seen:
    first: bool
    second: bool | None
    count: int


def look(rule: Rule, outlines: list[Polygon], sizes: Proportions) -> Seen:
    """What a scene shows, from its outlines alone."""
    low = min(polygon.min() for polygon in outlines)
    high = max(polygon.max() for polygon in outlines)
    assert low >= sizes.margin - 1e-6
    assert high <= 1 - sizes.margin + 1e-6
    if rule == "inside_contact":
        large, small = outlines
        within = lies_in(small, large)
        assert within or lies_beside(small, large)
        return Seen(within, touches(small, large, sizes), 2)
    if rule == "inside_number":
        return look_at_pairs(outlines, sizes)
    return look_at_clump(outlines, sizes)


def look_at_pairs(outlines: list[Polygon], sizes: Proportions) -> Seen:
    hosts = [
        [k for k, host in enumerate(outlines) if k != j and lies_in(guest, host)] for j, guest in enumerate(outlines)
    ]
    for j, one in enumerate(outlines):
        for k in range(j):
            assert not touches(one, outlines[k], sizes)
            assert k in hosts[j] or j in hosts[k] or lies_beside(one, outlines[k])
    pairs = len(outlines) // 2
    nested = sum(bool(host) for host in hosts)
    assert all(hosts[j] in ([], [j - 1]) for j in range(1, len(outlines), 2))
    assert nested in (pairs, pairs - 1)
    return Seen(nested == pairs, None, pairs)


def look_at_clump(outlines: list[Polygon], sizes: Proportions) -> Seen:
    n = len(outlines)
    joined = np.eye(n, dtype=bool)
    for j in range(n):
        for k in range(j):
            assert lies_beside(outlines[j], outlines[k])
            # Two outlines of one clump may come near each other without touching, as long as others join them.
            joined[j, k] = joined[k, j] = distance(outlines[j], outlines[k]) <= sizes.touch
    reached = np.linalg.matrix_power(joined.astype(int), n) > 0
    groups = {tuple(row) for row in reached}
    assert len(groups) <= 2
    if len(groups) == 2:
        (alone,) = [j for j in range(n) if reached[j].sum() == 1] if n > 2 else [0]
        assert all(distance(outlines[alone], outlines[k]) >= sizes.apart - 1e-6 for k in range(n) if k != alone)
    return Seen(len(groups) == 1, None, n)


def each(scenes: Scenes) -> Iterator[list[Polygon]]:
    for outlines, present in zip(scenes.outlines.double().numpy(), scenes.present.numpy(), strict=True):
        yield list(outlines[present])


def drawn(task: Relations, n: int, seed: int) -> tuple[torch.Tensor, torch.Tensor, Scenes]:
    rng = torch.Generator().manual_seed(seed)
    kept = torch.rand(n, 4, 2, generator=rng) < 0.5
    number = torch.randint(2, (n, len(task.further)), generator=rng)
    return kept, number, task.scenes(kept, number, seed=seed)


# --- scenes --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [32, 64, 128])
@pytest.mark.parametrize("rule", RULES)
@given(seed=st.integers(0, 2**40))
@examples(8)
def test_each_scene_shows_what_was_wanted(rule: Rule, size: int, seed: int) -> None:
    task = Relations(rule=rule, size=size)
    kept, number, scenes = drawn(task, 4, seed)
    wanted = kept.flatten(0, 1).tolist()
    numbers = [2 + int(code) for code in number.flatten().repeat_interleave(4)] or [2] * len(wanted)
    for (first, second), n, outlines in zip(wanted, numbers, each(scenes), strict=True):
        seen = look(rule, outlines, task.proportions)
        assert seen.first == (first or (rule == "contact_number" and seen.count == 1))
        if rule == "inside_contact":
            assert seen.second == second
        else:
            assert (seen.count == n) == second
            assert abs(seen.count - n) <= 1
            assert 1 <= seen.count <= MOST


def test_the_twin_can_fail() -> None:
    """Scenes that are moved after they were drawn are seen to be other than wanted."""
    task = Relations(rule="inside_contact")
    sizes = task.proportions
    wanted = torch.ones(5, 4, 2, dtype=torch.bool)
    for large, small in each(task.scenes(wanted, torch.zeros(5, 0), seed=0)):
        assert look("inside_contact", [large, small], sizes) == Seen(True, True, 2)
        middle = small - small.mean(axis=0)
        inner = 0.2 * middle + large.mean(axis=0)
        assert look("inside_contact", [large, inner], sizes) == Seen(True, False, 2)
        with pytest.raises(AssertionError):
            look("inside_contact", [large, middle + large[0]], sizes)
        with pytest.raises(AssertionError, match=r"0\.00"):
            look("inside_contact", [large, small + (large.mean(axis=0) - small.mean(axis=0)) * 0.05], sizes)


def test_sizes_are_those_of_the_document() -> None:
    task = Relations(rule="inside_contact")
    _, _, scenes = drawn(task, 500, 0)
    extents = (scenes.outlines.amax(dim=2) - scenes.outlines.amin(dim=2)).amax(dim=2)
    large, share = extents[:, 0], extents[:, 1] / extents[:, 0]
    assert 0.25 <= large.min() < 0.27
    assert 0.48 < large.max() <= 0.5 + 1e-6
    assert 1 / 4 - 1e-6 <= share.min() < 0.26
    assert 0.39 < share.max() <= 1 / 2.5 + 1e-6


@pytest.mark.parametrize("rule", RULES)
def test_size_tells_nothing_about_what_is_kept(rule: Rule) -> None:
    """Outlines are drawn before it is asked what they are for."""
    kept, _, scenes = drawn(Relations(rule=rule), 400, 1)
    extents = (scenes.outlines.amax(dim=2) - scenes.outlines.amin(dim=2)).amax(dim=2)[:, 0].numpy()
    first = kept.flatten(0, 1)[:, 0].numpy()
    spread = extents.std() * np.sqrt(1 / first.sum() + 1 / (~first).sum())
    assert abs(extents[first].mean() - extents[~first].mean()) < 3 * spread


# --- pixels --------------------------------------------------------------------------------------------------------


def ink(task: Relations, outlines: torch.Tensor, present: torch.Tensor) -> npt.NDArray[np.bool_]:
    return (lines(outlines, present, size=task.size, width=task.size / 80) > 0.35).numpy()


def parts(picture: npt.NDArray[np.bool_]) -> tuple[int, int]:
    """How many connected pieces of line a picture has, and how many when their insides are filled."""
    eight = np.ones((3, 3))
    return ndimage.label(picture, eight)[1], ndimage.label(ndimage.binary_fill_holes(picture), eight)[1]


@pytest.mark.parametrize("rule", RULES)
def test_the_pixels_show_it_too(rule: Rule) -> None:
    task = Relations(rule=rule)
    kept, _, scenes = drawn(task, 40, 5)
    for picture, (first, second), present in zip(
        ink(task, scenes.outlines, scenes.present), kept.flatten(0, 1).tolist(), scenes.present, strict=True
    ):
        pieces, filled = parts(picture)
        if rule == "inside_contact":
            assert pieces == (1 if second else 2)
            assert filled == (1 if first or second else 2)
        elif rule == "inside_number":
            assert pieces == int(present.sum())
            assert filled == int(present.sum()) // 2 + (not first)
        else:
            assert pieces == filled == (1 if first or present.sum() == 1 else 2)


@pytest.mark.parametrize("rule", ["inside_contact", "contact_number"])
def test_contact_is_seen_in_small_frames(rule: Rule) -> None:
    task = Relations(rule=rule, size=32)
    kept, _, scenes = drawn(task, 40, 6)
    covered = lines(scenes.outlines, scenes.present, size=32, width=1.0)
    touching = kept.flatten(0, 1)[:, 1 if rule == "inside_contact" else 0] | (scenes.present.sum(dim=1) == 1)
    pieces = [ndimage.label((picture > 0.4).numpy(), np.ones((3, 3)))[1] for picture in covered]
    assert np.mean([(found == 1) == bool(wanted) for found, wanted in zip(pieces, touching, strict=True)]) > 0.95


def test_a_drawn_line_is_the_distance_to_every_edge() -> None:
    _, _, scenes = drawn(Relations(rule="contact_number"), 2, 3)
    covered = lines(scenes.outlines, scenes.present, size=48, width=2.0)
    centres = (np.indices((48, 48))[::-1].reshape(2, -1).T + 0.5) / 48
    for picture, outlines in zip(covered, each(scenes), strict=True):
        nearest = np.full(len(centres), np.inf)
        for polygon in outlines:
            for start, end in zip(polygon, np.roll(polygon, -1, axis=0), strict=True):
                share = np.clip((centres - start) @ (end - start) / ((end - start) @ (end - start)), 0, 1)
                apart = np.linalg.norm(centres - start - share[:, None] * (end - start), axis=1)
                nearest = np.minimum(nearest, apart * 48)
        np.testing.assert_allclose(picture.numpy().ravel(), np.clip(1.5 - nearest, 0, 1), atol=1e-4)


def test_lines_that_leave_the_frame_are_cut_off() -> None:
    square = torch.tensor([[[[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]]]])
    covered = lines(square, torch.tensor([[True]]), size=16, width=1.0)[0]
    assert covered[:8, 7].min() >= 0.5
    assert covered[:, 10:].max() == 0
    assert covered[0, :6].max() == 0


# --- problems ------------------------------------------------------------------------------------------------------

WANTED = {
    # set: (how the three others stand, how the odd one can stand), each as (first kept, second kept)
    "base": ({(1, 1)}, {(0, 1), (1, 0), (0, 0)}),
    "mask_first": ({(1, 1), (1, 0)}, {(0, 1), (0, 0)}),
    "mask_second": ({(1, 1), (0, 1)}, {(1, 0), (0, 0)}),
    "both_violated": ({(1, 1)}, {(0, 0)}),
    "target_first": ({(1, 1)}, {(0, 1)}),
    "other_second": ({(1, 1)}, {(0, 1)}),
    "target_second": ({(1, 1)}, {(1, 0)}),
    "other_first": ({(1, 1)}, {(1, 0)}),
}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[torch.Tensor]:
    """What each item was asked to keep, batch by batch; no pictures are drawn."""
    found: list[torch.Tensor] = []

    def items(self: Relations, kept: torch.Tensor, further: torch.Tensor, *, seed: int, part: str) -> torch.Tensor:
        found.append(kept)
        return torch.zeros(len(kept), 4)

    monkeypatch.setattr(Relations, "items", items)
    return found


def stands(kept: torch.Tensor, odd: torch.Tensor) -> tuple[set[tuple[int, ...]], set[tuple[int, ...]]]:
    is_odd = odd[:, None] == torch.arange(4)
    return tuple({tuple(map(int, row)) for row in kept[rows].tolist()} for rows in (~is_odd, is_odd))  # type: ignore[return-value]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", WANTED)
def test_every_set_holds_what_it_says(name: str, rule: Rule, asked: list[torch.Tensor]) -> None:
    task = Relations(rule=rule, set=name)  # type: ignore[arg-type]
    codes = np.repeat(task.every(), 20, axis=0)
    batch = task.tensors(codes, seed=0)
    assert stands(asked[0], batch.targets) == WANTED[name]
    np.testing.assert_array_equal(batch.targets.numpy(), task.truth(codes))
    breaks = {(0, 1): "first", (1, 0): "second", (0, 0): "both"}
    for row, kept in zip(codes, asked[0], strict=True):
        assert breaks[tuple(map(int, kept[row[1]].tolist()))] == BROKEN[row[0]]


@pytest.mark.parametrize("name", WANTED)
def test_own_sets(name: str, asked: list[torch.Tensor]) -> None:
    task = Relations(rule="inside_number", set=name)  # type: ignore[arg-type]
    parts_of = task.own_parts(seed=0)
    assert list(parts_of.tests) == ["seen", "target", "other"]
    first = not name.endswith("second")
    wanted = {
        "seen": WANTED[name],
        "target": WANTED["target_first" if first else "target_second"],
        "other": WANTED["other_first" if first else "other_second"],
    }
    for side, source in parts_of.tests.items():
        latents = source.draw(400, seed=1)
        batch = task.render(latents, seed=2, part="test")
        assert stands(asked[-1], batch.targets) == wanted[side]
    assert stands_of_training(task, asked) == WANTED[name]


def stands_of_training(task: Relations, asked: list[torch.Tensor]) -> tuple[set[tuple[int, ...]], set[tuple[int, ...]]]:
    latents = task.own_parts(seed=0).train.draw(400, seed=3)
    batch = task.render(latents, seed=4, part="train")
    return stands(asked[-1], batch.targets)


def test_what_is_left_to_chance_is_even(asked: list[torch.Tensor]) -> None:
    task = Relations(rule="inside_contact", set="mask_first")
    batch = task.render(task.own_parts(seed=0).train.draw(4000, seed=0), seed=1, part="train")
    is_odd = batch.targets[:, None] == torch.arange(4)
    assert abs(asked[0][~is_odd][:, 1].double().mean() - 0.5) < 0.02
    assert abs(asked[0][is_odd][:, 1].double().mean() - 0.5) < 0.03
    base = Relations(rule="inside_contact")
    codes = base.combinations(base.own_parts(seed=0).train.draw(6000, seed=0))
    assert np.allclose(np.bincount(codes[:, 0]) / 6000, 1 / 3, atol=0.02)


@pytest.mark.parametrize(
    ("rule", "name", "size"),
    [
        ("inside_contact", "base", 12),
        ("inside_number", "base", 24),
        ("contact_number", "mask_first", 16),
        ("inside_contact", "mask_second", 8),
        ("contact_number", "both_violated", 8),
        ("inside_contact", "target_first", 4),
    ],
)
def test_spaces(rule: Rule, name: str, size: int) -> None:
    task = Relations(rule=rule, set=name)  # type: ignore[arg-type]
    assert task.space.size == len(task.every()) == size
    assert task.space.names == ("broken", "odd", "number")[: 2 + (rule != "inside_contact")]


@pytest.mark.parametrize("rule", RULES)
def test_the_same_seed_draws_the_same(rule: Rule) -> None:
    task = Relations(rule=rule, size=32)
    codes = task.every()[:7]
    before = torch.get_rng_state()
    one = task.tensors(codes, seed=5)
    assert torch.equal(torch.get_rng_state(), before)
    assert one.inputs.shape == (7, 4, 3, 32, 32)
    assert one.inputs.dtype == torch.float32
    assert torch.equal(one.inputs, task.tensors(codes, seed=5).inputs)
    assert not torch.equal(one.inputs, task.tensors(codes, seed=6).inputs)
    assert not torch.equal(one.inputs, task.tensors(codes, seed=5, part="test").inputs)


def test_pixels_are_scaled_as_the_settings_say() -> None:
    codes = [(0, 0), (1, 1)]
    plain = Relations(rule="inside_contact", size=64, mean=0, deviation=1).tensors(codes, seed=0).inputs
    scaled = Relations(rule="inside_contact", size=64).tensors(codes, seed=0).inputs
    assert plain.min() >= 0
    assert plain.max() == 1
    torch.testing.assert_close(scaled, (plain - 0.9) / 0.1)
    assert (plain == 1).double().mean() > 0.8


def test_many_problems_are_drawn_in_pieces() -> None:
    batch = Relations(rule="inside_contact", size=32).tensors(np.zeros((130, 2)), seed=0)
    assert len(batch) == 130
    assert len({image.sum().item() for image in batch.inputs[:, 1]}) == 130


def test_no_problems_at_all() -> None:
    for rule in RULES:
        task = Relations(rule=rule, size=32)
        assert task.tensors(np.zeros((0, len(task.space.names))), seed=0).inputs.shape == (0, 4, 3, 32, 32)


def test_works_with_splitters_and_audits() -> None:
    task = Relations(rule="inside_number", size=32)
    exposed = HeldOut(HoldOutCombinations(["broken", "number"], test_size=0.3, random_state=0)).parts(task, seed=0)
    shown, held = (task.combinations(source.every()) for source in (exposed.tests["seen"], exposed.tests["unseen"]))
    assert len(shown) + len(held) == 24
    assert {tuple(row) for row in shown[:, [0, 2]]}.isdisjoint({tuple(row) for row in held[:, [0, 2]]})
    read = recombine.read(task.table(shown), factors=list(task.space.names), target="target")
    assert len(read) == len(shown)
    assert recombine.audit(read).verdict


def test_a_spec_rebuilds_the_task() -> None:
    task = Relations(rule="contact_number", set="mask_second", size=64)
    assert TASKS.build(TASKS.spec(task)) == task


def test_refuses_what_cannot_be_drawn() -> None:
    with pytest.raises(SettingError, match="did you mean 'inside_number'"):
        Relations(rule="inside_numbers")  # type: ignore[arg-type]
    with pytest.raises(SettingError, match="did you mean 'mask_first'"):
        Relations(rule="inside_number", set="mask_frist")  # type: ignore[arg-type]
    with pytest.raises(SettingError, match="below 32 pixels"):
        Relations(rule="inside_number", size=16)
    with pytest.raises(SettingError, match="pixels are divided by it"):
        Relations(rule="inside_number", deviation=0)
    with pytest.raises(SettingError, match="a factor left out"):
        Relations(rule="inside_number").tensors([(0, -1, 1)], seed=0)
    with pytest.raises(SettingError, match="none would be odd"):
        Relations(rule="inside_contact", set="mask_first").tensors([(1, 0)], seed=0)
    with pytest.raises(SettingError, match="recombine knows none of that name"):
        TASKS.build({"name": "relation", "rule": "inside_number"})
