"""Products of bfloat16 for attention by tile registers (Intel's AMX), as LLVM text; attention.pyx calls them.

A tile register holds 16 rows of 64 bytes. Two by two of them are the sums of 32 rows and 32 columns, and a step of the
sum is 16 words: 32 numbers of a row of the left operand, and 16 pairs of neighbours of each column of the right one.
Operands are in the layouts of pairs (attention_kernels.py), but for the left one of weighted sums, which is transposed.
Blocks are computed whole: buffers have room for 32 rows and steps of 16 words, and what is there beyond the end of a
sum is 0 in one operand and a number in the other.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from umiak.backends.cpu.attention_emitter import AttentionEmitter, vectors
from umiak.backends.cpu.gemm_kernel import Stride, Tile

TILE_ROWS, ROW_BYTES = 16, 64  # of a tile register
BLOCK, STEP = 2 * TILE_ROWS, ROW_BYTES // 4  # rows of a block of sums; words of a step
# Palette 1: bytes of a row and rows of each of eight registers.
CONFIGURATION = struct.pack("<BB14x8H16x8B8x", 1, 0, *[ROW_BYTES] * 8, *[TILE_ROWS] * 8)


def begin(e: AttentionEmitter, name: str) -> str:
    """``name()``: say what registers hold, until :func:`end`."""
    kind = f"<{len(CONFIGURATION)} x i8>"
    at = e.emit(f"alloca {kind}, align {ROW_BYTES}")
    values = ", ".join(f"i8 {x}" for x in CONFIGURATION)
    e.emit_void(f"store {kind} <{values}>, ptr {at}, align {ROW_BYTES}")
    e.call("void", "llvm.x86.ldtilecfg", [("ptr", at)])
    return e.function(name, "")


def end(e: AttentionEmitter, name: str) -> str:
    """``name()``: switches between threads need not save the registers any longer."""
    e.call("void", "llvm.x86.tilerelease", [])
    return e.function(name, "")


ACCUMULATE = (
    "ptr %c, ptr %a, i64 %a_row, ptr %b, i64 %b_row, i64 %k, i64 %rows, ptr %factor, i64 %a_plane, i64 %b_plane"
)
# Products of terms (left, right; attention_terms.py) in an order that loads few tiles: those of about 2**-24 are left.
PRODUCTS = ((0, 0), (0, 1), (1, 1), (1, 0), (2, 0), (0, 2))


def block(
    e: AttentionEmitter, k: str, left: Callable[[str], str], left_row: Stride, right: str, right_row: Stride,
    to: str, to_row: Stride, planes: tuple[Stride, Stride] | None = None, beside: Callable[[], None] | None = None,
) -> None:  # fmt: skip
    """The sums of a block over ``k`` words. ``left(at)`` is where rows of the left operand have word ``at``. Terms of
    the operands are so many bytes apart, if they have several. ``beside`` emits what is computed in vectors meanwhile,
    once for each product of terms."""
    for i in range(4):
        e.call("void", "llvm.x86.tilezero", [("i8", str(i))])

    def load(register: int, pointer: str, row: Stride) -> None:
        e.call("void", "llvm.x86.tileloadd64", [("i8", str(register)), ("ptr", pointer), ("i64", str(row))])

    def step(at: str) -> None:
        a, b = left(at), e.element(right, at, right_row)
        before = (-1, -1)
        for term in PRODUCTS[: 1 if planes is None else None]:
            x, y = (p if planes is None else e.offset_by(p, e.times(planes[i], term[i])) for i, p in enumerate((a, b)))
            if term[0] != before[0]:
                load(4, x, left_row)
            if term[1] != before[1]:
                load(6, y, right_row)
                load(7, e.offset_by(y, ROW_BYTES), right_row)
            if term[0] != before[0]:
                load(5, e.offset_by(x, e.times(left_row, TILE_ROWS)), left_row)
            before = term
            for i in range(4):
                registers = (i, 4 + i // 2, 6 + i % 2)
                e.call("void", "llvm.x86.tdpbf16ps", [("i8", str(r)) for r in registers])
            if beside is not None:
                beside()

    e.each(k, step, step=STEP)
    for i in range(4):
        at = e.offset_by(e.offset_by(to, e.times(to_row, TILE_ROWS * (i // 2))), ROW_BYTES * (i % 2))
        e.call("void", "llvm.x86.tilestored64", [("i8", str(i)), ("ptr", at), ("i64", str(to_row))])


def scores(e: AttentionEmitter, name: str, tile: Tile, terms: bool = False) -> str:
    """``name(c, c_row, a, a_panel, b, k, rows, free, top, factor, a_plane, b_plane)``: c = a b * factor, as ``gemm`` of
    pairs. The last two are of operands of several ``terms``, which have no factor.

    The first ``free`` rows, a multiple of 4, raise ``top``.
    """
    row = tile.width * e.bytes

    def products(first: str) -> None:
        a = e.element("%a", first, row)

        def left(at: str) -> str:
            panel = e.times(e.emit(f"udiv i64 {at}, {tile.width}"), "%a_panel")
            within = e.times(e.emit(f"urem i64 {at}, {tile.width}"), e.bytes)
            return e.offset_by(e.offset_by(a, panel), within)

        planes = ("%a_plane", "%b_plane") if terms else None
        block(e, "%k", left, row, "%b", row, e.element("%c", first, "%c_row"), "%c_row", planes)

    e.each("%rows", products, step=BLOCK)
    factor = "" if terms else e.broadcast("%factor")

    def scaled(i: str) -> list[str]:
        at = e.element("%c", i, "%c_row")
        if terms:
            return [e.load(at, v) for v in vectors(e, tile)]
        made = [e.op("fmul", e.load(at, v), factor) for v in vectors(e, tile)]
        for v, x in zip(vectors(e, tile), made):
            e.store(x, at, v)
        return made

    def four(i: str, most: list[str]) -> list[str]:
        rows = [scaled(e.emit(f"add i64 {i}, {j}")) for j in range(4)]
        return [e.larger(e.larger(e.larger(*x[:2]), e.larger(*x[2:])), m) for x, m in zip(zip(*rows), most)]

    most = [(e.vector, e.load("%top", v)) for v in vectors(e, tile)]
    for v, m in zip(vectors(e, tile), e.loop("0", "%free", 4, most, four)):
        e.store(m, "%top", v)

    def rest(i: str) -> None:
        scaled(i)

    if not terms:
        e.each("%rows", rest, lo="%free")
    kinds = "ptr %c, i64 %c_row, ptr %a, i64 %a_panel, ptr %b, i64 %k, i64 %rows, i64 %free"
    return e.function(name, f"{kinds}, ptr %top, ptr %factor, i64 %a_plane, i64 %b_plane")


class Beside:
    """``steps(first, end)`` for parts of ``count``, spread over all products of terms that :func:`accumulate` takes."""

    def __init__(self, e: AttentionEmitter, count: str, steps: Callable[[str, str], None]) -> None:
        self.e, self.count, self.steps = e, count, steps
        self.done, self.due = (e.emit("alloca i64, align 8") for _ in range(2))
        for x in (self.done, self.due):
            e.emit_void(f"store i64 0, ptr {x}, align 8")
        blocks = e.emit(f"lshr i64 {e.emit(f'add i64 %rows, {BLOCK - 1}')}, {BLOCK.bit_length() - 1}")
        products = e.emit(f"mul i64 {blocks}, {e.emit(f'mul i64 %k, {len(PRODUCTS)}')}")
        wanted = e.emit(f"mul i64 {count}, {STEP << 16}")
        self.each = e.emit(f"udiv i64 {e.emit(f'add i64 {wanted}, {products}')}, {products}")

    def __call__(self) -> None:
        e = self.e
        due = e.emit(f"add i64 {e.emit(f'load i64, ptr {self.due}, align 8')}, {self.each}")
        e.emit_void(f"store i64 {due}, ptr {self.due}, align 8")
        self._until(e.call("i64", "llvm.smin.i64", [("i64", e.emit(f"lshr i64 {due}, 16")), ("i64", self.count)]))

    def _until(self, end: str) -> None:
        e = self.e
        self.steps(e.emit(f"load i64, ptr {self.done}, align 8"), end)
        e.emit_void(f"store i64 {end}, ptr {self.done}, align 8")

    def rest(self) -> None:
        self._until(self.count)


def accumulate(
    e: AttentionEmitter, name: str, tile: Tile, scaled: bool, terms: bool = False, beside: Beside | None = None
) -> str:
    """``name(c, a, a_row, b, b_row, k, rows, factor, a_plane, b_plane)``: c = c * factor + a b, with rows of c as long
    as a strip. The last two are of operands of several ``terms``. With ``beside`` a function has this and more.

    ``factor`` points to one number per column; without ``scaled`` it is not read, and stands for 1.
    """
    row = tile.width * e.bytes
    sums = e.emit(f"alloca [{BLOCK * row} x i8], align {ROW_BYTES}")
    factor = [e.load("%factor", v) for v in vectors(e, tile)] if scaled else []

    def products(first: str) -> None:
        a, c = e.element("%a", first, "%a_row"), e.element("%c", first, row)
        planes = ("%a_plane", "%b_plane") if terms else None
        block(e, "%k", lambda at: e.element(a, at, e.bytes), "%a_row", "%b", "%b_row", sums, row, planes, beside)
        left = e.emit(f"sub i64 %rows, {first}")

        def add(i: str) -> None:
            to, new = e.element(c, i, row), e.element(sums, i, row)
            for j, v in enumerate(vectors(e, tile)):
                old, more = e.load(to, v), e.load(new, v)
                # What is there joins last: in front, it would be rounded with every step.
                e.store(e.fma(old, factor[j], more) if scaled else e.op("fadd", old, more), to, v)

        e.each(e.call("i64", "llvm.smin.i64", [("i64", left), ("i64", str(BLOCK))]), add)

    e.each("%rows", products, step=BLOCK)
    return "" if beside else e.function(name, ACCUMULATE)


def transpose_pairs(e: AttentionEmitter, name: str) -> str:
    """``name(to, to_row, from, from_row, rows, n)``: a row of ``to`` is a column of ``from``, with two neighbours in a
    word. As many rows as a block of columns, and steps of 16 words, are written whole, with zeros beyond the rows."""
    last = e.emit("add i64 %rows, -1")
    words = f"<{e.lanes} x i32>"

    def pairs(first: str) -> None:
        at = e.element("%to", e.half(first), e.bytes)

        def columns(j: str, mask: str | None) -> None:
            def part(row: int) -> str:
                index = e.emit(f"add i64 {first}, {row}")
                inside = e.emit(f"icmp sle i64 {index}, {last}")
                index = e.emit(f"select i1 {inside}, i64 {index}, i64 {last}")
                got = e.words(e.element(e.element("%from", index, "%from_row"), j, e.stored.bytes), mask)
                return e.emit(f"select i1 {inside}, {words} {got}, {words} zeroinitializer")

            made = []
            for p in range(e.lanes):
                low, high = part(2 * p), e.higher(part(2 * p + 1))
                made.append(e.floats(e.emit(f"or {words} {low}, {high}")))
            to = e.element(at, j, "%to_row")
            for i, x in enumerate(e.transpose(made)):
                e.store(x, e.element(to, str(i), "%to_row"))

        e.blocks("%n", columns)

    e.each("%rows", pairs, step=2 * e.lanes)
    return e.function(name, "ptr %to, i64 %to_row, ptr %from, i64 %from_row, i64 %rows, i64 %n")
