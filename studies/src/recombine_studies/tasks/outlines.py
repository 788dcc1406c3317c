"""Random closed outlines: drawn, put inside each other, and looked at.

Around a centre, the logarithm of the radius is a sum of a few waves with random heights and phases: the outline is
smooth, never crosses itself, and every point of it is seen from the centre. Outlines are drawn as anti-aliased lines:
a pixel is covered by how far it lies within half a line's width of an outline. Only the few pixels around each piece
of an edge are looked at, so that an image costs as much as its lines are long.

Letters: n pairs of polygons, V vertices. A polygon (V, 2) is closed from its last vertex to its first, and every
function takes n of them at once. Polygons that are asked how far they are from each other do not cross.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor

VERTICES = 64
_WAVES = (2, 3, 4, 5, 6)
_HEIGHT = 0.55
# As many pairs at a time as leave the V × V numbers of each within a processor's cache.
_AT_ONCE = 64
_PIECE = 1.5
_LOOKED_AT_ONCE = 2**18


def outlines(n: int, *, rng: torch.Generator) -> Tensor:
    """n outlines as polygons (n, V, 2) around the origin, the longer side of whose box is 1.

    >>> drawn = outlines(2, rng=torch.Generator().manual_seed(0))
    >>> low, high = box(drawn)
    >>> (high - low).amax(dim=1)
    tensor([1.0000, 1.0000])
    """
    angles = torch.arange(VERTICES) * (2 * math.pi / VERTICES)
    waves = torch.tensor(_WAVES)
    heights = _HEIGHT * torch.rand(n, len(waves), generator=rng) / waves
    phases = 2 * math.pi * torch.rand(n, len(waves), generator=rng)
    logarithms = (heights[..., None] * torch.cos(waves[:, None] * angles + phases[..., None])).sum(dim=1)
    drawn = logarithms.exp()[..., None] * torch.stack([angles.cos(), angles.sin()], dim=-1)
    low, high = box(drawn)
    return drawn / (high - low).amax(dim=1)[:, None, None]


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


def lines(outlines: Tensor, present: Tensor, *, size: int, width: float) -> Tensor:
    """How far each pixel is covered (n, size, size), from outlines (n, M, V, 2) in units of the frame.

    >>> square = torch.tensor([[[[0.25, 0.25], [0.75, 0.25], [0.75, 0.75], [0.25, 0.75]]]])
    >>> lines(square, torch.tensor([[True]]), size=8, width=1.0)[0, 1:3, 1:4]
    tensor([[0.2929, 0.5000, 0.5000],
            [0.5000, 0.5000, 0.5000]])
    """
    image, which = present.nonzero(as_tuple=True)
    polygons = outlines[image, which].to(torch.float32) * size
    longest = (polygons.roll(-1, dims=1) - polygons).norm(dim=-1).amax(dim=1)
    pieces = (longest / _PIECE).ceil().to(torch.int64)
    radius = math.ceil(width / 2 + 0.5 + _PIECE / 2)
    # Around each image is a frame that takes what lies outside of it; what lies further out is moved there.
    side = size + 2 * radius
    canvas = torch.zeros(len(outlines) * side * side)
    # Outlines whose edges fall into the same number of pieces are drawn together, a cache's worth at a time.
    for amount in pieces.unique().tolist():
        rows = (pieces == amount).nonzero()[:, 0]
        looked_at = polygons.shape[1] * amount * (2 * radius + 1) ** 2
        for chunk in rows.split(max(1, _LOOKED_AT_ONCE // looked_at)):
            places, distances = _around(polygons[chunk] + radius, amount, radius, side)
            places += image[chunk, None, None, None, None] * side * side
            cover = (width / 2 + 0.5 - distances).clamp_(0, 1)
            canvas.scatter_reduce_(0, places.flatten(), cover.flatten(), reduce="amax")
    return canvas.reshape(-1, side, side)[:, radius:-radius, radius:-radius]


def _around(polygons: Tensor, pieces: int, radius: int, side: int) -> tuple[Tensor, Tensor]:
    """The pixels around each piece of each edge by place, and their distances from it; both (m, V, pieces, W, W)."""
    x, y = (part[:, :, None, None, None].contiguous() for part in polygons.unbind(dim=-1))
    along, up = x.roll(-1, dims=1) - x, y.roll(-1, dims=1) - y
    shares = ((torch.arange(pieces) + 0.5) / pieces)[:, None, None]
    steps = torch.arange(-radius, radius + 1.0)
    column = ((x + shares * along).floor_() + steps).clamp_(0, side - 1)
    row = ((y + shares * up).floor_() + steps[:, None]).clamp_(0, side - 1)
    across, down = column + 0.5 - x, row + 0.5 - y
    squared = along**2 + up**2
    share = (across * (along / squared) + down * (up / squared)).clamp_(0, 1)
    distance = torch.hypot(across - share * along, down - share * up)
    return (row.mul_(side) + column).to(torch.int64), distance
