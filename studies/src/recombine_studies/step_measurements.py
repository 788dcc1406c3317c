"""Steps of a study, made once for each item and kept beside the runs, so that a study that was stopped goes on.

What an item came to is a Parquet file below `measured/` in the store's place, found by a digest of the study, the step,
its version and the item. Items are measured by processes of this machine, also where the runs came from a cluster.
"""

import hashlib
import io
import json
import multiprocessing
import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from typing import Any

import pyarrow.parquet as pq

from recombine.base.words import plain_setting
from recombine_lab.runs.run_files import MEASURED
from recombine_lab.runs.storage import Storage
from recombine_lab.runs.store import Store
from recombine_studies.rows import Row, Rows
from recombine_studies.study import Bench, Evidence, Measuring, Step

SECONDS = "step_seconds"
"""The column that says how long an item took; the same in all of its rows."""
Progress = Callable[[str, float | None], None]


@dataclass(frozen=True)
class _MeasureTask:
    """An item, what measures it, and where its rows are kept: all that a worker is given."""

    measure: Measuring
    item: Row
    place: str


def measured(step: Step, evidence: Evidence, *, study: str, workers: int, progress: Progress) -> Rows:
    """The rows of every item; those that are kept already are read, the others are measured and kept."""
    files = Store.open(evidence.bench.place).files
    asked = [_MeasureTask(step.measure, item, _place(study, step, item)) for item in step.items(evidence)]
    there = sum(files.exists(one.place) for one in asked)
    missing = [one for one in asked if not files.exists(one.place)]
    for done, _ in enumerate(_made(missing, evidence.bench, workers), start=1):
        progress(f"{study}: {step.name}, {there + done} of {len(asked)}", (there + done) / len(asked))
    return Rows(row for one in asked for row in _read(files, one.place))


def kept(step: Step, evidence: Evidence, *, study: str) -> tuple[Rows, int]:
    """The rows that were measured before, and how many items there are none of."""
    files = Store.open(evidence.bench.place).files
    places = [_place(study, step, item) for item in step.items(evidence)]
    there = [place for place in places if files.exists(place)]
    return Rows(row for place in there for row in _read(files, place)), len(places) - len(there)


def _made(missing: Sequence[_MeasureTask], bench: Bench, workers: int) -> Iterator[None]:
    if workers <= 1 or len(missing) < 2:
        for one in missing:
            _measure(one, bench)
            yield
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context, initializer=_one_thread) as pool:
        waiting: set[Future[None]] = {pool.submit(_measure, one, bench) for one in missing}
        try:
            while waiting:
                ended, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                for future in ended:
                    future.result()
                    yield
        except BaseException:
            for future in waiting:
                future.cancel()
            raise


def _one_thread() -> None:
    """Several processes share the processors: each takes one."""
    os.environ["OMP_NUM_THREADS"] = "1"
    import torch  # noqa: PLC0415 - in a worker, where it is about to be used

    torch.set_num_threads(1)


def _measure(asked: _MeasureTask, bench: Bench) -> None:
    began = time.monotonic()
    rows = asked.measure(asked.item, bench)
    seconds = time.monotonic() - began
    # An item that gives no rows has been measured too: its one row says so.
    full = Rows([{**asked.item, **row, SECONDS: seconds} for row in rows] or [{**asked.item, SECONDS: seconds}])
    written = io.BytesIO()
    pq.write_table(full.table(), written)
    bench.store.files.write(asked.place, written.getvalue())


def _read(files: Storage, place: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = pq.read_table(io.BytesIO(files.read(place))).to_pylist()
    return rows


def _place(study: str, step: Step, item: Row) -> str:
    text = json.dumps([study, step.name, step.version, plain_setting(dict(item))], sort_keys=True)
    return f"{MEASURED}/{study}/{step.name}/{hashlib.sha256(text.encode()).hexdigest()[:32]}.parquet"
