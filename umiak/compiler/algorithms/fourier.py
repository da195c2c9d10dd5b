"""Fourier transforms of any size, axis after axis: a block of threads transforms a row.

By the prime factors of the size, in Stockham's order: after factors of product ``l`` the row holds the transforms of
length ``l`` of its ``m = n / l`` interleaved parts, part ``j`` of frequency ``k`` at ``k m + j``. A step by the factor
``p`` adds up ``p`` of them with rotated phases, which costs ``n p``; a prime size costs as much as its definition.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from umiak.compiler.algorithms.number import Number, where
from umiak.compiler.algorithms.writer import Writer, algorithm
from umiak.compiler.loop import node as n
from umiak.compiler.loop.node import Node
from umiak.compiler.loop.types import I64, ScalarType
from umiak.compiler.lower.builder import storage_type
from umiak.ops import fourier

FACTORS = 62  # no size has more


def root_of_unity(numerator: Node, denominator: Node, inverse: bool, type_: ScalarType) -> Number:
    """``exp(-2πi numerator/denominator)``; with ``inverse`` its conjugate."""
    part = n.div(n.cast(n.rem(numerator, denominator), type_), n.cast(denominator, type_))
    angle = n.mul(part, 2 * math.pi if inverse else -2 * math.pi)
    return Number(n.call("cos", angle), n.call("sin", angle))


def scale_of(size: Node, norm: str, inverse: bool, type_: ScalarType) -> Number:
    count = Number(n.cast(size, type_))
    divides = {"backward": inverse, "forward": not inverse}.get(norm)
    if divides is None:
        return 1.0 / count.root()
    return 1.0 / count if divides else count.like(1.0)


def transform(
    w: Writer, size: Any, kept: Any, inverse: bool, norm: str, type_: ScalarType, read: Callable[[Node], Number],
    write: Callable[[Node, Number], None],
) -> None:  # fmt: skip
    """Transform the row of a point; ``read`` gives its elements, ``write`` takes the first ``kept`` of the result."""
    count = w.integer(size)
    row, state = w.memory(type_, 2, size, complex_=True), w.memory(I64, 3)
    LENGTH, REST, HALF = 0, 1, 2
    with w.loop(count, lanes=True) as i:
        row[0, i] = read(i)
    state[LENGTH] = n.i64(1)
    state[REST] = count
    state[HALF] = n.i64(0)
    with w.loop(FACTORS):
        length, rest, half = w.let(state[LENGTH].re, state[REST].re, state[HALF].re)
        with w.when(n.lt(1, rest)):
            factor = w.fold(
                n.add(rest, 1), (n.i64(0),), lambda d, _: (d,), lo=2,
                go=lambda d, found: n.call("and", n.eq(found, 0), n.eq(n.rem(rest, d), 0)),
            )  # fmt: skip
            parts, longer = w.let(n.div(rest, factor), n.mul(length, factor))
            with w.loop(count, lanes=True) as i:
                k = n.div(i, parts)
                j = n.sub(i, n.mul(k, parts))
                source = n.add(n.mul(n.rem(k, length), rest), j)

                def term(q: Node) -> Number:
                    phase = root_of_unity(n.mul(k, q), longer, inverse, type_)
                    return row[half, n.add(source, n.mul(parts, q))] * phase

                zero = Number(n.const(0.0, type_), n.const(0.0, type_))
                row[n.sub(1, half), i] = w.sum(factor, term, zero)
            state[LENGTH] = longer
            state[REST] = parts
            state[HALF] = n.sub(1, half)
    scale = scale_of(count, norm, inverse, type_)
    half = w.let(state[HALF].re)
    with w.loop(kept, lanes=True) as i:
        write(i, row[half, i] * scale)


def without(shape: Any, axis: int) -> list[Any]:
    return [size for d, size in enumerate(shape) if d != axis]


def along(w: Writer, shape: Any, axis: int) -> Callable[[Any], tuple]:
    """Open the other dims as points; the full index of a position on the axis."""
    lead = w.points(*without(shape, axis))
    return lambda i: (*lead[:axis], i, *lead[axis:])


@algorithm(fourier.Fft)
def fft(w: Writer) -> None:
    shape, type_ = w.shape(0), storage_type(w.operation.results[0].meta.dtype)
    complexes(w, w.op.axes, shape, type_, w.op.inverse, lambda: w.operand(0, ()), lambda: w.result(0, ()))


def complexes(
    w: Writer, axes: Any, shape: Any, type_: ScalarType, inverse: bool, first: Callable[[], Any],
    to: Callable[[], Any],
) -> None:  # fmt: skip
    """Transforms along several axes: the first reads ``first()``, the others what is in ``to()``."""
    for k, axis in enumerate(axes):
        full = along(w, shape, axis)
        row_to_row(w, shape[axis], inverse, type_, full, first() if k == 0 else to(), to())
        w.then()


def row_to_row(
    w: Writer, size: Any, inverse: bool, type_: ScalarType, full: Callable[[Any], tuple], source: Any, target: Any
) -> None:
    def write(i: Node, value: Number) -> None:
        target[full(i)] = value

    transform(w, size, size, inverse, w.op.norm, type_, lambda i: source[full(i)], write)


@algorithm(fourier.Rfft)
def rfft(w: Writer) -> None:
    shape, out = w.shape(0), w.operation.results[0].meta
    type_, last = storage_type(out.dtype), w.op.axes[-1]
    full = along(w, shape, last)
    x, y = w.operand(0, ()), w.result(0, ())

    def write(i: Node, value: Number) -> None:
        y[full(i)] = value

    transform(w, shape[last], out.shape[last], False, w.op.norm, type_, lambda i: x[full(i)], write)
    w.then()
    complexes(w, w.op.axes[:-1], out.shape, type_, False, lambda: w.result(0, ()), lambda: w.result(0, ()))


@algorithm(fourier.Irfft)
def irfft(w: Writer) -> None:
    shape, (count,) = w.shape(0), w.operation.params
    type_, last = storage_type(w.operation.operands[0].meta.dtype), w.op.axes[-1]
    between = w.memory(type_, *shape, complex_=True) if len(w.op.axes) > 1 else None
    complexes(w, w.op.axes[:-1], shape, type_, True, lambda: w.operand(0, ()), lambda: between)
    full = along(w, shape, last)
    source, y = w.operand(0, ()) if between is None else between, w.result(0, ())
    size = w.integer(count)

    def read(i: Node) -> Number:
        """The second half mirrors the first; points that mirror themselves are real."""
        mirror = n.sub(size, i)
        behind = n.lt(mirror, i)
        x = source[full(n.select(behind, mirror, i))]
        alone = n.call("or", n.eq(i, 0), n.eq(mirror, i))
        return where(alone, Number(x.re, n.const(0.0, x.type)), where(behind, x.conj(), x))

    def write(i: Node, value: Number) -> None:
        y[full(i)] = value.real

    transform(w, count, count, True, w.op.norm, type_, read, write)
