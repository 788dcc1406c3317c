"""The rules that anybody could use, from the answers of seen combinations: the nearest seen ones, one factor alone.

The one home of both, whoever asks: an audit and a prediction of each seen combination as the others would answer it,
an evaluation and a rehearsal of combinations that were not seen. Adding up effects stands in `additive_fit`.

Each answer is a weighted mean over seen combinations. With weights of one, combinations count alike, which is what a
claim about combinations needs; with their numbers of rows, rows count alike, which is what a score over rows needs.
The two differ where some combinations have many more rows than others, so a name says where rows count.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING

import numpy as np

from recombine.numerics.groups import Codes, Groups, Ints, Numbers, columns_of, match_counts

if TYPE_CHECKING:
    from scipy.sparse import csr_array

ADDITIVE, NEAREST, MEAN, MAJORITY = "additive", "nearest seen", "mean", "majority"
CONSTANTS = (MEAN, MAJORITY)
"""One answer for all, under the name that its kind of target gives it."""

_MOST_SETS = 300
"""Sets of factors whose groups are numbered: each takes eight bytes a combination, and is kept."""
_GROUPING = 20
"""Numbering a combination's group takes about as long as comparing so many values."""
_MOST_COMPARED = 10**10
"""Values compared with each other, which takes some ten seconds."""
_AT_A_TIME = 1 << 20
"""Pairs of combinations compared at a time: they stay close to the processor."""


def by_rows(rule: str) -> str:
    """What a rule is called in which rows count alike, and not combinations.

    >>> by_rows(NEAREST)
    'nearest seen (by rows)'
    """
    return f"{rule} (by rows)"


def alone_name(factor: str) -> str:
    """What the rule is called that looks at one factor.

    >>> alone_name("colour")
    'colour alone'
    """
    return f"{factor} alone"


def is_alone(rule: str) -> bool:
    """Whether that is the name of a rule that looks at one factor.

    >>> is_alone(alone_name("colour")), is_alone(by_rows(alone_name("colour"))), is_alone(NEAREST)
    (True, True, False)
    """
    return rule.removesuffix(by_rows("")).endswith(alone_name(""))


def filled(answers: Numbers, otherwise: Numbers | float) -> Numbers:
    """What a rule says, and something else where it says nothing (NaN)."""
    return np.where(np.isnan(answers), otherwise, answers)


@dataclass(frozen=True, eq=False)
class SimpleRules:
    """The answers of seen combinations, for rules to look at. Legend: n seen combinations, m numbers each.

    A rule says NaN where no seen combination can be asked. Sums of large numbers that hardly differ lose their digits,
    so `values` are best given about their mean. A sparse matrix holds the shares of many classes.

    >>> from recombine.numerics.groups import group
    >>> codes = np.array([[0, 0], [0, 1], [1, 0]], dtype=np.int32)
    >>> groups = lambda factors: group(codes, sizes=(2, 2), factors=tuple(factors))
    >>> rules = SimpleRules(codes, groups, np.array([[1.0], [3.0], [7.0]]), np.array([1.0, 3.0, 1.0]))
    >>> rules.nearest(np.array([[1, 1]])).tolist(), rules.factors_alone([0], codes, own=np.arange(3)).ravel().tolist()
    ([[4.0]], [3.0, 1.0, nan])
    """

    codes: Codes  # (n, factors)
    groups: Callable[[Sequence[int]], Groups]  # of these combinations, for some of the factors
    values: "Numbers | csr_array"  # (n, m)
    weights: Numbers  # (n,) 0 for a combination that has no answer

    @cached_property
    def _weighted(self) -> "Numbers | csr_array":
        if isinstance(self.values, np.ndarray):
            return self.values * self.weights[:, None]
        return self.values.multiply(self.weights[:, None]).tocsr()

    def factors_alone(self, factors: Sequence[int], asked: Codes, *, own: Ints | None = None) -> Numbers:
        """(c, m) The mean answer of those with the same values of some factors, or of one.

        `own` are the places of what is asked among the seen ones, each of which is then left out for its own answer.
        """
        return _means(*self._sums(factors, asked, own))

    def by_name(self, names: Sequence[str], asked: Codes, *, own: Ints | None = None) -> Iterator[tuple[str, Numbers]]:
        """Each of the rules with its name, given those of the factors."""
        yield NEAREST, self.nearest(asked, own=own)
        for k, name in enumerate(names):
            yield alone_name(name), self.factors_alone([k], asked, own=own)

    def nearest(self, asked: Codes, *, own: Ints | None = None) -> Numbers:
        """(c, m) The mean answer of those that agree on the most factors, the combination itself if it was seen.

        `own` as above. Where there are very many factors and combinations, those that share few factors are not looked
        for.
        """
        sets = 2 ** asked.shape[1] - 1
        compared = len(asked) * self.codes.size
        grouped = _GROUPING * sets * (len(asked) + len(self.codes))
        by_pairs = compared <= (grouped if sets <= _MOST_SETS else _MOST_COMPARED)
        return (self._nearest_by_pairs if by_pairs else self._nearest_by_groups)(asked, own)

    def _nearest_by_groups(self, asked: Codes, own: Ints | None) -> Numbers:
        """Where none agrees on more than r factors, each that agrees on r is in exactly one group of r factors."""
        factors = asked.shape[1]
        found = np.full((len(asked), self.values.shape[1]), np.nan)
        still, tried = np.arange(len(asked)), 0
        for order in range(factors if own is None else factors - 1, 0, -1):
            tried += comb(factors, order)
            if not len(still) or (tried > _MOST_SETS and order < factors):
                break
            left_out = None if own is None else own[still]
            total, weight = np.zeros((len(still), found.shape[1])), np.zeros(len(still))
            for chosen in combinations(range(factors), order):
                more, heavier = self._sums(chosen, asked[still], left_out)
                total += more
                weight += heavier
            found[still] = _means(total, weight)
            still = still[np.isnan(found[still]).any(axis=1)]
        return found

    def _nearest_by_pairs(self, asked: Codes, own: Ints | None) -> Numbers:
        """With many factors, or few combinations: count the matches of every pair, some of those asked at a time."""
        found = np.empty((len(asked), self.values.shape[1]))
        left, right = columns_of(asked), columns_of(self.codes)
        step = max(1, _AT_A_TIME // max(len(self.codes), 1))
        for start in range(0, len(asked), step):
            part = slice(start, start + step)
            matches = match_counts([column[part] for column in left], right).astype(np.int16)
            matches[:, self.weights <= 0] = 0
            if own is not None:
                matches[np.arange(len(matches)), own[part]] = 0
            most = matches.max(axis=1, keepdims=True)
            near = ((matches == most) & (most > 0)).astype(np.float64)
            found[part] = _means(near @ self._weighted, near @ self.weights)
        return found

    def _sums(self, factors: Sequence[int], asked: Codes, own: Ints | None) -> tuple[Numbers, Numbers]:
        """(c, m), (c,) The weighted answers of the group of each combination added up, and their weights."""
        groups = self.groups(factors)
        place = groups.lookup(asked)
        weight = np.where(place >= 0, groups.total(self.weights)[place], 0.0)
        if isinstance(self._weighted, np.ndarray):
            total = np.stack([groups.total(column) for column in self._weighted.T], axis=1)[place]
        else:
            from scipy.sparse import csr_array  # noqa: PLC0415 - SciPy is loaded where it is needed

            ones, every = np.ones(len(groups.ids)), np.arange(len(groups.ids))
            members = csr_array((ones, (groups.ids, every)), shape=(groups.size, len(every)))
            total = (members @ self._weighted)[place].toarray()
        total[place < 0] = 0.0
        if own is None:
            return total, weight
        mine = self._weighted[own]
        return total - (mine if isinstance(mine, np.ndarray) else mine.toarray()), weight - self.weights[own]


def _means(total: Numbers, weight: Numbers) -> Numbers:
    """NaN where nothing weighs anything."""
    known = weight > 0
    return np.where(known[:, None], total / np.where(known, weight, 1.0)[:, None], np.nan)
