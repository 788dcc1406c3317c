"""Where combinations stand: the ladder of unseen-ness for any of them, and the whole space counted by rung.

From the safest rung to the last: *seen*; *thin* (seen, but by a handful of rows); *determined* (fixed by the seen ones
under an additive rule; the leverage says how firmly); *undetermined*; *novel* (it holds a value never seen);
*impossible* (declared so).

The map of a pair of factors: every cell of their grid with its rung, count, leverage and mean answer.

With more than two factors each pair is judged on its own projection. Rows and columns stand by island, then by count.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import sqrt

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from recombine.data.space import text
from recombine.data.support import LabelTarget, NumberTarget, Support, Target
from recombine.numerics.groups import Codes, Ints, Numbers
from recombine.verbs.audit.coverage import thin
from recombine.verbs.audit.determinacy import NO_ISLAND, Determinacy, determinacy
from recombine.verbs.audit.leverage import Leverage

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
class StatusCounts:
    """The space divided: seen + determined + undetermined + novel = space. Impossible combinations are outside it, and
    `thin` ones are among the seen.

    >>> StatusCounts(space=4, impossible=0, seen=3, determined=1, undetermined=0, novel=0).determined_share
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


def counts(support: Support, determinacy: Determinacy) -> StatusCounts:
    """Divide the space without listing it."""
    space = support.space
    of_seen_values = math.prod(int((island >= 0).sum()) for island in determinacy.islands)
    determined_impossible, novel_impossible = determinacy.count_impossible(support)
    novel = space.product - of_seen_values - novel_impossible
    determined = determinacy.count() - determined_impossible - len(support)
    return StatusCounts(
        space=space.size,
        impossible=space.impossible_count,
        seen=len(support),
        determined=determined,
        undetermined=space.size - novel - determined - len(support),
        novel=novel,
        thin=int(thin(support).sum()),
    )


STATES = ("undetermined", "determined", "seen", "novel", "impossible", "thin")
MOST_MAPS = 45  # all pairs of ten factors
_MOST_CELLS = 1_200_000  # of all maps together: a few megabytes of page
_LONGEST_SIDE = 1000  # values: a browser's canvas at a pixel each is still legible


@dataclass(frozen=True, eq=False)
class PairMap:
    """A grid of two factors. `rows` and `columns` are positions of values, in the order in which they are drawn."""

    factors: tuple[str, str]
    rows: Ints
    columns: Ints
    row_islands: Ints
    column_islands: Ints
    state: npt.NDArray[np.uint8]
    count: Numbers
    leverage: npt.NDArray[np.float32]
    answer: npt.NDArray[np.float32]  # the mean answer of the rows in a cell; NaN where there is none


def pair_maps(support: Support) -> tuple[PairMap, ...]:
    """A map for each pair of factors, the least covered first; of very many factors only that many pairs."""

    def share(pair: tuple[int, int]) -> float:
        return support.groups(pair).size / max(support.space.restricted(pair).size, 1)

    pairs = sorted(combinations(range(len(support.space.factors)), 2), key=share)[:MOST_MAPS]
    cells = _MOST_CELLS // len(pairs)
    sums = _answer_sums(support)
    return tuple(
        _pair_map(support.project(pair), cells, [support.groups(pair).total(one) for one in sums]) for pair in pairs
    )


def answer_title(target: Target | None) -> str | None:
    """What the answers of a map are: the mean of a number, or the share of one label."""
    if target is None:
        return None
    if isinstance(target, NumberTarget):
        return f"mean {target.name}"
    return f"share of {target.name}={text(target.classes[_shown_class(target)])}"


def _shown_class(target: LabelTarget) -> int:
    """Of two labels the second, as in *no* and *yes*; of more the commonest."""
    counted = np.bincount(target.label, weights=target.count, minlength=len(target.classes))
    return 1 if len(target.classes) == 2 else int(counted.argmax())


def _answer_sums(support: Support) -> tuple[Numbers, Numbers]:
    """For each seen combination the sum of its answers, and how many there are; none without a target."""
    target, size = support.target, len(support)
    if target is None:
        return np.zeros(size), np.zeros(size)
    if isinstance(target, NumberTarget):
        return target.total + target.shift * target.count, target.count
    shown = target.count * (target.label == _shown_class(target))
    added = [np.bincount(target.combination, weights=weights, minlength=size) for weights in (shown, target.count)]
    return added[0], added[1]


def _pair_map(pair: Support, cells: int, sums: Sequence[Numbers]) -> PairMap:
    found = determinacy(pair)
    rows, columns = _axes(pair, found, cells)
    grid = np.stack(np.meshgrid(rows, columns, indexing="ij"), axis=-1).reshape(-1, 2).astype(np.int32)
    whole = pair.groups((0, 1)).lookup(grid)
    leverage = Leverage(pair, found)
    rung = rungs_with_thin(pair, found, grid)
    state = np.zeros(len(grid), dtype=np.uint8)
    for number, name in enumerate(STATES):
        state[rung == name] = number
    with np.errstate(invalid="ignore", divide="ignore"):
        answers = sums[0] / sums[1]
    return PairMap(
        factors=(pair.space.names[0], pair.space.names[1]),
        rows=rows,
        columns=columns,
        row_islands=found.islands[0][rows],
        column_islands=found.islands[1][columns],
        state=state,
        count=np.where(whole >= 0, pair.counts[np.maximum(whole, 0)], 0.0),
        leverage=leverage.of(grid).astype(np.float32) if leverage.inverts else np.full(len(grid), np.nan, np.float32),
        answer=np.where(whole >= 0, answers[np.maximum(whole, 0)], np.nan).astype(np.float32),
    )


def _axes(pair: Support, solved: Determinacy, cells: int) -> tuple[Ints, Ints]:
    """Both axes in order, cut to the commonest values where the grid would be too large to draw.

    Islands stand by their number of combinations, the largest first, and within an island the commonest values.
    """
    shrink = min(1.0, sqrt(cells / math.prod(pair.space.sizes)))
    sizes = np.bincount(solved.islands[0][pair.codes[:, 0]], minlength=solved.island_count)
    rank = np.empty(solved.island_count, dtype=np.int64)
    rank[np.argsort(-sizes, kind="stable")] = np.arange(solved.island_count)
    axes = []
    for size, counts, islands in zip(pair.space.sizes, pair.value_counts, solved.islands, strict=True):
        length = min(max(int(size * shrink), min(size, 20)), _LONGEST_SIDE)
        island = np.where(islands == NO_ISLAND, len(rank), rank[islands])
        commonest = np.argsort(-counts, kind="stable")[:length]
        axes.append(commonest[np.lexsort((-counts[commonest], island[commonest]))])
    return axes[0], axes[1]
