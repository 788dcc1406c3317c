"""The value itself: saved and loaded alike, safe as JSON, and plain about what it was asked wrongly."""

import json
import math

import numpy as np
import pytest

import recombine
from recombine.base.errors import RecordError, SettingError
from recombine.verbs.plan.choice import affordable, points
from recombine.verbs.plan.plan_settings import GOALS
from tests.twins import digits, numbers, support_of

LOOSE = "000 001 010 100 222 223"


@pytest.fixture(params=GOALS)
def plan(request):
    return planned(request.param)


def planned(goal: str):
    return recombine.plan(digits(LOOSE), goal=goal, budget=5, replay=goal != "balance")


def test_it_loads_back_into_the_same_plan(plan, tmp_path) -> None:
    plan.save(tmp_path / "plan")
    assert recombine.Plan.load(tmp_path / "plan") == plan
    assert plan != recombine.plan(digits("00 01 10"))
    assert plan != "a plan"


def test_the_record_is_plain_json(plan) -> None:
    content = plan.record().to_json()
    assert json.loads(json.dumps(content, allow_nan=False))["verdict"] == plan.verdict
    assert content["kind"] == "plan"
    assert {"lines", "support", "values"} <= plan.record().tables.keys()


def test_lines_table_and_curve_say_the_same(plan) -> None:
    assert len(plan.lines) == plan.table.num_rows
    assert plan.curve[0].lines == 0
    assert plan.curve[0].value == plan.measure.today
    assert plan.curve[-1].lines == len(plan.lines)
    assert plan.curve[-1].spent == sum(line.cost for line in plan.lines) <= 5
    assert plan.table["cost"].to_pylist() == [line.cost for line in plan.lines]
    assert [line.spent for line in plan.lines] == np.cumsum([line.cost for line in plan.lines]).tolist()


def test_lines_are_possible_unseen_and_different(plan) -> None:
    codes = plan.support.space.encode([tuple(line.combination.values()) for line in plan.lines])
    assert len(np.unique(codes, axis=0)) == len(codes)
    assert plan.goal == "balance" or (plan.support.groups(range(3)).lookup(codes) < 0).all()


def test_it_can_be_shown(plan) -> None:
    assert repr(plan) == f"Plan({plan.verdict!r})"
    assert plan._repr_html_().startswith("<div><p><b>")


def test_the_same_seed_gives_the_same_plan(plan) -> None:
    assert planned(plan.goal).table == plan.table


def test_shares_can_be_gated(plan) -> None:
    name = {"leverage": "firm", "variance": "explained"}.get(plan.goal, plan.goal)
    assert math.isnan(plan.share(name)) or 0 <= plan.share(name) <= 1
    with pytest.raises(SettingError, match="no share 'seen'"):
        plan.share("seen")


def test_a_factor_may_be_called_cost() -> None:
    table = {"gain": ["low", "low", "high"], "after": ["a", "b", "c"]}
    plan = recombine.plan(recombine.read(table, factors=["gain", "after"]))
    assert plan.table.column_names[:4] == ["gain", "after", "cost", "spent"]
    assert "gain of the plan" in plan.table.column_names
    assert plan.lines[0].gain == 3.0


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"goal": "determine"}, "did you mean 'determined'?"),
        ({"goal": "coverage"}, "write goal='pairs' (--goal pairs): every pair of values seen together"),
        ({"goal": "worst-group"}, "write goal='balance'"),
        ({"goal": "uncertainty"}, "write goal='variance'"),
        ({"budget": -1}, "a budget is a number from 0 on"),
        ({"budget": math.nan}, "a budget is a number from 0 on"),
        ({"budget": "much"}, "a budget is a number from 0 on"),
        ({"ridge": -1}, "a ridge is a number from 0 on"),
        ({"ridge": 0.0}, "a plan for 'determined' would ignore it"),
        ({"salience": "relu:3", "goal": "pairs"}, "a plan for 'pairs' would ignore it"),
    ],
)
def test_wrong_settings_are_explained(given, words) -> None:
    with pytest.raises(SettingError) as caught:
        recombine.plan(digits("00 01 10"), **given)
    assert words in str(caught.value)


def test_a_table_must_be_read_first() -> None:
    with pytest.raises(SettingError, match="was given a dict"):
        recombine.plan({"a": [1]})


def test_loading_something_else_is_refused(tmp_path) -> None:
    recombine.audit(digits("00 01 10")).save(tmp_path / "audit")
    with pytest.raises(RecordError, match="is not a plan"):
        recombine.Plan.load(tmp_path / "audit")


def test_targets_stay_with_the_plan(tmp_path) -> None:
    support = numbers([[0, 0], [0, 1], [1, 0]], [1.0, 2.0, 3.0])
    recombine.plan(support, goal="variance").save(tmp_path / "plan")
    assert recombine.Plan.load(tmp_path / "plan").support == support


def test_progress_is_told() -> None:
    steps: list[str] = []
    recombine.plan(support_of([[0, 0], [1, 1]]), progress=lambda step, _: steps.append(step))
    assert steps[0] == "working out what is open"


def test_what_a_budget_pays_for() -> None:
    prices = np.array([2.0, 5.0, 1.0, 0.0])
    assert affordable(prices, 3).tolist() == [0, 2, 3]
    assert affordable(prices, 0).tolist() == [3]
    assert affordable(prices, None).tolist() == [0, 1, 2, 3]
    assert points(0) == []
    assert points(10**6)[-1] == 10**6
    assert len(points(10**6)) <= 200
