"""NumPy kernels of the ops in ``umiak.ops.sorting``."""

from __future__ import annotations

import numpy as np

from umiak.backends.ref.registry import kernel
from umiak.ops import sorting as ops


def order(x: np.ndarray, axis: int, descending: bool) -> np.ndarray:
    """Indices that sort ``x`` and keep equal elements in their order. NaN is the largest."""
    if not descending:
        return np.argsort(x, axis=axis, kind="stable")
    backward = np.argsort(np.flip(x, axis), axis=axis, kind="stable")
    return x.shape[axis] - 1 - np.flip(backward, axis)


@kernel(ops.Sort, returns=True)
def sort(op, x):
    index = order(x, op.axis, op.descending)
    return np.take_along_axis(x, index, op.axis), index


@kernel(ops.TopK, returns=True)
def top_k(op, x, k):
    index = order(x, op.axis, op.largest)
    index = index[(slice(None),) * op.axis + (slice(0, k),)]
    return np.take_along_axis(x, index, op.axis), index
