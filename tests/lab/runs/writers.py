"""What other processes do to a store in the tests: write at once, and die in the middle."""

import os
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from recombine_lab.runs.storage import FolderStorage, ObjectStorage
from recombine_lab.runs.store import Store
from tests.lab.runs.samples import run


def write_all(place: str, options: dict[str, Any], count: int, threads: int) -> int:
    """Write the same runs as every other writer does, from many threads; how many of them this process put there."""
    store = Store.open(place, **options)
    note = str(os.getpid())  # no two processes write the same bytes
    with ThreadPoolExecutor(threads) as pool:
        return sum(pool.map(lambda seed: store.put(run(seed, note=note)), range(count)))


def die_before_the_mark(place: str, options: dict[str, Any]) -> None:
    """Write everything of a run but what makes it believed, and be killed."""

    def die(*_: Any) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    store = Store.open(place, **options)
    FolderStorage._move = die  # type: ignore[assignment,method-assign]
    ObjectStorage.write = die  # type: ignore[assignment,method-assign]
    store.put(run(0), files={"model.safetensors": b"weights"})


if __name__ == "__main__":
    import json

    die_before_the_mark(sys.argv[1], json.loads(sys.argv[2]))
