"""A split is held to its claim: known bad splits are caught, published ones raise no false alarm."""

import json
import shlex
import subprocess
import time
from itertools import combinations, product
from pathlib import Path

import duckdb
import ibis
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import recombine
from recombine.base.errors import ColumnError, SettingError, TableError
from recombine.cli.app import app
from recombine.data.support import LabelTarget
from recombine.verbs.split.lint import side_checks
from recombine.verbs.split.lint.lint_result import CLAIMS
from recombine.verbs.split.lint.side_counts import Sided, SplitQuery, count_sides, open_split, parts_of
from tests.commands import run_command
from tests.properties import examples

CD = ["colour", "shape"]


def table(lines: str, names: str = "colour shape split") -> dict[str, list[str]]:
    """A table written by hand: a row a line."""
    rows = [line.split() for line in lines.strip().splitlines()]
    return {name: [row[place] for row in rows] for place, name in enumerate(names.split())}


def ends(found: recombine.Lint) -> dict[str, str]:
    """What was found wrong."""
    return {check.name: check.verdict for check in found.checks if check.verdict in ("fail", "not enough evidence")}


CLEAN = """
red  disc train
red  cube train
blue disc train
blue cube test
"""


# --- three known answers


def test_perfect() -> None:
    found = recombine.lint(table(CLEAN), factors=CD)
    assert found.grade == "sound"
    assert found.verdict == (
        "Split check passed on its 1 test row: no test combination is in training, and every test value is."
    )
    assert found["determined"].sentence == "To training, the 1 test combination is: 1 determined (100 %)."
    assert [(side.name, side.rows, side.combinations) for side in found.sides] == [
        ("train", 3, 3),
        ("validation", 0, 0),
        ("test", 1, 1),
    ]


def test_empty_test_side_is_not_enough_evidence() -> None:
    found = recombine.lint(table(CLEAN.replace("test", "train")), factors=CD)
    assert found.grade == "untested"
    assert found.verdict == "There is no test side, so there is nothing to hold the split to."


def test_adversarial_one_row_of_many_leaks() -> None:
    rows = {"colour": ["red", "red", "blue"] * 1000 + ["blue"] * 1000, "shape": ["disc", "cube", "disc"] * 1000}
    rows["shape"] += ["cube"] * 1000
    rows["split"] = ["train"] * 3000 + ["test"] * 999 + ["train"]
    found = recombine.lint(rows, factors=CD)
    assert ends(found) == {"combinations": "fail"}
    assert (
        "Partly held out: 1 of 1,000 rows of (colour=blue, shape=cube) is in training" in found["combinations"].sentence
    )


# --- the known bad splits, re-created


def test_images_in_train_and_test() -> None:
    """Images both in training and "test": the lists of pairs are disjoint, the files are not."""
    pairs = list(product("abcde", "vwxyz"))
    rows = [
        (f"{a}_{b}/{i}.jpg", a, b, "test" if ord(a) % 5 == ord(b) % 5 else "train") for a, b in pairs for i in range(6)
    ]
    rows += [(image, "b", "v", "test") for image, a, b, side in rows if (a, b) == ("b", "w")]
    frame = pd.DataFrame(rows, columns=["image", "attr", "obj", "split"])
    found = recombine.lint(frame, factors=["attr", "obj"], id="image")
    assert found["rows"].verdict == "fail"
    assert "6 of" in found["rows"].sentence
    assert "'b_w/0.jpg'" in found["rows"].sentence
    assert found["rows"].table["image"].to_pylist() == [f"b_w/{i}.jpg" for i in range(6)]
    assert found["rows"].table["train_rows"].to_pylist() == [1] * 6


def test_a_colour_never_in_training() -> None:
    found = recombine.lint(table(CLEAN + "purple cube test\n" * 1204), factors=CD)
    assert ends(found) == {"values": "fail"}
    assert found["values"].sentence == (
        "1 value never appears in training: colour=purple (1,204 test rows). "
        "1,204 test rows cannot be answered by composing."
    )
    assert found["values"].table.to_pylist() == [{"factor": "colour", "value": "purple", "test_rows": 1204}]


def test_unseen_pairs_all_in_the_train_file(tmp_path) -> None:
    pairs = list(product(["red", "blue", "green"], ["disc", "cube", "cone"]))
    train = "colour,shape,scene\n" + "".join(f"{a},{b},{i}\n" for i, (a, b) in enumerate(pairs * 4))
    (tmp_path / "train.csv").write_text(train)
    (tmp_path / "test.csv").write_text("colour,shape,scene\nred,cube,901\nblue,cone,902\n")
    found = recombine.lint(train=tmp_path / "train.csv", test=str(tmp_path / "test.csv"), factors=CD)
    assert found["combinations"].verdict == "fail"
    assert found["combinations"].sentence.startswith(
        "All of the 2 test combinations are in training: nothing here is unseen. "
        "Partly held out: 4 of 5 rows of (colour=blue, shape=cone) are in training"
    )


def test_only_part_of_each_unseen_cell_held_out() -> None:
    cells = list(product(["A", "B", "C"], ["1", "2", "3"]))
    rows = {"drug": [], "cell": [], "split": []}
    for (drug, cell), i in product(cells, range(40)):
        held = (drug, cell) in {("A", "3"), ("B", "1")} and i >= 12
        for name, value in zip(rows, (drug, cell, "ood" if held else "train"), strict=True):
            rows[name].append(value)
    found = recombine.lint(rows, factors=["drug", "cell"], split=recombine.SplitColumn(train=["train"], test=["ood"]))
    assert found["combinations"].culprits == 2
    assert "12 of 40 rows of (drug=A, cell=3) are in training" in found["combinations"].sentence
    assert found["combinations"].table.to_pylist()[0] == {
        "drug": "A",
        "cell": "3",
        "training_rows": 12,
        "test_rows": 28,
    }


def test_validation_is_test() -> None:
    held = "blue cube validation 7\nblue cube validation 8\nblue cube test 7\nblue cube test 8\n"
    lines = "red disc train 1\nred cube train 2\nblue disc train 3\n"
    found = recombine.lint(table(lines + held, "colour shape split sample"), factors=CD, id="sample")
    assert ends(found) == {"validation": "fail"}
    assert found["validation"].sentence.startswith("Validation is test: 2 of 2 test rows (100 %) are in both")
    without_id = recombine.lint(table(lines + held, "colour shape split sample"), factors=CD)
    assert without_id["validation"].verdict == "fail"


def test_validation_is_test_where_rows_cannot_be_told_apart() -> None:
    """Only counts are left to compare; a validation side of other combinations is not the test side."""
    held = "green cube val\ngreen cube val\ngreen disc val\ngreen cube test\ngreen cube test\ngreen disc test\n"
    lines = CLEAN.replace("test", "train") + "green cone train\nred cone train\n"
    found = recombine.lint(table(lines + held), factors=CD)
    assert ends(found) == {"validation": "fail"}
    assert "the very same 2 combinations, in numbers that agree to 100 %" in found["validation"].sentence
    other = held.replace("green disc val", "green cube val")
    assert recombine.lint(table(lines + other), factors=CD)["validation"].verdict == "pass"


def test_split_names_that_mean_nothing() -> None:
    rows = table(CLEAN.replace("train", "simulation").replace("test", "combo_seen2"))
    with pytest.raises(ColumnError) as caught:
        recombine.lint(rows, factors=CD)
    assert "'combo_seen2', 'simulation'" in caught.value.what
    assert "--train-side" in caught.value.instead
    half = recombine.lint(rows, factors=CD, split=recombine.SplitColumn(train=["simulation"]))
    assert half.grade == "untested"
    assert half["sides"].sentence == (
        "The test side is empty. Rows of no side: 'combo_seen2' 1. Say which of these is the test side: --test-side."
    )
    whole = recombine.SplitColumn(train=["simulation"], test=["combo_seen2"])
    assert recombine.lint(rows, factors=CD, split=whole).grade == "sound"


def test_a_two_dimensional_split_that_leaks_one_factor() -> None:
    """Drugs are apart, proteins are not: a cold start in one factor is not one in both."""
    rows = table("d1 p1 train\nd1 p2 train\nd2 p1 train\nd3 p1 test\nd3 p3 test", "drug protein split")
    one = recombine.lint(rows, factors=["drug", "protein"], expect="values")
    both = recombine.lint(
        rows, factors=["drug", "protein"], expect=recombine.Expectation("values", cold=["drug", "protein"])
    )
    assert one.grade == "sound"
    assert ends(both) == {"values": "fail"}
    assert both["values"].sentence == (
        "1 of 2 test rows does not hold a new value of drug and of protein: (drug=d3, protein=p1), 1 row. "
        "New in test rows: drug in 100 %, protein in 50 %."
    )


def test_dropped_samples() -> None:
    rows = table(CLEAN + "red disc dropped\nred cube dropped")
    rows["split"][-1] = None
    found = recombine.lint(rows, factors=CD)
    assert ends(found) == {"sides": "fail"}
    assert found["sides"].sentence.startswith("2 rows belong to no side: '(missing)' 1; 'dropped' 1.")
    assert recombine.lint(rows, factors=CD, where="split IN ('train', 'test')").grade == "sound"


# --- the claims, against brute force


def twin(rows: list[tuple[str, ...]], claim: str, order: int) -> bool:
    """Whether a claim holds, row by row, with sets."""
    train = [row[:-1] for row in rows if row[-1] == "train"]
    test = [row[:-1] for row in rows if row[-1] == "test"]
    width = len(rows[0]) - 1

    def new(row: tuple[str, ...], some: tuple[int, ...]) -> bool:
        return tuple(row[k] for k in some) not in {tuple(one[k] for k in some) for one in train}

    known = all(not new(row, (k,)) for row in test for k in range(width))
    if claim == "combinations":
        return known and all(new(row, tuple(range(width))) for row in test)
    if claim == "conjunctions":
        return known and all(any(new(row, some) for some in combinations(range(width), order)) for row in test)
    return all(any(new(row, (k,)) for k in range(width)) for row in test)


ROWS = st.lists(
    st.tuples(*[st.sampled_from("abc")] * 3, st.sampled_from(["train", "train", "test"])), min_size=4, max_size=14
)


@examples(60)
@given(ROWS, st.sampled_from(CLAIMS[1:]), st.sampled_from([2, 3]))
def test_claims_agree_with_brute_force(rows, claim, order) -> None:
    rows = [*rows, ("a", "a", "a", "train"), ("b", "b", "b", "train"), ("c", "a", "b", "test")]
    columns = dict(zip(["f", "g", "h", "split"], map(list, zip(*rows, strict=True)), strict=True))
    found = recombine.lint(columns, factors=["f", "g", "h"], expect=recombine.Expectation(claim, order=order))
    assert (found.grade == "sound") == twin(rows, claim, order)


@examples(30)
@given(ROWS, st.lists(st.integers(0, 6), min_size=20, max_size=20))
def test_rows_on_both_sides_agree_with_brute_force(rows, ids) -> None:
    rows = [*rows, ("a", "a", "a", "train"), ("b", "b", "b", "train"), ("c", "a", "b", "test")]
    names = ids[: len(rows)]
    columns = dict(zip(["f", "g", "h", "split"], map(list, zip(*rows, strict=True)), strict=True)) | {"id": names}
    found = recombine.lint(columns, factors=["f", "g", "h"], expect="rows", id="id")
    train, test = ({i for i, row in zip(names, rows, strict=True) if row[-1] == side} for side in ("train", "test"))
    assert found["rows"].culprits == len(train & test)
    assert found["ids"].culprits == len(names) - len(train) - len(test)


# --- rows


def test_equal_factors_and_target_are_not_the_same_row() -> None:
    rows = table(CLEAN + "red disc test\n") | {"label": ["x"] * 5}
    found = recombine.lint(rows, factors=CD, target="label", expect="rows")
    assert found["rows"].verdict == "not enough evidence"
    assert found["rows"].sentence == (
        "Rows cannot be told apart: there are no columns but the factors and the target. "
        "Name the column that does, with --id."
    )


def test_columns_that_repeat_within_a_side_do_not_tell_rows_apart() -> None:
    rows = {"colour": ["red", "blue"] * 50, "shape": ["disc", "disc", "cube", "cube"] * 25, "season": ["may"] * 100}
    rows["split"] = ["train"] * 80 + ["test"] * 20
    found = recombine.lint(rows, factors=CD, expect="rows")
    assert found["rows"].verdict == "not enough evidence"
    assert "the 80 training rows hold only 4 different rows" in found["rows"].sentence


def test_exact_duplicates_are_found_without_an_id() -> None:
    rows = {"colour": ["red", "blue"] * 50, "shape": ["disc", "disc", "cube", "cube"] * 25}
    rows |= {"pixels": [*range(99), 0], "split": ["train"] * 80 + ["test"] * 20}
    rows["colour"][99], rows["shape"][99] = "red", "disc"
    found = recombine.lint(rows, factors=CD, expect="rows")
    assert ends(found) == {"rows": "fail"}
    assert found["rows"].sentence == (
        "By all 3 columns but the split, 1 of 20 test rows is in training too, such as (red, disc, 0)."
    )


def test_repeated_ids_within_a_side_are_told() -> None:
    found = recombine.lint(table(CLEAN) | {"id": [1, 1, 2, 3]}, factors=CD, id="id")
    assert found.grade == "sound"
    assert found["ids"].verdict == "warning"
    assert "1 row in training repeat one or have none" in found["ids"].sentence


# --- class shares


def classed(rng: np.random.Generator, groups: int, shift: float) -> dict[str, list]:
    """Combinations with class shares of their own, and rows that follow these; test is shifted."""
    rows: dict[str, list] = {"a": [], "b": [], "label": [], "split": []}
    for place in range(2 * groups):
        share = rng.beta(4, 4) * (1 - shift) + (shift if place >= groups else 0)
        labels = rng.random(30) < share
        rows["a"] += [f"a{place}"] * 30
        rows["b"] += [f"b{place % 7}"] * 30
        rows["label"] += np.where(labels, "yes", "no").tolist()
        rows["split"] += ["test" if place >= groups else "train"] * 30
    return rows


def sided_of(rows: dict[str, list]) -> Sided:
    query = SplitQuery(factors=("a", "b"), column=recombine.SplitColumn(), target="label")
    parts = parts_of(rows, {"train": None, "validation": None, "test": None}, ())
    with open_split(parts, query) as (open_table, side):
        return count_sides(open_table, side, query, None)


def test_the_error_of_a_difference_is_that_of_the_definition() -> None:
    """The sums over combinations are written without ever listing combination x class; here they are listed."""
    rng = np.random.default_rng(0)
    rows = {
        "a": rng.choice(list("pqrst"), 400).tolist(),
        "b": rng.choice(list("uvw"), 400).tolist(),
        "label": rng.choice(["x", "y", "z"], 400).tolist(),
        "split": rng.choice(["train", "test"], 400, p=[0.7, 0.3]).tolist(),
    }
    sided = sided_of(rows)
    assert isinstance(sided.support.target, LabelTarget)
    found = side_checks.class_difference(sided, sided.support.target)
    frame = pd.DataFrame(rows)
    for k, label in enumerate(sided.support.target.classes):
        parts = []
        for side in ("train", "test"):
            mine = frame[frame.split == side]
            share = (mine.label == label).mean()
            each = mine.groupby(["a", "b"]).label.agg(
                lambda one, label=label, share=share: ((one == label) - share).sum()
            )
            parts.append(each / len(mine))
        terms = parts[1].subtract(parts[0], fill_value=0)
        assert found.error[k] == pytest.approx(np.sqrt((terms**2).sum() * len(terms) / (len(terms) - 1)), rel=1e-12)


@pytest.mark.slow
def test_class_shares_raise_few_false_alarms_and_catch_what_is_off() -> None:
    alarms = dict.fromkeys((0.0, 0.4), 0)
    for seed, shift in product(range(40), alarms):
        sided = sided_of(classed(np.random.default_rng([seed, int(10 * shift)]), 30, shift))
        alarms[shift] += side_checks.check_classes(sided, 0.0).verdict == "fail"
    assert alarms[0.0] <= 5  # 5 % of 40 is 2; more than 5 would happen once in 50
    assert alarms[0.4] >= 38


def test_class_shares_with_few_combinations_are_thin_however_many_rows() -> None:
    rows = table("red disc train\nred cube train\nblue disc train\nblue cube test\n")
    rows = {name: column * 1000 for name, column in rows.items()} | {"label": ["no", "no", "no", "yes"] * 1000}
    found = recombine.lint(rows, factors=CD, target="label")
    assert ends(found) == {"classes": "not enough evidence"}
    assert "With 1 combination on the smaller side that may be chance" in found["classes"].sentence
    assert (
        recombine.lint(rows, factors=CD, target="label", expect=recombine.Expectation(class_tolerance=1)).grade
        == "sound"
    )


# --- other checks


def test_swapped_sides_are_a_warning() -> None:
    lines = "red disc train\nred cube train\nblue disc train\n" + "blue cube test\n" * 30
    found = recombine.lint(table(lines), factors=CD)
    assert found.grade == "sound"
    assert found["sizes"].verdict == "warning"
    assert "swapped" in found["sizes"].sentence


def test_rows_that_miss_a_factor_are_told() -> None:
    rows = table(CLEAN + "red disc train")
    rows["shape"][-1] = None
    found = recombine.lint(rows, factors=CD)
    assert found["missing"].verdict == "warning"
    assert found["missing"].culprits == 1
    assert found.grade == "sound"


def test_more_training_tables() -> None:
    found = recombine.lint(table(CLEAN), factors=CD, against=[{"colour": ["blue"], "shape": ["cube"]}])
    assert ends(found) == {"combinations": "fail"}


def test_seen_rows_must_be_of_training_combinations() -> None:
    kept = recombine.lint(table(CLEAN + "red disc seen"), factors=CD)
    assert (kept.grade, kept["seen"].verdict) == ("sound", "pass")
    assert kept.digest == recombine.lint(table(CLEAN), factors=CD).digest
    assert recombine.lint(table(CLEAN + "green disc seen"), factors=CD)["seen"].verdict == "fail"


def test_the_digest_does_not_depend_on_rows_or_engine(tmp_path) -> None:
    frame = pd.DataFrame(table(CLEAN))
    frame.iloc[::-1].to_csv(tmp_path / "table.csv", index=False)
    digests = {
        recombine.lint(source, factors=CD).digest
        for source in (frame, pl.from_pandas(frame), pa.Table.from_pandas(frame), str(tmp_path / "table.csv"))
    }
    assert len(digests) == 1
    assert recombine.lint(table(CLEAN.replace("cube test", "cube train")), factors=CD).digest not in digests


def test_bins_of_sides_in_several_tables_are_drawn_together() -> None:
    train = {"age": [1.0, 5.0, 9.0, 9.5], "shape": ["disc", "cube", "disc", "disc"]}
    test = {"age": [0.0, 10.0], "shape": ["cube", "cube"]}
    found = recombine.lint(train=train, test=test, factors=["age", "shape"], bins={"age": 2})
    assert found["combinations"].culprits == 1
    assert found["combinations"].table.to_pylist()[0]["age"] == "[5, 10]"


def test_saved_and_loaded(tmp_path) -> None:
    found = recombine.lint(table(CLEAN + "blue cube train"), factors=CD, expect="conjunctions")
    found.save(tmp_path / "lint")
    again = recombine.Lint.load(tmp_path / "lint")
    assert again == found
    assert again["combinations"].table == found["combinations"].table
    assert "fail" in found._repr_html_()
    assert repr(found).startswith("Lint('This split does not hold out conjunctions.")


# --- mistakes


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ({"factors": ["color", "shape"]}, ColumnError, "did you mean 'colour'?"),
        ({"split": "side"}, ColumnError, "no column 'side' (given as the split)"),
        ({"split": "colour"}, SettingError, "both the split and a factor"),
        ({"id": "image"}, ColumnError, "no column 'image' (given as the id)"),
        ({"target": "label"}, ColumnError, "no column 'label' (given as the target)"),
        ({"expect": "everything"}, SettingError, "rows, combinations, conjunctions, values"),
        ({"expect": recombine.Expectation("conjunctions", order=3)}, SettingError, "order=3"),
        ({"expect": recombine.Expectation(cold=["colour"])}, SettingError, "expect='values'"),
        ({"expect": recombine.Expectation(class_tolerance=3)}, SettingError, "between 0 and 1"),
        ({"split": recombine.SplitColumn(test=["tset"])}, SettingError, "did you mean 'test'?"),
        ({"train": {}}, SettingError, "told twice"),
        ({"wher": "true"}, SettingError, "did you mean 'where'?"),
        ({"order": 3}, SettingError, "a lint has no such setting"),
        ({"factors": ["colour"]}, SettingError, "at least two factors"),
    ],
)
def test_mistakes_are_explained(given, error, said) -> None:
    with pytest.raises(error) as caught:
        recombine.lint(table(CLEAN), **({"factors": CD} | given))
    assert said in str(caught.value)


def test_no_table_and_an_empty_one() -> None:
    with pytest.raises(SettingError, match="no table was given"):
        recombine.lint(factors=CD)
    with pytest.raises(SettingError, match="no test table"):
        recombine.lint(train=table(CLEAN), factors=CD)
    with pytest.raises(TableError, match="no rows"):
        recombine.lint(pd.DataFrame(table(CLEAN), dtype="string")[:0], factors=CD)
    with pytest.raises(ColumnError, match="in 'a table in memory'"):
        recombine.lint(train=table(CLEAN), test={"colour": ["red"]}, factors=CD)


def test_an_unknown_check() -> None:
    with pytest.raises(SettingError, match="no check 'leaks'"):
        recombine.lint(table(CLEAN), factors=CD)["leaks"]


# --- the command


def run(folder: Path, *words: str) -> subprocess.CompletedProcess:
    return run_command(folder, "lint", *words)


@pytest.mark.parametrize(
    ("lines", "words", "code", "said"),
    [
        (CLEAN, (), 0, "check passed"),
        (CLEAN + "blue cube train", (), 3, "does not hold out combinations"),
        (CLEAN.replace("test", "train"), (), 4, "There is no test side"),
        (CLEAN, ("--split", "side"), 2, "no column 'side'"),
        (CLEAN.replace("train", "a"), (), 2, "--train-side"),
    ],
    ids=["pass", "fail", "not enough evidence", "mistake", "names"],
)
def test_exit_codes(tmp_path, lines, words, code, said) -> None:
    pd.DataFrame(table(lines)).to_csv(tmp_path / "data.csv", index=False)
    done = run(tmp_path, "data.csv", "--factors", "colour,shape", *words)
    assert done.returncode == code
    assert said in " ".join((done.stdout + done.stderr).split())
    assert "Traceback" not in done.stderr


def test_files_for_the_sides_manifest_and_json(tmp_path) -> None:
    frame = pd.DataFrame(table(CLEAN)).drop(columns="split")
    frame[:3].to_csv(tmp_path / "train.csv", index=False)
    frame[3:].to_parquet(tmp_path / "test.parquet", index=False)
    ask = ("--train", "train.csv", "--test", "test.parquet", "-f", "colour,shape", "--out", "manifest", "--json")
    done = run(tmp_path, *ask)
    assert done.returncode == 0
    told = json.loads(done.stdout)
    assert told["digest"] == recombine.lint(table(CLEAN), factors=CD).digest
    assert told["provenance"]["source"] == "train.csv + test.parquet"
    assert recombine.Lint.load(tmp_path / "manifest").digest == told["digest"]


@pytest.mark.parametrize("options_first", [False, True])
def test_what_it_proposes_can_be_pasted(tmp_path, options_first) -> None:
    pd.DataFrame(table(CLEAN + "blue cube train")).to_csv(tmp_path / "my leaky.csv", index=False)
    ask = ["--factors", "colour,shape", "--where", "colour <> 'x'"]
    done = run(tmp_path, *(ask if options_first else []), "my leaky.csv", *([] if options_first else ask))
    anew = next(
        line for line in done.stdout.splitlines() if "recombine split my" in line or "recombine split 'my" in line
    )
    words = shlex.split(anew.replace("next", ""))
    assert words[2:5] == ["my leaky.csv", "--where", "colour <> 'x'"]
    assert "--where \"colour <> 'x'\"" in anew
    made = CliRunner().invoke(app, [*words[1:2], str(tmp_path / words[2]), *words[3:-1], str(tmp_path / words[-1])])
    assert made.exit_code == 0, made.exception
    assert recombine.lint(tmp_path / "anew.parquet", factors=CD, split="held").grade == "sound"


def test_tables_for_the_sides_are_not_split_alone(tmp_path) -> None:
    frame = pd.DataFrame(table(CLEAN)).drop(columns="split")
    frame.to_csv(tmp_path / "train.csv", index=False)
    frame[3:].to_csv(tmp_path / "test.csv", index=False)
    done = run(tmp_path, "--train", "train.csv", "--test", "test.csv", "-f", "colour,shape")
    assert done.returncode == 3
    assert "recombine split" not in done.stdout


def test_one_file_for_both_sides_is_told(tmp_path) -> None:
    pd.DataFrame(table(CLEAN)).to_csv(tmp_path / "held.csv", index=False)
    done = run(tmp_path, "--train", "held.csv", "--test", "./held.csv", "-f", "colour,shape")
    assert done.returncode == 2
    assert "train and test are the same file './held.csv'" in done.stderr
    own = table(CLEAN)
    with pytest.raises(SettingError, match="train and test are the same table"):
        recombine.lint(train=own, test=own, factors=CD)


# --- engines and size


def test_postgresql(postgres) -> None:
    import psycopg  # noqa: PLC0415

    rows = table(CLEAN + "blue cube train") | {"image": list("abcdd"), "about": ["{}"] * 5}
    with psycopg.connect(postgres.uri) as connection:
        connection.execute("CREATE TABLE pictures (colour text, shape text, split text, image text, about json)")
        for row in zip(*rows.values(), strict=True):
            connection.execute("INSERT INTO pictures VALUES (%s, %s, %s, %s, %s)", row)
    named = recombine.lint(postgres.uri, table="pictures", factors=CD, id="image")
    assert ends(named) == {"combinations": "fail", "rows": "fail"}
    # JSON cannot be compared by PostgreSQL: the other columns tell
    assert ends(recombine.lint(postgres.uri, table="pictures", factors=CD)) == {"combinations": "fail", "rows": "fail"}
    held = {name: [column[3]] for name, column in rows.items()}
    trained = ibis.connect(postgres.uri).table("pictures")
    assert ends(recombine.lint(train=trained, test=held, factors=CD, id="image")) == {
        "combinations": "fail",
        "rows": "fail",
    }
    local = recombine.lint(rows, factors=CD, id="image")
    assert (local.digest, local["rows"].table) == (named.digest, named["rows"].table)


@pytest.mark.slow
def test_ten_million_rows_in_seconds(tmp_path) -> None:
    file = tmp_path / "large.parquet"
    duckdb.sql(
        "COPY (SELECT 'a' || (i % 300) AS a, 'b' || (hash(i) % 200) AS b, i AS image, "
        "CASE WHEN hash(i % 300, hash(i) % 200) % 5 = 0 THEN 'test' ELSE 'train' END AS split "
        f"FROM range(10000000) t(i)) TO '{file}'"
    )
    start = time.process_time()
    found = recombine.lint(file, factors=["a", "b"], id="image")
    assert found.grade == "sound"
    assert found.rows == 10**7
    assert time.process_time() - start < 40  # about 5 on two cores


# --- published splits: no false alarm, or the alarm is shown to be right


SCAN = ["conj", "verb1", "mode1", "dir1", "rep1", "verb2", "mode2", "dir2", "rep2"]


def scan(data: Path, name: str, expect: str = "combinations", where: str = "true") -> recombine.Lint:
    column = f"split_{name}"
    return recombine.lint(
        data / "scan" / "scan_factors.parquet",
        factors=SCAN,
        split=column,
        expect=expect,
        missing="value",
        where=f"{column} IS NOT NULL AND ({where})",
        id="command",
    )


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "expect"),
    [
        ("simple", "rows"),
        ("simple", "combinations"),
        ("length", "rows"),
        ("length", "combinations"),
        ("addprim_turn_left", "combinations"),
        *(
            (f"template_{one}", "combinations")
            for one in ("around_right", "jump_around_right", "opposite_right", "right")
        ),
        ("template_around_right", "conjunctions"),
        *((f"filler_num{k}", "combinations") for k in range(4)),
        *((f"mcd{k}", "combinations") for k in (1, 2, 3)),
    ],
)
def test_scan_raises_no_alarm(data, name, expect) -> None:
    assert ends(scan(data, name, expect)) == {}


@pytest.mark.data
@pytest.mark.slow
def test_scan_add_jump(data) -> None:
    """Training holds the bare command `jump`, so `jump` as a *second* verb is a value that it never shows."""
    found = scan(data, "addprim_jump")
    assert ends(found) == {"values": "fail"}
    assert "verb2=jump (4,284 test rows)" in found["values"].sentence
    commands = duckdb.sql(
        f"SELECT count(*) FROM '{data}/scan/scan_factors.parquet' WHERE verb2 = 'jump' AND split_addprim_jump = 'train'"
    )
    assert commands.fetchall() == [(0,)]
    assert ends(scan(data, "addprim_jump", where="verb2 IS NULL OR verb2 != 'jump'")) == {}
    assert ends(scan(data, "addprim_jump", "conjunctions", where="verb2 IS NULL OR verb2 != 'jump'")) == {}


@pytest.mark.data
def test_scan_rows_of_no_side_are_told_where_they_are_left_in(data) -> None:
    found = recombine.lint(
        data / "scan" / "scan_factors.parquet", factors=SCAN, split="split_mcd1", missing="value", id="command"
    )
    assert ends(found) == {"sides": "fail"}
    assert found["sides"].culprits == 20_910 - 8_365 - 1_045


NATURAL = {"train": ["train"], "validation": ["val_unseen"], "test": ["test_unseen"]}
BY_IMAGE = recombine.SplitColumn("natural_pair_group", **NATURAL)
BY_PAIR = recombine.SplitColumn("std_pair_group", **NATURAL)
UNSEEN = "split = 'train' OR NOT seen_in_train"


@pytest.mark.data
@pytest.mark.parametrize(
    ("file", "asked"),
    [
        ("mit_states_images.parquet", {"id": "image"}),
        ("mit_states_images.parquet", {}),
        ("mit_states_images.parquet", {"id": "image", "split": BY_IMAGE}),
        ("cgqa_images.parquet", {"id": "image", "split": BY_PAIR}),
        ("cgqa_pairs.csv", {"where": UNSEEN}),
        ("ut_zappos_pairs.csv", {"where": UNSEEN}),
    ],
    ids=["MIT-States", "MIT-States without id", "MIT-States natural", "C-GQA images", "C-GQA pairs", "UT-Zappos"],
)
def test_zero_shot_splits_raise_no_alarm(data, file, asked) -> None:
    assert ends(recombine.lint(data / "factors" / file, factors=["attr", "obj"], **asked)) == {}


@pytest.mark.data
@pytest.mark.parametrize(("name", "seen", "test"), [("cgqa", 888, 1_811), ("ut_zappos", 18, 36)])
def test_lists_that_mix_seen_and_unseen_pairs_raise_a_right_alarm(data, name, seen, test) -> None:
    """The publishers mark the pairs themselves: exactly those are named."""
    file = data / "factors" / f"{name}_pairs.csv"
    found = recombine.lint(file, factors=["attr", "obj"])
    assert found["combinations"].sentence.startswith(f"{seen:,} of {test:,} test combinations are in training too")
    marked = duckdb.sql(
        f"SELECT attr, obj FROM '{file}' WHERE split = 'test' AND seen_in_train ORDER BY ALL"
    ).fetchall()
    assert sorted(zip(*found["combinations"].table.select(["attr", "obj"]).to_pydict().values(), strict=True)) == marked


@pytest.mark.data
def test_open_vocabulary_split_raises_a_right_alarm(data) -> None:
    """It has unseen attributes and objects on purpose, and seen pairs among its test images."""
    file = data / "factors" / "cgqa_images.parquet"
    found = recombine.lint(file, factors=["attr", "obj"], id="image")
    assert ends(found) == {"combinations": "fail", "values": "fail"}
    shared = duckdb.sql(
        f"SELECT count(*) FROM (SELECT attr, obj FROM '{file}' WHERE split = 'test' INTERSECT "
        f"SELECT attr, obj FROM '{file}' WHERE split = 'train')"
    )
    assert [(found["combinations"].culprits,)] == shared.fetchall()


@pytest.mark.data
def test_ordinary_splits_raise_no_alarm(data) -> None:
    folder = data / "factors"
    faces = recombine.lint(
        folder / "celeba.parquet", factors=["Blond_Hair", "Male"], id="image_id", expect="rows", target="Smiling"
    )
    assert ends(faces) == {}
    assert ends(recombine.lint(folder / "celeba.parquet", factors=["Blond_Hair", "Male"], expect="rows")) == {}
    for asked in ({"factors": ["species", "background"], "target": "bird"}, {"factors": ["bird", "background"]}):
        assert ends(recombine.lint(folder / "waterbirds.parquet", id="img_id", expect="rows", **asked)) == {}


@pytest.mark.data
def test_clevr_cogent(data) -> None:
    """Spheres come in every colour under both conditions: seen on purpose. Cubes and cylinders swap their colours."""
    sides = recombine.SplitColumn(train=["A"], test=["B"])
    asked = {"factors": ["shape", "color", "material", "size"], "split": sides}
    file = data / "factors" / "clevr_cogent_conditions.csv"
    found = recombine.lint(file, **asked)
    assert ends(found) == {"combinations": "fail"}
    assert set(found["combinations"].table["shape"].to_pylist()) == {"sphere"}
    assert ends(recombine.lint(file, **asked, where="shape != 'sphere'", expect="conjunctions")) == {}


def test_a_table_without_a_split_is_led_to_one_that_does_not_take_the_target_for_a_factor() -> None:
    table = {"a": [0, 0, 1], "b": [0, 1, 0], "y": list("xyx")}
    with pytest.raises(ColumnError, match=r"recombine split .* --factors a,b --out"):
        recombine.lint(table, factors=["a", "b"], target="y")
