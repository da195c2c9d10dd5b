"""Outputs of captured programs that need memory of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from umiak import ops as F
from umiak.ir.meta import Strided, dense
from umiak.ir.program import Value
from umiak.ir.tracer import SymTensor
from umiak.ops.gradient import GivenGradient, WithGradient
from umiak.runtime.capture import Capture


def copy_shared_outputs(capture: Capture, outputs: Sequence[Any], results: int) -> set[int]:
    """Give memory of their own to gradients, and to outputs that the function made apart and that are one value now;
    returns the indices of those.

    The first ``results`` of the outputs go to the caller; the others are assigned, which copies them.
    """
    builder, program = capture.builder, capture.builder.program
    copies = set()
    # By value: what each output that is this value has. What has the value of an input and is none was written to.
    # An input that the function has given a hook comes out as a copy: the gradient of the caller's own tensor would
    # pass the hook by.
    held: dict[int, dict[Any, Value]] = {
        id(value): {None if capture.has_new_hook(value) else id(root): value} for root, value in capture._roots
    }
    for i, value in enumerate(program.outputs):
        if type(value) is not Value:
            continue
        # Gradients, which come last, do not share with anything.
        own, key = held.setdefault(id(value), {}), id(outputs[i]) if i < len(outputs) else -i
        if key not in own:
            copied = own or i >= len(outputs) or (i < results and _is_borrowed(outputs[i], value))
            # A copy of the copy before: equal copies of one value would be merged.
            own[key] = builder.append(F.Copy(), (next(reversed(own.values()), value),), ())[0] if copied else value
            if copied:
                copies.add(i)
        program.outputs[i] = own[key]
    return copies


def _is_borrowed(x: Any, value: Value) -> bool:
    """Return whether a tensor of its own holds the elements of a view of something else, which was written to it."""
    return type(x) is SymTensor and x.parent is None and _memory(value)[2]


def _memory(value: Value) -> tuple[Value, Strided, bool]:
    """The value in whose memory the elements of ``value`` are, their place there, and whether it is a view of it."""
    passed = _passed_on(value)
    if passed is not None:
        return _memory(passed)
    o = value.operation
    if o is not None and o.op.view:
        base = o.operands[0]
        assert type(base) is Value, "views are of tensors"
        owner, place, _ = _memory(base)
        strided = o.op.strides(place, *o.params)
        if strided is not None:
            return owner, strided, True
    return value, dense(value.meta.shape, value.meta.dtype), False


def _passed_on(value: Value) -> Value | None:
    """The operand that an operation gives as it is, of which only the gradient is another one."""
    o = value.operation
    if o is None:
        return None
    if type(o.op) is F.Overwritten:
        at = 1
    elif type(o.op) is WithGradient:
        at = len(o.operands) - o.op.count + value.index
    elif type(o.op) is GivenGradient:
        at = o.op.wrt + value.index
    else:
        return None
    operand = o.operands[at]
    return operand if type(operand) is Value else None
