"""Whether what the support probe says of connectivity is true of networks: parts that nothing links, growth of errors.

    python benchmarks/probe_connectivity.py            about ten minutes on one core
    python benchmarks/probe_connectivity.py --smoke    three supports and a few steps, nothing written

A hundred supports of two slots, 400 points each: connected (corners, crosses, stairs of blocks, everything),
disconnected (blocks on a diagonal in any order, no value of a slot in two of them) and nearly so (blocks that overlap
in a sliver or are bridged by three to seven points, narrow diagonals). Components are random smooth functions with six
outputs; networks of two hidden layers for each slot learn what addition, soft occlusion or a product makes of them. The
probe is asked before it knows any error. Then the error on new combinations of seen values is held against the error of
the fit times the growth that the probe tells. A fit that explains less than .9 of the variance of what it was shown is
no fit: the bound is of small errors, and such runs are counted by themselves.
"""

import argparse
import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from recombine_lab.probes import support
from recombine_lab.tasks.compositions import compose

OUT = Path(__file__).parents[1] / "docs/measured/probe_connectivity.json"
KINDS = ("connected", "disconnected", "nearly disconnected")
COMPOSITIONS = ("add", "soft_occlusion", "product")
SEEN, NEW, CHANNELS, PLACES, HIDDEN = 400, 1500, 3, 2, 32
FITTED = 0.9


def blocks(rng: np.random.Generator, count: int, step: float, width: float, order: np.ndarray) -> np.ndarray:
    """Points in blocks on a diagonal: block i of the first slot beside block order[i] of the second."""
    one = rng.integers(count, size=SEEN)
    return rng.random((SEEN, 2)) * width + np.column_stack([one, order[one]]) * step


def disconnected(rng: np.random.Generator) -> np.ndarray:
    """Two or three blocks, with .05 to .2 of the range between them."""
    count, gap = int(rng.integers(2, 4)), rng.uniform(0.05, 0.2)
    width = (1 - gap * (count - 1)) / count
    return blocks(rng, count, width + gap, width, rng.permutation(count))


def nearly(rng: np.random.Generator) -> np.ndarray:
    """What hangs by little."""
    kind = rng.integers(3)
    if kind == 0:
        overlap = rng.uniform(0, 0.06)
        return blocks(rng, 2, 0.5 - overlap / 2, 0.5 + overlap / 2, np.arange(2))
    if kind == 1:
        gap, bridges = rng.uniform(0.05, 0.2), rng.integers(3, 8)
        rows = blocks(rng, 2, (1 + gap) / 2, (1 - gap) / 2, np.arange(2))
        rows[:bridges, 1] = (rows[:bridges, 1] + (1 + gap) / 2) % (1 + gap)
        return rows
    place = rng.random(SEEN)
    return np.column_stack([place, place + rng.uniform(-1, 1, SEEN) * rng.uniform(0.04, 0.1)]).clip(0, 1)


def connected(rng: np.random.Generator) -> np.ndarray:
    """A corner or a cross of two bands, stairs of overlapping blocks, or everything."""
    kind, rows, width = rng.integers(3), rng.random((SEEN, 2)), rng.uniform(0.15, 0.4)
    if kind == 0:
        band = np.arange(SEEN) % 2
        rows[np.arange(SEEN), band] = rows[np.arange(SEEN), band] * width + rng.uniform(0, 1 - width, 2)[band]
    if kind == 1:
        count, overlap = int(rng.integers(2, 4)), rng.uniform(0.3, 0.5)
        side = 1 / (count - (count - 1) * overlap)
        return blocks(rng, count, side * (1 - overlap), side, np.arange(count))
    return rows


def smooth(seed: int) -> list[Callable[[Tensor], Tensor]]:
    """True components, (n, 1) -> (n, channels, places, 1), between 0 and 1."""
    rng = np.random.default_rng(seed)

    def one(turn: Tensor, phase: Tensor, weight: Tensor) -> Callable[[Tensor], Tensor]:
        return lambda values: torch.sigmoid(2 * torch.cos(values.double() * turn + phase) @ weight).reshape(
            -1, CHANNELS, PLACES, 1
        )

    draws = [(4 * rng.normal(size=12), rng.uniform(0, 6.28, 12), rng.normal(size=(12, 6)) / 6**0.5) for _ in range(2)]
    return [one(*map(torch.as_tensor, draw)) for draw in draws]


def whole(name: str, parts: list[Callable[[Tensor], Tensor]], rows: np.ndarray) -> Tensor:
    """What the components make together, (n, O, places, 1)."""
    given = torch.as_tensor(rows)
    return compose(name, torch.stack([part(given[:, [k]]) for k, part in enumerate(parts)], 1))


def learned(name: str, rows: np.ndarray, goals: Tensor, steps: int) -> Callable[[np.ndarray], Tensor]:
    """A network for each of B supports, (B, n, 2) and (B, n, O, places, 1), all trained at once by full batches."""
    generator = torch.Generator().manual_seed(0)
    sizes = list(pairwise((1, HIDDEN, HIDDEN, CHANNELS * PLACES)))

    def drawn(rows_of: int, columns: int, scale: float) -> Tensor:
        return scale * torch.randn(len(rows), 2, rows_of, columns, generator=generator)

    weights = [
        [drawn(a, b, 4.0 if a == 1 else a**-0.5) for a, b in sizes],
        [drawn(1, b, 1.0 if a == 1 else 0.01) for a, b in sizes],
    ]
    for one in (*weights[0], *weights[1]):
        one.requires_grad_()

    def answers(points: np.ndarray) -> Tensor:
        given = 2 * torch.as_tensor(points, dtype=torch.float32).transpose(1, 2)[..., None] - 1
        for place, (weight, bias) in enumerate(zip(*weights, strict=True)):
            given = given @ weight + bias
            given = given.tanh() if place < len(weights[0]) - 1 else given
        # A product leaves signs open as well: components that are positive are given as such.
        given = torch.nn.functional.softplus(given) if name == "product" else given
        parts = given.transpose(1, 2).reshape(-1, 2, CHANNELS, PLACES, 1)
        return compose(name, parts).reshape(*points.shape[:2], -1, PLACES, 1)

    optimiser = torch.optim.Adam([*weights[0], *weights[1]], 5e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)
    for _ in range(steps):
        optimiser.zero_grad()
        (answers(rows) - goals.float()).square().mean((1, 2, 3, 4)).sum().backward()
        optimiser.step()
        schedule.step()
    return lambda points: answers(points).detach().double()


def measured(name: str, kinds: list[str], steps: int) -> list[dict[str, Any]]:
    """Every support of a composition: what the probe said, and what the network did."""
    draw = {"connected": connected, "disconnected": disconnected, "nearly disconnected": nearly}
    rngs = [np.random.default_rng([place, len(name)]) for place in range(len(kinds))]
    rows = np.stack([draw[kind](rng) for kind, rng in zip(kinds, rngs, strict=True)])
    new = np.stack([np.column_stack([own[rng.integers(SEEN, size=NEW), k] for k in range(2)])
                    for own, rng in zip(rows, rngs, strict=True)])  # fmt: skip
    truths = [smooth(place) for place in range(len(kinds))]
    goals, asked = (torch.stack([whole(name, one, own) for one, own in zip(truths, points, strict=True)])
                    for points in (rows, new))  # fmt: skip
    answers = learned(name, rows, goals, steps)
    found = []
    for place, kind in enumerate(kinds):
        fit, error = ((got[place] - want[place]).square().mean().sqrt().item()
                      for got, want in ((answers(rows), goals), (answers(new), asked)))  # fmt: skip
        spread = (goals[place] - goals[place].mean(0)).square().mean().item()
        said = support(rows[place], slots=2, composition=name, components=truths[place], query=new[place])
        line = {"composition": name, "kind": kind, "fit": fit, "error": error, "r2_seen": 1 - fit**2 / spread}
        line |= {"growth": said.numbers["error growth"], "named": "is not identified" in said.verdict}
        found.append(line | {"holds": bool(error <= fit * (line["growth"] or 0.0)), "outcome": said.outcome})
        print(f"{name:15} {kind:20} fit {fit:.4f} new {error:.4f}, at most {fit * line['growth']:.4f}", line["named"])
    return found


def table(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A row for each composition and kind: how many were named, how often the bound held, medians."""
    found = []
    for name in COMPOSITIONS:
        for kind in KINDS:
            mine = [line for line in lines if (line["composition"], line["kind"]) == (name, kind)]
            fitted = [line for line in mine if line["r2_seen"] >= FITTED]
            bound = [line for line in fitted if not line["named"]]
            row: dict[str, Any] = {"composition": name, "kind": kind, "supports": len(mine), "fitted": len(fitted)}
            row |= {"named": sum(line["named"] for line in mine), "bounded": len(bound)}
            row |= {"bound holds": sum(line["holds"] for line in bound)}
            row["error grew"] = float(np.median([line["error"] / line["fit"] for line in fitted] or [np.nan]))
            row["at most"] = float(np.median([line["growth"] for line in bound] or [np.nan]))
            found.append(row)
            print(row, flush=True)
    return found


def main() -> None:
    """Measure, print the table, and write it down."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--smoke", action="store_true")
    smoke = parser.parse_args().smoke
    torch.set_num_threads(1)
    lines = []
    for name in COMPOSITIONS[:1] if smoke else COMPOSITIONS:
        kinds = [*KINDS] if smoke else [KINDS[place % 3] for place in range(34 if name == "add" else 33)]
        lines += measured(name, kinds, 20 if smoke else 3000)
    rows = table(lines)
    bounded, held = (sum(row[which] for row in rows) for which in ("bounded", "bound holds"))
    apart = [line for line in lines if line["kind"] == "disconnected"]
    print(f"the bound holds for {held} of {bounded}; {sum(line['named'] for line in apart)} of {len(apart)} are named")
    if not smoke:
        OUT.write_text(json.dumps({"table": rows, "supports": lines}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
