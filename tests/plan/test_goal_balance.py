"""The goal "balance": rows are poured where there are fewest, and no other way leaves the thinnest with more."""

from itertools import product

import numpy as np
import pytest

import recombine
from recombine.base.errors import SettingError
from recombine.verbs.plan.goal_balance import water_fill


def birds(*cells: int) -> dict[str, list[str]]:
    """Two kinds of birds on two backgrounds, with so many rows each."""
    names = [("land", "forest"), ("land", "lake"), ("water", "forest"), ("water", "lake")]
    rows = [name for name, number in zip(names, cells, strict=True) for _ in range(number)]
    return {"bird": [a for a, _ in rows], "place": [b for _, b in rows]}


def test_the_thinnest_come_up_to_the_median() -> None:
    plan = recombine.plan(birds(3498, 184, 56, 1057), factors=["bird", "place"], goal="balance")
    assert plan.verdict == "1,000 more rows in 2 combinations would bring the thinnest from 56 to 620 rows."
    assert [tuple(line.combination.values()) for line in plan.lines] == [("water", "forest"), ("land", "lake")]
    assert plan.lines[0].buys == "rows 56 → 620"
    assert [line.after for line in plan.lines] == [184.0, 620.0]
    assert (plan.grade, plan.reached, plan.share("balance")) == ("plausible", True, 1.0)


def test_a_small_budget_goes_to_the_thinnest() -> None:
    plan = recombine.plan(birds(3498, 184, 56, 1057), factors=["bird", "place"], goal="balance", budget=100)
    assert plan.verdict == (
        "100 more rows in 1 combination would bring the thinnest from 56 to 156 rows; "
        "620 rows in each would cost 1,000."
    )
    assert plan.grade == "weak"
    assert plan.share("balance") == pytest.approx(156 / 620)


def test_equal_cells_were_never_thin() -> None:
    plan = recombine.plan(birds(9, 9, 9, 9), factors=["bird", "place"], goal="balance")
    assert plan.verdict == "This goal was met before: every combination has at least 9 rows, the median."
    assert (plan.grade, plan.table.num_rows) == ("sound", 0)


def test_where_most_were_never_seen_only_the_seen_are_levelled() -> None:
    table = {"a": ["0", "0", "0", "1", "2", "3"], "b": ["0", "0", "0", "1", "2", "3"]}
    plan = recombine.plan(table, factors=["a", "b"], goal="balance", budget=3)
    assert "Only the 4 seen combinations are levelled, of 16 possible ones" in plan.reasons[0]
    assert {line.combination["a"] == line.combination["b"] for line in plan.lines} == {True}


@pytest.mark.parametrize("seed", range(20))
def test_no_other_way_leaves_the_thinnest_with_more(seed) -> None:
    rng = np.random.default_rng(seed)
    rows, prices = rng.integers(0, 5, size=3).astype(float), rng.choice([0.5, 1.0, 2.0], size=3)
    budget = float(rng.integers(0, 7))
    ways = (np.array(more) for more in product(range(15), repeat=3))
    best = max(float((rows + more).min()) for more in ways if (more * prices).sum() <= budget)
    assert water_fill(rows, prices, budget) == best


def test_a_replay_of_rows_is_refused() -> None:
    with pytest.raises(SettingError, match="leave the replay out"):
        recombine.plan(birds(3, 3, 3, 3), factors=["bird", "place"], goal="balance", replay=True)
