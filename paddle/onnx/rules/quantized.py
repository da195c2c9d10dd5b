"""Numbers in few bits. Quantised values stay floating in programs of PaddlePaddle; here they pass through integers."""

from __future__ import annotations

from typing import Any

import numpy as np

from paddle.onnx.builder import Builder, Unsayable, Value
from paddle.onnx.rules.elementwise import clipped
from paddle.onnx.shapes import reduce, reshape
from paddle.onnx.table import Call, rule


def _levels(o: Call) -> float:
    """The largest of the integers."""
    return float((1 << (o("bit_length", 8) - 1)) - 1)


def _scales(g: Builder, o: Call, x: Value, scale: Value) -> tuple[Value, int | None]:
    """Scale per step, and the axis that it goes along."""
    axis = o("quant_axis", -1)
    flat = reshape(g, scale, [-1])
    step = flat / _levels(o)
    if axis < 0 or flat.shape == (1,):
        return reshape(g, step, []), None
    return step, axis


@rule("quantize_linear")
def quantize_linear(g: Builder, o: Call) -> Value:
    x, scale = o[0], o[1]
    if o("only_observer", False):
        return g.node("Identity", x)
    if o("bit_length", 8) != 8:
        raise Unsayable("quantize_linear to 8 bits")
    if not o("is_test", True):
        raise Unsayable("quantize_linear in evaluation, where scales are kept")
    step, axis = _scales(g, o, x, scale)
    if (o("qmin", -128), o("qmax", 127)) != (-128, 127):
        raise Unsayable("quantize_linear to integers from -128 to 127")
    zero = g.constant(np.zeros(1 if axis is None else _channels(x, axis), np.int8).reshape([] if axis is None else -1))
    made = g.node("QuantizeLinear", x, step, zero, axis=axis, made="int8")
    y: Value = g.cast(made, x.dtype)
    g.integers[y.name] = made
    return y


def _channels(x: Value, axis: int) -> int:
    """The number of scales along an axis."""
    if x.shape is None or x.shape[axis] < 0:
        raise Unsayable("a known number of channels that are quantised")
    return x.shape[axis]


def _wide(g: Builder, scale: Value, x: Value, axis: int | None) -> Value:
    """A scale in a shape that meets x."""
    if axis is None:
        return reshape(g, scale, [])
    return reshape(g, scale, [-1] + [1] * (x.rank - axis - 1))


@rule("dequantize_linear")
def dequantize_linear(g: Builder, o: Call) -> Value:
    x, scale = o[0], o[1]
    if o("only_observer", False):
        return g.node("Identity", x)
    step, axis = _scales(g, o, x, scale)
    integers = g.integers.get(x.name)
    if integers is None and x.dtype == "int8":
        integers = x
    known = x.constant
    if integers is None and known is not None and np.array_equal(known, np.clip(np.rint(known), -128, 127)):
        integers = g.constant(known, "int8")
    if integers is None:
        return x * _wide(g, step, x, axis)
    zero = g.constant(np.zeros([] if axis is None else _channels(x, axis), np.int8))
    return g.node("DequantizeLinear", integers, step, zero, axis=axis, made=scale.dtype)


# --- with scales of what is fed --------------------------------------------------------------------------------------


def _largest(g: Builder, x: Value, axis: int | None) -> Value:
    """The largest magnitude, of all or along an axis."""
    kept = [] if axis is None else [i for i in range(x.rank) if i != axis % x.rank]
    return reduce(g, "Max", g.node("Abs", x), kept or None, axis is not None)


def _whole(g: Builder, x: Value, scale: Value, levels: float) -> Value:
    return clipped(g, g.node("Round", x / scale * levels), -levels, levels)


@rule("fake_quantize_abs_max", "fake_quantize_dequantize_abs_max")
def fake_quantize_abs_max(g: Builder, o: Call) -> tuple[Value, Value]:
    x, levels = o[0], _levels(o)
    scale = _largest(g, x, None)
    y = _whole(g, x, scale, levels)
    return (y * scale / levels if "dequantize" in o.name else y), reshape(g, scale, [1])


@rule("fake_channel_wise_quantize_abs_max", "fake_channel_wise_quantize_dequantize_abs_max")
def fake_channel_wise_quantize_abs_max(g: Builder, o: Call) -> tuple[Value, Value]:
    x, levels = o[0], _levels(o)
    scale = _largest(g, x, o("quant_axis", 0))
    y = _whole(g, x, scale, levels)
    return (y * scale / levels if "dequantize" in o.name else y), reshape(g, scale, [-1])


@rule(
    "fake_quantize_moving_average_abs_max",
    "fake_quantize_dequantize_moving_average_abs_max",
    "fake_quantize_range_abs_max",
)
def fake_quantize_moving_average_abs_max(g: Builder, o: Call) -> tuple[Any, ...]:
    x, scale, levels = o[0], o[1], _levels(o)
    if not o("is_test", False):
        raise Unsayable(f"{o.name} in evaluation, where scales are kept")
    one = reshape(g, scale, [])
    y = _whole(g, x, one, levels)
    return (y * one / levels if "dequantize" in o.name else y), scale


@rule("fake_dequantize_max_abs", "dequantize_abs_max")
def fake_dequantize_max_abs(g: Builder, o: Call) -> Value:
    x = g.cast(o[0], o[1].dtype)
    return x * reshape(g, o[1], []) / o("max_range")


@rule("fake_channel_wise_dequantize_max_abs")
def fake_channel_wise_dequantize_max_abs(g: Builder, o: Call) -> Value:
    x, scales = o[0], o[1]
    # Of weights a scale for each channel; of results one for each column, and one of what they were made of.
    axis = o("quant_axis", 0) if len(scales) == 1 else o("x_num_col_dims", 1)
    bits = o("quant_bits", [8])
    y = x * reshape(g, scales[0], [-1] + [1] * (x.rank - axis - 1)) / float((1 << (bits[0] - 1)) - 1)
    if len(scales) > 1:
        y = y * reshape(g, scales[1], []) / float((1 << (bits[1] - 1)) - 1)
    return y


@rule("apply_per_channel_scale")
def apply_per_channel_scale(g: Builder, o: Call) -> Value:
    return o[0] * o[1]
