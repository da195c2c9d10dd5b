"""A mask of attention as an expression of the places of a query and a key.

What a program computes with an axis of queries and an axis of keys is read as a tree whose leaves have one of the two
at most: places (``iota``), numbers, and vectors, which are values of the program. Nothing with both axes is a leaf,
so a tree can be computed at any pairs of a query and a key.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, TypeAlias

from umiak.core.dtype import DType
from umiak.ir import sym as dim
from umiak.ir.program import Operation, Value

AXES = "bhij"  # batch, heads, queries, keys
Axes: TypeAlias = "tuple[str | None, ...]"  # of a value's dims; None where its size is 1


class Unreadable(Exception):
    """A value is no expression of places."""


@dataclass(frozen=True, eq=False)
class Node:
    """``axes``: on which of :data:`AXES` it depends."""

    dtype: DType | None  # None: a Python scalar
    axes: frozenset[str]

    @property
    def by_query(self) -> bool:
        """Tell whether it depends on the query's place."""
        return "i" in self.axes

    @property
    def by_both(self) -> bool:
        """Tell whether it depends on both places."""
        return "i" in self.axes and "j" in self.axes

    @property
    def operands(self) -> tuple[Node, ...]:
        """Trees that it is computed from."""
        return ()


@dataclass(frozen=True, eq=False)
class Number(Node):
    """A number, the same everywhere."""

    value: Any


@dataclass(frozen=True, eq=False)
class Place(Node):
    """``start + step * place`` along ``axis``."""

    axis: str
    start: Any
    step: Any


@dataclass(frozen=True, eq=False)
class Vector(Node):
    """A value of the program. ``of``: the axis of each of its dims."""

    value: Value
    of: Axes


@dataclass(frozen=True, eq=False)
class Call(Node):
    """An elementwise call."""

    operation: Operation
    args: tuple[Node | None, ...]

    @property
    def name(self) -> str:
        return self.operation.name

    @property
    def operands(self) -> tuple[Node, ...]:
        return tuple(x for x in self.args if x is not None)


@dataclass(frozen=True, eq=False)
class Half(Node):
    """``x`` on one side of a diagonal, elsewhere zero: where ``across - down <= diagonal``, or ``>=`` if ``upper``."""

    x: Node
    upper: bool
    diagonal: Any
    down: str
    across: str

    @property
    def operands(self) -> tuple[Node, ...]:
        return (self.x,)


@dataclass(frozen=True, eq=False)
class Entry(Node):
    """The entry of a 1-d table at ``index``."""

    table: Vector
    index: Node

    @property
    def operands(self) -> tuple[Node, ...]:
        return (self.table, self.index)


def vectors(*nodes: Node) -> Iterator[Vector]:
    """The values of the program that trees read, with repetitions."""
    for node in nodes:
        if isinstance(node, Vector):
            yield node
        yield from vectors(*node.operands)


class GradientReach:
    """The ways of gradients. ``still``: ids of inputs that get none; ``asked``: ids of values whose gradients are
    read.
    """

    def __init__(self, still: AbstractSet[int], asked: AbstractSet[int]) -> None:
        self.still, self.asked = still, asked
        self.known: dict[int, bool] = {}

    def ends_at(self, x: Value) -> bool:
        """Return whether somebody reads the gradient of a value, or has a hook there."""
        if x.stop or x.meta.dtype is None or not x.meta.dtype.is_continuous:
            return False
        return bool(x.hooks) or id(x) in self.asked

    def reaches(self, x: Any) -> bool:
        """Return whether a gradient may flow from a value to where somebody reads it."""
        if type(x) is not Value or x.stop or x.meta.dtype is None or not x.meta.dtype.is_continuous:
            return False
        if id(x) not in self.known:
            o = x.operation
            further = id(x) not in self.still if o is None else any(map(self.reaches, o.operands))
            self.known[id(x)] = further or self.ends_at(x)
        return self.known[id(x)]


class Reader:
    """Reads values whose axes have the sizes ``sizes``, those of :data:`AXES`.

    ``flow``: where gradients go; what is read gets none.
    """

    def __init__(self, sizes: Sequence[Any], flow: GradientReach) -> None:
        self.sizes = dict(zip(AXES, sizes, strict=True))
        self.flow = flow
        self.known: dict[tuple, Node] = {}

    def read(self, x: Any, axes: Axes) -> Node:
        """Return the tree of an operand whose dims are these axes.

        Raises:
            Unreadable: something with both axes is no expression of places.
        """
        if type(x) is not Value:
            return Number(None, frozenset(), x)
        shape = x.meta.shape
        axes = tuple(None if type(n) is int and n == 1 else a for n, a in zip(shape, axes, strict=True))
        key = (id(x), axes)
        if key not in self.known:
            if not all(a is None or dim.expands(n, self.sizes[a]) for n, a in zip(shape, axes, strict=True)):
                raise Unreadable(f"{x} has other sizes than the scores")
            if self.flow.ends_at(x):
                raise Unreadable("a gradient is asked for")
            try:
                self.known[key] = self._operation(x, axes)
            except Unreadable:
                if "i" in axes and "j" in axes:
                    raise
                if self.flow.reaches(x):
                    raise Unreadable("a gradient may flow to it") from None
                self.known[key] = _vector(x, axes)
        return self.known[key]

    def need_whole(self, o: Operation, axes: Axes) -> None:
        """Refuse what tells places where a dim may be 1 place that stands for all."""
        shape = o.results[0].meta.shape
        if not all(a is None or dim.same(n, self.sizes[a]) for n, a in zip(shape, axes, strict=True)):
            raise Unreadable(f"{o.name} of a size that may be 1")

    def _operation(self, x: Value, axes: Axes) -> Node:
        o = x.operation
        if o is None or len(o.results) != 1 or x.meta.dtype is None:
            raise Unreadable(f"{x} is given")
        rule = _RULES.get(o.name)
        if rule is not None:
            return rule(self, o, axes)
        if not o.op.elementwise or o.op.random:
            raise Unreadable(f"{o.name} moves or mixes elements")
        args = tuple(None if v is None else self.read(v, _last(v, axes)) for v in o.operands)
        return Call(x.meta.dtype, _union(args), o, args)


def _union(nodes: Sequence[Node | None]) -> frozenset[str]:
    return frozenset().union(*(n.axes for n in nodes if n is not None))


def _vector(x: Value, axes: Axes) -> Vector:
    return Vector(x.meta.dtype, frozenset(a for a in axes if a is not None), x, axes)


def _last(x: Any, axes: Axes) -> Axes:
    """The axes of an operand that broadcasts to a result with these."""
    return axes[len(axes) - x.meta.ndim :] if type(x) is Value else ()


# --- operations that are not elementwise -----------------------------------------------------------------------------


def _iota(reader: Reader, o: Operation, axes: Axes) -> Node:
    return _places(reader, o, axes, *o.operands)


def _places(reader: Reader, o: Operation, axes: Axes, start: Any, step: Any) -> Node:
    (axis,) = axes
    if axis not in ("i", "j"):
        raise Unreadable(f"{o.name} along another axis")
    reader.need_whole(o, axes)
    return Place(o.results[0].meta.dtype, frozenset(axis), axis, start, step)


def _slice(reader: Reader, o: Operation, axes: Axes) -> Node:
    """A part of places is places."""
    (x,) = o.operands
    producer = x.operation if type(x) is Value else None
    if producer is None or producer.name != "iota" or len(o.op.axes) != 1:
        raise Unreadable("a slice")
    starts, _, steps = o.params
    start, step = producer.operands
    return _places(reader, o, axes, start + step * starts[0], step * steps[0])


def _full(reader: Reader, o: Operation, axes: Axes) -> Node:
    (value,) = o.operands
    if type(value) is Value:
        raise Unreadable("a number that is a tensor")
    return Number(o.results[0].meta.dtype, frozenset(), value)


def _broadcast(reader: Reader, o: Operation, axes: Axes) -> Node:
    (x,) = o.operands
    return reader.read(x, _last(x, axes))


def _unsqueeze(reader: Reader, o: Operation, axes: Axes) -> Node:
    return reader.read(o.operands[0], tuple(a for i, a in enumerate(axes) if i not in o.op.axes))


def _permute(reader: Reader, o: Operation, axes: Axes) -> Node:
    back = dict(zip(o.op.perm, axes, strict=True))
    return reader.read(o.operands[0], tuple(back[i] for i in range(len(axes))))


def _reshape(reader: Reader, o: Operation, axes: Axes) -> Node:
    """Dims of size 1 that come or go; others stay in order."""
    x: Any = o.operands[0]
    rest = [a for a in axes if a is not None]
    wide = [not (type(n) is int and n == 1) for n in x.meta.shape]
    if sum(wide) != len(rest):
        raise Unreadable("a reshape that moves elements")
    taken = iter(rest)
    return reader.read(x, tuple(next(taken) if w else None for w in wide))


def _stack(reader: Reader, o: Operation, axes: Axes) -> Node:
    """One value with one more dim."""
    if len(o.operands) != 1:
        raise Unreadable("several values side by side")
    return reader.read(o.operands[0], tuple(a for i, a in enumerate(axes) if i != o.op.axis))


def _half(reader: Reader, o: Operation, axes: Axes) -> Node:
    down, across = axes[-2:]
    if {down, across} != {"i", "j"}:
        raise Unreadable("a triangle that is not of queries and keys")
    reader.need_whole(o, axes)
    x = reader.read(o.operands[0], axes)
    return Half(x.dtype, x.axes | {"i", "j"}, x, o.name == "triu", o.params[0], down, across)  # type: ignore[arg-type]


def _entry(reader: Reader, o: Operation, axes: Axes) -> Node:
    table: Any
    table, index = o.operands
    if table.meta.ndim != 1:
        raise Unreadable("entries of a table of several dims")
    if not o.op.from_end:
        raise Unreadable("entries that may not count from the end")
    at = reader.read(index, axes)
    return Entry(table.meta.dtype, at.axes, Vector(table.meta.dtype, frozenset(), table, (None,)), at)


_RULES = {
    "iota": _iota,
    "slice": _slice,
    "full": _full,
    "broadcast_to": _broadcast,
    "unsqueeze": _unsqueeze,
    "squeeze": _reshape,
    "stack": _stack,
    "reshape": _reshape,
    "permute": _permute,
    "tril": _half,
    "triu": _half,
    "take": _entry,
}
