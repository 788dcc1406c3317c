"""The odd item is the one that is least like the others, wherever it stands."""

from itertools import permutations

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from recombine.base.errors import SettingError
from recombine_lab.models.catalogue import MODELS
from recombine_lab.tasks.task import Shapes
from recombine_studies.tasks.agreement import Agreement
from recombine_studies.tasks.odd_one_out_model import OddOneOut
from recombine_studies.tasks.relations import Relations

POINTS = Shapes(inputs=(4, 5), outputs=(4,), kind="classes")
SMALL_CNN = {"name": "cnn", "channels": [4, 8], "dense": [16]}


def module(width: int = 6, seed: int = 0) -> nn.Module:
    return OddOneOut(backbone={"name": "mlp", "hidden": [16]}, width=width).start(POINTS, seed=seed)


def scores_by_hand(built: nn.Module, items: torch.Tensor) -> torch.Tensor:
    """Brute force: one pair of items after another."""
    scores = torch.zeros(items.shape[:2])
    for row, problem in enumerate(items):
        z = [built.backbone(item[None])[0] for item in problem]
        z = [vector / vector.norm() for vector in z]
        for i in range(len(z)):
            scores[row, i] = -sum(float(z[i] @ z[j]) for j in range(len(z)) if j != i)
    return scores


def test_scores_are_those_of_the_formula() -> None:
    items = torch.randn(5, 4, 5, generator=torch.Generator().manual_seed(1))
    built = module()
    with torch.no_grad():
        torch.testing.assert_close(built(items), scores_by_hand(built, items))


@pytest.mark.parametrize("odd", range(4))
def test_three_the_same_and_one_other(odd: int) -> None:
    rng = torch.Generator().manual_seed(odd)
    same, other = torch.randn(2, 20, 1, 5, generator=rng)
    items = same.repeat(1, 4, 1)
    items[:, odd] = other[:, 0]
    scores = module()(items)
    assert (scores.argmax(dim=1) == odd).all()
    assert (scores.softmax(dim=1).sum(dim=1) - 1).abs().max() < 1e-6


def test_four_the_same_have_no_odd_one() -> None:
    scores = module()(torch.ones(1, 4, 5))
    torch.testing.assert_close(scores, torch.full((1, 4), -3.0))


def test_any_order_gives_the_same_scores_in_that_order() -> None:
    items = torch.randn(3, 4, 5, generator=torch.Generator().manual_seed(2))
    built = module()
    plain = built(items)
    for order in permutations(range(4)):
        torch.testing.assert_close(built(items[:, order]), plain[:, order])


@pytest.mark.parametrize(
    ("task", "backbone"),
    [
        (Relations(rule="inside_contact", size=32), SMALL_CNN),
        (Agreement(pair="reflexive"), {"name": "transformer", "width": 16, "heads": 2, "layers": 1, "inner": 16}),
    ],
)
def test_learns_a_handful_of_problems_by_heart(task: Relations | Agreement, backbone: dict[str, object]) -> None:
    batch = task.tensors(task.every()[::4][:6], seed=0)
    built = OddOneOut(backbone=backbone, width=16).start(task.shapes, seed=0)
    optimiser = torch.optim.Adam(built.parameters(), lr=3e-3)
    before = cross_entropy(built(batch.inputs), batch.targets).item()
    for _ in range(60):
        optimiser.zero_grad()
        cross_entropy(built(batch.inputs), batch.targets).backward()
        optimiser.step()
    assert cross_entropy(built(batch.inputs), batch.targets).item() < 0.5 * before
    assert (built(batch.inputs).argmax(dim=1) == batch.targets).all()


def test_same_seed_same_weights_and_a_spec_that_rebuilds_it() -> None:
    one, again, other = module(seed=3), module(seed=3), module(seed=4)
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), again.parameters(), strict=True))
    assert not all(torch.equal(a, b) for a, b in zip(one.parameters(), other.parameters(), strict=True))
    model = OddOneOut(backbone=SMALL_CNN, width=8)
    assert MODELS.build(MODELS.spec(model)) == model


@pytest.mark.parametrize(
    ("shapes", "said"),
    [
        (Shapes(inputs=(3, 8, 8), outputs=(10,), kind="classes"), "one class for each of them"),
        (Shapes(inputs=(4, 5), outputs=(4,), kind="values"), "kind 'values'"),
        (Shapes(inputs=(4,), outputs=(4,), kind="classes"), "items as the inputs' first axis"),
        (POINTS, "an image"),
    ],
)
def test_says_what_it_cannot_serve(shapes: Shapes, said: str) -> None:
    with pytest.raises(SettingError, match=said):
        OddOneOut().build(shapes)


def test_refuses_settings_when_they_are_given() -> None:
    with pytest.raises(SettingError, match="did you mean 'cnn'"):
        OddOneOut(backbone="cn")
    with pytest.raises(SettingError, match="has no setting 'chanels'"):
        OddOneOut(backbone={"name": "cnn", "chanels": [2]})
    with pytest.raises(SettingError, match="a size is a number above zero"):
        OddOneOut(width=0)
