"""Arrays of tensors, which outside programs are Python lists."""

from __future__ import annotations

from typing import Any

from paddle._public import public
from paddle.tensor._args import dtype_of, integer, need_tensor, op_error
from paddle.tensor.creation import empty
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.tensor import Tensor


@public("paddle.tensor")
def create_array(dtype: Any, initialized_list: Any = None) -> list:
    """A list of tensors of one dtype.

    Example:
        >>> import paddle
        >>> paddle.tensor.create_array("float32", [paddle.ones([1])])[0].shape
        [1]
    """
    given = [] if initialized_list is None else list(initialized_list)
    for x in given:
        if need_tensor(x, "create_array", "each item").dtype is not dtype_of(dtype):
            raise op_error(TypeError, "create_array", f"tensors of {dtype_of(dtype).name}", x.dtype.name)
    return given


@public("paddle.tensor")
def array_length(array: list) -> Tensor:
    """The length of an array, as a 0-d int64 tensor."""
    return F.full(len(array), dt.int64, ())


@public("paddle.tensor")
def array_read(array: list, i: Any) -> Tensor:
    """Item ``i`` of an array."""
    return array[integer(i, "array_read", "i")]


@public("paddle.tensor", usual=False)
def array_write(x: Tensor, i: Any, array: list | None = None) -> list:
    """Set item ``i`` of an array, or append it; without an array, begin one.

    Example:
        >>> import paddle
        >>> len(paddle.tensor.array_write(paddle.ones([1]), paddle.to_tensor(0)))
        1
    """
    array = [] if array is None else array
    at = integer(i, "array_write", "i")
    if at > len(array):
        raise op_error(IndexError, "array_write", f"an i of at most {len(array)}", at)
    array[at : at + 1] = [need_tensor(x, "array_write")]
    return array


@public("paddle.tensor")
def create_tensor(dtype: Any, name: str | None = None, persistable: bool = False) -> Tensor:
    """A tensor without elements, to become another's value later."""
    out = empty([0], dtype_of(dtype))
    if name is not None:
        out.name = name
    out.persistable = persistable
    return out
