"""Two items of two values each: the smallest tasks in which an item must be ignored."""

from dataclasses import dataclass
from typing import final

import numpy as np
import numpy.typing as npt

from recombine.lab.tasks.conjunctions.task import SignTask, two_items
from recombine.lab.tasks.task import Codes
from recombine.tables.space import Space


@dataclass(frozen=True, kw_only=True)
class Corners(SignTask):
    """Two items, each -1 or +1; the answer is the first."""

    @final
    def check_settings(self) -> None:
        """There is nothing to set."""

    @property
    @final
    def space(self) -> Space:
        """Four corners."""
        return two_items([-1, 1])

    @final
    def answers(self, combinations: Codes) -> npt.NDArray[np.float64]:
        """The first item."""
        return np.asarray(2.0 * combinations[:, 0] - 1.0)


@dataclass(frozen=True, kw_only=True)
class Invariance(Corners):
    """The second item was always -1, and is then +1.

    That is a value never seen, in recombine's words *novel*; it is asked about under the name `unseen` all the same.

    >>> Invariance(target="values").table().to_pydict()
    {'first': [-1, -1, 1, 1], 'second': [-1, 1, -1, 1], 'target': [-1.0, -1.0, 1.0, 1.0]}
    """

    @final
    def is_shown(self, combinations: Codes) -> npt.NDArray[np.bool_]:
        """The second item is -1."""
        return np.asarray(combinations[:, 1] == 0)


@dataclass(frozen=True, kw_only=True)
class PartialExposure(Corners):
    """Three corners are shown, and (+1, +1) is asked about.

    >>> PartialExposure().own_parts(seed=0).tests["unseen"].every()
    tensor([[1, 1]])
    """

    @final
    def is_shown(self, combinations: Codes) -> npt.NDArray[np.bool_]:
        """Not both are +1."""
        return np.asarray((combinations == 0).any(axis=1))
