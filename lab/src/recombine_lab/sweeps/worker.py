"""What a worker does with a pack: train it, write its runs into the store, and say how it went.

A run is brought to the disk for certain before it counts, and a disk takes its time. So one thread writes, in order,
while the next run is trained (`BackgroundWriter`); `flush` waits for it, and only then is anybody told that runs are
finished. A worker that dies loses the few that were not written yet, as it loses the one that it is training.

`InProcessPool` works in this process, one pack after another: for debugging, and where Ray is not installed.
"""

import socket
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import Any, Self, final

from recombine.base.errors import OutputError, RecombineError, RecordError, SourceError
from recombine.base.redaction import guarded, redacted_words
from recombine.base.version import __version__
from recombine_lab.base.source_versions import folder_of
from recombine_lab.runs.run import Run
from recombine_lab.runs.run_files import EarlierStoreWarning
from recombine_lab.runs.store import Store
from recombine_lab.sweeps.queue import FaultKind, Outcome, Pack, Report, WorkerPool
from recombine_lab.training.configurations import numerics
from recombine_lab.training.pack import train

_LONGEST_REASON = 2000
_MOST_WAITING = 4  # writes: they hold their runs in memory


def work(pack: Pack, folders: Sequence[str], place: str) -> Report:
    """Train a pack, after its `folders` can be imported from, and report. Nothing that a run does is raised."""
    began = time.monotonic()
    sys.path += [folder for folder in folders if folder not in sys.path and Path(folder).is_dir()]
    with guarded(place):  # what a model or a package raises may quote the store's address
        report = _report(pack, place)
    return replace(report, host=socket.gethostname(), seconds=time.monotonic() - began)


def _report(pack: Pack, place: str) -> Report:
    try:
        _check_code(pack)
        store = _open_store(place)
    except RecombineError as error:
        return Report(fault="store", reason=_describe(error))
    try:
        with BackgroundWriter(store) as writer:
            runs = train(pack, store=writer)
    except Exception as error:  # noqa: BLE001 - whatever a model raises is that run's fate, not the sweep's
        return Report(fault=_fault(error), reason=_describe(error))
    return Report(outcomes=tuple(map(outcome_of, runs)))


@lru_cache(maxsize=4)
def _open_store(place: str) -> Store:
    """The store, opened once a process; whoever started the sweep was told what is to be said of it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EarlierStoreWarning)
        return Store.open(place, create=False)


def _fault(error: Exception) -> FaultKind:
    """A store that is full or gone is no run's fault; what recombine refuses, it refuses again, but for files that
    another machine may have."""
    if isinstance(error, OutputError | RecordError):
        return "store"
    return "mistake" if isinstance(error, RecombineError) and not isinstance(error, SourceError) else "program"


def _check_code(pack: Pack) -> None:
    """A run belongs to the numbers that it names; a node whose code gives others must not write under that name."""
    for run in pack:
        ours = numerics(run.task, run.split, run.model)
        if run.code != ours:
            raise SourceError(
                f"{socket.gethostname()} gives the numbers of {ours}; the sweep was started with {run.code}",
                why=f"a run's address names the version of its numbers, and recombine is {__version__} here",
                instead="install the same version of recombine, and of your own modules, on every node",
            )


def outcome_of(run: Run) -> Outcome:
    """What is told of a run; its score is the one on what was unseen, else on whatever was asked last."""
    scores = [name for name in run.metrics if name.endswith(".score") and not name.startswith("train.")]
    main = "unseen.score" if "unseen.score" in scores else scores[-1] if scores else None
    part, score = (main.removesuffix(".score"), run.metrics[main]) if main else (None, None)
    return Outcome(key=run.key, status=run.status, score=score, part=part, reason=run.reason)


def _describe(error: Exception) -> str:
    """What went wrong, and where."""
    if isinstance(error, RecombineError):
        return f"{error.what}: {error.why}; {error.instead}"
    frames = traceback.extract_tb(error.__traceback__)
    where = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
    said = redacted_words(str(error)) or "no words"
    return f"{type(error).__name__}: {said}{where}"[:_LONGEST_REASON]


@final
class BackgroundWriter:
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


@final
class InProcessPool(WorkerPool):
    """This process."""

    def __init__(self, place: str) -> None:
        self._place = place
        self._next: tuple[int, Pack] | None = None

    def free(self) -> int:
        """One pack at a time."""
        return 0 if self._next else 1

    def size(self) -> int:
        """One."""
        return 1

    def start(self, number: int, pack: Pack) -> None:
        """Kept until its end is asked for."""
        self._next = (number, pack)

    def ended(self) -> Mapping[int, Report]:
        """Train what was handed out, and say how it went."""
        if self._next is None:
            return {}
        number, pack = self._next
        self._next = None
        return {number: work(pack, folders_of(pack), self._place)}

    def stop(self) -> None:
        """Nothing goes on behind our back."""
        self._next = None


def folders_of(pack: Pack) -> list[str]:
    """The folders that hold what is the user's own in a pack."""
    folders = {folder_of(place) for run in pack for place in run.own_places()}
    return sorted(folder for folder in folders if folder is not None)
