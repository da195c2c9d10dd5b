"""Kernels of users' operators: their functions over tensors, on every place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from umiak.backends.base import Kernel
from umiak.core.tensor import Tensor
from umiak.ops.arguments import caller, is_flat
from umiak.ops.custom_op import CALL, listed


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

    return Kernel(call=run, refuse=type(op).refuse, writes=sum(1 << i for i in op.written) if op.use == CALL else 0)


def _plain(form: tuple, body: Callable[..., Any]) -> Callable[[tuple, tuple], Any]:
    call = caller(form, body)

    def run(operands: tuple, params: tuple) -> Any:
        outputs = call(operands, params)
        return outputs if isinstance(outputs, Tensor) else () if outputs is None else tuple(listed(outputs))

    return run
