"""Two questions about an example: it shows two noisy symbols, and says which of the two is asked for.

Whoever keeps the two questions apart handles every pair of symbols; whoever has learnt the pairs that were shown does
not. Hold out pairs with a splitter over the factors `first` and `second`.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn.functional import one_hot

from recombine.base.checks import check_number
from recombine.base.seeds import derived
from recombine.data.space import Space
from recombine_lab.tasks.task import Batch, Codes, DiscreteTask, Part, Shapes, at_least

QUESTIONS = ("first", "second")


@dataclass(frozen=True, kw_only=True)
class TwoQuestions(DiscreteTask):
    """Two symbols out of `values`, one-hot, and the question in a slot of its own; `noise` is its standard deviation.

    The question counts twice as much as a symbol does, so that noise hides it less.

    >>> batch = TwoQuestions(values=3, noise=0.0).tensors([(0, 2, 1)], seed=0)
    >>> batch.inputs.tolist(), batch.targets.tolist()
    ([[1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 2.0, 0.0]], [2])
    """

    NUMERICS: ClassVar[int] = 1

    values: int = 6
    noise: float = 0.35

    def __post_init__(self) -> None:
        at_least("values", self.values, 2)
        check_number("noise", self.noise, least=0, why="it is a standard deviation", instead="write noise=0.35, or 0")

    @property
    def space(self) -> Space:
        """Both symbols, and which of them is asked for."""
        symbols = tuple(range(self.values))
        return Space.of({"first": symbols, "second": symbols, "asked": QUESTIONS})

    @property
    def shapes(self) -> Shapes:
        """Three slots in: the symbols and the question. One of the symbols out."""
        return Shapes(inputs=(3 * self.values,), outputs=(self.values,), kind="classes", slots=3)

    def truth(self, combinations: Codes) -> npt.NDArray[Any]:
        """The symbol that is asked for."""
        return np.asarray(np.where(combinations[:, 2] == 0, combinations[:, 0], combinations[:, 1]))

    def render(self, latents: Tensor, *, seed: int, part: Part) -> Batch:
        """Symbols and question under noise of their own, and the answer."""
        codes = latents[:, :3].cpu().long()
        rng = torch.Generator().manual_seed(derived(seed, "noise", part))
        clean = torch.cat([one_hot(codes[:, :2], self.values).flatten(1), 2 * one_hot(codes[:, 2], self.values)], dim=1)
        inputs = clean + self.noise * torch.randn(clean.shape, generator=rng)
        targets = torch.from_numpy(self.truth(codes.numpy()))
        return Batch(inputs.to(latents.device), targets.to(latents.device))
