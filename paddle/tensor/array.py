"""Arrays of tensors: Python lists in dynamic mode; in static mode their length may be known only while a program
runs."""

from __future__ import annotations

from typing import Any

from paddle._public import public
from paddle.framework import mode
from paddle.tensor._args import dtype_of, integer, need_tensor, op_error, reads_numbers
from paddle.tensor._tensor_array import TensorArray
from paddle.tensor.filled import empty, full
from paddle.tensor.joining import concat, stack
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.tensor import Tensor


def _need_list(array: Any, op: str) -> list:
    if not isinstance(array, (list, tuple)):
        raise op_error(TypeError, op, "a list of tensors", type(array).__name__)
    return array  # type: ignore[return-value]


def _index(i: Any, array: list, last: int, op: str) -> int:
    """An index into an array, counted from the front."""
    at, n = integer(i, op, "i"), len(array)
    if not -n <= at <= last:
        raise op_error(IndexError, op, f"an i from {-n} to {last}" if last >= 0 else "an array with tensors", at)
    return at + n if at < 0 else at


@public("paddle.tensor")
def create_array(dtype: Any, initialized_list: Any = None) -> list:
    """List of tensors of one dtype.

    In static mode it may be a variable of ``paddle.static.nn.while_loop``, or be written to in its body: from there on
    its tensors must have one shape.

    Args:
        dtype: the dtype that the tensors must have.
        initialized_list: the first tensors; by default there are none.

    Returns:
        A list; in static mode an array with the methods of one.

    Raises:
        TypeError: an item is not a tensor, or has another dtype.

    Example:
        >>> import paddle
        >>> paddle.tensor.create_array("float32", [paddle.ones([1])])[0].shape
        paddle.Size([1])
    """
    wanted = dtype_of(dtype)
    given = [] if initialized_list is None else list(_need_list(initialized_list, "create_array"))
    for x in given:
        if need_tensor(x, "create_array", "each item").dtype is not wanted:
            raise op_error(TypeError, "create_array", f"tensors of {wanted.name}", x.dtype.name)
    return TensorArray(wanted, given) if reads_numbers() else given  # type: ignore[return-value]


@public("paddle.tensor")
def array_length(array: list) -> Any:
    """Number of tensors in an array.

    Args:
        array: a list, as :func:`create_array` makes it.

    Returns:
        An int; in static mode an int64 tensor of shape ``[1]``.

    Raises:
        TypeError: ``array`` is not a list.

    Example:
        >>> import paddle
        >>> paddle.tensor.array_length([paddle.ones([1]), paddle.ones([2])])
        2
    """
    n = array.length() if isinstance(array, TensorArray) else len(_need_list(array, "array_length"))
    return n if mode.in_dynamic_mode() else full([1], n, "int64")


@public("paddle.tensor")
def array_read(array: list, i: Any) -> Tensor:
    """Tensor at a place in an array.

    Args:
        array: a list, as :func:`create_array` makes it.
        i: the place, an int or an integer tensor of one element; negative counts from the end.

    Returns:
        The tensor itself, no copy.

    Raises:
        TypeError: ``array`` is not a list, or ``i`` not an integer.
        IndexError: there is no such place.

    Example:
        >>> import paddle
        >>> paddle.tensor.array_read([paddle.ones([1]), paddle.ones([2])], 1).shape
        paddle.Size([2])
    """
    if isinstance(array, TensorArray):
        return array.read(i)
    array = _need_list(array, "array_read")
    return array[_index(i, array, len(array) - 1, "array_read")]


@public("paddle.tensor", usual=False)
def array_write(x: Tensor, i: Any, array: list | None = None) -> list:
    """Set the tensor at a place in an array, or append it.

    Args:
        x: tensor of any shape and dtype; it is kept itself, not copied.
        i: the place, an int or an integer tensor of one element; negative counts from the end, the number of tensors
            that are there appends.
        array: a list, as :func:`create_array` makes it; by default a new one.

    Returns:
        The list.

    Raises:
        TypeError: x is not a tensor, ``array`` is not a list, or ``i`` not an integer.
        IndexError: there is no such place.

    Example:
        >>> import paddle
        >>> array = paddle.tensor.array_write(paddle.ones([1]), 0)
        >>> [x.shape for x in paddle.tensor.array_write(paddle.ones([2]), 1, array)]
        [paddle.Size([1]), paddle.Size([2])]
    """
    if array is None and reads_numbers():
        array = TensorArray(need_tensor(x, "array_write").dtype)  # type: ignore[assignment]
    if isinstance(array, TensorArray):
        array.write(x, i)
        return array
    array = [] if array is None else _need_list(array, "array_write")
    at = _index(i, array, len(array), "array_write")
    array[at : at + 1] = [need_tensor(x, "array_write")]
    return array


def tensor_array_to_tensor(
    input: list, axis: int = 1, use_stack: bool = False, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Tensors of an array joined, and their sizes along the dim.

    Args:
        input: a list, as :func:`create_array` makes it, with at least one tensor where its length is known.
        axis: the dim to join along, or the place of a new one.
        use_stack: whether the dim is a new one.

    Returns:
        The tensor, and an int32 tensor with a size for each of the array: 1 along a new dim.

    Raises:
        TypeError: ``input`` is not a list of tensors.
        ValueError: the list is empty, or shapes do not agree.

    Example:
        >>> import paddle
        >>> array = [paddle.ones([2, 1]), paddle.zeros([2, 2])]
        >>> y, sizes = paddle.tensor.manipulation.tensor_array_to_tensor(array)
        >>> y.tolist(), sizes.tolist()
        ([[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]], [1, 2])
    """
    array = input if isinstance(input, TensorArray) else _need_list(input, "tensor_array_to_tensor")
    joined = stack(array, axis) if use_stack else concat(array, axis)
    if isinstance(array, TensorArray):
        return joined, array.sizes(None if use_stack else axis)
    sizes = [1 if use_stack else x.shape[axis] for x in array]
    return joined, F.concat([F.full(n, shape=(1,), dtype=dt.int32) for n in sizes], axis=0)


@public("paddle.tensor Tensor", usual=False)
def create_tensor(dtype: Any, name: str | None = None, persistable: bool = False) -> Tensor:
    """Tensor without elements, to be written later.

    Args:
        dtype: the dtype.
        persistable: value of the tensor's attribute of this name.

    Returns:
        Tensor of shape ``[0]``.

    Raises:
        TypeError: ``dtype`` is not a dtype.

    Example:
        >>> import paddle
        >>> x = paddle.tensor.create_tensor("float32")
        >>> x.shape
        paddle.Size([0])
    """
    out = empty([0], dtype_of(dtype))
    if name is not None:
        out.name = name
    out.persistable = persistable
    return out
