"""The decoder of one slot (Wiedemer et al., NeurIPS 2023): a code becomes a 4x4 image, doubled up to its size.

Letters: n examples, H height, W width, C channels.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import final

import torch
from torch import Tensor, nn
from torch.nn import functional

from recombine.lab.models.model import Model
from recombine.lab.models.needs import Image, check_positive, code_length, image_given, refusal
from recombine.lab.tasks.task import Shapes

_FIRST_SIDE = 4


@dataclass(frozen=True, kw_only=True)
class SlotDecoder(Model):
    """Four linear layers to `channels` images of 4x4, then ELU, bilinear doubling and a 2x2 convolution up to the size.

    >>> from recombine.lab.models.model import count_parameters
    >>> shapes = Shapes(inputs=(5,), outputs=(3, 64, 64), kind="values")
    >>> count_parameters(SlotDecoder().build(shapes))
    277475
    """

    hidden: int = 256
    channels: int = 32

    def __post_init__(self) -> None:
        check_positive(self, hidden=self.hidden, channels=self.channels)

    @final
    def build(self, shapes: Shapes) -> nn.Module:
        """A new decoder from a code to an image."""
        image = image_given(self, shapes)
        doublings = (image[1] // _FIRST_SIDE).bit_length() - 1
        if doublings < 1 or image[1:] != (_FIRST_SIDE << doublings,) * 2:
            raise refusal(
                self,
                shapes,
                needs="a square image with a side of 8, 16, 32, 64, … pixels, since it doubles one of 4x4",
                instead="change the task's size, or use spatial_broadcast (as a part of compositional and monolithic:"
                " decoder='broadcast'), which draws images of any size",
            )
        return _SlotNetwork(code_length(self, shapes), self.hidden, self.channels, image, doublings)


class _SlotNetwork(nn.Module):
    def __init__(self, code: int, hidden: int, channels: int, image: Image, doublings: int) -> None:
        super().__init__()
        widths = [code, hidden, hidden, hidden]
        linear = [part for pair in pairwise(widths) for part in (nn.Linear(*pair), nn.ELU())]
        self.code = nn.Sequential(*linear, nn.Linear(hidden, channels * _FIRST_SIDE**2))
        self.channels = channels
        self.doublings = nn.ModuleList(
            Doubling(channels, channels, side=_FIRST_SIDE << step) for step in range(doublings - 1)
        )
        self.picture = Doubling(channels, image[0], side=image[1] // 2, channels_first=True)

    def forward(self, codes: Tensor) -> Tensor:
        """Codes (n, length) as images (n, C, H, W)."""
        images = self.code(codes).reshape(-1, self.channels, _FIRST_SIDE, _FIRST_SIDE).permute(0, 2, 3, 1)
        for doubling in self.doublings:
            images = doubling(functional.elu(images))
        picture: Tensor = self.picture(functional.elu(images))
        return picture


class Doubling(nn.Module):
    """Bilinear doubling, then a 2x2 convolution padded on the right and below. Channels last, unless asked first.

    Both are linear, and doubling treats all channels alike. So the channels are mixed first, while the image is small,
    and the four taps are spread over the large image by two products with one fixed matrix. The numbers are those of
    the plain form; on a CPU it takes a fifth of the time or less.
    """

    spread: Tensor

    def __init__(self, entering: int, leaving: int, *, side: int, channels_first: bool = False) -> None:
        super().__init__()
        # drawn as a convolution draws them
        self.weight, self.bias = nn.Conv2d(entering, leaving, 2).parameters()
        self.channels_first = channels_first
        self.register_buffer("spread", spreading(side), persistent=False)

    def forward(self, images: Tensor) -> Tensor:
        """(n, H, W, C) as (n, 2H, 2W, C'), or as (n, C', 2H, 2W)."""
        n, side, leaving = images.shape[0], images.shape[1], len(self.bias)
        weight = self.weight.permute(1, 2, 3, 0).reshape(-1, 4 * leaving)
        # axes: example, row, column, the tap's row, the tap's column, channel
        mixed = (images.reshape(n * side * side, -1) @ weight).reshape(n, side, side, 2, 2, leaving)
        if self.channels_first:
            planes = mixed.permute(0, 5, 1, 3, 2, 4).reshape(n, leaving, 2 * side, 2 * side)
            return self.spread @ (planes @ self.spread.mT) + self.bias[:, None, None]
        rows = self.spread @ mixed.transpose(2, 3).reshape(n, 2 * side, 2 * side * leaving)
        columns = self.spread @ rows.reshape(n * 2 * side, 2 * side, leaving)
        return columns.reshape(n, 2 * side, 2 * side, leaving) + self.bias


def spreading(side: int) -> Tensor:
    """What a line's pixels, each with its two taps, add to the pixels of the doubled line: (2 side, 2 side).

    The first tap takes the doubled line as it is, the second one pixel further on, where beyond the end lies zero.
    """
    first = functional.interpolate(torch.eye(side)[:, None], scale_factor=2, mode="linear", align_corners=False)[:, 0].T
    second = torch.cat([first[1:], torch.zeros(1, side)])
    return torch.stack([first, second], 2).reshape(2 * side, 2 * side)
