"""The groups that tested combinations form by their parts: those that share a value, or a pair of values.

Of a factor whose value is a set the parts are its elements: a combination then stands in several groups of one factor
("sets that hold A"), and two elements of one set are a pair like any other. So a group is not told by a column of
numbers, one for each combination, but by entries: this combination is in that group. For ordinary factors the two are
the same.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from recombine.base.words import BETWEEN
from recombine.data.space import Space
from recombine.data.support import Support
from recombine.numerics.groups import Codes, Ints, number
from recombine.numerics.rows import ranges

HOLDING = "any with "
"""What stands before elements where a group is all sets that hold them."""


@dataclass(frozen=True, eq=False)
class PartGroups:
    """The values of one factor, or the pairs of two, that were tested. Legend: e entries, g groups."""

    factors: tuple[int, ...]
    of: Ints  # (e,) the combination of each entry
    ids: Ints  # (e,) its group
    codes: Ints  # (g, factors) which values or elements make the group

    def __len__(self) -> int:
        return len(self.codes)

    def members(self) -> list[Ints]:
        """The combinations of each group."""
        order = np.argsort(self.ids, kind="stable")
        return np.split(self.of[order], np.cumsum(np.bincount(self.ids, minlength=len(self)))[:-1])


def factor_pairs(space: Space) -> Iterator[tuple[int, int]]:
    """Every two factors, and a set factor with itself: its elements meet each other."""
    yield from combinations(range(len(space.factors)), 2)
    yield from ((k, k) for k in space.set_factors)


def part_groups(support: Support, factors: tuple[int, ...]) -> PartGroups:
    """Number the values of one factor, or the pairs of two, by which combinations hold them.

    >>> import recombine
    >>> seen = recombine.read({"given": ["A", "A+B", "B+A+C"], "line": ["x", "y", "x"]}, sets={"g": "given:+"},
    ...     factors=["line"])
    >>> found = part_groups(seen, (1, 1))
    >>> [(group_label(seen.space, found.factors, row)["g"], len(one)) for row, one in zip(found.codes, found.members())]
    [('any with A + B', 2), ('any with A + C', 1), ('any with B + C', 1)]
    """
    if not set(factors) & set(support.space.set_factors):
        groups = support.groups(factors)
        codes = support.codes[groups.representatives][:, list(factors)]
        return PartGroups(factors, np.arange(len(support)), groups.ids, codes.astype(np.int64))
    first = support.space.factors[factors[0]].kind.rows(support.codes[:, factors[0]])
    if len(factors) == 1:
        keys, ids = number(first.columns, first.width)
        return PartGroups(factors, first.owners, ids, keys[:, None])
    second = support.space.factors[factors[1]].kind.rows(support.codes[:, factors[1]])
    meeting = second.lengths[first.owners]
    of, left = np.repeat(first.owners, meeting), np.repeat(first.columns, meeting)
    right = second.columns[ranges(second.starts[:-1][first.owners], meeting)]
    kept = left < right if factors[0] == factors[1] else np.ones(len(of), dtype=bool)
    keys, ids = number((left * second.width + right)[kept], first.width * second.width)
    return PartGroups(factors, of[kept], ids, np.stack([keys // second.width, keys % second.width], axis=1))


def possible_codes(space: Space, factors: tuple[int, ...]) -> Ints:
    """(g, factors) All groups of some factors that there could be, tested or not; for few enough."""
    if not set(factors) & set(space.set_factors):
        return space.restricted(factors).every().astype(np.int64)
    sizes = [space.factors[k].kind.effects for k in factors]
    every = np.stack([grid.ravel() for grid in np.indices(sizes)], axis=1)
    return every[every[:, 0] < every[:, 1]] if len(set(factors)) < len(factors) else every


def group_label(space: Space, factors: tuple[int, ...], codes: Codes | Ints) -> dict[str, str]:
    """A group as people read it; of sets by the elements that they hold."""
    found: dict[str, str] = {}
    for k, code in zip(factors, codes.tolist(), strict=True):
        factor = space.factors[k]
        label = factor.effect_labels[code]
        if factor.sets is None:
            found[factor.name] = label
        else:
            found[factor.name] = found[factor.name] + BETWEEN + label if factor.name in found else HOLDING + label
    return found
