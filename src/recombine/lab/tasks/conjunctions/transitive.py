"""Transitive equivalence and ordering: what holds of two items that were never shown together."""

from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
import numpy.typing as npt

from recombine.errors import SettingError
from recombine.lab.tasks.checks import at_least
from recombine.lab.tasks.conjunctions.task import SignTask, two_items
from recombine.lab.tasks.task import Codes
from recombine.tables.space import Space


@dataclass(frozen=True, kw_only=True)
class TransitiveEquivalence(SignTask):
    """Whether two items are of the same class. `classes` holds how many items each class has.

    Shown is every pair that holds one of the first `trained` items of a class. No kernel of this kind can do it: the
    pairs that are left need an interaction that was never seen.

    >>> task = TransitiveEquivalence(classes=(5, 5), trained=4)
    >>> int(task.is_shown(task.every()).sum())
    96
    """

    classes: tuple[int, ...] = (2, 2)
    trained: int = 1

    @final
    def check_settings(self) -> None:
        """At least two classes, each with an item that is trained and one that is not."""
        if len(self.classes) < 2 or not 1 <= self.trained < min(self.classes):
            raise SettingError(
                f"classes={self.classes!r} with trained={self.trained!r}",
                why="there are two classes or more, each with items that are trained and items that are not",
                instead="write for example classes=(5, 5), trained=1",
            )

    @cached_property
    def space(self) -> Space:
        """Two items; an item's name says its class: a0, a1, b0, b1."""
        names = "abcdefghijklmnopqrstuvwxyz"
        if len(self.classes) > len(names):
            raise SettingError(
                f"{len(self.classes)} classes", why=f"there are names for {len(names)}", instead="ask for fewer"
            )
        return two_items(
            [f"{name}{item}" for name, size in zip(names, self.classes, strict=False) for item in range(size)]
        )

    @final
    def answers(self, combinations: Codes) -> npt.NDArray[np.float64]:
        """+1 for the same class, else -1."""
        classes = np.repeat(np.arange(len(self.classes)), self.classes)[combinations]
        return np.where(classes[:, 0] == classes[:, 1], 1.0, -1.0)

    @final
    def is_shown(self, combinations: Codes) -> npt.NDArray[np.bool_]:
        """A trained item on either side."""
        trained = np.concatenate([np.arange(size) < self.trained for size in self.classes])
        return np.asarray(trained[combinations].any(axis=1))


@dataclass(frozen=True, kw_only=True)
class TransitiveOrdering(SignTask):
    """Which of two items comes later: +1 if it is the second. Shown are the neighbours; no item meets itself.

    >>> task = TransitiveOrdering()
    >>> shown = task.is_shown(task.every())
    >>> int(shown.sum()), int((~shown).sum())
    (12, 30)
    """

    items: int = 7

    @final
    def check_settings(self) -> None:
        """Enough items for pairs that are no neighbours."""
        at_least("items", self.items, 3)

    @cached_property
    def space(self) -> Space:
        """Two different items."""
        items = list(range(self.items))
        return two_items(items).forbidding({"first": item, "second": item} for item in items)

    @final
    def answers(self, combinations: Codes) -> npt.NDArray[np.float64]:
        """The sign of second minus first."""
        return np.asarray(np.sign(combinations[:, 1] - combinations[:, 0]), dtype=np.float64)

    @final
    def is_shown(self, combinations: Codes) -> npt.NDArray[np.bool_]:
        """Neighbours."""
        return np.asarray(np.abs(combinations[:, 1] - combinations[:, 0]) == 1)
