"""Functions of one operand that work element by element."""

from __future__ import annotations

from paddle._public import also, inplace, public
from paddle.tensor._args import floats, need_tensor, numeric
from umiak import ops as F
from umiak.core.tensor import Tensor


@public(op=F.Abs())
def abs(x: Tensor, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The absolute value; of complex numbers, their size, element by element.

    Args:
        x: a tensor.
        out: a tensor that is written instead.

    Example:
        >>> import paddle
        >>> paddle.abs(paddle.to_tensor([-1.0, 2.0])).tolist()
        [1.0, 2.0]
    """
    return F.abs(numeric(x, "abs"))


abs_ = inplace(abs)


@public(op=F.Acos())
def acos(x: Tensor, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The inverse cosine, from 0 to pi, element by element.

    Args:
        x: a tensor; integers become floats first.
        out: a tensor that is written instead.

    Example:
        >>> import paddle
        >>> paddle.acos(paddle.to_tensor([1.0])).tolist()
        [0.0]
    """
    return F.acos(floats(x, "acos"))


acos_ = inplace(acos)


@public(op=F.Acosh())
def acosh(x: Tensor, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The inverse hyperbolic cosine, element by element.

    Args:
        x: a tensor; integers become floats first.
        out: a tensor that is written instead.

    Example:
        >>> import paddle
        >>> paddle.acosh(paddle.to_tensor([1.0])).tolist()
        [0.0]
    """
    return F.acosh(floats(x, "acosh"))


acosh_ = inplace(acosh, "paddle.tensor Tensor")


@public(op=F.Angle())
def angle(x: Tensor, name: str | None = None) -> Tensor:
    """The argument of complex numbers; 0 or pi for real ones, element by element.

    Args:
        x: a tensor; integers become floats first.

    Example:
        >>> import paddle
        >>> paddle.angle(paddle.to_tensor([1.0])).tolist()
        [0.0]
    """
    return F.angle(floats(x, "angle"))


@public(op=F.Asin())
def asin(x: Tensor, name: str | None = None) -> Tensor:
    """The inverse sine, from -pi/2 to pi/2, element by element.

    Args:
        x: a tensor; integers become floats first.

    Example:
        >>> import paddle
        >>> paddle.asin(paddle.to_tensor([0.0])).tolist()
        [0.0]
    """
    return F.asin(floats(x, "asin"))


asin_ = inplace(asin, "paddle.tensor Tensor")


@public(op=F.Asinh())
def asinh(x: Tensor, name: str | None = None) -> Tensor:
    """The inverse hyperbolic sine, element by element.

    Args:
        x: a tensor; integers become floats first.

    Example:
        >>> import paddle
        >>> paddle.asinh(paddle.to_tensor([0.0])).tolist()
        [0.0]
    """
    return F.asinh(floats(x, "asinh"))


asinh_ = inplace(asinh, "paddle.tensor Tensor")


@public(op=F.Atan())
def atan(x: Tensor, name: str | None = None) -> Tensor:
    """The inverse tangent, from -pi/2 to pi/2, element by element.

    Args:
        x: a tensor; integers become floats first.

    Example:
        >>> import paddle
        >>> paddle.atan(paddle.to_tensor([0.0])).tolist()
        [0.0]
    """
    return F.atan(floats(x, "atan"))


atan_ = inplace(atan)


@public(op=F.Atanh())
def atanh(x: Tensor, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The inverse hyperbolic tangent, element by element.

    Args:
        x: a tensor; integers become floats first.
        out: a tensor that is written instead.

    Example:
        >>> import paddle
        >>> paddle.atanh(paddle.to_tensor([0.0])).tolist()
        [0.0]
    """
    return F.atanh(floats(x, "atanh"))


atanh_ = inplace(atanh, "paddle.tensor Tensor")


@public(op=F.Ceil())
def ceil(x: Tensor, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The smallest integer not below, element by element.

    Args:
        x: a tensor.
        out: a tensor that is written instead.

    Example:
        >>> import paddle
        >>> paddle.ceil(paddle.to_tensor([1.5])).tolist()
        [2.0]
    """
    return F.ceil(need_tensor(x, "ceil"))


ceil_ = inplace(ceil, "paddle.tensor Tensor")


@public(op=F.Conj())
def conj(x: Tensor, name: str | None = None) -> Tensor:
    """The complex conjugate; real numbers as they are, element by element.

    Args:
        x: a tensor.

    Example:
        >>> import paddle
        >>> paddle.conj(paddle.to_tensor([1.0])).tolist()
        [1.0]
    """
    return F.conj(need_tensor(x, "conj"))


@public(op=F.Cos())
def cos(x: Tensor, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The cosine, element by element.

    Args:
        x: a tensor; integers become floats first.
        out: a tensor that is written instead.

    Example:
        >>> import paddle
        >>> paddle.cos(paddle.to_tensor([0.0])).tolist()
        [1.0]
    """
    return F.cos(floats(x, "cos"))


cos_ = inplace(cos)


@public(op=F.Cosh())
def cosh(x: Tensor, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The hyperbolic cosine, element by element.

    Args:
        x: a tensor; integers become floats first.
        out: a tensor that is written instead.

    Example:
        >>> import paddle
        >>> paddle.cosh(paddle.to_tensor([0.0])).tolist()
        [1.0]
    """
    return F.cosh(floats(x, "cosh"))


cosh_ = inplace(cosh, "paddle.tensor Tensor")


@public(op=F.Deg2rad())
def deg2rad(x: Tensor, name: str | None = None) -> Tensor:
    """Degrees as radians, element by element.

    Args:
        x: a tensor; integers become floats first.

    Example:
        >>> import paddle
        >>> paddle.deg2rad(paddle.to_tensor([0.0])).tolist()
        [0.0]
    """
    return F.deg2rad(floats(x, "deg2rad"))


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


@public(op=F.Floor())
def floor(x: Tensor, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The largest integer not above, element by element.

    Args:
        x: a tensor.
        out: a tensor that is written instead.

    Example:
        >>> import paddle
        >>> paddle.floor(paddle.to_tensor([1.5])).tolist()
        [1.0]
    """
    return F.floor(need_tensor(x, "floor"))


floor_ = inplace(floor, "paddle.tensor Tensor")


@public(op=F.Frac())
def frac(x: Tensor, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """What is left of x without its integer part, element by element.

    Args:
        x: a tensor; integers become floats first.
        out: a tensor that is written instead.

    Example:
        >>> import paddle
        >>> paddle.frac(paddle.to_tensor([1.5, -1.5])).tolist()
        [0.5, -0.5]
    """
    return F.frac(floats(x, "frac"))


frac_ = inplace(frac)


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


@public(op=F.Imag())
def imag(x: Tensor, name: str | None = None) -> Tensor:
    """The imaginary part of complex numbers, element by element.

    Args:
        x: a tensor.

    Example:
        >>> import paddle
        >>> paddle.imag(paddle.to_tensor([1 + 2j])).tolist()
        [2.0]
    """
    return F.imag(need_tensor(x, "imag"))


@public(op=F.Isfinite())
def isfinite(x: Tensor, name: str | None = None) -> Tensor:
    """Whether x is neither infinite nor NaN, element by element.

    Args:
        x: a tensor.

    Example:
        >>> import paddle
        >>> paddle.isfinite(paddle.to_tensor([1.0])).tolist()
        [True]
    """
    return F.isfinite(need_tensor(x, "isfinite"))


@public(op=F.Isinf())
def isinf(x: Tensor, name: str | None = None) -> Tensor:
    """Whether x is infinite, element by element.

    Args:
        x: a tensor.

    Example:
        >>> import paddle
        >>> paddle.isinf(paddle.to_tensor([1.0])).tolist()
        [False]
    """
    return F.isinf(need_tensor(x, "isinf"))


@public(op=F.Isnan())
def isnan(x: Tensor, name: str | None = None) -> Tensor:
    """Whether x is NaN, element by element.

    Args:
        x: a tensor.

    Example:
        >>> import paddle
        >>> paddle.isnan(paddle.to_tensor([1.0])).tolist()
        [False]
    """
    return F.isnan(need_tensor(x, "isnan"))


@public(op=F.Isneginf())
def isneginf(x: Tensor, name: str | None = None) -> Tensor:
    """Whether x is -inf, element by element.

    Args:
        x: a tensor; integers become floats first.

    Example:
        >>> import paddle
        >>> paddle.isneginf(paddle.to_tensor([1.0])).tolist()
        [False]
    """
    return F.isneginf(floats(x, "isneginf"))


@public(op=F.Isposinf())
def isposinf(x: Tensor, name: str | None = None) -> Tensor:
    """Whether x is +inf, element by element.

    Args:
        x: a tensor; integers become floats first.

    Example:
        >>> import paddle
        >>> paddle.isposinf(paddle.to_tensor([1.0])).tolist()
        [False]
    """
    return F.isposinf(floats(x, "isposinf"))


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


@public(op=F.Neg())
def neg(x: Tensor, name: str | None = None) -> Tensor:
    """-x, element by element.

    Args:
        x: a tensor.

    Example:
        >>> import paddle
        >>> paddle.neg(paddle.to_tensor([1.0])).tolist()
        [-1.0]
    """
    return F.neg(numeric(x, "neg"))


negative = also(neg, "negative")
neg_ = inplace(neg)


@public(op=F.Rad2deg())
def rad2deg(x: Tensor, name: str | None = None) -> Tensor:
    """Radians as degrees, element by element.

    Args:
        x: a tensor; integers become floats first.

    Example:
        >>> import paddle
        >>> paddle.rad2deg(paddle.to_tensor([0.0])).tolist()
        [0.0]
    """
    return F.rad2deg(floats(x, "rad2deg"))


@public(op=F.Real())
def real(x: Tensor, name: str | None = None) -> Tensor:
    """The real part of complex numbers; real ones as they are, element by element.

    Args:
        x: a tensor.

    Example:
        >>> import paddle
        >>> paddle.real(paddle.to_tensor([1 + 2j])).tolist()
        [1.0]
    """
    return F.real(x) if need_tensor(x, "real").dtype.is_complex else x


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


@public(op=F.Sign())
def sgn(x: Tensor, name: str | None = None) -> Tensor:
    """-1, 0 or 1; of complex numbers, those of size 1 in their direction, element by element.

    Args:
        x: a tensor.

    Example:
        >>> import paddle
        >>> paddle.sgn(paddle.to_tensor([-3.0])).tolist()
        [-1.0]
    """
    return F.sign(need_tensor(x, "sgn"))


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


@public(op=F.Sign())
def sign(x: Tensor, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """-1, 0 or 1, element by element.

    Args:
        x: a tensor.
        out: a tensor that is written instead.

    Example:
        >>> import paddle
        >>> paddle.sign(paddle.to_tensor([-3.0])).tolist()
        [-1.0]
    """
    return F.sign(numeric(x, "sign"))


@public(op=F.Signbit())
def signbit(x: Tensor, name: str | None = None) -> Tensor:
    """Whether the sign bit is set, also that of -0.0, element by element.

    Args:
        x: a tensor; integers become floats first.

    Example:
        >>> import paddle
        >>> paddle.signbit(paddle.to_tensor([-1.0])).tolist()
        [True]
    """
    return F.signbit(floats(x, "signbit"))


@public(op=F.Sin())
def sin(x: Tensor, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The sine, element by element.

    Args:
        x: a tensor; integers become floats first.
        out: a tensor that is written instead.

    Example:
        >>> import paddle
        >>> paddle.sin(paddle.to_tensor([0.0])).tolist()
        [0.0]
    """
    return F.sin(floats(x, "sin"))


sin_ = inplace(sin)


@public(op=F.Sinc())
def sinc(x: Tensor, name: str | None = None) -> Tensor:
    """sin(pi*x)/(pi*x), and 1 at 0, element by element.

    Args:
        x: a tensor; integers become floats first.

    Example:
        >>> import paddle
        >>> paddle.sinc(paddle.to_tensor([0.0])).tolist()
        [1.0]
    """
    return F.sinc(floats(x, "sinc"))


sinc_ = inplace(sinc)


@public(op=F.Sinh())
def sinh(x: Tensor, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The hyperbolic sine, element by element.

    Args:
        x: a tensor; integers become floats first.
        out: a tensor that is written instead.

    Example:
        >>> import paddle
        >>> paddle.sinh(paddle.to_tensor([0.0])).tolist()
        [0.0]
    """
    return F.sinh(floats(x, "sinh"))


sinh_ = inplace(sinh)


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


@public(op=F.Tan())
def tan(x: Tensor, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The tangent, element by element.

    Args:
        x: a tensor; integers become floats first.
        out: a tensor that is written instead.

    Example:
        >>> import paddle
        >>> paddle.tan(paddle.to_tensor([0.0])).tolist()
        [0.0]
    """
    return F.tan(floats(x, "tan"))


tan_ = inplace(tan)


@public("paddle paddle.tensor paddle.nn.functional Tensor", op=F.Tanh())
def tanh(x: Tensor, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The hyperbolic tangent, element by element.

    Args:
        x: a tensor; integers become floats first.
        out: a tensor that is written instead.

    Example:
        >>> import paddle
        >>> paddle.tanh(paddle.to_tensor([0.0])).tolist()
        [0.0]
    """
    return F.tanh(floats(x, "tanh"))


tanh_ = inplace(tanh, "paddle paddle.tensor paddle.nn.functional Tensor")


@public(op=F.Trunc(), aliases={"x": "input"})
def trunc(input: Tensor, name: str | None = None) -> Tensor:
    """x without its fraction, element by element.

    Args:
        input: a tensor.

    Example:
        >>> import paddle
        >>> paddle.trunc(paddle.to_tensor([-1.5])).tolist()
        [-1.0]
    """
    return F.trunc(need_tensor(input, "trunc", "input"))


trunc_ = inplace(trunc)
