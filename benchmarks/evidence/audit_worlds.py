"""Families of tables for `audit` and `rehearse`: a rule for the answers, noise, and how the unseen ones are missing."""

from collections.abc import Callable, Mapping

import numpy as np

from evidence.drawing import (
    AuditWorld,
    CannotPlantError,
    Rng,
    additive,
    every_value_seen,
    grid,
    label_world,
    logistic,
    number_world,
    of_cell,
    seen_by_block,
    seen_by_chance,
    together,
    two_classes,
)

Plant = Callable[[Rng], AuditWorld]


def hetero(rng: Rng) -> AuditWorld:
    """Effects add up; each value of the first factor has noise of its own size."""
    codes = grid(7, 8)
    size = np.exp(rng.normal(-0.7, 0.9, 7))[codes[:, 0]]
    mean = additive(codes, rng)
    return number_world(
        codes,
        seen_by_chance(codes, 0.6, rng),
        mean,
        rng,
        noise=lambda rows, fresh: size[rows] * fresh.standard_normal(len(rows)),
    )


def t3(rng: Rng) -> AuditWorld:
    """Noise with heavy tails."""
    codes = grid(7, 8)
    return number_world(
        codes,
        seen_by_chance(codes, 0.6, rng),
        additive(codes, rng),
        rng,
        noise=lambda rows, fresh: 0.6 * fresh.standard_t(3, len(rows)),
    )


def count(rng: Rng) -> AuditWorld:
    """Counts whose means multiply."""
    codes = grid(7, 8)
    mean = np.exp(1 + additive(codes, rng, 0.5))
    return number_world(
        codes,
        seen_by_chance(codes, 0.6, rng),
        mean,
        rng,
        noise=lambda rows, fresh: fresh.poisson(mean[rows]) - mean[rows],
    )


def mult(rng: Rng) -> AuditWorld:
    """Effects multiply, and so does the noise."""
    codes = grid(7, 8)
    mean = np.exp(additive(codes, rng, 0.7))
    return number_world(
        codes,
        seen_by_chance(codes, 0.6, rng),
        mean,
        rng,
        noise=lambda rows, fresh: 0.1 * mean[rows] * fresh.standard_normal(len(rows)),
    )


def gated(rng: Rng) -> AuditWorld:
    """The first factor says which of the other two counts."""
    codes = grid(2, 6, 6)
    second, third = (rng.standard_normal(6)[codes[:, k]] for k in (1, 2))
    mean = np.where(codes[:, 0] == 0, second, third)
    return number_world(codes, seen_by_chance(codes, 0.5, rng), mean, rng, noise=0.3)


def nested(rng: Rng) -> AuditWorld:
    """Each value of the second factor has a home in the first, and seldom strays from it, where effects do not add."""
    codes = grid(5, 15, 4)
    home = codes[:, 0] == codes[:, 1] % 5
    mean = additive(codes, rng) + ~home * rng.normal(0, 0.7, len(codes))
    return number_world(codes, seen_by_chance(codes, np.where(home, 0.8, 0.08), rng), mean, rng)


def domin(rng: Rng) -> AuditWorld:
    """One factor tells nearly everything."""
    codes = grid(7, 8)
    return number_world(codes, seen_by_chance(codes, 0.6, rng), additive(codes, rng, 3.0, 0.1), rng)


def zipf(rng: Rng) -> AuditWorld:
    """150 rows from a Zipf law over the values of both factors."""
    codes = grid(7, 8)
    mean = additive(codes, rng) + rng.normal(0, 0.3, len(codes))
    often = (1.0 + codes[:, 0]) ** -1.2 * (1.0 + codes[:, 1]) ** -1.2
    rows = rng.multinomial(150, often / often.sum())
    seen = rows > 0
    if not every_value_seen(codes, seen, 1):
        raise CannotPlantError
    return number_world(codes, seen, mean, rng, rows=np.where(seen, rows, rng.choice(rows[seen], len(rows))))


def mnar_high(rng: Rng) -> AuditWorld:
    """High answers are seen, low ones are not."""
    codes = grid(7, 8)
    mean = additive(codes, rng) + rng.normal(0, 0.5, len(codes))
    return number_world(codes, seen_by_chance(codes, logistic(2 * (mean - np.median(mean))), rng), mean, rng)


def mnar_easy(rng: Rng) -> AuditWorld:
    """Combinations that follow the rule are seen, those that depart from it are not."""
    codes = grid(7, 8)
    apart = rng.standard_normal(len(codes))
    chance = np.where(np.abs(apart) < np.median(np.abs(apart)), 0.9, 0.2)
    return number_world(codes, seen_by_chance(codes, chance, rng), additive(codes, rng) + apart, rng)


def noise(rng: Rng) -> AuditWorld:
    """Nothing but noise."""
    codes = grid(7, 8)
    return number_world(codes, seen_by_chance(codes, 0.6, rng), np.zeros(len(codes)), rng)


def xor_num(rng: Rng) -> AuditWorld:
    """Each combination has an answer of its own."""
    codes = grid(7, 8)
    return number_world(codes, seen_by_chance(codes, 0.6, rng), rng.standard_normal(len(codes)), rng)


def few(rng: Rng) -> AuditWorld:
    codes = grid(4, 4)
    mean = additive(codes, rng) + rng.normal(0, 0.4, len(codes))
    return number_world(codes, seen_by_chance(codes, 0.7, rng), mean, rng)


def many(rng: Rng) -> AuditWorld:
    """Four factors, and a mild interaction of two of them."""
    codes = grid(6, 6, 5, 5)
    mean = additive(codes, rng) + of_cell(codes, rng, 0, 1, spread=0.4) + rng.normal(0, 0.3, len(codes))
    return number_world(codes, seen_by_chance(codes, 0.6, rng), mean, rng)


def pairint(rng: Rng) -> AuditWorld:
    """Two factors interact; single combinations are missing."""
    codes = grid(5, 5, 5)
    mean = additive(codes, rng) + of_cell(codes, rng, 0, 1)
    return number_world(codes, seen_by_chance(codes, 0.5, rng), mean, rng)


def pairheld(rng: Rng) -> AuditWorld:
    """Two factors interact; their pairs are missing whole."""
    codes = grid(5, 5, 5)
    mean = additive(codes, rng) + of_cell(codes, rng, 0, 1)
    return number_world(codes, seen_by_block(codes, 0.7, rng, 0, 1, within=0.95), mean, rng)


def logit(rng: Rng) -> AuditWorld:
    codes = grid(8, 8)
    return label_world(codes, seen_by_chance(codes, 0.6, rng), two_classes(additive(codes, rng, 1.2)), rng)


def logit_mnar_easy(rng: Rng) -> AuditWorld:
    """Combinations whose label is nearly sure are seen, those that could be either are not."""
    codes = grid(8, 8)
    logits = additive(codes, rng, 1.2)
    chance = np.where(np.abs(logits) > np.median(np.abs(logits)), 0.9, 0.25)
    return label_world(codes, seen_by_chance(codes, chance, rng), two_classes(logits), rng)


def argmax3(rng: Rng) -> AuditWorld:
    """The highest of three sums wins, but for one row in ten."""
    codes = grid(4, 5, 5)
    best = np.argmax([additive(codes, rng) for _ in range(3)], axis=0)
    return label_world(codes, seen_by_chance(codes, 0.6, rng), 0.9 * np.eye(3)[best] + 0.1 / 3, rng)


def xor(rng: Rng) -> AuditWorld:
    codes = grid(8, 8)
    first, second = (rng.integers(0, 2, 8)[codes[:, k]] for k in (0, 1))
    return label_world(codes, seen_by_chance(codes, 0.6, rng), np.eye(2)[first ^ second], rng)


def randtable(rng: Rng) -> AuditWorld:
    """Each combination has one of three classes for no reason."""
    codes = grid(8, 8)
    return label_world(codes, seen_by_chance(codes, 0.6, rng), np.eye(3)[rng.integers(0, 3, len(codes))], rng)


def fewlabel(rng: Rng) -> AuditWorld:
    codes = grid(4, 4)
    return label_world(codes, seen_by_chance(codes, 0.7, rng), two_classes(2 * additive(codes, rng, 2.0)), rng)


def rare(rng: Rng) -> AuditWorld:
    """One row in ten is of the second class."""
    codes = grid(8, 8)
    return label_world(codes, seen_by_chance(codes, 0.6, rng), two_classes(additive(codes, rng, 1.5) - 3), rng)


def triple_block(rng: Rng) -> AuditWorld:
    """Three of four factors interact, and their triples are missing whole."""
    codes = grid(4, 4, 4, 3)
    mean = additive(codes, rng) + of_cell(codes, rng, 0, 1, 2, spread=0.8)
    return number_world(codes, seen_by_block(codes, 0.7, rng, 0, 1, 2, within=0.9), mean, rng, noise=0.3)


def uneven_blocks(rng: Rng) -> AuditWorld:
    """Pairs are missing whole, and those that are seen are seen in one to eight values of the third factor."""
    codes = grid(6, 6, 8)
    mean = additive(codes, rng) + of_cell(codes, rng, 0, 1, spread=0.7)
    chance = rng.choice([0.0, 0.15, 0.5, 1.0], size=36, p=[0.3, 0.2, 0.3, 0.2])[together(codes, 0, 1)]
    return number_world(codes, seen_by_chance(codes, chance, rng), mean, rng, noise=0.4)


def part_cluster(rng: Rng) -> AuditWorld:
    """Values of the first factor come in three clusters, which interact with the second; of a cluster some are held."""
    codes = grid(9, 6)
    cluster = np.stack([codes[:, 0] // 3, codes[:, 1]], axis=1)
    mean = additive(codes, rng) + of_cell(cluster, rng, 0, 1, spread=0.8)
    held = rng.random(18)[together(cluster, 0, 1)] < 0.6
    chance = np.where(held, np.where(codes[:, 0] % 3 == 0, 1.0, 0.2), 0.9)
    return number_world(codes, seen_by_chance(codes, chance, rng), mean, rng, noise=0.3)


def autocorrelated(rng: Rng) -> AuditWorld:
    """The first factor is a time of day: what does not add up changes slowly along it."""
    codes = grid(12, 5)
    walk = np.empty((12, 5))
    walk[0] = rng.standard_normal(5)
    for step in range(1, 12):
        walk[step] = 0.85 * walk[step - 1] + np.sqrt(1 - 0.85**2) * rng.standard_normal(5)
    mean = additive(codes, rng) + 0.7 * walk[codes[:, 0], codes[:, 1]]
    return number_world(codes, seen_by_chance(codes, 0.6, rng), mean, rng, noise=0.3)


def skewed_counts(rng: Rng) -> AuditWorld:
    """Overdispersed counts, many of them 0."""
    codes = grid(8, 8)
    mean = np.exp(0.5 + additive(codes, rng, 0.6))
    return number_world(
        codes,
        seen_by_chance(codes, 0.6, rng),
        mean,
        rng,
        noise=lambda rows, fresh: fresh.poisson(mean[rows] * fresh.gamma(1.5, 1 / 1.5, len(rows))) - mean[rows],
        rows=rng.integers(3, 12, 64),
    )


def rare_class(rng: Rng) -> AuditWorld:
    """Four classes, of which one wins seldom and one never is sure."""
    codes = grid(5, 6, 4)
    scores = np.stack([additive(codes, rng) + shift for shift in (0.8, 0.3, 0.0, -1.6)], axis=1)
    best = np.eye(4)[scores.argmax(axis=1)]
    return label_world(codes, seen_by_chance(codes, 0.5, rng), 0.85 * best + 0.15 / 4, rng)


def mixed_missing(rng: Rng) -> AuditWorld:
    """Two factors interact; some pairs are missing whole, and as many single combinations elsewhere."""
    codes = grid(6, 5, 5)
    mean = additive(codes, rng) + of_cell(codes, rng, 0, 1, spread=0.8)
    return number_world(codes, seen_by_block(codes, 0.82, rng, 0, 1, within=0.78), mean, rng, noise=0.3)


def one_row(rng: Rng) -> AuditWorld:
    """One row a combination, so nothing tells noise from interaction."""
    codes = grid(9, 9)
    mean = additive(codes, rng) + rng.normal(0, 0.4, len(codes))
    return number_world(codes, seen_by_chance(codes, 0.5, rng), mean, rng, rows=np.ones(81, dtype=np.int64))


def blocks_add_up(rng: Rng) -> AuditWorld:
    """Pairs are missing whole, but effects add up: what is held out by blocks must not look worse than it is."""
    codes = grid(5, 5, 5)
    return number_world(codes, seen_by_block(codes, 0.7, rng, 0, 1), additive(codes, rng), rng)


def label_blocks(rng: Rng) -> AuditWorld:
    """Labels of pairs that are missing whole, half of which follow no rule."""
    codes = grid(6, 6, 4)
    logits = additive(codes, rng, 1.2) + of_cell(codes, rng, 0, 1, spread=1.5)
    return label_world(codes, seen_by_block(codes, 0.7, rng, 0, 1), two_classes(2 * logits), rng)


def mnar_tail(rng: Rng) -> AuditWorld:
    """Combinations that came out far from the rule were thrown away as outliers."""
    codes = grid(7, 8)
    apart = 0.8 * rng.standard_t(4, len(codes))
    seen = seen_by_chance(codes, np.where(np.abs(apart) < 0.9, 0.85, 0.05), rng)
    return number_world(codes, seen, additive(codes, rng) + apart, rng, noise=0.3)


def large_mult(rng: Rng) -> AuditWorld:
    """Effects multiply, in a table large enough to tell so."""
    codes = grid(14, 16)
    return number_world(codes, seen_by_chance(codes, 0.6, rng), np.exp(additive(codes, rng, 0.5)), rng, noise=0.1)


def one_product(rng: Rng) -> AuditWorld:
    """Effects add up, and one number of each value multiplies."""
    codes = grid(14, 16)
    mean = additive(codes, rng) + rng.standard_normal(14)[codes[:, 0]] * rng.standard_normal(16)[codes[:, 1]]
    return number_world(codes, seen_by_chance(codes, 0.6, rng), mean, rng, noise=0.3)


def large_gated(rng: Rng) -> AuditWorld:
    """Half of the values of the first factor let the second one count, half the third."""
    codes = grid(4, 7, 7)
    second, third = (rng.standard_normal(7)[codes[:, k]] for k in (1, 2))
    return number_world(
        codes, seen_by_chance(codes, 0.6, rng), np.where(codes[:, 0] < 2, second, third), rng, noise=0.3
    )


def stand_ins(rng: Rng) -> AuditWorld:
    """Twelve values of three kinds: those of one kind answer alike everywhere, and nothing adds up."""
    codes = grid(12, 12)
    mean = rng.standard_normal((3, 12))[rng.integers(0, 3, 12)[codes[:, 0]], codes[:, 1]]
    return number_world(codes, seen_by_chance(codes, 0.6, rng), mean, rng, noise=0.3)


PLANTED: Mapping[str, Plant] = {
    plant.__name__: plant
    for plant in (
        *(hetero, t3, count, mult, gated, nested, domin, zipf, mnar_high, mnar_easy, noise, xor_num, few, many),
        *(pairint, pairheld, logit, logit_mnar_easy, argmax3, xor, randtable, fewlabel, rare),
    )
}
NEW: Mapping[str, Plant] = {
    plant.__name__: plant
    for plant in (
        *(triple_block, uneven_blocks, part_cluster, autocorrelated, skewed_counts, rare_class, mixed_missing),
        *(one_row, blocks_add_up, label_blocks, mnar_tail, large_mult, one_product, large_gated, stand_ins),
    )
}
CHOSEN_BY_ANSWER = ("mnar_high", "mnar_easy", "logit_mnar_easy", "mnar_tail")
"""Families whose seen combinations were chosen by their answer or by their error: no test on them can know it all."""
