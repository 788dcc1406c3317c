"""Families that were written, hashed and put aside before anything was changed, and looked at last."""

from collections.abc import Callable, Mapping

import numpy as np

from evidence.drawing import (
    AuditWorld,
    CannotPlantError,
    EvaluateWorld,
    Rng,
    additive,
    every_value_seen,
    grid,
    label_world,
    number_world,
    of_cell,
    seen_by_chance,
    together,
    two_classes,
)
from evidence.evaluate_worlds import TEN_POINTS, of_blocks, some_unseen, ten_points


def latin(rng: Rng) -> AuditWorld:
    """A Latin square and a few more: almost every pair of values was seen, once, and two factors interact."""
    codes = grid(6, 6, 6)
    square = (codes[:, 0] + codes[:, 1]) % 6 == codes[:, 2]
    mean = additive(codes, rng) + of_cell(codes, rng, 1, 2, spread=0.6)
    seen = square | (rng.random(216) < 0.12)
    return number_world(codes, seen, mean, rng, noise=0.3)


def late_values(rng: Rng) -> AuditWorld:
    """Three values came late: seen in two or three combinations each, the others in nearly all."""
    codes = grid(9, 8)
    chance = np.where(codes[:, 0] >= 6, 0.3, 0.85)
    mean = additive(codes, rng) + rng.normal(0, 0.5, len(codes))
    return number_world(codes, seen_by_chance(codes, chance, rng), mean, rng, noise=0.4)


def two_kinds_of_blocks(rng: Rng) -> AuditWorld:
    """Pairs of the first two factors are missing whole, and others of the last two; both kinds interact."""
    codes = grid(5, 6, 5)
    mean = additive(codes, rng) + of_cell(codes, rng, 0, 1, spread=0.9) + of_cell(codes, rng, 1, 2, spread=0.4)
    for _ in range(500):
        kept = (rng.random(30) < 0.8)[together(codes, 0, 1)] & (rng.random(30) < 0.8)[together(codes, 1, 2)]
        seen = kept & (rng.random(len(codes)) < 0.9)
        if every_value_seen(codes, seen, 2):
            return number_world(codes, seen, mean, rng, noise=0.3)
    raise CannotPlantError


def mnar_positive(rng: Rng) -> AuditWorld:
    """Labels: combinations of the second class were seldom collected, and some of them follow no rule."""
    codes = grid(8, 8)
    logits = additive(codes, rng, 1.0) + rng.normal(0, 1.5, len(codes))
    chance = np.where(logits > 0, 0.3, 0.85)
    return label_world(codes, seen_by_chance(codes, chance, rng), two_classes(2 * logits), rng)


def corner(rng: Rng) -> AuditWorld:
    """Both factors are ordered, and the corner where both are high was never reached."""
    codes = grid(8, 8)
    slope = 0.4 * rng.uniform(0.5, 1.5, 2)
    mean = codes @ slope + additive(codes, rng, 0.3) + rng.normal(0, 0.4, len(codes))
    seen = (codes.sum(axis=1) < 9) & (rng.random(64) < 0.9)
    if not every_value_seen(codes, seen, 2):
        raise CannotPlantError
    return number_world(codes, seen, mean, rng, noise=0.3)


def cluster_cells(rng: Rng) -> EvaluateWorld:
    """How hard it is belongs to a cluster of values and a value; these are held out whole."""
    codes = grid(9, 8, 2)
    cluster = np.stack([codes[:, 0] // 3, codes[:, 1]], axis=1)
    unseen = some_unseen(cluster, 7, rng, 0, 1)
    if not every_value_seen(codes, ~unseen, 2):
        raise CannotPlantError
    right = of_blocks(cluster, unseen, rng, 0, 1)
    return EvaluateWorld(codes, unseen, rng.integers(2, 10, len(codes)), TEN_POINTS, right)


def mse_pairs(rng: Rng) -> EvaluateWorld:
    """Squared errors whose size belongs to a pair of three factors, held out whole."""
    codes = grid(7, 6, 5)
    unseen = some_unseen(codes, 12, rng, 0, 1)
    by_pair = np.exp(0.7 * rng.standard_normal(42))[together(codes, 0, 1)]
    size = np.sqrt(by_pair * np.where(unseen, 1.4, 1.0))
    mean = float(np.exp(0.7**2 / 2))
    truth = {"seen": mean, "unseen": 1.4 * mean, "matched": 0.4 * mean}
    return EvaluateWorld(
        codes,
        unseen,
        rng.integers(2, 7, len(codes)),
        truth,
        error=lambda rows, fresh: size[rows] * fresh.standard_normal(len(rows)),
    )


def mostly_unseen(rng: Rng) -> EvaluateWorld:
    """Two in three combinations were never trained on, and rows are uneven."""
    codes = grid(8, 8)
    unseen = some_unseen(codes, 42, rng)
    rows = 1 + rng.geometric(0.15, 64)
    return EvaluateWorld(codes, unseen, rows, TEN_POINTS, ten_points(unseen, rng))


AUDIT: Mapping[str, Callable[[Rng], AuditWorld]] = {
    plant.__name__: plant for plant in (latin, late_values, two_kinds_of_blocks, mnar_positive, corner)
}
EVALUATE: Mapping[str, Callable[[Rng], EvaluateWorld]] = {
    plant.__name__: plant for plant in (cluster_cells, mse_pairs, mostly_unseen)
}
UNCHANGED_AUDITS = ("late_values", "two_kinds_of_blocks")
UNCHANGED_EVALUATIONS = ("mse_pairs", "mostly_unseen")
CHOSEN_BY_ANSWER = ("mnar_positive",)
