"""Values that a gradient computes again instead of keeping them: a minimum cut of the program.

The values of the forward part that the backward part reads need not all be kept: what cheap operations make of others
can be made again. The cheapest set of values from which everything is made again is a minimum cut (as in Chen and
others, Training Deep Nets with Sublinear Memory Cost, 2016, with the cut of a network in place of segments). A value
costs its bytes; what is there anyway costs nothing: inputs, and results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from umiak import ops as F
from umiak.compiler.lower.group import lowerable
from umiak.ir.builder import Builder
from umiak.ir.expr import Sym
from umiak.ir.program import Operation, Program, Value, copy_operation, is_pure
from umiak.util.min_cut import INFINITE, min_cut

USUAL_SIZE = 64  # of a dim that is not known


class Recomputed(NamedTuple):
    """Bytes that the backward part keeps of the forward one, before and after, and the operations made again."""

    bytes_before: int
    bytes_after: int
    operations: int


def cheap(o: Operation) -> bool:
    """Return whether an operation may be made again: it reads and writes memory, alone or in a kernel with others, and
    is no library's work."""
    if lowerable(o.op) or o.op.view or o.op.random:
        return True
    return o.op.decompose is not None and (o.op.multiply_adds is None or o.name in ("layer_norm", "rms_norm"))


def recompute(
    program: Program,
    forward: int,
    backward: int,
    again: Callable[[Operation], bool] = cheap,
    wanted: Iterable[Any] = (),
) -> Recomputed:
    """Have the operations from number ``backward`` on make again what is cheaper to make than to keep.

    The first ``forward`` operations are the forward part. ``again``: which may be repeated; ``wanted``: values that are
    there anyway, beside inputs and outputs.
    """
    first, behind = program.ops[:forward], program.ops[backward:]
    made = {id(r): o for o in first for r in o.results}
    read = {id(v): v for o in behind for v in o.values if id(v) in made}
    there = {id(x) for x in (*program.outputs, *(w.value for w in program.effects), *wanted) if type(x) is Value}
    repeated = {
        id(o) for o in first if again(o) and is_pure(o) and not o.regions and not any(r.hooks for r in o.results)
    }
    saved = _cut(first, read, repeated, there)
    table: dict[int, Value] = {}
    maker = _Maker(program, made, saved, table)
    operations = program.ops[:backward]
    count = len(operations)
    for o in behind:
        near = next((v for v in o.values if id(v) not in made and v.operation is not None), None)
        for v in o.values:
            if id(v) in made and id(v) not in saved:
                maker.make(v, near, operations)
        o.operands = tuple(table.get(id(x), x) if type(x) is Value and id(x) not in saved else x for x in o.operands)
        operations.append(o)
    copies = len(operations) - count - len(behind) - maker.barriers
    program.body.operations = operations
    kept = {id(v): v for o in operations[backward:] for v in o.values if id(v) in made}
    before = sum(bytes_of(v) for key, v in read.items() if key not in there)
    after = sum(bytes_of(v) for key, v in kept.items() if key not in there)
    program.renumber()
    return Recomputed(before, after, copies)


def _cut(first: Sequence[Operation], read: dict[int, Value], repeated: set[int], there: set[int]) -> set[int]:
    """The ids of the forward values that are kept."""
    node = {id(r): 2 + 2 * i for i, r in enumerate(r for o in first for r in o.results)}
    edges: list[tuple[int, int, float]] = []
    for o in first:
        for r in o.results:
            n = node[id(r)]
            edges.append((n, n + 1, 0.0 if id(r) in there else float(bytes_of(r))))
            if id(o) not in repeated or id(r) in there:
                edges.append((0, n, INFINITE))
            if id(r) in read:
                edges.append((n + 1, 1, INFINITE))
            edges += [(node[id(v)] + 1, n, INFINITE) for v in o.values if id(v) in node]
    side = min_cut(2 + 2 * len(node), edges, 0, 1)
    return {key for key, n in node.items() if n in side and n + 1 not in side}


def bytes_of(v: Value) -> int:
    """Return the bytes of a value; sizes that are not known count as what they were when it was traced, or as usual."""
    return max(v.meta.dtype.bits // 8, 1) * size_of(v.meta.shape)  # type: ignore[union-attr]


def size_of(shape: Sequence) -> int:
    """Return the number of elements; sizes that are not known count as what they were, or as usual."""
    size = 1
    for n in shape:
        size *= n if type(n) is int else (n.hint if type(n) is Sym and type(n.hint) is int else USUAL_SIZE)
    return size


class _Maker:
    """Operations of the forward part once more, in the backward one."""

    def __init__(self, program: Program, made: dict[int, Operation], saved: set[int], table: dict[int, Value]) -> None:
        self.builder = Builder(program)
        self.made, self.saved, self.table = made, saved, table
        self.behind: dict[int, Value] = {}  # saved values, after the gradient that is there
        self.barriers = 0
        self.region = -1 + min((o.recompute for o in program.walk()), default=0)

    def make(self, v: Value, near: Value | None, out: list[Operation]) -> None:
        """``table`` gets what stands for a value that is not kept; ``near``: a gradient before which it is not made."""
        waiting = [v]
        while waiting:
            o = self.made[id(waiting[-1])]
            missing = [
                x for x in o.values if id(x) in self.made and id(x) not in self.saved and id(x) not in self.table
            ]
            if missing:
                waiting += missing
                continue
            waiting.pop()
            if id(o.results[0]) in self.table:
                continue
            operands = {id(x): self.kept(x, near, out) for x in o.values if id(x) in self.saved}
            copied = copy_operation(o, {**self.table, **operands})
            copied.recompute = self.region  # not merged with the original
            self.table.update({id(a): b for a, b in zip(o.results, copied.results, strict=True)})
            for r in copied.results:
                self.builder.number(r)
            out.append(copied)

    def kept(self, x: Value, near: Value | None, out: list[Operation]) -> Value:
        """A saved value, as it is seen from where the backward part has come to."""
        if id(x) not in self.behind:
            barrier = self.builder.make(F.OptimizationBarrier(), [x, near])
            barrier.recompute, barrier.results[0].stop = self.region, x.stop
            out.append(barrier)
            self.barriers += 1
            self.behind[id(x)] = barrier.results[0]
        return self.behind[id(x)]
