"""Kernel separability: is the similarity of two combinations a product of the similarities of their values?

**Our metric.** The paper names a "generalized factorization metric" and defines it nowhere that we could find. Ours:
the dot products, rearranged as pairs of values of one factor by pairs of values of the others, and the share of their
energy in the first singular value. It is 1 for a product (a correct picture of a bump; also a table of unrelated
vectors) and 1/2 for a sum of two equal parts measured from its mean. With more than two factors it is the mean over the
factors, each against all others.
"""

import numpy as np
from scipy.sparse.linalg import svds

from recombine_lab.probes.grids.cells import Cells, Numbers

_DENSE = 64


def separability(cells: Cells) -> float | None:
    """The energy share of the first singular value, between 0 and 1; None where all vectors are zero.

    >>> one_hot = np.array([[1, 0, 1, 0], [1, 0, 0, 1], [0, 1, 1, 0], [0, 1, 0, 1]])
    >>> codes = np.indices((2, 2)).reshape(2, -1).T
    >>> round(separability(Cells(one_hot @ one_hot.T * 1.0, codes, (2, 2))), 6)  # (sqrt 2 + 1)² / 6
    0.971405
    """
    energy = float(np.square(cells.gram).sum())
    scale = float(np.abs(cells.gram).max())
    if not energy > 0 or not scale > 1e-300:
        return None
    count = len(cells.sizes)
    table = cells.gram.reshape(cells.sizes * 2)
    # of two factors each says the same: the matrix of the one is the other's, turned
    chosen = range(1 if count == 2 else count)
    return float(np.mean([_first(_rearranged(table, factor, count)) / energy for factor in chosen]))


def centred_separability(cells: Cells) -> float | None:
    """The same of the vectors measured from their mean: a large constant makes anything look like a product."""
    spread = float(np.trace(cells.centred.gram))
    if not spread > 1e-12 * abs(float(np.trace(cells.gram))):
        return None
    return separability(cells.centred)


def _rearranged(table: Numbers, factor: int, count: int) -> Numbers:
    front = np.moveaxis(table, (factor, count + factor), (0, 1))
    return np.ascontiguousarray(front.reshape(front.shape[0] * front.shape[1], -1))


def _first(matrix: Numbers) -> float:
    """The square of the largest singular value."""
    if min(matrix.shape) <= _DENSE:
        return float(np.linalg.svd(matrix, compute_uv=False)[0] ** 2)
    # a start that no symmetry of a grid is orthogonal to, and the same each time
    start = np.random.default_rng(0).standard_normal(min(matrix.shape))
    return float(svds(matrix, k=1, v0=start, tol=1e-5, return_singular_vectors=False)[0] ** 2)
