"""Mathematics beside the plain functions of one and two operands: scaling, clipping, scans, sums, sequences."""

from __future__ import annotations

import builtins
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from paddle._public import also, inplace, public
from paddle.tensor._args import (
    AxisError,
    axis_of,
    cast,
    default_float,
    dtype_of,
    floating,
    floats,
    made_on,
    need_tensor,
    number,
    op_error,
    reduced_axes,
    same_dtype,
    tensor,
)
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.dispatch import apply1, apply_reduce, reduction_key
from umiak.core.tensor import Tensor

# --- reductions ----------------------------------------------------------------------------------------------------

_SUMS: dict[Any, Any] = {}
_MEANS: dict[Any, Any] = {}


def _reducer(cls: type, table: dict, x: Tensor, axis: Any, keepdim: bool, op: str) -> Any:
    """The interned op for these axes; kept where ``apply_reduce`` finds it, unless they are a list."""
    found = cls(reduced_axes(axis, x.ndim, op), builtins.bool(keepdim))
    key = reduction_key(x, axis, keepdim)
    if key >= 0:
        table[key] = found
    return found


@public(reduction=_SUMS)
def sum(
    x: Tensor,
    axis: Any = None,
    dtype: Any = None,
    keepdim: bool = False,
    name: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The sum of elements.

    Args:
        x: a tensor. bool and int32 are summed in int64.
        axis: one axis or several; all for None.
        dtype: cast to before summing.
        keepdim: whether reduced dims stay, as size 1.
        out: a tensor that is written instead.

    Raises ValueError for an axis that x lacks.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> float(x.sum()), x.sum(0).tolist()
        (10.0, [4.0, 6.0])
    """
    if dtype is None and (y := apply_reduce(_SUMS, x, axis, keepdim)) is not None:
        return y
    if not isinstance(x, Tensor):
        need_tensor(x, "sum")
    d = x.dtype
    if dtype is not None:
        x = cast(x, dtype_of(dtype))
    elif d is dt.bool or d is dt.int32:
        x = F.cast(x, dtype=dt.int64)
    return apply1(_reducer(F.Sum, _SUMS, x, axis, keepdim, "sum"), x)


@public(reduction=_MEANS)
def mean(
    x: Tensor,
    axis: Any = None,
    keepdim: bool = False,
    name: str | None = None,
    *,
    dtype: Any = None,
    out: Tensor | None = None,
) -> Tensor:
    """The mean of elements.

    Args:
        x: a tensor; of integers the mean is truncated to an integer.
        axis: one axis or several; all for None.
        keepdim: whether reduced dims stay, as size 1.
        dtype: cast to first.
        out: a tensor that is written instead.

    Example:
        >>> import paddle
        >>> float(paddle.mean(paddle.to_tensor([1.0, 2.0])))
        1.5
    """
    if dtype is not None:
        x = cast(need_tensor(x, "mean"), dtype_of(dtype))
    if (y := apply_reduce(_MEANS, x, axis, keepdim)) is not None:
        return y
    if not isinstance(x, Tensor):
        need_tensor(x, "mean")
    if not (x.dtype.is_floating or x.dtype.is_complex):
        return cast(mean(F.cast(x, dtype=dt.float64), axis, keepdim), x.dtype)
    return apply1(_reducer(F.Mean, _MEANS, x, axis, keepdim, "mean"), x)


_TABLES: defaultdict[type, dict[Any, Any]] = defaultdict(dict)


def _reduced(cls: type, x: Tensor, axis: Any, keepdim: bool, op: str) -> Tensor:
    need_tensor(x, op)
    table = _TABLES[cls]
    y = apply_reduce(table, x, axis, keepdim)
    return apply1(_reducer(cls, table, x, axis, keepdim, op), x) if y is None else y


def _to_bool(x: Any, op: str) -> Tensor:
    return x if need_tensor(x, op).dtype.is_bool else F.ne(x, 0)


@public
def all(
    x: Tensor, axis: Any = None, keepdim: bool = False, name: str | None = None, *, out: Tensor | None = None
) -> Tensor:
    """Whether no element is zero.

    Args:
        x: a tensor.
        axis: one axis or several; all for None.
        keepdim: whether reduced dims stay, as size 1.
        out: a tensor that is written instead.

    Raises ValueError for an axis that x lacks.

    Example:
        >>> import paddle
        >>> bool(paddle.all(paddle.to_tensor([True, False])))
        False
    """
    return _reduced(F.All, _to_bool(x, "all"), axis, keepdim, "all")


@public
def any(
    x: Tensor, axis: Any = None, keepdim: bool = False, name: str | None = None, *, out: Tensor | None = None
) -> Tensor:
    """Whether some element is not zero.

    Args:
        x: a tensor.
        axis: one axis or several; all for None.
        keepdim: whether reduced dims stay, as size 1.
        out: a tensor that is written instead.

    Raises ValueError for an axis that x lacks.

    Example:
        >>> import paddle
        >>> bool(paddle.any(paddle.to_tensor([True, False])))
        True
    """
    return _reduced(F.Any, _to_bool(x, "any"), axis, keepdim, "any")


@public(reduction=_TABLES[F.Max])
def amax(
    x: Tensor, axis: Any = None, keepdim: bool = False, name: str | None = None, *, out: Tensor | None = None
) -> Tensor:
    """The largest element; ties share the gradient.

    Args:
        x: a tensor.
        axis: one axis or several; all for None.
        keepdim: whether reduced dims stay, as size 1.
        out: a tensor that is written instead.

    Raises ValueError for an axis that x lacks.

    Example:
        >>> import paddle
        >>> float(paddle.amax(paddle.to_tensor([1.0, 3.0])))
        3.0
    """
    return _reduced(F.Max, x, axis, keepdim, "amax")


@public(reduction=_TABLES[F.Min])
def amin(
    x: Tensor, axis: Any = None, keepdim: bool = False, name: str | None = None, *, out: Tensor | None = None
) -> Tensor:
    """The smallest element; ties share the gradient.

    Args:
        x: a tensor.
        axis: one axis or several; all for None.
        keepdim: whether reduced dims stay, as size 1.
        out: a tensor that is written instead.

    Raises ValueError for an axis that x lacks.

    Example:
        >>> import paddle
        >>> float(paddle.amin(paddle.to_tensor([1.0, 3.0])))
        1.0
    """
    return _reduced(F.Min, x, axis, keepdim, "amin")


# `input` and `dim` belong to another framework's max, which also returns indices: paddle.compat.max.
@public(usual=False, reduction=_TABLES[F.Max])
def max(x: Tensor, axis: Any = None, keepdim: bool = False, name: str | None = None) -> Tensor:
    """The largest element.

    Args:
        x: a tensor.
        axis: one axis or several; all for None.
        keepdim: whether reduced dims stay, as size 1.

    Raises ValueError for an axis that x lacks.

    Example:
        >>> import paddle
        >>> float(paddle.max(paddle.to_tensor([1.0, 3.0])))
        3.0
    """
    return _reduced(F.Max, x, axis, keepdim, "max")


@public(usual=False, reduction=_TABLES[F.Min])
def min(x: Tensor, axis: Any = None, keepdim: bool = False, name: str | None = None) -> Tensor:
    """The smallest element.

    Args:
        x: a tensor.
        axis: one axis or several; all for None.
        keepdim: whether reduced dims stay, as size 1.

    Raises ValueError for an axis that x lacks.

    Example:
        >>> import paddle
        >>> float(paddle.min(paddle.to_tensor([1.0, 3.0])))
        1.0
    """
    return _reduced(F.Min, x, axis, keepdim, "min")


@public("paddle paddle.tensor paddle.special Tensor")
def logsumexp(
    x: Tensor, axis: Any = None, keepdim: bool = False, name: str | None = None, *, out: Tensor | None = None
) -> Tensor:
    """log(sum(exp(x))), without overflow.

    Args:
        x: a tensor.
        axis: one axis or several; all for None.
        keepdim: whether reduced dims stay, as size 1.
        out: a tensor that is written instead.

    Raises ValueError for an axis that x lacks.

    Example:
        >>> import paddle
        >>> round(float(paddle.logsumexp(paddle.zeros([2]))), 4)
        0.6931
    """
    return _reduced(F.Logsumexp, floats(x, "logsumexp"), axis, keepdim, "logsumexp")


@public(reduction=_TABLES[F.CountNonzero])
def count_nonzero(x: Tensor, axis: Any = None, keepdim: bool = False, name: str | None = None) -> Tensor:
    """How many elements are not zero, in int64.

    Args:
        x: a tensor.
        axis: one axis or several; all for None.
        keepdim: whether reduced dims stay, as size 1.

    Raises ValueError for an axis that x lacks.

    Example:
        >>> import paddle
        >>> int(paddle.count_nonzero(paddle.to_tensor([0, 5])))
        1
    """
    return _reduced(F.CountNonzero, x, axis, keepdim, "count_nonzero")


@public
def nanmean(x: Tensor, axis: Any = None, keepdim: bool = False, name: str | None = None) -> Tensor:
    """The mean of the elements that are not NaN.

    Args:
        x: a tensor.
        axis: one axis or several; all for None.
        keepdim: whether reduced dims stay, as size 1.

    Raises ValueError for an axis that x lacks.

    Example:
        >>> import paddle
        >>> float(paddle.nanmean(paddle.to_tensor([1.0, float('nan')])))
        1.0
    """
    return _reduced(F.Nanmean, floats(x, "nanmean"), axis, keepdim, "nanmean")


@public
def nansum(x: Tensor, axis: Any = None, dtype: Any = None, keepdim: bool = False, name: str | None = None) -> Tensor:
    """The sum of the elements that are not NaN; arguments as for :func:`sum`.

    Example:
        >>> import paddle
        >>> float(paddle.nansum(paddle.to_tensor([1.0, float("nan")])))
        1.0
    """
    need_tensor(x, "nansum")
    if not (x.dtype.is_floating or x.dtype.is_complex):
        return sum(x, axis, dtype, keepdim)
    if dtype is not None:
        x = cast(x, dtype_of(dtype))
    return F.nansum(x, reduced_axes(axis, x.ndim, "nansum"), keepdim=builtins.bool(keepdim))


@public
def prod(
    x: Tensor, axis: Any = None, keepdim: bool = False, dtype: Any = None, out: Any = None, name: str | None = None
) -> Tensor:
    """The product of elements.

    Args:
        x: a tensor.
        axis: one axis or several; all for None.
        keepdim: whether reduced dims stay, as size 1.
        dtype: cast to first.

    Example:
        >>> import paddle
        >>> float(paddle.prod(paddle.to_tensor([2.0, 3.0])))
        6.0
    """
    need_tensor(x, "prod")
    if dtype is not None:
        x = cast(x, dtype_of(dtype))
    return F.prod(x, reduced_axes(axis, x.ndim, "prod"), keepdim=builtins.bool(keepdim))


@public(usual=False)
def reduce_as(x: Tensor, target: Tensor, name: str | None = None) -> Tensor:
    """``x`` summed down to the shape of ``target``, which must broadcast to that of x.

    Example:
        >>> import paddle
        >>> paddle.reduce_as(paddle.ones([2, 3]), paddle.ones([3])).tolist()
        [2.0, 2.0, 2.0]
    """
    return F.sum_to(need_tensor(x, "reduce_as"), tuple(need_tensor(target, "reduce_as", "target").shape))


@public
def add_n(inputs: Any, name: str | None = None) -> Tensor:
    """The sum of a list of tensors of one shape and dtype; of one tensor, a copy.

    Example:
        >>> import paddle
        >>> paddle.add_n([paddle.ones([2]), paddle.ones([2])]).tolist()
        [2.0, 2.0]
    """
    if isinstance(inputs, Tensor):
        return F.copy(inputs)
    inputs = list(inputs)
    if not inputs:
        raise op_error(ValueError, "add_n", "at least one tensor", "none")
    out = need_tensor(inputs[0], "add_n", "inputs")
    for x in inputs[1:]:
        if need_tensor(x, "add_n", "inputs").shape != out.shape:
            raise op_error(ValueError, "add_n", "tensors of one shape", f"{out.shape} and {x.shape}")
        out = out + x
    return out if len(inputs) > 1 else F.copy(out)


# --- scans ---------------------------------------------------------------------------------------------------------


def _along(x: Tensor, axis: Any, op: str) -> tuple[Tensor, int]:
    """x and an axis; without one, all elements in a row."""
    need_tensor(x, op)
    if axis is None:
        return F.reshape(x, (x.size,)), 0
    if x.ndim == 0:
        if number(axis) not in (0, -1):
            raise op_error(AxisError, op, "axis 0 or -1 of a 0-d tensor", axis)
        return x, -1
    return x, axis_of(axis, x.ndim, op)


@public
def cumsum(x: Tensor, axis: Any = None, dtype: Any = None, name: str | None = None, *, out: Any = None) -> Tensor:
    """Running sums along ``axis``, of all elements in a row for None. bool and int32 are summed in int64.

    Example:
        >>> import paddle
        >>> paddle.cumsum(paddle.to_tensor([1, 2, 3])).tolist()
        [1, 3, 6]
    """
    x, k = _along(x, axis, "cumsum")
    if dtype is not None:
        x = cast(x, dtype_of(dtype))
    elif x.dtype is dt.bool or x.dtype is dt.int32:
        x = F.cast(x, dtype=dt.int64)
    return x if k < 0 else F.cumsum(x, k)


cumsum_ = inplace(cumsum, any_shape=True)


@public
def cumprod(x: Tensor, dim: Any = None, *, dtype: Any = None, out: Any = None, name: str | None = None) -> Tensor:
    """Running products along ``dim``, of all elements in a row for None.

    Example:
        >>> import paddle
        >>> paddle.cumprod(paddle.to_tensor([1, 2, 3]), 0).tolist()
        [1, 2, 6]
    """
    x, k = _along(x, dim, "cumprod")
    if dtype is not None:
        x = cast(x, dtype_of(dtype))
    return x if k < 0 else F.cumprod(x, k)


cumprod_ = inplace(cumprod)


@public
def logcumsumexp(x: Tensor, axis: Any = None, dtype: Any = None, name: str | None = None) -> Tensor:
    """Logarithms of running sums of exp(x) along ``axis``, of all elements in a row for None.

    Example:
        >>> import paddle
        >>> float(paddle.logcumsumexp(paddle.to_tensor([0.0]), 0)[0])
        0.0
    """
    x, k = _along(x, axis, "logcumsumexp")
    x = cast(x, dtype_of(dtype)) if dtype is not None else floating(x)
    return x if k < 0 else F.log_cumsum_exp(x, k)


@public
def cummax(x: Tensor, axis: Any = None, dtype: Any = "int64", name: str | None = None) -> tuple[Tensor, Tensor]:
    """Running maxima along ``axis`` (of all elements for None) and their indices, the latest of equals.

    Example:
        >>> import paddle
        >>> values, indices = paddle.cummax(paddle.to_tensor([1, 3, 2]))
        >>> values.tolist(), indices.tolist()
        ([1, 3, 3], [0, 1, 1])
    """
    return _running(F.cummax, x, axis, dtype, "cummax")


@public
def cummin(x: Tensor, axis: Any = None, dtype: Any = "int64", name: str | None = None) -> tuple[Tensor, Tensor]:
    """Running minima along ``axis`` (of all elements for None) and their indices, the latest of equals.

    Example:
        >>> import paddle
        >>> values, indices = paddle.cummin(paddle.to_tensor([1, 3, 2]))
        >>> values.tolist(), indices.tolist()
        ([1, 1, 1], [0, 0, 0])
    """
    return _running(F.cummin, x, axis, dtype, "cummin")


def _running(find: Any, x: Tensor, axis: Any, dtype: Any, op: str) -> tuple[Tensor, Tensor]:
    x, k = _along(x, axis, op)
    d = dtype_of(dtype, dt.int64)
    if d not in (dt.int32, dt.int64):
        raise op_error(ValueError, op, "a dtype of int32 or int64", d.name)
    return (x, made_on(x.place, F.full, 0, d, ())) if k < 0 else find(x, k, dtype=d)


# --- scaling, clipping, mixing -------------------------------------------------------------------------------------

_ACTS = {
    "relu": F.relu,
    "tanh": F.tanh,
    "sigmoid": F.logistic,
    "gelu": F.gelu,
    "softplus": F.softplus,
    "softsign": F.softsign,
}


@public
def scale(
    x: Tensor,
    scale: Any = 1.0,
    bias: Any = 0.0,
    bias_after_scale: bool = True,
    act: str | None = None,
    name: str | None = None,
) -> Tensor:
    """``scale*x + bias``, or ``scale*(x + bias)`` with ``bias_after_scale=False``; then an activation by name.

    Example:
        >>> import paddle
        >>> paddle.scale(paddle.ones([2]), 2.0, 1.0).tolist()
        [3.0, 3.0]
    """
    need_tensor(x, "scale")
    scale, bias = number(scale), number(bias)
    if x.dtype.is_complex or x.dtype.is_bool:
        out = x * scale + bias if bias_after_scale else (x + bias) * scale
    elif x.dtype.is_integer:
        # In integers, as the reference does: a fraction of the factor is lost.
        out = x * int(scale) + int(bias) if bias_after_scale else (x + int(bias)) * int(scale)
    else:
        out = F.scale(x, builtins.bool(bias_after_scale), float(scale), float(bias))
    if act is None:
        return out
    if act not in _ACTS:
        raise op_error(ValueError, "scale", f"an act of {sorted(_ACTS)}", repr(act))
    return _ACTS[act](out)


scale_ = inplace(scale, "paddle.tensor Tensor")


@public
def clip(x: Tensor, min: Any = None, max: Any = None, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """``x`` kept between ``min`` and ``max``, numbers or tensors; None means no bound.

    Example:
        >>> import paddle
        >>> paddle.clip(paddle.to_tensor([1.0, 5.0]), max=3.0).tolist()
        [1.0, 3.0]
    """
    need_tensor(x, "clip")
    if x.dtype.is_floating and type(min) in _PLAIN and type(max) in _PLAIN and not min is max is None:
        return F.clip(x, min, max)
    return _clip(x, min, max)


clamp = also(clip, "clamp")
clip_ = inplace(clip, "paddle.tensor Tensor")
clamp_ = inplace(clip, "paddle.tensor Tensor", name="clamp_")


_PLAIN = (float, int, type(None))


def _clip(x: Tensor, min: Any, max: Any) -> Tensor:
    """Bounds that are tensors, or integers between fractions."""
    if min is None and max is None:
        return F.copy(x)
    bounds = [
        b.item() if isinstance(b, Tensor) and b.size == 1 and b.stop_gradient else _number_or_tensor(b)
        for b in (min, max)
    ]
    if x.dtype.is_integer and builtins.any(isinstance(b, float) for b in bounds):
        if builtins.any(isinstance(b, float) and b != int(b) for b in bounds if b is not None and _is_finite(b)):
            x = F.cast(x, dtype=dt.float32)
        else:
            bounds = [
                int(b) if isinstance(b, float) and _is_finite(b) else None if isinstance(b, float) else b
                for b in bounds
            ]
    for i, b in enumerate(bounds):
        if isinstance(b, Tensor):
            x, bounds[i] = same_dtype("maximum", x, b)
    return F.clip(x, bounds[0], bounds[1])


def _number_or_tensor(x: Any) -> Any:
    return x if isinstance(x, Tensor) else number(x)


def _is_finite(x: Any) -> bool:
    """Whether a number is finite."""
    return x - x == 0


@public
def lerp(x: Tensor, y: Tensor, weight: Any, name: str | None = None) -> Tensor:
    """``x + weight*(y - x)``; weight is a number or a tensor, and all broadcast.

    Example:
        >>> import paddle
        >>> paddle.lerp(paddle.zeros([2]), paddle.ones([2]), 0.25).tolist()
        [0.25, 0.25]
    """
    need_tensor(x, "lerp")
    return F.lerp(
        x,
        need_tensor(y, "lerp", "y"),
        float(weight) if isinstance(weight, (int, float)) else cast(tensor(weight), x.dtype),
    )


lerp_ = inplace(lerp, "paddle.tensor Tensor")


@public(usual=False)
def stanh(x: Tensor, scale_a: float = 0.67, scale_b: float = 1.7159, name: str | None = None) -> Tensor:
    """``scale_b * tanh(scale_a * x)``.

    Example:
        >>> import paddle
        >>> paddle.stanh(paddle.zeros([1])).tolist()
        [0.0]
    """
    return F.stanh(floating(need_tensor(x, "stanh")), scale_a, scale_b)


@public(usual=False)
def increment(x: Tensor, value: float = 1.0, name: str | None = None) -> Tensor:
    """Add a number to a tensor of one element, in place.

    Example:
        >>> import paddle
        >>> paddle.increment(paddle.zeros([1])).tolist()
        [1.0]
    """
    from umiak.core.dispatch import assign

    if need_tensor(x, "increment").size != 1:
        raise op_error(ValueError, "increment", "a tensor of one element", x.shape)
    return assign(x, cast(x + value, x.dtype))


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


@public
def nan_to_num(
    x: Tensor, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None, name: str | None = None
) -> Tensor:
    """NaN and infinities replaced by numbers; infinities by default by the limits of the dtype.

    Example:
        >>> import paddle
        >>> paddle.nan_to_num(paddle.to_tensor([float("nan"), 1.0])).tolist()
        [0.0, 1.0]
    """
    need_tensor(x, "nan_to_num")
    if not x.dtype.is_floating:
        return F.copy(x)
    from paddle.framework.dtype import finfo

    limits = finfo(x.dtype)
    return F.nan_to_num(
        x, float(nan), limits.max if posinf is None else float(posinf), limits.min if neginf is None else float(neginf)
    )


nan_to_num_ = inplace(nan_to_num)


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
def positive(x: Tensor, name: str | None = None) -> Tensor:
    """``x`` itself; TypeError for bools."""
    if need_tensor(x, "positive").dtype.is_bool:
        raise op_error(TypeError, "positive", "a numeric dtype", "bool")
    return x


@public
def isreal(x: Tensor, name: str | None = None) -> Tensor:
    """Whether the imaginary part is zero; true of every real number.

    Example:
        >>> import paddle
        >>> paddle.isreal(paddle.to_tensor([1 + 0j, 1j])).tolist()
        [True, False]
    """
    need_tensor(x, "isreal")
    return F.eq(F.imag(x), 0) if x.dtype.is_complex else made_on(x.place, F.full, True, dt.bool, tuple(x.shape))


@public
def round(x: Tensor, decimals: int = 0, name: str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The nearest number with ``decimals`` digits after the point, ties to even.

    Example:
        >>> import paddle
        >>> paddle.round(paddle.to_tensor([0.5, 1.5])).tolist()
        [0.0, 2.0]
    """
    need_tensor(x, "round")
    if decimals == 0 or x.dtype.is_integer:
        return F.round(x)
    factor = 10.0 ** builtins.abs(decimals)
    return F.div(F.round(F.mul(x, factor)), factor) if decimals > 0 else F.mul(F.round(F.div(x, factor)), factor)


round_ = inplace(round, "paddle.tensor Tensor")


@public
def true_divide(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """``input / other``; integers give floats.

    Example:
        >>> import paddle
        >>> paddle.true_divide(paddle.to_tensor([1]), paddle.to_tensor([2])).tolist()
        [0.5]
    """
    return need_tensor(input, "true_divide", "input") / other


@public
def bitwise_left_shift(
    x: Tensor, y: Any, is_arithmetic: bool = True, out: Tensor | None = None, name: str | None = None
) -> Tensor:
    """Bits moved up.

    Args:
        x: an integer tensor.
        y: how far: a tensor of the same dtype, or a number.
        is_arithmetic: whether the sign stays.
        out: a tensor that is written instead.

    Example:
        >>> import paddle
        >>> paddle.bitwise_left_shift(paddle.to_tensor([1]), paddle.to_tensor([3])).tolist()
        [8]
    """
    x, y = same_dtype("shift", x, y)
    return F.shift_left(x, y)


bitwise_left_shift_ = inplace(bitwise_left_shift, keeps_out=True)


@public
def bitwise_right_shift(
    x: Tensor, y: Any, is_arithmetic: bool = True, out: Tensor | None = None, name: str | None = None
) -> Tensor:
    """Bits moved down.

    Args:
        x: an integer tensor.
        y: how far: a tensor of the same dtype, or a number.
        is_arithmetic: whether the sign stays.
        out: a tensor that is written instead.

    Example:
        >>> import paddle
        >>> paddle.bitwise_right_shift(paddle.to_tensor([8]), paddle.to_tensor([3])).tolist()
        [1]
    """
    x, y = same_dtype("shift", x, y)
    return F.shift_right(x, y) if is_arithmetic else F.shift_right_logical(x, y)


bitwise_right_shift_ = inplace(bitwise_right_shift, keeps_out=True)


def norm_kind(p: Any) -> tuple[str, float]:
    """The static kind of a p-norm and its power."""
    p = float(p)
    kinds = {1.0: "1", 2.0: "2", float("inf"): "inf", float("-inf"): "-inf", 0.0: "0"}
    return kinds.get(p, "p"), p


@public(usual=False)
def renorm(x: Tensor, p: float, axis: int, max_norm: float) -> Tensor:
    """Each slice along ``axis`` scaled down to a p-norm of at most ``max_norm``.

    Example:
        >>> import paddle
        >>> paddle.renorm(paddle.to_tensor([[3.0, 4.0]]), 2.0, 0, 1.0).tolist()[0][0] < 0.61
        True
    """
    kind, power = norm_kind(p)
    return F.renorm(need_tensor(x, "renorm"), axis_of(axis, x.ndim, "renorm"), kind, power, float(max_norm))


renorm_ = inplace(renorm)


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


# --- sequences -----------------------------------------------------------------------------------------------------


@public
def diff(
    x: Tensor,
    n: int = 1,
    axis: int = -1,
    prepend: Tensor | None = None,
    append: Tensor | None = None,
    name: str | None = None,
    *,
    out: Any = None,
) -> Tensor:
    """Differences of neighbours along ``axis``, ``n`` times.

    Args:
        x: a tensor of rank 1 or more.
        n: how often.
        axis: along which.
        prepend: put before x first.
        append: put after x first.

    Example:
        >>> import paddle
        >>> paddle.diff(paddle.to_tensor([1, 4, 9])).tolist()
        [3, 5]
    """
    k = axis_of(axis, need_tensor(x, "diff").ndim, "diff")
    if n < 0:
        raise op_error(ValueError, "diff", "an n of 0 or more", n)
    parts = [p for p in (prepend, x, append) if p is not None]
    found = F.concat(parts, k) if len(parts) > 1 else x
    for _ in builtins.range(n):
        if found.shape[k] == 0:
            break
        found = F.diff(found, k)
    return F.copy(found) if found is x else found


def _trapezoids(op: str, y: Tensor, x: Any, dx: Any, axis: int, cumulative: bool) -> Tensor:
    y = floating(need_tensor(y, op, "y"))
    if x is not None and dx is not None:
        raise op_error(ValueError, op, "one of x and dx", "both")
    k = axis_of(axis, y.ndim, op)
    if x is None:
        return F.trapezoid(y, None, k, cumulative, 1.0 if dx is None else float(number(dx)))
    x = cast(need_tensor(x, op), y.dtype)
    if x.ndim == 1 and y.ndim > 1:
        x = F.broadcast_to(_at_axis(x, k, y.ndim), tuple(y.shape))
    elif x.shape != y.shape:
        shape = tuple(broadcast_shapes(x.shape, y.shape))
        x, y = F.broadcast_to(x, shape), F.broadcast_to(y, shape)
    return F.trapezoid(y, x, k, cumulative)


def _at_axis(x: Tensor, axis: int, ndim: int) -> Tensor:
    return F.reshape(x, tuple(x.size if i == axis else 1 for i in builtins.range(ndim)))


@public(usual=False)
def trapezoid(
    y: Tensor, x: Tensor | None = None, dx: float | None = None, axis: int = -1, name: str | None = None
) -> Tensor:
    """The integral of samples ``y`` along ``axis`` by the trapezoidal rule, at places ``x`` or ``dx`` apart.

    Example:
        >>> import paddle
        >>> float(paddle.trapezoid(paddle.to_tensor([1.0, 2.0, 3.0])))
        4.0
    """
    return _trapezoids("trapezoid", y, x, dx, axis, False)


@public(usual=False)
def cumulative_trapezoid(
    y: Tensor, x: Tensor | None = None, dx: float | None = None, axis: int = -1, name: str | None = None
) -> Tensor:
    """Every partial integral of :func:`trapezoid`.

    Example:
        >>> import paddle
        >>> paddle.cumulative_trapezoid(paddle.to_tensor([1.0, 2.0, 3.0])).tolist()
        [1.5, 4.0]
    """
    return _trapezoids("cumulative_trapezoid", y, x, dx, axis, True)


@public
def broadcast_shape(x_shape: Sequence[int], y_shape: Sequence[int]) -> list[int]:
    """The shape that two shapes broadcast to; ValueError where they do not.

    Example:
        >>> import paddle
        >>> paddle.broadcast_shape([2, 1, 3], [3, 1])
        [2, 3, 3]
    """
    return broadcast_shapes(x_shape, y_shape)


@public
def broadcast_shapes(*shapes: Sequence[int]) -> list[int]:
    """The shape that all shapes broadcast to; ValueError where they do not.

    Example:
        >>> import paddle
        >>> paddle.broadcast_shapes([2, 1], [3], [1, 1])
        [2, 3]
    """
    out: list[int] = []
    for shape in shapes:
        sizes = [int(n) for n in shape]
        length = builtins.max(len(out), len(sizes))
        a, b = [1] * (length - len(out)) + out, [1] * (length - len(sizes)) + sizes
        if builtins.any(m != n and 1 not in (m, n) for m, n in zip(a, b, strict=True)):
            raise op_error(
                ValueError, "broadcast_shapes", "shapes that broadcast", " and ".join(str(list(s)) for s in shapes)
            )
        out = [n if m == 1 else m for m, n in zip(a, b, strict=True)]
    return out
