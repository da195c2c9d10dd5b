"""Distances between rows."""

from __future__ import annotations

import math

import numpy as np

from paddle._public import public
from umiak import ops as F
from umiak.core.array import from_numpy
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error

_ORDERS = {0.0: "0", 1.0: "1", 2.0: "2", math.inf: "inf", -math.inf: "-inf"}


@public("paddle.nn.functional", usual=False)
def pairwise_distance(
    x: Tensor, y: Tensor, p: float = 2.0, epsilon: float = 1e-6, keepdim: bool = False, name: str | None = None
) -> Tensor:
    """The ``p``-norm of ``x - y + epsilon`` along the last dim; x and y broadcast."""
    p = float(p)
    power = 2.0 if math.isinf(p) else p
    return F.pairwise_distance(x, y, keepdim=bool(keepdim), ord=_ORDERS.get(p, "p"), p=power, eps=float(epsilon))


@public("paddle.nn.functional", usual=False)
def pdist(x: Tensor, p: float = 2.0, name: str | None = None) -> Tensor:
    """The ``p``-norms between all pairs of rows of ``[N, M]``, as a vector of length N*(N-1)/2."""
    if x.ndim != 2:
        raise op_error(ValueError, "pdist", "rank 2", x.ndim)
    rows, cols = np.triu_indices(x.shape[0], 1)
    a, b = (F.take(x, from_numpy(i.astype(np.int64), x.place), axis=0) for i in (rows, cols))
    return pairwise_distance(a, b, p, 0.0)
