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


def others_mean(rows: dict[tuple[int, ...], float], asked: tuple[int, ...], factors: tuple[int, ...]) -> float:
    """The mean of the other rows that agree on some factors; of all rows where there is none."""
    alike = [y for row, y in rows.items() if row != asked and all(row[k] == asked[k] for k in factors)]
    return float(np.mean(alike or list(rows.values())))


def gate_opens(rows: dict[tuple[int, ...], float], asked: tuple[int, ...]) -> float:
    """Try every gate, and for each of its values every other factor, one row at a time."""
    factors, best = range(len(asked)), {}
    for gate in factors:
        total, opened = 0.0, {}
        for value in {row[gate] for row in rows}:
            mine = {row: y for row, y in rows.items() if row[gate] == value}
            lost = {
                f: sum((others_mean(rows, row, (gate, f)) - y) ** 2 for row, y in mine.items())
                for f in factors
                if f != gate
            }
            opened[value] = min(lost, key=lost.__getitem__)
            total += lost[opened[value]]
        best[gate] = total, opened
    gate = min(best, key=lambda one: best[one][0])
    return others_mean(rows, asked, (gate, best[gate][1][asked[gate]]))


@pytest.mark.parametrize("seed", range(8))
def test_the_gated_rule_is_a_search_through_all_gates(seed):
    sizes = (2, 3, 3)
    grid, seen, rng = parted(sizes, 0.75, seed)
    seen[np.flatnonzero(grid[:, 1] == grid[:, 2])] = True  # every value of every factor was seen
    truth = rng.normal(size=len(grid))
    rows = {tuple(map(int, row)): float(y) for row, y in zip(grid[seen], truth[seen], strict=True)}
    wanted = [gate_opens(rows, tuple(map(int, row))) for row in grid[~seen]]
    assert gated(table(grid, seen, truth, sizes), grid[~seen])[:, 0] == pytest.approx(wanted)


@pytest.mark.parametrize("rank", [1, 2])
def test_products_on_a_full_table_are_its_largest_singular_values(rank):
    """Of a table without gaps the best offsets and products are known: means, then singular vectors of the rest."""
    grid, _, rng = parted((10, 10), 1.0, rank)
    cells = rng.normal(size=(10, rank)) @ rng.normal(size=(rank, 10)) + 0.3 * rng.normal(size=(10, 10))
    added = cells.mean(axis=0) + cells.mean(axis=1, keepdims=True) - cells.mean()
    left, size, right = np.linalg.svd(cells - added)
    best = (added + (left[:, :rank] * size[:rank]) @ right[:rank]).ravel()
    said = products(table(grid, np.ones(100, dtype=bool), cells.ravel(), (10, 10)), grid, rank=rank)
    assert explained(said, best) > 0.995
