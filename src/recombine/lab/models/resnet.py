"""A small residual network. The blocks are those of Hugging Face transformers, the stem and the norm are chosen here.

The stem of transformers' ResNet (7x7 with stride 2, then pooling by 2) leaves 8x8 of a 32x32 image before the first
block, and its norm is always that of the batch. So its stem is replaced by one 3x3 convolution, as is usual for small
images, and its norms where others are asked for.
"""

from dataclasses import dataclass
from typing import Literal, final

from torch import Tensor, nn

from recombine.errors import SettingError
from recombine.lab.models.cnn import NORMS
from recombine.lab.models.model import Model
from recombine.lab.models.needs import answer_shape, as_tuples, check_positive, head, image_taken, refusal
from recombine.lab.tasks.task import Shapes


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

    @final
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
        self.body = ResNetModel(config)  # type: ignore[no-untyped-call]  # its constructor has no types
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
