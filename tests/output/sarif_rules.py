"""The rules of SARIF 2.1.0 for the part of it that recombine writes, written anew from the standard.

The names that each object may bear, those that it must, and what the prose asks besides: rules with ids of their own,
an index that points at the rule of the same id, addresses that are URIs, lines that count from one.
"""

import re
from collections.abc import Iterator
from typing import Any

_URI = re.compile(r"(?:[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*")
_LEVELS = {"none", "note", "warning", "error"}
_RULE = ("shortDescription", "fullDescription", "help", "defaultConfiguration", "helpUri", "name", "properties")
_OBJECTS = {  # what must stand in it, what may
    "log": ({"version", "runs"}, {"$schema", "properties"}),
    "run": ({"tool"}, {"results", "invocations", "originalUriBaseIds", "columnKind", "artifacts", "automationDetails"}),
    "tool": ({"driver"}, {"extensions"}),
    "driver": ({"name"}, {"version", "semanticVersion", "informationUri", "rules", "organization"}),
    "rule": ({"id"}, set(_RULE)),
    "result": (
        {"message"},
        {"ruleId", "ruleIndex", "level", "kind", "locations", "partialFingerprints", "fingerprints", "properties"},
    ),
    "text": ({"text"}, {"markdown"}),
    "location": (set(), {"physicalLocation", "logicalLocations", "message"}),
    "physical": (set(), {"artifactLocation", "region", "contextRegion"}),
    "artifact": (set(), {"uri", "uriBaseId", "index", "description"}),
    "region": (set(), {"startLine", "endLine", "startColumn", "endColumn"}),
    "invocation": ({"executionSuccessful"}, {"exitCode", "commandLine", "startTimeUtc", "endTimeUtc"}),
}


def mistakes(log: Any) -> list[str]:
    """Every rule that a log breaks."""
    return list(_log(log))


def _names(kind: str, found: Any) -> Iterator[str]:
    must, may = _OBJECTS[kind]
    if not isinstance(found, dict):
        yield f"{kind} is no object"
        return
    yield from (f"{kind} lacks {name}" for name in must - set(found))
    yield from (f"{kind} has {name}" for name in set(found) - must - may)


def _log(log: Any) -> Iterator[str]:
    yield from _names("log", log)
    if log.get("version") != "2.1.0":
        yield "another version"
    for run in log.get("runs", []):
        yield from _run(run)


def _run(run: Any) -> Iterator[str]:
    yield from _names("run", run)
    driver = run.get("tool", {}).get("driver", {})
    yield from _names("tool", run.get("tool", {}))
    yield from _names("driver", driver)
    rules = driver.get("rules", [])
    for rule in rules:
        yield from _rule(rule)
    if len({rule.get("id") for rule in rules}) != len(rules):
        yield "two rules have one id"
    if run.get("columnKind") not in (None, "utf16CodeUnits", "unicodeCodePoints"):
        yield "columnKind"
    for invocation in run.get("invocations", []):
        yield from _names("invocation", invocation)
    for base in run.get("originalUriBaseIds", {}).values():
        yield from _names("artifact", base)
        if "uri" in base and not base["uri"].endswith("/"):
            yield "a base ends in no stroke"
    for result in run.get("results", []):
        yield from _result(result, rules, run.get("originalUriBaseIds", {}))


def _rule(rule: Any) -> Iterator[str]:
    yield from _names("rule", rule)
    for name in ("shortDescription", "fullDescription", "help"):
        if name in rule:
            yield from _names("text", rule[name])
            if not rule[name].get("text"):
                yield f"{name} is empty"
    if rule.get("defaultConfiguration", {}).get("level", "warning") not in _LEVELS:
        yield "a level of a rule"


def _result(result: Any, rules: list[Any], bases: Any) -> Iterator[str]:
    yield from _names("result", result)
    yield from _names("text", result.get("message", {}))
    if result.get("level", "warning") not in _LEVELS:
        yield "a level"
    place = result.get("ruleIndex", -1)
    if not -1 <= place < len(rules) or (place >= 0 and rules[place]["id"] != result.get("ruleId")):
        yield "ruleIndex points elsewhere"
    for location in result.get("locations", []):
        yield from _location(location, bases)
    if not all(isinstance(value, str) for value in result.get("partialFingerprints", {}).values()):
        yield "a fingerprint is no text"


def _location(location: Any, bases: Any) -> Iterator[str]:
    yield from _names("location", location)
    physical = location.get("physicalLocation", {})
    artifact = physical.get("artifactLocation", {})
    yield from _names("physical", physical)
    yield from _names("artifact", artifact)
    yield from _names("region", physical.get("region", {}))
    if not _URI.fullmatch(artifact.get("uri", "")):
        yield "a uri is none"
    if artifact.get("uriBaseId", next(iter(bases), None)) not in bases:
        yield "a base that is not there"
    if physical.get("region", {}).get("startLine", 1) < 1:
        yield "lines count from one"
