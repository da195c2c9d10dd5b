"""Pooling over the stored positions of sparse tensors."""

from __future__ import annotations

from typing import Any

from paddle._public import public
from paddle.sparse.nn.functional._windows import need_points, window
from paddle.tensor._args import op_error
from umiak.core.tensor import Tensor
from umiak.runtime import sparse_windows


@public("paddle.sparse.nn.functional", usual=False)
def max_pool3d(
    x: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    data_format: str = "NDHWC",
    name: str | None = None,
) -> Tensor:
    """Largest stored value of each window of a sparse tensor; windows without one are not stored.

    Args:
        x: sparse COO tensor of shape [b, d, h, w, channels], in which the channels are dense, floating.
        kernel_size: sizes of the window, an int or three of them.
        stride: steps of the window, an int or three of them; None: the kernel_size.
        padding: room around space, an int, three ints, six ints or three pairs.
        ceil_mode: whether windows that reach beyond the end count.
        data_format: ``"NDHWC"``.

    Returns:
        Sparse COO tensor of the pooled shape and x's dtype, coalesced.

    Raises:
        TypeError: x is no sparse COO tensor, or not floating.
        ValueError: shapes that do not fit, or another data_format.

    Example:
        >>> import paddle
        >>> where = [[0, 0], [0, 1], [0, 1], [0, 1]]
        >>> x = paddle.sparse.sparse_coo_tensor(where, [[-1.0], [-2.0]], [1, 2, 2, 2, 1])
        >>> paddle.sparse.nn.functional.max_pool3d(x, 2).values().tolist()
        [[-1.0]]
    """
    points = need_points(x, 3, data_format, "max_pool3d")
    if not points.dtype.is_floating:
        raise op_error(TypeError, "max_pool3d", "a floating tensor", points.dtype.name)
    stride = kernel_size if stride is None else stride
    sizes = window(points, 3, kernel_size, stride, padding, 1, "max_pool3d")._replace(ceil=bool(ceil_mode))
    return sparse_windows.largest(points, sparse_windows.rulebook(points, sizes, "max_pool3d"))
