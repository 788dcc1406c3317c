"""An update for each step, and the state of each run by name.

What both ways of training have in common, and one of them, a plain loop over a plain module (`SingleLearner`). The
other, several runs as one, is `batched.BatchedLearner`.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, final

import torch
from torch import Tensor, nn

from recombine.errors import SettingError
from recombine.seeds import derived
from recombine_lab.tasks.task import Batch, Shapes
from recombine_lab.training.devices import device_of
from recombine_lab.training.losses import Loss, Objective
from recombine_lab.training.recipe import Recipe, is_constant, rate

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
            # A fused optimiser on a GPU counts there.
            self.torch.state[weight] = {"step": torch.tensor(float(step), device=weight.device), **slots}


def _group(recipe: Recipe, weights: Sequence[Tensor]) -> dict[str, Any]:
    group = {"params": list(weights), "lr": rate(recipe, 0), "weight_decay": recipe.weight_decay}
    return group | ({"momentum": recipe.momentum} if recipe.optimiser == "sgd" else {})


def _made(name: str, groups: list[dict[str, Any]]) -> torch.optim.Optimizer:
    # One pass over the weights in one call: the fastest of torch's ways on a processor, and on CUDA.
    fused = groups[0]["params"][0].device.type in ("cpu", "cuda")
    if name == "sgd":
        return torch.optim.SGD(groups, fused=fused)
    return torch.optim.Adam(groups, fused=fused) if name == "adam" else torch.optim.AdamW(groups, fused=fused)


class SingleLearner(Learner):
    """One run. What its layers draw while it is trained (dropout) comes from the seed and the step."""

    def __init__(self, module: nn.Module, recipe: Recipe, *, loss: Loss, shapes: Shapes, seed: int) -> None:
        self._module, self._recipe, self._seed = module.train(), recipe, seed
        self._objective: nn.Module = Objective(module, loss, shapes, half=recipe.precision == "bfloat16")
        self._call = torch.compile(self._objective) if recipe.compile else self._objective
        self._weights = [weight for weight in module.parameters() if weight.requires_grad]
        self._device = device_of(recipe)
        self._optimiser = Optimiser([(recipe, self._weights)])

    @final
    def step(self, batch: Batch, step: int) -> list[float]:
        """One update. Torch's generator is seeded for it: call this under `fork_rng`."""
        if not self._module.training:  # a callback may have asked it
            self._module.train()
        seed = derived(self._seed, "noise", step)
        torch.default_generator.manual_seed(seed)
        if self._device.type != "cpu":
            torch.manual_seed(seed)
        for weight in self._weights:
            weight.grad = None
        loss = self._loss(batch.to(self._device))
        loss.backward()  # type: ignore[no-untyped-call]
        if self._recipe.clip is not None:
            nn.utils.clip_grad_norm_(self._weights, self._recipe.clip)
        self._optimiser.step(step)
        return [loss.item()]

    @final
    def module(self, run: int) -> nn.Module:  # noqa: ARG002 - there is one
        """The module itself."""
        return self._module

    @final
    def state(self, run: int) -> State:  # noqa: ARG002 - there is one
        """Weights, buffers, and what the optimiser remembers."""
        kept = {WEIGHTS + name: value.detach().cpu().clone() for name, value in self._module.state_dict().items()}
        for name, weight in self._module.named_parameters():
            for slot in SLOTS[self._recipe.optimiser]:
                found = self._optimiser.slot(weight, slot)
                if found is not None:
                    kept[f"{OPTIMISER}{slot}.{name}"] = found.detach().cpu().clone()
        return kept

    @final
    def load(self, run: int, state: State, *, step: int) -> None:  # noqa: ARG002 - there is one
        """Weights, buffers, and what the optimiser remembers."""
        self._module.load_state_dict({k.removeprefix(WEIGHTS): v for k, v in state.items() if k.startswith(WEIGHTS)})
        for name, weight in self._module.named_parameters():
            keys = {slot: f"{OPTIMISER}{slot}.{name}" for slot in SLOTS[self._recipe.optimiser]}
            self._optimiser.remember(
                weight,
                {slot: state[key].to(self._device, copy=True) for slot, key in keys.items() if key in state},
                step=step,
            )

    def _loss(self, batch: Batch) -> torch.Tensor:
        if not self._recipe.compile:
            found: torch.Tensor = self._call(batch.inputs, batch.targets)
            return found
        try:
            return self._call(batch.inputs, batch.targets)  # type: ignore[no-any-return]
        except Exception as error:
            if "compiler" not in f"{type(error).__name__} {error}".lower():
                raise
            raise SettingError(
                "compile=True",
                why=f"torch could not compile the model here: {str(error).splitlines()[0]}",
                instead="install a C++ compiler (g++), or leave compile out",
            ) from error
