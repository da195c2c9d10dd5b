"""Blocks of layers that models of images are built of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from paddle import nn
from paddle._public import public
from paddle.nn.layer.activation import ReLU


@public("paddle.vision.ops")
class ConvNormActivation(nn.Sequential):
    """Convolution of images, a normalization and an activation, in this order.

    Args:
        in_channels: channels of the input.
        out_channels: channels of the output.
        kernel_size: size of the kernel, one int; two only with a padding that is given.
        stride: step of the kernel, one int or two.
        padding: as :class:`paddle.nn.Conv2D` takes it; by default half of the dilated kernel, ``(kernel_size - 1) // 2
            * dilation``.
        groups: groups of channels, each of which has kernels of its own.
        norm_layer: called with the number of channels, it makes the normalization; None leaves it out.
        activation_layer: called without arguments, it makes the activation; None leaves it out.
        dilation: spacing of the kernel's elements.
        bias: whether the convolution has a bias; by default where there is no normalization. True and None leave the
            choice of its values to :class:`paddle.nn.Conv2D`.

    Shape:
        x: ``[N, in_channels, H, W]``.
        output: ``[N, out_channels, H', W']``, of the input's dtype.

    Raises:
        TypeError: a kernel size of several numbers without a padding.
        ValueError: groups that do not divide the channels.

    Example:
        >>> import paddle
        >>> block = paddle.vision.ops.ConvNormActivation(3, 8, stride=2)
        >>> block(paddle.zeros([1, 3, 8, 8])).shape
        paddle.Size([1, 8, 4, 4])
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any = 3,
        stride: Any = 1,
        padding: Any = None,
        groups: int = 1,
        norm_layer: Callable[..., nn.Layer] | None = nn.BatchNorm2D,
        activation_layer: Callable[..., nn.Layer] | None = ReLU,
        dilation: int = 1,
        bias: bool | None = None,
    ) -> None:
        if padding is None:
            padding = (kernel_size - 1) // 2 * dilation
        if bias is None:
            bias = norm_layer is None
        convolution = nn.Conv2D(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation=dilation,
            groups=groups,
            bias_attr=None if bias else False,
        )
        layers: list[nn.Layer] = [convolution]
        if norm_layer is not None:
            layers.append(norm_layer(out_channels))
        if activation_layer is not None:
            layers.append(activation_layer())
        super().__init__(*layers)
