"""The derivative of one call, written as further operations.

Both the tape's vjp plans and the graph driver end here, so there is one derivative per op. An op's ``vjp`` is used
where it has one; a composite without one is differentiated through its decomposition; an op that declares
``vjp = None`` has none.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Sequence
from typing import Any

from umiak.ir.program import Value
from umiak.ir.tracer import SymTensor, current, symbolic
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
    from umiak.autodiff.graph import pullback  # the walk calls the rules

    tracer = current()
    start = len(tracer.operations)
    outer = tracer.expand
    if outer is not None:  # a derivative that was written is better than the one of its parts
        tracer.expand = lambda inner: outer(inner) and not has_vjp(inner)
    try:
        outputs = op.decompose(*inputs, *params)
    finally:
        tracer.expand = outer
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    seeds = [(y.value, g.value) for y, g in zip(outputs, grads, strict=True) if g is not None]
    wrt: list[Value | None] = []
    for x in inputs:
        value = x.value if isinstance(x, SymTensor) else None
        # The walk gives the gradient of a value, wherever it is read: of its places among the operands, one gets all.
        wrt.append(None if any(value is other for other in wrt) else value)
    found = pullback(tracer, tracer.operations[start:], seeds, wrt)
    return tuple(None if v is None else symbolic(v) for v in found)
