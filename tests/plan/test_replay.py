"""A replay of the past: honest on tables where order matters, and where it cannot."""

import numpy as np
import pytest

import recombine
from recombine.base.errors import SettingError
from tests.twins import digits, every, numbers, support_of


def islands() -> np.ndarray:
    """Many small islands, and one row that joins each to the largest: the order of joining is all that counts."""
    blocks = [[3 * b + i, 3 * b + j] for b in range(8) for i in range(3) for j in range(3)]
    return np.array(blocks + [[0, 3 * b] for b in range(1, 8)])


def test_an_order_that_joins_islands_beats_chance() -> None:
    plan = recombine.plan(support_of(islands()), replay=True, seed=1)
    found = plan.replay
    assert found.area_low > 0
    assert found.said.startswith("The plan's order was better than chance on this table's own past: after")
    assert found.said in plan.reasons
    assert found.planned[-1] >= found.random[-1]
    assert len(found.collected) == len(found.planned) == len(found.low) == len(found.high)
    assert (found.start + found.pool, found.draws) == (79, 20)


def test_where_order_cannot_matter_it_says_so() -> None:
    plan = recombine.plan(support_of(every((5, 5))), goal="pairs", replay=True)
    assert plan.replay.area == 0.0
    assert plan.replay.said.startswith("The plan's order was not clearly better than chance")


def test_three_factors_cover_pairs_sooner() -> None:
    plan = recombine.plan(support_of(every((4, 4, 4))), goal="pairs", replay=True)
    assert plan.replay.area_low > 0


def test_leverage_falls_sooner() -> None:
    rng = np.random.default_rng(0)
    codes = every((12, 12))[rng.permutation(144)[:70]]
    found = recombine.plan(support_of(codes, sizes=(12, 12)), goal="leverage", replay=True).replay
    assert found.better == "lower"
    assert found.area_low > 0
    low, mean, high = np.array(found.low), np.array(found.random), np.array(found.high)
    assert (low <= mean + 1e-9).all()
    assert (mean <= high + 1e-9).all()


def test_variance_is_judged_on_what_no_order_may_collect() -> None:
    rng = np.random.default_rng(0)
    codes = every((10, 10))[rng.permutation(100)[:60]]
    without = recombine.plan(support_of(codes, sizes=(10, 10)), goal="variance", replay=True).replay
    assert without.measure == "mean variance of combinations set aside"
    assert without.start + without.pool < 60
    effects = rng.normal(size=(2, 10))
    answers = effects[0, codes[:, 0]] + effects[1, codes[:, 1]]
    table = numbers(codes, answers, sizes=(10, 10))
    found = recombine.plan(table, goal="variance", replay=True, seed=2).replay
    assert found.measure == "root mean squared error on combinations set aside"
    assert found.planned[-1] < found.planned[0]


def test_an_order_that_is_worse_is_called_worse() -> None:
    from recombine.verbs.plan.replay import LearnerSettings, _past, _Replayer, _summary  # noqa: PLC0415

    past = _past(support_of(islands()), "determined", np.random.default_rng(0))
    replayed = _Replayer("determined", LearnerSettings("relu:3", 0.0), 0)
    draws = np.full((20, 3), 0.9) + np.linspace(0, 0.01, 20)[:, None]
    found = _summary(replayed, past, [0, 1, 2], np.full(3, 0.2), draws, thinned=True)
    assert found.said.startswith(
        "The plan's order was worse than chance on this table's own past (a random part of it)"
    )


def test_the_next_random_order_lies_within_the_range() -> None:
    """The plain quantiles of twenty orders hold the twenty-first in 86 % of the cases."""
    from recombine.verbs.plan.replay import DRAWS, LearnerSettings, _past, _Replayer, _summary  # noqa: PLC0415

    past = _past(support_of(every((4, 4, 4))), "pairs", np.random.default_rng(0))
    replayed, rng = _Replayer("pairs", LearnerSettings("relu:3", 0.0), 0), np.random.default_rng(1)
    grid = [0, 4, 8, 12]
    drawn = np.stack([replayed.along(past, rng.permutation(len(past.pool)), grid) for _ in range(200 * (DRAWS + 1))])
    inside, plain = [], []
    for *draws, following in drawn.reshape(200, DRAWS + 1, len(grid)):
        found = _summary(replayed, past, grid, draws[0], np.stack(draws), thinned=False)
        inside.append(found.low[2] <= following[2] <= found.high[2])
        low, high = np.quantile(np.stack(draws)[:, 2], [0.025, 0.975])
        plain.append(low <= following[2] <= high)
    assert np.mean(inside) >= 0.92
    assert np.mean(plain) < 0.92


def test_too_little_past_is_refused() -> None:
    with pytest.raises(SettingError, match="a replay of 3 combinations"):
        recombine.plan(digits("00 01 10"), replay=True)
