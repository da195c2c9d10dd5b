"""Methods that make tensors of the dtype and place of another one."""

from __future__ import annotations

from typing import Any

from paddle._public import public
from paddle.tensor._args import dtype_of, shape_of
from paddle.tensor.filled import empty, full
from umiak.core.tensor import Tensor


@public("Tensor", ints_from=1)
def new_empty(
    self: Tensor,
    size: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Tensor of the same dtype and place whose elements are not set.

    Args:
        size: sizes, as a list, a tuple, separate ints or an integer tensor.
        dtype: the dtype; by default that of this tensor.
        device: where to put the tensor; by default the place of this one.
        requires_grad: whether gradients are computed for it (``stop_gradient=False``).
        pin_memory: without effect.

    Returns:
        Tensor of the given sizes.

    Raises:
        TypeError: a size is not an integer, or ``dtype`` is not a dtype.
        ValueError: a size is negative.

    Example:
        >>> import paddle
        >>> paddle.ones([1], "int32").new_empty(2, 3).shape
        paddle.Size([2, 3])
    """
    return _new("new_empty", None, self, size, dtype, device, requires_grad)


@public("Tensor", ints_from=1)
def new_ones(
    self: Tensor,
    size: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Tensor of ones, of the same dtype and place.

    Args:
        size: sizes, as a list, a tuple, separate ints or an integer tensor.
        dtype: the dtype; by default that of this tensor.
        device: where to put the tensor; by default the place of this one.
        requires_grad: whether gradients are computed for it (``stop_gradient=False``).
        pin_memory: without effect.

    Returns:
        Tensor of the given sizes.

    Raises:
        TypeError: a size is not an integer, or ``dtype`` is not a dtype.
        ValueError: a size is negative.

    Example:
        >>> import paddle
        >>> paddle.ones([1], "int32").new_ones([2]).tolist()
        [1, 1]
    """
    return _new("new_ones", 1, self, size, dtype, device, requires_grad)


@public("Tensor", ints_from=1)
def new_zeros(
    self: Tensor,
    size: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Tensor of zeros, of the same dtype and place.

    Args:
        size: sizes, as a list, a tuple, separate ints or an integer tensor.
        dtype: the dtype; by default that of this tensor.
        device: where to put the tensor; by default the place of this one.
        requires_grad: whether gradients are computed for it (``stop_gradient=False``).
        pin_memory: without effect.

    Returns:
        Tensor of the given sizes.

    Raises:
        TypeError: a size is not an integer, or ``dtype`` is not a dtype.
        ValueError: a size is negative.

    Example:
        >>> import paddle
        >>> paddle.ones([1], "int32").new_zeros([2]).tolist()
        [0, 0]
    """
    return _new("new_zeros", 0, self, size, dtype, device, requires_grad)


def _new(op: str, value: Any, x: Tensor, size: Any, dtype: Any, device: Any, requires_grad: bool) -> Tensor:
    d = x.dtype if dtype is None else dtype_of(dtype)
    where = x.place if device is None else device
    sizes = shape_of(size, op)
    if value is None:
        return empty(sizes, d, device=where, requires_grad=requires_grad)
    return full(sizes, value, d, device=where, requires_grad=requires_grad)


@public("Tensor")
def new_full(
    self: Tensor,
    size: Any,
    fill_value: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Tensor of the same dtype and place in which every element is ``fill_value``.

    Args:
        size: sizes, as a list, a tuple or an integer tensor.
        fill_value: a number, or a tensor of one element.
        dtype: the dtype; by default that of this tensor.
        device: where to put the tensor; by default the place of this one.
        requires_grad: whether gradients are computed for it (``stop_gradient=False``).
        pin_memory: without effect.

    Returns:
        Tensor of the given sizes.

    Raises:
        TypeError: a size is not an integer, or ``dtype`` is not a dtype.
        ValueError: a size is negative.
        OverflowError: an integer dtype cannot hold the number.

    Example:
        >>> import paddle
        >>> paddle.ones([1], "int32").new_full([2], 7).tolist()
        [7, 7]
    """
    d = self.dtype if dtype is None else dtype_of(dtype)
    return full(
        shape_of(size, "new_full"),
        fill_value,
        d,
        device=self.place if device is None else device,
        requires_grad=requires_grad,
    )
