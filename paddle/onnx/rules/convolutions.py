"""Convolutions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from paddle.onnx.builder import Builder, Unsayable, Value
from paddle.onnx.rules.algebra import acted
from paddle.onnx.shapes import known, numbers, slices, transpose, vector
from paddle.onnx.table import Call, rule

LAST = "NHWC", "NDHWC", "NLC"


def channels_first(g: Builder, x: Value, form: str) -> Value:
    """x with its channels as the second axis."""
    return transpose(g, x, [0, x.rank - 1, *range(1, x.rank - 1)]) if form in LAST else x


def as_given(g: Builder, x: Value, form: str, rank: int) -> Value:
    """The way back."""
    if form not in LAST:
        return x
    return transpose(g, x if x.shape else known(x, [-1] * rank), [0, *range(2, rank), 1])


def sides(paddings: Sequence[int], space: int) -> list[int]:
    """Paddings as ONNX has them: all in front, then all behind. They come one per axis or as pairs."""
    if len(paddings) == space:
        return [*paddings, *paddings]
    return [*paddings[::2], *paddings[1::2]]


def is_open_same(o: Call, x: Value, strides: Sequence[int]) -> bool:
    """Is padding SAME to be computed when the model runs? Then `auto_pad` says it."""
    return o("padding_algorithm", "EXPLICIT") == "SAME" and any(
        n < 0 and s != 1 for n, s in zip(x.sizes[2:], strides, strict=True)
    )


def padding(o: Call, x: Value, kernel: Sequence[int], strides: Sequence[int], dilations: Sequence[int]) -> list[int]:
    """The paddings of a call, those of an algorithm computed."""
    algorithm, space = o("padding_algorithm", "EXPLICIT"), len(kernel)
    if algorithm == "VALID":
        return [0] * (2 * space)
    if algorithm != "SAME":
        return sides(o("paddings"), space)
    front, back = [], []
    for n, k, s in zip(x.sizes[2:], kernel, strides, strict=True):
        # The reference sets dilations to 1 here.
        if n < 0 and s != 1:
            raise Unsayable("known sizes in space for padding SAME with strides")
        total = k - 1 if s == 1 else max((-(-n // s) - 1) * s + k - n, 0)
        front.append(total // 2)
        back.append(total - total // 2)
    return [*front, *back]


def kernel_of(w: Value) -> list[int]:
    """A filter's sizes in space."""
    if min(w.sizes[2:]) < 0:
        raise Unsayable("known sizes of a filter")
    return list(w.sizes[2:])


@rule("conv2d", "depthwise_conv2d", "conv3d", "depthwise_conv3d", "depthwise_conv2d_bias", "fused_conv2d_add_act")
def conv(g: Builder, o: Call) -> Value:
    form = o("data_format", "NCHW")
    x, w, b = channels_first(g, o[0], form), o[1], o[2]
    kernel, strides = kernel_of(w), o("strides")
    same = o("padding_algorithm", "EXPLICIT") == "SAME"
    dilations = [1] * len(kernel) if same else o("dilations")
    if is_open_same(o, x, strides):
        placed: dict[str, Any] = {"auto_pad": "SAME_UPPER"}
    else:
        placed = {"pads": padding(o, x, kernel, strides, dilations)}
    groups = o("groups", 1)
    if o.name.startswith("depthwise") and groups <= 1 and x.shape is not None:
        groups = x.shape[1]
    y = g.node("Conv", x, w, b, kernel_shape=kernel, strides=strides, dilations=dilations, group=groups, **placed)
    if o.name == "fused_conv2d_add_act":
        y = y if o[3] is None else y + o[3]
        y = acted(g, y, o("activation", ""))
    return as_given(g, y, form, x.rank)


@rule("conv2d_transpose", "depthwise_conv2d_transpose", "conv3d_transpose", "conv2d_transpose_bias")
def conv_transpose(g: Builder, o: Call) -> Value:
    form = o("data_format", "NCHW")
    form = form if o[0].rank == 4 or form != "NHWC" else "NDHWC"
    x, w = channels_first(g, o[0], form), o[1]
    bias, at = (o[2], 3) if o.name.endswith("_bias") else (None, 2)
    kernel, strides, dilations = kernel_of(w), o("strides"), o("dilations")
    space = len(kernel)
    extra = o("output_padding", []) or [0] * space
    algorithm = o("padding_algorithm", "EXPLICIT")
    if algorithm == "EXPLICIT":
        pads = sides(o("paddings"), space)
    elif algorithm == "VALID":
        pads = [0] * (2 * space)
    else:
        pads = padding(o, x, kernel, strides, dilations)
    size = o[at] if o[at] is not None else o("output_size", [])
    wanted = numbers(size)
    cut = wanted is None or (wanted != [] and min(x.sizes[2:]) < 0)
    if cut:  # as far as a window reaches, then as far as is wanted
        extra = [s - 1 for s in strides]
    elif wanted:
        wanted = wanted if len(wanted) == space else wanted * space
        full = [
            (n - 1) * s - pads[i] - pads[i + space] + d * (k - 1) + 1
            for i, (n, s, d, k) in enumerate(zip(x.sizes[2:], strides, dilations, kernel, strict=True))
        ]
        extra = [a - b for a, b in zip(wanted, full, strict=True)]
    y = g.node(
        "ConvTranspose", x, w, bias, kernel_shape=kernel, strides=strides, pads=pads, dilations=dilations,
        group=o("groups", 1), output_padding=extra,
    )  # fmt: skip
    if cut:
        ends = vector(g, size)
        y = known(slices(g, known(y, [-1] * x.rank), list(range(2, x.rank)), [0] * space, ends), [-1] * x.rank)
    return as_given(g, y, form, x.rank)


@rule("deformable_conv")
def deformable_conv(g: Builder, o: Call) -> Value:
    x, offset, w, mask = o[0], o[1], o[2], o[3]
    return g.node(
        "DeformConv", x, w, offset, None, mask, kernel_shape=kernel_of(w), strides=o("strides"),
        pads=sides(o("paddings"), 2), dilations=o("dilations"), group=o("groups", 1),
        offset_group=o("deformable_groups", 1),
    )  # fmt: skip
