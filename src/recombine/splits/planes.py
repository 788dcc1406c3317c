"""Keep the lines through some reference combinations: one factor varies, the others stand still."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from recombine.checks import check_choice
from recombine.errors import SettingError
from recombine.splits.checker import Promise
from recombine.splits.patterns import combination
from recombine.splits.splitter import Assignment, Splitter
from recombine.tables.support import Support


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class OrthogonalPlanes(Splitter):
    """Training keeps the combinations that differ from a reference in one factor at most; the rest is held out.

    `through` is one reference or a list of them: each a mapping, or a tuple of one value for each factor.

    >>> grid = {"x": [0, 0, 0, 1, 1, 1], "y": [0, 1, 2, 0, 1, 2]}
    >>> [test.tolist() for _, test in OrthogonalPlanes(["x", "y"], through=(0, 0)).split(grid)]
    [[4, 5]]
    """

    through: Mapping[Any, Any] | Sequence[Any]
    guarantee: Literal["values", "none"] = "values"

    def check_settings(self) -> None:
        """At least one reference."""
        check_choice("guarantee", self.guarantee, ("values", "none"))
        if not self._references():
            raise SettingError(
                f"through={self.through!r}",
                why="training would keep nothing",
                instead="give a whole combination: through={'x': 0, 'y': 0}, or a list of them",
            )

    def _references(self) -> list[Any]:
        if isinstance(self.through, list):
            several = all(isinstance(one, Mapping | list | tuple) for one in self.through)
            return list(self.through) if several else [tuple(self.through)]
        return [self.through] if self.through is not None and self.through != () else []

    @property
    def promise(self) -> Promise:
        """The values, where they are guaranteed."""
        return Promise.of(self.guarantee)

    def assign(self, support: Support, fold: int) -> Assignment:  # noqa: ARG002 - there is one
        """Different from every reference in two factors or more."""
        kept = np.zeros(len(support), dtype=bool)
        for given in self._references():
            reference = combination(support, self.factors, given)
            codes = support.space.encode([reference])
            kept |= (support.codes != codes).sum(axis=1) <= 1
        return Assignment.of(~kept)
