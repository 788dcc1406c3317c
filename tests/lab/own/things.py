"""A task, models and a splitter as a user would write them, in a module of their own."""

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from recombine.data.space import Space
from recombine_lab.models.model import Model
from recombine_lab.tasks.task import Batch, DiscreteTask, Shapes


class Net(nn.Module):
    """A perceptron; `gives` says in which form it answers."""

    def __init__(self, inputs: int, outputs: int, width: int = 8, gives: str = "tensor") -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Flatten(), nn.Linear(inputs, width), nn.ReLU())
        self.head = nn.Linear(width, outputs)
        self.gives = gives

    def forward(self, inputs: Tensor) -> Any:
        scores = self.head(self.body(inputs))
        if self.gives == "logits":
            return _Output(scores)
        return {"tensor": scores, "tuple": (scores, None), "mapping": {"logits": scores}, "words": "yes"}[self.gives]


@dataclass
class _Output:
    logits: Tensor


def make_net(shapes: Shapes, width: int = 8) -> nn.Module:
    """A factory that asks for the task's shapes."""
    return Net(prod(shapes.inputs), shapes.outputs[0], width)


class NamedNet(nn.Sequential):
    """A network with settings that have unlucky names."""

    def __init__(self, shapes: Shapes, name: str = "deep", module: int = 1, name_: int = 0) -> None:
        super().__init__(nn.Flatten(), nn.Linear(prod(shapes.inputs), shapes.outputs[0]))
        self.told = (name, module, name_)


def no_net() -> str:
    """Not a network."""
    return "nothing"


@dataclass(frozen=True)
class Named(Model):
    """A model with a setting that has an unlucky name."""

    name: str = "deep"

    def build(self, shapes: Shapes) -> nn.Module:
        return make_net(shapes, width=16 if self.name == "deep" else 4)


@dataclass(frozen=True)
class Difference(DiscreteTask):
    """Which of two numbers is larger."""

    values: int = 4

    @property
    def space(self) -> Space:
        return Space.of({"a": list(range(self.values)), "b": list(range(self.values))})

    @property
    def shapes(self) -> Shapes:
        return Shapes(inputs=(2 * self.values,), outputs=(2,), kind="classes")

    def render(self, latents: Tensor, *, seed: int, part: str) -> Batch:
        code = torch.cat([nn.functional.one_hot(latents[:, k], self.values) for k in range(2)], dim=1)
        return Batch(code.float(), (latents[:, 0] > latents[:, 1]).long())

    def truth(self, combinations: Any) -> Any:
        return (combinations[:, 0] > combinations[:, 1]).astype(np.int64)


class EveryNth:
    """A splitter in scikit-learn's manner, no dataclass: every nth row is held out."""

    def __init__(self, n: int = 4) -> None:
        self.n = n

    def split(self, table: Any) -> Any:
        rows = np.arange(len(table))
        yield rows[rows % self.n != 0], rows[rows % self.n == 0]
