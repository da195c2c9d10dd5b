"""NumPy kernels of reductions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from umiak.backends.ref.registry import kernel
from umiak.ops import reduce as ops


def precise_sum(x: np.ndarray, axis: tuple, keepdims: bool) -> Any:
    """NumPy adds up pairwise along a contiguous axis only; elsewhere float64 keeps what a float32 sum would lose."""
    wide = {np.dtype(np.float32): np.float64, np.dtype(np.complex64): np.complex128}
    return np.sum(x, axis=axis, keepdims=keepdims, dtype=wide.get(x.dtype))


REDUCE: dict[type, Callable] = {
    ops.Sum: precise_sum,
    ops.Prod: np.prod,
    ops.Max: np.max,
    ops.Min: np.min,
    ops.AnyOf: np.any,
    ops.AllOf: np.all,
}


def least(op: ops.Extremum, dtype: np.dtype) -> Any:
    """Return a value that every element exceeds."""
    info = np.iinfo(dtype) if dtype.kind in "iu" else None
    if isinstance(op, ops.Max):
        return -np.inf if info is None else info.min
    return np.inf if info is None else info.max


for _cls, _fn in REDUCE.items():

    @kernel(_cls)
    def _reduce(op, out, x, fn=_fn):
        # NumPy sums integers of less than 64 bits in 64; the result wraps to the dtype either way.
        more = {"initial": least(op, x.dtype)} if getattr(op, "empty", False) else {}
        out[...] = fn(x, axis=op.axes, keepdims=op.keepdim, **more)


for _cls, _fn in {ops.Argmax: np.argmax, ops.Argmin: np.argmin}.items():

    @kernel(_cls)
    def _arg(op, out, x, fn=_fn):
        out[...] = fn(x, axis=op.axis, keepdims=op.keepdim)
