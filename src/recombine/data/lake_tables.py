"""Tables that are a folder of files with a log (Delta, Iceberg, Hudi), read through it by the package that writes them.

The log says which of the files, and which of their rows, belong to the table today. What was overwritten or deleted
still lies beside the rest, so the files are never read without the log. Each of these packages is an extra.
"""

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from recombine.base.errors import SourceError
from recombine.data.readers import Reader

_ICEBERG_VERSION = re.compile(r"v?(?P<version>\d+)(-.*)?\.metadata\.json")


def lake_of(folder: Path) -> Reader | None:
    """The kind of table whose log lies in a folder; None for a folder of plain files."""
    return next((lake for lake in _LAKES if lake.holds(folder)), None)


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


def as_dataset(source: Any, columns: Sequence[str] | None) -> Any:
    """A table that somebody opened with its own package, wherever it lies; None for what is no such table."""
    library = type(source).__module__.partition(".")[0]
    if library == "deltalake" and hasattr(source, "to_pyarrow_dataset"):
        return source.to_pyarrow_dataset()
    if library == "pyiceberg" and hasattr(source, "scan"):
        return _scanned(source, columns)
    kinds = {f"{kind.__module__}.{kind.__name__}" for kind in type(source).__mro__}
    return source if "pyarrow._dataset.Dataset" in kinds else None


def _is_delta(folder: Path) -> bool:
    return (folder / "_delta_log").is_dir()


def _is_hudi(folder: Path) -> bool:
    return (folder / ".hoodie").is_dir()


def _is_iceberg(folder: Path) -> bool:
    metadata = folder / "metadata"
    return metadata.is_dir() and any(_ICEBERG_VERSION.fullmatch(entry.name) for entry in os.scandir(metadata))


def _read_delta(path: Path, _: Sequence[str] | None) -> Any:
    from deltalake import DeltaTable  # noqa: PLC0415 - an extra

    return DeltaTable(str(path)).to_pyarrow_dataset()


def _read_iceberg(path: Path, columns: Sequence[str] | None) -> Any:
    from pyiceberg.table import StaticTable  # noqa: PLC0415 - an extra

    return _scanned(StaticTable.from_metadata(str(_newest_metadata(path).absolute())), columns)


def _newest_metadata(folder: Path) -> Path:
    """Without a catalogue, the newest version is the one with the highest number, if there is only one such."""
    metadata = folder / "metadata"
    hint = metadata / "version-hint.text"
    found: dict[int, list[Path]] = {}
    for entry in sorted(metadata.iterdir()):
        matched = _ICEBERG_VERSION.fullmatch(entry.name)
        if matched:
            found.setdefault(int(matched["version"]), []).append(entry)
    told = hint.read_text().strip() if hint.is_file() else ""
    version = int(told) if told.isdigit() and int(told) in found else max(found)
    if len(found[version]) > 1:
        raise SourceError(
            f"the Iceberg table '{folder}' has {len(found[version])} versions of number {version}",
            why="only its catalogue knows which of them holds",
            instead="open it with its catalogue: recombine.read(catalog.load_table('…'), …)",
        )
    return found[version][0]


def _scanned(table: Any, columns: Sequence[str] | None) -> Any:
    """The columns that are asked for, in memory: an Iceberg scan can be gone through only once."""
    there = list(table.schema().column_names)
    needed = tuple(columns) if columns is not None and set(columns) <= set(there) else ("*",)
    return table.scan(selected_fields=needed).to_arrow()


def _refuse_hudi(folder: Path, _: Sequence[str] | None) -> Any:
    raise SourceError(
        f"'{folder}' is a Hudi table",
        why="its log, which says what of its files is deleted, cannot be read here",
        instead="export it: let its own engine write what it holds today to Parquet, and give that",
    )


_LAKES = (
    Reader("Delta", _is_delta, _read_delta, install="pip install 'recombine[delta]'"),
    Reader("Iceberg", _is_iceberg, _read_iceberg, install="pip install 'recombine[iceberg]'"),
    Reader("Hudi", _is_hudi, _refuse_hudi),
)
