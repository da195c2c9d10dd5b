"""A group of operations as one nest: its axes, and which of its values lie where."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Mapping, Sequence
from typing import Any

from umiak.compiler import lower
from umiak.compiler.loop import node as n
from umiak.compiler.lower.builder import RULES, Builder, Index, NotANest
from umiak.compiler.lower.pieces import PIECES
from umiak.compiler.lower.reduce import MONOIDS, axes_over, is_small_matmul, summed_sizes
from umiak.compiler.lower.terminal import LaunchBuilder, has_terminal, terminal_of
from umiak.compiler.nest import Chain, FailStage, Nest, ScatterStage
from umiak.ir.expr import Sym
from umiak.ir.meta import identical
from umiak.ir.program import Operation, Value
from umiak.ops import create, index, linalg, movement, reduce, window

ROWWISE = (*MONOIDS, create.SumTo, reduce.Argmax, reduce.Argmin, index.CountTrue)
WINDOWS = (window.WindowReduce, window.MaxPool)
# Most of their calls are a library's, so that groups do not wait for them; a rule serves the rest.
ALONE = (linalg.Matmul,)
TOGETHER = 8  # results of one shape that a nest stores at once


@functools.cache
def load_rules() -> None:
    """Import the modules of rules."""
    for module in pkgutil.iter_modules(lower.__path__):
        importlib.import_module(f"{lower.__name__}.{module.name}")


def has_rule(op: Any) -> bool:
    """Return whether there is a rule for the op (which may still refuse some of its calls)."""
    load_rules()
    return type(op) in RULES or has_terminal(op)


def lowerable(op: Any) -> bool:
    """Return whether calls of the op may be part of a kernel with others."""
    return type(op) not in ALONE and has_rule(op)


def begins(o: Operation) -> bool:
    """Return whether a call is a library's, but a group may begin with it."""
    return type(o.op) is linalg.Matmul and not o.op.effect and is_small_matmul(o)


def nest_of(
    name: str,
    operations: Sequence[Operation],
    inputs: Sequence[tuple[Any, Sequence[Any]]],
    results: Sequence[Value],
    sources: Mapping[Sym, tuple[int, int]],
) -> Nest | Chain:
    """The nest that computes ``results`` from ``inputs`` (values with strides). Outputs are dense.

    What is no value among the inputs (a number) has a buffer too, which nobody reads, so that buffers are operands.
    Raises :class:`NotANest` where there is none.
    """
    load_rules()
    launch = LaunchBuilder(name, sources, inputs, results)
    last = operations[-1] if operations else None
    make = None if last is None else terminal_of(last)
    if last is not None and make is not None:
        if any(v.operation is not last for v in results):
            raise NotANest(f"results beside those of {last.name}")
        lowered = make(launch, last)
        for nest in lowered.nests if isinstance(lowered, Chain) else (lowered,):
            kinds = {type(s) for s in nest.stages}
            if ScatterStage in kinds and kinds - {ScatterStage, FailStage}:
                raise NotANest("a reduction under a scatter")
        return lowered
    if len(operations) == 1 and type(last.op) in (movement.Split, movement.Unbind):
        return _parts(launch, results)
    alone = len(operations) == 1 or (last is not None and type(last.op) is movement.Concat and len(results) == 1)
    if alone and type(last.op) in PIECES:
        put_together = PIECES[type(last.op)](launch, last)
        if put_together is not None:
            return put_together
    b = launch.builder()
    indices = _indices(b, operations, results)
    values = [b.read(v, at) for v, at in zip(results, indices, strict=True)]
    for v, at, value in zip(results, indices, values, strict=True):
        b.stages += launch.stores(b, v, at, value)
    return b.finish()


def _axes(o: Operation) -> list[int]:
    """The dims that are reduced."""
    if type(o.op) is index.CountTrue:
        return list(range(len(o.operands[0].meta.shape)))
    return sorted(o.op.axes if hasattr(o.op, "axes") else (o.op.axis,))


def _parts(launch: LaunchBuilder, results: Sequence[Value]) -> Nest | Chain:
    """One operation's results of several shapes, each shape over axes of its own."""
    nests, rest = [], list(results)
    while rest:
        shape = rest[0].meta.shape
        part = [v for v in rest if identical(v.meta.shape, shape)][:TOGETHER]
        rest = [v for v in rest if v not in part]
        b = launch.builder()
        at = b.open(shape)
        for v in part:
            b.stages += launch.stores(b, v, at, b.read(v, at))
        nests.append(b.finish())
    return launch.chain(nests)


def _indices(b: Builder, operations: Sequence[Operation], results: Sequence[Value]) -> list[Index]:
    """Open the axes; where each result's elements are stored."""
    first = next((o for o in operations if type(o.op) in (*ROWWISE, *ALONE)), None)
    if first is None:
        shape = results[0].meta.shape
        if any(not identical(v.meta.shape, shape) for v in results):
            raise NotANest("results of several shapes")
        at = b.open(shape)
        return [at] * len(results)
    operand_shape = first.operands[0].meta.shape
    if type(first.op) in ALONE:
        shape = tuple(first.results[0].meta.shape)
        if any(not identical(v.meta.shape, shape) for v in results):
            raise NotANest("results beside those of a matmul")
        return [b.open(shape)] * len(results)
    if type(first.op) is create.SumTo:
        target = first.params[0]
        row = b.open(target)
        lead = len(operand_shape) - len(target)
        sizes = summed_sizes(operand_shape, target)
        inner = axes_over(b, sizes)
        full: Index = (*inner[:lead], *(n.add(i, j) for i, j in zip(row, inner[lead:], strict=True)))
        rows = [(tuple(target), row)]
    else:
        axes = _axes(first)
        others = b.open(size for d, size in enumerate(operand_shape) if d not in axes)
        inner = axes_over(b, [operand_shape[a] for a in axes])
        rest, within = iter(others), dict(zip(axes, inner, strict=True))
        full = tuple(within[d] if d in within else next(rest) for d in range(len(operand_shape)))
        ones = tuple(1 if d in within else size for d, size in enumerate(operand_shape))
        rows = [
            (tuple(size for d, size in enumerate(operand_shape) if d not in within), others),
            (ones, tuple(n.i64(0) if d in within else i for d, i in enumerate(full))),
        ]
    indices = []
    for v in results:
        shape = tuple(v.meta.shape)
        known = next((at for form, at in [*rows, (tuple(operand_shape), full)] if identical(form, shape)), None)
        if known is None:
            raise NotANest("a result that is neither a row's nor an element's")
        indices.append(known)
    return indices
