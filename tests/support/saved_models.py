"""Models that are saved here and run in the reference, and the other way round.

As a script, in either environment: ``save FOLDER [NAME ...]`` makes models, saves them by ``paddle.jit.save``, and
keeps outputs beside them; ``load FOLDER [NAME ...]`` and ``predict FOLDER [NAME ...]`` run what is there, as layers
and in predictors, and print, for each model, a line of JSON with the largest error. It needs NumPy and ``paddle``.
"""

from __future__ import annotations

import json
import os
import sys
import zlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

import paddle
import paddle.nn.functional as F
from paddle import nn
from paddle.static import InputSpec
from paddle.vision import models as vision


class Input(NamedTuple):
    """An input: sizes, None for that of the batch; ``high``: integers below it, else normal numbers.

    A negative size is open, too: its number for the first size of the batch, 8 more for each further one.
    """

    sizes: Sequence[int | None]
    high: int = 0
    dtype: str = "float32"


class Case(NamedTuple):
    layer: Callable[[], nn.Layer]
    inputs: list[Input]
    batches: tuple[int, ...]  # sizes of the batch that are compared


CASES: dict[str, Case] = {}


def case(name: str, *inputs: Input, batches: tuple[int, ...] = (2, 3)) -> Callable[[Any], Any]:
    """Enter what makes a layer."""

    def enter(make: Callable[[], nn.Layer]) -> Callable[[], nn.Layer]:
        CASES[name] = Case(make, list(inputs), batches)
        return make

    return enter


def image(size: int, channels: int = 3) -> Input:
    return Input([None, channels, size, size])


def ids(length: int, high: int) -> Input:
    return Input([None, length], high, "int64")


# --- families of paddle.vision.models --------------------------------------------------------------------------------

VISION: dict[str, tuple[Callable[[], nn.Layer], Input]] = {
    "LeNet": (lambda: vision.LeNet(), image(28, 1)),
    "AlexNet": (lambda: vision.AlexNet(num_classes=0), image(64)),
    "VGG-11": (lambda: vision.vgg11(num_classes=0), image(32)),
    "VGG-11 with batch norms": (lambda: vision.vgg11(batch_norm=True, num_classes=0), image(32)),
    "ResNet-18": (lambda: vision.resnet18(num_classes=10), image(32)),
    "ResNeXt-50": (lambda: vision.resnext50_32x4d(num_classes=10), image(32)),
    "MobileNetV1": (lambda: vision.mobilenet_v1(scale=0.25, num_classes=10), image(32)),
    "MobileNetV2": (lambda: vision.mobilenet_v2(scale=0.25, num_classes=10), image(32)),
    "MobileNetV3 small": (lambda: vision.mobilenet_v3_small(scale=0.5, num_classes=10), image(32)),
    "MobileNetV3 large": (lambda: vision.mobilenet_v3_large(scale=0.35, num_classes=10), image(32)),
    "ShuffleNetV2": (lambda: vision.shufflenet_v2_x0_25(num_classes=10), image(64)),
    "SqueezeNet": (lambda: vision.squeezenet1_1(num_classes=10), image(64)),
    "DenseNet-121": (lambda: vision.densenet121(num_classes=10), image(32)),
    "GoogLeNet": (lambda: vision.googlenet(num_classes=10), image(224)),
    "Inception-v3": (lambda: vision.inception_v3(num_classes=10), image(96)),
}
for _name, (_make, _input) in VISION.items():
    case(_name, _input)(_make)


# --- images ----------------------------------------------------------------------------------------------------------


@case("U-Net", image(16))
class UNet(nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.down = nn.Sequential(nn.Conv2D(3, 8, 3, padding=1), nn.BatchNorm2D(8), nn.ReLU())
        self.deep = nn.Sequential(nn.MaxPool2D(2), nn.Conv2D(8, 16, 3, padding=1), nn.GroupNorm(4, 16), nn.Silu())
        self.up = nn.Conv2DTranspose(16, 8, 2, stride=2)
        self.last = nn.Conv2D(16, 2, 1)

    def forward(self, x):
        a = self.down(x)
        return self.last(paddle.concat([a, self.up(self.deep(a))], axis=1))


@case("feature pyramid", Input([None, 3, 32, 32]))
class Pyramid(nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.stages = nn.LayerList([nn.Conv2D(c, 8, 3, stride=2, padding=1) for c in (3, 8, 8)])
        self.sides = nn.LayerList([nn.Conv2D(8, 4, 1) for _ in range(3)])

    def forward(self, x):
        levels = []
        for stage in self.stages:
            x = F.hardswish(stage(x))
            levels.append(x)
        tops = [side(v) for side, v in zip(self.sides, levels)]
        out = [tops[-1]]
        for v in (tops[1], tops[0]):
            out.append(v + F.interpolate(out[-1], scale_factor=2, mode="nearest"))
        return out[::-1]


@case("bilinear decoder", image(8))
class Bilinear(nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2D(3, 4, 3, padding=1, padding_mode="reflect")
        self.norm = nn.InstanceNorm2D(4)

    def forward(self, x):
        y = F.leaky_relu(self.norm(self.conv(x)), 0.1)
        return F.interpolate(y, size=[12, 20], mode="bilinear", align_corners=False)


@case("spatial transformer", image(10, 1))
class Spatial(nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.where = nn.Linear(100, 6)

    def forward(self, x):
        theta = self.where(x.flatten(1)).reshape([-1, 2, 3]) * 0.1 + paddle.to_tensor([[1.0, 0, 0], [0, 1.0, 0]])
        return F.grid_sample(x, F.affine_grid(theta, [x.shape[0], 1, 6, 6]))


@case("deformable convolution", Input([None, 4, 8, 8]))
class Deformable(nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.shifts = nn.Conv2D(4, 27, 3, padding=1)
        self.conv = paddle.vision.ops.DeformConv2D(4, 6, 3, padding=1)

    def forward(self, x):
        shifts = self.shifts(x)
        return self.conv(x, shifts[:, :18], F.sigmoid(shifts[:, 18:]))


@case("values that are read again", image(8))
class Again(nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2D(3, 8, 3), nn.Conv2D(8, 8, 3, padding=1)
        self.last = nn.Linear(8, 8)

    def forward(self, x):
        h = self.first(x)
        h = h + self.second(F.silu(h)) / (paddle.abs(h) + 1)
        h = self.last(h.mean([2, 3]))
        steps = (h * 3).astype("int64")
        up = paddle.square(h) if paddle.abs(h).max() > 0 else h
        return up, paddle.where(h > 0, h, -h), h, steps + 1, steps, x


@case("heads of a single-shot detector", image(16))
class Heads(nn.Layer):
    """What the reference's predictors fuse, or give another order of axes: heads in rows, a grid of two rows."""

    def __init__(self) -> None:
        super().__init__()
        self.convs = nn.LayerList(nn.Conv2D(a, 8, 3, 2, 1, bias_attr=False) for a in (3, 8))
        self.norms = nn.LayerList(nn.BatchNorm2D(8) for _ in range(2))
        self.shortcut = nn.Conv2D(8, 8, 1, bias_attr=False)
        self.heads = nn.LayerList(nn.Conv2D(8, 12, 3, padding=1) for _ in range(2))
        self.last = nn.Linear(6, 5)

    def forward(self, x):
        rows = []
        for conv, norm, head in zip(self.convs, self.norms, self.heads):
            x = F.leaky_relu(norm(conv(x)), 0.1)
            rows.append(head(x).transpose([0, 2, 3, 1]).reshape([x.shape[0], 3 * x.shape[2] * x.shape[3], 4]))
        x = F.leaky_relu(self.shortcut(x) + x, 0.1).mean([2, 3])
        grid = x[:, :3].unsqueeze(1) + paddle.arange(4, dtype="float32").unsqueeze(1)
        return paddle.concat(rows, 1), self.last(paddle.concat([grid, grid * 2], -1))


@case("super-resolution", image(6))
def super_resolution():
    return nn.Sequential(
        nn.Conv2D(3, 12, 3, padding=1), nn.PReLU(12), nn.PixelShuffle(2), nn.Conv2D(3, 3, 3, padding=1)
    )


@case("convolutions over volumes", Input([None, 2, 6, 8, 8]))
def volumes():
    return nn.Sequential(
        nn.Conv3D(2, 4, 3, padding=1), nn.BatchNorm3D(4), nn.ELU(), nn.AvgPool3D(2), nn.Conv3D(4, 2, 1), nn.Flatten()
    )


@case("vision transformer", image(16))
class VisionTransformer(nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.patches = nn.Conv2D(3, 16, 4, stride=4)
        self.first = self.create_parameter([1, 1, 16])
        self.positions = self.create_parameter([1, 17, 16])
        self.blocks = nn.LayerList([Block(16, 4) for _ in range(2)])
        self.norm = nn.LayerNorm(16)
        self.head = nn.Linear(16, 5)

    def forward(self, x):
        y = self.patches(x).flatten(2).transpose([0, 2, 1])
        y = paddle.concat([self.first.expand([y.shape[0], -1, -1]), y], axis=1) + self.positions
        for block in self.blocks:
            y = block(y)
        return self.head(self.norm(y)[:, 0])


class Block(nn.Layer):
    """Attention and a network of two layers, each after a norm; ``causal``: places look at earlier ones alone."""

    def __init__(self, width: int, heads: int, causal: bool = False) -> None:
        super().__init__()
        self.heads, self.causal = heads, causal
        self.norms = nn.LayerList([nn.LayerNorm(width) for _ in range(2)])
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.inner = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x, mask=None):
        n, length, width = x.shape
        q, k, v = self.qkv(self.norms[0](x)).reshape([n, length, 3, self.heads, width // self.heads]).unbind(2)
        y = F.scaled_dot_product_attention(q, k, v, mask, is_causal=self.causal)
        x = x + self.out(y.reshape([n, length, width]))
        return x + self.inner(self.norms[1](x))


@case("shifted windows", Input([None, 8, 8, 6]))
class Windows(nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.mix = nn.MultiHeadAttention(6, 2)

    def forward(self, x):
        x = paddle.roll(x, [-2, -2], axis=[1, 2])
        y = x.reshape([-1, 2, 4, 2, 4, 6]).transpose([0, 1, 3, 2, 4, 5]).reshape([-1, 16, 6])
        y = self.mix(y).reshape([-1, 2, 2, 4, 4, 6]).transpose([0, 1, 3, 2, 4, 5]).reshape([-1, 8, 8, 6])
        return paddle.roll(y, [2, 2], axis=[1, 2])


@case("MLP mixer", Input([None, 9, 8]))
class Mixer(nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(8)
        self.tokens, self.channels = nn.Linear(9, 9), nn.Linear(8, 8)

    def forward(self, x):
        x = x + self.tokens(self.norm(x).transpose([0, 2, 1])).transpose([0, 2, 1])
        return (x + F.mish(self.channels(x))).mean(axis=1)


OPEN = Input([None, 3, -32, -40])  # images of any size
case("ResNet-18, images of any size", OPEN)(lambda: vision.resnet18(num_classes=10))
case("MobileNetV3, images of any size", OPEN)(lambda: vision.mobilenet_v3_small(scale=0.5, num_classes=10))
case("U-Net, images of any size", Input([None, 3, -16, -24]))(UNet)


@case("text detector, images of any size", OPEN)
class TextDetector(nn.Layer):
    """Levels that are brought to one size, and a map of probabilities."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.LayerList([nn.Conv2D(c, 8, 3, stride=2, padding=1) for c in (3, 8, 8)])
        self.up = nn.Sequential(nn.Conv2DTranspose(24, 4, 2, stride=2), nn.BatchNorm2D(4), nn.ReLU())
        self.gate = nn.Sequential(nn.AdaptiveAvgPool2D(1), nn.Conv2D(24, 24, 1), nn.Hardsigmoid())

    def forward(self, x):
        levels = []
        for conv in self.body:
            x = F.hardswish(conv(x))
            levels.append(x)
        size = levels[0].shape[2:]
        y = paddle.concat([F.interpolate(v, size=size, mode="nearest") for v in levels], axis=1)
        y = self.up(y * self.gate(y))
        return F.sigmoid(y.mean(axis=1, keepdim=True)), y.flatten(2).max(-1)


# --- sequences -------------------------------------------------------------------------------------------------------


class Recurrent(nn.Layer):
    def __init__(self, layer: nn.Layer, width: int) -> None:
        super().__init__()
        self.recurrent = layer
        self.head = nn.Linear(width, 3)

    def forward(self, x):
        y, states = self.recurrent(x)
        return self.head(y), states


case("LSTM", Input([None, 7, 4]))(lambda: Recurrent(nn.LSTM(4, 5), 5))
case("LSTM both ways, two layers", Input([None, 7, 4]))(lambda: Recurrent(nn.LSTM(4, 5, 2, direction="bidirect"), 10))
case("GRU", Input([None, 7, 4]))(lambda: Recurrent(nn.GRU(4, 5, 2), 5))
case("GRU both ways", Input([None, 7, 4]))(lambda: Recurrent(nn.GRU(4, 5, direction="bidirect"), 10))
case("simple recurrent layer", Input([None, 7, 4]))(lambda: Recurrent(nn.SimpleRNN(4, 5, activation="relu"), 5))


@case("recurrent layer with lengths", Input([None, 7, 4]), Input([None], 7, "int64"))
class Lengths(nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.recurrent = nn.GRU(4, 5)

    def forward(self, x, lengths):
        return self.recurrent(x, sequence_length=lengths + 1)[0]


@case("recurrent layer both ways with lengths", Input([None, 7, 4]), Input([None], 7, "int64"))
class LengthsBothWays(nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.recurrent = nn.LSTM(4, 5, 2, direction="bidirect")

    def forward(self, x, lengths):
        return self.recurrent(x, sequence_length=lengths + 1)


@case("text classifier with convolutions", ids(12, 30))
class TextCNN(nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(30, 8, padding_idx=0)
        self.convs = nn.LayerList([nn.Conv1D(8, 6, k) for k in (2, 3, 4)])
        self.head = nn.Linear(18, 3)

    def forward(self, words):
        x = self.words(words).transpose([0, 2, 1])
        return F.log_softmax(self.head(paddle.concat([F.relu(c(x)).max(axis=-1) for c in self.convs], axis=-1)))


@case("convolutional recurrent network", Input([None, 3, 16, 40]))
class CRNN(nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2D(3, 8, 3, padding=1), nn.BatchNorm2D(8), nn.ReLU(), nn.MaxPool2D(2),
            nn.Conv2D(8, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2D([8, 1]),
        )  # fmt: skip
        self.recurrent = nn.LSTM(8, 6, direction="bidirect")
        self.head = nn.Linear(12, 11)

    def forward(self, x):
        y = self.features(x).squeeze(2).transpose([0, 2, 1])
        scores = F.softmax(self.head(self.recurrent(y)[0]))
        return scores, scores.argmax(-1)


@case("channels last", Input([None, 8, 10, 3]))
class ChannelsLast(nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        last = {"data_format": "NHWC"}
        self.first = nn.Sequential(nn.Conv2D(3, 8, 3, padding=1, bias_attr=False, **last), nn.BatchNorm2D(8, **last))
        self.norm = nn.BatchNorm2D(8, **last)
        self.second = nn.Sequential(nn.Conv2D(8, 4, 1, **last), nn.ReLU(), nn.BatchNorm2D(4, **last))

    def forward(self, x):
        y = F.relu(self.first(x))
        return self.second(F.avg_pool2d(y + self.norm(y), 2, 2, data_format="NHWC"))


@case("transformer encoder", Input([None, 6, 8]))
def encoder():
    return nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16), 2)


@case("transformer decoder", Input([None, 5, 8]), Input([None, 6, 8]))
class Decoder(nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, 16, normalize_before=True), 2)

    def forward(self, x, memory):
        mask = paddle.triu(paddle.full([5, 5], -1e9), 1)
        return self.decoder(x, memory, tgt_mask=mask)


@case("GPT", ids(9, 40))
class GPT(nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(40, 16), nn.Embedding(12, 16)
        self.blocks = nn.LayerList([Block(16, 4, causal=True) for _ in range(2)])
        self.norm = nn.LayerNorm(16)

    def forward(self, words):
        x = self.words(words) + self.places(paddle.arange(words.shape[1]))
        for block in self.blocks:
            x = block(x)
        return paddle.matmul(self.norm(x), self.words.weight, transpose_y=True)


@case("ERNIE", ids(10, 30), ids(10, 2))
class Ernie(nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.words, self.places, self.kinds = nn.Embedding(30, 16), nn.Embedding(10, 16), nn.Embedding(2, 16)
        self.norm = nn.LayerNorm(16)
        self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 4, 32, activation="gelu"), 2)
        self.pool = nn.Linear(16, 16)
        self.heads = nn.LayerList([nn.Linear(16, 2), nn.Linear(16, 30)])

    def forward(self, words, kinds):
        mask = ((words == 0).astype("float32") * -1e4).unsqueeze([1, 2])
        places = paddle.cumsum(paddle.ones_like(words), axis=1) - 1
        x = self.encoder(self.norm(self.words(words) + self.places(places) + self.kinds(kinds)), mask)
        pooled = F.tanh(self.pool(x[:, 0]))
        return {"classes": self.heads[0](pooled), "words": self.heads[1](x)}


@case("text recogniser, lines of any length", Input([None, 3, 16, -40]))
class TextRecogniser(nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2D(3, 12, 3, padding=1), nn.BatchNorm2D(12), nn.Hardswish(), nn.MaxPool2D([4, 2]),
            nn.Conv2D(12, 12, 3, padding=1, groups=12), nn.Swish(), nn.AvgPool2D([4, 1]),
        )  # fmt: skip
        self.block = Block(12, 3)
        self.head = nn.Linear(12, 11)

    def forward(self, x):
        y = self.features(x).squeeze(2).transpose([0, 2, 1])
        scores = F.softmax(self.head(self.block(y)), axis=2)
        return scores, scores.argmax(2), scores.max(2)


@case("decoder of any length", Input([None, -5], 40, "int64"))
class AnyLength(nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(40, 16), nn.Embedding(32, 16)
        self.blocks = nn.LayerList([Block(16, 4) for _ in range(2)])

    def forward(self, words):
        length = words.shape[1]
        mask = paddle.triu(paddle.full([length, length], -1e4), 1).unsqueeze([0, 1])
        x = self.words(words) + self.places(paddle.arange(length))
        for block in self.blocks:
            x = block(x, mask)
        return paddle.matmul(x[:, -1], self.words.weight, transpose_y=True).argmax(-1), x.mean([0, 1])


@case("rotary attention", ids(8, 20))
class Rotary(nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(20, 8)
        self.gate, self.up, self.down = nn.Linear(8, 16), nn.Linear(8, 16), nn.Linear(16, 8)
        self.scale = self.create_parameter([8], default_initializer=nn.initializer.Constant(1.0))

    def forward(self, words):
        x = self.words(words)
        x = x * paddle.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6) * self.scale
        angles = paddle.outer(
            paddle.arange(8, dtype="float32"), 1.0 / 100 ** (paddle.arange(0, 4, dtype="float32") / 4)
        )
        cos, sin = paddle.cos(angles), paddle.sin(angles)
        a, b = x[..., ::2], x[..., 1::2]
        q = paddle.stack([a * cos - b * sin, a * sin + b * cos], axis=-1).flatten(-2)
        scores = F.softmax(paddle.einsum("bik,bjk->bij", q, q) / 8**0.5, axis=-1)
        y = paddle.matmul(scores, x)
        return self.down(F.silu(self.gate(y)) * self.up(y))


# --- branches and loops ----------------------------------------------------------------------------------------------


@case("branch on data", Input([None, 4]))
class Branch(nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        if x.mean() > 0:
            y = self.a(x)
        else:
            y = self.b(x) * 2
        return y + 1


@case("loop on data", Input([None, 4]))
class Loop(nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.step = nn.Linear(4, 4)

    def forward(self, x):
        i = paddle.zeros([1], "int64")
        while i < 4 and paddle.abs(x).max() < 50:
            x = x + F.relu(self.step(x))
            i = i + 1
        return x, i


@case("branches in a loop", Input([None, 3]), Input([1], 6, "int64"))
class Nested(nn.Layer):
    def forward(self, x, n):
        total = paddle.zeros_like(x)
        i = paddle.zeros([1], "int64")
        while i < n:
            if i % 2 == 0:
                total = total + x
            else:
                total = total * 0.5 - x
            i = i + 1
        return total


@case("greedy decoding", ids(4, 20))
class Greedy(nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.words, self.cell, self.head = nn.Embedding(20, 6), nn.GRUCell(6, 6), nn.Linear(6, 20)

    def forward(self, words):
        state = self.words(words).mean(axis=1)
        last = words[:, -1]
        found = []
        for _ in range(5):
            state, _ = self.cell(self.words(last), state)
            last = self.head(state).argmax(-1)
            found.append(last)
        return paddle.stack(found, axis=1)


# --- detection -------------------------------------------------------------------------------------------------------


@case("PP-YOLO", Input([None, 3, 64, 64]), Input([None, 2], 64, "int32"))
class Yolo(nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(*[
            nn.Sequential(nn.Conv2D(a, b, 3, stride=2, padding=1), nn.BatchNorm2D(b), nn.Mish())
            for a, b in ((3, 8), (8, 16), (16, 16), (16, 16))
        ])  # fmt: skip
        self.last = nn.Sequential(nn.Conv2D(16, 16, 3, stride=2, padding=1), nn.Mish())
        self.heads = nn.LayerList([nn.Conv2D(16, 3 * 8, 1) for _ in range(2)])

    def forward(self, x, sizes):
        middle = self.body(x)
        top = self.last(middle)
        middle = middle + F.interpolate(top, scale_factor=2, mode="nearest")
        anchors = [[10, 13, 16, 30, 33, 23], [30, 61, 62, 45, 59, 119]]
        found = [
            paddle.vision.ops.yolo_box(head(y) * 0.05, sizes + 1, a, 3, 0.005, stride)
            for head, y, a, stride in zip(self.heads, (middle, top), anchors, (16, 32))
        ]
        boxes, scores = (paddle.concat(parts, axis=1) for parts in zip(*found))
        best, which = paddle.topk(scores.max(-1), 5, axis=-1)
        return paddle.take_along_axis(boxes, which.unsqueeze(-1).expand([-1, -1, 4]), 1), best


@case("Faster R-CNN", Input([1, 3, 32, 32]), batches=(1,))
class FasterRCNN(nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Conv2D(3, 8, 3, stride=4, padding=1), nn.ReLU())
        self.scores, self.shifts = nn.Conv2D(8, 3, 1), nn.Conv2D(8, 12, 1)
        self.head, self.classes, self.boxes = nn.Linear(8 * 9, 16), nn.Linear(16, 4), nn.Linear(16, 16)

    def forward(self, x):
        y = self.body(x)
        scores = F.sigmoid(self.scores(y)).transpose([0, 2, 3, 1]).reshape([-1])
        shifts = self.shifts(y).transpose([0, 2, 3, 1]).reshape([-1, 4])
        at = paddle.arange(8, dtype="float32") * 4 + 2
        cy, cx = paddle.meshgrid(at, at)
        centres = paddle.stack([cx, cy], -1).reshape([64, 1, 2]).expand([64, 3, 2]).reshape([-1, 2])
        sides = paddle.to_tensor([8.0, 12.0, 16.0]).reshape([1, 3, 1]).expand([64, 3, 2]).reshape([-1, 2])
        centres = centres + shifts[:, :2] * sides
        sides = sides * paddle.exp(paddle.clip(shifts[:, 2:], max=2.0))
        boxes = paddle.clip(paddle.concat([centres - sides / 2, centres + sides / 2], -1), 0.0, 32.0)
        _, first = paddle.topk(scores, 6)
        chosen = paddle.gather(boxes, first)
        count = paddle.full([1], 6, "int32")
        parts = paddle.vision.ops.roi_align(y, chosen, count, 3, spatial_scale=0.25)
        hidden = F.relu(self.head(parts.flatten(1)))
        return chosen, F.softmax(self.classes(hidden)), self.boxes(hidden)


@case("regions of position", Input([1, 12, 8, 8]), batches=(1,))
class Regions(nn.Layer):
    def forward(self, x):
        boxes = paddle.to_tensor([[0.0, 0.0, 4.0, 5.0], [1.0, 2.0, 7.0, 7.0], [0.0, 0.0, 8.0, 8.0]])
        count = paddle.to_tensor([3], dtype="int32")
        whole = paddle.vision.ops.roi_pool(x, boxes, count, 2)
        return whole, paddle.vision.ops.psroi_pool(x, boxes, count, 2)


@case("suppression of boxes", Input([None, 4]), Input([None]), Input([None], 4, "int64"), batches=(6, 40))
class Suppression(nn.Layer):
    """How many boxes are left depends on data."""

    def forward(self, corners, scores, kinds):
        boxes = paddle.concat([corners[:, :2], corners[:, :2] + corners[:, 2:].abs() + 0.1], -1)
        every = paddle.vision.ops.nms(boxes, 0.3)
        best = paddle.vision.ops.nms(boxes, 0.2, scores)
        apart = paddle.vision.ops.nms(boxes, 0.2, scores, kinds, [0, 1, 2])
        return paddle.gather(boxes, every), boxes[best], scores[best], kinds[apart], apart


@case("matrix suppression", Input([1, 3, 64, 64]), batches=(1,))
class MatrixSuppression(nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Conv2D(3, 8, 3, 8, 1), nn.ReLU(), nn.Conv2D(8, 24, 3, 2, 1))

    def forward(self, x):
        size = paddle.to_tensor([[64, 64]], dtype="int32")
        boxes, scores = paddle.vision.ops.yolo_box(self.body(x), size, [10, 13, 16, 30, 33, 23], 3, 0.01, 16)
        return paddle.vision.ops.matrix_nms(boxes, scores.transpose([0, 2, 1]), 0.1, 0.1, 20, 10, return_index=True)


@case("proposals of regions", Input([1, 3, 32, 32]), batches=(1,))
class Proposals(nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.body, self.scores, self.shifts = nn.Conv2D(3, 8, 3, 8, 1), nn.Conv2D(8, 3, 1), nn.Conv2D(8, 12, 1)

    def forward(self, x):
        y = self.body(x)
        corners = paddle.arange(48.0).reshape([4, 4, 3, 1]).expand([4, 4, 3, 2]) % 7
        anchors = paddle.concat([corners, corners + 12], -1)
        boxes, scores, counts = paddle.vision.ops.generate_proposals(
            F.sigmoid(self.scores(y)), self.shifts(y) * 0.1, paddle.to_tensor([[32.0, 32.0]]), anchors,
            paddle.ones([4, 4, 3, 4]), 30, 10, 0.5, 1.0, return_rois_num=True,
        )  # fmt: skip
        return boxes, scores, counts, paddle.vision.ops.roi_align(y, boxes, counts, 3, 0.125)


@case("slices at numbers of data", Input([None, -6, 4]), Input([1], 9, "int64"))
class Slices(nn.Layer):
    def forward(self, x, n):
        n, length = n % 3 + 1, x.shape[1]
        return x[:, :n], x[:, length // 2 :], x[:, -n:], x[:, : length - 1].mean(1), paddle.zeros([length, n])


@case("sizes that depend on data", Input([None, 5]), Input([None], 6, "int64"), batches=(7, 9))
class Masks(nn.Layer):
    def forward(self, x, n):
        found, places, again, counts = paddle.unique(n, return_index=True, return_inverse=True, return_counts=True)
        positive = paddle.masked_select(x, x > 0)
        rows = paddle.nonzero(x[:, 0] > 0).squeeze(1)
        return positive, positive.sum(), x[rows], paddle.nonzero(x > 1), found, places, again, counts


@case("anchor boxes", Input([None, 4]), Input([None, 4]))
class Overlap(nn.Layer):
    """Which boxes others overlap: what suppression is made of."""

    def forward(self, a, b):
        a, b = (paddle.concat([v[:, :2], v[:, :2] + v[:, 2:].abs() + 0.1], -1) for v in (a, b))
        low = paddle.maximum(a[:, None, :2], b[None, :, :2])
        high = paddle.minimum(a[:, None, 2:], b[None, :, 2:])
        shared = paddle.clip(high - low, min=0.0).prod(-1)
        area = [(v[:, 2:] - v[:, :2]).prod(-1) for v in (a, b)]
        overlap = shared / (area[0][:, None] + area[1][None] - shared)
        best, which = overlap.max(-1), overlap.argmax(-1)
        return overlap, best > 0.3, which


# --- others ----------------------------------------------------------------------------------------------------------


@case("wide and deep", Input([None, 6], 50, "int64"), Input([None, 5]))
class WideDeep(nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.rows, self.wide = nn.Embedding(50, 4), nn.Embedding(50, 1)
        self.deep = nn.Sequential(nn.Linear(29, 16), nn.ReLU(), nn.Dropout(0.5), nn.Linear(16, 1))

    def forward(self, kinds, numbers):
        rows = self.rows(kinds)
        crossed = 0.5 * ((rows.sum(1) ** 2) - (rows**2).sum(1)).sum(-1, keepdim=True)
        deep = self.deep(paddle.concat([rows.flatten(1), numbers], -1))
        return F.sigmoid(self.wide(kinds).sum(1) + crossed + deep)


@case("similarity of two", Input([None, 6]), Input([None, 6]))
class Siamese(nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.tower = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1D(8), nn.Tanh(), nn.Linear(8, 4))

    def forward(self, a, b):
        a, b = self.tower(a), self.tower(b)
        return F.cosine_similarity(a, b), F.normalize(a), paddle.linalg.norm(a - b, axis=-1)


@case("mixture of experts", Input([None, 6]))
class Experts(nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.gate = nn.Linear(6, 4)
        self.experts = nn.LayerList([nn.Linear(6, 3) for _ in range(4)])

    def forward(self, x):
        best, which = paddle.topk(F.softmax(self.gate(x)), 2)
        weights = (F.one_hot(which, 4) * best.unsqueeze(-1)).sum(1)
        return (paddle.stack([e(x) for e in self.experts], 1) * weights.unsqueeze(-1)).sum(1)


@case("written in place", Input([None, 4, 4]))
class InPlace(nn.Layer):
    def forward(self, x):
        y = x * 2
        y[:, 1:3, 0] = 0.5
        y[:, -1] = x[:, 0]
        z = paddle.zeros_like(x)
        z[:, ::2] += y[:, ::2]
        return y, z, paddle.where(x > 0, x, -x)[:, :, ::-1]


@case("indices", Input([6, 4]), Input([None], 6, "int64"))
class Indices(nn.Layer):
    def forward(self, table, index):
        rows = paddle.gather(table, index)
        added = paddle.scatter_nd_add(table, index.unsqueeze(-1), rows)
        order = paddle.argsort(rows[:, 0])
        return rows, added, table[index, index % 4], paddle.index_select(table, index % 4, axis=1), order


@case("casts to low precision", Input([None, 8]))
class LowPrecision(nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(8, 8), nn.Linear(8, 4)

    def forward(self, x):
        y = self.a(x).astype("bfloat16").astype("float32")
        return self.b(F.gelu(y, approximate=True).astype("float16").astype("float32"))


@case("spectra", Input([None, 16]))
class Spectra(nn.Layer):
    def forward(self, x):
        y = paddle.fft.rfft(x)
        return paddle.abs(y), paddle.fft.irfft(y * 0.5)


@case("windows of a signal", Input([None, 24]))
class Frames(nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.filters = nn.Conv1D(1, 5, 4, stride=2)

    def forward(self, x):
        y = F.pad(x.unsqueeze(1), [2, 2], mode="reflect", data_format="NCL")
        return paddle.log1p(self.filters(y).abs()), paddle.cumsum(x, -1), F.avg_pool1d(y, 4, 2)


@case("solvers", Input([None, 3, 3]), Input([None, 3, 1]))
class Solvers(nn.Layer):
    def forward(self, a, b):
        a = paddle.matmul(a, a, transpose_y=True) + 3 * paddle.eye(3)
        return paddle.linalg.solve(a, b), paddle.linalg.inv(a), paddle.linalg.cholesky(a), paddle.linalg.det(a)


@case("statistics", Input([None, 5, 6]))
class Statistics(nn.Layer):
    def forward(self, x):
        spread = x.var(-1), x.std([1, 2]), paddle.logsumexp(x, -1)
        ends = x.max(1), x.min([1, 2]), x.prod(-1), (x > 0).any(-1), (x > -9).all()
        return *spread, *ends, paddle.sort(x, -1, descending=True), paddle.kthvalue(x, 2)[0], x.sum()


@case("activations", Input([None, 16]))
class Activations(nn.Layer):
    def forward(self, x):
        names = (
            "relu", "relu6", "elu", "selu", "celu", "gelu", "silu", "mish", "softplus", "softsign", "tanhshrink",
            "hardtanh", "hardshrink", "softshrink", "hardsigmoid", "hardswish", "log_sigmoid", "sigmoid", "tanh",
            "swish",
        )  # fmt: skip
        return [getattr(F, name)(x) for name in names] + [F.glu(x), F.maxout(x.reshape([-1, 4, 2, 2]), 2)]


# --- saving and running ----------------------------------------------------------------------------------------------


def inputs_of(name: str, batch: int) -> list[np.ndarray]:
    """The same in all environments."""
    rng = np.random.RandomState(zlib.crc32(f"{name} {batch}".encode()) % (1 << 31))
    made = []
    for x in CASES[name].inputs:
        more = 8 * CASES[name].batches.index(batch)
        sizes = [batch if n is None else more - n if n < 0 else n for n in x.sizes]
        made.append((rng.randint(0, x.high, sizes) if x.high else rng.standard_normal(sizes)).astype(x.dtype))
    return made


def file_of(folder: str, name: str) -> str:
    return os.path.join(folder, "".join(c if c.isalnum() else "_" for c in name))


def flat(x: Any) -> list[np.ndarray]:
    if isinstance(x, dict):
        return [v for key in sorted(x) for v in flat(x[key])]
    if isinstance(x, (list, tuple)):
        return [v for y in x for v in flat(y)]
    return [x.numpy()]


def made(name: str) -> nn.Layer:
    """A layer in evaluation, whose running statistics are no zeros and ones."""
    paddle.seed(zlib.crc32(name.encode()) % 1000)
    layer = CASES[name].layer()
    rng = np.random.RandomState(1)
    for sub in layer.sublayers(include_self=True):
        for key, (low, high) in {"_mean": (-0.1, 0.1), "_variance": (0.2, 0.8)}.items():
            if isinstance(x := getattr(sub, key, None), paddle.Tensor):
                x.set_value(rng.uniform(low, high, x.shape).astype("float32"))
    layer.eval()
    return layer


def save(folder: str, name: str) -> None:
    layer = made(name)
    prefix = file_of(folder, name)
    specs = []
    for i, x in enumerate(CASES[name].inputs):
        specs.append(InputSpec([None if n is None or n < 0 else n for n in x.sizes], x.dtype, f"x{i}"))
    kept = {}
    for batch in CASES[name].batches:
        with paddle.no_grad():
            outputs = flat(layer(*map(paddle.to_tensor, inputs_of(name, batch))))
        if not all(np.isfinite(y).all() for y in outputs) or not any(np.any(y) for y in outputs):
            raise ValueError("outputs that are numbers, and not all 0, are required to compare")
        kept.update({f"{batch}_{i}": y for i, y in enumerate(outputs)})
    paddle.jit.save(layer, prefix, input_spec=specs)
    np.savez(prefix + ".npz", **kept)


def loaded(prefix: str) -> Callable[[list[np.ndarray]], list[np.ndarray]]:
    """A saved model as a layer that ``paddle.jit.load`` makes."""
    layer = paddle.jit.load(prefix)
    layer.eval()

    def call(inputs: list[np.ndarray]) -> list[np.ndarray]:
        with paddle.no_grad():
            return flat(layer(*map(paddle.to_tensor, inputs)))

    return call


def predictor(prefix: str) -> Callable[[list[np.ndarray]], list[np.ndarray]]:
    """A saved model in a predictor as ``Config`` has it by default: with its passes, and with oneDNN."""
    from paddle import inference

    config = inference.Config(f"{prefix}.json", f"{prefix}.pdiparams")
    config.disable_glog_info()
    it = inference.create_predictor(config)

    def call(inputs: list[np.ndarray]) -> list[np.ndarray]:
        for name in it.get_input_names():  # those of `save`; the reference leaves out what nothing reads
            x, handle = inputs[int(name[1:])], it.get_input_handle(name)
            handle.reshape(x.shape)
            handle.copy_from_cpu(x)
        it.run()
        return [it.get_output_handle(name).copy_to_cpu() for name in it.get_output_names()]

    return call


def compared(folder: str, name: str, how: Callable[[str], Callable[..., list[np.ndarray]]] = loaded) -> dict[str, Any]:
    """The largest error of a model that was saved, measured beside the largest element; and whether all types agree."""
    prefix = file_of(folder, name)
    with np.load(prefix + ".npz") as file:
        kept = dict(file)
    call = how(prefix)
    error, alike = 0.0, True
    for batch in CASES[name].batches:
        got = call(inputs_of(name, batch))
        wanted = [kept[key] for key in kept if key.startswith(f"{batch}_")]
        alike = alike and [(x.shape, x.dtype) for x in got] == [(x.shape, x.dtype) for x in wanted]
        for x, y in zip(got, wanted):
            if alike and x.size:
                a, b = x.astype("float64"), y.astype("float64")
                alike = bool(np.isfinite(a).all())
                error = max(error, float(np.abs(a - b).max() / np.abs(b).max() if np.any(b) else np.abs(a).max()))
    return {"error": error, "alike": alike}


RUNS = {"load": loaded, "predict": predictor}


def main(do: str, folder: str, *names: str) -> None:
    for name in names or CASES:
        print(json.dumps({"begin": name}), flush=True)
        try:
            if do == "save":
                save(folder, name)
                found = {"saved": True}
            else:
                found = compared(folder, name, RUNS[do])
        except Exception as error:
            found = {"failed": f"{type(error).__name__}: {' '.join(str(error).split())[-300:]}"}
        print(json.dumps({"name": name, **found}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
