"""The verb `split`: write a table with a column that tells the side, out of core: any size, any engine.

The combinations are counted with one GROUP BY, a splitter decides over them in memory, and one streaming join in
DuckDB writes every row with its side. Rows of other engines are fetched once, into a file that goes away. Where the
combinations do not fit in memory a hash decides (`stored_split`).
"""

import errno
import os
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Unpack

import duckdb
import ibis
import pyarrow as pa

from recombine.base.argument_kinds import explain_kinds
from recombine.base.checks import check_known, check_number, check_seed
from recombine.base.decoding import LONGEST_NAME, FileName
from recombine.base.errors import BeyondMemory, OutputError, SettingError, TableError
from recombine.base.files import cannot_write, explained, place_of, recover, staged
from recombine.base.progress import Progress, of_step
from recombine.base.records import Provenance
from recombine.data.columns import FactorKey
from recombine.data.engine import OpenTable, limit_memory, run_statement, sniffing_again, unreadable
from recombine.data.group_counts import asked_of
from recombine.data.set_columns import set_columns
from recombine.data.table_query import TableQuery
from recombine.verbs.split import destinations, id_lists, manifest
from recombine.verbs.split.checker import SEEN
from recombine.verbs.split.element_holdout import HoldOutElements
from recombine.verbs.split.lint.side_counts import SplitReading
from recombine.verbs.split.random_holdout import HoldOutCombinations
from recombine.verbs.split.row_writer import OutgoingRows, draw_seen_rows, open_locally, rows_to_write
from recombine.verbs.split.split_result import (
    KEY,
    CountedCombinations,
    Split,
    count_combinations,
    decide,
    join_table,
    summarize_split,
)
from recombine.verbs.split.splitter import Splitter
from recombine.verbs.split.stored_split import HashedHoldout, hashed_share, split_by_hash

_SEEN_SHARE = 0.1  # of the training rows, kept apart to be compared with unseen ones
_SETTINGS = ["out", "factors", "target", "by", "column", "seen_share", "id", "seed", "force"]


@explain_kinds
def split(  # noqa: PLR0913 - each is one plain question, and all but two have an answer already
    source: Any,
    *,
    factors: Sequence[str] | None = None,
    target: str | None = None,
    by: Splitter | None = None,
    out: str | Path,
    column: str | None = None,
    seen_share: float | None = None,
    id: str | None = None,  # noqa: A002 - what everybody calls it
    seed: int = 0,
    force: bool = False,
    progress: Progress | None = None,
    **reading: Unpack[SplitReading],
) -> Split:
    """Hold out combinations: write the table with a `split` column (train, test), and a manifest that can be checked.

    `by` is one of recombine's splitters, `HoldOutCombinations()` by default, and `factors` are what it combines;
    `target` names the column of classes whose shares the sides keep (its `stratify`). A splitter that has factors
    already needs none here. Of a splitter that draws several splits the first is written.

    The ending of `out` says what is written: `.parquet`, `.csv`, `.tsv` (also with `.gz`), or a folder with one
    sub-folder for each side; or `.json`, which lists the `id` of the rows of each side; the manifest
    `<name>.split.json` lies beside it. A splitter that deals folds writes a column `fold` instead. `seen_share` of the
    training rows (default: a tenth; 0 for none) are not trained on but kept apart as `seen`, drawn by a hash of the row
    or of its `id`: test rows of seen combinations, so that `evaluate` can compare scores on seen and unseen ones. A row
    that misses a factor gets no side, unless `missing="value"`. `sets` are factors whose value is a set, as in
    `recombine.read`; `HoldOutElements` writes beside the side what kind of set each held-out row has (`split_rung`).
    Where combinations do not fit in memory, `HoldOutCombinations` holds out by a hash of their values: they are not
    listed in what comes back, rows come in any order, and none are kept apart as `seen`.

    >>> import tempfile, recombine
    >>> table = {"colour": ["red", "red", "blue", "blue"], "shape": ["disc", "bar", "disc", "bar"]}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     held = recombine.HoldOutCombinations(test_size=0.25)
    ...     made = split(table, factors=["colour", "shape"], by=held, out=f"{folder}/table.parquet")
    >>> [(side.name, side.rows) for side in made.sides]
    [('train', 3), ('test', 1)]
    """
    check_known(reading, [*_SETTINGS, *SplitReading.__annotations__], who="recombine.split")
    check_seed(seed)
    splitter = _bound_splitter(by, factors=factors, target=target, reading=reading)
    folds, seen_share_given = hasattr(splitter, "fold_of_each"), seen_share is not None
    if seen_share is None:  # folds have no seen rows: every row is in training in all of them but one
        seen_share = 0.0 if folds else _SEEN_SHARE
    _check_seen_share(seen_share, folds=folds)
    path = place_of(Path(out).expanduser())
    note = destinations.place_beside(path)
    column = column or ("fold" if folds else "split")
    if destinations.ending(path) == id_lists.ENDING:
        id_lists.check_id(path, id)
    plan = _WritingPlan(
        splitter=splitter,
        path=path,
        note=note,
        file=_file_name(path),
        column=column,
        rung_column=f"{column}_rung" if isinstance(splitter, HoldOutElements) else None,
        copy_options=destinations.options_for(path, column),
        seen_share=seen_share,
        seen_share_given=seen_share_given,
        id=id,
        seed=seed,
        table=reading.get("table"),
        command=reading.get("command"),
        progress=progress,
    )
    recover(path)

    def check() -> None:
        destinations.check_free(path, source, note, force=force)

    check()
    strata = getattr(splitter, "stratify", None)
    query = TableQuery(
        factors=tuple(map(str, splitter.factors)),
        target=strata,
        target_kind=None if strata is None else "label",
        where=reading.get("where"),
        bins=dict(splitter.bins or {}),
        sets=set_columns(splitter.sets),
        # a splitter refuses rows that miss a factor in memory; written tables keep them, on no side
        missing=reading.get("missing") or ("value" if splitter.missing == "value" else "leave out"),
    )

    def write(sniff_all: bool) -> Split:
        with staged(path, note, force=force, check=check) as new:
            return _write(source, new, query, plan, sniff_all=sniff_all)

    return sniffing_again(write)


def _bound_splitter(by: Any, *, factors: Sequence[str] | None, target: str | None, reading: SplitReading) -> Splitter:
    """The splitter with the factors, classes and values that the verb was given; what it has already must agree."""
    splitter = HoldOutCombinations() if by is None else by
    if not isinstance(splitter, Splitter):
        raise SettingError(
            f"by is a {type(splitter).__name__}",
            why="it must say which combinations are held out",
            instead="give one of recombine's splitters, such as by=recombine.HoldOutCombinations(test_size=0.2)",
        )
    named: dict[str, Any] = {
        "factors": factors if isinstance(factors, str | None) else list(factors),  # an array is neither true nor false
        "stratify": target,
        "bins": reading.get("bins"),
        "sets": reading.get("sets"),
        "missing": reading.get("missing"),
    }
    given = {name: value for name, value in named.items() if value}
    if target is not None and not hasattr(splitter, "stratify"):
        raise SettingError(
            f"target={target!r} with by={type(splitter).__name__}",
            why="that splitter does not keep the shares of classes",
            instead="leave target out, or hold out by HoldOutCombinations, CombinationKFold or Contract",
        )
    bound = replace(splitter, **given)
    for name, value in given.items():
        own, default = getattr(splitter, name), next(one.default for one in fields(splitter) if one.name == name)
        if own not in (default, getattr(bound, name)):
            raise SettingError(
                f"the splitter has {name}={own!r}, and recombine.split was given {value!r}",
                why="there is one answer to what is held out",
                instead="say it in one place",
            )
    if bound.table is not None or not all(isinstance(name, str) for name in bound.factors):
        raise SettingError(
            f"the splitter {type(bound).__name__} is bound to a table, or names factors by position",
            why="the factors are read from the table that is written",
            instead="name columns of that table, and leave `table` out",
        )
    return bound


@dataclass(frozen=True, kw_only=True)
class _WritingPlan:
    """What is to be done with the rows."""

    splitter: Splitter
    path: Path
    note: Path
    file: FileName
    column: str
    rung_column: str | None
    copy_options: str
    seen_share: float
    seen_share_given: bool
    id: str | None
    seed: int
    table: str | None
    command: str | None
    progress: Progress | None


def _write(source: Any, new: Path, query: TableQuery, plan: _WritingPlan, *, sniff_all: bool) -> Split:
    """Count, decide, write the table and its manifest, from where they will be moved to their places together."""
    path, staging = plan.path, new / plan.path.name
    with explained(path), open_locally(source, query, plan.table, staging, sniff_all=sniff_all) as open_table:
        try:
            limit_memory(open_table.backend.con)
            new_columns = [plan.column, *([] if plan.rung_column is None else [plan.rung_column])]
            rows = rows_to_write(open_table, query, staging, new_columns)
            drawn = draw_seen_rows(rows, plan.id, share=plan.seen_share, seed=plan.seed)
            try:
                counted = count_combinations(
                    open_table, rows, drawn, query, of_step(plan.progress, "counting combinations")
                )
            except BeyondMemory as error:
                made = _write_by_hash(open_table, rows, query, plan, staging, error)
            else:
                made = _write_counted(open_table, rows, drawn, counted, query, plan, staging)
        except (duckdb.OutOfMemoryException, duckdb.IOException) as error:
            raise OutputError(
                f"cannot write '{path}'",
                why=str(error).splitlines()[0],
                instead="name a place with more room; split wide rows (images, texts) by their names alone",
            ) from error
        except duckdb.ConversionException as error:
            if open_table.whole_file_sniffed:
                raise unreadable(open_table.name, error) from error
            raise
        except duckdb.Error as error:
            raise unreadable(open_table.name, error) from error
    with explained(path):
        manifest.write(made, new / plan.note.name)
    return made


def _write_counted(
    open_table: OpenTable,
    rows: OutgoingRows,
    drawn: Any,
    counted: CountedCombinations,
    query: TableQuery,
    plan: _WritingPlan,
    staging: Path,
) -> Split:
    """Every row with the side that its combination was given in memory."""
    decided = decide(plan.splitter, counted, plan.seen_share)
    written = _copy(open_table, rows, drawn, join_table(counted, decided), counted.keys, staging, plan)
    if written != counted.support.rows:
        raise TableError(
            f"'{open_table.name}' had {counted.support.rows:,} rows when it was counted, and {written:,} when written",
            why="it is changed while it is read, or is a view that answers anew each time",
            instead="copy it first, and split the copy",
        )
    source = _provenance(open_table, query, plan, seen_share=plan.seen_share)
    return summarize_split(counted, decided, plan.splitter, plan.file, plan.column, source)


def _write_by_hash(
    open_table: OpenTable,
    rows: OutgoingRows,
    query: TableQuery,
    plan: _WritingPlan,
    staging: Path,
    error: BeyondMemory,
) -> Split:
    """Every row with the side that a hash tells, where the combinations do not fit in memory."""
    share = plan.seen_share if plan.seen_share_given else 0.0
    test_size, seed = hashed_share(plan.splitter, query, share, staging, error)
    asked = HashedHoldout(test_size, seed, plan.column, staging, plan.copy_options, plan.progress)
    source = _provenance(open_table, query, plan, seen_share=0.0)
    return split_by_hash(open_table, rows, query, asked, source, error.what)


def _provenance(open_table: OpenTable, query: TableQuery, plan: _WritingPlan, *, seen_share: float) -> Provenance:
    seed = getattr(plan.splitter, "random_state", plan.seed)
    settings = query.settings() | {"seed": seed, "seen_share": seen_share}
    return Provenance(source=open_table.name, settings=settings, command=plan.command)


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


def _check_seen_share(seen_share: float, *, folds: bool) -> None:
    check_number(
        "seen_share",
        seen_share,
        least=0,
        below=1,
        why="it is a share of the training rows, and some must stay in training",
        instead="write a number from 0 to below 1, such as seen_share=0.1 (--seen-share 0.1)",
    )
    if seen_share and folds:
        raise SettingError(
            "seen_share with folds",
            why="every row is in training in all folds but one",
            instead="leave seen_share out, or hold out combinations once",
        )


def _copy(
    open_table: OpenTable,
    rows: OutgoingRows,
    drawn: Any,
    assignment: pa.Table,
    keys: Sequence[FactorKey],
    staging: Path,
    plan: _WritingPlan,
) -> int:
    """One streaming join: every row with the side of its combination; answers with how many were written."""
    connection = open_table.backend.con
    added = {f"{KEY}{name}": asked for name, asked in asked_of(keys).items()}
    names = list(added)
    connection.register("recombine_assignment", assignment)
    keyed = rows.table.mutate(**added, recombine_drawn=ibis.literal(False) if drawn is None else drawn)
    unwritten = ", ".join([*names, "recombine_drawn", *rows.understood.values()])
    same = " AND ".join(f"source.{name} IS NOT DISTINCT FROM assigned.{name}" for name in names)
    seen = f"CASE WHEN assigned.may_be_seen AND source.recombine_drawn THEN '{SEEN}' ELSE assigned.side END"
    place = str(staging).replace("'", "''")
    written = f"{seen} AS {_quoted(plan.column)}"
    if plan.rung_column is not None:
        written += f", assigned.rung AS {_quoted(plan.rung_column)}"
    joined = (
        f"FROM ({open_table.backend.compile(keyed)}) AS source "  # noqa: S608
        f"LEFT JOIN (SELECT DISTINCT * FROM recombine_assignment) AS assigned ON {same}"
    )
    # the rows keep their order: the table is the side that streams past, and batches are written as they came
    connection.execute("SET preserve_insertion_order = true")
    connection.execute("SET disabled_optimizers = 'join_order,build_side_probe_side'")
    if plan.id is not None and destinations.ending(staging) == id_lists.ENDING:
        listed = connection.execute(f"SELECT source.{_quoted(plan.id)}, {seen} {joined}")
        return id_lists.write_id_lists(listed.fetchall(), staging, plan.id)
    query = f"COPY (SELECT source.* EXCLUDE ({unwritten}), {written} {joined}) TO '{place}' ({plan.copy_options})"
    return run_statement(connection, query, of_step(plan.progress, "writing rows"))


def _quoted(column: str) -> str:
    return '"' + column.replace('"', '""') + '"'
