"""The shapes as signed distances, and hues as colours.

A frame is the unit square, x to the right and y upwards. Every shape stands with its centroid at its position and
covers scale² of the frame, so that no shape is larger than another of the same scale.

The three are mirror images of themselves, so a distance needs |dx| only. A polygon's is the largest of the distances to
the lines of its sides: exact inside and along the sides; outside, beside a corner, it is below the distance to that
corner, which keeps corners sharp. Written as max(column + row, floor), it costs a grid of pixels one sum and one
maximum, whatever the shape; a circle needs a square root besides.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

SHAPES = ("triangle", "square", "circle")
INNER_RADII = (3**-0.75, 0.5, math.pi**-0.5)  # of a triangle, a square and a circle of area 1
_SLOPE = math.sqrt(3) / 2  # how much a triangle's slanted side turns to the right; it turns 1/2 upwards
_TINY = 1e-12  # keeps the root's derivative finite at the very centre of a circle


@dataclass(frozen=True, eq=False)
class Outlines:
    """Shapes by what each row and each column of pixels adds to the distance. Small, where the distances are large."""

    column: Tensor  # (..., 1, S)
    row: Tensor  # (..., S, 1)
    floor: Tensor  # (..., S, 1)
    circle: Tensor  # (..., 1, 1), 1 for a circle and 0 for a polygon
    radius: Tensor  # (..., 1, 1)

    @classmethod
    def of(cls, sprites: Tensor, *, size: int, per_frame: float = 1.0) -> "Outlines":
        """The shapes of sprites (..., 5) of x, y, shape, scale and hue, in a grid of size × size pixels.

        `shape` is 0, 1 or 2, in the order of `SHAPES`. `per_frame` is the unit of distance: how many make the width
        of the frame.
        """
        x, y, shape, scale, _ = (per_frame * sprites)[..., None, None].unbind(-3)
        centres = per_frame * (torch.arange(size, dtype=x.dtype, device=x.device) + 0.5) / size
        across, upwards = (centres - x).abs(), per_frame - centres[:, None] - y
        triangle, circle = shape < per_frame / 2, shape > 1.5 * per_frame
        tri, square, disc = INNER_RADII
        return cls(
            column=torch.where(circle, across.square(), across * torch.where(triangle, _SLOPE, 1.0)),
            row=torch.where(circle, upwards.square() + _TINY * per_frame**2, upwards * torch.where(triangle, 0.5, 0.0)),
            floor=torch.where(circle, 0.0, torch.where(triangle, -upwards, upwards.abs())),
            circle=circle.to(x.dtype),
            radius=scale * torch.where(circle, disc, torch.where(triangle, tri, square)),
        )

    def depths(self) -> Tensor:
        """The signed distance of every pixel's centre to the boundary, positive inside: (..., S, S). Row 0 is the top.

        >>> square = torch.tensor([0.5, 0.5, 1.0, 0.5, 0.0])
        >>> Outlines.of(square, size=4).depths()[0].tolist()
        [-0.125, -0.125, -0.125, -0.125]
        """
        reach = torch.maximum(self.column + self.row, self.floor)
        # The root for circles only. A step from the one to the other is several times faster than `torch.where` here.
        return self.radius - torch.lerp(reach, reach.sqrt(), self.circle)

    def __getitem__(self, examples: slice) -> "Outlines":
        return Outlines(*(part[examples] for part in vars(self).values()))


def colours(hue: Tensor) -> Tensor:
    """Hues in [0, 1] as red, green and blue (..., 3), at full saturation and value; linear between six colours.

    >>> colours(torch.tensor([0.0, 1 / 3])).tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    """
    turn = 6 * hue
    red, green, blue = (turn - 3).abs() - 1, 2 - (turn - 2).abs(), 2 - (turn - 4).abs()
    return torch.stack([red, green, blue], dim=-1).clamp(0.0, 1.0)
