"""Write a table with a column that tells the side, out of core: any size, any engine.

The combinations are counted with one GROUP BY, a splitter decides over them in memory, and one streaming join in
DuckDB writes every row with its side. OutgoingRows of other engines are fetched once, into a file that goes away.
"""

import errno
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import ibis
import pyarrow as pa

from recombine.base.checks import check_number, check_whole
from recombine.base.decoding import LONGEST_NAME, FileName
from recombine.base.errors import OutputError, SettingError, TableError
from recombine.base.files import cannot_write, explained, place_of, recover, staged
from recombine.base.records import Provenance
from recombine.data.engine import OpenTable, Progress, run, sniffing_again, unreadable
from recombine.data.table_query import TableQuery, Where
from recombine.verbs.split import destinations, manifest
from recombine.verbs.split.checker import SEEN
from recombine.verbs.split.row_writer import OutgoingRows, local, rows_drawn, rows_to_write
from recombine.verbs.split.split import (
    CountedCombinations,
    Decided,
    Split,
    count_combinations,
    decide,
    join_table,
    summed_up,
)
from recombine.verbs.split.splitter import Splitter

_SEEN_SHARE = 0.1  # of the training rows, kept apart to be compared with unseen ones
_MEMORY = "2GB"  # of the engine: what does not fit goes to disk


def write_split(  # noqa: PLR0913 - each is one plain question, and all but three have an answer already
    source: Any,
    *,
    splitter: Splitter,
    out: str | Path,
    fold: int = 0,
    column: str | None = None,
    seen_share: float | None = None,
    id: str | None = None,  # noqa: A002 - what everybody calls it
    seed: int = 0,
    where: Where | None = None,
    table: str | None = None,
    force: bool = False,
    command: str | None = None,
    progress: Progress | None = None,
) -> Split:
    """Write a table with a `split` column (train, test), and a manifest `<name>.split.json` beside it.

    The ending of `out` says what is written: `.parquet`, `.csv`, `.tsv` (also with `.gz`), or a folder with one
    sub-folder for each side. A splitter that deals folds writes a column `fold` instead. `seen_share` of the training
    rows (a tenth, unless given; 0 for none) are not trained on but kept apart as `seen`, drawn by a hash of the row or
    of its `id`: test rows of seen combinations, so that `evaluate` can compare scores on seen and unseen ones. A row
    that misses a factor gets no side, unless the splitter says `missing="value"`.

    >>> import tempfile, recombine
    >>> table = {"colour": ["red", "red", "blue", "blue"], "shape": ["disc", "bar", "disc", "bar"]}
    >>> splitter = recombine.HoldOutCombinations(["colour", "shape"], test_size=0.25)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     split = write_split(table, splitter=splitter, out=f"{folder}/table.parquet")
    >>> [(side.name, side.rows) for side in split.sides]
    [('train', 3), ('test', 1)]
    """
    path = place_of(Path(out).expanduser())
    named = column or ("fold" if hasattr(splitter, "fold_of_each") else "split")
    seen_share = _usual_share(splitter) if seen_share is None else seen_share
    _check_settings(splitter, fold, seen_share)
    how = destinations.options_for(path, named)
    note = destinations.place_beside(path)
    recover(path)

    def check() -> None:
        destinations.check_free(path, source, note, force=force)

    check()
    file = _file_name(path)
    question = _question(splitter, where)
    order = _Order(splitter, fold, file, named, how, seen_share, id, seed, command)

    def write(sniff_all: bool) -> Split:
        with staged(path, note, force=force, check=check) as new:
            return _write(source, table, path, new, question, order, progress, sniff_all=sniff_all)

    return sniffing_again(write)


@dataclass(frozen=True)
class _Order:
    """What is to be done with the rows."""

    splitter: Splitter
    fold: int
    file: FileName
    column: str
    how: str
    seen_share: float
    id: str | None
    seed: int
    command: str | None


def _write(
    source: Any,
    table: str | None,
    path: Path,
    new: Path,
    question: TableQuery,
    order: _Order,
    progress: Progress | None,
    *,
    sniff_all: bool,
) -> Split:
    """Count, decide, write the table and its manifest, from where they will be moved to their places together."""
    staging, note = new / path.name, new / destinations.place_beside(path).name
    with explained(path), local(source, question, table, staging, sniff_all=sniff_all) as open_table:
        try:
            open_table.backend.con.execute(f"SET memory_limit = '{_MEMORY}'")
            rows = rows_to_write(open_table, question, staging, order.column)
            drawn = rows_drawn(rows, order.id, share=order.seen_share, seed=order.seed)
            counted = count_combinations(open_table, rows, drawn, question, progress)
            decided = decide(order.splitter, counted, order.fold, order.seen_share)
            to = f"TO '{_quoted(staging)}' ({order.how})"
            written = _copy(open_table, rows, drawn, counted, decided, order.column, to, progress)
        except (duckdb.OutOfMemoryException, duckdb.IOException) as error:
            raise _no_room(path, error) from error
        except duckdb.ConversionException as error:
            if open_table.whole_file_sniffed:
                raise unreadable(open_table.name, error) from error
            raise
        except duckdb.Error as error:
            raise unreadable(open_table.name, error) from error
        if written != counted.support.rows:
            raise TableError(
                f"'{open_table.name}' had {counted.support.rows:,} rows when it was counted, "
                f"and {written:,} when written",
                why="it is changed while it is read, or is a view that answers anew each time",
                instead="copy it first, and split the copy",
            )
    made = summed_up(
        counted, decided, order.splitter, order.file, order.column, _provenance(open_table, question, order)
    )
    with explained(path):
        manifest.write(made, note)
    return made


def _provenance(open_table: OpenTable, question: TableQuery, order: _Order) -> Provenance:
    seed = getattr(order.splitter, "random_state", order.seed)
    settings = question.settings() | {"seed": seed, "fold": order.fold, "seen_share": order.seen_share}
    return Provenance(source=open_table.name, settings=settings, command=order.command)


def _file_name(path: Path) -> FileName:
    """The table's name as its manifest tells it: one that a reader of the manifest would take."""
    try:
        return FileName(path.name)
    except ValueError as error:
        if len(os.fsencode(path.name)) > LONGEST_NAME:
            raise cannot_write(path, OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG))) from error
        raise SettingError(
            f"out='{path}'",
            why="its manifest would name a file that is hidden, or that lies in another folder on some systems",
            instead="write a name that begins with a letter or digit and holds no backslash or colon",
        ) from error


def _usual_share(splitter: Any) -> float:
    """A tenth; folds have none, as every row is in training in all of them but one."""
    return 0.0 if hasattr(splitter, "fold_of_each") else _SEEN_SHARE


def _check_settings(splitter: Any, fold: int, seen_share: float) -> None:
    if not isinstance(splitter, Splitter):
        raise SettingError(
            f"splitter is a {type(splitter).__name__}",
            why="it must say which combinations are held out",
            instead="give one of recombine's, such as HoldOutCombinations(['colour', 'shape'])",
        )
    if splitter.table is not None or not all(isinstance(name, str) for name in splitter.factors):
        raise SettingError(
            f"the splitter {type(splitter).__name__} is bound to a table, or names factors by position",
            why="the factors are read from the table that is written",
            instead="name columns of that table, and leave `table` out",
        )
    last = splitter.folds - 1
    check_whole(
        "fold", fold, least=0, most=last, why=f"the splitter makes {splitter.folds}", instead=f"write 0 to {last}"
    )
    check_number(
        "seen_share",
        seen_share,
        least=0,
        below=1,
        why="it is a share of the training rows, and some must stay in training",
        instead="write a number from 0 to below 1, such as seen_share=0.1 (--seen-share 0.1)",
    )
    if seen_share and hasattr(splitter, "fold_of_each"):
        raise SettingError(
            "seen_share with folds",
            why="every row is in training in all folds but one",
            instead="leave seen_share out, or hold out combinations once",
        )


def _question(splitter: Splitter, where: Where | None) -> TableQuery:
    strata = getattr(splitter, "stratify", None)
    return TableQuery(
        factors=tuple(map(str, splitter.factors)),
        target=strata,
        target_kind=None if strata is None else "label",
        where=where,
        bins=dict(splitter.bins or {}),
        missing="value" if splitter.missing == "value" else "leave out",
    )


def _copy(
    open_table: OpenTable,
    rows: OutgoingRows,
    drawn: Any,
    counted: CountedCombinations,
    decided: Decided,
    column: str,
    to: str,
    progress: Progress | None,
) -> int:
    """One streaming join: every row with the side of its combination; answers with how many were written."""
    connection = open_table.backend.con
    names = [f"recombine_key{place}" for place in range(len(counted.keys))]
    connection.register("recombine_assignment", join_table(counted, decided, names))
    added = {name: key.expression for name, key in zip(names, counted.keys, strict=True)}
    keyed = rows.table.mutate(**added, recombine_drawn=ibis.literal(False) if drawn is None else drawn)
    unwritten = ", ".join([*names, "recombine_drawn", *rows.understood.values()])
    same = " AND ".join(f"source.{name} IS NOT DISTINCT FROM assigned.{name}" for name in names)
    seen = f"CASE WHEN assigned.may_be_seen AND source.recombine_drawn THEN '{SEEN}' ELSE assigned.side END"
    query = (
        f"COPY (SELECT source.* EXCLUDE ({unwritten}), {seen} AS {_identifier(column)} "  # noqa: S608
        f"FROM ({open_table.backend.compile(keyed)}) AS source "
        f"LEFT JOIN recombine_assignment AS assigned ON {same}) {to}"
    )
    # the rows keep their order: the table is the side that streams past, and batches are written as they came
    connection.execute("SET preserve_insertion_order = true")
    connection.execute("SET disabled_optimizers = 'join_order,build_side_probe_side'")
    return int(run(_Statement(connection), query, progress).column(0)[0].as_py())


@dataclass(frozen=True)
class _Statement:
    """A connection as `run` knows engines, for a statement that is written by hand."""

    con: Any

    def to_pyarrow(self, statement: str) -> pa.Table:
        """Carry out a statement; what it answers is a table too."""
        return pa.table({"answer": [row[0] for row in self.con.execute(statement).fetchall()]})


def _no_room(path: Path, error: Exception) -> OutputError:
    return OutputError(
        f"cannot write '{path}'",
        why=str(error).splitlines()[0],
        instead="name a place with more room; split wide rows (images, texts) by their names alone",
    )


def _quoted(path: Path) -> str:
    return str(path).replace("'", "''")


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
