"""Products of many rows by integer weights of 8 or 4 bits (low_bit.pyx) by tile registers, as LLVM text: Intel's AMX.

Results are computed transposed, 32 outputs by 32 rows of x, so that weights, which are restored a few at a time, need
no other order than theirs. A *step* is what a row of a tile register holds: 64 bytes of the inputs. Rows of x are
packed once, 16 to a *strip*: a tile for each step, in which a word has neighbouring inputs of one row, and the words of
16 rows are a line.

x of bfloat16 meets weights of bfloat16: the integers, where an output has one scale, and else the integers times their
scale, rounded. The rounded x of LLM.int8() meets the integers as they are, and its sums are exact.
"""

from __future__ import annotations

import functools

from umiak.backends.cpu import attention_amx, tile_registers
from umiak.backends.cpu.attention_amx import BLOCK, ROW_BYTES, TILE_ROWS
from umiak.backends.cpu.attention_kernels import Library
from umiak.backends.cpu.few_rows_kernels import FLOAT, STORED
from umiak.backends.cpu.gemm_kernel import Stride
from umiak.backends.cpu.low_bit_kernels import BYTES, INTS, Kind, LowBitEmitter
from umiak.compiler.loop.types import BF16, F32
from umiak.compiler.render.target import Target

TILE = TILE_ROWS * ROW_BYTES  # bytes
STEPS = 8  # of which a chunk of the inputs consists: what 32 outputs have of it stays in the first level of the cache
STRIP = STEPS * TILE  # bytes of a strip within a chunk
NUMBERS = f"<{', '.join(f'float {x}.0' for x in (*range(8), *range(-8, 0)))}>"  # that 4 bits stand for


def supported(target: Target) -> bool:
    return "amx-int8" in target.has and tile_registers.permitted(target)


class TileEmitter(LowBitEmitter):
    """Text of one function over tiles, or over what they are loaded from."""

    def first_of(self, count: str, lanes: int, skipped: int = 0) -> str:
        """The mask of ``count`` bytes, for some lanes."""
        order = ", ".join(f"i32 {skipped + i}" for i in range(lanes))
        return self.emit(
            f"shufflevector <64 x i1> {self.first_bytes(count)}, <64 x i1> poison, <{lanes} x i32> <{order}>"
        )

    def some_bytes(self, pointer: str, lanes: int, mask: str | None) -> str:
        kind = f"<{lanes} x i8>"
        if mask is None:
            return self.emit(f"load {kind}, ptr {pointer}, align 1")
        args = [("ptr align 1", pointer), (f"<{lanes} x i1>", mask), (kind, "zeroinitializer")]
        return self.call(kind, f"llvm.masked.load.v{lanes}i8.p0", args)

    def store_line(self, kind: str, x: str, pointer: str) -> None:
        self.emit_void(f"store {kind} {x}, ptr {pointer}, align {ROW_BYTES}")

    def tile(self, name: str, register: int, pointer: str) -> None:
        args = [("i8", str(register)), ("ptr", pointer), ("i64", str(ROW_BYTES))]
        self.call("void", f"llvm.x86.tile{name}64", args)


def pack(e: TileEmitter, name: str) -> str:
    """``name(to, x, x_row, rows, bytes)``: up to 16 rows of x as the tiles of a strip, zeros beyond both ends."""
    last = e.emit("add i64 %rows, -1")
    full = e.emit(f"and i64 %bytes, {-ROW_BYTES}")

    def step(at: str, mask: str | None) -> None:
        lines = []
        for r in range(TILE_ROWS):
            inside = e.emit(f"icmp sle i64 {r}, {last}")
            row = e.emit(f"select i1 {inside}, i64 {r}, i64 {last}")
            got = e.bytes_at(e.offset_by(e.offset_by("%x", e.times(row, "%x_row")), at), mask)
            got = e.emit(f"select i1 {inside}, {BYTES} {got}, {BYTES} zeroinitializer")
            lines.append(e.emit(f"bitcast {BYTES} {got} to {e.vector}"))
        to = e.offset_by("%to", e.times(at, TILE_ROWS))
        for r, x in enumerate(e.transpose(lines)):
            e.store(x, to, ROW_BYTES * r)

    e.each(full, lambda at: step(at, None), step=ROW_BYTES)
    left = e.emit(f"sub i64 %bytes, {full}")

    def rest() -> list[str]:
        step(full, e.first_bytes(left))
        return []

    e.guarded(e.emit(f"icmp ne i64 {left}, 0"), rest)
    return e.function(name, "ptr %to, ptr %x, i64 %x_row, i64 %rows, i64 %bytes")


def weights(e: TileEmitter, name: str, kind: Kind) -> str:
    """``name(to, w, w_row, rows, k, scale)``: ``k`` inputs of up to 32 outputs as left operands: for each step, a line
    for each output. ``scale`` has f32 of 32 outputs for each group of inputs."""
    inputs = ROW_BYTES if kind.digits == 1 else ROW_BYTES // BF16.bytes
    step_bytes = BLOCK * ROW_BYTES
    words = "<32 x i16>"

    def lines(row: str) -> list[str]:
        """Places of the first step of the outputs of a row."""
        first = e.offset_by("%to", e.times(row, ROW_BYTES * kind.halves))
        return [e.offset_by(first, ROW_BYTES * h) for h in range(kind.halves)]

    def scales(row: str, group: Stride) -> list[str]:
        at = e.offset_by(e.offset_by("%scale", group), e.times(row, FLOAT * kind.halves))
        return [e.broadcast(at, FLOAT * h) for h in range(kind.halves)]

    def tables(factors: list[str]) -> list[str]:
        """The numbers that 4 bits stand for, for each output; twice in a vector, since an index has 5 bits."""
        values = [e.op("fmul", NUMBERS, f) for f in factors] or [NUMBERS] * kind.halves
        return [e.emit(f"bitcast <32 x bfloat> {e.joined(x, x)} to {words}") for x in values]

    def step(row: str, j: str, to: list[str], factors: list[str], left: str | None) -> None:
        at = e.offset_by(e.offset_by("%w", e.times(row, "%w_row")), j)
        places = [e.offset_by(p, e.times(e.emit(f"udiv i64 {j}, {inputs}"), step_bytes)) for p in to]
        if kind.digits == 1:
            e.store_line(BYTES, e.bytes_at(at, left and e.first_bytes(left)), places[0])
        elif kind.bits == 4:
            got = e.some_bytes(at, inputs, left and e.first_of(left, inputs))
            low = e.emit(f"zext <{inputs} x i8> {got} to {words}")
            high = e.emit(f"lshr {words} {low}, splat (i16 4)")
            for place, values, index in zip(places, factors, (low, high)):
                args = [(words, values), (words, index)]
                e.store_line(words, e.call(words, "llvm.x86.avx512.permvar.hi.512", args), place)
        else:
            floats = []
            for skipped in range(0, inputs, e.lanes):
                mask = left and e.first_of(left, e.lanes, skipped)
                got = e.some_bytes(e.offset_by(at, skipped), e.lanes, mask)
                number = e.as_floats(e.emit(f"sext <{e.lanes} x i8> {got} to {INTS}"))
                floats.append(e.op("fmul", number, factors[0]) if factors else number)
            e.store_line("<32 x bfloat>", e.joined(*floats), places[0])

    def run(row: str, lo: str, hi: str, factors: list[str]) -> None:
        to = lines(row)
        e.each(hi, lambda j: step(row, j, to, factors, None), lo=lo, step=inputs)

    full = e.emit(f"and i64 %k, {-inputs}")

    def each_row(row: str) -> None:
        if kind.group:

            def group(j: str) -> None:
                at = e.times(e.emit(f"udiv i64 {j}, {kind.group}"), BLOCK * FLOAT)
                factors = scales(row, at)
                run(row, j, e.emit(f"add i64 {j}, {kind.group}"), tables(factors) if kind.bits == 4 else factors)

            e.each("%k", group, step=kind.group)
            return
        factors = tables([]) if kind.bits == 4 else []
        run(row, "0", full, factors)
        left = e.emit(f"sub i64 %k, {full}")

        def rest() -> list[str]:
            step(row, full, lines(row), factors, left)
            return []

        e.guarded(e.emit(f"icmp ne i64 {left}, 0"), rest)

    e.each("%rows", each_row)
    return e.function(name, "ptr %to, ptr %w, i64 %w_row, i64 %rows, i64 %k, ptr %scale")


def multiply(e: TileEmitter, name: str, kind: Kind, more: bool) -> str:
    """``name(c, w, x, steps)``: the sums of 32 outputs and two strips as four tiles of c; ``more``: added to it."""
    for i in range(4):
        if more:
            e.tile("loadd", i, e.offset_by("%c", TILE * i))
        else:
            e.call("void", "llvm.x86.tilezero", [("i8", str(i))])
    product = "llvm.x86.tdpbssd" if kind.digits == 1 else "llvm.x86.tdpbf16ps"

    def step(i: str) -> None:
        x, w = e.element("%x", i, TILE), e.element("%w", i, 2 * TILE)
        e.tile("loadd", 6, x)
        e.tile("loadd", 4, w)
        e.tile("loadd", 7, e.offset_by(x, STRIP))
        e.tile("loadd", 5, e.offset_by(w, TILE))
        for c in range(4):
            e.call("void", product, [("i8", str(r)) for r in (c, 4 + c // 2, 6 + c % 2)])

    e.each("%steps", step)
    for i in range(4):
        e.tile("stored", i, e.offset_by("%c", TILE * i))
    return e.function(name, "ptr %c, ptr %w, ptr %x, i64 %steps")


def results(e: TileEmitter, name: str, kind: Kind) -> str:
    """``name(to, to_row, c, rows, outputs, scale, unit, unit_row)``: a strip's tiles of c as stored elements, some
    outputs of each of its rows, times their scale and, for rounded x, the unit of the row. c is changed."""
    tiles = ["%c", e.offset_by("%c", 2 * TILE)]
    for tile in tiles:
        for r, x in enumerate(e.transpose([e.load(tile, ROW_BYTES * r) for r in range(TILE_ROWS)])):
            e.store(x, tile, ROW_BYTES * r)
    scaled = kind.digits == 1 or not kind.group
    scales = [e.load("%scale", e.vector_bytes * h) for h in range(2)] if scaled else []
    lefts = ["%outputs", e.emit(f"sub i64 %outputs, {e.lanes}")]
    masks = [e.below(left) for left in lefts]
    both = ", ".join(f"i32 {i}" for i in range(BLOCK))
    mask = e.emit(f"shufflevector <16 x i1> {masks[0]}, <16 x i1> {masks[1]}, <32 x i32> <{both}>")

    def row(r: str) -> None:
        values = []
        for h, tile in enumerate(tiles):
            at = e.element(tile, r, ROW_BYTES)
            if kind.digits == 1:
                sums = e.as_floats(e.emit(f"load {INTS}, ptr {at}, align {ROW_BYTES}"))
                unit = e.broadcast(e.element("%unit", r, "%unit_row"))
                values.append(e.op("fmul", sums, e.op("fmul", scales[h], unit)))
            else:
                values.append(e.op("fmul", e.load(at), scales[h]) if scaled else e.load(at))
        to = e.element("%to", r, "%to_row")
        if e.stored is BF16:
            args = [("<32 x bfloat>", e.joined(*values)), ("ptr align 2", to), ("<32 x i1>", mask)]
            e.call("void", "llvm.masked.store.v32bf16.p0", args)
        else:
            for h, value in enumerate(values):
                e.put(value, e.offset_by(to, e.lanes * e.stored.bytes * h), masks[h])

    e.each("%rows", row)
    args = "ptr %to, i64 %to_row, ptr %c, i64 %rows, i64 %outputs, ptr %scale, ptr %unit, i64 %unit_row"
    return e.function(name, args)


def takes(kind: Kind, stored: str) -> bool:
    """Return whether x of a dtype meets weights in tiles: the others would lose digits."""
    return supported(Target.host()) and (kind.digits == 1 or STORED[stored] is BF16)


@functools.cache
def functions(kind: Kind, stored: str) -> tuple[dict[str, int], object]:
    """Addresses by name for x of a dtype, and what keeps the code loaded."""
    library = Library(F32, Target.host())

    def emitter() -> TileEmitter:
        return TileEmitter(library.module, F32, library.tile.lanes, STORED[stored])

    library.texts["begin"] = attention_amx.begin(emitter(), "begin")
    library.texts["end"] = attention_amx.end(emitter(), "end")
    library.texts["pack"] = pack(emitter(), "pack")
    library.texts["weights"] = weights(emitter(), "weights", kind)
    library.texts["multiply"] = multiply(emitter(), "multiply", kind, False)
    library.texts["multiply_more"] = multiply(emitter(), "multiply_more", kind, True)
    library.texts["results"] = results(emitter(), "results", kind)
    return library.load()
