"""The one primitive against brute force."""

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from recombine.numerics.groups import Groups, distinct, group, number
from tests.twins import supports


@st.composite
def codes(draw: Any) -> tuple[np.ndarray, tuple[int, ...]]:
    """Any lines, also repeated and in any order, over factors small and large."""
    width = draw(st.integers(1, 4))
    sizes = tuple(draw(st.lists(st.sampled_from([1, 2, 3, 7, 300, 100_000]), min_size=width, max_size=width)))
    row = st.tuples(*[st.integers(0, size - 1) for size in sizes])
    rows = draw(st.lists(row, max_size=30))
    return np.array(rows, dtype=np.int32).reshape(len(rows), width), sizes


def brute(lines: np.ndarray, factors: tuple[int, ...]) -> tuple[list[tuple[int, ...]], list[int]]:
    """The distinct conjunctions in order, and the place of each line among them."""
    parts = [tuple(int(line[k]) for k in factors) for line in lines]
    listed = sorted(set(parts))
    return listed, [listed.index(part) for part in parts]


@given(codes())
def test_groups_are_the_sorted_distinct_conjunctions(drawn: tuple[np.ndarray, tuple[int, ...]]) -> None:
    lines, sizes = drawn
    for t in range(1, len(sizes) + 1):
        for factors in combinations(range(len(sizes)), t):
            groups = group(lines, sizes=sizes, factors=factors)
            listed, ids = brute(lines, factors)
            assert groups.size == len(listed)
            assert groups.ids.tolist() == ids
            assert groups.ids.dtype == groups.keys.dtype == np.int64
            assert groups.combinations.tolist() == [ids.count(g) for g in range(len(listed))]
            assert [tuple(lines[r][list(factors)]) for r in groups.representatives] == listed
            assert groups.representatives.tolist() == [ids.index(g) for g in range(len(listed))]
            assert groups.total(np.ones(len(lines))).tolist() == groups.combinations.tolist()


@given(codes(), st.randoms(use_true_random=False))
def test_lookup_finds_what_was_seen_and_nothing_else(drawn: tuple[np.ndarray, tuple[int, ...]], random: Any) -> None:
    lines, sizes = drawn
    factors = tuple(range(len(sizes)))
    groups = group(lines, sizes=sizes, factors=factors)
    listed, ids = brute(lines, factors)
    assert groups.lookup(lines).tolist() == ids
    strange = [[random.choice([-1, 0, size - 1, random.randrange(size)]) for size in sizes] for _ in range(20)]
    asked = np.array(strange, dtype=np.int32)
    expected = [listed.index(tuple(line)) if tuple(line) in listed else -1 for line in strange]
    assert groups.lookup(asked).tolist() == expected


@given(codes(), st.integers(0, 2**32 - 1))
def test_group_numbers_do_not_depend_on_the_order_of_the_lines(
    drawn: tuple[np.ndarray, tuple[int, ...]], seed: int
) -> None:
    lines, sizes = drawn
    factors = tuple(range(len(sizes)))
    shuffle = np.random.default_rng(seed).permutation(len(lines))
    straight = group(lines, sizes=sizes, factors=factors)
    shuffled = group(lines[shuffle], sizes=sizes, factors=factors)
    assert shuffled.keys.tolist() == straight.keys.tolist()
    assert shuffled.ids.tolist() == straight.ids[shuffle].tolist()


@given(supports())
def test_a_known_parent_changes_nothing(support: Any) -> None:
    sizes = support.space.sizes
    factors = tuple(range(len(sizes)))
    parent = group(support.codes, sizes=sizes, factors=factors[:-1])
    with_parent = group(support.codes, sizes=sizes, factors=factors, parent=parent)
    alone = group(support.codes, sizes=sizes, factors=factors)
    assert with_parent.ids.tolist() == alone.ids.tolist()
    assert with_parent.keys.tolist() == alone.keys.tolist()


@pytest.mark.parametrize("kind", [np.uint8, np.int8, np.int16, np.int32, np.int64])
def test_narrow_codes_do_not_overflow(kind: type[np.generic]) -> None:
    """100 x 100 is more than a byte holds; the keys are built in 64 bits whatever comes in."""
    random = np.random.default_rng(0)
    lines = random.integers(0, 100, size=(2_000, 4))
    narrow = group(lines.astype(kind), sizes=(100,) * 4, factors=(0, 1, 2, 3))
    listed, ids = brute(lines, (0, 1, 2, 3))
    assert narrow.size == len(listed)
    assert narrow.ids.tolist() == ids
    assert narrow.lookup(lines.astype(kind)).tolist() == ids


def test_four_factors_of_a_hundred_thousand_values() -> None:
    """10^20 combinations fit neither 32 nor 64 bits: a naive product of sizes would alias some of them."""
    sizes = (100_000,) * 4
    random = np.random.default_rng(1)
    lines = random.integers(0, 100_000, size=(20_000, 4)).astype(np.int32)
    lines[:2] = [[0, 0, 0, 0], [99_999] * 4]
    groups = group(lines, sizes=sizes, factors=(0, 1, 2, 3))
    assert groups.size == len(np.unique(lines, axis=0))
    assert (np.unique(lines, axis=0, return_inverse=True)[1].ravel() == groups.ids).all()
    assert groups.lookup(lines[:100]).tolist() == groups.ids[:100].tolist()
    alias = (
        18_446,
        74_407,
        37_095,
        51_616,
    )  # 2^64 written with these sizes: one product of 64 bits takes it for (0, 0, 0, 0)
    assert groups.lookup(np.array([alias], dtype=np.int32)).tolist() == [-1]


@given(st.lists(st.integers(0, 50_000), max_size=40), st.sampled_from([np.int32, np.int64, np.uint16]))
@example([0], np.int32)
@example([50_000, 0, 50_000], np.uint16)
def test_number_and_distinct(raw: list[int], kind: type[np.generic]) -> None:
    """By counting where the keys are dense, by sorting where they are not: the answer is one."""
    for bound in (50_001, 10**12):
        keys, ids = number(np.array(raw, dtype=kind), bound)
        assert keys.tolist() == sorted(set(raw))
        assert [keys[i] for i in ids] == raw
        assert keys.dtype == ids.dtype == np.int64
        assert distinct(np.array(raw, dtype=kind), bound).tolist() == sorted(set(raw))


def test_no_lines_have_no_groups() -> None:
    groups = group(np.zeros((0, 2), dtype=np.int32), sizes=(3, 3), factors=(0, 1))
    assert isinstance(groups, Groups)
    assert groups.size == 0
    assert groups.combinations.tolist() == groups.representatives.tolist() == []
    assert groups.lookup(np.array([[0, 0]], dtype=np.int32)).tolist() == [-1]
