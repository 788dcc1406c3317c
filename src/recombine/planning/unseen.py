"""The possible combinations that were not seen: all of them where they can be listed, else some drawn at random."""

import numpy as np

from recombine.algebra.groups import Codes
from recombine.planning.collectable import Collectable


def unseen(collectable: Collectable, *, listed: int, drawn: int, seed: int) -> tuple[Codes, bool]:
    """Unseen combinations, and whether they are only a sample of them.

    >>> import recombine
    >>> from recombine.planning.costs import Costs
    >>> corner = recombine.read({"a": [0, 0, 1], "b": [0, 1, 0]}, factors=["a", "b"])
    >>> unseen(Collectable(corner, Costs.of(None, corner.space)), listed=100, drawn=10, seed=0)
    (array([[1, 1]], dtype=int32), False)
    """
    space = collectable.space
    if space.product <= listed:
        return collectable.possible_unseen, False
    rng = np.random.default_rng(seed)
    rows = np.stack([rng.integers(0, size, size=2 * drawn) for size in space.sizes], axis=1).astype(np.int32)
    rows = np.unique(rows, axis=0)
    rows = rows[~collectable.impossible(rows) & ~collectable.seen(rows)]
    return rows[np.sort(rng.permutation(len(rows))[:drawn])], True
