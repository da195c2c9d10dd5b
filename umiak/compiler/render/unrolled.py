"""Kernels without loops (schedule/unrolled.py) as LLVM IR text: one block, under the ABI of launches.

Each part of the lanes is computed from its first load to its last store, in vectors of as many lanes as are left, so
that nothing is masked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from umiak.compiler.loop.node import Node, linear
from umiak.compiler.loop.tree import Buffer, Kernel, Loop, Store
from umiak.compiler.nest import NestBuffer
from umiak.compiler.render.llvm import basic
from umiak.compiler.render.operations import Operations, constant
from umiak.compiler.render.target import Target
from umiak.compiler.render.text import Module, literal, spell
from umiak.compiler.schedule.unrolled import rows


def render(kernel: Kernel, target: Target) -> str:
    """A module with one function: ``i32 name(self, ptrs, dims, words, stream)``."""
    module = Module(target)
    module.functions.append(Unrolled(module, basic(kernel, target)).text())
    return module.text()


def lanes_of(buffers: Sequence[Buffer | NestBuffer], target: Target) -> int:
    """Lanes of a vector of the widest elements."""
    return max(target.vector_bits // max(max(b.type.bits, 8) for b in buffers), 2)


def parts(count: int, width: int) -> Iterator[tuple[int, int]]:
    """First lane and number of lanes of each part, in powers of two."""
    at = 0
    while at < count:
        while width > count - at:
            width //= 2
        yield at, width
        at += width


class Unrolled(Operations):
    """The text of one function."""

    def __init__(self, module: Module, kernel: Kernel) -> None:
        super().__init__(module)
        self.kernel = kernel
        self.buffers = {b.name: (k, b) for k, b in enumerate(kernel.buffers)}
        (loop,) = kernel.body
        assert isinstance(loop, Loop)
        self.over = loop
        self.axis = loop.axis.index
        self.first, self.lanes = 0, 0  # of the part that is computed; one lane is a scalar: 0
        self.pointers: dict[str, str] = {}
        self.elements: dict[tuple[str, int], str] = {}  # scalars that were read
        self.splats: dict[tuple[str, int], str] = {}

    def text(self) -> str:
        body = [s for s in self.over.body if isinstance(s, Store)]
        for first, width in parts(self.over.axis.hi.attr, lanes_of(self.kernel.buffers, self.target)):
            self.first, self.lanes = first, width if width > 1 else 0
            for x in [x for x in self.memo if self.axis in x.axes]:
                del self.memo[x]
            for point in rows(body):
                # An output may be the memory of an input that this point alone reads.
                values = [self.wide(s.value) for s in point]
                for s, text in zip(point, values, strict=True):
                    self.store(s, text)
        lines = self.scopes[0].lines
        arguments = "ptr %self, ptr %ptrs, ptr %dims, ptr %words, i64 %stream"
        return "\n".join([f"define i32 @{self.kernel.name}({arguments}) #0 {{", "entry:", *lines, "  ret i32 0", "}"])

    def value(self, x: Node) -> str:
        """A vector where the node differs between lanes, else a scalar."""
        memo = self.memo
        stack = [x]
        while stack:
            top = stack[-1]
            if top in memo:
                stack.pop()
                continue
            missing = [] if top.op == "load" else [a for a in top.args if a not in memo]
            if missing:
                stack += reversed(missing)
                continue
            memo[stack.pop()] = self.define(top)
        return memo[x]

    def define(self, x: Node) -> str:
        lanes = self.lanes if self.axis in x.axes else 0
        if x.op == "const":
            return literal(x.attr, x.type)
        if x.op == "load":
            return self.read(x)
        if x.op == "word":
            pointer = self.emit(f"getelementptr i64, ptr %words, i64 {x.attr}")
            return self.emit(f"load {spell(x.type)}, ptr {pointer}, align 8")
        if x is self.axis:
            if not lanes:
                return str(self.first)
            return f"<{', '.join(f'i64 {self.first + k}' for k in range(lanes))}>"
        return self.operate(x, [self.wide(a) if lanes else self.value(a) for a in x.args], lanes)

    def wide(self, x: Node) -> str:
        """The node in all lanes of the part."""
        text = self.value(x)
        if not self.lanes or self.axis in x.axes:
            return text
        if x.op == "const":
            return constant(x.attr, x.type, self.lanes)
        key = text, self.lanes
        if key not in self.splats:
            self.splats[key] = self.splat(text, spell(x.type), self.lanes)
        return self.splats[key]

    # Memory
    def pointer(self, buffer: str) -> str:
        if buffer not in self.pointers:
            pointer = self.emit(f"getelementptr ptr, ptr %ptrs, i64 {self.buffers[buffer][0]}")
            self.pointers[buffer] = self.emit(f"load ptr, ptr {pointer}, align 8")
        return self.pointers[buffer]

    def element_pointer(self, buffer: str, element: int) -> str:
        bytes_ = element * self.buffers[buffer][1].type.bytes
        start = self.pointer(buffer)
        return self.emit(f"getelementptr i8, ptr {start}, i64 {bytes_}") if bytes_ else start

    def read(self, x: Node) -> str:
        form = linear(x.args[0], self.axis)
        assert form is not None and form[0].op == form[1].op == "const", "positions are numbers"
        step, first = form[0].attr, form[1].attr + form[0].attr * self.first
        if not step or not self.lanes:
            return self.element(x, first)
        t, w = x.type, self.lanes
        if step == 1:
            got = self.emit(f"load {spell(t, w, True)}, ptr {self.element_pointer(x.attr, first)}, align {t.bytes}")
            return self.emit(f"icmp ne {spell(t, w, True)} {got}, zeroinitializer") if t.kind == "b" else got
        got, full = "poison", spell(t, w)
        for k in range(w):
            got = self.emit(f"insertelement {full} {got}, {spell(t)} {self.element(x, first + k * step)}, i64 {k}")
        return got

    def element(self, x: Node, at: int) -> str:
        key = x.attr, at
        if key not in self.elements:
            t = x.type
            got = self.emit(f"load {spell(t, 0, True)}, ptr {self.element_pointer(x.attr, at)}, align {t.bytes}")
            self.elements[key] = self.emit(f"icmp ne i8 {got}, 0") if t.kind == "b" else got
        return self.elements[key]

    def store(self, s: Store, text: str) -> None:
        form = linear(s.index, self.axis)
        assert form is not None and form[1].op == "const", "positions are numbers"
        t, w = self.buffers[s.buffer][1].type, self.lanes
        if t.kind == "b":
            text = self.emit(f"zext {spell(t, w)} {text} to {spell(t, w, True)}")
        pointer = self.element_pointer(s.buffer, form[1].attr + self.first)
        self.emit_void(f"store {spell(t, w, True)} {text}, ptr {pointer}, align {t.bytes}")
