"""Any module: what is masked in it, in what groups, how it is asked; each kind works or is refused with a reason."""

import copy

import pytest
import torch
from torch import nn
from torch.nn import functional

from recombine_lab.probes.subnetwork_probe.ablation import Judge
from recombine_lab.probes.subnetwork_probe.component_usage import usage, used_mask
from recombine_lab.probes.subnetwork_probe.components import ComponentData, components_of
from recombine_lab.probes.subnetwork_probe.mask_learning import rights
from recombine_lab.probes.subnetwork_probe.mask_search import magnitude, random_mask, saliency, top_mask
from recombine_lab.probes.subnetwork_probe.masked_network import (
    Asker,
    accuracy,
    layouts_of,
    odd_one_out,
    state_of,
    untrained_state,
)
from tests.probes.flat import subnetworks
from tests.probes.masks import toys

QUICK = {"steps": 8, "seeds": 2, "rates": (0.03,), "penalties": (0.1,), "base_accuracy": 0.0}


def probed(model, components=None, **settings):
    """A short search, which leaves the model, its modes and its gradients as they were."""
    before = {name: one.detach().clone() for name, one in model.state_dict().items()}
    modes = [part.training for part in model.modules()]
    found = subnetworks(model, components=components or toys.components(60, 30), **{**QUICK, **settings})
    assert all(torch.equal(one, before[name]) for name, one in model.state_dict().items())
    assert [part.training for part in model.modules()] == modes
    assert all(one.grad is None for one in model.parameters())
    return found


def masked(model, **settings):
    layouts = layouts_of(model, **{"parameters": None, "group": "weight", "heads": None, **settings})
    return {layout.name: layout for layout in layouts}


def test_bfloat16_works():
    model = toys.plain(8).bfloat16()
    parts = {
        name: tuple((inputs.bfloat16(), targets) for inputs, targets in sets)
        for name, sets in toys.components(60, 30).items()
    }
    assert probed(model, parts).numbers["density"] > 0


def test_batch_norm_is_in_evaluation_mode_and_its_statistics_stay():
    model = nn.Sequential(nn.Linear(toys.INPUTS, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 4)).train()
    model(toys.questions(0, 50, 1)[0])
    assert list(masked(model)) == ["0.weight", "3.weight"]
    probed(model)


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(toys.INPUTS, toys.INPUTS)
        self.second = nn.Linear(toys.INPUTS, toys.INPUTS)
        self.second.weight = self.first.weight
        self.last = nn.Linear(toys.INPUTS, 4)

    def forward(self, inputs):
        return self.last(torch.relu(self.second(torch.relu(self.first(inputs)))))


def test_tied_weights_have_one_mask_in_both_places():
    model = Tied()
    layouts = masked(model)
    assert list(layouts) == ["first.weight", "last.weight"]
    probed(model)
    mask = torch.rand(toys.INPUTS, toys.INPUTS) > 0.5
    data = ComponentData(*toys.questions(0, 40, 3))
    by_hand = copy.deepcopy(model)
    with torch.no_grad():
        by_hand.first.weight.mul_(mask)
    state = state_of(model)
    weights = {"first.weight": (state["first.weight"] * mask)[None]}
    found = Asker(model, accuracy).many(weights, state, data, own=False)[0][0]
    assert torch.allclose(
        found, functional.cross_entropy(by_hand(data.inputs), data.targets, reduction="none"), atol=1e-6
    )


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(3, 5, batch_first=True)
        self.last = nn.Linear(5, 4)

    def forward(self, inputs):
        return self.last(self.lstm(inputs.reshape(len(inputs), -1, 3))[0][:, -1])


def test_an_lstm_works_and_answers_with_its_masked_weights():
    model = Tagger()
    found = probed(model)
    assert set(masked(model)) == {"lstm.weight_ih_l0", "lstm.weight_hh_l0", "last.weight"}
    assert found.numbers["density"] > 0
    data = ComponentData(*toys.questions(0, 40, 3))
    by_hand = copy.deepcopy(model)
    with torch.no_grad():
        by_hand.lstm.weight_ih_l0.mul_(0.5)
    state = state_of(model)
    weights = {"lstm.weight_ih_l0": (0.5 * state["lstm.weight_ih_l0"])[None]}
    loss = Asker(model, accuracy).many(weights, state, data, own=False)[0][0]
    assert torch.allclose(
        loss, functional.cross_entropy(by_hand(data.inputs), data.targets, reduction="none"), atol=1e-6
    )
    answers = model(data.inputs)
    assert not torch.allclose(answers, by_hand(data.inputs))


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, inputs):
        return 2 * inputs

    @staticmethod
    def backward(ctx, grad):
        return 2 * grad


class Custom(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(toys.INPUTS, 8), nn.Linear(8, 4)

    def forward(self, inputs):
        return self.last(torch.relu(Doubled.apply(self.first(inputs))))


def test_a_custom_autograd_function_is_learned_one_by_one():
    found = probed(Custom())
    assert any("one by one" in reason for reason in found.reasons)
    assert found.numbers["density"] > 0


def test_a_compiled_module_is_asked_uncompiled():
    model = toys.plain(8)
    compiled = torch.compile(model, backend="eager")
    assert probed(compiled).table.equals(probed(model).table)
    model.compile(backend="eager")
    assert probed(model).numbers["density"] > 0


def test_a_scripted_module_is_refused():
    with pytest.raises(Exception, match="scripted"):
        probed(torch.jit.trace(toys.plain(8), torch.zeros(2, toys.INPUTS)))


@pytest.mark.parametrize(
    ("group", "ablation"), [("weight", "zero"), ("row", "mean"), ("channel", "resample"), ("row", "re-init")]
)
def test_a_convolution_and_its_groups(group, ablation):
    model = nn.Sequential(
        nn.Unflatten(1, (1, toys.INPUTS, 1)), nn.Conv2d(1, 6, (3, 1)), nn.InstanceNorm2d(6), nn.ReLU(),
        nn.Conv2d(6, 5, (2, 1)), nn.ReLU(), nn.Flatten(), nn.Linear(5 * 9, 4),
    )  # fmt: skip
    assert masked(model, group="row")["4.weight"].mask == (5, 1, 1, 1)
    assert masked(model, group="channel")["4.weight"].mask == (1, 6, 1, 1)
    assert probed(model, group=group, ablation=ablation, controls=("random",)).numbers["left Other"] is not None


def test_heads_are_blocks_of_outputs():
    model = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    heads = masked(model, parameters="self_attn.in_proj_weight", group="head", heads=2)["self_attn.in_proj_weight"]
    mask = torch.zeros(heads.mask, dtype=torch.bool)
    mask[1, 0] = True  # the keys of the first head
    whole = heads.whole(mask)
    assert whole[8:12].all()
    assert whole.sum() == 4 * 8
    plain = masked(model, parameters="linear1.weight", group="head", heads=4)["linear1.weight"]
    assert plain.whole(torch.tensor([[[True]], [[False]], [[False]], [[False]]])).sum() == 4 * 8


def test_torchs_own_transformer_layer_works():
    model = nn.Sequential(nn.Unflatten(1, (3, 4)), nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), nn.Flatten())
    model.append(nn.Linear(12, 4))
    before = torch.backends.mha.get_fastpath_enabled()
    found = probed(model)
    assert not any("one by one" in reason for reason in found.reasons)
    assert torch.backends.mha.get_fastpath_enabled() == before


def test_embeddings_and_normalisations_are_spared():
    class Words(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(10, 4)
            self.pos_embed = nn.Parameter(torch.zeros(1, 3, 4))
            self.norm = nn.LayerNorm((3, 4))
            self.middle = nn.Linear(4, 4)
            self.last = nn.Linear(4, 10, bias=False)
            self.last.weight = self.embedding.weight

    assert list(masked(Words())) == ["middle.weight"]
    assert list(masked(Words(), parameters=["embedding.*", "mid*"])) == [
        "embedding.weight",
        "middle.weight",
        "middle.bias",
    ]


def bert():
    transformers = pytest.importorskip("transformers")
    settings = transformers.BertConfig(
        vocab_size=20, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32,
        max_position_embeddings=16, num_labels=4,
    )  # fmt: skip
    torch.manual_seed(0)
    return transformers.BertForSequenceClassification(settings)


def sentences(rows, seed):
    chance = torch.Generator().manual_seed(seed)
    ids = torch.randint(1, 20, (rows, 12), generator=chance)
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids)}, ids[:, seed % 2] % 4


@pytest.mark.slow
def test_a_hugging_face_model_works():
    parts = {name: (sentences(60, 2 + k), sentences(30, 10 + k)) for k, name in enumerate("ab")}
    model = bert()
    names = masked(model)
    assert "bert.encoder.layer.0.attention.self.query.weight" in names
    assert not any("embeddings" in name or "LayerNorm" in name for name in names)
    found = probed(model, parts, controls=("re-initialised", "random"), steps=2, seeds=1)
    assert found.numbers["masked weights"] > 3000
    heads = probed(
        model, parts, parameters="*.attention.self.*.weight", group="head", heads=2, ablation="mean", steps=2,
        seeds=1,
        controls=("random",),
    )  # fmt: skip
    assert any("are the parts used" in reason for reason in heads.reasons)


def test_a_hugging_face_model_masked_by_hand_answers_the_same():
    model = bert().eval()
    inputs, targets = sentences(10, 3)
    by_hand = copy.deepcopy(model)
    name = "bert.encoder.layer.1.intermediate.dense.weight"
    mask = torch.rand(by_hand.get_parameter(name).shape) > 0.5
    with torch.no_grad():
        by_hand.get_parameter(name).mul_(mask)
    state = state_of(model)
    loss = Asker(model, accuracy).many(
        {name: (state[name] * mask)[None]}, state, ComponentData(inputs, targets), own=False
    )[0][0]
    expected = functional.cross_entropy(by_hand(**inputs).logits, targets, reduction="none")
    assert torch.allclose(loss, expected, atol=1e-5)


def test_ones_own_way_of_asking_and_scoring():
    def forward(model, inputs):
        return model(2 * inputs).reshape(len(inputs), 2, 2).flatten(1)

    def score(answers, targets):
        loss = (answers - functional.one_hot(targets, 4)).square().mean(1)
        return loss, answers.argmax(1) == targets

    found = subnetworks(toys.plain(8), score, components=toys.components(60, 30), forward=forward, **QUICK)
    assert found.provenance.settings["score"] == "score"


def test_the_odd_one_out_is_the_item_least_like_the_others():
    chance = torch.Generator().manual_seed(0)
    vectors = torch.randn(50, 4, 3, generator=chance)
    targets = torch.randint(4, (50,), generator=chance)
    loss, right = odd_one_out(vectors, targets)
    for k in range(50):
        unit = [v / v.norm() for v in vectors[k]]
        scores = torch.tensor([-sum(float(a @ b) for b in unit) for a in unit])
        assert loss[k].item() == pytest.approx(-torch.log_softmax(scores, 0)[targets[k]].item(), abs=1e-4)
        assert bool(right[k]) == (int(scores.argmax()) == int(targets[k]))


def test_reinitialised_weights_are_new_and_the_network_is_not():
    model = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.MultiheadAttention(4, 2))
    model.register_parameter("own", nn.Parameter(torch.arange(6.0).reshape(2, 3)))
    with torch.no_grad():
        model[1].weight.fill_(3.0)
        model[1].running_mean.fill_(7.0)
    before = copy.deepcopy(model.state_dict())
    one, again, other = (untrained_state(model, seed) for seed in (0, 0, 1))
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())
    assert all(torch.equal(one[name], again[name]) for name in one)
    assert not torch.equal(one["0.weight"], before["0.weight"])
    assert not torch.equal(one["0.weight"], other["0.weight"])
    assert not torch.equal(one["2.in_proj_weight"], before["2.in_proj_weight"])
    assert torch.equal(one["1.weight"], torch.ones(4))
    assert torch.equal(one["1.running_mean"], torch.zeros(4))
    assert float(one["own"].detach().abs().max()) < 1 / 3**0.5  # three inputs an output, nothing of 0 to 5


@pytest.mark.parametrize("group", ["weight", "row", "channel"])
def test_masks_that_nobody_searched_for_are_as_large_in_every_layer(group):
    model = toys.plain(6)
    layouts = tuple(masked(model, group=group).values())
    state, data = state_of(model), ComponentData(*toys.questions(0, 40, 3))
    like = {one.name: torch.rand(one.mask) > 0.4 for one in layouts}
    worths = (magnitude(state, layouts), saliency(Asker(model, accuracy), state, layouts, data))
    for mask in (top_mask(like, worth) for worth in worths):
        assert {name: int(one.sum()) for name, one in mask.items()} == {n: int(m.sum()) for n, m in like.items()}
    chosen = top_mask(like, worths[0])["0.weight"]
    by_hand = state["0.weight"].abs()
    by_hand = by_hand if group == "weight" else by_hand.sum(1 if group == "row" else 0, keepdim=True)
    if 0 < chosen.sum() < chosen.numel():
        assert by_hand[chosen].min() >= by_hand[~chosen].max()


@pytest.mark.parametrize("group", ["weight", "row"])
def test_random_masks_are_as_large_and_lie_anywhere_in_the_network(group):
    """A mask that is a whole layer must not have itself as its control."""
    layouts = tuple(masked(toys.plain(6), group=group).values())
    like = {one.name: torch.full(one.mask, k == 0) for k, one in enumerate(layouts)}
    drawn = [random_mask(like, layouts, seed) for seed in range(20)]
    largest = max(one.size // one.groups for one in layouts)
    for mask in drawn:
        weights = sum(int(one.whole(mask[one.name]).sum()) for one in layouts)
        assert layouts[0].size <= weights < layouts[0].size + largest
    assert all(mask[layouts[1].name].any() for mask in drawn)
    assert len({tuple(mask[layouts[0].name].flatten().tolist()) for mask in drawn}) > 10


def test_what_a_component_uses_is_its_block_and_nothing_of_the_other():
    model = toys.two_blocks()
    layouts = tuple(masked(model).values())
    for half in range(2):
        data = ComponentData(*toys.questions(half, 200, 3))
        use = usage(Asker(model, accuracy), state_of(model), layouts, data, seed=0)
        units = slice(4 * half, 4 * half + 4)
        expected = torch.zeros(8, dtype=torch.bool)
        expected[units] = True
        mask = used_mask(use, 0.99)
        assert mask["0.weight"].any(1).tolist() == expected.tolist()
        assert mask["2.weight"].any(0).tolist() == expected.tolist()
        assert torch.equal(mask["2.weight"][:, units], model[2].weight[:, units] != 0)


def test_use_is_felt_where_the_network_is_sure_of_its_answers():
    """The loss of a sure network is flat, and rows on which it is unsure would speak for all."""
    model, sure = toys.two_blocks(), toys.two_blocks(gain=30.0)
    layouts = tuple(masked(model).values())
    data = ComponentData(*toys.questions(0, 200, 3))
    found = [used_mask(usage(Asker(one, accuracy), state_of(one), layouts, data, 0), 0.99) for one in (model, sure)]
    assert all(torch.equal(found[0][name], found[1][name]) for name in found[0])


def test_saliency_is_weight_times_gradient():
    model = toys.plain(6)
    data = ComponentData(*toys.questions(0, 40, 3))
    layouts = tuple(masked(model).values())
    found = saliency(Asker(model, accuracy), state_of(model), layouts, data)
    functional.cross_entropy(model(data.inputs), data.targets).backward()
    for name, worth in found.items():
        one = model.get_parameter(name)
        assert torch.allclose(worth, (one * one.grad).abs(), atol=1e-6)


def judge(model, ablation, group="row", at_once=4):
    parts = components_of(toys.components(100, 40), seed=0, allow_repeats=False)
    layouts = layouts_of(model, parameters="0.weight", group=group, heads=None)
    asker = Asker(model, accuracy)
    return Judge(model, asker, layouts, parts, group, ablation, 0, at_once), parts


@pytest.mark.parametrize(
    ("ablation", "group"), [("zero", "row"), ("mean", "row"), ("mean", "channel"), ("re-init", "row")]
)
def test_what_is_taken_out_is_what_one_would_take_out_by_hand(ablation, group):
    model = toys.trained(8, steps=100)
    judging, parts = judge(model, ablation, group)
    units = 8 if group == "row" else toys.INPUTS
    gone = torch.arange(units) % 2 == 0
    mask = {"0.weight": gone.reshape(-1, 1) if group == "row" else gone.reshape(1, -1)}
    state = state_of(model)
    found = judging.judged([mask], [state])[0]
    seen = torch.cat([one.fit.inputs for one in parts])
    first, last = model[0], model[2]
    with torch.no_grad():
        for one in parts:
            inputs, targets = one.test.inputs, one.test.targets
            kept_weight = first.weight * mask["0.weight"]
            kept = last(torch.relu(functional.linear(inputs, kept_weight, first.bias))).argmax(1) == targets
            assert found.kept[one.name].tolist() == kept.tolist()
            hidden = first(inputs)
            if ablation == "zero":
                hidden = functional.linear(inputs, first.weight * ~mask["0.weight"], first.bias)
            elif ablation == "mean" and group == "row":
                hidden = torch.where(gone, first(seen).mean(0), hidden)
            elif ablation == "mean":
                hidden = first(torch.where(gone, seen.mean(0), inputs))
            elif ablation == "re-init":
                assert found.left[one.name].shape == (len(targets),)
                continue
            expected = last(torch.relu(hidden)).argmax(1) == targets
            assert found.left[one.name].tolist() == expected.tolist()


def test_resampled_units_keep_their_values_and_lose_their_examples():
    model = toys.trained(8, steps=200)
    judging, parts = judge(model, "resample")
    everything = {"0.weight": torch.ones(8, 1, dtype=torch.bool)}
    nothing = {"0.weight": torch.zeros(8, 1, dtype=torch.bool)}
    state = state_of(model)
    lost, whole = judging.judged([everything, nothing], [state, state])
    intact = judging.whole(state)
    for one in parts:
        assert lost.left[one.name].mean() < 0.6
        assert whole.left[one.name].tolist() == intact[one.name].tolist()
    assert not model[0]._forward_hooks


def test_several_masks_at_once_are_judged_as_one_by_one():
    model = toys.trained(8, steps=100)
    state, fresh = state_of(model), untrained_state(model, 1)
    masks = [{"0.weight": torch.rand(8, 1) > 0.5} for _ in range(5)]
    states = [state, fresh, state, fresh, state]
    found = []
    for at_once, together in ((1, False), (5, True)):
        judging, _ = judge(model, "zero", at_once=at_once)
        judging.asker.together = together
        found.append(judging.judged(masks, states))
    for one, other in zip(*found, strict=True):
        assert all(
            (one.kept[name] == other.kept[name]).all() and (one.left[name] == other.left[name]).all() for name in "ab"
        )


def test_rows_are_asked_in_pieces():
    model = toys.plain(6)
    inputs, targets = toys.questions(0, 1300, 3)
    state = state_of(model)
    found = rights(Asker(model, accuracy), {"0.weight": state["0.weight"][None]}, state, ComponentData(inputs, targets))
    assert found.shape == (1, 1300)
    assert found[0].tolist() == (model(inputs).argmax(1) == targets).tolist()
