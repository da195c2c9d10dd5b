"""Made by ``tools/public_stubs.py``."""

import builtins
from collections.abc import Sequence
from typing import Any, overload

from paddle.framework.parameter import create_parameter as create_parameter
from paddle.signal import istft as istft
from paddle.signal import stft as stft
from paddle.tensor import creation as creation
from paddle.tensor import linalg as linalg
from paddle.tensor import manipulation as manipulation
from paddle.tensor import math as math
from paddle.tensor.arithmetic import increment as increment
from paddle.tensor.arithmetic import true_divide as true_divide
from paddle.tensor.array import array_length as array_length
from paddle.tensor.array import array_read as array_read
from paddle.tensor.array import array_write as array_write
from paddle.tensor.array import create_array as create_array
from paddle.tensor.array import create_tensor as create_tensor
from paddle.tensor.buffers import MmapStorage as MmapStorage
from paddle.tensor.casting import cast as cast
from paddle.tensor.casting import cast_ as cast_
from paddle.tensor.complex_numbers import complex as complex
from paddle.tensor.complex_numbers import polar as polar
from paddle.tensor.einsum import einsum as einsum
from paddle.tensor.exponents import softmax as softmax
from paddle.tensor.factorisations import lu_solve as lu_solve
from paddle.tensor.filled import fill_constant as fill_constant
from paddle.tensor.from_data import as_tensor as as_tensor
from paddle.tensor.from_data import asarray as asarray
from paddle.tensor.from_data import assign as assign
from paddle.tensor.from_data import from_dlpack as from_dlpack
from paddle.tensor.from_data import from_numpy as from_numpy
from paddle.tensor.from_data import to_dlpack as to_dlpack
from paddle.tensor.from_data import to_tensor as to_tensor
from paddle.tensor.gathering import multiplex as multiplex
from paddle.tensor.grids import cartesian_prod as cartesian_prod
from paddle.tensor.grids import meshgrid as meshgrid
from paddle.tensor.inplace import resize_ as resize_
from paddle.tensor.inplace import set_ as set_
from paddle.tensor.joining import block_diag as block_diag
from paddle.tensor.joining import column_stack as column_stack
from paddle.tensor.joining import dstack as dstack
from paddle.tensor.joining import hstack as hstack
from paddle.tensor.joining import row_stack as row_stack
from paddle.tensor.joining import vstack as vstack
from paddle.tensor.norms import renorm as renorm
from paddle.tensor.norms import renorm_ as renorm_
from paddle.tensor.products import addmm as addmm
from paddle.tensor.products import addmm_ as addmm_
from paddle.tensor.products import baddbmm as baddbmm
from paddle.tensor.products import baddbmm_ as baddbmm_
from paddle.tensor.random import bernoulli_ as bernoulli_
from paddle.tensor.random import binomial as binomial
from paddle.tensor.random import cauchy_ as cauchy_
from paddle.tensor.random import geometric_ as geometric_
from paddle.tensor.random import log_normal as log_normal
from paddle.tensor.random import log_normal_ as log_normal_
from paddle.tensor.random import normal_ as normal_
from paddle.tensor.random import random_ as random_
from paddle.tensor.random import randperm as randperm
from paddle.tensor.ranges import arange as arange
from paddle.tensor.ranges import logspace as logspace
from paddle.tensor.ranges import range as range
from paddle.tensor.reductions import add_n as add_n
from paddle.tensor.reductions import max as max
from paddle.tensor.reductions import min as min
from paddle.tensor.reductions import reduce_as as reduce_as
from paddle.tensor.rounding import trunc as trunc
from paddle.tensor.rounding import trunc_ as trunc_
from paddle.tensor.scattering import scatter_nd as scatter_nd
from paddle.tensor.search import sort as sort
from paddle.tensor.search import top_p_sampling as top_p_sampling
from paddle.tensor.search import where_ as where_
from paddle.tensor.sequences import broadcast_shape as broadcast_shape
from paddle.tensor.sequences import broadcast_shapes as broadcast_shapes
from paddle.tensor.sequences import cumulative_trapezoid as cumulative_trapezoid
from paddle.tensor.sequences import trapezoid as trapezoid
from paddle.tensor.shapes import atleast_1d as atleast_1d
from paddle.tensor.shapes import atleast_2d as atleast_2d
from paddle.tensor.shapes import atleast_3d as atleast_3d
from paddle.tensor.slicing import select_scatter as select_scatter
from paddle.tensor.slicing import slice_scatter as slice_scatter
from paddle.tensor.splitting import split as split
from paddle.tensor.splitting import split_with_sizes as split_with_sizes
from paddle.tensor.stat import numel as numel
from paddle.tensor.to_python import tolist as tolist
from paddle.tensor.to_string import set_printoptions as set_printoptions
from paddle.tensor.triangles import tril_indices as tril_indices
from paddle.tensor.triangles import triu_indices as triu_indices
from paddle.tensor.trigonometry import stanh as stanh
from paddle.tensor.typed_tensors import BFloat16Tensor as BFloat16Tensor
from paddle.tensor.typed_tensors import BoolTensor as BoolTensor
from paddle.tensor.typed_tensors import ByteTensor as ByteTensor
from paddle.tensor.typed_tensors import CharTensor as CharTensor
from paddle.tensor.typed_tensors import DoubleTensor as DoubleTensor
from paddle.tensor.typed_tensors import FloatTensor as FloatTensor
from paddle.tensor.typed_tensors import HalfTensor as HalfTensor
from paddle.tensor.typed_tensors import IntTensor as IntTensor
from paddle.tensor.typed_tensors import LongTensor as LongTensor
from paddle.tensor.typed_tensors import ShortTensor as ShortTensor
from paddle.tensor.views import as_strided as as_strided
from umiak.core.tensor import Tensor

@overload
def abs(x: Tensor, name: builtins.str | None = ..., *, out: Tensor | None = ...) -> Tensor: ...
@overload
def abs(*, input: Tensor, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def abs_(x: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def abs_(*, input: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def acos(x: Tensor, name: builtins.str | None = ..., *, out: Tensor | None = ...) -> Tensor: ...
@overload
def acos(*, input: Tensor, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def acos_(x: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def acos_(*, input: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def acosh(x: Tensor, name: builtins.str | None = ..., *, out: Tensor | None = ...) -> Tensor: ...
@overload
def acosh(*, input: Tensor, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def acosh_(x: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def acosh_(*, input: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def add(
    x: Tensor, y: Any, name: builtins.str | None = ..., *, alpha: Any = ..., out: Tensor | None = ...
) -> Tensor: ...
@overload
def add(
    x: Tensor, *, other: Any, name: builtins.str | None = ..., alpha: Any = ..., out: Tensor | None = ...
) -> Tensor: ...
@overload
def add(
    *, input: Tensor, y: Any, name: builtins.str | None = ..., alpha: Any = ..., out: Tensor | None = ...
) -> Tensor: ...
@overload
def add(
    *, input: Tensor, other: Any, name: builtins.str | None = ..., alpha: Any = ..., out: Tensor | None = ...
) -> Tensor: ...
@overload
def add_(x: Tensor, y: Any, name: builtins.str | None = ..., *, alpha: Any = ...) -> Tensor: ...
@overload
def add_(x: Tensor, *, other: Any, name: builtins.str | None = ..., alpha: Any = ...) -> Tensor: ...
@overload
def add_(*, input: Tensor, y: Any, name: builtins.str | None = ..., alpha: Any = ...) -> Tensor: ...
@overload
def add_(*, input: Tensor, other: Any, name: builtins.str | None = ..., alpha: Any = ...) -> Tensor: ...
@overload
def all(
    x: Tensor,
    axis: Any = ...,
    keepdim: builtins.bool = ...,
    name: builtins.str | None = ...,
    *,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def all(
    x: Tensor, *, dim: Any, keepdim: builtins.bool = ..., name: builtins.str | None = ..., out: Tensor | None = ...
) -> Tensor: ...
@overload
def all(
    *,
    input: Tensor,
    axis: Any = ...,
    keepdim: builtins.bool = ...,
    name: builtins.str | None = ...,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def all(
    *, input: Tensor, dim: Any, keepdim: builtins.bool = ..., name: builtins.str | None = ..., out: Tensor | None = ...
) -> Tensor: ...
@overload
def allclose(
    x: Tensor,
    y: Tensor,
    rtol: builtins.float = ...,
    atol: builtins.float = ...,
    equal_nan: builtins.bool = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def allclose(
    x: Tensor,
    *,
    other: Tensor,
    rtol: builtins.float = ...,
    atol: builtins.float = ...,
    equal_nan: builtins.bool = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def allclose(
    *,
    input: Tensor,
    y: Tensor,
    rtol: builtins.float = ...,
    atol: builtins.float = ...,
    equal_nan: builtins.bool = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def allclose(
    *,
    input: Tensor,
    other: Tensor,
    rtol: builtins.float = ...,
    atol: builtins.float = ...,
    equal_nan: builtins.bool = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def amax(
    x: Tensor,
    axis: Any = ...,
    keepdim: builtins.bool = ...,
    name: builtins.str | None = ...,
    *,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def amax(
    x: Tensor, *, dim: Any, keepdim: builtins.bool = ..., name: builtins.str | None = ..., out: Tensor | None = ...
) -> Tensor: ...
@overload
def amax(
    *,
    input: Tensor,
    axis: Any = ...,
    keepdim: builtins.bool = ...,
    name: builtins.str | None = ...,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def amax(
    *, input: Tensor, dim: Any, keepdim: builtins.bool = ..., name: builtins.str | None = ..., out: Tensor | None = ...
) -> Tensor: ...
@overload
def amin(
    x: Tensor,
    axis: Any = ...,
    keepdim: builtins.bool = ...,
    name: builtins.str | None = ...,
    *,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def amin(
    x: Tensor, *, dim: Any, keepdim: builtins.bool = ..., name: builtins.str | None = ..., out: Tensor | None = ...
) -> Tensor: ...
@overload
def amin(
    *,
    input: Tensor,
    axis: Any = ...,
    keepdim: builtins.bool = ...,
    name: builtins.str | None = ...,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def amin(
    *, input: Tensor, dim: Any, keepdim: builtins.bool = ..., name: builtins.str | None = ..., out: Tensor | None = ...
) -> Tensor: ...
@overload
def angle(x: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def angle(*, input: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def any(
    x: Tensor,
    axis: Any = ...,
    keepdim: builtins.bool = ...,
    name: builtins.str | None = ...,
    *,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def any(
    x: Tensor, *, dim: Any, keepdim: builtins.bool = ..., name: builtins.str | None = ..., out: Tensor | None = ...
) -> Tensor: ...
@overload
def any(
    *,
    input: Tensor,
    axis: Any = ...,
    keepdim: builtins.bool = ...,
    name: builtins.str | None = ...,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def any(
    *, input: Tensor, dim: Any, keepdim: builtins.bool = ..., name: builtins.str | None = ..., out: Tensor | None = ...
) -> Tensor: ...
@overload
def argmax(
    x: Tensor, axis: Any = ..., keepdim: builtins.bool = ..., dtype: Any = ..., name: builtins.str | None = ...
) -> Tensor: ...
@overload
def argmax(
    x: Tensor, axis: Any = ..., *, keepdims: builtins.bool, dtype: Any = ..., name: builtins.str | None = ...
) -> Tensor: ...
@overload
def argmax(
    x: Tensor, *, dim: Any, keepdim: builtins.bool = ..., dtype: Any = ..., name: builtins.str | None = ...
) -> Tensor: ...
@overload
def argmax(
    *, input: Tensor, axis: Any = ..., keepdim: builtins.bool = ..., dtype: Any = ..., name: builtins.str | None = ...
) -> Tensor: ...
@overload
def argmax(
    x: Tensor, *, dim: Any, keepdims: builtins.bool, dtype: Any = ..., name: builtins.str | None = ...
) -> Tensor: ...
@overload
def argmax(
    *, input: Tensor, axis: Any = ..., keepdims: builtins.bool, dtype: Any = ..., name: builtins.str | None = ...
) -> Tensor: ...
@overload
def argmax(
    *, input: Tensor, dim: Any, keepdim: builtins.bool = ..., dtype: Any = ..., name: builtins.str | None = ...
) -> Tensor: ...
@overload
def argmax(
    *, input: Tensor, dim: Any, keepdims: builtins.bool, dtype: Any = ..., name: builtins.str | None = ...
) -> Tensor: ...
@overload
def argmin(
    x: Tensor, axis: Any = ..., keepdim: builtins.bool = ..., dtype: Any = ..., name: builtins.str | None = ...
) -> Tensor: ...
@overload
def argmin(
    x: Tensor, axis: Any = ..., *, keepdims: builtins.bool, dtype: Any = ..., name: builtins.str | None = ...
) -> Tensor: ...
@overload
def argmin(
    x: Tensor, *, dim: Any, keepdim: builtins.bool = ..., dtype: Any = ..., name: builtins.str | None = ...
) -> Tensor: ...
@overload
def argmin(
    *, input: Tensor, axis: Any = ..., keepdim: builtins.bool = ..., dtype: Any = ..., name: builtins.str | None = ...
) -> Tensor: ...
@overload
def argmin(
    x: Tensor, *, dim: Any, keepdims: builtins.bool, dtype: Any = ..., name: builtins.str | None = ...
) -> Tensor: ...
@overload
def argmin(
    *, input: Tensor, axis: Any = ..., keepdims: builtins.bool, dtype: Any = ..., name: builtins.str | None = ...
) -> Tensor: ...
@overload
def argmin(
    *, input: Tensor, dim: Any, keepdim: builtins.bool = ..., dtype: Any = ..., name: builtins.str | None = ...
) -> Tensor: ...
@overload
def argmin(
    *, input: Tensor, dim: Any, keepdims: builtins.bool, dtype: Any = ..., name: builtins.str | None = ...
) -> Tensor: ...
@overload
def argsort(
    x: Tensor,
    axis: builtins.int = ...,
    descending: builtins.bool = ...,
    stable: builtins.bool = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def argsort(
    x: Tensor,
    *,
    dim: builtins.int,
    descending: builtins.bool = ...,
    stable: builtins.bool = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def argsort(
    *,
    input: Tensor,
    axis: builtins.int = ...,
    descending: builtins.bool = ...,
    stable: builtins.bool = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def argsort(
    *,
    input: Tensor,
    dim: builtins.int,
    descending: builtins.bool = ...,
    stable: builtins.bool = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def argwhere(input: Tensor) -> Tensor: ...
@overload
def argwhere(*, x: Tensor) -> Tensor: ...
@overload
def as_complex(x: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def as_complex(*, input: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def as_real(x: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def as_real(*, input: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def asin(x: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def asin(*, input: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def asin_(x: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def asin_(*, input: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def asinh(x: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def asinh(*, input: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def asinh_(x: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def asinh_(*, input: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def atan(x: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def atan(*, input: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def atan2(x: Tensor, y: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def atan2(x: Tensor, *, other: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def atan2(*, input: Tensor, y: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def atan2(*, input: Tensor, other: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def atan_(x: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def atan_(*, input: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def atanh(x: Tensor, name: builtins.str | None = ..., *, out: Tensor | None = ...) -> Tensor: ...
@overload
def atanh(*, input: Tensor, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def atanh_(x: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def atanh_(*, input: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def bernoulli(x: Tensor, p: builtins.float | None = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def bernoulli(*, input: Tensor, p: builtins.float | None = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def bincount(
    x: Tensor, weights: Tensor | None = ..., minlength: Any = ..., name: builtins.str | None = ...
) -> Tensor: ...
@overload
def bincount(
    *, input: Tensor, weights: Tensor | None = ..., minlength: Any = ..., name: builtins.str | None = ...
) -> Tensor: ...
@overload
def bitwise_and(x: Tensor, y: Any, out: Tensor | None = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def bitwise_and(x: Tensor, *, other: Any, out: Tensor | None = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def bitwise_and(*, input: Tensor, y: Any, out: Tensor | None = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def bitwise_and(*, input: Tensor, other: Any, out: Tensor | None = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def bitwise_and_(x: Tensor, y: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def bitwise_and_(x: Tensor, *, other: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def bitwise_and_(*, input: Tensor, y: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def bitwise_and_(*, input: Tensor, other: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def bitwise_invert(x: Tensor, out: Tensor | None = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def bitwise_invert(*, input: Tensor, out: Tensor | None = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def bitwise_invert_(x: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def bitwise_invert_(*, input: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def bitwise_left_shift(
    x: Tensor, y: Any, is_arithmetic: builtins.bool = ..., out: Tensor | None = ..., name: builtins.str | None = ...
) -> Tensor: ...
@overload
def bitwise_left_shift(
    x: Tensor,
    *,
    other: Any,
    is_arithmetic: builtins.bool = ...,
    out: Tensor | None = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def bitwise_left_shift(
    *,
    input: Tensor,
    y: Any,
    is_arithmetic: builtins.bool = ...,
    out: Tensor | None = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def bitwise_left_shift(
    *,
    input: Tensor,
    other: Any,
    is_arithmetic: builtins.bool = ...,
    out: Tensor | None = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def bitwise_left_shift_(
    x: Tensor, y: Any, is_arithmetic: builtins.bool = ..., out: Tensor | None = ..., name: builtins.str | None = ...
) -> Tensor: ...
@overload
def bitwise_left_shift_(
    x: Tensor,
    *,
    other: Any,
    is_arithmetic: builtins.bool = ...,
    out: Tensor | None = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def bitwise_left_shift_(
    *,
    input: Tensor,
    y: Any,
    is_arithmetic: builtins.bool = ...,
    out: Tensor | None = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def bitwise_left_shift_(
    *,
    input: Tensor,
    other: Any,
    is_arithmetic: builtins.bool = ...,
    out: Tensor | None = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def bitwise_not(x: Tensor, out: Tensor | None = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def bitwise_not(*, input: Tensor, out: Tensor | None = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def bitwise_not_(x: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def bitwise_not_(*, input: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def bitwise_or(x: Tensor, y: Any, out: Tensor | None = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def bitwise_or(x: Tensor, *, other: Any, out: Tensor | None = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def bitwise_or(*, input: Tensor, y: Any, out: Tensor | None = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def bitwise_or(*, input: Tensor, other: Any, out: Tensor | None = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def bitwise_or_(x: Tensor, y: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def bitwise_or_(x: Tensor, *, other: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def bitwise_or_(*, input: Tensor, y: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def bitwise_or_(*, input: Tensor, other: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def bitwise_right_shift(
    x: Tensor, y: Any, is_arithmetic: builtins.bool = ..., out: Tensor | None = ..., name: builtins.str | None = ...
) -> Tensor: ...
@overload
def bitwise_right_shift(
    x: Tensor,
    *,
    other: Any,
    is_arithmetic: builtins.bool = ...,
    out: Tensor | None = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def bitwise_right_shift(
    *,
    input: Tensor,
    y: Any,
    is_arithmetic: builtins.bool = ...,
    out: Tensor | None = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def bitwise_right_shift(
    *,
    input: Tensor,
    other: Any,
    is_arithmetic: builtins.bool = ...,
    out: Tensor | None = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def bitwise_right_shift_(
    x: Tensor, y: Any, is_arithmetic: builtins.bool = ..., out: Tensor | None = ..., name: builtins.str | None = ...
) -> Tensor: ...
@overload
def bitwise_right_shift_(
    x: Tensor,
    *,
    other: Any,
    is_arithmetic: builtins.bool = ...,
    out: Tensor | None = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def bitwise_right_shift_(
    *,
    input: Tensor,
    y: Any,
    is_arithmetic: builtins.bool = ...,
    out: Tensor | None = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def bitwise_right_shift_(
    *,
    input: Tensor,
    other: Any,
    is_arithmetic: builtins.bool = ...,
    out: Tensor | None = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def bitwise_xor(x: Tensor, y: Any, out: Tensor | None = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def bitwise_xor(x: Tensor, *, other: Any, out: Tensor | None = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def bitwise_xor(*, input: Tensor, y: Any, out: Tensor | None = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def bitwise_xor(*, input: Tensor, other: Any, out: Tensor | None = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def bitwise_xor_(x: Tensor, y: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def bitwise_xor_(x: Tensor, *, other: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def bitwise_xor_(*, input: Tensor, y: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def bitwise_xor_(*, input: Tensor, other: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def bmm(x: Tensor, y: Tensor, name: builtins.str | None = ..., *, out: Any = ...) -> Tensor: ...
@overload
def bmm(x: Tensor, *, other: Tensor, name: builtins.str | None = ..., out: Any = ...) -> Tensor: ...
@overload
def bmm(x: Tensor, *, mat2: Tensor, name: builtins.str | None = ..., out: Any = ...) -> Tensor: ...
@overload
def bmm(*, input: Tensor, y: Tensor, name: builtins.str | None = ..., out: Any = ...) -> Tensor: ...
@overload
def bmm(*, input: Tensor, other: Tensor, name: builtins.str | None = ..., out: Any = ...) -> Tensor: ...
@overload
def bmm(*, input: Tensor, mat2: Tensor, name: builtins.str | None = ..., out: Any = ...) -> Tensor: ...
@overload
def broadcast_tensors(input: Sequence[Tensor], name: builtins.str | None = ...) -> builtins.list[Tensor]: ...
@overload
def broadcast_tensors(*, x: Sequence[Tensor], name: builtins.str | None = ...) -> builtins.list[Tensor]: ...
@overload
def broadcast_to(x: Tensor, shape: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def broadcast_to(x: Tensor, *, size: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def broadcast_to(*, input: Tensor, shape: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def broadcast_to(*, input: Tensor, size: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def bucketize(
    x: Any,
    sorted_sequence: Tensor,
    out_int32: builtins.bool = ...,
    right: builtins.bool = ...,
    name: builtins.str | None = ...,
    *,
    out: Any = ...,
) -> Tensor: ...
@overload
def bucketize(
    x: Any,
    *,
    boundaries: Tensor,
    out_int32: builtins.bool = ...,
    right: builtins.bool = ...,
    name: builtins.str | None = ...,
    out: Any = ...,
) -> Tensor: ...
@overload
def bucketize(
    *,
    input: Any,
    sorted_sequence: Tensor,
    out_int32: builtins.bool = ...,
    right: builtins.bool = ...,
    name: builtins.str | None = ...,
    out: Any = ...,
) -> Tensor: ...
@overload
def bucketize(
    *,
    input: Any,
    boundaries: Tensor,
    out_int32: builtins.bool = ...,
    right: builtins.bool = ...,
    name: builtins.str | None = ...,
    out: Any = ...,
) -> Tensor: ...
@overload
def cat(
    x: Sequence[Tensor], axis: Any = ..., name: builtins.str | None = ..., *, out: Tensor | None = ...
) -> Tensor: ...
@overload
def cat(x: Sequence[Tensor], *, dim: Any, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def cat(
    *, input: Sequence[Tensor], axis: Any = ..., name: builtins.str | None = ..., out: Tensor | None = ...
) -> Tensor: ...
@overload
def cat(
    *, tensors: Sequence[Tensor], axis: Any = ..., name: builtins.str | None = ..., out: Tensor | None = ...
) -> Tensor: ...
@overload
def cat(*, input: Sequence[Tensor], dim: Any, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def cat(
    *, tensors: Sequence[Tensor], dim: Any, name: builtins.str | None = ..., out: Tensor | None = ...
) -> Tensor: ...
@overload
def cdist(
    x: Tensor, y: Tensor, p: builtins.float = ..., compute_mode: builtins.str = ..., name: builtins.str | None = ...
) -> Tensor: ...
@overload
def cdist(
    x: Tensor,
    *,
    other: Tensor,
    p: builtins.float = ...,
    compute_mode: builtins.str = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def cdist(
    *,
    input: Tensor,
    y: Tensor,
    p: builtins.float = ...,
    compute_mode: builtins.str = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def cdist(
    *,
    input: Tensor,
    other: Tensor,
    p: builtins.float = ...,
    compute_mode: builtins.str = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def ceil(x: Tensor, name: builtins.str | None = ..., *, out: Tensor | None = ...) -> Tensor: ...
@overload
def ceil(*, input: Tensor, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def ceil_(x: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def ceil_(*, input: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def cholesky(x: Tensor, upper: builtins.bool = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def cholesky(*, input: Tensor, upper: builtins.bool = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def cholesky_inverse(x: Tensor, upper: builtins.bool = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def cholesky_inverse(*, input: Tensor, upper: builtins.bool = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def cholesky_solve(x: Tensor, y: Tensor, upper: builtins.bool = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def cholesky_solve(
    x: Tensor, *, other: Tensor, upper: builtins.bool = ..., name: builtins.str | None = ...
) -> Tensor: ...
@overload
def cholesky_solve(
    *, input: Tensor, y: Tensor, upper: builtins.bool = ..., name: builtins.str | None = ...
) -> Tensor: ...
@overload
def cholesky_solve(
    *, input: Tensor, other: Tensor, upper: builtins.bool = ..., name: builtins.str | None = ...
) -> Tensor: ...
@overload
def chunk(
    x: Tensor, chunks: builtins.int, axis: Any = ..., name: builtins.str | None = ...
) -> builtins.list[Tensor]: ...
@overload
def chunk(x: Tensor, chunks: builtins.int, *, dim: Any, name: builtins.str | None = ...) -> builtins.list[Tensor]: ...
@overload
def chunk(
    *, input: Tensor, chunks: builtins.int, axis: Any = ..., name: builtins.str | None = ...
) -> builtins.list[Tensor]: ...
@overload
def chunk(
    *, input: Tensor, chunks: builtins.int, dim: Any, name: builtins.str | None = ...
) -> builtins.list[Tensor]: ...
@overload
def clamp(
    x: Tensor, min: Any = ..., max: Any = ..., name: builtins.str | None = ..., *, out: Tensor | None = ...
) -> Tensor: ...
@overload
def clamp(
    *, input: Tensor, min: Any = ..., max: Any = ..., name: builtins.str | None = ..., out: Tensor | None = ...
) -> Tensor: ...
@overload
def clamp_(x: Tensor, min: Any = ..., max: Any = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def clamp_(*, input: Tensor, min: Any = ..., max: Any = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def clip(
    x: Tensor, min: Any = ..., max: Any = ..., name: builtins.str | None = ..., *, out: Tensor | None = ...
) -> Tensor: ...
@overload
def clip(
    *, input: Tensor, min: Any = ..., max: Any = ..., name: builtins.str | None = ..., out: Tensor | None = ...
) -> Tensor: ...
@overload
def clip_(x: Tensor, min: Any = ..., max: Any = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def clip_(*, input: Tensor, min: Any = ..., max: Any = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def clone(x: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def clone(*, input: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def combinations(
    x: Tensor, r: builtins.int = ..., with_replacement: builtins.bool = ..., name: builtins.str | None = ...
) -> Tensor: ...
@overload
def combinations(
    *, input: Tensor, r: builtins.int = ..., with_replacement: builtins.bool = ..., name: builtins.str | None = ...
) -> Tensor: ...
@overload
def concat(
    x: Sequence[Tensor], axis: Any = ..., name: builtins.str | None = ..., *, out: Tensor | None = ...
) -> Tensor: ...
@overload
def concat(x: Sequence[Tensor], *, dim: Any, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def concat(
    *, input: Sequence[Tensor], axis: Any = ..., name: builtins.str | None = ..., out: Tensor | None = ...
) -> Tensor: ...
@overload
def concat(
    *, tensors: Sequence[Tensor], axis: Any = ..., name: builtins.str | None = ..., out: Tensor | None = ...
) -> Tensor: ...
@overload
def concat(
    *, input: Sequence[Tensor], dim: Any, name: builtins.str | None = ..., out: Tensor | None = ...
) -> Tensor: ...
@overload
def concat(
    *, tensors: Sequence[Tensor], dim: Any, name: builtins.str | None = ..., out: Tensor | None = ...
) -> Tensor: ...
@overload
def concatenate(
    x: Sequence[Tensor], axis: Any = ..., name: builtins.str | None = ..., *, out: Tensor | None = ...
) -> Tensor: ...
@overload
def concatenate(
    x: Sequence[Tensor], *, dim: Any, name: builtins.str | None = ..., out: Tensor | None = ...
) -> Tensor: ...
@overload
def concatenate(
    *, input: Sequence[Tensor], axis: Any = ..., name: builtins.str | None = ..., out: Tensor | None = ...
) -> Tensor: ...
@overload
def concatenate(
    *, tensors: Sequence[Tensor], axis: Any = ..., name: builtins.str | None = ..., out: Tensor | None = ...
) -> Tensor: ...
@overload
def concatenate(
    *, input: Sequence[Tensor], dim: Any, name: builtins.str | None = ..., out: Tensor | None = ...
) -> Tensor: ...
@overload
def concatenate(
    *, tensors: Sequence[Tensor], dim: Any, name: builtins.str | None = ..., out: Tensor | None = ...
) -> Tensor: ...
@overload
def cond(x: Tensor, p: Any = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def cond(*, input: Tensor, p: Any = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def cond(*, A: Tensor, p: Any = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def conj(x: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def conj(*, input: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def copysign(x: Tensor, y: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def copysign(x: Tensor, *, other: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def copysign(*, input: Tensor, y: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def copysign(*, input: Tensor, other: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def copysign_(x: Tensor, y: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def copysign_(x: Tensor, *, other: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def copysign_(*, input: Tensor, y: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def copysign_(*, input: Tensor, other: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def corrcoef(x: Tensor, rowvar: builtins.bool = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def corrcoef(*, input: Tensor, rowvar: builtins.bool = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def cos(x: Tensor, name: builtins.str | None = ..., *, out: Tensor | None = ...) -> Tensor: ...
@overload
def cos(*, input: Tensor, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def cos_(x: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def cos_(*, input: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def cosh(x: Tensor, name: builtins.str | None = ..., *, out: Tensor | None = ...) -> Tensor: ...
@overload
def cosh(*, input: Tensor, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def cosh_(x: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def cosh_(*, input: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def count_nonzero(
    x: Tensor, axis: Any = ..., keepdim: builtins.bool = ..., name: builtins.str | None = ...
) -> Tensor: ...
@overload
def count_nonzero(x: Tensor, *, dim: Any, keepdim: builtins.bool = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def count_nonzero(
    *, input: Tensor, axis: Any = ..., keepdim: builtins.bool = ..., name: builtins.str | None = ...
) -> Tensor: ...
@overload
def count_nonzero(
    *, input: Tensor, dim: Any, keepdim: builtins.bool = ..., name: builtins.str | None = ...
) -> Tensor: ...
@overload
def cov(
    x: Tensor,
    rowvar: builtins.bool = ...,
    ddof: builtins.bool = ...,
    fweights: Tensor | None = ...,
    aweights: Tensor | None = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def cov(
    *,
    input: Tensor,
    rowvar: builtins.bool = ...,
    ddof: builtins.bool = ...,
    fweights: Tensor | None = ...,
    aweights: Tensor | None = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def crop(x: Tensor, shape: Any = ..., offsets: Any = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def crop(*, input: Tensor, shape: Any = ..., offsets: Any = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def cross(x: Tensor, y: Tensor, axis: builtins.int = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def cross(x: Tensor, y: Tensor, *, dim: builtins.int, name: builtins.str | None = ...) -> Tensor: ...
@overload
def cross(x: Tensor, *, other: Tensor, axis: builtins.int = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def cross(*, input: Tensor, y: Tensor, axis: builtins.int = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def cross(x: Tensor, *, other: Tensor, dim: builtins.int, name: builtins.str | None = ...) -> Tensor: ...
@overload
def cross(*, input: Tensor, y: Tensor, dim: builtins.int, name: builtins.str | None = ...) -> Tensor: ...
@overload
def cross(*, input: Tensor, other: Tensor, axis: builtins.int = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def cross(*, input: Tensor, other: Tensor, dim: builtins.int, name: builtins.str | None = ...) -> Tensor: ...
@overload
def cummax(
    x: Tensor, axis: Any = ..., dtype: Any = ..., name: builtins.str | None = ...
) -> builtins.tuple[Tensor, Tensor]: ...
@overload
def cummax(
    x: Tensor, *, dim: Any, dtype: Any = ..., name: builtins.str | None = ...
) -> builtins.tuple[Tensor, Tensor]: ...
@overload
def cummax(
    *, input: Tensor, axis: Any = ..., dtype: Any = ..., name: builtins.str | None = ...
) -> builtins.tuple[Tensor, Tensor]: ...
@overload
def cummax(
    *, input: Tensor, dim: Any, dtype: Any = ..., name: builtins.str | None = ...
) -> builtins.tuple[Tensor, Tensor]: ...
@overload
def cummin(
    x: Tensor, axis: Any = ..., dtype: Any = ..., name: builtins.str | None = ...
) -> builtins.tuple[Tensor, Tensor]: ...
@overload
def cummin(
    x: Tensor, *, dim: Any, dtype: Any = ..., name: builtins.str | None = ...
) -> builtins.tuple[Tensor, Tensor]: ...
@overload
def cummin(
    *, input: Tensor, axis: Any = ..., dtype: Any = ..., name: builtins.str | None = ...
) -> builtins.tuple[Tensor, Tensor]: ...
@overload
def cummin(
    *, input: Tensor, dim: Any, dtype: Any = ..., name: builtins.str | None = ...
) -> builtins.tuple[Tensor, Tensor]: ...
@overload
def cumprod(
    x: Tensor, dim: Any = ..., *, dtype: Any = ..., out: Any = ..., name: builtins.str | None = ...
) -> Tensor: ...
@overload
def cumprod(
    *, input: Tensor, dim: Any = ..., dtype: Any = ..., out: Any = ..., name: builtins.str | None = ...
) -> Tensor: ...
@overload
def cumprod_(x: Tensor, dim: Any = ..., *, dtype: Any = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def cumprod_(*, input: Tensor, dim: Any = ..., dtype: Any = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def cumsum(
    x: Tensor, axis: Any = ..., dtype: Any = ..., name: builtins.str | None = ..., *, out: Any = ...
) -> Tensor: ...
@overload
def cumsum(x: Tensor, *, dim: Any, dtype: Any = ..., name: builtins.str | None = ..., out: Any = ...) -> Tensor: ...
@overload
def cumsum(
    *, input: Tensor, axis: Any = ..., dtype: Any = ..., name: builtins.str | None = ..., out: Any = ...
) -> Tensor: ...
@overload
def cumsum(*, input: Tensor, dim: Any, dtype: Any = ..., name: builtins.str | None = ..., out: Any = ...) -> Tensor: ...
@overload
def cumsum_(x: Tensor, axis: Any = ..., dtype: Any = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def cumsum_(x: Tensor, *, dim: Any, dtype: Any = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def cumsum_(*, input: Tensor, axis: Any = ..., dtype: Any = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def cumsum_(*, input: Tensor, dim: Any, dtype: Any = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def deg2rad(x: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def deg2rad(*, input: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def diag(
    x: Tensor, offset: builtins.int = ..., padding_value: Any = ..., name: builtins.str | None = ...
) -> Tensor: ...
@overload
def diag(
    *, input: Tensor, offset: builtins.int = ..., padding_value: Any = ..., name: builtins.str | None = ...
) -> Tensor: ...
@overload
def diag_embed(
    input: Any, offset: builtins.int = ..., dim1: builtins.int = ..., dim2: builtins.int = ...
) -> Tensor: ...
@overload
def diag_embed(*, x: Any, offset: builtins.int = ..., dim1: builtins.int = ..., dim2: builtins.int = ...) -> Tensor: ...
@overload
def diagflat(x: Tensor, offset: builtins.int = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def diagflat(*, input: Tensor, offset: builtins.int = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def diagonal(
    x: Tensor,
    offset: builtins.int = ...,
    axis1: builtins.int = ...,
    axis2: builtins.int = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def diagonal(
    x: Tensor,
    offset: builtins.int = ...,
    axis1: builtins.int = ...,
    *,
    dim2: builtins.int,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def diagonal(
    x: Tensor,
    offset: builtins.int = ...,
    *,
    dim1: builtins.int,
    axis2: builtins.int = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def diagonal(
    *,
    input: Tensor,
    offset: builtins.int = ...,
    axis1: builtins.int = ...,
    axis2: builtins.int = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def diagonal(
    x: Tensor, offset: builtins.int = ..., *, dim1: builtins.int, dim2: builtins.int, name: builtins.str | None = ...
) -> Tensor: ...
@overload
def diagonal(
    *,
    input: Tensor,
    offset: builtins.int = ...,
    axis1: builtins.int = ...,
    dim2: builtins.int,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def diagonal(
    *,
    input: Tensor,
    offset: builtins.int = ...,
    dim1: builtins.int,
    axis2: builtins.int = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def diagonal(
    *,
    input: Tensor,
    offset: builtins.int = ...,
    dim1: builtins.int,
    dim2: builtins.int,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def diagonal_scatter(
    x: Tensor,
    y: Tensor,
    offset: builtins.int = ...,
    axis1: builtins.int = ...,
    axis2: builtins.int = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def diagonal_scatter(
    x: Tensor,
    *,
    other: Tensor,
    offset: builtins.int = ...,
    axis1: builtins.int = ...,
    axis2: builtins.int = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def diagonal_scatter(
    *,
    input: Tensor,
    y: Tensor,
    offset: builtins.int = ...,
    axis1: builtins.int = ...,
    axis2: builtins.int = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def diagonal_scatter(
    *,
    input: Tensor,
    other: Tensor,
    offset: builtins.int = ...,
    axis1: builtins.int = ...,
    axis2: builtins.int = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def diff(
    x: Tensor,
    n: builtins.int = ...,
    axis: builtins.int = ...,
    prepend: Tensor | None = ...,
    append: Tensor | None = ...,
    name: builtins.str | None = ...,
    *,
    out: Any = ...,
) -> Tensor: ...
@overload
def diff(
    x: Tensor,
    n: builtins.int = ...,
    *,
    dim: builtins.int,
    prepend: Tensor | None = ...,
    append: Tensor | None = ...,
    name: builtins.str | None = ...,
    out: Any = ...,
) -> Tensor: ...
@overload
def diff(
    *,
    input: Tensor,
    n: builtins.int = ...,
    axis: builtins.int = ...,
    prepend: Tensor | None = ...,
    append: Tensor | None = ...,
    name: builtins.str | None = ...,
    out: Any = ...,
) -> Tensor: ...
@overload
def diff(
    *,
    input: Tensor,
    n: builtins.int = ...,
    dim: builtins.int,
    prepend: Tensor | None = ...,
    append: Tensor | None = ...,
    name: builtins.str | None = ...,
    out: Any = ...,
) -> Tensor: ...
@overload
def digamma(x: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def digamma(*, input: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def digamma_(x: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def digamma_(*, input: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def dist(x: Tensor, y: Tensor, p: builtins.float = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def dist(x: Tensor, *, other: Tensor, p: builtins.float = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def dist(*, input: Tensor, y: Tensor, p: builtins.float = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def dist(*, input: Tensor, other: Tensor, p: builtins.float = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def div(
    x: Tensor,
    y: Any,
    name: builtins.str | None = ...,
    *,
    rounding_mode: builtins.str | None = ...,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def div(
    x: Tensor,
    *,
    other: Any,
    name: builtins.str | None = ...,
    rounding_mode: builtins.str | None = ...,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def div(
    *,
    input: Tensor,
    y: Any,
    name: builtins.str | None = ...,
    rounding_mode: builtins.str | None = ...,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def div(
    *,
    input: Tensor,
    other: Any,
    name: builtins.str | None = ...,
    rounding_mode: builtins.str | None = ...,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def div_(x: Tensor, y: Any, name: builtins.str | None = ..., *, rounding_mode: builtins.str | None = ...) -> Tensor: ...
@overload
def div_(
    x: Tensor, *, other: Any, name: builtins.str | None = ..., rounding_mode: builtins.str | None = ...
) -> Tensor: ...
@overload
def div_(
    *, input: Tensor, y: Any, name: builtins.str | None = ..., rounding_mode: builtins.str | None = ...
) -> Tensor: ...
@overload
def div_(
    *, input: Tensor, other: Any, name: builtins.str | None = ..., rounding_mode: builtins.str | None = ...
) -> Tensor: ...
@overload
def divide(
    x: Tensor,
    y: Any,
    name: builtins.str | None = ...,
    *,
    rounding_mode: builtins.str | None = ...,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def divide(
    x: Tensor,
    *,
    other: Any,
    name: builtins.str | None = ...,
    rounding_mode: builtins.str | None = ...,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def divide(
    *,
    input: Tensor,
    y: Any,
    name: builtins.str | None = ...,
    rounding_mode: builtins.str | None = ...,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def divide(
    *,
    input: Tensor,
    other: Any,
    name: builtins.str | None = ...,
    rounding_mode: builtins.str | None = ...,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def divide_(
    x: Tensor, y: Any, name: builtins.str | None = ..., *, rounding_mode: builtins.str | None = ...
) -> Tensor: ...
@overload
def divide_(
    x: Tensor, *, other: Any, name: builtins.str | None = ..., rounding_mode: builtins.str | None = ...
) -> Tensor: ...
@overload
def divide_(
    *, input: Tensor, y: Any, name: builtins.str | None = ..., rounding_mode: builtins.str | None = ...
) -> Tensor: ...
@overload
def divide_(
    *, input: Tensor, other: Any, name: builtins.str | None = ..., rounding_mode: builtins.str | None = ...
) -> Tensor: ...
@overload
def dot(x: Tensor, y: Tensor, name: builtins.str | None = ..., *, out: Any = ...) -> Tensor: ...
@overload
def dot(x: Tensor, *, other: Tensor, name: builtins.str | None = ..., out: Any = ...) -> Tensor: ...
@overload
def dot(x: Tensor, *, tensor: Tensor, name: builtins.str | None = ..., out: Any = ...) -> Tensor: ...
@overload
def dot(*, input: Tensor, y: Tensor, name: builtins.str | None = ..., out: Any = ...) -> Tensor: ...
@overload
def dot(*, input: Tensor, other: Tensor, name: builtins.str | None = ..., out: Any = ...) -> Tensor: ...
@overload
def dot(*, input: Tensor, tensor: Tensor, name: builtins.str | None = ..., out: Any = ...) -> Tensor: ...
@overload
def dsplit(x: Tensor, num_or_indices: Any, name: builtins.str | None = ...) -> builtins.list[Tensor]: ...
@overload
def dsplit(*, input: Tensor, num_or_indices: Any, name: builtins.str | None = ...) -> builtins.list[Tensor]: ...
@overload
def eig(x: Tensor, name: builtins.str | None = ...) -> builtins.tuple[Tensor, Tensor]: ...
@overload
def eig(*, input: Tensor, name: builtins.str | None = ...) -> builtins.tuple[Tensor, Tensor]: ...
@overload
def eigh(x: Tensor, UPLO: builtins.str = ..., name: builtins.str | None = ...) -> builtins.tuple[Tensor, Tensor]: ...
@overload
def eigh(
    *, input: Tensor, UPLO: builtins.str = ..., name: builtins.str | None = ...
) -> builtins.tuple[Tensor, Tensor]: ...
@overload
def eigvals(x: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def eigvals(*, input: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def eigvalsh(x: Tensor, UPLO: builtins.str = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def eigvalsh(*, input: Tensor, UPLO: builtins.str = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def empty(
    shape: Any,
    dtype: Any = ...,
    name: builtins.str | None = ...,
    *,
    out: Any = ...,
    device: Any = ...,
    requires_grad: builtins.bool = ...,
    pin_memory: builtins.bool = ...,
) -> Tensor: ...
@overload
def empty(
    *,
    size: Any,
    dtype: Any = ...,
    name: builtins.str | None = ...,
    out: Any = ...,
    device: Any = ...,
    requires_grad: builtins.bool = ...,
    pin_memory: builtins.bool = ...,
) -> Tensor: ...
@overload
def empty(
    *shape: builtins.int,
    dtype: Any = ...,
    name: builtins.str | None = ...,
    out: Any = ...,
    device: Any = ...,
    requires_grad: builtins.bool = ...,
    pin_memory: builtins.bool = ...,
) -> Tensor: ...
@overload
def empty_like(
    x: Tensor,
    dtype: Any = ...,
    name: builtins.str | None = ...,
    *,
    device: Any = ...,
    requires_grad: builtins.bool = ...,
    pin_memory: builtins.bool = ...,
) -> Tensor: ...
@overload
def empty_like(
    *,
    input: Tensor,
    dtype: Any = ...,
    name: builtins.str | None = ...,
    device: Any = ...,
    requires_grad: builtins.bool = ...,
    pin_memory: builtins.bool = ...,
) -> Tensor: ...
@overload
def eq(x: Tensor, y: Any, name: builtins.str | None = ..., *, out: Tensor | None = ...) -> Tensor: ...
@overload
def eq(x: Tensor, *, other: Any, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def eq(*, input: Tensor, y: Any, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def eq(*, input: Tensor, other: Any, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def equal(x: Tensor, y: Any, name: builtins.str | None = ..., *, out: Tensor | None = ...) -> Tensor: ...
@overload
def equal(x: Tensor, *, other: Any, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def equal(*, input: Tensor, y: Any, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def equal(*, input: Tensor, other: Any, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def equal_(x: Tensor, y: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def equal_(x: Tensor, *, other: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def equal_(*, input: Tensor, y: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def equal_(*, input: Tensor, other: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def equal_all(x: Tensor, y: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def equal_all(x: Tensor, *, other: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def equal_all(*, input: Tensor, y: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def equal_all(*, input: Tensor, other: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def erf(x: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def erf(*, input: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def erf_(x: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def erf_(*, input: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def erfinv(x: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def erfinv(*, input: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def erfinv_(x: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def erfinv_(*, input: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def exp(x: Tensor, name: builtins.str | None = ..., *, out: Tensor | None = ...) -> Tensor: ...
@overload
def exp(*, input: Tensor, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def exp_(x: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def exp_(*, input: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def expand(x: Tensor, shape: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def expand(x: Tensor, *, size: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def expand(*, input: Tensor, shape: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def expand(*, input: Tensor, size: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def expand(x: Tensor, *shape: builtins.int, name: builtins.str | None = ...) -> Tensor: ...
@overload
def expand_as(x: Tensor, y: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def expand_as(x: Tensor, *, other: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def expand_as(*, input: Tensor, y: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def expand_as(*, input: Tensor, other: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def expm1(x: Tensor, name: builtins.str | None = ..., *, out: Tensor | None = ...) -> Tensor: ...
@overload
def expm1(*, input: Tensor, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def expm1_(x: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def expm1_(*, input: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def exponential_(x: Tensor, lam: builtins.float = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def exponential_(x: Tensor, *, lambd: builtins.float, name: builtins.str | None = ...) -> Tensor: ...
@overload
def eye(
    num_rows: Any,
    num_columns: Any = ...,
    dtype: Any = ...,
    name: builtins.str | None = ...,
    *,
    out: Any = ...,
    device: Any = ...,
    requires_grad: builtins.bool = ...,
    pin_memory: builtins.bool = ...,
) -> Tensor: ...
@overload
def eye(
    num_rows: Any,
    *,
    m: Any,
    dtype: Any = ...,
    name: builtins.str | None = ...,
    out: Any = ...,
    device: Any = ...,
    requires_grad: builtins.bool = ...,
    pin_memory: builtins.bool = ...,
) -> Tensor: ...
@overload
def eye(
    *,
    n: Any,
    num_columns: Any = ...,
    dtype: Any = ...,
    name: builtins.str | None = ...,
    out: Any = ...,
    device: Any = ...,
    requires_grad: builtins.bool = ...,
    pin_memory: builtins.bool = ...,
) -> Tensor: ...
@overload
def eye(
    *,
    n: Any,
    m: Any,
    dtype: Any = ...,
    name: builtins.str | None = ...,
    out: Any = ...,
    device: Any = ...,
    requires_grad: builtins.bool = ...,
    pin_memory: builtins.bool = ...,
) -> Tensor: ...
@overload
def flatten(
    x: Tensor, start_axis: builtins.int = ..., stop_axis: builtins.int = ..., name: builtins.str | None = ...
) -> Tensor: ...
@overload
def flatten(
    x: Tensor, start_axis: builtins.int = ..., *, end_dim: builtins.int, name: builtins.str | None = ...
) -> Tensor: ...
@overload
def flatten(
    x: Tensor, *, start_dim: builtins.int, stop_axis: builtins.int = ..., name: builtins.str | None = ...
) -> Tensor: ...
@overload
def flatten(
    *, input: Tensor, start_axis: builtins.int = ..., stop_axis: builtins.int = ..., name: builtins.str | None = ...
) -> Tensor: ...
@overload
def flatten(
    x: Tensor, *, start_dim: builtins.int, end_dim: builtins.int, name: builtins.str | None = ...
) -> Tensor: ...
@overload
def flatten(
    *, input: Tensor, start_axis: builtins.int = ..., end_dim: builtins.int, name: builtins.str | None = ...
) -> Tensor: ...
@overload
def flatten(
    *, input: Tensor, start_dim: builtins.int, stop_axis: builtins.int = ..., name: builtins.str | None = ...
) -> Tensor: ...
@overload
def flatten(
    *, input: Tensor, start_dim: builtins.int, end_dim: builtins.int, name: builtins.str | None = ...
) -> Tensor: ...
@overload
def flatten_(
    x: Tensor, start_axis: builtins.int = ..., stop_axis: builtins.int = ..., name: builtins.str | None = ...
) -> Tensor: ...
@overload
def flatten_(
    x: Tensor, start_axis: builtins.int = ..., *, end_dim: builtins.int, name: builtins.str | None = ...
) -> Tensor: ...
@overload
def flatten_(
    x: Tensor, *, start_dim: builtins.int, stop_axis: builtins.int = ..., name: builtins.str | None = ...
) -> Tensor: ...
@overload
def flatten_(
    *, input: Tensor, start_axis: builtins.int = ..., stop_axis: builtins.int = ..., name: builtins.str | None = ...
) -> Tensor: ...
@overload
def flatten_(
    x: Tensor, *, start_dim: builtins.int, end_dim: builtins.int, name: builtins.str | None = ...
) -> Tensor: ...
@overload
def flatten_(
    *, input: Tensor, start_axis: builtins.int = ..., end_dim: builtins.int, name: builtins.str | None = ...
) -> Tensor: ...
@overload
def flatten_(
    *, input: Tensor, start_dim: builtins.int, stop_axis: builtins.int = ..., name: builtins.str | None = ...
) -> Tensor: ...
@overload
def flatten_(
    *, input: Tensor, start_dim: builtins.int, end_dim: builtins.int, name: builtins.str | None = ...
) -> Tensor: ...
@overload
def flip(x: Tensor, axis: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def flip(x: Tensor, *, dim: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def flip(x: Tensor, *, dims: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def flip(*, input: Tensor, axis: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def flip(*, input: Tensor, dim: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def flip(*, input: Tensor, dims: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def floor(x: Tensor, name: builtins.str | None = ..., *, out: Tensor | None = ...) -> Tensor: ...
@overload
def floor(*, input: Tensor, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def floor_(x: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def floor_(*, input: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def floor_divide(x: Tensor, y: Any, name: builtins.str | None = ..., *, out: Tensor | None = ...) -> Tensor: ...
@overload
def floor_divide(x: Tensor, *, other: Any, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def floor_divide(*, input: Tensor, y: Any, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def floor_divide(*, input: Tensor, other: Any, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def floor_divide_(x: Tensor, y: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def floor_divide_(x: Tensor, *, other: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def floor_divide_(*, input: Tensor, y: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def floor_divide_(*, input: Tensor, other: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def floor_mod(x: Tensor, y: Any, name: builtins.str | None = ..., *, out: Tensor | None = ...) -> Tensor: ...
@overload
def floor_mod(x: Tensor, *, other: Any, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def floor_mod(*, input: Tensor, y: Any, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def floor_mod(*, input: Tensor, other: Any, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def floor_mod_(x: Tensor, y: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def floor_mod_(x: Tensor, *, other: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def floor_mod_(*, input: Tensor, y: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def floor_mod_(*, input: Tensor, other: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def fmax(x: Tensor, y: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def fmax(x: Tensor, *, other: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def fmax(*, input: Tensor, y: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def fmax(*, input: Tensor, other: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def fmin(x: Tensor, y: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def fmin(x: Tensor, *, other: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def fmin(*, input: Tensor, y: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def fmin(*, input: Tensor, other: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def frac(x: Tensor, name: builtins.str | None = ..., *, out: Tensor | None = ...) -> Tensor: ...
@overload
def frac(*, input: Tensor, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def frac_(x: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def frac_(*, input: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def frexp(x: Tensor, name: builtins.str | None = ...) -> builtins.tuple[Tensor, Tensor]: ...
@overload
def frexp(*, input: Tensor, name: builtins.str | None = ...) -> builtins.tuple[Tensor, Tensor]: ...
@overload
def full(
    shape: Any,
    fill_value: Any,
    dtype: Any = ...,
    name: builtins.str | None = ...,
    *,
    out: Any = ...,
    device: Any = ...,
    requires_grad: builtins.bool = ...,
    pin_memory: builtins.bool = ...,
) -> Tensor: ...
@overload
def full(
    *,
    size: Any,
    fill_value: Any,
    dtype: Any = ...,
    name: builtins.str | None = ...,
    out: Any = ...,
    device: Any = ...,
    requires_grad: builtins.bool = ...,
    pin_memory: builtins.bool = ...,
) -> Tensor: ...
@overload
def full_like(
    x: Tensor,
    fill_value: Any,
    dtype: Any = ...,
    name: builtins.str | None = ...,
    *,
    device: Any = ...,
    requires_grad: builtins.bool = ...,
    pin_memory: builtins.bool = ...,
) -> Tensor: ...
@overload
def full_like(
    *,
    input: Tensor,
    fill_value: Any,
    dtype: Any = ...,
    name: builtins.str | None = ...,
    device: Any = ...,
    requires_grad: builtins.bool = ...,
    pin_memory: builtins.bool = ...,
) -> Tensor: ...
@overload
def gammainc(x: Tensor, y: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def gammainc(x: Tensor, *, other: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def gammainc(*, input: Tensor, y: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def gammainc(*, input: Tensor, other: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def gammainc_(x: Tensor, y: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def gammainc_(x: Tensor, *, other: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def gammainc_(*, input: Tensor, y: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def gammainc_(*, input: Tensor, other: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def gammaincc(x: Tensor, y: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def gammaincc(x: Tensor, *, other: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def gammaincc(*, input: Tensor, y: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def gammaincc(*, input: Tensor, other: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def gammaincc_(x: Tensor, y: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def gammaincc_(x: Tensor, *, other: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def gammaincc_(*, input: Tensor, y: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def gammaincc_(*, input: Tensor, other: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def gammaln(x: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def gammaln(*, input: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def gammaln_(x: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def gammaln_(*, input: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def gather(x: Tensor, index: Tensor, axis: Any = ..., name: builtins.str | None = ..., out: Any = ...) -> Tensor: ...
@overload
def gather(
    *, input: Tensor, index: Tensor, axis: Any = ..., name: builtins.str | None = ..., out: Any = ...
) -> Tensor: ...
@overload
def gather(x: Tensor, dim: builtins.int, index: Tensor, *, out: Any = ...) -> Tensor: ...
@overload
def gather_nd(x: Tensor, index: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def gather_nd(*, input: Tensor, index: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def gcd(x: Tensor, y: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def gcd(x: Tensor, *, other: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def gcd(*, input: Tensor, y: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def gcd(*, input: Tensor, other: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def gcd_(x: Tensor, y: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def gcd_(x: Tensor, *, other: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def gcd_(*, input: Tensor, y: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def gcd_(*, input: Tensor, other: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def ge(x: Tensor, y: Any, name: builtins.str | None = ..., *, out: Tensor | None = ...) -> Tensor: ...
@overload
def ge(x: Tensor, *, other: Any, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def ge(*, input: Tensor, y: Any, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def ge(*, input: Tensor, other: Any, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def ger(x: Tensor, y: Tensor, name: builtins.str | None = ..., *, out: Any = ...) -> Tensor: ...
@overload
def ger(x: Tensor, *, other: Tensor, name: builtins.str | None = ..., out: Any = ...) -> Tensor: ...
@overload
def ger(x: Tensor, *, vec2: Tensor, name: builtins.str | None = ..., out: Any = ...) -> Tensor: ...
@overload
def ger(*, input: Tensor, y: Tensor, name: builtins.str | None = ..., out: Any = ...) -> Tensor: ...
@overload
def ger(*, input: Tensor, other: Tensor, name: builtins.str | None = ..., out: Any = ...) -> Tensor: ...
@overload
def ger(*, input: Tensor, vec2: Tensor, name: builtins.str | None = ..., out: Any = ...) -> Tensor: ...
@overload
def greater(x: Tensor, y: Any, name: builtins.str | None = ..., *, out: Tensor | None = ...) -> Tensor: ...
@overload
def greater(x: Tensor, *, other: Any, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def greater(*, input: Tensor, y: Any, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def greater(*, input: Tensor, other: Any, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def greater_equal(x: Tensor, y: Any, name: builtins.str | None = ..., *, out: Tensor | None = ...) -> Tensor: ...
@overload
def greater_equal(x: Tensor, *, other: Any, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def greater_equal(*, input: Tensor, y: Any, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def greater_equal(
    *, input: Tensor, other: Any, name: builtins.str | None = ..., out: Tensor | None = ...
) -> Tensor: ...
@overload
def greater_equal_(x: Tensor, y: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def greater_equal_(x: Tensor, *, other: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def greater_equal_(*, input: Tensor, y: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def greater_equal_(*, input: Tensor, other: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def greater_than(x: Tensor, y: Any, name: builtins.str | None = ..., *, out: Tensor | None = ...) -> Tensor: ...
@overload
def greater_than(x: Tensor, *, other: Any, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def greater_than(*, input: Tensor, y: Any, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def greater_than(*, input: Tensor, other: Any, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def greater_than_(x: Tensor, y: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def greater_than_(x: Tensor, *, other: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def greater_than_(*, input: Tensor, y: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def greater_than_(*, input: Tensor, other: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def gt(x: Tensor, y: Any, name: builtins.str | None = ..., *, out: Tensor | None = ...) -> Tensor: ...
@overload
def gt(x: Tensor, *, other: Any, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def gt(*, input: Tensor, y: Any, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def gt(*, input: Tensor, other: Any, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def heaviside(x: Tensor, y: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def heaviside(x: Tensor, *, other: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def heaviside(*, input: Tensor, y: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def heaviside(*, input: Tensor, other: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def histogram(
    input: Tensor,
    bins: builtins.int = ...,
    min: Any = ...,
    max: Any = ...,
    weight: Tensor | None = ...,
    density: builtins.bool = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def histogram(
    *,
    x: Tensor,
    bins: builtins.int = ...,
    min: Any = ...,
    max: Any = ...,
    weight: Tensor | None = ...,
    density: builtins.bool = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def histogram_bin_edges(
    input: Tensor, bins: builtins.int = ..., min: Any = ..., max: Any = ..., name: builtins.str | None = ...
) -> Tensor: ...
@overload
def histogram_bin_edges(
    *, x: Tensor, bins: builtins.int = ..., min: Any = ..., max: Any = ..., name: builtins.str | None = ...
) -> Tensor: ...
@overload
def histogramdd(
    x: Tensor,
    bins: Any = ...,
    ranges: Any = ...,
    density: builtins.bool = ...,
    weights: Tensor | None = ...,
    name: builtins.str | None = ...,
) -> builtins.tuple[Tensor, builtins.list[Tensor]]: ...
@overload
def histogramdd(
    *,
    input: Tensor,
    bins: Any = ...,
    ranges: Any = ...,
    density: builtins.bool = ...,
    weights: Tensor | None = ...,
    name: builtins.str | None = ...,
) -> builtins.tuple[Tensor, builtins.list[Tensor]]: ...
@overload
def householder_product(x: Tensor, tau: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def householder_product(*, input: Tensor, tau: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def hsplit(x: Tensor, num_or_indices: Any, name: builtins.str | None = ...) -> builtins.list[Tensor]: ...
@overload
def hsplit(*, input: Tensor, num_or_indices: Any, name: builtins.str | None = ...) -> builtins.list[Tensor]: ...
@overload
def hypot(x: Tensor, y: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def hypot(x: Tensor, *, other: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def hypot(*, input: Tensor, y: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def hypot(*, input: Tensor, other: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def hypot_(x: Tensor, y: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def hypot_(x: Tensor, *, other: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def hypot_(*, input: Tensor, y: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def hypot_(*, input: Tensor, other: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def i0(x: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def i0(*, input: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def i0_(x: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def i0_(*, input: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def i0e(x: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def i0e(*, input: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def i1(x: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def i1(*, input: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def i1e(x: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def i1e(*, input: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def imag(x: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def imag(*, input: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def index_add(
    x: Tensor,
    index: Tensor,
    axis: Any,
    value: Tensor,
    alpha: Any = ...,
    name: builtins.str | None = ...,
    *,
    out: Any = ...,
) -> Tensor: ...
@overload
def index_add(
    x: Tensor,
    index: Tensor,
    *,
    dim: Any,
    value: Tensor,
    alpha: Any = ...,
    name: builtins.str | None = ...,
    out: Any = ...,
) -> Tensor: ...
@overload
def index_add(
    *,
    input: Tensor,
    index: Tensor,
    axis: Any,
    value: Tensor,
    alpha: Any = ...,
    name: builtins.str | None = ...,
    out: Any = ...,
) -> Tensor: ...
@overload
def index_add(
    *,
    input: Tensor,
    index: Tensor,
    dim: Any,
    value: Tensor,
    alpha: Any = ...,
    name: builtins.str | None = ...,
    out: Any = ...,
) -> Tensor: ...
@overload
def index_add(
    x: Tensor,
    axis: builtins.int,
    index: Tensor,
    value: Any = ...,
    name: builtins.str | None = ...,
    *,
    source: Any = ...,
    alpha: Any = ...,
    out: Any = ...,
) -> Tensor: ...
@overload
def index_add_(
    x: Tensor, index: Tensor, axis: Any, value: Tensor, alpha: Any = ..., name: builtins.str | None = ...
) -> Tensor: ...
@overload
def index_add_(
    x: Tensor, index: Tensor, *, dim: Any, value: Tensor, alpha: Any = ..., name: builtins.str | None = ...
) -> Tensor: ...
@overload
def index_add_(
    *, input: Tensor, index: Tensor, axis: Any, value: Tensor, alpha: Any = ..., name: builtins.str | None = ...
) -> Tensor: ...
@overload
def index_add_(
    *, input: Tensor, index: Tensor, dim: Any, value: Tensor, alpha: Any = ..., name: builtins.str | None = ...
) -> Tensor: ...
@overload
def index_fill(x: Tensor, index: Tensor, axis: Any, value: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def index_fill(x: Tensor, index: Tensor, *, dim: Any, value: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def index_fill(*, input: Tensor, index: Tensor, axis: Any, value: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def index_fill(*, input: Tensor, index: Tensor, dim: Any, value: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def index_fill_(x: Tensor, index: Tensor, axis: Any, value: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def index_fill_(x: Tensor, index: Tensor, *, dim: Any, value: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def index_fill_(*, input: Tensor, index: Tensor, axis: Any, value: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def index_fill_(*, input: Tensor, index: Tensor, dim: Any, value: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def index_put(
    x: Tensor, indices: Sequence[Tensor], value: Any, accumulate: builtins.bool = ..., name: builtins.str | None = ...
) -> Tensor: ...
@overload
def index_put(
    x: Tensor,
    indices: Sequence[Tensor],
    *,
    values: Any,
    accumulate: builtins.bool = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def index_put(
    *,
    input: Tensor,
    indices: Sequence[Tensor],
    value: Any,
    accumulate: builtins.bool = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def index_put(
    *,
    input: Tensor,
    indices: Sequence[Tensor],
    values: Any,
    accumulate: builtins.bool = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def index_put_(
    x: Tensor, indices: Sequence[Tensor], value: Any, accumulate: builtins.bool = ..., name: builtins.str | None = ...
) -> Tensor: ...
@overload
def index_put_(
    x: Tensor,
    indices: Sequence[Tensor],
    *,
    values: Any,
    accumulate: builtins.bool = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def index_put_(
    *,
    input: Tensor,
    indices: Sequence[Tensor],
    value: Any,
    accumulate: builtins.bool = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def index_put_(
    *,
    input: Tensor,
    indices: Sequence[Tensor],
    values: Any,
    accumulate: builtins.bool = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def index_sample(x: Tensor, index: Tensor) -> Tensor: ...
@overload
def index_sample(*, input: Tensor, index: Tensor) -> Tensor: ...
@overload
def index_select(
    x: Tensor, index: Tensor, axis: Any = ..., name: builtins.str | None = ..., *, out: Any = ...
) -> Tensor: ...
@overload
def index_select(x: Tensor, index: Tensor, *, dim: Any, name: builtins.str | None = ..., out: Any = ...) -> Tensor: ...
@overload
def index_select(
    *, input: Tensor, index: Tensor, axis: Any = ..., name: builtins.str | None = ..., out: Any = ...
) -> Tensor: ...
@overload
def index_select(
    *, input: Tensor, index: Tensor, dim: Any, name: builtins.str | None = ..., out: Any = ...
) -> Tensor: ...
@overload
def index_select(x: Tensor, axis: builtins.int, index: Tensor, *, out: Any = ...) -> Tensor: ...
@overload
def inner(x: Tensor, y: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def inner(x: Tensor, *, other: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def inner(*, input: Tensor, y: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def inner(*, input: Tensor, other: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def inverse(x: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def inverse(*, input: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def is_complex(x: Tensor) -> builtins.bool: ...
@overload
def is_complex(*, input: Tensor) -> builtins.bool: ...
@overload
def is_empty(x: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def is_empty(*, input: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def is_floating_point(x: Tensor) -> builtins.bool: ...
@overload
def is_floating_point(*, input: Tensor) -> builtins.bool: ...
@overload
def is_integer(x: Tensor) -> builtins.bool: ...
@overload
def is_integer(*, input: Tensor) -> builtins.bool: ...
@overload
def is_tensor(x: Any) -> builtins.bool: ...
@overload
def is_tensor(*, obj: Any) -> builtins.bool: ...
@overload
def isclose(
    x: Tensor,
    y: Tensor,
    rtol: builtins.float = ...,
    atol: builtins.float = ...,
    equal_nan: builtins.bool = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def isclose(
    x: Tensor,
    *,
    other: Tensor,
    rtol: builtins.float = ...,
    atol: builtins.float = ...,
    equal_nan: builtins.bool = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def isclose(
    *,
    input: Tensor,
    y: Tensor,
    rtol: builtins.float = ...,
    atol: builtins.float = ...,
    equal_nan: builtins.bool = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def isclose(
    *,
    input: Tensor,
    other: Tensor,
    rtol: builtins.float = ...,
    atol: builtins.float = ...,
    equal_nan: builtins.bool = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def isfinite(x: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def isfinite(*, input: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def isin(
    x: Any,
    test_x: Any,
    assume_unique: builtins.bool = ...,
    invert: builtins.bool = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def isin(
    x: Any,
    *,
    test_elements: Any,
    assume_unique: builtins.bool = ...,
    invert: builtins.bool = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def isin(
    *,
    input: Any,
    test_x: Any,
    assume_unique: builtins.bool = ...,
    invert: builtins.bool = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def isin(
    *,
    elements: Any,
    test_x: Any,
    assume_unique: builtins.bool = ...,
    invert: builtins.bool = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def isin(
    *,
    input: Any,
    test_elements: Any,
    assume_unique: builtins.bool = ...,
    invert: builtins.bool = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def isin(
    *,
    elements: Any,
    test_elements: Any,
    assume_unique: builtins.bool = ...,
    invert: builtins.bool = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def isinf(x: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def isinf(*, input: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def isnan(x: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def isnan(*, input: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def isneginf(x: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def isneginf(*, input: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def isposinf(x: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def isposinf(*, input: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def isreal(x: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def isreal(*, input: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def kron(x: Tensor, y: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def kron(x: Tensor, *, other: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def kron(*, input: Tensor, y: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def kron(*, input: Tensor, other: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def kthvalue(
    x: Tensor, k: builtins.int, axis: Any = ..., keepdim: builtins.bool = ..., name: builtins.str | None = ...
) -> builtins.tuple[Tensor, Tensor]: ...
@overload
def kthvalue(
    x: Tensor, k: builtins.int, *, dim: Any, keepdim: builtins.bool = ..., name: builtins.str | None = ...
) -> builtins.tuple[Tensor, Tensor]: ...
@overload
def kthvalue(
    *, input: Tensor, k: builtins.int, axis: Any = ..., keepdim: builtins.bool = ..., name: builtins.str | None = ...
) -> builtins.tuple[Tensor, Tensor]: ...
@overload
def kthvalue(
    *, input: Tensor, k: builtins.int, dim: Any, keepdim: builtins.bool = ..., name: builtins.str | None = ...
) -> builtins.tuple[Tensor, Tensor]: ...
@overload
def lcm(x: Tensor, y: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def lcm(x: Tensor, *, other: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def lcm(*, input: Tensor, y: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def lcm(*, input: Tensor, other: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def lcm_(x: Tensor, y: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def lcm_(x: Tensor, *, other: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def lcm_(*, input: Tensor, y: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def lcm_(*, input: Tensor, other: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def ldexp(x: Tensor, y: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def ldexp(x: Tensor, *, other: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def ldexp(*, input: Tensor, y: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def ldexp(*, input: Tensor, other: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def ldexp_(x: Tensor, y: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def ldexp_(x: Tensor, *, other: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def ldexp_(*, input: Tensor, y: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def ldexp_(*, input: Tensor, other: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def le(x: Tensor, y: Any, name: builtins.str | None = ..., *, out: Tensor | None = ...) -> Tensor: ...
@overload
def le(x: Tensor, *, other: Any, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def le(*, input: Tensor, y: Any, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def le(*, input: Tensor, other: Any, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def lerp(x: Tensor, y: Tensor, weight: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def lerp(x: Tensor, *, other: Tensor, weight: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def lerp(*, input: Tensor, y: Tensor, weight: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def lerp(*, input: Tensor, other: Tensor, weight: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def lerp_(x: Tensor, y: Tensor, weight: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def lerp_(x: Tensor, *, other: Tensor, weight: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def lerp_(*, input: Tensor, y: Tensor, weight: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def lerp_(*, input: Tensor, other: Tensor, weight: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def less(x: Tensor, y: Any, name: builtins.str | None = ..., *, out: Tensor | None = ...) -> Tensor: ...
@overload
def less(x: Tensor, *, other: Any, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def less(*, input: Tensor, y: Any, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def less(*, input: Tensor, other: Any, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def less_(x: Tensor, y: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def less_(x: Tensor, *, other: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def less_(*, input: Tensor, y: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def less_(*, input: Tensor, other: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def less_equal(x: Tensor, y: Any, name: builtins.str | None = ..., *, out: Tensor | None = ...) -> Tensor: ...
@overload
def less_equal(x: Tensor, *, other: Any, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def less_equal(*, input: Tensor, y: Any, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def less_equal(*, input: Tensor, other: Any, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def less_equal_(x: Tensor, y: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def less_equal_(x: Tensor, *, other: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def less_equal_(*, input: Tensor, y: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def less_equal_(*, input: Tensor, other: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def less_than(x: Tensor, y: Any, name: builtins.str | None = ..., *, out: Tensor | None = ...) -> Tensor: ...
@overload
def less_than(x: Tensor, *, other: Any, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def less_than(*, input: Tensor, y: Any, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def less_than(*, input: Tensor, other: Any, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def less_than_(x: Tensor, y: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def less_than_(x: Tensor, *, other: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def less_than_(*, input: Tensor, y: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def less_than_(*, input: Tensor, other: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def lgamma(x: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def lgamma(*, input: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def lgamma_(x: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def lgamma_(*, input: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def linspace(
    start: Any,
    stop: Any,
    num: Any,
    dtype: Any = ...,
    name: builtins.str | None = ...,
    *,
    out: Any = ...,
    device: Any = ...,
    requires_grad: builtins.bool = ...,
) -> Tensor: ...
@overload
def linspace(
    start: Any,
    stop: Any,
    *,
    steps: Any,
    dtype: Any = ...,
    name: builtins.str | None = ...,
    out: Any = ...,
    device: Any = ...,
    requires_grad: builtins.bool = ...,
) -> Tensor: ...
@overload
def linspace(
    start: Any,
    *,
    end: Any,
    num: Any,
    dtype: Any = ...,
    name: builtins.str | None = ...,
    out: Any = ...,
    device: Any = ...,
    requires_grad: builtins.bool = ...,
) -> Tensor: ...
@overload
def linspace(
    start: Any,
    *,
    end: Any,
    steps: Any,
    dtype: Any = ...,
    name: builtins.str | None = ...,
    out: Any = ...,
    device: Any = ...,
    requires_grad: builtins.bool = ...,
) -> Tensor: ...
@overload
def log(x: Tensor, name: builtins.str | None = ..., *, out: Tensor | None = ...) -> Tensor: ...
@overload
def log(*, input: Tensor, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def log10(x: Tensor, name: builtins.str | None = ..., *, out: Tensor | None = ...) -> Tensor: ...
@overload
def log10(*, input: Tensor, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def log10_(x: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def log10_(*, input: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def log1p(x: Tensor, name: builtins.str | None = ..., *, out: Tensor | None = ...) -> Tensor: ...
@overload
def log1p(*, input: Tensor, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def log1p_(x: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def log1p_(*, input: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def log2(x: Tensor, name: builtins.str | None = ..., *, out: Tensor | None = ...) -> Tensor: ...
@overload
def log2(*, input: Tensor, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def log2_(x: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def log2_(*, input: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def log_(x: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def log_(*, input: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def logaddexp(x: Tensor, y: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def logaddexp(x: Tensor, *, other: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def logaddexp(*, input: Tensor, y: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def logaddexp(*, input: Tensor, other: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def logcumsumexp(x: Tensor, axis: Any = ..., dtype: Any = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def logcumsumexp(x: Tensor, *, dim: Any, dtype: Any = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def logcumsumexp(*, input: Tensor, axis: Any = ..., dtype: Any = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def logcumsumexp(*, input: Tensor, dim: Any, dtype: Any = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def logical_and(x: Tensor, y: Any, name: builtins.str | None = ..., *, out: Tensor | None = ...) -> Tensor: ...
@overload
def logical_and(x: Tensor, *, other: Any, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def logical_and(*, input: Tensor, y: Any, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def logical_and(*, input: Tensor, other: Any, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def logical_and_(x: Tensor, y: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def logical_and_(x: Tensor, *, other: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def logical_and_(*, input: Tensor, y: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def logical_and_(*, input: Tensor, other: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def logical_not(x: Tensor, name: builtins.str | None = ..., *, out: Tensor | None = ...) -> Tensor: ...
@overload
def logical_not(*, input: Tensor, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def logical_not_(x: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def logical_not_(*, input: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def logical_or(x: Tensor, y: Any, name: builtins.str | None = ..., *, out: Tensor | None = ...) -> Tensor: ...
@overload
def logical_or(x: Tensor, *, other: Any, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def logical_or(*, input: Tensor, y: Any, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def logical_or(*, input: Tensor, other: Any, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def logical_or_(x: Tensor, y: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def logical_or_(x: Tensor, *, other: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def logical_or_(*, input: Tensor, y: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def logical_or_(*, input: Tensor, other: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def logical_xor(x: Tensor, y: Any, name: builtins.str | None = ..., *, out: Tensor | None = ...) -> Tensor: ...
@overload
def logical_xor(x: Tensor, *, other: Any, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def logical_xor(*, input: Tensor, y: Any, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def logical_xor(*, input: Tensor, other: Any, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def logical_xor_(x: Tensor, y: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def logical_xor_(x: Tensor, *, other: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def logical_xor_(*, input: Tensor, y: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def logical_xor_(*, input: Tensor, other: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def logit(x: Tensor, eps: builtins.float | None = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def logit(*, input: Tensor, eps: builtins.float | None = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def logit_(x: Tensor, eps: builtins.float | None = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def logit_(*, input: Tensor, eps: builtins.float | None = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def logsumexp(
    x: Tensor,
    axis: Any = ...,
    keepdim: builtins.bool = ...,
    name: builtins.str | None = ...,
    *,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def logsumexp(
    x: Tensor, *, dim: Any, keepdim: builtins.bool = ..., name: builtins.str | None = ..., out: Tensor | None = ...
) -> Tensor: ...
@overload
def logsumexp(
    *,
    input: Tensor,
    axis: Any = ...,
    keepdim: builtins.bool = ...,
    name: builtins.str | None = ...,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def logsumexp(
    *, input: Tensor, dim: Any, keepdim: builtins.bool = ..., name: builtins.str | None = ..., out: Tensor | None = ...
) -> Tensor: ...
@overload
def lstsq(
    x: Tensor,
    y: Tensor,
    rcond: builtins.float | None = ...,
    driver: builtins.str | None = ...,
    name: builtins.str | None = ...,
) -> builtins.tuple[Tensor, ...]: ...
@overload
def lstsq(
    x: Tensor,
    *,
    other: Tensor,
    rcond: builtins.float | None = ...,
    driver: builtins.str | None = ...,
    name: builtins.str | None = ...,
) -> builtins.tuple[Tensor, ...]: ...
@overload
def lstsq(
    *,
    input: Tensor,
    y: Tensor,
    rcond: builtins.float | None = ...,
    driver: builtins.str | None = ...,
    name: builtins.str | None = ...,
) -> builtins.tuple[Tensor, ...]: ...
@overload
def lstsq(
    *,
    input: Tensor,
    other: Tensor,
    rcond: builtins.float | None = ...,
    driver: builtins.str | None = ...,
    name: builtins.str | None = ...,
) -> builtins.tuple[Tensor, ...]: ...
@overload
def lt(x: Tensor, y: Any, name: builtins.str | None = ..., *, out: Tensor | None = ...) -> Tensor: ...
@overload
def lt(x: Tensor, *, other: Any, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def lt(*, input: Tensor, y: Any, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def lt(*, input: Tensor, other: Any, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def lu(
    x: Tensor, pivot: builtins.bool = ..., get_infos: builtins.bool = ..., name: builtins.str | None = ...
) -> Any: ...
@overload
def lu(
    *, input: Tensor, pivot: builtins.bool = ..., get_infos: builtins.bool = ..., name: builtins.str | None = ...
) -> Any: ...
@overload
def lu_unpack(
    x: Tensor,
    y: Tensor,
    unpack_ludata: builtins.bool = ...,
    unpack_pivots: builtins.bool = ...,
    name: builtins.str | None = ...,
) -> builtins.tuple: ...
@overload
def lu_unpack(
    x: Tensor,
    *,
    other: Tensor,
    unpack_ludata: builtins.bool = ...,
    unpack_pivots: builtins.bool = ...,
    name: builtins.str | None = ...,
) -> builtins.tuple: ...
@overload
def lu_unpack(
    *,
    input: Tensor,
    y: Tensor,
    unpack_ludata: builtins.bool = ...,
    unpack_pivots: builtins.bool = ...,
    name: builtins.str | None = ...,
) -> builtins.tuple: ...
@overload
def lu_unpack(
    *,
    input: Tensor,
    other: Tensor,
    unpack_ludata: builtins.bool = ...,
    unpack_pivots: builtins.bool = ...,
    name: builtins.str | None = ...,
) -> builtins.tuple: ...
@overload
def masked_fill(x: Tensor, mask: Tensor, value: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def masked_fill(*, input: Tensor, mask: Tensor, value: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def masked_fill_(x: Tensor, mask: Tensor, value: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def masked_fill_(*, input: Tensor, mask: Tensor, value: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def masked_scatter(x: Tensor, mask: Tensor, value: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def masked_scatter(*, input: Tensor, mask: Tensor, value: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def masked_scatter_(x: Tensor, mask: Tensor, value: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def masked_scatter_(*, input: Tensor, mask: Tensor, value: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def masked_select(x: Tensor, mask: Tensor, name: builtins.str | None = ..., *, out: Any = ...) -> Tensor: ...
@overload
def masked_select(*, input: Tensor, mask: Tensor, name: builtins.str | None = ..., out: Any = ...) -> Tensor: ...
@overload
def matmul(
    x: Tensor,
    y: Tensor,
    transpose_x: builtins.bool = ...,
    transpose_y: builtins.bool = ...,
    name: builtins.str | None = ...,
    *,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def matmul(
    x: Tensor,
    *,
    other: Tensor,
    transpose_x: builtins.bool = ...,
    transpose_y: builtins.bool = ...,
    name: builtins.str | None = ...,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def matmul(
    x: Tensor,
    *,
    mat2: Tensor,
    transpose_x: builtins.bool = ...,
    transpose_y: builtins.bool = ...,
    name: builtins.str | None = ...,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def matmul(
    *,
    input: Tensor,
    y: Tensor,
    transpose_x: builtins.bool = ...,
    transpose_y: builtins.bool = ...,
    name: builtins.str | None = ...,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def matmul(
    *,
    input: Tensor,
    other: Tensor,
    transpose_x: builtins.bool = ...,
    transpose_y: builtins.bool = ...,
    name: builtins.str | None = ...,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def matmul(
    *,
    input: Tensor,
    mat2: Tensor,
    transpose_x: builtins.bool = ...,
    transpose_y: builtins.bool = ...,
    name: builtins.str | None = ...,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def matrix_power(x: Tensor, n: builtins.int, name: builtins.str | None = ...) -> Tensor: ...
@overload
def matrix_power(*, input: Tensor, n: builtins.int, name: builtins.str | None = ...) -> Tensor: ...
@overload
def matrix_transpose(x: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def matrix_transpose(*, input: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def maximum(x: Tensor, y: Any, name: builtins.str | None = ..., *, out: Tensor | None = ...) -> Tensor: ...
@overload
def maximum(x: Tensor, *, other: Any, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def maximum(*, input: Tensor, y: Any, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def maximum(*, input: Tensor, other: Any, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def mean(
    x: Tensor,
    axis: Any = ...,
    keepdim: builtins.bool = ...,
    name: builtins.str | None = ...,
    *,
    dtype: Any = ...,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def mean(
    x: Tensor,
    *,
    dim: Any,
    keepdim: builtins.bool = ...,
    name: builtins.str | None = ...,
    dtype: Any = ...,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def mean(
    *,
    input: Tensor,
    axis: Any = ...,
    keepdim: builtins.bool = ...,
    name: builtins.str | None = ...,
    dtype: Any = ...,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def mean(
    *,
    input: Tensor,
    dim: Any,
    keepdim: builtins.bool = ...,
    name: builtins.str | None = ...,
    dtype: Any = ...,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def median(
    x: Tensor,
    axis: Any = ...,
    keepdim: builtins.bool = ...,
    mode: builtins.str = ...,
    name: builtins.str | None = ...,
    *,
    out: Any = ...,
) -> Any: ...
@overload
def median(
    x: Tensor,
    *,
    dim: Any,
    keepdim: builtins.bool = ...,
    mode: builtins.str = ...,
    name: builtins.str | None = ...,
    out: Any = ...,
) -> Any: ...
@overload
def median(
    *,
    input: Tensor,
    axis: Any = ...,
    keepdim: builtins.bool = ...,
    mode: builtins.str = ...,
    name: builtins.str | None = ...,
    out: Any = ...,
) -> Any: ...
@overload
def median(
    *,
    input: Tensor,
    dim: Any,
    keepdim: builtins.bool = ...,
    mode: builtins.str = ...,
    name: builtins.str | None = ...,
    out: Any = ...,
) -> Any: ...
@overload
def minimum(x: Tensor, y: Any, name: builtins.str | None = ..., *, out: Tensor | None = ...) -> Tensor: ...
@overload
def minimum(x: Tensor, *, other: Any, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def minimum(*, input: Tensor, y: Any, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def minimum(*, input: Tensor, other: Any, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def mm(input: Tensor, mat2: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def mm(input: Tensor, *, other: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def mm(input: Tensor, *, y: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def mm(*, x: Tensor, mat2: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def mm(*, x: Tensor, other: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def mm(*, x: Tensor, y: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def mod(x: Tensor, y: Any, name: builtins.str | None = ..., *, out: Tensor | None = ...) -> Tensor: ...
@overload
def mod(x: Tensor, *, other: Any, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def mod(*, input: Tensor, y: Any, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def mod(*, input: Tensor, other: Any, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def mod_(x: Tensor, y: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def mod_(x: Tensor, *, other: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def mod_(*, input: Tensor, y: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def mod_(*, input: Tensor, other: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def mode(
    x: Tensor, axis: builtins.int = ..., keepdim: builtins.bool = ..., name: builtins.str | None = ...
) -> builtins.tuple[Tensor, Tensor]: ...
@overload
def mode(
    x: Tensor, *, dim: builtins.int, keepdim: builtins.bool = ..., name: builtins.str | None = ...
) -> builtins.tuple[Tensor, Tensor]: ...
@overload
def mode(
    *, input: Tensor, axis: builtins.int = ..., keepdim: builtins.bool = ..., name: builtins.str | None = ...
) -> builtins.tuple[Tensor, Tensor]: ...
@overload
def mode(
    *, input: Tensor, dim: builtins.int, keepdim: builtins.bool = ..., name: builtins.str | None = ...
) -> builtins.tuple[Tensor, Tensor]: ...
@overload
def moveaxis(x: Tensor, source: Any, destination: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def moveaxis(*, input: Tensor, source: Any, destination: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def msort(input: Tensor, *, out: Any = ...) -> Tensor: ...
@overload
def msort(*, x: Tensor, out: Any = ...) -> Tensor: ...
@overload
def mul(x: Tensor, y: Any, name: builtins.str | None = ..., *, out: Tensor | None = ...) -> Tensor: ...
@overload
def mul(x: Tensor, *, other: Any, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def mul(*, input: Tensor, y: Any, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def mul(*, input: Tensor, other: Any, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def mul_(x: Tensor, y: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def mul_(x: Tensor, *, other: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def mul_(*, input: Tensor, y: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def mul_(*, input: Tensor, other: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def multi_dot(x: Sequence[Tensor], name: builtins.str | None = ...) -> Tensor: ...
@overload
def multi_dot(*, tensors: Sequence[Tensor], name: builtins.str | None = ...) -> Tensor: ...
@overload
def multigammaln(x: Tensor, p: builtins.int, name: builtins.str | None = ...) -> Tensor: ...
@overload
def multigammaln(*, input: Tensor, p: builtins.int, name: builtins.str | None = ...) -> Tensor: ...
@overload
def multigammaln_(x: Tensor, p: builtins.int, name: builtins.str | None = ...) -> Tensor: ...
@overload
def multigammaln_(*, input: Tensor, p: builtins.int, name: builtins.str | None = ...) -> Tensor: ...
@overload
def multinomial(
    x: Tensor,
    num_samples: Any = ...,
    replacement: builtins.bool = ...,
    name: builtins.str | None = ...,
    *,
    out: Any = ...,
) -> Tensor: ...
@overload
def multinomial(
    *,
    input: Tensor,
    num_samples: Any = ...,
    replacement: builtins.bool = ...,
    name: builtins.str | None = ...,
    out: Any = ...,
) -> Tensor: ...
@overload
def multiply(x: Tensor, y: Any, name: builtins.str | None = ..., *, out: Tensor | None = ...) -> Tensor: ...
@overload
def multiply(x: Tensor, *, other: Any, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def multiply(*, input: Tensor, y: Any, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def multiply(*, input: Tensor, other: Any, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def multiply_(x: Tensor, y: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def multiply_(x: Tensor, *, other: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def multiply_(*, input: Tensor, y: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def multiply_(*, input: Tensor, other: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def mv(x: Tensor, vec: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def mv(*, input: Tensor, vec: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def nan_to_num(
    x: Tensor,
    nan: builtins.float = ...,
    posinf: builtins.float | None = ...,
    neginf: builtins.float | None = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def nan_to_num(
    *,
    input: Tensor,
    nan: builtins.float = ...,
    posinf: builtins.float | None = ...,
    neginf: builtins.float | None = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def nan_to_num_(
    x: Tensor,
    nan: builtins.float = ...,
    posinf: builtins.float | None = ...,
    neginf: builtins.float | None = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def nan_to_num_(
    *,
    input: Tensor,
    nan: builtins.float = ...,
    posinf: builtins.float | None = ...,
    neginf: builtins.float | None = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def nanmean(x: Tensor, axis: Any = ..., keepdim: builtins.bool = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def nanmean(x: Tensor, *, dim: Any, keepdim: builtins.bool = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def nanmean(
    *, input: Tensor, axis: Any = ..., keepdim: builtins.bool = ..., name: builtins.str | None = ...
) -> Tensor: ...
@overload
def nanmean(*, input: Tensor, dim: Any, keepdim: builtins.bool = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def nanmedian(
    x: Tensor, axis: Any = ..., keepdim: builtins.bool = ..., mode: builtins.str = ..., name: builtins.str | None = ...
) -> Any: ...
@overload
def nanmedian(
    x: Tensor, *, dim: Any, keepdim: builtins.bool = ..., mode: builtins.str = ..., name: builtins.str | None = ...
) -> Any: ...
@overload
def nanmedian(
    *,
    input: Tensor,
    axis: Any = ...,
    keepdim: builtins.bool = ...,
    mode: builtins.str = ...,
    name: builtins.str | None = ...,
) -> Any: ...
@overload
def nanmedian(
    *, input: Tensor, dim: Any, keepdim: builtins.bool = ..., mode: builtins.str = ..., name: builtins.str | None = ...
) -> Any: ...
@overload
def nanquantile(
    x: Tensor, q: Any, axis: Any = ..., keepdim: builtins.bool = ..., interpolation: builtins.str = ...
) -> Tensor: ...
@overload
def nanquantile(
    x: Tensor, q: Any, *, dim: Any, keepdim: builtins.bool = ..., interpolation: builtins.str = ...
) -> Tensor: ...
@overload
def nanquantile(
    *, input: Tensor, q: Any, axis: Any = ..., keepdim: builtins.bool = ..., interpolation: builtins.str = ...
) -> Tensor: ...
@overload
def nanquantile(
    *, input: Tensor, q: Any, dim: Any, keepdim: builtins.bool = ..., interpolation: builtins.str = ...
) -> Tensor: ...
@overload
def nansum(
    x: Tensor, axis: Any = ..., dtype: Any = ..., keepdim: builtins.bool = ..., name: builtins.str | None = ...
) -> Tensor: ...
@overload
def nansum(
    x: Tensor, *, dim: Any, dtype: Any = ..., keepdim: builtins.bool = ..., name: builtins.str | None = ...
) -> Tensor: ...
@overload
def nansum(
    *, input: Tensor, axis: Any = ..., dtype: Any = ..., keepdim: builtins.bool = ..., name: builtins.str | None = ...
) -> Tensor: ...
@overload
def nansum(
    *, input: Tensor, dim: Any, dtype: Any = ..., keepdim: builtins.bool = ..., name: builtins.str | None = ...
) -> Tensor: ...
@overload
def narrow(input: Tensor, dim: builtins.int, start: Any, length: builtins.int) -> Tensor: ...
@overload
def narrow(*, x: Tensor, dim: builtins.int, start: Any, length: builtins.int) -> Tensor: ...
@overload
def ne(x: Tensor, y: Any, name: builtins.str | None = ..., *, out: Tensor | None = ...) -> Tensor: ...
@overload
def ne(x: Tensor, *, other: Any, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def ne(*, input: Tensor, y: Any, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def ne(*, input: Tensor, other: Any, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def neg(x: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def neg(*, input: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def neg_(x: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def neg_(*, input: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def negative(x: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def negative(*, input: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def nextafter(x: Tensor, y: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def nextafter(x: Tensor, *, other: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def nextafter(*, input: Tensor, y: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def nextafter(*, input: Tensor, other: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def nonzero(x: Tensor, as_tuple: builtins.bool = ..., *, out: Any = ...) -> Any: ...
@overload
def nonzero(*, input: Tensor, as_tuple: builtins.bool = ..., out: Any = ...) -> Any: ...
@overload
def norm(
    x: Tensor,
    p: Any = ...,
    axis: Any = ...,
    keepdim: builtins.bool = ...,
    out: Any = ...,
    dtype: Any = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def norm(
    x: Tensor,
    p: Any = ...,
    *,
    dim: Any,
    keepdim: builtins.bool = ...,
    out: Any = ...,
    dtype: Any = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def norm(
    x: Tensor,
    *,
    ord: Any,
    axis: Any = ...,
    keepdim: builtins.bool = ...,
    out: Any = ...,
    dtype: Any = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def norm(
    *,
    input: Tensor,
    p: Any = ...,
    axis: Any = ...,
    keepdim: builtins.bool = ...,
    out: Any = ...,
    dtype: Any = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def norm(
    *,
    A: Tensor,
    p: Any = ...,
    axis: Any = ...,
    keepdim: builtins.bool = ...,
    out: Any = ...,
    dtype: Any = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def normal(
    mean: Any = ..., std: Any = ..., shape: Any = ..., name: builtins.str | None = ..., *, out: Any = ...
) -> Tensor: ...
@overload
def normal(
    mean: Any = ..., std: Any = ..., *, size: Any, name: builtins.str | None = ..., out: Any = ...
) -> Tensor: ...
@overload
def not_equal(x: Tensor, y: Any, name: builtins.str | None = ..., *, out: Tensor | None = ...) -> Tensor: ...
@overload
def not_equal(x: Tensor, *, other: Any, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def not_equal(*, input: Tensor, y: Any, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def not_equal(*, input: Tensor, other: Any, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def not_equal_(x: Tensor, y: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def not_equal_(x: Tensor, *, other: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def not_equal_(*, input: Tensor, y: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def not_equal_(*, input: Tensor, other: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def ones(
    shape: Any,
    dtype: Any = ...,
    name: builtins.str | None = ...,
    *,
    out: Any = ...,
    device: Any = ...,
    requires_grad: builtins.bool = ...,
    pin_memory: builtins.bool = ...,
) -> Tensor: ...
@overload
def ones(
    *,
    size: Any,
    dtype: Any = ...,
    name: builtins.str | None = ...,
    out: Any = ...,
    device: Any = ...,
    requires_grad: builtins.bool = ...,
    pin_memory: builtins.bool = ...,
) -> Tensor: ...
@overload
def ones(
    *shape: builtins.int,
    dtype: Any = ...,
    name: builtins.str | None = ...,
    out: Any = ...,
    device: Any = ...,
    requires_grad: builtins.bool = ...,
    pin_memory: builtins.bool = ...,
) -> Tensor: ...
@overload
def ones_like(
    x: Tensor,
    dtype: Any = ...,
    name: builtins.str | None = ...,
    *,
    device: Any = ...,
    requires_grad: builtins.bool = ...,
    pin_memory: builtins.bool = ...,
) -> Tensor: ...
@overload
def ones_like(
    *,
    input: Tensor,
    dtype: Any = ...,
    name: builtins.str | None = ...,
    device: Any = ...,
    requires_grad: builtins.bool = ...,
    pin_memory: builtins.bool = ...,
) -> Tensor: ...
@overload
def ormqr(
    x: Tensor,
    tau: Tensor,
    y: Tensor,
    left: builtins.bool = ...,
    transpose: builtins.bool = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def ormqr(
    x: Tensor,
    tau: Tensor,
    *,
    other: Tensor,
    left: builtins.bool = ...,
    transpose: builtins.bool = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def ormqr(
    *,
    input: Tensor,
    tau: Tensor,
    y: Tensor,
    left: builtins.bool = ...,
    transpose: builtins.bool = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def ormqr(
    *,
    input: Tensor,
    tau: Tensor,
    other: Tensor,
    left: builtins.bool = ...,
    transpose: builtins.bool = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def outer(x: Tensor, y: Tensor, name: builtins.str | None = ..., *, out: Any = ...) -> Tensor: ...
@overload
def outer(x: Tensor, *, other: Tensor, name: builtins.str | None = ..., out: Any = ...) -> Tensor: ...
@overload
def outer(x: Tensor, *, vec2: Tensor, name: builtins.str | None = ..., out: Any = ...) -> Tensor: ...
@overload
def outer(*, input: Tensor, y: Tensor, name: builtins.str | None = ..., out: Any = ...) -> Tensor: ...
@overload
def outer(*, input: Tensor, other: Tensor, name: builtins.str | None = ..., out: Any = ...) -> Tensor: ...
@overload
def outer(*, input: Tensor, vec2: Tensor, name: builtins.str | None = ..., out: Any = ...) -> Tensor: ...
@overload
def pca_lowrank(
    x: Tensor,
    q: builtins.int | None = ...,
    center: builtins.bool = ...,
    niter: builtins.int = ...,
    name: builtins.str | None = ...,
) -> builtins.tuple[Tensor, Tensor, Tensor]: ...
@overload
def pca_lowrank(
    *,
    input: Tensor,
    q: builtins.int | None = ...,
    center: builtins.bool = ...,
    niter: builtins.int = ...,
    name: builtins.str | None = ...,
) -> builtins.tuple[Tensor, Tensor, Tensor]: ...
@overload
def pdist(x: Tensor, p: builtins.float = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def pdist(*, input: Tensor, p: builtins.float = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def permute(input: Tensor, dims: Any) -> Tensor: ...
@overload
def permute(*, x: Tensor, dims: Any) -> Tensor: ...
@overload
def permute(input: Tensor, *dims: builtins.int) -> Tensor: ...
@overload
def pinv(x: Tensor, rcond: Any = ..., hermitian: builtins.bool = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def pinv(
    *, input: Tensor, rcond: Any = ..., hermitian: builtins.bool = ..., name: builtins.str | None = ...
) -> Tensor: ...
@overload
def poisson(x: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def poisson(*, input: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def polygamma(x: Tensor, n: builtins.int, name: builtins.str | None = ...) -> Tensor: ...
@overload
def polygamma(*, input: Tensor, n: builtins.int, name: builtins.str | None = ...) -> Tensor: ...
@overload
def polygamma_(x: Tensor, n: builtins.int, name: builtins.str | None = ...) -> Tensor: ...
@overload
def polygamma_(*, input: Tensor, n: builtins.int, name: builtins.str | None = ...) -> Tensor: ...
@overload
def positive(x: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def positive(*, input: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def pow(x: Tensor, y: Any, name: builtins.str | None = ..., *, out: Tensor | None = ...) -> Tensor: ...
@overload
def pow(x: Tensor, *, other: Any, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def pow(x: Tensor, *, exponent: Any, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def pow(*, input: Tensor, y: Any, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def pow(*, input: Tensor, other: Any, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def pow(*, input: Tensor, exponent: Any, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def pow_(x: Tensor, y: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def pow_(x: Tensor, *, other: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def pow_(x: Tensor, *, exponent: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def pow_(*, input: Tensor, y: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def pow_(*, input: Tensor, other: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def pow_(*, input: Tensor, exponent: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def prod(
    x: Tensor,
    axis: Any = ...,
    keepdim: builtins.bool = ...,
    dtype: Any = ...,
    out: Any = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def prod(
    x: Tensor,
    *,
    dim: Any,
    keepdim: builtins.bool = ...,
    dtype: Any = ...,
    out: Any = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def prod(
    *,
    input: Tensor,
    axis: Any = ...,
    keepdim: builtins.bool = ...,
    dtype: Any = ...,
    out: Any = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def prod(
    *,
    input: Tensor,
    dim: Any,
    keepdim: builtins.bool = ...,
    dtype: Any = ...,
    out: Any = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def put_along_axis(
    arr: Tensor,
    indices: Tensor,
    values: Any,
    axis: Any,
    reduce: builtins.str = ...,
    include_self: builtins.bool = ...,
    broadcast: builtins.bool = ...,
) -> Tensor: ...
@overload
def put_along_axis(
    arr: Tensor,
    indices: Tensor,
    values: Any,
    *,
    dim: Any,
    reduce: builtins.str = ...,
    include_self: builtins.bool = ...,
    broadcast: builtins.bool = ...,
) -> Tensor: ...
@overload
def put_along_axis(
    arr: Tensor,
    indices: Tensor,
    *,
    src: Any,
    axis: Any,
    reduce: builtins.str = ...,
    include_self: builtins.bool = ...,
    broadcast: builtins.bool = ...,
) -> Tensor: ...
@overload
def put_along_axis(
    arr: Tensor,
    *,
    index: Tensor,
    values: Any,
    axis: Any,
    reduce: builtins.str = ...,
    include_self: builtins.bool = ...,
    broadcast: builtins.bool = ...,
) -> Tensor: ...
@overload
def put_along_axis(
    *,
    input: Tensor,
    indices: Tensor,
    values: Any,
    axis: Any,
    reduce: builtins.str = ...,
    include_self: builtins.bool = ...,
    broadcast: builtins.bool = ...,
) -> Tensor: ...
@overload
def put_along_axis(
    *,
    x: Tensor,
    indices: Tensor,
    values: Any,
    axis: Any,
    reduce: builtins.str = ...,
    include_self: builtins.bool = ...,
    broadcast: builtins.bool = ...,
) -> Tensor: ...
@overload
def put_along_axis_(
    arr: Tensor,
    indices: Tensor,
    values: Any,
    axis: Any,
    reduce: builtins.str = ...,
    include_self: builtins.bool = ...,
    broadcast: builtins.bool = ...,
) -> Tensor: ...
@overload
def put_along_axis_(
    arr: Tensor,
    indices: Tensor,
    values: Any,
    *,
    dim: Any,
    reduce: builtins.str = ...,
    include_self: builtins.bool = ...,
    broadcast: builtins.bool = ...,
) -> Tensor: ...
@overload
def put_along_axis_(
    arr: Tensor,
    indices: Tensor,
    *,
    src: Any,
    axis: Any,
    reduce: builtins.str = ...,
    include_self: builtins.bool = ...,
    broadcast: builtins.bool = ...,
) -> Tensor: ...
@overload
def put_along_axis_(
    arr: Tensor,
    *,
    index: Tensor,
    values: Any,
    axis: Any,
    reduce: builtins.str = ...,
    include_self: builtins.bool = ...,
    broadcast: builtins.bool = ...,
) -> Tensor: ...
@overload
def put_along_axis_(
    *,
    input: Tensor,
    indices: Tensor,
    values: Any,
    axis: Any,
    reduce: builtins.str = ...,
    include_self: builtins.bool = ...,
    broadcast: builtins.bool = ...,
) -> Tensor: ...
@overload
def put_along_axis_(
    *,
    x: Tensor,
    indices: Tensor,
    values: Any,
    axis: Any,
    reduce: builtins.str = ...,
    include_self: builtins.bool = ...,
    broadcast: builtins.bool = ...,
) -> Tensor: ...
@overload
def qr(x: Tensor, mode: builtins.str = ..., name: builtins.str | None = ...) -> Any: ...
@overload
def qr(*, input: Tensor, mode: builtins.str = ..., name: builtins.str | None = ...) -> Any: ...
@overload
def quantile(
    x: Tensor,
    q: Any,
    axis: Any = ...,
    keepdim: builtins.bool = ...,
    interpolation: builtins.str = ...,
    name: builtins.str | None = ...,
    *,
    out: Any = ...,
) -> Tensor: ...
@overload
def quantile(
    x: Tensor,
    q: Any,
    *,
    dim: Any,
    keepdim: builtins.bool = ...,
    interpolation: builtins.str = ...,
    name: builtins.str | None = ...,
    out: Any = ...,
) -> Tensor: ...
@overload
def quantile(
    *,
    input: Tensor,
    q: Any,
    axis: Any = ...,
    keepdim: builtins.bool = ...,
    interpolation: builtins.str = ...,
    name: builtins.str | None = ...,
    out: Any = ...,
) -> Tensor: ...
@overload
def quantile(
    *,
    input: Tensor,
    q: Any,
    dim: Any,
    keepdim: builtins.bool = ...,
    interpolation: builtins.str = ...,
    name: builtins.str | None = ...,
    out: Any = ...,
) -> Tensor: ...
@overload
def rad2deg(x: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def rad2deg(*, input: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def rand(
    shape: Any,
    dtype: Any = ...,
    name: builtins.str | None = ...,
    *,
    out: Any = ...,
    device: Any = ...,
    requires_grad: builtins.bool = ...,
    pin_memory: builtins.bool = ...,
) -> Tensor: ...
@overload
def rand(
    *,
    size: Any,
    dtype: Any = ...,
    name: builtins.str | None = ...,
    out: Any = ...,
    device: Any = ...,
    requires_grad: builtins.bool = ...,
    pin_memory: builtins.bool = ...,
) -> Tensor: ...
@overload
def rand(
    *shape: builtins.int,
    dtype: Any = ...,
    name: builtins.str | None = ...,
    out: Any = ...,
    device: Any = ...,
    requires_grad: builtins.bool = ...,
    pin_memory: builtins.bool = ...,
) -> Tensor: ...
@overload
def rand_like(
    input: Tensor,
    name: builtins.str | None = ...,
    *,
    dtype: Any = ...,
    device: Any = ...,
    requires_grad: builtins.bool = ...,
) -> Tensor: ...
@overload
def rand_like(
    *,
    x: Tensor,
    name: builtins.str | None = ...,
    dtype: Any = ...,
    device: Any = ...,
    requires_grad: builtins.bool = ...,
) -> Tensor: ...
@overload
def randint(
    low: Any = ..., high: Any = ..., shape: Sequence[Any] = ..., dtype: Any = ..., name: builtins.str | None = ...
) -> Tensor: ...
@overload
def randint(
    low: Any = ..., high: Any = ..., *, size: Sequence[Any], dtype: Any = ..., name: builtins.str | None = ...
) -> Tensor: ...
@overload
def randint_like(
    x: Tensor, low: Any = ..., high: Any = ..., dtype: Any = ..., name: builtins.str | None = ...
) -> Tensor: ...
@overload
def randint_like(
    *, input: Tensor, low: Any = ..., high: Any = ..., dtype: Any = ..., name: builtins.str | None = ...
) -> Tensor: ...
@overload
def randn(
    shape: Any,
    dtype: Any = ...,
    name: builtins.str | None = ...,
    *,
    out: Any = ...,
    device: Any = ...,
    requires_grad: builtins.bool = ...,
    pin_memory: builtins.bool = ...,
) -> Tensor: ...
@overload
def randn(
    *,
    size: Any,
    dtype: Any = ...,
    name: builtins.str | None = ...,
    out: Any = ...,
    device: Any = ...,
    requires_grad: builtins.bool = ...,
    pin_memory: builtins.bool = ...,
) -> Tensor: ...
@overload
def randn(
    *shape: builtins.int,
    dtype: Any = ...,
    name: builtins.str | None = ...,
    out: Any = ...,
    device: Any = ...,
    requires_grad: builtins.bool = ...,
    pin_memory: builtins.bool = ...,
) -> Tensor: ...
@overload
def randn_like(
    x: Tensor,
    dtype: Any = ...,
    name: builtins.str | None = ...,
    *,
    device: Any = ...,
    requires_grad: builtins.bool = ...,
) -> Tensor: ...
@overload
def randn_like(
    *,
    input: Tensor,
    dtype: Any = ...,
    name: builtins.str | None = ...,
    device: Any = ...,
    requires_grad: builtins.bool = ...,
) -> Tensor: ...
@overload
def rank(input: Tensor) -> Tensor: ...
@overload
def rank(*, x: Tensor) -> Tensor: ...
@overload
def ravel(input: Tensor) -> Tensor: ...
@overload
def ravel(*, x: Tensor) -> Tensor: ...
@overload
def real(x: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def real(*, input: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def reciprocal(x: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def reciprocal(*, input: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def reciprocal_(x: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def reciprocal_(*, input: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def remainder(x: Tensor, y: Any, name: builtins.str | None = ..., *, out: Tensor | None = ...) -> Tensor: ...
@overload
def remainder(x: Tensor, *, other: Any, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def remainder(*, input: Tensor, y: Any, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def remainder(*, input: Tensor, other: Any, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def remainder_(x: Tensor, y: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def remainder_(x: Tensor, *, other: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def remainder_(*, input: Tensor, y: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def remainder_(*, input: Tensor, other: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def repeat(input: Tensor, repeats: Any) -> Tensor: ...
@overload
def repeat(input: Tensor, *repeats: builtins.int) -> Tensor: ...
@overload
def repeat_interleave(
    x: Tensor, repeats: Any, axis: Any = ..., name: builtins.str | None = ..., *, output_size: builtins.int | None = ...
) -> Tensor: ...
@overload
def repeat_interleave(
    x: Tensor, repeats: Any, *, dim: Any, name: builtins.str | None = ..., output_size: builtins.int | None = ...
) -> Tensor: ...
@overload
def repeat_interleave(
    *,
    input: Tensor,
    repeats: Any,
    axis: Any = ...,
    name: builtins.str | None = ...,
    output_size: builtins.int | None = ...,
) -> Tensor: ...
@overload
def repeat_interleave(
    *, input: Tensor, repeats: Any, dim: Any, name: builtins.str | None = ..., output_size: builtins.int | None = ...
) -> Tensor: ...
@overload
def reshape(x: Tensor, shape: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def reshape(x: Tensor, *, size: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def reshape(*, input: Tensor, shape: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def reshape(*, input: Tensor, size: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def reshape(x: Tensor, *shape: builtins.int, name: builtins.str | None = ...) -> Tensor: ...
@overload
def reshape_(x: Tensor, shape: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def reshape_(x: Tensor, *, size: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def reshape_(*, input: Tensor, shape: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def reshape_(*, input: Tensor, size: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def reverse(x: Tensor, axis: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def reverse(x: Tensor, *, dim: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def reverse(x: Tensor, *, dims: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def reverse(*, input: Tensor, axis: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def reverse(*, input: Tensor, dim: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def reverse(*, input: Tensor, dims: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def roll(x: Tensor, shifts: Any, axis: Any = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def roll(x: Tensor, shifts: Any, *, dim: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def roll(x: Tensor, shifts: Any, *, dims: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def roll(*, input: Tensor, shifts: Any, axis: Any = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def roll(*, input: Tensor, shifts: Any, dim: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def roll(*, input: Tensor, shifts: Any, dims: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def rot90(
    x: Tensor, k: builtins.int = ..., axes: Sequence[builtins.int] = ..., name: builtins.str | None = ...
) -> Tensor: ...
@overload
def rot90(
    *, input: Tensor, k: builtins.int = ..., axes: Sequence[builtins.int] = ..., name: builtins.str | None = ...
) -> Tensor: ...
@overload
def round(
    x: Tensor, decimals: builtins.int = ..., name: builtins.str | None = ..., *, out: Tensor | None = ...
) -> Tensor: ...
@overload
def round(
    *, input: Tensor, decimals: builtins.int = ..., name: builtins.str | None = ..., out: Tensor | None = ...
) -> Tensor: ...
@overload
def round_(x: Tensor, decimals: builtins.int = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def round_(*, input: Tensor, decimals: builtins.int = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def rsqrt(x: Tensor, name: builtins.str | None = ..., *, out: Tensor | None = ...) -> Tensor: ...
@overload
def rsqrt(*, input: Tensor, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def rsqrt_(x: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def rsqrt_(*, input: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def scale(
    x: Tensor,
    scale: Any = ...,
    bias: Any = ...,
    bias_after_scale: builtins.bool = ...,
    act: builtins.str | None = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def scale(
    *,
    input: Tensor,
    scale: Any = ...,
    bias: Any = ...,
    bias_after_scale: builtins.bool = ...,
    act: builtins.str | None = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def scale_(
    x: Tensor,
    scale: Any = ...,
    bias: Any = ...,
    bias_after_scale: builtins.bool = ...,
    act: builtins.str | None = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def scale_(
    *,
    input: Tensor,
    scale: Any = ...,
    bias: Any = ...,
    bias_after_scale: builtins.bool = ...,
    act: builtins.str | None = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def scatter(
    x: Tensor, index: Tensor, updates: Any, overwrite: Any = ..., name: builtins.str | None = ..., out: Any = ...
) -> Tensor: ...
@overload
def scatter(
    *, input: Tensor, index: Tensor, updates: Any, overwrite: Any = ..., name: builtins.str | None = ..., out: Any = ...
) -> Tensor: ...
@overload
def scatter(
    x: Tensor, dim: builtins.int, index: Tensor, src: Any = ..., reduce: Any = ..., *, value: Any = ..., out: Any = ...
) -> Tensor: ...
@overload
def scatter_(
    x: Tensor, index: Tensor, updates: Any, overwrite: Any = ..., name: builtins.str | None = ...
) -> Tensor: ...
@overload
def scatter_(
    *, input: Tensor, index: Tensor, updates: Any, overwrite: Any = ..., name: builtins.str | None = ...
) -> Tensor: ...
@overload
def scatter_add(input: Tensor, dim: builtins.int, index: Tensor, src: Tensor) -> Tensor: ...
@overload
def scatter_add(*, x: Tensor, dim: builtins.int, index: Tensor, src: Tensor) -> Tensor: ...
@overload
def scatter_add_(input: Tensor, dim: builtins.int, index: Tensor, src: Tensor) -> Tensor: ...
@overload
def scatter_add_(*, x: Tensor, dim: builtins.int, index: Tensor, src: Tensor) -> Tensor: ...
@overload
def scatter_nd_add(x: Tensor, index: Tensor, updates: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def scatter_nd_add(*, input: Tensor, index: Tensor, updates: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def scatter_reduce(
    input: Tensor,
    dim: builtins.int,
    index: Tensor,
    src: Tensor,
    reduce: builtins.str,
    *,
    include_self: builtins.bool = ...,
) -> Tensor: ...
@overload
def scatter_reduce(
    *, x: Tensor, dim: builtins.int, index: Tensor, src: Tensor, reduce: builtins.str, include_self: builtins.bool = ...
) -> Tensor: ...
@overload
def searchsorted(
    sorted_sequence: Tensor,
    values: Any,
    out_int32: builtins.bool = ...,
    right: builtins.bool = ...,
    name: builtins.str | None = ...,
    *,
    side: builtins.str | None = ...,
    out: Any = ...,
    sorter: Tensor | None = ...,
) -> Tensor: ...
@overload
def searchsorted(
    sorted_sequence: Tensor,
    *,
    input: Any,
    out_int32: builtins.bool = ...,
    right: builtins.bool = ...,
    name: builtins.str | None = ...,
    side: builtins.str | None = ...,
    out: Any = ...,
    sorter: Tensor | None = ...,
) -> Tensor: ...
@overload
def sgn(x: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def sgn(*, input: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def shape(input: Tensor) -> Tensor: ...
@overload
def shape(*, x: Tensor) -> Tensor: ...
@overload
def shard_index(
    input: Tensor,
    index_num: builtins.int,
    nshards: builtins.int,
    shard_id: builtins.int,
    ignore_value: builtins.int = ...,
) -> Tensor: ...
@overload
def shard_index(
    *,
    x: Tensor,
    index_num: builtins.int,
    nshards: builtins.int,
    shard_id: builtins.int,
    ignore_value: builtins.int = ...,
) -> Tensor: ...
@overload
def sigmoid(x: Tensor, name: builtins.str | None = ..., *, out: Tensor | None = ...) -> Tensor: ...
@overload
def sigmoid(*, input: Tensor, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def sigmoid_(x: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def sigmoid_(*, input: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def sign(x: Tensor, name: builtins.str | None = ..., *, out: Tensor | None = ...) -> Tensor: ...
@overload
def sign(*, input: Tensor, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def signbit(x: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def signbit(*, input: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def sin(x: Tensor, name: builtins.str | None = ..., *, out: Tensor | None = ...) -> Tensor: ...
@overload
def sin(*, input: Tensor, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def sin_(x: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def sin_(*, input: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def sinc(x: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def sinc(*, input: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def sinc_(x: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def sinc_(*, input: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def sinh(x: Tensor, name: builtins.str | None = ..., *, out: Tensor | None = ...) -> Tensor: ...
@overload
def sinh(*, input: Tensor, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def sinh_(x: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def sinh_(*, input: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def slice(input: Tensor, axes: Any, starts: Any, ends: Any) -> Tensor: ...
@overload
def slice(*, x: Tensor, axes: Any, starts: Any, ends: Any) -> Tensor: ...
@overload
def slogdet(x: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def slogdet(*, input: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def solve(
    x: Tensor, y: Tensor, left: builtins.bool = ..., name: builtins.str | None = ..., *, out: Any = ...
) -> Tensor: ...
@overload
def solve(
    x: Tensor, *, other: Tensor, left: builtins.bool = ..., name: builtins.str | None = ..., out: Any = ...
) -> Tensor: ...
@overload
def solve(
    x: Tensor, *, B: Tensor, left: builtins.bool = ..., name: builtins.str | None = ..., out: Any = ...
) -> Tensor: ...
@overload
def solve(
    *, input: Tensor, y: Tensor, left: builtins.bool = ..., name: builtins.str | None = ..., out: Any = ...
) -> Tensor: ...
@overload
def solve(
    *, A: Tensor, y: Tensor, left: builtins.bool = ..., name: builtins.str | None = ..., out: Any = ...
) -> Tensor: ...
@overload
def sqrt(x: Tensor, name: builtins.str | None = ..., *, out: Tensor | None = ...) -> Tensor: ...
@overload
def sqrt(*, input: Tensor, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def sqrt_(x: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def sqrt_(*, input: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def square(x: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def square(*, input: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def square_(x: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def square_(*, input: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def squeeze(x: Tensor, axis: Any = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def squeeze(x: Tensor, *, dim: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def squeeze(*, input: Tensor, axis: Any = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def squeeze(*, input: Tensor, dim: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def squeeze_(x: Tensor, axis: Any = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def squeeze_(x: Tensor, *, dim: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def squeeze_(*, input: Tensor, axis: Any = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def squeeze_(*, input: Tensor, dim: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def stack(
    x: Sequence[Tensor], axis: Any = ..., name: builtins.str | None = ..., *, out: Tensor | None = ...
) -> Tensor: ...
@overload
def stack(x: Sequence[Tensor], *, dim: Any, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def stack(
    *, input: Sequence[Tensor], axis: Any = ..., name: builtins.str | None = ..., out: Tensor | None = ...
) -> Tensor: ...
@overload
def stack(
    *, tensors: Sequence[Tensor], axis: Any = ..., name: builtins.str | None = ..., out: Tensor | None = ...
) -> Tensor: ...
@overload
def stack(
    *, input: Sequence[Tensor], dim: Any, name: builtins.str | None = ..., out: Tensor | None = ...
) -> Tensor: ...
@overload
def stack(
    *, tensors: Sequence[Tensor], dim: Any, name: builtins.str | None = ..., out: Tensor | None = ...
) -> Tensor: ...
@overload
def standard_gamma(x: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def standard_gamma(*, input: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def standard_normal(
    shape: Any,
    dtype: Any = ...,
    name: builtins.str | None = ...,
    *,
    out: Any = ...,
    device: Any = ...,
    requires_grad: builtins.bool = ...,
) -> Tensor: ...
@overload
def standard_normal(
    *,
    size: Any,
    dtype: Any = ...,
    name: builtins.str | None = ...,
    out: Any = ...,
    device: Any = ...,
    requires_grad: builtins.bool = ...,
) -> Tensor: ...
@overload
def std(
    x: Tensor,
    axis: Any = ...,
    unbiased: builtins.bool = ...,
    keepdim: builtins.bool = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def std(
    x: Tensor, *, dim: Any, unbiased: builtins.bool = ..., keepdim: builtins.bool = ..., name: builtins.str | None = ...
) -> Tensor: ...
@overload
def std(
    *,
    input: Tensor,
    axis: Any = ...,
    unbiased: builtins.bool = ...,
    keepdim: builtins.bool = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def std(
    *,
    input: Tensor,
    dim: Any,
    unbiased: builtins.bool = ...,
    keepdim: builtins.bool = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def strided_slice(
    x: Tensor, axes: Any, starts: Any, ends: Any, strides: Any, name: builtins.str | None = ...
) -> Tensor: ...
@overload
def strided_slice(
    *, input: Tensor, axes: Any, starts: Any, ends: Any, strides: Any, name: builtins.str | None = ...
) -> Tensor: ...
@overload
def sub(
    x: Tensor, y: Any, name: builtins.str | None = ..., *, alpha: Any = ..., out: Tensor | None = ...
) -> Tensor: ...
@overload
def sub(
    x: Tensor, *, other: Any, name: builtins.str | None = ..., alpha: Any = ..., out: Tensor | None = ...
) -> Tensor: ...
@overload
def sub(
    *, input: Tensor, y: Any, name: builtins.str | None = ..., alpha: Any = ..., out: Tensor | None = ...
) -> Tensor: ...
@overload
def sub(
    *, input: Tensor, other: Any, name: builtins.str | None = ..., alpha: Any = ..., out: Tensor | None = ...
) -> Tensor: ...
@overload
def sub_(x: Tensor, y: Any, name: builtins.str | None = ..., *, alpha: Any = ...) -> Tensor: ...
@overload
def sub_(x: Tensor, *, other: Any, name: builtins.str | None = ..., alpha: Any = ...) -> Tensor: ...
@overload
def sub_(*, input: Tensor, y: Any, name: builtins.str | None = ..., alpha: Any = ...) -> Tensor: ...
@overload
def sub_(*, input: Tensor, other: Any, name: builtins.str | None = ..., alpha: Any = ...) -> Tensor: ...
@overload
def subtract(
    x: Tensor, y: Any, name: builtins.str | None = ..., *, alpha: Any = ..., out: Tensor | None = ...
) -> Tensor: ...
@overload
def subtract(
    x: Tensor, *, other: Any, name: builtins.str | None = ..., alpha: Any = ..., out: Tensor | None = ...
) -> Tensor: ...
@overload
def subtract(
    *, input: Tensor, y: Any, name: builtins.str | None = ..., alpha: Any = ..., out: Tensor | None = ...
) -> Tensor: ...
@overload
def subtract(
    *, input: Tensor, other: Any, name: builtins.str | None = ..., alpha: Any = ..., out: Tensor | None = ...
) -> Tensor: ...
@overload
def subtract_(x: Tensor, y: Any, name: builtins.str | None = ..., *, alpha: Any = ...) -> Tensor: ...
@overload
def subtract_(x: Tensor, *, other: Any, name: builtins.str | None = ..., alpha: Any = ...) -> Tensor: ...
@overload
def subtract_(*, input: Tensor, y: Any, name: builtins.str | None = ..., alpha: Any = ...) -> Tensor: ...
@overload
def subtract_(*, input: Tensor, other: Any, name: builtins.str | None = ..., alpha: Any = ...) -> Tensor: ...
@overload
def sum(
    x: Tensor,
    axis: Any = ...,
    dtype: Any = ...,
    keepdim: builtins.bool = ...,
    name: builtins.str | None = ...,
    *,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def sum(
    x: Tensor,
    *,
    dim: Any,
    dtype: Any = ...,
    keepdim: builtins.bool = ...,
    name: builtins.str | None = ...,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def sum(
    *,
    input: Tensor,
    axis: Any = ...,
    dtype: Any = ...,
    keepdim: builtins.bool = ...,
    name: builtins.str | None = ...,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def sum(
    *,
    input: Tensor,
    dim: Any,
    dtype: Any = ...,
    keepdim: builtins.bool = ...,
    name: builtins.str | None = ...,
    out: Tensor | None = ...,
) -> Tensor: ...
@overload
def sum(x: Tensor, axis: Any = ..., keepdim: builtins.bool = ..., dtype: Any = ..., *, out: Any = ...) -> Tensor: ...
@overload
def svd(
    x: Tensor, full_matrices: builtins.bool = ..., name: builtins.str | None = ..., *, out: Any = ...
) -> builtins.tuple[Tensor, Tensor, Tensor]: ...
@overload
def svd(
    *, input: Tensor, full_matrices: builtins.bool = ..., name: builtins.str | None = ..., out: Any = ...
) -> builtins.tuple[Tensor, Tensor, Tensor]: ...
@overload
def svd_lowrank(
    x: Tensor,
    q: builtins.int | None = ...,
    niter: builtins.int = ...,
    M: Tensor | None = ...,
    name: builtins.str | None = ...,
) -> builtins.tuple[Tensor, Tensor, Tensor]: ...
@overload
def svd_lowrank(
    *,
    input: Tensor,
    q: builtins.int | None = ...,
    niter: builtins.int = ...,
    M: Tensor | None = ...,
    name: builtins.str | None = ...,
) -> builtins.tuple[Tensor, Tensor, Tensor]: ...
@overload
def svdvals(x: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def svdvals(*, input: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def swapaxes(x: Tensor, perm: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def swapaxes(*, input: Tensor, perm: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def swapaxes(x: Tensor, first: Any = ..., second: Any = ..., **dims: Any) -> Tensor: ...
@overload
def swapdims(x: Tensor, perm: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def swapdims(*, input: Tensor, perm: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def swapdims(x: Tensor, first: Any = ..., second: Any = ..., **dims: Any) -> Tensor: ...
@overload
def t(input: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def t(*, x: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def t_(input: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def t_(*, x: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def take(x: Tensor, index: Tensor, mode: builtins.str = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def take(*, input: Tensor, index: Tensor, mode: builtins.str = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def take_along_axis(
    arr: Tensor, indices: Tensor, axis: Any, broadcast: builtins.bool = ..., *, out: Any = ...
) -> Tensor: ...
@overload
def take_along_axis(
    arr: Tensor, indices: Tensor, *, dim: Any, broadcast: builtins.bool = ..., out: Any = ...
) -> Tensor: ...
@overload
def take_along_axis(
    arr: Tensor, *, index: Tensor, axis: Any, broadcast: builtins.bool = ..., out: Any = ...
) -> Tensor: ...
@overload
def take_along_axis(
    *, input: Tensor, indices: Tensor, axis: Any, broadcast: builtins.bool = ..., out: Any = ...
) -> Tensor: ...
@overload
def take_along_axis(
    *, x: Tensor, indices: Tensor, axis: Any, broadcast: builtins.bool = ..., out: Any = ...
) -> Tensor: ...
@overload
def take_along_dim(
    arr: Tensor, indices: Tensor, axis: Any, broadcast: builtins.bool = ..., *, out: Any = ...
) -> Tensor: ...
@overload
def take_along_dim(
    arr: Tensor, indices: Tensor, *, dim: Any, broadcast: builtins.bool = ..., out: Any = ...
) -> Tensor: ...
@overload
def take_along_dim(
    arr: Tensor, *, index: Tensor, axis: Any, broadcast: builtins.bool = ..., out: Any = ...
) -> Tensor: ...
@overload
def take_along_dim(
    *, input: Tensor, indices: Tensor, axis: Any, broadcast: builtins.bool = ..., out: Any = ...
) -> Tensor: ...
@overload
def take_along_dim(
    *, x: Tensor, indices: Tensor, axis: Any, broadcast: builtins.bool = ..., out: Any = ...
) -> Tensor: ...
@overload
def tan(x: Tensor, name: builtins.str | None = ..., *, out: Tensor | None = ...) -> Tensor: ...
@overload
def tan(*, input: Tensor, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def tan_(x: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def tan_(*, input: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def tanh(x: Tensor, name: builtins.str | None = ..., *, out: Tensor | None = ...) -> Tensor: ...
@overload
def tanh(*, input: Tensor, name: builtins.str | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def tanh_(x: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def tanh_(*, input: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def tensor_split(
    x: Tensor, num_or_indices: Any, axis: Any = ..., name: builtins.str | None = ...
) -> builtins.list[Tensor]: ...
@overload
def tensor_split(
    x: Tensor, num_or_indices: Any, *, dim: Any, name: builtins.str | None = ...
) -> builtins.list[Tensor]: ...
@overload
def tensor_split(
    x: Tensor, *, indices_or_sections: Any, axis: Any = ..., name: builtins.str | None = ...
) -> builtins.list[Tensor]: ...
@overload
def tensor_split(
    x: Tensor, *, sections: Any, axis: Any = ..., name: builtins.str | None = ...
) -> builtins.list[Tensor]: ...
@overload
def tensor_split(
    x: Tensor, *, indices: Any, axis: Any = ..., name: builtins.str | None = ...
) -> builtins.list[Tensor]: ...
@overload
def tensor_split(
    x: Tensor, *, tensor_indices_or_sections: Any, axis: Any = ..., name: builtins.str | None = ...
) -> builtins.list[Tensor]: ...
@overload
def tensor_split(
    *, input: Tensor, num_or_indices: Any, axis: Any = ..., name: builtins.str | None = ...
) -> builtins.list[Tensor]: ...
@overload
def tensordot(x: Tensor, y: Tensor, axes: Any = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def tensordot(x: Tensor, *, other: Tensor, axes: Any = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def tensordot(*, input: Tensor, y: Tensor, axes: Any = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def tensordot(*, input: Tensor, other: Tensor, axes: Any = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def tile(x: Tensor, repeat_times: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def tile(x: Tensor, *, dims: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def tile(*, input: Tensor, repeat_times: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def tile(*, input: Tensor, dims: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def topk(
    x: Tensor,
    k: Any,
    axis: Any = ...,
    largest: builtins.bool = ...,
    sorted: builtins.bool = ...,
    name: builtins.str | None = ...,
    *,
    out: Any = ...,
) -> Any: ...
@overload
def topk(
    x: Tensor,
    k: Any,
    *,
    dim: Any,
    largest: builtins.bool = ...,
    sorted: builtins.bool = ...,
    name: builtins.str | None = ...,
    out: Any = ...,
) -> Any: ...
@overload
def topk(
    *,
    input: Tensor,
    k: Any,
    axis: Any = ...,
    largest: builtins.bool = ...,
    sorted: builtins.bool = ...,
    name: builtins.str | None = ...,
    out: Any = ...,
) -> Any: ...
@overload
def topk(
    *,
    input: Tensor,
    k: Any,
    dim: Any,
    largest: builtins.bool = ...,
    sorted: builtins.bool = ...,
    name: builtins.str | None = ...,
    out: Any = ...,
) -> Any: ...
@overload
def trace(
    x: Tensor,
    offset: builtins.int = ...,
    axis1: builtins.int = ...,
    axis2: builtins.int = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def trace(
    *,
    input: Tensor,
    offset: builtins.int = ...,
    axis1: builtins.int = ...,
    axis2: builtins.int = ...,
    name: builtins.str | None = ...,
) -> Tensor: ...
@overload
def transpose(x: Tensor, perm: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def transpose(*, input: Tensor, perm: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def transpose(
    x: Tensor,
    first: Any = ...,
    second: Any = ...,
    *more: Any,
    dim0: Any = ...,
    dim1: Any = ...,
    axis0: Any = ...,
    axis1: Any = ...,
    name: Any = ...,
) -> Tensor: ...
@overload
def transpose_(x: Tensor, perm: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def transpose_(*, input: Tensor, perm: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def tril(x: Tensor, diagonal: builtins.int = ..., name: builtins.str | None = ..., *, out: Any = ...) -> Tensor: ...
@overload
def tril(*, input: Tensor, diagonal: builtins.int = ..., name: builtins.str | None = ..., out: Any = ...) -> Tensor: ...
@overload
def tril_(x: Tensor, diagonal: builtins.int = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def tril_(*, input: Tensor, diagonal: builtins.int = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def triu(x: Tensor, diagonal: builtins.int = ..., name: builtins.str | None = ..., *, out: Any = ...) -> Tensor: ...
@overload
def triu(*, input: Tensor, diagonal: builtins.int = ..., name: builtins.str | None = ..., out: Any = ...) -> Tensor: ...
@overload
def triu_(x: Tensor, diagonal: builtins.int = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def triu_(*, input: Tensor, diagonal: builtins.int = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def unbind(input: Tensor, axis: Any = ...) -> builtins.list[Tensor]: ...
@overload
def unbind(input: Tensor, *, dim: Any) -> builtins.list[Tensor]: ...
@overload
def unbind(*, x: Tensor, axis: Any = ...) -> builtins.list[Tensor]: ...
@overload
def unbind(*, x: Tensor, dim: Any) -> builtins.list[Tensor]: ...
@overload
def unflatten(x: Tensor, axis: Any, shape: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def unflatten(x: Tensor, axis: Any, *, sizes: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def unflatten(x: Tensor, *, dim: Any, shape: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def unflatten(*, input: Tensor, axis: Any, shape: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def unflatten(x: Tensor, *, dim: Any, sizes: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def unflatten(*, input: Tensor, axis: Any, sizes: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def unflatten(*, input: Tensor, dim: Any, shape: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def unflatten(*, input: Tensor, dim: Any, sizes: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def unfold(
    x: Tensor, axis: builtins.int, size: builtins.int, step: builtins.int, name: builtins.str | None = ...
) -> Tensor: ...
@overload
def unfold(
    x: Tensor, *, dim: builtins.int, size: builtins.int, step: builtins.int, name: builtins.str | None = ...
) -> Tensor: ...
@overload
def unfold(
    x: Tensor, *, dimension: builtins.int, size: builtins.int, step: builtins.int, name: builtins.str | None = ...
) -> Tensor: ...
@overload
def unfold(
    *, input: Tensor, axis: builtins.int, size: builtins.int, step: builtins.int, name: builtins.str | None = ...
) -> Tensor: ...
@overload
def unfold(
    *, input: Tensor, dim: builtins.int, size: builtins.int, step: builtins.int, name: builtins.str | None = ...
) -> Tensor: ...
@overload
def unfold(
    *, input: Tensor, dimension: builtins.int, size: builtins.int, step: builtins.int, name: builtins.str | None = ...
) -> Tensor: ...
@overload
def uniform(
    shape: Any,
    dtype: Any = ...,
    min: Any = ...,
    max: Any = ...,
    seed: builtins.int = ...,
    name: builtins.str | None = ...,
    *,
    out: Any = ...,
    device: Any = ...,
    requires_grad: builtins.bool = ...,
) -> Tensor: ...
@overload
def uniform(
    *,
    size: Any,
    dtype: Any = ...,
    min: Any = ...,
    max: Any = ...,
    seed: builtins.int = ...,
    name: builtins.str | None = ...,
    out: Any = ...,
    device: Any = ...,
    requires_grad: builtins.bool = ...,
) -> Tensor: ...
@overload
def uniform_(
    x: Tensor, min: Any = ..., max: Any = ..., seed: builtins.int = ..., name: builtins.str | None = ...
) -> Tensor: ...
@overload
def uniform_(
    x: Tensor, min: Any = ..., *, to: Any, seed: builtins.int = ..., name: builtins.str | None = ...
) -> Tensor: ...
@overload
def unique(
    x: Tensor,
    return_index: builtins.bool = ...,
    return_inverse: builtins.bool = ...,
    return_counts: builtins.bool = ...,
    axis: Any = ...,
    dtype: Any = ...,
    sorted: builtins.bool = ...,
    name: builtins.str | None = ...,
) -> Any: ...
@overload
def unique(
    x: Tensor,
    return_index: builtins.bool = ...,
    return_inverse: builtins.bool = ...,
    return_counts: builtins.bool = ...,
    *,
    dim: Any,
    dtype: Any = ...,
    sorted: builtins.bool = ...,
    name: builtins.str | None = ...,
) -> Any: ...
@overload
def unique(
    *,
    input: Tensor,
    return_index: builtins.bool = ...,
    return_inverse: builtins.bool = ...,
    return_counts: builtins.bool = ...,
    axis: Any = ...,
    dtype: Any = ...,
    sorted: builtins.bool = ...,
    name: builtins.str | None = ...,
) -> Any: ...
@overload
def unique(
    *,
    input: Tensor,
    return_index: builtins.bool = ...,
    return_inverse: builtins.bool = ...,
    return_counts: builtins.bool = ...,
    dim: Any,
    dtype: Any = ...,
    sorted: builtins.bool = ...,
    name: builtins.str | None = ...,
) -> Any: ...
@overload
def unique_consecutive(
    x: Tensor,
    return_inverse: builtins.bool = ...,
    return_counts: builtins.bool = ...,
    axis: Any = ...,
    dtype: Any = ...,
    name: builtins.str | None = ...,
) -> Any: ...
@overload
def unique_consecutive(
    x: Tensor,
    return_inverse: builtins.bool = ...,
    return_counts: builtins.bool = ...,
    *,
    dim: Any,
    dtype: Any = ...,
    name: builtins.str | None = ...,
) -> Any: ...
@overload
def unique_consecutive(
    *,
    input: Tensor,
    return_inverse: builtins.bool = ...,
    return_counts: builtins.bool = ...,
    axis: Any = ...,
    dtype: Any = ...,
    name: builtins.str | None = ...,
) -> Any: ...
@overload
def unique_consecutive(
    *,
    input: Tensor,
    return_inverse: builtins.bool = ...,
    return_counts: builtins.bool = ...,
    dim: Any,
    dtype: Any = ...,
    name: builtins.str | None = ...,
) -> Any: ...
@overload
def unsqueeze(x: Tensor, axis: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def unsqueeze(x: Tensor, *, dim: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def unsqueeze(*, input: Tensor, axis: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def unsqueeze(*, input: Tensor, dim: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def unsqueeze_(x: Tensor, axis: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def unsqueeze_(x: Tensor, *, dim: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def unsqueeze_(*, input: Tensor, axis: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def unsqueeze_(*, input: Tensor, dim: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def unstack(x: Tensor, axis: Any = ..., num: builtins.int | None = ...) -> builtins.list[Tensor]: ...
@overload
def unstack(x: Tensor, *, dim: Any, num: builtins.int | None = ...) -> builtins.list[Tensor]: ...
@overload
def unstack(*, input: Tensor, axis: Any = ..., num: builtins.int | None = ...) -> builtins.list[Tensor]: ...
@overload
def unstack(*, input: Tensor, dim: Any, num: builtins.int | None = ...) -> builtins.list[Tensor]: ...
@overload
def vander(
    x: Tensor, n: builtins.int | None = ..., increasing: builtins.bool = ..., name: builtins.str | None = ...
) -> Tensor: ...
@overload
def vander(
    *, input: Tensor, n: builtins.int | None = ..., increasing: builtins.bool = ..., name: builtins.str | None = ...
) -> Tensor: ...
@overload
def var(
    x: Tensor,
    axis: Any = ...,
    unbiased: builtins.bool | None = ...,
    keepdim: builtins.bool = ...,
    name: builtins.str | None = ...,
    *,
    correction: builtins.float = ...,
    out: Any = ...,
) -> Tensor: ...
@overload
def var(
    x: Tensor,
    *,
    dim: Any,
    unbiased: builtins.bool | None = ...,
    keepdim: builtins.bool = ...,
    name: builtins.str | None = ...,
    correction: builtins.float = ...,
    out: Any = ...,
) -> Tensor: ...
@overload
def var(
    *,
    input: Tensor,
    axis: Any = ...,
    unbiased: builtins.bool | None = ...,
    keepdim: builtins.bool = ...,
    name: builtins.str | None = ...,
    correction: builtins.float = ...,
    out: Any = ...,
) -> Tensor: ...
@overload
def var(
    *,
    input: Tensor,
    dim: Any,
    unbiased: builtins.bool | None = ...,
    keepdim: builtins.bool = ...,
    name: builtins.str | None = ...,
    correction: builtins.float = ...,
    out: Any = ...,
) -> Tensor: ...
@overload
def vecdot(x: Tensor, y: Tensor, axis: builtins.int = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def vecdot(x: Tensor, y: Tensor, *, dim: builtins.int, name: builtins.str | None = ...) -> Tensor: ...
@overload
def vecdot(x: Tensor, *, other: Tensor, axis: builtins.int = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def vecdot(*, input: Tensor, y: Tensor, axis: builtins.int = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def vecdot(x: Tensor, *, other: Tensor, dim: builtins.int, name: builtins.str | None = ...) -> Tensor: ...
@overload
def vecdot(*, input: Tensor, y: Tensor, dim: builtins.int, name: builtins.str | None = ...) -> Tensor: ...
@overload
def vecdot(*, input: Tensor, other: Tensor, axis: builtins.int = ..., name: builtins.str | None = ...) -> Tensor: ...
@overload
def vecdot(*, input: Tensor, other: Tensor, dim: builtins.int, name: builtins.str | None = ...) -> Tensor: ...
@overload
def view(x: Tensor, shape_or_dtype: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def view(x: Tensor, *, size: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def view(x: Tensor, *, dtype: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def view(*, input: Tensor, shape_or_dtype: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def view(*, input: Tensor, size: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def view(*, input: Tensor, dtype: Any, name: builtins.str | None = ...) -> Tensor: ...
@overload
def view(x: Tensor, *shape_or_dtype: builtins.int, name: builtins.str | None = ...) -> Tensor: ...
@overload
def view_as(x: Tensor, other: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def view_as(*, input: Tensor, other: Tensor, name: builtins.str | None = ...) -> Tensor: ...
@overload
def view_as_complex(input: Tensor) -> Tensor: ...
@overload
def view_as_complex(*, x: Tensor) -> Tensor: ...
@overload
def view_as_real(input: Tensor) -> Tensor: ...
@overload
def view_as_real(*, x: Tensor) -> Tensor: ...
@overload
def vsplit(x: Tensor, num_or_indices: Any, name: builtins.str | None = ...) -> builtins.list[Tensor]: ...
@overload
def vsplit(*, input: Tensor, num_or_indices: Any, name: builtins.str | None = ...) -> builtins.list[Tensor]: ...
@overload
def where(
    condition: Tensor, x: Any = ..., y: Any = ..., name: builtins.str | None = ..., *, out: Tensor | None = ...
) -> Any: ...
@overload
def where(
    condition: Tensor, x: Any = ..., *, other: Any, name: builtins.str | None = ..., out: Tensor | None = ...
) -> Any: ...
@overload
def where(
    condition: Tensor, *, input: Any, y: Any = ..., name: builtins.str | None = ..., out: Tensor | None = ...
) -> Any: ...
@overload
def where(
    condition: Tensor, *, input: Any, other: Any, name: builtins.str | None = ..., out: Tensor | None = ...
) -> Any: ...
@overload
def zeros(
    shape: Any,
    dtype: Any = ...,
    name: builtins.str | None = ...,
    *,
    out: Any = ...,
    device: Any = ...,
    requires_grad: builtins.bool = ...,
    pin_memory: builtins.bool = ...,
) -> Tensor: ...
@overload
def zeros(
    *,
    size: Any,
    dtype: Any = ...,
    name: builtins.str | None = ...,
    out: Any = ...,
    device: Any = ...,
    requires_grad: builtins.bool = ...,
    pin_memory: builtins.bool = ...,
) -> Tensor: ...
@overload
def zeros(
    *shape: builtins.int,
    dtype: Any = ...,
    name: builtins.str | None = ...,
    out: Any = ...,
    device: Any = ...,
    requires_grad: builtins.bool = ...,
    pin_memory: builtins.bool = ...,
) -> Tensor: ...
@overload
def zeros_like(
    x: Tensor,
    dtype: Any = ...,
    name: builtins.str | None = ...,
    *,
    device: Any = ...,
    requires_grad: builtins.bool = ...,
    pin_memory: builtins.bool = ...,
) -> Tensor: ...
@overload
def zeros_like(
    *,
    input: Tensor,
    dtype: Any = ...,
    name: builtins.str | None = ...,
    device: Any = ...,
    requires_grad: builtins.bool = ...,
    pin_memory: builtins.bool = ...,
) -> Tensor: ...

__all__ = [
    "BFloat16Tensor",
    "BoolTensor",
    "ByteTensor",
    "CharTensor",
    "DoubleTensor",
    "FloatTensor",
    "HalfTensor",
    "IntTensor",
    "LongTensor",
    "MmapStorage",
    "ShortTensor",
    "abs",
    "abs_",
    "acos",
    "acos_",
    "acosh",
    "acosh_",
    "add",
    "add_",
    "add_n",
    "addmm",
    "addmm_",
    "all",
    "allclose",
    "amax",
    "amin",
    "angle",
    "any",
    "arange",
    "argmax",
    "argmin",
    "argsort",
    "argwhere",
    "array_length",
    "array_read",
    "array_write",
    "as_complex",
    "as_real",
    "as_strided",
    "as_tensor",
    "asarray",
    "asin",
    "asin_",
    "asinh",
    "asinh_",
    "assign",
    "atan",
    "atan2",
    "atan_",
    "atanh",
    "atanh_",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "baddbmm",
    "baddbmm_",
    "bernoulli",
    "bernoulli_",
    "bincount",
    "binomial",
    "bitwise_and",
    "bitwise_and_",
    "bitwise_invert",
    "bitwise_invert_",
    "bitwise_left_shift",
    "bitwise_left_shift_",
    "bitwise_not",
    "bitwise_not_",
    "bitwise_or",
    "bitwise_or_",
    "bitwise_right_shift",
    "bitwise_right_shift_",
    "bitwise_xor",
    "bitwise_xor_",
    "block_diag",
    "bmm",
    "broadcast_shape",
    "broadcast_shapes",
    "broadcast_tensors",
    "broadcast_to",
    "bucketize",
    "cartesian_prod",
    "cast",
    "cast_",
    "cat",
    "cauchy_",
    "cdist",
    "ceil",
    "ceil_",
    "cholesky",
    "cholesky_inverse",
    "cholesky_solve",
    "chunk",
    "clamp",
    "clamp_",
    "clip",
    "clip_",
    "clone",
    "column_stack",
    "combinations",
    "complex",
    "concat",
    "concatenate",
    "cond",
    "conj",
    "copysign",
    "copysign_",
    "corrcoef",
    "cos",
    "cos_",
    "cosh",
    "cosh_",
    "count_nonzero",
    "cov",
    "create_array",
    "create_parameter",
    "create_tensor",
    "creation",
    "crop",
    "cross",
    "cummax",
    "cummin",
    "cumprod",
    "cumprod_",
    "cumsum",
    "cumsum_",
    "cumulative_trapezoid",
    "deg2rad",
    "diag",
    "diag_embed",
    "diagflat",
    "diagonal",
    "diagonal_scatter",
    "diff",
    "digamma",
    "digamma_",
    "dist",
    "div",
    "div_",
    "divide",
    "divide_",
    "dot",
    "dsplit",
    "dstack",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "einsum",
    "empty",
    "empty_like",
    "eq",
    "equal",
    "equal_",
    "equal_all",
    "erf",
    "erf_",
    "erfinv",
    "erfinv_",
    "exp",
    "exp_",
    "expand",
    "expand_as",
    "expm1",
    "expm1_",
    "exponential_",
    "eye",
    "fill_constant",
    "flatten",
    "flatten_",
    "flip",
    "floor",
    "floor_",
    "floor_divide",
    "floor_divide_",
    "floor_mod",
    "floor_mod_",
    "fmax",
    "fmin",
    "frac",
    "frac_",
    "frexp",
    "from_dlpack",
    "from_numpy",
    "full",
    "full_like",
    "gammainc",
    "gammainc_",
    "gammaincc",
    "gammaincc_",
    "gammaln",
    "gammaln_",
    "gather",
    "gather_nd",
    "gcd",
    "gcd_",
    "ge",
    "geometric_",
    "ger",
    "greater",
    "greater_equal",
    "greater_equal_",
    "greater_than",
    "greater_than_",
    "gt",
    "heaviside",
    "histogram",
    "histogram_bin_edges",
    "histogramdd",
    "householder_product",
    "hsplit",
    "hstack",
    "hypot",
    "hypot_",
    "i0",
    "i0_",
    "i0e",
    "i1",
    "i1e",
    "imag",
    "increment",
    "index_add",
    "index_add_",
    "index_fill",
    "index_fill_",
    "index_put",
    "index_put_",
    "index_sample",
    "index_select",
    "inner",
    "inverse",
    "is_complex",
    "is_empty",
    "is_floating_point",
    "is_integer",
    "is_tensor",
    "isclose",
    "isfinite",
    "isin",
    "isinf",
    "isnan",
    "isneginf",
    "isposinf",
    "isreal",
    "istft",
    "kron",
    "kthvalue",
    "lcm",
    "lcm_",
    "ldexp",
    "ldexp_",
    "le",
    "lerp",
    "lerp_",
    "less",
    "less_",
    "less_equal",
    "less_equal_",
    "less_than",
    "less_than_",
    "lgamma",
    "lgamma_",
    "linalg",
    "linspace",
    "log",
    "log1p",
    "log1p_",
    "log2",
    "log2_",
    "log10",
    "log10_",
    "log_",
    "log_normal",
    "log_normal_",
    "logaddexp",
    "logcumsumexp",
    "logical_and",
    "logical_and_",
    "logical_not",
    "logical_not_",
    "logical_or",
    "logical_or_",
    "logical_xor",
    "logical_xor_",
    "logit",
    "logit_",
    "logspace",
    "logsumexp",
    "lstsq",
    "lt",
    "lu",
    "lu_solve",
    "lu_unpack",
    "manipulation",
    "masked_fill",
    "masked_fill_",
    "masked_scatter",
    "masked_scatter_",
    "masked_select",
    "math",
    "matmul",
    "matrix_power",
    "matrix_transpose",
    "max",
    "maximum",
    "mean",
    "median",
    "meshgrid",
    "min",
    "minimum",
    "mm",
    "mod",
    "mod_",
    "mode",
    "moveaxis",
    "msort",
    "mul",
    "mul_",
    "multi_dot",
    "multigammaln",
    "multigammaln_",
    "multinomial",
    "multiplex",
    "multiply",
    "multiply_",
    "mv",
    "nan_to_num",
    "nan_to_num_",
    "nanmean",
    "nanmedian",
    "nanquantile",
    "nansum",
    "narrow",
    "ne",
    "neg",
    "neg_",
    "negative",
    "nextafter",
    "nonzero",
    "norm",
    "normal",
    "normal_",
    "not_equal",
    "not_equal_",
    "numel",
    "ones",
    "ones_like",
    "ormqr",
    "outer",
    "pca_lowrank",
    "pdist",
    "permute",
    "pinv",
    "poisson",
    "polar",
    "polygamma",
    "polygamma_",
    "positive",
    "pow",
    "pow_",
    "prod",
    "put_along_axis",
    "put_along_axis_",
    "qr",
    "quantile",
    "rad2deg",
    "rand",
    "rand_like",
    "randint",
    "randint_like",
    "randn",
    "randn_like",
    "random_",
    "randperm",
    "range",
    "rank",
    "ravel",
    "real",
    "reciprocal",
    "reciprocal_",
    "reduce_as",
    "remainder",
    "remainder_",
    "renorm",
    "renorm_",
    "repeat",
    "repeat_interleave",
    "reshape",
    "reshape_",
    "resize_",
    "reverse",
    "roll",
    "rot90",
    "round",
    "round_",
    "row_stack",
    "rsqrt",
    "rsqrt_",
    "scale",
    "scale_",
    "scatter",
    "scatter_",
    "scatter_add",
    "scatter_add_",
    "scatter_nd",
    "scatter_nd_add",
    "scatter_reduce",
    "searchsorted",
    "select_scatter",
    "set_",
    "set_printoptions",
    "sgn",
    "shape",
    "shard_index",
    "sigmoid",
    "sigmoid_",
    "sign",
    "signbit",
    "sin",
    "sin_",
    "sinc",
    "sinc_",
    "sinh",
    "sinh_",
    "slice",
    "slice_scatter",
    "slogdet",
    "softmax",
    "solve",
    "sort",
    "split",
    "split_with_sizes",
    "sqrt",
    "sqrt_",
    "square",
    "square_",
    "squeeze",
    "squeeze_",
    "stack",
    "standard_gamma",
    "standard_normal",
    "stanh",
    "std",
    "stft",
    "strided_slice",
    "sub",
    "sub_",
    "subtract",
    "subtract_",
    "sum",
    "svd",
    "svd_lowrank",
    "svdvals",
    "swapaxes",
    "swapdims",
    "t",
    "t_",
    "take",
    "take_along_axis",
    "take_along_dim",
    "tan",
    "tan_",
    "tanh",
    "tanh_",
    "tensor_split",
    "tensordot",
    "tile",
    "to_dlpack",
    "to_tensor",
    "tolist",
    "top_p_sampling",
    "topk",
    "trace",
    "transpose",
    "transpose_",
    "trapezoid",
    "tril",
    "tril_",
    "tril_indices",
    "triu",
    "triu_",
    "triu_indices",
    "true_divide",
    "trunc",
    "trunc_",
    "unbind",
    "unflatten",
    "unfold",
    "uniform",
    "uniform_",
    "unique",
    "unique_consecutive",
    "unsqueeze",
    "unsqueeze_",
    "unstack",
    "vander",
    "var",
    "vecdot",
    "view",
    "view_as",
    "view_as_complex",
    "view_as_real",
    "vsplit",
    "vstack",
    "where",
    "where_",
    "zeros",
    "zeros_like",
]
