"""Rows of unseen combinations put together from rows of seen ones, where nobody has any.

A row of kernel values is an inner product with features, so the row of an unseen combination can be composed from those
of held-out seen examples: main effects of the factors are fitted to these rows by least squares, and the residual of an
example that shares a value with the combination is added. A machine's scores are linear in the kernel's rows (K W + b),
and so is all of this: to compose the rows and answer them is to compose the scores of the held-out examples. So no row
is ever written; a brute-force twin in the tests writes them.

It is optimistic where what makes an example hard to read depends on its combination. A rehearsal says by how much: seen
combinations are left out, and forecast from their own rows and from composed ones.
"""

from dataclasses import dataclass

import numpy as np

from recombine.algebra.groups import Codes, Ints, Numbers
from recombine.seeds import derived

_DRAWN = 20
"""Composed rows of each combination: each with the residual of another example."""


@dataclass(frozen=True, eq=False)
class Composed:
    """For composed rows: which combination each is of, and their scores, (c · draws, q)."""

    place: Ints
    raw: Numbers


def design(codes: Codes, sizes: tuple[int, ...]) -> Numbers:
    """One-hot factors and a constant.

    >>> design(np.array([[0, 1]]), (2, 2)).tolist()
    [[1.0, 1.0, 0.0, 0.0, 1.0]]
    """
    columns = [np.ones((len(codes), 1))]
    columns += [(codes[:, k, None] == np.arange(size)).astype(np.float64) for k, size in enumerate(sizes)]
    return np.concatenate(columns, axis=1)


def composed(raw: Numbers, codes: Codes, asked: Codes, *, seed: int, draws: int = _DRAWN) -> Composed:
    """Scores of rows of the `asked` combinations, from those of held-out examples of seen ones."""
    sizes = tuple((np.concatenate([codes, asked]).max(axis=0) + 1).tolist())
    own = design(codes, sizes)
    effects = np.linalg.lstsq(own, raw, rcond=None)[0]
    residual = raw - own @ effects
    middle = design(asked, sizes) @ effects
    chosen = lent(codes, asked, seed=seed, draws=draws)
    place = np.repeat(np.arange(len(asked)), chosen.shape[1])
    return Composed(place, middle[place] + residual[chosen.ravel()])


def lent(codes: Codes, asked: Codes, *, seed: int, draws: int = _DRAWN) -> Ints:
    """For each combination, examples that share as many values with it as any does, drawn again where there are few."""
    rng = np.random.default_rng(derived(seed, "composed"))
    found = np.empty((len(asked), draws), dtype=np.int64)
    for place, one in enumerate(asked):
        shared = (codes == one).sum(axis=1)
        near = np.flatnonzero(shared == shared.max())
        found[place] = rng.permutation(near)[:draws] if len(near) >= draws else rng.choice(near, draws)
    return found
