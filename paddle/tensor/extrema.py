"""The larger or smaller of two operands, and bounds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

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
from umiak.ir.sym import kind_of


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
        Tensor of the broadcast shape and x's dtype; of float32 if x is integer and a bound floating, and of the
        promoted dtype if x is floating and a bound a floating tensor of more than one element.

    Raises:
        TypeError: x is no tensor, or is bool or complex, or its dtype cannot be promoted with a bound's.
        ValueError: the shapes do not broadcast.

    Example:
        >>> import paddle
        >>> paddle.clip(paddle.to_tensor([-2.0, 0.5, 9.0]), min=0.0, max=3.0).tolist()
        [0.0, 0.5, 3.0]
    """
    need_tensor(x, "clip")
    low, high = type(min), type(max)
    if (
        (low in _NUMBERS and high in _NUMBERS)
        and not min is max is None
        and (x.dtype.is_floating or (low is not float and high is not float))
    ):
        return F.clip(x, min, max)
    return _clip(x, min, max)


clamp = also(clip, "clamp")


_NUMBERS = (float, int, type(None))
_CLIP_OP = F.Clip()


def _clip_within(x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """Integers stay integers in place, between floating bounds, too; floats take one pass over the memory."""
    low, high = args if len(args) == 2 else (kwargs.get("min"), kwargs.get("max"))
    if (
        type(low) in (float, int)
        and type(high) in (float, int)
        and len(args) + len(kwargs) == 2
        and x.dtype.is_floating
    ):
        return updated(x, _CLIP_OP, (x, low, high))
    if not x.dtype.is_integer:
        return clip(x, *args, **kwargs)
    y = clip(x, *map(_without_fraction, args), **{k: _without_fraction(v) for k, v in kwargs.items()})
    return cast(y, x.dtype)


def _without_fraction(b: Any) -> Any:
    """A bound of integers that stay integers; an infinite one bounds nothing."""
    if isinstance(b, Tensor) and b.dtype.is_floating and not current().trace and b.size == 1:
        b = b.item()
    if not isinstance(b, (float, np.floating)):
        return b
    return int(b) if math.isfinite(b) else None


clip_ = inplace(clip, "paddle.tensor Tensor", by=_clip_within, write=some_elements)

clamp_ = inplace(clip, "paddle.tensor Tensor", name="clamp_", by=_clip_within, write=some_elements)


def _clip(x: Tensor, min: Any, max: Any) -> Tensor:
    """Bounds that are tensors, or of integers."""
    if min is None and max is None:
        return F.copy(x)
    integers = x.dtype.is_integer
    if integers and (_is_floating(min) or _is_floating(max)):
        x = F.cast(x, dtype=dt.float32)
    bounds = [_bound(b, x) for b in (min, max)]
    for i, b in enumerate(bounds):
        if isinstance(b, Tensor):
            if x.dtype is dt.int64 or (x.dtype.is_floating and (integers or b.dtype.is_integer)):
                b = cast(b, x.dtype)
            x, bounds[i] = same_dtype("maximum", x, b)
    return F.clip(x, bounds[0], bounds[1])


def _is_floating(b: Any) -> bool:
    if isinstance(b, Tensor):
        return b.dtype.is_floating
    return b is not None and kind_of(number(b)) == "float"


def _bound(b: Any, x: Tensor) -> Any:
    """A bound as a number where it is one."""
    if not isinstance(b, Tensor):
        return number(b)
    if type(b._count) is not int or b._count != 1:
        return b
    # Its value is not known, or wants a gradient. It counts for x's dtype as a number does.
    if x.dtype.is_floating and (current().trace or not b.stop_gradient):
        return cast(F.reshape(b, ()), x.dtype)
    return b.item()


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
