"""Rearrangements of channels and space as layers."""

from __future__ import annotations

import paddle.nn.functional as F
from paddle._public import public
from paddle.nn.layer.layers import Layer
from umiak.core.tensor import Tensor


@public("paddle.nn")
class PixelShuffle(Layer):
    """``[N, C*r*r, H, W]`` to ``[N, C, H*r, W*r]``."""

    def __init__(self, upscale_factor: int, data_format: str = "NCHW", name: str | None = None) -> None:
        super().__init__()
        if not isinstance(upscale_factor, int):
            raise TypeError(f"[PixelShuffle] requires an int upscale_factor, got {type(upscale_factor).__name__}")
        self._upscale_factor = upscale_factor
        self._data_format = data_format

    def forward(self, x: Tensor) -> Tensor:
        return F.pixel_shuffle(x, self._upscale_factor, self._data_format)

    def extra_repr(self) -> str:
        return f"upscale_factor={self._upscale_factor}"


@public("paddle.nn")
class PixelUnshuffle(Layer):
    """The inverse of :class:`PixelShuffle`."""

    def __init__(self, downscale_factor: int, data_format: str = "NCHW", name: str | None = None) -> None:
        super().__init__()
        if not isinstance(downscale_factor, int) or downscale_factor <= 0:
            raise ValueError(f"[PixelUnshuffle] requires a positive int downscale_factor, got {downscale_factor}")
        self._downscale_factor = downscale_factor
        self._data_format = data_format

    def forward(self, x: Tensor) -> Tensor:
        return F.pixel_unshuffle(x, self._downscale_factor, self._data_format)

    def extra_repr(self) -> str:
        return f"downscale_factor={self._downscale_factor}"


@public("paddle.nn")
class ChannelShuffle(Layer):
    """Channels in ``groups`` groups, interleaved."""

    def __init__(self, groups: int, data_format: str = "NCHW", name: str | None = None) -> None:
        super().__init__()
        if not isinstance(groups, int) or groups <= 0:
            raise ValueError(f"[ChannelShuffle] requires a positive int groups, got {groups}")
        self._groups = groups
        self._data_format = data_format

    def forward(self, x: Tensor) -> Tensor:
        return F.channel_shuffle(x, self._groups, self._data_format)

    def extra_repr(self) -> str:
        return f"groups={self._groups}"
