"""Determinacy: the known answers, and equality with brute force on random tables."""

import numpy as np
import pytest
from hypothesis import given

import recombine
from recombine.verbs.audit.determinacy import determinacy
from recombine.verbs.audit.determined_space import _halves
from tests.properties import examples
from tests.twins import brute_determined, digits, every, one_hot, support_of, supports

DIGIT_PAIRS = [(y, (y + step) % 10) for y in range(10) for step in (0, 1)]


@pytest.mark.parametrize(
    ("seen", "rank", "determined"),
    [
        ("000 011 111", 3, 4),
        ("000 100 010 001", 4, 8),
        ("000 011 101 110", 4, 8),
        ("00 01 10", 3, 4),
        ("00 11 22 23", 4, 4),
        ("00 01 11 12 22 23", 6, 12),
        ("00 01 02 03 10 20", 6, 12),
    ],
)
def test_known_answers(seen: str, rank: int, determined: int) -> None:
    found = determinacy(digits(seen))
    assert found.rank == rank
    assert found.count() == determined


def test_the_one_unseen_combination_that_three_corners_of_a_cube_determine() -> None:
    support = digits("000 011 111")
    found = determinacy(support).determined(every(support.space.sizes))
    assert [f"{a}{b}{c}" for a, b, c in every((2, 2, 2))[found]] == ["000", "011", "100", "111"]


def test_digit_pairs_are_one_cycle_that_determines_everything() -> None:
    found = determinacy(support_of(DIGIT_PAIRS))
    assert (found.rank, found.island_count, found.count()) == (19, 1, 100)


@examples(300)
@given(supports())
def test_equals_brute_force(support) -> None:
    found = determinacy(support)
    cells = every(support.space.sizes)
    expected = brute_determined(support)
    np.testing.assert_array_equal(found.determined(cells), expected)
    assert found.count() == expected.sum()
    assert found.rank == np.linalg.matrix_rank(one_hot(support.codes, support.space.sizes))


@examples(100)
@given(supports())
def test_blocks_are_the_values_whose_difference_is_fixed(support) -> None:
    design = one_hot(support.codes, support.space.sizes)
    project = np.eye(design.shape[1]) - np.linalg.pinv(design) @ design
    offsets = np.concatenate([[0], np.cumsum(support.space.sizes)])
    for k, block in enumerate(determinacy(support).blocks):
        for a in np.flatnonzero(block >= 0):
            for b in np.flatnonzero(block >= 0):
                difference = project[offsets[k] + a] - project[offsets[k] + b]
                assert (block[a] == block[b]) == (np.abs(difference).max() < 1e-8)


@examples(60)
@given(supports())
def test_another_seed_gives_the_same_answer(support) -> None:
    first, second = (determinacy(support, seed=seed) for seed in (0, 12345))
    assert (first.count(), first.rank) == (second.count(), second.rank)


def test_impossible_combinations_leave_the_count() -> None:
    support = digits("00 01 10")
    space = support.space.forbidding([{"f0": 1, "f1": 1}])
    forbidden = type(support)(space, support.codes, support.counts)
    assert determinacy(support).count_impossible(forbidden) == (1, 0)


@pytest.mark.parametrize("factors", [3, 4])
def test_a_loose_table_with_many_values_equals_brute_force(factors: int) -> None:
    """Large enough for peeling, parameters and reduction all to take part."""
    rng = np.random.default_rng(factors)
    for size, rows in ((12, 20), (12, 30), (9, 40), (15, 34)):
        support = support_of(rng.integers(0, size, (rows, factors)), sizes=[size] * factors)
        found = determinacy(support)
        assert found.rank == np.linalg.matrix_rank(one_hot(support.codes, support.space.sizes))
        if size**factors <= 4000:
            assert found.count() == brute_determined(support).sum()


@examples(60)
@given(support=supports(most_factors=4))
def test_counting_in_small_parts_gives_the_same_number(support) -> None:
    found = determinacy(support)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("recombine.verbs.audit.determined_space._CHUNK", 3)
        patched.setattr("recombine.verbs.audit.determined_space._MOST_HELD", 25)
        assert found.count() == int(brute_determined(support).sum())


def test_what_would_fill_the_memory_is_refused_before_it_is_begun() -> None:
    """Seen before: 30 million sums were held at once, some seven gigabytes."""
    rng = np.random.default_rng(0)
    wide = [(rng.integers(0, 10**6, (3_000, 4)), np.ones(3_000, dtype=np.int64)) for _ in range(6)]
    with pytest.raises(recombine.RecombineError, match="audit fewer factors at a time"):
        _halves(wide)
