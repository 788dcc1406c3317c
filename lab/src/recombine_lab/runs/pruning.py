"""What a store can do without: what dead writers left, forgotten unfinished work, and runs that one asks to remove."""

import json
import time
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from recombine.base.errors import RecordError
from recombine.base.records import FILE
from recombine_lab.runs.run_files import RUNS, STATES, decode_run, folder_of
from recombine_lab.runs.run_list import RunLine, list_runs
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
    files = store.list_files(RUNS)
    things = [*_left_over(store, files, before)]
    for name, info in store.list_files(STATES).items():
        if info.changed < before:
            things.append(Removable("unfinished", name, info.size, "nobody went on with it"))
    if status or superseded:
        sizes: Counter[str] = Counter()
        for name, info in files.items():
            sizes[name.rpartition("/")[0]] += info.size
        lines = list_runs(store)
        for line in lines:
            if line.status in status:
                folder, why = folder_of(line.key), f"{line.status}: {line.reason}" if line.reason else line.status
                things.append(Removable("run" if folder in sizes else "failure", line.key, sizes[folder], why))
        named = {one.name for one in things}
        older_twins = _superseded(lines) if superseded else ()
        things += [
            Removable("run", line.key, sizes[folder_of(line.key)], f"run again by code {code}")
            for line, code in older_twins
            if line.key not in named
        ]
    return tuple(things)


def remove(store: Store, things: Sequence[Removable]) -> None:
    """Remove it, each run's mark before its other files."""
    for one in things:
        if one.kind == "run":
            store.remove(one.name)
        if one.kind in ("run", "failure"):
            store.drop_failures(one.name)
        else:
            store.discard(one.name)


def _left_over(store: Store, files: Mapping[str, FileInfo], before: float) -> Iterator[Removable]:
    staged: dict[str, list[FileInfo]] = {}
    for name, info in store.list_files(STAGING).items():
        staged.setdefault("/".join(name.split("/")[:2]), []).append(info)
    for name, infos in staged.items():
        if max(info.changed for info in infos) < before:
            yield Removable("left over", name, sum(info.size for info in infos), "its writer never finished")
    named = _named_files(store, files)
    for name, info in files.items():
        if info.changed < before and name not in named:
            yield Removable("left over", name, info.size, "no finished run names it")


def _named_files(store: Store, files: Mapping[str, FileInfo]) -> set[str]:
    """Every file that a mark names; where a mark is damaged, everything beside it is left alone."""
    folders: dict[str, list[str]] = {}
    for name in files:
        folders.setdefault(name.rpartition("/")[0], []).append(name)
    named = set()
    for mark, content in store.contents(name for name in files if name.endswith(f"/{FILE}")).items():
        folder = mark.rpartition("/")[0]
        try:
            parts = decode_run(folder.rpartition("/")[2], content).parts if isinstance(content, bytes) else None
        except (ValueError, RecordError):
            parts = None
        named.add(mark)
        named.update(folders[folder] if parts is None else (f"{folder}/{part.at}" for part in parts.values()))
    return named


def _superseded(lines: Sequence[RunLine]) -> Iterator[tuple[RunLine, str | None]]:
    """Of finished runs that differ in the code's version alone, all but the latest, and the latest's code."""
    twins: dict[str, list[RunLine]] = {}
    for line in lines:
        if line.status == "finished":
            twins.setdefault(json.dumps([line.settings, line.seed], sort_keys=True), []).append(line)
    for alike in twins.values():
        *old, latest = sorted(alike, key=lambda line: (line.created or "", line.code or ""))
        yield from ((line, latest.code) for line in old)
