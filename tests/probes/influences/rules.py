"""Networks whose answers are known, on the 2-D toy: x1 and x2 in [-1, 1], the class is x1 > 0."""

import numpy as np
import torch
from torch import Tensor, nn

TRAINING = np.array([(0, 0), (0, 1), (1, 0)])


class Rule(nn.Module):
    """Class 1 where a score of the two inputs is above 0, and a weight so that it is a network."""

    def __init__(self, score) -> None:
        super().__init__()
        self.score, self.weight = score, nn.Parameter(torch.ones(3))

    def forward(self, x: Tensor) -> Tensor:
        found = self.score(x[:, 0], x[:, 1]) * self.weight[0]
        return torch.stack([-found, found], dim=1)


OWN = Rule(lambda a, b: a)
LARGER = Rule(lambda a, b: torch.minimum(a, a - b))
BOTH = Rule(lambda a, b: torch.minimum(a, -b))
OTHER = Rule(lambda a, b: b)
CONSTANT = Rule(lambda a, b: torch.ones_like(a) + 0 * b)


def toy(codes, n: int, seed: int = 0):
    """Inputs and table: x = y - U[0, 1] for n draws of the combinations."""
    rng = np.random.default_rng(seed)
    chosen = np.asarray(codes)[rng.integers(0, len(codes), n)]
    inputs = torch.from_numpy(chosen - rng.random((n, 2))).float()
    return inputs, {"y1": chosen[:, 0], "y2": chosen[:, 1]}
