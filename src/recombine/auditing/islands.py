"""The islands of a table in the user's own values, and where one is loose inside."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from recombine.auditing.determinacy import Determinacy
from recombine.tables.support import Support

_LISTED = 20
_MOST_ISLANDS = 100


@dataclass(frozen=True)
class Island:
    """Values that chains of seen combinations link, the commonest first.

    `groups` counts, for each factor, the groups of its values that cannot be compared with each other. One each means
    that everything within the island is determined; more can only happen with three factors and above.
    """

    sizes: Mapping[str, int]
    values: Mapping[str, tuple[str, ...]]
    groups: Mapping[str, int]
    combinations: int
    rows: float


def islands(support: Support, determinacy: Determinacy) -> tuple[Island, ...]:
    """The islands, the one with most combinations first; beyond a hundred only the largest are described."""
    home = determinacy.islands[0][support.codes[:, 0]]
    count = determinacy.island_count
    combinations = np.bincount(home, minlength=count)
    rows = np.bincount(home, weights=support.counts, minlength=count)
    order = np.argsort(-combinations, kind="stable")[:_MOST_ISLANDS]
    return tuple(_island(support, determinacy, int(i), int(combinations[i]), float(rows[i])) for i in order)


def _island(support: Support, determinacy: Determinacy, label: int, combinations: int, rows: float) -> Island:
    sizes, values, groups = {}, {}, {}
    for k, factor in enumerate(support.space.factors):
        members = np.flatnonzero(determinacy.islands[k] == label)
        common = members[np.argsort(-support.value_counts[k][members], kind="stable")]
        sizes[factor.name] = len(members)
        values[factor.name] = tuple(factor.labels[v] for v in common[:_LISTED])
        groups[factor.name] = len(np.unique(determinacy.blocks[k][members]))
    return Island(sizes, values, groups, combinations, rows)
