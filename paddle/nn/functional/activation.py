"""Activations as functions."""

from __future__ import annotations

from typing import Any

from paddle._public import also, inplace, public
from paddle.nn._ops import Records, random_apply, random_tensor
from paddle.tensor._args import made_on
from umiak import ops as F
from umiak.core.dtype import convert
from umiak.core.eager import apply, apply1, apply2, apply_axis
from umiak.core.inplace import assign, call_before_overwrite
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error

_CELU = F.Celu()
_ELU = F.Elu()
_GELU = Records(F.Gelu)
_GLU = Records(F.Glu)
_HARDSHRINK = F.Hardshrink()
_HARDSIGMOID = F.Hardsigmoid()
_HARDSWISH = F.Hardswish()
_HARDTANH = F.Hardtanh()
_LEAKY_RELU = F.LeakyRelu()
_LOG_SIGMOID = F.LogSigmoid()
_LOG_SOFTMAX = Records(F.LogSoftmax)
_MAXOUT = Records(F.Maxout)
_MISH = F.Mish()
_PRELU = F.Prelu()
_RELU = F.Relu()
_RELU6 = F.Relu6()
_RRELU = F.Rrelu()
_SELU = F.Selu()
_SILU = F.Silu()
_SOFTMAX = Records(F.Softmax)
_SOFTPLUS = F.Softplus()
_SOFTSHRINK = F.Softshrink()
_SOFTSIGN = F.Softsign()
_SWIGLU = F.Swiglu()
_SWIGLU_PACKED = Records(F.SwigluPacked)
_TANHSHRINK = F.Tanhshrink()
_THRESHOLDED_RELU = F.ThresholdedRelu()


@public("paddle.nn.functional", usual=False, op=_RELU)
def relu(x: Tensor, name: str | None = None) -> Tensor:
    """``max(x, 0)``.

    Args:
        x: floating tensor of any shape.

    Example:
        >>> import paddle
        >>> paddle.nn.functional.relu(paddle.to_tensor([-1.0, 2.0])).tolist()
        [0.0, 2.0]
    """
    return apply1(_RELU, x)


relu_ = inplace(relu, "paddle.nn.functional")


@public("paddle.nn.functional", usual=False, op=_RELU6)
def relu6(x: Tensor, name: str | None = None) -> Tensor:
    """``min(max(x, 0), 6)``."""
    return apply1(_RELU6, x)


@public("paddle.nn.functional", usual=False)
def elu(x: Tensor, alpha: float = 1.0, name: str | None = None) -> Tensor:
    """x where it is positive, ``alpha * (exp(x) - 1)`` elsewhere."""
    return apply(_ELU, (x,), (float(alpha),))


elu_ = inplace(elu, "paddle.nn.functional")


@public("paddle.nn.functional", usual=False)
def selu(
    x: Tensor, scale: float = 1.0507009873554805, alpha: float = 1.6732632423543772, name: str | None = None
) -> Tensor:
    """``scale * elu(x, alpha)``, with constants that keep mean 0 and variance 1.

    Raises:
        ValueError: ``scale <= 1`` or ``alpha < 0``.
    """
    if scale <= 1.0 or alpha < 0:
        raise op_error(ValueError, "selu", "scale > 1 and alpha >= 0", f"{scale} and {alpha}")
    return apply(_SELU, (x,), (float(scale), float(alpha)))


@public("paddle.nn.functional", usual=False)
def celu(x: Tensor, alpha: float = 1.0, name: str | None = None) -> Tensor:
    """x where it is positive, ``alpha * (exp(x/alpha) - 1)`` elsewhere. Raises ZeroDivisionError for ``alpha=0``."""
    if alpha == 0:
        raise ZeroDivisionError("[celu] requires alpha other than 0, got 0")
    return apply(_CELU, (x,), (float(alpha),))


@public("paddle.nn.functional", op=_GELU[False])
def gelu(x: Tensor, approximate: bool | str = False, name: str | None = None) -> Tensor:
    """x times the normal distribution function of x.

    Args:
        x: floating tensor.
        approximate: True or ``"tanh"`` for the approximation by tanh.

    Example:
        >>> import paddle
        >>> paddle.nn.functional.gelu(paddle.zeros([2])).tolist()
        [0.0, 0.0]
    """
    if approximate is not True and approximate is not False:
        if approximate not in ("tanh", "none"):
            raise op_error(ValueError, "gelu", "approximate as a bool, 'tanh' or 'none'", repr(approximate))
        approximate = approximate == "tanh"
    return apply1(_GELU[approximate], x)


@public("paddle.nn.functional", op=_SILU)
def silu(x: Tensor, inplace: bool = False, name: str | None = None) -> Tensor:
    """``x * sigmoid(x)``, written into x with ``inplace``."""
    return _written(silu, x) if inplace else apply1(_SILU, x)


@public("paddle.nn.functional", usual=False, op=_SILU)
def swish(x: Tensor, name: str | None = None) -> Tensor:
    """``x * sigmoid(x)``."""
    return apply1(_SILU, x)


@public("paddle.nn.functional", usual=False, op=_MISH)
def mish(x: Tensor, name: str | None = None) -> Tensor:
    """``x * tanh(softplus(x))``."""
    return apply1(_MISH, x)


@public("paddle.nn.functional", usual=False)
def leaky_relu(x: Tensor, negative_slope: float = 0.01, name: str | None = None) -> Tensor:
    """x where it is positive, ``negative_slope * x`` elsewhere."""
    return apply(_LEAKY_RELU, (x,), (float(negative_slope),))


leaky_relu_ = inplace(leaky_relu, "paddle.nn.functional")


@public("paddle.nn.functional", usual=False)
def prelu(x: Tensor, weight: Tensor, data_format: str = "NCHW", name: str | None = None) -> Tensor:
    """x where it is positive, ``weight * x`` elsewhere.

    Args:
        x: floating tensor.
        weight: of shape [1], or of one element per channel.
        data_format: where the channels of x are: last for ``"NHWC"`` and the like, otherwise dim 1.

    Raises:
        ValueError: weight has another number of elements.
    """
    if weight.ndim == 1 and weight.shape[0] > 1:
        axis = x.ndim - 1 if data_format in ("NC", "NLC", "NHWC", "NDHWC") else 1
        if x.ndim < 2 or x.shape[axis] != weight.shape[0]:
            channels = x.shape[axis] if x.ndim > 1 else 1
            raise op_error(ValueError, "prelu", f"a weight of 1 or {channels} elements", weight.shape[0])
        weight = F.reshape(weight, shape=(weight.shape[0], *(1,) * (x.ndim - 1 - axis)))
    return apply2(_PRELU, x, weight)


@public("paddle.nn.functional", usual=False)
def rrelu(
    x: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = True, name: str | None = None
) -> Tensor:
    """x where it is positive; elsewhere x times a slope drawn from [lower, upper], or times their mean when not
    training.

    Raises:
        ValueError: not ``0 <= lower <= upper <= 1``.
    """
    if not 0 <= lower <= upper <= 1:
        raise op_error(ValueError, "rrelu", "0 <= lower <= upper <= 1", f"{lower} and {upper}")
    if not training:
        return leaky_relu(x, (lower + upper) / 2)
    return random_apply(_RRELU, x, float(lower), float(upper))


@public("paddle.nn.functional", usual=False)
def hardtanh(x: Tensor, min: float = -1.0, max: float = 1.0, name: str | None = None) -> Tensor:
    """x between ``min`` and ``max``, these beyond."""
    return apply(_HARDTANH, (x,), (float(min), float(max)))


hardtanh_ = inplace(hardtanh, "paddle.nn.functional")


@public("paddle.nn.functional", usual=False)
def hardsigmoid(x: Tensor, slope: float = 0.1666667, offset: float = 0.5, name: str | None = None) -> Tensor:
    """``slope * x + offset`` between 0 and 1, these beyond."""
    return apply(_HARDSIGMOID, (x,), (float(slope), float(offset)))


@public("paddle.nn.functional", usual=False)
def hardswish(x: Tensor, name: str | None = None) -> Tensor:
    """``x * relu6(x + 3) / 6``."""
    return apply(_HARDSWISH, (x,), (6.0, 6.0, 3.0))


@public("paddle.nn.functional")
def hardshrink(x: Tensor, threshold: float = 0.5, name: str | None = None) -> Tensor:
    """x where it is beyond ``±threshold``, 0 between."""
    return apply(_HARDSHRINK, (x,), (float(threshold),))


@public("paddle.nn.functional")
def softshrink(x: Tensor, threshold: float = 0.5, name: str | None = None) -> Tensor:
    """x moved towards 0 by ``threshold``, 0 where it would pass it. Raises ValueError for a negative threshold."""
    if threshold < 0:
        raise op_error(ValueError, "softshrink", "threshold >= 0", threshold)
    return apply(_SOFTSHRINK, (x,), (float(threshold),))


@public("paddle.nn.functional", usual=False)
def thresholded_relu(x: Tensor, threshold: float = 1.0, value: float = 0.0, name: str | None = None) -> Tensor:
    """x where it exceeds ``threshold``, ``value`` elsewhere."""
    return apply(_THRESHOLDED_RELU, (x,), (float(threshold), float(value)))


thresholded_relu_ = inplace(thresholded_relu, "paddle.nn.functional")


@public("paddle.nn.functional", usual=False, op=_TANHSHRINK)
def tanhshrink(x: Tensor, name: str | None = None) -> Tensor:
    """``x - tanh(x)``."""
    return apply1(_TANHSHRINK, x)


@public("paddle.nn.functional", usual=False, op=_SOFTSIGN)
def softsign(x: Tensor, name: str | None = None) -> Tensor:
    """``x / (1 + |x|)``."""
    return apply1(_SOFTSIGN, x)


@public("paddle.nn.functional")
def softplus(x: Tensor, beta: float = 1, threshold: float = 20, name: str | None = None) -> Tensor:
    """``log(1 + exp(beta*x)) / beta``, and x itself where ``beta*x`` exceeds ``threshold``."""
    return apply(_SOFTPLUS, (x,), (float(beta), float(threshold)))


@public("paddle.nn.functional", op=_LOG_SIGMOID)
def log_sigmoid(x: Tensor, name: str | None = None) -> Tensor:
    """``log(sigmoid(x))``."""
    return apply1(_LOG_SIGMOID, x)


logsigmoid = also(log_sigmoid, "logsigmoid", "paddle.nn.functional")


@public("paddle.nn.functional", usual=False)
def maxout(x: Tensor, groups: int, axis: int = 1, name: str | None = None) -> Tensor:
    """The largest of each ``groups`` neighbouring channels. Raises ValueError where they do not divide."""
    return apply(_MAXOUT[axis if axis >= 0 else axis + x.ndim], (x,), (groups,))


@public("paddle.nn.functional")
def glu(x: Tensor, axis: int = -1, name: str | None = None) -> Tensor:
    """The first half along ``axis`` times the sigmoid of the second.

    Raises:
        ValueError: an odd size along ``axis``.
    """
    return apply1(_GLU[axis if axis >= 0 else axis + x.ndim], x)


@public("paddle.nn.functional", usual=False)
def swiglu(x: Tensor, y: Tensor | None = None, name: str | None = None) -> Tensor:
    """``silu(x) * y``; without y, its two operands are the halves of x along the last dim.

    Example:
        >>> import paddle
        >>> paddle.nn.functional.swiglu(paddle.ones([3, 8])).shape
        [3, 4]
    """
    return apply1(_SWIGLU_PACKED[x.ndim - 1], x) if y is None else apply2(_SWIGLU, x, y)


@public("paddle.nn.functional", along=(_SOFTMAX, -1))
def softmax(x: Tensor, axis: int = -1, dtype: Any = None, name: str | None = None, out: Tensor | None = None) -> Tensor:
    """``exp(x)`` over its sum along ``axis``.

    Args:
        x: floating tensor.
        axis: the axis whose elements sum to 1.
        dtype: cast x to this dtype first.
        out: write the result into this tensor.

    Raises:
        TypeError: x is not floating and no dtype is given.
        IndexError: x has no such axis.

    Example:
        >>> import paddle
        >>> paddle.nn.functional.softmax(paddle.zeros([2])).tolist()
        [0.5, 0.5]
    """
    if dtype is not None:
        x = _cast(x, dtype)
    y = apply_axis(_SOFTMAX, x, axis)
    return _along_0d(_SOFTMAX, x) if y is None else y


softmax_ = inplace(softmax, "paddle.nn.functional")


@public("paddle.nn.functional", along=(_LOG_SOFTMAX, -1))
def log_softmax(x: Tensor, axis: int = -1, dtype: Any = None, name: str | None = None) -> Tensor:
    """The logarithm of :func:`softmax`, computed without forming it."""
    if dtype is not None:
        x = _cast(x, dtype)
    if axis < 0:
        axis += x.ndim or 1
    return apply1(_LOG_SOFTMAX[axis], x) if x.ndim else _along_0d(_LOG_SOFTMAX, x)


def _cast(x: Tensor, dtype: Any) -> Tensor:
    to = convert(dtype)
    return x if x.dtype is to else F.cast(x, dtype=to)


def _along_0d(records: Records, x: Tensor) -> Tensor:
    return F.reshape(apply1(records[0], F.reshape(x, shape=(1,))), shape=())


@public("paddle.nn.functional", usual=False)
def gumbel_softmax(
    x: Tensor, temperature: float = 1.0, hard: bool = False, axis: int = -1, name: str | None = None
) -> Tensor:
    """A sample near the corners of the simplex: ``softmax((x + gumbel noise) / temperature)``.

    With ``hard`` the value is one-hot while gradients are those of the soft sample.
    """
    noise = random_tensor(F.Gumbel, x.shape, x.dtype, place=x.place)
    soft = softmax(F.div(F.add(x, noise), float(temperature)), axis)
    if not hard:
        return soft
    axis = axis if axis >= 0 else axis + x.ndim
    top = F.argmax(soft, axis=axis, keepdim=True)
    zeros, ones = (made_on(x.place, F.full, v, x.dtype, tuple(s.shape)) for v, s in ((0.0, x), (1.0, top)))
    one = F.scatter_along(zeros, top, ones, axis=axis)
    return F.add(F.sub(one, soft.detach()), soft)


def _written(function: Any, x: Tensor, *args: Any) -> Tensor:
    """Write the result of the function into x; its gradient may need the old values of x."""
    return assign(x, call_before_overwrite(function, x, args, {}))
