"""Several images as one input: beside each other, or in channels of their own and shifted apart.

Letters: n examples, K items, C channels, H x W pixels of one image.
"""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor
from torch.nn.functional import pad

from recombine.errors import SettingError
from recombine.lab.tasks.checks import at_least, one_of
from recombine.lab.tasks.digits.images import SHAPES, ImageSet, pool
from recombine.lab.tasks.task import Part
from recombine.seeds import derived

Layout = Literal["side", "channels"]
_REACH = 4


@dataclass(frozen=True, kw_only=True)
class Pictures:
    """How K items, each of one of ten classes, become one picture.

    `side`: in the same channels, item k begins k (W + distance) pixels from the first; nothing overlaps. `channels`:
    each item has channels of its own, and item k begins k times `distance` pixels from the first. The canvas is as
    wide as that needs, or `canvas` pixels wide with the items in its middle, so that one network fits every distance.
    `augment` shifts each training image by up to 4 pixels and mirrors half of them.

    >>> Pictures(images="mnist").shape(2)
    (1, 28, 56)
    >>> Pictures(images="mnist", layout="channels", distance=5).shape(2)
    (2, 28, 33)
    """

    images: ImageSet
    layout: Layout = "side"
    distance: int = 0
    canvas: int | None = None
    per_class: int | None = None
    augment: bool = False

    def __post_init__(self) -> None:
        one_of("images", self.images, ImageSet)
        one_of("layout", self.layout, Layout)
        at_least("distance", self.distance, 0)
        if self.per_class is not None:
            at_least("per_class", self.per_class, 1)

    def shape(self, items: int) -> tuple[int, int, int]:
        """(channels, height, width) of a picture of so many items."""
        channels, height, width = SHAPES[self.images]
        needed = width + self._step * (items - 1)
        if self.canvas is not None and self.canvas < needed:
            raise SettingError(
                f"canvas={self.canvas}",
                why=f"{items} images of {width} pixels at distance {self.distance} are {needed} wide",
                instead=f"write canvas={needed} or more, or leave it out",
            )
        return channels * (items if self.layout == "channels" else 1), height, self.canvas or needed

    def render(self, classes: Tensor, hidden: Tensor, *, seed: int, part: Part) -> Tensor:
        """Pictures (n, channels, height, width) of classes (n, K), from 0 to 1; a hidden item is noise."""
        source = pool(self.images, part, self.per_class)
        channels, _, width = SHAPES[self.images]
        shape = self.shape(classes.shape[1])
        # bytes until the last moment: four times less to move
        drawn = torch.zeros(len(classes), *shape, dtype=torch.uint8)
        left = (shape[2] - width - self._step * (classes.shape[1] - 1)) // 2
        for k in range(classes.shape[1]):
            chance = torch.Generator().manual_seed(derived(seed, "item", k))
            item = source.draw(classes[:, k].clamp(min=0), chance=chance)
            if self.augment and part == "train":
                item = augmented(item, chance=chance)
            if hidden[:, k].any():
                noise = torch.randint(256, item.shape, generator=chance, dtype=torch.uint8)
                item = torch.where(hidden[:, k, None, None, None], noise, item)
            first = channels * k if self.layout == "channels" else 0
            start = left + self._step * k
            drawn[:, first : first + channels, :, start : start + width] = item
        return drawn.float().div_(255)

    @property
    def _step(self) -> int:
        return self.distance + (SHAPES[self.images][2] if self.layout == "side" else 0)


def augmented(images: Tensor, *, chance: torch.Generator) -> Tensor:
    """Images (n, C, H, W) moved by up to 4 pixels each way over black, and mirrored with chance one half."""
    n, channels, height, width = images.shape
    padded = pad(images, [_REACH] * 4)
    down, right = torch.randint(2 * _REACH + 1, (2, n, 1), generator=chance)
    rows, columns = torch.arange(height) + down, torch.arange(width) + right
    mirrored = torch.rand(n, 1, generator=chance) < 0.5
    columns = torch.where(mirrored, columns.flip(1), columns)
    first, second = torch.arange(n)[:, None, None, None], torch.arange(channels)[None, :, None, None]
    return padded[first, second, rows[:, None, :, None], columns[:, None, None, :]]
