"""AlexNet.

A. Krizhevsky, One weird trick for parallelizing convolutional neural networks, 2014.
"""

from __future__ import annotations

import math
from typing import Any

import paddle.nn.functional as F
from paddle import nn
from paddle._public import public
from paddle.nn.initializer import Uniform
from paddle.vision.models._variants import pretrained_if, variant
from umiak.core.tensor import Tensor

model_urls = {
    "alexnet": (
        "https://paddle-imagenet-models-name.bj.bcebos.com/dygraph/AlexNet_pretrained.pdparams",
        "7f0f9f737132e02732d75a1459d98a43",
    )
}


def _uniform(fan_in: int) -> dict[str, Any]:
    """Weight and bias drawn evenly between ``±1 / sqrt(fan_in)``."""
    bound = 1 / math.sqrt(fan_in)
    return {"weight_attr": Uniform(-bound, bound), "bias_attr": Uniform(-bound, bound)}


def _conv(in_channels: int, out_channels: int, kernel_size: int, stride: int, padding: int) -> nn.Conv2D:
    fan_in = in_channels * kernel_size**2
    return nn.Conv2D(in_channels, out_channels, kernel_size, stride, padding, **_uniform(fan_in))


class ConvPoolLayer(nn.Layer):
    """Convolution, ReLU and max pooling to half the size."""

    def __init__(self, in_channels: int, out_channels: int, kernel_size: int, stride: int, padding: int) -> None:
        super().__init__()
        self.relu = nn.ReLU()
        self._conv = _conv(in_channels, out_channels, kernel_size, stride, padding)
        self._pool = nn.MaxPool2D(3, 2)

    def forward(self, inputs: Tensor) -> Tensor:
        return self._pool(self.relu(self._conv(inputs)))


@public("paddle.vision paddle.vision.models")
class AlexNet(nn.Layer):
    """AlexNet, for images of 224 × 224.

    Args:
        num_classes: scores per image; 0 leaves out the linear layers.

    Shape:
        input: ``[N, 3, 224, 224]``, or a size whose features are 6 × 6 as well.
        output: ``[N, num_classes]``; without classes ``[N, 256, 6, 6]``.

    Raises:
        ValueError: images of another size or with other channels.

    Example:
        >>> import paddle
        >>> paddle.vision.models.AlexNet(num_classes=0)(paddle.zeros([1, 3, 224, 224])).shape
        paddle.Size([1, 256, 6, 6])
    """

    def __init__(self, num_classes: int = 1000) -> None:
        super().__init__()
        self.num_classes = num_classes
        self._conv1 = ConvPoolLayer(3, 64, 11, 4, 2)
        self._conv2 = ConvPoolLayer(64, 192, 5, 1, 2)
        self._conv3 = _conv(192, 384, 3, 1, 1)
        self._conv4 = _conv(384, 256, 3, 1, 1)
        self._conv5 = ConvPoolLayer(256, 256, 3, 1, 1)
        if num_classes > 0:
            size = 256 * 6 * 6
            self._drop1 = nn.Dropout(0.5, mode="downscale_in_infer")
            self._fc6 = nn.Linear(size, 4096, **_uniform(size))
            self._drop2 = nn.Dropout(0.5, mode="downscale_in_infer")
            self._fc7 = nn.Linear(4096, 4096, **_uniform(size))
            self._fc8 = nn.Linear(4096, num_classes, **_uniform(size))

    def forward(self, inputs: Tensor) -> Tensor:
        x = self._conv2(self._conv1(inputs))
        x = F.relu(self._conv4(F.relu(self._conv3(x))))
        x = self._conv5(x)
        if self.num_classes > 0:
            x = F.relu(self._fc6(self._drop1(x.flatten(1))))
            x = F.relu(self._fc7(self._drop2(x)))
            x = self._fc8(x)
        return x


@public("paddle.vision paddle.vision.models")
@variant("num_classes=0", (1, 3, 64, 64), (1, 256, 1, 1))
def alexnet(pretrained: bool = False, **kwargs: Any) -> AlexNet:
    """AlexNet."""
    return pretrained_if(pretrained, AlexNet(**kwargs), "alexnet", model_urls)
