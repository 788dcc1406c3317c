"""Thin combinations: seen, but by a handful of rows where others have hundreds.

Determinacy and leverage count a combination once, however many rows it has. A model that learns from rows hardly sees a
thin one, and a score of it has an interval as wide as its rows are few. A seen combination is *thin* if it has

- fewer than a tenth of the rows that it would have if the factors were independent of each other, where these are ten
  rows at least: something keeps its values apart; or
- fewer than five rows, where a seen combination has fifty on average: too few for a score of its own.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from recombine.algebra.groups import Codes, Ints, Numbers
from recombine.tables.support import Support

_SHARE = 0.1  # of the rows that independence expects
_FEWEST_EXPECTED = 10
_FEWEST_ROWS = 5
_MANY = 50  # rows of an average combination, beside which a handful is thin
_SHOWN = 200


@dataclass(frozen=True)
class ThinCombination:
    """One of them; `expected` is how many rows it would have if the factors were independent."""

    combination: Mapping[str, str]
    count: float
    expected: float


def expected_rows(support: Support, codes: Codes) -> Numbers:
    """How many rows each combination would have if the factors were independent of each other."""
    share = np.ones(len(codes))
    for k, counts in enumerate(support.value_counts):
        share *= counts[codes[:, k]] / support.total
    return share * support.total


def thin(support: Support) -> npt.NDArray[np.bool_]:
    """Which of the seen combinations are thin.

    >>> import recombine
    >>> birds = {"bird": ["land"] * 190 + ["water"] * 60, "place": ["land"] * 180 + ["water"] * 10 + ["land"] * 4 +
    ...     ["water"] * 56}
    >>> birds = recombine.read(birds, factors=["bird", "place"])
    >>> [birds.combination(int(place)) for place in np.flatnonzero(thin(birds))]
    [{'bird': 'water', 'place': 'land'}]
    """
    expected = expected_rows(support, support.codes)
    apart = (support.counts < _SHARE * expected) & (expected >= _FEWEST_EXPECTED)
    handful = (support.counts < _FEWEST_ROWS) & bool(support.counts.mean() >= _MANY)
    return np.asarray(apart | handful)


def thinnest(support: Support, which: npt.NDArray[np.bool_]) -> tuple[ThinCombination, ...]:
    """The thin ones by name, first those that fall most short of what independence expects."""
    places: Ints = np.flatnonzero(which)
    expected = expected_rows(support, support.codes[places])
    counts = support.counts[places]
    order = np.argsort(counts / np.maximum(expected, 1e-300), kind="stable")[:_SHOWN]
    factors = support.space.factors
    return tuple(
        ThinCombination(
            {f.name: f.labels[int(code)] for f, code in zip(factors, support.codes[places[i]], strict=True)},
            float(counts[i]),
            float(expected[i]),
        )
        for i in order
    )
