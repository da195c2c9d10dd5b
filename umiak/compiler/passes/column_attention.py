"""Attention whose mask is spelt out, by the columns of the mask; where a run finds that it has none, as it was."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple

from umiak import ops as F
from umiak.compiler.passes.folding import untraced
from umiak.compiler.passes.fusion import Made
from umiak.compiler.passes.mask_columns import Columns, weigh_nothing
from umiak.compiler.passes.mask_intervals import Interval, Intervals, hidden_intervals
from umiak.compiler.passes.mask_reader import GradientReach, Unreadable
from umiak.compiler.passes.mask_values import positive
from umiak.compiler.passes.spelled_attention import Spelled
from umiak.compiler.passes.spelled_mask import Part, SpelledMask
from umiak.compiler.plan import plain_modes
from umiak.core import context
from umiak.core.array import to_numpy
from umiak.ir import sym as dim
from umiak.ir.program import Operation, Value
from umiak.ir.tracer import current, symbolic
from umiak.ops.control import Cond


class Masks:
    """The masks of a program, whose columns are computed once for all attention that they belong to.

    ``still``: ids of inputs that get no gradient. ``branches``: whether what only a run can tell may be left to a
    branch. ``strict``: whether a query that sees nothing has to stay what it is, where attention is spelt out; as one
    operation it gives zeros in any case.
    """

    def __init__(self, still: AbstractSet[int], branches: bool = True, strict: bool = True) -> None:
        self.still, self.branches, self.strict = still, branches, strict
        self.read: dict[tuple, _Read | None] = {}
        self.columns: dict[tuple, Columns | Intervals] = {}

    def fusion(
        self, o: Operation, parts: Spelled, asked: AbstractSet[int], causal: bool = False
    ) -> Callable[[], Made] | None:
        """Return what records ``o``, attention of these parts, with columns; None where there are none.

        ``asked``: ids of values whose gradients somebody asks for.
        """
        strict = self.strict and o.name != "attention" and not parts.guarded
        key = (*(p.key for p in parts.masks), *map(str, parts.sizes), strict, causal)
        if key not in self.read:
            self.read[key] = self._read(parts, strict, causal, asked)
        read = self.read[key]
        if read is None:
            return None
        return lambda: self._build(o, parts, read, key)

    def is_causal(self, parts: Spelled, part: Part, asked: AbstractSet[int]) -> bool:
        """Return whether one of the masks is causal order and nothing else, where a query that sees nothing is 0."""
        try:
            return self._mask(parts, (part,), False, False, asked).plain
        except Unreadable:
            return False

    def _mask(
        self, parts: Spelled, masks: Sequence[Part], strict: bool, causal: bool, asked: AbstractSet[int]
    ) -> SpelledMask:
        rank = 4 if "h" in parts.labels else 3
        return SpelledMask(masks, rank, parts.sizes, strict, causal, GradientReach(self.still, asked))

    def _read(self, parts: Spelled, strict: bool, causal: bool, asked: AbstractSet[int]) -> _Read | None:
        sizes = parts.sizes
        try:
            mask = self._mask(parts, parts.masks, strict, causal, asked)
        except Unreadable:
            return None
        hidden = hidden_intervals(mask)
        if mask.plain or hidden is not None:
            return _Read(mask, hidden)
        if dim.known(sizes[2]) == 0 or (mask.looks_up and not positive(sizes[2])):
            return None  # of no queries there is no place in a table either
        if mask.is_constant and not mask.proven:
            with plain_modes(), context.no_grad_guard(), untraced():
                if not bool(to_numpy(Columns(mask).holds)):
                    return None
            mask.proven = True
        return _Read(mask, None) if self.branches or mask.proven else None

    def _build(self, o: Operation, parts: Spelled, read: _Read, key: tuple) -> Made:
        mask = read.mask
        q, k, v = parts.operands()
        if mask.plain:
            return parts.result(F.attention(q, k, v, None, causal=True, scale=parts.scale), o)
        columns = self._columns_of(read, (*key, o.recompute))
        if isinstance(columns, Intervals) or mask.proven:
            y = F.attention(q, k, v, columns.indices, causal=mask.causal, scale=parts.scale)
        else:
            holds = columns.holds
            if columns.highest is not None:
                holds = F.logical_and(holds, weigh_nothing(columns.highest, q, k, parts.scale, parts.dtype))
            y = _branch(o, parts, mask, (q, k, v), columns.indices, holds)
        return parts.result(y, o)

    def _columns_of(self, read: _Read, key: tuple) -> Columns | Intervals:
        """The columns of a mask, those that the block has already if it has."""
        block = current().builder.block
        key = (*key, id(block))
        known = self.columns.get(key)
        if known is None or not any(known.indices.value.producer is o for o in block.operations):
            made = Columns(read.mask) if read.hidden is None else Intervals(read.mask, read.hidden)
            known = self.columns[key] = made
        return known


class _Read(NamedTuple):
    """A mask that is read. ``hidden``: the intervals that it hides, where these are known without data."""

    mask: SpelledMask
    hidden: list[Interval] | None


def _branch(
    o: Operation, parts: Spelled, mask: SpelledMask, tensors: tuple[Any, Any, Any], columns: Any, holds: Any
) -> Any:
    """Attention with columns where these hold, else ``o`` and all of queries by keys that it is computed from.

    What both read are operands in the order of attention, so that a gradient saves operands and no copies of what is
    made inside.
    """
    tracer = current()
    indices, ends = columns.value, [x.value for x in tensors]
    own = (parts.query, "bqhd"), (parts.key, "bkhd"), (parts.value, "bkhe")
    inner, outside = _cut(o, {id(x.value) for x, _ in own}, mask.vectors)
    operands = list({id(v): v for v in (*ends, indices, *outside)}.values())
    blocks = []
    for is_first in (True, False):
        with tracer.region(v.meta for v in operands) as (block, arguments):
            for x, v in zip(block.arguments, operands, strict=True):
                x.place, x.stop = v.place, v.stop
            at = {id(v): x for v, x in zip(operands, arguments, strict=True)}
            q, k, v = (at[id(x)] for x in ends)
            if is_first:
                y = F.attention(q, k, v, at[id(indices)], causal=mask.causal, scale=parts.scale)
            else:
                table = {key: x.value for key, x in at.items()}
                for (end, order), given in zip(own, (q, k, v), strict=True):
                    table[id(end.value)] = end.back(given, order).value
                dense = _recorded_anew(tracer, inner, o, {id(p.mask) for p in parts.masks}, table)
                y = parts.of_result(dense)
            block.outputs = [y.value]
        blocks.append(block)
    taken = tracer.scope.symbol("int", lo=0, hi=1)
    (result,) = tracer.builder.append(Cond(), (holds.value, *operands), (taken,), blocks)
    return symbolic(result, tracer)


def _cut(o: Operation, ends: set[int], leaves: list[Value]) -> tuple[list[Operation], list[Value]]:
    """The operations between the values with the ids ``ends``, ``leaves`` and ``o``, in order, and what they read but
    for the ends.
    """
    known = {id(v) for v in leaves}
    inner: dict[int, Operation] = {}
    outside: dict[int, Value] = {}

    def visit(operation: Operation) -> None:
        if id(operation) in inner:
            return
        for v in operation.values:
            if id(v) in ends:
                continue
            if id(v) in known or v.operation is None:
                outside[id(v)] = v
            else:
                visit(v.operation)
        inner[id(operation)] = operation

    visit(o)
    return list(inner.values()), list(outside.values())


def _recorded_anew(
    tracer: Any, inner: list[Operation], o: Operation, masks: set[int], table: dict[int, Value]
) -> Value:
    """Record operations once more; a mask passes a barrier, so that nobody reads it there."""
    for operation in inner:
        copied = tracer.builder.copy(operation, table)
        copied.recompute = o.recompute
        for old, new in zip(operation.results, copied.results, strict=True):
            if id(old) in masks:
                table[id(old)] = F.optimization_barrier(symbolic(new)).value
    return table[id(o.results[0])]
