"""The rule that puts parts together: fits beside brute-force twins, planted rules, and worlds in which it is none."""

from itertools import pairwise

import numpy as np
import pytest
import torch

from recombine.base.errors import SettingError, TableError
from recombine_lab.probes import fit_composition
from recombine_lab.probes.support_probe.composition_families import (
    LowRank,
    elementwise_families,
    fit_heads,
    fit_low_rank,
    heads_of,
)

NAMES = ("front", "back")


def sigmoid(given):
    return 1 / (1 + np.exp(-given))


def world(rule, *, noise=0.0, rows=1, seed=0, outputs=4):
    """Ten values of three numbers for each of two parts, 60 of 100 combinations, and what `rule` makes of them."""
    rng = np.random.default_rng(seed)
    looks = [rng.standard_normal((10, 3)) for _ in NAMES]
    seen = rng.permutation(np.stack(np.meshgrid(range(10), range(10)), -1).reshape(-1, 2))[:60]
    seen = np.repeat(seen, rows, 0)
    one, two = (look[seen[:, k]] @ rng.standard_normal((3, outputs)) for k, look in enumerate(looks))
    whole = rule(one, two, rng)
    whole = whole + noise * whole.std() * rng.standard_normal(whole.shape)
    parts = {name: dict(enumerate(look)) for name, look in zip(NAMES, looks, strict=True)}
    return parts, {name: seen[:, k] for k, name in enumerate(NAMES)}, whole


def mixed(one, two, rng):
    return (one[:, :2] * two[:, :2]) @ rng.standard_normal((2, 8))


PLANTED = {
    "addition": lambda one, two, _: one + two + 1,
    "product": lambda one, two, _: (one + 0.5) * (two - 0.5),
    "gating": lambda one, two, _: sigmoid(3 * one) * two,
    "occlusion": lambda one, two, _: sigmoid(4 * one[:, ::-1]) * one + (1 - sigmoid(4 * one[:, ::-1])) * two,
    "low rank": mixed,
}


@pytest.mark.parametrize("rule", PLANTED)
@pytest.mark.slow
def test_planted_rules(rule):
    found = fit_composition(*world(PLANTED[rule], noise=0.1, rows=2))
    assert found.name == rule, found.sentence
    assert rule in found.sentence
    assert found.explained > 0.99
    assert found.noise == pytest.approx(0.005, rel=0.4), "half of .1 squared: two rows each"
    own = next(one for one in found.families if one.name == rule)
    assert own.low <= own.r2 <= own.high <= 1


NO_RULE = {
    "the larger": lambda one, two, _: np.maximum(one, two),
    "shuffled": lambda one, two, rng: rng.permutation(one * two),
    "signs": lambda one, two, rng: np.sign(one) * np.sign(two) @ rng.standard_normal((4, 4)),
    "noise": lambda one, two, rng: rng.standard_normal(one.shape),
}


@pytest.mark.parametrize("rule", NO_RULE)
@pytest.mark.slow
def test_where_it_is_none(rule):
    found = fit_composition(*world(NO_RULE[rule]))
    assert found.name == "none of these"
    assert found.sentence.startswith("None of these rules puts the parts together")
    assert found.explained < 0.99
    assert (found.composition, found.components, found.as_good) == (None, None, ())
    with pytest.raises(SettingError, match="None of these rules"):
        found.ask_support()


def pictures(count, rng):
    rows, columns = np.mgrid[0:4, 0:4] / 3
    place = rng.random((count, 2, 1, 1))
    spot = np.exp(-((rows - place[:, 0]) ** 2 + (columns - place[:, 1]) ** 2) / 0.1)
    return spot[:, None] * rng.random((count, 3, 1, 1))


def test_pictures_are_put_together_pixel_by_pixel():
    rng = np.random.default_rng(0)
    looks = {name: pictures(8, rng) for name in NAMES}
    seen = rng.permutation(np.stack(np.meshgrid(range(8), range(8)), -1).reshape(-1, 2))[:40]
    front, back = looks["back"][seen[:, 1]], looks["front"][seen[:, 0]]
    through = sigmoid(6 * (front.sum(1, keepdims=True) - 1))
    parts = {name: dict(enumerate(look)) for name, look in looks.items()}
    found = fit_composition(
        parts, {name: seen[:, k] for k, name in enumerate(NAMES)}, through * front + (1 - through) * back
    )
    assert found.name == "occlusion"
    assert "each pixel's own, back over front" in found.sentence
    composed = composed_points(found)
    assert np.abs(composed - (through * front + (1 - through) * back).reshape(40, -1)[in_order(seen)]).max() < 1e-3


def in_order(seen):
    return np.lexsort(seen.T[::-1])


def composed_points(found):
    """What the fitted composition makes of the fitted components at the seen points, as the probe would ask it."""
    points = torch.as_tensor(found.points)
    parts = [found.components(points[:, list(columns)], k) for k, columns in enumerate(found.slots.values())]
    return found.composition(torch.stack(parts, 1)).numpy()


@pytest.mark.parametrize("rule", ["addition", "low rank"])
def test_what_the_probe_is_given_is_what_was_fitted(rule):
    parts, seen, whole = world(PLANTED[rule])
    found = fit_composition(parts, seen, whole)
    order = in_order(np.stack([seen[name] for name in NAMES], 1))
    assert np.abs(composed_points(found) - whole[order]).max() < 0.02 * whole.std()


@pytest.mark.slow
def test_the_probe_of_support_is_asked_with_the_fitted_rule():
    """Values lie in two halves; where a half of one part was never seen with the other half, nothing links them."""
    rng = np.random.default_rng(0)
    half = np.sort(rng.random((2, 30)) * 0.4, axis=1)
    places = np.concatenate([half, half + 0.6], 1)
    parts = {name: {value: [place] for value, place in enumerate(places[k])} for k, name in enumerate(NAMES)}
    free = rng.integers(0, 60, (300, 2))
    apart = rng.integers(0, 30, (300, 2)) + 30 * rng.integers(0, 2, (300, 1))
    weights = rng.standard_normal((2, 3))
    outcomes = []
    for seen in (free, apart):
        whole = places[0][seen[:, :1]] * weights[0] + places[1][seen[:, 1:]] * weights[1]
        found = fit_composition(parts, {name: seen[:, k] for k, name in enumerate(NAMES)}, whole)
        assert found.name == "addition"
        asked = found.ask_support()
        assert "With addition known" in asked.verdict
        outcomes.append(asked.outcome)
    assert outcomes == ["sufficient", "insufficient"]


def test_addition_beside_its_twin():
    rng = np.random.default_rng(0)
    features = [torch.as_tensor(rng.standard_normal((30, 3))) for _ in "ab"]
    wholes = torch.as_tensor(rng.standard_normal((2, 30)))
    weights = torch.as_tensor((rng.random((4, 30)) < 0.8).astype(float))
    family = elementwise_families(2)[0]
    found = fit_heads(family, features, wholes, weights, torch.Generator().manual_seed(0))
    design = np.concatenate(features, 1)
    for fold in range(4):
        kept = weights[fold].numpy() > 0
        for output in range(2):
            twin = np.linalg.lstsq(design[kept], wholes[output].numpy()[kept], rcond=None)[0]
            np.testing.assert_allclose(found[fold, output], twin, atol=1e-4)


@pytest.mark.parametrize("place", range(len(elementwise_families(3))))
def test_rules_beside_their_twins(place):
    """Each rule of three parts, written out for one combination and one output."""
    family = elementwise_families(3)[place]
    heads = np.random.default_rng(place).standard_normal(len(family.reads))
    if family.name == "addition":
        expected = heads[0] + heads[1] + heads[2]
    elif family.name == "product":
        expected = heads[0] * heads[1] * heads[2]
    elif family.name == "gating":
        expected = sigmoid(heads[0]) * (heads[1] + heads[2])
    else:
        front, covers, middle, covers_too, back = heads
        behind = sigmoid(covers_too) * middle + (1 - sigmoid(covers_too)) * back
        expected = sigmoid(covers) * front + (1 - sigmoid(covers)) * behind
        assert all(one == two for one, two in list(pairwise(family.reads))[:4:2]), "a value and its mask are one part's"
    assert float(family.put(torch.as_tensor(heads)[:, None])) == pytest.approx(expected)


def test_a_low_rank_beside_its_twin():
    """No step of any number of the fit lowers its error: it is at a least squares solution."""
    rng = np.random.default_rng(1)
    features = [torch.as_tensor(rng.standard_normal((40, 3))) for _ in "ab"]
    truth = [rng.standard_normal((3, 2)) for _ in "ab"]
    wholes = (features[0].numpy() @ truth[0] * (features[1].numpy() @ truth[1])) @ rng.standard_normal((2, 5))
    weights = torch.ones(1, 40, dtype=torch.float64)
    maps, _, spread = fit_low_rank(
        LowRank(2), features, torch.as_tensor(wholes.T.copy()), weights, torch.Generator().manual_seed(0)
    )
    one, two = (features[k].numpy() @ maps[k][0].numpy() for k in range(2))
    said = np.array(
        [
            [sum(c * a * b for a, b, c in zip(*rows, row, strict=True)) for row in spread[0].numpy()]
            for rows in zip(one, two, strict=True)
        ]
    )
    assert np.abs(said - wholes).max() < 1e-2 * wholes.std()


def test_heads_are_linear_maps():
    features = [torch.ones(2, 1).double(), torch.tensor([[1.0, 2.0], [3.0, 4.0]]).double()]
    found = heads_of(features, torch.tensor([[[5.0, 1.0, 10.0]]]).double())
    assert found.tolist() == [[[[5.0, 5.0]]], [[[21.0, 43.0]]]]


@pytest.mark.parametrize(
    ("change", "error", "said"),
    [
        ({"parts": {"front": {0: [1.0]}}}, SettingError, "at least two"),
        ({"wholes": np.zeros((3, 2))}, SettingError, "wholes of shape"),
        ({"wholes": np.full((60, 4), np.nan)}, TableError, "not finite"),
        ({"combinations": {"front": [99] * 60, "back": [0] * 60}}, TableError, "front=99 has no part"),
        ({"combinations": {"front": [1] * 60, "back": [0] * 60}}, TableError, "1 combinations"),
        ({"parts": {"front": {k: [1.0] for k in range(10)}, "back": {}}}, TableError, "looks the same"),
        ({"parts": {"front": {0: [1.0], 1: [1.0, 2.0]}, "back": {}}}, SettingError, "of shapes"),
    ],
)
def test_what_cannot_be_fitted_is_refused(change, error, said):
    parts, combinations, wholes = world(PLANTED["addition"])
    asked = {"parts": parts, "combinations": combinations, "wholes": wholes, **change}
    with pytest.raises(error, match=said):
        fit_composition(**asked)
