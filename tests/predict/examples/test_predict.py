"""`recombine.predict` with inputs: the forecast leads, is saved and loaded, and the command line does the same."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import recombine
from recombine.base.errors import SettingError
from recombine.cli.app import app
from recombine.verbs.predict.examples.forecast import forecast
from recombine.verbs.predict.examples.input_kernels import last_layer
from tests.predict.examples.test_from_table import HOW, world

pytest.importorskip("sklearn")


@pytest.fixture
def tables():
    table, *_ = world(labelled=False)
    truth = table.drop_columns(["y"]).rename_columns(["p", "q", "embedding", "first", "second", "y"])
    return table, truth.select(["p", "q", "y"])


def test_the_forecast_leads(tables):
    table, truth = tables
    found = recombine.predict(table, **HOW, examples=recombine.Examples(inputs="embedding"), truth=truth)
    assert found.expected.basis == "examples"
    assert found.expected == found.examples.expected
    assert found.verdict.startswith("Networks like these would get ")
    assert "of the rows of the 8 unseen combinations right" in found.verdict
    assert found.network == found.expected
    assert not any("of the unseen combinations right" in reason for reason in found.reasons), "two scores of one thing"
    assert recombine.predict(table, **HOW, truth=truth).examples is None


def test_it_is_saved_and_loaded(tables, tmp_path):
    table, truth = tables
    found = recombine.predict(table, **HOW, examples=recombine.Examples(inputs="embedding"), truth=truth)
    found.save(tmp_path / "kept")
    again = recombine.load(tmp_path / "kept")
    assert again.expected == found.expected
    assert again.examples.by_member == pytest.approx(found.examples.by_member)
    assert again.examples.members == found.examples.members
    np.testing.assert_array_equal(again.examples.codes, found.examples.codes)
    assert again.verdict == found.verdict


def test_the_page_has_the_sentence_and_the_machines(tables, tmp_path):
    table, truth = tables
    recombine.predict(table, **HOW, examples=recombine.Examples(inputs="embedding"), truth=truth).page(
        tmp_path / "page.html"
    )
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Networks like these would get" in page
    assert "of the rows of unseen combinations are expected to come out right" in page
    assert "From the examples" in page
    assert "relu:3 margin" in page


def test_settings_without_inputs_are_refused(tables):
    table, truth = tables
    with pytest.raises(SettingError, match="rows=… without inputs"):
        recombine.predict(table, **HOW, truth=truth, examples=recombine.Examples(rows=100))
    with pytest.raises(SettingError, match="a Support and inputs"):
        recombine.predict(recombine.read(table, **HOW), examples=recombine.Examples(inputs="embedding"))


def test_without_noise_it_is_the_prediction_over_combinations():
    """One-hot inputs: the margin of relu:2 on examples answers as the margin over combinations does."""
    rng = np.random.default_rng(0)
    codes = np.indices((5, 5)).reshape(2, -1).T
    labels = (rng.normal(size=5)[codes[:, 0]] + rng.normal(size=5)[codes[:, 1]] > 0).astype(int)
    unseen = codes.sum(axis=1) % 3 == 0
    x = np.eye(5)[codes].reshape(25, 10)
    mine = forecast(
        x[~unseen], labels[~unseen], codes[~unseen], x[unseen], codes[unseen], labels[unseen], kernel=last_layer(2)
    )
    every = {"a": codes[:, 0], "b": codes[:, 1], "y": labels}
    seen = {name: column[~unseen] for name, column in every.items()}
    theirs = recombine.predict(
        seen, factors=["a", "b"], target="y", truth=every, salience="relu:2", fit=recombine.FitSettings(loss="margin")
    )
    said = {(one["a"], one["b"]): one["prediction"] for one in theirs.table.to_pylist()}
    right = [
        float(str(said[tuple(code)]) == str(true))
        for code, true in zip(mine.codes.tolist(), labels[unseen], strict=True)
    ]
    assert mine.scores[0].tolist() == right


def test_the_command_line(tables, tmp_path):
    table, truth = tables
    pq.write_table(table, tmp_path / "rows.parquet")
    pq.write_table(truth, tmp_path / "truth.parquet")
    words = ["predict", str(tmp_path / "rows.parquet"), "--factors", "p,q", "--target", "y", "--inputs", "embedding"]
    shown = CliRunner().invoke(app, [*words, "--truth", str(tmp_path / "truth.parquet")])
    assert shown.exit_code == 0, shown.output
    assert "Networks like these would get" in " ".join(shown.output.split())
    assert "relu:1 margin" in shown.output
    plain = CliRunner().invoke(app, [*words, "--truth", str(tmp_path / "truth.parquet"), "--json"])
    content = json.loads(plain.output)
    assert content["expected"]["basis"] == "examples"
    assert content["examples"]["way"] == "rows"
    few = CliRunner().invoke(app, [*words, "--rows-per-combination", "3", "--kernel", "ntk:1", "--json"])
    assert json.loads(few.output)["examples"]["members"] == ["ntk:1 margin"]


def test_unlabelled_rows_on_the_command_line(tables, tmp_path):
    table, truth = tables
    missing = np.array([one is None for one in table["y"].to_pylist()])
    pq.write_table(table.filter(pa.array(~missing)), tmp_path / "rows.parquet")
    pq.write_table(table.filter(pa.array(missing)).drop_columns(["y", "said"]), tmp_path / "more.parquet")
    pq.write_table(truth, tmp_path / "truth.parquet")
    words = ["predict", str(tmp_path / "rows.parquet"), "-f", "p,q", "-t", "y", "--inputs", "first,second", "--json"]
    words += ["--truth", str(tmp_path / "truth.parquet")]
    composed = json.loads(CliRunner().invoke(app, words).output)
    assert composed["examples"]["way"] == "composed"
    asked = json.loads(CliRunner().invoke(app, [*words, "--unlabelled", str(tmp_path / "more.parquet")]).output)
    assert asked["examples"]["way"] == "rows"
    assert asked["examples"]["asked_rows"] == 40


def test_answers_that_differ_within_a_combination_are_no_truth(tables):
    """A true answer for each combination says nothing of its rows: seen combinations are held out instead."""
    table, truth = tables
    rng = np.random.default_rng(0)
    y = [None if one is None else str(rng.choice(["no", "yes"])) for one in table["y"].to_pylist()]
    mixed = table.set_column(table.column_names.index("y"), "y", pa.array(y))
    said = truth.set_column(2, "y", pa.array(["yes"] * len(truth)))
    found = recombine.predict(mixed, **HOW, examples=recombine.Examples(inputs="embedding"), truth=said)
    assert found.examples.way == "held out"
    assert any(note.startswith("Rows of one combination differ in their answer") for note in found.examples.notes)
    assert found.grade in ("weak", "failing", "untested")


def test_a_redundant_shortcut_is_no_forecast_without_rows(tmp_path):
    """Both factors tell the label in what was seen: which of them a network reads, no seen combination can say."""
    codes = np.repeat([(a, b) for a in range(6) for b in range(6) if (a < 3) == (b < 3)], 8, axis=0)
    table = {"p": [f"p{a}" for a in codes[:, 0]], "q": [f"q{b}" for b in codes[:, 1]]}
    table["y"] = ["low" if a < 3 else "high" for a in codes[:, 0]]
    inputs = np.eye(6)[codes].reshape(len(codes), -1) + 0.1 * np.random.default_rng(0).normal(size=(len(codes), 12))
    other = {"p": ["p0", "p4"] * 5, "q": ["q3", "q0"] * 5, "y": ["low", "high"] * 5}
    found = recombine.predict(table, **HOW, examples=recombine.Examples(inputs=inputs))
    assert found.expected.value is None
    assert found.grade == "untested"
    assert "Nothing can be forecast from the examples" in found.reasons[0]
    assert found.examples.members == ("nobody",)
    found.save(tmp_path / "kept")
    assert recombine.load(tmp_path / "kept").examples.members == ("nobody",)
    found.page(tmp_path / "page.html")
    known = recombine.predict(table, **HOW, examples=recombine.Examples(inputs=inputs), truth=other)
    assert known.examples.way == "composed"  # the true answers are known, and inputs come apart by factor
    assert known.expected.value < 0.9
