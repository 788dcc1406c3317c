"""Hold out the inside of a box: every value stays in training, and the unseen lie among the seen."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from recombine.checks import check_choice
from recombine.errors import SettingError
from recombine.splits.checker import Promise
from recombine.splits.patterns import factor_name
from recombine.splits.scale import Scale
from recombine.splits.splitter import Assignment, Splitter
from recombine.tables.support import Support


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class Donut(Splitter):
    """Hold out the combinations of which every factor lies within the hole, both limits included.

    `hole` is one pair of limits for all factors, or a mapping from a factor to its own; a factor that the mapping does
    not name is free. Limits are numbers, or values of the factor; a bin lies where its middle lies.

    >>> grid = {"x": [0, 0, 0, 1, 1, 1, 2, 2, 2], "y": [0, 1, 2, 0, 1, 2, 0, 1, 2]}
    >>> [test.tolist() for _, test in Donut(["x", "y"], hole=(1, 1)).split(grid)]
    [[4]]
    """

    hole: tuple[Any, Any] | Mapping[str | int, tuple[Any, Any]]
    guarantee: Literal["values", "none"] = "values"

    def check_settings(self) -> None:
        """A pair of limits for each factor."""
        check_choice("guarantee", self.guarantee, ("values", "none"))
        pairs = list(self.hole.values()) if isinstance(self.hole, Mapping) else [self.hole]
        if not pairs or not all(isinstance(pair, list | tuple) and len(pair) == 2 for pair in pairs):
            raise SettingError(
                f"hole={self.hole!r}",
                why="a hole has a lower and an upper limit",
                instead="write hole=(6, 22), or hole={'x': (6, 22), 'y': (3, 9)}",
            )

    @property
    def promise(self) -> Promise:
        """The values, where they are guaranteed."""
        return Promise.of(self.guarantee)

    def assign(self, support: Support, fold: int) -> Assignment:  # noqa: ARG002 - there is one
        """Inside in every factor that has limits."""
        inside = np.ones(len(support), dtype=bool)
        limits = self.hole if isinstance(self.hole, Mapping) else dict.fromkeys(self.factors, self.hole)
        for asked, (low, high) in limits.items():
            k = support.space.position(factor_name(support, self.factors, asked))
            scale = Scale.of(support.space.factors[k])
            within = (scale.places >= scale.at(low)) & (scale.places <= scale.at(high))
            inside &= within[support.codes[:, k]]
        return Assignment.of(inside)
