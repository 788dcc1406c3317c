"""Sprites as images: batched over examples and slots, differentiable, on any device.

Letters: n examples, K slots, C channels of a component, O channels of the whole, S the side of the image.

A sprite is a row of five values: x, y, shape (0, 1, 2), scale, hue. It is one colour within one mask, and the mask is
the sigmoid of the signed distance, which is smooth in x, y and scale. So the usual compositions need no image of each
slot: they weigh the masks, and one small matrix product turns weights into colours (`picture`).
"""

from dataclasses import dataclass
from typing import final

import torch
from torch import Tensor

from recombine.lab.tasks.sprites.compositions import compose, composed_channels, composition
from recombine.lab.tasks.sprites.shapes import Outlines, colours

_FAINTEST = -30.0  # σ of this is 1e-13; without the limit, numbers below the normal range make a processor crawl
_AT_ONCE = 2**17  # pixels of masks that are worked on together: their arrays stay in a core's cache


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

    @final
    def masks(self, sprites: Tensor) -> Tensor:
        """How far each pixel is covered, in (0, 1): (..., 5) -> (..., S, S)."""
        return _masks(self._outlines(sprites))

    @final
    def components(self, sprites: Tensor) -> Tensor:
        """The image of each slot by itself: (n, K, 5) -> (n, K, C, S, S)."""
        return self._components(self.masks(sprites), colours(sprites[..., 4]))

    @final
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

    def _outlines(self, sprites: Tensor) -> Outlines:
        return Outlines.of(sprites, size=self.size, per_frame=self.size * self.sharpness)


def _masks(outlines: Outlines) -> Tensor:
    return torch.sigmoid(outlines.depths().clamp(min=_FAINTEST))
