"""Plans for leverage on random tables, with prices, impossible conjunctions and budgets, against a brute force."""

import math

import numpy as np
import pytest

import recombine
from recombine.data.space import Space
from recombine.data.support import Support
from tests.twins import every, one_hot, support_of


def world(seed: int) -> tuple[Support, list[dict[str, object]], float | None]:
    """A random table of two or three factors, lines of costs, and a budget."""
    rng = np.random.default_rng(seed)
    sizes = tuple(rng.integers(2, 6, size=int(rng.integers(2, 4))).tolist())
    codes = every(sizes)
    rows = codes[np.sort(rng.permutation(len(codes))[: int(rng.integers(1, min(len(codes), 12) + 1))])]
    plain = support_of(rows, sizes=sizes)
    patterns = set()
    for _ in range(int(rng.integers(0, 3))):
        row = [-1] * len(sizes)
        for k in rng.permutation(len(sizes))[: int(rng.integers(1, len(sizes) + 1))].tolist():
            row[k] = int(rng.integers(sizes[k]))
        if not Space(plain.space.factors, (tuple(row),)).is_impossible(plain.codes).any():
            patterns.add(tuple(row))
    support = Support(Space(plain.space.factors, tuple(sorted(patterns))), plain.codes, plain.counts, rows=plain.rows)
    costs = [
        {
            f.name: None if rng.random() < 0.5 else f.values[int(rng.integers(len(f.values)))]
            for f in plain.space.factors
        }
        | {"cost": [0.5, 1, 2, 3.5, None, None][int(rng.integers(6))]}
        for _ in range(int(rng.integers(0, 4)))
    ]
    return support, costs, [None, 2.0, 6.0, 20.0][int(rng.integers(4))]


def leverages(support: Support, more: np.ndarray) -> np.ndarray:
    """The leverage of everything possible that is unseen once some more are seen; infinite where undetermined."""
    sizes = support.space.sizes
    held = np.concatenate([support.codes, more]).astype(int)
    seen = {tuple(row) for row in held.tolist()}
    codes = every(sizes)
    unseen = codes[[tuple(row) not in seen for row in codes.tolist()] & ~support.space.is_impossible(codes)]
    design, asked = one_hot(held, sizes), one_hot(unseen, sizes)
    inverse = np.linalg.pinv(design)
    apart = np.abs(asked - asked @ inverse @ design).max(axis=1, initial=0.0)
    return np.where(apart < 1e-8, (asked @ inverse @ inverse.T * asked).sum(axis=1), np.inf)


def promised(support: Support, more: np.ndarray, *, blocked: bool) -> float | None:
    """The worst leverage; of what can be worked out where the rest never can be, and nothing without a bound."""
    found = leverages(support, more)
    found = found[np.isfinite(found)] if blocked else found
    return float(found.max()) if len(found) and np.isfinite(found.max()) else None


@pytest.mark.parametrize("block", range(8))
def test_what_a_plan_for_leverage_promises_is_what_brute_force_finds(block) -> None:
    """One of 500 promised 2.0 where brute force finds infinity: some of it could never be worked out."""
    for seed in range(50 * block, 50 * (block + 1)):
        support, costs, budget = world(seed)
        plan = recombine.plan(support, goal="leverage", budget=budget, costs=costs or None)
        codes = support.space.encode([tuple(line.combination.values()) for line in plan.lines])
        codes = codes.reshape(-1, len(support.space.sizes))
        blocked = plan.blocked is not None
        assert blocked == (plan.measure.name == "worst leverage of what can be worked out")
        for place, told in enumerate([plan.measure.today, *(line.after for line in plan.lines)]):
            true = promised(support, codes[:place], blocked=blocked)
            if told is not None or not blocked:  # of a blocked one a figure may be left out, never wrong
                assert told == (None if true is None else pytest.approx(true, abs=1e-6)), (seed, place)
        if not math.isnan(plan.share("firm")):
            worth = 1 / np.maximum(leverages(support, codes), 1.0)
            assert plan.share("firm") == pytest.approx(worth.mean() if len(worth) else 1.0, abs=1e-6), seed


@pytest.mark.slow
@pytest.mark.parametrize("goal", ["determined", "pairs", "leverage", "variance", "balance"])
def test_nothing_is_sold_that_buys_nothing(goal) -> None:
    for seed in range(60):
        support, costs, budget = world(seed)
        if goal == "balance" and any(line["cost"] is None for line in costs):
            continue
        plan = recombine.plan(support, goal=goal, budget=budget, costs=costs or None)
        bought = [line.after for line in plan.lines]
        if bought and None not in (plan.measure.today, bought[-1]) and goal not in ("leverage", "balance"):
            better = bought[-1] > plan.measure.today if plan.measure.better == "higher" else True
            assert better, (seed, plan.verdict)
        for figure in (f"from {n} to {n}" for n in ("0", "1", "1.01", "2", "3")):
            assert f"{figure} " not in plan.verdict + " ", (seed, plan.verdict)
            assert f"{figure}." not in plan.verdict, (seed, plan.verdict)
