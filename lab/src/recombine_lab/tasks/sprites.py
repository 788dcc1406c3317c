"""Sprites: shapes in a frame. The values of each slot go in, the composed image comes out.

Letters: n examples, K slots, C channels of a component, O channels of the whole, S the side of the image.

A sprite is a row of five values: x, y, shape (0, 1, 2), scale, hue. It is one colour within one mask, and the mask is
the sigmoid of the signed distance, which is smooth in x, y and scale. So the usual compositions need no image of each
slot: they weigh the masks, and one small matrix product turns weights into colours (`picture`). Rendering is batched
over examples and slots, differentiable, on any device.

A frame is the unit square, x to the right and y upwards. Every shape stands with its centroid at its position and
covers scale² of the frame, so that no shape is larger than another of the same scale.

The three are mirror images of themselves, so a distance needs |dx| only. A polygon's is the largest of the distances to
the lines of its sides: exact inside and along the sides; outside, beside a corner, it is below the distance to that
corner, which keeps corners sharp. Written as max(column + row, floor), it costs a grid of pixels one sum and one
maximum, whatever the shape; a circle needs a square root besides.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Literal

import torch
from torch import Tensor

from recombine.base.checks import check_number, check_whole
from recombine.base.errors import SettingError
from recombine_lab.tasks.compositions import compose, composed_channels, composition
from recombine_lab.tasks.task import Batch, Codes, ContinuousTask, Part, Range, Shapes

_SHAPE_EDGES = (0.25, 0.75)  # where round(2u) steps: a quarter triangles, a half squares, a quarter circles
_SHAPE = 2  # the place of the shape among a slot's entries
_ENTRIES = 5
_FAINTEST = -30.0  # σ of this is 1e-13; without the limit, numbers below the normal range make a processor crawl
_AT_ONCE = 2**17  # pixels of masks that are worked on together: their arrays stay in a core's cache
SHAPES = ("triangle", "square", "circle")
INNER_RADII = (3**-0.75, 0.5, math.pi**-0.5)  # of a triangle, a square and a circle of area 1
_SLOPE = math.sqrt(3) / 2  # how much a triangle's slanted side turns to the right; it turns 1/2 upwards
_TINY = 1e-12  # keeps the root's derivative finite at the very centre of a circle


@dataclass(frozen=True, kw_only=True)
class Sprites(ContinuousTask):
    """Some sprites in a frame, slot 0 in front; a model gets their values and must draw them.

    Each slot has a position, a shape, a scale and a hue. `composition` is one of `COMPOSITIONS`. `channels` is that of
    a slot's own image: 3 for red, green and blue, 4 with opacity, None for what the composition takes. An edge is as
    sharp as `sharpness` says, per pixel. An audit sees each entry in `bins`, and the shape as it is.

    >>> task = Sprites(size=16)
    >>> task.space.names[:6]
    ('x0', 'y0', 'shape0', 'scale0', 'hue0', 'x1')
    >>> batch = task.tensors([[0] * 10, [2] * 10], seed=0)
    >>> batch.inputs.shape, batch.targets.shape
    (torch.Size([2, 10]), torch.Size([2, 3, 16, 16]))
    """

    slots: int = 2
    size: int = 64
    composition: str = "soft_occlusion"
    channels: Literal[3, 4] | None = None
    sharpness: float = 4.0
    bins: int = 3

    def __post_init__(self) -> None:
        needed = composition(self.composition).channels
        if needed is not None and self.channels not in (None, needed):
            raise SettingError(
                f"channels={self.channels} with composition={self.composition!r}",
                why=f"that composition takes images of {needed} channels",
                instead=f"write channels={needed}, or leave it out",
            )
        for setting, least in (("slots", 1), ("size", 2), ("bins", 1)):
            why, instead = f"there must be at least {least}", f"write for example Sprites({setting}={max(least, 3)})"
            check_whole(setting, getattr(self, setting), least=least, why=why, instead=instead)
        why = "an edge rises from outside to inside, so it has a positive slope"
        instead = "write sharpness=4.0 for the slope of a pixel's true coverage"
        check_number("sharpness", self.sharpness, above=0, why=why, instead=instead)

    @cached_property
    def ranges(self) -> tuple[Range, ...]:
        """x, y, shape, scale and hue of slot 0, then of slot 1, and so on."""
        return tuple(chain.from_iterable(self._slot_ranges(slot) for slot in range(self.slots)))

    def _slot_ranges(self, slot: int) -> tuple[Range, ...]:
        return (
            Range(f"x{slot}", 0.1, 0.9, bins=self.bins),
            Range(f"y{slot}", 0.2, 0.8, bins=self.bins),
            Range(f"shape{slot}", levels=SHAPES, edges=_SHAPE_EDGES),
            Range(f"scale{slot}", 0.09, 0.22, bins=self.bins),
            Range(f"hue{slot}", 0.05, 0.95, bins=self.bins),
        )

    @property
    def shapes(self) -> Shapes:
        """Five values for each slot go in, an image comes out."""
        made = composed_channels(self.composition, slots=self.slots, channels=self.renderer.channels)
        return Shapes(
            inputs=(self.slots * _ENTRIES,), outputs=(made, self.size, self.size), kind="values", slots=self.slots
        )

    @property
    def renderer(self) -> "Renderer":
        """What draws the values."""
        channels = self.channels or composition(self.composition).channels or 3
        return Renderer(size=self.size, composition=self.composition, channels=channels, sharpness=self.sharpness)

    def values(self, latents: Tensor) -> Tensor:
        """Points of the unit cube (n, D) as positions, shapes, scales and hues (n, slots, 5).

        The shape is round(2u); exactly between two, the later one.
        """
        low, high = (
            latents.new_tensor([getattr(latent, end) for latent in self.ranges[:_ENTRIES]]) for end in ("low", "high")
        )
        entries = latents.reshape(len(latents), self.slots, _ENTRIES)
        steps = [(entries[..., _SHAPE] >= edge).to(latents.dtype) for edge in _SHAPE_EDGES]
        x, y, _, scale, hue = (low + (high - low) * entries).unbind(-1)
        return torch.stack([x, y, steps[0] + steps[1], scale, hue], dim=-1)

    def render(self, latents: Tensor, *, seed: int, part: Part) -> Batch:  # noqa: ARG002 - nothing is left to chance
        """The values as they are, and the image that they describe."""
        values = self.values(latents)
        return Batch(values.flatten(1), self.renderer.pictures(values))

    def truth(self, combinations: Codes) -> None:
        """None: the target is an image."""


@dataclass(frozen=True, kw_only=True)
class Renderer:
    """How sprites are drawn.

    `sharpness` is per pixel: at 4 an edge rises as fast as a pixel's true coverage does. With three channels a colour
    fades into black with its mask; with four it fills the frame, and the fourth, how opaque it is, is the mask.

    >>> Renderer(size=8).pictures(torch.rand(7, 2, 5).round()).shape
    torch.Size([7, 3, 8, 8])
    """

    size: int
    composition: str = "soft_occlusion"
    channels: int = 3
    sharpness: float = 4.0

    def masks(self, sprites: Tensor) -> Tensor:
        """How far each pixel is covered, in (0, 1): (..., 5) -> (..., S, S)."""
        return _masks(self._outlines(sprites))

    def components(self, sprites: Tensor) -> Tensor:
        """The image of each slot by itself: (n, K, 5) -> (n, K, C, S, S)."""
        return self._components(self.masks(sprites), colours(sprites[..., 4]))

    def pictures(self, sprites: Tensor) -> Tensor:
        """The sprites composed into one image: (n, K, 5) -> (n, O, S, S). Nothing else is ever as large as the result.

        A few examples are worked on at a time. Where a derivative is asked for, all of them are kept.
        """
        outlines, paint = self._outlines(sprites), colours(sprites[..., 4])
        step = max(1, _AT_ONCE // (sprites.shape[1] * self.size**2))
        chunks = [slice(start, start + step) for start in range(0, len(sprites), step)]
        parts = (self._composed(_masks(outlines[chunk]), paint[chunk]) for chunk in chunks)
        if len(chunks) == 1 or sprites.requires_grad:
            return torch.cat(list(parts))
        made = composed_channels(self.composition, slots=sprites.shape[1], channels=self.channels)
        whole = sprites.new_empty(len(sprites), made, self.size, self.size)
        for chunk, part in zip(chunks, parts, strict=True):
            whole[chunk] = part
        return whole

    def _composed(self, masks: Tensor, colour: Tensor) -> Tensor:
        chosen = composition(self.composition)
        if chosen.weights is None or self.channels != (chosen.channels or 3):
            return compose(self.composition, self._components(masks, colour))
        weights = chosen.weights(masks, colour.sum(-1)[..., None, None])
        return torch.matmul(colour.mT, weights.flatten(2)).reshape(len(masks), 3, self.size, self.size)

    def _components(self, masks: Tensor, colour: Tensor) -> Tensor:
        mask, colour = masks[:, :, None], colour[..., None, None]
        if self.channels == 3:
            return colour * mask
        return torch.cat([colour.expand(*colour.shape[:3], self.size, self.size), mask], dim=2)

    def _outlines(self, sprites: Tensor) -> "Outlines":
        return Outlines.of(sprites, size=self.size, per_frame=self.size * self.sharpness)


def _masks(outlines: "Outlines") -> Tensor:
    return torch.sigmoid(outlines.depths().clamp(min=_FAINTEST))


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
