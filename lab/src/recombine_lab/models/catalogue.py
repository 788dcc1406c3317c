"""The models by name. One line a model; listing them loads none."""

from typing import Any

from recombine_lab.base.catalogue import Catalogue

MODELS = Catalogue(
    "model",
    {
        "cnn": "recombine_lab.models.vision:CNN",
        "cnn_decoder": "recombine_lab.models.decoders:CNNDecoder",
        "compositional": "recombine_lab.models.compositional:Compositional",
        "low_rank_filters": "recombine_lab.models.decoders:LowRankFilters",
        "lstm_seq2seq": "recombine_lab.models.sequences:LSTMSeq2Seq",
        "mlp": "recombine_lab.models.mlp:MLP",
        "monolithic": "recombine_lab.models.compositional:Monolithic",
        "pixel_transformer": "recombine_lab.models.decoders:PixelTransformer",
        "resnet": "recombine_lab.models.vision:ResNet",
        "spatial_broadcast": "recombine_lab.models.decoders:SpatialBroadcast",
        "transformer": "recombine_lab.models.sequences:Transformer",
        "transformer_seq2seq": "recombine_lab.models.sequences:TransformerSeq2Seq",
        "vit": "recombine_lab.models.vision:ViT",
    },
    group="recombine_lab.models",
    base="recombine_lab.models.model:Model",
    adapter="recombine_lab.models.model:CustomModel",
)


def register(name: str, model: Any) -> None:
    """A short name, in this process, for a model of one's own: a `Model` class, an `nn.Module` class, or a function.

    >>> from torch import nn
    >>> register("perceptron", nn.Linear)
    """
    MODELS.register(name, model)
