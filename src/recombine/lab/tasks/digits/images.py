"""Images of ten classes, to draw from by class.

Letters: n examples, C channels, H x W pixels.
"""

from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from recombine.lab.tasks.data.images import IN_STRIPS, Images, Labels, cifar10, mnist
from recombine.lab.tasks.digits.synthetic import glyphs
from recombine.lab.tasks.task import Part

ImageSet = Literal["mnist", "fashion_mnist", "cifar10", "synthetic"]
SHAPES: dict[ImageSet, tuple[int, int, int]] = {
    "mnist": (1, 28, 28),
    "fashion_mnist": (1, 28, 28),
    "cifar10": (3, 32, 32),
    "synthetic": (1, 28, 28),
}
"""(C, H, W), known without reading any file."""
CLASSES = 10


@dataclass(frozen=True, eq=False)
class Pool:
    """Images in the order of their class: those of class c are `counts[c]` of them from `starts[c]` on."""

    images: Tensor
    starts: Tensor
    counts: Tensor

    @classmethod
    def of(cls, images: Images, labels: Labels) -> "Pool":
        """Images and their classes as a pool."""
        order = np.argsort(labels, kind="stable")
        counts = np.bincount(labels, minlength=CLASSES)
        starts = np.cumsum(counts) - counts
        return cls(torch.from_numpy(images[order]), torch.from_numpy(starts), torch.from_numpy(counts))

    def first(self, per_class: int) -> "Pool":
        """Only the first few of each class; the images are shared."""
        return Pool(self.images, self.starts, self.counts.clamp(max=per_class))

    def draw(self, classes: Tensor, *, chance: torch.Generator) -> Tensor:
        """An image of each of these classes, any of them with equal chance: bytes (n, C, H, W)."""
        places = (torch.rand(len(classes), generator=chance, dtype=torch.float64) * self.counts[classes]).long()
        return self.images.index_select(0, self.starts[classes] + places)


def pool(images: ImageSet, part: Part, per_class: int | None = None) -> Pool:
    """The images of a data set. `per_class` limits the training part, never the test part."""
    if per_class is None or part == "test":
        return _whole(images, part)
    return _whole(images, part, few=images == "cifar10" and per_class <= IN_STRIPS).first(per_class)


@cache
def _whole(images: ImageSet, part: Part, *, few: bool = False) -> Pool:
    """All images, read once in a process; of CIFAR-10's training part, where that is enough, a few."""
    if images == "synthetic":
        return Pool.of(*glyphs(part))
    if images == "cifar10":
        return Pool.of(*cifar10(part, per_class=IN_STRIPS if few else None))
    return Pool.of(*mnist(part, folder=images))
