"""Made by ``tools/public_stubs.py``."""

from paddle.incubate.nn import functional as functional
from paddle.incubate.nn.dropouts import FusedBiasDropoutResidualLayerNorm as FusedBiasDropoutResidualLayerNorm
from paddle.incubate.nn.dropouts import FusedDropoutAdd as FusedDropoutAdd
from paddle.incubate.nn.linears import FusedLinear as FusedLinear
from paddle.incubate.nn.multi_transformer import FusedMultiTransformer as FusedMultiTransformer
from paddle.incubate.nn.transformers import FusedFeedForward as FusedFeedForward
from paddle.incubate.nn.transformers import FusedMultiHeadAttention as FusedMultiHeadAttention
from paddle.incubate.nn.transformers import FusedTransformerEncoderLayer as FusedTransformerEncoderLayer

__all__ = [
    "FusedBiasDropoutResidualLayerNorm",
    "FusedDropoutAdd",
    "FusedFeedForward",
    "FusedLinear",
    "FusedMultiHeadAttention",
    "FusedMultiTransformer",
    "FusedTransformerEncoderLayer",
    "functional",
]
