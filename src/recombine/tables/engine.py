"""Run one question on an engine, tell how far it is, stop it when the user does, and explain what it complains of."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from concurrent.futures import TimeoutError as NotYet
from contextlib import contextmanager
from typing import Any, TypeVar

import duckdb
import pyarrow as pa

from recombine.errors import RecombineError
from recombine.tables.sources import Source, unreadable

Answered = TypeVar("Answered")
Progress = Callable[[float | None], None]
"""Called a few times a second with the share done, or None where the engine does not tell."""

Steps = Callable[[str, float | None], None]
"""Called with the name of a step and, where it is known, how far it is."""

_TICK_SECONDS = 0.1


def run(backend: Any, expression: Any, progress: Progress | None) -> pa.Table:
    """The answer to a question as an Arrow table."""
    if progress is None:
        return backend.to_pyarrow(expression)
    with ThreadPoolExecutor(max_workers=1) as pool:
        answer = pool.submit(backend.to_pyarrow, expression)
        try:
            return _watched(answer, backend, progress)
        except BaseException:
            while not answer.done():  # once is not enough: the engine may not have begun yet
                _interrupt(backend)
                wait([answer], timeout=_TICK_SECONDS)
            raise


def _watched(answer: "Future[pa.Table]", backend: Any, progress: Progress) -> pa.Table:
    while True:
        try:
            return answer.result(timeout=_TICK_SECONDS)
        except NotYet:
            if answer.done():  # the engine's own time-out, not ours
                raise
            progress(_share_done(backend))


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


def silent(_: str, __: float | None) -> None:
    """Steps to which nobody listens."""


def sniffing_again(ask: Callable[[bool], Answered]) -> Answered:
    """Ask; and with all lines looked at ask again, where a CSV's first ones look like another type than the rest."""
    try:
        return ask(False)
    except duckdb.ConversionException:
        return ask(True)


@contextmanager
def explained(lent: Source) -> Iterator[None]:
    """What an engine complains of while it is asked, as one of our errors; a type guessed too soon passes through."""
    try:
        yield
    except duckdb.ConversionException as error:
        if lent.whole_file_sniffed:
            raise unreadable(lent.name, error) from error
        raise
    except RecombineError:
        raise
    except Exception as error:
        raise unreadable(lent.name, error, engine=lent.backend.name) from error
