"""What training must keep so that every value stays in it: a cover of the values by combinations."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from recombine.algebra.groups import Ints
from recombine.splits.contracts.program import Program
from recombine.tables.support import Support

Mask = npt.NDArray[np.bool_]

_SECONDS = 20.0


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
