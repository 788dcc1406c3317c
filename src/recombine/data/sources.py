"""Any table as an Ibis expression, and the engine that will count it.

Files are read by DuckDB, where they lie and out of core; tables in a database stay there; frames in memory are lent to
DuckDB without a copy.

No column is renamed silently. DuckDB does not tell upper from lower case in names, and calls the second `a` (or `A`)
`a_1`: nobody would know which. Where a name looks like that, the file itself is asked.
"""

import glob
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import duckdb
import ibis
import pyarrow as pa
import pyarrow.compute as pc

from recombine.base.errors import ColumnError, SettingError, SourceError, TableError, nearest
from recombine.base.redaction import guarded, redacted
from recombine.data.engine import OpenTable, interruptible, own_duckdb, unreadable
from recombine.data.engine_errors import first_line
from recombine.data.lake_tables import as_dataset, lake_of
from recombine.data.locations import (
    DUCKDB_FILES,
    check_plain_file,
    existing_files,
    from_home,
    is_database,
    is_known_file,
    reader_of,
    refuse_exported,
    scheme_of,
    suggest_file,
)
from recombine.data.readers import Reader, added_reader, dataset_of
from recombine.data.support import Support

_DUCKDB_TABLES = "SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()"
_DEPRECATED = r"fetch_\w+\(\) is deprecated"
_EXTRAS = {"postgres": "postgres", "postgresql": "postgres", "pyspark": "spark", "spark": "spark"}
_RENAMED = re.compile(r"(?P<name>.*)_\d+", re.DOTALL)
_CSV_HEADING = "SELECT * FROM read_csv(?, header = false, all_varchar = true) LIMIT 1"
_JSON_KEYS = "SELECT DISTINCT unnest(json_keys(json)) FROM read_json_objects(?)"
_JSON_COLUMNS = "DESCRIBE SELECT * FROM read_json_auto(?, sample_size = -1, maximum_sample_files = -1)"
SPLIT = "split"
"""The column in which a dictionary of Hugging Face datasets tells a row's split."""
_PARQUET_HEADING = "SELECT file_name, name, num_children FROM parquet_schema(?)"


@contextmanager
def opened(
    source: Any, *, table: str | None = None, columns: Sequence[str] | None = None, sniff_all: bool = False
) -> Iterator[OpenTable]:
    """Open a source for the time of one read; connections that we made are closed and leave no files.

    Its name is without passwords, and so is whatever its engine complains of meanwhile.
    """
    _silence_ibis_deprecation()
    with guarded(*([str(source)] if isinstance(source, str | Path) else [])):
        yield from _opened(source, table, columns, sniff_all)


def _silence_ibis_deprecation() -> None:
    """Where warnings are errors (`-W error`), Ibis must still be able to ask DuckDB in a way that DuckDB gives up.

    Only those words, and only to Ibis. The rule is put up at every opening, since pytest takes it down after each test,
    and is left standing, since taking it down would take away what other threads have put up meanwhile.
    """
    warnings.filterwarnings("ignore", _DEPRECATED, DeprecationWarning, module=r"ibis\.")


def _opened(source: Any, table: str | None, columns: Sequence[str] | None, sniff_all: bool) -> Iterator[OpenTable]:
    if isinstance(source, str | Path) and not scheme_of(str(source)):
        refuse_exported(str(source))
    if table is not None and not (isinstance(source, str | Path) and is_database(str(source))):
        raise SettingError(
            f"table={table!r}",
            why="the source is a table already, not a database that holds tables",
            instead="leave it out, or give a database: a URI such as 'postgresql://…', or a .duckdb file",
        )
    if isinstance(source, Support):  # a row for each combination: what was counted of them is not counted again
        yield from _from_memory(source.table, columns)
    elif _is_ibis(source):
        yield from _from_ibis(source)
    elif isinstance(source, str | Path):
        yield from _from_text(str(source), table, columns, sniff_all)
    else:
        yield from _from_memory(source, columns)


def _is_ibis(source: Any) -> bool:
    return type(source).__module__.startswith("ibis.")


def _from_ibis(table: Any) -> Iterator[OpenTable]:
    if not hasattr(table, "group_by"):
        raise SourceError(
            f"cannot read {type(table).__name__} as a table",
            why="it is an Ibis column or scalar, not a table",
            instead="give the table that it belongs to",
        )
    backends, _ = table._find_backends()  # Ibis offers no public question "does this table live anywhere?"
    if backends:
        yield OpenTable(table, backends[0], _ibis_name(table))
        return
    with own_duckdb() as backend:
        arrow = backend.to_pyarrow(table)
    yield from _from_memory(arrow, None)


def _ibis_name(table: Any) -> str:
    try:
        return str(table.get_name())
    except (AttributeError, ibis.common.exceptions.IbisError):  # a filtered or joined table has no name
        return "an Ibis table"


def _from_memory(frame: Any, columns: Sequence[str] | None) -> Iterator[OpenTable]:
    rows = as_dataset(frame, columns)
    rows = _arrow(frame, columns) if rows is None else rows
    _refuse_twins(rows.schema.names, where="this table")
    yield from _registered(rows, _memory_name(frame))


def _from_reader(path: Path, reader: Reader, name: str, columns: Sequence[str] | None) -> Iterator[OpenTable]:
    rows = dataset_of(path, reader, columns)
    _refuse_twins(rows.schema.names, where=f"'{name}'", asked=columns)
    yield from _registered(rows, name)


def _registered(rows: Any, name: str) -> Iterator[OpenTable]:
    """An Arrow table or dataset, lent to a DuckDB of our own."""
    with own_duckdb() as backend:
        try:
            backend.con.register("recombine_source", rows)
            table = backend.table("recombine_source")
        except duckdb.Error as error:
            raise unreadable(name, error) from error
        yield OpenTable(table, backend, name)


def _memory_name(frame: Any) -> str:
    library = _library(frame)
    return "a table in memory" if library == "builtins" else f"a {library} table in memory"


def _library(frame: Any) -> str:
    return type(frame).__module__.partition(".")[0]


def as_arrow(frame: Any, *, columns: Sequence[str] | None = None) -> pa.Table:
    """A table in memory as Arrow with its rows in their order, for callers who need rows rather than counts.

    >>> as_arrow({"a": [1, 2], "b": ["x", "y"]}, columns=["b"]).column_names
    ['b']
    """
    return _arrow(frame, columns)


def _arrow(frame: Any, columns: Sequence[str] | None) -> pa.Table:
    """A frame of any library as Arrow, through the interface that they share."""
    try:
        return _known_types(_converted(frame, columns))
    except (pa.ArrowException, TypeError, ValueError, KeyError) as error:
        raise ColumnError(
            f"cannot read this {type(frame).__name__} as a table",
            why=first_line(error),
            instead="give columns of one length, each of one type, for example with astype(str)",
        ) from error


_KNOWN = {pa.float16(): pa.float32(), pa.string_view(): pa.large_string(), pa.null(): pa.string()}
"""What DuckDB does not know, or (text as Polars hands it over) cannot filter before 2.0, and what it gets instead.
A column without any value is text, as it is in a CSV."""


def _known_types(table: pa.Table) -> pa.Table:
    for place, field in enumerate(table.schema):
        if field.type in _KNOWN:
            table = table.set_column(place, field.name, table.column(place).cast(_KNOWN[field.type]))
    return table


def _converted(frame: Any, columns: Sequence[str] | None) -> pa.Table:
    """Only the columns that are needed: one that Arrow cannot hold does no harm where nobody asks for it."""
    if _library(frame) == "datasets":
        return _arrow_of_hugging_face(frame, columns)
    if _library(frame) == "pandas" and hasattr(frame, "columns"):
        return _arrow_of_pandas(frame, columns)
    if isinstance(frame, dict):
        return pa.table({name: frame[name] for name in _needed(frame, columns)})
    if hasattr(frame, "collect_schema") and hasattr(frame, "collect"):  # a lazy Polars frame
        return pa.table(frame.select(_needed(frame.collect_schema().names(), columns)).collect())
    if hasattr(frame, "__arrow_c_stream__"):
        table = pa.table(frame)
        return table.select(_needed(table.column_names, columns))
    raise SourceError(
        f"cannot read {type(frame).__name__} as a table",
        why="it is not a path, URI, frame, Arrow table, Hugging Face dataset, Ibis table or dict of columns",
        instead="give one of those",
    )


def _needed(names: Iterable[str], columns: Sequence[str] | None) -> list[str]:
    """The columns to keep: all of them where one is not there, so that the nearest name can be suggested."""
    there = list(names)
    return there if columns is None or not set(columns) <= set(there) else list(dict.fromkeys(columns))


def _arrow_of_hugging_face(dataset: Any, columns: Sequence[str] | None) -> pa.Table:
    """What a dataset's own row selection leaves of it."""
    if isinstance(dataset, dict):
        return _arrow_of_splits(dataset, columns)
    if not hasattr(dataset, "__len__"):
        raise SourceError(
            f"cannot count a {type(dataset).__name__}",
            why="it is a stream, of which the rows can be seen only one after the other",
            instead="load it with streaming=False, or give the path of its files, such as 'hf://datasets/…/*.parquet'",
        )
    return pa.table(dataset.select_columns(_needed(dataset.column_names, columns)).with_format("arrow")[:])


def _arrow_of_splits(datasets: dict[str, Any], columns: Sequence[str] | None) -> pa.Table:
    """All splits as one table with a column `split`, for those who ask for it; others would count them together."""
    kind, keys = type(datasets).__name__, ", ".join(map(repr, datasets))
    if not datasets or (columns is not None and SPLIT not in columns):
        raise SourceError(
            f"this is a {kind}, not one table",
            why=f"it holds the splits {keys}, and counting them together would hide which is which",
            instead=f"give one of them: dataset[{next(iter(datasets), 'train')!r}]; recombine.lint takes all of them",
        )
    if any(SPLIT in one.column_names for one in datasets.values()):
        raise ColumnError(
            f"the column {SPLIT!r} stands in a {kind} of the splits {keys}",
            why="the name of the split goes into a column of that name",
            instead=f"rename it first: dataset.rename_column({SPLIT!r}, 'old_split')",
        )
    asked = None if columns is None else [name for name in columns if name != SPLIT]
    tables = []
    for name, one in datasets.items():
        table = _arrow_of_hugging_face(one, asked)
        tables.append(table.append_column(SPLIT, pa.array([str(name)] * len(table), pa.string())))
    return pa.concat_tables(tables, promote_options="permissive")


def _arrow_of_pandas(frame: Any, columns: Sequence[str] | None) -> pa.Table:
    twice = [name for name in frame.columns[frame.columns.duplicated()] if columns is None or name in columns]
    if twice:
        raise ColumnError(
            f"the column {str(twice[0])!r} stands twice in this DataFrame",
            why="its name does not tell which of them is meant",
            instead="rename one, or keep the first of each: df.loc[:, ~df.columns.duplicated()]",
        )
    table = pa.Table.from_pandas(frame[_needed(frame.columns, columns)], preserve_index=False)
    for place, field in enumerate(table.schema):
        if field.type == pa.float64() and _whole_with_gaps(table[field.name]):
            table = table.set_column(place, field.name, table[field.name].cast(pa.int64()))
    return table


def _whole_with_gaps(column: pa.ChunkedArray) -> bool:
    """Whether these were whole numbers before pandas, which turns them into floats where one is missing."""
    if not 0 < column.null_count < len(column):
        return False
    small = pc.all(pc.less(pc.abs(column), 2.0**53)).as_py()
    return bool(small and pc.all(pc.equal(pc.floor(column), column)).as_py())


def _from_text(text: str, table: str | None, columns: Sequence[str] | None, sniff_all: bool) -> Iterator[OpenTable]:
    _check_name(text)
    scheme = scheme_of(text)
    if is_database(text):
        yield from _from_duckdb_file(text, table) if scheme in ("", "duckdb") else _from_database(text, table)
    elif scheme == "file":
        yield from _from_files(unquote(text.removeprefix("file://")), columns, remote=False, sniff_all=sniff_all)
    else:
        yield from _from_files(text, columns, remote=bool(scheme), sniff_all=sniff_all)


def _check_name(text: str) -> None:
    """DuckDB fails without a word on a name that is not in UTF-8."""
    shown = text.encode("utf-8", "backslashreplace").decode("utf-8")
    if shown != text:
        raise SourceError(
            f"cannot read '{shown}'",
            why="the name holds bytes that are no UTF-8, and the engine knows files by names in UTF-8",
            instead="give the file another name",
        )


def _from_files(pattern: str, columns: Sequence[str] | None, *, remote: bool, sniff_all: bool) -> Iterator[OpenTable]:
    folder = None if remote else from_home(pattern)
    if folder is not None:
        check_plain_file(folder, pattern)
        own = lake_of(folder)
        asked = own or (None if is_known_file(folder) else added_reader(folder))
        if asked is not None:
            yield from _from_reader(folder, asked, pattern, columns)
            return
    path = pattern if remote else existing_files(pattern)
    reader = reader_of(path)
    # the first 20,480 lines of a CSV usually tell the types; a later surprise makes `read` look again
    options = {"sample_size": -1} if reader == "read_csv" and sniff_all else {}
    with own_duckdb() as backend:
        try:
            if reader == "read_arrow":
                table = _read_arrow(backend, path, columns, remote=remote)
            elif reader == "read_json":
                table = _read_json(backend, path)
            else:
                table = getattr(backend, reader)(path, **options)
            if reader == "read_csv":
                table = _separated(table, backend, path, options)
        except (duckdb.Error, ibis.common.exceptions.IbisError, pa.ArrowException) as error:
            raise unreadable(pattern, error) from error
        if not table.columns:
            raise TableError(
                f"'{pattern}' is empty",
                why="it holds no columns",
                instead="give a file with a header and rows",
            )
        _refuse_renamed(table, backend, path, reader, columns)
        name = redacted(pattern) if remote else pattern
        yield OpenTable(table, backend, name, whole_file_sniffed=reader != "read_csv" or sniff_all)


def _read_arrow(backend: Any, pattern: str, asked: Sequence[str] | None, *, remote: bool) -> Any:
    """Arrow files (Feather is another name for them), streamed to DuckDB batch by batch."""
    if remote:
        raise SourceError(
            f"cannot read '{redacted(pattern)}'",
            why="DuckDB cannot read Arrow files from afar",
            instead="copy it here first, or write it as .parquet",
        )
    from pyarrow import dataset  # noqa: PLC0415 - a tenth of a second that other tables need not wait for

    files = sorted(glob.glob(pattern, recursive=True))  # noqa: PTH207 - an absolute pattern
    found = dataset.dataset(files, format="ipc")
    _refuse_twins(found.schema.names, where=f"'{pattern}'", asked=asked)
    backend.con.register("recombine_source", found)
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


def _separated(table: Any, backend: Any, path: str, options: dict[str, Any]) -> Any:
    """A CSV that was read as one column though its heading holds another separator: read it with that one."""
    heading = table.columns[0] if len(table.columns) == 1 else ""
    marks = [mark for mark in (";", "\t", "|", ",") if mark in heading]
    return backend.read_csv(path, delim=marks[0], **options) if marks else table


def _from_duckdb_file(text: str, table: str | None) -> Iterator[OpenTable]:
    path = from_home(text.removeprefix("duckdb://"))
    check_plain_file(path, text)
    if not path.is_file():
        raise SourceError(f"no file '{text}'", why="there is no such file", instead=suggest_file(path, DUCKDB_FILES))
    with own_duckdb(path) as backend:
        yield OpenTable(_named_table(backend, text, table), backend, f"{redacted(text)} {table}")


def _from_database(uri: str, table: str | None) -> Iterator[OpenTable]:
    backend = _connect(uri)
    try:
        yield OpenTable(_named_table(backend, uri, table), backend, f"{redacted(uri)} {table}")
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


def _named_table(backend: Any, uri: str, table: str | None) -> Any:
    names = _list_tables(backend, uri)
    if table is None:
        raise SettingError(
            f"'{redacted(uri)}' is a database",
            why="no table was named",
            instead=f"add table=… (on the command line --table …): {nearest('', names)}"
            if names
            else "make a table first",
        )
    if table not in names and "." not in table:
        raise SourceError(
            f"no table {table!r} in '{redacted(uri)}'",
            why="there is no such table",
            instead=nearest(table, names),
        )
    schema, _, name = ("", "", table) if table in names else table.rpartition(".")
    try:
        return backend.table(name, database=schema or None)
    except Exception as error:
        raise SourceError(
            f"no table {table!r} in '{redacted(uri)}'",
            why=first_line(error),
            instead=nearest(name, names),
        ) from error


def _list_tables(backend: Any, uri: str) -> list[str]:
    try:
        if backend.name == "duckdb":  # Ibis 12 calls an API that DuckDB 2 lacks
            return sorted(name for (name,) in backend.con.execute(_DUCKDB_TABLES).fetchall())
        return sorted(backend.list_tables())
    except Exception as error:
        raise unreadable(redacted(uri), error, engine=backend.name) from error


def _refuse_twins(names: Sequence[str], *, where: str, asked: Sequence[str] | None = None) -> None:
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


def _refuse_renamed(table: Any, backend: Any, path: str, reader: str, asked: Sequence[str] | None) -> None:
    """The same for a file that an engine has opened, after it may have renamed a twin."""
    there = {name.lower() for name in table.columns}
    renamed = {name: found["name"] for name in table.columns if (found := _RENAMED.fullmatch(name.lower()))}
    if not any(name in there for name in renamed.values()):
        return
    written = _written_names(backend, path, reader)
    if reader == "read_json":  # lines may differ in their order and in what they hold: a new name is one that none has
        new = [old for name, old in renamed.items() if asked is not None and name in asked and name not in written]
        kept_first = sorted(written, key=lambda name: name not in table.columns)
        _refuse_twins(kept_first, where=f"'{path}'", asked=asked if asked is None else [*asked, *new])
        return
    if len(written) == len(table.columns):
        new = [old for old, name in zip(written, table.columns, strict=True) if asked is not None and name in asked]
        _refuse_twins(written, where=f"'{path}'", asked=asked if asked is None else [*asked, *new])


def _written_names(backend: Any, path: str, reader: str) -> list[str]:
    """The names in the file, in their order; none where it does not tell."""
    connection = backend.con
    connection.execute("SET preserve_insertion_order = true")  # the first line is the heading only in this order
    try:
        if reader == "read_parquet":
            return _of_parquet(connection.execute(_PARQUET_HEADING, [path]).fetchall())
        if reader == "read_json":
            return [name for (name,) in connection.execute(_JSON_KEYS, [path]).fetchall()]
        found = connection.execute(_CSV_HEADING, [path]).fetchone() or ()
    except duckdb.Error:
        return []
    finally:
        connection.execute("SET preserve_insertion_order = false")
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
