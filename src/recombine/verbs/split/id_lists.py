"""A split as lists of ids, one for each side, for tools that cut a dataset by the numbers of its examples."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from recombine.base.errors import SettingError

ENDING = ".json"


def check_id(path: Path, id_: str | None) -> None:
    """A list needs to know what to list."""
    if id_ is None:
        raise SettingError(
            f"out='{path}'",
            why="such a file lists the rows of each side, and no column was named that tells rows apart",
            instead="name it: id='episode_index' (--id episode_index); or write the whole table, out='held.parquet'",
        )


def write_id_lists(rows: Iterable[tuple[Any, str | None]], path: Path, id_: str) -> int:
    """Write `{"train": [0, 2], "test": [1]}`; answers with how many rows there were, those without a side among them.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "sides.json"
    ...     write_id_lists([(0, "train"), (1, "test"), (2, "train"), (3, None)], path, "episode"), path.read_text()
    (4, '{"train": [0, 2], "test": [1]}')
    """
    sides: dict[str, list[Any]] = {}
    count = 0
    for one, side in rows:
        count += 1
        if side is not None:
            sides.setdefault(side, []).append(one if isinstance(one, int) else str(one))
    listed = [one for ids in sides.values() for one in ids]
    if len(set(listed)) < len(listed):
        raise SettingError(
            f"id={id_!r} with a list of ids",
            why="several rows have the same id, which could then stand in two lists",
            instead="name a column that tells all rows apart, or write the whole table: out='held.parquet'",
        )
    path.write_text(json.dumps({side: sides[side] for side in sorted(sides, key=_ORDER.find)}), encoding="utf-8")
    return count


_ORDER = "train test seen"
