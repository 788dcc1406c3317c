"""Known answers of labels, contrasts and overlaps, and intervals that hold what they promise."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from recombine.numerics.intervals import wilson_interval
from recombine_lab.probes.subnetwork_probe.accuracy_summary import (
    OUTCOMES,
    MaskEstimate,
    contrast,
    difference,
    label,
    overlap,
    pairwise_overlap,
    selectivity,
    share_estimate,
)
from recombine_lab.probes.subnetwork_probe.masked_network import ParameterLayout

SHARES = st.floats(0, 1)


@pytest.mark.parametrize(
    ("left", "expected"),
    [
        ((0.3, 0.9), "modular"),
        ((0.95, 0.95), "redundant"),
        ((0.3, 0.3), "collapse"),
        ((0.9, 0.3), "anti-modular"),
        ((0.6, 0.7), "unclear"),
    ],
)
def test_labels(left, expected):
    assert label(0.95, *left) == expected
    assert label(0.89, *left) == "not sufficient"


@pytest.mark.parametrize(
    ("left", "expected"), [((0.5, 1.0), "modular"), ((0.55, 0.5), "collapse"), ((0.5, 0.8), "unclear")]
)
def test_labels_move_with_chance(left, expected):
    assert label(1.0, *left, chance=0.5) == expected


@given(SHARES, SHARES, SHARES)
def test_every_mask_has_one_label_and_its_mirror_image_the_mirrored_one(kept, target, other):
    mirrored = {"modular": "anti-modular", "anti-modular": "modular"}
    found = label(kept, target, other)
    assert found in OUTCOMES
    assert label(kept, other, target) == mirrored.get(found, found)


def test_an_empty_accuracy_is_no_success():
    assert label(float("nan"), 0.3, 0.9) == "not sufficient"


def test_contrasts():
    assert contrast(0.20, 0.60) == pytest.approx(-0.35)
    assert contrast(0.97, 0.24) == pytest.approx(0.72)


def _brute_overlap(sets):
    both = set.intersection(*sets)
    either = set.union(*sets)
    return len(both) / len(either) if either else None


@given(st.lists(st.lists(st.booleans(), min_size=6, max_size=6), min_size=1, max_size=3))
def test_overlap_is_intersection_over_union(rows):
    layout = ParameterLayout("w", (2, 3), (2, 3), (2, 3))
    masks = [{"w": torch.tensor(row).reshape(2, 3)} for row in rows]
    expected = _brute_overlap([{k for k, one in enumerate(row) if one} for row in rows])
    found = overlap(masks, [layout])
    assert np.isnan(found) if expected is None else found == pytest.approx(expected)


def test_overlap_of_three_masks_is_not_held_to_the_last_alone():
    layout = ParameterLayout("w", (4,), (4,), (4,))
    masks = [{"w": torch.tensor(row)} for row in ([1, 1, 1, 1], [1, 1, 0, 0], [1, 0, 0, 0])]
    masks = [{"w": one["w"].bool()} for one in masks]
    assert overlap(masks, [layout]) == pytest.approx(1 / 4)  # over the last mask alone it would be 1
    assert pairwise_overlap(masks, [layout]) == pytest.approx((1 / 2 + 1 / 4 + 1 / 2) / 3)


def test_groups_count_with_their_weights():
    layouts = [ParameterLayout("a", (2, 10), (2, 10), (2, 1)), ParameterLayout("b", (2, 1), (2, 1), (2, 1))]
    one = {"a": torch.tensor([[True], [True]]), "b": torch.tensor([[True], [False]])}
    other = {"a": torch.tensor([[True], [False]]), "b": torch.tensor([[True], [True]])}
    assert overlap([one, other], layouts) == pytest.approx(11 / 22)


def test_wilson_on_known_numbers():
    assert wilson_interval(0.0, 10) == pytest.approx((0.0, 0.2775), abs=1e-4)
    assert wilson_interval(0.5, 100) == pytest.approx((0.4038, 0.5962), abs=1e-4)


def test_the_share_of_one_mask_has_wilsons_interval():
    right = np.zeros((1, 10))
    found = share_estimate(right)
    assert (found.value, found.low) == (0.0, 0.0)
    assert found.high == pytest.approx(0.2775, abs=1e-4)


def test_masks_that_differ_widen_the_interval():
    alike = np.tile(np.arange(100) < 50, (4, 1)).astype(float)
    apart = np.stack([np.arange(100) < count for count in (30, 40, 60, 70)]).astype(float)
    assert share_estimate(apart).high > share_estimate(alike).high


def test_selectivity_is_minus_the_contrast_and_its_interval_holds_the_truth():
    rng, hits, tries = np.random.default_rng(0), 0, 300
    for _ in range(tries):
        target, other = rng.uniform(0.3, 0.6), rng.uniform(0.7, 1.0)
        shift = rng.normal(0, 0.05, 4)
        rows = [(rng.random((4, 200)) < np.clip(p + s * shift, 0, 1)[:, None]) for p, s in ((target, 1), (other, 0))]
        found = selectivity(*(one.astype(float) for one in rows), (0.25, 0.25))
        hits += found.low <= other - target <= found.high
    assert hits / tries >= 0.93
    exact = selectivity(np.array([[1.0, 0, 0, 0, 0]]), np.array([[1.0, 1, 1, 0, 0]]), (0.25, 0.25))
    assert exact.value == pytest.approx(-contrast(0.20, 0.60))


def test_a_difference_is_as_wide_as_both():
    found = difference(MaskEstimate(0.5, 0.2, 0.7, 3), MaskEstimate(0.1, 0.0, 0.5, 3))
    assert (found.value, found.low) == (pytest.approx(0.4), pytest.approx(0.4 - 0.5))
