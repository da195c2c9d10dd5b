"""Python scalars that operators take, and which differ between calls."""

from __future__ import annotations

import paddle
import paddle.nn.functional as F
from tests.jit.corpus.registry import given, program

AXES = tuple(lambda t, n=n: given(t(2, 3, 4), n) for n in (0, 1, 2, -1, 1))
COUNTS = tuple(lambda t, n=n: given(t(4, 6), n) for n in (1, 2, 3, 4, 2))
RATES = tuple(lambda t, v=v: given(t(3, 4), v) for v in (0.1, 0.5, 0.25, 0.0, 1.0, 0.75))


@program(*AXES)
def axis_of_reductions(x, axis):
    return x.sum(axis=axis), x.mean(axis), x.max(axis=axis, keepdim=True), x.argmax(axis=axis), x.cumsum(axis=axis)


@program(*AXES)
def axis_of_shapes(x, axis):
    y = x.unsqueeze(axis)
    return (
        y,
        y.squeeze(axis),
        paddle.concat([x, x], axis=axis),
        paddle.stack([x, x], axis=axis),
        x.flip(axis),
        x.unbind(axis),
    )


@program(*AXES)
def axis_of_layers(x, axis):
    return (
        F.softmax(x, axis=axis),
        F.log_softmax(x, axis),
        F.normalize(x, axis=axis),
        x.norm(axis=axis),
        paddle.sort(x, axis),
    )


@program(*COUNTS)
def counts_and_shifts(x, n):
    return (
        x.roll(n, axis=1),
        x[:n],
        x[n - 1],
        x.tile([n, 1]),
        paddle.topk(x, n, axis=1)[0],
        x.repeat_interleave(n, axis=0),
    )


@program(*COUNTS)
def diagonals_and_ranges(x, n):
    return (
        paddle.tril(x, n),
        paddle.triu(x, diagonal=-n),
        paddle.arange(n, 6),
        paddle.arange(0, n, 0.5),
        paddle.diag(x[0], n),
    )


@program(*(lambda t, n=n: given(t(4, 12), n) for n in (1, 2, 3, 4, 6, 2)))
def counts_of_parts(x, n):
    parts = paddle.split(x, n, axis=1)
    return sum(parts), x.chunk(n, axis=1)[-1], x.reshape([4, n, -1]).sum(axis=1), len(parts)


@program(*(lambda t, n=n: given(t(1, 2, 8, 8), n) for n in (1, 2, 4, 2)))
def sizes_of_windows(x, n):
    return F.max_pool2d(x, n), F.avg_pool2d(x, kernel_size=n), F.pad(x, [n, 0, 0, n]), F.interpolate(x, scale_factor=n)


@program(*(lambda t, n=n: given(t(1, 2, 8), t(3, 2, 3), n) for n in (1, 2, 3, 2)))
def strides_of_convolutions(x, w, n):
    return F.conv1d(x, w, stride=n), F.conv1d(x, w, padding=n), F.conv1d(x, w, dilation=min(n, 3))


@program(*RATES)
def rates_of_activations(x, v):
    return (
        F.leaky_relu(x, v),
        F.elu(x, alpha=v + 0.5),
        F.celu(x, v + 1),
        F.softplus(x, beta=v + 1),
        F.hardtanh(x, -v, v + 1),
    )


@program(*RATES)
def rates_of_dropout(x, v):
    return F.dropout(x, v), F.dropout(x, p=v, training=v > 0.3), F.dropout(x, v, mode="downscale_in_infer")


@program(*RATES)
def bounds_and_factors(x, v):
    return (
        x.clip(-v, v),
        paddle.clip(x, min=v),
        x.scale(v),
        paddle.lerp(x, x * 2, v),
        x.pow(v + 1),
        paddle.full([2], v),
        x**v,
    )


@program(*RATES)
def losses_with_numbers(x, v):
    target = paddle.zeros_like(x)
    return (
        F.smooth_l1_loss(x, target, delta=v + 0.5), F.label_smooth(F.softmax(x), epsilon=v),
        F.layer_norm(x, 4, epsilon=v + 1e-5), F.cosine_similarity(x, x + 1, axis=1, eps=v + 1e-8),
    )  # fmt: skip


@program(*(lambda t, m=m: given(t(3, 4), m) for m in ("mean", "sum", "none", "mean")))
def texts_that_operators_take(x, reduction):
    return F.mse_loss(x, x * 2, reduction=reduction), F.gelu(x, approximate=reduction == "mean")


@program(*(lambda t, d=d: given(t(3), d) for d in ("float64", "int32", "float16", paddle.float64, "bool", "float32")))
def dtypes_that_operators_take(x, dtype):
    return (
        x.astype(dtype),
        paddle.zeros([2], dtype),
        x.cast(dtype).astype("float32") + 1,
        paddle.arange(3, dtype="int64").cast(dtype),
    )


@program(*(lambda t, p=p: given(t(2, 3, 4), p) for p in ([0, 1, 2], [2, 1, 0], (1, 0, 2), [2, 1, 0])))
def lists_that_operators_take(x, perm):
    y = x.transpose(perm)
    return y, x.sum(axis=perm[:2]), paddle.moveaxis(x, 0, perm[0]), y.reshape([y.shape[p] for p in perm])


@program(*(lambda t, v=v: given(t(3), v) for v in (2, 2.5, True, 2, 1 + 1j, paddle.full([], 3.0))))
def operand_of_every_class_of_numbers(x, v):
    return x * v, x + v, v - x, x == v
