"""A layer as the dot products of its combinations.

Nearly every measure depends on a layer only through them: a layer of 50,000 numbers costs what one of 500 costs, and to
shuffle the factors is to exchange rows and columns.

Letters: c combinations that occur, K factors, d numbers of a layer.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from string import ascii_letters

import numpy as np
import numpy.typing as npt
from scipy.linalg import inv

from recombine_lab.probes.geometry_probe.design import Flags, GridDesign, Ints

Numbers = npt.NDArray[np.float64]
MOST_CELLS = 2_500
"""Combinations of which every pair is looked at; a larger grid is thinned."""
RIDGE = 1e-3
"""Of linear probes: this share of the mean squared length of a vector measured from the mean."""
_NO_SPREAD = 1e-200
_CHUNK = 4_096


@dataclass(frozen=True, eq=False)
class Cells:
    """The dot products (c, c) of the combinations with these codes (c, K), in the order of the codes.

    >>> one_hot = np.array([[1, 0, 1, 0], [1, 0, 0, 1], [0, 1, 1, 0], [0, 1, 0, 1]])
    >>> grid = Cells(one_hot @ one_hot.T * 1.0, np.array([[0, 0], [0, 1], [1, 0], [1, 1]]), (2, 2))
    >>> grid.whole, grid.place.tolist()
    (True, [[0, 1], [2, 3]])
    """

    gram: Numbers
    codes: Ints
    sizes: tuple[int, ...]
    ordered: tuple[bool, ...] = ()
    seen: Flags | None = None

    def __len__(self) -> int:
        return len(self.gram)

    @property
    def whole(self) -> bool:
        """Whether no combination is missing."""
        return len(self.gram) == int(np.prod(self.sizes))

    @cached_property
    def place(self) -> Ints:
        """(sizes) The row of each combination, -1 where it is missing."""
        found = np.full(self.sizes, -1, dtype=np.int64)
        found[tuple(self.codes.T)] = np.arange(len(self.codes))
        return found

    @cached_property
    def centred(self) -> "Cells":
        """The same layer measured from its mean over the combinations."""
        across = self.gram.mean(axis=0)
        return replace(self, gram=self.gram - across[:, None] - across[None, :] + across.mean())

    @cached_property
    def agreeing(self) -> Numbers:
        """(2**K,) Of a whole grid, the sum of dot products over all pairs that agree on at least a set of factors."""
        count = len(self.sizes)
        table = self.gram.reshape(self.sizes * 2)
        first = ascii_letters[:count]
        found = np.empty(2**count)
        for mask in range(2**count):
            second = "".join(first[k] if mask >> k & 1 else ascii_letters[count + k] for k in range(count))
            found[mask] = np.einsum(f"{first}{second}->", table)
        return found

    @cached_property
    def inverse(self) -> Numbers:
        """(c, c) Of the dot products measured from their mean, with the ridge of the linear probes."""
        kernel = self.centred.gram
        size = float(np.trace(kernel)) / len(kernel)
        size = size if size > _NO_SPREAD else 1.0  # of a dead layer any ridge tells the same: nothing can be read
        # A long constant beside the features is an intercept that costs next to nothing: from where they are measured
        # then does not matter, and no probe learns anything from the mean of combinations that it is asked about.
        return np.asarray(inv(kernel + 10 * size + RIDGE * size * np.eye(len(kernel)), check_finite=False))

    def part(self, rows: Ints | Flags) -> "Cells":
        """Some of the combinations, with the values that they have numbered anew."""
        chosen = np.flatnonzero(rows) if rows.dtype == bool else rows
        numbered = [np.unique(column, return_inverse=True) for column in self.codes[chosen].T]
        codes = np.stack([code.reshape(-1) for _, code in numbered], axis=1)
        return Cells(
            gram=np.ascontiguousarray(self.gram[np.ix_(chosen, chosen)]),
            codes=codes,
            sizes=tuple(len(values) for values, _ in numbered),
            ordered=self.ordered,
            seen=None if self.seen is None else self.seen[chosen],
        )

    def shuffled(self, rng: np.random.Generator) -> "Cells":
        """The same vectors, given to other combinations."""
        order = rng.permutation(len(self.gram))
        turned = replace(self, gram=np.ascontiguousarray(self.gram[np.ix_(order, order)]))
        # the dear part of the probes turns with it
        turned.__dict__["inverse"] = self.inverse[np.ix_(order, order)]
        return turned


def gram_of(features: npt.NDArray[np.floating]) -> Numbers:
    """(c, d) -> (c, c), summed in double precision a few columns at a time.

    >>> gram_of(np.array([[1.0, 2.0], [0.0, 1.0]])).tolist()
    [[5.0, 2.0], [2.0, 1.0]]
    """
    found = np.zeros((len(features), len(features)))
    for start in range(0, features.shape[1], _CHUNK):
        part = features[:, start : start + _CHUNK].astype(np.float64)
        found += part @ part.T
    return found


def complete_part(place: npt.NDArray[np.int64]) -> tuple[Ints, ...]:
    """The values of each factor that are left when values with missing combinations go, the emptiest first.

    >>> [kept.tolist() for kept in complete_part(np.array([[0, 1, 2], [3, 4, -1], [5, 6, 7]]))]
    [[0, 2], [0, 1, 2]]
    """
    kept = [np.arange(size) for size in place.shape]
    there = place >= 0
    while not there[np.ix_(*kept)].all():
        shares = []
        for axis in range(there.ndim):
            others = tuple(k for k in range(there.ndim) if k != axis)
            shares.append((~there[np.ix_(*kept)]).mean(axis=others))
        # what is lost with a value counts too: among equally empty ones, of the factor that has more to spare
        axis = max(range(there.ndim), key=lambda k: (shares[k].max(), len(kept[k])))
        kept[axis] = np.delete(kept[axis], int(shares[axis].argmax()))
        if len(kept[axis]) < 1:
            return tuple(np.zeros(0, dtype=np.int64) for _ in kept)
    return tuple(kept)


def thinned(kept: Sequence[Ints], most: int = MOST_CELLS) -> tuple[Ints, ...]:
    """Fewer values, evenly spread, of the longest factors until there are at most so many combinations."""
    left = [np.asarray(values) for values in kept]
    while np.prod([len(values) for values in left]) > most:
        longest = max(range(len(left)), key=lambda k: len(left[k]))
        count = len(left[longest])
        left[longest] = left[longest][np.linspace(0, count - 1, max(2, int(0.9 * count))).astype(int)]
    return tuple(left)


@dataclass(frozen=True, eq=False)
class CellSelection:
    """Which combinations of a design are looked at: all that occur for steps between neighbours, a whole part else."""

    all: Ints
    whole: Ints

    @property
    def enough(self) -> bool:
        """Whether there is a part without holes."""
        return len(self.whole) >= 4


def looked_at(design: GridDesign) -> CellSelection:
    """The combinations of a design that measures are made of."""
    place = np.full(design.sizes, -1, dtype=np.int64)
    place[tuple(design.cells.T)] = np.arange(len(design.cells))
    kept = complete_part(place)
    if min(len(values) for values in kept) < 2:
        whole = np.zeros(0, dtype=np.int64)
    else:
        whole = place[np.ix_(*thinned(kept))].reshape(-1)
    rows = np.arange(len(design.cells)) if len(design.cells) <= MOST_CELLS else whole
    return CellSelection(all=rows, whole=whole)
