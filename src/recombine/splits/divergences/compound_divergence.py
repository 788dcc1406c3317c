"""Hold out combinations so that compounds differ and atoms do not: maximum compound divergence.

After Keysers et al., "Measuring Compositional Generalization" (2020). The measure is in `divergence`, the search in
`divergence_search`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np

from recombine.checks import check_number, check_whole, is_number, is_whole
from recombine.errors import SettingError
from recombine.splits.checker import Promise
from recombine.splits.divergences.measure import checked_orders, parts
from recombine.splits.divergences.search import LEFT_OUT, TEST, Found, Wanted, search
from recombine.splits.splitter import Assignment, Splitter
from recombine.tables.support import Support
from recombine.words import count, measure

Size = int | float
Progress = Callable[[float], None]


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class CompoundDivergence(Splitter):
    """Hold out the combinations whose **conjunctions** training holds least, while all values stay as common there.

    `test_size` is the test side's share of the **rows**, or a whole number of them; training keeps the rest, unless
    `train_size` says otherwise. Rows on neither side must be allowed by `leave_out=True`; with them left out the two
    sides can be further apart.
    Combinations stay whole, so where they have many rows, a size is met as nearly as they allow.

    `orders` says which conjunctions count, pairs by default; `weighted` counts each by how far no larger one explains
    it. The split with the highest compound divergence found at an atom divergence of at most `atom_limit` is given;
    what the two are is defined in `compound_divergence`. It is the best of `tries` searches of `rounds` rounds: more of
    either cost time and may find better ones. Every value keeps a combination in training.

    >>> table = {"colour": ["red", "red", "blue", "blue"], "shape": ["disc", "bar", "disc", "bar"]}
    >>> splitter = CompoundDivergence(factors=["colour", "shape"], test_size=0.5, rounds=20)
    >>> [sorted([train.tolist(), test.tolist()]) for train, test in splitter.split(table)]
    [[[0, 3], [1, 2]]]
    """

    test_size: Size = 0.2
    train_size: Size | None = None
    leave_out: bool = False
    orders: Sequence[int] = (2,)
    weighted: bool = False
    atom_limit: float = 0.02
    n_splits: int = 1
    random_state: int = 0
    tries: int = 3
    rounds: int = 1000

    def check_settings(self) -> None:
        """Sizes that do not contradict each other, orders that the factors have, a limit that can be kept."""
        object.__setattr__(self, "orders", checked_orders(self.orders, len(self.factors)))
        for name in ("test_size", "train_size"):
            _check_size(name, getattr(self, name))
        self._check_sizes_agree()
        check_number(
            "atom_limit",
            self.atom_limit,
            least=0,
            most=1,
            why="an atom divergence lies between 0, the same values equally often, and 1",
            instead="write atom_limit=0.02, as the authors of the measure did",
        )
        check_whole("tries", self.tries, least=1)
        check_whole("rounds", self.rounds, least=1)

    @property
    def promise(self) -> Promise:
        """Every value stays in training."""
        return Promise(values=True)

    def assign(self, support: Support, fold: int) -> Assignment:
        """The best sides that were found."""
        return self.seek(support, fold)

    def seek(self, support: Support, fold: int = 0, *, progress: Progress | None = None) -> Assignment:
        """The same, telling how far it is: `progress` is called with the share that is done."""
        wanted = self._wanted(support)
        best: Found | None = None
        for place in range(self.tries):
            rng = self.rng(fold, f"try {place}")
            tell = _part_of(progress, place, self.tries)
            found = search(wanted, rng, rounds=self.rounds, progress=tell)
            best = found if found.better_than(best, wanted) else best
        if best is None or not best.kept:
            raise self._unreached(support, wanted, best)
        return Assignment.of(best.sides == TEST, left_out=best.sides == LEFT_OUT)

    def _wanted(self, support: Support) -> Wanted:
        total = support.total
        test = _rows("test_size", self.test_size, support)
        train = total - test if self.train_size is None else _rows("train_size", self.train_size, support)
        self._check_room(train, test, total)
        atoms, compounds = parts(support, (1,)), parts(support, tuple(self.orders), weighted=self.weighted)
        wanted = Wanted(atoms, compounds, support.counts, train, test, self.leave_out, float(self.atom_limit))
        if total - train - test > wanted.slack and not self.leave_out:
            raise SettingError(
                f"{count(train)} training and {count(test)} test rows leave {count(total - train - test)} on no side",
                why="rows are not dropped unless that was asked for",
                instead="write leave_out=True, or leave train_size away",
            )
        return wanted

    def _check_sizes_agree(self) -> None:
        if self.leave_out and self.train_size is None:
            raise SettingError(
                "leave_out=True without train_size",
                why="it is not said how many rows training keeps, so none can be left out",
                instead="write train_size=0.4, or the number of rows",
            )

    def _check_room(self, train: float, test: float, total: float) -> None:
        if min(train, test) > 0 and train + test <= total + 0.5:
            return
        raise SettingError(
            f"{count(train)} training and {count(test)} test rows",
            why=f"the table has {count(total)}, and neither side may be empty",
            instead="write smaller sizes, as numbers of rows or as shares: train_size=0.4, test_size=0.05",
        )

    def _unreached(self, support: Support, wanted: Wanted, best: Found | None) -> SettingError:
        factor, needed = _least_rows(support)
        if needed > wanted.train_rows + wanted.slack:
            return SettingError(
                f"{count(wanted.train_rows)} training rows do not hold every value",
                why=f"the values of {factor!r} alone take {count(needed)} rows, as combinations stay whole",
                instead=f"let training keep {count(ceil(needed))} rows or more",
            )
        if best is None or best.missed_rows > 0:
            return SettingError(
                f"no split of {count(wanted.train_rows)} training and {count(wanted.test_rows)} test rows was found",
                why=f"combinations stay whole, and they have up to {count(float(support.counts.max()))} rows; "
                "every value stays in training",
                instead="ask for other sizes, or for more tries",
            )
        return SettingError(
            f"atom_limit={self.atom_limit:g} was not reached",
            why=f"the lowest atom divergence found is {measure(best.atoms)}, at a compound divergence of "
            f"{measure(best.compounds)}",
            instead=f"write atom_limit={ceil(best.atoms * 1000) / 1000:g}, or try a larger test side; in Python, more "
            "tries and rounds search longer",
        )


def _check_size(name: str, value: Any) -> None:
    if value is None:
        return
    if not is_number(value) or not value > 0 or (value >= 1 and not is_whole(value)):
        raise SettingError(
            f"{name}={value!r}",
            why="it is a whole number of rows or a share of them, and neither side may be empty",
            instead=f"write {name}=0.2, or {name}=1000",
        )


def _rows(name: str, size: Size, support: Support) -> float:
    """A size in rows: a whole number is one already, a share is taken of all, whole where rows are."""
    if isinstance(size, float):
        taken = size * support.total
        return float(round(taken)) if np.array_equal(support.counts, np.round(support.counts)) else taken
    if size > support.total:
        raise SettingError(
            f"{name}={size!r}",
            why=f"the table has {count(support.total)} rows",
            instead=f"write a smaller number, or a share: {name}=0.2",
        )
    return float(size)


def _least_rows(support: Support) -> tuple[str, float]:
    """The factor whose values take most rows at least, if each is held by its smallest combination, and how many."""
    least = []
    for k, name in enumerate(support.space.names):
        smallest = np.full(support.groups([k]).size, np.inf)
        np.minimum.at(smallest, support.groups([k]).ids, support.counts)
        least.append((float(smallest.sum()), name))
    needed, name = max(least)
    return name, needed


def _part_of(progress: Progress | None, place: int, parts_in_all: int) -> Progress | None:
    return None if progress is None else lambda share: progress((place + share) / parts_in_all)
