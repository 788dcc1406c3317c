"""The graph of values: two values are linked when a combination holds both.

SciPy's `csgraph` does the work, on pairs. A combination of three and more values links all of them; for connected parts
it is enough to link the first with each of the others.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from recombine.numerics.groups import Ints, number

# Importing csgraph takes some 0.2 s of processor time, which is more than all else that a small audit computes. Up to
# this many rows the loop below is quicker even on one long chain, its worst case (a step a link, 20 ms in all).
_FEW_ROWS = 500


def components(rows: Ints, nodes: int) -> Ints:
    """A label for each node, numbered from 0 in the order of each component's first node.

    `rows` holds the nodes that each row links.

    >>> components(np.array([[0, 3], [1, 4], [1, 5]]), nodes=6).tolist()
    [0, 1, 2, 0, 1, 1]
    """
    return _labels_by_loop(rows, nodes) if len(rows) <= _FEW_ROWS else _labels_by_csgraph(rows, nodes)


def _labels_by_loop(rows: Ints, nodes: int) -> Ints:
    """Every row hands its lowest label to all of its nodes, until no label changes."""
    labels = np.arange(nodes)
    while True:
        held = labels[rows]
        lowest = held.min(axis=1, initial=nodes)[:, None]
        if (held == lowest).all():
            return number(labels, nodes)[1]
        np.minimum.at(labels, rows, lowest)


def _labels_by_csgraph(rows: Ints, nodes: int) -> Ints:
    from scipy.sparse import coo_array  # noqa: PLC0415 - SciPy is loaded where it is needed
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415

    narrow = rows.astype(
        np.int32
    )  # earlier versions of csgraph take no others; a node is a value, of which there are few
    first = np.repeat(narrow[:, 0], rows.shape[1] - 1)
    links = coo_array((np.ones(len(first), dtype=np.int8), (first, narrow[:, 1:].ravel())), shape=(nodes, nodes))
    return np.asarray(connected_components(links.tocsr(), directed=False)[1], dtype=np.int64)


class UnionFind:
    """Connected parts of a graph that arrives in pieces: one number for each node, and none for a link.

    >>> parts = UnionFind(6)
    >>> parts.link(np.array([[0, 3], [1, 4]]))
    >>> parts.link(np.array([[1, 5]]))
    >>> parts.labels().tolist()
    [0, 1, 2, 0, 1, 1]
    """

    def __init__(self, nodes: int) -> None:
        self._parents: npt.NDArray[Any] = np.arange(nodes, dtype=np.int32 if nodes < 2**31 else np.int64)

    def link(self, rows: Ints) -> None:
        """Join the nodes of each row. A piece is solved for itself, over the parts that its nodes are in so far."""
        roots = self._roots(rows)
        apart = roots[(roots != roots[:, :1]).any(axis=1)]
        if len(apart):
            parts, local = number(apart.ravel(), len(self._parents))
            found = components(local.reshape(apart.shape), len(parts))
            first = np.full(int(found.max()) + 1, len(self._parents), dtype=np.int64)
            np.minimum.at(first, found, parts)
            self._parents[parts] = first[found]
        self._parents[rows] = self._parents[roots]  # paths stay short: a step a piece that a node is not in

    def labels(self) -> Ints:
        """A label for each node, numbered as `components` numbers them."""
        return number(self._roots(np.arange(len(self._parents))), len(self._parents))[1]

    def _roots(self, nodes: Ints) -> npt.NDArray[Any]:
        roots = self._parents[nodes]
        while True:
            higher = self._parents[roots]
            if np.array_equal(higher, roots):
                return roots
            roots = higher


def spanning_forest(pairs: Ints, nodes: int) -> Ints:
    """Which pairs, taken in order, join two parts that those before them leave apart.

    That is the minimum spanning forest where each pair weighs its place in the order. All weights differ, so there is
    only one such forest.

    >>> spanning_forest(np.array([[0, 2], [0, 2], [1, 2], [1, 3], [0, 3]]), nodes=4).tolist()
    [0, 2, 3]
    """
    from scipy.sparse import csr_array  # noqa: PLC0415 - SciPy is loaded where it is needed
    from scipy.sparse.csgraph import minimum_spanning_tree  # noqa: PLC0415

    low, high = pairs.min(axis=1, initial=nodes), pairs.max(axis=1, initial=0)
    # a pair that comes again would be added to its first weight, and a node is joined to itself already
    _, first = np.unique(low.astype(np.int64) * nodes + high, return_index=True)
    first = first[low[first] != high[first]]
    ends = low[first].astype(np.int32), high[first].astype(np.int32)  # earlier versions of csgraph take no others
    weights = csr_array((first + 1.0, ends), shape=(nodes, nodes))  # 0 would mean no link
    return np.sort(minimum_spanning_tree(weights).data.astype(np.int64) - 1)
