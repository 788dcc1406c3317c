"""Tables with a log, read through it by the package that writes them; each of these packages is an extra."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from recombine.errors import RecombineError, SourceError
from recombine.tables.engine import first_line
from recombine.tables.lakes import ICEBERG_VERSION, Lake


def lake_dataset(path: Path, lake: Lake, columns: Sequence[str] | None) -> Any:
    """The rows that belong to the table today, as something that DuckDB scans."""
    if lake.name not in _READERS:
        raise SourceError(
            f"'{path}' is {lake}",
            why="its log, which says what of its files is deleted, cannot be read here",
            instead="export it: let its own engine write what it holds today to Parquet, and give that",
        )
    try:
        return _READERS[lake.name](path, columns)
    except RecombineError:
        raise
    except ImportError as error:
        raise SourceError(
            f"'{path}' is {lake}",
            why=f"its log says which rows are deleted, and what reads it is not installed ({first_line(error)})",
            instead=f"pip install 'recombine[{lake.name.lower()}]'",
        ) from error
    except Exception as error:
        raise SourceError(
            f"cannot read '{path}', {lake}",
            why=first_line(error),
            instead="check that the folder is whole, its log and the files that it names; or export it to Parquet",
        ) from error


def as_dataset(source: Any, columns: Sequence[str] | None) -> Any:
    """A table that somebody opened with its own package, wherever it lies; None for what is no such table."""
    library = type(source).__module__.partition(".")[0]
    if library == "deltalake" and hasattr(source, "to_pyarrow_dataset"):
        return source.to_pyarrow_dataset()
    if library == "pyiceberg" and hasattr(source, "scan"):
        return _scanned(source, columns)
    kinds = {f"{kind.__module__}.{kind.__name__}" for kind in type(source).__mro__}
    return source if "pyarrow._dataset.Dataset" in kinds else None


def _read_delta(path: Path, _: Sequence[str] | None) -> Any:
    from deltalake import DeltaTable  # noqa: PLC0415 - an extra

    return DeltaTable(str(path)).to_pyarrow_dataset()


def _read_lance(path: Path, _: Sequence[str] | None) -> Any:
    import lance  # noqa: PLC0415 - an extra

    return lance.dataset(str(path))


def _read_iceberg(path: Path, columns: Sequence[str] | None) -> Any:
    from pyiceberg.table import StaticTable  # noqa: PLC0415 - an extra

    return _scanned(StaticTable.from_metadata(str(_newest_metadata(path).absolute())), columns)


def _newest_metadata(folder: Path) -> Path:
    """Without a catalogue, the newest version is the one with the highest number, if there is only one such."""
    metadata = folder / "metadata"
    hint = metadata / "version-hint.text"
    found: dict[int, list[Path]] = {}
    for entry in sorted(metadata.iterdir()):
        matched = ICEBERG_VERSION.fullmatch(entry.name)
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


_READERS: dict[str, Callable[[Path, Sequence[str] | None], Any]] = {
    "Delta": _read_delta,
    "Iceberg": _read_iceberg,
    "Lance": _read_lance,
}
