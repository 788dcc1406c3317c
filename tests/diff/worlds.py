"""Planted worlds for comparisons, as supports: a table of a database would only be counted again."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from recombine.data.space import Space
from recombine.data.support import LabelTarget, Support
from recombine.numerics.groups import Codes, Numbers
from recombine.verbs.evaluate.outcomes import Outcomes, Score

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
    space: Space, cells: Codes, right: Numbers, rows: int, rng: np.random.Generator, trained: Support | None
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


def counted(rows: Sequence[tuple[str, str, str]]) -> Support:
    """Rows (a, b, y) as they would be counted."""
    values = [sorted({row[k] for row in rows}) for k in (0, 1)]
    classes = tuple(sorted({y for *_, y in rows}))
    lines = Counter((values[0].index(a), values[1].index(b), classes.index(y)) for a, b, y in rows)
    cells = sorted({line[:2] for line in lines})
    target = LabelTarget(
        "y",
        classes,
        np.array([cells.index(line[:2]) for line in sorted(lines)]),
        np.array([line[2] for line in sorted(lines)]),
        np.array([float(lines[line]) for line in sorted(lines)]),
    )
    rows_of = Counter((values[0].index(a), values[1].index(b)) for a, b, _ in rows)
    space = Space.of({"a": values[0], "b": values[1]})
    codes = np.asfortranarray(np.array(cells, dtype=np.int32))
    return Support(space, codes, np.array([float(rows_of[cell]) for cell in cells]), target, len(rows))


def table(rows: Sequence[Sequence[Any]], names: Sequence[str]) -> dict[str, list[Any]]:
    return {name: [row[k] for row in rows] for k, name in enumerate(names)}


def rate(said: Callable[[int], bool], times: int) -> float:
    """How often something is said."""
    return sum(said(seed) for seed in range(times)) / times
