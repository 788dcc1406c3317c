"""What training must keep: a combination of every value, a basis of all, or some of every value outside each fold.

**A cover** keeps every value in training. **A basis** lets training determine everything that is held out: a held-out
combination is determined iff its one-hot row lies in the span of training's rows, so training must keep the rank of the
whole, and any basis will do. The greedy one is taken from the end of a random order: it is the basis whose combinations
stand latest, so what is held out stands early, as chance would have it. **A spread** puts the combinations of every
value into two folds at least, with few changes to folds already dealt.

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
from recombine.numerics.additive_design import AdditiveDesign
from recombine.numerics.groups import Ints, number
from recombine.numerics.modular_arithmetic import PRIMES, Echelon
from recombine.numerics.null_space import peel
from recombine.numerics.rows import Rows
from recombine.numerics.value_graph import spanning_forest
from recombine.verbs.audit.determinacy import determinacy
from recombine.verbs.split.integer_program import Program

Mask = npt.NDArray[np.bool_]

_SECONDS = 20.0
"""How long a solver may take, for a cover or a spread."""
_MOST_ELIMINATED = 2500  # values: each batch is a dense matrix of its rows by so many columns
_BATCH = 256  # rows that are eliminated at a time, as one product of matrices
_VECTORS = 3  # random null vectors: a row outside of the span escapes them all once in prime ** 3
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
    for k, size in enumerate(support.space.sizes):
        last = np.full(size, -1, dtype=np.int64)
        last[support.codes[order, k]] = order  # of several the last one stays
        kept[last[last >= 0]] = True
    return kept


def smallest_cover(support: Support, order: Ints) -> Kept:
    """The fewest combinations that hold every value, late ones of an order where there is a choice.

    For two factors this is an edge cover of a bipartite graph, of which the linear program already has whole corners.
    """
    size = len(support)
    costs = np.empty(size)
    costs[order] = 1 + np.linspace(0.5 / size, 0, size)  # a preference too slight to buy one combination more
    program = Program(costs=costs, whole=np.full(size, len(support.space.sizes) > 2))
    for k in range(len(support.space.sizes)):
        groups = support.groups([k])
        members = np.argsort(groups.ids, kind="stable")
        starts = np.concatenate([[0], np.cumsum(groups.combinations)])
        ones = np.ones(groups.size)
        program.add_many(starts, members, np.ones(size), least=ones, most=ones * np.inf)
    solved = program.solve(seconds=_SECONDS)
    if solved.values is None:
        return Kept.of(last_of_each_value(support, order), proven=False)
    return Kept.of(solved.values > 0.5, proven=solved.proven)


def values_seen_once(support: Support, *, most: int = 3) -> list[str]:
    """Values that one combination alone holds, which therefore can never be held out; the first few."""
    alone = []
    for k, factor in enumerate(support.space.factors):
        groups = support.groups([k])
        places = groups.representatives[groups.combinations == 1][:most]
        alone += [f"{factor.name}={factor.labels[code]}" for code in support.codes[places, k]]
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
    if rows.shape[1] == 2:
        forest = np.zeros(len(rows), dtype=bool)
        forest[latest[spanning_forest(rows[latest], int(rows.max()) + 1)]] = True
        return Kept.of(forest, proven=True)
    most = len(support) - determinacy(support).rank
    if most < wanted:
        return Kept(np.ones(len(support), dtype=bool), most, proven=True)
    core = peel(Rows.equal(rows, int(rows.max()) + 1)).active
    kept = ~core
    tried = _by_batches(support, order[core[order]], wanted)
    if int((~tried).sum()) >= wanted or len(np.unique(rows[core])) > _MOST_ELIMINATED:
        return Kept.of(tried, proven=False)
    kept[_eliminate(rows, latest[core[latest]])] = True
    return Kept.of(kept, proven=True)


def _variables(support: Support) -> Ints:
    """Each combination as the numbers of its values, counted through all factors."""
    design = AdditiveDesign(support.codes, support.space.sizes)
    return number(design.columns.ravel(), design.width)[1].reshape(design.columns.shape)


def _eliminate(rows: Ints, latest: Ints) -> Ints:
    """The greedy basis in the order given: only rows that a random null vector contradicts are looked at."""
    if not len(latest):
        return latest
    nodes, local = number(rows[latest].ravel(), int(rows.max()) + 1)
    local = local.reshape(len(latest), -1)
    echelon = Echelon(len(nodes), PRIMES[0])
    rng = np.random.default_rng(0)  # decides only how exactness is reached, never what is found
    found: list[Ints] = []
    while True:
        drawn = echelon.sample(_VECTORS, rng)
        outside = np.flatnonzero(np.mod(drawn[local].sum(axis=1), PRIMES[0]).any(axis=1))[:_BATCH]
        if not len(outside):
            basis: Ints = latest[np.concatenate([*found, outside])]
            return basis
        batch = np.zeros((len(outside), len(nodes)))
        batch[np.arange(len(outside))[:, None], local[outside]] = 1
        found.append(outside[echelon.take(batch)])


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
        places = [_one_of_each_lost(support, k, moved, rng) for k in range(len(support.space.sizes))]
        chosen = np.unique(np.concatenate(places))
        if not len(chosen):
            return FoldSpread(moved)
        moved[chosen] = (moved[chosen] + rng.integers(1, folds, size=len(chosen))) % folds
    return _solve_spread(support, moved, folds)


def _lost_groups(support: Support, k: int, dealt: Ints) -> Ints:
    """The groups of one factor's values that lie wholly within one fold."""
    groups = support.groups([k])
    low, high = np.full(groups.size, np.iinfo(np.int64).max), np.full(groups.size, -1)
    np.minimum.at(low, groups.ids, dealt)
    np.maximum.at(high, groups.ids, dealt)
    return np.flatnonzero(low == high)


def _one_of_each_lost(support: Support, k: int, dealt: Ints, rng: np.random.Generator) -> Ints:
    groups = support.groups([k])
    lost = np.zeros(groups.size, dtype=bool)
    lost[_lost_groups(support, k, dealt)] = True
    members = rng.permutation(np.flatnonzero(lost[groups.ids]))
    first: Ints = members[np.unique(groups.ids[members], return_index=True)[1]]
    return first


def _solve_spread(support: Support, dealt: Ints, folds: int) -> FoldSpread:
    """Ask a solver for folds that differ little from those dealt."""
    k, group = next(
        (k, int(lost[0])) for k in range(len(support.space.sizes)) if len(lost := _lost_groups(support, k, dealt))
    )
    factor = support.space.factors[k]
    culprit = f"{factor.name}={factor.labels[support.codes[support.groups([k]).representatives[group], k]]}"
    if len(support) * folds > _MOST_SOLVED:
        return FoldSpread(None, culprit)
    costs = np.ones((len(support), folds))
    costs[np.arange(len(support)), dealt] = 0
    program = Program(costs=costs.ravel())
    _add_one_fold_each(program, len(support), folds)
    for factor_place in range(len(support.space.sizes)):
        _add_not_all_in_one(program, support, factor_place, folds)
    solved = program.solve(seconds=_SECONDS, first=True)
    if solved.values is None:
        return FoldSpread(None, culprit, solved.proven)
    return FoldSpread(np.argmax(solved.values.reshape(len(support), folds), axis=1).astype(np.int64))


def _add_one_fold_each(program: Program, size: int, folds: int) -> None:
    ones = np.ones(size)
    program.add_many(np.arange(size + 1) * folds, np.arange(size * folds), np.ones(size * folds), least=ones, most=ones)


def _add_not_all_in_one(program: Program, support: Support, k: int, folds: int) -> None:
    groups = support.groups([k])
    members = np.argsort(groups.ids, kind="stable")
    starts = np.concatenate([[0], np.cumsum(groups.combinations)])
    most = groups.combinations.astype(np.float64) - 1
    least = np.full(groups.size, -np.inf)
    for fold in range(folds):
        program.add_many(starts, members * folds + fold, np.ones(len(members)), least=least, most=most)
