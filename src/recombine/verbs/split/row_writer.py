"""The rows that will be written: in a DuckDB of our own, wherever they came from, and as they were written.

What an engine takes for a number must not come out as another text: `007` is a number to it, and would be written as
`7`. So where a CSV is split into a CSV, its columns are read and written as text, and factors that are numbers are
understood beside it.
"""

import errno
import glob
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import ibis
import pyarrow.parquet as pq

from recombine.base.errors import ColumnError
from recombine.data import columns
from recombine.data.engine import OpenTable, stream, unreadable
from recombine.data.sources import opened
from recombine.data.table_query import TableQuery, filtered
from recombine.verbs.split import destinations

_HASHES = 1_000_000  # the steps of a share that is drawn by a hash: a millionth
_FETCHED = "fetched.parquet"
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_ENDINGS = (".csv", ".tsv", ".txt")


@dataclass(frozen=True, eq=False)
class OutgoingRows:
    """The rows as they will be written, and under which further names some columns are understood as numbers."""

    table: Any
    understood: Mapping[str, str]

    def understood_as(self, name: str) -> str:
        """The column that tells a factor's values."""
        return self.understood.get(name, name)


@contextmanager
def open_locally(
    source: Any, question: TableQuery, table: str | None, staging: Path, *, sniff_all: bool
) -> Iterator[OpenTable]:
    """The source in a DuckDB of our own: files and frames are there already, other engines' rows are fetched once."""
    with opened(source, table=table, sniff_all=sniff_all) as open_table:
        columns.require(open_table.table, question.columns, role="a factor")
        if question.target is not None:
            columns.require(open_table.table, [question.target], role="the strata")
        if open_table.backend.name == "duckdb" and not type(source).__module__.startswith("ibis."):
            yield open_table
            return
        fetched = _fetched_path(staging)
        _fetch(open_table, filtered(open_table.table, question.where, open_table.backend), fetched)
        name = open_table.name
    with opened(str(fetched)) as here:
        yield OpenTable(here.table, here.backend, name)


def _fetched_path(staging: Path) -> Path:
    """Where rows of another engine lie meanwhile: not beside the table, which may bear any name."""
    return staging.parents[1] / _FETCHED


def _fetch(open_table: OpenTable, rows: Any, path: Path) -> None:
    try:
        reader = stream(open_table.backend, rows)
        with pq.ParquetWriter(path, reader.schema) as writer:
            for batch in reader:
                writer.write_batch(batch)
    except Exception as error:
        if isinstance(error, OSError) and error.errno in _NO_ROOM:  # not the source's fault
            raise
        raise unreadable(open_table.name, error, engine=open_table.backend.name) from error


def rows_to_write(open_table: OpenTable, question: TableQuery, staging: Path, written: Sequence[str]) -> OutgoingRows:
    """The rows as they will be written, beside which there will be some new columns."""
    fetched = _fetched_path(staging).exists()
    as_text = destinations.ending(staging).startswith((".csv", ".tsv")) and question.where is None and not fetched
    kept = open_table.table if fetched else filtered(open_table.table, question.where, open_table.backend)
    rows = rows_as_text(open_table, question) if as_text else OutgoingRows(kept, {})
    new = {name.lower() for name in written}
    taken = [name for name in rows.table.columns if name.lower() in new]
    if taken:
        raise ColumnError(
            f"the table already has a column {taken[0]!r}",
            why="the side of each row is to be written there",
            instead=f"name another: column='{written[0]}2' (--column {written[0]}2)",
        )
    return rows


def draw_seen_rows(rows: OutgoingRows, id_: str | None, *, share: float, seed: int) -> Any:
    """Which rows a draw would keep apart: by a hash of the row, or of its id, so that twins stay together."""
    table = rows.table
    if id_ is not None:
        columns.require(table, [id_], role="the id")
    if not share:
        return None
    known = [id_] if id_ is not None else list(table.columns)
    whole = ibis.struct({"recombine_seed": ibis.literal(seed % 2**63), **{name: table[name] for name in known}})
    # an engine's whole numbers have 64 bits; its hash may be negative, and so may then be its remainder
    return (whole.hash() % _HASHES + _HASHES) % _HASHES < round(share * _HASHES)


def rows_as_text(open_table: OpenTable, question: TableQuery) -> OutgoingRows:
    """The rows of a CSV file with all columns as text; any other table as it is."""
    path = Path(open_table.name).expanduser()
    schema = open_table.table.schema()
    needed = [name for name in (*question.columns, question.target) if name is not None]
    if not _is_csv(path) or not all(_plainly_written(schema[name]) for name in needed):
        return OutgoingRows(open_table.table, {})
    try:
        text = open_table.backend.read_csv(glob.escape(str(path)), all_varchar=True, header=True)
    except (duckdb.Error, ibis.common.exceptions.IbisError):
        return OutgoingRows(open_table.table, {})
    if list(text.columns) != list(open_table.table.columns):
        return OutgoingRows(open_table.table, {})
    numbers = {name: f"recombine_typed{k}" for k, name in enumerate(needed) if not schema[name].is_string()}
    typed = {shadow: text[name].cast(schema[name]) for name, shadow in numbers.items()}
    return OutgoingRows(text.mutate(**typed) if typed else text, numbers)


def _is_csv(path: Path) -> bool:
    return path.name.lower().removesuffix(".gz").endswith(_ENDINGS) and path.is_file()


def _plainly_written(kind: Any) -> bool:
    """Whether text can be understood as this kind in one way only, as a date cannot."""
    return bool(kind.is_string() or kind.is_boolean() or kind.is_numeric())
