"""What a store can do without: what dead writers left, forgotten unfinished work, and runs that one asks to remove."""

import json
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from recombine.base.errors import RecordError
from recombine.base.records import FILE
from recombine_lab.runs.listing import RunLine, lines
from recombine_lab.runs.run_files import RUNS, STATES, decoded, folder_of
from recombine_lab.runs.storage import STAGING, FileInfo
from recombine_lab.runs.store import Store

Kind = Literal["left over", "unfinished", "run", "failure"]
DAY = 86_400.0


@dataclass(frozen=True)
class Removable:
    """Something that can be removed: what it is, its name, its size, and why."""

    kind: Kind
    name: str
    size: int
    why: str


def removable(
    store: Store, *, older: float = DAY, status: Collection[str] = (), superseded: bool = False
) -> tuple[Removable, ...]:
    """What could be removed.

    Left-overs and unfinished work must be `older` than so many seconds: younger ones may still be at work. Runs are
    named by their `status`; `superseded` adds those that a later version of the code has run again, all else equal.
    """
    before = time.time() - older
    runs = store.listing(RUNS)
    found = [*_left_over(store, runs, before), *_unfinished(store, before)]
    if status or superseded:
        listed = lines(store)
        sizes = _sizes(runs)
        found += [_run(line, sizes) for line in listed if line.status in status]
        named = {one.name for one in found}
        found += [one for one in _superseded(listed, sizes) if superseded and one.name not in named]
    return tuple(found)


def remove(store: Store, found: Sequence[Removable]) -> None:
    """Remove it, each run's mark before its other files."""
    for one in found:
        if one.kind == "run":
            store.remove(one.name)
            store.drop_failures(one.name)
        elif one.kind == "failure":
            store.drop_failures(one.name)
        else:
            store.discard(one.name)


def _left_over(store: Store, runs: Mapping[str, FileInfo], before: float) -> Iterator[Removable]:
    staged: dict[str, list[FileInfo]] = {}
    for name, seen in store.listing(STAGING).items():
        staged.setdefault("/".join(name.split("/")[:2]), []).append(seen)
    for name, parts in staged.items():
        if max(seen.changed for seen in parts) < before:
            yield Removable("left over", name, sum(seen.size for seen in parts), "its writer never finished")
    named = _named(store, runs)
    for name, seen in runs.items():
        if seen.changed < before and name not in named:
            yield Removable("left over", name, seen.size, "no finished run names it")


def _named(store: Store, runs: Mapping[str, FileInfo]) -> set[str]:
    """Every file that a mark names; where a mark is damaged, everything beside it is left alone."""
    folders: dict[str, list[str]] = {}
    for name in runs:
        folders.setdefault(name.rpartition("/")[0], []).append(name)
    marks = store.contents(name for name in runs if name.endswith(f"/{FILE}"))
    found = set()
    for mark, content in marks.items():
        folder = mark.rpartition("/")[0]
        try:
            parts = decoded(folder.rpartition("/")[2], content).parts if isinstance(content, bytes) else None
        except (ValueError, RecordError):
            parts = None
        found.add(mark)
        found.update(folders[folder] if parts is None else (f"{folder}/{part.at}" for part in parts.values()))
    return found


def _unfinished(store: Store, before: float) -> Iterator[Removable]:
    for name, seen in store.listing(STATES).items():
        if seen.changed < before:
            yield Removable("unfinished", name, seen.size, "nobody went on with it")


def _sizes(runs: Mapping[str, FileInfo]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for name, seen in runs.items():
        folder = name.rpartition("/")[0]
        sizes[folder] = sizes.get(folder, 0) + seen.size
    return sizes


def _run(line: RunLine, sizes: Mapping[str, int]) -> Removable:
    folder = folder_of(line.key)
    why = f"{line.status}: {line.reason}" if line.reason else line.status
    return Removable("run" if folder in sizes else "failure", line.key, sizes.get(folder, 0), why)


def _superseded(listed: Sequence[RunLine], sizes: Mapping[str, int]) -> Iterator[Removable]:
    """Of finished runs that differ in the code's version alone, all but the latest."""
    twins: dict[str, list[RunLine]] = {}
    for line in listed:
        if line.status == "finished":
            alike = json.dumps([line.settings, line.seed], sort_keys=True)
            twins.setdefault(alike, []).append(line)
    for found in twins.values():
        *old, latest = sorted(found, key=lambda line: (line.created or "", line.code or ""))
        for line in old:
            yield Removable("run", line.key, sizes[folder_of(line.key)], f"run again by code {latest.code}")
