"""The rows that will be written: in a DuckDB of our own, wherever they came from."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import ibis
import pyarrow.parquet as pq

from recombine.errors import ColumnError
from recombine.splits.writing import destination
from recombine.splits.writing.streaming import stream
from recombine.splits.writing.verbatim import Rows, verbatim
from recombine.tables import columns
from recombine.tables.conditions import filtered
from recombine.tables.engine import Source, unreadable
from recombine.tables.question import Question
from recombine.tables.sources import opened

_HASHES = 1_000_000
_FETCHED = "fetched.parquet"
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextmanager
def local(source: Any, question: Question, table: str | None, staging: Path, *, sniff_all: bool) -> Iterator[Source]:
    """The source in a DuckDB of our own: files and frames are there already, other engines' rows are fetched once."""
    with opened(source, table=table, sniff_all=sniff_all) as lent:
        columns.require(lent.table, question.factors, role="a factor")
        if question.target is not None:
            columns.require(lent.table, [question.target], role="the strata")
        if lent.backend.name == "duckdb" and not type(source).__module__.startswith("ibis."):
            yield lent
            return
        fetched = _fetched(staging)
        _fetch(lent, filtered(lent.table, question.where, lent.backend), fetched)
        name = lent.name
    with opened(str(fetched)) as here:
        yield Source(here.table, here.backend, name)


def _fetched(staging: Path) -> Path:
    """Where rows of another engine lie meanwhile: not beside the table, which may bear any name."""
    return staging.parents[1] / _FETCHED


def _fetch(lent: Source, rows: Any, path: Path) -> None:
    try:
        reader = stream(lent.backend, rows)
        with pq.ParquetWriter(path, reader.schema) as writer:
            for batch in reader:
                writer.write_batch(batch)
    except Exception as error:
        if isinstance(error, OSError) and error.errno in _NO_ROOM:  # not the source's fault
            raise
        raise unreadable(lent.name, error, engine=lent.backend.name) from error


def rows_to_write(lent: Source, question: Question, staging: Path, column: str) -> Rows:
    """The rows as they will be written."""
    fetched = _fetched(staging).exists()
    as_text = destination.ending(staging).startswith((".csv", ".tsv")) and question.where is None and not fetched
    kept = lent.table if fetched else filtered(lent.table, question.where, lent.backend)
    rows = verbatim(lent, question) if as_text else Rows(kept, {})
    taken = [name for name in rows.table.columns if name.lower() == column.lower()]
    if taken:
        raise ColumnError(
            f"the table already has a column {taken[0]!r}",
            why="the side of each row is to be written there",
            instead=f"name another: column='{column}2' (--column {column}2)",
        )
    return rows


def rows_drawn(rows: Rows, id_: str | None, *, share: float, seed: int) -> Any:
    """Which rows a draw would keep apart: by a hash of the row, or of its id, so that twins stay together."""
    table = rows.table
    if id_ is not None:
        columns.require(table, [id_], role="the id")
    if not share:
        return None
    known = [id_] if id_ is not None else list(table.columns)
    whole = ibis.struct({"recombine_seed": ibis.literal(seed), **{name: table[name] for name in known}})
    # an engine's hash may be negative, and so may then be its remainder
    return (whole.hash() % _HASHES + _HASHES) % _HASHES < round(share * _HASHES)
