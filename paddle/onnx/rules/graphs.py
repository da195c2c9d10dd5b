"""Sums over segments and over the edges of graphs."""

from __future__ import annotations

import numpy as np

from paddle.onnx.builder import Builder, Unsayable, Value
from paddle.onnx.rules.creation import filled
from paddle.onnx.rules.writing import scatter_nd
from paddle.onnx.shapes import known, numbers, reduce, reshape, shape, size, slices, vector
from paddle.onnx.table import Call, rule


def pooled(g: Builder, x: Value, place: Value, rows: Value, kind: str) -> Value:
    """Rows of x that have one place, combined; places that none has are 0."""
    rest = slices(g, shape(g, x), [0], [1], [2**31])
    target = g.node("Concat", rows, rest, axis=0) if rest.shape != (0,) else rows
    index = reshape(g, place, [-1, 1])
    if kind in ("SUM", "MEAN"):
        total = scatter_nd(g, filled(g, target, 0, x.dtype), index, x, "add")
        if kind == "SUM":
            return total
        ones = filled(g, size(g, x, 0), 1, x.dtype)
        count = g.node("Max", scatter_nd(g, filled(g, rows, 0, x.dtype), index, ones, "add"), g.constant(1, x.dtype))
        return total / reshape(g, count, [-1] + [1] * (x.rank - 1))
    if kind not in ("MAX", "MIN"):
        raise Unsayable(f"pooling {kind}")
    worst = -np.inf if kind == "MAX" else np.inf
    best = scatter_nd(g, filled(g, target, worst, x.dtype), index, x, kind.lower())
    return g.node("Where", g.node("Equal", best, float(worst)), 0.0, best)


@rule("segment_pool")
def segment_pool(g: Builder, o: Call) -> Value:
    x, place = o[0], g.cast(o[1], "int64")
    return pooled(g, x, place, reduce(g, "Max", place, [0], True) + 1, o("pooltype", "SUM"))


def _rows(g: Builder, o: Call, i: int, x: Value) -> Value:
    """Count of the nodes behind the edges: what is said if it is positive, else as many as before them."""
    said = o[i] if o[i] is not None else o("out_size", [0])
    found = numbers(said)
    if found is not None:
        return g.ints(found[:1]) if found and found[0] > 0 else size(g, x, 0)
    wanted = vector(g, said)
    return g.node("Where", wanted > 0, wanted, size(g, x, 0))


@rule("send_u_recv")
def send_u_recv(g: Builder, o: Call) -> Value:
    x, source, target = o[0], o[1], o[2]
    sent = known(g.node("Gather", x, source, axis=0), [-1, *x.shape[1:]])
    return pooled(g, sent, target, _rows(g, o, 3, x), o("reduce_op", "SUM"))


def _message(g: Builder, kind: str, a: Value, b: Value) -> Value:
    return {"ADD": a.__add__, "MUL": a.__mul__, "SUB": a.__sub__, "DIV": a.__truediv__}[kind](b)


@rule("send_ue_recv")
def send_ue_recv(g: Builder, o: Call) -> Value:
    x, edge, source, target = (o[i] for i in range(4))
    sent = _message(g, o("message_op", "ADD"), g.node("Gather", x, source, axis=0), edge)
    return pooled(g, known(sent, [-1, *x.shape[1:]]), target, _rows(g, o, 4, x), o("reduce_op", "SUM"))


@rule("send_uv")
def send_uv(g: Builder, o: Call) -> Value:
    return _message(
        g, o("message_op", "ADD"), g.node("Gather", o[0], o[2], axis=0), g.node("Gather", o[1], o[3], axis=0)
    )
