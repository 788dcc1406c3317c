"""A split whose combinations are not listed keeps what one in memory promises."""

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import recombine
from recombine.base.errors import RecombineError
from recombine.data import group_counts
from recombine.verbs.split import manifest
from tests.commands import run_command
from tests.properties import examples
from tests.split.test_stored_sides import forced_low

ROWS = st.lists(st.tuples(st.sampled_from("abcdef"), st.sampled_from([1, 2, 3, 4, None])), min_size=4, max_size=60)


@given(ROWS, st.floats(0.05, 0.95), st.integers(0, 3))
@examples(30)
def test_what_is_promised_is_kept(tmp_path_factory, rows, share, seed) -> None:
    table = {"a": [a for a, _ in rows], "b": [b for _, b in rows], "id": list(range(len(rows)))}
    out = tmp_path_factory.mktemp("split") / "held.parquet"
    try:
        with forced_low():
            held = recombine.HoldOutCombinations(test_size=share, random_state=seed)
            made = recombine.split(table, factors=["a", "b"], by=held, out=out)
    except RecombineError:  # nothing could be held out, or a factor has one value
        values = [{row[place] for row in rows if row[1] is not None} for place in (0, 1)]
        assert min(map(len, values)) < 2 or share < 0.5 or len({row for row in rows if row[1]}) < 12
        return
    written = pq.read_table(out).to_pylist()
    assert sorted(row["id"] for row in written) == table["id"]
    sides = {}
    for row in written:
        if row["b"] is None:
            assert row["split"] is None
        else:
            sides.setdefault((row["a"], row["b"]), set()).add(row["split"])
    assert all(len(found) == 1 for found in sides.values())
    training = {key for key, found in sides.items() if found == {"train"}}
    for place in (0, 1):
        assert {key[place] for key in sides} == {key[place] for key in training}
    assert [side.rows for side in made.sides] == [
        sum(row["split"] == name for row in written) for name in ("train", "test")
    ]


def test_the_command_falls_back_and_says_so(tmp_path, monkeypatch) -> None:
    lines = ["a,b", *(f"x{k % 9},y{k * 7 % 11}" for k in range(400))]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    monkeypatch.setattr(group_counts, "MOST_COMBINATIONS", 20)
    read = ("t.csv", "--factors", "a,b")
    audit = run_command(tmp_path, "audit", *read, "--json")
    assert audit.returncode == 0, audit.stderr
    assert "more than 20 distinct combinations: worked out on disk" in audit.stderr
    split = run_command(tmp_path, "split", *read, "--out", "held.csv")
    assert "Kept and checked: values." in split.stdout
    refused = run_command(tmp_path, "split", *read, "--out", "other.csv", "--strata", "b")
    assert refused.returncode == 2
    for verb in ("plan", "predict"):
        said = run_command(tmp_path, verb, *read, *(("--target", "b") if verb == "predict" else ()))
        assert said.returncode == 2
        assert "Traceback" not in said.stderr
    monkeypatch.undo()
    assert recombine.lint(tmp_path / "held.csv", factors=["a", "b"])["values"].verdict == "pass"


def test_what_it_tells(tmp_path) -> None:
    table = {"a": [k % 7 for k in range(70)], "b": [str(k % 10) for k in range(69)] + [None]}
    with forced_low():
        made = recombine.split(table, factors=["a", "b"], out=tmp_path / "held.csv")
    assert made.rows == 70
    assert made.reasons == (
        "'a table in memory' has more than 1 distinct combinations: they are not listed. A hash of its values tells "
        "the side of each, how many there are of a side is an estimate (2 %), rows come in any order, and none are "
        "kept apart as 'seen'.",
        "1 row miss a factor and got no side.",
    )
    with pytest.raises(RecombineError, match="look it up in the column 'split'"):
        made.side((1, "1"))
    read = manifest.read(tmp_path / "held.split.json")
    assert manifest.difference(read) == ""
    assert manifest.lint_again(read).grade == "sound"


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"by": recombine.HoldOutCombinations(guarantee="none")}, "guarantee='none'"),
        ({"by": recombine.CombinationKFold()}, "by=CombinationKFold"),
        ({"target": "y"}, "stratify='y'"),
        ({"seen_share": 0.2}, "seen_share=0.2"),
        ({"out": "folder"}, "out='folder'"),
    ],
)
def test_what_takes_a_list_is_refused(tmp_path, given, named) -> None:
    out = tmp_path / given.pop("out", "x.csv")
    table = {"a": [1, 2, 1], "b": [1, 2, 2], "y": ["u", "u", "v"]}
    with forced_low(), pytest.raises(RecombineError, match=named):
        recombine.split(table, factors=["a", "b"], out=out, **given)
    assert not list(tmp_path.iterdir())
