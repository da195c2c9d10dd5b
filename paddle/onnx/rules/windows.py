"""Windows over images and signals, and their sums."""

from __future__ import annotations

import numpy as np

from paddle.onnx.builder import Builder, Unsayable, Value
from paddle.onnx.rules.reshaping import framed
from paddle.onnx.shapes import known, mixed, sizes_of, transpose
from paddle.onnx.table import Call, rule


def _one_hot_filters(g: Builder, channels: int, kernel: list[int], dtype: str) -> Value:
    """For each channel, one filter for each element of a window, which picks it."""
    area = int(np.prod(kernel))
    picks = np.eye(area, dtype=np.float32).reshape([area, 1, *kernel])
    return g.constant(np.tile(picks, [channels, 1, 1, 1]), dtype)


@rule("unfold", "im2col")
def unfold(g: Builder, o: Call) -> Value:
    x, kernel = o[0], o("kernel_sizes")
    channels = x.sizes[1]
    if channels < 0:
        raise Unsayable("a known number of channels in unfold")
    pads = o("paddings")  # top, left, bottom, right
    y = g.node(
        "Conv", x, _one_hot_filters(g, channels, kernel, x.dtype), kernel_shape=kernel, strides=o("strides"),
        dilations=o("dilations"), pads=pads if len(pads) == 4 else [*pads, *pads], group=channels,
    )  # fmt: skip
    return known(g.node("Reshape", y, g.ints([0, channels * int(np.prod(kernel)), -1])), [-1] * 3)


@rule("fold")
def fold(g: Builder, o: Call) -> Value:
    x, kernel, target, strides = o[0], o("kernel_sizes"), o("output_sizes"), o("strides")
    dilations, pads = o("dilations"), o("paddings")
    pads = pads if len(pads) == 4 else [*pads, *pads]
    channels = x.sizes[1] // int(np.prod(kernel))
    grid = [
        (target[i] + pads[i] + pads[i + 2] - dilations[i] * (kernel[i] - 1) - 1) // strides[i] + 1 for i in range(2)
    ]
    n = sizes_of(g, x)[0]
    y = g.node("Reshape", x, mixed(g, [n, x.sizes[1], *grid]))
    extra = [
        target[i] - ((grid[i] - 1) * strides[i] - pads[i] - pads[i + 2] + dilations[i] * (kernel[i] - 1) + 1)
        for i in range(2)
    ]
    return g.node(
        "ConvTranspose", y, _one_hot_filters(g, channels, kernel, x.dtype), kernel_shape=kernel, strides=strides,
        dilations=dilations, pads=pads, group=channels, output_padding=extra,
    )  # fmt: skip


@rule("frame")
def frame(g: Builder, o: Call) -> Value:
    x, length, hop = o[0], o("frame_length"), o("hop_length")
    if o("axis", -1) in (-1, x.rank - 1) and not (x.rank == 1 and o("axis", -1) == 0):
        y = framed(g, x, x.rank - 1, length, hop)  # [..., windows, elements]
        return transpose(g, y, [*range(x.rank - 1), x.rank, x.rank - 1])
    y = framed(g, x, 0, length, hop)
    return transpose(g, y, [0, x.rank, *range(1, x.rank)])


@rule("overlap_add")
def overlap_add(g: Builder, o: Call) -> Value:
    x, hop = o[0], o("hop_length")
    first = o("axis", -1) == 0
    if first:  # [windows, elements, ...]
        x = transpose(g, x, [*range(2, x.rank), 1, 0])
    length = x.sizes[-2]
    if length < 0:
        raise Unsayable("a known length of windows in overlap_add")
    front = sizes_of(g, x)[:-2]
    lines = known(g.node("Reshape", x, mixed(g, [-1, length, sizes_of(g, x)[-1]])), [-1, length, -1])
    ones = g.constant(np.eye(length).reshape(length, 1, length), x.dtype)
    y = g.node("ConvTranspose", lines, ones, kernel_shape=[length], strides=[hop])
    y = known(g.node("Reshape", y, mixed(g, [*front, -1])), [-1] * (x.rank - 1))
    return transpose(g, y, [x.rank - 2, *range(x.rank - 2)]) if first else y
