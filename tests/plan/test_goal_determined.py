"""The goal "determined": as few combinations as can be, as cheap as can be, counted exactly along the way."""

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import recombine
from recombine.data.space import Factor, Space
from recombine.data.support import Support
from recombine.numerics.modular_arithmetic import PRIMES, Echelon
from recombine.numerics.null_space import null_space
from recombine.output.pages import draw
from recombine.verbs.audit.determinacy import determinacy
from recombine.verbs.plan.collectable import add_combinations
from recombine.verbs.plan.open_directions import OpenDirections
from tests.plan.twins import (
    brute_cheapest,
    brute_price,
    determined_count,
    exhaustive_cheapest,
    possible,
    priced,
    rank,
    tables,
)
from tests.properties import examples
from tests.twins import digits, every, one_hot, support_of, supports


def chosen(plan: recombine.Plan) -> np.ndarray:
    """A plan's lines as positions of values."""
    names = plan.support.space.names
    return plan.support.space.encode([[line.combination[name] for name in names] for line in plan.lines])


@given(tables())
def test_no_plan_is_smaller_and_it_reaches_its_goal(support) -> None:
    plan = recombine.plan(support)
    sizes = support.space.sizes
    everything = possible(support)
    assert plan.table.num_rows == rank(everything, sizes) - rank(support.codes, sizes)
    assert plan.reached
    assert plan.blocked is None
    assert determined_count(support, chosen(plan)) == len(everything)
    assert plan.needed.exact


@given(st.data())
def test_with_costs_no_plan_is_cheaper(data) -> None:
    support = data.draw(tables())
    costs = data.draw(priced(support))
    plan = recombine.plan(support, costs=costs)
    price = brute_price(every(support.space.sizes), support, costs)
    size, cost = brute_cheapest(support, price)
    assert (plan.table.num_rows, plan.needed.combinations) == (size, size)
    assert plan.needed.cost == pytest.approx(cost)
    left = len(possible(support)) - determined_count(support, chosen(plan))
    assert plan.reached == (left == 0) == (plan.blocked is None)
    assert left == (plan.blocked.count if plan.blocked else 0)


@examples(60)
@given(st.data())
def test_trying_all_sets_finds_nothing_better(data) -> None:
    support = data.draw(tables(most_values=2))
    costs = data.draw(priced(support))
    price = brute_price(every(support.space.sizes), support, costs)
    best = exhaustive_cheapest(support, price)
    plan = recombine.plan(support, costs=costs)
    assert plan.reached == (best is not None)
    if best is not None:
        assert plan.needed.combinations == best[0]
        assert plan.needed.cost == pytest.approx(best[1])


@examples(50)
@given(st.data())
def test_what_each_line_buys_is_counted_exactly(data) -> None:
    support = data.draw(tables())
    costs = data.draw(priced(support))
    plan = recombine.plan(support, costs=costs, budget=data.draw(st.sampled_from([None, 2.5])))
    codes = chosen(plan)
    counted = [determined_count(support, codes[:lines]) for lines in range(len(codes) + 1)]
    assert [point.value for point in plan.curve] == counted
    assert plan.measure.today == counted[0]
    assert [line.gain for line in plan.lines] == np.diff(counted).tolist()


@given(supports())
def test_null_space_holds_every_null_vector(support) -> None:
    offsets = np.concatenate([[0], np.cumsum(support.space.sizes)])
    rows = support.codes.astype(np.int64) + offsets[:-1]
    nodes = int(offsets[-1])
    for anchor in (0, len(rows) - 1):
        space = null_space(rows, nodes, anchor=anchor, prime=PRIMES[0], seed=0)
        dimension = nodes - rank(support.codes, support.space.sizes)
        assert len(space.coordinates) == dimension
        assert set(rows[anchor][:-1]) <= set(space.coordinates.tolist())
        vectors = space.at(np.eye(dimension, dtype=np.int64))
        np.testing.assert_array_equal(vectors[space.coordinates], np.eye(dimension, dtype=np.int64))
        assert not np.mod(one_hot(support.codes, support.space.sizes).astype(np.int64) @ vectors, PRIMES[0]).any()


def test_an_echelon_names_the_rows_that_were_new() -> None:
    echelon = Echelon(unknowns=3, prime=11)
    assert echelon.take(np.array([[1.0, 1.0, 0.0], [2.0, 2.0, 0.0], [0.0, 1.0, 0.0]])) == [0, 2]
    assert echelon.take(np.array([[1.0, 0.0, 0.0], [1.0, 0.0, 5.0]])) == [1]


@given(supports())
def test_a_changed_value_closes_itself_alone(support) -> None:
    directions = OpenDirections.of(support, seed=0)
    every_one = np.arange(len(directions.open_values))
    images = directions.images(directions.one_change, directions.forms(every_one))
    np.testing.assert_array_equal(images, np.eye(len(every_one)))


def test_nothing_to_do() -> None:
    plan = recombine.plan(digits("00 01 10"))
    assert plan.verdict == (
        "This goal was met before: every unseen combination can be worked out, if the factors add up."
    )
    assert (plan.grade, plan.table.num_rows, plan.reached) == ("plausible", 0, True)
    assert [point.value for point in plan.curve] == [4.0]


def test_two_islands_are_joined_by_one_combination() -> None:
    table = {"material": ["wool", "wool", "silk", "suede"], "garment": ["coat", "hat", "hat", "gloves"]}
    plan = recombine.plan(recombine.read(table, factors=["material", "garment"]))
    assert plan.verdict == (
        "1 more combination would let all 4 undetermined ones be worked out, if the factors add up. "
        "The first joins material=suede and garment=gloves to the rest."
    )
    assert plan.lines[0].buys == "joins material=suede and garment=gloves to the rest; 4 more combinations determined"
    assert plan.grade == "plausible"


def test_with_three_factors_an_island_takes_two() -> None:
    plan = recombine.plan(digits("000 001 010 100 222 223 232 322"))
    assert plan.table.num_rows == 2
    assert plan.lines[0].buys.endswith(("complete", "determined"))
    assert plan.lines[-1].after == 4**3


def test_a_value_never_seen_takes_one() -> None:
    plan = recombine.plan(support_of([[0, 0], [0, 1], [1, 0]], sizes=(3, 2)))
    assert [line.combination["f0"] for line in plan.lines] == ["2"]
    assert (plan.lines[0].gain, plan.reached) == (2.0, True)


def test_a_value_that_cannot_occur_is_not_asked_for() -> None:
    plain = support_of([[0, 0], [0, 1], [1, 0]], sizes=(3, 2))
    space = Space(plain.space.factors, ((2, -1),))
    plan = recombine.plan(Support(space, plain.codes, plain.counts, rows=3))
    assert (plan.grade, plan.share("determined")) == ("plausible", 1.0)


def test_a_blocked_goal_names_the_values() -> None:
    support = support_of([[0, 0], [1, 1], [2, 2]], sizes=(3, 3))
    hopeless = recombine.plan(support, costs=[{"f0": 2, "cost": None}, {"f1": 2, "cost": ""}])
    assert hopeless.grade == "failing"
    assert hopeless.blocked.values == {"f0": ("2",), "f1": ("2",)}
    assert hopeless.blocked.said == (
        "4 combinations stay undetermined because of f0=2 and f1=2: no combination of these can be collected."
    )
    assert hopeless.table.num_rows == 1
    assert not hopeless.reached


def test_values_that_only_their_partners_block() -> None:
    support = support_of([[0, 0], [1, 1], [1, 2], [2, 1]], sizes=(3, 3))
    across = [{"f0": 0, "f1": v, "cost": ""} for v in (1, 2)] + [{"f0": v, "f1": 0, "cost": ""} for v in (1, 2)]
    plan = recombine.plan(support, costs=across)
    assert plan.verdict == (
        "Nothing that can be collected would help. 4 combinations stay undetermined because of "
        "f0=0 and f1=0: no combination that can be collected ties them to the rest."
    )


def test_a_small_budget_says_how_far_it_gets() -> None:
    support = support_of([[0, 0], [1, 1], [2, 2]], sizes=(4, 4))
    assert recombine.plan(support, budget=0).verdict == (
        "A budget of 0 buys nothing for this goal, which takes 4 combinations."
    )
    part = recombine.plan(support, budget=2.5)
    assert (part.table.num_rows, part.curve[-1].spent, part.grade) == (2, 2.0, "weak")
    assert part.verdict.endswith("The goal takes 4 combinations.")


@pytest.mark.slow
def test_forty_binary_factors() -> None:
    codes = np.random.default_rng(0).integers(0, 2, size=(12, 40))
    support = support_of(codes, sizes=(2,) * 40)
    plan = recombine.plan(support)
    assert plan.table.num_rows == 41 - rank(support.codes, (2,) * 40)
    assert (plan.reached, plan.curve[-1].value) == (True, 2.0**40)
    assert "too large to list" in plan.reasons[0]
    assert determinacy(add_combinations(support, chosen(plan))).rank == 41


def test_many_factors_with_obstacles() -> None:
    codes = np.random.default_rng(0).integers(0, 2, size=(12, 26))
    support = support_of(codes, sizes=(2,) * 26)
    base = OpenDirections.of(support, seed=0).base
    barred = [{f"f{k}": int(base[k]), f"f{k + 1}": int(base[k + 1]), "cost": ""} for k in range(3)]
    plan = recombine.plan(support, costs=[{f"f{k}": line.get(f"f{k}") for k in range(26)} | line for line in barred])
    assert plan.reached
    assert plan.table.num_rows == 27 - rank(support.codes, (2,) * 26)
    assert determinacy(add_combinations(support, chosen(plan))).rank == 27


def large(combinations: int, values: int) -> Support:
    rng = np.random.default_rng(0)
    codes = np.unique(rng.integers(0, values, size=(combinations, 3)).astype(np.int32), axis=0)
    labels = tuple(f"v{value}" for value in range(values))
    space = Space(tuple(Factor(f"f{k}", labels, declared=True) for k in range(3)))
    return Support(space, np.asfortranarray(codes), np.ones(len(codes)), rows=len(codes))


@pytest.mark.slow
def test_a_large_loose_table_is_planned_and_proved() -> None:
    support = large(3_000, 1_000)
    plan = recombine.plan(support)
    today = determinacy(support)
    assert plan.table.num_rows == 3_000 - 2 - today.rank
    assert plan.reached
    assert plan.curve[-1].value == 10**9
    assert len(plan.curve) <= 202
    assert determinacy(add_combinations(support, chosen(plan))).rank == 2_998


def test_an_order_buys_most_first() -> None:
    rows = [[0, 0], [0, 1], [1, 0], [2, 2], [2, 3], [3, 2], [3, 3], [4, 4]]
    plan = recombine.plan(support_of(rows))
    assert [line.gain for line in plan.lines] == sorted((line.gain for line in plan.lines), reverse=True)


@pytest.mark.slow
@pytest.mark.parametrize(("islands", "factors"), [(60_000, 2), (1_500, 3)])
def test_very_many_islands_are_planned_for_in_seconds(islands: int, factors: int) -> None:
    """Each line joins one loose value; what lines buy was counted island by island, minutes of it."""
    support = support_of(np.repeat(np.arange(islands)[:, None], factors, axis=1))
    started = time.process_time()
    plan = recombine.plan(support)
    assert time.process_time() - started < 20
    assert plan.reached
    assert plan.needed.combinations == plan.table.num_rows == (islands - 1) * (factors - 1)
    assert (plan.measure.today, plan.curve[-1].value) == (islands, float(islands) ** factors)
    assert len(plan.curve) <= 201
    assert len(draw(plan.record())) < 10**6


@given(supports())
def test_islands_without_anything_loose_are_counted_like_the_others(support) -> None:
    """Several copies of a table that share no value: each adds as many as the table alone."""
    sizes = np.array(support.space.sizes)
    copies = support_of(
        np.concatenate([support.codes + place * sizes for place in range(3)]), sizes=tuple((3 * sizes).tolist())
    )
    assert determinacy(copies).count() == 3 * determinacy(support).count()
