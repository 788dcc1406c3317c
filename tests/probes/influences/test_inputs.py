"""What an answer hangs on: perfect, empty and adversarial networks, twins of every measure, and what is refused."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

import recombine
from recombine.base.errors import RecombineError, SettingError
from recombine_lab.probes.influence_probe.factor_locations import located, mask_of
from recombine_lab.probes.influence_probe.factor_measures import (
    _missed_entropy,
    _shuffled,
    _variance,
    bits,
    corrected_bits,
    counted_bits,
    donors,
    slopes,
)
from recombine_lab.probes.influence_probe.module_answers import Asking
from recombine_lab.probes.influence_probe.probe_examples import table_of
from tests.probes.flat import influence
from tests.probes.influences.rules import BOTH, CONSTANT, LARGER, OTHER, OWN, TRAINING, Rule, toy
from tests.properties import examples

REGIONS = {"y1": 0, "y2": 1}
EVEN = [(0, 0), (0, 1), (1, 0), (1, 1)]


def asked(model, codes=EVEN, n=400, **more):
    inputs, table = toy(codes, n)
    given = {"inputs": inputs, "table": table, "target": "y1", "redundant": "y2", "regions": REGIONS, "controls": 0}
    return influence(model, **(given | more))


@pytest.mark.parametrize(
    ("model", "outcome", "own", "other"),
    [
        (OWN, "own factor", 1.0, 0.0),
        (LARGER, "both", 0.75, 0.25),
        (BOTH, "both", 0.5, 0.5),
        (OTHER, "unclear", 0.0, 1.0),
        (CONSTANT, "unclear", 0.0, 0.0),
    ],
)
def test_the_trio_and_the_rules_of_the_toy(model, outcome, own, other):
    """All four combinations alike: what a swap changes can be counted. The last two are no better than one answer."""
    found = asked(model, n=4000)
    assert found.outcome == outcome
    assert found.value("swap", where="y1") == pytest.approx(own, abs=0.03)
    assert found.value("swap", where="y2") == pytest.approx(other, abs=0.03)
    assert found.grade == {"own factor": "weak", "both": "failing", "unclear": "untested"}[outcome]


def test_a_network_that_reads_the_other_factor_well_is_called_so():
    """In these rows y2 goes along with y1, so that the wrong input gives mostly right answers."""
    codes = [(0, 0)] * 9 + [(1, 1)] * 9 + [(0, 1), (1, 0)]
    found = asked(OTHER, codes, n=2000)
    assert found.outcome == "redundant factor"
    assert found.grade == "failing"
    assert "hang on y2, which they should not" in found.verdict


def test_the_control_decides_whether_an_own_factor_is_sound():
    """Networks that are re-initialised cannot be told from the rule where they hang on y1 alone as much as it does."""
    network = nn.Linear(2, 2)
    network.weight.data = torch.tensor([[-1.0, 0.0], [1.0, 0.0]])
    network.bias.data.zero_()
    assert asked(network, controls=20).grade == "sound"
    assert asked(network, controls=4).grade in ("plausible", "weak")
    fixed = Rule(lambda a, b: a)  # new weights only turn its answers around, so every control hangs on y1 as it does
    found = asked(fixed, controls=20)
    assert found.grade == "weak"
    assert found.value("swap", where="y1", who="re-initialised") == found.value("swap", where="y1")


def test_swaps_of_a_row_with_the_same_value_change_nothing_where_only_the_value_counts():
    found = asked(LARGER, n=1000)
    assert found.value("swap", where="y1", who="same value") > 0  # x1 against x2, not its sign alone
    assert asked(OWN, n=1000).value("swap", where="y1", who="same value") == 0
    assert 0 < asked(OWN, n=1000).value("swap", where="y1", who="shuffled factor") < 1


def test_a_row_of_the_same_value_that_changes_as_much_leaves_it_unclear():
    """The answer hangs on digits of x2 that have nothing to do with y2."""
    fine = Rule(lambda a, b: a * torch.where((b * 64).floor() % 8 == 0, -1.0, 1.0) + 0 * b)
    found = asked(fine, n=2000)
    assert found.value("swap", where="y2") == pytest.approx(found.value("swap", where="y2", who="same value"), abs=0.03)
    assert (found.outcome, found.grade) == ("unclear", "untested")
    assert "A row with the same y2 in its place changes" in " ".join(found.reasons)


def test_the_control_says_which_share_is_which():
    said = asked(nn.Linear(2, 2), controls=2).verdict
    assert "in 2 re-initialised networks swapping y2 changes" in said


def test_information_is_fooled_by_rows_in_which_factors_go_together_and_says_so():
    """A perfectly compositional rule: y2 tells .2516 bits of its answers, and none once y1 is known."""
    found = asked(OWN, TRAINING, n=6000)
    assert found.outcome == "own factor"
    assert found.value("information", where="y2") == pytest.approx(0.251629, abs=0.03)
    assert found.value("information given y1", where="y2") == pytest.approx(0.0, abs=0.003)
    assert any("says nothing of the network" in reason for reason in found.reasons)


def test_permutation_importance_overlooks_what_swaps_see():
    """As many answers as permuting x2 makes wrong at (1, 0) it mends at (1, 1)."""
    found = asked(BOTH, n=6000)
    assert abs(found.value("permutation importance", where="y2")) < 0.03
    assert found.value("swap", where="y2") > 0.45


@examples(40)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=2, max_size=60))
def test_information_equals_its_definition(pairs):
    x, y = np.array(pairs).T
    x, y = np.unique(x, return_inverse=True)[1], np.unique(y, return_inverse=True)[1]
    n, total, cells = len(x), 0.0, 0
    for a in range(4):
        for b in range(4):
            p = np.mean((x == a) & (y == b))
            if p:
                cells += 1
                total += p * np.log2(p / (np.mean(x == a) * np.mean(y == b)))
    bias = (cells - len(set(x)) - len(set(y)) + 1) / (2 * n * np.log(2))
    assert counted_bits(x, y) == pytest.approx((max(total, 0), total - bias), abs=1e-9)


EVENLY = np.divmod(np.arange(100).repeat(4), 10)
"""Ten digits beside ten others, each pair four times."""


@pytest.mark.parametrize("rows", [EVENLY, (np.arange(600) % 10, np.arange(600) % 10 // 2)], ids=["even", "together"])
def test_a_perfect_network_has_the_bits_that_are_counted(rows):
    """Its answers do not scatter; on even rows Miller and Madow's correction takes .146 bits off of none."""
    target, redundant = rows
    for factor, other in ((target, redundant), (redundant, target)):
        assert corrected_bits(factor, target, other) == pytest.approx(counted_bits(factor, target)[0], abs=1e-9)
    assert counted_bits(EVENLY[1], EVENLY[0])[1] == pytest.approx(-0.146, abs=0.001)


@pytest.mark.parametrize(
    ("own", "second", "most"), [(0.0, 0.0, 0.02), (0.8, 0.0, 0.02), (0.0, 0.5, 0.02), (0.5, 0.5, 0.02)]
)
def test_bits_of_answers_that_scatter_are_near_the_planted_ones(own, second, most):
    """Each answer is the first digit, the second, or any, with these chances; a mean of 40 draws."""
    rng = np.random.default_rng(0)
    first, redundant = EVENLY
    chance = own * np.eye(10)[first] + second * np.eye(10)[redundant] + (1 - own - second) / 10
    weakest, other = (redundant, first) if own >= second else (first, redundant)
    joint = np.array([chance[weakest == value].sum(0) for value in range(10)]) / len(chance)
    independent = joint.sum(1, keepdims=True) * joint.sum(0)
    truth = float((joint * np.log2(joint / independent, where=joint > 0, out=np.zeros_like(joint))).sum())
    drawn = [corrected_bits(weakest, np.array([rng.choice(10, p=each) for each in chance]), other) for _ in range(40)]
    assert np.mean(drawn) == pytest.approx(truth, abs=most)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=4, max_size=60))
def test_without_another_factor_the_correction_is_that_of_drawn_rows(pairs):
    """One stratum for all rows: Var(p) = p (1 - p) / (n - 1) gives Miller and Madow's K - 1, with n - 1 for n."""
    x, y = (np.unique(column, return_inverse=True)[1] for column in np.array(pairs).T)
    n, counts = len(x), np.bincount(y)
    missed = _missed_entropy(
        np.eye(len(counts))[y], _variance(np.eye(len(counts))[y], np.zeros(n, int))[0], np.zeros(n, int)
    )
    assert missed == pytest.approx((len(counts) - 1) / (2 * (n - 1)))


@examples(30)
@given(st.lists(st.tuples(*[st.integers(0, 2)] * 3), min_size=3, max_size=50))
def test_information_given_a_factor_is_the_mean_over_its_groups(triples):
    x, y, group = (np.unique(column, return_inverse=True)[1] for column in np.array(triples).T)
    parts = [(counted_bits(x[group == k], y[group == k]), (group == k).mean()) for k in np.unique(group)]
    found = bits(x, y, given=group)
    assert found.counted == pytest.approx(sum(one[0] * share for one, share in parts), abs=1e-9)
    assert found.value == pytest.approx(sum(one[1] * share for one, share in parts), abs=1e-9)


def test_values_are_shuffled_within_groups():
    group = np.arange(60) % 3
    x = group * 10 + np.arange(60) % 5
    drawn = _shuffled(x, group, 0)
    assert len(drawn) == 100
    assert all((one // 10 == group).all() for one in drawn)
    assert all((np.sort(one) == np.sort(x)).all() for one in drawn)
    assert len({tuple(one) for one in drawn}) == 100


def test_information_of_nothing_lies_within_its_null():
    rng = np.random.default_rng(0)
    beyond = [bits(rng.integers(0, 4, 200), rng.integers(0, 3, 200), seed=k) for k in range(60)]
    assert np.mean([one.value > one.null_high for one in beyond]) < 0.15
    assert abs(np.mean([one.value for one in beyond])) < 0.004  # without the correction .02


@examples(40)
@given(st.lists(st.integers(0, 3), min_size=1, max_size=30), st.booleans(), st.integers(0, 99))
def test_donors_have_another_value_or_the_same_and_are_never_the_row_itself(values, same, seed):
    codes = np.array(values)
    found = donors(codes, np.random.default_rng(seed), same=same)
    for row, donor in enumerate(found):
        able = [k for k in range(len(codes)) if k != row and (codes[k] == codes[row]) is np.bool_(same)]
        assert (donor == -1 and not able) or donor in able


def test_every_possible_donor_is_drawn_alike():
    codes = np.array([0, 1, 1, 2, 0])
    drawn = [donors(codes, np.random.default_rng(k), same=False) for k in range(900)]
    counts = np.bincount([one[1] for one in drawn], minlength=5)
    assert counts[[1, 2]].sum() == 0
    assert counts[[0, 3, 4]].min() > 240


def test_derivatives_equal_those_of_the_formula():
    """For a linear network they are its weights; the scores of classes are taken less their mean."""
    network = nn.Linear(4, 3)
    inputs = torch.randn(20, 4)
    table = table_of({"a": np.arange(20) % 2, "b": np.arange(20) % 3}, "inputs")
    where = located(inputs, table, {"a": [0, 1], "b": [3]}, None)
    found, outputs = slopes(network, Asking("classes", None), where, layer=None, seed=0)
    weight = (network.weight - network.weight.mean(0)).detach().numpy()
    assert outputs == [0, 1, 2]
    assert found["a"] == pytest.approx(np.linalg.norm(weight[:, :2], axis=1), abs=1e-6)
    assert found["b"] == pytest.approx(np.abs(weight[:, 3]), abs=1e-6)
    raw, _ = slopes(network, Asking("values", None), where, layer=None, seed=0)
    assert raw["b"] == pytest.approx(np.abs(network.weight.detach().numpy()[:, 3]), abs=1e-6)


def test_derivatives_equal_small_differences():
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 2)).double()
    inputs = torch.randn(6, 3).double()
    table = table_of({"a": [0, 1] * 3}, "inputs")
    where = located(inputs, table, {"a": [1]}, None)
    found, _ = slopes(network, Asking("values", None), where, layer=None, seed=0)
    moved = inputs.clone()
    moved[:, 1] += 1e-6
    apart = ((network(moved) - network(inputs)) / 1e-6).abs().mean(0).detach().numpy()
    assert found["a"] == pytest.approx(apart, abs=1e-4)


class Words(nn.Module):
    """Two words, of which the second is not read."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.read = nn.Embedding(4, 5), nn.Linear(5, 2)

    def forward(self, tokens):
        return self.read(self.embed(tokens)[:, 0])


def test_tokens_are_followed_through_their_embedding():
    torch.manual_seed(1)
    words = Words()
    words.embed.weight.data[:, 0] = torch.tensor([9.0, -9.0, 9.0, -9.0])
    words.read.weight.data[:, 0] = torch.tensor([1.0, -1.0])
    tokens = torch.tensor([[a, b] for a in range(4) for b in range(4)] * 10)
    targets = words(tokens).argmax(1)
    table = {"first": tokens[:, 0].numpy(), "second": tokens[:, 1].numpy()}
    found = influence(
        words,
        inputs=tokens,
        table=table,
        target="first",
        redundant="second",
        targets=targets,
        regions={"first": 0, "second": 1},
        least=0.25,
        controls=3,
    )
    assert found.outcome == "own factor"
    assert found.value("gradient, by embedding", where="second") == 0
    assert found.value("gradient, by embedding", where="first") > 0
    by_keyword = influence(
        words,
        inputs={"input_ids": tokens},
        forward=lambda module, batch: module(batch["input_ids"]),
        table=table,
        target="first",
        redundant="second",
        targets=targets,
        regions={"first": 0, "second": 1},
        least=0.25,
        controls=3,
    )
    assert by_keyword.table == found.table


def test_sixteen_combinations_cannot_show_that_fewer_than_one_in_twenty_would_change():
    codes = [(a, b) for a in range(4) for b in range(4)]
    inputs, table = toy(codes, 400)
    found = asked(OWN, inputs=inputs, table=table, targets=(inputs[:, 0] > 0).long())
    assert found.value("swap", where="y2") == 0
    assert found.outcome == "unclear"
    assert any("are too few to show" in reason for reason in found.reasons)


def test_pictures_are_followed_by_region_and_modules_are_left_as_they_were():
    torch.manual_seed(0)
    network = nn.Sequential(nn.Conv2d(1, 2, 3, padding=1), nn.BatchNorm2d(2), nn.ReLU(), nn.Flatten(), nn.Linear(64, 2))
    network.train()
    network[0].weight.requires_grad_(False)
    before = {name: value.clone() for name, value in network.state_dict().items()}
    table = {"left": np.arange(40) % 2, "right": (np.arange(40) // 2) % 2}
    inputs = torch.randn(40, 1, 4, 8)
    regions = {"left": slice(0, 4), "right": (slice(None), slice(None), slice(4, 8))}
    found = influence(
        network, inputs=inputs, table=table, target="left", redundant="right", regions=regions, controls=2
    )
    assert found.value("gradient, by region", where="left") > 0
    assert network.training
    assert not network[0].weight.requires_grad
    assert network[4].weight.requires_grad
    assert all(torch.equal(value, before[name]) for name, value in network.state_dict().items())
    assert not any(part._forward_hooks for part in network.modules())


def test_a_renderer_says_where_a_factor_is():
    def render(table):
        return (
            torch.stack([torch.tensor(table["y1"].to_numpy()), torch.tensor(table["y2"].to_numpy())], 1).float() - 0.5
        )

    _, table = toy(EVEN, 200)
    inputs = render(table_of(table, "inputs"))
    found = influence(OWN, inputs=inputs, table=table, target="y1", redundant="y2", render=render, controls=0)
    assert found.outcome == "own factor"
    assert found.value("gradient, by column", where="y2") == 0, "the columns were found by changing the factors"
    noisy = influence(
        OWN,
        inputs=inputs,
        table=table,
        target="y1",
        redundant="y2",
        render=lambda rows: render(rows) + 0.01 * torch.rand(rows.num_rows, 2),
        controls=0,
    )
    assert any("Derivatives were not taken" in reason for reason in noisy.reasons)


def test_along_training(tmp_path):
    """Checkpoints as state dicts or modules; curves, boundaries; saved, loaded and drawn."""
    torch.manual_seed(0)
    network = nn.Linear(2, 2)
    begun = {name: value.clone() for name, value in network.state_dict().items()}
    network.weight.data = torch.tensor([[-1.0, 0.0], [1.0, 0.0]])
    network.bias.data.zero_()
    found = asked(network, checkpoints={16: network, 0: begun}, n=200)
    assert list(dict.fromkeys(found.tables["steps"]["step"].to_pylist())) == ["0", "16"]
    titles = [figure.title for figure in found.figures]
    assert "Boundary at step 0" in titles
    assert "Boundary at the end" in titles
    assert "Swaps along training" in titles
    last = found.figures[titles.index("Boundary at the end")]
    assert (last.across, last.up) == ("y1", "y2")
    assert [row[0] for row in last.cells] == [0.0] * len(last.cells), "left is class 0"
    again = recombine.load(found.save(tmp_path / "probe"))
    assert again == found
    assert "Boundary at the end" in again.page(tmp_path / "probe.html").read_text(encoding="utf-8")


def test_numbers_as_answers():
    """A tenth of the spread counts as a change."""
    network = nn.Linear(2, 1)
    network.weight.data = torch.tensor([[1.0, 0.02]])
    network.bias.data.zero_()
    inputs, table = toy(EVEN, 500)
    found = asked(network, inputs=inputs, table=table, targets=network(inputs).detach())
    assert found.outcome == "own factor"
    assert found.value("swap", where="y1") > 0.9
    assert (
        found.value("permutation importance", where="y1") > 0.1 > found.value("permutation importance", where="y2") >= 0
    )


def test_regions_in_every_form():
    row = torch.zeros(1, 2, 4)
    assert mask_of(row, slice(2, None), "a").sum() == 4
    assert mask_of(row, [0, 3], "a")[0, 1].tolist() == [True, False, False, True]
    assert mask_of(row, (0, 1, slice(None)), "a").sum() == 4
    assert mask_of(row, np.eye(2, 4, dtype=bool), "a").sum() == 2
    assert mask_of(row, torch.ones(1, 2, 4, dtype=torch.bool), "a").all()


INPUTS, TABLE = toy(EVEN, 40)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"inputs": None}, "neither inputs nor training combinations"),
        ({"inputs": INPUTS[:3]}, "inputs with 3 rows"),
        ({"inputs": INPUTS * torch.nan}, "not finite"),
        ({"inputs": INPUTS[:0]}, "without rows"),
        ({"table": None}, "no table"),
        ({"table": {"y1": [], "y2": []}}, "empty"),
        ({"target": "y3"}, "target='y3'"),
        ({"target": None}, "target=None"),
        ({"target": "y2"}, "both 'y2'"),
        ({"redundant": "z"}, "redundant='z'"),
        ({"regions": None}, "neither regions nor render"),
        ({"regions": {"y1": 0}}, "no region for 'y2'"),
        ({"regions": {"y1": 0, "y2": 7}}, "the region of 'y2'"),
        ({"regions": {"y1": 0, "y2": slice(5, 6)}}, "is empty"),
        ({"regions": {"y1": 0, "w": 1}}, "a region for 'w'"),
        ({"regions": {"y1": 0, "y2": [0, 1]}}, "regions of 'y1' and 'y2' overlap in 1 place"),
        ({"regions": {"y1": 0, "y2": slice(1, 80)}}, "beyond a row"),
        ({"regions": {"y1": (slice(0, 3),), "y2": 1}}, "beyond a row"),
        ({"table": {"y1": TABLE["y1"][:7], "y2": TABLE["y2"]}}, "columns of 7 and 40 rows"),
        ({"table": {"y1": [0] * 40, "y2": TABLE["y2"]}}, "has one value"),
        ({"targets": [0, 1]}, "targets with 2 rows"),
        ({"controls": -1}, "controls=-1"),
        ({"least": 2.0}, "least=2.0"),
        ({"seed": "x"}, "seed='x'"),
        ({"method": "dattry"}, "method='dattry'"),
        ({"layer": "embed"}, "no layer 'embed'"),
        ({"checkpoints": {0: {"weight": torch.zeros(9)}}}, "the checkpoint of step 0"),
        ({"checkpoints": [OWN]}, "checkpoints without steps"),
        ({"model": np.zeros(3)}, "model=ndarray"),
        ({"model": nn.Linear(3, 2)}, "cannot be asked about these inputs"),
    ],
)
def test_what_makes_no_sense_is_refused_in_words(given, said):
    settings = {"model": OWN, "inputs": INPUTS, "table": TABLE, "target": "y1", "redundant": "y2", "regions": REGIONS}
    with pytest.raises(RecombineError, match=said):
        influence(**(settings | given))


def test_a_module_with_more_outputs_than_values_must_be_told_the_targets():
    with pytest.raises(SettingError, match="no targets"):
        influence(nn.Linear(2, 5), inputs=INPUTS, table=TABLE, target="y1", redundant="y2", regions=REGIONS)


def test_two_rows_are_not_enough():
    found = asked(OWN, inputs=INPUTS[:3], table={"y1": [0, 1, 0], "y2": [0, 1, 1]}, n=3)
    assert found.outcome == "unclear"
    assert found.grade == "untested"
