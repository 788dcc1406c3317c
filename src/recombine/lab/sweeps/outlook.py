"""What a sweep would do, told without doing it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from recombine.errors import RecordError
from recombine.lab.runs.listing import damaged
from recombine.lab.runs.run import Configuration
from recombine.lab.runs.store import Store
from recombine.lab.sweeps.cluster import processors
from recombine.lab.sweeps.groups import groups
from recombine.lab.sweeps.packs import MOST, packs
from recombine.lab.sweeps.plan import SweepPlan, read_plan, store_place
from recombine.lab.training.pack import signature
from recombine.redaction import redacted

_LOOKED_AT = 50


@dataclass(frozen=True, kw_only=True)
class Outlook:
    """The size of a sweep. `damaged` runs of the store would be trained again; `seconds` is an estimate from `measured`
    finished runs, where there are any.
    """

    runs: int
    groups: int
    finished: int
    damaged: int
    packs: int
    workers: int
    seconds: float | None
    measured: int
    store: str


def outlook(
    plan: str | Path | Mapping[str, Any] | SweepPlan,
    *,
    store: str | Path | None = None,
    workers: int | None = None,
    pack: int = MOST,
) -> Outlook:
    """What a sweep would do; a store that is not there yet holds nothing, and is not made."""
    read = read_plan(plan)
    place = store_place(read, store)
    there = _existing(place)
    present = there.keys() & {run.key for run in read.runs} if there is not None else set()
    broken = damaged(there, present) if there is not None else {}
    present -= set(broken)
    todo = [run for run in read.runs if run.key not in present]
    hands = max(1, processors() if workers is None else workers)
    times = _times(there, todo, [run for run in read.runs if run.key in present]) if there is not None else []
    return Outlook(
        runs=len(read),
        groups=len(groups(read.runs)),
        finished=len(read) - len(todo),
        damaged=len(broken),
        packs=len(packs(todo, alike=signature, workers=hands, most=pack)) if todo else 0,
        workers=hands,
        seconds=len(todo) * fmean(times) / hands if times and todo else None,
        measured=len(times),
        store=redacted(place),
    )


def _existing(place: str) -> Store | None:
    try:
        return Store.open(place, create=False)
    except RecordError as error:
        if error.what.startswith("no run store"):
            return None
        raise


def _times(store: Store, todo: Sequence[Configuration], finished: Sequence[Configuration]) -> list[float]:
    """How long finished runs of the same model on the same task took, some of them, evenly chosen."""
    wanted = {_kind(run) for run in todo}
    alike = [run for run in finished if _kind(run) in wanted]
    chosen = alike[:: max(1, len(alike) // _LOOKED_AT)]
    found = []
    for run in chosen:
        try:
            found.append(store.get(run.key).seconds)
        except RecordError:  # a damaged run tells nothing of time, and is told of elsewhere
            continue
    return found


def _kind(run: Configuration) -> tuple[str, str, int]:
    return str(run.task["name"]), str(run.model["name"]), int(run.recipe.get("steps", 0))
