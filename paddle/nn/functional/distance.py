"""Distances between rows."""

from __future__ import annotations

import numpy as np

from paddle._public import public
from paddle.nn._ops import of_one_dtype
from paddle.tensor.norms import norm_kind
from umiak import ops as F
from umiak.core.array import from_numpy
from umiak.core.tensor import Tensor
from umiak.ir.expr import to_float
from umiak.util.errors import op_error


@public("paddle.nn.functional", usual=False, aliases={"x1": "x", "x2": "y", "eps": "epsilon"})
def pairwise_distance(
    x: Tensor, y: Tensor, p: float = 2.0, epsilon: float = 1e-6, keepdim: bool = False, name: str | None = None
) -> Tensor:
    """Norm of ``x - y + epsilon`` along the last dim.

    Args:
        x: floating tensor ``[*, D]``.
        y: tensor of x's dtype; x and y broadcast.
        p: order of the norm, any number, ``inf`` and ``-inf`` included; 0 counts elements that are not 0.
        epsilon: added to each difference, so that equal rows have a gradient.
        keepdim: keep the last dim, with size 1.

    Returns:
        Tensor of the broadcast shape without its last dim, and of x's dtype.

    Raises:
        TypeError: the operands are not floating, or of different dtypes.
        ValueError: the shapes do not broadcast.

    Example:
        >>> import paddle
        >>> x, y = paddle.to_tensor([[3.0, 4.0]]), paddle.zeros([1, 2])
        >>> paddle.nn.functional.pairwise_distance(x, y, epsilon=0.0).tolist()
        [5.0]
    """
    order, power = norm_kind(p)
    if order in ("inf", "-inf"):
        power = 2.0
    x, y = of_one_dtype(x, y)
    return F.pairwise_distance(x, y, keepdim=bool(keepdim), ord=order, p=power, eps=to_float(epsilon))


@public("paddle.nn.functional", usual=False)
def pdist(x: Tensor, p: float = 2.0, name: str | None = None) -> Tensor:
    """Distances between all pairs of rows.

    Args:
        x: floating tensor ``[N, M]``.
        p: order of the norm, as for :func:`pairwise_distance`.

    Returns:
        Tensor ``[N*(N-1)/2]`` of x's dtype: rows 0 and 1, 0 and 2, and so on.

    Raises:
        TypeError: x is not floating.
        ValueError: x is not of rank 2.

    Example:
        >>> import paddle
        >>> paddle.nn.functional.pdist(paddle.to_tensor([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]]), 1.0).tolist()
        [7.0, 1.0, 6.0]
    """
    if x.ndim != 2:
        raise op_error(ValueError, "pdist", "rank 2", x.ndim)
    rows, cols = np.triu_indices(x.shape[0], 1)
    a, b = (F.take(x, from_numpy(i.astype(np.int64), x.place), axis=0) for i in (rows, cols))
    return pairwise_distance(a, b, p, 0.0)
