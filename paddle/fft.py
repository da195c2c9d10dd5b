"""Discrete Fourier transforms of one, two and any number of axes.

A transform with ``n`` points (or sizes ``s``) crops its operand to them, or pads it with zeros at the end. ``norm`` is
the direction that divides by the number of points: ``"backward"`` the inverse one, ``"forward"`` the direct one,
``"ortho"`` both by its square root.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from paddle import _lazy
from paddle._public import public
from paddle.framework.place import place_of
from paddle.tensor._args import axis_of, dtype_of, floating, need_tensor, op_error
from umiak import ops as F
from umiak.core.array import from_numpy
from umiak.core.tensor import Tensor
from umiak.ops.fourier import NORMS, TO_COMPLEX

# --- arguments -----------------------------------------------------------------------------------------------------


def _count(n: Any, op: str, what: str) -> int:
    try:
        found = operator.index(n)
    except TypeError:
        raise op_error(ValueError, op, f"an integer for {what}", repr(n)) from None
    if found < 1:
        raise op_error(ValueError, op, f"a positive {what}", found)
    return found


def _operand(x: Any, op: str, norm: Any) -> Tensor:
    x = need_tensor(x, op)
    if norm not in NORMS:
        raise op_error(ValueError, op, "a norm of 'backward', 'ortho' or 'forward'", repr(norm))
    return x if x.dtype.is_bool else floating(x)


def _complex(x: Tensor, op: str) -> Tensor:
    if x.dtype.is_complex:
        return x
    wide = TO_COMPLEX.get(x.dtype)
    if wide is None:
        required = "a tensor of float32, float64, complex64, complex128 or integers"
        raise op_error(TypeError, op, required, x.dtype.name)
    return F.cast(x, dtype=wide)


def _axes(x: Tensor, s: Any, axes: Any, op: str) -> tuple[tuple[int, ...], tuple[int, ...] | None]:
    """Axes counted from the front, and the points on them."""
    for what, given in (("s", s), ("axes", axes)):
        if given is not None and not hasattr(given, "__iter__"):
            raise op_error(TypeError, op, f"a sequence of integers for {what}", type(given).__name__)
    sizes = None if s is None else tuple(_count(n, op, "s") for n in s)
    if axes is None:
        rank = x.ndim if sizes is None else len(sizes)
        if rank > x.ndim:
            raise op_error(ValueError, op, f"at most {x.ndim} sizes, one for each axis", sizes)
        found = tuple(range(x.ndim - rank, x.ndim))
    else:
        found = tuple(axis_of(a, x.ndim, op) for a in axes)
    if not found or len(set(found)) != len(found):
        raise op_error(ValueError, op, "one or more different axes", found)
    if sizes is not None and len(sizes) != len(found):
        raise op_error(ValueError, op, f"{len(found)} sizes, one for each axis", sizes)
    return found, sizes


def _fit(x: Tensor, axes: tuple[int, ...], sizes: tuple[int, ...] | None) -> Tensor:
    """Crop or pad ``x`` to so many points on each axis."""
    if sizes is None:
        return x
    have = [x.shape[a] for a in axes]
    cut = [(a, n) for a, n, h in zip(axes, sizes, have) if n < h]
    if cut:
        k = len(cut)
        x = F.slice(x, tuple(a for a, _ in cut), (0,) * k, tuple(n for _, n in cut), (1,) * k)
    more = [(a, n - h) for a, n, h in zip(axes, sizes, have) if n > h]
    if more:
        x = F.pad(x, 0, axes=tuple(a for a, _ in more), lo=(0,) * len(more), hi=tuple(n for _, n in more))
    return x


# --- the kinds of transforms ---------------------------------------------------------------------------------------


def _c2c(x: Any, s: Any, axes: Any, norm: str, op: str, inverse: bool) -> Tensor:
    x = _operand(x, op, norm)
    found, sizes = _axes(x, s, axes, op)
    x = _complex(_fit(x, found, sizes), op)
    if 0 in x.shape:  # also along the axes: no points give no points
        return x
    return F.fft(x, axes=found, norm=norm, inverse=inverse)


def _r2c(x: Any, s: Any, axes: Any, norm: str, op: str, inverse: bool) -> Tensor:
    x = _operand(x, op, norm)
    found, sizes = _axes(x, s, axes, op)
    x = _fit(x, found, sizes)
    return (F.ihfft if inverse else F.rfft)(x, axes=found, norm=norm)


def _c2r(x: Any, s: Any, axes: Any, norm: str, op: str, inverse: bool) -> Tensor:
    x = _operand(x, op, norm)
    found, sizes = _axes(x, s, axes, op)
    n = 2 * (x.shape[found[-1]] - 1) if sizes is None else sizes[-1]
    if n < 1:
        raise op_error(ValueError, op, "at least two points on the last axis, or n", x.shape)
    half = (n // 2 + 1,)
    x = (
        _fit(x, found, half)
        if len(found) == 1
        else _fit(x, found, (*(sizes or [x.shape[a] for a in found])[:-1], *half))
    )
    return (F.irfft if inverse else F.hfft)(_complex(x, op), axes=found, norm=norm, n=n)


def _one(n: Any, axis: Any, x: Any, op: str) -> tuple[Any, tuple[int, ...]]:
    """The arguments of a transform of one axis, as those of one of several."""
    need_tensor(x, op)
    if not hasattr(axis, "__index__"):
        raise op_error(ValueError, op, "an integer for axis", repr(axis))
    return None if n is None else (_count(n, op, "n"),), (axis_of(axis, x.ndim, op),)


def _two(x: Any, s: Any, axes: Any, op: str) -> tuple[Any, Any]:
    """The arguments of a transform of two axes."""
    if need_tensor(x, op).ndim < 2:
        raise op_error(ValueError, op, "a tensor of rank 2 or more", x.shape)
    for what, given in (("s", s), ("axes", axes)):
        if given is not None and (not isinstance(given, (list, tuple)) or len(given) != 2):
            raise op_error(ValueError, op, f"two integers for {what}", repr(given))
    return s, axes


# --- one axis ------------------------------------------------------------------------------------------------------


@public("paddle.fft", usual=False)
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
    return _c2c(x, *_one(n, axis, x, "fft"), norm, "fft", False)


@public("paddle.fft", usual=False)
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
    return _c2c(x, *_one(n, axis, x, "ifft"), norm, "ifft", True)


@public("paddle.fft", usual=False)
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
    return _r2c(x, *_one(n, axis, x, "rfft"), norm, "rfft", False)


@public("paddle.fft", usual=False)
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
    return _c2r(x, *_one(n, axis, x, "irfft"), norm, "irfft", True)


@public("paddle.fft", usual=False)
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
    return _c2r(x, *_one(n, axis, x, "hfft"), norm, "hfft", False)


@public("paddle.fft", usual=False)
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
    return _r2c(x, *_one(n, axis, x, "ihfft"), norm, "ihfft", True)


# --- two axes --------------------------------------------------------------------------------------------------------


@public("paddle.fft", usual=False)
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
    return _c2c(x, *_two(x, s, axes, "fft2"), norm, "fft2", False)


@public("paddle.fft", usual=False)
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
    return _c2c(x, *_two(x, s, axes, "ifft2"), norm, "ifft2", True)


@public("paddle.fft", usual=False)
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
    return _r2c(x, *_two(x, s, axes, "rfft2"), norm, "rfft2", False)


@public("paddle.fft", usual=False)
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
    return _c2r(x, *_two(x, s, axes, "irfft2"), norm, "irfft2", True)


@public("paddle.fft", usual=False)
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
    return _c2r(x, *_two(x, s, axes, "hfft2"), norm, "hfft2", False)


@public("paddle.fft", usual=False)
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
        [2, 3]
    """
    return _r2c(x, *_two(x, s, axes, "ihfft2"), norm, "ihfft2", True)


# --- any axes --------------------------------------------------------------------------------------------------------


@public("paddle.fft", usual=False)
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
    return _c2c(x, s, axes, norm, "fftn", False)


@public("paddle.fft", usual=False)
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
    return _c2c(x, s, axes, norm, "ifftn", True)


@public("paddle.fft", usual=False)
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
    return _r2c(x, s, axes, norm, "rfftn", False)


@public("paddle.fft", usual=False)
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
    return _c2r(x, s, axes, norm, "irfftn", True)


@public("paddle.fft", usual=False)
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
    return _c2r(x, s, axes, norm, "hfftn", False)


@public("paddle.fft", usual=False)
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
        [2, 3]
    """
    return _r2c(x, s, axes, norm, "ihfftn", True)


# --- frequencies ---------------------------------------------------------------------------------------------------


def _frequencies(make: Any, n: Any, d: Any, dtype: Any, device: Any, requires_grad: bool, op: str) -> Tensor:
    n = _count(n, op, "n")
    if d == 0:
        raise op_error(ValueError, op, "a d other than 0", d)
    found = dtype_of(dtype)
    if not found.is_floating:
        raise op_error(TypeError, op, "a floating dtype", found.name)
    x = from_numpy(make(n, d).astype(found.numpy), place_of(device, op))
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
        found = tuple(range(x.ndim))
    else:
        found = tuple(axis_of(a, x.ndim, op) for a in (axes if isinstance(axes, (list, tuple)) else (axes,)))
    return F.fft_shift(x, axes=found, inverse=inverse) if found else F.copy(x)


@public("paddle.fft", usual=False)
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


@public("paddle.fft", usual=False)
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


__getattr__, __dir__, __all__ = _lazy.contents(__name__)
