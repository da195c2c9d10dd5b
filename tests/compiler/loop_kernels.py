"""Kernels in loop IR as schedules make them: rows and columns of dense arrays."""

from __future__ import annotations

from umiak.compiler.loop import node as n
from umiak.compiler.loop.monoid import MAX, SUM, Monoid
from umiak.compiler.loop.node import Node, add, axis, call, const, dim, load, mul, var
from umiak.compiler.loop.tree import IN, LANE, OUT, SERIAL, TILE, Axis, Buffer, Kernel, Loop, Reduce, Scan, Store
from umiak.compiler.loop.types import F32, I64, ScalarType

P, Q, R = axis("i"), axis("j"), axis("k")


def elementwise(name, f, types, out=F32, streaming=False, kind=LANE) -> Kernel:
    """out[i] = f(x0[i], …)"""
    buffers = [Buffer(f"x{k}", t, IN) for k, t in enumerate(types)] + [Buffer("out", out, OUT)]
    value = f(*(load(f"x{k}", t, P) for k, t in enumerate(types)))
    body = (Store("out", P, value, streaming=streaming),)
    return Kernel(name, tuple(buffers), 0, (Loop(Axis(P, n.i64(0), kind=kind), body, True),))


def gelu(x: Node) -> Node:
    u = mul(mul(x, -2 * 0.7978845608028654), n.fma(mul(x, x), 0.044715, 1.0))
    return n.div(x, add(const(1.0, x.type), call("exp", u)))


def row(i: Node = P, j: Node = Q) -> Node:
    """Position in a dense matrix of dim(0) rows and dim(1) columns."""
    return add(mul(i, dim(1)), j)


def reduction(name, monoid: Monoid, values, types, columns=False, where=None, init=None) -> Kernel:
    """Over the columns of each row, or the rows of each column; ``values`` of x[i, j] and j (or i)."""
    x = load("x", types[0], row())
    kept, reduced = (
        (Axis(Q, dim(1), kind=LANE), Axis(P, dim(0))) if columns else (Axis(P, dim(0)), Axis(Q, dim(1), kind=LANE))
    )
    values = tuple(values(x, reduced.index))
    results = tuple(var(f"r{k}", v.type) for k, v in enumerate(values))
    buffers = (Buffer("x", types[0], IN), *(Buffer(f"out{k}", v.type, OUT) for k, v in enumerate(values)))
    stores = [Store(f"out{k}", kept.index, r) for k, r in enumerate(results)]
    where = None if where is None else where(x, reduced.index)
    body = (Reduce(results, monoid, (reduced,), values, init, where), *stores)
    return Kernel(name, buffers, 2, (Loop(kept, body, True),))


def softmax(t: ScalarType = F32) -> Kernel:
    top, total = var("top", t), var("total", t)
    x = load("x", t, row())
    body = (
        Reduce((top,), MAX, (Axis(Q, dim(1), kind=LANE),), (x,)),
        Loop(Axis(Q, dim(1), kind=LANE), (Store("out", row(), call("exp", n.sub(x, top))),)),
        Reduce((total,), SUM, (Axis(Q, dim(1), kind=LANE),), (load("out", t, row()),)),
        Loop(Axis(Q, dim(1), kind=LANE), (Store("out", row(), mul(load("out", t, row()), n.div(1.0, total))),)),
    )
    return Kernel("softmax", (Buffer("x", t, IN), Buffer("out", t, OUT)), 2, (Loop(Axis(P, dim(0)), body, True),))


def softmax_twice(t: ScalarType = F32) -> Kernel:
    """exp is computed for the sum and for the result."""
    top, total = var("top", t), var("total", t)
    x = load("x", t, row())
    e = call("exp", n.sub(x, top))
    body = (
        Reduce((top,), MAX, (Axis(Q, dim(1), kind=LANE),), (x,)),
        Reduce((total,), SUM, (Axis(Q, dim(1), kind=LANE),), (e,)),
        Loop(Axis(Q, dim(1), kind=LANE), (Store("out", row(), mul(e, n.div(1.0, total))),)),
    )
    return Kernel("softmax2", (Buffer("x", t, IN), Buffer("out", t, OUT)), 2, (Loop(Axis(P, dim(0)), body, True),))


def layer_norm(t: ScalarType = F32) -> Kernel:
    total, square = var("total", t), var("square", t)
    x = load("x", t, row())
    count = n.cast(dim(1), t)
    mean = n.div(total, count)
    d = n.sub(x, mean)
    scale = n.div(1.0, call("sqrt", add(n.div(square, count), 1e-5)))
    lanes = Axis(Q, dim(1), kind=LANE)
    body = (
        Reduce((total,), SUM, (lanes,), (x,)),
        Reduce((square,), SUM, (lanes,), (mul(d, d),)),
        Loop(lanes, (Store("out", row(), n.fma(mul(d, scale), load("w", t, Q), load("b", t, Q))),)),
        Store("mean", P, mean),
        Store("scale", P, scale),
    )
    names = ("x", "w", "b")
    buffers = (*(Buffer(b, t, IN) for b in names), *(Buffer(b, t, OUT) for b in ("out", "mean", "scale")))
    return Kernel("layer_norm", buffers, 2, (Loop(Axis(P, dim(0)), body, True),))


def transpose(t: ScalarType = F32, streaming=False, f=lambda x: x, out: ScalarType | None = None) -> Kernel:
    """out[i, j] = f(x[j, i]); dims are out's."""
    value = f(load("x", t, add(mul(Q, dim(0)), P)))
    inner = Loop(Axis(Q, dim(1), kind=LANE), (Store("out", row(), value, streaming=streaming),))
    buffers = (Buffer("x", t, IN), Buffer("out", out or t, OUT))
    return Kernel("transpose", buffers, 2, (Loop(Axis(P, dim(0), kind=TILE), (inner,), True),))


def broadcast_add(t: ScalarType = F32) -> Kernel:
    """out[i, j, k] = x[i, 0, k] + y[0, j, k] by strides: dims are 3 sizes, 2 outer strides of x and of y."""
    x = load("x", t, add(add(mul(P, dim(3)), mul(Q, dim(4))), R))
    y = load("y", t, add(add(mul(P, dim(5)), mul(Q, dim(6))), R))
    out = add(mul(add(mul(P, dim(1)), Q), dim(2)), R)
    lanes = Loop(Axis(R, dim(2), kind=LANE), (Store("out", out, add(x, y)),))
    buffers = (Buffer("x", t, IN), Buffer("y", t, IN), Buffer("out", t, OUT))
    return Kernel("broadcast_add", buffers, 7, (Loop(Axis(P, dim(0)), (Loop(Axis(Q, dim(1)), (lanes,)),), True),))


def gather(t: ScalarType = F32, streaming=False) -> Kernel:
    """out[i, :] = x[index[i], :]"""
    at = load("index", I64, P)
    lanes = Loop(Axis(Q, dim(1), kind=LANE), (Store("out", row(), load("x", t, row(at)), streaming=streaming),))
    buffers = (Buffer("x", t, IN), Buffer("index", I64, IN), Buffer("out", t, OUT))
    return Kernel("gather", buffers, 2, (Loop(Axis(P, dim(0)), (lanes,), True),))


def cumulative(monoid: Monoid, t: ScalarType, lanes=True, exclusive=False, columns=False) -> Kernel:
    """Running combination along the rows of x (``columns``: down the columns, which are lanes)."""
    r = var("r", t)
    kept, run = (
        (Axis(Q, dim(1), kind=LANE), Axis(P, dim(0)))
        if columns
        else (Axis(P, dim(0)), Axis(Q, dim(1), kind=LANE if lanes else SERIAL))
    )
    scan = Scan((r,), monoid, run, (load("x", t, row()),), (Store("out", row(), r),), exclusive=exclusive)
    buffers = (Buffer("x", t, IN), Buffer("out", t, OUT))
    return Kernel("cumulative", buffers, 2, (Loop(kept, (scan,), True),))
