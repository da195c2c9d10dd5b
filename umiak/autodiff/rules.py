"""The derivative of one call, and of a list of recorded operations, written as further operations.

Both the tape's vjp plans and the graph driver end here, so there is one derivative per op. An op's ``vjp`` is used where
it has one; a composite without one is differentiated through its decomposition; an op that declares ``vjp = None`` has none.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Sequence
from typing import Any

from umiak import ops as F
from umiak.ir.program import Operation, Value
from umiak.ir.tracer import SymTensor, Tracer, symbolic
from umiak.ops.base import Op, Saved


def has_vjp(op: Op) -> bool:
    """Whether the op's own class (or a family above it) says how to differentiate it."""
    return op.vjp is not None


def declares_none(op: Op) -> bool:
    """Whether "no gradient" is written, as opposed to left to the decomposition."""
    return op.vjp is None and any(
        "vjp" in cls.__dict__ for cls in type(op).__mro__ if issubclass(cls, Op) and cls is not Op
    )


def differentiable(op: Op) -> bool:
    return has_vjp(op) or (op.decompose is not None and not declares_none(op))


def params_of(op: Op, params: Sequence[Any]) -> Any:
    """Params as a named tuple: ``s.params.eps``."""
    return namedtuple("params", op.param_fields)(*params) if op.param_fields else ()


def vjp(
    op: Op, inputs: tuple, outputs: tuple, residuals: tuple | None, params: tuple, grads: tuple, needs: tuple
) -> tuple:
    """Gradients for ``inputs`` (None where there is none), recorded by the current tracer."""
    if has_vjp(op):
        if residuals is None:
            residuals = tuple(op.forward_train(needs, *inputs, *params)[1]) if op.forward_train is not None else ()
        made = op.vjp(Saved(inputs, outputs, residuals, params_of(op, params), needs), *grads)
    elif differentiable(op):
        made = through_decomposition(op, inputs, params, grads)
    else:
        made = (None,) * len(inputs)
    made = made if isinstance(made, tuple) else (made,)
    if len(made) != len(inputs):
        raise RuntimeError(
            f"[{op.name}] requires one gradient per operand ({len(inputs)}), got {len(made)} from its vjp"
        )
    return tuple(g if need else None for g, need in zip(made, needs, strict=True))


def through_decomposition(op: Op, inputs: tuple, params: tuple, grads: tuple) -> tuple:
    """Record the decomposition, then walk back over what was recorded."""
    from umiak.ir.tracer import current

    tracer = current()
    start = len(tracer.operations)
    outputs = op.decompose(*inputs, *params)
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    seeds = [(y.value, g) for y, g in zip(outputs, grads, strict=True) if g is not None and isinstance(y, SymTensor)]
    wrt = [x.value if isinstance(x, SymTensor) else None for x in inputs]
    return tuple(pullback(tracer, tracer.operations[start:], seeds, wrt))


def pullback(
    tracer: Tracer, operations: Sequence[Operation], seeds: list[tuple[Value, Any]], wrt: Sequence[Value | None]
) -> list:
    """Gradients of the seeded values with respect to ``wrt``, recorded behind ``operations``."""
    reached = {id(v) for v in wrt if v is not None}
    active = []
    for operation in operations:
        if any(id(v) in reached for v in operation.values):
            active.append(operation)
            reached.update(id(r) for r in operation.results)
    table: dict[int, Any] = {}
    for value, g in seeds:
        _add(table, value, g)
    for operation in reversed(active):
        grads = tuple(
            table.pop(id(r), None) if id(r) not in {id(v) for v in wrt} else table.get(id(r)) for r in operation.results
        )
        if all(g is None for g in grads) or not differentiable(operation.op):
            continue
        inputs = tuple(symbolic(x) if type(x) is Value else x for x in operation.operands)
        needs = tuple(type(x) is Value and id(x) in reached and _continuous(x) for x in operation.operands)
        if not any(needs):
            continue
        outputs = tuple(map(symbolic, operation.results))
        made = vjp(operation.op, inputs, outputs, None, operation.params, grads, needs)
        for x, g in zip(operation.operands, made, strict=True):
            if g is not None:
                _add(table, x, g)
    return [table.get(id(v)) if v is not None else None for v in wrt]


def _continuous(value: Value) -> bool:
    dtype = value.meta.dtype
    return dtype is not None and (dtype.is_floating or dtype.is_complex)


def _add(table: dict[int, Any], value: Value, g: Any) -> None:
    held = table.get(id(value))
    table[id(value)] = g if held is None else F.add(held, g)
