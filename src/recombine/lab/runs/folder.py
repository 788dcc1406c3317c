"""A store's files in a folder of this machine, or of a disk that several machines share.

Everything is written under `tmp/` first and then moved: a file by replacing, a run by moving its whole folder, which
the file system does in one step and refuses where a folder of that name is already there. So the first of two writers
wins, and nothing that is cut off is ever in a place where a reader looks.
"""

import errno
import os
import shutil
import uuid
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import final

from recombine.lab.runs.place import Place, Seen

STAGING = "tmp"
_TAKEN = (errno.ENOTEMPTY, errno.EEXIST, errno.EISDIR, errno.ENOTDIR)


@final
@dataclass(frozen=True)
class Folder(Place):
    """A folder of a file system."""

    root: Path

    @property
    def title(self) -> str:
        """Its path, as it was given."""
        return str(self.root)

    @property
    def address(self) -> str:
        """The same path."""
        return str(self.root)

    @property
    def moves_folders(self) -> bool:
        """File systems do."""
        return True

    def exists(self, name: str) -> bool:
        """One stat."""
        return self._path(name).is_file()

    def read(self, name: str) -> bytes:
        """The file's bytes."""
        return self._path(name).read_bytes()

    def read_all(self, names: Iterable[str]) -> dict[str, bytes | OSError]:
        """One after another: the disk's cache is faster than threads."""
        return {name: self._attempt(name) for name in names}

    def write(self, name: str, content: bytes) -> None:
        """Beside its place, then moved there."""
        target = self._path(name)
        with self._staged() as staged:
            staged.write_bytes(content)
            _sync(staged)
            target.parent.mkdir(parents=True, exist_ok=True)
            staged.replace(target)

    def publish(self, folder: str, files: Mapping[str, bytes], mark: str) -> bool:
        """All files in a folder of their own, on the disk for certain, then moved in one step."""
        target = self._path(folder)
        with self._staged() as staged:
            staged.mkdir()
            for name, content in files.items():
                (staged / name).write_bytes(content)
            _sync_all([*(staged / name for name in files), staged])
            target.parent.mkdir(parents=True, exist_ok=True)
            if not self._move(staged, target, mark):
                return False
        _sync(target.parent)
        return True

    def listing(self, folder: str) -> dict[str, Seen]:
        """Every file below it."""
        return dict(_files(self.root / folder, folder))

    def marked(self, folder: str, mark: str) -> set[str]:
        """A listing of each folder, and a stat for each of theirs."""
        shards = _folders(self.root / folder)
        found = (f"{folder}/{shard}/{name}" for shard in shards for name in _folders(self.root / folder / shard))
        return {name for name in found if self.exists(f"{name}/{mark}")}

    def top(self) -> set[str]:
        """The names at the root."""
        try:
            return set(os.listdir(self.root))  # noqa: PTH208 - names alone
        except FileNotFoundError:
            return set()

    def remove(self, name: str) -> None:
        """Unlink it."""
        self._path(name).unlink(missing_ok=True)

    def remove_folder(self, folder: str, mark: str) -> None:  # noqa: ARG002 - all of it goes at once
        """Moved out of sight first, in one step."""
        with self._staged() as staged:
            try:
                self._path(folder).rename(staged)
            except FileNotFoundError:
                return

    def _path(self, name: str) -> Path:
        """Where a file lies; a link below the root that leads out of it is refused, for reading and for writing.

        Most names pass no link at all, which is quick to see.
        """
        path = self.root / name
        steps = accumulate(name.split("/"), "{}/{}".format)
        linked = any(os.path.islink(f"{self.root}/{step}") for step in steps)  # noqa: PTH114 - far quicker than a Path
        if linked and not path.resolve().is_relative_to(self.root.resolve()):
            raise OSError(errno.ELOOP, f"{name} is a link that leads out of the store")
        return path

    def _attempt(self, name: str) -> bytes | OSError:
        try:
            return self.read(name)
        except OSError as error:
            return error

    @contextmanager
    def _staged(self) -> Iterator[Path]:
        """A free name under `tmp/`; whatever is left there afterwards is removed."""
        staged = self._path(f"{STAGING}/{uuid.uuid4().hex}")
        staged.parent.mkdir(parents=True, exist_ok=True)
        try:
            yield staged
        finally:
            if staged.is_dir():
                shutil.rmtree(staged, ignore_errors=True)
            else:
                staged.unlink(missing_ok=True)

    def _move(self, staged: Path, target: Path, mark: str) -> bool:
        """Move a folder to its place; one that lies there without a mark is nobody's, and makes way."""
        while True:
            try:
                staged.rename(target)
            except OSError as error:
                if error.errno not in _TAKEN:
                    raise
            else:
                return True
            if (target / mark).is_file():
                return False
            self._clear(target, mark)

    def _clear(self, target: Path, mark: str) -> None:
        """Move what lies there without a mark out of the way; a run that another writer has just put there stays."""
        with self._staged() as aside, suppress(OSError):
            target.rename(aside)
            if (aside / mark).is_file():
                aside.rename(target)


def _sync_all(paths: list[Path]) -> None:
    """At once: a file system then does the work of one for all of them."""
    with ThreadPoolExecutor(len(paths)) as threads:
        list(threads.map(_sync, paths))


def _sync(path: Path) -> None:
    """A file, or a folder's list of names, is on the disk for certain when this returns."""
    if os.name != "posix" and path.is_dir():  # where folders cannot be opened, their names are there already
        return
    handle = os.open(path, os.O_RDONLY if os.name == "posix" else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _folders(folder: Path) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return [entry.name for entry in entries if entry.is_dir()]
    except FileNotFoundError:
        return []


def _files(folder: Path, name: str) -> Iterator[tuple[str, Seen]]:
    try:
        with os.scandir(folder) as entries:
            found = list(entries)
    except FileNotFoundError:
        return
    for entry in found:
        below = f"{name}/{entry.name}"
        if entry.is_dir(follow_symlinks=False):
            yield from _files(Path(entry.path), below)
            continue
        try:
            state = entry.stat()
        except FileNotFoundError:  # removed by another process just now
            continue
        yield below, Seen(state.st_size, state.st_mtime)
