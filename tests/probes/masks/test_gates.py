"""Known answers of the estimators: temperatures, starts, hard masks, the penalty's gradient."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from recombine_lab.probes.subnetwork_probe.mask_settings import (
    BETA,
    HIGH,
    LOW,
    expected_open,
    hard_mask,
    soft_mask,
    start_scale,
    temperature,
)

STARTS = {-0.05: 0.4875, 0.0: 0.5, 0.05: 0.5125, 0.1: 0.5250}
ONE = torch.tensor(1.0)


def test_the_temperature_grows_by_one_factor_to_200():
    factor = temperature(1 / 90)
    assert factor == pytest.approx(1.060638, abs=1e-6)
    grown = 1.0
    for _ in range(90):
        grown *= factor
    assert grown == pytest.approx(200)
    assert temperature(0.0) == 1.0


@pytest.mark.parametrize(("start", "expected"), STARTS.items())
def test_what_a_weight_starts_at(start, expected):
    soft = soft_mask("continuous", torch.tensor(start), ONE).item()
    assert soft == pytest.approx(expected, abs=5e-5)
    assert soft * start_scale(start, 0.0) == pytest.approx(1.0)
    assert start_scale(start, 1.0) == 1.0


@given(st.lists(st.sampled_from([-1.0, -1e-9, 0.0, 1e-9, 1.0]), min_size=1, max_size=20))
def test_what_is_kept_and_what_is_taken_out_add_up(numbers):
    scores = torch.tensor(numbers)
    kept, out = hard_mask(scores), ~hard_mask(scores)
    assert torch.equal(kept.int() + out.int(), torch.ones(len(numbers), dtype=torch.int))
    assert [bool(one) for one in kept] == [one > 0 for one in numbers]


@pytest.mark.parametrize(("heat", "expected"), [(1.0, 2.5e-9), (200.0, 5e-7)])
def test_the_gradient_of_the_published_penalty(heat, expected):
    scores = torch.zeros(3, requires_grad=True)
    (1e-8 * expected_open("continuous", scores, torch.tensor(heat)).sum()).backward()
    assert scores.grad.tolist() == pytest.approx([expected] * 3)


def test_hard_concrete_is_the_stretched_sigmoid_of_logistic_noise():
    chance = torch.Generator().manual_seed(0)
    scores = torch.randn(2000, generator=chance)
    uniform = torch.rand(2000, generator=chance).clamp(1e-6, 1 - 1e-6)
    found = soft_mask("hard concrete", scores, ONE, uniform.logit())
    for s, u, m in list(zip(scores.tolist(), uniform.tolist(), found.tolist(), strict=True))[:200]:
        drawn = 1 / (1 + math.exp(-(math.log(u) - math.log(1 - u) + s) / BETA))
        assert m == pytest.approx(min(1.0, max(0.0, drawn * (HIGH - LOW) + LOW)), abs=1e-5)
    opened = expected_open("hard concrete", scores, ONE).mean().item()
    assert (found > 0).float().mean().item() == pytest.approx(opened, abs=0.03)


def test_straight_through_is_hard_forwards_and_smooth_backwards():
    scores = torch.tensor([-1.0, 0.0, 2.0], requires_grad=True)
    mask = soft_mask("straight through", scores, ONE)
    assert mask.tolist() == pytest.approx([0.0, 0.0, 1.0])
    mask.sum().backward()
    smooth = torch.sigmoid(scores.detach())
    assert torch.allclose(scores.grad, smooth * (1 - smooth))
