"""Bumps and stripes: counts, codes, which axis is which, and how much of the unseen the seen images cover."""

import json
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import recombine
from recombine import Corner, Donut, HoldOutCombinations
from recombine.base.errors import SettingError, TableError
from recombine_lab.tasks.bumps import CODES, Bumps, Stripes, output_coverage
from recombine_lab.tasks.catalogue import TASKS
from recombine_lab.tasks.conjunction_tasks import Toy
from recombine_lab.tasks.exposure import Everything, HeldOut, Parts, split_of, split_spec

XY = ["x", "y"]
DONUT = Donut(XY, hole=(6, 22))
SMALL = Donut(XY, hole=(10, 18))
CASES = {
    "donut": (Bumps(inverted=False), DONUT, 495, 289),
    "small donut": (Bumps(inverted=False), SMALL, 703, 81),
    "corner 32": (Bumps(size=32, sigma=1.5, inverted=False), Corner(XY, at=12), 624, 400),
    "corner 28": (Bumps(inverted=False), Corner(XY, at=14), 588, 196),
}


def sides(case: str) -> tuple[Bumps, Parts]:
    task, splitter, _, _ = CASES[case]
    return task, HeldOut(splitter).parts(task, seed=0)


def images(task: Bumps, parts: Parts, side: str) -> torch.Tensor:
    listed = parts.tests[side].every()
    assert listed is not None
    return task.images(listed)


# -- images ----------------------------------------------------------------------------------------------------------


def test_x_is_the_column_and_y_is_the_row() -> None:
    image = Bumps(size=9, inverted=False).tensors([[7, 2]], seed=0).targets[0, 0]
    assert divmod(int(image.argmax()), 9) == (2, 7)
    dark = Bumps(size=9).tensors([[7, 2]], seed=0).targets[0, 0]
    assert divmod(int(dark.argmin()), 9) == (2, 7)


@given(st.integers(0, 8), st.integers(0, 8), st.sampled_from([0.0, 0.5]), st.floats(0.5, 3))
def test_every_pixel_is_as_the_formula_says(x: int, y: int, centres: float, sigma: float) -> None:
    task = Bumps(size=9, sigma=sigma, centres=centres, inverted=False)
    image = task.tensors([[x, y]], seed=0).targets[0, 0].numpy()
    for v, u in np.ndindex(9, 9):
        away = (u + centres - x) ** 2 + (v + centres - y) ** 2
        assert image[v, u] == pytest.approx(np.exp(-away / (2 * sigma**2)), rel=1e-4, abs=1e-30)
    np.testing.assert_allclose(
        Bumps(size=9, sigma=sigma, centres=centres).images(torch.tensor([[x, y]]))[0, 0], 1 - image
    )


@pytest.mark.parametrize(
    ("case", "centres", "blank"),
    [
        ("donut", 0.0, 0.004008),
        ("corner 32", 0.0, 0.006636),
        ("corner 32", 0.5, 0.006772),
        ("corner 28", 0.0, 0.003878),
    ],
)
def test_error_of_a_blank_image(case: str, centres: float, blank: float) -> None:
    task, parts = sides(case)
    shifted = Bumps(size=task.size, sigma=task.sigma, centres=centres, inverted=False)
    unseen = images(shifted, parts, "unseen")
    assert unseen.square().mean().item() == pytest.approx(blank, abs=5e-7)


def test_error_of_a_blank_image_inside() -> None:
    inside = Bumps(size=32, sigma=1.5).images(torch.tensor([[16, 16]]))
    assert (1 - inside).square().mean().item() == pytest.approx(0.006903, abs=5e-7)
    assert Bumps().blank == 1
    assert np.pi / 28**2 == pytest.approx(0.004007, abs=1e-6)


# -- codes -----------------------------------------------------------------------------------------------------------


def test_codes_of_a_place() -> None:
    one = Bumps(size=4, code="onehot").tensors([[2, 0]], seed=0).inputs
    assert one.tolist() == [[0, 0, 1, 0, 1, 0, 0, 0]]
    assert Bumps(size=4, code="ramp").tensors([[2, 0]], seed=0).inputs.tolist() == [[2, 0]]
    bump = Bumps(size=28).tensors([[3, 20]], seed=0).inputs[0]
    assert bump.shape == (56,)
    np.testing.assert_allclose(bump[:28], np.exp(-((np.arange(28) - 3) ** 2) / 2), atol=1e-6)
    np.testing.assert_allclose(bump[28:], np.exp(-((np.arange(28) - 20) ** 2) / 2), atol=1e-6)


@pytest.mark.parametrize("widen", [1, 3, 5, 7, 9, 11])
def test_widening_multiplies_the_variance_of_the_code_alone(widen: float) -> None:
    task = Bumps(size=61, sigma=1.5, widen=widen)
    code = task.tensors([[30, 30]], seed=0).inputs[0, :61].double().numpy()
    places = np.arange(61)
    assert (code * (places - 30) ** 2).sum() / code.sum() == pytest.approx(widen * 1.5**2, rel=1e-3)
    plain = Bumps(size=61, sigma=1.5)
    assert torch.equal(task.tensors([[30, 30]], seed=0).targets, plain.tensors([[30, 30]], seed=0).targets)


@pytest.mark.parametrize("code", CODES)
def test_shapes_are_what_is_drawn(code: Any) -> None:
    task = Bumps(size=5, code=code)
    batch = task.tensors(task.every(), seed=0)
    assert batch.inputs.shape == (25, *task.shapes.inputs)
    assert batch.targets.shape == (25, *task.shapes.outputs)
    assert len({tuple(code) for code in batch.inputs.tolist()}) == 25, "no two places have the same code"


# -- stripes ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", CODES)
def test_a_factor_left_out_gives_a_stripe_and_an_empty_code(code: Any) -> None:
    task = Bumps(size=6, code=code, inverted=False)
    batch = task.render(torch.tensor([[4, -1], [-1, 4]]), seed=0, part="train")
    vertical, horizontal = batch.targets[:, 0]
    assert (vertical == vertical[0]).all(), "the same in every row"
    assert vertical[0].argmax() == 4
    assert torch.equal(horizontal, vertical.T)
    first, second = batch.inputs.chunk(2, dim=1)
    null = -6.0 if code == "ramp" else 0.0
    assert (second[0] == null).all()
    assert (first[1] == null).all()
    assert torch.equal(first[0], second[1])


def test_there_are_2n_stripes_over_the_full_range() -> None:
    listed = Bumps(size=28).factors_alone().tolist()
    assert len(listed) == len({tuple(row) for row in listed}) == 56
    assert {x for x, y in listed if y < 0} == {y for x, y in listed if x < 0} == set(range(28))


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_stripes_are_mixed_in_by_their_share(share: float) -> None:
    task = Bumps()
    parts = Stripes(base=DONUT, share=share).parts(task, seed=0)
    points = parts.train.draw(20_000, seed=1)
    alone = (points < 0).any(1)
    assert alone.double().mean().item() == pytest.approx(share, abs=0.01)
    assert {tuple(row) for row in points[alone].tolist()} == (
        {tuple(row) for row in task.factors_alone().tolist()} if share else set()
    )
    plain = HeldOut(DONUT).parts(task, seed=0)
    seen, listed = plain.train.every(), parts.train.every()
    assert seen is not None
    assert listed is not None
    assert {tuple(row) for row in points[~alone].tolist()} <= {tuple(row) for row in seen.tolist()}
    assert len(listed) == 495 + 56
    assert torch.equal(points, parts.train.draw(20_000, seed=1))
    assert not (parts.tests["unseen"].every() < 0).any()


def test_stripes_over_another_exposure() -> None:
    parts = Stripes(base=Everything()).parts(Bumps(size=3), seed=0)
    assert set(parts.tests) == {"seen"}
    assert len(parts.train.every()) == 9 + 6


def test_stripes_are_written_down_with_the_split_within_them() -> None:
    """As a sweep keeps them and as it finds them again; the split within is plain data too."""
    task = Bumps()
    spec = split_spec(split_of({"name": "stripes", "base": {"name": "donut", "hole": [6, 22]}, "share": 0.25}, task))
    assert json.loads(json.dumps(spec)) == spec
    assert (spec["name"], spec["share"], spec["base"]["name"], spec["base"]["hole"]) == (
        "stripes",
        0.25,
        "donut",
        [6, 22],
    )
    again = split_of(spec, task)
    assert split_spec(again) == spec
    assert len(again.parts(task, seed=0).train.every()) == 495 + 56


# -- splits ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES)
def test_counts(case: str) -> None:
    _, _, seen, unseen = CASES[case]
    _, parts = sides(case)
    assert (len(parts.tests["seen"].every()), len(parts.tests["unseen"].every())) == (seen, unseen)


def test_the_hole_is_17_wide_and_not_16() -> None:
    _, parts = sides("donut")
    held = parts.tests["unseen"].every()
    assert (held.min().item(), held.max().item(), len(held)) == (6, 22, 17 * 17)


def test_every_place_is_determined_by_the_donut() -> None:
    task, parts = sides("donut")
    audit = recombine.audit(recombine.read(task.table(parts.tests["seen"].every().numpy()), factors=XY))
    assert (audit.counts.space, audit.counts.seen, audit.counts.determined) == (784, 495, 289)


@pytest.mark.parametrize(
    ("case", "unlit", "dark", "spanned", "with_stripes"),
    [
        ("donut", 0.154, 0.419, 0.265, 0.559),
        ("small donut", 0.011, 0.111, 0.470, 0.838),
        ("corner 32", 0.250, 0.634, 0.261, 0.609),
        ("corner 28", 0.154, 0.612, 0.170, 0.541),
    ],
)
def test_output_coverage(case: str, unlit: float, dark: float, spanned: float, with_stripes: float) -> None:
    task, parts = sides(case)
    seen, unseen = images(task, parts, "seen"), images(task, parts, "unseen")
    found = output_coverage(seen, unseen, blank=task.blank)
    assert (found.unlit, found.dark, found.spanned) == pytest.approx((unlit, dark, spanned), abs=6e-4)
    helped = output_coverage(torch.cat([seen, task.images(task.factors_alone())]), unseen, blank=task.blank)
    assert (helped.unlit, helped.dark, helped.spanned) == pytest.approx((0, 0, with_stripes), abs=6e-4)


def test_output_coverage_is_measured_from_blank() -> None:
    rng = torch.Generator().manual_seed(0)
    seen, unseen = (torch.rand(4, 12, generator=rng) * (torch.arange(12) < lit) for lit in (6, 9))
    found = output_coverage(seen, unseen)
    dark = output_coverage(1 - seen, 1 - unseen, blank=1.0)
    assert (dark.unlit, dark.dark, dark.spanned) == pytest.approx((found.unlit, found.dark, found.spanned), abs=1e-6)
    assert found.unlit == 0.5
    basis = np.linalg.qr(seen.double().numpy().T)[0]
    energy = (unseen.double().numpy() ** 2).sum()
    assert found.spanned == pytest.approx(((unseen.double().numpy() @ basis) ** 2).sum() / energy)
    assert found.dark == pytest.approx((unseen.double().numpy()[:, 6:] ** 2).sum() / energy)


def test_coverage_of_what_was_seen_and_of_nothing_seen() -> None:
    rng = torch.Generator().manual_seed(0)
    some = torch.rand(5, 30, generator=rng)
    whole = output_coverage(some, some)
    assert (whole.unlit, whole.dark, whole.spanned) == pytest.approx((0, 0, 1))
    blank = output_coverage(torch.zeros(3, 4), torch.ones(1, 4))
    assert (blank.unlit, blank.dark, blank.spanned) == pytest.approx((1, 1, 0))


def test_coverage_of_nothing_is_refused() -> None:
    with pytest.raises(TableError, match=r"0 unseen by 2 seen images\n.*not blank"):
        output_coverage(torch.ones(2, 4), torch.ones(0, 4))
    with pytest.raises(TableError, match="3 unseen by 0 seen images"):
        output_coverage(torch.ones(0, 4), torch.ones(3, 4))


# -- words -----------------------------------------------------------------------------------------------------------


def test_by_name() -> None:
    task = TASKS.build({"name": "bumps", "size": 32, "sigma": 1.5, "code": "onehot"})
    assert task == Bumps(size=32, sigma=1.5, code="onehot")
    assert TASKS.build(TASKS.spec(task)) == task


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"size": 1}, r"size=1\n.*two values or more"),
        ({"sigma": 0.0}, r"sigma=0.0\n.*positive width\n.*sigma=1.0"),
        ({"widen": -1.0}, r"widen=-1.0\n.*positive width"),
        ({"code": "bumpy"}, "bumpy"),
    ],
)
def test_settings_that_mean_nothing(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(SettingError, match=words):
        TASKS.build({"name": "bumps"} | wrong)


def test_a_code_that_does_not_exist() -> None:
    with pytest.raises(SettingError, match="did you mean 'onehot'"):
        Bumps(code="one_hot")  # type: ignore[arg-type]


def test_stripes_that_mean_nothing() -> None:
    with pytest.raises(SettingError, match=r"share=1.5\n.*\n.*between 0 and 1"):
        Stripes(base=DONUT, share=1.5)
    with pytest.raises(SettingError, match=r"stripes for Toy\n.*leave a factor out"):
        Stripes(base=HoldOutCombinations(["y1", "y2"])).parts(Toy(), seed=0)
    with pytest.raises(SettingError, match="is not a split"):
        Stripes(base=3).parts(Bumps(), seed=0)
