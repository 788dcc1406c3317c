"""Sides counted on disk: lint and evaluate say there what they say in memory."""

from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import recombine
from recombine.data import group_counts
from tests.commands import run_command
from tests.properties import examples

ROW = st.tuples(
    st.sampled_from("abc"),
    st.sampled_from(["p", "q", "r", None]),
    st.sampled_from(["train", "test", "seen", "other"]),
    st.booleans(),
    st.booleans(),
)


@given(st.lists(ROW, min_size=10, max_size=60))
@examples(20)
def test_the_same_sides_as_in_memory(rows) -> None:
    table = dict(zip(("a", "b", "split", "y", "said"), map(list, zip(*rows, strict=True)), strict=True))
    for place, (a, b, side) in enumerate((("a", "p", "train"), ("b", "q", "train"), ("a", "q", "test"))):
        table["a"][place], table["b"][place], table["split"][place] = a, b, side
    memory = recombine.lint(table, factors=["a", "b"])
    with forced_low():
        stored = recombine.lint(table, factors=["a", "b"])
    assert stored.provenance.settings["counted"].startswith("on disk")
    # in memory rows without a combination count among those of no side, here too
    for name in ("combinations", "values"):
        assert (stored[name].verdict == "fail") == (memory[name].verdict == "fail"), name
        assert stored[name].culprits == memory[name].culprits or name == "values"
    for side in stored.sides:
        assert side in memory.sides
    found = recombine.evaluate_stored(table, factors=["a", "b"], target="y", prediction="said")
    training = {(a, b) for a, b, s in zip(table["a"], table["b"], table["split"], strict=True) if s == "train" and b}
    parts = [{key[k] for key in training} for k in (0, 1)]
    by_hand: dict[str, list[bool]] = {}
    for a, b, side, y, said in zip(*table.values(), strict=True):
        if b is None or side not in ("test", "seen"):
            continue
        rung = "seen" if (a, b) in training else "unseen" if a in parts[0] and b in parts[1] else "novel"
        by_hand.setdefault(rung, []).append(y == said)
    assert {one.name: (one.rows, one.score) for one in found.scores} == {
        name: (len(right), sum(right) / len(right)) for name, right in by_hand.items()
    }


@contextmanager
def forced_low() -> Iterator[None]:
    """As if a single combination filled the memory."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(group_counts, "MOST_COMBINATIONS", 1)
        yield


def test_the_commands(tmp_path) -> None:
    rows = [(k % 7, k * 3 % 11, "test" if k % 7 == k % 11 else "train") for k in range(300)]
    columns = dict(zip("ab", list(zip(*rows, strict=True))[:2], strict=True))
    table = pa.table({**columns, "split": [side for _, _, side in rows], "y": ["u"] * 300, "said": ["u", "v"] * 150})
    pq.write_table(table, tmp_path / "t.parquet")
    with forced_low():
        said = run_command(tmp_path, "lint", "t.parquet", "--factors", "a,b")
        scored = run_command(
            tmp_path, "evaluate", "t.parquet", "--factors", "a,b", "--target", "y", "--prediction", "said", "--split",
            "split",
        )  # fmt: skip
    assert "Traceback" not in said.stderr + scored.stderr
    assert said.returncode in (0, 3), said.stderr
    assert scored.returncode == 0, scored.stderr
    assert "of the answers are right" in scored.stdout
