"""The search over forbidden conjunctions against a walk through every combination."""

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from recombine.numerics.groups import ANY
from recombine.numerics.nogoods import Nogoods


@st.composite
def worlds(draw):
    sizes = tuple(draw(st.lists(st.integers(1, 4), min_size=1, max_size=5)))
    line = st.tuples(*(st.sampled_from([ANY, ANY, *range(size)]) for size in sizes))
    return sizes, draw(st.lists(line.filter(lambda row: any(code != ANY for code in row)), max_size=12))


def holds(row, line):
    return all(code in (ANY, value) for code, value in zip(line, row, strict=True))


@given(worlds())
@settings(max_examples=300, deadline=None)
def test_counts_and_feasible_conjunctions_are_those_of_a_walk_through_all(world):
    sizes, lines = world
    nogoods = Nogoods.of(lines, sizes)
    left = [row for row in itertools.product(*map(range, sizes)) if not any(holds(row, line) for line in lines)]
    assert nogoods.count() == len(left)
    for factors in itertools.combinations(range(len(sizes)), min(2, len(sizes))):
        there = {tuple(row[k] for k in factors) for row in left}
        every = itertools.product(*(range(sizes[k]) for k in factors))
        assert nogoods.infeasible(factors).tolist() == [one not in there for one in every]


def test_thirty_factors_are_counted_in_no_time():
    rng = np.random.default_rng(0)
    lines = np.full((15, 30), ANY)
    for line in lines:
        line[rng.choice(30, 3, replace=False)] = rng.integers(0, 4, 3)
    found = Nogoods.of(lines, (4,) * 30).count()
    assert 4**30 * (1 - 15 / 64) <= found < 4**30
