"""Convolutions as layers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar

import paddle.nn.functional as F
from paddle._public import also, public
from paddle.nn.functional._windows import ints
from paddle.nn.initializer import Normal
from paddle.nn.layer.layers import Layer
from umiak.core.tensor import Tensor


class _ConvNd(Layer):
    """Base of convolutions and their transposes: sizes, weight, bias."""

    n: ClassVar[int]
    transposed: ClassVar[bool] = False
    function: ClassVar[Callable]
    weight: Tensor
    bias: Tensor | None

    def _setup(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any,
        padding: Any,
        dilation: Any,
        groups: int,
        weight_attr: Any,
        bias_attr: Any,
        data_format: str,
        output_padding: Any = 0,
        padding_mode: str = "zeros",
        device: Any = None,
    ) -> None:
        op_name = type(self).__name__
        if groups < 1 or in_channels % groups or out_channels % groups:
            raise ValueError(
                f"[{op_name}] requires groups that divide the channels, got {groups} groups of {in_channels} input and "
                f"{out_channels} output channels"
            )
        if padding_mode not in ("zeros", "reflect", "replicate", "circular"):
            raise ValueError(
                f"[{op_name}] requires padding_mode 'zeros', 'reflect', 'replicate' or 'circular', got {padding_mode!r}"
            )
        self._in_channels = in_channels
        self._out_channels = out_channels
        self._kernel_size = list(ints(kernel_size, self.n, op_name, "kernel_size"))
        self._stride = list(ints(stride, self.n, op_name, "stride"))
        self._dilation = list(ints(dilation, self.n, op_name, "dilation"))
        if min(*self._kernel_size, *self._stride, *self._dilation) < 1:
            raise ValueError(
                f"[{op_name}] requires kernel_size, stride and dilation of 1 or more, got {self._kernel_size}, "
                f"{self._stride} and {self._dilation}"
            )
        self._padding = padding
        self._padding_mode = padding_mode
        self._groups = groups
        self._data_format = data_format
        self.output_padding = output_padding
        if self.transposed:
            shape, default = [in_channels, out_channels // groups, *self._kernel_size], None
        else:
            shape = [out_channels, in_channels // groups, *self._kernel_size]
            default = Normal(0.0, math.sqrt(2.0 / max(1, math.prod(self._kernel_size) * in_channels)))
        self._param_attr, self._bias_attr = weight_attr, bias_attr
        self.weight = self.create_parameter(shape, weight_attr, self._dtype, default_initializer=default, device=device)
        self.bias = self.create_parameter([out_channels], bias_attr, self._dtype, is_bias=True, device=device)
        if padding_mode != "zeros":
            if isinstance(padding, str):
                raise TypeError(
                    f"[{op_name}] requires numbers as padding with padding_mode {padding_mode!r}, got {padding!r}"
                )
            each = ints(padding, self.n, op_name, "padding")
            self._edges = [p for size in reversed(each) for p in (size, size)]

    def forward(self, x: Tensor) -> Tensor:
        padding = self._padding
        if self._padding_mode != "zeros":
            x, padding = F.pad(x, self._edges, self._padding_mode, data_format=self._data_format), 0
        return type(self).function(
            x, self.weight, self.bias, self._stride, padding, self._dilation, self._groups, self._data_format
        )

    def extra_repr(self) -> str:
        parts = [str(self._in_channels), str(self._out_channels), f"kernel_size={self._kernel_size}"]
        if self._stride != [1] * self.n:
            parts.append(f"stride={self._stride}")
        if self._padding != 0:
            parts.append(f"padding={self._padding}")
        if self._padding_mode != "zeros":
            parts.append(f"padding_mode={self._padding_mode}")
        if self.output_padding != 0:
            parts.append(f"output_padding={self.output_padding}")
        if self._dilation != [1] * self.n:
            parts.append(f"dilation={self._dilation}")
        if self._groups != 1:
            parts.append(f"groups={self._groups}")
        return ", ".join([*parts, f"data_format={self._data_format}"])


class _ConvForward(_ConvNd):
    layout: ClassVar[str]

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        *,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str | None = None,
    ) -> None:
        super().__init__(dtype=dtype)
        self._setup(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            groups,
            weight_attr,
            bias_attr if bias else False,
            data_format or self.layout,
            padding_mode=padding_mode,
            device=device,
        )


@public("paddle.nn")
class Conv1D(_ConvForward):
    """Convolution of sequences with learned kernels (a cross-correlation: kernels are not flipped).

    Args:
        in_channels: channels of the input.
        out_channels: channels of the output.
        kernel_size: sizes of the kernel: one int.
        stride: distance of the windows: one int.
        padding: elements added at the edges: an int, (left, right),
            ``"VALID"`` (none) or ``"SAME"`` (as many windows as stride alone would give; dilation is then 1).
        dilation: distance of a window's elements: one int.
        groups: channels are split into this many groups that do not mix.
        bias: False for no bias.
        padding_mode: what is added: ``"zeros"``, ``"reflect"``, ``"replicate"`` or ``"circular"``.
        device: where the parameters go; None: the current place.
        dtype: of the parameters; the default dtype if None.
        weight_attr: attributes of the weight, normal with variance 2/fan_in by default.
        bias_attr: attributes of the bias, zeros by default; False for none.
        data_format: ``"NCL"`` (None, too) or ``"NLC"``.

    Shape:
        x: ``[N, C, L]``, or ``[N, L, C]`` for ``"NLC"``; of the weight's dtype.
        output: ``[N, out_channels, L']``, or channels last, where
            ``L' = (L + padding - dilation * (kernel - 1) - 1) // stride + 1`` of a length L.

    Attributes:
        weight: the parameter ``[out_channels, in_channels / groups, k]``.
        bias: the parameter ``[out_channels]``, or None.

    Raises:
        TypeError: in a call, an input of another dtype than the weight's.
        ValueError: groups that do not divide the channels, an unknown padding mode, or numbers that do not fit the
            1 spatial dim.

    Example:
        >>> import paddle
        >>> paddle.nn.Conv1D(3, 8, 3, padding=1)(paddle.ones([2, 3, 5])).shape
        paddle.Size([2, 8, 5])
    """

    n = 1
    layout = "NCL"
    function = F.conv1d


Conv1d = also(Conv1D, "Conv1d", "paddle.nn")


@public("paddle.nn")
class Conv2D(_ConvForward):
    """Convolution of images with learned kernels (a cross-correlation: kernels are not flipped).

    Args:
        in_channels: channels of the input.
        out_channels: channels of the output.
        kernel_size: sizes of the kernel: one int, or one for each of the 2 spatial dims.
        stride: distance of the windows: one int, or one for each of the 2 spatial dims.
        padding: elements added at the edges: an int, one for each spatial dim, (top, bottom, left, right),
            ``"VALID"`` (none) or ``"SAME"`` (as many windows as stride alone would give; dilation is then 1).
        dilation: distance of a window's elements: one int, or one for each of the 2 spatial dims.
        groups: channels are split into this many groups that do not mix.
        bias: False for no bias.
        padding_mode: what is added: ``"zeros"``, ``"reflect"``, ``"replicate"`` or ``"circular"``.
        device: where the parameters go; None: the current place.
        dtype: of the parameters; the default dtype if None.
        weight_attr: attributes of the weight, normal with variance 2/fan_in by default.
        bias_attr: attributes of the bias, zeros by default; False for none.
        data_format: ``"NCHW"`` (None, too) or ``"NHWC"``.

    Shape:
        x: ``[N, C, H, W]``, or ``[N, H, W, C]`` for ``"NHWC"``; of the weight's dtype.
        output: ``[N, out_channels, H', W']``, or channels last, where
            ``L' = (L + padding - dilation * (kernel - 1) - 1) // stride + 1`` of each spatial size L.

    Attributes:
        weight: the parameter ``[out_channels, in_channels / groups, kh, kw]``.
        bias: the parameter ``[out_channels]``, or None.

    Raises:
        TypeError: in a call, an input of another dtype than the weight's.
        ValueError: groups that do not divide the channels, an unknown padding mode, or numbers that do not fit the
            2 spatial dims.

    Example:
        >>> import paddle
        >>> paddle.nn.Conv2D(3, 8, 3, padding=1)(paddle.ones([2, 3, 5, 5])).shape
        paddle.Size([2, 8, 5, 5])
    """

    n = 2
    layout = "NCHW"
    function = F.conv2d


Conv2d = also(Conv2D, "Conv2d", "paddle.nn")


@public("paddle.nn")
class Conv3D(_ConvForward):
    """Convolution of volumes with learned kernels (a cross-correlation: kernels are not flipped).

    Args:
        in_channels: channels of the input.
        out_channels: channels of the output.
        kernel_size: sizes of the kernel: one int, or one for each of the 3 spatial dims.
        stride: distance of the windows: one int, or one for each of the 3 spatial dims.
        padding: elements added at the edges: an int, one for each spatial dim, six numbers (before and after each),
            ``"VALID"`` (none) or ``"SAME"`` (as many windows as stride alone would give; dilation is then 1).
        dilation: distance of a window's elements: one int, or one for each of the 3 spatial dims.
        groups: channels are split into this many groups that do not mix.
        bias: False for no bias.
        padding_mode: what is added: ``"zeros"``, ``"reflect"``, ``"replicate"`` or ``"circular"``.
        device: where the parameters go; None: the current place.
        dtype: of the parameters; the default dtype if None.
        weight_attr: attributes of the weight, normal with variance 2/fan_in by default.
        bias_attr: attributes of the bias, zeros by default; False for none.
        data_format: ``"NCDHW"`` (None, too) or ``"NDHWC"``.

    Shape:
        x: ``[N, C, D, H, W]``, or ``[N, D, H, W, C]`` for ``"NDHWC"``; of the weight's dtype.
        output: ``[N, out_channels, D', H', W']``, or channels last, where
            ``L' = (L + padding - dilation * (kernel - 1) - 1) // stride + 1`` of each spatial size L.

    Attributes:
        weight: the parameter ``[out_channels, in_channels / groups, kd, kh, kw]``.
        bias: the parameter ``[out_channels]``, or None.

    Raises:
        TypeError: in a call, an input of another dtype than the weight's.
        ValueError: groups that do not divide the channels, an unknown padding mode, or numbers that do not fit the
            3 spatial dims.

    Example:
        >>> import paddle
        >>> paddle.nn.Conv3D(3, 8, 3, padding=1)(paddle.ones([2, 3, 5, 5, 5])).shape
        paddle.Size([2, 8, 5, 5, 5])
    """

    n = 3
    layout = "NCDHW"
    function = F.conv3d


Conv3d = also(Conv3D, "Conv3d", "paddle.nn")


class _ConvTranspose(_ConvNd):
    transposed = True

    def forward(self, x: Tensor, output_size: Any = None) -> Tensor:
        return type(self).function(
            x,
            self.weight,
            self.bias,
            stride=self._stride,
            padding=self._padding,
            output_padding=0 if output_size is not None else self.output_padding,
            dilation=self._dilation,
            groups=self._groups,
            output_size=output_size,
            data_format=self._data_format,
        )


@public("paddle.nn")
class Conv1DTranspose(_ConvTranspose):
    """Transposed convolution of sequences: the gradient of a convolution with respect to its input, as a layer.

    Args:
        in_channels: channels of the input.
        out_channels: channels of the output.
        kernel_size: sizes of the kernel: one int.
        stride: distance of the windows in the output: one int.
        padding: elements cut off at the edges of the output: an int, (left, right),
            ``"VALID"`` (none) or ``"SAME"``.
        output_padding: elements added after the end of each spatial dim, fewer than stride:
            one int.
        groups: channels are split into this many groups that do not mix.
        dilation: distance of a window's elements: one int.
        weight_attr: attributes of the weight, Xavier-uniform by default.
        bias_attr: attributes of the bias, zeros by default; False for none.
        data_format: ``"NCL"`` or ``"NLC"``.

    Shape:
        x: ``[N, C, L]``, or ``[N, L, C]`` for ``"NLC"``; of the weight's dtype.
        output: ``[N, out_channels, L']``, or channels last, where
            ``L' = (L - 1) * stride - padding + dilation * (kernel - 1) + 1 + output_padding`` of a length L.
            A call ``layer(x, output_size)`` takes these sizes instead of ``output_padding``.

    Attributes:
        weight: the parameter ``[in_channels, out_channels / groups, k]``.
        bias: the parameter ``[out_channels]``, or None.

    Raises:
        TypeError: in a call, an input of another dtype than the weight's.
        ValueError: groups that do not divide the channels, or, in a call, sizes that do not fit each other.

    Example:
        >>> import paddle
        >>> layer = paddle.nn.Conv1DTranspose(3, 8, 3, stride=2)
        >>> x = paddle.ones([2, 3, 5])
        >>> layer(x).shape
        paddle.Size([2, 8, 11])
        >>> layer(x, output_size=[12]).shape
        paddle.Size([2, 8, 12])
    """

    n = 1
    function = F.conv1d_transpose

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        dilation: Any = 1,
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "NCL",
    ) -> None:
        super().__init__(dtype=None)
        sizes = (in_channels, out_channels, kernel_size, stride, padding, dilation, groups)
        self._setup(*sizes, weight_attr, bias_attr, data_format, output_padding)


@public("paddle.nn")
class Conv2DTranspose(_ConvTranspose):
    """Transposed convolution of images: the gradient of a convolution with respect to its input, as a layer.

    Args:
        in_channels: channels of the input.
        out_channels: channels of the output.
        kernel_size: sizes of the kernel: one int, or one for each of the 2 spatial dims.
        stride: distance of the windows in the output: one int, or one for each of the 2 spatial dims.
        padding: elements cut off at the edges of the output: an int, one for each spatial dim, (top, bottom, left,
            right), ``"VALID"`` (none) or ``"SAME"``.
        output_padding: elements added after the end of each spatial dim, fewer than stride:
            one int, or one for each of the 2 spatial dims.
        dilation: distance of a window's elements: one int, or one for each of the 2 spatial dims.
        groups: channels are split into this many groups that do not mix.
        weight_attr: attributes of the weight, Xavier-uniform by default.
        bias_attr: attributes of the bias, zeros by default; False for none.
        data_format: ``"NCHW"`` or ``"NHWC"``.

    Shape:
        x: ``[N, C, H, W]``, or ``[N, H, W, C]`` for ``"NHWC"``; of the weight's dtype.
        output: ``[N, out_channels, H', W']``, or channels last, where
            ``L' = (L - 1) * stride - padding + dilation * (kernel - 1) + 1 + output_padding`` of each spatial size L.
            A call ``layer(x, output_size)`` takes these sizes instead of ``output_padding``.

    Attributes:
        weight: the parameter ``[in_channels, out_channels / groups, kh, kw]``.
        bias: the parameter ``[out_channels]``, or None.

    Raises:
        TypeError: in a call, an input of another dtype than the weight's.
        ValueError: groups that do not divide the channels, or, in a call, sizes that do not fit each other.

    Example:
        >>> import paddle
        >>> layer = paddle.nn.Conv2DTranspose(3, 8, 3, stride=2)
        >>> x = paddle.ones([2, 3, 5, 5])
        >>> layer(x).shape
        paddle.Size([2, 8, 11, 11])
        >>> layer(x, output_size=[12, 12]).shape
        paddle.Size([2, 8, 12, 12])
    """

    n = 2
    function = F.conv2d_transpose

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "NCHW",
    ) -> None:
        super().__init__(dtype=None)
        sizes = (in_channels, out_channels, kernel_size, stride, padding, dilation, groups)
        self._setup(*sizes, weight_attr, bias_attr, data_format, output_padding)


@public("paddle.nn")
class Conv3DTranspose(_ConvTranspose):
    """Transposed convolution of volumes: the gradient of a convolution with respect to its input, as a layer.

    Args:
        in_channels: channels of the input.
        out_channels: channels of the output.
        kernel_size: sizes of the kernel: one int, or one for each of the 3 spatial dims.
        stride: distance of the windows in the output: one int, or one for each of the 3 spatial dims.
        padding: elements cut off at the edges of the output: an int, one for each spatial dim, six numbers (before and
            after each), ``"VALID"`` (none) or ``"SAME"``.
        output_padding: elements added after the end of each spatial dim, fewer than stride:
            one int, or one for each of the 3 spatial dims.
        dilation: distance of a window's elements: one int, or one for each of the 3 spatial dims.
        groups: channels are split into this many groups that do not mix.
        weight_attr: attributes of the weight, Xavier-uniform by default.
        bias_attr: attributes of the bias, zeros by default; False for none.
        data_format: ``"NCDHW"`` or ``"NDHWC"``.

    Shape:
        x: ``[N, C, D, H, W]``, or ``[N, D, H, W, C]`` for ``"NDHWC"``; of the weight's dtype.
        output: ``[N, out_channels, D', H', W']``, or channels last, where
            ``L' = (L - 1) * stride - padding + dilation * (kernel - 1) + 1 + output_padding`` of each spatial size L.
            A call ``layer(x, output_size)`` takes these sizes instead of ``output_padding``.

    Attributes:
        weight: the parameter ``[in_channels, out_channels / groups, kd, kh, kw]``.
        bias: the parameter ``[out_channels]``, or None.

    Raises:
        TypeError: in a call, an input of another dtype than the weight's.
        ValueError: groups that do not divide the channels, or, in a call, sizes that do not fit each other.

    Example:
        >>> import paddle
        >>> layer = paddle.nn.Conv3DTranspose(3, 8, 3, stride=2)
        >>> x = paddle.ones([2, 3, 5, 5, 5])
        >>> layer(x).shape
        paddle.Size([2, 8, 11, 11, 11])
        >>> layer(x, output_size=[12, 12, 12]).shape
        paddle.Size([2, 8, 12, 12, 12])
    """

    n = 3
    function = F.conv3d_transpose

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "NCDHW",
    ) -> None:
        super().__init__(dtype=None)
        sizes = (in_channels, out_channels, kernel_size, stride, padding, dilation, groups)
        self._setup(*sizes, weight_attr, bias_attr, data_format, output_padding)
