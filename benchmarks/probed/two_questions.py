"""Networks that answer two questions about an example, trained on some pairs of values and asked about the others.

An example shows a and b as noisy symbols and says which of the two is asked for. Whoever keeps the two questions apart
handles every pair; whoever mixes them has learnt the pairs. So a probe for separate parts should have a say here.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from recombine.base.seeds import derived

VALUES = 6
SHARES, WIDTHS, STEPS, NOISE = (0.35, 0.6), (16, 64), (150, 600), 0.35
"""Share of pairs shown, hidden units, steps of training; the spread of the noise on every input."""

Examples = tuple[Tensor, Tensor]


@dataclass(frozen=True, eq=False)
class Asked:
    """A trained network, its scores, and examples of seen pairs for each question."""

    name: str
    module: nn.Module
    seen: float
    unseen: float
    components: dict[str, tuple[Examples, Examples]]


def networks(each: int) -> list[Asked]:
    """Every share, width and length of training, `each` times."""
    return [
        _network(share, width, steps, seed)
        for share in SHARES
        for width in WIDTHS
        for steps in STEPS
        for seed in range(each)
    ]


def _network(share: float, width: int, steps: int, seed: int) -> Asked:
    name = f"{share:.0%} of pairs, {width} units, {steps} steps, seed {seed}"
    rng = np.random.default_rng(derived(seed, name))
    shown = _pairs(share, rng)
    module = _trained(shown, width, steps, rng)
    hidden = np.argwhere(~shown)
    tests = {
        part: [_examples(pairs, k, 1500, rng) for k in (0, 1)]
        for part, pairs in (("seen", np.argwhere(shown)), ("unseen", hidden))
    }
    scores = {part: float(np.mean([_accuracy(module, one) for one in both])) for part, both in tests.items()}
    components = {
        called: (_examples(np.argwhere(shown), k, 800, rng), _examples(np.argwhere(shown), k, 400, rng))
        for k, called in enumerate("ab")
    }
    return Asked(name, module, scores["seen"], scores["unseen"], components)


def _pairs(share: float, rng: np.random.Generator) -> np.ndarray:
    """Which pairs are shown: every value at least once, the rest by chance."""
    shown = rng.random((VALUES, VALUES)) < share
    shown[np.arange(VALUES), rng.permutation(VALUES)] = True
    return shown


def _examples(pairs: np.ndarray, asked: int, rows: int, rng: np.random.Generator) -> Examples:
    chosen = pairs[rng.integers(len(pairs), size=rows)]
    inputs = rng.normal(0, NOISE, (rows, 2 * VALUES + 2))
    inputs[np.arange(rows), chosen[:, 0]] += 1
    inputs[np.arange(rows), VALUES + chosen[:, 1]] += 1
    inputs[:, 2 * VALUES + asked] += 2
    return torch.tensor(inputs, dtype=torch.float32), torch.tensor(chosen[:, asked])


def _trained(shown: np.ndarray, width: int, steps: int, rng: np.random.Generator) -> nn.Module:
    torch.manual_seed(int(rng.integers(2**31)))
    module = nn.Sequential(nn.Linear(2 * VALUES + 2, width), nn.ReLU(), nn.Linear(width, VALUES))
    adam = torch.optim.Adam(module.parameters(), lr=1e-2)
    for _ in range(steps):
        parts = [_examples(np.argwhere(shown), k, 64, rng) for k in (0, 1)]
        inputs, targets = (torch.cat(one) for one in zip(*parts, strict=True))
        adam.zero_grad()
        nn.functional.cross_entropy(module(inputs), targets).backward()
        adam.step()
    return module.eval()


def _accuracy(module: nn.Module, examples: Examples) -> float:
    with torch.no_grad():
        return float((module(examples[0]).argmax(1) == examples[1]).float().mean())
