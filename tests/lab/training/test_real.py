"""Tasks and models of the catalogues, trained a little: they learn, and the two ways agree."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from recombine.data.space import Space
from recombine_lab.models.vision import CNN
from recombine_lab.tasks.task import Batch, DiscreteTask, Shapes
from recombine_lab.training.fit import fit
from tests.lab.training.toys import SPLIT, errors, same


def test_addition_is_learnt_and_carries_over() -> None:
    recipe = {"steps": 300, "lr": 0.003, "samples": "every", "batch": None, "together": "always"}
    runs = fit("addition", SPLIT, {"name": "mlp", "hidden": [64]}, recipe, seeds=(0, 1, 2))
    assert all(run.metrics["seen.score"] > 0.99 for run in runs)
    assert all(run.metrics["unseen.score"] > 0.8 for run in runs)


@pytest.mark.slow
def test_a_recurrent_model_of_commands_goes_alone_and_learns() -> None:
    recipe = {"steps": 12, "lr": 0.01, "batch": 16, "samples": 64, "test_samples": 20, "evaluations": 2}
    runs = fit("scan", "everything", "lstm_seq2seq", recipe, seeds=(0, 1))
    assert [run.together for run in runs] == [1, 1]
    for run in runs:
        losses = [line["loss"] for line in run.tables["curve"].to_pylist() if line["part"] == "seen"]
        assert losses[0] == pytest.approx(math.log(8), rel=0.1)  # eight tokens, none preferred
        assert losses[1] < 0.8 * losses[0]
        assert 0 <= run.metrics["seen.score"] <= 1
    again = fit("scan", "everything", "lstm_seq2seq", recipe, seeds=(1,))
    assert same(again[0], runs[1])


@dataclass(frozen=True)
class Bars(DiscreteTask):
    """Two bars on a small canvas; the class is how far apart they are."""

    size: int = 9

    @property
    def space(self) -> Space:
        return Space.of({"x": list(range(self.size)), "y": list(range(self.size))})

    @property
    def shapes(self) -> Shapes:
        return Shapes(inputs=(1, self.size, self.size), outputs=(self.size,), kind="classes")

    def render(self, latents: Tensor, *, seed: int, part: str) -> Batch:
        places = torch.arange(self.size)
        image = (places == latents[:, :1]).float()[:, None] + (places == latents[:, 1:2]).float()[:, :, None]
        return Batch(image[:, None], (latents[:, 0] - latents[:, 1]).abs())

    def truth(self, combinations: Any) -> Any:
        return np.abs(combinations[:, 0] - combinations[:, 1])


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["cross_entropy", "hinge"])
def test_convolutions_as_one_and_in_other_company(loss: str) -> None:
    recipe = {"steps": 8, "batch": 10, "lr": 0.01, "loss": loss, "evaluations": 2}
    model = CNN(channels=(4, 5), dense=(6,))

    def run(together: str, *seeds: int) -> Any:
        return fit(Bars(), "everything", model, recipe | {"together": together}, seeds=seeds)

    as_one, alone = run("always", 0, 1, 2), run("never", 0, 1, 2)
    for one, other in zip(as_one, alone, strict=True):
        assert one.metrics["seen.loss"] == pytest.approx(other.metrics["seen.loss"], rel=1e-3)
    assert same(run("always", 2)[0], as_one[2])
    assert same(run("always", 4, 1)[1], as_one[1])
    assert errors(as_one[0]).shape == (81,)
