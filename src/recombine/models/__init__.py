"""Models: compositional and monolithic networks, as settings that build a torch module for any task's shapes.

The public names of this room. Each is loaded when it is first used: listing them loads no torch.
"""

from typing import TYPE_CHECKING, Any

from recombine.extras import loaded

if TYPE_CHECKING:
    from recombine.models.cnn import CNN as CNN
    from recombine.models.compositional import Compositional as Compositional
    from recombine.models.compositional import Monolithic as Monolithic
    from recombine.models.decoders import CNNDecoder as CNNDecoder
    from recombine.models.decoders import SpatialBroadcast as SpatialBroadcast
    from recombine.models.filters import LowRankFilters as LowRankFilters
    from recombine.models.mlp import MLP as MLP
    from recombine.models.model import Model as Model
    from recombine.models.model import count_parameters as count_parameters
    from recombine.models.odd_one_out import OddOneOut as OddOneOut
    from recombine.models.recurrent import LSTMSeq2Seq as LSTMSeq2Seq
    from recombine.models.resnet import ResNet as ResNet
    from recombine.models.transformer import Transformer as Transformer
    from recombine.models.transformer import TransformerSeq2Seq as TransformerSeq2Seq
    from recombine.models.vit import ViT as ViT

_HOME = {
    "CNN": "recombine.models.cnn",
    "CNNDecoder": "recombine.models.decoders",
    "Compositional": "recombine.models.compositional",
    "LSTMSeq2Seq": "recombine.models.recurrent",
    "LowRankFilters": "recombine.models.filters",
    "MLP": "recombine.models.mlp",
    "Model": "recombine.models.model",
    "Monolithic": "recombine.models.compositional",
    "OddOneOut": "recombine.models.odd_one_out",
    "ResNet": "recombine.models.resnet",
    "SpatialBroadcast": "recombine.models.decoders",
    "Transformer": "recombine.models.transformer",
    "TransformerSeq2Seq": "recombine.models.transformer",
    "ViT": "recombine.models.vit",
    "count_parameters": "recombine.models.model",
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
    "ResNet",
    "SpatialBroadcast",
    "Transformer",
    "TransformerSeq2Seq",
    "ViT",
    "count_parameters",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'recombine.models' has no attribute {name!r}")
    return loaded(__name__, name, _HOME[name])


def __dir__() -> list[str]:
    return __all__
