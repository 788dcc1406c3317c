"""Connected components of values: two values are linked when a seen combination holds both.

Our own, in NumPy: it takes hyperedges as they are, where a graph library would want them written out as pairs.
"""

import numpy as np

from recombine.tables.groups import Ints, number


def components(edges: Ints, nodes: int) -> Ints:
    """A label for each node, numbered from 0 in the order of each component's first node.

    `edges` holds the nodes that each row links.

    >>> components(np.array([[0, 3], [1, 4], [1, 5]]), nodes=6).tolist()
    [0, 1, 2, 0, 1, 1]
    """
    parent = np.arange(nodes)
    while len(edges):
        roots = parent[edges]
        lowest = roots.min(axis=1)
        open_ = (roots != lowest[:, None]).any(axis=1)
        edges, roots, lowest = edges[open_], roots[open_], lowest[open_]
        for column in roots.T:  # hook every root onto the lowest root it meets
            np.minimum.at(parent, column, lowest)
        parent = _flattened(parent)
    return number(parent, nodes)[1]


def _flattened(parent: Ints) -> Ints:
    """Every node points straight at its root."""
    while True:
        above = parent[parent]
        if np.array_equal(above, parent):
            return parent
        parent = above
