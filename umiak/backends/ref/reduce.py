"""NumPy kernels of reductions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from umiak.backends.ref.registry import kernel
from umiak.ops import reduce as ops

REDUCE: dict[type, Callable] = {
    ops.Sum: np.sum,
    ops.Prod: np.prod,
    ops.Max: np.max,
    ops.Min: np.min,
    ops.AnyOf: np.any,
    ops.AllOf: np.all,
}
for _cls, _fn in REDUCE.items():

    @kernel(_cls)
    def _reduce(op, out, x, fn=_fn):
        # NumPy sums integers of less than 64 bits in 64; the result wraps to the dtype either way.
        out[...] = fn(x, axis=op.axes, keepdims=op.keepdim)


for _cls, _fn in {ops.Argmax: np.argmax, ops.Argmin: np.argmin}.items():

    @kernel(_cls)
    def _arg(op, out, x, fn=_fn):
        out[...] = fn(x, axis=op.axis, keepdims=op.keepdim)
