"""The statements of the loop IR: loops over named axes, reductions, scans, stores.

A kernel says what happens at each point of its iteration space, one number at a time. How wide vectors are, how loops
are unrolled and how their ends are masked is up to a renderer; which axis runs over lanes is said here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from umiak.compiler.loop.monoid import Monoid
from umiak.compiler.loop.node import Node, i64
from umiak.compiler.loop.types import ScalarType

# How an axis runs.
SERIAL = "serial"  # one index after the other, in order
LANE = "lane"  # independent indices, side by side: vector lanes on CPUs, threads of a block on GPUs
TILE = "tile"  # like LANE, around a LANE axis: both together are tiles that are transposed in registers
BLOCK = "block"  # independent indices in groups that share local buffers; CPUs run it as SERIAL
KINDS = (SERIAL, LANE, TILE, BLOCK)

IN, OUT, LOCAL, SHARED, GLOBAL = "in", "out", "local", "shared", "global"


@dataclass(frozen=True)
class Buffer:
    """Memory of one element type. ``in`` and ``out`` come as pointers in this order. Scratch has a ``size`` in
    elements: ``local`` belongs to one part of the parallel range, ``shared`` to a block (CPUs: as local), ``global``
    to the launch, through all its kernels, which declare the same global buffers in the same order.

    An ``in`` buffer may be the same memory as an ``out`` buffer only if each element is read at the very point of the
    iteration space that writes it, before it does.
    """

    name: str
    type: ScalarType
    space: str
    size: Node | None = None


@dataclass(frozen=True)
class Axis:
    """One dimension of iteration: ``lo <= index < hi`` in steps of ``step``."""

    index: Node  # node.axis(...)
    hi: Node
    lo: Node = field(default_factory=lambda: i64(0))
    kind: str = SERIAL
    step: int = 1


class Statement:
    """Base of what a body consists of."""


@dataclass(frozen=True)
class Loop(Statement):
    """``body`` at each index. ``parallel``: iterations are independent and divided among threads (GPUs: the grid); at
    most one loop of a kernel is, the outermost, and the caller says which part ``[lo, hi)`` of it to run. ``brief``:
    little of the kernel's work is here, and short code matters more than the fastest. ``counter``: a buffer of i32
    whose first element counts the iterations of the parallel loop that have been claimed, 0 at the start; blocks that
    are done with one claim the next, so that unequal iterations are divided evenly. Its last value means nothing.
    """

    axis: Axis
    body: tuple[Statement, ...]
    parallel: bool = False
    brief: bool = False
    counter: str | None = None


@dataclass(frozen=True)
class Reduce(Statement):
    """``results`` (variables) become the combination of ``values`` over all indices of ``axes`` (outermost first).

    ``init`` is combined first; by default the identity of the monoid. An empty range gives it. ``where`` leaves
    points out. At most the last axis is LANE.
    """

    results: tuple[Node, ...]
    monoid: Monoid
    axes: tuple[Axis, ...]
    values: tuple[Node, ...]
    init: tuple[Node, ...] | None = None
    where: Node | None = None


@dataclass(frozen=True)
class Scan(Statement):
    """Running combination: at each index of ``axis``, in order, ``results`` are the combination of ``values`` up to
    and including it, and ``body`` runs. ``exclusive``: up to and not including it."""

    results: tuple[Node, ...]
    monoid: Monoid
    axis: Axis
    values: tuple[Node, ...]
    body: tuple[Statement, ...]
    init: tuple[Node, ...] | None = None
    exclusive: bool = False


@dataclass(frozen=True)
class Let(Statement):
    """``results`` (variables) become ``values`` as they are here, whatever stores change later. Not for renderers of
    vector lanes (``render/llvm.py``)."""

    results: tuple[Node, ...]
    values: tuple[Node, ...]


@dataclass(frozen=True)
class Fold(Statement):
    """``results`` (variables) become what ``states`` (variables) are in the end: ``init`` first, and ``values``, which
    read them, after each index of ``axis``, in order. No order but this one gives the result. Where ``where``, which
    reads the states, too, does not hold they stay as they are. As :class:`Let`, not for renderers of vector lanes."""

    results: tuple[Node, ...]
    states: tuple[Node, ...]
    axis: Axis
    init: tuple[Node, ...]
    values: tuple[Node, ...]
    where: Node | None = None


@dataclass(frozen=True)
class Store(Statement):
    """``buffer[index] = value`` where ``where`` holds. ``streaming``: nobody reads it soon.

    Stores that follow each other at one point read ``in`` buffers before the first of them writes: outputs may be
    the memory of inputs that the others still need.
    """

    buffer: str
    index: Node
    value: Node
    where: Node | None = None
    streaming: bool = False


@dataclass(frozen=True)
class Atomic(Statement):
    """``buffer[index] = op(buffer[index], value)`` as one step, where iterations of lanes or blocks may meet.

    ``old``: a variable that becomes the element as it was before, of an integer of 32 bits; it means nothing where
    ``where`` does not hold."""

    op: str  # add, min, max, or, and
    buffer: str
    index: Node
    value: Node
    where: Node | None = None
    old: Node | None = None


@dataclass(frozen=True)
class If(Statement):
    """``body`` where ``where`` holds; it must not depend on a LANE axis outside of which the If stands."""

    where: Node
    body: tuple[Statement, ...]


@dataclass(frozen=True)
class Fail(Statement):
    """The kernel returns ``code`` (> 0) once ``where`` held anywhere; what it has written then means nothing."""

    code: int
    where: Node


@dataclass(frozen=True)
class Barrier(Statement):
    """All lanes of a block arrive before any goes on. CPUs have nothing to do."""


class BlockStatement(Statement):
    """Base of what the threads of a block do together on tiles (``loop/tiles.py``). Not for renderers of vector lanes.

    It says itself which expressions it has, and which buffers it reads and writes besides the loads in them.
    """

    def nodes(self) -> Iterator[Node]:
        """The expressions of the statement itself."""
        yield from ()

    def replaced(self, f: Callable[[Node], Node]) -> BlockStatement:
        """The statement, and those inside of it, with ``f`` of each expression in its place."""
        return self

    def reads(self) -> tuple[str, ...]:
        return ()

    def writes(self) -> tuple[str, ...]:
        return ()


@dataclass(frozen=True)
class Kernel:
    """One function. ``dims``: how many i64 arguments it takes; ``words``: types of the scalar pack's words it reads
    are on the nodes. ``tiles``: what a block keeps in registers (``loop/tiles.py``). ``threads`` of a block, where the
    kernel is for that number alone."""

    name: str
    buffers: tuple[Buffer, ...]
    dims: int
    body: tuple[Statement, ...]
    tiles: tuple[Any, ...] = ()
    threads: int | None = None

    def buffer(self, name: str) -> Buffer:
        for b in self.buffers:
            if b.name == name:
                return b
        raise KeyError(f"kernel {self.name!r} has no buffer {name!r}")


def children(s: Statement) -> tuple[Statement, ...]:
    """The statements directly inside of one."""
    return getattr(s, "body", ())


def axes_of(s: Statement) -> tuple[Axis, ...]:
    """The axes that a statement opens."""
    if isinstance(s, Reduce):
        return s.axes
    return (s.axis,) if isinstance(s, (Loop, Scan, Fold)) else ()


def expressions(s: Statement) -> Iterator[Node]:
    """The expressions of a statement itself, those of its body left out."""
    if isinstance(s, BlockStatement):
        yield from s.nodes()
        return
    for a in axes_of(s):
        yield from (a.lo, a.hi)
    for name in ("index", "value", "where"):
        x = getattr(s, name, None)
        if isinstance(x, Node):
            yield x
    if isinstance(s, (Reduce, Scan, Let, Fold)):
        yield from s.values
        yield from getattr(s, "init", None) or ()


def with_expressions(body: Sequence[Statement], f: Callable[[Node], Node]) -> tuple[Statement, ...]:
    """The statements with ``f`` of each expression in its place, those of axes as well."""

    def of_axis(a: Axis) -> Axis:
        return replace(a, lo=f(a.lo), hi=f(a.hi))

    result: list[Statement] = []
    for s in body:
        if isinstance(s, BlockStatement):
            result.append(s.replaced(f))
            continue
        changed: dict[str, Any] = {}
        for name in ("index", "value", "where"):
            x = getattr(s, name, None)
            if isinstance(x, Node):
                changed[name] = f(x)
        for name in ("values", "init"):
            several = getattr(s, name, None)
            if several is not None:
                changed[name] = tuple(map(f, several))
        if isinstance(s, Reduce):
            changed["axes"] = tuple(map(of_axis, s.axes))
        elif axes_of(s):
            changed["axis"] = of_axis(*axes_of(s))
        if children(s):
            changed["body"] = with_expressions(children(s), f)
        result.append(replace(s, **changed))  # type: ignore[type-var]
    return tuple(result)


def walk_statements(body: Sequence[Statement]) -> Iterator[Statement]:
    """All statements, outer ones first."""
    for s in body:
        yield s
        yield from walk_statements(children(s))
