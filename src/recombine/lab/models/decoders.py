"""The decoders of Liang et al. (ICML 2025): from a code to an image, by convolutions or pixel by pixel.

Letters: n examples, P pixels, E width, N side.
"""

from dataclasses import dataclass
from typing import final

import torch
from torch import Tensor, nn
from torch.nn import functional

from recombine.errors import SettingError
from recombine.lab.models.model import Model
from recombine.lab.models.needs import Image, Shaped, check_positive, code_length, image_given
from recombine.lab.tasks.task import Shapes


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

    @final
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

    @final
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
