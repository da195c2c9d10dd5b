"""Normalisations as functions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from paddle._public import public
from paddle.tensor._args import Records, made_on
from umiak import ops as F
from umiak.core.eager import apply
from umiak.core.inplace import apply_into
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error

_BATCH = Records(F.BatchNorm)
_BATCH_INFER = Records(F.BatchNormInfer)
_GROUP = Records(F.GroupNorm)
_INSTANCE = Records(F.InstanceNorm)
_LAYER = Records(F.LayerNorm)
_LERP = F.Lerp()
_NORMALIZE = Records(F.Normalize)
_RMS = Records(F.RmsNorm)

_FIRST = frozenset(("NC", "NCL", "NCHW", "NCDHW", None))
_LAST = frozenset(("NLC", "NHWC", "NDHWC"))


def _channels(who: str, x: Tensor, data_format: str) -> int:
    """The axis of the channels."""
    if data_format in _FIRST:
        return 1
    if data_format not in _LAST:
        formats = sorted(f for f in _FIRST | _LAST if f is not None)
        raise op_error(ValueError, who, f"a data_format of {', '.join(formats)}", repr(data_format))
    return x.ndim - 1


def tail_axis(who: str, x: Tensor, normalized_shape: int | Sequence[int]) -> int:
    """Return the first normalised axis; the normalised dims must be the last ones of x."""
    wanted = [normalized_shape] if isinstance(normalized_shape, int) else list(normalized_shape)
    axis = x.ndim - len(wanted)
    if axis < 0 or list(x.shape[axis:]) != wanted:
        raise op_error(ValueError, who, f"x of shape [*, {str(wanted)[1:-1]}]", list(x.shape))
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
    """``(x - mean) / sqrt(variance + epsilon) * weight + bias``, over the last dims.

    Args:
        x: floating tensor.
        normalized_shape: sizes of the last dims, which mean and variance are taken over.
        weight, bias: of that shape, or flat.
        epsilon: added to the variance (``eps`` is another name for it).

    Raises:
        ValueError: x does not end in ``normalized_shape``.

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
    """``x / sqrt(mean(x²) + eps) * weight``, over the last dims.

    Returns:
        the result, and ``1 / sqrt(mean(x²) + eps)`` in float32 (float64 for float64).

    Raises:
        ValueError: the input does not end in ``normalized_shape``.
    """
    axis = tail_axis("rms_norm", input, normalized_shape)
    out = apply(_RMS[axis], (input, _shaped(weight, input.shape[axis:]), None), (eps,))
    wide = input if input.dtype.compute is input.dtype else F.cast(input, dtype=input.dtype.compute)
    axes = tuple(range(axis, input.ndim))
    return out, F.rsqrt(F.add(F.mean(F.mul(wide, wide), axes=axes), eps))


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
    """Each channel less its mean, over its standard deviation, times weight plus bias.

    Args:
        x: ``[N, C]`` or ``[N, C, *]``; channels last for ``"NLC"``, ``"NHWC"`` and ``"NDHWC"``.
        running_mean, running_var: ``[C]``; in training they become ``momentum * running + (1 - momentum) * batch``,
            in place (the variance is the biased one); an x without elements leaves them alone.
        weight, bias: ``[C]``.
        training: take mean and variance from the batch; otherwise the running ones.
        momentum: how much of the running values stays.
        epsilon: added to the variance.
        use_global_stats: True takes the running values also in training.

    Raises:
        ValueError: sizes that do not fit the channels.
    """
    axis = _channels("batch_norm", x, data_format)
    if not training or use_global_stats:
        return apply(_BATCH_INFER[axis], (x, running_mean, running_var, weight, bias), (epsilon,))
    y, mean, var = apply(_BATCH[axis], (x, weight, bias), (epsilon,))
    if not (type(x.size) is int and x.size == 0):
        follow(running_mean, running_var, mean, var, momentum)
    return y


def follow(running_mean: Tensor, running_var: Tensor, mean: Tensor, var: Tensor, momentum: float) -> None:
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
    sums = total(F.concat([F.sum(v, axes=axes), made_on(x.place, F.full, count, wide, (1,))], axis=0))
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
    """Each channel of each sample less its mean, over its standard deviation, times weight plus bias.

    Args:
        x: ``[N, C, *]``; channels last for ``"NLC"``, ``"NHWC"`` and ``"NDHWC"``.
        running_mean, running_var: used when ``use_input_stats`` is False.
        weight, bias: ``[C]``.
    """
    axis = _channels("instance_norm", x, data_format)
    if not use_input_stats and running_mean is not None:
        return apply(_BATCH_INFER[axis], (x, running_mean, running_var, weight, bias), (eps,))
    return apply(_INSTANCE[axis], (x, weight, bias), (eps,))


@public("paddle paddle.nn.functional", aliases={"eps": "epsilon"})
def group_norm(
    x: Tensor,
    num_groups: int,
    epsilon: float = 1e-5,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    data_format: str = "NCHW",
    name: str | None = None,
) -> Tensor:
    """Each group of channels of each sample less its mean, over its standard deviation, times weight plus bias.

    Args:
        x: ``[N, C, *]``; channels last for ``"NLC"``, ``"NHWC"`` and ``"NDHWC"``.
        num_groups: divides the channels.
        weight, bias: ``[C]``.

    Raises:
        ValueError: groups that do not divide the channels.
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
    """``x / (k + alpha * mean of squares over size neighbouring channels) ** beta``."""
    if x.ndim < 3:
        raise op_error(ValueError, "local_response_norm", "rank 3 or more", x.ndim)
    if size < 1:
        raise op_error(ValueError, "local_response_norm", "a size of 1 or more", size)
    axis = _channels("local_response_norm", x, data_format)
    return F.local_response_norm(x, axis=axis, size=size, alpha=float(alpha), beta=float(beta), k=float(k))


@public("paddle.nn.functional", aliases={"eps": "epsilon"})
def normalize(
    x: Tensor, p: float = 2, axis: int = 1, epsilon: float = 1e-12, out: Tensor | None = None, name: str | None = None
) -> Tensor:
    """x over its ``p``-norm along ``axis``, which is taken as at least ``epsilon``.

    Example:
        >>> import paddle
        >>> paddle.nn.functional.normalize(paddle.to_tensor([[3.0, 4.0]])).tolist()[0][1] > 0.79
        True
    """
    axis = 0 if x.ndim == 1 and axis == 1 else axis + x.ndim if axis < 0 else axis
    p = float(p)
    order = {0.0: "0", 1.0: "1", 2.0: "2", math.inf: "inf", -math.inf: "-inf"}.get(p, "p")
    power = 2.0 if math.isinf(p) else p
    y: Any = apply(_NORMALIZE[axis, order], (x,), (power, epsilon))
    return y
