"""Special functions: gamma, error and Bessel functions."""

from __future__ import annotations

from typing import Any

from paddle._public import inplace, public
from paddle.tensor._args import floating, floats, integer, need_tensor, op_error, promoted
from umiak import ops as F
from umiak.core.tensor import Tensor


@public(op=F.Digamma())
def digamma(x: Tensor, name: str | None = None) -> Tensor:
    """Digamma function, the derivative of the logarithm of the gamma function, element by element.

    Args:
        x: floating tensor of any shape; integers and bools become float32. Negative integers give NaN, and 0 gives
            -inf.

    Returns:
        Tensor of x's shape and dtype; float32 for integers and bools.

    Raises:
        TypeError: x is no tensor, or is complex.

    Example:
        >>> import paddle
        >>> [round(v, 4) for v in paddle.digamma(paddle.to_tensor([1.0, 2.0])).tolist()]
        [-0.5772, 0.4228]
    """
    return F.digamma(floats(x, "digamma"))


digamma_ = inplace(digamma)


@public(op=F.Erf())
def erf(x: Tensor, name: str | None = None) -> Tensor:
    """Error function, element by element.

    Args:
        x: floating tensor of any shape; integers and bools become float32.

    Returns:
        Tensor of x's shape and dtype; float32 for integers and bools.

    Raises:
        TypeError: x is no tensor, or is complex.

    Example:
        >>> import paddle
        >>> [round(v, 4) for v in paddle.erf(paddle.to_tensor([0.0, 1.0])).tolist()]
        [0.0, 0.8427]
    """
    return F.erf(floats(x, "erf"))


erf_ = inplace(erf)


@public(op=F.Erfinv())
def erfinv(x: Tensor, name: str | None = None) -> Tensor:
    """Inverse of the error function, element by element.

    Args:
        x: floating tensor of any shape; integers and bools become float32. Elements outside [-1, 1] give NaN, and -1
            and 1 infinities.

    Returns:
        Tensor of x's shape and dtype; float32 for integers and bools.

    Raises:
        TypeError: x is no tensor, or is complex.

    Example:
        >>> import paddle
        >>> [round(v, 4) for v in paddle.erfinv(paddle.to_tensor([0.0, 0.5])).tolist()]
        [0.0, 0.4769]
    """
    return F.erfinv(floats(x, "erfinv"))


erfinv_ = inplace(erfinv, "paddle.tensor Tensor")


@public(op=F.Igamma())
def gammainc(x: Tensor, y: Any, name: str | None = None) -> Tensor:
    """Regularised lower incomplete gamma function P(x, y), element by element.

    It is the share of the gamma function of x that the integral from 0 to y covers, and so rises from 0 to 1 in y.

    Args:
        x: floating tensor of positive numbers; a number if y is a tensor.
        y: floating tensor of numbers that are not negative, or a number; the shapes broadcast.

    Returns:
        Tensor of the broadcast shape and the common dtype.

    Raises:
        TypeError: no operand is a tensor, or one is not floating.
        ValueError: the shapes do not broadcast.

    Example:
        >>> import paddle
        >>> [round(v, 4) for v in paddle.gammainc(paddle.to_tensor([1.0, 1.0]), paddle.to_tensor([0.0, 2.0])).tolist()]
        [0.0, 0.8647]
    """
    return promoted(F.igamma, "gammainc", x, y)


gammainc_ = inplace(gammainc)


@public(op=F.Igammac())
def gammaincc(x: Tensor, y: Any, name: str | None = None) -> Tensor:
    """Regularised upper incomplete gamma function Q(x, y) = 1 - P(x, y), element by element.

    Args:
        x: floating tensor of positive numbers; a number if y is a tensor.
        y: floating tensor of numbers that are not negative, or a number; the shapes broadcast.

    Returns:
        Tensor of the broadcast shape and the common dtype.

    Raises:
        TypeError: no operand is a tensor, or one is not floating.
        ValueError: the shapes do not broadcast.

    Example:
        >>> import paddle
        >>> [round(v, 4) for v in paddle.gammaincc(paddle.to_tensor([1.0, 1.0]), paddle.to_tensor([0.0, 2.0])).tolist()]
        [1.0, 0.1353]
    """
    return promoted(F.igammac, "gammaincc", x, y)


gammaincc_ = inplace(gammaincc)


@public(op=F.Lgamma())
def gammaln(x: Tensor, name: str | None = None) -> Tensor:
    """Logarithm of the absolute value of the gamma function, element by element.

    Args:
        x: floating tensor of any shape; integers and bools become float32. Integers up to 0 give inf.

    Returns:
        Tensor of x's shape and dtype; float32 for integers and bools.

    Raises:
        TypeError: x is no tensor, or is complex.

    Example:
        >>> import paddle
        >>> [round(v, 4) for v in paddle.gammaln(paddle.to_tensor([1.0, 5.0])).tolist()]
        [0.0, 3.1781]
    """
    return F.lgamma(floats(x, "gammaln"))


gammaln_ = inplace(gammaln)


@public(op=F.I0())
def i0(x: Tensor, name: str | None = None) -> Tensor:
    """Modified Bessel function of the first kind and order 0, element by element.

    Args:
        x: floating tensor of any shape; integers and bools become float32.

    Returns:
        Tensor of x's shape and dtype; float32 for integers and bools.

    Raises:
        TypeError: x is no tensor, or is complex.

    Example:
        >>> import paddle
        >>> [round(v, 4) for v in paddle.i0(paddle.to_tensor([0.0, 1.0])).tolist()]
        [1.0, 1.2661]
    """
    return F.i0(floats(x, "i0"))


i0_ = inplace(i0)


@public(op=F.I0e())
def i0e(x: Tensor, name: str | None = None) -> Tensor:
    """Modified Bessel function of the first kind and order 0, times ``exp(-|x|)``, element by element.

    Args:
        x: floating tensor of any shape; integers and bools become float32.

    Returns:
        Tensor of x's shape and dtype; float32 for integers and bools.

    Raises:
        TypeError: x is no tensor, or is complex.

    Example:
        >>> import paddle
        >>> [round(v, 4) for v in paddle.i0e(paddle.to_tensor([0.0, 100.0])).tolist()]
        [1.0, 0.0399]
    """
    return F.i0e(floats(x, "i0e"))


@public(op=F.I1())
def i1(x: Tensor, name: str | None = None) -> Tensor:
    """Modified Bessel function of the first kind and order 1, element by element.

    Args:
        x: floating tensor of any shape; integers and bools become float32.

    Returns:
        Tensor of x's shape and dtype; float32 for integers and bools.

    Raises:
        TypeError: x is no tensor, or is complex.

    Example:
        >>> import paddle
        >>> [round(v, 4) for v in paddle.i1(paddle.to_tensor([0.0, 1.0])).tolist()]
        [0.0, 0.5652]
    """
    return F.i1(floats(x, "i1"))


@public(op=F.I1e())
def i1e(x: Tensor, name: str | None = None) -> Tensor:
    """Modified Bessel function of the first kind and order 1, times ``exp(-|x|)``, element by element.

    Args:
        x: floating tensor of any shape; integers and bools become float32.

    Returns:
        Tensor of x's shape and dtype; float32 for integers and bools.

    Raises:
        TypeError: x is no tensor, or is complex.

    Example:
        >>> import paddle
        >>> [round(v, 4) for v in paddle.i1e(paddle.to_tensor([0.0, 100.0])).tolist()]
        [0.0, 0.0397]
    """
    return F.i1e(floats(x, "i1e"))


@public(op=F.Lgamma())
def lgamma(x: Tensor, name: str | None = None) -> Tensor:
    """Logarithm of the absolute value of the gamma function, element by element.

    Args:
        x: floating tensor of any shape; integers and bools become float32. Integers up to 0 give inf.

    Returns:
        Tensor of x's shape and dtype; float32 for integers and bools.

    Raises:
        TypeError: x is no tensor, or is complex.

    Example:
        >>> import paddle
        >>> [round(v, 4) for v in paddle.lgamma(paddle.to_tensor([1.0, 5.0])).tolist()]
        [0.0, 3.1781]
    """
    return F.lgamma(floats(x, "lgamma"))


lgamma_ = inplace(lgamma)


@public
def multigammaln(x: Tensor, p: int, name: str | None = None) -> Tensor:
    """Logarithm of the multivariate gamma function of dimension ``p``, element by element.

    Args:
        x: floating tensor of any shape; integers and bools become float32. The function is defined above ``(p - 1) /
            2``.
        p: the dimension, an integer of 1 or more.

    Returns:
        Tensor of x's shape and dtype; float32 for integers and bools.

    Raises:
        TypeError: x is no tensor, or is complex.
        ValueError: p is below 1.

    Example:
        >>> import paddle
        >>> [round(v, 4) for v in paddle.multigammaln(paddle.to_tensor([3.0, 4.0]), 2).tolist()]
        [1.5502, 3.5651]
    """
    p = integer(p, "multigammaln", "p")
    if p < 1:
        raise op_error(ValueError, "multigammaln", "a p of 1 or more", p)
    return F.multigammaln(floating(need_tensor(x, "multigammaln")), p)


multigammaln_ = inplace(multigammaln)


@public
def polygamma(x: Tensor, n: int, name: str | None = None) -> Tensor:
    """Polygamma function, the n-th derivative of :func:`digamma`, element by element.

    Args:
        x: floating tensor of any shape; integers and bools become float32.
        n: how many times to differentiate, an integer of 0 or more; 0 is digamma itself.

    Returns:
        Tensor of x's shape and dtype; float32 for integers and bools.

    Raises:
        TypeError: x is no tensor, or is complex.
        ValueError: n is no integer, or is negative.

    Example:
        >>> import paddle
        >>> [round(v, 4) for v in paddle.polygamma(paddle.to_tensor([1.0, 2.0]), 1).tolist()]
        [1.6449, 0.6449]
    """
    if not isinstance(n, int) or n < 0:
        raise op_error(ValueError, "polygamma", "an integer n of 0 or more", n)
    x = floating(need_tensor(x, "polygamma"))
    return F.digamma(x) if n == 0 else F.polygamma(x, n)


polygamma_ = inplace(polygamma)
