"""Data types under their public names, their limits, and the default floating type."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np

from paddle._public import constants, public
from umiak.core import dtype as _dt
from umiak.core.context import current
from umiak.core.dtype import DType
from umiak.util.dtypes import NAMES_ALONE, ROWS
from umiak.util.errors import op_error

dtype = public("paddle paddle.framework", name="dtype")(DType)

# These names shadow builtins, also below; nothing in this module calls those.
globals().update({d.name: d for d in _dt.all_dtypes()})
half = _dt.float16
uint16 = _dt.bfloat16  # arrays that lack the type carry its bits as uint16
float = _dt.float32
double = _dt.float64
cfloat = _dt.complex64
cdouble = _dt.complex128
uint32, uint64, pstring, raw = _dt.uint32, _dt.uint64, _dt.pstring, _dt.undefined  # names alone: no tensor has them
constants("paddle", __name__, {name: d for name, d in globals().items() if type(d) is DType})


@public("paddle.framework")
def convert_np_dtype_to_dtype_(np_dtype: Any) -> DType:
    """Dtype of a name, a NumPy or Python type, or a dtype.

    Args:
        np_dtype: what names the dtype; ``"uint16"`` is bfloat16, whose bits arrays carry so.

    Returns:
        A dtype.

    Raises:
        TypeError: a value that names no dtype.

    Example:
        >>> import numpy as np, paddle
        >>> paddle.framework.convert_np_dtype_to_dtype_(np.int64)
        paddle.int64
    """
    return _dt.convert(np_dtype)


@public("paddle paddle.framework")
def get_default_dtype() -> str:
    """Name of the dtype that Python floats and ``paddle.ones`` get.

    Returns:
        A str, ``"float32"`` unless set.

    Example:
        >>> import paddle
        >>> paddle.get_default_dtype()
        'float32'
    """
    return _dt.from_id(current().state.default_dtype).name


@public("paddle paddle.framework")
def set_default_dtype(d: Any) -> None:
    """Set the dtype of Python floats and of creation functions.

    Args:
        d: float16, bfloat16, float32 or float64, as a dtype or a name.

    Raises:
        TypeError: another dtype, or a name that is no dtype's.

    Example:
        >>> import paddle
        >>> paddle.set_default_dtype("float64")
        >>> paddle.ones([1]).dtype
        paddle.float64
        >>> paddle.set_default_dtype("float32")
    """
    converted = _dt.convert(d)
    if converted not in (_dt.float16, _dt.bfloat16, _dt.float32, _dt.float64):
        raise op_error(TypeError, "set_default_dtype", "float16, bfloat16, float32 or float64", converted.name)
    current().state.default_dtype = converted.id


@public("paddle paddle.framework")
class iinfo:
    """Limits of an integer dtype.

    Args:
        dtype: an integer dtype or its name.

    Attributes:
        min: the smallest number.
        max: the largest number.
        bits: how many bits an element has.
        dtype: the name.

    Raises:
        ValueError: a dtype that is not one of integers.
        TypeError: a value that is not a dtype.

    Example:
        >>> import paddle
        >>> paddle.iinfo("int8")
        paddle.iinfo(min=-128, max=127, bits=8, dtype=int8)
    """

    def __init__(self, dtype: Any) -> None:
        converted = dtype if isinstance(dtype, DType) else _dt.convert(dtype)
        if not converted.is_integer:
            raise op_error(ValueError, "iinfo", "an integer dtype", converted.name)
        self.min, self.max = next(row for row in (*ROWS.values(), *NAMES_ALONE) if row.name == converted.name).limits
        self.bits, self.dtype = converted.bits, converted.name

    def __repr__(self) -> str:
        return f"paddle.iinfo(min={self.min}, max={self.max}, bits={self.bits}, dtype={self.dtype})"


@public("paddle paddle.framework", aliases={"type": "dtype"})
class finfo:
    """Limits of a floating dtype, or of the parts of a complex one.

    Args:
        dtype: a floating or complex dtype, or its name.

    Attributes:
        min: the smallest number.
        max: the largest number.
        eps: the distance from 1 to the next number.
        resolution: the decimal resolution, ``10 ** -digits``, with all digits that the dtype keeps.
        smallest_normal: the smallest positive number of full precision.
        tiny: the same.
        bits: how many bits an element has.
        dtype: the name.

    Raises:
        ValueError: a dtype of another kind.
        TypeError: a value that is not a dtype.

    Example:
        >>> import paddle
        >>> paddle.finfo("bfloat16").eps
        0.0078125
    """

    def __init__(self, dtype: Any) -> None:
        converted = _dt.convert(dtype)
        if not (converted.is_floating or converted.is_complex):
            raise op_error(ValueError, "finfo", "a floating or complex dtype", converted.name)
        converted = converted.real
        info = ml_dtypes.finfo(converted.numpy)
        for name in ("min", "max", "eps", "smallest_normal", "tiny"):
            setattr(self, name, info_number(getattr(info, name)))
        # That of NumPy is rounded to the dtype.
        self.resolution = 10.0 ** -math.floor(-math.log10(info_number(info.eps)))
        self.bits, self.dtype = converted.bits, converted.name

    def __repr__(self) -> str:
        names = ("min", "max", "eps", "resolution", "smallest_normal", "tiny")
        inner = ", ".join(f"{n}={getattr(self, n):g}" for n in names)
        return f"paddle.finfo({inner}, bits={self.bits}, dtype={self.dtype})"


def info_number(x: Any) -> Any:
    """A limit as a Python float (the module's own ``float`` is a dtype)."""
    return np.float64(x).item()
