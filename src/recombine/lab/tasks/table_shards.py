"""Tar files of examples, as WebDataset and img2dataset write them: files of one key (`17.jpg`, `17.json`) are one row.

Each ending is a column: what stands in a `.json` becomes a column for each of its names, `.txt` a text, `.cls` a
number; of everything else (pictures) only the place within the tar file is kept, to be read when it is needed.
"""

import json
import re
import tarfile
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa

from recombine.errors import SourceError, TableError

ENDING = ".tar"
_RANGE = re.compile(r"\{(\d+)\.\.(\d+)\}")
_TEXT = ("txt", "text", "caption")
_KEY = "__key__"


def is_shards(source: object) -> bool:
    """Whether a source names tar files.

    >>> is_shards("shards/{000..010}.tar"), is_shards("rows.csv")
    (True, False)
    """
    return isinstance(source, str) and source.endswith(ENDING)


def shard_paths(source: str) -> list[Path]:
    """The tar files that `shards/*.tar` or `shards/{000..010}.tar` stands for, in order."""
    ranges = [
        [str(number).zfill(len(low)) for number in range(int(low), int(high) + 1)]
        for low, high in _RANGE.findall(source)
    ]
    pattern = _RANGE.sub("{}", source)
    named = [Path(pattern.format(*chosen)).expanduser() for chosen in product(*ranges)] if ranges else []
    path = Path(source).expanduser()
    found = named or (sorted(path.parent.glob(path.name)) if "*" in path.name else [path])
    for one in found:
        if not one.is_file():
            raise SourceError(f"no file '{one}'", why="there is no such file", instead="name tar files that are there")
    if not found:
        raise SourceError(
            f"no file '{source}'", why="no tar file is called so", instead="name tar files that are there"
        )
    return found


def read_shards(paths: Sequence[Path]) -> pa.Table:
    """One row for each key, in the order of the files."""
    rows = [row for path in paths for row in _rows(path)]
    if not rows:
        raise TableError("the tar files hold no examples", why="no file in them has a name", instead="name others")
    names = dict.fromkeys(name for row in rows for name in row if name != _KEY)
    try:
        return pa.table({name: pa.array([row.get(name) for row in rows]) for name in names})
    except pa.ArrowException as error:
        raise TableError(
            "the tar files hold columns of several types",
            why=str(error).splitlines()[0],
            instead="write each name in the .json files with values of one type",
        ) from error


def _rows(path: Path) -> list[dict[str, Any]]:
    rows: dict[str, dict[str, Any]] = {}
    try:
        with tarfile.open(path) as file:
            for member in file:
                if member.isfile():
                    folder, _, name = member.name.rpartition("/")
                    key, _, ending = name.partition(".")
                    _add(rows.setdefault(f"{folder}/{key}", {}), ending.lower(), member, file, path)
    except (tarfile.TarError, ValueError, OSError) as error:
        raise SourceError(
            f"cannot read '{path}'", why=str(error), instead="give a tar file whose .json and .cls files are whole"
        ) from error
    return list(rows.values())


def _add(row: dict[str, Any], ending: str, member: tarfile.TarInfo, file: tarfile.TarFile, path: Path) -> None:
    if ending not in ("json", "cls", *_TEXT):
        row[ending] = {"path": str(path.absolute()), "offset": member.offset_data, "size": member.size}
        return
    held = file.extractfile(member)
    text = (held.read() if held is not None else b"").decode()
    if ending == "json":
        row |= {name: value for name, value in json.loads(text).items() if not isinstance(value, dict | list)}
    else:
        row[ending] = int(text) if ending == "cls" else text
