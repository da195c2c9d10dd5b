"""Machine code of a compiled model: kernels of nests, and micro-kernels of matmuls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from umiak.backends.cpu.aot.memory import PREPARED, Memory
from umiak.backends.cpu.aot.step import Step
from umiak.backends.cpu.aot.targets import Processor
from umiak.backends.cpu.gemm_kernel import Emitter, Matrix, Stride, Tile, sizes_of, tile_of
from umiak.compiler import schedule
from umiak.compiler.jit.codegen import compile_object
from umiak.compiler.loop.tree import GLOBAL, LOCAL, SHARED
from umiak.compiler.loop.types import F32
from umiak.compiler.nest import Nest, Variant
from umiak.compiler.render import llvm
from umiak.compiler.render.text import Module


class PhaseCode(NamedTuple):
    """A phase of a variant: its kernel's name, whether it has scratch of a thread and of the launch, its range."""

    name: str
    local: bool
    shared: bool
    range: int
    block: int


class Micros(NamedTuple):
    """Micro-kernels of one kind of panel, by blocks of rows: the name of their table."""

    name: str
    rows: tuple[int, ...]
    first: tuple[str, ...]
    more: tuple[str, ...]


class Kernels:
    """The machine code of one library, each kind once."""

    def __init__(self, processor: Processor) -> None:
        self.processor = processor
        self.tile: Tile = tile_of(processor.target, F32)
        self.objects: list[bytes] = []
        self.prepare: dict[Any, tuple[Memory, Step]] = {}  # what is made of weights once, by what it is made of
        self.micros: dict[tuple[int, int], Micros] = {}
        self._phases: dict[tuple, list[PhaseCode]] = {}
        self._module = Module(processor.target)

    def phases(self, nest: Nest, variant: Variant) -> list[PhaseCode]:
        """Compile a variant, unless there is one of the same text: sizes and strides are arguments."""
        key = (len(nest.extras), len(nest.accesses), nest.buffers, nest.stages, variant)
        if key not in self._phases:
            first = sum(map(len, self._phases.values()))
            made = schedule.kernels(nest, variant)
            kernels = [replace(p.kernel, name=f"um_k{first + i}") for i, p in enumerate(made)]
            self._compile(llvm.render_module(kernels, self.processor.target), nest.name)
            self._phases[key] = [_code(k, p.range, p.block) for k, p in zip(kernels, made, strict=True)]
        return self._phases[key]

    def prepared(self, key: Any, bytes: int, make: Callable[[Memory], Step]) -> Memory:
        """The place of what a step makes of weights when the model is loaded; ``key`` says what that is."""
        if key not in self.prepare:
            memory = Memory(PREPARED, bytes, sum(m.bytes for m, _ in self.prepare.values()))
            self.prepare[key] = memory, make(memory)
        return self.prepare[key][0]

    def panel(self, columns: int) -> Micros:
        """The micro-kernels of panels with so many columns."""
        lanes = self.tile.lanes
        vecs, tail = -(-columns // lanes), columns % lanes
        if (vecs, tail) not in self.micros:
            rows = tuple(sizes_of(self.tile))
            names = [tuple(f"um_m{n}_{vecs}_{tail}_{kind}" for n in rows) for kind in ("first", "more")]
            for kind, of_kind in enumerate(names):
                for n, name in zip(rows, of_kind, strict=True):
                    self._module.functions.append(micro(self._module, self.tile, n, vecs, tail, kind == 1, name))
            self.micros[vecs, tail] = Micros(f"micros_{vecs}_{tail}", rows, *names)
        return self.micros[vecs, tail]

    def finish(self) -> list[bytes]:
        """All objects."""
        if self.micros:
            self._compile(self._module.text(), "gemm")
        return self.objects

    def names(self) -> list[PhaseCode]:
        return [p for phases in self._phases.values() for p in phases]

    def _compile(self, text: str, name: str) -> None:
        self.objects.append(compile_object(text, self.processor.machine, name, library=True))


def _code(kernel: Any, counts: int, block: int) -> PhaseCode:
    spaces = {b.space for b in kernel.buffers}
    return PhaseCode(kernel.name, bool(spaces & {LOCAL, SHARED}), GLOBAL in spaces, counts, max(block, 1))


class _Rows(Emitter):
    """Rows of a lie at multiples of an operand: odd ones are computed once, the others by what addresses scale."""

    def prepare(self, rows: int) -> None:
        self.odd: dict[int, Stride] = {n: self.times("%a_row", n) for n in range(1, rows, 2)}

    def rows_of(self, pointer: str, stride: Stride, count: int) -> list[str]:
        if stride != "%a_row":
            return super().rows_of(pointer, stride, count)
        pointers = [pointer]
        for i in range(1, count):
            shift = (i & -i).bit_length() - 1
            step = self.odd[i >> shift]
            pointers.append(self.offset_by(pointer, self.emit(f"shl i64 {step}, {shift}") if shift else step))
        return pointers

    def masked(self, tail: int) -> str:
        lanes = ", ".join(f"i1 {'true' if i < tail else 'false'}" for i in range(self.lanes))
        return f"<{lanes}>"


def micro(module: Module, tile: Tile, rows: int, vecs: int, tail: int, more: bool, name: str) -> str:
    """``name(c, c_row, a, a_row, a_step, b, k, blocks, bias)``: c = bias + a b, or with ``more`` c += a b, in blocks of
    ``rows`` rows and ``vecs`` vectors, of which the last has ``tail`` columns (0: all).

    b is a panel, ``tile.width`` columns wide. Strides are in bytes.
    """
    e = _Rows(module, F32, tile.lanes)
    e.prepare(rows)
    width = tile.width * F32.bytes
    mask = e.masked(tail) if tail else ""
    c_down, a_down = e.times("%c_row", rows), e.times("%a_row", rows)
    kind = f"<{tile.lanes} x i1>"
    suffix = f"v{tile.lanes}f32.p0"

    def loaded(pointer: str, v: int) -> str:
        if not tail or v < vecs - 1:
            return e.load(pointer, v * e.vector_bytes)
        at = e.offset_by(pointer, v * e.vector_bytes)
        args = [("ptr align 4", at), (kind, mask), (e.vector, "zeroinitializer")]
        return e.call(e.vector, f"llvm.masked.load.{suffix}", args)

    bias = [] if more else [loaded("%bias", v) for v in range(vecs)]

    def stored(value: str, pointer: str, v: int) -> None:
        if not tail or v < vecs - 1:
            e.store(value, pointer, v * e.vector_bytes)
            return
        at = e.offset_by(pointer, v * e.vector_bytes)
        e.call("void", f"llvm.masked.store.{suffix}", [(e.vector, value), ("ptr align 4", at), (kind, mask)])

    def block(now: list[str]) -> list[str]:
        c, a = now
        places = Emitter.rows_of(e, c, "%c_row", rows)
        start: Sequence[Sequence[str]] = [bias] * rows
        if more:
            start = [[loaded(p, v) for v in range(vecs)] for p in places]
        sums = e.matmul(rows, vecs, "%k", Matrix(a, "%a_row", "%a_step"), Matrix("%b", 0, width), start)
        for p, row in zip(places, sums, strict=True):
            for v, x in enumerate(row):
                stored(x, p, v)
        return [e.offset_by(c, c_down), e.offset_by(a, a_down)]

    e.repeat("%blocks", [("ptr", "%c"), ("ptr", "%a")], block)
    args = "ptr %c, i64 %c_row, ptr %a, i64 %a_row, i64 %a_step, ptr %b, i64 %k, i64 %blocks, ptr %bias"
    return e.function(name, args)
