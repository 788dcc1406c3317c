"""Where every combination of the space stands, as exact whole numbers."""

import math
from dataclasses import dataclass

from recombine.auditing.determinacy import Determinacy
from recombine.tables.support import Support


@dataclass(frozen=True)
class Counts:
    """The space divided: seen + determined + undetermined + novel = space. Impossible combinations are outside it.

    >>> Counts(space=4, impossible=0, seen=3, determined=1, undetermined=0, novel=0).determined_share
    1.0
    """

    space: int
    impossible: int
    seen: int
    determined: int
    undetermined: int
    novel: int

    @property
    def determined_share(self) -> float:
        """The share of the space that is seen or determined."""
        return (self.seen + self.determined) / self.space

    @property
    def seen_share(self) -> float:
        """The share of the space that is seen."""
        return self.seen / self.space


def counts(support: Support, determinacy: Determinacy) -> Counts:
    """Divide the space without listing it."""
    space = support.space
    of_seen_values = math.prod(int((island >= 0).sum()) for island in determinacy.islands)
    determined_impossible, novel_impossible = determinacy.count_impossible(support)
    novel = space.product - of_seen_values - novel_impossible
    determined = determinacy.count() - determined_impossible - len(support)
    return Counts(
        space=space.size,
        impossible=space.impossible_count,
        seen=len(support),
        determined=determined,
        undetermined=space.size - novel - determined - len(support),
        novel=novel,
    )
