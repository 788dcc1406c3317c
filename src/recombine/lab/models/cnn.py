"""Convolutional networks that take an image: plain ones, whose settings cover those of two papers."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, final

from torch import nn

from recombine.errors import SettingError, nearest
from recombine.lab.models.model import Model
from recombine.lab.models.needs import answer_shape, as_tuples, check_positive, head, image_taken, refusal
from recombine.lab.tasks.task import Shapes

Norm = Literal["none", "batch", "instance"]

NORMS: dict[Norm, Callable[[int], nn.Module]] = {
    "none": lambda _: nn.Identity(),
    "batch": nn.BatchNorm2d,
    "instance": lambda channels: nn.InstanceNorm2d(channels, affine=True),
}


@dataclass(frozen=True, kw_only=True)
class CNN(Model):
    """Convolutions, each with ReLU and a norm, max-pooling by two after those counted in `pool`, then dense layers.

    As it stands it is the network of *Gradient Descent Resists Compositionality* for pairs of digits: two unpadded
    convolutions, pooled after the first.

    >>> from recombine.lab.models.model import count_parameters
    >>> shapes = Shapes(inputs=(1, 28, 56), outputs=(10,), kind="classes")
    >>> [count_parameters(CNN(padded=padded).build(shapes)) for padded in (False, True)]
    [1145930, 1625162]
    """

    channels: tuple[int, ...] = (32, 64)
    kernel: int = 3
    padded: bool = False
    pool: tuple[int, ...] = (1,)
    dense: tuple[int, ...] = (64,)
    norm: Norm = "none"

    def __post_init__(self) -> None:
        as_tuples(self, "channels", "pool", "dense")
        check_positive(self, channels=self.channels, kernel=self.kernel, dense=self.dense)
        if not set(self.pool) <= set(range(1, len(self.channels) + 1)):
            raise SettingError(
                f"CNN(pool={self.pool})",
                why=f"the convolutions after which is pooled are counted from 1 to {len(self.channels)}",
                instead=f"write for example pool=({len(self.channels)},) for the last one, or () for none",
            )

    @classmethod
    def preset(cls, name: str) -> "CNN":
        """A published network.

        `digit_pairs` is `CNN()` itself. `kernel_theory` is that of Lippl and Stachenfeld (ICLR 2025); that it pools
        once, after the last convolution, and does not pad is our reading.

        >>> CNN.preset("kernel_theory").channels
        (32, 32, 64, 64)
        """
        if name not in _PRESETS:
            raise SettingError(f"no preset {name!r}", why="CNN has none of that name", instead=nearest(name, _PRESETS))
        return _PRESETS[name]

    @final
    def build(self, shapes: Shapes) -> nn.Module:
        """A new network for a task's shapes."""
        image, answer = image_taken(self, shapes), answer_shape(self, shapes)
        height, width = (self._left_of(side) for side in image[1:])
        if min(height, width) < 1:
            raise refusal(
                self,
                shapes,
                needs="a larger image: its convolutions and poolings leave no pixel of this one",
                instead="write padded=True, or pool less often",
            )
        sizes = (self.channels[-1] * height * width, *self.dense)
        dense = [part for pair in pairwise(sizes) for part in (nn.Linear(*pair), nn.ReLU())]
        return nn.Sequential(*self._convolutions(image[0]), nn.Flatten(), *dense, head(sizes[-1], answer))

    def _convolutions(self, entering: int) -> list[nn.Module]:
        layers: list[nn.Module] = []
        for number, leaving in enumerate(self.channels, 1):
            layers += [nn.Conv2d(entering, leaving, self.kernel, padding="same" if self.padded else 0), nn.ReLU()]
            if self.norm != "none":
                layers.append(NORMS[self.norm](leaving))
            if number in self.pool:
                layers.append(nn.MaxPool2d(2))
            entering = leaving
        return layers

    def _left_of(self, side: int) -> int:
        """How many pixels of a side are left after all convolutions and poolings."""
        for number in range(1, len(self.channels) + 1):
            side = max(side - (0 if self.padded else self.kernel - 1), 0)
            side = side // 2 if number in self.pool else side
        return side


_PRESETS = {
    "digit_pairs": CNN(),
    "kernel_theory": CNN(channels=(32, 32, 64, 64), kernel=5, pool=(4,), dense=(512, 1024), norm="batch"),
}
