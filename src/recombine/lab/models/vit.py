"""A small vision transformer: that of Hugging Face transformers, built from settings, with nothing downloaded."""

from dataclasses import dataclass
from typing import final

from torch import Tensor, nn

from recombine.lab.models.model import Model
from recombine.lab.models.needs import Image, answer_shape, check_attention, check_positive, head, image_taken, refusal
from recombine.lab.tasks.task import Shapes


@dataclass(frozen=True, kw_only=True)
class ViT(Model):
    """Patches as tokens, transformer layers, and an answer read off the class token.

    Lippl and Stachenfeld (ICLR 2025) give 6 heads and width 256, which does not fall into 6 equal parts; here there
    are 8 heads of 32. `inner` is the hidden width of each layer's MLP.

    >>> import torch
    >>> shapes = Shapes(inputs=(3, 32, 32), outputs=(10,), kind="classes")
    >>> ViT(width=16, heads=2, depth=1, inner=32).build(shapes)(torch.zeros(2, 3, 32, 32)).shape
    torch.Size([2, 10])
    """

    patch: int = 8
    heads: int = 8
    width: int = 256
    depth: int = 4
    inner: int = 1024
    dropout: float = 0.1

    def __post_init__(self) -> None:
        check_positive(self, patch=self.patch, heads=self.heads, width=self.width, depth=self.depth, inner=self.inner)
        check_attention(self, width=self.width, heads=self.heads, dropout=self.dropout)

    @final
    def build(self, shapes: Shapes) -> nn.Module:
        """A new network for a task's shapes."""
        image, answer = image_taken(self, shapes), answer_shape(self, shapes)
        if image[1] % self.patch or image[2] % self.patch:
            raise refusal(
                self,
                shapes,
                needs=f"images whose sides are multiples of its patch, {self.patch} pixels",
                instead="write a patch that divides both sides, for example patch="
                f"{max(patch for patch in range(1, self.patch) if not (image[1] % patch or image[2] % patch))}",
            )
        return _Transformer(self, image, answer)


class _Transformer(nn.Module):
    def __init__(self, settings: ViT, image: Image, answer: tuple[int, ...]) -> None:
        super().__init__()
        from transformers import ViTConfig, ViTModel  # noqa: PLC0415 - heavy, and needed here only

        config = ViTConfig(
            num_channels=image[0],
            image_size=list(image[1:]),
            patch_size=settings.patch,
            hidden_size=settings.width,
            num_hidden_layers=settings.depth,
            num_attention_heads=settings.heads,
            intermediate_size=settings.inner,
            hidden_dropout_prob=settings.dropout,
            attention_probs_dropout_prob=settings.dropout,
        )
        self.body = ViTModel(config, add_pooling_layer=False)
        self.head = head(settings.width, answer)

    def forward(self, images: Tensor) -> Tensor:
        """Images (n, channels, height, width) as answers."""
        answers: Tensor = self.head(self.body(images).last_hidden_state[:, 0])
        return answers
