"""How far the two sides of a split differ, in their values and in the conjunctions of these: compound divergence.

The measure of Keysers et al., "Measuring Compositional Generalization" (2020). Two distributions P (training) and Q
(test) have the Chernoff coefficient C = Σ p^α q^(1-α), and the divergence 1 - C: 0 where they agree, 1 where they have
nothing in common. *Atoms* are compared with α = 0.5. *Compounds* are compared with α = 0.1, because there it matters
whether training holds a compound at all, and less how often. A split that asks for recombination has similar atoms and
different compounds.

What differs from the paper: there, an example is a tree of grammar rules, its atoms are the rules and its compounds the
subtrees. Here an example holds one value for each factor, its atoms are these values and its compounds their
conjunctions of the orders asked for. So the figures of one data set under the two readings are not comparable. With
`weighted=True` a compound counts within an example by how far no larger one explains it, as in the paper:
1 - max P(larger | compound), the larger ones being the example's conjunctions with one further factor, and P being the
share of the whole table's rows.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from html import escape
from itertools import chain, combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from recombine.base.errors import SettingError
from recombine.base.words import count, measure
from recombine.data.columns import Bins
from recombine.data.support import Support
from recombine.numerics.groups import Ints, Numbers, totals
from recombine.verbs.split.row_support import KeptMissing, Names, rows_with_sides, side_positions

ATOMS_ALPHA = 0.5  # both sides count alike: values are to be equally common
COMPOUNDS_ALPHA = 0.1  # whether training holds a compound at all counts for most; both as in the paper

_ROUNDING = 1e-12  # the coefficient of equal sides may come out above 1 by so much


@dataclass(frozen=True, eq=False)
class Compounds:
    """The parts that each combination holds, one for each set of factors, numbered through all sets.

    `place[i, s]` is the part of combination i in set s, `weight[i, s]` what one row of it counts there. The parts of
    set s are numbered from `starts[s]` to `starts[s + 1]`.
    """

    sets: tuple[tuple[int, ...], ...]
    starts: Ints
    place: Ints
    weight: Numbers

    @property
    def size(self) -> int:
        """How many parts there are in all."""
        return int(self.starts[-1])

    def totals(self, rows: Numbers) -> Numbers:
        """How often each part occurs, given the rows of each combination."""
        used = np.flatnonzero(rows)
        counted = (self.weight[used] * rows[used, None]).ravel()
        return totals(self.place[used].ravel(), counted, self.size)


@dataclass(frozen=True)
class FactorsDivergence:
    """The divergence of one set of factors alone; None where a side holds no weight there."""

    factors: tuple[str, ...]
    divergence: float | None


@dataclass(frozen=True)
class Divergence:
    """How far training and test differ, in atoms and in compounds, in all and for each set of factors.

    >>> table = {"colour": ["red", "red", "blue", "blue"], "shape": ["disc", "bar", "disc", "bar"]}
    >>> found = compound_divergence(table, [0, 3], [1, 2], factors=["colour", "shape"])
    >>> found.atoms, found.compounds
    (0.0, 1.0)
    """

    atoms: float
    compounds: float | None
    orders: tuple[int, ...]
    weighted: bool
    train_rows: float
    test_rows: float
    by_factors: tuple[FactorsDivergence, ...]

    @property
    def verdict(self) -> str:
        """Both numbers in a sentence."""
        sides = f"{count(self.train_rows)} training and {count(self.test_rows)} test rows"
        if self.compounds is None:
            return f"Atom divergence {measure(self.atoms)} between {sides}; no compound has weight on both sides."
        return (
            f"Compound divergence {measure(self.compounds)} at atom divergence {measure(self.atoms)}, between {sides}."
        )

    def __repr__(self) -> str:
        return f"Divergence({self.verdict!r})"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return f"<p><b>{escape(self.verdict)}</b></p>"

    def data(self) -> dict[str, Any]:
        """As JSON can hold it, for a manifest or a record."""
        return asdict(self) | {"verdict": self.verdict}


def compound_divergence(
    data: Any,
    train: npt.ArrayLike,
    test: npt.ArrayLike,
    *,
    factors: Names | None = None,
    orders: Iterable[int] = (2,),
    weighted: bool = False,
    bins: Mapping[str, Bins] | None = None,
    missing: KeptMissing = "refuse",
) -> Divergence:
    """Measure any split with the same ruler, whoever made it.

    Over a table `train` and `test` are rows, over a support combinations, each of which counts with all its rows;
    either way positions or a mask. Rows on neither side count only for the weights.

    >>> table = {"a": [0, 0, 1, 1], "b": [0, 1, 0, 1]}
    >>> compound_divergence(table, [0, 1, 2, 3], [0, 1, 2, 3], factors=["a", "b"]).compounds
    0.0
    """
    if isinstance(data, Support):
        support = data
        size, combination, counts = len(support), np.arange(len(support)), support.counts
    else:
        rows = rows_with_sides(data, factors=factors, bins=bins, missing=missing)
        support, size, combination, counts = rows.support, len(rows), rows.combination, np.ones(len(rows))
    sides = []
    for name, side in (("train", train), ("test", test)):
        places = side_positions(side, size, name)  # a row that is drawn twice counts twice
        sides.append(totals(combination[places], counts[places], len(support)))
    return divergence(support, sides[0], sides[1], orders=orders, weighted=weighted)


def divergence(
    support: Support, train: Numbers, test: Numbers, *, orders: Iterable[int] = (2,), weighted: bool = False
) -> Divergence:
    """The same from how many rows of each combination stand on either side."""
    asked = checked_orders(orders, len(support.space.factors))
    for side, rows in (("training", train), ("test", test)):
        if not rows.sum() > 0:
            raise SettingError(
                f"the {side} side is empty",
                why="a divergence compares two distributions, and one of none is not defined",
                instead="give each side at least one row",
            )
    atoms, compounds = parts(support, (1,)), parts(support, asked, weighted=weighted)
    found = [
        compare_parts(kind, train, test, alpha) for kind, alpha in ((atoms, ATOMS_ALPHA), (compounds, COMPOUNDS_ALPHA))
    ]
    names = support.space.names
    lines = [
        FactorsDivergence(tuple(names[k] for k in chosen), value)
        for kind, (_, each) in zip((atoms, compounds), found, strict=True)
        for chosen, value in zip(kind.sets, each, strict=True)
    ]
    return Divergence(
        atoms=found[0][0] or 0.0,
        compounds=found[1][0],
        orders=asked,
        weighted=weighted,
        train_rows=float(train.sum()),
        test_rows=float(test.sum()),
        by_factors=tuple(lines),
    )


def checked_orders(orders: Iterable[int], factors: int) -> tuple[int, ...]:
    """The orders of compounds, each once and in order, or what is wrong with them.

    >>> checked_orders([3, 2, 2], factors=4)
    (2, 3)
    """
    given = (orders,) if isinstance(orders, int) else tuple(orders)
    asked = tuple(sorted(set(given)))
    wrong = [order for order in asked if isinstance(order, bool) or not 2 <= order <= factors]
    if asked and not wrong:
        return asked
    most = f"from 2 to {factors}" if factors > 2 else "2"
    raise SettingError(
        f"orders={list(given)!r}",
        why=f"a compound joins at least two factors, and there {'is' if factors == 1 else 'are'} {factors}",
        instead="name a second factor" if factors < 2 else f"write whole numbers {most}, such as orders=(2,)",
    )


def parts(support: Support, orders: Sequence[int], *, weighted: bool = False) -> Compounds:
    """Number the values (order 1) or conjunctions of some orders that each combination holds."""
    width = len(support.space.factors)
    sets = tuple(chain.from_iterable(combinations(range(width), order) for order in orders))
    found = [support.groups(chosen) for chosen in sets]
    starts = np.concatenate([[0], np.cumsum([groups.size for groups in found])]).astype(np.int64)
    place = np.stack([groups.ids + start for groups, start in zip(found, starts, strict=False)], axis=1)
    weight = np.ones(place.shape)
    for column, chosen in enumerate(sets if weighted else ()):
        weight[:, column] = 1.0 - _share_explained(support, chosen)
    return Compounds(sets, starts, place, weight)


def _share_explained(support: Support, chosen: tuple[int, ...]) -> Numbers:
    """For each combination, how far its part is explained by a larger one: max P(part and a further value | part)."""
    whole = support.groups(chosen)
    rows = whole.total(support.counts)[whole.ids]
    most = np.zeros(len(support))
    for further in range(len(support.space.factors)):
        if further not in chosen:
            larger = support.groups((*chosen, further))
            np.maximum(most, larger.total(support.counts)[larger.ids] / rows, out=most)
    return most


def overlap(train: Numbers, test: Numbers, alpha: float) -> Numbers:
    """What each part adds to the Chernoff coefficient, before it is divided by the sides' totals."""
    if alpha == 0.5:
        return np.sqrt(train * test)
    return np.asarray(train**alpha * test ** (1.0 - alpha))


def compare_parts(
    kind: Compounds, train: Numbers, test: Numbers, alpha: float
) -> tuple[float | None, list[float | None]]:
    """The divergence over all sets of parts together, and over each alone, from the rows of each combination."""
    held = kind.totals(train), kind.totals(test)
    sums = np.stack([*held, overlap(*held, alpha)])
    edges = zip(kind.starts[:-1], kind.starts[1:], strict=True)
    return _divergence(sums, alpha), [_divergence(sums[:, start:stop], alpha) for start, stop in edges]


def _divergence(sums: Numbers, alpha: float) -> float | None:
    """1 - the coefficient, from what each part holds: in training, in test, and shared."""
    train, test, shared = sums.sum(axis=1)
    if train <= 0 or test <= 0:
        return None
    found = float(1.0 - shared / (train**alpha * test ** (1.0 - alpha)))
    return found if found > _ROUNDING else 0.0
