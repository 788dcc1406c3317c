"""The models by name. One line a model; listing them loads none."""

from recombine.catalogue import Catalogue

MODELS = Catalogue(
    "model",
    {
        "cnn": "recombine.lab.models.vision:CNN",
        "cnn_decoder": "recombine.lab.models.decoders:CNNDecoder",
        "compositional": "recombine.lab.models.compositional:Compositional",
        "low_rank_filters": "recombine.lab.models.decoders:LowRankFilters",
        "lstm_seq2seq": "recombine.lab.models.sequences:LSTMSeq2Seq",
        "mlp": "recombine.lab.models.mlp:MLP",
        "monolithic": "recombine.lab.models.compositional:Monolithic",
        "odd_one_out": "recombine.lab.models.odd_one_out:OddOneOut",
        "pixel_transformer": "recombine.lab.models.decoders:PixelTransformer",
        "resnet": "recombine.lab.models.vision:ResNet",
        "spatial_broadcast": "recombine.lab.models.decoders:SpatialBroadcast",
        "transformer": "recombine.lab.models.sequences:Transformer",
        "transformer_seq2seq": "recombine.lab.models.sequences:TransformerSeq2Seq",
        "vit": "recombine.lab.models.vision:ViT",
    },
    base="recombine.lab.models.model:Model",
    adapter="recombine.lab.models.own:Own",
)
