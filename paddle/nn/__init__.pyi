"""Made by ``tools/public_stubs.py``."""

from paddle.framework.parameter import Parameter as Parameter
from paddle.nn import attention as attention
from paddle.nn import functional as functional
from paddle.nn import init as init
from paddle.nn import initializer as initializer
from paddle.nn import quant as quant
from paddle.nn import utils as utils
from paddle.nn.clip import ClipGradByGlobalNorm as ClipGradByGlobalNorm
from paddle.nn.clip import ClipGradByNorm as ClipGradByNorm
from paddle.nn.clip import ClipGradByValue as ClipGradByValue
from paddle.nn.decode import BeamSearchDecoder as BeamSearchDecoder
from paddle.nn.decode import dynamic_decode as dynamic_decode
from paddle.nn.layer.activation import CELU as CELU
from paddle.nn.layer.activation import ELU as ELU
from paddle.nn.layer.activation import GELU as GELU
from paddle.nn.layer.activation import GLU as GLU
from paddle.nn.layer.activation import SELU as SELU
from paddle.nn.layer.activation import Hardshrink as Hardshrink
from paddle.nn.layer.activation import Hardsigmoid as Hardsigmoid
from paddle.nn.layer.activation import Hardswish as Hardswish
from paddle.nn.layer.activation import Hardtanh as Hardtanh
from paddle.nn.layer.activation import LeakyReLU as LeakyReLU
from paddle.nn.layer.activation import LogSigmoid as LogSigmoid
from paddle.nn.layer.activation import LogSoftmax as LogSoftmax
from paddle.nn.layer.activation import Maxout as Maxout
from paddle.nn.layer.activation import Mish as Mish
from paddle.nn.layer.activation import PReLU as PReLU
from paddle.nn.layer.activation import ReLU as ReLU
from paddle.nn.layer.activation import ReLU6 as ReLU6
from paddle.nn.layer.activation import RReLU as RReLU
from paddle.nn.layer.activation import Sigmoid as Sigmoid
from paddle.nn.layer.activation import SiLU as SiLU
from paddle.nn.layer.activation import Silu as Silu
from paddle.nn.layer.activation import Softmax as Softmax
from paddle.nn.layer.activation import Softmax2D as Softmax2D
from paddle.nn.layer.activation import Softplus as Softplus
from paddle.nn.layer.activation import Softshrink as Softshrink
from paddle.nn.layer.activation import Softsign as Softsign
from paddle.nn.layer.activation import Swish as Swish
from paddle.nn.layer.activation import Tanh as Tanh
from paddle.nn.layer.activation import Tanhshrink as Tanhshrink
from paddle.nn.layer.activation import ThresholdedReLU as ThresholdedReLU
from paddle.nn.layer.common import AlphaDropout as AlphaDropout
from paddle.nn.layer.common import Bilinear as Bilinear
from paddle.nn.layer.common import CircularPad1D as CircularPad1D
from paddle.nn.layer.common import CircularPad1d as CircularPad1d
from paddle.nn.layer.common import CircularPad2D as CircularPad2D
from paddle.nn.layer.common import CircularPad2d as CircularPad2d
from paddle.nn.layer.common import CircularPad3D as CircularPad3D
from paddle.nn.layer.common import CircularPad3d as CircularPad3d
from paddle.nn.layer.common import ConstantPad1D as ConstantPad1D
from paddle.nn.layer.common import ConstantPad1d as ConstantPad1d
from paddle.nn.layer.common import ConstantPad2D as ConstantPad2D
from paddle.nn.layer.common import ConstantPad2d as ConstantPad2d
from paddle.nn.layer.common import ConstantPad3D as ConstantPad3D
from paddle.nn.layer.common import ConstantPad3d as ConstantPad3d
from paddle.nn.layer.common import CosineSimilarity as CosineSimilarity
from paddle.nn.layer.common import Dropout as Dropout
from paddle.nn.layer.common import Dropout2D as Dropout2D
from paddle.nn.layer.common import Dropout3D as Dropout3D
from paddle.nn.layer.common import Embedding as Embedding
from paddle.nn.layer.common import FeatureAlphaDropout as FeatureAlphaDropout
from paddle.nn.layer.common import Flatten as Flatten
from paddle.nn.layer.common import Fold as Fold
from paddle.nn.layer.common import Identity as Identity
from paddle.nn.layer.common import Linear as Linear
from paddle.nn.layer.common import Pad1D as Pad1D
from paddle.nn.layer.common import Pad2D as Pad2D
from paddle.nn.layer.common import Pad3D as Pad3D
from paddle.nn.layer.common import PairwiseDistance as PairwiseDistance
from paddle.nn.layer.common import ReflectionPad1D as ReflectionPad1D
from paddle.nn.layer.common import ReflectionPad1d as ReflectionPad1d
from paddle.nn.layer.common import ReflectionPad2D as ReflectionPad2D
from paddle.nn.layer.common import ReflectionPad2d as ReflectionPad2d
from paddle.nn.layer.common import ReflectionPad3D as ReflectionPad3D
from paddle.nn.layer.common import ReflectionPad3d as ReflectionPad3d
from paddle.nn.layer.common import ReplicationPad1D as ReplicationPad1D
from paddle.nn.layer.common import ReplicationPad1d as ReplicationPad1d
from paddle.nn.layer.common import ReplicationPad2D as ReplicationPad2D
from paddle.nn.layer.common import ReplicationPad2d as ReplicationPad2d
from paddle.nn.layer.common import ReplicationPad3D as ReplicationPad3D
from paddle.nn.layer.common import ReplicationPad3d as ReplicationPad3d
from paddle.nn.layer.common import Unflatten as Unflatten
from paddle.nn.layer.common import Unfold as Unfold
from paddle.nn.layer.common import Upsample as Upsample
from paddle.nn.layer.common import UpsamplingBilinear2D as UpsamplingBilinear2D
from paddle.nn.layer.common import UpsamplingBilinear2d as UpsamplingBilinear2d
from paddle.nn.layer.common import UpsamplingNearest2D as UpsamplingNearest2D
from paddle.nn.layer.common import UpsamplingNearest2d as UpsamplingNearest2d
from paddle.nn.layer.common import ZeroPad1D as ZeroPad1D
from paddle.nn.layer.common import ZeroPad1d as ZeroPad1d
from paddle.nn.layer.common import ZeroPad2D as ZeroPad2D
from paddle.nn.layer.common import ZeroPad2d as ZeroPad2d
from paddle.nn.layer.common import ZeroPad3D as ZeroPad3D
from paddle.nn.layer.common import ZeroPad3d as ZeroPad3d
from paddle.nn.layer.container import LayerDict as LayerDict
from paddle.nn.layer.container import LayerList as LayerList
from paddle.nn.layer.container import ModuleDict as ModuleDict
from paddle.nn.layer.container import ModuleList as ModuleList
from paddle.nn.layer.container import ParameterDict as ParameterDict
from paddle.nn.layer.container import ParameterList as ParameterList
from paddle.nn.layer.container import Sequential as Sequential
from paddle.nn.layer.conv import Conv1D as Conv1D
from paddle.nn.layer.conv import Conv1d as Conv1d
from paddle.nn.layer.conv import Conv1DTranspose as Conv1DTranspose
from paddle.nn.layer.conv import Conv2D as Conv2D
from paddle.nn.layer.conv import Conv2d as Conv2d
from paddle.nn.layer.conv import Conv2DTranspose as Conv2DTranspose
from paddle.nn.layer.conv import Conv3D as Conv3D
from paddle.nn.layer.conv import Conv3d as Conv3d
from paddle.nn.layer.conv import Conv3DTranspose as Conv3DTranspose
from paddle.nn.layer.layers import Layer as Layer
from paddle.nn.layer.layers import Module as Module
from paddle.nn.layer.loss import BCELoss as BCELoss
from paddle.nn.layer.loss import BCEWithLogitsLoss as BCEWithLogitsLoss
from paddle.nn.layer.loss import CosineEmbeddingLoss as CosineEmbeddingLoss
from paddle.nn.layer.loss import CrossEntropyLoss as CrossEntropyLoss
from paddle.nn.layer.loss import CTCLoss as CTCLoss
from paddle.nn.layer.loss import GaussianNLLLoss as GaussianNLLLoss
from paddle.nn.layer.loss import HingeEmbeddingLoss as HingeEmbeddingLoss
from paddle.nn.layer.loss import HuberLoss as HuberLoss
from paddle.nn.layer.loss import KLDivLoss as KLDivLoss
from paddle.nn.layer.loss import L1Loss as L1Loss
from paddle.nn.layer.loss import MarginRankingLoss as MarginRankingLoss
from paddle.nn.layer.loss import MSELoss as MSELoss
from paddle.nn.layer.loss import MultiLabelMarginLoss as MultiLabelMarginLoss
from paddle.nn.layer.loss import MultiLabelSoftMarginLoss as MultiLabelSoftMarginLoss
from paddle.nn.layer.loss import MultiMarginLoss as MultiMarginLoss
from paddle.nn.layer.loss import NLLLoss as NLLLoss
from paddle.nn.layer.loss import PoissonNLLLoss as PoissonNLLLoss
from paddle.nn.layer.loss import RNNTLoss as RNNTLoss
from paddle.nn.layer.loss import SmoothL1Loss as SmoothL1Loss
from paddle.nn.layer.loss import SoftMarginLoss as SoftMarginLoss
from paddle.nn.layer.loss import TripletMarginLoss as TripletMarginLoss
from paddle.nn.layer.loss import TripletMarginWithDistanceLoss as TripletMarginWithDistanceLoss
from paddle.nn.layer.loss_classes import AdaptiveLogSoftmaxWithLoss as AdaptiveLogSoftmaxWithLoss
from paddle.nn.layer.loss_classes import HSigmoidLoss as HSigmoidLoss
from paddle.nn.layer.norm import BatchNorm as BatchNorm
from paddle.nn.layer.norm import BatchNorm1D as BatchNorm1D
from paddle.nn.layer.norm import BatchNorm2D as BatchNorm2D
from paddle.nn.layer.norm import BatchNorm3D as BatchNorm3D
from paddle.nn.layer.norm import GroupNorm as GroupNorm
from paddle.nn.layer.norm import InstanceNorm1D as InstanceNorm1D
from paddle.nn.layer.norm import InstanceNorm2D as InstanceNorm2D
from paddle.nn.layer.norm import InstanceNorm3D as InstanceNorm3D
from paddle.nn.layer.norm import LayerNorm as LayerNorm
from paddle.nn.layer.norm import LocalResponseNorm as LocalResponseNorm
from paddle.nn.layer.norm import RMSNorm as RMSNorm
from paddle.nn.layer.norm import SpectralNorm as SpectralNorm
from paddle.nn.layer.norm import SyncBatchNorm as SyncBatchNorm
from paddle.nn.layer.pooling import AdaptiveAvgPool1D as AdaptiveAvgPool1D
from paddle.nn.layer.pooling import AdaptiveAvgPool1d as AdaptiveAvgPool1d
from paddle.nn.layer.pooling import AdaptiveAvgPool2D as AdaptiveAvgPool2D
from paddle.nn.layer.pooling import AdaptiveAvgPool2d as AdaptiveAvgPool2d
from paddle.nn.layer.pooling import AdaptiveAvgPool3D as AdaptiveAvgPool3D
from paddle.nn.layer.pooling import AdaptiveAvgPool3d as AdaptiveAvgPool3d
from paddle.nn.layer.pooling import AdaptiveMaxPool1D as AdaptiveMaxPool1D
from paddle.nn.layer.pooling import AdaptiveMaxPool1d as AdaptiveMaxPool1d
from paddle.nn.layer.pooling import AdaptiveMaxPool2D as AdaptiveMaxPool2D
from paddle.nn.layer.pooling import AdaptiveMaxPool2d as AdaptiveMaxPool2d
from paddle.nn.layer.pooling import AdaptiveMaxPool3D as AdaptiveMaxPool3D
from paddle.nn.layer.pooling import AdaptiveMaxPool3d as AdaptiveMaxPool3d
from paddle.nn.layer.pooling import AvgPool1D as AvgPool1D
from paddle.nn.layer.pooling import AvgPool2D as AvgPool2D
from paddle.nn.layer.pooling import AvgPool3D as AvgPool3D
from paddle.nn.layer.pooling import FractionalMaxPool2D as FractionalMaxPool2D
from paddle.nn.layer.pooling import FractionalMaxPool3D as FractionalMaxPool3D
from paddle.nn.layer.pooling import LPPool1D as LPPool1D
from paddle.nn.layer.pooling import LPPool1d as LPPool1d
from paddle.nn.layer.pooling import LPPool2D as LPPool2D
from paddle.nn.layer.pooling import LPPool2d as LPPool2d
from paddle.nn.layer.pooling import MaxPool1D as MaxPool1D
from paddle.nn.layer.pooling import MaxPool2D as MaxPool2D
from paddle.nn.layer.pooling import MaxPool3D as MaxPool3D
from paddle.nn.layer.pooling import MaxUnPool1D as MaxUnPool1D
from paddle.nn.layer.pooling import MaxUnpool1d as MaxUnpool1d
from paddle.nn.layer.pooling import MaxUnPool2D as MaxUnPool2D
from paddle.nn.layer.pooling import MaxUnpool2d as MaxUnpool2d
from paddle.nn.layer.pooling import MaxUnPool3D as MaxUnPool3D
from paddle.nn.layer.pooling import MaxUnpool3d as MaxUnpool3d
from paddle.nn.layer.rnn import GRU as GRU
from paddle.nn.layer.rnn import LSTM as LSTM
from paddle.nn.layer.rnn import RNN as RNN
from paddle.nn.layer.rnn import BiRNN as BiRNN
from paddle.nn.layer.rnn import GRUCell as GRUCell
from paddle.nn.layer.rnn import LSTMCell as LSTMCell
from paddle.nn.layer.rnn import RNNCellBase as RNNCellBase
from paddle.nn.layer.rnn import SimpleRNN as SimpleRNN
from paddle.nn.layer.rnn import SimpleRNNCell as SimpleRNNCell
from paddle.nn.layer.transformer import MultiHeadAttention as MultiHeadAttention
from paddle.nn.layer.transformer import Transformer as Transformer
from paddle.nn.layer.transformer import TransformerDecoder as TransformerDecoder
from paddle.nn.layer.transformer import TransformerDecoderLayer as TransformerDecoderLayer
from paddle.nn.layer.transformer import TransformerEncoder as TransformerEncoder
from paddle.nn.layer.transformer import TransformerEncoderLayer as TransformerEncoderLayer
from paddle.nn.layer.vision import ChannelShuffle as ChannelShuffle
from paddle.nn.layer.vision import PixelShuffle as PixelShuffle
from paddle.nn.layer.vision import PixelUnshuffle as PixelUnshuffle
from paddle.nn.utils.spectral_norm import spectral_norm as spectral_norm

__all__ = [
    "CELU",
    "ELU",
    "GELU",
    "GLU",
    "GRU",
    "LSTM",
    "RNN",
    "SELU",
    "AdaptiveAvgPool1D",
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2D",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool3D",
    "AdaptiveAvgPool3d",
    "AdaptiveLogSoftmaxWithLoss",
    "AdaptiveMaxPool1D",
    "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2D",
    "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3D",
    "AdaptiveMaxPool3d",
    "AlphaDropout",
    "AvgPool1D",
    "AvgPool2D",
    "AvgPool3D",
    "BCELoss",
    "BCEWithLogitsLoss",
    "BatchNorm",
    "BatchNorm1D",
    "BatchNorm2D",
    "BatchNorm3D",
    "BeamSearchDecoder",
    "BiRNN",
    "Bilinear",
    "CTCLoss",
    "ChannelShuffle",
    "CircularPad1D",
    "CircularPad1d",
    "CircularPad2D",
    "CircularPad2d",
    "CircularPad3D",
    "CircularPad3d",
    "ClipGradByGlobalNorm",
    "ClipGradByNorm",
    "ClipGradByValue",
    "ConstantPad1D",
    "ConstantPad1d",
    "ConstantPad2D",
    "ConstantPad2d",
    "ConstantPad3D",
    "ConstantPad3d",
    "Conv1D",
    "Conv1DTranspose",
    "Conv1d",
    "Conv2D",
    "Conv2DTranspose",
    "Conv2d",
    "Conv3D",
    "Conv3DTranspose",
    "Conv3d",
    "CosineEmbeddingLoss",
    "CosineSimilarity",
    "CrossEntropyLoss",
    "Dropout",
    "Dropout2D",
    "Dropout3D",
    "Embedding",
    "FeatureAlphaDropout",
    "Flatten",
    "Fold",
    "FractionalMaxPool2D",
    "FractionalMaxPool3D",
    "GRUCell",
    "GaussianNLLLoss",
    "GroupNorm",
    "HSigmoidLoss",
    "Hardshrink",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "HingeEmbeddingLoss",
    "HuberLoss",
    "Identity",
    "InstanceNorm1D",
    "InstanceNorm2D",
    "InstanceNorm3D",
    "KLDivLoss",
    "L1Loss",
    "LPPool1D",
    "LPPool1d",
    "LPPool2D",
    "LPPool2d",
    "LSTMCell",
    "Layer",
    "LayerDict",
    "LayerList",
    "LayerNorm",
    "LeakyReLU",
    "Linear",
    "LocalResponseNorm",
    "LogSigmoid",
    "LogSoftmax",
    "MSELoss",
    "MarginRankingLoss",
    "MaxPool1D",
    "MaxPool2D",
    "MaxPool3D",
    "MaxUnPool1D",
    "MaxUnPool2D",
    "MaxUnPool3D",
    "MaxUnpool1d",
    "MaxUnpool2d",
    "MaxUnpool3d",
    "Maxout",
    "Mish",
    "Module",
    "ModuleDict",
    "ModuleList",
    "MultiHeadAttention",
    "MultiLabelMarginLoss",
    "MultiLabelSoftMarginLoss",
    "MultiMarginLoss",
    "NLLLoss",
    "PReLU",
    "Pad1D",
    "Pad2D",
    "Pad3D",
    "PairwiseDistance",
    "Parameter",
    "ParameterDict",
    "ParameterList",
    "PixelShuffle",
    "PixelUnshuffle",
    "PoissonNLLLoss",
    "RMSNorm",
    "RNNCellBase",
    "RNNTLoss",
    "RReLU",
    "ReLU",
    "ReLU6",
    "ReflectionPad1D",
    "ReflectionPad1d",
    "ReflectionPad2D",
    "ReflectionPad2d",
    "ReflectionPad3D",
    "ReflectionPad3d",
    "ReplicationPad1D",
    "ReplicationPad1d",
    "ReplicationPad2D",
    "ReplicationPad2d",
    "ReplicationPad3D",
    "ReplicationPad3d",
    "Sequential",
    "SiLU",
    "Sigmoid",
    "Silu",
    "SimpleRNN",
    "SimpleRNNCell",
    "SmoothL1Loss",
    "SoftMarginLoss",
    "Softmax",
    "Softmax2D",
    "Softplus",
    "Softshrink",
    "Softsign",
    "SpectralNorm",
    "Swish",
    "SyncBatchNorm",
    "Tanh",
    "Tanhshrink",
    "ThresholdedReLU",
    "Transformer",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
    "TripletMarginLoss",
    "TripletMarginWithDistanceLoss",
    "Unflatten",
    "Unfold",
    "Upsample",
    "UpsamplingBilinear2D",
    "UpsamplingBilinear2d",
    "UpsamplingNearest2D",
    "UpsamplingNearest2d",
    "ZeroPad1D",
    "ZeroPad1d",
    "ZeroPad2D",
    "ZeroPad2d",
    "ZeroPad3D",
    "ZeroPad3d",
    "attention",
    "dynamic_decode",
    "functional",
    "init",
    "initializer",
    "quant",
    "spectral_norm",
    "utils",
]
