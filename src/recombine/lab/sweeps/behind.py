"""A store that is written to behind the training's back.

A run is brought to the disk for certain before it counts, and a disk takes its time. One thread writes, in order, while
the next run is trained; `flush` waits for it, and only then is anybody told that runs are finished. A worker that dies
loses the few that were not written yet, as it loses the one that it is training.
"""

from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Any, Self, final

from recombine.lab.runs.run import Run
from recombine.lab.runs.store import Store

_MOST_WAITING = 4


@final
class WrittenBehind:
    """A store whose writing is done by a thread of its own."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._pool = ThreadPoolExecutor(max_workers=1)
        self._waiting: list[Future[None]] = []
        self._broken = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """What was handed over is written, whatever ended the training; then what went wrong is told."""
        self._pool.shutdown(wait=True)
        if error is None:
            self.flush()

    def has(self, key: str) -> bool:
        """Whether a run is written."""
        return self._store.has(key)

    def get(self, key: str) -> Run:
        """A run that is written."""
        return self._store.get(key)

    def file(self, key: str, name: str) -> bytes:
        """A file of a run; what was handed over is written first."""
        self.flush()
        return self._store.file(key, name)

    def load_state(self, name: str) -> tuple[bytes, dict[str, Any]] | None:
        """Unfinished work."""
        return self._store.load_state(name)

    def put(self, run: Run, *, files: Mapping[str, bytes] = {}) -> bool:
        """Hand a run over to be written; whether it was there before is not known yet."""
        self._later(lambda: self._store.put(run, files=files))
        return True

    def save_state(self, name: str, state: bytes, meta: Mapping[str, Any]) -> None:
        """Hand unfinished work over to be kept."""
        self._later(lambda: self._store.save_state(name, state, meta))

    def drop_state(self, name: str) -> None:
        """Forget unfinished work, after all that was handed over before."""
        self._later(lambda: self._store.drop_state(name))

    def flush(self) -> None:
        """Wait until everything is written; what could not be is raised here."""
        waiting, self._waiting = self._waiting, []
        for one in waiting:
            one.result()

    def _later(self, write: Callable[[], object]) -> None:
        self._waiting = [one for one in self._waiting if not one.done() or one.exception() is not None]
        if len(self._waiting) >= _MOST_WAITING:
            self.flush()
        self._waiting.append(self._pool.submit(self._write, write))

    def _write(self, write: Callable[[], object]) -> None:
        """After the first failure nothing more is done: a state must not be dropped for a run that was not written."""
        if self._broken:
            return
        try:
            write()
        except BaseException:
            self._broken = True
            raise
