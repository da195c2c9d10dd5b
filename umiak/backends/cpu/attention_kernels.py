"""The functions that attention is driven by (attention.pyx), as LLVM text: packing, rows of softmax, matmuls.

Scores are computed transposed: a tile has a row per key and a lane per query. So maxima, sums and rescaling are
vertical, keys and values enter matmuls as elements that are spread, and no row is ever reduced across lanes. Scores
are in units of log 2: queries are packed times ``scale * log2(e)``.

What is computed in is f32 or f64 (`type`), what operands are stored in may be narrower (`stored`). All strides are in
bytes. Buffers that are filled by blocks of lanes must have room for a block more.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from itertools import product

from umiak.backends.cpu import attention_amx, attention_terms, gemm_kernel, tile_registers
from umiak.backends.cpu.attention import STRIPS
from umiak.backends.cpu.attention_emitter import NEVER, AttentionEmitter, vectors
from umiak.backends.cpu.gemm_kernel import Tile, tile_of
from umiak.compiler import jit
from umiak.compiler.loop.functions.philox import MULTIPLIERS, ROUNDS, WEYL
from umiak.compiler.loop.types import BF16, BOOL, F16, F32, F64, U8, ScalarType
from umiak.compiler.render.target import Target
from umiak.compiler.render.text import Module

KEYS = 128  # rows of a tile


def host() -> Target:
    return Target.host()


def supported(stored: ScalarType) -> bool:
    """Return whether the processor converts such elements."""
    return stored in (F32, F64, BF16, BOOL) or (stored is F16 and "f16" in host().native)


# --- packing -------------------------------------------------------------------------------------------------------


def pack(e: AttentionEmitter, name: str, width: int, scaled: bool = True) -> str:
    """``name(to, rows, n, stride, scale)``: columns of rows; ``to[j, i] = rows[i][j] * scale``, ``width`` rows.

    Writes whole blocks of columns, in order.
    """
    scale = e.broadcast("%scale") if scaled else ""
    size = e.bytes

    def block(first: str, mask: str | None) -> None:
        to = e.element("%to", first, width * size)

        def chunk(lane: str) -> None:
            table, rows = e.element("%rows", lane, 8), []
            for i in range(e.lanes):
                p = e.element(e.pointer(table, i), first, e.stored.bytes)
                rows.append(e.op("fmul", e.take(p, mask), scale) if scaled else e.take(p, mask))
            at = e.element(to, lane, size)
            for j, column in enumerate(e.transpose(rows)):
                e.store(column, at, j * width * size)

        e.each(str(width), chunk, step=e.lanes)

    if e.lanes > 1:
        e.blocks("%n", block)
    else:

        def row(i: str) -> None:
            source, to = e.pointer("%rows", i), e.element("%to", i, size)

            def one(j: str) -> None:
                x = e.take(e.element(source, j, "%stride"))
                e.store(e.op("fmul", x, scale), e.element(to, j, width * size))

            e.each("%n", one)

        e.each(str(width), row)
    return e.function(name, "ptr %to, ptr %rows, i64 %n, i64 %stride, ptr %scale")


def copy(e: AttentionEmitter, name: str, scaled: bool = True) -> str:
    """``name(to, to_row, from, from_row, rows, n, stride, scale)``: rows times ``scale``. Vectors are written whole,
    zeros at the end (not by the version for strides)."""
    scale = e.broadcast("%scale") if scaled else ""

    def row(i: str) -> None:
        source, to = e.element("%from", i, "%from_row"), e.element("%to", i, "%to_row")

        def block(j: str, mask: str | None) -> None:
            x = e.take(e.element(source, j, "%stride" if e.lanes == 1 else e.stored.bytes), mask)
            e.store(e.op("fmul", x, scale) if scaled else x, e.element(to, j, e.bytes))

        e.full_blocks("%n", block)

    e.each("%rows", row)
    kinds = "ptr %to, i64 %to_row, ptr %from, i64 %from_row, i64 %rows, i64 %n, i64 %stride"
    return e.function(name, f"{kinds}, ptr %scale")


def interleave(e: AttentionEmitter, name: str) -> str:
    """``name(to, to_row, from, from_row, rows, n)``: two rows of bfloat16 become one of words, the first in their lower
    halves; a last row is alone. Vectors are written whole, zeros at the end."""

    def rows(i: str, both: bool, _: list[str]) -> list[str]:
        one, to = e.element("%from", i, "%from_row"), e.element("%to", e.half(i), "%to_row")
        other = e.offset_by(one, "%from_row")

        def block(j: str, mask: str | None) -> None:
            words = e.words(e.element(one, j, e.stored.bytes), mask)
            if both:
                more = e.higher(e.words(e.element(other, j, e.stored.bytes), mask))
                words = e.emit(f"or <{e.lanes} x i32> {words}, {more}")
            e.store(e.floats(words), e.element(to, j, e.bytes))

        e.full_blocks("%n", block)
        return []

    e.row_pairs("%rows", rows, [])
    return e.function(name, "ptr %to, i64 %to_row, ptr %from, i64 %from_row, i64 %rows, i64 %n")


def unpack(e: AttentionEmitter, name: str, width: int) -> str:
    """``name(rows, from, n, factor)``: ``rows[i][j] = from[j, i] * factor[i]``, the inverse of :func:`pack`."""

    def block(first: str, mask: str | None) -> None:
        source = e.element("%from", first, width * e.bytes)

        def chunk(lane: str) -> None:
            table, at = e.element("%rows", lane, 8), e.element(source, lane, e.bytes)
            factor = e.load(e.element("%factor", lane, e.bytes))
            columns = [e.op("fmul", e.load(at, j * width * e.bytes), factor) for j in range(e.lanes)]
            for i, x in enumerate(e.transpose(columns)):
                e.put(x, e.element(e.pointer(table, i), first, e.stored.bytes), mask)

        e.each(str(width), chunk, step=e.lanes)

    e.blocks("%n", block)
    return e.function(name, "ptr %rows, ptr %from, i64 %n, ptr %factor")


def store_rows(e: AttentionEmitter, name: str) -> str:
    """``name(to, to_row, from, from_row, rows, n, scale)``: rows times ``scale`` as they are stored."""
    scale = e.broadcast("%scale")

    def row(i: str) -> None:
        source, to = e.element("%from", i, "%from_row"), e.element("%to", i, "%to_row")

        def block(j: str, mask: str | None) -> None:
            e.put(e.op("fmul", e.load(e.element(source, j, e.bytes)), scale), e.element(to, j, e.stored.bytes), mask)

        e.full_blocks("%n", block)

    e.each("%rows", row)
    return e.function(name, "ptr %to, i64 %to_row, ptr %from, i64 %from_row, i64 %rows, i64 %n, ptr %scale")


# --- tiles of scores -----------------------------------------------------------------------------------------------


def online_softmax(e: AttentionEmitter, name: str, tile: Tile, pairs: bool = False) -> str:
    """``name(scores, first, count, top, most, total, factor)``: a tile becomes weights relative to the largest score so
    far.

    ``top`` is the maximum of rows before ``first``. ``most`` and ``total`` are the running maximum and sum; ``factor``
    is what sums of before are to be multiplied by. A maximum passes NaN over; it shows in the sums. With ``pairs``, two
    rows of weights become one of words of bfloat16, and half as many rows are left.
    """
    softmax = Softmax(e, tile, "%factor")
    row = softmax.row

    def step(i: str, sums: list[str]) -> list[str]:
        at, made = e.element("%scores", i, row), []
        for v, shift, total in zip(vectors(e, tile), softmax.shifts, sums):
            p = e.exp2(e.op("fsub", e.load(at, v), shift))
            e.store(p, at, v)
            made.append(e.op("fadd", total, p))
        return made

    def write(i: str, v: int, p: str, q: str) -> None:
        words = e.joined(p, q)
        e.store(e.interleaved(words, 0, words, e.lanes), e.element("%scores", e.half(i), row), v)

    none = ["zeroinitializer"] * tile.vecs
    if pairs:
        sums = e.row_pairs("%count", lambda i, both, now: softmax.pair(i, both, now, write), none)
    else:
        sums = e.loop("0", "%count", 1, [(e.vector, x) for x in none], step)
    softmax.add(sums)
    return e.function(name, f"{SOFTMAX}, ptr %factor")


SOFTMAX = "ptr %scores, i64 %first, i64 %count, ptr %top, ptr %most, ptr %total"


class Softmax:
    """Steps of :func:`online_softmax` before and after scores become weights, and the weights of two rows."""

    def __init__(self, e: AttentionEmitter, tile: Tile, factor_at: str) -> None:
        self.e, self.tile, self.row = e, tile, tile.width * e.bytes
        before = [e.load("%most", v) for v in vectors(e, tile)]
        most = [(e.vector, e.larger(e.load("%top", v), m)) for v, m in zip(vectors(e, tile), before)]

        def raised(i: str, most: list[str]) -> list[str]:
            at = e.element("%scores", i, self.row)
            return [e.larger(e.load(at, v), m) for v, m in zip(vectors(e, tile), most)]

        self.shifts, self.kept = [], []
        after = e.loop("%first", "%count", 1, most, raised)
        for v, old, new in zip(vectors(e, tile), before, after):
            shift = e.finite(new)
            factor = e.exp2(e.op("fsub", old, shift))
            e.store(new, "%most", v)
            e.store(factor, factor_at, v)
            self.shifts.append(shift)
            self.kept.append(e.op("fmul", e.load("%total", v), factor))

    def pair(self, i: str, both: bool, sums: list[str], write: Callable[[str, int, str, str], None]) -> list[str]:
        """``write(i, offset, weights, weights of the next row)`` for each vector; the sums with them."""
        e, made = self.e, []
        at = e.element("%scores", i, self.row)
        for v, shift, total in zip(vectors(e, self.tile), self.shifts, sums):
            p = e.exp2(e.op("fsub", e.load(at, v), shift))
            q = e.exp2(e.op("fsub", e.load(at, self.row + v), shift)) if both else "zeroinitializer"
            write(i, v, p, q)
            made.append(e.op("fadd", total, e.op("fadd", p, q) if both else p))
        return made

    def add(self, sums: list[str]) -> None:
        # The tile's own sum first: rounding errors are those of a tile and of so many tiles, not of all keys in a row.
        for v, earlier, here in zip(vectors(self.e, self.tile), self.kept, sums):
            self.e.store(self.e.op("fadd", earlier, here), "%total", v)


def online_softmax_terms(e: AttentionEmitter, name: str, tile: Tile, beside: bool) -> str:
    """``name(scores, first, count, top, most, total, next_factor, weights)``: as :func:`online_softmax`, with weights
    in terms, a tile of half as many rows for each. With ``beside`` arguments of :func:`attention_amx.accumulate` come
    first: weighted values of the strip before are added up at the same time."""
    softmax = Softmax(e, tile, "%next_factor")
    row = softmax.row

    def write(i: str, v: int, p: str, q: str) -> None:
        to = e.offset_by(e.element("%weights", e.half(i), row), v)
        attention_terms.store(e, attention_terms.beside(e, p, q), to, KEYS // 2 * row)

    def pair(i: str, both: bool, sums: list[str]) -> list[str]:
        return softmax.pair(i, both, sums, write)

    if not beside:
        softmax.add(e.row_pairs("%count", pair, ["zeroinitializer"] * tile.vecs))
        return e.function(name, f"{SOFTMAX}, ptr %next_factor, ptr %weights")
    sums = [e.emit(f"alloca {e.vector}, align {e.vector_bytes}") for _ in range(tile.vecs)]
    for x in sums:
        e.store("zeroinitializer", x)

    def keep(now: list[str]) -> None:
        for x, to in zip(now, sums):
            e.store(x, to)

    def steps(first: str, end: str) -> None:
        def two(i: str, now: list[str]) -> list[str]:
            return pair(e.emit(f"shl i64 {i}, 1"), True, now)

        keep(e.loop(first, end, 1, [(e.vector, e.load(x)) for x in sums], two))

    work = attention_amx.Beside(e, e.half("%count"), steps)
    attention_amx.accumulate(e, name, tile, True, True, work)
    work.rest()

    def last() -> list[str]:
        keep(pair(e.emit("add i64 %count, -1"), False, [e.load(x) for x in sums]))
        return []

    e.guarded(e.emit("trunc i64 %count to i1"), last)
    softmax.add([e.load(x) for x in sums])
    return e.function(name, f"{attention_amx.ACCUMULATE}, {SOFTMAX}, ptr %next_factor, ptr %weights")


def masking(e: AttentionEmitter, name: str, tile: Tile, change: Callable[[str, str, int], str], args: str) -> str:
    """``name(scores, row, count, ...)``: ``change(i, score, offset)`` of each score."""

    def step(i: str) -> None:
        at = e.element("%scores", i, "%row")
        for v in vectors(e, tile):
            e.store(change(i, e.load(at, v), v), at, v)

    e.each("%count", step)
    return e.function(name, f"ptr %scores, i64 %row, i64 %count, {args}")


def causal(e: AttentionEmitter, name: str, tile: Tile) -> str:
    """``name(scores, row, count, last, first)``: key ``first + i`` is seen by lanes whose ``last`` (i32) it is
    not beyond."""
    ids = f"<{e.lanes} x i32>"
    last = {v: e.emit(f"load {ids}, ptr {e.offset_by('%last', v // e.bytes * 4)}, align 4") for v in vectors(e, tile)}

    def change(i: str, s: str, v: int) -> str:
        key = e.emit(f"trunc i64 {e.emit(f'add i64 {i}, %first')} to i32")
        one = e.emit(f"insertelement {ids} poison, i32 {key}, i64 0")
        keys = e.emit(f"shufflevector {ids} {one}, {ids} poison, {ids} zeroinitializer")
        seen = e.emit(f"icmp sle {ids} {keys}, {last[v]}")
        return e.emit(f"select <{e.lanes} x i1> {seen}, {e.vector} {s}, {e.vector} {e.constant(NEVER)}")

    return masking(e, name, tile, change, "ptr %last, i64 %first")


def masked(e: AttentionEmitter, name: str, tile: Tile, add: bool) -> str:
    """``name(scores, row, count, mask)``: a packed mask is added, or hides scores where it is -inf."""

    def change(i: str, s: str, v: int) -> str:
        m = e.load(e.element("%mask", i, tile.width * e.bytes), v)
        if add:
            return e.op("fadd", s, m)
        seen = e.emit(f"fcmp une {e.vector} {m}, {e.constant(NEVER)}")
        return e.emit(f"select <{e.lanes} x i1> {seen}, {e.vector} {s}, {e.vector} {m}")

    return masking(e, name, tile, change, "ptr %mask")


def hide(e: AttentionEmitter, name: str, tile: Tile) -> str:
    """``name(scores, row, count, begin, end, first)``: key i is hidden from the lanes, counted from ``first`` on, of
    ``[begin[i], end[i])`` (i32)."""
    ids = f"<{e.lanes} x i32>"

    def spread(x: str) -> str:
        one = e.emit(f"insertelement {ids} poison, i32 {x}, i64 0")
        return e.emit(f"shufflevector {ids} {one}, {ids} poison, {ids} zeroinitializer")

    first, rows = spread(e.emit("trunc i64 %first to i32")), {}
    for v in vectors(e, tile):
        places = ", ".join(f"i32 {v // e.bytes + i}" for i in range(e.lanes))
        rows[v] = e.emit(f"add {ids} {first}, <{places}>")

    def step(i: str) -> None:
        at = e.element("%scores", i, "%row")
        begin, end = (e.emit(f"load i32, ptr {e.element(p, i, 4)}, align 4") for p in ("%begin", "%end"))
        # One comparison: rows before the first become large numbers without a sign.
        low, count = spread(begin), spread(e.emit(f"sub i32 {end}, {begin}"))
        for v in vectors(e, tile):
            hidden = e.emit(f"icmp ult {ids} {e.emit(f'sub {ids} {rows[v]}, {low}')}, {count}")
            s = e.load(at, v)
            e.store(e.emit(f"select <{e.lanes} x i1> {hidden}, {e.vector} {e.constant(NEVER)}, {e.vector} {s}"), at, v)

    e.each("%count", step)
    return e.function(name, "ptr %scores, i64 %row, i64 %count, ptr %begin, ptr %end, i64 %first")


def cap(e: AttentionEmitter, name: str, tile: Tile) -> str:
    """``name(scores, row, count, cap)``: scores become ``cap * tanh(score / cap)``."""
    most = e.broadcast("%cap")
    by = e.op("fdiv", e.constant(1.0), most)

    def change(i: str, s: str, v: int) -> str:
        return e.op("fmul", e.tanh(e.op("fmul", s, by)), most)

    return masking(e, name, tile, change, "ptr %cap")


class Slopes:
    """Derivatives of capped scores by scores, in terms of the former; 1 where nothing is capped."""

    def __init__(self, e: AttentionEmitter, capped: bool) -> None:
        self.e, self.capped = e, capped
        if capped:
            self.by = e.op("fdiv", e.constant(1.0), e.broadcast("%cap"))

    def times(self, grad: str, score: str) -> str:
        """``grad * (1 - (score / cap)**2)``; 0 where a score is hidden."""
        e = self.e
        if not self.capped:
            return grad
        t = e.larger(e.op("fmul", score, self.by), e.constant(-1.0))
        return e.op("fmul", grad, e.op("fsub", e.constant(1.0), e.op("fmul", t, t)))


def softmax_gradient(e: AttentionEmitter, name: str, tile: Tile, capped: bool) -> str:
    """``name(scores, grads, count, end, lse, delta, cap)``: scores become weights, gradients of weights those of
    scores.

    Rows from ``count`` to ``end`` become 0, so that products may run over them. Rows are ``STRIPS`` tiles apart. Scores
    that were ``capped`` get gradients of those before that.
    """
    row = STRIPS * tile.width * e.bytes
    slopes = Slopes(e, capped)
    shifts = [e.finite(e.load("%lse", v)) for v in vectors(e, tile)]
    deltas = [e.load("%delta", v) for v in vectors(e, tile)]

    def step(i: str) -> None:
        at, to = e.element("%scores", i, row), e.element("%grads", i, row)
        for v, shift, delta in zip(vectors(e, tile), shifts, deltas):
            s = e.load(at, v)
            p = e.exp2(e.op("fsub", s, shift))
            e.store(p, at, v)
            e.store(slopes.times(e.op("fmul", p, e.op("fsub", e.load(to, v), delta)), s), to, v)

    def clear(i: str) -> None:
        for v in vectors(e, tile):
            e.store("zeroinitializer", e.element("%scores", i, row), v)
            e.store("zeroinitializer", e.element("%grads", i, row), v)

    e.each("%count", step)
    e.each("%end", clear, lo="%count")
    return e.function(name, "ptr %scores, ptr %grads, i64 %count, i64 %end, ptr %lse, ptr %delta, ptr %cap")


def softmax_gradient_pairs(e: AttentionEmitter, name: str, tile: Tile, capped: bool, terms: bool = False) -> str:
    """``name(scores, grads, count, end, lse, delta, weights, grads_to, interleaved, cap)``: :func:`softmax_gradient` of
    a tile by itself, in bfloat16.

    Weights and gradients of scores are written row by row, for products over queries, and the latter two rows at a time
    in words, for products over keys. Rows of ``weights`` and ``grads_to`` have room for as many tiles as a group. With
    ``terms`` there is a tile of each for each term.
    """
    row, narrow = tile.width * e.bytes, STRIPS * tile.width * 2
    slopes = Slopes(e, capped)
    shifts = [e.finite(e.load("%lse", v)) for v in vectors(e, tile)]
    deltas = [e.load("%delta", v) for v in vectors(e, tile)]

    def one(i: str, next: int) -> list[str]:
        """The gradients of a row, by vector."""
        weights, grads = [], []
        for v, shift, delta in zip(vectors(e, tile), shifts, deltas):
            s = e.load(e.element("%scores", i, row), next * row + v)
            p = e.exp2(e.op("fsub", s, shift))
            weights.append(p)
            d = e.load(e.element("%grads", i, row), next * row + v)
            grads.append(slopes.times(e.op("fmul", p, e.op("fsub", d, delta)), s))
        for x, to in ((weights, "%weights"), (grads, "%grads_to")):
            at = e.offset_by(e.element(to, i, narrow), next * narrow)
            if terms:
                words = attention_terms.behind(e, *(attention_terms.terms(e, part) for part in x))
                attention_terms.store(e, words, at, KEYS * narrow)
            else:
                e.store_joined(e.joined(*x), at)
        return grads

    def two(i: str, both: bool, _: list[str]) -> list[str]:
        first, second = one(i, 0), one(i, 1) if both else ["zeroinitializer"] * tile.vecs
        to = e.element("%interleaved", e.half(i), row)
        for j, v in enumerate(vectors(e, tile)):
            if terms:
                words = attention_terms.beside(e, first[j], second[j])
                attention_terms.store(e, words, e.offset_by(to, v), KEYS // 2 * row)
            else:
                at = j * e.lanes
                a, b = e.joined(*first), e.joined(*second)
                e.store(e.interleaved(a, at, b, at), to, v)
        return []

    def clear(i: str) -> None:
        for to, term in product(("%weights", "%grads_to"), range(attention_terms.TERMS if terms else 1)):
            e.store_joined("zeroinitializer", e.offset_by(e.element(to, i, narrow), term * KEYS * narrow))

    e.row_pairs("%count", two, [])
    e.each("%end", clear, lo="%count")
    into = "ptr %weights, ptr %grads_to, ptr %interleaved, ptr %cap"
    return e.function(name, f"ptr %scores, ptr %grads, i64 %count, i64 %end, ptr %lse, ptr %delta, {into}")


def row_sums(e: AttentionEmitter, name: str, width: int) -> str:
    """``name(to, a, b, n, a_stride, b_stride)``: ``to[i] = sum_j a[i][j] * b[i][j]`` of ``width`` pairs of rows."""
    full_end = e.emit(f"and i64 %n, {-e.lanes}")
    left = e.emit(f"sub i64 %n, {full_end}")
    some = e.emit(f"icmp ne i64 {left}, 0")

    def group(first: str) -> None:
        tables = [e.element(t, first, 8) for t in ("%a", "%b")]
        pairs = [tuple(e.pointer(t, i) for t in tables) for i in range(e.lanes)]

        def step(j: str, totals: list[str], mask: str | None = None) -> list[str]:
            offsets = [e.times(j, e.stored.bytes if e.lanes > 1 else f"%{x}_stride") for x in "ab"]
            made = []
            for pair, t in zip(pairs, totals):
                a, b = (e.take(e.offset_by(p, at), mask) for p, at in zip(pair, offsets))
                made.append(e.fma(a, b, t))
            return made

        totals = e.loop("0", full_end, e.lanes, [(e.vector, "zeroinitializer")] * e.lanes, step)
        if e.lanes > 1:
            before = totals
            totals = e.guarded(some, lambda: step(full_end, before, e.below(left)), [(e.vector, t) for t in before])
        e.store(folded(e, totals), e.element("%to", first, e.bytes))

    e.each(str(width), group, step=e.lanes)
    return e.function(name, "ptr %to, ptr %a, ptr %b, i64 %n, i64 %a_stride, i64 %b_stride")


# --- dropout -------------------------------------------------------------------------------------------------------


def wide_product(e: AttentionEmitter, x: str, factor: int) -> tuple[str, str]:
    """High and low words of 32-bit products: those of even and of odd lanes, as the instruction has it."""
    n, words, long = e.lanes, f"<{e.lanes} x i32>", f"<{e.lanes // 2} x i64>"
    pairs = e.emit(f"bitcast {words} {x} to {long}")
    odd = e.emit(f"lshr {long} {pairs}, {e.integers(32, 'i64')}")
    even = e.emit(f"and {long} {pairs}, {e.integers(0xFFFFFFFF, 'i64')}")
    products = [e.emit(f"mul {long} {v}, {e.integers(factor, 'i64')}") for v in (even, odd)]
    a, b = (e.emit(f"bitcast {long} {v} to {words}") for v in products)
    orders = [[k + (n if k % 2 else 1) for k in range(n)], [k + (n - 1 if k % 2 else 0) for k in range(n)]]
    high, low = (
        e.emit(f"shufflevector {words} {a}, {words} {b}, <{n} x i32> <{', '.join(f'i32 {k}' for k in order)}>")
        for order in orders
    )
    return high, low


def draw_kept(e: AttentionEmitter, name: str, tile: Tile) -> str:
    """``name(to, blocks, first, count, key, least)``: which scores of a tile dropout keeps.

    Lane i draws from block ``blocks[i] + first`` of the stream of ``key`` on, a word for each key, ``count`` blocks of
    four; a score is kept if the upper 24 bits are ``least`` or more. ``to`` gets an i64 for each vector, a bit for each
    lane.
    """
    n, vecs = e.lanes, tile.width // e.lanes
    words, long = f"<{n} x i32>", f"<{n} x i64>"

    def splat(x: str, kind: str = "i32") -> str:
        one = e.emit(f"insertelement <{n} x {kind}> poison, {kind} {x}, i64 0")
        return e.emit(f"shufflevector <{n} x {kind}> {one}, <{n} x {kind}> poison, <{n} x i32> zeroinitializer")

    halves = [e.emit("trunc i64 %key to i32"), e.emit(f"trunc i64 {e.emit('lshr i64 %key, 32')} to i32")]
    rounds = [
        [splat(e.emit(f"add i32 {half}, {step * k & 0xFFFFFFFF}")) for half, step in zip(halves, WEYL)]
        for k in range(ROUNDS)
    ]
    least = splat(e.emit("trunc i64 %least to i32"))

    def four(i: str) -> None:
        at, to = splat(e.emit(f"add i64 {i}, %first"), "i64"), e.element("%to", i, 4 * vecs * 8)
        for v in range(vecs):
            starts = e.emit(f"load {long}, ptr {e.offset_by('%blocks', v * n * 8)}, align 8")
            block = e.emit(f"add {long} {starts}, {at}")
            high = e.emit(f"lshr {long} {block}, {e.integers(32, 'i64')}")
            c = [e.emit(f"trunc {long} {x} to {words}") for x in (block, high)] + ["zeroinitializer"] * 2
            for a, b in rounds:
                (h0, l0), (h1, l1) = wide_product(e, c[0], MULTIPLIERS[0]), wide_product(e, c[2], MULTIPLIERS[1])
                one, two = e.emit(f"xor {words} {c[1]}, {a}"), e.emit(f"xor {words} {c[3]}, {b}")
                c = [e.emit(f"xor {words} {one}, {h1}"), l1, e.emit(f"xor {words} {two}, {h0}"), l0]
            for k, word in enumerate(c):
                kept = e.emit(f"icmp uge {words} {e.emit(f'lshr {words} {word}, {e.integers(8)}')}, {least}")
                bits = e.emit(f"zext i{n} {e.emit(f'bitcast <{n} x i1> {kept} to i{n}')} to i64")
                e.emit_void(f"store i64 {bits}, ptr {e.offset_by(to, (k * vecs + v) * 8)}, align 8")

    e.each("%count", four)
    return e.function(name, "ptr %to, ptr %blocks, i64 %first, i64 %count, i64 %key, i64 %least")


def kept_lanes(e: AttentionEmitter, pointer: str, at: int) -> str:
    """A vector's mask of what :func:`draw_kept` wrote."""
    bits = e.emit(f"load i64, ptr {e.offset_by(pointer, at)}, align 8")
    return e.emit(f"bitcast i{e.lanes} {e.emit(f'trunc i64 {bits} to i{e.lanes}')} to <{e.lanes} x i1>")


def drop(e: AttentionEmitter, name: str, tile: Tile) -> str:
    """``name(scores, row, count, kept, scale)``: scores that are not kept become 0, the others are multiplied."""
    scale, vecs = e.broadcast("%scale"), tile.width // e.lanes

    def step(i: str) -> None:
        at, bits = e.element("%scores", i, "%row"), e.element("%kept", i, 8 * vecs)
        for k, v in enumerate(vectors(e, tile)):
            x = e.op("fmul", e.load(at, v), scale)
            mask = kept_lanes(e, bits, 8 * k)
            e.store(e.emit(f"select <{e.lanes} x i1> {mask}, {e.vector} {x}, {e.vector} zeroinitializer"), at, v)

    e.each("%count", step)
    return e.function(name, "ptr %scores, i64 %row, i64 %count, ptr %kept, ptr %scale")


def drop_words(e: AttentionEmitter, name: str, tile: Tile) -> str:
    """``name(weights, row, count, kept)``: :func:`drop` of weights of ``count`` keys in words of two, without a
    factor."""
    n, vecs, words = e.lanes, tile.width // e.lanes, f"<{e.lanes} x i32>"

    def two(i: str, both: bool, _: list[str]) -> list[str]:
        at, bits = e.element("%weights", e.half(i), "%row"), e.element("%kept", i, 8 * vecs)
        for k, v in enumerate(vectors(e, tile)):
            masks = [kept_lanes(e, bits, 8 * (k + vecs * j)) for j in range(1 + both)]
            halves = [
                e.emit(f"select <{n} x i1> {m}, {words} {e.integers(0xFFFF << 16 * j)}, {words} zeroinitializer")
                for j, m in enumerate(masks)
            ]
            mask = e.emit(f"or {words} {halves[0]}, {halves[1]}") if both else halves[0]
            old = e.emit(f"bitcast {e.vector} {e.load(at, v)} to {words}")
            e.store(e.floats(e.emit(f"and {words} {old}, {mask}")), at, v)
        return []

    e.row_pairs("%count", two, [])
    return e.function(name, "ptr %weights, i64 %row, i64 %count, ptr %kept")


def drop_narrow(e: AttentionEmitter, name: str, tile: Tile) -> str:
    """``name(weights, row, count, kept)``: :func:`drop` of rows of bfloat16, without a factor."""
    n = 2 * e.lanes
    full = f"<{n} x i16>"

    def step(i: str) -> None:
        at, bits = e.element("%weights", i, "%row"), e.element("%kept", i, 16)
        low, high = (e.emit(f"load i64, ptr {e.offset_by(bits, 8 * k)}, align 8") for k in range(2))
        both = e.emit(f"or i64 {low}, {e.emit(f'shl i64 {high}, {e.lanes}')}")
        mask = e.emit(f"bitcast i{n} {e.emit(f'trunc i64 {both} to i{n}')} to <{n} x i1>")
        old = e.emit(f"load {full}, ptr {at}, align 2")
        new = e.emit(f"select <{n} x i1> {mask}, {full} {old}, {full} zeroinitializer")
        e.emit_void(f"store {full} {new}, ptr {at}, align 2")

    e.each("%count", step)
    return e.function(name, "ptr %weights, i64 %row, i64 %count, ptr %kept")


# --- keys in lanes -------------------------------------------------------------------------------------------------


class KeyLanes:
    """Scores with a row for each query and keys in the lanes, in panels as wide as a tile (attention_rows.pyx)."""

    def __init__(self, e: AttentionEmitter, tile: Tile) -> None:
        self.e, self.tile, self.ids = e, tile, f"<{e.lanes} x i32>"

    def each_row(self, body: Callable[[str, str], None]) -> None:
        """``body(row, offset of its first panel)``."""
        self.e.each("%rows", lambda i: body(i, self.e.emit(f"mul i64 {i}, {self.tile.width * self.e.bytes}")))

    def walk(self, row: str, at: str, carried: list[str], step: Callable[[str, int, str, str], str]) -> list[str]:
        """``step(offset, vector, seen, carried)`` of each vector of a row's scores, in order; ``seen`` is a mask."""
        e = self.e
        last = e.emit(f"load i32, ptr {e.element('%last', row, 4)}, align 4")

        def panel(i: str, now: list[str]) -> list[str]:
            first = e.emit(f"mul i32 {e.emit(f'trunc i64 {i} to i32')}, {self.tile.width}")
            one = e.emit(f"insertelement {self.ids} poison, i32 {e.emit(f'sub i32 {last}, {first}')}, i64 0")
            ends = e.emit(f"shufflevector {self.ids} {one}, {self.ids} poison, {self.ids} zeroinitializer")
            to, made = e.emit(f"add i64 {at}, {e.emit(f'mul i64 {i}, %panel')}"), []
            for k, (v, x) in enumerate(zip(vectors(e, self.tile), now)):
                places = ", ".join(f"i32 {k * e.lanes + j}" for j in range(e.lanes))
                seen = e.emit(f"icmp sle {self.ids} <{places}>, {ends}")
                made.append(step(to, v, seen, x))
            return made

        return e.loop("0", "%panels", 1, [(e.vector, x) for x in carried], panel)

    def where(self, seen: str, x: str, other: str) -> str:
        e = self.e
        return e.emit(f"select <{e.lanes} x i1> {seen}, {e.vector} {x}, {e.vector} {other}")


def softmax_rows(e: AttentionEmitter, name: str, tile: Tile) -> str:
    """``name(scores, panel, panels, rows, last, most, total)``: rows of scores become weights whose sum is 1, or 0
    where nothing is seen; keys beyond ``last`` (i32) of a row are not. Its maximum and sum are written, too."""
    lanes = KeyLanes(e, tile)
    never, none = e.constant(NEVER), "zeroinitializer"

    def row(i: str, at: str) -> None:
        def top(to: str, v: int, seen: str, most: str) -> str:
            return e.larger(lanes.where(seen, e.load(e.offset_by("%scores", to), v), never), most)

        tops = lanes.walk(i, at, [never] * tile.vecs, top)
        most = tops[0]
        for x in tops[1:]:
            most = e.larger(x, most)
        most = e.splat(e.across("max", most))
        shift = e.finite(most)

        def weight(to: str, v: int, seen: str, total: str) -> str:
            p = e.offset_by("%scores", to)
            w = e.exp2(e.op("fsub", lanes.where(seen, e.load(p, v), never), shift))
            e.store(w, p, v)
            return e.op("fadd", total, w)

        totals = lanes.walk(i, at, [none] * tile.vecs, weight)
        total = totals[0]
        for x in totals[1:]:
            total = e.op("fadd", total, x)
        sum = e.across("fadd", total)
        total = e.splat(sum)
        empty = e.emit(f"fcmp oeq {e.vector} {total}, zeroinitializer")
        factor = e.op("fdiv", e.constant(1.0), lanes.where(empty, e.constant(1.0), total))

        def divide(panel: str, _: list[str]) -> list[str]:
            p = e.offset_by("%scores", e.emit(f"add i64 {at}, {e.emit(f'mul i64 {panel}, %panel')}"))
            for v in vectors(e, tile):
                e.store(e.op("fmul", e.load(p, v), factor), p, v)
            return []

        e.loop("0", "%panels", 1, [], divide)
        one = e.emit(f"extractelement {e.vector} {most}, i64 0")
        for x, to in ((one, "%most"), (sum, "%total")):
            e.emit_void(f"store {e.scalar} {x}, ptr {e.element(to, i, e.bytes)}, align {e.bytes}")

    lanes.each_row(row)
    args = "ptr %scores, i64 %panel, i64 %panels, i64 %rows, ptr %last"
    return e.function(name, f"{args}, ptr %most, ptr %total")


def softmax_gradient_rows(e: AttentionEmitter, name: str, tile: Tile, capped: bool) -> str:
    """``name(scores, grads, panel, panels, rows, last, lse, delta, cap)``: scores become weights, gradients of weights
    those of scores, as in :func:`softmax_gradient`; both are 0 of keys beyond ``last``."""
    lanes = KeyLanes(e, tile)
    slopes = Slopes(e, capped)
    none = "zeroinitializer"

    def row(i: str, at: str) -> None:
        shift = e.finite(e.broadcast(e.element("%lse", i, e.bytes)))
        delta = e.broadcast(e.element("%delta", i, e.bytes))

        def step(to: str, v: int, seen: str, _: str) -> str:
            p, d = e.offset_by("%scores", to), e.offset_by("%grads", to)
            s = e.load(p, v)
            w = lanes.where(seen, e.exp2(e.op("fsub", s, shift)), none)
            e.store(w, p, v)
            slope = slopes.times(e.op("fmul", w, e.op("fsub", e.load(d, v), delta)), s)
            e.store(lanes.where(seen, slope, none), d, v)
            return none

        lanes.walk(i, at, [none] * tile.vecs, step)

    lanes.each_row(row)
    args = "ptr %scores, ptr %grads, i64 %panel, i64 %panels, i64 %rows, ptr %last"
    return e.function(name, f"{args}, ptr %lse, ptr %delta, ptr %cap")


# --- one query -----------------------------------------------------------------------------------------------------


def dots(e: AttentionEmitter, name: str) -> str:
    """``name(to, q, keys, key_row, count, n)``: products of a packed query with rows of keys, ``lanes`` keys at once.

    ``q`` is padded with zeros, ``to`` has room for whole vectors.
    """
    last = e.emit("add i64 %count, -1")

    def group(first: str) -> None:
        rows = []
        for i in range(e.lanes):
            at = e.emit(f"add i64 {first}, {i}")
            inside = e.emit(f"icmp slt i64 {at}, {last}")
            rows.append(e.element("%keys", e.emit(f"select i1 {inside}, i64 {at}, i64 {last}"), "%key_row"))

        def step(j: str, totals: list[str], mask: str | None = None) -> list[str]:
            q, at = e.load(e.element("%q", j, e.bytes)), e.times(j, e.stored.bytes)
            return [e.fma(q, e.take(e.offset_by(p, at), mask), t) for p, t in zip(rows, totals)]

        full_end = e.emit(f"and i64 %n, {-e.lanes}")
        totals = e.loop("0", full_end, e.lanes, [(e.vector, "zeroinitializer")] * e.lanes, step)
        left = e.emit(f"sub i64 %n, {full_end}")
        some = e.emit(f"icmp ne i64 {left}, 0")
        totals = e.guarded(some, lambda: step(full_end, totals, e.below(left)), [(e.vector, t) for t in totals])
        e.store(folded(e, totals), e.element("%to", first, e.bytes))

    e.each("%count", group, step=e.lanes)
    return e.function(name, "ptr %to, ptr %q, ptr %keys, i64 %key_row, i64 %count, i64 %n")


def folded(e: AttentionEmitter, totals: list[str]) -> str:
    """A vector of the sums of as many vectors as it has lanes: halves of two, added, become one, until one is left."""
    while len(totals) > 1:
        half = len(totals) // 2
        totals = [fold(e, totals[i], totals[i + half], half) for i in range(half)]
    return totals[0]


def fold(e: AttentionEmitter, a: str, b: str, half: int) -> str:
    """Sums of lanes ``half`` apart: of ``a`` where the lane has that bit clear, of ``b`` where it is set."""
    n = e.lanes
    low = [j if not j & half else n + j - half for j in range(n)]
    high = [j + half if not j & half else n + j for j in range(n)]
    parts = []
    for order in (low, high):
        lanes = ", ".join(f"i32 {j}" for j in order)
        parts.append(e.emit(f"shufflevector {e.vector} {a}, {e.vector} {b}, <{n} x i32> <{lanes}>"))
    return e.op("fadd", *parts)


def online_softmax_row(e: AttentionEmitter, name: str) -> str:
    """``name(scores, count, state)``: as :func:`online_softmax` for one query; ``state`` is (maximum, sum, factor)."""

    def end(i: str, mask: str | None) -> str:
        s = e.load(e.element("%scores", i, e.bytes))
        if mask is None:
            return s
        return e.emit(f"select <{e.lanes} x i1> {mask}, {e.vector} {s}, {e.vector} {e.constant(NEVER)}")

    full_end = e.emit(f"and i64 %count, {-e.lanes}")
    left = e.emit(f"sub i64 %count, {full_end}")
    some = e.emit(f"icmp ne i64 {left}, 0")

    def walk(first: str, step: Callable[[str, str, str | None], str]) -> str:
        now = e.loop("0", full_end, e.lanes, [(e.vector, first)], lambda i, x: [step(i, x[0], None)])[0]
        return e.guarded(some, lambda: [step(full_end, now, e.below(left))], [(e.vector, now)])[0]

    old = e.broadcast("%state")
    most = walk(old, lambda i, x, mask: e.larger(end(i, mask), x))
    most = e.splat(e.across("max", most))
    shift = e.finite(most)
    factor = e.exp2(e.op("fsub", old, shift))

    def weight(i: str, total: str, mask: str | None) -> str:
        p = e.exp2(e.op("fsub", end(i, mask), shift))
        e.store(p, e.element("%scores", i, e.bytes))
        return e.op("fadd", total, p)

    total = e.across("fadd", walk("zeroinitializer", weight))
    before = e.emit(f"load {e.scalar}, ptr {e.offset_by('%state', e.bytes)}, align {e.bytes}")
    one = e.emit(f"extractelement {e.vector} {factor}, i64 0")
    total = e.emit(f"fadd {e.scalar} {total}, {e.emit(f'fmul {e.scalar} {before}, {one}')}")
    top = e.emit(f"extractelement {e.vector} {most}, i64 0")
    for i, x in enumerate((top, total, one)):
        e.emit_void(f"store {e.scalar} {x}, ptr {e.offset_by('%state', i * e.bytes)}, align {e.bytes}")
    return e.function(name, "ptr %scores, i64 %count, ptr %state")


def weighted_sum(e: AttentionEmitter, name: str) -> str:
    """``name(to, values, value_row, weights, count, n, state)``: ``to = to * state[2] + weights @ values``."""
    factor = e.broadcast("%state", 2 * e.bytes)

    def columns(j: str, vecs: int, mask: str | None) -> None:
        to = e.element("%to", j, e.bytes)

        def step(i: str, totals: list[str]) -> list[str]:
            weight = e.broadcast(e.element("%weights", i, e.bytes))
            row = e.offset_by(e.element("%values", i, "%value_row"), e.times(j, e.stored.bytes))
            return [
                e.fma(weight, e.take(e.offset_by(row, v * e.lanes * e.stored.bytes), mask), t)
                for v, t in enumerate(totals)
            ]

        for v, x in enumerate(e.loop("0", "%count", 1, [(e.vector, "zeroinitializer")] * vecs, step)):
            before = e.load(to, v * e.vector_bytes)
            e.store(e.fma(before, factor, x), to, v * e.vector_bytes)

    wide = 4 * e.lanes
    four = e.emit(f"and i64 %n, {-wide}")
    full_end = e.emit(f"and i64 %n, {-e.lanes}")
    e.each(four, lambda j: columns(j, 4, None), step=wide)
    e.each(full_end, lambda j: columns(j, 1, None), lo=four, step=e.lanes)
    e.rest("%n", full_end, lambda mask: columns(full_end, 1, mask))
    return e.function(name, "ptr %to, ptr %values, i64 %value_row, ptr %weights, i64 %count, i64 %n, ptr %state")


# --- what a driver calls -------------------------------------------------------------------------------------------


class Library:
    """Functions of one module of text, under construction."""

    def __init__(self, type: ScalarType, target: Target) -> None:
        self.type = type
        self.tile = tile_of(target, type)
        self.module = Module(target)
        self.texts: dict[str, str] = {}

    def enter(
        self, name: str, make: Callable[..., str], *args: object, stored: ScalarType | None = None, lanes: int = 0
    ) -> None:
        self.texts[name] = make(AttentionEmitter(self.module, self.type, lanes or self.tile.lanes, stored), name, *args)

    def enter_both(self, name: str, make: Callable[..., str], *args: object, stored: ScalarType) -> None:
        """A version for elements that are neighbours, and ``name_any`` for any strides."""
        self.enter(name, make, *args, stored=stored)
        self.enter(f"{name}_any", make, *args, stored=stored, lanes=1)

    def load(self) -> tuple[dict[str, int], object]:
        self.module.functions += self.texts.values()
        library = jit.load(self.module.text(), list(self.texts))
        return {name: library.address(name) for name in self.texts}, library


@functools.cache
def shared(target: Target, type: ScalarType) -> tuple[dict[str, int], object]:
    """Return the functions that forward and gradient share, on elements of the compute type."""
    library = Library(type, target)
    library.enter("causal", causal, library.tile)
    for rows in range(1, library.tile.rows + 1):
        name = f"gemm_scaled_{rows}"
        library.texts[name] = gemm_kernel.gemm_scaled(library.module, type, library.tile, rows, name)
    for rows, vecs in product(gemm_kernel.sizes_of(library.tile), (1, library.tile.vecs)):
        name = f"scores_{rows}_{vecs}"
        library.texts[name] = gemm_kernel.gemm(library.module, type, library.tile, rows, vecs, name)
    return library.load()


@functools.cache
def forward(target: Target, type: ScalarType) -> tuple[dict[str, int], object]:
    """Return the compiled kernels of the forward pass, as addresses by name, and what keeps them loaded."""
    library = Library(type, target)
    name, tile = "scores_top", library.tile
    library.texts[name] = gemm_kernel.gemm(library.module, type, tile, tile.rows, tile.vecs, name, top=True)
    library.enter("online_softmax", online_softmax, tile)
    library.enter("online_softmax_row", online_softmax_row)
    library.enter("softmax_rows", softmax_rows, tile)
    return library.load()


@functools.cache
def capping(target: Target, type: ScalarType) -> tuple[dict[str, int], object]:
    library = Library(type, target)
    library.enter("cap", cap, library.tile)
    return library.load()


@functools.cache
def gradient(target: Target, type: ScalarType, capped: bool) -> tuple[dict[str, int], object]:
    """Return the compiled kernels of the backward pass, as addresses by name, and what keeps them loaded."""
    library = Library(type, target)
    a_row = STRIPS * library.tile.width * type.bytes
    for rows, vecs in product(gemm_kernel.sizes_of(library.tile), (1, library.tile.vecs)):
        name = f"gemm_accumulate_{rows}_{vecs}"
        library.texts[name] = gemm_kernel.gemm_accumulate(library.module, type, library.tile, rows, vecs, a_row, name)
    library.enter("softmax_gradient", softmax_gradient, library.tile, capped)
    library.enter("softmax_gradient_rows", softmax_gradient_rows, library.tile, capped)
    return library.load()


@functools.cache
def io_functions(target: Target, type: ScalarType, stored: ScalarType) -> tuple[dict[str, int], object]:
    """Return the functions that read and write stored elements."""
    library = Library(type, target)
    library.enter_both("pack", pack, library.tile.width, stored=stored)
    library.enter_both("copy", copy, stored=stored)
    library.enter("unpack", unpack, library.tile.width, stored=stored)
    library.enter("store_rows", store_rows, stored=stored)
    library.enter_both("row_sums", row_sums, library.tile.width, stored=stored)
    library.enter("dots", dots, stored=stored)
    library.enter("weighted_sum", weighted_sum, stored=stored)
    return library.load()


@functools.cache
def byte_functions(target: Target, type: ScalarType) -> tuple[dict[str, int], object]:
    """Return the functions that read rows of keys and values that are stored as bytes."""
    library = Library(type, target)
    library.enter_both("copy", copy, stored=U8)
    library.enter("dots", dots, stored=U8)
    library.enter("weighted_sum", weighted_sum, stored=U8)
    return library.load()


@functools.cache
def mask_functions(target: Target, type: ScalarType, stored: ScalarType) -> tuple[dict[str, int], object]:
    library = Library(type, target)
    library.enter_both("pack_mask", pack, library.tile.width, stored=stored)
    library.enter_both("copy_mask", copy, stored=stored)
    library.enter("masked", masked, library.tile, stored is not BOOL)
    library.enter("hide", hide, library.tile)
    return library.load()


@functools.cache
def pair_functions(target: Target, backward: bool, capped: bool) -> tuple[dict[str, int], object]:
    """Products of bfloat16, two neighbours along the sum at a time."""
    library = Library(F32, target)
    tile, module = library.tile, library.module
    # What is moved is bits: an element of 32 stands for two.
    library.enter("pack_pairs", pack, tile.width, False)
    library.enter("copy_pairs", copy, False)
    library.enter("interleave", interleave, stored=BF16)
    amx = tile_registers.permitted(target)
    if amx:
        library.enter("amx_begin", attention_amx.begin)
        library.enter("amx_end", attention_amx.end)
        library.enter("amx_scores", attention_amx.scores, tile)
        library.enter("amx_scaled", attention_amx.accumulate, tile, True)
        library.enter("amx_accumulate", attention_amx.accumulate, tile, False)
        library.enter("transpose_pairs", attention_amx.transpose_pairs, stored=BF16)
    for rows in range(1, 0 if amx else tile.rows + 1):
        name = f"pair_gemm_scaled_{rows}"
        library.texts[name] = gemm_kernel.gemm_scaled(module, F32, tile, rows, name, pairs=True)
    for rows, vecs in product(() if amx else gemm_kernel.sizes_of(tile), (1, tile.vecs)):
        name = f"pairs_{rows}_{vecs}"
        library.texts[name] = gemm_kernel.gemm(module, F32, tile, rows, vecs, name, pairs=True)
        if backward:
            name, a_row = f"pair_gemm_accumulate_{rows}_{vecs}", STRIPS * tile.width * 2
            library.texts[name] = gemm_kernel.gemm_accumulate(module, F32, tile, rows, vecs, a_row, name, pairs=True)
    if backward:
        library.enter("softmax_gradient_pairs", softmax_gradient_pairs, tile, capped)
    else:
        library.enter("online_softmax_pairs", online_softmax, tile, True)
        if not amx:
            name = "pairs_top"
            library.texts[name] = gemm_kernel.gemm(module, F32, tile, tile.rows, tile.vecs, name, top=True, pairs=True)
    return library.load()


@functools.cache
def term_functions(target: Target, backward: bool, capped: bool) -> tuple[dict[str, int], object]:
    """Products of float32, whose operands are three terms of bfloat16 each."""
    library = Library(F32, target)
    tile = library.tile
    library.enter("amx_begin", attention_amx.begin)
    library.enter("amx_end", attention_amx.end)
    library.enter("term_scores", attention_amx.scores, tile, True)
    library.enter("term_scaled", attention_amx.accumulate, tile, True, True)
    library.enter("term_accumulate", attention_amx.accumulate, tile, False, True)
    for make in (attention_terms.copy_terms, attention_terms.transpose_terms, attention_terms.interleave_terms):
        library.enter(make.__name__, make)
    library.enter("pack_terms", attention_terms.pack_terms, tile.width)
    library.enter("in_range", attention_terms.in_range)
    if backward:
        library.enter("softmax_gradient_terms", softmax_gradient_pairs, tile, capped, True)
    else:
        library.enter("online_softmax_terms", online_softmax_terms, tile, False)
        library.enter("softmax_beside", online_softmax_terms, tile, True)
    return library.load()


@functools.cache
def dropout_functions(target: Target, type: ScalarType, pairs: bool) -> tuple[dict[str, int], object]:
    library = Library(type, target)
    library.enter("draw_kept", draw_kept, library.tile)
    library.enter("drop", drop, library.tile)
    if pairs:
        library.enter("drop_words", drop_words, library.tile)
        library.enter("drop_narrow", drop_narrow, library.tile)
    return library.load()


def multiplies_terms(stored: ScalarType) -> bool:
    """Return whether such elements are multiplied as three terms of bfloat16, where sizes and numbers let them."""
    return stored is F32 and tile_registers.splits_f32(host())


def multiplies_pairs(stored: ScalarType) -> bool:
    """Return whether the processor multiplies such elements itself."""
    target = host()
    return stored is BF16 and target.avx512 and "avx512bf16" in target.has


def functions(
    stored: ScalarType, mask: ScalarType | None, backward: bool, dropout: bool = False, capped: bool = False
) -> tuple[dict[str, int], Tile, object]:
    """Addresses of the functions for operands and a mask of such types, how tiles are made, and what keeps the code."""
    target, type = host(), F64 if stored is F64 else F32
    parts = [
        shared(target, type),
        gradient(target, type, capped) if backward else forward(target, type),
        io_functions(target, type, stored),
    ]
    if mask is not None:
        parts.append(mask_functions(target, type, mask))
    pairs = multiplies_pairs(stored)
    if pairs:
        parts.append(pair_functions(target, backward, capped and backward))
    terms = multiplies_terms(stored)
    if terms:
        parts.append(term_functions(target, backward, capped and backward))
    if capped:
        parts.append(capping(target, type))
    if dropout:
        parts.append(dropout_functions(target, type, pairs or terms))
    addresses = {name: address for table, _ in parts for name, address in table.items()}
    return addresses, tile_of(target, type), [library for _, library in parts]
