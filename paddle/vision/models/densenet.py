"""DenseNet.

G. Huang et al., Densely Connected Convolutional Networks, 2016.
"""

from __future__ import annotations

import math
from typing import Any

import paddle
from paddle import nn
from paddle._public import public
from paddle.nn.initializer import Uniform
from paddle.vision.models._variants import pretrained_if, variant
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error

_URL = "https://paddle-imagenet-models-name.bj.bcebos.com/dygraph/"
model_urls = {
    f"densenet{layers}": (f"{_URL}DenseNet{layers}_pretrained.pdparams", md5sum)
    for layers, md5sum in {
        121: "db1b239ed80a905290fd8b01d3af08e4",
        161: "62158869cb315098bd25ddbfd308a853",
        169: "82cc7c635c3f19098c748850efb2d796",
        201: "16ca29565a7712329cf9e36e02caaf58",
        264: "3270ce516b85370bba88cfdd9f60bff4",
    }.items()
}

# layers: channels of the first convolution, channels that a layer adds, layers in each block
_BLOCKS = {
    121: (64, 32, (6, 12, 24, 16)),
    161: (96, 48, (6, 12, 36, 24)),
    169: (64, 32, (6, 12, 32, 32)),
    201: (64, 32, (6, 12, 48, 32)),
    264: (64, 32, (6, 12, 64, 48)),
}


class BNACConvLayer(nn.Layer):
    """Batch normalization, ReLU and convolution."""

    def __init__(self, in_channels: int, out_channels: int, kernel_size: int, padding: int = 0) -> None:
        super().__init__()
        self._batch_norm = nn.BatchNorm(in_channels, act="relu")
        self._conv = nn.Conv2D(in_channels, out_channels, kernel_size, padding=padding, bias_attr=False)

    def forward(self, x: Tensor) -> Tensor:
        return self._conv(self._batch_norm(x))


class ConvBNLayer(nn.Layer):
    """Convolution, batch normalization and ReLU."""

    def __init__(self, in_channels: int, out_channels: int, kernel_size: int, stride: int, padding: int) -> None:
        super().__init__()
        self._conv = nn.Conv2D(in_channels, out_channels, kernel_size, stride, padding, bias_attr=False)
        self._batch_norm = nn.BatchNorm(out_channels, act="relu")

    def forward(self, x: Tensor) -> Tensor:
        return self._batch_norm(self._conv(x))


class DenseLayer(nn.Layer):
    """Convolutions of 1 × 1 and 3 × 3, whose output is joined to their input."""

    def __init__(self, in_channels: int, growth_rate: int, bn_size: int, dropout: float) -> None:
        super().__init__()
        self.dropout = dropout
        self.bn_ac_func1 = BNACConvLayer(in_channels, bn_size * growth_rate, 1)
        self.bn_ac_func2 = BNACConvLayer(bn_size * growth_rate, growth_rate, 3, padding=1)
        if dropout:
            self.dropout_func = nn.Dropout(dropout, mode="downscale_in_infer")

    def forward(self, x: Tensor) -> Tensor:
        y = self.bn_ac_func2(self.bn_ac_func1(x))
        if self.dropout:
            y = self.dropout_func(y)
        return paddle.concat([x, y], axis=1)


class DenseBlock(nn.Layer):
    """Layers, each of which adds ``growth_rate`` channels."""

    def __init__(self, name: str, layers: int, channels: int, growth_rate: int, bn_size: int, dropout: float) -> None:
        super().__init__()
        for i in range(layers):
            layer = DenseLayer(channels + i * growth_rate, growth_rate, bn_size, dropout)
            self.add_sublayer(f"{name}_{i + 1}", layer)

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.children():
            x = layer(x)
        return x


class TransitionLayer(nn.Layer):
    """Convolution of 1 × 1 and average pooling to half the size."""

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.conv_ac_func = BNACConvLayer(in_channels, out_channels, 1)
        self.pool2d_avg = nn.AvgPool2D(2, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.pool2d_avg(self.conv_ac_func(x))


@public("paddle.vision paddle.vision.models")
class DenseNet(nn.Layer):
    """DenseNet: each layer of a block sees the outputs of all layers before it.

    Args:
        layers: layers that have weights: 121, 161, 169, 201 or 264.
        bn_size: channels between the two convolutions of a layer, in multiples of those it adds.
        dropout: probability that an element of a layer's output is dropped.
        num_classes: scores per image; 0 leaves out the linear layer.
        with_pool: average the features over each image; the linear layer requires it.

    Shape:
        input: ``[N, 3, H, W]``.
        output: ``[N, num_classes]``; without classes the features, 1 × 1 after pooling.

    Raises:
        ValueError: another number of layers.

    Example:
        >>> import paddle
        >>> paddle.vision.models.DenseNet(121, num_classes=4)(paddle.zeros([1, 3, 32, 32])).shape
        paddle.Size([1, 4])
    """

    def __init__(
        self,
        layers: int = 121,
        bn_size: int = 4,
        dropout: float = 0.0,
        num_classes: int = 1000,
        with_pool: bool = True,
    ) -> None:
        super().__init__()
        if layers not in _BLOCKS:
            raise op_error(ValueError, "DenseNet", f"layers of {', '.join(map(str, _BLOCKS))}", layers)
        self.num_classes = num_classes
        self.with_pool = with_pool
        channels, growth_rate, blocks = _BLOCKS[layers]
        self.conv1_func = ConvBNLayer(3, channels, 7, 2, 3)
        self.pool2d_max = nn.MaxPool2D(3, 2, 1)
        self._stages: list[str] = []
        for stage, count in enumerate(blocks, 2):
            block = DenseBlock(f"conv{stage}", count, channels, growth_rate, bn_size, dropout)
            self._add_stage(f"db_conv_{stage}", block)
            channels += count * growth_rate
            if stage < len(blocks) + 1:
                self._add_stage(f"tr_conv{stage}_blk", TransitionLayer(channels, channels // 2))
                channels //= 2
        self.batch_norm = nn.BatchNorm(channels, act="relu")
        if with_pool:
            self.pool2d_avg = nn.AdaptiveAvgPool2D(1)
        if num_classes > 0:
            bound = 1 / math.sqrt(channels)
            self.out = nn.Linear(channels, num_classes, weight_attr=Uniform(-bound, bound))

    def _add_stage(self, name: str, stage: nn.Layer) -> None:
        self._stages.append(name)
        self.add_sublayer(name, stage)

    def forward(self, input: Tensor) -> Tensor:
        x = self.pool2d_max(self.conv1_func(input))
        for name in self._stages:
            x = getattr(self, name)(x)
        x = self.batch_norm(x)
        if self.with_pool:
            x = self.pool2d_avg(x)
        return self.out(x.flatten(1)) if self.num_classes > 0 else x


def _densenet(layers: int, pretrained: bool, kwargs: dict[str, Any]) -> DenseNet:
    return pretrained_if(pretrained, DenseNet(layers, **kwargs), f"densenet{layers}", model_urls)


@public("paddle.vision paddle.vision.models")
@variant(head=("out", 1024))
def densenet121(pretrained: bool = False, **kwargs: Any) -> DenseNet:
    """DenseNet with 121 layers."""
    return _densenet(121, pretrained, kwargs)


@public("paddle.vision paddle.vision.models")
@variant(head=("out", 2208))
def densenet161(pretrained: bool = False, **kwargs: Any) -> DenseNet:
    """DenseNet with 161 layers."""
    return _densenet(161, pretrained, kwargs)


@public("paddle.vision paddle.vision.models")
@variant(head=("out", 1664))
def densenet169(pretrained: bool = False, **kwargs: Any) -> DenseNet:
    """DenseNet with 169 layers."""
    return _densenet(169, pretrained, kwargs)


@public("paddle.vision paddle.vision.models")
@variant(head=("out", 1920))
def densenet201(pretrained: bool = False, **kwargs: Any) -> DenseNet:
    """DenseNet with 201 layers."""
    return _densenet(201, pretrained, kwargs)


@public("paddle.vision paddle.vision.models")
@variant(head=("out", 2688))
def densenet264(pretrained: bool = False, **kwargs: Any) -> DenseNet:
    """DenseNet with 264 layers."""
    return _densenet(264, pretrained, kwargs)
