"""The models by name. One line a model; listing them loads none."""

from recombine.catalogue import Catalogue

MODELS = Catalogue(
    "model",
    {
        "cnn": "recombine.models.cnn:CNN",
        "cnn_decoder": "recombine.models.decoders:CNNDecoder",
        "compositional": "recombine.models.compositional:Compositional",
        "low_rank_filters": "recombine.models.filters:LowRankFilters",
        "lstm_seq2seq": "recombine.models.recurrent:LSTMSeq2Seq",
        "mlp": "recombine.models.mlp:MLP",
        "monolithic": "recombine.models.compositional:Monolithic",
        "odd_one_out": "recombine.models.odd_one_out:OddOneOut",
        "resnet": "recombine.models.resnet:ResNet",
        "spatial_broadcast": "recombine.models.decoders:SpatialBroadcast",
        "transformer": "recombine.models.transformer:Transformer",
        "transformer_seq2seq": "recombine.models.transformer:TransformerSeq2Seq",
        "vit": "recombine.models.vit:ViT",
    },
)
