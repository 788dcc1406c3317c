"""A weight says how many examples a row stands for: 0 is none, and what is no number of examples is refused."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import recombine
from recombine.base.errors import ColumnError
from recombine.cli.app import app

TABLE = {
    "a": ["x", "x", "x", "y", "y", "z"],
    "b": ["p", "q", "r", "p", "r", "p"],
    "y": [1.0, 2.0, 2.0, 3.0, 4.0, 5.0],
    "label": ["u", "v", "v", "u", "v", "w"],
    "w": [1.0, 0.0, 1.0, 2.0, 0.0, 0.0],
}
AB = ["a", "b"]


@pytest.mark.parametrize("target", [None, "y", "label"])
def test_rows_of_weight_zero_are_not_there(target: str | None) -> None:
    there = [place for place, weight in enumerate(TABLE["w"]) if weight > 0]
    short = {name: [values[place] for place in there] for name, values in TABLE.items()}
    support = recombine.read(TABLE, factors=AB, target=target, weight="w")
    assert support == recombine.read(short, factors=AB, target=target, weight="w")
    assert (len(support), support.rows, support.left_out) == (3, 6, {"(weight 0)": 3})
    assert [len(factor.values) for factor in support.space.factors] == [2, 2]


def test_one_meaning_in_every_sentence() -> None:
    """Seen before: "5 of 9 combinations were seen", and of the values of a combination "never"."""
    found = recombine.audit(recombine.read(TABLE, factors=AB, target="y", weight="w"))
    assert found.counts.seen == found.coverage[1].seen == 3
    assert all(factor.seen == factor.values for factor in found.factors)
    assert "3 of 6 rows have weight 0 and count for nothing." in found.reasons
    plan = recombine.plan(recombine.read(TABLE, factors=AB, weight="w"))
    assert "3 of 6 rows have weight 0 and count for nothing." in plan.reasons
    said = recombine.predict(recombine.read(TABLE, factors=AB, target="y", weight="w"))
    assert "3 of 6 rows have weight 0 and count for nothing." in said.reasons


def test_a_row_of_weight_zero_beside_others_is_told_too() -> None:
    table = {"a": [0, 0, 0, 1, 1], "b": [0, 0, 1, 0, 1], "w": [0, 3, 1, 1, 1]}
    support = recombine.read(table, factors=AB, weight="w")
    assert support.counts.tolist() == [3.0, 1.0, 1.0, 1.0]
    assert support.weightless == "1 of 5 rows has weight 0 and counts for nothing."


def test_a_declared_value_of_weight_zero_is_novel() -> None:
    support = recombine.read(TABLE, factors=AB, weight="w", domain={"a": ["x", "y", "z"]})
    found = recombine.audit(support)
    assert found.counts.novel == 2
    assert found.factors[0].never_seen == ("z",)


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        ([1, -1, 1, 1], "is negative somewhere"),
        ([1, -math.inf, 1, 1], "is negative somewhere"),
        ([1, math.nan, 1, 1], "is not finite"),
        ([1, math.inf, 1, 1], "is not finite"),
        ([1e308, 1e308, 1e308, 1e308], "is infinite somewhere, or adds up to more than 1e+100"),
        ([1, None, 1, 1], "is missing in 1 rows"),
        ([0, 0, 0, 0], "is 0 in every row that holds a whole combination"),
    ],
)
def test_what_is_no_number_of_examples_is_refused(weights: list[Any], said: str) -> None:
    table = {"a": [0, 0, 1, 1], "b": [0, 1, 0, 1], "w": np.array(weights, dtype=float)}
    if None in weights:
        table["w"] = weights
    with pytest.raises(ColumnError) as caught:
        recombine.read(table, factors=AB, weight="w")
    assert caught.value.what == f"the weight 'w' {said}"


@pytest.mark.slow
@given(st.lists(st.sampled_from([0.0, 1e-300, 1e-5, 0.5, 1.0, 1e90]), min_size=6, max_size=6))
def test_no_weight_ends_in_a_number_that_is_none(weights: list[float]) -> None:
    table = {"a": [0, 0, 0, 1, 1, 1], "b": [0, 1, 2, 0, 1, 2], "w": weights, "y": [1.0, 2, 3, 4, 5, 7]}
    try:
        support = recombine.read(table, factors=AB, weight="w", target="y", domain={"a": [0, 1], "b": [0, 1, 2]})
    except ColumnError:
        assert not any(weights)
        return
    found = recombine.audit(support)
    json.dumps(found.record().to_json(), allow_nan=False)
    assert not any(math.isnan(pair.cramers_v or 0.0) for pair in found.dependence)


@pytest.mark.parametrize("verb", [["audit"], ["predict", "--target", "y"], ["plan"]])
def test_the_command_prints_json_and_saves(tmp_path: Path, verb: list[str]) -> None:
    rows = zip(*TABLE.values(), strict=True)
    path = tmp_path / "t.csv"
    path.write_text("\n".join([",".join(TABLE), *(",".join(map(str, row)) for row in rows)]) + "\n")
    asked = [verb[0], str(path), "--factors", "a,b", "--weight", "w", *verb[1:], "--out", str(tmp_path / "out")]
    result = CliRunner().invoke(app, [*asked, "--json"])
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))
    assert "3 of 6 rows have weight 0 and count for nothing." in told["reasons"]
    json.loads((tmp_path / "out" / "record.json").read_text(), parse_constant=pytest.fail)
