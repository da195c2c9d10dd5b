"""NumPy kernels of creation."""

from __future__ import annotations

import numpy as np

from umiak.backends.ref.elementwise import number_as
from umiak.backends.ref.reduce import precise_sum
from umiak.backends.ref.registry import kernel
from umiak.ops import create as ops
from umiak.util.dtypes import cast_array


@kernel(ops.Full)
def full(op, out, value, shape):
    if isinstance(value, np.ndarray):
        out[...] = cast_array(value, out.dtype)
    else:
        out[...] = number_as(value, out)


@kernel(ops.Iota)
def iota(op, out, start, step, size):
    out[...] = number_as(start, out) + np.arange(size).astype(out.dtype) * number_as(step, out)


@kernel(ops.SumTo)
def sum_to(op, out, x, shape):
    lead = x.ndim - len(shape)
    axes = tuple(range(lead)) + tuple(lead + i for i, n in enumerate(shape) if n == 1 and x.shape[lead + i] != 1)
    if axes:
        x = precise_sum(x, axes, True)
    out[...] = x.reshape(shape)
