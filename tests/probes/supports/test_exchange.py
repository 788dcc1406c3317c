"""What soft occlusion lets two slots hand to each other: no picture changes, and it is found again."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from recombine_lab.probes.support_probe.recovery import exchanged
from recombine_lab.tasks.compositions import compose


def drawn(n: int, seed: int) -> Tensor:
    """Components of two slots at four pixels, (n, 2, 3, 4)."""
    return torch.randn(n, 2, 3, 4, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def whole(components: Tensor) -> Tensor:
    """The pictures."""
    return compose("soft_occlusion", components[..., None])


def handed(components: Tensor, gained: Tensor) -> Tensor:
    """The back gains (3, 4), and the front loses as much as hides it."""
    lost = gained * torch.exp(-components[:, 0].sum(1, keepdim=True))
    return torch.stack([components[:, 0] - lost, components[:, 1] + gained], 1)


@given(st.integers(0, 10**6))
def test_no_picture_changes_whatever_the_components(seed: int) -> None:
    learned, true, asked = drawn(20, seed), drawn(20, seed + 1), drawn(5, seed + 2)
    assert torch.allclose(whole(exchanged((learned, true), asked)), whole(asked), atol=1e-9)


@given(st.integers(0, 10**6))
def test_what_was_handed_over_is_found_again(seed: int) -> None:
    gained = torch.randn(3, 4, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    gained = gained - gained.mean(0)
    seen, asked = drawn(20, seed + 1), drawn(5, seed + 2)
    found = exchanged((handed(seen, gained), seen), handed(asked, gained))
    assert torch.allclose(found, asked, atol=1e-9)


def test_no_other_exchange_comes_nearer_at_seen_points() -> None:
    learned, true = drawn(30, 0), drawn(30, 1)
    best = (exchanged((learned, true), learned) - true).square().sum()
    for seed in range(20):
        other = 0.1 * torch.randn(3, 4, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
        tried = handed(exchanged((learned, true), learned), other - other.mean(0))
        assert (tried - true).square().sum() >= best


def test_a_constant_whose_channels_do_not_cancel_stays() -> None:
    true = drawn(30, 3)
    learned = true + torch.tensor([0.0, 0.5]).reshape(1, 2, 1, 1)
    assert (exchanged((learned, true), learned)[:, 1] - true[:, 1]).mean() == pytest.approx(0.5)
