"""Products of a few rows by a matrix that is read once (few_rows.pyx), as LLVM text.

Such a product takes as long as the matrix takes to come from memory, so a function reads several of its rows side by
side, in the order in which they lie, and asks for what follows those while it reads them: the processor's own
prefetching begins anew with each page. Sums are of float32.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from umiak.backends.cpu import attention_kernels
from umiak.backends.cpu.attention_emitter import AttentionEmitter
from umiak.backends.cpu.attention_kernels import Library
from umiak.compiler.loop.types import BF16, F16, F32
from umiak.compiler.render.target import Target

STORED = {"float32": F32, "bfloat16": BF16, "float16": F16}
ROWS = (4, 2, 1)  # rows of x that one function takes
SIDE_BY_SIDE = 8  # rows of a matrix [k, n] that are read at the same time
OUTPUTS = 4  # the same of [n, k]
FLOAT = 4  # bytes


def supported(dtype_name: str) -> bool:
    return attention_kernels.supported(STORED[dtype_name])


class StreamEmitter(AttentionEmitter):
    """Text of one function over rows of a matrix in memory."""

    def prefetch(self, pointer: str) -> None:
        """Let a line of the cache come nearer: to the second level, as it is far ahead."""
        self.call("void", "llvm.prefetch.p0", [("ptr", pointer), ("i32", "0"), ("i32", "2"), ("i32", "1")])

    def words_of(self, pointer: str) -> str:
        """Two vectors' worth of neighbours of 16 bits, two to a word."""
        return self.emit(f"load <{self.lanes} x i32>, ptr {pointer}, align {self.stored.bytes}")

    def halves(self, words: str) -> tuple[str, str]:
        """bfloat16 of lower and of higher halves of words, as f32."""
        mask = self.integers(-1 << 16)
        return self.floats(self.higher(words)), self.floats(self.emit(f"and <{self.lanes} x i32> {words}, {mask}"))

    def sum_of(self, x: str) -> str:
        """The lanes of a vector added up."""
        args = [("float", "-0.0"), (self.vector, x)]
        return self.call("float", f"llvm.vector.reduce.fadd.v{self.lanes}f32", args, "reassoc ")

    def store_sums(self, sums: list[str], c: str, rows: int, outputs: int) -> None:
        """The sums of the lanes of ``rows * outputs`` vectors, to rows of c."""
        for i, p in enumerate(self.rows_of(c, "%c_row", rows)):
            for o in range(outputs):
                one = self.sum_of(sums[i * outputs + o])
                self.emit_void(f"store float {one}, ptr {self.offset_by(p, FLOAT * o)}, align {FLOAT}")


def along_columns(e: StreamEmitter, name: str, rows: int, steps: int) -> str:
    """``name(c, c_row, x, x_row, w, w_row, n, blocks)``: c[i, :n] += x[i, p] w[p, :n], for ``steps`` p in each of
    ``blocks``.

    Rows of c may be written up to a vector beyond n. Those of a matrix of bfloat16 are in the order of :func:`rounded`.
    """
    next_block = e.times("%w_row", steps)

    def block(now: list[str]) -> list[str]:
        xs, ws = e.rows_of(now[0], "%x_row", rows), e.rows_of(now[1], "%w_row", steps)
        cs = e.rows_of("%c", "%c_row", rows)
        soon = [e.offset_by(p, next_block) for p in ws]

        def pairs(j: str) -> None:
            at, c_at = e.times(j, e.stored.bytes), e.times(j, FLOAT)
            halves = []
            for p, next_p in zip(ws, soon):
                e.prefetch(e.offset_by(next_p, at))
                halves.append(e.halves(e.words_of(e.offset_by(p, at))))
            for x, c in zip(xs, cs):
                here = e.offset_by(c, c_at)
                totals = [e.load(here), e.load(here, e.vector_bytes)]
                for i, pair in enumerate(halves):
                    weight = e.broadcast(x, FLOAT * i)
                    totals = [e.fma(weight, w, t) for w, t in zip(pair, totals)]
                for v, total in enumerate(totals):
                    e.store(total, here, v * e.vector_bytes)

        def columns(j: str, mask: str | None) -> None:
            at, c_at = e.times(j, e.stored.bytes), e.times(j, FLOAT)
            vectors = []
            for p, next_p in zip(ws, soon):
                if mask is None:
                    e.prefetch(e.offset_by(next_p, at))
                vectors.append(e.take(e.offset_by(p, at), mask))
            for x, c in zip(xs, cs):
                here = e.offset_by(c, c_at)
                total = e.load(here)
                for i, w in enumerate(vectors):
                    total = e.fma(e.broadcast(x, FLOAT * i), w, total)
                e.store(total, here)

        if e.stored is BF16:
            paired_blocks(e, pairs, columns)
        else:
            e.full_blocks("%n", columns)
        return [e.offset_by(now[0], FLOAT * steps), soon[0]]

    e.repeat("%blocks", [("ptr", "%x"), ("ptr", "%w")], block)
    return e.function(name, "ptr %c, i64 %c_row, ptr %x, i64 %x_row, ptr %w, i64 %w_row, i64 %n, i64 %blocks")


def paired_blocks(e: StreamEmitter, pairs: Callable[[str], None], rest: Callable[[str, str | None], None]) -> None:
    """``pairs(first)`` for two vectors of columns at a time, out of n, and ``rest`` for those that are left."""
    full = e.emit(f"and i64 %n, {-2 * e.lanes}")
    e.each(full, pairs, step=2 * e.lanes)
    full_end = e.emit(f"and i64 %n, {-e.lanes}")
    e.each(full_end, lambda j: rest(j, None), lo=full, step=e.lanes)
    e.rest("%n", full_end, lambda mask: rest(full_end, mask))


def along_rows(e: StreamEmitter, name: str, rows: int, outputs: int) -> str:
    """``name(c, c_row, x, x_row, w, w_row, k, blocks)``: c[i, o] = x[i, :k] . w[o, :k], for ``outputs`` o in each of
    ``blocks``."""
    unroll = max(1, 64 // (e.stored.bytes * e.lanes))  # to a line of the cache
    next_block = e.times("%w_row", outputs)
    xs = e.rows_of("%x", "%x_row", rows)
    full = e.emit(f"and i64 %k, {-unroll * e.lanes}")

    def block(now: list[str]) -> list[str]:
        c, w = now
        ws = e.rows_of(w, "%w_row", outputs)
        soon = [e.offset_by(p, next_block) for p in ws]

        def add(j: str, sums: list[str], mask: str | None = None) -> list[str]:
            at, x_at = e.times(j, e.stored.bytes), e.times(j, FLOAT)
            vectors = [e.take(e.offset_by(p, at), mask) for p in ws]
            sums = list(sums)
            for i, p in enumerate(xs):
                x = float_bits(e, e.offset_by(p, x_at), mask)
                for o, w in enumerate(vectors):
                    sums[i * outputs + o] = e.fma(x, w, sums[i * outputs + o])
            return sums

        def line(j: str, sums: list[str]) -> list[str]:
            for p in soon:
                e.prefetch(e.offset_by(p, e.times(j, e.stored.bytes)))
            for u in range(unroll):
                sums = add(e.emit(f"add i64 {j}, {u * e.lanes}"), sums)
            return sums

        zeros = [(e.vector, "zeroinitializer")] * (rows * outputs)
        sums = e.loop("0", full, unroll * e.lanes, zeros, line)

        def end(j: str, sums: list[str]) -> list[str]:
            return add(j, sums, e.below(e.emit(f"sub i64 %k, {j}")))

        sums = e.loop(full, "%k", e.lanes, [(e.vector, s) for s in sums], end)
        e.store_sums(sums, c, rows, outputs)
        return [e.offset_by(c, FLOAT * outputs), soon[0]]

    e.repeat("%blocks", [("ptr", "%c"), ("ptr", "%w")], block)
    return e.function(name, "ptr %c, i64 %c_row, ptr %x, i64 %x_row, ptr %w, i64 %w_row, i64 %k, i64 %blocks")


def float_bits(e: StreamEmitter, pointer: str, mask: str | None) -> str:
    """A vector of f32; 0 outside of the mask."""
    if mask is None:
        return e.load(pointer)
    args = [(f"ptr align {FLOAT}", pointer), (f"<{e.lanes} x i1>", mask), (e.vector, "zeroinitializer")]
    return e.call(e.vector, f"llvm.masked.load.v{e.lanes}f32.p0", args)


def rounded(e: StreamEmitter, name: str, paired: bool = False) -> str:
    """``name(to, x, n)``: f32 as stored elements.

    ``paired``: of two vectors the first has the even columns, as lower halves of words have, the second the odd ones.
    """

    def pairs(j: str) -> None:
        at = e.offset_by("%x", e.times(j, FLOAT))
        low, high = (
            e.emit(f"zext {e.memory} {e.narrow(e.load(at, v * e.vector_bytes))} to <{e.lanes} x i32>") for v in range(2)
        )
        words = e.emit(f"or <{e.lanes} x i32> {low}, {e.higher(high)}")
        to = e.offset_by("%to", e.times(j, e.stored.bytes))
        e.emit_void(f"store <{e.lanes} x i32> {words}, ptr {to}, align {e.stored.bytes}")

    def block(j: str, mask: str | None) -> None:
        x = float_bits(e, e.offset_by("%x", e.times(j, FLOAT)), mask)
        e.put(x, e.offset_by("%to", e.times(j, e.stored.bytes)), mask)

    if paired:
        paired_blocks(e, pairs, block)
    else:
        e.full_blocks("%n", block)
    return e.function(name, "ptr %to, ptr %x, i64 %n")


@functools.cache
def functions(dtype_name: str) -> tuple[dict[str, int], object]:
    """Addresses by name for matrices of a dtype, and what keeps the code loaded."""
    target, stored = Target.host(), STORED[dtype_name]
    library = Library(F32, target)
    lanes = library.tile.lanes

    def enter(name: str, make: Callable[..., str], *args: int) -> None:
        library.texts[name] = make(StreamEmitter(library.module, F32, lanes, stored), name, *args)

    for rows in ROWS:
        for steps in (SIDE_BY_SIDE, 1):
            enter(f"along_columns_{rows}_{steps}", along_columns, rows, steps)
        for outputs in (OUTPUTS, 1):
            enter(f"along_rows_{rows}_{outputs}", along_rows, rows, outputs)
    enter("rounded", rounded)
    enter("rounded_columns", rounded, stored is BF16)
    return library.load()
