"""Any table as an Ibis expression, and the engine that will count it.

Files are read by DuckDB, where they lie and out of core; tables in a database stay there; frames in memory are lent to
DuckDB without a copy. The way of a source:

    text, a path   ─► parse_address ─► DatabaseTable   the server's own engine, or DuckDB on its file
                                       TableFiles      DuckDB
                                       ReaderTable     the reader's package ─► Arrow ─► DuckDB
    a frame, dict  ─► as_arrow ─► DuckDB               a Support is the table of its combinations
    an Ibis table  ─► the engine that it lives in      one that lives nowhere is a frame

A `TextSource` is an address whose table gets further columns, made of a text in it (`text_columns`, `captions`).
"""

import glob
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import duckdb
import ibis
import pyarrow as pa

from recombine.base.errors import SettingError, SourceError, TableError, nearest
from recombine.base.redaction import guarded, redacted
from recombine.data.engine import OpenTable, in_any_order, interruptible, own_duckdb, unreadable
from recombine.data.engine_errors import first_line
from recombine.data.frames import as_arrow, library_of
from recombine.data.lake_tables import as_dataset
from recombine.data.locations import DatabaseTable, ReaderTable, TableFiles, check_no_table, parse_address
from recombine.data.readers import dataset_of
from recombine.data.support import Support
from recombine.data.text_sources import TextSource, with_text_columns
from recombine.data.twin_columns import refuse_renamed, refuse_twins

_DUCKDB_TABLES = "SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()"
_DEPRECATED = r"fetch_\w+\(\) is deprecated"
_EXTRAS = {"postgres": "postgres", "postgresql": "postgres", "pyspark": "spark", "spark": "spark"}
_HEAD = 1_000  # lines of a CSV that tell how yes and no are written
_JSON_COLUMNS = "DESCRIBE SELECT * FROM read_json_auto(?, sample_size = -1, maximum_sample_files = -1)"


@contextmanager
def opened(
    source: Any, *, table: str | None = None, columns: Sequence[str] | None = None, sniff_all: bool = False
) -> Iterator[OpenTable]:
    """Open a source for the time of one read; connections that we made are closed and leave no files.

    Its name is without passwords, and so is whatever its engine complains of meanwhile.
    """
    # Where warnings are errors (`-W error`), Ibis must still be able to ask DuckDB in a way that DuckDB gives up. Only
    # those words, and only to Ibis. The rule is put up at every opening, since pytest takes it down after each test,
    # and is left standing, since taking it down would take away what other threads have put up meanwhile.
    warnings.filterwarnings("ignore", _DEPRECATED, DeprecationWarning, module=r"ibis\.")
    if isinstance(source, str | Path):
        with guarded(str(source)):
            if isinstance(source, TextSource):
                yield from _open_text(source, table, sniff_all=sniff_all)
            else:
                yield from _open_address(str(source), table, columns, sniff_all=sniff_all)
        return
    check_no_table(table)
    with guarded():
        yield from _open_ibis(source) if library_of(source) == "ibis" else _open_frame(source, columns)


def _open_address(
    text: str, table: str | None, columns: Sequence[str] | None, *, sniff_all: bool
) -> Iterator[OpenTable]:
    location = parse_address(text, table=table)
    if isinstance(location, DatabaseTable):
        yield from _open_database(location)
    elif isinstance(location, TableFiles):
        yield from _open_files(location, columns, sniff_all=sniff_all)
    else:
        yield from _open_reader(location, columns)


def _open_text(source: TextSource, table: str | None, *, sniff_all: bool) -> Iterator[OpenTable]:
    with contextmanager(_open_address)(str(source), table, None, sniff_all=sniff_all) as found:
        try:
            patterned = with_text_columns(found, source)
        except duckdb.Error as error:
            raise unreadable(found.name, error) from error
        yield patterned


def _open_ibis(table: Any) -> Iterator[OpenTable]:
    if not hasattr(table, "group_by"):
        raise SourceError(
            f"cannot read {type(table).__name__} as a table",
            why="it is an Ibis column or scalar, not a table",
            instead="give the table that it belongs to",
        )
    backends, _ = table._find_backends()  # Ibis offers no public question "does this table live anywhere?"
    if backends:
        try:
            name = str(table.get_name())
        except (AttributeError, ibis.common.exceptions.IbisError):  # a filtered or joined table has no name
            name = "an Ibis table"
        yield OpenTable(table, backends[0], name)
        return
    with own_duckdb() as backend:
        arrow = backend.to_pyarrow(table)
    yield from _open_frame(arrow, None)


def _open_frame(frame: Any, columns: Sequence[str] | None) -> Iterator[OpenTable]:
    if isinstance(frame, Support):  # a row for each combination: what was counted of them is not counted again
        frame = frame.table
    rows = as_dataset(frame, columns)
    rows = as_arrow(frame, columns=columns) if rows is None else rows
    refuse_twins(rows.schema.names, where="this table")
    library = library_of(frame)
    yield from _lend(rows, "a table in memory" if library == "builtins" else f"a {library} table in memory")


def _open_reader(location: ReaderTable, columns: Sequence[str] | None) -> Iterator[OpenTable]:
    rows = dataset_of(location.path, location.reader, columns)
    refuse_twins(rows.schema.names, where=f"'{location.name}'", asked=columns)
    yield from _lend(rows, location.name)


def _lend(rows: Any, name: str) -> Iterator[OpenTable]:
    """An Arrow table or dataset, lent to a DuckDB of our own."""
    with own_duckdb() as backend:
        try:
            backend.con.register("recombine_source", rows)
            table = backend.table("recombine_source")
        except duckdb.Error as error:
            raise unreadable(name, error) from error
        in_any_order(backend)
        yield OpenTable(table, backend, name)


def _open_files(files: TableFiles, columns: Sequence[str] | None, *, sniff_all: bool) -> Iterator[OpenTable]:
    reader, path = files.reader, files.pattern
    # the first 20,480 lines of a CSV usually tell the types; a later surprise makes `read` look again
    options = {"sample_size": -1} if reader == "read_csv" and sniff_all else {}
    with own_duckdb() as backend:
        try:
            if reader == "read_arrow":
                table = _read_arrow(backend, files, columns)
            elif reader == "read_json":
                table = _read_json(backend, path)
            else:
                table = getattr(backend, reader)(path, **options)
            if reader == "read_csv":
                table, options = _separated(table, backend, path, options)
                table = _as_written(table, backend, path, options)
        except (duckdb.Error, ibis.common.exceptions.IbisError, pa.ArrowException) as error:
            raise unreadable(files.written, error) from error
        if not table.columns:
            raise TableError(
                f"'{files.written}' is empty",
                why="it holds no columns",
                instead="give a file with a header and rows",
            )
        refuse_renamed(table, backend, path, reader, columns)
        in_any_order(backend)
        yield OpenTable(table, backend, files.name, whole_file_sniffed=reader != "read_csv" or sniff_all)


def _read_arrow(backend: Any, files: TableFiles, asked: Sequence[str] | None) -> Any:
    """Arrow files (Feather is another name for them), streamed to DuckDB batch by batch."""
    if files.remote:
        raise SourceError(
            f"cannot read '{files.name}'",
            why="DuckDB cannot read Arrow files from afar",
            instead="copy it here first, or write it as .parquet",
        )
    from pyarrow import dataset  # noqa: PLC0415 - a tenth of a second that other tables need not wait for

    paths = sorted(glob.glob(files.pattern, recursive=True))  # noqa: PTH207 - an absolute pattern
    rows = dataset.dataset(paths, format="ipc")
    refuse_twins(rows.schema.names, where=f"'{files.pattern}'", asked=asked)
    backend.con.register("recombine_source", rows)
    return backend.table("recombine_source")


def _read_json(backend: Any, path: str) -> Any:
    """JSON with the columns and types of all its lines.

    By the first 20,480 lines DuckDB would not know of a field that comes later, and would round 0.5 to 0 without a word
    where whole numbers come first. They are looked for once: a view without columns looks again at every question.
    """

    def columns_of_all_lines() -> dict[str, str]:
        with own_duckdb() as another:
            found = another.con.execute(_JSON_COLUMNS, [path]).fetchall()
        # what is missing everywhere has no type, and is text here as in a CSV
        return {name: kind.replace('"NULL"', "VARCHAR") for name, kind, *_ in found}

    return backend.read_json(path, columns=interruptible(columns_of_all_lines))


def _separated(table: Any, backend: Any, path: str, options: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """A CSV that was read as one column though its heading holds another separator: read it with that one."""
    heading = table.columns[0] if len(table.columns) == 1 else ""
    marks = [mark for mark in (";", "\t", "|", ",") if mark in heading]
    if not marks:
        return table, options
    return backend.read_csv(path, delim=marks[0], **options), {**options, "delim": marks[0]}


def _as_written(table: Any, backend: Any, path: str, options: dict[str, Any]) -> Any:
    """A CSV in which yes and no stay words: DuckDB takes them, and y, n, t and f, for true and false.

    Nobody wrote that, and another table of answers would not match it.
    """
    names = [name for name in table.columns if table[name].type().is_boolean()]
    if not names:
        return table
    heading = {"header": table.columns != tuple(f"column{k}" for k in range(len(table.columns)))}
    text = backend.read_csv(path, all_varchar=True, **options, **heading)
    head = backend.to_pyarrow(text.select(*names).limit(_HEAD))
    words = {name: {str(word).lower() for word in head[name].unique().to_pylist() if word} for name in names}
    written = {name: "VARCHAR" for name in names if words[name] - {"true", "false"}}
    return backend.read_csv(path, types=written, **options, **heading) if written else table


def _open_database(database: DatabaseTable) -> Iterator[OpenTable]:
    if database.file is not None:
        with own_duckdb(database.file) as backend:
            table = _named_table(backend, database)
            in_any_order(backend)
            yield OpenTable(table, backend, database.name)
        return
    backend = _connect(database.address)
    try:
        yield OpenTable(_named_table(backend, database), backend, database.name)
    finally:
        backend.disconnect()


def _connect(uri: str) -> Any:
    scheme = uri.partition("://")[0]
    known = {entry.name for entry in entry_points(group="ibis.backends")} | {"postgresql"}
    if scheme not in known:
        raise SourceError(
            f"cannot open '{redacted(uri)}'",
            why=f"no engine answers to '{scheme}://'",
            instead=f"{nearest(scheme, sorted(known), most=30)}, or the path of a file",
        )
    try:
        return ibis.connect(uri)
    except ImportError as error:
        extra = _EXTRAS.get(scheme)
        raise SourceError(
            f"cannot open '{redacted(uri)}'",
            why=f"the parts for {scheme} are not installed ({first_line(error)})",
            instead=f"pip install 'recombine[{extra}]'" if extra else f"pip install 'ibis-framework[{scheme}]'",
        ) from error
    except Exception as error:
        raise SourceError(
            f"cannot open '{redacted(uri)}'",
            why=first_line(error),
            instead="check that the server is up and that host, port, user and database are right",
        ) from error


def _named_table(backend: Any, database: DatabaseTable) -> Any:
    address, table = redacted(database.address), database.table
    try:
        # Ibis 12 calls an API that DuckDB 2 lacks
        listed = (
            [name for (name,) in backend.con.execute(_DUCKDB_TABLES).fetchall()]
            if backend.name == "duckdb"
            else backend.list_tables()
        )
    except Exception as error:
        raise unreadable(address, error, engine=backend.name) from error
    names = sorted(listed)
    if table is None:
        raise SettingError(
            f"'{address}' is a database",
            why="no table was named",
            instead=f"add table=… (on the command line --table …): {nearest('', names)}"
            if names
            else "make a table first",
        )
    schema, _, name = ("", "", table) if table in names else table.rpartition(".")
    why = "there is no such table"
    cause: Exception | None = None
    if table in names or schema:
        try:
            return backend.table(name, database=schema or None)
        except Exception as error:  # noqa: BLE001 - each engine has errors of its own
            why, cause = first_line(error), error
    raise SourceError(f"no table {table!r} in '{address}'", why=why, instead=nearest(name, names)) from cause
