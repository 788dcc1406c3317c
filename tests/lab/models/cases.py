"""Small networks of every kind with the shapes of a task that they can serve."""

import torch
from torch import Tensor

from recombine_lab.models.compositional import Compositional, Monolithic
from recombine_lab.models.decoders import CNNDecoder, LowRankFilters, PixelTransformer, SpatialBroadcast
from recombine_lab.models.mlp import MLP
from recombine_lab.models.model import Model
from recombine_lab.models.vision import CNN, ResNet, ViT
from recombine_lab.tasks.task import Shapes

SPRITES = Shapes(inputs=(10,), outputs=(3, 16, 16), kind="values", slots=2)
BUMPS = Shapes(inputs=(16,), outputs=(1, 8, 8), kind="values", slots=2)
DIGITS = Shapes(inputs=(1, 12, 20), outputs=(10,), kind="classes")
PICTURES = Shapes(inputs=(3, 16, 24), outputs=(4,), kind="classes")
SUMS = Shapes(inputs=(18,), outputs=(1,), kind="values", slots=2)
WORDS = Shapes(inputs=(9,), outputs=(48,), kind="tokens", vocabularies=(14, 8))

Case = tuple[Model, Shapes]

# those that can be trained as one batched network
TOGETHER: dict[str, Case] = {
    "mlp": (MLP(hidden=(12, 7)), SUMS),
    "mlp of images": (MLP(hidden=(12,), activation="tanh", initialisation="torch", bias=False), DIGITS),
    "cnn": (CNN(channels=(4, 6), dense=(8,)), DIGITS),
    "compositional": (Compositional(hidden=12, channels=4), SPRITES),
    "compositional, shared": (Compositional(hidden=12, channels=4, shared=True), SPRITES),
    "compositional, broadcast": (Compositional(decoder="broadcast", hidden=8, composition="add"), SPRITES),
    "compositional, cnn": (Compositional(decoder="cnn", channels=3, composition="product"), SPRITES),
    "compositional, of sums": (Compositional(decoder="mlp", hidden=6, composition="add"), SUMS),
    "monolithic": (Monolithic(hidden=12, channels=4), SPRITES),
    "cnn_decoder": (CNNDecoder(depth=2, channels=4), BUMPS),
    "spatial_broadcast": (SpatialBroadcast(width=8, depth=3), BUMPS),
    "low_rank_filters": (LowRankFilters(), BUMPS),
}
# and those that keep statistics of a batch, or draw lots within
ALONE: dict[str, Case] = {
    "cnn, batch norm": (CNN(channels=(4, 6), dense=(8,), norm="batch"), DIGITS),
    "cnn, instance norm": (CNN(channels=(4, 6), dense=(8,), norm="instance"), DIGITS),
    "pixel_transformer": (PixelTransformer(width=16, heads=2, inner=24), BUMPS),
    "resnet": (ResNet(blocks=(1, 2), channels=(4, 8)), PICTURES),
    "resnet, instance norm": (ResNet(blocks=(1, 2), channels=(4, 8), norm="instance"), PICTURES),
    "vit": (ViT(width=16, heads=2, depth=2, inner=32), PICTURES),
    "vit, heads of their own size": (ViT(width=16, heads=3, head=5, depth=2, inner=32), PICTURES),
}
ALL = TOGETHER | ALONE


def inputs(shapes: Shapes, *, n: int = 5, seed: int = 0) -> Tensor:
    """Numbers of the right shape."""
    return torch.rand(n, *shapes.inputs, generator=torch.Generator().manual_seed(seed))
