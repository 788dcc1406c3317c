"""What could occur and what did: sizes, impossible conjunctions, encoding, and a support's own arithmetic."""

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import recombine
from recombine import Factor, Space, Support
from recombine.base.errors import SettingError, SpaceError
from recombine.data.support import LabelTarget, NumberTarget
from tests.properties import examples
from tests.twins import every, support_of, supports


def space_of(sizes: tuple[int, ...]) -> Space:
    return Space(tuple(Factor(f"f{k}", tuple(range(size)), declared=True) for k, size in enumerate(sizes)))


@st.composite
def forbidding(draw: Any) -> tuple[Space, list[dict[str, Any]]]:
    """A small space and some conjunctions, which may overlap, repeat or cover one another."""
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4).map(tuple))
    space = space_of(sizes)
    chosen = st.sets(st.sampled_from(range(len(sizes))), min_size=1)
    conjunctions = [
        {f"f{k}": draw(st.integers(0, sizes[k] - 1)) for k in sorted(draw(chosen))}
        for _ in range(draw(st.integers(0, 5)))
    ]
    return space, conjunctions


@given(forbidding())
def test_impossible_combinations_are_counted_once_each(drawn: tuple[Space, list[dict[str, Any]]]) -> None:
    space, conjunctions = drawn
    cells = every(space.sizes)
    impossible = [any(all(cell[int(n[1:])] == v for n, v in c.items()) for c in conjunctions) for cell in cells]
    smaller = space.forbidding(conjunctions)
    assert smaller.product == len(cells)
    assert smaller.impossible_count == sum(impossible)
    assert smaller.size == len(cells) - sum(impossible)
    assert smaller.is_impossible(cells).tolist() == impossible


@given(forbidding())
def test_the_order_of_the_impossible_does_not_matter(drawn: tuple[Space, list[dict[str, Any]]]) -> None:
    space, conjunctions = drawn
    assert space.forbidding(conjunctions) == space.forbidding(conjunctions[::-1] + conjunctions)


def test_spaces_of_10_to_the_12_and_far_beyond_are_exact() -> None:
    space = space_of((10**4, 10**4, 10**4))
    assert space.size == 10**12
    assert space.forbidding([{"f0": 1}, {"f0": 2}]).size == 10**12 - 2 * 10**8
    assert space.forbidding([{"f0": 1, "f1": 5}]).size == 10**12 - 10**4
    # a row and a column share one cell
    assert space.forbidding([{"f0": 1}, {"f1": 5}]).size == 10**12 - (10**8 + 10**8 - 10**4)
    wide = space_of((1000,) * 10)
    assert wide.size == 10**30
    assert wide.forbidding([{"f9": 0}]).size == 10**30 - 10**27
    assert isinstance(wide.size, int)


def test_too_many_impossible_cells_are_counted_and_refused_where_they_would_be_written_out() -> None:
    space = space_of((10**4, 10**4, 10**4)).forbidding([{"f0": 1}, {"f1": 1}, {"f2": 1}])
    assert space.size == 9_999**3
    with pytest.raises(SpaceError, match="cells") as caught:
        _ = space.impossible_cells
    assert "declare fewer" in caught.value.instead


def test_an_empty_conjunction_is_refused() -> None:
    with pytest.raises(SpaceError, match="names no factor"):
        space_of((2, 2)).forbidding([{}])


def test_unknown_factors_and_values_are_refused_with_the_nearest() -> None:
    space = Space.of({"colour": ["red", "blue"], "shape": ["circle", "square"]})
    with pytest.raises(SpaceError, match="colour = 'rd'") as value:
        space.forbidding([{"colour": "rd"}])
    assert "'red'" in value.value.instead
    with pytest.raises(SettingError, match="no factor 'color'") as factor:
        space.forbidding([{"color": "red"}])
    assert "'colour'" in factor.value.instead


def test_encode() -> None:
    space = Space.of({"colour": ["red", "blue"], "size": [1, 2, 3], "new": [True, False]})
    assert space.encode([("blue", 3, False), ("red", 1, True)]).tolist() == [[1, 2, 1], [0, 0, 0]]
    assert space.encode([{"size": 2, "new": True, "colour": "red"}]).tolist() == [[0, 1, 0]]
    assert space.encode([("green", 9, None)]).tolist() == [[-1, -1, -1]]
    assert space.encode([("red", "2", "true")]).tolist() == [[0, 1, 0]]  # as written on a command line
    assert space.encode([(["red"], {}, set())]).tolist() == [[-1, -1, -1]]  # cannot be values at all
    assert space.encode([]).shape == (0, 3)
    with pytest.raises(SettingError, match="has no 'new'"):
        space.encode([{"colour": "red", "size": 1}])
    with pytest.raises(SettingError, match="has 2 values"):
        space.encode([("red", 1)])


@given(st.lists(st.integers(1, 5), min_size=1, max_size=4).map(tuple))
def test_cells_and_values_go_round(sizes: tuple[int, ...]) -> None:
    space = space_of(sizes)
    cells = every(sizes)
    values = [tuple(factor.values[code] for factor, code in zip(space.factors, cell, strict=True)) for cell in cells]
    assert space.encode(values).tolist() == cells.tolist()


def test_a_boolean_is_not_the_number_one() -> None:
    assert Factor("new", (False, True)).code(True) == 1
    assert Factor("new", (False, True)).code("true") == 1
    assert Factor("digit", (0, 1)).code(1) == 1
    assert Factor("new", (False, True)).labels == ("false", "true")


@given(supports())
def test_project_is_what_a_smaller_table_would_give(support: Support) -> None:
    for k in range(len(support.space.sizes)):
        kept = [j for j in range(len(support.space.sizes)) if j != k]
        projected = support.project(kept)
        tally = Counter()
        for line, count in zip(support.codes.tolist(), support.counts, strict=True):
            tally[tuple(line[j] for j in kept)] += count
        assert {tuple(line): n for line, n in zip(projected.codes.tolist(), projected.counts, strict=True)} == tally
        assert projected.codes.tolist() == sorted(projected.codes.tolist())
        assert projected.total == support.total
        assert projected.space.sizes == tuple(support.space.sizes[j] for j in kept)


@given(supports())
def test_value_counts(support: Support) -> None:
    for k, counts in enumerate(support.value_counts):
        tally = Counter()
        for line, count in zip(support.codes.tolist(), support.counts, strict=True):
            tally[line[k]] += count
        assert counts.tolist() == [tally[value] for value in range(support.space.sizes[k])]
        assert counts.sum() == support.total


def test_project_takes_names_and_positions_in_any_order() -> None:
    support = support_of([[0, 1, 2], [1, 1, 0]], sizes=(2, 2, 3))
    assert support.project(["f2", "f0"]) == support.project([0, 2]) == support.project((2, "f0", 0))
    with pytest.raises(SettingError, match="no factor 'f9'"):
        support.project(["f9"])


rows_of_a_table = st.lists(
    st.tuples(
        st.sampled_from(["a", "b", "ç"]),
        st.sampled_from([1, 2, 30]),
        st.booleans(),
        st.sampled_from(["x", "y", None]),
        st.sampled_from([0.5, 2.0, None]),
    ),
    min_size=8,
    max_size=30,
)
NAMES = ["text", "whole", "truth", "label", "price"]


def table_of(rows: list[tuple[Any, ...]]) -> dict[str, list[Any]]:
    edges = [("a", 1, True, "x", 0.5), ("b", 2, False, "y", 2.0)]  # every factor varies
    return dict(zip(NAMES, map(list, zip(*edges, *rows, strict=True)), strict=True))


@pytest.mark.slow
@examples(8)
@given(rows_of_a_table, st.randoms(use_true_random=False))
def test_the_order_of_the_rows_does_not_matter(rows: list[tuple[Any, ...]], random: Any) -> None:
    shuffled = random.sample(rows, len(rows))
    for target in (None, "label", "price"):
        asked: dict[str, Any] = {"factors": NAMES[:3], "target": target}
        assert recombine.read(table_of(rows), **asked) == recombine.read(table_of(shuffled), **asked)


@examples(8)
@given(rows_of_a_table)
def test_the_order_of_the_factors_only_renames(rows: list[tuple[Any, ...]]) -> None:
    one = recombine.read(table_of(rows), factors=["text", "whole", "truth"], target="price")
    two = recombine.read(table_of(rows), factors=["truth", "text", "whole"], target="price")
    assert two.space.names == ("truth", "text", "whole")
    assert isinstance(one.target, NumberTarget)
    assert isinstance(two.target, NumberTarget)
    assert _cells(one, one.counts) == _cells(two, two.counts)
    assert _cells(one, one.target.total) == _cells(two, two.target.total)
    assert _cells(one, one.target.squares) == _cells(two, two.target.squares)


def _cells(support: Support, numbers: np.ndarray) -> dict[Any, float]:
    return {
        tuple(sorted(support.combination(k).items(), key=lambda item: item[0])): float(numbers[k])
        for k in range(len(support))
    }


@examples(8)
@given(rows_of_a_table)
def test_targets_are_what_counting_by_hand_gives(rows: list[tuple[Any, ...]]) -> None:
    table = table_of(rows)
    lines = list(zip(*(table[name] for name in NAMES), strict=True))
    labels = recombine.read(table, factors=NAMES[:3], target="label").target
    prices = recombine.read(table, factors=NAMES[:3], target="price")
    assert isinstance(labels, LabelTarget)
    assert isinstance(prices.target, NumberTarget)
    tally = Counter((line[:3], line[3]) for line in lines if line[3] is not None)
    cells = [tuple(prices.combination(k).values()) for k in range(len(prices))]
    found = {
        (cells[c], labels.classes[k]): n for c, k, n in zip(labels.combination, labels.label, labels.count, strict=True)
    }
    assert found == tally
    for index, cell in enumerate(cells):
        told = [line[4] for line in lines if line[:3] == cell and line[4] is not None]
        assert prices.target.count[index] == len(told)
        assert prices.target.total[index] == sum(told)
        assert prices.target.squares[index] == sum(p * p for p in told)


def test_supports_differ_where_they_should() -> None:
    one = support_of([[0, 0], [1, 1]])
    assert one == support_of([[1, 1], [0, 0]])
    assert one != support_of([[0, 0], [1, 0]], sizes=(2, 2))
    assert one != support_of([[0, 0], [1, 1], [1, 1]])
    assert one != support_of([[0, 0], [1, 1], [0, 1]])
    assert one != support_of([[0, 0], [1, 1]], sizes=(2, 3))
    assert one != "a support"
    with pytest.raises(TypeError):
        hash(one)


def test_a_seen_combination_cannot_be_impossible() -> None:
    support = support_of([[0, 0], [1, 1]])
    with pytest.raises(SpaceError, match="1 combinations declared impossible were seen") as caught:
        Support(support.space.forbidding([{"f0": 1, "f1": 1}]), support.codes, support.counts)
    assert "{'f0': 1, 'f1': 1}" in caught.value.what
