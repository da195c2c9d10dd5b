"""SqueezeNet.

F. Iandola et al., SqueezeNet: AlexNet-level accuracy with 50x fewer parameters and <0.5MB model size, 2016.
"""

from __future__ import annotations

from typing import Any

import paddle
import paddle.nn.functional as F
from paddle import nn
from paddle._public import public
from paddle.vision.models._variants import pretrained_if, variant
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error

_URL = "https://paddle-imagenet-models-name.bj.bcebos.com/dygraph/"
model_urls = {
    "squeezenet1_0": (f"{_URL}SqueezeNet1_0_pretrained.pdparams", "30b95af60a2178f03cf9b66cd77e1db1"),
    "squeezenet1_1": (f"{_URL}SqueezeNet1_1_pretrained.pdparams", "a11250d3a1f91d7131fd095ebbf09eee"),
}

# Channels of the squeezing convolutions of the eight fire modules; the expanding ones have four times as many.
_SQUEEZED = (16, 16, 32, 32, 48, 48, 64, 64)
# version: channels, size and padding of the first convolution; fire modules that a pooling comes before
_VERSIONS = {"1.0": ((96, 7, 0), (1, 4, 8)), "1.1": ((64, 3, 1), (1, 3, 5))}


class MakeFireConv(nn.Layer):
    """Convolution and ReLU."""

    def __init__(self, in_channels: int, out_channels: int, kernel_size: int, padding: int = 0) -> None:
        super().__init__()
        self._conv = nn.Conv2D(in_channels, out_channels, kernel_size, padding=padding)

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(self._conv(x))


class MakeFire(nn.Layer):
    """Fire module: few channels, expanded by convolutions of 1 × 1 and of 3 × 3 side by side."""

    def __init__(self, in_channels: int, squeezed: int, expanded: int) -> None:
        super().__init__()
        self._conv = MakeFireConv(in_channels, squeezed, 1)
        self._conv_path1 = MakeFireConv(squeezed, expanded, 1)
        self._conv_path2 = MakeFireConv(squeezed, expanded, 3, padding=1)

    def forward(self, inputs: Tensor) -> Tensor:
        x = self._conv(inputs)
        return paddle.concat([self._conv_path1(x), self._conv_path2(x)], axis=1)


@public("paddle.vision paddle.vision.models")
class SqueezeNet(nn.Layer):
    """SqueezeNet of a version.

    Args:
        version: ``"1.0"`` or ``"1.1"``, which pools earlier and needs less than half of the time.
        num_classes: scores per image; 0 leaves out the last convolution.
        with_pool: average over each image.

    Shape:
        input: ``[N, 3, H, W]``.
        output: ``[N, num_classes]``, without classes ``[N, 512]``. Without pooling it has two more dims, and no ReLU.

    Raises:
        ValueError: another version.

    Example:
        >>> import paddle
        >>> paddle.vision.models.SqueezeNet("1.1", num_classes=4)(paddle.zeros([1, 3, 32, 32])).shape
        paddle.Size([1, 4])
    """

    def __init__(self, version: str, num_classes: int = 1000, with_pool: bool = True) -> None:
        super().__init__()
        if version not in _VERSIONS:
            raise op_error(ValueError, "SqueezeNet", "version '1.0' or '1.1'", repr(version))
        self.version = version
        self.num_classes = num_classes
        self.with_pool = with_pool
        (channels, size, padding), self._pooled = _VERSIONS[version]
        self._conv = nn.Conv2D(3, channels, size, stride=2, padding=padding)
        self._pool = nn.MaxPool2D(3, 2)
        for i, squeezed in enumerate(_SQUEEZED, 1):
            setattr(self, f"_conv{i}", MakeFire(channels, squeezed, 4 * squeezed))
            channels = 8 * squeezed
        self._drop = nn.Dropout(0.5, mode="downscale_in_infer")
        self._conv9 = nn.Conv2D(channels, num_classes, 1)
        self._avg_pool = nn.AdaptiveAvgPool2D(1)

    def forward(self, inputs: Tensor) -> Tensor:
        x = F.relu(self._conv(inputs))
        for i in range(1, len(_SQUEEZED) + 1):
            if i in self._pooled:
                x = self._pool(x)
            x = getattr(self, f"_conv{i}")(x)
        if self.num_classes > 0:
            x = self._conv9(self._drop(x))
        return self._avg_pool(F.relu(x)).squeeze([2, 3]) if self.with_pool else x


def _squeezenet(version: str, pretrained: bool, kwargs: dict[str, Any]) -> SqueezeNet:
    name = f"squeezenet{version.replace('.', '_')}"
    return pretrained_if(pretrained, SqueezeNet(version, **kwargs), name, model_urls)


@public("paddle.vision paddle.vision.models")
@variant()
def squeezenet1_0(pretrained: bool = False, **kwargs: Any) -> SqueezeNet:
    """SqueezeNet 1.0."""
    return _squeezenet("1.0", pretrained, kwargs)


@public("paddle.vision paddle.vision.models")
@variant()
def squeezenet1_1(pretrained: bool = False, **kwargs: Any) -> SqueezeNet:
    """SqueezeNet 1.1."""
    return _squeezenet("1.1", pretrained, kwargs)
