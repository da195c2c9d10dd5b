"""Linear maps, dropout, padding, resampling and similarities."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from paddle._public import OtherOrder, need_tensor, public
from paddle.framework.mode import when_evaluated
from paddle.nn._ops import of_one_dtype, random_apply
from paddle.nn.functional import unknown_sizes
from paddle.tensor._args import (
    InternedOps,
    cast,
    create_on,
    data_of_run,
    fraction,
    integer,
    integers,
    number,
    number_in,
    real_number,
)
from umiak import ops as F
from umiak.core import dtype as dt
from umiak.core.array import from_numpy
from umiak.core.dtype import DType, convert
from umiak.core.eager import apply, apply1
from umiak.core.inplace import assign
from umiak.core.tensor import Tensor
from umiak.ir import sym as dim
from umiak.ir.expr import Sym
from umiak.ir.sym import to_float
from umiak.util.arguments import several
from umiak.util.errors import ShapeError, op_error
from umiak.util.size import plain_ints

_ALPHA_DROPOUT = InternedOps(F.AlphaDropout)
_BLEND = InternedOps(F.Blend)
_COIN = F.Bernoulli()
_DROPOUT = InternedOps(F.Dropout)
_LINEAR = F.Linear()
_PAD = InternedOps(F.Pad)
_RESHAPE = F.Reshape()
_TAKE = InternedOps(F.Take)
_TOGETHER = F.Permute((0, 1, 2, 4, 3, 5))

CHANNELS_LAST = frozenset(("NLC", "NWC", "NHWC", "NDHWC"))
_CHANNELS_FIRST = frozenset((None, "NCL", "NCW", "NCHW", "NCDHW"))


@public("paddle.nn.functional", usual=False, op=_LINEAR, operands=2)
def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None, name: str | None = None) -> Tensor:
    """Linear map of the last dim: ``x @ weight + bias``.

    Args:
        x: floating or complex tensor ``[*, in_features]``.
        weight: tensor ``[in_features, out_features]`` of x's dtype; of another rank it is multiplied as by
            :func:`paddle.matmul`.
        bias: tensor ``[out_features]`` of x's dtype, or of another shape that broadcasts to the result's, or None.

    Returns:
        Tensor ``[*, out_features]`` of x's dtype.

    Raises:
        TypeError: the operands are neither floating nor complex, or have different dtypes.
        ValueError: the sizes do not fit.

    Example:
        >>> import paddle
        >>> paddle.nn.functional.linear(paddle.ones([2, 3]), paddle.ones([3, 4])).shape
        paddle.Size([2, 4])
    """
    if isinstance(weight, Tensor) and weight.ndim != 2:
        y = F.matmul(x, weight)
        return y if bias is None else F.add(y, bias)
    try:
        return apply(_LINEAR, (x, weight, bias))
    except ValueError:
        if bias is None or bias.ndim == 1:
            raise
    return F.add(apply(_LINEAR, (x, weight, None)), bias)


@public("paddle.nn.functional")
def bilinear(x1: Tensor, x2: Tensor, weight: Tensor, bias: Tensor | None = None, name: str | None = None) -> Tensor:
    """Bilinear map of two tensors: ``out[n, k] = sum of x1[n, i] * weight[k, i, j] * x2[n, j]``, plus ``bias``.

    Args:
        x1: integer, floating or complex tensor ``[N, in1]``.
        x2: tensor ``[N, in2]`` of x1's dtype.
        weight: tensor ``[out, in1, in2]`` of x1's dtype.
        bias: tensor ``[out]`` or ``[1, out]``, or None.

    Returns:
        Tensor ``[N, out]`` of x1's dtype.

    Raises:
        TypeError: the operands are of type bool or have different dtypes.
        ValueError: ranks or sizes that do not fit.

    Example:
        >>> import paddle
        >>> x1, x2, weight = paddle.ones([5, 2]), paddle.ones([5, 3]), paddle.ones([4, 2, 3])
        >>> paddle.nn.functional.bilinear(x1, x2, weight).shape
        paddle.Size([5, 4])
    """
    out = F.einsum([x1, weight, x2], equation="ni,kij,nj->nk")
    return out if bias is None else out + bias


# --- dropout -------------------------------------------------------------------------------------------------------


@public("paddle.nn.functional", aliases={"input": "x"}, usual=False)
def dropout(
    x: Tensor,
    p: float = 0.5,
    axis: int | Sequence[int] | None = None,
    training: bool = True,
    inplace: bool = False,
    mode: str = "upscale_in_train",
    name: str | None = None,
) -> Tensor:
    """Dropout: each element becomes 0 with probability ``p`` in training.

    Args:
        x: floating tensor of any shape.
        p: the probability of 0, from 0 to 1; a number or a tensor of one element.
        axis: one draw for each place along these axes, from 0 up; along all others, elements are dropped together. None
            draws for each element.
        training: False drops nothing.
        inplace: write the result into x, and return x.
        mode: ``"upscale_in_train"`` divides what is kept by ``1 - p`` in training; ``"downscale_in_infer"`` multiplies
            x by ``1 - p`` outside of training instead.

    Returns:
        Tensor of x's shape and dtype; a copy outside of training, x itself if ``p`` is 0 in training, or with axes.

    Raises:
        TypeError: x is not floating.
        ValueError: ``p`` outside [0, 1], an unknown mode, or an axis that x does not have.

    References:
        Srivastava et al., Dropout: A Simple Way to Prevent Neural Networks from Overfitting, 2014.

    Example:
        >>> import paddle
        >>> paddle.nn.functional.dropout(paddle.ones([3]), p=1.0).tolist()
        [0.0, 0.0, 0.0]
    """
    chance = None
    if type(p) is not float or not 0.0 <= p <= 1.0:
        chance = data_of_run(p)
        p = fraction(p, "dropout", "p") if chance is None else chance
    if mode not in ("upscale_in_train", "downscale_in_infer"):
        raise op_error(ValueError, "dropout", "mode 'upscale_in_train' or 'downscale_in_infer'", repr(mode))
    if chance is not None:
        y = _dropout_of_run(x, chance, axis, training, mode)
    elif not training:
        if mode == "downscale_in_infer":
            y = F.mul(x, 1.0 - p)
        else:
            y = x if inplace or axis is not None else F.copy(need_tensor(x, "dropout"))
    elif p == 0.0:
        y = x
    else:
        y = random_apply(_DROPOUT[None if axis is None else _dropout_axes(x, axis), mode], x, p)
        when_evaluated(y, dropout, x, p, axis, False, False, mode)
    return assign(x, y) if inplace and y is not x else y


def _dropout_of_run(x: Tensor, p: Tensor, axis: Any, training: bool, mode: str) -> Tensor:
    """Dropout with a probability that only a run of the recorded program knows."""
    keep = F.sub(1.0, cast(p, need_tensor(x, "dropout").dtype))
    if not training:
        return F.mul(x, keep) if mode == "downscale_in_infer" else F.copy(x)
    axes = range(x.ndim) if axis is None else _dropout_axes(x, axis)
    places = F.broadcast_to(keep, tuple(n if i in axes else 1 for i, n in enumerate(x.shape)))
    kept = F.where(F.ne(random_apply(_COIN, places), 0), x, 0)
    y = kept if mode == "downscale_in_infer" else F.div(kept, F.where(F.eq(keep, 0), 1, keep))
    return when_evaluated(y, dropout, x, p, axis, False, False, mode)


def _dropout_axes(x: Tensor, axis: int | Sequence[int]) -> tuple[int, ...]:
    given = [axis] if isinstance(axis, int) else several("dropout", "an int or a list of them as axis", axis)
    axes = tuple([integer(a, "dropout", "axis") for a in given])
    try:
        ndim = x.ndim
    except AttributeError:
        need_tensor(x, "dropout")
        raise
    if not axes or len(axes) > ndim or not all(0 <= a < ndim for a in axes):
        raise op_error(ValueError, "dropout", f"axes from 0 to {ndim - 1}" if ndim else "no axes for rank 0", axis)
    return axes


def _channel_axes(op_name: str, x: Tensor, ndim: int, data_format: str) -> tuple[int, int]:
    try:
        rank = x.ndim
    except AttributeError:
        need_tensor(x, op_name)
        raise
    if rank != ndim:
        raise op_error(ValueError, op_name, f"x of rank {ndim}", rank)
    first, last = ("NCHW", "NHWC") if ndim == 4 else ("NCDHW", "NDHWC")
    if data_format not in (first, last):
        raise op_error(ValueError, op_name, f"data_format {first!r} or {last!r}", repr(data_format))
    return (0, ndim - 1) if data_format == last else (0, 1)


@public("paddle.nn.functional")
def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Dropout of whole rows: along the last dim, elements are dropped together.

    Args:
        input: floating tensor ``[N, C, L]`` or ``[C, L]``.
        p: the probability that a row becomes 0, from 0 to 1; the others are divided by ``1 - p``.
        training: False drops nothing.
        inplace: write the result into ``input``, and return it.

    Returns:
        Tensor of the shape and dtype of ``input``; ``input`` itself where nothing is dropped.

    Raises:
        TypeError: ``input`` is not floating.
        RuntimeError: ``input`` is not of rank 2 or 3.
        ValueError: ``p`` is outside [0, 1].

    Example:
        >>> import paddle
        >>> rows = paddle.nn.functional.dropout1d(paddle.ones([8, 2])).tolist()
        >>> all(row in ([0.0, 0.0], [2.0, 2.0]) for row in rows)
        True
    """
    try:
        ndim = input.ndim
    except AttributeError:
        need_tensor(input, "dropout1d", "input")
        raise
    if ndim not in (2, 3):
        raise op_error(RuntimeError, "dropout1d", "input of rank 2 or 3", ndim)
    return dropout(input, p, tuple(range(ndim - 1)), training, inplace)


@public("paddle.nn.functional", usual=False)
def dropout2d(
    x: Tensor, p: float = 0.5, training: bool = True, data_format: str = "NCHW", name: str | None = None
) -> Tensor:
    """Dropout of whole channels of images.

    Args:
        x: floating tensor ``[N, C, H, W]``, or ``[N, H, W, C]`` with ``data_format="NHWC"``.
        p: the probability that a channel of an image becomes 0, from 0 to 1; the others are divided by ``1 - p``.
        training: False drops nothing.
        data_format: ``"NCHW"`` or ``"NHWC"``, the order of the dims of x.

    Returns:
        Tensor of x's shape and dtype; x itself where nothing is dropped.

    Raises:
        TypeError: x is not floating.
        ValueError: x is not of rank 4, ``p`` is outside [0, 1], or ``data_format`` is unknown.

    Example:
        >>> import paddle
        >>> y = paddle.nn.functional.dropout2d(paddle.ones([2, 3, 4, 4]))
        >>> sorted(set(y.sum([2, 3]).flatten().tolist()) | {0.0, 32.0})
        [0.0, 32.0]
    """
    return dropout(x, p, _channel_axes("dropout2d", x, 4, data_format), training)


@public("paddle.nn.functional", usual=False)
def dropout3d(
    x: Tensor, p: float = 0.5, training: bool = True, data_format: str = "NCDHW", name: str | None = None
) -> Tensor:
    """Dropout of whole channels of volumes.

    Args:
        x: floating tensor ``[N, C, D, H, W]``, or ``[N, D, H, W, C]`` with ``data_format="NDHWC"``.
        p: the probability that a channel of a volume becomes 0, from 0 to 1; the others are divided by ``1 - p``.
        training: False drops nothing.
        data_format: ``"NCDHW"`` or ``"NDHWC"``, the order of the dims of x.

    Returns:
        Tensor of x's shape and dtype; x itself where nothing is dropped.

    Raises:
        TypeError: x is not floating.
        ValueError: x is not of rank 5, ``p`` is outside [0, 1], or ``data_format`` is unknown.

    Example:
        >>> import paddle
        >>> y = paddle.nn.functional.dropout3d(paddle.ones([2, 3, 2, 2, 2]))
        >>> sorted(set(y.sum([2, 3, 4]).flatten().tolist()) | {0.0, 16.0})
        [0.0, 16.0]
    """
    return dropout(x, p, _channel_axes("dropout3d", x, 5, data_format), training)


def _alpha_dropout(op_name: str, x: Tensor, p: float, training: bool, axes: tuple[int, ...] | None) -> Tensor:
    p = fraction(p, op_name, "p")
    if not training:
        return x
    if p == 0.0:
        return F.copy(x)
    return when_evaluated(random_apply(_ALPHA_DROPOUT[(axes,)], x, p), lambda x: x, x)


@public("paddle.nn.functional", usual=False)
def alpha_dropout(x: Tensor, p: float = 0.5, training: bool = True, name: str | None = None) -> Tensor:
    """Dropout for networks of :func:`selu`, which keeps mean 0 and variance 1.

    An element that is dropped takes the lowest value of ``selu``; then all are scaled and shifted.

    Args:
        x: floating tensor of any shape.
        p: the probability that an element is dropped, from 0 to 1; 1 gives zeros.
        training: False drops nothing.

    Returns:
        Tensor of x's shape and dtype; x itself where nothing is dropped.

    Raises:
        TypeError: x is not floating.
        ValueError: ``p`` outside [0, 1].

    References:
        Klambauer et al., Self-Normalizing Neural Networks, 2017.

    Example:
        >>> import paddle
        >>> y = paddle.nn.functional.alpha_dropout(paddle.zeros([1000]))
        >>> sorted({round(v, 4) for v in y.tolist()})
        [-0.7792, 0.7792]
    """
    return _alpha_dropout("alpha_dropout", x, p, training, None)


@public("paddle.nn.functional", usual=False)
def feature_alpha_dropout(x: Tensor, p: float = 0.5, training: bool = True, name: str | None = None) -> Tensor:
    """:func:`alpha_dropout` of whole channels: one draw for each place of the first two dims.

    Args:
        x: floating tensor ``[N, C, *]``.
        p: the probability that a channel is dropped, from 0 to 1; 1 gives zeros.
        training: False drops nothing.

    Returns:
        Tensor of x's shape and dtype; x itself where nothing is dropped.

    Raises:
        TypeError: x is not floating.
        ValueError: ``p`` outside [0, 1].

    Example:
        >>> import paddle
        >>> y = paddle.nn.functional.feature_alpha_dropout(paddle.zeros([2, 3, 4]))
        >>> bool((y == y[:, :, :1]).all())
        True
    """
    return _alpha_dropout("feature_alpha_dropout", x, p, training, (0, 1))


# --- padding -------------------------------------------------------------------------------------------------------


@public("paddle.nn.functional")
def pad(
    x: Tensor,
    pad: Any,
    mode: str = "constant",
    value: float = 0.0,
    data_format: str | None = None,
    pad_from_left_axis: bool = True,
    name: str | None = None,
) -> Tensor:
    """Pad a tensor: add elements before and after those along its dims.

    Args:
        x: tensor of any dtype and shape; of rank 3 to 5 for modes other than ``"constant"``.
        pad: list or tensor of pairs (before, after). As many pairs as dims (constant mode only) go from the first dim
            to the last. As many as spatial dims go from the last of these to the first (left, right, top, bottom,
            front, back). Any other number (constant mode only) goes from the last dim backwards, whatever the format.
            One int pads every spatial dim on both sides. Negative numbers crop in constant mode.
        mode: ``"constant"``, ``"reflect"`` (mirrored, without the edge element), ``"replicate"`` (the edge element) or
            ``"circular"`` (the other end); the last three pad all spatial dims.
        value: the number added in constant mode.
        data_format: the order of the dims of x: channels last for ``"NLC"``, ``"NWC"``, ``"NHWC"`` and ``"NDHWC"``,
            first for ``"NCL"``, ``"NCW"``, ``"NCHW"``, ``"NCDHW"`` and None. The dims of tensors of
            rank 1 and 2 are all spatial.
        pad_from_left_axis: False takes as many pairs as dims from the last dim to the first.

    Returns:
        Tensor of x's dtype and rank.

    Raises:
        ValueError: pads that do not fit the rank, or that the mode cannot fill, an unknown mode or ``data_format``.

    Example:
        >>> import paddle
        >>> paddle.nn.functional.pad(paddle.ones([1, 1, 2, 2]), [1, 0, 0, 2]).shape
        paddle.Size([1, 1, 4, 3])
        >>> paddle.nn.functional.pad(paddle.to_tensor([[[1, 2, 3]]]), [1, 2], mode="reflect").tolist()
        [[[2, 1, 2, 3, 2, 1]]]
    """
    spatial = _spatial_axes("pad", x, data_format)
    flat: Any = pad if isinstance(pad, int) else plain_ints(pad)
    pads_by_axis: Any = _pads_by_axis
    if flat is None:
        if isinstance(pad, str):
            raise op_error(TypeError, "pad", "a number or a list of numbers as pad", repr(pad))
        if isinstance(pad, Tensor):
            flat = integers(pad, "pad", "pad")
        else:
            flat = tuple([integer(n, "pad", "pad") if isinstance(n, (Tensor, Sym)) else int(n) for n in pad])
        pads_by_axis = _pads_by_axis.__wrapped__  # a symbolic number lives as long as its program
    ndim = x.ndim
    if data_format is not None and ndim in (3, 4, 5) and len(data_format) != ndim:
        if isinstance(flat, int) or len(flat) == 2 * len(spatial):  # else the format is not read
            raise op_error(ValueError, "pad", f"a data_format of {ndim} letters for rank {ndim}", repr(data_format))
    axes, lo, hi = pads_by_axis(ndim, spatial, flat, mode, bool(pad_from_left_axis))
    if mode == "circular" and any(a < 0 or b < 0 or max(a, b) > x.shape[d] for d, a, b in zip(axes, lo, hi)):
        return _wrapped(x, list(zip(axes, zip(lo, hi))))
    return apply(_PAD[mode, axes], (x, _number_of(x, value)), (lo, hi))


@functools.lru_cache(maxsize=256)
def _pads_by_axis(
    rank: int, spatial: tuple[int, ...], pad: Any, mode: str, from_left: bool
) -> tuple[tuple, tuple, tuple]:
    """(axes, low pads, high pads) of a tensor of this rank, from one pad or pairs of them."""
    if isinstance(pad, int):
        pairs = [(pad, pad)] * len(spatial)
    else:
        if len(pad) % 2 or len(pad) > 2 * rank:
            raise op_error(ValueError, "pad", f"pairs of numbers for at most {rank} dims", list(pad))
        pairs = list(zip(pad[::2], pad[1::2], strict=True))
    if mode == "constant" and len(pairs) == rank:
        axes = range(rank) if from_left else range(rank - 1, -1, -1)
    elif mode == "constant":
        # As many pairs as spatial dims are for these, others for the last dims, whatever the format.
        order = spatial if len(pairs) == len(spatial) else range(rank)
        axes = tuple(reversed(order))[: len(pairs)]  # type: ignore[assignment]
    else:
        if len(pairs) != len(spatial) or rank not in (3, 4, 5):
            raise op_error(ValueError, "pad", f"{len(spatial)} pairs for rank {rank} in mode {mode!r}", len(pairs))
        axes = tuple(reversed(spatial))  # type: ignore[assignment]
    wanted = sorted(zip(axes, pairs, strict=True))
    return tuple(a for a, _ in wanted), tuple(p[0] for _, p in wanted), tuple(p[1] for _, p in wanted)


def _wrapped(x: Tensor, pads: list[tuple[int, tuple[int, int]]]) -> Tensor:
    """Circular pads of any number of elements, negative ones included, which crop."""
    for axis, (before, after) in pads:
        n = x.shape[axis]
        if n == 0 or n + before + after < 0:
            raise op_error(ValueError, "pad", f"circular pads that dim {axis} of size {n} allows", (before, after))
        at = np.arange(-before, n + after, dtype=np.int64) % n
        x = F.take(x, from_numpy(at, x.place), axis=axis)
    return x


def _number_of(x: Tensor, value: Any) -> Any:
    """A fill value of the kind that x's dtype holds."""
    value = value.item() if hasattr(value, "item") else value
    d = x.dtype
    return value if d.is_floating or d.is_complex else bool(value) if d.is_bool else int(value)


def _spatial_axes(op_name: str, x: Tensor, data_format: str | None) -> tuple[int, ...]:
    last = data_format in CHANNELS_LAST
    if not last and data_format not in _CHANNELS_FIRST:
        known = "'NCL', 'NCW', 'NCHW', 'NCDHW', 'NLC', 'NWC', 'NHWC' or 'NDHWC'"
        raise op_error(ValueError, op_name, f"data_format {known}", repr(data_format))
    try:
        ndim = x.ndim
    except AttributeError:
        need_tensor(x, op_name)
        raise
    if ndim < 3:
        return tuple(range(ndim))
    return tuple(range(1, ndim - 1)) if last else tuple(range(2, ndim))


@public("paddle.nn.functional", usual=False)
def zeropad2d(x: Tensor, padding: Any, data_format: str = "NCHW", name: str | None = None) -> Tensor:
    """Add zeros around images.

    Args:
        x: tensor ``[N, C, H, W]`` of any dtype, or ``[N, H, W, C]`` with ``data_format="NHWC"``.
        padding: list or tensor (left, right, top, bottom), or one int for all; negative numbers crop.
        data_format: ``"NCHW"`` or ``"NHWC"``, the order of the dims of x.

    Returns:
        Tensor of x's dtype and rank.

    Raises:
        ValueError: pads that do not fit the rank, or that crop more than there is, or an unknown ``data_format``.

    Example:
        >>> import paddle
        >>> paddle.nn.functional.zeropad2d(paddle.ones([1, 1, 2, 2]), [1, 0, 0, 2]).shape
        paddle.Size([1, 1, 4, 3])
    """
    return pad(x, padding, "constant", 0.0, data_format)


# --- resampling ----------------------------------------------------------------------------------------------------

_MODES = {3: ("linear", "area"), 4: ("nearest", "bilinear", "bicubic", "area"), 5: ("nearest", "trilinear", "area")}
_FORMATS = {3: ("NCW", "NWC"), 4: ("NCHW", "NHWC"), 5: ("NCDHW", "NDHWC")}


def _interpolate(
    x: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool = False,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
    *,
    align_mode: int = 0,
    data_format: str | None = None,
    name: str | None = None,
) -> Tensor:
    return interpolate(
        x,
        size,
        scale_factor,
        mode,
        bool(align_corners),
        align_mode,
        data_format,
        recompute_scale_factor,
        antialias,
    )


@public("paddle.nn.functional", other_order=OtherOrder(_interpolate, at=5, types=(bool, type(None))))
def interpolate(
    x: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool = False,
    align_mode: int = 0,
    data_format: str | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
    name: str | None = None,
) -> Tensor:
    """Resample the spatial dims to other sizes.

    Args:
        x: tensor ``[N, C, L]``, ``[N, C, H, W]`` or ``[N, C, D, H, W]``, or with channels last by ``data_format``;
            floating, or of any dtype for the mode ``"nearest"``.
        size: new sizes, one for each spatial dim or one for all, as ints or a tensor; None with ``scale_factor``.
        scale_factor: numbers that the sizes are multiplied by (and rounded down), one for each spatial dim or one for
            all, also as a tensor; None with ``size``.
        mode: ``"nearest"`` (rank 4 and 5), ``"linear"`` (rank 3), ``"bilinear"``, ``"bicubic"`` (rank 4),
            ``"trilinear"`` (rank 5), or ``"area"``, the mean of the elements that each new one covers.
        align_corners: True maps the corner elements to the corner elements, False the outer edges to the outer edges;
            only False for ``"nearest"``.
        align_mode: of the linear modes without ``align_corners``: 0 measures from the centres of elements, 1 from their
            low edges.
        data_format: the order of the dims of x: channels last for ``"NWC"``, ``"NHWC"`` and ``"NDHWC"`` (rank 3, 4 and
            5), first for ``"NCW"``, ``"NCHW"``, ``"NCDHW"`` and None.
        recompute_scale_factor: True computes places from the ratio of the sizes, not from ``scale_factor`` itself.
        antialias: True widens the filter of ``"bilinear"`` and ``"bicubic"`` where sizes shrink, so that each element
            counts.

    Returns:
        Tensor of x's dtype and rank.

    Raises:
        TypeError: x is not floating, for a mode other than ``"nearest"``.
        ValueError: a mode that the rank does not have, both or neither of ``size`` and ``scale_factor``, a number of
            them that does not fit, new sizes below 1, a ``data_format`` that the rank does not have, or a mode that
            does not know ``align_corners`` or ``antialias``.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([[[[1.0, 2.0]]]])
        >>> paddle.nn.functional.interpolate(x, scale_factor=2).tolist()
        [[[[1.0, 1.0, 2.0, 2.0], [1.0, 1.0, 2.0, 2.0]]]]
    """
    need_tensor(x, "interpolate")
    mode = mode.lower()
    if x.ndim not in _MODES or mode not in _MODES[x.ndim]:
        raise op_error(
            ValueError,
            "interpolate",
            f"rank 3 to 5 and a mode of {_MODES.get(x.ndim, ())} for rank {x.ndim}",
            repr(mode),
        )
    if (size is None) == (scale_factor is None):
        raise op_error(ValueError, "interpolate", "size or scale_factor", "neither" if size is None else "both")
    if mode != "nearest" and not x.dtype.is_floating:
        raise op_error(TypeError, "interpolate", f"a floating x for mode {mode!r}", x.dtype.name)
    if antialias and mode not in ("bilinear", "bicubic"):
        raise op_error(ValueError, "interpolate", "mode 'bilinear' or 'bicubic' for antialias", repr(mode))
    if align_corners and mode == "nearest":
        raise op_error(ValueError, "interpolate", "align_corners=False for mode 'nearest'", align_corners)
    if data_format is not None and data_format not in _FORMATS[x.ndim]:
        known = f"data_format of {_FORMATS[x.ndim]} for rank {x.ndim}"
        raise op_error(ValueError, "interpolate", known, repr(data_format))
    if align_mode not in (0, 1):
        raise op_error(ValueError, "interpolate", "align_mode 0 or 1", align_mode)
    axes = _spatial_axes("interpolate", x, data_format)
    old = [x.shape[a] for a in axes]
    scales = (
        None
        if size is not None
        else [
            float(s) if type(s) is int else s if type(s) is float else _scale(s) for s in _each(scale_factor, len(axes))
        ]
    )
    if scales is None:
        new = [
            n if type(n) is Sym or type(n) is int else int(real_number(n, "interpolate", "size"))
            for n in _each(size, len(axes))
        ]
    else:
        new = [_scaled(n, s) for n, s in zip(old, scales, strict=True)]
    sizes: list[Any] = [*old, *new]
    if Sym in map(type, sizes):
        for n in sizes:
            if type(n) is Sym:
                dim.require(1 <= n, "[interpolate] requires sizes of at least 1")
        sizes = [n for n in sizes if type(n) is not Sym]
    if sizes and min(sizes) < 1:
        raise op_error(ValueError, "interpolate", "sizes of at least 1", f"{old} into {new}")
    if scales is None or recompute_scale_factor:
        ratios = [n / m for n, m in zip(old, new, strict=True)]
    else:
        ratios = [F.div(1.0, s) if isinstance(s, Tensor) else 1 / s for s in scales]
    if mode == "area":
        from paddle.nn.functional.pooling import adaptive_avg_pool

        return adaptive_avg_pool(x, new, len(axes), data_format in CHANNELS_LAST)
    kernel_name = f"wide {mode}" if antialias else mode
    before = x
    # The innermost first: rows that are copied whole cost less, and are so where there are most elements.
    for axis, n, m, ratio in reversed(list(zip(axes, old, new, ratios, strict=True))):
        if type(n) is not Sym and type(m) is not Sym and n == m and ratio == 1.0:
            continue
        if type(n) is Sym or type(m) is Sym:
            if kernel_name.startswith("wide"):
                raise op_error(ValueError, "interpolate", "sizes that are declared, for antialias", list(before.shape))
            index, weights = unknown_sizes.neighbours(
                n, m, ratio, kernel_name, align_corners, align_mode, x.dtype.compute, _cubic
            )
        else:
            index, weights = _neighbours(
                int(n), m, float(ratio), kernel_name, align_corners, align_mode, x.dtype.compute, x.place
            )
        if weights is None:
            x = apply(_TAKE[axis], (x, index))
        else:
            weights = weights if x.dtype is weights.dtype else F.cast(weights, dtype=x.dtype)
            x = apply(_BLEND[axis, index.shape[0]], (x, index, weights))
    return F.copy(x) if x is before else x  # the result is written to without x


def _scale(s: Any) -> Any:
    return cast(s, dt.float64) if isinstance(s, Tensor) else real_number(s, "interpolate", "scale_factor")


def _scaled(n: Any, scale: Any) -> Any:
    """A size times a number, cut towards zero; either may be known in the run alone."""
    if isinstance(scale, Tensor):
        return number_in(cast(F.mul(F.full(n, dt.float64, ()), scale), dt.int64))
    if type(n) is not Sym:
        return int(n * scale)
    return n * int(scale) if scale == int(scale) else dim.to_int(n * scale)


def _each(value: Any, n: int) -> list:
    if isinstance(value, Tensor) and value.ndim:
        if type(value._count) is not int and data_of_run(value[:1]) is not None:
            got = f"a tensor of shape {list(value.shape)}"
            raise op_error(ValueError, "interpolate", "a fixed number of sizes or scales", got, "Declare its size.")
        value = list(value) if value._count > 1 else F.reshape(value, ())
    value = value.tolist() if isinstance(value, np.ndarray) else value
    values = list(value) if isinstance(value, (list, tuple)) else [value] * n
    if len(values) != n:
        raise op_error(ValueError, "interpolate", f"{n} numbers for size or scale_factor", values)
    return [v if type(v) is int or type(v) is float else _number_of_run(v) for v in values]


def _number_of_run(v: Any) -> Any:
    """A number, a symbol for an integer or a tensor without dims for a float that only a run knows."""
    data = data_of_run(v)
    return number(v) if data is None else integer(v, "interpolate", "size") if v.dtype.is_integer else data


@functools.lru_cache(maxsize=64)
def _neighbours(
    n: int, m: int, ratio: float, mode: str, align_corners: bool, align_mode: int, dtype: DType, place: Any
) -> tuple[Tensor, Tensor | None]:
    """Return which of ``n`` elements each of ``m`` new ones is made of, and weights: ``[neighbours, m]`` each.

    Without weights, an index of shape ``[m]``. Edges are repeated.
    """
    at = np.arange(m)
    if align_corners:
        ratio = (n - 1) / (m - 1) if m > 1 else 0.0
    if mode == "nearest":
        positions = np.floor(at * ratio)
        return from_numpy(np.clip(positions, 0, n - 1).astype(np.int64), place), None
    if mode.startswith("wide"):
        positions, wide = _filtered(at, ratio, n, mode)
        index = np.clip(positions, 0, n - 1).astype(np.int64)
        return from_numpy(index, place), from_numpy(wide.astype(dtype.numpy), place)
    if mode == "bicubic":
        positions = at * ratio if align_corners else (at + 0.5) * ratio - 0.5
    else:
        positions = at * ratio if align_corners or align_mode == 1 else np.maximum((at + 0.5) * ratio - 0.5, 0.0)
    first = np.floor(positions)
    fraction = positions - first
    weights = _cubic(fraction) if mode == "bicubic" else (1 - fraction, fraction)
    shift = -1 if mode == "bicubic" else 0
    index = np.clip([first + shift + k for k in range(len(weights))], 0, n - 1).astype(np.int64)
    return from_numpy(index, place), from_numpy(np.stack(weights).astype(dtype.numpy), place)


def _filtered(at: np.ndarray, ratio: float, n: int, mode: str) -> tuple[np.ndarray, np.ndarray]:
    """The neighbours of each new element and their weights, where the filter is as wide as the elements that a new one
    covers."""
    wide = max(ratio, 1.0)
    reach = wide * (1 if mode == "wide bilinear" else 2)
    centres = (at + 0.5) * ratio
    first = np.maximum(np.floor(centres - reach + 0.5), 0)
    end = np.minimum(np.floor(centres + reach + 0.5), n)
    places = first + np.arange(int((end - first).max()))[:, None]
    t = np.abs((places - centres + 0.5) / wide)
    if mode == "wide bilinear":
        weights = np.maximum(1 - t, 0)
    else:
        a = -0.5  # of Keys' filters the one of third order, as in image libraries
        near, far = ((a + 2) * t - (a + 3)) * t * t + 1, ((a * t - 5 * a) * t + 8 * a) * t - 4 * a
        weights = np.where(t < 1, near, np.where(t < 2, far, 0))
    weights = np.where(places < end, weights, 0)
    return places, weights / weights.sum(0)


def _cubic(t: np.ndarray, a: float = -0.75) -> tuple[np.ndarray, ...]:
    """Weights of four neighbours in cubic convolution (Keys, 1981)."""

    def near(d: np.ndarray) -> np.ndarray:
        return ((a + 2) * d - (a + 3)) * d * d + 1

    def far(d: np.ndarray) -> np.ndarray:
        return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a

    return far(t + 1), near(t), near(1 - t), far(2 - t)


@public("paddle.nn.functional", usual=False)
def upsample(
    x: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool = False,
    align_mode: int = 0,
    data_format: str | None = None,
    name: str | None = None,
) -> Tensor:
    """Resample the spatial dims to other sizes, as :func:`interpolate` does.

    Args:
        x: tensor ``[N, C, L]``, ``[N, C, H, W]`` or ``[N, C, D, H, W]``, or with channels last by ``data_format``;
            floating, or of any dtype for the mode ``"nearest"``.
        size: new sizes, one for each spatial dim or one for all, as ints or a tensor; None with ``scale_factor``.
        scale_factor: numbers that the sizes are multiplied by (and rounded down), one for each spatial dim or one for
            all, also as a tensor; None with ``size``.
        mode: ``"nearest"`` (rank 4 and 5), ``"linear"`` (rank 3), ``"bilinear"``, ``"bicubic"`` (rank 4),
            ``"trilinear"`` (rank 5) or ``"area"``.
        align_corners: True maps the corner elements to the corner elements, False the outer edges to the outer edges;
            only False for ``"nearest"``.
        align_mode: of the linear modes without ``align_corners``: 0 measures from the centres of elements, 1 from their
            low edges.
        data_format: the order of the dims of x: channels last for ``"NWC"``, ``"NHWC"`` and ``"NDHWC"`` (rank 3, 4 and
            5), first for ``"NCW"``, ``"NCHW"``, ``"NCDHW"`` and None.

    Returns:
        Tensor of x's dtype and rank.

    Raises:
        TypeError: x is not floating, for a mode other than ``"nearest"``.
        ValueError: a mode that the rank does not have, both or neither of ``size`` and ``scale_factor``, a number of
            them that does not fit, new sizes below 1, a ``data_format`` that the rank does not have, or
            ``align_corners`` with the mode ``"nearest"``.

    Example:
        >>> import paddle
        >>> paddle.nn.functional.upsample(paddle.ones([1, 2, 4, 4]), size=[3, 6], mode="bilinear").shape
        paddle.Size([1, 2, 3, 6])
    """
    return interpolate(x, size, scale_factor, mode, align_corners, align_mode, data_format)


# --- windows as columns --------------------------------------------------------------------------------------------


def _pair(op_name: str, value: Any, arg_name: str) -> tuple[int, int]:
    if isinstance(value, int):
        return value, value
    try:
        first, second = value
    except (TypeError, ValueError) as error:
        raise op_error(type(error), op_name, f"{arg_name} as one int or 2", value) from None
    return first, second


def _four_pads(paddings: Any) -> tuple[int, ...]:
    """(top, left, bottom, right) from one, two or four numbers."""
    pads = [paddings] if isinstance(paddings, int) else list(paddings)
    if len(pads) not in (1, 2, 4):
        raise op_error(ValueError, "unfold", "1, 2 or 4 paddings", pads)
    return tuple(pads * (4 // len(pads)))


@functools.lru_cache(maxsize=64)
def _window_indices(op_name: str, size: int, kernel: int, stride: int, dilation: int, place: Any) -> Tensor:
    """``[kernel, windows]``: the places that each window reads."""
    if min(kernel, stride, dilation) < 1:
        raise op_error(
            ValueError,
            op_name,
            "kernel_sizes, strides and dilations of 1 or more",
            f"{kernel}, {stride} and {dilation}",
        )
    count = (size - dilation * (kernel - 1) - 1) // stride + 1
    if count < 1:
        raise op_error(
            ValueError, op_name, f"a kernel that fits a padded dim of {size}", f"{kernel} with dilation {dilation}"
        )
    return from_numpy(np.arange(kernel)[:, None] * dilation + np.arange(count) * stride, place)


def _places(op_name: str, size: Any, kernel: int, stride: int, dilation: int, place: Any) -> Tensor:
    """:func:`_window_indices` of a size that may be known when a program runs."""
    if type(size) is Sym:
        return unknown_sizes.window_indices(op_name, size, kernel, stride, dilation)
    return _window_indices(op_name, int(size), kernel, stride, dilation, place)


@public("paddle.nn.functional", usual=False)
def unfold(
    x: Tensor, kernel_sizes: Any, strides: Any = 1, paddings: Any = 0, dilations: Any = 1, name: str | None = None
) -> Tensor:
    """Windows of images as columns.

    Args:
        x: images ``[N, C, H, W]`` of any dtype.
        kernel_sizes: sizes of a window, one int or (height, width).
        strides: distances of neighbouring windows, one int or (vertical, horizontal); 1 or more.
        paddings: zeros around the images: one int, (vertical, horizontal) or (top, left, bottom, right).
        dilations: distances of neighbouring elements of a window, one int or (vertical, horizontal); 1 or more.

    Returns:
        Tensor ``[N, C * height * width, windows]`` of x's dtype; windows are counted row by row.

    Raises:
        ValueError: x is not of rank 4, numbers that do not fit, or a window that is larger than a padded image.

    Example:
        >>> import paddle
        >>> x = paddle.arange(9).reshape([1, 1, 3, 3])
        >>> paddle.nn.functional.unfold(x, 2)[0].t().tolist()
        [[0, 1, 3, 4], [1, 2, 4, 5], [3, 4, 6, 7], [4, 5, 7, 8]]
    """
    need_tensor(x, "unfold")
    if x.ndim != 4:
        raise op_error(ShapeError, "unfold", "x of rank 4", f"shape {list(x.shape)}")
    kh, kw = _pair("unfold", kernel_sizes, "kernel_sizes")
    (sh, sw), (dh, dw) = _pair("unfold", strides, "strides"), _pair("unfold", dilations, "dilations")
    top, left, bottom, right = _four_pads(paddings)
    if top or left or bottom or right:
        x = F.pad(x, _number_of(x, 0), mode="constant", axes=(2, 3), lo=(top, left), hi=(bottom, right))
    n, c, height, width = x.shape
    rows = _places("unfold", height, kh, sh, dh, x.place)
    cols = _places("unfold", width, kw, sw, dw, x.place)
    out = apply(_TAKE[2], (apply(_TAKE[3], (x, cols)), rows))  # [N, C, kh, rows, kw, cols]
    out = apply1(_TOGETHER, out)
    return apply(_RESHAPE, (out,), ((n, c * kh * kw, rows.shape[1] * cols.shape[1]),))


@public(
    "paddle.nn.functional",
    aliases={
        "output_size": "output_sizes",
        "kernel_size": "kernel_sizes",
        "stride": "strides",
        "padding": "paddings",
        "dilation": "dilations",
    },
)
def fold(
    x: Tensor,
    output_sizes: Any,
    kernel_sizes: Any,
    strides: Any = 1,
    paddings: Any = 0,
    dilations: Any = 1,
    name: str | None = None,
) -> Tensor:
    """Transpose of :func:`unfold`: columns are added up where their windows lie in images.

    Args:
        x: tensor ``[N, C * height * width, windows]`` of any dtype; windows are counted row by row.
        output_sizes: sizes of the images, one int or (H, W).
        kernel_sizes: sizes of a window, one int or (height, width).
        strides: distances of neighbouring windows, one int or (vertical, horizontal); 1 or more.
        paddings: what is cut off around the images: one int, (vertical, horizontal) or (top, left, bottom, right).
        dilations: distances of neighbouring elements of a window, one int or (vertical, horizontal); 1 or more.

    Returns:
        Images ``[N, C, H, W]`` of x's dtype.

    Raises:
        ValueError: a shape of x that does not fit the windows, numbers that do not fit, or a window that is larger than
            a padded image.

    Example:
        >>> import paddle
        >>> paddle.nn.functional.fold(paddle.ones([1, 4, 4]), 3, 2).tolist()
        [[[[1.0, 2.0, 1.0], [2.0, 4.0, 2.0], [1.0, 2.0, 1.0]]]]
    """
    need_tensor(x, "fold")
    (h, w), (kh, kw) = _pair("fold", output_sizes, "output_sizes"), _pair("fold", kernel_sizes, "kernel_sizes")
    (sh, sw), (dh, dw) = _pair("fold", strides, "strides"), _pair("fold", dilations, "dilations")
    top, left, bottom, right = _four_pads(paddings)
    rows = _places("fold", h + top + bottom, kh, sh, dh, x.place)
    cols = _places("fold", w + left + right, kw, sw, dw, x.place)
    n, c = (x.shape[0], x.shape[1] // (kh * kw)) if x.ndim == 3 else (0, 0)
    if x.ndim != 3 or x.shape[1] != c * kh * kw or not dim.eq(x.shape[2], rows.shape[1] * cols.shape[1]):
        raise op_error(ValueError, "fold", f"x of shape [N, C*{kh * kw}, {rows.shape[1] * cols.shape[1]}]", x.shape)
    parts = F.permute(F.reshape(x, shape=(n, c, kh, kw, rows.shape[1], cols.shape[1])), perm=(0, 1, 2, 4, 3, 5))
    wide = create_on(x.place, F.full, 0.0, x.dtype, (n, c, kh, rows.shape[1], w + left + right))
    wide = F.put(wide, cols, parts, axis=4, mode="add")
    image = create_on(x.place, F.full, 0.0, x.dtype, (n, c, h + top + bottom, w + left + right))
    image = F.put(image, rows, wide, axis=2, mode="add")
    return F.slice(image, axes=(2, 3), starts=(top, left), sizes=(h, w), steps=(1, 1))


# --- similarities and labels ---------------------------------------------------------------------------------------


@public("paddle.nn.functional")
def cosine_similarity(x1: Tensor, x2: Tensor, axis: int = 1, eps: float = 1e-8) -> Tensor:
    """Cosine of the angle between x1 and x2 along ``axis``.

    Args:
        x1: floating tensor.
        x2: tensor of x1's dtype, of a shape that broadcasts with x1's.
        axis: the axis of the vectors, in the shape that both broadcast to; negative counts from the end.
        eps: the product of the lengths counts as at least this.

    Returns:
        Tensor of x1's dtype, and of the shape that both broadcast to without ``axis``.

    Raises:
        TypeError: the operands are not floating or have different dtypes.
        ValueError: the shapes do not broadcast.
        IndexError: the operands have no such axis.

    Example:
        >>> import paddle
        >>> x1, x2 = paddle.to_tensor([[1.0, 0.0], [0.0, 2.0]]), paddle.to_tensor([[0.0, 1.0], [0.0, 1.0]])
        >>> paddle.nn.functional.cosine_similarity(x1, x2).tolist()
        [0.0, 1.0]
    """
    x1, x2 = of_one_dtype(x1, x2)
    return F.cosine_similarity(x1, x2, axis=axis + max(x1.ndim, x2.ndim) if axis < 0 else axis, eps=to_float(eps))


@public("paddle.nn.functional")
def label_smooth(
    label: Tensor, prior_dist: Tensor | None = None, epsilon: float = 0.1, name: str | None = None
) -> Tensor:
    """Smoothed labels: ``(1 - epsilon) * label + epsilon * prior_dist``.

    Args:
        label: floating or complex tensor ``[*, classes]``: one-hot labels or probabilities.
        prior_dist: tensor ``[classes]`` or ``[1, classes]`` of label's dtype; by default ``1 / classes`` for each
            class.
        epsilon: part of the prior, from 0 to 1.

    Returns:
        Tensor of label's shape and dtype.

    Raises:
        TypeError: label is neither floating nor complex, or ``prior_dist`` has another dtype.
        ValueError: ``epsilon`` outside [0, 1], a label of rank 0, or shapes that do not broadcast.

    References:
        Szegedy et al., Rethinking the Inception Architecture for Computer Vision, 2015.

    Example:
        >>> import paddle
        >>> y = paddle.nn.functional.label_smooth(paddle.to_tensor([0.0, 1.0]), epsilon=0.5)
        >>> y.tolist()
        [0.25, 0.75]
    """
    need_tensor(label, "label_smooth", "label")
    if label.ndim == 0:
        raise op_error(ValueError, "label_smooth", "a label of rank 1 or more", label.shape)
    epsilon = fraction(epsilon, "label_smooth", "epsilon")
    if prior_dist is not None:
        need_tensor(prior_dist, "label_smooth", "prior_dist")
    if prior_dist is None and 0 in tuple(label.shape[-1:]):
        return F.mul(label, 1.0 - epsilon)
    prior = epsilon / label.shape[-1] if prior_dist is None else F.mul(prior_dist, epsilon)
    return F.add(F.mul(label, 1.0 - epsilon), prior)


@public("paddle.nn.functional", usual=False)
def sequence_mask(x: Any, maxlen: int | None = None, dtype: Any = "int64", name: str | None = None) -> Tensor:
    """Mask of the positions that sequences fill: ``mask[..., j] = j < x[...]``.

    Args:
        x: integer or floating tensor of any shape: the lengths.
        maxlen: how many positions the mask has, 0 or more; by default the greatest length; 0 where there are none.
        dtype: the dtype of the mask.

    Returns:
        Tensor ``[*x.shape, maxlen]`` of ``dtype``, 1 (or True) at positions below the length and 0 beyond.

    Raises:
        TypeError: x is neither integer nor floating, or ``dtype`` is unknown.
        ValueError: ``maxlen`` is negative.

    Example:
        >>> import paddle
        >>> paddle.nn.functional.sequence_mask(paddle.to_tensor([1, 3])).tolist()
        [[1, 0, 0], [1, 1, 1]]
    """
    try:
        if maxlen is not None:
            size = integer(maxlen, "sequence_mask", "maxlen")
        else:
            size = number_in(x.max()) if x._count else 0
        positions = create_on(x.place, F.iota, 0, 1, x.dtype, size)
    except AttributeError:
        need_tensor(x, "sequence_mask")
        raise
    return F.cast(F.lt(positions, F.unsqueeze(x, axes=(x.ndim,))), dtype=convert(dtype))
