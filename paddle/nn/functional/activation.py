"""Activations as functions."""

from __future__ import annotations

from typing import Any

from paddle._public import also, inplace, need_tensor, public
from paddle.nn._ops import random_apply, random_tensor
from paddle.tensor._args import InternedOps, axis_of, create_on
from umiak import ops as F
from umiak.core.dtype import convert
from umiak.core.eager import apply, apply1, apply2, apply_axis
from umiak.core.inplace import overwrite
from umiak.core.tensor import Tensor
from umiak.ir import sym as dim
from umiak.ir.sym import to_float
from umiak.util.errors import op_error

_CELU = F.Celu()
_ELU = F.Elu()
_GELU = InternedOps(F.Gelu)
_GLU = InternedOps(F.Glu)
_HARDSHRINK = F.Hardshrink()
_HARDSIGMOID = F.Hardsigmoid()
_HARDSWISH = F.Hardswish()
_HARDTANH = F.Hardtanh()
_LEAKY_RELU = F.LeakyRelu()
_LOG_SIGMOID = F.LogSigmoid()
_LOG_SOFTMAX = InternedOps(F.LogSoftmax)
_MAXOUT = InternedOps(F.Maxout)
_MISH = F.Mish()
_PRELU = F.Prelu()
_RELU = F.Relu()
_RELU6 = F.Relu6()
_RRELU = F.Rrelu()
_SELU = F.Selu()
_SILU = F.Silu()
_SOFTMAX = InternedOps(F.Softmax)
_SOFTPLUS = F.Softplus()
_SOFTSHRINK = F.Softshrink()
_SOFTSIGN = F.Softsign()
_SWIGLU = F.Swiglu()
_SWIGLU_PACKED = InternedOps(F.SwigluPacked)
_TANHSHRINK = F.Tanhshrink()
_THRESHOLDED_RELU = F.ThresholdedRelu()


@public("paddle.nn.functional", usual=False, op=_RELU)
def relu(x: Tensor, name: str | None = None) -> Tensor:
    """Rectified linear unit: ``max(x, 0)``.

    Args:
        x: floating tensor of any shape.

    Returns:
        Tensor of x's shape and dtype.

    Raises:
        TypeError: x is not floating.

    Example:
        >>> import paddle
        >>> paddle.nn.functional.relu(paddle.to_tensor([-1.0, 2.0])).tolist()
        [0.0, 2.0]
    """
    return apply1(_RELU, x)


relu_ = inplace(relu, "paddle.nn.functional")


@public("paddle.nn.functional", usual=False, op=_RELU6)
def relu6(x: Tensor, name: str | None = None) -> Tensor:
    """Rectified linear unit capped at 6: ``min(max(x, 0), 6)``.

    Args:
        x: floating tensor of any shape.

    Returns:
        Tensor of x's shape and dtype.

    Raises:
        TypeError: x is not floating.

    Example:
        >>> import paddle
        >>> paddle.nn.functional.relu6(paddle.to_tensor([-1.0, 2.0, 8.0])).tolist()
        [0.0, 2.0, 6.0]
    """
    return apply1(_RELU6, x)


@public("paddle.nn.functional", usual=False)
def elu(x: Tensor, alpha: float = 1.0, name: str | None = None) -> Tensor:
    """Exponential linear unit: x where it is positive, ``alpha * (exp(x) - 1)`` elsewhere.

    Args:
        x: floating tensor of any shape.
        alpha: the limit for very negative x is ``-alpha``.

    Returns:
        Tensor of x's shape and dtype.

    Raises:
        TypeError: x is not floating.

    Example:
        >>> import paddle
        >>> y = paddle.nn.functional.elu(paddle.to_tensor([-1.0, 2.0]))
        >>> [round(v, 4) for v in y.tolist()]
        [-0.6321, 2.0]
    """
    return apply(_ELU, (x,), (to_float(alpha),))


elu_ = inplace(elu, "paddle.nn.functional")


@public("paddle.nn.functional", usual=False)
def selu(
    x: Tensor, scale: float = 1.0507009873554805, alpha: float = 1.6732632423543772, name: str | None = None
) -> Tensor:
    """Scaled exponential linear unit: ``scale * elu(x, alpha)``.

    The default constants keep mean 0 and variance 1 from layer to layer.

    Args:
        x: floating tensor of any shape.
        scale: factor of the result, above 1.
        alpha: the limit for very negative x is ``-scale * alpha``; 0 or more.

    Returns:
        Tensor of x's shape and dtype.

    Raises:
        TypeError: x is not floating.
        ValueError: ``scale <= 1`` or ``alpha < 0``.

    References:
        Klambauer et al., Self-Normalizing Neural Networks, 2017.

    Example:
        >>> import paddle
        >>> y = paddle.nn.functional.selu(paddle.to_tensor([-1.0, 2.0]))
        >>> [round(v, 4) for v in y.tolist()]
        [-1.1113, 2.1014]
    """
    if scale <= 1.0 or alpha < 0:
        raise op_error(ValueError, "selu", "scale > 1 and alpha >= 0", f"{scale} and {alpha}")
    return apply(_SELU, (x,), (to_float(scale), to_float(alpha)))


@public("paddle.nn.functional", usual=False)
def celu(x: Tensor, alpha: float = 1.0, name: str | None = None) -> Tensor:
    """Continuous exponential linear unit: x where it is positive, ``alpha * (exp(x/alpha) - 1)`` elsewhere.

    Args:
        x: floating tensor of any shape.
        alpha: the limit for very negative x is ``-alpha``; not 0.

    Returns:
        Tensor of x's shape and dtype.

    Raises:
        TypeError: x is not floating.
        ZeroDivisionError: alpha is 0.

    Example:
        >>> import paddle
        >>> y = paddle.nn.functional.celu(paddle.to_tensor([-1.0, 2.0]), alpha=2.0)
        >>> [round(v, 4) for v in y.tolist()]
        [-0.7869, 2.0]
    """
    if alpha == 0:
        raise ZeroDivisionError("[celu] requires alpha other than 0, got 0")
    return apply(_CELU, (x,), (to_float(alpha),))


@public("paddle.nn.functional", op=_GELU[False], takes_out=True)
def gelu(x: Tensor, approximate: bool | str = False, name: str | None = None) -> Tensor:
    """Gaussian error linear unit: x times the probability that a standard normal number is below x.

    Args:
        x: floating tensor of any shape.
        approximate: True or ``"tanh"`` for ``x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 * x**3)))``; False or
            ``"none"`` for the exact value.

    Returns:
        Tensor of x's shape and dtype.

    Raises:
        TypeError: x is not floating.
        ValueError: ``approximate`` is something else.

    References:
        Hendrycks and Gimpel, Gaussian Error Linear Units, 2016.

    Example:
        >>> import paddle
        >>> y = paddle.nn.functional.gelu(paddle.to_tensor([-1.0, 0.0, 2.0]))
        >>> [round(v, 4) for v in y.tolist()]
        [-0.1587, 0.0, 1.9545]
    """
    if approximate is not True and approximate is not False:
        if approximate not in ("tanh", "none"):
            raise op_error(ValueError, "gelu", "approximate as a bool, 'tanh' or 'none'", repr(approximate))
        approximate = approximate == "tanh"
    return apply1(_GELU[approximate], x)


@public("paddle.nn.functional", op=_SILU)
def silu(x: Tensor, inplace: bool = False, name: str | None = None) -> Tensor:
    """Sigmoid linear unit: ``x * sigmoid(x)``.

    Args:
        x: floating or complex tensor of any shape.
        inplace: write the result into x, and return x.

    Returns:
        Tensor of x's shape and dtype.

    Raises:
        TypeError: x is neither floating nor complex.

    Example:
        >>> import paddle
        >>> y = paddle.nn.functional.silu(paddle.to_tensor([-1.0, 2.0]))
        >>> [round(v, 4) for v in y.tolist()]
        [-0.2689, 1.7616]
    """
    return _written(silu, x) if inplace else apply1(_SILU, x)


@public("paddle.nn.functional", usual=False, op=_SILU)
def swish(x: Tensor, name: str | None = None) -> Tensor:
    """Sigmoid linear unit under its other name: ``x * sigmoid(x)``.

    Args:
        x: floating or complex tensor of any shape.

    Returns:
        Tensor of x's shape and dtype.

    Raises:
        TypeError: x is neither floating nor complex.

    Example:
        >>> import paddle
        >>> y = paddle.nn.functional.swish(paddle.to_tensor([-1.0, 2.0]))
        >>> [round(v, 4) for v in y.tolist()]
        [-0.2689, 1.7616]
    """
    return apply1(_SILU, x)


@public("paddle.nn.functional", usual=False, op=_MISH)
def mish(x: Tensor, name: str | None = None) -> Tensor:
    """Mish activation: ``x * tanh(softplus(x))``.

    Args:
        x: floating tensor of any shape.

    Returns:
        Tensor of x's shape and dtype.

    Raises:
        TypeError: x is not floating.

    References:
        Misra, Mish: A Self Regularized Non-Monotonic Activation Function, 2019.

    Example:
        >>> import paddle
        >>> y = paddle.nn.functional.mish(paddle.to_tensor([-1.0, 2.0]))
        >>> [round(v, 4) for v in y.tolist()]
        [-0.3034, 1.944]
    """
    return apply1(_MISH, x)


@public("paddle.nn.functional", usual=False)
def leaky_relu(x: Tensor, negative_slope: float = 0.01, name: str | None = None) -> Tensor:
    """Leaky rectified linear unit: x where it is positive, ``negative_slope * x`` elsewhere.

    Args:
        x: floating tensor of any shape.
        negative_slope: slope of the negative part.

    Returns:
        Tensor of x's shape and dtype.

    Raises:
        TypeError: x is not floating.

    Example:
        >>> import paddle
        >>> paddle.nn.functional.leaky_relu(paddle.to_tensor([-2.0, 3.0]), 0.5).tolist()
        [-1.0, 3.0]
    """
    slope = negative_slope if type(negative_slope) is float else to_float(negative_slope)
    return apply(_LEAKY_RELU, (x,), (slope,))


leaky_relu_ = inplace(leaky_relu, "paddle.nn.functional")


@public("paddle.nn.functional", usual=False)
def prelu(x: Tensor, weight: Tensor, data_format: str = "NCHW", name: str | None = None) -> Tensor:
    """Parametric rectified linear unit: x where it is positive, ``weight * x`` elsewhere.

    Args:
        x: floating tensor of any shape.
        weight: tensor of x's dtype: ``[1]`` or ``[]``, ``[channels]`` with a slope for each channel, or any other that
            broadcasts to x.
        data_format: channels are the last dim for ``"NLC"``, ``"NHWC"`` and ``"NDHWC"``, dim 1 for ``"NC"``, ``"NCL"``,
            ``"NCHW"`` and ``"NCDHW"``.

    Returns:
        Tensor of x's shape and dtype.

    Raises:
        TypeError: the operands are not floating, or of different dtypes.
        ValueError: weight has another number of elements than 1 or the channels, or the format is unknown.

    References:
        He et al., Delving Deep into Rectifiers, 2015.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([[-2.0, -2.0]])
        >>> paddle.nn.functional.prelu(x, paddle.to_tensor([0.25, 0.5])).tolist()
        [[-0.5, -1.0]]
    """
    slopes = weight.shape[0] if weight.ndim == 1 else 1
    is_open = isinstance(slopes, dim.Sym) and not slopes.hinted
    if is_open or slopes != 1:
        last = data_format in ("NLC", "NHWC", "NDHWC")
        if not last and data_format not in ("NC", "NCL", "NCHW", "NCDHW"):
            need = "data_format 'NC', 'NCL', 'NCHW', 'NCDHW', 'NLC', 'NHWC' or 'NDHWC'"
            raise op_error(ValueError, "prelu", need, repr(data_format))
        axis = x.ndim - 1 if last else 1
        channels = x.shape[axis] if x.ndim > 1 else 1
        if not (dim.one_of(slopes, 1, channels) if is_open else dim.eq(channels, slopes)):
            raise op_error(
                ValueError,
                "prelu",
                f"a weight of 1 or {channels} elements" if x.ndim > 1 else "a weight of 1 element",
                slopes,
            )
        weight = F.reshape(weight, shape=(slopes, *(1,) * (x.ndim - 1 - axis)))
    elif x.ndim == 0 and weight.ndim == 1:
        weight = F.reshape(weight, shape=())
    return apply2(_PRELU, x, weight)


@public("paddle.nn.functional", usual=False)
def rrelu(
    x: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = True, name: str | None = None
) -> Tensor:
    """Randomized leaky rectified linear unit: x where it is positive, x times a random slope elsewhere.

    Args:
        x: floating tensor of any shape.
        lower: least slope, 0 or more.
        upper: greatest slope, at most 1.
        training: True draws a slope for each element evenly from ``lower`` to ``upper``; False takes their mean.

    Returns:
        Tensor of x's shape and dtype.

    Raises:
        TypeError: x is not floating.
        ValueError: not ``0 <= lower <= upper <= 1``.

    References:
        Xu et al., Empirical Evaluation of Rectified Activations in Convolutional Network, 2015.

    Example:
        >>> import paddle
        >>> paddle.nn.functional.rrelu(paddle.to_tensor([-4.0, 3.0]), 0.25, 0.75, training=False).tolist()
        [-2.0, 3.0]
    """
    if not 0 <= lower <= upper <= 1:
        raise op_error(ValueError, "rrelu", "0 <= lower <= upper <= 1", f"{lower} and {upper}")
    if not training:
        return leaky_relu(x, (lower + upper) / 2)
    return random_apply(_RRELU, x, to_float(lower), to_float(upper))


@public("paddle.nn.functional", usual=False)
def hardtanh(x: Tensor, min: float = -1.0, max: float = 1.0, name: str | None = None) -> Tensor:
    """Piecewise linear hyperbolic tangent: x limited to the range from ``min`` to ``max``.

    Args:
        x: floating tensor of any shape.
        min: least value of the result.
        max: greatest value of the result.

    Returns:
        Tensor of x's shape and dtype.

    Raises:
        TypeError: x is not floating.

    Example:
        >>> import paddle
        >>> paddle.nn.functional.hardtanh(paddle.to_tensor([-2.0, 0.5, 3.0])).tolist()
        [-1.0, 0.5, 1.0]
    """
    return apply(_HARDTANH, (x,), (to_float(min), to_float(max)))


hardtanh_ = inplace(hardtanh, "paddle.nn.functional")


@public("paddle.nn.functional", usual=False)
def hardsigmoid(x: Tensor, slope: float = 0.1666667, offset: float = 0.5, name: str | None = None) -> Tensor:
    """Piecewise linear sigmoid: ``slope * x + offset`` limited to the range from 0 to 1.

    Args:
        x: floating tensor of any shape.
        slope: factor of x.
        offset: result at 0.

    Returns:
        Tensor of x's shape and dtype.

    Raises:
        TypeError: x is not floating.

    Example:
        >>> import paddle
        >>> paddle.nn.functional.hardsigmoid(paddle.to_tensor([-4.0, 0.0, 4.0])).tolist()
        [0.0, 0.5, 1.0]
    """
    return apply(_HARDSIGMOID, (x,), (to_float(slope), to_float(offset)))


@public("paddle.nn.functional", usual=False)
def hardswish(x: Tensor, name: str | None = None) -> Tensor:
    """Piecewise quadratic swish: ``x * relu6(x + 3) / 6``.

    Args:
        x: floating tensor of any shape.

    Returns:
        Tensor of x's shape and dtype.

    Raises:
        TypeError: x is not floating.

    References:
        Howard et al., Searching for MobileNetV3, 2019.

    Example:
        >>> import paddle
        >>> paddle.nn.functional.hardswish(paddle.to_tensor([-1.5, 4.0])).tolist()
        [-0.375, 4.0]
    """
    return apply(_HARDSWISH, (x,), (6.0, 6.0, 3.0))


@public("paddle.nn.functional", aliases={"lambd": "threshold"})
def hardshrink(x: Tensor, threshold: float = 0.5, name: str | None = None) -> Tensor:
    """Hard shrinkage: 0 where ``-threshold <= x <= threshold``, x elsewhere.

    Args:
        x: floating tensor of any shape.
        threshold: half the width of the range that becomes 0.

    Returns:
        Tensor of x's shape and dtype.

    Raises:
        TypeError: x is not floating.

    Example:
        >>> import paddle
        >>> paddle.nn.functional.hardshrink(paddle.to_tensor([-1.0, 0.25, 2.0])).tolist()
        [-1.0, 0.0, 2.0]
    """
    return apply(_HARDSHRINK, (x,), (to_float(threshold),))


@public("paddle.nn.functional", aliases={"lambd": "threshold"})
def softshrink(x: Tensor, threshold: float = 0.5, name: str | None = None) -> Tensor:
    """Soft shrinkage: x moved towards 0 by ``threshold``, and 0 where it would pass 0.

    Args:
        x: floating tensor of any shape.
        threshold: how far x is moved, 0 or more.

    Returns:
        Tensor of x's shape and dtype.

    Raises:
        TypeError: x is not floating.
        ValueError: threshold is negative.

    Example:
        >>> import paddle
        >>> paddle.nn.functional.softshrink(paddle.to_tensor([-1.0, 0.25, 2.0])).tolist()
        [-0.5, 0.0, 1.5]
    """
    if threshold < 0:
        raise op_error(ValueError, "softshrink", "threshold >= 0", threshold)
    return apply(_SOFTSHRINK, (x,), (to_float(threshold),))


@public("paddle.nn.functional", usual=False)
def thresholded_relu(x: Tensor, threshold: float = 1.0, value: float = 0.0, name: str | None = None) -> Tensor:
    """Thresholded rectified linear unit: x where it exceeds ``threshold``, ``value`` elsewhere.

    Args:
        x: floating tensor of any shape.
        threshold: x has to be greater to be kept.
        value: the number in place of all others.

    Returns:
        Tensor of x's shape and dtype.

    Raises:
        TypeError: x is not floating.

    Example:
        >>> import paddle
        >>> paddle.nn.functional.thresholded_relu(paddle.to_tensor([0.5, 2.0])).tolist()
        [0.0, 2.0]
    """
    return apply(_THRESHOLDED_RELU, (x,), (to_float(threshold), to_float(value)))


thresholded_relu_ = inplace(thresholded_relu, "paddle.nn.functional")


@public("paddle.nn.functional", usual=False, op=_TANHSHRINK)
def tanhshrink(x: Tensor, name: str | None = None) -> Tensor:
    """Difference of x and its hyperbolic tangent: ``x - tanh(x)``.

    Args:
        x: floating tensor of any shape.

    Returns:
        Tensor of x's shape and dtype.

    Raises:
        TypeError: x is not floating.

    Example:
        >>> import paddle
        >>> y = paddle.nn.functional.tanhshrink(paddle.to_tensor([0.0, 2.0]))
        >>> [round(v, 4) for v in y.tolist()]
        [0.0, 1.036]
    """
    return apply1(_TANHSHRINK, x)


@public("paddle.nn.functional", usual=False, op=_SOFTSIGN)
def softsign(x: Tensor, name: str | None = None) -> Tensor:
    """Rational approximation of the sign: ``x / (1 + |x|)``.

    Args:
        x: floating or complex tensor of any shape.

    Returns:
        Tensor of x's shape and dtype.

    Raises:
        TypeError: x is neither floating nor complex.

    Example:
        >>> import paddle
        >>> paddle.nn.functional.softsign(paddle.to_tensor([-1.0, 3.0])).tolist()
        [-0.5, 0.75]
    """
    return apply1(_SOFTSIGN, x)


@public("paddle.nn.functional", takes_out=True)
def softplus(x: Tensor, beta: float = 1, threshold: float = 20, name: str | None = None) -> Tensor:
    """Smooth rectified linear unit: ``log(1 + exp(beta * x)) / beta``.

    Args:
        x: floating or complex tensor of any shape.
        beta: sharpness of the bend at 0; not 0.
        threshold: where ``beta * x`` exceeds it, the result is x itself.

    Returns:
        Tensor of x's shape and dtype.

    Raises:
        TypeError: x is neither floating nor complex.

    Example:
        >>> import paddle
        >>> y = paddle.nn.functional.softplus(paddle.to_tensor([0.0, 30.0]))
        >>> [round(v, 4) for v in y.tolist()]
        [0.6931, 30.0]
    """
    return apply(_SOFTPLUS, (x,), (to_float(beta), to_float(threshold)))


@public("paddle.nn.functional", op=_LOG_SIGMOID)
def log_sigmoid(x: Tensor, name: str | None = None) -> Tensor:
    """Logarithm of the sigmoid, ``-log(1 + exp(-x))``, without overflow.

    Args:
        x: floating or complex tensor of any shape.

    Returns:
        Tensor of x's shape and dtype.

    Raises:
        TypeError: x is neither floating nor complex.

    Example:
        >>> import paddle
        >>> y = paddle.nn.functional.log_sigmoid(paddle.to_tensor([-100.0, 0.0]))
        >>> [round(v, 4) for v in y.tolist()]
        [-100.0, -0.6931]
    """
    return apply1(_LOG_SIGMOID, x)


logsigmoid = also(log_sigmoid, "logsigmoid", "paddle.nn.functional")


@public("paddle.nn.functional", usual=False)
def maxout(x: Tensor, groups: int, axis: int = 1, name: str | None = None) -> Tensor:
    """Maximum over each ``groups`` neighbouring channels.

    Args:
        x: floating tensor of rank 4 with ``C`` channels along ``axis``.
        groups: how many channels become one; divides C.
        axis: the axis of the channels; negative counts from the end.

    Returns:
        Tensor of x's shape with ``C / groups`` channels, and of its dtype.

    Raises:
        TypeError: x is not floating.
        ValueError: x is of another rank than 4, or groups does not divide the channels.
        IndexError: x has no such axis.

    References:
        Goodfellow et al., Maxout Networks, 2013.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([1.0, 5.0, 4.0, 2.0]).reshape([1, 4, 1, 1])
        >>> paddle.nn.functional.maxout(x, 2).flatten().tolist()
        [5.0, 4.0]
    """
    if need_tensor(x, "maxout").ndim != 4:
        raise op_error(ValueError, "maxout", "an x of rank 4", f"one of rank {x.ndim}")
    return apply(_MAXOUT[axis_of(axis, x.ndim, "maxout")], (x,), (groups,))


@public("paddle.nn.functional")
def glu(x: Tensor, axis: int = -1, name: str | None = None) -> Tensor:
    """Gated linear unit: the first half of x along ``axis`` times the sigmoid of the second half.

    Args:
        x: floating tensor of even size along ``axis``.
        axis: the axis to halve; negative counts from the end.

    Returns:
        Tensor of x's dtype, and of its shape with half the size along ``axis``.

    Raises:
        TypeError: x is not floating.
        ValueError: the size along ``axis`` is odd.
        IndexError: x has no such axis.

    References:
        Dauphin et al., Language Modeling with Gated Convolutional Networks, 2017.

    Example:
        >>> import paddle
        >>> paddle.nn.functional.glu(paddle.to_tensor([[3.0, 4.0, 0.0, 0.0]])).tolist()
        [[1.5, 2.0]]
    """
    try:
        if type(axis) is not int:
            axis = axis_of(axis, x.ndim, "glu")
        return apply1(_GLU[axis if axis >= 0 else axis + x.ndim], x)
    except (AttributeError, IndexError):
        axis_of(axis, need_tensor(x, "glu").ndim, "glu")
        raise


@public("paddle.nn.functional paddle.incubate.nn.functional", usual=False)
def swiglu(x: Tensor, y: Tensor | None = None, name: str | None = None) -> Tensor:
    """Gated linear unit with swish as its gate: ``silu(x) * y``.

    Args:
        x: floating tensor; without y, its last dim holds both operands, x first, and has an even size.
        y: tensor of x's shape and dtype, or None.

    Returns:
        Tensor of x's dtype and shape; without y, with half the size along the last dim.

    Raises:
        TypeError: the operands are not floating, or of different dtypes.
        ValueError: the shapes of x and y do not fit; without y, the last dim has an odd size.

    References:
        Shazeer, GLU Variants Improve Transformer, 2020.

    Example:
        >>> import paddle
        >>> paddle.nn.functional.swiglu(paddle.ones([3, 8])).shape
        paddle.Size([3, 4])
    """
    try:
        return apply1(_SWIGLU_PACKED[x.ndim - 1], x) if y is None else apply2(_SWIGLU, x, y)
    except AttributeError:
        need_tensor(x, "swiglu")
        raise


@public("paddle.nn.functional", along=(_SOFTMAX, -1))
def softmax(
    x: Tensor, axis: int = -1, dtype: Any = None, name: str | None = None, *, out: Tensor | None = None
) -> Tensor:
    """Softmax along ``axis``: ``exp(x)`` over its sum.

    Args:
        x: floating tensor of any shape.
        axis: the axis whose elements sum to 1, an int or a tensor of one; negative counts from the end.
        dtype: x is cast to this dtype first; integers need it.
        out: tensor of the result's shape and dtype, written and returned.

    Returns:
        Tensor of x's shape, and of ``dtype`` or x's dtype.

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
    try:
        y = apply_axis(_SOFTMAX, x, axis)
    except (TypeError, IndexError) as error:
        return apply1(_SOFTMAX[_other_axis(x, axis, "softmax", error)], x)
    return _along_0d(_SOFTMAX, x, axis, "softmax") if y is None else y


softmax_ = inplace(softmax, "paddle.nn.functional")


@public("paddle.nn.functional", along=(_LOG_SOFTMAX, -1))
def log_softmax(x: Tensor, axis: int = -1, dtype: Any = None, name: str | None = None) -> Tensor:
    """Logarithm of :func:`softmax` along ``axis``, without underflow.

    Args:
        x: floating tensor of any shape.
        axis: the axis whose exponentials sum to 1, an int or a tensor of one; negative counts from the end.
        dtype: x is cast to this dtype first; integers need it.

    Returns:
        Tensor of x's shape, and of ``dtype`` or x's dtype.

    Raises:
        TypeError: x is not floating and no dtype is given.
        IndexError: x has no such axis.

    Example:
        >>> import paddle
        >>> paddle.nn.functional.log_softmax(paddle.to_tensor([1000.0, 0.0])).tolist()
        [0.0, -1000.0]
    """
    if dtype is not None:
        x = _cast(x, dtype)
    try:
        ndim = x.ndim
        if ndim:
            return apply1(_LOG_SOFTMAX[axis + ndim if axis < 0 else axis], x)
    except (AttributeError, TypeError, IndexError) as error:
        return apply1(_LOG_SOFTMAX[_other_axis(x, axis, "log_softmax", error)], x)
    return _along_0d(_LOG_SOFTMAX, x, axis, "log_softmax")


def _other_axis(x: Any, axis: Any, op: str, error: Exception) -> int:
    """The axis that a tensor says, counted from the front; what it is not, or another ``error``, is raised."""
    at = axis_of(axis, need_tensor(x, op).ndim, op)
    if type(axis) is int:
        raise error
    return at


def _cast(x: Tensor, dtype: Any) -> Tensor:
    to = convert(dtype)
    try:
        return x if x.dtype is to else F.cast(x, dtype=to)
    except AttributeError:
        need_tensor(x, "softmax")
        raise


def _along_0d(ops: InternedOps, x: Tensor, axis: int, op: str) -> Tensor:
    axis_of(axis, 1, op)
    return F.reshape(apply1(ops[0], F.reshape(x, shape=(1,))), shape=())


@public("paddle.nn.functional", usual=False)
def gumbel_softmax(
    x: Tensor, temperature: float = 1.0, hard: bool = False, axis: int = -1, name: str | None = None
) -> Tensor:
    """Random sample near the corners of the simplex: ``softmax((x + noise) / temperature)`` with Gumbel noise.

    Args:
        x: floating tensor: logarithms of probabilities, up to a constant.
        temperature: above 0; the smaller, the closer to one-hot.
        hard: True makes the result one-hot, at the largest element, while gradients are those of the soft sample.
        axis: the axis whose elements sum to 1; negative counts from the end.

    Returns:
        Tensor of x's shape and dtype.

    Raises:
        TypeError: x is not floating.
        ValueError: temperature is 0 or below.
        IndexError: x has no such axis.

    References:
        Jang et al., Categorical Reparameterization with Gumbel-Softmax, 2017.

    Example:
        >>> import paddle
        >>> sample = paddle.nn.functional.gumbel_softmax(paddle.to_tensor([0.0, 100.0]), hard=True)
        >>> sample.tolist()
        [0.0, 1.0]
    """
    temperature = float(temperature)
    if not temperature > 0:
        raise op_error(ValueError, "gumbel_softmax", "temperature > 0", temperature)
    try:
        noise = random_tensor(F.Gumbel, x.shape, x.dtype, place=x.place)
    except AttributeError:
        need_tensor(x, "gumbel_softmax")
        raise
    soft = softmax(F.div(F.add(x, noise), temperature), axis)
    if not hard:
        return soft
    axis = axis if axis >= 0 else axis + x.ndim
    top = F.argmax(soft, axis=axis, keepdim=True)
    zeros, ones = (create_on(x.place, F.full, v, x.dtype, tuple(s.shape)) for v, s in ((0.0, x), (1.0, top)))
    one = F.scatter_along(zeros, top, ones, axis=axis)
    return F.add(F.sub(one, soft.detach()), soft)


def _written(function: Any, x: Tensor, *args: Any) -> Tensor:
    """Write the result of the function into x; its gradient may need the old values of x."""
    return overwrite(function, x, args, {})
