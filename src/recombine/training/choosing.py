"""One by one or as one: measured once, then remembered in a small file of the cache folder."""

import contextlib
import hashlib
import json
import math
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from recombine.tasks.data.places import cache_folder

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
        found = json.loads(notes().read_text(encoding="utf-8"))[key]["together"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return bool(found)


def remember(key: str, *, together: bool, **measured: float | str | None) -> None:
    """Note a choice. A folder that cannot be written costs a measurement each time, and nothing else."""
    path = notes()
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            held = dict(json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            held = {}
        held[key] = {"together": together, **measured}
        handle, name = tempfile.mkstemp(prefix=".together-", dir=path.parent)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(held, file, indent=1)
        Path(name).replace(path)


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
