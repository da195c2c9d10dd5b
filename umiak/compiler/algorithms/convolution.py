"""Convolutions by their definition: each element of a result is a sum, and a thread's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from umiak.compiler.algorithms.number import Number, where
from umiak.compiler.algorithms.writer import Writer, algorithm
from umiak.compiler.loop import node as n
from umiak.compiler.loop.node import Node
from umiak.compiler.loop.types import BOOL
from umiak.compiler.lower.builder import compute_type
from umiak.ops import convolution


def coordinates(w: Writer, i: Node, sizes: Any) -> list[Node]:
    """The indices along dims of these sizes of element ``i`` of all of them."""
    found = []
    for size in reversed(sizes):
        count = w.integer(size)
        found.append(n.rem(i, count))
        i = n.div(i, count)
    return found[::-1]


def total(w: Writer, sizes: Any, term: Callable[..., Number]) -> None:
    """Store the sum of ``term`` of all indices in these sizes as the result's element."""
    meta = w.operation.results[0].meta
    type_ = compute_type(meta.dtype)
    zero = Number(n.const(0.0, type_))
    if meta.dtype.is_complex:
        zero = Number(zero.re, zero.re)
    count = n.i64(1)
    for size in sizes:
        count = n.mul(count, w.integer(size))
    w.result(0)[()] = w.sum(count, lambda i: term(*coordinates(w, i, sizes)), zero)


def inside(w: Writer, at: list[Node], sizes: Any) -> Node:
    result = n.const(True, BOOL)
    for i, size in zip(at, sizes, strict=True):
        within = n.call("and", n.le(n.i64(0), i), n.lt(i, w.integer(size)))
        result = n.call("and", result, within)
    return result


def guarded(w: Writer, condition: Node, pull: Callable[[], Number]) -> Number:
    """A number where a condition holds, else 0."""
    return where(condition, Number.of(w.builder.guarded(condition, lambda: pull().element)), 0.0)


def sources(w: Writer, p: Any, k: Any, strides: Any, lo: Any, dilations: Any) -> list[Node]:
    """The place in the image of offset ``k`` of the window at ``p``."""
    return [
        n.sub(n.add(n.mul(i, w.integer(s)), n.mul(j, w.integer(d))), w.integer(before))
        for i, j, s, before, d in zip(p, k, strides, lo, dilations, strict=True)
    ]


@algorithm(convolution.Conv)
def conv(w: Writer) -> None:
    groups, strides, lo, _, dilations = w.operation.params
    out = w.operation.results[0].meta.shape
    image, kernel = w.shape(0), w.shape(1)
    b, o, *p = w.points(*out)
    x, weight = w.operand(0, ()), w.operand(1, ())
    group = n.div(o, n.div(w.integer(kernel[0]), w.integer(groups)))
    first = n.mul(group, w.integer(kernel[1]))

    def term(c: Node, *k: Node) -> Number:
        at = sources(w, p, k, strides, lo, dilations)
        there = inside(w, at, image[2:])
        of_x, of_weight = (b, n.add(first, c), *at), (o, c, *k)
        return guarded(w, there, lambda: x[of_x] * weight[of_weight])

    total(w, kernel[1:], term)


@algorithm(convolution.ConvInputGrad)
def conv_input_grad(w: Writer) -> None:
    groups, strides, lo, _, dilations, _ = w.operation.params
    out = w.operation.results[0].meta.shape
    positions, kernel = w.shape(0), w.shape(1)
    b, c, *at = w.points(*out)
    g, weight = w.operand(0, ()), w.operand(1, ())
    group, channel = n.div(c, w.integer(kernel[1])), n.rem(c, w.integer(kernel[1]))
    each = n.div(w.integer(kernel[0]), w.integer(groups))
    first = n.mul(group, each)

    def term(o: Node, *k: Node) -> Number:
        there: Any = n.const(True, BOOL)
        p = []
        for i, j, s, before, d in zip(at, k, strides, lo, dilations, strict=True):
            reach = n.sub(n.add(i, w.integer(before)), n.mul(j, w.integer(d)))
            p.append(n.div(reach, w.integer(s)))
            there = n.call("and", there, n.call("and", n.le(n.i64(0), reach), n.eq(n.rem(reach, w.integer(s)), 0)))
        there = n.call("and", there, inside(w, p, positions[2:]))
        row = n.add(first, o)
        of_g, of_weight = (b, row, *p), (row, channel, *k)
        return guarded(w, there, lambda: g[of_g] * weight[of_weight])

    total(w, (each, *kernel[2:]), term)


@algorithm(convolution.ConvWeightGrad)
def conv_weight_grad(w: Writer) -> None:
    groups, strides, lo, _, dilations, _ = w.operation.params
    out = w.operation.results[0].meta.shape
    image, positions = w.shape(0), w.shape(1)
    o, c, *k = w.points(*out)
    x, g = w.operand(0, ()), w.operand(1, ())
    group = n.div(o, n.div(w.integer(out[0]), w.integer(groups)))
    channel = n.add(n.mul(group, w.integer(out[1])), c)

    def term(b: Node, *p: Node) -> Number:
        at = sources(w, p, k, strides, lo, dilations)
        there = inside(w, at, image[2:])
        of_x, of_g = (b, channel, *at), (b, o, *p)
        return guarded(w, there, lambda: x[of_x] * g[of_g])

    total(w, (image[0], *positions[2:]), term)
