"""What both ways of training have in common: an update for each step, and the state of each run by name."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from recombine.lab.tasks.task import Batch
from recombine.lab.training.recipe import Recipe
from recombine.lab.training.schedule import is_constant, rate

State = dict[str, Tensor]
WEIGHTS, OPTIMISER = "weights.", "optimiser."
SLOTS: Mapping[str, tuple[str, ...]] = {
    "sgd": ("momentum_buffer",),
    "adam": ("exp_avg", "exp_avg_sq"),
    "adamw": ("exp_avg", "exp_avg_sq"),
}
"""What an optimiser remembers of each weight."""


class Learner(ABC):
    """Runs in training, one or several as one."""

    @abstractmethod
    def step(self, batch: Batch, step: int) -> list[float]:
        """One update; the loss of each run before it."""

    @abstractmethod
    def module(self, run: int) -> nn.Module:
        """A run's model as it stands; good until the next update."""

    @abstractmethod
    def state(self, run: int) -> State:
        """Everything that a run's next updates depend on, by name."""

    @abstractmethod
    def load(self, run: int, state: State, *, step: int) -> None:
        """Go on from a state that was taken after `step` updates."""


class Optimiser:
    """Torch's own optimiser over groups of weights, each group with a recipe of its own."""

    def __init__(self, groups: Sequence[tuple[Recipe, Sequence[Tensor]]]) -> None:
        self._recipes = [recipe for recipe, _ in groups]
        self.torch = _made(self._recipes[0].optimiser, [_group(recipe, weights) for recipe, weights in groups])
        self._constant = all(map(is_constant, self._recipes))

    def step(self, step: int) -> None:
        """Move the weights along their gradients."""
        if not self._constant:
            for group, recipe in zip(self.torch.param_groups, self._recipes, strict=True):
                group["lr"] = rate(recipe, step)
        self.torch.step()

    def slot(self, weight: Tensor, name: str) -> Tensor | None:
        """What is remembered of a weight."""
        found: Tensor | None = self.torch.state[weight].get(name) if weight in self.torch.state else None
        return found

    def remember(self, weight: Tensor, slots: Mapping[str, Tensor], *, step: int) -> None:
        """Go on with what was remembered of a weight."""
        if slots:
            self.torch.state[weight] = {"step": torch.tensor(float(step)), **slots}


def _group(recipe: Recipe, weights: Sequence[Tensor]) -> dict[str, Any]:
    group = {"params": list(weights), "lr": rate(recipe, 0), "weight_decay": recipe.weight_decay}
    return group | ({"momentum": recipe.momentum} if recipe.optimiser == "sgd" else {})


def _made(name: str, groups: list[dict[str, Any]]) -> torch.optim.Optimizer:
    # One pass over the weights in one call: the fastest of torch's ways on a processor.
    if name == "sgd":
        return torch.optim.SGD(groups, fused=True)
    return torch.optim.Adam(groups, fused=True) if name == "adam" else torch.optim.AdamW(groups, fused=True)
