"""Type promotion: the dtype in which an operation on two operands runs, in one table.

Operands of one dtype never come here: the core asks only when dtypes differ, when a number does not fit the tensor's
dtype, or when an operand is neither a tensor nor a number. The rules:

* floating with floating: the wider one; float16 with bfloat16 gives float32;
* real with complex: complex of the wider precision;
* integers, bool and floats do not mix, unless one side is a 0-d tensor;
* a Python scalar is weak: it takes the tensor's dtype, or int64, float32 or complex64 where the tensor's kind is
  lower (complex128 for float64).

How much of this an operation follows is its row in :data:`RULES`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.array import from_numpy
from umiak.core.context import current
from umiak.core.dtype import DType
from umiak.core.tensor import Tensor
from umiak.ir.expr import Sym
from umiak.ir.size_array import SizeArray
from umiak.ops import scalars
from umiak.ops.base import packed_error
from umiak.util.errors import OperandError, op_error

# How an operation treats operands of different dtypes:
#   weak   as above; a 0-d tensor takes the other's dtype, unless its kind is higher
#   full   as above; a 0-d tensor counts like any other
#   float  as above; integers and floats do not mix even where one is 0-d
#   none   never mixed
RULES: dict[str, str] = {
    **dict.fromkeys(
        ("add", "sub", "mul", "div", "remainder", "pow", "eq", "ne", "lt", "le", "gt", "ge", "copysign", "hypot"),
        "weak",
    ),
    "floor_div": "full",
    **dict.fromkeys(("maximum", "minimum", "fmax", "fmin", "atan2", "nextafter", "logaddexp", "where"), "float"),
    **dict.fromkeys(("igamma", "igammac"), "float"),
    **dict.fromkeys(("logical_and", "logical_or", "logical_xor", "heaviside", "gcd", "lcm"), "float"),
}
# Integers become floats first, of this dtype; it does not follow the default dtype, which is for creation.
FLOAT_RESULT = {"div": dt.float32, "hypot": dt.float32, "logaddexp": dt.float32, "atan2": dt.float64}

_KINDS = {"bool": 0, "int": 1, "float": 2, "complex": 3}


def kind(d: DType) -> int:
    """0 bool, 1 integer, 2 floating, 3 complex."""
    return 0 if d.is_bool else 1 if d.is_integer else 2 if d.is_floating else 3


def _join(a: DType, b: DType) -> DType:
    low, high = sorted((a, b), key=kind)
    if a is b:
        return a
    if high.is_complex:
        return dt.complex128 if dt.complex128 in (a, b) or dt.float64 in (a, b) else dt.complex64
    if high.is_floating:
        if not low.is_floating:
            return high
        if a.itemsize == b.itemsize:
            return dt.float32
        return max(a, b, key=lambda d: d.itemsize)
    return dt.convert(np.promote_types(a.numpy, b.numpy))


class _Lattice(dict[tuple[DType, DType], DType]):
    """The common dtype of two of whole bytes, found when they first meet."""

    def __missing__(self, pair: tuple[DType, DType]) -> DType:
        if pair[0].is_packed or pair[1].is_packed:
            raise KeyError(pair)
        joined = self[pair] = _join(*pair)
        return joined


LATTICE = _Lattice()


def default_float() -> DType:
    """The dtype of Python floats."""
    return dt.from_id(current().state.default_dtype)


def of_tensors(op: str, a: DType, a_ndim: int, b: DType, b_ndim: int) -> DType:
    """The dtype in which ``op`` runs on tensors of dtypes ``a`` and ``b``; raise where they do not mix."""
    rule = RULES.get(op, "none")
    if (a.is_packed or b.is_packed) and (a is not b or op in FLOAT_RESULT):
        raise packed_error(op, a if a.is_packed else b, f"{a.name} and {b.name}")
    if a is b:
        dtype = a
    elif rule == "none" and a.is_floating and b.is_floating and current().amp()[0]:
        dtype = LATTICE[a, b]  # mixed precision makes low operands, and casts them
    elif rule == "none":
        raise op_error(OperandError, op, "operands of one dtype", f"{a.name} and {b.name}", "Cast one of them first.")
    elif a.is_complex != b.is_complex or (a.is_floating and b.is_floating and bool(a_ndim) == bool(b_ndim)):
        dtype = LATTICE[a, b]
    elif rule == "weak" and bool(a_ndim) != bool(b_ndim):
        array, scalar = (a, b) if a_ndim else (b, a)
        dtype = LATTICE[a, b] if kind(scalar) > kind(array) else array
    elif (
        (a.is_floating and b.is_floating)
        or (a.is_complex and b.is_complex)
        or (rule != "float" and not (a_ndim and b_ndim))
    ):
        dtype = LATTICE[a, b]
    else:
        raise op_error(
            OperandError,
            op,
            "floating operands, or a complex one, or equal dtypes",
            f"{a.name} and {b.name}",
            "Cast one of them first.",
        )
    return FLOAT_RESULT[op] if op in FLOAT_RESULT and kind(dtype) < 2 else dtype


def with_number(op: str, d: DType, number: Any) -> DType:
    """The dtype in which ``op`` runs on a tensor of dtype ``d`` and a Python scalar."""
    level = _KINDS[number.kind if type(number) is Sym else type(number).__name__]
    if d.is_packed and op not in scalars.COMPARISONS:
        raise packed_error(op, d, d.name)
    if level <= kind(d):
        dtype = d
    elif level == 1:
        dtype = dt.int64
    elif level == 2:
        dtype = dt.float32
    else:
        dtype = dt.complex128 if d is dt.float64 else dt.complex64
    return FLOAT_RESULT[op] if op in FLOAT_RESULT and kind(dtype) < 2 else dtype


def operand(x: Any) -> Any:
    """``x`` as a tensor or a Python scalar, or None where it is neither (NumPy's scalars count as Python's)."""
    if isinstance(x, (Tensor, bool, int, float, complex)) or hasattr(x, "is_symbolic"):
        if type(x) in (bool, int, float, complex) or not isinstance(x, (int, float, complex)):
            return x
        return complex(x) if isinstance(x, complex) else float(x) if isinstance(x, float) else int(x)
    if isinstance(x, np.generic) and x.dtype.kind in "biufc":
        return x.item()
    if isinstance(x, SizeArray):
        return of_sizes(x)
    if isinstance(x, np.ndarray):
        return from_numpy(x)
    return None


def of_sizes(a: SizeArray) -> Any:
    """A tensor of an array of sizes that are not declared."""
    d = dt.convert(a.dtype)
    parts = [F.full(x, shape=(), dtype=d) for x in a.flat]
    return F.reshape(F.stack(parts, axis=0), shape=a.shape)


def promote(op: str, x: Any, y: Any) -> Any:
    """``x`` and ``y`` as operands of one dtype for ``op``; NotImplemented where one is no operand at all."""
    if op == "matmul":
        x, y = _beside(x, y), _beside(y, x)
    x, y = operand(x), operand(y)
    if x is None or y is None:
        return NotImplemented
    if isinstance(x, int) or isinstance(y, int):
        pair = _with_large(op, x, y)
        if pair is not None:
            return pair
    if isinstance(x, Tensor):
        if isinstance(y, Tensor):
            to = of_tensors(op, x.dtype, x.ndim, y.dtype, y.ndim)
            return cast(x, to), cast(y, to)
        return cast(x, with_number(op, x.dtype, y)), y
    if isinstance(y, Tensor):
        return x, cast(y, with_number(op, y.dtype, x))
    raise op_error(TypeError, op, "a tensor operand", f"{type(x).__name__} and {type(y).__name__}")


def _beside(x: Any, other: Any) -> Any:
    """An array in the dtype of the tensor that it is multiplied with, where that has all of its kind."""
    if not isinstance(x, np.ndarray) or not isinstance(other, Tensor):
        return x
    tensor = from_numpy(x)
    return cast(tensor, other.dtype) if kind(tensor.dtype) <= kind(other.dtype) else tensor


def _with_large(op: str, x: Any, y: Any) -> tuple[Any, Any] | None:
    """Operands where an int beyond 64 bits meets integers: refused, but in comparisons; None for all others."""
    tensor, number = (x, y) if isinstance(x, Tensor) else (y, x)
    if not isinstance(tensor, Tensor) or kind(tensor.dtype) > 1 or scalars.fits(number, *scalars.INT64):
        return None
    if op in scalars.COMPARISONS:
        return scalars.compare_out_of_range(x, y)
    raise scalars.overflow_error(op, number, *(scalars.bounds(tensor.dtype) or scalars.INT64))


def cast(x: Tensor, to: DType) -> Tensor:
    """``x`` in dtype ``to``; itself when it is already."""
    return x if x.dtype is to else F.cast(x, dtype=to)
