"""The conjunction that a combination misses, against a search through every set of factors."""

from itertools import combinations

import hypothesis.strategies as st
import numpy as np
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
    nothing = missing_conjunctions(support, np.zeros((0, 3), dtype=np.int32))
    assert nothing.shares() == {}
    assert len(nothing.leading([(0, 1)])[1]) == 0


def test_the_first_set_of_an_order_leads():
    seen = recombine.read({"a": [0, 0, 1], "b": [0, 1, 0], "c": [0, 1, 1]}, factors=["a", "b", "c"])
    found = missing_conjunctions(seen, seen.space.encode([(1, 1, 0), (0, 0, 1), (0, 0, 0)]))
    assert [found.of(place) for place in range(3)] == [((0, 1), (0, 2), (1, 2)), ((0, 1, 2),), ()]
    assert found.leading([(1, 2), (0, 1)])[1].tolist() == [0, -1, -1]
    assert found.leading([(0, 1, 2), (0, 2)])[1].tolist() == [1, 0, -1]
