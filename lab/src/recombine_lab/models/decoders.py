"""Networks that draw an image from a code.

Of Liang et al. (ICML 2025): decoders by convolutions or pixel by pixel, and a network that draws every factor value in
image space and is kept from mixing the factors. Of Wiedemer et al. (NeurIPS 2023): the decoder of one slot, whose code
becomes a 4x4 image, doubled up to its size.

Letters: n examples, P pixels, E width, H height, W width of an image, C channels; of filters N side = values of a
factor = components, t value, q component.
"""

from dataclasses import dataclass
from itertools import pairwise
from math import sqrt

import torch
from torch import Tensor, nn
from torch.nn import functional

from recombine.base.errors import SettingError
from recombine_lab.models.model import (
    Image,
    Model,
    Shaped,
    check_attention,
    check_positive,
    code_length,
    image_given,
    refusal,
)
from recombine_lab.tasks.task import Shapes

_FIRST_SIDE = 4
_SMALLEST_SHARE = 1e-8


@dataclass(frozen=True, kw_only=True)
class CNNDecoder(Model):
    """The code as channels of one pixel, a 7x7 transposed convolution, two doublings, and `depth` 3x3 convolutions.

    It draws 28x28; for another size the features are resized to it (nearest neighbour) before the 3x3 convolutions, so
    that these still draw every pixel. `depth` counts the 3x3 convolutions, the last of which gives the image. ReLU,
    no normalisation, no squashing.

    >>> shapes = Shapes(inputs=(56,), outputs=(1, 28, 28), kind="values")
    >>> CNNDecoder(depth=2, channels=8).build(shapes)(torch.zeros(3, 56)).shape
    torch.Size([3, 1, 28, 28])
    """

    depth: int = 4
    channels: int = 64

    def __post_init__(self) -> None:
        check_positive(self, depth=self.depth, channels=self.channels)

    def build(self, shapes: Shapes) -> nn.Module:
        """A new decoder from a code to an image."""
        image, width = image_given(self, shapes), self.channels
        code = code_length(self, shapes)
        layers: list[nn.Module] = [Shaped((code, 1, 1)), nn.ConvTranspose2d(code, width, 7), nn.ReLU()]
        for _ in range(2):
            layers += [nn.ConvTranspose2d(width, width, 4, stride=2, padding=1), nn.ReLU()]
        if image[1:] != (28, 28):
            layers.append(nn.Upsample(size=image[1:], mode="nearest"))
        for _ in range(self.depth - 1):
            layers += [nn.Conv2d(width, width, 3, padding=1), nn.ReLU()]
        return nn.Sequential(*layers, nn.Conv2d(width, image[0], 3, padding=1))


@dataclass(frozen=True, kw_only=True)
class SpatialBroadcast(Model):
    """The code as a vector, copied to every pixel and added to the pixel's position; then one MLP for all pixels.

    `depth` counts the MLP's hidden layers. Positions are sines and cosines, half of them of the row and half of the
    column.

    >>> shapes = Shapes(inputs=(56,), outputs=(1, 28, 28), kind="values")
    >>> SpatialBroadcast(width=16).build(shapes)(torch.zeros(3, 56)).shape
    torch.Size([3, 1, 28, 28])
    """

    width: int = 256
    depth: int = 2

    def __post_init__(self) -> None:
        check_positive(self, width=self.width, depth=self.depth)
        if self.width < 4:
            raise SettingError(
                f"SpatialBroadcast(width={self.width})",
                why="a position is a sine and a cosine of the row and of the column, four numbers at least",
                instead="write 4 or more; 256 is usual",
            )

    def build(self, shapes: Shapes) -> nn.Module:
        """A new decoder from a code to an image."""
        image = image_given(self, shapes)
        return _Broadcast(code_length(self, shapes), self.width, self.depth, image)


class _Broadcast(nn.Module):
    positions: Tensor

    def __init__(self, code: int, width: int, depth: int, image: Image) -> None:
        super().__init__()
        self.image = image
        self.code = nn.Linear(code, width)
        self.first = nn.Linear(width, width)
        deeper = [part for _ in range(depth - 1) for part in (nn.PReLU(), nn.Linear(width, width))]
        self.rest = nn.Sequential(*deeper, nn.PReLU(), nn.Linear(width, image[0]))
        self.register_buffer("positions", sinusoids(image[1], image[2], width), persistent=False)

    def forward(self, codes: Tensor) -> Tensor:
        """Codes (n, length) as images (n, C, H, W)."""
        # the first layer is linear: what it makes of codes and of positions is added, not computed for all pairs
        of_codes = functional.linear(self.code(codes), self.first.weight)
        pixels = self.rest(of_codes[:, None] + self.first(self.positions))
        drawn: Tensor = pixels.mT.reshape(-1, *self.image)
        return drawn


def sinusoids(height: int, width: int, length: int) -> Tensor:
    """The position of every pixel as numbers, row after row: (P, E).

    >>> sinusoids(2, 3, 8).shape
    torch.Size([6, 8])
    """
    quarter = -(-length // 4)
    rates = 10_000 ** (-torch.arange(quarter) / quarter)
    rows, columns = (torch.outer(torch.arange(side), rates) for side in (height, width))
    of_rows, of_columns = (torch.cat([angles.sin(), angles.cos()], 1) for angles in (rows, columns))
    return torch.cat([of_rows.repeat_interleave(width, 0), of_columns.repeat(height, 1)], 1)[:, :length]


@dataclass(frozen=True, kw_only=True)
class PixelTransformer(Model):
    """Every pixel is a token: the code as a vector plus the pixel's position; layers of attention; a number a pixel.

    Positions are those of `SpatialBroadcast`, of which it is the kin whose pixels look at each other. `inner` is the
    hidden width of each layer's MLP. Norms come first, and nothing is dropped out.

    >>> shapes = Shapes(inputs=(16,), outputs=(1, 8, 8), kind="values")
    >>> PixelTransformer(width=16, heads=2).build(shapes)(torch.zeros(3, 16)).shape
    torch.Size([3, 1, 8, 8])
    """

    width: int = 128
    heads: int = 4
    depth: int = 2
    inner: int = 512

    def __post_init__(self) -> None:
        check_positive(self, width=self.width, heads=self.heads, depth=self.depth, inner=self.inner)
        check_attention(self, width=self.width, heads=self.heads, dropout=0.0)

    def build(self, shapes: Shapes) -> nn.Module:
        """A new decoder from a code to an image."""
        return _PixelTokens(self, code_length(self, shapes), image_given(self, shapes))


class _PixelTokens(nn.Module):
    positions: Tensor

    def __init__(self, settings: PixelTransformer, code: int, image: Image) -> None:
        super().__init__()
        width = settings.width
        self.image = image
        self.code = nn.Linear(code, width)
        self.layers = nn.Sequential(*(_attending(settings) for _ in range(settings.depth)))
        self.head = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, image[0]))
        self.register_buffer("positions", sinusoids(image[1], image[2], width), persistent=False)

    def forward(self, codes: Tensor) -> Tensor:
        """Codes (n, length) as images (n, C, H, W)."""
        pixels = self.head(self.layers(self.code(codes)[:, None] + self.positions))
        drawn: Tensor = pixels.mT.reshape(-1, *self.image)
        return drawn


def _attending(settings: PixelTransformer) -> nn.Module:
    return nn.TransformerEncoderLayer(
        settings.width, settings.heads, settings.inner, dropout=0.0, batch_first=True, norm_first=True
    )


@dataclass(frozen=True, kw_only=True)
class SlotDecoder(Model):
    """Four linear layers to `channels` images of 4x4, then ELU, bilinear doubling and a 2x2 convolution up to the size.

    >>> from recombine_lab.models.model import count_parameters
    >>> shapes = Shapes(inputs=(5,), outputs=(3, 64, 64), kind="values")
    >>> count_parameters(SlotDecoder().build(shapes))
    277475
    """

    hidden: int = 256
    channels: int = 32

    def __post_init__(self) -> None:
        check_positive(self, hidden=self.hidden, channels=self.channels)

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


@dataclass(frozen=True, kw_only=True)
class LowRankFilters(Model):
    """Every value of x and of y owns an N x N filter of N components; the two filters are merged by small convolutions.

    The loss gains `entropy` times the entropies of the components' shares of each filter and `variance` times the
    variances of its left and right vectors along the image. They are sums over all values, as published, so that
    the weights hold for N = 32 only; `averaged` divides them by the number of values, so that they carry over.

    >>> shapes = Shapes(inputs=(64,), outputs=(1, 32, 32), kind="values")
    >>> LowRankFilters().build(shapes)(torch.zeros(3, 64)).shape
    torch.Size([3, 1, 32, 32])
    """

    entropy: float = 0.1
    variance: float = 0.01
    averaged: bool = False

    def __post_init__(self) -> None:
        if self.entropy < 0 or self.variance < 0:
            raise SettingError(
                f"LowRankFilters(entropy={self.entropy}, variance={self.variance})",
                why="a penalty below zero would reward what it should keep small",
                instead="write 0 to leave a penalty out",
            )

    def build(self, shapes: Shapes) -> nn.Module:
        """A new network from two one-hot codes to an image."""
        channels, height, width = image_given(self, shapes)
        if code_length(self, shapes) != 2 * height or (channels, height) != (1, width):
            raise refusal(
                self,
                shapes,
                needs="two codes of N numbers, one for x and one for y, and an image of (1, N, N)",
                instead="give the bumps task code='onehot', or use cnn_decoder or spatial_broadcast",
            )
        return _FilterNetwork(height, self)


class Filters(nn.Module):
    """One low-rank filter for each value of a factor: E_t = sum over q of strength_tq left_tq right_tq'."""

    def __init__(self, side: int) -> None:
        super().__init__()
        self.strengths = nn.Parameter(torch.empty(side, side))
        self.left, self.right = (nn.Parameter(torch.empty(side, side, side)) for _ in range(2))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Weights as they are before training; a probe's control draws them anew by it."""
        with torch.no_grad():
            self.strengths.copy_(torch.randn(self.strengths.shape) / sqrt(len(self.strengths)))
            for one in (self.left, self.right):
                one.copy_(functional.normalize(torch.randn(one.shape), dim=-1))

    def forward(self, code: Tensor) -> Tensor:
        """The sum of the filters, each times its entry of the code: (n, N, N)."""
        left = functional.normalize(self.left, dim=-1) * self.strengths[..., None]
        filters = left.mT @ functional.normalize(self.right, dim=-1)
        return (code @ filters.flatten(1)).reshape(-1, *filters.shape[1:])

    def entropy(self) -> Tensor:
        """How evenly each filter's energy is shared among its components, summed over the values."""
        energy = self.strengths.square()
        shares = (energy / energy.sum(1, keepdim=True)).clamp(min=_SMALLEST_SHARE)
        return -(shares * shares.log()).sum()

    def variance(self) -> Tensor:
        """The variance of the raw vectors along the image, summed over values, components and both sides."""
        return self.left.var(-1, correction=0).sum() + self.right.var(-1, correction=0).sum()


class _FilterNetwork(nn.Module):
    def __init__(self, side: int, settings: LowRankFilters) -> None:
        super().__init__()
        self.x, self.y = Filters(side), Filters(side)
        merge = [part for _ in range(2) for part in (nn.PReLU(), nn.Conv2d(2, 2, 3, padding=1))]
        self.merge = nn.Sequential(*merge, nn.PReLU(), nn.Conv2d(2, 1, 3, padding=1))
        self.side = side
        self.settings = settings

    def forward(self, codes: Tensor) -> Tensor:
        """Codes (n, 2N), x before y, as images (n, 1, N, N)."""
        image: Tensor = self.merge(torch.stack([self.x(codes[:, : self.side]), self.y(codes[:, self.side :])], 1))
        return image

    def penalty(self) -> Tensor:
        """What is added to the loss."""
        entropies = self.x.entropy() + self.y.entropy()
        variances = self.x.variance() + self.y.variance()
        total: Tensor = self.settings.entropy * entropies + self.settings.variance * variances
        return total / self.side if self.settings.averaged else total
