"""Repairing a shortcut: what is shown equals what is counted by hand, and nothing else changes."""

from collections import Counter

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils.data import DataLoader, TensorDataset

import recombine_lab
from recombine.base.errors import SettingError
from tests.properties import examples

ROWS = 400


def with_last(own: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    return torch.cat([own[:-1], other[-1:]])


def leaky(rows: int = ROWS) -> TensorDataset:
    """A label, its own column, and a last one that always tells it."""
    label = torch.arange(rows) % 2
    return TensorDataset(torch.stack([torch.arange(rows).float(), label.float()], dim=1), label)


def shown(repaired: recombine_lab.Repaired, **options) -> tuple[torch.Tensor, torch.Tensor]:
    batches = list(DataLoader(repaired.dataset, sampler=repaired.sampler, batch_size=64, **options))
    return torch.cat([one for one, _ in batches]), torch.cat([one for _, one in batches])


@pytest.mark.parametrize("share", [0.5, 1.0])
def test_the_shortcut_says_nothing_where_it_was_swapped_and_all_else_stays(share) -> None:
    inputs, labels = shown(recombine_lab.repair(leaky(), swap=with_last, share=share))
    assert sorted(inputs[:, 0].tolist()) == list(range(ROWS))
    assert torch.equal(labels, (inputs[:, 0] % 2).long())
    agrees = (inputs[:, 1] == labels).float().mean().item()
    assert agrees == pytest.approx(1 - share / 2, abs=0.08)


def test_every_epoch_draws_anew_and_a_seed_draws_the_same() -> None:
    first, again = (recombine_lab.repair(leaky(), swap=with_last, seed=3) for _ in "ab")
    one, two = shown(first)[0], shown(first)[0]
    assert not torch.equal(one, two)
    assert torch.equal(shown(again)[0], one)
    again.sampler.set_epoch(1)
    assert torch.equal(shown(again)[0], two)
    assert not torch.equal(shown(recombine_lab.repair(leaky(), swap=with_last, seed=4))[0], one)


@given(st.lists(st.tuples(st.integers(0, 2), st.sampled_from("ab")), min_size=1, max_size=12))
@examples(40)
def test_groups_have_equal_chances_as_counted_by_hand(rows) -> None:
    found = recombine_lab.repair(
        TensorDataset(torch.arange(len(rows))), groups=([label for label, _ in rows], [hue for _, hue in rows])
    )
    counts = Counter(rows)
    by_hand = [1 / len(counts) / counts[row] for row in rows]
    assert found.sampler._weights.tolist() == pytest.approx(by_hand)
    drawn = list(found.sampler)
    assert len(drawn) == len(rows)
    assert {donor for _, donor in drawn} == {-1}


def test_thin_groups_come_up_as_often_as_others() -> None:
    labels, hues = [0] * 300 + [1] * 100, [0] * 390 + [1] * 10
    found = recombine_lab.repair(leaky(), groups=(labels, hues), seed=1)
    seen = Counter((labels[row], hues[row]) for _ in range(10) for row, _ in found.sampler)
    assert all(1100 < number < 1570 for number in seen.values())
    assert len(seen) == 3


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({}, "neither swap= nor groups="),
        ({"swap": with_last, "groups": ([0] * ROWS,)}, "together"),
        ({"swap": with_last, "share": 0.0}, "share"),
        ({"swap": with_last, "share": 1.5}, "share"),
        ({"groups": ()}, "no column"),
        ({"groups": ([0, 1],)}, "400 rows"),
    ],
)
def test_what_cannot_be_repaired_is_refused(asked, said) -> None:
    with pytest.raises(SettingError, match=said):
        recombine_lab.repair(leaky(), **asked)


def test_an_empty_data_set_is_refused() -> None:
    with pytest.raises(SettingError, match="empty"):
        recombine_lab.repair(leaky(0), swap=with_last)
