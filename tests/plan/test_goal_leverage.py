"""The goal "leverage": the numbers are the audit's, each line lowers the worst, and what is open comes first."""

import numpy as np
import pytest
from hypothesis import given

import recombine
from recombine.base.errors import TableError
from recombine.verbs.audit.determinacy import determinacy
from recombine.verbs.plan.collectable import add_combinations
from recombine.verbs.plan.goal_leverage import leverage_updates
from tests.plan.test_goal_determined import chosen
from tests.plan.twins import possible, tables
from tests.properties import examples
from tests.twins import brute_leverage, digits, doubling, every, support_of


def worst_unseen(support, more) -> float:
    """The worst leverage of what is unseen and determined once some more are seen, by brute force."""
    held = support_of(np.concatenate([support.codes, more]), sizes=support.space.sizes)
    codes = every(support.space.sizes)
    unseen = (held.groups(range(codes.shape[1])).lookup(codes) < 0) & ~support.space.is_impossible(codes)
    return float(np.nanmax(np.append(brute_leverage(held)[unseen], -1.0)))


@examples(60)
@given(tables())
def test_the_worst_leverage_after_each_line_is_the_true_one(support) -> None:
    plan = recombine.plan(support, goal="leverage", budget=6)
    codes = chosen(plan)
    for place, line in enumerate(plan.lines):
        if line.after is not None:
            assert line.after == pytest.approx(worst_unseen(support, codes[: place + 1]), abs=1e-6)
    if plan.measure.today is not None:
        assert plan.measure.today == pytest.approx(worst_unseen(support, codes[:0]), abs=1e-6)


@examples(60)
@given(tables())
def test_rank_one_updates_equal_a_new_inverse(support) -> None:
    found = determinacy(support)
    codes = possible(support)
    codes = codes[found.determined(codes)]
    firm = leverage_updates(support, found, codes)
    line = len(codes) // 2
    promised = firm.after(line)
    firm.add(line)
    np.testing.assert_allclose(firm.leverage, promised)
    if support.groups(range(codes.shape[1])).lookup(codes[line : line + 1])[0] < 0:
        again = add_combinations(support, codes[line : line + 1])
        np.testing.assert_allclose(
            firm.leverage, leverage_updates(again, determinacy(again), codes).leverage, atol=1e-7
        )


@examples(40)
@given(tables(most_factors=2, most_values=4))
def test_the_first_line_is_the_best_single_one(support) -> None:
    found = determinacy(support)
    unseen = possible(support)
    unseen = unseen[support.groups([0, 1]).lookup(unseen) < 0]
    if not len(unseen) or not found.determined(unseen).all():
        return
    plan = recombine.plan(support, goal="leverage", budget=1)
    best = min((worst_unseen(support, row[None]) for row in unseen), default=0.0)
    reached = plan.lines[0].after
    assert (reached if reached is not None else -1.0) == pytest.approx(best, abs=1e-6)


def test_what_is_undetermined_comes_first() -> None:
    plan = recombine.plan(digits("00 01 10 22 23 32"), goal="leverage", budget=4)
    assert plan.measure.today is None
    assert plan.lines[0].buys.startswith("joins")
    assert "from no bound at all to" in plan.verdict


def test_it_stops_where_everything_is_firm() -> None:
    corner = recombine.plan(digits("00 01 10 02 20"), goal="leverage")
    assert corner.reached
    assert corner.curve[-1].value is None or corner.curve[-1].value <= 1.0
    firm = support_of([row for row in every((5, 5)).tolist() if row != [0, 0]])
    done = recombine.plan(firm, goal="leverage")
    assert done.verdict.startswith("This goal was met before: the worst leverage of an unseen combination is")
    assert done.grade == "plausible"


def test_nothing_unseen_is_no_leverage_at_all() -> None:
    plan = recombine.plan(support_of(every((3, 3))), goal="leverage")
    assert plan.verdict == "There is nothing to plan for: every possible combination was seen."
    assert np.isnan(plan.share("firm"))
    last = recombine.plan(digits("00 01 10"), goal="leverage", budget=5)
    assert last.lines[-1].after is None
    assert last.lines[-1].buys == "nothing unseen is left"


def test_costs_are_weighed() -> None:
    support = support_of([[0, 0], [0, 1], [1, 0], [0, 2], [2, 0], [0, 3], [3, 0]])
    dear = recombine.plan(support, goal="leverage", budget=2, costs=[{"f0": 1, "cost": 50}])
    assert dear.table.num_rows == 2
    assert all(line.combination["f0"] != "1" for line in dear.lines)


def test_too_many_values_are_refused() -> None:
    with pytest.raises(TableError, match="the factors have 4,000 values together"):
        recombine.plan(support_of([[k, k] for k in range(2000)] + [[0, k] for k in range(2000)]), goal="leverage")


def test_a_table_whose_leverages_lose_their_digits_is_refused() -> None:
    """Differences that double from value to value: the worst leverage is 4 to the 24, and was given as less."""
    with pytest.raises(TableError, match="cannot be computed to their last digits"):
        recombine.plan(support_of(doubling(24)), goal="leverage")
