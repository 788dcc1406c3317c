"""Where combinations stand: the ladder of unseen-ness for any of them, and the whole space counted by rung.

From the safest rung to the last: *seen*; *thin* (seen, but by a handful of rows); *determined* (fixed by the seen ones
under an additive rule; the leverage says how firmly); *undetermined*; *novel* (it holds a value never seen);
*impossible* (declared so).
"""

import math
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from recombine.algebra.groups import Codes, Ints
from recombine.auditing.determinacy import Determinacy
from recombine.auditing.leverage import Leverage
from recombine.auditing.thin import thin
from recombine.tables.support import Support

RUNGS = ("seen", "thin", "determined", "undetermined", "novel", "impossible")


def rungs(support: Support, determinacy: Determinacy, codes: Codes) -> npt.NDArray[np.str_]:
    """The rung of each combination; a thin one is seen here: how many rows it has is another matter."""
    seen = support.groups(range(codes.shape[1])).lookup(codes) >= 0
    conditions = [
        support.space.is_impossible(codes),
        seen,
        determinacy.novel(codes),
        determinacy.determined(codes),
    ]
    return np.select(conditions, ["impossible", "seen", "novel", "determined"], default="undetermined")


def rungs_with_thin(support: Support, determinacy: Determinacy, codes: Codes) -> npt.NDArray[np.str_]:
    """The rung of each combination, thin ones apart."""
    found = rungs(support, determinacy, codes)
    place = support.groups(range(codes.shape[1])).lookup(codes)
    return np.where((found == "seen") & thin(support)[np.maximum(place, 0)], "thin", found)


def ladder(support: Support, leverage: Leverage, codes: Codes) -> pa.Table:
    """A row for each combination, with all that the table says about it."""
    determinacy = leverage.determinacy
    width = codes.shape[1]
    whole = support.groups(range(width)).lookup(codes)
    rung = rungs_with_thin(support, determinacy, codes)
    counts = np.where(whole >= 0, support.counts[np.maximum(whole, 0)], 0.0)
    pairs: list[tuple[int, ...]] = list(combinations(range(width), 2))
    return pa.table(
        {
            "rung": pa.array(rung.tolist(), pa.string()),
            "count": counts,
            "values_seen": _seen_parts(support, codes, [(k,) for k in range(width)]),
            "pairs_seen": _seen_parts(support, codes, pairs),
            "pairs": np.full(len(codes), len(pairs)),
            "neighbours_seen": _neighbours(support, codes, whole >= 0),
            "one_island": determinacy.one_island(codes),
            "determined": determinacy.determined(codes),
            "leverage": pa.array(leverage.of(codes), from_pandas=True),
        }
    )


def _seen_parts(support: Support, codes: Codes, parts: list[tuple[int, ...]]) -> Ints:
    total = np.zeros(len(codes), dtype=np.int64)
    for part in parts:
        total += support.groups(part).lookup(codes) >= 0
    return total


def _neighbours(support: Support, codes: Codes, seen: npt.NDArray[np.bool_]) -> Ints:
    """Seen combinations that differ in one factor: the others in the group of all factors but that one."""
    total = np.zeros(len(codes), dtype=np.int64)
    for changed in range(codes.shape[1]):
        rest = support.groups([k for k in range(codes.shape[1]) if k != changed])
        place = rest.lookup(codes)
        total += np.where(place >= 0, rest.combinations[np.maximum(place, 0)] - seen, 0)
    return total


@dataclass(frozen=True)
class Counts:
    """The space divided: seen + determined + undetermined + novel = space. Impossible combinations are outside it, and
    `thin` ones are among the seen.

    >>> Counts(space=4, impossible=0, seen=3, determined=1, undetermined=0, novel=0).determined_share
    1.0
    """

    space: int
    impossible: int
    seen: int
    determined: int
    undetermined: int
    novel: int
    thin: int = 0

    @property
    def unseen(self) -> int:
        """All that was not seen, novel ones included."""
        return self.determined + self.undetermined + self.novel

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
        thin=int(thin(support).sum()),
    )
