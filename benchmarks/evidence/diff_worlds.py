"""Pairs of results for `diff`: only the noise was drawn anew, another model is as good, or something did get worse."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from evidence import audit_worlds, evaluate_worlds
from evidence.counted_tables import audit_of, evaluation_of
from evidence.drawing import AuditWorld, EvaluateWorld, Rng, additive, grid, value_columns


@dataclass(frozen=True, eq=False)
class Compared:
    """Two results, the older first, and whether the newer is truly worse.

    `difference` is the true one of the scores, on every side; None where it is not known.
    """

    old: Any
    new: Any
    worse: bool = False
    difference: float | None = None


Compare = Callable[[Rng], Compared]


def audits(rng: Rng, *, plant: Callable[[Rng], AuditWorld]) -> Compared:
    """One world and one support; the rows are drawn twice."""
    world = plant(rng)
    places = np.flatnonzero(world.seen)
    return Compared(*(audit_of(world.table(*world.sample(places, rng)), world.factors) for _ in range(2)))


def resample(rng: Rng) -> Compared:
    """300 rows from one Zipf law, twice: combinations come and go."""
    codes = grid(7, 8)
    mean = additive(codes, rng) + rng.normal(0, 0.3, 56)
    often = (1.0 + codes[:, 0]) ** -1.2 * (1.0 + codes[:, 1]) ** -1.2
    found = []
    for _ in range(2):
        rows = rng.choice(56, 300, p=often / often.sum())
        answers = mean[rows] + 0.5 * rng.standard_normal(300)
        found.append(audit_of(value_columns(codes[rows]) | {"y": answers.tolist()}, ["a", "b"]))
    return Compared(*found)


def broken_rule(rng: Rng) -> Compared:
    """Effects that added up, and now do so no more: each combination has a surprise of its own."""
    codes = grid(7, 8)
    world = audit_worlds.hetero(rng)
    places = np.flatnonzero(world.seen)
    surprise = rng.normal(0, 1.5, len(codes))
    old = audit_of(world.table(*world.sample(places, rng)), world.factors)
    combination, values = world.sample(places, rng)
    return Compared(old, audit_of(world.table(combination, values + surprise[combination]), world.factors), worse=True)


def evaluations(rng: Rng, *, plant: Callable[[Rng], EvaluateWorld], drop: float = 0.0) -> Compared:
    """One model tested twice on fresh rows, or once more after it got worse by `drop` everywhere."""
    world = plant(rng)
    later = world if world.right is None else replace(world, right=np.clip(world.right - drop, 0, 1))
    tables = [one.table(rng) for one in (world, later)]
    both = (evaluation_of(table, world.factors) for table in tables)
    return Compared(*both, worse=drop > 0, difference=None if drop else 0.0)


def other_model(rng: Rng, *, plant: Callable[[Rng], EvaluateWorld], by: tuple[int, ...] = ()) -> Compared:
    """Two models that are equally good. Each has luck of its own in every combination, or in every cell of `by`."""
    world = plant(rng)
    cells = by or range(world.codes.shape[1])
    later = replace(world, right=evaluate_worlds.of_blocks(world.codes, world.unseen, rng, *cells))
    tables = [one.table(rng) for one in (world, later)]
    return Compared(*(evaluation_of(table, world.factors) for table in tables), difference=0.0)


UNCHANGED: Mapping[str, Compare] = {
    "audit resample": resample,
    **{
        f"audit {name}": partial(audits, plant=audit_worlds.PLANTED[name])
        for name in ("hetero", "logit", "t3", "nested", "domin", "pairheld")
    },
    **{
        f"audit {name}": partial(audits, plant=audit_worlds.NEW[name])
        for name in ("one_row", "rare_class", "mixed_missing")
    },
    **{f"evaluate {name}": partial(evaluations, plant=evaluate_worlds.PLANTED[name]) for name in ("iid", "few_unseen")},
    **{
        f"evaluate {name}": partial(evaluations, plant=evaluate_worlds.NEW[name])
        for name in ("uneven_pairs", "one_row_each")
    },
    "other model iid": partial(other_model, plant=evaluate_worlds.iid),
    "other model pair_block": partial(other_model, plant=evaluate_worlds.pair_block, by=(0, 1)),
    "other model uneven_pairs": partial(other_model, plant=evaluate_worlds.uneven_pairs, by=(0, 1)),
    "other model triple_held": partial(other_model, plant=evaluate_worlds.triple_held, by=(0, 1, 2)),
}
WORSE: Mapping[str, Compare] = {
    "audit broken_rule": broken_rule,
    "evaluate iid, 5 points": partial(evaluations, plant=evaluate_worlds.iid, drop=0.05),
    "evaluate iid, 10 points": partial(evaluations, plant=evaluate_worlds.iid, drop=0.10),
    "evaluate iid, 20 points": partial(evaluations, plant=evaluate_worlds.iid, drop=0.20),
    "evaluate few_unseen, 10 points": partial(evaluations, plant=evaluate_worlds.few_unseen, drop=0.10),
    "evaluate uneven_pairs, 10 points": partial(evaluations, plant=evaluate_worlds.uneven_pairs, drop=0.10),
}
