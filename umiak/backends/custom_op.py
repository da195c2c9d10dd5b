"""Kernels of users' operators: their functions over tensors, on every place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from umiak.backends.base import Kernel
from umiak.core.tensor import Tensor
from umiak.ir.meta import Meta
from umiak.ops.arguments import caller, is_flat
from umiak.ops.custom_op import CALL, OtherResults, listed


def kernel(call: Any) -> Kernel:
    """Return the kernel of a class of calls: a native one of the operator's, or one that calls its function."""
    op, place = call.op, call.place
    definition = op.definition
    native = definition.native(call) if definition.native is not None and op.is_node else None
    if native is not None:
        return native
    if op.use == CALL and is_flat(op.form):
        run = _plain(op.form, definition.body(place))
    else:

        def run(operands: tuple, params: tuple) -> Any:
            return op.run(operands, params[0], params[1], place)

    return Kernel(call=run, refuse=_refuse, writes=sum(1 << i for i in op.written) if op.use == CALL else 0)


def _plain(form: tuple, body: Callable[..., Any]) -> Callable[[tuple, tuple], Any]:
    call = caller(form, body)

    def run(operands: tuple, params: tuple) -> Any:
        outputs = call(operands, params)
        return outputs if isinstance(outputs, Tensor) else () if outputs is None else tuple(listed(outputs))

    return run


def _refuse(op: Any, operands: tuple, params: tuple, results: tuple, written: int) -> None:
    """Raise the error for results that are not those that were inferred, or for an operand that was written to."""
    if written >= 0:
        at = next(i for i in range(len(op.form)) if op.starts[i + 1] > written)
        op.fail(
            RuntimeError, "a function that writes to its mutates_args alone",
            f"one that writes to {op.definition.schema.arguments[at].name!r}", "Name it in mutates_args.",
        )  # fmt: skip
    wanted = op.infer(*(Meta(tuple(x.shape), x.dtype) for x in operands), *params)
    shapes = "register_fake" if op.definition.infer is None else "its declaration"
    rule = "the gradients' arguments" if op.use == "gradient" else shapes
    if len(results) != len(wanted):
        op.fail(OtherResults, f"{len(wanted)} results, as {rule} says", len(results))
    for i, (r, m) in enumerate(zip(results, wanted, strict=True)):
        if not isinstance(r, Tensor):
            op.fail(TypeError, f"a tensor as result {i}", type(r).__name__)
        if tuple(r.shape) != tuple(m.shape) or r.dtype is not m.dtype:
            op.fail(
                OtherResults, f"result {i} to be {m.dtype.name} of shape {list(m.shape)}, as {rule} says",
                f"{r.dtype.name} of shape {list(r.shape)} from its function",
            )  # fmt: skip
        if r.place is not operands[0].place:
            op.fail(ValueError, f"result {i} on the place of its operands, {operands[0].place.name}", r.place.name)
    op.fail(TypeError, "dense tensors as results", [type(r).__name__ for r in results])
