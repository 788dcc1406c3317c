"""The goals "pairs" and "triples": complete, counted anew, and no larger than what a library offers."""

import itertools

import numpy as np
import pytest
from covertable import make
from hypothesis import given
from hypothesis import strategies as st

import recombine
from recombine.base.errors import SettingError
from recombine.verbs.plan.collectable import Collectable, Costs
from recombine.verbs.plan.goal_covering import Conjunctions, RowBuilder, without_redundant
from tests.plan.test_goal_determined import chosen
from tests.plan.twins import brute_price, conjunctions, possible, priced, tables
from tests.properties import examples
from tests.twins import every, support_of

ORDER = {"pairs": 2, "triples": 3}


@pytest.mark.parametrize(
    ("sizes", "goal"),
    [
        ((2,) * 4, "pairs"),
        ((2,) * 4, "triples"),
        ((4,) * 6, "pairs"),
        pytest.param((4,) * 6, "triples", marks=pytest.mark.slow),
        pytest.param((5,) * 10, "pairs", marks=pytest.mark.slow),
    ],
)
def test_every_conjunction_is_covered_with_no_more_rows_than_a_library(sizes, goal) -> None:
    support = support_of([[0] * len(sizes)], sizes=sizes)
    plan = recombine.plan(support, goal=goal)
    order = ORDER[goal]
    covered = conjunctions(np.concatenate([support.codes, chosen(plan)]), order)
    assert len(covered) == sum(np.prod([sizes[k] for k in c]) for c in itertools.combinations(range(len(sizes)), order))
    assert plan.reached
    assert plan.share(goal) == 1.0
    theirs = make([list(range(size)) for size in sizes], strength=order)
    assert plan.table.num_rows <= len(theirs)


@pytest.mark.slow
def test_twenty_factors() -> None:
    support = support_of([[0] * 20], sizes=(4,) * 20)
    plan = recombine.plan(support, goal="pairs")
    assert len(conjunctions(np.concatenate([support.codes, chosen(plan)]), 2)) == 190 * 16
    assert plan.table.num_rows <= 40


@pytest.mark.slow
@examples(30)
@given(st.data())
def test_what_stays_open_is_what_cannot_be_covered(data) -> None:
    support = data.draw(tables(most_factors=4, most_values=4))
    costs = data.draw(priced(support))
    codes = every(support.space.sizes)
    price = brute_price(codes, support, costs)
    for goal in ("pairs", "triples")[: len(support.space.sizes) - 1]:
        plan = recombine.plan(support, goal=goal, costs=costs)
        order = ORDER[goal]
        reachable = conjunctions(np.concatenate([support.codes, codes[np.isfinite(price)]]), order)
        wanted = conjunctions(possible(support), order)
        found = conjunctions(np.concatenate([support.codes, chosen(plan)]), order)
        assert found == reachable
        assert plan.reached == (reachable == wanted) == (plan.blocked is None)
        assert plan.measure.full == len(wanted)
        assert plan.curve[-1].value == len(reachable)
        assert all(line.gain >= 1 for line in plan.lines)
        if plan.blocked:
            assert plan.blocked.count == len(wanted - reachable)


@examples(15)
@given(tables(most_factors=4, most_values=3))
def test_no_row_is_idle(support) -> None:
    order = 2
    plan = recombine.plan(support, goal="pairs")
    codes = chosen(plan)
    whole = conjunctions(np.concatenate([support.codes, codes]), order)
    for left_out in range(len(codes)):
        rest = np.delete(codes, left_out, axis=0)
        assert conjunctions(np.concatenate([support.codes, rest]), order) != whole


def test_two_factors_need_every_combination() -> None:
    plan = recombine.plan(support_of([[0, 0], [1, 1]], sizes=(2, 3)), goal="pairs")
    assert plan.verdict == "4 more combinations would cover all 4 pairs of values that were never seen together."
    assert plan.needed.exact


def test_nothing_to_cover() -> None:
    plan = recombine.plan(support_of(every((2, 2, 2))), goal="triples")
    assert plan.verdict == "There is nothing to plan for: every possible combination was seen."
    assert plan.grade == "sound"


def test_a_budget_covers_most_first() -> None:
    support = support_of([[0, 0, 0]], sizes=(3, 3, 3))
    plan = recombine.plan(support, goal="pairs", budget=3)
    gains = [line.gain for line in plan.lines]
    assert gains == sorted(gains, reverse=True)
    assert (plan.grade, plan.curve[-1].spent) == ("weak", 3.0)
    assert "All that can be covered take" in plan.verdict


def test_cheap_rows_are_preferred() -> None:
    support = support_of([[0, 0, 0]], sizes=(2, 2, 8))
    dear = recombine.plan(support, goal="pairs", costs=[{"f0": 1, "f1": 1, "cost": 100}])
    together = [line for line in dear.lines if line.cost == 100]
    assert len(together) == 1  # the pair itself must be covered once, and only once at that price


def test_too_many_are_refused() -> None:
    support = support_of([[0, 0, 0]], sizes=(3000, 3000, 3000))
    with pytest.raises(SettingError, match="there are 27,000,000 pairs of values to cover") as error:
        recombine.plan(support, goal="pairs")
    assert "goal='determined'" in error.value.instead


def test_triples_need_three_factors() -> None:
    with pytest.raises(SettingError, match="goal='triples' with 2 factors"):
        recombine.plan(support_of([[0, 0]], sizes=(2, 2)), goal="triples")


def test_a_row_that_covers_nothing_new_is_dropped() -> None:
    support = support_of([[0, 0, 0]], sizes=(2, 2, 2))
    pairs = Conjunctions.of(support.space, 2)
    open_ = ~pairs.covered(support.codes)
    rows = list(RowBuilder(Collectable(support, Costs.of(None, support.space)), pairs, open_, 0).rows(lambda *_: None))
    twice = np.stack([*rows, rows[0]])
    assert len(without_redundant(twice, np.ones(len(twice)), pairs, open_)) <= len(rows)


@given(tables(most_factors=4))
def test_conjunctions_are_numbered_and_named_alike(support) -> None:
    pairs = Conjunctions.of(support.space, 2)
    for number in {0, pairs.total // 2, pairs.total - 1}:
        row = np.zeros((1, len(support.space.sizes)), dtype=np.int32)
        for factor, value in pairs.values(number).items():
            row[0, factor] = value
        assert number in pairs.numbers(row)
