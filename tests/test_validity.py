"""The bench of forecasts: its cells are what they say, and its figures are those of brute force."""

import os
import sys
from collections import Counter
from itertools import product
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
from validity_cells.cell import Cell, sealed
from validity_cells.data import Rows, rows_evenly
from validity_cells.listing import cells
from validity_cells.points import answers, points, shown

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
