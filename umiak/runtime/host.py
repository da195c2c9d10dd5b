"""Runs the ops that act on the host: on tensors of any place, which it waits for."""

from __future__ import annotations

import ast
import builtins
import functools
import sys
from types import CodeType
from typing import Any

from umiak import ops as F
from umiak.backends.base import Kernel
from umiak.core import dtype as dt
from umiak.core import eager
from umiak.core.array import host_values
from umiak.util.syntax import parse

_FULL = F.Full(dtype=dt.bool)


def kernel(call: Any) -> Kernel:
    """Return the kernel of a class of calls."""
    run, op = _RUN[type(call.op)], call.op

    def launch(operands: Any, _: Any) -> tuple:
        run(op, *operands)
        return (eager.apply_plain(_FULL, (True,), ((),)),)

    return Kernel(call=launch)


def _require(op: F.Require, flag: Any) -> None:
    if host_values(flag).all():
        return
    error = getattr(builtins, op.kind)(*op.args)
    error.of_the_text = True
    if not op.place:
        raise error
    exec(_raise_at(*op.place), {"error": error})


@functools.cache
def _raise_at(file: str, line: int, function: str) -> CodeType:
    """Code that raises ``error`` and seems to stand in the user's text, so that a traceback shows that."""
    statement = parse("raise error")
    for node in ast.walk(statement):
        if isinstance(node, (ast.stmt, ast.expr)):
            node.lineno = node.end_lineno = line
    return compile(statement, file, "exec").replace(co_name=function)


def _write(op: F.WriteText, *xs: Any) -> None:
    texts = [op.pieces[0]]
    for x, stop, piece in zip(xs, op.stops, op.pieces[1:], strict=True):
        shown = x.detach()  # a program has no history
        shown.stop_gradient = stop
        texts += [str(shown), piece]
    sys.stdout.write("".join(texts))


_RUN = {F.Require: _require, F.WriteText: _write}
