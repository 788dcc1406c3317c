"""Outlines drawn as anti-aliased lines.

A pixel is covered by how far it lies within half a line's width of an outline. Only the few pixels around each piece
of an edge are looked at, so that an image costs as much as its lines are long.
"""

import math

import torch
from torch import Tensor

_PIECE = 1.5
_LOOKED_AT_ONCE = 2**18


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
