"""Networks that take an image: plain convolutions, whose settings cover those of two papers; a small residual network;
a small vision transformer. The last two have the blocks of Hugging Face transformers, with nothing downloaded.

The stem of transformers' ResNet (7x7 with stride 2, then pooling by 2) leaves 8x8 of a 32x32 image before the first
block, and its norm is always that of the batch. So its stem is replaced by one 3x3 convolution, as is usual for small
images, and its norms where others are asked for.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

from torch import Tensor, nn

from recombine.base.checks import check_listed
from recombine.base.errors import SettingError
from recombine_lab.base.catalogue import LATER
from recombine_lab.models.model import (
    Image,
    Model,
    answer_shape,
    as_tuples,
    check_attention,
    check_positive,
    head,
    image_taken,
    refusal,
)
from recombine_lab.tasks.task import Shapes

Norm = Literal["none", "batch", "instance"]
_USUAL_PATCH = 8
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

    >>> from recombine_lab.models.model import count_parameters
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
        check_listed(name, _PRESETS, f"no preset {name!r}", why="CNN has none of that name")
        return _PRESETS[name]

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


@dataclass(frozen=True, kw_only=True)
class ResNet(Model):
    """Stages of residual blocks of two 3x3 convolutions; each stage after the first halves the image.

    As it stands it is that of Lippl and Stachenfeld (ICLR 2025).

    >>> import torch
    >>> shapes = Shapes(inputs=(3, 32, 32), outputs=(10,), kind="classes")
    >>> ResNet(blocks=(1, 1), channels=(4, 8)).build(shapes)(torch.zeros(2, 3, 32, 32)).shape
    torch.Size([2, 10])
    """

    blocks: tuple[int, ...] = (2, 2, 2, 2)
    channels: tuple[int, ...] = (16, 32, 64, 128)
    norm: Literal["batch", "instance"] = "batch"

    def __post_init__(self) -> None:
        as_tuples(self, "blocks", "channels")
        check_positive(self, blocks=self.blocks, channels=self.channels)
        if len(self.blocks) != len(self.channels):
            raise SettingError(
                f"ResNet(blocks={self.blocks}, channels={self.channels})",
                why="every stage has a number of blocks and a number of channels",
                instead="give as many of the one as of the other",
            )

    def build(self, shapes: Shapes) -> nn.Module:
        """A new network for a task's shapes."""
        image, answer = image_taken(self, shapes), answer_shape(self, shapes)
        least = 2 ** (len(self.blocks) - 1) + 1
        if min(image[1:]) < least:
            raise refusal(
                self,
                shapes,
                needs=f"images of at least {least} x {least} pixels, since each of its {len(self.blocks)} stages but"
                " the first halves them",
                instead="take fewer stages, or use cnn",
            )
        return _Residual(self, image[0], answer)


class _Residual(nn.Module):
    def __init__(self, settings: ResNet, channels: int, answer: tuple[int, ...]) -> None:
        super().__init__()
        from transformers import ResNetConfig, ResNetModel  # noqa: PLC0415 - heavy, and needed here only

        config = ResNetConfig(
            num_channels=channels,
            embedding_size=settings.channels[0],
            hidden_sizes=list(settings.channels),
            depths=list(settings.blocks),
            layer_type="basic",
        )
        # its constructor has no types before 5.23
        make: Callable[[ResNetConfig], nn.Module] = ResNetModel
        self.body = make(config)
        width = settings.channels[0]
        stem = nn.Conv2d(channels, width, 3, padding=1, bias=False)
        self.body.set_submodule("embedder", nn.Sequential(stem, nn.BatchNorm2d(width), nn.ReLU()))
        for name, module in list(self.body.named_modules()):
            if isinstance(module, nn.BatchNorm2d):
                self.body.set_submodule(name, NORMS[settings.norm](module.num_features))
        self.head = head(settings.channels[-1], answer)

    def forward(self, images: Tensor) -> Tensor:
        """Images (n, channels, height, width) as answers."""
        answers: Tensor = self.head(self.body(images).pooler_output.flatten(1))
        return answers


@dataclass(frozen=True, kw_only=True)
class ViT(Model):
    """Patches as tokens, transformer layers, and an answer read off the class token.

    `patch` is a number of pixels; None takes the largest up to 8 that divides both sides of the image.

    `inner` is the hidden width of each layer's MLP. Heads share the width in equal parts, unless `head` says how large
    each of them is, whatever the width: then any number of heads will do (`ViT.preset("kernel_theory")` has six).

    >>> import torch
    >>> shapes = Shapes(inputs=(3, 32, 32), outputs=(10,), kind="classes")
    >>> ViT(width=16, heads=2, depth=1, inner=32).build(shapes)(torch.zeros(2, 3, 32, 32)).shape
    torch.Size([2, 10])
    """

    patch: int | None = None
    heads: int = 8
    width: int = 256
    depth: int = 4
    inner: int = 1024
    dropout: float = 0.1
    head: int | None = field(default=None, metadata=LATER)

    def __post_init__(self) -> None:
        patch, head = 1 if self.patch is None else self.patch, 1 if self.head is None else self.head
        sizes = {"heads": self.heads, "head": head, "width": self.width, "depth": self.depth, "inner": self.inner}
        check_positive(self, patch=patch, **sizes)
        width = self.width if self.head is None else self.head * self.heads
        check_attention(self, width=width, heads=self.heads, dropout=self.dropout)

    @classmethod
    def preset(cls, name: str) -> "ViT":
        """A published network.

        `kernel_theory` is that of Lippl and Stachenfeld (ICLR 2025): "six attention heads, 256 dimensions for both the
        attention layer and the MLP, and a depth of four". 256 is no multiple of six, so a head's size does not follow
        from the width; that it is 64 is our reading, and what implementations with such heads take unless told.

        >>> ViT.preset("kernel_theory").heads
        6
        """
        check_listed(name, _VIT_PRESETS, f"no preset {name!r}", why="ViT has none of that name")
        return _VIT_PRESETS[name]

    def build(self, shapes: Shapes) -> nn.Module:
        """A new network for a task's shapes."""
        image, answer = image_taken(self, shapes), answer_shape(self, shapes)
        patch = _largest_patch(image, _USUAL_PATCH) if self.patch is None else self.patch
        if image[1] % patch or image[2] % patch:
            raise refusal(
                self,
                shapes,
                needs=f"images whose sides are multiples of its patch, {patch} pixels",
                instead=f"write a patch that divides both sides, for example patch={_largest_patch(image, patch)}, "
                "or leave it out",
            )
        return _VisionTransformer(self, image, answer, patch)


_VIT_PRESETS = {"kernel_theory": ViT(heads=6, head=64, inner=256)}


def _largest_patch(image: Image, most: int) -> int:
    """The largest patch that divides both sides."""
    return max(patch for patch in range(1, most + 1) if not (image[1] % patch or image[2] % patch))


class _VisionTransformer(nn.Module):
    def __init__(self, settings: ViT, image: Image, answer: tuple[int, ...], patch: int) -> None:
        super().__init__()
        from transformers import ViTConfig, ViTModel  # noqa: PLC0415 - heavy, and needed here only

        config = ViTConfig(
            num_channels=image[0],
            image_size=list(image[1:]),
            patch_size=patch,
            hidden_size=settings.width,
            num_hidden_layers=settings.depth,
            num_attention_heads=settings.heads,
            intermediate_size=settings.inner,
            hidden_dropout_prob=settings.dropout,
            attention_probs_dropout_prob=settings.dropout,
        )
        if settings.head is not None:
            config.head_dim = settings.head
        self.body = ViTModel(config, add_pooling_layer=False)
        self.head = head(settings.width, answer)

    def forward(self, images: Tensor) -> Tensor:
        """Images (n, channels, height, width) as answers."""
        answers: Tensor = self.head(self.body(images).last_hidden_state[:, 0])
        return answers
