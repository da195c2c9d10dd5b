"""Exponentials, logarithms, roots and what is made of them."""

from __future__ import annotations

from typing import Any

from paddle._public import OtherOrder, inplace, public
from paddle.tensor._args import (
    InternedOps,
    axis_of,
    cast,
    default_float,
    dtype_of,
    floating,
    floats,
    need_tensor,
    numeric,
    promoted,
    real_number,
)
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.eager import apply1
from umiak.core.tensor import Tensor

_SOFTMAX = InternedOps(F.Softmax)


@public(op=F.Exp())
def exp(x: Tensor, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """e to the power x, element by element.

    Args:
        x: floating or complex tensor of any shape; integers and bools become float32.
        out: tensor that the result is written into, and that is returned; it keeps its dtype and takes the result's
            shape.

    Returns:
        Tensor of x's shape and dtype; float32 for integers and bools.

    Raises:
        TypeError: x is no tensor.

    Example:
        >>> import paddle
        >>> [round(v, 4) for v in paddle.exp(paddle.to_tensor([0.0, 1.0])).tolist()]
        [1.0, 2.7183]
    """
    return F.exp(floats(x, "exp"))


exp_ = inplace(exp, "paddle.tensor Tensor")


@public("paddle paddle.tensor paddle.special Tensor", op=F.Expm1())
def expm1(x: Tensor, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """``exp(x) - 1``, accurate where x is near 0, element by element.

    Args:
        x: floating or complex tensor of any shape; integers and bools become float32.
        out: tensor that the result is written into, and that is returned; it keeps its dtype and takes the result's
            shape.

    Returns:
        Tensor of x's shape and dtype; float32 for integers and bools.

    Raises:
        TypeError: x is no tensor.

    Example:
        >>> import paddle
        >>> round(float(paddle.expm1(paddle.to_tensor(1e-5, "float64"))), 15)
        1.000005e-05
    """
    return F.expm1(floats(x, "expm1"))


expm1_ = inplace(expm1)


@public
def frexp(x: Tensor, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Split numbers into mantissas and exponents of two: ``x = mantissa * 2**exponent``.

    Args:
        x: floating tensor of any shape.

    Returns:
        Tuple of the mantissas, with absolute values in [0.5, 1) or 0, and the exponents, whole numbers; both of x's
        shape and dtype. An infinity is its own mantissa, with exponent 1.

    Raises:
        TypeError: x is no tensor, or is not floating.

    Example:
        >>> import paddle
        >>> mantissa, exponent = paddle.frexp(paddle.to_tensor([8.0, -3.0]))
        >>> mantissa.tolist(), exponent.tolist()
        ([0.5, -0.75], [4.0, 2.0])
    """
    return F.frexp(need_tensor(x, "frexp"))


@public
def ldexp(x: Tensor, y: Tensor, name: str | None = None) -> Tensor:
    """``x * 2**y``, the inverse of :func:`frexp`, element by element.

    Args:
        x: tensor of any shape.
        y: tensor of exponents; the shapes broadcast.

    Returns:
        Tensor of the broadcast shape; float64 if an operand is, else of the default dtype.

    Raises:
        TypeError: x or y is no tensor.
        ValueError: the shapes do not broadcast.

    Example:
        >>> import paddle
        >>> paddle.ldexp(paddle.to_tensor([0.5, 3.0]), paddle.to_tensor([4, -1])).tolist()
        [8.0, 1.5]
    """
    need_tensor(x, "ldexp")
    d = dt.float64 if dt.float64 in (x.dtype, need_tensor(y, "ldexp", "y").dtype) else default_float()
    return F.ldexp(cast(x, d), cast(y, d))


ldexp_ = inplace(ldexp)


@public(op=F.Log())
def log(x: Tensor, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Natural logarithm, element by element.

    Args:
        x: floating or complex tensor of any shape; integers and bools become float32. Real elements below 0 give NaN,
            and 0 gives -inf.
        out: tensor that the result is written into, and that is returned; it keeps its dtype and takes the result's
            shape.

    Returns:
        Tensor of x's shape and dtype; float32 for integers and bools.

    Raises:
        TypeError: x is no tensor.

    Example:
        >>> import paddle
        >>> [round(v, 4) for v in paddle.log(paddle.to_tensor([1.0, 10.0])).tolist()]
        [0.0, 2.3026]
    """
    return F.log(floats(x, "log"))


log_ = inplace(log)


@public(op=F.Log10())
def log10(x: Tensor, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Logarithm to base 10, element by element.

    Args:
        x: floating or complex tensor of any shape; integers and bools become float32. Real elements below 0 give NaN,
            and 0 gives -inf.
        out: tensor that the result is written into, and that is returned; it keeps its dtype and takes the result's
            shape.

    Returns:
        Tensor of x's shape and dtype; float32 for integers and bools.

    Raises:
        TypeError: x is no tensor.

    Example:
        >>> import paddle
        >>> [round(v, 4) for v in paddle.log10(paddle.to_tensor([1.0, 1000.0])).tolist()]
        [0.0, 3.0]
    """
    return F.log10(floats(x, "log10"))


log10_ = inplace(log10)


@public(op=F.Log1p())
def log1p(x: Tensor, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """``log(1 + x)``, accurate where x is near 0, element by element.

    Args:
        x: floating or complex tensor of any shape; integers and bools become float32. Real elements below -1 give NaN,
            and -1 gives -inf.
        out: tensor that the result is written into, and that is returned; it keeps its dtype and takes the result's
            shape.

    Returns:
        Tensor of x's shape and dtype; float32 for integers and bools.

    Raises:
        TypeError: x is no tensor.

    Example:
        >>> import paddle
        >>> round(float(paddle.log1p(paddle.to_tensor(1e-5, "float64"))), 15)
        9.99995e-06
    """
    return F.log1p(floats(x, "log1p"))


log1p_ = inplace(log1p)


@public(op=F.Log2())
def log2(x: Tensor, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Logarithm to base 2, element by element.

    Args:
        x: floating or complex tensor of any shape; integers and bools become float32. Real elements below 0 give NaN,
            and 0 gives -inf.
        out: tensor that the result is written into, and that is returned; it keeps its dtype and takes the result's
            shape.

    Returns:
        Tensor of x's shape and dtype; float32 for integers and bools.

    Raises:
        TypeError: x is no tensor.

    Example:
        >>> import paddle
        >>> paddle.log2(paddle.to_tensor([1.0, 8.0])).tolist()
        [0.0, 3.0]
    """
    return F.log2(floats(x, "log2"))


log2_ = inplace(log2)


@public(op=F.Logaddexp())
def logaddexp(x: Tensor, y: Any, name: str | None = None) -> Tensor:
    """``log(exp(x) + exp(y))`` without overflow, element by element.

    Args:
        x: floating tensor, or an integer or bool one, which becomes float32; a number if y is a tensor.
        y: tensor or number; the shapes broadcast. Floating dtypes that differ are promoted, others must be equal.

    Returns:
        Tensor of the broadcast shape and the common dtype; float32 for integers and bools.

    Raises:
        TypeError: no operand is a tensor, the dtypes cannot be promoted, or one is complex.
        ValueError: the shapes do not broadcast.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([0.0, 1000.0])
        >>> [round(v, 4) for v in paddle.logaddexp(x, x).tolist()]
        [0.6931, 1000.6932]
    """
    return promoted(F.logaddexp, "logaddexp", x, y)


@public
def logit(x: Tensor, eps: float | None = None, name: str | None = None) -> Tensor:
    """Logarithm of the odds, ``log(x / (1 - x))``, the inverse of the sigmoid, element by element.

    Args:
        x: floating tensor of any shape; integers and bools become float32. Elements outside [0, 1] give NaN, and 0 and
            1 infinities, unless eps is given.
        eps: if given, x is first moved into ``[eps, 1 - eps]``.

    Returns:
        Tensor of x's shape and dtype; float32 for integers and bools.

    Raises:
        TypeError: x is no tensor, or is complex.

    Example:
        >>> import paddle
        >>> [round(v, 4) for v in paddle.logit(paddle.to_tensor([0.5, 0.9])).tolist()]
        [0.0, 2.1972]
    """
    return F.logit(floating(need_tensor(x, "logit")), 0.0 if eps is None else real_number(eps, "logit", "eps"))


logit_ = inplace(logit)


@public(op=F.Reciprocal())
def reciprocal(x: Tensor, name: str | None = None) -> Tensor:
    """``1 / x``, element by element.

    Args:
        x: floating or complex tensor of any shape; integers and bools become float32.

    Returns:
        Tensor of x's shape and dtype; float32 for integers and bools.

    Raises:
        TypeError: x is no tensor.

    Example:
        >>> import paddle
        >>> paddle.reciprocal(paddle.to_tensor([2.0, -4.0])).tolist()
        [0.5, -0.25]
    """
    return F.reciprocal(floats(x, "reciprocal"))


reciprocal_ = inplace(reciprocal, "paddle.tensor Tensor")


@public(op=F.Rsqrt())
def rsqrt(x: Tensor, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Reciprocal of the square root, ``1 / sqrt(x)``, element by element.

    Args:
        x: floating or complex tensor of any shape; integers and bools become float32. Real elements below 0 give NaN,
            and 0 gives inf.
        out: tensor that the result is written into, and that is returned; it keeps its dtype and takes the result's
            shape.

    Returns:
        Tensor of x's shape and dtype; float32 for integers and bools.

    Raises:
        TypeError: x is no tensor.

    Example:
        >>> import paddle
        >>> paddle.rsqrt(paddle.to_tensor([4.0, 0.25])).tolist()
        [0.5, 2.0]
    """
    return F.rsqrt(floats(x, "rsqrt"))


rsqrt_ = inplace(rsqrt, "paddle.tensor Tensor")


@public("paddle paddle.tensor paddle.nn.functional Tensor", op=F.Logistic())
def sigmoid(x: Tensor, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Sigmoid, ``1 / (1 + exp(-x))``, between 0 and 1, element by element.

    Args:
        x: floating or complex tensor of any shape; integers and bools become float32.
        out: tensor that the result is written into, and that is returned; it keeps its dtype and takes the result's
            shape.

    Returns:
        Tensor of x's shape and dtype; float32 for integers and bools.

    Raises:
        TypeError: x is no tensor.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([0.0, 2.0])
        >>> [round(v, 4) for v in x.sigmoid().tolist()]
        [0.5, 0.8808]
    """
    return F.logistic(floats(x, "sigmoid"))


sigmoid_ = inplace(sigmoid, "paddle.tensor Tensor")


def _softmax_of_torch(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None, *, out: Any = None
) -> Tensor:
    return softmax(input, dim, dtype)


@public(
    "paddle paddle.tensor paddle.special Tensor",
    other_order=OtherOrder(_softmax_of_torch, frozenset({"_stacklevel"}), 2, (int,)),
)
def softmax(input: Tensor, dim: int | None = None, dtype: Any = None, *, out: Any = None) -> Tensor:
    """Softmax under the argument names of another framework: ``exp(input)`` over its sum along ``dim``.

    ``paddle.nn.functional.softmax`` takes ``axis``, by default the last.

    Args:
        input: floating tensor of any shape; integers and bools become float32.
        dim: the axis whose elements sum to 1, negative counted from the end; by default the first of tensors of rank 0,
            1 and 3, and the second of others.
        dtype: floating dtype that the input is cast to first; None means none.
        out: tensor that the result is written into, and that is returned; it keeps its dtype and takes the result's
            shape.

    Returns:
        Tensor of the input's shape, and of ``dtype`` or the input's dtype (float32 for integers and bools).

    Raises:
        TypeError: the input is no tensor or is complex, or dtype is not floating.
        IndexError: the input has no such axis.

    Example:
        >>> import paddle
        >>> paddle.softmax(paddle.zeros([2]), 0).tolist()
        [0.5, 0.5]
    """
    x = floating(need_tensor(input, "softmax", "input"))
    if dtype is not None:
        x = cast(x, dtype_of(dtype))
    if x.ndim == 0:
        return F.reshape(apply1(_SOFTMAX[0], F.reshape(x, shape=(1,))), shape=())
    axis = axis_of((0 if x.ndim in (1, 3) else 1) if dim is None else dim, x.ndim, "softmax")
    return apply1(_SOFTMAX[axis], x)


@public(op=F.Sqrt())
def sqrt(x: Tensor, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Square root, element by element.

    Args:
        x: floating or complex tensor of any shape; integers and bools become float32. Real elements below 0 give NaN.
        out: tensor that the result is written into, and that is returned; it keeps its dtype and takes the result's
            shape.

    Returns:
        Tensor of x's shape and dtype; float32 for integers and bools.

    Raises:
        TypeError: x is no tensor.

    Example:
        >>> import paddle
        >>> paddle.sqrt(paddle.to_tensor([4.0, 0.25])).tolist()
        [2.0, 0.5]
    """
    return F.sqrt(floats(x, "sqrt"))


sqrt_ = inplace(sqrt, "paddle.tensor Tensor")


@public(op=F.Square())
def square(x: Tensor, name: str | None = None) -> Tensor:
    """``x * x``, element by element.

    Args:
        x: integer, floating or complex tensor of any shape.

    Returns:
        Tensor of x's shape and dtype.

    Raises:
        TypeError: x is no tensor, or is bool.

    Example:
        >>> import paddle
        >>> paddle.square(paddle.to_tensor([3, -2])).tolist()
        [9, 4]
    """
    return F.square(numeric(x, "square"))


square_ = inplace(square)
