"""What training must keep: a combination of every value, a basis of all, or some of every value outside each fold.

**A cover** keeps every value in training. **A basis** lets training determine everything that is held out: a held-out
combination is determined iff its row lies in the span of training's rows, so training must keep the rank of the
whole, and any basis will do. The greedy one is taken from the end of a random order: it is the basis whose combinations
stand latest, so what is held out stands early, as chance would have it. **A spread** puts the combinations of every
value into two folds at least, with few changes to folds already dealt. Where a factor's value is a set, what must stay
is each of its elements.

Our own, because no library finds a basis of 10^5 sparse rows exactly: for two factors it is a spanning forest (values
are nodes, combinations edges). For more, combinations are taken out in batches, and those that the rest no longer
determines are put back; where that falls short, values that occur once are peeled off with their combination, and the
rest is eliminated modulo a prime. A spread takes a few rounds of random moves, which settle nearly every table; what is
left over is small or knotted, and is asked of a solver, which also proves that there is no way where there is none.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from recombine.data.support import Support
from recombine.numerics.greedy_basis import MOST_UNKNOWNS, greedy_basis
from recombine.numerics.groups import Ints, number
from recombine.numerics.null_space import peel
from recombine.numerics.rows import IncidenceRows, ends
from recombine.numerics.value_graph import spanning_forest
from recombine.verbs.audit.determinacy import determinacy
from recombine.verbs.split.integer_program import Program

Mask = npt.NDArray[np.bool_]

_SECONDS = 20.0
"""How long a solver may take, for a cover or a spread."""
_ROUNDS = 40  # of batches; what is not settled by then is left in training, and told as not proven
_ROUNDS_OF_MOVES = 60  # of random moves, before a solver is asked
_MOST_SOLVED = 20_000  # unknowns, combinations x folds, beyond which a solver would not end in its time


@dataclass(frozen=True, eq=False)
class Kept:
    """Combinations that training keeps, how many others can be held out at most, and whether that is certain."""

    mask: Mask
    most: int
    proven: bool

    @classmethod
    def of(cls, mask: Mask, *, proven: bool) -> "Kept":
        """What is not kept can be held out; `proven` where no fewer could be kept."""
        return cls(mask, int((~mask).sum()), proven)


def last_of_each_value(support: Support, order: Ints) -> Mask:
    """For each value its combination that stands latest in an order.

    >>> import recombine
    >>> square = recombine.read({"a": [0, 0, 1, 1], "b": [0, 1, 0, 1]}, factors=["a", "b"])
    >>> last_of_each_value(square, np.array([0, 1, 2, 3])).tolist()
    [False, True, True, True]
    """
    kept = np.zeros(len(support), dtype=bool)
    for rows in support.value_rows:
        lined = rows.take(order)
        last = np.full(rows.width, -1, dtype=np.int64)
        last[lined.columns] = order[lined.owners]  # of several the last one stays
        kept[last[last >= 0]] = True
    return kept


def smallest_cover(support: Support, order: Ints) -> Kept:
    """The fewest combinations that hold every value, late ones of an order where there is a choice.

    For two factors this is an edge cover of a bipartite graph, of which the linear program already has whole corners.
    """
    size = len(support)
    costs = np.empty(size)
    costs[order] = 1 + np.linspace(0.5 / size, 0, size)  # a preference too slight to buy one combination more
    bipartite = len(support.space.sizes) == 2 and not support.space.set_factors
    program = Program(costs=costs, whole=np.full(size, not bipartite))
    for rows in support.value_rows:
        starts, members = _holding(rows)
        ones = np.ones(len(starts) - 1)
        program.add_many(starts, members, np.ones(len(members)), least=ones, most=ones * np.inf)
    solved = program.solve(seconds=_SECONDS)
    if solved.values is None:
        return Kept.of(last_of_each_value(support, order), proven=False)
    return Kept.of(solved.values > 0.5, proven=solved.proven)


def _holding(rows: IncidenceRows) -> tuple[Ints, Ints]:
    """For each value that is held at all, the combinations that hold it: where they start, and which."""
    counts = rows.counts()
    return ends(counts[counts > 0]), rows.holding()[1]


def values_seen_once(support: Support, *, most: int = 3) -> list[str]:
    """Values that one combination alone holds, which therefore can never be held out; the first few."""
    alone = []
    for factor, rows in zip(support.space.factors, support.value_rows, strict=True):
        once = np.flatnonzero(rows.counts() == 1)[:most]
        alone += [f"{factor.name}={factor.effect_labels[value]}" for value in once]
    return alone[:most]


def occur(values: list[str]) -> str:
    """The verb that fits one value or several."""
    return "occurs" if len(values) == 1 else "occur"


def kept_to_determine(support: Support, order: Ints, wanted: int) -> Kept:
    """Combinations that training keeps, late ones of `order`, so that it determines all others.

    It leaves `wanted` others where that is possible; how many are possible is known from the rank.

    >>> import recombine
    >>> square = recombine.read({"a": [0, 0, 1, 1], "b": [0, 1, 0, 1]}, factors=["a", "b"])
    >>> kept_to_determine(square, np.array([2, 0, 1, 3]), wanted=1).mask.tolist()
    [True, True, False, True]
    """
    rows = _variables(support)
    latest = order[::-1]
    if len(support.space.sizes) == 2 and not support.space.set_factors and rows.table is not None:
        forest = np.zeros(len(rows), dtype=bool)
        forest[latest[spanning_forest(rows.table[latest], rows.width)]] = True
        return Kept.of(forest, proven=True)
    most = len(support) - determinacy(support).rank
    if most < wanted:
        return Kept(np.ones(len(support), dtype=bool), most, proven=True)
    core = peel(rows).active
    kept = ~core
    tried = _by_batches(support, order[core[order]], wanted)
    if int((~tried).sum()) >= wanted or len(np.unique(rows.take(np.flatnonzero(core)).columns)) > MOST_UNKNOWNS:
        return Kept.of(tried, proven=False)
    late = latest[core[latest]]
    kept[late[greedy_basis(rows.take(late))]] = True
    return Kept.of(kept, proven=True)


def _variables(support: Support) -> IncidenceRows:
    """What each combination adds up, numbered through all factors."""
    rows = support.space.effects.rows(support.codes)
    nodes, local = number(rows.columns, rows.width)
    return IncidenceRows(rows.starts, local, len(nodes))


def _by_batches(support: Support, candidates: Ints, wanted: int) -> Mask:
    """Take out as many as are still wanted, and put back those that the rest does not determine."""
    kept = np.ones(len(support), dtype=bool)
    waiting, returned = candidates, candidates[:0]
    size = wanted
    for _ in range(_ROUNDS):
        # training is never emptied, not even for a look
        missing = min(wanted - int((~kept).sum()), int(kept.sum()) - 1)
        if missing <= 0 or not len(waiting) + len(returned):
            break
        if not len(waiting):  # all had their chance: once more, in smaller batches
            waiting, returned, size = returned, returned[:0], max(1, size // 4)
        batch, waiting = waiting[: min(missing, size)], waiting[min(missing, size) :]
        kept[batch] = False
        found = determinacy(support.subset(np.flatnonzero(kept))).determined(support.codes[batch])
        kept[batch[~found]] = True
        returned = np.concatenate([returned, batch[~found]])
    return kept


@dataclass(frozen=True, eq=False)
class FoldSpread:
    """The folds, or None with a value that stands in the way and whether it is proven to."""

    folds: Ints | None
    culprit: str = ""
    proven: bool = False


def spread_values(support: Support, dealt: Ints, folds: int, rng: np.random.Generator) -> FoldSpread:
    """Folds in which no value lies wholly within one.

    >>> import recombine
    >>> square = recombine.read({"a": [0, 0, 1, 1], "b": [0, 1, 0, 1]}, factors=["a", "b"])
    >>> spread_values(square, np.array([0, 0, 1, 1]), 2, np.random.default_rng(0)).folds is not None
    True
    """
    moved = dealt.copy()
    for _ in range(_ROUNDS_OF_MOVES):
        places = [_one_of_each_lost(rows, moved, rng) for rows in support.value_rows]
        chosen = np.unique(np.concatenate(places))
        if not len(chosen):
            return FoldSpread(moved)
        moved[chosen] = (moved[chosen] + rng.integers(1, folds, size=len(chosen))) % folds
    return _solve_spread(support, moved, folds)


def _lost_values(rows: IncidenceRows, dealt: Ints) -> Mask:
    """Which values of one factor lie wholly within one fold."""
    low, high = np.full(rows.width, np.iinfo(np.int64).max), np.full(rows.width, -1)
    np.minimum.at(low, rows.columns, dealt[rows.owners])
    np.maximum.at(high, rows.columns, dealt[rows.owners])
    return np.asarray(low == high)


def _one_of_each_lost(rows: IncidenceRows, dealt: Ints, rng: np.random.Generator) -> Ints:
    entries = rng.permutation(np.flatnonzero(_lost_values(rows, dealt)[rows.columns]))
    first = entries[np.unique(rows.columns[entries], return_index=True)[1]]
    return np.asarray(rows.owners[first])


def _solve_spread(support: Support, dealt: Ints, folds: int) -> FoldSpread:
    """Ask a solver for folds that differ little from those dealt."""
    each = zip(support.space.factors, support.value_rows, strict=True)
    culprit = next(
        f"{factor.name}={factor.effect_labels[int(np.argmax(lost))]}"
        for factor, rows in each
        if (lost := _lost_values(rows, dealt)).any()
    )
    if len(support) * folds > _MOST_SOLVED:
        return FoldSpread(None, culprit)
    costs = np.ones((len(support), folds))
    costs[np.arange(len(support)), dealt] = 0
    program = Program(costs=costs.ravel())
    _add_one_fold_each(program, len(support), folds)
    for rows in support.value_rows:
        _add_not_all_in_one(program, rows, folds)
    solved = program.solve(seconds=_SECONDS, first=True)
    if solved.values is None:
        return FoldSpread(None, culprit, solved.proven)
    return FoldSpread(np.argmax(solved.values.reshape(len(support), folds), axis=1).astype(np.int64))


def _add_one_fold_each(program: Program, size: int, folds: int) -> None:
    ones = np.ones(size)
    program.add_many(np.arange(size + 1) * folds, np.arange(size * folds), np.ones(size * folds), least=ones, most=ones)


def _add_not_all_in_one(program: Program, rows: IncidenceRows, folds: int) -> None:
    starts, members = _holding(rows)
    most = np.diff(starts).astype(np.float64) - 1
    least = np.full(len(most), -np.inf)
    for fold in range(folds):
        program.add_many(starts, members * folds + fold, np.ones(len(members)), least=least, most=most)
