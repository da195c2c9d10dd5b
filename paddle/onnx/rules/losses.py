"""Losses."""

from __future__ import annotations

from paddle.onnx.builder import Builder, Unsayable, Value
from paddle.onnx.rules.activations import along, softplus_at_one
from paddle.onnx.rules.elementwise import at_most, clipped
from paddle.onnx.shapes import known, reduce, reshape, size, squeeze, unsqueeze
from paddle.onnx.table import Call, rule


def reduced(g: Builder, x: Value, kind: str) -> Value:
    """The mean or sum of a loss, or all of it."""
    return x if kind == "none" else reduce(g, "Mean" if kind == "mean" else "Sum", x, None)


@rule("cross_entropy_with_softmax")
def cross_entropy_with_softmax(g: Builder, o: Call) -> tuple[Value, Value]:
    x, label, axis = o[0], o[1], o("axis", -1) % o[0].rank
    if o("use_softmax", True):
        probability, log = along(g, "Softmax", x, axis), along(g, "LogSoftmax", x, axis)
    else:
        probability, log = g.node("Identity", x), g.node("Log", x)
    if o("soft_label", False):
        return probability, -reduce(g, "Sum", known(label * log, x.shape), [axis], True)
    ignored = g.node("Equal", label, o("ignore_index", -100))
    at = g.node("Where", ignored, 0, label)
    picked = g.node("GatherElements", log, at, axis=axis)
    return probability, g.node("Where", ignored, 0.0, -picked)


@rule("bce_loss")
def bce_loss(g: Builder, o: Call) -> Value:
    x, y = o[0], o[1]
    yes, no = (g.node("Max", g.node("Log", v), g.constant(-100.0, x.dtype)) for v in (x, 1.0 - x))
    return (y - 1.0) * no - y * yes


@rule("sigmoid_cross_entropy_with_logits")
def sigmoid_cross_entropy_with_logits(g: Builder, o: Call) -> Value:
    x, y, weight = o[0], o[1], o[2]
    tail = softplus_at_one(g, -x)
    loss = x * (1.0 - y) + (tail if weight is None else tail * (y * (weight - 1.0) + 1.0))
    ignored = g.node("Equal", y, float(o("ignore_index", -100)))
    loss = g.node("Where", ignored, 0.0, loss)
    if o("normalize", False):
        count = reduce(g, "Sum", g.cast(~ignored, x.dtype), None)
        loss = loss / g.node("Max", count, g.constant(1e-5, x.dtype))
    return loss


@rule("huber_loss")
def huber_loss(g: Builder, o: Call) -> tuple[Value, Value]:
    delta, rest = o("delta", 1.0), o[1] - o[0]
    size_ = g.node("Abs", rest)
    return g.node("Where", at_most(g, size_, delta), rest * rest * 0.5, (size_ - delta * 0.5) * delta), rest


@rule("kldiv_loss")
def kldiv_loss(g: Builder, o: Call) -> Value:
    x, target = o[0], o[1]
    if o("log_target", False):
        loss = g.node("Exp", target) * (target - x)
    else:
        positive = target > 0.0
        safe = g.node("Where", positive, target, 1.0)
        loss = g.node("Where", positive, target * (g.node("Log", safe) - x), 0.0)
    kind = o("reduction", "mean")
    if kind == "batchmean":
        return reduce(g, "Sum", loss, None) / g.cast(reshape(g, size(g, x, 0), []), x.dtype)
    return reduced(g, loss, kind)


@rule("nll_loss")
def nll_loss(g: Builder, o: Call) -> tuple[Value, Value]:
    x, label, weight = o[0], o[1], o[2]
    ignored = g.node("Equal", label, o("ignore_index", -100))
    at = g.node("Where", ignored, 0, label)
    picked = squeeze(
        g, known(g.node("GatherElements", x, unsqueeze(g, at, [1]), axis=1), [-1, 1] + [-1] * (x.rank - 2)), [1]
    )
    factor = g.constant(1.0, x.dtype) if weight is None else g.node("Gather", weight, at, axis=0)
    factor = g.node("Where", ignored, 0.0, factor)
    loss = -(picked * factor)
    total = reduce(g, "Sum", factor, None)
    kind = o("reduction", "mean")
    if kind == "none":
        return loss, total
    summed = reduce(g, "Sum", loss, None)
    return (summed / total if kind == "mean" else summed), total


@rule("log_loss")
def log_loss(g: Builder, o: Call) -> Value:
    x, y, eps = o[0], o[1], o("epsilon", 1e-4)
    return -(y * g.node("Log", x + eps)) - (1.0 - y) * g.node("Log", (1.0 - x) + eps)


@rule("hinge_loss")
def hinge_loss(g: Builder, o: Call) -> Value:
    return g.node("Relu", 1.0 - o[0] * (o[1] * 2.0 - 1.0))


@rule("identity_loss")
def identity_loss(g: Builder, o: Call) -> Value:
    kind = ("sum", "mean", "none")[o("reduction", 1)]
    return reduced(g, g.node("Identity", o[0]), kind)


@rule("label_smooth")
def label_smooth(g: Builder, o: Call) -> Value:
    x, prior, eps = o[0], o[1], o("epsilon", 0.1)
    if prior is not None:
        return x * (1 - eps) + prior * eps
    return x * (1 - eps) + eps / g.cast(size(g, x, -1), x.dtype)


@rule("margin_cross_entropy")
def margin_cross_entropy(g: Builder, o: Call) -> tuple[Value, Value]:
    x, label = o[0], o[1]
    if o("nranks", 1) > 1:
        raise Unsayable("margin_cross_entropy on one device")
    line = reshape(g, g.cast(label, "int64"), [-1, 1])
    own = g.node("GatherElements", x, line, axis=1)
    angle = g.node("Acos", clipped(g, own, -1.0, 1.0))
    moved = g.node("Cos", angle * o("margin1", 1.0) + o("margin2", 0.5)) - o("margin3", 0.0)
    logits = known(g.node("ScatterElements", x, line, moved, axis=1), x.shape) * o("scale", 64.0)
    logits = known(logits, x.shape)
    log = along(g, "LogSoftmax", logits, 1)
    return g.node("Exp", log), -g.node("GatherElements", log, line, axis=1)
