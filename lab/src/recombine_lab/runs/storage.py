"""Where a store's files lie: in a folder (`FolderStorage`), or as objects behind any fsspec URL (`ObjectStorage`).

A storage knows files by names with slashes and nothing of runs. What goes wrong is an `OSError` here, whatever the
package behind it raises; the store puts it into words.

- In a folder everything is written under `tmp/` first and then moved: a file by replacing, a run by moving its whole
  folder, which the file system does in one step and refuses where a folder of that name is already there. So the first
  of two writers wins, and nothing that is cut off is ever in a place where a reader looks.
- An object appears whole when its upload ends, and replaces what was there. There is no moving of folders, so a run's
  mark is written after everything it names.
"""

import errno
import os
import shutil
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any, TypeVar, final

from recombine.base.errors import SettingError, nearest
from recombine.base.redaction import guarded, redacted, redacted_words

STAGING = "tmp"
# What a file system says where a folder is to be moved to a name that is taken.
_TAKEN = (errno.ENOTEMPTY, errno.EEXIST, errno.EISDIR, errno.ENOTDIR)
_T = TypeVar("_T")
_WHEN = ("LastModified", "mtime", "updated", "last_modified", "modified", "created")

# Other processes write at the same time, and what is remembered of a listing would hide their runs.
_ALWAYS = {"use_listings_cache": False, "skip_instance_cache": True}


@dataclass(frozen=True)
class FileInfo:
    """A file as a listing shows it: its size in bytes, and when it was last changed, in seconds since 1970."""

    size: int
    changed: float


class Storage(ABC):
    """Files by name, each written whole or not at all."""

    @property
    @abstractmethod
    def title(self) -> str:
        """What a person calls it, without a password."""

    @property
    @abstractmethod
    def address(self) -> str:
        """By which another process opens it; never to be shown."""

    @property
    @abstractmethod
    def moves_folders(self) -> bool:
        """Whether a folder full of files can appear in one step."""

    @abstractmethod
    def exists(self, name: str) -> bool:
        """Whether there is such a file: one question to the disk or the server."""

    @abstractmethod
    def read(self, name: str) -> bytes:
        """A file's bytes; `FileNotFoundError` where there is none."""

    @abstractmethod
    def read_all(self, names: Iterable[str]) -> dict[str, bytes | OSError]:
        """Many files at once; what cannot be read comes back as its error."""

    @abstractmethod
    def write(self, name: str, content: bytes) -> None:
        """Write a file or replace it, in one step for everybody who reads it."""

    @abstractmethod
    def publish(self, folder: str, files: Mapping[str, bytes], mark: str) -> bool:
        """Write a folder's files, the one named `mark` last. False where another writer's mark was there first."""

    @abstractmethod
    def listing(self, folder: str) -> dict[str, FileInfo]:
        """Every file below a folder, by its name from the root of the storage."""

    @abstractmethod
    def marked(self, folder: str, mark: str) -> set[str]:
        """The folders two levels below a folder that hold a file named `mark`."""

    @abstractmethod
    def top(self) -> set[str]:
        """The names of what lies at the root."""

    @abstractmethod
    def remove(self, name: str) -> None:
        """Remove a file; no matter if it is gone."""

    @abstractmethod
    def remove_folder(self, folder: str, mark: str) -> None:
        """Remove a folder so that, wherever it is cut off, its mark is gone before anything else."""


@final
@dataclass(frozen=True)
class FolderStorage(Storage):
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

    def listing(self, folder: str) -> dict[str, FileInfo]:
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
        path = self.root / _inside(name)
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


def _files(folder: Path, name: str) -> Iterator[tuple[str, FileInfo]]:
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
        yield below, FileInfo(state.st_size, state.st_mtime)


@final
@dataclass(frozen=True, repr=False)
class ObjectStorage(Storage):
    """Objects below a prefix."""

    url: str
    files: Any
    root: str

    def __repr__(self) -> str:
        return f"ObjectStorage({self.title!r})"

    @classmethod
    def at(cls, url: str, options: Mapping[str, Any]) -> "ObjectStorage":
        """The objects below a URL; the package that reaches them must be installed."""
        with guarded(url):
            return cls._reached(url, options)

    @classmethod
    def _reached(cls, url: str, options: Mapping[str, Any]) -> "ObjectStorage":
        try:
            import fsspec  # noqa: PLC0415 - needed for URLs only
        except ImportError as error:
            raise _needs(url, "fsspec", error) from error
        try:
            files, root = fsspec.core.url_to_fs(url, **(_ALWAYS | dict(options)))
        except ImportError as error:
            raise _needs(url, "recombine-lab[s3]" if url.startswith("s3") else "", error) from error
        except (ValueError, TypeError) as error:
            raise SettingError(
                f"'{redacted(url)}' is no place for runs",
                why=str(error),
                instead=f"give a folder, or a URL such as s3://bucket/runs; {_protocols(url, fsspec)}",
            ) from error
        return cls(url.rstrip("/"), files, root.rstrip("/"))

    @property
    def title(self) -> str:
        """Its URL, without a password."""
        return redacted(self.url)

    @property
    def address(self) -> str:
        """Its URL, password and all."""
        return self.url

    @property
    def moves_folders(self) -> bool:
        """Object stores do not."""
        return False

    def exists(self, name: str) -> bool:
        """One question to the server."""
        try:
            self.files.info(self._path(name))
        except FileNotFoundError:
            return False
        except Exception as error:
            raise self._os_error(error) from error
        return True

    def read(self, name: str) -> bytes:
        """The object's bytes."""
        return bytes(self._translated(lambda: self.files.cat_file(self._path(name))))

    def read_all(self, names: Iterable[str]) -> dict[str, bytes | OSError]:
        """Many requests at once."""
        paths = {self._path(name): name for name in names}
        if not paths:
            return {}
        found = self._translated(lambda: self.files.cat(list(paths), on_error="return"))
        found = found if isinstance(found, dict) else {next(iter(paths)): found}
        return {name: self._read(found.get(path)) for path, name in paths.items()}

    def write(self, name: str, content: bytes) -> None:
        """One upload."""
        self._translated(lambda: self.files.pipe_file(self._path(name), content))

    def publish(self, folder: str, files: Mapping[str, bytes], mark: str) -> bool:
        """Everything else first, at once; the mark when all of it is there."""
        if self.exists(f"{folder}/{mark}"):
            return False
        others = {self._path(f"{folder}/{name}"): content for name, content in files.items() if name != mark}
        if others:
            self._translated(lambda: self.files.pipe(others))
        self.write(f"{folder}/{mark}", files[mark])
        return True

    def listing(self, folder: str) -> dict[str, FileInfo]:
        """One listing of a prefix."""
        try:
            found = self._translated(lambda: self.files.find(self._path(folder), detail=True))
        except FileNotFoundError:
            return {}
        return {
            self._name(path): FileInfo(int(about.get("size") or 0), _changed(about)) for path, about in found.items()
        }

    def marked(self, folder: str, mark: str) -> set[str]:
        """One listing, of which the marks are kept."""
        names = (name.rpartition("/") for name in self.listing(folder))
        return {head for head, _, name in names if name == mark and head.count("/") == folder.count("/") + 2}

    def top(self) -> set[str]:
        """The first part of every name."""
        try:
            found = self._translated(lambda: self.files.ls(self.root, detail=False))
        except FileNotFoundError:
            return set()
        return {str(path).rstrip("/").rpartition("/")[2] for path in found} - {self.root.rpartition("/")[2]}

    def remove(self, name: str) -> None:
        """Delete the object."""
        try:
            self._translated(lambda: self.files.rm_file(self._path(name)))
        except FileNotFoundError:
            return

    def remove_folder(self, folder: str, mark: str) -> None:
        """The mark first, so that nobody believes a run that is being removed."""
        self.remove(f"{folder}/{mark}")
        for name in self.listing(folder):
            self.remove(name)

    def _translated(self, call: Callable[[], _T]) -> _T:
        try:
            return call()
        except FileNotFoundError:
            raise
        except Exception as error:
            raise self._os_error(error) from error

    def _read(self, found: Any) -> bytes | OSError:
        if isinstance(found, Exception):
            return self._os_error(found)
        return FileNotFoundError("it is gone") if found is None else bytes(found)

    def _os_error(self, error: Exception) -> OSError:
        """Whatever the package raised, as an `OSError` that does not say what is secret in the URL."""
        said = str(error)
        with guarded(self.url):
            shown = redacted_words(said)
        if isinstance(error, OSError):
            return error if shown == said else OSError(error.errno, shown)
        return OSError(f"{type(error).__name__}: {shown}")

    def _path(self, name: str) -> str:
        return f"{self.root}/{_inside(name)}"

    def _name(self, path: str) -> str:
        return path.lstrip("/").removeprefix(self.root.lstrip("/")).lstrip("/")


def _inside(name: str) -> str:
    """A name that leads nowhere but down from the root; a measurement or a record may hold any other."""
    if "\\" in name or any(step in ("", ".", "..") for step in name.split("/")):
        raise OSError(errno.EINVAL, f"{name!r} is not the name of a file in a store")
    return name


def _changed(about: Mapping[str, Any]) -> float:
    """When an object was last changed; 0 where its server does not say."""
    when = next((about[name] for name in _WHEN if about.get(name) is not None), 0.0)
    return float(when.timestamp() if hasattr(when, "timestamp") else when)


def _needs(url: str, package: str, error: ImportError) -> SettingError:
    instead = f"pip install '{package}'" if package else "install the package that fsspec names"
    return SettingError(
        f"'{redacted(url)}' cannot be reached",
        why=f"a package is missing: {error}",
        instead=f"{instead}, or give a folder of this machine",
    )


def _protocols(url: str, fsspec: Any) -> str:
    return nearest(url.partition("://")[0], fsspec.available_protocols())
