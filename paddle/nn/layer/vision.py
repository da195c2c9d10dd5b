"""Rearrangements of channels and space as layers."""

from __future__ import annotations

import paddle.nn.functional as F
from paddle._public import public
from paddle.nn.layer.layers import Layer
from umiak.core.tensor import Tensor


@public("paddle.nn")
class PixelShuffle(Layer):
    """Rearrangement of channels into space: ``r * r`` channels become squares of ``r`` by ``r`` pixels.

    Args:
        upscale_factor: r, by how much height and width grow; 1 or more.
        data_format: ``"NCHW"`` or ``"NHWC"``.

    Shape:
        x: ``[N, C * r * r, H, W]``, or ``[N, H, W, C * r * r]`` for ``"NHWC"``.
        output: ``[N, C, H * r, W * r]``, or channels last, of the input's dtype.

    Raises:
        TypeError: the factor is no int.
        ValueError: in a call, an input of another rank, a factor below 1, or channels that ``r * r`` does not divide.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([1.0, 2.0, 3.0, 4.0]).reshape([1, 4, 1, 1])
        >>> paddle.nn.PixelShuffle(2)(x).tolist()
        [[[[1.0, 2.0], [3.0, 4.0]]]]
    """

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
    """Rearrangement of space into channels: the inverse of :class:`PixelShuffle`.

    Args:
        downscale_factor: r, by how much height and width shrink; 1 or more.
        data_format: ``"NCHW"`` or ``"NHWC"``.

    Shape:
        x: ``[N, C, H, W]``, or ``[N, H, W, C]`` for ``"NHWC"``.
        output: ``[N, C * r * r, H / r, W / r]``, or channels last, of the input's dtype.

    Raises:
        ValueError: the factor is no positive int; in a call, an input of another rank, or sizes that r does not divide.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([[[[1.0, 2.0], [3.0, 4.0]]]])
        >>> paddle.nn.PixelUnshuffle(2)(x).flatten().tolist()
        [1.0, 2.0, 3.0, 4.0]
        >>> paddle.nn.PixelUnshuffle(2)(x).shape
        paddle.Size([1, 4, 1, 1])
    """

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
    """Permutation of channels: the first of each group, then the second of each, and so on.

    Args:
        groups: how many groups; divides the channels.
        data_format: ``"NCHW"`` or ``"NHWC"``.

    Shape:
        x: ``[N, C, H, W]``, or ``[N, H, W, C]`` for ``"NHWC"``.
        output: the input's shape and dtype.

    Raises:
        ValueError: groups is no positive int; in a call, an input of another rank, or groups that do not divide the
            channels.

    Example:
        >>> import paddle
        >>> x = paddle.arange(6).reshape([1, 6, 1, 1])
        >>> paddle.nn.ChannelShuffle(2)(x).flatten().tolist()
        [0, 3, 1, 4, 2, 5]
    """

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
