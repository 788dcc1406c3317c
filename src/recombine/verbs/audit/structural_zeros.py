"""Structural zeros: pairs of values that probably cannot occur together, told from those that just did not.

In SCAN no direction goes without a manner of going. Counted as a product of values, such a table has ten times as many
combinations as its grammar can say, all "undetermined". A pair of values that never meets is suspected where, if the
factors were independent, so many *combinations* would hold both that not one of all pairs would be missed by chance
(five in a hundred tables without any structural zero have a suspicion at all). Rows do not count: a thousand rows of
one combination say once that it can occur. So a pair that was merely not collected, in a table of two factors, is not
suspected.

A suspicion is not a fact: pairs that were held out on purpose look the same. It is offered as a file to be read over.
"""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import log

import numpy as np

from recombine.base.errors import RecombineError
from recombine.data.space import Space
from recombine.data.support import Support
from recombine.numerics.groups import ANY, Ints

_FEWEST = 10.0  # combinations expected to hold both values
_ERROR = 0.05  # that any pair of a table is suspected by chance alone
_MOST_PAIRS = 10**7  # of values of two factors that are looked at
_MOST_KEPT = 10_000


@dataclass(frozen=True)
class Suspicion:
    """Two values that never meet, and how many combinations would hold both if the factors were independent."""

    factors: tuple[str, str]
    values: tuple[str, str]
    expected: float

    def __str__(self) -> str:
        return " with ".join(f"{name}={value}" for name, value in zip(self.factors, self.values, strict=True))


@dataclass(frozen=True)
class Zeros:
    """All suspicions, the firmest first, and what they would rule out."""

    pairs: tuple[Suspicion, ...]
    combinations: int | None  # of the space that hold such a pair; None where they are too many to be written out


def suspect_zeros(support: Support) -> tuple[Zeros | None, Support]:
    """The suspicions, and the same support in the space without them; no suspicions where nothing is suspected.

    >>> import recombine
    >>> said = [(v, m, d, r) for v in range(30) for m in "nao" for d in "nlr" for r in "123"]
    >>> said = [one for one in said if (one[1] == "n") == (one[2] == "n")]
    >>> columns = dict(zip(("verb", "mode", "direction", "times"), map(list, zip(*said)), strict=True))
    >>> zeros, without = suspect_zeros(recombine.read(columns, factors=list(columns)))
    >>> len(zeros.pairs), zeros.combinations, without.space.size == len(said)
    (4, 360, True)
    """
    found = _find_suspicions(support)
    if not found:
        return None, support
    forbidden = {*support.space.impossible, *(row for row, _ in found)}
    space = Space(support.space.factors, tuple(sorted(forbidden)))
    pairs = tuple(_suspicion(support.space, row, expected) for row, expected in found)
    try:
        ruled_out = space.impossible_count - support.space.impossible_count
    except RecombineError:  # too many to be written out
        return Zeros(pairs, None), support
    return Zeros(pairs, ruled_out), replace(support, space=space)


def as_csv(zeros: Zeros, names: Sequence[str]) -> str:
    """The suspicions as `--impossible` reads them: factors as columns, an empty cell means any value."""
    written = io.StringIO()
    table = csv.DictWriter(written, fieldnames=list(names), lineterminator="\n")
    table.writeheader()
    for pair in zeros.pairs:
        table.writerow(dict(zip(pair.factors, pair.values, strict=True)))
    return written.getvalue()


def _find_suspicions(support: Support) -> list[tuple[tuple[int, ...], float]]:
    """Patterns over all factors, with what independence would expect, the firmest first."""
    width, seen = len(support.space.sizes), len(support)
    held = [np.bincount(support.codes[:, k], minlength=size) for k, size in enumerate(support.space.sizes)]
    common = [np.flatnonzero(count >= _FEWEST) for count in held]
    pairs = [(a, b) for a, b in combinations(range(width), 2) if 0 < len(common[a]) * len(common[b]) <= _MOST_PAIRS]
    looked_at = sum(len(common[a]) * len(common[b]) for a, b in pairs)
    least = max(_FEWEST, log(max(looked_at, 1) / _ERROR))
    found = []
    for a, b in pairs:
        expected = np.outer(held[a][common[a]], held[b][common[b]]) / seen
        apart = (expected >= least) & ~_values_meet(support, a, b, common)
        if support.space.impossible and apart.any():  # what was declared, singly or jointly, need not be suspected
            cells = np.stack(np.meshgrid(common[a], common[b], indexing="ij"), axis=-1).reshape(-1, 2).astype(np.int32)
            apart &= ~support.space.restricted((a, b)).is_impossible(cells).reshape(apart.shape)
        for u, v in np.argwhere(apart)[:_MOST_KEPT]:
            row = [ANY] * width
            row[a], row[b] = int(common[a][u]), int(common[b][v])
            found.append((tuple(row), float(expected[u, v])))
    found = [(row, often) for row, often in found if _can_be_written(support.space, row)]
    return sorted(found, key=lambda one: (-one[1], one[0]))[:_MOST_KEPT]


def _values_meet(support: Support, a: int, b: int, common: Sequence[Ints]) -> np.ndarray:
    places = [np.full(support.space.sizes[k], -1, dtype=np.int64) for k in (a, b)]
    for place, k in zip(places, (a, b), strict=True):
        place[common[k]] = np.arange(len(common[k]))
    met = np.zeros((len(common[a]), len(common[b])), dtype=bool)
    first = support.codes[support.groups((a, b)).representatives]
    rows, columns = places[0][first[:, a]], places[1][first[:, b]]
    there = (rows >= 0) & (columns >= 0)
    met[rows[there], columns[there]] = True
    return met


def _can_be_written(space: Space, row: tuple[int, ...]) -> bool:
    """An empty cell of the file would mean any value."""
    return all(code == ANY or space.factors[k].labels[code] for k, code in enumerate(row))


def _suspicion(space: Space, row: tuple[int, ...], expected: float) -> Suspicion:
    (a, u), (b, v) = [(k, code) for k, code in enumerate(row) if code != ANY]
    one, other = space.factors[a], space.factors[b]
    return Suspicion((one.name, other.name), (one.labels[u], other.labels[v]), expected)
