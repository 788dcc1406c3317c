"""The run store: finished runs under their key, in plain files (see `run_files`), never lost and never half there.

How many can write at once. A run is believed if and only if its mark is there, and the mark comes last.

- In a folder all files of a run are written under `tmp/`, brought to the disk, and moved to `runs/` as one folder. The
  file system does that in one step and refuses where a folder of that name is; so of two writers of one key the first
  wins and the second is told so. A writer that dies leaves something under `tmp/` and nothing else.
- An object store moves nothing, so the files come first and the mark last, and the names of the files hold a part of
  their checksum. Two writers of one key then share the files that are equal and never write over others; the later
  mark stands, and everything that it names is there, because its writer has written all of it. A writer that dies
  leaves files that no mark names.

What dead writers leave behind takes room and does no harm; `prune` removes it once it is old enough to be nobody's.
Removing a run goes the other way: the mark disappears first.
"""

import hashlib
import json
import os
import re
import warnings
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, final

import pyarrow as pa

from recombine.base.decoding import MalformedError, decoding, parsed, sealed, unsealed
from recombine.base.errors import OutputError, RecordError, SettingError
from recombine.base.records import FILE, written_whole
from recombine.base.redaction import guarded
from recombine_lab.runs.run import MODEL_FILE, Configuration, Failure, Run
from recombine_lab.runs.run_files import (
    FAILURES,
    HEAD,
    KEY,
    OURS,
    RUNS,
    EarlierStoreWarning,
    RunFile,
    StoredRun,
    decode_run,
    encode_run,
    fault,
    folder_of,
    new_head,
    notice_of,
    now,
    state_file,
)
from recombine_lab.runs.run_list import list_runs, runs_table
from recombine_lab.runs.storage import FileInfo, FolderStorage, ObjectStorage, Storage
from recombine_lab.runs.tracking import URI as TRACKING_URI
from recombine_lab.runs.tracking import track

_FILE_NAME = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*")
_WRITTEN_TO = "name the place that `fit` or `recombine sweep` wrote to"
_T = TypeVar("_T")


@final
@dataclass(frozen=True)
class Store:
    """Finished runs by their key, in a folder or in an object store.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = Store.open(f"{folder}/runs")
    ...     store.keys(), store.has("0" * 32)
    (set(), False)
    """

    files: Storage
    notice: str | None = None
    """What is to be said of it: that an earlier version began it, and what follows from that."""

    @classmethod
    def open(cls, place: str | Path, *, create: bool = True, **options: Any) -> "Store":
        """A store in a folder, or behind any fsspec URL such as `s3://bucket/path`; `options` go to fsspec.

        A place that holds nothing becomes a store if `create` allows it; one that holds something else is refused.
        One that an earlier version began is opened with a warning that says what can be done with it.
        """
        store = cls(_storage(place, options))
        head = store._reading(lambda: _read_or_none(store.files, HEAD))
        if head is None:
            store._begin(create=create)
            return store
        notice = notice_of(store.place, head)
        if notice is not None:
            warnings.warn(notice, EarlierStoreWarning, stacklevel=2)
        return cls(store.files, notice)

    @property
    def place(self) -> str:
        """Its folder or URL, without a password."""
        return self.files.title

    @property
    def address(self) -> str:
        """Its folder or URL, by which another process opens it; never to be shown."""
        return self.files.address

    def has(self, key: str) -> bool:
        """Whether a run is finished: one look at one file."""
        return self._reading(lambda: self.files.exists(f"{folder_of(key)}/{FILE}"))

    def keys(self) -> set[str]:
        """The keys of all finished runs: one listing."""
        folders = self._reading(lambda: self.files.marked_folders(RUNS, FILE))
        names = (name.rpartition("/")[2] for name in folders)
        return {name for name in names if KEY.fullmatch(name)}

    def summary(self, key: str) -> StoredRun:
        """What a run's record says, without its tables."""
        name = f"{folder_of(key)}/{FILE}"
        content = self._reading(lambda: _read_or_none(self.files, name))
        if content is None:
            raise RecordError(
                f"no run {key!r} in '{self.place}'",
                why="no finished run has this key",
                instead=f"`recombine runs list {self.place}` shows those that there are",
            )
        with self._decoding(name):
            return decode_run(key, content)

    def get(self, key: str) -> Run:
        """A finished run with its tables, every checksum looked at; its weights are read when they are asked for."""
        mark = self.summary(key)
        contents = {name: self._content(key, mark.parts[name]) for name in map("{}.parquet".format, mark.tables)}
        with self._decoding(folder_of(key)):
            run = mark.run(contents)
        return replace(run, weights=partial(self.file, key, MODEL_FILE)) if MODEL_FILE in mark.parts else run

    def put(self, run: Run, *, files: Mapping[str, bytes] = {}) -> bool:
        """Write a finished run, all of it or nothing; False where it is there already.

        Where an MLflow server is set (`MLFLOW_TRACKING_URI`), it is told of the run afterwards.
        """
        _check_names(run, files)
        if self.has(run.key):
            return False
        contents = encode_run(run, files, hashed=not self.files.moves_folders)
        written = self._writing(lambda: self.files.publish(folder_of(run.key), contents, FILE))
        if written and os.environ.get(TRACKING_URI):
            track(run)
        return written

    def file(self, key: str, name: str) -> bytes:
        """One of a run's further files, its checksum looked at."""
        parts = self.summary(key).parts
        if name not in parts:
            raise RecordError(
                f"run {key!r} holds no file {name!r}",
                why=f"it holds {', '.join(sorted(parts)) or 'none'}",
                instead="name one of those, or train it again with that file kept",
            )
        return self._content(key, parts[name])

    def copy(self, key: str, folder: str | Path, *, force: bool = False) -> Path:
        """A run with all its files in a folder of its own, whole; `force` replaces one that was copied before."""
        run, mark = self.get(key), self.summary(key)
        tables = {f"{name}.parquet" for name in mark.tables}
        files = {name: self._content(key, part) for name, part in mark.parts.items() if name not in tables}
        _check_names(run, files)
        with written_whole(folder, "run", force=force) as copy:
            for name, content in encode_run(run, files, hashed=False).items():
                (copy / name).write_bytes(content)
        return Path(folder)

    def faults(self, key: str) -> list[str]:
        """What is wrong with a run, every byte of it read; nothing if it is sound."""
        try:
            mark = self.summary(key)
        except RecordError as error:
            return [f"{FILE}: {error.why}"]
        found = []
        for part in mark.parts.values():
            try:
                self._content(key, part)
            except RecordError as error:
                found.append(f"{part.at}: {error.why}")
        return found

    def list_files(self, folder: str) -> dict[str, FileInfo]:
        """Every file below one of the store's folders, with size and time."""
        return self._reading(lambda: self.files.list_files(folder))

    def contents(self, names: Iterable[str]) -> dict[str, bytes | OSError]:
        """Many files at once, nothing checked."""
        return self._reading(lambda: self.files.read_all(names))

    def remove(self, key: str) -> None:
        """Take a run out of the store, its mark first."""
        self._writing(lambda: self.files.remove_folder(folder_of(key), FILE))

    def discard(self, name: str) -> None:
        """Remove a file or folder that belongs to no run."""
        if self.files.moves_folders:
            self._writing(lambda: self.files.remove_folder(name, FILE))
        else:
            self._writing(lambda: self.files.remove(name))

    def save_state(self, name: str, state: bytes, meta: Mapping[str, Any]) -> None:
        """Keep unfinished work under a name, in place of what was kept there before."""
        head = sealed({"meta": dict(meta), "state": hashlib.sha256(state).hexdigest(), "saved": now()})
        content = json.dumps(head, allow_nan=False).encode() + b"\n" + state
        self._writing(lambda: self.files.write(state_file(name), content))

    def load_state(self, name: str) -> tuple[bytes, dict[str, Any]] | None:
        """Unfinished work with its notes; None where there is none, or where it is torn or damaged."""
        content = self._reading(lambda: _read_or_none(self.files, state_file(name)))
        head, _, state = (content or b"").partition(b"\n")
        try:
            about = unsealed(parsed(head))
            meta, digest = dict(about["meta"]), about["state"]
        except (ValueError, KeyError, TypeError):
            return None
        return (state, meta) if hashlib.sha256(state).hexdigest() == digest else None

    def drop_state(self, name: str) -> None:
        """Forget unfinished work."""
        self._writing(lambda: self.files.remove(state_file(name)))

    def put_failure(self, configuration: Configuration, reason: str, *, attempt: int) -> None:
        """Note that an attempt at a run failed, and why. The run stays unfinished, and may be tried again."""
        failure = Failure(configuration=configuration, reason=reason, attempt=attempt, created=now())
        name = f"{FAILURES}/{configuration.key}/{attempt}.json"
        self._writing(lambda: self.files.write(name, failure.to_json()))

    def failures(self) -> tuple[Failure, ...]:
        """Every failed attempt that was noted, by key and attempt; also of runs that succeeded later."""
        found = self.contents(sorted(self.list_files(FAILURES)))
        read = (Failure.from_json(content) for content in found.values() if isinstance(content, bytes))
        return tuple(sorted(filter(None, read), key=lambda failure: (failure.configuration.key, failure.attempt)))

    def drop_failures(self, key: str) -> None:
        """Forget the failed attempts at a run."""
        for name in self.list_files(f"{FAILURES}/{key}"):
            self._writing(lambda name=name: self.files.remove(name))  # type: ignore[misc]

    def table(self) -> pa.Table:
        """A line for each run: key, status, the settings that differ, seed, scores, when."""
        return runs_table(list_runs(self))

    def _content(self, key: str, part: RunFile) -> bytes:
        name = f"{folder_of(key)}/{part.at}"
        content = self._reading(lambda: _read_or_none(self.files, name))
        wrong = "it is gone" if content is None else fault(part, content)
        with self._decoding(name):
            if content is None or wrong is not None:
                raise MalformedError(str(wrong))
        return content

    def _begin(self, *, create: bool) -> None:
        foreign = sorted(self._reading(self.files.root_names) - OURS)
        if foreign:
            raise RecordError(
                f"'{self.place}' is not a run store",
                why=f"it holds no {HEAD}, but other things: {', '.join(foreign[:3])}{' …' if len(foreign) > 3 else ''}",
                instead="name an empty folder, or one that does not exist yet" if create else _WRITTEN_TO,
            )
        if not create:
            raise RecordError(f"no run store in '{self.place}'", why=f"there is no {HEAD}", instead=_WRITTEN_TO)
        self._writing(lambda: self.files.write(HEAD, new_head()))

    def _reading(self, call: Callable[[], _T]) -> _T:
        with guarded(self.address):
            try:
                return call()
            except OSError as error:
                raise self.unreadable(error) from error

    def unreadable(self, error: OSError) -> RecordError:
        """That something of the store cannot be read, which does not mean that it is damaged."""
        return RecordError(
            f"cannot read the run store '{self.place}'",
            why=error.strerror or str(error),
            instead="see that the place can be reached and that you may read it",
        )

    def _writing(self, call: Callable[[], _T]) -> _T:
        with guarded(self.address):
            try:
                return call()
            except OSError as error:
                raise OutputError(
                    f"cannot write to the run store '{self.place}'",
                    why=error.strerror or str(error),
                    instead="make room, or see that you may write there; runs that are finished are safe, and the same "
                    "command goes on from them",
                ) from error

    def _decoding(self, name: str) -> AbstractContextManager[None]:
        return decoding(
            f"'{self.place}/{name}' is damaged",
            instead="restore the file from a copy, or remove the run with `recombine runs prune "
            f"{self.place} --status damaged --yes` and train it again",
        )


def _storage(place: str | Path, options: Mapping[str, Any]) -> Storage:
    text = str(place)
    if "://" in text and not text.startswith("file://"):
        return ObjectStorage.at(text, options)
    folder = Path(text.removeprefix("file://"))
    if folder.exists() and not folder.is_dir():
        raise RecordError(
            f"'{folder}' is not a run store",
            why="it is a file; a store is a folder",
            instead="name a folder, or one that does not exist yet",
        )
    return FolderStorage(folder)


def _read_or_none(files: Storage, name: str) -> bytes | None:
    try:
        return files.read(name)
    except (FileNotFoundError, NotADirectoryError):
        return None


def _check_names(run: Run, files: Mapping[str, bytes]) -> None:
    names: Iterable[str] = [*(f"{name}.parquet" for name in run.tables if "." not in name), *files]
    wrong = [name for name in run.tables if "." in name]
    wrong += [name for name in names if not _FILE_NAME.fullmatch(name) or name == FILE]
    wrong += [name for name in files if name.endswith(".parquet")]
    if wrong:
        raise SettingError(
            f"{wrong[0]!r} cannot be a file of a run",
            why=f"names are letters, digits, _ and -, with an ending; {FILE} and *.parquet are the run's own",
            instead="name it for example 'model.safetensors'",
        )
