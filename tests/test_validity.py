"""The bench of forecasts: its cells are what they say, and its figures are those of brute force."""

import json
import os
import sys
from collections import Counter
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
from validity import figures
from validity_cells.cell import Cell, sealed
from validity_cells.cell_list import cells
from validity_cells.data import Rows, data_of, rows_evenly
from validity_cells.forecasters import constant, score
from validity_cells.page import figures_text, picture
from validity_cells.points import answers, points, shown
from validity_cells.scoring import Told, by_grade, ranks, summary

CELLS = cells()
QUICK = [cell for cell in CELLS if cell.group in ("symbols", "points")]
SAMPLE = QUICK[::7]


def combinations(rows: Rows) -> set[tuple[int, ...]]:
    return set(map(tuple, rows.codes.tolist()))


def test_there_are_enough_cells_and_each_has_a_name_of_its_own() -> None:
    assert len(CELLS) >= 90
    assert len({cell.name for cell in CELLS}) == len({cell.file for cell in CELLS}) == len(CELLS)


def test_a_third_of_each_group_is_sealed_and_none_that_was_published() -> None:
    closed, sizes = sealed(CELLS), Counter(cell.group for cell in CELLS)
    own = Counter(cell.group for cell in CELLS if cell.name in closed)
    assert all(abs(own[group] - size / 3) <= 0.5 for group, size in sizes.items())
    assert not any(cell.known and cell.name in closed for cell in CELLS)
    assert sealed(CELLS[::-1]) == closed


@pytest.mark.parametrize("cell", SAMPLE, ids=lambda cell: cell.name)
def test_the_same_cell_is_made_twice(cell: Cell) -> None:
    one, other = cell.make().arrays(), cell.make().arrays()
    assert all(np.array_equal(one[name], other[name]) for name in one)


@pytest.mark.parametrize("cell", QUICK, ids=lambda cell: cell.name)
def test_what_is_unseen_was_not_seen(cell: Cell) -> None:
    data = cell.make()
    assert not combinations(data.seen) & combinations(data.unseen)
    assert combinations(data.fresh) <= combinations(data.seen)
    assert len(data.unseen) > 0
    assert all(np.isfinite(rows.flat).all() for rows in (data.seen, data.fresh, data.unseen))


@pytest.mark.skipif("RECOMBINE_DATA" not in os.environ, reason="real tables are needed")
@pytest.mark.parametrize("cell", [cell for cell in CELLS if cell.group == "table"][::4], ids=lambda cell: cell.name)
def test_values_that_are_asked_about_were_seen_in_real_tables(cell: Cell) -> None:
    data = cell.make()
    assert not combinations(data.seen) & combinations(data.unseen)
    for k in range(len(data.sizes)):
        assert set(data.unseen.codes[:, k]) <= set(data.seen.codes[:, k])


@pytest.mark.parametrize(
    ("rule", "twin"),
    [
        ("same", lambda a, b: int(a == b)),
        ("order", lambda a, b: int(a > b)),
        ("parity", lambda a, b: (a + b) % 2),
        ("first", lambda a, b: a),
        ("second", lambda a, b: b),
    ],
)
def test_rules_are_those_of_their_names(rule: str, twin) -> None:
    codes = np.array(list(product(range(4), range(5))))
    said, label = answers(codes, (4, 5), rule, np.random.default_rng(0))
    assert label
    assert said.tolist() == [twin(*pair) for pair in codes.tolist()]


def test_sums_add_up_and_tables_do_not() -> None:
    codes = np.array(list(product(range(4), range(5))))
    design = np.concatenate([np.eye(4)[codes[:, 0]], np.eye(5)[codes[:, 1]]], axis=1)
    for rule, adds_up in (("sum", True), ("effects", True), ("product", False), ("table", False)):
        said, label = answers(codes, (4, 5), rule, np.random.default_rng(0))
        left = said - design @ np.linalg.pinv(design) @ said
        assert not label
        assert bool(np.abs(left).max() < 1e-9) is adds_up
        assert np.isclose(said.std(), 1)


def test_supports_hold_what_they_say() -> None:
    codes = np.array(list(product(range(6), range(6))))
    rng = np.random.default_rng(0)
    held = {name: set(map(tuple, codes[~shown(codes, (6, 6), name, rng)].tolist())) for name in ("corner", "cross")}
    assert held["corner"] == set(product(range(3, 6), repeat=2))
    assert held["cross"] == set(product(range(1, 6), repeat=2))
    assert shown(codes, (6, 6), "band", rng).sum() == 12
    assert shown(codes, (6, 6), "random 50", rng).sum() == 18


def test_noise_is_as_long_as_asked_for() -> None:
    data = points((3, 3), "sum", "corner", noise=0.5)
    means = {
        code: data.seen.flat[(data.seen.codes == code).all(axis=1)].mean(axis=0) for code in combinations(data.seen)
    }
    lengths = [np.square(x - means[tuple(code)]).sum() for x, code in zip(data.seen.flat, data.seen.codes, strict=True)]
    assert np.isclose(np.mean(lengths), 2 * 0.25, rtol=0.05)


def test_rows_are_spread_evenly() -> None:
    rows = rows_evenly(np.arange(7), 30, np.random.default_rng(0))
    assert set(Counter(rows.tolist()).values()) <= {4, 5}


def _told(measured: float, value: float | None, **given) -> Told:
    return Told("cell", "points", False, measured, value, **given)


@given(st.lists(st.tuples(*[st.integers(-9, 9).map(lambda x: x / 10)] * 2), min_size=3, max_size=30))
def test_rank_correlation_is_spearmans(pairs) -> None:
    one, other = zip(*pairs, strict=True)
    found = ranks(one, other)
    if len(set(one)) == 1 or len(set(other)) == 1:
        assert found is None
    else:
        assert np.isclose(found, spearmanr(one, other).statistic)


def test_figures_are_those_of_brute_force() -> None:
    told = [
        _told(0.9, 0.8, low=0.7, high=0.95, grade="sound"),
        _told(0.2, 0.5, low=0.4, high=0.6, grade="failing"),
        _told(-30.0, -0.5, low=-1.0, high=0.0, grade="failing"),
        _told(0.5, None, grade="untested"),
    ]
    found = summary(told)
    assert (found["cells"], found["abstained"]) == (4, 1)
    assert np.isclose(found["error"], (0.1 + 0.3 + 0.5) / 3)
    assert np.isclose(found["bias"], (-0.1 + 0.3 + 0.5) / 3)
    assert np.isclose(found["covered"], 2 / 3)
    assert by_grade(told)["failing"] == {"cells": 2, "mean": -0.4, "worst": -1.0, "best": 0.2}


def test_perfect_empty_and_adversarial_forecasts() -> None:
    scores = [0.1, 0.4, 0.7, 1.0]
    perfect = summary([_told(score, score) for score in scores])
    assert (perfect["rank"], perfect["error"], perfect["covered"]) == (1.0, 0.0, None)
    assert summary([])["rank"] is None
    assert summary([_told(score, 1 - score) for score in scores])["rank"] == -1.0
    assert summary([_told(score, 0.5) for score in scores])["rank"] is None


def test_the_constant_answer_and_the_score_by_hand() -> None:
    rows = Rows(np.zeros((4, 1)), np.array([1, 1, 0, 2]), np.array([[0, 0], [0, 1], [1, 0], [1, 1]]))
    data = data_of(rows[:3], rows[:3], rows[[3]], label=True)
    assert constant(CELLS[0], data).value == 0.0
    assert score(np.array([2]), data) == 1.0
    numbers = Rows(rows.inputs, np.array([0.0, 2.0, 1.0, 3.0]), rows.codes)
    number = data_of(numbers[:3], numbers[:3], numbers[[3]], label=False)
    assert np.isclose(score(np.array([2.0]), number), 1 - 1 / 4)
    assert score(np.array([1.0]), number) == 0.0


def test_the_page_says_what_was_kept() -> None:
    docs = Path(__file__).parents[1] / "docs"
    kept = json.loads((docs / "measured" / "validity.json").read_text())
    assert figures_text(kept) in (docs / "forecasts.md").read_text()
    assert figures(kept["cells"]) == kept["figures"]
    assert (docs / "measured" / "forecasts.svg").read_text() == picture(kept["cells"])


def test_what_was_measured_is_of_these_cells() -> None:
    docs = Path(__file__).parents[1] / "docs"
    measured, closed = json.loads((docs / "measured" / "validity_cells.json").read_text()), sealed(CELLS)
    assert set(measured) == {cell.name for cell in CELLS}
    assert {name for name, line in measured.items() if line["sealed"]} == closed
    assert all(len(line["unseen"]) >= 2 for line in measured.values())
