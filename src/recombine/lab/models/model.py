"""What a model is: settings that build a torch module for the shapes of a task.

A module takes `inputs` and gives
- for `values`: floats of the targets' shape,
- for `classes`: one score for each class,
- for `tokens`: called with `(inputs, targets)` the scores of each next token, (n, length, tokens), the true tokens
  before it given; its `answer(inputs, length)` gives the tokens it would say by itself.
A module may have a method `penalty()`, a scalar that is added to the loss.
"""

from abc import ABC, abstractmethod
from typing import final

import torch
from torch import nn

from recombine.lab.tasks.task import Shapes


class Model(ABC):
    """Settings of a network. Concrete ones are frozen dataclasses."""

    @abstractmethod
    def build(self, shapes: Shapes) -> nn.Module:
        """A new module, its weights drawn from torch's generator as it stands."""

    @final
    def start(self, shapes: Shapes, *, seed: int) -> nn.Module:
        """A new module whose weights depend on the seed alone."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            return self.build(shapes)


def count_parameters(module: nn.Module) -> int:
    """How many numbers are trained."""
    return sum(parameter.numel() for parameter in module.parameters() if parameter.requires_grad)
