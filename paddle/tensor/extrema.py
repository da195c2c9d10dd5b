"""The larger or smaller of two operands, and bounds."""

from __future__ import annotations

import builtins
from typing import Any

from paddle._public import also, inplace, public
from paddle.tensor._args import (
    cast,
    need_tensor,
    number,
    promoted,
    same_dtype,
)
from paddle.tensor.overwriting import some_elements, updated
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.context import current
from umiak.core.tensor import Tensor


@public
def clip(x: Tensor, min: Any = None, max: Any = None, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Bound each element from below and above.

    Args:
        x: integer or floating tensor of any shape.
        min: lower bound, a number or a tensor whose shape broadcasts with x's; None means none.
        max: upper bound, likewise; it wins where it is below the lower one.
        out: tensor that the result is written into, and that is returned; it keeps its dtype and takes the result's
            shape.

    Returns:
        Tensor of the broadcast shape and x's dtype; of float32 if x is integer and a bound has a fraction, and of the
        promoted dtype if a bound is a tensor of more than one element.

    Raises:
        TypeError: x is no tensor, or is bool or complex, or its dtype cannot be promoted with a bound's.
        ValueError: the shapes do not broadcast.

    Example:
        >>> import paddle
        >>> paddle.clip(paddle.to_tensor([-2.0, 0.5, 9.0]), min=0.0, max=3.0).tolist()
        [0.0, 0.5, 3.0]
    """
    need_tensor(x, "clip")
    if x.dtype.is_floating and type(min) in _NUMBERS and type(max) in _NUMBERS and not min is max is None:
        return F.clip(x, min, max)
    return _clip(x, min, max)


clamp = also(clip, "clamp")


_NUMBERS = (float, int, type(None))
_CLIP_OP = F.Clip()


def _clip_within(x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """Integers stay integers in place, where a bound has a fraction, too; floats take one pass over the memory."""
    low, high = args if len(args) == 2 else (kwargs.get("min"), kwargs.get("max"))
    if (
        type(low) in (float, int)
        and type(high) in (float, int)
        and len(args) + len(kwargs) == 2
        and x.dtype.is_floating
    ):
        return updated(x, _CLIP_OP, (x, low, high))
    clipped = clip(x, *args, **kwargs)
    return cast(clipped, x.dtype) if x.dtype.is_integer else clipped


clip_ = inplace(clip, "paddle.tensor Tensor", by=_clip_within, write=some_elements)

clamp_ = inplace(clip, "paddle.tensor Tensor", name="clamp_", by=_clip_within, write=some_elements)


def _clip(x: Tensor, min: Any, max: Any) -> Tensor:
    """Bounds that are tensors, or integers between fractions."""
    if min is None and max is None:
        return F.copy(x)
    bounds = [_bound(b, x) for b in (min, max)]
    if x.dtype.is_integer and builtins.any(isinstance(b, float) for b in bounds):
        if builtins.any(isinstance(b, float) and b != int(b) for b in bounds if b is not None and _is_finite(b)):
            x = F.cast(x, dtype=dt.float32)
        else:
            bounds = [
                int(b) if isinstance(b, float) and _is_finite(b) else None if isinstance(b, float) else b
                for b in bounds
            ]
    for i, b in enumerate(bounds):
        if isinstance(b, Tensor):
            if x.dtype.is_integer and b.dtype.is_floating and type(b._count) is int and b._count == 1:
                x = F.cast(x, dtype=dt.float32)
            x, bounds[i] = same_dtype("maximum", x, b)
    return F.clip(x, bounds[0], bounds[1])


def _bound(b: Any, x: Tensor) -> Any:
    """A bound as a number where it is one."""
    if not isinstance(b, Tensor):
        return number(b)
    if type(b._count) is not int or b._count != 1:
        return b
    fractions = x.dtype.is_integer and b.dtype.is_floating
    if not b.stop_gradient:
        return F.cast(b, dtype=dt.float32) if fractions else b
    if current().trace and (x.dtype.is_floating or fractions):  # not known; it counts for x's dtype as a number does
        return F.cast(F.reshape(b, ()), dtype=dt.float32 if fractions else x.dtype)
    return b.item()


def _is_finite(x: Any) -> bool:
    """Return whether a number is finite."""
    return x - x == 0


@public(op=F.Fmax())
def fmax(x: Tensor, y: Any, name: str | None = None) -> Tensor:
    """Larger of x and y, element by element; of a number and NaN, the number.

    Args:
        x: integer or floating tensor; a number if y is a tensor.
        y: tensor or number; the shapes broadcast. Floating dtypes that differ are promoted, others must be equal.

    Returns:
        Tensor of the broadcast shape and the common dtype.

    Raises:
        TypeError: no operand is a tensor, the dtypes cannot be promoted, or one is bool or complex.
        ValueError: the shapes do not broadcast.

    Example:
        >>> import paddle
        >>> paddle.fmax(paddle.to_tensor([1.0, float("nan")]), paddle.to_tensor([3.0, 2.0])).tolist()
        [3.0, 2.0]
    """
    return promoted(F.fmax, "fmax", x, y)


@public(op=F.Fmin())
def fmin(x: Tensor, y: Any, name: str | None = None) -> Tensor:
    """Smaller of x and y, element by element; of a number and NaN, the number.

    Args:
        x: integer or floating tensor; a number if y is a tensor.
        y: tensor or number; the shapes broadcast. Floating dtypes that differ are promoted, others must be equal.

    Returns:
        Tensor of the broadcast shape and the common dtype.

    Raises:
        TypeError: no operand is a tensor, the dtypes cannot be promoted, or one is bool or complex.
        ValueError: the shapes do not broadcast.

    Example:
        >>> import paddle
        >>> paddle.fmin(paddle.to_tensor([1.0, float("nan")]), paddle.to_tensor([3.0, 2.0])).tolist()
        [1.0, 2.0]
    """
    return promoted(F.fmin, "fmin", x, y)


@public(op=F.Maximum())
def maximum(x: Tensor, y: Any, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Larger of x and y, element by element; NaN where either is.

    Args:
        x: bool, integer or floating tensor; a number if y is a tensor.
        y: tensor or number; the shapes broadcast. Floating dtypes that differ are promoted, others must be equal.
        out: tensor that the result is written into, and that is returned; it keeps its dtype and takes the result's
            shape.

    Returns:
        Tensor of the broadcast shape and the common dtype.

    Raises:
        TypeError: no operand is a tensor, the dtypes cannot be promoted, or one is complex.
        ValueError: the shapes do not broadcast.

    Example:
        >>> import paddle
        >>> paddle.maximum(paddle.to_tensor([1.0, 5.0]), paddle.to_tensor([3.0, 2.0])).tolist()
        [3.0, 5.0]
    """
    return promoted(F.maximum, "maximum", x, y)


@public(op=F.Minimum())
def minimum(x: Tensor, y: Any, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Smaller of x and y, element by element; NaN where either is.

    Args:
        x: bool, integer or floating tensor; a number if y is a tensor.
        y: tensor or number; the shapes broadcast. Floating dtypes that differ are promoted, others must be equal.
        out: tensor that the result is written into, and that is returned; it keeps its dtype and takes the result's
            shape.

    Returns:
        Tensor of the broadcast shape and the common dtype.

    Raises:
        TypeError: no operand is a tensor, the dtypes cannot be promoted, or one is complex.
        ValueError: the shapes do not broadcast.

    Example:
        >>> import paddle
        >>> paddle.minimum(paddle.to_tensor([1.0, 5.0]), paddle.to_tensor([3.0, 2.0])).tolist()
        [1.0, 2.0]
    """
    return promoted(F.minimum, "minimum", x, y)
