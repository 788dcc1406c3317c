"""JUnit's XML, which GitLab, Jenkins, Azure and others show beside a change: a test suite a table, a test case a check.

A check that fails is a failure. Not enough evidence is an error, not a skipped test: a CI server shows skipped tests in
green, and the command ends with 4. What was not asked is skipped. A warning passes, and says its sentence.
"""

from collections.abc import Sequence
from xml.etree import ElementTree as Xml

from recombine.formats.told import Check, Outcome, Told, one_line

_TAGS: dict[Outcome, str] = {"fail": "failure", "not enough evidence": "error", "not asked": "skipped"}


def junit(told: Sequence[Told]) -> str:
    """The checks of all tables, in letters that every encoding has."""
    root = Xml.Element("testsuites", {"name": "recombine"})
    for one in told:
        root.append(_suite(one))
    Xml.indent(root)
    written: bytes = Xml.tostring(root, encoding="us-ascii", xml_declaration=True)
    return written.decode("ascii") + "\n"


def _suite(told: Told) -> Xml.Element:
    checks = [check for check in told.checks if check.outcome != "told"]  # which cannot fail, so is no test
    ends = [_TAGS.get(check.outcome) for check in checks]
    counted = {name: str(ends.count(tag)) for name, tag in _COUNTED.items()}
    name = one_line(f"recombine {told.verb} {told.source}")
    suite = Xml.Element("testsuite", {"name": name, "tests": str(len(ends))} | counted)
    suite.extend([_case(told, check) for check in checks])
    Xml.SubElement(suite, "system-out").text = one_line(f"{told.grade}. {told.headline}")
    return suite


_COUNTED = {"failures": "failure", "errors": "error", "skipped": "skipped"}


def _case(told: Told, check: Check) -> Xml.Element:
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
