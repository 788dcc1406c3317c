"""What several impossible conjunctions rule out together is impossible too: held against a brute force."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import recombine
from recombine.base.errors import SpaceError
from recombine.data.space import Factor, Space
from recombine.data.support import Support
from recombine.verbs.audit.combination_status import STATES, pair_maps
from recombine.verbs.audit.coverage import order_coverage
from recombine.verbs.audit.determinacy import determinacy
from recombine.verbs.plan.collectable import Collectable, Costs
from tests.twins import every

VALUES = {"a": ["x", "y"], "b": ["p", "q"], "c": [1, 2]}
BOTH = [{"a": "x", "b": "p", "c": 1}, {"a": "x", "b": "p", "c": 2}]


def test_two_triples_rule_out_a_pair() -> None:
    space = Space.of(VALUES, impossible=BOTH)
    pair = space.restricted((0, 1))
    assert pair.size == 3
    assert pair.is_impossible(np.array([[0, 0], [0, 1], [1, 0], [1, 1]])).tolist() == [True, False, False, False]
    assert space.restricted((1, 2)).size == 4
    assert Space.of(VALUES, impossible=BOTH[:1]).restricted((0, 1)).size == 4


def test_the_audit_counts_and_draws_it() -> None:
    rows = [row for row in itertools.product(*VALUES.values()) if row[:2] != ("x", "p")]
    table = {name: [row[k] for row in rows] for k, name in enumerate(VALUES)}
    found = recombine.audit(recombine.read(table, factors=list(VALUES), impossible=BOTH))
    assert [(one.seen, one.possible) for one in found.coverage] == [(6, 6), (11, 11), (6, 6)]
    assert found.share("pairs") == 1.0
    assert found.grade == "sound"
    (drawn,) = [one for one in found.maps if one.factors == ("a", "b")]
    assert [STATES[state] for state in drawn.state].count("impossible") == 1


def test_values_ruled_out_by_several_lines() -> None:
    lines = [{"a": "x", "b": value} for value in VALUES["b"]]
    space = Space.of(VALUES, impossible=lines)
    assert space.restricted((0,)).size == 1
    assert space.restricted((0, 2)).size == 2


@st.composite
def spaces(draw: st.DrawFn) -> Space:
    sizes = draw(st.lists(st.integers(2, 3), min_size=2, max_size=4))
    line = st.tuples(*(st.integers(-1, size - 1) for size in sizes)).filter(lambda row: max(row) >= 0)
    factors = tuple(Factor(f"f{k}", tuple(range(size))) for k, size in enumerate(sizes))
    return Space(factors, tuple(sorted(draw(st.sets(line, max_size=14)))))


def possible_parts(space: Space, chosen: tuple[int, ...]) -> set[tuple[int, ...]]:
    """The twin: the conjunctions that some possible combination holds."""
    whole = every(space.sizes)
    return set(map(tuple, whole[~space.is_impossible(whole)][:, list(chosen)].tolist()))


@given(spaces())
def test_every_part_against_the_whole_space(space: Space) -> None:
    for order in range(1, len(space.sizes)):
        for chosen in itertools.combinations(range(len(space.sizes)), order):
            held = possible_parts(space, chosen)
            if not held:  # every combination is impossible: no part speaks of it where no line does
                continue
            part = space.restricted(chosen)
            cells = every(part.sizes)
            assert set(map(tuple, cells[~part.is_impossible(cells)].tolist())) == held
            assert part.size == len(held)


@given(spaces())
def test_the_plan_counts_the_same(space: Space) -> None:
    whole = every(space.sizes)
    possible = whole[~space.is_impossible(whole)]
    if not len(possible):
        return
    support = Support(space, np.asfortranarray(possible[:1]), np.ones(1), rows=1)
    forbidden = Collectable(support, Costs.of(None, space)).forbidden
    for chosen in itertools.combinations(range(len(space.sizes)), 2):
        infeasible = int(forbidden.infeasible(chosen).sum())
        assert math.prod(space.sizes[k] for k in chosen) - infeasible == space.restricted(chosen).size
    if len(space.sizes) > 2:
        assert order_coverage(support)[1].seen == math.comb(len(space.sizes), 2)
    assert pair_maps(support, determinacy(support))


def test_what_is_too_much_to_write_out_is_searched_and_only_a_list_of_cells_is_refused() -> None:
    factors = tuple(Factor(f"f{k}", tuple(range(100))) for k in range(6))
    lines = tuple(tuple(v if k in (j, j + 1) else -1 for k in range(6)) for j in range(5) for v in range(2))
    space = Space(factors, lines)
    assert space.restricted((0, 1)).size == 100**2 - 2
    # a walk along the six factors: in each state the ways so far, by whether the last value is 0, 1 or another
    ways = np.array([1, 1, 98], dtype=object)
    for _ in range(5):
        ways = np.array([ways.sum() - ways[0], ways.sum() - ways[1], 98 * ways.sum()])
    assert space.size == ways.sum()
    with pytest.raises(SpaceError, match=r"stand for .* cells"):
        assert space.impossible_cells
