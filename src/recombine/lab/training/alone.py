"""One run by itself: a plain loop over a plain module."""

from typing import final

import torch
from torch import nn

from recombine.errors import SettingError
from recombine.lab.tasks.task import Batch, Shapes
from recombine.lab.training.learner import OPTIMISER, SLOTS, WEIGHTS, Learner, Optimiser, State
from recombine.lab.training.losses import Loss, Objective
from recombine.lab.training.recipe import Recipe
from recombine.seeds import derived


class Alone(Learner):
    """One run. What its layers draw while it is trained (dropout) comes from the seed and the step."""

    def __init__(self, module: nn.Module, recipe: Recipe, *, loss: Loss, shapes: Shapes, seed: int) -> None:
        self._module, self._recipe, self._seed = module.train(), recipe, seed
        self._objective: nn.Module = Objective(module, loss, shapes, half=recipe.precision == "bfloat16")
        self._call = torch.compile(self._objective) if recipe.compile else self._objective
        self._weights = [weight for weight in module.parameters() if weight.requires_grad]
        self._optimiser = Optimiser([(recipe, self._weights)])

    @final
    def step(self, batch: Batch, step: int) -> list[float]:
        """One update. Torch's generator is seeded for it: call this under `fork_rng`."""
        torch.default_generator.manual_seed(derived(self._seed, "noise", step))
        for weight in self._weights:
            weight.grad = None
        loss = self._loss(batch)
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
        kept = {WEIGHTS + name: value.detach().clone() for name, value in self._module.state_dict().items()}
        for name, weight in self._module.named_parameters():
            for slot in SLOTS[self._recipe.optimiser]:
                found = self._optimiser.slot(weight, slot)
                if found is not None:
                    kept[f"{OPTIMISER}{slot}.{name}"] = found.detach().clone()
        return kept

    @final
    def load(self, run: int, state: State, *, step: int) -> None:  # noqa: ARG002 - there is one
        """Weights, buffers, and what the optimiser remembers."""
        self._module.load_state_dict({k.removeprefix(WEIGHTS): v for k, v in state.items() if k.startswith(WEIGHTS)})
        for name, weight in self._module.named_parameters():
            keys = {slot: f"{OPTIMISER}{slot}.{name}" for slot in SLOTS[self._recipe.optimiser]}
            self._optimiser.remember(
                weight, {slot: state[key].clone() for slot, key in keys.items() if key in state}, step=step
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
