"""Rules that say more than adding up: one factor gated by another, products, values that stand for each other.

Each is fitted to seen combinations and asked for others, as the rules of `simple_rules` are. scikit-learn has no
factorisation with offsets for missing cells, and libraries of factorisation machines (libFM, fastFM) are no longer
kept; so products are fitted here, by alternating least squares over the values of one factor at a time (Rendle,
*Factorization machines*, 2010). Substitution is the reach of the coverage principle: values that gave equal answers in
every context that they share, two or more, answer alike in others.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import permutations

import numpy as np

from recombine.numerics.groups import Codes, Flags, Groups, Ints, Numbers, group, totals
from recombine.numerics.simple_rules import SimpleRules, filled

GATED, PRODUCT, TWO_PRODUCTS, SUBSTITUTION = "gated", "one product", "two products", "substitution"

_SWEEPS = 100
_STARTS = 3
_START = 0.5
_SETTLED = 1e-3
"""Of the answers' spread: a sweep that changes no answer by more is the last."""
_RIDGE = 0.05
"""Of one combination: a value that was seen with few others keeps a small product."""
_WORTH = 3.0
_PER_NUMBER = 2
"""Seen combinations for each number that products have to be told by."""
_FEWEST_SHARED = 2
"""Contexts in which two values must have given equal answers before one stands for the other."""
_MOST_COMPARED = 5 * 10**7
_EQUAL = 3.0
"""Standard deviations: answers that differ by less than noise makes them, and so much, are equal."""


@dataclass(frozen=True, eq=False)
class SeenTable:
    """What the rules are fitted to. Legend: n seen combinations, m numbers each.

    `noise` is the variance of each answer, by its number of rows; 0 where it is not known.
    """

    codes: Codes  # (n, factors)
    sizes: tuple[int, ...]
    values: Numbers  # (n, m)
    noise: Numbers  # (n,)

    @property
    def middle(self) -> Numbers:
        """(m,) The mean answer, which is said where a rule finds nobody to ask."""
        return np.asarray(self.values.mean(axis=0))

    def groups(self, factors: Sequence[int]) -> Groups:
        """The combinations by their values of some factors."""
        return group(self.codes, sizes=self.sizes, factors=tuple(factors))

    def subset(self, rows: Ints) -> "SeenTable":
        """Some of the combinations."""
        return SeenTable(self.codes[rows], self.sizes, self.values[rows], self.noise[rows])


Rule = Callable[[SeenTable, Codes], Numbers]


def products(seen: SeenTable, asked: Codes, *, rank: int) -> Numbers:
    """(c, m) An effect for each value, and for each pair of factors the product of what their values have; `rank` such.

    >>> grid = np.indices((4, 4)).reshape(2, -1).T
    >>> seen = np.delete(grid, 10, axis=0)
    >>> table = SeenTable(seen, (4, 4), np.prod(seen, axis=1, keepdims=True) * 1.0, np.zeros(15))
    >>> grid[10].tolist(), round(float(products(table, grid[10:11], rank=1)[0, 0]))
    ([2, 2], 4)
    """
    if seen.values.shape[1] == 2:  # the shares of two classes, which tell each other
        first = _products_of_one(seen.codes, seen.sizes, seen.values[:, 0], asked, rank)
        return np.stack([first, seen.values[0].sum() - first], axis=1)
    found = [_products_of_one(seen.codes, seen.sizes, column, asked, rank) for column in seen.values.T]
    return np.stack(found, axis=1)


def _products_of_one(codes: Codes, sizes: tuple[int, ...], values: Numbers, asked: Codes, rank: int) -> Numbers:
    """The best of several starts: alternating steps may end in a valley that is not the lowest. Without products there
    is but one.
    """
    middle, spread = float(values.mean()), float(values.std()) or 1.0
    wanted = (values - middle) / spread
    fits = [
        _alternate(codes, sizes, wanted, np.random.default_rng(start), rank) for start in range(_STARTS if rank else 1)
    ]
    best = min(fits, key=lambda each: float(np.square(wanted - _combined(_rows(each, codes))).sum()))
    return middle + spread * _combined(_rows(best, asked))


def _alternate(
    codes: Codes, sizes: tuple[int, ...], wanted: Numbers, rng: np.random.Generator, rank: int
) -> list[Numbers]:
    """(size, 1 + rank) of each factor: what its values add, and what they are multiplied with."""
    each = [np.hstack([np.zeros((size, 1)), _START * rng.normal(size=(size, rank))]) for size in sizes]
    said = np.zeros(len(wanted))
    for _ in range(_SWEEPS):
        for k in range(len(sizes)):
            others = [one for place, one in enumerate(_rows(each, codes)) if place != k]
            points = np.hstack([np.ones((len(codes), 1)), np.sum(others, axis=0)[:, 1:]])
            each[k] = _ridge_by_value(points, wanted - _combined(others), codes[:, k], sizes[k])
        before, said = said, _combined(_rows(each, codes))
        if np.abs(said - before).max() < _SETTLED:
            break
    return each


def _rows(each: list[Numbers], codes: Codes) -> list[Numbers]:
    return [one[codes[:, k]] for k, one in enumerate(each)]


def _combined(parts: list[Numbers]) -> Numbers:
    """(n,) Offsets added up, and the products of each two factors."""
    every = sum(parts, np.zeros_like(parts[0]))
    squares = sum((np.square(one[:, 1:]) for one in parts), np.zeros_like(every[:, 1:]))
    return np.asarray(every[:, 0] + (np.square(every[:, 1:]) - squares).sum(axis=1) / 2)


def _ridge_by_value(points: Numbers, wanted: Numbers, value: Codes, size: int) -> Numbers:
    """(size, p) A ridge regression for each value of a factor, all at once."""
    width = points.shape[1]
    moments = np.empty((size, width, width))
    for i in range(width):
        for j in range(width):
            moments[:, i, j] = totals(value, points[:, i] * points[:, j], size)
    sums = np.stack([totals(value, points[:, i] * wanted, size) for i in range(width)], axis=1)
    scale = np.maximum(np.square(points).mean(axis=0), 1e-12)
    return np.asarray(np.linalg.solve(moments + np.diag(_RIDGE * scale), sums[:, :, None])[:, :, 0])


def gated(seen: SeenTable, asked: Codes) -> Numbers:
    """(c, m) The value of one factor decides which other factor is looked at; both are chosen by what they lose on seen
    combinations that are left out.

    >>> grid = np.indices((2, 3, 3)).reshape(3, -1).T
    >>> truth = np.where(grid[:, 0] == 0, grid[:, 1], grid[:, 2])[:, None] * 1.0
    >>> gated(SeenTable(grid[1:-1], (2, 3, 3), truth[1:-1], np.zeros(16)), grid[[0, -1]]).ravel().tolist()
    [0.0, 2.0]
    """
    factors, own = range(len(seen.sizes)), np.arange(len(seen.codes))
    rules = SimpleRules(seen.codes, seen.groups, seen.values, np.ones(len(own)))
    lost = {}
    for g, f in permutations(factors, 2):
        others = filled(rules.factors_alone((g, f), seen.codes, own=own), seen.middle)
        lost[g, f] = totals(seen.codes[:, g], np.square(others - seen.values).sum(axis=1), seen.sizes[g])
    best = {g: np.argmin([lost.get((g, f), np.full(seen.sizes[g], np.inf)) for f in factors], axis=0) for g in factors}
    gate = min(factors, key=lambda g: sum(lost[g, f][v] for v, f in enumerate(best[g])))
    answers = {f: filled(rules.factors_alone((gate, f), asked), seen.middle) for f in factors if f != gate}
    opened = best[gate][asked[:, gate]]
    return np.select([(opened == f)[:, None] for f in answers], list(answers.values()))


def substituted(seen: SeenTable, asked: Codes) -> Numbers:
    """(c, m) What the same combination answers with another value in one place, that was never seen to differ.

    >>> rows = [(a, b, float(a // 2 * 10 + b)) for a in range(4) for b in range(4) if (a, b) != (1, 3)]
    >>> table = np.array(rows)
    >>> codes = table[:, :2].astype(np.int32)
    >>> substituted(SeenTable(codes, (4, 4), table[:, 2:], np.zeros(15)), np.array([[1, 3]], dtype=np.int32)).tolist()
    [[3.0]]
    """
    total, many = np.zeros((len(asked), seen.values.shape[1])), np.zeros(len(asked))
    for k in range(len(seen.sizes)):
        more, found = _by_factor(seen, k, asked)
        total, many = total + more, many + found
    return np.where(many[:, None] > 0, total / np.maximum(many, 1)[:, None], seen.middle)


def _by_factor(seen: SeenTable, k: int, asked: Codes) -> tuple[Numbers, Numbers]:
    """(c, m), (c,) The answers of values that stand for that of factor k, added up, and how many there are."""
    contexts = seen.groups([other for other in range(len(seen.sizes)) if other != k])
    width = seen.values.shape[1]
    if seen.sizes[k] ** 2 * contexts.size * width > _MOST_COMPARED:
        return np.zeros((len(asked), width)), np.zeros(len(asked))
    table = np.full((seen.sizes[k], contexts.size, width), np.nan)
    table[seen.codes[:, k], contexts.ids] = seen.values
    noise = np.zeros(table.shape[:2])
    noise[seen.codes[:, k], contexts.ids] = seen.noise
    place = contexts.lookup(asked)
    usable = _stand_in(table, noise)[asked[:, k]] & ~np.isnan(table[:, place, 0]).T & (place >= 0)[:, None]
    return np.einsum("cv,vcm->cm", usable, np.nan_to_num(table[:, place])), usable.sum(axis=1).astype(np.float64)


def _stand_in(table: Numbers, noise: Numbers) -> Flags:
    """(v, v) Which values of a factor gave equal answers wherever both were seen, and that often enough."""
    size = len(table)
    found = np.zeros((size, size), dtype=bool)
    exact = (1e-9 * float(np.nanmax(np.abs(table), initial=0.0))) ** 2 + np.finfo(float).tiny
    for one in range(size):
        apart = np.square(table - table[one]).sum(axis=2) / (noise + noise[one] + exact)  # NaN where one was not seen
        shared = (~np.isnan(apart)).sum(axis=1)
        # where nothing differs but noise, each adds 1 on the mean and 2 to the variance
        found[one] = (shared >= _FEWEST_SHARED) & (np.nansum(apart, axis=1) <= shared + _EQUAL * np.sqrt(2 * shared))
    np.fill_diagonal(found, val=False)
    return found


RULES: Mapping[str, Rule] = {
    GATED: gated,
    PRODUCT: partial(products, rank=1),
    TWO_PRODUCTS: partial(products, rank=2),
    SUBSTITUTION: substituted,
}


def rules_for(seen: SeenTable, *, quick: bool = False) -> Mapping[str, Rule]:
    """Those that can be told from so many combinations, and may say more than simpler ones do; or the `quick` ones.

    With two factors a gated pair is the combination itself. Products take a number more for each value: with hardly
    more combinations than numbers, one that is held out is told much worse than an unseen one will be. And they take
    the longest, so they are tried only where one product fits what is seen better than noise would let it.
    """
    few = len(seen.codes) < _PER_NUMBER * 2 * sum(seen.sizes)
    left_out = {GATED} if len(seen.sizes) <= 2 else set()
    if quick or few or not _product_fits(seen):
        left_out |= {PRODUCT, TWO_PRODUCTS}
    elif len(seen.codes) < _PER_NUMBER * 3 * sum(seen.sizes):
        left_out.add(TWO_PRODUCTS)
    return {name: rule for name, rule in RULES.items() if name not in left_out}


def _product_fits(seen: SeenTable) -> bool:
    """Whether the numbers of one product each explain several times what one more number explains of noise."""
    count, numbers = len(seen.codes), sum(seen.sizes)
    added = [_products_of_one(seen.codes, seen.sizes, column, seen.codes, 0) for column in seen.values.T]
    plain = float(np.square(np.stack(added, axis=1) - seen.values).sum())
    left = float(np.square(products(seen, seen.codes, rank=1) - seen.values).sum())
    return (plain - left) / numbers > _WORTH * left / max(count - 2 * numbers, 1)
