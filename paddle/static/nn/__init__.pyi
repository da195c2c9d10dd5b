"""Made by ``tools/public_stubs.py``."""

import builtins
from typing import Any, overload

from paddle.static.nn.control_flow import case as case
from paddle.static.nn.control_flow import cond as cond
from paddle.static.nn.control_flow import switch_case as switch_case
from paddle.static.nn.control_flow import while_loop as while_loop
from paddle.static.nn.layers import conv2d as conv2d
from paddle.static.nn.layers import conv2d_transpose as conv2d_transpose
from paddle.static.nn.layers import conv3d as conv3d
from paddle.static.nn.layers import conv3d_transpose as conv3d_transpose
from paddle.static.nn.layers import embedding as embedding
from paddle.static.nn.layers import sparse_embedding as sparse_embedding
from paddle.static.nn.norms import batch_norm as batch_norm
from paddle.static.nn.norms import group_norm as group_norm
from paddle.static.nn.norms import instance_norm as instance_norm
from paddle.static.nn.norms import layer_norm as layer_norm
from paddle.static.nn.norms import row_conv as row_conv
from paddle.static.nn.norms import spectral_norm as spectral_norm
from paddle.static.nn.pylayer import static_pylayer as static_pylayer
from paddle.static.nn.sampled import nce as nce
from paddle.static.nn.sequences import sequence_conv as sequence_conv
from paddle.static.nn.sequences import sequence_expand as sequence_expand
from paddle.static.nn.sequences import sequence_first_step as sequence_first_step
from paddle.static.nn.sequences import sequence_last_step as sequence_last_step
from paddle.static.nn.sequences import sequence_pool as sequence_pool
from paddle.static.nn.sequences import sequence_softmax as sequence_softmax
from paddle.static.python_function import py_func as py_func
from umiak.core.tensor import Tensor

@overload
def bilinear_tensor_product(
    x: Tensor,
    y: Tensor,
    size: builtins.int,
    act: builtins.str | None = ...,
    name: builtins.str | None = ...,
    param_attr: Any = ...,
    bias_attr: Any = ...,
) -> Tensor: ...
@overload
def bilinear_tensor_product(
    x: Tensor,
    *,
    other: Tensor,
    size: builtins.int,
    act: builtins.str | None = ...,
    name: builtins.str | None = ...,
    param_attr: Any = ...,
    bias_attr: Any = ...,
) -> Tensor: ...
@overload
def bilinear_tensor_product(
    *,
    input: Tensor,
    y: Tensor,
    size: builtins.int,
    act: builtins.str | None = ...,
    name: builtins.str | None = ...,
    param_attr: Any = ...,
    bias_attr: Any = ...,
) -> Tensor: ...
@overload
def bilinear_tensor_product(
    *,
    input: Tensor,
    other: Tensor,
    size: builtins.int,
    act: builtins.str | None = ...,
    name: builtins.str | None = ...,
    param_attr: Any = ...,
    bias_attr: Any = ...,
) -> Tensor: ...
@overload
def deform_conv2d(
    x: Tensor,
    offset: Tensor,
    mask: Tensor | None,
    num_filters: builtins.int,
    filter_size: Any,
    stride: Any = ...,
    padding: Any = ...,
    dilation: Any = ...,
    groups: builtins.int = ...,
    deformable_groups: builtins.int = ...,
    im2col_step: builtins.int = ...,
    weight_attr: Any = ...,
    bias_attr: Any = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def deform_conv2d(
    *,
    input: Tensor,
    offset: Tensor,
    mask: Tensor | None,
    num_filters: builtins.int,
    filter_size: Any,
    stride: Any = ...,
    padding: Any = ...,
    dilation: Any = ...,
    groups: builtins.int = ...,
    deformable_groups: builtins.int = ...,
    im2col_step: builtins.int = ...,
    weight_attr: Any = ...,
    bias_attr: Any = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def fc(
    x: Any,
    size: builtins.int,
    num_flatten_dims: builtins.int = ...,
    weight_attr: Any = ...,
    bias_attr: Any = ...,
    activation: builtins.str | None = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def fc(
    *,
    input: Any,
    size: builtins.int,
    num_flatten_dims: builtins.int = ...,
    weight_attr: Any = ...,
    bias_attr: Any = ...,
    activation: builtins.str | None = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def prelu(
    x: Tensor,
    mode: builtins.str,
    param_attr: Any = ...,
    data_format: builtins.str = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def prelu(
    *,
    input: Tensor,
    mode: builtins.str,
    param_attr: Any = ...,
    data_format: builtins.str = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...

__all__ = [
    "batch_norm",
    "bilinear_tensor_product",
    "case",
    "cond",
    "conv2d",
    "conv2d_transpose",
    "conv3d",
    "conv3d_transpose",
    "deform_conv2d",
    "embedding",
    "fc",
    "group_norm",
    "instance_norm",
    "layer_norm",
    "nce",
    "prelu",
    "py_func",
    "row_conv",
    "sequence_conv",
    "sequence_expand",
    "sequence_first_step",
    "sequence_last_step",
    "sequence_pool",
    "sequence_softmax",
    "sparse_embedding",
    "spectral_norm",
    "static_pylayer",
    "switch_case",
    "while_loop",
]
