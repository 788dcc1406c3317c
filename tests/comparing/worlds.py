"""Planted worlds for comparisons, as supports: a table of a database would only be counted again."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from recombine.algebra.groups import Codes, Numbers
from recombine.evaluation.outcomes import Outcomes, Score
from recombine.tables.space import Space
from recombine.tables.support import LabelTarget, Support

CLASSES = ("no", "yes")


def grid(rows: int, columns: int) -> Space:
    return Space.of({"a": [f"a{k}" for k in range(rows)], "b": [f"b{k}" for k in range(columns)]})


def labelled(space: Space, cells: Codes, yes: Numbers, rows: int, rng: np.random.Generator) -> Support:
    """So many rows of each cell, each of them "yes" with the cell's own chance."""
    hits = rng.binomial(rows, yes).astype(float)
    combination = np.repeat(np.arange(len(cells)), 2)
    label = np.tile([0, 1], len(cells))
    count = np.stack([rows - hits, hits], axis=1).ravel()
    kept = count > 0
    target = LabelTarget("y", CLASSES, combination[kept], label[kept], count[kept])
    return Support(space, np.asfortranarray(cells), np.full(len(cells), float(rows)), target, rows * len(cells))


def outcomes(
    space: Space, cells: Codes, right: Numbers, rows: int, rng: np.random.Generator, trained: Support
) -> Outcomes:
    """So many answers for each cell, each of them right with the cell's own chance."""
    hits = rng.binomial(rows, right).astype(float)
    nothing = np.zeros(0, dtype=np.int64)
    return Outcomes(
        tested=Support(space, np.asfortranarray(cells), np.full(len(cells), float(rows))),
        training=trained,
        kind="score",
        classes=(),
        combination=nothing,
        truth=nothing,
        said=nothing,
        count=np.zeros(0),
        total=hits,
        squares=hits,
        prediction_total=None,
        score=Score("accuracy", "higher"),
    )


def table(rows: Sequence[Sequence[Any]], names: Sequence[str]) -> dict[str, list[Any]]:
    return {name: [row[k] for row in rows] for k, name in enumerate(names)}


def rate(said: Callable[[int], bool], times: int) -> float:
    """How often something is said."""
    return sum(said(seed) for seed in range(times)) / times
