"""Discrete Fourier transforms along two axes."""

from __future__ import annotations

from collections.abc import Sequence

from paddle._public import public
from paddle.fft._transforms import complex_to_complex, complex_to_real, of_two_axes, real_to_complex
from umiak.core.tensor import Tensor


@public("paddle.fft", aliases={"dim": "axes"})
def fft2(
    x: Tensor,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: str = "backward",
    name: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Discrete Fourier transform along two axes.

    Args:
        x: float32, float64, complex64 or complex128 tensor; integers become float32.
        s: number of points on each axis: x is cropped to them, or padded with zeros at the end; None means the sizes of
            x.
        axes: the two axes, negative ones counted from the end.
        norm: the direction that divides by the number of points: ``"backward"`` the inverse one, ``"forward"`` the
            direct one, ``"ortho"`` both by the root of the number.
        out: tensor that the result is written into, and that is returned; it keeps its dtype and takes the result's
            shape.

    Returns:
        Complex tensor of x's shape, with s points along the axes: complex128 if x is float64 or complex128, else
        complex64.

    Raises:
        TypeError: x is no tensor, or is bool, float16 or bfloat16.
        ValueError: x is of rank 0 or 1, s or axes are not two integers, an axis is given twice, a size is below 1, or
            the norm is none of these.
        IndexError: x has no such axis.

    Example:
        >>> import paddle
        >>> paddle.fft.fft2(paddle.to_tensor([[1.0, 2.0], [3.0, 4.0]])).tolist()
        [[(10+0j), (-2+0j)], [(-4+0j), 0j]]
    """
    return complex_to_complex(x, *of_two_axes(x, s, axes, "fft2"), norm, "fft2", False)


@public("paddle.fft", aliases={"dim": "axes"})
def ifft2(
    x: Tensor,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: str = "backward",
    name: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Inverse of :func:`fft2` along two axes.

    Args:
        x: float32, float64, complex64 or complex128 tensor; integers become float32.
        s: number of points on each axis: x is cropped to them, or padded with zeros at the end; None means the sizes of
            x.
        axes: the two axes, negative ones counted from the end.
        norm: the direction that divides by the number of points: ``"backward"`` the inverse one, ``"forward"`` the
            direct one, ``"ortho"`` both by the root of the number.
        out: tensor that the result is written into, and that is returned; it keeps its dtype and takes the result's
            shape.

    Returns:
        Complex tensor of x's shape, with s points along the axes: complex128 if x is float64 or complex128, else
        complex64.

    Raises:
        TypeError: x is no tensor, or is bool, float16 or bfloat16.
        ValueError: x is of rank 0 or 1, s or axes are not two integers, an axis is given twice, a size is below 1, or
            the norm is none of these.
        IndexError: x has no such axis.

    Example:
        >>> import paddle
        >>> paddle.fft.ifft2(paddle.to_tensor([[10.0, -2.0], [-4.0, 0.0]])).tolist()
        [[(1+0j), (2+0j)], [(3+0j), (4+0j)]]
    """
    return complex_to_complex(x, *of_two_axes(x, s, axes, "ifft2"), norm, "ifft2", True)


@public("paddle.fft", aliases={"dim": "axes"})
def rfft2(
    x: Tensor,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: str = "backward",
    name: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Discrete Fourier transform of a real signal along two axes: the first half along the last axis.

    Args:
        x: float32 or float64 tensor; integers become float32.
        s: number of points on each axis: x is cropped to them, or padded with zeros at the end; None means the sizes of
            x.
        axes: the two axes, negative ones counted from the end.
        norm: the direction that divides by the number of points: ``"backward"`` the inverse one, ``"forward"`` the
            direct one, ``"ortho"`` both by the root of the number.
        out: tensor that the result is written into, and that is returned; it keeps its dtype and takes the result's
            shape.

    Returns:
        Complex tensor of x's shape, with s points along the axes, but ``s // 2 + 1`` along the last: complex128 for
        float64, else complex64.

    Raises:
        TypeError: x is no tensor, or is bool, float16, bfloat16 or complex.
        ValueError: x is of rank 0 or 1, s or axes are not two integers, an axis is given twice, a size is below 1, or
            the norm is none of these.
        IndexError: x has no such axis.

    Example:
        >>> import paddle
        >>> paddle.fft.rfft2(paddle.ones([2, 4])).tolist()
        [[(8+0j), 0j, 0j], [0j, 0j, 0j]]
    """
    return real_to_complex(x, *of_two_axes(x, s, axes, "rfft2"), norm, "rfft2", False)


@public("paddle.fft", aliases={"dim": "axes"})
def irfft2(
    x: Tensor,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: str = "backward",
    name: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Inverse of :func:`rfft2` along two axes: the real signal.

    Args:
        x: float32, float64, complex64 or complex128 tensor; integers become float32.
        s: number of points of the result on each axis; None means the sizes of x, and ``2 * (size - 1)`` on the last
            axis.
        axes: the two axes, negative ones counted from the end.
        norm: the direction that divides by the number of points: ``"backward"`` the inverse one, ``"forward"`` the
            direct one, ``"ortho"`` both by the root of the number.
        out: tensor that the result is written into, and that is returned; it keeps its dtype and takes the result's
            shape.

    Returns:
        Real tensor of x's shape, with s points along the axes: float64 if x is float64 or complex128, else float32.

    Raises:
        TypeError: x is no tensor, or is bool, float16 or bfloat16.
        ValueError: x is of rank 0 or 1, s or axes are not two integers, an axis is given twice, a size is below 1, or
            the norm is none of these.
        IndexError: x has no such axis.

    Example:
        >>> import paddle
        >>> paddle.fft.irfft2(paddle.to_tensor([[8.0, 0.0, 0.0], [0.0, 0.0, 0.0]])).tolist()
        [[1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0]]
    """
    return complex_to_real(x, *of_two_axes(x, s, axes, "irfft2"), norm, "irfft2", True)


@public("paddle.fft", aliases={"dim": "axes"})
def hfft2(
    x: Tensor,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: str = "backward",
    name: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Transform along two axes of a signal with Hermitian symmetry, of which one half is given: a real spectrum.

    Args:
        x: float32, float64, complex64 or complex128 tensor; integers become float32.
        s: number of points of the result on each axis; None means the sizes of x, and ``2 * (size - 1)`` on the last
            axis.
        axes: the two axes, negative ones counted from the end.
        norm: the direction that divides by the number of points: ``"backward"`` the inverse one, ``"forward"`` the
            direct one, ``"ortho"`` both by the root of the number.
        out: tensor that the result is written into, and that is returned; it keeps its dtype and takes the result's
            shape.

    Returns:
        Real tensor of x's shape, with s points along the axes: float64 if x is float64 or complex128, else float32.

    Raises:
        TypeError: x is no tensor, or is bool, float16 or bfloat16.
        ValueError: x is of rank 0 or 1, s or axes are not two integers, an axis is given twice, a size is below 1, or
            the norm is none of these.
        IndexError: x has no such axis.

    Example:
        >>> import paddle
        >>> paddle.fft.hfft2(paddle.to_tensor([[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])).tolist()
        [[1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0]]
    """
    return complex_to_real(x, *of_two_axes(x, s, axes, "hfft2"), norm, "hfft2", False)


@public("paddle.fft", aliases={"dim": "axes"})
def ihfft2(
    x: Tensor,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: str = "backward",
    name: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Inverse of :func:`hfft2` along two axes: one half of the signal with Hermitian symmetry.

    Args:
        x: float32 or float64 tensor; integers become float32.
        s: number of points on each axis: x is cropped to them, or padded with zeros at the end; None means the sizes of
            x.
        axes: the two axes, negative ones counted from the end.
        norm: the direction that divides by the number of points: ``"backward"`` the inverse one, ``"forward"`` the
            direct one, ``"ortho"`` both by the root of the number.
        out: tensor that the result is written into, and that is returned; it keeps its dtype and takes the result's
            shape.

    Returns:
        Complex tensor of x's shape, with s points along the axes, but ``s // 2 + 1`` along the last: complex128 for
        float64, else complex64.

    Raises:
        TypeError: x is no tensor, or is bool, float16, bfloat16 or complex.
        ValueError: x is of rank 0 or 1, s or axes are not two integers, an axis is given twice, a size is below 1, or
            the norm is none of these.
        IndexError: x has no such axis.

    Example:
        >>> import paddle
        >>> paddle.fft.ihfft2(paddle.ones([2, 4])).shape
        paddle.Size([2, 3])
    """
    return real_to_complex(x, *of_two_axes(x, s, axes, "ihfft2"), norm, "ihfft2", True)
