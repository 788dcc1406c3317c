"""A network with new weights remembers nothing of the old ones: every parameter is shifted far off, and drawn anew."""

import copy

import pytest
import torch
from torch import nn
from torch.nn.utils import parametrizations

from recombine.base.errors import SettingError
from recombine_lab import models
from recombine_lab.probes.new_weights import redraw_weights
from recombine_lab.tasks import Bumps

SHIFT = 5.0


class Bare(nn.Module):
    """Parameters that no method initialises, of every kind that is known by its name or its shape."""

    def __init__(self) -> None:
        super().__init__()
        self.own = nn.Parameter(torch.rand(6, 50) / 50**0.5)
        self.line = nn.Parameter(torch.rand(40) / 40**0.5)
        self.bias = nn.Parameter(torch.zeros(6))
        self.pos_embed = nn.Parameter(0.02 * torch.randn(1, 9, 8))
        self.filters = nn.Parameter(torch.randn(4, 16, dtype=torch.complex64) / 4)


class RMSNorm(nn.Module):
    """A normalisation of somebody's own, which cannot reset itself."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(8))


class Rescaling(nn.Module):
    """Its reset reads what was learnt, so that it is no reset."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(8, 8) / 8)

    def reset_parameters(self):
        self.weight.data.mul_(0.5)


class Own(nn.Module):
    """As many write it: a method without arguments that initialises all parts."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(8, 8)
        self._init_weights()

    def _init_weights(self):
        nn.init.constant_(self.inner.bias, 0.25)


def gpt2():
    transformers = pytest.importorskip("transformers")
    config = transformers.GPT2Config(vocab_size=40, n_positions=16, n_embd=32, n_layer=2, n_head=2)
    return transformers.GPT2LMHeadModel(config)


def loaded_gpt2():
    """Marked as Hugging Face marks what came from a file, of which its own initialisation skips everything."""
    model = gpt2()
    for weight in model.parameters():
        weight._is_hf_initialized = True
    return model


MODULES = {
    "mlp": lambda: nn.Sequential(nn.Linear(20, 30), nn.ReLU(), nn.Linear(30, 5), nn.PReLU()),
    "convolutions": lambda: nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ConvTranspose2d(8, 4, 3)),
    "norms": lambda: nn.Sequential(nn.LayerNorm(8), nn.GroupNorm(2, 8), RMSNorm()),
    "embedding": lambda: nn.Embedding(30, 10, padding_idx=0),
    "attention": lambda: nn.MultiheadAttention(16, 4, add_bias_kv=True),
    "transformer": lambda: nn.TransformerEncoderLayer(16, 4, 32),
    "recurrent": lambda: nn.LSTM(8, 16),
    "weight norm": lambda: parametrizations.weight_norm(nn.Linear(20, 30)),
    "spectral norm": lambda: parametrizations.spectral_norm(nn.Linear(20, 30)),
    "orthogonal": lambda: parametrizations.orthogonal(nn.Linear(8, 8)),
    "bare": Bare,
    "rescaling": Rescaling,
    "own": Own,
    "gpt2": gpt2,
    "gpt2, loaded": loaded_gpt2,
    "gpt2, one layer's mlp": lambda: gpt2().transformer.h[0].mlp,
    "gpt2 inside": lambda: nn.Sequential(nn.Linear(4, 4), gpt2()),
    "low-rank filters": lambda: models.LowRankFilters().build(Bumps(size=6, code="onehot").shapes),
}


@pytest.mark.parametrize("name", MODULES)
def test_no_parameter_remembers_what_was_learnt(name):
    fresh = MODULES[name]()
    learnt = copy.deepcopy(fresh)
    with torch.no_grad():
        for weight in learnt.parameters():
            weight.add_(SHIFT)
    before = copy.deepcopy(learnt.state_dict())
    chance = torch.random.get_rng_state()
    one, again, other = (redraw_weights(learnt, seed=seed) for seed in (0, 0, 1))
    assert torch.equal(torch.random.get_rng_state(), chance)
    assert all(torch.equal(value, before[key]) for key, value in learnt.state_dict().items())
    new = dict(fresh.named_parameters())
    for key, weight in one.named_parameters():
        assert torch.equal(weight, again.get_parameter(key))
        # a mean over n draws is within 4 standard errors of the new one's, which has such an error itself
        spread = new[key].detach().std(correction=0).abs().item() + 0.3
        assert abs((weight.mean() - new[key].mean()).item()) < 1 + 4 * spread / weight.numel() ** 0.5, key
        if new[key].numel() > 20 and new[key].abs().std() > 0 and name != "orthogonal":
            assert not torch.equal(weight, other.get_parameter(key)), key
            # about the scale that it has when it is new: a layer alone cannot know that GPT-2 halves it
            scale = (weight.abs().mean() / new[key].abs().mean()).item()
            assert 0.4 < scale < 2.5, key


def test_parts_are_new_as_they_are_built():
    """Normalisations are ones, statistics start again, and a model's own wishes come last."""
    network = nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8), nn.MultiheadAttention(8, 2), Own())
    network[1].running_mean.fill_(7.0)
    made = redraw_weights(network, seed=0)
    assert made[1].weight.tolist() == [1.0] * 8
    assert made[1].running_mean.tolist() == [0.0] * 8
    assert made[2].out_proj.bias.tolist() == [0.0] * 8
    assert made[3].inner.bias.tolist() == [0.25] * 8


def test_an_orthogonal_weight_is_another_orthogonal_one():
    """Its parameter is always minus the identity when it is new: chance is in a buffer beside it."""
    layer = parametrizations.orthogonal(nn.Linear(8, 8))
    layer.weight = -layer.weight
    one, other = (redraw_weights(layer, seed=seed).weight for seed in (0, 1))
    assert torch.allclose(one @ one.T, torch.eye(8), atol=1e-5)
    assert not torch.allclose(one, other, atol=0.1)


def test_weights_that_are_tied_stay_tied():
    made = redraw_weights(gpt2(), seed=0)
    assert made.lm_head.weight is made.transformer.wte.weight


def test_every_value_of_shifted_weights_is_gone():
    """Not even in another place: no number of the old network is among the new ones."""
    network = nn.Sequential(nn.Linear(4, 4), nn.MultiheadAttention(4, 2), Bare())
    for weight in network.parameters():
        weight.data.fill_(7.0)
    assert not any((weight == 7.0).any() for weight in redraw_weights(network, seed=0).parameters())


class Failing(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))

    def reset_parameters(self):
        raise ValueError("not today")


def whole_numbers():
    module = nn.Module()
    module.table = nn.Parameter(torch.arange(3), requires_grad=False)
    return module


def with_history():
    module = nn.Linear(2, 2)
    module.kept = module.weight * 2
    return module


@pytest.mark.parametrize(
    ("module", "said"),
    [
        (nn.LazyLinear(3), "has no shape yet"),
        (whole_numbers(), "'table' is torch.int64"),
        (Failing(), "not today"),
        (with_history(), "cannot be copied"),
    ],
)
def test_what_cannot_be_drawn_anew_is_refused_in_words(module, said):
    with pytest.raises(SettingError, match=said):
        redraw_weights(module, seed=0)
