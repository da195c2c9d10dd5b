"""Frequencies of the points of a transform, and their order."""

from __future__ import annotations

from typing import Any

import numpy as np

from paddle._public import public
from paddle.fft._transforms import count
from paddle.framework.place import place_of
from paddle.tensor._args import axis_of, dtype_of, need_tensor, op_error
from umiak import ops as F
from umiak.core.array import from_numpy
from umiak.core.tensor import Tensor


def _frequencies(make: Any, n: Any, d: Any, dtype: Any, device: Any, requires_grad: bool, op: str) -> Tensor:
    n = count(n, op, "n")
    if d == 0:
        raise op_error(ValueError, op, "a d other than 0", d)
    converted = dtype_of(dtype)
    if not converted.is_floating:
        raise op_error(TypeError, op, "a floating dtype", converted.name)
    x = from_numpy(make(n, d).astype(converted.numpy), place_of(device, op))
    x.stop_gradient = not requires_grad
    return x


@public("paddle.fft")
def fftfreq(
    n: int,
    d: float = 1.0,
    dtype: Any = None,
    name: str | None = None,
    *,
    out: Tensor | None = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Frequencies of the n points of :func:`fft`, in cycles per unit of d.

    Args:
        n: number of points.
        d: distance of samples, a number other than 0.
        dtype: floating dtype; None means the default dtype.
        out: tensor that the result is written into, and that is returned; it keeps its dtype and takes the result's
            shape.
        device: place of the tensor; None means the default place.
        requires_grad: whether the tensor gets gradients.

    Returns:
        Tensor ``[n]`` of the dtype.

    Raises:
        TypeError: the dtype is not floating.
        ValueError: n is no integer or below 1, or d is 0.

    Example:
        >>> import paddle
        >>> paddle.fft.fftfreq(4, 0.5).tolist()
        [0.0, 0.5, -1.0, -0.5]
    """
    return _frequencies(np.fft.fftfreq, n, d, dtype, device, requires_grad, "fftfreq")


@public("paddle.fft")
def rfftfreq(
    n: int,
    d: float = 1.0,
    dtype: Any = None,
    name: str | None = None,
    *,
    out: Tensor | None = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Frequencies of the points of :func:`rfft`, in cycles per unit of d.

    Args:
        n: number of points of the signal.
        d: distance of samples, a number other than 0.
        dtype: floating dtype; None means the default dtype.
        out: tensor that the result is written into, and that is returned; it keeps its dtype and takes the result's
            shape.
        device: place of the tensor; None means the default place.
        requires_grad: whether the tensor gets gradients.

    Returns:
        Tensor ``[n // 2 + 1]`` of the dtype.

    Raises:
        TypeError: the dtype is not floating.
        ValueError: n is no integer or below 1, or d is 0.

    Example:
        >>> import paddle
        >>> paddle.fft.rfftfreq(4, 0.5).tolist()
        [0.0, 0.5, 1.0]
    """
    return _frequencies(np.fft.rfftfreq, n, d, dtype, device, requires_grad, "rfftfreq")


def _shift(x: Any, axes: Any, inverse: bool, op: str) -> Tensor:
    need_tensor(x, op)
    if axes is None:
        shifted_axes = tuple(range(x.ndim))
    else:
        shifted_axes = tuple(axis_of(a, x.ndim, op) for a in (axes if isinstance(axes, (list, tuple)) else (axes,)))
    return F.fft_shift(x, axes=shifted_axes, inverse=inverse) if shifted_axes else F.copy(x)


@public("paddle.fft", aliases={"dim": "axes"})
def fftshift(x: Tensor, axes: Any = None, name: str | None = None) -> Tensor:
    """Move the zero frequency of a spectrum from the front to the middle of axes.

    Args:
        x: tensor of any shape and dtype.
        axes: axis or axes, negative ones counted from the end; None means all.

    Returns:
        Tensor of x's shape and dtype.

    Raises:
        TypeError: x is no tensor.
        ValueError: an axis is given twice.
        IndexError: x has no such axis.

    Example:
        >>> import paddle
        >>> paddle.fft.fftshift(paddle.fft.fftfreq(4)).tolist()
        [-0.5, -0.25, 0.0, 0.25]
    """
    return _shift(x, axes, False, "fftshift")


@public("paddle.fft", aliases={"dim": "axes"})
def ifftshift(x: Tensor, axes: Any = None, name: str | None = None) -> Tensor:
    """Move the zero frequency of a spectrum back from the middle to the front of axes.

    Args:
        x: tensor of any shape and dtype.
        axes: axis or axes, negative ones counted from the end; None means all.

    Returns:
        Tensor of x's shape and dtype.

    Raises:
        TypeError: x is no tensor.
        ValueError: an axis is given twice.
        IndexError: x has no such axis.

    Example:
        >>> import paddle
        >>> paddle.fft.ifftshift(paddle.to_tensor([-0.5, -0.25, 0.0, 0.25])).tolist()
        [0.0, 0.25, -0.5, -0.25]
    """
    return _shift(x, axes, True, "ifftshift")
