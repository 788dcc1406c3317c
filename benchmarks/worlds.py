"""Planted worlds: made-up tables of which everything is known, also what happens in the combinations that are unseen.

A world draws a grid of factors, a rule for the answer, the combinations that are seen, and rows for all of them. The
instrument gets the seen rows; what it promises is held against the unseen ones. `HELD_BACK` lists the worlds that
nothing in the library was adjusted to: they were written before anything was measured, and looked at last.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Codes = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.float64]
Rng = np.random.Generator


@dataclass(frozen=True, eq=False)
class World:
    """Rows that are seen and rows of combinations that are not. Legend: n seen rows, m unseen rows, k factors."""

    family: str
    seed: int
    kind: str  # "number" or "label"
    seen: Codes  # (n, k)
    seen_answers: npt.NDArray[Any]  # (n,)
    unseen: Codes  # (m, k)
    unseen_answers: npt.NDArray[Any]  # (m,)

    @property
    def factors(self) -> list[str]:
        return [f"f{k}" for k in range(self.seen.shape[1])]

    def table(self, side: str = "seen") -> dict[str, list[Any]]:
        """One side as the columns of a table; values are words, so that nobody takes them for numbers."""
        codes, answers = (self.seen, self.seen_answers) if side == "seen" else (self.unseen, self.unseen_answers)
        named = {name: [f"v{code}" for code in codes[:, k]] for k, name in enumerate(self.factors)}
        return named | {"answer": answers.tolist()}


@dataclass(frozen=True)
class Grid:
    """How many factors and values, which share of the combinations is seen, and how many rows each has."""

    sizes: tuple[int, ...]
    share: float
    rows: int = 4


Rule = Callable[[Codes, Rng], Numbers]


def additive(codes: Codes, rng: Rng, *, spread: float = 1.0) -> Numbers:
    """One effect a value, added up."""
    effects = [spread * rng.standard_normal(int(column.max()) + 1) for column in codes.T]
    return np.sum([effect[column] for effect, column in zip(effects, codes.T, strict=True)], axis=0)


def pairwise(codes: Codes, rng: Rng, *, strength: float) -> Numbers:
    """Effects that add up, and one more for each pair of values of the first two factors."""
    both = rng.standard_normal((int(codes[:, 0].max()) + 1, int(codes[:, 1].max()) + 1))
    return np.asarray(additive(codes, rng) + strength * both[codes[:, 0], codes[:, 1]])


def _grid(rng: Rng, *, factors: int | None = None) -> Grid:
    count = factors or int(rng.integers(2, 4))
    most = {2: 12, 3: 6, 4: 6}.get(count, 4)
    sizes = tuple(int(size) for size in rng.integers(3 if count < 5 else 2, most, size=count))
    return Grid(sizes, share=float(rng.uniform(0.4, 0.8)), rows=int(rng.integers(1, 8)))


def _every(sizes: tuple[int, ...], rng: Rng) -> Codes:
    """All combinations in random order."""
    places = rng.permutation(int(np.prod(sizes)))
    return np.stack(np.unravel_index(places, sizes), axis=1).astype(np.int64)


def _first_seen(codes: Codes, wanted: int) -> npt.NDArray[np.bool_]:
    """The first ones, and enough others for each value to be seen."""
    seen = np.arange(len(codes)) < wanted
    for k in range(codes.shape[1]):
        for value in np.unique(codes[:, k]):
            here = codes[:, k] == value
            if not (seen & here).any():
                seen[np.flatnonzero(here)[0]] = True
    return seen


def _split(codes: Codes, grid: Grid) -> npt.NDArray[np.bool_]:
    most = 600 if len(codes) > 1_000 else len(codes) - 1
    return _first_seen(codes, min(most, round(grid.share * len(codes))))


def _counts(codes: Codes, rng: Rng, rows: int, *, skewed: bool = False) -> npt.NDArray[np.int64]:
    if skewed:
        return np.minimum(rng.zipf(1.6, size=len(codes)), 2_000).astype(np.int64)
    return rng.integers(1, rows + 1, size=len(codes))


def _drawn(
    family: str,
    seed: int,
    codes: Codes,
    seen: npt.NDArray[np.bool_],
    counts: npt.NDArray[np.int64],
    answer: Callable[[npt.NDArray[np.int64]], npt.NDArray[Any]],
) -> World:
    """Rows of all combinations; `answer` draws the answers of rows from the number of their combination."""
    unseen = np.flatnonzero(~seen)
    here, there = (np.repeat(places, counts[places]) for places in (np.flatnonzero(seen), unseen))
    answers = answer(np.concatenate([here, there]))
    kind = "label" if answers.dtype.kind in "US" else "number"
    return World(family, seed, kind, codes[here], answers[: len(here)], codes[there], answers[len(here) :])


def _numbers(family: str, seed: int, rule: Rule, *, noise: float = 0.3, factors: int | None = None) -> World:
    rng = np.random.default_rng([seed, len(family)])
    grid = _grid(rng, factors=factors)
    codes = _every(grid.sizes, rng)
    truth = rule(codes, rng)
    own = noise * rng.standard_normal(len(codes)) if noise else np.zeros(len(codes))
    counts = _counts(codes, rng, grid.rows)
    return _drawn(
        family,
        seed,
        codes,
        _split(codes, grid),
        counts,
        lambda rows: (truth + 0.3 * own)[rows] + noise * rng.standard_normal(len(rows)),
    )


def _classes(codes: Codes, rng: Rng, rule: Rule, classes: int) -> npt.NDArray[np.int64]:
    if classes == 2:
        score = rule(codes, rng)
        return np.asarray(score > np.median(score)).astype(np.int64)
    return np.asarray(np.argmax([rule(codes, rng) for _ in range(classes)], axis=0), dtype=np.int64)


def _labels(
    family: str,
    seed: int,
    rule: Rule,
    *,
    flipped: float = 0.0,
    skewed: bool = False,
    factors: int | None = None,
    classes: int | None = None,
) -> World:
    rng = np.random.default_rng([seed, len(family), 1])
    grid = _grid(rng, factors=factors)
    codes = _every(grid.sizes, rng)
    many = classes or int(rng.integers(2, 5))
    truth = _classes(codes, rng, rule, many)
    counts = _counts(codes, rng, grid.rows, skewed=skewed)

    def answer(rows: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        other = (truth[rows] + rng.integers(1, many, size=len(rows))) % many
        told = np.where(rng.random(len(rows)) < flipped, other, truth[rows])
        return np.asarray([f"class {label}" for label in told])

    return _drawn(family, seed, codes, _split(codes, grid), counts, answer)


def _noise(codes: Codes, rng: Rng) -> Numbers:
    return np.asarray(rng.standard_normal(len(codes)))


def _shortcut(seed: int) -> World:
    """Seen mostly where two factors go together; the answer hangs on the second, and the first tells nearly as much."""
    rng = np.random.default_rng([seed, 7])
    size = int(rng.integers(4, 9))
    codes = _every((size, size), rng)
    together = codes[:, 0] == codes[:, 1]
    seen = together | (rng.random(len(codes)) < 0.25)
    counts = np.where(together, 20, 2).astype(np.int64)
    truth = np.array([f"class {label}" for label in codes[:, 1] % 3])
    return _drawn("shortcut", seed, codes, seen, counts, lambda rows: truth[rows])


def _corner(family: str, seed: int, *, label: bool) -> World:
    """What is unseen is a block: high values of both factors, never together."""
    rng = np.random.default_rng([seed, 9, label])
    a, b = (int(size) for size in rng.integers(5, 11, size=2))
    codes = _every((a, b), rng)
    seen = (codes[:, 0] < a // 2) | (codes[:, 1] < b // 2)
    seen = _first_seen(codes, 0) | (seen & (rng.random(len(codes)) < 0.9))
    score = additive(codes, rng)
    counts = _counts(codes, rng, 4)
    if label:
        truth = np.array([f"class {int(high)}" for high in score > np.median(score)])
        return _drawn(family, seed, codes, seen, counts, lambda rows: truth[rows])
    return _drawn(family, seed, codes, seen, counts, lambda rows: score[rows] + 0.3 * rng.standard_normal(len(rows)))


def _zeros(seed: int) -> World:
    """Some pairs of values are impossible: they occur neither among the seen nor among the unseen."""
    rng = np.random.default_rng([seed, 11])
    codes = _every((6, 5, 3), rng)
    possible = (codes[:, 0] < 4) | (codes[:, 1] == codes[:, 0] - 4)
    codes = codes[possible]
    score = additive(codes, rng)
    counts = _counts(codes, rng, 5)
    return _drawn(
        "structural zeros",
        seed,
        codes,
        _first_seen(codes, round(0.7 * len(codes))),
        counts,
        lambda rows: score[rows] + 0.4 * rng.standard_normal(len(rows)),
    )


def _constant(seed: int) -> World:
    return _labels("constant target", seed, lambda codes, _: np.zeros(len(codes)), classes=2)


def _never_varies(seed: int) -> World:
    """One factor has a single value."""
    rng = np.random.default_rng([seed, 13])
    size = int(rng.integers(5, 12))
    codes = _every((size, size, 1), rng)
    score = additive(codes, rng)
    seen = _first_seen(codes, round(0.6 * len(codes)))
    counts = _counts(codes, rng, 3)
    return _drawn(
        "a value that never varies",
        seed,
        codes,
        seen,
        counts,
        lambda rows: score[rows] + 0.2 * rng.standard_normal(len(rows)),
    )


def _wide(seed: int, *, label: bool) -> World:
    factors = 4 + seed % 5
    if label:
        return _labels("wide labels", seed, additive, factors=factors, classes=2)
    return _numbers("wide numbers", seed, lambda c, r: pairwise(c, r, strength=0.5), factors=factors)


def _exclusive(codes: Codes, rng: Rng) -> Numbers:
    """Which of two halves the first two factors fall into, by exclusive or; the others add a little."""
    halves = [rng.permutation(int(column.max()) + 1) % 2 for column in codes[:, :2].T]
    both = halves[0][codes[:, 0]] ^ halves[1][codes[:, 1]]
    return np.asarray(2.0 * both + 0.1 * additive(codes, rng))


def _product(codes: Codes, rng: Rng) -> Numbers:
    factors = [np.exp(0.7 * rng.standard_normal(int(column.max()) + 1)) for column in codes.T]
    return np.prod([effect[column] for effect, column in zip(factors, codes.T, strict=True)], axis=0)


def _heavy(codes: Codes, rng: Rng) -> Numbers:
    return np.asarray(additive(codes, rng) + 0.5 * rng.standard_t(2, size=len(codes)))


def _modular(seed: int) -> World:
    rng = np.random.default_rng([seed, 17])
    size = int(rng.integers(5, 11))
    codes = _every((size, size), rng)
    truth = np.array([f"class {label}" for label in codes.sum(axis=1) % size])
    seen = _first_seen(codes, round(0.7 * len(codes)))
    return _drawn("sum modulo", seed, codes, seen, np.full(len(codes), 2, dtype=np.int64), lambda rows: truth[rows])


FAMILIES: dict[str, Callable[[int], World]] = {
    "additive numbers": lambda seed: _numbers("additive numbers", seed, additive),
    "additive labels": lambda seed: _labels("additive labels", seed, additive),
    "interacting numbers": lambda seed: _numbers(
        "interacting numbers", seed, lambda c, r: pairwise(c, r, strength=float(r.uniform(0.3, 2)))
    ),
    "interacting labels": lambda seed: _labels("interacting labels", seed, lambda c, r: pairwise(c, r, strength=1.0)),
    "pure noise": lambda seed: _numbers("pure noise", seed, lambda c, _: np.zeros(len(c)), noise=1.0),
    "coin labels": lambda seed: _labels("coin labels", seed, _noise),
    "label noise": lambda seed: _labels("label noise", seed, additive, flipped=0.2),
    "shortcut": _shortcut,
    "confounded hold-out": lambda seed: _corner("confounded hold-out", seed, label=False),
    "rare cells": lambda seed: _labels("rare cells", seed, additive, skewed=True, classes=2),
    "structural zeros": _zeros,
    "constant target": _constant,
    "a value that never varies": _never_varies,
    "skewed counts": lambda seed: _labels("skewed counts", seed, _noise, skewed=True, flipped=0.1),
    "wide numbers": lambda seed: _wide(seed, label=False),
    "wide labels": lambda seed: _wide(seed, label=True),
    "products": lambda seed: _numbers("products", seed, _product, noise=0.2),
    "exclusive or": lambda seed: _labels("exclusive or", seed, _exclusive, classes=2),
    "heavy tails": lambda seed: _numbers("heavy tails", seed, _heavy),
    "corner of labels": lambda seed: _corner("corner of labels", seed, label=True),
    "sum modulo": _modular,
}
HELD_BACK = ("products", "exclusive or", "heavy tails", "corner of labels", "sum modulo")
NOISE = ("pure noise", "coin labels", "skewed counts", "constant target")
"""Worlds in which nothing can be told about an unseen combination, or nothing is to be told."""
