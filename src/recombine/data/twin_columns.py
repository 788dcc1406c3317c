"""No column is renamed silently.

DuckDB does not tell upper from lower case in names, and calls the second `a` (or `A`) `a_1`: nobody would know which.
Where a name looks like that, the file itself is asked.
"""

import re
from collections.abc import Sequence
from typing import Any

import duckdb

from recombine.base.errors import ColumnError

_RENAMED = re.compile(r"(?P<name>.*)_\d+", re.DOTALL)
_CSV_HEADING = "SELECT * FROM read_csv(?, header = false, all_varchar = true) LIMIT 1"
_JSON_KEYS = "SELECT DISTINCT unnest(json_keys(json)) FROM read_json_objects(?)"
_PARQUET_HEADING = "SELECT file_name, name, num_children FROM parquet_schema(?)"


def refuse_twins(names: Sequence[str], *, where: str, asked: Sequence[str] | None = None) -> None:
    """Two columns of one name are refused, where they are asked for; without `asked`, anywhere."""
    first: dict[str, str] = {}
    needed = None if asked is None else {name.lower() for name in asked}
    for name in names:
        twin = first.get(name.lower())
        if twin is None or (needed is not None and name.lower() not in needed):
            first[name.lower()] = name
            continue
        raise ColumnError(
            f"the column {name!r} stands twice in {where}"
            if twin == name
            else f"the columns {twin!r} and {name!r} have one name in {where}",
            why="its name does not tell which of them is meant"
            if twin == name
            else "an engine does not tell upper from lower case in names",
            instead="rename one of them",
        )


def refuse_renamed(table: Any, backend: Any, path: str, reader: str, asked: Sequence[str] | None) -> None:
    """The same for a file that an engine has opened, after it may have renamed a twin."""
    there = {name.lower() for name in table.columns}
    renamed = {name: found["name"] for name in table.columns if (found := _RENAMED.fullmatch(name.lower()))}
    if not any(name in there for name in renamed.values()):
        return
    written = _written_names(backend, path, reader)
    wanted = asked or ()
    if reader == "read_json":  # lines may differ in their order and in what they hold: a new name is one that none has
        new = [old for name, old in renamed.items() if name in wanted and name not in written]
        written.sort(key=lambda name: name not in table.columns)
    elif len(written) == len(table.columns):
        new = [old for old, name in zip(written, table.columns, strict=True) if name in wanted]
    else:
        return
    refuse_twins(written, where=f"'{path}'", asked=None if asked is None else [*asked, *new])


def _written_names(backend: Any, path: str, reader: str) -> list[str]:
    """The names in the file, in their order; none where it does not tell."""
    connection = backend.con
    try:  # in the order of the lines, of which the first is the heading
        if reader == "read_parquet":
            return _of_parquet(connection.execute(_PARQUET_HEADING, [path]).fetchall())
        if reader == "read_json":
            return [name for (name,) in connection.execute(_JSON_KEYS, [path]).fetchall()]
        found = connection.execute(_CSV_HEADING, [path]).fetchone() or ()
    except duckdb.Error:
        return []
    return [str(name or "").strip() for name in found]


def _of_parquet(lines: Sequence[tuple[str, str, int | None]]) -> list[str]:
    """The outermost columns of the first file: a schema's lines tell how many of the next ones lie within each."""
    first = [(name, children or 0) for file, name, children in lines if file == lines[0][0]]
    found, place = [], 1
    while place < len(first):
        found.append(first[place][0])
        open_ = 1
        while open_ and place < len(first):
            open_ += first[place][1] - 1
            place += 1
    return found
