"""Matrices that lie in a file beside its table, with a row for each row of the table: the expression of every gene.

They are never loaded whole. Blocks of eight million numbers come one after the other, the next one being read while one
is added up, and the sums of each combination are all that stays: 24 bytes for each combination and output, 8 of them
in what is handed back.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from recombine.base.errors import SettingError
from recombine.numerics.groups import Ints, Numbers

ENTRIES = 8 * 10**6
"""Numbers of a block: 64 MB in float64, and as much again while they are sorted and the next one is read."""


@dataclass(frozen=True, eq=False)
class StoredArray:
    """A matrix of numbers in a file. Legend: n rows, m outputs."""

    name: str
    shape: tuple[int, int]  # (n, m)
    by_column: bool
    """Whether it is sparse and stored by column, so that rows cannot be read alone."""
    names: Callable[[], tuple[str, ...]]
    """What the outputs are called."""
    blocks: Callable[[int, int, int], Iterator[tuple[slice, Any]]]
    """From the first row (or column) to the last, of at most so many numbers: plain arrays or sparse ones. A block may
    be written over when the one after the next is read."""

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Ints) -> Numbers:
        """(r, m) Some rows, which lie close to each other, as a plain array."""
        if self.by_column:
            raise SettingError(
                f"{self.name!r} is stored by column",
                why="rows cannot be read without reading all of it each time",
                instead="store it by row: adata.X = adata.X.tocsr(), and write the file again",
            )
        if not len(rows):
            return np.zeros((0, self.shape[1]))
        low, high = int(rows.min()), int(rows.max()) + 1
        blocks = self._between(low, high)
        parts = [np.array(part if isinstance(part, np.ndarray) else part.toarray(), np.float64) for _, part in blocks]
        return np.concatenate(parts)[rows - low]

    def _between(self, low: int, high: int) -> Iterator[tuple[slice, Any]]:
        return self.blocks(low, high, ENTRIES)

    def parts(self) -> Iterator[tuple[slice, Any]]:
        """All blocks; the next one is read while the caller works with one."""
        stop, nothing = self.shape[1 if self.by_column else 0], (slice(0), None)
        found = self._between(0, stop)
        with ThreadPoolExecutor(max_workers=1) as reader:
            ahead = reader.submit(next, found, nothing)
            while (block := ahead.result())[1] is not None:
                ahead = reader.submit(next, found, nothing)
                yield block
