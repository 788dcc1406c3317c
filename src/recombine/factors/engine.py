"""Run one question on an engine, tell how far it is, and stop it when the user does."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from concurrent.futures import TimeoutError as NotYet
from typing import Any

import pyarrow as pa

Progress = Callable[[float | None], None]
"""Called a few times a second with the share done, or None where the engine does not tell."""

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
