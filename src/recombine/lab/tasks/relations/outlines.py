"""Random closed outlines.

Around a centre, the logarithm of the radius is a sum of a few waves with random heights and phases: the outline is
smooth, never crosses itself, and every point of it is seen from the centre.
"""

import math

import torch
from torch import Tensor

from recombine.lab.tasks.relations.geometry import box

VERTICES = 64
_WAVES = (2, 3, 4, 5, 6)
_HEIGHT = 0.55


def outlines(n: int, *, chance: torch.Generator) -> Tensor:
    """n outlines as polygons (n, V, 2) around the origin, the longer side of whose box is 1.

    >>> drawn = outlines(2, chance=torch.Generator().manual_seed(0))
    >>> low, high = box(drawn)
    >>> (high - low).amax(dim=1)
    tensor([1.0000, 1.0000])
    """
    angles = torch.arange(VERTICES) * (2 * math.pi / VERTICES)
    waves = torch.tensor(_WAVES)
    heights = _HEIGHT * torch.rand(n, len(waves), generator=chance) / waves
    phases = 2 * math.pi * torch.rand(n, len(waves), generator=chance)
    logarithms = (heights[..., None] * torch.cos(waves[:, None] * angles + phases[..., None])).sum(dim=1)
    drawn = logarithms.exp()[..., None] * torch.stack([angles.cos(), angles.sin()], dim=-1)
    low, high = box(drawn)
    return drawn / (high - low).amax(dim=1)[:, None, None]
