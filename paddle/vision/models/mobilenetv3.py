"""MobileNetV3: inverted residual blocks, some of which weigh their channels, with hard swish.

A. Howard et al., Searching for MobileNetV3, 2019.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

from paddle import nn
from paddle._public import public
from paddle.vision._conv_norm_activation import ConvNormActivation
from paddle.vision.models._utils import _make_divisible
from paddle.vision.models._variants import pretrained_if, variant
from umiak.core.tensor import Tensor

_URL = "https://paddle-hapi.bj.bcebos.com/models/"
model_urls = {
    "mobilenet_v3_small_x1.0": (f"{_URL}mobilenet_v3_small_x1.0.pdparams", "34fe0e7c1f8b00b2b056ad6788d0590c"),
    "mobilenet_v3_large_x1.0": (f"{_URL}mobilenet_v3_large_x1.0.pdparams", "118db5792b4e183b925d8e8e334db3df"),
}

_batch_norm = partial(nn.BatchNorm2D, epsilon=0.001, momentum=0.99)
_ACTIVATIONS: dict[str, type[nn.Layer]] = {"relu": nn.ReLU, "hardswish": nn.Hardswish}


class Block(NamedTuple):
    """Numbers of channels at scale 1, and what else a block consists of."""

    in_channels: int
    kernel: int
    expanded: int
    out_channels: int
    use_se: bool
    activation: str
    stride: int


_SMALL = (
    Block(16, 3, 16, 16, True, "relu", 2),
    Block(16, 3, 72, 24, False, "relu", 2),
    Block(24, 3, 88, 24, False, "relu", 1),
    Block(24, 5, 96, 40, True, "hardswish", 2),
    Block(40, 5, 240, 40, True, "hardswish", 1),
    Block(40, 5, 240, 40, True, "hardswish", 1),
    Block(40, 5, 120, 48, True, "hardswish", 1),
    Block(48, 5, 144, 48, True, "hardswish", 1),
    Block(48, 5, 288, 96, True, "hardswish", 2),
    Block(96, 5, 576, 96, True, "hardswish", 1),
    Block(96, 5, 576, 96, True, "hardswish", 1),
)
_LARGE = (
    Block(16, 3, 16, 16, False, "relu", 1),
    Block(16, 3, 64, 24, False, "relu", 2),
    Block(24, 3, 72, 24, False, "relu", 1),
    Block(24, 5, 72, 40, True, "relu", 2),
    Block(40, 5, 120, 40, True, "relu", 1),
    Block(40, 5, 120, 40, True, "relu", 1),
    Block(40, 3, 240, 80, False, "hardswish", 2),
    Block(80, 3, 200, 80, False, "hardswish", 1),
    Block(80, 3, 184, 80, False, "hardswish", 1),
    Block(80, 3, 184, 80, False, "hardswish", 1),
    Block(80, 3, 480, 112, True, "hardswish", 1),
    Block(112, 3, 672, 112, True, "hardswish", 1),
    Block(112, 5, 672, 160, True, "hardswish", 2),
    Block(160, 5, 960, 160, True, "hardswish", 1),
    Block(160, 5, 960, 160, True, "hardswish", 1),
)


class SqueezeExcitation(nn.Layer):
    """Factors of the channels, computed from their means."""

    def __init__(
        self,
        input_channels: int,
        squeeze_channels: int,
        activation: type[nn.Layer] = nn.ReLU,
        scale_activation: type[nn.Layer] = nn.Sigmoid,
    ) -> None:
        super().__init__()
        self.avgpool = nn.AdaptiveAvgPool2D(1)
        self.fc1 = nn.Conv2D(input_channels, squeeze_channels, 1)
        self.fc2 = nn.Conv2D(squeeze_channels, input_channels, 1)
        self.activation = activation()
        self.scale_activation = scale_activation()

    def forward(self, x: Tensor) -> Tensor:
        factors = self.activation(self.fc1(self.avgpool(x)))
        return x * self.scale_activation(self.fc2(factors))


class InvertedResidual(nn.Layer):
    """Expansion, convolution of each channel alone, factors of the channels and projection, beside a shortcut where the
    shapes are the same."""

    def __init__(
        self,
        in_channels: int,
        expanded: int,
        out_channels: int,
        kernel: int,
        stride: int,
        use_se: bool,
        activation: type[nn.Layer],
    ) -> None:
        super().__init__()
        self.use_res_connect = stride == 1 and in_channels == out_channels
        self.use_se = use_se
        self.expand = in_channels != expanded
        if self.expand:
            self.expand_conv = ConvNormActivation(
                in_channels, expanded, 1, norm_layer=_batch_norm, activation_layer=activation
            )
        self.bottleneck_conv = ConvNormActivation(
            expanded,
            expanded,
            kernel,
            stride,
            groups=expanded,
            norm_layer=_batch_norm,
            activation_layer=activation,
        )
        if use_se:
            squeezed = _make_divisible(expanded // 4)
            self.mid_se = SqueezeExcitation(expanded, squeezed, scale_activation=nn.Hardsigmoid)
        self.linear_conv = ConvNormActivation(expanded, out_channels, 1, norm_layer=_batch_norm, activation_layer=None)

    def forward(self, x: Tensor) -> Tensor:
        y = self.expand_conv(x) if self.expand else x
        y = self.bottleneck_conv(y)
        if self.use_se:
            y = self.mid_se(y)
        y = self.linear_conv(y)
        return x + y if self.use_res_connect else y


class MobileNetV3(nn.Layer):
    """MobileNetV3 of given blocks.

    Args:
        config: the blocks.
        last_channel: width of the linear layer before the scores, at scale 1.
        scale: factor of all numbers of channels, which are rounded to multiples of 8.
        num_classes: scores per image; 0 leaves out the linear layers.
        with_pool: average the features over each image; the linear layers require it.
    """

    def __init__(
        self,
        config: tuple[Block, ...],
        last_channel: int,
        scale: float = 1.0,
        num_classes: int = 1000,
        with_pool: bool = True,
    ) -> None:
        super().__init__()
        self.scale = scale
        self.num_classes = num_classes
        self.with_pool = with_pool
        self.last_channel = _make_divisible(last_channel * scale)

        def scaled(channels: int) -> int:
            return _make_divisible(channels * scale)

        first, last = scaled(config[0].in_channels), scaled(config[-1].out_channels)
        self.conv = ConvNormActivation(3, first, 3, stride=2, norm_layer=_batch_norm, activation_layer=nn.Hardswish)
        self.blocks = nn.Sequential(
            *(
                InvertedResidual(
                    scaled(b.in_channels),
                    scaled(b.expanded),
                    scaled(b.out_channels),
                    b.kernel,
                    b.stride,
                    b.use_se,
                    _ACTIVATIONS[b.activation],
                )
                for b in config
            )
        )
        self.lastconv = ConvNormActivation(last, 6 * last, 1, norm_layer=_batch_norm, activation_layer=nn.Hardswish)
        if with_pool:
            self.avgpool = nn.AdaptiveAvgPool2D(1)
        if num_classes > 0:
            self.classifier = nn.Sequential(
                nn.Linear(6 * last, self.last_channel),
                nn.Hardswish(),
                nn.Dropout(0.2),
                nn.Linear(self.last_channel, num_classes),
            )

    def forward(self, x: Tensor) -> Tensor:
        x = self.lastconv(self.blocks(self.conv(x)))
        if self.with_pool:
            x = self.avgpool(x)
        return self.classifier(x.flatten(1)) if self.num_classes > 0 else x


@public("paddle.vision paddle.vision.models")
class MobileNetV3Small(MobileNetV3):
    """MobileNetV3 small.

    Args:
        scale: factor of all numbers of channels, which are rounded to multiples of 8.
        num_classes: scores per image; 0 leaves out the linear layers.
        with_pool: average the features over each image; the linear layers require it.

    Shape:
        input: ``[N, 3, H, W]``.
        output: ``[N, num_classes]``; without classes the features, 1 × 1 after pooling.

    Raises:
        ValueError: images without three channels.

    Example:
        >>> import paddle
        >>> paddle.vision.models.MobileNetV3Small(scale=0.5, num_classes=4)(paddle.zeros([1, 3, 32, 32])).shape
        paddle.Size([1, 4])
    """

    def __init__(self, scale: float = 1.0, num_classes: int = 1000, with_pool: bool = True) -> None:
        super().__init__(_SMALL, 1024, scale, num_classes, with_pool)


@public("paddle.vision paddle.vision.models")
class MobileNetV3Large(MobileNetV3):
    """MobileNetV3 large.

    Args:
        scale: factor of all numbers of channels, which are rounded to multiples of 8.
        num_classes: scores per image; 0 leaves out the linear layers.
        with_pool: average the features over each image; the linear layers require it.

    Shape:
        input: ``[N, 3, H, W]``.
        output: ``[N, num_classes]``; without classes the features, 1 × 1 after pooling.

    Raises:
        ValueError: images without three channels.

    Example:
        >>> import paddle
        >>> paddle.vision.models.MobileNetV3Large(scale=0.5, num_classes=4)(paddle.zeros([1, 3, 32, 32])).shape
        paddle.Size([1, 4])
    """

    def __init__(self, scale: float = 1.0, num_classes: int = 1000, with_pool: bool = True) -> None:
        super().__init__(_LARGE, 1280, scale, num_classes, with_pool)


@public("paddle.vision paddle.vision.models")
@variant(scale="factor of all numbers of channels.")
def mobilenet_v3_small(pretrained: bool = False, scale: float = 1.0, **kwargs: Any) -> MobileNetV3Small:
    """MobileNetV3 small."""
    model = MobileNetV3Small(scale, **kwargs)
    return pretrained_if(pretrained, model, f"mobilenet_v3_small_x{scale}", model_urls)


@public("paddle.vision paddle.vision.models")
@variant(scale="factor of all numbers of channels.")
def mobilenet_v3_large(pretrained: bool = False, scale: float = 1.0, **kwargs: Any) -> MobileNetV3Large:
    """MobileNetV3 large."""
    model = MobileNetV3Large(scale, **kwargs)
    return pretrained_if(pretrained, model, f"mobilenet_v3_large_x{scale}", model_urls)
