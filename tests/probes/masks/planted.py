"""Planted networks: two branches that share nothing, and one plain network for everything.

Two things are shown, each one of a few points in space with noise around it, and a sign that says which of the two is
asked for. The answer is a class (as many as four), or a number, which is right within a tolerance.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor, nn

KINDS = ("branches", "shared")
_POINTS, _SPACE, _CLASSES, _NOISE = 6, 10, 3, 0.2
_TOLERANCE = 0.4
_STEPS, _BATCH = 500, 64


def layers(inputs: int, width: int, depth: int, outputs: int) -> nn.Module:
    sizes = [inputs, *[width] * depth]
    hidden = [part for one, other in pairwise(sizes) for part in (nn.Linear(one, other), nn.ReLU())]
    return nn.Sequential(*hidden, nn.Linear(width, outputs))


class Branches(nn.Module):
    """A network for each thing; the sign opens one of them and shuts the other."""

    def __init__(self, width: int, depth: int, outputs: int) -> None:
        super().__init__()
        self.first, self.second = (layers(_SPACE, width, depth, outputs) for _ in range(2))

    def forward(self, inputs: Tensor) -> Tensor:
        one, other = self.first(inputs[:, 1 : 1 + _SPACE]), self.second(inputs[:, 1 + _SPACE :])
        return torch.where(inputs[:, :1] < 0, one, other)


@dataclass(frozen=True)
class Planted:
    """A planted network, trained in a second, with the components that are asked of it."""

    kind: str
    width: int
    depth: int
    numbers: bool
    seed: int

    @cached_property
    def _world(self) -> tuple[Tensor, Tensor]:
        """(2, points, space) Where the points of both things are, and (2, points) what is answered to them."""
        rng = np.random.default_rng(self.seed)
        where = torch.from_numpy(rng.normal(size=(2, _POINTS, _SPACE))).float()
        levels = np.linspace(-1.5, 1.5, _POINTS) if self.numbers else np.arange(_POINTS) % _CLASSES
        answers = torch.from_numpy(np.stack([rng.permutation(levels) for _ in range(2)]))
        return where, answers.float() if self.numbers else answers

    def questions(self, asked: int | None, rows: int, seed: int) -> tuple[Tensor, Tensor]:
        """Examples that ask for one of the two things, or (None) for either."""
        chance = torch.Generator().manual_seed(seed)
        points, which = torch.randint(_POINTS, (2, rows), generator=chance), torch.randint(2, (rows,), generator=chance)
        which = which if asked is None else torch.full_like(which, asked)
        where, answers = self._world
        shown = torch.cat([where[0, points[0]], where[1, points[1]]], 1)
        noise = _NOISE * torch.randn(shown.shape, generator=chance)
        inputs = torch.cat([2.0 * which[:, None] - 1, shown + noise], 1)
        return inputs, torch.where(which == 0, answers[0, points[0]], answers[1, points[1]])

    def components(self, rows: int = 300, tests: int = 200) -> dict[str, tuple[tuple[Tensor, Tensor], ...]]:
        own = 10 * self.seed
        return {
            name: (self.questions(k, rows, own + 2 * k + 1), self.questions(k, tests, own + 2 * k + 2))
            for k, name in enumerate("ab")
        }

    @property
    def score(self):
        return _near if self.numbers else "accuracy"

    @property
    def chance(self) -> float | None:
        """What the best single number gets right; of classes the probe counts it itself."""
        if not self.numbers:
            return None
        every = [test[1] for _, test in self.components().values()]
        tried = torch.linspace(-2, 2, 81)[:, None]
        return max(float(((tried - one).abs() < _TOLERANCE).float().mean(1).max()) for one in every)

    def network(self) -> nn.Module:
        outputs = 1 if self.numbers else _CLASSES
        with torch.random.fork_rng():
            torch.manual_seed(self.seed)
            if self.kind == "branches":
                made: nn.Module = Branches(self.width, self.depth, outputs)
            else:
                made = layers(1 + 2 * _SPACE, self.width, self.depth, outputs)
        adam = torch.optim.Adam(made.parameters(), lr=5e-3)
        score = _near if self.numbers else _classes
        inputs, targets = self.questions(None, _STEPS * _BATCH, 1_000_000 + self.seed)
        for rows in torch.arange(_STEPS * _BATCH).split(_BATCH):
            adam.zero_grad()
            score(made(inputs[rows]), targets[rows])[0].mean().backward()
            adam.step()
        return made.eval()


def _near(answers: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    off = answers[:, 0] - targets
    return off.square(), off.abs() < _TOLERANCE


def _classes(answers: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    return nn.functional.cross_entropy(answers, targets, reduction="none"), answers.argmax(1) == targets
