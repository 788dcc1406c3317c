"""Any table as an Ibis expression, and the engine that will count it.

Files are read by DuckDB, where they lie and out of core; tables in a database stay there; frames in memory
are lent to DuckDB without a copy.
"""

import glob
import os
import shlex
import stat
import tempfile
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import duckdb
import ibis
import pyarrow as pa
import pyarrow.compute as pc

from recombine.errors import (
    ColumnError,
    RecombineError,
    SettingError,
    SourceError,
    TableError,
    nearest,
)
from recombine.files import is_staging, shortened
from recombine.redaction import guarded, redacted, redacted_words
from recombine.tables.headings import refuse_renamed, refuse_twins

_COMPRESSED = {".gz", ".zst", ".bz2", ".xz"}
_READERS = {
    ".parquet": "read_parquet",
    ".pq": "read_parquet",
    ".csv": "read_csv",
    ".tsv": "read_csv",
    ".txt": "read_csv",
    ".json": "read_json",
    ".jsonl": "read_json",
    ".ndjson": "read_json",
}
_OBJECT_STORES = {"s3", "s3a", "s3n", "gs", "gcs", "r2", "az", "azure", "abfss", "http", "https", "hf"}
_IN_FOLDERS = (".parquet", ".csv", ".csv.gz", ".jsonl", ".jsonl.gz")
_DUCKDB_FILES = {".duckdb", ".ddb"}
_DUCKDB_TABLES = "SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()"
_GIVEN_UP = r"fetch_\w+\(\) is deprecated"
_UNREAD_LINES = "Error when sniffing file"
_EXTRAS = {"postgres": "postgres", "postgresql": "postgres", "pyspark": "spark", "spark": "spark"}


@dataclass(frozen=True)
class Source:
    """A table, the engine that counts it, and what to call it."""

    table: Any
    backend: Any
    name: str
    whole_file_sniffed: bool = True


@contextmanager
def opened(
    source: Any, *, table: str | None = None, columns: Sequence[str] | None = None, sniff_all: bool = False
) -> Iterator[Source]:
    """Open a source for the time of one read; connections that we made are closed and leave no files.

    Its name is without passwords, and so is whatever its engine complains of meanwhile.
    """
    _let_ibis_be()
    with guarded(*([str(source)] if isinstance(source, str | Path) else [])):
        yield from _opened(source, table, columns, sniff_all)


def _let_ibis_be() -> None:
    """Where warnings are errors (`-W error`), Ibis must still be able to ask DuckDB in a way that DuckDB gives up.

    Only those words, and only to Ibis. The rule is put up at every opening, since pytest takes it down after each test,
    and is left standing, since taking it down would take away what other threads have put up meanwhile.
    """
    warnings.filterwarnings("ignore", _GIVEN_UP, DeprecationWarning, module=r"ibis\.")


def _opened(source: Any, table: str | None, columns: Sequence[str] | None, sniff_all: bool) -> Iterator[Source]:
    if table is not None and not (isinstance(source, str | Path) and _is_database(str(source))):
        raise SettingError(
            f"table={table!r}",
            why="the source is a table already, not a database that holds tables",
            instead="leave it out, or give a database: a URI such as 'postgresql://…', or a .duckdb file",
        )
    if _is_ibis(source):
        yield from _from_ibis(source)
    elif isinstance(source, str | Path):
        yield from _from_text(str(source), table, columns, sniff_all)
    else:
        yield from _from_memory(source, columns)


def _is_ibis(source: Any) -> bool:
    return type(source).__module__.startswith("ibis.")


def _from_ibis(table: Any) -> Iterator[Source]:
    if not hasattr(table, "group_by"):
        raise SourceError(
            f"cannot read {type(table).__name__} as a table",
            why="it is an Ibis column or scalar, not a table",
            instead="give the table that it belongs to",
        )
    backends, _ = table._find_backends()  # Ibis offers no public question "does this table live anywhere?"
    if backends:
        yield Source(table, backends[0], _ibis_name(table))
        return
    with _duckdb() as backend:
        arrow = backend.to_pyarrow(table)
    yield from _from_memory(arrow, None)


def _ibis_name(table: Any) -> str:
    try:
        return str(table.get_name())
    except (AttributeError, ibis.common.exceptions.IbisError):  # a filtered or joined table has no name
        return "an Ibis table"


def _from_memory(frame: Any, columns: Sequence[str] | None) -> Iterator[Source]:
    arrow = _arrow(frame, columns)
    refuse_twins(arrow.column_names, where="this table")
    with _duckdb() as backend:
        try:
            backend.con.register("recombine_source", arrow)
            table = backend.table("recombine_source")
        except duckdb.Error as error:
            raise unreadable(_memory_name(frame), error) from error
        yield Source(table, backend, _memory_name(frame))


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
        return _doubled(_converted(frame, columns))
    except (pa.ArrowException, TypeError, ValueError, KeyError) as error:
        raise ColumnError(
            f"cannot read this {type(frame).__name__} as a table",
            why=_first_line(error),
            instead="give columns of one length, each of one type, for example with astype(str)",
        ) from error


def _doubled(table: pa.Table) -> pa.Table:
    """Half-precision numbers in single precision, as DuckDB knows no others."""
    for place, field in enumerate(table.schema):
        if field.type == pa.float16():
            table = table.set_column(place, field.name, table.column(place).cast(pa.float32()))
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
        raise SourceError(
            f"this is a {type(dataset).__name__}, not one table",
            why=f"it holds the splits {', '.join(map(repr, dataset))}",
            instead=f"give one of them: dataset[{next(iter(dataset), 'train')!r}]",
        )
    if not hasattr(dataset, "__len__"):
        raise SourceError(
            f"cannot count a {type(dataset).__name__}",
            why="it is a stream, of which the rows can be seen only one after the other",
            instead="load it with streaming=False, or give the path of its files, such as 'hf://datasets/…/*.parquet'",
        )
    return pa.table(dataset.select_columns(_needed(dataset.column_names, columns)).with_format("arrow")[:])


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


def _from_text(text: str, table: str | None, columns: Sequence[str] | None, sniff_all: bool) -> Iterator[Source]:
    scheme = _scheme(text)
    if _is_database(text):
        yield from _from_duckdb_file(text, table) if scheme in ("", "duckdb") else _from_database(text, table)
    elif scheme == "file":
        yield from _from_files(unquote(text.removeprefix("file://")), columns, remote=False, sniff_all=sniff_all)
    else:
        yield from _from_files(text, columns, remote=bool(scheme), sniff_all=sniff_all)


def _scheme(text: str) -> str:
    return text.partition("://")[0] if "://" in text else ""


def _is_database(text: str) -> bool:
    scheme = _scheme(text)
    return scheme not in _OBJECT_STORES | {"file"} if scheme else Path(text).suffix in _DUCKDB_FILES


def _from_files(pattern: str, columns: Sequence[str] | None, *, remote: bool, sniff_all: bool) -> Iterator[Source]:
    path = pattern if remote else _existing(pattern)
    reader = _reader(path)
    # the first 20,480 lines of a CSV usually tell the types; a later surprise makes `read` look again
    options = {"sample_size": -1} if reader == "read_csv" and sniff_all else {}
    with _duckdb() as backend:
        try:
            table = getattr(backend, reader)(path, **options)
            if reader == "read_csv":
                table = _separated(table, backend, path, options)
        except (duckdb.Error, ibis.common.exceptions.IbisError) as error:
            raise unreadable(pattern, error) from error
        if not table.columns:
            raise TableError(
                f"'{pattern}' is empty",
                why="it holds no columns",
                instead="give a file with a header and rows",
            )
        refuse_renamed(table, backend, path, reader, columns)
        name = redacted(pattern) if remote else pattern
        yield Source(table, backend, name, whole_file_sniffed=reader != "read_csv" or sniff_all)


def _separated(table: Any, backend: Any, path: str, options: dict[str, Any]) -> Any:
    """A CSV that was read as one column though its heading holds another separator: read it with that one."""
    heading = table.columns[0] if len(table.columns) == 1 else ""
    marks = [mark for mark in (";", "\t", "|", ",") if mark in heading]
    return backend.read_csv(path, delim=marks[0], **options) if marks else table


def _existing(pattern: str) -> str:
    """The files that a path, folder or glob names, as a pattern that DuckDB understands."""
    path = _from_home(pattern)
    _check_plain(path, pattern)
    if path.is_dir():
        return _of_folder(path, pattern)
    if path.is_file():
        if path.stat().st_size == 0:
            raise TableError(
                f"'{pattern}' is empty",
                why="the file has 0 bytes",
                instead="give a file with a header and rows",
            )
        return glob.escape(str(path)) if glob.has_magic(str(path)) else str(path)
    matched = glob.glob(str(path), recursive=True) if glob.has_magic(pattern) else []  # noqa: PTH207 - it is absolute
    for file in matched:
        _check_plain(Path(file), file)
    if matched:
        return _finished(str(path))
    raise SourceError(
        f"no file '{pattern}'",
        why="nothing matches the pattern" if glob.has_magic(pattern) else "there is no such file",
        instead=_suggest_file(path),
    )


def _from_home(given: str) -> Path:
    try:
        return Path(given).expanduser()
    except RuntimeError as error:  # ~somebody, who is not there
        raise SourceError(
            f"no file '{shortened(given)}'", why="nobody of that name has a home here", instead="write the whole path"
        ) from error


def _check_plain(path: Path, given: str) -> None:
    """A file or a folder, or nothing at all: a pipe or a device can be read only once, and opening it may wait."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return
    except (OSError, ValueError) as error:  # too long a name, no right to look, a NUL in it
        why = getattr(error, "strerror", None) or str(error)
        raise SourceError(f"cannot read '{shortened(given)}'", why=why, instead="check the path") from error
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise SourceError(
            f"'{given}' is {'a pipe' if stat.S_ISFIFO(mode) else 'a device or a socket'}, not a file",
            why="a table is read more than once, and what comes through it can be read only once",
            instead="write it into a file first (… > table.csv), and give that file",
        )


def _of_folder(path: Path, pattern: str) -> str:
    """The one kind of table that a folder holds, as a pattern that DuckDB understands."""
    within = _files_within(path)
    kinds = [suffix for suffix in _IN_FOLDERS if any(one.name.endswith(suffix) for one in within)]
    if len(kinds) > 1:
        raise SourceError(
            f"the folder '{pattern}' holds {' and '.join(kinds)} files",
            why="it is not clear which of them are the table",
            instead=f"name them, for example '{path}/*{kinds[0]}'",
        )
    if kinds:
        for one in within:
            if one.name.endswith(kinds[0]):
                _check_plain(one, str(one))
        return _finished(str(Path(glob.escape(str(path))) / "**" / f"*{kinds[0]}"))
    raise SourceError(
        f"no table in the folder '{pattern}'",
        why="it holds no .parquet, .csv or .jsonl file",
        instead="name a file, or a folder that holds such files",
    )


def _files_within(folder: Path) -> list[Path]:
    """Every file below a folder; one that vanishes while it is listed is none of the table."""
    return [Path(place, name) for place, _, names in os.walk(folder) for name in names]


def _finished(pattern: str) -> str:
    """The pattern itself, unless it reaches into what is being written: an engine would count those rows as well."""
    for found in glob.iglob(pattern, recursive=True, include_hidden=True):  # noqa: PTH207 - an absolute pattern
        path = Path(found)
        staging = next((folder for folder in path.parents if is_staging(folder.name)), None)
        if staging is not None:
            raise SourceError(
                f"'{staging}' would be read too",
                why="a table is being written there, or was when its command was killed",
                instead=f"wait for that command, or remove what it left: rm -r {shlex.quote(str(staging))}",
            )
    return pattern


def _suggest_file(path: Path, suffixes: Iterable[str] = _READERS) -> str:
    folder = path.parent
    if not folder.is_dir():
        return f"the folder '{folder}' does not exist either: check the path"
    tables = sorted(entry.name for entry in folder.iterdir() if _suffix(entry.name) in suffixes)
    return nearest(path.name, tables) if tables else f"no table lies in '{folder}'; `recombine demo` writes one to try"


def _suffix(name: str) -> str:
    path = Path(name)
    return (Path(path.stem).suffix if path.suffix.lower() in _COMPRESSED else path.suffix).lower()


def _reader(path: str) -> str:
    suffix = _suffix(path)
    if suffix not in _READERS:
        raise SourceError(
            f"cannot tell what kind of table '{path}' is",
            why=f"its name ends in '{suffix}'" if suffix else "its name has no ending",
            instead="use .parquet, .csv, .tsv or .jsonl (compressed or not), or a database URI with --table",
        )
    return _READERS[suffix]


def _from_duckdb_file(text: str, table: str | None) -> Iterator[Source]:
    path = _from_home(text.removeprefix("duckdb://"))
    _check_plain(path, text)
    if not path.is_file():
        raise SourceError(f"no file '{text}'", why="there is no such file", instead=_suggest_file(path, _DUCKDB_FILES))
    with _duckdb(path) as backend:
        yield Source(_named_table(backend, text, table), backend, f"{redacted(text)} {table}")


def _from_database(uri: str, table: str | None) -> Iterator[Source]:
    backend = _connect(uri)
    try:
        yield Source(_named_table(backend, uri, table), backend, f"{redacted(uri)} {table}")
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
            why=f"the parts for {scheme} are not installed ({_first_line(error)})",
            instead=f"pip install 'recombine[{extra}]'" if extra else f"pip install 'ibis-framework[{scheme}]'",
        ) from error
    except Exception as error:
        raise SourceError(
            f"cannot open '{redacted(uri)}'",
            why=_first_line(error),
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
            why=_first_line(error),
            instead=nearest(name, names),
        ) from error


def _list_tables(backend: Any, uri: str) -> list[str]:
    try:
        if backend.name == "duckdb":  # Ibis 12 asks with a word that DuckDB 2 has forgotten
            return sorted(name for (name,) in backend.con.execute(_DUCKDB_TABLES).fetchall())
        return sorted(backend.list_tables())
    except Exception as error:
        raise unreadable(redacted(uri), error, engine=backend.name) from error


@contextmanager
def _duckdb(file: Path | None = None) -> Iterator[Any]:
    """A DuckDB of our own, which spills to a folder that goes away with it rather than to the working one."""
    with tempfile.TemporaryDirectory(prefix="recombine-") as spill:
        try:
            backend = ibis.duckdb.connect(file or ":memory:", read_only=file is not None, temp_directory=spill)
        except duckdb.Error as error:
            raise unreadable(str(file), error) from error
        backend.con.execute("SET preserve_insertion_order = false")
        try:
            yield backend
        finally:
            backend.disconnect()


def unreadable(name: str, error: Exception, *, engine: str = "duckdb") -> RecombineError:
    """What an engine said when it could not read a source, as one of our errors."""
    return SourceError(f"cannot read '{name}'", why=_first_line(error), instead=_remedy(name, error, engine))


def _remedy(name: str, error: Exception, engine: str) -> str:
    scheme = _scheme(name)
    if "INT64" in str(error) and isinstance(error, duckdb.ConversionException):
        return "a whole number does not fit into 64 bits: turn that column into text, or leave such rows out (`where`)"
    if scheme and "extension" in str(error):
        return f"copy the file here, or let DuckDB fetch its {scheme} part from extensions.duckdb.org once"
    if scheme in _OBJECT_STORES:
        return "check the address, and that this machine is allowed to read it"
    if scheme or engine != "duckdb":
        return "check that the server is up, and that its user may read the table"
    return _remedy_of_file(name, str(error))


def _remedy_of_file(name: str, said: str) -> str:
    if "not utf-8" in said.lower():
        return f"turn it into UTF-8: iconv -f WINDOWS-1252 -t UTF-8 {shlex.quote(name)} > utf8.csv"
    if _UNREAD_LINES in said:  # it names UTF-8, too, but only as what was tried
        return (
            "give every line the same columns and the same ending; where endings are mixed: "
            f"tr -d '\\r' < {shlex.quote(name)} > plain.csv"
        )
    if _suffix(name) in (".parquet", ".pq"):
        return "check that the file is whole and is what its name says (a half-copied Parquet file looks like this)"
    return "check that the file is whole, that every line has the same columns, and that several files are alike"


def _first_line(error: Exception) -> str:
    several = len(error.args) > 1 and all(isinstance(part, str) for part in error.args)
    # before it is cut: half a password is no longer known for one
    said = redacted_words("\n".join(error.args) if several else str(error))
    lines = [line.strip() for line in said.splitlines() if line.strip()] or [type(error).__name__]
    if _UNREAD_LINES in lines[0]:
        return "its lines do not agree on a separator, quotes, line endings and a number of columns"
    if several or "CSV Error" in lines[0]:  # the first line alone says only where
        lines = [". ".join(line for line in lines[:3] if not line.startswith("Original Line"))]
    return lines[0][:300]
