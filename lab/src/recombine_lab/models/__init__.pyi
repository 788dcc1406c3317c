from .catalogue import register as register
from .compositional import Compositional as Compositional
from .compositional import Monolithic as Monolithic
from .decoders import CNNDecoder as CNNDecoder
from .decoders import LowRankFilters as LowRankFilters
from .decoders import PixelTransformer as PixelTransformer
from .decoders import SpatialBroadcast as SpatialBroadcast
from .mlp import MLP as MLP
from .model import CustomModel as CustomModel
from .model import Model as Model
from .model import count_parameters as count_parameters
from .model import wrap as wrap
from .sequences import LSTMSeq2Seq as LSTMSeq2Seq
from .sequences import Transformer as Transformer
from .sequences import TransformerSeq2Seq as TransformerSeq2Seq
from .vision import CNN as CNN
from .vision import ResNet as ResNet
from .vision import ViT as ViT

__all__: list[str]
