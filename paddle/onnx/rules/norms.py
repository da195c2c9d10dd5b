"""Normalisation, dropout."""

from __future__ import annotations

from paddle.onnx.builder import Builder, Unsayable, Value
from paddle.onnx.rules.convolutions import LAST, as_given, channels_first
from paddle.onnx.shapes import known, mixed, reduce, reshape, shape, sizes_of, transpose
from paddle.onnx.table import Call, rule


def _channels(g: Builder, v: Value, rank: int) -> Value:
    """A vector of the channels, in a shape that meets x."""
    return reshape(g, v, [-1] + [1] * (rank - 2))


@rule("batch_norm", "sync_batch_norm")
def batch_norm(g: Builder, o: Call) -> tuple[Value, ...]:
    form = o("data_format", o("data_layout", "NCHW"))
    x = channels_first(g, o[0], form)
    mean, variance, scale, bias = o.operands[1:5]
    epsilon = o("epsilon", 1e-5)
    scale = g.node("Identity", variance * 0.0 + 1.0) if scale is None else scale
    bias = variance * 0.0 if bias is None else bias
    training = not (o("is_test", False) or o("use_global_stats", False))
    if not training:
        y = g.node("BatchNormalization", x, scale, bias, mean, variance, epsilon=epsilon)
        return as_given(g, y, form, x.rank), mean, variance
    y, m, v = by_batch(g, x, scale, bias, epsilon)
    keep = o("momentum", 0.9)
    after = [s * keep + reshape(g, b, [-1]) * (1 - keep) for s, b in ((mean, m), (variance, v))]
    return as_given(g, y, form, x.rank), after[0], after[1]


def by_batch(g: Builder, x: Value, scale: Value, bias: Value, epsilon: float) -> tuple[Value, Value, Value]:
    """x normalised by the batch's own means and variances, and these."""
    axes = [i for i in range(x.rank) if i != 1]
    mean = reduce(g, "Mean", x, axes, True)
    off = x - mean
    variance = reduce(g, "Mean", off * off, axes, True)
    y = off / g.node("Sqrt", variance + epsilon) * _channels(g, scale, x.rank) + _channels(g, bias, x.rank)
    return y, mean, variance


@rule("instance_norm")
def instance_norm(g: Builder, o: Call) -> Value:
    x, scale, bias = o[0], o[1], o[2]
    if scale is None or bias is None:
        if x.sizes[1] < 0:
            raise Unsayable("a known number of channels in instance_norm")
        scale = g.constant([1.0] * x.sizes[1], x.dtype) if scale is None else scale
        bias = g.constant([0.0] * x.sizes[1], x.dtype) if bias is None else bias
    return known(g.node("InstanceNormalization", x, scale, bias, epsilon=o("epsilon", 1e-5)), x.sizes)


@rule("group_norm")
def group_norm(g: Builder, o: Call) -> Value:
    form = o("data_format", o("data_layout", "NCHW"))
    return group_norm_of(g, o[0], o[1], o[2], o("groups", 1), o("epsilon", 1e-5), form)


def group_norm_of(
    g: Builder, x: Value, scale: Value | None, bias: Value | None, groups: int, epsilon: float, form: str
) -> Value:
    """x normalised over groups of its channels."""
    x = channels_first(g, x, form)
    # A group is an instance with one channel for its norm, which every opset has.
    lines = known(g.node("Reshape", x, g.ints([0, groups, -1])), [-1, groups, -1])
    one, nil = g.constant([1.0] * groups, x.dtype), g.constant([0.0] * groups, x.dtype)
    y = g.node("InstanceNormalization", lines, one, nil, epsilon=epsilon)
    y = known(g.node("Reshape", y, shape(g, x)), x.shape)
    if scale is not None:
        y = y * _channels(g, scale, x.rank)
    if bias is not None:
        y = y + _channels(g, bias, x.rank)
    return as_given(g, known(y, x.shape), form, x.rank)


@rule("layer_norm", "fast_ln")
def layer_norm(g: Builder, o: Call) -> tuple[Value, Value, Value]:
    x, scale, bias = o[0], o[1], o[2]
    axis = o("begin_norm_axis", x.rank - 1) % x.rank
    return layer_norm_of(g, x, scale, bias, axis, o("epsilon", 1e-5))


def layer_norm_of(
    g: Builder, x: Value, scale: Value | None, bias: Value | None, axis: int, epsilon: float
) -> tuple[Value, Value, Value]:
    """x normalised over its axes from one on; its means and variances. Scale and bias are flat."""
    wide = next((v.dtype for v in (scale, bias) if v is not None and v.dtype != x.dtype), None)
    if wide is not None:  # a scale of more bits
        y, mean, variance = layer_norm_of(g, g.cast(x, wide), scale, bias, axis, epsilon)
        return g.cast(y, x.dtype), mean, variance
    axes = list(range(axis, x.rank))
    scale, bias = (None if v is None else _tail(g, v, x, axis) for v in (scale, bias))
    mean = reduce(g, "Mean", x, axes, True)
    off = x - mean
    variance = reduce(g, "Mean", off * off, axes, True)
    if g.opset >= 17 and scale is not None:
        y = g.node("LayerNormalization", x, scale, bias, axis=axis, epsilon=epsilon)
    else:
        y = off / g.node("Sqrt", variance + epsilon)
        y = y if scale is None else y * scale
        y = y if bias is None else y + bias
    front = sizes_of(g, x)[:axis]
    flat = [
        known(g.node("Reshape", v, mixed(g, front) if front else g.ints([1])), [-1] * axis) for v in (mean, variance)
    ]
    return known(y, x.shape), flat[0], flat[1]


def _tail(g: Builder, v: Value, x: Value, axis: int) -> Value:
    """A flat scale in the shape of the axes that it scales."""
    if v.rank == x.rank - axis:
        return v
    if min(x.sizes[axis:]) < 0:
        raise Unsayable("known sizes of the axes that layer_norm scales")
    return reshape(g, v, list(x.sizes[axis:]))


@rule("rms_norm", "fast_rms_norm", "fused_rms_norm_ext")
def rms_norm(g: Builder, o: Call) -> Value:
    x = o[0]
    return rms_norm_of(g, x, o[1], x.rank - len(o("normalized_shape", [0])), o("epsilon", 1e-5))


@rule("fused_rms_norm_quant")
def fused_rms_norm_quant(g: Builder, o: Call) -> tuple[Value, Value]:
    x, bias, residual, scale, shift = (o[i] for i in range(5))
    if o("quant_scale", -1.0) > 0:
        raise Unsayable("fused_rms_norm_quant of results that are not quantised")
    total = x if bias is None else x + bias
    total = known(total if residual is None else total + residual, x.shape)
    y = rms_norm_of(g, total, scale, o("begin_norm_axis", -1) % x.rank, o("epsilon", 1e-5))
    return (y if shift is None else y + shift), total


def rms_norm_of(g: Builder, x: Value, scale: Value | None, axis: int, epsilon: float) -> Value:
    """x over the root of its mean square, in 32 bits at least."""
    wide = g.cast(x, "float32") if x.dtype in ("float16", "bfloat16") else x
    square = reduce(g, "Mean", known(wide * wide, x.shape), list(range(axis, x.rank)), True)
    y = g.cast(wide / g.node("Sqrt", square + epsilon), x.dtype)
    return known(y if scale is None else y * _tail(g, scale, x, axis), x.shape)


@rule("affine_channel")
def affine_channel(g: Builder, o: Call) -> Value:
    x, scale, bias = o[0], o[1], o[2]
    if o("data_layout", "NCHW") in LAST:
        return x * scale + bias
    return x * _channels(g, scale, x.rank) + _channels(g, bias, x.rank)


@rule("spectral_norm")
def spectral_norm(g: Builder, o: Call) -> Value:
    w, u, v, dim, eps = o[0], o[1], o[2], o("dim", 0), o("eps", 1e-12)
    order = [dim] + [i for i in range(w.rank) if i != dim]
    flat = known(g.node("Flatten", transpose(g, w, order), axis=1), [-1, -1])
    u, v = reshape(g, u, [-1, 1]), reshape(g, v, [-1, 1])
    across = transpose(g, flat, [1, 0])
    for _ in range(o("power_iters", 1)):
        v = g.node("MatMul", across, u)
        v = known(v / (reduce(g, "L2", known(v, [-1, 1]), None) + eps), [-1, 1])
        u = g.node("MatMul", flat, v)
        u = known(u / (reduce(g, "L2", known(u, [-1, 1]), None) + eps), [-1, 1])
    sigma = reduce(g, "Sum", known(u * g.node("MatMul", flat, v), [-1, 1]), None)
    return w / sigma


@rule("dropout")
def dropout(g: Builder, o: Call) -> Value:
    x, rate = o[0], o.number(2, "p", o("dropout_prob", 0.5))
    return dropped(g, x, rate, o("mode", "upscale_in_train"), o("is_test", False))


def dropped(g: Builder, x: Value, rate: float | Value, mode: str, still: bool) -> Value:
    """Dropout, in evaluation or with draws."""
    if isinstance(rate, Value):
        raise Unsayable("a known rate of dropout")
    if still or rate == 0:
        return x * (1 - rate) if mode != "upscale_in_train" and rate else g.node("Identity", x)
    kept = g.cast(g.node("RandomUniformLike", x, low=0.0, high=1.0, made=x.dtype) > rate, x.dtype)
    return x * kept / (1 - rate) if mode == "upscale_in_train" else x * kept


@rule("fused_dropout_add")
def fused_dropout_add(g: Builder, o: Call) -> Value:
    rate = o.number(3, "p", 0.0)
    return dropped(g, o[0], rate, o("mode", "upscale_in_train"), o("is_test", False)) + o[1]


@rule("data_norm")
def data_norm(g: Builder, o: Call) -> Value:
    size, total, square = (o[i] for i in (3, 4, 5))
    y = (o[0] - total / size) * g.node("Sqrt", size / square)
    return y if o[1] is None else y * o[1] + o[2]
