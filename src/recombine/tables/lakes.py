"""Tables that are a folder of files with a log (Delta, Iceberg, Lance, Hudi): how they are known from plain files.

The log says which of the files, and which of their rows, belong to the table today. What was overwritten or deleted
still lies beside the rest, so the files are never read without the log (`lake_readers`).
"""

import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from recombine.errors import SourceError

ICEBERG_VERSION = re.compile(r"v?(?P<version>\d+)(-.*)?\.metadata\.json")


@dataclass(frozen=True)
class Lake:
    """A kind of table with a log, and how its folder is known."""

    name: str
    marks: Callable[[Path], bool]

    def __str__(self) -> str:
        return f"{'an' if self.name[0] in 'AEIOU' else 'a'} {self.name} table"


def lake_of(folder: Path) -> Lake | None:
    """The kind of table whose log lies in a folder; None for a folder of plain files."""
    return next((lake for lake in _LAKES if lake.marks(folder)), None)


def refuse_parts(files: Iterable[Path]) -> None:
    """Files of a table with a log are not read one by one: some of their rows may be deleted."""
    for folder in dict.fromkeys(file.parent for file in files):
        for place in (folder, *folder.parents):
            lake = lake_of(place)
            if lake is not None:
                raise SourceError(
                    f"the files in '{folder}' are part of {lake}",
                    why="only its log says which of their rows are deleted",
                    instead=f"give the table itself: '{place}'",
                )


def refuse_several(folder: Path, within: Iterable[Path]) -> None:
    """A folder that holds tables with logs further down is no table."""
    for place in dict.fromkeys(part for file in within for part in file.parents if folder in part.parents):
        lake = lake_of(place)
        if lake is not None:
            raise SourceError(
                f"the folder '{folder}' holds {lake}, '{place}'",
                why="its files may not be read without its log, nor together with others",
                instead=f"name one table: '{place}'",
            )


def _is_delta(folder: Path) -> bool:
    return (folder / "_delta_log").is_dir()


def _is_hudi(folder: Path) -> bool:
    return (folder / ".hoodie").is_dir()


def _is_lance(folder: Path) -> bool:
    versions = folder / "_versions"
    return versions.is_dir() and any(entry.name.endswith(".manifest") for entry in os.scandir(versions))


def _is_iceberg(folder: Path) -> bool:
    metadata = folder / "metadata"
    return metadata.is_dir() and any(ICEBERG_VERSION.fullmatch(entry.name) for entry in os.scandir(metadata))


_LAKES = (Lake("Delta", _is_delta), Lake("Iceberg", _is_iceberg), Lake("Lance", _is_lance), Lake("Hudi", _is_hudi))
