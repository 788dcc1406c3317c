"""Every verb takes a table or a Support, and hands back a Result that can be drawn, saved, loaded and compared."""

import base64
import html
import itertools
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import recombine
from recombine.base import plugins
from recombine.base.errors import OutputError, RecordError, SettingError
from recombine.base.grades import COLOURS, EXIT_CODES, GRADES, MEANING, MEANINGS
from recombine.output.pages import draw, view
from tests.probes.test_probe import a_probe
from tests.studies.made import a_study

ROWS = {
    "colour": ["red", "red", "red", "blue", "blue", "green", "green", "green"],
    "shape": ["disc", "bar", "ring", "disc", "bar", "disc", "ring", "bar"],
    "size": [1.0, 2.0, 3.0, 2.0, 3.5, 4.0, 6.0, 5.5],
    "side": ["train", "train", "train", "train", "test", "train", "train", "test"],
    "guess": [1.0, 2.5, 3.0, 2.0, 3.0, 4.0, 6.0, 5.0],
}
FACTORS = ["colour", "shape"]
VALUES = {"colour": ["red", "blue", "green"], "shape": ["disc", "bar", "ring"]}


def split(folder: Path) -> recombine.Split:
    splitter = recombine.HoldOutConjunctions(FACTORS, conjunctions=[{"colour": "blue", "shape": "bar"}])
    return recombine.split(ROWS, by=splitter, out=folder / "table.parquet")


GRID = {
    "a": [a for a in range(5) for b in range(5) if (a + b) % 4],
    "b": [b for a in range(5) for b in range(5) if (a + b) % 4],
    "y": [a + 1.5 * b for a in range(5) for b in range(5) if (a + b) % 4],
}


def a_diff() -> recombine.Diff:
    fewer = {name: column[:6] for name, column in ROWS.items()}
    return recombine.diff(*(recombine.audit(rows, factors=FACTORS, target="size") for rows in (ROWS, fewer)))


VERBS = {
    "audit": lambda _: recombine.audit(ROWS, factors=FACTORS, target="size"),
    "diff": lambda _: a_diff(),
    "prediction": lambda _: recombine.predict(ROWS, factors=FACTORS, target="size"),
    "plan": lambda _: recombine.plan(ROWS, factors=FACTORS, goal="variance", budget=2),
    "lint": lambda _: recombine.lint(ROWS, factors=FACTORS, split="side"),
    "evaluation": lambda _: recombine.evaluate(ROWS, factors=FACTORS, target="size", prediction="guess", split="side"),
    "probe": lambda _: a_probe(),
    "rehearsal": lambda _: recombine.rehearse(GRID, "nearest", factors=["a", "b"], target="y", rounds=2),
    "split": split,
    "study": lambda _: a_study(),
}


@pytest.fixture(params=VERBS)
def result(request, tmp_path) -> recombine.Result:
    return VERBS[request.param](tmp_path)


def test_it_says_a_verdict_a_grade_and_a_table(result) -> None:
    assert isinstance(result, recombine.Result)
    assert result.verdict.endswith(".")
    assert result.grade in GRADES
    assert isinstance(result.table, pa.Table)
    assert result.table.num_rows
    assert repr(result) == f"{type(result).__name__}({result.verdict!r})"


def test_any_saved_result_is_opened_by_one_word(result, tmp_path) -> None:
    again = recombine.load(result.save(tmp_path / "saved"))
    assert type(again) is type(result)
    assert again == result
    assert (again.verdict, again.grade) == (result.verdict, result.grade)


def test_the_page_explains_every_grade(result, tmp_path) -> None:
    page = result.page(tmp_path / "page.html").read_text(encoding="utf-8")
    assert page == draw(result.record())
    added = plugins.load("recombine.pages", result.kind)
    for grade, meaning in (MEANINGS[result.kind] if added is None else added.meaning).items():
        assert f"<dt>{grade.capitalize()}</dt><dd>{meaning.capitalize()}.</dd>" in page
    assert f'<b class="badge badge-{result.grade}">{result.grade}</b>' in page or "<b>Not known</b>" in page


def test_a_page_is_drawn_over_a_page_and_over_nothing_else(result, tmp_path) -> None:
    place = tmp_path / "page.html"
    assert result.page(place) == result.page(place) == place
    place.write_text("my thesis")
    with pytest.raises(OutputError, match="not a page that recombine drew"):
        result.page(place)
    assert place.read_text() == "my thesis"
    result.page(place, force=True)


def test_a_notebook_shows_the_sentence_the_grade_and_a_picture(result) -> None:
    shown = result._repr_html_()
    assert result.verdict.replace("'", "&#x27;") in shown.replace("</b>", "")
    step = result.first_screen.next_step
    assert bool(step) == (result.kind in MEANINGS)
    assert not step or f"Next: {step}" in html.unescape(shown)
    assert f"Graded <b>{result.grade}</b>" in shown
    (picture,) = re.findall(r'src="data:image/svg\+xml;base64,([^"]+)"', shown)
    svg = base64.b64decode(picture).decode()
    assert svg.startswith("<svg ")
    assert svg.count("<rect") + svg.count("<circle") > 1
    assert "<script" not in shown


def test_a_notebook_computes_only_what_it_draws(monkeypatch) -> None:
    codes = np.indices((9, 9, 9)).reshape(3, -1)[:, ::2]
    table = {f"f{k}": codes[k] for k in range(3)} | {"y": codes.sum(0) + 0.5}
    found = recombine.predict(table, factors=["f0", "f1", "f2"], target="y", target_kind="number")
    whole = found.record()
    verdicts = whole.tables["cells"]["verdict"].to_numpy().reshape(9, 9, 9)[:, :, 0]
    shown = found.shown_record()
    assert np.array_equal(shown.tables["cells"]["verdict"].to_numpy().reshape(9, 9), verdicts)
    first = found.first_screen
    assert view(shown, verdict="V.", grade="weak", first=first) == view(whole, verdict="V.", grade="weak", first=first)
    monkeypatch.setattr(type(found), "record", None)
    assert found._repr_html_()


def test_a_value_that_looks_like_markup_stays_text_in_a_notebook() -> None:
    nasty = "</text><script>alert(1)</script>"
    table = {"colour": ["red", nasty, nasty], "shape": ["disc", "disc", "<b>&'\""]}
    shown = recombine.audit(table, factors=FACTORS)._repr_html_()
    svg = base64.b64decode(re.findall(r"base64,([^\"]+)", shown)[0]).decode()
    assert "<script" not in shown + svg
    assert "&lt;/text&gt;" in svg


@pytest.mark.parametrize("verb", [recombine.audit, recombine.predict, recombine.plan], ids=lambda verb: verb.__name__)
def test_a_table_and_its_support_give_the_same(verb) -> None:
    support = recombine.read(ROWS, factors=FACTORS, target="size")
    given, read = verb(support), verb(ROWS, factors=FACTORS, target="size")
    assert (given.verdict, given.grade) == (read.verdict, read.grade)
    assert given.table.equals(read.table)


def test_the_truth_may_be_a_table_too() -> None:
    truth = {"colour": ["blue"], "shape": ["ring"], "size": [5.0]}
    found = recombine.predict(ROWS, factors=FACTORS, target="size", truth=truth)
    read = recombine.read(
        truth, factors=FACTORS, target="size", domain={"colour": ["red", "blue"], "shape": ["disc", "bar", "ring"]}
    )
    by_hand = recombine.predict(recombine.read(ROWS, factors=FACTORS, target="size"), truth=read)
    assert found.verdict == by_hand.verdict
    assert found.table.equals(by_hand.table)


@pytest.mark.parametrize("verb", ["audit", "predict", "plan"])
def test_what_a_support_was_read_with_is_not_said_again(verb: str) -> None:
    support = recombine.read(ROWS, factors=FACTORS, target="size")
    with pytest.raises(SettingError, match=f"recombine.{verb} was given a Support and factors"):
        getattr(recombine, verb)(support, factors=FACTORS)
    with pytest.raises(SettingError, match="without factors"):
        getattr(recombine, verb)(ROWS)


def test_every_kind_of_table_gives_the_same_audit(tmp_path) -> None:
    import pandas as pd  # noqa: PLC0415
    import polars as pl  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    table = pa.table(ROWS)
    for part, rows in (("one", table.slice(0, 4)), ("two", table.slice(4))):
        pq.write_table(rows, tmp_path / f"{part}.parquet")
    given = (ROWS, table, pd.DataFrame(ROWS), pl.DataFrame(ROWS), str(tmp_path / "*.parquet"))
    audits = [recombine.audit(one, factors=FACTORS) for one in given]
    assert {audit.verdict for audit in audits} == {audits[0].verdict}
    assert all(audit.table == audits[0].table for audit in audits)


def test_what_is_no_saved_result_is_told_apart(tmp_path) -> None:
    with pytest.raises(RecordError, match="no saved result in"):
        recombine.load(tmp_path)
    (tmp_path / "record.json").write_text('{"kind": "novel", "format": 2}')
    with pytest.raises(RecordError, match="its kind is 'novel'"):
        recombine.load(tmp_path)


@pytest.mark.parametrize("out", ["held", "held.parquet", "held.v1.csv.gz"])
def test_what_a_split_was_written_to_is_told_from_a_saved_result(tmp_path, out):
    table = {"colour": ["red", "red", "blue", "blue"], "shape": ["disc", "bar", "disc", "bar"]}
    held = [{"colour": "red", "shape": "bar"}]
    splitter = recombine.HoldOutConjunctions(["colour", "shape"], conjunctions=held)
    split = recombine.split(table, by=splitter, out=tmp_path / out)
    (manifest,) = tmp_path.glob("*.split.json")
    for place, load in itertools.product((tmp_path / out, manifest), (recombine.load, recombine.Split.load)):
        with pytest.raises(RecordError, match="a split was written to") as caught:
            load(place)
        command = str(caught.value).partition("instead  ")[2].partition(" checks it")[0]
        assert eval(command).factors == ("colour", "shape")  # what the sentence says to write
    assert recombine.load(split.save(tmp_path / "saved")) == split
    with pytest.raises(RecordError, match=r"the folder that split.save\(folder\) wrote"):
        recombine.Split.load(tmp_path / "nowhere")


def test_a_gate_knows_every_grade() -> None:
    assert set(EXIT_CODES) == set(MEANING) == set(COLOURS) == set(GRADES)
    assert {EXIT_CODES[grade] for grade in ("weak", "failing")} == {3}
    assert EXIT_CODES["untested"] == 4


def test_the_audit_lists_every_combination_of_a_small_space() -> None:
    audit = recombine.audit(ROWS, factors=FACTORS, impossible=[{"colour": "blue", "shape": "ring"}])
    assert audit.table.num_rows == audit.counts.space == 8
    assert audit.table == audit.explain(audit.table.select(FACTORS))


def test_a_support_stands_for_a_table_wherever_one_is_taken(tmp_path) -> None:
    """With a row for each combination: what lint, evaluate and split say of combinations is then the same."""
    table = pa.table(ROWS)
    parts = {side: table.filter(pa.array([one == side for one in ROWS["side"]])) for side in ("train", "test")}
    supports = {
        side: recombine.read(part, factors=FACTORS, target="size", domain=VALUES) for side, part in parts.items()
    }
    assert recombine.lint(**supports, factors=FACTORS).verdict == recombine.lint(**parts, factors=FACTORS).verdict

    question = {"factors": FACTORS, "target": "size", "prediction": "guess"}
    found = [recombine.evaluate(parts["test"], train=one["train"], **question) for one in (supports, parts)]
    assert found[0].sides == found[1].sides  # simple rules need the training's answers, which a support has no rows of

    splitter = recombine.HoldOutConjunctions(FACTORS, conjunctions=[{"colour": "blue", "shape": "bar"}])
    support = recombine.read(ROWS, factors=FACTORS)
    made = recombine.split(support, by=splitter, out=tmp_path / "combinations.parquet")
    assert made.side(("blue", "bar")) == "test"
    assert recombine.audit(support.table, factors=FACTORS, weight="count").table.equals(recombine.audit(support).table)


@pytest.mark.parametrize("verb", ["audit", "predict", "plan"])
def test_a_misspelt_setting_is_told_by_the_verb_that_was_called(verb: str) -> None:
    with pytest.raises(SettingError, match=rf"recombine.{verb} has no such setting\n.*did you mean 'target'"):
        getattr(recombine, verb)(ROWS, factors=FACTORS, taget="size")
