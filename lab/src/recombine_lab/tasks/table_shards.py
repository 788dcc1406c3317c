"""Tar files of examples, as WebDataset and img2dataset write them: files of one key (`17.jpg`, `17.json`) are one row.

Each ending is a column: what stands in a `.json` becomes a column for each of its names, `.txt` a text, `.cls` a
number; of everything else (pictures) only the place within the tar file is kept, to be read when it is needed. So a
compressed tar file is refused, and with it one that would fill the memory when it is unpacked. Shards are often other
people's: what is read lies in the tar files themselves, never at a path that they name.
"""

import json
import os
import re
import tarfile
from collections.abc import Sequence
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

import pyarrow as pa

from recombine.errors import RecombineError, SourceError, TableError

ENDING = ".tar"
MOST_SHARDS = 100_000
"""Files that a range may stand for; the largest public sets have some ten thousand."""
MOST_TEXT = 2**24
"""Bytes of a .json, .txt or .cls file: it is read as a whole."""
_RANGE = re.compile(r"\{(\d{1,18})\.\.(\d{1,18})\}")
_COMPRESSED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd")
_JSON_KINDS = {list: "a list", str: "a text", bool: "true or false", type(None): "nothing"}
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
    # What stands between two ranges is every third piece; braces in it are part of the name.
    pieces = _RANGE.split(source)
    ranges = [(low, range(int(low), int(high) + 1)) for low, high in zip(pieces[1::3], pieces[2::3], strict=True)]
    count = prod(max(0, numbers.stop - numbers.start) for _, numbers in ranges)
    if count > MOST_SHARDS:
        raise SourceError(
            f"'{source}' stands for {count:,} files",
            why=f"a range stands for at most {MOST_SHARDS:,}",
            instead="write a shorter range, or a pattern: shards/*.tar",
        )
    written = [[str(number).zfill(len(low)) for number in numbers] for low, numbers in ranges]
    named = [Path(_joined(pieces[::3], chosen)).expanduser() for chosen in product(*written)] if ranges else []
    path = Path(source).expanduser()
    found = named or (sorted(path.parent.glob(path.name)) if "*" in path.name else [path])
    for one in found:
        if not os.path.isfile(one):  # noqa: PTH113 - a Path raises where a name is too long
            raise SourceError(f"no file '{one}'", why="there is no such file", instead="name tar files that are there")
    if not found:
        raise SourceError(
            f"no file '{source}'", why="no tar file is called so", instead="name tar files that are there"
        )
    return found


def _joined(texts: Sequence[str], numbers: Sequence[str]) -> str:
    """A name with a number in each of its ranges.

    >>> _joined(["s", "-", ".tar"], ["00", "7"])
    's00-7.tar'
    """
    return "".join(text + number for text, number in zip(texts, [*numbers, ""], strict=True))


def read_shards(paths: Sequence[Path]) -> pa.Table:
    """One row for each key, in the order of the files."""
    rows = [row for path in paths for row in _rows(path)]
    if not rows:
        raise TableError("the tar files hold no examples", why="no file in them has a name", instead="name others")
    names = dict.fromkeys(name for row in rows for name in row if name != _KEY)
    try:
        return pa.table({name: pa.array([row.get(name) for row in rows]) for name in names})
    except (
        pa.ArrowException,
        ArithmeticError,
        ValueError,
    ) as error:  # also numbers and texts that Arrow has no room for
        raise TableError(
            "the tar files hold columns of several types",
            why=str(error).splitlines()[0],
            instead="write each name in the .json files with values of one type",
        ) from error


def _rows(path: Path) -> list[dict[str, Any]]:
    rows: dict[str, dict[str, Any]] = {}
    try:
        with path.open("rb") as held:
            compressed = held.read(6).startswith(_COMPRESSED)
        if compressed:
            raise ValueError("it is compressed, and pictures are read by their place in the file")
        with tarfile.open(path, "r:") as file:
            for member in file:
                if member.isfile():
                    folder, _, name = member.name.rpartition("/")
                    key, _, ending = name.partition(".")
                    _add(rows.setdefault(f"{folder}/{key}", {}), ending.lower(), member, file, path)
    except RecombineError:
        raise
    except Exception as error:  # tarfile raises whatever it stumbles over in a header
        raise SourceError(
            f"cannot read '{path}'",
            why=str(error) or type(error).__name__,
            instead="give a tar file that is whole and not compressed",
        ) from error
    return list(rows.values())


def _add(row: dict[str, Any], ending: str, member: tarfile.TarInfo, file: tarfile.TarFile, path: Path) -> None:
    if member.issparse():
        raise _unreadable(member, path, "it has holes, which take no room in the file and any amount in memory")
    if ending not in ("json", "cls", *_TEXT):
        row[ending] = {"path": str(path.absolute()), "offset": member.offset_data, "size": member.size}
        return
    if member.size > MOST_TEXT:
        raise _unreadable(member, path, f"it has {member.size:,} bytes, and at most {MOST_TEXT:,} are read")
    held = file.extractfile(member)
    try:
        text = (held.read() if held is not None else b"").decode()
        if ending != "json":
            row[ending] = int(text) if ending == "cls" else text
            return
        told = json.loads(text)
    except RecursionError as error:
        raise _unreadable(member, path, "it is nested too deeply") from error
    except ValueError as error:
        raise _unreadable(member, path, str(error)) from error
    if not isinstance(told, dict):
        raise _unreadable(member, path, f"it holds {_JSON_KINDS.get(type(told), 'a number')}, not names with values")
    row |= {name: value for name, value in told.items() if not isinstance(value, dict | list)}


def _unreadable(member: tarfile.TarInfo, path: Path, why: str) -> SourceError:
    return SourceError(
        f"cannot read {member.name[:200]!r} in '{path}'",
        why=why,
        instead="mend that file or leave it out: a .json holds an object of names and values, a .cls a whole number",
    )
