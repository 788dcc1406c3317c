"""Does the gap belong to gradient descent? Two tiny tasks learnt in five ways, and what early structure foretells.

    python benchmarks/optimisers.py            some ten minutes on one core
    python benchmarks/optimisers.py --smoke    a few steps, nothing written

The toy of the paper on redundant inputs: two inputs, Y1 is asked, (1, 1) was never shown; and the same with a third
input, where Y1 = 1 was shown only with both others 0. Networks with three hidden layers of 8 start from one
distribution and are learnt by gradient descent (batches of 10, rate .1), Adam, an evolution strategy that estimates a
gradient from losses, hill climbing that keeps a mutation if no example is lost, and not at all: random networks are
drawn until one fits. Each is taken at the first check at which it has .95 of what was shown right, and again at .99,
so that all fit alike, and what does not get there is counted. If gradient descent made the gap, random networks that
fit would have none: how far each way is above them is told with Welch's interval.

Then gradient descent goes on to step 1,024 in 100 networks: does how far answers hang on the other inputs after 16, 64
or 256 steps say more of the unseen score at the end than the seen score of the same step does?
"""

import argparse
import json
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.stats import ttest_ind
from torch import Tensor
from torch.nn.functional import cross_entropy

from recombine.numerics.intervals import student_mean_interval
from recombine.numerics.rank_correlation import spearman

OUT = Path(__file__).parents[1] / "docs/measured/optimisers.json"
HIDDEN, CLASSES = (8, 8, 8), 2
FITS, CHECKED, EXAMPLES = (0.95, 0.99), 16, 300
Weights = list[Tensor]


@dataclass(frozen=True)
class Toy:
    """The first of some inputs is asked; 1 there was shown only where all others are 0."""

    inputs: int

    def combinations(self, *, unseen: bool) -> Tensor:
        """Labels (combinations, inputs)."""
        every = product((0, 1), repeat=self.inputs)
        return torch.tensor([one for one in every if (one[0] == 1 and any(one[1:])) is unseen])

    def drawn(self, networks: int, n: int, rng: torch.Generator, *, unseen: bool = False) -> tuple[Tensor, Tensor]:
        """Inputs (networks, n, inputs) and classes (networks, n), of what was shown or of what was not."""
        chosen = self.combinations(unseen=unseen)
        labels = chosen[torch.randint(len(chosen), (networks, n), generator=rng)]
        return labels - torch.rand(networks, n, self.inputs, generator=rng), labels[..., 0]

    def started(self, networks: int, rng: torch.Generator) -> Weights:
        """He's weights and small biases, layer by layer, (networks, inputs + 1, outputs)."""
        made = []
        for inputs, outputs in pairwise((self.inputs, *HIDDEN, CLASSES)):
            weight = torch.randn(networks, inputs, outputs, generator=rng) * (2 / inputs) ** 0.5
            made.append(torch.cat([weight, 0.1 * torch.randn(networks, 1, outputs, generator=rng)], 1))
        return made


def answers(weights: Weights, given: Tensor) -> Tensor:
    """(networks, n, 2) from (networks or 1, n, 2)."""
    for place, layer in enumerate(weights):
        given = given @ layer[:, :-1] + layer[:, -1:]
        given = given.relu() if place < len(weights) - 1 else given
    return given


def right(weights: Weights, examples: tuple[Tensor, Tensor]) -> Tensor:
    """(networks,) The share of right answers."""
    return (answers(weights, examples[0]).argmax(-1) == examples[1]).float().mean(1)


def losses(weights: Weights, examples: tuple[Tensor, Tensor]) -> Tensor:
    """(networks,) The mean cross-entropy."""
    scores = answers(weights, examples[0])
    each = cross_entropy(scores.flatten(0, 1), examples[1].flatten(), reduction="none")
    return each.reshape(scores.shape[:2]).mean(1)


def by_gradient(toy: Toy, weights: Weights, optimiser: Any, batch: int, rng: torch.Generator) -> Callable[[], Weights]:
    """One step of an optimiser of torch."""

    def step() -> Weights:
        optimiser.zero_grad()
        losses(weights, toy.drawn(len(weights[0]), batch, rng)).sum().backward()
        optimiser.step()
        return weights

    return step


def by_strategy(toy: Toy, weights: Weights, rng: torch.Generator, pairs: int = 16) -> Callable[[], Weights]:
    """An evolution strategy with antithetic pairs: the losses of neighbours estimate a direction."""

    def step() -> Weights:
        examples = toy.drawn(len(weights[0]), 64, rng)
        moves = [torch.zeros_like(one) for one in weights]
        for _ in range(pairs):
            noise = [torch.randn(one.shape, generator=rng) for one in weights]
            up, down = (
                losses([one + sign * 0.05 * off for one, off in zip(weights, noise, strict=True)], examples)
                for sign in (1, -1)
            )
            better = ((down - up) / 0.1)[:, None, None] / pairs
            moves = [move + better * off for move, off in zip(moves, noise, strict=True)]
        weights[:] = [one + 0.1 * move for one, move in zip(weights, moves, strict=True)]
        return weights

    return step


def by_climbing(toy: Toy, weights: Weights, rng: torch.Generator) -> Callable[[], Weights]:
    """Hill climbing on the share of right answers: no derivative, not even of a loss."""
    examples = toy.drawn(len(weights[0]), EXAMPLES, rng)

    def step() -> Weights:
        changed = [one + 0.1 * torch.randn(one.shape, generator=rng) for one in weights]
        kept = (right(changed, examples) >= right(weights, examples))[:, None, None]
        weights[:] = [torch.where(kept, new, one) for new, one in zip(changed, weights, strict=True)]
        return weights

    return step


Way = Callable[[Toy, Weights, torch.Generator], Callable[[], Weights]]


def fitted(toy: Toy, make: Way, seeds: int, steps: int) -> dict[str, Any]:
    """The unseen score of each network at the first check at which it fits, for each fit; None where it never did."""
    rng = torch.Generator().manual_seed(0)
    weights = toy.started(seeds, rng)
    step = make(toy, weights, rng)
    seen, unseen = toy.drawn(1, 2000, rng), toy.drawn(1, 2000, rng, unseen=True)
    found: dict[float, list[float | None]] = {fits: [None] * seeds for fits in FITS}
    for place in range(steps):
        weights = step()
        if place % CHECKED == 0:
            with torch.no_grad():
                fit, score = right(weights, seen), right(weights, unseen)
            for fits, known in found.items():
                known[:] = [float(score[k]) if one is None and fit[k] >= fits else one for k, one in enumerate(known)]
    return {str(fits): {"unseen": known} for fits, known in found.items()}


def by_chance(toy: Toy, seeds: int, draws: int) -> dict[str, Any]:
    """Random networks that fit, as they come."""
    rng = torch.Generator().manual_seed(0)
    seen, unseen = toy.drawn(1, 2000, rng), toy.drawn(1, 2000, rng, unseen=True)
    found: dict[float, list[float]] = {fits: [] for fits in FITS}
    tried = 0
    while min(map(len, found.values())) < seeds and tried < draws:
        weights = toy.started(2000, rng)
        tried += 2000
        # Most fail on a few examples already.
        some = right(weights, (seen[0][:, :100], seen[1][:, :100])) >= min(FITS) - 0.03
        weights = [one[some] for one in weights]
        fit, score = right(weights, seen), right(weights, unseen)
        for fits, known in found.items():
            known.extend(score[fit >= fits].tolist())
    return {str(fits): {"unseen": known[:seeds], "tried": tried} for fits, known in found.items()}


def foretold(toy: Toy, networks: int, steps: int) -> list[dict[str, Any]]:
    """Rank correlations with the unseen score at the end: of swaps, and of the seen score, at early steps."""
    rng = torch.Generator().manual_seed(1)
    weights = toy.started(networks, rng)
    for one in weights:
        one.requires_grad_()
    step = by_gradient(toy, weights, torch.optim.SGD(weights, 0.1), 10, rng)
    seen, unseen = toy.drawn(1, 2000, rng), toy.drawn(1, 2000, rng, unseen=True)
    others = seen[0][:, torch.randperm(2000, generator=rng), 1:]
    swapped = torch.cat([seen[0][..., :1], others], -1)
    early: dict[int, dict[str, Tensor]] = {}
    for place in range(1, steps + 1):
        step()
        if place in (16, 64, 256):
            with torch.no_grad():
                changed = answers(weights, swapped).argmax(-1) != answers(weights, seen[0]).argmax(-1)
                told = {"answers that a swap leaves": 1 - changed.float().mean(1), "seen score": right(weights, seen)}
                early[place] = told | {"unseen score": right(weights, unseen)}
    with torch.no_grad():
        last = right(weights, unseen).double().numpy()
    rows = []
    for place, told in early.items():
        for name, values in told.items():
            ranked = spearman(values.double().numpy(), last)
            rows.append({"step": place, "number": name, "value": ranked.value, "low": ranked.low, "high": ranked.high})
    return rows


def gradient(kind: type, rate: float, batch: int) -> Way:
    """An optimiser of torch as a way to learn."""

    def way(toy: Toy, weights: Weights, rng: torch.Generator) -> Callable[[], Weights]:
        return by_gradient(toy, weights, kind([one.requires_grad_() for one in weights], rate), batch, rng)

    return way


def asked(toy: Toy, seeds: int, steps: int, draws: int) -> dict[str, Any]:
    """The toy learnt in five ways, each with its mean and how far it is above random networks that fit."""
    learnt = {
        "gradient descent": fitted(toy, gradient(torch.optim.SGD, 0.1, 10), seeds, steps),
        "Adam": fitted(toy, gradient(torch.optim.Adam, 0.01, 64), seeds, steps),
        "evolution strategy": fitted(toy, by_strategy, seeds, steps // 3),
        "hill climbing": fitted(toy, by_climbing, seeds, 4 * steps),
        "random networks that fit": by_chance(toy, seeds, draws),
    }
    chance = learnt["random networks that fit"]
    for name, way in learnt.items():
        for fits, told in way.items():
            known = [one for one in told["unseen"] if one is not None]
            told |= {"fit": len(known), "mean": float(np.mean(known)) if known else None}
            told["interval"] = student_mean_interval(known, least=0.0, most=1.0) if len(known) > 2 else None
            told["perfect"] = sum(one > FITS[0] for one in known)
            told["above chance"] = above(known, chance[fits]["unseen"])
            shown = {key: value for key, value in told.items() if key != "unseen"}
            print(toy.inputs, "inputs,", name, fits, shown, flush=True)
    return learnt


def above(scores: list[float], others: list[float]) -> list[float] | None:
    """The difference of two means with Welch's interval: [value, low, high]."""
    if min(len(scores), len(others)) < 3 or scores == others:
        return None
    between = ttest_ind(scores, others, equal_var=False).confidence_interval()
    return [float(np.mean(scores) - np.mean(others)), float(between.low), float(between.high)]


def main() -> None:
    """Measure, print, and write it down."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--smoke", action="store_true")
    smoke = parser.parse_args().smoke
    torch.set_num_threads(1)
    seeds, steps, draws = (3, 20, 4000) if smoke else (100, 3000, 3_000_000)
    found: dict[str, Any] = {}
    for toy in (Toy(2), Toy(3)):
        rows = foretold(toy, 10 if smoke else 100, 30 if smoke else 1024)
        for row in rows:
            print(toy.inputs, "inputs,", row, flush=True)
        found[f"{toy.inputs} inputs"] = {"foretold": rows, "ways": asked(toy, seeds, steps, draws)}
    if not smoke:
        OUT.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
