"""MobileNetV2: residual blocks between few channels, with many inside.

M. Sandler et al., MobileNetV2: Inverted Residuals and Linear Bottlenecks, 2018.
"""

from __future__ import annotations

from typing import Any

from paddle import nn
from paddle._public import public
from paddle.vision._conv_norm_activation import ConvNormActivation
from paddle.vision.models._utils import _make_divisible
from paddle.vision.models._variants import pretrained_if, variant
from umiak.core.tensor import Tensor

model_urls = {
    "mobilenetv2_1.0": (
        "https://paddle-hapi.bj.bcebos.com/models/mobilenet_v2_x1.0.pdparams",
        "0340af0a901346c8d46f4529882fb63d",
    )
}

# expansion, channels, blocks, stride of the first
_STAGES = (
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)


class InvertedResidual(nn.Layer):
    """Expansion, convolution of each channel alone and projection, beside a shortcut where the shapes are the same."""

    def __init__(self, inp: int, oup: int, stride: int, expand_ratio: float, norm_layer: Any = nn.BatchNorm2D) -> None:
        super().__init__()
        self.stride = stride
        self.use_res_connect = stride == 1 and inp == oup
        hidden = round(inp * expand_ratio)
        layers: list[nn.Layer] = []
        if expand_ratio != 1:
            layers.append(ConvNormActivation(inp, hidden, 1, norm_layer=norm_layer, activation_layer=nn.ReLU6))
        layers += [
            ConvNormActivation(
                hidden, hidden, stride=stride, groups=hidden, norm_layer=norm_layer, activation_layer=nn.ReLU6
            ),
            nn.Conv2D(hidden, oup, 1, bias_attr=False),
            norm_layer(oup),
        ]
        self.conv = nn.Sequential(*layers)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.conv(x) if self.use_res_connect else self.conv(x)


@public("paddle.vision paddle.vision.models")
class MobileNetV2(nn.Layer):
    """MobileNetV2.

    Args:
        scale: factor of all numbers of channels, which are rounded to multiples of 8.
        num_classes: scores per image; 0 leaves out the linear layer.
        with_pool: average the features over each image; the linear layer requires it.

    Shape:
        input: ``[N, 3, H, W]``.
        output: ``[N, num_classes]``; without classes the features, 1 × 1 after pooling.

    Raises:
        ValueError: images without three channels.

    Example:
        >>> import paddle
        >>> paddle.vision.models.MobileNetV2(scale=0.25, num_classes=4)(paddle.zeros([1, 3, 32, 32])).shape
        paddle.Size([1, 4])
    """

    def __init__(self, scale: float = 1.0, num_classes: int = 1000, with_pool: bool = True) -> None:
        super().__init__()
        self.num_classes = num_classes
        self.with_pool = with_pool
        channels = _make_divisible(32 * scale)
        self.last_channel = _make_divisible(1280 * max(1.0, scale))
        layers: list[nn.Layer] = [ConvNormActivation(3, channels, stride=2, activation_layer=nn.ReLU6)]
        for expansion, width, blocks, stride in _STAGES:
            for i in range(blocks):
                width_here = _make_divisible(width * scale)
                layers.append(InvertedResidual(channels, width_here, 1 if i else stride, expansion))
                channels = width_here
        layers.append(ConvNormActivation(channels, self.last_channel, 1, activation_layer=nn.ReLU6))
        self.features = nn.Sequential(*layers)
        if with_pool:
            self.pool2d_avg = nn.AdaptiveAvgPool2D(1)
        if num_classes > 0:
            self.classifier = nn.Sequential(nn.Dropout(0.2), nn.Linear(self.last_channel, num_classes))

    def forward(self, x: Tensor) -> Tensor:
        x = self.features(x)
        if self.with_pool:
            x = self.pool2d_avg(x)
        return self.classifier(x.flatten(1)) if self.num_classes > 0 else x


@public("paddle.vision paddle.vision.models")
@variant(scale="factor of all numbers of channels.")
def mobilenet_v2(pretrained: bool = False, scale: float = 1.0, **kwargs: Any) -> MobileNetV2:
    """MobileNetV2."""
    return pretrained_if(pretrained, MobileNetV2(scale, **kwargs), f"mobilenetv2_{scale}", model_urls)
