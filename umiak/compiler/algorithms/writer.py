"""Writing bodies: loops and conditions as Python's ``with``, arrays by index."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from umiak.compiler.algorithms.number import Number
from umiak.compiler.algorithms.statements import Statements
from umiak.compiler.loop import node as n
from umiak.compiler.loop.node import Node
from umiak.compiler.loop.tree import Store
from umiak.compiler.loop.types import ScalarType
from umiak.compiler.lower.builder import Index, compute_type, storage_type
from umiak.compiler.lower.terminal import LaunchBuilder
from umiak.compiler.nest import BodyStage, Chain, Nest, NestBuffer
from umiak.core.dtype import DType
from umiak.ir import sym as dim
from umiak.ir.meta import dense
from umiak.ir.program import Operation

Algorithm: TypeAlias = "Callable[[Writer], None]"
ALGORITHMS: dict[type, Algorithm] = {}


def algorithm(*classes: type) -> Callable[[Algorithm], Algorithm]:
    """Register the decorated function, which writes the body of calls, for op classes."""

    def enter(fn: Algorithm) -> Algorithm:
        for cls in classes:
            ALGORITHMS[cls] = fn
        return fn

    return enter


class Array:
    """Memory that is read and written by index: ``x[i, j]`` is a number, ``x[i, j] = y`` writes a store. ``lead`` are
    the first indices, which the point of P fixes."""

    def __init__(
        self, writer: Writer, buffer: str, storage: ScalarType, type_: ScalarType, complex_: bool,
        shape: Sequence[Any], lead: Index,
    ) -> None:  # fmt: skip
        self.writer, self.buffer, self.lead = writer, buffer, lead
        self.storage, self.type, self.is_complex = storage, type_, complex_
        self.strides = dense(tuple(shape)).strides

    @property
    def zero(self) -> Number:
        """0 as an element."""
        zero = n.const(0, self.type)
        return Number(zero, zero) if self.is_complex else Number(zero)

    def _address(self, index: Any) -> Node:
        index = index if isinstance(index, tuple) else (index,)
        at = (*self.lead, *map(self.writer.integer, index))
        return self.writer.builder.address(self.buffer, at, self.strides, 2 if self.is_complex else 1)

    def __getitem__(self, index: Any) -> Number:
        at = self._address(index)
        parts = (at, n.add(at, 1)) if self.is_complex else (at,)
        return Number(*(n.cast(n.load(self.buffer, self.storage, p), self.type) for p in parts))

    def __setitem__(self, index: Any, value: Number | Node) -> None:
        value = value if isinstance(value, Number) else Number(value)
        if self.is_complex:
            # Both parts before either is stored: they may read this element.
            value = self.writer.let(value if value.im is not None else Number(value.re, n.const(0.0, value.type)))
        at = self._address(index)
        for k, x in enumerate(value.parts):
            self.writer.emit(Store(self.buffer, n.add(at, k) if k else at, n.cast(x, self.storage)))


class Operand:
    """A tensor operand as an array that is only read, wherever its elements lie."""

    def __init__(self, writer: Writer, value: Any, lead: Index) -> None:
        self.writer, self.value, self.lead = writer, value, lead
        self.shape = tuple(value.meta.shape)
        self.dtype: DType = value.meta.dtype

    def __getitem__(self, index: Any) -> Number:
        index = index if isinstance(index, tuple) else (index,)
        return Number.of(self.writer.builder.read(self.value, (*self.lead, *map(self.writer.integer, index))))


class Writer(Statements):
    """Writes the body of one operation's nest."""

    def __init__(self, launch: LaunchBuilder, operation: Operation) -> None:
        super().__init__()
        self.launch, self.operation, self.op = launch, operation, operation.op
        self.builder = launch.builder()
        self.lead: Index = ()
        self.sizes: tuple[Any, ...] = ()
        self._nests: list[Nest] = []

    # --- what there is ---

    def points(self, *sizes: Any) -> Index:
        """Open the axes of P, at each point of which the body runs; their indices. They come first in the index of
        memory that is asked for later."""
        self.sizes, self.lead = sizes, self.builder.open(sizes)
        return self.lead

    def operand(self, k: int, lead: Index | None = None) -> Operand:
        """Operand ``k``; ``lead``: its first indices, by default those of the points."""
        return Operand(self, self.operation.operands[k], self.lead if lead is None else lead)

    def shape(self, k: int) -> tuple[Any, ...]:
        return tuple(self.operation.operands[k].meta.shape)

    def broadcast(self, k: int, core: int) -> Operand:
        """Operand ``k``, whose dims but the last ``core`` broadcast to the points."""
        shape = self.shape(k)
        head = shape[: len(shape) - core]
        return self.operand(k, self.builder.broadcast(head, self.sizes, self.lead))

    def result(self, k: int, lead: Index | None = None) -> Array:
        """Result ``k``, or memory in its place where nobody wants it."""
        v = self.operation.results[k]
        lead = self.lead if lead is None else lead
        dtype = v.meta.dtype
        assert dtype is not None
        buffer = self.launch.place.get(id(v)) or self._memory(storage_type(dtype), v.meta.shape, dtype.is_complex)
        return Array(self, buffer, storage_type(dtype), compute_type(dtype), dtype.is_complex, v.meta.shape, lead)

    def memory(self, type_: ScalarType, *shape: Any, complex_: bool = False) -> Array:
        """Scratch of these dims at each point of P."""
        full = (*self.sizes, *shape)
        buffer = self._memory(type_, full, complex_)
        return Array(self, buffer, type_, type_, complex_, full, self.lead)

    def _memory(self, type_: ScalarType, shape: Sequence[Any], complex_: bool) -> str:
        buffer = self.launch.temporary(type_, dim.product(tuple(shape)) * (2 if complex_ else 1))
        self.builder.extra(buffer, type_, True)
        return buffer

    def integer(self, x: Any) -> Node:
        """An index or a size as a node."""
        return super().integer(x) if isinstance(x, Number | Node) else self.builder.leaf(x)

    def _axis(self) -> Node:
        index = super()._axis()
        self.builder.inner.add(index)
        return index

    def number(self, x: Any, type_: ScalarType) -> Number:
        """A number of Python, a param or a numeric operand."""
        return Number(self.builder.number(x, type_))

    def then(self) -> None:
        """Begin another nest, over points of its own, which runs when this one is done at all points. Memory that both
        use is asked for before the points are."""
        (body,) = self._stack
        self.builder.stages.append(BodyStage(tuple(body), self.together))
        self._nests.append(self.builder.finish())
        self.builder = self.launch.builder(range(len(self.launch.temporaries)))
        self.lead, self.sizes, self.together, self._stack = (), (), False, [[]]

    def finish(self) -> Nest | Chain:
        if self._stack != [[]]:
            self.then()
        # Memory that was asked for later is a buffer of all nests.
        first = len(self.launch.inputs) + len(self.launch.results)
        spare = [NestBuffer(f"t{k}", t.type) for k, t in enumerate(self.launch.temporaries)]
        return self.launch.chain(
            [replace(nest, buffers=(*nest.buffers, *spare[len(nest.buffers) - first :])) for nest in self._nests]
        )
