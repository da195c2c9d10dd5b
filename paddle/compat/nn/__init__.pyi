"""Made by ``tools/public_stubs.py``."""

from paddle.compat.nn import functional as functional
from paddle.compat.nn.attention import MultiheadAttention as MultiheadAttention
from paddle.compat.nn.linear import Linear as Linear
from paddle.compat.nn.linear import Softmax as Softmax
from paddle.compat.nn.linear import Unfold as Unfold
from paddle.compat.nn.pooling import AvgPool1D as AvgPool1D
from paddle.compat.nn.pooling import AvgPool1d as AvgPool1d
from paddle.compat.nn.pooling import AvgPool2D as AvgPool2D
from paddle.compat.nn.pooling import AvgPool2d as AvgPool2d
from paddle.compat.nn.pooling import AvgPool3D as AvgPool3D
from paddle.compat.nn.pooling import AvgPool3d as AvgPool3d

__all__ = [
    "AvgPool1D",
    "AvgPool1d",
    "AvgPool2D",
    "AvgPool2d",
    "AvgPool3D",
    "AvgPool3d",
    "Linear",
    "MultiheadAttention",
    "Softmax",
    "Unfold",
    "functional",
]
