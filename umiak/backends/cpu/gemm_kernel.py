"""GEMM micro-kernels as LLVM text: a tile of results stays in registers while k goes by.

``c[i, j] = start + sum_p a[i, p] * b[p, j]`` for ``rows`` of c and ``vecs`` vectors of columns. Each step of p loads
the vectors of b, spreads one element of a per row over a vector, and adds ``rows * vecs`` products. All strides but
the one along j, which is one element, are free: a number of bytes, or an operand of the function.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from umiak.compiler.loop.types import F32, F64, ScalarType
from umiak.compiler.render.target import Target
from umiak.compiler.render.text import Module, Writer, literal, suffix


class Tile(NamedTuple):
    """A register tile: ``rows`` times ``vecs`` vectors of ``lanes`` elements."""

    lanes: int
    vecs: int
    rows: int

    @property
    def width(self) -> int:
        """Columns."""
        return self.lanes * self.vecs


def tile_of(target: Target, type: ScalarType) -> Tile:
    """The largest tile that leaves registers for b and an element of a.

    ``rows`` is a multiple of ``lanes`` or not above it: a panel of rows is made of transposed blocks of ``lanes``.
    """
    lanes = target.vector_bits // type.bits
    if target.vector_bits == 512:
        return Tile(lanes, 2, 14 if lanes == 16 else 8)
    if target.vector_bits == 256:
        return Tile(lanes, 2, 6 if lanes == 8 else 4)
    return Tile(lanes, 2, 4 if target.x86 else 12)


Stride = int | str  # bytes, known or in an operand


@dataclass(frozen=True)
class Matrix:
    """A matrix in memory: a pointer, and bytes from row to row and from step to step of k (for c: unused)."""

    pointer: str
    row: Stride
    step: Stride = 0


class Emitter(Writer):
    """Text of one function on vectors of one type."""

    def __init__(self, module: Module, type: ScalarType, lanes: int) -> None:
        super().__init__(module)
        self.type = type
        self.lanes = lanes
        self.bytes = type.bytes
        self.vector_bytes = type.bytes * lanes
        self.scalar = {F32: "float", F64: "double"}[type]
        self.vector = f"<{lanes} x {self.scalar}>"

    # Addresses
    def offset_by(self, pointer: str, offset: Stride) -> str:
        return pointer if offset == 0 else self.emit(f"getelementptr i8, ptr {pointer}, i64 {offset}")

    def times(self, a: Stride, b: Stride) -> Stride:
        if isinstance(a, int) and isinstance(b, int):
            return a * b
        return self.emit(f"mul i64 {a}, {b}")

    def plus(self, a: Stride, b: Stride) -> Stride:
        if isinstance(a, int) and isinstance(b, int):
            return a + b
        return self.emit(f"add i64 {a}, {b}")

    def rows_of(self, pointer: str, stride: Stride, count: int) -> list[str]:
        """Pointers to ``count`` rows."""
        if isinstance(stride, int):
            return [self.offset_by(pointer, stride * i) for i in range(count)]
        pointers = [pointer]
        for _ in range(count - 1):
            pointers.append(self.offset_by(pointers[-1], stride))
        return pointers

    # Vectors
    def constant(self, x: float) -> str:
        """A number in all lanes."""
        near = struct.unpack("f", struct.pack("f", x))[0] if self.type is F32 else x
        return f"splat ({self.scalar} {literal(near, self.type)})"

    def load(self, pointer: str, offset: Stride = 0) -> str:
        return self.emit(f"load {self.vector}, ptr {self.offset_by(pointer, offset)}, align {self.bytes}")

    def store(self, value: str, pointer: str, offset: Stride = 0) -> None:
        self.emit_void(f"store {self.vector} {value}, ptr {self.offset_by(pointer, offset)}, align {self.bytes}")

    def splat(self, x: str) -> str:
        """A scalar in all lanes."""
        one = self.emit(f"insertelement {self.vector} poison, {self.scalar} {x}, i64 0")
        return self.emit(
            f"shufflevector {self.vector} {one}, {self.vector} poison, <{self.lanes} x i32> zeroinitializer"
        )

    def broadcast(self, pointer: str, offset: Stride = 0) -> str:
        """An element of memory in all lanes."""
        return self.splat(self.emit(f"load {self.scalar}, ptr {self.offset_by(pointer, offset)}, align {self.bytes}"))

    def op(self, name: str, a: str, b: str) -> str:
        return self.emit(f"{name} {self.vector} {a}, {b}")

    def intrinsic(self, name: str, *args: str) -> str:
        return self.call(self.vector, f"llvm.{name}.{suffix(self.type, self.lanes)}", [(self.vector, a) for a in args])

    def fma(self, a: str, b: str, c: str) -> str:
        return self.intrinsic("fma", a, b, c)

    def larger(self, a: str, b: str) -> str:
        """``max(a, b)`` in one instruction; ``b`` where one is NaN."""
        over = self.emit(f"fcmp ogt {self.vector} {a}, {b}")
        return self.emit(f"select <{self.lanes} x i1> {over}, {self.vector} {a}, {self.vector} {b}")

    # The tile
    def right(self, pointer: str, offset: Stride) -> str:
        """A vector of b, for :meth:`multiply`."""
        return self.load(pointer, offset)

    def left(self, pointer: str) -> str:
        """An element of a in all lanes."""
        return self.broadcast(pointer)

    def multiply(self, a: str, b: str, c: str) -> str:
        return self.fma(a, b, c)

    def matmul(
        self, rows: int, vecs: int, k: str, a: Matrix, b: Matrix, start: Sequence[Sequence[str]] | None = None
    ) -> list[list[str]]:
        """``start`` (zeros without) plus a times b, as vectors by row."""
        zero = "zeroinitializer"
        first = [(self.vector, zero if start is None else start[i][v]) for i in range(rows) for v in range(vecs)]

        def step(_: str, carried: list[str]) -> list[str]:
            x, y, sums = carried[0], carried[1], carried[2:]
            columns = [self.right(y, v * self.vector_bytes) for v in range(vecs)]
            pointers = self.rows_of(x, a.row, rows)
            made = []
            for i in range(rows):
                element = self.left(pointers[i])
                made += [self.multiply(element, columns[v], sums[i * vecs + v]) for v in range(vecs)]
            return [self.offset_by(x, a.step), self.offset_by(y, b.step), *made]

        done = self.loop("0", k, 1, [("ptr", a.pointer), ("ptr", b.pointer), *first], step)[2:]
        return [list(done[i * vecs : (i + 1) * vecs]) for i in range(rows)]

    def load_tile(self, rows: int, vecs: int, c: Matrix) -> list[list[str]]:
        return [
            [self.load(p, v * self.vector_bytes) for v in range(vecs)] for p in self.rows_of(c.pointer, c.row, rows)
        ]

    def store_tile(self, tile: Sequence[Sequence[str]], c: Matrix) -> None:
        for p, row in zip(self.rows_of(c.pointer, c.row, len(tile)), tile):
            for v, x in enumerate(row):
                self.store(x, p, v * self.vector_bytes)

    def repeat(
        self, count: str, carried: Sequence[tuple[str, str]], body: Callable[[list[str]], list[str]]
    ) -> list[str]:
        """``body`` so many times over carried values."""
        return self.loop("0", count, 1, carried, lambda _, now: body(now))

    def function(self, name: str, args: str) -> str:
        """The text of a function that returns nothing."""
        return "\n".join([f"define void @{name}({args}) #0 {{", "entry:", *self.scopes[0].lines, "  ret void", "}"])


class Bf16Pairs(Emitter):
    """Products of bfloat16 in float32: a step is two neighbours of a row of a, and of a column of b, in one word."""

    def right(self, pointer: str, offset: Stride) -> str:
        return self.as_pairs(self.emit(f"load <{self.lanes} x i32>, ptr {self.offset_by(pointer, offset)}, align 4"))

    def left(self, pointer: str) -> str:
        word, full = self.emit(f"load i32, ptr {pointer}, align 4"), f"<{self.lanes} x i32>"
        one = self.emit(f"insertelement {full} poison, i32 {word}, i64 0")
        return self.as_pairs(self.emit(f"shufflevector {full} {one}, {full} poison, {full} zeroinitializer"))

    def as_pairs(self, words: str) -> str:
        return self.emit(f"bitcast <{self.lanes} x i32> {words} to <{2 * self.lanes} x bfloat>")

    def multiply(self, a: str, b: str, c: str) -> str:
        pairs = f"<{2 * self.lanes} x bfloat>"
        name = f"llvm.x86.avx512bf16.dpbf16ps.{self.lanes * 32}"
        return self.call(self.vector, name, [(self.vector, c), (pairs, a), (pairs, b)])


def sizes_of(tile: Tile) -> list[int]:
    """Rows of the tiles that any number of rows is made of, the largest first."""
    return [tile.rows, *(n for n in (8, 4, 2, 1) if n < tile.rows)]


def gemm(
    module: Module,
    type: ScalarType,
    tile: Tile,
    rows: int,
    vecs: int,
    name: str,
    top: bool = False,
    pairs: bool = False,
) -> str:
    """``name(c, c_row, a, a_panel, b, k, blocks)``: c = a b, in blocks of ``rows`` rows and ``vecs`` vectors.

    Rows of a and steps of b are ``tile.width`` elements long; what rows of a have more is in panels ``a_panel`` bytes
    apart. With ``top`` an argument points to the largest elements of the columns so far, which are raised. With
    ``pairs``, k steps are of :class:`Bf16Pairs`, and a last argument points to a factor of the result.
    """
    e = (Bf16Pairs if pairs else Emitter)(module, type, tile.lanes)
    factor = e.broadcast("%factor") if pairs else None
    width = tile.width * type.bytes
    down = e.times("%c_row", rows)
    most = [e.load("%top", v * e.vector_bytes) for v in range(vecs)] if top else []

    def block(now: list[str]) -> list[str]:
        c, a, most = now[0], now[1], now[2:]

        def panel(at: str, now: list[str]) -> list[str]:
            left = e.emit(f"sub i64 %k, {at}")
            k = e.call("i64", "llvm.smin.i64", [("i64", left), ("i64", str(tile.width))])
            tile_now = [now[2 + i * vecs : 2 + (i + 1) * vecs] for i in range(rows)]
            sums = e.matmul(rows, vecs, k, Matrix(now[0], width, type.bytes), Matrix(now[1], 0, width), start=tile_now)
            return [
                e.offset_by(now[0], "%a_panel"),
                e.offset_by(now[1], tile.width * width),
                *(x for row in sums for x in row),
            ]

        first = [("ptr", a), ("ptr", "%b"), *([(e.vector, "zeroinitializer")] * (rows * vecs))]
        products = e.loop("0", "%k", tile.width, first, panel)[2:]
        if factor is not None:
            products = [e.op("fmul", x, factor) for x in products]
        e.store_tile([products[i * vecs : (i + 1) * vecs] for i in range(rows)], Matrix(c, "%c_row"))
        if top:
            # A tree: the maxima wait for each other less.
            for v in range(vecs):
                left = products[v::vecs]
                while len(left) > 1:
                    left = [
                        e.larger(*left[i : i + 2]) if i + 1 < len(left) else left[i] for i in range(0, len(left), 2)
                    ]
                most[v] = e.larger(left[0], most[v])
        return [e.offset_by(c, down), e.offset_by(a, rows * width), *most]

    done = e.repeat("%blocks", [("ptr", "%c"), ("ptr", "%a"), *((e.vector, m) for m in most)], block)
    for v, m in enumerate(done[2:]):
        e.store(m, "%top", v * e.vector_bytes)
    args = "ptr %c, i64 %c_row, ptr %a, i64 %a_panel, ptr %b, i64 %k, i64 %blocks"
    return e.function(name, args + (", ptr %top" if top else "") + (", ptr %factor" if pairs else ""))


def gemm_scaled(module: Module, type: ScalarType, tile: Tile, rows: int, name: str, pairs: bool = False) -> str:
    """``name(c, a, b, b_step, k, more, factor)``: c = c * factor + a b, for ``rows`` rows of c, ``tile.width`` wide and
    contiguous. Rows of a are neighbours in memory, its steps ``tile.width`` elements apart; ``factor`` points to one
    number per column. After k steps there are ``more`` for the last vector of columns alone. With ``pairs``, steps are
    of :class:`Bf16Pairs`.
    """
    e = (Bf16Pairs if pairs else Emitter)(module, type, tile.lanes)
    width, last = tile.width * type.bytes, tile.vecs - 1
    c = Matrix("%c", width)
    factor = [e.load("%factor", v * e.vector_bytes) for v in range(tile.vecs)]
    sums = e.matmul(rows, tile.vecs, "%k", Matrix("%a", type.bytes, width), Matrix("%b", 0, "%b_step"))
    a = Matrix(e.offset_by("%a", e.times("%k", width)), type.bytes, width)
    b = Matrix(e.offset_by(e.offset_by("%b", e.times("%k", "%b_step")), last * e.vector_bytes), 0, "%b_step")
    more = e.matmul(rows, 1, "%more", a, b, [row[last:] for row in sums])
    # What is there joins last: in front, it would be rounded with every step.
    sums = [row[:last] + x for row, x in zip(sums, more)]
    before = e.load_tile(rows, tile.vecs, c)
    e.store_tile([[e.fma(*x) for x in zip(old, factor, row)] for old, row in zip(before, sums)], c)
    return e.function(name, "ptr %c, ptr %a, ptr %b, i64 %b_step, i64 %k, i64 %more, ptr %factor")


def gemm_accumulate(
    module: Module, type: ScalarType, tile: Tile, rows: int, vecs: int, a_row: int, name: str, pairs: bool = False
) -> str:
    """``name(c, a, b, k, blocks)``: c += a b, in blocks of ``rows`` rows and ``vecs`` vectors.

    Rows of c and steps of b are ``tile.width`` elements long. Steps of a are neighbours in memory, its rows ``a_row``
    bytes apart. With ``pairs``, steps are of :class:`Bf16Pairs`.
    """
    e = (Bf16Pairs if pairs else Emitter)(module, type, tile.lanes)
    width = tile.width * type.bytes

    def block(now: list[str]) -> list[str]:
        c = Matrix(now[0], width)
        products = e.matmul(rows, vecs, "%k", Matrix(now[1], a_row, type.bytes), Matrix("%b", 0, width))
        before = e.load_tile(rows, vecs, c)
        e.store_tile([[e.op("fadd", *x) for x in zip(old, row)] for old, row in zip(before, products)], c)
        return [e.offset_by(now[0], width * rows), e.offset_by(now[1], a_row * rows)]

    e.repeat("%blocks", [("ptr", "%c"), ("ptr", "%a")], block)
    return e.function(name, "ptr %c, ptr %a, ptr %b, i64 %k, i64 %blocks")
