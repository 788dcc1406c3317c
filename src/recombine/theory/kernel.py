"""The kernel written out: how alike any two combinations are. For small tables, where a matrix is the shortest way."""

from collections.abc import Sequence

import numpy as np

from recombine.algebra.groups import Codes, Ints, Numbers
from recombine.theory.salience import zeta


def kernel(one: Codes, other: Codes, weights: Sequence[float]) -> Numbers:
    """k(z, z') for every pair of rows: the weight of all sets on which the two agree.

    >>> codes = np.array([[0, 0], [0, 1]])
    >>> kernel(codes, codes, (0.0, 0.3, 0.3, 0.4)).tolist()
    [[1.0, 0.3], [0.3, 1.0]]
    """
    return zeta(np.asarray(weights, dtype=np.float64))[agreement(one, other)]


def agreement(one: Codes, other: Codes) -> Ints:
    """For every pair of rows, the set of factors on which they agree, as a bit mask. A value of -1 agrees with none."""
    masks = np.zeros((len(one), len(other)), dtype=np.int64)
    for k in range(one.shape[1]):
        left, right = one[:, k, None], other[None, :, k]
        masks |= ((left == right) & (left >= 0)).astype(np.int64) << k
    return masks
