"""Coverage, holes and slices beside slow twins; the diagonals of the paper."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recombine_lab.probes.support_probe import neighbours as near
from recombine_lab.probes.support_probe.points import points_of, product_of_marginals
from recombine_lab.tasks import DiagonalBand, Orthogonal, Random, Sprites
from tests.properties import examples

TASK = Sprites(size=8)


def drawn(exposure, n=2500):
    return exposure.parts(TASK, seed=0).train.draw(n, seed=1).double().numpy()


def slices(rows):
    points = points_of(rows, slots=2, query="box", seed=0)
    slot = points.slots[0]
    own, rest = points.scaled(points.seen, slot.columns), points.scaled(points.seen, points.rest(slot))
    values = points.scaled(points.query, slot.columns)
    around = near.neighbours_of(values[:128], own, 0.2, np.random.default_rng(0))
    return near.slice_variation(own, rest, around.rows, np.cov(values, rowvar=False))


@examples(30)
@given(st.integers(1, 12), st.integers(1, 3), st.booleans(), st.integers(0, 2**31))
def test_distance_to_the_nearest_seen_value(n, width, own, seed):
    rng = np.random.default_rng(seed)
    seen = rng.integers(0, 4, (n, width)) / 3
    asked = seen[rng.integers(0, n, 5)] if own else rng.random((5, width))
    found = near.nearest_distance(asked, seen, own=own)
    for value, distance in zip(asked, found, strict=True):
        apart = np.abs(seen - value).max(1)
        others = np.delete(apart, apart.argmin()) if own and n > 1 else apart
        if own and len(np.unique(seen, axis=0)) == 1 and n > 1:
            others = apart
        assert distance == pytest.approx(others.min())


def test_slices_beside_a_fit_by_least_squares():
    rng = np.random.default_rng(0)
    rest = rng.random((300, 2))
    own = rest @ np.array([[1.0, 0.2], [0.3, -1.0]]) + rng.normal(0, [0.05, 0.2], (300, 2))
    rows = rng.integers(0, 300, (6, 1))
    spread = np.cov(own, rowvar=False)
    found = near.slice_variation(own, rest, rows, spread)
    for place, row in enumerate(rows[:, 0]):
        chosen = np.argsort(np.abs(rest - rest[row]).max(1), kind="stable")[: near.LEAST_LOCAL]
        design = np.column_stack([np.ones(len(chosen)), rest[chosen]])
        left = own[chosen] - design @ np.linalg.lstsq(design, own[chosen], rcond=None)[0]
        covariance = left.T @ left / (len(chosen) - 3)
        assert found.entries[place] == pytest.approx(np.sqrt(np.diag(covariance) / np.diag(spread)))
        whole = np.linalg.eigvals(np.linalg.solve(spread, covariance)).real.min()
        assert found.worst[place] == pytest.approx(np.sqrt(whole))


@pytest.mark.parametrize(("delta", "expected", "off"), [(0.05, 0.14, 0.015), (0.1, 0.29, 0.03), (0.2, 0.57, 0.06)])
def test_slice_variation_of_the_diagonals(delta, expected, off):
    assert np.median(slices(drawn(DiagonalBand(delta=delta))).usual) == pytest.approx(expected, abs=off)


def test_an_exact_diagonal_has_none_and_free_slots_have_all():
    assert np.median(slices(drawn(DiagonalBand(delta=0.0))).usual) < 1e-6
    assert np.median(slices(drawn(Random())).usual) > 0.9
    assert np.median(slices(drawn(Orthogonal())).usual) > 0.9


def test_one_tied_direction_is_seen_beside_free_ones():
    rows = np.random.default_rng(0).random((2000, 4))
    rows[:, 3] = rows[:, 1]
    found = slices(rows)
    assert np.median(found.worst) < 1e-6
    assert np.median(found.entries[:, 0]) > 0.9


def test_the_gap_is_a_hole_of_forty_hundredths():
    rows = drawn(Orthogonal(variant="gap"))
    begins, ends = near.largest_hole(rows[:, 0], 0.0, 1.0)
    assert (begins, ends) == (pytest.approx(0.05, abs=0.01), pytest.approx(0.45, abs=0.01))
    assert all(np.diff(near.largest_hole(rows[:, column], 0.0, 1.0)) < 0.02 for column in range(1, 10))


def test_a_bandwidth_covers_what_as_many_even_values_cover():
    rng = np.random.default_rng(0)
    even, asked, other = rng.random((500, 3)), rng.random((500, 3)), rng.random((500, 3))
    bandwidth = near.even_bandwidth(500, asked, even)
    covered = near.nearest_distance(asked, other, own=False) <= bandwidth
    assert covered.mean() == pytest.approx(near.WANTED, abs=0.04)


def test_a_value_is_a_vector():
    """Every entry of a slot is covered by itself, its vectors are not."""
    line = np.random.default_rng(0).random((400, 1))
    alike = np.concatenate([line, line, np.random.default_rng(1).random((400, 2))], 1)
    points = points_of(alike, slots=2, query="box", seed=0)
    first = points.slots[0]
    seen, query = (points.scaled(rows, first.columns) for rows in (points.seen, points.query))
    assert (near.nearest_distance(query, seen, own=False) <= 0.1).mean() < 0.45
    for column in range(2):
        assert (near.nearest_distance(query[:, [column]], seen[:, [column]], own=False) <= 0.1).all()


def test_new_combinations_of_seen_values_keep_each_slot_whole():
    rows = np.arange(20.0).reshape(5, 4)
    points = points_of(rows, slots={"a": [0, 2], "b": [1, 3]}, query=None, seed=0)
    made = product_of_marginals(rows, points.slots, 200, np.random.default_rng(0))
    assert {tuple(one) for one in made[:, [0, 2]]} == {tuple(one) for one in rows[:, [0, 2]]}
    assert len({tuple(one) for one in made}) == 25
