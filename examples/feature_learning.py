"""Networks that learn features, where forecasts by kernels fail: what was tried, and what it gave.

    python examples/feature_learning.py           write docs/measured/feature_learning.json, and print the table
    python examples/feature_learning.py --smoke   the same, briefly, and nothing is written

A network with small initial weights is trained to the end. On the way, after so many steps, it is asked for its own
tangent kernel (`recombine_lab.probes.tangent_kernel`), and three forecasts are made from what it is then:

- *kernel*: a kernel machine with that kernel, which knows nothing else of the network;
- *linearised*: the network as it is, and from there on a kernel machine on what it still gets wrong;
- *now*: what it scores at that step, nothing else.

The last resort is a rehearsal: train the network itself without some of the seen combinations, and ask it about those.
"""

import argparse
import json
import time
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from recombine.verbs.predict.examples import kernel_machines
from recombine.verbs.predict.examples.input_kernels import tangent
from recombine.verbs.predict.examples.kernel_machines import CodedAnswers
from recombine_lab.models import MLP
from recombine_lab.probes.tangent_kernel import own_tangent
from recombine_lab.tasks import Addition, TransitiveEquivalence
from recombine_lab.tasks.task import Shapes

FILE = Path(__file__).resolve().parents[1] / "docs" / "measured" / "feature_learning.json"
STEPS = (0, 100, 300, 1000, 4000)
RIDGE = 1e-6
Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Cell:
    """A task whose every combination is one example, and a network."""

    name: str
    task: Any
    model: MLP

    def rows(self) -> tuple[torch.Tensor, torch.Tensor, Array]:
        """Inputs, answers (+1 and -1 for two classes), and which combinations are shown."""
        every = self.task.every()
        answers = torch.as_tensor(self.task.answers(every)).float().reshape(len(every), -1)
        return self.task.tensors(every, seed=0).inputs.flatten(1), answers, self.task.is_shown(every)


def cells() -> list[Cell]:
    same = TransitiveEquivalence(classes=(5, 5), trained=1)
    add = Addition(anchors=(-4,))
    small, usual = {"hidden": (300,), "scale": 1e-3}, {"hidden": (1000,)}
    return [
        Cell("equivalence, rich", same, MLP(**small)),
        Cell("equivalence, lazy", same, MLP(**usual)),
        Cell("addition from -4, rich", add, MLP(**small)),
        Cell("addition from -4, lazy", add, MLP(**usual)),
    ]


def trained(model: MLP, x: torch.Tensor, y: torch.Tensor, steps: Sequence[int], *, seed: int) -> list[nn.Module]:
    """The network after each of these steps, all rows at every step: logistic loss for ±1, squared for numbers."""
    torch.manual_seed(seed)
    module = model.build(Shapes(inputs=tuple(x.shape[1:]), outputs=(1,), kind="values"))
    optimiser, found = torch.optim.Adam(module.parameters(), lr=1e-3), []
    for step in range(max(steps) + 1):
        if step in steps:
            found.append(deepcopy(module))
        optimiser.zero_grad()
        said = module(x)
        loss = nn.functional.softplus(-y * said).mean() if is_sign(y) else (said - y).square().mean()
        loss.backward()
        optimiser.step()
    return found


def is_sign(y: torch.Tensor) -> bool:
    return bool((y.abs() == 1).all())


def score(said: Array, y: Array, seen: Array, *, sign: bool) -> float:
    """The share of right signs of the unseen ones; of numbers R² about their own mean, as `run.metrics` has it."""
    said, truth = said[~seen].ravel(), y[~seen].ravel()
    if sign:
        return float((np.sign(said) == truth).mean())
    return 1 - float(np.square(said - truth).sum() / np.square(truth - truth.mean()).sum())


def machine(matrix: Array, y: Array, seen: Array, *, sign: bool, offset: Array | None = None) -> float:
    """A kernel machine on the seen rows: a margin for signs, least squares for numbers and for what is left over."""
    own, between = matrix[np.ix_(seen, seen)], matrix[:, seen]
    if sign and offset is None:
        fitted = kernel_machines.margin(own, CodedAnswers("label", (y[seen] > 0) * 1.0, 2))
        scores = fitted.answer(between)
        return score(scores[:, 1] - scores[:, 0], y, seen, sign=True)
    left = y if offset is None else y - offset
    said = kernel_machines.squared(own, CodedAnswers("number", left[seen]), ridge=RIDGE).answer(between)
    return score(said if offset is None else said + offset, y, seen, sign=sign)


def rehearsed(cell: Cell, x: torch.Tensor, y: torch.Tensor, seen: Array, *, steps: int, seed: int) -> float | None:
    """Train without a quarter of the seen combinations that can be spared, four times, and ask about those."""
    codes = cell.task.every()
    spare = [row for row in np.flatnonzero(seen) if _spared(codes, seen, row)]
    if len(spare) < 8:
        return None
    order = np.random.default_rng(seed).permutation(spare)
    found = []
    for part in np.array_split(order, 4):
        left = seen.copy()
        left[part] = False
        (module,) = trained(cell.model, x[left], y[left], [steps], seed=seed)
        asked = np.ones(len(x), dtype=bool)
        asked[part] = False
        found.append(score(module(x).detach().numpy(), y.numpy(), asked, sign=is_sign(y)))
    return float(np.mean(found))


def _spared(codes: Array, seen: Array, row: int) -> bool:
    """Whether both of its values are in two other seen combinations at least."""
    return all((codes[seen, k] == codes[row, k]).sum() > 2 for k in range(codes.shape[1]))


def measured(cell: Cell, steps: Sequence[int], seeds: Sequence[int]) -> dict[str, Any]:
    """Every forecast of a cell, and what came of it: the mean over the seeds."""
    x, y, seen = cell.rows()
    sign, truth = is_sign(y), y.double().numpy()
    every = x.double().numpy()
    found: dict[str, Any] = {"seen": int(seen.sum()), "unseen": int((~seen).sum())}
    found["wide network"] = machine(tangent(1).between(every, every), truth, seen, sign=sign)
    by_seed = []
    for seed in seeds:
        began, lines = time.process_time(), {}
        snapshots = trained(cell.model, x[seen], y[seen], steps, seed=seed)
        training = time.process_time() - began
        began = time.process_time()
        for step, module in zip(steps, snapshots, strict=True):
            matrix = own_tangent(module).between(every, every)
            now = module(x).detach().double().numpy()
            lines[f"kernel {step}"] = machine(matrix, truth, seen, sign=sign)
            lines[f"linearised {step}"] = machine(matrix, truth, seen, sign=sign, offset=now)
            lines[f"now {step}"] = score(now, truth, seen, sign=sign)
        asking = time.process_time() - began
        rehearsal = rehearsed(cell, x, y, seen, steps=max(steps), seed=seed)
        by_seed.append(lines | {"rehearsal": rehearsal, "training s": training, "kernels s": asking})
    names = by_seed[0]
    found |= {name: None if names[name] is None else float(np.mean([one[name] for one in by_seed])) for name in names}
    found["measured"] = found[f"now {max(steps)}"]
    found["each seed"] = [one[f"now {max(steps)}"] for one in by_seed]
    return found


def table(found: dict[str, dict[str, Any]], steps: Sequence[int]) -> str:
    """A line a forecast, a column a cell."""
    lines = ["| | " + " | ".join(found) + " |", "|---|" + "---|" * len(found)]
    named = [("**measured, at the end**", "measured"), ("kernel of a wide network", "wide network")]
    named += [(f"own kernel after {step:,} steps", f"kernel {step}") for step in steps]
    named += [(f"linearised after {step:,} steps", f"linearised {step}") for step in steps[:-1]]
    named += [(f"the score after {step:,} steps", f"now {step}") for step in steps[:-1]]
    named += [("rehearsal with the network itself", "rehearsal")]
    for title, name in named:
        cells_ = ["cannot be done" if one[name] is None else f"{one[name]:.2f}" for one in found.values()]
        lines.append(f"| {title} | " + " | ".join(cells_) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="few steps, nothing is written")
    smoke = parser.parse_args().smoke
    torch.set_num_threads(1)
    steps, seeds = ((0, 20, 60), (0,)) if smoke else (STEPS, (0, 1))
    found = {}
    for cell in cells()[::2] if smoke else cells():
        found[cell.name] = measured(cell, steps, seeds)
        print(cell.name, {name: value for name, value in found[cell.name].items() if name != "each seed"}, flush=True)
    print("\n" + table(found, steps))
    if not smoke:
        FILE.write_text(json.dumps({"steps": steps, "cells": found}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
