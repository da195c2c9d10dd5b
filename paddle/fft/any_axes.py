"""Discrete Fourier transforms along any number of axes."""

from __future__ import annotations

from collections.abc import Sequence

from paddle._public import public
from paddle.fft._transforms import complex_to_complex, complex_to_real, real_to_complex
from umiak.core.tensor import Tensor


@public("paddle.fft", aliases={"dim": "axes"})
def fftn(
    x: Tensor,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str = "backward",
    name: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Discrete Fourier transform along axes.

    Args:
        x: float32, float64, complex64 or complex128 tensor; integers become float32.
        s: number of points on each axis: x is cropped to them, or padded with zeros at the end; None means the sizes of
            x.
        axes: the axes, negative ones counted from the end; None means all, or as many of the last as s has sizes.
        norm: the direction that divides by the number of points: ``"backward"`` the inverse one, ``"forward"`` the
            direct one, ``"ortho"`` both by the root of the number.
        out: tensor that the result is written into, and that is returned; it keeps its dtype and takes the result's
            shape.

    Returns:
        Complex tensor of x's shape, with s points along the axes: complex128 if x is float64 or complex128, else
        complex64.

    Raises:
        TypeError: x is no tensor, or is bool, float16 or bfloat16.
        ValueError: x is 0-d, s and axes do not fit each other, an axis is given twice, a size is below 1, or the norm
            is none of these.
        IndexError: x has no such axis.

    Example:
        >>> import paddle
        >>> paddle.fft.fftn(paddle.to_tensor([[1.0, 2.0], [3.0, 4.0]])).tolist()
        [[(10+0j), (-2+0j)], [(-4+0j), 0j]]
    """
    return complex_to_complex(x, s, axes, norm, "fftn", False)


@public("paddle.fft", aliases={"dim": "axes"})
def ifftn(
    x: Tensor,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str = "backward",
    name: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Inverse of :func:`fftn` along axes.

    Args:
        x: float32, float64, complex64 or complex128 tensor; integers become float32.
        s: number of points on each axis: x is cropped to them, or padded with zeros at the end; None means the sizes of
            x.
        axes: the axes, negative ones counted from the end; None means all, or as many of the last as s has sizes.
        norm: the direction that divides by the number of points: ``"backward"`` the inverse one, ``"forward"`` the
            direct one, ``"ortho"`` both by the root of the number.
        out: tensor that the result is written into, and that is returned; it keeps its dtype and takes the result's
            shape.

    Returns:
        Complex tensor of x's shape, with s points along the axes: complex128 if x is float64 or complex128, else
        complex64.

    Raises:
        TypeError: x is no tensor, or is bool, float16 or bfloat16.
        ValueError: x is 0-d, s and axes do not fit each other, an axis is given twice, a size is below 1, or the norm
            is none of these.
        IndexError: x has no such axis.

    Example:
        >>> import paddle
        >>> paddle.fft.ifftn(paddle.to_tensor([[10.0, -2.0], [-4.0, 0.0]])).tolist()
        [[(1+0j), (2+0j)], [(3+0j), (4+0j)]]
    """
    return complex_to_complex(x, s, axes, norm, "ifftn", True)


@public("paddle.fft", aliases={"dim": "axes"})
def rfftn(
    x: Tensor,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str = "backward",
    name: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Discrete Fourier transform of a real signal along axes: the first half along the last axis.

    Args:
        x: float32 or float64 tensor; integers become float32.
        s: number of points on each axis: x is cropped to them, or padded with zeros at the end; None means the sizes of
            x.
        axes: the axes, negative ones counted from the end; None means all, or as many of the last as s has sizes.
        norm: the direction that divides by the number of points: ``"backward"`` the inverse one, ``"forward"`` the
            direct one, ``"ortho"`` both by the root of the number.
        out: tensor that the result is written into, and that is returned; it keeps its dtype and takes the result's
            shape.

    Returns:
        Complex tensor of x's shape, with s points along the axes, but ``s // 2 + 1`` along the last: complex128 for
        float64, else complex64.

    Raises:
        TypeError: x is no tensor, or is bool, float16, bfloat16 or complex.
        ValueError: x is 0-d, s and axes do not fit each other, an axis is given twice, a size is below 1, or the norm
            is none of these.
        IndexError: x has no such axis.

    Example:
        >>> import paddle
        >>> paddle.fft.rfftn(paddle.ones([2, 4])).tolist()
        [[(8+0j), 0j, 0j], [0j, 0j, 0j]]
    """
    return real_to_complex(x, s, axes, norm, "rfftn", False)


@public("paddle.fft", aliases={"dim": "axes"})
def irfftn(
    x: Tensor,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str = "backward",
    name: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Inverse of :func:`rfftn` along axes: the real signal.

    Args:
        x: float32, float64, complex64 or complex128 tensor; integers become float32.
        s: number of points of the result on each axis; None means the sizes of x, and ``2 * (size - 1)`` on the last
            axis.
        axes: the axes, negative ones counted from the end; None means all, or as many of the last as s has sizes.
        norm: the direction that divides by the number of points: ``"backward"`` the inverse one, ``"forward"`` the
            direct one, ``"ortho"`` both by the root of the number.
        out: tensor that the result is written into, and that is returned; it keeps its dtype and takes the result's
            shape.

    Returns:
        Real tensor of x's shape, with s points along the axes: float64 if x is float64 or complex128, else float32.

    Raises:
        TypeError: x is no tensor, or is bool, float16 or bfloat16.
        ValueError: x is 0-d, s and axes do not fit each other, an axis is given twice, a size is below 1, or the norm
            is none of these.
        IndexError: x has no such axis.

    Example:
        >>> import paddle
        >>> paddle.fft.irfftn(paddle.to_tensor([[8.0, 0.0, 0.0], [0.0, 0.0, 0.0]])).tolist()
        [[1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0]]
    """
    return complex_to_real(x, s, axes, norm, "irfftn", True)


@public("paddle.fft", aliases={"dim": "axes"})
def hfftn(
    x: Tensor,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str = "backward",
    name: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Transform along axes of a signal with Hermitian symmetry, of which one half is given: a real spectrum.

    Args:
        x: float32, float64, complex64 or complex128 tensor; integers become float32.
        s: number of points of the result on each axis; None means the sizes of x, and ``2 * (size - 1)`` on the last
            axis.
        axes: the axes, negative ones counted from the end; None means all, or as many of the last as s has sizes.
        norm: the direction that divides by the number of points: ``"backward"`` the inverse one, ``"forward"`` the
            direct one, ``"ortho"`` both by the root of the number.
        out: tensor that the result is written into, and that is returned; it keeps its dtype and takes the result's
            shape.

    Returns:
        Real tensor of x's shape, with s points along the axes: float64 if x is float64 or complex128, else float32.

    Raises:
        TypeError: x is no tensor, or is bool, float16 or bfloat16.
        ValueError: x is 0-d, s and axes do not fit each other, an axis is given twice, a size is below 1, or the norm
            is none of these.
        IndexError: x has no such axis.

    Example:
        >>> import paddle
        >>> paddle.fft.hfftn(paddle.to_tensor([[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])).tolist()
        [[1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0]]
    """
    return complex_to_real(x, s, axes, norm, "hfftn", False)


@public("paddle.fft", aliases={"dim": "axes"})
def ihfftn(
    x: Tensor,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str = "backward",
    name: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Inverse of :func:`hfftn` along axes: one half of the signal with Hermitian symmetry.

    Args:
        x: float32 or float64 tensor; integers become float32.
        s: number of points on each axis: x is cropped to them, or padded with zeros at the end; None means the sizes of
            x.
        axes: the axes, negative ones counted from the end; None means all, or as many of the last as s has sizes.
        norm: the direction that divides by the number of points: ``"backward"`` the inverse one, ``"forward"`` the
            direct one, ``"ortho"`` both by the root of the number.
        out: tensor that the result is written into, and that is returned; it keeps its dtype and takes the result's
            shape.

    Returns:
        Complex tensor of x's shape, with s points along the axes, but ``s // 2 + 1`` along the last: complex128 for
        float64, else complex64.

    Raises:
        TypeError: x is no tensor, or is bool, float16, bfloat16 or complex.
        ValueError: x is 0-d, s and axes do not fit each other, an axis is given twice, a size is below 1, or the norm
            is none of these.
        IndexError: x has no such axis.

    Example:
        >>> import paddle
        >>> paddle.fft.ihfftn(paddle.ones([2, 4])).shape
        paddle.Size([2, 3])
    """
    return real_to_complex(x, s, axes, norm, "ihfftn", True)
