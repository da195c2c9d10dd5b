"""Windows that signals are multiplied by before a Fourier transform."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from paddle._public import public
from paddle.framework.place import place_of
from paddle.tensor._args import dtype_of, integer, op_error
from umiak.core import dtype as dt
from umiak.core.array import from_numpy
from umiak.core.context import current
from umiak.core.tensor import Tensor


def _window(
    length: Any,
    periodic: bool,
    shape: Callable[[np.ndarray], np.ndarray],
    dtype: Any,
    device: Any,
    requires_grad: bool,
    op: str,
) -> Tensor:
    """``shape`` of the places of ``length`` points, from 0 to 1; a periodic window lacks the last one."""
    if isinstance(length, float) or (n := integer(length, op, "window_length")) < 0:
        raise op_error(ValueError, op, "an integer of 0 or more for window_length", length)
    converted = dtype_of(dtype, dt.float32)
    if not converted.is_floating:
        raise op_error(TypeError, op, "a floating dtype", converted.name)
    last = n if periodic else n - 1
    values = shape(np.arange(n) / last) if n > 1 else np.ones(n)
    place = current().place if device is None else place_of(device)
    window = from_numpy(values.astype(converted.numpy), place)
    window.stop_gradient = not requires_grad
    return window


@public("paddle", usual=False)
def hann_window(
    window_length: int,
    periodic: bool = True,
    *,
    dtype: Any = "float32",
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Hann window: ``0.5 - 0.5 * cos(2 * pi * n / N)``.

    Args:
        window_length: number of points.
        periodic: N is the number of points, so that the window repeats without a seam; otherwise one less, and the
            window is symmetric.
        dtype: a floating dtype.
        layout: accepted.
        device: where to put it; None: the current device.
        pin_memory: accepted.
        requires_grad: whether gradients are computed for it.

    Returns:
        Tensor ``[window_length]`` of ``dtype``.

    Raises:
        TypeError: a dtype that is not floating.
        ValueError: a length that is no integer, or negative.

    Example:
        >>> import paddle
        >>> paddle.hann_window(4).tolist()
        [0.0, 0.5, 1.0, 0.5]
    """
    return _window(
        window_length,
        periodic,
        lambda t: 0.5 - 0.5 * np.cos(2 * np.pi * t),
        dtype,
        device,
        requires_grad,
        "hann_window",
    )


@public("paddle", usual=False)
def hamming_window(
    window_length: int,
    periodic: bool = True,
    alpha: float = 0.54,
    beta: float = 0.46,
    *,
    dtype: Any = "float32",
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Hamming window: ``alpha - beta * cos(2 * pi * n / N)``.

    Args:
        window_length: number of points.
        periodic: N is the number of points, otherwise one less.
        alpha: the constant.
        beta: the factor of the cosine.
        dtype: a floating dtype.
        layout: accepted.
        device: where to put it; None: the current device.
        pin_memory: accepted.
        requires_grad: whether gradients are computed for it.

    Returns:
        Tensor ``[window_length]`` of ``dtype``.

    Raises:
        TypeError: a dtype that is not floating.
        ValueError: a length that is no integer, or negative.

    Example:
        >>> import paddle
        >>> paddle.hamming_window(4, alpha=0.5, beta=0.5).tolist()
        [0.0, 0.5, 1.0, 0.5]
    """
    return _window(
        window_length,
        periodic,
        lambda t: alpha - beta * np.cos(2 * np.pi * t),
        dtype,
        device,
        requires_grad,
        "hamming_window",
    )


@public("paddle", usual=False)
def blackman_window(
    window_length: int,
    periodic: bool = True,
    *,
    dtype: Any = "float32",
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Blackman window: ``0.42 - 0.5 * cos(2 * pi * n / N) + 0.08 * cos(4 * pi * n / N)``.

    Args:
        window_length: number of points.
        periodic: N is the number of points, otherwise one less.
        dtype: a floating dtype.
        layout: accepted.
        device: where to put it; None: the current device.
        pin_memory: accepted.
        requires_grad: whether gradients are computed for it.

    Returns:
        Tensor ``[window_length]`` of ``dtype``.

    Raises:
        TypeError: a dtype that is not floating.
        ValueError: a length that is no integer, or negative.

    Example:
        >>> import paddle
        >>> [round(v, 4) for v in paddle.blackman_window(3, periodic=False).abs().tolist()]
        [0.0, 1.0, 0.0]
    """
    return _window(
        window_length,
        periodic,
        lambda t: 0.42 - 0.5 * np.cos(2 * np.pi * t) + 0.08 * np.cos(4 * np.pi * t),
        dtype,
        device,
        requires_grad,
        "blackman_window",
    )


@public("paddle", usual=False)
def kaiser_window(
    window_length: int,
    periodic: bool = True,
    beta: float = 12.0,
    *,
    dtype: Any = "float32",
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Kaiser window: ``I0(beta * sqrt(1 - (2 * n / N - 1) ** 2)) / I0(beta)``.

    Args:
        window_length: number of points.
        periodic: N is the number of points, otherwise one less.
        beta: the larger, the wider the main lobe and the lower the side lobes.
        dtype: a floating dtype.
        layout: accepted.
        device: where to put it; None: the current device.
        pin_memory: accepted.
        requires_grad: whether gradients are computed for it.

    Returns:
        Tensor ``[window_length]`` of ``dtype``.

    Raises:
        TypeError: a dtype that is not floating.
        ValueError: a length that is no integer, or negative.

    Example:
        >>> import paddle
        >>> [round(v, 3) for v in paddle.kaiser_window(3, periodic=False, beta=2.0).tolist()]
        [0.439, 1.0, 0.439]
    """
    return _window(
        window_length,
        periodic,
        lambda t: np.i0(beta * np.sqrt(np.maximum(1 - (2 * t - 1) ** 2, 0))) / np.i0(beta),
        dtype,
        device,
        requires_grad,
        "kaiser_window",
    )


@public("paddle", usual=False)
def bartlett_window(
    window_length: int,
    periodic: bool = True,
    *,
    dtype: Any = "float32",
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Bartlett window, a triangle: ``1 - abs(2 * n / N - 1)``.

    Args:
        window_length: number of points.
        periodic: N is the number of points, otherwise one less.
        dtype: a floating dtype.
        layout: accepted.
        device: where to put it; None: the current device.
        pin_memory: accepted.
        requires_grad: whether gradients are computed for it.

    Returns:
        Tensor ``[window_length]`` of ``dtype``.

    Raises:
        TypeError: a dtype that is not floating.
        ValueError: a length that is no integer, or negative.

    Example:
        >>> import paddle
        >>> paddle.bartlett_window(5, periodic=False).tolist()
        [0.0, 0.5, 1.0, 0.5, 0.0]
    """
    return _window(
        window_length, periodic, lambda t: 1 - abs(2 * t - 1), dtype, device, requires_grad, "bartlett_window"
    )
