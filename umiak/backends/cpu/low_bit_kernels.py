"""Products of rows by integer weights of 8 or 4 bits (low_bit.pyx), as LLVM text: dot products of bytes (VNNI).

A row of x is written in the fixed point of its largest magnitude: whole numbers of 24 bits, as three digits of 8 bits
each, the largest at most ``DIGITS_LIMIT[3]``. Products with weights and their sums are exact integers then, which is as
good as float32: what rounding x loses is 2**-24 of the row's largest magnitude. Of bfloat16 two digits are enough: they
lose 2**-16 of it, less than is lost when results of usual size are rounded. One is what LLM.int8() asks for. The
processor multiplies unsigned bytes by signed ones, so weights are taken plus 128 (4 bits: plus 8), and sums start from
what that adds, with the sign changed: the *offsets*.

What belongs to a row of x is a record: its step as a float in a line of its own; offsets, a vector for each group and
part; digits, the highest first, each ``padded`` bytes long and zero beyond k. A *part* is digits whose sums fit in one
integer: those of a group of weights that has a scale of its own may be put together before they become floats.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

from umiak.backends.cpu.attention_kernels import Library
from umiak.backends.cpu.few_rows_kernels import FLOAT, ROWS, STORED, StreamEmitter, rounded
from umiak.compiler.loop.types import F16, F32, ScalarType
from umiak.compiler.render.target import Target

LINE = 64  # bytes of a vector, and inputs of a step
BASE = 256.0  # of the digits
DIGITS_LIMIT = {n: 127.0 * BASE ** (n - 1) for n in (1, 2, 3)}
DIGITS = {"float32": 3, "float16": 3, "bfloat16": 2}  # of x that is not to be rounded to 8 bits
LARGEST_GROUP = 128  # of which a part is no more than 32 bits
LEAST = 2.0**-100  # largest magnitude of a row that is told from zero

BYTES, INTS = "<64 x i8>", "<16 x i32>"


class Kind(NamedTuple):
    """A class of weights and of what they meet."""

    bits: int
    group: int  # inputs that share a scale; 0: all
    digits: int

    @property
    def parts(self) -> tuple[tuple[int, ...], ...]:
        """Digits whose sums are put together in integers."""
        if not self.group or self.digits == 1:
            return tuple((d,) for d in range(self.digits))
        return ((0,), (1, 2)) if self.bits == 8 and self.digits == 3 else (tuple(range(self.digits)),)

    @property
    def halves(self) -> int:
        """Outputs in a row of bytes."""
        return 2 if self.bits == 4 else 1

    def unrolled_rows(self, rows: int) -> int:
        """Rows of weights that are read at the same time, for so many rows of x: their sums stay in registers."""
        return max(1, 4 // (self.halves * (rows if self.digits > 1 else 1)))

    def value_of(self, part: tuple[int, ...]) -> float:
        """The factor of the sums of a part."""
        return BASE ** (self.digits - 1 - part[-1])


def supported(target: Target) -> bool:
    return target.avx512 and "avx512vnni" in target.has


class LowBitEmitter(StreamEmitter):
    """Text of one function over bytes."""

    def bytes_at(self, pointer: str, mask: str | None = None) -> str:
        if mask is None:
            return self.emit(f"load {BYTES}, ptr {pointer}, align 1")
        args = [("ptr align 1", pointer), ("<64 x i1>", mask), (BYTES, "zeroinitializer")]
        return self.call(BYTES, "llvm.masked.load.v64i8.p0", args)

    def first_bytes(self, count: str) -> str:
        """The mask of the first bytes."""
        ids = f"<{', '.join(f'i8 {i}' for i in range(LINE))}>"
        one = self.emit(f"insertelement {BYTES} poison, i8 {self.emit(f'trunc i64 {count} to i8')}, i64 0")
        counts = self.emit(f"shufflevector {BYTES} {one}, {BYTES} poison, <64 x i32> zeroinitializer")
        return self.emit(f"icmp ult {BYTES} {ids}, {counts}")

    def ints(self, bytes: str) -> str:
        return self.emit(f"bitcast {BYTES} {bytes} to {INTS}")

    def unsigned(self, weights: str, bits: int) -> list[str]:
        """Numbers of 8 or 4 bits plus 128 or 8; of 4 bits, those of the even output and those of the odd one."""
        if bits == 8:
            return [self.emit(f"xor {BYTES} {weights}, splat (i8 128)")]
        high = self.emit(f"lshr <32 x i16> {self.emit(f'bitcast {BYTES} {weights} to <32 x i16>')}, splat (i16 4)")
        high = self.emit(f"bitcast <32 x i16> {high} to {BYTES}")
        lows = [self.emit(f"and {BYTES} {x}, splat (i8 15)") for x in (weights, high)]
        return [self.emit(f"xor {BYTES} {x}, splat (i8 8)") for x in lows]

    def dot(self, sums: str, unsigned: str, signed: str) -> str:
        """Sums of products of four bytes, added to 16 integers."""
        return self.call(INTS, "llvm.x86.avx512.vpdpbusd.512", [(INTS, sums), (BYTES, unsigned), (BYTES, signed)])

    def add(self, a: str, b: str) -> str:
        return self.emit(f"add {INTS} {a}, {b}")

    def raised(self, x: str) -> str:
        """A digit higher."""
        return self.emit(f"shl {INTS} {x}, splat (i32 8)")

    def as_floats(self, x: str) -> str:
        return self.emit(f"sitofp {INTS} {x} to {self.vector}")

    def stored_number(self, pointer: str, at: str | int = 0) -> str:
        """A stored number as a float in all lanes."""
        here, t = self.offset_by(pointer, at), self.stored
        if t is F32:
            return self.broadcast(here)
        bits = self.emit(f"load i16, ptr {here}, align 2")
        if t is F16:
            return self.splat(self.emit(f"fpext half {self.emit(f'bitcast i16 {bits} to half')} to float"))
        word = self.emit(f"shl i32 {self.emit(f'zext i16 {bits} to i32')}, 16")
        return self.splat(self.emit(f"bitcast i32 {word} to float"))


def record(e: LowBitEmitter, name: str, kind: Kind) -> str:
    """``name(to, x, k, padded, offsets_bytes)``: the record of a row of x.

    A row with a number that is not finite has the step NaN, and so has what is computed with it.
    """
    lanes, size = e.lanes, e.stored.bytes
    digits = e.offset_by("%to", e.emit(f"add i64 %offsets_bytes, {LINE}"))
    full = e.emit(f"and i64 %k, {-lanes}")
    left = e.below(e.emit(f"sub i64 %k, {full}"))

    def element(j: str, mask: str | None = None) -> str:
        return e.take(e.offset_by("%x", e.times(j, size)), mask)

    def seen(x: str, now: list[str]) -> list[str]:
        return [e.larger(e.intrinsic("fabs", x), now[0]), e.fma(x, "zeroinitializer", now[1])]

    def look(j: str, now: list[str]) -> list[str]:
        return seen(element(j), now)

    # A sum of products with 0 is 0, or NaN where a number is not finite.
    most, nothing = e.loop("0", full, lanes, [(e.vector, "zeroinitializer")] * 2, look)
    any_left = e.emit(f"icmp ne i64 {full}, %k")
    most, nothing = e.guarded(
        any_left, lambda: seen(element(full, left), [most, nothing]), [(e.vector, most), (e.vector, nothing)]
    )
    top = e.splat(e.across("max", most))
    empty = e.emit(f"fcmp ult {e.vector} {top}, {e.constant(LEAST)}")
    unit = e.op("fdiv", top, e.constant(DIGITS_LIMIT[kind.digits]))
    step = e.emit(f"select <{lanes} x i1> {empty}, {e.vector} {e.constant(1.0)}, {e.vector} {unit}")
    wrong = e.splat(e.sum_of(nothing))
    is_wrong = e.emit(f"fcmp uno {e.vector} {wrong}, {wrong}")
    usable = e.emit(f"xor <{lanes} x i1> {is_wrong}, splat (i1 true)")
    e.store(e.op("fadd", step, wrong), "%to")

    def put(j: str, mask: str | None) -> None:
        near = e.intrinsic("rint", e.op("fdiv", element(j, mask), step))
        near = e.emit(f"select <{lanes} x i1> {usable}, {e.vector} {near}, {e.vector} zeroinitializer")
        q = e.emit(f"fptosi {e.vector} {near} to {INTS}")
        for d in reversed(range(kind.digits)):
            low = e.emit(f"trunc {INTS} {q} to <16 x i8>")
            to = e.offset_by(e.offset_by(digits, e.times("%padded", d)), j)
            e.emit_void(f"store <16 x i8> {low}, ptr {to}, align 16")
            if d:  # the rest, less what the digit below took or gave
                rest = e.emit(f"sub {INTS} {q}, {e.emit(f'sext <16 x i8> {low} to {INTS}')}")
                q = e.emit(f"ashr {INTS} {rest}, splat (i32 8)")

    e.full_blocks("%k", put)
    end = e.emit(f"and i64 {e.emit(f'add i64 %k, {lanes - 1}')}, {-lanes}")

    def clear(j: str, _: list[str]) -> list[str]:
        for d in range(kind.digits):
            to = e.offset_by(e.offset_by(digits, e.times("%padded", d)), j)
            e.emit_void(f"store <16 x i8> zeroinitializer, ptr {to}, align 16")
        return []

    e.loop(end, "%padded", lanes, [], clear)
    offset = 128 if kind.bits == 8 else 8

    def group(lo: str, hi: str, to: str) -> None:
        def add(j: str, sums: list[str]) -> list[str]:
            return [
                e.dot(s, f"splat (i8 {offset})", e.bytes_at(e.offset_by(e.offset_by(digits, e.times("%padded", d)), j)))
                for d, s in enumerate(sums)
            ]

        sums = e.loop(lo, hi, LINE, [(INTS, "zeroinitializer")] * kind.digits, add)
        for p, part in enumerate(kind.parts):
            total = sums[part[0]]
            for d in part[1:]:
                total = e.add(e.raised(total), sums[d])
            negative = e.emit(f"sub {INTS} zeroinitializer, {total}")
            e.emit_void(f"store {INTS} {negative}, ptr {e.offset_by(to, LINE * p)}, align {LINE}")

    first = e.offset_by("%to", LINE)
    if kind.group:

        def each(j: str, now: list[str]) -> list[str]:
            group(j, e.emit(f"add i64 {j}, {kind.group}"), now[0])
            return [e.offset_by(now[0], LINE * len(kind.parts))]

        e.loop("0", "%padded", kind.group, [("ptr", first)], each)
    else:
        group("0", "%padded", first)
    return e.function(name, "ptr %to, ptr %x, i64 %k, i64 %padded, i64 %offsets_bytes")


class _Dots:
    """Products of ``rows`` records of x and a block of rows of weights: what the function is made of."""

    def __init__(self, e: LowBitEmitter, kind: Kind, rows: int, unrolled: int) -> None:
        self.e, self.kind, self.rows, self.unrolled = e, kind, rows, unrolled
        self.outputs = unrolled * kind.halves
        self.next_block = e.times("%w_row", unrolled)
        xs = e.rows_of("%x", "%x_row", rows)
        self.steps = [e.broadcast(x) for x in xs]
        self.offsets = [e.offset_by(x, LINE) for x in xs]
        at_digits = e.emit(f"add i64 %offsets_bytes, {LINE}")
        self.digits = [
            [e.offset_by(e.offset_by(x, at_digits), e.times("%padded", d)) for d in range(kind.digits)] for x in xs
        ]
        self.full = e.emit(f"and i64 %k, {-LINE}")
        self.last = e.first_bytes(e.emit(f"sub i64 %k, {self.full}"))

    def block(self, now: list[str]) -> list[str]:
        """The products with a block; where the next one and its results are."""
        e = self.e
        c, w, scale = now
        weights = e.rows_of(w, "%w_row", self.unrolled)
        soon = [e.offset_by(p, self.next_block) for p in weights]
        sums = self._by_groups if self.kind.group else self._over_all
        e.store_sums(sums(weights, soon, scale), c, self.rows, self.outputs)
        return [e.offset_by(c, FLOAT * self.outputs), soon[0], e.offset_by(scale, FLOAT * self.outputs)]

    def _offset(self, i: int, p: int, group: str = "") -> str:
        """The integers that sums of row i and part p begin with."""
        where = self.e.offset_by(self.offsets[i], group) if group else self.offsets[i]
        return self.e.emit(f"load {INTS}, ptr {self.e.offset_by(where, LINE * p)}, align {LINE}")

    def _weights(self, rows: list[str], soon: list[str], j: str, mask: str | None = None) -> list[str]:
        """Outputs' numbers of a step, unsigned."""
        e = self.e
        for p in soon if mask is None else ():
            e.prefetch(e.offset_by(p, j))
        return [u for p in rows for u in e.unsigned(e.bytes_at(e.offset_by(p, j), mask), self.kind.bits)]

    def _numbers(self, j: str, i: int) -> list[str]:
        """The digits of row i of a step."""
        return [self.e.bytes_at(self.e.offset_by(start, j)) for start in self.digits[i]]

    def _over_all(self, weights: list[str], soon: list[str], scale: str) -> list[str]:
        """Sums over all inputs, by row and output."""
        e, rows, outputs, digits = self.e, self.rows, self.outputs, self.kind.digits

        def add(j: str, sums: list[str], mask: str | None = None) -> list[str]:
            us, added = self._weights(weights, soon, j, mask), []
            for i in range(rows):
                xd = self._numbers(j, i)
                for o in range(outputs):
                    at = (i * outputs + o) * digits
                    added += [e.dot(sums[at + d], us[o], xd[d]) for d in range(digits)]
            return added

        first = [(INTS, x) for i in range(rows) for x in [self._offset(i, d) for d in range(digits)] * outputs]
        sums = e.loop("0", self.full, LINE, first, add)
        more = e.emit(f"icmp ne i64 {self.full}, %k")
        sums = e.guarded(more, lambda: add(self.full, sums, self.last), [(INTS, s) for s in sums])
        scales = [e.broadcast(scale, FLOAT * o) for o in range(outputs)]
        results = []
        for i in range(rows):
            for o in range(outputs):
                at = (i * outputs + o) * digits
                total = e.as_floats(sums[at])
                for d in range(1, digits):
                    total = e.fma(total, e.constant(BASE), e.as_floats(sums[at + d]))
                results.append(e.op("fmul", total, e.op("fmul", scales[o], self.steps[i])))
        return results

    def _by_groups(self, weights: list[str], soon: list[str], scale: str) -> list[str]:
        """Sums over the inputs of each group times its scale, added up, by row and output."""
        e, kind, rows, outputs, parts = self.e, self.kind, self.rows, self.outputs, self.kind.parts
        per_group = LINE * len(parts)

        def group(j: str, now: list[str]) -> list[str]:
            scales_at, offset_at, totals = now[0], now[1], now[2:]
            places = [e.emit(f"add i64 {j}, {u}") if u else j for u in range(0, kind.group, LINE)]
            us = [self._weights(weights, soon, place) for place in places]
            xds = [[self._numbers(place, i) for place in places] for i in range(rows)]
            added = []
            for o in range(outputs):
                s = e.broadcast(scales_at, FLOAT * o)
                for i in range(rows):
                    for p in range(len(parts)):
                        sums = self._part_sums(i, p, offset_at, [u[o] for u in us], xds[i])
                        at = (o * rows + i) * len(parts) + p
                        added.append(e.fma(e.as_floats(sums), s, totals[at]))
            return [e.offset_by(scales_at, "%scale_row"), e.emit(f"add i64 {offset_at}, {per_group}"), *added]

        first = [("ptr", scale), ("i64", "0"), *[(e.vector, "zeroinitializer")] * (rows * outputs * len(parts))]
        totals = e.loop("0", "%k", kind.group, first, group)[2:]
        results = []
        for i in range(rows):
            for o in range(outputs):
                at = (o * rows + i) * len(parts)
                total = e.op("fmul", totals[at], e.constant(kind.value_of(parts[0])))
                for p in range(1, len(parts)):
                    total = e.fma(totals[at + p], e.constant(kind.value_of(parts[p])), total)
                results.append(e.op("fmul", total, self.steps[i]))
        return results

    def _part_sums(self, i: int, p: int, offset_at: str, us: list[str], xd: list[list[str]]) -> str:
        """Sums of a group in integers: of row i and part p, with an output's numbers and the row's digits."""
        e, part = self.e, self.kind.parts[p]
        sums = self._offset(i, p, offset_at) if len(part) == 1 else "zeroinitializer"
        for d in part:
            if d != part[0]:
                sums = e.raised(sums)
            for u, digits in zip(us, xd):
                sums = e.dot(sums, u, digits[d])
        return e.add(sums, self._offset(i, p, offset_at)) if len(part) > 1 else sums


def dots(e: LowBitEmitter, name: str, kind: Kind, rows: int, many: bool) -> str:
    """``name(c, c_row, x, x_row, offsets_bytes, padded, w, w_row, k, scale, scale_row, blocks)``: c = x w for ``rows``
    records of x and ``blocks`` of :meth:`Kind.unrolled_rows` rows of weights (one without ``many``).

    ``scale`` points to the first output's, as f32; those of the next group lie ``scale_row`` bytes on.
    """
    parts = _Dots(e, kind, rows, kind.unrolled_rows(rows) if many else 1)
    e.repeat("%blocks", [("ptr", "%c"), ("ptr", "%w"), ("ptr", "%scale")], parts.block)
    args = "ptr %c, i64 %c_row, ptr %x, i64 %x_row, i64 %offsets_bytes, i64 %padded, ptr %w, i64 %w_row, i64 %k, "
    return e.function(name, args + "ptr %scale, i64 %scale_row, i64 %blocks")


def restore(e: LowBitEmitter, name: str, kind: Kind, scales: ScalarType) -> str:
    """``name(to, to_row, w, k, scale, scale_row)``: the weights of a row of bytes as stored elements, a row for each
    output."""
    scaled = LowBitEmitter(e.module, F32, e.lanes, scales)
    scaled.scopes, scaled.memo = e.scopes, e.memo  # one function
    targets = e.rows_of("%to", "%to_row", kind.halves)
    step = e.stored.bytes

    def run(lo: str, hi: str, factors: list[str]) -> None:
        def block(j: str, _: list[str]) -> list[str]:
            left = e.emit(f"sub i64 {hi}, {j}")
            mask = e.below(left)
            args = [("ptr align 1", e.offset_by("%w", j)), ("<16 x i1>", mask), ("<16 x i8>", "zeroinitializer")]
            bytes = e.call("<16 x i8>", "llvm.masked.load.v16i8.p0", args)
            words = e.emit(f"sext <16 x i8> {bytes} to {INTS}")
            numbers = [words]
            if kind.bits == 4:
                low = e.emit(f"shl {INTS} {words}, splat (i32 28)")
                numbers = [e.emit(f"ashr {INTS} {x}, splat (i32 {n})") for x, n in ((low, 28), (words, 4))]
            for number, factor, to in zip(numbers, factors, targets):
                e.put(e.op("fmul", e.as_floats(number), factor), e.offset_by(to, e.times(j, step)), mask)
            return []

        e.loop(lo, hi, e.lanes, [], block)

    def factors(at: str) -> list[str]:
        scaled.count, scaled.at = e.count, e.at
        found = [scaled.stored_number(at, scales.bytes * h) for h in range(kind.halves)]
        e.count = scaled.count
        return found

    if kind.group:

        def group(j: str, now: list[str]) -> list[str]:
            run(j, e.emit(f"add i64 {j}, {kind.group}"), factors(now[0]))
            return [e.offset_by(now[0], "%scale_row")]

        e.loop("0", "%k", kind.group, [("ptr", "%scale")], group)
    else:
        run("0", "%k", factors("%scale"))
    return e.function(name, "ptr %to, i64 %to_row, ptr %w, i64 %k, ptr %scale, i64 %scale_row")


def widened(e: LowBitEmitter, name: str) -> str:
    """``name(to, x, n)``: stored elements as f32. The target may be written up to a vector beyond n."""

    def block(j: str, mask: str | None) -> None:
        e.store(e.take(e.offset_by("%x", e.times(j, e.stored.bytes)), mask), e.offset_by("%to", e.times(j, FLOAT)))

    e.full_blocks("%n", block)
    return e.function(name, "ptr %to, ptr %x, i64 %n")


@functools.cache
def functions(kind: Kind, stored: str, scales: str) -> tuple[dict[str, int], object]:
    """Addresses by name for x and scales of these dtypes, and what keeps the code loaded."""
    library = Library(F32, Target.host())

    def emitter(type: ScalarType) -> LowBitEmitter:
        return LowBitEmitter(library.module, F32, library.tile.lanes, type)

    library.texts["record"] = record(emitter(STORED[stored]), "record", kind)
    library.texts["restore"] = restore(emitter(STORED[stored]), "restore", kind, STORED[scales])
    library.texts["rounded"] = rounded(emitter(STORED[stored]), "rounded")
    library.texts["widened"] = widened(emitter(STORED[scales]), "widened")
    for rows in ROWS:
        for many in (True, False):
            name = f"dots_{rows}_{'many' if many else 'one'}"
            library.texts[name] = dots(emitter(F32), name, kind, rows, many)
    return library.load()
