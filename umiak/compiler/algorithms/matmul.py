"""Matmuls by their definition, an element a thread: for devices that have neither a library nor a kernel."""

from __future__ import annotations

from umiak.compiler.algorithms.number import Number
from umiak.compiler.algorithms.writer import Writer, algorithm
from umiak.compiler.loop import node as n
from umiak.compiler.loop.node import Node
from umiak.compiler.lower.builder import compute_type
from umiak.ops import linalg


@algorithm(linalg.Matmul)
def matmul(w: Writer) -> None:
    meta = w.operation.results[0].meta
    type_ = compute_type(meta.dtype)
    at = list(w.points(*meta.shape))
    shapes = w.shape(0), w.shape(1)
    tx, ty = w.op.flags(*(x.meta for x in w.operation.operands))
    column = at.pop() if len(shapes[1]) > 1 else None
    row = at.pop() if len(shapes[0]) > 1 else None
    batch = meta.shape[: len(at)]
    x, y = (w.operand(k, w.builder.broadcast(shapes[k][:-2], batch, tuple(at))) for k in (0, 1))

    def term(r: Node) -> Number:
        of_x = (r,) if row is None else (r, row) if tx else (row, r)
        of_y = (r,) if column is None else (column, r) if ty else (r, column)
        return x[of_x].cast(type_) * y[of_y].cast(type_)

    zero = Number(n.const(0, type_))
    size = shapes[0][-2 if tx else -1]
    w.result(0)[()] = w.sum(size, term, Number(zero.re, zero.re) if meta.dtype.is_complex else zero)
