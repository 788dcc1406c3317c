"""Columns whose values may change places: `--exchangeable` is a set over them, in every verb."""

import csv
import json

import pytest

import recombine
from recombine.cli import options
from tests.commands import run_command

ROWS = [("A", "B", 1.0), ("B", "A", 1.2), ("C", "A", 2.0), ("B", "B", 0.5), ("C", "C", 1.5), ("A", "D", 3.0)]
COLUMNS = dict(zip(("p1", "p2", "y"), map(list, zip(*ROWS, strict=True)), strict=True))
PAIR = {"p1+p2": {"columns": ["p1", "p2"], "marks": False}}


def test_columns_become_one_set_where_they_stand_among_the_factors() -> None:
    table = COLUMNS | {"line": ["x", "y", "x", "y", "x", "y"]}
    support = recombine.read(table, factors=["p1", "line", "p2"], sets={"pair": ["p1", "p2"]})
    assert support.space.names == ("pair", "line")
    assert support.named_twice == "2 of 6 rows name an element twice, which counts once."
    assert recombine.read(COLUMNS, sets=PAIR).space.factors[0].labels == ("B", "C", "A + B", "A + C", "A + D")


def test_values_that_are_0_and_1_are_values_and_no_marks() -> None:
    table = {"a": [0, 1, 1, 0], "b": [1, 0, 1, 0]}
    assert recombine.read(table, sets={"both": ["a", "b"]}).space.factors[0].labels == ("control", "a", "b", "a + b")
    read = recombine.read(table, sets={"both": {"columns": ["a", "b"], "marks": False}})
    assert read.space.factors[0].labels == ("0", "1", "0 + 1")


def test_a_pair_of_one_drug_with_itself_is_that_drug_in_every_verb(tmp_path) -> None:
    table = COLUMNS | {"split": ["train", "test", "train", "train", "train", "train"], "said": COLUMNS["y"]}
    assert recombine.audit(COLUMNS, sets=PAIR).support.named_twice
    said = "2 of 6 rows name an element twice, which counts once."
    found = recombine.lint(table, sets=PAIR)
    assert found.grade == "failing"
    assert found["missing"].sentence.endswith(said)
    for made in (
        recombine.plan(COLUMNS, sets=PAIR),
        recombine.predict(COLUMNS, sets=PAIR, target="y"),
        recombine.split(COLUMNS, sets=PAIR, out=tmp_path / "held.csv"),
    ):
        assert said in made.reasons
    scored = recombine.evaluate(table, sets=PAIR, target="y", prediction="said", split="split")
    assert [side.combinations for side in scored.sides if side.name == "seen"] == [1]


@pytest.mark.parametrize("given", ["p1", "p1,p1", "p1,p2,p1", ""])
def test_a_column_is_not_exchanged_with_itself(given) -> None:
    with pytest.raises(recombine.RecombineError, match="between two or more columns"):
        options.sets([], [given])


def test_the_option_is_a_set_on_the_command_line(tmp_path) -> None:
    with (tmp_path / "pairs.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["p1", "p2", "y", "split"])
        writer.writerows((*row, "test" if place == 1 else "train") for place, row in enumerate(ROWS))
    either = ["--factors", "p1,p2", "--exchangeable", "p1,p2", "--json"]
    one, other = (
        json.loads(run_command(tmp_path, "audit", "pairs.csv", *words).stdout)
        for words in (either, ["--set", "p1+p2=p1,p2", "--json"])
    )
    told = ("verdict", "grade", "combinations", "seen", "unseen")
    assert {name: one.get(name) for name in told} == {name: other.get(name) for name in told}
    assert one["factors"] == other["factors"]
    linted = json.loads(run_command(tmp_path, "lint", "pairs.csv", *either).stdout)
    assert linted["verdict"].startswith("This split does not hold out combinations.")
    again = run_command(tmp_path, "lint", "pairs.csv", *either[:-1]).stdout
    assert "--exchangeable p1,p2 --column" in again
