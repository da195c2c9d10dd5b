"""LLVM text of functions on vectors whose elements may be stored in a narrower type: loads, stores, loops, 2**x."""

from __future__ import annotations

import math
from collections.abc import Callable

from umiak.backends.cpu.gemm_kernel import Emitter, Stride, Tile
from umiak.compiler.loop.functions.building_blocks import EXP2_F64
from umiak.compiler.loop.types import BF16, BOOL, F16, F32, U8, ScalarType
from umiak.compiler.render.text import Module, spell, suffix
from umiak.ops.pages import ZERO

# (2**x - 1) / x on [-1/2, 1/2], relative error of 2**x: 2^-23.3.
EXP2_F32 = (0.0013269406, 0.009671294, 0.05550711, 0.24022247, 0.693147)
NEVER = -math.inf


class AttentionEmitter(Emitter):
    """Text of one function on elements that are stored as ``stored``."""

    def __init__(self, module: Module, type: ScalarType, lanes: int, stored: ScalarType | None = None) -> None:
        super().__init__(module, type, lanes)
        self.stored = stored or type
        self.memory = spell(self.stored, lanes, memory=True)

    # Elements
    def below(self, count: str) -> str:
        """The mask of the first lanes."""
        ids = f"<{', '.join(f'i64 {i}' for i in range(self.lanes))}>"
        full = f"<{self.lanes} x i64>"
        one = self.emit(f"insertelement {full} poison, i64 {count}, i64 0")
        counts = self.emit(f"shufflevector {full} {one}, {full} poison, <{self.lanes} x i32> zeroinitializer")
        return self.emit(f"icmp slt {full} {ids}, {counts}")

    def bits(self, pointer: str, mask: str | None = None) -> str:
        """Stored elements as they are; 0 outside of the mask."""
        t, n, full = self.stored, self.lanes, self.memory
        if mask is None:
            return self.emit(f"load {full}, ptr {pointer}, align {t.bytes}")
        args = [(f"ptr align {t.bytes}", pointer), (f"<{n} x i1>", mask), (full, "zeroinitializer")]
        return self.call(full, f"llvm.masked.load.{suffix(t, n, True)}.p0", args)

    def words(self, pointer: str, mask: str | None = None) -> str:
        """Stored elements of 16 bits in the lower halves of words."""
        return self.emit(f"zext {self.memory} {self.bits(pointer, mask)} to <{self.lanes} x i32>")

    def higher(self, words: str) -> str:
        """The lower halves of words in the higher ones."""
        return self.emit(f"shl <{self.lanes} x i32> {words}, {self.integers(16)}")

    def floats(self, words: str) -> str:
        return self.emit(f"bitcast <{self.lanes} x i32> {words} to {self.vector}")

    def take(self, pointer: str, mask: str | None = None) -> str:
        """Stored elements in the type of computation; 0 outside of the mask, -ZERO of bytes. False is -inf, True 0."""
        t, n, full = self.stored, self.lanes, self.memory
        if t is BF16:
            return self.floats(self.higher(self.words(pointer, mask)))
        got = self.bits(pointer, mask)
        if t is F16:
            return self.emit(
                f"fpext <{n} x half> {self.emit(f'bitcast {full} {got} to <{n} x half>')} to {self.vector}"
            )
        if t is BOOL:
            seen = self.emit(f"icmp ne {full} {got}, zeroinitializer")
            return self.emit(
                f"select <{n} x i1> {seen}, {self.vector} zeroinitializer, {self.vector} {self.constant(NEVER)}"
            )
        if t is U8:
            # At most 8 significant bits: both steps are exact.
            number = self.emit(f"uitofp {full} {got} to {self.vector}")
            return self.op("fadd", number, self.constant(-ZERO))
        return got

    def put(self, x: str, pointer: str, mask: str | None = None) -> None:
        """The inverse of :meth:`take`, for floats."""
        t, n, full = self.stored, self.lanes, self.memory
        if t is BF16:
            x = self.narrow(x)
        elif t is F16:
            x = self.emit(f"bitcast <{n} x half> {self.emit(f'fptrunc {self.vector} {x} to <{n} x half>')} to {full}")
        if mask is None:
            self.emit_void(f"store {full} {x}, ptr {pointer}, align {t.bytes}")
        else:
            args = [(full, x), (f"ptr align {t.bytes}", pointer), (f"<{n} x i1>", mask)]
            self.call("void", f"llvm.masked.store.{suffix(t, n, True)}.p0", args)

    def integers(self, x: int, type: str = "i32") -> str:
        return f"splat ({type} {x})"

    def narrow(self, x: str) -> str:
        """f32 as bf16: to nearest, ties to even."""
        n, words = self.lanes, f"<{self.lanes} x i32>"
        bits = self.emit(f"bitcast {self.vector} {x} to {words}")
        high = self.emit(f"lshr {words} {bits}, {self.integers(16)}")
        odd = self.emit(f"and {words} {high}, {self.integers(1)}")
        up = self.emit(f"add {words} {self.emit(f'add {words} {bits}, {self.integers(0x7FFF)}')}, {odd}")
        near = self.emit(f"lshr {words} {up}, {self.integers(16)}")
        quiet = self.emit(f"or {words} {high}, {self.integers(0x40)}")
        nan = self.emit(f"fcmp uno {self.vector} {x}, {x}")
        return self.emit(
            f"trunc {words} {self.emit(f'select <{n} x i1> {nan}, {words} {quiet}, {words} {near}')} to {self.memory}"
        )

    def joined(self, low: str, high: str) -> str:
        """Two vectors of f32 as one of bf16, by the processor's instruction, to which denormals are 0."""
        wide = f"<{2 * self.lanes} x bfloat>"
        name = f"llvm.x86.avx512bf16.cvtne2ps2bf16.{self.lanes * 32}"
        return self.call(wide, name, [(self.vector, high), (self.vector, low)])

    def interleaved(self, a: str, a_at: int, b: str, b_at: int) -> str:
        """Words of elements of a, from ``a_at`` on, and of b, from ``b_at`` on; both are of :meth:`joined`."""
        n, full = self.lanes, f"<{2 * self.lanes} x bfloat>"
        order = ", ".join(f"i32 {a_at + i}, i32 {2 * n + b_at + i}" for i in range(n))
        shuffled = self.emit(f"shufflevector {full} {a}, {full} {b}, <{2 * n} x i32> <{order}>")
        return self.emit(f"bitcast {full} {shuffled} to {self.vector}")

    def store_joined(self, x: str, pointer: str) -> None:
        self.emit_void(f"store <{2 * self.lanes} x bfloat> {x}, ptr {pointer}, align 2")

    def transpose(self, rows: list[str]) -> list[str]:
        """Columns of a square block."""
        n, step = self.lanes, 1
        while step < n:
            vectors = list(rows)
            for i in range(n):
                if i & step:
                    continue
                a, b = rows[i], rows[i + step]
                low = [j if not j & step else n + j - step for j in range(n)]
                high = [j + step if not j & step else n + j for j in range(n)]
                for at, order in ((i, low), (i + step, high)):
                    lanes = ", ".join(f"i32 {j}" for j in order)
                    vectors[at] = self.emit(
                        f"shufflevector {self.vector} {a}, {self.vector} {b}, <{n} x i32> <{lanes}>"
                    )
            rows, step = vectors, step * 2
        return rows

    # Loops
    def blocks(self, count: str, body: Callable[[str, str | None], None]) -> None:
        """``body(first, mask)`` for blocks of lanes out of ``count``; the last one is under a mask.

        All are where a mask costs nothing: half as much text.
        """
        if self.target.avx512 and self.lanes > 1:
            self.each(count, lambda i: body(i, self.below(self.emit(f"sub i64 {count}, {i}"))), step=self.lanes)
        else:
            self.full_blocks(count, body)

    def full_blocks(self, count: str, body: Callable[[str, str | None], None]) -> None:
        """As :meth:`blocks`, where the body is short: only the last block has a mask."""
        full_end = self.emit(f"and i64 {count}, {-self.lanes}")
        self.each(full_end, lambda i: body(i, None), step=self.lanes)
        if self.lanes > 1:
            self.rest(count, full_end, lambda mask: body(full_end, mask))

    def each(self, count: str, body: Callable[[str], None], lo: str = "0", step: int = 1) -> None:
        def run(i: str, _: list[str]) -> list[str]:
            body(i)
            return []

        self.loop(lo, count, step, [], run)

    def rest(self, count: str, full_end: str, body: Callable[[str], None]) -> None:
        """``body(mask)`` for the last lanes, if there are any beyond ``full_end``."""
        left = self.emit(f"sub i64 {count}, {full_end}")

        def run() -> list[str]:
            body(self.below(left))
            return []

        self.guarded(self.emit(f"icmp ne i64 {left}, 0"), run)

    def row_pairs(self, count: str, body: Callable[[str, bool, list[str]], list[str]], carried: list[str]) -> list[str]:
        """``body(first, both, carried)`` for two rows at a time, carrying vectors; a last one may be alone."""
        full_end = self.emit(f"and i64 {count}, -2")
        now = self.loop("0", full_end, 2, [(self.vector, x) for x in carried], lambda i, x: body(i, True, x))
        odd = self.emit(f"icmp ne i64 {full_end}, {count}")
        return self.guarded(odd, lambda: body(full_end, False, now), [(self.vector, x) for x in now])

    def half(self, index: str) -> str:
        return self.emit(f"lshr i64 {index}, 1")

    def element(self, pointer: str, index: str, bytes: Stride) -> str:
        return self.offset_by(pointer, self.times(index, bytes))

    def pointer(self, table: str, index: int | str) -> str:
        """An entry of a table of pointers."""
        return self.emit(f"load ptr, ptr {self.offset_by(table, self.times(index, 8))}, align 8")

    # 2**x
    def exp2(self, x: str) -> str:
        """2**x for x <= 0 or NaN; 0 where that is no normal number."""
        y, r, power = self.powers(x)
        y = self.op("fmul", self.fma(y, r, self.constant(1.0)), power)
        return self.in_range(x, y, "zeroinitializer")

    def in_range(self, x: str, y: str, other: str) -> str:
        """``y`` where 2**x is a normal number, or x NaN."""
        least = self.constant(-126.0 if self.type is F32 else -1022.0)
        inside = self.emit(f"fcmp uge {self.vector} {x}, {least}")
        return self.emit(f"select <{self.lanes} x i1> {inside}, {self.vector} {y}, {self.vector} {other}")

    def powers(self, x: str) -> tuple[str, str, str]:
        """Return y, r and a power of 2 whose product with ``1 + y * r`` is 2**x, for normal results."""
        f32 = self.type is F32
        coefficients = EXP2_F32 if f32 else EXP2_F64
        word, mantissa, bias = ("i32", 23, 127) if f32 else ("i64", 52, 1023)
        words = f"<{self.lanes} x {word}>"
        # Adding a number whose last bit is 1 rounds to n; its lowest bits then are the exponent of 2**n.
        magic = self.constant(1.5 * 2.0**mantissa + bias)
        shifted = self.op("fadd", x, magic)
        r = self.op("fsub", x, self.op("fsub", shifted, magic))
        y = self.constant(coefficients[0])
        for c in coefficients[1:]:
            y = self.fma(y, r, self.constant(c))
        bits = self.emit(f"bitcast {self.vector} {shifted} to {words}")
        power = self.emit(f"shl {words} {bits}, {self.integers(mantissa, word)}")
        return y, r, self.emit(f"bitcast {words} {power} to {self.vector}")

    def tanh(self, x: str) -> str:
        """Hyperbolic tangent: with m = exp(-2 |x|) - 1, ``-m / (m + 2)`` and the sign of x.

        The 1 is subtracted from the power of 2 alone, so that small numbers keep their digits.
        """
        kind = f"v{self.lanes}{self.type.name}"
        size = self.call(self.vector, f"llvm.fabs.{kind}", [(self.vector, x)])
        z = self.op("fmul", size, self.constant(-2 / math.log(2)))
        y, r, power = self.powers(z)
        m = self.fma(power, self.op("fmul", y, r), self.op("fadd", power, self.constant(-1.0)))
        m = self.in_range(z, m, self.constant(-1.0))
        y = self.op("fdiv", self.op("fsub", "zeroinitializer", m), self.op("fadd", m, self.constant(2.0)))
        return self.call(self.vector, f"llvm.copysign.{kind}", [(self.vector, y), (self.vector, x)])

    def finite(self, top: str) -> str:
        """Return the score that others are taken relative to: 0 where nothing has been seen."""
        none = self.emit(f"fcmp oeq {self.vector} {top}, {self.constant(NEVER)}")
        return self.emit(f"select <{self.lanes} x i1> {none}, {self.vector} zeroinitializer, {self.vector} {top}")

    def across(self, name: str, x: str) -> str:
        """The lanes of a vector combined into a scalar."""
        rest, n = x, self.lanes
        while n > 1:
            n //= 2
            lanes = ", ".join(f"i32 {(i + n) % self.lanes}" for i in range(self.lanes))
            moved = self.emit(
                f"shufflevector {self.vector} {rest}, {self.vector} poison, <{self.lanes} x i32> <{lanes}>"
            )
            rest = self.larger(rest, moved) if name == "max" else self.op(name, rest, moved)
        return self.emit(f"extractelement {self.vector} {rest}, i64 0")


def vectors(e: AttentionEmitter, tile: Tile) -> range:
    """Offsets of the vectors of a row."""
    return range(0, tile.width * e.bytes, e.vector_bytes)
