"""Which rows are looked at: as many of each combination, so that the frequent ones do not crowd out the rare."""

import numpy as np

from recombine.algebra.groups import Codes, Ints, group
from recombine.seeds import derived

HELD_OUT = 0.2
"""Of the rows, where each combination keeps one: on these the ridge is chosen and the seen score is measured."""


def numbered(codes: Codes) -> tuple[Ints, Ints]:
    """For each row the number of its combination, and a row of each combination.

    >>> numbered(np.array([[1, 0], [0, 0], [1, 0]]))
    (array([1, 0, 1]), array([1, 0]))
    """
    sizes = tuple((codes.max(axis=0, initial=0) + 1).tolist())
    found = group(np.asfortranarray(codes, dtype=np.int32), sizes=sizes, factors=tuple(range(codes.shape[1])))
    return found.ids, found.representatives


def drawn(combination: Ints, most: int, *, seed: int) -> Ints:
    """At most so many rows, as evenly over the combinations as they allow, in the order of the rows.

    >>> drawn(np.array([0, 0, 0, 0, 1, 2]), 4, seed=0).tolist()[-2:]
    [4, 5]
    """
    if len(combination) <= most:
        return np.arange(len(combination))
    shuffled = np.random.default_rng(derived(seed, "rows")).permutation(len(combination))
    turn = np.empty(len(combination), dtype=np.int64)
    turn[shuffled] = _turns(combination[shuffled])
    # each combination's first row, then each one's second, and so on
    order = np.lexsort((np.argsort(shuffled), turn))
    return np.sort(order[:most])


def first_of_each(combination: Ints, each: int, *, seed: int) -> Ints:
    """At most so many rows of each combination, in the order of the rows.

    >>> first_of_each(np.array([0, 1, 1, 0]), 2, seed=0).tolist()
    [0, 1, 2, 3]
    """
    shuffled = np.random.default_rng(derived(seed, "rows")).permutation(len(combination))
    return np.sort(shuffled[_turns(combination[shuffled]) < each])


def _turns(combination: Ints) -> Ints:
    """Whether a row is the first of its combination (0), the second (1), and so on."""
    order = np.argsort(combination, kind="stable")
    counts = np.bincount(combination)
    starts = np.cumsum(counts) - counts
    turn = np.empty(len(combination), dtype=np.int64)
    turn[order] = np.arange(len(combination)) - np.repeat(starts, counts)
    return turn


def held_out(combination: Ints, *, seed: int) -> tuple[Ints, Ints]:
    """Rows to fit on, and rows held out whose combination has others among the first; none where all stand alone.

    >>> [part.tolist() for part in held_out(np.array([0, 0, 0, 0, 0, 1]), seed=0)][0][-1]
    5
    """
    rng = np.random.default_rng(derived(seed, "held out"))
    shuffled = rng.permutation(len(combination))
    spare = shuffled[_turns(combination[shuffled]) > 0]
    held = np.sort(rng.permutation(spare)[: max(1, round(HELD_OUT * len(combination)))])
    return np.setdiff1d(np.arange(len(combination)), held), held


def folds(combination: Ints, count: int, *, seed: int) -> list[Ints]:
    """The rows of each part of the combinations, whole combinations to a part."""
    size = int(combination.max(initial=-1)) + 1
    parts = np.array_split(np.random.default_rng(derived(seed, "folds")).permutation(size), min(count, size))
    return [np.flatnonzero(np.isin(combination, part)) for part in parts]
