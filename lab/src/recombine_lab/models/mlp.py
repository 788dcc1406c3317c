"""A fully connected network whose initial scale moves it from rich to lazy learning."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from math import prod, sqrt
from typing import Literal

import torch
from torch import nn
from torch.nn import init

from recombine_lab.models.model import Model, Shaped, answer_shape, as_tuples, check_positive, refusal
from recombine_lab.tasks.task import Shapes

Activation = Literal["relu", "leaky_relu", "elu", "gelu", "tanh", "identity"]
Initialisation = Literal["normal", "torch", "he", "glorot", "width"]

_ACTIVATIONS: dict[Activation, Callable[[], nn.Module]] = {
    "relu": nn.ReLU,
    # the slope of `recombine.verbs.predict`'s leaky kernel
    "leaky_relu": lambda: nn.LeakyReLU(0.1),
    "elu": nn.ELU,
    "gelu": nn.GELU,
    "tanh": nn.Tanh,
    "identity": nn.Identity,
}

_KERNELS: dict[Activation, str] = {"relu": "relu", "leaky_relu": "leaky", "elu": "relu", "gelu": "relu"}


@dataclass(frozen=True, kw_only=True)
class MLP(Model):
    """Linear layers with an activation between them; inputs of any shape are flattened.

    Every layer's weights and biases are multiplied by `scale`: 1 is lazy when the layer is wide, 1e-6 is rich. The
    initialisations:
    - `normal` (Lippl and Stachenfeld, ICLR 2025): weights normal with sd scale · sqrt(2 / fan-in), biases uniform
      within ± scale / sqrt(fan-in);
    - `width`: the same, with the width of the first layer in the place of its fan-in: sqrt(2 / width) stands in that
      paper's text, `normal` is what its code does;
    - `he`: the weights of `normal`, biases zero;
    - `glorot`: weights uniform within ± scale · sqrt(6 / (fan-in + fan-out)), biases zero;
    - `torch`: PyTorch's own, times scale.

    >>> shapes = Shapes(inputs=(2,), outputs=(2,), kind="classes")
    >>> MLP(hidden=(8, 8, 8), initialisation="he").build(shapes)(torch.zeros(5, 2)).shape
    torch.Size([5, 2])
    """

    hidden: tuple[int, ...] = (1000,)
    activation: Activation = "relu"
    scale: float = 1.0
    initialisation: Initialisation = "normal"
    bias: bool = True

    def __post_init__(self) -> None:
        as_tuples(self, "hidden")
        check_positive(self, hidden=self.hidden, scale=self.scale)

    @property
    def kernel_family(self) -> str | None:
        """Rectifiers of any shape are taken for ReLU; of tanh and of no activation at all no kernel is known.

        >>> MLP(hidden=(64, 64)).kernel_family, MLP(hidden=(64,), activation="tanh").kernel_family
        ('relu:2', None)
        """
        kind = _KERNELS.get(self.activation)
        return None if kind is None else f"{kind}:{len(self.hidden)}"

    def build(self, shapes: Shapes) -> nn.Module:
        """A new network for a task's shapes."""
        answer = answer_shape(self, shapes)
        if shapes.vocabularies is not None:
            raise refusal(
                self,
                shapes,
                needs="numbers as inputs, and these are words by their place in a list",
                instead="use transformer, which gives each word a vector of its own",
            )
        widths = (prod(shapes.inputs), *self.hidden, prod(answer))
        layers: list[nn.Module] = [nn.Flatten()]
        for place, (entering, leaving) in enumerate(pairwise(widths)):
            layer = nn.Linear(entering, leaving, bias=self.bias)
            self._draw(layer, by=leaving if self.initialisation == "width" and not place else entering)
            layers += [layer, _ACTIVATIONS[self.activation]()]
        return nn.Sequential(*layers[:-1], Shaped(answer))

    @torch.no_grad()
    def _draw(self, layer: nn.Linear, *, by: int) -> None:
        """Initial weights and biases; normal ones are divided by the root of a number of units."""
        root = sqrt(by)
        if self.initialisation == "torch":
            layer.weight.mul_(self.scale)
        elif self.initialisation == "glorot":
            init.xavier_uniform_(layer.weight, gain=self.scale)
        else:
            init.normal_(layer.weight, std=self.scale * sqrt(2) / root)
        if not self.bias:
            return
        if self.initialisation == "torch":
            layer.bias.mul_(self.scale)
        elif self.initialisation in ("normal", "width"):
            init.uniform_(layer.bias, -self.scale / root, self.scale / root)
        else:
            init.zeros_(layer.bias)
