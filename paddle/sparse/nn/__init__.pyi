"""Made by ``tools/public_stubs.py``."""

from paddle.sparse.nn import functional as functional
from paddle.sparse.nn.layer.activation import LeakyReLU as LeakyReLU
from paddle.sparse.nn.layer.activation import ReLU as ReLU
from paddle.sparse.nn.layer.activation import ReLU6 as ReLU6
from paddle.sparse.nn.layer.activation import Softmax as Softmax
from paddle.sparse.nn.layer.conv import Conv2D as Conv2D
from paddle.sparse.nn.layer.conv import Conv3D as Conv3D
from paddle.sparse.nn.layer.conv import SubmConv2D as SubmConv2D
from paddle.sparse.nn.layer.conv import SubmConv3D as SubmConv3D
from paddle.sparse.nn.layer.norm import BatchNorm as BatchNorm
from paddle.sparse.nn.layer.norm import SyncBatchNorm as SyncBatchNorm
from paddle.sparse.nn.layer.pooling import MaxPool3D as MaxPool3D

__all__ = [
    "BatchNorm",
    "Conv2D",
    "Conv3D",
    "LeakyReLU",
    "MaxPool3D",
    "ReLU",
    "ReLU6",
    "Softmax",
    "SubmConv2D",
    "SubmConv3D",
    "SyncBatchNorm",
    "functional",
]
