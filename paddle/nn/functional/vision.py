"""Rearrangements of channels and space."""

from __future__ import annotations

from umiak import ops as F
from umiak.core.tensor import Tensor


def _is_last(who: str, x: Tensor, data_format: str) -> bool:
    if x.ndim != 4 or data_format not in ("NCHW", "NHWC"):
        raise ValueError(
            f"[{who}] requires x of rank 4 and data_format 'NCHW' or 'NHWC', got {x.ndim} and {data_format!r}"
        )
    return data_format == "NHWC"


def pixel_shuffle(x: Tensor, upscale_factor: int, data_format: str = "NCHW", name: str | None = None) -> Tensor:
    """``[N, C*r*r, H, W]`` to ``[N, C, H*r, W*r]``: groups of channels become blocks of pixels.

    Raises:
        ValueError: channels that r² does not divide.

    Example:
        >>> import paddle
        >>> paddle.nn.functional.pixel_shuffle(paddle.ones([2, 9, 4, 4]), 3).shape
        [2, 1, 12, 12]
    """
    r, last = upscale_factor, _is_last("pixel_shuffle", x, data_format)
    n, c, h, w = (x.shape[i] for i in ((0, 3, 1, 2) if last else range(4)))
    if c % (r * r):
        raise ValueError(f"[pixel_shuffle] requires channels divisible by {r * r}, got {c}")
    c //= r * r
    if last:
        return F.reshape(
            F.permute(F.reshape(x, shape=(n, h, w, c, r, r)), perm=(0, 1, 4, 2, 5, 3)), shape=(n, h * r, w * r, c)
        )
    return F.reshape(
        F.permute(F.reshape(x, shape=(n, c, r, r, h, w)), perm=(0, 1, 4, 2, 5, 3)), shape=(n, c, h * r, w * r)
    )


def pixel_unshuffle(x: Tensor, downscale_factor: int, data_format: str = "NCHW", name: str | None = None) -> Tensor:
    """The inverse of :func:`pixel_shuffle`. Raises ValueError where the factor does not divide height and width."""
    r, last = downscale_factor, _is_last("pixel_unshuffle", x, data_format)
    n, c, h, w = (x.shape[i] for i in ((0, 3, 1, 2) if last else range(4)))
    if h % r or w % r:
        raise ValueError(f"[pixel_unshuffle] requires height and width divisible by {r}, got {h} and {w}")
    h, w = h // r, w // r
    if last:
        return F.reshape(
            F.permute(F.reshape(x, shape=(n, h, r, w, r, c)), perm=(0, 1, 3, 5, 2, 4)), shape=(n, h, w, c * r * r)
        )
    return F.reshape(
        F.permute(F.reshape(x, shape=(n, c, h, r, w, r)), perm=(0, 1, 3, 5, 2, 4)), shape=(n, c * r * r, h, w)
    )


def channel_shuffle(x: Tensor, groups: int, data_format: str = "NCHW", name: str | None = None) -> Tensor:
    """Channels in ``groups`` groups, interleaved. Raises ValueError where the groups do not divide the channels."""
    last = _is_last("channel_shuffle", x, data_format)
    n, c, h, w = (x.shape[i] for i in ((0, 3, 1, 2) if last else range(4)))
    if groups <= 0 or c % groups:
        raise ValueError(f"[channel_shuffle] requires groups that divide {c} channels, got {groups}")
    if last:
        return F.reshape(
            F.permute(F.reshape(x, shape=(n, h, w, groups, c // groups)), perm=(0, 1, 2, 4, 3)), shape=tuple(x.shape)
        )
    return F.reshape(
        F.permute(F.reshape(x, shape=(n, groups, c // groups, h, w)), perm=(0, 2, 1, 3, 4)), shape=tuple(x.shape)
    )
