"""Where a store's files lie: a folder of this machine, or objects behind any fsspec URL.

A place knows files by names with slashes and nothing of runs. What goes wrong is an `OSError` here, whatever the
package behind it raises; the store puts it into words.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Seen:
    """A file as a listing shows it: its size in bytes, and when it was last changed, in seconds since 1970."""

    size: int
    changed: float


class Place(ABC):
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
    def listing(self, folder: str) -> dict[str, Seen]:
        """Every file below a folder, by its name from the root of the place."""

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
