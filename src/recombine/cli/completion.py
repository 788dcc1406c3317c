"""What the shell offers for `--factors` and `--target`: the columns of the table that stands on the line already.

Only the heading of a local file is read; a database or a bucket is not asked while somebody types.
"""

import csv
import gzip
import json
import os
import re
from collections.abc import Iterable
from pathlib import Path

import typer

from recombine.data.locations import TABLES, suffix_of

_LONGEST_HEADING = 65_536
_PLAIN = re.compile(r"[\w.:@%+/-]+")
"""Names that mean themselves in every shell; others are not offered rather than offered wrongly."""


def one_column(ctx: typer.Context, incomplete: str) -> list[str]:
    """Columns that begin as what was typed does."""
    return [name for name in _columns(ctx) if name.startswith(incomplete)]


def several_columns(ctx: typer.Context, incomplete: str) -> list[str]:
    """The same for the last of several names, those that were typed already put before it."""
    before, comma, last = incomplete.rpartition(",")
    named = set(before.split(","))
    return [f"{before}{comma}{name}" for name in _columns(ctx) if name.startswith(last) and name not in named]


def tables(incomplete: str) -> list[str]:
    """Tables that lie where what was typed points to, and folders on the way."""
    folder, name = os.path.split(incomplete)
    try:
        entries = sorted(Path(folder or ".").iterdir())
    except OSError:
        return []
    found = [entry for entry in entries if entry.name.startswith(name) and entry.name[0] != "."]
    words = [f"{os.path.join(folder, entry.name)}{'/' if entry.is_dir() else ''}" for entry in found if _offered(entry)]  # noqa: PTH118 - what was typed stays as it was
    return [word for word in words if _PLAIN.fullmatch(word)]


def _offered(entry: Path) -> bool:
    return entry.is_dir() or suffix_of(entry.name) in TABLES


def _columns(ctx: typer.Context) -> list[str]:
    """Of the first table on the line; before an option that still lacks its value, words stand where nobody reads."""
    named = [ctx.params.get(place) for place in ("source", "data", "train")]
    for given in (*named, *ctx.args):
        found = heading(str(given)) if given else []
        if found:
            return [name for name in found if _PLAIN.fullmatch(name)]
    return []


def heading(source: str) -> list[str]:
    """The names of a local table's columns; none where they cannot be told at a glance."""
    path = Path(source)
    try:
        if not path.is_file():
            return []
        kind = suffix_of(path.name)
        if kind in (".parquet", ".pq"):
            from pyarrow import parquet  # noqa: PLC0415 - other completions need no Arrow

            return [str(name) for name in parquet.read_schema(path).names]
        return _of_text(_first_line(path), kind)
    except Exception:  # noqa: BLE001 - whatever is wrong with a file, a shell is not the place to hear of it
        return []


def _first_line(path: Path) -> str:
    zipped = path.suffix.lower() == ".gz"
    with gzip.open(path, "rb") if zipped else path.open("rb") as file:
        return file.readline(_LONGEST_HEADING).decode("utf-8-sig")


def _of_text(line: str, kind: str) -> list[str]:
    if kind in (".jsonl", ".ndjson"):
        return [str(name) for name in json.loads(line)]
    if kind not in (".csv", ".tsv", ".txt"):
        return []
    mark = max("\t;|,", key=line.count)
    return _named(next(csv.reader([line], delimiter=mark), []))


def _named(cells: Iterable[str]) -> list[str]:
    return [cell.strip() for cell in cells if cell.strip()]
