"""Examples by combination: which combinations occur, and which one each example belongs to."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from recombine.algebra.groups import group
from recombine.lab.tasks.task import Codes
from recombine.tables.space import Space


@dataclass(frozen=True, eq=False)
class Cells:
    """The distinct combinations of some examples (C, K), and the place of each example among them (n,).

    >>> space = Space.of({"a": ["x", "y"], "b": ["x", "y"]})
    >>> cells = Cells.of(space, np.array([[1, 0], [0, 1], [1, 0]]))
    >>> cells.codes.tolist(), cells.place.tolist(), cells.counts.tolist()
    ([[0, 1], [1, 0]], [1, 0, 1], [1, 2])
    """

    codes: Codes
    place: npt.NDArray[np.int64]

    @classmethod
    def of(cls, space: Space, codes: Codes) -> "Cells":
        """The combinations among codes (n, K), in order; -1 stands for a factor that is left out."""
        sizes = tuple(size + 1 for size in space.sizes)
        groups = group(codes + 1, sizes=sizes, factors=tuple(range(len(sizes))))
        return cls(codes[groups.representatives].astype(np.int64), groups.ids)

    @property
    def counts(self) -> npt.NDArray[np.int64]:
        """How many examples each combination has."""
        return np.bincount(self.place, minlength=len(self.codes)).astype(np.int64)

    def means(self, values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """The mean of each combination's examples."""
        return np.bincount(self.place, weights=values, minlength=len(self.codes)) / np.maximum(self.counts, 1)


def count_cells(space: Space, codes: Codes) -> tuple[Codes, Codes]:
    """The distinct combinations and how often each occurs."""
    cells = Cells.of(space, codes)
    return cells.codes, cells.counts
