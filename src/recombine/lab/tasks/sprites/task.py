"""Sprites as a task: the values of each slot go in, the composed image comes out."""

from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Literal, final

import torch
from torch import Tensor

from recombine.errors import SettingError
from recombine.lab.tasks.sprites.compositions import composed_channels, composition
from recombine.lab.tasks.sprites.renderer import Renderer
from recombine.lab.tasks.sprites.shapes import SHAPES
from recombine.lab.tasks.task import Batch, Codes, ContinuousTask, Part, Range, Shapes

_SHAPE_EDGES = (0.25, 0.75)  # where round(2u) steps: a quarter triangles, a half squares, a quarter circles
_SHAPE = 2  # the place of the shape among a slot's entries
_ENTRIES = 5


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
            if getattr(self, setting) < least:
                raise SettingError(
                    f"{setting}={getattr(self, setting)}",
                    why=f"there must be at least {least}",
                    instead=f"write for example Sprites({setting}={max(least, 3)})",
                )
        if not self.sharpness > 0:
            raise SettingError(
                f"sharpness={self.sharpness}",
                why="an edge rises from outside to inside, so it has a positive slope",
                instead="write sharpness=4.0 for the slope of a pixel's true coverage",
            )

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
    def renderer(self) -> Renderer:
        """What draws the values."""
        channels = self.channels or composition(self.composition).channels or 3
        return Renderer(size=self.size, composition=self.composition, channels=channels, sharpness=self.sharpness)

    @final
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
