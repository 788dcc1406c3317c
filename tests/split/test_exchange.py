"""Pairs that are in training the other way round; splits that can be evaluated without another thought."""

import numpy as np
import pandas as pd
import pytest

import recombine
from recombine.base.errors import ColumnError, SettingError

PAIRS = {
    "p1": ["a", "b", "c", "a", "b"],
    "p2": ["b", "c", "a", "c", "a"],
    "split": ["train", "train", "train", "test", "test"],
}


def test_a_pair_the_other_way_round_is_a_leak_where_it_is_asked_for() -> None:
    found = recombine.lint(PAIRS, factors=["p1", "p2"], expect=recombine.Expectation(exchangeable=["p1", "p2"]))
    assert found.grade == "failing"
    assert found.verdict == (
        "This split does not hold out combinations. 2 of 2 test combinations are in training with p1 and p2 "
        "exchanged: (p1=a, p2=c); (p1=b, p2=a)."
    )
    assert found["exchanged"].table.num_rows == 2


def test_it_is_suspected_aloud_and_changes_no_grade() -> None:
    found = recombine.lint(PAIRS, factors=["p1", "p2"])
    assert (found.grade, found["exchanged"].verdict) == ("sound", "warning")
    assert "(--exchangeable p1,p2)" in found["exchanged"].sentence


def test_it_can_say_no() -> None:
    clean = {"p1": ["a", "b", "c", "a"], "p2": ["b", "c", "b", "c"], "split": ["train", "train", "train", "test"]}
    assert (
        recombine.lint(clean, factors=["p1", "p2"], expect=recombine.Expectation(exchangeable=["p1", "p2"]))[
            "exchanged"
        ].verdict
        == "pass"
    )
    other = PAIRS | {"p2": ["x", "y", "z", "y", "x"]}
    assert recombine.lint(other, factors=["p1", "p2"])["exchanged"].verdict == "not asked"


@pytest.mark.parametrize(("given", "said"), [(["p1", "q"], "no factor 'q'"), (["p1"], "exchanged with itself")])
def test_wrong_names_are_refused(given, said) -> None:
    with pytest.raises(SettingError, match=said):
        recombine.lint(PAIRS, factors=["p1", "p2"], expect=recombine.Expectation(exchangeable=given))


@pytest.mark.parametrize("seed", range(20))
def test_brute_force_finds_the_same(seed) -> None:
    rng = np.random.default_rng(seed)
    rows = sorted({(*row,) for row in rng.integers(0, 4, size=(12, 3)).tolist()})
    side = [["train", "test"][place] for place in rng.integers(0, 2, size=len(rows))]
    columns = {name: [str(row[k]) for row in rows] for k, name in enumerate("abc")} | {"split": side}
    train = {row for row, where in zip(rows, side, strict=True) if where == "train"}
    test = {row for row, where in zip(rows, side, strict=True) if where == "test"}
    wrong = {(a, b, c) for a, b, c in test if (c, b, a) in train}
    found = recombine.lint(columns, factors=["a", "b", "c"], expect=recombine.Expectation(exchangeable=["a", "c"]))
    assert found["exchanged"].culprits == len(wrong)


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
    either = recombine.Expectation(exchangeable=["p1", "p2"])
    assert recombine.lint(table, factors=["p1", "p2"])["values"].verdict == "fail"
    found = recombine.lint(table, factors=["p1", "p2"], expect=either)["values"]
    assert (found.verdict, found.culprits) == ("fail", 1)  # d is new wherever it stands, a is not
    table["p1"][3] = "c"
    assert recombine.lint(table, factors=["p1", "p2"])["values"].verdict == "fail"
    assert recombine.lint(table, factors=["p1", "p2"], expect=either)["values"].verdict == "pass"


def test_conjunctions_of_exchangeable_factors_are_those_of_a_set() -> None:
    rng = np.random.default_rng(3)
    for _ in range(12):
        rows = [(*rng.choice(4, 2).tolist(), int(rng.integers(3))) for _ in range(12)]
        sides = ["train" if place % 3 else "test" for place in range(12)]
        columns = {name: [f"v{row[k]}" for row in rows] for k, name in enumerate("abc")} | {"split": sides}
        held_to = recombine.Expectation("conjunctions", order=2, exchangeable=["a", "b"])
        found = recombine.lint(columns, factors=["a", "b", "c"], expect=held_to)["conjunctions"]
        shown = {pair for row, side in zip(rows, sides, strict=True) if side == "train" for pair in _pairs(row)}
        tests = {row for row, side in zip(rows, sides, strict=True) if side == "test"}
        known = [row for row in tests if _pairs(row) <= shown]
        assert (found.culprits or 0) == len(known)


def _pairs(row: tuple[int, int, int]) -> set[tuple[object, ...]]:
    one, other, third = row
    return {("set", *sorted((one, other))), ("beside", one, third), ("beside", other, third)}
