"""Normalisations of language models: a bias and a residual are added first, 8-bit levels may come last."""

from __future__ import annotations

import math

from paddle._public import need_tensor, public
from paddle.incubate.nn.functional._levels import as_levels
from paddle.tensor._args import InternedOps, axis_of, create_on, real_number
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.eager import apply
from umiak.core.tensor import Tensor
from umiak.ir import sym as dim
from umiak.ops.promotion import cast
from umiak.util.errors import op_error

_LAYER = InternedOps(F.LayerNorm)
_RMS = InternedOps(F.RmsNorm)


def _need_floating(op_name: str, x: Tensor, arg_name: str = "x") -> None:
    if not need_tensor(x, op_name, arg_name).dtype.is_floating:
        raise op_error(TypeError, op_name, f"a floating {arg_name}", x.dtype.name)


def _fitted(op_name: str, v: Tensor | None, x: Tensor, axis: int, arg_name: str) -> Tensor | None:
    """A tensor of the sizes of x from ``axis`` on; it may be flat."""
    if v is None:
        return None
    own, count = tuple(x.shape[axis:]), math.prod(x.shape[axis:])
    flat = need_tensor(v, op_name, arg_name).ndim == 1
    if not (len(v.shape) == len(own) and all(map(dim.eq, v.shape, own))):
        if not (flat and dim.eq(v.shape[0], count)):
            raise op_error(ValueError, op_name, f"{arg_name} of shape {own} or [{count}]", list(v.shape))
        v = F.reshape(v, shape=own)
    return cast(v, dt.float64) if x.dtype is dt.float64 and v.dtype is dt.float32 else v


def _summed(op_name: str, x: Tensor, bias: Tensor | None, residual: Tensor | None, alpha: float, axis: int) -> Tensor:
    """``x + bias + alpha * residual``."""
    bias = _fitted(op_name, bias, x, axis, "bias")
    if bias is not None:
        x = F.add(x, cast(bias, x.dtype))
    if residual is None:
        return x
    if len(need_tensor(residual, op_name, "residual").shape) != x.ndim or not all(map(dim.eq, residual.shape, x.shape)):
        raise op_error(ValueError, op_name, "a residual of x's shape", f"{list(residual.shape)} and {list(x.shape)}")
    residual, alpha = cast(residual, x.dtype), real_number(alpha, op_name, "residual_alpha")
    return F.add(x, residual if alpha == 1.0 else F.mul(residual, alpha))


def _nothing(x: Tensor) -> Tensor:
    """An empty tensor, which stands for the sum where no residual was given."""
    return create_on(x.place, F.full, 0.0, x.dtype, (0,))


def _rows(v: Tensor) -> Tensor:
    """One number of each normalised row, as a vector."""
    return F.reshape(v, shape=(math.prod(v.shape),))


def _inverse_deviation(squares: Tensor, epsilon: float) -> Tensor:
    return _rows(F.rsqrt(F.add(squares, epsilon)))


@public("paddle.incubate.nn.functional", usual=False)
def fused_rms_norm(
    x: Tensor,
    norm_weight: Tensor,
    norm_bias: Tensor | None,
    epsilon: float,
    begin_norm_axis: int = 1,
    bias: Tensor | None = None,
    residual: Tensor | None = None,
    quant_scale: float = -1,
    quant_round_type: int = 0,
    quant_max_bound: float = 0,
    quant_min_bound: float = 0,
) -> tuple[Tensor, Tensor]:
    """Root mean square normalisation of ``z = x + bias + residual``: z over ``sqrt(mean(z²) + epsilon)``, then affine
    by norm_weight and norm_bias.

    Args:
        x: floating tensor.
        norm_weight: tensor of the sizes of x from ``begin_norm_axis`` on, or flat; of x's dtype or float32.
        norm_bias: tensor of that shape, added last; None for zeros.
        epsilon: added to the mean of squares.
        begin_norm_axis: the first axis that the mean is taken over; negative counts from the end.
        bias: tensor of norm_weight's shape, added to x, or None.
        residual: tensor of x's shape, added to x, or None.
        quant_scale: above 0, the result is ``quant_max_bound * quant_scale`` times what it would be, clipped to the
            bounds.
        quant_round_type: of int8 levels, 0 rounds ties to even, 1 away from 0.
        quant_max_bound: 448 for levels of float8_e4m3fn, up to 127 for those of int8.
        quant_min_bound: the lowest level.

    Returns:
        Tensor of x's shape, of x's dtype or that of levels; and the sum of x, bias and residual, in x's dtype, which is
        empty without a residual.

    Raises:
        TypeError: x is not floating.
        ValueError: a shape that does not fit, an axis that x does not have, or bounds that name no dtype.

    Note:
        The reference leaves out a bias without a residual on a CPU.

    References:
        Zhang and Sennrich, Root Mean Square Layer Normalization, 2019.

    Example:
        >>> import paddle
        >>> from paddle.incubate.nn.functional import fused_rms_norm
        >>> x = paddle.to_tensor([[1.0, -1.0]])
        >>> y, total = fused_rms_norm(x, paddle.ones([2]), None, 0.0, residual=x)
        >>> y.tolist(), total.tolist()
        ([[1.0, -1.0]], [[2.0, -2.0]])
    """
    op_name = "fused_rms_norm"
    _need_floating(op_name, x)
    axis = axis_of(begin_norm_axis, x.ndim, op_name)
    epsilon = real_number(epsilon, op_name, "epsilon")
    total = _summed(op_name, x, bias, residual, 1.0, axis)
    weight = _fitted(op_name, norm_weight, x, axis, "norm_weight")
    y = apply(_RMS[axis], (total, weight, _fitted(op_name, norm_bias, x, axis, "norm_bias")), (epsilon,))
    y = as_levels(op_name, y, quant_scale, quant_round_type, quant_max_bound, quant_min_bound)
    return y, _nothing(x) if residual is None else total


@public("paddle.incubate.nn.functional", usual=False)
def fused_rms_norm_ext(
    x: Tensor, scale: Tensor, epsilon: float = 1e-5, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Root mean square normalisation over the last dim, ``x / sqrt(mean(x²) + epsilon) * scale``, with its factors.

    Args:
        x: floating tensor ``[*, n]``.
        scale: tensor ``[n]`` of x's dtype or float32.
        epsilon: added to the mean of squares.

    Returns:
        Tensor of x's shape and dtype, and a vector of ``1 / sqrt(mean(x²) + epsilon)`` of each row, in float32 (float64
        for float64).

    Raises:
        TypeError: x is not floating.
        ValueError: x is 0-d, or scale has another size.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([[2.0, -2.0]])
        >>> y, factors = paddle.incubate.nn.functional.fused_rms_norm_ext(x, paddle.ones([2]), epsilon=0.0)
        >>> y.tolist(), factors.tolist()
        ([[1.0, -1.0]], [0.5])
    """
    return _rms_with_factors("fused_rms_norm_ext", x, scale, epsilon)


@public("paddle.incubate.nn.functional", usual=False)
def fast_rms_norm(x: Tensor, scale: Tensor, epsilon: float = 1e-5) -> tuple[Tensor, Tensor]:
    """Root mean square normalisation over the last dim; see :func:`fused_rms_norm_ext`, of which it is a second name.

    Args:
        x: floating tensor ``[*, n]``.
        scale: tensor ``[n]`` of x's dtype or float32.
        epsilon: added to the mean of squares.

    Returns:
        Tensor of x's shape and dtype, and a vector of ``1 / sqrt(mean(x²) + epsilon)`` of each row.

    Raises:
        TypeError: x is not floating.
        ValueError: x is 0-d, or scale has another size.

    Example:
        >>> import paddle
        >>> y, _ = paddle.incubate.nn.functional.fast_rms_norm(paddle.to_tensor([[3.0, -3.0]]), paddle.ones([2]))
        >>> y.round(decimals=3).tolist()
        [[1.0, -1.0]]
    """
    return _rms_with_factors("fast_rms_norm", x, scale, epsilon)


def _rms_with_factors(op_name: str, x: Tensor, scale: Tensor, epsilon: float) -> tuple[Tensor, Tensor]:
    _need_floating(op_name, x)
    axis = axis_of(-1, x.ndim, op_name)
    epsilon = real_number(epsilon, op_name, "epsilon")
    weight = _fitted(op_name, need_tensor(scale, op_name, "scale"), x, axis, "scale")
    wide = cast(x, x.dtype.compute)
    factors = _inverse_deviation(F.mean(F.mul(wide, wide), axes=(axis,)), epsilon)
    return apply(_RMS[axis], (x, weight, None), (epsilon,)), factors


@public("paddle.incubate.nn.functional", usual=False)
def fused_layer_norm(
    x: Tensor,
    norm_weight: Tensor | None,
    norm_bias: Tensor | None,
    epsilon: float,
    residual_alpha: float = 1.0,
    begin_norm_axis: int = 1,
    bias: Tensor | None = None,
    residual: Tensor | None = None,
    quant_scale: float = -1,
    quant_round_type: int = 0,
    quant_max_bound: float = 0,
    quant_min_bound: float = 0,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Layer normalisation of ``x + bias + residual_alpha * residual``.

    Without norm_weight and norm_bias, the result is that sum itself.

    Args:
        x: floating tensor.
        norm_weight: tensor of the sizes of x from ``begin_norm_axis`` on, or flat; of x's dtype or float32; None for
            ones.
        norm_bias: tensor of that shape, added last; None for zeros.
        epsilon: added to the variance.
        residual_alpha: factor of the residual.
        begin_norm_axis: the first axis that mean and variance are taken over; negative counts from the end.
        bias: tensor of norm_weight's shape, added to x, or None.
        residual: tensor of x's shape, or None.
        quant_scale: above 0, the result is ``quant_max_bound * quant_scale`` times what it would be, clipped to the
            bounds. A sum that is not normalised is not quantised.
        quant_round_type: of int8 levels, 0 rounds ties to even, 1 away from 0.
        quant_max_bound: 448 for levels of float8_e4m3fn, up to 127 for those of int8.
        quant_min_bound: the lowest level.

    Returns:
        Tensor of x's shape, of x's dtype or that of levels; the sum, in x's dtype, which is empty without a residual;
        and of each row of the sum, in float32 (float64 for float64), its mean and ``1 / sqrt(variance + epsilon)``.

    Raises:
        TypeError: x is not floating.
        ValueError: a shape that does not fit, an axis that x does not have, or bounds that name no dtype.

    Note:
        The reference leaves out a bias without a residual on a CPU, unless nothing is normalised.

    References:
        Ba, Kiros and Hinton, Layer Normalization, 2016.

    Example:
        >>> import paddle
        >>> from paddle.incubate.nn.functional import fused_layer_norm
        >>> x = paddle.to_tensor([[1.0, 3.0]])
        >>> y, total, mean, factor = fused_layer_norm(x, paddle.ones([2]), None, 0.0, residual=x)
        >>> y.tolist(), total.tolist(), mean.tolist(), factor.tolist()
        ([[-1.0, 1.0]], [[2.0, 6.0]], [4.0], [0.5])
    """
    op_name = "fused_layer_norm"
    _need_floating(op_name, x)
    axis = axis_of(begin_norm_axis, x.ndim, op_name)
    epsilon = real_number(epsilon, op_name, "epsilon")
    total = _summed(op_name, x, bias, residual, residual_alpha, axis)
    mean, factors = _moments(total, axis, epsilon)
    if norm_weight is None and norm_bias is None:
        y = F.copy(total)
    else:
        weight, shift = (
            _fitted(op_name, v, x, axis, name) for v, name in ((norm_weight, "norm_weight"), (norm_bias, "norm_bias"))
        )
        y = apply(_LAYER[axis], (total, weight, shift), (epsilon,))
        y = as_levels(op_name, y, quant_scale, quant_round_type, quant_max_bound, quant_min_bound)
    return y, _nothing(x) if residual is None else total, mean, factors


def _moments(x: Tensor, axis: int, epsilon: float) -> tuple[Tensor, Tensor]:
    """The mean of each row, and one over its standard deviation."""
    wide, axes = cast(x, x.dtype.compute), tuple(range(axis, x.ndim))
    return _rows(F.mean(wide, axes=axes)), _inverse_deviation(F.var(wide, axes=axes, correction=0.0), epsilon)


@public("paddle.incubate.nn.functional", usual=False)
def fast_ln(x: Tensor, scale: Tensor, bias: Tensor, epsilon: float = 1e-5) -> tuple[Tensor, Tensor, Tensor]:
    """Layer normalisation over the last dim, ``(x - mean) / sqrt(variance + epsilon) * scale + bias``, with its
    moments.

    Args:
        x: floating tensor ``[*, n]``.
        scale: tensor ``[n]`` of x's dtype or float32.
        bias: tensor ``[n]`` of x's dtype or float32.
        epsilon: added to the variance.

    Returns:
        Tensor of x's shape and dtype; and vectors of each row's mean and ``1 / sqrt(variance + epsilon)``, in float32
        (float64 for float64).

    Raises:
        TypeError: x is not floating.
        ValueError: x is 0-d, or scale or bias have another size.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([[1.0, 3.0]])
        >>> y, mean, _ = paddle.incubate.nn.functional.fast_ln(x, paddle.ones([2]), paddle.zeros([2]), 0.0)
        >>> y.tolist(), mean.tolist()
        ([[-1.0, 1.0]], [2.0])
    """
    op_name = "fast_ln"
    _need_floating(op_name, x)
    axis = axis_of(-1, x.ndim, op_name)
    epsilon = real_number(epsilon, op_name, "epsilon")
    weight, shift = (
        _fitted(op_name, need_tensor(v, op_name, name), x, axis, name) for v, name in ((scale, "scale"), (bias, "bias"))
    )
    return apply(_LAYER[axis], (x, weight, shift), (epsilon,)), *_moments(x, axis, epsilon)
