"""Rules that say more than adding up, on tables of which each is the truth."""

from itertools import product

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from recombine.numerics.interaction_rules import GATED, PRODUCT, SeenTable, gated, products, rules_for, substituted
from tests.properties import examples


def parted(sizes: tuple[int, ...], share: float, seed: int) -> tuple[np.ndarray, np.ndarray, np.random.Generator]:
    rng = np.random.default_rng(seed)
    grid = np.indices(sizes).reshape(len(sizes), -1).T.astype(np.int32)
    return grid, rng.random(len(grid)) < share, rng


def table(grid: np.ndarray, seen: np.ndarray, truth: np.ndarray, sizes: tuple[int, ...]) -> SeenTable:
    return SeenTable(grid[seen], sizes, truth[seen][:, None], np.zeros(int(seen.sum())))


def explained(said: np.ndarray, truth: np.ndarray) -> float:
    return float(1 - np.square(said[:, 0] - truth).sum() / np.square(truth - truth.mean()).sum())


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("sizes", "rank"), [((9, 9), 1), ((12, 12), 2), ((5, 5, 5), 1)])
def test_products_of_values_are_found(sizes, rank, seed):
    grid, seen, rng = parted(sizes, 0.8, seed)
    truth = sum(rng.normal(size=size)[grid[:, k]] for k, size in enumerate(sizes))
    for _ in range(rank):
        truth = truth + rng.normal(size=sizes[0])[grid[:, 0]] * rng.normal(size=sizes[1])[grid[:, 1]]
    said = products(table(grid, seen, truth, sizes), grid[~seen], rank=rank)
    assert explained(said, truth[~seen]) > 0.9


@pytest.mark.parametrize("seed", range(5))
def test_the_gate_and_what_it_opens_are_found(seed):
    sizes = (4, 5, 5)
    grid, seen, rng = parted(sizes, 0.7, seed)
    truth = np.where(grid[:, 0] < 2, rng.normal(size=5)[grid[:, 1]], rng.normal(size=5)[grid[:, 2]])
    assert explained(gated(table(grid, seen, truth, sizes), grid[~seen]), truth[~seen]) > 0.95


def swapped(row: tuple[int, ...], k: int, value: int) -> tuple[int, ...]:
    return (*row[:k], value, *row[k + 1 :])


def stand_ins(rows: dict[tuple[int, ...], float], asked: tuple[int, ...]) -> float | None:
    """The mean over all that differ in one place, by a value never seen to differ in two shared contexts or more."""
    found = []
    for k in range(len(asked)):
        for other, answer in rows.items():
            if other[:k] + other[k + 1 :] != asked[:k] + asked[k + 1 :] or other[k] == asked[k]:
                continue
            shared = [row for row in rows if row[k] == asked[k] and swapped(row, k, other[k]) in rows]
            if len(shared) >= 2 and all(rows[row] == rows[swapped(row, k, other[k])] for row in shared):
                found.append(answer)
    return float(np.mean(found)) if found else None


@examples(80)
@given(st.data())
def test_substitution_is_a_search_through_all_contexts(data):
    sizes = data.draw(st.sampled_from([(3, 3), (2, 3, 2)]))
    every = list(product(*map(range, sizes)))
    rows = {row: float(data.draw(st.integers(0, 1))) for row in every if data.draw(st.booleans())}
    left = [row for row in every if row not in rows]
    if len(rows) < 2 or not left:
        return
    codes = np.array(list(rows), dtype=np.int32)
    seen = SeenTable(codes, sizes, np.array(list(rows.values()))[:, None], np.zeros(len(rows)))
    said = substituted(seen, np.array(left, dtype=np.int32))[:, 0]
    middle = float(np.mean(list(rows.values())))
    wanted = [middle if (found := stand_ins(rows, row)) is None else found for row in left]
    assert said == pytest.approx(wanted)


def test_rules_that_cannot_be_told_from_so_few_are_left_out():
    few, many = (np.indices((size, size)).reshape(2, -1).T.astype(np.int32) for size in (5, 12))
    for grid, tried in ((few, False), (many, True)):
        size = int(grid.max()) + 1
        table_of_products = SeenTable(
            grid, (size, size), np.prod(grid - 2.0, axis=1, keepdims=True), np.zeros(len(grid))
        )
        assert (PRODUCT in rules_for(table_of_products)) is tried
        assert GATED not in rules_for(table_of_products)
        assert PRODUCT not in rules_for(table_of_products, quick=True)


def test_noise_is_not_worth_a_product():
    grid = np.indices((12, 12)).reshape(2, -1).T.astype(np.int32)
    noise = np.random.default_rng(0).normal(size=(20, 144, 1))
    tried = [PRODUCT in rules_for(SeenTable(grid, (12, 12), one, np.zeros(144))) for one in noise]
    assert sum(tried) <= 2
