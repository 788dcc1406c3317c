"""Keep a band along the diagonal: every value is seen, but only with its like."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from recombine.checks import check_choice, check_number
from recombine.splits.checker import Promise
from recombine.splits.splitter import Assignment, Splitter
from recombine.tables.support import Support


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class Diagonal(Splitter):
    """Training keeps the combinations near the diagonal, everything else is held out.

    Each value's position among the values of its factor is scaled to [0, 1]; near means that the largest and the
    smallest position of a combination differ by `width` at most. (A band of perpendicular half-width d is
    `width = d * sqrt(2)`.)

    >>> grid = {"x": [0, 0, 1, 1], "y": [0, 1, 0, 1]}
    >>> [train.tolist() for train, _ in Diagonal(["x", "y"], width=0.2).split(grid)]
    [[0, 3]]
    """

    width: float
    guarantee: Literal["values", "none"] = "values"

    def check_settings(self) -> None:
        """A width that keeps something and leaves something."""
        check_choice("guarantee", self.guarantee, ("values", "none"))
        check_number(
            "width",
            self.width,
            least=0,
            below=1,
            why="positions are scaled to [0, 1], and a band as wide as that holds everything",
            instead="write a number from 0 to below 1, such as width=0.1",
        )

    @property
    def promise(self) -> Promise:
        """The values, where they are guaranteed."""
        return Promise.of(self.guarantee)

    def assign(self, support: Support, fold: int) -> Assignment:  # noqa: ARG002 - there is one
        """Far from the diagonal."""
        place = support.codes / (np.array(support.space.sizes) - 1)
        spread = place.max(axis=1) - place.min(axis=1)
        return Assignment.of(spread > self.width + 1e-9)
