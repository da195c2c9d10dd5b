"""Rearrangements of channels, space and time; sampling at given positions."""

from __future__ import annotations

from typing import Any

from paddle._public import need_tensor, public
from paddle.tensor._args import apart, integer, real_number, shape_of
from umiak import ops as F
from umiak.core.eager import apply, apply1
from umiak.core.tensor import Tensor
from umiak.ir import sym as dim
from umiak.util.errors import op_error

_BLOCKS_TO_PIXELS = F.Permute((0, 1, 4, 2, 5, 3))
_SECOND_TO_THIRD = F.Permute((0, 2, 1, 3, 4))
_RESHAPE = F.Reshape()


def _sizes(x: Tensor, last: bool) -> tuple[int, int, int, int]:
    """(N, C, H, W)"""
    a, b, c, d = x.shape
    return (a, d, b, c) if last else (a, b, c, d)


def _is_last(op_name: str, x: Tensor, data_format: str) -> bool:
    if need_tensor(x, op_name).ndim != 4 or data_format not in ("NCHW", "NHWC"):
        raise op_error(
            ValueError, op_name, "x of rank 4 and data_format 'NCHW' or 'NHWC'", f"{x.ndim} and {data_format!r}"
        )
    return data_format == "NHWC"


@public("paddle.nn.functional", usual=False)
def pixel_shuffle(x: Tensor, upscale_factor: int, data_format: str = "NCHW", name: str | None = None) -> Tensor:
    """Rearrangement of channels into pixels: ``[N, C*r*r, H, W]`` to ``[N, C, H*r, W*r]``.

    Args:
        x: tensor ``[N, C*r*r, H, W]``, or ``[N, H, W, C*r*r]`` with ``data_format="NHWC"``.
        upscale_factor: r, 1 or more; each group of r² channels becomes a block of r by r pixels.
        data_format: ``"NCHW"`` or ``"NHWC"``, the order of dims of x and of the result.

    Returns:
        Tensor ``[N, C, H*r, W*r]``, or ``[N, H*r, W*r, C]``, of x's dtype.

    Raises:
        ValueError: x is not of rank 4, r² does not divide its channels, or the format is unknown.

    Example:
        >>> import paddle
        >>> paddle.nn.functional.pixel_shuffle(paddle.ones([2, 9, 4, 4]), 3).shape
        paddle.Size([2, 1, 12, 12])
    """
    r, last = integer(upscale_factor, "pixel_shuffle", "upscale_factor"), _is_last("pixel_shuffle", x, data_format)
    n, c, h, w = _sizes(x, last)
    if r < 1:
        raise op_error(ValueError, "pixel_shuffle", "an upscale_factor of 1 or more", r)
    if c % (r * r):
        raise op_error(ValueError, "pixel_shuffle", f"channels divisible by {r * r}", c)
    c //= r * r
    if last:
        blocks = F.permute(F.reshape(x, shape=(n, h, w, c, r, r)), perm=(0, 1, 4, 2, 5, 3))
        return apart(F.reshape(blocks, shape=(n, h * r, w * r, c)), x)
    blocks = apply1(_BLOCKS_TO_PIXELS, apply(_RESHAPE, (x,), ((n, c, r, r, h, w),)))
    return apart(apply(_RESHAPE, (blocks,), ((n, c, h * r, w * r),)), x)


@public("paddle.nn.functional", usual=False)
def pixel_unshuffle(x: Tensor, downscale_factor: int, data_format: str = "NCHW", name: str | None = None) -> Tensor:
    """Rearrangement of pixels into channels, the inverse of :func:`pixel_shuffle`.

    Args:
        x: tensor ``[N, C, H, W]``, or ``[N, H, W, C]`` with ``data_format="NHWC"``.
        downscale_factor: r, 1 or more; each block of r by r pixels becomes r² channels.
        data_format: ``"NCHW"`` or ``"NHWC"``, the order of dims of x and of the result.

    Returns:
        Tensor ``[N, C*r*r, H/r, W/r]``, or ``[N, H/r, W/r, C*r*r]``, of x's dtype.

    Raises:
        ValueError: x is not of rank 4, r does not divide height and width, or the format is unknown.

    Example:
        >>> import paddle
        >>> paddle.nn.functional.pixel_unshuffle(paddle.ones([2, 1, 12, 12]), 3).shape
        paddle.Size([2, 9, 4, 4])
    """
    r = integer(downscale_factor, "pixel_unshuffle", "downscale_factor")
    last = _is_last("pixel_unshuffle", x, data_format)
    n, c, h, w = (x.shape[i] for i in ((0, 3, 1, 2) if last else range(4)))
    if r < 1:
        raise op_error(ValueError, "pixel_unshuffle", "a downscale_factor of 1 or more", r)
    if h % r or w % r:
        raise op_error(ValueError, "pixel_unshuffle", f"height and width divisible by {r}", f"{h} and {w}")
    h, w = h // r, w // r
    sizes, shape = ((n, h, r, w, r, c), (n, h, w, c * r * r)) if last else ((n, c, h, r, w, r), (n, c * r * r, h, w))
    return apart(F.reshape(F.permute(F.reshape(x, shape=sizes), perm=(0, 1, 3, 5, 2, 4)), shape=shape), x)


@public("paddle.nn.functional", usual=False)
def channel_shuffle(x: Tensor, groups: int, data_format: str = "NCHW", name: str | None = None) -> Tensor:
    """Permutation of channels that interleaves ``groups`` groups of them.

    Args:
        x: tensor ``[N, C, H, W]``, or ``[N, H, W, C]`` with ``data_format="NHWC"``.
        groups: how many groups of neighbouring channels there are; divides C.
        data_format: ``"NCHW"`` or ``"NHWC"``, the order of dims of x.

    Returns:
        Tensor of x's shape and dtype.

    Raises:
        ValueError: x is not of rank 4, the groups do not divide its channels, or the format is unknown.

    Example:
        >>> import paddle
        >>> x = paddle.arange(6).reshape([1, 6, 1, 1])
        >>> paddle.nn.functional.channel_shuffle(x, 2).flatten().tolist()
        [0, 3, 1, 4, 2, 5]
    """
    last, groups = _is_last("channel_shuffle", x, data_format), integer(groups, "channel_shuffle", "groups")
    n, c, h, w = _sizes(x, last)
    if groups <= 0 or c % groups:
        raise op_error(ValueError, "channel_shuffle", f"groups that divide {c} channels", groups)
    if last:
        mixed = F.permute(F.reshape(x, shape=(n, h, w, groups, c // groups)), perm=(0, 1, 2, 4, 3))
    else:
        mixed = apply1(_SECOND_TO_THIRD, apply(_RESHAPE, (x,), ((n, groups, c // groups, h, w),)))
    return apart(apply(_RESHAPE, (mixed,), (tuple(x.shape),)), x)


@public("paddle.nn.functional", usual=False)
def temporal_shift(
    x: Tensor, seg_num: int, shift_ratio: float = 0.25, name: str | None = None, data_format: str = "NCHW"
) -> Tensor:
    """Shift of some channels by one step of time.

    Args:
        x: tensor ``[N*seg_num, C, H, W]``, or channels last: ``seg_num`` consecutive images belong together.
        seg_num: how many steps of time there are; divides the first dim.
        shift_ratio: channels up to ``int(C * shift_ratio)`` come from the step before, those after them up to
            ``int(2 * C * shift_ratio)`` from the step after; zeros come in at the ends. Above 0 and below 1/2.
        data_format: ``"NCHW"`` or ``"NHWC"``, the order of dims of x.

    Returns:
        Tensor of x's shape and dtype.

    Raises:
        ValueError: x is not of rank 4, ``seg_num`` does not divide its images, the ratio is out of its range, or the
            format is unknown.

    References:
        Lin et al., TSM: Temporal Shift Module for Efficient Video Understanding, 2019.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([1.0, 2.0]).reshape([2, 1, 1, 1]).expand([2, 4, 1, 1])
        >>> paddle.nn.functional.temporal_shift(x, 2)[:, :, 0, 0].tolist()
        [[0.0, 2.0, 1.0, 1.0], [1.0, 0.0, 2.0, 2.0]]
    """
    last = _is_last("temporal_shift", x, data_format)
    seg_num = integer(seg_num, "temporal_shift", "seg_num")
    shift_ratio = real_number(shift_ratio, "temporal_shift", "shift_ratio")
    if not 0.0 < shift_ratio < 0.5:
        raise op_error(ValueError, "temporal_shift", "shift_ratio above 0 and below 0.5", shift_ratio)
    if seg_num < 1 or x.shape[0] % seg_num:
        raise op_error(ValueError, "temporal_shift", f"a seg_num that divides {x.shape[0]} images", seg_num)
    axis = 4 if last else 2
    steps = F.reshape(x, shape=(x.shape[0] // seg_num, seg_num, *x.shape[1:]))
    channels = steps.shape[axis]
    first, second = dim.to_int(channels * shift_ratio), dim.to_int(channels * 2 * shift_ratio)

    def part(start: int, stop: int) -> Tensor:
        return F.slice(steps, axes=(axis,), starts=(start,), sizes=(stop - start,), steps=(1,))

    def shifted(x: Tensor, by: int) -> Tensor:
        # A pad of 1 at one end shifts the steps; a pad of -1 at the other drops the step that is shifted out.
        return F.pad(x, 0.0, mode="constant", axes=(1,), lo=(by,), hi=(-by,))

    parts = [shifted(part(0, first), 1), shifted(part(first, second), -1), part(second, channels)]
    return F.reshape(F.concat(parts, axis=axis), shape=tuple(x.shape))


@public("paddle.nn.functional")
def affine_grid(theta: Tensor, out_shape: Any, align_corners: bool = True, name: str | None = None) -> Tensor:
    """For each position of an output, the coordinates that an affine map sends it to; input of :func:`grid_sample`.

    Args:
        theta: ``[N, 2, 3]`` or ``[N, 3, 4]``.
        out_shape: ``[N, C, H, W]`` or ``[N, C, D, H, W]``, a list or a tensor.
        align_corners: coordinates -1 and 1 are the centres of the first and last elements, not their outer edges.

    Returns:
        ``[N, H, W, 2]`` or ``[N, D, H, W, 3]``: coordinates, that of the last dim first.

    Raises:
        ValueError: shapes that do not fit.

    Example:
        >>> import paddle
        >>> theta = paddle.to_tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
        >>> paddle.nn.functional.affine_grid(theta, [1, 1, 1, 2]).tolist()
        [[[[-1.0, 0.0], [1.0, 0.0]]]]
    """
    need_tensor(theta, "affine_grid", "theta")
    sizes = shape_of(out_shape, "affine_grid")
    if len(sizes) not in (4, 5) or theta.ndim != 3 or not dim.eq(sizes[0], theta.shape[0]):
        required = "theta [N, n, n+1] and an out_shape [N, C, *sizes] of 4 or 5 sizes"
        raise op_error(ValueError, "affine_grid", required, f"{list(theta.shape)} and {list(sizes)}")
    return F.affine_grid(theta, align_corners=bool(align_corners), sizes=sizes[2:])


@public("paddle.nn.functional", aliases={"input": "x"}, usual=False, takes_out=True)
def grid_sample(
    x: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool = True,
    name: str | None = None,
) -> Tensor:
    """Values of images or volumes at given positions (Jaderberg et al., 2015: Spatial Transformer Networks).

    Args:
        x: ``[N, C, H, W]`` or ``[N, C, D, H, W]``.
        grid: ``[N, *positions, 2 or 3]``: coordinates from -1 to 1, that of x's last dim first.
        mode: ``"bilinear"`` blends the neighbours (eight in volumes), ``"nearest"`` takes one.
        padding_mode: outside x there are ``"zeros"``, its edges (``"border"``), or its mirror image (``"reflection"``).
        align_corners: coordinates -1 and 1 are the centres of the first and last elements, not their outer edges.

    Returns:
        ``[N, C, *positions]``.

    Raises:
        ValueError: shapes that do not fit, an unknown mode.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([[[[1.0, 2.0], [3.0, 4.0]]]])
        >>> paddle.nn.functional.grid_sample(x, paddle.zeros([1, 1, 1, 2])).tolist()
        [[[[2.5]]]]
    """
    return F.grid_sample(x, grid, mode=mode, padding=padding_mode, align_corners=bool(align_corners))
