"""A store's files as objects: S3 and everything else that fsspec reaches.

An object appears whole when its upload ends, and replaces what was there. There is no moving of folders, so a run's
mark is written after everything it names.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar, final

from recombine.errors import SettingError, nearest
from recombine.lab.runs.place import Place, Seen
from recombine.redaction import guarded, redacted, redacted_words

_T = TypeVar("_T")
_WHEN = ("LastModified", "mtime", "updated", "last_modified", "modified", "created")

# Other processes write at the same time, and what is remembered of a listing would hide their runs.
_ALWAYS = {"use_listings_cache": False, "skip_instance_cache": True}


@final
@dataclass(frozen=True, repr=False)
class Objects(Place):
    """Objects below a prefix."""

    url: str
    files: Any
    root: str

    def __repr__(self) -> str:
        return f"Objects({self.title!r})"

    @classmethod
    def at(cls, url: str, options: Mapping[str, Any]) -> "Objects":
        """The objects below a URL; the package that reaches them must be installed."""
        with guarded(url):
            return cls._reached(url, options)

    @classmethod
    def _reached(cls, url: str, options: Mapping[str, Any]) -> "Objects":
        try:
            import fsspec  # noqa: PLC0415 - needed for URLs only
        except ImportError as error:
            raise _needs(url, "fsspec", error) from error
        try:
            files, root = fsspec.core.url_to_fs(url, **(_ALWAYS | dict(options)))
        except ImportError as error:
            raise _needs(url, "recombine[s3]" if url.startswith("s3") else "", error) from error
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

    def listing(self, folder: str) -> dict[str, Seen]:
        """One listing of a prefix."""
        try:
            found = self._translated(lambda: self.files.find(self._path(folder), detail=True))
        except FileNotFoundError:
            return {}
        return {self._name(path): Seen(int(about.get("size") or 0), _changed(about)) for path, about in found.items()}

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
        return f"{self.root}/{name}"

    def _name(self, path: str) -> str:
        return path.lstrip("/").removeprefix(self.root.lstrip("/")).lstrip("/")


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
