"""Which seen points hang together, and how far an error of the fit can grow on combinations that were not seen.

Letters: n seen points, m points asked about, K slots, P sites, O outputs and C inputs of a block, G cells of a slot.

The theorem integrates the components' derivatives along paths, so that it takes the support to be path-connected. Seen
values of a slot that no step joins are *pieces*; two pieces of different slots are linked where a seen point has both.
What is linked over other pieces forms a *part* of the support. Within a part the offset between two components is fixed
by what was seen, between parts by nothing: a constant can go from one slot to the other on one part alone (a factor
under a product, u and u exp(-s) under soft occlusion), and every seen combination stays as it is. Where nothing
can go from one slot to another, as under a concatenation, no part needs another.

Within a part the error is bounded, to first order. Let d_k be the error of component k, the same within a cell of
values. Then the error of the fit is A d and that of what is asked about Q d, with the blocks J_k of the composition as
entries. So |Q d|² ≤ λ |A d|² with λ the largest eigenvalue of Q'Q relative to A'A; and what is fixed of d itself is at
most |A d| / √c with c the smallest eigenvalue of A'A that is not 0. For two slots under addition A'A is the (signless)
Laplacian of the graph whose edges are the seen points, and c its algebraic connectivity (Fiedler 1973).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree
from scipy.spatial import cKDTree
from torch import Tensor

Numbers = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
NEAREST = 12
"""Neighbours of a value that steps are looked for among; see `joined`."""
LONGER = 2.0
"""A step may be so many times the longest that as many evenly drawn values need."""
CELLS = 96
"""Cells of a slot, within each of which d is taken to be the same; fewer where there are fewer points than 4 a cell."""
FIXED = 1e-9
"""Eigenvalues below this share of the largest are 0: what belongs to them was not seen at all."""


def longest_step(even: Numbers) -> float:
    """The longest step that is needed to walk from any of some values to any other (the minimum spanning tree's).

    >>> longest_step(np.array([[0.0], [0.1], [0.3], [0.35]]))
    0.2
    """
    near = min(NEAREST, len(even) - 1)
    if near < 1:
        return 0.0
    distances, others = cKDTree(even).query(even, k=near + 1, p=np.inf)
    rows = np.repeat(np.arange(len(even)), near)
    graph = coo_matrix((distances[:, 1:].ravel() + 1e-15, (rows, others[:, 1:].ravel())), shape=(len(even),) * 2)
    return round(float(minimum_spanning_tree(graph.tocsr()).data.max()), 12)


def joined(values: Numbers, step: float) -> Ints:
    """(n,) Of which piece each value is: two are of one where a walk in steps no longer than `step` leads from one to
    the other.

    >>> joined(np.array([[0.0], [0.1], [0.9], [1.0], [0.95]]), 0.12).tolist()
    [0, 0, 1, 1, 1]
    """
    each, place = np.unique(values, axis=0, return_inverse=True)
    near = min(NEAREST, len(each) - 1)
    label = np.zeros(len(each), dtype=np.int64)
    if near:
        distances, others = cKDTree(each).query(each, k=near + 1, p=np.inf)
        rows, columns = np.nonzero(distances <= step + 1e-12)
        label = _components(rows, others[rows, columns], len(each))
    return np.asarray(_with_long_walks(each, label, step)[place.reshape(-1)])


def _with_long_walks(each: Numbers, label: Ints, step: float) -> Ints:
    """Joins what the nearest neighbours alone did not. A piece of no more values than these has them all among its
    neighbours; of a larger one the values outside of it are asked."""
    for one in np.flatnonzero(np.bincount(label) > NEAREST):
        inside = label == one
        while 0 < inside.sum() < len(each):
            away, _ = cKDTree(each[inside]).query(each[~inside], p=np.inf, distance_upper_bound=step + 1e-12)
            touched = np.isfinite(away)
            if not touched.any():
                break
            label = np.where(np.isin(label, label[~inside][touched]), one, label)
            inside = label == one
    return np.asarray(np.unique(label, return_inverse=True)[1])


def _components(one: Ints, other: Ints, count: int) -> Ints:
    graph = coo_matrix((np.ones(len(one)), (one, other)), shape=(count, count))
    return np.asarray(connected_components(graph, directed=False)[1], dtype=np.int64)


def pieces(values: Numbers, steps: Sequence[float]) -> Ints:
    """(n,) The piece of each value of a slot: no walk crosses a gap of the whole value, nor one of a single entry.

    `steps` are those of the whole value and of each entry. In several entries values are far apart even where they are
    dense in each, so that the gap of an entry is only seen in that entry.
    """
    alone = [joined(values[:, [column]], step) for column, step in enumerate(steps[1:])]
    found = np.column_stack([joined(values, steps[0]), *alone])
    return np.asarray(np.unique(found, axis=0, return_inverse=True)[1])


def parts(slots: Sequence[Ints]) -> Ints:
    """(n,) The part of the support that each seen point belongs to, from its piece of each slot.

    >>> parts([np.array([0, 0, 1, 2]), np.array([0, 1, 1, 2])]).tolist()
    [0, 0, 0, 1]
    """
    first = np.concatenate([[0], np.cumsum([1 + int(one.max()) for one in slots])])
    points = np.arange(len(slots[0]))
    nodes = np.concatenate([len(points) + first[k] + one for k, one in enumerate(slots)])
    label = _components(np.tile(points, len(slots)), nodes, int(len(points) + first[-1]))[: len(points)]
    return np.asarray(np.unique(label, return_inverse=True)[1])


def of_nearest(asked: Numbers, seen: Numbers, labels: Ints) -> Ints:
    """(m,) The label of the seen value that is nearest to each one asked about."""
    return np.asarray(labels[cKDTree(seen).query(asked, p=np.inf)[1]])


def cells_of(values: Numbers, labels: Ints, most: int) -> Ints:
    """(n,) Cells of values: the one with most values is halved at the median of its widest entry until there are
    `most`; none holds values of two pieces.

    >>> cells_of(np.arange(8.0)[:, None], np.zeros(8, dtype=np.int64), most=4).tolist()
    [0, 0, 2, 2, 1, 1, 3, 3]
    """
    # A value that was seen often counts once, or its cell would never be done with.
    each, first, place = np.unique(values, axis=0, return_index=True, return_inverse=True)
    cell = np.unique(labels[first], return_inverse=True)[1]
    while (count := int(cell.max()) + 1) < min(most, len(each)):
        inside = cell == np.bincount(cell).argmax()
        widest = np.ptp(each[inside], axis=0).argmax()
        middle = np.median(each[inside, widest])
        upper = inside & (each[:, widest] > middle)
        cell[upper if upper.any() else inside & (each[:, widest] >= middle)] = count
    return np.asarray(cell[place.reshape(-1)])


@dataclass(frozen=True)
class ErrorGrowth:
    """How far an error can grow (`factor`), the `connectivity`, and the share of what the d_k could do to the points
    asked about that nothing fixes (`unfixed`)."""

    factor: float
    connectivity: float
    unfixed: float


def growth(seen: Sequence[Tensor], asked: Sequence[Tensor], cells: Sequence[tuple[Ints, Ints]]) -> ErrorGrowth:
    """The bounds at one site, from the blocks (n, O, C) and (m, O, C) of each slot and their cells.

    >>> one = torch.ones(3, 1, 1)
    >>> corner = [(np.array([0, 0, 1]), np.array([1])), (np.array([0, 1, 0]), np.array([1]))]
    >>> round(growth([one, one], [one[:1], one[:1]], corner).factor ** 2, 6)  # leverage 3, of three points
    9.0
    """
    # In units of each cell's share of the points, the length of d is the root of the mean square of the d_k.
    shares = [np.repeat(np.bincount(own) / len(own), one.shape[2]) for one, (own, _) in zip(seen, cells, strict=True)]
    unit = torch.as_tensor(np.concatenate(shares)).rsqrt()
    grams = (
        _gram(blocks, [pair[side] for pair in cells], list(map(len, shares)))
        for side, blocks in enumerate((seen, asked))
    )
    fitted, wanted = (unit[:, None] * one * unit for one in grams)
    values, vectors = torch.linalg.eigh(fitted)
    fixed = values > FIXED * values[-1].clamp(min=1e-30)
    if not fixed.any():
        return ErrorGrowth(0.0, 0.0, 1.0)
    turned = vectors.T @ wanted @ vectors
    unfixed = turned.diagonal()[~fixed].sum() / turned.diagonal().sum().clamp(min=1e-30)
    root = values[fixed].rsqrt()
    largest = torch.linalg.eigvalsh(root[:, None] * turned[fixed][:, fixed] * root)[-1]
    return ErrorGrowth(float(largest.clamp(min=0).sqrt()), float(values[fixed][0]), float(unfixed.clamp(min=0)))


def _gram(blocks: Sequence[Tensor], cells: Sequence[Ints], sizes: Sequence[int]) -> Tensor:
    """A'A over the number of points; the columns of A are the cells of one slot after the other, times its inputs."""
    n, outputs, _ = blocks[0].shape
    whole = torch.zeros(n, outputs, sum(sizes), dtype=torch.float64)
    for first, block, cell in zip(np.cumsum([0, *sizes]).tolist(), blocks, cells, strict=False):
        inputs = block.shape[2]
        columns = first + torch.as_tensor(cell)[:, None] * inputs + torch.arange(inputs)
        whole.scatter_(2, columns[:, None, :].expand(n, outputs, inputs), block.to(torch.float64))
    flat = whole.flatten(0, 1)
    return flat.T @ flat / n
