"""The cheapest edges that join what is apart: Kruskal's spanning forest by union and find.

Our own in a few lines: the graph libraries want SciPy, and candidates are few enough for a plain loop.
"""

import numpy as np

from recombine.auditing.components import components
from recombine.tables.groups import Ints


def spanning(linked: Ints, candidates: Ints, nodes: int) -> Ints:
    """Which candidates, taken in order, join two parts that the linked pairs and those before leave apart.

    >>> spanning(np.array([[0, 2]]), np.array([[0, 2], [1, 2], [1, 3], [0, 3]]), nodes=4).tolist()
    [1, 2]
    """
    start = components(linked, nodes)
    ends = start[candidates]
    open_ = np.flatnonzero(ends[:, 0] != ends[:, 1])
    parent = list(range(int(start.max()) + 1))
    taken = []
    for place, (one, other) in zip(open_.tolist(), ends[open_].tolist(), strict=True):
        a, b = _root(parent, one), _root(parent, other)
        if a != b:
            parent[a] = b
            taken.append(place)
    return np.array(taken, dtype=np.int64)


def _root(parent: list[int], node: int) -> int:
    while parent[node] != node:
        parent[node] = parent[parent[node]]
        node = parent[node]
    return node
