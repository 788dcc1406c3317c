"""`recombine diff` as a person runs it."""

import json
from itertools import product

import pytest
from typer.testing import CliRunner

import recombine
from recombine.base.errors import RecombineError
from recombine.cli.app import app

CELLS = [(a, b) for a, b in product(range(5), range(6)) if (a + 2 * b) % 5]


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, cells in (("old", CELLS), ("new", CELLS[1:]), ("more", [*CELLS, (0, 0)])):
        table = {"a": [f"a{a}" for a, _ in cells], "b": [f"b{b}" for _, b in cells]}
        recombine.audit(table, factors=["a", "b"]).save(name)
    return lambda *words: CliRunner().invoke(app, ["diff", *words])


def test_the_answer_comes_first(here) -> None:
    done = here("old", "new")
    assert done.exit_code == 0
    lines = [line.strip() for line in done.stdout.splitlines() if line.strip()]
    assert lines[0].startswith("1 combination is no longer seen (a=a0, b=b1)")
    assert "--report diff.html" in done.stdout
    assert "--fail-on worse" in done.stdout


@pytest.mark.parametrize(
    ("old", "new", "code"), [("old", "new", 3), ("old", "old", 0), ("new", "old", 0), ("old", "more", 0)]
)
def test_a_gate(here, old, new, code) -> None:
    assert here(old, new, "--fail-on", "worse").exit_code == code


def test_page_folder_and_json(here, tmp_path) -> None:
    done = here("old", "new", "--json", "--report", "page.html", "--out", "saved")
    told = json.loads(done.stdout)
    assert (told["kind"], told["of"], told["counts"]) == ("diff", "audit", {"lost": 1})
    assert told["changes"][0]["what"] == "lost"
    assert recombine.load(tmp_path / "saved").counts == {"lost": 1}
    assert "<h2" in (tmp_path / "page.html").read_text()
    again = here("old", "new", "--out", "saved")
    assert isinstance(again.exception, RecombineError)
    assert here("old", "new", "--out", "saved", "--force").exit_code == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nothing", "new"), "no saved result"),
        (("old", "new", "--fail-on", "better"), "--fail-on"),
        (("old", "new", "--out", "old"), "lies in what is read"),
        (("old", "new", "--report", "old/record.json"), "ends in .html"),
    ],
)
def test_mistakes_are_told(here, words, said) -> None:
    done = here(*words)
    assert isinstance(done.exception, RecombineError)
    assert said in str(done.exception)
