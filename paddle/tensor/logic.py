"""Comparison, logic, bits, and questions about a tensor."""

from __future__ import annotations

import operator
from typing import Any

from paddle._public import also, inplace, public
from paddle.tensor._args import NUMBERS, cast, create_on, need_tensor, operate, promoted, same_dtype, tensor
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.tensor import Tensor
from umiak.ir.sym import to_float

# --- comparison, element by element ----------------------------------------------------------------------------------


@public(operator="==")
def equal(x: Tensor, y: Any, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Comparison ``x == y``, element by element; NaN equals nothing.

    Args:
        x: tensor of any dtype.
        y: number, or tensor that broadcasts with x; floating and complex dtypes are promoted to one, others must agree.
        out: tensor that is written with the result and returned.

    Returns:
        bool tensor of the shape to which the operands broadcast.

    Raises:
        TypeError: x is not a tensor, or the dtypes do not mix.
        ValueError: the shapes do not broadcast.

    Example:
        >>> import paddle
        >>> paddle.equal(paddle.to_tensor([1, 2]), paddle.to_tensor([1, 3])).tolist()
        [True, False]
    """
    return operate(operator.eq, F.eq, "equal", x, y)


eq = also(equal, "eq")
equal_ = inplace(equal)


@public(operator=">=")
def greater_equal(x: Tensor, y: Any, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Comparison ``x >= y``, element by element; false for NaN.

    Args:
        x: tensor of any dtype; complex numbers have the order of their real parts, then of the imaginary ones.
        y: number, or tensor that broadcasts with x; floating and complex dtypes are promoted to one, others must agree.
        out: tensor that is written with the result and returned.

    Returns:
        bool tensor of the shape to which the operands broadcast.

    Raises:
        TypeError: x is not a tensor, or the dtypes do not mix.
        ValueError: the shapes do not broadcast.

    Example:
        >>> import paddle
        >>> paddle.greater_equal(paddle.to_tensor([1, 2]), paddle.to_tensor([2, 2])).tolist()
        [False, True]
    """
    return operate(operator.ge, F.ge, "greater_equal", x, y)


ge = also(greater_equal, "ge")
greater_equal_ = inplace(greater_equal)


@public(operator=">")
def greater_than(x: Tensor, y: Any, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Comparison ``x > y``, element by element; false for NaN.

    Args:
        x: tensor of any dtype; complex numbers have the order of their real parts, then of the imaginary ones.
        y: number, or tensor that broadcasts with x; floating and complex dtypes are promoted to one, others must agree.
        out: tensor that is written with the result and returned.

    Returns:
        bool tensor of the shape to which the operands broadcast.

    Raises:
        TypeError: x is not a tensor, or the dtypes do not mix.
        ValueError: the shapes do not broadcast.

    Example:
        >>> import paddle
        >>> paddle.greater_than(paddle.to_tensor([1, 3]), paddle.to_tensor([2, 2])).tolist()
        [False, True]
    """
    return operate(operator.gt, F.gt, "greater_than", x, y)


gt = also(greater_than, "gt")
greater = also(greater_than, "greater")
greater_than_ = inplace(greater_than)
greater_ = inplace(greater_than, "Tensor", name="greater_")


@public(operator="<=")
def less_equal(x: Tensor, y: Any, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Comparison ``x <= y``, element by element; false for NaN.

    Args:
        x: tensor of any dtype; complex numbers have the order of their real parts, then of the imaginary ones.
        y: number, or tensor that broadcasts with x; floating and complex dtypes are promoted to one, others must agree.
        out: tensor that is written with the result and returned.

    Returns:
        bool tensor of the shape to which the operands broadcast.

    Raises:
        TypeError: x is not a tensor, or the dtypes do not mix.
        ValueError: the shapes do not broadcast.

    Example:
        >>> import paddle
        >>> paddle.less_equal(paddle.to_tensor([2, 3]), paddle.to_tensor([2, 2])).tolist()
        [True, False]
    """
    return operate(operator.le, F.le, "less_equal", x, y)


le = also(less_equal, "le")
less_equal_ = inplace(less_equal)


@public(operator="<")
def less_than(x: Tensor, y: Any, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Comparison ``x < y``, element by element; false for NaN.

    Args:
        x: tensor of any dtype; complex numbers have the order of their real parts, then of the imaginary ones.
        y: number, or tensor that broadcasts with x; floating and complex dtypes are promoted to one, others must agree.
        out: tensor that is written with the result and returned.

    Returns:
        bool tensor of the shape to which the operands broadcast.

    Raises:
        TypeError: x is not a tensor, or the dtypes do not mix.
        ValueError: the shapes do not broadcast.

    Example:
        >>> import paddle
        >>> paddle.less_than(paddle.to_tensor([1, 2]), paddle.to_tensor([2, 2])).tolist()
        [True, False]
    """
    return operate(operator.lt, F.lt, "less_than", x, y)


lt = also(less_than, "lt")
less = also(less_than, "less")
less_than_ = inplace(less_than)
less_ = inplace(less_than, name="less_")


@public(operator="!=")
def not_equal(x: Tensor, y: Any, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Comparison ``x != y``, element by element; NaN differs from everything.

    Args:
        x: tensor of any dtype.
        y: number, or tensor that broadcasts with x; floating and complex dtypes are promoted to one, others must agree.
        out: tensor that is written with the result and returned.

    Returns:
        bool tensor of the shape to which the operands broadcast.

    Raises:
        TypeError: x is not a tensor, or the dtypes do not mix.
        ValueError: the shapes do not broadcast.

    Example:
        >>> import paddle
        >>> paddle.not_equal(paddle.to_tensor([1, 2]), paddle.to_tensor([1, 3])).tolist()
        [False, True]
    """
    return operate(operator.ne, F.ne, "not_equal", x, y)


ne = also(not_equal, "ne")
not_equal_ = inplace(not_equal)


# --- logic, element by element ---------------------------------------------------------------------------------------


@public(op=F.LogicalAnd())
def logical_and(x: Tensor, y: Any, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Logical "and": true where neither element is zero.

    Args:
        x: tensor of any dtype.
        y: number, or tensor of the same dtype that broadcasts with x.
        out: tensor that is written with the result and returned.

    Returns:
        bool tensor of the shape to which the operands broadcast.

    Raises:
        TypeError: x is not a tensor, or the dtypes do not mix.
        ValueError: the shapes do not broadcast.

    Example:
        >>> import paddle
        >>> x, y = paddle.to_tensor([True, True]), paddle.to_tensor([True, False])
        >>> paddle.logical_and(x, y).tolist()
        [True, False]
    """
    return promoted(F.logical_and, "logical_and", x, y)


logical_and_ = inplace(logical_and)


@public(op=F.LogicalOr())
def logical_or(x: Tensor, y: Any, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Logical "or": true where one of the elements is not zero.

    Args:
        x: tensor of any dtype.
        y: number, or tensor of the same dtype that broadcasts with x.
        out: tensor that is written with the result and returned.

    Returns:
        bool tensor of the shape to which the operands broadcast.

    Raises:
        TypeError: x is not a tensor, or the dtypes do not mix.
        ValueError: the shapes do not broadcast.

    Example:
        >>> import paddle
        >>> x, y = paddle.to_tensor([True, True]), paddle.to_tensor([True, False])
        >>> paddle.logical_or(x, y).tolist()
        [True, True]
    """
    return promoted(F.logical_or, "logical_or", x, y)


logical_or_ = inplace(logical_or)


@public(op=F.LogicalXor())
def logical_xor(x: Tensor, y: Any, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Logical exclusive "or": true where just one of the elements is not zero.

    Args:
        x: tensor of any dtype.
        y: number, or tensor of the same dtype that broadcasts with x.
        out: tensor that is written with the result and returned.

    Returns:
        bool tensor of the shape to which the operands broadcast.

    Raises:
        TypeError: x is not a tensor, or the dtypes do not mix.
        ValueError: the shapes do not broadcast.

    Example:
        >>> import paddle
        >>> x, y = paddle.to_tensor([True, True]), paddle.to_tensor([True, False])
        >>> paddle.logical_xor(x, y).tolist()
        [False, True]
    """
    return promoted(F.logical_xor, "logical_xor", x, y)


logical_xor_ = inplace(logical_xor)


@public(op=F.LogicalNot())
def logical_not(x: Tensor, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Logical "not": true where an element is zero.

    Args:
        x: tensor of any shape and dtype.
        out: tensor that is written with the result and returned.

    Returns:
        bool tensor of x's shape.

    Raises:
        TypeError: x is not a tensor.

    Example:
        >>> import paddle
        >>> paddle.logical_not(paddle.to_tensor([1.0, 0.0])).tolist()
        [False, True]
    """
    return F.logical_not(need_tensor(x, "logical_not"))


logical_not_ = inplace(logical_not)


# --- bits ------------------------------------------------------------------------------------------------------------


@public(operator="&")
def bitwise_and(x: Tensor, y: Any, out: Tensor | None = None, name: str | None = None) -> Tensor:
    """Bitwise "and": the bits that are set in both elements.

    Args:
        x: integer or bool tensor.
        y: int or bool, or tensor of the same dtype that broadcasts with x.
        out: tensor that is written with the result and returned.

    Returns:
        Tensor of x's dtype, of the shape to which the operands broadcast.

    Raises:
        TypeError: x is not a tensor, or an operand is neither of integers nor of bools.
        ValueError: the dtypes differ, or the shapes do not broadcast.

    Example:
        >>> import paddle
        >>> paddle.bitwise_and(paddle.to_tensor([6]), paddle.to_tensor([3])).tolist()
        [2]
    """
    return operate(operator.and_, F.bitwise_and, "bitwise_and", x, y)


bitwise_and_ = inplace(bitwise_and)


@public(operator="|")
def bitwise_or(x: Tensor, y: Any, out: Tensor | None = None, name: str | None = None) -> Tensor:
    """Bitwise "or": the bits that are set in one of the elements or in both.

    Args:
        x: integer or bool tensor.
        y: int or bool, or tensor of the same dtype that broadcasts with x.
        out: tensor that is written with the result and returned.

    Returns:
        Tensor of x's dtype, of the shape to which the operands broadcast.

    Raises:
        TypeError: x is not a tensor, or an operand is neither of integers nor of bools.
        ValueError: the dtypes differ, or the shapes do not broadcast.

    Example:
        >>> import paddle
        >>> paddle.bitwise_or(paddle.to_tensor([6]), paddle.to_tensor([3])).tolist()
        [7]
    """
    return operate(operator.or_, F.bitwise_or, "bitwise_or", x, y)


bitwise_or_ = inplace(bitwise_or)


@public(operator="^")
def bitwise_xor(x: Tensor, y: Any, out: Tensor | None = None, name: str | None = None) -> Tensor:
    """Bitwise exclusive "or": the bits that are set in just one of the elements.

    Args:
        x: integer or bool tensor.
        y: int or bool, or tensor of the same dtype that broadcasts with x.
        out: tensor that is written with the result and returned.

    Returns:
        Tensor of x's dtype, of the shape to which the operands broadcast.

    Raises:
        TypeError: x is not a tensor, or an operand is neither of integers nor of bools.
        ValueError: the dtypes differ, or the shapes do not broadcast.

    Example:
        >>> import paddle
        >>> paddle.bitwise_xor(paddle.to_tensor([6]), paddle.to_tensor([3])).tolist()
        [5]
    """
    return operate(operator.xor, F.bitwise_xor, "bitwise_xor", x, y)


bitwise_xor_ = inplace(bitwise_xor)


@public(op=F.BitwiseNot())
def bitwise_not(x: Tensor, out: Tensor | None = None, name: str | None = None) -> Tensor:
    """Bitwise "not": every bit inverted, and so ``-x - 1`` of a signed integer.

    Args:
        x: integer or bool tensor.
        out: tensor that is written with the result and returned.

    Returns:
        Tensor of x's shape and dtype.

    Raises:
        TypeError: x is not a tensor of integers or bools.

    Example:
        >>> import paddle
        >>> paddle.bitwise_not(paddle.to_tensor([5])).tolist(), paddle.bitwise_not(paddle.to_tensor([True])).tolist()
        ([-6], [False])
    """
    return F.bitwise_not(need_tensor(x, "bitwise_not"))


bitwise_invert = also(bitwise_not, "bitwise_invert")
bitwise_not_ = inplace(bitwise_not)
bitwise_invert_ = inplace(bitwise_not, name="bitwise_invert_")


# --- whole tensors ---------------------------------------------------------------------------------------------------


@public
def equal_all(x: Tensor, y: Tensor, name: str | None = None) -> Tensor:
    """Comparison of two tensors as a whole: true if they have one shape and equal elements.

    Args:
        x: tensor of any dtype.
        y: tensor of the same dtype, or of another floating one.

    Returns:
        0-d bool tensor.

    Raises:
        TypeError: x or y is not a tensor, or the dtypes do not mix.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([1, 2])
        >>> bool(paddle.equal_all(x, x)), bool(paddle.equal_all(x, x[:1]))
        (True, False)
    """
    need_tensor(x, "equal_all")
    if x.shape != need_tensor(y, "equal_all", "y").shape:
        return create_on(x.place, F.full, False, dt.bool, ())
    x, y = same_dtype("eq", x, y)
    return F.all(F.eq(x, y), tuple(range(x.ndim)))


@public(takes_out=True)
def isclose(
    x: Tensor, y: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False, name: str | None = None
) -> Tensor:
    """Comparison within tolerances: true where ``|x - y| <= atol + rtol * |y|``.

    Args:
        x: tensor of any dtype.
        y: number, or tensor of the same dtype, or of another floating one, that broadcasts with x.
        rtol: relative tolerance, a factor of the absolute value of y.
        atol: absolute tolerance.
        equal_nan: whether NaN is close to NaN.

    Returns:
        bool tensor of the shape to which x and y broadcast.

    Raises:
        TypeError: x is not a tensor, or the dtypes do not mix.
        ValueError: the shapes do not broadcast.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([1.0, 2.0])
        >>> paddle.isclose(x, paddle.to_tensor([1.000001, 2.1])).tolist()
        [True, False]
    """
    x, y = same_dtype("eq", need_tensor(x, "isclose"), y)
    y = tensor(y, x)
    if not (x.dtype.is_floating or x.dtype.is_complex):
        return _close_integers(x, y, float(rtol), float(atol))
    rtol, atol = (float(v) if isinstance(v, str) else to_float(v) for v in (rtol, atol))
    return F.isclose(x, y, bool(equal_nan), rtol, atol)


def _close_integers(x: Tensor, y: Tensor, rtol: float, atol: float) -> Tensor:
    """``isclose`` of integers: their distance is exact where float64 does not tell them apart, from 2**53 on."""
    x, y = cast(x, dt.int64), cast(y, dt.int64)
    gap = cast(F.sub(F.maximum(x, y), F.minimum(x, y)), dt.float64)
    gap = F.where(F.lt(gap, 0.0), F.add(gap, 2.0**64), gap)  # a distance beyond int64 has wrapped
    return F.le(gap, F.add(F.mul(F.abs(cast(y, dt.float64)), rtol), atol))


@public
def allclose(
    x: Tensor, y: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False, name: str | None = None
) -> Tensor:
    """Comparison of two tensors as a whole: true if all elements are close, as :func:`isclose` defines it.

    Args:
        x: tensor of any dtype.
        y: number, or tensor of the same dtype, or of another floating one, that broadcasts with x.
        rtol: relative tolerance, a factor of the absolute value of y.
        atol: absolute tolerance.
        equal_nan: whether NaN is close to NaN.

    Returns:
        0-d bool tensor.

    Raises:
        TypeError: x is not a tensor, or the dtypes do not mix.
        ValueError: the shapes do not broadcast.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([1.0, 2.0])
        >>> bool(paddle.allclose(x, x + 1e-7)), bool(paddle.allclose(x, x + 0.1))
        (True, False)
    """
    close = isclose(x, y, rtol, atol, equal_nan)
    return F.all(close, tuple(range(close.ndim)))


@public(aliases={"elements": "x", "test_elements": "test_x"})
def isin(x: Any, test_x: Any, assume_unique: bool = False, invert: bool = False, name: str | None = None) -> Tensor:
    """Membership: true for each element of ``x`` that is among those of ``test_x``.

    Args:
        x: tensor or number.
        test_x: tensor of the same dtype, or of another floating one, or number.
        assume_unique: without effect.
        invert: whether to return true for elements that are absent.

    Returns:
        bool tensor of x's shape.

    Raises:
        TypeError: an operand is neither a tensor nor a number, or the dtypes do not mix.

    Example:
        >>> import paddle
        >>> paddle.isin(paddle.to_tensor([1, 2, 3]), paddle.to_tensor([2, 5])).tolist()
        [False, True, False]
    """
    like = x if isinstance(x, Tensor) else test_x if isinstance(test_x, Tensor) else None
    if like is not None and isinstance(x if like is test_x else test_x, NUMBERS):
        x, test_x = same_dtype("eq", x, test_x)  # a number may have digits that the dtype of the tensor lacks
        like = x if isinstance(x, Tensor) else test_x
    x, test = same_dtype("eq", tensor(x, like), tensor(test_x, like))
    flat = F.reshape(test, (test._count,))
    if not test._count:
        is_member = create_on(x.place, F.full, False, dt.bool, tuple(x.shape))
    elif test._count <= 32 or x.dtype.is_bool or x.dtype.is_complex:
        is_member = F.any(F.eq(F.unsqueeze(x, (x.ndim,)), flat), (x.ndim,))
    else:
        rows, _ = F.sort(flat, 0)
        at = F.search_sorted(rows, F.reshape(x, (x._count,)))
        at = F.minimum(at, test._count - 1)
        is_member = F.reshape(F.eq(F.take(rows, at, 0), F.reshape(x, (x._count,))), tuple(x.shape))
    return F.logical_not(is_member) if invert else is_member


@public
def is_empty(x: Tensor, name: str | None = None) -> Tensor:
    """Test for a tensor without elements.

    Args:
        x: tensor of any shape and dtype.

    Returns:
        0-d bool tensor.

    Raises:
        TypeError: x is not a tensor.

    Example:
        >>> import paddle
        >>> bool(paddle.is_empty(paddle.ones([2, 0])))
        True
    """
    return F.full(need_tensor(x, "is_empty")._count == 0, dt.bool, ())


@public(aliases={"obj": "x"}, usual=False)
def is_tensor(x: Any) -> bool:
    """Test for a tensor.

    Args:
        x: any object.

    Returns:
        A bool.

    Raises:
        TypeError: x is missing.

    Example:
        >>> import paddle
        >>> paddle.is_tensor(paddle.ones([1])), paddle.is_tensor([1.0])
        (True, False)
    """
    return isinstance(x, Tensor)


@public
def is_complex(x: Tensor) -> bool:
    """Test for a complex dtype.

    Args:
        x: tensor of any shape and dtype.

    Returns:
        A bool.

    Raises:
        TypeError: x is not a tensor.

    Example:
        >>> import paddle
        >>> paddle.is_complex(paddle.to_tensor(1j)), paddle.is_complex(paddle.to_tensor(True))
        (True, False)
    """
    return need_tensor(x, "is_complex").dtype.is_complex


@public
def is_floating_point(x: Tensor) -> bool:
    """Test for a floating dtype.

    Args:
        x: tensor of any shape and dtype.

    Returns:
        A bool.

    Raises:
        TypeError: x is not a tensor.

    Example:
        >>> import paddle
        >>> paddle.is_floating_point(paddle.to_tensor(1.0)), paddle.is_floating_point(paddle.to_tensor(True))
        (True, False)
    """
    return need_tensor(x, "is_floating_point").dtype.is_floating


@public
def is_integer(x: Tensor) -> bool:
    """Test for an integer dtype.

    Args:
        x: tensor of any shape and dtype.

    Returns:
        A bool.

    Raises:
        TypeError: x is not a tensor.

    Example:
        >>> import paddle
        >>> paddle.is_integer(paddle.to_tensor(1)), paddle.is_integer(paddle.to_tensor(True))
        (True, False)
    """
    return need_tensor(x, "is_integer").dtype.is_integer
