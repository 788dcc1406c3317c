"""Exact linear algebra modulo a prime: a reduced echelon form that grows batch by batch.

Entries are kept as float64 so that products run in BLAS. With a prime below 2^22, a sum of 512 products stays below
2^53 and is therefore exact. Our own: no library offers this without a compiler or a computer-algebra system.
"""

from dataclasses import dataclass, field

import numpy as np

from recombine.numerics.groups import Numbers

PRIMES = (4194301, 4194287, 4194277, 4194271)
"""The four largest primes below 2^22."""

_EXACT_TERMS = 512


def product(left: Numbers, right: Numbers, prime: int) -> Numbers:
    """A matrix product modulo a prime, exact.

    >>> product(np.array([[2.0, 3.0]]), np.array([[5.0], [7.0]]), prime=11).tolist()
    [[9.0]]
    """
    total = np.zeros((left.shape[0], right.shape[1]))
    for start in range(0, left.shape[1], _EXACT_TERMS):
        stop = start + _EXACT_TERMS
        total = np.mod(total + np.mod(left[:, start:stop] @ right[start:stop], prime), prime)
    return total


@dataclass
class Echelon:
    """The constraints met so far on some unknowns, reduced: what they leave free is its null space.

    >>> echelon = Echelon(unknowns=3, prime=11)
    >>> echelon.add(np.array([[1.0, 1.0, 0.0], [2.0, 2.0, 0.0]]))
    1
    >>> echelon.free.tolist()
    [False, True, True]
    """

    unknowns: int
    prime: int
    rows: Numbers = field(init=False)
    pivots: list[int] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        self.rows = np.zeros((0, self.unknowns))

    @property
    def free(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Which unknowns the constraints leave free."""
        free = np.ones(self.unknowns, dtype=bool)
        free[self.pivots] = False
        return free

    def add(self, batch: Numbers) -> int:
        """Take in some constraints; how many of them were new."""
        return len(self.take(batch))

    def take(self, batch: Numbers) -> list[int]:
        """Take in some constraints; which of them were new, each held against those before it."""
        batch = np.mod(batch - product(batch[:, self.pivots], self.rows, self.prime), self.prime)
        new, pivots, taken = _reduced(batch, self.prime)
        if pivots:
            self.rows = np.mod(self.rows - product(self.rows[:, pivots], new, self.prime), self.prime)
            self.rows = np.concatenate([self.rows, new])
            self.pivots += pivots
        return taken

    def restrict(self, forms: Numbers) -> Numbers:
        """Linear forms in all unknowns, rewritten in the free ones."""
        free = self.free
        return np.mod(forms[:, free] - product(forms[:, self.pivots], self.rows[:, free], self.prime), self.prime)

    def sample(self, vectors: int, rng: np.random.Generator) -> Numbers:
        """Random vectors of the null space, one a column."""
        values = np.zeros((self.unknowns, vectors))
        values[self.free] = rng.integers(0, self.prime, size=(int(self.free.sum()), vectors))
        values[self.pivots] = np.mod(-product(self.rows, values, self.prime), self.prime)
        return values


def _reduced(batch: Numbers, prime: int) -> tuple[Numbers, list[int], list[int]]:
    """Gauss–Jordan elimination of a few rows: what is left of them, their pivots, and which rows these are."""
    pivots: list[int] = []
    taken: list[int] = []
    for row in range(len(batch)):
        where = np.flatnonzero(batch[row])
        if not len(where):
            continue
        column = int(where[0])
        batch[row] = np.mod(batch[row] * pow(int(batch[row, column]), -1, prime), prime)
        others = np.flatnonzero(batch[:, column])
        others = others[others != row]
        batch[others] = np.mod(batch[others] - batch[others, column][:, None] * batch[row], prime)
        pivots.append(column)
        taken.append(row)
    return batch[batch.any(axis=1)], pivots, taken
