"""Polygons that lie inside each other, touch, or keep apart.

Letters: n pairs of polygons, V vertices. A polygon (V, 2) is closed from its last vertex to its first, and every
function takes n of them at once. Polygons that are asked how far they are from each other do not cross.
"""

from collections.abc import Callable

import torch
from torch import Tensor

# As many pairs at a time as leave the V × V numbers of each within a processor's cache.
_AT_ONCE = 64


def inside(points: Tensor, polygon: Tensor) -> Tensor:
    """Which points (n, P, 2) lie inside (n, P): a ray to the right crosses the outline an odd number of times.

    >>> square = torch.tensor([[[0.0, 0], [1, 0], [1, 1], [0, 1]]])
    >>> inside(torch.tensor([[[0.5, 0.5], [1.5, 0.5]]]), square)
    tensor([[ True, False]])
    """
    crossings = _crossings(points, polygon) > points[:, :, None, 0]
    return crossings.sum(dim=-1) % 2 == 1


def gap(one: Tensor, other: Tensor) -> Tensor:
    """The smallest distance between two outlines (n).

    >>> square = torch.tensor([[[0.0, 0], [1, 0], [1, 1], [0, 1]]])
    >>> gap(square, square + torch.tensor([1.25, 0.5]))
    tensor([0.2500])
    """
    return _in_blocks(lambda a, b: torch.minimum(_nearest(a, b), _nearest(b, a)).sqrt(), one, other)


def reach(moving: Tensor, still: Tensor, direction: Tensor) -> Tensor:
    """How far a polygon can go in a direction (n, 2) before it touches the other (n); infinite where it never does.

    Two polygons first touch where a vertex of one meets an edge of the other, so that vertices are enough to look at.

    >>> square = torch.tensor([[[0.0, 0], [1, 0], [1, 1], [0, 1]]])
    >>> reach(square, square + torch.tensor([3.0, 0.5]), torch.tensor([[1.0, 0.0]]))
    tensor([2.])
    """
    # In axes along and across the direction every ray is horizontal.
    across = torch.stack([-direction[:, 1], direction[:, 0]], dim=-1)
    axes = torch.stack([direction, across], dim=-1)
    return _in_blocks(_way, moving @ axes, still @ axes)


def box(points: Tensor) -> tuple[Tensor, Tensor]:
    """The lowest and the highest coordinates of points (…, P, 2)."""
    return points.amin(dim=-2), points.amax(dim=-2)


def _in_blocks(measure: Callable[[Tensor, Tensor], Tensor], one: Tensor, other: Tensor) -> Tensor:
    blocks = [slice(start, start + _AT_ONCE) for start in range(0, len(one), _AT_ONCE)]
    return torch.cat([measure(one[block], other[block]) for block in blocks]) if blocks else one.new_zeros(0)


def _way(moving: Tensor, still: Tensor) -> Tensor:
    """How far a polygon can go to the right."""
    ahead = _crossings(moving, still) - moving[:, :, None, 0]
    behind = still[:, :, None, 0] - _crossings(still, moving)
    ways = torch.cat([ahead.flatten(1), behind.flatten(1)], dim=1)
    return torch.where(ways >= 0, ways, torch.inf).amin(dim=1)  # NaN, where no ray meets an edge, is not >= 0


def _crossings(points: Tensor, polygon: Tensor) -> Tensor:
    """Where the horizontal line through each point crosses each edge (n, P, V); NaN where it does not."""
    x, y = (part[:, None].contiguous() for part in polygon.unbind(dim=-1))
    slope = (x.roll(-1, dims=2) - x) / (y.roll(-1, dims=2) - y)
    height = points[:, :, 1:]
    below = y <= height
    # Half-open edges: a line through a vertex crosses one of the two that meet there.
    crossed = below != below.roll(-1, dims=2)
    return torch.where(crossed, torch.addcmul(x, slope, height - y), torch.nan)


def _nearest(points: Tensor, polygon: Tensor) -> Tensor:
    """The smallest squared distance from any of the points to any edge (n)."""
    left, low = (part[:, None].contiguous() for part in polygon.unbind(dim=-1))
    along, up = left.roll(-1, dims=2) - left, low.roll(-1, dims=2) - low
    squared = along**2 + up**2
    x, y = points[:, :, :1] - left, points[:, :, 1:] - low
    share = torch.addcmul(x * (along / squared), y, up / squared).clamp_(0, 1)
    x.addcmul_(share, along, value=-1)
    y.addcmul_(share, up, value=-1)
    return x.square_().addcmul_(y, y).flatten(1).amin(dim=1)
