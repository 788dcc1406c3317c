"""Models: compositional and monolithic networks, as settings that build a torch module for any task's shapes.

The public names of this room. Each is loaded when it is first used: listing them loads no torch.
"""

from typing import TYPE_CHECKING, Any

from recombine.extras import loaded
from recombine.lab.models.catalogue import MODELS

if TYPE_CHECKING:
    from recombine.lab.models.compositional import Compositional as Compositional
    from recombine.lab.models.compositional import Monolithic as Monolithic
    from recombine.lab.models.decoders import CNNDecoder as CNNDecoder
    from recombine.lab.models.decoders import LowRankFilters as LowRankFilters
    from recombine.lab.models.decoders import PixelTransformer as PixelTransformer
    from recombine.lab.models.decoders import SpatialBroadcast as SpatialBroadcast
    from recombine.lab.models.mlp import MLP as MLP
    from recombine.lab.models.model import Model as Model
    from recombine.lab.models.model import count_parameters as count_parameters
    from recombine.lab.models.odd_one_out import OddOneOut as OddOneOut
    from recombine.lab.models.own import Own as Own
    from recombine.lab.models.own import wrap as wrap
    from recombine.lab.models.sequences import LSTMSeq2Seq as LSTMSeq2Seq
    from recombine.lab.models.sequences import Transformer as Transformer
    from recombine.lab.models.sequences import TransformerSeq2Seq as TransformerSeq2Seq
    from recombine.lab.models.vision import CNN as CNN
    from recombine.lab.models.vision import ResNet as ResNet
    from recombine.lab.models.vision import ViT as ViT

_HOME = {
    "CNN": "recombine.lab.models.vision",
    "CNNDecoder": "recombine.lab.models.decoders",
    "Compositional": "recombine.lab.models.compositional",
    "LSTMSeq2Seq": "recombine.lab.models.sequences",
    "LowRankFilters": "recombine.lab.models.decoders",
    "MLP": "recombine.lab.models.mlp",
    "Model": "recombine.lab.models.model",
    "Monolithic": "recombine.lab.models.compositional",
    "OddOneOut": "recombine.lab.models.odd_one_out",
    "Own": "recombine.lab.models.own",
    "PixelTransformer": "recombine.lab.models.decoders",
    "ResNet": "recombine.lab.models.vision",
    "SpatialBroadcast": "recombine.lab.models.decoders",
    "Transformer": "recombine.lab.models.sequences",
    "TransformerSeq2Seq": "recombine.lab.models.sequences",
    "ViT": "recombine.lab.models.vision",
    "count_parameters": "recombine.lab.models.model",
    "wrap": "recombine.lab.models.own",
}

__all__ = [
    "CNN",
    "MLP",
    "CNNDecoder",
    "Compositional",
    "LSTMSeq2Seq",
    "LowRankFilters",
    "Model",
    "Monolithic",
    "OddOneOut",
    "Own",
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
        raise AttributeError(f"module 'recombine.lab.models' has no attribute {name!r}")
    return loaded(__name__, name, _HOME[name])


def __dir__() -> list[str]:
    return __all__
