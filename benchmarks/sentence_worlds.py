"""Does the first sentence name what matters? Worlds in which one thing is planted, and what the sentence makes of it.

Run by `calibration.py --sentences`. Noise, or an answer of its own in each combination: the two look alike to every
rule, and are told apart by rows that repeat. Sizes, rows and the noise of a row are drawn for each world.
"""

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

import recombine

Rng = np.random.Generator
_GRIDS = ((6, 6), (8, 5), (4, 4, 3), (5, 3, 3), (3, 3, 3, 2))


@dataclass(frozen=True)
class Planted:
    """What is planted, how a table of it is drawn, and which words tell it."""

    name: str
    draw: Callable[[Rng], dict[str, list[Any]]]
    told: Callable[[dict[str, list[Any]]], str]
    words: str


def _drawn(rng: Rng) -> tuple[list[tuple[int, ...]], int]:
    """Three quarters of a grid, and how many rows each has."""
    grid = list(product(*map(range, _GRIDS[rng.integers(len(_GRIDS))])))
    return [grid[place] for place in np.sort(rng.permutation(len(grid))[: len(grid) * 3 // 4])], int(
        rng.integers(3, 16)
    )


def _table(seen: list[tuple[int, ...]], rows: int, answers: Any) -> dict[str, list[Any]]:
    every = [combination for combination in seen for _ in range(rows)]
    return {f"f{k}": [f"v{one[k]}" for one in every] for k in range(len(seen[0]))} | {"answer": list(answers)}


def numbers(rng: Rng, *, own: bool) -> dict[str, list[Any]]:
    """A number of its own for each combination, or none, and as much noise in each row."""
    seen, rows = _drawn(rng)
    middle = np.repeat(rng.normal(size=len(seen)) * own, rows)
    return _table(seen, rows, middle + rng.uniform(0.2, 0.7) * rng.normal(size=len(middle)))


def labels(rng: Rng, *, own: bool) -> dict[str, list[Any]]:
    """A class of its own for each combination, or none, that some rows do not have."""
    seen, rows = _drawn(rng)
    classes = int(rng.integers(2, 5))
    fixed = np.repeat(rng.integers(0, classes, len(seen)), rows)
    other = rng.random(len(fixed)) < (rng.uniform(0.0, 0.35) if own else 1.0)
    return _table(seen, rows, [f"c{one}" for one in np.where(other, rng.integers(0, classes, len(fixed)), fixed)])


def _asked(verb: Callable[..., Any]) -> Callable[[dict[str, list[Any]]], str]:
    def told(table: dict[str, list[Any]]) -> str:
        factors = [name for name in table if name != "answer"]
        return str(verb(table, factors=factors, target="answer").verdict)

    return told


NOISE, FIXED = "Nothing to learn was found", "has its own fixed answer"
PLANTED = tuple(
    Planted(f"{verb.__name__}: {'own answers' if own else 'noise'}, {draw.__name__}", drawn, _asked(verb), words)
    for verb in (recombine.audit, recombine.predict)
    for draw in (numbers, labels)
    for own, drawn, words in (
        (False, lambda rng, draw=draw: draw(rng, own=False), NOISE),
        (True, lambda rng, draw=draw: draw(rng, own=True), FIXED),
    )
)


def shares(planted: Planted, *, worlds: int, seed: int) -> dict[str, float]:
    """How often the first sentence tells what is planted, and how often the other thing."""
    other = FIXED if planted.words == NOISE else NOISE
    said = []
    for number in range(seed, seed + worlds):
        rng = np.random.default_rng([number, zlib.crc32(planted.name.encode())])
        said.append(planted.told(planted.draw(rng)).partition(". ")[0])
    return {
        "told": float(np.mean([planted.words in one for one in said])),
        "the other": float(np.mean([other in one for one in said])),
    }
