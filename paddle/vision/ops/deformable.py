"""Deformable convolution."""

from __future__ import annotations

import math
from typing import Any

from paddle._public import need_tensor, public
from paddle.nn.functional._windows import ints
from paddle.nn.initializer import Normal
from paddle.nn.layer.layers import Layer
from umiak import ops as F
from umiak.core.tensor import Tensor
from umiak.ops.promotion import cast
from umiak.util.errors import op_error


@public("paddle.vision.ops")
def deform_conv2d(
    x: Tensor,
    offset: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    deformable_groups: int = 1,
    groups: int = 1,
    mask: Tensor | None = None,
    name: str | None = None,
) -> Tensor:
    """Convolution of images whose kernel samples at shifted positions, each multiplied by an element of a mask.

    Values between elements are bilinear, zeros lie around the image. Deformable convolution has no mask in its first
    version (Dai et al., 2017), and one in its second (Zhu et al., 2019).

    Args:
        x: floating tensor ``[N, C, H, W]``.
        offset: tensor ``[N, 2 * deformable_groups * kH * kW, H', W']``: shifts (y, then x) in elements, for each
            deformable group and element of the kernel.
        weight: tensor ``[M, C / groups, kH, kW]``: the kernels.
        bias: tensor ``[M]``, or None.
        stride: step of the kernel, one int or two.
        padding: zeros at each side, one int or two.
        dilation: spacing of the kernel's elements, one int or two.
        deformable_groups: parts of the channels that have offsets and masks of their own.
        groups: parts of the channels that have kernels of their own.
        mask: tensor ``[N, deformable_groups * kH * kW, H', W']``, or None.

    Returns:
        Tensor ``[N, M, H', W']`` of x's dtype, with ``H' = (H + 2 * padding - dilation * (kH - 1) - 1) // stride + 1``.

    Raises:
        ValueError: sizes that do not belong together, groups that do not divide the channels, a kernel beyond the
            padded image.
        TypeError: an operand that is not a tensor.

    Example:
        >>> import paddle
        >>> x = paddle.arange(9.0).reshape([1, 1, 3, 3])
        >>> weight = paddle.ones([1, 1, 1, 1])
        >>> half = paddle.full([1, 2, 3, 3], 0.5)
        >>> paddle.vision.ops.deform_conv2d(x, half, weight)[0, 0, 0].tolist()
        [2.0, 3.0, 1.75]
    """
    op_name = "deform_conv2d"
    need_tensor(x, op_name)
    need_tensor(offset, op_name, "offset")
    need_tensor(weight, op_name, "weight")
    strides, pads, dilations = (
        ints(value, 2, op_name, arg_name)
        for value, arg_name in ((stride, "stride"), (padding, "padding"), (dilation, "dilation"))
    )
    if x.ndim != 4 or weight.ndim != 4 or offset.ndim != 4:
        got = f"{list(x.shape)}, {list(offset.shape)} and {list(weight.shape)}"
        raise op_error(ValueError, op_name, "x, offset and weight of rank 4", got)
    if min(*strides, *dilations) < 1 or min(pads) < 0 or groups < 1 or deformable_groups < 1:
        got = f"{list(strides)}, {list(dilations)}, {list(pads)}, {groups} and {deformable_groups}"
        required = "stride, dilation, groups and deformable_groups of 1 or more and no negative padding"
        raise op_error(ValueError, op_name, required, got)
    (n, channels, *image), (out_channels, own, *kernel) = x.shape, weight.shape
    if channels != own * groups or out_channels % groups or channels % deformable_groups:
        got = f"{channels} and weight {list(weight.shape)} with {groups} and {deformable_groups} groups"
        raise op_error(ValueError, op_name, "channels of x and weight in equal groups", got)
    spans = [
        (size + 2 * pad - step * (k - 1) - 1, t)
        for size, pad, step, k, t in zip(image, pads, dilations, kernel, strides, strict=True)
    ]
    if any(span < 0 for span, _ in spans) or 0 in kernel:
        raise op_error(ValueError, op_name, "a kernel within the padded image", f"{kernel} in {image}")
    rows, columns = (span // t + 1 for span, t in spans)
    taps = kernel[0] * kernel[1]
    for operand, count, arg_name in ((offset, 2, "an offset"), (mask, 1, "a mask")):
        expected = [n, count * deformable_groups * taps, rows, columns]
        if operand is not None and list(operand.shape) != expected:
            raise op_error(ValueError, op_name, f"{arg_name} of shape {expected}", list(operand.shape))
    if mask is not None:
        mask = cast(mask, offset.dtype)
    geometry = (tuple(kernel), deformable_groups, strides, pads, dilations)
    y = F.deformable_conv(x, offset, weight, mask, groups, *geometry)
    return y if bias is None else F.add(y, F.reshape(bias, shape=(out_channels, 1, 1)))


@public("paddle.vision.ops")
class DeformConv2D(Layer):
    """Deformable convolution as a layer: see :func:`paddle.vision.ops.deform_conv2d`.

    Args:
        in_channels: channels of the input.
        out_channels: channels of the output.
        kernel_size: size of the kernel, one int or two.
        stride: step of the kernel, one int or two.
        padding: zeros at each side, one int or two.
        dilation: spacing of the kernel's elements, one int or two.
        deformable_groups: parts of the channels that have offsets and masks of their own.
        groups: parts of the channels that have kernels of their own.
        weight_attr: attributes of the weight; by default its elements are normal with variance
            ``2 / (in_channels * kH * kW)``.
        bias_attr: attributes of the bias, which is 0 at first; False for none.

    Shape:
        x: ``[N, in_channels, H, W]``; the offsets and perhaps a mask follow it.
        output: ``[N, out_channels, H', W']``.

    Attributes:
        weight: parameter ``[out_channels, in_channels / groups, kH, kW]``.
        bias: parameter ``[out_channels]``, or None.

    Raises:
        ValueError: groups that do not divide the channels; in a call, what the function refuses.

    Example:
        >>> import paddle
        >>> layer = paddle.vision.ops.DeformConv2D(3, 4, 3, padding=1)
        >>> layer(paddle.zeros([1, 3, 5, 5]), paddle.zeros([1, 18, 5, 5])).shape
        paddle.Size([1, 4, 5, 5])
    """

    weight: Tensor
    bias: Tensor | None

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        deformable_groups: int = 1,
        groups: int = 1,
        weight_attr: Any = None,
        bias_attr: Any = None,
    ) -> None:
        super().__init__()
        if groups < 1 or in_channels % groups or out_channels % groups:
            got = f"{groups} groups of {in_channels} input and {out_channels} output channels"
            raise ValueError(f"[DeformConv2D] requires groups that divide the channels, got {got}")
        self._in_channels, self._out_channels = in_channels, out_channels
        self._deformable_groups, self._groups = deformable_groups, groups
        self._kernel_size, self._stride, self._padding, self._dilation = (
            list(ints(value, 2, "DeformConv2D", arg_name))
            for value, arg_name in (
                (kernel_size, "kernel_size"),
                (stride, "stride"),
                (padding, "padding"),
                (dilation, "dilation"),
            )
        )
        shape = [out_channels, in_channels // groups, *self._kernel_size]
        default = Normal(0.0, math.sqrt(2.0 / (math.prod(self._kernel_size) * in_channels)))
        self.weight = self.create_parameter(shape, weight_attr, self._dtype, default_initializer=default)
        self.bias = self.create_parameter([out_channels], bias_attr, self._dtype, is_bias=True)

    def forward(self, x: Tensor, offset: Tensor, mask: Tensor | None = None) -> Tensor:
        return deform_conv2d(
            x,
            offset,
            self.weight,
            self.bias,
            self._stride,
            self._padding,
            self._dilation,
            self._deformable_groups,
            self._groups,
            mask,
        )
