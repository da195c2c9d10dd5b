"""Ops whose nest nothing joins after: scans, scatters, what has several results of different shapes.

Their operands are pulled as others' are, but they answer with whole nests, one or a chain of them, not with elements.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from umiak.compiler.loop.types import ScalarType
from umiak.compiler.lower.builder import Builder, Element, Index
from umiak.compiler.nest import Chain, Nest, StoreStage, Temporary
from umiak.ir.expr import Sym
from umiak.ir.meta import dense
from umiak.ir.program import Operation, Value


class LaunchBuilder:
    """Makes the builders of one launch's nests. ``results`` of its last operation are what the launch returns."""

    def __init__(
        self,
        name: str,
        sources: Mapping[Sym, tuple[int, int]],
        inputs: Sequence[tuple[Any, Sequence[Any]]],
        results: Sequence[Value],
    ) -> None:
        self.name, self.sources, self.inputs, self.results = name, sources, inputs, results
        self.temporaries: list[Temporary] = []
        self.place: dict[int, str] = {}  # id of a result -> its buffer

    def builder(self, writes: Sequence[int] = ()) -> Builder:
        """A builder of one nest. ``writes``: which temporaries are among its outputs."""
        b = Builder(self.name, self.sources)
        for value, strides in self.inputs:
            if type(value) is Value:
                b.input(value, strides)
            else:
                b.skip()
        for v in self.results:
            self.place[id(v)] = b.output(v.meta)
        for k, t in enumerate(self.temporaries):
            b.extra(f"t{k}", t.type, k in writes)
        return b

    def temporary(self, type_: ScalarType, size: Any) -> str:
        """Memory for this launch, to be asked for before the builders that use it; its buffer."""
        self.temporaries.append(Temporary(type_, size))
        return f"t{len(self.temporaries) - 1}"

    def wanted(self, o: Operation) -> list[bool]:
        """The results of the last operation that are wanted."""
        ids = {id(v) for v in self.results}
        return [id(r) in ids for r in o.results]

    def stores(self, b: Builder, v: Value, at: Index, value: Element) -> list[StoreStage]:
        """The stores of one element of a result."""
        return b.store(self.place[id(v)], v.meta.dtype, dense(tuple(v.meta.shape)).strides, at, value)

    def chain(self, nests: Sequence[Nest], **into: Any) -> Nest | Chain:
        if len(nests) == 1 and not self.temporaries:
            return nests[0]
        return Chain(self.name, tuple(nests), tuple(self.temporaries), **into)


Terminal: TypeAlias = "Callable[[LaunchBuilder, Operation], Nest | Chain]"
TERMINALS: dict[type, tuple[Terminal, Callable[[Operation], bool]]] = {}


def terminal(*classes: type, when: Callable[[Operation], bool] = lambda o: True) -> Callable[[Terminal], Terminal]:
    """Register the decorated function for op classes, or for some of their calls."""

    def enter(fn: Terminal) -> Terminal:
        for cls in classes:
            TERMINALS[cls] = fn, when
        return fn

    return enter


def terminal_of(o: Operation) -> Terminal | None:
    """Return the function that makes the nests of a call, if nothing is to join after it."""
    fn, when = TERMINALS.get(type(o.op), (None, None))
    return fn if fn is not None and when is not None and when(o) else None


def has_terminal(op: Any) -> bool:
    """Return whether calls of an op may be terminal."""
    return type(op) in TERMINALS
