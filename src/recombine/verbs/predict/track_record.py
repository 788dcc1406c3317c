"""How far forecasts were from trained networks: an interval holds that no theory is the network itself.

The numbers stand in `track_record.json`, which `benchmarks/validity.py --track-record` writes from the cells that
forecasts were developed with; a third of the cells, never looked at, says whether intervals made of them hold.
"""

import json
from functools import cache
from pathlib import Path


def miss(basis: str, score: str) -> float:
    """The standard deviation of forecast less measured, in units of the score.

    `basis` is what the forecast rests on (combinations; examples, or composed ones; rehearsal), `score` its name
    (accuracy, R²). Who has rows of unseen combinations knows more than who composes them or rehearses on others, so
    these are never given a smaller one, whatever a few cells happened to show.

    >>> 0.02 < miss("examples", "accuracy") < miss("combinations", "accuracy") < 0.5
    True
    """
    known = (basis, "examples") if basis in _KNOWS_LESS else (basis,)
    return max(float(_record()[one][score]["sd"]) for one in known)


_KNOWS_LESS = ("composed", "rehearsal")


@cache
def _record() -> dict[str, dict[str, dict[str, float]]]:
    found: dict[str, dict[str, dict[str, float]]] = json.loads(
        Path(__file__).with_suffix(".json").read_text(encoding="utf-8")
    )
    return found
