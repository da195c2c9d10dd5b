"""Inception V3.

C. Szegedy et al., Rethinking the Inception Architecture for Computer Vision, 2015.
"""

from __future__ import annotations

import math
from typing import Any

import paddle
from paddle import nn
from paddle._public import public
from paddle.nn.initializer import Uniform
from paddle.vision._conv_norm_activation import ConvNormActivation
from paddle.vision.models._variants import pretrained_if, variant
from umiak.core.tensor import Tensor

model_urls = {
    "inception_v3": (
        "https://paddle-hapi.bj.bcebos.com/models/inception_v3.pdparams",
        "649a4547c3243e8b59c656f41fe330b8",
    )
}


def _conv(in_channels: int, out_channels: int, kernel_size: Any, stride: int = 1, padding: Any = 0) -> nn.Layer:
    return ConvNormActivation(in_channels, out_channels, kernel_size, stride, padding)


def _average_pool() -> nn.Layer:
    return nn.AvgPool2D(3, 1, 1, exclusive=False)


class InceptionStem(nn.Layer):
    """Convolutions and poolings to an eighth of the size."""

    def __init__(self) -> None:
        super().__init__()
        self.conv_1a_3x3 = _conv(3, 32, 3, stride=2)
        self.conv_2a_3x3 = _conv(32, 32, 3)
        self.conv_2b_3x3 = _conv(32, 64, 3, padding=1)
        self.max_pool = nn.MaxPool2D(3, 2)
        self.conv_3b_1x1 = _conv(64, 80, 1)
        self.conv_4a_3x3 = _conv(80, 192, 3)

    def forward(self, x: Tensor) -> Tensor:
        x = self.max_pool(self.conv_2b_3x3(self.conv_2a_3x3(self.conv_1a_3x3(x))))
        return self.max_pool(self.conv_4a_3x3(self.conv_3b_1x1(x)))


class InceptionA(nn.Layer):
    """Windows of 1 × 1, 5 × 5, and two of 3 × 3."""

    def __init__(self, channels: int, pool_features: int) -> None:
        super().__init__()
        self.branch1x1 = _conv(channels, 64, 1)
        self.branch5x5_1 = _conv(channels, 48, 1)
        self.branch5x5_2 = _conv(48, 64, 5, padding=2)
        self.branch3x3dbl_1 = _conv(channels, 64, 1)
        self.branch3x3dbl_2 = _conv(64, 96, 3, padding=1)
        self.branch3x3dbl_3 = _conv(96, 96, 3, padding=1)
        self.branch_pool = _average_pool()
        self.branch_pool_conv = _conv(channels, pool_features, 1)

    def forward(self, x: Tensor) -> Tensor:
        branches = [
            self.branch1x1(x),
            self.branch5x5_2(self.branch5x5_1(x)),
            self.branch3x3dbl_3(self.branch3x3dbl_2(self.branch3x3dbl_1(x))),
            self.branch_pool_conv(self.branch_pool(x)),
        ]
        return paddle.concat(branches, axis=1)


class InceptionB(nn.Layer):
    """Windows of 3 × 3 to half the size."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.branch3x3 = _conv(channels, 384, 3, stride=2)
        self.branch3x3dbl_1 = _conv(channels, 64, 1)
        self.branch3x3dbl_2 = _conv(64, 96, 3, padding=1)
        self.branch3x3dbl_3 = _conv(96, 96, 3, stride=2)
        self.branch_pool = nn.MaxPool2D(3, 2)

    def forward(self, x: Tensor) -> Tensor:
        branches = [
            self.branch3x3(x),
            self.branch3x3dbl_3(self.branch3x3dbl_2(self.branch3x3dbl_1(x))),
            self.branch_pool(x),
        ]
        return paddle.concat(branches, axis=1)


class InceptionC(nn.Layer):
    """Windows of 7 × 7 as rows and columns, once and twice."""

    def __init__(self, channels: int, width: int) -> None:
        super().__init__()
        row: dict[str, Any] = {"kernel_size": (1, 7), "padding": (0, 3)}
        column: dict[str, Any] = {"kernel_size": (7, 1), "padding": (3, 0)}
        self.branch1x1 = _conv(channels, 192, 1)
        self.branch7x7_1 = _conv(channels, width, 1)
        self.branch7x7_2 = _conv(width, width, **row)
        self.branch7x7_3 = _conv(width, 192, **column)
        self.branch7x7dbl_1 = _conv(channels, width, 1)
        self.branch7x7dbl_2 = _conv(width, width, **column)
        self.branch7x7dbl_3 = _conv(width, width, **row)
        self.branch7x7dbl_4 = _conv(width, width, **column)
        self.branch7x7dbl_5 = _conv(width, 192, **row)
        self.branch_pool = _average_pool()
        self.branch_pool_conv = _conv(channels, 192, 1)

    def forward(self, x: Tensor) -> Tensor:
        twice = self.branch7x7dbl_3(self.branch7x7dbl_2(self.branch7x7dbl_1(x)))
        branches = [
            self.branch1x1(x),
            self.branch7x7_3(self.branch7x7_2(self.branch7x7_1(x))),
            self.branch7x7dbl_5(self.branch7x7dbl_4(twice)),
            self.branch_pool_conv(self.branch_pool(x)),
        ]
        return paddle.concat(branches, axis=1)


class InceptionD(nn.Layer):
    """Windows of 3 × 3, and of 7 × 7 as rows and columns, to half the size."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.branch3x3_1 = _conv(channels, 192, 1)
        self.branch3x3_2 = _conv(192, 320, 3, stride=2)
        self.branch7x7x3_1 = _conv(channels, 192, 1)
        self.branch7x7x3_2 = _conv(192, 192, (1, 7), padding=(0, 3))
        self.branch7x7x3_3 = _conv(192, 192, (7, 1), padding=(3, 0))
        self.branch7x7x3_4 = _conv(192, 192, 3, stride=2)
        self.branch_pool = nn.MaxPool2D(3, 2)

    def forward(self, x: Tensor) -> Tensor:
        seven = self.branch7x7x3_3(self.branch7x7x3_2(self.branch7x7x3_1(x)))
        branches = [self.branch3x3_2(self.branch3x3_1(x)), self.branch7x7x3_4(seven), self.branch_pool(x)]
        return paddle.concat(branches, axis=1)


class InceptionE(nn.Layer):
    """Windows of 3 × 3 as a row beside a column."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        row: dict[str, Any] = {"kernel_size": (1, 3), "padding": (0, 1)}
        column: dict[str, Any] = {"kernel_size": (3, 1), "padding": (1, 0)}
        self.branch1x1 = _conv(channels, 320, 1)
        self.branch3x3_1 = _conv(channels, 384, 1)
        self.branch3x3_2a = _conv(384, 384, **row)
        self.branch3x3_2b = _conv(384, 384, **column)
        self.branch3x3dbl_1 = _conv(channels, 448, 1)
        self.branch3x3dbl_2 = _conv(448, 384, 3, padding=1)
        self.branch3x3dbl_3a = _conv(384, 384, **row)
        self.branch3x3dbl_3b = _conv(384, 384, **column)
        self.branch_pool = _average_pool()
        self.branch_pool_conv = _conv(channels, 192, 1)

    def forward(self, x: Tensor) -> Tensor:
        once = self.branch3x3_1(x)
        twice = self.branch3x3dbl_2(self.branch3x3dbl_1(x))
        branches = [
            self.branch1x1(x),
            self.branch3x3_2a(once),
            self.branch3x3_2b(once),
            self.branch3x3dbl_3a(twice),
            self.branch3x3dbl_3b(twice),
            self.branch_pool_conv(self.branch_pool(x)),
        ]
        return paddle.concat(branches, axis=1)


@public("paddle.vision paddle.vision.models")
class InceptionV3(nn.Layer):
    """Inception V3, for images of 299 × 299 or other sizes from 75 on.

    Args:
        num_classes: scores per image; 0 leaves out the linear layer.
        with_pool: average the features over each image; the linear layer requires it.

    Shape:
        input: ``[N, 3, H, W]``.
        output: ``[N, num_classes]``; without classes the features, 1 × 1 after pooling.

    Raises:
        ValueError: smaller images.

    Example:
        >>> import paddle
        >>> paddle.vision.models.InceptionV3(num_classes=4)(paddle.zeros([1, 3, 75, 75])).shape
        paddle.Size([1, 4])
    """

    def __init__(self, num_classes: int = 1000, with_pool: bool = True) -> None:
        super().__init__()
        self.num_classes = num_classes
        self.with_pool = with_pool
        self.inception_stem = InceptionStem()
        self.inception_block_list = nn.LayerList(
            [
                InceptionA(192, pool_features=32),
                InceptionA(256, pool_features=64),
                InceptionA(288, pool_features=64),
                InceptionB(288),
                InceptionC(768, width=128),
                InceptionC(768, width=160),
                InceptionC(768, width=160),
                InceptionC(768, width=192),
                InceptionD(768),
                InceptionE(1280),
                InceptionE(2048),
            ]
        )
        if with_pool:
            self.avg_pool = nn.AdaptiveAvgPool2D(1)
        if num_classes > 0:
            bound = 1 / math.sqrt(2048)
            self.dropout = nn.Dropout(0.2, mode="downscale_in_infer")
            self.fc = nn.Linear(2048, num_classes, weight_attr=Uniform(-bound, bound))

    def forward(self, x: Tensor) -> Tensor:
        x = self.inception_stem(x)
        for block in self.inception_block_list:
            x = block(x)
        if self.with_pool:
            x = self.avg_pool(x)
        return self.fc(self.dropout(x.flatten(1))) if self.num_classes > 0 else x


@public("paddle.vision paddle.vision.models")
@variant(size=(1, 3, 75, 75))
def inception_v3(pretrained: bool = False, **kwargs: Any) -> InceptionV3:
    """Inception V3."""
    return pretrained_if(pretrained, InceptionV3(**kwargs), "inception_v3", model_urls)
