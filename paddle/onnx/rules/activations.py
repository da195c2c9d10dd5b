"""Activations."""

from __future__ import annotations

import math
from typing import Any

from paddle.onnx.builder import Builder, Unsayable, Value
from paddle.onnx.rules.elementwise import clipped
from paddle.onnx.shapes import known, mixed, reduce, reshape, sizes_of, transpose
from paddle.onnx.table import Call, rule


@rule("relu")
def relu(g: Builder, o: Call) -> Value:
    # ONNX Runtime joins Relu and Clip, and fails where they are of float64.
    x = o[0]
    return g.node("Max", x, g.constant(0.0, x.dtype)) if x.dtype == "float64" else g.node("Relu", x)


@rule("relu6")
def relu6(g: Builder, o: Call) -> Value:
    return clipped(g, o[0], 0.0, 6.0)


@rule("leaky_relu")
def leaky_relu(g: Builder, o: Call) -> Value:
    x, slope = o[0], o("negative_slope", 0.02)
    return g.node("Where", x < 0.0, x * slope, x) if x.dtype == "float64" else g.node("LeakyRelu", x, alpha=slope)


@rule("prelu")
def prelu(g: Builder, o: Call) -> Value:
    x, slope = o[0], o[1]
    if o("mode", "all") == "all":
        slope = reshape(g, slope, [1] * x.rank)
    elif o("mode") == "channel":
        last = o("data_format", "NCHW") in ("NHWC", "NDHWC", "NLC")
        slope = reshape(g, slope, [-1] if last else [-1] + [1] * (x.rank - 2))
    return g.node("PRelu", x, slope)


@rule("elu")
def elu(g: Builder, o: Call) -> Value:
    x, alpha = o[0], o("alpha", 1.0)
    if x.dtype == "float64":  # of which ONNX Runtime has no kernels of activations
        return g.node("Where", x > 0.0, x, (g.node("Exp", x) - 1.0) * alpha)
    return g.node("Elu", x, alpha=alpha)


@rule("celu")
def celu(g: Builder, o: Call) -> Value:
    x, alpha = o[0], o("alpha", 1.0)
    if g.opset >= 12:
        return g.node("Celu", x, alpha=alpha)
    return g.node("Relu", x) - g.node("Relu", 1.0 - g.node("Exp", x / alpha)) * alpha


@rule("selu")
def selu(g: Builder, o: Call) -> Value:
    x, alpha, scale = o[0], o("alpha"), o("scale")
    if x.dtype == "float64":
        return g.node("Where", x > 0.0, x, (g.node("Exp", x) - 1.0) * alpha) * scale
    return g.node("Selu", x, alpha=alpha, gamma=scale)


@rule("gelu")
def gelu(g: Builder, o: Call) -> Value:
    return gelu_of(g, o[0], o("approximate", False))


def gelu_of(g: Builder, x: Value, approximate: bool) -> Value:
    """Gelu, by error function or tanh."""
    if g.opset >= 20:
        return g.node("Gelu", x, approximate="tanh" if approximate else "none")
    if approximate:
        inner = (x + x * x * x * 0.044715) * math.sqrt(2 / math.pi)
        return x * 0.5 * (g.node("Tanh", inner) + 1.0)
    return x * 0.5 * (g.node("Erf", x * math.sqrt(0.5)) + 1.0)


@rule("hardshrink")
def hardshrink(g: Builder, o: Call) -> Value:
    x, edge = o[0], o("threshold", 0.5)
    return g.node("Where", g.node("Abs", x) > edge, x, 0.0)


@rule("softshrink")
def softshrink(g: Builder, o: Call) -> Value:
    x, edge = o[0], o("threshold", o("lambda", 0.5))
    return g.node("Shrink", x, bias=edge, lambd=edge)


@rule("hardsigmoid")
def hardsigmoid(g: Builder, o: Call) -> Value:
    return g.node("HardSigmoid", o[0], alpha=o("slope", 0.2), beta=o("offset", 0.5))


@rule("hardswish")
def hardswish(g: Builder, o: Call) -> Value:
    x = o[0]
    threshold, scale, offset = o("threshold", 6.0), o("scale", 6.0), o("offset", 3.0)
    if g.opset >= 14 and (threshold, scale, offset) == (6.0, 6.0, 3.0):
        return g.node("HardSwish", x)
    return x * clipped(g, x + offset, 0.0, threshold) / scale


@rule("silu")
def silu(g: Builder, o: Call) -> Value:
    return o[0] * g.node("Sigmoid", o[0])


@rule("swish")
def swish(g: Builder, o: Call) -> Value:
    beta = o("beta", 1.0)
    x = o[0]
    return x * g.node("Sigmoid", x if beta == 1 else x * beta)


@rule("mish")
def mish(g: Builder, o: Call) -> Value:
    x = o[0]
    return x * g.node("Tanh", softplus_of(g, x, 1.0, o("lambda", 20.0)))


@rule("softplus")
def softplus(g: Builder, o: Call) -> Value:
    return softplus_of(g, o[0], o("beta", 1.0), o("threshold", 20.0))


def softplus_of(g: Builder, x: Value, beta: float, threshold: float) -> Value:
    """log(1 + exp(beta x)) / beta, x itself above the threshold."""
    scaled = x if beta == 1 else x * beta
    y = softplus_at_one(g, scaled)
    return g.node("Where", scaled > threshold, x, y if beta == 1 else y / beta)


def softplus_at_one(g: Builder, x: Value) -> Value:
    """log(1 + exp(x))."""
    if x.dtype != "float64":
        return g.node("Softplus", x)
    return g.node("Max", x, g.constant(0.0, x.dtype)) + g.node("Log", g.node("Exp", -g.node("Abs", x)) + 1.0)


@rule("softsign")
def softsign(g: Builder, o: Call) -> Value:
    x = o[0]
    return x / (g.node("Abs", x) + 1.0) if x.dtype == "float64" else g.node("Softsign", x)


@rule("tanh_shrink")
def tanh_shrink(g: Builder, o: Call) -> Value:
    return o[0] - g.node("Tanh", o[0])


@rule("thresholded_relu")
def thresholded_relu(g: Builder, o: Call) -> Value:
    x = o[0]
    return g.node("Where", x > o("threshold", 1.0), x, o("value", 0.0))


@rule("logsigmoid")
def logsigmoid(g: Builder, o: Call) -> Value:
    return -softplus_at_one(g, -o[0])


@rule("maxout")
def maxout(g: Builder, o: Call) -> Value:
    x, groups = o[0], o("groups")
    axis = o("axis", 1) % x.rank
    channels = x.sizes[axis]
    if channels < 0:
        raise Unsayable("a known number of channels in maxout")
    before, after = x.sizes[:axis], x.sizes[axis + 1 :]
    parts = [*sizes_of(g, x)[:axis], channels // groups, groups, *sizes_of(g, x)[axis + 1 :]]
    split = known(g.node("Reshape", x, mixed(g, parts)), [*before, channels // groups, groups, *after])
    return reduce(g, "Max", split, [axis + 1])


@rule("rrelu")
def rrelu(g: Builder, o: Call) -> Value:
    x = o[0]
    if not o("is_test", False):
        slope = g.node("RandomUniformLike", x, low=o("lower"), high=o("upper"), made=x.dtype)
        return g.node("Where", x < 0.0, x * slope, x)
    return g.node("LeakyRelu", x, alpha=(o("lower") + o("upper")) / 2)


@rule("softmax")
def softmax(g: Builder, o: Call) -> Value:
    return along(g, "Softmax", o[0], o("axis", -1))


@rule("log_softmax")
def log_softmax(g: Builder, o: Call) -> Value:
    return along(g, "LogSoftmax", o[0], o("axis", -1))


def along(g: Builder, kind: str, x: Value, axis: int) -> Value:
    """(Log)Softmax along one axis. Before opset 13 it flattens all axes behind the one given: that one goes last."""
    if x.shape == ():
        return g.node("Exp", x - x) if kind == "Softmax" else x - x
    axis %= x.rank
    if g.opset >= 13 or axis == x.rank - 1:
        return known(g.node(kind, x, axis=axis), x.shape)
    order = list(range(x.rank))
    order[axis], order[-1] = order[-1], order[axis]
    y = g.node(kind, transpose(g, x, order), axis=x.rank - 1)
    return known(transpose(g, y, order), x.shape)


@rule("swiglu")
def swiglu(g: Builder, o: Call) -> Value:
    x, y = o[0], o[1]
    if y is None:
        x, y = halves(g, x)
    return x * g.node("Sigmoid", x) * y


def halves(g: Builder, x: Value) -> tuple[Value, Value]:
    """x in two along its last axis."""
    attributes: dict[str, Any] = {"num_outputs": 2} if g.opset >= 18 else {}
    first, second = g.node("Split", x, axis=-1, outputs=2, **attributes)
    return first, second


@rule("gumbel_softmax")
def gumbel_softmax(g: Builder, o: Call) -> Value:
    x, axis = o[0], o("axis", -1)
    draws = g.node("RandomUniformLike", x, low=1e-12, high=1.0, made=x.dtype)
    y = along(g, "Softmax", (x - g.node("Log", -g.node("Log", draws))) / o("temperature", 1.0), axis)
    if not o("hard", False):
        return y
    top = g.node("ArgMax", y, axis=axis, keepdims=1)
    places = g.node(
        "Range", 0, reshape(g, g.node("Gather", g.node("Shape", x, made="int64"), axis % x.rank, axis=0), []), 1
    )
    shape = [1] * x.rank
    shape[axis] = -1
    return g.cast(g.node("Equal", top, reshape(g, places, shape)), x.dtype)
