"""Operators that programs of older versions have, and those that passes of PaddlePaddle make of several."""

from __future__ import annotations

import numpy as np

from paddle.onnx.builder import Builder, Unsayable, Value
from paddle.onnx.rules.algebra import acted, product, transposed
from paddle.onnx.rules.convolutions import as_given, channels_first
from paddle.onnx.rules.elementwise import clipped
from paddle.onnx.rules.norms import by_batch, group_norm_of
from paddle.onnx.rules.reductions import norm_of
from paddle.onnx.shapes import (
    INT64,
    arange,
    known,
    reduce,
    reshape,
    scalar,
    size,
    slices,
    squeeze,
    transpose,
    unsqueeze,
)
from paddle.onnx.table import Call, rule


@rule("legacy_matmul")
def legacy_matmul(g: Builder, o: Call) -> Value:
    x, y, alpha = o[0], o[1], o("alpha", 1.0)
    x = transposed(g, x) if o("transpose_x", False) and x.rank > 1 else x
    y = transposed(g, y) if o("transpose_y", False) and y.rank > 1 else y
    made = product(g, x, y)
    return made if alpha == 1 else made * alpha


@rule("lookup_table")
def lookup_table(g: Builder, o: Call) -> Value:
    table, ids, padding = o[0], squeeze(g, o[1], [-1]), o("padding_idx", -1)
    y = g.node("Gather", table, ids, axis=0)
    if padding == -1:
        return y
    return g.node("Where", unsqueeze(g, g.node("Equal", ids, padding), [-1]), g.constant(0, table.dtype), y)


@rule("lrn")
def lrn(g: Builder, o: Call) -> Value:
    form, n = o("data_format", "NCHW"), o("n", 5)
    x = channels_first(g, o[0], form)
    # ONNX takes the mean of the squares, the operator their sum.
    y = g.node("LRN", x, size=n, alpha=o("alpha", 1e-4) * n, beta=o("beta", 0.75), bias=o("k", 2.0))
    return as_given(g, y, form, x.rank)


@rule("soft_relu")
def soft_relu(g: Builder, o: Call) -> Value:
    edge = o("threshold", 40.0)
    return g.node("Softplus", clipped(g, o[0], -edge, edge))


@rule("max_with_index", "min_with_index")
def max_with_index(g: Builder, o: Call) -> tuple[Value, Value]:
    kind = "Max" if o.name.startswith("max") else "Min"
    x, axis, keepdim = o[0], o("dim", 0), o("keepdim", False)
    if o("flatten", False):
        rank, x, axis = x.rank, reshape(g, x, [-1]), 0
        value = reduce(g, kind, x, [0], True)
        index = known(g.node(f"Arg{kind}", x, axis=0, keepdims=1), [1])
        target = [1] * rank if keepdim else []
        return reshape(g, value, target), reshape(g, index, target)
    axis %= x.rank
    return reduce(g, kind, x, [axis], keepdim), g.node(f"Arg{kind}", x, axis=axis, keepdims=int(keepdim))


@rule("moving_average_abs_max_scale", "sync_calc_stream", "shadow_feed", "nop")
def unchanged(g: Builder, o: Call) -> Value:
    return g.node("Identity", o[0])


@rule("seed")
def seed(g: Builder, o: Call) -> Value:
    return g.constant([o("seed", 0)], "int32")


@rule("renorm")
def renorm(g: Builder, o: Call) -> Value:
    x, axis, most = o[0], o("axis") % o[0].rank, o("max_norm")
    others = [i for i in range(x.rank) if i != axis]
    length = norm_of(g, x, o("p"), others, True)
    return g.node("Where", length > most, x * (most / (length + 1e-7)), x)


@rule("row_conv")
def row_conv(g: Builder, o: Call) -> Value:
    x, rows = o[0], o[1]
    steps = rows.sizes[0]
    if steps < 0 or x.rank != 3:
        raise Unsayable("row_conv of batches of sequences, with a known number of rows")
    padded = g.node("Pad", x, g.ints([0, 0, 0, 0, steps - 1, 0]), g.constant(0.0, x.dtype))
    count = size(g, x, 1)
    parts = [
        slices(g, padded, [1], g.ints([k]), count + k) * known(slices(g, rows, [0], [k], [k + 1]), [1, -1])
        for k in range(steps)
    ]
    return parts[0] if steps == 1 else g.node("Sum", *parts)


@rule("add_position_encoding")
def add_position_encoding(g: Builder, o: Call) -> Value:
    x = o[0]
    if x.shape is None or x.shape[-1] < 0:
        raise Unsayable("a known width of what is encoded")
    half = x.shape[-1] // 2
    scale = 10000.0 ** (np.arange(half) / max(half - 1, 1))
    places = unsqueeze(g, g.cast(arange(g, scalar(g, size(g, x, 1))), x.dtype), [1])
    angles = places / g.constant(scale.reshape(1, -1), x.dtype)
    encoding = g.node("Concat", g.node("Sin", angles), g.node("Cos", angles), axis=1)
    return x * o("alpha", 1.0) + unsqueeze(g, known(encoding, [-1, -1]), [0]) * o("beta", 1.0)


@rule("cvm")
def cvm(g: Builder, o: Call) -> Value:
    x = o[0]
    rest = slices(g, x, [1], [2], [INT64.max])
    if not o("use_cvm", True):
        return rest
    shown, clicked = (g.node("Log", slices(g, x, [1], [i], [i + 1]) + 1.0) for i in range(2))
    return g.node("Concat", shown, clicked - shown, rest, axis=1)


@rule("dequantize_log")
def dequantize_log(g: Builder, o: Call) -> Value:
    place = g.cast(o[0], "int64")
    negative = place < 0
    found = g.node("Gather", o[1], g.node("Where", negative, place + 128, place), axis=0)
    return g.node("Where", negative, -found, found)


# --- what passes make of several operators ----------------------------------------------------------------------------


@rule("add_group_norm_silu")
def add_group_norm_silu(g: Builder, o: Call) -> tuple[Value, Value]:
    x = o[0] if o[1] is None else o[0] + o[1]
    form = o("data_format", "NCHW")
    y = group_norm_of(g, x, o[2], o[3], o("groups"), o("epsilon", 1e-5), form)
    return acted(g, y, o("activation", "")), x


@rule("fused_batch_norm_act")
def fused_batch_norm_act(g: Builder, o: Call) -> Value:
    # An operator of training: it has the statistics of its batch.
    y, _, _ = by_batch(g, channels_first(g, o[0], "NHWC"), o[1], o[2], o("epsilon", 1e-5))
    return acted(g, as_given(g, y, "NHWC", o[0].rank), o("act_type", "relu"))


@rule("fused_elemwise_activation", "fused_elemwise_add_activation")
def fused_elemwise_activation(g: Builder, o: Call) -> tuple[Value, Value]:
    kinds = {"elementwise_add": "Add", "elementwise_mul": "Mul"}
    outer, inner = o("functor_list")
    x, y = o[0], o[1]

    def single(v: Value, name: str) -> Value:
        return v * o("scale", 0.0) if name == "scale" else acted(g, v, name)

    if outer in kinds:
        between = single(y, inner)
        return g.node(kinds[outer], x, between), between
    between = g.node(kinds[inner], x, y)
    return single(between, outer), between


@rule("fused_scale_bias_add_relu")
def fused_scale_bias_add_relu(g: Builder, o: Call) -> Value:
    other = o[3] * o[4] + o[5] if o("fuse_dual", False) and o[4] is not None else o[3]
    return g.node("Relu", o[0] * o[1] + o[2] + other)


@rule("fusion_repeated_fc_relu")
def fusion_repeated_fc_relu(g: Builder, o: Call) -> tuple[list[Value], Value]:
    x, between = o[0], []
    for w, b in zip(o[1], o[2], strict=True):
        x = g.node("Relu", product(g, x, w) + b)
        between.append(x)
    return between[:-1], x


@rule("fusion_squared_mat_sub")
def fusion_squared_mat_sub(g: Builder, o: Call) -> tuple[Value, Value, Value, Value]:
    x, y = o[0], o[1]
    left, right, both = x * x, y * y, product(g, x, y)
    return left, right, both * both, (both * both - product(g, left, right)) * o("scalar", 1.0)


@rule("fusion_transpose_flatten_concat")
def fusion_transpose_flatten_concat(g: Builder, o: Call) -> Value:
    rows = [g.node("Flatten", transpose(g, x, o("trans_axis")), axis=o("flatten_axis")) for x in o[0]]
    return rows[0] if len(rows) == 1 else g.node("Concat", *rows, axis=o("concat_axis"))


_GATES = "", "sigmoid", "tanh", "relu"


@rule("gru_unit")
def gru_unit(g: Builder, o: Call) -> tuple[Value, Value, Value]:
    x, before, weight, bias = (o[i] for i in range(4))
    if before.shape is None or before.shape[1] < 0:
        raise Unsayable("a known width of the state of gru_unit")
    width = before.shape[1]
    # One weight: the first two thirds of its elements are for the gates.
    flat = reshape(g, weight, [-1])
    of_gates = reshape(g, slices(g, flat, [0], [0], [2 * width * width]), [width, 2 * width])
    of_state = reshape(g, slices(g, flat, [0], [2 * width * width], [INT64.max]), [width, width])
    x = x if bias is None else x + reshape(g, bias, [1, -1])
    gates = slices(g, x, [1], [0], [2 * width]) + product(g, before, of_gates)
    gates = acted(g, gates, _GATES[o("gate_activation", 1)])
    update, reset = slices(g, gates, [1], [0], [width]), slices(g, gates, [1], [width], [2 * width])
    kept = reset * before
    new = acted(g, slices(g, x, [1], [2 * width], [3 * width]) + product(g, kept, of_state), _GATES[o("activation", 2)])
    if o("origin_mode", False):
        hidden = update * before + (1.0 - update) * new
    else:
        hidden = (1.0 - update) * before + update * new
    return g.node("Concat", gates, new, axis=1), kept, hidden
