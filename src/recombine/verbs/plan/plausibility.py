"""How plausible an unseen combination is, estimated from which values co-occur.

"Dull" goes with knives and floors, never with cats; "wet" goes with cats, dogs and floors. For a pair of values (a, b)
of two factors, take the values like a, by the cosine of what they were seen with: the share of these, weighed by
likeness, that were seen with b (an average value counts as one more of them); the same the other way round; and the
mean of both. A pair that was seen is plausible for certain. A combination is as plausible as its least plausible pair.

It is a matter of ranking, not a probability: it breaks ties between combinations that are worth the same.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from recombine.data.support import Support
from recombine.numerics.groups import Codes, Numbers

_MOST_CELLS = 2 * 10**7  # of the tables of pairs, and of values against values: 160 MB each
_CHUNK = 1 << 18


@dataclass(frozen=True, eq=False)
class Plausibility:
    """The plausibility of any combination of one support.

    >>> import recombine
    >>> pairs = ["ripe apple", "ripe pear", "cut apple", "cut pear", "cut rope", "wet cat", "wet dog", "old dog"]
    >>> columns = zip(*map(str.split, pairs), strict=True)
    >>> support = recombine.read(dict(zip(["state", "thing"], columns)), factors=["state", "thing"])
    >>> ask = support.space.encode([("old", "cat"), ("ripe", "rope"), ("ripe", "cat")])
    >>> Plausibility(support).of(ask).round(2).tolist()
    [0.55, 0.67, 0.19]
    """

    support: Support

    @cached_property
    def affordable(self) -> bool:
        """Whether the tables of all pairs of factors fit."""
        sizes = self.support.space.sizes
        return sum(a * b + a * a + b * b for a, b in combinations(sizes, 2)) <= _MOST_CELLS

    @cached_property
    def _pairs(self) -> list[tuple[int, int, Numbers]]:
        codes, sizes = self.support.codes, self.support.space.sizes
        return [
            (j, k, _of_pairs(codes[:, [j, k]], (sizes[j], sizes[k]))) for j, k in combinations(range(len(sizes)), 2)
        ]

    def of(self, codes: Codes) -> Numbers:
        """From 0 to 1 for each combination; 0 for all where the table is too wide to tell."""
        if not self.affordable:
            return np.zeros(len(codes))
        found = np.ones(len(codes))
        for start in range(0, len(codes), _CHUNK):
            part = codes[start : start + _CHUNK]
            for j, k, table in self._pairs:
                found[start : start + _CHUNK] = np.minimum(found[start : start + _CHUNK], table[part[:, j], part[:, k]])
        return np.round(found, 6)


def _of_pairs(codes: Codes, sizes: tuple[int, int]) -> Numbers:
    seen = np.zeros(sizes)
    seen[codes[:, 0], codes[:, 1]] = 1.0
    return np.where(seen > 0, 1.0, (_by_likeness(seen) + _by_likeness(seen.T).T) / 2)


def _by_likeness(seen: Numbers) -> Numbers:
    """For each row and column, the share of the rows like it that have the column; one more row is the average one."""
    length = np.sqrt(seen.sum(axis=1, keepdims=True))
    unit = seen / np.maximum(length, 1.0)
    likeness = unit @ unit.T
    np.fill_diagonal(likeness, 0.0)
    total = likeness.sum(axis=1, keepdims=True)
    return np.asarray((likeness @ seen + seen.mean(axis=0)) / (total + 1.0))
