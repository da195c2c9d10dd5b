"""Made by ``tools/public_stubs.py``."""

from paddle.sparse.nn.functional.activation import leaky_relu as leaky_relu
from paddle.sparse.nn.functional.activation import relu as relu
from paddle.sparse.nn.functional.activation import relu6 as relu6
from paddle.sparse.nn.functional.activation import softmax as softmax
from paddle.sparse.nn.functional.conv import conv2d as conv2d
from paddle.sparse.nn.functional.conv import conv3d as conv3d
from paddle.sparse.nn.functional.conv import subm_conv2d as subm_conv2d
from paddle.sparse.nn.functional.conv import subm_conv2d_igemm as subm_conv2d_igemm
from paddle.sparse.nn.functional.conv import subm_conv3d as subm_conv3d
from paddle.sparse.nn.functional.conv import subm_conv3d_igemm as subm_conv3d_igemm
from paddle.sparse.nn.functional.pooling import max_pool3d as max_pool3d
from paddle.sparse.nn.functional.transformer import attention as attention

__all__ = [
    "attention",
    "conv2d",
    "conv3d",
    "leaky_relu",
    "max_pool3d",
    "relu",
    "relu6",
    "softmax",
    "subm_conv2d",
    "subm_conv2d_igemm",
    "subm_conv3d",
    "subm_conv3d_igemm",
]
