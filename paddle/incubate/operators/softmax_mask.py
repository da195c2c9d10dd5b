"""Softmax of scores that are masked: one kernel when it is captured."""

from __future__ import annotations

from paddle._public import need_tensor, public
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.context import place_guard
from umiak.core.tensor import Tensor
from umiak.ir import sym as dim
from umiak.util.errors import op_error


@public("paddle.incubate paddle.incubate.operators", usual=False)
def softmax_mask_fuse(x: Tensor, mask: Tensor, name: str | None = None) -> Tensor:
    """Softmax of ``x + mask`` along the last axis.

    Args:
        x: floating tensor of shape ``[batch, heads, queries, keys]``.
        mask: tensor of x's dtype and of shape ``[batch, 1, queries, keys]``, such as 0 and -10000.

    Returns:
        Tensor of x's shape and dtype.

    Raises:
        TypeError: x is not floating, or mask has another dtype.
        ValueError: a tensor is not of rank 4, or mask does not broadcast.

    Example:
        >>> import paddle
        >>> x, mask = paddle.zeros([1, 1, 1, 2]), paddle.to_tensor([[[[0.0, -10000.0]]]])
        >>> paddle.incubate.softmax_mask_fuse(x, mask).tolist()
        [[[[1.0, 0.0]]]]
    """
    op = "softmax_mask_fuse"
    _scores(op, x, "x")
    _scores(op, mask, "mask")
    if mask.dtype is not x.dtype:
        raise op_error(TypeError, op, f"a mask of x's dtype {x.dtype.name}", mask.dtype.name)
    b, _, q, k = x.shape
    if not all(map(dim.eq, mask.shape, (b, 1, q, k))):
        raise op_error(ValueError, op, f"a mask of shape {(b, 1, q, k)}", tuple(mask.shape))
    return F.softmax(F.add(x, mask), axis=3)


@public("paddle.incubate paddle.incubate.operators", usual=False)
def softmax_mask_fuse_upper_triangle(x: Tensor) -> Tensor:
    """Softmax along the last axis over the lower triangle: key ``j`` counts for query ``i`` if ``j <= i``.

    Args:
        x: floating tensor of shape ``[batch, heads, n, n]``.

    Returns:
        Tensor of x's shape and dtype, 0 above the diagonal.

    Raises:
        TypeError: x is not floating.
        ValueError: x is not of rank 4, or its last two sizes differ.

    Example:
        >>> import paddle
        >>> paddle.incubate.softmax_mask_fuse_upper_triangle(paddle.zeros([1, 1, 2, 2])).tolist()
        [[[[1.0, 0.0], [0.5, 0.5]]]]
    """
    op = "softmax_mask_fuse_upper_triangle"
    _scores(op, x, "x")
    if x.shape[2] != x.shape[3]:
        raise op_error(ValueError, op, "an x whose last two sizes are equal", tuple(x.shape))
    size = x.shape[3]
    with place_guard(x.place):
        rows, columns = F.iota(0, 1, dtype=dt.int64, size=size), F.iota(0, 1, dtype=dt.int64, size=size)
    return F.softmax(F.where(F.ge(F.unsqueeze(rows, axes=(1,)), columns), x, float("-inf")), axis=3)


def _scores(op: str, x: Tensor, arg_name: str) -> None:
    if not need_tensor(x, op, arg_name).dtype.is_floating:
        raise op_error(TypeError, op, f"a floating {arg_name}", x.dtype.name)
    if x.ndim != 4:
        raise op_error(ValueError, op, f"{arg_name} of rank 4", tuple(x.shape))
