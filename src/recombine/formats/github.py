"""The lines by which a job of GitHub Actions marks a file: an error, a warning or a notice for each check.

A line that begins with two colons is a command there, so everything of somebody else's is escaped.
"""

from collections.abc import Sequence

from recombine.formats.locations import relative_path
from recombine.formats.told import Check, Outcome, Told, one_line

_KINDS: dict[Outcome, str] = {"fail": "error", "not enough evidence": "warning", "warning": "notice"}


def github(told: Sequence[Told]) -> str:
    """A line for each check that did not pass."""
    return "".join(_line(one, check) for one in told for check in one.checks if check.outcome in _KINDS)


def _line(told: Told, check: Check) -> str:
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
