"""The conjunction that a combination misses, against a search through every set of factors."""

from collections.abc import Callable
from itertools import combinations
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

import recombine
from recombine.data.missing_conjunctions import missing_conjunctions
from tests.properties import examples

NAMES = ("a", "b", "c", "d")


def smallest_missing(seen: set[tuple[int, ...]], row: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    for size in range(1, len(row) + 1):
        lost = [
            one
            for one in combinations(range(len(row)), size)
            if not any(all(other[k] == row[k] for k in one) for other in seen)
        ]
        if lost:
            return tuple(lost)
    return ()


@examples(60)
@given(st.integers(2, 4).flatmap(lambda k: st.tuples(*[st.sets(st.tuples(*[st.integers(0, 2)] * k), min_size=1)] * 2)))
def test_the_smallest_sets_never_seen_together(both):
    seen, asked = both
    factors = NAMES[: len(next(iter(seen)))]
    values = {name: [0, 1, 2] for name in factors}
    table = {name: [row[k] for row in sorted(seen)] for k, name in enumerate(factors)}
    support = recombine.read(table, factors=list(factors), domain=values)
    rows = sorted(asked)
    found = missing_conjunctions(support, support.space.encode(rows))
    assert [found.of(place) for place in range(len(rows))] == [smallest_missing(seen, row) for row in rows]


def test_shares_of_what_is_missing():
    grid = [(a, b, c) for a in range(3) for b in range(3) for c in range(4)]
    seen = [row for row in grid if row[:2] != (2, 2) and row != (0, 0, 0)]
    table = {name: [row[k] for row in seen] for k, name in enumerate("abc")}
    support = recombine.read(table, factors=list("abc"))
    unseen = [row for row in grid if row not in seen]
    found = missing_conjunctions(support, support.space.encode(unseen))
    assert found.shares() == {(0, 1): 0.8, (0, 1, 2): 0.2}
    assert missing_conjunctions(support, np.zeros((0, 3), dtype=np.int32)).shares() == {}


def test_a_combination_is_shared_among_all_that_it_misses():
    seen = recombine.read({"a": [0, 0, 1], "b": [0, 1, 0], "c": [0, 1, 1]}, factors=["a", "b", "c"])
    found = missing_conjunctions(seen, seen.space.encode([(1, 1, 0), (0, 0, 1), (0, 0, 0), (0, 1, 0)]))
    assert [found.of(place) for place in range(4)] == [((0, 1), (0, 2), (1, 2)), ((0, 1, 2),), (), ((1, 2),)]
    assert found.misses((1, 2)).tolist() == [0, 3]
    assert found.parts((1, 2)).tolist() == [1 / 3, 1.0]
    assert found.shares() == pytest.approx({(1, 2): 1 / 3, (0, 1, 2): 1 / 4, (0, 1): 1 / 12, (0, 2): 1 / 12})


def tied_world(seed: int) -> list[tuple[int, int, int, float]]:
    """Each unseen combination misses two pairs or three, all equally common; one of the pairs matters."""
    rng = np.random.default_rng(seed)
    effects, pairs = rng.normal(size=(3, 4)), rng.normal(size=(4, 4))
    cells = [cell for cell in np.ndindex(4, 4, 4) if cell[0] != cell[1] or cell[1] != cell[2]]
    lost = [
        (cell[0] + 1) % 4 == cell[1] or (cell[1] + 1) % 4 == cell[2] or (cell[2] + 1) % 4 == cell[0] for cell in cells
    ]
    y = [sum(effects[k, v] for k, v in enumerate(cell)) + pairs[cell[0], cell[1]] for cell in cells]
    return [(*cell, float(one)) for cell, one, gone in zip(cells, y, lost, strict=True) if not gone]


def in_another_order(rows: list[tuple[int, int, int, float]], seed: int) -> tuple[dict[str, list[Any]], list[str]]:
    """The same table with factors and values in another order: names sort as they are drawn, not as they were."""
    rng = np.random.default_rng(seed)
    names = [f"{letter}{value}" for letter, value in zip("pqr", rng.permutation(3), strict=True)]
    words = [rng.permutation(4) for _ in names]
    table: dict[str, list[Any]] = {name: [f"v{words[k][row[k]]}" for row in rows] for k, name in enumerate(names)}
    return table | {"y": [row[3] for row in rows]}, [names[k] for k in rng.permutation(3)]


@pytest.mark.parametrize(("verb", "seed"), [(recombine.audit, 0), (recombine.audit, 1), (recombine.predict, 0)])
def test_nothing_hangs_on_the_order_of_factors_or_values(verb: Callable[..., Any], seed: int) -> None:
    rows = tied_world(seed)
    ends = []
    for order in range(3):
        table, factors = in_another_order(rows, order)
        expected = verb(table, factors=factors, target="y", target_kind="number").expected
        ends.append((expected.value, expected.low, expected.high, expected.of))
    assert ends[0][0] is not None
    for other in ends[1:]:
        assert other == pytest.approx(ends[0], rel=1e-6)
