"""Where a split table is written: the kind by the name's ending, and what may be replaced there."""

import os
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from recombine.base.decoding import parsed
from recombine.base.errors import OutputError, SettingError
from recombine.base.files import already_exists
from recombine.base.overwrite_checks import MANIFEST_ENDING, check_place, input_at

_NO_SIDE = "__HIVE_DEFAULT_PARTITION__"
_FORMATS = {
    ".parquet": "FORMAT parquet, COMPRESSION zstd",
    ".pq": "FORMAT parquet, COMPRESSION zstd",
    ".csv": "FORMAT csv, HEADER",
    ".csv.gz": "FORMAT csv, HEADER, COMPRESSION gzip",
    ".tsv": "FORMAT csv, HEADER, DELIMITER '\t'",
    ".tsv.gz": "FORMAT csv, HEADER, DELIMITER '\t', COMPRESSION gzip",
    ".json": "",  # no table: lists of ids
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
    return table.parent / (name[: len(name) - len(ending(table))] + MANIFEST_ENDING)


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


def check_free(path: Path, source: Any, note: Path, *, force: bool) -> None:
    """Never write over the source, over nothing else unasked, and never over what a split did not write."""
    if any(input_at(one, [source], inside=True) is not None for one in (path, note)):
        raise OutputError(
            f"'{path}' is the table that is to be split",
            why="writing there would replace it, or be read with it the next time",
            instead=f"name another file: '{_free_name(path)}'",
        )
    check_place(path)
    there = [one for one in (path, note) if os.path.lexists(one)]
    if there and not force:
        raise already_exists(there[0])
    is_folder = os.path.isdir(path)  # noqa: PTH112 - it never raises, however long the name is
    if path in there and is_folder != (not ending(path)):
        raise OutputError(
            f"'{path}' is a {'folder' if is_folder else 'file'}",
            why="a name with an ending is a file, one without is a folder",
            instead="name another place",
        )
    if is_folder and not _is_split_folder(path, note):
        raise OutputError(
            f"the folder '{path}' holds files that recombine did not write there",
            why=f"a split's folder holds one sub-folder for each side that '{note.name}' names, and nothing else",
            instead="name a folder that does not exist yet",
        )
    _refuse_foreign_note(note, path)


def _free_name(path: Path) -> Path:
    return path.parent / f"{path.name.split('.')[0] or 'table'}-split{ending(path)}"


def _refuse_foreign_note(note: Path, path: Path) -> None:
    """The manifest's name is ours to choose, so what stands there must be the manifest of this very table."""
    if not os.path.lexists(note):
        return
    of = _content(note).get("file")
    if of != path.name and (of is None or note.with_name(str(of)).exists()):
        raise OutputError(
            f"'{note}' is {'not the manifest of a split' if of is None else f'the manifest of {str(of)!r}'}",
            why=f"the manifest of '{path.name}' would be written there",
            instead="name another file, whose manifest has a name of its own",
        )


def _is_split_folder(path: Path, note: Path) -> bool:
    """Whether a folder holds the sides that its manifest names, or some of them, and nothing else."""
    content = _content(note)
    try:
        if not any(path.iterdir()):
            return True
        if content.get("file") != path.name:
            return False
        sides = {f"{content['column']}={side['name']}" for side in content["sides"]}
        sides.add(f"{content['column']}={_NO_SIDE}")
        return all(
            folder.is_dir()
            and not folder.is_symlink()
            and (folder.name in sides or unquote(folder.name) in sides)
            and all(part.suffix == ".parquet" and part.is_file() for part in folder.iterdir())
            for folder in path.iterdir()
        )
    except (OSError, KeyError, TypeError):
        return False


def _content(note: Path) -> dict[str, Any]:
    """What a manifest says; nothing if it is not one."""
    try:
        content = parsed(note.read_bytes())
    except (OSError, ValueError):
        return {}
    return content if content.get("kind") == "split" else {}
