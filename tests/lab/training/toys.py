"""A small task and small models, for the tests of training alone."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from recombine.data.space import Space
from recombine_lab.models.model import Model
from recombine_lab.runs.run import Configuration, Run
from recombine_lab.tasks.task import Batch, DiscreteTask, Shapes

SPLIT = {"name": "hold_out_combinations", "test_size": 0.25}


@dataclass(frozen=True)
class Sum(DiscreteTask):
    """Two numbers as one-hot codes with noise; the target is their sum, as a value or as a class."""

    values: int = 5
    classes: bool = False
    noise: float = 0.05

    @property
    def space(self) -> Space:
        return Space.of({"a": list(range(self.values)), "b": list(range(self.values))})

    @property
    def shapes(self) -> Shapes:
        if self.classes:
            return Shapes(inputs=(2 * self.values,), outputs=(2 * self.values - 1,), kind="classes")
        return Shapes(inputs=(2 * self.values,), outputs=(1,), kind="values")

    def render(self, latents: Tensor, *, seed: int, part: str) -> Batch:
        rng = torch.Generator().manual_seed(seed)
        clean = torch.cat([nn.functional.one_hot(latents[:, k], self.values) for k in range(2)], dim=1).float()
        inputs = clean + self.noise * torch.randn(clean.shape, generator=rng)
        total = latents.sum(1)
        return Batch(inputs, total if self.classes else total[:, None].float() / self.values)

    def truth(self, combinations: Any) -> Any:
        return combinations.sum(1)


@dataclass(frozen=True)
class Echo(DiscreteTask):
    """Two words in, the same two words out, and an end."""

    words: int = 3

    @property
    def space(self) -> Space:
        return Space.of({"first": list(range(self.words)), "second": list(range(self.words))})

    @property
    def shapes(self) -> Shapes:
        number = self.words + 2
        return Shapes(inputs=(2,), outputs=(4,), kind="tokens", vocabularies=(number, number))

    def render(self, latents: Tensor, *, seed: int, part: str) -> Batch:
        words = latents + 2
        end = torch.ones(len(latents), 1, dtype=torch.long)
        return Batch(words, torch.cat([words, end, 0 * end], dim=1))

    def truth(self, combinations: Any) -> None:
        return None


class EchoNet(nn.Module):
    """Says its input by one linear layer over one-hot words; right after some training."""

    def __init__(self, shapes: Shapes) -> None:
        super().__init__()
        assert shapes.vocabularies is not None
        self.number, self.length = shapes.vocabularies[1], shapes.outputs[0]
        self.linear = nn.Linear(shapes.inputs[0] * self.number, self.length * self.number)

    def forward(self, inputs: Tensor, targets: Tensor) -> Tensor:
        code = nn.functional.one_hot(inputs, self.number).flatten(1).float()
        return self.linear(code).view(-1, self.length, self.number)

    def answer(self, inputs: Tensor, length: int) -> Tensor:
        return self(inputs, inputs).argmax(-1)[:, :length]


@dataclass(frozen=True)
class Net(Model):
    """A perceptron with whatever a test needs in it."""

    hidden: int = 12
    layers: int = 2
    activation: str = "ReLU"
    dropout: float = 0.0
    norm: bool = False
    penalty: float = 0.0

    def build(self, shapes: Shapes) -> nn.Module:
        if shapes.kind == "tokens":
            return EchoNet(shapes)
        made: list[nn.Module] = []
        width = shapes.inputs[0]
        for _ in range(self.layers - 1):
            made += [nn.Linear(width, self.hidden), getattr(nn, self.activation)()]
            made += [nn.BatchNorm1d(self.hidden)] if self.norm else []
            made += [nn.Dropout(self.dropout)] if self.dropout else []
            width = self.hidden
        return Penalised(*made, nn.Linear(width, shapes.outputs[0]), weight=self.penalty)


class Penalised(nn.Sequential):
    def __init__(self, *layers: nn.Module, weight: float) -> None:
        super().__init__(*layers)
        self.weight = weight

    def penalty(self) -> Tensor:
        last = list(self.parameters())[-2]
        return self.weight * last.square().sum()


@dataclass(frozen=True)
class Broken(Model):
    """Raises when it is asked."""

    def build(self, shapes: Shapes) -> nn.Module:
        class Raises(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.weight = nn.Parameter(torch.zeros(1))

            def forward(self, inputs: Tensor) -> Tensor:
                raise ArithmeticError("this model is broken")

        return Raises()


class Memory:
    """A store in memory: what training asks of one, and no more."""

    def __init__(self) -> None:
        self.runs: dict[str, Run] = {}
        self.files: dict[str, dict[str, bytes]] = {}
        self.states: dict[str, tuple[bytes, dict[str, Any]]] = {}
        self.saves = 0

    def has(self, key: str) -> bool:
        return key in self.runs

    def get(self, key: str) -> Run:
        return self.runs[key]

    def file(self, key: str, name: str) -> bytes:
        return self.files[key][name]

    def put(self, run: Run, *, files: Any = {}) -> bool:  # noqa: B006
        if run.key in self.runs:
            return False
        self.runs[run.key], self.files[run.key] = run, dict(files)
        return True

    def save_state(self, name: str, state: bytes, meta: Any) -> None:
        self.saves += 1
        self.states[name] = (state, dict(meta))

    def load_state(self, name: str) -> tuple[bytes, dict[str, Any]] | None:
        return self.states.get(name)

    def drop_state(self, name: str) -> None:
        self.states.pop(name, None)


def same(one: Run, other: Run) -> bool:
    """Bit for bit the same numbers."""
    return (
        one.metrics == other.metrics
        and one.status == other.status
        and one.steps == other.steps
        and all(one.tables[name].equals(other.tables[name]) for name in one.tables)
    )


def errors(run: Run) -> Any:
    """The last errors of every example: what two ways of training are compared by."""
    return np.array(run.tables["predictions"]["error"].to_pylist(), dtype=float)


def keys(runs: Sequence[Run]) -> list[Configuration]:
    return [run.configuration for run in runs]
