"""Operands of float32 as three terms of bfloat16 each, for tile registers, as LLVM text; attention.pyx calls them.

x = h + m + l, with h = x rounded to 8 bits, m = x - h likewise, and l what is left: exact as long as no term is below
the least normal number. Six of the nine products of terms give a product of float32 (Henry, Tang and Heinecke,
Leveraging the bfloat16 Artificial Intelligence Datatype For Higher-Precision Computations, 2019). Layouts are those of
pairs (attention_kernels.py), once for each term, ``plane`` bytes apart.
"""

from __future__ import annotations

from umiak.backends.cpu.attention_emitter import AttentionEmitter
from umiak.backends.cpu.gemm_kernel import Stride

TERMS = 3
HALF, UPPER = 0x8000, -0x10000  # of the last bit that is kept; the bits that are
# Bits of the magnitudes that the largest element of a row may have, if it is not 0: from 2**-64, so that what is lost
# to numbers below the least normal one is nothing beside it, to below 2**24, so that no sum overflows.
LEAST, LIMIT = (127 - 64) << 23, (127 + 24) << 23


def terms(e: AttentionEmitter, x: str) -> list[str]:
    """The terms of floats, as the upper halves of words. Halves are rounded away from 0, which is as near. Lower halves
    are 0, but for the last term of numbers whose terms are not exact."""
    words, made = f"<{e.lanes} x i32>", []
    for _ in range(TERMS - 1):
        bits = e.emit(f"bitcast {e.vector} {x} to {words}")
        high = e.emit(f"and {words} {e.emit(f'add {words} {bits}, {e.integers(HALF)}')}, {e.integers(UPPER)}")
        made.append(high)
        x = e.op("fsub", x, e.floats(high))
    return [*made, e.emit(f"bitcast {e.vector} {x} to {words}")]


def beside(e: AttentionEmitter, low: str, high: str) -> list[str]:
    """Words of elements of two vectors, lane by lane, for each term."""
    words, made = f"<{e.lanes} x i32>", []
    for a, b in zip(terms(e, low), terms(e, high)):
        down = e.emit(f"lshr {words} {a}, {e.integers(16)}")
        upper = e.emit(f"and {words} {b}, {e.integers(UPPER)}")
        made.append(e.floats(e.emit(f"or {words} {down}, {upper}")))
    return made


def behind(e: AttentionEmitter, first: list[str], second: list[str]) -> list[str]:
    """Words of neighbours in two vectors that follow each other, given their terms, for each term."""
    n, words, short = e.lanes, f"<{e.lanes} x i32>", f"<{2 * e.lanes} x i16>"
    order, made = ", ".join(f"i32 {2 * i + 1}" for i in range(2 * n)), []
    for a, b in zip(first, second):
        low, high = (e.emit(f"bitcast {words} {x} to {short}") for x in (a, b))
        both = e.emit(f"shufflevector {short} {low}, {short} {high}, <{2 * n} x i32> <{order}>")
        made.append(e.emit(f"bitcast {short} {both} to {e.vector}"))
    return made


def store(e: AttentionEmitter, made: list[str], to: str, plane: Stride) -> None:
    for i, x in enumerate(made):
        e.store(x, e.offset_by(to, e.times(plane, i)))


def _neighbours(e: AttentionEmitter, source: str, first: str, scale: str = "") -> list[str]:
    """Words of as many elements of a row as two vectors hold, from ``first`` on; zeros beyond ``%n``."""
    left = e.emit(f"sub i64 %n, {first}")
    at = e.element(source, first, e.bytes)
    low = e.take(at, e.below(left))
    high = e.take(e.offset_by(at, e.vector_bytes), e.below(e.emit(f"sub i64 {left}, {e.lanes}")))
    return behind(e, *(terms(e, e.op("fmul", x, scale) if scale else x) for x in (low, high)))


def copy_terms(e: AttentionEmitter, name: str) -> str:
    """``name(to, to_row, from, from_row, rows, n, plane)``: rows, a word for two neighbours. Vectors are written whole,
    zeros at the end."""

    def row(i: str) -> None:
        source, to = e.element("%from", i, "%from_row"), e.element("%to", i, "%to_row")

        def block(j: str) -> None:
            store(e, _neighbours(e, source, j), e.element(to, e.half(j), e.bytes), "%plane")

        e.each("%n", block, step=2 * e.lanes)

    e.each("%rows", row)
    return _function(e, name)


def _function(e: AttentionEmitter, name: str) -> str:
    return e.function(name, "ptr %to, i64 %to_row, ptr %from, i64 %from_row, i64 %rows, i64 %n, i64 %plane")


def pack_terms(e: AttentionEmitter, name: str, width: int) -> str:
    """``name(to, rows, n, plane, scale)``: columns of ``width`` rows times ``scale``, a word for two neighbours of a
    row. Blocks of two vectors are written whole, zeros at the end."""
    row, scale = width * e.bytes, e.broadcast("%scale")

    def block(first: str) -> None:
        to = e.element("%to", e.half(first), row)

        def chunk(lane: str) -> None:
            table, at = e.element("%rows", lane, 8), e.element(to, lane, e.bytes)
            made = [_neighbours(e, e.pointer(table, i), first, scale) for i in range(e.lanes)]
            for k, words in enumerate(zip(*made)):
                plane = e.offset_by(at, e.times("%plane", k))
                for j, column in enumerate(e.transpose(list(words))):
                    e.store(column, plane, j * row)

        e.each(str(width), chunk, step=e.lanes)

    e.each("%n", block, step=2 * e.lanes)
    return e.function(name, "ptr %to, ptr %rows, i64 %n, i64 %plane, ptr %scale")


def transpose_terms(e: AttentionEmitter, name: str) -> str:
    """``name(to, to_row, from, from_row, rows, n, plane)``: a row of ``to`` is a column of ``from``, with two
    neighbours in a word. Whole vectors of columns, and steps of 16 words, are written, with zeros beyond the rows."""
    last = e.emit("add i64 %rows, -1")

    def pairs(first: str) -> None:
        at = e.element("%to", e.half(first), e.bytes)

        def columns(j: str, mask: str | None) -> None:
            def part(row: int) -> str:
                index = e.emit(f"add i64 {first}, {row}")
                inside = e.emit(f"icmp sle i64 {index}, {last}")
                index = e.emit(f"select i1 {inside}, i64 {index}, i64 {last}")
                got = e.take(e.element(e.element("%from", index, "%from_row"), j, e.bytes), mask)
                return e.emit(f"select i1 {inside}, {e.vector} {got}, {e.vector} zeroinitializer")

            made = [beside(e, part(2 * p), part(2 * p + 1)) for p in range(e.lanes)]
            for k, words in enumerate(zip(*made)):
                to = e.offset_by(e.element(at, j, "%to_row"), e.times("%plane", k))
                for i, x in enumerate(e.transpose(list(words))):
                    e.store(x, e.element(to, str(i), "%to_row"))

        e.blocks("%n", columns)

    e.each("%rows", pairs, step=2 * e.lanes)
    return _function(e, name)


def interleave_terms(e: AttentionEmitter, name: str) -> str:
    """``name(to, to_row, from, from_row, rows, n, plane)``: two rows become one of words, the first in their lower
    halves; a last row is alone. Vectors are written whole, zeros at the end."""

    def rows(i: str, both: bool, _: list[str]) -> list[str]:
        one, to = e.element("%from", i, "%from_row"), e.element("%to", e.half(i), "%to_row")
        other = e.offset_by(one, "%from_row")

        def block(j: str, mask: str | None) -> None:
            low = e.take(e.element(one, j, e.bytes), mask)
            high = e.take(e.element(other, j, e.bytes), mask) if both else "zeroinitializer"
            store(e, beside(e, low, high), e.element(to, j, e.bytes), "%plane")

        e.blocks("%n", block)
        return []

    e.row_pairs("%rows", rows, [])
    return _function(e, name)


def in_range(e: AttentionEmitter, name: str) -> str:
    """``name(from, from_row, rows, n, outside)``: ``outside`` becomes 1 if the largest magnitude of a row is neither 0
    nor from 2**-64 to 2**24, or a row has NaN."""
    words, lanes = f"<{e.lanes} x i32>", f"i{e.lanes}"

    def mask(relation: str, x: str, y: int) -> str:
        found = e.emit(f"icmp {relation} {words} {x}, {e.integers(y)}")
        return e.emit(f"bitcast <{e.lanes} x i1> {found} to {lanes}")

    def larger(a: str, b: str) -> str:
        return e.call(words, f"llvm.umax.v{e.lanes}i32", [(words, a), (words, b)])

    def row(i: str) -> None:
        source = e.element("%from", i, "%from_row")

        def step(j: str, now: list[str], below: str | None = None) -> list[str]:
            got = e.emit(f"bitcast {e.vector} {e.take(e.element(source, j, e.bytes), below)} to {words}")
            return [larger(now[0], e.emit(f"and {words} {got}, {e.integers(0x7FFFFFFF)}"))]

        full_end = e.emit(f"and i64 %n, {-e.lanes}")
        most = e.loop("0", full_end, e.lanes, [(words, "zeroinitializer")], step)
        left = e.emit(f"sub i64 %n, {full_end}")
        some = e.emit(f"icmp ne i64 {left}, 0")
        most = e.guarded(some, lambda: step(full_end, most, e.below(left)), [(words, most[0])])
        over = e.emit(f"icmp ne {lanes} {mask('uge', most[0], LIMIT)}, 0")
        some = e.emit(f"icmp ne {lanes} {mask('ne', most[0], 0)}, 0")
        small = e.emit(f"icmp eq {lanes} {mask('uge', most[0], LEAST)}, 0")
        bad = e.emit(f"or i1 {over}, {e.emit(f'and i1 {some}, {small}')}")

        def tell() -> list[str]:
            e.emit_void("store i64 1, ptr %outside, align 8")
            return []

        e.guarded(bad, tell)

    e.each("%rows", row)
    return e.function(name, "ptr %from, i64 %from_row, i64 %rows, i64 %n, ptr %outside")
