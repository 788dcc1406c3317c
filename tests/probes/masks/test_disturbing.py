"""Components that disturb each other: the whole network does neither where the other one is left to chance.

Two things are shown, and the answers to both are added up. In a test the other thing is not there; in the examples that
masks are learned from it is, and its answer is as loud as the one that is asked for.
"""

import pytest
import torch
from torch import nn

from tests.probes.flat import subnetworks

VALUES, LOUD = 4, 3.0
QUICK = {"steps": 60, "seeds": 3, "rates": (0.1,), "penalties": (0.1, 0.3), "controls": ("re-initialised", "random")}


def added_up(*, shared):
    """Eight inputs, eight units, four answers: a unit for every value of both things, or one for each pair of them."""
    network = nn.Sequential(nn.Linear(8, 8, bias=False), nn.ReLU(), nn.Linear(8, VALUES, bias=False))
    with torch.no_grad():
        for weights in network.parameters():
            weights.zero_()
        units = VALUES if shared else 2 * VALUES
        for k in range(2 * VALUES):
            network[0].weight[k % units, k] = 1.0
            network[2].weight[k % VALUES, k % units] = 1.0
    return network


def shown(half, rows, *, seed, alone):
    """Rows in which a thing of `half` is shown, alone or beside another; asked is which it is."""
    chance = torch.Generator().manual_seed(seed)
    values = torch.randint(VALUES, (2, rows), generator=chance)
    loud = LOUD + torch.rand(2, rows, generator=chance)
    inputs = torch.zeros(rows, 2, VALUES)
    for k in (half,) if alone else (0, 1):
        inputs[torch.arange(rows), k, values[k]] = loud[k]
    return inputs.flatten(1), values[half]


def components():
    return {
        name: (shown(k, 400, seed=k, alone=False), shown(k, 200, seed=10 + k, alone=True))
        for k, name in enumerate("ab")
    }


@pytest.fixture(scope="module")
def apart():
    return subnetworks(added_up(shared=False), components=components(), **QUICK)


def test_the_whole_network_does_the_tests_and_not_the_examples_of_masks():
    network = added_up(shared=False)
    for (inputs, targets), (tests, answers) in components().values():
        assert (network(tests).argmax(1) == answers).all()
        assert (network(inputs).argmax(1) == targets).float().mean() < 0.8


def test_separate_parts_that_disturb_each_other_are_modular(apart):
    """What a component uses by slopes is both parts: the other one has a say in every answer."""
    assert (apart.outcome, apart.grade) == ("modular", "plausible")
    assert apart.numbers["own examples"] >= 0.9
    assert apart.numbers["used: left Target"] < 0.4
    assert apart.numbers["used: left Other"] > 0.9
    assert any("disturb each other" in reason for reason in apart.reasons)


def test_what_is_used_is_the_larger_part(apart):
    """A mask without a penalty keeps what does no harm; the sparse one beside it is a part of the part."""
    assert apart.numbers["used: density"] > apart.numbers["density"]


def test_a_shared_part_is_not_modular_however_the_examples_disturb():
    found = subnetworks(added_up(shared=True), components=components(), **QUICK)
    assert found.outcome == "collapse"
    assert found.numbers["own examples"] >= 0.9
    assert found.numbers["used: left Other"] < 0.4


def test_a_part_that_was_not_found_is_told_by_what_it_does_alone():
    """On the tests the whole network would do; what counts is what a part does where the others are left to chance."""
    quick = QUICK | {"steps": 1, "rates": (0.001,)}
    found = subnetworks(added_up(shared=False), components=components(), **quick)
    assert (found.outcome, found.grade) == ("not sufficient", "untested")
    assert found.numbers["own examples"] < 0.9
    assert "where the others are left to chance" in found.verdict


def test_components_that_do_not_disturb_are_asked_as_before():
    together = {
        name: (shown(k, 400, seed=k, alone=True), shown(k, 200, seed=10 + k, alone=True)) for k, name in enumerate("ab")
    }
    found = subnetworks(added_up(shared=False), components=together, **QUICK, allow_repeats=True)
    assert found.outcome == "modular"
    assert "own examples" not in found.numbers
