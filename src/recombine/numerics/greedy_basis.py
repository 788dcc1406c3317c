"""Which of some rows, taken in their order, are independent of those before them: the greedy basis of a matroid.

Taken in the order of their price, it is the cheapest basis; taken from the end of a random order, it leaves out what
stands early. Rows are eliminated modulo a prime, some hundred at a time, and only those that a random null vector of
what was taken contradicts are looked at: of 10^5 rows of rank 500 that is some hundred products.
"""

import numpy as np

from recombine.numerics.groups import Ints, Numbers, number
from recombine.numerics.modular_arithmetic import PRIMES, Echelon, product
from recombine.numerics.rows import IncidenceRows

MOST_UNKNOWNS = 2500
"""Each batch is a dense matrix of its rows by so many columns."""
_BATCH = 256  # rows that are eliminated at a time, as one product of matrices
_VECTORS = 3  # random null vectors: a row outside of the span escapes them all once in prime ** 3


def greedy_basis(rows: IncidenceRows, forms: Numbers | None = None) -> Ints:
    """The places of rows that are independent of all before them; seen through some linear `forms`, if any are given.

    A form is a column: rows are then compared by their sums alone, which are whole numbers modulo the first prime.

    >>> greedy_basis(IncidenceRows.listed([[0, 1], [1, 2], [0, 1], [0, 2], [1]], width=3)).tolist()
    [0, 1, 3]
    """
    if not len(rows):
        return np.zeros(0, dtype=np.int64)
    prime = PRIMES[0]
    if forms is None:
        nodes, local = number(rows.columns, rows.width)
        rows = IncidenceRows(rows.starts, local, len(nodes))
    echelon = Echelon(rows.width if forms is None else forms.shape[1], prime)
    rng = np.random.default_rng(0)  # decides only how exactness is reached, never what is found
    found: list[Ints] = []
    while True:
        drawn = echelon.sample(_VECTORS, rng)
        values = drawn if forms is None else product(forms, drawn, prime)
        outside = np.flatnonzero(np.mod(rows.sums(values), prime).any(axis=1))[:_BATCH]
        if not len(outside):
            return np.concatenate([*found, outside])
        batch = rows.take(outside)
        dense = batch.sparse().toarray() if forms is None else np.mod(batch.sums(forms), prime)
        found.append(outside[echelon.take(dense)])
