"""What an address names: a table of a database, a table that another package reads, or files that DuckDB reads.

An address is parsed once, by `parse_address`, and what comes out says all that opening it (`sources`) needs:

    postgresql://…, duckdb://…, shop.duckdb   ─►  DatabaseTable    the address, the table, the DuckDB file if it is one
    a folder with a log, a reader's own kind  ─►  ReaderTable      the path, and the `Reader` that knows it
    a path, a folder, a glob, file://…        ─►  TableFiles       the pattern that DuckDB is given, how it is read
    s3://…, https://…, hf://…                 ─►  TableFiles       the same, far away: nothing is looked at before

What is not there, is no table, or is one that must not be read as it lies (a part of a table with a log, a folder that
is being written) is refused here, so that an engine never sees it.

The endings of the tables that can be read: what `read` takes, what a folder is searched for, and what tells the name of
a table from the name of a column. (What `split` can write is in `verbs/split/destinations.py`.)
"""

import glob
import os
import shlex
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from recombine.base.errors import SettingError, SourceError, TableError, nearest
from recombine.base.files import is_staging, shortened
from recombine.base.redaction import redacted
from recombine.data.lake_tables import lake_of, refuse_parts, refuse_several
from recombine.data.readers import Reader, added_reader, own_reader

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
    ".arrow": "read_arrow",
    ".feather": "read_arrow",
}
TABLES = frozenset(_READERS) - {".txt", ".json"}
"""Endings that say: a table. A .txt or .json may be anything."""
_SHEET = (
    "an Excel sheet",
    "save it as CSV in Excel or LibreOffice (soffice --convert-to csv {path}); "
    "in Python: recombine.read(pandas.read_excel(…), …)",
)
_SQLITE = (
    "an SQLite database",
    "write the table out: sqlite3 -header -csv {path} 'SELECT * FROM name' > table.csv, and give table.csv; "
    "in Python: recombine.read(pandas.read_sql(…), …)",
)
_EXPORTED = {
    **dict.fromkeys((".xlsx", ".xls", ".ods"), _SHEET),
    **dict.fromkeys((".sqlite", ".sqlite3", ".db", ".db3"), _SQLITE),
}
"""Kinds of file that others turn into a table in one line."""
_IN_FOLDERS = (".parquet", ".csv", ".csv.gz", ".jsonl", ".jsonl.gz", ".arrow")
OBJECT_STORES = {"s3", "s3a", "s3n", "gs", "gcs", "r2", "az", "azure", "abfss", "http", "https", "hf"}
DUCKDB_FILES = {".duckdb", ".ddb"}


@dataclass(frozen=True)
class DatabaseTable:
    """A table of a database: of a DuckDB file, or of a server."""

    address: str
    table: str | None
    """None where none was named, which is refused when the database can tell which tables it holds."""
    file: Path | None

    @property
    def name(self) -> str:
        """What the table is called, without passwords."""
        return f"{redacted(self.address)} {self.table}"


@dataclass(frozen=True)
class ReaderTable:
    """A file or folder that a package of its own reads."""

    name: str
    path: Path
    reader: Reader


@dataclass(frozen=True)
class TableFiles:
    """Files of one kind, which DuckDB reads where they lie."""

    written: str
    pattern: str
    """What DuckDB is given: a path, a glob, an address."""
    reader: str
    """How they are read: `read_parquet`, `read_csv`, `read_json` or `read_arrow`."""
    remote: bool = False

    @property
    def name(self) -> str:
        """What the table is called, without passwords."""
        return redacted(self.written) if self.remote else self.written


Location = DatabaseTable | ReaderTable | TableFiles


def parse_address(text: str, *, table: str | None = None) -> Location:
    """What an address names, and the table of a database that is meant.

    >>> parse_address("s3://bucket/table.csv.gz").reader, parse_address("postgresql://host/shop", table="orders").table
    ('read_csv', 'orders')
    """
    scheme = scheme_of(text)
    if not scheme:
        _refuse_exported(text)
    if is_database(text):
        _check_utf8(text)
        return DatabaseTable(text, table, _duckdb_file(text) if scheme in ("", "duckdb") else None)
    check_no_table(table)
    _check_utf8(text)
    if scheme and scheme != "file":
        return TableFiles(text, text, _reader_of(text), remote=True)
    written = unquote(text.removeprefix("file://")) if scheme else text
    path = from_home(written)
    check_plain_file(path, written)
    reader = lake_of(path) or _reader_for(path)
    if reader is not None:
        return ReaderTable(written, path, reader)
    pattern = _existing_files(path, written)
    return TableFiles(written, pattern, _reader_of(pattern))


def reader_table(source: Any) -> ReaderTable | None:
    """What a reader of its own reads; None for any other source, and for one that is not there."""
    if not isinstance(source, str | Path) or scheme_of(str(source)) or is_database(str(source)):
        return None
    path = from_home(str(source))
    reader = _reader_for(path)
    return None if reader is None else ReaderTable(str(source), path, reader)


def _reader_for(path: Path) -> Reader | None:
    """Whoever reads a path that is there. A file with the ending of a table is asked of our own readers alone."""
    if not path.exists():
        return None
    return own_reader(path) if path.is_file() and suffix_of(path.name) in _READERS else added_reader(path)


def check_no_table(table: str | None) -> None:
    """Refuse the name of a table for a source that is one itself."""
    if table is not None:
        raise SettingError(
            f"table={table!r}",
            why="the source is a table already, not a database that holds tables",
            instead="leave it out, or give a database: a URI such as 'postgresql://…', or a .duckdb file",
        )


def _check_utf8(text: str) -> None:
    """DuckDB fails without a word on a name that is not in UTF-8."""
    shown = text.encode("utf-8", "backslashreplace").decode("utf-8")
    if shown != text:
        raise SourceError(
            f"cannot read '{shown}'",
            why="the name holds bytes that are no UTF-8, and the engine knows files by names in UTF-8",
            instead="give the file another name",
        )


def _duckdb_file(text: str) -> Path:
    path = from_home(text.removeprefix("duckdb://"))
    check_plain_file(path, text)
    if not path.is_file():
        raise SourceError(f"no file '{text}'", why="there is no such file", instead=suggest_file(path, DUCKDB_FILES))
    return path


def names_a_table(given: Any) -> bool:
    """Whether something names a table, or is one, rather than the name of a column.

    >>> names_a_table("model_b.csv.gz"), names_a_table("prediction_b"), names_a_table({"a": [1]})
    (True, False, True)
    """
    if not isinstance(given, str | Path):
        return True
    written = str(given)
    return "://" in written or suffix_of(written) in {*_READERS, *DUCKDB_FILES} or Path(written).exists()


def scheme_of(text: str) -> str:
    """What stands before `://`; nothing for a plain path."""
    return text.partition("://")[0] if "://" in text else ""


def is_database(text: str) -> bool:
    """Whether an address names a database, which holds tables, rather than a table."""
    scheme = scheme_of(text)
    return scheme not in OBJECT_STORES | {"file"} if scheme else Path(text).suffix in DUCKDB_FILES


def suffix_of(name: str) -> str:
    """The ending that says what kind of table a file is, whether it is compressed or not.

    >>> suffix_of("a/table.CSV.gz"), suffix_of("a/table")
    ('.csv', '')
    """
    path = Path(name)
    return (Path(path.stem).suffix if path.suffix.lower() in _COMPRESSED else path.suffix).lower()


def is_model(source: Any) -> bool:
    """Whether something names a PICT model, which says what could occur, rather than a table.

    >>> is_model("model.pict"), is_model("table.csv")
    (True, False)
    """
    return isinstance(source, str | Path) and suffix_of(str(source)) == ".pict"


def _reader_of(path: str) -> str:
    """How a file is read, by its ending."""
    suffix = suffix_of(path)
    if is_model(path):
        raise SourceError(
            f"'{path}' is a model: it says what could occur, and holds no result",
            why="only a plan begins without a table",
            instead=f"recombine plan {path} --goal pairs, or give the table of results with --domain {path}",
        )
    if suffix not in _READERS:
        raise SourceError(
            f"cannot tell what kind of table '{path}' is",
            why=f"its name ends in '{suffix}'" if suffix else "its name has no ending",
            instead="use .parquet, .csv, .tsv, .jsonl (compressed or not) or .arrow, or a database URI with --table; "
            "of files that a reader of their own takes, such as .eval, one or their folder",
        )
    return _READERS[suffix]


def _refuse_exported(path: str) -> None:
    """A file that first has to be written out as a table; the word says how."""
    kind, how = _EXPORTED.get(suffix_of(path), ("", ""))
    if kind and from_home(path).is_file():
        raise SourceError(
            f"'{path}' is {kind}", why="it is not read directly", instead=how.format(path=shlex.quote(path))
        )


def _existing_files(path: Path, pattern: str) -> str:
    """The files that a path, folder or glob names, as a pattern that DuckDB understands."""
    if path.is_dir():
        return _of_folder(path, pattern)
    if path.is_file():
        if path.stat().st_size == 0:
            raise TableError(
                f"'{pattern}' is empty",
                why="the file has 0 bytes",
                instead="give a file with a header and rows",
            )
        refuse_parts([path.absolute()])
        return glob.escape(str(path)) if glob.has_magic(str(path)) else str(path)
    matched = glob.glob(str(path), recursive=True) if glob.has_magic(pattern) else []  # noqa: PTH207 - it is absolute
    for file in matched:
        check_plain_file(Path(file), file)
    if matched:
        refuse_parts(Path(file).absolute() for file in matched)
        return _finished(str(path))
    raise SourceError(
        f"no file '{pattern}'",
        why="nothing matches the pattern" if glob.has_magic(pattern) else "there is no such file",
        instead=suggest_file(path),
    )


def from_home(given: str) -> Path:
    """A path in which `~` stands for a home."""
    try:
        return Path(given).expanduser()
    except RuntimeError as error:  # ~somebody, who is not there
        raise SourceError(
            f"no file '{shortened(given)}'", why="nobody of that name has a home here", instead="write the whole path"
        ) from error


def check_plain_file(path: Path, given: str) -> None:
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
    # every file below; one that vanishes while they are listed is none of the table
    within = [Path(place, name) for place, _, names in os.walk(path) for name in names]
    refuse_several(path, within)
    refuse_parts([path.absolute() / "file"])
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
                check_plain_file(one, str(one))
        return _finished(str(Path(glob.escape(str(path))) / "**" / f"*{kinds[0]}"))
    raise SourceError(
        f"no table in the folder '{pattern}'",
        why="it holds no .parquet, .csv, .jsonl or .arrow file",
        instead="name a file, or a folder that holds such files",
    )


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


def suggest_file(path: Path, suffixes: Iterable[str] = TABLES) -> str:
    """Which file may be meant by a path where there is none."""
    folder = path.parent
    if not folder.is_dir():
        return f"the folder '{folder}' does not exist either: check the path"
    wanted = {*suffixes, suffix_of(path.name)} - {""}
    tables = sorted(str(entry) for entry in folder.iterdir() if suffix_of(entry.name) in wanted)
    if not tables:
        return f"no table lies in '{folder}'; `recombine demo` writes one to try"
    return nearest(str(path), tables, by=lambda name: Path(name).stem.lower())
