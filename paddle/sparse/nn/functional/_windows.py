"""Operands and windows of convolutions and pooling over sparse tensors."""

from __future__ import annotations

from typing import Any

from paddle.nn.functional._windows import ints, pads, same_pads
from paddle.tensor._args import op_error
from umiak.runtime.sparse_tensor import SparseCoo
from umiak.runtime.sparse_windows import Window

LAYOUTS = {2: "NHWC", 3: "NDHWC"}


def need_points(x: Any, n: int, data_format: str, op: str) -> SparseCoo:
    """A sparse tensor of a batch, ``n`` dims of space, and dense channels; each position once."""
    if not isinstance(x, SparseCoo):
        raise op_error(TypeError, op, "a sparse COO tensor", type(x).__name__)
    if data_format != LAYOUTS[n]:
        raise op_error(ValueError, op, f"data_format {LAYOUTS[n]!r}", repr(data_format))
    if x.ndim != n + 2 or x.sparse_dim() != n + 1:
        got = f"shape {list(x.shape)} with {x.sparse_dim()} sparse dims"
        raise op_error(ValueError, op, f"{n + 1} sparse dims, the batch and space, and one of channels", got)
    return x


def window(x: SparseCoo, n: int, kernel: Any, stride: Any, padding: Any, dilation: Any, op: str) -> Window:
    """The window of a call over ``x``."""
    sizes = ints(kernel, n, op, "kernel_size")
    strides, spread = ints(stride, n, op, "stride"), ints(dilation, n, op, "dilation")
    if min(*sizes, *strides, *spread) < 1:
        got = f"{list(sizes)}, {list(strides)} and {list(spread)}"
        raise op_error(ValueError, op, "kernel_size, stride and dilation of 1 or more", got)
    pairs = pads(padding, n, op, True)
    if pairs == "VALID":
        low = high = (0,) * n
    elif pairs == "SAME":
        reach = tuple(d * (k - 1) + 1 for k, d in zip(sizes, spread))
        low, high = same_pads(x.shape[1 : n + 1], reach, strides)
    else:
        low, high = pairs
    return Window(sizes, strides, tuple(low), tuple(high), spread)
