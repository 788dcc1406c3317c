"""Learned components against true ones, up to what the composition hides."""

import pytest
import torch

from recombine_lab.probes.support_probe.recovery import aligned, mismatch, rescaled, visible
from recombine_lab.tasks.compositions import compose

GENERATOR = torch.Generator().manual_seed(0)


def made(channels=3, slots=2, sites=2, n=40):
    return 0.1 + 0.8 * torch.rand(n, slots, channels, sites, dtype=torch.float64, generator=GENERATOR)


def whole(name, outputs):
    return compose(name, outputs[..., None])


def recovered(name, learned, true):
    moved = aligned(name, learned, true).of(learned)
    return [mismatch(name, moved, true, slot, None).recovered() for slot in range(true.shape[1])]


def test_a_constant_that_goes_from_slot_to_slot_under_addition():
    true = made(slots=3)
    learned = true + torch.tensor([1.0, -3.0, 2.0]).double().reshape(1, 3, 1, 1)
    torch.testing.assert_close(whole("add", learned), whole("add", true))
    assert recovered("add", learned, true) == pytest.approx([1.0] * 3)
    assert max(recovered("add", true + 1.0, true)) < 0, "constants that do not cancel change the whole"
    assert max(recovered("concatenation", learned, true)) < 0, "where they show, they count"


def test_a_factor_that_goes_from_slot_to_slot_under_a_product():
    true = made()
    learned = true * torch.tensor([-4.0, -0.25]).double().reshape(1, 2, 1, 1)
    torch.testing.assert_close(whole("product", learned), whole("product", true))
    assert recovered("product", learned, true) == pytest.approx([1.0, 1.0])
    assert max(recovered("product", 2 * true, true)) < 1 - 1e-3


def test_clear_pixels_and_what_lies_behind_everything_under_alpha():
    true = made(channels=4)
    true[:20, 0, 3] = 0.0
    learned = true.clone()
    learned[:20, 0, :3] = 7.0
    learned[:, 1, :3] *= 2.0
    learned[:, 1, 3] /= 2.0
    torch.testing.assert_close(whole("alpha", learned), whole("alpha", true))
    assert recovered("alpha", learned, true) == pytest.approx([1.0, 1.0])
    learned[:, 0, 3] = 0.5
    assert recovered("alpha", learned, true)[0] < 0.9


def test_front_pixels_that_cover_nothing_under_hard_occlusion():
    true = made()
    true[:20, 0] = 0.0
    learned = true.clone()
    learned[:20, 0] = -5.0
    torch.testing.assert_close(whole("hard_occlusion", learned), whole("hard_occlusion", true))
    assert recovered("hard_occlusion", learned, true) == pytest.approx([1.0, 1.0])
    assert visible("hard_occlusion", learned, 0)[:20].abs().max() == 0


def test_directions_that_nothing_fixes_are_left_out():
    true = made()
    learned = true.clone()
    learned[:, 0, 2] += 3.0
    free = torch.zeros(40, 2, 3, 3, dtype=torch.float64)
    free[..., 2, 2] = 1.0
    assert mismatch(None, learned, true, 0, free).recovered() == pytest.approx(1.0)
    assert mismatch(None, learned, true, 0, torch.zeros_like(free)).recovered() < 0


def test_perfect_empty_and_adversarial():
    true = made()
    assert recovered("soft_occlusion", true, true) == pytest.approx([1.0, 1.0])
    mean = true.mean(0, keepdim=True).expand_as(true)
    assert recovered("soft_occlusion", mean, true) == pytest.approx([0.0, 0.0])
    assert max(recovered("soft_occlusion", 1 - true, true)) < -2
    still = torch.ones_like(true)
    assert recovered("soft_occlusion", true, still) == [None, None]


def test_a_scale_and_a_shift_are_found_at_seen_points_alone():
    true, other = made(), made()
    shift = torch.rand(1, 1, 3, 2, dtype=torch.float64, generator=GENERATOR)
    pairs = [(0.4 * one - shift, one) for one in (true, other)]
    assert rescaled(None, *pairs, 0).recovered() == pytest.approx(1.0)
    wrong = (other.flip(0), other)
    assert rescaled(None, (true, true), wrong, 0).recovered() < 0.2
