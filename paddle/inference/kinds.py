"""Kinds of elements, devices and precisions, and the versions of what serves models."""

from __future__ import annotations

from enum import Enum
from typing import Any

from paddle import version
from paddle._public import public
from umiak.core.dtype import DType, convert
from umiak.util.errors import op_error


class _Number(Enum):
    """An enumeration whose members are numbers to ``int`` and as indices, as those of C++ are."""

    def __int__(self) -> int:
        return self.value

    __index__ = __int__


@public("paddle.inference")
class DataType(_Number):
    """Types of the elements of inputs and outputs.

    Attributes:
        FLOAT32: floats of 32 bits.
        INT64: integers of 64 bits.
        INT32: integers of 32 bits.
        UINT8: integers of 8 bits without a sign.
        INT8: integers of 8 bits.
        FLOAT16: floats of 16 bits.
        BOOL: truth values.
        FLOAT64: floats of 64 bits.
        BFLOAT16: floats of 16 bits with the exponents of 32.

    Example:
        >>> import paddle
        >>> int(paddle.inference.DataType.INT64)
        1
    """

    FLOAT32 = 0
    INT64 = 1
    INT32 = 2
    UINT8 = 3
    INT8 = 4
    FLOAT16 = 5
    BOOL = 6
    FLOAT64 = 7
    BFLOAT16 = 8


@public("paddle.inference")
class PlaceType(_Number):
    """Types of devices that models run on.

    Attributes:
        UNK: not known.
        CPU: the host.
        GPU: a CUDA device.
        XPU: an XPU.
        CUSTOM: a device of a plug-in.

    Example:
        >>> import paddle
        >>> int(paddle.inference.PlaceType.CPU)
        0
    """

    UNK = -1
    CPU = 0
    GPU = 1
    XPU = 2
    CUSTOM = 4


@public("paddle.inference")
class PrecisionType(_Number):
    """Types that models compute in.

    Attributes:
        Float32: floats of 32 bits.
        Int8: integers of 8 bits, where a model has quantised them.
        Half: float16.
        Bfloat16: bfloat16.

    Example:
        >>> import paddle
        >>> paddle.inference.PrecisionType.Half.name
        'Half'
    """

    Float32 = 0
    Int8 = 1
    Half = 2
    Bfloat16 = 3


# What a computation in a precision is done in, beside float32.
NARROW = {PrecisionType.Half: "float16", PrecisionType.Bfloat16: "bfloat16"}


def data_type(dtype: DType) -> DataType:
    """The member that stands for a dtype."""
    name = dtype.name.upper()
    if name not in DataType.__members__:
        raise op_error(ValueError, "type", f"one of the dtypes {[x.lower() for x in DataType.__members__]}", dtype.name)
    return DataType[name]


def dtype_of(kind: DataType) -> DType:
    """The dtype that a member stands for."""
    return convert(kind.name.lower())


def _required(op_name: str, what: str, value: Any, kind: type[Enum]) -> Any:
    """The value, a member of an enumeration."""
    if not isinstance(value, kind):
        raise op_error(TypeError, op_name, f"a member of {kind.__name__} as {what}", repr(value))
    return value


@public("paddle.inference")
def get_num_bytes_of_data_type(dtype: DataType) -> int:
    """Return the size of an element.

    Args:
        dtype: its type.

    Returns:
        An int.

    Raises:
        TypeError: something that is no member of ``DataType``.

    Example:
        >>> import paddle
        >>> paddle.inference.get_num_bytes_of_data_type(paddle.inference.DataType.FLOAT16)
        2
    """
    return dtype_of(_required("get_num_bytes_of_data_type", "dtype", dtype, DataType)).itemsize


@public("paddle.inference")
def get_version() -> str:
    """Return which version of the reference framework's API this is, a line for each part.

    Returns:
        A str.

    Example:
        >>> import paddle
        >>> paddle.inference.get_version().splitlines()[0]
        'version: 3.3.1'
    """
    return f"version: {version.full_version}\ncommit: {version.commit}\nbranch: HEAD\n"


@public("paddle.inference")
def get_trt_compile_version() -> tuple[int, int, int]:
    """Return the version of TensorRT that this was built with: zeros, as it was built without.

    Returns:
        A tuple of three ints.

    Example:
        >>> import paddle
        >>> paddle.inference.get_trt_compile_version()
        (0, 0, 0)
    """
    return 0, 0, 0


@public("paddle.inference")
def get_trt_runtime_version() -> tuple[int, int, int]:
    """Return the version of TensorRT that is loaded: zeros, as none is.

    Returns:
        A tuple of three ints.

    Example:
        >>> import paddle
        >>> paddle.inference.get_trt_runtime_version()
        (0, 0, 0)
    """
    return 0, 0, 0


# Operators of older programs that go by another name today.
_RENAMED = """
arg_max=argmax arg_min=argmin bicubic_interp_v2=bicubic_interp bilinear_interp=legacy_bilinear_interp
bilinear_interp_v2=bilinear_interp bilinear_tensor_product=bilinear brelu=hardtanh
c_sync_calc_stream=sync_calc_stream crop=legacy_crop crop_tensor=crop deformable_conv_v1=deformable_conv
determinant=det diag_v2=diag elementwise_add=add elementwise_div=divide elementwise_floordiv=floor_divide
elementwise_fmax=fmax elementwise_fmin=fmin elementwise_heaviside=heaviside elementwise_max=maximum
elementwise_min=minimum elementwise_mod=remainder elementwise_mul=multiply elementwise_sub=subtract
expand=legacy_expand expand_as_v2=expand_as expand_v2=expand fill_any=fill fill_any_like=full_like
fill_constant=full fill_constant_batch_size_like=full_batch_size_like flatten_contiguous_range=flatten
gaussian_random=gaussian generate_proposals=legacy_generate_proposals generate_proposals_v2=generate_proposals
graph_reindex=reindex_graph graph_send_recv=send_u_recv graph_send_ue_recv=send_ue_recv graph_send_uv=send_uv
grid_sampler=grid_sample hard_shrink=hardshrink hard_sigmoid=hardsigmoid hard_swish=hardswish
hierarchical_sigmoid=hsigmoid_loss isfinite_v2=isfinite isinf_v2=isinf isnan_v2=isnan linear_interp_v2=linear_interp
lookup_table_v2=embedding matmul=legacy_matmul matmul_v2=matmul mean=mean_all mul=matmul_with_flatten
nearest_interp=legacy_nearest_interp nearest_interp_v2=nearest_interp one_hot_v2=one_hot range=arange reduce_all=all
reduce_amax=amax reduce_amin=amin reduce_any=any reduce_max=max reduce_mean=mean reduce_min=min reduce_prod=prod
reduce_sum=sum reshape=legacy_reshape reshape2=reshape_with_xshape save_combine=save_combine_tensor size=numel
slogdeterminant=slogdet softmax_with_cross_entropy=cross_entropy_with_softmax squeeze2=squeeze sum=add_n top_k=topk_v1
top_k_v2=topk transpose2=transpose trilinear_interp_v2=trilinear_interp uniform_random=uniform
uniform_random_inplace=uniform_inplace unsqueeze2=unsqueeze where_index=nonzero yolov3_loss=yolo_loss
"""
RENAMED = dict(pair.split("=") for pair in _RENAMED.split())


@public("paddle.inference")
def _get_phi_kernel_name(fluid_op_name: str) -> str:
    """Return how an operator of older programs is called today.

    Args:
        fluid_op_name: its name there.

    Returns:
        A str: the same, where it was not renamed.

    Raises:
        TypeError: something that is no str.

    Example:
        >>> import paddle
        >>> paddle.inference._get_phi_kernel_name("elementwise_add")
        'add'
    """
    if not isinstance(fluid_op_name, str):
        raise op_error(TypeError, "_get_phi_kernel_name", "the name of an operator", type(fluid_op_name).__name__)
    return RENAMED.get(fluid_op_name, fluid_op_name)
