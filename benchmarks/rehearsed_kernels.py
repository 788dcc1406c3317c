"""Does a tenth of the training tell what a network that learns features will score? A hypothesis, and its test.

    python benchmarks/rehearsed_kernels.py                       # seeds 200 and 201: a quarter of an hour
    python benchmarks/rehearsed_kernels.py --first 0 --seeds 2   # those that it was written with
    python benchmarks/rehearsed_kernels.py --smoke

A network is trained for a tenth of its steps. Its tangent kernel is taken as it then is, and the rest of the training
is solved with that kernel: gradient flow on what the network still gets wrong, for as long as the remaining steps of
plain gradient descent last, to the end for Adam, whose steps have no such length. What comes out is asked about the
unseen combinations. The same is done after 4 %: how far the two are apart widens the interval, and beyond .1 the
forecast is called unsure. Then the same network is trained to the end. Two groups:

- small first weights: tables of symbols (rules of `validity_cells.points`, drawn anew for every seed), one hidden layer
  whose first weights are a hundredth or a thousandth of the usual, which therefore learns features
- the studies: small versions of the cells that the forecast of the study `across` spoke of: sums, context,
  equivalence, ordering, invariance, exposure (wide, with small weights, deep); the toy of two numbers, pairs of MNIST
  digits, sums and contexts of pictured numbers, two questions, some of them stopped early. A cell is the mean of its
  seeds.

Scores are accuracies, or R² beside the mean of what was seen, cut off at -1. Forecasts are given the true answers of
unseen combinations to be held against, as `predict(truth=)` is. Beside them: `predict` as it is today, seen
combinations left out (in five parts, of a wide network's kernel), the network itself after a tenth, and the same as
above from its start.

The hypothesis: rank correlation of at least .7 in the first group and .6 in the second, intervals of 95 % that hold 90
to 97 % in both, at no more than 15 % of the time that training takes (both kernels counted).
"""

import time
import warnings
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import torch
from scipy.special import softmax
from torch import nn

from measure import options, table, write
from recombine.base.seeds import derived
from recombine.verbs.predict.examples.input_kernels import tangent
from recombine.verbs.predict.examples.kernel_machines import CodedAnswers, margin, squared
from recombine.verbs.split.random_holdout import HoldOutCombinations
from recombine_lab.models.mlp import MLP
from recombine_lab.models.vision import CNN
from recombine_lab.probes.tangent_kernel import own_tangent, parameters
from recombine_lab.tasks import (
    Addition,
    ContextDependence,
    DigitPairs,
    Invariance,
    PartialExposure,
    Toy,
    TransitiveEquivalence,
    TransitiveOrdering,
)
from recombine_lab.tasks.task import Shapes
from recombine_lab.training.recipe import Recipe
from recombine_studies.tasks.two_questions import TwoQuestions
from validity_cells.cell import Cell
from validity_cells.data import Array, Data, Rows, data_of, keys
from validity_cells.forecasters import ask, score
from validity_cells.points import answers, shown
from validity_cells.scoring import LEAST, ranks
from validity_cells.tasks import from_task

EARLY, LATE = 0.04, 0.1
ROWS, OUTPUTS = 150, 3  # of each side, that kernels are made of; with more outputs, of a random mixture of them
LEAST_HALF, BY_APART, BY_ROOM = 0.05, 0.5, 0.15
"""Half of an interval: a constant, so much for each unit that two moments are apart, and so much of what the answer
leaves open (four times a share times the other share; of R² what is not explained). Chosen on seeds 0 and 1."""
UNSURE, ROUNDING = (
    0.1,
    1e-7,
)  # gradients are in single precision: smaller eigenvalues, as shares of the first, are noise
FULL = {"batch": None, "samples": "every"}
SMALL, STUDIES = "small first weights", "cells of the studies"
REHEARSED = "rehearsed kernel"
RULES = ("effects", "sum", "product", "mixed", "first", "same", "order", "parity", "majority", "lookup", "context")
SUPPORTS = ("random 30", "random 50", "random 70", "corner", "cross", "block")


def drawn_table(rule: str, sizes: tuple[int, ...], support: str, *, seed: int) -> Data:
    """A rule and a support of `validity_cells.points`, every value one unit, every combination once."""
    rng = np.random.default_rng(derived(seed, "table", repr((rule, sizes, support))))
    codes = np.indices(sizes).reshape(len(sizes), -1).T
    target, label = answers(codes, sizes, rule, rng)
    inputs = np.concatenate([np.eye(size)[codes[:, k]] for k, size in enumerate(sizes)], axis=1)
    rows, seen = Rows(inputs, target, codes), shown(codes, sizes, support, rng)
    return data_of(rows[seen], rows[seen], rows[~seen], label=label)


def small_weights(seed: int) -> Iterator[Cell]:
    """Two tables of each rule, of a size and a support that are drawn."""
    rng = np.random.default_rng(derived(seed, "small first weights"))
    recipe = Recipe(steps=1500, lr=1e-3, **FULL)
    for rule in (*RULES, *RULES):
        two, three = [(6, 6), (8, 8), (10, 10)], [(4, 4, 4), (3, 4, 5)]
        of = three if rule in ("majority", "context") else two + three
        sizes, support = of[rng.integers(len(of))], str(rng.choice(SUPPORTS))
        scale = float(rng.choice([1e-2, 1e-3]))
        make = partial(drawn_table, rule, sizes, support, seed=seed)
        name = f"{rule} {'x'.join(map(str, sizes))}, {support}, {scale:g}, {seed}"
        model = MLP(hidden=(200,), scale=scale)
        yield Cell(name=name, group="symbols", make=make, model=model, recipe=recipe, learner="rich 1")


def study_cells(seed: int) -> Iterator[Cell]:
    """The studies' cells; what is drawn in them (which sums are shown, which pairs of symbols) goes by the seed."""
    for name, task, model, recipe in (*_on_symbols(seed), *_toys()):
        rows = {"group": "points", "rows": 1000} if name.startswith("toy") else {}
        yield _cell(name, task, model, recipe, **rows)
    network = CNN(channels=(8, 16), pool=(1, 2), dense=(64,))
    drawn: dict[str, Any] = {"group": "pictures", "rows": 2000, "asked": 400}
    for setting, steps in (("A", 200), ("A", 64), ("B-noise", 200)):
        recipe = Recipe(steps=steps, lr=1e-3, batch=64)
        yield _cell(f"digits {setting}, {steps} steps", DigitPairs(setting=setting), network, recipe, **drawn)
    recipe = Recipe(steps=180, lr=2e-3, batch=32)
    for anchors in ((0,), (-4, 4)):
        yield _cell(f"pictured sums {anchors}", Addition(anchors=anchors, code="images"), network, recipe, **drawn)
    for k in (1, 3):
        yield _cell(f"pictured context {k}", ContextDependence(k=k, code="images"), network, recipe, **drawn)
    for share in (0.3, 0.6):
        pairs = ["first", "second"]
        split = HoldOutCombinations(factors=pairs, test_size=share, n_splits=1, random_state=seed)
        for hidden, steps in (((16,), 150), ((16,), 600), ((32, 32), 150), ((32, 32), 600)):
            name, recipe = f"two questions, {share}, {hidden}, {steps} steps", Recipe(steps=steps, lr=0.01)
            how: dict[str, Any] = {"group": "points", "rows": 1500, "asked": 400, "split": split}
            yield _cell(name, TwoQuestions(noise=0.25), MLP(hidden=hidden), recipe, **how)


def _on_symbols(seed: int) -> Iterator[tuple[str, Any, MLP, Recipe]]:
    wide, rich = MLP(hidden=(300,)), MLP(hidden=(300,), scale=1e-3)

    def descent(steps: int, lr: float) -> Recipe:
        return Recipe(steps=steps, lr=lr, optimiser="sgd", **FULL)

    for anchors, depth in (((0,), 2), ((-4,), 3), ((-4, 4), 3), ((-2, 2), 4)):
        sums, deep = Addition(anchors=anchors), MLP(hidden=(100,) * depth, scale=0.1)
        yield f"sums {anchors}, wide", sums, wide, descent(2000, 0.01)
        yield f"sums {anchors}, small weights", sums, rich, descent(4000, 0.03)
        yield f"sums {anchors}, {depth} layers", sums, deep, Recipe(steps=4000, lr=1e-4, **FULL)
    dispersed = Addition(dispersed=True, shuffle=seed)
    yield "dispersed sums, wide", dispersed, wide, descent(2000, 0.01)
    yield "dispersed sums, small weights", dispersed, rich, descent(4000, 0.03)
    for k in (1, 2, 3):
        yield f"context {k}, wide", ContextDependence(k=k), wide, descent(1000, 0.05)
    yield "context 3, small weights", ContextDependence(k=3), rich, descent(3000, 0.1)
    yield "context 3, squared", ContextDependence(k=3, target="values"), wide, descent(2000, 0.008)
    for classes in ((4, 4), (5, 5)):
        same = TransitiveEquivalence(classes=classes)
        yield f"equivalence {classes}, wide", same, MLP(hidden=(1000,)), descent(1000, 0.005)
        yield f"equivalence {classes}, small weights", same, rich, descent(3000, 0.1)
    yield "ordering, wide", TransitiveOrdering(), wide, descent(1000, 0.05)
    yield "ordering, small weights", TransitiveOrdering(), rich, descent(3000, 0.1)
    yield "invariance, wide", Invariance(target="values"), wide, descent(2000, 0.005)
    yield "exposure, wide", PartialExposure(target="values"), wide, descent(2000, 0.005)


def _toys() -> Iterator[tuple[str, Any, MLP, Recipe]]:
    for steps in (64, 256, 1024):
        recipe = Recipe(steps=steps, lr=0.1, batch=10, optimiser="sgd")
        yield f"toy, {steps} steps", Toy(), MLP(hidden=(8, 8, 8), initialisation="he"), recipe


def _cell(name: str, task: Any, model: Any, recipe: Recipe, *, group: str = "symbols", **rows: Any) -> Cell:
    make = partial(from_task, task, **rows)
    return Cell(name=name, group=group, make=make, model=model, recipe=recipe, learner="mlp 1")


@dataclass(frozen=True)
class Snapshot:
    """A network on its way, and the seconds that it had been trained for."""

    module: nn.Module
    share: float
    seconds: float


def trained(cell: Cell, data: Data, seed: int) -> list[Snapshot]:
    """The network at the start, at both moments, and at the end of its training."""
    torch.manual_seed(derived(seed, cell.name) % 2**31)
    outputs = (data.classes or data.seen.target[0].size,)
    kind: Any = "classes" if data.classes else "values"
    recipe = cell.recipe
    module = cell.model.build(Shapes(inputs=data.seen.inputs.shape[1:], outputs=outputs, kind=kind))
    x, y = torch.from_numpy(data.seen.inputs), torch.from_numpy(data.seen.target)
    y = y if data.classes else y.reshape(len(y), -1)
    loss = nn.functional.cross_entropy if data.classes else nn.functional.mse_loss
    made: Any = torch.optim.Adam if recipe.optimiser == "adam" else torch.optim.SGD
    optimiser = made(module.parameters(), lr=recipe.lr, fused=True)
    marks = {round(share * recipe.steps): share for share in (0.0, EARLY, LATE, 1.0)}
    found, spent, began = [], 0.0, time.process_time()
    for step in range(recipe.steps + 1):
        if step in marks:
            spent += time.process_time() - began
            found.append(Snapshot(deepcopy(module), marks[step], spent))
            began = time.process_time()
        rows = slice(None) if recipe.batch is None else torch.randint(len(x), (recipe.batch,))
        optimiser.zero_grad()
        loss(module(x[rows]), y[rows]).backward()
        optimiser.step()
    return found


@torch.no_grad()
def says(module: nn.Module, rows: Rows) -> Array:
    """(n, outputs)"""
    found: Array = module(torch.from_numpy(rows.inputs)).double().numpy()
    return found


def scored(data: Data, said: Array) -> float:
    """Accuracy or R² of scores for the unseen rows, cut off below."""
    told = said.argmax(axis=1) if data.classes else said.reshape(data.unseen.target.shape)
    return max(score(told, data), LEAST)


class Mixture(nn.Module):
    """One sum of a network's outputs with random signs; in the mean over signs its kernel is that of all outputs."""

    def __init__(self, module: nn.Module, outputs: int) -> None:
        super().__init__()
        signs = np.random.default_rng(0).choice([-1.0, 1.0], size=(outputs, 1)) / outputs**0.5
        self.module = module
        self.register_buffer("signs", torch.from_numpy(signs).float())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(n, outputs) -> (n, 1)"""
        mixed: torch.Tensor = self.module(x) @ self.signs
        return mixed


def rehearsed(module: nn.Module, data: Data, time_left: float) -> float:
    """The score on unseen rows if the network moves with its kernel of this moment from here on, for so long."""
    known, said = says(module, data.seen), says(module, data.unseen)
    judged = Mixture(module, known.shape[1]) if known.shape[1] > OUTPUTS else module
    # Gradients are kept whole: to sketch those of a few hundred rows takes longer.
    kernel = own_tangent(judged, shape=data.seen.inputs.shape[1:], width=parameters(module))
    own, between = (kernel.between(rows.flat, data.seen.flat) for rows in (data.seen, data.unseen))
    if data.classes:
        return scored(data, said + between @ followed(own, known, data.seen.target, time_left))
    return scored(data, said + between @ learnt(own, data.seen.target.reshape(known.shape) - known, time_left))


def learnt(own: Array, left: Array, time_left: float) -> Array:
    """Weights (n, q) of the seen rows after gradient flow on what is left, whose squares are averaged over nq."""
    values, vectors = np.linalg.eigh(own)
    live = values > ROUNDING * values[-1]
    share = -np.expm1(-values[live] * 2 * time_left / left.size) / values[live]
    return np.asarray((vectors[:, live] * share) @ (vectors[:, live].T @ left))


def followed(own: Array, scores: Array, labels: Array, time_left: float) -> Array:
    """The same for the cross-entropy, in steps, until the time has passed or every seen row is fitted."""
    n, truth, weights = len(labels), np.eye(scores.shape[1])[labels], np.zeros_like(scores)
    top, spent = float(np.linalg.eigvalsh(own)[-1]), 0.0
    for _ in range(500):
        left = truth - softmax(scores + own @ weights, axis=1)
        # As long as is stable: what curves the loss is at most the largest residual.
        step = min(n / top / max(float(np.abs(left).max()), 1e-4), time_left - spent)
        weights += step / n * left
        spent += step
        if spent >= time_left or np.abs(left).max() < 1e-3:
            break
    return weights


def interval(kind: str, value: float, apart: float) -> tuple[float, float]:
    """95 %, by how far such forecasts were off while this was written."""
    room, least = (4 * value * (1 - value), 0.0) if kind == "label" else (1 - value, LEAST)
    half = LEAST_HALF + BY_APART * apart + BY_ROOM * room
    return max(value - half, least), min(value + half, 1.0)


def left_out(data: Data, seen: Rows, seed: int) -> float:
    """Seen combinations in five parts, each asked of a wide network's kernel that was taught the others; the mean."""
    _, place = np.unique(keys(seen.codes, data.sizes), return_inverse=True)
    part = np.random.default_rng(seed).permutation(place.max() + 1)[place] % 5
    found = []
    for out in (part == number for number in np.unique(part)):
        known = CodedAnswers(data.kind, seen.target[~out].reshape((~out).sum(), -1).astype(float), data.classes or 0)
        kernel = tangent(1)
        own, between = kernel.between(seen.flat[~out], seen.flat[~out]), kernel.between(seen.flat[out], seen.flat[~out])
        fitted = margin(own, known) if data.classes else squared(own, known, ridge=1e-4)
        found.append(scored(replace(data, seen=seen[~out], unseen=seen[out]), fitted.answer(between)))
    return float(np.mean(found))


def forecasts(cell: Cell, seed: int) -> dict[str, Any]:
    """One network: what everybody said, what it came to, and what that took."""
    data = cell.make()
    start, early, late, end = trained(cell, data, seed)
    rng = np.random.default_rng(derived(seed, "rows", cell.name))
    seen, asked = (rows[rng.permutation(len(rows))[:ROWS]] for rows in (data.seen, data.unseen))
    few = replace(data, seen=seen, unseen=asked)
    whole = cell.recipe.lr * cell.recipe.steps if cell.recipe.optimiser == "sgd" else np.inf
    began = time.process_time()
    before, said = (rehearsed(one.module, few, whole * (1 - one.share)) for one in (early, late))
    seconds = late.seconds + time.process_time() - began
    today = ask("predict" if cell.group == "symbols" else "predict, unseen inputs", cell, data, seen=1.0)
    return {
        "cell": cell.name,
        "kind": data.kind,
        "measured": scored(data, says(end.module, data.unseen)),
        REHEARSED: said,
        "predict, today": today.value,
        "seen ones left out": left_out(data, seen, seed),
        "network after a tenth": scored(data, says(late.module, data.unseen)),
        "its kernel at the start": rehearsed(start.module, few, whole),
        "interval": interval(data.kind, said, abs(said - before)),
        "unsure": abs(said - before) > UNSURE,
        "seconds": seconds,
        "training": end.seconds,
    }


SAYERS = (
    REHEARSED,
    "predict, today",
    "seen ones left out",
    "network after a tenth",
    "its kernel at the start",
)


def by_cell(networks: Sequence[dict[str, Any]], name: str) -> tuple[Array, Array]:
    """What one of them said of each cell and what was measured, means over seeds, where it said something."""
    told = [one for one in networks if one[name] is not None]
    pairs = [
        np.mean([(max(one[name], LEAST), one["measured"]) for one in told if one["cell"] == cell], axis=0)
        for cell in dict.fromkeys(one["cell"] for one in told)
    ]
    said, came = np.array(pairs).reshape(-1, 2).T
    return said, came


def ranked(networks: Sequence[dict[str, Any]], name: str) -> dict[str, Any]:
    """Rank correlation over cells with an interval that draws cells anew, and how far off it was."""
    said, came = by_cell(networks, name)
    rng = np.random.default_rng(0)
    drawn = [rng.integers(len(said), size=len(said)) for _ in range(1000)]
    known = [rank for rows in drawn if (rank := ranks(said[rows], came[rows])) is not None]
    low, high = np.quantile(known, [0.025, 0.975]) if known else (None, None)
    off = float(np.abs(said - came).mean()) if len(said) else None
    return {"cells": len(said), "rank": ranks(said, came), "low": low, "high": high, "error": off}


def promised(networks: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Of single networks: intervals that held, their width, what was unsure, and what it took."""
    ends = np.array([one["interval"] for one in networks])
    came = np.array([one["measured"] for one in networks])
    off = np.abs(np.array([one[REHEARSED] for one in networks]) - came)
    unsure = np.array([one["unsure"] for one in networks])
    spent, training = (np.array([one[name] for one in networks]) for name in ("seconds", "training"))
    return {
        "networks": len(networks),
        "held": float(np.mean((ends[:, 0] - 1e-9 <= came) & (came <= ends[:, 1] + 1e-9))),
        "width": float(np.ptp(ends, axis=1).mean()),
        "unsure": float(unsure.mean()),
        "error, unsure": float(off[unsure].mean()) if unsure.any() else None,
        "error, others": float(off[~unsure].mean()) if not unsure.all() else None,
        "cost": float(spent.sum() / training.sum()),
        "cost, median": float(np.median(spent / training)),
        "dearer than 15 %": float((spent > 0.15 * training).mean()),
    }


def check_linear() -> None:
    """The kernel of a linear network never moves, so that what is said of it has to come true."""
    recipe = Recipe(steps=300, lr=0.05, optimiser="sgd", **FULL)
    cell = replace(next(small_weights(0)), model=MLP(hidden=()), recipe=recipe)
    found = forecasts(cell, 0)
    assert abs(found[REHEARSED] - found["measured"]) < 0.01 < abs(found["network after a tenth"] - found["measured"])


def main() -> None:
    """Both groups."""
    parser = options(__doc__)
    parser.add_argument("--first", type=int, default=200)
    parser.add_argument("--seeds", type=int, default=2)
    given = parser.parse_args()
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore")
    told: dict[str, Any] = {}
    if given.smoke:
        check_linear()
    for group, cells in ((SMALL, small_weights), (STUDIES, study_cells)):
        networks = []
        for seed in range(given.first, given.first + (1 if given.smoke else given.seeds)):
            for cell in list(cells(seed))[: 2 if given.smoke else None]:
                brief = replace(cell, recipe=replace(cell.recipe, steps=60)) if given.smoke else cell
                networks.append(forecasts(brief, seed))
                print(networks[-1], flush=True)
        told[group] = {"each": networks, "promised": promised(networks)}
        told[group] |= {name: ranked(networks, name) for name in SAYERS}
        print(f"\n{group}")
        rows = [[name, *(_shown(one) for one in told[group][name].values())] for name in SAYERS]
        table(["", "cells", "rank", "low", "high", "mean error"], rows)
        print({name: _shown(one) for name, one in told[group]["promised"].items()})
    write("rehearsed_kernels", given, told)


def _shown(value: float | None) -> float | str:
    return "-" if value is None else round(value, 3)


if __name__ == "__main__":
    main()
