"""Shot lists: as short as the shortest of all orders where these can be tried, within the budget, and in words."""

from itertools import pairwise, permutations

import numpy as np
import pytest
from scipy.sparse import csgraph
from typer.testing import CliRunner

import recombine
from recombine.base.errors import SettingError
from recombine.cli.app import app
from recombine.verbs.plan.shot_list import order_shots, walk_cost

TABLE = {"table": [*"ABCD"], "lamp": [*"1234"], "object": [*"wxyz"]}
FACTORS = list(TABLE)
CHANGES = {"table": 600, "lamp": 10}


def world(seed, lines):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 6, size=4)
    space = np.stack(np.unravel_index(rng.choice(int(sizes.prod()), lines, replace=False), sizes), axis=1)
    return space.astype(np.int32), np.round(10.0 ** rng.uniform(0, 3, size=4))


def length(codes, costs, order):
    return walk_cost(codes[list(order)], costs).sum()


@pytest.mark.slow
def test_no_other_order_of_seven_combinations_is_shorter():
    for seed in range(200):
        codes, costs = world(seed, 3 + seed % 5)
        shortest = min(length(codes, costs, order) for order in permutations(range(len(codes))))
        assert length(codes, costs, order_shots(codes, costs)) == pytest.approx(shortest)


@pytest.mark.parametrize("seed", range(5))
def test_an_order_is_one_and_never_longer_than_sorting_by_the_dearest_factor(seed):
    codes, costs = world(seed, 14)
    order = order_shots(codes, costs)
    assert sorted(order) == list(range(14))
    by_factor = np.lexsort(codes[:, np.argsort(costs)].T)
    assert length(codes, costs, order) <= length(codes, costs, by_factor)


@pytest.mark.parametrize("lines", [16, 40])
def test_a_longer_walk_is_little_above_what_a_spanning_tree_needs(lines):
    for seed in range(3):
        rng = np.random.default_rng(1000 * lines + seed)
        sizes, costs = rng.integers(4, 8, size=4), np.round(10.0 ** rng.uniform(0, 3, size=4))
        places = np.unravel_index(rng.choice(int(sizes.prod()), lines, replace=False), sizes)
        codes = np.stack(places, axis=1).astype(np.int32)
        apart = sum(cost * (column[:, None] != column) for column, cost in zip(codes.T, costs, strict=True))
        needed = csgraph.minimum_spanning_tree(apart).sum()  # a path through all of them is a tree
        assert needed <= length(codes, costs, order_shots(codes, costs)) <= 1.1 * needed


@pytest.mark.parametrize("lines", [0, 1, 2, 3])
def test_short_lists_have_an_order_too(lines):
    codes = np.arange(2 * lines, dtype=np.int32).reshape(lines, 2)
    assert sorted(order_shots(codes, np.array([2.0, 1.0]))) == list(range(lines))


def test_a_plan_holds_its_walk_and_says_what_it_saves():
    plan = recombine.plan(TABLE, factors=FACTORS, goal="pairs", change_over=CHANGES)
    plain = recombine.plan(TABLE, factors=FACTORS, goal="pairs")
    assert plan.table.select(FACTORS).equals(plain.table.select(FACTORS))
    shots = plan.shots
    assert shots["shot"].to_pylist() == list(range(1, shots.num_rows + 1))
    tables, lamps = shots["table"].to_pylist(), shots["lamp"].to_pylist()
    paid = [600 * (tables[k] != tables[k - 1]) + 10 * (lamps[k] != lamps[k - 1]) for k in range(1, len(tables))]
    assert shots["change-over"].to_pylist() == [0, *paid]
    assert len(set(tables)) - 1 == sum(one != other for one, other in pairwise(tables))
    assert any("changes cost" in reason for reason in plan.reasons)


@pytest.mark.parametrize("goal", ["pairs", "determined", "leverage"])
@pytest.mark.parametrize("budget", [0.5, 8, 700, 5000])
def test_lines_and_changes_together_stay_within_the_budget(goal, budget):
    plan = recombine.plan(TABLE, factors=FACTORS, goal=goal, change_over=CHANGES, budget=budget)
    paid = sum(plan.table["cost"].to_pylist())
    paid += sum(plan.table["change-over"].to_pylist()) if plan.table.num_rows else 0
    assert paid <= budget
    assert plan.table.num_rows or budget < 1


@pytest.mark.parametrize("goal", ["determined", "leverage"])
def test_where_changes_are_dear_lines_around_one_set_up_buy_more_than_an_l(goal):
    space = {"surface": [f"s{k}" for k in range(4)], "object": [f"o{k}" for k in range(8)]}
    given = {"factors": list(space), "domain": space, "costs": [{"cost": 4}], "goal": goal, "budget": 60}
    one = {"surface": ["s0"], "object": ["o0"]}
    plan = recombine.plan(one, **given, change_over={"surface": 20, "object": 0.5})
    shots = plan.table.select(list(space)).to_pylist()
    assert sum(plan.table["cost"].to_pylist()) + sum(plan.table["change-over"].to_pylist()) <= 60
    both = {name: one[name] + [shot[name] for shot in shots] for name in space}
    follows = recombine.audit(both, factors=list(space), domain=space).counts
    the_l = {"surface": ["s0"] * 8 + ["s1"], "object": [*space["object"], "o0"]}  # what an hour of it has room for
    of_l = recombine.audit(the_l, factors=list(space), domain=space).counts
    assert len(shots) + follows.determined >= 1.5 * (8 + of_l.determined)


def test_a_plan_with_a_walk_is_saved_and_loaded(tmp_path):
    plan = recombine.plan(TABLE, factors=FACTORS, goal="pairs", change_over=CHANGES)
    plan.save(tmp_path / "plan")
    assert recombine.load(tmp_path / "plan").shots.equals(plan.shots)


def test_the_command_lists_and_writes_the_lines_in_the_order_of_the_walk(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = zip(*TABLE.values(), strict=True)
    (tmp_path / "t.csv").write_text("table,lamp,object\n" + "".join(",".join(line) + "\n" for line in lines))
    words = ["plan", "t.csv", "-f", "table,lamp,object", "--change-over", "table=600,lamp=10", "--matrix", "shots.csv"]
    found = CliRunner().invoke(app, words)
    assert found.exit_code == 0, found.output
    shots = recombine.plan("t.csv", factors=FACTORS, change_over=CHANGES).shots
    written = (tmp_path / "shots.csv").read_text().splitlines()[1:]
    assert written == [",".join(row[name] for name in FACTORS) for row in shots.to_pylist()]
    assert "change" in found.output


@pytest.mark.parametrize(
    ("given", "said"),
    [({"tabel": 600}, "not among the factors"), ({"table": -1}, "a number from 0"), ([600], "by factor")],
)
def test_a_slip_is_said(given, said):
    with pytest.raises(SettingError, match=said):
        recombine.plan(TABLE, factors=FACTORS, goal="pairs", change_over=given)
