"""Gates: a share that a pipeline is held to, and the exit code that says how it ended."""

from collections.abc import Callable, Mapping
from typing import Any

Gates = dict[str, dict[str, Any]]


def check(share: Callable[[str], float], gates: Mapping[str, float], *, thin: Callable[[str], bool]) -> Gates:
    """Each gate with what it asks, what was found, and how it ended; `thin` says where the evidence is not enough."""
    return {
        name: {"asked": least, "found": share(name), "verdict": _verdict(share(name), least, thin(name))}
        for name, least in gates.items()
    }


def _verdict(found: float, least: float, thin: bool) -> str:
    if found < least:
        return "fail"
    return "not enough evidence" if thin else "pass"


def exit_code(checked: Gates) -> int:
    """0 pass, 3 fail, 4 not enough evidence."""
    ends = {gate["verdict"] for gate in checked.values()}
    return 3 if "fail" in ends else 4 if "not enough evidence" in ends else 0
