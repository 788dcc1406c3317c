"""Context dependence: a context says which of two features decides."""

from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
import numpy.typing as npt

from recombine.errors import SettingError
from recombine.lab.tasks.conjunctions.task import SignTask
from recombine.lab.tasks.task import Codes
from recombine.tables.space import Space


@dataclass(frozen=True, kw_only=True)
class ContextDependence(SignTask):
    """CD-k: the first half of the contexts ask for the first feature, the others for the second.

    The lower half of a feature's `values` means -1, the upper half +1. Left out, in every context: the first feature
    among its first k values, and the second among its first k values that mean +1.

    >>> [int(ContextDependence(k=k).is_shown(ContextDependence(k=k).every()).sum()) for k in (1, 2, 3)]
    [70, 64, 54]
    """

    k: int = 3
    contexts: int = 2
    values: int = 6

    @final
    def check_settings(self) -> None:
        """Halves, and a block that fits one of them."""
        for setting, given in (("contexts", self.contexts), ("values", self.values)):
            if given < 2 or given % 2:
                raise SettingError(
                    f"{setting}={given!r}",
                    why="there are two halves of equal size",
                    instead=f"write an even number: {setting}=2, 4 or 6",
                )
        if not 1 <= self.k <= self.values // 2:
            raise SettingError(
                f"k={self.k!r}",
                why=f"k x k values are left out, and half of a feature's values are {self.values // 2}",
                instead=f"write k from 1 to {self.values // 2}",
            )

    @cached_property
    def space(self) -> Space:
        """The context and two features."""
        feature = range(self.values)
        return Space.of({"context": range(self.contexts), "feature_1": feature, "feature_2": feature})

    @final
    def answers(self, combinations: Codes) -> npt.NDArray[np.float64]:
        """The sign of the feature that the context asks for."""
        context, first, second = combinations.T
        decides = np.where(context < self.contexts // 2, first, second)
        return np.where(decides < self.values // 2, -1.0, 1.0)

    @final
    def is_shown(self, combinations: Codes) -> npt.NDArray[np.bool_]:
        """All but the block."""
        _, first, second = combinations.T
        half = self.values // 2
        return np.asarray((first >= self.k) | (second < half) | (second >= half + self.k))
