"""Exponentials, logarithms, roots and what is made of them."""

from __future__ import annotations

from typing import Any

from paddle._public import inplace, public
from paddle.tensor._args import (
    axis_of,
    cast,
    default_float,
    dtype_of,
    floating,
    floats,
    made_on,
    need_tensor,
    numeric,
    promoted,
)
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.tensor import Tensor


@public(op=F.Exp())
def exp(x: Tensor, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """e to the power of x, element by element.

    Args:
        x: a tensor; integers become floats first.
        out: a tensor that is written instead.

    Example:
        >>> import paddle
        >>> paddle.exp(paddle.to_tensor([0.0])).tolist()
        [1.0]
    """
    return F.exp(floats(x, "exp"))


exp_ = inplace(exp, "paddle.tensor Tensor")


@public("paddle paddle.tensor paddle.special Tensor", op=F.Expm1())
def expm1(x: Tensor, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """exp(x) - 1, accurate near 0, element by element.

    Args:
        x: a tensor; integers become floats first.
        out: a tensor that is written instead.

    Example:
        >>> import paddle
        >>> paddle.expm1(paddle.to_tensor([0.0])).tolist()
        [0.0]
    """
    return F.expm1(floats(x, "expm1"))


expm1_ = inplace(expm1)


@public
def frexp(x: Tensor, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Mantissas, of sizes in [0.5, 1), and exponents with ``x = mantissa * 2**exponent``, both floating.

    Example:
        >>> import paddle
        >>> mantissa, exponent = paddle.frexp(paddle.to_tensor([8.0]))
        >>> mantissa.tolist(), exponent.tolist()
        ([0.5], [4.0])
    """
    return F.frexp(need_tensor(x, "frexp"))


@public
def ldexp(x: Tensor, y: Tensor, name: str | None = None) -> Tensor:
    """``x * 2**y``, floating.

    Example:
        >>> import paddle
        >>> paddle.ldexp(paddle.to_tensor([1.0]), paddle.to_tensor([3])).tolist()
        [8.0]
    """
    need_tensor(x, "ldexp")
    d = dt.float64 if dt.float64 in (x.dtype, need_tensor(y, "ldexp", "y").dtype) else default_float()
    return F.ldexp(cast(x, d), cast(y, d))


ldexp_ = inplace(ldexp)


@public(op=F.Log())
def log(x: Tensor, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The natural logarithm, element by element.

    Args:
        x: a tensor; integers become floats first.
        out: a tensor that is written instead.

    Example:
        >>> import paddle
        >>> paddle.log(paddle.to_tensor([1.0])).tolist()
        [0.0]
    """
    return F.log(floats(x, "log"))


log_ = inplace(log)


@public(op=F.Log10())
def log10(x: Tensor, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The logarithm to base 10, element by element.

    Args:
        x: a tensor; integers become floats first.
        out: a tensor that is written instead.

    Example:
        >>> import paddle
        >>> paddle.log10(paddle.to_tensor([1.0])).tolist()
        [0.0]
    """
    return F.log10(floats(x, "log10"))


log10_ = inplace(log10)


@public(op=F.Log1p())
def log1p(x: Tensor, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """log(1 + x), accurate near 0, element by element.

    Args:
        x: a tensor; integers become floats first.
        out: a tensor that is written instead.

    Example:
        >>> import paddle
        >>> paddle.log1p(paddle.to_tensor([0.0])).tolist()
        [0.0]
    """
    return F.log1p(floats(x, "log1p"))


log1p_ = inplace(log1p, "paddle.tensor Tensor")


@public(op=F.Log2())
def log2(x: Tensor, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The logarithm to base 2, element by element.

    Args:
        x: a tensor; integers become floats first.
        out: a tensor that is written instead.

    Example:
        >>> import paddle
        >>> paddle.log2(paddle.to_tensor([8.0])).tolist()
        [3.0]
    """
    return F.log2(floats(x, "log2"))


log2_ = inplace(log2)


@public(op=F.Logaddexp())
def logaddexp(x: Tensor, y: Any, name: str | None = None) -> Tensor:
    """log(exp(x) + exp(y)), without overflow, element by element.

    Args:
        x: a tensor.
        y: a tensor of the same dtype, or a number; shapes broadcast.

    Example:
        >>> import paddle
        >>> paddle.logaddexp(paddle.to_tensor([0.0]), paddle.to_tensor([-float('inf')])).shape
        [1]
    """
    return promoted(F.logaddexp, "logaddexp", x, y)


@public
def logit(x: Tensor, eps: float | None = None, name: str | None = None) -> Tensor:
    """``log(x / (1 - x))``; with ``eps``, x is first kept that far from 0 and 1, without, NaN outside [0, 1].

    Example:
        >>> import paddle
        >>> paddle.logit(paddle.to_tensor([0.5])).tolist()
        [0.0]
    """
    return F.logit(floating(need_tensor(x, "logit")), 0.0 if eps is None else float(eps))


logit_ = inplace(logit)


@public(op=F.Reciprocal())
def reciprocal(x: Tensor, name: str | None = None) -> Tensor:
    """1/x, element by element.

    Args:
        x: a tensor; integers become floats first.

    Example:
        >>> import paddle
        >>> paddle.reciprocal(paddle.to_tensor([2.0])).tolist()
        [0.5]
    """
    return F.reciprocal(floats(x, "reciprocal"))


reciprocal_ = inplace(reciprocal, "paddle.tensor Tensor")


@public(op=F.Rsqrt())
def rsqrt(x: Tensor, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """1/sqrt(x), element by element.

    Args:
        x: a tensor; integers become floats first.
        out: a tensor that is written instead.

    Example:
        >>> import paddle
        >>> paddle.rsqrt(paddle.to_tensor([4.0])).tolist()
        [0.5]
    """
    return F.rsqrt(floats(x, "rsqrt"))


rsqrt_ = inplace(rsqrt, "paddle.tensor Tensor")


@public("paddle.tensor paddle.nn.functional Tensor", op=F.Logistic())
def sigmoid(x: Tensor, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """1/(1 + exp(-x)), element by element.

    Args:
        x: a tensor; integers become floats first.
        out: a tensor that is written instead.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([0.0])
        >>> x.sigmoid().tolist()
        [0.5]
    """
    return F.logistic(floats(x, "sigmoid"))


sigmoid_ = inplace(sigmoid, "paddle.tensor Tensor")


@public("paddle paddle.tensor paddle.special Tensor")
def softmax(input: Tensor, dim: int | None = None, dtype: Any = None, *, out: Any = None) -> Tensor:
    """``exp(x)`` over its sum along ``dim``, under the argument names of another framework.

    Without ``dim``, the first dim of tensors of rank 0, 1 and 3, the second of others.
    ``paddle.nn.functional.softmax`` takes ``axis``, by default the last.

    Example:
        >>> import paddle
        >>> paddle.softmax(paddle.zeros([2]), 0).tolist()
        [0.5, 0.5]
    """
    x = floating(need_tensor(input, "softmax", "input"))
    if dtype is not None:
        x = cast(x, dtype_of(dtype))
    if x.ndim == 0:
        return made_on(x.place, F.full, 1, x.dtype, ())
    axis = axis_of((0 if x.ndim in (1, 3) else 1) if dim is None else dim, x.ndim, "softmax")
    return F.softmax(x, axis)


@public(op=F.Sqrt())
def sqrt(x: Tensor, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The square root, element by element.

    Args:
        x: a tensor; integers become floats first.
        out: a tensor that is written instead.

    Example:
        >>> import paddle
        >>> paddle.sqrt(paddle.to_tensor([4.0])).tolist()
        [2.0]
    """
    return F.sqrt(floats(x, "sqrt"))


sqrt_ = inplace(sqrt, "paddle.tensor Tensor")


@public(op=F.Square())
def square(x: Tensor, name: str | None = None) -> Tensor:
    """x*x, element by element.

    Args:
        x: a tensor.

    Example:
        >>> import paddle
        >>> paddle.square(paddle.to_tensor([3.0])).tolist()
        [9.0]
    """
    return F.square(numeric(x, "square"))


square_ = inplace(square)
