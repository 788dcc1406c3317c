"""`--format` on the command line: only that form on standard output, the others in files, and what is refused."""

import json
import sys
from xml.etree import ElementTree as Xml

import pytest
from typer.testing import CliRunner

import recombine
from recombine.base.errors import RecombineError
from recombine.cli import output_formats
from recombine.cli.app import app
from recombine.cli.ci_summary import OF_LINTS
from recombine.output.ci_formats import FORMS
from tests.output.sarif_rules import mistakes
from tests.test_action import held_out, write

LINES = ["material,garment,label,said,split"]
for place, (material, garment) in enumerate((m, g) for m in ("wool", "silk", "denim") for g in ("coat", "hat", "boot")):
    warm, side = "warm" if material == "wool" else "light", "test" if place in (1, 5) else "train"
    LINES += [f"{material},{garment},{warm},{warm if place != 5 else 'warm'},{side}"] * 3

VERBS = {
    "lint": ["lint", "table.csv", "-f", "material,garment"],
    "audit": ["audit", "table.csv", "-f", "material,garment", "-t", "label", "--fail-under", "seen=0.99"],
    "predict": [
        "predict", "table.csv", "-f", "material,garment", "-t", "label", "-w", "split = 'train'",
        "--fail-under", "expected=0.5",
    ],
    "evaluate": [
        "evaluate", "table.csv", "-f", "material,garment", "-t", "label", "-p", "said", "--split", "split",
        "--fail-under", "unseen=0.8",
    ],
}  # fmt: skip


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path, "table.csv", LINES)
    return tmp_path


def run(*words: str):
    before, sys.argv = sys.argv, ["recombine", *words]
    try:
        return CliRunner(env={"COLUMNS": "100"}).invoke(app, list(words))
    finally:
        sys.argv = before


def refused(*words: str) -> RecombineError:
    done = run(*words)
    assert isinstance(done.exception, RecombineError), done.output
    assert not done.stdout
    return done.exception


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_tells_it_in_every_form_at_once(verb, folder) -> None:
    files = {name: folder / f"found.{name}" for name in ("markdown", "junit", "sarif", "github", "metrics")}
    done = run(*VERBS[verb], "--json", *(word for name in files for word in ("--format", f"{name}=found.{name}")))
    assert done.exit_code in (0, 3, 4), done.output
    record = json.loads(done.stdout)
    said = {name: path.read_text(encoding="utf-8") for name, path in files.items()}
    assert said["markdown"].startswith(f"### recombine {verb}: table.csv\n\n**{record['grade']}.** ")
    assert "--format" not in said["markdown"]
    cases = Xml.fromstring(said["junit"]).findall(".//testcase")
    ends = {case.get("name"): [part.tag for part in case] for case in cases}
    if verb != "lint":
        (gate,) = record["gates"].values()
        tags = {"pass": "system-out", "fail": "failure", "not enough evidence": "error"}
        assert list(ends.values()) == [[tags[gate["verdict"]]]]
    log = json.loads(said["sarif"])
    assert mistakes(log) == []
    bad = [name for name, parts in ends.items() if {"failure", "error"} & set(parts)]
    assert [one["ruleId"] for one in log["runs"][0]["results"] if one["level"] != "note"] == [
        f"{verb}/{name}" for name in bad
    ]
    assert said["github"].count("::error") + said["github"].count("::warning") == len(bad)
    numbers = json.loads(said["metrics"])
    assert numbers
    assert all(type(number) in (int, float) for number in numbers.values())


def test_standard_output_holds_only_the_form(folder) -> None:
    words = VERBS["lint"]
    assert run(*words, "--format", "json").stdout.startswith("{")
    assert run(*words, "--json", "--format", "json").exit_code == 0
    assert Xml.fromstring(run(*words, "--format", "junit", "--report", "page.html").stdout).tag == "testsuites"
    assert (folder / "page.html").is_file()
    people = run(*words, "--format", "junit=found.xml").stdout
    assert "wrote  found.xml" in people
    assert "Split check passed" in people


def test_numbers_of_an_evaluation_are_its_own(folder) -> None:
    numbers = json.loads(run(*VERBS["evaluate"], "--format", "metrics").stdout)
    found = recombine.evaluate(
        "table.csv", factors=["material", "garment"], target="label", prediction="said", split="split", causes=False
    )
    assert numbers["unseen"] == found.side("unseen").score == 0.5
    assert numbers["seen_rows"] == found.side("seen").rows if found.side("seen").rows else "seen_rows" not in numbers
    assert "unseen_low" not in numbers  # two combinations have no interval, and no number stands for it


@pytest.mark.parametrize(
    ("words", "why", "instead"),
    [
        (["--format", "markdwon"], "no such form", "did you mean 'markdown'?"),
        (["--format", "markdown", "--json"], "one form", "--format json --format markdown=FILE"),
        (["--format", "junit="], "no file", "--format junit=FILE"),
        (["--format", "text=x.txt"], "terminal", "--format markdown=x.txt"),
        (["--format", "junit=a.xml", "--format", "junit=b.xml"], "already", "one file"),
        (["--format", "junit=a.xml", "--format", "sarif=a.xml"], "something else", "another file"),
        (["--format", "junit=table.csv", "--force"], "would replace it", "another file"),
        (["--format", "junit=there.xml"], "would replace it", "--force"),
        (["--format", "junit=lost/found.xml"], "", ""),
        (["table.csv", "--format", "metrics", "other.csv"], "about one", "one table at a time"),
        (["other.csv", "--report", "page.html"], "about one", "one table at a time"),
    ],
)
def test_what_cannot_be_meant_is_refused(words, why, instead, folder) -> None:
    (folder / "there.xml").write_text("mine")
    error = refused(*VERBS["lint"], *words)
    assert why in error.why
    assert instead in error.instead
    assert (folder / "there.xml").read_text() == "mine"
    assert sorted(path.name for path in folder.iterdir()) == ["table.csv", "there.xml"]


@pytest.mark.parametrize("form", ["junit", "sarif"])
def test_a_report_of_checks_needs_one(form, folder) -> None:
    error = refused("audit", "table.csv", "-f", "material,garment", "--format", form)
    assert "--fail-under determined=0.95" in error.instead


def test_a_word_that_is_no_text_can_be_written_into_every_file(folder) -> None:
    """Such as the name of a page, which stands in the command that made it."""
    page = "\udcff.html"  # the byte 255, which no UTF-8 has
    files = [word for form in ("json", "markdown") for word in ("--format", f"{form}=found.{form}")]
    assert run(*VERBS["audit"], "--report", page, *files).exit_code == 0
    assert (folder / "found.markdown").read_text(encoding="utf-8")
    found = json.loads((folder / "found.json").read_text(encoding="utf-8"))
    assert r"\udcff.html" in found["provenance"]["command"]


def test_force_replaces_a_file(folder) -> None:
    (folder / "there.xml").write_text("mine")
    assert run(*VERBS["lint"], "--format", "junit=there.xml", "--force").exit_code == 0
    assert "<testsuites" in (folder / "there.xml").read_text()


def test_several_tables_are_linted_each_by_itself(folder) -> None:
    write(folder, "leak.csv", [*held_out(), "wool,hat,again.jpg,train"])
    write(folder, "none.csv", [line for line in held_out() if not line.endswith("test")])
    ask = ["-f", "material,garment"]
    assert run("lint", "table.csv", "none.csv", *ask).exit_code == 4
    done = run("lint", "table.csv", "none.csv", "leak.csv", *ask)
    assert done.exit_code == 3
    assert [name in done.stdout for name in ("table.csv", "none.csv", "leak.csv")] == [True] * 3
    assert "recombine lint leak.csv -f material,garment --expect rows" in done.stdout
    suites = Xml.fromstring(run("lint", "table.csv", "leak.csv", *ask, "--format", "junit").stdout)
    assert [suite.get("failures") for suite in suites] == ["0", "1"]
    assert "lost.csv: no file" in refused("lint", "table.csv", "lost.csv", *ask).what


def test_every_check_of_a_lint_says_what_it_asks(folder) -> None:
    found = recombine.lint("table.csv", factors=["material", "garment"])
    assert {check.name for check in found.checks} == set(OF_LINTS)


def test_a_value_between_colons_is_no_picture(folder) -> None:
    write(folder, "emoji.csv", ["a,b", ":cat:,p", ":cat:,q", ":dog:,p"])
    for more in ([], ["--json"], ["--format", "markdown"]):
        assert ":dog:" in run("audit", "emoji.csv", "-f", "a,b", *more).stdout


def test_the_forms_are_those_that_the_option_names() -> None:
    assert {*FORMS, "text", "json"} == set(output_formats._NAMES)
