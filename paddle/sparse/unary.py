"""Functions of the values of a sparse tensor, and of its shape."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from paddle._public import public
from paddle.tensor._args import (
    axes_of,
    axis_of,
    dtype_of,
    floats,
    integers,
    number,
    op_error,
    shape_of,
)
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.tensor import Tensor
from umiak.ops.promotion import cast as cast_values
from umiak.runtime import sparse_math
from umiak.runtime.sparse_tensor import SparseCoo, SparseCsr, SparseTensor


def need_sparse(x: Any, op: str) -> Any:
    """A sparse tensor, or an error that says what came."""
    if not isinstance(x, SparseTensor):
        got = "a dense tensor" if isinstance(x, Tensor) else type(x).__name__
        raise op_error(TypeError, op, "a sparse tensor", got)
    return x


def on_values(x: Any, op: str, f: Callable[[Tensor], Tensor]) -> Any:
    """The same positions with a function of the values."""
    return need_sparse(x, op).with_values(f(x.values()))


@public("paddle.sparse", usual=False)
def sin(x: Tensor, name: str | None = None) -> Tensor:
    """Sine of the values of a sparse tensor.

    Args:
        x: sparse COO or CSR tensor, floating, integer or complex.

    Returns:
        Sparse tensor of x's positions; integers become float32.

    Raises:
        TypeError: x is not sparse, or of another dtype.

    Example:
        >>> import paddle
        >>> x = paddle.sparse.sparse_coo_tensor([[0, 2]], [0.5, 1.0], [3])
        >>> [round(v, 4) for v in paddle.sparse.sin(x).values().tolist()]
        [0.4794, 0.8415]
    """
    return on_values(x, "sin", lambda v: F.sin(floats(v, "sin")))


@public("paddle.sparse", usual=False)
def tan(x: Tensor, name: str | None = None) -> Tensor:
    """Tangent of the values of a sparse tensor.

    Args:
        x: sparse COO or CSR tensor, floating, integer or complex.

    Returns:
        Sparse tensor of x's positions; integers become float32.

    Raises:
        TypeError: x is not sparse, or of another dtype.

    Example:
        >>> import paddle
        >>> x = paddle.sparse.sparse_coo_tensor([[0, 2]], [0.5, 1.0], [3])
        >>> [round(v, 4) for v in paddle.sparse.tan(x).values().tolist()]
        [0.5463, 1.5574]
    """
    return on_values(x, "tan", lambda v: F.tan(floats(v, "tan")))


@public("paddle.sparse", usual=False)
def asin(x: Tensor, name: str | None = None) -> Tensor:
    """Arc sine of the values of a sparse tensor.

    Args:
        x: sparse COO or CSR tensor, floating, integer or complex.

    Returns:
        Sparse tensor of x's positions; integers become float32.

    Raises:
        TypeError: x is not sparse, or of another dtype.

    Example:
        >>> import paddle
        >>> x = paddle.sparse.sparse_coo_tensor([[0, 2]], [0.5, 1.0], [3])
        >>> [round(v, 4) for v in paddle.sparse.asin(x).values().tolist()]
        [0.5236, 1.5708]
    """
    return on_values(x, "asin", lambda v: F.asin(floats(v, "asin")))


@public("paddle.sparse", usual=False)
def atan(x: Tensor, name: str | None = None) -> Tensor:
    """Arc tangent of the values of a sparse tensor.

    Args:
        x: sparse COO or CSR tensor, floating, integer or complex.

    Returns:
        Sparse tensor of x's positions; integers become float32.

    Raises:
        TypeError: x is not sparse, or of another dtype.

    Example:
        >>> import paddle
        >>> x = paddle.sparse.sparse_coo_tensor([[0, 2]], [0.5, 1.0], [3])
        >>> [round(v, 4) for v in paddle.sparse.atan(x).values().tolist()]
        [0.4636, 0.7854]
    """
    return on_values(x, "atan", lambda v: F.atan(floats(v, "atan")))


@public("paddle.sparse", usual=False)
def sinh(x: Tensor, name: str | None = None) -> Tensor:
    """Hyperbolic sine of the values of a sparse tensor.

    Args:
        x: sparse COO or CSR tensor, floating, integer or complex.

    Returns:
        Sparse tensor of x's positions; integers become float32.

    Raises:
        TypeError: x is not sparse, or of another dtype.

    Example:
        >>> import paddle
        >>> x = paddle.sparse.sparse_coo_tensor([[0, 2]], [0.5, 1.0], [3])
        >>> [round(v, 4) for v in paddle.sparse.sinh(x).values().tolist()]
        [0.5211, 1.1752]
    """
    return on_values(x, "sinh", lambda v: F.sinh(floats(v, "sinh")))


@public("paddle.sparse", usual=False)
def asinh(x: Tensor, name: str | None = None) -> Tensor:
    """Inverse hyperbolic sine of the values of a sparse tensor.

    Args:
        x: sparse COO or CSR tensor, floating, integer or complex.

    Returns:
        Sparse tensor of x's positions; integers become float32.

    Raises:
        TypeError: x is not sparse, or of another dtype.

    Example:
        >>> import paddle
        >>> x = paddle.sparse.sparse_coo_tensor([[0, 2]], [0.5, 1.0], [3])
        >>> [round(v, 4) for v in paddle.sparse.asinh(x).values().tolist()]
        [0.4812, 0.8814]
    """
    return on_values(x, "asinh", lambda v: F.asinh(floats(v, "asinh")))


@public("paddle.sparse", usual=False)
def atanh(x: Tensor, name: str | None = None) -> Tensor:
    """Inverse hyperbolic tangent of the values of a sparse tensor.

    Args:
        x: sparse COO or CSR tensor, floating, integer or complex.

    Returns:
        Sparse tensor of x's positions; integers become float32.

    Raises:
        TypeError: x is not sparse, or of another dtype.

    Example:
        >>> import paddle
        >>> x = paddle.sparse.sparse_coo_tensor([[0, 2]], [0.25, 0.5], [3])
        >>> [round(v, 4) for v in paddle.sparse.atanh(x).values().tolist()]
        [0.2554, 0.5493]
    """
    return on_values(x, "atanh", lambda v: F.atanh(floats(v, "atanh")))


@public("paddle.sparse", usual=False)
def tanh(x: Tensor, name: str | None = None) -> Tensor:
    """Hyperbolic tangent of the values of a sparse tensor.

    Args:
        x: sparse COO or CSR tensor, floating, integer or complex.

    Returns:
        Sparse tensor of x's positions; integers become float32.

    Raises:
        TypeError: x is not sparse, or of another dtype.

    Example:
        >>> import paddle
        >>> x = paddle.sparse.sparse_coo_tensor([[0, 2]], [0.5, 1.0], [3])
        >>> [round(v, 4) for v in paddle.sparse.tanh(x).values().tolist()]
        [0.4621, 0.7616]
    """
    return on_values(x, "tanh", lambda v: F.tanh(floats(v, "tanh")))


@public("paddle.sparse", usual=False)
def sqrt(x: Tensor, name: str | None = None) -> Tensor:
    """Square root of the values of a sparse tensor.

    Args:
        x: sparse COO or CSR tensor, floating, integer or complex.

    Returns:
        Sparse tensor of x's positions; integers become float32.

    Raises:
        TypeError: x is not sparse, or of another dtype.

    Example:
        >>> import paddle
        >>> x = paddle.sparse.sparse_coo_tensor([[0, 2]], [2.0, 9.0], [3])
        >>> [round(v, 4) for v in paddle.sparse.sqrt(x).values().tolist()]
        [1.4142, 3.0]
    """
    return on_values(x, "sqrt", lambda v: F.sqrt(floats(v, "sqrt")))


@public("paddle.sparse", usual=False)
def log1p(x: Tensor, name: str | None = None) -> Tensor:
    """Logarithm of 1 + v of the values of a sparse tensor.

    Args:
        x: sparse COO or CSR tensor, floating, integer or complex.

    Returns:
        Sparse tensor of x's positions; integers become float32.

    Raises:
        TypeError: x is not sparse, or of another dtype.

    Example:
        >>> import paddle
        >>> x = paddle.sparse.sparse_coo_tensor([[0, 2]], [0.5, 1.0], [3])
        >>> [round(v, 4) for v in paddle.sparse.log1p(x).values().tolist()]
        [0.4055, 0.6931]
    """
    return on_values(x, "log1p", lambda v: F.log1p(floats(v, "log1p")))


@public("paddle.sparse", usual=False)
def expm1(x: Tensor, name: str | None = None) -> Tensor:
    """Exponential minus 1 of the values of a sparse tensor.

    Args:
        x: sparse COO or CSR tensor, floating, integer or complex.

    Returns:
        Sparse tensor of x's positions; integers become float32.

    Raises:
        TypeError: x is not sparse, or of another dtype.

    Example:
        >>> import paddle
        >>> x = paddle.sparse.sparse_coo_tensor([[0, 2]], [0.5, 1.0], [3])
        >>> [round(v, 4) for v in paddle.sparse.expm1(x).values().tolist()]
        [0.6487, 1.7183]
    """
    return on_values(x, "expm1", lambda v: F.expm1(floats(v, "expm1")))


@public("paddle.sparse", usual=False)
def square(x: Tensor, name: str | None = None) -> Tensor:
    """Square of the values of a sparse tensor.

    Args:
        x: sparse COO or CSR tensor, of any dtype but bool.

    Returns:
        Sparse tensor of x's positions and dtype.

    Raises:
        TypeError: x is not sparse, or of another dtype.

    Example:
        >>> import paddle
        >>> x = paddle.sparse.sparse_coo_tensor([[0, 2]], [-2.0, 3.0], [3])
        >>> paddle.sparse.square(x).values().tolist()
        [4.0, 9.0]
    """
    return on_values(x, "square", lambda v: F.mul(v, v))


@public("paddle.sparse", usual=False)
def abs(x: Tensor, name: str | None = None) -> Tensor:
    """Absolute value of the values of a sparse tensor.

    Args:
        x: sparse COO or CSR tensor, of any dtype but bool.

    Returns:
        Sparse tensor of x's positions and dtype; real for complex x.

    Raises:
        TypeError: x is not sparse, or of another dtype.

    Example:
        >>> import paddle
        >>> x = paddle.sparse.sparse_coo_tensor([[0, 2]], [-2.0, 3.0], [3])
        >>> paddle.sparse.abs(x).values().tolist()
        [2.0, 3.0]
    """
    return on_values(x, "abs", F.abs)


@public("paddle.sparse", usual=False)
def neg(x: Tensor, name: str | None = None) -> Tensor:
    """Negative of the values of a sparse tensor.

    Args:
        x: sparse COO or CSR tensor, of any dtype but bool.

    Returns:
        Sparse tensor of x's positions and dtype.

    Raises:
        TypeError: x is not sparse, or of another dtype.

    Example:
        >>> import paddle
        >>> x = paddle.sparse.sparse_coo_tensor([[0, 2]], [-2.0, 3.0], [3])
        >>> paddle.sparse.neg(x).values().tolist()
        [2.0, -3.0]
    """
    return on_values(x, "neg", F.neg)


@public("paddle.sparse", usual=False)
def rad2deg(x: Tensor, name: str | None = None) -> Tensor:
    """Angles in degrees of the values of a sparse tensor.

    Args:
        x: sparse COO or CSR tensor, floating or integer, in radians.

    Returns:
        Sparse tensor of x's positions; integers become float32.

    Raises:
        TypeError: x is not sparse, or of another dtype.

    Example:
        >>> import paddle
        >>> x = paddle.sparse.sparse_coo_tensor([[0, 2]], [3.14159265, 1.0], [3])
        >>> [round(v, 2) for v in paddle.sparse.rad2deg(x).values().tolist()]
        [180.0, 57.3]
    """
    return on_values(x, "rad2deg", lambda v: F.mul(floats(v, "rad2deg"), 180.0 / math.pi))


@public("paddle.sparse", usual=False)
def deg2rad(x: Tensor, name: str | None = None) -> Tensor:
    """Angles in radians of the values of a sparse tensor.

    Args:
        x: sparse COO or CSR tensor, floating or integer, in degrees.

    Returns:
        Sparse tensor of x's positions; integers become float32.

    Raises:
        TypeError: x is not sparse, or of another dtype.

    Example:
        >>> import paddle
        >>> x = paddle.sparse.sparse_coo_tensor([[0, 2]], [180.0, 90.0], [3])
        >>> [round(v, 4) for v in paddle.sparse.deg2rad(x).values().tolist()]
        [3.1416, 1.5708]
    """
    return on_values(x, "deg2rad", lambda v: F.mul(floats(v, "deg2rad"), math.pi / 180.0))


@public("paddle.sparse", usual=False)
def isnan(x: Tensor, name: str | None = None) -> Tensor:
    """Test for NaN of the values of a sparse tensor.

    Args:
        x: sparse COO or CSR tensor, of any dtype.

    Returns:
        Sparse bool tensor of x's positions.

    Raises:
        TypeError: x is not sparse, or of another dtype.

    Example:
        >>> import paddle
        >>> x = paddle.sparse.sparse_coo_tensor([[0, 2]], [float("nan"), 1.0], [3])
        >>> paddle.sparse.isnan(x).values().tolist()
        [True, False]
    """
    return on_values(x, "isnan", F.isnan)


@public("paddle.sparse", usual=False)
def pow(x: Tensor, factor: float, name: str | None = None) -> Tensor:
    """Power of the values of a sparse tensor.

    Args:
        x: sparse COO or CSR tensor, floating, integer or complex.
        factor: the exponent, a number or a tensor of one element.

    Returns:
        Sparse tensor of x's positions. What is not stored stays zero, whatever the exponent.

    Raises:
        TypeError: x is not sparse, or the exponent is no number.

    Example:
        >>> import paddle
        >>> x = paddle.sparse.sparse_coo_tensor([[0, 2]], [2.0, 3.0], [3])
        >>> paddle.sparse.pow(x, 2).values().tolist()
        [4.0, 9.0]
    """
    exponent = number(factor)
    if not isinstance(exponent, (int, float)):
        raise op_error(TypeError, "pow", "a number for factor", type(factor).__name__)
    return on_values(x, "pow", lambda v: v**exponent)


@public("paddle.sparse", usual=False)
def cast(x: Tensor, index_dtype: Any = None, value_dtype: Any = None, name: str | None = None) -> Tensor:
    """Sparse tensor with indices and values of other dtypes.

    Args:
        x: sparse COO or CSR tensor.
        index_dtype: int32 or int64; None: as they are.
        value_dtype: any dtype; None: as they are.

    Returns:
        Sparse tensor of x's positions and kind.

    Raises:
        TypeError: x is not sparse, or the dtype of indices is neither.

    Example:
        >>> import paddle
        >>> x = paddle.sparse.sparse_coo_tensor([[0, 2]], [2.0, 3.0], [3])
        >>> y = paddle.sparse.cast(x, "int32", "float64")
        >>> y.dtype.name, y.indices().dtype.name
        ('float64', 'int32')
    """
    need_sparse(x, "cast")
    values = x.values() if value_dtype is None else cast_values(x.values(), dtype_of(value_dtype))
    if index_dtype is None:
        return x.with_values(values)
    index = dtype_of(index_dtype)
    if index not in (dt.int32, dt.int64):
        raise op_error(TypeError, "cast", "int32 or int64 for index_dtype", index.name)
    if isinstance(x, SparseCoo):
        return SparseCoo(cast_values(x.indices(), index), values, x.shape, x.is_coalesced())
    return SparseCsr(cast_values(x.crows(), index), cast_values(x.cols(), index), values, x.shape)


@public("paddle.sparse", usual=False)
def coalesce(x: Tensor, name: str | None = None) -> Tensor:
    """Sparse COO tensor with its positions sorted, each once; values at one position add up.

    Args:
        x: sparse COO tensor.

    Returns:
        Sparse COO tensor of x's shape and dtype.

    Raises:
        TypeError: x is no sparse COO tensor.

    Example:
        >>> import paddle
        >>> x = paddle.sparse.sparse_coo_tensor([[1, 0, 1]], [1.0, 2.0, 3.0], [2])
        >>> paddle.sparse.coalesce(x).values().tolist()
        [2.0, 4.0]
    """
    return need_sparse(x, "coalesce").coalesce()


@public("paddle.sparse", usual=False)
def transpose(x: Tensor, perm: Any, name: str | None = None) -> Tensor:
    """Sparse tensor with its dims in another order.

    Args:
        x: sparse COO or CSR tensor.
        perm: all dims of x, in the new order; negative ones count from the end. Dims that are not sparse stay behind
            the sparse ones.

    Returns:
        Sparse tensor of x's kind and dtype. COO values keep their order, CSR values are sorted by rows.

    Raises:
        TypeError: x is not sparse.
        ValueError: perm is no order of x's dims, or mixes sparse ones with others.
        IndexError: x has no such dim.

    Example:
        >>> import paddle
        >>> x = paddle.sparse.sparse_coo_tensor([[0, 1], [1, 2]], [5.0, 6.0], [2, 3])
        >>> paddle.sparse.transpose(x, [1, 0]).shape
        paddle.Size([3, 2])
    """
    need_sparse(x, "transpose")
    order = tuple(axis_of(p, x.ndim, "transpose") for p in integers(perm, "transpose", "perm"))
    if sorted(order) != list(range(x.ndim)):
        raise op_error(ValueError, "transpose", f"an order of {x.ndim} dims", list(order))
    return sparse_math.transpose(x, order)


@public("paddle.sparse", aliases={"input": "x"}, usual=False)
def reshape(x: Tensor, shape: Any, name: str | None = None) -> Tensor:
    """Sparse tensor of the same elements, in the order of rows, in another shape.

    Args:
        x: sparse COO or CSR tensor.
        shape: as many elements as x has; one size may be -1 and follows from the others, 0 keeps x's size. Dims that
            are not sparse stay as they are, at the end.

    Returns:
        Sparse tensor of x's kind and dtype.

    Raises:
        TypeError: x is not sparse.
        ValueError: the shape has another number of elements, or other dims than a CSR tensor may have.

    Example:
        >>> import paddle
        >>> x = paddle.sparse.sparse_coo_tensor([[0, 1], [1, 2]], [5.0, 6.0], [2, 3])
        >>> paddle.sparse.reshape(x, [3, -1]).indices().tolist()
        [[0, 2], [1, 1]]
    """
    need_sparse(x, "reshape")
    sizes = list(shape_of(shape, "reshape"))
    for i, n in enumerate(sizes):
        if n == 0 and x.size:
            if i >= x.ndim:
                raise op_error(ValueError, "reshape", f"a 0 among the first {x.ndim} sizes", sizes)
            sizes[i] = x.shape[i]
    rest = math.prod(n for n in sizes if n != -1)
    if sizes.count(-1) == 1 and rest and x.size % rest == 0:
        sizes[sizes.index(-1)] = x.size // rest
    if any(n < 0 for n in sizes) or math.prod(sizes) != x.size:
        raise op_error(ValueError, "reshape", f"a shape of {x.size} elements", list(shape_of(shape, "reshape")))
    return sparse_math.reshape(x, sizes)


@public("paddle.sparse", usual=False)
def slice(x: Tensor, axes: Any, starts: Any, ends: Any, name: str | None = None) -> Tensor:
    """Part of a sparse tensor between bounds.

    Args:
        x: sparse COO or CSR tensor.
        axes: the axes to cut, negative ones counted from the end.
        starts: the first index on each of them; negative ones count from the end.
        ends: the index behind the last one; beyond the size it is the size.

    Returns:
        Sparse tensor of x's kind and dtype.

    Raises:
        TypeError: x is not sparse.
        ValueError: not as many starts and ends as axes.
        IndexError: x has no such axis.

    Example:
        >>> import paddle
        >>> x = paddle.sparse.sparse_coo_tensor([[0, 1], [1, 2]], [5.0, 6.0], [2, 3])
        >>> paddle.sparse.slice(x, [1], [1], [3]).to_dense().tolist()
        [[5.0, 0.0], [0.0, 6.0]]
    """
    need_sparse(x, "slice")
    cut, first, end = (
        integers(v, "slice", arg_name) for v, arg_name in ((axes, "axes"), (starts, "starts"), (ends, "ends"))
    )
    if not len(cut) == len(first) == len(end):
        got = f"{len(cut)}, {len(first)} and {len(end)}"
        raise op_error(ValueError, "slice", "axes, starts and ends of one length", got)
    bounds = {}
    for axis, a, b in zip(cut, first, end):
        i = axis_of(axis, x.ndim, "slice")
        n = x.shape[i]
        bounds[i] = (min(max(a + n if a < 0 else a, 0), n), min(max(b + n if b < 0 else b, 0), n))
    return sparse_math.slice(x, bounds)


@public("paddle.sparse", usual=False)
def sum(x: Tensor, axis: Any = None, dtype: Any = None, keepdim: bool = False, name: str | None = None) -> Tensor:
    """Sums of a sparse tensor, over all elements or along axes.

    Args:
        x: sparse COO or CSR tensor.
        axis: an axis or a list of them, negative ones counted from the end; None: all.
        dtype: x is cast to this dtype first. Sums of bool and int32 are int64 by default.
        keepdim: whether axes that were summed stay, with size 1.

    Returns:
        Sparse tensor of x's kind, sorted. Of all elements, a COO tensor of shape [1]. CSR tensors keep the axes of rows
        and columns, with size 1 where they were summed.

    Raises:
        TypeError: x is not sparse.
        ValueError: an axis twice.
        IndexError: x has no such axis.

    Example:
        >>> import paddle
        >>> x = paddle.sparse.sparse_coo_tensor([[0, 1, 1], [1, 1, 2]], [5.0, 6.0, 7.0], [2, 3])
        >>> paddle.sparse.sum(x, axis=0).to_dense().tolist()
        [0.0, 11.0, 7.0]
    """
    need_sparse(x, "sum")
    axes = tuple(range(x.ndim)) if axis is None else axes_of(axis, x.ndim, "sum") or tuple(range(x.ndim))
    if dtype is not None:
        x = x.with_values(cast_values(x.values(), dtype_of(dtype)))
    elif x.dtype.is_bool or x.dtype is dt.int32:
        x = x.with_values(cast_values(x.values(), dt.int64))
    return sparse_math.sum(x, axes, bool(keepdim))
