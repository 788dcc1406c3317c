"""The engine that holds a table: run one question on it, tell how far it is, stop it when the user does, and explain
what it complains of.
"""

import codecs
import re
import shlex
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from concurrent.futures import TimeoutError as NotYet
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import Any, TypeVar

import duckdb
import ibis
import pyarrow as pa

from recombine.base import limits
from recombine.base.errors import RecombineError, SourceError
from recombine.data.engine_errors import UNREAD_LINES, first_line
from recombine.data.locations import OBJECT_STORES, scheme_of, suffix_of

Answered = TypeVar("Answered")
Progress = Callable[[float | None], None]
"""Called a few times a second with the share done, or None where the engine does not tell."""

_TICK_SECONDS = 0.1  # how often progress is told, and how soon an interruption is noticed
_BATCH = 100_000  # rows that are in memory at a time
_ENGINE_MEMORY = 2 * 10**9  # bytes: what does not fit goes to disk
_NOT_CONVERTED = re.compile("Could not (convert|parse) string|invalid (date|time|timestamp) field")


@dataclass(frozen=True)
class OpenTable:
    """A table, the engine that counts it, and what to call it."""

    table: Any
    backend: Any
    name: str
    whole_file_sniffed: bool = True


def run(backend: Any, expression: Any, progress: Progress | None) -> pa.Table:
    """The answer to a question as an Arrow table."""
    if progress is None and limits.current().seconds is None:
        return backend.to_pyarrow(expression)
    with ThreadPoolExecutor(max_workers=1) as pool:
        answer = pool.submit(backend.to_pyarrow, expression)
        try:
            return _watched(answer, backend, progress or (lambda _: None))
        except BaseException:
            while not answer.done():  # once is not enough: the engine may not have begun yet
                _interrupt(backend)
                wait([answer], timeout=_TICK_SECONDS)
            raise


def run_statement(connection: Any, statement: str, progress: Progress | None) -> int:
    """Carry out a statement of DuckDB that answers with a number of rows: watched and stopped like a question."""
    return int(run(_Statement(connection), statement, progress).column(0)[0].as_py())


@dataclass(frozen=True)
class _Statement:
    """A connection as `run` knows engines, for a statement that is written by hand."""

    con: Any

    def to_pyarrow(self, statement: str) -> pa.Table:
        """Carry out a statement; what it answers is a table too."""
        return pa.table({"answer": [row[0] for row in self.con.execute(statement).fetchall()]})


def limit_memory(connection: Any) -> None:
    """Hold a DuckDB to a share of what this process may have, so that it spills instead of failing: 2 GB, or a quarter
    of a limit that the system sets to the process (`ulimit -v`): libraries and threads reserve 2.5 GB of addresses that
    they hardly use, and what DuckDB gives back nobody else can have.
    """
    allowed = process_limit()
    most = _ENGINE_MEMORY if allowed is None else min(_ENGINE_MEMORY, allowed // 4)
    connection.execute(f"SET memory_limit = '{most // 2**20}MiB'")


def process_limit() -> int | None:
    """How many bytes this process may take, by the system's limit of its addresses or by `limits.limited`, whichever is
    less; None where there is neither.
    """
    told = limits.current().memory
    try:
        import resource  # noqa: PLC0415 - there is none on Windows
    except ModuleNotFoundError:
        return told
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    return min((one for one in (told, limit) if one not in (None, resource.RLIM_INFINITY)), default=None)


def _watched(answer: "Future[pa.Table]", backend: Any, progress: Progress) -> pa.Table:
    while True:
        try:
            return answer.result(timeout=_TICK_SECONDS)
        except NotYet:
            if answer.done():  # the engine's own time-out, not ours
                raise
            progress(_share_done(backend))
            limits.refuse_if_late("the table was counted")


def _share_done(backend: Any) -> float | None:
    tell = getattr(getattr(backend, "con", None), "query_progress", None)
    percent = tell() if tell is not None else -1.0
    return float(percent) / 100 if 0 <= percent <= 100 else None


def _interrupt(backend: Any) -> None:
    connection = getattr(backend, "con", None)
    for stop in ("interrupt", "cancel"):  # DuckDB's word, PostgreSQL's word
        if hasattr(connection, stop):
            getattr(connection, stop)()
            return


def stream(backend: Any, expression: Any, *, rows: int = _BATCH) -> pa.RecordBatchReader:
    """The rows of any engine as a stream of Arrow batches: never more than one batch of them in memory."""
    if backend.name == "duckdb":  # Ibis 12 calls an API that DuckDB 2 lacks
        return arrow_batches(backend.con.sql(backend.compile(expression)), rows)
    return backend.to_pyarrow_batches(expression, chunk_size=rows)


def arrow_batches(relation: Any, rows: int) -> pa.RecordBatchReader:
    """What DuckDB was asked, as a stream: newer versions warn of the name that 1.4 has for it."""
    name = "to_arrow_reader" if hasattr(relation, "to_arrow_reader") else "fetch_arrow_reader"
    return getattr(relation, name)(rows)


def interruptible(work: Callable[[], Answered]) -> Answered:
    """Do what an engine does not stop for anybody: when the user interrupts, it is left behind in its thread."""
    answer: Future[Answered] = Future()

    def do() -> None:
        try:
            answer.set_result(work())
        except BaseException as error:  # noqa: BLE001 - it is raised where the answer is waited for
            answer.set_exception(error)

    Thread(target=do, daemon=True).start()
    return answer.result()


def sniffing_again(ask: Callable[[bool], Answered]) -> Answered:
    """Ask; and with all lines looked at ask again, where a CSV's first ones look like another type than the rest."""
    try:
        return ask(False)
    except duckdb.ConversionException:
        return ask(True)


@contextmanager
def explained(open_table: OpenTable) -> Iterator[None]:
    """What an engine complains of while it is asked, as one of our errors; a type guessed too soon passes through."""
    try:
        yield
    except duckdb.ConversionException as error:
        if open_table.whole_file_sniffed:
            raise unreadable(open_table.name, error) from error
        raise
    except RecombineError:
        raise
    except Exception as error:
        raise unreadable(open_table.name, error, engine=open_table.backend.name) from error


@contextmanager
def own_duckdb(file: Path | None = None) -> Iterator[Any]:
    """A DuckDB of our own, which spills to a folder that goes away with it rather than to the working one."""
    with tempfile.TemporaryDirectory(prefix="recombine-") as spill:
        try:
            backend = ibis.duckdb.connect(file or ":memory:", read_only=file is not None, temp_directory=spill)
            if process_limit() is not None:  # else DuckDB takes most of the machine's memory, and spills after that
                limit_memory(backend.con)
        except duckdb.Error as error:
            raise unreadable(str(file), error) from error
        try:
            yield backend
        finally:
            backend.disconnect()


def in_any_order(backend: Any) -> None:
    """Let the rows of a DuckDB of our own come in any order, which spares memory: once its table is known.

    Where no order is kept, DuckDB also lists the columns of a table with more than 2,048 of them in any order, each
    time in another one: vectors would be paired at random, a row's hash would be another one each time, and a table
    would be written with its columns shuffled.
    """
    backend.con.execute("SET preserve_insertion_order = false")


def unreadable(name: str, error: Exception, *, engine: str = "duckdb") -> RecombineError:
    """What an engine said when it could not read a source, as one of our errors."""
    return SourceError(f"cannot read '{name}'", why=first_line(error), instead=_remedy(name, error, engine))


def _remedy(name: str, error: Exception, engine: str) -> str:
    scheme = scheme_of(name)
    if isinstance(error, duckdb.Error) and (of_value := _remedy_of_value(str(error))):
        return of_value
    if scheme and "extension" in str(error):
        return f"copy the file here, or let DuckDB fetch its {scheme} part from extensions.duckdb.org once"
    if scheme in OBJECT_STORES:
        return "check the address, and that this machine is allowed to read it"
    if "Compilation rule" in str(error):  # Ibis's word for what an engine has no function for
        return f"{engine} cannot count this: write the table out as Parquet or CSV, and give that file"
    if scheme or engine != "duckdb":
        return "check that the server is up, and that its user may read the table"
    return _remedy_of_file(name, str(error))


def _remedy_of_value(said: str) -> str | None:
    """What helps where a value does not fit. recombine takes no text for a number or a date, only conditions do."""
    if _NOT_CONVERTED.search(said) and "CSV Error" not in said:
        return (
            "in `where` compare text with text (size = '7'), or let what is no number or date be missing: "
            "TRY_CAST(size AS BIGINT) = 7"
        )
    if said.startswith("Conversion Error") and "INT64" in said:
        return "a whole number does not fit into 64 bits: turn that column into text, or leave such rows out (`where`)"
    return None


def _remedy_of_file(name: str, said: str) -> str:
    if "not utf-8" in said.lower():
        return f"turn it into UTF-8: iconv -f {_encoding(name)} -t UTF-8 {shlex.quote(name)} > utf8.csv"
    if UNREAD_LINES in said:  # it names UTF-8, too, but only as what was tried
        return (
            "give every line the same columns and the same ending; where endings are mixed: "
            f"tr -d '\\r' < {shlex.quote(name)} > plain.csv"
        )
    if suffix_of(name) in (".parquet", ".pq"):
        return "check that the file is whole and is what its name says (a half-copied Parquet file looks like this)"
    return "check that the file is whole, that every line has the same columns, and that several files are alike"


def _encoding(name: str) -> str:
    """What a file that is not UTF-8 is most likely written in: its first bytes tell UTF-16 and UTF-32."""
    try:
        with Path(name).open("rb") as file:
            start = file.read(4_096)
    except OSError:  # a pattern
        return "WINDOWS-1252"
    if start[:4] in (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE):
        return "UTF-32"
    if start[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        return "UTF-16"
    even, odd = start[::2].count(0), start[1::2].count(0)
    if max(even, odd) > len(start) / 8:  # every other byte of plain text in UTF-16 is 0
        return "UTF-16LE" if odd > even else "UTF-16BE"
    return "WINDOWS-1252"
