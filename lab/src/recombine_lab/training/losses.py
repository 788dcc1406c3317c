"""What is minimised: a module's answers against the targets, and what the module itself adds."""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from recombine.base.errors import SettingError
from recombine_lab.tasks.task import Batch, Shapes
from recombine_lab.training.recipe import Recipe

Loss = Callable[[Tensor, Tensor], Tensor]
_PADDING = 0


def hinge(scores: Tensor, targets: Tensor) -> Tensor:
    """The mean of max(0, 1 - true class's score + best rival's score).

    >>> float(hinge(torch.tensor([[3.0, 1.0, 2.5], [0.0, 5.0, 1.0]]), torch.tensor([0, 1])))
    0.25
    """
    own = scores.gather(1, targets[:, None])
    is_own = torch.arange(scores.shape[1], device=scores.device) == targets[:, None]
    rival = scores.masked_fill(is_own, -torch.inf).amax(dim=1)
    return functional.relu(1 - own[:, 0] + rival).mean()


def token_cross_entropy(scores: Tensor, targets: Tensor) -> Tensor:
    """The mean surprise at each true token, padding left out."""
    return functional.cross_entropy(scores.flatten(0, 1), targets.flatten(), ignore_index=_PADDING)


_LOSSES: dict[tuple[str, str], Loss] = {
    ("values", "mse"): functional.mse_loss,
    ("classes", "cross_entropy"): functional.cross_entropy,
    ("classes", "hinge"): hinge,
    ("tokens", "cross_entropy"): token_cross_entropy,
}


def loss_of(recipe: Recipe, shapes: Shapes) -> Loss:
    """The loss that a recipe means for a task.

    >>> shapes = Shapes(inputs=(2,), outputs=(1,), kind="values")
    >>> loss_of(Recipe(steps=1, loss="hinge"), shapes)
    Traceback (most recent call last):
    ...
    recombine.base.errors.SettingError: loss='hinge' for a task whose targets are values
      why      such targets go with mse
      instead  write loss='mse', or leave it out
    """
    fitting = [name for kind, name in _LOSSES if kind == shapes.kind]
    chosen = fitting[0] if recipe.loss == "auto" else recipe.loss
    if chosen not in fitting:
        raise SettingError(
            f"loss={chosen!r} for a task whose targets are {shapes.kind}",
            why=f"such targets go with {' or '.join(fitting)}",
            instead=f"write loss={fitting[0]!r}, or leave it out",
        )
    return _LOSSES[shapes.kind, chosen]


def answers(module: nn.Module, batch: Batch, shapes: Shapes) -> Tensor:
    """What a module says to a batch; a model of tokens is given the true tokens before each."""
    said = scores_in(module(batch.inputs, batch.targets) if shapes.kind == "tokens" else module(batch.inputs), module)
    if shapes.kind == "values" and said.shape != batch.targets.shape:
        raise SettingError(
            f"{type(module).__name__} answers {tuple(said.shape)} where the targets are {tuple(batch.targets.shape)}",
            why="they are subtracted, and must have one shape",
            instead=f"let it give {tuple(batch.targets.shape[1:])} for each example",
        )
    return said


def scores_in(said: Any, module: nn.Module) -> Tensor:
    """The answers in what a module gives: a tensor, the `logits` of Hugging Face's models, or the first of several.

    >>> scores_in((torch.zeros(2, 3), None), nn.Identity()).shape
    torch.Size([2, 3])
    """
    if isinstance(said, Tensor):
        return said
    logits = said.get("logits") if isinstance(said, Mapping) else getattr(said, "logits", None)
    first = said[0] if logits is None and isinstance(said, tuple | list) and len(said) else logits
    if isinstance(first, Tensor):
        return first
    raise SettingError(
        f"{type(module).__name__} gives {type(said).__name__}",
        why="an answer is a tensor, something with a tensor `logits`, or several of which the first is a tensor",
        instead="let its forward return the answers alone",
    )


def penalty_of(module: nn.Module) -> Callable[[], Tensor] | None:
    """What a module adds to its own loss, where it does."""
    found = getattr(module, "penalty", None)
    return found if callable(found) else None


class Objective(nn.Module):
    """A model with its loss as one module, so that the loss is a function of the weights alone."""

    def __init__(self, module: nn.Module, loss: Loss, shapes: Shapes, *, half: bool) -> None:
        super().__init__()
        self.module = module
        self._loss, self._shapes, self._half = loss, shapes, half
        self._penalty = penalty_of(module) is not None

    def forward(self, inputs: Tensor, targets: Tensor) -> Tensor:
        """The loss of a batch, the penalty added."""
        if self._half:
            with torch.autocast(inputs.device.type, dtype=torch.bfloat16):
                return self._sum(inputs, targets)
        return self._sum(inputs, targets)

    def _sum(self, inputs: Tensor, targets: Tensor) -> Tensor:
        said = answers(self.module, Batch(inputs, targets), self._shapes)
        value = self._loss(said.float() if self._half else said, targets)
        return value + self.module.penalty() if self._penalty else value  # type: ignore[operator]
