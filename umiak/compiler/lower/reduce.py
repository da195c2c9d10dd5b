"""Rules of reductions and windows: stages over reduced axes.

A nest has one set of reduced axes. The first reduction opens them; another one fits in if it reduces the same dims of
values of the same shape.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from umiak.compiler.loop import monoid as m
from umiak.compiler.loop import node as n
from umiak.compiler.loop.node import Node
from umiak.compiler.lower.builder import Builder, Element, Index, NotANest, compute_type, rule
from umiak.core import dtype as dt
from umiak.ir import sym as dim
from umiak.ir.meta import identical
from umiak.ir.program import Operation
from umiak.ops import create, linalg, reduce, window


def axes_over(b: Builder, sizes: Sequence[Any]) -> Index:
    """The indices of the reduced axes, which must have these sizes."""
    sizes = tuple(sizes)
    known = getattr(b, "reduced_sizes", None)
    if known is None:
        b.reduced_sizes = sizes
        b.reduced_index = b.open(sizes, reduced=True)
    elif not identical(known, sizes):
        raise NotANest("reductions over different dims")
    return b.reduced_index


def between(lo: Node, x: Node, hi: Node) -> Node:
    """lo <= x < hi"""
    return n.call("and", n.le(lo, x), n.lt(x, hi))


def outside(b: Builder, index: Index) -> None:
    """Refuse to reduce at an index that depends on reduced axes: that is another nest."""
    inner = {a for a, _ in b.reduced}
    if any(a in inner for i in index for a in i.axes):
        raise NotANest("a reduction of a reduction's operand")


MONOIDS = {
    reduce.Sum: m.SUM, reduce.Prod: m.PROD, reduce.Max: m.MAX, reduce.Min: m.MIN, reduce.AnyOf: m.ANY,
    reduce.AllOf: m.ALL,
}  # fmt: skip


def source_index(rank: int, axes: Sequence[int], keepdim: bool, at: Index, inner: Index) -> Index:
    """The operand's index for a result's index and the reduced axes'."""
    outer = [i for d, i in enumerate(at) if not (keepdim and d in axes)]
    rest, within = iter(outer), dict(zip(axes, inner, strict=True))
    return tuple(within[d] if d in within else next(rest) for d in range(rank))


@rule(*MONOIDS)
def reduction(b: Builder, o: Operation, k: int, at: Index) -> Element:
    x, op = o.operands[0], o.op
    axes = tuple(sorted(op.axes))
    shape = x.meta.shape
    outer = tuple(i for d, i in enumerate(at) if not (op.keepdim and d in axes))
    outside(b, outer)
    inner = axes_over(b, [shape[a] for a in axes])
    value = b.read(x, source_index(len(shape), axes, op.keepdim, at, inner))
    type_ = compute_type(o.results[0].meta.dtype)
    monoid = MONOIDS[type(op)]
    if isinstance(value, tuple):
        if monoid is m.PROD:
            return b.reduce(m.COMPLEX_PROD, value)  # type: ignore[return-value]
        if monoid is not m.SUM:
            raise NotANest(f"{o.name} of complex numbers")
        return tuple(b.reduce(monoid, (n.cast(p, type_),))[0] for p in value)  # type: ignore[return-value]
    if value.type.kind == "b" and monoid in (m.MAX, m.MIN):
        monoid = m.ANY if monoid is m.MAX else m.ALL
    return b.reduce(monoid, (n.cast(value, type_),))[0]


SMALL_MATMUL = 2048  # sums of products: a library takes as long to begin


def is_small_matmul(o: Operation) -> bool:
    """Return whether a matmul is so small that the sums are done where their results are used."""
    x, y = o.operands
    if not (x.meta.dtype is dt.float32 or x.meta.dtype is dt.float64) or any(v.meta.ndim != 2 for v in (x, y)):
        return False
    sizes = (*x.meta.shape, *y.meta.shape)
    if any(type(size) is not int for size in sizes):
        return False
    k = sizes[0] if o.op.transpose_x else sizes[1]
    return 0 < math.prod(o.results[0].meta.shape) * k <= SMALL_MATMUL


@rule(linalg.Matmul)
def matmul(b: Builder, o: Operation, k: int, at: Index) -> Element:
    """A matrix-vector product is a sum, and so is a small one; those of matrices are a library's."""
    x, y = o.operands
    left, right = len(x.meta.shape), len(y.meta.shape)
    if min(left, right) > 1 and not is_small_matmul(o):
        raise NotANest("a matmul")
    outside(b, at)
    tx, ty = o.op.flags(x.meta, y.meta)
    (r,) = axes_over(b, [x.meta.shape[-2 if tx else -1]])
    of_x: Index = (r,)
    of_y: Index = (r,)
    if min(left, right) > 1:
        of_x, of_y = (r, at[0]) if tx else (at[0], r), (at[1], r) if ty else (r, at[1])
    elif left > 1:
        of_x = (*at[:-1], r, at[-1]) if tx else (*at, r)
    elif right > 1:
        of_y = (*at, r) if ty else (*at[:-1], r, at[-1])
    p, q = b.read(x, of_x), b.read(y, of_y)
    if isinstance(p, tuple) or isinstance(q, tuple):
        raise NotANest("a complex matmul")
    type_ = compute_type(o.results[0].meta.dtype)
    multiply = n.exact_product if min(left, right) > 1 else n.mul
    return b.reduce(m.SUM, (multiply(n.cast(p, type_), n.cast(q, type_)),))[0]


def summed_sizes(full_shape: Sequence[Any], target: Sequence[Any]) -> list[Any]:
    """Return the number of elements that ``sum_to`` adds along each dim."""
    lead = len(full_shape) - len(target)
    sizes = list(full_shape[:lead])
    for size, wanted in zip(full_shape[lead:], target, strict=True):
        if identical(size, wanted):
            sizes.append(1)
        elif type(wanted) is int and wanted == 1:
            sizes.append(size)
        else:
            sizes.append(dim.where(wanted == size, 1, size))
    return sizes


@rule(create.SumTo)
def sum_to(b: Builder, o: Operation, k: int, at: Index) -> Element:
    """Sum over dims that are known per call: each is a parallel axis of the target's size and a reduced one of what
    is left, one of which has size 1."""
    x, shape = o.operands[0], o.params[0]
    full_shape = x.meta.shape
    lead = len(full_shape) - len(shape)
    outside(b, at)
    sizes = summed_sizes(full_shape, shape)
    inner = axes_over(b, sizes)
    source = (*inner[:lead], *(n.add(i, j) for i, j in zip(at, inner[lead:], strict=True)))
    value = b.read(x, source)
    if isinstance(value, tuple):
        return tuple(b.reduce(m.SUM, (p,))[0] for p in value)  # type: ignore[return-value]
    return b.reduce(m.SUM, (value,))[0]


@rule(reduce.Argmax, reduce.Argmin)
def arg_extremum(b: Builder, o: Operation, k: int, at: Index) -> Element:
    x, op = o.operands[0], o.op
    outer = tuple(i for d, i in enumerate(at) if not (op.keepdim and d == op.axis))
    outside(b, outer)
    inner = axes_over(b, [x.meta.shape[op.axis]])
    value = b.read(x, source_index(len(x.meta.shape), (op.axis,), op.keepdim, at, inner))
    assert isinstance(value, Node)
    if value.type.kind == "b":
        value = n.cast(value, n.I64)
    position = inner[0] if inner[0].op == "const" else b.affine(inner[0])
    monoid = m.ARGMAX if type(op) is reduce.Argmax else m.ARGMIN
    return n.cast(b.reduce(monoid, (value, position))[1], compute_type(op.dtype))


# --- windows -------------------------------------------------------------------------------------------------------


def window_positions(b: Builder, o: Operation, at: Index) -> tuple[Index, Node]:
    """The operand's index for a window and a position in it, and whether that is inside the operand."""
    kernel, strides, lo, _, dilations = o.params[:5]
    x = o.operands[0]
    rank, count = len(x.meta.shape), o.op.n
    inner = axes_over(b, kernel)
    source, inside = list(at[: rank - count]), None
    for d in range(count):
        i = n.add(n.mul(at[rank - count + d], b.leaf(strides[d])), n.mul(inner[d], b.leaf(dilations[d])))
        i = n.sub(i, b.leaf(lo[d]))
        inside = n.conjunction(inside, between(n.i64(0), i, b.leaf(x.meta.shape[rank - count + d])))
        source.append(i)
    assert inside is not None
    return tuple(source), inside


@rule(window.WindowReduce)
def window_max(b: Builder, o: Operation, k: int, at: Index) -> Element:
    if o.op.kind == "sum":
        raise NotANest("sums over windows are kernels of their own")
    return window_reduce(b, o, at)


def window_reduce(b: Builder, o: Operation, at: Index) -> Element:
    """Return the sum or maximum over the window at ``at``."""
    outside(b, at)
    x = o.operands[0]
    source, inside = window_positions(b, o, at)
    value = b.guarded(inside, lambda: b.read(x, source))
    monoid = m.SUM if o.op.kind == "sum" else m.MAX
    if isinstance(value, tuple):
        return tuple(b.reduce(monoid, (p,), inside)[0] for p in value)  # type: ignore[return-value]
    return b.reduce(monoid, (value,), inside)[0]


@rule(window.MaxPool)
def max_pool(b: Builder, o: Operation, k: int, at: Index) -> Element:
    """Result 0: the largest of each window; result 1: its flat index over the windowed dims of the operand."""
    outside(b, at)
    x = o.operands[0]
    source, inside = window_positions(b, o, at)
    value = b.guarded(inside, lambda: b.read(x, source))
    assert isinstance(value, Node)
    lead = len(at) - o.op.n
    flat = n.i64(0)
    for i, size in zip(source[lead:], x.meta.shape[lead:], strict=True):
        flat = n.add(n.mul(flat, b.leaf(size)), i)
    best, where = b.reduce(m.ARGMAX, (value, flat), inside)
    if k == 0:
        return best
    none = n.eq(where, m.highest(where.type))
    return n.cast(n.select(none, n.i64(0), where), compute_type(o.results[1].meta.dtype))
