"""Runs that are trained together: same-shaped ones, divided so that every worker has something to do."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from recombine.errors import SettingError
from recombine.lab.runs.run import Configuration

MOST = 32


@dataclass(frozen=True)
class Pack:
    """Runs that one worker trains as one."""

    runs: tuple[Configuration, ...]

    def __len__(self) -> int:
        return len(self.runs)

    def apart(self) -> list["Pack"]:
        """Each of its runs by itself."""
        return [Pack((run,)) for run in self.runs]


def packs(
    runs: Sequence[Configuration], *, alike: Callable[[Configuration], str], workers: int, most: int = MOST
) -> list[Pack]:
    """Runs of one shape together, in the order of their first one.

    A pack holds at most `most` runs and no more than a worker's fair share of all of them, and there are no fewer packs
    than workers, if there are enough runs.

    >>> parts = {"task": {}, "split": {}, "recipe": {}, "code": ""}
    >>> runs = [Configuration(**parts, model={"name": name}, seed=seed) for name in "ab" for seed in range(5)]
    >>> [len(pack) for pack in packs(runs, alike=lambda run: run.model["name"], workers=3)]
    [2, 3, 2, 3]
    """
    if most < 1:
        raise SettingError(f"packs of {most} runs", why="a pack holds at least one run", instead="write 1 or more")
    largest = min(most, math.ceil(len(runs) / max(workers, 1)))
    shapes: dict[str, list[Configuration]] = {}
    for run in runs:
        shapes.setdefault(alike(run), []).append(run)
    found = [Pack(tuple(part)) for shape in shapes.values() for part in _evenly(shape, largest)]
    while len(found) < min(workers, len(runs)):
        place = max(range(len(found)), key=lambda place: len(found[place]))
        found[place : place + 1] = _halves(found[place])
    return found


def _halves(pack: Pack) -> list[Pack]:
    middle = len(pack) // 2
    return [Pack(pack.runs[:middle]), Pack(pack.runs[middle:])]


def _evenly(runs: list[Configuration], largest: int) -> Iterable[list[Configuration]]:
    parts = math.ceil(len(runs) / largest)
    edges = [part * len(runs) // parts for part in range(parts + 1)]
    return (runs[start:end] for start, end in pairwise(edges))
