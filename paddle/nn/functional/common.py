"""Linear maps, dropout, padding, resampling and similarities."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from paddle._public import public
from paddle.nn._ops import random_apply
from paddle.tensor._args import Records, made_on
from umiak import ops as F
from umiak.core.array import from_numpy
from umiak.core.dtype import convert
from umiak.core.eager import apply
from umiak.core.inplace import assign
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error

_ALPHA_DROPOUT = Records(F.AlphaDropout)
_DROPOUT = Records(F.Dropout)
_LINEAR = F.Linear()

CHANNELS_LAST = frozenset(("NLC", "NHWC", "NDHWC"))


@public("paddle.nn.functional", usual=False, op=_LINEAR, operands=2)
def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None, name: str | None = None) -> Tensor:
    """``x @ weight + bias``.

    Args:
        x: ``[*, in_features]``.
        weight: ``[in_features, out_features]``.
        bias: ``[out_features]``.

    Raises:
        ValueError: sizes that do not fit.
        TypeError: operands of different dtypes.

    Example:
        >>> import paddle
        >>> paddle.nn.functional.linear(paddle.ones([2, 3]), paddle.ones([3, 4])).shape
        [2, 4]
    """
    return apply(_LINEAR, (x, weight, bias))


@public("paddle.nn.functional")
def bilinear(x1: Tensor, x2: Tensor, weight: Tensor, bias: Tensor | None = None, name: str | None = None) -> Tensor:
    """``out[n, k] = sum of x1[n, i] * weight[k, i, j] * x2[n, j]``, plus ``bias``.

    Args:
        x1: ``[N, in1]``.
        x2: ``[N, in2]``.
        weight: ``[out, in1, in2]``.
        bias: ``[1, out]``.
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
    """Set elements to zero at random.

    Args:
        x: floating tensor.
        p: the probability of zero.
        axis: draw one number per place along these axes, and drop along all others together.
        training: False leaves x as it is (or scales it, see ``mode``).
        inplace: write the result into x.
        mode: ``"upscale_in_train"`` divides the rest by ``1 - p`` in training; ``"downscale_in_infer"`` multiplies by
            ``1 - p`` otherwise.

    Raises:
        ValueError: ``p`` outside [0, 1], an unknown mode or axis.

    Example:
        >>> import paddle
        >>> paddle.nn.functional.dropout(paddle.ones([3]), p=1.0).tolist()
        [0.0, 0.0, 0.0]
    """
    if type(p) is not float:
        p = float(p)
    if not 0.0 <= p <= 1.0:
        raise op_error(ValueError, "dropout", "p between 0 and 1", p)
    if mode not in ("upscale_in_train", "downscale_in_infer"):
        raise op_error(ValueError, "dropout", "mode 'upscale_in_train' or 'downscale_in_infer'", repr(mode))
    if not training:
        y = x if mode == "upscale_in_train" else F.mul(x, 1.0 - p)
    elif p == 0.0:
        y = x
    else:
        y = random_apply(_DROPOUT[None if axis is None else _dropout_axes(x, axis), mode], x, p)
    return assign(x, y) if inplace and y is not x else y


def _dropout_axes(x: Tensor, axis: int | Sequence[int]) -> tuple[int, ...]:
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    if not axes or len(axes) > x.ndim or not all(0 <= a < x.ndim for a in axes):
        raise op_error(ValueError, "dropout", f"axes from 0 to {x.ndim - 1}", axis)
    return axes


def _channel_axes(who: str, x: Tensor, ndim: int, data_format: str) -> tuple[int, int]:
    if x.ndim != ndim:
        raise op_error(ValueError, who, f"x of rank {ndim}", x.ndim)
    first, last = ("NCHW", "NHWC") if ndim == 4 else ("NCDHW", "NDHWC")
    if data_format not in (first, last):
        raise op_error(ValueError, who, f"data_format {first!r} or {last!r}", repr(data_format))
    return (0, ndim - 1) if data_format == last else (0, 1)


@public("paddle.nn.functional")
def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Drop whole channels of ``[N, C, L]`` or ``[C, L]``."""
    if input.ndim not in (2, 3):
        raise op_error(ValueError, "dropout1d", "input of rank 2 or 3", input.ndim)
    return dropout(input, p, tuple(range(input.ndim - 1)), training, inplace)


@public("paddle.nn.functional", usual=False)
def dropout2d(
    x: Tensor, p: float = 0.5, training: bool = True, data_format: str = "NCHW", name: str | None = None
) -> Tensor:
    """Drop whole channels of images: ``[N, C, H, W]``, or ``[N, H, W, C]`` with ``data_format="NHWC"``."""
    return dropout(x, p, _channel_axes("dropout2d", x, 4, data_format), training)


@public("paddle.nn.functional", usual=False)
def dropout3d(
    x: Tensor, p: float = 0.5, training: bool = True, data_format: str = "NCDHW", name: str | None = None
) -> Tensor:
    """Drop whole channels of volumes: ``[N, C, D, H, W]``, or channels last with ``data_format="NDHWC"``."""
    return dropout(x, p, _channel_axes("dropout3d", x, 5, data_format), training)


def _alpha_dropout(who: str, x: Tensor, p: float, training: bool, axes: tuple[int, ...] | None) -> Tensor:
    p = float(p)
    if not 0.0 <= p <= 1.0:
        raise op_error(ValueError, who, "p between 0 and 1", p)
    return x if not training or p == 0.0 else random_apply(_ALPHA_DROPOUT[(axes,)], x, p)


@public("paddle.nn.functional", usual=False)
def alpha_dropout(x: Tensor, p: float = 0.5, training: bool = True, name: str | None = None) -> Tensor:
    """Dropout for SELU networks: mean and variance are kept. Raises ValueError for ``p`` outside [0, 1]."""
    return _alpha_dropout("alpha_dropout", x, p, training, None)


@public("paddle.nn.functional", usual=False)
def feature_alpha_dropout(x: Tensor, p: float = 0.5, training: bool = True, name: str | None = None) -> Tensor:
    """:func:`alpha_dropout` of whole channels of ``[N, C, *]``."""
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
    """Add elements around a tensor.

    Args:
        x: any tensor.
        pad: pairs (before, after). As many pairs as dims (constant mode only) go from the first dim to the last, or
            from the
            last to the first with ``pad_from_left_axis=False``; fewer go from the last spatial dim to the first
            (left, right, top, bottom, front, back). One int pads every spatial dim. Negative numbers crop.
        mode: ``"constant"``, ``"reflect"``, ``"replicate"`` or ``"circular"``.
        value: the constant.
        data_format: ``"NCL"``, ``"NCHW"``, ``"NCDHW"`` or channels last: ``"NLC"``, ``"NHWC"``, ``"NDHWC"``.

    Raises:
        ValueError: pads that do not fit the rank, or that the mode cannot fill.

    Example:
        >>> import paddle
        >>> paddle.nn.functional.pad(paddle.ones([1, 1, 2, 2]), [1, 0, 0, 2]).shape
        [1, 1, 4, 3]
    """
    spatial = _spatial_axes(x.ndim, data_format)
    if isinstance(pad, int):
        pairs = [(pad, pad)] * len(spatial)
    else:
        flat = [int(n) for n in (pad.tolist() if hasattr(pad, "tolist") else pad)]
        if len(flat) % 2 or len(flat) > 2 * x.ndim:
            raise op_error(ValueError, "pad", f"pairs of numbers for at most {x.ndim} dims", flat)
        pairs = list(zip(flat[::2], flat[1::2], strict=True))
    if mode == "constant" and len(pairs) == x.ndim:
        axes = range(x.ndim) if pad_from_left_axis else range(x.ndim - 1, -1, -1)
    elif mode == "constant":
        # Dims before the spatial ones follow them where there are more pairs.
        order = [*reversed(spatial), *(a for a in range(x.ndim - 1, -1, -1) if a not in spatial)]
        axes = order[: len(pairs)]  # type: ignore[assignment]
    else:
        if len(pairs) != len(spatial) or x.ndim not in (3, 4, 5):
            raise op_error(ValueError, "pad", f"{len(spatial)} pairs for rank {x.ndim} in mode {mode!r}", len(pairs))
        axes = tuple(reversed(spatial))  # type: ignore[assignment]
    wanted = sorted(zip(axes, pairs, strict=True))
    touched = tuple(a for a, _ in wanted)
    lo, hi = (tuple(p[i] for _, p in wanted) for i in (0, 1))
    return F.pad(x, _number_of(x, value), mode=mode, axes=touched, lo=lo, hi=hi)


def _number_of(x: Tensor, value: Any) -> Any:
    """A fill value of the kind that x's dtype holds."""
    value = value.item() if hasattr(value, "item") else value
    d = x.dtype
    return value if d.is_floating or d.is_complex else bool(value) if d.is_bool else int(value)


def _spatial_axes(ndim: int, data_format: str | None) -> tuple[int, ...]:
    if ndim < 3:
        return tuple(range(ndim))
    return tuple(range(1, ndim - 1)) if data_format in CHANNELS_LAST else tuple(range(2, ndim))


@public("paddle.nn.functional", usual=False)
def zeropad2d(x: Tensor, padding: Any, data_format: str = "NCHW", name: str | None = None) -> Tensor:
    """Zeros around images; ``padding`` is (left, right, top, bottom)."""
    return pad(x, padding, "constant", 0.0, data_format)


# --- resampling ----------------------------------------------------------------------------------------------------

_MODES = {3: ("linear", "area"), 4: ("nearest", "bilinear", "bicubic", "area"), 5: ("nearest", "trilinear", "area")}


@public("paddle.nn.functional")
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
    """Resample the spatial dims.

    Args:
        x: ``[N, C, L]``, ``[N, C, H, W]`` or ``[N, C, D, H, W]``, or channels last by ``data_format`` (``input`` is
            another name).
        size: new sizes, one for each spatial dim or one for all; or
        scale_factor: by how much each grows.
        mode: ``"nearest"``, ``"linear"`` (rank 3), ``"bilinear"``, ``"bicubic"`` (rank 4), ``"trilinear"`` (rank 5),
            ``"area"``.
        align_corners: whether the corner elements keep their places, rather than the outer edges.
        align_mode: without ``align_corners``, 0 measures from centres of elements, 1 from their low edges.
        recompute_scale_factor: compute the scale from the sizes instead of using ``scale_factor`` itself.

    Raises:
        ValueError: a mode that the rank does not have, or not exactly one of size and scale_factor.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([[[[1.0, 2.0]]]])
        >>> paddle.nn.functional.interpolate(x, scale_factor=2).tolist()
        [[[[1.0, 1.0, 2.0, 2.0], [1.0, 1.0, 2.0, 2.0]]]]
    """
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
    if antialias:
        raise ValueError("[interpolate] requires antialias=False, got True")
    axes = _spatial_axes(x.ndim, data_format)
    old = [x.shape[a] for a in axes]
    scales = None if size is not None else [float(s) for s in _each(scale_factor, len(axes))]
    new = [int(n) for n in (_each(size, len(axes)) if scales is None else map(operator.mul, old, scales))]
    if min(new) < 1:
        raise op_error(ValueError, "interpolate", "new sizes of at least 1", new)
    if scales is None or recompute_scale_factor:
        ratios = [n / m for n, m in zip(old, new, strict=True)]
    else:
        ratios = [1 / s for s in scales]
    if mode == "area":
        from paddle.nn.functional.pooling import adaptive_avg_pool

        return adaptive_avg_pool(x, new, len(axes), data_format in CHANNELS_LAST)
    for axis, n, m, ratio in zip(axes, old, new, ratios, strict=True):
        if n == m and ratio == 1.0:
            continue
        if align_corners:
            ratio = (n - 1) / (m - 1) if m > 1 else 0.0
        at = np.arange(m)
        if mode == "nearest":
            places = np.floor(at * ratio + 0.5) if align_corners else np.floor(at * ratio)
            x = F.take(x, _indices(places, n, x), axis=axis)
        elif mode == "bicubic":
            places = at * ratio if align_corners else (at + 0.5) * ratio - 0.5
            x = _blend(x, axis, n, np.floor(places), _cubic(places - np.floor(places)), -1)
        else:
            places = at * ratio if align_corners or align_mode == 1 else np.maximum((at + 0.5) * ratio - 0.5, 0.0)
            fraction = places - np.floor(places)
            x = _blend(x, axis, n, np.floor(places), (1 - fraction, fraction), 0)
    return x


def _each(value: Any, n: int) -> list:
    value = value.tolist() if hasattr(value, "tolist") else value
    values = list(value) if isinstance(value, (list, tuple)) else [value] * n
    if len(values) != n:
        raise op_error(ValueError, "interpolate", f"{n} numbers for size or scale_factor", values)
    return [v.item() if hasattr(v, "item") else v for v in values]


def _indices(places: np.ndarray, n: int, x: Tensor) -> Tensor:
    return from_numpy(np.clip(places, 0, n - 1).astype(np.int64), x.place)


def _blend(x: Tensor, axis: int, n: int, first: np.ndarray, weights: Sequence[np.ndarray], shift: int) -> Tensor:
    """The weighted sum of neighbours ``first + shift``, ``first + shift + 1``, … along an axis; edges are repeated."""
    total: Any = None
    for i, weight in enumerate(weights):
        w = from_numpy(weight.astype(x.dtype.compute.numpy).reshape(-1, *(1,) * (x.ndim - 1 - axis)), x.place)
        term = F.mul(F.take(x, _indices(first + shift + i, n, x), axis=axis), F.cast(w, dtype=x.dtype))
        total = term if total is None else F.add(total, term)
    return total


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
    """The same as :func:`interpolate`."""
    return interpolate(x, size, scale_factor, mode, align_corners, align_mode, data_format)


# --- windows as columns --------------------------------------------------------------------------------------------


def _pair(value: Any) -> tuple[int, int]:
    first, second = (value, value) if isinstance(value, int) else value
    return first, second


def _four_pads(paddings: Any) -> tuple[int, ...]:
    """(top, left, bottom, right) from one, two or four numbers."""
    pads = [paddings] if isinstance(paddings, int) else list(paddings)
    if len(pads) not in (1, 2, 4):
        raise op_error(ValueError, "unfold", "1, 2 or 4 paddings", pads)
    return tuple(pads * (4 // len(pads)))


def _window_indices(who: str, size: int, kernel: int, stride: int, dilation: int, x: Tensor) -> Tensor:
    """``[kernel, windows]``: the places that each window reads."""
    if min(kernel, stride, dilation) < 1:
        raise op_error(
            ValueError, who, "kernel_sizes, strides and dilations of 1 or more", f"{kernel}, {stride} and {dilation}"
        )
    count = (size - dilation * (kernel - 1) - 1) // stride + 1
    if count < 1:
        raise op_error(
            ValueError, who, f"a kernel that fits a padded dim of {size}", f"{kernel} with dilation {dilation}"
        )
    return from_numpy(np.arange(kernel)[:, None] * dilation + np.arange(count) * stride, x.place)


@public("paddle.nn.functional", usual=False)
def unfold(
    x: Tensor, kernel_sizes: Any, strides: Any = 1, paddings: Any = 0, dilations: Any = 1, name: str | None = None
) -> Tensor:
    """The windows of images as columns: ``[N, C, H, W]`` gives ``[N, C*kh*kw, windows]``.

    Args:
        x: images.
        kernel_sizes, strides, dilations: one int, or one for each of height and width.
        paddings: one int, (height, width) or (top, left, bottom, right).
    """
    if x.ndim != 4:
        raise op_error(ValueError, "unfold", "x of rank 4", f"shape {list(x.shape)}")
    (kh, kw), (sh, sw), (dh, dw) = _pair(kernel_sizes), _pair(strides), _pair(dilations)
    top, left, bottom, right = _four_pads(paddings)
    x = F.pad(x, _number_of(x, 0), mode="constant", axes=(2, 3), lo=(top, left), hi=(bottom, right))
    rows = _window_indices("unfold", x.shape[2], kh, sh, dh, x)
    cols = _window_indices("unfold", x.shape[3], kw, sw, dw, x)
    out = F.take(F.take(x, cols, axis=3), rows, axis=2)  # [N, C, kh, rows, kw, cols]
    n, c = x.shape[:2]
    out = F.permute(out, perm=(0, 1, 2, 4, 3, 5))
    return F.reshape(out, shape=(n, c * kh * kw, rows.shape[1] * cols.shape[1]))


@public("paddle.nn.functional")
def fold(
    x: Tensor,
    output_sizes: Any,
    kernel_sizes: Any,
    strides: Any = 1,
    paddings: Any = 0,
    dilations: Any = 1,
    name: str | None = None,
) -> Tensor:
    """The transpose of :func:`unfold`: columns are added up where their windows lie in images of ``output_sizes``."""
    (kh, kw), (sh, sw), (dh, dw), (h, w) = _pair(kernel_sizes), _pair(strides), _pair(dilations), _pair(output_sizes)
    top, left, bottom, right = _four_pads(paddings)
    rows = _window_indices("fold", h + top + bottom, kh, sh, dh, x)
    cols = _window_indices("fold", w + left + right, kw, sw, dw, x)
    n, c = x.shape[0], x.shape[1] // (kh * kw)
    if x.shape[1:] != [c * kh * kw, rows.shape[1] * cols.shape[1]]:
        raise op_error(ValueError, "fold", f"x of shape [N, C*{kh * kw}, {rows.shape[1] * cols.shape[1]}]", x.shape)
    parts = F.permute(F.reshape(x, shape=(n, c, kh, kw, rows.shape[1], cols.shape[1])), perm=(0, 1, 2, 4, 3, 5))
    wide = made_on(x.place, F.full, 0.0, x.dtype, (n, c, kh, rows.shape[1], w + left + right))
    wide = F.put(wide, cols, parts, axis=4, mode="add")
    image = made_on(x.place, F.full, 0.0, x.dtype, (n, c, h + top + bottom, w + left + right))
    image = F.put(image, rows, wide, axis=2, mode="add")
    return F.slice(image, axes=(2, 3), starts=(top, left), sizes=(h, w), steps=(1, 1))


# --- similarities and labels ---------------------------------------------------------------------------------------


@public("paddle.nn.functional")
def cosine_similarity(x1: Tensor, x2: Tensor, axis: int = 1, eps: float = 1e-8) -> Tensor:
    """The cosine of the angle between x1 and x2 along ``axis``, norms taken as at least ``eps``."""
    return F.cosine_similarity(x1, x2, axis=axis + max(x1.ndim, x2.ndim) if axis < 0 else axis, eps=float(eps))


@public("paddle.nn.functional")
def label_smooth(
    label: Tensor, prior_dist: Tensor | None = None, epsilon: float = 0.1, name: str | None = None
) -> Tensor:
    """``(1 - epsilon) * label + epsilon * prior_dist``, by default with the uniform distribution.

    Raises:
        ValueError: ``epsilon`` outside [0, 1].
    """
    if not 0.0 <= epsilon <= 1.0:
        raise op_error(ValueError, "label_smooth", "epsilon between 0 and 1", epsilon)
    prior = epsilon / label.shape[-1] if prior_dist is None else F.mul(prior_dist, epsilon)
    return F.add(F.mul(label, 1.0 - epsilon), prior)


@public("paddle.nn.functional", usual=False)
def sequence_mask(x: Any, maxlen: int | None = None, dtype: Any = "int64", name: str | None = None) -> Tensor:
    """``mask[..., j] = j < x[...]`` for j below ``maxlen``, by default the largest of x.

    Example:
        >>> import paddle
        >>> paddle.nn.functional.sequence_mask(paddle.to_tensor([1, 3])).tolist()
        [[1, 0, 0], [1, 1, 1]]
    """
    size = int(x.max()) if maxlen is None else int(maxlen)
    positions = made_on(x.place, F.iota, 0, 1, x.dtype, size)
    return F.cast(F.lt(positions, F.unsqueeze(x, axes=(x.ndim,))), dtype=convert(dtype))
