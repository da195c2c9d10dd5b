"""Discrete Fourier transforms along one axis."""

from __future__ import annotations

from paddle._public import public
from paddle.fft._transforms import complex_to_complex, complex_to_real, of_one_axis, real_to_complex
from umiak.core.tensor import Tensor


@public("paddle.fft")
def fft(
    x: Tensor,
    n: int | None = None,
    axis: int = -1,
    norm: str = "backward",
    name: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Discrete Fourier transform along an axis.

    Args:
        x: float32, float64, complex64 or complex128 tensor; integers become float32.
        n: number of points: x is cropped to them, or padded with zeros at the end; None means the size of x.
        axis: the axis to transform, negative counted from the end.
        norm: the direction that divides by n: ``"backward"`` the inverse one, ``"forward"`` the direct one, ``"ortho"``
            both by the root of n.
        out: tensor that the result is written into, and that is returned; it keeps its dtype and takes the result's
            shape.

    Returns:
        Complex tensor of x's shape, with n points along the axis: complex128 if x is float64 or complex128, else
        complex64.

    Raises:
        TypeError: x is no tensor, or is bool, float16 or bfloat16.
        ValueError: n is no integer or below 1, or the norm is none of these.
        IndexError: x has no such axis.

    Example:
        >>> import paddle
        >>> paddle.fft.fft(paddle.to_tensor([1.0, 2.0, 3.0, 4.0])).tolist()
        [(10+0j), (-2+2j), (-2+0j), (-2-2j)]
    """
    return complex_to_complex(x, *of_one_axis(n, axis, x, "fft"), norm, "fft", False)


@public("paddle.fft")
def ifft(
    x: Tensor,
    n: int | None = None,
    axis: int = -1,
    norm: str = "backward",
    name: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Inverse of :func:`fft` along an axis.

    Args:
        x: float32, float64, complex64 or complex128 tensor; integers become float32.
        n: number of points: x is cropped to them, or padded with zeros at the end; None means the size of x.
        axis: the axis to transform, negative counted from the end.
        norm: the direction that divides by n: ``"backward"`` the inverse one, ``"forward"`` the direct one, ``"ortho"``
            both by the root of n.
        out: tensor that the result is written into, and that is returned; it keeps its dtype and takes the result's
            shape.

    Returns:
        Complex tensor of x's shape, with n points along the axis: complex128 if x is float64 or complex128, else
        complex64.

    Raises:
        TypeError: x is no tensor, or is bool, float16 or bfloat16.
        ValueError: n is no integer or below 1, or the norm is none of these.
        IndexError: x has no such axis.

    Example:
        >>> import paddle
        >>> paddle.fft.ifft(paddle.to_tensor([3.0, -1.0])).tolist()
        [(1+0j), (2+0j)]
    """
    return complex_to_complex(x, *of_one_axis(n, axis, x, "ifft"), norm, "ifft", True)


@public("paddle.fft")
def rfft(
    x: Tensor,
    n: int | None = None,
    axis: int = -1,
    norm: str = "backward",
    name: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Discrete Fourier transform of a real signal along an axis: its first half, as the other one mirrors it.

    Args:
        x: float32 or float64 tensor; integers become float32.
        n: number of points: x is cropped to them, or padded with zeros at the end; None means the size of x.
        axis: the axis to transform, negative counted from the end.
        norm: the direction that divides by n: ``"backward"`` the inverse one, ``"forward"`` the direct one, ``"ortho"``
            both by the root of n.
        out: tensor that the result is written into, and that is returned; it keeps its dtype and takes the result's
            shape.

    Returns:
        Complex tensor of x's shape, with ``n // 2 + 1`` points along the axis: complex128 for float64, else complex64.

    Raises:
        TypeError: x is no tensor, or is bool, float16, bfloat16 or complex.
        ValueError: n is no integer or below 1, or the norm is none of these.
        IndexError: x has no such axis.

    Example:
        >>> import paddle
        >>> paddle.fft.rfft(paddle.to_tensor([1.0, 2.0, 3.0, 4.0])).tolist()
        [(10+0j), (-2+2j), (-2+0j)]
    """
    return real_to_complex(x, *of_one_axis(n, axis, x, "rfft"), norm, "rfft", False)


@public("paddle.fft")
def irfft(
    x: Tensor,
    n: int | None = None,
    axis: int = -1,
    norm: str = "backward",
    name: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Inverse of :func:`rfft` along an axis: the real signal.

    Args:
        x: float32, float64, complex64 or complex128 tensor; integers become float32.
        n: number of points of the result, of which x is cropped or padded to the first ``n // 2 + 1``; None means ``2 *
            (size - 1)``.
        axis: the axis to transform, negative counted from the end.
        norm: the direction that divides by n: ``"backward"`` the inverse one, ``"forward"`` the direct one, ``"ortho"``
            both by the root of n.
        out: tensor that the result is written into, and that is returned; it keeps its dtype and takes the result's
            shape.

    Returns:
        Real tensor of x's shape, with n points along the axis: float64 if x is float64 or complex128, else float32.

    Raises:
        TypeError: x is no tensor, or is bool, float16 or bfloat16.
        ValueError: n is no integer or below 1, or the norm is none of these.
        IndexError: x has no such axis.

    Example:
        >>> import paddle
        >>> paddle.fft.irfft(paddle.to_tensor([10 + 0j, -2 + 2j, -2 + 0j])).tolist()
        [1.0, 2.0, 3.0, 4.0]
    """
    return complex_to_real(x, *of_one_axis(n, axis, x, "irfft"), norm, "irfft", True)


@public("paddle.fft")
def hfft(
    x: Tensor,
    n: int | None = None,
    axis: int = -1,
    norm: str = "backward",
    name: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Transform along an axis of a signal with Hermitian symmetry, of which the first half is given: a real spectrum.

    Args:
        x: float32, float64, complex64 or complex128 tensor; integers become float32.
        n: number of points of the result, of which x is cropped or padded to the first ``n // 2 + 1``; None means ``2 *
            (size - 1)``.
        axis: the axis to transform, negative counted from the end.
        norm: the direction that divides by n: ``"backward"`` the inverse one, ``"forward"`` the direct one, ``"ortho"``
            both by the root of n.
        out: tensor that the result is written into, and that is returned; it keeps its dtype and takes the result's
            shape.

    Returns:
        Real tensor of x's shape, with n points along the axis: float64 if x is float64 or complex128, else float32.

    Raises:
        TypeError: x is no tensor, or is bool, float16 or bfloat16.
        ValueError: n is no integer or below 1, or the norm is none of these.
        IndexError: x has no such axis.

    Example:
        >>> import paddle
        >>> paddle.fft.hfft(paddle.to_tensor([1.0, 0.5, 0.0])).tolist()
        [2.0, 1.0, 0.0, 1.0]
    """
    return complex_to_real(x, *of_one_axis(n, axis, x, "hfft"), norm, "hfft", False)


@public("paddle.fft")
def ihfft(
    x: Tensor,
    n: int | None = None,
    axis: int = -1,
    norm: str = "backward",
    name: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Inverse of :func:`hfft` along an axis: the first half of the signal with Hermitian symmetry.

    Args:
        x: float32 or float64 tensor; integers become float32.
        n: number of points: x is cropped to them, or padded with zeros at the end; None means the size of x.
        axis: the axis to transform, negative counted from the end.
        norm: the direction that divides by n: ``"backward"`` the inverse one, ``"forward"`` the direct one, ``"ortho"``
            both by the root of n.
        out: tensor that the result is written into, and that is returned; it keeps its dtype and takes the result's
            shape.

    Returns:
        Complex tensor of x's shape, with ``n // 2 + 1`` points along the axis: complex128 for float64, else complex64.

    Raises:
        TypeError: x is no tensor, or is bool, float16, bfloat16 or complex.
        ValueError: n is no integer or below 1, or the norm is none of these.
        IndexError: x has no such axis.

    Example:
        >>> import paddle
        >>> paddle.fft.ihfft(paddle.to_tensor([2.0, 1.0, 0.0, 1.0])).real().tolist()
        [1.0, 0.5, 0.0]
    """
    return real_to_complex(x, *of_one_axis(n, axis, x, "ihfft"), norm, "ihfft", True)
