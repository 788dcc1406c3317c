"""Components and spanning forests against the slowest way there is."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recombine.numerics import value_graph
from recombine.numerics.value_graph import UnionFind, components, spanning_forest


@st.composite
def rows(draw: Any, width: int | None = None) -> tuple[np.ndarray, int]:
    """Any rows of nodes, also repeated ones, rows that hold a node twice, and no rows at all."""
    nodes = draw(st.integers(1, 8))
    width = draw(st.integers(1, 4)) if width is None else width
    found = draw(st.lists(st.tuples(*[st.integers(0, nodes - 1)] * width), max_size=12))
    return np.array(found, dtype=np.int64).reshape(-1, width), nodes


def one_by_one(linked: np.ndarray, nodes: int) -> tuple[list[int], list[int]]:
    """Every row merges the sets that it touches: the label of each node, and the rows that merged any."""
    parts = [{node} for node in range(nodes)]
    merging = []
    for place, row in enumerate(linked.tolist()):
        touched = [part for part in parts if part & set(row)]
        if len(touched) > 1:
            merging.append(place)
            parts = [part for part in parts if part not in touched] + [set().union(*touched)]
    parts.sort(key=min)
    return [next(i for i, part in enumerate(parts) if node in part) for node in range(nodes)], merging


@pytest.mark.parametrize("few", [0, 500], ids=["csgraph", "loop"])
@given(rows())
def test_components(few: int, drawn: tuple[np.ndarray, int]) -> None:
    linked, nodes = drawn
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(value_graph, "_FEW_ROWS", few)
        assert components(linked, nodes).tolist() == one_by_one(linked, nodes)[0]


def test_a_chain_in_a_random_order() -> None:
    """The longest distance that there is: every label has to travel all of it."""
    links = np.stack([np.arange(2000), np.arange(2000) + 1], axis=1)[np.random.default_rng(0).permutation(2000)]
    assert not components(links, 2001).any()
    assert components(links[:400], 2001).max() == 2000 - 400


@given(rows(), st.integers(1, 5))
def test_union_find_by_pieces(drawn: tuple[np.ndarray, int], piece: int) -> None:
    linked, nodes = drawn
    parts = UnionFind(nodes)
    for start in range(0, len(linked), piece):
        parts.link(linked[start : start + piece])
    assert parts.labels().tolist() == one_by_one(linked, nodes)[0]


@given(rows(width=2))
def test_spanning_forest(drawn: tuple[np.ndarray, int]) -> None:
    pairs, nodes = drawn
    assert spanning_forest(pairs, nodes).tolist() == one_by_one(pairs, nodes)[1]
