"""Pretraining: known answers of its losses, views that keep what they must, and weights that `fit` starts from."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from recombine.base.errors import SettingError
from recombine_lab import fit
from recombine_lab.models import MLP, Transformer
from recombine_lab.tasks import Addition
from recombine_lab.tasks.task import Shapes
from recombine_studies.tasks.pretraining import contrastive, covered_words, masked_tokens, pairs_apart, views
from tests.properties import examples


@given(st.integers(2, 6), st.integers(0, 1000), st.floats(0.1, 2.0))
@examples(30)
def test_the_loss_of_pairs_is_what_its_words_say(n: int, seed: int, heat: float) -> None:
    rng = torch.Generator().manual_seed(seed)
    one, other = torch.randn(2, n, 4, generator=rng).double()
    found = float(pairs_apart(one, other, heat))
    every = [v / v.norm() for v in [*one, *other]]
    total = 0.0
    for k, mine in enumerate(every):
        partner = every[(k + n) % (2 * n)]
        others = [math.exp(float(mine @ v) / heat) for j, v in enumerate(every) if j != k]
        total -= math.log(math.exp(float(mine @ partner) / heat) / sum(others))
    assert found == pytest.approx(total / (2 * n), rel=1e-9)


def test_views_keep_how_much_is_drawn() -> None:
    pictures = torch.ones(40, 3, 32, 32)
    pictures[:, :, 12:20, 14:18] = -1.0
    seen = views(pictures, torch.Generator().manual_seed(0))
    drawn = (seen.mean(dim=1) < 0.9).float().sum(dim=(1, 2))
    assert seen.shape == pictures.shape
    assert float(seen.max()) == pytest.approx(1.0)
    assert ((drawn >= 24) & (drawn <= 60)).all()  # 32 pixels, and those that are touched in passing
    assert len({one.numpy().tobytes() for one in seen}) == 40


def test_contrastive_pretraining_lowers_its_loss() -> None:
    torch.manual_seed(0)
    module = nn.Sequential(nn.Flatten(), nn.Linear(3 * 8 * 8, 16))
    losses = contrastive(module, torch.randn(64, 3, 8, 8), steps=60, batch=16, lr=1e-2)
    assert sum(losses[-10:]) < sum(losses[:10])


@given(st.integers(0, 1000), st.floats(0.01, 0.9))
@examples(30)
def test_some_word_is_covered_and_never_padding(seed: int, share: float) -> None:
    rows = torch.tensor([[3, 4, 5, 0, 0], [6, 7, 0, 0, 0]])
    covered = covered_words(rows, share, torch.Generator().manual_seed(seed))
    assert covered.any(dim=1).all()
    assert not covered[rows == 0].any()


def test_covered_words_are_learned_from_those_around_them() -> None:
    shapes = Shapes(inputs=(4,), outputs=(3,), kind="classes", vocabularies=(8, 3))
    encoder = Transformer(width=16, heads=2, layers=1, inner=16).start(shapes, seed=0)
    tokens = torch.tensor([[2, 2, 2, 2], [3, 3, 3, 0], [5, 5, 5, 5]]).repeat(20, 1)
    losses = masked_tokens(encoder, tokens, steps=80, batch=16, lr=1e-2, share=0.3)  # the others tell the word
    assert losses[0] > 1.5
    assert sum(losses[-5:]) / 5 < 0.8  # a guess among the three words costs 1.1


def test_fit_starts_from_weights() -> None:
    task, model = Addition(values=5), MLP(hidden=(8,))
    recipe = {"steps": 1, "lr": 1e-9, "evaluations": 1}
    start = {name: torch.full_like(one, 0.25) for name, one in model.start(task.shapes, seed=1).state_dict().items()}
    (run,) = fit(task, "own", model, recipe, progress=None, weights=start)
    assert all(torch.allclose(one, torch.tensor(0.25), atol=1e-6) for one in run.module().state_dict().values())
    first = next(iter(start))
    (part,) = fit(task, "own", model, recipe, progress=None, weights={first: start[first]})
    (fresh,) = fit(task, "own", model, recipe, progress=None)
    states = part.module().state_dict(), fresh.module().state_dict()
    assert torch.allclose(states[0][first], torch.tensor(0.25), atol=1e-6)
    assert all(torch.allclose(states[0][name], states[1][name], atol=1e-6) for name in start if name != first)


def test_weights_that_do_not_belong_are_refused(tmp_path) -> None:
    task, model = Addition(values=5), MLP(hidden=(8,))
    recipe, start = {"steps": 1}, model.start(task.shapes, seed=1).state_dict()
    first = next(iter(start))
    with pytest.raises(SettingError, match="no weight of that name"):
        fit(task, "own", model, recipe, progress=None, weights={"nothing": start[first]})
    with pytest.raises(SettingError, match="other shapes"):
        fit(task, "own", model, recipe, progress=None, weights={first: start[first][:1]})
    with pytest.raises(SettingError, match="store"):
        fit(task, "own", model, recipe, progress=None, weights=start, store=tmp_path)
