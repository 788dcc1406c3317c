"""Of the smallest plans the one that serves a network: a stair, not an L; and how plausible its lines are."""

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given

import recombine
from recombine.base.progress import silent
from recombine.verbs.plan.collectable import Collectable, Costs
from recombine.verbs.plan.goal_determined import plan_determined
from recombine.verbs.plan.plausibility import Plausibility
from tests.plan.twins import brute_cheapest, brute_price, tables
from tests.properties import examples
from tests.twins import every, support_of

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from shapes import STAIR, L, by_kernel, least_squares, planned

GRID = (5, 5)


@pytest.mark.parametrize(("salience", "noise"), [("relu:3", 0.0), ("relu:3", 0.5), ("relu:5", 0.0), ("relu:2", 0.5)])
def test_a_stair_serves_deep_kernels_and_an_l_least_squares(salience, noise) -> None:
    assert by_kernel(np.array(STAIR), GRID, salience, noise) < by_kernel(np.array(L), GRID, salience, noise)
    assert least_squares(np.array(L), GRID, 1.0) == pytest.approx(3.0)
    assert least_squares(np.array(STAIR), GRID, 1.0) == pytest.approx(4.75)


def test_the_closed_form_is_what_happens_on_average() -> None:
    from recombine.verbs.predict.kernel.salience_fit import resolve  # noqa: PLC0415
    from tests.twins import brute_kernel  # noqa: PLC0415

    rng = np.random.default_rng(0)
    seen = np.array(STAIR)
    codes = every(GRID)
    rest = codes[[tuple(row) not in set(STAIR) for row in codes.tolist()]]
    weights = resolve("relu:3", support_of(seen, sizes=GRID), seed=0).weights
    errors = []
    for _ in range(4000):
        a, b = rng.standard_normal((2, 5))
        told = a[seen[:, 0]] + b[seen[:, 1]] + 0.5 * rng.standard_normal(len(seen))
        guess = brute_kernel(rest, seen, weights) @ np.linalg.solve(brute_kernel(seen, seen, weights), told)
        errors.append(np.mean((guess - a[rest[:, 0]] - b[rest[:, 1]]) ** 2))
    assert by_kernel(seen, GRID, "relu:3", 0.5) == pytest.approx(np.mean(errors), rel=0.05)


def test_the_default_plan_of_an_empty_grid_is_a_stair() -> None:
    first = support_of([[0, 0]], sizes=GRID)
    seen = planned(first, spread=True)
    assert len(seen) == 9
    assert max(np.bincount(seen[:, k]).max() for k in (0, 1)) == 2
    assert np.bincount(planned(first, spread=False)[:, 0]).max() == 5
    assert "spreads over the values" in recombine.plan(first).reasons[0]


@examples(60)
@given(tables())
def test_a_spread_plan_is_as_small_and_as_cheap_as_any(support) -> None:
    for spread in (False, True):
        choice = plan_determined(
            Collectable(support, Costs.of(None, support.space)), budget=None, seed=0, tell=silent, spread=spread
        )
        price = brute_price(every(support.space.sizes), support, [])
        assert (len(choice.codes), float(choice.prices.sum())) == brute_cheapest(support, price)


def clustered(seed: int, *, kept: float = 0.6) -> tuple[recombine.Support, np.ndarray]:
    """States of animals and states of tools, each with most of its own things; and what never goes together."""
    rng = np.random.default_rng(seed)
    codes = every((12, 12))
    inside = (codes[:, 0] < 6) == (codes[:, 1] < 6)
    seen = codes[inside & (rng.random(len(codes)) < kept)]
    return support_of(seen, sizes=(12, 12)), codes


@pytest.mark.parametrize("seed", range(5))
def test_a_dull_cat_is_less_plausible_than_a_wet_one(seed) -> None:
    support, codes = clustered(seed)
    unseen = codes[support.groups([0, 1]).lookup(codes) < 0]
    inside = (unseen[:, 0] < 6) == (unseen[:, 1] < 6)
    found = Plausibility(support).of(unseen)
    assert (found[inside][:, None] > found[~inside]).mean() > 0.95
    plan = recombine.plan(support, goal="pairs")
    first = np.array([[int(v) for v in line.combination.values()] for line in plan.lines[: int(inside.sum())]])
    assert ((first[:, 0] < 6) == (first[:, 1] < 6)).mean() > 0.85
    assert plan.table["plausibility"].to_pylist() == sorted(plan.table["plausibility"].to_pylist(), reverse=True)
    assert "plausibility" not in recombine.plan(support, goal="pairs", plausible=False).table.column_names


def test_the_plausibility_of_random_pairs_tells_nothing() -> None:
    """What was held out at random from a table without structure ranks no higher than what was never there."""
    ranks = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        codes = every((12, 12))[rng.permutation(144)]
        found = Plausibility(support_of(codes[20:80], sizes=(12, 12)))
        held, never = found.of(codes[:20]), found.of(codes[80:])
        ranks.append((held[:, None] > never).mean() + 0.5 * (held[:, None] == never).mean())
    assert np.mean(ranks) == pytest.approx(0.5, abs=0.05)
