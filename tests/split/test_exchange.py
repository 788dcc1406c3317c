"""Pairs that are in training the other way round; splits that can be evaluated without another thought."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest

import recombine
from recombine.base.errors import ColumnError

PAIRS = {
    "p1": ["a", "b", "c", "a", "b"],
    "p2": ["b", "c", "a", "c", "a"],
    "split": ["train", "train", "train", "test", "test"],
}
EITHER = {"pair": ["p1", "p2"]}


def test_a_pair_the_other_way_round_is_the_same_set() -> None:
    found = recombine.lint(PAIRS, factors=["p1", "p2"], sets=EITHER)
    assert (found.grade, found.factors) == ("failing", ("pair",))
    assert found.verdict == (
        "This split does not hold out combinations. All of the 2 test combinations are in training: nothing here is "
        "unseen."
    )
    assert found["combinations"].table.num_rows == 2
    assert "1 of 2 rows of (pair=a + c) is in training" in found["combinations"].sentence
    assert found["exchanged"].verdict == "not asked"


def test_it_is_suspected_aloud_and_changes_no_grade() -> None:
    found = recombine.lint(PAIRS, factors=["p1", "p2"])
    assert (found.grade, found["exchanged"].verdict, found["exchanged"].culprits) == ("sound", "warning", 2)
    assert "sets={'pair': ['p1', 'p2']} (--exchangeable p1,p2)" in found["exchanged"].sentence


def test_it_can_say_no() -> None:
    clean = {"p1": ["a", "b", "c", "a"], "p2": ["b", "c", "b", "c"], "split": ["train", "train", "train", "test"]}
    assert recombine.lint(clean, factors=["p1", "p2"], sets=EITHER).grade == "sound"
    assert recombine.lint(clean, factors=["p1", "p2"])["exchanged"].verdict == "not asked"
    other = PAIRS | {"p2": ["x", "y", "z", "y", "x"]}
    assert recombine.lint(other, factors=["p1", "p2"])["exchanged"].verdict == "not asked"


@pytest.mark.parametrize("seed", range(20))
def test_brute_force_finds_the_same(seed) -> None:
    rng = np.random.default_rng(seed)
    rows = sorted({(*row,) for row in rng.integers(0, 4, size=(12, 3)).tolist()})
    side = [["train", "test"][place] for place in rng.integers(0, 2, size=len(rows))]
    columns = {name: [f"v{row[k]}" for row in rows] for k, name in enumerate("abc")} | {"split": side}
    train = {row for row, where in zip(rows, side, strict=True) if where == "train"}
    test = {row for row, where in zip(rows, side, strict=True) if where == "test"}
    wrong = {(a, b, c) for a, b, c in test if (c, b, a) in train}
    suspected = recombine.lint(columns, factors=["a", "b", "c"])["exchanged"].culprits or 0
    counts = [sum(tuple(row[k] for k in order) in train for row in test) for order in ((2, 1, 0), (1, 0, 2), (0, 2, 1))]
    assert suspected == max(counts)
    found = recombine.lint(columns, factors=["a", "b", "c"], sets={"pair": ["a", "c"]})
    shown = {(frozenset((a, c)), b) for a, b, c in train}
    asked = {(frozenset((a, c)), b) for a, b, c in test}
    assert found.factors == ("pair", "b")
    assert (found["combinations"].culprits or 0) == len(asked & shown)
    assert wrong <= {(a, b, c) for a, b, c in test if (frozenset((a, c)), b) in shown}


def test_a_table_without_a_split_is_led_to_one() -> None:
    with pytest.raises(ColumnError) as caught:
        recombine.lint({"id": [1], "material": ["wool"], "garment": ["hat"]}, factors=["material", "garment"])
    assert "recombine split" in str(caught.value)
    assert "'id'" not in str(caught.value)


def test_values_that_stand_only_in_incomplete_rows_are_said_so() -> None:
    table = {"a": ["x", "x", "y", "y"], "b": ["p", "q", None, "p"], "split": ["train", "train", "train", "test"]}
    assert (
        "never appears in complete training rows: a=y" in recombine.lint(table, factors=["a", "b"])["values"].sentence
    )


def test_a_split_can_be_trained_on_and_evaluated_without_another_thought(tmp_path) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.integers(0, 5, 800).astype(str), "b": rng.integers(0, 5, 800).astype(str)})
    frame["y"] = frame.a.astype(int) + frame.b.astype(int) + 0.1 * rng.standard_normal(800)
    factors = ["a", "b"]
    assert recombine.audit(frame, factors=factors).grade
    out = tmp_path / "held.parquet"
    made = recombine.split(frame, by=recombine.HoldOutCombinations(factors), out=out)
    assert {side.name for side in made.sides} == {"train", "test", "seen"}
    assert "evaluate compares 'test' with 'seen'" in made.verdict
    assert recombine.lint(out, factors=factors).grade == "sound"
    held = pd.read_parquet(out)
    train = held[held.split == "train"]
    effects = {name: train.groupby(name).y.mean() for name in factors}
    held["guess"] = sum(held[name].map(effects[name]) for name in factors) - train.y.mean()
    found = recombine.evaluate(held, factors=factors, target="y", prediction="guess", split="split")
    assert found.verdict
    none = recombine.split(frame, by=recombine.HoldOutCombinations(factors), out=tmp_path / "b.parquet", seen_share=0)
    assert {side.name for side in none.sides} == {"train", "test"}


def test_a_value_that_training_has_in_the_other_place_is_not_new() -> None:
    table = {"p1": ["a", "a", "b", "d"], "p2": ["b", "c", "c", "a"], "split": ["train", "train", "train", "test"]}
    assert recombine.lint(table, factors=["p1", "p2"])["values"].verdict == "fail"
    found = recombine.lint(table, sets=EITHER)["values"]
    assert (found.verdict, found.culprits) == ("fail", 1)  # d is new wherever it stands, a is not
    table["p1"][3] = "c"
    assert recombine.lint(table, factors=["p1", "p2"])["values"].verdict == "fail"
    assert recombine.lint(table, sets=EITHER)["values"].verdict == "pass"


@pytest.mark.parametrize("order", [2, 3])
def test_conjunctions_of_sets_are_of_their_elements(order) -> None:
    rng = np.random.default_rng(3)
    told = set()
    for _ in range(12):
        rows = [(*rng.choice(4, 2).tolist(), int(rng.integers(3))) for _ in range(9)]
        sides = ["test" if place < 2 else "train" for place in range(9)]
        columns = {name: [f"v{row[k]}" for row in rows] for k, name in enumerate("abc")} | {"split": sides}
        held_to = recombine.Expectation("conjunctions", order=order)
        found = recombine.lint(columns, factors=["a", "b", "c"], sets={"pair": ["a", "b"]}, expect=held_to)
        parts = [frozenset([("pair", a), ("pair", b), ("c", c)]) for a, b, c in rows]
        shown = {some for one, side in zip(parts, sides, strict=True) if side == "train" for some in of(one, order)}
        tests = {one for one, side in zip(parts, sides, strict=True) if side == "test"}
        known = [one for one in tests if of(one, order) <= shown]
        assert (found["conjunctions"].culprits or 0) == len(known)
        told.add(len(known) > 0)
    assert told == {True, False}


def of(parts: frozenset, order: int) -> set[frozenset]:
    return set(map(frozenset, combinations(sorted(parts), order)))
