"""Counts on disk: the same numbers as in memory, one by one."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import recombine
from recombine.base.errors import RecombineError
from recombine.data import stored_counts
from tests.properties import examples

_SAME = ("counts", "rank", "island_count", "coverage", "factors", "islands", "thin")


def assert_same_numbers(stored: "recombine.StoredAudit", memory: "recombine.Audit") -> None:
    for name in _SAME:
        assert getattr(stored, name) == getattr(memory, name), name
    assert [one.factors for one in stored.dependence] == [one.factors for one in memory.dependence]
    for mine, theirs in zip(stored.dependence, memory.dependence, strict=True):
        numbers = [(one.cramers_v, one.nmi, *one.spread) for one in (mine, theirs)]
        assert [number is None for number in numbers[0]] == [number is None for number in numbers[1]]
        assert [number or 0.0 for number in numbers[0]] == pytest.approx([number or 0.0 for number in numbers[1]])


@given(st.lists(st.tuples(*[st.sampled_from("abcdefg")] * 2), min_size=2, max_size=40))
@examples(30)
def test_two_factors(rows: list[tuple[str, str]]) -> None:
    _compare(rows)


@given(st.lists(st.tuples(*[st.sampled_from([1, 2, 10])] * 3), min_size=2, max_size=30))
@examples(30)
def test_three_factors(rows: list[tuple[int, ...]]) -> None:
    _compare(rows)


def _compare(rows: list[tuple[Any, ...]]) -> None:
    table = {f"f{k}": list(column) for k, column in enumerate(zip(*rows, strict=True))}
    if any(len(set(column)) < 2 for column in table.values()):
        return
    memory = recombine.audit(table, factors=list(table))
    every = memory.table if memory.table.num_rows < 400 else memory.table.slice(0, 400)
    with recombine.store_counts(table, factors=list(table)) as counts:
        stored = recombine.audit_stored(counts, asked=every.select(list(table)))
    if not stored.proved:  # the bounds are from above
        assert len(table) > 2
        assert stored.counts.determined >= memory.counts.determined
        assert stored.rank >= memory.rank
        return
    assert_same_numbers(stored, memory)
    assert stored.asked["rung"].to_pylist() == every["rung"].to_pylist()
    assert stored.asked["count"].to_pylist() == every["count"].to_pylist()


def test_no_memory_left_for_the_stream(monkeypatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError("Out of Memory Error: failed to allocate 16777216 bytes")

    with recombine.store_counts({"a": [1, 2], "b": [1, 2]}, factors=["a", "b"]) as counts:
        monkeypatch.setattr(stored_counts, "arrow_batches", refuse)
        with pytest.raises(RecombineError, match="the 2 combinations on disk cannot be read") as told:
            recombine.audit_stored(counts)
    assert "ulimit -v" in told.value.instead
