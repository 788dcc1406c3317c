"""Many outputs as few coordinates, where nothing but distances counts.

A squared error over outputs does not change when the outputs are rotated, and adding up effects, a mean, or the nearest
seen ones commute with every rotation: what they say of rotated answers is the rotation of what they say. n combinations
span n dimensions at most. So n vectors of 5,000 outputs are n vectors of n coordinates to everything that asks for
squared errors alone, and its time depends on the combinations only.
"""

import numpy as np

from recombine.numerics.groups import Numbers
from recombine.numerics.vector_scores import Vectors

_LINES = 256
_MOST_COMPARED = 500
"""Vectors whose products are looked at for their effective dimension: 125,000 pairs."""


def coordinates(vectors: Vectors) -> Numbers:
    """(n, r) Coordinates about the mean with the same distances as the vectors (n, m), r being n or m at most.

    >>> found = coordinates(np.array([[0.0, 0.0, 0.0], [3.0, 4.0, 0.0]]))
    >>> found.shape, round(float(np.linalg.norm(found[0] - found[1])), 9)
    ((2, 1), 5.0)
    """
    centre = vectors.mean(axis=0, dtype=np.float64)
    if len(vectors) >= vectors.shape[1]:
        return np.asarray(vectors - centre)
    gram = products(vectors, centre)
    eigenvalues, directions = np.linalg.eigh(gram)
    kept = eigenvalues > 1e-13 * max(float(eigenvalues[-1]), 0.0)
    return np.asarray(directions[:, kept] * np.sqrt(eigenvalues[kept]))


def products(vectors: Vectors, centre: Numbers) -> Numbers:
    """(n, n) The products of vectors about a centre, some lines in float64 at a time."""
    count = len(vectors)
    found = np.empty((count, count))
    for start in range(0, count, _LINES):
        mine = vectors[start : start + _LINES] - centre
        for other in range(0, start + 1, _LINES):
            block = mine @ (vectors[other : other + _LINES] - centre).T
            found[start : start + _LINES, other : other + _LINES] = block
            found[other : other + _LINES, start : start + _LINES] = block.T
    return found


def effective_dimension(vectors: Vectors) -> float:
    """How many independent outputs of equal variance would have products as small as these: (tr Σ)² / tr Σ².

    For independent vectors of covariance Σ the squared length is tr Σ on average, and the squared product of two is
    tr Σ². Outputs that move together count as one.

    >>> rng = np.random.default_rng(0)
    >>> independent = rng.normal(size=(300, 40))
    >>> 36 < effective_dimension(independent) < 44, effective_dimension(np.tile(independent[:, :1], 40)) < 1.5
    (True, True)
    """
    chosen = vectors[:: max(1, len(vectors) // _MOST_COMPARED)]
    found = products(chosen, np.zeros(vectors.shape[1]))
    length = found.diagonal()
    pairs = len(found) * (len(found) - 1)
    squares = np.square(found).sum() - np.square(length).sum()
    if pairs == 0 or squares <= 0:
        return 1.0
    return float(np.clip(length.mean() ** 2 * pairs / squares, 1.0, vectors.shape[1]))
