"""A line for each run of a store: what was asked, how it ended, its scores. Damaged ones are marked, and stay listed.

A listing reads every mark, and looks at every other file only from the outside: one that has another size than its mark
says is damaged; one that is newer than its mark is read and compared. `check` reads everything.
"""

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Literal, Protocol

import pyarrow as pa

from recombine.base.errors import RecordError, SettingError, nearest
from recombine.base.records import FILE
from recombine_lab.runs.run import PARTS, Failure, RunSummary, Status
from recombine_lab.runs.run_files import KEY, RUNS, StoredRun, decoded, folder_of
from recombine_lab.runs.storage import FileInfo

Shown = Status | Literal["damaged", "other version"]
_NUMBER = re.compile(r"([0-9]+)")
_FEW = 16
"""Up to so many runs are listed one by one, which is quicker than to list a whole store."""


class Readable(Protocol):
    """What a listing asks of a store, which stands above it."""

    def keys(self) -> set[str]: ...  # noqa: D102
    def summary(self, key: str) -> StoredRun: ...  # noqa: D102
    def faults(self, key: str) -> list[str]: ...  # noqa: D102
    def failures(self) -> tuple[Failure, ...]: ...  # noqa: D102
    def listing(self, folder: str) -> dict[str, FileInfo]: ...  # noqa: D102
    def contents(self, names: Iterable[str]) -> dict[str, bytes | OSError]: ...  # noqa: D102
    def unreadable(self, error: OSError) -> RecordError: ...  # noqa: D102


@dataclass(frozen=True, kw_only=True)
class RunLine:
    """One run, as a list shows it; `settings` has a name for each, such as `model.width`, and `model` for its name."""

    key: str
    status: Shown
    reason: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    seed: int | None = None
    code: str | None = None
    metrics: Mapping[str, float | None] = field(default_factory=dict)
    steps: int | None = None
    seconds: float | None = None
    created: str | None = None
    scored: str | None = None

    def asked(self, name: str) -> Any:
        """What a filter or a group means by a name: a setting, the seed, the code's version or the status."""
        return self.chosen([name]).get(name)

    def chosen(self, names: Iterable[str]) -> dict[str, Any]:
        """Those of the names that it has, with their values."""
        known = {**self.settings, "seed": self.seed, "code": self.code, "status": self.status}
        return {name: known[name] for name in names if name in known}


def lines(store: Readable, *, only: Collection[str] | None = None, check: bool = False) -> list[RunLine]:
    """Every finished run, and every one whose attempts have all failed so far; or `only` those of some keys."""
    listed = _listed(store, only)
    marks = _marks(listed)
    contents = store.contents(marks.values())
    found = [_line(store, key, contents[name], listed, check=check) for key, name in marks.items()]
    last = {failure.key: failure for failure in store.failures()}  # in order of attempts: the last one stays
    wanted = (set(last) if only is None else set(only)) - set(marks)
    found += [_failed(last[key]) for key in wanted if key in last]
    names = differing(found)
    return sorted(found, key=lambda line: _order(line, names))


def damaged(store: Readable, keys: Collection[str]) -> dict[str, str]:
    """Those of some finished runs that are damaged, and in what way; looked at as `lines` does, from the outside.

    A store that cannot be read, or a run of another version, is a `RecordError`: neither is a damaged run.
    """
    listed = _listed(store, keys)
    marks = _marks(listed)
    contents = store.contents(marks.values())
    for content in contents.values():
        if isinstance(content, OSError):
            raise store.unreadable(content)
    found = [_line(store, key, contents[name], listed, check=False) for key, name in marks.items()]
    for line in found:
        if line.status == "other version":
            store.summary(line.key)  # which says so
    return {line.key: line.reason or "" for line in found if line.status == "damaged"}


def differing(found: Sequence[RunLine]) -> list[str]:
    """The names that are not the same for all lines, and the settings that are not among things of the same name.

    What an `mlp` and a `cnn` do not have in common is said by their names.
    """
    sound = [line.settings for line in found if line.settings]
    return [name for name in _named(sound) if _varying(name, sound)]


def apart(found: Sequence[RunLine]) -> list[dict[str, Any]]:
    """For each line what sets it apart: names that differ, and settings that differ among things of its own names."""
    sound = [line.settings for line in found if line.settings]
    varying = {name: owners for name in _named(sound) if (owners := _varying(name, sound))}
    return [
        {
            name: line.settings[name]
            for name, owners in varying.items()
            if name in line.settings and _alike(name, line.settings) in owners
        }
        for line in found
    ]


def common(found: Sequence[RunLine]) -> dict[str, Any]:
    """The settings that are the same for all lines."""
    sound = [line.settings for line in found if line.settings]
    first = sound[0] if sound else {}
    return {
        name: value
        for name, value in first.items()
        if all(name in settings and _text(settings[name]) == _text(value) for settings in sound)
    }


def metrics(found: Iterable[RunLine]) -> list[str]:
    """Every measurement that some run has."""
    return list(dict.fromkeys(name for line in found for name in line.metrics))


def scores(found: Iterable[RunLine]) -> list[str]:
    """The main ones: the score of each part that was asked about."""
    return [name for name in metrics(found) if name.endswith(".score") and not name.startswith("train.")]


def where(found: Sequence[RunLine], conditions: Mapping[str, str]) -> list[RunLine]:
    """The lines that fulfil all conditions, such as `{"task": "sprites", "model.width": "64"}`."""
    known = check_names(found, conditions)
    if not known:
        return []
    return [line for line in found if all(_equal(line.asked(name), value) for name, value in conditions.items())]


def check_names(found: Sequence[RunLine], asked: Iterable[str]) -> list[str]:
    """The names that can be asked for, where those that are asked for are among them."""
    known = list(dict.fromkeys([name for line in found for name in line.settings] + ["seed", "code", "status"]))
    for name in asked if found else ():
        if name not in known:
            raise SettingError(
                f"no setting {name!r}", why="no run of this store has one of that name", instead=nearest(name, known)
            )
    return known if found else []


def table(found: Sequence[RunLine]) -> pa.Table:
    """Lines as a table: key, status, names, the settings that differ, seed, code, scores, and how long it took."""
    named = [part for part in PARTS if any(part in line.settings for line in found)]
    same = common(found)
    varied = [name for name in _named([line.settings for line in found]) if name not in same]
    settings = named + [name for name in varied if name not in named]
    measured = metrics(found)
    columns = {
        "key": pa.array([line.key for line in found], pa.string()),
        "status": pa.array([line.status for line in found], pa.string()),
        **{name: _column([line.settings.get(name) for line in found]) for name in settings},
        "seed": pa.array([line.seed for line in found], pa.int64()),
        "code": pa.array([line.code for line in found], pa.string()),
        **{name: pa.array([line.metrics.get(name) for line in found], pa.float64()) for name in measured},
        "steps": pa.array([line.steps for line in found], pa.int64()),
        "seconds": pa.array([line.seconds for line in found], pa.float64()),
        "created": pa.array([line.created for line in found], pa.string()),
        "reason": pa.array([line.reason for line in found], pa.string()),
    }
    return pa.table(columns)


def find(store: Readable, beginning: str) -> str:
    """The key that begins so, of a finished or a failed run; it must be the only one."""
    known = sorted(store.keys() | {failure.key for failure in store.failures()})
    matching = [key for key in known if key.startswith(beginning.lower())] if beginning else []
    if len(matching) == 1:
        return matching[0]
    if matching:
        raise SettingError(
            f"{len(matching):,} runs have keys that begin with {beginning!r}",
            why="it must be clear which one is meant",
            instead=f"write more of it: {', '.join(key[: len(beginning) + 4] for key in matching[:4])}",
        )
    short = [key[: max(len(beginning), 8)] for key in known]
    raise SettingError(
        f"no run {beginning!r}",
        why="no key of this store begins so",
        instead=nearest(beginning, short) if short else "this store is empty: train something first",
    )


def _listed(store: Readable, only: Collection[str] | None) -> dict[str, FileInfo]:
    if only is None or len(only) > _FEW:
        everything = store.listing(RUNS)
        wanted = None if only is None else {folder_of(key) for key in only}
        return {n: seen for n, seen in everything.items() if wanted is None or n.rpartition("/")[0] in wanted}
    return {name: seen for key in only for name, seen in store.listing(folder_of(key)).items()}


def _named(settings: Iterable[Mapping[str, Any]]) -> list[str]:
    return list(dict.fromkeys(name for one in settings for name in one))


def _varying(name: str, sound: Iterable[Mapping[str, Any]]) -> set[tuple[str, ...]]:
    """The names of those things among which a setting has several values, or is missing now and then."""
    values: dict[tuple[str, ...], set[str | None]] = {}
    for settings in sound:
        values.setdefault(_alike(name, settings), set()).add(_text(settings[name]) if name in settings else None)
    return {alike for alike, several in values.items() if len(several) > 1}


def _alike(name: str, settings: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(_text(settings.get(owner)) for owner in _owners(name))


@cache
def _owners(name: str) -> list[str]:
    """What a setting belongs to, outermost first; the factors of a split are those of its task.

    >>> _owners("split.base.share"), _owners("split.factors"), _owners("model")
    (['split', 'split.base'], ['split', 'task'], [])
    """
    parts = name.split(".")
    owners = [".".join(parts[:length]) for length in range(1, len(parts))]
    return [*owners, "task"] if parts[0] == "split" and parts[-1] == "factors" else owners


def _marks(listed: Iterable[str]) -> dict[str, str]:
    """The marks among a store's files, by the key of their run."""
    return {name.split("/")[-2]: name for name in listed if name.endswith(f"/{FILE}") and _is_run(name)}


def _is_run(name: str) -> bool:
    parts = name.split("/")
    return len(parts) == 4 and KEY.fullmatch(parts[2]) is not None and parts[2].startswith(parts[1])


def _line(
    store: Readable, key: str, content: bytes | OSError, listed: Mapping[str, FileInfo], *, check: bool
) -> RunLine:
    if isinstance(content, OSError):
        return RunLine(key=key, status="damaged", reason=content.strerror or str(content))
    try:
        mark = decoded(key, content)
    except ValueError as error:
        return RunLine(key=key, status="damaged", reason=f"{FILE}: {error}")
    except RecordError as error:
        return RunLine(key=key, status="other version", reason=error.why)
    wrong = _fault(store, key, mark, listed, check=check)
    found = line_of(mark)
    return found if wrong is None else replace(found, status="damaged", reason=wrong)


def line_of(run: RunSummary) -> RunLine:
    """A run that is at hand, as a list shows it."""
    return RunLine(
        key=run.key,
        status=run.status,
        reason=run.reason,
        settings=run.configuration.flat(),
        seed=run.configuration.seed,
        code=run.configuration.code,
        metrics=run.metrics,
        steps=run.steps,
        seconds=run.seconds,
        created=run.provenance.created,
        scored=run.scored,
    )


def _fault(store: Readable, key: str, mark: StoredRun, listed: Mapping[str, FileInfo], *, check: bool) -> str | None:
    folder = folder_of(key)
    written = listed[f"{folder}/{FILE}"].changed
    doubtful = check
    for part in mark.parts.values():
        seen = listed.get(f"{folder}/{part.at}")
        if seen is None:
            return f"{part.at} is gone"
        if seen.size != part.size:
            return f"{part.at} has {seen.size:,} bytes instead of {part.size:,}"
        doubtful = doubtful or seen.changed > written
    return next(iter(store.faults(key)), None) if doubtful else None


def _failed(failure: Failure) -> RunLine:
    tries = f" (attempt {failure.attempt})" if failure.attempt > 1 else ""
    return RunLine(
        key=failure.key,
        status="failed",
        reason=failure.reason + tries,
        settings=failure.configuration.flat(),
        seed=failure.configuration.seed,
        code=failure.configuration.code,
        created=failure.created,
    )


def _order(line: RunLine, names: Sequence[str]) -> tuple[Any, ...]:
    """Sound ones first, by the settings that differ, then by seed."""
    settings = [_rank(line.settings.get(name)) for name in names]
    return (line.status == "damaged", settings, line.seed or 0, line.code or "", line.key)


def _rank(value: Any) -> tuple[bool, float, list[Any]]:
    """Numbers by their size, before everything else by its text, in which 8 comes before 16."""
    if isinstance(value, int | float):
        return False, float(value), []
    parts = _NUMBER.split(_text(value))  # text and number in turn
    return True, 0.0, [int(part) if place % 2 else part for place, part in enumerate(parts)]


def _text(value: Any) -> str:
    """A value as it is written in a filter: text as it is, all else as JSON."""
    if isinstance(value, str):
        return value
    return repr(value) if type(value) in (int, float) else json.dumps(value, sort_keys=True, ensure_ascii=False)


def _equal(value: Any, written: str) -> bool:
    """Whether a value is meant by what was written; numbers by their size, so that 1e-3 is 0.001."""
    if _text(value) == written:
        return True
    try:
        return type(value) in (int, float) and float(written) == value
    except ValueError:
        return False


def _column(values: Sequence[Any]) -> pa.Array:
    """A column of one kind; where the kinds differ, of texts."""
    try:
        return pa.array(values)
    except pa.ArrowException:
        return pa.array([None if value is None else _text(value) for value in values])
