"""Matmuls of gradients with what becomes of their operands and results: relu's gradient, and gradients of biases."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple

from umiak import ops as F
from umiak.compiler.calls import live
from umiak.compiler.epilogue import FusedEpilogue, mask_meta
from umiak.core import eager
from umiak.ir.meta import Meta, identical
from umiak.ir.program import Operation, Value
from umiak.ir.rewrite import Sweep
from umiak.ops import compare, create, linalg, movement
from umiak.ops.base import Op, register

FusesGradient = Callable[[Op, Sequence[Any], bool, str], bool]


@register
class FusedGradient(Op):
    """``inner``, a matmul of two tensors, and what a launch does along with it.

    ``gated``: two operands more are the result of a relu, and its mask (:class:`FusedEpilogue`); elements become 0
    where it let nothing through. ``summed``: a second result has the sums of the "left" or the "right" operand over the
    contracted dim, or of the "result" over its rows; operands are matrices then.

    What is rounded between these operations of a narrow type is not: a provider computes them in float32.
    """

    inputs = ("*xs",)
    inner: Any
    gated: bool
    summed: str
    elementwise: ClassVar[bool] = False
    vjp = None

    def bind(self) -> None:
        self._bind(4 if self.gated else 2, ())

    def infer(self, *args: Any) -> Any:
        out = self.inner.infer(*args[:2])
        if not self.summed:
            return out
        return out, Meta((out.shape[-2 if self.summed == "left" else -1],), out.dtype)

    def decompose(self, *args: Any) -> Any:
        out = eager.apply(self.inner, args[:2], ())
        if self.gated:
            out = F.where(F.gt(args[2], 0), out, 0)
        if not self.summed:
            return out
        if self.summed == "result":
            return out, F.sum(out, axes=tuple(range(out.ndim - 1)))
        side = ("left", "right").index(self.summed)
        return out, F.sum(args[side], axes=(_contracted(self.inner, side),))


def _contracted(op: Any, side: int) -> int:
    """The dim of a matrix that a matmul contracts, of its left operand (0) or of the right one (1)."""
    return int(op.transpose_y) if side else 1 - int(op.transpose_x)


class _Match(NamedTuple):
    """The call that stands for a matmul, the operations that go, the one in whose place it comes, and the sum."""

    op: FusedGradient
    product: Operation
    last: Operation
    gate: Value | None
    sums: Operation | None


def with_gradient_epilogues(
    operations: Sequence[Operation], results: Sequence[Value | None], fuses_gradient: FusesGradient
) -> tuple[list[Operation], list[Value | None]]:
    """The same program with matmuls and what is done along with them as :class:`FusedGradient`, where
    ``fuses_gradient(matmul, metas, gated, summed)`` says that a provider does it in one launch."""
    program = _Program(operations, results)
    matmuls = [o for o in operations if type(o.op) is linalg.Matmul and program.is_plain(o)]
    matches: list[_Match] = []
    sums: set[int] = set()
    for find in (_gated, _summed):
        for o in matmuls:
            if not any(o is x.product for x in matches):
                x = find(o, program, sums, fuses_gradient)
                if x is not None:
                    matches.append(x)
                    sums.update({id(x.sums)} if x.sums is not None else ())
    if not matches:
        return list(operations), list(results)
    out, moved = _Joined(matches).run(operations, results)
    return live(out, moved, effects=True), moved


class _Program:
    """The readers of values, and the order of operations."""

    def __init__(self, operations: Sequence[Operation], results: Sequence[Value | None]) -> None:
        self.users: dict[int, list[Operation]] = {}
        self.order = {id(o): i for i, o in enumerate(operations)}
        self.results = {id(v) for v in results if v is not None}
        for o in operations:
            for v in o.values:
                self.users.setdefault(id(v), []).append(o)

    def readers(self, v: Value) -> list[Operation]:
        return self.users.get(id(v), [])

    def is_plain(self, o: Operation) -> bool:
        """Return whether a matmul is of matrices, perhaps many on the left."""
        a, b = o.operands
        return type(a) is type(b) is Value and len(a.meta.shape) > 1 and len(b.meta.shape) == 2

    def sums_of(self, v: Value) -> Operation | None:
        """The operation that sums the rows of a value."""
        for o in self.readers(v):
            columns = v.meta.shape[-1:]
            if type(o.op) is create.SumTo and len(v.meta.shape) > 1 and identical(o.results[0].meta.shape, columns):
                return o
            if type(o.op) is movement.Reshape and identical(o.results[0].meta.shape[-1:], columns):
                sums = self.sums_of(o.results[0])
                if sums is not None:
                    return sums
        return None


def _gated(o: Operation, program: _Program, taken: set[int], fuses_gradient: FusesGradient) -> _Match | None:
    """A matmul whose result is a gradient of relu's result, which another matmul has given."""
    (y,) = o.results
    readers = program.readers(y)
    if len(readers) != 1 or id(y) in program.results or type(readers[0].op) is not compare.Where:
        return None
    where = readers[0]
    condition, chosen, other = where.operands
    if chosen is not y or not _is_zero(other) or type(condition) is not Value or condition.operation is None:
        return None
    test = condition.operation
    if type(test.op) is not compare.Gt or type(test.operands[0]) is not Value or not _is_zero(test.operands[1]):
        return None
    gate = test.operands[0]
    before = gate.operation
    if before is None or type(before.op) is not FusedEpilogue or type(before.op.inner) is not linalg.Matmul:
        return None
    if before.op.steps[-1] != "relu" or len(before.operands[1].meta.shape) != 2:  # type: ignore[union-attr]
        return None
    if not identical(gate.meta.shape, y.meta.shape) or gate.meta.dtype is not y.meta.dtype:
        return None
    metas = [v.meta for v in o.values]
    sums = program.sums_of(where.results[0])
    if sums is not None and id(sums) not in taken and fuses_gradient(o.op, metas, True, "result"):
        return _Match(FusedGradient(inner=o.op, gated=True, summed="result"), o, where, gate, sums)
    if fuses_gradient(o.op, metas, True, ""):
        return _Match(FusedGradient(inner=o.op, gated=True, summed=""), o, where, gate, None)
    return None


def _summed(o: Operation, program: _Program, taken: set[int], fuses_gradient: FusesGradient) -> _Match | None:
    """A matmul that contracts the dim over which another operation sums one of its operands."""
    metas = [v.meta for v in o.values]
    for side, name in ((1, "right"), (0, "left")):
        v = o.values[side]
        if len(o.values[0].meta.shape) != 2 or _contracted(o.op, side) != 0:
            continue
        sums = program.sums_of(v)
        if sums is None or id(sums) in taken or not fuses_gradient(o.op, metas, False, name):
            continue
        at = program.order[id(o)]
        readers = program.readers(sums.results[0])
        if program.order[id(sums)] > at or all(program.order[id(r)] > at for r in readers):
            return _Match(FusedGradient(inner=o.op, gated=False, summed=name), o, o, None, sums)
    return None


def _is_zero(x: Any) -> bool:
    return isinstance(x, int | float) and x == 0


class _Joined(Sweep):
    """Matches in the places of their last operations, and relus with their masks."""

    def __init__(self, matches: Sequence[_Match]) -> None:
        super().__init__()
        self.calls = {id(x.last): x for x in matches}
        self.gone = {id(o) for x in matches for o in (x.product, x.sums) if o is not None} - set(self.calls)
        self.gates = {id(x.gate.operation) for x in matches if x.gate is not None}
        self.masks: dict[int, Value] = {}  # by the result of a relu

    def visit(self, o: Operation) -> None:
        call = self.calls.get(id(o))
        if call is not None:
            operands = [self.current(x) for x in call.product.operands]
            if call.gate is not None:
                operands += [self.current(call.gate), self.masks[id(call.gate)]]
            metas = [call.last.results[0].meta, *(r.meta for s in (call.sums,) if s is not None for r in s.results)]
            self.out.append(call.product.replace(call.op, operands, (), metas))
            self.stand([call.last.results[0], *(call.sums.results if call.sums is not None else ())],
                       self.out[-1].results)  # fmt: skip
        elif id(o) in self.gates:
            metas = [o.results[0].meta, mask_meta(o.results[0].meta.shape)]
            op = FusedEpilogue(inner=o.op.inner, steps=o.op.steps, mask=True)
            self.out.append(o.replace(op, map(self.current, o.operands), o.params, metas))
            self.stand(o.results, self.out[-1].results[:1])
            self.masks[id(o.results[0])] = self.out[-1].results[1]
        elif id(o) not in self.gone:
            self.keep(o)
