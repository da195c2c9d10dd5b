"""Arguments of transforms, and their three kinds."""

from __future__ import annotations

import operator
from typing import Any

from paddle.tensor._args import InternedOps, axis_of, floating, need_tensor, op_error
from umiak import ops as F
from umiak.core.eager import apply, apply1
from umiak.core.tensor import Tensor
from umiak.ir import sym as dim
from umiak.ir.expr import Sym
from umiak.ops.fourier import NORMS, TO_COMPLEX

_CAST = InternedOps(F.Cast)
_TRANSFORMED = frozenset(TO_COMPLEX) | frozenset(TO_COMPLEX.values())
_FFT, _RFFT, _IRFFT, _HFFT, _IHFFT = map(InternedOps, (F.Fft, F.Rfft, F.Irfft, F.Hfft, F.Ihfft))


def count(n: Any, op: str, arg_name: str) -> int:
    """A positive int; a size of a program stays symbolic."""
    if type(n) is Sym and n.kind == "int":
        return n  # type: ignore[return-value]
    try:
        points = operator.index(n)
    except TypeError:
        raise op_error(ValueError, op, f"an integer for {arg_name}", repr(n)) from None
    if points < 1:
        raise op_error(ValueError, op, f"a positive {arg_name}", points)
    return points


def _operand(x: Any, op: str, norm: Any) -> Tensor:
    if norm not in NORMS:
        need_tensor(x, op)
        raise op_error(ValueError, op, "a norm of 'backward', 'ortho' or 'forward'", repr(norm))
    if type(x) is Tensor and x.dtype in _TRANSFORMED:
        return x
    need_tensor(x, op)
    return x if x.dtype.is_bool else floating(x)


def _complex(x: Tensor, op: str) -> Tensor:
    if x.dtype.is_complex:
        return x
    wide = TO_COMPLEX.get(x.dtype)
    if wide is None:
        required = "a tensor of float32, float64, complex64, complex128 or integers"
        raise op_error(TypeError, op, required, x.dtype.name)
    return apply1(_CAST[wide], x)


def _axes(x: Tensor, s: Any, axes: Any, op: str) -> tuple[tuple[int, ...], tuple[int, ...] | None]:
    """Axes counted from the front, and the points on them."""
    if s is None and type(axes) is tuple and len(axes) == 1:
        return (axis_of(axes[0], x.ndim, op),), None
    for arg_name, given in (("s", s), ("axes", axes)):
        if given is not None and not hasattr(given, "__iter__"):
            raise op_error(TypeError, op, f"a sequence of integers for {arg_name}", type(given).__name__)
    sizes = None if s is None else tuple(count(n, op, "s") for n in s)
    if axes is None:
        rank = x.ndim if sizes is None else len(sizes)
        if rank > x.ndim:
            raise op_error(ValueError, op, f"at most {x.ndim} sizes, one for each axis", sizes)
        chosen_axes = tuple(range(x.ndim - rank, x.ndim))
    else:
        chosen_axes = tuple(axis_of(a, x.ndim, op) for a in axes)
    if not chosen_axes or len(set(chosen_axes)) != len(chosen_axes):
        raise op_error(ValueError, op, "one or more different axes", chosen_axes)
    if sizes is not None and len(sizes) != len(chosen_axes):
        raise op_error(ValueError, op, f"{len(chosen_axes)} sizes, one for each axis", sizes)
    return chosen_axes, sizes


def _fit(x: Tensor, axes: tuple[int, ...], sizes: tuple[int, ...] | None) -> Tensor:
    """Crop or pad ``x`` to so many points on each axis; where sizes say when a program runs which of both, to pad by a
    negative number is to crop."""
    if sizes is None:
        return x
    shape = x.shape
    have = [shape[a] for a in axes]
    if all(map(dim.same, have, sizes)):
        return x
    open_ = [(a, n - h) for a, n, h in zip(axes, sizes, have) if type(n - h) is Sym and (n - h).lo < 0 < (n - h).hi]
    if open_:
        places = tuple(a for a, _ in open_)
        x = F.pad(x, 0, axes=places, lo=(0,) * len(open_), hi=tuple(n for _, n in open_))
        have = [x.shape[a] for a in axes]
    cut = [(a, n) for a, n, h in zip(axes, sizes, have) if not dim.same(n, h) and n < h]
    if cut:
        k = len(cut)
        x = F.slice(x, tuple(a for a, _ in cut), (0,) * k, tuple(n for _, n in cut), (1,) * k)
    more = [(a, n - h) for a, n, h in zip(axes, sizes, have) if not dim.same(n, h) and n > h]
    if more:
        x = F.pad(x, 0, axes=tuple(a for a, _ in more), lo=(0,) * len(more), hi=tuple(n for _, n in more))
    return x


def complex_to_complex(x: Any, s: Any, axes: Any, norm: str, op: str, inverse: bool) -> Tensor:
    """Transform of complex numbers."""
    x = _operand(x, op, norm)
    chosen_axes, sizes = _axes(x, s, axes, op)
    x = _fit(x, chosen_axes, sizes)
    if not x._count:  # also along the axes: no points give no points
        return _complex(x, op)
    if x.dtype not in TO_COMPLEX:
        x = _complex(x, op)
    return apply1(_FFT[chosen_axes, norm, inverse], x)


def real_to_complex(x: Any, s: Any, axes: Any, norm: str, op: str, inverse: bool) -> Tensor:
    """Transform of real numbers: one half of the points, as the other mirrors it."""
    x = _operand(x, op, norm)
    chosen_axes, sizes = _axes(x, s, axes, op)
    x = _fit(x, chosen_axes, sizes)
    return apply1((_IHFFT if inverse else _RFFT)[chosen_axes, norm], x)


def complex_to_real(x: Any, s: Any, axes: Any, norm: str, op: str, inverse: bool) -> Tensor:
    """Transform of one half of points that the other mirrors: real numbers."""
    x = _operand(x, op, norm)
    chosen_axes, sizes = _axes(x, s, axes, op)
    shape = x.shape
    n = 2 * (shape[chosen_axes[-1]] - 1) if sizes is None else sizes[-1]
    if not dim.le(1, n):
        raise op_error(ValueError, op, "at least two points on the last axis, or n", shape)
    if sizes is not None:
        x = _fit(x, chosen_axes, (*sizes[:-1], n // 2 + 1))
    return apply((_IRFFT if inverse else _HFFT)[chosen_axes, norm], (_complex(x, op),), (n,))


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
    for arg_name, given in (("s", s), ("axes", axes)):
        if given is not None and (not isinstance(given, (list, tuple)) or len(given) != 2):
            raise op_error(ValueError, op, f"two integers for {arg_name}", repr(given))
    return s, axes
