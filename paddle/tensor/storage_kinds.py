"""Methods that tell how a tensor stores its elements, or what else it holds, and that replace it."""

from __future__ import annotations

from typing import Any

from paddle._public import constants, public
from paddle.framework.grad_mode import enable_grad
from umiak import ops as F
from umiak.core.inplace import rebind as rebind_tensor
from umiak.core.storage import UNFILLED
from umiak.core.tensor import KIND_SELECTED_ROWS, KIND_SPARSE, Tensor, unfilled
from umiak.util.errors import op_error


@public("Tensor")
def is_dense(self: Tensor) -> bool:
    """Test for a tensor that stores every element.

    Returns:
        True, for every tensor of this class.

    Example:
        >>> import paddle
        >>> paddle.ones([2]).is_dense()
        True
    """
    return True


@public("Tensor")
def is_dist(self: Tensor) -> bool:
    """Test for a tensor that is spread over several processes.

    Returns:
        False, for every tensor of this class.

    Example:
        >>> import paddle
        >>> paddle.ones([2]).is_dist()
        False
    """
    return False


@public("Tensor")
def is_selected_rows(self: Tensor) -> bool:
    """Test for a tensor that stores only some rows.

    Returns:
        False, for every tensor of this class.

    Example:
        >>> import paddle
        >>> paddle.ones([2]).is_selected_rows()
        False
    """
    return False


@public("Tensor")
def value(self: Tensor) -> Tensor:
    """Tensor behind this one, which is itself: for programs that expect a variable.

    Returns:
        The tensor itself.

    Example:
        >>> import paddle
        >>> x = paddle.ones([2])
        >>> x.value() is x
        True
    """
    return self


@public("Tensor")
def _is_initialized(self: Tensor) -> bool:
    """Test for a tensor that has values.

    Returns:
        A bool; False for parameters made under ``paddle.LazyGuard`` until they are initialized.

    Example:
        >>> import paddle
        >>> paddle.ones([2])._is_initialized()
        True
    """
    return self.storage is None or self.storage.state != UNFILLED


@public("Tensor")
def get_tensor(self: Tensor) -> Any:
    """Memory of the tensor, for programs that read and write it as a ``DenseTensor``.

    Returns:
        ``DenseTensor`` with ``shape()``, ``set(array, place)`` and the form of an array; what is written to it is
        written to this tensor.

    Example:
        >>> import numpy, paddle
        >>> memory = paddle.to_tensor([1.0, 2.0]).get_tensor()
        >>> memory.shape(), numpy.array(memory).tolist()
        ([2], [1.0, 2.0])
    """
    from paddle.framework.dense_tensor import DenseTensor

    return DenseTensor(self)


@public("Tensor")
def get_selected_rows(self: Tensor) -> Any:
    """Rows that the tensor stores, if it stores only some.

    Returns:
        None, for every tensor of this class.

    Example:
        >>> import paddle
        >>> paddle.ones([2]).get_selected_rows() is None
        True
    """
    return None


@public("Tensor")
def set_tensor(self: Tensor, value: Tensor) -> None:
    """Take the shape, the dtype and a copy of the elements of another tensor; no gradient is recorded.

    Args:
        value: the other tensor.

    Raises:
        ValueError: value is not a tensor.

    Example:
        >>> import paddle
        >>> x = paddle.zeros([1])
        >>> x.set_tensor(paddle.to_tensor([1, 2]))
        >>> x.tolist()
        [1, 2]
    """
    self._share(_another(value, "set_tensor").detach().clone())


@public("Tensor")
def reconstruct_from_(self: Tensor, other: Tensor) -> None:
    """Become another tensor: its memory, shape, dtype, gradient and history, under the name that this one has.

    Args:
        other: the other tensor. Gradients of this one go on to it, unless it has ``stop_gradient=True``.

    Raises:
        ValueError: other is not a tensor.
        RuntimeError: this tensor is a view of another one.

    Example:
        >>> import paddle
        >>> x, y = paddle.ones([1]), paddle.to_tensor([2, 3])
        >>> x.reconstruct_from_(y)
        >>> x.tolist()
        [2, 3]
    """
    given = _another(other, "reconstruct_from_")
    self.detach_()
    if given.stop_gradient:
        self._share(given)
    else:
        with enable_grad():
            rebind_tensor(self, F.reshape(given, tuple(given.shape)))
    self.grad = given.grad


def _another(value: Any, op: str) -> Tensor:
    if not isinstance(value, Tensor):
        raise op_error(ValueError, op, "a Tensor", type(value).__name__)
    return value


# --- what is no array of numbers -----------------------------------------------------------------------------------


def _hold(x: Tensor, what: str, value: Any) -> None:
    reason = f"tensor {x.name!r} requires elements to be read, got {what}, which has none. Write a value to it first"
    x._share(unfilled((1,), x.dtype, x.place, reason))
    x._held = value


def _held(x: Tensor) -> Any:
    """The value in place of elements; None where there are elements."""
    return getattr(x, "_held", None) if not _is_initialized(x) else None


@public("Tensor")
def set_vocab(self: Tensor, value: dict) -> None:
    """Hold a vocabulary instead of elements, which an operation on text may take.

    Args:
        value: a dict from words to numbers, of which a copy is kept.

    Raises:
        TypeError: value is not a dict.

    Example:
        >>> import paddle
        >>> x = paddle.Tensor()
        >>> x.set_vocab({"the": 0, "cat": 1})
        >>> x.get_map_tensor()
        {'the': 0, 'cat': 1}
    """
    if not isinstance(value, dict):
        raise op_error(TypeError, "set_vocab", "a dict", type(value).__name__)
    _hold(self, "a vocabulary", dict(value))


@public("Tensor")
def set_string_list(self: Tensor, value: list) -> None:
    """Hold strings instead of elements, which an operation on text may take.

    Args:
        value: a list of strings, of which a copy is kept.

    Raises:
        TypeError: value is not a list of strings.

    Example:
        >>> import paddle
        >>> x = paddle.Tensor()
        >>> x.set_string_list(["a", "b"])
        >>> x.type.name
        'STRINGS'
    """
    if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
        raise op_error(TypeError, "set_string_list", "a list of strings", repr(value)[:80])
    _hold(self, "a list of strings", list(value))


@public("Tensor")
def get_map_tensor(self: Tensor) -> dict:
    """Vocabulary that the tensor holds.

    Returns:
        Dict from words to numbers.

    Raises:
        SystemError: the tensor has elements.
        ValueError: it holds strings.

    Example:
        >>> import paddle
        >>> x = paddle.Tensor()
        >>> x.set_vocab({"a": 3})
        >>> x.get_map_tensor()["a"]
        3
    """
    held = _held(self)
    if held is None:
        raise op_error(SystemError, "get_map_tensor", "a tensor written by set_vocab", "one with elements")
    if not isinstance(held, dict):
        raise op_error(ValueError, "get_map_tensor", "a tensor written by set_vocab", "one that holds strings")
    return dict(held)


def _type(self: Tensor) -> Any:
    """The kind of the tensor, as a ``VarType``; None where it is sparse."""
    from paddle.framework.tensor_type import Kind

    held = _held(self)
    if held is not None:
        return Kind.VOCAB if isinstance(held, dict) else Kind.STRINGS
    if self._kind & KIND_SELECTED_ROWS:
        return Kind.SELECTED_ROWS
    return None if self._kind & KIND_SPARSE else Kind.DENSE_TENSOR


constants("Tensor", __name__, {"type": property(_type)})
