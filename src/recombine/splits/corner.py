"""Hold out a corner: training has an L, and the unseen lie outside of what was seen together."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from recombine.checks import check_choice
from recombine.splits.checker import Promise
from recombine.splits.patterns import factor_name
from recombine.splits.scale import Scale
from recombine.splits.splitter import Assignment, Splitter
from recombine.tables.support import Support


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class Corner(Splitter):
    """Hold out the combinations of which every factor is at `at` or above.

    `at` is one limit for all factors, or a mapping from a factor to its own; a factor that the mapping does not name
    is free. A limit is a number, or a value of the factor; a bin lies where its middle lies.

    >>> grid = {"x": [0, 0, 1, 1], "y": [0, 1, 0, 1]}
    >>> [test.tolist() for _, test in Corner(["x", "y"], at=1).split(grid)]
    [[3]]
    """

    at: Any
    guarantee: Literal["values", "none"] = "values"

    def check_settings(self) -> None:
        """A guarantee that exists."""
        check_choice("guarantee", self.guarantee, ("values", "none"))

    @property
    def promise(self) -> Promise:
        """The values, where they are guaranteed."""
        return Promise.of(self.guarantee)

    def assign(self, support: Support, fold: int) -> Assignment:  # noqa: ARG002 - there is one
        """Above in every factor that has a limit."""
        above = np.ones(len(support), dtype=bool)
        limits = self.at if isinstance(self.at, Mapping) else dict.fromkeys(self.factors, self.at)
        for asked, limit in limits.items():
            k = support.space.position(factor_name(support, self.factors, asked))
            scale = Scale.of(support.space.factors[k])
            above &= (scale.places >= scale.at(limit))[support.codes[:, k]]
        return Assignment.of(above)
