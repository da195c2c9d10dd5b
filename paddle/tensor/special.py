"""Special functions: gamma, error and Bessel functions."""

from __future__ import annotations

from typing import Any

from paddle._public import inplace, public
from paddle.tensor._args import (
    floating,
    floats,
    need_tensor,
    op_error,
    promoted,
)
from umiak import ops as F
from umiak.core.tensor import Tensor


@public(op=F.Digamma())
def digamma(x: Tensor, name: str | None = None) -> Tensor:
    """The derivative of the logarithm of the gamma function, element by element.

    Args:
        x: a tensor; integers become floats first.

    Example:
        >>> import paddle
        >>> paddle.digamma(paddle.to_tensor([0.0])).shape
        [1]
    """
    return F.digamma(floats(x, "digamma"))


digamma_ = inplace(digamma)


@public(op=F.Erf())
def erf(x: Tensor, name: str | None = None) -> Tensor:
    """The error function, element by element.

    Args:
        x: a tensor; integers become floats first.

    Example:
        >>> import paddle
        >>> paddle.erf(paddle.to_tensor([0.0])).tolist()
        [0.0]
    """
    return F.erf(floats(x, "erf"))


erf_ = inplace(erf)


@public(op=F.Erfinv())
def erfinv(x: Tensor, name: str | None = None) -> Tensor:
    """The inverse of the error function, element by element.

    Args:
        x: a tensor; integers become floats first.

    Example:
        >>> import paddle
        >>> paddle.erfinv(paddle.to_tensor([0.0])).tolist()
        [0.0]
    """
    return F.erfinv(floats(x, "erfinv"))


erfinv_ = inplace(erfinv, "paddle.tensor Tensor")


@public(op=F.Igamma())
def gammainc(x: Tensor, y: Any, name: str | None = None) -> Tensor:
    """The regularised lower incomplete gamma function P(x, y), element by element.

    Args:
        x: a tensor.
        y: a tensor of the same dtype, or a number; shapes broadcast.

    Example:
        >>> import paddle
        >>> paddle.gammainc(paddle.to_tensor([1.0]), paddle.to_tensor([0.0])).tolist()
        [0.0]
    """
    return promoted(F.igamma, "gammainc", x, y)


gammainc_ = inplace(gammainc)


@public(op=F.Igammac())
def gammaincc(x: Tensor, y: Any, name: str | None = None) -> Tensor:
    """The regularised upper incomplete gamma function Q(x, y), element by element.

    Args:
        x: a tensor.
        y: a tensor of the same dtype, or a number; shapes broadcast.

    Example:
        >>> import paddle
        >>> paddle.gammaincc(paddle.to_tensor([1.0]), paddle.to_tensor([0.0])).tolist()
        [1.0]
    """
    return promoted(F.igammac, "gammaincc", x, y)


gammaincc_ = inplace(gammaincc)


@public(op=F.Lgamma())
def gammaln(x: Tensor, name: str | None = None) -> Tensor:
    """The logarithm of the absolute value of the gamma function, element by element.

    Args:
        x: a tensor; integers become floats first.

    Example:
        >>> import paddle
        >>> paddle.gammaln(paddle.to_tensor([1.0])).tolist()
        [0.0]
    """
    return F.lgamma(floats(x, "gammaln"))


gammaln_ = inplace(gammaln)


@public(op=F.I0())
def i0(x: Tensor, name: str | None = None) -> Tensor:
    """The modified Bessel function of order 0, element by element.

    Args:
        x: a tensor; integers become floats first.

    Example:
        >>> import paddle
        >>> paddle.i0(paddle.to_tensor([0.0])).tolist()
        [1.0]
    """
    return F.i0(floats(x, "i0"))


i0_ = inplace(i0)


@public(op=F.I0e())
def i0e(x: Tensor, name: str | None = None) -> Tensor:
    """The modified Bessel function of order 0 times exp(-|x|), element by element.

    Args:
        x: a tensor; integers become floats first.

    Example:
        >>> import paddle
        >>> paddle.i0e(paddle.to_tensor([0.0])).tolist()
        [1.0]
    """
    return F.i0e(floats(x, "i0e"))


@public(op=F.I1())
def i1(x: Tensor, name: str | None = None) -> Tensor:
    """The modified Bessel function of order 1, element by element.

    Args:
        x: a tensor; integers become floats first.

    Example:
        >>> import paddle
        >>> paddle.i1(paddle.to_tensor([0.0])).tolist()
        [0.0]
    """
    return F.i1(floats(x, "i1"))


@public(op=F.I1e())
def i1e(x: Tensor, name: str | None = None) -> Tensor:
    """The modified Bessel function of order 1 times exp(-|x|), element by element.

    Args:
        x: a tensor; integers become floats first.

    Example:
        >>> import paddle
        >>> paddle.i1e(paddle.to_tensor([0.0])).tolist()
        [0.0]
    """
    return F.i1e(floats(x, "i1e"))


@public(op=F.Lgamma())
def lgamma(x: Tensor, name: str | None = None) -> Tensor:
    """The logarithm of the absolute value of the gamma function, element by element.

    Args:
        x: a tensor; integers become floats first.

    Example:
        >>> import paddle
        >>> paddle.lgamma(paddle.to_tensor([1.0])).tolist()
        [0.0]
    """
    return F.lgamma(floats(x, "lgamma"))


lgamma_ = inplace(lgamma)


@public
def multigammaln(x: Tensor, p: int, name: str | None = None) -> Tensor:
    """The logarithm of the multivariate gamma function of dimension ``p``.

    Example:
        >>> import paddle
        >>> round(float(paddle.multigammaln(paddle.to_tensor([3.0]), 2)), 4)
        1.5502
    """
    if p < 1:
        raise op_error(ValueError, "multigammaln", "a p of 1 or more", p)
    return F.multigammaln(floating(need_tensor(x, "multigammaln")), p)


multigammaln_ = inplace(multigammaln)


@public
def polygamma(x: Tensor, n: int, name: str | None = None) -> Tensor:
    """The n-th derivative of digamma.

    Example:
        >>> import paddle
        >>> round(float(paddle.polygamma(paddle.ones([1]), 1)), 4)
        1.6449
    """
    if not isinstance(n, int) or n < 0:
        raise op_error(ValueError, "polygamma", "an integer n of 0 or more", n)
    x = floating(need_tensor(x, "polygamma"))
    return F.digamma(x) if n == 0 else F.polygamma(x, n)


polygamma_ = inplace(polygamma)
