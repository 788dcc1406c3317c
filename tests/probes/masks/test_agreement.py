"""Several estimators: what all say is the outcome, and what they share is counted as sets share."""

import numpy as np
import pytest
import torch
from torch import nn

from recombine.base.errors import SettingError
from recombine.base.seeds import derived
from recombine_lab.probes import MaskSearch, agreement
from recombine_lab.probes.subnetwork_probe.agreement import EstimatorAnswer, _by_chance, combined
from recombine_lab.probes.subnetwork_probe.components import components_of
from recombine_lab.probes.subnetwork_probe.mask_learning import MaskJob, MaskLearner, Subject
from recombine_lab.probes.subnetwork_probe.masked_network import Asker, ParameterLayout, accuracy, layouts_of, state_of
from tests.probes.flat import subnetworks
from tests.probes.masks import toys
from tests.probes.masks.test_disturbing import added_up, components

ALL = ("continuous", "hard concrete", "gradient")
QUICK = {
    "steps": 60,
    "seeds": 3,
    "rates": {"continuous": (0.1,), "hard concrete": (0.3,)},
    "penalties": (0.1,),
    "controls": ("re-initialised", "random"),
}


@pytest.fixture(scope="module")
def asked():
    return {
        shared: subnetworks(added_up(shared=shared), components=components(), estimator=ALL, **QUICK)
        for shared in (False, True)
    }


@pytest.mark.slow
def test_all_estimators_find_separate_parts(asked):
    told = agreement(asked[False])
    assert dict(told.outcomes) == dict.fromkeys(ALL, "modular")
    assert told.agree
    assert asked[False].outcome == "modular"
    assert "Estimators agree" in asked[False].reasons[0]
    assert "say so too" in asked[False].verdict


@pytest.mark.slow
def test_estimators_that_differ_are_unclear(asked):
    """In a shared part the slope of a weight is not what is lost without it: the gradient finds no part that does.

    That is a weakness of the gradient: it looks one step far.
    """
    told = agreement(asked[True])
    assert dict(told.outcomes) == {"continuous": "collapse", "hard concrete": "collapse", "gradient": "not sufficient"}
    assert not told.agree
    assert (asked[True].outcome, asked[True].grade) == ("unclear", "weak")
    assert "gradient masks say not sufficient" in asked[True].verdict


@pytest.mark.slow
def test_masks_of_the_same_part_share_more_than_random_ones(asked):
    told = agreement(asked[False])
    assert set(told.overlap) == {("continuous", "hard concrete"), ("continuous", "gradient"), (ALL[1], ALL[2])}
    for pair, shared in told.overlap.items():
        assert told.by_chance[pair] < shared <= 1


@pytest.mark.slow
def test_the_first_ones_numbers_are_those_of_it_alone(asked):
    alone = subnetworks(added_up(shared=False), components=components(), **QUICK | {"rates": (0.1,)})
    assert {name: asked[False].numbers[name] for name in alone.numbers} == alone.numbers
    assert set(asked[False].tables) == {*alone.tables, "estimators", "agreement"}
    with pytest.raises(SettingError, match="one alone"):
        agreement(alone)


@pytest.mark.slow
def test_the_lowest_grade_is_that_of_all(asked):
    lower = asked[False]
    answers = {name: EstimatorAnswer(lower, {}, {}) for name in ("one", "other")}
    assert combined(answers, []).grade == lower.grade == "plausible"


@pytest.mark.slow
def test_overlap_is_of_sets_and_by_chance_of_random_ones(asked):
    layout = ParameterLayout("w", (4,), (4,), (4,))
    one, other = ({"w": torch.tensor(row).bool()} for row in ([1, 1, 0, 0], [0, 1, 1, 1]))
    answers = {
        name: EstimatorAnswer(asked[False], {"a": [mask]}, {"a": [mask, mask]})
        for name, mask in (("one", one), ("other", other))
    }
    rows = combined(answers, [layout]).tables["agreement"].to_pylist()
    assert [(row["masks"], row["overlap"]) for row in rows] == [("sparsest", 0.25), ("used", 0.25)]
    assert rows[0]["by chance"] == pytest.approx(0.375 / 0.875)


def test_chance_is_what_drawn_masks_share():
    rng = np.random.default_rng(0)
    one, other = rng.random(200_000) < 0.3, rng.random(200_000) < 0.6
    assert (one & other).sum() / (one | other).sum() == pytest.approx(_by_chance(0.3, 0.6), abs=0.005)


def test_a_network_that_is_refused_is_refused_once():
    found = subnetworks(toys.plain(), components=toys.components(), estimator=ALL, **QUICK)
    assert found.outcome == "not sufficient"
    assert "estimators" not in found.tables


def first_order(weights, inputs, targets, penalty):
    """Weight by weight: what the loss falls by, to first order, where one is kept, held to the price of keeping it."""
    total, kept = sum(one.numel() for one in weights), []
    for place, one in enumerate(weights):
        mask = torch.zeros(one.shape, dtype=torch.bool)
        for k in np.ndindex(*one.shape):
            ends = []
            for step in (-1e-3, 1e-3):
                changed = [it.clone().double() for it in weights]
                changed[place][k] *= 1 + step
                answers = torch.relu(inputs.double() @ changed[0].T) @ changed[1].T
                ends.append(float(nn.functional.cross_entropy(answers, targets)))
            mask[k] = (ends[1] - ends[0]) / 2e-3 + penalty / total < 0
        kept.append(mask)
    return kept


@pytest.mark.parametrize("penalty", [0.0, 0.05])
def test_the_gradient_keeps_what_pays(penalty):
    """Held to differences, weight by weight, on the half of the examples that a mask seed looks at."""
    torch.manual_seed(3)
    network = nn.Sequential(nn.Linear(8, 5, bias=False), nn.ReLU(), nn.Linear(5, 4, bias=False))
    search = MaskSearch(estimator="gradient", penalties=(penalty,)).resolved()
    layouts = layouts_of(network, parameters=None, group="weight", heads=None)
    learner = MaskLearner(Asker(network, accuracy), layouts, search, 0, 1.0)
    one = components_of(components(), seed=0, allow_repeats=False)[0]
    job = MaskJob("measured", one.name, search.configurations[0], 1)
    (made,) = learner.learn([job], [Subject(state_of(network), one, ())], lambda _: None)
    chance = torch.Generator().manual_seed(derived(0, "mask", job.key))
    half = one.fit.rows(torch.randperm(len(one.fit), generator=chance)[: len(one.fit) // 2])
    weights = [layer.weight.detach() for layer in (network[0], network[2])]
    expected = first_order(weights, half.inputs, half.targets, penalty)
    for name, mask in zip(("0.weight", "2.weight"), expected, strict=True):
        assert torch.equal(made.mask[name], mask)
    assert 0 < made.density < 1
    assert made.undecided == 0


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"estimator": []}, "one or more"),
        ({"estimator": ["gradient", "gradient"]}, "each once"),
        ({"estimator": ["gradient", "magic"]}, "estimator"),
        ({"estimator": "gradient", "rates": (0.1,)}, "taken once"),
        ({"estimator": "gradient", "steps": 5}, "taken once"),
        ({"estimator": ["continuous"], "rates": {"continuos": (0.1,)}}, "estimator"),
        ({"estimator": ["hard concrete"], "published": True}, "published"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(settings, said):
    with pytest.raises(SettingError, match=said):
        MaskSearch(**settings).searches()


def test_numbers_go_to_the_estimators_that_they_are_named_for():
    by_name = {"continuous": (0.1,), "hard concrete": (0.3,)}
    found = MaskSearch(estimator=ALL, steps=9, rates=by_name, penalties=(0.2,)).searches()
    assert [one.estimator for one in found] == list(ALL)
    assert [{made.rate for made in one.configurations} for one in found] == [{0.1}, {0.3}, {0.0}]
    assert all({made.penalty for made in one.configurations} == {0.2} for one in found)
    assert [one.steps for one in found[:2]] == [9, 9]
