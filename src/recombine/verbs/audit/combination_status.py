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

from recombine.base.errors import SettingError
from recombine.data.sets import Sets
from recombine.data.space import text
from recombine.data.support import LabelTarget, NumberTarget, Support, Target
from recombine.numerics.groups import Codes, Flags, Ints, Numbers, totals
from recombine.numerics.rows import IncidenceRows, ends
from recombine.verbs.audit.coverage import OrderCoverage, thin
from recombine.verbs.audit.determinacy import determinacy
from recombine.verbs.audit.determined_space import NO_ISLAND, Determinacy
from recombine.verbs.audit.leverage import Leverage
from recombine.verbs.audit.set_coverage import element_rungs

States = npt.NDArray[np.uint8]
RUNGS = ("seen", "thin", "determined", "undetermined", "novel", "impossible")


def rungs(support: Support, determinacy: Determinacy, codes: Codes) -> npt.NDArray[np.str_]:
    """The rung of each combination; a thin one is seen here: how many rows it has is another matter."""
    seen = support.groups(range(codes.shape[1])).lookup(codes) >= 0
    return np.array(STATES)[_states(support, determinacy, codes, seen)]


def rungs_with_thin(support: Support, determinacy: Determinacy, codes: Codes) -> npt.NDArray[np.str_]:
    """The rung of each combination, thin ones apart."""
    whole = support.groups(range(codes.shape[1])).lookup(codes)
    return np.array(STATES)[_states_with_thin(support, determinacy, codes, whole)]


def _states(support: Support, determinacy: Determinacy, codes: Codes, seen: Flags) -> States:
    """The rung of each combination as its place in `STATES`; the last that holds counts."""
    state = determinacy.determined(codes).astype(np.uint8) * np.uint8(STATES.index("determined"))
    state[determinacy.novel(codes)] = STATES.index("novel")
    state[seen] = STATES.index("seen")
    state[support.space.is_impossible(codes)] = STATES.index("impossible")
    return state


def _states_with_thin(support: Support, determinacy: Determinacy, codes: Codes, whole: Ints) -> States:
    """The same, thin ones apart; `whole` is each combination's place among the seen ones, or -1."""
    state = _states(support, determinacy, codes, whole >= 0)
    seen = np.flatnonzero(state == STATES.index("seen"))
    state[seen[thin(support)[whole[seen]]]] = STATES.index("thin")
    return state


def ladder(support: Support, leverage: Leverage, codes: Codes) -> pa.Table:
    """A row for each combination, with all that the table says about it."""
    determinacy = leverage.determinacy
    if support.space.set_factors:
        return _set_ladder(support, leverage, codes)
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


def _set_ladder(support: Support, leverage: Leverage, codes: Codes) -> pa.Table:
    """The same where factors are sets: by their elements, and with what these were seen in."""
    solved, parts = leverage.determinacy, parts_seen(support, codes)
    whole = support.groups(range(codes.shape[1])).lookup(codes)
    return pa.table(
        {
            "rung": pa.array(rungs_with_thin(support, solved, codes).tolist(), pa.string()),
            "elements": pa.array(element_rungs(support, codes), pa.string()),
            "count": np.where(whole >= 0, support.counts[np.maximum(whole, 0)], 0.0),
            "values_seen": parts.seen,
            "pairs_seen": parts.pairs_seen,
            "pairs": parts.pairs,
            "neighbours_seen": _set_neighbours(support, codes),
            "one_island": solved.one_island(codes),
            "determined": solved.determined(codes),
            "leverage": pa.array(leverage.of(codes), from_pandas=True),
        }
    )


@dataclass(frozen=True, eq=False)
class PartsSeen:
    """Of how many values and elements each combination is, how many of these were seen, and the same of their pairs."""

    number: Ints
    seen: Ints
    pairs: Ints
    pairs_seen: Ints


def parts_seen(support: Support, codes: Codes) -> PartsSeen:
    """What was seen of combinations some of whose factors are sets; nothing where one holds an unknown element."""
    effects = support.space.effects
    known = (codes >= 0).all(axis=1)
    places = effects.rows(np.maximum(codes, 0).astype(np.int32))
    asked, seen = places.sparse(), effects.rows(support.codes)
    met = seen.sparse_gram()
    met.data[:] = 1.0
    parts = asked @ (seen.counts() > 0).astype(np.float64)
    pairs = ((asked @ met).multiply(asked).sum(axis=1) - parts) / 2
    own = np.full(len(codes), float(effects.constant))  # the constant meets every part, and is none
    number = (places.lengths - own).astype(np.int64)
    return PartsSeen(
        number=number,
        seen=np.where(known, parts - own, 0).astype(np.int64),
        pairs=number * (number - 1) // 2,
        pairs_seen=np.where(known, pairs - own * (parts - own), 0).astype(np.int64),
    )


def _set_neighbours(support: Support, codes: Codes) -> pa.Array:
    """Seen combinations that differ in one value or one element; not counted where there are too many to compare."""
    if len(codes) * len(support) > _MOST_COMPARED:
        return pa.nulls(len(codes), pa.int64())
    total = np.zeros(len(codes), dtype=np.int64)
    for part, apart in support.space.effects.distances(codes, support.codes):
        total[part] = (apart == 1).sum(axis=1)
    return pa.array(np.where((codes >= 0).all(axis=1), total, 0))


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


def measured_share(counts: StatusCounts, coverage: Sequence[OrderCoverage], name: str) -> float:
    """A share by the name that a gate calls it by."""
    shares = {"determined": counts.determined_share, "seen": counts.seen_share}
    shares |= {word: one.share for word, one in zip(("values", "pairs", "triples"), coverage, strict=False)}
    if name not in shares:
        raise SettingError(
            f"no share {name!r}", why="an audit does not measure it", instead=f"write one of {', '.join(shares)}"
        )
    return shares[name]


def counts(support: Support, determinacy: Determinacy) -> StatusCounts:
    """Divide the space without listing it."""
    space = support.space
    determined_impossible, novel_impossible = determinacy.count_impossible(support)
    novel = space.product - determinacy.of_seen_values - novel_impossible
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
_MOST_COMPARED = 2 * 10**8  # pairs of combinations, for those that differ in one element
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
    answer: Numbers  # the mean answer of the rows in a cell; NaN where there is none


def pair_maps(support: Support, solved: Determinacy) -> tuple[PairMap, ...]:
    """A map for each pair of factors, the least covered first; of very many factors only that many pairs."""

    def share(pair: tuple[int, int]) -> float:
        return support.groups(pair).size / max(support.space.restricted(pair).size, 1)

    sets = [(f.name, f.sets) for f in support.space.factors if f.sets is not None and f.sets.effects > 1]
    ordinary = [k for k in range(len(support.space.factors)) if k not in support.space.set_factors]
    pairs = sorted(combinations(ordinary, 2), key=share)[: MOST_MAPS - len(sets)]
    cells = _MOST_CELLS // max(len(pairs) + len(sets), 1)
    sums = _answer_sums(support)

    def of_groups(factors: Sequence[str] | Sequence[int]) -> list[Numbers]:
        return [support.groups(factors).total(one) for one in sums]

    def of_pair(two: tuple[int, int]) -> PairMap:
        pair = support.project(two)
        found = solved if len(support.space.factors) == 2 else determinacy(pair)
        return _pair_map(pair, found, cells, of_groups(two))

    def of_set(name: str, several: Sets) -> PairMap:
        alone = support.project([name])
        found = solved if len(support.space.factors) == 1 else determinacy(alone)
        return _element_map(alone, found, several, cells, of_groups([name]))

    return (
        *(of_set(name, several) for name, several in sets),
        *map(of_pair, pairs),
    )


def _element_map(alone: Support, found: Determinacy, sets: Sets, cells: int, sums: Sequence[Numbers]) -> PairMap:
    """The sets of two elements, and each element alone where the two are one: the same on both sides of the diagonal.

    Beside other factors a set is judged on its own projection, as pairs of ordinary factors are.
    """
    counts = alone.effect_counts[0]
    shown = min(int(sqrt(cells)), _LONGEST_SIDE)
    island = found.islands[0]
    common = np.argsort(-counts, kind="stable")[:shown]
    axis = common[np.lexsort((-counts[common], island[common] == NO_ISLAND))]
    row, column = np.triu_indices(len(axis))  # the other half is the same
    low, high = np.minimum(axis[row], axis[column]), np.maximum(axis[row], axis[column])
    lengths = np.where(low == high, 1, 2)
    columns = np.stack([low, high], axis=1)[np.stack([np.ones(len(low), dtype=bool), lengths == 2], axis=1)]
    codes = sets.codes_of(IncidenceRows(ends(lengths), columns, sets.effects))[:, None]
    whole = alone.groups((0,)).lookup(codes)
    state = _states_with_thin(alone, found, codes, whole)
    leverage = Leverage(alone, found)
    place = np.empty((len(axis), len(axis)), dtype=np.int64)
    place[row, column] = place[column, row] = np.arange(len(row))
    cell = place.ravel()
    known = leverage.of(codes).astype(np.float32) if leverage.inverts else np.full(len(codes), np.nan, np.float32)
    return PairMap(
        factors=(alone.space.names[0], alone.space.names[0]),
        rows=axis,
        columns=axis,
        row_islands=island[axis],
        column_islands=island[axis],
        state=state[cell],
        count=np.where(whole >= 0, alone.counts[np.maximum(whole, 0)], 0.0)[cell],
        leverage=known[cell],
        answer=_answers(whole, sums)[cell],
    )


def _answers(whole: Ints, sums: Sequence[Numbers]) -> Numbers:
    """The mean answer of each cell, NaN where nothing was seen."""
    with np.errstate(invalid="ignore", divide="ignore"):
        answers = sums[0] / sums[1]
    return np.where(whole >= 0, answers[np.maximum(whole, 0)], np.nan)


def answer_title(target: Target | None) -> str | None:
    """What the answers of a map are: the mean of a number, or the share of one label."""
    if target is None:
        return None
    if isinstance(target, NumberTarget):
        return f"share of {target.name}" if target.is_share else f"mean {target.name}"
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
    added = [totals(target.combination, weights, size) for weights in (shown, target.count)]
    return added[0], added[1]


def _pair_map(pair: Support, found: Determinacy, cells: int, sums: Sequence[Numbers]) -> PairMap:
    rows, columns = _axes(pair, found, cells)
    grid = np.stack(np.meshgrid(rows, columns, indexing="ij"), axis=-1).reshape(-1, 2).astype(np.int32)
    whole = pair.groups((0, 1)).lookup(grid)
    leverage = Leverage(pair, found)
    return PairMap(
        factors=(pair.space.names[0], pair.space.names[1]),
        rows=rows,
        columns=columns,
        row_islands=found.islands[0][rows],
        column_islands=found.islands[1][columns],
        state=_states_with_thin(pair, found, grid, whole),
        count=np.where(whole >= 0, pair.counts[np.maximum(whole, 0)], 0.0),
        leverage=leverage.of(grid).astype(np.float32) if leverage.inverts else np.full(len(grid), np.nan, np.float32),
        answer=_answers(whole, sums),
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
