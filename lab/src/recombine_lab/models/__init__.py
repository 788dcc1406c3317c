"""Models: compositional and monolithic networks, as settings that build a torch module for any task's shapes.

The public names of this room. Each is loaded when it is first used: listing them loads no torch.

To add a model: a file, and its line in `catalogue` and here; from another package, an entry point of the group
`recombine_lab.models`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from recombine_lab.models.catalogue import MODELS

if TYPE_CHECKING:
    from recombine_lab.models.compositional import Compositional as Compositional
    from recombine_lab.models.compositional import Monolithic as Monolithic
    from recombine_lab.models.decoders import CNNDecoder as CNNDecoder
    from recombine_lab.models.decoders import LowRankFilters as LowRankFilters
    from recombine_lab.models.decoders import PixelTransformer as PixelTransformer
    from recombine_lab.models.decoders import SpatialBroadcast as SpatialBroadcast
    from recombine_lab.models.mlp import MLP as MLP
    from recombine_lab.models.model import CustomModel as CustomModel
    from recombine_lab.models.model import Model as Model
    from recombine_lab.models.model import count_parameters as count_parameters
    from recombine_lab.models.model import wrap as wrap
    from recombine_lab.models.sequences import LSTMSeq2Seq as LSTMSeq2Seq
    from recombine_lab.models.sequences import Transformer as Transformer
    from recombine_lab.models.sequences import TransformerSeq2Seq as TransformerSeq2Seq
    from recombine_lab.models.vision import CNN as CNN
    from recombine_lab.models.vision import ResNet as ResNet
    from recombine_lab.models.vision import ViT as ViT

_HOME = {
    "CNN": "recombine_lab.models.vision",
    "CNNDecoder": "recombine_lab.models.decoders",
    "Compositional": "recombine_lab.models.compositional",
    "LSTMSeq2Seq": "recombine_lab.models.sequences",
    "LowRankFilters": "recombine_lab.models.decoders",
    "MLP": "recombine_lab.models.mlp",
    "Model": "recombine_lab.models.model",
    "Monolithic": "recombine_lab.models.compositional",
    "CustomModel": "recombine_lab.models.model",
    "PixelTransformer": "recombine_lab.models.decoders",
    "ResNet": "recombine_lab.models.vision",
    "SpatialBroadcast": "recombine_lab.models.decoders",
    "Transformer": "recombine_lab.models.sequences",
    "TransformerSeq2Seq": "recombine_lab.models.sequences",
    "ViT": "recombine_lab.models.vision",
    "count_parameters": "recombine_lab.models.model",
    "wrap": "recombine_lab.models.model",
}

__all__ = [
    "CNN",
    "MLP",
    "CNNDecoder",
    "Compositional",
    "CustomModel",
    "LSTMSeq2Seq",
    "LowRankFilters",
    "Model",
    "Monolithic",
    "PixelTransformer",
    "ResNet",
    "SpatialBroadcast",
    "Transformer",
    "TransformerSeq2Seq",
    "ViT",
    "count_parameters",
    "register",
    "wrap",
]


def register(name: str, model: Any) -> None:
    """A short name, in this process, for a model of one's own: a `Model` class, an `nn.Module` class, or a function.

    >>> from torch import nn
    >>> register("perceptron", nn.Linear)
    """
    MODELS.register(name, model)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'recombine_lab.models' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return __all__
