"""Arguments of transforms, and their three kinds."""

from __future__ import annotations

import operator
from typing import Any

from paddle.tensor._args import axis_of, floating, need_tensor, op_error
from umiak import ops as F
from umiak.core.tensor import Tensor
from umiak.ops.fourier import NORMS, TO_COMPLEX


def count(n: Any, op: str, what: str) -> int:
    """A positive int."""
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
    sizes = None if s is None else tuple(count(n, op, "s") for n in s)
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


def complex_to_complex(x: Any, s: Any, axes: Any, norm: str, op: str, inverse: bool) -> Tensor:
    """Transform of complex numbers."""
    x = _operand(x, op, norm)
    found, sizes = _axes(x, s, axes, op)
    x = _complex(_fit(x, found, sizes), op)
    if 0 in x.shape:  # also along the axes: no points give no points
        return x
    return F.fft(x, axes=found, norm=norm, inverse=inverse)


def real_to_complex(x: Any, s: Any, axes: Any, norm: str, op: str, inverse: bool) -> Tensor:
    """Transform of real numbers: one half of the points, as the other mirrors it."""
    x = _operand(x, op, norm)
    found, sizes = _axes(x, s, axes, op)
    x = _fit(x, found, sizes)
    return (F.ihfft if inverse else F.rfft)(x, axes=found, norm=norm)


def complex_to_real(x: Any, s: Any, axes: Any, norm: str, op: str, inverse: bool) -> Tensor:
    """Transform of one half of points that the other mirrors: real numbers."""
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


def of_one_axis(n: Any, axis: Any, x: Any, op: str) -> tuple[Any, tuple[int, ...]]:
    """The arguments of a transform of one axis, as those of one of several."""
    need_tensor(x, op)
    if not hasattr(axis, "__index__"):
        raise op_error(ValueError, op, "an integer for axis", repr(axis))
    return None if n is None else (count(n, op, "n"),), (axis_of(axis, x.ndim, op),)


def of_two_axes(x: Any, s: Any, axes: Any, op: str) -> tuple[Any, Any]:
    """The arguments of a transform of two axes."""
    if need_tensor(x, op).ndim < 2:
        raise op_error(ValueError, op, "a tensor of rank 2 or more", x.shape)
    for what, given in (("s", s), ("axes", axes)):
        if given is not None and (not isinstance(given, (list, tuple)) or len(given) != 2):
            raise op_error(ValueError, op, f"two integers for {what}", repr(given))
    return s, axes
