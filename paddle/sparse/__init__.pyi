"""Made by ``tools/public_stubs.py``."""

import builtins
from typing import Any, overload

from paddle.sparse import nn as nn
from paddle.sparse.binary import add as add
from paddle.sparse.binary import divide as divide
from paddle.sparse.binary import is_same_shape as is_same_shape
from paddle.sparse.binary import mask_as as mask_as
from paddle.sparse.binary import masked_matmul as masked_matmul
from paddle.sparse.binary import matmul as matmul
from paddle.sparse.binary import multiply as multiply
from paddle.sparse.binary import mv as mv
from paddle.sparse.binary import subtract as subtract
from paddle.sparse.creation import sparse_coo_tensor as sparse_coo_tensor
from paddle.sparse.creation import sparse_csr_tensor as sparse_csr_tensor
from paddle.sparse.multiary import addmm as addmm
from paddle.sparse.multiary import pca_lowrank as pca_lowrank
from paddle.sparse.unary import abs as abs
from paddle.sparse.unary import asin as asin
from paddle.sparse.unary import asinh as asinh
from paddle.sparse.unary import atan as atan
from paddle.sparse.unary import atanh as atanh
from paddle.sparse.unary import cast as cast
from paddle.sparse.unary import coalesce as coalesce
from paddle.sparse.unary import deg2rad as deg2rad
from paddle.sparse.unary import expm1 as expm1
from paddle.sparse.unary import isnan as isnan
from paddle.sparse.unary import log1p as log1p
from paddle.sparse.unary import neg as neg
from paddle.sparse.unary import pow as pow
from paddle.sparse.unary import rad2deg as rad2deg
from paddle.sparse.unary import sin as sin
from paddle.sparse.unary import sinh as sinh
from paddle.sparse.unary import slice as slice
from paddle.sparse.unary import sqrt as sqrt
from paddle.sparse.unary import square as square
from paddle.sparse.unary import sum as sum
from paddle.sparse.unary import tan as tan
from paddle.sparse.unary import tanh as tanh
from paddle.sparse.unary import transpose as transpose
from umiak.core.tensor import Tensor

@overload
def reshape(x: Tensor, shape: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def reshape(*, input: Tensor, shape: Any, name: builtins.str | None = ...) -> Tensor: ...

__all__ = [
    "abs",
    "add",
    "addmm",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "cast",
    "coalesce",
    "deg2rad",
    "divide",
    "expm1",
    "is_same_shape",
    "isnan",
    "log1p",
    "mask_as",
    "masked_matmul",
    "matmul",
    "multiply",
    "mv",
    "neg",
    "nn",
    "pca_lowrank",
    "pow",
    "rad2deg",
    "reshape",
    "sin",
    "sinh",
    "slice",
    "sparse_coo_tensor",
    "sparse_csr_tensor",
    "sqrt",
    "square",
    "subtract",
    "sum",
    "tan",
    "tanh",
    "transpose",
]
