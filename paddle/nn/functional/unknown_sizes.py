"""Places that windows and resampled images read, where sizes are known when a program runs: as operations of it."""

from __future__ import annotations

from typing import Any

from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.tensor import Tensor
from umiak.ir import sym as dim
from umiak.util.errors import op_error


def counted(n: Any) -> Tensor:
    """Numbers from 0 to ``n - 1``, as int64."""
    return F.iota(0, 1, dtype=dt.int64, size=n)


def window_indices(op_name: str, size: Any, kernel: int, stride: int, dilation: int) -> Tensor:
    """``[kernel, windows]``: the places that each window reads."""
    if min(kernel, stride, dilation) < 1:
        raise op_error(
            ValueError, op_name, "kernel_sizes, strides and dilations of 1 or more", f"{kernel}, {stride}, {dilation}"
        )
    count = (size - dilation * (kernel - 1) - 1) // stride + 1
    dim.require(1 <= count, f"[{op_name}] requires a kernel that fits a padded dim")
    inside = F.reshape(F.mul(counted(kernel), dilation), shape=(kernel, 1))
    return F.add(inside, F.reshape(F.mul(counted(count), stride), shape=(1, count)))


def neighbours(
    n: Any, m: Any, ratio: Any, mode: str, align_corners: bool, align_mode: int, dtype: Any, cubic: Any
) -> tuple[Tensor, Tensor | None]:
    """Places of the elements that each new one is made of, and weights: ``[2, m]`` each, four rows for a cubic one;
    without weights ``[m]``. Edges are repeated. ``cubic``: the weights of four neighbours.
    """
    at = F.cast(counted(m), dtype=dt.float64)
    if align_corners:
        ratio = (n - 1) / dim.maximum(m - 1, 1)  # of one new element, the first is it
    if mode == "nearest":
        return _inside(F.floor(F.mul(at, ratio)), n), None
    middle = F.sub(F.mul(F.add(at, 0.5), ratio), 0.5)
    if mode == "bicubic":
        positions = F.mul(at, ratio) if align_corners else middle
    else:
        positions = F.mul(at, ratio) if align_corners or align_mode == 1 else F.maximum(middle, 0.0)
    first = F.floor(positions)
    fraction = F.sub(positions, first)
    weights = cubic(fraction) if mode == "bicubic" else (1.0 - fraction, fraction)
    shift = -1.0 if mode == "bicubic" else 0.0
    index = [_inside(F.add(first, shift + k), n) for k in range(len(weights))]
    return F.stack(index, axis=0), F.cast(F.stack(list(weights), axis=0), dtype=dtype)


def _inside(places: Tensor, n: Any) -> Tensor:
    return F.cast(F.minimum(F.maximum(places, 0.0), dim.to_float(n - 1)), dtype=dt.int64)
