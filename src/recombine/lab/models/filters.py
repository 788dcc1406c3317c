"""A network that draws every factor value in image space, and is kept from mixing the factors.

After Liang et al. (ICML 2025). Letters: n examples, N side = values of a factor = components, t value, q component.
"""

from dataclasses import dataclass
from math import sqrt
from typing import final

import torch
from torch import Tensor, nn
from torch.nn import functional

from recombine.errors import SettingError
from recombine.lab.models.model import Model
from recombine.lab.models.needs import code_length, image_given, refusal
from recombine.lab.tasks.task import Shapes

_SMALLEST_SHARE = 1e-8


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

    @final
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
        self.strengths = nn.Parameter(torch.randn(side, side) / sqrt(side))
        self.left = nn.Parameter(functional.normalize(torch.randn(side, side, side), dim=-1))
        self.right = nn.Parameter(functional.normalize(torch.randn(side, side, side), dim=-1))

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
