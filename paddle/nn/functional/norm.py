"""Normalisations as functions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from paddle._public import OtherOrder, need_tensor, public
from paddle.framework.mode import when_evaluated
from paddle.tensor._args import InternedOps, create_on, real_number
from paddle.tensor.norms import norm_kind
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.eager import apply
from umiak.core.inplace import apply_into
from umiak.core.tensor import Tensor
from umiak.ir import expr
from umiak.ir import sym as dim
from umiak.ir.sym import to_float
from umiak.util.errors import op_error

_BATCH = InternedOps(F.BatchNorm)
_BATCH_INFER = InternedOps(F.BatchNormInfer)
_GROUP = InternedOps(F.GroupNorm)
_INSTANCE = InternedOps(F.InstanceNorm)
_LAYER = InternedOps(F.LayerNorm)
_LERP = F.Lerp()
_NORMALIZE = InternedOps(F.Normalize)
_RMS = InternedOps(F.RmsNorm)

_EXTREMES = frozenset(("inf", "-inf"))  # kinds of norms that need no power
_FIRST = frozenset(("NC", "NCL", "NCHW", "NCDHW", None))
_LAST = frozenset(("NLC", "NHWC", "NDHWC"))


def _channels(op_name: str, x: Tensor, data_format: str) -> int:
    """The axis of the channels."""
    if data_format in _FIRST:
        return 1
    if data_format not in _LAST:
        formats = sorted(f for f in _FIRST | _LAST if f is not None)
        raise op_error(ValueError, op_name, f"a data_format of {', '.join(formats)}", repr(data_format))
    return x.ndim - 1


def tail_axis(op_name: str, x: Tensor, normalized_shape: int | Sequence[int]) -> int:
    """Return the first normalised axis; the normalised dims must be the last ones of x."""
    wanted = [normalized_shape] if isinstance(normalized_shape, (int, np.integer)) else list(normalized_shape)
    axis = x.ndim - len(wanted)
    sizes = x.shape[axis:]
    same = list(sizes) == wanted if type(x._count) is int else all(map(dim.eq, sizes, wanted))
    if axis < 0 or not same:
        raise op_error(ValueError, op_name, f"x of shape [*, {str(wanted)[1:-1]}]", list(x.shape))
    return axis


def _shaped(v: Tensor | None, shape: Sequence[int]) -> Tensor | None:
    """Weight or bias of several dims, which layers keep as a vector."""
    return v if v is None or v.ndim == len(shape) else F.reshape(v, shape=tuple(shape))


@public("paddle paddle.nn.functional", aliases={"eps": "epsilon"})
def layer_norm(
    x: Tensor,
    normalized_shape: Any,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    epsilon: float = 1e-5,
    name: str | None = None,
) -> Tensor:
    """Layer normalisation: ``(x - mean) / sqrt(variance + epsilon) * weight + bias`` over the last dims.

    Args:
        x: floating tensor whose shape ends in ``normalized_shape``.
        normalized_shape: sizes of the last dims, which mean and variance are taken over; an int for one dim.
        weight: tensor of that shape, or flat; None for ones.
        bias: tensor of that shape, or flat; None for zeros.
        epsilon: added to the variance.

    Returns:
        Tensor of x's shape and dtype.

    Raises:
        TypeError: x is not floating.
        ValueError: x does not end in ``normalized_shape``, or weight or bias have other sizes.

    Example:
        >>> import paddle
        >>> paddle.nn.functional.layer_norm(paddle.to_tensor([[1.0, 3.0]]), 2, epsilon=0.0).tolist()
        [[-1.0, 1.0]]
    """
    axis = tail_axis("layer_norm", x, normalized_shape)
    if axis != x.ndim - 1:
        weight, bias = _shaped(weight, x.shape[axis:]), _shaped(bias, x.shape[axis:])
    return apply(_LAYER[axis], (x, weight, bias), (epsilon,))


@public("paddle.nn.functional")
def rms_norm(
    input: Tensor,
    normalized_shape: int | Sequence[int],
    weight: Tensor | None = None,
    eps: float = 1e-5,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """Root mean square normalisation: ``x / sqrt(mean(x²) + eps) * weight`` over the last dims.

    Args:
        input: floating tensor whose shape ends in ``normalized_shape``.
        normalized_shape: sizes of the last dims, which the mean is taken over; an int for one dim.
        weight: tensor of that shape, or flat; None for ones.
        eps: added to the mean of squares.

    Returns:
        Tensor of input's shape and dtype, and ``1 / sqrt(mean(x²) + eps)`` in float32 (float64 for float64).

    Raises:
        TypeError: the input is not floating.
        ValueError: the input does not end in ``normalized_shape``, or weight has other sizes.

    Example:
        >>> import paddle
        >>> y, scale = paddle.nn.functional.rms_norm(paddle.to_tensor([[2.0, -2.0]]), 2, eps=0.0)
        >>> y.tolist(), scale.tolist()
        ([[1.0, -1.0]], [0.5])
    """
    axis = tail_axis("rms_norm", input, normalized_shape)
    out = apply(_RMS[axis], (input, _shaped(weight, input.shape[axis:]), None), (eps,))
    wide = input if input.dtype.compute is input.dtype else F.cast(input, dtype=input.dtype.compute)
    axes = tuple(range(axis, input.ndim))
    return out, F.rsqrt(F.add(F.mean(F.mul(wide, wide), axes=axes), real_number(eps, "rms_norm", "eps")))


@public("paddle.nn.functional", usual=False)
def batch_norm(
    x: Tensor,
    running_mean: Tensor,
    running_var: Tensor,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.9,
    epsilon: float = 1e-5,
    data_format: str = "NCHW",
    use_global_stats: bool | None = None,
    name: str | None = None,
) -> Tensor:
    """Batch normalisation: each channel less its mean, over its standard deviation, times weight plus bias.

    With the statistics of a batch that has one element for each channel, which has no deviation, the result is x.

    Args:
        x: floating tensor ``[N, C]`` or ``[N, C, *]``, or channels last by ``data_format``.
        running_mean: tensor ``[C]``; in training it becomes ``momentum * running + (1 - momentum) * batch``, in place;
            an x without elements, or with one for each channel, leaves it alone.
        running_var: tensor ``[C]``, moved in the same way towards the biased variance.
        weight: tensor ``[C]``, or None for ones.
        bias: tensor ``[C]``, or None for zeros.
        training: take mean and variance from the batch; otherwise the running ones.
        momentum: how much of the running values stays.
        epsilon: added to the variance.
        data_format: channels are the last dim for ``"NLC"``, ``"NHWC"`` and ``"NDHWC"``, dim 1 for every other string.
        use_global_stats: True takes the running values also in training, False those of the batch also outside of it;
            None leaves it to ``training``.

    Returns:
        Tensor of x's shape and dtype.

    Raises:
        TypeError: x is not floating.
        IndexError: x has no dim of channels.
        ValueError: sizes that do not fit the channels.

    Example:
        >>> import paddle
        >>> mean, variance = paddle.to_tensor([1.0, 2.0]), paddle.to_tensor([4.0, 4.0])
        >>> paddle.nn.functional.batch_norm(paddle.to_tensor([[3.0, 2.0]]), mean, variance, epsilon=0.0).tolist()
        [[1.0, 0.0]]
    """
    axis = _channels("batch_norm", x, data_format)
    if use_global_stats or (use_global_stats is None and not training):
        return apply(_BATCH_INFER[axis], (x, running_mean, running_var, weight, bias), (epsilon,))
    y, mean, var = apply(_BATCH[axis], (x, weight, bias), (epsilon,))
    evaluated = _evaluated_batch_norm, axis, x, running_mean, running_var, weight, bias, epsilon
    if use_global_stats is None:
        when_evaluated(y, *evaluated)  # which leaves out what moves statistics
    count = dim.product(n for i, n in enumerate(x.shape) if i != axis)
    alone = _is_one(count)
    if alone is not False:
        y = F.where(create_on(x.place, F.full, dim.where(alone, 1, 0), dt.bool, ()), x, y)
        if use_global_stats is None:
            when_evaluated(y, *evaluated)
    if alone is not True and not (type(count) is int and count == 0):
        follow(
            running_mean, running_var, mean, var, dim.where(alone, 1.0, real_number(momentum, "batch_norm", "momentum"))
        )
    return y


def _is_one(n: dim.Int) -> dim.Bool:
    """Return whether a count is 1; where only a run of the program knows, a symbol of that."""
    alone = expr.compare_eq(n, 1)
    return dim.settle(alone, "") if type(alone) is dim.Sym and alone.hinted else alone


def _evaluated_batch_norm(axis: int, *args: Any) -> Tensor:
    return apply(_BATCH_INFER[axis], args[:-1], args[-1:])


def follow(running_mean: Tensor, running_var: Tensor, mean: Tensor, var: Tensor, momentum: dim.Number) -> None:
    """Move the running values towards those of a batch, in place."""
    for running, batch in ((running_mean, mean), (running_var, var)):
        if batch.dtype is not running.dtype:  # a layer of a low precision throughout; statistics are of a wide one
            batch = F.cast(batch, dtype=running.dtype)
        apply_into(_LERP, (running,), (running, batch, 1.0 - momentum))


def batch_norm_over(
    total: Callable[[Tensor], Tensor],
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    epsilon: float,
    data_format: str,
) -> tuple[Tensor, Tensor, Tensor]:
    """Batch norm whose mean and variance are those of several batches together, one in each process.

    ``total`` adds a vector up over the processes and passes gradients back through the sum. It is called twice: the
    squares are taken of what is centred already, so that a large mean costs no digits.

    Returns:
        the result, and the mean and the (biased) variance of all batches.
    """
    axis = _channels("batch_norm", x, data_format)
    axes = tuple(i for i in range(x.ndim) if i != axis)
    wide = x.dtype.compute
    v = x if wide is x.dtype else F.cast(x, dtype=wide)
    channels = x.shape[axis]
    count = math.prod(x.shape[i] for i in axes)
    sums = total(F.concat([F.sum(v, axes=axes), create_on(x.place, F.full, count, wide, (1,))], axis=0))
    count_all = F.slice(sums, axes=(0,), starts=(channels,), sizes=(1,), steps=(1,))
    mean = F.div(F.slice(sums, axes=(0,), starts=(0,), sizes=(channels,), steps=(1,)), count_all)
    shape = tuple(channels if i == axis else 1 for i in range(x.ndim))
    centred = F.sub(v, F.reshape(mean, shape=shape))
    var = F.div(total(F.sum(F.mul(centred, centred), axes=axes)), count_all)
    return apply(_BATCH_INFER[axis], (x, mean, var, weight, bias), (epsilon,)), mean, var


@public("paddle.nn.functional", usual=False)
def instance_norm(
    x: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.9,
    eps: float = 1e-5,
    data_format: str = "NCHW",
    name: str | None = None,
) -> Tensor:
    """Instance normalisation: each channel of each sample less its mean, over its standard deviation.

    Args:
        x: floating tensor ``[N, C, *]``, or channels last by ``data_format``.
        running_mean: tensor ``[C]``, used when ``use_input_stats`` is False; never written.
        running_var: tensor ``[C]``, used with ``running_mean``.
        weight: tensor ``[C]`` that multiplies the result, or None.
        bias: tensor ``[C]`` that is added to it, or None.
        use_input_stats: False takes the running mean and variance, where they are given.
        momentum: has no effect.
        eps: added to the variance.
        data_format: channels are the last dim for ``"NLC"``, ``"NHWC"`` and ``"NDHWC"``, dim 1 for every other string.

    Returns:
        Tensor of x's shape and dtype.

    Raises:
        TypeError: x is not floating.
        ValueError: sizes that do not fit the channels.

    Example:
        >>> import paddle
        >>> paddle.nn.functional.instance_norm(paddle.to_tensor([[[1.0, 3.0]]]), eps=0.0).tolist()
        [[[-1.0, 1.0]]]
    """
    axis = _channels("instance_norm", x, data_format)
    if not use_input_stats and running_mean is not None:
        return apply(_BATCH_INFER[axis], (x, running_mean, running_var, weight, bias), (eps,))
    return apply(_INSTANCE[axis], (x, weight, bias), (eps,))


def _group_norm(
    x: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    epsilon: float = 1e-5,
    data_format: str = "NCHW",
) -> Tensor:
    return group_norm(x, num_groups, epsilon, weight, bias, data_format)


@public(
    "paddle paddle.nn.functional",
    aliases={"eps": "epsilon"},
    other_order=OtherOrder(_group_norm, at=2, types=(Tensor, type(None))),
)
def group_norm(
    x: Tensor,
    num_groups: int,
    epsilon: float = 1e-5,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    data_format: str = "NCHW",
    name: str | None = None,
) -> Tensor:
    """Group normalisation: each group of channels of each sample less its mean, over its standard deviation.

    Args:
        x: floating tensor ``[N, C, *]``, or channels last by ``data_format``.
        num_groups: how many groups of neighbouring channels there are; divides C.
        epsilon: added to the variance.
        weight: tensor ``[C]`` that multiplies the result, or None.
        bias: tensor ``[C]`` that is added to it, or None.
        data_format: channels are the last dim for ``"NLC"``, ``"NHWC"`` and ``"NDHWC"``, dim 1 for every other string.

    Returns:
        Tensor of x's shape and dtype.

    Raises:
        TypeError: x is not floating.
        ValueError: groups that do not divide the channels, or sizes that do not fit them.

    Example:
        >>> import paddle
        >>> paddle.nn.functional.group_norm(paddle.to_tensor([[[1.0], [3.0]]]), 1, epsilon=0.0).tolist()
        [[[-1.0], [1.0]]]
    """
    params = (num_groups, epsilon)
    return apply(_GROUP[_channels("group_norm", x, data_format)], (x, weight, bias), params)


@public("paddle.nn.functional", usual=False)
def local_response_norm(
    x: Tensor,
    size: int,
    alpha: float = 1e-4,
    beta: float = 0.75,
    k: float = 1.0,
    data_format: str = "NCHW",
    name: str | None = None,
) -> Tensor:
    """Local response normalisation: ``x / (k + alpha * mean of squares over size neighbouring channels) ** beta``.

    Args:
        x: floating tensor ``[N, C, *]`` of rank 3 or more, or channels last by ``data_format``.
        size: how many channels the mean is taken over, 1 or more; missing ones at the edges count as zeros.
        alpha: factor of the mean of squares.
        beta: the exponent.
        k: added to the mean of squares.
        data_format: channels are the last dim for ``"NLC"``, ``"NHWC"`` and ``"NDHWC"``, dim 1 for every other string.

    Returns:
        Tensor of x's shape and dtype.

    Raises:
        TypeError: x is not floating.
        ValueError: x has fewer than three dims, or size is below 1.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([[[3.0], [0.0]]])
        >>> paddle.nn.functional.local_response_norm(x, 1, alpha=1.0, beta=1.0).flatten().tolist()[1]
        0.0
    """
    if x.ndim < 3:
        raise op_error(ValueError, "local_response_norm", "rank 3 or more", x.ndim)
    if size < 1:
        raise op_error(ValueError, "local_response_norm", "a size of 1 or more", size)
    axis = _channels("local_response_norm", x, data_format)
    return F.local_response_norm(x, axis=axis, size=size, alpha=to_float(alpha), beta=to_float(beta), k=to_float(k))


@public("paddle.nn.functional", aliases={"eps": "epsilon"})
def normalize(
    x: Tensor, p: float = 2, axis: int = 1, epsilon: float = 1e-12, out: Tensor | None = None, name: str | None = None
) -> Tensor:
    """Normalisation to length 1: x over its ``p``-norm along ``axis``.

    Args:
        x: floating tensor of one dim or more.
        p: order of the norm.
        axis: the axis of the norm; negative counts from the end.
        epsilon: smaller norms count as this.
        out: tensor of the result's shape and dtype, written and returned.

    Returns:
        Tensor of x's shape and dtype.

    Raises:
        TypeError: x is not floating.
        IndexError: x has no dim.
        ValueError: x has no such axis.

    Example:
        >>> import paddle
        >>> y = paddle.nn.functional.normalize(paddle.to_tensor([[3.0, 4.0]]))
        >>> [round(v, 4) for v in y[0].tolist()]
        [0.6, 0.8]
    """
    rank = need_tensor(x, "normalize").ndim
    if rank and not -rank <= axis < rank:
        raise op_error(ValueError, "normalize", f"an axis from {-rank} to {rank - 1}", axis)
    axis = axis + rank if axis < 0 else axis
    order, power = norm_kind(p)
    y: Any = apply(_NORMALIZE[axis, order], (x,), (2.0 if order in _EXTREMES else power, epsilon))
    return y
