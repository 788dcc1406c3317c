"""Where a split table is written: the kind by the name's ending, beside its place first, then moved there whole."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from recombine.errors import OutputError, SettingError
from recombine.files import cannot_write

ENDING = ".split.json"
"""How the manifest of a split is named."""
_FORMATS = {
    ".parquet": "FORMAT parquet, COMPRESSION zstd",
    ".pq": "FORMAT parquet, COMPRESSION zstd",
    ".csv": "FORMAT csv, HEADER",
    ".csv.gz": "FORMAT csv, HEADER, COMPRESSION gzip",
    ".tsv": "FORMAT csv, HEADER, DELIMITER '\t'",
    ".tsv.gz": "FORMAT csv, HEADER, DELIMITER '\t', COMPRESSION gzip",
}


def ending(path: Path) -> str:
    """The part of a name that says what kind of file it is; empty for a folder.

    >>> ending(Path("a/b.csv.gz")), ending(Path("a/b")), ending(Path("v1.2/table.PARQUET"))
    ('.csv.gz', '', '.parquet')
    """
    return "".join(path.suffixes[-2:] if path.suffix.lower() == ".gz" else path.suffixes[-1:]).lower()


def place_beside(table: Path) -> Path:
    """Where the manifest of a table lies.

    >>> place_beside(Path("data/shoes.csv.gz")).name
    'shoes.split.json'
    """
    name = table.name
    return table.with_name(name[: len(name) - len(ending(table))] + ENDING)


def options_for(path: Path, column: str) -> str:
    """How the engine is told to write: one file, or a folder with one sub-folder for each side."""
    kind = ending(path)
    if not kind:
        quoted = '"' + column.replace('"', '""') + '"'
        return f"{_FORMATS['.parquet']}, PARTITION_BY ({quoted}), WRITE_PARTITION_COLUMNS true"
    if kind not in _FORMATS:
        raise SettingError(
            f"out='{path}'",
            why=f"a table whose name ends in '{kind}' cannot be written",
            instead=f"write one of {', '.join(_FORMATS)}, or a name without ending for a folder of Parquet files",
        )
    return _FORMATS[kind]


def check_free(path: Path, source: Any, note: Path, *, column: str, force: bool) -> None:
    """Never write over the source, and over nothing else unasked."""
    if isinstance(source, str | Path) and "://" not in str(source) and _touches(path, Path(source).expanduser()):
        raise OutputError(
            f"'{path}' is the table that is to be split",
            why="writing there would replace it while it is read",
            instead=f"name another file: '{path.with_name(path.name.split('.')[0] + '-split' + ending(path))}'",
        )
    there = [one for one in (path, note) if one.exists()]
    if there and not force:
        raise OutputError(
            f"'{there[0]}' already exists",
            why="writing there would replace it",
            instead="name another file, or say force=True (--force)",
        )
    if path.exists() and path.is_dir() != (not ending(path)):
        raise OutputError(
            f"'{path}' is a {'folder' if path.is_dir() else 'file'}",
            why="a name with an ending is a file, one without is a folder",
            instead="name another place",
        )
    if path.is_dir() and not all(part.name.startswith(f"{column}=") for part in path.iterdir()):
        raise OutputError(
            f"the folder '{path}' holds files that recombine did not write there",
            why="a folder of a split holds one sub-folder for each side, and nothing else",
            instead="name a folder that does not exist yet",
        )


def _touches(path: Path, source: Path) -> bool:
    """Whether the one is the other, or lies in it."""
    there, here = path.resolve(), source.resolve()
    matched = (one.resolve() for one in source.parent.glob(source.name)) if source.parent.is_dir() else ()
    return there == here or here in there.parents or there in here.parents or there in matched


@contextmanager
def staged(path: Path) -> Iterator[Path]:
    """A place beside the final one to write to; it is moved there at the end, or is gone."""
    new_folders = [folder for folder in path.parents if not folder.exists()]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        staging = Path(tempfile.mkdtemp(prefix=f".{path.name}-", dir=path.parent))
    except OSError as error:
        raise cannot_write(path, error) from error
    try:
        yield staging / path.name
        _move(staging / path.name, path)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
        if not path.exists():
            for folder in new_folders:
                with suppress(OSError):  # somebody else has put something there
                    folder.rmdir()


def _move(made: Path, path: Path) -> None:
    try:
        if path.is_dir():
            shutil.rmtree(path)
        made.replace(path)
    except OSError as error:
        raise cannot_write(path, error) from error
