"""What data are, as one short text: equal for equal contents, so that a run's key changes when the data do."""

import hashlib
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from recombine.errors import SourceError

MEMORY = "memory:"
"""How a setting begins that stands for something in memory."""


def of_memory(content: pa.Table | np.ndarray[Any, Any]) -> str:
    """A table or an array in memory.

    >>> of_memory(np.zeros(3)) == of_memory(np.zeros(3)), of_memory(np.zeros(3)) == of_memory(np.zeros((3, 1)))
    (True, False)
    """
    summed = hashlib.sha256()
    if isinstance(content, pa.Table):
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, content.schema) as stream:
            stream.write_table(content.combine_chunks())
        summed.update(sink.getvalue())
    else:
        summed.update(f"{content.dtype.str}{content.shape}".encode())
        summed.update(np.ascontiguousarray(content).data)
    return MEMORY + summed.hexdigest()


def of_files(paths: Iterable[Path]) -> str:
    """One file, or several in their order."""
    sums = [_of_file(path, *_state(path)) for path in paths]
    return sums[0] if len(sums) == 1 else hashlib.sha256("".join(sums).encode()).hexdigest()


def _state(path: Path) -> tuple[int, int]:
    if not path.is_file():
        raise SourceError(f"no file '{path}'", why="there is no such file", instead="give the path of one file")
    state = path.stat()
    return state.st_size, state.st_mtime_ns


@lru_cache(maxsize=1 << 20)
def _of_file(path: Path, size: int, changed: int) -> str:  # noqa: ARG001 - a file that was written to is read again
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
