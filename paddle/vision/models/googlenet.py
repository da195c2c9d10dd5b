"""GoogLeNet, with two auxiliary classifiers.

C. Szegedy et al., Going Deeper with Convolutions, 2014.
"""

from __future__ import annotations

import math
from typing import Any

import paddle
import paddle.nn.functional as F
from paddle import nn
from paddle._public import public
from paddle.nn.initializer import Uniform
from paddle.vision.models._variants import pretrained_if
from umiak.core.tensor import Tensor

model_urls = {
    "googlenet": (
        "https://paddle-imagenet-models-name.bj.bcebos.com/dygraph/GoogLeNet_pretrained.pdparams",
        "80c06f038e905c53ab32c40eca6e26ae",
    )
}

# module: input channels; channels of 1 × 1, of 3 × 3 with those before, of 5 × 5 with those before, after pooling
_MODULES = {
    "3a": (192, 64, 96, 128, 16, 32, 32),
    "3b": (256, 128, 128, 192, 32, 96, 64),
    "4a": (480, 192, 96, 208, 16, 48, 64),
    "4b": (512, 160, 112, 224, 24, 64, 64),
    "4c": (512, 128, 128, 256, 24, 64, 64),
    "4d": (512, 112, 144, 288, 32, 64, 64),
    "4e": (528, 256, 160, 320, 32, 128, 128),
    "5a": (832, 256, 160, 320, 32, 128, 128),
    "5b": (832, 384, 192, 384, 48, 128, 128),
}


def _linear(in_features: int, out_features: int, fan: int) -> nn.Linear:
    bound = math.sqrt(3 / fan)
    return nn.Linear(in_features, out_features, weight_attr=Uniform(-bound, bound))


class ConvLayer(nn.Layer):
    """Convolution that keeps the size where the stride is 1."""

    def __init__(self, in_channels: int, out_channels: int, kernel_size: int, stride: int = 1) -> None:
        super().__init__()
        self._conv = nn.Conv2D(in_channels, out_channels, kernel_size, stride, kernel_size // 2, bias_attr=False)

    def forward(self, inputs: Tensor) -> Tensor:
        return self._conv(inputs)


class Inception(nn.Layer):
    """Convolutions of 1 × 1, 3 × 3 and 5 × 5 and a max pooling side by side, and ReLU of all."""

    def __init__(
        self, channels: int, width1: int, reduced3: int, width3: int, reduced5: int, width5: int, projected: int
    ) -> None:
        super().__init__()
        self._conv1 = ConvLayer(channels, width1, 1)
        self._conv3r = ConvLayer(channels, reduced3, 1)
        self._conv3 = ConvLayer(reduced3, width3, 3)
        self._conv5r = ConvLayer(channels, reduced5, 1)
        self._conv5 = ConvLayer(reduced5, width5, 5)
        self._pool = nn.MaxPool2D(3, 1, 1)
        self._convprj = ConvLayer(channels, projected, 1)

    def forward(self, inputs: Tensor) -> Tensor:
        branches = [
            self._conv1(inputs),
            self._conv3(self._conv3r(inputs)),
            self._conv5(self._conv5r(inputs)),
            self._convprj(self._pool(inputs)),
        ]
        return F.relu(paddle.concat(branches, axis=1))


@public("paddle.vision paddle.vision.models")
class GoogLeNet(nn.Layer):
    """GoogLeNet: the scores, and those of two auxiliary classifiers, which see earlier features.

    Args:
        num_classes: scores per image; 0 leaves out all linear layers.
        with_pool: average the features; linear layers require it.

    Shape:
        input: ``[N, 3, 224, 224]``, or a size near it; any size from 71 on without classes.
        output: three of ``[N, num_classes]``; without classes three of features.

    Raises:
        ValueError: images of a size that auxiliary classifiers do not fit.

    Example:
        >>> import paddle
        >>> model = paddle.vision.models.GoogLeNet(num_classes=4)
        >>> [scores.shape for scores in model(paddle.zeros([1, 3, 224, 224]))]
        [paddle.Size([1, 4]), paddle.Size([1, 4]), paddle.Size([1, 4])]
    """

    def __init__(self, num_classes: int = 1000, with_pool: bool = True) -> None:
        super().__init__()
        self.num_classes = num_classes
        self.with_pool = with_pool
        self._conv = ConvLayer(3, 64, 7, 2)
        self._pool = nn.MaxPool2D(3, 2)
        self._conv_1 = ConvLayer(64, 64, 1)
        self._conv_2 = ConvLayer(64, 192, 3)
        for name, widths in _MODULES.items():
            self.add_sublayer(f"_ince{name}", Inception(*widths))
        if with_pool:
            self._pool_5 = nn.AdaptiveAvgPool2D(1)
            self._pool_o1 = nn.AvgPool2D(5, 3)
            self._pool_o2 = nn.AvgPool2D(5, 3)
        if num_classes > 0:
            self._drop = nn.Dropout(0.4, mode="downscale_in_infer")
            self._fc_out = _linear(1024, num_classes, 1024)
            self._conv_o1 = ConvLayer(512, 128, 1)
            self._fc_o1 = _linear(1152, 1024, 2048)
            self._drop_o1 = nn.Dropout(0.7, mode="downscale_in_infer")
            self._out1 = _linear(1024, num_classes, 1024)
            self._conv_o2 = ConvLayer(528, 128, 1)
            self._fc_o2 = _linear(1152, 1024, 2048)
            self._drop_o2 = nn.Dropout(0.7, mode="downscale_in_infer")
            self._out2 = _linear(1024, num_classes, 1024)

    def forward(self, inputs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        x = self._pool(self._conv(inputs))
        x = self._pool(self._conv_2(self._conv_1(x)))
        x = self._pool(self._ince3b(self._ince3a(x)))
        out1 = self._ince4a(x)
        out2 = self._ince4d(self._ince4c(self._ince4b(out1)))
        out = self._ince5b(self._ince5a(self._pool(self._ince4e(out2))))
        if self.with_pool:
            out, out1, out2 = self._pool_5(out), self._pool_o1(out1), self._pool_o2(out2)
        if self.num_classes > 0:
            out = self._fc_out(self._drop(out).squeeze([2, 3]))
            out1 = self._fc_o1(self._conv_o1(out1).flatten(1))
            out1 = self._out1(self._drop_o1(F.relu(out1)))
            # The second classifier has no ReLU: the published weights were trained so.
            out2 = self._fc_o2(self._conv_o2(out2).flatten(1))
            out2 = self._out2(self._drop_o2(out2))
        return out, out1, out2


@public("paddle.vision paddle.vision.models")
def googlenet(pretrained: bool = False, **kwargs: Any) -> GoogLeNet:
    """GoogLeNet.

    Args:
        pretrained: load the published weights, which are downloaded into ``~/.cache/paddle/hapi/weights`` once.
        **kwargs: what the constructor of ``GoogLeNet`` takes besides.

    Returns:
        The model, a ``GoogLeNet``, which gives three scores.

    Raises:
        RuntimeError: the weights are not there and could not be downloaded.

    Example:
        >>> import paddle
        >>> model = paddle.vision.models.googlenet(num_classes=0)
        >>> [features.shape for features in model(paddle.zeros([1, 3, 96, 96]))]
        [paddle.Size([1, 1024, 1, 1]), paddle.Size([1, 512, 1, 1]), paddle.Size([1, 528, 1, 1])]
    """
    return pretrained_if(pretrained, GoogLeNet(**kwargs), "googlenet", model_urls)
