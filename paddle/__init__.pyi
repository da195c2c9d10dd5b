"""Made by ``tools/public_stubs.py``."""

import builtins

from paddle import amp as amp
from paddle import audio as audio
from paddle import autograd as autograd
from paddle import callbacks as callbacks
from paddle import compat as compat
from paddle import cuda as cuda
from paddle import dataset as dataset
from paddle import decomposition as decomposition
from paddle import device as device
from paddle import distributed as distributed
from paddle import distribution as distribution
from paddle import fft as fft
from paddle import framework as framework
from paddle import geometric as geometric
from paddle import hapi as hapi
from paddle import hub as hub
from paddle import incubate as incubate
from paddle import inference as inference
from paddle import io as io
from paddle import jit as jit
from paddle import library as library
from paddle import linalg as linalg
from paddle import metric as metric
from paddle import nn as nn
from paddle import onnx as onnx
from paddle import ops as ops
from paddle import optimizer as optimizer
from paddle import pir as pir
from paddle import profiler as profiler
from paddle import reader as reader
from paddle import regularizer as regularizer
from paddle import signal as signal
from paddle import sparse as sparse
from paddle import special as special
from paddle import static as static
from paddle import sysconfig as sysconfig
from paddle import tensor as tensor
from paddle import text as text
from paddle import utils as utils
from paddle import version as version
from paddle import vision as vision
from paddle.amp.auto_cast import autocast as autocast
from paddle.amp.auto_cast import get_autocast_cpu_dtype as get_autocast_cpu_dtype
from paddle.amp.auto_cast import get_autocast_dtype as get_autocast_dtype
from paddle.amp.auto_cast import get_autocast_gpu_dtype as get_autocast_gpu_dtype
from paddle.amp.auto_cast import is_autocast_enabled as is_autocast_enabled
from paddle.autograd.run import grad as grad
from paddle.compat.proxy import disable_compat as disable_compat
from paddle.compat.proxy import enable_compat as enable_compat
from paddle.compat.proxy import use_compat_guard as use_compat_guard
from paddle.device.default import get_default_device as get_default_device
from paddle.device.default import get_device_module as get_device_module
from paddle.device.default import set_default_device as set_default_device
from paddle.device.places import device_guard as device_guard
from paddle.device.places import get_cudnn_version as get_cudnn_version
from paddle.device.places import get_device as get_device
from paddle.device.places import is_compiled_with_cinn as is_compiled_with_cinn
from paddle.device.places import is_compiled_with_cuda as is_compiled_with_cuda
from paddle.device.places import is_compiled_with_custom_device as is_compiled_with_custom_device
from paddle.device.places import is_compiled_with_distribute as is_compiled_with_distribute
from paddle.device.places import is_compiled_with_ipu as is_compiled_with_ipu
from paddle.device.places import is_compiled_with_rocm as is_compiled_with_rocm
from paddle.device.places import is_compiled_with_xpu as is_compiled_with_xpu
from paddle.device.places import set_device as set_device
from paddle.device.streams import Event as Event
from paddle.device.streams import Stream as Stream
from paddle.device.threads import get_num_threads as get_num_threads
from paddle.device.threads import set_num_threads as set_num_threads
from paddle.distributed.data_parallel import DataParallel as DataParallel
from paddle.framework.background_save import async_save as async_save
from paddle.framework.background_save import clear_async_save_task_queue as clear_async_save_task_queue
from paddle.framework.batch import batch as batch
from paddle.framework.checks import check_shape as check_shape
from paddle.framework.dtype import finfo as finfo
from paddle.framework.dtype import get_default_dtype as get_default_dtype
from paddle.framework.dtype import iinfo as iinfo
from paddle.framework.dtype import set_default_dtype as set_default_dtype
from paddle.framework.flags import get_flags as get_flags
from paddle.framework.flags import set_flags as set_flags
from paddle.framework.grad_mode import enable_grad as enable_grad
from paddle.framework.grad_mode import is_grad_enabled as is_grad_enabled
from paddle.framework.grad_mode import no_grad as no_grad
from paddle.framework.grad_mode import set_grad_enabled as set_grad_enabled
from paddle.framework.loading import load as load
from paddle.framework.mode import disable_signal_handler as disable_signal_handler
from paddle.framework.mode import disable_static as disable_static
from paddle.framework.mode import in_dynamic_mode as in_dynamic_mode
from paddle.framework.param_attr import ParamAttr as ParamAttr
from paddle.framework.parameter import create_parameter as create_parameter
from paddle.framework.place import CPUPlace as CPUPlace
from paddle.framework.place import CUDAPinnedPlace as CUDAPinnedPlace
from paddle.framework.place import CUDAPlace as CUDAPlace
from paddle.framework.place import CustomPlace as CustomPlace
from paddle.framework.place import IPUPlace as IPUPlace
from paddle.framework.place import XPUPinnedPlace as XPUPinnedPlace
from paddle.framework.place import XPUPlace as XPUPlace
from paddle.framework.random import Generator as Generator
from paddle.framework.random import get_cuda_rng_state as get_cuda_rng_state
from paddle.framework.random import get_rng_state as get_rng_state
from paddle.framework.random import manual_seed as manual_seed
from paddle.framework.random import seed as seed
from paddle.framework.random import set_cuda_rng_state as set_cuda_rng_state
from paddle.framework.random import set_rng_state as set_rng_state
from paddle.framework.saving import save as save
from paddle.hapi.flops import flops as flops
from paddle.hapi.model import Model as Model
from paddle.hapi.summary import summary as summary
from paddle.nn.functional import adaptive_avg_pool1d as adaptive_avg_pool1d
from paddle.nn.functional import conv1d as conv1d
from paddle.nn.functional import conv2d as conv2d
from paddle.nn.functional import conv3d as conv3d
from paddle.nn.functional import group_norm as group_norm
from paddle.nn.functional import layer_norm as layer_norm
from paddle.nn.initializer.lazy_init import LazyGuard as LazyGuard
from paddle.static.program import enable_static as enable_static
from paddle.tensor import abs as abs
from paddle.tensor import abs_ as abs_
from paddle.tensor import acos as acos
from paddle.tensor import acos_ as acos_
from paddle.tensor import acosh as acosh
from paddle.tensor import acosh_ as acosh_
from paddle.tensor import add as add
from paddle.tensor import all as all
from paddle.tensor import allclose as allclose
from paddle.tensor import amax as amax
from paddle.tensor import amin as amin
from paddle.tensor import angle as angle
from paddle.tensor import any as any
from paddle.tensor import argmax as argmax
from paddle.tensor import argmin as argmin
from paddle.tensor import argsort as argsort
from paddle.tensor import argwhere as argwhere
from paddle.tensor import as_complex as as_complex
from paddle.tensor import as_real as as_real
from paddle.tensor import asin as asin
from paddle.tensor import asin_ as asin_
from paddle.tensor import asinh as asinh
from paddle.tensor import asinh_ as asinh_
from paddle.tensor import atan as atan
from paddle.tensor import atan2 as atan2
from paddle.tensor import atan_ as atan_
from paddle.tensor import atanh as atanh
from paddle.tensor import atanh_ as atanh_
from paddle.tensor import bernoulli as bernoulli
from paddle.tensor import bincount as bincount
from paddle.tensor import bitwise_and as bitwise_and
from paddle.tensor import bitwise_and_ as bitwise_and_
from paddle.tensor import bitwise_invert as bitwise_invert
from paddle.tensor import bitwise_invert_ as bitwise_invert_
from paddle.tensor import bitwise_left_shift as bitwise_left_shift
from paddle.tensor import bitwise_left_shift_ as bitwise_left_shift_
from paddle.tensor import bitwise_not as bitwise_not
from paddle.tensor import bitwise_not_ as bitwise_not_
from paddle.tensor import bitwise_or as bitwise_or
from paddle.tensor import bitwise_or_ as bitwise_or_
from paddle.tensor import bitwise_right_shift as bitwise_right_shift
from paddle.tensor import bitwise_right_shift_ as bitwise_right_shift_
from paddle.tensor import bitwise_xor as bitwise_xor
from paddle.tensor import bitwise_xor_ as bitwise_xor_
from paddle.tensor import bmm as bmm
from paddle.tensor import broadcast_tensors as broadcast_tensors
from paddle.tensor import broadcast_to as broadcast_to
from paddle.tensor import bucketize as bucketize
from paddle.tensor import cat as cat
from paddle.tensor import cdist as cdist
from paddle.tensor import ceil as ceil
from paddle.tensor import cholesky as cholesky
from paddle.tensor import chunk as chunk
from paddle.tensor import clamp as clamp
from paddle.tensor import clip as clip
from paddle.tensor import clone as clone
from paddle.tensor import combinations as combinations
from paddle.tensor import concat as concat
from paddle.tensor import concatenate as concatenate
from paddle.tensor import conj as conj
from paddle.tensor import copysign as copysign
from paddle.tensor import copysign_ as copysign_
from paddle.tensor import cos as cos
from paddle.tensor import cos_ as cos_
from paddle.tensor import cosh as cosh
from paddle.tensor import cosh_ as cosh_
from paddle.tensor import count_nonzero as count_nonzero
from paddle.tensor import crop as crop
from paddle.tensor import cross as cross
from paddle.tensor import cummax as cummax
from paddle.tensor import cummin as cummin
from paddle.tensor import cumprod as cumprod
from paddle.tensor import cumprod_ as cumprod_
from paddle.tensor import cumsum as cumsum
from paddle.tensor import cumsum_ as cumsum_
from paddle.tensor import deg2rad as deg2rad
from paddle.tensor import diag as diag
from paddle.tensor import diag_embed as diag_embed
from paddle.tensor import diagflat as diagflat
from paddle.tensor import diagonal as diagonal
from paddle.tensor import diagonal_scatter as diagonal_scatter
from paddle.tensor import diff as diff
from paddle.tensor import digamma as digamma
from paddle.tensor import digamma_ as digamma_
from paddle.tensor import dist as dist
from paddle.tensor import div as div
from paddle.tensor import div_ as div_
from paddle.tensor import divide as divide
from paddle.tensor import divide_ as divide_
from paddle.tensor import dot as dot
from paddle.tensor import dsplit as dsplit
from paddle.tensor import eigvalsh as eigvalsh
from paddle.tensor import empty as empty
from paddle.tensor import empty_like as empty_like
from paddle.tensor import eq as eq
from paddle.tensor import equal as equal
from paddle.tensor import equal_ as equal_
from paddle.tensor import equal_all as equal_all
from paddle.tensor import erf as erf
from paddle.tensor import erf_ as erf_
from paddle.tensor import erfinv as erfinv
from paddle.tensor import exp as exp
from paddle.tensor import expand as expand
from paddle.tensor import expand_as as expand_as
from paddle.tensor import expm1 as expm1
from paddle.tensor import expm1_ as expm1_
from paddle.tensor import eye as eye
from paddle.tensor import flatten as flatten
from paddle.tensor import flatten_ as flatten_
from paddle.tensor import flip as flip
from paddle.tensor import floor as floor
from paddle.tensor import floor_divide as floor_divide
from paddle.tensor import floor_divide_ as floor_divide_
from paddle.tensor import floor_mod as floor_mod
from paddle.tensor import floor_mod_ as floor_mod_
from paddle.tensor import fmax as fmax
from paddle.tensor import fmin as fmin
from paddle.tensor import frac as frac
from paddle.tensor import frac_ as frac_
from paddle.tensor import frexp as frexp
from paddle.tensor import full as full
from paddle.tensor import full_like as full_like
from paddle.tensor import gammainc as gammainc
from paddle.tensor import gammainc_ as gammainc_
from paddle.tensor import gammaincc as gammaincc
from paddle.tensor import gammaincc_ as gammaincc_
from paddle.tensor import gammaln as gammaln
from paddle.tensor import gammaln_ as gammaln_
from paddle.tensor import gather as gather
from paddle.tensor import gather_nd as gather_nd
from paddle.tensor import gcd as gcd
from paddle.tensor import gcd_ as gcd_
from paddle.tensor import ge as ge
from paddle.tensor import ger as ger
from paddle.tensor import greater as greater
from paddle.tensor import greater_equal as greater_equal
from paddle.tensor import greater_equal_ as greater_equal_
from paddle.tensor import greater_than as greater_than
from paddle.tensor import greater_than_ as greater_than_
from paddle.tensor import gt as gt
from paddle.tensor import heaviside as heaviside
from paddle.tensor import histogram as histogram
from paddle.tensor import histogram_bin_edges as histogram_bin_edges
from paddle.tensor import histogramdd as histogramdd
from paddle.tensor import hsplit as hsplit
from paddle.tensor import hypot as hypot
from paddle.tensor import hypot_ as hypot_
from paddle.tensor import i0 as i0
from paddle.tensor import i0_ as i0_
from paddle.tensor import i0e as i0e
from paddle.tensor import i1 as i1
from paddle.tensor import i1e as i1e
from paddle.tensor import imag as imag
from paddle.tensor import index_add as index_add
from paddle.tensor import index_add_ as index_add_
from paddle.tensor import index_fill as index_fill
from paddle.tensor import index_fill_ as index_fill_
from paddle.tensor import index_put as index_put
from paddle.tensor import index_put_ as index_put_
from paddle.tensor import index_sample as index_sample
from paddle.tensor import index_select as index_select
from paddle.tensor import inner as inner
from paddle.tensor import inverse as inverse
from paddle.tensor import is_complex as is_complex
from paddle.tensor import is_empty as is_empty
from paddle.tensor import is_floating_point as is_floating_point
from paddle.tensor import is_integer as is_integer
from paddle.tensor import is_tensor as is_tensor
from paddle.tensor import isclose as isclose
from paddle.tensor import isfinite as isfinite
from paddle.tensor import isin as isin
from paddle.tensor import isinf as isinf
from paddle.tensor import isnan as isnan
from paddle.tensor import isneginf as isneginf
from paddle.tensor import isposinf as isposinf
from paddle.tensor import isreal as isreal
from paddle.tensor import kron as kron
from paddle.tensor import kthvalue as kthvalue
from paddle.tensor import lcm as lcm
from paddle.tensor import lcm_ as lcm_
from paddle.tensor import ldexp as ldexp
from paddle.tensor import ldexp_ as ldexp_
from paddle.tensor import le as le
from paddle.tensor import lerp as lerp
from paddle.tensor import less as less
from paddle.tensor import less_ as less_
from paddle.tensor import less_equal as less_equal
from paddle.tensor import less_equal_ as less_equal_
from paddle.tensor import less_than as less_than
from paddle.tensor import less_than_ as less_than_
from paddle.tensor import lgamma as lgamma
from paddle.tensor import lgamma_ as lgamma_
from paddle.tensor import linspace as linspace
from paddle.tensor import log as log
from paddle.tensor import log1p as log1p
from paddle.tensor import log1p_ as log1p_
from paddle.tensor import log2 as log2
from paddle.tensor import log2_ as log2_
from paddle.tensor import log10 as log10
from paddle.tensor import log10_ as log10_
from paddle.tensor import log_ as log_
from paddle.tensor import logaddexp as logaddexp
from paddle.tensor import logcumsumexp as logcumsumexp
from paddle.tensor import logical_and as logical_and
from paddle.tensor import logical_and_ as logical_and_
from paddle.tensor import logical_not as logical_not
from paddle.tensor import logical_not_ as logical_not_
from paddle.tensor import logical_or as logical_or
from paddle.tensor import logical_or_ as logical_or_
from paddle.tensor import logical_xor as logical_xor
from paddle.tensor import logical_xor_ as logical_xor_
from paddle.tensor import logit as logit
from paddle.tensor import logit_ as logit_
from paddle.tensor import logsumexp as logsumexp
from paddle.tensor import lt as lt
from paddle.tensor import masked_fill as masked_fill
from paddle.tensor import masked_fill_ as masked_fill_
from paddle.tensor import masked_scatter as masked_scatter
from paddle.tensor import masked_scatter_ as masked_scatter_
from paddle.tensor import masked_select as masked_select
from paddle.tensor import matmul as matmul
from paddle.tensor import matrix_transpose as matrix_transpose
from paddle.tensor import maximum as maximum
from paddle.tensor import mean as mean
from paddle.tensor import median as median
from paddle.tensor import minimum as minimum
from paddle.tensor import mm as mm
from paddle.tensor import mod as mod
from paddle.tensor import mod_ as mod_
from paddle.tensor import mode as mode
from paddle.tensor import moveaxis as moveaxis
from paddle.tensor import msort as msort
from paddle.tensor import mul as mul
from paddle.tensor import multigammaln as multigammaln
from paddle.tensor import multigammaln_ as multigammaln_
from paddle.tensor import multinomial as multinomial
from paddle.tensor import multiply as multiply
from paddle.tensor import multiply_ as multiply_
from paddle.tensor import mv as mv
from paddle.tensor import nan_to_num as nan_to_num
from paddle.tensor import nan_to_num_ as nan_to_num_
from paddle.tensor import nanmean as nanmean
from paddle.tensor import nanmedian as nanmedian
from paddle.tensor import nanquantile as nanquantile
from paddle.tensor import nansum as nansum
from paddle.tensor import narrow as narrow
from paddle.tensor import ne as ne
from paddle.tensor import neg as neg
from paddle.tensor import neg_ as neg_
from paddle.tensor import negative as negative
from paddle.tensor import nextafter as nextafter
from paddle.tensor import nonzero as nonzero
from paddle.tensor import norm as norm
from paddle.tensor import normal as normal
from paddle.tensor import not_equal as not_equal
from paddle.tensor import not_equal_ as not_equal_
from paddle.tensor import ones as ones
from paddle.tensor import ones_like as ones_like
from paddle.tensor import outer as outer
from paddle.tensor import pdist as pdist
from paddle.tensor import permute as permute
from paddle.tensor import poisson as poisson
from paddle.tensor import polygamma as polygamma
from paddle.tensor import polygamma_ as polygamma_
from paddle.tensor import positive as positive
from paddle.tensor import pow as pow
from paddle.tensor import pow_ as pow_
from paddle.tensor import prod as prod
from paddle.tensor import put_along_axis as put_along_axis
from paddle.tensor import quantile as quantile
from paddle.tensor import rad2deg as rad2deg
from paddle.tensor import rand as rand
from paddle.tensor import rand_like as rand_like
from paddle.tensor import randint as randint
from paddle.tensor import randint_like as randint_like
from paddle.tensor import randn as randn
from paddle.tensor import randn_like as randn_like
from paddle.tensor import rank as rank
from paddle.tensor import ravel as ravel
from paddle.tensor import real as real
from paddle.tensor import reciprocal as reciprocal
from paddle.tensor import remainder as remainder
from paddle.tensor import remainder_ as remainder_
from paddle.tensor import repeat_interleave as repeat_interleave
from paddle.tensor import reshape as reshape
from paddle.tensor import reshape_ as reshape_
from paddle.tensor import reverse as reverse
from paddle.tensor import roll as roll
from paddle.tensor import rot90 as rot90
from paddle.tensor import round as round
from paddle.tensor import rsqrt as rsqrt
from paddle.tensor import scale as scale
from paddle.tensor import scatter as scatter
from paddle.tensor import scatter_ as scatter_
from paddle.tensor import scatter_add as scatter_add
from paddle.tensor import scatter_add_ as scatter_add_
from paddle.tensor import scatter_nd_add as scatter_nd_add
from paddle.tensor import scatter_reduce as scatter_reduce
from paddle.tensor import searchsorted as searchsorted
from paddle.tensor import sgn as sgn
from paddle.tensor import shape as shape
from paddle.tensor import shard_index as shard_index
from paddle.tensor import sigmoid as sigmoid
from paddle.tensor import sign as sign
from paddle.tensor import signbit as signbit
from paddle.tensor import sin as sin
from paddle.tensor import sin_ as sin_
from paddle.tensor import sinc as sinc
from paddle.tensor import sinc_ as sinc_
from paddle.tensor import sinh as sinh
from paddle.tensor import sinh_ as sinh_
from paddle.tensor import slice as slice
from paddle.tensor import sqrt as sqrt
from paddle.tensor import square as square
from paddle.tensor import square_ as square_
from paddle.tensor import squeeze as squeeze
from paddle.tensor import squeeze_ as squeeze_
from paddle.tensor import stack as stack
from paddle.tensor import standard_gamma as standard_gamma
from paddle.tensor import standard_normal as standard_normal
from paddle.tensor import std as std
from paddle.tensor import strided_slice as strided_slice
from paddle.tensor import sub as sub
from paddle.tensor import sub_ as sub_
from paddle.tensor import subtract as subtract
from paddle.tensor import subtract_ as subtract_
from paddle.tensor import sum as sum
from paddle.tensor import swapaxes as swapaxes
from paddle.tensor import swapdims as swapdims
from paddle.tensor import t as t
from paddle.tensor import t_ as t_
from paddle.tensor import take as take
from paddle.tensor import take_along_axis as take_along_axis
from paddle.tensor import take_along_dim as take_along_dim
from paddle.tensor import tan as tan
from paddle.tensor import tan_ as tan_
from paddle.tensor import tanh as tanh
from paddle.tensor import tanh_ as tanh_
from paddle.tensor import tensor_split as tensor_split
from paddle.tensor import tensordot as tensordot
from paddle.tensor import tile as tile
from paddle.tensor import topk as topk
from paddle.tensor import trace as trace
from paddle.tensor import transpose as transpose
from paddle.tensor import transpose_ as transpose_
from paddle.tensor import tril as tril
from paddle.tensor import tril_ as tril_
from paddle.tensor import triu as triu
from paddle.tensor import triu_ as triu_
from paddle.tensor import unbind as unbind
from paddle.tensor import unflatten as unflatten
from paddle.tensor import unfold as unfold
from paddle.tensor import uniform as uniform
from paddle.tensor import unique as unique
from paddle.tensor import unique_consecutive as unique_consecutive
from paddle.tensor import unsqueeze as unsqueeze
from paddle.tensor import unsqueeze_ as unsqueeze_
from paddle.tensor import unstack as unstack
from paddle.tensor import vander as vander
from paddle.tensor import var as var
from paddle.tensor import vecdot as vecdot
from paddle.tensor import view as view
from paddle.tensor import view_as as view_as
from paddle.tensor import view_as_complex as view_as_complex
from paddle.tensor import view_as_real as view_as_real
from paddle.tensor import vsplit as vsplit
from paddle.tensor import where as where
from paddle.tensor import zeros as zeros
from paddle.tensor import zeros_like as zeros_like
from paddle.tensor.arithmetic import increment as increment
from paddle.tensor.arithmetic import true_divide as true_divide
from paddle.tensor.attribute import Size as Size
from paddle.tensor.buffers import MmapStorage as MmapStorage
from paddle.tensor.casting import cast as cast
from paddle.tensor.casting import cast_ as cast_
from paddle.tensor.complex_numbers import complex as complex
from paddle.tensor.complex_numbers import polar as polar
from paddle.tensor.einsum import einsum as einsum
from paddle.tensor.exponents import softmax as softmax
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
from paddle.tensor.windows import bartlett_window as bartlett_window
from paddle.tensor.windows import blackman_window as blackman_window
from paddle.tensor.windows import hamming_window as hamming_window
from paddle.tensor.windows import hann_window as hann_window
from paddle.tensor.windows import kaiser_window as kaiser_window
from umiak.core.dtype import DType
from umiak.core.dtype import DType as dtype
from umiak.core.tensor import Tensor

bfloat16: DType
bool: DType
cdouble: DType
cfloat: DType
complex128: DType
complex64: DType
double: DType
e: builtins.float
float: DType
float16: DType
float32: DType
float4_e2m1fn: DType
float64: DType
float8_e3m4: DType
float8_e4m3: DType
float8_e4m3b11fnuz: DType
float8_e4m3fn: DType
float8_e4m3fnuz: DType
float8_e5m2: DType
float8_e5m2fnuz: DType
float8_e8m0fnu: DType
half: DType
inf: builtins.float
int16: DType
int32: DType
int4: DType
int64: DType
int8: DType
nan: builtins.float
newaxis: None
pi: builtins.float
pstring: DType
raw: DType
uint16: DType
uint32: DType
uint4: DType
uint64: DType
uint8: DType

__all__ = [
    "BFloat16Tensor",
    "BoolTensor",
    "ByteTensor",
    "CPUPlace",
    "CUDAPinnedPlace",
    "CUDAPlace",
    "CharTensor",
    "CustomPlace",
    "DataParallel",
    "DoubleTensor",
    "Event",
    "FloatTensor",
    "Generator",
    "HalfTensor",
    "IPUPlace",
    "IntTensor",
    "LazyGuard",
    "LongTensor",
    "MmapStorage",
    "Model",
    "ParamAttr",
    "ShortTensor",
    "Size",
    "Stream",
    "Tensor",
    "XPUPinnedPlace",
    "XPUPlace",
    "abs",
    "abs_",
    "acos",
    "acos_",
    "acosh",
    "acosh_",
    "adaptive_avg_pool1d",
    "add",
    "add_n",
    "addmm",
    "addmm_",
    "all",
    "allclose",
    "amax",
    "amin",
    "amp",
    "angle",
    "any",
    "arange",
    "argmax",
    "argmin",
    "argsort",
    "argwhere",
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
    "async_save",
    "atan",
    "atan2",
    "atan_",
    "atanh",
    "atanh_",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "audio",
    "autocast",
    "autograd",
    "baddbmm",
    "baddbmm_",
    "bartlett_window",
    "batch",
    "bernoulli",
    "bernoulli_",
    "bfloat16",
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
    "blackman_window",
    "block_diag",
    "bmm",
    "bool",
    "broadcast_shape",
    "broadcast_shapes",
    "broadcast_tensors",
    "broadcast_to",
    "bucketize",
    "callbacks",
    "cartesian_prod",
    "cast",
    "cast_",
    "cat",
    "cauchy_",
    "cdist",
    "cdouble",
    "ceil",
    "cfloat",
    "check_shape",
    "cholesky",
    "chunk",
    "clamp",
    "clear_async_save_task_queue",
    "clip",
    "clone",
    "column_stack",
    "combinations",
    "compat",
    "complex",
    "complex64",
    "complex128",
    "concat",
    "concatenate",
    "conj",
    "conv1d",
    "conv2d",
    "conv3d",
    "copysign",
    "copysign_",
    "cos",
    "cos_",
    "cosh",
    "cosh_",
    "count_nonzero",
    "create_parameter",
    "crop",
    "cross",
    "cuda",
    "cummax",
    "cummin",
    "cumprod",
    "cumprod_",
    "cumsum",
    "cumsum_",
    "cumulative_trapezoid",
    "dataset",
    "decomposition",
    "deg2rad",
    "device",
    "device_guard",
    "diag",
    "diag_embed",
    "diagflat",
    "diagonal",
    "diagonal_scatter",
    "diff",
    "digamma",
    "digamma_",
    "disable_compat",
    "disable_signal_handler",
    "disable_static",
    "dist",
    "distributed",
    "distribution",
    "div",
    "div_",
    "divide",
    "divide_",
    "dot",
    "double",
    "dsplit",
    "dstack",
    "dtype",
    "e",
    "eigvalsh",
    "einsum",
    "empty",
    "empty_like",
    "enable_compat",
    "enable_grad",
    "enable_static",
    "eq",
    "equal",
    "equal_",
    "equal_all",
    "erf",
    "erf_",
    "erfinv",
    "exp",
    "expand",
    "expand_as",
    "expm1",
    "expm1_",
    "eye",
    "fft",
    "finfo",
    "flatten",
    "flatten_",
    "flip",
    "float",
    "float4_e2m1fn",
    "float8_e3m4",
    "float8_e4m3",
    "float8_e4m3b11fnuz",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
    "float16",
    "float32",
    "float64",
    "floor",
    "floor_divide",
    "floor_divide_",
    "floor_mod",
    "floor_mod_",
    "flops",
    "fmax",
    "fmin",
    "frac",
    "frac_",
    "framework",
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
    "geometric",
    "geometric_",
    "ger",
    "get_autocast_cpu_dtype",
    "get_autocast_dtype",
    "get_autocast_gpu_dtype",
    "get_cuda_rng_state",
    "get_cudnn_version",
    "get_default_device",
    "get_default_dtype",
    "get_device",
    "get_device_module",
    "get_flags",
    "get_num_threads",
    "get_rng_state",
    "grad",
    "greater",
    "greater_equal",
    "greater_equal_",
    "greater_than",
    "greater_than_",
    "group_norm",
    "gt",
    "half",
    "hamming_window",
    "hann_window",
    "hapi",
    "heaviside",
    "histogram",
    "histogram_bin_edges",
    "histogramdd",
    "hsplit",
    "hstack",
    "hub",
    "hypot",
    "hypot_",
    "i0",
    "i0_",
    "i0e",
    "i1",
    "i1e",
    "iinfo",
    "imag",
    "in_dynamic_mode",
    "increment",
    "incubate",
    "index_add",
    "index_add_",
    "index_fill",
    "index_fill_",
    "index_put",
    "index_put_",
    "index_sample",
    "index_select",
    "inf",
    "inference",
    "inner",
    "int4",
    "int8",
    "int16",
    "int32",
    "int64",
    "inverse",
    "io",
    "is_autocast_enabled",
    "is_compiled_with_cinn",
    "is_compiled_with_cuda",
    "is_compiled_with_custom_device",
    "is_compiled_with_distribute",
    "is_compiled_with_ipu",
    "is_compiled_with_rocm",
    "is_compiled_with_xpu",
    "is_complex",
    "is_empty",
    "is_floating_point",
    "is_grad_enabled",
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
    "jit",
    "kaiser_window",
    "kron",
    "kthvalue",
    "layer_norm",
    "lcm",
    "lcm_",
    "ldexp",
    "ldexp_",
    "le",
    "lerp",
    "less",
    "less_",
    "less_equal",
    "less_equal_",
    "less_than",
    "less_than_",
    "lgamma",
    "lgamma_",
    "library",
    "linalg",
    "linspace",
    "load",
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
    "lt",
    "manual_seed",
    "masked_fill",
    "masked_fill_",
    "masked_scatter",
    "masked_scatter_",
    "masked_select",
    "matmul",
    "matrix_transpose",
    "max",
    "maximum",
    "mean",
    "median",
    "meshgrid",
    "metric",
    "min",
    "minimum",
    "mm",
    "mod",
    "mod_",
    "mode",
    "moveaxis",
    "msort",
    "mul",
    "multigammaln",
    "multigammaln_",
    "multinomial",
    "multiplex",
    "multiply",
    "multiply_",
    "mv",
    "nan",
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
    "newaxis",
    "nextafter",
    "nn",
    "no_grad",
    "nonzero",
    "norm",
    "normal",
    "normal_",
    "not_equal",
    "not_equal_",
    "numel",
    "ones",
    "ones_like",
    "onnx",
    "ops",
    "optimizer",
    "outer",
    "pdist",
    "permute",
    "pi",
    "pir",
    "poisson",
    "polar",
    "polygamma",
    "polygamma_",
    "positive",
    "pow",
    "pow_",
    "prod",
    "profiler",
    "pstring",
    "put_along_axis",
    "quantile",
    "rad2deg",
    "rand",
    "rand_like",
    "randint",
    "randint_like",
    "randn",
    "randn_like",
    "randperm",
    "range",
    "rank",
    "ravel",
    "raw",
    "reader",
    "real",
    "reciprocal",
    "reduce_as",
    "regularizer",
    "remainder",
    "remainder_",
    "renorm",
    "renorm_",
    "repeat_interleave",
    "reshape",
    "reshape_",
    "reverse",
    "roll",
    "rot90",
    "round",
    "row_stack",
    "rsqrt",
    "save",
    "scale",
    "scatter",
    "scatter_",
    "scatter_add",
    "scatter_add_",
    "scatter_nd",
    "scatter_nd_add",
    "scatter_reduce",
    "searchsorted",
    "seed",
    "select_scatter",
    "set_cuda_rng_state",
    "set_default_device",
    "set_default_dtype",
    "set_device",
    "set_flags",
    "set_grad_enabled",
    "set_num_threads",
    "set_printoptions",
    "set_rng_state",
    "sgn",
    "shape",
    "shard_index",
    "sigmoid",
    "sign",
    "signal",
    "signbit",
    "sin",
    "sin_",
    "sinc",
    "sinc_",
    "sinh",
    "sinh_",
    "slice",
    "slice_scatter",
    "softmax",
    "sort",
    "sparse",
    "special",
    "split",
    "sqrt",
    "square",
    "square_",
    "squeeze",
    "squeeze_",
    "stack",
    "standard_gamma",
    "standard_normal",
    "stanh",
    "static",
    "std",
    "strided_slice",
    "sub",
    "sub_",
    "subtract",
    "subtract_",
    "sum",
    "summary",
    "swapaxes",
    "swapdims",
    "sysconfig",
    "t",
    "t_",
    "take",
    "take_along_axis",
    "take_along_dim",
    "tan",
    "tan_",
    "tanh",
    "tanh_",
    "tensor",
    "tensor_split",
    "tensordot",
    "text",
    "tile",
    "to_dlpack",
    "to_tensor",
    "tolist",
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
    "uint4",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "unbind",
    "unflatten",
    "unfold",
    "uniform",
    "unique",
    "unique_consecutive",
    "unsqueeze",
    "unsqueeze_",
    "unstack",
    "use_compat_guard",
    "utils",
    "vander",
    "var",
    "vecdot",
    "version",
    "view",
    "view_as",
    "view_as_complex",
    "view_as_real",
    "vision",
    "vsplit",
    "vstack",
    "where",
    "where_",
    "zeros",
    "zeros_like",
]
