"""Each form holds what was found and nothing else, whatever names and values a table has."""

import json
import re
from dataclasses import replace
from urllib.parse import unquote
from xml.etree import ElementTree as Xml

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recombine.output.ci_formats import FORMS, Check, CiSummary, ExampleTable, address, plain, relative_path
from tests.output.links import JOINER, LINKED, NOT_LINKED
from tests.output.sarif_rules import mistakes
from tests.properties import examples

HOSTILE = "x|y\n::error::`$(touch hacked)` <img src=a> [l](http://e) ![p](q) {0} % \"'&\x00\x1b\ud800"
CHECKS = (
    Check("combinations", "fail", "2 of 4 are in training.", "none is in training"),
    Check("sides", "not enough evidence", "There are no test rows.", "no side is empty"),
    Check("sizes", "warning", "Test is the larger.", "test is not larger"),
    Check("rows", "pass", "No row is on two sides.", "no row is on two sides"),
    Check("classes", "not asked", "No target was named.", "shares are alike"),
    Check("determined", "told", "4 are determined.", "it is told"),
)
PLAIN = CiSummary(
    "lint",
    "data/held.csv",
    "It leaks.",
    "failing",
    CHECKS,
    ExampleTable("culprits", ("a", "rows"), (("x", "1"), ("y", "2"))),
    (("recombine lint data/held.csv --out lint", "all culprits"),),
    {"rows": 4, "share": 0.5, "unknown": float("nan")},
)
NASTY = CiSummary(
    "lint",
    "data/x|y\n::error::`$(touch hacked)` <img src=a> {0} % \"'&\x1b\udcff.csv",
    HOSTILE,
    "failing",
    tuple(Check(HOSTILE, end, HOSTILE, HOSTILE) for end in ("fail", "not enough evidence", "warning", "pass", "told")),
    ExampleTable(HOSTILE, (HOSTILE,), ((HOSTILE,),)),
    ((f"recombine lint '```\n{HOSTILE}'", HOSTILE),),
)


def cells(line: str) -> int:
    """How many cells a line of a Markdown table has."""
    return len(re.findall(r"(?<!\\)\|", line)) - 1


def test_markdown_says_the_answer_first_then_the_checks_the_rows_and_what_to_do() -> None:
    said = FORMS["markdown"]([PLAIN])
    assert said.startswith("### recombine lint: data/held.csv\n\n**failing.** It leaks.\n")
    assert "| combinations | fail | 2 of 4 are in training. |" in said
    assert "classes" not in said
    assert said.index("sizes") < said.index("Culprits:") < said.index("| x | 1 |") < said.index("--out lint")
    assert said.endswith("```\n")


def test_nothing_of_a_table_means_anything_in_markdown() -> None:
    said = FORMS["markdown"]([NASTY])
    text, _, code = said.partition("\nNext:\n")
    for mark in ("<img", "](http", "![", "`$("):
        assert not re.search(rf"(?<!\\){re.escape(mark)}", text), mark
    assert {cells(line) for line in text.splitlines() if line.startswith("|") and "---" not in line} == {1, 3}
    assert not any(line.startswith("::") for line in text.splitlines())
    fence = re.search(r"^(`+)sh$", code, re.MULTILINE)[1]
    assert len(fence) > 3
    assert code.rstrip().endswith(fence)


LINKED_BY_GITHUB = re.compile(
    r"""[a-z]+://[^\s<] | (?<![a-z0-9])www\.[^\s<]            # addresses
    | [\w.+-]+@[a-z0-9] | (?<![a-z0-9/`])@[a-z0-9]           # of a mailbox; mentions
    | \#[0-9] | \bGH-[0-9] | \b(?=\d*[a-f])[0-9a-f]{7,40}\b  # issues and commits""",
    re.VERBOSE | re.IGNORECASE | re.ASCII,
)
"""What GitHub makes a link or a mention of, with no markup around it."""


@pytest.mark.parametrize("text", LINKED)
def test_no_link_and_no_mention_is_made_of_a_name(text: str) -> None:
    assert LINKED_BY_GITHUB.search(text)
    told = replace(PLAIN, source=text, headline=text, rows=ExampleTable(text, (text,), ((text,),)), next=())
    said = FORMS["markdown"]([replace(told, checks=(Check(text, "fail", text, text),))])
    assert not LINKED_BY_GITHUB.search(said)
    assert said.replace(JOINER, "").replace("\\", "").lower().count(text.lower()) == 7


@pytest.mark.parametrize("text", NOT_LINKED)
def test_a_text_that_is_no_link_stays_as_it_is(text: str) -> None:
    assert plain(text).replace("\\", "") == text


@given(st.text(alphabet="@#:/.w-GHaf017 _x\\|", max_size=60))
@examples(300)
def test_no_link_and_no_mention_is_made_of_any_text(text: str) -> None:
    assert not LINKED_BY_GITHUB.search(plain(text))
    assert plain(text).replace(JOINER, "") == re.sub(r"([\\_|#])", r"\\\1", text)


def test_junit_has_a_case_for_each_check_that_can_fail() -> None:
    said = FORMS["junit"]([PLAIN, PLAIN])
    suite = Xml.fromstring(said)[0]
    assert suite.attrib == {
        "name": "recombine lint data/held.csv",
        "tests": "5",
        "failures": "1",
        "errors": "1",
        "skipped": "1",
    }
    ends = {case.get("name"): [part.tag for part in case] for case in suite.iter("testcase")}
    assert ends == {
        "combinations": ["failure"],
        "sides": ["error"],
        "sizes": ["system-out"],
        "rows": ["system-out"],
        "classes": ["skipped"],
    }
    assert suite.find(".//failure").get("message") == "2 of 4 are in training."


def test_junit_can_be_read_whatever_a_table_holds() -> None:
    said = FORMS["junit"]([NASTY])
    assert said.isascii()
    failure = Xml.fromstring(said).find(".//failure")
    assert failure.get("message").startswith(r"x|y\u000a::error::")


def test_sarif_has_a_result_for_each_check_that_did_not_pass() -> None:
    found = json.loads(FORMS["sarif"]([PLAIN]))
    assert mistakes(found) == []
    run = found["runs"][0]
    assert [(one["ruleId"], one["level"]) for one in run["results"]] == [
        ("lint/combinations", "error"),
        ("lint/sides", "warning"),
        ("lint/sizes", "note"),
    ]
    assert run["results"][1]["message"]["text"].startswith("Not enough evidence. ")
    place = run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]
    assert place == {"uri": "data/held.csv", "uriBaseId": "%SRCROOT%"}
    assert {rule["id"] for rule in run["tool"]["driver"]["rules"]} == {f"lint/{c.name}" for c in CHECKS[:4]}
    assert run["tool"]["driver"]["rules"][0]["help"]["text"].startswith("It passes where none is in training.")


def test_sarif_keeps_its_rules_whatever_a_table_holds() -> None:
    found = json.loads(FORMS["sarif"]([NASTY]))
    assert mistakes(found) == []
    assert "{{0}}" in found["runs"][0]["results"][0]["message"]["text"]


def test_the_same_finding_has_the_same_fingerprint_after_its_numbers_changed() -> None:
    later = CiSummary("lint", "data/held.csv", "", "failing", (Check("combinations", "fail", "3 of 9.", ""),))
    one, other = (json.loads(FORMS["sarif"]([told]))["runs"][0]["results"][0] for told in (PLAIN, later))
    assert one["partialFingerprints"] == other["partialFingerprints"]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda log: log.update(version="2.0.0"),
        lambda log: log["runs"][0].update(tools=log["runs"][0].pop("tool")),
        lambda log: log["runs"][0]["results"][0].update(level="fatal"),
        lambda log: log["runs"][0]["results"][0].pop("message"),
        lambda log: log["runs"][0]["results"][0].update(ruleIndex=9),
        lambda log: log["runs"][0]["tool"]["driver"]["rules"].append(log["runs"][0]["tool"]["driver"]["rules"][0]),
        lambda log: log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"].update(
            uri="my table.csv"
        ),
        lambda log: log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["region"].update(startLine=0),
    ],
)
def test_the_rules_of_sarif_can_be_broken(spoil) -> None:
    log = json.loads(FORMS["sarif"]([PLAIN]))
    spoil(log)
    assert mistakes(log)


def test_annotations_are_a_line_for_each_check_that_did_not_pass() -> None:
    assert FORMS["github"]([PLAIN]).splitlines() == [
        "::error file=data/held.csv,title=recombine lint%3A combinations::2 of 4 are in training.",
        "::warning file=data/held.csv,title=recombine lint%3A sides%2C not enough evidence::There are no test rows.",
        "::notice file=data/held.csv,title=recombine lint%3A sizes::Test is the larger.",
    ]


def test_no_value_is_a_command_of_a_job() -> None:
    lines = FORMS["github"]([NASTY]).splitlines()
    assert len(lines) == 3
    assert all(re.match(r"::(error|warning|notice) file=[^,:]*,title=[^,:]*::", line) for line in lines)


def test_metrics_are_flat_numbers_that_are_known() -> None:
    assert json.loads(FORMS["metrics"]([PLAIN])) == {"rows": 4, "share": 0.5}


@pytest.mark.parametrize(
    "source",
    [
        "my table.csv",
        "a#b?c.csv",
        "100%.csv",
        "größe.csv",
        "sub/../t.csv",
        "data/*.parquet",
        "-t.csv",
        "a:b.csv",
        "\udcff.csv",
    ],
)
def test_a_path_survives_as_an_address(source, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert re.fullmatch(r"[A-Za-z0-9._~%/:*-]+", address(source))
    if relative_path(source) is not None:
        assert unquote(address(source), errors="surrogateescape") == relative_path(source)


def test_an_address_says_no_password_and_a_table_elsewhere_has_no_path_here(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert "geheim" not in address("postgresql://me:geheim@host/db")
    assert relative_path("/elsewhere/t.csv") is None
    assert address("/elsewhere/t.csv") == "file:///elsewhere/t.csv"
    assert relative_path(str(tmp_path / "t.csv")) == "t.csv"
