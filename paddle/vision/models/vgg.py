"""VGG: convolutions of 3 × 3 in five stages, with three large linear layers.

K. Simonyan and A. Zisserman, Very Deep Convolutional Networks for Large-Scale Image Recognition, 2014.
"""

from __future__ import annotations

from typing import Any

from paddle import nn
from paddle._public import public
from paddle.vision.models._variants import pretrained_if, variant
from umiak.core.tensor import Tensor

_URL = "https://paddle-hapi.bj.bcebos.com/models/"
model_urls = {
    "vgg16": (f"{_URL}vgg16.pdparams", "89bbffc0f87d260be9b8cdc169c991c4"),
    "vgg19": (f"{_URL}vgg19.pdparams", "23b18bb13d8894f60f54e642be79a0dd"),
}

_WIDTHS = (64, 128, 256, 512, 512)
# layers: convolutions in each stage
_STAGES = {11: (1, 1, 2, 2, 2), 13: (2, 2, 2, 2, 2), 16: (2, 2, 3, 3, 3), 19: (2, 2, 4, 4, 4)}
_BATCH_NORM = "a batch normalization after each convolution."


@public("paddle.vision paddle.vision.models")
class VGG(nn.Layer):
    """VGG with given features.

    Args:
        features: the convolutions, whose output has 512 channels.
        num_classes: scores per image; 0 leaves out the linear layers.
        with_pool: average the features to 7 × 7; without it, linear layers require images of 224 × 224.

    Shape:
        input: ``[N, 3, H, W]``.
        output: ``[N, num_classes]``; without classes the features, ``[N, 512, 7, 7]`` after pooling.

    Raises:
        ValueError: linear layers without pooling on images of another size than 224 × 224.

    Example:
        >>> import paddle
        >>> features = paddle.nn.Conv2D(3, 512, 1)
        >>> paddle.vision.models.VGG(features, num_classes=0)(paddle.zeros([1, 3, 8, 8])).shape
        paddle.Size([1, 512, 7, 7])
    """

    def __init__(self, features: nn.Layer, num_classes: int = 1000, with_pool: bool = True) -> None:
        super().__init__()
        self.features = features
        self.num_classes = num_classes
        self.with_pool = with_pool
        if with_pool:
            self.avgpool = nn.AdaptiveAvgPool2D((7, 7))
        if num_classes > 0:
            self.classifier = nn.Sequential(
                nn.Linear(512 * 7 * 7, 4096),
                nn.ReLU(),
                nn.Dropout(),
                nn.Linear(4096, 4096),
                nn.ReLU(),
                nn.Dropout(),
                nn.Linear(4096, num_classes),
            )

    def forward(self, x: Tensor) -> Tensor:
        x = self.features(x)
        if self.with_pool:
            x = self.avgpool(x)
        return self.classifier(x.flatten(1)) if self.num_classes > 0 else x


def _features(depth: int, batch_norm: bool) -> nn.Sequential:
    layers: list[nn.Layer] = []
    channels = 3
    for width, convolutions in zip(_WIDTHS, _STAGES[depth], strict=True):
        for _ in range(convolutions):
            layers.append(nn.Conv2D(channels, width, 3, padding=1))
            if batch_norm:
                layers.append(nn.BatchNorm2D(width))
            layers.append(nn.ReLU())
            channels = width
        layers.append(nn.MaxPool2D(2, 2))
    return nn.Sequential(*layers)


def _vgg(depth: int, batch_norm: bool, pretrained: bool, kwargs: dict[str, Any]) -> VGG:
    name = f"vgg{depth}_bn" if batch_norm else f"vgg{depth}"
    return pretrained_if(pretrained, VGG(_features(depth, batch_norm), **kwargs), name, model_urls)


@public("paddle.vision paddle.vision.models")
@variant("num_classes=0", shape=(1, 512, 7, 7), batch_norm=_BATCH_NORM)
def vgg11(pretrained: bool = False, batch_norm: bool = False, **kwargs: Any) -> VGG:
    """VGG with 11 layers that have weights."""
    return _vgg(11, batch_norm, pretrained, kwargs)


@public("paddle.vision paddle.vision.models")
@variant("num_classes=0", shape=(1, 512, 7, 7), batch_norm=_BATCH_NORM)
def vgg13(pretrained: bool = False, batch_norm: bool = False, **kwargs: Any) -> VGG:
    """VGG with 13 layers that have weights."""
    return _vgg(13, batch_norm, pretrained, kwargs)


@public("paddle.vision paddle.vision.models")
@variant("num_classes=0", shape=(1, 512, 7, 7), batch_norm=_BATCH_NORM)
def vgg16(pretrained: bool = False, batch_norm: bool = False, **kwargs: Any) -> VGG:
    """VGG with 16 layers that have weights."""
    return _vgg(16, batch_norm, pretrained, kwargs)


@public("paddle.vision paddle.vision.models")
@variant("num_classes=0", shape=(1, 512, 7, 7), batch_norm=_BATCH_NORM)
def vgg19(pretrained: bool = False, batch_norm: bool = False, **kwargs: Any) -> VGG:
    """VGG with 19 layers that have weights."""
    return _vgg(19, batch_norm, pretrained, kwargs)
