"""Comparison of whole tensors, and questions about a tensor."""

from __future__ import annotations

from typing import Any

from paddle.tensor._args import cast, made_on, need_tensor, public, same_dtype, tensor
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.tensor import Tensor


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


@public(elements="x", test_elements="test_x")
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


@public(strict=True, obj="x")
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
