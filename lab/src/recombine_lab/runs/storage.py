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
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any, ClassVar, TypeVar, final

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


@final
@dataclass(frozen=True)
class FolderStorage:
    """A folder of a file system."""

    root: Path
    moves_folders: ClassVar[bool] = True
    """Whether a folder full of files can appear in one step."""

    @property
    def title(self) -> str:
        """What a person calls it, without a password."""
        return str(self.root)

    @property
    def address(self) -> str:
        """By which another process opens it; never to be shown."""
        return str(self.root)

    def exists(self, name: str) -> bool:
        """Whether there is such a file: one stat."""
        return self._path(name).is_file()

    def read(self, name: str) -> bytes:
        """A file's bytes; `FileNotFoundError` where there is none."""
        return self._path(name).read_bytes()

    def read_all(self, names: Iterable[str]) -> dict[str, bytes | OSError]:
        """Many files, one after another: the disk's cache is faster than threads. What cannot be read is its error."""
        contents: dict[str, bytes | OSError] = {}
        for name in names:
            try:
                contents[name] = self.read(name)
            except OSError as error:
                contents[name] = error
        return contents

    def write(self, name: str, content: bytes) -> None:
        """Write a file or replace it, in one step for everybody who reads it: beside its place, then moved there."""
        target = self._path(name)
        with self._staging_path() as staged:
            staged.write_bytes(content)
            _sync(staged)
            target.parent.mkdir(parents=True, exist_ok=True)
            staged.replace(target)

    def publish(self, folder: str, files: Mapping[str, bytes], mark: str) -> bool:
        """All files in a folder of their own, on the disk for certain, then moved in one step.

        False where another writer's `mark` was there first.
        """
        target = self._path(folder)
        with self._staging_path() as staged:
            staged.mkdir()
            for name, content in files.items():
                (staged / name).write_bytes(content)
            with ThreadPoolExecutor(len(files) + 1) as threads:  # at once: the disk then does the work of one for all
                list(threads.map(_sync, [*(staged / name for name in files), staged]))
            target.parent.mkdir(parents=True, exist_ok=True)
            if not self._move(staged, target, mark):
                return False
        _sync(target.parent)
        return True

    def list_files(self, folder: str) -> dict[str, FileInfo]:
        """Every file below a folder, by its name from the root of the storage."""
        files: dict[str, FileInfo] = {}
        for entry in _entries(self.root / folder):
            if entry.is_dir(follow_symlinks=False):
                files |= self.list_files(f"{folder}/{entry.name}")
                continue
            with suppress(FileNotFoundError):  # removed by another process just now
                state = entry.stat()
                files[f"{folder}/{entry.name}"] = FileInfo(state.st_size, state.st_mtime)
        return files

    def marked_folders(self, folder: str, mark: str) -> set[str]:
        """The folders two levels below a folder that hold a file named `mark`."""
        shards = [entry for entry in _entries(self.root / folder) if entry.is_dir()]
        names = (f"{folder}/{shard.name}/{entry.name}" for shard in shards for entry in _entries(Path(shard.path)))
        return {name for name in names if self.exists(f"{name}/{mark}")}

    def root_names(self) -> set[str]:
        """The names of what lies at the root."""
        return {entry.name for entry in _entries(self.root)}

    def remove(self, name: str) -> None:
        """Remove a file; no matter if it is gone."""
        self._path(name).unlink(missing_ok=True)

    def remove_folder(self, folder: str, mark: str) -> None:  # noqa: ARG002 - all of it goes at once
        """Remove a folder so that, wherever it is cut off, no mark is left: it is moved out of sight in one step."""
        with self._staging_path() as staged:
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

    @contextmanager
    def _staging_path(self) -> Iterator[Path]:
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
        with self._staging_path() as aside, suppress(OSError):
            target.rename(aside)
            if (aside / mark).is_file():
                aside.rename(target)


def _sync(path: Path) -> None:
    """A file, or a folder's list of names, is on the disk for certain when this returns."""
    if os.name != "posix" and path.is_dir():  # where folders cannot be opened, their names are there already
        return
    handle = os.open(path, os.O_RDONLY if os.name == "posix" else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except FileNotFoundError:
        return []


@final
@dataclass(frozen=True, repr=False)
class ObjectStorage:
    """Objects below a prefix; what each method promises stands at `FolderStorage`."""

    url: str
    files: Any
    root: str
    moves_folders: ClassVar[bool] = False

    def __repr__(self) -> str:
        return f"ObjectStorage({self.title!r})"

    @classmethod
    def at(cls, url: str, options: Mapping[str, Any]) -> "ObjectStorage":
        """The objects below a URL; the package that reaches them must be installed."""
        package = "fsspec"
        with guarded(url):
            try:
                import fsspec  # noqa: PLC0415 - needed for URLs only

                package = "recombine-lab[s3]" if url.startswith("s3") else ""
                files, root = fsspec.core.url_to_fs(url, **(_ALWAYS | dict(options)))
            except ImportError as error:
                install = f"pip install '{package}'" if package else "install the package that fsspec names"
                raise SettingError(
                    f"'{redacted(url)}' cannot be reached",
                    why=f"a package is missing: {error}",
                    instead=f"{install}, or give a folder of this machine",
                ) from error
            except (ValueError, TypeError) as error:
                known = nearest(url.partition("://")[0], fsspec.available_protocols())
                raise SettingError(
                    f"'{redacted(url)}' is no place for runs",
                    why=str(error),
                    instead=f"give a folder, or a URL such as s3://bucket/runs; {known}",
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

    def exists(self, name: str) -> bool:
        """One question to the server."""
        try:
            self._translated(lambda: self.files.info(self._path(name)))
        except FileNotFoundError:
            return False
        return True

    def read(self, name: str) -> bytes:
        """The object's bytes."""
        return bytes(self._translated(lambda: self.files.cat_file(self._path(name))))

    def read_all(self, names: Iterable[str]) -> dict[str, bytes | OSError]:
        """Many requests at once."""
        paths = {self._path(name): name for name in names}
        if not paths:
            return {}
        answer = self._translated(lambda: self.files.cat(list(paths), on_error="return"))
        by_path = answer if isinstance(answer, dict) else {next(iter(paths)): answer}
        contents: dict[str, bytes | OSError] = {}
        for path, name in paths.items():
            content = by_path.get(path, FileNotFoundError("it is gone"))
            contents[name] = self._os_error(content) if isinstance(content, Exception) else bytes(content)
        return contents

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

    def list_files(self, folder: str) -> dict[str, FileInfo]:
        """One listing of a prefix."""
        try:
            objects = self._translated(lambda: self.files.find(self._path(folder), detail=True))
        except FileNotFoundError:
            return {}
        return {
            self._name(path): FileInfo(int(one.get("size") or 0), _modified_at(one)) for path, one in objects.items()
        }

    def marked_folders(self, folder: str, mark: str) -> set[str]:
        """One listing, of which the marks are kept."""
        names = (name.rpartition("/") for name in self.list_files(folder))
        return {head for head, _, name in names if name == mark and head.count("/") == folder.count("/") + 2}

    def root_names(self) -> set[str]:
        """The first part of every name."""
        try:
            paths = self._translated(lambda: self.files.ls(self.root, detail=False))
        except FileNotFoundError:
            return set()
        return {str(path).rstrip("/").rpartition("/")[2] for path in paths} - {self.root.rpartition("/")[2]}

    def remove(self, name: str) -> None:
        """Delete the object."""
        with suppress(FileNotFoundError):
            self._translated(lambda: self.files.rm_file(self._path(name)))

    def remove_folder(self, folder: str, mark: str) -> None:
        """The mark first, so that nobody believes a run that is being removed."""
        self.remove(f"{folder}/{mark}")
        for name in self.list_files(folder):
            self.remove(name)

    def _translated(self, call: Callable[[], _T]) -> _T:
        try:
            return call()
        except FileNotFoundError:
            raise
        except Exception as error:
            raise self._os_error(error) from error

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


def _modified_at(about: Mapping[str, Any]) -> float:
    """When an object was last changed; 0 where its server does not say."""
    when = next((about[name] for name in _WHEN if about.get(name) is not None), 0.0)
    return float(when.timestamp() if hasattr(when, "timestamp") else when)


Storage = FolderStorage | ObjectStorage
"""Files by name, each written whole or not at all."""
