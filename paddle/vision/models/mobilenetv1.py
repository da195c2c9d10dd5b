"""MobileNetV1: convolutions of single channels, mixed by convolutions of 1 × 1.

A. Howard et al., MobileNets: Efficient Convolutional Neural Networks for Mobile Vision Applications, 2017.
"""

from __future__ import annotations

from typing import Any

from paddle import nn
from paddle._public import public
from paddle.vision._conv_norm_activation import ConvNormActivation
from paddle.vision.models._variants import pretrained_if, variant
from umiak.core.tensor import Tensor

model_urls = {
    "mobilenetv1_1.0": (
        "https://paddle-hapi.bj.bcebos.com/models/mobilenetv1_1.0.pdparams",
        "3033ab1975b1670bef51545feb65fc45",
    )
}

# name of a block, output channels, stride
_BLOCKS = (
    ("conv2_1", 64, 1),
    ("conv2_2", 128, 2),
    ("conv3_1", 128, 1),
    ("conv3_2", 256, 2),
    ("conv4_1", 256, 1),
    ("conv4_2", 512, 2),
    *((f"conv5_{i}", 512, 1) for i in range(1, 6)),
    ("conv5_6", 1024, 2),
    ("conv6", 1024, 1),
)


class DepthwiseSeparable(nn.Layer):
    """Convolution of 3 × 3 of each channel alone, and one of 1 × 1 of all channels."""

    def __init__(self, in_channels: int, out_channels: int, stride: int) -> None:
        super().__init__()
        self._depthwise_conv = ConvNormActivation(in_channels, in_channels, 3, stride, 1, groups=in_channels)
        self._pointwise_conv = ConvNormActivation(in_channels, out_channels, 1)

    def forward(self, x: Tensor) -> Tensor:
        return self._pointwise_conv(self._depthwise_conv(x))


@public("paddle.vision paddle.vision.models")
class MobileNetV1(nn.Layer):
    """MobileNetV1.

    Args:
        scale: factor of all numbers of channels.
        num_classes: scores per image; 0 leaves out the linear layer.
        with_pool: average the features over each image; the linear layer requires it.

    Shape:
        input: ``[N, 3, H, W]``.
        output: ``[N, num_classes]``; without classes the features, 1 × 1 after pooling.

    Raises:
        ValueError: a scale that leaves no channels.

    Example:
        >>> import paddle
        >>> paddle.vision.models.MobileNetV1(scale=0.25, num_classes=4)(paddle.zeros([1, 3, 32, 32])).shape
        paddle.Size([1, 4])
    """

    def __init__(self, scale: float = 1.0, num_classes: int = 1000, with_pool: bool = True) -> None:
        super().__init__()
        self.scale = scale
        self.num_classes = num_classes
        self.with_pool = with_pool
        channels = int(32 * scale)
        self.conv1 = ConvNormActivation(3, channels, 3, stride=2, padding=1)
        for name, width, stride in _BLOCKS:
            self.add_sublayer(name, DepthwiseSeparable(channels, int(width * scale), stride))
            channels = int(width * scale)
        if with_pool:
            self.pool2d_avg = nn.AdaptiveAvgPool2D(1)
        if num_classes > 0:
            self.fc = nn.Linear(channels, num_classes)

    def forward(self, x: Tensor) -> Tensor:
        x = self.conv1(x)
        for name, _, _ in _BLOCKS:
            x = getattr(self, name)(x)
        if self.with_pool:
            x = self.pool2d_avg(x)
        return self.fc(x.flatten(1)) if self.num_classes > 0 else x


@public("paddle.vision paddle.vision.models")
@variant(scale="factor of all numbers of channels.")
def mobilenet_v1(pretrained: bool = False, scale: float = 1.0, **kwargs: Any) -> MobileNetV1:
    """MobileNetV1."""
    return pretrained_if(pretrained, MobileNetV1(scale, **kwargs), f"mobilenetv1_{scale}", model_urls)
