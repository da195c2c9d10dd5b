"""Made by ``tools/public_stubs.py``."""

import builtins
from collections.abc import Sequence
from typing import Any, overload

from paddle.nn.attention.sdpa import sdp_kernel as sdp_kernel
from paddle.nn.functional.activation import celu as celu
from paddle.nn.functional.activation import elu as elu
from paddle.nn.functional.activation import elu_ as elu_
from paddle.nn.functional.activation import gumbel_softmax as gumbel_softmax
from paddle.nn.functional.activation import hardsigmoid as hardsigmoid
from paddle.nn.functional.activation import hardswish as hardswish
from paddle.nn.functional.activation import hardtanh as hardtanh
from paddle.nn.functional.activation import hardtanh_ as hardtanh_
from paddle.nn.functional.activation import leaky_relu as leaky_relu
from paddle.nn.functional.activation import leaky_relu_ as leaky_relu_
from paddle.nn.functional.activation import maxout as maxout
from paddle.nn.functional.activation import mish as mish
from paddle.nn.functional.activation import prelu as prelu
from paddle.nn.functional.activation import relu as relu
from paddle.nn.functional.activation import relu6 as relu6
from paddle.nn.functional.activation import relu_ as relu_
from paddle.nn.functional.activation import rrelu as rrelu
from paddle.nn.functional.activation import selu as selu
from paddle.nn.functional.activation import softsign as softsign
from paddle.nn.functional.activation import swiglu as swiglu
from paddle.nn.functional.activation import swish as swish
from paddle.nn.functional.activation import tanhshrink as tanhshrink
from paddle.nn.functional.activation import thresholded_relu as thresholded_relu
from paddle.nn.functional.activation import thresholded_relu_ as thresholded_relu_
from paddle.nn.functional.attention import scaled_dot_product_attention as scaled_dot_product_attention
from paddle.nn.functional.common import alpha_dropout as alpha_dropout
from paddle.nn.functional.common import bilinear as bilinear
from paddle.nn.functional.common import dropout1d as dropout1d
from paddle.nn.functional.common import dropout2d as dropout2d
from paddle.nn.functional.common import dropout3d as dropout3d
from paddle.nn.functional.common import feature_alpha_dropout as feature_alpha_dropout
from paddle.nn.functional.common import label_smooth as label_smooth
from paddle.nn.functional.common import linear as linear
from paddle.nn.functional.common import sequence_mask as sequence_mask
from paddle.nn.functional.common import unfold as unfold
from paddle.nn.functional.common import upsample as upsample
from paddle.nn.functional.common import zeropad2d as zeropad2d
from paddle.nn.functional.conv import conv1d_transpose as conv1d_transpose
from paddle.nn.functional.conv import conv2d_transpose as conv2d_transpose
from paddle.nn.functional.conv import conv3d_transpose as conv3d_transpose
from paddle.nn.functional.distance import pdist as pdist
from paddle.nn.functional.experts import moe_permute as moe_permute
from paddle.nn.functional.experts import moe_unpermute as moe_unpermute
from paddle.nn.functional.flash_attention import flash_attention_v3_varlen as flash_attention_v3_varlen
from paddle.nn.functional.flash_attention import flash_attn_qkvpacked as flash_attn_qkvpacked
from paddle.nn.functional.flash_attention import flash_attn_varlen_qkvpacked as flash_attn_varlen_qkvpacked
from paddle.nn.functional.flashmask import flashmask_attention as flashmask_attention
from paddle.nn.functional.input import embedding_renorm_ as embedding_renorm_
from paddle.nn.functional.listed_attention import sparse_attention as sparse_attention
from paddle.nn.functional.loss import binary_cross_entropy as binary_cross_entropy
from paddle.nn.functional.loss import binary_cross_entropy_with_logits as binary_cross_entropy_with_logits
from paddle.nn.functional.loss import dice_loss as dice_loss
from paddle.nn.functional.loss import log_loss as log_loss
from paddle.nn.functional.loss import nll_loss as nll_loss
from paddle.nn.functional.loss import npair_loss as npair_loss
from paddle.nn.functional.loss import sigmoid_focal_loss as sigmoid_focal_loss
from paddle.nn.functional.loss import softmax_with_cross_entropy as softmax_with_cross_entropy
from paddle.nn.functional.loss_classes import adaptive_log_softmax_with_loss as adaptive_log_softmax_with_loss
from paddle.nn.functional.loss_classes import class_center_sample as class_center_sample
from paddle.nn.functional.loss_classes import hsigmoid_loss as hsigmoid_loss
from paddle.nn.functional.loss_classes import margin_cross_entropy as margin_cross_entropy
from paddle.nn.functional.loss_margin import cosine_embedding_loss as cosine_embedding_loss
from paddle.nn.functional.loss_margin import hinge_embedding_loss as hinge_embedding_loss
from paddle.nn.functional.loss_margin import margin_ranking_loss as margin_ranking_loss
from paddle.nn.functional.loss_margin import multi_label_margin_loss as multi_label_margin_loss
from paddle.nn.functional.loss_margin import multi_label_soft_margin_loss as multi_label_soft_margin_loss
from paddle.nn.functional.loss_margin import multi_margin_loss as multi_margin_loss
from paddle.nn.functional.loss_margin import soft_margin_loss as soft_margin_loss
from paddle.nn.functional.loss_margin import triplet_margin_loss as triplet_margin_loss
from paddle.nn.functional.loss_margin import triplet_margin_with_distance_loss as triplet_margin_with_distance_loss
from paddle.nn.functional.loss_regression import gaussian_nll_loss as gaussian_nll_loss
from paddle.nn.functional.loss_regression import kl_div as kl_div
from paddle.nn.functional.loss_regression import l1_loss as l1_loss
from paddle.nn.functional.loss_regression import mse_loss as mse_loss
from paddle.nn.functional.loss_regression import poisson_nll_loss as poisson_nll_loss
from paddle.nn.functional.loss_regression import smooth_l1_loss as smooth_l1_loss
from paddle.nn.functional.loss_regression import square_error_cost as square_error_cost
from paddle.nn.functional.loss_sequence import ctc_loss as ctc_loss
from paddle.nn.functional.loss_sequence import rnnt_loss as rnnt_loss
from paddle.nn.functional.norm import batch_norm as batch_norm
from paddle.nn.functional.norm import instance_norm as instance_norm
from paddle.nn.functional.norm import local_response_norm as local_response_norm
from paddle.nn.functional.norm import rms_norm as rms_norm
from paddle.nn.functional.pooling import avg_pool1d as avg_pool1d
from paddle.nn.functional.pooling import avg_pool2d as avg_pool2d
from paddle.nn.functional.pooling import avg_pool3d as avg_pool3d
from paddle.nn.functional.pooling import max_pool1d as max_pool1d
from paddle.nn.functional.pooling import max_pool2d as max_pool2d
from paddle.nn.functional.pooling import max_pool3d as max_pool3d
from paddle.nn.functional.pooling import max_unpool1d as max_unpool1d
from paddle.nn.functional.pooling import max_unpool2d as max_unpool2d
from paddle.nn.functional.pooling import max_unpool3d as max_unpool3d
from paddle.nn.functional.pooling_fractional import fractional_max_pool2d as fractional_max_pool2d
from paddle.nn.functional.pooling_fractional import fractional_max_pool3d as fractional_max_pool3d
from paddle.nn.functional.rnn import gather_tree as gather_tree
from paddle.nn.functional.vision import affine_grid as affine_grid
from paddle.nn.functional.vision import channel_shuffle as channel_shuffle
from paddle.nn.functional.vision import pixel_shuffle as pixel_shuffle
from paddle.nn.functional.vision import pixel_unshuffle as pixel_unshuffle
from paddle.nn.functional.vision import temporal_shift as temporal_shift
from paddle.tensor import diag_embed as diag_embed
from paddle.tensor import sigmoid as sigmoid
from paddle.tensor import tanh as tanh
from paddle.tensor import tanh_ as tanh_
from umiak.core.tensor import Tensor

@overload
def adaptive_avg_pool1d(x: Tensor, output_size: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def adaptive_avg_pool1d(*, input: Tensor, output_size: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def adaptive_avg_pool2d(
    x: Tensor, output_size: Any, data_format: builtins.str = ..., name: builtins.str | None = ...
) -> Tensor: ...
@overload
def adaptive_avg_pool2d(
    *, input: Tensor, output_size: Any, data_format: builtins.str = ..., name: builtins.str | None = ...
) -> Tensor: ...
@overload
def adaptive_avg_pool3d(
    x: Tensor, output_size: Any, data_format: builtins.str = ..., name: builtins.str | None = ...
) -> Tensor: ...
@overload
def adaptive_avg_pool3d(
    *, input: Tensor, output_size: Any, data_format: builtins.str = ..., name: builtins.str | None = ...
) -> Tensor: ...
@overload
def adaptive_max_pool1d(
    x: Tensor, output_size: Any, return_mask: builtins.bool = ..., name: builtins.str | None = ...
) -> Any: ...
@overload
def adaptive_max_pool1d(
    x: Tensor, output_size: Any, *, return_indices: builtins.bool, name: builtins.str | None = ...
) -> Any: ...
@overload
def adaptive_max_pool1d(
    *, input: Tensor, output_size: Any, return_mask: builtins.bool = ..., name: builtins.str | None = ...
) -> Any: ...
@overload
def adaptive_max_pool1d(
    *, input: Tensor, output_size: Any, return_indices: builtins.bool, name: builtins.str | None = ...
) -> Any: ...
@overload
def adaptive_max_pool2d(
    x: Tensor, output_size: Any, return_mask: builtins.bool = ..., name: builtins.str | None = ...
) -> Any: ...
@overload
def adaptive_max_pool2d(
    x: Tensor, output_size: Any, *, return_indices: builtins.bool, name: builtins.str | None = ...
) -> Any: ...
@overload
def adaptive_max_pool2d(
    *, input: Tensor, output_size: Any, return_mask: builtins.bool = ..., name: builtins.str | None = ...
) -> Any: ...
@overload
def adaptive_max_pool2d(
    *, input: Tensor, output_size: Any, return_indices: builtins.bool, name: builtins.str | None = ...
) -> Any: ...
@overload
def adaptive_max_pool3d(
    x: Tensor, output_size: Any, return_mask: builtins.bool = ..., name: builtins.str | None = ...
) -> Any: ...
@overload
def adaptive_max_pool3d(
    x: Tensor, output_size: Any, *, return_indices: builtins.bool, name: builtins.str | None = ...
) -> Any: ...
@overload
def adaptive_max_pool3d(
    *, input: Tensor, output_size: Any, return_mask: builtins.bool = ..., name: builtins.str | None = ...
) -> Any: ...
@overload
def adaptive_max_pool3d(
    *, input: Tensor, output_size: Any, return_indices: builtins.bool, name: builtins.str | None = ...
) -> Any: ...
@overload
def conv1d(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = ...,
    stride: Any = ...,
    padding: Any = ...,
    dilation: Any = ...,
    groups: builtins.int = ...,
    data_format: builtins.str = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def conv1d(
    *,
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = ...,
    stride: Any = ...,
    padding: Any = ...,
    dilation: Any = ...,
    groups: builtins.int = ...,
    data_format: builtins.str = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def conv2d(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = ...,
    stride: Any = ...,
    padding: Any = ...,
    dilation: Any = ...,
    groups: builtins.int = ...,
    data_format: builtins.str = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def conv2d(
    *,
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = ...,
    stride: Any = ...,
    padding: Any = ...,
    dilation: Any = ...,
    groups: builtins.int = ...,
    data_format: builtins.str = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def conv3d(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = ...,
    stride: Any = ...,
    padding: Any = ...,
    dilation: Any = ...,
    groups: builtins.int = ...,
    data_format: builtins.str = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def conv3d(
    *,
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = ...,
    stride: Any = ...,
    padding: Any = ...,
    dilation: Any = ...,
    groups: builtins.int = ...,
    data_format: builtins.str = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def cosine_similarity(x1: Tensor, x2: Tensor, axis: builtins.int = ..., eps: builtins.float = ...) -> Tensor: ...
@overload
def cosine_similarity(x1: Tensor, x2: Tensor, *, dim: builtins.int, eps: builtins.float = ...) -> Tensor: ...
@overload
def cross_entropy(
    input: Tensor,
    label: Tensor,
    weight: Tensor | None = ...,
    ignore_index: builtins.int = ...,
    reduction: builtins.str = ...,
    soft_label: builtins.bool = ...,
    axis: builtins.int = ...,
    use_softmax: builtins.bool = ...,
    label_smoothing: builtins.float = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def cross_entropy(
    input: Tensor,
    *,
    target: Tensor,
    weight: Tensor | None = ...,
    ignore_index: builtins.int = ...,
    reduction: builtins.str = ...,
    soft_label: builtins.bool = ...,
    axis: builtins.int = ...,
    use_softmax: builtins.bool = ...,
    label_smoothing: builtins.float = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def dropout(
    x: Tensor,
    p: builtins.float = ...,
    axis: builtins.int | Sequence[builtins.int] | None = ...,
    training: builtins.bool = ...,
    inplace: builtins.bool = ...,
    mode: builtins.str = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def dropout(
    *,
    input: Tensor,
    p: builtins.float = ...,
    axis: builtins.int | Sequence[builtins.int] | None = ...,
    training: builtins.bool = ...,
    inplace: builtins.bool = ...,
    mode: builtins.str = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def embedding(
    x: Tensor,
    weight: Tensor,
    padding_idx: builtins.int | None = ...,
    max_norm: builtins.float | None = ...,
    norm_type: builtins.float = ...,
    sparse: builtins.bool = ...,
    scale_grad_by_freq: builtins.bool = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def embedding(
    *,
    input: Tensor,
    weight: Tensor,
    padding_idx: builtins.int | None = ...,
    max_norm: builtins.float | None = ...,
    norm_type: builtins.float = ...,
    sparse: builtins.bool = ...,
    scale_grad_by_freq: builtins.bool = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def fold(
    x: Tensor,
    output_sizes: Any,
    kernel_sizes: Any,
    strides: Any = ...,
    paddings: Any = ...,
    dilations: Any = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def fold(
    x: Tensor,
    output_sizes: Any,
    kernel_sizes: Any,
    strides: Any = ...,
    paddings: Any = ...,
    *,
    dilation: Any,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def fold(
    x: Tensor,
    output_sizes: Any,
    kernel_sizes: Any,
    strides: Any = ...,
    *,
    padding: Any,
    dilations: Any = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def fold(
    x: Tensor,
    output_sizes: Any,
    kernel_sizes: Any,
    *,
    stride: Any,
    paddings: Any = ...,
    dilations: Any = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def fold(
    x: Tensor,
    output_sizes: Any,
    *,
    kernel_size: Any,
    strides: Any = ...,
    paddings: Any = ...,
    dilations: Any = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def fold(
    x: Tensor,
    *,
    output_size: Any,
    kernel_sizes: Any,
    strides: Any = ...,
    paddings: Any = ...,
    dilations: Any = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def fold(
    *,
    input: Tensor,
    output_sizes: Any,
    kernel_sizes: Any,
    strides: Any = ...,
    paddings: Any = ...,
    dilations: Any = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def gelu(x: Tensor, approximate: builtins.bool | builtins.str = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def gelu(
    *, input: Tensor, approximate: builtins.bool | builtins.str = ..., name: builtins.str | None = ...
) -> Tensor: ...
@overload
def glu(x: Tensor, axis: builtins.int = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def glu(x: Tensor, *, dim: builtins.int, name: builtins.str | None = ...) -> Tensor: ...
@overload
def glu(*, input: Tensor, axis: builtins.int = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def glu(*, input: Tensor, dim: builtins.int, name: builtins.str | None = ...) -> Tensor: ...
@overload
def grid_sample(
    x: Tensor,
    grid: Tensor,
    mode: builtins.str = ...,
    padding_mode: builtins.str = ...,
    align_corners: builtins.bool = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def grid_sample(
    *,
    input: Tensor,
    grid: Tensor,
    mode: builtins.str = ...,
    padding_mode: builtins.str = ...,
    align_corners: builtins.bool = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def group_norm(
    x: Tensor,
    num_groups: builtins.int,
    epsilon: builtins.float = ...,
    weight: Tensor | None = ...,
    bias: Tensor | None = ...,
    data_format: builtins.str = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def group_norm(
    x: Tensor,
    num_groups: builtins.int,
    *,
    eps: builtins.float,
    weight: Tensor | None = ...,
    bias: Tensor | None = ...,
    data_format: builtins.str = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def group_norm(
    *,
    input: Tensor,
    num_groups: builtins.int,
    epsilon: builtins.float = ...,
    weight: Tensor | None = ...,
    bias: Tensor | None = ...,
    data_format: builtins.str = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def group_norm(
    *,
    input: Tensor,
    num_groups: builtins.int,
    eps: builtins.float,
    weight: Tensor | None = ...,
    bias: Tensor | None = ...,
    data_format: builtins.str = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def group_norm(
    x: Tensor,
    num_groups: builtins.int,
    weight: Tensor | None = ...,
    bias: Tensor | None = ...,
    epsilon: builtins.float = ...,
    data_format: builtins.str = ...,
) -> Tensor: ...
@overload
def hardshrink(x: Tensor, threshold: builtins.float = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def hardshrink(x: Tensor, *, lambd: builtins.float, name: builtins.str | None = ...) -> Tensor: ...
@overload
def hardshrink(*, input: Tensor, threshold: builtins.float = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def hardshrink(*, input: Tensor, lambd: builtins.float, name: builtins.str | None = ...) -> Tensor: ...
@overload
def interpolate(
    x: Tensor,
    size: Any = ...,
    scale_factor: Any = ...,
    mode: builtins.str = ...,
    align_corners: builtins.bool = ...,
    align_mode: builtins.int = ...,
    data_format: builtins.str | None = ...,
    recompute_scale_factor: builtins.bool | None = ...,
    antialias: builtins.bool = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def interpolate(
    *,
    input: Tensor,
    size: Any = ...,
    scale_factor: Any = ...,
    mode: builtins.str = ...,
    align_corners: builtins.bool = ...,
    align_mode: builtins.int = ...,
    data_format: builtins.str | None = ...,
    recompute_scale_factor: builtins.bool | None = ...,
    antialias: builtins.bool = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def interpolate(
    x: Tensor,
    size: Any = ...,
    scale_factor: Any = ...,
    mode: builtins.str = ...,
    align_corners: builtins.bool = ...,
    recompute_scale_factor: builtins.bool | None = ...,
    antialias: builtins.bool = ...,
    *,
    align_mode: builtins.int = ...,
    data_format: builtins.str | None = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def layer_norm(
    x: Tensor,
    normalized_shape: Any,
    weight: Tensor | None = ...,
    bias: Tensor | None = ...,
    epsilon: builtins.float = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def layer_norm(
    x: Tensor,
    normalized_shape: Any,
    weight: Tensor | None = ...,
    bias: Tensor | None = ...,
    *,
    eps: builtins.float,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def layer_norm(
    *,
    input: Tensor,
    normalized_shape: Any,
    weight: Tensor | None = ...,
    bias: Tensor | None = ...,
    epsilon: builtins.float = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def layer_norm(
    *,
    input: Tensor,
    normalized_shape: Any,
    weight: Tensor | None = ...,
    bias: Tensor | None = ...,
    eps: builtins.float,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def log_sigmoid(x: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def log_sigmoid(*, input: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def log_softmax(x: Tensor, axis: builtins.int = ..., dtype: Any = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def log_softmax(x: Tensor, *, dim: builtins.int, dtype: Any = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def log_softmax(
    *, input: Tensor, axis: builtins.int = ..., dtype: Any = ..., name: builtins.str | None = ...
) -> Tensor: ...
@overload
def log_softmax(*, input: Tensor, dim: builtins.int, dtype: Any = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def logsigmoid(x: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def logsigmoid(*, input: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def lp_pool1d(
    x: Tensor,
    norm_type: Any,
    kernel_size: Any,
    stride: Any = ...,
    padding: Any = ...,
    ceil_mode: builtins.bool = ...,
    data_format: builtins.str = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def lp_pool1d(
    *,
    input: Tensor,
    norm_type: Any,
    kernel_size: Any,
    stride: Any = ...,
    padding: Any = ...,
    ceil_mode: builtins.bool = ...,
    data_format: builtins.str = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def lp_pool1d(
    x: Tensor,
    norm_type: Any,
    kernel_size: Any,
    stride: Any = ...,
    ceil_mode: builtins.bool = ...,
    *,
    padding: Any = ...,
    data_format: builtins.str = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def lp_pool2d(
    x: Tensor,
    norm_type: Any,
    kernel_size: Any,
    stride: Any = ...,
    padding: Any = ...,
    ceil_mode: builtins.bool = ...,
    data_format: builtins.str = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def lp_pool2d(
    *,
    input: Tensor,
    norm_type: Any,
    kernel_size: Any,
    stride: Any = ...,
    padding: Any = ...,
    ceil_mode: builtins.bool = ...,
    data_format: builtins.str = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def lp_pool2d(
    x: Tensor,
    norm_type: Any,
    kernel_size: Any,
    stride: Any = ...,
    ceil_mode: builtins.bool = ...,
    *,
    padding: Any = ...,
    data_format: builtins.str = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def normalize(
    x: Tensor,
    p: builtins.float = ...,
    axis: builtins.int = ...,
    epsilon: builtins.float = ...,
    out: Tensor | None = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def normalize(
    x: Tensor,
    p: builtins.float = ...,
    axis: builtins.int = ...,
    *,
    eps: builtins.float,
    out: Tensor | None = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def normalize(
    x: Tensor,
    p: builtins.float = ...,
    *,
    dim: builtins.int,
    epsilon: builtins.float = ...,
    out: Tensor | None = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def normalize(
    *,
    input: Tensor,
    p: builtins.float = ...,
    axis: builtins.int = ...,
    epsilon: builtins.float = ...,
    out: Tensor | None = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def normalize(
    x: Tensor,
    p: builtins.float = ...,
    *,
    dim: builtins.int,
    eps: builtins.float,
    out: Tensor | None = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def normalize(
    *,
    input: Tensor,
    p: builtins.float = ...,
    axis: builtins.int = ...,
    eps: builtins.float,
    out: Tensor | None = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def normalize(
    *,
    input: Tensor,
    p: builtins.float = ...,
    dim: builtins.int,
    epsilon: builtins.float = ...,
    out: Tensor | None = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def normalize(
    *,
    input: Tensor,
    p: builtins.float = ...,
    dim: builtins.int,
    eps: builtins.float,
    out: Tensor | None = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def one_hot(x: Tensor, num_classes: builtins.int = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def one_hot(*, input: Tensor, num_classes: builtins.int = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def pad(
    x: Tensor,
    pad: Any,
    mode: builtins.str = ...,
    value: builtins.float = ...,
    data_format: builtins.str | None = ...,
    pad_from_left_axis: builtins.bool = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def pad(
    *,
    input: Tensor,
    pad: Any,
    mode: builtins.str = ...,
    value: builtins.float = ...,
    data_format: builtins.str | None = ...,
    pad_from_left_axis: builtins.bool = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def pairwise_distance(
    x: Tensor,
    y: Tensor,
    p: builtins.float = ...,
    epsilon: builtins.float = ...,
    keepdim: builtins.bool = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def pairwise_distance(
    x: Tensor,
    y: Tensor,
    p: builtins.float = ...,
    *,
    eps: builtins.float,
    keepdim: builtins.bool = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def pairwise_distance(
    x: Tensor,
    *,
    x2: Tensor,
    p: builtins.float = ...,
    epsilon: builtins.float = ...,
    keepdim: builtins.bool = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def pairwise_distance(
    *,
    x1: Tensor,
    y: Tensor,
    p: builtins.float = ...,
    epsilon: builtins.float = ...,
    keepdim: builtins.bool = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def pairwise_distance(
    x: Tensor,
    *,
    x2: Tensor,
    p: builtins.float = ...,
    eps: builtins.float,
    keepdim: builtins.bool = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def pairwise_distance(
    *,
    x1: Tensor,
    y: Tensor,
    p: builtins.float = ...,
    eps: builtins.float,
    keepdim: builtins.bool = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def pairwise_distance(
    *,
    x1: Tensor,
    x2: Tensor,
    p: builtins.float = ...,
    epsilon: builtins.float = ...,
    keepdim: builtins.bool = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def pairwise_distance(
    *,
    x1: Tensor,
    x2: Tensor,
    p: builtins.float = ...,
    eps: builtins.float,
    keepdim: builtins.bool = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def silu(x: Tensor, inplace: builtins.bool = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def silu(*, input: Tensor, inplace: builtins.bool = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def softmax(
    x: Tensor, axis: builtins.int = ..., dtype: Any = ..., name: builtins.str | None = ..., *, out: Tensor | None = ...
) -> Tensor: ...
@overload
def softmax(
    x: Tensor, *, dim: builtins.int, dtype: Any = ..., name: builtins.str | None = ..., out: Tensor | None = ...
) -> Tensor: ...
@overload
def softmax(
    *,
    input: Tensor,
    axis: builtins.int = ...,
    dtype: Any = ...,
    name: builtins.str | None = ...,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def softmax(
    *, input: Tensor, dim: builtins.int, dtype: Any = ..., name: builtins.str | None = ..., out: Tensor | None = ...
) -> Tensor: ...
@overload
def softmax_(x: Tensor, axis: builtins.int = ..., dtype: Any = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def softmax_(x: Tensor, *, dim: builtins.int, dtype: Any = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def softmax_(
    *, input: Tensor, axis: builtins.int = ..., dtype: Any = ..., name: builtins.str | None = ...
) -> Tensor: ...
@overload
def softmax_(*, input: Tensor, dim: builtins.int, dtype: Any = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def softplus(
    x: Tensor, beta: builtins.float = ..., threshold: builtins.float = ..., name: builtins.str | None = ...
) -> Tensor: ...
@overload
def softplus(
    *, input: Tensor, beta: builtins.float = ..., threshold: builtins.float = ..., name: builtins.str | None = ...
) -> Tensor: ...
@overload
def softshrink(x: Tensor, threshold: builtins.float = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def softshrink(x: Tensor, *, lambd: builtins.float, name: builtins.str | None = ...) -> Tensor: ...
@overload
def softshrink(*, input: Tensor, threshold: builtins.float = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def softshrink(*, input: Tensor, lambd: builtins.float, name: builtins.str | None = ...) -> Tensor: ...

__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_log_softmax_with_loss",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "adaptive_max_pool3d",
    "affine_grid",
    "alpha_dropout",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "batch_norm",
    "bilinear",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "celu",
    "channel_shuffle",
    "class_center_sample",
    "conv1d",
    "conv1d_transpose",
    "conv2d",
    "conv2d_transpose",
    "conv3d",
    "conv3d_transpose",
    "cosine_embedding_loss",
    "cosine_similarity",
    "cross_entropy",
    "ctc_loss",
    "diag_embed",
    "dice_loss",
    "dropout",
    "dropout1d",
    "dropout2d",
    "dropout3d",
    "elu",
    "elu_",
    "embedding",
    "embedding_renorm_",
    "feature_alpha_dropout",
    "flash_attention_v3_varlen",
    "flash_attn_qkvpacked",
    "flash_attn_varlen_qkvpacked",
    "flashmask_attention",
    "fold",
    "fractional_max_pool2d",
    "fractional_max_pool3d",
    "gather_tree",
    "gaussian_nll_loss",
    "gelu",
    "glu",
    "grid_sample",
    "group_norm",
    "gumbel_softmax",
    "hardshrink",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "hardtanh_",
    "hinge_embedding_loss",
    "hsigmoid_loss",
    "instance_norm",
    "interpolate",
    "kl_div",
    "l1_loss",
    "label_smooth",
    "layer_norm",
    "leaky_relu",
    "leaky_relu_",
    "linear",
    "local_response_norm",
    "log_loss",
    "log_sigmoid",
    "log_softmax",
    "logsigmoid",
    "lp_pool1d",
    "lp_pool2d",
    "margin_cross_entropy",
    "margin_ranking_loss",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "max_unpool1d",
    "max_unpool2d",
    "max_unpool3d",
    "maxout",
    "mish",
    "moe_permute",
    "moe_unpermute",
    "mse_loss",
    "multi_label_margin_loss",
    "multi_label_soft_margin_loss",
    "multi_margin_loss",
    "nll_loss",
    "normalize",
    "npair_loss",
    "one_hot",
    "pad",
    "pairwise_distance",
    "pdist",
    "pixel_shuffle",
    "pixel_unshuffle",
    "poisson_nll_loss",
    "prelu",
    "relu",
    "relu6",
    "relu_",
    "rms_norm",
    "rnnt_loss",
    "rrelu",
    "scaled_dot_product_attention",
    "sdp_kernel",
    "selu",
    "sequence_mask",
    "sigmoid",
    "sigmoid_focal_loss",
    "silu",
    "smooth_l1_loss",
    "soft_margin_loss",
    "softmax",
    "softmax_",
    "softmax_with_cross_entropy",
    "softplus",
    "softshrink",
    "softsign",
    "sparse_attention",
    "square_error_cost",
    "swiglu",
    "swish",
    "tanh",
    "tanh_",
    "tanhshrink",
    "temporal_shift",
    "thresholded_relu",
    "thresholded_relu_",
    "triplet_margin_loss",
    "triplet_margin_with_distance_loss",
    "unfold",
    "upsample",
    "zeropad2d",
]
