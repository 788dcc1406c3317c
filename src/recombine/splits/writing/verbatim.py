"""A CSV file's rows as they are written: what the engine took for a number must not come out as another text.

`007` is a number to an engine, and would be written as `7`. So where a CSV is split into a CSV, its columns are read
and written as text, and factors that are numbers are understood beside it.
"""

import glob
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import ibis

from recombine.tables.engine import Source
from recombine.tables.question import Question

_ENDINGS = (".csv", ".tsv", ".txt")


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows as they will be written, and under which further names some columns are understood as numbers."""

    table: Any
    understood: Mapping[str, str]

    def understood_as(self, name: str) -> str:
        """The column that tells a factor's values."""
        return self.understood.get(name, name)


def verbatim(lent: Source, question: Question) -> Rows:
    """The rows of a CSV file with all columns as text; any other table as it is."""
    path = Path(lent.name).expanduser()
    schema = lent.table.schema()
    needed = [name for name in (*question.factors, question.target) if name is not None]
    if not _is_csv(path) or not all(_plainly_written(schema[name]) for name in needed):
        return Rows(lent.table, {})
    try:
        text = lent.backend.read_csv(glob.escape(str(path)), all_varchar=True, header=True)
    except (duckdb.Error, ibis.common.exceptions.IbisError):
        return Rows(lent.table, {})
    if list(text.columns) != list(lent.table.columns):
        return Rows(lent.table, {})
    numbers = {name: f"recombine_typed{k}" for k, name in enumerate(needed) if not schema[name].is_string()}
    typed = {shadow: text[name].cast(schema[name]) for name, shadow in numbers.items()}
    return Rows(text.mutate(**typed) if typed else text, numbers)


def _is_csv(path: Path) -> bool:
    return path.name.lower().removesuffix(".gz").endswith(_ENDINGS) and path.is_file()


def _plainly_written(kind: Any) -> bool:
    """Whether text can be understood as this kind in one way only, as a date cannot."""
    return bool(kind.is_string() or kind.is_boolean() or kind.is_numeric())
