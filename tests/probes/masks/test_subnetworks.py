"""The probe on networks whose parts are known: it must say yes to separate parts, and no to everything else."""

import json
import math

import numpy as np
import pyarrow as pa
import pytest
import torch
from torch import nn

import recombine
from recombine.base.errors import RecordError, SettingError
from recombine_lab.probes.probe import Probe
from recombine_lab.probes.subnetwork_probe.mask_cache import saved_masks
from recombine_lab.probes.subnetwork_probe.mask_settings import CONTROLS
from tests.probes.flat import subnetworks
from tests.probes.masks import toys
from tests.probes.masks.planted import Planted

QUICK = {"steps": 120, "seeds": 3}


@pytest.fixture(scope="module")
def two_blocks(tmp_path_factory):
    folder = tmp_path_factory.mktemp("masks") / "two"
    model = toys.two_blocks()
    before = {name: one.clone() for name, one in model.state_dict().items()}
    found = subnetworks(model, components=toys.components(), resume=folder, **QUICK)
    assert all(torch.equal(one, before[name]) for name, one in model.state_dict().items())
    return found, folder


@pytest.mark.slow
def test_separate_blocks_are_modular(two_blocks):
    found, _ = two_blocks
    assert (found.outcome, found.grade) == ("modular", "sound")
    for name in "ab":
        assert found.value("kept Target", where=name) == 1
        assert found.value("left Other", where=name) == 1
        assert found.value("left Target", where=name) == pytest.approx(0.25, abs=0.08)
        assert found.value("selectivity", where=name, who="shuffled") == pytest.approx(0, abs=0.1)
    assert found.numbers["overlap between components"] == 0
    assert "Separate parts" in found.verdict
    assert "in the re-initialised network" in found.verdict
    assert "random masks" in found.verdict


def test_the_mask_of_a_block_is_the_block(two_blocks):
    _, folder = two_blocks
    masks = saved_masks(folder)
    model = toys.two_blocks()
    for half, name in enumerate("ab"):
        assert sorted(masks[name]) == [1, 2, 3]
        for mask in masks[name].values():
            assert mask["0.weight"].dtype == bool
            units = slice(4 * half, 4 * half + 4)
            own = torch.zeros(8, dtype=torch.bool)
            own[units] = True
            # the block's weights that are not zero: those from the symbols, and those to the answers
            assert not mask["0.weight"][~own.numpy()].any()
            assert not mask["2.weight"][:, ~own.numpy()].any()
            wired = model[2].weight.detach().numpy()[:, units] != 0
            assert (mask["2.weight"][:, units] == wired).all()


def test_what_it_hands_back_is_saved_and_drawn(two_blocks, tmp_path):
    found, _ = two_blocks
    assert isinstance(found, Probe)
    assert set(found.tables) == {"measures", "masks", "search", "overlap"}
    found.save(tmp_path / "saved")
    again = recombine.load(tmp_path / "saved")
    assert (again.outcome, again.verdict, again.numbers) == (found.outcome, found.verdict, found.numbers)
    found.page(tmp_path / "probe.html")
    page = (tmp_path / "probe.html").read_text(encoding="utf-8")
    assert all(title in page for title in ("A part alone", "Without a part", "Beside the controls"))


def test_every_control_is_measured_and_has_the_same_search(two_blocks):
    found, _ = two_blocks
    assert set(found.table["who"].to_pylist()) == {"measured", *CONTROLS}
    tried = found.tables["search"].to_pylist()
    counts = {who: sum(row["who"] == who for row in tried) for who in ("measured", "re-initialised", "shuffled")}
    assert set(counts.values()) == {2 * 4}
    assert sum(row["chosen"] for row in tried) == 3 * 2
    masks = found.tables["masks"].to_pylist()
    assert {(row["who"], row["mask seed"]) for row in masks} == {(who, seed) for who in counts for seed in (1, 2, 3)}


def test_the_choice_is_the_sparsest_that_is_sufficient_whatever_it_does_to_others(two_blocks):
    found, _ = two_blocks
    rows = found.tables["search"].to_pylist()
    for who in ("measured", "re-initialised", "shuffled"):
        for name in "ab":
            mine = [row for row in rows if row["who"] == who and row["component"] == name]
            passing = [row for row in mine if row["held out"] >= 0.9]
            chosen = next(row for row in mine if row["chosen"])
            if passing:
                assert chosen["density"] == min(row["density"] for row in passing)
            else:
                assert chosen["held out"] == max(row["held out"] for row in mine)


@pytest.mark.slow
def test_a_shared_network_collapses():
    found = subnetworks(toys.one_shared_block(), components=toys.components(shared=True), **QUICK)
    assert (found.outcome, found.grade) == ("collapse", "failing")
    assert found.numbers["kept Target"] >= 0.9


@pytest.mark.slow
def test_a_duplicated_network_has_separate_parts_with_spare_weights():
    """One copy of a block is not missed, as a unit of a wide branch is not; but the other block uses neither copy."""
    found = subnetworks(toys.two_blocks(2), components=toys.components(), **QUICK)
    assert (found.outcome, found.grade) == ("modular", "sound")
    assert found.numbers["left Target"] > 0.95
    assert found.numbers["used: left Target"] < 0.4
    assert "spare weights in a and b" in found.verdict


def planted(kind, width, depth, numbers, seed=0, **settings):
    made = Planted(kind, width, depth, numbers, seed)
    quick = {"steps": 40, "seeds": 3, "rates": (0.05,), "penalties": (0.3,), "controls": ("re-initialised", "random")}
    asked = quick | {"chance": made.chance} | settings
    return subnetworks(made.network(), made.score, components=made.components(), **asked)


@pytest.mark.slow
@pytest.mark.parametrize("group", ["weight", "row"])
@pytest.mark.parametrize("numbers", [False, True])
@pytest.mark.parametrize(("kind", "said"), [("branches", "modular"), ("shared", "collapse")])
def test_planted_networks_are_called_what_they_are(kind, said, numbers, group):
    """All widths, depths and five seeds are in benchmarks/planted_networks.py."""
    found = planted(kind, 16, 1 + numbers, numbers, group=group)
    assert (found.outcome, found.grade) == (said, "plausible" if said == "modular" else "failing")


@pytest.mark.slow
def test_a_shared_network_is_not_modular_because_its_components_read_other_inputs():
    """The sparse mask of one takes its input weights with it, and the others hardly miss the rest of it."""
    found = planted("shared", 32, 2, False, steps=100, rates=None, penalties=None)
    assert found.value("left Other", where="a") - found.value("left Target", where="a") > 0.2
    assert found.outcome == "collapse"
    assert found.value("used: left Other", where="a") < 0.5


def test_an_untrained_network_is_refused_before_anything_is_learned():
    found = subnetworks(toys.plain(), components=toys.components(), **QUICK)
    assert (found.outcome, found.grade) == ("not sufficient", "untested")
    assert "the whole network answers" in found.verdict
    assert set(found.tables) == {"measures"}


@pytest.mark.slow
def test_untrained_networks_are_never_called_modular_even_unrefused():
    """Masks do suffice in most of them, and look modular alone; 200 are in benchmarks/probe_subnetworks.py."""
    outcomes = []
    for seed in range(20):
        settings = {"steps": 40, "seeds": 2, "rates": (0.1,), "penalties": (0.1,), "seed": seed}
        parts = toys.components(150, 100, seed=seed)
        controls = ("re-initialised", "random")
        made = subnetworks(toys.plain(96, seed), components=parts, base_accuracy=0.0, controls=controls, **settings)
        outcomes.append(made.outcome)
        assert made.grade in ("untested", "weak", "failing")
    assert "modular" not in outcomes
    assert outcomes.count("not sufficient") <= 15


def test_without_its_controls_nothing_is_called_modular():
    found = subnetworks(toys.two_blocks(), components=toys.components(), controls=(), **QUICK)
    assert found.outcome == "unclear"
    assert any("was not run" in reason for reason in found.reasons)


def test_one_seed_is_no_evidence():
    found = subnetworks(
        toys.two_blocks(), components=toys.components(200, 100), steps=100, seeds=1, controls=("random",)
    )
    assert found.grade == "untested"


@pytest.mark.slow
@pytest.mark.parametrize("estimator", ["hard concrete", "straight through"])
def test_the_other_estimators_find_the_blocks_too(estimator):
    controls = ("re-initialised", "random")
    found = subnetworks(
        toys.two_blocks(), components=toys.components(), estimator=estimator, controls=controls, steps=200, seeds=3
    )
    assert found.outcome == "modular"


@pytest.mark.slow
def test_the_published_settings_find_the_blocks_too():
    found = subnetworks(
        toys.two_blocks(), components=toys.components(), published=True, rates=(1e-2,), starts=(0.05,), steps=200,
        seeds=3, controls=("re-initialised", "random"),
    )  # fmt: skip
    assert found.outcome == "modular"
    assert any("with the published settings" in reason for reason in found.reasons)


@pytest.mark.parametrize(("controls", "outcome"), [(("re-initialised", "random"), "modular"), ((), "unclear")])
def test_a_part_that_is_a_layer_of_its_own_is_modular(controls, outcome):
    """As many weights drawn from the same layer would be the very same mask, and a control that nothing can beat."""

    class Gated(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = (nn.Linear(toys.VALUES, toys.VALUES, bias=False) for _ in range(2))
            with torch.no_grad():
                self.first.weight.copy_(4 * torch.eye(toys.VALUES))
                self.second.weight.copy_(4 * torch.eye(toys.VALUES))

        def forward(self, inputs):
            a, b = inputs[:, : toys.VALUES], inputs[:, toys.VALUES : 2 * toys.VALUES]
            return torch.where(inputs[:, 2 * toys.VALUES, None] > 0, self.first(a), self.second(b))

    settings = {"steps": 40, "seeds": 2, "rates": (0.1,), "penalties": (0.1,), "group": "row"}
    found = subnetworks(Gated(), components=toys.components(200, 100), controls=controls, **settings)
    assert found.outcome == outcome
    assert found.value("used: left Other", where="a") == 1


def test_more_than_two_components():
    parts = toys.components(200, 100)
    third = toys.components(200, 100, seed=5)["a"]
    found = subnetworks(
        toys.two_blocks(), components={**parts, "a again": third}, steps=80, seeds=3, controls=("random",)
    )
    assert found.outcome == "unclear"  # what is asked for twice is not separate
    assert found.value("left", where="a on a again") == pytest.approx(0.25, abs=0.1)


def test_a_search_that_was_cut_goes_on(tmp_path):
    folder = tmp_path / "masks"
    asked = {"components": toys.components(100, 50), "steps": 15, "seeds": 2, "controls": ("random",), "at_once": 2}

    class CutError(Exception):
        pass

    steps = []

    def cutting(_what, share):
        steps.append(share)
        if share is not None and share > 0.4:
            raise CutError

    with pytest.raises(CutError):
        subnetworks(toys.two_blocks(), resume=folder, progress=cutting, **asked)
    kept = len(list(folder.glob("*.safetensors")))
    assert 0 < kept < 12
    told = []
    again = subnetworks(toys.two_blocks(), resume=folder, progress=lambda what, share: told.append(share), **asked)
    whole = subnetworks(toys.two_blocks(), **asked)
    assert again.numbers == whole.numbers
    assert len(list(folder.glob("*.safetensors"))) == 12
    with pytest.raises(SettingError, match="another search"):
        subnetworks(toys.two_blocks(2), resume=folder, **asked)


def test_masks_that_cannot_be_read_are_told(two_blocks, tmp_path):
    with pytest.raises(RecordError, match="no masks"):
        saved_masks(tmp_path)
    (tmp_path / "other.txt").write_text("mine")
    with pytest.raises(SettingError, match="something else"):
        subnetworks(toys.two_blocks(), components=toys.components(), resume=tmp_path)
    folder = tmp_path / "damaged"
    asked = {"components": toys.components(100, 50), "steps": 5, "seeds": 1, "controls": ()}
    subnetworks(toys.two_blocks(), resume=folder, **asked)
    next(iter(folder.glob("*.safetensors"))).write_bytes(b"\x80\x04pickle")
    with pytest.raises(RecordError, match="cannot be read"):
        subnetworks(toys.two_blocks(), resume=folder, **asked)


@pytest.mark.slow
def test_the_same_seed_gives_the_same_answer():
    asked = {"components": toys.components(100, 50), "steps": 6, "seeds": 2}
    one, other, third = (subnetworks(toys.trained(8, steps=200), seed=seed, **asked) for seed in (0, 0, 1))
    assert one.table.equals(other.table)
    assert not one.table.equals(third.table)


def _broken(**changed):
    parts = toys.components(100, 50)
    inputs, targets = parts["a"][0]
    test = parts["a"][1]
    nan = inputs.clone()
    nan[0, 0] = math.nan
    return {
        "nan": {**parts, "a": ((nan, targets), test)},
        "lengths": {**parts, "a": ((inputs[:-1], targets), test)},
        "empty": {**parts, "a": ((inputs, targets), (test[0][:0], test[1][:0]))},
        "few": {**parts, "a": ((inputs[:3], targets[:3]), test)},
        "pair": {**parts, "a": (inputs, targets, test)},
        "data": {**parts, "a": (inputs, test)},
        "one": {"a": parts["a"]},
        "list": [parts["a"], parts["b"]],
        "repeats": {**parts, "a": ((inputs, targets), (inputs[:50], targets[:50]))},
        "leak": {**parts, "a": ((torch.cat([inputs, parts["b"][1][0]]), torch.cat([targets, parts["b"][1][1]])), test)},
        "constant": {**parts, "a": ((inputs, targets), (test[0], torch.zeros_like(test[1])))},
        "values": {**parts, "a": ((inputs, targets.float()), (test[0], test[1].float()))},
        "columns": {**parts, "a": ((inputs[:, :-1], targets), (test[0][:, :-1], test[1]))},
    }


@pytest.mark.parametrize(
    ("which", "said"),
    [
        ("nan", "not finite"), ("lengths", "same length"), ("empty", "0 rows"), ("few", "3 rows"), ("pair", "two sets"),
        ("data", "a pair"), ("one", "two or more"), ("list", "components="), ("repeats", "50 inputs"),
        ("leak", "test of 'b'"), ("constant", "one target only"), ("values", "chance="), ("columns", "cannot be asked"),
    ],
)  # fmt: skip
def test_wrong_data_are_refused_in_words(which, said):
    with pytest.raises(SettingError, match=said):
        subnetworks(toys.two_blocks(), components=_broken()[which], steps=2)


def test_a_network_alone_is_asked_what_its_components_are():
    with pytest.raises(SettingError, match="no components"):
        subnetworks(toys.two_blocks())


def test_a_run_is_asked_for_its_module():
    class Run:
        def module(self):
            return toys.two_blocks()

    asked = {"components": toys.components(100, 50), "steps": 5, "seeds": 1, "controls": ()}
    assert subnetworks(Run(), **asked).numbers == subnetworks(toys.two_blocks(), **asked).numbers


def test_repeats_can_be_allowed():
    found = subnetworks(
        toys.two_blocks(), components=_broken()["repeats"], allow_repeats=True, steps=5, seeds=1, controls=()
    )
    assert any("may be among those" in reason for reason in found.reasons)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"estimator": "magic"}, "estimator"), ({"group": "neuron"}, "group"), ({"ablation": "noise"}, "ablation"),
        ({"controls": "random"}, "listed"), ({"controls": ["randm"]}, "random"), ({"seeds": 0}, "seeds"),
        ({"sufficient": 1.5}, "sufficient"), ({"chance": 1.0}, "chance"), ({"rates": ()}, "rates"),
        ({"rates": (0.0,)}, "rates"), ({"penalties": (-1.0,)}, "penalties"), ({"starts": 0.1}, "starts"),
        ({"parameters": "1.wieght"}, "did you mean '2.weight'"), ({"ablation": "mean"}, "no activation"),
        ({"group": "head"}, "heads="), ({"group": "head", "heads": 3}, "heads=3"), ({"score": "acuracy"}, "accuracy"),
        ({"published": True, "estimator": "hard concrete"}, "published"), ({"steps": 0}, "steps"),
        ({"score": lambda answers, targets: (answers, targets)}, "shapes"), ({"at_once": 0}, "at_once"),
        ({"base_accuracy": 2}, "base_accuracy"), ({"against": -1.0}, "against"), ({"seed": -1}, "seed"),
    ],
)  # fmt: skip
def test_wrong_settings_are_refused_in_words(settings, said):
    score = settings.pop("score", "accuracy")
    with pytest.raises(SettingError, match=said):
        subnetworks(toys.two_blocks(), score, components=toys.components(50, 20), **{"steps": 2, **settings})


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (3, "model is int"),
        (nn.Identity(), "no weight to put a mask on"),
        (nn.Sequential(nn.LazyLinear(4)), "no shape yet"),
        (nn.utils.parametrizations.weight_norm(nn.Linear(toys.INPUTS, 4)), "computes its weights"),
        (nn.Sequential(nn.Linear(3, 4)), "cannot be asked"),
    ],
)
def test_what_cannot_be_masked_is_refused_in_words(model, said):
    with pytest.raises(SettingError, match=said):
        subnetworks(model, components=toys.components(50, 20), steps=2)


def test_numbers_are_plain_and_finite(two_blocks):
    found, _ = two_blocks
    json.dumps(found.record().to_json())
    assert all(number is not None and np.isfinite(number) for number in found.numbers.values())
    assert found.tables["search"].schema.field("selectivity").type == pa.float64()
