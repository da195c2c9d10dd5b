"""Elements where a mask holds: selected, or replaced."""

from __future__ import annotations

from typing import Any

from paddle._public import inplace, public
from paddle.tensor._args import cast as _cast_to
from paddle.tensor._args import (
    equal_shapes,
    need_tensor,
    number,
    number_in,
    op_error,
)
from paddle.tensor.overwriting import WHERE, some_elements, updated
from paddle.tensor.sequences import broadcast_shape
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.tensor import Tensor
from umiak.ir.sym import to_int


def _mask(mask: Any, op: str) -> Tensor:
    if not need_tensor(mask, op, "mask").dtype.is_bool:
        raise op_error(ValueError, op, "a mask of dtype bool", mask.dtype.name)
    return mask


def _spread(x: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """x and mask repeated to their common shape."""
    if equal_shapes(x.shape, mask.shape):
        return x, mask
    from paddle.tensor.sequences import broadcast_shapes

    shape = tuple(broadcast_shapes(x.shape, mask.shape))
    return F.broadcast_to(x, shape), F.broadcast_to(mask, shape)


@public
def masked_select(x: Tensor, mask: Tensor, name: str | None = None, *, out: Any = None) -> Tensor:
    """Elements of ``x`` where ``mask`` holds, in row-major order.

    Args:
        x: tensor of any dtype.
        mask: bool tensor; x and mask broadcast to one shape.
        out: tensor that is written with the result and returned.

    Returns:
        1-d tensor of x's dtype, with as many elements as the mask has true ones.

    Raises:
        TypeError: x or mask is not a tensor.
        ValueError: mask is not bool, or the shapes do not broadcast.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([1, 2, 3])
        >>> paddle.masked_select(x, x > 1).tolist()
        [2, 3]
    """
    x, mask = _spread(need_tensor(x, "masked_select"), _mask(mask, "masked_select"))
    return F.masked_select_sized(x, mask, number_in(F.count_true(mask)))


@public
def masked_fill(x: Tensor, mask: Tensor, value: Any, name: str | None = None) -> Tensor:
    """Copy of ``x`` with a value where ``mask`` holds.

    Args:
        x: tensor of any dtype.
        mask: tensor that broadcasts with x; elements that are not 0 hold.
        value: number, or tensor, which is cast to x's dtype and broadcasts with x.

    Returns:
        Tensor of x's dtype and of the shape to which x, mask and value broadcast.

    Raises:
        TypeError: x or mask is not a tensor.
        ValueError: the shapes do not broadcast.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([1, 2, 3])
        >>> paddle.masked_fill(x, x > 1, 0).tolist()
        [1, 0, 0]
    """
    need_tensor(x, "masked_fill")
    if isinstance(value, Tensor):
        value = _cast_to(value, x.dtype)
    elif not x.dtype.is_complex:
        value = number(value)
        value = bool(value) if x.dtype.is_bool else to_int(value) if x.dtype.is_integer else value
    mask = _cast_to(need_tensor(mask, "masked_fill", "mask"), dt.bool)
    if not equal_shapes(mask.shape, x.shape) or (isinstance(value, Tensor) and value.ndim):
        return F.where(mask, value, x)
    return updated(x, WHERE, (mask, value, x))


masked_fill_ = inplace(masked_fill, write=some_elements)


@public
def masked_scatter(x: Tensor, mask: Tensor, value: Tensor, name: str | None = None) -> Tensor:
    """Copy of ``x`` with the elements where ``mask`` holds replaced by the first elements of ``value``, in row-major
    order.

    Args:
        x: tensor of any dtype.
        mask: bool tensor that broadcasts with x.
        value: tensor of x's dtype, with at least as many elements as the mask has true ones.

    Returns:
        Tensor of x's shape and dtype.

    Raises:
        TypeError: x, mask or value is not a tensor.
        ValueError: mask is not bool, value has another dtype or too few elements, or mask does not broadcast.

    Example:
        >>> import paddle
        >>> x = paddle.zeros([3])
        >>> paddle.masked_scatter(x, paddle.to_tensor([True, False, True]), paddle.to_tensor([1.0, 2.0])).tolist()
        [1.0, 0.0, 2.0]
    """
    need_tensor(x, "masked_scatter")
    mask = _mask(mask, "masked_scatter")
    if need_tensor(value, "masked_scatter", "value").dtype is not x.dtype:
        raise op_error(ValueError, "masked_scatter", f"a value of dtype {x.dtype.name}", value.dtype.name)
    shape = tuple(x.shape) if mask.ndim == 0 else tuple(broadcast_shape(x.shape, mask.shape))
    if not equal_shapes(shape, x.shape):
        x = F.broadcast_to(x, shape)
    mask = F.broadcast_to(mask, shape)
    return F.masked_scatter(x, mask, F.reshape(value, (value._count,)))


masked_scatter_ = inplace(masked_scatter)
