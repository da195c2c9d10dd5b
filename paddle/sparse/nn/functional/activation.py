"""Activations of the values of a sparse tensor."""

from __future__ import annotations

import paddle.nn.functional as dense
from paddle._public import public
from paddle.sparse.unary import need_sparse, on_values
from paddle.tensor._args import axis_of, op_error, real_number
from umiak.core.tensor import Tensor
from umiak.runtime import sparse_math


@public("paddle.sparse.nn.functional", usual=False)
def relu(x: Tensor, name: str | None = None) -> Tensor:
    """Positive part of the values of a sparse tensor.

    Args:
        x: sparse COO or CSR tensor, floating or integer.

    Returns:
        Sparse tensor of x's positions and dtype.

    Raises:
        TypeError: x is not sparse.

    Example:
        >>> import paddle
        >>> x = paddle.sparse.sparse_coo_tensor([[0, 2]], [-2.0, 3.0], [3])
        >>> paddle.sparse.nn.functional.relu(x).values().tolist()
        [0.0, 3.0]
    """
    return on_values(x, "relu", dense.relu)


@public("paddle.sparse.nn.functional", usual=False)
def relu6(x: Tensor, name: str | None = None) -> Tensor:
    """Values of a sparse tensor, cut to what lies between 0 and 6.

    Args:
        x: sparse COO or CSR tensor, floating.

    Returns:
        Sparse tensor of x's positions and dtype.

    Raises:
        TypeError: x is not sparse.

    Example:
        >>> import paddle
        >>> x = paddle.sparse.sparse_coo_tensor([[0, 2]], [-2.0, 8.0], [3])
        >>> paddle.sparse.nn.functional.relu6(x).values().tolist()
        [0.0, 6.0]
    """
    return on_values(x, "relu6", dense.relu6)


@public("paddle.sparse.nn.functional", usual=False)
def leaky_relu(x: Tensor, negative_slope: float = 0.01, name: str | None = None) -> Tensor:
    """Values of a sparse tensor, with negative ones scaled.

    Args:
        x: sparse COO or CSR tensor, floating.
        negative_slope: the factor of negative values.

    Returns:
        Sparse tensor of x's positions and dtype.

    Raises:
        TypeError: x is not sparse, or the slope is no number.

    Example:
        >>> import paddle
        >>> x = paddle.sparse.sparse_coo_tensor([[0, 2]], [-2.0, 3.0], [3])
        >>> paddle.sparse.nn.functional.leaky_relu(x, 0.5).values().tolist()
        [-1.0, 3.0]
    """
    slope = real_number(negative_slope, "leaky_relu", "negative_slope")
    return on_values(x, "leaky_relu", lambda v: dense.leaky_relu(v, slope))


@public("paddle.sparse.nn.functional", usual=False)
def softmax(x: Tensor, axis: int = -1, name: str | None = None) -> Tensor:
    """Softmax of the stored values along an axis; what is not stored does not count.

    Args:
        x: sparse COO or CSR tensor, floating.
        axis: a sparse axis, negative counted from the end.

    Returns:
        Sparse tensor of x's positions and dtype.

    Raises:
        TypeError: x is not sparse, or not floating.
        ValueError: the axis is not a sparse one.
        IndexError: x has no such axis.

    Example:
        >>> import paddle
        >>> x = paddle.sparse.sparse_csr_tensor([0, 2, 3], [0, 1, 2], [1.0, 1.0, 5.0], [2, 3])
        >>> paddle.sparse.nn.functional.softmax(x).values().tolist()
        [0.5, 0.5, 1.0]
    """
    need_sparse(x, "softmax")
    if not x.dtype.is_floating:
        raise op_error(TypeError, "softmax", "a floating tensor", x.dtype.name)
    along = axis_of(axis, x.ndim, "softmax")
    if along >= len(x.coordinates()):
        raise op_error(ValueError, "softmax", "an axis that is sparse", axis)
    return sparse_math.softmax(x, along)
