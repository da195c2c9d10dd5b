"""A convolution with its normalization and activation, which models are made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from paddle import nn
from paddle._public import public
from paddle.nn.layer.activation import ReLU


@public("paddle.vision.ops")
class ConvNormActivation(nn.Sequential):
    """Convolution of images, normalization and activation, one after another.

    Args:
        in_channels: channels of the input.
        out_channels: channels of the output.
        kernel_size: size of the windows: an int, or height and width.
        stride: steps of the windows: an int, or those along height and width.
        padding: zeros around the images, as ``Conv2D`` takes them. By default as many as keep the size where the
            stride is 1; an int as kernel_size is required for that.
        groups: groups of channels that are convolved apart.
        norm_layer: the class of the normalization, called with out_channels; None for none.
        activation_layer: the class of the activation, called without arguments; None for none.
        dilation: distance of the elements of a window.
        bias: whether the convolution has a bias; by default if there is no normalization.

    Shape:
        input: ``[N, in_channels, H, W]``.
        output: ``[N, out_channels, H', W']``.

    Raises:
        TypeError: padding is not given, and kernel_size is no int.
        ValueError: groups do not divide the channels.

    Example:
        >>> import paddle
        >>> paddle.vision.ops.ConvNormActivation(3, 8, stride=2)(paddle.zeros([1, 3, 8, 8])).shape
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
            if not isinstance(kernel_size, int):
                raise TypeError(
                    f"[ConvNormActivation] requires padding, or an int as kernel_size, got kernel_size={kernel_size}"
                )
            padding = (kernel_size - 1) // 2 * dilation
        if bias is None:
            bias = norm_layer is None
        layers: list[nn.Layer] = [
            nn.Conv2D(
                in_channels,
                out_channels,
                kernel_size,
                stride,
                padding,
                dilation=dilation,
                groups=groups,
                bias_attr=None if bias else False,
            )
        ]
        if norm_layer is not None:
            layers.append(norm_layer(out_channels))
        if activation_layer is not None:
            layers.append(activation_layer())
        super().__init__(*layers)
