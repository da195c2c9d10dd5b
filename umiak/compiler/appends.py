"""Values that grow in a loop: joins that only add slices to one that the loop carries, which a run makes in memory with
room for more (``umiak/runtime/appending.py``), so that many of them copy each slice a few times and not once for each
that follows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from umiak.ir.program import Block, Operation, Value
from umiak.ops.control import Cond, Loop, While
from umiak.ops.effects import Sized
from umiak.ops.movement import Concat


class Append(Concat):
    """A ``concat`` in a loop whose first operand is a value that grows there, or a copy of such a value. No program has
    it: it stands in what is lowered."""


def is_append(operation: Operation) -> bool:
    """Return whether an operation adds to what grows in a loop."""
    return type(operation.op) is Append


def with_appends(operations: Sequence[Operation]) -> list[Operation]:
    """The operations with :class:`Append` in their loops; values stay what they are."""
    return _marked(operations, set()) if any(o.regions for o in operations) else list(operations)


def _marked(operations: Iterable[Operation], growing: set[int]) -> list[Operation]:
    """``growing``: by identity, the values that grow, to which those are added that the operations make."""
    return [_operation(o, growing) for o in operations]


def _operation(o: Operation, growing: set[int]) -> Operation:
    if o.regions:
        return _with_regions(o, growing)
    if type(o.op) is Sized and id(o.operands[0]) in growing:
        growing.add(id(o.results[0]))
    elif _adds(o.op) and id(o.operands[0]) in growing:
        growing.add(id(o.results[0]))
        return _over_same(o, o.replace(op=Append(axis=0)))
    return o


def _adds(op: Any) -> bool:
    return op.name == "copy" or (type(op) is Concat and op.axis == 0)


def _with_regions(o: Operation, growing: set[int]) -> Operation:
    blocks = []
    for region in o.regions:
        if isinstance(o.op, Loop):
            own = set(_grown(o, region.arguments)) if region is o.regions[-1] else set()
        else:
            pairs = zip(region.arguments, o.operands[1:], strict=True)
            own = {id(v) for v, x in pairs if id(x) in growing}
        block = Block()
        block.arguments, block.outputs = region.arguments, region.outputs
        block.operations = _marked(region.operations, own)
        blocks.append(block)
        if type(o.op) is Cond:
            growing.update(id(r) for r, y in zip(o.results, region.outputs, strict=True) if id(y) in own)
    if type(o.op) is While:
        growing.update(_grown(o, o.results))
    return _over_same(o, o.replace(regions=blocks))


def _grown(o: Operation, values: Sequence[Value]) -> Iterable[int]:
    """Of the values, those that stand for what a loop has longer in each iteration."""
    if type(o.op) is not While:
        return ()
    return (id(values[i]) for i, axis in zip(o.op.grown, o.op.axes, strict=True) if axis == 0)


def _over_same(old: Operation, new: Operation) -> Operation:
    """``new``, with the results of ``old``."""
    new.results = old.results
    return new
