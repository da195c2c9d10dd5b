"""Gradients of selected rows that captured programs give: an index and values, in place of a table of zeros."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from umiak import ops as F
from umiak.autodiff.lookups import lookups
from umiak.core.context import no_grad_guard
from umiak.core.dtype import int64
from umiak.ir.program import Program, Value
from umiak.ir.tracer import SymTensor, Tracer, symbolic


def index_and_values(gradient: Value, tracer: Tracer) -> tuple[SymTensor, SymTensor] | None:
    """Return what eager calls would keep of the gradient of a table: rows (int64 ``[n]``) and their values
    ``[n, ...]``, both with memory of their own; None where there is more to it. ``tracer`` is the active one."""
    parts = lookups(gradient)
    if parts is None:
        return None
    row, dtype = tuple(gradient.meta.shape[1:]), gradient.meta.dtype
    indices, values = [], []
    with no_grad_guard():
        for index, given in parts:
            count = math.prod(index.meta.shape)
            indices.append(F.cast(F.reshape(symbolic(index, tracer), shape=(count,)), dtype=int64))
            values.append(F.cast(F.reshape(symbolic(given, tracer), shape=(count, *row)), dtype=dtype))
        if len(parts) == 1:
            return F.copy(indices[0]), F.copy(values[0])
        return F.concat(indices, axis=0), F.concat(values, axis=0)


def give_rows(backward: Program, tables: Sequence[int]) -> list[int]:
    """Let gradients of tables be rows: in their place come values, and behind all gradients the index of each.

    ``tables``: the outputs that are gradients of tables. Returns those that are rows now.
    """
    outputs: list[Any] = list(backward.outputs)
    given: list[int] = []
    tracer = Tracer(None, backward)
    with tracer:
        for at in tables:
            gradient = outputs[at]
            rows = index_and_values(gradient, tracer) if type(gradient) is Value else None
            if rows is not None:
                index, values = rows
                outputs[at] = values.value
                outputs.append(index.value)
                given.append(at)
    if given:
        tracer.builder.finish(outputs)
    return given
