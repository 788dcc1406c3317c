"""Which of many partial combinations a combination holds, without a loop over them.

The patterns that name the same factors are numbered once as groups, and looked up; there are far fewer sets of factors
than patterns.
"""

from dataclasses import dataclass

import numpy as np

from recombine.algebra.groups import Codes, Groups, Ints, group
from recombine.tables.space import ANY


@dataclass(frozen=True, eq=False)
class Patterns:
    """Values for some of the factors, ANY for the others, a line each.

    >>> patterns = Patterns.of(np.array([[0, ANY], [0, 1]], dtype=np.int32), sizes=(2, 2))
    >>> patterns.last(np.array([[0, 0], [0, 1], [1, 1]])).tolist()
    [0, 1, -1]
    """

    _layers: tuple[tuple[Groups, Ints], ...]  # the groups of one set of factors, and the last line of each
    _any: int  # the last line that names no factor at all

    @classmethod
    def of(cls, lines: Codes, sizes: tuple[int, ...]) -> "Patterns":
        """Number the patterns, set of factors by set of factors."""
        named = lines != ANY
        sets, which = np.unique(named, axis=0, return_inverse=True) if len(lines) else (named, np.zeros(0))
        layers, everywhere = [], -1
        for place, chosen in enumerate(sets):
            mine = np.flatnonzero(which.ravel() == place)
            factors = tuple(np.flatnonzero(chosen).tolist())
            if not factors:
                everywhere = int(mine[-1])
                continue
            groups = group(lines[mine], sizes=sizes, factors=factors)
            last = np.zeros(groups.size, dtype=np.int64)
            np.maximum.at(last, groups.ids, mine)
            layers.append((groups, last))
        return cls(tuple(layers), everywhere)

    def last(self, codes: Codes) -> Ints:
        """The last pattern that each combination holds; -1 where it holds none."""
        found = np.full(len(codes), self._any, dtype=np.int64)
        for groups, last in self._layers:
            place = groups.lookup(codes)
            found = np.maximum(found, np.where(place >= 0, last[place], -1))
        return found
