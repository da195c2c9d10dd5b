"""Calls of users' operators as operations ``custom_op.namespace::operator``."""

from __future__ import annotations

from typing import Any

from paddle.static.formats.emit.emitter import Emitter, array, emits, f64, i64, text, type_of
from umiak.ir import program as ir
from umiak.ir.expr import Sym
from umiak.ir.printer import show_attribute
from umiak.ops.custom_op import CustomOp


@emits(CustomOp)
def custom_op(e: Emitter, o: ir.Operation) -> Any:
    """Write a call of an operator: the form of its arguments as text, and its numbers.

    Ints that only a run knows are operands behind the tensors; ``of_run`` has their positions. A gradient is not
    written, nor a call with a float that only a run knows.
    """
    ints, floats = o.params
    ints, sizes = ints[: o.op.n_ints], ints[o.op.n_ints :]
    if not o.op.is_node or any(type(x) is Sym for x in floats):
        return None
    of_run = [i for i, n in enumerate(ints) if type(n) is Sym]
    operands = [*map(e.of, o.operands), *(e.number(ints[i]) for i in of_run)]
    attributes = {
        "form": text(show_attribute(o.op.form)), "ints": array(i64, (0 if type(n) is Sym else n for n in ints)),
        "floats": array(f64, floats), "of_run": array(i64, of_run),
    }  # fmt: skip
    results = e.append(f"custom_op.{o.name}", operands, [type_of(r.meta) for r in o.results], attributes)
    at = [(i, d) for i, axes in enumerate(o.op.given) for d in axes]
    for n, (i, d) in zip(sizes, at, strict=True):
        e.know(n, e.size(results[i], d))
    return results
