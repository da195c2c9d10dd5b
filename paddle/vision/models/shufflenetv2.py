"""ShuffleNetV2: half of the channels passes a block unchanged, and blocks exchange channels.

N. Ma et al., ShuffleNet V2: Practical Guidelines for Efficient CNN Architecture Design, 2018.
"""

from __future__ import annotations

from typing import Any

import paddle
import paddle.nn.functional as F
from paddle import nn
from paddle._public import public
from paddle.vision._conv_norm_activation import ConvNormActivation
from paddle.vision.models._variants import pretrained_if, variant
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error

model_urls = {
    name: (f"https://paddle-hapi.bj.bcebos.com/models/{name}.pdparams", md5sum)
    for name, md5sum in {
        "shufflenet_v2_x0_25": "1e509b4c140eeb096bb16e214796d03b",
        "shufflenet_v2_x0_33": "3d7b3ab0eaa5c0927ff1026d31b729bd",
        "shufflenet_v2_x0_5": "5e5cee182a7793c4e4c73949b1a71bd4",
        "shufflenet_v2_x1_0": "122d42478b9e81eb49f8a9ede327b1a4",
        "shufflenet_v2_x1_5": "faced5827380d73531d0ee027c67826d",
        "shufflenet_v2_x2_0": "cd3dddcd8305e7bcd8ad14d1c69a5784",
        "shufflenet_v2_swish": "adde0aa3b023e5b0c94a68be1c394b84",
    }.items()
}

_BLOCKS = (4, 8, 4)  # of the stages
# scale: channels of the three stages and of the last convolution
_CHANNELS = {
    0.25: (24, 48, 96, 512),
    0.33: (32, 64, 128, 512),
    0.5: (48, 96, 192, 1024),
    1.0: (116, 232, 464, 1024),
    1.5: (176, 352, 704, 1024),
    2.0: (224, 488, 976, 2048),
}
_ACTIVATIONS: dict[str | None, type[nn.Layer] | None] = {"relu": nn.ReLU, "swish": nn.Swish, None: None}


class InvertedResidual(nn.Layer):
    """Three convolutions of the second half of the channels."""

    def __init__(self, channels: int, activation: type[nn.Layer] | None) -> None:
        super().__init__()
        half = channels // 2
        self._conv_pw = ConvNormActivation(half, half, 1, activation_layer=activation)
        self._conv_dw = ConvNormActivation(half, half, 3, groups=half, activation_layer=None)
        self._conv_linear = ConvNormActivation(half, half, 1, activation_layer=activation)

    def forward(self, inputs: Tensor) -> Tensor:
        passed, x = paddle.split(inputs, 2, axis=1)
        x = self._conv_linear(self._conv_dw(self._conv_pw(x)))
        return F.channel_shuffle(paddle.concat([passed, x], axis=1), 2)


class InvertedResidualDS(nn.Layer):
    """Two branches of half of the output channels, which make images of half the size."""

    def __init__(self, in_channels: int, channels: int, activation: type[nn.Layer] | None) -> None:
        super().__init__()
        half = channels // 2
        self._conv_dw_1 = ConvNormActivation(in_channels, in_channels, 3, 2, groups=in_channels, activation_layer=None)
        self._conv_linear_1 = ConvNormActivation(in_channels, half, 1, activation_layer=activation)
        self._conv_pw_2 = ConvNormActivation(in_channels, half, 1, activation_layer=activation)
        self._conv_dw_2 = ConvNormActivation(half, half, 3, 2, groups=half, activation_layer=None)
        self._conv_linear_2 = ConvNormActivation(half, half, 1, activation_layer=activation)

    def forward(self, inputs: Tensor) -> Tensor:
        one = self._conv_linear_1(self._conv_dw_1(inputs))
        two = self._conv_linear_2(self._conv_dw_2(self._conv_pw_2(inputs)))
        return F.channel_shuffle(paddle.concat([one, two], axis=1), 2)


@public("paddle.vision paddle.vision.models")
class ShuffleNetV2(nn.Layer):
    """ShuffleNetV2.

    Args:
        scale: 0.25, 0.33, 0.5, 1.0, 1.5 or 2.0, roughly the factor of the numbers of channels.
        act: activation of the convolutions: ``"relu"``, ``"swish"``, or None for none.
        num_classes: scores per image; 0 leaves out the linear layer.
        with_pool: average the features over each image; the linear layer requires it.

    Shape:
        input: ``[N, 3, H, W]``.
        output: ``[N, num_classes]``; without classes the features, 1 × 1 after pooling.

    Raises:
        NotImplementedError: another scale.
        RuntimeError: another activation.

    Example:
        >>> import paddle
        >>> paddle.vision.models.ShuffleNetV2(scale=0.25, num_classes=4)(paddle.zeros([1, 3, 32, 32])).shape
        paddle.Size([1, 4])
    """

    def __init__(
        self, scale: float = 1.0, act: str | None = "relu", num_classes: int = 1000, with_pool: bool = True
    ) -> None:
        super().__init__()
        if scale not in _CHANNELS:
            required = f"a scale of {', '.join(map(str, _CHANNELS))}"
            raise op_error(NotImplementedError, "ShuffleNetV2", required, scale)
        if act not in _ACTIVATIONS:
            raise op_error(RuntimeError, "ShuffleNetV2", "act 'relu', 'swish' or None", repr(act))
        self.scale = scale
        self.num_classes = num_classes
        self.with_pool = with_pool
        activation = _ACTIVATIONS[act]
        *widths, last = _CHANNELS[scale]
        channels = 24
        self._conv1 = ConvNormActivation(3, channels, 3, stride=2, activation_layer=activation)
        self._max_pool = nn.MaxPool2D(3, 2, 1)
        self._block_names: list[str] = []
        for stage, (width, blocks) in enumerate(zip(widths, _BLOCKS, strict=True), 2):
            for i in range(blocks):
                block = InvertedResidual(width, activation) if i else InvertedResidualDS(channels, width, activation)
                self._block_names.append(f"{stage}_{i + 1}")
                self.add_sublayer(self._block_names[-1], block)
            channels = width
        self._last_conv = ConvNormActivation(channels, last, 1, activation_layer=activation)
        if with_pool:
            self._pool2d_avg = nn.AdaptiveAvgPool2D(1)
        if num_classes > 0:
            self._fc = nn.Linear(last, num_classes)

    def forward(self, inputs: Tensor) -> Tensor:
        x = self._max_pool(self._conv1(inputs))
        for name in self._block_names:
            x = getattr(self, name)(x)
        x = self._last_conv(x)
        if self.with_pool:
            x = self._pool2d_avg(x)
        return self._fc(x.flatten(1)) if self.num_classes > 0 else x


def _shufflenet_v2(
    name: str, scale: float, pretrained: bool, kwargs: dict[str, Any], act: str = "relu"
) -> ShuffleNetV2:
    return pretrained_if(pretrained, ShuffleNetV2(scale, act, **kwargs), f"shufflenet_v2_{name}", model_urls)


@public("paddle.vision paddle.vision.models")
@variant()
def shufflenet_v2_x0_25(pretrained: bool = False, **kwargs: Any) -> ShuffleNetV2:
    """ShuffleNetV2 of scale 0.25."""
    return _shufflenet_v2("x0_25", 0.25, pretrained, kwargs)


@public("paddle.vision paddle.vision.models")
@variant()
def shufflenet_v2_x0_33(pretrained: bool = False, **kwargs: Any) -> ShuffleNetV2:
    """ShuffleNetV2 of scale 0.33."""
    return _shufflenet_v2("x0_33", 0.33, pretrained, kwargs)


@public("paddle.vision paddle.vision.models")
@variant()
def shufflenet_v2_x0_5(pretrained: bool = False, **kwargs: Any) -> ShuffleNetV2:
    """ShuffleNetV2 of scale 0.5."""
    return _shufflenet_v2("x0_5", 0.5, pretrained, kwargs)


@public("paddle.vision paddle.vision.models")
@variant()
def shufflenet_v2_x1_0(pretrained: bool = False, **kwargs: Any) -> ShuffleNetV2:
    """ShuffleNetV2 of scale 1.0."""
    return _shufflenet_v2("x1_0", 1.0, pretrained, kwargs)


@public("paddle.vision paddle.vision.models")
@variant()
def shufflenet_v2_x1_5(pretrained: bool = False, **kwargs: Any) -> ShuffleNetV2:
    """ShuffleNetV2 of scale 1.5."""
    return _shufflenet_v2("x1_5", 1.5, pretrained, kwargs)


@public("paddle.vision paddle.vision.models")
@variant()
def shufflenet_v2_x2_0(pretrained: bool = False, **kwargs: Any) -> ShuffleNetV2:
    """ShuffleNetV2 of scale 2.0."""
    return _shufflenet_v2("x2_0", 2.0, pretrained, kwargs)


@public("paddle.vision paddle.vision.models")
@variant()
def shufflenet_v2_swish(pretrained: bool = False, **kwargs: Any) -> ShuffleNetV2:
    """ShuffleNetV2 of scale 1 with the activation swish."""
    return _shufflenet_v2("swish", 1.0, pretrained, kwargs, "swish")
