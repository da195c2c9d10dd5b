"""Comparison, logic, bits, and questions about a tensor."""

from __future__ import annotations

from typing import Any

from paddle._public import also, inplace, public
from paddle.tensor._args import cast, made_on, need_tensor, promoted, same_dtype, tensor
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.tensor import Tensor

# --- comparison, element by element ----------------------------------------------------------------------------------


@public(operator="==")
def equal(x: Tensor, y: Any, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Whether x equals y, element by element.

    Args:
        x: a tensor.
        y: a tensor of the same dtype, or a number; shapes broadcast.
        out: a tensor that is written instead.

    Example:
        >>> import paddle
        >>> paddle.equal(paddle.to_tensor([1, 2]), paddle.to_tensor([1, 3])).tolist()
        [True, False]
    """
    return x == y if isinstance(x, Tensor) else promoted(F.eq, "equal", x, y)


eq = also(equal, "eq")
equal_ = inplace(equal)


@public(operator=">=")
def greater_equal(x: Tensor, y: Any, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Whether x is at least y, element by element.

    Args:
        x: a tensor.
        y: a tensor of the same dtype, or a number; shapes broadcast.
        out: a tensor that is written instead.

    Example:
        >>> import paddle
        >>> paddle.greater_equal(paddle.to_tensor([1, 2]), paddle.to_tensor([2, 2])).tolist()
        [False, True]
    """
    return x >= y if isinstance(x, Tensor) else promoted(F.ge, "greater_equal", x, y)


ge = also(greater_equal, "ge")
greater_equal_ = inplace(greater_equal)


@public(operator=">")
def greater_than(x: Tensor, y: Any, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Whether x exceeds y, element by element.

    Args:
        x: a tensor.
        y: a tensor of the same dtype, or a number; shapes broadcast.
        out: a tensor that is written instead.

    Example:
        >>> import paddle
        >>> paddle.greater_than(paddle.to_tensor([1, 3]), paddle.to_tensor([2, 2])).tolist()
        [False, True]
    """
    return x > y if isinstance(x, Tensor) else promoted(F.gt, "greater_than", x, y)


gt = also(greater_than, "gt")
greater = also(greater_than, "greater")
greater_than_ = inplace(greater_than)
greater_ = inplace(greater_than, "Tensor", name="greater_")


@public(operator="<=")
def less_equal(x: Tensor, y: Any, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Whether x is at most y, element by element.

    Args:
        x: a tensor.
        y: a tensor of the same dtype, or a number; shapes broadcast.
        out: a tensor that is written instead.

    Example:
        >>> import paddle
        >>> paddle.less_equal(paddle.to_tensor([2, 3]), paddle.to_tensor([2, 2])).tolist()
        [True, False]
    """
    return x <= y if isinstance(x, Tensor) else promoted(F.le, "less_equal", x, y)


le = also(less_equal, "le")
less_equal_ = inplace(less_equal)


@public(operator="<")
def less_than(x: Tensor, y: Any, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Whether x is below y, element by element.

    Args:
        x: a tensor.
        y: a tensor of the same dtype, or a number; shapes broadcast.
        out: a tensor that is written instead.

    Example:
        >>> import paddle
        >>> paddle.less_than(paddle.to_tensor([1, 2]), paddle.to_tensor([2, 2])).tolist()
        [True, False]
    """
    return x < y if isinstance(x, Tensor) else promoted(F.lt, "less_than", x, y)


lt = also(less_than, "lt")
less = also(less_than, "less")
less_than_ = inplace(less_than)
less_ = inplace(less_than, name="less_")


@public(operator="!=")
def not_equal(x: Tensor, y: Any, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Whether x differs from y, element by element.

    Args:
        x: a tensor.
        y: a tensor of the same dtype, or a number; shapes broadcast.
        out: a tensor that is written instead.

    Example:
        >>> import paddle
        >>> paddle.not_equal(paddle.to_tensor([1, 2]), paddle.to_tensor([1, 3])).tolist()
        [False, True]
    """
    return x != y if isinstance(x, Tensor) else promoted(F.ne, "not_equal", x, y)


ne = also(not_equal, "ne")
not_equal_ = inplace(not_equal, "paddle.tensor Tensor")


# --- logic, element by element ---------------------------------------------------------------------------------------


@public(op=F.LogicalAnd())
def logical_and(x: Tensor, y: Any, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Whether neither is zero, element by element.

    Args:
        x: a tensor.
        y: a tensor of the same dtype, or a number; shapes broadcast.
        out: a tensor that is written instead.

    Example:
        >>> import paddle
        >>> paddle.logical_and(paddle.to_tensor([True]), paddle.to_tensor([False])).tolist()
        [False]
    """
    return promoted(F.logical_and, "logical_and", x, y)


logical_and_ = inplace(logical_and)


@public(op=F.LogicalOr())
def logical_or(x: Tensor, y: Any, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Whether one is not zero, element by element.

    Args:
        x: a tensor.
        y: a tensor of the same dtype, or a number; shapes broadcast.
        out: a tensor that is written instead.

    Example:
        >>> import paddle
        >>> paddle.logical_or(paddle.to_tensor([True]), paddle.to_tensor([False])).tolist()
        [True]
    """
    return promoted(F.logical_or, "logical_or", x, y)


logical_or_ = inplace(logical_or)


@public(op=F.LogicalXor())
def logical_xor(x: Tensor, y: Any, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Whether just one is not zero, element by element.

    Args:
        x: a tensor.
        y: a tensor of the same dtype, or a number; shapes broadcast.
        out: a tensor that is written instead.

    Example:
        >>> import paddle
        >>> paddle.logical_xor(paddle.to_tensor([True]), paddle.to_tensor([False])).tolist()
        [True]
    """
    return promoted(F.logical_xor, "logical_xor", x, y)


logical_xor_ = inplace(logical_xor, "paddle.tensor Tensor")


@public(op=F.LogicalNot())
def logical_not(x: Tensor, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Whether x is zero, element by element.

    Args:
        x: a tensor.
        out: a tensor that is written instead.

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
    """The bits set in both, element by element.

    Args:
        x: a tensor.
        y: a tensor of the same dtype, or a number; shapes broadcast.
        out: a tensor that is written instead.

    Example:
        >>> import paddle
        >>> paddle.bitwise_and(paddle.to_tensor([6]), paddle.to_tensor([3])).tolist()
        [2]
    """
    return x & y if isinstance(x, Tensor) else promoted(F.bitwise_and, "bitwise_and", x, y)


bitwise_and_ = inplace(bitwise_and)


@public(operator="|")
def bitwise_or(x: Tensor, y: Any, out: Tensor | None = None, name: str | None = None) -> Tensor:
    """The bits set in one or both, element by element.

    Args:
        x: a tensor.
        y: a tensor of the same dtype, or a number; shapes broadcast.
        out: a tensor that is written instead.

    Example:
        >>> import paddle
        >>> paddle.bitwise_or(paddle.to_tensor([6]), paddle.to_tensor([3])).tolist()
        [7]
    """
    return x | y if isinstance(x, Tensor) else promoted(F.bitwise_or, "bitwise_or", x, y)


bitwise_or_ = inplace(bitwise_or)


@public(operator="^")
def bitwise_xor(x: Tensor, y: Any, out: Tensor | None = None, name: str | None = None) -> Tensor:
    """The bits set in just one, element by element.

    Args:
        x: a tensor.
        y: a tensor of the same dtype, or a number; shapes broadcast.
        out: a tensor that is written instead.

    Example:
        >>> import paddle
        >>> paddle.bitwise_xor(paddle.to_tensor([6]), paddle.to_tensor([3])).tolist()
        [5]
    """
    return x ^ y if isinstance(x, Tensor) else promoted(F.bitwise_xor, "bitwise_xor", x, y)


bitwise_xor_ = inplace(bitwise_xor)


@public(op=F.BitwiseNot())
def bitwise_not(x: Tensor, out: Tensor | None = None, name: str | None = None) -> Tensor:
    """Every bit turned over; of bools, not, element by element.

    Args:
        x: a tensor.
        out: a tensor that is written instead.

    Example:
        >>> import paddle
        >>> paddle.bitwise_not(paddle.to_tensor([True])).tolist()
        [False]
    """
    return F.bitwise_not(need_tensor(x, "bitwise_not"))


bitwise_invert = also(bitwise_not, "bitwise_invert")
bitwise_not_ = inplace(bitwise_not)
bitwise_invert_ = inplace(bitwise_not, name="bitwise_invert_")


# --- whole tensors ---------------------------------------------------------------------------------------------------


@public
def equal_all(x: Tensor, y: Tensor, name: str | None = None) -> Tensor:
    """Whether ``x`` and ``y`` have one shape and equal elements, as a 0-d bool tensor.

    Example:
        >>> import paddle
        >>> bool(paddle.equal_all(paddle.ones([2]), paddle.ones([2])))
        True
    """
    need_tensor(x, "equal_all")
    if x.shape != need_tensor(y, "equal_all", "y").shape:
        return made_on(x.place, F.full, False, dt.bool, ())
    x, y = same_dtype("eq", x, y)
    return F.all(F.eq(x, y), tuple(range(x.ndim)))


@public
def isclose(
    x: Tensor, y: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False, name: str | None = None
) -> Tensor:
    """Whether ``|x - y| <= atol + rtol*|y|``, element by element.

    Args:
        x: a tensor.
        y: a tensor of the same dtype.
        rtol: relative tolerance.
        atol: absolute tolerance.
        equal_nan: whether NaN is close to NaN.

    Example:
        >>> import paddle
        >>> paddle.isclose(paddle.to_tensor([1.0]), paddle.to_tensor([1.0 + 1e-9])).tolist()
        [True]
    """
    need_tensor(x, "isclose")
    x, y = same_dtype("eq", x, y)
    if not (x.dtype.is_floating or x.dtype.is_complex):
        x, y = cast(x, dt.float64), cast(y, dt.float64)
    return F.isclose(x, y, bool(equal_nan), float(rtol), float(atol))


@public
def allclose(
    x: Tensor, y: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False, name: str | None = None
) -> Tensor:
    """Whether all elements are close in the sense of :func:`isclose`, as a 0-d bool tensor.

    Example:
        >>> import paddle
        >>> bool(paddle.allclose(paddle.ones([2]), paddle.ones([2])))
        True
    """
    close = isclose(x, y, rtol, atol, equal_nan)
    return F.all(close, tuple(range(close.ndim)))


@public(aliases={"elements": "x", "test_elements": "test_x"})
def isin(x: Any, test_x: Any, assume_unique: bool = False, invert: bool = False, name: str | None = None) -> Tensor:
    """Whether each element of ``x`` is among those of ``test_x``.

    Args:
        x: a tensor or a number.
        test_x: a tensor or a number.
        assume_unique: a promise that allows faster ways; nothing depends on it here.
        invert: whether to ask for absence.

    Example:
        >>> import paddle
        >>> paddle.isin(paddle.to_tensor([1, 2, 3]), paddle.to_tensor([2])).tolist()
        [False, True, False]
    """
    like = x if isinstance(x, Tensor) else test_x if isinstance(test_x, Tensor) else None
    x, test = same_dtype("eq", tensor(x, like), tensor(test_x, like))
    flat = F.reshape(test, (test.size,))
    if not test.size:
        found = made_on(x.place, F.full, False, dt.bool, tuple(x.shape))
    elif test.size <= 32 or x.dtype.is_bool or x.dtype.is_complex:
        found = F.any(F.eq(F.unsqueeze(x, (x.ndim,)), flat), (x.ndim,))
    else:
        rows, _ = F.sort(flat, 0)
        at = F.search_sorted(rows, F.reshape(x, (x.size,)))
        at = F.minimum(at, test.size - 1)
        found = F.reshape(F.eq(F.take(rows, at, 0), F.reshape(x, (x.size,))), tuple(x.shape))
    return F.logical_not(found) if invert else found


@public
def is_empty(x: Tensor, name: str | None = None) -> Tensor:
    """Whether ``x`` has no elements, as a 0-d bool tensor.

    Example:
        >>> import paddle
        >>> bool(paddle.is_empty(paddle.ones([0])))
        True
    """
    return F.full(need_tensor(x, "is_empty").size == 0, dt.bool, ())


@public(aliases={"obj": "x"}, usual=False)
def is_tensor(x: Any) -> bool:
    """Whether ``x`` is a tensor.

    Example:
        >>> import paddle
        >>> paddle.is_tensor(3)
        False
    """
    return isinstance(x, Tensor)


@public
def is_complex(x: Tensor) -> bool:
    """Whether the dtype is complex."""
    return need_tensor(x, "is_complex").dtype.is_complex


@public
def is_floating_point(x: Tensor) -> bool:
    """Whether the dtype is floating."""
    return need_tensor(x, "is_floating_point").dtype.is_floating


@public
def is_integer(x: Tensor) -> bool:
    """Whether the dtype is an integer one."""
    return need_tensor(x, "is_integer").dtype.is_integer
