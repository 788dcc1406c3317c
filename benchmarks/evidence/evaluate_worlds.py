"""Families for `evaluate`: how often a model is right in each combination, which were held out, and how many rows."""

from collections.abc import Callable, Mapping

import numpy as np

from evidence.drawing import (
    CannotPlantError,
    Codes,
    EvaluateWorld,
    Mask,
    Numbers,
    Rng,
    every_value_seen,
    grid,
    logistic,
    seen_by_chance,
    together,
)

Plant = Callable[[Rng], EvaluateWorld]
TEN_POINTS = {"seen": 0.8, "unseen": 0.7, "matched": 0.1}
"""The means of the two beta laws below: combinations are drawn, and the score is that of all that could have been."""


def unseen_by_chance(codes: Codes, chance: float | Numbers, rng: Rng) -> Mask:
    """At least five are unseen, and each value is in two seen combinations."""
    unseen = ~seen_by_chance(codes, 1 - np.asarray(chance), rng)
    if unseen.sum() < 5:
        raise CannotPlantError
    return unseen


def some_unseen(codes: Codes, number: int, rng: Rng, *factors: int) -> Mask:
    """So many cells of some factors are unseen, whole; of all factors unless some are named."""
    cell = together(codes, *(factors or range(codes.shape[1])))
    for _ in range(500):
        unseen = np.isin(cell, rng.choice(int(cell.max()) + 1, number, replace=False))
        if every_value_seen(codes, ~unseen, 2):
            return unseen
    raise CannotPlantError


def ten_points(unseen: Mask, rng: Rng) -> Numbers:
    """Each combination's own chance of a right answer, 80 % on average where seen and 70 % where not."""
    return np.where(unseen, rng.beta(7, 3, len(unseen)), rng.beta(8, 2, len(unseen)))


def of_blocks(codes: Codes, unseen: Mask, rng: Rng, *factors: int) -> Numbers:
    """The same, but the chance belongs to the cell of some factors, and the others do nothing."""
    cell = together(codes, *factors)
    first = np.unique(cell, return_index=True)[1]
    by_cell = np.zeros(int(cell.max()) + 1)
    by_cell[cell[first]] = ten_points(unseen[first], rng)
    return by_cell[cell]


def usual_rows(codes: Codes, rng: Rng) -> np.ndarray:
    return rng.integers(3, 16, len(codes))


def iid(rng: Rng) -> EvaluateWorld:
    codes = grid(8, 8)
    unseen = unseen_by_chance(codes, 0.35, rng)
    return EvaluateWorld(codes, unseen, usual_rows(codes, rng), TEN_POINTS, ten_points(unseen, rng))


def few_unseen(rng: Rng) -> EvaluateWorld:
    codes = grid(8, 8)
    unseen = some_unseen(codes, int(rng.integers(5, 16)), rng)
    return EvaluateWorld(codes, unseen, usual_rows(codes, rng), TEN_POINTS, ten_points(unseen, rng))


def ceiling(rng: Rng) -> EvaluateWorld:
    """Nearly always right, seen or not."""
    codes = grid(8, 8)
    unseen = some_unseen(codes, int(rng.integers(6, 16)), rng)
    truth = {"seen": 0.985, "unseen": 0.985, "matched": 0.0}
    return EvaluateWorld(codes, unseen, usual_rows(codes, rng), truth, np.full(64, 0.985))


def u_shaped(rng: Rng) -> EvaluateWorld:
    """An unseen combination is either known or not."""
    codes = grid(8, 8)
    unseen = unseen_by_chance(codes, 0.3, rng)
    right = np.where(unseen & (rng.random(64) >= 0.85), 0.05, 0.98)
    truth = {"seen": 0.98, "unseen": 0.85 * 0.98 + 0.15 * 0.05, "matched": 0.15 * 0.93}
    return EvaluateWorld(codes, unseen, usual_rows(codes, rng), truth, right)


def confounded(rng: Rng, *, drop: float = 0.0) -> EvaluateWorld:
    """Hard values are unseen more often."""
    codes = grid(8, 8)
    hard = 0.3 * codes.sum(axis=1) / 7
    unseen = unseen_by_chance(codes, 0.05 + 0.6 * (hard / 0.6) ** 1.5, rng)
    right = np.clip(0.97 - hard - drop * unseen, 0, 1)
    return EvaluateWorld(codes, unseen, usual_rows(codes, rng), {"matched": drop}, right)


def confounded_drop(rng: Rng) -> EvaluateWorld:
    return confounded(rng, drop=0.1)


def logit_conf(rng: Rng) -> EvaluateWorld:
    """The same where difficulties add up in logits."""
    codes = grid(8, 8)
    hard = np.sum([rng.permutation(np.linspace(0, 3, 8))[column] for column in codes.T], axis=0)
    unseen = unseen_by_chance(codes, np.clip(0.05 + 0.1 * hard, 0, 0.7), rng)
    return EvaluateWorld(codes, unseen, usual_rows(codes, rng), {"matched": 0.0}, logistic(4 - hard))


def harder_selected(rng: Rng) -> EvaluateWorld:
    """Combinations are unseen because they are hard, each for itself."""
    codes = grid(8, 8)
    right = rng.beta(8, 2, 64)
    unseen = unseen_by_chance(codes, np.where(right < np.median(right), 0.5, 0.1), rng)
    return EvaluateWorld(codes, unseen, usual_rows(codes, rng), {"matched": 0.0}, right)


def zipf_rows(rng: Rng) -> EvaluateWorld:
    """A few combinations have most of the rows."""
    codes = grid(8, 8)
    unseen = unseen_by_chance(codes, 0.35, rng)
    rows = np.minimum(np.ceil(2 * rng.pareto(1.1, 64) + 1), 400).astype(np.int64)
    return EvaluateWorld(codes, unseen, rows, TEN_POINTS, ten_points(unseen, rng))


def pair_block(rng: Rng) -> EvaluateWorld:
    """Eight of 36 pairs are held out whole; the third factor does nothing."""
    codes = grid(6, 6, 6)
    unseen = some_unseen(codes, 8, rng, 0, 1)
    return EvaluateWorld(codes, unseen, np.full(216, 6), TEN_POINTS, of_blocks(codes, unseen, rng, 0, 1))


def value_effect(rng: Rng) -> EvaluateWorld:
    """How hard it is belongs to the value of one factor."""
    codes = grid(8, 12)
    unseen = unseen_by_chance(codes, 0.3, rng)
    by_value = rng.beta(8, 2, 8)
    right = np.clip(by_value[codes[:, 0]] - 0.1 * unseen, 0, 1)
    truth = {"seen": float(by_value.mean()), "unseen": float(np.clip(by_value - 0.1, 0, 1).mean()), "matched": 0.1}
    return EvaluateWorld(codes, unseen, usual_rows(codes, rng), truth, right)


def many(rng: Rng) -> EvaluateWorld:
    codes = grid(6, 6, 5, 5)
    unseen = unseen_by_chance(codes, 0.4, rng)
    return EvaluateWorld(codes, unseen, rng.integers(1, 5, 900), TEN_POINTS, ten_points(unseen, rng))


def mse_t3(rng: Rng) -> EvaluateWorld:
    """Squared errors with heavy tails, half as large again where unseen."""
    codes = grid(8, 8)
    unseen = unseen_by_chance(codes, 0.35, rng)
    size = np.sqrt(np.where(unseen, 1.5, 1.0))
    truth = {"seen": 3.0, "unseen": 4.5, "matched": 1.5}
    return EvaluateWorld(
        codes,
        unseen,
        usual_rows(codes, rng),
        truth,
        error=lambda rows, fresh: size[rows] * fresh.standard_t(3, len(rows)),
    )


def mse_logn(rng: Rng) -> EvaluateWorld:
    """Each combination's squared error has a size of its own, from a lognormal law."""
    codes = grid(8, 8)
    unseen = unseen_by_chance(codes, 0.35, rng)
    size = np.exp(rng.standard_normal(64) / 2) * np.sqrt(np.where(unseen, 1.5, 1.0))
    mean = float(np.exp(0.5))
    truth = {"seen": mean, "unseen": 1.5 * mean, "matched": 0.5 * mean}
    return EvaluateWorld(
        codes,
        unseen,
        usual_rows(codes, rng),
        truth,
        error=lambda rows, fresh: size[rows] * fresh.standard_normal(len(rows)),
    )


def uneven_pairs(rng: Rng) -> EvaluateWorld:
    """Pairs are held out whole and tested in one to ten values of the third factor."""
    codes = grid(6, 6, 10)
    unseen = some_unseen(codes, 10, rng, 0, 1)
    tested = rng.random(360) < rng.uniform(0.1, 1.0, 36)[together(codes, 0, 1)]
    tested |= codes[:, 2] == 0
    rows = np.where(tested, rng.integers(2, 8, 360), 0)
    return EvaluateWorld(codes, unseen, rows, TEN_POINTS, of_blocks(codes, unseen, rng, 0, 1))


def triple_held(rng: Rng) -> EvaluateWorld:
    """Triples of four factors are held out whole; the fourth does nothing."""
    codes = grid(4, 4, 4, 5)
    unseen = some_unseen(codes, 14, rng, 0, 1, 2)
    return EvaluateWorld(codes, unseen, np.full(320, 4), TEN_POINTS, of_blocks(codes, unseen, rng, 0, 1, 2))


def one_row_each(rng: Rng) -> EvaluateWorld:
    codes = grid(12, 12)
    unseen = unseen_by_chance(codes, 0.3, rng)
    return EvaluateWorld(codes, unseen, np.ones(144, dtype=np.int64), TEN_POINTS, ten_points(unseen, rng))


def tiny_groups(rng: Rng) -> EvaluateWorld:
    """Hundreds of combinations with a row or two, most of which were not tested at all."""
    codes = grid(25, 25)
    unseen = unseen_by_chance(codes, 0.3, rng)
    rows = np.where(rng.random(625) < 0.4, rng.integers(1, 3, 625), 0)
    return EvaluateWorld(codes, unseen, rows, TEN_POINTS, ten_points(unseen, rng))


def diluted(rng: Rng) -> EvaluateWorld:
    """Each pair's chance wanders a little with the third factor: neither one piece of evidence nor ten."""
    codes = grid(6, 6, 8)
    unseen = some_unseen(codes, 9, rng, 0, 1)
    base = np.clip(of_blocks(codes, unseen, rng, 0, 1), 0.02, 0.98)
    strength = 6.0
    right = rng.beta(strength * base, strength * (1 - base))
    # clipping moves the means by less than a thousandth
    return EvaluateWorld(codes, unseen, np.full(288, 4), TEN_POINTS, right)


def alike(rng: Rng, *, bad: int = 0) -> EvaluateWorld:
    """Every combination is right in nine of ten rows, but for some that are in one of two."""
    codes = grid(8, 8)
    right = np.full(64, 0.9)
    right[rng.choice(64, bad, replace=False)] = 0.5
    return EvaluateWorld(codes, some_unseen(codes, 20, rng), np.full(64, 20), {}, right)


def one_bad(rng: Rng) -> EvaluateWorld:
    return alike(rng, bad=1)


def three_bad(rng: Rng) -> EvaluateWorld:
    return alike(rng, bad=3)


WORST: Mapping[str, Plant] = {
    plant.__name__: plant
    for plant in (alike, one_bad, three_bad, iid, ceiling, u_shaped, zipf_rows, few_unseen, pair_block, one_row_each)
}
"""Worlds of which the worst combinations are listed: each has a true share of its own."""
PLANTED: Mapping[str, Plant] = {
    plant.__name__: plant
    for plant in (
        *(iid, few_unseen, ceiling, u_shaped, confounded, confounded_drop, logit_conf, harder_selected, zipf_rows),
        *(pair_block, value_effect, many, mse_t3, mse_logn),
    )
}
NEW: Mapping[str, Plant] = {
    plant.__name__: plant for plant in (uneven_pairs, triple_held, one_row_each, tiny_groups, diluted)
}
