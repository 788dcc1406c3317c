"""Spread the combinations of every value over two folds at least, with few changes to folds already dealt.

Our own: a few rounds of random moves settle nearly every table; what is left over is small or knotted, and is asked of
a solver, which also proves that there is no way where there is none.
"""

from dataclasses import dataclass

import numpy as np

from recombine.algebra.groups import Ints
from recombine.splits.contracts.program import Program
from recombine.tables.support import Support

_ROUNDS = 60
_MOST_SOLVED = 20_000
_SECONDS = 20.0


@dataclass(frozen=True, eq=False)
class Spread:
    """The folds, or None with a value that stands in the way and whether it is proven to."""

    folds: Ints | None
    culprit: str = ""
    proven: bool = False


def spread_values(support: Support, dealt: Ints, folds: int, rng: np.random.Generator) -> Spread:
    """Folds in which no value lies wholly within one.

    >>> import recombine
    >>> square = recombine.read({"a": [0, 0, 1, 1], "b": [0, 1, 0, 1]}, factors=["a", "b"])
    >>> spread_values(square, np.array([0, 0, 1, 1]), 2, np.random.default_rng(0)).folds is not None
    True
    """
    moved = dealt.copy()
    for _ in range(_ROUNDS):
        places = [_one_of_each_lost(support, k, moved, rng) for k in range(len(support.space.sizes))]
        chosen = np.unique(np.concatenate(places))
        if not len(chosen):
            return Spread(moved)
        moved[chosen] = (moved[chosen] + rng.integers(1, folds, size=len(chosen))) % folds
    return _solved(support, moved, folds)


def _lost(support: Support, k: int, dealt: Ints) -> Ints:
    """The groups of one factor's values that lie wholly within one fold."""
    groups = support.groups([k])
    low, high = np.full(groups.size, np.iinfo(np.int64).max), np.full(groups.size, -1)
    np.minimum.at(low, groups.ids, dealt)
    np.maximum.at(high, groups.ids, dealt)
    return np.flatnonzero(low == high)


def _one_of_each_lost(support: Support, k: int, dealt: Ints, rng: np.random.Generator) -> Ints:
    groups = support.groups([k])
    lost = np.zeros(groups.size, dtype=bool)
    lost[_lost(support, k, dealt)] = True
    members = rng.permutation(np.flatnonzero(lost[groups.ids]))
    first: Ints = members[np.unique(groups.ids[members], return_index=True)[1]]
    return first


def _solved(support: Support, dealt: Ints, folds: int) -> Spread:
    """Ask a solver for folds that differ little from those dealt."""
    k, group = next((k, int(lost[0])) for k in range(len(support.space.sizes)) if len(lost := _lost(support, k, dealt)))
    factor = support.space.factors[k]
    culprit = f"{factor.name}={factor.labels[support.codes[support.groups([k]).representatives[group], k]]}"
    if len(support) * folds > _MOST_SOLVED:
        return Spread(None, culprit)
    costs = np.ones((len(support), folds))
    costs[np.arange(len(support)), dealt] = 0
    program = Program(costs=costs.ravel())
    _add_one_fold_each(program, len(support), folds)
    for factor_place in range(len(support.space.sizes)):
        _add_not_all_in_one(program, support, factor_place, folds)
    solved = program.solve(seconds=_SECONDS, first=True)
    if solved.values is None:
        return Spread(None, culprit, solved.proven)
    return Spread(np.argmax(solved.values.reshape(len(support), folds), axis=1).astype(np.int64))


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
