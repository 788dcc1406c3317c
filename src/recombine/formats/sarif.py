"""SARIF 2.1.0, which code hosts show at the file itself: one result for each check that did not pass.

A failed check is an error. Not enough evidence is a warning, which says so in its first words; what a lint only warns
of is a note. A check is about a table as a whole, so its place is the table's first line.
"""

import hashlib
from collections.abc import Sequence
from typing import Any

from recombine._version import __version__
from recombine.formats.locations import address, relative_path
from recombine.formats.told import Check, Outcome, Told, one_line
from recombine.words import json_text

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS: dict[Outcome, str] = {"fail": "error", "not enough evidence": "warning", "warning": "note"}
_CAN_FAIL: tuple[Outcome, ...] = ("pass", "fail", "not enough evidence", "warning")
_ROOT = "%SRCROOT%"


def sarif(told: Sequence[Told]) -> str:
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


def rule(told: Told, check: Check) -> str:
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


def _result(told: Told, check: Check, places: dict[str, int]) -> dict[str, Any]:
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
