"""One by one or as one: measured once, then remembered in a small file of the cache folder."""

import contextlib
import hashlib
import json
import math
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from recombine.errors import OutputError
from recombine.files import write_text
from recombine.lab.tasks.data.files import cache_folder

_WARM, _MEASURED = 3, 7
_HOPELESS, _MOST_SECONDS = 2.0, 1.0


def notes() -> Path:
    """The file of measured choices."""
    return cache_folder() / "together.json"


def choice_key(about: dict[str, Any], *, runs: int) -> str:
    """What a measurement holds for: the work of a step, about how many runs, this torch, and this kind of processor."""
    here = {"torch": torch.__version__, "processor": torch.backends.cpu.get_cpu_capability()}
    text = json.dumps(about | here | {"runs": 1 << (runs - 1).bit_length()}, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def remembered(key: str) -> bool | None:
    """Whether training as one was faster; None where it was never measured here."""
    try:
        return bool(_held()[key]["together"])
    except (KeyError, TypeError):
        return None


def remember(key: str, *, together: bool, **measured: float | str | None) -> None:
    """Note a choice. A folder that cannot be written costs a measurement each time, and nothing else."""
    held = _held() | {key: {"together": together, **measured}}
    with contextlib.suppress(OutputError):
        write_text(notes(), json.dumps(held, indent=1))


def _held() -> dict[str, Any]:
    """All that was noted; nothing where the file is not there or damaged."""
    try:
        return dict(json.loads(notes().read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return {}


def seconds_of(step: Callable[[int], object], *, rival: float = math.inf) -> float:
    """The processor time of a step: the median of a few, after a few that are not counted.

    One that takes far longer than a rival's, the first not counted, is not taken again.
    """
    taken = []
    for place in range(_WARM + _MEASURED):
        began = time.process_time()
        step(place)
        taken.append(time.process_time() - began)
        if place and taken[-1] > _HOPELESS * rival:
            return taken[-1]
        if place >= _WARM and sum(taken) > _MOST_SECONDS:
            break
    return statistics.median(taken[_WARM:])
