"""Gradients of tables as programs write them: rows that are added to zeros."""

from __future__ import annotations

from umiak import ops as F
from umiak.ir.program import Value


def lookups(gradient: Value) -> list[tuple[Value, Value]] | None:
    """Return the (index, rows) that a gradient is the sum of, where they are added to zeros; None where there is more
    to it."""
    operation = gradient.operation
    if operation is None:
        return None
    if type(operation.op) in (F.Add, F.Cast):
        parts = [lookups(x) if isinstance(x, Value) else None for x in operation.operands]
        return None if None in parts else [pair for part in parts for pair in part]  # type: ignore[union-attr]
    if type(operation.op) is not F.Put or operation.op.axis or operation.op.mode != "add":
        return None
    base, index, rows = operation.operands
    full = base.operation if isinstance(base, Value) else None
    if full is None or type(full.op) is not F.Full or full.operands[0] != 0:
        return None
    return [(index, rows)]  # type: ignore[list-item]
