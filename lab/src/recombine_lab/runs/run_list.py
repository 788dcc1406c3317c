"""A line for each run of a store: what was asked, how it ended, its scores. Damaged ones are marked, and stay listed.

A listing reads every mark, and looks at every other file only from the outside: one that has another size than its mark
says is damaged; one that is newer than its mark is read and compared. `check` reads everything.
"""

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from recombine.base.checks import check_listed
from recombine.base.errors import RecordError, SettingError, nearest
from recombine.base.records import FILE
from recombine_lab.runs.run import PARTS, Configuration, Failure, RunSummary, Status
from recombine_lab.runs.run_files import KEY, RUNS, StoredRun, decode_run, folder_of
from recombine_lab.runs.storage import FileInfo

if TYPE_CHECKING:
    from recombine_lab.runs.store import Store

Shown = Status | Literal["damaged", "other version"]
_NUMBER = re.compile(r"([0-9]+)")
_FEW = 16
"""Up to so many runs are listed one by one, which is quicker than to list a whole store."""


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

    def select(self, names: Iterable[str]) -> dict[str, Any]:
        """Those of the names that it has, with their values: a setting, the seed, the code's version or the status."""
        known = {**self.settings, "seed": self.seed, "code": self.code, "status": self.status}
        return {name: known[name] for name in names if name in known}


def list_runs(store: "Store", *, only: Collection[str] | None = None, check: bool = False) -> list[RunLine]:
    """Every finished run, and every one whose attempts have all failed so far; or `only` those of some keys."""
    files = _files(store, only)
    marks = _marks(files)
    contents = store.contents(marks.values())
    lines = [_line(store, key, contents[name], files, check=check) for key, name in marks.items()]
    last = {failure.key: failure for failure in store.failures()}  # in order of attempts: the last one stays
    wanted = (set(last) if only is None else set(only)) - set(marks)
    lines += [_failed_line(last[key]) for key in wanted if key in last]
    names = list(varying_settings(lines))
    return sorted(lines, key=lambda line: _order(line, names))


def damaged_runs(store: "Store", keys: Collection[str]) -> dict[str, str]:
    """Those of some finished runs that are damaged, and in what way; looked at from the outside, as `list_runs` does.

    A store that cannot be read, or a run of another version, is a `RecordError`: neither is a damaged run.
    """
    files = _files(store, keys)
    damaged = {}
    for key, content in zip(marks := _marks(files), store.contents(marks.values()).values(), strict=True):
        if isinstance(content, OSError):
            raise store.unreadable(content)
        line = _line(store, key, content, files, check=False)
        if line.status == "other version":
            store.summary(key)  # which says so
        if line.status == "damaged":
            damaged[key] = line.reason or ""
    return damaged


def varying_settings(lines: Sequence[RunLine]) -> dict[str, set[tuple[str, ...]]]:
    """The names that are not the same for all lines, and the settings that are not among things of the same name.

    What an `mlp` and a `cnn` do not have in common is said by their names. With each name go the things among which it
    varies: it has several values there, or is missing now and then.
    """
    sound = [line.settings for line in lines if line.settings]
    varying = {}
    for name in _setting_names(lines):
        values: dict[tuple[str, ...], set[str | None]] = {}
        for settings in sound:
            values.setdefault(_alike(name, settings), set()).add(_text(settings[name]) if name in settings else None)
        owners = {alike for alike, several in values.items() if len(several) > 1}
        if owners:
            varying[name] = owners
    return varying


def distinguishing_settings(lines: Sequence[RunLine]) -> list[dict[str, Any]]:
    """For each line what sets it apart: names that differ, and settings that differ among things of its own names."""
    varying = varying_settings(lines)
    return [
        {
            name: line.settings[name]
            for name, owners in varying.items()
            if name in line.settings and _alike(name, line.settings) in owners
        }
        for line in lines
    ]


def common_settings(lines: Sequence[RunLine]) -> dict[str, Any]:
    """The settings that are the same for all lines."""
    sound = [line.settings for line in lines if line.settings]
    first = sound[0] if sound else {}
    return {
        name: value
        for name, value in first.items()
        if all(name in settings and _text(settings[name]) == _text(value) for settings in sound)
    }


def metric_names(lines: Iterable[RunLine]) -> list[str]:
    """Every measurement that some run has."""
    return list(dict.fromkeys(name for line in lines for name in line.metrics))


def filter_runs(lines: Sequence[RunLine], conditions: Mapping[str, str]) -> list[RunLine]:
    """The lines that fulfil all conditions, such as `{"task": "sprites", "model.width": "64"}`."""
    check_names(lines, conditions)
    return [
        line
        for line in lines
        if all(_equal(line.select([name]).get(name), value) for name, value in conditions.items())
    ]


def check_names(lines: Sequence[RunLine], names: Iterable[str]) -> None:
    """Refuse a name that no line has: of a setting, or `seed`, `code` and `status`."""
    known = [*_setting_names(lines), "seed", "code", "status"]
    for name in names if lines else ():
        check_listed(name, known, f"no setting {name!r}", why="no run of this store has one of that name")


def runs_table(lines: Sequence[RunLine]) -> pa.Table:
    """Lines as a table: key, status, names, the settings that differ, seed, code, scores, and how long it took."""
    names, same = _setting_names(lines), common_settings(lines)
    parts = [part for part in PARTS if part in names]
    settings = parts + [name for name in names if name not in same and name not in parts]

    def column(name: str, kind: pa.DataType) -> pa.Array:
        return pa.array([getattr(line, name) for line in lines], kind)

    columns = {name: column(name, pa.string()) for name in ("key", "status")}
    columns |= {name: _column([line.settings.get(name) for line in lines]) for name in settings}
    columns |= {"seed": column("seed", pa.int64()), "code": column("code", pa.string())}
    for name in metric_names(lines):
        columns[name] = pa.array([line.metrics.get(name) for line in lines], pa.float64())
    columns |= {"steps": column("steps", pa.int64()), "seconds": column("seconds", pa.float64())}
    return pa.table(columns | {name: column(name, pa.string()) for name in ("created", "reason")})


def find_key(store: "Store", beginning: str) -> str:
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


def _files(store: "Store", only: Collection[str] | None) -> dict[str, FileInfo]:
    if only is None:
        return store.list_files(RUNS)
    wanted = {folder_of(key) for key in only}
    if len(wanted) > _FEW:
        return {name: info for name, info in store.list_files(RUNS).items() if name.rpartition("/")[0] in wanted}
    return {name: info for folder in wanted for name, info in store.list_files(folder).items()}


def _setting_names(lines: Iterable[RunLine]) -> list[str]:
    return list(dict.fromkeys(name for line in lines for name in line.settings))


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


def _marks(files: Iterable[str]) -> dict[str, str]:
    """The marks among a store's files, by the key of their run."""
    marks = {}
    for name in files:
        _, *folders, file = name.split("/")
        if file == FILE and len(folders) == 2 and KEY.fullmatch(folders[1]) and folders[1].startswith(folders[0]):
            marks[folders[1]] = name
    return marks


def _line(store: "Store", key: str, content: bytes | OSError, files: Mapping[str, FileInfo], *, check: bool) -> RunLine:
    if isinstance(content, OSError):
        return RunLine(key=key, status="damaged", reason=content.strerror or str(content))
    try:
        mark = decode_run(key, content)
    except ValueError as error:
        return RunLine(key=key, status="damaged", reason=f"{FILE}: {error}")
    except RecordError as error:
        return RunLine(key=key, status="other version", reason=error.why)
    wrong = _fault(store, key, mark, files, check=check)
    line = line_of(mark)
    return line if wrong is None else replace(line, status="damaged", reason=wrong)


def line_of(run: RunSummary) -> RunLine:
    """A run that is at hand, as a list shows it."""
    return RunLine(
        key=run.key,
        status=run.status,
        reason=run.reason,
        **_configured(run.configuration),
        metrics=run.metrics,
        steps=run.steps,
        seconds=run.seconds,
        created=run.provenance.created,
        scored=run.scored,
    )


def _fault(store: "Store", key: str, mark: StoredRun, files: Mapping[str, FileInfo], *, check: bool) -> str | None:
    folder = folder_of(key)
    written = files[f"{folder}/{FILE}"].changed
    doubtful = check
    for part in mark.parts.values():
        info = files.get(f"{folder}/{part.at}")
        if info is None:
            return f"{part.at} is gone"
        if info.size != part.size:
            return f"{part.at} has {info.size:,} bytes instead of {part.size:,}"
        doubtful = doubtful or info.changed > written
    return next(iter(store.faults(key)), None) if doubtful else None


def _failed_line(failure: Failure) -> RunLine:
    tries = f" (attempt {failure.attempt})" if failure.attempt > 1 else ""
    settings = _configured(failure.configuration)
    return RunLine(key=failure.key, status="failed", reason=failure.reason + tries, **settings, created=failure.created)


def _configured(configuration: Configuration) -> dict[str, Any]:
    return {"settings": configuration.flat(), "seed": configuration.seed, "code": configuration.code}


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
