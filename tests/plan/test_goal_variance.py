"""The goal "variance": gains equal dense conditioning, and the greedy plan keeps its promise."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import recombine
from recombine.base.errors import SettingError
from recombine.verbs.plan.choice import first_best
from recombine.verbs.plan.goal_variance import Posterior
from recombine.verbs.predict.kernel.salience import Salience
from tests.plan.test_goal_determined import chosen
from tests.plan.twins import conditioned
from tests.properties import examples
from tests.twins import digits, every, numbers, support_of, supports

WEIGHTS = {2: (0.1, 0.3, 0.3, 0.2), 3: (0.1, 0.2, 0.2, 0.1, 0.2, 0.1, 0.1, 0.15)}


def salience(factors: int, noise: float) -> Salience:
    return Salience(factors, WEIGHTS[factors], noise)


def told(codes, seen, counts, picked, weights, noise) -> float:
    """How much some combinations tell about the answers, by determinants: ½ log det(I + K / noise)."""
    if not picked:
        return 0.0
    if noise == 0:  # the full set's weight plays its part
        weights, counts, noise = (*weights[:-1], 0.0), np.ones_like(counts), weights[-1]
    after = conditioned(codes, seen, weights, noise / counts)
    block = after[np.ix_(picked, picked)]
    return 0.5 * float(np.linalg.slogdet(np.eye(len(picked)) + block / noise)[1])


@examples(50)
@given(supports(most_factors=3, most_values=4), st.sampled_from([0.0, 0.3]))
def test_gains_equal_dense_conditioning(support, noise) -> None:
    factors = len(support.space.sizes)
    weights = WEIGHTS[factors]
    plan = recombine.plan(support, goal="variance", salience=salience(factors, noise), budget=5)
    codes = every(support.space.sizes)
    place = {tuple(row): k for k, row in enumerate(codes.tolist())}
    seen = [place[tuple(row)] for row in support.codes.tolist()]
    picked = [place[tuple(row)] for row in chosen(plan).tolist()]
    information = np.cumsum(plan.table["information"].to_pylist())
    for lines, found in enumerate(information, start=1):
        assert found == pytest.approx(told(codes, seen, support.counts, picked[:lines], weights, noise), abs=1e-8)
        known = [*seen, *picked[:lines]]
        counts = np.concatenate([support.counts, np.ones(lines)])
        variance = np.diag(conditioned(codes, known, weights, noise / counts + (1e-12 if noise == 0 else 0)))
        rest = np.setdiff1d(np.arange(len(codes)), known)
        after = plan.lines[lines - 1].after
        assert (after is None) == (not len(rest))
        if len(rest):
            assert after == pytest.approx(variance[rest].mean(), abs=1e-7)


@examples(30)
@given(supports(most_factors=2, most_values=3), st.sampled_from([0.0, 0.5]))
def test_the_guarantee_holds_against_all_sets(support, noise) -> None:
    size = 3
    plan = recombine.plan(support, goal="variance", salience=salience(2, noise), budget=size)
    codes = every(support.space.sizes)
    place = {tuple(row): k for k, row in enumerate(codes.tolist())}
    seen = [place[tuple(row)] for row in support.codes.tolist()]
    rest = [k for k in range(len(codes)) if k not in seen]
    value = [
        told(codes, seen, support.counts, list(picked), WEIGHTS[2], noise)
        for picked in itertools.combinations(rest, min(size, len(rest)))
    ]
    assert sum(plan.table["information"].to_pylist()) >= (1 - 1 / math.e) * max(value, default=0.0) - 1e-9


@examples(30)
@given(st.data())
def test_the_guarantee_holds_with_prices(data) -> None:
    support = data.draw(supports(most_factors=2, most_values=3))
    codes = every(support.space.sizes)
    price = data.draw(st.lists(st.sampled_from([0.2, 1.0, 2.5]), min_size=len(codes), max_size=len(codes)))
    costs = [{"f0": int(a), "f1": int(b), "cost": cost} for (a, b), cost in zip(codes, price, strict=True)]
    plan = recombine.plan(support, goal="variance", salience=salience(2, 0.4), budget=3, costs=costs)
    place = {tuple(row): k for k, row in enumerate(codes.tolist())}
    seen = [place[tuple(row)] for row in support.codes.tolist()]
    rest = [k for k in range(len(codes)) if k not in seen]
    sets = [list(s) for n in range(len(rest) + 1) for s in itertools.combinations(rest, n)]
    best = max(
        told(codes, seen, support.counts, s, WEIGHTS[2], 0.4) for s in sets if sum(price[k] for k in s) <= 3 + 1e-9
    )
    assert plan.curve[-1].spent <= 3 + 1e-9
    assert sum(plan.table["information"].to_pylist()) >= 0.5 * (1 - 1 / math.e) * best - 1e-9


def unseen_of(support):
    codes = every(support.space.sizes)
    return codes[support.groups(range(codes.shape[1])).lookup(codes) < 0]


@given(supports(most_factors=3, most_values=4))
def test_covariances_with_a_free_intercept(support) -> None:
    factors = len(support.space.sizes)
    free = Salience(factors, (math.inf, *WEIGHTS[factors][1:]), 0.3)
    near = Salience(factors, (1e4, *WEIGHTS[factors][1:]), 0.3)
    codes = unseen_of(support)
    if not len(codes):
        return
    one = codes[-1]
    exact = Posterior(support, free, 0.0, 0).covariance(codes, one)
    np.testing.assert_allclose(exact, Posterior(support, near, 0.0, 0).covariance(codes, one), atol=1e-3)


def test_many_seen_combinations_are_solved_alike() -> None:
    rng = np.random.default_rng(0)
    support = support_of(rng.integers(0, 60, size=(2500, 2)), sizes=(60, 60))
    posterior = Posterior(support, salience(2, 0.3), 0.0, 0)
    assert len(support) > 1_500
    asked = unseen_of(support)[:50]
    codes = np.concatenate([support.codes, asked])
    dense = conditioned(codes, list(range(len(support))), WEIGHTS[2], 0.3 / support.counts)[len(support) :, -1]
    found = posterior.covariance(asked, asked[-1])
    np.testing.assert_allclose(found[:-1], dense[:-1], atol=1e-8)


def test_a_learner_that_believes_everything_is_refused() -> None:
    with pytest.raises(SettingError, match="without noise and without weight on the full combination") as error:
        recombine.plan(digits("00 01"), goal="variance", salience="order:0,0.5,0")
    assert "--ridge 0.1" in error.value.instead
    assert recombine.plan(digits("00 01 10"), goal="variance", salience="order:0,0.5,0", ridge=0.1).table.num_rows == 1


def test_fitting_needs_a_target() -> None:
    with pytest.raises(SettingError, match="salience='fit' without a target"):
        recombine.plan(digits("00 01 10"), goal="variance", salience="fit")
    rng = np.random.default_rng(0)
    codes = every((6, 6))[::2]
    fitted = recombine.plan(numbers(codes, codes.sum(axis=1) + rng.normal(size=18)), goal="variance", salience="fit")
    assert fitted.table.num_rows == 6 * 5 - 18


def test_it_says_what_stands_in_for_the_noise() -> None:
    plan = recombine.plan(digits("00 01 10"), goal="variance")
    assert any("allows for no noise" in reason for reason in plan.reasons)
    assert 0 < recombine.plan(digits("00 01 12"), goal="variance", budget=1).share("explained") < 1


def test_what_is_equal_but_for_rounding_is_chosen_in_order() -> None:
    """Otherwise a plan would change with the number of threads that the algebra runs on."""
    worth = np.array([0.1, 0.3, 0.1 + 0.2, 0.3 * (1 + 1e-12)])
    assert [first_best(worth), first_best(worth[::-1])] == [1, 0]
    assert first_best(np.array([-np.inf, -np.inf, 0.0])) == 2
    assert first_best(np.array([1.0, 1.0 + 1e-6])) == 1


def test_a_budget_for_everything_sells_what_a_smaller_one_sells() -> None:
    """What cannot be collected may be what varies most: held beside all of today, everything else would seem idle."""
    seen, barred = ["00", "13", "20", "02", "24", "11", "03", "14", "22"], ["04", "01", "21"]
    table = {"a": [one[0] for one in seen], "b": [one[1] for one in seen]}
    costs = [{"a": one[0], "b": one[1], "cost": None} for one in barred]
    found = [
        recombine.plan(table, factors=["a", "b"], goal="variance", budget=budget, costs=costs) for budget in (2, 3, 50)
    ]
    few, most, more = (one.table.select(["a", "b"]).to_pylist() for one in found)
    assert [len(few), len(most)] == [2, 3]
    assert most[:2] == few
    assert more == most


def test_the_most_uncertain_are_worth_collecting_though_they_tell_of_no_other() -> None:
    """Two values of b, and a alone matters: an unseen combination tells of itself, and some values of a are rare."""
    rows = {"a0": 1, "a1": 1, "c": 900, **{f"a{k}": 60 for k in range(2, 20)}}
    table = {"a": [a for a, many in rows.items() for _ in range(many)], "b": ["x"] * sum(rows.values())}
    table = {"a": [*table["a"], *["c"] * 900], "b": [*table["b"], *["y"] * 900]}
    plan = recombine.plan(table, factors=["a", "b"], goal="variance", salience="order:0,0.5,0", ridge=0.1, budget=2)
    assert plan.table.column("a").to_pylist() == ["a0", "a1"]
