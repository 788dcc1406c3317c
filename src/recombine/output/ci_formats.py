"""What a verb found, in the forms that CI servers and trackers read. Each is written from a `CiSummary`.

- *metrics*: numbers alone, in one flat JSON object: what `dvc metrics` shows and compares, and any other tracker reads.
- *github*: the lines by which a job of GitHub Actions marks a file: an error, a warning or a notice for each check. A
  line that begins with two colons is a command there, so everything of somebody else's is escaped.
- *junit*: XML that GitLab, Jenkins, Azure and others show beside a change: a test suite a table, a test case a check.
  A check that fails is a failure. Not enough evidence is an error, not a skipped test: a CI server shows skipped tests
  in green, and the command ends with 4. What was not asked is skipped. A warning passes, and says its sentence.
- *sarif* (2.1.0): what code hosts show at the file itself, one result for each check that did not pass. A failed check
  is an error. Not enough evidence is a warning, which says so in its first words; what a lint only warns of is a note.
  A check is about a table as a whole, so its place is the table's first line.
- *markdown*: what one reads in the summary of a job, or in a comment on a change. Values of a table are somebody else's
  words. All that means something in Markdown is escaped in them, so that they stand there as they are: no link, no
  picture, no heading, no HTML. GitHub makes links and mentions of words that have no markup around them, escaped or
  not; a character that takes no room keeps them apart. The page's *Copy as Markdown* does so too (`markdown.js`).
"""

import hashlib
import math
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, Literal
from urllib.parse import quote
from xml.etree import ElementTree as Xml

from recombine.base.grades import Grade
from recombine.base.redaction import redacted
from recombine.base.version import __version__
from recombine.base.words import json_text

Outcome = Literal["pass", "fail", "warning", "not enough evidence", "told", "not asked"]

_UNSEEN = re.compile(r"[\x00-\x1f\x7f\u0085\u2028\u2029\ud800-\udfff\ufffe\uffff]")


@dataclass(frozen=True)
class Check:
    """A gate, or one line of a lint: how it ended, and in a sentence of its own why.

    `meaning` is the same whatever was found: what is so where it passes, for those who meet it for the first time.

    >>> Check("rows", "fail", "3 rows are in training and test.", meaning="no row is on two sides").outcome
    'fail'
    """

    name: str
    outcome: Outcome
    sentence: str
    meaning: str


@dataclass(frozen=True)
class ExampleTable:
    """A small table: the combinations that tell most."""

    title: str
    columns: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class CiSummary:
    """What a verb found about one table. `numbers` are flat, for trackers; what is not known is left out of them."""

    verb: str
    source: str
    headline: str
    grade: Grade
    checks: tuple[Check, ...]
    rows: ExampleTable | None = None
    next: tuple[tuple[str, str], ...] = ()
    numbers: Mapping[str, float] = field(default_factory=dict)


def one_line(text: str) -> str:
    r"""A text on one line: whatever breaks lines, or is no letter at all, is written by its number.

    >>> print(one_line("two\nlines"))
    two\u000alines
    """
    return _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


_TAGS: dict[Outcome, str] = {"fail": "failure", "not enough evidence": "error", "not asked": "skipped"}


def junit(told: Sequence[CiSummary]) -> str:
    """The checks of all tables, in letters that every encoding has."""
    root = Xml.Element("testsuites", {"name": "recombine"})
    for one in told:
        root.append(_suite(one))
    Xml.indent(root)
    written: bytes = Xml.tostring(root, encoding="us-ascii", xml_declaration=True)
    return written.decode("ascii") + "\n"


def _suite(told: CiSummary) -> Xml.Element:
    checks = [check for check in told.checks if check.outcome != "told"]  # which cannot fail, so is no test
    ends = [_TAGS.get(check.outcome) for check in checks]
    counted = {name: str(ends.count(tag)) for name, tag in _COUNTED.items()}
    name = one_line(f"recombine {told.verb} {told.source}")
    suite = Xml.Element("testsuite", {"name": name, "tests": str(len(ends))} | counted)
    suite.extend([_case(told, check) for check in checks])
    Xml.SubElement(suite, "system-out").text = one_line(f"{told.grade}. {told.headline}")
    return suite


_COUNTED = {"failures": "failure", "errors": "error", "skipped": "skipped"}


def _case(told: CiSummary, check: Check) -> Xml.Element:
    called = {"classname": f"recombine.{told.verb}", "name": check.name, "file": told.source, "time": "0"}
    case = Xml.Element("testcase", {name: one_line(value) for name, value in called.items()})
    tag, said = _TAGS.get(check.outcome), one_line(check.sentence)
    if tag is None:
        Xml.SubElement(case, "system-out").text = said
    elif tag == "skipped":
        Xml.SubElement(case, tag, {"message": said})
    else:
        told_why = Xml.SubElement(case, tag, {"message": said, "type": check.outcome})
        told_why.text = f"{said}\nIt passes where {one_line(check.meaning)}."
    return case


def metrics(told: Sequence[CiSummary]) -> str:
    """The numbers of one table; a number that is not known is left out, so that nobody compares with it."""
    (one,) = told
    return json_text({name: value for name, value in one.numbers.items() if not math.isnan(value)}) + "\n"


_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]+:")  # of two letters or more: one is a disk of Windows


def relative_path(source: str) -> str | None:
    """The path of a table within the current folder; None for what lies elsewhere.

    >>> relative_path("data/my table.csv"), relative_path("s3://bucket/table.csv")
    ('data/my table.csv', None)
    """
    if _ADDRESS.match(source):
        return None
    here = Path.cwd()
    try:
        return PurePosixPath((here / source).resolve().relative_to(here.resolve())).as_posix()
    except (ValueError, OSError, RuntimeError):  # it lies above, or its links go in a circle
        return None


def address(source: str) -> str:
    """The same as a URI: relative where it lies here, whole where it does not, and without passwords.

    >>> address("data/my table.csv"), address("s3://bucket/table.csv")
    ('data/my%20table.csv', 's3://bucket/table.csv')
    """
    within = relative_path(source)
    if within is not None:
        return quote(os.fsencode(within))  # a name need not be text
    if _ADDRESS.match(source):
        return quote(redacted(source), safe=":/?#[]@!$&'()*+,;=%")
    return Path(source).absolute().as_uri()


_KINDS: dict[Outcome, str] = {"fail": "error", "not enough evidence": "warning", "warning": "notice"}


def github(told: Sequence[CiSummary]) -> str:
    """A line for each check that did not pass."""
    return "".join(_line(one, check) for one in told for check in one.checks if check.outcome in _KINDS)


def _line(told: CiSummary, check: Check) -> str:
    path = relative_path(told.source)
    thin = ", not enough evidence" if check.outcome == "not enough evidence" else ""
    title = f"recombine {told.verb}: {check.name}{thin}"
    said = {"title": title} if path is None else {"file": path, "title": title}
    named = ",".join(f"{name}={_property(value)}" for name, value in said.items())
    return f"::{_KINDS[check.outcome]} {named}::{_data(check.sentence)}\n"


def _data(text: str) -> str:
    r"""A message, as GitHub wants it escaped.

    >>> print(_data("100 %\n::error::"))
    100 %25\u000a::error::
    """
    return one_line(text).replace("%", "%25")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS: dict[Outcome, str] = {"fail": "error", "not enough evidence": "warning", "warning": "note"}
_CAN_FAIL: tuple[Outcome, ...] = ("pass", "fail", "not enough evidence", "warning")
_ROOT = "%SRCROOT%"


def sarif(told: Sequence[CiSummary]) -> str:
    """One run, with a rule for each check that was made and a result for each that did not pass."""
    rules = {rule(one, check): check for one in told for check in one.checks if check.outcome in _CAN_FAIL}
    places = {name: place for place, name in enumerate(rules)}
    driver = {
        "name": "recombine",
        "version": __version__,
        "rules": [_described(name, check) for name, check in rules.items()],
    }
    run = {
        "tool": {"driver": driver},
        "invocations": [{"executionSuccessful": True}],
        "originalUriBaseIds": {_ROOT: {"description": {"text": "The folder that the command ran in."}}},
        "columnKind": "unicodeCodePoints",
        "results": [_result(one, check, places) for one in told for check in one.checks if check.outcome in _LEVELS],
    }
    return json_text({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}) + "\n"


def rule(told: CiSummary, check: Check) -> str:
    """The name of a check among those of all verbs, such as `lint/combinations`."""
    return f"{told.verb}/{one_line(check.name)}"


def _described(name: str, check: Check) -> dict[str, Any]:
    meaning = one_line(check.meaning)
    passes = f"It passes where {meaning}."
    return {
        "id": name,
        "shortDescription": {"text": f"{meaning[:1].upper()}{meaning[1:]}"},
        "fullDescription": {"text": passes},
        "help": {"text": f"{passes} The same command without --format says what to do next."},
        "defaultConfiguration": {"level": "error"},
    }


def _message(text: str) -> str:
    """A sentence in which nothing is a placeholder, which SARIF writes in braces, or a link, in brackets."""
    return one_line(text).replace("{", "{{").replace("}", "}}").replace("[", "\\[").replace("]", "\\]")


def _result(told: CiSummary, check: Check, places: dict[str, int]) -> dict[str, Any]:
    name = rule(told, check)
    thin = "Not enough evidence. " if check.outcome == "not enough evidence" else ""
    place = {"uri": address(told.source)} | ({} if relative_path(told.source) is None else {"uriBaseId": _ROOT})
    same = hashlib.sha256(f"{name}\0{place['uri']}".encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return {
        "ruleId": name,
        "ruleIndex": places[name],
        "level": _LEVELS[check.outcome],
        "message": {"text": thin + _message(check.sentence)},
        "locations": [{"physicalLocation": {"artifactLocation": place, "region": {"startLine": 1}}}],
        # the same finding in the next commit is the same alert, whatever its numbers are by then
        "partialFingerprints": {"recombineCheck/v1": same},
    }


_MEANS_SOMETHING = re.compile(r"([\\`*_{}\[\]<>|~#!&$])")
_LINKED = re.compile(
    r"@(?=\S)|:(?=//)|#(?=[0-9])|www(?=\.)|\bGH-(?=[0-9])|\b(?=[0-9]*[a-f])[0-9a-f]{7,40}\b", re.IGNORECASE | re.ASCII
)
"""How mentions, addresses and issues begin; a commit, but no number, which has to stay one when it is pasted."""

_WORD_JOINER = "\u2060"
_FENCE = re.compile(r"`{3,}")


def markdown(told: Sequence[CiSummary]) -> str:
    """One section for each table: the grade and the answer, the checks, a few combinations, what to do next."""
    return "\n".join(map(_section, told))


def _section(told: CiSummary) -> str:
    parts = [f"### recombine {told.verb}: {plain(told.source)}", f"**{told.grade}.** {plain(told.headline)}"]
    checks = [check for check in told.checks if check.outcome != "not asked"]
    if checks:
        parts.append(_table(("check", "outcome", "found"), map(_check, checks)))
    if told.rows is not None and told.rows.lines:
        parts += [_title(told.rows), _table(told.rows.columns, told.rows.lines)]
    if told.next:
        parts += ["Next:", _commands(told.next)]
    return "\n\n".join(parts) + "\n"


def plain(text: str) -> str:
    r"""A text that Markdown shows as it is.

    >>> print(plain("p_cat | <b>"))
    p\_cat \| \<b\>
    >>> plain("@wool")
    '@\u2060wool'
    """
    return _LINKED.sub(_kept_apart, _MEANS_SOMETHING.sub(r"\\\1", one_line(text)))


def _kept_apart(found: re.Match[str]) -> str:
    """A beginning, kept apart from what follows. Of a commit every six letters: GitHub knows it by seven."""
    return re.sub(".{1,6}", rf"\g<0>{_WORD_JOINER}", found[0])


def _check(check: Check) -> tuple[str, str, str]:
    return check.name, check.outcome, check.sentence


def _title(rows: ExampleTable) -> str:
    return f"{plain(rows.title[:1].upper() + rows.title[1:])}:"


def _table(columns: Iterable[str], lines: Iterable[Iterable[str]]) -> str:
    head = list(columns)
    return "\n".join([_table_line(head), _table_line(["---"] * len(head), bare=True), *map(_table_line, lines)])


def _table_line(cells: Iterable[str], *, bare: bool = False) -> str:
    return "| " + " | ".join(cell if bare else plain(cell) for cell in cells) + " |"


def _commands(lines: Iterable[tuple[str, str]]) -> str:
    """Commands to paste, each below its reason, between fences longer than any in them."""
    body = "\n".join(f"# {one_line(why)}\n{command}" for command, why in lines)
    fence = "`" * max(3, *(len(found) + 1 for found in ["", *_FENCE.findall(body)]))
    return f"{fence}sh\n{body}\n{fence}"


FORMS: Mapping[str, Callable[[Sequence[CiSummary]], str]] = {
    "markdown": markdown,
    "junit": junit,
    "sarif": sarif,
    "github": github,
    "metrics": metrics,
}
NEED_CHECKS = ("junit", "sarif")
"""Reports of nothing but how checks ended: without any, an empty one would look as if all had passed."""
