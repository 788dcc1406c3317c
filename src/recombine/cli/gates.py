"""Gates: a share that a pipeline is held to, and the exit code that says how it ended."""

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

Gates = dict[str, dict[str, Any]]
_COUNTED = {"determined": " (seen or determined, of all)"}
"""What a share is of, where its name does not say so."""


def check(
    share: Callable[[str], float],
    gates: Mapping[str, float],
    *,
    thin: Callable[[str], bool],
    at_best: Callable[[str], float] | None = None,
) -> Gates:
    """Each gate with what it asks, what was found, and how it ended; `thin` says where the evidence is not enough.

    `at_best` is what a share could still be if it was found low because it was picked: a gate fails below that.
    """
    highest = at_best or share
    return {name: _gate(share(name), highest(name), least, thin(name)) for name, least in gates.items()}


def _gate(found: float, at_best: float, least: float, thin: bool) -> dict[str, Any]:
    if math.isnan(found):
        return {"asked": least, "found": None, "verdict": "not enough evidence"}
    verdict = "fail" if at_best < least else "not enough evidence" if thin or found < least else "pass"
    return {"asked": least, "found": found, "verdict": verdict}


def lines(checked: Gates) -> list[str]:
    """Each gate as a line of the summary."""
    return [_line(name, gate) for name, gate in checked.items()]


def _line(name: str, gate: Mapping[str, Any]) -> str:
    found = "unknown" if gate["found"] is None else f"{gate['found']:.3f}"
    return f"  gate   {name} {found}{_COUNTED.get(name, '')}, asked {gate['asked']:g}: [bold]{gate['verdict']}[/]"


def exit_code(checked: Gates) -> int:
    """0 pass, 3 fail, 4 not enough evidence."""
    ends = {gate["verdict"] for gate in checked.values()}
    return 3 if "fail" in ends else 4 if "not enough evidence" in ends else 0


def told(record: Any) -> dict[str, Any]:
    """A record as `--json` holds it, with what is shown first."""
    from recombine.output.first_screen import as_json  # noqa: PLC0415 - which loads arrays, and help can do without

    return as_json(record)


def content(record: Any, checked: Gates, *, without: Iterable[str] = ()) -> dict[str, Any]:
    """A record and its gates as JSON, `without` what only a page draws."""
    return {name: value for name, value in told(record).items() if name not in without} | {"gates": checked}
