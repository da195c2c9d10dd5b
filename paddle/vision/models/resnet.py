"""ResNet, ResNeXt and Wide ResNet.

K. He et al., Deep Residual Learning for Image Recognition, 2015; S. Xie et al., Aggregated Residual Transformations for
Deep Neural Networks, 2016; S. Zagoruyko and N. Komodakis, Wide Residual Networks, 2016.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from paddle import nn
from paddle._public import public
from paddle.vision.models._variants import pretrained_if, variant
from umiak.core.tensor import Tensor
from umiak.util.errors import op_error

_URL = "https://paddle-hapi.bj.bcebos.com/models/"
model_urls = {
    name: (f"{_URL}{name}.pdparams", md5sum)
    for name, md5sum in {
        "resnet18": "cf548f46534aa3560945be4b95cd11c4",
        "resnet34": "8d2275cf8706028345f78ac0e1d31969",
        "resnet50": "ca6f485ee1ab0492d38f323885b0ad80",
        "resnet101": "02f35f034ca3858e1e54d4036443c92d",
        "resnet152": "7ad16a2f1e7333859ff986138630fd7a",
        "resnext50_32x4d": "dc47483169be7d6f018fcbb7baf8775d",
        "resnext50_64x4d": "063d4b483e12b06388529450ad7576db",
        "resnext101_32x4d": "967b090039f9de2c8d06fe994fb9095f",
        "resnext101_64x4d": "98e04e7ca616a066699230d769d03008",
        "resnext152_32x4d": "18ff0beee21f2efc99c4b31786107121",
        "resnext152_64x4d": "77c4af00ca42c405fa7f841841959379",
        "wide_resnet50_2": "0282f804d73debdab289bd9fea3fa6dc",
        "wide_resnet101_2": "d4360a2d23657f059216f5d5a1a9ac93",
    }.items()
}

# layers: blocks in each stage
_STAGES = {18: (2, 2, 2, 2), 34: (3, 4, 6, 3), 50: (3, 4, 6, 3), 101: (3, 4, 23, 3), 152: (3, 8, 36, 3)}

Norm = Callable[..., nn.Layer]


class BasicBlock(nn.Layer):
    """Two convolutions of 3 × 3 beside a shortcut."""

    expansion: ClassVar[int] = 1

    def __init__(
        self,
        inplanes: int,
        planes: int,
        stride: Any = 1,
        downsample: nn.Layer | None = None,
        groups: int = 1,
        base_width: int = 64,
        dilation: int = 1,
        norm_layer: Norm | None = None,
    ) -> None:
        super().__init__()
        if dilation > 1:
            raise op_error(NotImplementedError, "BasicBlock", "dilation of 1", dilation)
        norm = norm_layer or nn.BatchNorm2D
        self.conv1 = nn.Conv2D(inplanes, planes, 3, stride, 1, bias_attr=False)
        self.bn1 = norm(planes)
        self.relu = nn.ReLU()
        self.conv2 = nn.Conv2D(planes, planes, 3, padding=1, bias_attr=False)
        self.bn2 = norm(planes)
        self.downsample = downsample
        self.stride = stride

    def forward(self, x: Tensor) -> Tensor:
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        return self.relu(y + (x if self.downsample is None else self.downsample(x)))


class BottleneckBlock(nn.Layer):
    """Convolutions of 1 × 1, 3 × 3 and 1 × 1 beside a shortcut; the middle one has fewer channels, or groups."""

    expansion: ClassVar[int] = 4

    def __init__(
        self,
        inplanes: int,
        planes: int,
        stride: Any = 1,
        downsample: nn.Layer | None = None,
        groups: int = 1,
        base_width: int = 64,
        dilation: int = 1,
        norm_layer: Norm | None = None,
    ) -> None:
        super().__init__()
        norm = norm_layer or nn.BatchNorm2D
        width = int(planes * (base_width / 64.0)) * groups
        self.conv1 = nn.Conv2D(inplanes, width, 1, bias_attr=False)
        self.bn1 = norm(width)
        self.conv2 = nn.Conv2D(width, width, 3, stride, dilation, dilation, groups, bias_attr=False)
        self.bn2 = norm(width)
        self.conv3 = nn.Conv2D(width, planes * self.expansion, 1, bias_attr=False)
        self.bn3 = norm(planes * self.expansion)
        self.relu = nn.ReLU()
        self.downsample = downsample
        self.stride = stride

    def forward(self, x: Tensor) -> Tensor:
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.relu(self.bn2(self.conv2(y)))
        y = self.bn3(self.conv3(y))
        return self.relu(y + (x if self.downsample is None else self.downsample(x)))


@public("paddle.vision paddle.vision.models")
class ResNet(nn.Layer):
    """ResNet of given blocks: a convolution of 7 × 7, four stages of residual blocks, and a linear layer.

    Args:
        block: ``BasicBlock`` or ``BottleneckBlock`` of ``paddle.vision.models.resnet``, or a class like them.
        depth: layers that have weights: 18, 34, 50, 101 or 152; it decides the number of blocks.
        width: channels per group of the first stage, of bottleneck blocks.
        num_classes: scores per image; 0 leaves out the linear layer.
        with_pool: average the features over each image; the linear layer requires it.
        groups: groups of the convolutions of 3 × 3, of bottleneck blocks.

    Shape:
        input: ``[N, 3, H, W]``.
        output: ``[N, num_classes]``; without classes the features, 1 × 1 after pooling.

    Raises:
        ValueError: a depth that is not among these.

    Example:
        >>> import paddle
        >>> from paddle.vision.models.resnet import BasicBlock
        >>> paddle.vision.models.ResNet(BasicBlock, 18, num_classes=4)(paddle.zeros([1, 3, 32, 32])).shape
        paddle.Size([1, 4])
    """

    def __init__(
        self,
        block: type[BasicBlock | BottleneckBlock],
        depth: int = 50,
        width: int = 64,
        num_classes: int = 1000,
        with_pool: bool = True,
        groups: int = 1,
    ) -> None:
        super().__init__()
        if depth not in _STAGES:
            raise op_error(ValueError, "ResNet", f"a depth of {', '.join(map(str, _STAGES))}", depth)
        self.groups = groups
        self.base_width = width
        self.num_classes = num_classes
        self.with_pool = with_pool
        self._norm_layer = nn.BatchNorm2D
        self.inplanes = 64
        self.dilation = 1
        self.conv1 = nn.Conv2D(3, self.inplanes, 7, 2, 3, bias_attr=False)
        self.bn1 = self._norm_layer(self.inplanes)
        self.relu = nn.ReLU()
        self.maxpool = nn.MaxPool2D(3, 2, 1)
        blocks = _STAGES[depth]
        self.layer1 = self._make_layer(block, 64, blocks[0])
        self.layer2 = self._make_layer(block, 128, blocks[1], stride=2)
        self.layer3 = self._make_layer(block, 256, blocks[2], stride=2)
        self.layer4 = self._make_layer(block, 512, blocks[3], stride=2)
        if with_pool:
            self.avgpool = nn.AdaptiveAvgPool2D((1, 1))
        if num_classes > 0:
            self.fc = nn.Linear(512 * block.expansion, num_classes)

    def _make_layer(
        self,
        block: type[BasicBlock | BottleneckBlock],
        planes: int,
        blocks: int,
        stride: int = 1,
        dilate: bool = False,
    ) -> nn.Sequential:
        """A stage. The first block changes the size and the channels; ``dilate`` widens the windows instead of it."""
        norm, before = self._norm_layer, self.dilation
        if dilate:
            self.dilation *= stride
            stride = 1
        channels = planes * block.expansion
        downsample = None
        if stride != 1 or self.inplanes != channels:
            downsample = nn.Sequential(
                nn.Conv2D(self.inplanes, channels, 1, stride, bias_attr=False),
                norm(channels),
            )
        widths = (self.groups, self.base_width)
        layers = [block(self.inplanes, planes, stride, downsample, *widths, before, norm)]
        self.inplanes = channels
        layers.extend(block(channels, planes, 1, None, *widths, self.dilation, norm) for _ in range(1, blocks))
        return nn.Sequential(*layers)

    def forward(self, x: Tensor) -> Tensor:
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        if self.with_pool:
            x = self.avgpool(x)
        return self.fc(x.flatten(1)) if self.num_classes > 0 else x


def _resnet(name: str, block: Any, depth: int, pretrained: bool, kwargs: dict[str, Any], **widths: int) -> ResNet:
    return pretrained_if(pretrained, ResNet(block, depth, **{**widths, **kwargs}), name, model_urls)


@public("paddle.vision paddle.vision.models")
@variant(head=("fc", 512))
def resnet18(pretrained: bool = False, **kwargs: Any) -> ResNet:
    """ResNet with 18 layers."""
    return _resnet("resnet18", BasicBlock, 18, pretrained, kwargs)


@public("paddle.vision paddle.vision.models")
@variant(head=("fc", 512))
def resnet34(pretrained: bool = False, **kwargs: Any) -> ResNet:
    """ResNet with 34 layers."""
    return _resnet("resnet34", BasicBlock, 34, pretrained, kwargs)


@public("paddle.vision paddle.vision.models")
@variant(head=("fc", 2048))
def resnet50(pretrained: bool = False, **kwargs: Any) -> ResNet:
    """ResNet with 50 layers."""
    return _resnet("resnet50", BottleneckBlock, 50, pretrained, kwargs)


@public("paddle.vision paddle.vision.models")
@variant(head=("fc", 2048))
def resnet101(pretrained: bool = False, **kwargs: Any) -> ResNet:
    """ResNet with 101 layers."""
    return _resnet("resnet101", BottleneckBlock, 101, pretrained, kwargs)


@public("paddle.vision paddle.vision.models")
@variant(head=("fc", 2048))
def resnet152(pretrained: bool = False, **kwargs: Any) -> ResNet:
    """ResNet with 152 layers."""
    return _resnet("resnet152", BottleneckBlock, 152, pretrained, kwargs)


@public("paddle.vision paddle.vision.models")
@variant(head=("fc", 2048))
def resnext50_32x4d(pretrained: bool = False, **kwargs: Any) -> ResNet:
    """ResNeXt with 50 layers, 32 groups of 4 channels."""
    return _resnet("resnext50_32x4d", BottleneckBlock, 50, pretrained, kwargs, groups=32, width=4)


@public("paddle.vision paddle.vision.models")
@variant(head=("fc", 2048))
def resnext50_64x4d(pretrained: bool = False, **kwargs: Any) -> ResNet:
    """ResNeXt with 50 layers, 64 groups of 4 channels."""
    return _resnet("resnext50_64x4d", BottleneckBlock, 50, pretrained, kwargs, groups=64, width=4)


@public("paddle.vision paddle.vision.models")
@variant(head=("fc", 2048))
def resnext101_32x4d(pretrained: bool = False, **kwargs: Any) -> ResNet:
    """ResNeXt with 101 layers, 32 groups of 4 channels."""
    return _resnet("resnext101_32x4d", BottleneckBlock, 101, pretrained, kwargs, groups=32, width=4)


@public("paddle.vision paddle.vision.models")
@variant(head=("fc", 2048))
def resnext101_64x4d(pretrained: bool = False, **kwargs: Any) -> ResNet:
    """ResNeXt with 101 layers, 64 groups of 4 channels."""
    return _resnet("resnext101_64x4d", BottleneckBlock, 101, pretrained, kwargs, groups=64, width=4)


@public("paddle.vision paddle.vision.models")
@variant(head=("fc", 2048))
def resnext152_32x4d(pretrained: bool = False, **kwargs: Any) -> ResNet:
    """ResNeXt with 152 layers, 32 groups of 4 channels."""
    return _resnet("resnext152_32x4d", BottleneckBlock, 152, pretrained, kwargs, groups=32, width=4)


@public("paddle.vision paddle.vision.models")
@variant(head=("fc", 2048))
def resnext152_64x4d(pretrained: bool = False, **kwargs: Any) -> ResNet:
    """ResNeXt with 152 layers, 64 groups of 4 channels."""
    return _resnet("resnext152_64x4d", BottleneckBlock, 152, pretrained, kwargs, groups=64, width=4)


@public("paddle.vision paddle.vision.models")
@variant(head=("fc", 2048))
def wide_resnet50_2(pretrained: bool = False, **kwargs: Any) -> ResNet:
    """Wide ResNet with 50 layers, whose blocks are twice as wide."""
    return _resnet("wide_resnet50_2", BottleneckBlock, 50, pretrained, kwargs, width=128)


@public("paddle.vision paddle.vision.models")
@variant(head=("fc", 2048))
def wide_resnet101_2(pretrained: bool = False, **kwargs: Any) -> ResNet:
    """Wide ResNet with 101 layers, whose blocks are twice as wide."""
    return _resnet("wide_resnet101_2", BottleneckBlock, 101, pretrained, kwargs, width=128)
