"""What planted worlds are drawn with: grids, effects, which combinations are seen, rows and tables of rows."""

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

Codes = npt.NDArray[np.int64]
Ints = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Rng = np.random.Generator
Columns = dict[str, list[Any]]

NAMES = ("a", "b", "c", "d")
_MOST_TRIES = 500


class CannotPlantError(Exception):
    """A draw in which some value would never be seen, or nothing would be unseen: the next draw is taken."""


def generator(*key: str | int) -> Rng:
    """A generator for one table: the same for the same words and numbers, on every machine."""
    return np.random.default_rng([one if isinstance(one, int) else zlib.crc32(one.encode()) for one in key])


def grid(*sizes: int) -> Codes:
    """Every combination, one a line."""
    return np.array(list(product(*map(range, sizes))), dtype=np.int64)


def sizes_of(codes: Codes) -> tuple[int, ...]:
    return tuple(int(size) for size in codes.max(axis=0) + 1)


def additive(codes: Codes, rng: Rng, *spreads: float) -> Numbers:
    """A normal effect of each value, added up; one spread for all factors, or one for each."""
    each = spreads if len(spreads) > 1 else (spreads or (1.0,)) * codes.shape[1]
    effects = [
        spread * rng.standard_normal(size)[codes[:, k]]
        for k, (size, spread) in enumerate(zip(sizes_of(codes), each, strict=True))
    ]
    return np.sum(effects, axis=0)


def together(codes: Codes, *factors: int) -> Ints:
    """The number of the cell of some factors, 0 up to the product of their sizes."""
    sizes = sizes_of(codes)
    return np.ravel_multi_index([codes[:, k] for k in factors], [sizes[k] for k in factors]).astype(np.int64)


def of_cell(codes: Codes, rng: Rng, *factors: int, spread: float = 1.0) -> Numbers:
    """A normal effect for each cell of some factors: what adding up single values cannot say."""
    cells = int(np.prod([sizes_of(codes)[k] for k in factors]))
    return spread * rng.standard_normal(cells)[together(codes, *factors)]


def every_value_seen(codes: Codes, seen: Mask, least: int) -> bool:
    """Whether each value is in `least` seen combinations, eight combinations are seen, and some are not."""
    counts = [np.bincount(codes[seen, k], minlength=size).min() for k, size in enumerate(sizes_of(codes))]
    return bool(min(counts) >= least and seen.sum() >= 8 and not seen.all())


def seen_by_chance(codes: Codes, chance: float | Numbers, rng: Rng, *, least: int = 2) -> Mask:
    """Each combination is seen with its own chance."""
    for _ in range(_MOST_TRIES):
        seen = rng.random(len(codes)) < chance
        if every_value_seen(codes, seen, least):
            return seen
    raise CannotPlantError


def seen_by_block(codes: Codes, share: float, rng: Rng, *factors: int, within: float = 1.0) -> Mask:
    """Cells of some factors are missing whole; of the others each combination is seen with the chance `within`."""
    cell = together(codes, *factors)
    for _ in range(_MOST_TRIES):
        kept = rng.random(int(cell.max()) + 1) < share
        seen = kept[cell] & (rng.random(len(codes)) < within)
        if every_value_seen(codes, seen, 2) and not kept.all():
            return seen
    raise CannotPlantError


def logistic(numbers: Numbers) -> Numbers:
    return 1 / (1 + np.exp(-numbers))


def two_classes(logits: Numbers) -> Numbers:
    """(n, 2) chances of no and yes."""
    return np.stack([1 - logistic(logits), logistic(logits)], axis=1)


Draw = Callable[[Ints, Rng], npt.NDArray[Any]]
"""Answers of rows, given which combination each is of."""


@dataclass(frozen=True, eq=False)
class AuditWorld:
    """A table for `audit` or `rehearse`, of which the unseen part is known too. Legend: n combinations, k factors."""

    codes: Codes  # (n, k)
    seen: Mask  # (n,)
    rows: Ints  # (n,) how many a combination has, if it is seen, and in the truth if it is not
    draw: Draw
    classes: int | None = None  # of a label; None of a number

    @property
    def factors(self) -> list[str]:
        return list(NAMES[: self.codes.shape[1]])

    def sample(self, places: Ints, rng: Rng) -> tuple[Ints, npt.NDArray[Any]]:
        """Rows of some combinations: which combination each is of, and its answer."""
        combination = np.repeat(places, self.rows[places])
        return combination, self.draw(combination, rng)

    def answers(self, combination: Ints, values: npt.NDArray[Any], places: Ints) -> Numbers:
        """(places, m) The mean of each combination's rows; of a label the share of each class."""
        wide = np.eye(self.classes)[values] if self.classes else values[:, None].astype(float)
        sums = np.stack([np.bincount(combination, column, len(self.codes)) for column in wide.T], axis=1)
        return (sums / np.maximum(np.bincount(combination, minlength=len(self.codes)), 1)[:, None])[places]

    def table(self, combination: Ints, values: npt.NDArray[Any]) -> Columns:
        """The rows as columns; values are words, so that nobody takes them for numbers."""
        answers = [f"L{one}" for one in values] if self.classes else values.astype(float).tolist()
        return value_columns(self.codes[combination]) | {"y": answers}


def value_columns(codes: Codes) -> Columns:
    return {NAMES[k]: [f"{NAMES[k]}{code}" for code in column] for k, column in enumerate(codes.T)}


def number_world(
    codes: Codes, seen: Mask, mean: Numbers, rng: Rng, *, noise: float | Draw = 0.5, rows: Ints | None = None
) -> AuditWorld:
    """Numbers around a mean of each combination: normal noise, or any other that draws what is added."""

    def draw(combination: Ints, fresh: Rng) -> Numbers:
        extra = noise(combination, fresh) if callable(noise) else noise * fresh.standard_normal(len(combination))
        return np.asarray(mean[combination] + extra)

    return AuditWorld(codes, seen, rng.integers(1, 6, len(codes)) if rows is None else rows, draw)


def label_world(codes: Codes, seen: Mask, chances: Numbers, rng: Rng, *, rows: Ints | None = None) -> AuditWorld:
    """Labels drawn from the chances of each combination's classes."""
    upto = np.cumsum(chances, axis=1)

    def draw(combination: Ints, fresh: Rng) -> Ints:
        return (fresh.random(len(combination))[:, None] > upto[combination, :-1]).sum(axis=1)

    counts = rng.integers(1, 6, len(codes)) if rows is None else rows
    return AuditWorld(codes, seen, counts, draw, classes=chances.shape[1])


@dataclass(frozen=True, eq=False)
class EvaluateWorld:
    """Answers of a model, the combinations it was trained on, and the true scores of both sides.

    `right` is the chance of a right answer in each combination, of four classes; or `error` draws the errors of
    predicted numbers, and the score is their mean square. `truth` holds the true "seen", "unseen", "gap" and "matched";
    a side that it does not name is the mean over its tested rows.
    """

    codes: Codes
    unseen: Mask
    rows: Ints  # tested ones of each combination; may be none
    truth: dict[str, float]
    right: Numbers | None = None
    error: Draw | None = None

    @property
    def factors(self) -> list[str]:
        return list(NAMES[: self.codes.shape[1]])

    def true_scores(self) -> dict[str, float]:
        """With the sides that follow from the chances themselves."""
        known = dict(self.truth)
        if self.right is not None:
            for side, mask in (("seen", ~self.unseen), ("unseen", self.unseen)):
                known.setdefault(side, float(np.average(self.right[mask], weights=self.rows[mask])))
        if "seen" in known and "unseen" in known:
            known.setdefault("gap", worse_by(known, of_errors=self.right is None))
        return known

    def table(self, rng: Rng) -> Columns:
        """Tested rows, and three training rows for each combination that was seen."""
        tested = np.repeat(np.arange(len(self.codes)), self.rows)
        trained = np.repeat(np.flatnonzero(~self.unseen), 3)
        places, split = np.concatenate([tested, trained]), ["test"] * len(tested) + ["train"] * len(trained)
        if self.error is not None:
            truth = 2 * rng.standard_normal(len(places))
            said = truth + np.concatenate([self.error(tested, rng), np.zeros(len(trained))])
            answers: Columns = {"y": truth.tolist(), "said": said.tolist()}
        else:
            answers = _classes(tested, trained, self.right, rng)
        return value_columns(self.codes[places]) | answers | {"split": split}


def worse_by(known: dict[str, float], *, of_errors: bool) -> float:
    """How much worse the unseen side is: lower if right answers are counted, higher if errors are."""
    return (known["unseen"] - known["seen"]) * (1 if of_errors else -1)


def _classes(tested: Ints, trained: Ints, right: Numbers | None, rng: Rng, classes: int = 4) -> Columns:
    assert right is not None
    truth = rng.integers(0, classes, len(tested) + len(trained))
    wrong = np.concatenate([rng.random(len(tested)) >= right[tested], np.zeros(len(trained), dtype=bool)])
    said = np.where(wrong, (truth + rng.integers(1, classes, len(truth))) % classes, truth)
    return {"y": [f"L{one}" for one in truth], "said": [f"L{one}" for one in said]}
