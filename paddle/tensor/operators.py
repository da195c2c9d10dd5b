"""Operators of Python on tensors beyond those of the core."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from paddle._public import constants
from paddle.tensor import indexing, integers, logic, rounding
from paddle.tensor._args import op_error
from umiak.core.direct import set_beside_slots
from umiak.core.eager import install
from umiak.core.tensor import Tensor
from umiak.ops.promotion import promote


def _iter(self: Tensor) -> Any:
    """Iterator over the slices along the first dim, which are views.

    Returns:
        An iterator of tensors.

    Raises:
        TypeError: the tensor is 0-d.

    Example:
        >>> import paddle
        >>> [row.tolist() for row in paddle.to_tensor([[1, 2], [3, 4]])]
        [[1, 2], [3, 4]]
    """
    if self.ndim == 0:
        raise op_error(TypeError, "iter", "a tensor of rank 1 or more", "a 0-d one")
    return (self[i] for i in range(self.shape[0]))


def _contains(self: Tensor, x: Any) -> bool:
    """Test for an element that equals ``x``.

    Args:
        x: number, or tensor that broadcasts with this one; whatever cannot be compared with a tensor equals no element.

    Returns:
        A bool.

    Raises:
        ValueError: the shapes do not broadcast.

    Example:
        >>> import paddle
        >>> 3 in paddle.to_tensor([1, 3]), 2 in paddle.to_tensor([1, 3])
        (True, False)
    """
    equal = self == x
    return equal if isinstance(equal, bool) else bool(equal.any())


def _hash(self: Tensor) -> int:
    """Hash of the tensor, which is that of its identity: equal elements do not matter.

    Returns:
        An int.

    Example:
        >>> import paddle
        >>> x = paddle.ones([2])
        >>> x in {x: 1}, paddle.ones([2]) in {x: 1}
        (True, False)
    """
    return id(self)


def _div(self: Tensor, y: Any) -> Tensor:
    """Quotient ``self / y``, by the name that Python 2 gave it.

    Args:
        y: number, or tensor that broadcasts with this one.

    Returns:
        Tensor of the promoted dtype; of integers float32.

    Raises:
        TypeError: y is neither a tensor nor a number.
        ValueError: the shapes do not broadcast.

    Example:
        >>> import paddle
        >>> paddle.to_tensor([1.0, 2.0]).__div__(2).tolist()
        [0.5, 1.0]
    """
    return self / y


def _rdiv(self: Tensor, y: Any) -> Tensor:
    """Quotient ``y / self``, by the name that Python 2 gave it.

    Args:
        y: number, or tensor that broadcasts with this one.

    Returns:
        Tensor of the promoted dtype; of integers float32.

    Raises:
        TypeError: y is neither a tensor nor a number.
        ValueError: the shapes do not broadcast.

    Example:
        >>> import paddle
        >>> paddle.to_tensor([1.0, 2.0]).__rdiv__(2).tolist()
        [2.0, 1.0]
    """
    return y / self


def _bits(name: str, sign: str, function: Callable) -> Callable:
    operator = getattr(Tensor, name)

    def method(self: Tensor, y: Any, out: Tensor | None = None, name: str | None = None) -> Tensor:
        return operator(self, y) if out is None else function(self, y, out=out)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"""``self {sign} y``, bit by bit; of bools, of their truth.

    Args:
        y: integer or bool tensor that broadcasts with this one, or an integer.
        out: tensor that the result is written into, and that is returned.

    Returns:
        Tensor of the common dtype.

    Raises:
        TypeError: an operand is neither integer nor bool.
        ValueError: the shapes do not broadcast.

    Example:
        >>> import paddle
        >>> paddle.to_tensor([6, 5]).{name}(paddle.to_tensor([3])).tolist()
        {[getattr(int, name)(x, 3) for x in (6, 5)]}
    """
    return method


def _shift(name: str, text: str, function: Callable, swapped: bool) -> Callable:
    def method(self: Tensor, y: Any, is_arithmetic: bool = True) -> Tensor:
        return function(y, self, is_arithmetic) if swapped else function(self, y, is_arithmetic)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"""``{text}``: bits shifted, element by element.

    Args:
        y: integer tensor that broadcasts with this one, or an integer.
        is_arithmetic: whether copies of the sign move in at the top where bits move down; if False, zeros do.

    Returns:
        Integer tensor of the common dtype.

    Raises:
        TypeError: an operand is not integer.
        ValueError: the shapes do not broadcast.

    Example:
        >>> import paddle
        >>> paddle.to_tensor([6, 5]).{name}(1).tolist()
        {[getattr(int, name)(x, 1) for x in (6, 5)]}
    """
    return method


_OPERATORS: dict[str, Any] = {
    "__contains__": _contains,
    "__div__": _div,
    "__getitem__": indexing.getitem,
    "__hash__": _hash,
    "__invert__": logic.bitwise_not,
    "__iter__": _iter,
    "__pos__": rounding.positive,
    "__rdiv__": _rdiv,
    "__setitem__": indexing.setitem,
}

install(promote=promote)  # mixed operands of operators
constants("Tensor", __name__, _OPERATORS)
for _name, _sign, _function in (
    ("__and__", "&", logic.bitwise_and),
    ("__or__", "|", logic.bitwise_or),
    ("__xor__", "^", logic.bitwise_xor),
):
    set_beside_slots(Tensor, _name, _bits(_name, _sign, _function))
for _name, _sign, _shift_function, _swapped in (
    ("__lshift__", "self << y", integers.bitwise_left_shift, False),
    ("__rlshift__", "y << self", integers.bitwise_left_shift, True),
    ("__rshift__", "self >> y", integers.bitwise_right_shift, False),
    ("__rrshift__", "y >> self", integers.bitwise_right_shift, True),
):
    set_beside_slots(Tensor, _name, _shift(_name, _sign, _shift_function, _swapped))
