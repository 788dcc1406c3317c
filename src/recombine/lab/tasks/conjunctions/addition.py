"""Addition: two numbers, each shown as a symbol of its own, and their sum."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np
import numpy.typing as npt

from recombine.errors import SettingError
from recombine.lab.tasks.checks import at_least
from recombine.lab.tasks.conjunctions.task import ConjunctionTask, Form, two_items
from recombine.lab.tasks.task import Codes
from recombine.seeds import derived
from recombine.tables.space import Space


@dataclass(frozen=True, kw_only=True)
class Addition(ConjunctionTask):
    """Two numbers around 0, `values` of them for each factor, and their sum as target.

    Shown are the pairs that hold one of the `anchors`, (0,) unless given; or, if `dispersed`, two pairs a row in a
    circulant band whose rows are exchanged by the seed `shuffle`, so that the seen pairs form one long cycle.

    >>> task = Addition()
    >>> len(task.own_parts(seed=0).train.every()), len(task.every())
    (17, 81)
    >>> task.tensors([[0, 8], [8, 8]], seed=0).targets
    tensor([[0.],
            [8.]])
    """

    values: int = 9
    anchors: tuple[float, ...] | None = None
    dispersed: bool = False
    shuffle: int = 0

    @final
    def check_settings(self) -> None:
        """Anchors that exist, or a band."""
        at_least("values", self.values, 3)
        if self.dispersed and self.anchors is not None:
            raise SettingError(
                f"dispersed=True with anchors={self.anchors!r}",
                why="each of them says alone which pairs are shown",
                instead="leave one of them out",
            )
        wrong = [anchor for anchor in self.anchors or () if anchor not in self._numbers]
        if wrong or self.anchors == ():
            raise SettingError(
                f"anchors={self.anchors!r}",
                why=f"{wrong[0]!r} is not one of the numbers" if wrong else "then no pair is shown",
                instead=f"choose among {self._numbers[0]} to {self._numbers[-1]}, for example anchors=(0,)",
            )
        if self.anchors is None and not self.dispersed and 0 not in self._numbers:
            raise SettingError(
                f"values={self.values} without anchors",
                why="an even number of values leaves no 0 in the middle",
                instead=f"write for example anchors=({self._numbers[0]},)",
            )

    @property
    @final
    def form(self) -> Form:
        """A sum is a number."""
        return "values"

    @cached_property
    def space(self) -> Space:
        """The two numbers."""
        return two_items(self._numbers)

    @final
    def answers(self, combinations: Codes) -> npt.NDArray[np.float64]:
        """The sums."""
        numbers = np.array(self._numbers, dtype=np.float64)
        return np.asarray(numbers[combinations].sum(axis=1))

    @final
    def is_shown(self, combinations: Codes) -> npt.NDArray[np.bool_]:
        """An anchor on either side, or a place in the band."""
        if not self.dispersed:
            places = [self._numbers.index(anchor) for anchor in (self.anchors or (0,))]
            return np.asarray(np.isin(combinations, places).any(axis=1))
        rows = np.random.default_rng(derived(self.shuffle, "rows")).permutation(self.values)
        return np.isin((combinations[:, 1] - rows[combinations[:, 0]]) % self.values, [0, 1])

    @cached_property
    def _numbers(self) -> list[Any]:
        middle = (self.values - 1) / 2
        return [int(number) if number.is_integer() else number for number in (k - middle for k in range(self.values))]
